//! Runs that survive: what kill -9 leaves, what is refused, what others may read meanwhile.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Done, Folder, finish, signal, wait_until};

/// A logistic regression above a plate by the exact kernel, a Dirichlet process mixture, a state space by particles, a
/// branching program by the default kernel; the draws and how long a checkpoint is.
const MODELS: [(&str, &str, &str); 4] = [
    ("plate", "4000", "200"),
    ("mixture", "800", "40"),
    ("space", "500", "25"),
    ("branch", "700", "35"),
];

fn folder() -> Folder {
    let folder = Folder::new();
    let mut rows = "x,y\n".to_owned();
    let (mut plate, mut mixture, mut space) = (String::new(), String::new(), String::new());
    let noise = |k: u32| f64::from(k.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24) - 0.5;
    for k in 0..1200 {
        let x = 4.0 * noise(k);
        rows += &format!("{x:.4},{}\n", noise(k + 7777) < 0.3 * x);
    }
    folder.write("rows.csv", &rows);
    plate += "[table t \"rows.csv\"] [assume a (normal 0 2)] [assume b (normal 0 2)]
        [for row in t [observe (bernoulli (logistic (+ a (* b row.x)))) row.y]]
        [infer (reference_mh default all 3)]";
    mixture += "[assume crp (make_crp 1)] [assume z (mem (lambda (i) (crp)))]
        [assume mu (mem (lambda (k) (normal 0 3)))]";
    space += "[assume x (mem (lambda (t) (scope_include 'x t
        (normal (if (= t 0) 0 (* 0.9 (x (- t 1)))) 1))))]";
    for k in 0..30 {
        let y = noise(k) + f64::from(k % 3) * 2.0;
        mixture += &format!("[observe (normal (mu (z {k})) 0.5) {y}]");
        space += &format!("[observe (normal (x {k}) 0.5) {y}]");
    }
    mixture += "[predict (z 0)] [predict (mu (z 5))] [infer (mh default one 30)]";
    space += "[predict (x 0)] [predict (x 29)] [infer (pgibbs x ordered 15 1)]";
    let branch = "[assume k (poisson 2)] [assume s (gamma 2 1)] [assume c (bernoulli 0.4)]
        [assume m (if c (normal 0 2) (+ (normal 1 1) k))] [assume g (mem (lambda (i) (normal m s)))]
        [observe (normal (g 0) 1) 1.2] [observe (normal (g 1) 1) 3.1] [observe (poisson (+ 1 k)) 3]
        [predict k] [predict s] [predict c] [predict m] [predict (g 1)]";
    for (name, text) in
        [("plate", &*plate), ("mixture", &mixture), ("space", &space), ("branch", branch)]
    {
        folder.write(&format!("{name}.smg"), text);
    }
    folder
}

fn begin<'a>(model: &'a str, draws: &'a str, every: &'a str, out: &'a str) -> Vec<&'a str> {
    let mut args = vec!["sample", model, "--seed", "3", "--chains", "2", "--warmup", "100"];
    args.extend(["--draws", draws, "--checkpoint-every", every, "--out", out]);
    args
}

fn export(folder: &Folder, run: &str, file: &str) -> String {
    folder.call(&["sample", "--resume", run, "--out", file]).good();
    folder.read(file)
}

/// Numbers for the times of kills. `SMIDGEN_KILLS` asks for more of them, `SMIDGEN_KILL_SEED` for others.
pub struct Times(pub u64);

impl Times {
    pub fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1u64 << 24) as f64
    }
}

