//! Whoever waits for the chains, and for rows.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};

use smidgen_io::Window;
use smidgen_lang::Diagnostic;
use smidgen_lang::syntax::DirectiveKind;
use smidgen_value::Symbol;

use super::crew::{Made, settling};
use super::{Arrived, Epoch, EpochMark, Follow, Opening, sums_of};
use crate::append::{self, Growth};
use crate::catalog::Catalog;
use crate::compile::{Compiler, Step};
use crate::contents::BLOCK;
use crate::load::TopDirective;
use crate::sampling::{Chain, Plan, SampleError};

/// A chain as others see it.
pub(super) struct Hand {
    pub orders: Sender<Arc<Epoch>>,
    /// The epoch in which it begins, or goes on.
    pub begins: u32,
}

pub(super) struct Conductor<'c, 'p> {
    pub plan: &'c Plan<'p>,
    pub program: &'c [TopDirective],
    pub name: Symbol,
    pub window: Option<Window>,
    pub catalog: Catalog,
    /// All directives with the rows as of when they were made last, and loops over those that came later.
    pub steps: Arc<[Arc<Step>]>,
    pub parts: Vec<Arc<Step>>,
    /// Rows at the last warm-up.
    pub warmed: usize,
    pub results: Receiver<Made>,
    pub hands: Vec<Hand>,
    /// What chains made of epochs that others have not come to yet.
    pub early: Vec<(u32, Chain)>,
}

impl Conductor<'_, '_> {
    pub fn run(&mut self, follow: Follow<'_>) -> Result<(), SampleError> {
        let mut past = follow.past.iter();
        let mut mark = self.first_mark();
        if past.next().is_none() {
            (follow.opened)(&mark)?;
        }
        self.order(mark.number, Opening::Start, None);
        loop {
            let chains = self.collect(mark.number)?;
            let is_whole = self.hands.iter().all(|hand| hand.begins <= mark.number);
            if is_whole && !chains.is_empty() {
                let sampled = self.plan.assemble(chains, self.program)?;
                (follow.done)(&mark, sampled)?;
            }
            if self.plan.is_stopped() {
                return Ok(());
            }
            let known = past.next();
            let Some(new) = (follow.rows)(known.map(|known| known.upto))? else { return Ok(()) };
            let (next, opening, step) = self.grow(&new, &mark)?;
            match known {
                None => (follow.opened)(&next)?,
                Some(known) => self.compare(known, &next)?,
            }
            self.order(next.number, opening, step);
            mark = next;
        }
    }

    fn first_mark(&self) -> EpochMark {
        let table = self.catalog.last_part(self.name);
        let (first, rows) = table.map_or((0, 0), |table| (table.first_row(), table.rows()));
        let sums = table.map_or(Vec::new(), |table| sums_of(self.name, table));
        EpochMark { number: 0, first, rows, new: first + rows, upto: 0, sums }
    }

    /// An error if rows are not those that an epoch had.
    fn compare(&self, known: &EpochMark, now: &EpochMark) -> Result<(), Diagnostic> {
        if known.sums == now.sums && known.new == now.new {
            return Ok(());
        }
        let same = known.sums.iter().zip(&now.sums).take_while(|(then, now)| then == now).count();
        let end = known.first + known.rows;
        let first = end.saturating_sub(known.new) + same * BLOCK;
        let (name, last) = (self.name, (first + BLOCK).min(end).saturating_sub(1));
        let message = format!("the table `{name}` is not what it was, in rows {first} to {last}");
        Err(Diagnostic::error(None, message))
    }

    /// What the chains have made of an epoch, in their order.
    fn collect(&mut self, number: u32) -> Result<Vec<Chain>, SampleError> {
        let mut chains = Vec::new();
        let (early, now) = self.early.drain(..).partition(|(of, _)| *of > number);
        self.early = early;
        let now: Vec<(u32, Chain)> = now;
        chains.extend(now.into_iter().map(|(_, chain)| chain));
        let mut left =
            self.hands.iter().filter(|hand| hand.begins <= number).count() - chains.len();
        while left > 0 {
            match self.results.recv() {
                Ok((of, Ok(chain))) if of > number => {
                    self.early.push((of, chain));
                    continue;
                }
                Ok((_, Ok(chain))) => chains.push(chain),
                // A chain that was stopped before its first draw has nothing to keep.
                Ok((_, Err(_))) if self.plan.interrupt.load(Ordering::Relaxed) => {}
                Ok((_, Err(problem))) => return Err(problem.into()),
                Err(_) => break,
            }
            left -= 1;
        }
        chains.sort_by_key(|chain| chain.number);
        Ok(chains)
    }

