//! Sections with Taylor polynomials: with the rest they are the whole density; sums are its derivatives; remainders are what
//! the polynomials leave out, and bounds hold in the whole ball. Plates and rows as nodes, of many kinds of regressions.

#[allow(dead_code)] // Pictures and moves are made elsewhere.
mod debug_common;

use std::sync::Arc;

use smidgen_engine::environment::Environment;
use smidgen_engine::model::{Code, RowObservation};
use smidgen_engine::operand::Operand;
use smidgen_engine::smooth::{Density, Form, Validity};
use smidgen_engine::taylor::{Taylor, Unserved, Wanted};
use smidgen_engine::{Model, NodeId};
use smidgen_lang::SourceId;
use smidgen_lang::core::ExprRef;
use smidgen_lang::lower::{Nothing, Scope, lower};
use smidgen_lang::parser::parse_expression;
use smidgen_value::{Column, Rng, Symbol, Table, Value, math};

const ROWS: usize = 150;

/// From how many rows on threads share a scan, and some more.
const MANY_ROWS: usize = (1 << 17) + 1000;

/// Assumptions, what is observed in each row, and as what.
struct Case {
    name: &'static str,
    assumed: &'static str,
    observed: &'static str,
    outcome: &'static str,
}

const CASES: &[Case] = &[
    Case {
        name: "logistic",
        assumed: "[assume w (multivariate_normal (zeros 4) (id_matrix 4))]",
        observed: "(bernoulli (linear_logistic w row.v))",
        outcome: "row.coin",
    },
    Case {
        name: "logistic by hand",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 1)]",
        observed: "(bernoulli (logistic (- a (* b row.x))))",
        outcome: "row.coin",
    },
    Case {
        name: "normal",
        assumed: "[assume w (multivariate_normal (zeros 3) (id_matrix 3))] [assume s (gamma 2 2)]",
        observed: "(normal (dot w row.v) s)",
        outcome: "row.y",
    },
    Case {
        name: "normal of known sd",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 1)]",
        observed: "(normal (+ a (* b row.x)) 1.5)",
        outcome: "row.y",
    },
    Case {
        name: "normal by variance",
        assumed: "[assume a (normal 0 1)] [assume v (inv_gamma 3 2)]",
        observed: "(normal a (sqrt (* v (+ 1 (square row.x)))))",
        outcome: "row.y",
    },
    Case {
        name: "student_t",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 1)] [assume s (gamma 2 2)]",
        observed: "(student_t 4 (+ a (* b row.x)) s)",
        outcome: "row.y",
    },
    Case {
        name: "poisson",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 0.5)]",
        observed: "(poisson (exp (+ a (* b row.x))))",
        outcome: "row.count",
    },
    Case {
        name: "poisson with exposure",
        assumed: "[assume a (gamma 3 2)] [assume b (normal 0 0.5)]",
        observed: "(poisson (* (+ 0.5 (square row.x)) (+ a (exp b))))",
        outcome: "row.count",
    },
    Case {
        name: "negative binomial",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 0.5)] [assume r (gamma 3 2)]",
        observed: "(negative_binomial r (logistic (- (log r) (+ a (* b row.x)))))",
        outcome: "row.count",
    },
    Case {
        name: "gamma by its mean",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 0.5)] [assume k (gamma 3 2)]",
        observed: "(gamma k (/ k (exp (+ a (* b row.x)))))",
        outcome: "(exp row.x)",
    },
    Case {
        name: "products of positive numbers",
        assumed: "[assume a (gamma 3 2)] [assume b (gamma 3 2)] [assume c (normal 0 1)]",
        observed: "(normal (* c (sqrt (* a 2 (exp (* c row.x))))) (* 0.5 (square a) (/ b)))",
        outcome: "row.y",
    },
    Case {
        name: "robust logistic",
        assumed: "[assume w (multivariate_normal (zeros 3) (id_matrix 3))]",
        observed: "(bernoulli (+ 0.02 (* 0.96 (logistic (dot w row.v)))))",
        outcome: "row.coin",
    },
    Case {
        name: "saturation",
        assumed: "[assume top (gamma 4 2)] [assume half (gamma 4 3)] [assume s (gamma 4 4)]",
        observed: "(normal (/ (* top (exp row.x)) (+ half (exp row.x))) s)",
        outcome: "row.y",
    },
    Case {
        name: "probit",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 1)]",
        observed: "(bernoulli (cdf normal (+ a (* b row.x)) 0 1))",
        outcome: "row.coin",
    },
    Case {
        name: "complementary log-log",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 1)]",
        observed: "(bernoulli (- 1 (exp (- 0 (exp (+ a (* b row.x)))))))",
        outcome: "row.coin",
    },
    Case {
        name: "poisson with offset",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 0.5)]",
        observed: "(poisson (* (+ 0.5 (square row.x)) (exp (+ a (* b row.x)))))",
        outcome: "row.count",
    },
    Case {
        name: "zeros beside counts",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 0.5)] [assume p (beta 2 2)]",
        observed: "(zero_inflated poisson p (exp (+ a (* b row.x))))",
        outcome: "row.count",
    },
    Case {
        name: "zeros and counts",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 0.5)] [assume p (beta 2 2)]",
        observed: "(hurdle poisson p (exp (+ a (* b row.x))))",
        outcome: "row.count",
    },
    Case {
        name: "truncated",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 1)] [assume s (gamma 2 2)]",
        observed: "(truncate normal 0 inf (+ a (* b row.x)) s)",
        outcome: "(exp row.x)",
    },
    Case {
        name: "truncated at both ends",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 1)] [assume s (gamma 2 2)]",
        observed: "(truncate normal -9 9 (+ a (* b row.x)) s)",
        outcome: "row.y",
    },
    Case {
        name: "truncated at a moving end",
        assumed: "[assume a (normal 0 1)] [assume t (normal 0 1)] [assume s (gamma 2 2)]",
        observed: "(truncate logistic_dist (- (* 0.1 t) 9) 9 (* a row.x) s)",
        outcome: "row.y",
    },
    Case {
        name: "censored",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 1)] [assume s (gamma 2 2)]",
        observed: "(censor normal -inf 0.3 (+ a (* b row.x)) s)",
        outcome: "(min row.y 0.3)",
    },
    Case {
        name: "censored lifetimes",
        assumed: "[assume a (normal 0 1)] [assume k (gamma 3 2)]",
        observed: "(censor weibull -inf 1.5 k (exp (+ a (* 0.3 row.x))))",
        outcome: "(min (exp row.x) 1.5)",
    },
    Case {
        name: "ordered",
        assumed: "[assume cuts (ordered normal 2 0 2)] [assume b (normal 0 1)]",
        observed: "(ordered_logistic (* b row.x) cuts)",
        outcome: "row.group",
    },
    Case {
        name: "ordered, probit",
        assumed: "[assume cuts (ordered normal 2 0 2)] [assume b (normal 0 1)]",
        observed: "(ordered_probit (* b row.x) cuts)",
        outcome: "row.group",
    },
    Case {
        name: "two kinds of errors",
        assumed: "[assume a (normal 0 1)] [assume s (gamma 2 2)]",
        observed: "(mixture (list 0.8 0.2) normal (list (* a row.x) s) normal (list 0 4))",
        outcome: "row.y",
    },
    Case {
        name: "a log density as a number",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 1)]",
        observed: "(normal (log_density normal row.x a (exp b)) 1)",
        outcome: "row.y",
    },
    Case {
        name: "groups",
        assumed: "[assume g (multivariate_normal (zeros 3) (id_matrix 3))] [assume b (normal 0 1)]",
        observed: "(bernoulli (logistic (+ (lookup g row.group) (* b row.x))))",
        outcome: "row.coin",
    },
    Case {
        name: "softmax",
        assumed: "[assume a (multivariate_normal (zeros 2) (id_matrix 2))]
                  [assume b (multivariate_normal (zeros 2) (id_matrix 2))]",
        observed: "(categorical (array (exp (+ (lookup a 0) (* (lookup b 0) row.x)))
                                       (exp (+ (lookup a 1) (* (lookup b 1) row.x))) 1))",
        outcome: "row.group",
    },
    Case {
        name: "powers",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 1)]",
        observed: "(normal (* b (pow (+ 1 (square a)) row.x)) 2)",
        outcome: "row.y",
    },
    Case {
        name: "choices",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 1)]",
        observed: "(normal (lookup (array (exp a) (* a b)) row.coin) (exp (* 0.2 b)))",
        outcome: "row.y",
    },
    Case {
        name: "mixed scales",
        assumed: "[assume w (multivariate_normal (zeros 3) (id_matrix 3))] [assume t (normal 0 1)]",
        observed: "(normal (* (exp t) (dot w row.v)) (exp (* 0.3 (+ t row.x))))",
        outcome: "row.y",
    },
];

