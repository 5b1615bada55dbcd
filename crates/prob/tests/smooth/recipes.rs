//! Recipes of log densities, in the plain and in the linked form, against the scores: values and slopes, second derivatives
//! against differences of slopes, and that nothing is bounded where there is no density.

use smidgen_prob::registry::{self, Builtin};
use smidgen_prob::smooth::{Curve, Interval};
use smidgen_prob::{Distribution, Part, Recipe, RecipeStep, ScalarScore, Score};
use smidgen_value::{Link, Rng, Value};

use crate::difference::{Tally, agrees};
use crate::distributions::{CASES, Motion, argument, motion_of_outcome, name_of};
use crate::distributions_common::Call;

/// Laws of numbers without a recipe, and why.
const NO_RECIPE: &[(&str, &str)] = &[
    ("uniform_discrete", "its ends are whole numbers, so nothing in it moves"),
    ("hypergeometric", "its arguments are whole numbers, so nothing in it moves"),
    ("flat", "there is nothing in it"),
    ("flat_pos", "there is nothing in it"),
];

/// A number with its first and second derivatives with respect to all variables.
#[derive(Clone)]
struct Jet {
    value: f64,
    slope: Vec<f64>,
    second: Vec<Vec<f64>>,
}

impl Jet {
    fn constant(value: f64, n: usize) -> Jet {
        Jet { value, slope: vec![0.0; n], second: vec![vec![0.0; n]; n] }
    }

    fn variable(value: f64, i: usize, n: usize) -> Jet {
        let mut jet = Jet::constant(value, n);
        jet.slope[i] = 1.0;
        jet
    }

    /// Entry by entry from those of two numbers.
    fn made(
        value: f64,
        n: usize,
        slope: impl Fn(usize) -> f64,
        second: impl Fn(usize, usize) -> f64,
    ) -> Jet {
        Jet {
            value,
            slope: (0..n).map(&slope).collect(),
            second: (0..n).map(|i| (0..n).map(|j| second(i, j)).collect()).collect(),
        }
    }

    fn plus(&self, b: &Jet, sign: f64) -> Jet {
        let slope = |i: usize| self.slope[i] + sign * b.slope[i];
        let second = |i: usize, j: usize| self.second[i][j] + sign * b.second[i][j];
        Jet::made(self.value + sign * b.value, self.slope.len(), slope, second)
    }

    fn times(&self, b: &Jet) -> Jet {
        let slope = |i: usize| self.slope[i] * b.value + self.value * b.slope[i];
        let second = |i: usize, j: usize| {
            let mixed = self.slope[i] * b.slope[j] + self.slope[j] * b.slope[i];
            self.second[i][j] * b.value + mixed + self.value * b.second[i][j]
        };
        Jet::made(self.value * b.value, self.slope.len(), slope, second)
    }

    fn through(&self, curve: Curve) -> Jet {
        let mut f = [0.0; 3];
        curve.derivatives(self.value, &mut f);
        let slope = |i: usize| f[1] * self.slope[i];
        let second =
            |i: usize, j: usize| f[2] * self.slope[i] * self.slope[j] + f[1] * self.second[i][j];
        Jet::made(f[0], self.slope.len(), slope, second)
    }
}

/// The outcome is the first variable, the arguments follow.
fn jet_of(recipe: &Recipe, all: &[f64]) -> Jet {
    let n = all.len();
    let mut done: Vec<Jet> = Vec::new();
    for step in &recipe.steps {
        let read = |part: Part| match part {
            Part::Outcome => Jet::variable(all[0], 0, n),
            Part::Argument(i) => Jet::variable(all[1 + i], 1 + i, n),
            Part::Step(i) => done[i].clone(),
            Part::Number(x) => Jet::constant(x, n),
        };
        let jet = match *step {
            RecipeStep::Add(a, b) => read(a).plus(&read(b), 1.0),
            RecipeStep::Subtract(a, b) => read(a).plus(&read(b), -1.0),
            RecipeStep::Multiply(a, b) => read(a).times(&read(b)),
            RecipeStep::Curve(curve, a) => read(a).through(curve),
            RecipeStep::Member(family, number, a) => {
                read(a).through(family.member(read(number).value))
            }
            RecipeStep::Equal(a, b) => {
                Jet::constant(f64::from(u8::from(read(a).value == read(b).value)), n)
            }
            RecipeStep::Either(c, a, b) => read(if read(c).value != 0.0 { a } else { b }),
        };
        done.push(jet);
    }
    done.pop().expect("a step")
}

