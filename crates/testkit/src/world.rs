//! A program text, run: directives on a model, without files or reports. What has made the model is noted, so that
//! it can be made again ([`World::agrees_with_its_text`]).

use std::sync::Arc;

use smidgen_engine::check::again::{Choices, same};
use smidgen_engine::environment::Environment;
use smidgen_engine::model::{Code, RowObservation};
use smidgen_engine::operand::Operand;
use smidgen_engine::{Model, Trace};
use smidgen_infer::spec::Reader;
use smidgen_infer::{Program, Run};
use smidgen_lang::core::ExprRef;
use smidgen_lang::lower::{Nothing, Scope, lower, lower_named};
use smidgen_lang::parser::{parse, parse_expression};
use smidgen_lang::syntax::{DirectiveKind, Syntax};
use smidgen_lang::{Diagnostic, SourceId, Span};
use smidgen_value::{Rng, Symbol, Value};

pub struct World {
    pub model: Model,
    pub rng: Rng,
    pub run: Run,
    /// What `predict` directives refer to, in order.
    pub predicted: Vec<Operand>,
    /// What was done; none if it cannot be done again as it was.
    made_by: Option<Vec<Arc<Noted>>>,
    /// Number of texts lowered so far.
    pub texts: u64,
}

/// A directive that left something in the trace.
pub enum Noted {
    Assume {
        name: Symbol,
        expr: ExprRef,
        label: Option<String>,
    },
    Predict {
        expr: ExprRef,
        label: Option<String>,
    },
    Observe {
        expr: ExprRef,
        value: Value,
        label: Option<String>,
    },
    /// `expr` and `outcome` in a loop over so many rows, whose number is their innermost name.
    ObserveRows {
        expr: ExprRef,
        outcome: ExprRef,
        rows: usize,
    },
}

fn message(diagnostics: &[Diagnostic]) -> String {
    let messages: Vec<&str> = diagnostics.iter().map(|d| d.message.as_str()).collect();
    messages.join("; ")
}

fn row_of(environment: &Environment, row: usize) -> Environment {
    environment.push([Operand::Constant(Value::Number(row as f64))])
}

impl World {
    fn lowered(&mut self, syntax: &Syntax) -> Result<ExprRef, String> {
        let numbers = self.next_text();
        lower(syntax, &Scope::global(), &numbers).map_err(|errors| message(&errors))
    }

    /// Every text numbers its procedures apart from the others.
    fn next_text(&mut self) -> Nothing {
        self.texts += 1;
        Nothing(self.texts << 32)
    }

    /// # Panics
    /// If the program cannot be run.
    pub fn new(text: &str, seed: u64) -> World {
        World::try_new(text, seed).unwrap_or_else(|error| panic!("{error}\nin the program\n{text}"))
    }

    pub fn try_new(text: &str, seed: u64) -> Result<World, String> {
        let mut world = World::empty(Rng::from_seed(seed));
        world.execute(text)?;
        Ok(world)
    }

    /// Before the first directive.
    pub fn empty(rng: Rng) -> World {
        let (model, run) = (Model::new(), Run::default());
        World { model, rng, run, predicted: Vec::new(), made_by: Some(Vec::new()), texts: 0 }
    }

    /// Another one that goes on with a copy of its model.
    pub fn with_copy(&self, model: Model, rng: Rng) -> World {
        World { model, texts: self.texts, made_by: None, ..World::empty(rng) }
    }

    /// Does what may be noted, whole or not at all.
    pub fn perform(&mut self, noted: Arc<Noted>) -> Result<(), String> {
        let environment = Environment::default();
        let code = |expr| Code { expr, environment: &environment };
        let World { model, rng, predicted, .. } = self;
        let done = match &*noted {
            Noted::Assume { name, expr, label } => {
                let label = label.clone();
                model.whole(|model| model.assume(*name, code(expr), label, rng)).map(drop)
            }
            Noted::Predict { expr, label } => {
                let done = model.whole(|model| model.predict(code(expr), label.clone(), rng));
                done.map(|done| predicted.push(done.root))
            }
            Noted::Observe { expr, value, label } => {
                let (value, label) = (value.clone(), label.clone());
                model.whole(|model| model.observe(code(expr), value, label, rng))
            }
            Noted::ObserveRows { expr, outcome, rows } => model.whole(|model| {
                let observation =
                    RowObservation { expr, outcome, label: None, rows: None, first: 0 };
                let range = 0..*rows as i64;
                let plates = model.observe_rows(&[observation], &environment, range.clone(), rng);
                if plates.map_err(|found| found.error)? {
                    return Ok(());
                }
                for row in range {
                    let environment = row_of(&environment, row as usize);
                    let code = |expr| Code { expr, environment: &environment };
                    let value = model.constant(code(outcome), rng)?;
                    model.observe(code(expr), value, None, rng)?;
                }
                Ok(())
            }),
        };
        done.map_err(|error| error.to_string())?;
        if let Some(made_by) = &mut self.made_by {
            made_by.push(noted);
        }
        Ok(())
    }

