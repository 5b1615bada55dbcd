//! Rows that are appended to a table while programs run on it: against the same rows from the start, and to the bit against a
//! program of two loops; what cannot grow is refused with its place, and a refusal changes nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use smidgen::engine::Fault;
use smidgen::engine::environment::Environment;
use smidgen::execute::{ExecutionContext, Executor, Mode};
use smidgen::infer::Run;
use smidgen::infer::run::Phase;
use smidgen::lang::Diagnostic;
use smidgen::lang::lower::Scope;
use smidgen::value::{Buffer, Column, Missing, Rng, Symbol, Table, Texts, Value, math};
use smidgen::{Appended, OutcomeKind, Session, Settings};

const ROWS: usize = 700;
const BEFORE: usize = 400;

fn table(seed: u64) -> Table {
    let mut rng = Rng::from_seed(seed);
    let mut reals = |f: &dyn Fn(&mut Rng) -> f64| {
        Column::Reals((0..ROWS).map(|_| f(&mut rng)).collect::<Vec<_>>().into())
    };
    let x = reals(&|rng| 4.0 * rng.uniform() - 2.0);
    let y = reals(&|rng| math::ln(rng.open_uniform()) + 1.0);
    let group = reals(&|rng| rng.below(4) as f64);
    let features = (0..3 * ROWS).map(|_| 2.0 * rng.uniform() - 1.0).collect::<Vec<_>>();
    let labels: Vec<bool> = (0..ROWS).map(|_| rng.coin()).collect();
    let words: Vec<Arc<String>> =
        ["north", "south", "east"].map(|word| Arc::new(word.to_owned())).into();
    let codes: Vec<u32> = (0..ROWS).map(|_| rng.below(3) as u32).collect();
    Table::new(vec![
        (Symbol::new("x"), x),
        (Symbol::new("y"), y),
        (Symbol::new("group"), group),
        (Symbol::new("v"), Column::Vectors { data: features.into(), width: 3 }),
        (Symbol::new("label"), Column::Booleans(labels.into())),
        (Symbol::new("place"), Column::Texts(Texts::new(codes.into(), words.into()))),
    ])
}

/// Some rows of a table.
fn rows_of(table: &Table, rows: std::ops::Range<usize>) -> Table {
    let part = |column: &Column| match column {
        Column::Reals(xs) => Column::Reals(xs[rows.clone()].into()),
        Column::Booleans(xs) => Column::Booleans(xs[rows.clone()].into()),
        Column::Texts(texts) => {
            Column::Texts(Texts::new(texts.codes()[rows.clone()].into(), texts.words().into()))
        }
        Column::Vectors { data, width } => Column::Vectors {
            data: data[rows.start * width..rows.end * width].into(),
            width: *width,
        },
    };
    let column = |name: &Symbol| (*name, part(table.column(*name).expect("its own column")));
    Table::new(table.names().iter().map(column).collect())
}

fn session(tables: &[(&str, Table)]) -> Session {
    let mut session = Session::new(Settings { seed: 5, ..Settings::default() });
    for (name, table) in tables {
        session.give_table(name, Arc::new(table.clone()));
    }
    session
}

fn said(errors: &[Diagnostic], session: &Session) -> String {
    let place = |d: &Diagnostic| d.span.map_or("", |span| session.sources().text(span)).to_owned();
    errors.iter().map(|d| format!("{} at {}", d.message, place(d))).collect()
}

/// The numbers that a text shows.
fn run(session: &mut Session, text: &str) -> Vec<f64> {
    let program = session.parse_text("test", text).unwrap_or_else(|_| panic!("cannot read {text}"));
    let mut shown = Vec::new();
    for top in &program {
        let outcomes = session.execute(top);
        let outcomes = outcomes.unwrap_or_else(|e| panic!("{} in {text}", said(&e, session)));
        for outcome in outcomes {
            match outcome.kind.value() {
                Some(Value::Vector(xs)) => shown.extend(xs.iter()),
                Some(value) if !matches!(outcome.kind, OutcomeKind::Assume { .. }) => {
                    shown.extend(value.as_number());
                }
                _ => {}
            }
        }
    }
    shown
}

fn append(session: &mut Session, rows: &Table) -> Appended {
    session.append("t", rows).unwrap_or_else(|errors| panic!("{}", said(&errors, session)))
}

fn refusal(session: &mut Session, rows: &Table) -> String {
    let errors = session.append("t", rows).expect_err("these rows cannot be appended");
    said(&errors, session)
}