/// What the recipe can reach when every variable is in its interval; None if that is not bounded.
fn reach_of(recipe: &Recipe, all: &[Interval]) -> Option<Interval> {
    let mut done: Vec<Interval> = Vec::new();
    for step in &recipe.steps {
        let read = |part: Part| match part {
            Part::Outcome => all[0],
            Part::Argument(i) => all[1 + i],
            Part::Step(i) => done[i],
            Part::Number(x) => Interval::point(x),
        };
        let interval = match *step {
            RecipeStep::Add(a, b) => {
                let (a, b) = (read(a), read(b));
                Interval { lo: a.lo + b.lo, hi: a.hi + b.hi }
            }
            RecipeStep::Subtract(a, b) => {
                let (a, b) = (read(a), read(b));
                Interval { lo: a.lo - b.hi, hi: a.hi - b.lo }
            }
            RecipeStep::Multiply(a, b) => {
                let (a, b) = (read(a), read(b));
                let corners = [a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi];
                corners.into_iter().fold(Interval::point(corners[0]), Interval::with)
            }
            RecipeStep::Curve(curve, a) => {
                let a = read(a);
                curve.range(0, a.lo, a.hi)?
            }
            RecipeStep::Member(family, number, a) => {
                let (number, a) = (read(number), read(a));
                assert_eq!(number.lo, number.hi, "it does not move");
                family.member(number.lo).range(0, a.lo, a.hi)?
            }
            RecipeStep::Equal(a, b) => {
                let (a, b) = (read(a), read(b));
                assert!(a.lo == a.hi && b.lo == b.hi, "they do not move");
                Interval::point(f64::from(u8::from(a.lo == b.lo)))
            }
            RecipeStep::Either(c, a, b) => read(if read(c).lo != 0.0 { a } else { b }),
        };
        done.push(interval);
    }
    done.pop().filter(|reach| reach.is_finite())
}

/// A law in one of its forms.
#[derive(Clone, Copy)]
struct Form {
    score: ScalarScore,
    /// The argument given through a link.
    linked: Option<(usize, Link)>,
}

impl Form {
    fn link(&self) -> Option<Link> {
        self.linked.map(|(_, link)| link)
    }
}

/// The forms that a law has with this many arguments.
fn forms(distribution: &dyn Distribution, arguments: usize) -> Vec<Form> {
    let mut forms = Vec::new();
    if let Some(Score::Scalar(score)) = distribution.score() {
        forms.push(Form { score, linked: None });
    }
    if let Some(linked) = distribution.linked()
        && let Score::Scalar(score) = linked.score
        && linked.place < arguments
    {
        forms.push(Form { score, linked: Some((linked.place, linked.link)) });
    }
    forms
}

/// The outcome and the arguments of one call, with how each moves.
struct Drawn {
    all: Vec<f64>,
    motions: Vec<Motion>,
}

impl Drawn {
    fn new(case: &str, form: Form, rng: &mut Rng) -> Drawn {
        let mut parts = Vec::new();
        for kind in case.split_whitespace().skip(1) {
            let part = argument(kind, &parts, rng);
            parts.push(part);
        }
        let values = parts.iter().map(|part| part.value.clone()).collect();
        let call = Call::applied(name_of(case), values);
        let x = call.sample(rng);
        let number = |value: &Value| value.as_number().expect("a number");
        let mut all = vec![number(&x)];
        let mut motions = vec![motion_of_outcome(&call.support())];
        all.extend(parts.iter().map(|part| number(&part.value)));
        motions.extend(parts.iter().map(|part| part.motion));
        if let Some((place, link)) = form.linked {
            all[1 + place] = link.of(all[1 + place]);
            motions[1 + place] = Motion::Free;
        }
        Drawn { all, motions }
    }

    fn moving(&self) -> Vec<usize> {
        (0..self.all.len()).filter(|i| self.motions[*i] != Motion::Fixed).collect()
    }

    /// A step that stays inside the domain.
    fn step(&self, i: usize) -> f64 {
        let x = self.all[i];
        match self.motions[i] {
            Motion::Positive => 0.2 * x,
            Motion::Unit => 0.2 * x.min(1.0 - x),
            _ => 0.05 * x.abs().max(0.5),
        }
    }

