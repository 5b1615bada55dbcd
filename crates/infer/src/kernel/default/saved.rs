//! What the default kernel has learnt, as bytes. Plans, compiled densities and room for moves are made anew; so are windows
//! that the warm-up learns from, which checkpoints of draws do not need.

use rustc_hash::FxHashMap;
use smidgen_value::bytes::{Bytes, Input};

use super::AutoKernel;
use crate::block::{Block, Scope, Target};
use crate::kernel::subsampled_mh::SubsampledMh;

impl AutoKernel {
    pub(super) fn save_learnt(&self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let AutoKernel {
            plan,
            reference,
            nuts,
            standardised,
            singles: _,
            subsampled,
            walls,
            rounds,
            forms,
            sweeps,
            structure: _,
            stuck,
            stream,
        } = self;
        plan.save(out)?;
        reference.save(out)?;
        nuts.save(out);
        standardised.save(out);
        let mut tall: Vec<(&u64, &SubsampledMh)> = subsampled.iter().collect();
        tall.sort_by_key(|(address, _)| **address);
        tall.len().put(out);
        for (address, kernel) in tall {
            address.put(out);
            kernel.save_learnt(out);
        }
        walls.save(out)?;
        rounds.number.put(out);
        forms.save(out);
        sweeps.put(out);
        stuck.put(out);
        stream.put(out);
        Ok(())
    }

    pub(super) fn load_learnt(&mut self, from: &mut Input<'_>) -> Option<()> {
        self.plan.load(from)?;
        self.reference.load(from)?;
        self.nuts.load(from)?;
        self.standardised.load(from)?;
        self.subsampled = FxHashMap::default();
        for _ in 0..from.count(8)? {
            let address = u64::take(from)?;
            let target = Target { scope: Scope::Default, block: Block::Each };
            let mut kernel = SubsampledMh::automatic(target);
            kernel.load_learnt(from)?;
            self.subsampled.insert(address, kernel);
        }
        self.walls.load(from)?;
        self.rounds.number = Bytes::take(from)?;
        self.forms.load(from)?;
        self.sweeps = Bytes::take(from)?;
        self.stuck = Bytes::take(from)?;
        self.stream = Bytes::take(from)?;
        Some(())
    }
}
