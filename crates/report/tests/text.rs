//! The report for a terminal: its width, its order, its tables, and that it says plainly what is so.

mod common;

use smidgen_report::comparison::{Comparison, QuantityComparison, Speed};
use smidgen_report::{Verdict, comparison_text};

fn check_width(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
        assert_eq!(line, line.trim_end());
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}

/// The lines below a heading, up to an empty line.
fn table<'a>(text: &'a str, heading: &str) -> Vec<&'a str> {
    let after = text.lines().skip_while(|line| !line.starts_with(heading)).skip(2);
    after.take_while(|line| !line.is_empty()).collect()
}

#[test]
fn tables_are_aligned() {
    let text = comparison_text(&common::typical());
    check_width(&text);
    assert_eq!(
        table(&text, "Differences"),
        [
            "quantity  shift/sd     z  sd ratio     z   KS p  verdict",
            "w[0]        -0.029  -0.5     1.000   0.0  0.310  PASS",
            "w[1]        +0.032  +0.5     1.262  +6.6  0.310  FAIL",
            "w[2]        +0.052  +0.9     1.021  +0.5  0.310  PASS",
            "clusters    +0.061  +1.1     0.974  -0.7  0.310  PASS",
            "sigma       +0.123  +2.2     0.990  -0.3  0.310  PASS",
        ]
    );
    assert_eq!(
        table(&text, "Decisions"),
        [
            "kernel    accepts  exact  checked  wrong yes  wrong no  rate  95% interval  predicted",
            "kernel 1    33.0%  29.9%     2000         47        21  3.4%  2.7% to 4.3%       3.7%",
            "kernel 2    33.0%  29.9%     2000         47        21  3.4%  2.7% to 4.3%       3.7%",
        ]
    );
    assert_eq!(text.lines().last(), Some("FAIL: 1 finding against the approximation."));
}

#[test]
fn sentences_say_what_was_found() {
    let text = comparison_text(&common::typical());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in [
        "logistic.smg was sampled with the approximate (subsampled_mh w one drift(0.1) 0.05 100 10)",
        "Kernel 1, (subsampled_mh w one drift(0.1) 0.05 100 10), decided 68 of 2000 checked \
         transitions otherwise than the exact test: 3.4% (95% interval 2.7% to 4.3%), 47 wrongly \
         accepted and 21 wrongly rejected. Theory predicts 3.7%, which agrees.",
        "Kernel 3, (subsampled_mh z one 0.01 100 1), ran exactly: each choice has a single section.",
        "Posterior means differ by at most 0.12 exact standard deviations",
        "The approximate posterior is too wide for w[1] (1.26 times).",
        "A transition of kernel 1 read 2321 of 12,214 sections on average (19.0%, predicted 19.2%); \
         3.1% of transitions read everything.",
        "It made 4.1 times as many effective draws per second as the exact kernel.",
        "The gain does not count as long as the posterior is wrong",
        "FAIL The standard deviation of w[1] is 1.24 times the exact one",
    ] {
        assert!(text.contains(sentence), "{sentence}\n{text}");
    }
    let (fail, warn) = (text.find("FAIL The").unwrap(), text.find("WARN KS").unwrap());
    assert!(fail < warn, "the gravest finding comes first");
}

#[test]
fn a_loss_is_called_a_loss() {
    let ess_per_second = vec![("a".to_owned(), 10.0, 4.0), ("b".to_owned(), 10.0, 8.0)];
    let speed =
        Speed { transitions_ratio: 0.8, sections_ratio: 1.0, ess_per_second, ..Speed::default() };
    let text = comparison_text(&Comparison { speed, ..Comparison::default() });
    check_width(&text);
    assert!(text.contains("made only 0.80 times as many transitions per second, each reading no"));
    assert!(text.contains("The approximation does not pay here"), "{text}");
    assert!(text.ends_with("PASS: no difference that this many draws could show.\n"), "{text}");
}

#[test]
fn a_disagreement_with_theory_is_told() {
    let mut comparison = common::typical();
    comparison.kernels[0].predicted_error = 0.001;
    let text = comparison_text(&comparison).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("Theory predicts only 0.10%: the means of its batches are not"),
        "{text}"
    );
}

#[test]
fn only_the_worst_of_many_quantities_are_listed() {
    let quantity = |k: usize| QuantityComparison {
        name: format!("x[{k}]"),
        mean_difference_z: if k == 33 { 9.0 } else { 0.0 },
        verdict: if k == 7 { Verdict::Fail } else { Verdict::Pass },
        ..QuantityComparison::default()
    };
    let quantities = (0..40).map(quantity).collect();
    let text = comparison_text(&Comparison { quantities, ..Comparison::default() });
    let rows = table(&text, "Differences");
    assert_eq!(rows.len(), 1 + 16 + 1, "{rows:?}");
    assert!(rows.iter().any(|row| row.starts_with("x[33]")), "{rows:?}");
    assert!(rows.iter().any(|row| row.starts_with("x[7] ")), "{rows:?}");
    assert!(text.contains("These 16 of 40 quantities differ most"));
}

#[test]
fn odd_numbers_keep_the_width() {
    for comparison in [common::odd(), Comparison::default()] {
        let text = comparison_text(&comparison);
        check_width(&text);
        assert!(!text.contains("NaN"), "{text}");
    }
}
