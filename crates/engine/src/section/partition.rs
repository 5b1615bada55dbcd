//! Definitions 6 and 7: the border of a block, its global part Γ, and the population of local
//! sections below it; found without enumerating them.
//!
//! From every principal a chain of single deterministic children leads to the first node with
//! several branches, the **border**, or *hub* (there may be several, theory 1.7). Γ is what
//! lies on these chains, and the principals' arguments that depend on other principals. Then
//!
//! log α = G + Σ l_i,  G from Γ alone,  l_i from the sections of the hubs' rosters  (equation 5).
//!
//! With one hub every unit of its roster is one section. With several, in Γ or nested below it, a
//! section can be reached from more than one of them. If one hub reaches every section, its units are the population;
//! otherwise those of all hubs are. A section that k units of the population lead to counts l/k
//! at each (theory 1.7, 1.8).
//!
//! Cost: O(Γ), and once O(children) per hub, see [`crate::section`].

use rustc_hash::FxHashSet;

use crate::id::NodeId;
use crate::plate::Plate;
use crate::section::component::{Component, is_deterministic};
use crate::section::programs::Programs;
use crate::trace::Trace;
use crate::trace::node::{Arg, Child, Op, Role};
use crate::trace::roster::{Hub, Kind, Refusal, Walk};

/// Sections that are part of the population: the units of a hub, or the rows of a plate.
pub(super) struct Pool {
    pub of: NodeId,
    pub is_plate: bool,
    /// Number of sections in the pools before this one.
    pub first: usize,
}

/// Each partition that is found pays for looking at so many sections, to see whether one hub of
/// several reaches them all.
const CREDIT: usize = 256;

/// The partition found last; the buffers are reused.
#[derive(Default)]
pub struct Partition {
    /// Γ, arguments before the nodes that use them.
    pub global: Vec<NodeId>,
    /// Members of Γ with sections below them.
    pub hubs: Vec<NodeId>,
    /// Hubs of Γ and those nested below them.
    pub(super) all_hubs: FxHashSet<NodeId>,
    /// What is drawn from.
    pub(super) pools: Vec<Pool>,
    /// Units of all pools.
    pub(super) units: usize,
    credit: usize,
    /// Units that lead into Γ itself (one principal depends on another): they are no sections.
    excluded: Vec<usize>,
    /// For which Γ and which version of the rosters the pools were listed.
    listed: (Vec<NodeId>, u64),
    component: Component,
}

/// A kind of section in a population, for reports.
#[derive(Clone, Debug)]
pub struct KindCount {
    pub kind: Kind,
    pub sections: usize,
}

impl Partition {
    pub fn new() -> Partition {
        Partition::default()
    }

    /// The number of sections (with several hubs: of units).
    pub fn population(&self) -> usize {
        self.units - self.excluded.len()
    }

    /// Places to draw from: `0..places()`, without those that [`Partition::is_excluded`].
    pub fn places(&self) -> usize {
        self.units
    }

    #[inline]
    pub fn is_excluded(&self, place: usize) -> bool {
        !self.excluded.is_empty() && self.excluded.binary_search(&place).is_ok()
    }

    /// Finds the partition of a block, or why there is none.
    pub fn find(&mut self, trace: &mut Trace, principals: &[NodeId]) -> Result<(), Refusal> {
        self.find_global(trace, principals)?;
        for k in 0..self.hubs.len() {
            trace.classify_hub(self.hubs[k])?;
        }
        self.list_pools(trace)?;
        self.excluded.clear();
        if principals.len() > 1 {
            self.exclude_global(trace)?;
        }
        if self.population() < 2 { Err(Refusal::NoBorder) } else { Ok(()) }
    }

    /// The number of edges from the border of a single choice, without looking at them.
    pub fn fan_out(trace: &Trace, principal: NodeId) -> usize {
        let mut id = principal;
        while let [only] = trace.node(id).children[..] {
            if !follows(trace, only) {
                break;
            }
            id = only.node;
        }
        let children = trace.node(id).children.iter();
        children.map(|child| trace.node(child.node).rows()).sum()
    }

