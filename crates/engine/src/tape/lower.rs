//! Procedures of the language as steps of a tape: values carry marks where numbers depend on the
//! block ([`super::marked`]).

use smidgen_prob::Function;
use smidgen_prob::smooth::{self, Elementary, Shape, Smooth};
use smidgen_value::{Matrix, Value};

use super::marked::{self, has_marks, is_marked};
use super::odds::LOG_ODDS;
use super::{AggregateOp, Comparison, Op, Source, Tape};
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

/// Whether a procedure compares: its result jumps.
pub(crate) fn compares(name: &str) -> bool {
    matches!(name, "<" | "<=" | ">" | ">=" | "=" | "!=" | "not" | "biplex")
}

/// The result of a procedure on marked values.
pub(crate) fn function(tape: &mut Tape, function: &Function, args: &[Value]) -> Lowered {
    let name = function.spec.name;
    if !args.iter().any(has_marks) {
        return apply(function, args);
    }
    if smooth::is_identity(name) {
        return match args {
            [single] if single.as_number().is_some() => Ok(single.clone()),
            [container] => numbers(container).map(Value::vector),
            several => {
                several.iter().map(single_number).collect::<Result<Vec<_>, _>>().map(Value::vector)
            }
        };
    }
    match (name, args) {
        ("lookup", [container, Value::Number(index)]) if is_marked(*index) => {
            let items = container.elements().ok_or("lookup in what is no sequence")?;
            return choose(tape, *index, &items);
        }
        ("-", [x]) => return elementwise(tape, Elementary::Negate, x, None),
        ("/", [x]) => return elementwise(tape, Elementary::Reciprocal, x, None),
        ("-", [one, p]) if one.as_number() == Some(1.0) && tape.log_odds(p).is_some() => {
            return tape.other_side(p).ok_or_else(|| "the other side of no coin".to_owned());
        }
        ("logit", [p]) if let Some(log_odds) = tape.sure_log_odds(p) => {
            return Ok(Value::Number(log_odds));
        }
        ("-", [a, b]) => return elementwise(tape, Elementary::Subtract, a, Some(b)),
        ("/", [a, b]) => return elementwise(tape, Elementary::Divide, a, Some(b)),
        ("vector_add" | "matrix_add", [a, b]) => {
            return elementwise(tape, Elementary::Add, a, Some(b));
        }
        ("scale_vector" | "scale_matrix", [a, b]) => {
            return elementwise(tape, Elementary::Multiply, a, Some(b));
        }
        ("linear_logistic", [w, x]) => return linear_logistic(tape, w, x),
        ("dot", [a, b]) => return dot(tape, &numbers(a)?, &numbers(b)?).map(Value::Number),
        ("biplex", [c, a, b]) => return either(tape, c, b, a),
        ("<", args) => return compare(tape, Comparison::Less, args, false),
        ("<=", args) => return compare(tape, Comparison::AtMost, args, false),
        (">", args) => return compare(tape, Comparison::Less, args, true),
        (">=", args) => return compare(tape, Comparison::AtMost, args, true),
        ("=", args) => return compare(tape, Comparison::Equal, args, false),
        ("!=", args) => return compare(tape, Comparison::Different, args, false),
        ("not", [x]) => {
            return compare(tape, Comparison::Equal, &[x.clone(), Value::Number(0.0)], false);
        }
        _ => {}
    }
    if ARRANGING.iter().any(|(known, _)| *known == name) {
        let deciding = deciding_arguments(name);
        if deciding.iter().any(|k| args.get(*k).is_some_and(has_marks)) {
            return Err(format!("{name} with an argument that the block changes"));
        }
        return apply(function, args);
    }
    match smooth::find(name) {
        Some(Smooth::Elementary(f)) => elementwise(tape, f, &args[0], args.get(1)),
        Some(Smooth::Chain(f)) => chain(tape, f, args),
        Some(Smooth::Aggregate(_)) => aggregate(tape, name, args),
        None => Err(format!("{name} has no derivative")),
    }
}

