//! What blocks have learnt, as bytes. A reference of a block that nothing else moves is a function of the program and its data: that
//! it serves is all there is to write, and it is made again. One that was found from where the rest stood in the warm-up is not,
//! and is not written. But for members that come and go: that one is a few numbers, which are.

use smidgen_value::bytes::{Bytes, Input};

use super::{Blocks, Known};

impl Blocks {
    pub(in crate::kernel) fn save(&self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let Blocks { want: _, known, places, learnt, members, last: _ } = self;
        let mut all = learnt.clone();
        for (key, place) in places {
            let found = match &known[*place] {
                Ok(known) if known.is_of_the_rest() => continue,
                Ok(Known::Tall(tall)) if !tall.is_alone => return Err(OF_A_STATE),
                Ok(Known::Patched(patched)) if !patched.is_alone => return Err(OF_A_STATE),
                Ok(_) => Ok(()),
                Err(why) => Err(why.clone()),
            };
            all.insert(key.clone(), found);
        }
        all.put(out);
        members.save(out);
        Ok(())
    }

    pub(in crate::kernel) fn load(&mut self, from: &mut Input<'_>) -> Option<()> {
        self.learnt = Bytes::take(from)?;
        self.members.load(from)
    }

    /// Whether the warm-up had found a reference for a block that was not moved since.
    pub(super) fn is_learnt(&self, key: &[u64]) -> bool {
        matches!(self.learnt.get(key), Some(Ok(())))
    }
}

const OF_A_STATE: &str = "its reference was found from where other choices stood in the warm-up";
