//! How often each value was drawn: the sufficient statistics of categories.

use smidgen_value::Value;

use super::categories::{Categories, Walk};
use crate::collapsed::counted::{Summary, admit_number};

/// How often each value was drawn. Small whole numbers have a place of their own; other values
/// are kept in order, so that equal tallies look alike whatever their history.
#[derive(Clone)]
pub(super) struct Tally {
    pub(super) n: usize,
    small: Vec<usize>,
    others: Vec<(Value, usize)>,
    /// Whether the values are objects rather than indices.
    objects: bool,
}

const SMALL: f64 = 4096.0;

enum CountPlace {
    Small(usize),
    Other(Result<usize, usize>),
}

impl Tally {
    pub(super) fn new(objects: bool) -> Tally {
        Tally { n: 0, small: Vec::new(), others: Vec::new(), objects }
    }

    fn place(&self, x: &Value) -> CountPlace {
        match x.as_number() {
            Some(x) if (0.0..SMALL).contains(&x) && x.fract() == 0.0 => {
                CountPlace::Small(x as usize)
            }
            _ => CountPlace::Other(self.others.binary_search_by(|(value, _)| value.cmp(x))),
        }
    }

    pub(super) fn of(&self, x: &Value) -> usize {
        match self.place(x) {
            CountPlace::Small(i) => self.small.get(i).copied().unwrap_or(0),
            CountPlace::Other(found) => found.map_or(0, |i| self.others[i].1),
        }
    }

    /// The value at `place`, in 0 .. n, of the counts laid end to end.
    pub(super) fn pick(&self, mut place: usize) -> Option<Value> {
        let mut falls = |count: usize| {
            let here = place < count;
            place = place.saturating_sub(count);
            here
        };
        if let Some(i) = self.small.iter().position(|count| falls(*count)) {
            return Some(Value::Number(i as f64));
        }
        self.others.iter().find(|(_, count)| falls(*count)).map(|(value, _)| value.clone())
    }

    /// (weight, count) of every value drawn; weight 0 for a value that is no category.
    pub(super) fn groups(&self, categories: &Categories<'_>, mut each: impl FnMut(f64, usize)) {
        match categories.objects {
            None => {
                for (i, count) in self.small.iter().enumerate().filter(|(_, count)| **count > 0) {
                    each(categories.weight(i), *count);
                }
                for (value, count) in &self.others {
                    each(categories.weight_of(value), *count);
                }
            }
            Some(objects) => {
                let mut small = vec![0.0; self.small.len()];
                let mut others = vec![0.0; self.others.len()];
                for (category, object) in Walk::new(objects).enumerate() {
                    let weight = match self.place(&object) {
                        CountPlace::Small(i) => small.get_mut(i),
                        CountPlace::Other(found) => found.ok().map(|i| &mut others[i]),
                    };
                    if let Some(weight) = weight {
                        *weight += categories.weight(category);
                    }
                }
                for (weight, count) in small.iter().zip(&self.small) {
                    if *count > 0 {
                        each(*weight, *count);
                    }
                }
                for (weight, (_, count)) in others.iter().zip(&self.others) {
                    each(*weight, *count);
                }
            }
        }
    }
}

impl Summary for Tally {
    const EXACT: bool = true;

    fn add(&mut self, x: &Value) {
        self.n += 1;
        match self.place(x) {
            CountPlace::Small(i) => {
                if i >= self.small.len() {
                    self.small.resize(i + 1, 0);
                }
                self.small[i] += 1;
            }
            CountPlace::Other(Ok(i)) => self.others[i].1 += 1,
            CountPlace::Other(Err(i)) => self.others.insert(i, (x.clone(), 1)),
        }
    }

    fn remove(&mut self, x: &Value) {
        self.n -= 1;
        match self.place(x) {
            CountPlace::Small(i) => self.small[i] -= 1,
            CountPlace::Other(found) => {
                let i = found.expect("a value that is forgotten was counted");
                self.others[i].1 -= 1;
                if self.others[i].1 == 0 {
                    self.others.remove(i);
                }
            }
        }
    }

    fn count(&self) -> usize {
        self.n
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        if self.objects { Ok(x.clone()) } else { admit_number(x) }
    }
}
