//! Quantities that never moved.
//!
//! Draws that are all alike have no effective number and no R-hat: from themselves one cannot tell a
//! constant from a chain that is stuck. Who made them can: a quantity that hangs on no random choice
//! is a constant and nothing is said about it; one whose choices never changed says where the
//! chains started; one whose choices moved is all but certain, or does not follow them.

use crate::summary::listed;
use crate::{Draws, Scalar};

/// With fewer draws in a chain, nothing is said: a slow chain may not have moved yet.
const LEAST_DRAWS: usize = 20;

/// What is known about one quantity besides its draws.
#[derive(Clone, Debug, Default)]
pub struct Ties {
    /// Whether each number of it hangs on random choices; the first counts for those not listed.
    pub hangs: Vec<bool>,
    /// By chain: whether some choice that it hangs on changed while draws were made.
    pub moved: Vec<bool>,
}

/// Whether every draw of a chain is the same.
fn is_still(chain: &[f64]) -> bool {
    chain.iter().all(|x| *x == chain[0])
}

/// Whether no chain ever moved.
pub fn never_moved<C: AsRef<[f64]>>(chains: &[C]) -> bool {
    let mut drawn = chains.iter().map(AsRef::as_ref).filter(|chain| chain.len() > 1).peekable();
    drawn.peek().is_some() && drawn.all(is_still)
}

#[derive(Clone, Copy, PartialEq)]
enum Finding {
    /// Nothing that it hangs on has changed.
    Stuck,
    /// The same, and every chain is somewhere else.
    StuckApart,
    /// What it hangs on moved.
    Still,
    StillApart,
    /// It did not move in some chains, and did in others.
    StuckInSome,
}

fn finding(scalar: &Scalar, entry: usize, ties: &Ties) -> Option<Finding> {
    if !*ties.hangs.get(entry).or(ties.hangs.first())? {
        return None;
    }
    let drawn: Vec<(usize, &[f64])> = scalar.chains.iter().map(Vec::as_slice).enumerate().collect();
    let drawn: Vec<_> = drawn.into_iter().filter(|(_, chain)| chain.len() >= LEAST_DRAWS).collect();
    let first = *drawn.first()?.1.first()?;
    let moved = |c: usize| ties.moved.get(c).copied().unwrap_or(false);
    if !drawn.iter().all(|(_, chain)| is_still(chain)) {
        let stuck = drawn.iter().any(|(c, chain)| is_still(chain) && !moved(*c));
        return stuck.then_some(Finding::StuckInSome);
    }
    let apart = drawn.iter().any(|(_, chain)| chain[0] != first);
    Some(match (drawn.iter().any(|(c, _)| moved(*c)), apart) {
        (false, false) => Finding::Stuck,
        (false, true) => Finding::StuckApart,
        (true, false) => Finding::Still,
        (true, true) => Finding::StillApart,
    })
}

/// Warnings about quantities that never moved, given what they hang on, quantity by quantity, and
/// the kernels that might have moved them.
pub fn stuck(draws: &Draws, ties: &[Ties], kernels: &[String]) -> Vec<String> {
    let mut found: Vec<(Finding, String)> = Vec::new();
    for ((place, entry), scalar) in draws.entries() {
        if let Some(finding) = ties.get(place).and_then(|ties| finding(&scalar, entry, ties)) {
            found.push((finding, scalar.name));
        }
    }
    let nobody = match kernels {
        [] => "nothing ever changed".to_owned(),
        [one] => format!("{one} never changed"),
        many => format!("none of {} ever changed", many.join(", ")),
    };
    use Finding::{Still, StillApart, Stuck, StuckApart, StuckInSome};
    [StuckApart, Stuck, StuckInSome, StillApart, Still]
        .into_iter()
        .filter_map(|kind| {
            let names = found.iter().filter(|(finding, _)| *finding == kind);
            let names: Vec<&str> = names.map(|(_, name)| name.as_str()).collect();
            let names = (!names.is_empty()).then(|| listed(&names, |_| String::new()))?;
            Some(match kind {
                StuckApart => format!(
                    "{names} never moved in any chain, and the chains are at different values: {nobody} the random choices that this hangs on. These draws say where the chains started and nothing else; use a kernel that moves them."
                ),
                Stuck => format!(
                    "{names} never moved, although it hangs on random choices: {nobody} them. Unless one value is all but certain, these draws say only where the chains started: use a kernel that moves them."
                ),
                StuckInSome => format!(
                    "{names} did not move in one chain or more, where {nobody} the random choices that this hangs on: unless one value is all but certain, these chains are stuck."
                ),
                StillApart => format!(
                    "{names} stayed at one value in each chain, and not at the same one: {nobody} it. The chains do not agree; use a kernel that moves further."
                ),
                Still => format!(
                    "{names} had one value in all draws: {nobody} it, though random choices that it hangs on moved. Either it is all but certain, or what decides it does not move."
                ),
            })
        })
        .collect()
}

