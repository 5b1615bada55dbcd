//! Random tall programs: parameters that touch many rows, directly and through groups, clusters and
//! latent rows, that come and go. At every state the sections add up to the exact log ratio, and
//! what is read is fresh.

use std::fmt::Write;

use proptest::prelude::*;
use smidgen_engine::check::check;
use smidgen_testkit::World;
use smidgen_testkit::two_ways::two_ways;
use smidgen_value::Rng;

const PARAMETERS: &str = "
    [assume a (scope_include 'p 0 (normal 0 1))]
    [assume b (scope_include 'p 1 (normal 0 1))]
    [assume c (scope_include 'p 2 (gamma 2 2))]
    [assume v (scope_include 'p 3 (inv_gamma 3 2))]
    [assume s (sqrt v)]
    [assume d (+ a (* b 2))]
    [assume z (mem (lambda (i) (scope_include 'z i (flip 0.4))))]
    [assume w (mem (lambda (k) (scope_include 'w k (normal (if k 1 -1) 2))))]
    [assume m (mem (lambda (g) (scope_include 'm g (normal a 1))))]
    [assume t (mem (lambda (g) (+ b (m g))))]
    [assume f (lambda (x) (+ (* a x) b))]";

/// One row. A latent row h can be read by later ones.
fn row(number: usize, latents: &mut Vec<usize>, rng: &mut Rng) -> String {
    let x = rng.below(20) as f64 / 7.0;
    let latent = |latents: &[usize], rng: &mut Rng| match latents.len() {
        0 => "b".to_owned(),
        n => format!("h{}", latents[rng.below(n)]),
    };
    let observed = match rng.below(13) {
        0 => format!("(normal (f {x}) s)"),
        1 => "(normal (* a b) c)".to_owned(),
        2 => format!("(bernoulli (logistic (* d {x})))"),
        3 => format!("(normal (w (z {})) s)", number % 7),
        4 => format!("(normal (+ (w (z {})) d) (+ c {x} 0.1))", number % 5),
        5 => format!("(poisson (+ c (exp (* 0.1 (f {x})))))"),
        6 => format!("(normal (t {}) s)", number % 3),
        7 => format!("(normal (+ (t {}) (t {})) 1)", number % 3, number % 2),
        8 => format!("(normal (* a {}) s)", latent(latents, rng)),
        9 => "(normal (+ a a) (+ c 0.2))".to_owned(),
        10 => format!("(student_t 4 (if (z {}) a b) s)", number % 7),
        11 => {
            let before = latent(latents, rng);
            latents.push(number);
            return format!("r{number}: [assume h{number} (normal (* 0.5 (+ a {before})) s)]\n");
        }
        _ => return format!("r{number}: [predict (* (f {x}) s (t 1))]\n"),
    };
    format!(
        "r{number}: [observe {observed} {}]\n",
        if observed.starts_with("(normal") { 1.5 } else { 1.0 }
    )
}

/// Plays one random history. Gives the number of partitions found, of one choice and of several.
fn play(seed: u64, rows: usize, steps: usize) -> (usize, usize) {
    let mut rng = Rng::for_chain(seed, 1);
    let (mut latents, mut live) = (Vec::new(), Vec::new());
    let mut text = PARAMETERS.to_owned();
    for number in 0..rows {
        let row = row(number, &mut latents, &mut rng);
        live.push((number, row.contains("assume")));
        text.write_str(&row).expect("text");
    }
    let mut world = World::new(&text, seed);
    world.model.trace_mut().nest_from([2, 3, 5, 32][rng.below(4)]);
    let (mut alone, mut joint) = (0, 0);
    for step in 0..steps {
        let choices = world.model.choices().to_vec();
        let mut block = vec![choices[rng.below(choices.len())]];
        if rng.below(3) == 0 {
            block.extend((0..1 + rng.below(3)).map(|_| choices[rng.below(choices.len())]));
            block.sort_unstable();
            block.dedup();
        }
        let walks = rng.coin();
        let found = two_ways(world.model.trace_mut(), &block, rng.seed(), walks);
        if let Ok(found) = found {
            assert!(found.agree(), "{found:?}, seed {seed}\n{text}");
            *(if block.len() == 1 { &mut alone } else { &mut joint }) += 1;
        }
        match rng.below(9) {
            0 => world.infer("(mh z one 2)"),
            1 => world.infer("(mh default one 'drift 0.3 2)"),
            2 => world.infer("(subsampled_mh p all 3 0.1 'drift 0.1 1)"),
            3 => world.infer("(subsampled_mh w one 2 0.2 'drift 0.5 2)"),
            4 if step % 3 == 0 => {
                let number = rows + step;
                let row = row(number, &mut latents, &mut rng);
                live.push((number, row.contains("assume")));
                world.execute(&row).unwrap();
                text.push_str(&row);
            }
            5 => {
                let forgettable: Vec<usize> = live.iter().filter(|r| !r.1).map(|r| r.0).collect();
                if !forgettable.is_empty() {
                    let gone = forgettable[rng.below(forgettable.len())];
                    live.retain(|(number, _)| *number != gone);
                    world.execute(&format!("[forget r{gone}]")).unwrap();
                }
            }
            _ => world.infer("(subsampled_mh default one 3 0.1 'drift 0.2 2)"),
        }
        check(&world.model).unwrap_or_else(|e| panic!("{e}, seed {seed}\n{text}"));
    }
    (alone, joint)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sections_of_tall_programs_add_up(seed in any::<u64>(), rows in 2..60usize) {
        play(seed, rows, 25);
    }
}

/// Groups of more rows than a section may fan out to.
#[test]
fn taller_ones() {
    let found = [(1, 150), (2, 300), (3, 450)].map(|(seed, rows)| play(seed, rows, 40));
    let (alone, joint) = found.into_iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    assert!(alone > 20 && joint > 3, "{alone} {joint}");
}
