//! Follows the steps of a program with [`Quantity`]s in place of numbers: what no coordinate enters is written into the program
//! of the data as it is, what is linear stays so, and the rest becomes sums, products and curves. A density is its law's
//! recipe.
//!
//! What has no rule (a comparison of what moves, the smaller of two numbers, factors of a matrix) is a reason not to
//! serve the rows.

use rustc_hash::FxHashMap;
use smidgen_prob::cumulative::Side;
use smidgen_prob::smooth::{Curve, CurveFamily, Elementary};
use smidgen_prob::{Family, Part, Recipe, RecipeStep, law};
use smidgen_value::Link;

use super::Unserved;
use super::sheet::{Quantity, Sheet};
use crate::program::{AggregateOp, Comparison, DensityOp, Op, Program, Register, Step, marked};

/// What stands in the registers of a program, as far as it is needed.
pub(super) type Followed = Vec<Option<Quantity>>;

/// The registers that some others hang on, these included.
pub(super) fn needed(program: &Program, of: &[Register]) -> Vec<bool> {
    let mut needed = vec![false; program.registers as usize];
    of.iter().for_each(|register| needed[*register as usize] = true);
    let mut reads = Vec::new();
    for step in program.steps.iter().rev() {
        if (step.out..step.out + step.width).any(|register| needed[register as usize]) {
            reads.clear();
            step.op.reads(&mut reads);
            reads.iter().for_each(|register| needed[*register as usize] = true);
        }
    }
    needed
}

/// What products of weights and data read: the quantities of a leaf by its number.
pub(super) type OfLeaf<'a> = dyn Fn(u32) -> Vec<Quantity> + 'a;

/// Follows the steps that write needed registers.
pub(super) fn follow(
    sheet: &mut Sheet,
    program: &Program,
    needed: &[bool],
    of_leaf: &OfLeaf<'_>,
    known: &mut Followed,
) -> Result<(), Unserved> {
    for step in &program.steps {
        if !(step.out..step.out + step.width).any(|register| needed[register as usize]) {
            continue;
        }
        let results = one(sheet, step, of_leaf, known)?;
        for (k, result) in results.into_iter().enumerate() {
            known[step.out as usize + k] = Some(result);
        }
    }
    Ok(())
}

fn at(known: &Followed, register: Register) -> Quantity {
    known[register as usize].clone().expect("a register is written before it is read")
}

/// What a step writes.
pub(super) fn one(
    sheet: &mut Sheet,
    step: &Step,
    of_leaf: &OfLeaf<'_>,
    known: &Followed,
) -> Result<Vec<Quantity>, Unserved> {
    let of = |registers: &[Register]| -> Vec<Quantity> {
        registers.iter().map(|register| at(known, *register)).collect()
    };
    let mut reads = Vec::new();
    step.op.reads(&mut reads);
    let is_data = |register: &Register| at(known, *register).data().is_some();
    let moves = !reads.iter().all(is_data);
    match &step.op {
        Op::Elementary(f, a, b) => {
            let (a, b) = (at(known, *a), at(known, *b));
            Ok(vec![elementary(sheet, *f, &a, &b)?])
        }
        Op::Copy(from) => Ok(of(from)),
        Op::Dot { a, b, len } => {
            let (a, b): (Vec<Register>, Vec<Register>) =
                ((*a..a + len).collect(), (*b..b + len).collect());
            Ok(vec![product(sheet, &of(&a), &of(&b))?])
        }
        Op::Linear { weights, data } => {
            Ok(vec![product(sheet, &of_leaf(*weights), &of_leaf(*data))?])
        }
        Op::Choose { index, options } => match at(known, *index).data() {
            Some(index) => Ok(vec![sheet.choose(index, &of(options))?]),
            None => Err(Unserved::NoRule("a choice that the block decides".to_owned())),
        },
        Op::Compare(..) if moves => {
            Err(Unserved::NoRule("a comparison of what the block moves".to_owned()))
        }
        Op::Aggregate(op) if moves => aggregate(sheet, op, known),
        Op::Density(op) if moves => Ok(vec![density(sheet, op, &of(&op.registers))?]),
        Op::ValueOnly(_) => Err(Unserved::NoRule("a step without derivatives".to_owned())),
        Op::Compare(..) | Op::Aggregate(_) | Op::Density(_) => {
            let mut places: FxHashMap<Register, Register> = FxHashMap::default();
            for register in reads {
                let x = at(known, register).data().expect("nothing moves");
                places.insert(register, sheet.register(x));
            }
            let mut op = step.op.clone();
            op.rename(&|register| places[&register]);
            let out = sheet.data.push(op, step.width);
            let number = |register: Register| Quantity::Data(marked::local(register));
            Ok((out..out + step.width).map(number).collect())
        }
    }
}