fn apply(function: &Function, args: &[Value]) -> Lowered {
    let args: Vec<&Value> = args.iter().collect();
    (function.apply)(&args)
        .map_err(|error| format!("{} cannot be followed: {error}", function.spec.name))
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

/// The log odds of a number that is used as a probability.
pub(crate) fn log_odds(tape: &mut Tape, p: &Value) -> Result<f64, Obstacle> {
    match tape.log_odds(p) {
        Some(log_odds) => Ok(log_odds),
        None => single_number(p).map(|p| tape.elementary(Elementary::Logit, p, 0.0)),
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
fn elementwise(tape: &mut Tape, f: Elementary, a: &Value, b: Option<&Value>) -> Lowered {
    let Some(b) = b else {
        return match a.as_number() {
            Some(x) => Ok(Value::Number(tape.elementary(f, x, 0.0))),
            None => {
                let xs = numbers(a)?;
                Ok(refill(a, xs.iter().map(|x| tape.elementary(f, *x, 0.0)).collect()))
            }
        };
    };
    match (a.as_number(), b.as_number()) {
        (Some(a), Some(b)) => Ok(Value::Number(tape.elementary(f, a, b))),
        (Some(x), None) => {
            let ys = numbers(b)?;
            Ok(refill(b, ys.iter().map(|y| tape.elementary(f, x, *y)).collect()))
        }
        (None, Some(y)) => {
            let xs = numbers(a)?;
            Ok(refill(a, xs.iter().map(|x| tape.elementary(f, *x, y)).collect()))
        }
        (None, None) => {
            let (xs, ys) = (numbers(a)?, numbers(b)?);
            if xs.len() != ys.len() {
                return Err("containers of different sizes".to_owned());
            }
            let both = xs.iter().zip(&ys);
            Ok(refill(a, both.map(|(x, y)| tape.elementary(f, *x, *y)).collect()))
        }
    }
}

fn chain(tape: &mut Tape, f: Elementary, args: &[Value]) -> Lowered {
    // The extremes of one container's numbers.
    if let [container] = args
        && container.as_number().is_none()
        && matches!(f, Elementary::Min | Elementary::Max)
    {
        let xs = numbers(container)?;
        let (first, rest) = xs.split_first().ok_or("an empty container")?;
        let extreme = rest.iter().fold(*first, |a, b| tape.elementary(f, a, *b));
        return Ok(Value::Number(extreme));
    }
    let (first, rest) = args.split_first().ok_or("no arguments")?;
    let mut total = first.clone();
    for arg in rest {
        total = elementwise(tape, f, &total, Some(arg))?;
    }
    Ok(total)
}

/// Chains of comparisons hold if all neighbours do: the product of 0s and 1s.
fn compare(tape: &mut Tape, comparison: Comparison, args: &[Value], flipped: bool) -> Lowered {
    let mut all = None;
    for pair in args.windows(2) {
        let (mut a, mut b) = (single_number(&pair[0])?, single_number(&pair[1])?);
        if flipped {
            (a, b) = (b, a);
        }
        let holds = if is_marked(a) || is_marked(b) {
            let (a, b) = (tape.register(a), tape.register(b));
            let out = tape.push(Op::Compare(comparison, a, b), 1, 0);
            tape.mark(out)
        } else {
            f64::from(u8::from(comparison.holds(a, b)))
        };
        all = Some(match all {
            None => holds,
            Some(before) => tape.elementary(Elementary::Multiply, before, holds),
        });
    }
    all.map(Value::Number).ok_or_else(|| "a comparison of one value".to_owned())
}

/// The item that the index, a mark, names: number by number.
fn choose(tape: &mut Tape, index: f64, items: &[Value]) -> Lowered {
    let (first, rest) = items.split_first().ok_or("a choice among nothing")?;
    if first.as_number().is_some() && rest.iter().all(|item| item.as_number().is_some()) {
        let options: Vec<f64> = items.iter().filter_map(Value::as_number).collect();
        let index = tape.register(index);
        let options = tape.registers(&options);
        let out = tape.push(Op::Choose { index, options: options.into() }, 1, 0);
        tape.choose_odds(index, items, out);
        return Ok(Value::Number(tape.mark(out)));
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
        chosen.push(single_number(&choose(tape, index, &options)?)?);
    }
    Ok(refill(first, chosen))
}

/// `then` where the condition is not 0, else `otherwise`.
pub(crate) fn either(tape: &mut Tape, c: &Value, otherwise: &Value, then: &Value) -> Lowered {
    let condition = single_number(c)?;
    if !is_marked(condition) {
        return Ok(if condition != 0.0 { then.clone() } else { otherwise.clone() });
    }
    let (a, zero) = (tape.register(condition), tape.register(0.0));
    let out = tape.push(Op::Compare(Comparison::Different, a, zero), 1, 0);
    let index = tape.mark(out);
    choose(tape, index, &[otherwise.clone(), then.clone()])
}

/// Σ a_k b_k
fn dot(tape: &mut Tape, a: &[f64], b: &[f64]) -> Result<f64, Obstacle> {
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
    let (a, b) = (tape.range(a), tape.range(b));
    let out = tape.push(Op::Dot { a, b, len }, 1, 0);
    Ok(tape.mark(out))
}

fn linear_logistic(tape: &mut Tape, w: &Value, x: &Value) -> Lowered {
    let (w, x) = (numbers(w)?, numbers(x)?);
    let (bias, weights) = w.split_first().ok_or("weights without a bias")?;
    let product = if weights.is_empty() { 0.0 } else { dot(tape, weights, &x)? };
    let predictor = tape.elementary(Elementary::Add, *bias, product);
    Ok(Value::Number(tape.elementary(Elementary::Logistic, predictor, 0.0)))
}

fn form(value: &Value) -> Result<Shape, Obstacle> {
    match value {
        Value::Matrix(m) => Ok(Shape::Matrix(m.rows(), m.cols())),
        value if value.as_number().is_some() => Ok(Shape::Number),
        value => Ok(Shape::Vector(numbers(value)?.len())),
    }
}

fn aggregate(tape: &mut Tape, name: &str, args: &[Value]) -> Lowered {
    let Some(Smooth::Aggregate(function)) = smooth::find(name) else {
        return Err(format!("{name} has no derivative"));
    };
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
        .ok_or_else(|| format!("{name} of arguments that do not fit together"))?;
    let mut registers = Vec::with_capacity(args.len());
    for arg in args {
        let xs = numbers(arg)?;
        registers.push(tape.registers(&xs));
    }
    let len = shape.len() as u32;
    let op = AggregateOp { function, args: registers, shapes, len };
    let out = tape.push(Op::Aggregate(Box::new(op)), len, 0);
    let marks: Vec<f64> = (out..out + len).map(|register| tape.mark(register)).collect();
    Ok(match shape {
        Shape::Number => Value::Number(marks[0]),
        Shape::Vector(_) => Value::vector(marks),
        Shape::Matrix(rows, cols) => Value::matrix(Matrix::new(rows, cols, marks)),
    })
}

/// A value outside the block that another move may change, with its numbers as leaves. None if
/// it holds more than numbers.
pub(crate) fn live(tape: &mut Tape, node: NodeId, value: &Value) -> Option<Value> {
    if let Value::Odds(_) = value {
        let eta = tape.leaf(1, Source::Live(node, LOG_ODDS));
        let eta = tape.mark(eta);
        return Some(Value::Number(tape.elementary(Elementary::Logistic, eta, 0.0)));
    }
    let mut xs = Vec::new();
    if !marked::plain_numbers(value, &mut xs) {
        return None;
    }
    let first = tape.leaf(xs.len() as u32, Source::Live(node, 0));
    let mut marks = (first..).map(|register| tape.mark(register));
    Some(renumber(value, &mut marks))
}

/// The value with its numbers replaced in order.
pub(crate) fn renumber(value: &Value, marks: &mut impl Iterator<Item = f64>) -> Value {
    let mut next = || marks.next().expect("marks without end");
    match value {
        Value::Number(_) | Value::Odds(_) | Value::Bool(_) => Value::Number(next()),
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
