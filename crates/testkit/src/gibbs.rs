//! The transition matrix of enumerative Gibbs on a finite program, exactly, brushes included; and
//! Gibbs moves with one mistake each.
//!
//! In each state and block every candidate is weighed with one stream after the other until each
//! brush that it can have has been met: their probabilities q, computed outside the engine
//! ([`crate::oracle`]), sum to 1. Brushes of different candidates are independent, so
//!
//! P(i, j) = Σ_blocks 1/K Σ_brushes Π_k q(T_k) · W_j / Σ_k W_k.

use std::collections::BTreeMap;

use smidgen_engine::draw_place;
use smidgen_engine::{
    Choice, DrawnFrom, Enumeration, EvalError, NodeId, Proposal, Proposed, Proposer, Scaffold,
    Trace,
};
use smidgen_infer::block::{Block, Scope, Target};
use smidgen_value::{Rng, Value, math};

use crate::enumerate::{Name, blocks};
use crate::oracle::Snapshot;
use crate::world::{World, operand_value};

/// A candidate with one brush: the state it leads to, the probability of the brush, log W. No
/// state: it is impossible.
#[derive(Clone, Debug)]
struct Brush {
    state: Option<usize>,
    q: f64,
    log_weight: f64,
}

/// One block: its probability, and the brushes of each candidate. The first is the current state.
struct Weighed {
    share: f64,
    candidates: Vec<Vec<Brush>>,
    pairwise: bool,
}

pub struct GibbsChain {
    pub states: Vec<String>,
    pub log_joint: Vec<f64>,
    weighed: Vec<Vec<Weighed>>,
    /// Whether some probability depends on an order that is not known from outside.
    pub uncertain: bool,
    name: Name,
    counts_blocks: bool,
}

const QUIET_STREAMS: u64 = 200;
const MOST_STREAMS: u64 = 20_000;
/// Steps after which a walk has been everywhere: the moves that are explored may not lead there.
const LONG_WALK: usize = 3_000;

impl GibbsChain {
    /// Finds all states by single-site moves. `counts_blocks`: whether 1/K is in the weights, as it
    /// should be.
    ///
    /// # Panics
    /// If the brushes of a candidate cannot be exhausted.
    pub fn explore(
        world: &mut World,
        target: &Target,
        name: Name,
        counts_blocks: bool,
    ) -> GibbsChain {
        let mut chain = GibbsChain {
            states: vec![],
            log_joint: vec![],
            weighed: vec![],
            uncertain: false,
            name,
            counts_blocks,
        };
        let mut walk = world.program("(mh default one 1)");
        world.model.find_feasible_start(&mut Rng::for_chain(1, 7)).expect("a feasible start");
        for step in 0..1_000_000 {
            let here = chain.index(chain.name_in(world, &world.model));
            if chain.log_joint[here].is_nan() {
                chain.explore_state(world, here, target);
            }
            if step > LONG_WALK && chain.log_joint.iter().all(|known| !known.is_nan()) {
                return chain;
            }
            world.step(&mut walk);
        }
        panic!("some states cannot be reached again");
    }

    fn name_in(&self, world: &World, trace: &Trace) -> String {
        let values: Vec<Value> =
            world.predicted.iter().map(|root| operand_value(trace, root).clone()).collect();
        (self.name)(&values)
    }

    fn index(&mut self, state: String) -> usize {
        self.states.iter().position(|known| *known == state).unwrap_or_else(|| {
            self.states.push(state);
            self.log_joint.push(f64::NAN);
            self.weighed.push(vec![]);
            self.states.len() - 1
        })
    }

    fn explore_state(&mut self, world: &mut World, here: usize, target: &Target) {
        self.log_joint[here] = world.log_joint();
        let before = Snapshot::of(&world.model);
        let drawn_from = match (&target.block, &target.scope) {
            (Block::One, Scope::Default) if self.counts_blocks => DrawnFrom::Choices,
            (Block::One, Scope::Named(scope)) if self.counts_blocks => DrawnFrom::Scope(scope),
            _ => DrawnFrom::Nothing,
        };
        for (share, block) in blocks(target, &world.model).1 {
            let weighed = self.explore_block(world, here, &before, &block, drawn_from);
            self.weighed[here].push(Weighed { share, ..weighed });
        }
    }

