//! Members that come and go: sums and bounds that the roster keeps are those made anew, at a cost of who came and went; moves by
//! them have the right law, in cycles with Gibbs on the assignments; twins whose members leave their terms behind, or whose bounds
//! are nothing, are noticed.

use smidgen_engine::taylor::Members;
use smidgen_engine::{Fault, NodeId};
use smidgen_infer::kernel::reference_mh::Blocks;
use smidgen_infer::reference::preparation::{Test, Want};
use smidgen_infer::run::{Log, Phase};
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::invariance::Story;
use smidgen_testkit::{PValue, World};
use smidgen_value::{Rng, math};

use super::subsampled_invariance::moved;

const ASSIGNED: &str = "[assume z (mem (lambda (i) (scope_include 'z i (flip 0.4))))]";
const RESTAURANT: &str = "[assume crp (make_crp 1)]
    [assume z (mem (lambda (i) (scope_include 'z i (crp))))]";

/// The choices of the tag `w` that are continuous, by address.
fn weights(world: &mut World) -> Vec<NodeId> {
    let trace = world.model.trace_mut();
    let choices: Vec<NodeId> = trace.choices_by_address().into_iter().map(|(_, id)| id).collect();
    let is_real = |id: &NodeId| {
        trace.choice(*id).is_ok_and(|c| c.support().is_ok_and(|support| support.is_continuous()))
    };
    choices.into_iter().filter(is_real).collect()
}

/// n rows of a mixture of regressions on two numbers each.
fn mixture(assigned: &str, rows: usize, row: &str, outcome: impl Fn(usize) -> usize) -> World {
    let mut text = format!(
        "{assigned} [assume w (mem (lambda (k) (scope_include 'w k (multivariate_diag_normal (zeros 2) (fill 2 1)))))]\n"
    );
    for i in 0..rows {
        let x = 2.0 * math::sin(i as f64) + 0.1;
        let row = row.replace("ETA", &format!("(dot (w (z {i})) (vector 1 {x:.4}))"));
        text += &format!("[observe {row} {}]\n", outcome(i));
    }
    World::new(&text, 3)
}

const KINDS: [(&str, &str, &str); 4] = [
    ("logistic", ASSIGNED, "(bernoulli (logistic ETA))"),
    ("poisson", ASSIGNED, "(poisson (exp (* 0.3 ETA)))"),
    ("logistic, a restaurant process", RESTAURANT, "(bernoulli (logistic ETA))"),
    ("student_t", ASSIGNED, "(student_t 4 ETA 1)"),
];

const LOWER: [f64; 4] = [0.3, 0.0, 0.05, 0.2];

/// Follows the members of all weights, and compares what is kept with what is made anew. Gives the sections looked at.
fn follow(world: &mut World, kept: &mut [Members]) -> Result<u64, String> {
    let mut touched = 0;
    for members in kept {
        let trace = world.model.trace_mut();
        if !trace.is_choice(members.choice()) {
            continue;
        }
        members.follow(trace).map_err(|why| why.to_string())?;
        touched += members.take_touched();
        let (sums, anew) = (members.kept(), members.sums(&[0.2, -0.1], 1));
        let (Some(sums), Some(anew)) = (sums, anew) else { return Err("no sums".into()) };
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
        let all = sums.gradient.iter().zip(&anew.gradient);
        let mut all = all.chain(sums.hessian.iter().zip(&anew.hessian));
        if !near(sums.value, anew.value) || !all.all(|(a, b)| near(*a, *b)) {
            return Err(format!("{sums:?} is not {anew:?}"));
        }
        let mut bounds = Vec::new();
        members.bounds(&[0.2, -0.1], &LOWER, 8.4, &mut bounds);
        let total: f64 = bounds.iter().map(|c| f64::from(*c)).sum();
        let kept = members.total_bound();
        if !(total * (1.0 - 1e-9)..=1.2 * total + 1e-12).contains(&kept) {
            return Err(format!("C is {kept}, the bounds add up to {total}"));
        }
    }
    Ok(touched)
}

/// Moves assignments and follows; gives the sections looked at for each move of an assignment.
fn play(world: &mut World, steps: usize, fault: Option<Fault>) -> Result<f64, String> {
    let ids = weights(world);
    let trace = world.model.trace_mut();
    trace.put_fault(fault);
    let mut kept: Vec<Members> =
        ids.iter().map(|id| Members::new(trace, *id).expect("a choice").expect("kept")).collect();
    kept.iter_mut().for_each(|members| members.settle(&[0.2, -0.1], &LOWER, 8.4, f64::INFINITY));
    follow(world, &mut kept)?;
    let mut touched = 0;
    for step in 0..steps {
        // Assignments, one by one, and now and then the weights, which lets all members become stale.
        world.infer(if step % 7 == 0 { "(mh w one 'drift 0.2 1)" } else { "(mh z one 1)" });
        touched += follow(world, &mut kept)?;
    }
    Ok(touched as f64 / steps as f64)
}

#[test]
fn what_is_kept_is_what_is_made_anew() {
    for (name, assigned, row) in KINDS {
        let mut few = mixture(assigned, 60, row, |i| usize::from(i % 3 == 0));
        let mut many = mixture(assigned, 240, row, |i| usize::from(i % 3 == 0));
        let of_few = play(&mut few, 1500, None).unwrap_or_else(|why| panic!("{name}: {why}"));
        let of_many = play(&mut many, 1500, None).unwrap_or_else(|why| panic!("{name}: {why}"));
        // One section for each row that joins, however many there are.
        assert!(of_few <= 1.0 && of_many <= 1.0, "{name}: {of_few} and {of_many} sections a move");
        assert!(of_few > 0.05, "{name}: rows did come and go: {of_few}");
        let mut twin = mixture(assigned, 60, row, |i| usize::from(i % 3 == 0));
        assert!(play(&mut twin, 300, Some(Fault::KeptMembers)).is_err(), "{name}: the twin");
    }
}

/// The largest remainder over its bound, at points of the ball, and how many are above.
fn excess(world: &mut World, scale: f64) -> (f64, usize) {
    let id = weights(world)[0];
    let mut members = Members::new(world.model.trace_mut(), id).expect("a choice").expect("kept");
    let (centre, radius) = ([0.2, -0.1], 8.4);
    let mut bounds = Vec::new();
    members.bounds(&centre, &LOWER, radius, &mut bounds);
    let mut rng = Rng::from_seed(7);
    let slots: Vec<u32> = (0..members.len() as u32).collect();
    let (mut largest, mut above) = (0.0_f64, 0);
    for _ in 0..200 {
        let mut point = || {
            let (angle, rho) = (6.3 * rng.uniform(), radius * rng.uniform());
            let y = [rho * math::sin(angle), rho * math::sin(angle + std::f64::consts::FRAC_PI_2)];
            let z = [centre[0] + LOWER[0] * y[0], centre[1] + LOWER[2] * y[0] + LOWER[3] * y[1]];
            (z, rho * rho * rho)
        };
        let (a, b) = (point(), point());
        let mut found = vec![[0.0; 2]; slots.len()];
        members.remainders(&centre, &slots, [&a.0, &b.0], &mut found);
        for (found, c) in found.iter().zip(&bounds) {
            for (r, cube) in found.iter().zip([a.1, b.1]) {
                let share = (r.abs() - 1e-12).max(0.0) / (scale * f64::from(*c) * cube);
                largest = largest.max(share);
                above += usize::from(share > 1.0);
            }
        }
    }
    (largest, above)
}

#[test]
fn no_remainder_is_beyond_its_bound() {
    for (name, assigned, row) in KINDS {
        let mut world = mixture(assigned, 60, row, |i| usize::from(i % 3 == 0));
        let (largest, above) = excess(&mut world, 1.0);
        assert!(above == 0, "{name}: {largest} of the bound");
        assert!(excess(&mut world, 0.1).1 > 0, "{name}: a tenth of the bounds is not noticed");
    }
}

#[test]
fn what_moves_in_a_section_is_a_reason() {
    let say = |text: &str| {
        let mut world = World::new(text, 5);
        let id = weights(&mut world)[0];
        let members = Members::new(world.model.trace_mut(), id).expect("a choice");
        members.err().map_or_else(String::new, |why| why.to_string())
    };
    let base = "[assume a (normal 0 1)] [assume s (gamma 2 2)] [assume z (flip 0.5)]
        [assume b (normal 0 1)] [predict a] [predict b]";
    let rows = |row: &str| format!("{base} {}", format!("[observe {row} 1]").repeat(3));
    assert_eq!(say(&rows("(normal (if z a b) 1)")), "");
    let why = say(&rows("(normal (if z a b) s)"));
    let other = say(&rows("(normal (if z b a) s)"));
    assert!([why, other].iter().any(|why| why.contains("which moves")), "a scale that moves");
}

/// A transition of every weight by its members, or else by a walk. Gives how many were moved so.
fn by_members(world: &mut World, blocks: &mut Blocks) -> u64 {
    let mut moved = 0;
    for id in weights(world) {
        let World { model, rng, run, .. } = &mut *world;
        let mut log = Log::open(run, 0);
        let done = blocks.move_members(model.trace_mut(), id, rng, &mut log).expect("a move");
        assert_eq!(log.tally.violations, 0, "bounds hold");
        log.close();
        match done {
            Ok(_) => moved += 1,
            Err(_) => world.infer("(mh w one 'drift 0.5 1)"),
        }
    }
    moved
}

/// The exact-start test of cycles of Gibbs and moves by members around fixed numbers.
fn cycles<'a>(
    story: &'a Story<'a>,
    reference: (&'a [f64], &'a [f64]),
    fault: Option<Fault>,
) -> impl FnMut(usize, u64) -> PValue + 'a {
    move |repeats, seed| {
        let mut by_reference = 0;
        let p = moved(story, repeats, seed, |world| {
            world.model.trace_mut().put_fault(fault);
            let blocks = Blocks::new(Want::This(Test::Thinned));
            let mut blocks = blocks.with_reference(reference.0.to_vec(), reference.1.to_vec());
            for _ in 0..3 {
                world.infer("(gibbs z each 1)");
                (0..3).for_each(|_| by_reference += by_members(world, &mut blocks));
            }
        });
        assert!(by_reference > repeats as u64, "moved by members: {by_reference}");
        p
    }
}

/// Rows of a story: ETA is the slope of a row's cluster times its number.
fn data(rows: usize, law: &str) -> Vec<String> {
    let row = |i: usize| {
        let x = 3.0 * (i as f64 + 0.5) / rows as f64 - 1.2;
        law.replace("ETA", &format!("(* (w (z {i})) {x:.3})"))
    };
    (0..rows).map(row).collect()
}

#[test]
fn cycles_with_gibbs_keep_the_law() {
    let finite = "[assume z (mem (lambda (i) (scope_include 'z i (flip 0.4))))]
        [assume w (mem (lambda (k) (scope_include 'w k (normal (if k 0.8 -0.8) 0.7))))]
        [predict (list (w true) (w false))] [predict (map z (range 0 14))]";
    let restaurant = "[assume crp (make_crp 1)]
        [assume z (mem (lambda (i) (scope_include 'z i (crp))))]
        [assume w (mem (lambda (k) (scope_include 'w k (normal 0 0.7))))]
        [predict (map (lambda (i) (w (z i))) (range 0 14))]";
    let of_finite = ["(w true)", "(w false)", "(* (w true) (w false))", "(if (z 3) 1 0)"];
    let of_tables =
        ["(w (z 0))", "(w (z 3))", "(* (w (z 0)) (w (z 9)))", "(if (= (z 0) (z 9)) 1 0)"];
    let logistic = data(14, "(flip (logistic (- (* 2 ETA) 1)))");
    let counts = data(14, "(poisson (exp (* 0.8 ETA)))");
    let as_str = |rows: &'_ Vec<String>| rows.clone();
    let cases = [
        ("members: logistic, finite", finite, as_str(&logistic), &of_finite),
        ("members: poisson, finite", finite, as_str(&counts), &of_finite),
        ("members: logistic, tables", restaurant, as_str(&logistic), &of_tables),
        ("members: poisson, tables", restaurant, as_str(&counts), &of_tables),
    ];
    for (name, prior, rows, look) in &cases {
        let data: Vec<&str> = rows.iter().map(String::as_str).collect();
        let story = Story { prior, data: &data, look: &look[..] };
        let reference: (&[f64], &[f64]) = (&[0.1], &[0.45]);
        demand(name, 300, cycles(&story, reference, None));
        if *name == "members: poisson, finite" {
            // From so far away that scans decide.
            let far: (&[f64], &[f64]) = (&[2.5], &[0.2]);
            demand("members: a reference far away", 300, cycles(&story, far, None));
        }
        if *name == "members: poisson, finite" {
            catches(name, "bounds of 0", 1500, cycles(&story, reference, Some(Fault::NoBounds)));
        }
        if name.contains("finite") {
            let twin = Some(Fault::KeptMembers);
            catches(name, "terms stay behind", 1000, cycles(&story, reference, twin));
        }
    }
}

#[test]
fn a_reference_is_learnt_and_written() {
    // Two clusters that stay what they are, although some rows change sides.
    let assigned =
        "[assume z (mem (lambda (i) (scope_include 'z i (flip (if (< i 200) 0.95 0.05)))))]";
    let mut world =
        mixture(assigned, 400, "(bernoulli (logistic ETA))", |i| usize::from(i % 3 == 0));
    world.run.phase = Phase::Warmup;
    let text = "(cycle ((mh z one 20) (reference_mh w each 2)) 1)";
    let mut program = world.program(text);
    (0..60).for_each(|_| world.step(&mut program));
    world.run.begin_draws();
    let mut bytes = Vec::new();
    program.save(&mut bytes).expect("fixed numbers are written");
    let mut again = world.program(text);
    again.load(&mut smidgen_value::bytes::Input::new(&bytes)).expect("and read");
    (0..50).for_each(|_| world.step(&mut again));
    let tally = world.run.total();
    assert!(tally.by_reference >= 180, "{tally:?}");
    assert_eq!(tally.violations, 0);
    let rows = tally.reference_rows as f64 / tally.by_reference as f64;
    assert!(rows < 40.0, "{rows} rows a move");
}
