//! Programs whose posteriors the default kernel, or others, once got wrong without a word. The truth is analytic, by enumeration or
//! by an independent simulation, to the digits that are given.

use smidgen::draws::summary::{SummaryRow, summarise};
use smidgen::sampling::{Progress, sample};
use smidgen::{SampleRequest, Session, Settings};

/// A quantity and its posterior mean.
type Truth<'a> = (&'a str, f64);

/// Standard errors that a mean may be off.
const ERRORS: f64 = 4.5;
/// The truth is given to three digits.
const ROUNDING: f64 = 1e-3;
/// A chain that hardly moves does not pass by its own large error.
const MOST_ERROR: f64 = 0.06;

fn summary(program: &str, kernel: Option<&str>, record: &[&str]) -> Vec<SummaryRow> {
    let mut session = Session::new(Settings { seed: 14, ..Settings::default() });
    let directives = session.parse_text("program", program).unwrap_or_else(|e| panic!("{e:?}"));
    let request = SampleRequest {
        kernel: kernel.map(str::to_owned),
        draws: 1500,
        warmup: 500,
        chains: 4,
        seed: 14,
        record: record.iter().map(|name| (*name).to_owned()).collect(),
        threads: 1,
        ..SampleRequest::default()
    };
    let sampled = sample(&mut session, &directives, &request, &Progress::default());
    let sampled = sampled.unwrap_or_else(|error| panic!("{error:?}\nin {program}"));
    summarise(&sampled.run.draws)
}

fn mean_of(rows: &[SummaryRow], name: &str) -> (f64, f64) {
    let row = rows.iter().find(|row| row.name == name);
    let row = row.unwrap_or_else(|| panic!("{name} is not among the draws"));
    (row.mean, row.mcse)
}

