//! The page about a run: complete for an ordinary run, and well-formed for any.

#[path = "common/markup.rs"]
#[allow(dead_code)]
mod markup;

use markup::check;
use smidgen_draws::{Approximation, Draws, KernelReport, Quantity, Run, summarise};
use smidgen_report::{RunPage, RunReport, run_report};
use smidgen_value::{Rng, Value};

/// Independent normal draws.
fn noise(rng: &mut Rng, n: usize) -> Vec<f64> {
    (0..n).map(|_| (0..12).map(|_| rng.uniform()).sum::<f64>() - 6.0).collect()
}

fn numbers(chains: &[Vec<f64>]) -> Vec<Vec<Value>> {
    chains.iter().map(|chain| chain.iter().map(|&x| Value::Number(x)).collect()).collect()
}

fn report(run: &Run, only: &[&str]) -> RunReport {
    let only = only.iter().map(|&name| name.to_owned()).collect();
    let facts = vec![("seed".to_owned(), "17".to_owned())];
    let report = run_report(&RunPage { title: "Draws <of> it".to_owned(), run, facts, only });
    check(&report.html);
    for foreign in ["<script", "http://", "https://", "src=", "href=", "@import", "url("] {
        assert!(!report.html.contains(foreign), "a page stands alone: {foreign}");
    }
    for figure in &report.figures {
        assert!(report.html.contains(&figure.svg), "{} is on the page", figure.name);
    }
    report
}

/// A run of these numbers, by chain.
fn run_of(quantities: &[(&str, Vec<Vec<f64>>)]) -> Run {
    let mut draws = Draws::default();
    for (name, chains) in quantities {
        draws.add(Quantity::new(*name, numbers(chains)));
    }
    Run { chains: quantities[0].1.len(), draws, ..Run::default() }
}

fn contains_all(html: &str, texts: &[&str]) {
    for text in texts {
        assert!(html.contains(text), "`{text}` is not on the page");
    }
}

/// Four chains that agree, of a number, a vector, a coin and a word.
fn typical() -> Run {
    let mut rng = Rng::from_seed(1);
    let (mut mu, mut w, mut coin, mut word) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..4 {
        let xs = noise(&mut rng, 500);
        let ys = noise(&mut rng, 500);
        coin.push(xs.iter().map(|&x| Value::Bool(x > 0.5)).collect());
        word.push(xs.iter().map(|_| Value::symbol("red")).collect());
        w.push(xs.iter().zip(&ys).map(|(&x, &y)| Value::vector([x, 0.6 * x + 0.8 * y])).collect());
        mu.push(ys);
    }
    let mut draws = Draws::default();
    draws.add(Quantity::new("mu", numbers(&mu)));
    draws.add(Quantity::new("w", w));
    draws.add(Quantity::new("coin", coin));
    draws.add(Quantity::new("word", word));
    let kernel = KernelReport {
        kernel: "(subsampled_mh w all 100 0.01)".to_owned(),
        transitions: 2000,
        accepted: 500,
        sections_used: 10_000,
        population: 100_000,
        evaluator: "compiled".to_owned(),
        approximation: Some(Approximation {
            decisions: 2000,
            audits: 20,
            interval: (0.0, 0.14),
            predicted_error: 0.012,
            ..Approximation::default()
        }),
        note: Some("drift by steps of 0.1".to_owned()),
        ..KernelReport::default()
    };
    Run {
        seed: 17,
        chains: 4,
        draws,
        kernels: vec![kernel],
        warnings: vec!["the table has <few> rows".to_owned()],
        program: "[assume mu (normal 0 1)]\n[observe (< mu 3) true]".to_owned(),
        version: "9.9.9".to_owned(),
        ..Run::default()
    }
}

#[test]
fn the_page_has_everything() {
    let run = typical();
    let report = report(&run, &[]);
    contains_all(
        &report.html,
        &[
            "<h1>Draws &lt;of&gt; it <span class=\"badge warn\">WARN</span></h1>",
            "the table has &lt;few&gt; rows",
            "4 chains of 500 draws; 4 numbers in each draw.",
            "word: it is a symbol",
            "trace of mu",
            "density of w[1]",
            "ranks of mu",
            "autocorrelation of w[0]",
            "probabilities of coin",
            "Correlation 0.6",
            "(subsampled_mh w all 100 0.01)",
            "25.0%",
            "drift by steps of 0.1",
            "err in about 1.2% of cases by theory; of 20 audited ones 0 differed",
            "smidgen 9.9.9",
            "[observe (&lt; mu 3) true]",
        ],
    );
    // Four plots of four numbers and six pairs.
    assert_eq!(report.figures.len(), 4 * 4 + 6);
    assert_eq!(report.html.matches("<figure>").count(), report.figures.len());
    let mut names: Vec<&str> = report.figures.iter().map(|f| f.name.as_str()).collect();
    assert!(names.contains(&"w-0-trace") && names.contains(&"mu-and-w-1"), "{names:?}");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), report.figures.len(), "names are distinct");
}

