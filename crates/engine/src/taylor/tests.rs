//! The readings of curved steps over every law in each of its forms, and over every step: second derivatives against differences
//! of slopes, remainders against what they are by definition, and bounds against many points of a ball.

use smidgen_prob::Distribution;
use smidgen_value::{Column, Rng, math};

use super::Unserved;
use super::follow::{Followed, follow, needed};
use super::sheet::{Quantity, Sheet};
use crate::program::cells::{Cells, Pick};
use crate::program::curved::{Curved, CurvedOp};
use crate::program::rows::Rows;
use crate::program::run::bounds::{Ball, Enclosures};
use crate::program::run::remainder::{Points, Rest, Rests};
use crate::program::run::second_order::Jets;
use crate::program::run::tests::{Case, ETAS, LANES, cases, store};
use crate::program::run::{NO_LINEAR, Store};
use crate::program::{Program, Register, Source};

/// A density whose numbers are coordinates from the `first` one of its leaves on, and data before it.
struct Section {
    program: Program,
    columns: Vec<Vec<f64>>,
    /// The columns that are coordinates.
    moving: Vec<usize>,
    data: Rows,
    store: Store,
    curved: Curved,
}

impl Section {
    fn new(case: &Case, moves_outcome: bool) -> Result<Section, Unserved> {
        let (program, columns) = case.program();
        let name = case.law.spec().name;
        let moves = |column: &usize| !WHOLE.contains(&(name, *column));
        let moving: Vec<usize> =
            (usize::from(!moves_outcome)..columns.len()).filter(moves).collect();
        let mut sheet = Sheet::default();
        let mut known: Followed = vec![None; program.registers as usize];
        let mut next = 0;
        for leaf in &program.leaves {
            for register in leaf.register..leaf.register + leaf.len {
                known[register as usize] = Some(match leaf.source {
                    Source::Number(x) => Quantity::Data(x),
                    _ => {
                        next += 1;
                        match moving.iter().position(|column| *column == next - 1) {
                            Some(coordinate) => Quantity::coordinate(coordinate as u32),
                            None => {
                                let cells = Column::Reals(columns[next - 1].clone().into());
                                sheet.cells(&Cells::Column(cells), 1)[0].clone()
                            }
                        }
                    }
                });
            }
        }
        let all = needed(&program, &program.terms);
        follow(&mut sheet, &program, &all, &|_| Vec::new(), &mut known)?;
        let result = known[program.terms[0] as usize].clone().expect("the density");
        let (data, curved) = sheet.finish(&result)?;
        let store = data.store();
        Ok(Section { program, columns, moving, data, store, curved })
    }

    /// The coordinates that a lane has.
    fn position(&self, lane: usize) -> Vec<f64> {
        self.moving.iter().map(|column| self.columns[*column][lane]).collect()
    }

    fn load(&mut self) {
        self.data.fit(&mut self.store);
        self.data.begin(&mut self.store, &[]);
        self.data.load(&mut self.store, &[], Pick::From(0), LANES);
        self.data.run(&mut self.store, LANES);
    }

    /// By the value reading, and its slopes: in one lane, at z.
    fn plain(&self, lane: usize, z: &[f64]) -> (f64, Vec<f64>) {
        let mut columns: Vec<Vec<f64>> =
            self.columns.iter().map(|column| vec![column[lane]; LANES]).collect();
        for (column, z) in self.moving.iter().zip(z) {
            columns[*column] = vec![*z; LANES];
        }
        let mut store = store(&self.program, &columns);
        let value = store.value_for_slopes(&self.program, 1, &NO_LINEAR);
        if value == f64::NEG_INFINITY {
            return (value, Vec::new());
        }
        store.clear_slopes();
        store.pull(&self.program, 1, &NO_LINEAR, &mut |_, _, _| {});
        let cells = self.program.leaves.iter().filter(|l| matches!(l.source, Source::Cell(_)));
        let cells: Vec<Register> =
            cells.flat_map(|leaf| leaf.register..leaf.register + leaf.len).collect();
        let slope = |column: &usize| store.slope(cells[*column], 1)[0];
        (value, self.moving.iter().map(slope).collect())
    }

