//! Every reading over every step and every density in each of its forms: values against the law's own log
//! density of values of the language, slopes against differences, draws against the law's own.
//!
//! The table is made from the list of all laws, each with the arguments of its own example, and from the steps
//! themselves, so that none can be forgotten. A broken twin of each reading's program is caught.

mod steps;

use std::iter::Peekable;

use smidgen_prob::distributions::ALL;
use smidgen_prob::smooth::Elementary;
use smidgen_prob::{Builtin, Distribution, Linked, Score, lookup};
use smidgen_value::{Link, Matrix, Rng, Symbol, Value};

use super::{NO_LINEAR, Sides, Store};
use crate::program::wide::Sum;
use crate::program::{Op, Program, Register, Source, lower, marked};

pub(crate) const LANES: usize = 7;

/// What each lane gives a linked parameter.
pub(crate) const ETAS: [f64; LANES] = [-2.5, -1.0, -0.3, 0.1, 0.6, 1.2, 2.0];
const FAR: [f64; LANES] = [-800.0, -720.0, -300.0, 5.0, 300.0, 720.0, 800.0];

// ------------------------------------------------------------- the table

/// The value of an expression of numbers and calls of deterministic procedures.
fn evaluate(words: &mut Peekable<impl Iterator<Item = String>>) -> Value {
    let word = words.next().expect("an expression");
    if word != "(" {
        return match word.as_str() {
            "true" => Value::TRUE,
            "false" => Value::FALSE,
            word => word.parse().map_or_else(|_| Value::symbol(word), Value::Number),
        };
    }
    let name = words.next().expect("a procedure");
    let mut args = Vec::new();
    while words.peek().is_some_and(|word| word != ")") {
        args.push(evaluate(words));
    }
    words.next();
    let Some(Builtin::Function(function)) = lookup(Symbol::new(&name)) else {
        panic!("{name} is no function")
    };
    (function.apply)(&args.iter().collect::<Vec<_>>()).expect("an example that runs")
}

/// The arguments of a law's example.
fn example(law: &dyn Distribution) -> Vec<Value> {
    let text = law.spec().example.replace('(', " ( ").replace(')', " ) ");
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let mut words = words[2..words.len() - 1].iter().cloned().peekable();
    let mut args = Vec::new();
    while words.peek().is_some() {
        args.push(evaluate(&mut words));
    }
    args
}

/// A law in one form, with arguments and an outcome for each lane.
pub(crate) struct Case {
    pub(crate) law: &'static dyn Distribution,
    pub(crate) linked: Option<Linked>,
    /// In each lane, as the language would give them.
    pub(crate) args: Vec<Vec<Value>>,
    x: Vec<Value>,
}

impl Case {
    /// The plain form, or the linked one; lanes differ in the argument that may be linked.
    fn new(law: &'static dyn Distribution, is_linked: bool, etas: [f64; LANES]) -> Case {
        let form = law.linked();
        let mut rng = Rng::from_seed(5);
        let (mut args, mut x) = (Vec::new(), Vec::new());
        for eta in etas {
            let mut lane = example(law);
            if let Some(linked) = form
                && let Some(arg) = lane.get_mut(linked.place)
            {
                let through = |eta: f64| match is_linked {
                    true => Value::Linked(linked.link, eta),
                    false => Value::Number(linked.link.number(eta)),
                };
                *arg = match arg.as_number() {
                    Some(_) => through(eta),
                    None => Value::array(vec![through(eta), through(0.4), through(-0.2 * eta)]),
                };
            }
            // Where a law cannot be drawn from, the outcome of an ordinary one does.
            let drawn = law.sample(&lane.iter().collect::<Vec<_>>(), &mut rng);
            let ordinary = example(law);
            let drawn =
                drawn.or_else(|_| law.sample(&ordinary.iter().collect::<Vec<_>>(), &mut rng));
            x.push(drawn.expect("an example that can be drawn"));
            args.push(lane);
        }
        Case { law, linked: form.filter(|_| is_linked), args, x }
    }

