//! Gibbs from exact draws: the check of theory 8.2, brushes of continuous choices, Neal's
//! algorithm 8 (a restaurant process over uncollapsed means) alone and with subsampled_mh.

use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::gibbs::{Mistake, move_by_hand};
use smidgen_testkit::invariance::Story;
use smidgen_testkit::{PValue, World, pvalue};

/// One inference program, read once and run many times.
fn runs(text: &'static str) -> impl FnMut(&mut World) {
    let mut program = None;
    move |world| {
        let program = program.get_or_insert_with(|| world.program(text));
        world.step(program);
    }
}

/// The first choice of scope z, by hand.
fn by_hand(mistake: Mistake) -> impl FnMut(&mut World) {
    move |world| {
        let scope = smidgen_value::Value::symbol("z");
        for k in 0..world.model.scopes().number_of_blocks(&scope) {
            let principal = world.model.scopes().block_at(&scope, k)[0];
            move_by_hand(world, Some(principal), mistake);
        }
    }
}

const BRUSH: &str = "[assume b (scope_include 'z 0 (flip 0.5))]
                     [assume mu (if b 1 (expon 1))]
                     [observe (normal mu 1) 2]";

/// P(b = 1 | y = 2) = .563115 and E[mu | b = 0, y] = 1.287600.
#[test]
fn the_check_of_the_theory() {
    let test = "gibbs: the check of theory 8.2";
    // A long chain of steps, thinned; mu has a move of its own only through the brush.
    let look = |kernel: &mut dyn FnMut(&mut World), draws: usize, seed: u64| {
        let mut world = World::new(BRUSH, seed);
        (0..50).for_each(|_| kernel(&mut world));
        let (mut heads, mut mus) = (0u64, Vec::new());
        for _ in 0..draws {
            (0..6).for_each(|_| kernel(&mut world));
            match world.value("b").truth() {
                Some(true) => heads += 1,
                _ => mus.push(world.number("mu")),
            }
        }
        let counts = [heads, draws as u64 - heads];
        let n = mus.len() as f64;
        let mean = mus.iter().sum::<f64>() / n;
        let variance = mus.iter().map(|mu| (mu - mean).powi(2)).sum::<f64>() / (n - 1.0);
        PValue::smallest_of(vec![
            pvalue::chi_square(&counts, &[0.563_115, 0.436_885]),
            pvalue::z(mean, 1.287_600, (variance / n).sqrt()),
        ])
    };
    demand(test, 2000, |draws, seed| look(&mut runs("(gibbs z 0 1)"), draws, seed));
    catches(test, "RedrawsCurrentBrush", 1000, |draws, seed| {
        look(&mut by_hand(Mistake::RedrawsCurrentBrush), draws, seed)
    });
}

#[test]
fn brushes_of_continuous_choices() {
    let story = Story {
        prior: "[assume k (scope_include 'z 0 (categorical (vector 0.5 0.2 0.3)))]
                [assume mu (cond ((= k 0) 1) ((= k 1) (expon 1)) (else (+ (normal 0 1) (gamma 2 1))))]",
        data: &["(normal mu 0.5)"],
        look: &["k", "mu"],
    };
    let test = "exact start: gibbs with a brush";
    demand(test, 1000, |n, seed| story.test(n, seed, runs("(gibbs z 0 3)")));
    let thrice = |mistake| {
        let mut step = by_hand(mistake);
        move |world: &mut World| (0..3).for_each(|_| step(world))
    };
    demand(test, 1000, |n, seed| story.test(n, seed, thrice(Mistake::None)));
    for mistake in [Mistake::RedrawsCurrentBrush, Mistake::DropsPrior] {
        catches(test, &format!("{mistake:?}"), 1000, |n, seed| {
            story.test(n, seed, thrice(mistake))
        });
    }
}

const MIXTURE: Story<'static> = Story {
    prior: "[assume crp (make_crp 2)]
            [assume z (mem (lambda (i) (scope_include 'z i (crp))))]
            [assume mean (mem (lambda (k) (scope_include 'm k (normal 0 1))))]
            [predict (mean (z 0))] [predict (mean (z 1))] [predict (mean (z 2))]
            [assume together (lambda (i j) (if (= (z i) (z j)) 1 0))]",
    data: &["(normal (mean (z 0)) 2)", "(normal (mean (z 1)) 2)"],
    look: &["(+ (together 0 1) (+ (together 0 2) (together 1 2)))", "(mean (z 0))"],
};

/// So many rounds of a wrong move, with others in between.
fn wrong(
    rounds: usize,
    mistake: Mistake,
    mut others: impl FnMut(&mut World),
) -> impl FnMut(&mut World) {
    let mut step = by_hand(mistake);
    move |world: &mut World| {
        for _ in 0..rounds {
            step(world);
            others(world);
        }
    }
}

/// The situation of Neal's algorithm 8.
#[test]
fn a_mixture_with_uncollapsed_means() {
    let test = "exact start: gibbs on a mixture";
    demand(test, 500, |n, seed| MIXTURE.test(n, seed, runs("(gibbs z each 4)")));
    catches(test, "CountsSingletonTwice", 600, |n, seed| {
        MIXTURE.test(n, seed, wrong(6, Mistake::CountsSingletonTwice, |_| {}))
    });
}

#[test]
fn a_mixture_in_a_cycle_with_sections() {
    let test = "exact start: gibbs and sections on a mixture";
    let cycle =
        "(cycle ((gibbs z one 2) (subsampled_mh m one 2 0 'drift 0.5 1) (gibbs z each 1)) 2)";
    demand(test, 500, |n, seed| MIXTURE.test(n, seed, runs(cycle)));
    catches(test, "CountsSingletonTwice", 600, |n, seed| {
        let sections = runs("(subsampled_mh m one 2 0 'drift 0.5 1)");
        MIXTURE.test(n, seed, wrong(6, Mistake::CountsSingletonTwice, sections))
    });
}

#[test]
fn geweke_of_a_mixture() {
    let test = "geweke: gibbs";
    let kernel = "(cycle ((gibbs z each 2) (mh m each 1)) 1)";
    demand(test, 1500, |n, seed| MIXTURE.geweke(n, seed, runs(kernel)));
    catches(test, "CountsSingletonTwice", 1500, |n, seed| {
        let others = runs("(mh m each 1)");
        MIXTURE.geweke(n, seed, wrong(2, Mistake::CountsSingletonTwice, others))
    });
}