    /// By the second-order reading: value, gradient and Hessian.
    fn second_order(&mut self, lane: usize, z: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
        self.load();
        let mut jets = Jets::default();
        jets.fit(&self.curved);
        jets.begin(&self.curved, &self.store, z);
        jets.run(&self.curved, &self.store, z, LANES);
        let d = z.len();
        let (mut gradient, mut hessian) = (vec![0.0; d], vec![0.0; d * d]);
        let curved = &self.curved;
        let forms = &curved.last().forms;
        let coefficients = |form: u32| -> Vec<(usize, f64)> {
            let form = &curved.forms[form as usize];
            let numbers = form.columns.iter().map(|column| self.store.at(*column, lane));
            form.coordinates.iter().map(|j| *j as usize).zip(numbers).collect()
        };
        for (i, a) in forms.iter().enumerate() {
            let slope = jets.slope(curved, i, LANES)[lane];
            coefficients(*a).iter().for_each(|(p, c)| gradient[*p] += slope * c);
            for (j, b) in forms.iter().enumerate() {
                let second = jets.second(curved, i.min(j), i.max(j), LANES);
                let second = second.map_or(0.0, |lanes| lanes[lane]);
                for (p, c) in coefficients(*a) {
                    for (q, e) in coefficients(*b) {
                        hessian[p * d + q] += second * c * e;
                    }
                }
            }
        }
        (jets.value(curved, LANES)[lane], gradient, hessian)
    }

    fn third(&mut self, lane: usize, ball: &Ball<'_>) -> f64 {
        self.load();
        let mut enclosures = Enclosures::default();
        enclosures.fit(&self.curved, ball.centre.len());
        enclosures.begin(&self.curved, &self.store, ball);
        let mut out = [0.0; LANES];
        enclosures.run(&self.curved, &self.store, ball, &mut out);
        out[lane]
    }