    fn log_density(&self, lane: usize) -> f64 {
        let args: Vec<&Value> = self.args[lane].iter().collect();
        self.law.log_density(&self.x[lane], &args).unwrap_or(f64::NEG_INFINITY)
    }

    /// The program of the density, and the numbers of its leaves in each lane, leaf by leaf.
    pub(crate) fn program(&self) -> (Program, Vec<Vec<f64>>) {
        let mut program = Program::default();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let mut leaf = |program: &mut Program, values: Vec<&Value>, by: Option<Link>| {
            let numbers = |value: &Value| match (by, value) {
                (Some(_), Value::Linked(_, eta)) => vec![*eta],
                (Some(_), value) => {
                    let items = value.elements().expect("weights");
                    let eta = |item: &Value| match item {
                        Value::Linked(_, eta) => *eta,
                        other => panic!("{other} is not linked"),
                    };
                    items.iter().map(eta).collect()
                }
                (None, value) => lower::numbers(value).expect("numbers"),
            };
            let lanes: Vec<Vec<f64>> = values.iter().map(|value| numbers(value)).collect();
            let len = lanes[0].len();
            let number = columns.len() as u32;
            let first = program.leaf(len as u32, Source::Cell(number));
            columns.extend((0..len).map(|k| lanes.iter().map(|lane| lane[k]).collect()));
            let marks: Vec<f64> = (first..first + len as u32).map(marked::local).collect();
            match by {
                None => lower::renumber(values[0], &mut marks.into_iter()),
                Some(link) => {
                    let f = Elementary::of_link(link);
                    let numbers: Vec<f64> =
                        marks.iter().map(|mark| program.elementary(f, *mark, 0.0)).collect();
                    match values[0] {
                        Value::Linked(..) => Value::Number(numbers[0]),
                        _ => Value::vector(numbers),
                    }
                }
            }
        };
        let x = leaf(&mut program, self.x.iter().collect(), None);
        let args: Vec<Value> = (0..self.args[0].len())
            .map(|k| {
                let by = self.linked.filter(|linked| linked.place == k).map(|linked| linked.link);
                leaf(&mut program, self.args.iter().map(|lane| &lane[k]).collect(), by)
            })
            .collect();
        program.density(self.law, &x, &args).expect("a density");
        (program, columns)
    }
}

/// Every law in every form.
pub(crate) fn cases(etas: [f64; LANES]) -> Vec<Case> {
    let mut cases = Vec::new();
    for law in ALL.iter().filter(|law| law.spec().is_spellable()) {
        cases.push(Case::new(*law, false, etas));
        let has_place = |linked: &Linked| linked.place < example(*law).len();
        if law.linked().is_some_and(|linked| has_place(&linked)) {
            cases.push(Case::new(*law, true, etas));
        }
    }
    cases
}

pub(crate) fn store(program: &Program, columns: &[Vec<f64>]) -> Store {
    let mut store = Store::new(program, LANES);
    let registers = program.leaves.iter().flat_map(|leaf| leaf.register..leaf.register + leaf.len);
    let cells = program.leaves.iter().filter(|leaf| matches!(leaf.source, Source::Cell(_)));
    let cells: Vec<Register> =
        cells.flat_map(|leaf| leaf.register..leaf.register + leaf.len).collect();
    for (register, column) in cells.iter().zip(columns) {
        store.lanes_mut(*register, LANES).copy_from_slice(column);
    }
    for leaf in &program.leaves {
        if let Source::Number(x) = leaf.source {
            store.lanes_mut(leaf.register, LANES).fill(x);
        }
    }
    assert_eq!(registers.count(), columns.len() + program.leaves.len() - cells_count(program));
    store
}

fn cells_count(program: &Program) -> usize {
    program.leaves.iter().filter(|leaf| matches!(leaf.source, Source::Cell(_))).count()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() <= tolerance * (1.0 + b.abs())
}

// ------------------------------------------------------------- values