    fn explore_block(
        &mut self,
        world: &mut World,
        here: usize,
        before: &Snapshot,
        block: &[NodeId],
        drawn_from: DrawnFrom<'_>,
    ) -> Weighed {
        let mut enumeration = Enumeration::new();
        let mut found: Vec<BTreeMap<Option<usize>, Brush>> = Vec::new();
        let mut last_new = 0;
        for stream in 0.. {
            assert!(stream < MOST_STREAMS, "{}: brushes without end", self.states[here]);
            let mut rng = Rng::for_chain(here as u64, stream);
            let trace = world.model.trace_mut();
            enumeration.weigh(trace, block, drawn_from, &mut rng).expect("weights");
            let log_weights = enumeration.log_weights().to_vec();
            found.resize_with(log_weights.len(), BTreeMap::new);
            let current = Brush { state: Some(here), q: 1.0, log_weight: log_weights[0] };
            found[0].insert(Some(here), current);
            for k in 1..log_weights.len() {
                let log_weight = log_weights[k];
                if log_weight == f64::NEG_INFINITY {
                    found[k].entry(None).or_insert(Brush { state: None, q: 0.0, log_weight });
                    continue;
                }
                let proposal = enumeration.candidate(world.model.trace_mut(), k).expect("it");
                let trace = proposal.trace();
                let values: Vec<Value> =
                    world.predicted.iter().map(|root| operand_value(trace, root).clone()).collect();
                let state = self.index((self.name)(&values));
                let after = Snapshot::of(trace);
                let drawn = before.drawn_by_move_to(&after, &[]);
                let back = after.drawn_by_move_to(before, &[]);
                self.uncertain |= before.order_matters(&after, &drawn, block)
                    || after.order_matters(before, &back, block);
                let q = math::exp(after.log_drawn(trace, &drawn));
                let known = found[k].entry(Some(state)).or_insert_with(|| {
                    last_new = stream;
                    Brush { state: Some(state), q, log_weight }
                });
                assert!(
                    self.uncertain
                        || (known.q - q).abs() < 1e-12
                            && (known.log_weight - log_weight).abs() < 1e-12,
                    "{known:?}, {q}, {log_weight}"
                );
            }
            let met = |brushes: &BTreeMap<_, Brush>| brushes.values().map(|b| b.q).sum::<f64>();
            if found.iter().all(|brushes| met(brushes) > 1.0 - 1e-12)
                || stream - last_new > QUIET_STREAMS
            {
                break;
            }
        }
        // What is left of the probability is that of impossible brushes.
        let candidates = found.into_iter().map(|brushes| {
            let met: f64 = brushes.values().map(|brush| brush.q).sum();
            let mut brushes: Vec<Brush> = brushes.into_values().collect();
            for brush in brushes.iter_mut().filter(|brush| brush.state.is_none()) {
                brush.q = 1.0 - met;
            }
            brushes
        });
        Weighed {
            share: 1.0,
            candidates: candidates.collect(),
            pairwise: enumeration.is_pairwise(),
        }
    }

    /// The posterior, from the exact joint densities.
    pub fn posterior(&self) -> Vec<f64> {
        let total = math::logsumexp(&self.log_joint);
        self.log_joint.iter().map(|log_joint| math::exp(log_joint - total)).collect()
    }

    pub fn matrix(&self) -> Vec<Vec<f64>> {
        let n = self.states.len();
        let mut matrix = vec![vec![0.0; n]; n];
        for (i, row) in matrix.iter_mut().enumerate() {
            for weighed in &self.weighed[i] {
                match weighed.pairwise {
                    true => add_pairs(row, i, weighed),
                    false => add_products(row, weighed, weighed.share, &mut vec![]),
                }
            }
            row[i] += 1.0 - row.iter().sum::<f64>();
        }
        matrix
    }
}

fn add_pairs(row: &mut [f64], here: usize, weighed: &Weighed) {
    let (current, others) = weighed.candidates.split_first().expect("the current state");
    for brush in others.iter().flatten() {
        let Some(state) = brush.state else { continue };
        let accepted = math::exp((brush.log_weight - current[0].log_weight).min(0.0));
        if state != here {
            row[state] += weighed.share / others.len() as f64 * brush.q * accepted;
        }
    }
}

