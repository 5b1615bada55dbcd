//! The terms of a density: the log densities of choices, of the block or absorbing, as steps of their
//! rows.

use smidgen_prob::Distribution;
use smidgen_value::Value;

use super::compile::{Compiled, Compiler, Failure};
use super::transform;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::program::Register;
use crate::trace::node::Op as NodeOp;

impl Compiler<'_> {
    /// Adds the log density of a choice, of the block or absorbing, to the row.
    pub(super) fn term(&mut self, id: NodeId, in_block: bool) -> Compiled<()> {
        let node = self.trace.node(id);
        let constrained = node.constrained;
        let distribution: &'static dyn Distribution = match &node.op {
            NodeOp::Random(distribution) => *distribution,
            NodeOp::Maker(made) => made.maker.latent().expect("only a latent maker absorbs"),
            _ => unreachable!("only choices have densities"),
        };
        let operands: Vec<Operand> = node.args.iter().map(|arg| arg.operand.clone()).collect();
        let mut args = Vec::with_capacity(operands.len());
        for operand in &operands {
            args.push(self.argument(operand, false)?);
        }
        let value = self.trace.node(id).value.clone();
        let placed = self.placed.get(&id).copied();
        let standardised = placed.and_then(|placed| Some((placed.standardised?, placed.size)));
        if let Some((z, size)) = standardised
            && self.is_of_noises(id)
        {
            self.standard_normal(z, size);
            return Ok(());
        }
        let x = if let Some((z, _)) = standardised {
            let places = transform::location_and_scale(distribution.spec().name, args.len());
            let [location, scale] = places.expect("it was standardised by them");
            (args[location], args[scale]) = (Value::Number(0.0), Value::Number(1.0));
            Value::Number(self.globals.mark(z))
        } else if in_block {
            self.global_values[&id].clone()
        } else if constrained {
            value
        } else if distribution.objects().is_some_and(|place| place < args.len()) {
            self.pin(id, value)
        } else {
            match self.live(id, &value, false) {
                Some(marked) => marked,
                None => self.pin(id, value),
            }
        };
        self.row.density(distribution, &x, &args).map_err(|reason| Failure::At(id, reason))?;
        // A comparison may make a hard wall, which trajectories do not cross. Any other jump is
        // invisible to a gradient.
        let is_indicator = |global: Register| self.globals.is_indicator(global, &|_| false);
        let is_wall = |term: &Register| constrained && self.row.is_wall(*term, &is_indicator);
        if self.row.terms.iter().any(|term| self.row.jumps(*term) && !is_wall(term)) {
            return Err(Failure::Jumps(id));
        }
        Ok(())
    }
}
