//! Procedures of the language as steps of a program: values carry marks where numbers depend on the
//! block ([`super::marked`]).

use smidgen_prob::smooth::{self, Aggregate, Elementary, Shape, Smooth};
use smidgen_prob::{Function, law};
use smidgen_value::{Link, Matrix, Value};

use super::links;
use super::marked::{self, has_marks, is_marked};
use super::{AggregateOp, Comparison, Op, Program, Source};
use crate::id::NodeId;

/// Why a procedure cannot be followed.
pub(crate) type Obstacle = String;

type Lowered = Result<Value, Obstacle>;

/// Procedures that only arrange values, each with the arguments that say how: those have to be
/// known.
const ARRANGING: &[(&str, &[usize])] = &[
    ("list", &[]),
    ("pair", &[]),
    ("first", &[]),
    ("second", &[]),
    ("rest", &[]),
    ("append", &[]),
    ("reverse", &[]),
    ("take", &[0]),
    ("zip", &[]),
    ("size", &[]),
    ("is_empty", &[]),
    ("lookup", &[1]),
    ("array", &[]),
    ("vector", &[]),
    ("to_list", &[]),
    ("to_array", &[]),
    ("to_vector", &[]),
    ("fill", &[0]),
    ("matrix", &[]),
    ("build_matrix", &[0, 1]),
    ("diag_matrix", &[]),
    ("ravel", &[]),
    ("row", &[1]),
    ("col", &[1]),
    ("transpose", &[]),
    ("dict", &[]),
    ("keys", &[]),
    ("values", &[]),
    ("is_number", &[]),
    ("is_pair", &[]),
    ("is_list", &[]),
    ("is_array", &[]),
    ("is_vector", &[]),
    ("is_matrix", &[]),
    ("is_dict", &[]),
    ("is_procedure", &[]),
];

/// The arguments of a procedure whose very values decide what the result looks like.
pub(crate) fn deciding_arguments(name: &str) -> &'static [usize] {
    ARRANGING.iter().find(|(known, _)| *known == name).map_or(&[], |(_, deciding)| deciding)
}

/// Whether a procedure only arranges its arguments, or some of them.
pub(crate) fn arranges(name: &str) -> bool {
    ARRANGING.iter().any(|(known, _)| *known == name)
}

/// Whether a procedure compares: its result jumps.
pub(crate) fn compares(name: &str) -> bool {
    matches!(name, "<" | "<=" | ">" | ">=" | "=" | "!=" | "not" | "biplex")
}

