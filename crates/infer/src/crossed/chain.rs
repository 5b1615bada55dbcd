//! The state of a block with crossed patches, and how a move is decided.
//!
//! Every move is decided in one way: one factor min(1, e^·) for what is computed whole (the law of the effects, the prior, the
//! polynomials of patches that stay in their balls, and the others' log weights, which are scanned), and the rows of the former
//! may object. Which patch is where hangs on the unordered pair of states.

use smidgen_prob::linalg;
use smidgen_value::{Rng, math};

use super::bounds::Place;
use super::preparation::Preparation;
use super::{Crossed, MOST_MEMBERS, Point, Slots};
use crate::patches::chain::{Swept, accepts, polynomial};
use crate::patches::reading::Reader;
use crate::patches::sums::Quadratic;
use crate::patches::{MOST_ORDER, Rows};
use crate::reference::thinning::Clock;

/// One of so many sweeps is a walk: proposals around the state, which get it out of where the others seldom lead.
const SELDOM: u64 = 20;
/// A change of a remainder beyond its bound by more than rounding, relative to the log weight.
const ROUNDING: f64 = 1e-13;

/// What a sweep works with.
pub(super) struct Work<'a> {
    pub model: &'a mut dyn Crossed,
    pub prepared: &'a Preparation,
    pub rng: &'a mut Rng,
    pub swept: Swept,
}

/// One end of a move of a patch: its effects, β − β* and ρ.
#[derive(Clone, Copy)]
pub(super) struct End<'a> {
    pub s: Slots,
    pub d: &'a [f64],
    pub rho: f64,
}

impl End<'_> {
    pub fn place(&self) -> Place {
        Place { s: self.s, rho: self.rho }
    }
}

/// What becomes of the patches in a move that has passed the first factor.
#[derive(Default)]
pub(super) struct Weighed {
    /// By how much the log weights change of those that were scanned, and the new ones of hard patches.
    pub log_ratio: f64,
    pub hard: Vec<(u32, f64)>,
    /// Those that are decided by their polynomials, and Λ of each.
    pub soft: Vec<(u32, f64)>,
}

/// The state between sweeps.
#[derive(Clone, Debug)]
pub struct Chain {
    /// β − β*, and its ρ.
    pub(super) d: Vec<f64>,
    pub(super) rho: f64,
    pub(super) s: Vec<f64>,
    pub(super) log_scales: Vec<f64>,
    /// The polynomials in s at d, if they are.
    pub(super) collapsed: Vec<f64>,
    is_collapsed: bool,
    /// Log weights of hard patches at the state.
    log_weights: Vec<f64>,
    pub(super) reader: Reader,
    clock: Clock,
    /// Room for the numbers of one row.
    row: Vec<f64>,
    pub(super) quadratic: Quadratic,
    pub(super) powers: Vec<f64>,
    sweeps: u64,
}

/// The effects of a patch.
pub(super) fn slots(members: &[u32], s: &[f64]) -> Slots {
    let mut out = [0.0; MOST_MEMBERS];
    out.iter_mut().zip(members).for_each(|(out, effect)| *out = s[*effect as usize]);
    out
}

impl Chain {
    pub fn new(rng: &mut Rng) -> Chain {
        Chain {
            d: Vec::new(),
            rho: 0.0,
            s: Vec::new(),
            log_scales: Vec::new(),
            collapsed: Vec::new(),
            is_collapsed: false,
            log_weights: Vec::new(),
            reader: Reader::default(),
            clock: Clock::new(rng),
            row: Vec::new(),
            quadratic: Quadratic::default(),
            powers: Vec::new(),
            sweeps: 0,
        }
    }

    /// Goes to a point that something else has led to.
    pub fn go(&mut self, model: &mut dyn Crossed, prepared: &Preparation, to: &Point) {
        let centre = &prepared.reference.centre;
        self.d = to.shared.iter().zip(&centre.shared).map(|(x, c)| x - c).collect();
        self.rho = prepared.length(&self.d);
        self.log_scales.clone_from(&to.log_scales);
        self.s.clear();
        for (e, effect) in to.effects.iter().enumerate() {
            self.s.push(effect - centre.effects[e] - prepared.sheared(e, &self.d));
        }
        self.is_collapsed = false;
        self.quadratic = Quadratic::new(self.d.len());
        self.log_weights = vec![f64::NAN; prepared.patches.len()];
        for (number, patch) in prepared.patches.iter().enumerate() {
            if patch.ball.is_none() {
                let s = slots(&patch.members, &self.s);
                let d = std::mem::take(&mut self.d);
                self.log_weights[number] = self.scan(model, prepared, number, s, &d);
                self.d = d;
            }
        }
    }

