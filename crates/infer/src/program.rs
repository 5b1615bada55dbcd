//! Inference programs: kernels and their combinators.

use smidgen_engine::environment::Environment;
use smidgen_engine::model::Code;
use smidgen_engine::operand::Operand;
use smidgen_engine::{EvalError, Model};
use smidgen_lang::Diagnostic;
use smidgen_lang::core::ExprRef;
use smidgen_lang::syntax::{Syntax, SyntaxKind};
use smidgen_value::bytes::{Bytes, Input};
use smidgen_value::{Rng, Symbol};

use crate::explain::{Explanation, Look, advice};
use crate::kernel::{self, Kernel};
use crate::run::{Log, Run};
use crate::spec::{self, COMBINATORS, Reader};

/// An inference program, and the texts of its kernels by their numbers.
pub struct Program {
    step: Step,
    pub kernels: Vec<String>,
}

enum Step {
    Kernel { kernel: Box<dyn Kernel>, number: usize, n: u64 },
    Sequence { steps: Vec<Step>, n: u64 },
    Mixture { steps: Vec<(f64, Step)>, n: u64 },
    Collect(Vec<(String, ExprRef, Environment)>),
}

impl Program {
    /// The program of an `infer` directive. `environment` holds the variables of loops around
    /// it.
    pub fn read(
        syntax: &Syntax,
        reader: &mut dyn Reader,
        environment: &Environment,
    ) -> Result<Program, Diagnostic> {
        let mut parser = Parser { kernels: Vec::new(), reader, environment, depth: 0 };
        let step = parser.step(syntax)?;
        Ok(Program { step, kernels: parser.kernels })
    }

    /// Sweeps of the default kernel.
    pub fn default_sweeps(n: u64) -> Program {
        let kernel = Box::new(kernel::default::AutoKernel::default());
        Program { step: Step::Kernel { kernel, number: 0, n }, kernels: vec!["default".to_owned()] }
    }

    /// Several programs one after the other.
    pub fn sequence(programs: Vec<Program>) -> Program {
        let mut kernels = Vec::new();
        let mut steps = Vec::new();
        for mut program in programs {
            program.step.renumber(kernels.len());
            kernels.append(&mut program.kernels);
            steps.push(program.step);
        }
        Program { step: Step::Sequence { steps, n: 1 }, kernels }
    }

    /// Transitions of each kernel in one run of the program, where their number is known.
    pub fn transitions(&self) -> Vec<Option<u64>> {
        let mut counts = vec![None; self.kernels.len()];
        self.step.count(Some(1), &mut counts);
        counts
    }

    /// Runs the program once, after a search for values under which all observations are possible
    /// if they are not and a kernel asks for it. Stops early, between transitions, when the run is interrupted.
    pub fn execute(
        &mut self,
        model: &mut Model,
        rng: &mut Rng,
        run: &mut Run,
    ) -> Result<(), EvalError> {
        self.step.execute(model, rng, run)?;
        // What is recorded after this must be possible, also if nothing was moved.
        match run.is_interrupted() {
            true => Ok(()),
            false => model.find_feasible_start(rng),
        }
    }

    /// Writes what the kernels have learnt, or says which cannot and why.
    pub fn save(&self, out: &mut Vec<u8>) -> Result<(), String> {
        let said = |(number, why): (usize, &str)| format!("{}: {why}", self.kernels[number]);
        self.step.save(out).map_err(said)
    }

    /// Takes back what a program of the same text has written; None if these are not such bytes.
    pub fn load(&mut self, from: &mut Input<'_>) -> Option<()> {
        self.step.load(from)
    }

    /// What every kernel would do to the trace as it is now. `run` is what was made so far.
    /// A text that occurs again, as in the rounds of a loop, is explained once.
    pub fn explain(
        &mut self,
        model: &mut Model,
        rng: &mut Rng,
        run: &mut Run,
    ) -> Result<Vec<Explanation>, EvalError> {
        let assumed = model.assumed_changeable();
        let named = |(name, root): (Symbol, Operand)| root.node().map(|id| (id, name));
        let names = assumed.into_iter().rev().filter_map(named).collect();
        let mut look = Look { trace: model.trace_mut(), names: &names, rng };
        let mut found = Vec::new();
        self.step.explain(&mut look, &self.kernels, run, (1.0, &mut found))?;
        found.iter_mut().for_each(advice::whole);
        Ok(found)
    }
}