/// The value reading against the law, lane by lane and in all lanes at once.
fn check_values(case: &Case, program: &Program, columns: &[Vec<f64>]) -> Result<(), String> {
    let name = case.law.spec().name;
    for lane in 0..LANES {
        let single: Vec<Vec<f64>> = columns.iter().map(|c| vec![c[lane]; LANES]).collect();
        let mut store = store(program, &single);
        let (found, want) = (store.value(program, 1, &NO_LINEAR), case.log_density(lane));
        if !close(found, want, 1e-11) {
            return Err(format!("{name}: {found} is not {want} in lane {lane}"));
        }
    }
    let mut together = store(program, columns);
    let total = together.value(program, LANES, &NO_LINEAR);
    let want: f64 = (0..LANES).map(|lane| case.log_density(lane)).sum();
    match close(total, want, 1e-11) {
        true => Ok(()),
        false => Err(format!("{name}: the lanes have {total} together, not {want}")),
    }
}

/// The reading of sums over blocks against the law: the lanes twice.
fn check_totals(case: &Case, program: &Program, columns: &[Vec<f64>]) -> Result<(), String> {
    let mut store = store(program, columns);
    let mut sum = Sum::default();
    let added = (0..2).all(|_| store.add_terms(program, LANES, &NO_LINEAR, &mut sum));
    let want: f64 = (0..LANES).map(|lane| 2.0 * case.log_density(lane)).sum();
    let total = sum.total();
    let is_right = match want.is_finite() {
        true => added && close(total, want, 1e-11),
        false => !added || !total.is_finite(),
    };
    if is_right { Ok(()) } else { Err(format!("{}: {total}, not {want}", case.law.spec().name)) }
}

/// The reading of ratios against the law: each lane before a move, the next one after it.
fn check_ratios(case: &Case, program: &Program, columns: &[Vec<f64>]) -> Result<(), String> {
    let sides = Sides::of(LANES);
    let mut wide = Store::new(program, 2 * sides.side);
    let narrow = [0, 1].map(|shift| {
        let moved = columns.iter().map(|c| (0..LANES).map(|l| c[(l + shift) % LANES]).collect());
        store(program, &moved.collect::<Vec<Vec<f64>>>())
    });
    for leaf in &program.leaves {
        for register in leaf.register..leaf.register + leaf.len {
            wide.lanes_mut(register, LANES).copy_from_slice(narrow[0].lanes(register, LANES));
            wide.fill_up(register, sides);
            wide.repeat(register, sides);
            let (_, after) = wide.lanes_mut(register, 2 * sides.side).split_at_mut(sides.side);
            after[..LANES].copy_from_slice(narrow[1].lanes(register, LANES));
        }
    }
    let mut out = [0.0; LANES];
    let computed = wide.log_ratios(program, sides, [&NO_LINEAR; 2], &mut out);
    let log_p: Vec<f64> = (0..LANES).map(|lane| case.log_density(lane)).collect();
    if !log_p.iter().all(|log_p| log_p.is_finite()) {
        let name = case.law.spec().name;
        return if computed { Err(format!("{name} has ratios {out:?}")) } else { Ok(()) };
    }
    for l in 0..LANES {
        let (before, after) = (log_p[l], log_p[(l + 1) % LANES]);
        let want = after - before;
        if !computed || (out[l] - want).abs() > 1e-11 * (1.0 + before.abs() + after.abs()) {
            return Err(format!("{}: ratio {}, not {want}", case.law.spec().name, out[l]));
        }
    }
    Ok(())
}

#[test]
fn sums_and_ratios_are_those_of_the_law() {
    for etas in [ETAS, FAR] {
        for case in cases(etas) {
            let (program, columns) = case.program();
            for check in [check_totals, check_ratios] {
                if let Err(why) = check(&case, &program, &columns) {
                    panic!("{why} (linked: {})", case.linked.is_some());
                }
            }
        }
    }
}