    /// Where it is.
    pub fn point(&self, prepared: &Preparation) -> Point {
        let centre = &prepared.reference.centre;
        let effect = |(e, s): (usize, &f64)| centre.effects[e] + s + prepared.sheared(e, &self.d);
        Point {
            shared: self.d.iter().zip(&centre.shared).map(|(d, c)| d + c).collect(),
            effects: self.s.iter().enumerate().map(effect).collect(),
            log_scales: self.log_scales.clone(),
        }
    }

    /// Moves all effects, β, and the scales.
    pub fn sweep(
        &mut self,
        model: &mut dyn Crossed,
        prepared: &Preparation,
        rng: &mut Rng,
    ) -> Swept {
        let swept = Swept { sweeps: 1, ..Swept::default() };
        let mut work = Work { model, prepared, rng, swept };
        self.sweeps += 1;
        let is_walk = self.sweeps.is_multiple_of(SELDOM);
        self.move_effects(&mut work, is_walk);
        self.move_shared(&mut work, is_walk);
        self.move_scales(&mut work);
        for line in &prepared.lines {
            self.move_along(&mut work, line);
        }
        work.swept
    }

    /// Makes the polynomials in s those at d.
    pub(super) fn collapse(&mut self, prepared: &Preparation) {
        if self.is_collapsed {
            return;
        }
        let sums = &prepared.sums;
        self.collapsed.resize(sums.collapsed_first[prepared.patches.len()], 0.0);
        for number in 0..prepared.patches.len() {
            let range = sums.collapsed_first[number]..sums.collapsed_first[number + 1];
            sums.collapse(number, &self.d, &mut self.collapsed[range]);
        }
        self.is_collapsed = true;
    }

    /// The polynomial of a patch at d.
    pub(super) fn collapsed(&self, prepared: &Preparation, number: usize) -> &[f64] {
        let first = &prepared.sums.collapsed_first;
        &self.collapsed[first[number]..first[number + 1]]
    }

    /// The mean of s_e by the effects' law: −(gap + lean·d).
    pub(super) fn mean(&self, prepared: &Preparation, effect: usize) -> f64 {
        let p = self.d.len();
        let lean = &prepared.lean[effect * p..(effect + 1) * p];
        -(prepared.gap[effect] + linalg::dot(lean, &self.d))
    }

    /// The log weight of a patch.
    pub(super) fn scan(
        &mut self,
        model: &mut dyn Crossed,
        prepared: &Preparation,
        number: usize,
        s: Slots,
        d: &[f64],
    ) -> f64 {
        let patch = &prepared.patches[number];
        let centre = &prepared.reference.centre;
        let shared: Vec<f64> = centre.shared.iter().zip(d).map(|(c, d)| c + d).collect();
        let mut effects = [0.0; MOST_MEMBERS];
        for (slot, effect) in patch.members.iter().enumerate() {
            let e = *effect as usize;
            effects[slot] = centre.effects[e] + s[slot] + prepared.sheared(e, d);
        }
        let at = [&shared[..], &effects[..patch.members.len()]];
        let log_weight = self.reader.log_weight(model, patch.rows, at);
        if log_weight.is_nan() { f64::NEG_INFINITY } else { log_weight }
    }

