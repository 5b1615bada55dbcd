//! Particles beside the trace (lanes of programs) against the trace itself, on random programs: the same
//! draws after the same ancestors have the same weights, and the look ahead is what the trace gives to the reference's
//! future. Also at extreme numbers: log odds to 800, scales of 1e-150, rates of 1e9. Broken twins are noticed.

use smidgen_engine::particles::{LookAhead, Recorded};
use smidgen_engine::{Fault, Sequence};
use smidgen_infer::block::{Block, Scope, Target};
use smidgen_infer::kernel::pgibbs::{Multinomial, Resampler};
use smidgen_testkit::World;
use smidgen_value::{Rng, Symbol, Value};

const PARTICLES: usize = 6;
const STEPS: usize = 5;

/// Writes programs of states x(1), x(2), ... and what is observed of them.
struct Author {
    rng: Rng,
    extreme: bool,
}

impl Author {
    fn one_of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[(self.rng.uniform() * texts.len() as f64) as usize]
    }

    /// A number that a state comes to.
    fn number(&mut self, depth: usize) -> String {
        let x = self.one_of(&["(x t)", "(x (- t 1))", "(* 0.5 (x t))"]).to_owned();
        if depth == 0 {
            return x;
        }
        let inner = self.number(depth - 1);
        let scale = if self.extreme { "300" } else { "1.5" };
        let outer = self.one_of(&[
            "(+ A B)",
            "(* S (- A 0.3))",
            "(min A (abs B) 2)",
            "(exp (/ A 2))",
            "(biplex (< A 0) A B)",
            "(lookup (array A 0.1 B) (+ 1 (if (> shift 0) 1 0)))",
            "(sum (array A B shift))",
            "(first (list A B))",
            "(size (list A B))",
            "(lookup levels (min 2 (abs (round B))))",
            "(logsumexp (array A B))",
            "(if (< shift 9) A B)",
        ]);
        outer.replace('A', &inner).replace('B', &x).replace('S', scale)
    }

    fn state(&mut self) -> String {
        let mean = self.number(1).replace("(x t)", "(x (- t 1))");
        let laws = [
            "(normal M 1)",
            "(normal M (+ 0.1 (abs M)))",
            "(gamma (+ 1 (abs M)) 2)",
            "(poisson (exp (min 3 M)))",
            "(bernoulli (logistic M))",
            "(if (flip (logistic M)) 1 0)",
            "(categorical (simplex 0.3 0.5 0.2))",
            "(categorical (normalize (array (exp (min 2 M)) 1 1)))",
            "(student_t 4 M 1)",
            "(lookup (multivariate_normal (vector M 0) (matrix (list (list 1 0) (list 0 1)))) 0)",
        ];
        self.one_of(&laws[..5 + usize::from(!self.extreme) * 5]).replace('M', &mean)
    }

    fn observation(&mut self) -> (String, &'static str) {
        let (eta, scale) = (self.number(2), self.number(1));
        let (law, value) = [
            ("(normal E 0.7)", "0.3"),
            ("(normal E (exp (/ S 2)))", "-0.4"),
            ("(bernoulli (logistic E))", "0"),
            ("(flip (logistic E))", "true"),
            ("(binomial 7 (logistic E))", "3"),
            ("(bernoulli (- 1 (logistic E)))", "1"),
            ("(poisson (exp E))", "2"),
            ("(gamma 2 S)", "0.8"),
            ("(normal E TINY)", "0.3"),
            ("(poisson (* 1e9 (exp S)))", "1000000"),
        ][(self.rng.uniform() * if self.extreme { 10.0 } else { 8.0 }) as usize];
        let tiny = "(* 1e-150 (exp shift))";
        (law.replace('E', &eta).replace('S', &scale).replace("TINY", tiny), value)
    }

    fn program(&mut self) -> String {
        let mut text = format!(
            "[assume shift (normal 0 1)] [assume levels (vector 0.2 shift 1)]
             [assume x (mem (lambda (t) (scope_include 'x t (if (< t 1) 0.2 {}))))]",
            self.state()
        );
        let (law, value) = self.observation();
        text += &format!("[assume y (lambda (t) {law})]");
        for t in 1..=STEPS {
            text += &format!("[observe (y {t}) {value}]");
        }
        text
    }
}

fn agree(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

/// What is wrong with a pass on a program, if it can be compiled.
fn compare(text: &str, seed: u64, fault: Option<Fault>) -> Option<Result<usize, String>> {
    let mut world = World::try_new(text, seed).ok()?;
    let target =
        Target { scope: Scope::Named(Value::Symbol(Symbol::new("x"))), block: Block::Each };
    let groups = target.groups(&world.model, &mut world.rng);
    let trace = world.model.trace_mut();
    let mut sequence = Sequence::new();
    sequence.prepare(trace, &groups, LookAhead::Always).ok()?;
    if !sequence.is_compiled() {
        return None;
    }
    trace.put_fault(fault);
    let mut rng = Rng::from_seed(seed + 1);
    let mut lots = Multinomial::default();
    let mut pass = sequence.begin(trace, PARTICLES).expect("a pass");
    let (mut steps, mut weights, mut futures) = (Vec::new(), Vec::new(), Vec::new());
    let mut log_weights = vec![0.0; PARTICLES];
    for t in 0..pass.steps() {
        let mut ancestors = vec![PARTICLES as u32 - 1; PARTICLES];
        let mut log_future = vec![0.0; PARTICLES];
        if t > 0 {
            if !lots.weigh(&log_weights) {
                break;
            }
            ancestors[..PARTICLES - 1].iter_mut().for_each(|a| *a = lots.draw(&mut rng) as u32);
            pass.look_ahead(t, &mut log_future).expect("a look ahead");
        }
        pass.advance(t, &ancestors, &mut rng, &mut log_weights).expect("a step");
        let drawn = (0..PARTICLES).map(|i| pass.drawn(t, i)).collect();
        steps.push(Recorded { ancestors, drawn });
        weights.push(log_weights.clone());
        futures.push(log_future);
    }
    drop(pass);
    trace.put_fault(None);
    let again = sequence.weigh_again(trace, &steps).expect("a replay");
    let mut compared = 0;
    for (t, step) in again.iter().enumerate() {
        for (i, weighed) in step.iter().enumerate() {
            let (ours, wanted) = (weights[t][i], weighed.log_weight);
            // A draw whose law has no such parameters leaves no weight either.
            let dead = ours == f64::NEG_INFINITY && weighed.log_prior == f64::NEG_INFINITY;
            if !dead && !agree(ours, wanted) {
                let message = format!("step {t}, particle {i}: {ours} and {wanted} in\n{text}");
                return Some(Err(message));
            }
            compared += 1;
        }
    }
    Some(
        futures_agree(&mut world, &mut sequence, (&steps, &weights, &futures))
            .map(|n| compared + n),
    )
}

type Pass<'a> = (&'a [Recorded], &'a [Vec<f64>], &'a [Vec<f64>]);

/// log γ(path_i, ref_t..T) − log γ(path_i) by the trace: the reference's draws after each particle's path.
fn futures_agree(
    world: &mut World,
    sequence: &mut Sequence,
    (steps, weights, futures): Pass<'_>,
) -> Result<usize, String> {
    let mut compared = 0;
    for t in 1..steps.len() {
        let alive: Vec<usize> =
            (0..PARTICLES).filter(|i| weights[t - 1][*i] > f64::NEG_INFINITY).collect();
        let mut continued: Vec<Recorded> = steps[..t]
            .iter()
            .map(|s| Recorded { ancestors: s.ancestors.clone(), drawn: s.drawn.clone() })
            .collect();
        for (s, step) in steps.iter().enumerate().skip(t) {
            let reference = step.drawn[PARTICLES - 1].clone();
            let from = |i: usize| if s == t { alive[i % alive.len()] } else { i };
            continued.push(Recorded {
                ancestors: (0..PARTICLES).map(|i| from(i) as u32).collect(),
                drawn: vec![reference; PARTICLES],
            });
        }
        let again = match sequence.weigh_again(world.model.trace_mut(), &continued) {
            Ok(again) => again,
            // A particle that died has no future.
            Err(_) => continue,
        };
        let total = |i: usize| -> f64 {
            again[t..].iter().map(|step| step[i].log_weight + step[i].log_prior).sum()
        };
        let totals: Vec<f64> = (0..alive.len().min(PARTICLES)).map(total).collect();
        let Some(base) = totals.iter().position(|x| x.is_finite()) else { continue };
        for (i, wanted) in totals.iter().enumerate() {
            let ours = futures[t][alive[i]] - futures[t][alive[base]];
            let wanted = wanted - totals[base];
            let scale = totals[base].abs() + totals[i].abs();
            let close = (ours - wanted).abs() <= 1e-9 * (1.0 + scale);
            if ours != wanted && !close {
                return Err(format!("look ahead at {t}, particle {i}: {ours} and {wanted}"));
            }
            compared += 1;
        }
    }
    Ok(compared)
}

/// Over many programs: how many were compared, in how many numbers, and the first that disagrees.
fn campaign(programs: u64, extreme: bool, fault: Option<Fault>) -> (usize, usize, Option<String>) {
    let (mut compiled, mut numbers) = (0, 0);
    for seed in 0..programs {
        let text = Author { rng: Rng::from_seed(seed), extreme }.program();
        match compare(&text, seed, fault) {
            Some(Ok(compared)) => (compiled, numbers) = (compiled + 1, numbers + compared),
            Some(Err(message)) => return (compiled, numbers, Some(format!("{seed}: {message}"))),
            None => {}
        }
    }
    (compiled, numbers, None)
}

#[test]
fn lanes_weigh_as_the_trace_does() {
    let (compiled, numbers, wrong) = campaign(400, false, None);
    assert_eq!(wrong, None);
    assert!(compiled > 150 && numbers > 5000, "{compiled} programs, {numbers} numbers");
}

#[test]
fn lanes_weigh_as_the_trace_does_at_extreme_numbers() {
    let (compiled, numbers, wrong) = campaign(400, true, None);
    assert_eq!(wrong, None);
    assert!(compiled > 150 && numbers > 5000, "{compiled} programs, {numbers} numbers");
}

#[test]
fn twins_are_noticed() {
    let (_, _, wrong) = campaign(100, false, Some(Fault::OwnValues));
    assert!(wrong.is_some(), "particles that forget their ancestors");
    let (_, _, wrong) = campaign(400, true, Some(Fault::LostLanes));
    assert!(wrong.is_some(), "particles that outlive a parameter out of its domain");
}