fn elementary(
    sheet: &mut Sheet,
    f: Elementary,
    a: &Quantity,
    b: &Quantity,
) -> Result<Quantity, Unserved> {
    if let (Some(a), Some(b)) = (a.data(), b.data()) {
        return Ok(Quantity::Data(sheet.of_data(f, a, b)));
    }
    match f {
        Elementary::Add => sheet.add(a, b),
        Elementary::Subtract => sheet.subtract(a, b),
        Elementary::Multiply => sheet.multiply(a, b),
        Elementary::Negate => sheet.multiply(&Quantity::Data(-1.0), a),
        Elementary::Divide => {
            let inverse = match b.data() {
                Some(x) => Quantity::Data(sheet.of_data(Elementary::Reciprocal, x, x)),
                None => sheet.curve(Curve::Reciprocal, b)?,
            };
            sheet.multiply(a, &inverse)
        }
        Elementary::Pow => match b.data() {
            Some(exponent) => sheet.member(CurveFamily::Power, exponent, a),
            None => {
                let log = match a.data() {
                    Some(x) => Quantity::Data(sheet.of_data(Elementary::Log, x, x)),
                    None => sheet.curve(Curve::Log, a)?,
                };
                let product = sheet.multiply(&log, b)?;
                sheet.curve(Curve::Exp, &product)
            }
        },
        Elementary::Hypot => {
            let squares = [a, b].map(|x| sheet.curve(Curve::Square, x));
            let [a, b] = squares;
            let sum = sheet.add(&a?, &b?)?;
            sheet.curve(Curve::Sqrt, &sum)
        }
        _ => match f.curve() {
            Some(curve) => sheet.curve(curve, a),
            None => Err(Unserved::NoRule(format!("{f:?} of what the block moves"))),
        },
    }
}

/// Σ a_k b_k
fn product(sheet: &mut Sheet, a: &[Quantity], b: &[Quantity]) -> Result<Quantity, Unserved> {
    let mut sum = Quantity::Data(0.0);
    for (a, b) in a.iter().zip(b) {
        let product = sheet.multiply(a, b)?;
        sum = sheet.add(&sum, &product)?;
    }
    Ok(sum)
}

/// log(e^a + e^b) = a − log logistic(a − b)
fn log_add(sheet: &mut Sheet, a: &Quantity, b: &Quantity) -> Result<Quantity, Unserved> {
    let gap = sheet.subtract(a, b)?;
    let share = sheet.curve(Curve::LogLogistic, &gap)?;
    sheet.subtract(a, &share)
}

fn log_sum(sheet: &mut Sheet, all: &[Quantity]) -> Result<Quantity, Unserved> {
    let (first, rest) =
        all.split_first().ok_or_else(|| Unserved::NoRule("the sum of nothing".to_owned()))?;
    rest.iter().try_fold(first.clone(), |sum, x| log_add(sheet, &sum, x))
}

fn aggregate(
    sheet: &mut Sheet,
    op: &AggregateOp,
    known: &Followed,
) -> Result<Vec<Quantity>, Unserved> {
    let args: Vec<Vec<Quantity>> = op
        .args
        .iter()
        .map(|arg| arg.iter().map(|register| at(known, *register)).collect())
        .collect();
    let total = |sheet: &mut Sheet, all: &[Quantity]| {
        all.iter().try_fold(Quantity::Data(0.0), |sum, x| sheet.add(&sum, x))
    };
    match (op.function.name, &args[..]) {
        ("sum", [all]) => Ok(vec![total(sheet, all)?]),
        ("mean", [all]) => {
            let sum = total(sheet, all)?;
            Ok(vec![sheet.multiply(&Quantity::Data(1.0 / all.len() as f64), &sum)?])
        }
        (name @ ("log_density" | "cdf" | "ccdf" | "log_cdf" | "log_ccdf"), all) => {
            Ok(vec![of_law(sheet, name, all)?])
        }
        ("logsumexp", [all]) => Ok(vec![log_sum(sheet, all)?]),
        ("matrix_times_vector", [matrix, vector]) => {
            matrix.chunks(vector.len()).map(|row| product(sheet, row, vector)).collect()
        }
        ("vector_times_matrix", [vector, matrix]) => {
            let cols = op.len as usize;
            let column = |k: usize| matrix.iter().skip(k).step_by(cols).cloned().collect();
            (0..cols)
                .map(|k| product(sheet, vector, &Vec::from_iter::<Vec<_>>(column(k))))
                .collect()
        }
        (name, _) => Err(Unserved::NoRule(format!("{name} of what the block moves"))),
    }
}

