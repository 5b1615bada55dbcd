//! Lists, and what lists, arrays and vectors have in common: taking apart, looking up, joining.
//!
//! A list may be long: every walk over one is a loop, and `rest` and the last argument of
//! `append` are shared, not copied.

use rustc_hash::FxHashSet;
use smidgen_value::{ArgumentError, Value};

use super::{MOST_ELEMENTS, Outcome, length, number_and_other};
use crate::arguments::{elements, finite, number, reals};
use crate::procedure::Args;

table! {
    |args| Ok(Value::list(args.iter().map(|x| (*x).clone()))) => "list", "x ...", at_least(0),
        "The list of the arguments",
        "(list 1 2 3)";
    |args| Ok(Value::pair(args[0].clone(), args[1].clone())) => "pair", "first rest", exactly(2),
        "A pair; onto a list, the list with one more element in front",
        "(pair 1 (list 2 3))";
    |args| element(args[0], 0).ok_or_else(|| no_pair(args)) => "first", "xs", exactly(1),
        "The first element of a list, array or vector",
        "(first (list 1 2 3))";
    second => "second", "xs", exactly(1),
        "The second element of a list, array or vector",
        "(second (list 1 2 3))";
    rest => "rest", "xs", exactly(1),
        "All but the first element of a list, array or vector",
        "(rest (list 1 2 3))";
    append => "append", "xs ...", at_least(0),
        "The elements of all arguments in one container of the first one's kind",
        "(append (list 1 2) (list 3))";
    reverse => "reverse", "xs", exactly(1),
        "The list, array or vector in opposite order",
        "(reverse (list 1 2 3))";
    sort => "sort", "xs", exactly(1),
        "The elements of a list, array or vector in ascending order: numbers by size, texts and symbols by their letters",
        "(sort (list 3 1 2))";
    unique => "unique", "xs", exactly(1),
        "The distinct elements of a list, array or vector, in the order of their first occurrence",
        "(unique (list 1 2 1))";
    take => "take", "n xs", exactly(2),
        "The first n elements of a list, array or vector, or all if there are fewer; the arguments may come in either order",
        "(take 2 (list 1 2 3))";
    zip => "zip", "xs ...", at_least(1),
        "The list of the lists of first elements, of second elements and so on, as long as the shortest argument",
        "(zip (list 1 2) (list 'a 'b))";
    |args| Ok(Value::Number(size(args)? as f64)) => "size", "xs", exactly(1),
        "The number of elements, of entries of a dictionary, of rows of a matrix or of characters of a string",
        "(size (list 1 2 3))";
    is_empty => "is_empty", "xs", exactly(1),
        "Whether the container has no element",
        "(is_empty (list))";
    lookup => "lookup", "xs i", exactly(2),
        "The element at an index counted from 0, the row of a matrix, or the value of a dictionary's key",
        "(lookup (array 10 20 30) 1)";
    contains => "contains", "xs x", exactly(2),
        "Whether x is an element of the list, array or vector, or a key of the dictionary",
        "(contains (list 1 2 3) 2)";
    range => "range", "[from] to", between(1, 2),
        "The list from (or 0), from + 1, ... up to but excluding to",
        "(range 0 3)";
    |args| Ok(Value::array(args.iter().map(|x| (*x).clone()).collect())) =>
        "array", "x ...", at_least(0),
        "The array of the arguments",
        "(array 1 'a true)";
    to_list => "to_list", "xs", exactly(1),
        "The elements of an array or vector, or the rows of a matrix, as a list",
        "(to_list (vector 1 2))";
    to_array => "to_array", "xs", exactly(1),
        "The elements of a list or vector, or the rows of a matrix, as an array",
        "(to_array (list 1 2))";
    |args| match args[0] {
        Value::Vector(_) => Ok(args[0].clone()),
        _ => Ok(Value::vector(reals(args, 0)?)),
    } => "to_vector", "xs", exactly(1),
        "The numbers of a list or array as a vector",
        "(to_vector (list 1 2))";
}

/// The elements in front of a list's end.
fn links(list: &Value) -> impl Iterator<Item = &Value> {
    let mut link = list;
    std::iter::from_fn(move || match link {
        Value::Pair(pair) => {
            link = &pair.rest;
            Some(&pair.first)
        }
        _ => None,
    })
}