/// The result of a procedure on marked values.
pub(crate) fn function(program: &mut Program, function: &Function, args: &[Value]) -> Lowered {
    let name = function.spec.name;
    if !args.iter().any(has_marks) {
        return apply(function, args);
    }
    if smooth::is_identity(name) {
        return checked(program, name, args);
    }
    match (name, args) {
        ("lookup", [container, Value::Number(index)]) if is_marked(*index) => {
            let items = container.elements().ok_or("lookup in what is no sequence")?;
            return choose(program, *index, &items);
        }
        ("-", [x]) => return elementwise(program, Elementary::Negate, x, None),
        ("/", [x]) => return elementwise(program, Elementary::Reciprocal, x, None),
        ("-", [one, p])
            if one.as_number() == Some(1.0) && program.known_by(p, Link::LogOdds).is_some() =>
        {
            return program.other_side(p).ok_or_else(|| "the other side of no coin".to_owned());
        }
        ("logit", [p]) if let Some(log_odds) = program.surely_known_by(p, Link::LogOdds) => {
            return Ok(Value::Number(log_odds));
        }
        ("log", [x]) if let Some(log) = program.surely_known_by(x, Link::Log) => {
            return Ok(Value::Number(log));
        }
        ("-", [a, b]) => return elementwise(program, Elementary::Subtract, a, Some(b)),
        ("/", [a, b]) => return elementwise(program, Elementary::Divide, a, Some(b)),
        ("vector_add" | "matrix_add", [a, b]) => {
            return elementwise(program, Elementary::Add, a, Some(b));
        }
        ("scale_vector" | "scale_matrix", [a, b]) => {
            return elementwise(program, Elementary::Multiply, a, Some(b));
        }
        ("linear_logistic", [w, x]) => return linear_logistic(program, w, x),
        ("dot", [a, b]) => return dot(program, &numbers(a)?, &numbers(b)?).map(Value::Number),
        ("biplex", [c, a, b]) => return either(program, c, b, a),
        ("<", args) => return compare(program, Comparison::Less, args, false),
        ("<=", args) => return compare(program, Comparison::AtMost, args, false),
        (">", args) => return compare(program, Comparison::Less, args, true),
        (">=", args) => return compare(program, Comparison::AtMost, args, true),
        ("=", args) => return compare(program, Comparison::Equal, args, false),
        ("!=", args) => return compare(program, Comparison::Different, args, false),
        ("not", [x]) => {
            return compare(program, Comparison::Equal, &[x.clone(), Value::Number(0.0)], false);
        }
        _ => {}
    }
    if arranges(name) {
        let deciding = deciding_arguments(name);
        if deciding.iter().any(|k| args.get(*k).is_some_and(has_marks)) {
            return Err(format!("{name} with an argument that the block changes"));
        }
        return apply(function, args);
    }
    match smooth::find(name) {
        Some(Smooth::Elementary(f)) => elementwise(program, f, &args[0], args.get(1)),
        Some(Smooth::Chain(f)) => chain(program, f, args),
        Some(Smooth::Aggregate(function)) => aggregate(program, function, args),
        None => Err(format!("{name} has no derivative")),
    }
}

fn apply(function: &Function, args: &[Value]) -> Lowered {
    let args: Vec<&Value> = args.iter().collect();
    (function.apply)(&args)
        .map_err(|error| format!("{} cannot be followed: {error}", function.spec.name))
}

/// What a procedure hands on that only checks its numbers.
pub(crate) fn handed_on(args: &[Value]) -> Lowered {
    match args {
        [single] if single.as_number().is_some() => Ok(single.clone()),
        [container] => numbers(container).map(Value::vector),
        several => {
            several.iter().map(single_number).collect::<Result<Vec<_>, _>>().map(Value::vector)
        }
    }
}

/// The same, and NaN where the numbers do not pass.
fn checked(program: &mut Program, name: &str, args: &[Value]) -> Lowered {
    let given = handed_on(args)?;
    let is_sure = program.surely_known_by(&given, Link::LogOdds).is_some();
    if name == "real" || is_sure {
        return Ok(given);
    }
    let (zero, one) = (Value::Number(0.0), Value::Number(1.0));
    if given.as_number().is_some() {
        let passes = compare(program, Comparison::AtMost, &[zero, given.clone(), one], false)?;
        return passed(program, &passes, &given);
    }
    let ps = numbers(&given)?;
    let total = ps[1..].iter().fold(ps[0], |a, b| program.elementary(Elementary::Add, a, *b));
    let off = program.elementary(Elementary::Subtract, total, 1.0);
    let off = Value::Number(program.elementary(Elementary::Abs, off, 0.0));
    let sums = compare(program, Comparison::AtMost, &[off, Value::Number(1e-8)], false)?;
    let least = ps[1..].iter().fold(ps[0], |a, b| program.elementary(Elementary::Min, a, *b));
    let passes = compare(program, Comparison::AtMost, &[zero, Value::Number(least)], false)?;
    let passes = elementwise(program, Elementary::Multiply, &passes, Some(&sums))?;
    passed(program, &passes, &given)
}

/// A value where a check, 0 or 1, is passed: the only one to choose.
fn passed(program: &mut Program, passes: &Value, given: &Value) -> Lowered {
    let failed = elementwise(program, Elementary::Subtract, &Value::Number(1.0), Some(passes))?;
    let index = single_number(&failed)?;
    choose(program, index, std::slice::from_ref(given))
}