    /// The arguments, some of which are known: those that are infinite, and some of the others.
    fn known(&self, rng: &mut Rng) -> Vec<Option<f64>> {
        let known = |x: &f64| (x.is_infinite() || rng.below(3) == 0).then_some(*x);
        self.all[1..].iter().map(known).collect()
    }
}

fn score_at(form: Form, all: &[f64]) -> (f64, Vec<f64>) {
    let mut slope = vec![f64::NAN; all.len()];
    let log_density = (form.score)(all[0], &all[1..], &mut slope);
    (log_density, slope)
}

type Write<'a> = &'a dyn Fn(&[Option<f64>], Option<Link>) -> Option<Recipe>;

/// Values and derivatives of a form's recipe.
fn check(case: &str, form: Form, recipe: Write<'_>) -> Result<(), String> {
    let mut rng = Rng::from_seed(17);
    let mut tally = Tally::default();
    let (mut moving, mut beyond) = (0, 0);
    for _ in 0..40 {
        let drawn = Drawn::new(case, form, &mut rng);
        let known = drawn.known(&mut rng);
        let recipe = recipe(&known, form.link()).ok_or("no recipe")?;
        let jet = jet_of(&recipe, &drawn.all);
        let (log_density, slope) = score_at(form, &drawn.all);
        let place = || format!("{:?} with {known:?} known", drawn.all);
        if !jet.second.iter().flatten().all(|second| second.is_finite()) {
            beyond += 1;
            continue;
        }
        if (jet.value - log_density).abs() > 1e-10 * log_density.abs().max(1.0) {
            return Err(format!("{}: {}, not {log_density}", place(), jet.value));
        }
        for i in drawn.moving() {
            if i > 0 && known[i - 1].is_some() {
                continue;
            }
            let slack = 1e-9 * slope[i].abs().max(1e-2);
            if (jet.slope[i] - slope[i]).abs() > slack {
                return Err(format!("{}: slope {i} {}, not {}", place(), jet.slope[i], slope[i]));
            }
            for j in drawn.moving() {
                if j > 0 && known[j - 1].is_some() {
                    continue;
                }
                // So near to an end, or so steep, that a difference is lost in rounding, none can be taken.
                let (step, second) = (drawn.step(j), jet.second[i][j]);
                let rounding = 1e-15 * slope[i].abs() / step;
                if step < 1e-9 * drawn.all[j].abs() || rounding > 1e-8 * second.abs().max(1e-3) {
                    continue;
                }
                moving += 1;
                let moved = |t: f64| {
                    let mut all = drawn.all.clone();
                    all[j] += t;
                    score_at(form, &all).1[i]
                };
                let verdict = agrees(moved, step, second, 1e-3);
                tally.add(verdict, || format!("second derivative {i} {j} at {}", place()));
            }
        }
    }
    if beyond > 20 {
        return Err(format!("{beyond} of 40 are no doubles"));
    }
    tally.verdict(moving / 2)
}

/// Where somewhere in a box there is no density because of an argument, the recipe has no bound.
fn check_walls(case: &str, form: Form, recipe: Write<'_>) -> Result<usize, String> {
    const ODD: &[f64] = &[-1.0, -0.0, 0.5, 1.0, 2.0, 60.0];
    let mut rng = Rng::from_seed(19);
    let mut walls = 0;
    for _ in 0..10 {
        let drawn = Drawn::new(case, form, &mut rng);
        let unknown: Vec<Option<f64>> =
            drawn.all[1..].iter().map(|x| x.is_infinite().then_some(*x)).collect();
        let recipe = recipe(&unknown, form.link()).ok_or("no recipe")?;
        let whole: Vec<Interval> = drawn.all.iter().map(|x| Interval::point(*x)).collect();
        for i in drawn.moving().into_iter().filter(|i| *i > 0) {
            for odd in ODD {
                let mut all = drawn.all.clone();
                let mut has_density = |share: f64| {
                    all[i] = drawn.all[i] * (1.0 - share) + odd * share;
                    score_at(form, &all).0 > f64::NEG_INFINITY
                };
                if (0..=50).all(|share| has_density(f64::from(share) / 50.0)) {
                    continue;
                }
                walls += 1;
                let mut box_ = whole.clone();
                box_[i] = box_[i].with(*odd);
                if let Some(reach) = reach_of(&recipe, &box_) {
                    return Err(format!("{:?} to {odd} in {i}: {reach:?}", drawn.all));
                }
            }
        }
    }
    Ok(walls)
}