pub fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// The proof of the whole: wherever a run is killed, and however often, the draws are those of one that was not.
#[test]
fn killed_at_any_moment_the_draws_are_the_same_to_the_bit() {
    let folder = folder();
    let (wanted, seed) = (number("SMIDGEN_KILLS", 40), number("SMIDGEN_KILL_SEED", 1));
    let mut times = Times(seed);
    let (mut kills, mut differ) = (0, 0);
    for (model, draws, every) in MODELS {
        let program = format!("{model}.smg");
        let (whole, cut) = (format!("{model}-whole.run"), format!("{model}-cut.run"));
        let begun = Instant::now();
        folder.call(&begin(&program, draws, every, &whole)).good();
        let takes = begun.elapsed().as_secs_f64();
        let expected = export(&folder, &whole, "whole.csv");
        let mut of_this = 0;
        while of_this < wanted / 4 {
            let _ = std::fs::remove_dir_all(folder.path(&cut));
            let mut args = begin(&program, draws, every, &cut);
            loop {
                let mut child = folder.start(&args, Stdio::null());
                let patience = Duration::from_secs_f64(takes * (0.02 + 0.6 * times.next()));
                let begun = Instant::now();
                let ended = loop {
                    match child.try_wait().expect("it can be waited for") {
                        Some(_) => break true,
                        None if begun.elapsed() >= patience => break false,
                        None => std::thread::sleep(Duration::from_millis(1)),
                    }
                };
                if ended {
                    finish(child).good();
                    break;
                }
                child.kill().expect("killed");
                let _ = child.wait();
                of_this += 1;
                if folder.path(&cut).join("run.json").exists() {
                    args = vec!["sample", "--resume", &cut];
                } else {
                    let _ = std::fs::remove_dir_all(folder.path(&cut));
                }
            }
            differ += usize::from(export(&folder, &cut, "cut.csv") != expected);
        }
        kills += of_this;
    }
    eprintln!("{kills} kills (seed {seed}), {differ} runs differ");
    assert_eq!(differ, 0, "after {kills} kills, seed {seed}");
}

/// A run that was stopped by a signal after some draws.
fn stopped(folder: &Folder, model: &str) -> String {
    let run = format!("{model}.run");
    let program = format!("{model}.smg");
    let child = folder.start(&begin(&program, "100000000", "50", &run), Stdio::null());
    let checkpoint = folder.path(&run).join("chain-1.ckpt.prev");
    assert!(wait_until(|| checkpoint.exists()));
    signal("INT", child.id());
    let done = finish(child);
    assert_eq!(done.code, Some(130), "{}", done.err);
    assert!(done.err.contains(&format!("--resume {run}")), "{}", done.err);
    run
}

#[test]
fn an_unfinished_run_is_not_overwritten_and_says_what_to_do() {
    let folder = folder();
    let run = stopped(&folder, "branch");
    let again = begin("branch.smg", "10", "5", &run);
    folder.call(&again).fails(2, &["branch.run", "--resume", "--discard"]);
    let page = folder.call(&["report", &run, "--out", "page.html"]);
    page.good();
    assert!(folder.read("page.html").contains("unfinished"));
    let mut discarding = again.clone();
    discarding.push("--discard");
    folder.call(&discarding).good();
    // What a run does not make is not removed.
    std::fs::create_dir(folder.path("other.run")).expect("made");
    folder
        .call(&begin("branch.smg", "10", "5", "other.run"))
        .fails(1, &["other.run", "something else"]);
}

#[test]
fn what_differs_is_refused_by_name() {
    let folder = folder();
    let run = stopped(&folder, "plate");
    let resume: &[&str] = &["sample", "--resume", &run];
    let rows = folder.read("rows.csv");
    folder.write("rows.csv", &rows.replacen("true", "false", 1));
    folder.call(resume).fails(1, &["plate.run", "`t`", "rows 0 to", "--restart-from"]);
    folder.write("rows.csv", &format!("{rows}0.5,true\n"));
    folder.call(resume).fails(1, &["`t`", "1200 rows", "1201"]);
    folder.write("rows.csv", &rows);
    let program = folder.read("plate.smg");
    folder.write("plate.smg", &program.replacen("normal 0 2", "normal 0 3", 1));
    folder.call(resume).fails(1, &["the program", "line 1", "normal 0 3"]);
    let mut restarted = begin("plate.smg", "20", "10", "new.run");
    restarted.extend(["--restart-from", &run]);
    let done = folder.call(&restarted);
    assert!(done.err.contains("not to be pooled"), "{}", done.err);
    done.good();
    folder.write("plate.smg", &program);
    folder.call(&["sample", "--resume", &run, "--seed", "4"]).fails(1, &["seed is 3, not 4"]);
    folder.call(&["sample", "--resume", &run, "--draws", "5"]).fails(2, &["can only grow"]);
    folder.call(&["sample", "--resume", &run, "--thin", "2"]).fails(2, &["--thin"]);
    folder.call(&["sample", "--resume", "none.run"]).fails(1, &["none.run", "no such run folder"]);
}

fn flip(path: &Path, place: usize) {
    let mut bytes = std::fs::read(path).expect("there");
    let place = place % bytes.len();
    bytes[place] ^= 0x20;
    std::fs::write(path, bytes).expect("written");
}