    fn rest(&mut self, lane: usize, centre: &[f64], difference: &[f64]) -> f64 {
        self.load();
        let mut out = [[Rest::default(); 2]; LANES];
        let points = Points { centre, order: 2, differences: [difference, difference] };
        Rests::default().run(&self.curved, &self.store, &points, &mut out);
        let [there, again] = out[lane].map(|rest| rest.beyond);
        assert_eq!(there.to_bits(), again.to_bits());
        there
    }
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

/// Laws of single numbers that are not served, each with the reason.
const UNSERVED: &[(&str, &str)] = &[
    ("uniform_discrete", "its ends are whole numbers"),
    ("hypergeometric", "its arguments are whole numbers"),
    ("flat", "there is nothing in it"),
    ("flat_pos", "there is nothing in it"),
];

/// Arguments that are whole numbers and do not move, counted from 1.
const WHOLE: &[(&str, usize)] = &[("binomial", 1), ("beta_binomial", 1)];

/// Every law of single numbers in every form, with its parameters as coordinates, and its outcome if it is continuous.
fn sections() -> Vec<(String, Section)> {
    let mut all = Vec::new();
    for case in cases(ETAS) {
        let name = case.law.spec().name;
        let is_scalar =
            |law: &dyn Distribution| matches!(law.score(), Some(smidgen_prob::Score::Scalar(_)));
        if !is_scalar(case.law) && name != "categorical" {
            continue;
        }
        let args: Vec<&smidgen_value::Value> = case.args[0].iter().collect();
        let support = case.law.support(&args).expect("an example that runs");
        for moves_outcome in [false, true] {
            let has_coordinates = support.dimension() == Some(1);
            if (moves_outcome && !has_coordinates) || (!moves_outcome && args.is_empty()) {
                continue;
            }
            let known = UNSERVED.iter().any(|(law, _)| *law == name);
            match Section::new(&case, moves_outcome) {
                Ok(section) => {
                    let form = if case.linked.is_some() { ", linked" } else { "" };
                    let outcome = if moves_outcome { ", outcome" } else { "" };
                    all.push((format!("{name}{form}{outcome}"), section));
                }
                Err(why) => assert!(known, "{name}: {why}"),
            }
        }
    }
    assert!(all.len() > 50, "{} sections", all.len());
    all
}

/// The second derivatives against differences of slopes; what was wrong, and how many were compared.
fn check_second_order(section: &mut Section, is_broken: bool) -> Result<usize, String> {
    let mut compared = 0;
    for lane in 0..LANES {
        let z = section.position(lane);
        let d = z.len();
        let (value, slopes) = section.plain(lane, &z);
        if !value.is_finite() {
            continue;
        }
        let (found, gradient, hessian) = section.second_order(lane, &z);
        if !close(found, value, 1e-9) {
            return Err(format!("lane {lane}: {found} is not {value}"));
        }
        for j in 0..d {
            let h = 1e-4 * z[j].abs().max(1e-2);
            let at = |t: f64| {
                let mut moved = z.clone();
                moved[j] += t;
                section.plain(lane, &moved)
            };
            let differences = |i: usize| {
                let by = |h: f64| Some((at(h).1.get(i)? - at(-h).1.get(i)?) / (2.0 * h));
                Some((4.0 * by(0.5 * h)? - by(h)?) / 3.0)
            };
            if at(h).1.is_empty() || at(-h).1.is_empty() {
                continue;
            }
            if !close(gradient[j], slopes[j], 1e-8) {
                return Err(format!("lane {lane}: slope {} is not {}", gradient[j], slopes[j]));
            }
            for i in 0..d {
                let Some(difference) = differences(i) else { continue };
                let second = hessian[i * d + j] * if is_broken { 1.001 } else { 1.0 };
                if !close(second, difference, 1e-5) {
                    return Err(format!("lane {lane}, {i} {j}: {second} is not {difference}"));
                }
                compared += 1;
            }
        }
    }
    Ok(compared)
}

#[test]
fn second_derivatives_are_those_of_the_value() {
    let mut noticed = 0;
    for (name, mut section) in sections() {
        let compared = check_second_order(&mut section, false);
        let compared = compared.unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(compared > 0, "{name}: nothing was compared");
        noticed += usize::from(check_second_order(&mut section, true).is_err());
    }
    assert!(noticed > 40, "a broken twin is noticed {noticed} times");
}

/// The largest part of the bound that a remainder takes up, over points of small balls around all lanes; how many had a
/// bound.
fn share_of_bounds(section: &mut Section, rng: &mut Rng) -> (f64, usize) {
    let (mut largest, mut bounded) = (0.0_f64, 0);
    for lane in 0..LANES {
        let centre = section.position(lane);
        let d = centre.len();
        if !section.plain(lane, &centre).0.is_finite() {
            continue;
        }
        for size in [0.3, 0.03] {
            let scale = |j: usize| size * centre[j].abs().max(0.3);
            let mut columns = vec![0.0; d * d];
            for j in 0..d {
                columns[j * d + j] = 0.3 * scale(j);
                (j + 1..d).for_each(|i| columns[j * d + i] = 0.1 * scale(i));
            }
            let radius = 2.0;
            let third = section.third(lane, &Ball { centre: &centre, columns: &columns, radius });
            if !third.is_finite() {
                continue;
            }
            bounded += 1;
            for _ in 0..20 {
                let w: Vec<f64> = (0..d).map(|_| rng.uniform() - 0.5).collect();
                let norm = math::sqrt(w.iter().map(|w| w * w).sum::<f64>());
                let rho = radius * rng.uniform();
                let along = |i: usize| -> f64 {
                    (0..d).map(|j| columns[j * d + i] * w[j] * rho / norm).sum()
                };
                let difference: Vec<f64> = (0..d).map(along).collect();
                let rest = section.rest(lane, &centre, &difference);
                let z: Vec<f64> = centre.iter().zip(&difference).map(|(a, b)| a + b).collect();
                let (value, gradient, hessian) = section.second_order(lane, &centre);
                let mut polynomial = value;
                for i in 0..d {
                    polynomial += gradient[i] * difference[i];
                    for j in 0..d {
                        polynomial += 0.5 * hessian[i * d + j] * difference[i] * difference[j];
                    }
                }
                let want = section.plain(lane, &z).0 - polynomial;
                let slack = 1e-9 * (1.0 + value.abs());
                assert!((rest - want).abs() <= slack + 1e-7 * want.abs(), "{rest} is not {want}");
                if rest != 0.0 {
                    largest = largest.max(rest.abs() / (third / 6.0 * rho * rho * rho));
                }
            }
        }
    }
    (largest, bounded)
}

#[test]
fn bounds_hold_and_remainders_are_what_is_left() {
    let mut rng = Rng::from_seed(9);
    let mut near = 0;
    for (name, mut section) in sections() {
        let (share, bounded) = share_of_bounds(&mut section, &mut rng);
        assert!(share <= 1.0 + 1e-6, "{name}: {share} of the bound");
        assert!(bounded > 0, "{name}: no bound");
        near += usize::from(share > 0.5);
    }
    // A supremum that is halved is noticed.
    assert!(near > 20, "only {near} bounds are nearly reached");
}

/// Numbers that are known otherwise.
#[test]
fn fixtures() {
    let coin = cases([0.0; LANES]).into_iter();
    let coin = coin.filter(|case| case.law.spec().name == "bernoulli" && case.linked.is_some());
    let mut section = Section::new(&coin.last().expect("a coin"), false).expect("served");
    let lane = 0;
    // The steepest point of log logistic.
    let ball = Ball { centre: &[0.0], columns: &[1.0], radius: 4.0 };
    let third = section.third(lane, &ball);
    assert!((third - 1.0 / (6.0 * math::sqrt(3.0))).abs() < 1e-8, "{third}");
    let rest = section.rest(lane, &[0.0], &[0.1]);
    let want = -math::ln_1p(math::exp(-0.1)) + math::ln(2.0) - 0.05 + 0.00125;
    assert!((rest - want).abs() < 1e-15 && (rest - 5.2e-7).abs() < 1e-8, "{rest} {want}");
    // Far below what differences could tell: f''''(0)/24 u^4.
    let rest = section.rest(lane, &[0.0], &[1e-4]);
    assert!((rest / (0.125 / 24.0 * 1e-16) - 1.0).abs() < 1e-6, "{rest}");
    let poisson = cases(ETAS).into_iter();
    let poisson = poisson.filter(|case| case.law.spec().name == "poisson" && case.linked.is_some());
    let mut section = Section::new(&poisson.last().expect("counts"), false).expect("served");
    let (eta, u) = (section.position(2)[0], 0.2);
    let rest = section.rest(2, &[eta], &[u]);
    let want = -(math::exp(eta + u) - math::exp(eta) * (1.0 + u + 0.5 * u * u));
    assert!((rest - want).abs() < 1e-15, "{rest} {want}");
}

/// The number of a step. A new one has to be given a number here, and come up above.
fn number(op: &CurvedOp) -> usize {
    match op {
        CurvedOp::Add(..) => 0,
        CurvedOp::Subtract(..) => 1,
        CurvedOp::Multiply(..) => 2,
        CurvedOp::Curve(..) => 3,
        CurvedOp::Member { .. } => 4,
        CurvedOp::Choose { .. } => 5,
    }
}

#[test]
fn laws_use_the_steps_and_the_rest_are_in_programs() {
    let mut seen = [false; 6];
    for (_, section) in sections() {
        section.curved.steps.iter().for_each(|step| seen[number(&step.op)] = true);
    }
    // Choices stand in rows: `tests/taylor.rs`.
    assert_eq!(seen[..5], [true; 5]);
}
