//! The joint mixture and stochastic volatility, small: that they run and leave what they promise, and that
//! what they compute beside the language is what the language says.

use std::fs;
use std::path::{Path, PathBuf};

use smidgen::value::Rng;
use smidgen::{OutcomeKind, Session};
use smidgen_experiment::jointdpm::data::Points;
use smidgen_experiment::jointdpm::state::State;
use smidgen_experiment::jointdpm::{self};
use smidgen_experiment::{Options, Outcome, Size};

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("smidgen-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn tiny(name: &str, data: Option<&Path>) -> (PathBuf, Outcome, serde_json::Value) {
    let out = scratch(name);
    let mut options = Options::new(Size::Tiny, &out, 1);
    options.data = data.map(Path::to_path_buf);
    let outcome = smidgen_experiment::run(name, &options, &|_| {}).unwrap();
    let summary = fs::read_to_string(out.join("summary.json")).unwrap();
    (out, outcome, serde_json::from_str(&summary).unwrap())
}

/// The copy is the file of the examples, and short.
fn ran_the_example(out: &Path, name: &str) {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let file = Path::new(name).file_name().unwrap();
    let text = fs::read_to_string(out.join(file)).unwrap();
    assert_eq!(text, fs::read_to_string(examples.join(name)).unwrap());
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with(';'));
    assert!(lines.count() < 20, "{name} is long");
}

#[test]
fn the_mixture_leaves_its_figures() {
    let (out, outcome, summary) = tiny("jointdpm", None);
    ran_the_example(&out, "jointdpm.smg");
    let courses = summary["courses"].as_array().unwrap();
    assert_eq!(courses.len(), 5);
    for course in courses {
        assert!(course["accuracy"].as_f64().unwrap() > 0.4);
        let epsilon = course["epsilon"].as_f64().unwrap();
        assert_eq!(course["share_of_sections"].as_f64().unwrap() < 1.0, epsilon > 0.0);
        assert!(out.join(format!("looks-{epsilon}.csv")).exists());
    }
    let page = fs::read_to_string(&outcome.page).unwrap();
    assert_eq!(page.matches("<svg class=\"plot\"").count(), 3);
    for file in ["training.svg", "clusters.svg", "accuracy.svg"] {
        assert!(out.join(file).exists(), "{file}");
    }
    assert!(outcome.text.contains("exact"));
    fs::remove_dir_all(out).unwrap();
}

#[test]
fn volatility_leaves_its_figures_with_a_series_of_the_user() {
    let file = scratch("returns.csv");
    let rows: String = (0..60).map(|t| format!("{t},{}\n", ((t * 37) % 11) as f64 - 5.0)).collect();
    fs::write(&file, format!("day,x\n{rows}")).unwrap();
    let (out, outcome, summary) = tiny("sv", Some(&file));
    for program in ["sv.smg", "sv_noise.smg", "tall/sp500.smg"] {
        ran_the_example(&out, program);
    }
    assert_eq!(summary["kernels"].as_array().unwrap().len(), 6);
    assert_eq!(summary["real_series"]["days"], 60);
    assert_eq!(summary["transitions"].as_array().unwrap().len(), 4);
    let page = fs::read_to_string(&outcome.page).unwrap();
    assert_eq!(page.matches("<svg class=\"plot\"").count(), 4);
    assert!(out.join("draws-NUTS-shocks.csv").exists());
    fs::remove_dir_all(out).unwrap();
    fs::write(&file, "x\n1\nmany\n").unwrap();
    let mut options = Options::new(Size::Tiny, scratch("sv"), 1);
    options.data = Some(file.clone());
    let error = smidgen_experiment::run("sv", &options, &|_| {}).unwrap_err().to_string();
    assert!(error.contains("line 3"), "{error}");
    fs::remove_dir_all(options.out).unwrap();
    fs::remove_file(file).unwrap();
}

fn execute(session: &mut Session, text: &str) -> Vec<f64> {
    let mut numbers = Vec::new();
    for directive in session.parse_text("<test>", text).unwrap() {
        for outcome in session.execute(&directive).unwrap() {
            if let OutcomeKind::Sample(value) = outcome.kind {
                numbers.extend(value.as_number());
            }
        }
    }
    numbers
}

/// The paper's way to predict: observe x, one Gibbs step on its z, sample y, forget. Its frequencies are the
/// probabilities of [`State::predict`]; those of clusters without their sizes are not.
#[test]
fn predictions_are_those_of_a_gibbs_step() {
    const N: usize = 60;
    const TIMES: usize = 4000;
    let train = Points::new(N, &mut Rng::from_seed(2));
    let options = Options::new(Size::Tiny, "unused", 3);
    let (mut session, infer) = jointdpm::loaded(0.1, 20, &train, &options).unwrap();
    for _ in 0..20 {
        session.execute(&infer).unwrap();
    }
    let state = State::read(&mut session, &train).unwrap();
    assert!(state.tables.len() > 1);
    let (mut worst, mut worst_twin) = (0.0_f64, 0.0_f64);
    // Between clusters, where it matters which one is chosen.
    for x in [[1.0, 0.3], [0.2, 0.1], [-0.4, 1.3], [1.1, 1.2]] {
        let text = format!(
            "new: [observe (x {N}) (vector {} {})] [infer (gibbs z {N} 1)] \
             [sample (y {N} (vector {} {}))] [forget new]",
            x[0], x[1], x[0], x[1]
        );
        let ones: f64 = (0..TIMES).map(|_| execute(&mut session, &text)[0]).sum();
        let distance = |p: f64| {
            let n = TIMES as f64;
            (ones - n * p).abs() / (n * p * (1.0 - p)).sqrt()
        };
        worst = worst.max(distance(state.predict(x).p));
        let twin = state.tables.iter().map(|table| {
            let [w0, w1, w2] = table.weights;
            1.0 / (1.0 + smidgen::value::math::exp(-(w0 + w1 * x[0] + w2 * x[1])))
        });
        worst_twin = worst_twin.max(distance(twin.sum::<f64>() / state.tables.len() as f64));
    }
    assert!(worst < 4.5, "{worst} standard errors");
    assert!(worst_twin > 4.5, "the broken twin is only {worst_twin} standard errors away");
}