    /// How patches that a move touches are decided on; scans those that are not soft, or leave their balls. β goes a whitened length.
    pub(super) fn weigh(
        &mut self,
        work: &mut Work<'_>,
        number: usize,
        ends: [End<'_>; 2],
        length: f64,
        out: &mut Weighed,
    ) {
        let prepared = work.prepared;
        let patch = &prepared.patches[number];
        let places = ends.map(|end| end.place());
        match &patch.ball {
            Some(ball) if places.iter().all(|place| ball.holds(*place)) => {
                out.soft.push((number as u32, ball.of_move(places, length)));
            }
            ball => {
                let there = self.scan(work.model, prepared, number, ends[1].s, ends[1].d);
                work.swept.scanned += patch.rows.count as u64;
                let here = match ball {
                    Some(_) => {
                        work.swept.scanned += patch.rows.count as u64;
                        self.scan(work.model, prepared, number, ends[0].s, ends[0].d)
                    }
                    None => {
                        out.hard.push((number as u32, there));
                        self.log_weights[number]
                    }
                };
                out.log_ratio += there - here;
            }
        }
    }

    /// Whether a move is accepted: by the first factor, and by the rows of soft patches. `ends` gives those of a patch.
    pub(super) fn decide<'e>(
        &mut self,
        work: &mut Work<'_>,
        log_first: f64,
        weighed: &Weighed,
        ends: impl Fn(usize) -> [End<'e>; 2],
    ) -> bool {
        if !accepts(log_first + weighed.log_ratio, work.rng) {
            return false;
        }
        for (number, mean) in &weighed.soft {
            if self.objects(work, *number as usize, ends(*number as usize), *mean) {
                return false;
            }
        }
        for (number, log_weight) in &weighed.hard {
            self.log_weights[*number as usize] = *log_weight;
        }
        true
    }

    /// Whether a row of a patch objects to a move, by points of a Poisson process of mean Λ.
    fn objects(
        &mut self,
        work: &mut Work<'_>,
        number: usize,
        ends: [End<'_>; 2],
        mean: f64,
    ) -> bool {
        self.clock.pass(mean);
        while self.clock.rings(work.rng) {
            let Rows { first, step, count } = work.prepared.patches[number].rows;
            let row = first + step * work.rng.below(count);
            let bound = mean / count as f64;
            let (change, size) = self.change(work, number, row, ends);
            let is_within = change.abs() <= bound + ROUNDING * (1.0 + size);
            work.swept.asked += 1;
            work.swept.violations += u64::from(!is_within);
            // What is no number objects.
            let is_content = work.rng.uniform() * bound >= -change;
            if !is_content {
                self.clock.stop(work.rng);
                return true;
            }
        }
        false
    }

    /// By how much a row's remainder changes, and how large a log weight it is the rest of.
    fn change(
        &mut self,
        work: &mut Work<'_>,
        number: usize,
        row: usize,
        ends: [End<'_>; 2],
    ) -> (f64, f64) {
        let (model, prepared) = (&mut *work.model, work.prepared);
        let (p, centre) = (prepared.shared(), &prepared.reference.centre);
        let members = &prepared.patches[number].members;
        let rows = Rows::one(row);
        self.row.resize(p + members.len() + 1, 0.0);
        model.coefficients(rows, &mut self.row);
        let (x, rest) = self.row.split_at(p);
        let (u, offset) = rest.split_at(members.len());
        let effects = members.iter().map(|effect| centre.effects[*effect as usize]);
        let own: f64 = u.iter().zip(effects).map(|(u, b)| u * b).sum();
        let eta = offset[0] + own + linalg::dot(x, &centre.shared);
        let mut f = [0.0; MOST_ORDER + 1];
        let f = &mut f[..=prepared.order()];
        model.derivatives(rows, [&[eta], &[]], f);
        let remainder = ends.map(|End { s, d, .. }| {
            let along: f64 = u.iter().zip(s).map(|(u, s)| u * s).sum();
            let sheared = members.iter().map(|effect| prepared.sheared(*effect as usize, d));
            let t = linalg::dot(x, d) + u.iter().zip(sheared).map(|(u, k)| u * k).sum::<f64>();
            let log_weight = model.log_weight(rows, [&[eta + along + t], &[]]);
            (log_weight - polynomial(f, along, t), log_weight.abs())
        });
        (remainder[1].0 - remainder[0].0, remainder[0].1.max(remainder[1].1))
    }

    /// β has moved.
    pub(super) fn has_gone(&mut self, d: Vec<f64>, rho: f64) {
        (self.d, self.rho, self.is_collapsed) = (d, rho, false);
    }

    /// β itself.
    pub(super) fn shared_now(&self, prepared: &Preparation) -> Vec<f64> {
        let centre = &prepared.reference.centre.shared;
        centre.iter().zip(&self.d).map(|(c, d)| c + d).collect()
    }

    /// σ_k^{−2} of an effect's scale.
    pub(super) fn precision(&self, prepared: &Preparation, effect: usize) -> f64 {
        math::exp(-2.0 * self.log_scales[prepared.scale_of[effect] as usize])
    }
}
