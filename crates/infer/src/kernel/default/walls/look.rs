//! Looking for walls in the warm-up: choices are tried at other values, and what a value makes impossible, or much less
//! probable, joins what it reads into a group.

use rustc_hash::FxHashSet;
use smidgen_engine::{Choice, EvalError, NodeId, Proposal, Proposed, Proposer, Trace};
use smidgen_prob::Support;
use smidgen_value::{Rng, Value};

use super::{Group, Held, Luck, MOST_COMBINATIONS, Members, Walls, combinations};
use crate::kernel::default::plan::{Class, Plan, by_itself};

/// How much a log density falls at a steep wall, and sweeps that a choice has not moved in before such walls count.
const STEEP: f64 = 4.0;
const STILL: u64 = 200;
/// One sweep of so many notes which choices have moved.
const NOTED: u64 = 8;
/// Choices that are tried in a look, about, and at how many values each.
const LOOKED_AT: f64 = 200.0;
const TRIES: usize = 2;

impl Walls {
    /// Looks for walls, in the first, second, fourth, ... sweep of the warm-up; called in every sweep.
    pub fn look(&mut self, trace: &mut Trace, plan: &Plan, rng: &mut Rng) -> Result<(), EvalError> {
        self.sweeps += 1;
        if self.is_given {
            return Ok(());
        }
        if self.sweeps.is_multiple_of(NOTED) {
            self.note_values(trace, plan)?;
        }
        if !self.sweeps.is_power_of_two() {
            return Ok(());
        }
        let mut found: Vec<(u64, Held)> = Vec::new();
        let choices = trace.choices_by_address();
        let share = LOOKED_AT / choices.len() as f64;
        for (address, id) in choices {
            if rng.uniform() >= share {
                continue;
            }
            // Chains move as a whole.
            let class = plan.class(trace, id)?;
            if matches!(class, Class::Idle | Class::Chain | Class::Particles) {
                continue;
            }
            let since = self.since.get(&address).map(|(_, since)| *since);
            let is_still = since.is_some_and(|since| self.sweeps - since >= STILL);
            for _ in 0..TRIES {
                let held = self.try_elsewhere(trace, id, is_still, rng)?;
                found.extend(held.into_iter().map(|held| (address, held)));
            }
        }
        for (walled, held) in found {
            self.join(trace, walled, held)?;
        }
        Ok(())
    }

    /// Notes which discrete choices have moved.
    fn note_values(&mut self, trace: &mut Trace, plan: &Plan) -> Result<(), EvalError> {
        for id in trace.choices().to_vec() {
            if matches!(plan.class(trace, id)?, Class::Finite | Class::Integer) {
                let address = trace.address(id);
                let value = trace.choice(id)?.current().clone();
                match self.since.get_mut(&address) {
                    Some((last, _)) if *last == value => {}
                    Some(noted) => *noted = (value, self.sweeps),
                    None => drop(self.since.insert(address, (value, self.sweeps))),
                }
            }
        }
        Ok(())
    }

    /// The addresses of what each wall holds that a choice meets at another value. `is_still`: whether steep walls
    /// count.
    fn try_elsewhere(
        &mut self,
        trace: &mut Trace,
        id: NodeId,
        is_still: bool,
        rng: &mut Rng,
    ) -> Result<Vec<Held>, EvalError> {
        let scaffold = &mut self.room.scaffold;
        let proposal = match Proposal::propose(trace, scaffold, &[id], &mut Elsewhere, rng) {
            Ok(proposal) => proposal,
            Err(error) if error.is_interruption() => return Err(error),
            Err(_) => return Ok(Vec::new()),
        };
        let is_impossible = proposal.log_new() == f64::NEG_INFINITY;
        if !(is_impossible || is_still) {
            return Ok(Vec::new());
        }
        let absorbed = proposal.absorbed();
        drop(proposal);
        let mut held = Vec::new();
        for (wall, log_density) in absorbed {
            let is_hard = log_density == f64::NEG_INFINITY;
            let is_wall = is_hard || is_still && log_density < trace.log_density_of(wall)? - STEEP;
            if !is_wall {
                continue;
            }
            let is_free = trace.is_choice(wall);
            let mut choices = match is_hard || !is_free {
                true => trace.choices_read_by(wall),
                false => vec![wall],
            };
            choices.push(id);
            let mut addresses = Vec::with_capacity(choices.len());
            for id in choices {
                let is_held = match is_hard || is_free {
                    true => trace.choice(id)?.is_proper(),
                    false => by_itself(trace, id)? == Class::Finite,
                };
                if is_held {
                    addresses.push(trace.address(id));
                }
            }
            addresses.sort_unstable();
            addresses.dedup();
            if addresses.len() > 1 {
                held.push(Held { addresses, is_hard });
            }
        }
        Ok(held)
    }

    /// Makes a group of what a choice is held with and of the groups that share a choice with them.
    fn join(&mut self, trace: &mut Trace, choice: u64, held: Held) -> Result<(), EvalError> {
        let mut joined: FxHashSet<u64> = held.addresses.into_iter().collect();
        let mut walled = vec![choice];
        let luck = Luck { is_hard: held.is_hard, ..Luck::default() };
        let (mut pairs, mut whole) = (luck, luck);
        let mut is_news = true;
        self.groups.retain(|group| {
            let Members::Known(members) = &group.members else { return true };
            if !members.iter().any(|member| joined.contains(member)) {
                return true;
            }
            let is_known = joined.iter().all(|address| members.contains(address));
            is_news &= !(is_known && group.walled.contains(&choice));
            if is_news {
                joined.extend(members);
                walled.extend(&group.walled);
                pairs.add(group.pairs);
                whole.add(group.whole);
            }
            !is_news
        });
        if is_news {
            let mut members: Vec<u64> = joined.into_iter().collect();
            members.sort_unstable();
            walled.sort_unstable();
            walled.dedup();
            let members = Members::Known(members);
            let choices = self.room.existing(trace, &members);
            let is_finite = combinations(trace, &choices)?.is_some_and(|n| n <= MOST_COMBINATIONS);
            self.groups.push(Group { members, walled, is_finite, pairs, whole, last: None });
        }
        Ok(())
    }
}

/// Another value of a finite choice, a neighbour of a whole number, else a draw from the prior: to look at, not to move to.
struct Elsewhere;

impl Elsewhere {
    fn value(choice: &Choice<'_>, rng: &mut Rng) -> Option<Value> {
        if let Ok(Support::Integers { low, high }) = choice.support()
            && choice.most_values().is_none()
        {
            let n = choice.current().as_number()?;
            let n = if rng.coin() { n + 1.0 } else { n - 1.0 };
            return (low..=high).contains(&n).then_some(Value::Number(n));
        }
        let mut values = choice.enumerate().ok()?;
        values.retain(|value| value != choice.current());
        (!values.is_empty()).then(|| values.swap_remove(rng.below(values.len())))
    }
}

impl Proposer for Elsewhere {
    fn is_local(&self, choice: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(choice.support().is_ok_and(|support| !support.is_continuous()))
    }

    fn propose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> Result<Proposed, EvalError> {
        if !self.is_local(choice)? {
            return Ok(Proposed::Prior);
        }
        let value = Elsewhere::value(choice, rng).unwrap_or_else(|| choice.current().clone());
        Ok(Proposed::Local { value, log_q_ratio: 0.0 })
    }
}
