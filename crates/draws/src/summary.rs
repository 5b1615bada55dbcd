//! The table at the end of a run, and warnings in words.
//!
//! Mean, standard deviation and quantiles are over all draws; the diagnostics cut chains of
//! different length (an interrupted run) to the shortest.

use crate::diagnostics::{Standing, mcse_mean, mean_and_sd};
use crate::online::{Moments, moments};
use crate::quantile::{quantile_of_sorted, sorted};
use crate::stuck::never_moved;
use crate::{Draws, Online, Run, Scalar};

/// What is said about one scalar. A number that is not defined (R-hat of a single chain,
/// anything of too few draws, effective draws of chains that never moved) is NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryRow {
    pub name: String,
    pub mean: f64,
    pub sd: f64,
    /// Monte Carlo standard error of the mean.
    pub mcse: f64,
    pub q5: f64,
    pub q50: f64,
    pub q95: f64,
    pub ess_bulk: f64,
    pub ess_tail: f64,
    pub r_hat: f64,
    /// How many chains have draws.
    pub chains: usize,
    /// Whether all but mean and sd come from some of the draws or their sums: shown with `~`.
    pub is_sample: bool,
}

/// One row per scalar of the draws, in their order.
pub fn summarise(draws: &Draws) -> Vec<SummaryRow> {
    draws.scalars().iter().map(summarise_scalar).collect()
}

/// What is said about one of them.
pub fn summarise_scalar(scalar: &Scalar) -> SummaryRow {
    let chains = &scalar.chains;
    let all = chains.concat();
    let (mean, sd) = mean_and_sd(&all);
    let sorted = sorted(all);
    // Chains that never moved say nothing about how well they would.
    let Standing { ess_bulk, ess_tail, r_hat } = Standing::new(chains, &sorted);
    let known = |x: f64| if never_moved(chains) { f64::NAN } else { x };
    SummaryRow {
        name: scalar.name.clone(),
        mean,
        sd,
        mcse: known(mcse_mean(chains)),
        q5: quantile_of_sorted(&sorted, 0.05),
        q50: quantile_of_sorted(&sorted, 0.5),
        q95: quantile_of_sorted(&sorted, 0.95),
        ess_bulk: known(ess_bulk),
        ess_tail: known(ess_tail),
        r_hat: known(r_hat),
        chains: chains.iter().filter(|chain| !chain.is_empty()).count(),
        is_sample: false,
    }
}

/// The rows of a run, of which only some draws may have been kept: then mean and sd are those of all draws, the Monte Carlo
/// error and R-hat come from their batches ([`crate::online`]), the rest from the draws that were kept.
pub fn summarise_run(run: &Run) -> Vec<SummaryRow> {
    let Some(long) = &run.long else { return summarise(&run.draws) };
    let row = |((place, entry), scalar): ((usize, usize), Scalar)| {
        let row = summarise_scalar(&scalar);
        let chains = long.added_up.get(&run.draws.quantities()[place].name);
        let chains: Option<Vec<&Online>> =
            chains.and_then(|chains| chains.iter().map(|entries| entries.get(entry)).collect());
        match chains {
            Some(chains) => of_all_draws(row, moments(&chains)),
            None => SummaryRow { is_sample: true, ..row },
        }
    };
    run.draws.entries().into_iter().map(row).collect()
}

fn of_all_draws(kept: SummaryRow, all: Moments) -> SummaryRow {
    // What is not known of chains that never moved stays unknown.
    let known = |kept: f64, all: f64| if kept.is_nan() { kept } else { all };
    let effective = (all.sd / all.mcse) * (all.sd / all.mcse);
    SummaryRow {
        mean: all.mean,
        sd: all.sd,
        mcse: known(kept.mcse, all.mcse),
        ess_bulk: known(kept.ess_bulk, effective.min(all.count as f64)),
        r_hat: known(kept.r_hat, all.r_hat.max(kept.r_hat)),
        is_sample: true,
        ..kept
    }
}

// ---------------------------------------------------------------- as text

const HEADER: [&str; 9] =
    ["mean", "sd", "mcse", "5%", "50%", "95%", "ess_bulk", "ess_tail", "r_hat"];

/// For a number that is not known.
const UNKNOWN: &str = "-";

/// A longer name loses its middle: entries of one vector differ at the end.
const WIDEST_NAME: usize = 40;