#[test]
fn damage_is_noticed_and_the_checkpoint_before_is_taken() {
    let folder = folder();
    folder.call(&begin("space.smg", "200", "20", "space.run")).good();
    let expected = export(&folder, "space.run", "whole.csv");
    let path = |name: &str| folder.path("space.run").join(name);
    std::fs::remove_file(path("report.json")).expect("as if it were unfinished");
    let resume: &[&str] = &["sample", "--resume", "space.run"];
    flip(&path("chain-0.ckpt"), 1234);
    let done = folder.call(resume);
    assert!(done.err.contains("the one before it is taken"), "{}", done.err);
    done.good();
    assert_eq!(export(&folder, "space.run", "again.csv"), expected);
    std::fs::remove_file(path("report.json")).expect("there");
    flip(&path("chain-0.arrows"), 900);
    folder.call(resume).fails(1, &["chain-0.arrows", "changed or is damaged"]);
    folder
        .call(&["report", "space.run", "--out", "p.html"])
        .fails(1, &["chain-0.arrows", "damaged"]);
    flip(&path("chain-0.arrows"), 900);
    flip(&path("chain-0.ckpt"), 99);
    flip(&path("chain-0.ckpt.prev"), 99);
    folder.call(resume).fails(1, &["both checkpoints of chain 0", "--from-seed"]);
    folder.call(&["sample", "--resume", "space.run", "--from-seed"]).good();
    assert_eq!(export(&folder, "space.run", "again.csv"), expected);
}

#[test]
fn a_draw_that_comes_out_otherwise_the_second_time_is_an_error() {
    let folder = folder();
    folder.call(&begin("branch.smg", "60", "1000", "branch.run")).good();
    let path = |name: &str| folder.path("branch.run").join(name);
    std::fs::remove_file(path("report.json")).expect("there");
    // As if the machine had computed something else: the draws lie beyond the only checkpoint, that of the warm-up's end.
    let mut bytes = std::fs::read(path("chain-0.arrows")).expect("there");
    let s = bytes.len() / 2;
    let place = (s..bytes.len() - 8)
        .find(|k| bytes[*k + 7] == 0x3F && bytes[*k + 3] != 0)
        .expect("a number");
    bytes[place] ^= 1;
    std::fs::write(path("chain-0.arrows"), bytes).expect("written");
    folder.call(&["sample", "--resume", "branch.run"]).fails(1, &["chain 0", "is not what it was"]);
}

#[test]
fn a_second_process_is_refused_and_the_first_unharmed() {
    let folder = folder();
    let first = folder.start(&begin("space.smg", "2000", "50", "space.run"), Stdio::null());
    let id = first.id().to_string();
    assert!(wait_until(|| folder.path("space.run/chain-0.ckpt").exists()));
    let begun = Instant::now();
    let second = folder.call(&["sample", "--resume", "space.run"]);
    if folder.path("space.run/report.json").exists() {
        eprintln!("the first had ended already");
    } else {
        assert!(begun.elapsed() < Duration::from_secs(20));
        second.fails(1, &["space.run", &id, "is running it"]);
    }
    finish(first).good();
    assert_eq!(export(&folder, "space.run", "a.csv").lines().count(), 4001);
}

#[test]
fn a_run_grows_and_is_that_of_a_longer_one() {
    let folder = folder();
    folder.call(&begin("branch.smg", "100", "30", "short.run")).good();
    folder.call(&begin("branch.smg", "250", "30", "long.run")).good();
    folder.call(&["sample", "--resume", "short.run", "--draws", "250"]).good();
    assert_eq!(export(&folder, "short.run", "a.csv"), export(&folder, "long.run", "b.csv"));
    let all = export(&folder, "long.run", "all.json");
    assert!(all.contains("kernels") && all.contains("default"));
}

#[cfg(unix)]
#[test]
fn a_limit_on_files_ends_the_run_and_raised_it_goes_on() {
    let folder = folder();
    folder.call(&begin("space.smg", "3000", "100", "whole.run")).good();
    let exe = env!("CARGO_BIN_EXE_smidgen");
    let args = begin("space.smg", "3000", "100", "cut.run").join(" ");
    let script = format!("ulimit -f 32; exec {exe} {args}");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).current_dir(folder.path("."));
    let done = Done::from(command.output().expect("a shell"));
    done.fails(1, &["cut.run", "chain-", "cannot be written"]);
    folder.call(&["sample", "--resume", "cut.run"]).good();
    assert_eq!(export(&folder, "cut.run", "a.csv"), export(&folder, "whole.run", "b.csv"));
}