/// Nearly so.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.uniform()).sum::<f64>() - 6.0
}

fn table(rows: usize) -> Arc<Table> {
    let mut rng = Rng::from_seed(3);
    let mut reals = |f: &dyn Fn(&mut Rng) -> f64| {
        Column::Reals((0..rows).map(|_| f(&mut rng)).collect::<Vec<_>>().into())
    };
    let x = reals(&|rng| 4.0 * rng.uniform() - 2.0);
    let y = reals(&|rng| 1.5 * normal(rng) + 0.3);
    let coin = reals(&|rng| f64::from(u8::from(rng.uniform() < 0.4)));
    let count = reals(&|rng| rng.below(4) as f64);
    let group = reals(&|rng| rng.below(3) as f64);
    let features = (0..3 * rows).map(|_| normal(&mut rng)).collect::<Vec<_>>();
    Arc::new(Table::new(vec![
        (Symbol::new("x"), x),
        (Symbol::new("y"), y),
        (Symbol::new("coin"), coin),
        (Symbol::new("count"), count),
        (Symbol::new("group"), group),
        (Symbol::new("v"), Column::Vectors { data: features.into(), width: 3 }),
    ]))
}

fn lowered(text: &str, number: u64, table: &Arc<Table>) -> ExprRef {
    let scope = Scope::global().with_row(Symbol::new("row"), table.clone());
    let syntax = parse_expression(SourceId(0), text).expect("an expression");
    lower(&syntax, &scope, &Nothing(number << 32)).expect("the text of a test is right")
}

