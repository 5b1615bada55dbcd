//! Choices that a wall holds: `a` and `b` under `[observe (flip (if (= a b) 1 0)) true]`. No move of one of them alone gets
//! anywhere, and a chain that stays on one side for ever looks as good as any.
//!
//! In the warm-up every choice is now and then tried at another value. If that makes an observation or another choice
//! impossible, what this reads, and the choice itself, become a *group*. If a discrete choice has not moved for a while, it is
//! enough that something becomes much less probable: another choice, which joins it then, or an observation of several
//! finite choices. Groups that share a choice are one. A group moves together:
//!
//! * by Gibbs, if it has few combinations of values;
//! * else in pairs, by Gibbs or from the prior, and as a whole from the prior.
//!
//! What seldom changed a choice that met a wall is given up in the warm-up, the sooner the more it costs.
//!
//! Groups are sets of addresses and are settled in the warm-up. A move takes those of the group that exist: what exists only
//! because of others of them is redrawn with these in any case, so which choices are moved does not hang on the move.

mod look;

use rustc_hash::FxHashMap;
use smidgen_engine::idle::hanging_below;
use smidgen_engine::proposal::FromPrior;
use smidgen_engine::{DrawnFrom, Enumeration, EvalError, NodeId, Scaffold, Trace};
use smidgen_value::bytes::{Bytes, Input};
use smidgen_value::{Rng, Value, bytes_of_fields};

use super::plan::{Class, GIVEN, by_itself, single};
use crate::kernel::gibbs::draw_candidate;
use crate::kernel::mh::mh_move;
use crate::record::Tally;

/// Combinations of values that are weighed together.
const MOST_COMBINATIONS: usize = 64;
/// Combinations of a pair or a group that are weighed in a move at most. More are proposed from the prior.
const MOST_WEIGHED: u64 = 256;
/// Pairs of a larger group that are moved in a sweep.
const MOST_PAIRS: usize = 16;
/// Moves at a wall and at a steep one, and sections that they read, before a kind of move is judged; and one in how many
/// has to change something.
const MOST_VAIN: u32 = 200;
const MOST_VAIN_AT_STEEP: u32 = 40;
const MOST_SECTIONS: u64 = 20_000;
const SELDOM: u32 = 50;
/// The same at a wall, while no more sections were read than these.
const SELDOM_AT_WALL: u32 = 400;

/// The choices of a group, by their addresses.
enum Members {
    Known(Vec<u64>),
    /// Given from outside.
    Given(fn(u64) -> bool),
}

struct Group {
    members: Members,
    /// Those of them that met a wall.
    walled: Vec<u64>,
    /// Whether its finite choices move together by Gibbs, and no others belong to it.
    is_finite: bool,
    pairs: Luck,
    whole: Luck,
    /// The values of those that met a wall after the last move of the group, in the warm-up.
    last: Option<Vec<Option<Value>>>,
}

/// How often moves changed a choice that met a wall, in the warm-up, and how many sections they read.
#[derive(Clone, Copy, Default)]
struct Luck {
    tried: u32,
    changed: u32,
    /// How often other moves had changed one meanwhile.
    by_others: u32,
    sections: u64,
    /// Whether the wall is not only steep: then others do not get past it.
    is_hard: bool,
}

impl Luck {
    /// Whether to go on.
    fn holds(self, learns: bool) -> bool {
        let most_vain = if self.is_hard { MOST_VAIN } else { MOST_VAIN_AT_STEEP };
        let is_early = learns && self.tried < most_vain && self.sections < MOST_SECTIONS;
        let is_worth_it = match self.is_hard {
            true if self.sections < MOST_SECTIONS => self.changed * SELDOM_AT_WALL >= self.tried,
            true => self.changed * SELDOM >= self.tried,
            false => self.changed * SELDOM >= self.tried && self.changed > 3 * self.by_others,
        };
        is_early || (self.changed > 0 && is_worth_it)
    }

    /// What is known of groups that are now one.
    fn add(&mut self, other: Luck) {
        self.tried += other.tried;
        self.changed += other.changed;
        self.by_others += other.by_others;
        self.sections += other.sections;
        self.is_hard |= other.is_hard;
    }

    fn note(&mut self, changed: bool, sections: u64, learns: bool) {
        if learns {
            self.tried += 1;
            self.changed += u32::from(changed);
            self.sections += sections;
        }
    }
}

/// What a wall holds, by the addresses, and whether nothing can pass it alone.
struct Held {
    addresses: Vec<u64>,
    is_hard: bool,
}

impl Group {
    /// Whether it moves in the draws, as far as is known.
    fn is_kept(&self) -> bool {
        self.pairs.holds(false) || self.whole.holds(false)
    }
}

#[derive(Default)]
pub struct Walls {
    groups: Vec<Group>,
    is_given: bool,
    /// Sweeps of the warm-up, and the values of discrete choices with the sweep since which they have them, by address.
    sweeps: u64,
    since: FxHashMap<u64, (Value, u64)>,
    room: Room,
}

