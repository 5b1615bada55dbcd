//! Choices in coordinates that do not depend on what they hang on.
//!
//! A number with a location m and a scale s has z = (x − m)/s; a vector that is made of standard normal numbers
//! ([`smidgen_prob::standard`]) has these. Its density and log|dx/dz| are then together the density of z, whatever m and s are.

use smidgen_prob::smooth::{self, Elementary, Smooth};
use smidgen_prob::standard::{PATH, Standard};
use smidgen_value::Value;
use smidgen_value::math::HALF_LN_2PI;

use super::compile::{Compiled, Compiler};
use super::transform;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::program::lower::{self, Obstacle};
use crate::program::{Op, Program, Register, Source};
use crate::trace::Trace;
use crate::trace::node::Op as NodeOp;

/// By which of its arguments a choice is standardised, and how.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum By {
    LocationAndScale([usize; 2]),
    Noises(Standard),
}

impl By {
    /// That of a law with so many arguments.
    pub(super) fn of(law: &str, arguments: usize) -> Option<By> {
        transform::location_and_scale(law, arguments)
            .map(By::LocationAndScale)
            .or_else(|| Standard::of(law, arguments).map(By::Noises))
    }

    fn places(self) -> Vec<usize> {
        match self {
            By::LocationAndScale(places) => places.to_vec(),
            By::Noises(standard) => standard.places(),
        }
    }
}

/// Adds the coordinates of a choice whose arguments are fresh; false if there are none.
pub(super) fn position(trace: &Trace, id: NodeId, z: &mut Vec<f64>) -> bool {
    let node = trace.node(id);
    match By::of(node.op_name(), node.args.len()) {
        Some(By::LocationAndScale(places)) => {
            let [location, scale] =
                places.map(|k| trace.settled_value(&node.args[k].operand).as_number());
            let (Some(x), Some(location), Some(scale)) = (node.value.as_number(), location, scale)
            else {
                return false;
            };
            z.push((x - location) / scale);
            z.last().is_some_and(|z| z.is_finite())
        }
        Some(By::Noises(standard)) => {
            let found = trace.with_args(id, |args| standard.coordinates(&node.value, args));
            found.map(|found| z.extend(found)).is_some()
        }
        None => false,
    }
}

impl Compiler<'_> {
    /// Whether something that a choice is standardised by depends on the block.
    pub(super) fn hangs_on_block(&self, id: NodeId, by: By) -> bool {
        let node = self.trace.node(id);
        by.places().iter().any(|k| self.is_in_block(&node.args[*k].operand))
    }

    /// The marked value of a choice in such coordinates; none if its arguments are not what they are to be.
    pub(super) fn standardise(&mut self, id: NodeId, by: By) -> Compiled<Option<Value>> {
        let operands: Vec<Operand> =
            self.trace.node(id).args.iter().map(|arg| arg.operand.clone()).collect();
        let mut args = Vec::with_capacity(operands.len());
        for operand in &operands {
            args.push(self.argument(operand, true)?);
        }
        let size = self.placed[&id].size as u32;
        let first = self.placed[&id].first as u32;
        if by == By::Noises(Standard::Factor { is_given: false }) {
            let Some(factor) = self.factor(&args[1]) else { return Ok(None) };
            args[1] = factor;
        }
        let Some(parts) = Parts::of(by, &args, size) else { return Ok(None) };
        let z = self.globals.leaf(size, Source::Input(first));
        let x = self.lowered(id, true, |program| parts.value(program, z, size))?;
        self.locations.extend(parts.locations.iter().map(|m| self.globals.register(*m)));
        self.scales.extend(parts.scales.iter().map(|s| self.globals.register(*s)));
        self.placed.entry(id).and_modify(|placed| placed.standardised = Some(z));
        Ok(Some(x))
    }

    /// The Cholesky factor of a covariance.
    fn factor(&mut self, covariance: &Value) -> Option<Value> {
        let marks: Vec<u64> =
            lower::numbers(covariance).ok()?.iter().map(|x| x.to_bits()).collect();
        if let Some(known) = self.factors.get(&marks) {
            return Some(known.clone());
        }
        let covariance = std::slice::from_ref(covariance);
        let factor = lower::aggregate(&mut self.globals, step("cholesky"), covariance).ok()?;
        self.factors.insert(marks, factor.clone());
        Some(factor)
    }

    /// The log density of standard normal numbers that are coordinates, in the row at hand: −z·z/2 and its constant.
    pub(super) fn standard_normal(&mut self, z: Register, size: usize) {
        let marks: Vec<f64> =
            (z..z + size as u32).map(|register| self.globals.mark(register)).collect();
        let z = self.row.range(&marks);
        let square = self.row.push(Op::Dot { a: z, b: z, len: size as u32 }, 1);
        let square = self.row.mark(square);
        let half = self.row.elementary(Elementary::Multiply, -0.5, square);
        let constant = size as f64 * HALF_LN_2PI;
        let log_density = self.row.elementary(Elementary::Subtract, half, constant);
        self.row.term(log_density);
    }

    /// Whether a choice of the block is made of coordinates that are standard normal.
    pub(super) fn is_of_noises(&self, id: NodeId) -> bool {
        let node = self.trace.node(id);
        let NodeOp::Random(distribution) = &node.op else { return false };
        matches!(By::of(distribution.spec().name, node.args.len()), Some(By::Noises(_)))
    }
}