#[test]
fn values_are_those_of_the_law() {
    let mut linked = 0;
    for etas in [ETAS, FAR] {
        for case in cases(etas) {
            let (program, columns) = case.program();
            linked += usize::from(case.linked.is_some());
            if let Err(why) = check_values(&case, &program, &columns) {
                panic!("{why} (linked: {})", case.linked.is_some());
            }
        }
    }
    assert!(linked >= 2 * 18, "{linked} linked forms");
}

// ------------------------------------------------------------- slopes

/// The slopes of the leaves' numbers against differences of the value. How many were compared.
fn check_slopes(program: &Program, columns: &[Vec<f64>], pairs: &[usize]) -> Result<usize, String> {
    let mut here = store(program, columns);
    let value = here.value(program, LANES, &NO_LINEAR);
    let again = here.value_for_slopes(program, LANES, &NO_LINEAR);
    if !close(again, value, 1e-13) {
        return Err(format!("{again} with slopes, {value} without"));
    }
    if value == f64::NEG_INFINITY {
        return Ok(0);
    }
    here.clear_slopes();
    here.pull(program, LANES, &NO_LINEAR, &mut |_, _, _| {});
    let cells = program.leaves.iter().filter(|leaf| matches!(leaf.source, Source::Cell(_)));
    let cells: Vec<Register> =
        cells.flat_map(|leaf| leaf.register..leaf.register + leaf.len).collect();
    let mut compared = 0;
    for (k, register) in cells.iter().enumerate() {
        for lane in 0..LANES {
            let at = |t: f64| {
                let mut moved = columns.to_vec();
                moved[k][lane] += t;
                if pairs[k] != k {
                    moved[pairs[k]][lane] += t;
                }
                store(program, &moved).value(program, LANES, &NO_LINEAR)
            };
            let h = 1e-4 * columns[k][lane].abs().max(1e-2);
            let slope = here.slope(*register, LANES)[lane]
                + if pairs[k] == k { 0.0 } else { here.slope(cells[pairs[k]], LANES)[lane] };
            let differences = [h, 0.5 * h].map(|h| (at(h) - at(-h)) / (2.0 * h));
            let difference = (4.0 * differences[1] - differences[0]) / 3.0;
            if !difference.is_finite() {
                // It may not move: a count, a point of a simplex.
                continue;
            }
            compared += 1;
            if !close(slope, difference, 2e-6) {
                return Err(format!("leaf {k} in lane {lane}: slope {slope}, not {difference}"));
            }
        }
    }
    Ok(compared)
}

/// The number that has to move with each one: the other entry of a symmetric matrix.
fn pairs(case: &Case) -> Vec<usize> {
    let mut pairs = Vec::new();
    for value in std::iter::once(&case.x[0]).chain(&case.args[0]) {
        let first = pairs.len();
        match value {
            Value::Matrix(m) => {
                let n = m.rows();
                pairs.extend((0..n * n).map(|k| first + (k % n) * n + k / n));
            }
            value => {
                let len = lower::numbers(value).expect("numbers").len();
                pairs.extend(first..first + len);
            }
        }
    }
    pairs
}

/// Laws of which nothing can be moved alone: whole numbers, and points of a simplex.
const FIXED: &[&str] = &["uniform_discrete", "hypergeometric", "multinomial"];

#[test]
fn slopes_are_those_of_the_value() {
    for case in cases(ETAS) {
        let name = case.law.spec().name;
        let (program, columns) = case.program();
        let compared = match check_slopes(&program, &columns, &pairs(&case)) {
            Ok(compared) => compared,
            Err(why) => panic!("{name} (linked: {}): {why}", case.linked.is_some()),
        };
        assert!(compared > 0 || FIXED.contains(&name), "{name}: nothing was compared");
    }
}

// ------------------------------------------------------------- draws

