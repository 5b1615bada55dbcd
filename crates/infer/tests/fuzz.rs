//! Whatever is written, the answer is a value or an error, never a panic: random expressions
//! from the names of all procedures and forms, run; and moves made in what ran.

use std::panic::{AssertUnwindSafe, catch_unwind};

use smidgen_engine::check::check;
use smidgen_lang::SourceId;
use smidgen_lang::forms::{DIRECTIVES, SPECIAL_FORMS};
use smidgen_lang::parser::{is_incomplete, parse, parse_expression};
use smidgen_prob::{Builtin, registry};
use smidgen_testkit::World;
use smidgen_testkit::programs::{EVERYTHING, program};
use smidgen_value::Rng;

struct Writer {
    rng: Rng,
    procedures: Vec<(&'static str, usize, usize)>,
}

const ATOMS: &[&str] = &[
    "0",
    "1",
    "2",
    "-1",
    "0.5",
    "3",
    "1e300",
    "-1e-300",
    "true",
    "false",
    "'a",
    "\"text\"",
    "x",
    "y",
    "f",
    "m",
    "c",
    "'()",
    "(list)",
    "(vector)",
    "(array 1 2)",
    "(vector 1 0.5)",
    "(list 1 2)",
    "(id_matrix 2)",
    "(dict)",
    "(list 'a 1)",
    "(lambda (x) x)",
    "(lambda () (flip 0.5))",
    "(mem (lambda (i) (normal i 1)))",
    "(make_crp 1)",
    "(make_beta_bernoulli 1 1)",
    "(make_uc_beta_bernoulli 1 1)",
    "(flip 0.5)",
    "(normal 0 1)",
    "(gamma 1 1)",
    "(dirichlet (vector 1 1))",
    "(inv_wishart (id_matrix 2) 4)",
    "(get_current_environment)",
    "+",
    "normal",
    "flip",
    "map",
    "mem",
    "eval",
    "(c)",
    "(m 1)",
    "(f 1)",
    "(uniform_discrete 0 3)",
    "(categorical (vector 0.5 0.5))",
];

impl Writer {
    fn new(seed: u64) -> Writer {
        let procedures = registry::all()
            .filter(|builtin| builtin.spec().is_spellable())
            .map(|builtin: Builtin| {
                let spec = builtin.spec();
                let most = spec.arity.most.unwrap_or(spec.arity.least + 2);
                (spec.name, spec.arity.least, most)
            })
            .collect();
        Writer { rng: Rng::from_seed(seed), procedures }
    }

    fn atom(&mut self) -> String {
        ATOMS[self.rng.below(ATOMS.len())].to_owned()
    }

    fn several(&mut self, n: usize, depth: usize) -> String {
        (0..n).map(|_| self.expression(depth)).collect::<Vec<_>>().join(" ")
    }

    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 || self.rng.below(5) == 0 {
            return self.atom();
        }
        let deeper = depth - 1;
        match self.rng.below(10) {
            // A call with a number of arguments that fits, mostly.
            0..=5 => {
                let (name, least, most) = self.procedures[self.rng.below(self.procedures.len())];
                let wrong = usize::from(self.rng.below(20) == 0);
                let n = least + self.rng.below(most - least + 1) + wrong;
                format!("({name} {})", self.several(n, deeper))
            }
            6 => {
                let form = SPECIAL_FORMS[self.rng.below(SPECIAL_FORMS.len())].name;
                let n = self.rng.below(4);
                format!("({form} {})", self.several(n, deeper))
            }
            7 => {
                let (value, body) = (self.expression(deeper), self.expression(deeper));
                let form = ["let", "letrec"][self.rng.below(2)];
                format!("({form} ((x {value})) {body})")
            }
            8 => format!(
                "(if {} {} {})",
                self.expression(deeper),
                self.expression(deeper),
                self.expression(deeper)
            ),
            _ => match self.rng.below(4) {
                0 => format!(
                    "((lambda (x y) {}) {})",
                    self.expression(deeper),
                    self.several(2, deeper)
                ),
                1 => format!("(scope_include 's {} {})", self.atom(), self.expression(deeper)),
                2 => format!("(eval '{} (get_current_environment))", self.expression(deeper)),
                _ => {
                    let n = 1 + self.rng.below(3);
                    format!("({})", self.several(n, deeper))
                }
            },
        }
    }