/// The model with its rows as a plate, or as nodes.
fn model(case: &Case, is_plate: bool) -> Model {
    model_of_rows(case, is_plate, ROWS)
}

fn model_of_rows(case: &Case, is_plate: bool, rows: usize) -> Model {
    let mut rng = Rng::from_seed(1);
    let mut model = Model::new();
    debug_common::run(&mut model, case.assumed, &mut rng).expect("assumptions");
    let table = table(rows);
    let (expr, outcome) = (lowered(case.observed, 1, &table), lowered(case.outcome, 2, &table));
    let environment = Environment::default();
    let observed = model.whole(|model| {
        if is_plate {
            let observation = RowObservation {
                expr: &expr,
                outcome: &outcome,
                label: None,
                rows: None,
                first: 0,
            };
            let rows = 0..rows as i64;
            let all = model.observe_rows(&[observation], &environment, rows, &mut rng);
            assert!(all.map_err(|found| found.error)?, "{}: no plate", case.name);
            return Ok(());
        }
        for row in 0..rows {
            let environment = environment.push([Operand::Constant(Value::Number(row as f64))]);
            let code = |expr| Code { expr, environment: &environment };
            let value = model.constant(code(&outcome), &mut rng)?;
            model.observe(code(&expr), value, None, &mut rng)?;
        }
        Ok(())
    });
    observed.unwrap_or_else(|error: smidgen_engine::EvalError| panic!("{}: {error}", case.name));
    model
}

fn density(model: &mut Model) -> Density {
    let choices: Vec<NodeId> = model.choices().to_vec();
    let found = Density::compile(model.trace_mut(), &choices, Form::Plain).expect("no error");
    found.unwrap_or_else(|why| panic!("{}", why.reason))
}

fn served(case: &Case, is_plate: bool) -> (Model, Density, Taylor) {
    let mut model = model(case, is_plate);
    let density = density(&mut model);
    let taylor =
        density.taylor(Wanted::all(40)).unwrap_or_else(|why| panic!("{}: {why}", case.name));
    assert_eq!(taylor.dimension(), density.dimension());
    (model, density, taylor)
}

