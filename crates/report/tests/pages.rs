//! Pages are well-formed whatever they are about, and say what they must.

mod common;
#[path = "common/markup.rs"]
mod markup;

use markup::{check, check_coordinates, check_markup};
use smidgen_report::comparison::{Comparison, KernelComparison, QuantityComparison};
use smidgen_report::density::histogram;
use smidgen_report::plot::{Axis, Colour, Mark, Plot, Point, Shape};
use smidgen_report::{Verdict, comparison_html, comparison_json};

#[test]
fn pages_are_well_formed() {
    for comparison in [Comparison::default(), common::typical(), common::odd()] {
        let html = comparison_html(&comparison);
        check(&html);
        for foreign in ["<script", "http://", "https://", "src=", "href=", "@import", "url("] {
            assert!(!html.contains(foreign), "a page stands alone: {foreign}");
        }
    }
}

#[test]
#[should_panic(expected = "closes what is open")]
fn the_checker_sees_a_tag_that_is_not_closed() {
    check_markup("<p><b>x</p>");
}

#[test]
#[should_panic(expected = "NaN")]
fn the_checker_sees_a_coordinate_that_is_none() {
    check_coordinates("<line x1=\"NaN\"/>");
}

#[test]
fn the_page_shows_what_was_measured() {
    let html = comparison_html(&common::typical());
    for text in [
        "<h1>Approximate against exact: logistic.smg <span class=\"badge fail\">FAIL</span></h1>",
        "<p>1 finding against the approximation",
        "ran exactly: each choice has a single section.",
        "2.7% to 4.3%",
        "[observe (&lt; 1 2) true]",
        "One draw of every 5 is shown.",
        "Posterior probabilities of clusters",
        "Posterior density of w[1]",
    ] {
        assert!(html.contains(text), "{text}");
    }
    // Five quantities with a density and two traces, two kernels with two plots of pairs, and three more.
    assert_eq!(html.matches("<svg class=\"plot\"").count(), 5 + 10 + 4 + 3);
    assert_eq!(html.matches("<figure>").count(), 5 + 5 + 4 + 3);
}

#[test]
fn many_quantities_are_counted_and_the_worst_are_shown() {
    let quantity = |k: usize| QuantityComparison {
        name: format!("x[{k}]"),
        mean_difference_z: k as f64 / 10.0,
        verdict: if k == 3 { Verdict::Warn } else { Verdict::Pass },
        ..QuantityComparison::default()
    };
    let quantities = (0..30).map(quantity).collect();
    let html = comparison_html(&Comparison { quantities, ..Comparison::default() });
    check(&html);
    assert!(
        html.contains("Shown are the 12 quantities that differ most; 18 more are in the tables")
    );
    assert!(html.contains("Posterior probabilities of x[3],"));
    assert!(html.contains("Posterior probabilities of x[29],"));
    assert!(!html.contains("Posterior probabilities of x[18],"));
}

#[test]
fn odd_numbers_are_left_out_and_said_to_be() {
    let html = comparison_html(&common::odd());
    assert!(html.contains("6 draws that are not finite are left out."));
    assert!(!html.contains("<script"));
    assert!(html.contains("&lt;script&gt;"));
}

#[test]
fn plots_of_anything_are_well_formed() {
    let odd = [0.0, -1.0, 3.0, f64::NAN, f64::INFINITY, 1e-320, f64::MAX, 1e6];
    let curve: Vec<(f64, f64)> = odd.into_iter().zip(odd.into_iter().rev()).collect();
    let point =
        |&(x, y): &(f64, f64)| Point { x, y, x_interval: Some((y, x)), y_interval: Some((x, y)) };
    let marks = [
        Mark::Line(curve.clone()),
        Mark::Dashed(Vec::new()),
        Mark::Faint(curve.clone()),
        Mark::Band(curve.iter().map(|&(x, y)| (x, y, x)).collect()),
        Mark::Boxes(curve.iter().map(|&(x, y)| ((x, y), (y, x))).collect()),
        Mark::Dotted(curve.clone()),
        Mark::Steps(curve.clone()),
        Mark::Dots(curve.clone()),
        Mark::Words(curve.iter().map(|&(x, y)| (x, y, "a & <b>".to_owned())).collect()),
        Mark::Points(Shape::Disc, curve.iter().map(point).collect()),
        Mark::Points(Shape::Ring, curve.iter().map(point).collect()),
        Mark::Points(Shape::Triangle, curve.iter().map(point).collect()),
        Mark::Points(Shape::Cross, curve.iter().map(point).collect()),
        Mark::Vertical(f64::NAN),
        Mark::Horizontal(f64::INFINITY),
        Mark::Diagonal,
    ];
    let axes = || {
        let linear = Axis::new("a <b>");
        let names = Axis::categories(["one".to_owned(), "two & <three>".to_owned()]);
        let never = Axis::new("").range(f64::NAN, f64::INFINITY);
        [linear.clone(), linear.clone().from_zero(), linear.bare(), Axis::log("c"), names, never]
    };
    for x in axes() {
        for y in axes() {
            let mut all = Plot::new("title", x.clone(), y, 100.0);
            for mark in &marks {
                all.named("legend & all", Colour::Third, mark.clone());
                let mut single = Plot::new("", x.clone(), all.y.clone(), 100.0);
                check(&single.add(Colour::First, mark.clone()).svg());
            }
            check(&all.svg());
        }
    }
}

