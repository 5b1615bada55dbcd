//! The report of `smidgen report`: whether the draws of a run can be trusted, what they say, and
//! how they came about. Estimates and diagnostics are those of `smidgen-draws`.
//!
//! Of many quantities, those are plotted that look worst (largest R-hat, fewest effective draws);
//! the table has all.

mod findings;
mod html;
mod pairs;
mod plots;
mod tables;
mod vectors;

use std::collections::HashSet;

use smidgen_draws::{LongRun, Run, Scalar, SummaryRow, summarise_run};

/// What a page is to be about.
#[derive(Clone, Debug)]
pub struct RunPage<'a> {
    pub title: String,
    pub run: &'a Run,
    /// What else there is to say about how it was made: names and texts.
    pub facts: Vec<(String, String)>,
    /// Names of quantities (see [`is_named`]) to which the page is restricted; all if there are
    /// none.
    pub only: Vec<String>,
}

/// The page, and its figures alone.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    pub html: String,
    pub figures: Vec<Picture>,
}

/// A figure with a name that can be that of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pub name: String,
    /// As on the page; `picture::standalone` makes a file of it.
    pub svg: String,
}

pub fn run_report(page: &RunPage) -> RunReport {
    html::write(page, &Material::new(page))
}

/// Whether a quantity is meant by a name: its own, that of the vector or matrix of which it is an
/// entry, or either with `*` for any characters.
pub fn is_named(quantity: &str, name: &str) -> bool {
    let base = base(quantity);
    quantity == name || base == name || matches(quantity, name) || matches(base, name)
}

/// `w` for `w[3]`.
fn base(quantity: &str) -> &str {
    match quantity.rfind('[') {
        Some(at) if at > 0 && quantity.ends_with(']') => &quantity[..at],
        _ => quantity,
    }
}

fn matches(text: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return text == pattern };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(end)
}

/// The numbers on the page, each with its row of the table.
struct Material {
    scalars: Vec<Scalar>,
    rows: Vec<SummaryRow>,
    /// Which of them never change though they may: the run says so, or does not know.
    suspicious: Vec<bool>,
    /// How many scalars the run has.
    all: usize,
    /// Draws of each chain, if the run has only some of them.
    made: Option<Vec<usize>>,
}

impl Material {
    fn new(page: &RunPage) -> Material {
        let mut scalars = page.run.draws.scalars();
        let mut rows = summarise_run(page.run);
        let all = scalars.len();
        if !page.only.is_empty() {
            let is_shown = |own: &str| page.only.iter().any(|name| is_named(own, name));
            scalars.retain(|scalar| is_shown(&scalar.name));
            rows.retain(|row| is_shown(&row.name));
        }
        let is_named = |s: &Scalar| {
            let name = format!("`{}`", s.name);
            page.run.warnings.iter().any(|warning| warning.contains(&name))
        };
        let is_suspicious = |s: &Scalar| {
            constant(&s.chains).is_some() && (page.run.kernels.is_empty() || is_named(s))
        };
        let suspicious = scalars.iter().map(is_suspicious).collect();
        let made = page.run.long.as_ref().and_then(LongRun::made);
        Material { scalars, rows, suspicious, all, made }
    }

    /// The places of at most `most` scalars, in their order: those that look worst.
    fn worst(&self, most: usize) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.rows.len()).collect();
        if places.len() > most {
            let bad: Vec<(bool, f64)> =
                (0..places.len()).map(|place| self.badness(place)).collect();
            places.sort_by(|&a, &b| {
                bad[a].0.cmp(&bad[b].0).then(bad[b].1.total_cmp(&bad[a].1)).then(a.cmp(&b))
            });
            places.truncate(most);
            places.sort_unstable();
        }
        places
    }

    /// Whether it never changes, and else how bad it looks: by R-hat if that is too large, by the
    /// effective draws otherwise.
    fn badness(&self, place: usize) -> (bool, f64) {
        let row = &self.rows[place];
        let constant = constant(&self.scalars[place].chains).is_some();
        let disagreement = if row.r_hat.is_nan() { 1.0 } else { row.r_hat };
        let few = if row.ess_bulk.is_nan() { 1.0 } else { 1.0 / (1.0 + row.ess_bulk.max(0.0)) };
        (
            constant,
            if disagreement > smidgen_draws::summary::HIGHEST_R_HAT { disagreement } else { few },
        )
    }
}

/// The number that all draws are, if there are several of one.
fn constant(chains: &[Vec<f64>]) -> Option<f64> {
    let mut draws = chains.iter().flatten();
    let first = *draws.next()?;
    let mut others = draws.peekable();
    others.peek()?;
    others.all(|&x| x == first).then_some(first)
}

/// Names for files: what a name has of letters and digits, told apart by numbers.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    fn new_name(&mut self, text: &str) -> String {
        const LONGEST: usize = 60;
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let parts: String = text.chars().map(plain).take(LONGEST).collect();
        let parts: Vec<&str> = parts.split('-').filter(|part| !part.is_empty()).collect();
        let name = if parts.is_empty() { "figure".to_owned() } else { parts.join("-") };
        let numbered = (2..).map(|k| format!("{name}-{k}"));
        // Some file systems do not tell capitals apart.
        let free = |name: &String| !self.0.contains(&name.to_lowercase());
        let name = std::iter::once(name.clone()).chain(numbered).find(free);
        let name = name.expect("there are more numbers than names");
        self.0.insert(name.to_lowercase());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_patterns() {
        for (quantity, name) in [
            ("mu", "mu"),
            ("w[3]", "w[3]"),
            ("w[3]", "w"),
            ("m[0,1]", "m"),
            ("weights[10]", "w*"),
            ("weights[10]", "*s[1*"),
            ("(* x 2)", "(* x 2)"),
            ("anything", "*"),
            ("abab", "*ab"),
        ] {
            assert!(is_named(quantity, name), "{quantity} {name}");
        }
        for (quantity, name) in [("mu", "m"), ("w[3]", "w[4]"), ("ab", "a*ab"), ("mu", "")] {
            assert!(!is_named(quantity, name), "{quantity} {name}");
        }
    }

    #[test]
    fn file_names_are_distinct() {
        let mut names = Names::default();
        assert_eq!(names.new_name("trace w[0]"), "trace-w-0");
        assert_eq!(names.new_name("trace W(0)"), "trace-W-0-2");
        assert_eq!(names.new_name("α"), "figure");
    }

    #[test]
    fn constants_are_found() {
        assert_eq!(constant(&[vec![2.0, 2.0], vec![2.0]]), Some(2.0));
        assert_eq!(constant(&[vec![2.0]]), None);
        assert_eq!(constant(&[vec![2.0], vec![3.0]]), None);
        assert_eq!(constant(&[vec![f64::NAN; 3]]), None);
    }
}
