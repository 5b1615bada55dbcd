//! Geweke's joint test and simulation-based calibration of the kernels users call.

use smidgen_testkit::World;
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::invariance::Story;
use smidgen_testkit::twins::{LyingDrift, no_jacobian, prefers_up, single_site};

const NORMAL: Story<'static> = Story {
    prior: "[assume m (normal 0 1)]",
    data: &["(normal m 1)", "(normal m 0.7)"],
    look: &["m"],
};

const RATE: Story<'static> = Story {
    prior: "[assume r (gamma 3 2)] [assume quiet (flip 0.4)]",
    data: &["(poisson (if quiet (* 0.3 r) r))"],
    look: &["r", "quiet"],
};

const COIN: Story<'static> = Story {
    prior: "[assume fair (flip 0.7)] [assume p (if fair 0.5 (beta 1 1))]",
    data: &["(binomial 3 p)"],
    look: &["(if fair 1 0)"],
};

/// One inference program, read once and run many times.
fn runs(text: &'static str) -> impl FnMut(&mut World) {
    let mut program = None;
    move |world| {
        let program = program.get_or_insert_with(|| world.program(text));
        world.step(program);
    }
}

fn lies(scale: f64, lie: fn(f64, f64, f64) -> f64) -> impl FnMut(&mut World) {
    move |world| {
        for _ in 0..3 {
            single_site(world, &mut LyingDrift { scale, lie }, true);
        }
    }
}

#[test]
fn geweke_of_a_normal_mean() {
    let test = "geweke: normal";
    demand(test, 3000, |n, seed| NORMAL.geweke(n, seed, runs("(mh default one 'drift 1 3)")));
    catches(test, "claims that up is easier", 3000, |n, seed| {
        NORMAL.geweke(n, seed, lies(1.0, prefers_up))
    });
}

#[test]
fn geweke_of_a_rate_and_a_branch() {
    let test = "geweke: gamma poisson";
    demand(test, 3000, |n, seed| {
        RATE.geweke(
            n,
            seed,
            runs("(mixture (1 (mh default one 'drift 1 1) 1 (mh default all 1) 1 1) 3)"),
        )
    });
    catches(test, "no Jacobian", 3000, |n, seed| RATE.geweke(n, seed, lies(1.0, no_jacobian)));
}

#[test]
fn calibration_of_a_normal_mean() {
    let test = "sbc: normal";
    demand(test, 500, |n, seed| NORMAL.sbc(n, seed, 10, runs("(mh default one 'drift 1.2 1)")));
    catches(test, "claims that up is easier", 500, |n, seed| {
        NORMAL.sbc(n, seed, 4, lies(1.2, prefers_up))
    });
}

#[test]
fn calibration_of_a_coin_in_a_branch() {
    let test = "sbc: coin";
    demand(test, 500, |n, seed| COIN.sbc(n, seed, 10, runs("(mh default one 1)")));
    catches(test, "accepts without counting blocks", 500, |n, seed| {
        COIN.sbc(n, seed, 10, |world| {
            single_site(world, &mut smidgen_engine::proposal::FromPrior, false);
        })
    });
}