impl Step {
    fn count(&self, times: Option<u64>, counts: &mut [Option<u64>]) {
        let with = |n: u64| times.map(|times| times.saturating_mul(n));
        match self {
            Step::Kernel { number, n, .. } => counts[*number] = with(*n),
            Step::Sequence { steps, n } => steps.iter().for_each(|s| s.count(with(*n), counts)),
            // Which one is drawn how often nobody knows.
            Step::Mixture { steps, .. } => steps.iter().for_each(|(_, s)| s.count(None, counts)),
            Step::Collect(_) => {}
        }
    }

    fn save(&self, out: &mut Vec<u8>) -> Result<(), (usize, &'static str)> {
        match self {
            Step::Kernel { kernel, number, n: _ } => {
                // What a kernel does not read must not be read by the next.
                let mut own = Vec::new();
                kernel.save(&mut own).map_err(|why| (*number, why))?;
                own.put(out);
                Ok(())
            }
            Step::Sequence { steps, n: _ } => steps.iter().try_for_each(|step| step.save(out)),
            Step::Mixture { steps, n: _ } => steps.iter().try_for_each(|(_, step)| step.save(out)),
            Step::Collect(_) => Ok(()),
        }
    }

    fn load(&mut self, from: &mut Input<'_>) -> Option<()> {
        match self {
            Step::Kernel { kernel, .. } => {
                let own = Vec::<u8>::take(from)?;
                let mut own = Input::new(&own);
                kernel.load(&mut own)?;
                own.is_empty().then_some(())
            }
            Step::Sequence { steps, .. } => steps.iter_mut().try_for_each(|step| step.load(from)),
            Step::Mixture { steps, .. } => {
                steps.iter_mut().try_for_each(|(_, step)| step.load(from))
            }
            Step::Collect(_) => Some(()),
        }
    }

    fn renumber(&mut self, by: usize) {
        match self {
            Step::Kernel { number, .. } => *number += by,
            Step::Sequence { steps, .. } => steps.iter_mut().for_each(|s| s.renumber(by)),
            Step::Mixture { steps, .. } => steps.iter_mut().for_each(|(_, s)| s.renumber(by)),
            Step::Collect(_) => {}
        }
    }

    fn explain(
        &mut self,
        look: &mut Look<'_>,
        texts: &[String],
        run: &mut Run,
        (times, found): (f64, &mut Vec<Explanation>),
    ) -> Result<(), EvalError> {
        match self {
            Step::Kernel { kernel, number, n } => {
                let transitions = times * *n as f64;
                let (text, tally) = (&texts[*number], run.kernel(*number).tally);
                if let Some(known) = found.iter_mut().find(|known| known.kernel == *text) {
                    known.occurrences += 1;
                    known.transitions += transitions;
                    known.warmup.add(&tally);
                    return Ok(());
                }
                let mut explanation = kernel.explain(look)?;
                explanation.kernel.clone_from(text);
                explanation.occurrences = 1;
                explanation.transitions = transitions;
                explanation.warmup = tally;
                explanation.notes.extend(run.kernel(*number).choice.as_ref().map(|choice| {
                    match choice {
                        Ok(note) => format!("auto {note}"),
                        Err(reason) => format!("auto stays exact: {reason}"),
                    }
                }));
                explanation.notes.extend(run.kernel(*number).adapted.clone());
                found.push(explanation);
            }
            Step::Sequence { steps, n } => {
                for step in steps {
                    step.explain(look, texts, run, (times * *n as f64, found))?;
                }
            }
            Step::Mixture { steps, n } => {
                let total: f64 = steps.iter().map(|(weight, _)| weight).sum();
                for (weight, step) in steps {
                    let times = times * *n as f64 * *weight / total;
                    step.explain(look, texts, run, (times, found))?;
                }
            }
            Step::Collect(_) => {}
        }
        Ok(())
    }

