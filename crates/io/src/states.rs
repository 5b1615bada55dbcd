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
use smidgen_value::{Link, Matrix, State, Symbol, Value};

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

struct Writer {
    bytes: Vec<u8>,
    lists: HashMap<Arc<[u64]>, u64>,
}

impl Writer {
    fn number(&mut self, x: u64) {
        self.bytes.extend(x.to_le_bytes());
    }

    fn real(&mut self, x: f64) {
        self.number(x.to_bits());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    fn state(&mut self, state: &State) -> Result<(), StatesError> {
        self.number(self.lists[state.addresses()]);
        state.values().iter().try_for_each(|value| self.value(value))
    }

    fn items<'v>(
        &mut self,
        tag: u8,
        items: impl ExactSizeIterator<Item = &'v Value>,
    ) -> Result<(), StatesError> {
        self.bytes.push(tag);
        self.number(items.len() as u64);
        for item in items {
            self.value(item)?;
        }
        Ok(())
    }

    fn value(&mut self, value: &Value) -> Result<(), StatesError> {
        match value {
            Value::Nil => self.bytes.push(0),
            Value::Bool(b) => self.bytes.push(1 + u8::from(*b)),
            Value::Number(x) => {
                self.bytes.push(3);
                self.real(*x);
            }
            Value::Linked(link, x) => {
                self.bytes.push(4);
                self.bytes.push(u8::from(*link == Link::Log));
                self.real(*x);
            }
            Value::Symbol(name) => {
                self.bytes.push(5);
                self.text(name.as_str());
            }
            Value::Text(text) => {
                self.bytes.push(6);
                self.text(text);
            }
            Value::Vector(xs) => {
                self.bytes.push(7);
                self.number(xs.len() as u64);
                xs.iter().for_each(|x| self.real(*x));
            }
            Value::Matrix(m) => {
                self.bytes.push(8);
                self.number(m.rows() as u64);
                self.number(m.cols() as u64);
                m.as_slice().iter().for_each(|x| self.real(*x));
            }
            Value::Array(items) => return self.items(9, items.iter()),
            Value::Pair(_) => match value.elements() {
                Some(items) => return self.items(10, items.iter()),
                None => return Err("a pair that is no list".to_owned()),
            },
            Value::Dict(dict) => {
                let entries: Vec<Value> =
                    dict.entries().iter().flat_map(|(k, v)| [k.clone(), v.clone()]).collect();
                return self.items(11, entries.iter());
            }
            Value::Procedure(_) | Value::Environment(_) => {
                return Err("a random choice has a procedure as its value".to_owned());
            }
        }
        Ok(())
    }
}

/// The bytes of a file of states.
pub fn encode(states: &States) -> Result<Vec<u8>, StatesError> {
    let mut lists: Vec<Arc<[u64]>> = Vec::new();
    let mut writer = Writer { bytes: HEAD.to_vec(), lists: HashMap::new() };
    let all = states.chains.iter().flat_map(|chain| &chain.states).chain(&states.last);
    for state in all {
        if !writer.lists.contains_key(state.addresses()) {
            writer.lists.insert(state.addresses().clone(), lists.len() as u64);
            lists.push(state.addresses().clone());
        }
    }
    writer.number(states.fingerprint);
    writer.number(states.steps.len() as u64);
    for mark in &states.steps {
        writer.number(mark.start);
        writer.number(mark.rows);
    }
    writer.number(lists.len() as u64);
    for list in &lists {
        writer.number(list.len() as u64);
        list.iter().for_each(|address| writer.number(*address));
    }
    writer.number(states.chains.len() as u64);
    for chain in &states.chains {
        writer.number(chain.every as u64);
        writer.number(chain.states.len() as u64);
        chain.states.iter().try_for_each(|state| writer.state(state))?;
    }
    writer.number(states.last.len() as u64);
    states.last.iter().try_for_each(|state| writer.state(state))?;
    let sum = checksum(&writer.bytes);
    writer.number(sum);
    Ok(writer.bytes)
}

// ---------------------------------------------------------------- reading

