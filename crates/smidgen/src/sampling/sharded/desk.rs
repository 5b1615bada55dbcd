//! A block of rows, or a reel of them, with the density above it: what a worker serves, and where the chain stands.

use std::sync::Arc;

use smidgen_engine::Model;
use smidgen_engine::smooth::{Density, Form};
use smidgen_engine::taylor::{Sums, Taylor, Wanted};
use smidgen_lang::Diagnostic;
use smidgen_value::{Rng, Table, Value};

use super::plain;
use crate::contents::BLOCK;
use crate::load::TopDirective;
use crate::sampling::watch::Watch;
use crate::sampling::{Context, Progress, SampleError, SampleRequest, Stand, prepare};
use crate::session::Session;

/// A block of rows, or a reel of them, with the density above it.
pub struct Desk {
    model: Model,
    pub(super) density: Density,
    pub(super) taylor: Taylor,
    watch: Vec<Watch>,
    /// For which ball bounds were made, the bounds, and their sums up to each row.
    held: Option<(Vec<u64>, Vec<f32>, Vec<f64>)>,
}

/// A table in blocks as whoever has all of it would see them.
pub fn blocks(table: &Table) -> Vec<Arc<Table>> {
    let all: Vec<usize> = (0..table.rows()).collect();
    all.chunks(BLOCK).map(|rows| Arc::new(table.take(rows))).collect()
}

/// The table of a program, once it is read.
pub fn table_of(
    session: &mut Session,
    program: &[TopDirective],
    request: &SampleRequest,
    name: &str,
) -> Result<Table, SampleError> {
    prepare(session, program, request)?;
    let missing = || plain(format!("the program has no table `{name}`"));
    let table = session.catalog.tables().find(|(known, _)| *known == name);
    let table = table.ok_or_else(missing)?.1.clone();
    match table.with_holes().is_empty() {
        true => Ok(table),
        false => Err(plain(format!(
            "the table `{name}` has missing cells: its parts cannot be told apart"
        ))),
    }
}

impl Desk {
    /// For a session that was given the rows as the table of its program.
    pub fn open(
        session: &mut Session,
        program: &[TopDirective],
        request: &SampleRequest,
        table: &str,
    ) -> Result<Desk, SampleError> {
        let prepared = prepare(session, program, request)?;
        let progress = Progress::default();
        let Session { catalog, sources, interrupt, .. } = &*session;
        let plan = prepared.plan(Context { catalog, sources, interrupt }, request, &progress);
        let mut rng = Rng::for_chain(request.seed, 0);
        let Stand { mut model, watch, .. } = plan.stand(plan.ground(), 0, None, &mut rng)?;
        let rows = catalog.tables().find(|(name, _)| *name == table).map_or(0, |(_, t)| t.rows());
        let choices = model.trace().choices().to_vec();
        let density = Density::compile(model.trace_mut(), &choices, Form::Plain)
            .map_err(|error| SampleError(vec![error.into_diagnostic()]))?
            .map_err(|why| {
                plain(format!("a sharded chain moves continuous choices alone: {}", why.reason))
            })?;
        let taylor =
            density.taylor(Wanted::all(rows.max(1))).map_err(|why| plain(why.to_string()))?;
        if taylor.rows() != rows || density.reads_outside() {
            let message = "a sharded chain needs all rows of its table in one loop that computes the same for each of them";
            return Err(plain(message));
        }
        Ok(Desk { model, density, taylor, watch, held: None })
    }

    pub fn rows(&self) -> usize {
        self.taylor.rows()
    }

    pub fn dimension(&self) -> usize {
        self.taylor.dimension()
    }

    /// The addresses of the choices in the order of their coordinates: the same for all parts of a table.
    pub fn addresses(&self) -> Vec<u64> {
        let trace = self.model.trace();
        self.density.choices().map(|id| trace.address(id)).collect()
    }

    pub fn sums(&mut self, theta: &[f64], stride: usize) -> Option<Sums> {
        self.taylor.sums(theta, stride)
    }

    pub fn log_sections_of_many(&mut self, thetas: &[f64]) -> Vec<f64> {
        let thetas: Vec<&[f64]> = thetas.chunks_exact(self.dimension()).collect();
        let mut out = vec![0.0; thetas.len()];
        self.taylor.log_sections_of_many(&thetas, &mut out);
        out
    }

    fn hold(
        &mut self,
        centre: &[f64],
        lower: &[f64],
        radius: f64,
    ) -> &(Vec<u64>, Vec<f32>, Vec<f64>) {
        let ball = centre.iter().chain(lower).chain([&radius]);
        let ball: Vec<u64> = ball.map(|x| x.to_bits()).collect();
        if self.held.as_ref().is_none_or(|held| held.0 != ball) {
            let mut each = Vec::new();
            self.taylor.bounds(centre, lower, radius, &mut each);
            let mut total = 0.0;
            let mut add = |c: &f32| {
                total += f64::from(*c);
                total
            };
            let cumulated = each.iter().map(&mut add).collect();
            self.held = Some((ball, each, cumulated));
        }
        self.held.as_ref().expect("made above")
    }

    /// C_b; not finite where some row has no bound.
    pub fn bound(&mut self, centre: &[f64], lower: &[f64], radius: f64) -> f64 {
        self.hold(centre, lower, radius).2.last().copied().unwrap_or(0.0)
    }

    /// The rows at these places of [0, C_b), and their bounds.
    pub fn rows_at(
        &mut self,
        (centre, lower, radius): (&[f64], &[f64], f64),
        places: &[f64],
    ) -> Vec<(usize, f32)> {
        let (_, each, cumulated) = self.hold(centre, lower, radius);
        let row = |place: &f64| {
            let row = cumulated.partition_point(|sum| sum <= place).min(each.len() - 1);
            (row, each[row])
        };
        places.iter().map(row).collect()
    }

    /// The names of what is recorded.
    pub fn names(&self) -> Vec<String> {
        self.watch.iter().map(|watch| watch.name().to_owned()).collect()
    }

    /// What is recorded at a point.
    pub(super) fn record(
        &mut self,
        theta: &[f64],
        rng: &mut Rng,
    ) -> Result<Vec<Value>, Diagnostic> {
        let Desk { model, density, watch, .. } = self;
        let wrong = smidgen_engine::EvalError::into_diagnostic;
        density.install(model.trace_mut(), theta, rng).map_err(wrong)?;
        let mut values = Vec::new();
        Watch::values(watch, model, rng, &mut values).map_err(wrong)?;
        Ok(values)
    }
}
