//! Rows of a plate in which numbers that the row itself chooses are read where they stand.
//!
//! `(lookup alpha row.group)` is a choice among all numbers of alpha, which the row's program holds side by side in every
//! lane: a row costs as much as alpha is long, with its slopes. But what the row chooses is known as long as the table is:
//! here the chosen number is a leaf, with the register of the global part for each row. A row then costs the same
//! however long alpha is. Values are the same to the bit; slopes are added up in the order of the rows.
//!
//! Cost: one scan of the rows to find what they choose, and four bytes for each row and choice.

use super::{Column, Records, Rows, large_block};
use crate::program::analysis::is_any;
use crate::program::cells::Pick;
use crate::program::{Leaf, Op, Register, Source};

/// Choices among fewer stay as they are.
const FEWEST: usize = 4;
/// Choices of more rows in all stay as they are: they would take memory of the size of the data.
const MOST: usize = 1 << 22;

/// A step that chooses among registers of the global part by an index of the row's own.
struct Pickable {
    step: usize,
    out: Register,
    index: Register,
    /// In the global part.
    options: Vec<Register>,
}

impl Rows {
    /// The same rows, which stand in these blocks of lanes; none if there is nothing to gather, or a row chooses what is not
    /// there.
    pub(crate) fn gathered<'a>(
        &self,
        blocks: impl Iterator<Item = (Pick<'a>, usize)> + Clone,
    ) -> Option<Rows> {
        let pickable = self.pickable();
        if pickable.is_empty() {
            return None;
        }
        let chosen = self.chosen(&pickable, blocks.clone())?;
        let mut picks = blocks.map(|(pick, _)| pick);
        let are_side_by_side = picks.all(|pick| matches!(pick, Pick::From(_)));
        Some(self.with_leaves(&pickable, chosen, are_side_by_side))
    }

    fn pickable(&self) -> Vec<Pickable> {
        let global = |option: &Register| {
            let leaf = |leaf: &Leaf| (leaf.register..leaf.register + leaf.len).contains(option);
            let place =
                self.program.leaves.iter().position(|l| l.register != Register::MAX && leaf(l))?;
            match self.columns[place] {
                Column::Uniform(first) => {
                    Some(first + option - self.program.leaves[place].register)
                }
                _ => None,
            }
        };
        let steps = self.program.steps.iter().enumerate();
        let found = steps.filter_map(|(step, written)| {
            let Op::Choose { index, options } = &written.op else { return None };
            if options.len() < FEWEST || !self.program.is_still(*index) {
                return None;
            }
            let options = options.iter().map(global).collect::<Option<Vec<Register>>>()?;
            Some(Pickable { step, out: written.out, index: *index, options })
        });
        found.collect()
    }

    /// For each of them the register that every row chooses, by the number of the row.
    fn chosen<'a>(
        &self,
        pickable: &[Pickable],
        blocks: impl Iterator<Item = (Pick<'a>, usize)>,
    ) -> Option<Vec<Vec<Register>>> {
        let mut program = self.program.clone();
        let needed = program.needed(pickable.iter().map(|pickable| pickable.index));
        program.steps.retain(|step| is_any(&needed, step.out, step.width));
        program.terms.clear();
        let mut store = self.store();
        // What does not hang on the global part does not ask what it is.
        let unknown = vec![0.0; self.highest_global()];
        self.begin(&mut store, &unknown);
        let mut chosen = vec![Vec::new(); pickable.len()];
        let most = MOST / pickable.len();
        for (pick, lanes) in blocks {
            self.load(&mut store, &unknown, pick, lanes);
            let computed =
                self.with_linear(&unknown, pick, |linear| store.value(&program, lanes, linear));
            if computed == f64::NEG_INFINITY {
                return None;
            }
            for (chosen, pickable) in chosen.iter_mut().zip(pickable) {
                for (lane, index) in store.lanes(pickable.index, lanes).iter().enumerate() {
                    let is_place = *index >= 0.0 && index.fract() == 0.0;
                    let option = pickable.options.get(*index as usize).filter(|_| is_place)?;
                    let row = pick.row(lane);
                    if row >= most {
                        return None;
                    }
                    if chosen.len() <= row {
                        chosen.resize(row + 1, *option);
                    }
                    chosen[row] = *option;
                }
            }
        }
        Some(chosen)
    }