    /// Whether the trace is what its program, run from the text with the same choices, brings about
    /// ([`smidgen_engine::check::again`]).
    pub fn agrees_with_its_text(&self) -> Result<(), String> {
        let Some(made_by) = &self.made_by else { return Ok(()) };
        let Some(choices) = Choices::of(&self.model) else { return Ok(()) };
        let mut again = World::empty(Rng::from_seed(0));
        choices.give(&mut again.model);
        for noted in made_by {
            let done = again.perform(noted.clone());
            done.map_err(|error| format!("a run from the text with the same choices: {error}"))?;
        }
        same(&self.model, &again.model)
    }

    /// The value of lowered code, which leaves no trace; in a loop, in this row of it.
    pub fn sample(&mut self, expr: &ExprRef, row: Option<usize>) -> Result<Value, String> {
        let global = Environment::default();
        let environment = row.map_or(global.clone(), |row| row_of(&global, row));
        let code = Code { expr, environment: &environment };
        self.model.sample(code, &mut self.rng).map_err(|error| error.to_string())
    }

    /// Runs directives. Those before the first that fails have happened.
    pub fn execute(&mut self, text: &str) -> Result<(), String> {
        let parsed = parse(SourceId(0), text);
        if !parsed.diagnostics.is_empty() {
            return Err(message(&parsed.diagnostics));
        }
        for directive in parsed.directives {
            self.directive(directive.kind, directive.label.map(|label| label.name))?;
        }
        Ok(())
    }

    fn directive(&mut self, kind: DirectiveKind, label: Option<String>) -> Result<(), String> {
        let environment = Environment::default();
        let noted = match kind {
            DirectiveKind::Assume { name, expr } => {
                let numbers = self.next_text();
                let expr = lower_named(&expr, &Scope::global(), &numbers, name.name)
                    .map_err(|errors| message(&errors))?;
                Noted::Assume { name: name.name, expr, label }
            }
            DirectiveKind::Observe { expr, value } => {
                let (expr, value) = (self.lowered(&expr)?, self.lowered(&value)?);
                let value = Code { expr: &value, environment: &environment };
                let World { model, rng, .. } = self;
                let value = model.constant(value, rng).map_err(|error| error.to_string())?;
                Noted::Observe { expr, value, label }
            }
            DirectiveKind::Predict { expr } => Noted::Predict { expr: self.lowered(&expr)?, label },
            other => return self.unnoted(other),
        };
        self.perform(Arc::new(noted))
    }

    /// A directive that makes nothing, or that changes what others made.
    fn unnoted(&mut self, kind: DirectiveKind) -> Result<(), String> {
        let environment = Environment::default();
        let done = match kind {
            DirectiveKind::Force { expr, value } => {
                let (expr, value) = (self.lowered(&expr)?, self.lowered(&value)?);
                let code = Code { expr: &expr, environment: &environment };
                let value = Code { expr: &value, environment: &environment };
                let World { model, rng, .. } = self;
                model.whole(|model| {
                    let value = model.constant(value, rng)?;
                    model.force(code, &value, rng).map(drop)
                })
            }
            DirectiveKind::Sample { expr } => return self.value_of(&expr).map(drop),
            DirectiveKind::Infer { kernel } => return self.infer_syntax(&kernel),
            DirectiveKind::Forget { label } => {
                self.made_by = None;
                self.model.whole(|model| model.forget(&label.name))
            }
            DirectiveKind::Freeze { label } => {
                self.made_by = None;
                self.model.whole(|model| model.freeze(&label.name)).map(drop)
            }
            DirectiveKind::Report { label } => self.model.report(&label.name).map(drop),
            DirectiveKind::LogJoint => self.model.log_joint().map(drop),
            DirectiveKind::LogLikelihood => self.model.log_likelihood().map(drop),
            DirectiveKind::Clear => {
                self.model.clear();
                self.made_by = Some(Vec::new());
                Ok(())
            }
            _ => return Err("not a directive of test worlds".into()),
        };
        done.map_err(|error| error.to_string())
    }

