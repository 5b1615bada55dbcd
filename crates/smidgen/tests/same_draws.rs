//! The same program and seed give the same draws, whatever comments it holds, whatever names it never uses,
//! whatever ran before in the process, and wherever its procedures lie in memory.

use smidgen::sampling::{Progress, SampleRequest, sample};
use smidgen::{Session, Settings};

/// Programs in which procedures and names are keys, blocks and addresses. `|` is where something may
/// stand that means nothing.
const PROGRAMS: &[(&str, &str)] = &[
    // Built-in procedures as blocks.
    (
        "[assume f (mem (lambda (k) |(scope_include 'f k (normal 0 1))))]|
         [assume s (+ (f normal) (* 2 (f +)) (f exp))] [observe (normal s 1) 3]",
        "(mh f each 1)",
    ),
    // Procedures of the program, some of them with one text and several environments.
    (
        "[assume make (lambda (a) |(lambda (x) (* a x)))]
         [assume f (mem (lambda (g) (scope_include 'f g (normal (g 1) 1))))]|
         [assume s (+ (f (make 1)) (* 2 (f (make 2))) (f (lambda (x) |x)) (f (lambda (x) x)))]
         [observe (normal s 1) 3]",
        "(cycle ((mh f each 1) (mh default each 1)) 1)",
    ),
    // The same by definitions.
    (
        "[define make (lambda (a) |(lambda (x) (* a x)))] [define one (make 1)] [define two (make 2)]
         [assume f (mem (lambda (g) (scope_include 'f g (normal (g 1) 1))))]
         [assume s (+ (f one) (* 2 (f two)))] [observe (normal s 1) 3]",
        "(mh f each 1)",
    ),
    // Names as keys: one sweep follows the addresses.
    (
        "[assume f (mem (lambda (k) |(normal 0 1)))]
         [assume s (+ (f 'zebra) (* 2 (f 'ant)) (* 3 (f (list 'ox 'bee))))] [observe (normal s 1) 3]",
        "(mh default each 1)",
    ),
    ("[assume f (mem (lambda (k) |(normal 0 1)))]
      [assume s (+ (f 'lion) (* 2 (f 'emu)))] [observe (normal s 1) 3]", "1"),
    // Makers and memoised procedures as keys.
    (
        "[assume a (make_crp 1)] [assume b (mem (lambda (i) |(flip 0.5)))]
         [assume f (mem (lambda (g) (scope_include 'f g (normal 0 1))))]
         [assume s (+ (f a) (* 2 (f b)))] [observe (normal s 1) 3]",
        "(cycle ((mh f each 1) (mh default each 1)) 1)",
    ),
    // Code as data.
    (
        "[assume f (mem (lambda (g) (scope_include 'f g (normal (g 1) 1))))]|
         [assume two (eval '(list (lambda (x) x) (lambda (x) (* 2 x))) (get_current_environment))]
         [assume s (+ (f (first two)) (* 2 (f (second two))))] [observe (normal s 1) 3]",
        "(mh f each 1)",
    ),
];

fn draws(text: &str, kernel: &str, threads: usize) -> Vec<u64> {
    draws_of_file("test", text, kernel, threads)
}

fn draws_of_file(name: &str, text: &str, kernel: &str, threads: usize) -> Vec<u64> {
    let mut session = Session::new(Settings::default());
    // Another text may have come before.
    session.sources_mut().add("before", " ".repeat(name.len()));
    let program = match session.parse_text(name, text) {
        Ok(program) => program,
        Err(_) => panic!("cannot be read: {text}"),
    };
    let request = SampleRequest {
        kernel: Some(kernel.to_owned()),
        draws: 8,
        warmup: 2,
        chains: 5,
        seed: 7,
        record: vec!["s".to_owned()],
        threads,
        ..SampleRequest::default()
    };
    let sampled = sample(&mut session, &program, &request, &Progress::default());
    let Ok(sampled) = sampled else { panic!("cannot be run: {text}") };
    let values = sampled.run.draws.quantities().iter().flat_map(|quantity| quantity.values());
    values.map(|value| value.as_number().expect("a number").to_bits()).collect()
}

#[test]
fn what_means_nothing_changes_nothing() {
    for (k, (program, kernel)) in PROGRAMS.iter().enumerate() {
        let plain = program.replace('|', "");
        let first = draws(&plain, kernel, 1);
        let moved = first.windows(2).any(|pair| pair[0] != pair[1]);
        assert!(moved, "nothing happened: {plain}");
        let commented = program.replace('|', " ; a word, and a line\n\n\n ");
        assert_eq!(draws(&commented, kernel, 1), first, "{commented}");
        let moved = format!("{}{plain}", "; a line\n".repeat(40));
        assert_eq!(draws_of_file("another/file.smg", &moved, kernel, 1), first, "{moved}");
        // Names that no other program of this process has.
        let unused = format!("[define unused '(never_{k} nor_{k})] {plain}");
        assert_eq!(draws(&unused, kernel, 1), first, "{unused}");
        let assumed = format!("[assume unused (list 'another_{k} 'yet_another_{k})] {plain}");
        assert_eq!(draws(&assumed, kernel, 1), first, "{assumed}");
    }
}

#[test]
fn what_ran_before_changes_nothing() {
    let all =
        || PROGRAMS.iter().map(|(program, kernel)| draws(&program.replace('|', ""), kernel, 1));
    let first: Vec<_> = all().collect();
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for size in [40, 56, 72, 104, 120] {
        // Other places in memory, other names.
        kept.push(vec![0; size]);
        draws(&format!("[assume s (normal 0 1)] [define x '(before_{size} also_{size})]"), "1", 1);
        assert_eq!(all().collect::<Vec<_>>(), first);
    }
}

/// Where this is set, the test of that name only shows what it has drawn.
const SHOW: &str = "SMIDGEN_SHOW_DRAWS";

/// Programs one after the other in one process, in either order, and each in a process of its own.
#[test]
fn a_process_of_its_own_changes_nothing() {
    let shown = |k: usize| {
        let (program, kernel) = PROGRAMS[k];
        format!("{:?}", draws(&program.replace('|', ""), kernel, 1))
    };
    if let Ok(k) = std::env::var(SHOW) {
        println!("<{}>", shown(k.parse().expect("a number")));
        return;
    }
    let alone = |k: usize| {
        let this = std::env::current_exe().expect("the test itself");
        let child = std::process::Command::new(this)
            .args(["a_process_of_its_own_changes_nothing", "--exact", "--nocapture"])
            .env(SHOW, k.to_string())
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&child.stdout).into_owned();
        let (_, said) = said.split_once('<').unwrap_or_else(|| panic!("nothing shown: {said}"));
        said.split('>').next().expect("split gives a part").to_owned()
    };
    let separate: Vec<String> = (0..PROGRAMS.len()).map(alone).collect();
    let forth: Vec<String> = (0..PROGRAMS.len()).map(shown).collect();
    let mut back: Vec<String> = (0..PROGRAMS.len()).rev().map(shown).collect();
    back.reverse();
    assert_eq!(forth, separate);
    assert_eq!(back, separate);
}

#[test]
fn threads_change_nothing() {
    for (program, kernel) in PROGRAMS {
        let plain = program.replace('|', "");
        let first = draws(&plain, kernel, 1);
        for threads in [2, 5] {
            assert_eq!(draws(&plain, kernel, threads), first, "{plain}");
        }
    }
}
