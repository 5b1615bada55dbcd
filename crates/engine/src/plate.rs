//! A **plate**: the rows of a loop of observations that never become nodes.
//!
//! `[for row in table [observe (f row.x) row.y]]` is one node of the trace for all rows that compute
//! the same: an observed choice with
//!
//! log p = Σ_i log p(y_i | f(x_i; nodes around it)),
//!
//! whose arguments are the nodes around it. Everything that absorbs by its density then works as with any
//! other choice; rows are told apart only by sections ([`crate::section::partition`]), where each is one, and
//! by `forget`, which takes one out. The data stay where they are, in the columns of the table.
//!
//! `model/rows` makes the program of a row from the program's text and finds the rows that compute the same; `trace/row` computes a
//! row from the same text as nodes would, and decides wherever the program comes to something that is no finite number. What is no plate (choices of the row's own, structure that can change) becomes
//! nodes, row by row.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use smidgen_lang::Span;
use smidgen_lang::core::ExprRef;
use smidgen_prob::Distribution;
use smidgen_value::{Link, Value};

use crate::environment::Environment;
use crate::program::cells::Pick;
use crate::program::chunks::{self, in_chunks};
use crate::program::links;
use crate::program::marked;
use crate::program::rows::Rows;
use crate::program::run::{NO_LINEAR, Store};
use crate::program::wide::Sum;
use crate::program::{Program, Source};

/// An observation in a loop: what is observed, as what, and the frames of the loops around this one.
#[derive(Clone)]
pub(crate) struct Text {
    pub expr: ExprRef,
    pub outcome: ExprRef,
    pub environment: Environment,
}

/// For which rows the support is known, whatever the nodes around them are.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Known {
    /// All have the same.
    ForAll,
    /// Each has its own.
    ForEach,
    No,
}

/// What a row computes.
pub(crate) struct RowProgram {
    pub text: Text,
    /// Where the observed choice is made.
    pub span: Span,
    pub distribution: &'static dyn Distribution,
    /// What depends on the nodes around alone.
    pub prelude: Program,
    pub rows: Rows,
    /// How many numbers each of the nodes around has.
    pub args: Vec<usize>,
    /// What some of them are known by, which is read too, after all numbers.
    pub(crate) links: Vec<KnownBy>,
    /// The observed value, if it is not the same for all rows.
    pub outcome: Option<Rows>,
    pub support: Known,
    /// Whether the nodes around it move the support of the choice.
    pub hard: bool,
    /// Whether the density jumps where a comparison changes.
    pub jumps: bool,
    /// Whether it is 0 or −∞, by comparisons alone.
    pub is_wall: bool,
    /// The nodes around, by number, that comparisons hang on.
    pub compared: Vec<usize>,
}

/// An argument that is read by what it is known by, beside its number.
#[derive(Clone, Copy)]
pub(crate) struct KnownBy {
    pub argument: usize,
    pub link: Link,
}

/// The rows of a plate.
#[derive(Clone, Debug)]
pub(crate) enum Members {
    Range(Range<u32>),
    List(Arc<Vec<u32>>),
}

impl Members {
    pub fn len(&self) -> usize {
        match self {
            Members::Range(range) => range.len(),
            Members::List(rows) => rows.len(),
        }
    }

    /// The row at a place.
    #[inline]
    pub fn row(&self, place: usize) -> u32 {
        match self {
            Members::Range(range) => range.start + place as u32,
            Members::List(rows) => rows[place],
        }
    }

    /// A range of rows that has them all.
    pub fn span(&self) -> Range<u32> {
        match self {
            Members::Range(range) => range.clone(),
            Members::List(rows) => match (rows.first(), rows.last()) {
                (Some(first), Some(last)) => *first..last + 1,
                _ => 0..0,
            },
        }
    }

    pub fn pick(&self, place: usize) -> Pick<'_> {
        match self {
            Members::Range(range) => Pick::From(range.start as usize + place),
            Members::List(rows) => Pick::These(&rows[place..]),
        }
    }

    pub fn contains(&self, row: u32) -> bool {
        match self {
            Members::Range(range) => range.contains(&row),
            Members::List(rows) => rows.binary_search(&row).is_ok(),
        }
    }

    pub fn without(&self, row: u32) -> Members {
        let others = (0..self.len()).map(|place| self.row(place)).filter(|other| *other != row);
        Members::List(Arc::new(others.collect()))
    }
}