/// The number of elements of a list; None if it does not end in the empty list.
pub(super) fn list_size(list: &Value) -> Option<usize> {
    let (mut link, mut size) = (list, 0);
    while let Value::Pair(pair) = link {
        size += 1;
        link = &pair.rest;
    }
    matches!(link, Value::Nil).then_some(size)
}

#[inline]
fn element(xs: &Value, i: usize) -> Option<Value> {
    match xs {
        Value::Vector(xs) => xs.get(i).copied().map(Value::Number),
        Value::Array(items) => items.get(i).cloned(),
        Value::Pair(_) => links(xs).nth(i).cloned(),
        Value::Matrix(m) => (i < m.rows()).then(|| Value::vector(m.row(i))),
        _ => None,
    }
}

fn sort(args: Args<'_>) -> Outcome {
    let mut items = elements(args, 0)?;
    items.sort();
    Ok(match args[0] {
        Value::Vector(_) => {
            let numbers = items.iter().map(|x| x.as_number().expect("a vector holds numbers"));
            Value::vector(numbers.collect::<Vec<f64>>())
        }
        Value::Array(_) => Value::array(items),
        _ => Value::list(items),
    })
}

fn no_pair(args: Args<'_>) -> ArgumentError {
    ArgumentError::wrong_type(0, "a non-empty list (a pair)", args[0])
}

fn second(args: Args<'_>) -> Outcome {
    element(args[0], 1).ok_or_else(|| {
        ArgumentError::wrong_type(0, "a list of two or more elements (a pair onto a pair)", args[0])
    })
}

fn rest(args: Args<'_>) -> Outcome {
    match args[0] {
        Value::Pair(pair) => Ok(pair.rest.clone()),
        Value::Array(items) if !items.is_empty() => Ok(Value::array(items[1..].to_vec())),
        Value::Vector(xs) if !xs.is_empty() => Ok(Value::vector(&xs[1..])),
        _ => Err(no_pair(args)),
    }
}

fn append(args: Args<'_>) -> Outcome {
    let Some((last, others)) = args.split_last() else { return Ok(Value::Nil) };
    match args[0] {
        Value::Vector(_) => {
            let mut all = Vec::new();
            for i in 0..args.len() {
                all.extend_from_slice(&reals(args, i)?);
            }
            Ok(Value::vector(all))
        }
        Value::Array(_) => {
            let mut all = Vec::new();
            for i in 0..args.len() {
                all.append(&mut elements(args, i)?);
            }
            Ok(Value::array(all))
        }
        _ => {
            let mut joined = match last {
                Value::Nil | Value::Pair(_) => (*last).clone(),
                _ => Value::list(elements(args, others.len())?),
            };
            for i in (0..others.len()).rev() {
                joined = onto(elements(args, i)?, joined);
            }
            Ok(joined)
        }
    }
}

/// The elements, followed by those of a list.
fn onto(items: Vec<Value>, list: Value) -> Value {
    items.into_iter().rev().fold(list, |rest, first| Value::pair(first, rest))
}

fn reverse(args: Args<'_>) -> Outcome {
    match args[0] {
        Value::Vector(xs) => Ok(Value::vector(xs.iter().rev().copied().collect::<Vec<_>>())),
        Value::Array(items) => Ok(Value::array(items.iter().rev().cloned().collect())),
        _ => Ok(Value::list(elements(args, 0)?.into_iter().rev())),
    }
}

fn unique(args: Args<'_>) -> Outcome {
    let mut seen = FxHashSet::default();
    let mut distinct = elements(args, 0)?;
    distinct.retain(|item| seen.insert(item.clone()));
    match args[0] {
        Value::Vector(_) => {
            Ok(Value::vector(distinct.iter().filter_map(Value::as_number).collect::<Vec<_>>()))
        }
        Value::Array(_) => Ok(Value::array(distinct)),
        _ => Ok(Value::list(distinct)),
    }
}

fn take(args: Args<'_>) -> Outcome {
    let (count, container) = number_and_other(args);
    let (n, xs) = (length(args, count)?, args[container]);
    match xs {
        Value::Vector(xs) => Ok(Value::vector(&xs[..n.min(xs.len())])),
        Value::Array(items) => Ok(Value::array(items[..n.min(items.len())].to_vec())),
        Value::Nil | Value::Pair(_) => {
            Ok(Value::list(links(xs).take(n).cloned().collect::<Vec<_>>()))
        }
        _ => Err(ArgumentError::wrong_type(container, "a list or array", xs)),
    }
}

