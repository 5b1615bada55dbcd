//! Which rows of a loop compute the same: a tree of decisions, grown row by row.
//!
//! A row walks down from the root; at each fork it takes the way of its guard's value. Where there is
//! no way yet, the program is written for this row, and its guards are the way. So families that
//! rows ask for are made in the order of the rows, as if each were evaluated by itself.

use rustc_hash::FxHashMap;
use smidgen_value::Value;

use super::write::{Guard, Written};

enum Way {
    Fork {
        guard: Box<Guard>,
        ways: FxHashMap<Value, Option<Way>>,
    },
    /// The number of the plate.
    Plate(u32),
}

/// The rows of one observation, sorted.
#[derive(Default)]
pub(crate) struct Sorter {
    root: Option<Way>,
    /// The rows of each plate, in order.
    pub members: Vec<Vec<u32>>,
}

impl Sorter {
    /// Whether all rows are alike, whatever they hold.
    pub fn is_uniform(&self) -> bool {
        matches!(self.root, Some(Way::Plate(_)))
    }

    /// The plate of a row; none if it is the first of its kind.
    pub fn find(&self, row: usize) -> Option<u32> {
        let mut way = self.root.as_ref()?;
        loop {
            match way {
                Way::Plate(number) => return Some(*number),
                Way::Fork { guard, ways } => way = ways.get(&guard.value(row)?)?.as_ref()?,
            }
        }
    }

    /// Enters the plate that was written for a row, and takes its guards.
    pub fn enter(&mut self, written: &mut Written) -> u32 {
        let number = self.members.len() as u32;
        self.members.push(Vec::new());
        let guards = std::mem::take(&mut written.guards);
        insert(&mut self.root, &mut guards.into_iter(), number);
        number
    }
}

fn insert(way: &mut Option<Way>, guards: &mut dyn Iterator<Item = (Guard, Value)>, number: u32) {
    let Some((guard, value)) = guards.next() else {
        *way = Some(Way::Plate(number));
        return;
    };
    let fork =
        way.get_or_insert_with(|| Way::Fork { guard: Box::new(guard), ways: FxHashMap::default() });
    let Way::Fork { ways, .. } = fork else {
        unreachable!("rows whose guards agree so far have the same next guard")
    };
    insert(ways.entry(value).or_insert(None), guards, number);
}