#[test]
fn estimates_are_those_of_the_summary() {
    let run = Run { warnings: Vec::new(), ..typical() };
    let html = report(&run, &[]).html;
    for row in summarise(&run.draws) {
        let cells = [format!("{:.0}", row.ess_bulk), format!("{:.0}", row.ess_tail)];
        let line = html.lines().find(|line| line.contains(&format!("row\">{}</th>", row.name)));
        let line = line.expect("a row of the table");
        for cell in cells.into_iter().chain([format!("{:.3}", row.r_hat)]) {
            assert!(line.contains(&format!(">{cell}<")), "{cell}: {line}");
        }
        let mean =
            line.split("<td class=\"number\">").nth(1).and_then(|cell| cell.split('<').next());
        let mean: f64 = mean.and_then(|cell| cell.parse().ok()).expect("a number");
        assert!((mean - row.mean).abs() < 0.06 * row.mcse, "{mean} for {}", row.mean);
        assert!(line.contains("PASS"), "{line}");
    }
    assert!(html.contains("Nothing was found that speaks against these draws."));
}

#[test]
fn what_is_wrong_is_said_first() {
    let mut rng = Rng::from_seed(2);
    let mut near: Vec<Vec<f64>> = (0..2).map(|_| noise(&mut rng, 1000)).collect();
    let mut apart = near.clone();
    apart[1].iter_mut().for_each(|x| *x += 3.0);
    let mut frozen = near.clone();
    frozen[0] = vec![0.5; 1000];
    let mut infinite = near.clone();
    infinite[0][3] = f64::INFINITY;
    let mut broken = near.clone();
    broken[1][7] = f64::NAN;
    for (chains, verdict, texts) in [
        (&near, "pass", &["speaks against"][..]),
        (&apart, "fail", &["the chains have not come together", "the chains disagree"]),
        (&vec![vec![3.0; 1000]; 2], "warn", &["`x` (always 3.000) never changed"]),
        (&frozen, "fail", &["`x` did not move in one chain or more"]),
        (&infinite, "warn", &["some draws of `x` are infinite", "not finite is left out"]),
        (&broken, "fail", &["not a number", "not finite is left out"]),
        (&vec![near[0].clone()], "warn", &["only one chain"]),
        (
            &vec![vec![1.0]],
            "warn",
            &["only one chain", "only 1 draw in a chain", "1 chain of 1 draw"],
        ),
        (
            &vec![near[0].clone(), near[1][..50].to_vec()],
            "warn",
            &["chains differ in length", "50 to 1000"],
        ),
        (&vec![vec![f64::NAN; 30]; 2], "fail", &["not a number"]),
        (&vec![vec![f64::NEG_INFINITY; 30]; 2], "warn", &["infinite"]),
        (&vec![Vec::new(), near[0].clone()], "warn", &["chains differ in length"]),
    ] {
        let html = report(&run_of(&[("x", chains.clone())]), &[]).html;
        let badge =
            format!("<span class=\"badge {verdict}\">{}</span></h1>", verdict.to_uppercase());
        assert!(html.contains(&badge), "{verdict} {texts:?}");
        contains_all(&html, texts);
    }
    // Far out, but finite: a page all the same.
    near.iter_mut().flatten().for_each(|x| *x *= 1e300);
    report(&run_of(&[("x", near)]), &[]);
}

#[test]
fn restarts_are_chains_of_one_draw() {
    let mut rng = Rng::from_seed(3);
    let chains: Vec<Vec<f64>> = noise(&mut rng, 300).into_iter().map(|x| vec![x]).collect();
    let html = report(&run_of(&[("x", chains.clone()), ("y", chains)]), &[]).html;
    contains_all(&html, &["300 chains of 1 draw", "density of x", "Correlation 1.00"]);
    assert!(!html.contains("ranks of x"));
}

#[test]
fn nothing_to_show_is_a_page() {
    let html = report(&Run::default(), &[]).html;
    contains_all(&html, &["nothing that is a number"]);
    let run = run_of(&[("x", vec![Vec::new()])]);
    contains_all(&report(&run, &[]).html, &["nothing that is a number", "x: nothing was drawn"]);
}

#[test]
fn of_many_quantities_the_worst_are_shown() {
    let mut rng = Rng::from_seed(4);
    let mut run = Run { chains: 2, ..Run::default() };
    let vectors: Vec<Vec<Value>> = (0..2)
        .map(|c| {
            let vector = |_| {
                let mut xs = noise(&mut rng, 300);
                xs[217] += 4.0 * f64::from(c);
                xs[5] = 1.0;
                Value::vector(xs)
            };
            (0..60).map(vector).collect()
        })
        .collect();
    run.draws.add(Quantity::new("x", vectors));
    let page = report(&run, &[]);
    contains_all(
        &page.html,
        &[
            "These 40 look worst",
            "All 300 numbers",
            "Shown are the 12 that look worst (largest r_hat, fewest effective draws); 288 more",
            "trace of x[217]",
            "R-hat of `x[217]`",
        ],
    );
    assert!(!page.html.contains("trace of x[5]"), "what never changes is of no interest");
    assert!(page.html.len() < 1_500_000, "{}", page.html.len());
    let only = report(&run, &["x[11]", "x[12*"]);
    contains_all(&only.html, &["trace of x[11]", "trace of x[129]", "12 of 300 numbers"]);
    assert!(!only.html.contains("x[217]"));
    let pair = report(&run, &["x[11]", "x[12]"]);
    contains_all(&pair.html, &["x[12] against x[11]"]);
}

#[cfg(feature = "png")]
#[test]
fn every_figure_can_be_a_png() {
    let report = report(&typical(), &["mu", "coin"]);
    assert_eq!(report.figures.len(), 9);
    for figure in &report.figures {
        let png = smidgen_report::png::render(&figure.svg, 1.0).expect("a picture");
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
        assert_eq!(png[16..20], 300u32.to_be_bytes(), "the width of {}", figure.name);
        assert!(png.len() > 2000, "{} is not blank: {} bytes", figure.name, png.len());
    }
}
