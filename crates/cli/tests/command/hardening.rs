//! Programs and files that once hung, overflowed the stack, took all memory or did harm.

use crate::support::Folder;

fn run(program: &str) -> crate::support::Done {
    Folder::with_program(program).call(&["run", "m.smg", "--seed", "1"])
}

#[test]
fn extreme_parameters_end_with_a_value_or_a_plain_error() {
    let angle =
        run("[sample (vonmises 0 1e308)] [observe (vonmises 0 1e308) 0] [log_joint]").good();
    assert!(!angle.contains("nan") && !angle.contains("inf"), "{angle}");
    run("[assume f (make_uc_sym_dir_cat 1 1e9)] [sample (f)]")
        .fails(1, &["m.smg:1:", "categories"]);
    run("[assume f (make_sym_dir_cat 1e308 1e6)] [sample (f)]").fails(1, &["m.smg:1:", "finite"]);
    let scale = "(matrix (list (list 1e308 0) (list 0 1e308)))";
    run(&format!("[sample (wishart {scale} 30)]")).fails(1, &["m.smg:1:", "finite"]);
    // Logarithms of gamma draws that are out of the range of doubles themselves: what is left are the ends of the law.
    for tiny in ["beta 1e-320 1e-320", "beta_mean 0.5 1e-320", "lkj 3 1e-320"] {
        let out = run(&format!("[sample ({tiny})]")).good();
        assert!(!out.contains("NaN"), "{out}");
    }
    let draws = run(
        "[assume f (make_suff_stat_normal 0 1e308)] [sample (mapv (lambda (i) (f)) (range 0 50))]",
    );
    assert!(!draws.good().contains("inf"));
    for empty in [
        "[observe (categorical (array)) 0]",
        "[for i in (range 0 300) [observe (categorical (array)) 0]]",
    ] {
        run(&format!("[assume p (normal 0 1)] {empty}")).fails(1, &["m.smg:1:", "weights"]);
    }
}

#[test]
fn tiny_and_huge_weights_keep_their_logarithms() {
    for program in [
        "[assume f (make_dir_cat (vector 1e-300 1e300))] [observe (f) 0] [log_joint]",
        "[assume f (make_beta_bernoulli 1e-300 1e300)] [observe (f) true] [log_joint]",
    ] {
        let out = run(program).good();
        assert!(out.contains("log_joint = -1381.55105579642"), "{out}");
    }
}

#[test]
fn labels_of_a_restaurant_beyond_2_to_the_53() {
    let program = "[assume f (make_crp 1e-9)] [observe (f) 1e16] [observe (f) 1e16] [predict (f)] [log_joint]";
    let out = run(program).good();
    // The first sits anywhere; the others join with probability 1 / (1 + 1e-9) and 2 / (2 + 1e-9).
    assert!(out.contains("(f) = 1e16"), "{out}");
}

#[test]
fn deep_programs_of_inference_are_refused_with_a_place() {
    for combinator in ["repeat 1", "do", "cycle ("] {
        let close = if combinator.ends_with('(') { ") 1)" } else { ")" };
        let nested = format!("{}1{}", format!("({combinator} ").repeat(4000), close.repeat(4000));
        let done = run(&format!("[assume x (normal 0 1)] [infer {nested}]"));
        done.fails(1, &["m.smg:1:", "within each other"]);
    }
}

#[test]
fn a_value_of_shared_parts_is_compared_and_printed() {
    let grow = |name: &str| {
        let first = format!("[assume {name}0 (list 1 2)]\n");
        let next = |i: usize| format!("[assume {name}{i} (list {name}{0} {name}{0})]\n", i - 1);
        (1..50).fold(first, |program, i| program + &next(i))
    };
    let program = grow("a") + &grow("b") + "[sample (= a49 b49)] [sample (= a49 b48)]";
    let out = run(&program).good();
    assert!(out.contains("(= a49 b49) = true") && out.contains("(= a49 b48) = false"), "{out}");
}

#[test]
fn many_mistakes_are_found_at_once_and_a_few_are_shown() {
    let program: String = (0..5000).map(|i| format!("[predict (foo{i} 1)]\n")).collect();
    let done = Folder::with_program(&program).call(&["check", "m.smg"]);
    done.fails(1, &["foo0", "... and 4950 more", "5000 errors"]);
    assert!(done.err.lines().count() < 500);
}