/// Holds means against the truth.
fn holds(program: &str, kernel: Option<&str>, truths: &[Truth<'_>]) {
    let names: Vec<&str> = truths.iter().map(|(name, _)| *name).collect();
    let rows = summary(program, kernel, &names);
    for (name, truth) in truths {
        let (mean, mcse) = mean_of(&rows, name);
        let scale = MOST_ERROR * truth.abs().max(1.0);
        // A quantity that never moved has no error.
        let moves = mcse > 0.0 && mcse < scale;
        assert!(
            moves && (mean - truth).abs() <= ERRORS * mcse + ROUNDING,
            "{name} is {mean} ± {mcse}, expected {truth}, by {}\n{program}",
            kernel.unwrap_or("default")
        );
    }
}

#[test]
fn a_branch_that_no_density_reads() {
    let coin = "[assume x0 (normal 0 1)] [assume x1 (if (< x0 0) 3 (normal 0 1))]";
    holds(coin, None, &[("x0", 0.0), ("x1", 1.5)]);
    let constants = "[assume x0 (normal 0 1)] [assume x1 (if (< x0 0) 3 4)]";
    holds(constants, None, &[("x1", 3.5), ("(* x0 x1)", 0.398_942)]);
    for kernel in ["(nuts default all 1)", "(hmc default all 0.3 5 1)"] {
        // They may refuse it, but not leave the branch where it was.
        let mut session = Session::new(Settings { seed: 14, ..Settings::default() });
        let directives = session.parse_text("program", constants).expect("a program");
        let request = SampleRequest {
            kernel: Some(kernel.to_owned()),
            record: vec!["x1".to_owned()],
            threads: 1,
            ..SampleRequest::default()
        };
        if let Ok(sampled) = sample(&mut session, &directives, &request, &Progress::default()) {
            let (mean, _) = mean_of(&summarise(&sampled.run.draws), "x1");
            assert!((mean - 3.5).abs() < 0.1, "{kernel}: {mean}");
        }
    }
}

/// E x0 = −ln 0.4.
#[test]
fn recursion_that_a_product_stops() {
    let program = "[assume g (lambda (k p) (let ((q (* p (uniform_continuous 0 1)))) (if (<= q 0.4) k (g (+ k 1) q))))]
        [assume x0 (g 0 1)]";
    holds(program, None, &[("x0", 0.916_291)]);
}

/// E [x0 | x0 < 2] = −φ(2)/Φ(2).
#[test]
fn a_branch_behind_a_wall() {
    let program = "[assume x0 (normal 0 1)] [assume x1 (if (< x0 0) 3 (normal 0 1))]
        [observe (bernoulli (if (< x0 2) 1 0)) true]";
    holds(program, None, &[("x0", -0.055_248)]);
}

#[test]
fn a_coin_whose_probability_moves() {
    let program = "[assume x1 (gamma 2 0.688)] [assume x3 (flip (logistic x1))]";
    holds(program, None, &[("x3", 0.8776), ("x1", 2.907)]);
    // By kernels that write lazily, and Gibbs after them.
    let tagged = "[assume x1 (scope_include 'x 0 (gamma 2 0.688))]
        [assume x3 (scope_include 'z 0 (flip (logistic x1)))]";
    for kernel in [
        "(cycle ((nuts x all 1) (gibbs z one 1)) 1)",
        "(cycle ((hmc x all 0.4 4 1) (gibbs z one 1)) 1)",
        "(cycle ((subsampled_mh x one 10 0 'drift 0.7 3) (gibbs z one 1)) 1)",
    ] {
        holds(tagged, Some(kernel), &[("x3", 0.8776)]);
    }
}

/// P(z3 = 1) by quadrature over w and enumeration of the others.
#[test]
fn a_mixture() {
    let program = "[assume w (beta 1 1)] [assume m0 (normal -2 1)] [assume m1 (normal 2 1)]
        [assume z (mem (lambda (i) (categorical (array w (- 1 w)))))]
        [observe (normal (if (= (z 0) 0) m0 m1) 1) -2.1] [observe (normal (if (= (z 1) 0) m0 m1) 1) 0.3]
        [observe (normal (if (= (z 2) 0) m0 m1) 1) 0.2] [observe (normal (if (= (z 3) 0) m0 m1) 1) 2.2]
        [observe (normal (if (= (z 4) 0) m0 m1) 1) 0.1]";
    holds(program, None, &[("(z 3)", 0.950)]);
}

#[test]
fn a_hidden_chain() {
    let program = "[assume P (mem (lambda (k) (dirichlet (vector 1 1))))]
        [assume st (mem (lambda (t) (if (= t 0) (uniform_discrete 0 2) (categorical (P (st (- t 1)))))))]
        [observe (flip (lookup (vector 0.1 0.9) (st 0))) false] [observe (flip (lookup (vector 0.1 0.9) (st 1))) true]
        [observe (flip (lookup (vector 0.1 0.9) (st 2))) true] [observe (flip (lookup (vector 0.1 0.9) (st 3))) false]
        [predict (P 0)] [predict (P 1)]";
    holds(program, None, &[("(lookup (P 0) 0)", 0.3828), ("(lookup (P 1) 1)", 0.5187)]);
}

#[test]
fn a_plan_that_the_round_itself_changes() {
    let branch = "[assume x0 (normal 0 1)] [assume y (normal x0 0.5)]
        [assume x1 (if (< x0 0) 3 (normal 0 1))] [observe (normal x1 1) 1]";
    holds(branch, None, &[("x0", 0.483), ("y", 0.483)]);
    let moving = "[assume c (normal 0 1)] [assume a (normal 0 1)] [assume x (normal a 1)]
        [assume y (normal c 1)] [observe (if (< c 0) x y) 1]";
    holds(moving, None, &[("a", 0.198), ("c", 0.160)]);
}

/// Below 1 by less than a double can tell: p(0 | a) = e^-a there, so a − 4 is normal.
#[test]
fn the_upper_tail_of_a_probability() {
    let program = "[assume a (normal 40 2)] [observe (bernoulli (logistic a)) 0]";
    let exact = [("a", 36.0), ("(square (- a 36))", 4.0)];
    let kernels = [
        None,
        Some("(mh default one 'drift 2 5)"),
        Some("(slice default one 1)"),
        Some("(subsampled_mh default one 10 0 'drift 2 5)"),
        Some("(nuts default all 1)"),
    ];
    for kernel in kernels {
        holds(program, kernel, &exact);
    }
    // The twin: a probability that has been rounded to a double.
    let rounded =
        "[assume a (normal 40 2)] [assume p (- (+ (logistic a) 1) 1)] [observe (bernoulli p) 0]";
    let rows = summary(rounded, Some("(mh default one 'drift 2 5)"), &["a"]);
    let (mean, mcse) = mean_of(&rows, "a");
    assert!((mean - 36.0).abs() > ERRORS * mcse + ROUNDING, "the tail is not looked at: {mean}");
}

/// A wall holds choices that single moves cannot take to its other side, and nothing else would tell.
#[test]
fn choices_that_a_wall_holds() {
    let equal = "[assume a (flip 0.3)] [assume b (flip 0.3)] [observe (flip (if (= a b) 1 0)) true]
        [assume x (normal (if a 10 0) 1)]";
    holds(equal, None, &[("x", 0.9 / 0.58)]);
    let even = "[assume d1 (uniform_discrete 1 7)] [assume d2 (uniform_discrete 1 7)]
        [observe (flip (if (= (int_mod (+ d1 d2) 2) 0) 1 0)) true]";
    holds(even, None, &[("d1", 3.5), ("(= d1 d2)", 1.0 / 3.0)]);
    let halves = "[assume a (categorical (array 0.4 0.3 0.2 0.1))] [assume b (categorical (array 0.4 0.3 0.2 0.1))]
        [observe (flip (if (= (< a 2) (< b 2)) 1 0)) true]";
    holds(halves, None, &[("a", 0.724_138)]);
    // One choice decides another for certain.
    let certain =
        "[assume a (flip 0.3)] [assume b (flip (if a 1 0))] [observe (normal (if b 1 0) 1) 0.8]";
    holds(certain, None, &[("b", 0.366_492)]);
    // Given the sum, binomial with 12 trials and probability 5/8.
    let sum = "[assume n1 (poisson 5)] [assume n2 (poisson 3)]
        [observe (flip (if (= (+ n1 n2) 12) 1 0)) true]";
    holds(sum, None, &[("n1", 7.5)]);
    // A coin and the sign of a number: −0.6 √(2/π).
    let sign = "[assume s (flip 0.2)] [assume x (normal 0 1)] [observe (flip (if (= s (> x 0)) 1 0)) true]";
    holds(sign, None, &[("x", -0.478_731)]);
    // Three, of which none can move alone.
    let odd = "[assume a (flip 0.2)] [assume b (flip 0.3)] [assume c (flip 0.4)]
        [observe (flip (if (= (int_mod (+ (if a 1 0) (if b 1 0) (if c 1 0)) 2) 1) 1 0)) true]";
    holds(odd, None, &[("a", 0.108 / 0.476)]);
}

/// The same where the other side is only improbable: P(a) by enumeration.
#[test]
fn choices_that_a_steep_wall_holds() {
    let odd = "[assume a (flip 0.3)] [assume b (flip 0.6)] [assume c (flip 0.2)]
        [observe (flip (if (xor a (xor b c)) 0.9999 0.0001)) true]";
    holds(odd, None, &[("a", 0.251_92), ("b", 0.709_90), ("c", 0.175_58)]);
    // A number far from where it would be under another label.
    let label =
        "[assume z (flip 0.5)] [assume m (normal (if z 10 -10) 1)] [observe (normal m 20) 5]";
    holds(label, None, &[("z", 0.562_02)]);
}

/// Zero inflation: a rate of 0 is no mistake. a, given the observation, is Poisson of rate 1/e.
#[test]
fn rates_of_zero() {
    let program =
        "[assume a (poisson 1)] [assume b (poisson (* 2 a))] [observe (binomial b 0.5) 0]";
    for kernel in [None, Some("(mh default one 8)")] {
        holds(program, kernel, &[("a", 0.367_879)]);
    }
}

/// What no observation depends on does not hold what it hangs on, neither a single choice nor a chain.
#[test]
fn idle_choices_hold_nothing() {
    let label = "[assume a (flip 0.3)] [assume x (normal (if a 10 0) 1)] [assume y (normal x 0.1)]
        [observe (flip (if a 0.4 0.5)) true]";
    holds(label, None, &[("a", 0.12 / 0.47), ("y", 1.2 / 0.47)]);
    // Drawing them does not change which they are.
    let side =
        "[assume d (normal 0 1)] [assume b (flip 0.5)] [assume u (if b 3 (flip (if b 0.2 0.81)))]
        [observe (normal d 1) 0.5]";
    holds(side, None, &[("b", 0.5)]);
    // Given that one of n was seen, the others are Poisson of rate 3/2.
    let number =
        "[assume n (poisson 3)] [assume x (normal (* 20 n) 1)] [observe (binomial n 0.5) 1]";
    holds(number, None, &[("n", 2.5)]);
    // By enumeration of the 32 paths.
    let chain =
        "[assume s (mem (lambda (t) (if (= t 0) (flip 0.5) (flip (if (s (- t 1)) 0.8 0.2)))))]
        [assume y (mem (lambda (t) (normal (if (s t) 10 -10) 1)))]
        [for t in (range 0 5) [observe (normal (if (s t) 1 -1) 2) 0.5]]
        [predict (y 0)] [predict (y 4)]";
    holds(chain, None, &[("(s 2)", 0.673_784), ("(s 4)", 0.638_398)]);
}

/// Observations that meet in one choice, or follow one that another makes.
#[test]
fn observations_that_meet_and_follow() {
    let meeting = "[assume f (mem (lambda (k) (normal (* 0.4 k) 1)))]
        [assume a (categorical (array 0.3 0.4 0.3))] [assume b (categorical (array 0.3 0.4 0.3))]
        [observe (f a) 0.3] [observe (f b) 0.8]";
    holds(meeting, None, &[("a", 0.934_040), ("b", 1.110_328)]);
    let made = "[assume x (flip 0.5)] [assume f (mem (lambda (k) (poisson (+ 1 k))))]
        [observe (f (if x 2 2)) 3] [assume y (f (if x 0 2))]
        [assume g (mem (lambda (k) (normal k 1)))] [observe (g y) 0.6]";
    for kernel in [None, Some("(mh default one 8)")] {
        holds(made, kernel, &[("x", 0.927_618), ("y", 0.846_624)]);
    }
    // A start that all choices together could not be drawn for.
    let late = "[assume c (flip 0.5)] [assume a (normal 0 1)] [assume b (normal a 1)] [observe (if c a b) 0.4]
        [assume d (normal 0 1)] [observe (flip (if (> d 1.5) 1 0)) true]";
    holds(late, None, &[("c", 0.576_049)]);
}

/// Jumps that no gradient shows cost time, not truth: few gradients a transition.
/// Two calls share rows, and which of them asks first hangs on where the observation goes.
#[test]
fn rows_that_are_shared_below_an_observation_that_moves() {
    let program = "[assume e (normal 0 1)] [assume f (mem (lambda (j) (gamma 2 2)))]
        [assume x (f (if (> e 5) 0 2))] [assume y (f (if (> 0 e) 0 2))]
        [observe (let ((k (>= x 0.4)) (u (normal y 1))) (if k u (normal y 2))) 0.31]";
    // By importance sampling from 20 million draws of an independent simulation.
    let truths = [("e", -0.0228), ("x", 0.9394), ("y", 0.7833)];
    for kernel in [None, Some("(mh default one 5)")] {
        holds(program, kernel, &truths);
    }
    // Gibbs weighs rows that it makes aside, and then makes them in the trace.
    let coin = "[assume e (flip 0.5)] [assume f (mem (lambda (j) (gamma 2 2)))]
        [assume x (f (if e 0 2))] [assume y (f (if e 2 0))]
        [observe (let ((k (>= x 0.4)) (u (normal y 1))) (if k u (normal y 2))) 0.31]";
    let truths = [("e", 0.5), ("x", 1.0613), ("y", 0.7581)];
    let by_gibbs = "(cycle ((gibbs e each 1) (mh default one 4)) 1)";
    let tagged = coin.replace("(flip 0.5)", "(scope_include 'e 0 (flip 0.5))");
    for (program, kernel) in [(coin, None), (&tagged, Some(by_gibbs))] {
        holds(program, kernel, &truths);
    }
}

/// What is recorded of one draw belongs to one state, also rows that nothing but the recorded expressions asks for.
#[test]
fn what_is_recorded_together_belongs_together() {
    let program = "[assume f (mem (lambda (i) (normal 0 1)))] [assume x (normal 0 1)] [observe (normal x 1) 0.3]";
    let mut session = Session::new(Settings { seed: 14, ..Settings::default() });
    let directives = session.parse_text("program", program).expect("a program");
    let record = ["(f 1)", "(- (f 2) (f 1))", "(f 2)"];
    let request = SampleRequest {
        draws: 50,
        warmup: 10,
        chains: 1,
        record: record.map(str::to_owned).to_vec(),
        threads: 1,
        ..SampleRequest::default()
    };
    let sampled = sample(&mut session, &directives, &request, &Progress::default()).expect("draws");
    let columns: Vec<Vec<f64>> =
        sampled.run.draws.scalars().iter().map(|scalar| scalar.chains[0].clone()).collect();
    let [first, difference, second] = &columns[..] else { panic!("three columns") };
    for ((first, difference), second) in first.iter().zip(difference).zip(second) {
        assert_eq!(second - first, *difference);
    }
    assert_ne!(
        columns[0][0], columns[0][1],
        "rows that the program does not ask for are drawn anew"
    );
}

#[test]
fn a_plate_with_a_jump() {
    let mut program = "[assume x1 (normal 0 1.117)]\n".to_owned();
    program.push_str("[for i in (range 0 150) [observe (bernoulli (if (< x1 (- (/ i 40) 2)) 0.536 0.485)) (int_mod i 2)]]");
    let mut session = Session::new(Settings { seed: 14, ..Settings::default() });
    let directives = session.parse_text("program", &program).unwrap_or_else(|e| panic!("{e:?}"));
    let request = SampleRequest {
        draws: 300,
        warmup: 200,
        chains: 2,
        seed: 14,
        record: vec!["x1".to_owned()],
        threads: 1,
        ..SampleRequest::default()
    };
    let sampled = sample(&mut session, &directives, &request, &Progress::default());
    let sampled = sampled.unwrap_or_else(|error| panic!("{error:?}"));
    let tally = sampled.records[0].tally;
    assert!(tally.gradients < 100 * tally.transitions.max(1), "{tally:?}");
    let row = summarise(&sampled.run.draws).remove(0);
    assert!(row.ess_bulk > 60.0, "{} effective draws of 600", row.ess_bulk);
}

/// How many values a choice can take hangs on another that moves with it.
#[test]
fn a_list_of_values_that_another_choice_makes_long() {
    let uniform = "[assume k (flip 0.1)] [assume j (uniform_discrete 0 (if k 5 310))] [observe (normal j 4) 6]";
    holds(uniform, None, &[("k", 0.6868)]);
    let counts = "[assume k (flip 0.5)] [assume j (binomial (if k 2 600) (if k 0.5 0.01))] [observe (poisson (+ 1 j)) 4]";
    holds(counts, None, &[("k", 0.4783)]);
}

/// What a choice can be hangs on one that comes and goes with another.
#[test]
fn a_list_of_values_that_comes_and_goes() {
    let program = "[assume b (flip)] [assume k (if b (uniform_discrete 0 3) 2)] [assume j (uniform_discrete k (+ k 2))]
        [observe (normal j 0.7) 1]";
    let truths = [
        ("(and b (= k 0) (= j 0))", 0.0852),
        ("(and b (= k 0) (= j 1))", 0.2364),
        ("(and b (= k 2) (= j 2))", 0.0852),
    ];
    holds(program, None, &truths);
    holds(program, Some("(mh default one 8)"), &truths);
    let of_coins = "[assume b (flip)] [assume k (if b (flip 0.5) true)]
        [assume j (categorical (if k (array 1 1 0) (array 0 1 1)))] [observe (normal j 1) 1]";
    holds(of_coins, None, &[("(and b (not k) (= j 2))", 0.0944)]);
    let unread = "[assume x (flip (if (and (flip 0.3) (flip 0.3)) 0 0.5))] [assume y (flip)] [observe y true]";
    holds(unread, None, &[("x", 0.455)]);
    let of_counts = "[assume b (flip)] [assume k (if b (poisson 2) 3)] [assume j (binomial k 0.5)] [observe (normal j 1) 1]";
    holds(of_counts, None, &[("b", 0.505_640), ("j", 1.064_721)]);
    let of_rows = "[assume f (mem (lambda (i) (poisson 2)))] [assume b (flip)] [assume j (binomial (f b) 0.5)] [observe (normal j 1) 1]";
    holds(of_rows, None, &[("b", 0.5), ("j", 0.867_161)]);
    // Gibbs over all of it cannot list the combinations, and says so.
    let mut session = Session::new(Settings { seed: 14, ..Settings::default() });
    let directives = session.parse_text("program", program).expect("a program");
    let kernel = Some("(gibbs default all 1)".to_owned());
    let request = SampleRequest { kernel, threads: 1, ..SampleRequest::default() };
    let refused = sample(&mut session, &directives, &request, &Progress::default());
    let message = format!("{:?}", refused.err().expect("it is refused"));
    assert!(message.contains("comes and goes"), "{message}");
}

/// A proposal that is impossible may run into what the program by itself never does.
#[test]
fn errors_of_impossible_proposals_are_rejections() {
    for kernel in [None, Some("(mh default one 8)"), Some("(gibbs default one 6)")] {
        let program = "[assume n (uniform_discrete 1 4)] [assume i (uniform_discrete 0 n)]
            [observe (normal (lookup (range 0 n) i) 1) 1]";
        holds(program, kernel, &[("n", 2.061_074), ("i", 0.576_343)]);
        let lists = "[assume b (flip)] [assume l (if b (list 1 2) (list 3))] [assume i (uniform_discrete 0 (size l))]
            [observe (normal (lookup l i) 1) 2]";
        holds(lists, kernel, &[("b", 0.569_774), ("i", 0.354_661)]);
        let arrays = "[assume w (flip)] [assume i (categorical (if w (array 1 1 1) (array 1 1)))]
            [observe (normal (lookup (if w (array 0 1 2) (array -1 1)) i) 1) 0.5]";
        holds(arrays, kernel, &[("w", 0.535_756), ("i", 0.732_122)]);
    }
    // An error of the program's own is one.
    let wrong = "[assume n (uniform_discrete 1 4)] [assume i (uniform_discrete 0 3)] [force n 3]
        [observe (normal (lookup (range 0 n) i) 1) 1]";
    let mut session = Session::new(Settings { seed: 14, ..Settings::default() });
    let directives = session.parse_text("program", wrong).expect("a program");
    let request = SampleRequest { threads: 1, ..SampleRequest::default() };
    let failed = sample(&mut session, &directives, &request, &Progress::default());
    assert!(failed.is_err_and(|error| format!("{error:?}").contains("out of range")));
}

/// The value is one that the choice of another branch can have.
#[test]
fn an_observation_that_only_another_branch_can_take() {
    for seed in 0..6 {
        let mut session = Session::new(Settings { seed, ..Settings::default() });
        let program = "[assume b (flip)] [assume y (if b (normal 0 1) (gamma 2 2))] [observe y -1]";
        let directives = session.parse_text("program", program).expect("a program");
        let request =
            SampleRequest { seed, draws: 50, warmup: 50, threads: 1, ..SampleRequest::default() };
        let sampled = sample(&mut session, &directives, &request, &Progress::default());
        let sampled = sampled.unwrap_or_else(|error| panic!("{error:?}"));
        let (b, _) = mean_of(&summarise(&sampled.run.draws), "b");
        assert_eq!(b, 1.0, "seed {seed}");
    }
}

/// A procedure that stops makes the state impossible, whether a density reads what it comes to or not: normals cut off by
/// quadrature, the others by enumeration.
#[test]
fn a_procedure_that_may_stop() {
    let cuts = [
        ("(probability k)", 0.461_185),
        ("(quantile normal k 0 1)", 0.461_185),
        ("(simplex k (- 1 k))", 0.461_185),
        ("(cholesky (matrix (list (list 1 k) (list k 1))))", 0.125_644),
        ("(log_density normal 0 0 k)", 0.665_260),
        ("(int_mod 7 (if (< k 0) 0 2))", 0.665_260),
    ];
    for (cut, mean) in cuts {
        let program =
            format!("[assume k (normal 0 1)] [assume p {cut}] [observe (normal k 1) 0.5]");
        for kernel in [None, Some("(nuts default all 2)"), Some("(hmc default all 0.3 5 3)")] {
            holds(&program, kernel, &[("k", mean)]);
        }
    }
    // Read, by a density that would not mind.
    let read = "[assume k (normal 0 1)] [assume p (probability k)] [observe (normal p 1) 0.5]";
    holds(read, None, &[("k", 0.461_185)]);

    let k = "[assume k (uniform_discrete 0 3)]";
    let unread = format!("{k} [assume x (int_mod 7 k)]");
    let twice = format!("{k} [assume x (int_mod 7 (* 2 k))] [observe (normal k 1) 1]");
    let text =
        |side: &str| format!("[assume k (uniform_discrete 0 4)] [observe (normal {side} 1) 0.5]");
    let within = text("(if (< k 2) (let ((r (int_mod 7 k))) 1) 2)");
    let around = text("(let ((r (int_mod 7 k))) (if (< k 2) 1 r))");
    let named = text("((lambda (r) (if (< k 2) 1 2)) (probability (/ k 3)))");
    for kernel in [None, Some("(mh default one 8)"), Some("(gibbs default one 6)")] {
        holds(&unread, kernel, &[("k", 1.5), ("x", 0.5)]);
        holds(&twice, kernel, &[("k", 1.377_541), ("x", 1.755_081)]);
        holds(&within, kernel, &[("k", 1.635_826)]);
        holds(&around, kernel, &[("k", 2.0)]);
        holds(&named, kernel, &[("k", 1.037_883)]);
    }
}

/// The same below many observations, which are read one by one, and by rows of which a part is not read.
#[test]
fn a_procedure_that_may_stop_beside_many_observations() {
    let y = |i: usize| [-3.0, 2.0, 8.0, 0.5, -1.0][i % 5];
    let rows = |row: fn(f64) -> String| (0..150).map(|i| row(y(i))).collect::<Vec<_>>().join(" ");
    let beside = rows(|y| format!("[observe (normal k 10) {y}]"));
    let within = rows(|y| format!("[observe (normal (let ((p (probability k))) k) 10) {y}]"));
    let table = rows(|y| format!(" {y}"));
    let plate = format!(
        "[assume ys (vector {table})] [for i in (range 0 150) [observe (normal (let ((p (probability k))) k) 10) (lookup ys i)]]"
    );
    // N(0.78, 0.4) without the ends.
    for rows in [format!("[assume p (probability k)] {beside}"), within, plate] {
        let program = format!("[assume k (scope_include 'k 0 (normal 0 1))] {rows}");
        for kernel in [None, Some("(mh k one 10)"), Some("(slice k one 2)")] {
            holds(&program, kernel, &[("k", 0.553_253)]);
        }
    }
}
