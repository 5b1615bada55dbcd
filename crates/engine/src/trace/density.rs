//! Log densities: of a node given its arguments, of all random choices (equation 1 of the
//! paper), of the observed ones.

use std::sync::atomic::Ordering;

use smidgen_lang::Span;
use smidgen_value::{ArgumentError, Value};

use crate::error::{EvalError, Mistake};
use crate::id::NodeId;
use crate::operand::Operand;
use crate::trace::Trace;
use crate::trace::fault::Fault;
use crate::trace::node::{Arg, Op};

/// A log density, kept for as long as the choice and its arguments have the values that they had and the arguments are the
/// same nodes.
#[derive(Clone, Copy, Default)]
pub(crate) struct KeptDensity {
    log_p: f64,
    /// The revision at which it was computed, and the number of the last change of the choice's edges.
    at: u64,
    edges_at: u64,
}

impl Trace {
    /// As [`Trace::log_density`] while nothing is open and no start is searched for. Most moves of single choices are rejected, and the weights of the
    /// current state are asked for again and again.
    #[inline]
    pub(crate) fn kept_log_density(&mut self, id: NodeId) -> Result<f64, EvalError> {
        debug_assert!(self.journal.is_empty() && !self.is_lenient);
        if let Some(kept) = self.densities.get(id.index())
            && self.holds(id, kept)
        {
            return Ok(kept.log_p);
        }
        let log_p = self.log_density(id)?;
        self.keep_density(id, log_p);
        Ok(log_p)
    }

    #[inline]
    fn holds(&self, id: NodeId, kept: &KeptDensity) -> bool {
        let node = self.node(id);
        let unchanged = |arg: &Arg| match arg.operand {
            Operand::Constant(_) => true,
            Operand::Node(parent) => self.node(parent).changed_at <= kept.at,
        };
        let values = node.changed_at <= kept.at && node.args.iter().all(unchanged);
        kept.edges_at == self.edges_at(id) && (values || self.has_fault(Fault::KeptDensity))
    }

    fn keep_density(&mut self, id: NodeId, log_p: f64) {
        // What an impossible value counts is a matter of whether it is observed.
        if !matches!(self.node(id).op, Op::Random(_)) || !log_p.is_finite() {
            return;
        }
        if self.densities.len() <= id.index() {
            self.densities.resize(self.nodes.len(), KeptDensity::default());
        }
        let (at, edges_at) = (self.revision, self.edges_at(id));
        self.densities[id.index()] = KeptDensity { log_p, at, edges_at };
    }

    pub(crate) fn argument_error(
        &self,
        procedure: &'static str,
        error: ArgumentError,
        span: Span,
    ) -> EvalError {
        EvalError::new(Mistake::Argument { procedure, error }, span)
    }

    /// log p(value | arguments) of a random node, which may be any value of the right type. For a
    /// draw from a made procedure this is the predictive given the applications counted, which
    /// must not include the node itself. An observation whose distribution has a parameter out of
    /// its domain is impossible.
    #[inline]
    pub(crate) fn log_density_at(&self, id: NodeId, value: &Value) -> Result<f64, EvalError> {
        match self.strict_log_density(id, value) {
            Ok(log_p) if log_p > f64::NEG_INFINITY => Ok(log_p),
            result if !self.node(id).constrained => result,
            Err(error) if error.rejects() => Ok(self.log_impossible(id)),
            Ok(f64::NEG_INFINITY) => Ok(self.log_impossible(id)),
            result => result,
        }
    }

    /// What an impossible observation counts: −∞, but nothing while a start is being searched for,
    /// where they are counted instead.
    #[cold]
    fn log_impossible(&self, id: NodeId) -> f64 {
        if !self.is_lenient {
            return f64::NEG_INFINITY;
        }
        let count = match &self.node(id).op {
            Op::Plate(plate) => {
                let nodes = self.parents(id);
                self.with_args(id, |args| plate.impossible_rows(self, &nodes, args))
            }
            _ => 1,
        };
        self.impossible.fetch_add(count, Ordering::Relaxed);
        0.0
    }

