//! Steps whose results nobody reads: e^η where the density reads η, and the column of the node holds η too. A step
//! that cannot fail and is not read is not run.

use crate::program::lanes::{Action, Call, Held, Kind, LaneProgram};
use crate::program::template::each_register;
use crate::program::{Register, Step};

/// Registers that are read.
struct Reads {
    is_read: Vec<bool>,
}

impl Reads {
    fn registers(&mut self, registers: &[Register]) {
        registers.iter().for_each(|register| self.is_read[*register as usize] = true);
    }

    /// Whoever takes a number that is known by what a link makes of another one reads that.
    fn held(&mut self, held: &Held, kinds: &dyn Fn(Register) -> Kind) {
        let Held::Marked(value) = held else { return };
        each_register(value, &mut |register| {
            let read = match kinds(register) {
                Kind::Linked(_, eta) => eta,
                Kind::Number | Kind::Truth => register,
            };
            self.is_read[read as usize] = true;
        });
    }

    fn step(&mut self, step: &Step) {
        let mut reads = Vec::new();
        step.op.reads(&mut reads);
        self.registers(&reads);
    }
}

fn is_plain(call: &Call) -> bool {
    !call.may_fail && !call.steps.is_empty()
}

impl LaneProgram {
    /// Leaves out steps that nothing reads, where these are read at the end.
    pub(super) fn drop_unread<'h>(&mut self, held: impl Iterator<Item = &'h Held>) {
        let mut reads = Reads { is_read: vec![false; self.program.registers as usize] };
        held.for_each(|held| reads.held(held, &|register| self.kind(register)));
        let mut kept = Vec::with_capacity(self.actions.len());
        for action in std::mem::take(&mut self.actions).into_iter().rev() {
            match action {
                Action::Call(call) if is_plain(&call) => {
                    self.read_steps(call, &mut reads, &mut kept);
                }
                action => {
                    self.read_action(&action, &mut reads);
                    kept.push(action);
                }
            }
        }
        kept.reverse();
        self.actions = kept;
    }

    /// The steps of a call that are read, as calls of neighbouring ones, last to first.
    fn read_steps(&self, call: Call, reads: &mut Reads, kept: &mut Vec<Action>) {
        let mut end = call.steps.end;
        let keep = |steps: std::ops::Range<u32>, kept: &mut Vec<Action>| {
            if !steps.is_empty() {
                kept.push(Action::Call(Call { steps, ..call.clone() }));
            }
        };
        for number in call.steps.clone().rev() {
            let step = &self.program.steps[number as usize];
            let mut own = step.out..step.out + step.width;
            if own.any(|register| reads.is_read[register as usize]) {
                reads.step(step);
            } else {
                keep(number + 1..end, kept);
                end = number;
            }
        }
        keep(call.steps.start..end, kept);
    }

    /// All that an action reads which is not left out.
    fn read_action(&self, action: &Action, reads: &mut Reads) {
        let kinds = |register: Register| self.kind(register);
        let steps = match action {
            Action::Call(call) => {
                call.operands.iter().for_each(|held| reads.held(held, &kinds));
                call.plain.iter().for_each(|plain| reads.registers(&plain.args));
                &call.steps
            }
            Action::Switch(switch) => {
                reads.held(&switch.index, &kinds);
                for side in &switch.sides {
                    reads.held(&side.value, &kinds);
                    side.actions.iter().for_each(|action| self.read_action(action, reads));
                }
                &switch.steps
            }
        };
        self.steps(steps).iter().for_each(|step| reads.step(step));
    }
}