/// All forms of all laws of numbers, by case.
fn each_form(mut visit: impl FnMut(&'static dyn Distribution, &str, Form)) {
    for builtin in registry::all() {
        let Builtin::Distribution(distribution) = builtin else { continue };
        let name = distribution.spec().name;
        if NO_RECIPE.iter().any(|(without, _)| *without == name) {
            continue;
        }
        for case in CASES.iter().filter(|case| name_of(case) == name) {
            let arguments = case.split_whitespace().count() - 1;
            for form in forms(distribution, arguments) {
                visit(distribution, case, form);
            }
        }
    }
}

#[test]
fn every_law_of_numbers_has_its_recipes() {
    let mut wrong = Vec::new();
    let mut forms = 0;
    each_form(|distribution, case, form| {
        forms += 1;
        let recipe = |known: &[Option<f64>], link| distribution.recipe(known, link);
        if let Err(how) = check(case, form, &recipe) {
            wrong.push(format!("{case} by {:?}: {how}", form.link()));
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(forms > 60, "{forms} forms");
}

#[test]
fn nothing_is_bounded_where_there_is_no_density() {
    let mut wrong = Vec::new();
    let mut walls = 0;
    each_form(|distribution, case, form| {
        let recipe = |known: &[Option<f64>], link| distribution.recipe(known, link);
        match check_walls(case, form, &recipe) {
            Ok(found) => walls += found,
            Err(how) => wrong.push(format!("{case} by {:?}: {how}", form.link())),
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(walls > 500, "{walls} walls");
}

#[test]
fn a_law_without_recipe_is_on_the_list_and_has_no_other_link() {
    for builtin in registry::all() {
        let Builtin::Distribution(distribution) = builtin else { continue };
        let name = distribution.spec().name;
        let unknown = vec![None; distribution.spec().arity.least];
        let is_scalar = matches!(distribution.score(), Some(Score::Scalar(_)));
        let is_listed = NO_RECIPE.iter().any(|(without, _)| *without == name);
        // Others may have one: `tests/taylor.rs` of the engine.
        let recipe = distribution.recipe(&unknown, None);
        assert!(!is_scalar || recipe.is_some() != is_listed, "{name}");
        for link in [Link::Log, Link::LogOdds] {
            let has_it = distribution.linked().is_some_and(|linked| linked.link == link);
            let unknown = vec![None; distribution.spec().arity.most.unwrap_or(1)];
            if !has_it {
                assert!(distribution.recipe(&unknown, Some(link)).is_none(), "{name} by {link:?}");
            }
        }
    }
}

#[test]
fn a_wrong_recipe_is_caught() {
    let law = |name: &str| Call::new(name).distribution;
    let form = |name: &str, arguments: usize, i: usize| forms(law(name), arguments)[i];
    // A step that is another.
    let changed = |name: &'static str, change: fn(RecipeStep) -> RecipeStep| {
        move |known: &[Option<f64>], link: Option<Link>| {
            let mut recipe = law(name).recipe(known, link)?;
            recipe.steps.iter_mut().for_each(|step| *step = change(*step));
            Some(recipe)
        }
    };
    let no_minus = changed("normal 0 1", |step| match step {
        RecipeStep::Subtract(Part::Outcome, b) => RecipeStep::Add(Part::Outcome, b),
        other => other,
    });
    let linear = changed("poisson 1", |step| match step {
        RecipeStep::Curve(Curve::Exp, a) => RecipeStep::Curve(Curve::Expm1, a),
        other => other,
    });
    let no_wall = changed("pareto 1 3", |step| match step {
        RecipeStep::Curve(Curve::Wall, a) => RecipeStep::Multiply(a, Part::Number(0.0)),
        other => other,
    });
    assert!(check("normal real positive", form("normal 0 1", 2, 0), &no_minus).is_err());
    assert!(check("poisson positive", form("poisson 1", 1, 1), &linear).is_err());
    let pareto = form("pareto 1 3", 2, 0);
    assert!(check("pareto positive positive", pareto, &no_wall).is_ok());
    assert!(check_walls("pareto positive positive", pareto, &no_wall).is_err());
}