fn add_products(row: &mut [f64], weighed: &Weighed, q: f64, chosen: &mut Vec<Brush>) {
    let Some(brushes) = weighed.candidates.get(chosen.len()) else {
        let log_weights: Vec<f64> = chosen.iter().map(|brush| brush.log_weight).collect();
        let total = math::logsumexp(&log_weights);
        for brush in chosen.iter() {
            if let Some(state) = brush.state {
                row[state] += q * math::exp(brush.log_weight - total);
            }
        }
        return;
    };
    for brush in brushes {
        chosen.push(brush.clone());
        add_products(row, weighed, q * brush.q, chosen);
        chosen.pop();
    }
}

/// A mistake that enumerative Gibbs can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    None,
    /// The brush of the current value is drawn anew like the others.
    RedrawsCurrentBrush,
    /// A table that was left empty is offered beside a new one.
    CountsSingletonTwice,
    ForgetsBlocks,
    /// log p(k) is not in the weights.
    DropsPrior,
}

/// Gives one choice the value at a place of its list.
struct Pick {
    mistake: Mistake,
    at: usize,
    of: usize,
    is_current: bool,
}

impl Proposer for Pick {
    fn is_local(&self, _: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(self.mistake != Mistake::DropsPrior)
    }

    fn propose(&mut self, choice: &Choice<'_>, _: &mut Rng) -> Result<Proposed, EvalError> {
        let mut values = choice.enumerate()?;
        // The new table comes last; any other free label names one as well.
        if self.mistake == Mistake::CountsSingletonTwice && values.last() == Some(choice.current())
        {
            let free = (1..).map(|k| Value::Number(f64::from(k)));
            values.push(free.into_iter().find(|k| !values.contains(k)).expect("endless"));
        }
        self.of = values.len();
        let value = values.swap_remove(self.at);
        self.is_current = value == *choice.current();
        Ok(match self.mistake {
            Mistake::DropsPrior => Proposed::Drawn(value),
            _ => Proposed::Local { value, log_q_ratio: 0.0 },
        })
    }
}

/// A Gibbs move of one choice drawn among all, or of one that is given, by hand, with a mistake.
pub fn move_by_hand(world: &mut World, principal: Option<NodeId>, mistake: Mistake) {
    let World { model, rng, .. } = world;
    let trace = model.trace_mut();
    let blocks = trace.choices().len();
    let drawn = principal.is_none();
    let principal = principal.unwrap_or_else(|| trace.choices()[rng.below(blocks)]);
    let log_count = |trace: &Trace| match drawn && mistake != Mistake::ForgetsBlocks {
        true => math::ln(trace.choices().len() as f64),
        false => 0.0,
    };
    let (mut scaffold, seed) = (Scaffold::new(), rng.seed());
    let mut pick = Pick { mistake, at: 0, of: 1, is_current: false };
    let mut log_weights = Vec::new();
    let (mut current, mut log_old) = (0, f64::NAN);
    while pick.at < pick.of {
        let mut stream = Rng::for_chain(seed, pick.at as u64);
        let proposal =
            Proposal::propose(trace, &mut scaffold, &[principal], &mut pick, &mut stream)
                .expect("a proposal");
        if pick.is_current {
            current = pick.at;
        }
        if !proposal.is_identity() {
            log_old = proposal.log_old();
        }
        log_weights.push(proposal.log_new() - log_count(proposal.trace()));
        pick.at += 1;
    }
    let keeps_brush = mistake != Mistake::RedrawsCurrentBrush;
    if keeps_brush {
        log_weights[current] = log_old - log_count(trace);
    }
    let chosen = draw_place(&log_weights, rng.uniform());
    if chosen == current && keeps_brush {
        return;
    }
    pick.at = chosen;
    let mut stream = Rng::for_chain(seed, chosen as u64);
    let proposal = Proposal::propose(trace, &mut scaffold, &[principal], &mut pick, &mut stream)
        .expect("a proposal");
    proposal.commit();
}