/// Where marked draws lie: the quantity that tells them best from the others, and whether it is
/// small there. None if none does.
pub fn whereabouts(draws: &Draws, marked: &[Vec<usize>]) -> Option<(String, bool)> {
    /// The mean rank of marked draws, 1/2 for draws like all others.
    const FAR: f64 = 0.25;
    const LEAST: usize = 5;
    if marked.iter().map(Vec::len).sum::<usize>() < LEAST {
        return None;
    }
    let mut best: Option<(f64, String)> = None;
    for scalar in draws.scalars() {
        let sorted = crate::quantile::sorted(scalar.chains.iter().flatten().copied());
        let (mut total, mut count) = (0.0, 0.0);
        for (chain, places) in scalar.chains.iter().zip(marked) {
            for x in places.iter().filter_map(|place| chain.get(*place)) {
                let below = sorted.partition_point(|y| y < x) + sorted.partition_point(|y| y <= x);
                total += below as f64 / (2.0 * sorted.len() as f64);
                count += 1.0;
            }
        }
        let off = total / count - 0.5;
        if off.abs() >= FAR && best.as_ref().is_none_or(|(known, _)| off.abs() > known.abs()) {
            best = Some((off, scalar.name));
        }
    }
    best.map(|(off, name)| (name, off < 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quantity;
    use smidgen_value::Value;

    fn draws(chains: &[&[f64]]) -> Draws {
        let values = |chain: &&[f64]| chain.iter().map(|x| Value::Number(*x)).collect();
        let mut draws = Draws::default();
        draws.add(Quantity::new("x", chains.iter().map(values).collect()));
        draws
    }

    fn said(chains: &[&[f64]], hangs: bool, moved: &[bool]) -> Vec<String> {
        let ties = Ties { hangs: vec![hangs], moved: moved.to_vec() };
        stuck(&draws(chains), &[ties], &["(mh y all 1)".to_owned()])
    }

    #[test]
    fn who_is_stuck_is_named_with_the_kernel() {
        let (still, other) = ([2.0; 50], [3.0; 50]);
        let moving: Vec<f64> = (0..50).map(f64::from).collect();
        let cases = [
            ([&still[..], &still], [false, false], "`x` never moved, although"),
            ([&still[..], &other], [false, false], "at different values"),
            ([&still[..], &moving], [false, true], "`x` did not move in one chain"),
            ([&still[..], &still], [true, true], "`x` had one value in all draws"),
            ([&still[..], &other], [true, true], "not at the same one"),
        ];
        for (chains, moved, words) in cases {
            let said = said(&chains, true, &moved);
            assert_eq!(said.len(), 1, "{said:?}");
            assert!(said[0].contains(words) && said[0].contains("(mh y all 1)"), "{said:?}");
        }
    }

    #[test]
    fn constants_and_moving_chains_are_let_be() {
        let still = [2.0; 50];
        let moving: Vec<f64> = (0..50).map(f64::from).collect();
        assert!(said(&[&still, &still], false, &[false, false]).is_empty());
        assert!(said(&[&moving, &moving], true, &[true, true]).is_empty());
        // A rare event that one chain did not meet.
        assert!(said(&[&still, &moving], true, &[true, true]).is_empty());
        assert!(said(&[&[2.0; 5], &[2.0; 5]], true, &[false, false]).is_empty());
        assert!(never_moved(&[still]) && !never_moved(&[moving]));
        assert!(!never_moved(&[[1.0], [1.0]]), "a single draw cannot move");
    }

    #[test]
    fn marked_draws_are_found() {
        let chain: Vec<f64> = (0..100).map(f64::from).collect();
        let draws = draws(&[&chain]);
        assert_eq!(whereabouts(&draws, &[vec![0, 1, 2, 5, 9]]), Some(("x".to_owned(), true)));
        assert_eq!(whereabouts(&draws, &[vec![90, 95, 99, 98, 89]]), Some(("x".to_owned(), false)));
        assert_eq!(whereabouts(&draws, &[vec![5, 30, 50, 70, 95]]), None);
        assert_eq!(whereabouts(&draws, &[vec![1, 2]]), None, "too few");
    }
}