    fn highest_global(&self) -> usize {
        let ends =
            self.program.leaves.iter().zip(&self.columns).map(|(leaf, column)| match column {
                Column::Uniform(first) => (first + leaf.len) as usize,
                _ => 0,
            });
        ends.max().unwrap_or(0)
    }

    /// Where rows are read side by side, choices that stand side by side are a run and not gathered.
    fn with_leaves(
        &self,
        pickable: &[Pickable],
        chosen: Vec<Vec<Register>>,
        are_side_by_side: bool,
    ) -> Rows {
        let mut program = self.program.clone();
        let mut number = 0;
        program.steps.retain(|_| {
            number += 1;
            !pickable.iter().any(|pickable| pickable.step == number - 1)
        });
        let mut columns: Vec<Column> = self.columns.to_vec();
        for (Pickable { out, .. }, registers) in pickable.iter().zip(chosen) {
            program.leaves.push(Leaf { register: *out, len: 1, source: Source::Global(0) });
            let first = registers.first().copied().filter(|_| are_side_by_side);
            let is_run = |first: &Register| registers.iter().zip(*first..).all(|(r, k)| *r == k);
            columns.push(match first.filter(is_run) {
                Some(first) => Column::Run(first),
                None => Column::Gather(registers),
            });
        }
        // Nobody reads what was chosen from any more, nor by what: many fewer registers, and longer blocks.
        let copied = program.tidy();
        program.find_still();
        debug_assert!(
            !columns.iter().any(|column| matches!(column, Column::Data(_))),
            "columns of a plate stand in tables, whatever its blocks"
        );
        let stride = large_block(program.registers);
        let side_by_side = columns.iter().map(|_| Default::default()).collect();
        let (live, records, count) = (Vec::new(), Records::default(), self.count);
        Rows { program, columns, live, count, copied, stride, side_by_side, records }
    }
}

#[cfg(test)]
mod tests {
    use smidgen_prob::smooth::Elementary;

    use super::*;
    use crate::program::Program;
    use crate::program::cells::Cells;

    const OPTIONS: u32 = 6;

    /// The square of the number that the row names among those around it, times one of these.
    fn rows() -> Rows {
        let mut program = Program::default();
        let index = program.leaf(1, Source::Cell(0));
        let options = (0..OPTIONS).map(|k| program.leaf(1, Source::Global(k))).collect();
        let chosen = program.push(Op::Choose { index, options }, 1);
        let chosen = program.mark(chosen);
        let square = program.elementary(Elementary::Square, chosen, 0.0);
        let (two, square) = (program.leaf(1, Source::Global(2)), program.register(square));
        let (two, square) = (program.mark(two), program.mark(square));
        let product = program.elementary(Elementary::Multiply, two, square);
        program.term(product);
        Rows::over_cells(program, &[Cells::Index])
    }

    fn evaluated(rows: &Rows, globals: &[f64], picks: &[(Pick<'_>, usize)]) -> (f64, Vec<f64>) {
        let (mut store, mut slopes) = (rows.store(), vec![0.0; globals.len()]);
        rows.begin(&mut store, globals);
        let mut total = 0.0;
        for (pick, lanes) in picks {
            rows.load(&mut store, globals, *pick, *lanes);
            total += rows.value_for_slopes(&mut store, globals, *pick, *lanes);
            rows.pull(&mut store, globals, (*pick, *lanes), &mut slopes);
        }
        (total, slopes)
    }

    #[test]
    fn what_rows_choose_is_read_where_it_stands() {
        let (rows, globals) = (rows(), [0.5, -1.0, 2.0, 3.5, -0.25, 1.0]);
        let these = [0, 3, 5];
        for picks in [vec![(Pick::From(1), 4)], vec![(Pick::These(&these), 3), (Pick::From(1), 2)]]
        {
            let gathered = rows.gathered(picks.iter().copied()).expect("a choice by rows");
            assert_eq!(gathered.copied().count(), 2);
            assert_eq!(rows.copied().count(), 2 + OPTIONS as usize);
            let known = evaluated(&rows, &globals, &picks);
            assert_eq!(evaluated(&gathered, &globals, &picks), known);
            assert!(known.0 != 0.0 && known.1.iter().filter(|slope| **slope != 0.0).count() > 2);
        }
    }

    #[test]
    fn rows_that_choose_what_is_not_there_stay_as_they_are() {
        let past = [(Pick::From(3), 4)];
        assert!(rows().gathered(past.into_iter()).is_none());
    }
}