/// Every case, both ways.
fn each(mut look: impl FnMut(&Case, Density, Taylor)) {
    for case in CASES {
        for is_plate in [true, false] {
            // As nodes, rows of different groups read different choices.
            if !is_plate && case.name == "groups" {
                continue;
            }
            let (_, density, taylor) = served(case, is_plate);
            look(case, density, taylor);
        }
    }
}

fn point(d: usize, seed: u64, size: f64) -> Vec<f64> {
    let mut rng = Rng::from_seed(seed);
    (0..d).map(|_| size * normal(&mut rng)).collect()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

#[test]
fn sections_and_rest_are_the_whole_density() {
    each(|case, mut density, mut taylor| {
        let d = density.dimension();
        assert!(taylor.rows() == ROWS || case.name == "groups", "{}: {}", case.name, taylor.rows());
        let points: Vec<Vec<f64>> = (0..11).map(|seed| point(d, seed, 0.6)).collect();
        let zs: Vec<&[f64]> = points.iter().map(|z| &z[..]).collect();
        let mut of_many = vec![0.0; zs.len()];
        taylor.log_sections_of_many(&zs, &mut of_many);
        let all: Vec<u32> = (0..taylor.rows() as u32).rev().collect();
        let mut rows = vec![0.0; all.len()];
        for (z, of_many) in zs.iter().zip(of_many) {
            let (mut gradient, mut of_rest) = (vec![0.0; d], vec![0.0; d]);
            let whole = density.log_density(z, &mut gradient);
            let sections = taylor.log_sections(z);
            let rest = density.log_rest(&taylor, z);
            let name = case.name;
            assert!(close(sections + rest, whole, 1e-11), "{name}: {sections} {rest} {whole}");
            assert!(close(of_many, sections, 1e-11), "{name}: {of_many} {sections}");
            taylor.log_rows(&all, z, &mut rows);
            assert!(close(rows.iter().sum(), sections, 1e-11), "{name}");
            let again = density.log_rest_with_gradient(&taylor, z, &mut of_rest);
            assert!(close(again, rest, 1e-12), "{name}: {again} {rest}");
            let sums = taylor.sums(z, 1).expect("finite sums");
            assert!(close(sums.value, sections, 1e-9), "{name}: {} {sections}", sums.value);
            for ((whole, rest), sum) in gradient.iter().zip(&of_rest).zip(&sums.gradient) {
                assert!(close(rest + sum, *whole, 1e-8), "{name}: {rest} + {sum} is not {whole}");
            }
        }
    });
}

#[test]
fn second_derivatives_are_differences_of_the_first() {
    each(|case, _, mut taylor| {
        let d = taylor.dimension();
        let z = point(d, 5, 0.5);
        let sums = taylor.sums(&z, 1).expect("finite sums");
        let mut gradient = |j: usize, h: f64| {
            let mut moved = z.clone();
            moved[j] += h;
            taylor.sums(&moved, 1).expect("finite sums").gradient
        };
        for j in 0..d {
            let h = 1e-4;
            let (up, down) = (gradient(j, h), gradient(j, -h));
            for i in 0..d {
                let difference = (up[i] - down[i]) / (2.0 * h);
                let second = sums.hessian[i * d + j];
                let name = case.name;
                assert!(close(second, difference, 1e-6), "{name} {i} {j}: {second} {difference}");
            }
        }
    });
}

/// A lower factor of about the inverse of minus the Hessian, its diagonal alone, and a little beside it.
fn factor(taylor: &mut Taylor, z: &[f64]) -> Vec<f64> {
    let d = z.len();
    let sums = taylor.sums(z, 1).expect("finite sums");
    let mut factor = vec![0.0; d * d];
    for i in 0..d {
        let scale = 1.0 / math::sqrt(1.0 + sums.hessian[i * d + i].abs());
        factor[i * d + i] = scale;
        for j in 0..i {
            factor[i * d + j] = 0.3 * scale * if (i + j) % 2 == 0 { 1.0 } else { -1.0 };
        }
    }
    factor
}

/// z_ref + L w for a random w of this length.
fn in_ball(z_ref: &[f64], factor: &[f64], rho: f64, rng: &mut Rng) -> Vec<f64> {
    let d = z_ref.len();
    let w: Vec<f64> = (0..d).map(|_| normal(rng)).collect();
    let norm = math::sqrt(w.iter().map(|w| w * w).sum());
    let moved = |i: usize| (0..=i).map(|j| factor[i * d + j] * w[j]).sum::<f64>() * rho / norm;
    (0..d).map(|i| z_ref[i] + moved(i)).collect()
}

/// A chance that is 1 to rounding, far to the left or right: what a row comes to there is what its law says.
#[test]
fn coins_are_the_same_far_out() {
    each(|case, _, mut taylor| {
        if case.outcome != "row.coin" {
            return;
        }
        let d = taylor.dimension();
        let all: Vec<u32> = (0..taylor.rows() as u32).collect();
        let far: Vec<Vec<f64>> = (0..12).map(|seed| point(d, 20 + seed, 12.0)).collect();
        let (mut here, mut there) = (vec![0.0; all.len()], vec![0.0; all.len()]);
        for (z_ref, z) in far.iter().zip(&far[1..]) {
            taylor.log_rows(&all, z_ref, &mut here);
            taylor.log_rows(&all, z, &mut there);
            let mut rests = vec![[0.0; 2]; all.len()];
            taylor.remainders_beyond(0, z_ref, &all, [z, z_ref], &mut rests);
            for ((here, there), [rest, nothing]) in here.iter().zip(&there).zip(rests) {
                let are_small = here.abs() < 1e6 && there.abs() < 1e6;
                if are_small {
                    let name = case.name;
                    // Of 1 − p near 1 the row itself has few digits left, unless p is from log odds.
                    let lost = |log_p: f64| 4.0 * f64::EPSILON * math::exp(log_p.abs());
                    let is_by_odds = case.observed.contains("logistic");
                    let lost = if is_by_odds { 0.0 } else { lost(*here) + lost(*there) };
                    let noise = 1e-7 * (1.0 + here.abs() + there.abs()) + lost;
                    assert!((rest - (there - here)).abs() < noise, "{name}: {rest} {here} {there}");
                    assert_eq!(nothing, 0.0, "{name}");
                }
            }
        }
    });
}

#[test]
fn remainders_are_what_the_polynomials_leave_out() {
    each(|case, _, mut taylor| {
        let (d, n) = (taylor.dimension(), taylor.rows());
        let z_ref = point(d, 6, 0.4);
        let sums = taylor.sums(&z_ref, 1).expect("finite sums");
        let all: Vec<u32> = (0..n as u32).collect();
        let mut rests = vec![[0.0; 2]; n];
        for (size, seed) in [(0.5, 1), (0.05, 2), (0.005, 3)] {
            let z: Vec<f64> = z_ref.iter().zip(point(d, seed, size)).map(|(a, b)| a + b).collect();
            let opposite: Vec<f64> = z_ref.iter().zip(&z).map(|(a, b)| 2.0 * a - b).collect();
            taylor.remainders(&z_ref, &all, [&z, &opposite], &mut rests);
            for (k, z) in [z, opposite].iter().enumerate() {
                let u: Vec<f64> = z.iter().zip(&z_ref).map(|(a, b)| a - b).collect();
                let mut polynomial = sums.value;
                for i in 0..d {
                    polynomial += sums.gradient[i] * u[i];
                    for j in 0..d {
                        polynomial += 0.5 * sums.hessian[i * d + j] * u[i] * u[j];
                    }
                }
                let want = taylor.log_sections(z) - polynomial;
                let found: f64 = rests.iter().map(|rest| rest[k]).sum();
                let slack = 1e-12 * (1.0 + sums.value.abs());
                let name = case.name;
                assert!(
                    (found - want).abs() <= slack + 1e-9 * want.abs(),
                    "{name}: {found} {want}"
                );
            }
        }
    });
}

/// The largest |R_i| / (c_i ρ³) over points of the ball, with bounds times `factor`.
fn largest_share(taylor: &mut Taylor, seed: u64, radius: f64, times: f64) -> f64 {
    let (d, n) = (taylor.dimension(), taylor.rows());
    let mut rng = Rng::from_seed(seed);
    let z_ref = point(d, seed, 0.4);
    let factor = factor(taylor, &z_ref);
    let mut bounds = Vec::new();
    taylor.bounds(&z_ref, &factor, radius, &mut bounds);
    assert_eq!(bounds.len(), n);
    let all: Vec<u32> = (0..n as u32).collect();
    let mut rests = vec![[0.0; 2]; n];
    let mut largest = 0.0_f64;
    for round in 0..40 {
        let rho = radius * if round % 2 == 0 { 1.0 } else { rng.uniform() };
        let z = in_ball(&z_ref, &factor, rho, &mut rng);
        let other = in_ball(&z_ref, &factor, rho, &mut rng);
        taylor.remainders(&z_ref, &all, [&z, &other], &mut rests);
        for (bound, rest) in bounds.iter().zip(&rests) {
            let most = times * f64::from(*bound) * rho * rho * rho;
            for rest in rest {
                if rest.abs() > 1e-14 {
                    largest = largest.max(rest.abs() / most);
                }
            }
        }
    }
    largest
}

#[test]
fn bounds_hold_in_the_whole_ball() {
    each(|case, _, mut taylor| {
        for seed in 0..6 {
            let share = largest_share(&mut taylor, seed, 3.0, 1.0);
            assert!(share <= 1.0, "{}: {share} of the bound", case.name);
        }
    });
}

#[test]
fn bounds_are_finite_and_not_far_off() {
    each(|case, _, mut taylor| {
        let share = |seed| largest_share(&mut taylor, seed, 0.3, 1.0);
        let shares: Vec<f64> = (0..6).map(share).collect();
        let share = shares.iter().fold(0.0_f64, |a, b| a.max(*b));
        eprintln!("{}: {share}", case.name);
        assert!(share > 0.01 || case.name == "normal of known sd", "{}: {share}", case.name);
    });
}

#[test]
fn bounds_that_are_a_tenth_too_small_are_noticed() {
    let (_, _, mut taylor) = served(&CASES[0], true);
    let noticed = (0..6).any(|seed| largest_share(&mut taylor, seed, 0.3, 0.9) > 1.0);
    assert!(noticed);
}

#[test]
fn a_normal_posterior_leaves_nothing_out() {
    let (_, _, mut taylor) = served(&CASES[3], true);
    let (z_ref, mut bounds) = (point(2, 1, 1.0), Vec::new());
    taylor.bounds(&z_ref, &[1.0, 0.0, 0.5, 1.0], 5.0, &mut bounds);
    assert!(bounds.iter().all(|bound| *bound == 0.0));
    let mut rests = [[1.0; 2]; 3];
    taylor.remainders(&z_ref, &[0, 7, 149], [&[3.0, 1.0], &[-2.0, 0.3]], &mut rests);
    assert!(rests.iter().flatten().all(|rest| rest.abs() < 1e-15), "{rests:?}");
}

#[test]
fn a_normal_rest_is_known_by_its_coefficients() {
    let mut whole = 0;
    each(|case, mut density, taylor| {
        // Gammas and their like are no polynomials, nor is what keeps numbers in order.
        let is_normal = !["gamma", "beta", "ordered"].iter().any(|law| case.assumed.contains(law));
        assert_eq!(taylor.quadratic_rest().is_some(), is_normal, "{}", case.name);
        let Some(rest) = taylor.quadratic_rest() else { return };
        whole += 1;
        let d = density.dimension();
        let (z, mut gradient) = (point(d, 3, 1.5), vec![0.0; d]);
        let want = density.log_rest_with_gradient(&taylor, &z, &mut gradient);
        let mut value = rest.value;
        for i in 0..d {
            let curvature: f64 = (0..d).map(|j| rest.hessian[i * d + j] * z[j]).sum();
            value += rest.gradient[i] * z[i] + 0.5 * curvature * z[i];
            assert!(close(rest.gradient[i] + curvature, gradient[i], 1e-12), "{}", case.name);
        }
        assert!(close(value, want, 1e-12), "{}: {value} is not {want}", case.name);
    });
    assert!(whole > 8, "{whole} cases");
}

#[test]
fn threads_change_no_bit() {
    let mut model = model_of_rows(&CASES[2], true, MANY_ROWS);
    let z = point(4, 2, 0.3);
    let factor: Vec<f64> = (0..16).map(|k| if k % 5 == 0 { 0.01 } else { 0.0 }).collect();
    let found = [1, 3].map(|threads| {
        model.trace_mut().set_threads(threads);
        let mut taylor = density(&mut model).taylor(Wanted::all(100)).expect("sections");
        let (mut bounds, mut of_many) = (Vec::new(), [0.0; 2]);
        taylor.bounds(&z, &factor, 4.0, &mut bounds);
        taylor.log_sections_of_many(&[&z, &[0.1; 4]], &mut of_many);
        let sums = taylor.sums(&z, 1).expect("sums");
        let mut bits: Vec<u64> = sums.gradient.iter().map(|x| x.to_bits()).collect();
        bits.extend(sums.hessian.iter().chain(&of_many).map(|x| x.to_bits()));
        bits.extend([sums.value, taylor.log_sections(&z)].map(f64::to_bits));
        bits.extend(bounds.iter().map(|bound| u64::from(bound.to_bits())));
        bits
    });
    assert!(found[0].len() > MANY_ROWS);
    assert!(found[0] == found[1]);
}

#[test]
fn every_other_row_gives_about_the_same_sums() {
    let (_, _, mut taylor) = served(&CASES[0], true);
    let z = point(4, 3, 0.4);
    let (all, some) = (taylor.sums(&z, 1).expect("sums"), taylor.sums(&z, 2).expect("sums"));
    assert!((some.value / all.value - 1.0).abs() < 0.2 && some.value != all.value);
    let rows: Vec<u32> = (0..ROWS as u32).step_by(2).collect();
    let mut log_rows = vec![0.0; rows.len()];
    taylor.log_rows(&rows, &z, &mut log_rows);
    assert!(close(some.value, 2.0 * log_rows.iter().sum::<f64>(), 1e-11));
}

#[test]
fn what_has_no_rule_is_said() {
    let case = |observed, outcome| Case {
        name: "",
        assumed: "[assume a (normal 0 1)] [assume b (normal 0 1)]",
        observed,
        outcome,
    };
    let why = |observed, outcome| {
        let mut model = model(&case(observed, outcome), true);
        density(&mut model).taylor(Wanted::all(100)).map(|_| ()).expect_err("no rule")
    };
    let said = why("(normal (max a (* b row.x)) 1)", "row.y");
    assert!(matches!(said, Unserved::NoRule(_)), "{said}");
    let (_, density, _) = served(&CASES[0], true);
    assert!(matches!(density.taylor(Wanted::all(ROWS + 1)), Err(Unserved::FewRows)));
}

#[test]
fn numbers_outside_the_block_are_read_again() {
    let mut model = model(&CASES[2], true);
    let choices: Vec<NodeId> = model.choices().to_vec();
    let trace = model.trace_mut();
    let inside: Vec<NodeId> =
        choices.iter().filter(|id| trace.origin(**id).0 != "gamma").copied().collect();
    let found = Density::compile(trace, &inside, Form::Plain).expect("no error");
    let mut density = found.unwrap_or_else(|why| panic!("{}", why.reason));
    let mut taylor = density.taylor(Wanted::all(100)).expect("sections");
    let z = point(3, 1, 0.5);
    let before = taylor.log_sections(&z);
    let outside: Vec<NodeId> = choices.iter().filter(|id| !inside.contains(id)).copied().collect();
    let found = Density::compile(model.trace_mut(), &outside, Form::Plain).expect("no error");
    let mut of_outside = found.unwrap_or_else(|why| panic!("{}", why.reason));
    let moved = of_outside.install(model.trace_mut(), &[1.0], &mut Rng::from_seed(1));
    moved.expect("a move");
    assert_eq!(density.refresh(model.trace_mut()).expect("no error"), Validity::Changed);
    taylor.refresh(&density).expect("sections");
    let after = taylor.log_sections(&z);
    assert!((after - before).abs() > 1.0);
    let (whole, rest) = (density.log_density(&z, &mut [0.0; 3]), density.log_rest(&taylor, &z));
    assert!(close(after + rest, whole, 1e-11));
    assert!(close(taylor.sums(&z, 1).expect("sums").value, after, 1e-10));
}