#[test]
fn chains_without_end_are_refused() {
    let folder = Folder::with_program("[assume x (normal 0 1)]");
    folder.call(&["sample", "m.smg", "--chains", "1000000000"]).fails(2, &["at most"]);
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_neither_read_for_ever_nor_replaced() {
    use std::os::unix::fs::symlink;
    run("[load \"/dev/zero\"]").fails(1, &["m.smg:1:", "MiB"]);
    let folder = Folder::with_program("[assume x (normal 0 1)]");
    folder.write("load.smg", "[load \"pipe\"]");
    symlink("/dev/null", folder.path("null.csv")).expect("a link");
    let made = std::process::Command::new("mkfifo").arg(folder.path("pipe")).status();
    if made.is_ok_and(|status| status.success()) {
        folder.call(&["run", "load.smg"]).fails(1, &["load.smg:1:", "pipe"]);
    }
    let args = ["sample", "m.smg", "--draws", "5", "--warmup", "5", "--out", "null.csv"];
    folder.call(&args).fails(1, &["null.csv", "device"]);
}

#[test]
fn a_name_is_no_formula_in_a_spreadsheet_and_stays_a_name() {
    let folder = Folder::with_program("\"=1+1\": [predict (normal 0 1)]");
    let args =
        ["sample", "m.smg", "--draws", "20", "--warmup", "5", "--seed", "1", "--out", "d.csv"];
    folder.call(&args).good();
    assert!(folder.read("d.csv").starts_with("chain,draw,'=1+1\n"), "{}", folder.read("d.csv"));
    folder.call(&["report", "d.csv", "-o", "d.html"]).good();
    let page = folder.read("d.html");
    assert!(page.contains("=1+1") && !page.contains("'=1+1"));
}

/// Particles say what they need before they take it.
#[cfg(target_os = "linux")]
#[test]
fn particles_that_do_not_fit_into_memory_are_an_error() {
    let folder = crate::support::Folder::with_program(
        "[assume x (mem (lambda (t) (scope_include 'x t (normal (if (= t 0) 0 (x (- t 1))) 1))))]
         [for t in (range 0 60) [observe (normal (x t) 1) 0.1]] [predict (x 3)]
         [infer (pgibbs x ordered 1000000 1)]",
    );
    let exe = env!("CARGO_BIN_EXE_smidgen");
    let script = format!(
        "ulimit -v 600000; exec {exe} sample m.smg --seed 1 --chains 1 --warmup 0 --draws 2"
    );
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).current_dir(folder.path("."));
    let done = crate::support::Done::from(command.output().expect("a shell"));
    done.fails(1, &["1000000 particles over 60 steps", "MB of memory"]);
}

/// A table may be a pipe, but neither a device nor a pipe without an end.
#[cfg(unix)]
#[test]
fn a_table_from_a_device_or_an_idle_pipe_comes_to_an_end() {
    use std::os::unix::fs::symlink;
    use std::process::Stdio;

    use crate::support::{finish, signal};

    let folder = Folder::with_program("[table t \"t.csv\"] [sample (column t x)]");
    symlink("/dev/zero", folder.path("t.csv")).expect("a link");
    folder.call(&["run", "m.smg"]).fails(1, &["m.smg:1:", "t.csv", "device"]);
    std::fs::remove_file(folder.path("t.csv")).expect("removed");
    let made = std::process::Command::new("mkfifo").arg(folder.path("t.csv")).status();
    if !made.is_ok_and(|status| status.success()) {
        return;
    }
    // Nobody writes: it can be interrupted, and does not wait for ever.
    let child = folder.start(&["run", "m.smg"], Stdio::null());
    std::thread::sleep(std::time::Duration::from_secs(2));
    signal("INT", child.id());
    assert_eq!(finish(child).code, Some(130));
    folder.call(&["run", "m.smg"]).fails(1, &["t.csv", "nobody writes"]);
    // Somebody does, late.
    let path = folder.path("t.csv");
    let writer = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        std::fs::write(path, "x\n1\n2\n")
    });
    let out = folder.call(&["run", "m.smg"]).good();
    writer.join().expect("no panic").expect("written");
    assert!(out.contains('1') && out.contains('2'), "{out}");
}

/// What is written takes the place of what was there: with its mode, and without what a killed process left.
#[cfg(unix)]
#[test]
fn a_file_that_is_replaced_keeps_its_mode_and_nothing_is_left() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::with_program("[assume x (normal 0 1)]");
    folder.write("d.csv", "old");
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(folder.path("d.csv"), private).expect("set");
    folder.write(".d.csv.1.partial", "half");
    folder.call(&["sample", "m.smg", "--draws", "5", "--warmup", "5", "--out", "d.csv"]).good();
    assert!(folder.read("d.csv").starts_with("chain,draw,x\n"));
    let mode = std::fs::metadata(folder.path("d.csv")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!folder.path(".d.csv.1.partial").exists());
}

#[test]
fn numbers_that_no_double_holds_are_errors_where_they_are_used() {
    let folder = Folder::new();
    folder.write("t.csv", "id,far,x\n9007199254740993,1e999,1\n2,3,2\n");
    let uses = |column: &str| {
        folder.write("m.smg", &format!("[table t \"t.csv\"] [sample (column t {column})]"));
        folder.call(&["run", "m.smg"])
    };
    uses("x").good();
    uses("id").fails(1, &["m.smg:1:", "9007199254740993", "2^53"]);
    uses("far").fails(1, &["m.smg:1:", "1e999"]);
}

/// A table says what it needs before it takes it.
#[cfg(target_os = "linux")]
#[test]
fn a_table_that_does_not_fit_into_memory_is_an_error() {
    let folder = Folder::with_program("[table t \"t.csv\"] [sample (size (column t x))]");
    let line = "1,2,3,4,5,6,7,8\n";
    folder.write("t.csv", &format!("x,b,c,d,e,f,g,h\n{}", line.repeat(4_000_000)));
    let exe = env!("CARGO_BIN_EXE_smidgen");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &format!("ulimit -v 250000; exec {exe} run m.smg")]);
    let done = command.current_dir(folder.path(".")).output().expect("a shell");
    crate::support::Done::from(done).fails(1, &["m.smg:1:", "t.csv", "MB of memory"]);
}