/// The mean of log p over draws by the program against draws of the law: how many standard errors apart.
fn distance_of_draws(case: &Case, program: &Program, columns: &[Vec<f64>]) -> f64 {
    const ROUNDS: usize = 400;
    let mut rng = Rng::from_seed(77);
    let mut sums = [[0.0; 3]; 2];
    let mut add = |which: usize, log_p: f64| {
        let [count, sum, squares] = &mut sums[which];
        *count += 1.0;
        *sum += log_p;
        *squares += log_p * log_p;
    };
    let lane_zero: Vec<Vec<f64>> = columns.iter().map(|c| vec![c[0]; LANES]).collect();
    let args: Vec<&Value> = case.args[0].iter().collect();
    for _ in 0..ROUNDS {
        let mut store = store(program, &lane_zero);
        store.sample(program, LANES, &NO_LINEAR, &mut rng).expect("draws");
        for lane in 0..LANES {
            let numbers: Vec<f64> = (0..program.leaves[0].len)
                .map(|k| store.lanes(program.leaves[0].register + k, LANES)[lane])
                .collect();
            let x = match &case.x[0] {
                Value::Vector(_) => Value::vector(numbers),
                Value::Matrix(m) => Value::matrix(Matrix::new(m.rows(), m.cols(), numbers)),
                _ => Value::Number(numbers[0]),
            };
            let x = case.law.admit(&x).expect("an outcome");
            add(0, case.law.log_density(&x, &args).expect("a density"));
            let x = case.law.sample(&args, &mut rng).expect("a draw");
            add(1, case.law.log_density(&x, &args).expect("a density"));
        }
    }
    let [a, b] = sums.map(|[n, sum, squares]| {
        let mean = sum / n;
        [mean, (squares / n - mean * mean).max(0.0) / n]
    });
    let difference = (a[0] - b[0]).abs();
    if difference < 1e-12 { 0.0 } else { difference / (a[1] + b[1]).sqrt() }
}

#[test]
fn draws_follow_the_law() {
    for case in cases(ETAS) {
        let (program, columns) = case.program();
        let distance = distance_of_draws(&case, &program, &columns);
        let name = case.law.spec().name;
        // Among sixty laws one in a hundred million such tests fails by chance.
        assert!(distance < 6.0, "{name}: {distance} standard errors apart");
    }
}

// ------------------------------------------------------------- twins

/// The density of a program whose law takes η for the number.
fn forget_the_link(program: &mut Program) {
    for step in &mut program.steps {
        if let Op::Density(op) = &mut step.op {
            op.linked = None;
            op.score = op.law.score().expect("a score");
        }
    }
}

#[test]
fn broken_twins_are_caught() {
    let normal = ALL.iter().find(|law| law.spec().name == "normal").expect("a law");
    let case = Case::new(*normal, true, ETAS);
    let (mut program, columns) = case.program();
    forget_the_link(&mut program);
    // Some logarithms are negative, which is no sd.
    assert!(check_values(&case, &program, &columns).is_err());
    let positive = Case::new(*normal, true, [0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.3]);
    let (mut program, columns) = positive.program();
    forget_the_link(&mut program);
    assert!(check_values(&positive, &program, &columns).is_err());
    assert!(check_totals(&positive, &program, &columns).is_err());
    assert!(check_ratios(&positive, &program, &columns).is_err());
    assert!(distance_of_draws(&positive, &program, &columns) > 6.0);
    // A slope that is a little wrong.
    let gamma = ALL.iter().find(|law| law.spec().name == "gamma").expect("a law");
    let case = Case::new(*gamma, false, ETAS);
    let (mut program, columns) = case.program();
    assert!(check_slopes(&program, &columns, &pairs(&case)).is_ok());
    for step in &mut program.steps {
        if let Op::Density(op) = &mut step.op {
            op.score = Score::Scalar(|x, args, slope| {
                let gamma = ALL.iter().find(|law| law.spec().name == "gamma").expect("a law");
                let Some(Score::Scalar(score)) = gamma.score() else { return f64::NAN };
                let log_p = score(x, args, slope);
                slope.iter_mut().skip(1).for_each(|slope| *slope *= 1.0 + 1e-4);
                log_p
            });
        }
    }
    assert!(check_slopes(&program, &columns, &pairs(&case)).is_err());
}
