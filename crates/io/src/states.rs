//! States of a run, in a file of their own beside the draws: `fit.states` beside `fit.parquet`.
//!
//! Numbers are little-endian. `SMGstat` and a version; the fingerprint of the draws; the directives' marks; lists of
//! addresses, each once; per chain `every` and its states, each the number of its list and its values; the last
//! states; FNV-1a of everything before. A value is a tag and what it holds. Lengths are checked against what is left
//! before anything is allocated.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use smidgen_draws::States;
use smidgen_draws::states::{ChainStates, StepMark};
use smidgen_value::bytes::{Bytes, Input};
use smidgen_value::{State, Value};

const HEAD: &[u8; 8] = b"SMGstat\x01";

/// The file of states that belongs to a file of draws.
pub fn states_path(draws: &Path) -> PathBuf {
    draws.with_extension("states")
}

/// Why states could not be written or read.
pub type StatesError = String;

pub fn write_states(path: &Path, states: &States) -> Result<(), StatesError> {
    let bytes = encode(states)?;
    let shown = path.display();
    crate::sink::replace_bytes(path, &bytes).map_err(|error| format!("{shown}: {error}"))
}

pub fn read_states(path: &Path) -> Result<States, StatesError> {
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("{shown}: there is no such file"),
        _ => format!("{shown}: cannot read the file: {error}"),
    })?;
    decode(&bytes).ok_or_else(|| format!("{shown}: the file is damaged, or no file of states"))
}

fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

// ---------------------------------------------------------------- writing

fn check(value: &Value) -> Result<(), StatesError> {
    match value {
        Value::Procedure(_) | Value::Environment(_) => {
            Err("a random choice has a procedure as its value".to_owned())
        }
        _ => Ok(()),
    }
}

fn put_state(
    state: &State,
    lists: &HashMap<Arc<[u64]>, u64>,
    out: &mut Vec<u8>,
) -> Result<(), StatesError> {
    lists[state.addresses()].put(out);
    for value in state.values() {
        check(value)?;
        value.put(out);
    }
    Ok(())
}

/// The bytes of a file of states.
pub fn encode(states: &States) -> Result<Vec<u8>, StatesError> {
    let mut lists: Vec<Arc<[u64]>> = Vec::new();
    let mut numbers = HashMap::new();
    let mut out = HEAD.to_vec();
    let all = states.chains.iter().flat_map(|chain| &chain.states).chain(&states.last);
    for state in all {
        if !numbers.contains_key(state.addresses()) {
            numbers.insert(state.addresses().clone(), lists.len() as u64);
            lists.push(state.addresses().clone());
        }
    }
    states.fingerprint.put(&mut out);
    let marks: Vec<(u64, u64)> = states.steps.iter().map(|mark| (mark.start, mark.rows)).collect();
    marks.put(&mut out);
    lists.len().put(&mut out);
    lists.iter().for_each(|list| list.to_vec().put(&mut out));
    states.chains.len().put(&mut out);
    for chain in &states.chains {
        chain.every.put(&mut out);
        chain.states.len().put(&mut out);
        chain.states.iter().try_for_each(|state| put_state(state, &numbers, &mut out))?;
    }
    states.last.len().put(&mut out);
    states.last.iter().try_for_each(|state| put_state(state, &numbers, &mut out))?;
    checksum(&out).put(&mut out);
    Ok(out)
}

// ---------------------------------------------------------------- reading

fn take_states(lists: &[Arc<[u64]>], from: &mut Input<'_>) -> Option<Vec<State>> {
    let state = |from: &mut Input<'_>| {
        let list = lists.get(usize::take(from)?)?.clone();
        let values = (0..list.len()).map(|_| Value::take(from)).collect::<Option<Vec<_>>>()?;
        State::from_parts(list, values)
    };
    (0..from.count(8)?).map(|_| state(from)).collect()
}

/// The states in the bytes of a file; None if they are damaged.
pub fn decode(bytes: &[u8]) -> Option<States> {
    let (body, sum) = bytes.split_last_chunk::<8>()?;
    if checksum(body) != u64::from_le_bytes(*sum) {
        return None;
    }
    let from = &mut Input::new(body.strip_prefix(HEAD)?);
    let fingerprint = u64::take(from)?;
    let marks = Vec::<(u64, u64)>::take(from)?;
    let steps = marks.into_iter().map(|(start, rows)| StepMark { start, rows }).collect();
    let lists: Vec<Arc<[u64]>> = Vec::<Vec<u64>>::take(from)?.into_iter().map(Arc::from).collect();
    let mut chains = Vec::new();
    for _ in 0..from.count(16)? {
        let every = usize::take(from)?.max(1);
        chains.push(ChainStates { every, states: take_states(&lists, from)? });
    }
    let last = take_states(&lists, from)?;
    from.is_empty().then_some(States { steps, chains, last, is_recorded: false, fingerprint })
}

#[cfg(test)]
mod tests {
    use super::*;
    use smidgen_value::{Link, Matrix};

    fn example() -> States {
        let values = vec![
            Value::Nil,
            Value::TRUE,
            0.1.into(),
            Value::Linked(Link::Log, -800.0),
            Value::symbol("a"),
            Value::text("ü"),
            Value::vector([1.0, f64::NAN]),
            Value::matrix(Matrix::new(1, 2, vec![1.0, -0.0])),
            Value::array(vec![Value::list([1.0.into(), Value::FALSE])]),
            Value::dict([(Value::text("k"), 2.0.into())]),
        ];
        let choices = values.into_iter().enumerate().map(|(k, v)| (3 * k as u64, v)).collect();
        let state = State::new(choices).expect("distinct addresses");
        let other = State::new(vec![(1, 2.0.into())]).expect("one");
        let chain = ChainStates { every: 2, states: vec![state.clone(), other.clone()] };
        let steps = vec![StepMark { start: 7, rows: 9 }];
        let last = vec![other, state];
        States { steps, chains: vec![chain], last, is_recorded: false, fingerprint: 17 }
    }

    #[test]
    fn states_read_back_to_the_bit() {
        let states = example();
        let bytes = encode(&states).expect("no procedures");
        let read = decode(&bytes).expect("just written");
        assert_eq!((read.fingerprint, &read.steps), (17, &states.steps));
        let pairs = read.chains[0].states.iter().zip(&states.chains[0].states);
        for (a, b) in pairs.chain(read.last.iter().zip(&states.last)) {
            assert_eq!(a.addresses(), b.addresses());
            // Every number prints as the shortest text that is no other's.
            let shown = |state: &State| format!("{:?}", state.values());
            assert_eq!(shown(a), shown(b));
        }
        assert_eq!(read.chains[0].every, 2);
    }

    #[test]
    fn damage_is_noticed() {
        let bytes = encode(&example()).expect("no procedures");
        for n in 0..bytes.len() {
            assert!(decode(&bytes[..n]).is_none(), "cut at {n}");
            let mut changed = bytes.clone();
            changed[n] ^= 0x10;
            assert!(decode(&changed).is_none(), "changed at {n}");
        }
        // A claim about a length that the file does not have, with a right sum.
        for place in (8..bytes.len() - 16).step_by(8) {
            let mut changed = bytes[..bytes.len() - 8].to_vec();
            changed[place..place + 8].copy_from_slice(&u64::MAX.to_le_bytes());
            let sum = checksum(&changed);
            changed.extend(sum.to_le_bytes());
            let _ = decode(&changed); // neither a panic nor a large allocation
        }
    }
}