/// What moves work in.
struct Room {
    scaffold: Scaffold,
    enumeration: Enumeration,
    /// All choices by their addresses, for one structure.
    choices: Vec<(u64, NodeId)>,
    structure: Option<u64>,
    /// Which choices count as finite, by their addresses.
    finite: FxHashMap<u64, bool>,
    /// Whether it is the warm-up.
    learns: bool,
}

impl Default for Room {
    fn default() -> Room {
        Room {
            scaffold: Scaffold::new(),
            enumeration: Enumeration::at_most(MOST_WEIGHED),
            choices: Vec::new(),
            structure: None,
            finite: FxHashMap::default(),
            learns: false,
        }
    }
}

bytes_of_fields!(Luck { tried, changed, by_others, sections, is_hard });

impl Walls {
    /// Writes the groups: what else is kept serves to find them, in the warm-up.
    pub(super) fn save(&self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let Walls { groups, is_given: _, sweeps, since: _, room: _ } = self;
        groups.len().put(out);
        for Group { members, walled, is_finite, pairs, whole, last: _ } in groups {
            let Members::Known(members) = members else { return Err(GIVEN) };
            members.put(out);
            walled.put(out);
            is_finite.put(out);
            pairs.put(out);
            whole.put(out);
        }
        sweeps.put(out);
        Ok(())
    }

    pub(super) fn load(&mut self, from: &mut Input<'_>) -> Option<()> {
        self.groups.clear();
        for _ in 0..from.count(1)? {
            self.groups.push(Group {
                members: Members::Known(Bytes::take(from)?),
                walled: Bytes::take(from)?,
                is_finite: Bytes::take(from)?,
                pairs: Bytes::take(from)?,
                whole: Bytes::take(from)?,
                last: None,
            });
        }
        self.sweeps = Bytes::take(from)?;
        Some(())
    }

    /// Groups that no warm-up has found, nor will change: proposals from the prior for some, Gibbs for others.
    pub fn given(together: fn(u64) -> bool, finite: fn(u64) -> bool) -> Walls {
        let group = |members: fn(u64) -> bool, is_finite: bool| {
            let (members, walled) = (Members::Given(members), Vec::new());
            let whole = Luck { changed: 1, is_hard: true, ..Luck::default() };
            Group { members, walled, is_finite, pairs: Luck::default(), whole, last: None }
        };
        let groups = vec![group(together, false), group(finite, true)];
        Walls { groups, is_given: true, ..Walls::default() }
    }

    /// The choices of each group that exist, of those that are not given up.
    pub fn groups(&mut self, trace: &Trace) -> Vec<Vec<NodeId>> {
        let Walls { groups, room, .. } = self;
        groups
            .iter()
            .filter(|group| group.is_kept())
            .map(|group| room.existing(trace, &group.members))
            .collect()
    }

    /// Moves every group, together with what hangs on it of the given addresses: these are idle choices.
    pub fn transition(
        &mut self,
        trace: &mut Trace,
        is_idle: &dyn Fn(&Trace, NodeId) -> bool,
        learns: bool,
        rng: &mut Rng,
        tally: &mut Tally,
    ) -> Result<(), EvalError> {
        let Walls { groups, room, .. } = self;
        room.learns = learns;
        for Group { members, walled, is_finite, pairs, whole, last } in groups {
            if learns {
                let now = room.values(trace, walled);
                let changed = u32::from(last.as_ref().is_some_and(|last| *last != now));
                pairs.by_others += changed;
                whole.by_others += changed;
            }
            if let (Members::Known(members), false) = (&*members, *is_finite) {
                for _ in 0..members.len().min(MOST_PAIRS) {
                    if !pairs.holds(learns) {
                        break;
                    }
                    let first = rng.below(members.len());
                    let second = (first + 1 + rng.below(members.len() - 1)) % members.len();
                    let pair = Members::Known(vec![members[first], members[second]]);
                    let pair = room.existing(trace, &pair);
                    let before = (room.values(trace, walled), tally.sections_used);
                    room.move_pair(trace, &pair, is_idle, rng, tally)?;
                    let changed = before.0 != room.values(trace, walled);
                    pairs.note(changed, tally.sections_used - before.1, learns);
                }
            }
            if whole.holds(learns) {
                let choices = room.existing(trace, members);
                let before = (room.values(trace, walled), tally.sections_used);
                match *is_finite {
                    true => room.draw(trace, &choices, is_idle, rng, tally)?,
                    false => room.propose(trace, &choices, is_idle, rng, tally)?,
                }
                let changed = before.0 != room.values(trace, walled);
                whole.note(changed, tally.sections_used - before.1, learns);
            }
            *last = learns.then(|| room.values(trace, walled));
        }
        Ok(())
    }
}

impl Room {
    /// The choice of an address, if it exists.
    fn place(&mut self, trace: &Trace, address: u64) -> Option<NodeId> {
        self.bring_up_to_date(trace);
        let place = self.choices.binary_search_by_key(&address, |choice| choice.0);
        place.ok().map(|place| self.choices[place].1)
    }

