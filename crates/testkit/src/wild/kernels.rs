//! The kernels that are run on random programs. Scopes are those of [`super::writer`].

use smidgen_infer::kernel::Kernel;
use smidgen_infer::kernel::default::AutoKernel;
use smidgen_infer::run::Log;

use crate::world::World;

/// Step size of the trajectories of the default kernel.
const STEP: f64 = 0.35;

/// What is done to a state, with nothing learnt from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// So many sweeps of the default kernel. Its step size is given: a kernel that has yet to find one moves
    /// choices one by one, and its joint block would not be tested.
    Sweeps(usize),
    /// The same, but choices that no observation depends on move as all others instead of being drawn anew: in programs
    /// without observations nothing else would be tested.
    IdleSweeps(usize),
    /// The same, as if a warm-up had found that only some of the choices may move together, and that walls hold
    /// some: users get kernels like that.
    SettledSweeps(usize),
    /// The same, and some choices that no observation depends on are drawn forward, others moved.
    ForwardSweeps(usize),
    /// An inference program.
    Program(&'static str),
}

/// The default kernel, which has to take every program. Some mistakes are small in one sweep, and
/// add up.
pub const DEFAULT: [Moves; 7] = [
    Moves::IdleSweeps(1),
    Moves::Sweeps(2),
    Moves::SettledSweeps(2),
    Moves::IdleSweeps(3),
    Moves::IdleSweeps(8),
    Moves::SettledSweeps(4),
    Moves::ForwardSweeps(3),
];

/// Every other kernel, before and after others, more than once: what one leaves stale or changes, another has to find, also where it
/// follows a plan that it made before. They may refuse a program.
pub const OTHERS: &[Moves] = &[
    Moves::Program("(mh default one 6)"),
    Moves::Program("(mh default each 1)"),
    Moves::Program("(mh default one 'drift 0.7 6)"),
    Moves::Program("(mh default all 'drift 0.2 2)"),
    Moves::Program("(cycle ((gibbs finite each 1) (mh default one 2)) 2)"),
    Moves::Program("(cycle ((mh default one 2) (gibbs finite one 2)) 2)"),
    Moves::Program("(cycle ((nuts smooth all 'step 0.3 1) (gibbs finite each 1)) 3)"),
    Moves::Program(
        "(cycle ((gibbs finite each 1) (nuts smooth all 'step 0.3 1) (mh default one 3)) 2)",
    ),
    Moves::Program("(cycle ((hmc smooth all 0.2 4 1) (gibbs finite each 1)) 2)"),
    Moves::Program(
        "(cycle ((subsampled_mh default one 10 0 'drift 0.5 3) (gibbs finite each 1)) 2)",
    ),
    Moves::Program("(cycle ((slice line each 1) (gibbs finite each 1)) 1)"),
    Moves::Program(
        "(cycle ((slice line one 2) (nuts smooth all 'step 0.3 1) (mh default one 2)) 1)",
    ),
    Moves::Program("(cycle ((pgibbs finite ordered 4 1) (mh default one 2)) 2)"),
    Moves::Program("(cycle ((nuts smooth each 'step 0.4 1) (pgibbs finite ordered 4 1)) 2)"),
    Moves::Program("(cycle ((slice_doubling line each 1) (hmc smooth each 0.3 3 1)) 1)"),
    Moves::Program(
        "(cycle ((subsampled_mh smooth each 5 0 'drift 0.4 1) (nuts smooth all 'step 0.3 1) (gibbs finite each 1)) 2)",
    ),
];

impl Moves {
    pub fn is_default(self) -> bool {
        !matches!(self, Moves::Program(_))
    }

    pub fn make(self, world: &mut World) -> Result<(), String> {
        match self {
            Moves::Program(text) => {
                let mut program = world.program(text);
                world.try_step(&mut program)
            }
            Moves::Sweeps(n) => sweeps(world, AutoKernel::with_step(STEP), n),
            Moves::IdleSweeps(n) => sweeps(world, AutoKernel::with_step(STEP).moving_idle(), n),
            Moves::SettledSweeps(n) => sweeps(world, settled().moving_idle(), n),
            Moves::ForwardSweeps(n) => sweeps(world, settled(), n),
        }
    }
}

/// For half of the choices, with some that walls hold. Addresses are hashes.
fn settled() -> AutoKernel {
    AutoKernel::with_step(STEP)
        .settled_for(|address| address.is_multiple_of(2))
        .walled_for(|address| address % 4 == 1, |address| address % 5 == 1)
}

fn sweeps(world: &mut World, mut kernel: AutoKernel, n: usize) -> Result<(), String> {
    let World { model, rng, run, .. } = world;
    let mut log = Log::open(run, 0);
    let mut sweep = || kernel.transition(model.trace_mut(), rng, &mut log);
    let done = (0..n).try_for_each(|_| sweep());
    log.close();
    done.map_err(|error| error.to_string())
}