/// The rows as an aligned table, names to the left, every line ending in a newline.
pub fn table(rows: &[SummaryRow]) -> String {
    let mut lines = vec![[""].into_iter().chain(HEADER).map(str::to_owned).collect::<Vec<_>>()];
    lines.extend(rows.iter().map(cells));
    let width = |column: usize| {
        lines.iter().map(|line| line[column].chars().count()).max().expect("there is a header")
    };
    let widths: Vec<usize> = (0..=HEADER.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        text.push_str(&format!("{:<width$}", line[0], width = widths[0]));
        for (cell, width) in line.iter().zip(&widths).skip(1) {
            text.push_str(&format!("  {cell:>width$}"));
        }
        text.push('\n');
    }
    text
}

fn cells(row: &SummaryRow) -> Vec<String> {
    let mut cells = vec![short_name(&row.name)];
    let moment = |x: f64| rounded(x, 4, row.mcse);
    let known = |x: f64, text: String| if x.is_nan() { UNKNOWN.to_owned() } else { text };
    // One draw has no standard deviation; that of draws that are no numbers is none either.
    let sd = if row.mean.is_nan() { moment(row.sd) } else { known(row.sd, moment(row.sd)) };
    cells.extend([moment(row.mean), sd]);
    cells.push(known(row.mcse, rounded(row.mcse, 2, f64::NAN)));
    cells.extend([row.q5, row.q50, row.q95].map(moment));
    cells.extend([row.ess_bulk, row.ess_tail].map(|x| known(x, fixed(x, 0))));
    cells.push(known(row.r_hat, fixed(row.r_hat, 3)));
    // Behind name, mean and sd.
    let about = cells.iter_mut().skip(3).filter(|cell| row.is_sample && *cell != UNKNOWN);
    about.for_each(|cell| cell.insert(0, '~'));
    cells
}

fn short_name(name: &str) -> String {
    let name: Vec<char> = name.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    if name.len() <= WIDEST_NAME {
        return name.into_iter().collect();
    }
    let tail = WIDEST_NAME / 2 - 3;
    let head = WIDEST_NAME - tail - 3;
    let parts = [&name[..head], &['.', '.', '.'], &name[name.len() - tail..]];
    parts.into_iter().flatten().collect()
}

/// The power of ten of the first digit, once rounded to `digits`.
fn exponent(x: f64, digits: usize) -> i32 {
    let text = format!("{x:.*e}", digits - 1);
    let power = text.split('e').nth(1).and_then(|power| power.parse().ok());
    power.expect("a finite number in scientific notation has an exponent")
}

/// `x` down to the second digit of its error (if that is known), but with at least `least`
/// significant digits and at most 12.
fn rounded(x: f64, least: usize, error: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return fixed(x, 0);
    }
    let power = exponent(x, least);
    let known = error.is_finite() && error > 0.0;
    let wanted = if known { power - exponent(error, 2) + 2 } else { 0 };
    let digits = wanted.clamp(least as i32, 12);
    if (-5..=7).contains(&power) {
        fixed(x, (digits - 1 - power).max(0) as usize)
    } else {
        format!("{x:.*e}", digits as usize - 1)
    }
}

fn fixed(x: f64, decimals: usize) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    // A zero that is only rounded to has no sign to show.
    let text = format!("{x:.decimals$}");
    let unsigned =
        text.strip_prefix('-').filter(|rest| !rest.contains(|c| ('1'..='9').contains(&c)));
    match unsigned {
        Some(zero) if x.is_finite() => zero.to_owned(),
        _ => text,
    }
}

// ---------------------------------------------------------------- in words

/// Chains that agree have no more.
pub const HIGHEST_R_HAT: f64 = 1.01;
/// Effective draws below which estimates, and the diagnostics themselves, are unreliable.
pub const LEAST_ESS_PER_CHAIN: f64 = 100.0;

impl SummaryRow {
    /// Whether R-hat, as it is shown, is too large.
    pub fn disagrees(&self) -> bool {
        (self.r_hat * 1000.0).round() > HIGHEST_R_HAT * 1000.0
    }

    /// Whether the effective draws, as they are shown, are too few.
    pub fn has_few(&self) -> bool {
        self.ess_bulk.round() < LEAST_ESS_PER_CHAIN * self.chains as f64
    }
}