/// The rows of a loop that compute the same, as the payload of a node.
pub struct Plate {
    pub(crate) program: Arc<RowProgram>,
    pub(crate) members: Members,
    /// Totals at the last two values of the numbers around it: of a move, those before and after.
    totals: Mutex<LastTwo<f64>>,
    /// About how many rows cannot be, where somebody asked.
    unclear: Mutex<LastTwo<Option<u64>>>,
    /// What slopes are computed by, if that is not the program of the rows as it is.
    gathered: Arc<OnceLock<Option<Rows>>>,
}

impl Clone for Plate {
    fn clone(&self) -> Plate {
        let gathered = self.gathered.clone();
        Plate { gathered, ..Plate::new(self.program.clone(), self.members.clone()) }
    }
}

/// What was found at the last two values of the numbers around a plate: of a move, those before and after.
struct LastTwo<T>([Option<(Vec<f64>, T)>; 2]);

impl<T> Default for LastTwo<T> {
    fn default() -> LastTwo<T> {
        LastTwo([None, None])
    }
}

impl<T: Copy> LastTwo<T> {
    fn get_or_find<E>(
        &mut self,
        numbers: &[f64],
        find: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let LastTwo(kept) = self;
        let same = |known: &[f64]| {
            known.len() == numbers.len()
                && known.iter().zip(numbers).all(|(a, b)| a.to_bits() == b.to_bits())
        };
        let known = |kept: &Option<(Vec<f64>, T)>| {
            kept.as_ref().filter(|(known, _)| same(known)).map(|(_, found)| *found)
        };
        if let Some((k, found)) =
            kept.iter().map(known).enumerate().find_map(|(k, f)| Some((k, f?)))
        {
            kept.swap(0, k);
            return Ok(found);
        }
        let found = find()?;
        kept.swap(0, 1);
        kept[0] = Some((numbers.to_vec(), found));
        Ok(found)
    }
}

/// What plates are evaluated on; one for a whole trace.
#[derive(Default)]
pub struct PlateScratch {
    pub(crate) prelude: Store,
    /// One for each thread; the first is for everything else as well.
    pub(crate) stores: Vec<Store>,
    pub(crate) numbers: Vec<f64>,
    /// How many threads may share a scan of all rows.
    pub(crate) threads: usize,
}

impl PlateScratch {
    pub(crate) fn with_threads(threads: usize) -> PlateScratch {
        PlateScratch { threads, ..PlateScratch::default() }
    }

    pub(crate) fn parts(&mut self) -> (&mut Store, &mut Store) {
        if self.stores.is_empty() {
            self.stores.push(Store::default());
        }
        (&mut self.prelude, &mut self.stores[0])
    }
}

/// Something that is no finite number, in these places of a plate: to be computed one by one.
pub(crate) struct Unclear(pub Range<usize>);

impl Plate {
    pub(crate) fn new(program: Arc<RowProgram>, members: Members) -> Plate {
        Plate {
            program,
            members,
            totals: Mutex::default(),
            unclear: Mutex::default(),
            gathered: Arc::default(),
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.members.len()
    }

    /// How many numbers around it its rows depend on.
    pub(crate) fn numbers(&self) -> usize {
        self.program.args.iter().sum::<usize>() + self.program.links.len()
    }

    /// The distribution of its rows.
    pub fn distribution(&self) -> &'static dyn Distribution {
        self.program.distribution
    }

    /// The numbers of the values around it, one after the other. False if one no longer has the form
    /// that the program was written for.
    pub(crate) fn flatten(&self, values: &[&Value], out: &mut Vec<f64>) -> bool {
        let RowProgram { args, links, .. } = &*self.program;
        out.clear();
        let fits = args.iter().zip(values).enumerate().all(|(k, (len, value))| {
            let before = out.len();
            let read = match links.iter().any(|by| by.argument == k) {
                true => marked::numbers(value, out),
                false => marked::plain_numbers(value, out),
            };
            read && out.len() - before == *len
        });
        out.extend(links.iter().map(|by| links::eta_of(values[by.argument], by.link)));
        fits
    }

    /// log p of all rows, given the numbers around it.
    pub(crate) fn total(&self, desk: &mut PlateScratch, numbers: &[f64]) -> Result<f64, Unclear> {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        totals.get_or_find(numbers, || self.scan(desk, numbers, None))
    }

    /// The same with its gradient, which is added to `slopes`.
    pub(crate) fn total_with_slopes(
        &self,
        desk: &mut PlateScratch,
        numbers: &[f64],
        slopes: &mut [f64],
    ) -> f64 {
        self.scan(desk, numbers, Some(slopes)).unwrap_or(f64::NEG_INFINITY)
    }