    fn execute(
        &mut self,
        model: &mut Model,
        rng: &mut Rng,
        run: &mut Run,
    ) -> Result<(), EvalError> {
        match self {
            Step::Kernel { kernel, number, n } => {
                let mut log = Log::open(run, *number);
                let mut result = Ok(());
                for _ in 0..*n {
                    if log.run.is_interrupted() {
                        break;
                    }
                    log.run.left = log.run.left.map(|left| left - 1);
                    result = transition(&mut **kernel, model, rng, &mut log);
                    if result.is_err() {
                        break;
                    }
                }
                log.close();
                result
            }
            Step::Sequence { steps, n } => {
                for _ in 0..*n {
                    for step in steps.iter_mut() {
                        step.execute(model, rng, run)?;
                    }
                    if run.is_interrupted() {
                        break;
                    }
                }
                Ok(())
            }
            Step::Mixture { steps, n } => {
                let total: f64 = steps.iter().map(|(weight, _)| weight).sum();
                for _ in 0..*n {
                    let mut rest = rng.uniform() * total;
                    let last = steps.len() - 1;
                    let drawn = steps.iter().position(|(weight, _)| {
                        rest -= weight;
                        rest < 0.0
                    });
                    steps[drawn.unwrap_or(last)].1.execute(model, rng, run)?;
                    if run.is_interrupted() {
                        break;
                    }
                }
                Ok(())
            }
            Step::Collect(expressions) => {
                model.find_feasible_start(rng)?;
                let codes = expressions.iter();
                let codes = codes.map(|(_, expr, environment)| Code { expr, environment });
                let values = model.sample_together(codes, rng)?;
                for ((name, ..), value) in expressions.iter().zip(values) {
                    run.collect(name, value);
                }
                Ok(())
            }
        }
    }
}

/// One transition, from a state that is possible if the kernel needs one.
fn transition(
    kernel: &mut dyn Kernel,
    model: &mut Model,
    rng: &mut Rng,
    log: &mut Log<'_>,
) -> Result<(), EvalError> {
    if model.is_suspect() && kernel.starts_anywhere() {
        kernel.transition(model.trace_mut(), rng, log)?;
        if model.is_possible()? {
            return Ok(());
        }
    }
    model.find_feasible_start(rng)?;
    kernel.transition(model.trace_mut(), rng, log)
}

/// Combinators within combinators: a program that is run, explained and dropped by recursion has to end somewhere.
const DEEPEST: usize = 200;

struct Parser<'a> {
    depth: usize,
    kernels: Vec<String>,
    reader: &'a mut dyn Reader,
    environment: &'a Environment,
}

