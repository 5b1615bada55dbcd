//! Addresses: where in the program's run a node or a family stands, as a number that depends on the
//! structure alone and not on history. What is ordered by address is the same in every run.
//!
//! Values that decide or ask for something are part of an address. A procedure among them counts by
//! where it comes from: its name, the address of the node that it is, or the number of its text (not its
//! place, which comments move) with what its environment holds.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use smidgen_value::Value;

use crate::environment::Environment;
use crate::operand::Operand;
use crate::procedure::{NamedEnvironment, Procedure};
use crate::trace::Trace;

/// Procedures within environments of procedures, and frames of an environment, that are looked at.
/// Those that differ only beyond share an address, and stand in the order of history.
const DEPTH: u32 = 3;
const FRAMES: usize = 4;

/// The address of part `b` of what stands at `a`.
pub(crate) fn address(a: u64, b: u64) -> u64 {
    // The finaliser of SplitMix64 over both.
    let mut z = a.rotate_left(25) ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Trace {
    /// The address of values that decide or ask for something.
    pub(crate) fn address_of_values(&self, values: &[Value]) -> u64 {
        let mut state = FxHasher::default();
        for value in values {
            self.locate(value, &mut state, 0);
        }
        state.finish()
    }

    fn locate(&self, value: &Value, state: &mut FxHasher, depth: u32) {
        match value {
            Value::Pair(_) | Value::Array(_) | Value::Dict(_) => {
                stacker::maybe_grow(64 << 10, 1 << 20, || self.locate_parts(value, state, depth));
            }
            Value::Procedure(_) | Value::Environment(_) if depth == DEPTH => state.write_u8(2),
            Value::Procedure(_) => match Procedure::of(value) {
                Some(Procedure::Builtin(builtin)) => builtin.spec().name.hash(state),
                Some(Procedure::Memoised(id) | Procedure::Made(id)) => {
                    let at = self.nodes.get(id.index()).map_or(0, |node| node.address);
                    state.write_u64(at);
                }
                Some(Procedure::Compound { lambda, environment }) => {
                    state.write_u64(lambda.number);
                    self.locate_frames(environment, state, depth + 1);
                }
                None => state.write_u8(3),
            },
            Value::Environment(_) => {
                if let Some(named) = NamedEnvironment::of(value) {
                    self.locate_frames(&named.environment, state, depth + 1);
                }
            }
            plain => plain.hash(state),
        }
    }

    fn locate_parts(&self, value: &Value, state: &mut FxHasher, depth: u32) {
        match value {
            Value::Array(items) => {
                state.write_usize(items.len());
                items.iter().for_each(|item| self.locate(item, state, depth));
            }
            Value::Dict(dict) => {
                for (key, value) in dict.entries() {
                    self.locate(key, state, depth);
                    self.locate(value, state, depth);
                }
            }
            _ => {
                let mut link = value;
                while let Value::Pair(pair) = link {
                    self.locate(&pair.first, state, depth);
                    link = &pair.rest;
                }
                self.locate(link, state, depth);
            }
        }
    }

    fn locate_frames(&self, environment: &Environment, state: &mut FxHasher, depth: u32) {
        for slots in environment.frames().take(FRAMES) {
            for slot in slots {
                match slot {
                    Operand::Node(id) => {
                        state.write_u64(self.nodes.get(id.index()).map_or(0, |node| node.address));
                    }
                    Operand::Constant(value) => self.locate(value, state, depth),
                }
            }
        }
    }
}