/// The numbers of a value that holds nothing else.
pub(crate) fn numbers(value: &Value) -> Result<Vec<f64>, Obstacle> {
    let mut out = Vec::new();
    match marked::numbers(value, &mut out) {
        true => Ok(out),
        false => Err(format!("{} where numbers were expected", value.type_name())),
    }
}

fn single_number(value: &Value) -> Result<f64, Obstacle> {
    value.as_number().ok_or_else(|| format!("{} where a number was expected", value.type_name()))
}

/// What a number is known by, computed if that is not known yet.
pub(crate) fn eta(program: &mut Program, x: &Value, link: Link) -> Result<f64, Obstacle> {
    match program.known_by(x, link) {
        Some(eta) => Ok(eta),
        None => single_number(x).map(|x| program.elementary(Elementary::inverse_of(link), x, 0.0)),
    }
}

/// A container like this one with other numbers.
fn refill(like: &Value, numbers: Vec<f64>) -> Value {
    match like {
        Value::Matrix(m) => Value::matrix(Matrix::new(m.rows(), m.cols(), numbers)),
        _ => Value::vector(numbers),
    }
}

/// f on numbers, or entry by entry.
fn elementwise(program: &mut Program, f: Elementary, a: &Value, b: Option<&Value>) -> Lowered {
    let Some(b) = b else {
        return match a.as_number() {
            Some(x) => Ok(Value::Number(program.elementary(f, x, 0.0))),
            None => {
                let xs = numbers(a)?;
                Ok(refill(a, xs.iter().map(|x| program.elementary(f, *x, 0.0)).collect()))
            }
        };
    };
    match (a.as_number(), b.as_number()) {
        (Some(a), Some(b)) => Ok(Value::Number(program.elementary(f, a, b))),
        (Some(x), None) => {
            let ys = numbers(b)?;
            // The zeros of a matrix that is scaled stay zeros: most of a scaled diagonal.
            let scales = f == Elementary::Multiply && matches!(b, Value::Matrix(_));
            let entry =
                |y: &f64| if scales && *y == 0.0 { 0.0 } else { program.elementary(f, x, *y) };
            Ok(refill(b, ys.iter().map(entry).collect()))
        }
        (None, Some(y)) => {
            let xs = numbers(a)?;
            Ok(refill(a, xs.iter().map(|x| program.elementary(f, *x, y)).collect()))
        }
        (None, None) => {
            let (xs, ys) = (numbers(a)?, numbers(b)?);
            if xs.len() != ys.len() {
                return Err("containers of different sizes".to_owned());
            }
            let both = xs.iter().zip(&ys);
            Ok(refill(a, both.map(|(x, y)| entry(program, f, *x, *y)).collect()))
        }
    }
}

/// f on entries of two containers. What is added to nothing stays as it is: most of a matrix to which a diagonal is added.
fn entry(program: &mut Program, f: Elementary, x: f64, y: f64) -> f64 {
    match f {
        Elementary::Add if !is_marked(y) && y == 0.0 => x,
        Elementary::Add if !is_marked(x) && x == 0.0 => y,
        _ => program.elementary(f, x, y),
    }
}

fn chain(program: &mut Program, f: Elementary, args: &[Value]) -> Lowered {
    // The extremes of one container's numbers.
    if let [container] = args
        && container.as_number().is_none()
        && matches!(f, Elementary::Min | Elementary::Max)
    {
        let xs = numbers(container)?;
        let (first, rest) = xs.split_first().ok_or("an empty container")?;
        let extreme = rest.iter().fold(*first, |a, b| program.elementary(f, a, *b));
        return Ok(Value::Number(extreme));
    }
    let (first, rest) = args.split_first().ok_or("no arguments")?;
    let mut total = first.clone();
    for arg in rest {
        total = elementwise(program, f, &total, Some(arg))?;
    }
    Ok(total)
}