    fn value_of(&mut self, syntax: &Syntax) -> Result<Value, String> {
        let expr = self.lowered(syntax)?;
        let code = Code { expr: &expr, environment: &Environment::default() };
        self.model.sample(code, &mut self.rng).map_err(|error| error.to_string())
    }

    /// Observes a value that was drawn before.
    pub fn observe(&mut self, text: &str, value: Value, label: &str) {
        let syntax = parse_expression(SourceId(0), text).unwrap_or_else(|e| panic!("{e:?}"));
        let expr = self.lowered(&syntax).unwrap_or_else(|error| panic!("{text}: {error}"));
        let noted = Noted::Observe { expr, value, label: Some(label.to_owned()) };
        self.perform(Arc::new(noted)).unwrap_or_else(|error| panic!("{text}: {error}"));
    }

    /// Evaluates an expression and leaves no trace.
    pub fn value(&mut self, text: &str) -> Value {
        let syntax = parse_expression(SourceId(0), text).unwrap_or_else(|e| panic!("{e:?}"));
        self.value_of(&syntax).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    pub fn number(&mut self, text: &str) -> f64 {
        let value = self.value(text);
        value.as_number().unwrap_or_else(|| panic!("{text} is {value}, no number"))
    }

    /// The program of an `infer` directive, ready to be run many times.
    pub fn program(&mut self, text: &str) -> Program {
        let syntax = parse_expression(SourceId(0), text).unwrap_or_else(|e| panic!("{e:?}"));
        self.read(&syntax).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn read(&mut self, syntax: &Syntax) -> Result<Program, String> {
        Program::read(syntax, &mut Asked(self), &Environment::default())
            .map_err(|error| error.message)
    }

    fn infer_syntax(&mut self, syntax: &Syntax) -> Result<(), String> {
        let mut program = self.read(syntax)?;
        self.try_step(&mut program)
    }

    /// Runs an inference program.
    pub fn infer(&mut self, text: &str) {
        let mut program = self.program(text);
        self.step(&mut program);
    }

    /// Runs an inference program that has been read before.
    pub fn step(&mut self, program: &mut Program) {
        self.try_step(program).unwrap_or_else(|error| panic!("{error}"));
    }

    pub fn try_step(&mut self, program: &mut Program) -> Result<(), String> {
        let World { model, rng, run, .. } = self;
        let done = model.find_feasible_start(rng).and_then(|()| program.execute(model, rng, run));
        done.map_err(|error| error.to_string())
    }

    pub fn log_joint(&mut self) -> f64 {
        self.model.log_joint().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Everything a program could ask about the current state, in words: the predicted values.
    pub fn state(&self) -> String {
        state_of(&self.model, &self.predicted)
    }
}

/// The predicted values as they stand in a trace, which may be a proposed one.
pub fn state_of(trace: &Trace, predicted: &[Operand]) -> String {
    let shown: Vec<String> =
        predicted.iter().map(|root| operand_value(trace, root).to_string()).collect();
    shown.join(" ")
}

pub fn operand_value<'a>(trace: &'a Trace, operand: &'a Operand) -> &'a Value {
    match operand {
        Operand::Constant(value) => value,
        Operand::Node(id) => &trace.node(*id).value,
    }
}

/// A world as the reader of inference programs sees it.
struct Asked<'a>(&'a mut World);

impl Reader for Asked<'_> {
    fn value(&mut self, syntax: &Syntax) -> Result<Value, Diagnostic> {
        self.0.value_of(syntax).map_err(|error| Diagnostic::error(syntax.span, error))
    }
    fn is_loop_variable(&self, _: Symbol) -> bool {
        false
    }
    fn code(&mut self, syntax: &Syntax) -> Result<(String, ExprRef), Diagnostic> {
        let expr = self.0.lowered(syntax).map_err(|error| Diagnostic::error(syntax.span, error))?;
        Ok((format!("{}", syntax.span.start), expr))
    }
    fn assumed_scope(&mut self, name: Symbol) -> Result<Option<Value>, String> {
        Ok(match self.0.model.scopes().number_of_blocks(&Value::Symbol(name)) {
            0 => self.0.model.scope_of_name(name).ok(),
            _ => None,
        })
    }
    fn text(&self, span: Span) -> String {
        format!("{}..{}", span.start, span.end)
    }
}
