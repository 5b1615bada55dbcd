//! How often the joint block moves in which of its two forms, learnt in the warm-up.
//!
//! A hierarchy moves in its own coordinates and in standardised ones: where the data say much about each choice the first
//! serve, where they say little the second, and the form that does not serve takes many gradients for small steps. What a
//! trajectory of form f does for number j is seen from its jumps,
//!
//! r_fj = E (x_j' − x_j)² / 2 Var x_j = 1 − ρ_j, ρ_j the autocorrelation from before to after,
//!
//! at a cost of c_f gradients. Turns that give form f a share p_f of the sweeps do Σ_f p_f r_fj for j at a cost of
//! Σ_f p_f c_f. The turns are those with the largest min_j (Σ_f p_f r_fj) / (Σ_f p_f c_f), of three: one form, the other,
//! both. The form that has no turn then keeps a small share of the gradients, because the warm-up may have missed
//! where it is needed.
//!
//! Found over windows of the warm-up that double, and fixed afterwards: turns are coins that do not depend on the state.
//! Until something is found, a form that takes more gradients than the other has fewer turns, so that both cost the same.

use smidgen_engine::{NodeId, Trace};
use smidgen_value::Value;
use smidgen_value::bytes::{Bytes, Input};

/// The forms, plain first.
pub const FORMS: usize = 2;
pub const STANDARDISED: usize = 1;

/// Rounds before the first window: on the way to the posterior nothing is to be learnt.
const FIRST: u64 = 32;
/// The weight of the last trajectory in what they cost of late.
const LATELY: f64 = 0.2;
/// Trajectories of a form from which on a window says something about it.
const FEWEST: f64 = 8.0;
/// The share of the gradients that the form without a turn has: more in the warm-up, where it has still to learn.
const SPARE: f64 = 0.05;
const SPARE_IN_WARMUP: f64 = 0.2;

pub struct Forms {
    turns: Turns,
    /// Gradients of a trajectory, of late.
    costs: [Option<f64>; FORMS],
    block: Vec<NodeId>,
    /// Rounds seen with this block, and when the window ends.
    seen: u64,
    end: u64,
    now: Vec<f64>,
    window: Window,
    known: [Option<Efficiency>; FORMS],
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Turns {
    Unknown,
    Both,
    /// One form, and what the other costs in its gradients.
    One {
        form: usize,
        other: f64,
    },
}

/// What a window has seen.
#[derive(Default)]
struct Window {
    /// Relative to the first state.
    first: Vec<f64>,
    states: f64,
    sums: Vec<f64>,
    squares: Vec<f64>,
    forms: [Jumps; FORMS],
}

#[derive(Clone, Default)]
struct Jumps {
    trajectories: f64,
    gradients: f64,
    squares: Vec<f64>,
}

/// r_j and c of a form.
#[derive(Clone)]
struct Efficiency {
    rates: Vec<f64>,
    cost: f64,
}

impl Default for Forms {
    fn default() -> Forms {
        Forms {
            turns: Turns::Unknown,
            costs: [None; FORMS],
            block: Vec::new(),
            seen: 0,
            end: FIRST,
            now: Vec::new(),
            window: Window::default(),
            known: [None, None],
        }
    }
}

impl Forms {
    /// Writes which form has its turn how often: windows are for the warm-up.
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        let Forms { turns, costs, block: _, seen: _, end: _, now: _, window: _, known: _ } = self;
        match turns {
            Turns::Unknown => out.push(0),
            Turns::Both => out.push(1),
            Turns::One { form, other } => {
                out.push(2);
                form.put(out);
                other.put(out);
            }
        }
        costs.put(out);
    }

    pub(super) fn load(&mut self, from: &mut Input<'_>) -> Option<()> {
        let turns = match u8::take(from)? {
            0 => Turns::Unknown,
            1 => Turns::Both,
            2 => {
                let form = usize::take(from)?;
                if form >= FORMS {
                    return None;
                }
                Turns::One { form, other: Bytes::take(from)? }
            }
            _ => return None,
        };
        *self = Forms { turns, costs: Bytes::take(from)?, ..Forms::default() };
        Some(())
    }

    /// The share of rounds in which each form has its turn.
    pub fn shares(&self, in_warmup: bool) -> [f64; FORMS] {
        match (self.turns, self.costs) {
            (Turns::One { form, other }, _) => {
                let spare = if in_warmup { SPARE_IN_WARMUP } else { SPARE };
                let mut shares = [(spare / other).min(1.0); FORMS];
                shares[form] = 1.0;
                shares
            }
            (Turns::Unknown, [Some(a), Some(b)]) => [(b / a).min(1.0), (a / b).min(1.0)],
            _ => [1.0; FORMS],
        }
    }

    /// The block is about to move.
    pub fn begin(&mut self, trace: &Trace, block: &[NodeId]) {
        let numbers = self.now.len();
        read(trace, block, &mut self.now);
        if self.block != block || self.now.len() != numbers {
            let Forms { turns, costs, .. } = *self;
            let now = std::mem::take(&mut self.now);
            *self = Forms { block: block.to_vec(), turns, costs, now, ..Forms::default() };
        }
    }

    /// A form has had its turn, with so many gradients.
    pub fn note(&mut self, trace: &Trace, form: usize, gradients: u64) {
        let mut after = Vec::with_capacity(self.now.len());
        read(trace, &self.block, &mut after);
        let gradients = gradients as f64;
        self.window.add(form, &self.now, &after, gradients);
        let before = self.costs[form].unwrap_or(gradients);
        self.costs[form] = Some(before + LATELY * (gradients - before));
        self.now = after;
    }

