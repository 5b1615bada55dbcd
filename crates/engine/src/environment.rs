//! Frames of operands. A frame is immutable once filled; only `letrec` sees one before that.

use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use crate::operand::Operand;

#[derive(Clone, Debug, Default)]
pub struct Environment(Option<Arc<Frame>>);

type Slots = SmallVec<[Operand; 2]>;

#[derive(Debug)]
struct Frame {
    slots: Slots,
    /// For `letrec`: the slots come later, here.
    late: Option<Box<OnceLock<Slots>>>,
    parent: Environment,
}

impl Frame {
    #[inline]
    fn slots(&self) -> Option<&Slots> {
        match &self.late {
            None => Some(&self.slots),
            Some(late) => late.get(),
        }
    }
}

impl Environment {
    pub fn push(&self, slots: impl IntoIterator<Item = Operand>) -> Environment {
        let slots = slots.into_iter().collect();
        Environment(Some(Arc::new(Frame { slots, late: None, parent: self.clone() })))
    }

    /// A frame whose slots come later, by [`Environment::fill`].
    pub fn push_empty(&self) -> Environment {
        let late = Some(Box::default());
        Environment(Some(Arc::new(Frame { slots: Slots::new(), late, parent: self.clone() })))
    }

    /// Fills the innermost frame.
    pub fn fill(&self, slots: impl IntoIterator<Item = Operand>) {
        let frame = self.0.as_ref().expect("an empty frame was pushed");
        let late = frame.late.as_ref().expect("an empty frame was pushed");
        let filled = late.set(slots.into_iter().collect());
        debug_assert!(filled.is_ok(), "a frame is filled once");
    }

    /// The slots of each frame, innermost first; none in one that is not filled yet.
    pub(crate) fn frames(&self) -> impl Iterator<Item = &[Operand]> {
        let frames = std::iter::successors(self.0.as_deref(), |frame| frame.parent.0.as_deref());
        frames.map(|frame| frame.slots().map_or(&[][..], |slots| &slots[..]))
    }

    /// None while the frame is not filled yet.
    #[inline]
    pub fn get(&self, depth: u32, slot: u32) -> Option<&Operand> {
        let mut frame = self.0.as_ref();
        for _ in 0..depth {
            frame = frame.and_then(|f| f.parent.0.as_ref());
        }
        frame.and_then(|f| f.slots()).and_then(|slots| slots.get(slot as usize))
    }
}

/// Frames may hold procedures that hold frames, to any depth: dropping grows the stack.
impl Drop for Frame {
    fn drop(&mut self) {
        let holds_frames =
            |slot: &Operand| matches!(slot.constant(), Some(v) if v.as_procedure().is_some());
        if self.parent.0.is_some() || self.late.is_some() || self.slots.iter().any(holds_frames) {
            let parent = std::mem::take(&mut self.parent);
            let (slots, late) = (std::mem::take(&mut self.slots), self.late.take());
            stacker::maybe_grow(64 << 10, 1 << 20, || drop((slots, late, parent)));
        }
    }
}