    fn directive(&mut self) -> String {
        let (expr, value) = (self.expression(3), self.atom());
        match self.rng.below(12) {
            0..=2 => {
                let name = ["x", "y", "f", "m", "c", "z"][self.rng.below(6)];
                format!("[assume {name} {expr}]")
            }
            3..=5 => format!("[observe {expr} {value}]"),
            6 => format!("here: [predict {expr}]"),
            7 => format!("[force {expr} {value}]"),
            8 => format!("[infer (mh default one {})]", self.rng.below(4)),
            9 => [
                "[forget here]",
                "[freeze here]",
                "[freeze x]",
                "[forget x]",
                "[log_joint]",
                "[log_likelihood]",
            ][self.rng.below(6)]
            .to_owned(),
            10 => format!(
                "[infer {}]",
                ["2", "(mh s one 2)", "(mh default all 'drift 0.1 2)", "(mh s each 1)"]
                    [self.rng.below(4)]
            ),
            _ => format!("[sample {expr}]"),
        }
    }
}

/// Runs directives one by one; each succeeds or fails, and the trace stays whole.
fn survive(directives: &[String], seed: u64) {
    let mut world = World::new("", seed);
    for directive in directives {
        let _ = world.execute(directive);
        // A value outside of a distribution's domain may be observed later than it is made
        // impossible; the invariants hold all the same.
        if let Err(broken) = check(&world.model) {
            panic!("{broken}");
        }
    }
}

#[test]
fn the_evaluator_survives_any_program() {
    let mut writer = Writer::new(20);
    let mut faults = Vec::new();
    for seed in 0..cases(6000) {
        let n = 2 + writer.rng.below(8);
        let directives: Vec<String> = (0..n).map(|_| writer.directive()).collect();
        if catch_unwind(AssertUnwindSafe(|| survive(&directives, seed))).is_err() {
            faults.push(directives.join("\n"));
        }
    }
    assert!(
        faults.is_empty(),
        "{} programs panic, such as\n{}",
        faults.len(),
        faults.iter().take(3).cloned().collect::<Vec<_>>().join("\n\n")
    );
}

/// Programs that run, and then directives that meet what they left: observations of anything,
/// forced and frozen values, moves.
#[test]
fn running_programs_survive_any_directive() {
    let mut rng = Rng::from_seed(23);
    let mut faults = Vec::new();
    for seed in 0..cases(3000) {
        let tape: Vec<u16> = (0..rng.below(90)).map(|_| rng.below(1 << 16) as u16).collect();
        let mut directives: Vec<String> =
            program(&tape, EVERYTHING).lines().map(str::to_owned).collect();
        for _ in 0..rng.below(10) {
            directives.push(meeting(&mut rng));
        }
        if catch_unwind(AssertUnwindSafe(|| survive(&directives, seed))).is_err() {
            faults.push(directives.join("\n"));
        }
    }
    faults.sort_by_key(String::len);
    assert!(
        faults.is_empty(),
        "{} programs panic, such as\n{}",
        faults.len(),
        faults.iter().take(3).cloned().collect::<Vec<_>>().join("\n\n")
    );
}

/// A directive about the names of random programs.
fn meeting(rng: &mut Rng) -> String {
    let mut name = || {
        [
            "g0",
            "g1",
            "g2",
            "g3",
            "g4",
            "(g0)",
            "(g1 1)",
            "(g2 g1)",
            "(walk g1)",
            "(walk 2)",
            "(g3 0)",
            "(g0 g1)",
        ][rng.below(12)]
    };
    let (a, b, c) = (name(), name(), name());
    let value = ["0", "1", "2", "true", "false", "0.5", "-1", "40"][rng.below(8)];
    match rng.below(12) {
        0 => format!("[observe {a} {value}]"),
        1 => format!("here: [observe {a} {value}]"),
        2 => format!("[observe (if {a} {b} {c}) {value}]"),
        3 => format!("[observe (or {a} {b}) {value}]"),
        4 => format!("[force {a} {value}]"),
        5 => format!("[freeze {a}]").replace(['(', ')'], ""),
        6 => format!("[predict (+ {a} {b})]"),
        7 => "[forget here]".to_owned(),
        8 => format!(
            "[observe (let ((f (mem (lambda (i) (normal i 1))))) (begin (f {a}) (f {b}))) {value}]"
        ),
        9 => "[infer (mh default all 3)]".to_owned(),
        10 => "[infer (do (mh s one 'drift 0.3 2) (mh s each 2) (mh default one 5))]".to_owned(),
        _ => "[infer 3]".to_owned(),
    }
}