/// Chains of comparisons hold if all neighbours do: the product of 0s and 1s.
fn compare(
    program: &mut Program,
    comparison: Comparison,
    args: &[Value],
    flipped: bool,
) -> Lowered {
    let mut all = None;
    for pair in args.windows(2) {
        let (mut a, mut b) = (single_number(&pair[0])?, single_number(&pair[1])?);
        if flipped {
            (a, b) = (b, a);
        }
        let holds = if is_marked(a) || is_marked(b) {
            let (a, b) = (program.register(a), program.register(b));
            let out = program.push(Op::Compare(comparison, a, b), 1);
            program.mark(out)
        } else {
            f64::from(u8::from(comparison.holds(a, b)))
        };
        all = Some(match all {
            None => holds,
            Some(before) => program.elementary(Elementary::Multiply, before, holds),
        });
    }
    all.map(Value::Number).ok_or_else(|| "a comparison of one value".to_owned())
}

/// The item that the index, a mark, names: number by number.
pub(crate) fn choose(program: &mut Program, index: f64, items: &[Value]) -> Lowered {
    let (first, rest) = items.split_first().ok_or("a choice among nothing")?;
    if first.as_number().is_some() && rest.iter().all(|item| item.as_number().is_some()) {
        let options: Vec<f64> = items.iter().filter_map(Value::as_number).collect();
        let index = program.register(index);
        let options = program.registers(&options);
        let out = program.push(Op::Choose { index, options: options.into() }, 1);
        program.choose_links(index, items, out);
        return Ok(Value::Number(program.mark(out)));
    }
    let all: Vec<Vec<f64>> = items.iter().map(numbers).collect::<Result<_, _>>()?;
    let same = |item: &Value| match (first, item) {
        (Value::Matrix(a), Value::Matrix(b)) => a.rows() == b.rows() && a.cols() == b.cols(),
        (Value::Vector(_) | Value::Array(_) | Value::Pair(_), other) => {
            matches!(other, Value::Vector(_) | Value::Array(_) | Value::Pair(_))
        }
        _ => false,
    };
    if !rest.iter().all(same) || all.iter().any(|xs| xs.len() != all[0].len()) {
        return Err("a choice among values of different forms".to_owned());
    }
    let mut chosen = Vec::with_capacity(all[0].len());
    for k in 0..all[0].len() {
        let options: Vec<Value> = all.iter().map(|xs| Value::Number(xs[k])).collect();
        chosen.push(single_number(&choose(program, index, &options)?)?);
    }
    Ok(refill(first, chosen))
}

/// `then` where the condition is not 0, else `otherwise`.
pub(crate) fn either(program: &mut Program, c: &Value, otherwise: &Value, then: &Value) -> Lowered {
    let condition = single_number(c)?;
    if !is_marked(condition) {
        return Ok(if condition != 0.0 { then.clone() } else { otherwise.clone() });
    }
    let index = truth(program, condition);
    choose(program, index, &[otherwise.clone(), then.clone()])
}

/// 1 where a number is not 0, else 0.
pub(crate) fn truth(program: &mut Program, x: f64) -> f64 {
    let (a, zero) = (program.register(x), program.register(0.0));
    let out = program.push(Op::Compare(Comparison::Different, a, zero), 1);
    program.mark(out)
}

/// Σ a_k b_k
fn dot(program: &mut Program, a: &[f64], b: &[f64]) -> Result<f64, Obstacle> {
    if a.len() != b.len() {
        return Err("vectors of different lengths".to_owned());
    }
    // Weights first, data second, so that data can be read in place.
    let (a, b) = if b.iter().any(|x| is_marked(*x)) && !a.iter().any(|x| is_marked(*x)) {
        (b, a)
    } else {
        (a, b)
    };
    let len = a.len() as u32;
    let (a, b) = (program.range(a), program.range(b));
    let out = program.push(Op::Dot { a, b, len }, 1);
    Ok(program.mark(out))
}

