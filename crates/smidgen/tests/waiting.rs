//! Predictions that only compute something wait until they are recorded: the numbers are those of the state that the other draws
//! show, nothing else of the chain changes, and the rows that they ask for stay.

use smidgen::draws::{Run, Scalar};
use smidgen::sampling::{Progress, SampleRequest, sample};
use smidgen::{Session, Settings};

fn run(text: &str, record: &[&str]) -> Run {
    let mut session = Session::new(Settings::default());
    let program = session.parse_text("test", text).expect("a program");
    let request = SampleRequest {
        draws: 60,
        warmup: 60,
        chains: 2,
        seed: 3,
        record: record.iter().map(|expr| (*expr).to_owned()).collect(),
        ..SampleRequest::default()
    };
    let sampled = sample(&mut session, &program, &request, &Progress::default());
    sampled.unwrap_or_else(|errors| panic!("{text}: {}", errors.0[0].message)).run
}

fn column(run: &Run, name: &str) -> Vec<f64> {
    let scalars: Vec<Scalar> = run.draws.scalars();
    let found = scalars.into_iter().find(|scalar| scalar.name == name);
    let found = found.unwrap_or_else(|| panic!("nothing is called {name}"));
    found.chains.concat()
}

/// Assignments one by one, a joint block, and a choice that nothing but a prediction asks for.
const MODEL: &str = "[assume p (beta 1 1)]
    [assume z (mem (lambda (i) (flip p)))]
    [assume m (mem (lambda (k) (normal 0 3)))]
    [for i in (range 0 8) [observe (normal (m (z i)) 1) (- i 3)]]
    [assume x (normal 0 1)] [assume extra (mem (lambda (i) (normal x 1)))] [predict (extra 0)]
    [observe (normal (extra 1) 1) 2]";

const COMPUTED: [(&str, &str); 6] = [
    ("ones", "(sum (map (lambda (i) (if (z i) 1 0)) (range 0 8)))"),
    ("kinds", "(size (unique (map z (range 0 8))))"),
    ("same", "(= (z 0) (z 7))"),
    ("scaled", "(exp (* 0.5 (+ x (extra 0))))"),
    ("gap", "(- (extra 1) (extra 0))"),
    ("least", "(min p (square x))"),
];

#[test]
fn what_waits_is_what_is_recorded_in_the_same_state() {
    let predictions: String =
        COMPUTED.iter().map(|(label, expr)| format!("{label}: [predict {expr}]\n")).collect();
    let record: Vec<&str> = COMPUTED.iter().map(|(_, expr)| *expr).collect();
    let text = format!("{MODEL} first: [predict p] {predictions} last: [predict x]");
    let run = run(&text, &record);
    for (label, expr) in COMPUTED {
        assert_eq!(column(&run, label), column(&run, expr), "{label}");
    }
    // The order of the program is that of the columns.
    let names: Vec<String> = run.draws.scalars().iter().map(|s| s.name.clone()).collect();
    let labels = COMPUTED.iter().map(|(label, _)| *label);
    let wanted: Vec<&str> =
        ["(extra 0)", "first"].into_iter().chain(labels).chain(["last"]).collect();
    assert_eq!(names[..wanted.len()], wanted[..]);
    let (x, least) = (column(&run, "last"), column(&run, "least"));
    let p = column(&run, "first");
    for ((x, p), least) in x.iter().zip(&p).zip(&least) {
        assert_eq!(*least, p.min(x * x));
    }
}

#[test]
fn what_waits_changes_nothing_of_the_chain() {
    let predictions: String =
        COMPUTED.iter().map(|(_, expr)| format!("[predict {expr}]\n")).collect();
    let plain = run(&format!("{MODEL} first: [predict p] last: [predict x]"), &[]);
    let more = run(&format!("{MODEL} first: [predict p] {predictions} last: [predict x]"), &[]);
    for name in ["first", "last", "(extra 0)"] {
        assert_eq!(column(&plain, name), column(&more, name), "{name}");
    }
}

/// What may stop makes a state impossible, and what is random is a choice: neither waits.
#[test]
fn what_may_stop_still_counts() {
    let text = "[assume k (categorical (vector 0.5 0.5))] [assume x (normal 0 1)]
        [predict k] once: [predict (int_mod 3 k)] next: [predict (normal x 1)]";
    let run = run(text, &[]);
    assert!(column(&run, "k").iter().all(|k| *k == 1.0), "3 modulo 0 stops");
    let next = column(&run, "next");
    assert!(next.windows(2).any(|pair| pair[0] != pair[1]));
}

#[test]
fn labels_of_what_waits_can_be_forgotten_and_frozen() {
    let text = "[assume x (normal 0 1)] a: [predict (+ x 1)] b: [predict (+ x 2)] [forget a]";
    let forgotten = run(text, &[]);
    assert_eq!(forgotten.draws.scalars().iter().map(|s| &s.name[..]).collect::<Vec<_>>(), ["b"]);
    let text = "[assume x (normal 0 1)] a: [predict (+ x 1)] [observe (normal x 1) 0] [freeze a]";
    let frozen = column(&run(text, &[]), "a");
    assert!(
        frozen[..60].windows(2).all(|pair| pair[0] == pair[1]),
        "it is a constant of the chain"
    );
}