    /// The end of a round.
    pub fn learn(&mut self) {
        self.seen += 1;
        if self.seen < self.end {
            return;
        }
        if self.end == FIRST {
            self.window = Window::default();
        } else {
            self.look();
        }
        self.end *= 2;
    }

    /// A window that has seen too little of a form that nothing is known about goes on.
    fn look(&mut self) {
        for (form, known) in self.known.iter_mut().enumerate() {
            if let Some(found) = self.window.efficiency(form) {
                *known = Some(found);
            }
        }
        if let [Some(plain), Some(standardised)] = &self.known {
            self.turns = turns([plain, standardised]);
            self.window = Window::default();
        }
    }
}

impl Window {
    fn add(&mut self, form: usize, before: &[f64], after: &[f64], gradients: f64) {
        if self.first.is_empty() {
            self.first = after.to_vec();
            self.sums = vec![0.0; after.len()];
            self.squares = vec![0.0; after.len()];
        }
        self.states += 1.0;
        for (k, x) in after.iter().enumerate() {
            let x = x - self.first[k];
            self.sums[k] += x;
            self.squares[k] += x * x;
        }
        let jumps = &mut self.forms[form];
        jumps.trajectories += 1.0;
        jumps.gradients += gradients;
        jumps.squares.resize(after.len(), 0.0);
        for ((sum, a), b) in jumps.squares.iter_mut().zip(after).zip(before) {
            *sum += (a - b) * (a - b);
        }
    }

    fn efficiency(&self, form: usize) -> Option<Efficiency> {
        let jumps = &self.forms[form];
        if jumps.trajectories < FEWEST {
            return None;
        }
        let rate = |k: usize| {
            let mean = self.sums[k] / self.states;
            let variance = self.squares[k] / self.states - mean * mean;
            let rate = jumps.squares[k] / jumps.trajectories / (2.0 * variance);
            // What has not moved at all says nothing.
            if rate.is_finite() { rate.min(1.0) } else { 1.0 }
        };
        let rates = (0..self.first.len()).map(rate).collect();
        Some(Efficiency { rates, cost: jumps.gradients / jumps.trajectories })
    }
}

/// The best of the three kinds of turns.
fn turns(forms: [&Efficiency; FORMS]) -> Turns {
    let [plain, standardised] = forms;
    let worth = |turns: [f64; FORMS]| {
        let both = plain.rates.iter().zip(&standardised.rates);
        let slowest = both.map(|(a, b)| turns[0] * a + turns[1] * b).fold(f64::INFINITY, f64::min);
        slowest / (turns[0] * plain.cost + turns[1] * standardised.cost)
    };
    let alone = [worth([1.0, 0.0]), worth([0.0, 1.0])];
    let form = if alone[0] > alone[1] { 0 } else { STANDARDISED };
    match worth([1.0, 1.0]) > alone[form] {
        true => Turns::Both,
        false => Turns::One { form, other: forms[1 - form].cost / forms[form].cost },
    }
}

/// The numbers of all choices.
fn read(trace: &Trace, block: &[NodeId], out: &mut Vec<f64>) {
    out.clear();
    for id in block {
        match &trace.node(*id).value {
            Value::Vector(xs) => out.extend_from_slice(xs),
            Value::Matrix(m) => out.extend_from_slice(m.as_slice()),
            value => out.extend(value.as_number()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn efficiency(rates: &[f64], cost: f64) -> Efficiency {
        Efficiency { rates: rates.to_vec(), cost }
    }

    #[test]
    fn the_form_that_serves_has_its_turn() {
        let crawls = efficiency(&[1.0, 0.02], 100.0);
        let serves = efficiency(&[0.8, 0.7], 20.0);
        for (form, efficiencies) in [(1, [&crawls, &serves]), (0, [&serves, &crawls])] {
            let forms = Forms { turns: turns(efficiencies), ..Forms::default() };
            let shares = forms.shares(false);
            assert_eq!((shares[form], shares[1 - form]), (1.0, 0.01));
            assert!(forms.shares(true)[1 - form] > 0.01);
        }
    }

    #[test]
    fn forms_that_help_each_other_have_turns_both() {
        let (one, other) = (efficiency(&[1.0, 0.1], 10.0), efficiency(&[0.2, 1.0], 15.0));
        assert_eq!(turns([&one, &other]), Turns::Both);
    }

    #[test]
    fn until_something_is_known_both_cost_the_same() {
        let forms = Forms { costs: [Some(100.0), Some(20.0)], ..Forms::default() };
        assert_eq!(forms.shares(true), [0.2, 1.0]);
        assert_eq!(Forms::default().shares(true), [1.0, 1.0]);
    }

    #[test]
    fn rates_are_those_of_the_jumps() {
        // Independent draws of variance 1/12, and steps a tenth as long.
        let mut rng = smidgen_value::Rng::from_seed(1);
        let mut window = Window::default();
        let mut x = 0.5;
        for _ in 0..4000 {
            let y = rng.uniform();
            window.add(1, &[x], &[y], 7.0);
            let z = y + 0.1 * (rng.uniform() - 0.5);
            window.add(0, &[y], &[z], 3.0);
            x = z;
        }
        let fast = window.efficiency(1).expect("many trajectories");
        let slow = window.efficiency(0).expect("many trajectories");
        assert!((fast.rates[0] - 1.0).abs() < 0.05 && fast.cost == 7.0, "{}", fast.rates[0]);
        assert!((slow.rates[0] - 0.005).abs() < 0.001 && slow.cost == 3.0, "{}", slow.rates[0]);
    }
}
