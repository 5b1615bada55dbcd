//! Angles move on the circle: no kernel sees an end at π.

use smidgen_engine::Scaffold;
use smidgen_infer::Tally;
use smidgen_infer::kernel::slice::Conditional;
use smidgen_infer::kernel::slice::neal::{Interval, Slice};
use smidgen_prob::support::{TURN, wrap};
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::invariance::Story;
use smidgen_testkit::{PValue, World};
use smidgen_value::math;

/// Around the cut; observed by angles and by a number that has a jump there.
const AROUND: Story<'static> = Story {
    prior: "[assume a (vonmises 3.1 2)] [assume k (gamma 3 1)] [assume b (vonmises a (+ k 0.1))]",
    data: &["(vonmises a 3)", "(vonmises b k)", "(normal (* 0.3 a) 1)", "(normal (cos b) 0.5)"],
    look: &["a", "b", "(sin a)", "(cos (- a b))", "k"],
};

/// A sweep of slices through a power of each density.
fn lukewarm(world: &mut World) {
    let World { model, rng, .. } = world;
    let trace = model.trace_mut();
    for (_, choice) in trace.choices_by_address() {
        let mut scaffold = Scaffold::new();
        let mut conditional = Conditional::of(trace, &mut scaffold, &[choice], "twin").unwrap();
        let slice = conditional.slice(rng);
        let is_angle = slice.low < -1e300;
        let place = |x: f64| if is_angle { wrap(x) } else { x };
        let level = slice.level - 0.75 * conditional.log_density(slice.x0).unwrap();
        let slice = Slice { level, ..slice };
        let f = &mut |x: f64| Ok(0.25 * conditional.log_density(place(x))?);
        let left = slice.x0 - TURN * rng.uniform();
        let turn = Interval { left, right: left + TURN };
        let x = slice.shrink(turn, f, rng, &mut |_, _| Ok(true)).unwrap();
        conditional.commit(place(x), &mut Tally::default()).unwrap();
    }
}

fn kept(kernel: &'static str) -> impl FnMut(usize, u64) -> PValue {
    move |repeats, seed| AROUND.test(repeats, seed, |world| world.infer(kernel))
}

#[test]
fn kernels_keep_the_law_of_angles() {
    let slices = "(cycle ((slice default each 1) (slice_doubling default each 1)) 1)";
    for (test, kernel) in [
        ("exact start: angles by slices", slices),
        ("exact start: angles by walks", "(mh default each 'drift 1.5 3)"),
        ("exact start: angles by trajectories", "(hmc default all 0.3 5 3)"),
        ("exact start: default kernel, angles", "2"),
    ] {
        demand(test, 500, kept(kernel));
        catches(test, "a flatter density", 500, |repeats, seed| {
            AROUND.test(repeats, seed, |world| (0..3).for_each(|_| lukewarm(world)))
        });
    }
}

const OBSERVED: [f64; 5] = [3.0, -3.05, 2.7, -2.6, 3.12];

/// E cos a and E sin a by the trapezoidal rule, which is exact to rounding for what is periodic and smooth, and
/// the probability of a > 0, where the rule has an error of the step.
fn integrated() -> [f64; 3] {
    let steps = 20_000;
    let mut sums = [0.0; 4];
    for k in 0..steps {
        let a = -std::f64::consts::PI + TURN * (f64::from(k) + 0.5) / f64::from(steps);
        let log_p =
            4.0 * math::cos(a - 3.1) + OBSERVED.iter().map(|y| 1.5 * math::cos(y - a)).sum::<f64>();
        let p = math::exp(log_p - 11.5);
        let above = if a > 0.0 { p } else { 0.0 };
        for (sum, term) in sums.iter_mut().zip([p, p * math::cos(a), p * math::sin(a), above]) {
            *sum += term;
        }
    }
    [sums[1] / sums[0], sums[2] / sums[0], sums[3] / sums[0]]
}

/// Against numerical integration, by each kernel; both sides of the cut are visited again and again.
#[test]
fn a_posterior_across_the_cut() {
    let observed: String =
        OBSERVED.iter().map(|y| format!("[observe (vonmises a 1.5) {y}]")).collect();
    let text = format!("[assume a (vonmises 3.1 4)] {observed}");
    let expected = integrated();
    let n = 6000;
    for kernel in
        ["3", "(nuts default all 1)", "(slice default one 2)", "(mh default one 'drift 0.6 10)"]
    {
        let mut world = World::new(&text, 7);
        world.infer(&format!("(repeat 200 {kernel})"));
        let mut program = world.program(kernel);
        let (mut sums, mut squares, mut crossings, mut before) = ([0.0; 3], [0.0; 3], 0, true);
        for _ in 0..n {
            world.step(&mut program);
            let a = world.number("a");
            assert!(a > -std::f64::consts::PI - 1e-15 && a <= std::f64::consts::PI, "{a}");
            crossings += u32::from((a > 0.0) != before);
            before = a > 0.0;
            for (k, x) in [math::cos(a), math::sin(a), f64::from(a > 0.0)].into_iter().enumerate() {
                sums[k] += x;
                squares[k] += x * x;
            }
        }
        assert!(crossings > n / 10, "{kernel}: {crossings} crossings");
        for k in 0..3 {
            let mean = sums[k] / f64::from(n);
            let sd = (squares[k] / f64::from(n) - mean * mean).sqrt();
            // As if every sixth draw counted, five standard errors.
            let slack = 5.0 * sd / (f64::from(n) / 6.0).sqrt();
            assert!((mean - expected[k]).abs() < slack, "{kernel} {k}: {mean} {}", expected[k]);
        }
    }
}
