//! Particles beside the trace: a compiled pass. Each step is done for all particles before the
//! next, column by column; the trace is read at the start and written at the end.
//!
//! A particle that leaves the domain of some parameter has weight 0 from there on.

use smallvec::SmallVec;
use smidgen_value::{ArgumentError, Rng, Value};

use super::Particles;
use super::lanes::Lanes;
use super::plan::{Law, Plan, Read, Rule, Step, Weight};
use crate::error::{EvalError, Mistake};
use crate::id::NodeId;
use crate::node::Op;
use crate::trace::Trace;

/// Reused from pass to pass.
#[derive(Default)]
pub(super) struct Buffers {
    /// Columns of all segments, and who came from whom.
    own: Vec<Value>,
    ancestors: Vec<u32>,
    /// Columns carried into the segment, and room for those of the next.
    carried: Vec<Value>,
    next: Vec<Value>,
    ahead: Vec<Value>,
    work: Work,
}

/// What one step writes to.
#[derive(Default)]
struct Work {
    /// The column being made.
    column: Vec<Value>,
    alive: Vec<bool>,
    lanes: Lanes,
}

pub(super) struct CompiledPass<'a> {
    trace: &'a mut Trace,
    plan: &'a Plan,
    buffers: &'a mut Buffers,
    particles: usize,
    touched: u64,
}

/// A column: as many values as particles, or one for all.
#[derive(Clone, Copy)]
pub(super) struct Column<'a> {
    pub values: &'a [Value],
    pub stride: usize,
}

impl<'a> Column<'a> {
    #[inline]
    fn at(self, i: usize) -> &'a Value {
        &self.values[i * self.stride]
    }
}

type Columns<'a> = SmallVec<[Column<'a>; 4]>;

