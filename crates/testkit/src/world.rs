//! A program text, run: directives on a model, without files, loops or reports.

use smidgen_engine::environment::Environment;
use smidgen_engine::model::Code;
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
    /// Number of texts lowered so far.
    pub texts: u64,
}

fn message(diagnostics: &[Diagnostic]) -> String {
    let messages: Vec<&str> = diagnostics.iter().map(|d| d.message.as_str()).collect();
    messages.join("; ")
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
        let mut world = World {
            model: Model::new(),
            rng: Rng::from_seed(seed),
            run: Run::default(),
            predicted: Vec::new(),
            texts: 0,
        };
        world.execute(text)?;
        Ok(world)
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
        let done = match kind {
            DirectiveKind::Assume { name, expr } => {
                let numbers = self.next_text();
                let expr = lower_named(&expr, &Scope::global(), &numbers, name.name)
                    .map_err(|errors| message(&errors))?;
                let code = Code { expr: &expr, environment: &environment };
                let World { model, rng, .. } = self;
                model.whole(|model| model.assume(name.name, code, label, rng)).map(drop)
            }
            DirectiveKind::Observe { expr, value } => {
                let (expr, value) = (self.lowered(&expr)?, self.lowered(&value)?);
                let code = Code { expr: &expr, environment: &environment };
                let value = Code { expr: &value, environment: &environment };
                let World { model, rng, .. } = self;
                model.whole(|model| {
                    let value = model.constant(value, rng)?;
                    model.observe(code, value, label, rng)
                })
            }
            DirectiveKind::Predict { expr } => {
                let expr = self.lowered(&expr)?;
                let code = Code { expr: &expr, environment: &environment };
                let World { model, rng, .. } = self;
                let predicted = model
                    .whole(|model| model.predict(code, label, rng))
                    .map_err(|error| error.to_string())?;
                self.predicted.push(predicted.root);
                Ok(())
            }
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
            DirectiveKind::Forget { label } => self.model.whole(|model| model.forget(&label.name)),
            DirectiveKind::Freeze { label } => {
                self.model.whole(|model| model.freeze(&label.name)).map(drop)
            }
            DirectiveKind::Report { label } => self.model.report(&label.name).map(drop),
            DirectiveKind::LogJoint => self.model.log_joint().map(drop),
            DirectiveKind::LogLikelihood => self.model.log_likelihood().map(drop),
            DirectiveKind::Clear => {
                self.model.clear();
                Ok(())
            }
            DirectiveKind::Define { .. }
            | DirectiveKind::Table { .. }
            | DirectiveKind::For { .. }
            | DirectiveKind::Load { .. } => return Err("not a directive of test worlds".into()),
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
        let code = Code { expr: &expr, environment: &Environment::default() };
        let World { model, rng, .. } = self;
        model
            .whole(|model| model.observe(code, value, Some(label.to_owned()), rng))
            .unwrap_or_else(|error| panic!("{text}: {error}"));
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
        let World { model, rng, run, .. } = self;
        model
            .find_feasible_start(rng)
            .and_then(|()| program.execute(model, rng, run))
            .map_err(|error| error.to_string())
    }

    /// Runs an inference program.
    pub fn infer(&mut self, text: &str) {
        let mut program = self.program(text);
        self.step(&mut program);
    }

    /// Runs an inference program that has been read before.
    pub fn step(&mut self, program: &mut Program) {
        let World { model, rng, run, .. } = self;
        let done = model.find_feasible_start(rng).and_then(|()| program.execute(model, rng, run));
        done.unwrap_or_else(|error| panic!("{error}"));
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
    fn text(&self, span: Span) -> String {
        format!("{}..{}", span.start, span.end)
    }
}