/// Programs that cannot be checkpointed say so, and are drawn again from the seed.
#[test]
fn without_checkpoints_a_run_is_drawn_again() {
    let folder = Folder::with_program(
        "[assume f (if (bernoulli 0.5) + *)] [assume g (mem (lambda (i) (normal i 1)))]
         [observe (normal (f (g 1) 2) 1) 3] [predict (g 1)] [infer (resample 10)]",
    );
    let args =
        ["sample", "m.smg", "--seed", "2", "--chains", "2", "--draws", "50", "--out", "m.run"];
    folder.call(&args).good();
    let whole = export(&folder, "m.run", "a.csv");
    std::fs::remove_file(folder.path("m.run/report.json")).expect("there");
    folder.call(&["sample", "--resume", "m.run"]).good();
    assert_eq!(export(&folder, "m.run", "b.csv"), whole);
}

/// Another version that computes other numbers, as a checkpoint knows it.
#[test]
fn another_arithmetic_is_refused_by_name_and_begun_anew_on_request() {
    use smidgen::io::folder::Checkpoint;

    let folder = folder();
    folder.call(&begin("branch.smg", "60", "20", "branch.run")).good();
    std::fs::remove_file(folder.path("branch.run/report.json")).expect("as if it were unfinished");
    for chain in ["chain-0", "chain-1"] {
        for name in [format!("{chain}.ckpt"), format!("{chain}.ckpt.prev")] {
            let path = folder.path("branch.run").join(name);
            let mut checkpoint =
                Checkpoint::decode(&std::fs::read(&path).expect("there")).expect("whole");
            checkpoint.arithmetic += 1;
            std::fs::write(path, checkpoint.encode()).expect("written");
        }
    }
    let resume = &["sample", "--resume", "branch.run"];
    folder
        .call(resume)
        .fails(1, &["branch.run", "arithmetic is 2, here it is 1", "--restart-from"]);
    let mut restarted = begin("branch.smg", "20", "10", "new.run");
    restarted.extend(["--restart-from", "branch.run"]);
    let done = folder.call(&restarted);
    assert!(done.err.contains("not to be pooled"), "{}", done.err);
    done.good();
}

/// A damaged `run.json` that speaks of more chains than there can be.
#[test]
fn a_folder_that_claims_too_much_comes_to_an_end() {
    let folder = folder();
    folder.call(&begin("branch.smg", "20", "10", "branch.run")).good();
    let manifest = folder.read("branch.run/run.json");
    let claims = manifest.replacen("\"chains\": 2", "\"chains\": 1000000000000000000", 1);
    assert_ne!(claims, manifest);
    folder.write("branch.run/run.json", &claims);
    folder.call(&["report", "branch.run", "--out", "page.html"]).good();
}

/// Of a long run the table says what all draws say, and what comes from some of them has a mark; the folder has all.
#[test]
fn a_long_run_is_summed_up_from_all_draws() {
    let folder = Folder::with_program(
        "[assume x (normal 3 2)] [predict x] [predict (vector x (* 2 x) (- x) (+ x 1) (* x 3) (* x 4) (+ x 2))]
         [infer (mh default one 1)]",
    );
    let run =
        ["sample", "m.smg", "--seed", "4", "--chains", "2", "--warmup", "0", "--draws", "130000"];
    let out = folder.call(&[&run[..], &["--out", "m.run"]].concat()).good();
    assert!(out.contains("those of all draws") && out.contains("every 16th"), "{out}");
    let row = out.lines().find(|line| line.starts_with("x ")).expect("a row").to_owned();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells.iter().filter(|cell| cell.starts_with('~')).count(), 7, "{row}");
    // A report of the folder says what the table does.
    folder.call(&["report", "m.run", "--out", "page.html"]).good();
    let page = folder.read("page.html");
    assert!(page.contains("2 chains of 130,000 draws") && page.contains("every 16th is shown"));
    for cell in ["~1.000", cells[1]] {
        assert!(page.contains(&format!(">{cell}<")), "{cell}");
    }
    // The exported file has all draws, of which the mean is the one that was shown.
    let csv = export(&folder, "m.run", "m.csv");
    let xs: Vec<f64> = csv
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(2).expect("a cell").parse().expect("a number"))
        .collect();
    assert_eq!(xs.len(), 260_000);
    let mean = xs.iter().sum::<f64>() / xs.len() as f64;
    let shown: f64 = cells[1].parse().expect("a number");
    assert!((mean - shown).abs() < 1e-3 && (mean - 3.0).abs() < 0.05, "{mean} {row}");
}