/// Calls `f` with the arguments of particle i.
#[inline]
fn with_row<R>(columns: &[Column<'_>], i: usize, f: impl FnOnce(&[&Value]) -> R) -> R {
    match columns {
        [a] => f(&[a.at(i)]),
        [a, b] => f(&[a.at(i), b.at(i)]),
        _ => {
            let row: SmallVec<[&Value; 4]> = columns.iter().map(|column| column.at(i)).collect();
            f(&row)
        }
    }
}

impl<'a> CompiledPass<'a> {
    pub fn begin(
        trace: &'a mut Trace,
        plan: &'a mut Plan,
        buffers: &'a mut Buffers,
        particles: usize,
    ) -> Result<CompiledPass<'a>, EvalError> {
        plan.refresh(trace)?;
        let room = |values: &mut Vec<Value>, columns: usize| {
            values.resize(columns * particles, Value::Nil);
        };
        room(&mut buffers.own, plan.columns);
        room(&mut buffers.carried, plan.most_carried);
        room(&mut buffers.next, plan.most_carried);
        room(&mut buffers.work.column, 1);
        buffers.ancestors.clear();
        Ok(CompiledPass { trace, plan, buffers, particles, touched: 0 })
    }

    /// The columns that a step of segment t reads.
    fn columns(&self, reads: &std::ops::Range<u32>, t: usize) -> Columns<'_> {
        let (plan, buffers, particles) = (self.plan, &*self.buffers, self.particles);
        let first = plan.parts[t].first_column;
        let column = |values: &'_ [Value], k: usize| -> std::ops::Range<usize> {
            debug_assert!(values.len() >= (k + 1) * particles);
            k * particles..(k + 1) * particles
        };
        plan.reads[reads.start as usize..reads.end as usize]
            .iter()
            .map(|read| {
                let (values, k) = match read {
                    Read::Fixed(k) => {
                        let values = &plan.fixed[*k as usize..*k as usize + 1];
                        return Column { values, stride: 0 };
                    }
                    Read::Carried(k) => (&buffers.carried, *k as usize),
                    Read::Own(k) => (&buffers.own, first + *k as usize),
                    Read::Ahead(k) => (&buffers.ahead, *k as usize),
                };
                Column { values: &values[column(values, k)], stride: 1 }
            })
            .collect()
    }

    /// Computes the column of a node for all particles that are alive, into `out`.
    fn compute(
        &self,
        step: &Step,
        t: usize,
        Work { column: out, alive, lanes }: &mut Work,
        rng: Option<&mut Rng>,
    ) -> Result<(), EvalError> {
        let columns = self.columns(&step.reads, t);
        if let Rule::Elementary(_, elementary) = step.rule
            && lanes.apply(elementary, &columns, out)
        {
            return Ok(());
        }
        let mut drawn = false;
        let mut rng = rng;
        if let (Rule::Choice(distribution, Some(scalar)), Some(rng)) = (step.rule, &mut rng) {
            drawn = lanes.sample(scalar, &columns, (out, rng), |i| {
                // The general way finds out what is wrong.
                let mistake = with_row(&columns, i, |args| distribution.support(args).err());
                match mistake {
                    Some(error) => {
                        self.fails(step.node, distribution.spec().name, error, &mut alive[i])
                    }
                    None => Ok(()),
                }
            })?;
        }
        let mut put = |i: usize, result: Result<Value, ArgumentError>, name: &'static str| {
            match result {
                Ok(value) => out[i] = value,
                Err(error) => self.fails(step.node, name, error, &mut alive[i])?,
            }
            Ok::<(), EvalError>(())
        };
        match step.rule {
            Rule::Function(function) | Rule::Elementary(function, _) => {
                for i in 0..self.particles {
                    let result = with_row(&columns, i, |args| (function.apply)(args));
                    put(i, result, function.spec.name)?;
                }
            }
            Rule::Follow => {
                let root = columns.last().expect("a structure has a root");
                for i in 0..self.particles {
                    put(i, Ok(root.at(i).clone()), "")?;
                }
            }
            Rule::Select(_) => unreachable!("only whole paths are drawn through branches"),
            Rule::Choice(distribution, _) => {
                let name = distribution.spec().name;
                if !distribution.is_proper() {
                    let origin = self.trace.node(step.node).origin;
                    return Err(EvalError::new(Mistake::Improper(name), origin));
                }
                let reference = self.particles - 1;
                if !drawn {
                    for i in 0..reference {
                        let result = with_row(&columns, i, |args| {
                            let rng = rng.as_deref_mut();
                            distribution.sample(args, rng.expect("choices are drawn in steps"))
                        });
                        put(i, result, name)?;
                    }
                }
                put(reference, Ok(self.trace.node(step.node).value.clone()), name)?;
            }
        }
        Ok(())
    }

    /// A particle that leaves a domain dies; anything else is a mistake of the program.
    #[cold]
    fn fails(
        &self,
        node: NodeId,
        name: &'static str,
        error: ArgumentError,
        alive: &mut bool,
    ) -> Result<(), EvalError> {
        // What comes after may read anything.
        if !*alive {
            return Ok(());
        }
        let error = self.trace.argument_error(name, error, self.trace.node(node).origin);
        if !error.rejects() {
            return Err(error);
        }
        *alive = false;
        Ok(())
    }

    /// Adds the log densities of a node to those of the particles that are alive.
    fn weigh(
        &self,
        weight: &Weight,
        t: usize,
        Work { alive, lanes, .. }: &mut Work,
        log_weights: &mut [f64],
    ) -> Result<(), EvalError> {
        let columns = self.columns(&weight.reads, t);
        let x = &self.plan.fixed[weight.x as usize];
        if let Law::Density(_, Some(scalar)) = weight.law
            && lanes.weigh(scalar, x, &columns, log_weights)
        {
            return Ok(());
        }
        let node = self.trace.node(weight.node);
        let made = match &node.op {
            Op::Maker(made) => Some(made),
            _ => None,
        };
        for i in 0..self.particles {
            if !alive[i] {
                continue;
            }
            let result = with_row(&columns, i, |args| match (weight.law, made) {
                (Law::Density(distribution, _), _) => distribution.log_density(x, args),
                (Law::Marginal, Some(made)) => {
                    if made.maker.latent().is_none() {
                        made.maker.check(args)?;
                    }
                    made.statistics.log_marginal(args)
                }
                (Law::Marginal, None) => unreachable!("only makers have applications"),
                (Law::Given, _) => unreachable!("only whole paths are drawn through branches"),
            });
            match result {
                Ok(log_p) if log_p.is_nan() => {
                    let procedure = node.op_name().to_owned();
                    let mistake = Mistake::NotANumber { procedure, value: x.clone() };
                    return Err(EvalError::new(mistake, node.origin));
                }
                Ok(log_p) => log_weights[i] += log_p,
                Err(error) => {
                    let name = match weight.law {
                        Law::Density(distribution, _) => distribution.spec().name,
                        Law::Marginal | Law::Given => self.trace.maker_name(weight.node),
                    };
                    self.fails(weight.node, name, error, &mut alive[i])?;
                }
            }
        }
        Ok(())
    }

    /// Weights of 0 for the dead.
    fn bury(alive: &[bool], log_weights: &mut [f64]) {
        for (log_weight, alive) in log_weights.iter_mut().zip(alive) {
            if !alive {
                *log_weight = f64::NEG_INFINITY;
            }
        }
    }

    fn gather(&mut self, t: usize, ancestors: &[u32]) {
        let particles = self.particles;
        let part = &self.plan.parts[t];
        let before = self.plan.parts[t - 1].first_column;
        let Buffers { own, carried, next, .. } = &mut *self.buffers;
        for (k, source) in part.carried.iter().enumerate() {
            let from = match source {
                Read::Carried(k) => &carried[*k as usize * particles..][..particles],
                Read::Own(k) => &own[(before + *k as usize) * particles..][..particles],
                _ => unreachable!("carried from the segment before"),
            };
            for (to, ancestor) in next[k * particles..].iter_mut().zip(ancestors) {
                *to = from[*ancestor as usize].clone();
            }
        }
        std::mem::swap(carried, next);
    }
}