    fn bring_up_to_date(&mut self, trace: &Trace) {
        if self.structure != Some(trace.structure_revision()) {
            self.choices = trace.choices_by_address();
            self.structure = Some(trace.structure_revision());
        }
    }

    /// Those that exist, in the order of their addresses.
    fn existing(&mut self, trace: &Trace, members: &Members) -> Vec<NodeId> {
        match members {
            Members::Given(contains) => {
                self.bring_up_to_date(trace);
                let given = self.choices.iter().filter(|(address, _)| contains(*address));
                given.map(|(_, id)| *id).collect()
            }
            Members::Known(members) => {
                members.iter().filter_map(|address| self.place(trace, *address)).collect()
            }
        }
    }

    /// The values of choices that exist, by their addresses.
    fn values(&mut self, trace: &mut Trace, addresses: &[u64]) -> Vec<Option<Value>> {
        let mut find = |address: &u64| {
            let place = self.place(trace, *address)?;
            Some(trace.choice(place).ok()?.current().clone())
        };
        addresses.iter().map(&mut find).collect()
    }

    /// Whether observations may come to refer to other choices: not every such move of several choices can be made.
    fn moves_observations(&mut self, trace: &mut Trace, choices: &[NodeId]) -> bool {
        self.scaffold.build(trace, choices);
        self.scaffold.moves_observations()
    }

    /// One draw of the finite ones of these from their conditional law.
    fn draw(
        &mut self,
        trace: &mut Trace,
        choices: &[NodeId],
        is_idle: &dyn Fn(&Trace, NodeId) -> bool,
        rng: &mut Rng,
        tally: &mut Tally,
    ) -> Result<(), EvalError> {
        let mut finite = Vec::with_capacity(choices.len());
        for id in choices {
            if self.is_finite(trace, *id)? {
                finite.push(*id);
            }
        }
        if finite.is_empty() || self.moves_observations(trace, &finite) {
            return Ok(());
        }
        let below = hanging_below(trace, &mut self.scaffold, &finite, is_idle);
        let enumeration = &mut self.enumeration;
        match enumeration.weigh_with(trace, &finite, &below, DrawnFrom::Nothing, rng) {
            Ok(()) => draw_candidate(trace, enumeration, rng, tally),
            // There are too many combinations, or they cannot be listed, from whichever of them one comes.
            Err(error) if !error.is_interruption() => {
                self.propose(trace, &finite, is_idle, rng, tally)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether a choice counts as one with finitely many values. How many it has hangs on others, which may move with it, so
    /// this is settled by its address: when it is first seen, and in the warm-up also later.
    fn is_finite(&mut self, trace: &mut Trace, id: NodeId) -> Result<bool, EvalError> {
        let address = trace.address(id);
        match self.finite.get(&address) {
            Some(known) if !self.learns || !known => Ok(*known),
            _ => {
                let is_finite = single(trace, id, MOST_WEIGHED as usize)? == Class::Finite;
                self.finite.insert(address, is_finite);
                Ok(is_finite)
            }
        }
    }

    /// One move of two choices, or of one that is left.
    fn move_pair(
        &mut self,
        trace: &mut Trace,
        pair: &[NodeId],
        is_idle: &dyn Fn(&Trace, NodeId) -> bool,
        rng: &mut Rng,
        tally: &mut Tally,
    ) -> Result<(), EvalError> {
        let mut is_finite = true;
        for id in pair {
            is_finite &= self.is_finite(trace, *id)?;
        }
        match is_finite {
            true => self.draw(trace, pair, is_idle, rng, tally),
            false => self.propose(trace, pair, is_idle, rng, tally),
        }
    }

    /// One proposal from the prior.
    fn propose(
        &mut self,
        trace: &mut Trace,
        choices: &[NodeId],
        is_idle: &dyn Fn(&Trace, NodeId) -> bool,
        rng: &mut Rng,
        tally: &mut Tally,
    ) -> Result<(), EvalError> {
        let mut proper = choices.to_vec();
        proper.retain(|id| trace.choice(*id).is_ok_and(|choice| choice.is_proper()));
        if proper.is_empty() || self.moves_observations(trace, &proper) {
            return Ok(());
        }
        proper.extend(hanging_below(trace, &mut self.scaffold, &proper, is_idle));
        let scaffold = &mut self.scaffold;
        mh_move(trace, scaffold, &proper, &mut FromPrior, None, rng, tally).map(drop)
    }
}

/// How many combinations of values choices have; none if they are not finite.
fn combinations(trace: &mut Trace, choices: &[NodeId]) -> Result<Option<usize>, EvalError> {
    let mut product: usize = 1;
    for id in choices {
        if by_itself(trace, *id)? != Class::Finite {
            return Ok(None);
        }
        let values = trace.choice(*id)?.enumerate()?.len();
        product = product.saturating_mul(values);
    }
    Ok(Some(product))
}