    /// The impossible observations that were met since this was last asked.
    #[inline]
    pub(crate) fn take_impossible(&self) -> u64 {
        match self.impossible.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.impossible.swap(0, Ordering::Relaxed),
        }
    }

    /// The same with an error for a parameter out of its domain.
    #[inline]
    pub(crate) fn strict_log_density(&self, id: NodeId, value: &Value) -> Result<f64, EvalError> {
        debug_assert!(self.has_fresh_arguments(id), "a density is read over stale arguments");
        if let Op::Random(distribution) = &self.node(id).op {
            let result = self.with_args(id, |args| distribution.log_density(value, args));
            return match result {
                Ok(log_p) if !log_p.is_nan() => Ok(log_p),
                result => self.checked(id, distribution.spec().name, value, result),
            };
        }
        self.other_log_density(id, value)
    }

    /// The same for what is no application of a distribution.
    fn other_log_density(&self, id: NodeId, value: &Value) -> Result<f64, EvalError> {
        let node = self.node(id);
        let (name, result) = match &node.op {
            Op::Plate(plate) => {
                return self
                    .with_args(id, |args| self.plate_log_density(plate, &self.parents(id), args));
            }
            Op::Draw(maker) => (
                self.maker_name(*maker),
                self.with_params(*maker, |p| self.statistics(*maker).log_predictive(value, p)),
            ),
            Op::Maker(made) => {
                let latent = made.maker.latent().expect("only a latent maker is random");
                (made.maker.spec().name, self.with_args(id, |args| latent.log_density(value, args)))
            }
            _ => unreachable!("only random nodes have densities"),
        };
        self.checked(id, name, value, result)
    }

    /// A log density, or what is wrong with it.
    fn checked(
        &self,
        id: NodeId,
        name: &'static str,
        value: &Value,
        log_density: Result<f64, ArgumentError>,
    ) -> Result<f64, EvalError> {
        let origin = self.node(id).origin;
        match log_density {
            Ok(log_p) if log_p.is_nan() => Err(EvalError::new(
                Mistake::NotANumber { procedure: name.to_owned(), value: value.clone() },
                origin,
            )),
            Ok(log_p) => Ok(log_p),
            Err(error) => Err(self.argument_error(name, error, origin)),
        }
    }

    /// log p(current value | arguments), see [`Trace::log_density_at`].
    #[inline]
    pub(crate) fn log_density(&self, id: NodeId) -> Result<f64, EvalError> {
        self.log_density_at(id, &self.node(id).value)
    }

    /// log p(all applications counted | parameters) of what a maker made.
    pub(crate) fn log_marginal(&self, maker: NodeId) -> Result<f64, EvalError> {
        let node = self.node(maker);
        let name = self.maker_name(maker);
        let log_p = self
            .with_params(maker, |params| {
                if let Op::Maker(made) = &node.op
                    && made.maker.latent().is_none()
                {
                    made.maker.check(params)?;
                }
                self.statistics(maker).log_marginal(params)
            })
            .map_err(|error| self.argument_error(name, error, node.origin))?;
        if log_p.is_nan() {
            let procedure = format!("the applications of {name}");
            let count = Value::Number(self.statistics(maker).count() as f64);
            return Err(EvalError::new(
                Mistake::NotANumber { procedure, value: count },
                node.origin,
            ));
        }
        Ok(log_p)
    }

    pub(crate) fn maker_name(&self, maker: NodeId) -> &'static str {
        match &self.node(maker).op {
            Op::Maker(made) => made.maker.spec().name,
            _ => unreachable!("a made procedure names its maker"),
        }
    }

    #[inline]
    pub(crate) fn refresh_arguments(&mut self, id: NodeId) -> Result<(), EvalError> {
        if self.last_lazy == 0 { Ok(()) } else { self.refresh_each_argument(id) }
    }

    fn refresh_each_argument(&mut self, id: NodeId) -> Result<(), EvalError> {
        for slot in 0..self.node(id).args.len() {
            if let Some(parent) = self.node(id).args[slot].operand.node() {
                self.refresh(parent)?;
            }
        }
        Ok(())
    }

    /// Equation 1: the log density of all random choices.
    pub fn log_joint(&mut self) -> Result<f64, EvalError> {
        let mut total = 0.0;
        for id in self.live_nodes().collect::<Vec<_>>() {
            self.refresh_arguments(id)?;
            total += match &self.node(id).op {
                Op::Random(_) | Op::Plate(_) => self.log_density(id)?,
                Op::Maker(made) => {
                    let latent =
                        if made.maker.latent().is_some() { self.log_density(id)? } else { 0.0 };
                    latent + self.log_marginal(id)?
                }
                _ => 0.0,
            };
        }
        Ok(total)
    }

    /// The log density of the observed choices given the others. Observed applications of a made
    /// procedure count jointly, given its unobserved applications.
    pub fn log_likelihood(&mut self) -> Result<f64, EvalError> {
        let savepoint = self.savepoint();
        let result = self.observed_log_density();
        self.rollback_to(savepoint);
        result
    }

    fn observed_log_density(&mut self) -> Result<f64, EvalError> {
        let mut total = 0.0;
        for id in self.live_nodes().collect::<Vec<_>>() {
            if !self.node(id).constrained {
                continue;
            }
            self.refresh_arguments(id)?;
            if let Op::Draw(maker) = self.node(id).op {
                self.refresh_arguments(maker)?;
                let value = self.node(id).value.clone();
                self.uncount(maker, &value);
            }
            total += self.log_density(id)?;
        }
        Ok(total)
    }
}
