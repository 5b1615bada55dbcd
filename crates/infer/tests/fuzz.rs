//! Whatever is written, the answer is a value or an error, never a panic: random expressions
//! from the names of all procedures and forms, run; and moves made in what ran.

use std::panic::{AssertUnwindSafe, catch_unwind};

use smidgen_engine::check::check;
use smidgen_lang::SourceId;
use smidgen_lang::forms::DIRECTIVES;
use smidgen_lang::parser::{is_incomplete, parse, parse_expression};
use smidgen_testkit::World;
use smidgen_testkit::anything::{Writer, meeting};
use smidgen_testkit::programs::{EVERYTHING, program};
use smidgen_value::Rng;

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
