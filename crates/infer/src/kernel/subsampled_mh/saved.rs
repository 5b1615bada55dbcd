//! What the kernel has learnt, as bytes: the scale of its walk, how it decides, and its stream for audits.

use smidgen_value::bytes::{Bytes, Input};

use super::{Policy, SubsampledMh};
use crate::acceptance::StudentT;

impl SubsampledMh {
    pub(in crate::kernel) fn save_learnt(&self, out: &mut Vec<u8>) {
        let SubsampledMh {
            target: _,
            proposer,
            policy,
            trials,
            audit: _,
            aside,
            warm,
            looked,
            // Room for moves, and polynomials at a point that does not hang on the state.
            exact: _,
            scaffold: _,
            partition: _,
            evaluator: _,
            orders: _,
            weights: _,
            variates: _,
            spare: _,
        } = self;
        proposer.save(out);
        match policy {
            // As it was written.
            Policy::Test { .. } if trials.is_none() => out.push(0),
            Policy::Test { test: _, schedule, epsilon } => {
                out.push(1);
                schedule.put(out);
                epsilon.put(out);
            }
            Policy::Trial(trial) => {
                out.push(2);
                trial.put(out);
            }
            Policy::Exact => out.push(3),
        }
        trials.put(out);
        aside.put(out);
        warm.put(out);
        looked.put(out);
    }

    pub(in crate::kernel) fn load_learnt(&mut self, from: &mut Input<'_>) -> Option<()> {
        self.proposer.load(from)?;
        match u8::take(from)? {
            0 => {}
            1 => {
                let (schedule, epsilon) = (Bytes::take(from)?, f64::take(from)?);
                let test = Box::new(StudentT::new(schedule, epsilon));
                self.policy = Policy::Test { test, schedule, epsilon };
            }
            2 => self.policy = Policy::Trial(Bytes::take(from)?),
            3 => self.policy = Policy::Exact,
            _ => return None,
        }
        self.trials = Bytes::take(from)?;
        self.aside = Bytes::take(from)?;
        self.warm = Bytes::take(from)?;
        self.looked = Bytes::take(from)?;
        Some(())
    }
}
