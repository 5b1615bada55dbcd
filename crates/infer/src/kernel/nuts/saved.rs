//! What blocks have learnt, as bytes. A block that is taken back is compiled when it is next moved.

use smidgen_engine::{EvalError, Trace};
use smidgen_value::bytes::{Bytes, Input};
use smidgen_value::bytes_of_fields;

use super::{Blocks, Known};
use crate::hamiltonian::Smoothed;
use crate::hamiltonian::learning::Learning;
use crate::hamiltonian::trajectory::Sampler;
use crate::run::Phase;

/// What a checkpoint holds of a block.
pub(super) struct Learnt {
    learning: Learning,
    made: u64,
    planned: Option<u64>,
    warned: bool,
}

bytes_of_fields!(Learnt { learning, made, planned, warned });

impl Learnt {
    /// The block as it was left, for a density that was compiled anew.
    pub fn with(
        self,
        smoothed: Smoothed,
        trace: &mut Trace,
        phase: Phase,
    ) -> Result<Known, EvalError> {
        let at = smoothed.start(trace, "nuts")?;
        let sampler = Sampler::new(at.z.len());
        let Learnt { mut learning, made, mut planned, warned } = self;
        if phase == Phase::Warmup {
            learning.reopen();
            planned = None;
        }
        Ok(Known { smoothed, sampler, learning, at, made, planned, warned })
    }

    /// Whether it was learnt in so many coordinates.
    pub fn fits(&self, smoothed: &Smoothed) -> bool {
        self.learning.metric().size() == smoothed.dimension()
    }
}

impl Blocks {
    pub(in crate::kernel) fn save(&self, out: &mut Vec<u8>) {
        // Where a block was left is the state; what somebody has offered is offered again.
        let Blocks { options: _, form: _, step: _, known, last: _, metric, offered: _, learnt } =
            self;
        let mut blocks: Vec<&Vec<u64>> = known.keys().chain(learnt.keys()).collect();
        blocks.sort();
        blocks.len().put(out);
        for key in blocks {
            key.put(out);
            match known.get(key) {
                Some(Known { smoothed: _, sampler: _, learning, at: _, made, planned, warned }) => {
                    learning.put(out);
                    made.put(out);
                    planned.put(out);
                    warned.put(out);
                }
                None => learnt[key].put(out),
            }
        }
        metric.put(out);
    }

    pub(in crate::kernel) fn load(&mut self, from: &mut Input<'_>) -> Option<()> {
        self.learnt = Bytes::take(from)?;
        self.metric = Bytes::take(from)?;
        Some(())
    }
}
