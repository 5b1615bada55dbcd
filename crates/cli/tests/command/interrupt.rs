//! Ctrl-C: what was drawn is written first.
#![cfg(unix)]

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value as Json;

use crate::support::{Done, Folder, finish, signal, wait_until};

const PROGRAM: &str = "[assume mu (normal 0 1)] [infer (mh default one 20)]";

/// How long to wait before the signal; a busy machine may need longer to make the first draws.
const DELAYS: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_secs(3), Duration::from_secs(15)];

/// Starts a command that would run forever, sends the signal, and gives what it left behind as
/// soon as that is good.
fn stopped(folder: &Folder, args: &[&str], name: &str, is_good: impl Fn(&Done) -> bool) -> Done {
    let mut last = None;
    for delay in DELAYS {
        let child = folder.start(args, Stdio::null());
        std::thread::sleep(delay);
        signal(name, child.id());
        let done = finish(child);
        if done.code == Some(130) && is_good(&done) {
            return done;
        }
        last = Some(done);
    }
    let last = last.expect("at least one try");
    panic!("code {:?}: {}{}", last.code, last.out, last.err);
}

#[test]
fn draws_so_far_are_written() {
    let folder = Folder::with_program(PROGRAM);
    let args = ["sample", "m.smg", "--seed", "1", "--warmup", "0", "--draws", "100000000"];
    let args = [&args[..], &["--format", "json", "--out", "d.csv"]].concat();
    for name in ["INT", "TERM"] {
        let done = stopped(&folder, &args, name, |_| folder.read("d.csv").lines().count() > 1);
        assert!(done.err.contains("interrupted"), "{}", done.err);
        let object: Json = serde_json::from_str(&done.out).expect("a whole JSON object");
        let chains = object["draws"]["mu"].as_array().expect("chains");
        let drawn: usize = chains.iter().filter_map(Json::as_array).map(Vec::len).sum();
        assert_eq!(folder.read("d.csv").lines().count(), drawn + 1);
    }
}

#[test]
fn half_a_comparison_is_not_shown() {
    let program = "[assume mu (normal 0 1)]
        [for i in (range 0 50) [observe (normal mu 1) i]]
        [infer (subsampled_mh default all 10 0.1 'drift 0.1 5)]";
    let folder = Folder::with_program(program);
    let args = ["compare", "m.smg", "--seed", "1", "--draws", "100000000", "--html", "page.html"];
    let done = stopped(&folder, &args, "INT", |done| done.err.contains("not complete"));
    assert!(done.out.is_empty() && !folder.path("page.html").exists(), "{}", done.out);
}

#[test]
fn run_shows_what_an_interrupted_inference_collected_and_stops() {
    let program = "[assume mu (normal 0 1)]
        [infer (cycle ((mh default one 1) (collect mu)) 1000000000000)]
        [predict 1]";
    let folder = Folder::with_program(program);
    let args = ["run", "m.smg", "--seed", "1", "--format", "json"];
    let done = stopped(&folder, &args, "INT", |done| !done.out.is_empty());
    assert_eq!(done.out.lines().count(), 1);
    let line: Json = serde_json::from_str(&done.out).expect("a whole JSON object");
    assert!(line["draws"]["mu"].as_array().is_some_and(|draws| !draws.is_empty()));
}

#[test]
fn a_prompt_survives_the_end_of_an_inference() {
    let folder = Folder::new();
    let input = folder.path("input");
    std::fs::write(
        &input,
        "[assume mu (normal 0 1)]\n[infer (mh default one 1000000000000)]\n(+ 40 2)\n",
    )
    .expect("a file");
    for delay in DELAYS {
        let file = std::fs::File::open(&input).expect("a file");
        let mut child = folder.start(&["repl", "--seed", "1"], file.into());
        std::thread::sleep(delay);
        signal("INT", child.id());
        assert!(wait_until(|| child.try_wait().is_ok_and(|status| status.is_some())));
        let done = finish(child);
        if done.code == Some(0) {
            assert!(done.out.ends_with("42\n"), "{}", done.out);
            return;
        }
    }
    panic!("the prompt did not go on");
}

/// Transitions that would take hours are left where they are, and earlier draws are kept. The design asks for 0.2 s on an idle
/// machine; a busy one has more time, and none would end by itself.
#[test]
fn a_transition_that_takes_hours_is_left() {
    let cases = [
        ("(hmc default all 0.00001 1000000000000 1)", "[assume x (normal 0 1)]"),
        ("(slice default one 0.0001 1000000000000 1)", "[assume x (uniform_continuous 0 1e9)]"),
        ("(nuts default all 'step 0.0000001 'doublings 20 1)", "[assume x (normal 0 1)]"),
        (
            "(pgibbs x ordered 300000 1)",
            "[assume f (mem (lambda (t) (scope_include 'x t (normal (if (= t 0) 0 (f (- t 1))) 1))))]
             [assume x (f 0)] [for t in (range 0 300) [observe (normal (f t) 1) 0.1]]",
        ),
        ("(gibbs default all 1)", "[assume x (bernoulli 0.5)] [assume k (mem (lambda (i) (bernoulli 0.3)))]
            [for i in (range 0 16) [observe (normal (if (k i) 1 0) 1) 0.1]]"),
    ];
    for (kernel, program) in cases {
        let folder = Folder::with_program(&format!("{program} [observe (normal x 1) 0.5]"));
        let args = ["sample", "m.smg", "--seed", "1", "--chains", "1", "--warmup", "0"];
        let args =
            [&args[..], &["--draws", "100000", "--record", "x", "--kernel", kernel]].concat();
        let child = folder.start(&args, Stdio::null());
        std::thread::sleep(Duration::from_millis(1500));
        let begun = std::time::Instant::now();
        signal("INT", child.id());
        let done = finish(child);
        let took = begun.elapsed();
        eprintln!("{kernel}: {took:?}");
        assert_eq!(done.code, Some(130), "{kernel}: {}", done.err);
        assert!(took < Duration::from_secs(5), "{kernel} took {took:?}");
    }
}

/// In the warm-up there are no draws yet: where the chains stood is kept, and it is said what that is.
#[test]
fn a_warm_up_that_is_stopped_keeps_where_it_stood_and_says_so() {
    let folder = Folder::with_program(PROGRAM);
    let args = ["sample", "m.smg", "--seed", "1", "--chains", "2", "--warmup", "1000000000"];
    let args = [&args[..], &["--draws", "10", "--out", "d.csv"]].concat();
    let done = stopped(&folder, &args, "INT", |_| folder.read("d.csv").lines().count() == 3);
    let all = done.out + &done.err;
    assert!(
        all.contains("stopped in the warm-up of 2 of 2 chains") && all.contains("--init"),
        "{all}"
    );
    let csv = folder.read("d.csv");
    assert!(csv.lines().next().is_some_and(|header| header.contains("warmup__")), "{csv}");
    assert!(csv.lines().skip(1).all(|line| line.split(',').any(|cell| cell == "1")), "{csv}");
    // And a run may begin there.
    let args = ["sample", "m.smg", "--seed", "1", "--chains", "2", "--warmup", "5", "--draws", "5"];
    folder.call(&[&args[..], &["--init", "d.csv"]].concat()).good();
}