impl Particles for CompiledPass<'_> {
    fn steps(&self) -> usize {
        self.plan.parts.len()
    }

    fn advance(
        &mut self,
        t: usize,
        ancestors: &[u32],
        rng: &mut Rng,
        log_weights: &mut [f64],
    ) -> Result<(), EvalError> {
        self.buffers.ancestors.extend_from_slice(ancestors);
        if t > 0 {
            self.gather(t, ancestors);
        }
        let part = &self.plan.parts[t];
        let mut work = std::mem::take(&mut self.buffers.work);
        work.alive.clear();
        work.alive.resize(self.particles, true);
        log_weights.fill(0.0);
        for (k, step) in part.steps.iter().enumerate() {
            self.compute(step, t, &mut work, Some(rng))?;
            let place = (part.first_column + k) * self.particles;
            self.buffers.own[place..place + self.particles].swap_with_slice(&mut work.column);
        }
        for weight in &part.weights {
            self.weigh(weight, t, &mut work, log_weights)?;
        }
        Self::bury(&work.alive, log_weights);
        self.touched += ((part.steps.len() + part.weights.len()) * self.particles) as u64;
        self.buffers.work = work;
        Ok(())
    }

    fn looks_ahead(&self) -> bool {
        self.plan.looks_ahead
    }

    fn look_ahead(&mut self, t: usize, log_future: &mut [f64]) -> Result<(), EvalError> {
        let ahead = &self.plan.parts[t].ahead;
        // Those that died at the last step stay dead; the next step begins with all.
        let mut work = std::mem::take(&mut self.buffers.work);
        log_future.fill(0.0);
        self.buffers.ahead.resize(ahead.steps.len() * self.particles, Value::Nil);
        for (k, step) in ahead.steps.iter().enumerate() {
            self.compute(step, t - 1, &mut work, None)?;
            let place = k * self.particles;
            self.buffers.ahead[place..place + self.particles].swap_with_slice(&mut work.column);
        }
        for weight in &ahead.weights {
            self.weigh(weight, t - 1, &mut work, log_future)?;
        }
        Self::bury(&work.alive, log_future);
        self.touched += ((ahead.steps.len() + ahead.weights.len()) * self.particles) as u64;
        self.buffers.work = work;
        Ok(())
    }

    fn drawn(&self, t: usize, particle: usize) -> Vec<Value> {
        let part = &self.plan.parts[t];
        let choices = part.steps.iter().enumerate();
        let choices = choices.filter(|(_, step)| matches!(step.rule, Rule::Choice(..)));
        let place = |k: usize| (part.first_column + k) * self.particles + particle;
        choices.map(|(k, _)| self.buffers.own[place(k)].clone()).collect()
    }

    fn touched(&self) -> u64 {
        self.touched
    }

    fn settle(self: Box<Self>, k: usize) -> Result<bool, EvalError> {
        let CompiledPass { trace, plan, buffers, particles, .. } = *self;
        let start = trace.savepoint();
        let mut k = k;
        let mut moved = false;
        for (t, part) in plan.parts.iter().enumerate().rev() {
            moved |= k + 1 != particles;
            for (column, step) in part.steps.iter().enumerate() {
                let value = &buffers.own[(part.first_column + column) * particles + k];
                if !trace.node(step.node).value.is_identical(value) {
                    trace.set_value(step.node, value.clone());
                }
            }
            k = buffers.ancestors[t * particles + k] as usize;
        }
        if trace.savepoint() != start {
            trace.commit();
        }
        Ok(moved)
    }
}