fn zip(args: Args<'_>) -> Outcome {
    let mut columns = Vec::with_capacity(args.len());
    for i in 0..args.len() {
        columns.push(elements(args, i)?);
    }
    let shortest = columns.iter().map(Vec::len).min().unwrap_or(0);
    let tuples: Vec<Value> =
        (0..shortest).map(|i| Value::list(columns.iter().map(|c| c[i].clone()))).collect();
    Ok(Value::list(tuples))
}

fn size(args: Args<'_>) -> Result<usize, ArgumentError> {
    let size = match args[0] {
        Value::Vector(xs) => Some(xs.len()),
        Value::Array(items) => Some(items.len()),
        Value::Dict(dict) => Some(dict.entries().len()),
        Value::Matrix(m) => Some(m.rows()),
        Value::Text(text) => Some(text.chars().count()),
        Value::Nil | Value::Pair(_) => list_size(args[0]),
        _ => None,
    };
    size.ok_or_else(|| not_a_container(args))
}

fn is_empty(args: Args<'_>) -> Outcome {
    // A pair is not empty, however long the list behind it.
    let is_empty = !matches!(args[0], Value::Pair(_)) && size(args)? == 0;
    Ok(Value::Bool(is_empty))
}

fn not_a_container(args: Args<'_>) -> ArgumentError {
    ArgumentError::wrong_type(0, "a list, array, vector, matrix or dictionary", args[0])
}

#[inline]
fn lookup(args: Args<'_>) -> Outcome {
    let (xs, at) = (args[0], args[1]);
    if let Value::Dict(dict) = xs {
        let value = dict.get(at).cloned();
        return value.ok_or_else(|| {
            ArgumentError::other(format!("the dictionary has no key {}", at.brief()))
        });
    }
    if let Value::Number(index) = at {
        let i = *index as usize;
        if i as f64 == *index
            && let Some(found) = element(xs, i)
        {
            return Ok(found);
        }
    }
    lookup_slowly(args)
}

/// The rare cases of [`lookup`]: a boolean index, or an error.
#[inline(never)]
fn lookup_slowly(args: Args<'_>) -> Outcome {
    let size = match args[0] {
        Value::Text(_) => return Err(not_a_container(args)),
        Value::Pair(_) => links(args[0]).count(),
        _ => size(args)?,
    };
    let index = number(args, 1)?;
    let i = index as usize;
    let found = if i as f64 == index { element(args[0], i) } else { None };
    found.ok_or(ArgumentError::Index { index, size })
}

fn contains(args: Args<'_>) -> Outcome {
    let (xs, x) = (args[0], args[1]);
    let found = match xs {
        Value::Dict(dict) => dict.get(x).is_some(),
        Value::Vector(xs) => xs.iter().any(|y| Value::Number(*y) == *x),
        Value::Array(items) => items.contains(x),
        Value::Nil | Value::Pair(_) => links(xs).any(|y| y == x),
        _ => {
            let expected = "a list, array, vector or dictionary";
            return Err(ArgumentError::wrong_type(0, expected, xs));
        }
    };
    Ok(Value::Bool(found))
}

fn range(args: Args<'_>) -> Outcome {
    let from = if args.len() == 2 { finite(args, 0, "a finite number")? } else { 0.0 };
    let to = finite(args, args.len() - 1, "a finite number")?;
    let size = (to - from).ceil().max(0.0);
    if size > MOST_ELEMENTS as f64 {
        return Err(ArgumentError::other(format!("a range of {size} elements is too long")));
    }
    Ok(Value::list((0..size as usize).map(|i| Value::Number(from + i as f64))))
}

/// The elements of a list, array or vector, or the rows of a matrix.
fn elements_or_rows(args: Args<'_>) -> Result<Vec<Value>, ArgumentError> {
    match args[0] {
        Value::Matrix(m) => Ok((0..m.rows()).map(|i| Value::vector(m.row(i))).collect()),
        _ => elements(args, 0),
    }
}

fn to_list(args: Args<'_>) -> Outcome {
    match list_size(args[0]) {
        Some(_) => Ok(args[0].clone()),
        None => Ok(Value::list(elements_or_rows(args)?)),
    }
}

fn to_array(args: Args<'_>) -> Outcome {
    match args[0] {
        Value::Array(_) => Ok(args[0].clone()),
        _ => Ok(Value::array(elements_or_rows(args)?)),
    }
}