const MODEL: &str = "[table t]
    [assume a (normal 0 1)] [assume b (normal 0 1)] [assume s (gamma 2 1)]
    [assume w (multivariate_normal (vector 0 0 0 0) (id_matrix 4))]
    [assume m (mem (lambda (g) (scope_include 'm g (normal 0 1))))]";

const OBSERVATIONS: &[&str] = &[
    "[observe (normal (+ a (* b row.x)) s) row.y]",
    "[observe (bernoulli (linear_logistic w row.v)) row.label]",
    "[observe (normal (m row.group) s) row.y]",
    "[observe (normal (+ (m row.place) (* b row.x)) s) row.y]",
    "[observe (normal (if (< row.x 0) a b) s) row.y]",
    "[let k (* b row.x)] [observe (normal (+ a k) s) row.y]",
    "[observe (normal (normal a 1) s) row.y]",
    "[observe (normal (m (int_div row.index 150)) s) row.y]",
    "[observe (normal (* a (/ row.index 500)) s) row.y]",
    "y: [observe (normal (+ a (* b row.x)) s) row.y]",
    "[observe (bernoulli (linear_logistic w row.v)) row.label] [observe (normal a s) row.y]",
];

const SHOW: &str = "[sample a] [sample b] [sample s] [sample w] [log_joint]";

#[test]
fn appended_rows_are_those_of_a_full_load() {
    let all = table(1);
    for body in OBSERVATIONS {
        let text = format!("{MODEL} [for row in t {body}]");
        let mut whole = session(&[("t", all.clone())]);
        run(&mut whole, &text);
        let mut grown = session(&[("t", rows_of(&all, 0..BEFORE))]);
        run(&mut grown, &text);
        // Many rows, few, none, one.
        let mut first = BEFORE;
        for rows in [200, 40, 0, 1, ROWS - BEFORE - 241] {
            let appended = append(&mut grown, &rows_of(&all, first..first + rows));
            assert_eq!(appended, Appended { first, rows, loops: 1 });
            first += rows;
        }
        assert_eq!(first, ROWS);
        if body.contains("normal (normal") {
            // Rows with choices of their own have other values of them.
            continue;
        }
        let values =
            "[force a 0.3] [force b -0.4] [force s 1.5] [force w (vector 0.1 0.2 0.3 0.4)]";
        let groups: &[&str] = match body {
            body if body.contains("row.group") => &["0", "1", "2", "3"],
            body if body.contains("row.place") => &["\"north\"", "\"south\"", "\"east\""],
            body if body.contains("int_div") => &["0", "1", "2", "3", "4"],
            _ => &[],
        };
        let groups: String = groups.iter().map(|g| format!("[force (m {g}) 0.25]")).collect();
        let show = format!("{values} {groups} [log_joint] [log_likelihood]");
        let (a, b) = (run(&mut whole, &show), run(&mut grown, &show));
        let (a, b) = (&a[a.len() - 2..], &b[b.len() - 2..]);
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() <= 1e-9 * a.abs(), "{a} and {b}: {body}");
        }
    }
}

/// The second loop stands where the rows were appended.
#[test]
fn draws_are_those_of_two_loops_to_the_bit() {
    let all = table(2);
    let kernels = [
        "1",
        "(reference_mh default all 3)",
        "(nuts default all 3)",
        "(mh default one 20)",
        "(subsampled_mh default one 20 0.05 'drift 0.05 20)",
        "(hmc default all 0.01 3 3)",
    ];
    for (k, body) in OBSERVATIONS.iter().enumerate() {
        for kernel in kernels.iter().skip(k % 2).step_by(2) {
            // Not every kernel moves every model, as whoever tries is told.
            let smooth = ["(ref", "(nuts", "(hmc"].iter().any(|start| kernel.starts_with(start));
            if smooth && (body.contains("(normal (normal") || body.contains("int_div")) {
                continue;
            }
            let [first, second] = [0..BEFORE, BEFORE..ROWS].map(|rows| rows_of(&all, rows));
            let infer = format!("[infer {kernel}]");
            let before = format!("{MODEL} [table u] [for row in t {body}] {infer}");
            let mut grown = session(&[("t", first.clone()), ("u", second.clone())]);
            run(&mut grown, &before);
            append(&mut grown, &second);
            // The same text but for what gives the number of a row.
            let number = (BEFORE..ROWS).map(|row| row as f64).collect::<Vec<_>>();
            let number = (Symbol::new("number"), Column::Reals(number.into()));
            let own = |name: &Symbol| (*name, second.column(*name).expect("its own").clone());
            let columns = second.names().iter().map(own).chain([number]).collect();
            let mut two = session(&[("t", first), ("u", Table::new(columns))]);
            run(&mut two, &before);
            let body = body.replace("row.index", "row.number").replace("y: ", "z: ");
            run(&mut two, &format!("[for row in u {body}]"));
            let after = format!("{SHOW} {infer} {SHOW} {infer} {SHOW}");
            let (a, b) = (run(&mut grown, &after), run(&mut two, &after));
            let bits = |xs: &[f64]| xs.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert!(bits(&a) == bits(&b), "{a:?}\n{b:?}\n{body} by {kernel}");
        }
    }
}

#[test]
fn what_was_made_of_all_rows_is_refused_with_its_place() {
    let all = table(3);
    let observe = "[for row in t [observe (normal a s) row.y]]";
    let cases = [
        ("[predict (rows t)]", "(rows t)"),
        ("[assume n (/ 1 (rows t))]", "(rows t)"),
        ("[define places (levels t place)]", "(levels t place)"),
        ("[predict (cell t x 3)]", "(cell t x 3)"),
        ("[assume f (lambda (i) (cell t x i))]", "(cell t x i)"),
        ("[observe (normal (mean (column t x)) s) 1]", "(column t x)"),
        ("[for i in (range 0 (rows t)) [observe (normal a s) (cell t y i)]]", "(rows t)"),
        ("[for row in t [observe (normal (+ a (rows t)) s) row.y]]", "(rows t)"),
        ("[for row in t [predict (* a row.x)]]", "[predict (* a row.x)]"),
        ("[for i in (range 0 2) [for row in t [observe (normal a s) row.y]]]", "t"),
    ];
    for (text, place) in cases {
        let mut session = session(&[("t", rows_of(&all, 0..BEFORE))]);
        run(&mut session, &format!("{MODEL} {observe} {text}"));
        let before = run(&mut session, "[log_joint]");
        let error = refusal(&mut session, &rows_of(&all, BEFORE..ROWS));
        let expected = format!("at {place}");
        assert!(
            error.contains("cannot be appended to `t`") && error.ends_with(&expected),
            "{error}"
        );
        assert_eq!(run(&mut session, "[log_joint]"), before);
        assert_eq!(run(&mut session, "[sample (rows t)]"), [BEFORE as f64]);
    }
    let mut session = session(&[("t", rows_of(&all, 0..BEFORE))]);
    run(
        &mut session,
        &format!("{MODEL} [for row in t y: [observe (normal a s) row.y]] [forget \"y[3]\"]"),
    );
    let error = refusal(&mut session, &rows_of(&all, BEFORE..ROWS));
    assert!(error.contains("were forgotten here"), "{error}");
}

#[test]
fn rows_that_cannot_be_change_nothing() {
    let all = table(4);
    let text = format!(
        "{MODEL} [for row in t [observe (expon (exp b)) (- 5 row.x)]] [for row in t [observe (normal (m row.place) s) row.y]]"
    );
    let mut session = session(&[("t", rows_of(&all, 0..BEFORE))]);
    run(&mut session, &text);
    let before = run(&mut session, SHOW);
    let more = rows_of(&all, BEFORE..ROWS);
    let replaced = |name: &str, column: Column| {
        let other = |known: &Symbol| match known.as_str() == name {
            true => (*known, column.clone()),
            false => (*known, more.column(*known).expect("its own column").clone()),
        };
        Table::new(more.names().iter().map(other).collect())
    };
    let n = more.rows();
    // One row is outside of the support of its law, and is named.
    let mut far = vec![1.0; n];
    far[7] = 9.0;
    let error = session.append("t", &replaced("x", Column::Reals(far.clone().into())));
    let error = error.expect_err("it lies outside the support");
    assert!(error[0].message.contains("support"), "{}", error[0].message);
    let path: Vec<&str> = error[0].path.iter().map(|(what, _)| what.as_str()).collect();
    let row = format!("in row {} of the table, counted from 0", BEFORE + 7);
    assert!(path.contains(&row.as_str()), "{path:?}");
    let words = Column::Booleans(vec![true; n].into());
    assert!(
        refusal(&mut session, &replaced("x", words))
            .contains("holds numbers, in the new rows truth values")
    );
    let lacks: Vec<(Symbol, Column)> = vec![(Symbol::new("x"), Column::Reals(far.into()))];
    assert!(refusal(&mut session, &Table::new(lacks)).contains("have no column `y`"));
    let mask: Vec<bool> = (0..n).map(|row| row == 2).collect();
    let holes = vec![(Symbol::new("y"), Missing::new(mask.into(), "row 2".to_owned()))];
    assert!(refusal(&mut session, &more.clone().with_missing(holes)).contains("missing"));
    assert!(session.append("none", &more).is_err());
    assert_eq!(run(&mut session, SHOW), before);
    // And what can be still can.
    let positive = replaced("x", Column::Reals(vec![1.0; n].into()));
    assert_eq!(append(&mut session, &positive).loops, 2);
    assert_eq!(run(&mut session, "[sample (rows t)]"), [ROWS as f64]);
}

#[test]
fn labels_and_later_loops_count_on() {
    let all = table(5);
    let mut session = session(&[("t", rows_of(&all, 0..BEFORE))]);
    run(&mut session, &format!("{MODEL} [for row in t y: [observe (normal a s) row.y]]"));
    append(&mut session, &rows_of(&all, BEFORE..BEFORE + 5));
    append(&mut session, &rows_of(&all, BEFORE + 5..ROWS));
    let y = all.column(Symbol::new("y")).and_then(Column::reals).expect("a column of numbers");
    for row in [0, BEFORE - 1, BEFORE + 2, BEFORE + 7, ROWS - 1] {
        assert_eq!(run(&mut session, &format!("[report \"y[{row}]\"]")), [y.row(row)[0]]);
    }
    // A loop that comes later goes over all rows, and grows as well.
    run(&mut session, "[for row in t z: [observe (normal b s) row.x]]");
    run(&mut session, &format!("[report \"z[{}]\"]", ROWS - 1));
    assert_eq!(append(&mut session, &rows_of(&all, 0..200)).loops, 2);
    run(&mut session, &format!("[report \"z[{}]\"] [report \"y[{}]\"]", ROWS + 199, ROWS + 199));
    let joint = run(&mut session, "[log_joint]")[0];
    run(&mut session, "[forget \"z\"]");
    assert!(run(&mut session, "[log_joint]")[0] != joint);
    assert!(refusal(&mut session, &rows_of(&all, 0..1)).contains("were forgotten here"));
}

/// Rows of which a cell is missing are left out, among the new ones too.
#[test]
fn new_rows_with_missing_cells_are_skipped() {
    let all = table(6);
    let mask =
        |rows: std::ops::Range<usize>| -> Arc<[bool]> { rows.map(|row| row % 5 == 0).collect() };
    let with_holes = |rows: std::ops::Range<usize>| {
        let holes = Missing::new(mask(rows.clone()), "row 0".to_owned());
        rows_of(&all, rows).with_missing(vec![(Symbol::new("x"), holes)])
    };
    let text = format!("{MODEL} [for row in t [observe (normal (* b row.x) s) row.y]]")
        .replace("[table t]", "[table t (missing skip)]");
    let (mut grown, mut whole) =
        (session(&[("t", with_holes(0..BEFORE))]), session(&[("t", with_holes(0..ROWS))]));
    run(&mut grown, &text);
    run(&mut whole, &text);
    append(&mut grown, &with_holes(BEFORE..ROWS));
    let show = "[force b 0.5] [force s 1] [log_likelihood]";
    let (a, b) = (run(&mut grown, show), run(&mut whole, show));
    assert!((a[2] - b[2]).abs() <= 1e-9 * a[2].abs(), "{a:?} {b:?}");
}

/// Cells that may not be read once they are closed.
struct Closing {
    cells: Vec<f64>,
    is_closed: Arc<AtomicBool>,
}

impl AsRef<[f64]> for Closing {
    fn as_ref(&self) -> &[f64] {
        assert!(!self.is_closed.load(Ordering::Relaxed), "cells are read that are closed");
        &self.cells
    }
}

/// Appending reads no cell of the rows before, so that it costs what the new rows cost. Whoever does read them is caught.
#[test]
fn appending_reads_no_row_that_was_there() {
    let is_closed = Arc::new(AtomicBool::new(false));
    let closing = |cells: Vec<f64>| {
        Column::Reals(Buffer::lent(Closing { cells, is_closed: is_closed.clone() }))
    };
    let (all, names) = (table(7), ["x", "y", "group"].map(Symbol::new));
    let cells = |name: &Symbol, rows: std::ops::Range<usize>| {
        let column = all.column(*name).and_then(Column::reals).expect("a column of numbers");
        column.data[rows].to_vec()
    };
    let old = names.iter().map(|name| (*name, closing(cells(name, 0..BEFORE)))).collect();
    let mut session = session(&[("t", Table::new(old))]);
    let text = "[for row in t y: [observe (normal (+ a (* b row.x)) s) row.y]]
        [for row in t [observe (normal (+ (m row.group) (* 0.001 row.index)) s) row.y]] [infer 5]";
    run(&mut session, &format!("{MODEL} {text}"));
    is_closed.store(true, Ordering::Relaxed);
    for rows in [BEFORE..BEFORE + 200, BEFORE + 200..BEFORE + 220, BEFORE + 220..ROWS] {
        append(&mut session, &rows_of(&all, rows));
    }
    let reads = || run(&mut session, "[force a 0.123] [log_joint]");
    assert!(catch_unwind(AssertUnwindSafe(reads)).is_err(), "who reads the rows is caught");
}

/// Draws of a program that lives on while rows are appended: transitions before, rows, transitions after. The mean of the
/// second, and what it should be with its standard deviation.
fn mean_after_new_rows(kernel: &str, fault: Option<Fault>) -> (f64, f64, f64) {
    let mut rng = Rng::from_seed(3);
    let mut noise = |n: usize, shift: f64| -> Vec<f64> {
        (0..n).map(|_| shift + (12.0 * rng.uniform() - 6.0) / math::sqrt(12.0)).collect()
    };
    let (old, new) = (noise(300, 0.0), noise(900, 0.1));
    let of = |ys: &[f64]| Table::new(vec![(Symbol::new("y"), Column::Reals(ys.into()))]);
    let mut session = session(&[("t", of(&old))]);
    run(
        &mut session,
        "[table t] [assume mu (normal 0 10)] [for row in t [observe (normal mu 1) row.y]]",
    );
    let syntax = session.parse_option("--kernel", kernel).unwrap_or_else(|_| panic!("{kernel}"));
    let (catalog, sources) = (session.catalog().clone(), session.sources().clone());
    let mut rng = Rng::from_seed(8);
    let mut program = {
        let interrupt = Arc::default();
        let desk = ExecutionContext::new(&mut rng, &catalog, &sources, interrupt, Mode::Run);
        let mut executor = Executor { model: session.model(), desk };
        let program = executor.read_program(&syntax, &Scope::global(), &Environment::default());
        program.unwrap_or_else(|error| panic!("{}", error.message))
    };
    let mut run_of = Run { phase: Phase::Warmup, ..Run::default() };
    let mut go = |session: &mut Session, run_of: &mut Run, transitions: usize| -> f64 {
        let mut sum = 0.0;
        for _ in 0..transitions {
            program.execute(session.model(), &mut rng, run_of).unwrap_or_else(|e| panic!("{e}"));
            let mu = session.model().assumed_changeable()[0].1.clone();
            let value = session.model().operand_value(&mu).unwrap_or_else(|e| panic!("{e}"));
            sum += value.as_number().unwrap_or(f64::NAN);
        }
        sum / transitions as f64
    };
    go(&mut session, &mut run_of, 300);
    run_of.phase = Phase::Draws;
    go(&mut session, &mut run_of, 100);
    append(&mut session, &of(&new));
    session.model().trace_mut().put_fault(fault);
    go(&mut session, &mut run_of, 300);
    let mean = go(&mut session, &mut run_of, 6000);
    let (n, sum) = (1200.0, old.iter().chain(&new).sum::<f64>());
    (mean, sum / (n + 0.01), 1.0 / math::sqrt(n + 0.01))
}

/// Whatever a kernel keeps of the rows (sums, bounds, rosters, compiled densities) is made anew or extended. Each mean has
/// at least 150 effective draws: off by more than 0.4 sd with probability 1e-6.
#[test]
fn no_kernel_goes_on_with_the_old_rows() {
    for kernel in [
        "(reference_mh default all 1)",
        "(nuts default all 1)",
        "(subsampled_mh default one 50 0.01 'drift 0.06 5)",
        "(mh default one 'drift 0.06 5)",
        "(slice default one 1)",
        "1",
    ] {
        let (mean, expected, sd) = mean_after_new_rows(kernel, None);
        assert!((mean - expected).abs() < 0.4 * sd, "{kernel}: {mean}, not {expected} ± {sd}");
    }
    let (mean, expected, sd) =
        mean_after_new_rows("(reference_mh default all 1)", Some(Fault::KeptRows));
    assert!((mean - expected).abs() > sd, "old sums are not noticed: {mean}, {expected} ± {sd}");
}