    fn find_global(&mut self, trace: &mut Trace, principals: &[NodeId]) -> Result<(), Refusal> {
        trace.epoch += 1;
        self.global.clear();
        self.hubs.clear();
        for id in principals {
            if !matches!(trace.node(*id).op, Op::Random(_)) {
                return Err(Refusal::Coupled { span: trace.node(*id).origin });
            }
            self.take_in(trace, *id);
        }
        let mut next = 0;
        while let Some(&id) = self.global.get(next) {
            next += 1;
            if let [only] = trace.node(id).children[..]
                && follows(trace, only)
            {
                self.take_in(trace, only.node);
            }
            if principals.len() > 1 {
                self.close_upwards(trace, id)?;
            }
        }
        if principals.len() > 1 {
            self.check_structure(trace)?;
        }
        for id in &self.global {
            let sections = |child: &Child| !is_global(trace, child.node);
            if trace.node(*id).children.iter().any(sections) {
                self.hubs.push(*id);
            }
        }
        if self.global.len() > 1 {
            self.sort_global(trace);
        }
        Ok(())
    }

    fn take_in(&mut self, trace: &mut Trace, id: NodeId) {
        if !is_global(trace, id) {
            trace.mark(id, Role::Target);
            self.global.push(id);
        }
    }

    /// Takes in the arguments of a member of Γ that depend on other members.
    fn close_upwards(&mut self, trace: &mut Trace, id: NodeId) -> Result<(), Refusal> {
        for slot in 0..trace.node(id).args.len() {
            let Some(parent) = trace.node(id).args[slot].operand.node() else { continue };
            if !is_deterministic(trace.node(parent)) || is_global(trace, parent) {
                continue;
            }
            // Γ has grown since the last question: what was clean then may not be now.
            self.component.forget_clean();
            if self.component.depends(trace, parent, &|node| is_global(trace, node))? {
                self.take_in(trace, parent);
            }
        }
        Ok(())
    }

    /// What is in Γ must not decide what exists in it.
    fn check_structure(&self, trace: &Trace) -> Result<(), Refusal> {
        for id in &self.global {
            let node = trace.node(*id);
            let decides = |(slot, arg): (usize, &Arg)| {
                let moved = arg.operand.node().is_some_and(|parent| is_global(trace, parent));
                moved && node.is_existential(slot as u32)
            };
            if node.args.iter().enumerate().any(decides) {
                let what = node.op_name().to_owned();
                return Err(Refusal::Structure { what, span: node.origin });
            }
        }
        Ok(())
    }

    /// Arguments first.
    fn sort_global(&mut self, trace: &mut Trace) {
        let unsorted = std::mem::take(&mut self.global);
        unsorted.iter().for_each(|id| trace.mark(*id, Role::Principal));
        let mut stack: Vec<(NodeId, usize)> = Vec::new();
        for id in unsorted {
            if trace.role(id) == Some(Role::Principal) {
                trace.mark(id, Role::Target);
                stack.push((id, 0));
            }
            while let Some((id, slot)) = stack.last_mut() {
                let (id, k) = (*id, *slot);
                *slot += 1;
                let Some(arg) = trace.node(id).args.get(k) else {
                    stack.pop();
                    self.global.push(id);
                    continue;
                };
                if let Some(parent) = arg.operand.node()
                    && trace.role(parent) == Some(Role::Principal)
                {
                    trace.mark(parent, Role::Target);
                    stack.push((parent, 0));
                }
            }
        }
    }

    /// Lists the hubs of Γ and those nested below them, with their places in the population.
    fn list_pools(&mut self, trace: &mut Trace) -> Result<(), Refusal> {
        self.credit = self.credit.saturating_add(CREDIT);
        if self.listed.0 == self.global && self.listed.1 == trace.sections.version() {
            return Ok(());
        }
        self.pools.clear();
        self.all_hubs.clear();
        self.units = 0;
        let mut plates: Vec<NodeId> = Vec::new();
        let mut hubs = self.hubs.clone();
        let (mut next, mut several) = (0, 0);
        while let Some(&hub) = hubs.get(next) {
            next += 1;
            if !self.all_hubs.insert(hub) {
                continue;
            }
            trace.classify_hub(hub)?;
            let roster = trace.sections.hub(hub);
            plates.extend(roster.plates.values().flatten());
            if !roster.units.is_empty() {
                self.pools.push(Pool { of: hub, is_plate: false, first: self.units });
            }
            self.units += roster.units.len();
            several += usize::from(roster.several > 0);
            let before = hubs.len();
            hubs.extend(roster.nested.values());
            hubs[before..].sort_unstable();
        }
        // Sections of different hubs that share a choice are one section. Those with a single
        // choice can only be joined through it, which keeps what they make small.
        if self.all_hubs.len() > 1 && several > 1 {
            self.listed.0.clear();
            return Err(Refusal::TooLarge { span: trace.node(self.hubs[0]).origin });
        }
        if self.pools.len() > 1 {
            self.draw_from_one(trace);
        }
        // A plate is one whatever the number of ways that lead to it.
        plates.sort_unstable();
        plates.dedup();
        for plate in plates {
            self.pools.push(Pool { of: plate, is_plate: true, first: self.units });
            self.units += trace.node(plate).rows();
        }
        self.listed.0.clone_from(&self.global);
        self.listed.1 = trace.sections.version();
        Ok(())
    }