    /// The table gets these rows. What the epoch is, and how it opens.
    fn grow(
        &mut self,
        new: &Arrived,
        before: &EpochMark,
    ) -> Result<(EpochMark, Opening, Option<Arc<Step>>), SampleError> {
        let growth =
            append::plan(&self.catalog, self.plan.sources, self.program, self.name, &new.rows);
        let Growth { part, step, catalog, .. } = growth.map_err(SampleError)?;
        let come = part.first_row() + part.rows();
        let mark = EpochMark {
            number: before.number + 1,
            first: self.window.map_or(before.first, |window| window.first(come)),
            rows: 0,
            new: come - before.first - before.rows,
            upto: new.upto,
            sums: sums_of(self.name, &part),
        };
        let mark = EpochMark { rows: come - mark.first, ..mark };
        self.catalog.grow(self.name, part, catalog);
        let step = step.map(Arc::new);
        let leaves = mark.first > before.first;
        if leaves {
            self.catalog.leave(self.name, mark.first);
        }
        // What was learnt of half the data is worth little, and so is what was learnt of twice as many.
        let warms_up = mark.rows >= 2 * self.warmed || 2 * mark.rows <= self.warmed;
        if warms_up {
            self.warmed = mark.rows;
        }
        let opening = match warms_up || leaves {
            true => {
                self.catalog.unite(self.name);
                let steps = anew(self.plan, &mut self.catalog, self.program, self.name)?;
                (self.steps, self.parts) = (steps.into(), Vec::new());
                Opening::Anew { warms_up, leaves }
            }
            false => {
                self.parts.extend(step.clone());
                Opening::Join
            }
        };
        Ok((mark, opening, step))
    }

    /// Opens an epoch for the chains that have come to it.
    fn order(&mut self, number: u32, opening: Opening, step: Option<Arc<Step>>) {
        let request = self.plan.request;
        let warmup = match opening {
            Opening::Join | Opening::Anew { warms_up: false, .. } => settling(request.warmup),
            Opening::Start | Opening::Anew { warms_up: true, .. } => request.warmup,
        };
        let more = request.chains * (warmup + request.draws);
        self.plan.progress.total.fetch_add(more as u64, Ordering::Relaxed);
        let epoch = Arc::new(Epoch {
            number,
            opening,
            step,
            steps: self.steps.clone(),
            parts: self.parts.clone(),
            catalog: self.catalog.clone(),
            shared: Arc::default(),
        });
        for hand in self.hands.iter().filter(|hand| hand.begins <= number) {
            // A chain that is gone has said why.
            drop(hand.orders.send(epoch.clone()));
        }
    }
}

/// All directives, with the loops over a table made for the rows that it has in a catalog.
pub(in crate::sampling) fn anew(
    plan: &Plan<'_>,
    catalog: &mut Catalog,
    program: &[TopDirective],
    name: Symbol,
) -> Result<Vec<Arc<Step>>, SampleError> {
    let mut loops = append::check(catalog, program, name).map_err(SampleError)?.loops;
    let mut steps = plan.steps.clone();
    let makes_step = |top: &&TopDirective| {
        !matches!(top.directive.kind, DirectiveKind::Define { .. } | DirectiveKind::Table { .. })
    };
    for (step, top) in steps.iter_mut().zip(program.iter().filter(makes_step)) {
        if !loops.first().is_some_and(|over| std::ptr::eq(*over, top)) {
            continue;
        }
        loops.remove(0);
        let mut compiler = Compiler::new(catalog, plan.sources);
        let made = compiler.top_level(&top.directive, top.number, &top.folder);
        made.map_err(SampleError)?.into_iter().for_each(|made| *step = Arc::new(made));
    }
    Ok(steps)
}
