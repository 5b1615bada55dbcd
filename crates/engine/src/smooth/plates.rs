//! Plates as terms of a density: they read and pull registers of the global part.

use super::compile::{Compiled, Compiler, Failure};
use crate::id::NodeId;
use crate::operand::Operand;
use crate::plate::{Plate, PlateScratch};
use crate::program::{Register, lower};
use crate::trace::node::Op as NodeOp;

pub(crate) struct PlateTerm {
    pub(crate) plate: Plate,
    /// Where the numbers around it stand.
    pub(crate) registers: Vec<Register>,
    numbers: Vec<f64>,
    slopes: Vec<f64>,
    desk: PlateScratch,
}

impl PlateTerm {
    pub(super) fn new(plate: Plate, registers: Vec<Register>, threads: usize) -> PlateTerm {
        let zeros = vec![0.0; registers.len()];
        let (numbers, slopes) = (zeros.clone(), zeros);
        PlateTerm { plate, registers, numbers, slopes, desk: PlateScratch::with_threads(threads) }
    }

    pub(crate) fn threads(&self) -> usize {
        self.desk.threads
    }

    /// Σ of the rows, without slopes; −∞ where it is no finite number.
    pub(crate) fn value(&mut self, globals: &[f64]) -> f64 {
        for (number, register) in self.numbers.iter_mut().zip(&self.registers) {
            *number = globals[*register as usize];
        }
        self.plate.total(&mut self.desk, &self.numbers).unwrap_or(f64::NEG_INFINITY)
    }

    /// Gives the registers that it reads other names.
    pub(super) fn rename(&mut self, name: impl Fn(Register) -> Register) {
        self.registers.iter_mut().for_each(|register| *register = name(*register));
    }

    pub(super) fn rows(&self) -> usize {
        self.plate.rows()
    }

    /// Σ of the rows; adds the slopes of the global registers.
    pub(super) fn evaluate(&mut self, globals: &[f64], slopes: &mut [f64]) -> f64 {
        for (number, register) in self.numbers.iter_mut().zip(&self.registers) {
            *number = globals[*register as usize];
        }
        self.slopes.fill(0.0);
        let log_p = self.plate.total_with_slopes(&mut self.desk, &self.numbers, &mut self.slopes);
        for (slope, register) in self.slopes.iter().zip(&self.registers) {
            slopes[*register as usize] += slope;
        }
        log_p
    }
}

impl Compiler<'_> {
    /// The rows of a plate: a term with a program of its own.
    pub(super) fn plate(&mut self, id: NodeId) -> Compiled<PlateTerm> {
        let node = self.trace.node(id);
        let NodeOp::Plate(plate) = &node.op else { unreachable!("asked for a plate") };
        let plate = (**plate).clone();
        let operands: Vec<Operand> = node.args.iter().map(|arg| arg.operand.clone()).collect();
        let (mut registers, mut values) = (Vec::new(), Vec::new());
        for operand in &operands {
            let value = self.argument(operand, true)?;
            let numbers = lower::numbers(&value).map_err(|reason| Failure::At(id, reason))?;
            registers.extend(self.globals.registers(&numbers));
            values.push(value);
        }
        for by in &plate.program.links {
            let eta = lower::eta(&mut self.globals, &values[by.argument], by.link);
            let eta = eta.map_err(|reason| Failure::At(id, reason))?;
            registers.push(self.globals.register(eta));
        }
        let jumps = registers.iter().any(|register| self.globals.jumps(*register));
        if (plate.program.jumps || jumps) && !plate.program.is_wall {
            return Err(Failure::Jumps(id));
        }
        if registers.len() != plate.numbers() {
            let reason = "the values around a plate have changed their form".to_owned();
            return Err(Failure::At(id, reason));
        }
        let threads = self.trace.desk().threads;
        Ok(PlateTerm::new(plate, registers, threads))
    }
}