    /// If one of several hubs reaches every section, only its units are drawn.
    fn draw_from_one(&mut self, trace: &Trace) {
        let is_new = self.listed.0 != self.global;
        if !is_new && self.credit < self.units {
            return;
        }
        self.credit = 0;
        let size = |pool: &&Pool| trace.sections.hub(pool.of).units.len();
        let Some(largest) = self.pools.iter().max_by_key(size) else { return };
        let (hub, units) = (largest.of, size(&largest));
        self.component.forget_clean();
        self.component.joined = true;
        let mut reached = true;
        'all: for pool in self.pools.iter().filter(|pool| pool.of != hub) {
            for unit in &trace.sections.hub(pool.of).units {
                if is_global(trace, unit.edge.node) {
                    continue;
                }
                let all_hubs = &self.all_hubs;
                let is_moved = |node| is_global(trace, node) || all_hubs.contains(&node);
                let explored = self.component.explore(trace, unit.edge.node, &is_moved);
                let leads = |entry: &Child| {
                    let arg = &trace.node(entry.node).args[entry.slot as usize];
                    arg.operand.node() == Some(hub) && arg.standing.as_unit().is_some()
                };
                reached = explored.is_ok() && self.component.entries.iter().any(leads);
                if !reached {
                    break 'all;
                }
            }
        }
        self.component.joined = false;
        if reached {
            self.pools.clear();
            self.pools.push(Pool { of: hub, is_plate: false, first: 0 });
            self.units = units;
        }
    }

    /// Finds the units that lead into Γ. All of such a section must be in Γ.
    fn exclude_global(&mut self, trace: &Trace) -> Result<(), Refusal> {
        for id in &self.global {
            for arg in &trace.node(*id).args {
                let Some(hub) = arg.operand.node() else { continue };
                if !self.all_hubs.contains(&hub) {
                    continue;
                }
                self.component.forget_clean();
                self.component.explore(trace, *id, &|node| node == hub)?;
                if self.component.nodes.iter().any(|node| !is_global(trace, *node)) {
                    return Err(Refusal::Entangled { span: trace.node(*id).origin });
                }
                let pool = self.pools.iter().find(|pool| pool.of == hub);
                if let (Some(pool), Some(unit)) = (pool, arg.standing.as_unit()) {
                    self.excluded.push(pool.first + unit);
                }
            }
        }
        self.excluded.sort_unstable();
        Ok(())
    }

    /// Whether the units of a hub are drawn from.
    pub(crate) fn draws_from(&self, hub: NodeId) -> bool {
        self.pools.iter().any(|pool| pool.of == hub)
    }

    /// The roster that a place of the population belongs to, and the unit there.
    #[inline]
    pub(super) fn unit_at<'a>(&self, trace: &'a Trace, place: usize) -> (&'a Hub, usize) {
        let pool = &self.pools[self.pool_at(place)];
        (trace.sections.hub(pool.of), place - pool.first)
    }

    #[inline]
    pub(super) fn pool_at(&self, place: usize) -> usize {
        self.pools.partition_point(|pool| pool.first <= place) - 1
    }

    /// The numbers of sections of each kind, to be drawn from by kind; one number for all if they
    /// hang below several hubs, or some of them are none.
    pub fn strata(&self, trace: &Trace) -> Vec<usize> {
        match &self.pools[..] {
            [pool] if self.excluded.is_empty() && !pool.is_plate => {
                let strata = &trace.sections.hub(pool.of).strata;
                strata.iter().map(|stratum| stratum.members.len()).collect()
            }
            _ => vec![self.population()],
        }
    }

    /// The place in the population of the k-th section of a kind.
    pub fn place_in_stratum(&self, trace: &Trace, stratum: usize, k: usize) -> usize {
        match &self.pools[..] {
            [pool] if !pool.is_plate => {
                trace.sections.hub(pool.of).strata[stratum].members[k] as usize
            }
            _ => k,
        }
    }

    /// Whether its sections are weighed in lanes, as far as is known: rows of plates are, sections of
    /// nodes once one of their kind has been asked for and has a program.
    pub fn is_compiled(&self, trace: &Trace) -> bool {
        let programs = trace.side.get::<Programs>();
        let has_program = |kind| programs.is_some_and(|programs| programs.has_program(kind));
        self.pools.iter().all(|pool| {
            let strata = |of| trace.sections.hub(of).strata.iter();
            pool.is_plate
                || self.all_hubs.len() == 1
                    && strata(pool.of).all(|stratum| has_program(stratum.kind))
        })
    }

    /// Whether all sections hang below one hub, and nothing is known against weighing them in lanes.
    pub fn may_be_compiled(&self, trace: &Trace) -> bool {
        let ([pool], 1) = (&self.pools[..], self.all_hubs.len()) else { return false };
        let programs = trace.side.get::<Programs>();
        let may = |kind| !programs.is_some_and(|programs| programs.has_no_program(kind));
        !pool.is_plate && trace.sections.hub(pool.of).strata.iter().all(|s| may(s.kind))
    }

    /// Whether the move changes a node that leads to sections.
    pub(crate) fn is_moved(&self, trace: &Trace, node: NodeId) -> bool {
        is_global(trace, node) || self.all_hubs.contains(&node)
    }

    /// The kinds of sections in the population.
    pub fn kinds(&self, trace: &Trace) -> Vec<KindCount> {
        let mut counts: Vec<(u32, usize)> = Vec::new();
        let hubs = self.pools.iter().filter(|pool| !pool.is_plate);
        for pool in hubs {
            for stratum in &trace.sections.hub(pool.of).strata {
                match counts.iter_mut().find(|(kind, _)| *kind == stratum.kind) {
                    Some((_, sections)) => *sections += stratum.members.len(),
                    None => counts.push((stratum.kind, stratum.members.len())),
                }
            }
        }
        for place in &self.excluded {
            let (roster, unit) = self.unit_at(trace, *place);
            let kind = roster.kind_of(unit);
            let count = counts.iter_mut().find(|(known, _)| *known == kind);
            count.expect("counted above").1 -= 1;
        }
        counts.retain(|(_, sections)| *sections > 0);
        let of = |(kind, sections)| KindCount { kind: trace.sections.kind(kind).clone(), sections };
        let mut kinds: Vec<KindCount> = counts.into_iter().map(of).collect();
        for pool in self.pools.iter().filter(|pool| pool.is_plate) {
            let Op::Plate(plate) = &trace.node(pool.of).op else { unreachable!("a plate") };
            let kind = kind_of_rows(plate);
            match kinds.iter_mut().find(|known| known.kind.signature == kind.signature) {
                Some(known) => known.sections += plate.rows(),
                None => kinds.push(KindCount { kind, sections: plate.rows() }),
            }
        }
        kinds
    }
}

/// Whether a node is in the Γ found last.
fn is_global(trace: &Trace, id: NodeId) -> bool {
    matches!(trace.role(id), Some(Role::Target | Role::Principal))
}

/// Whether an edge leads to a node that follows it and decides nothing.
fn follows(trace: &Trace, edge: Child) -> bool {
    let node = trace.node(edge.node);
    is_deterministic(node) && !node.is_existential(edge.slot)
}

/// The rows of a plate as a kind of section.
fn kind_of_rows(plate: &Plate) -> Kind {
    Kind {
        signature: format!("{}(b )", plate.distribution().spec().name),
        nodes: 1,
        absorbing: 1,
        entries: 1,
        hard: plate.program.hard,
        walk: Walk { single_entry: true, in_order: true },
    }
}