/// Warnings about rows that should not be trusted yet, each with what to do.
pub fn advice(rows: &[SummaryRow]) -> Vec<String> {
    let mut advice = Vec::new();
    let not_numbers: Vec<&SummaryRow> = rows.iter().filter(|row| row.q50.is_nan()).collect();
    if !not_numbers.is_empty() {
        advice.push(format!(
            "{}: some draws are not a number (nan), so nothing can be said about it; look for \
             an undefined operation such as 0/0 in the expression that is recorded.",
            list(&not_numbers, |_| String::new())
        ));
    }
    let disagreeing: Vec<&SummaryRow> = rows.iter().filter(|row| row.disagrees()).collect();
    if !disagreeing.is_empty() {
        advice.push(format!(
            "the chains disagree about {}: r_hat should be at most {HIGHEST_R_HAT}. Run a longer \
             warm-up (--warmup) and more draws (--draws), or use a kernel that moves further; \
             chains that stay apart point to several modes.",
            list(&disagreeing, |row| format!(" (r_hat {:.3})", row.r_hat))
        ));
    }
    let few: Vec<&SummaryRow> = rows.iter().filter(|row| row.has_few()).collect();
    if !few.is_empty() {
        advice.push(format!(
            "too few effective draws of {}: fewer than {LEAST_ESS_PER_CHAIN} per chain make the \
             means and intervals, and these diagnostics, unreliable. Draw more (--draws), or use \
             a kernel whose draws are less correlated.",
            list(&few, |row| format!(" (ess_bulk {:.0})", row.ess_bulk))
        ));
    }
    advice
}

/// The first few names with a remark each, and how many more there are.
fn list(rows: &[&SummaryRow], remark: impl Fn(&SummaryRow) -> String) -> String {
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    listed(&names, |k| remark(rows[k]))
}

