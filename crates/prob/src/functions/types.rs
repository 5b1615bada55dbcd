//! Tests of a value's type, and conversions that check. There is one kind of number: an
//! integer is a number without a fraction.

use smidgen_value::Value;

use super::Outcome;
use super::lists::list_size;
use crate::arguments::{number, number_where, probability};
use crate::procedure::Args;

table! {
    |args| test(args, |x| matches!(x, Value::Number(_) | Value::Linked(..))) => "is_number", "x", exactly(1),
        "Whether x is a number",
        "(is_number 3)";
    |args| test(args, |x| !matches!(x, Value::Bool(_)) && x.as_number().is_some_and(is_whole)) =>
        "is_integer", "x", exactly(1),
        "Whether x is a whole number",
        "(is_integer 3)";
    |args| test(args, |x| matches!(x, Value::Bool(_))) => "is_boolean", "x", exactly(1),
        "Whether x is true or false",
        "(is_boolean true)";
    |args| test(args, |x| matches!(x, Value::Symbol(_))) => "is_symbol", "x", exactly(1),
        "Whether x is a symbol",
        "(is_symbol 'a)";
    |args| test(args, |x| matches!(x, Value::Text(_))) => "is_string", "x", exactly(1),
        "Whether x is a string",
        "(is_string \"text\")";
    |args| test(args, |x| matches!(x, Value::Procedure(_))) => "is_procedure", "x", exactly(1),
        "Whether x is a procedure",
        "(is_procedure +)";
    |args| test(args, |x| matches!(x, Value::Pair(_))) => "is_pair", "x", exactly(1),
        "Whether x is a pair, as every list with elements is",
        "(is_pair (list 1))";
    |args| test(args, |x| list_size(x).is_some()) => "is_list", "x", exactly(1),
        "Whether x is a list, with or without elements",
        "(is_list (list 1))";
    |args| test(args, |x| matches!(x, Value::Array(_))) => "is_array", "x", exactly(1),
        "Whether x is an array",
        "(is_array (array 1))";
    |args| test(args, |x| matches!(x, Value::Vector(_))) => "is_vector", "x", exactly(1),
        "Whether x is a vector",
        "(is_vector (vector 1))";
    |args| test(args, |x| matches!(x, Value::Matrix(_))) => "is_matrix", "x", exactly(1),
        "Whether x is a matrix",
        "(is_matrix (id_matrix 2))";
    |args| test(args, |x| matches!(x, Value::Dict(_))) => "is_dict", "x", exactly(1),
        "Whether x is a dictionary",
        "(is_dict (dict))";
    |args| test(args, |x| matches!(x, Value::Environment(_))) => "is_environment", "x", exactly(1),
        "Whether x is an environment",
        "(is_environment (get_empty_environment))";
    |args| number(args, 0).map(|x| as_given(args[0], x)) => "real", "x", exactly(1),
        "x as a number: true is 1, false is 0",
        "(real true)";
    |args| number_where(args, 0, "a whole number", is_whole).map(Value::Number) =>
        "integer", "x", exactly(1),
        "x as a number, which has to be whole",
        "(integer 3)";
    |args| probability(args, 0).map(|p| as_given(args[0], p)) => "probability", "x", exactly(1),
        "x as a number, which has to lie between 0 and 1",
        "(probability 0.5)";
}

fn test(args: Args<'_>, holds: impl Fn(&Value) -> bool) -> Outcome {
    Ok(Value::Bool(holds(args[0])))
}

/// A number as such; one that is known through a link stays so.
fn as_given(value: &Value, number: f64) -> Value {
    if let Value::Linked(..) = value { value.clone() } else { Value::Number(number) }
}

fn is_whole(x: f64) -> bool {
    x.is_finite() && x.fract() == 0.0
}