    fn scan(
        &self,
        desk: &mut PlateScratch,
        numbers: &[f64],
        slopes: Option<&mut [f64]>,
    ) -> Result<f64, Unclear> {
        let prelude = &self.program.prelude;
        let PlateScratch { prelude: globals, stores, threads, .. } = desk;
        let (n, with_slopes) = (self.rows(), slopes.is_some());
        let rows = if with_slopes { self.rows_for_slopes() } else { &self.program.rows };
        if !begin(prelude, globals, numbers) {
            return Err(Unclear(0..n.min(1)));
        }
        let workers = chunks::workers(n, *threads);
        if stores.len() < workers {
            stores.resize_with(workers, Store::default);
        }
        for store in &mut stores[..workers] {
            rows.fit(store);
            rows.begin(store, &globals.values);
        }
        if with_slopes {
            globals.clear_slopes();
        }
        let registers = prelude.registers as usize;
        let (values, sums) = (&globals.values, &mut globals.slopes);
        let chunk = |places: Range<usize>, store: &mut Store| {
            let slopes = if with_slopes { vec![0.0; registers] } else { Vec::new() };
            self.chunk(rows, places, values, store, slopes)
        };
        let mut total = 0.0;
        in_chunks(n, &mut stores[..workers], chunk, |(log_p, slopes)| {
            total += log_p;
            sums.iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += slope);
        })?;
        if let Some(slopes) = slopes {
            globals.pull(prelude, 1, &NO_LINEAR, &mut |_, _, _| {});
            for leaf in &prelude.leaves {
                if let Source::Input(first) = leaf.source {
                    let (from, to) = (leaf.register as usize, first as usize);
                    for k in 0..leaf.len as usize {
                        slopes[to + k] += globals.slopes[from + k];
                    }
                }
            }
        }
        Ok(total)
    }

    /// The program by which slopes are computed. What it gathers is found when slopes are first asked for.
    fn rows_for_slopes(&self) -> &Rows {
        let rows = &self.program.rows;
        let blocks = || blocks(0..self.rows(), rows.stride());
        let gather =
            || rows.gathered(blocks().map(|(start, lanes)| (self.members.pick(start), lanes)));
        self.gathered.get_or_init(gather).as_ref().unwrap_or(rows)
    }

    /// The log density of the rows at these places, and its slopes in the registers of the prelude if
    /// there is room for them.
    fn chunk(
        &self,
        rows: &Rows,
        places: Range<usize>,
        globals: &[f64],
        store: &mut Store,
        mut slopes: Vec<f64>,
    ) -> Result<(f64, Vec<f64>), Unclear> {
        if slopes.is_empty() {
            return Ok((self.sum(places, globals, store)?, slopes));
        }
        let mut total = 0.0;
        for (start, lanes) in blocks(places, rows.stride()) {
            let pick = self.members.pick(start);
            rows.load(store, globals, pick, lanes);
            let log_p = rows.value_for_slopes(store, globals, pick, lanes);
            if !log_p.is_finite() {
                return Err(Unclear(start..start + lanes));
            }
            total += log_p;
            rows.pull(store, globals, (pick, lanes), &mut slopes);
        }
        Ok((total, slopes))
    }

    /// The log density of the rows at these places.
    fn sum(
        &self,
        places: Range<usize>,
        globals: &[f64],
        store: &mut Store,
    ) -> Result<f64, Unclear> {
        let rows = &self.program.rows;
        let mut sum = Sum::default();
        for (start, lanes) in blocks(places.clone(), rows.stride()) {
            let pick = self.members.pick(start);
            rows.load(store, globals, pick, lanes);
            if !rows.add_terms(store, globals, (pick, lanes), &mut sum) {
                return Err(Unclear(start..start + lanes));
            }
        }
        let total = sum.total();
        if !total.is_finite() {
            for (start, lanes) in blocks(places, rows.stride()) {
                let pick = self.members.pick(start);
                rows.load(store, globals, pick, lanes);
                if !rows.value(store, globals, pick, lanes).is_finite() {
                    return Err(Unclear(start..start + lanes));
                }
            }
        }
        Ok(total)
    }

    /// What the rows read of the values around the plate: the registers of its prelude. None if they
    /// cannot be computed.
    pub(crate) fn globals(&self, desk: &mut PlateScratch, values: &[&Value]) -> Option<Vec<f64>> {
        let mut numbers = Vec::new();
        let computed = self.flatten(values, &mut numbers)
            && begin(&self.program.prelude, &mut desk.prelude, &numbers);
        let registers = self.program.prelude.registers as usize;
        computed.then(|| desk.prelude.values[..registers].to_vec())
    }

    /// log p after a move minus log p before it, for rows that are read once for both. False if some
    /// row has to be computed otherwise.
    pub(crate) fn log_ratios(
        &self,
        desk: &mut PlateScratch,
        [before, after]: [&[f64]; 2],
        rows: &[u32],
        out: &mut [f64],
    ) -> bool {
        let (program, (_, store)) = (&self.program.rows, desk.parts());
        program.fit(store);
        let most = program.rows_on_both_sides();
        rows.chunks(most)
            .zip(out.chunks_mut(most))
            .all(|(rows, out)| program.log_ratios(store, [before, after], Pick::These(rows), out))
    }

    /// log p of the rows at these places, given the numbers around the plate.
    pub(crate) fn log_densities(
        &self,
        desk: &mut PlateScratch,
        numbers: &[f64],
        rows: &[u32],
        out: &mut [f64],
    ) -> Result<(), Unclear> {
        let program = &*self.program;
        let (globals, store) = desk.parts();
        if !begin(&program.prelude, globals, numbers) {
            return Err(Unclear(0..rows.len()));
        }
        program.rows.fit(store);
        program.rows.begin(store, &globals.values);
        let stride = program.rows.stride();
        for (k, (rows, out)) in rows.chunks(stride).zip(out.chunks_mut(stride)).enumerate() {
            let (pick, lanes) = (Pick::These(rows), rows.len());
            program.rows.load(store, &globals.values, pick, lanes);
            let log_p = program.rows.value(store, &globals.values, pick, lanes);
            if !log_p.is_finite() {
                return Err(Unclear(k * stride..k * stride + lanes));
            }
            program.rows.terms(store, out);
        }
        Ok(())
    }

    /// About how many rows come to no finite number, given the numbers around the plate, as the program has it: what a search for a start
    /// goes by. A block where something stops that no density reads counts as one. None where nothing can be computed.
    pub(crate) fn unclear_rows(&self, desk: &mut PlateScratch, numbers: &[f64]) -> Option<u64> {
        let mut unclear = self.unclear.lock().unwrap_or_else(PoisonError::into_inner);
        let counted =
            unclear.get_or_find(numbers, || Ok::<_, Infallible>(self.count(desk, numbers)));
        counted.unwrap_or_else(|never| match never {})
    }

    fn count(&self, desk: &mut PlateScratch, numbers: &[f64]) -> Option<u64> {
        let RowProgram { prelude, rows, .. } = &*self.program;
        let (globals, store) = desk.parts();
        if !begin(prelude, globals, numbers) {
            return None;
        }
        rows.fit(store);
        rows.begin(store, &globals.values);
        let (mut count, mut terms) = (0, vec![0.0; rows.stride()]);
        for (start, lanes) in blocks(0..self.rows(), rows.stride()) {
            let pick = self.members.pick(start);
            rows.load(store, &globals.values, pick, lanes);
            if !rows.value(store, &globals.values, pick, lanes).is_finite() {
                rows.terms(store, &mut terms[..lanes]);
                let unclear = terms[..lanes].iter().filter(|log_p| !log_p.is_finite()).count();
                count += unclear.max(1) as u64;
            }
        }
        Some(count)
    }
}

/// Where blocks of at most so many places begin, and how many each has.
fn blocks(places: Range<usize>, most: usize) -> impl Iterator<Item = (usize, usize)> + Clone {
    let end = places.end;
    places.step_by(most).map(move |start| (start, most.min(end - start)))
}

/// Computes the prelude. False if something in it cannot be computed.
pub(crate) fn begin(prelude: &Program, globals: &mut Store, numbers: &[f64]) -> bool {
    globals.fit(prelude, 1);
    for leaf in &prelude.leaves {
        let (at, len) = (leaf.register as usize, leaf.len as usize);
        match &leaf.source {
            Source::Input(first) => {
                let first = *first as usize;
                globals.values[at..at + len].copy_from_slice(&numbers[first..first + len]);
            }
            Source::Number(x) => globals.values[at] = *x,
            Source::Vector(xs) => globals.values[at..at + len].copy_from_slice(xs),
            _ => unreachable!("the prelude reads the nodes around it and constants"),
        }
    }
    globals.value(prelude, 1, &NO_LINEAR) > f64::NEG_INFINITY
}