/// What x is made of, besides z.
struct Parts {
    made: Made,
    locations: Vec<f64>,
    /// Their logarithms add up to log|dx/dz|.
    scales: Vec<f64>,
}

enum Made {
    Number,
    Each,
    Path { coefficients: Vec<f64> },
    Factor { lower: Value },
}

impl Parts {
    /// The factor of a covariance stands in its place.
    fn of(by: By, args: &[Value], size: u32) -> Option<Parts> {
        let size = size as usize;
        let number = |place: usize| args.get(place)?.as_number();
        let vector = |place: usize| lower::numbers(args.get(place)?).ok();
        let fits = |xs: &Vec<f64>| xs.len() == size;
        match by {
            By::LocationAndScale([location, scale]) => {
                let (locations, scales) = (vec![number(location)?], vec![number(scale)?]);
                Some(Parts { made: Made::Number, locations, scales })
            }
            By::Noises(Standard::Each) => {
                let locations = vector(0).filter(fits)?;
                let scales = vector(1).filter(fits)?;
                Some(Parts { made: Made::Each, locations, scales })
            }
            By::Noises(Standard::Path { coefficients, sd, level }) => {
                let coefficients = coefficients.map_or(Some(vec![1.0]), vector)?;
                let level = level.map_or(Some(0.0), number)?;
                let scales = vec![number(sd)?; size];
                let made = Made::Path { coefficients };
                Some(Parts { made, locations: vec![level], scales })
            }
            By::Noises(Standard::Factor { .. }) => {
                let locations = vector(0).filter(fits)?;
                let lower = args[1].clone();
                let Value::Matrix(entries) = &lower else { return None };
                if (entries.rows(), entries.cols()) != (size, size) {
                    return None;
                }
                let scales = (0..size).map(|k| entries.get(k, k)).collect();
                Some(Parts { made: Made::Factor { lower }, locations, scales })
            }
        }
    }

    /// The marked x of the z that begin at a register.
    fn value(&self, program: &mut Program, z: Register, size: u32) -> Result<Value, Obstacle> {
        use Elementary::{Add, Multiply};
        let z: Vec<f64> = (z..z + size).map(|register| program.mark(register)).collect();
        let Parts { made, locations, scales } = self;
        match made {
            Made::Number | Made::Each => {
                let mut x = Vec::with_capacity(z.len());
                for ((z, m), s) in z.iter().zip(locations).zip(scales) {
                    let step = program.elementary(Multiply, *s, *z);
                    x.push(program.elementary(Add, *m, step));
                }
                Ok(match made {
                    Made::Number => Value::Number(x[0]),
                    _ => Value::vector(x),
                })
            }
            Made::Path { coefficients } => {
                let (sd, level) = (Value::Number(scales[0]), Value::Number(locations[0]));
                let args = [Value::vector(coefficients.clone()), sd, level, Value::vector(z)];
                lower::aggregate(program, &PATH, &args)
            }
            Made::Factor { lower } => {
                let product = step("matrix_times_vector");
                let args = [lower.clone(), Value::vector(z)];
                let steps = lower::numbers(&lower::aggregate(program, product, &args)?)?;
                let each = locations.iter().zip(&steps);
                Ok(Value::vector(
                    each.map(|(m, step)| program.elementary(Add, *m, *step)).collect::<Vec<_>>(),
                ))
            }
        }
    }
}

fn step(name: &str) -> &'static smooth::Aggregate {
    match smooth::find(name) {
        Some(Smooth::Aggregate(found)) => found,
        _ => unreachable!("{name} is a procedure of the language"),
    }
}
