//! Choices above members that come and go: the weights of one cluster of a mixture.
//!
//! In the warm-up a reference θ* with its L is found for a choice by its address, and these numbers stay. Sums, bounds and
//! proposals are functions of them, of who the members are, and of what else the choice hangs on; each member that comes or
//! goes costs O(d²) ([`smidgen_engine::taylor::members`]). Proposals come from the normal law that the sums and the prior make
//! up there, so that they follow the members. Where that law lies far from θ*, sums and bounds are those of another centre, the
//! nearest to it of a mesh around θ*: when that becomes another point, all members are read once.
//!
//! Whether a choice is moved so hangs on the same: a cluster that was born in the draws has no reference. One whose members are
//! others than those that the reference was made for, or have large bounds, is moved by the same proposals, and scans decide
//! ([`Service`]). None of it hangs on the value of the choice, which is all that its moves change.

mod block;
mod prior;

use rustc_hash::FxHashMap;
use smidgen_engine::taylor::Members;
use smidgen_engine::{EvalError, Fault, NodeId, Trace};
use smidgen_value::Rng;
use smidgen_value::bytes::{Bytes, Input};

use crate::reference::preparation::{Preparation, Test, Want};
use crate::reference::quadratic::Reference;
use crate::run::{Log, Phase};
use block::{MemberBlock, MemberTall};

/// Members from which on a reference is looked for, for who asked for this kernel and for who did not.
const LEAST: usize = 64;
const LEAST_UNASKED: usize = 1000;
/// Choices that sums are kept for.
const MOST_BLOCKS: usize = 1000;
/// In the warm-up: attempts to move a choice from one search for a reference to the next, twice as many after every search: all
/// members are read for it, many times.
const PATIENCE: u64 = 8;
const MOST_PATIENCE: u64 = 512;
/// The same where the reference that was found serves poorly.
const URGENT: u64 = 4;

/// How well the reference of a choice serves its members as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// Moves are decided by scans, and proposals may be bad: something else should move the choice as well.
    Poor,
    /// Few rows are read.
    Good,
    /// There is no better reference.
    AtHome,
}

const NO_REFERENCE: &str = "no reference was found in the warm-up";

/// A search for a reference, and when the next one is due.
#[derive(Clone, Debug, Default)]
struct Search {
    waits: u64,
    patience: u64,
    /// Attempts to move the choice since the last one.
    since: u64,
    /// Why it was in vain, if it was.
    why: Option<String>,
}

/// The address of a choice, and θ* and L.
type Written = (u64, [Vec<f64>; 2]);

#[derive(Default)]
pub struct MemberBlocks {
    /// By the addresses of the choices.
    references: FxHashMap<u64, Reference>,
    blocks: FxHashMap<u64, MemberBlock>,
    searches: FxHashMap<u64, Search>,
    /// One for all choices of as many coordinates.
    given: Option<Reference>,
}

impl MemberBlocks {
    /// With this reference for every choice of as many coordinates.
    pub fn given(centre: Vec<f64>, lower: Vec<f64>) -> MemberBlocks {
        MemberBlocks { given: Some(Reference { centre, lower }), ..MemberBlocks::default() }
    }

