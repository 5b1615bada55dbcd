//! Quantities of loops, `y[0]`, `y[1]`, ..., as one block of numbers: chain by chain, draw by draw, round by round.

use std::collections::HashMap;

use smidgen::draws::{self, Draws, Quantity};
use smidgen::noted::split_rounds;

use crate::result::Numbers;

/// A name, the rounds of each member, and numbers of (chain, draw, member, ...).
pub type Group = (String, Vec<Vec<i64>>, Numbers);

/// The rounds of a quantity.
type Member<'a> = (Vec<i64>, &'a Quantity);

/// What stands in no loop is a group of its own, without rounds; what is no number, or differs in shape, is left out.
pub fn groups(draws: &Draws) -> Vec<Group> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut found: Vec<(&str, Vec<Member<'_>>)> = Vec::new();
    for quantity in draws.quantities() {
        let (name, rounds) = split_rounds(&quantity.name);
        let place = *places.entry(name).or_insert_with(|| {
            found.push((name, Vec::new()));
            found.len() - 1
        });
        found[place].1.push((rounds, quantity));
    }
    let each = |(name, mut members): (&str, Vec<Member<'_>>)| {
        members.sort_by(|a, b| a.0.cmp(&b.0));
        let numbers = block(&members)?;
        let rounds = members.into_iter().map(|(rounds, _)| rounds);
        Some((name.to_owned(), rounds.filter(|rounds| !rounds.is_empty()).collect(), numbers))
    };
    found.into_iter().filter_map(each).collect()
}

fn block(members: &[Member<'_>]) -> Option<Numbers> {
    let blocks: Vec<draws::Numbers> =
        members.iter().map(|(_, quantity)| quantity.numbers()).collect::<Option<_>>()?;
    let draws::Numbers { chains, draws, shape, .. } = blocks.first()?.clone();
    if blocks.iter().any(|b| (b.chains, b.draws, &b.shape) != (chains, draws, &shape)) {
        return None;
    }
    let entries: usize = shape.iter().product();
    let mut data = Vec::with_capacity(chains * draws * entries * blocks.len());
    for draw in 0..chains * draws {
        for block in &blocks {
            data.extend_from_slice(&block.data[draw * entries..(draw + 1) * entries]);
        }
    }
    let in_loop = members.iter().any(|(rounds, _)| !rounds.is_empty());
    let members = if in_loop { vec![blocks.len()] } else { Vec::new() };
    Some(Numbers::new(data.into(), [vec![chains, draws], members, shape].concat()))
}
