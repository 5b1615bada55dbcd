//! Dictionaries: any value may be a key, and the entries keep the order they were given in.
//! `lookup`, `contains` and `size` are with the other containers.

use smidgen_value::{ArgumentError, Dict, Value};

use super::Outcome;
use crate::procedure::Args;

table! {
    from_entries => "dict", "entry ...", at_least(0),
        "The dictionary of entries (array key value); of equal keys the last one counts",
        "(dict (array 'a 1) (array 'b 2))";
    |args| Ok(Value::list(dict(args)?.entries().iter().map(|(key, _)| key.clone()))) =>
        "keys", "d", exactly(1),
        "The list of a dictionary's keys, in the order of their entries",
        "(keys (dict (array 'a 1)))";
    |args| Ok(Value::list(dict(args)?.entries().iter().map(|(_, value)| value.clone()))) =>
        "values", "d", exactly(1),
        "The list of a dictionary's values, in the order of their entries",
        "(values (dict (array 'a 1)))";
}

fn from_entries(args: Args<'_>) -> Outcome {
    let mut entries = Vec::with_capacity(args.len());
    for (i, entry) in args.iter().enumerate() {
        let two: Option<[Value; 2]> = entry.elements().and_then(|items| items.try_into().ok());
        let [key, value] = two.ok_or_else(|| {
            ArgumentError::wrong_type(i, "a key and its value, as in (array key value)", entry)
        })?;
        entries.push((key, value));
    }
    Ok(Value::dict(entries))
}

fn dict(args: Args<'_>) -> Result<&Dict, ArgumentError> {
    match args[0] {
        Value::Dict(dict) => Ok(dict),
        other => Err(ArgumentError::wrong_type(0, "a dictionary", other)),
    }
}
