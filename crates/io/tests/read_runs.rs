//! Reading runs back: what was written comes back, and a bad file is described with its place.

use std::path::{Path, PathBuf};

use smidgen_draws::{Approximation, Draws, KernelReport, Run};
use smidgen_io::{join_runs, read_run, write_draws};
use smidgen_value::{Matrix, Value};

/// A folder for a test's files, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("smidgen-runs-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary directory");
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("the directory is still there");
    }
}

/// Two chains, the second interrupted.
fn run() -> Run {
    let mut draws = Draws::new(["mu", "a \"b\", c", "coin", "v", "m"], 2);
    let odd = [(0, 0.1), (0, -1e-7), (0, f64::NEG_INFINITY), (1, f64::INFINITY), (1, 1.0 / 3.0)];
    for (chain, x) in odd {
        draws.push(
            chain,
            [
                Value::Number(x),
                Value::Number(1e300),
                Value::Bool(x > 0.0),
                Value::vector([x, 2.0]),
                Value::matrix(Matrix::new(2, 2, vec![3.0, x, 0.5, -0.5])),
            ],
        );
    }
    let kernel = KernelReport {
        kernel: "(subsampled_mh default one 10 0.01 1)".to_owned(),
        transitions: 10,
        accepted: 4,
        drawn: 3,
        changed: 2,
        sections_used: 7,
        population: 70,
        evaluator: "compiled".to_owned(),
        approximation: Some(Approximation {
            decisions: 10,
            audits: 2,
            interval: (0.25, 0.5),
            predicted_error: 0.01,
            predicted_usage: 0.1,
            ..Approximation::default()
        }),
        note: Some("a note".to_owned()),
    };
    Run {
        seed: u64::MAX,
        chains: 2,
        draws,
        kernels: vec![kernel],
        warnings: vec!["a \"warning\"".to_owned()],
        program: "[assume mu (normal 0 1)]\n".to_owned(),
        version: "0.1.0".to_owned(),
        ..Run::default()
    }
}