/// The same for names alone; the remark is about the k-th.
pub(crate) fn listed(names: &[&str], remark: impl Fn(usize) -> String) -> String {
    const SHOWN: usize = 3;
    let first = names.iter().take(SHOWN).enumerate();
    let named: Vec<String> =
        first.map(|(k, name)| format!("`{}`{}", short_name(name), remark(k))).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => named.join(", "),
        1 => format!("{} and 1 other", named.join(", ")),
        more => format!("{} and {more} others", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, mean: f64, mcse: f64) -> SummaryRow {
        SummaryRow {
            name: name.to_owned(),
            mean,
            sd: 2.0,
            mcse,
            q5: -1.5,
            q50: 0.0,
            q95: 1234.5678,
            ess_bulk: 812.4,
            ess_tail: 640.0,
            r_hat: 1.0004,
            chains: 4,
            is_sample: false,
        }
    }

    #[test]
    fn the_table_is_aligned() {
        let rows = [row("mu", 0.123456789, 0.0001234), row("a longer name", -12.0, f64::NAN)];
        let expected = [
            "                  mean       sd     mcse        5%  50%         95%  ess_bulk  ess_tail  r_hat",
            "mu             0.12346  2.00000  0.00012  -1.50000    0  1234.56780       812       640  1.000",
            "a longer name   -12.00    2.000        -    -1.500    0        1235       812       640  1.000",
        ];
        assert_eq!(table(&rows).lines().collect::<Vec<_>>(), expected);
    }

    /// Of a long run every hundredth draw is kept: what comes from these says so, mean and sd are those of all draws.
    #[test]
    fn a_long_run_is_summed_up_from_all_its_draws() {
        let mut rng = smidgen_value::Rng::from_seed(5);
        let all: Vec<Vec<f64>> =
            (0..4).map(|_| (0..200_000).map(|_| rng.uniform() - rng.uniform()).collect()).collect();
        let added_up = |chain: &Vec<f64>| {
            let mut online = Online::default();
            chain.iter().for_each(|x| online.push(*x));
            vec![online]
        };
        let long = crate::LongRun {
            every: 100,
            added_up: [("x".to_owned(), all.iter().map(added_up).collect())].into(),
        };
        let kept = |chain: &Vec<f64>| chain.iter().step_by(100).map(|x| (*x).into()).collect();
        let mut draws = Draws::default();
        draws.add(crate::Quantity::new("x", all.iter().map(kept).collect()));
        let run = Run { draws, long: Some(long), ..Run::default() };
        let said = &summarise_run(&run)[0];
        let exact = summarise_scalar(&Scalar { name: "x".into(), chains: all });
        assert!((said.mean - exact.mean).abs() < 1e-12 && (said.sd / exact.sd - 1.0).abs() < 1e-12);
        for (said, exact) in [(said.q5, exact.q5), (said.q50, exact.q50), (said.q95, exact.q95)] {
            assert!((said - exact).abs() < 0.05 * said.abs().max(0.4), "{said} {exact}");
        }
        assert!((said.r_hat - exact.r_hat).abs() < 0.005, "{said:?}");
        assert!((said.mcse / exact.mcse - 1.0).abs() < 0.1, "{} {}", said.mcse, exact.mcse);
        let line = table(std::slice::from_ref(said)).lines().nth(1).expect("a row").to_owned();
        assert_eq!(line.matches('~').count(), 7, "{line}");
        assert!(said.is_sample && !exact.is_sample);
    }

    #[test]
    fn no_rows_give_a_header() {
        let text = table(&[]);
        assert_eq!(text.split_whitespace().collect::<Vec<_>>(), HEADER);
        assert_eq!(text.lines().count(), 1);
    }

    #[test]
    fn digits_follow_the_error() {
        for (x, mcse, text) in [
            (1.23456789, 0.1, "1.235"),
            (1.23456789, 0.00012, "1.23457"),
            (123456.789, 1000.0, "123457"),
            (123456.789, 0.5, "123456.79"),
            (-0.000123456, f64::NAN, "-0.0001235"),
            (9.9999, 0.01, "10.000"),
            (0.0, 0.01, "0"),
            (1.5e-9, 1e-3, "1.500e-9"),
            (1.5e12, 1e11, "1.500e12"),
            (1.0, 1e-40, "1.00000000000"),
            (f64::NEG_INFINITY, 0.1, "-inf"),
            (f64::NAN, 0.1, "nan"),
        ] {
            assert_eq!(rounded(x, 4, mcse), text, "{x} {mcse}");
        }
        assert_eq!(fixed(-0.0004, 3), "0.000");
        assert_eq!(fixed(-0.0006, 3), "-0.001");
    }

    #[test]
    fn a_wide_name_loses_its_middle() {
        let name = format!("(predict{} x)[17]", " (f".repeat(20));
        let short = short_name(&name);
        assert_eq!(short.chars().count(), WIDEST_NAME);
        assert!(short.starts_with("(predict (f") && short.ends_with(" x)[17]"), "{short}");
        assert_eq!(short_name("(+ a\n\tb)"), "(+ a  b)");
    }

    #[test]
    fn advice_names_the_quantity_and_what_to_do() {
        let fine = row("fine", 1.0, 0.1);
        assert_eq!(advice(std::slice::from_ref(&fine)), Vec::<String>::new());
        let apart = SummaryRow { name: "apart".into(), r_hat: 1.2, ..fine.clone() };
        let few = SummaryRow { name: "few".into(), ess_bulk: 399.0, ..fine.clone() };
        let bad = SummaryRow { name: "bad".into(), q50: f64::NAN, ..fine.clone() };
        // A single chain has no R-hat, and too few draws have no effective number.
        let unknown = SummaryRow { r_hat: f64::NAN, ess_bulk: f64::NAN, ..fine.clone() };
        let advice = super::advice(&[fine, apart, few, bad, unknown]);
        assert_eq!(advice.len(), 3, "{advice:#?}");
        for (text, words) in advice.iter().zip([
            ["`bad`", "not a number"],
            ["`apart` (r_hat 1.200)", "--warmup"],
            ["`few` (ess_bulk 399)", "--draws"],
        ]) {
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
        }
    }

    #[test]
    fn advice_is_about_the_numbers_as_they_are_shown() {
        let shown = |r_hat: f64, ess_bulk: f64| {
            advice(&[SummaryRow { r_hat, ess_bulk, ..row("x", 1.0, 0.1) }])
        };
        assert!(shown(1.0104, 399.6).is_empty(), "shown as 1.010 and 400");
        assert!(shown(1.0106, 812.0)[0].contains("(r_hat 1.011)"));
        assert!(shown(1.0, 399.4)[0].contains("(ess_bulk 399)"));
        assert!(shown(f64::INFINITY, 812.0)[0].contains("(r_hat inf)"));
    }

    #[test]
    fn chains_that_never_moved_have_no_diagnostics() {
        for chains in [vec![vec![2.0; 50]; 4], vec![vec![2.0; 50], vec![3.0; 50]]] {
            let row = summarise_scalar(&Scalar { name: "x".into(), chains });
            for x in [row.mcse, row.ess_bulk, row.ess_tail, row.r_hat] {
                assert!(x.is_nan(), "{row:?}");
            }
            let cells = table(&[row]);
            assert!(cells.lines().nth(1).is_some_and(|line| line.ends_with('-')), "{cells}");
        }
    }

    #[test]
    fn advice_about_many_quantities_is_short() {
        let apart = |i: usize| SummaryRow { r_hat: 2.0, ..row(&format!("x[{i}]"), 0.0, 1.0) };
        let rows: Vec<SummaryRow> = (0..500).map(apart).collect();
        let advice = advice(&rows);
        assert_eq!(advice.len(), 1);
        assert!(advice[0].contains("`x[2]` (r_hat 2.000) and 497 others"), "{}", advice[0]);
        assert!(super::advice(&rows[..4])[0].contains(" and 1 other:"));
    }
}