impl Parser<'_> {
    fn step(&mut self, syntax: &Syntax) -> Result<Step, Diagnostic> {
        if self.depth == DEEPEST {
            let message = format!("more than {DEEPEST} inference programs within each other");
            return Err(Diagnostic::error(syntax.span, message).hint(
                "(repeat n (repeat m k)) is (repeat n*m k), and (do (do k1 k2) k3) is (do k1 k2 k3)",
            ));
        }
        self.depth += 1;
        let step = self.step_within(syntax);
        self.depth -= 1;
        step
    }

    fn step_within(&mut self, syntax: &Syntax) -> Result<Step, Diagnostic> {
        let items = match &syntax.kind {
            SyntaxKind::List(items) if !items.is_empty() => items,
            SyntaxKind::List(_) => {
                return Err(Diagnostic::error(syntax.span, "an inference program is missing here"));
            }
            SyntaxKind::Name(name) if kernel::find(name.as_str()).is_some() => {
                let shape = kernel::find(name.as_str()).map_or("", |spec| spec.shape);
                let message =
                    format!("the kernel {name} is written with its scope and block: {shape}");
                let example = kernel::find(name.as_str()).map_or("", |spec| spec.example);
                return Err(Diagnostic::error(syntax.span, message).hint(format!(
                    "for instance {example}; the scope default is that of all choices"
                )));
            }
            _ => {
                let n = spec::read_count(syntax, self.reader)?;
                let kernel = Box::new(kernel::default::AutoKernel::default());
                return Ok(self.kernel(kernel, n, "default".to_owned()));
            }
        };
        let SyntaxKind::Name(head) = items[0].kind else {
            let message = "an inference program begins with the name of a kernel";
            return Err(Diagnostic::error(items[0].span, message));
        };
        match head.as_str() {
            "cycle" => self.cycle(items, syntax),
            "mixture" => self.mixture(items, syntax),
            "repeat" => match &items[1..] {
                [n, kernel] => {
                    let n = spec::read_count(n, self.reader)?;
                    Ok(Step::Sequence { steps: vec![self.step(kernel)?], n })
                }
                _ => Err(self.wrong_shape("repeat", syntax)),
            },
            "do" => {
                let steps: Result<Vec<Step>, _> = items[1..].iter().map(|k| self.step(k)).collect();
                Ok(Step::Sequence { steps: steps?, n: 1 })
            }
            "resample" => {
                let message = "resample makes particles of the whole run: it stands alone in an infer of the program, or in its (do ...)";
                Err(Diagnostic::error(syntax.span, message).hint(
                    "[infer (resample 100)], or [infer (do (resample 100) (mh default one 10))]",
                ))
            }
            "collect" => {
                let mut expressions = Vec::new();
                for expr in &items[1..] {
                    let (name, code) = self.reader.code(expr)?;
                    expressions.push((name, code, self.environment.clone()));
                }
                Ok(Step::Collect(expressions))
            }
            name => match kernel::find(name) {
                Some(spec) => {
                    let (kernel, n) = spec::read_kernel(spec, items, syntax.span, self.reader)?;
                    let text = self.reader.text(syntax.span);
                    Ok(self.kernel(kernel, n, text))
                }
                None => Err(kernel::unknown_kernel(name, items[0].span)),
            },
        }
    }

    fn kernel(&mut self, kernel: Box<dyn Kernel>, n: u64, text: String) -> Step {
        self.kernels.push(text);
        Step::Kernel { kernel, number: self.kernels.len() - 1, n }
    }

    fn wrong_shape(&self, name: &str, syntax: &Syntax) -> Diagnostic {
        let shape = COMBINATORS.iter().find(|(known, ..)| *known == name).map_or("", |c| c.1);
        Diagnostic::error(syntax.span, format!("{name} does not have this shape"))
            .hint(format!("its shape is {shape}"))
    }

    /// `(cycle (k1 k2 ...) n)`, and `(cycle n (k1 k2 ...) 1)` as in the paper's figure.
    fn cycle(&mut self, items: &[Syntax], syntax: &Syntax) -> Result<Step, Diagnostic> {
        let (list, n) = match &items[1..] {
            [list, n] => (list, spec::read_count(n, self.reader)?),
            [n, list, times] => {
                let n = spec::read_count(n, self.reader)?;
                (list, n.saturating_mul(spec::read_count(times, self.reader)?))
            }
            _ => return Err(self.wrong_shape("cycle", syntax)),
        };
        let SyntaxKind::List(kernels) = &list.kind else {
            return Err(self.wrong_shape("cycle", syntax));
        };
        let steps: Result<Vec<Step>, _> = kernels.iter().map(|k| self.step(k)).collect();
        Ok(Step::Sequence { steps: steps?, n })
    }

    fn mixture(&mut self, items: &[Syntax], syntax: &Syntax) -> Result<Step, Diagnostic> {
        let [_, list, n] = items else { return Err(self.wrong_shape("mixture", syntax)) };
        let SyntaxKind::List(pairs) = &list.kind else {
            return Err(self.wrong_shape("mixture", syntax));
        };
        if pairs.is_empty() || pairs.len() % 2 != 0 {
            return Err(self.wrong_shape("mixture", syntax));
        }
        let n = spec::read_count(n, self.reader)?;
        let mut steps = Vec::new();
        for pair in pairs.chunks(2) {
            let weight = self.reader.value(&pair[0])?;
            let weight = weight.as_number().filter(|w| *w >= 0.0 && w.is_finite());
            let weight = weight.ok_or_else(|| {
                Diagnostic::error(pair[0].span, "a weight of a mixture is a number, 0 or more")
            })?;
            steps.push((weight, self.step(&pair[1])?));
        }
        if steps.iter().all(|(weight, _)| *weight == 0.0) {
            return Err(Diagnostic::error(list.span, "all weights of this mixture are 0"));
        }
        Ok(Step::Mixture { steps, n })
    }
}