#[test]
fn an_empty_plot_says_so() {
    let svg = Plot::new("t", Axis::default(), Axis::default(), 100.0).svg();
    check(&svg);
    assert!(svg.contains("nothing to draw"));
}

#[test]
fn marks_stand_where_they_should() {
    let (x, y) = (Axis::new("").range(0.0, 10.0).bare(), Axis::new("").range(0.0, 1.0).bare());
    let mut plot = Plot::new("", x, y, 100.0);
    plot.add(Colour::First, Mark::Line(vec![(0.0, 0.0), (5.0, 0.5), (10.0, 1.0)]));
    let svg = plot.svg();
    assert!(svg.contains("<path class=\"line\" d=\"M0 100L186 50L372 0\"/>"), "{svg}");
    let gaps = [(0.0, f64::NAN), (5.0, 0.5), (6.0, f64::NAN), (10.0, 0.0)];
    let svg = plot.add(Colour::First, Mark::Faint(gaps.to_vec())).svg();
    assert!(svg.contains("d=\"M186 50L186 50M372 100L372 100\"/>"), "{svg}");
    let stairs = vec![(0.0, 0.0), (5.0, 0.5), (10.0, 1.0)];
    let svg = plot.add(Colour::First, Mark::Steps(stairs)).svg();
    assert!(svg.contains("d=\"M0 100L186 100L186 50L372 50L372 0\"/>"), "{svg}");
    let svg = plot.narrow().svg();
    assert!(svg.contains("viewBox=\"0 0 300 ") && svg.contains("L272 0\"/>"), "{svg}");
}

#[test]
fn histograms_have_area_one() {
    let bins = histogram(&[0.0, 1.0, 1.5, 2.0], 2);
    let Mark::Boxes(boxes) = Mark::histogram(&bins) else { panic!("bars") };
    assert_eq!(boxes, [((0.0, 1.0), (0.0, 0.25)), ((1.0, 2.0), (0.0, 0.75))]);
    assert_eq!(Mark::histogram(&[]), Mark::Boxes(Vec::new()));
}

#[test]
fn json_has_every_number_and_no_draws() {
    let json = comparison_json(&common::typical());
    assert_eq!(json["verdict"], "fail");
    assert_eq!(json["kernels"][0]["sections"]["max"], 12_214.0);
    assert_eq!(json["kernels"][0]["disagreement"]["low"], 0.0269);
    assert_eq!(json["kernels"][2]["fallback"], "each choice has a single section");
    assert_eq!(json["quantities"][1]["name"], "w[1]");
    assert_eq!(json["speed"]["ess_per_second"][3]["name"], "clusters");
    assert_eq!(json["mmd"]["p"], 0.002);
    assert!(!json.to_string().contains("draws\":["));

    let json = comparison_json(&common::odd());
    assert_eq!(json["kernels"][0]["population"], "inf");
    assert_eq!(json["kernels"][0]["pairs"][0]["log_alpha"], "-inf");
    assert_eq!(json["mmd"]["mmd2"], "nan");
    assert_eq!(comparison_json(&Comparison::default())["mmd"], serde_json::Value::Null);
    let kernels = vec![KernelComparison::default()];
    let json = comparison_json(&Comparison { kernels, ..Comparison::default() });
    assert_eq!(json["kernels"][0]["fallback"], serde_json::Value::Null);
}