fn linear_logistic(program: &mut Program, w: &Value, x: &Value) -> Lowered {
    let (w, x) = (numbers(w)?, numbers(x)?);
    let (bias, weights) = w.split_first().ok_or("weights without a bias")?;
    let product = if weights.is_empty() { 0.0 } else { dot(program, weights, &x)? };
    let predictor = program.elementary(Elementary::Add, *bias, product);
    Ok(Value::Number(program.elementary(Elementary::Logistic, predictor, 0.0)))
}

pub(crate) fn form(value: &Value) -> Result<Shape, Obstacle> {
    match value {
        Value::Matrix(m) => Ok(Shape::Matrix(m.rows(), m.cols())),
        value if value.as_number().is_some() => Ok(Shape::Number),
        value if law::of(value).is_some() => Ok(Shape::Law),
        value => Ok(Shape::Vector(numbers(value)?.len())),
    }
}

/// The result of a function of vectors and matrices.
pub(crate) fn aggregate(
    program: &mut Program,
    function: &'static Aggregate,
    args: &[Value],
) -> Lowered {
    // Numbers given one by one are one container.
    let gathered;
    let args = if args.len() > 1 && args.iter().all(|arg| arg.as_number().is_some()) {
        gathered = [Value::vector(args.iter().filter_map(Value::as_number).collect::<Vec<_>>())];
        &gathered[..]
    } else {
        args
    };
    let shapes: Vec<Shape> = args.iter().map(form).collect::<Result<_, _>>()?;
    let shape = (function.shape)(&shapes)
        .ok_or_else(|| format!("{} of arguments that do not fit together", function.name))?;
    let mut registers = Vec::with_capacity(args.len());
    for arg in args {
        let xs = numbers(arg)?;
        registers.push(program.registers(&xs));
    }
    let len = shape.len() as u32;
    let op = AggregateOp { function, args: registers, shapes, len };
    let out = program.push(Op::Aggregate(Box::new(op)), len);
    let marks: Vec<f64> = (out..out + len).map(|register| program.mark(register)).collect();
    Ok(match shape {
        Shape::Number | Shape::Law => Value::Number(marks[0]),
        Shape::Vector(_) => Value::vector(marks),
        Shape::Matrix(rows, cols) => Value::matrix(Matrix::new(rows, cols, marks)),
    })
}

/// A value outside the block that another move may change, with its numbers as leaves. None if
/// it holds more than numbers.
pub(crate) fn live(program: &mut Program, node: NodeId, value: &Value) -> Option<Value> {
    if let Value::Linked(link, _) = value {
        let eta = program.leaf(1, Source::Live(node, links::place(*link)));
        let eta = program.mark(eta);
        return Some(Value::Number(program.elementary(Elementary::of_link(*link), eta, 0.0)));
    }
    let mut xs = Vec::new();
    if !marked::plain_numbers(value, &mut xs) {
        return None;
    }
    let first = program.leaf(xs.len() as u32, Source::Live(node, 0));
    let mut marks = (first..).map(|register| program.mark(register));
    Some(renumber(value, &mut marks))
}

/// The value with its numbers replaced in order.
pub(crate) fn renumber(value: &Value, marks: &mut impl Iterator<Item = f64>) -> Value {
    let mut next = || marks.next().expect("marks without end");
    match value {
        Value::Number(_) | Value::Linked(..) | Value::Bool(_) => Value::Number(next()),
        Value::Vector(xs) => Value::vector(xs.iter().map(|_| next()).collect::<Vec<_>>()),
        Value::Matrix(m) => {
            let entries = m.as_slice().iter().map(|_| next()).collect();
            Value::matrix(Matrix::new(m.rows(), m.cols(), entries))
        }
        Value::Array(items) => {
            Value::array(items.iter().map(|item| renumber(item, &mut *marks)).collect())
        }
        other => match other.elements() {
            Some(items) => {
                let items: Vec<Value> =
                    items.iter().map(|item| renumber(item, &mut *marks)).collect();
                Value::list(items)
            }
            None => other.clone(),
        },
    }
}