struct Reader<'a> {
    left: &'a [u8],
    lists: Vec<Arc<[u64]>>,
}

impl<'a> Reader<'a> {
    fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(n)?;
        self.left = left;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    fn number(&mut self) -> Option<u64> {
        self.bytes(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    fn real(&mut self) -> Option<f64> {
        self.number().map(f64::from_bits)
    }

    /// A number of things of which each takes so many bytes at least.
    fn count(&mut self, each: usize) -> Option<usize> {
        let n = usize::try_from(self.number()?).ok()?;
        (n.checked_mul(each)? <= self.left.len()).then_some(n)
    }

    fn text(&mut self) -> Option<&'a str> {
        let n = self.count(1)?;
        std::str::from_utf8(self.bytes(n)?).ok()
    }

    fn reals(&mut self, n: usize) -> Option<Vec<f64>> {
        (0..n).map(|_| self.real()).collect()
    }

    fn state(&mut self) -> Option<State> {
        let number = usize::try_from(self.number()?).ok()?;
        let list = self.lists.get(number)?.clone();
        let values = (0..list.len()).map(|_| self.value(0)).collect::<Option<Vec<_>>>()?;
        State::from_parts(list, values)
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        const DEEPEST: usize = 1000;
        if depth > DEEPEST {
            return None;
        }
        Some(match self.byte()? {
            0 => Value::Nil,
            1 => Value::FALSE,
            2 => Value::TRUE,
            3 => Value::Number(self.real()?),
            4 => {
                let link = if self.byte()? == 1 { Link::Log } else { Link::LogOdds };
                Value::Linked(link, self.real()?)
            }
            5 => Value::Symbol(Symbol::new(self.text()?)),
            6 => Value::text(self.text()?),
            7 => {
                let n = self.count(8)?;
                Value::vector(self.reals(n)?)
            }
            8 => {
                let (rows, cols) = (self.count(0)?, self.count(0)?);
                let n = rows.checked_mul(cols)?;
                if n.checked_mul(8)? > self.left.len() {
                    return None;
                }
                Value::matrix(Matrix::new(rows, cols, self.reals(n)?))
            }
            tag @ 9..=11 => {
                let n = self.count(1)?;
                let items = (0..n).map(|_| self.value(depth + 1)).collect::<Option<Vec<_>>>()?;
                match tag {
                    9 => Value::array(items),
                    10 => Value::list(items),
                    _ => {
                        let pair = |pair: &[Value]| (pair[0].clone(), pair[1].clone());
                        Value::dict(items.chunks_exact(2).map(pair))
                    }
                }
            }
            _ => return None,
        })
    }
}

/// The states in the bytes of a file; None if they are damaged.
pub fn decode(bytes: &[u8]) -> Option<States> {
    let (body, sum) = bytes.split_last_chunk::<8>()?;
    if checksum(body) != u64::from_le_bytes(*sum) {
        return None;
    }
    let mut reader = Reader { left: body.strip_prefix(HEAD)?, lists: Vec::new() };
    let fingerprint = reader.number()?;
    let steps = (0..reader.count(16)?)
        .map(|_| Some(StepMark { start: reader.number()?, rows: reader.number()? }))
        .collect::<Option<Vec<_>>>()?;
    for _ in 0..reader.count(8)? {
        let n = reader.count(8)?;
        let list = (0..n).map(|_| reader.number()).collect::<Option<Vec<u64>>>()?;
        reader.lists.push(list.into());
    }
    let mut chains = Vec::new();
    for _ in 0..reader.count(16)? {
        let every = usize::try_from(reader.number()?).ok()?.max(1);
        let states = (0..reader.count(8)?).map(|_| reader.state()).collect::<Option<Vec<_>>>()?;
        chains.push(ChainStates { every, states });
    }
    let last = (0..reader.count(8)?).map(|_| reader.state()).collect::<Option<Vec<_>>>()?;
    reader.left.is_empty().then_some(States {
        steps,
        chains,
        last,
        is_recorded: false,
        fingerprint,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