/// The recipe of a law, with its parts in place.
fn density(sheet: &mut Sheet, op: &DensityOp, numbers: &[Quantity]) -> Result<Quantity, Unserved> {
    let (x, args) = numbers.split_at(op.outcome);
    if let ((Family::Categorical, link), [x]) = (op.family(), x) {
        return categorical(sheet, x, args, link);
    }
    let name = op.law.spec().name;
    let no_recipe = || Unserved::NoRule(format!("the density of {name}"));
    let [x] = x else { return Err(no_recipe()) };
    let link = op.linked.map(|linked| linked.link);
    let known: Vec<Option<f64>> = args.iter().map(Quantity::number).collect();
    let sizes: Vec<usize> = op.shapes.iter().map(|shape| shape.len()).collect();
    let recipe = op.law.sized_recipe(&known, &sizes, link).ok_or_else(no_recipe)?;
    of_recipe(sheet, &recipe, x, args)
}

/// What a recipe gives for an outcome and arguments.
fn of_recipe(
    sheet: &mut Sheet,
    recipe: &Recipe,
    x: &Quantity,
    args: &[Quantity],
) -> Result<Quantity, Unserved> {
    let fixed = |x: &Quantity| {
        let reason = || Unserved::NoRule("an outcome that the block moves".to_owned());
        x.data().ok_or_else(reason)
    };
    let mut steps: Vec<Quantity> = Vec::with_capacity(recipe.steps.len());
    for step in &recipe.steps {
        let part = |part: Part| match part {
            Part::Outcome => x.clone(),
            Part::Argument(k) => args[k].clone(),
            Part::Step(k) => steps[k].clone(),
            Part::Number(x) => Quantity::Data(x),
        };
        let result = match *step {
            RecipeStep::Add(a, b) => sheet.add(&part(a), &part(b))?,
            RecipeStep::Subtract(a, b) => sheet.subtract(&part(a), &part(b))?,
            RecipeStep::Multiply(a, b) => sheet.multiply(&part(a), &part(b))?,
            RecipeStep::Curve(curve, a) => sheet.curve(curve, &part(a))?,
            RecipeStep::Member(family, number, a) => {
                sheet.member(family, fixed(&part(number))?, &part(a))?
            }
            RecipeStep::Equal(a, b) => {
                let [a, b] = [fixed(&part(a))?, fixed(&part(b))?].map(|x| sheet.register(x));
                let out = sheet.data.push(Op::Compare(Comparison::Equal, a, b), 1);
                Quantity::Data(marked::local(out))
            }
            RecipeStep::Either(c, a, b) => sheet.choose(fixed(&part(c))?, &[part(b), part(a)])?,
        };
        steps.push(result);
    }
    Ok(steps.pop().expect("a recipe has a step"))
}

/// Log densities and distribution functions of a law as functions: the law's number, x, and its arguments.
fn of_law(sheet: &mut Sheet, name: &str, args: &[Vec<Quantity>]) -> Result<Quantity, Unserved> {
    let no_rule = || Unserved::NoRule(format!("{name} of what the block moves"));
    let number = args.first().and_then(|law| law.first()?.number());
    let law = number.and_then(law::numbered).ok_or_else(no_rule)?;
    let [_, x, args @ ..] = args else { return Err(no_rule()) };
    let [x] = &x[..] else { return Err(no_rule()) };
    let sizes: Vec<usize> = args.iter().map(Vec::len).collect();
    let args: Vec<Quantity> = args.concat();
    let known: Vec<Option<f64>> = args.iter().map(Quantity::number).collect();
    let side = match name {
        "log_density" => {
            let recipe = law.sized_recipe(&known, &sizes, None).ok_or_else(no_rule)?;
            return of_recipe(sheet, &recipe, x, &args);
        }
        "cdf" | "log_cdf" => Side::Below,
        _ => Side::Above,
    };
    let recipe = |side: Side| law.tail_recipe(side, &known).ok_or_else(no_rule);
    let log_p = of_recipe(sheet, &recipe(side)?, x, &args)?;
    if name.starts_with("log") {
        return Ok(log_p);
    }
    let other = of_recipe(sheet, &recipe(side.other())?, x, &args)?;
    let p = sheet.curve(Curve::Exp, &log_p)?;
    sheet.note_complement(&p, other);
    Ok(p)
}

/// log w_x − log Σ w, of weights or of their logarithms.
fn categorical(
    sheet: &mut Sheet,
    x: &Quantity,
    weights: &[Quantity],
    link: Option<Link>,
) -> Result<Quantity, Unserved> {
    let Some(x) = x.data() else {
        return Err(Unserved::NoRule("an outcome that the block moves".to_owned()));
    };
    let chosen = sheet.choose(x, weights)?;
    if link == Some(Link::Log) {
        let all = log_sum(sheet, weights)?;
        return sheet.subtract(&chosen, &all);
    }
    let all = weights.iter().try_fold(Quantity::Data(0.0), |sum, w| sheet.add(&sum, w))?;
    let (chosen, all) = (sheet.curve(Curve::Log, &chosen)?, sheet.curve(Curve::Log, &all)?);
    sheet.subtract(&chosen, &all)
}