/// Found by these tests: short programs that meet the corners of observations.
#[test]
fn programs_that_were_trouble_once() {
    let programs = [
        // The condition is the observed choice itself.
        "[assume x (flip 0.5)] [observe (or x x) true]",
        "[assume x (flip 0.5)] [observe (or x x) false]",
        "[assume x (poisson 0.7)] [assume y (poisson 1)] [observe (or x y) 2]",
        "[assume x (beta 2 2)] [observe (or x nobody) 0]",
        "[observe (or (vonmises 0 0) 1) 2]",
        // A value that makes what follows impossible.
        "[assume x (normal 1 0.1)] [assume z (if (< x 0) (gamma x 1) 1)] [assume w (+ x 1)] [force x -1]",
        "[assume x (flip 0.5)] [assume y (flip 0.5)] [observe (if x y 3) true] [force x false]",
        // Two observations by way of one choice.
        "[assume m (mem (lambda (i) (normal 0 1)))] [assume k (flip 0.5)]
         [observe (if (m 2) (m k) nobody) 1] [observe (m 2) 1]",
        "[assume m (mem (lambda (i) (normal 0 1)))] [assume k (uniform_discrete 0 3)]
         [observe (if (m k) (m k) 0) false]",
        "[assume m (mem (lambda (i) (normal 0 1)))] [assume k (m 0)] [observe (m k) 1]
         [observe k 0]",
    ];
    let mut faults = Vec::new();
    for text in programs {
        for seed in 0..20 {
            let directives: Vec<String> =
                text.replace("] [", "]\n[").lines().map(|line| line.trim().to_owned()).collect();
            let directives: Vec<String> = directives
                .into_iter()
                .chain(["[infer (mh default one 10)]".to_owned(), "[infer 2]".to_owned()])
                .collect();
            if catch_unwind(AssertUnwindSafe(|| survive(&directives, seed))).is_err() {
                faults.push(text);
                break;
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Programs that do run: a good part of the random ones, or the test above would be idle.
#[test]
fn a_good_part_of_random_expressions_has_a_value() {
    let mut writer = Writer::new(21);
    let ran = (0..2000).filter(|seed| {
        let expr = writer.expression(3);
        World::new("", *seed).execute(&format!("[predict {expr}]")).is_ok()
    });
    let ran = ran.count();
    assert!(ran > 200, "{ran}");
}

#[test]
fn the_parser_survives_any_text() {
    let mut writer = Writer::new(22);
    let pieces = [
        "(", ")", "[", "]", "{", "}", "'", "\"", ":", ";", "\n", " ", "0x", "1e", "é", "\u{0}",
        "..", "-", "#", ",",
    ];
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..writer.rng.below(30) {
            match writer.rng.below(4) {
                0 => text.push_str(DIRECTIVES[writer.rng.below(DIRECTIVES.len())].name),
                1 => text.push_str(&writer.expression(1)),
                _ => text.push_str(pieces[writer.rng.below(pieces.len())]),
            }
        }
        let parsed = parse(SourceId(0), &text);
        let _ = (is_incomplete(&text), parse_expression(SourceId(0), &text));
        for diagnostic in &parsed.diagnostics {
            let span = diagnostic.span.expect("a place");
            assert!(text.get(span.start as usize..span.end as usize).is_some(), "{text:?}");
        }
    }
}

/// A number of cases, ten times as many if `SMIDGEN_THOROUGH` is set.
fn cases(n: u64) -> u64 {
    if std::env::var_os("SMIDGEN_THOROUGH").is_some() { 10 * n } else { n }
}