#[test]
fn what_was_written_comes_back() {
    let folder = Folder::new("back");
    let run = run();
    let formats: &[&str] = match smidgen_io::COLUMNAR {
        true => &["csv", "json", "parquet", "arrow"],
        false => &["csv", "json"],
    };
    for format in formats {
        let path = folder.0.join(format!("draws.{format}"));
        write_draws(&path, &run).expect("written");
        let read = read_run(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(read.draws.scalars(), run.draws.scalars(), "{format}");
        assert_eq!(read.chains, 2, "{format}");
        if *format != "csv" {
            assert_eq!(read.kernels, run.kernels, "{format}");
            assert_eq!(read.warnings, run.warnings, "{format}");
            assert_eq!((read.seed, &read.program), (run.seed, &run.program), "{format}");
            assert_eq!(read.version, run.version, "{format}");
        }
    }
}

#[test]
fn nan_stays_nan() {
    let folder = Folder::new("nan");
    let mut run = Run { chains: 1, draws: Draws::new(["x"], 1), ..Run::default() };
    run.draws.push(0, [Value::Number(f64::NAN)]);
    for format in ["csv", "json"] {
        let path = folder.0.join(format!("nan.{format}"));
        write_draws(&path, &run).expect("written");
        let read = read_run(&path).expect("read");
        assert!(read.draws.scalars()[0].chains[0][0].is_nan(), "{format}");
    }
}

#[test]
fn tables_of_others_are_draws_too() {
    let folder = Folder::new("others");
    let path = folder.write("a.csv", "\u{feff}mu, ok\n1.5,TRUE\n-2,false\n");
    let draws = read_run(&path).expect("read").draws;
    let scalars = draws.scalars();
    assert_eq!(scalars[0].chains, [[1.5, -2.0]]);
    assert_eq!((scalars[1].name.as_str(), &scalars[1].chains), ("ok", &vec![vec![1.0, 0.0]]));
    // Chains are ordered by their numbers, and an interrupted one may end early.
    let path = folder.write("b.csv", "draw,x,chain,y\n0,1,7,5\n0,2,3,6\n1,3,7,\n");
    let scalars = read_run(&path).expect("read").draws.scalars();
    assert_eq!(scalars[0].chains, [vec![2.0], vec![1.0, 3.0]]);
    assert_eq!(scalars[1].chains, [vec![6.0], vec![5.0]]);
}

fn fails(path: &Path, words: &[&str]) {
    let error = read_run(path).expect_err("a bad file").to_string();
    assert!(error.contains(&path.display().to_string()), "{error}");
    for word in words {
        assert!(error.contains(word), "`{word}` is not in: {error}");
    }
}

#[test]
fn bad_files_are_described() {
    let folder = Folder::new("bad");
    for (name, text, words) in [
        ("empty.csv", "", &["empty"][..]),
        ("header.csv", "chain,draw,x\n", &["no draws"]),
        ("alone.csv", "chain,draw\n0,0\n", &["no column but"]),
        ("twice.csv", "x,x\n1,2\n", &["two columns `x`"]),
        ("word.csv", "chain,draw,x,w[1]\n0,0,1,2\n0,1,1,two\n", &["line 3", "`w[1]`", "\"two\""]),
        ("chain.csv", "chain,x\n0,1\n0.5,1\n", &["line 3", "`chain`", "\"0.5\""]),
        ("wide.csv", "x,y\n1,2\n1,2,3\n", &["line 3", "3 cells", "2 columns"]),
        ("gap.csv", "x,y\n1,2\n1,\n1,2\n", &["line 4", "`y`", "empty"]),
        ("a.json", "{", &["not JSON", "line 1"]),
        ("b.json", "[1, 2]", &["\"draws\""]),
        ("c.json", "{\"draws\": {\"x\": [1]}}", &["`x`", "chain 0", "no list"]),
        ("d.json", "{\"draws\": {\"x\": [[1], [2, null]]}}", &["`x`", "chain 1, draw 1", "null"]),
        ("e.json", "{\"draws\": {}}", &["no draws"]),
        ("f.txt", "x\n1\n", &["extension"]),
    ] {
        fails(&folder.write(name, text), words);
    }
    fails(&folder.0.join("none.csv"), &["cannot read"]);
    if smidgen_io::COLUMNAR {
        fails(&folder.write("damaged.parquet", "PAR1 and no more"), &["damaged"]);
        fails(&folder.write("damaged.arrow", "ARROW1 and no more"), &["damaged"]);
    }
}

#[test]
fn files_are_joined_as_chains() {
    let folder = Folder::new("join");
    let read = |name: &str, text: &str| {
        let path = folder.write(name, text);
        let run = read_run(&path).expect("read");
        (path, run)
    };
    let first = read("a.csv", "chain,draw,x,y\n0,0,1,2\n1,0,3,4\n");
    let joined = join_runs(vec![first.clone(), read("b.csv", "y,x\n6,5\n")]).expect("joined");
    assert_eq!(joined.chains, 3);
    let scalars = joined.draws.scalars();
    assert_eq!(scalars[0].chains, [[1.0], [3.0], [5.0]]);
    assert_eq!(scalars[1].chains, [[2.0], [4.0], [6.0]]);
    let vector = read("v.json", "{\"draws\": {\"x\": [[[1, 2]], [[3, 4]]]}}");
    let table = read("v.csv", "x[1],x[0]\n6,5\n");
    let scalars = join_runs(vec![vector, table]).expect("joined").draws.scalars();
    assert_eq!((scalars[0].name.as_str(), &scalars[0].chains[2]), ("x[0]", &vec![5.0]));
    let fails = |other: &str, words: [&str; 3]| {
        let error = join_runs(vec![first.clone(), read("c.csv", other)]).expect_err("differ");
        assert!(words.iter().all(|word| error.to_string().contains(word)), "{error}");
    };
    fails("x\n1\n", ["c.csv", "no column `y`", "a.csv"]);
    fails("x,y,z\n1,2,3\n", ["c.csv", "a column `z`", "a.csv"]);
}
