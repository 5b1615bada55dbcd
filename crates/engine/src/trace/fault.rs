//! Mistakes that were made once and can be put back, one at a time, so that tests can show that they
//! would notice them.
//!
//! Code that was mended asks [`Trace::has_fault`] where the mistake was. Without the feature `twins`, which
//! only the test kit switches on, the answer is the constant false and nothing is left of it.

use crate::trace::Trace;

/// A mistake of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A branch that no density reads does not stop its condition from moving in a joint block, and
    /// does not follow the move.
    UnreadBranch,
    /// A procedure that stops where it has no value does no harm where no density reads it.
    UnreadStop,
    /// A branch that goes another way after a joint move draws what it makes from a stream of
    /// constant seed, and nothing is weighed for that.
    ConstantSeed,
    /// Gibbs reads the prior of a choice from arguments that an accepted move has left stale.
    StaleArguments,
    /// A round is planned from the state at its start, though its own moves change what the plan hangs on.
    PlanOfTheStart,
    /// Particles beside the trace go on with their own values instead of their ancestors'.
    OwnValues,
    /// A particle that leaves a domain keeps a weight of 1.
    LostLanes,
    /// What rows have beyond their polynomials is taken for nothing.
    NoBounds,
    /// What control variates take from the sections is not added to the global part.
    NoSums,
    /// A density that was kept counts whatever values its arguments have now.
    KeptDensity,
    /// A scaffold that was kept counts whatever edges have come and gone.
    KeptScaffold,
    /// Sums and bounds over rows count whatever rows have come.
    KeptRows,
    /// Who leaves a cluster does not take his terms off its sums and bounds.
    KeptMembers,
    /// Sections are read in the order that their roster had before some came and went.
    KeptOrder,
}

impl Trace {
    /// Puts a mistake back, or takes it away.
    #[cfg(feature = "twins")]
    pub fn put_fault(&mut self, fault: Option<Fault>) {
        self.fault = fault;
    }

    /// Whether a mistake was put back.
    #[inline(always)]
    pub fn has_fault(&self, fault: Fault) -> bool {
        #[cfg(feature = "twins")]
        let has = self.fault == Some(fault);
        #[cfg(not(feature = "twins"))]
        let has = {
            let _ = fault;
            false
        };
        has
    }
}