    /// One transition, or why there is none.
    pub fn transition(
        &mut self,
        trace: &mut Trace,
        choice: NodeId,
        want: Want,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<Result<Service, String>, EvalError> {
        let learns = log.run.phase == Phase::Warmup;
        let address = trace.address(choice);
        if !learns && self.given.is_none() && !self.references.contains_key(&address) {
            return Ok(Err(NO_REFERENCE.to_owned()));
        }
        if learns && self.given.is_none() {
            let ready = self.get_ready(trace, choice, rng)?;
            let service = ready.map(|block| block.service());
            if service != Ok(Service::AtHome) {
                let is_urgent = service != Ok(Service::Good);
                if let Some(why) = self.search(trace, choice, (want, is_urgent), rng)?
                    && service.is_err()
                {
                    return Ok(Err(why));
                }
            }
        }
        match self.get_ready(trace, choice, rng)? {
            Ok(block) => {
                block.transition(trace, rng, log)?;
                Ok(Ok(block.service()))
            }
            Err(why) => Ok(Err(why)),
        }
    }

    /// The block of a choice with all that has changed since.
    fn get_ready(
        &mut self,
        trace: &mut Trace,
        choice: NodeId,
        rng: &mut Rng,
    ) -> Result<Result<&mut MemberBlock, String>, EvalError> {
        let address = trace.address(choice);
        let known = self.blocks.get(&address).is_some_and(|block| block.choice() == choice);
        if !known {
            let reference = self.given.as_ref().or_else(|| self.references.get(&address));
            let Some(reference) = reference.cloned() else {
                return Ok(Err(NO_REFERENCE.to_owned()));
            };
            let members = match Members::new(trace, choice)? {
                Ok(members) if members.dimension() == reference.dimension() => members,
                Ok(_) => return Ok(Err(NO_REFERENCE.to_owned())),
                Err(why) => return Ok(Err(why.to_string())),
            };
            if self.blocks.len() >= MOST_BLOCKS {
                self.blocks.clear();
            }
            self.blocks.insert(address, MemberBlock::new(members, reference, rng));
        }
        let block = self.blocks.get_mut(&address).expect("it is known, or was just made");
        Ok(block.bring_up_to_date(trace)?.map(|()| block))
    }

    /// Looks for a reference, if it is time for that. Why there is none.
    fn search(
        &mut self,
        trace: &mut Trace,
        choice: NodeId,
        (want, is_urgent): (Want, bool),
        rng: &mut Rng,
    ) -> Result<Option<String>, EvalError> {
        let address = trace.address(choice);
        let search = self.searches.entry(address).or_default();
        search.since += 1;
        let is_due = is_urgent && search.why.is_none() && search.since > URGENT;
        if search.waits > 0 && !is_due {
            search.waits -= 1;
            return Ok(search.why.clone());
        }
        let found = prepare(trace, choice, want)?;
        let search = self.searches.entry(address).or_default();
        search.patience = (2 * search.patience).clamp(PATIENCE, MOST_PATIENCE);
        (search.waits, search.since) = (search.patience, 0);
        search.why = match found {
            Ok((reference, members)) => {
                self.references.insert(address, reference.clone());
                self.blocks.insert(address, MemberBlock::new(members, reference, rng));
                None
            }
            Err(why) => Some(why),
        };
        Ok(search.why.clone())
    }

    /// How a choice would be moved, or why not by members.
    pub fn words(
        &self,
        trace: &mut Trace,
        choice: NodeId,
        want: Want,
    ) -> Result<Result<String, String>, EvalError> {
        Ok(prepare_whole(trace, choice, want)?.map(|(prepared, members)| {
            let forecast = prepared.forecast;
            format!(
                "members that come and go: sums and bounds follow them; about {:.3} of {} rows read per move, {:.0} % accepted in a pilot",
                forecast.rows,
                members.len(),
                100.0 * forecast.accepted
            )
        }))
    }

    pub fn save(&self, out: &mut Vec<u8>) {
        let MemberBlocks { references, blocks: _, searches: _, given: _ } = self;
        let mut all: Vec<Written> = Vec::with_capacity(references.len());
        for (address, Reference { centre, lower }) in references {
            all.push((*address, [centre.clone(), lower.clone()]));
        }
        all.sort_unstable_by_key(|(address, _)| *address);
        all.put(out);
    }

    pub fn load(&mut self, from: &mut Input<'_>) -> Option<()> {
        let all: Vec<Written> = Bytes::take(from)?;
        let reference = |(address, [centre, lower]): Written| {
            (lower.len() == centre.len() * centre.len())
                .then_some((address, Reference { centre, lower }))
        };
        self.references = all.into_iter().map(reference).collect::<Option<_>>()?;
        self.blocks.clear();
        Some(())
    }
}

/// A reference for a choice as its members are now, or why there is none.
fn prepare(
    trace: &mut Trace,
    choice: NodeId,
    want: Want,
) -> Result<Result<(Reference, Members), String>, EvalError> {
    let prepared = prepare_whole(trace, choice, want)?;
    Ok(prepared.map(|(prepared, members)| (block::with_room(prepared.reference), members)))
}

fn prepare_whole(
    trace: &mut Trace,
    choice: NodeId,
    want: Want,
) -> Result<Result<(Preparation, Members), String>, EvalError> {
    let least = if want == Want::Best { LEAST_UNASKED } else { LEAST };
    if trace.uses(choice) < least {
        return Ok(Err(format!("it has fewer than {least} members")));
    }
    let mut members = match Members::new(trace, choice)? {
        Ok(members) => members,
        Err(why) => return Ok(Err(why.to_string())),
    };
    if members.len() < least {
        return Ok(Err(format!("it has fewer than {least} members")));
    }
    members.arguments(trace)?;
    let Some(start) = members.position(trace) else {
        return Ok(Err("the state lies on the edge of what is possible".to_owned()));
    };
    let is_faulty = trace.has_fault(Fault::NoBounds);
    let mut tall = MemberTall { trace, members: &mut members, is_faulty };
    let prepared = Preparation::new(&mut tall, &start, want);
    Ok(match prepared {
        Ok(prepared) if prepared.test == Test::Thinned => Ok((prepared, members)),
        Ok(_) => Err("to read fewer rows than all would not pay".to_owned()),
        Err(unfit) => Err(unfit.to_string()),
    })
}
