//! Tables that grow: rows that come after those of another, and all of them as one.
//!
//! Rows that come later are a table of their own whose rows are counted from where the others end. Nothing that is there is
//! copied: that costs O(new rows). All as one, which copies, is made only when somebody asks for the whole. Where rows leave in
//! front, those that stay keep their numbers.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::{Column, Reals, Table, Texts};
use crate::Symbol;
use crate::missing::Missing;

impl Column {
    /// What its cells are, for messages.
    fn kind(&self) -> String {
        match self {
            Column::Reals(_) => "numbers".to_owned(),
            Column::Booleans(_) => "truth values".to_owned(),
            Column::Texts(_) => "texts".to_owned(),
            Column::Vectors { width, .. } => format!("vectors of {width}"),
        }
    }

    /// The cells in these places.
    fn span(&self, places: Range<usize>) -> Column {
        match self {
            Column::Reals(xs) => Column::Reals(xs[places].into()),
            Column::Booleans(xs) => Column::Booleans(xs[places].into()),
            Column::Vectors { data, width } => {
                let (from, to) = (places.start * width, places.end * width);
                Column::Vectors { data: data[from..to].into(), width: *width }
            }
            Column::Texts(_) => self.take(&places.collect::<Vec<_>>()),
        }
    }

    /// The cells of all, one after the other; None if they are of several kinds.
    fn joined(parts: &[&Column]) -> Option<Column> {
        Some(match parts.first()? {
            Column::Reals(_) | Column::Vectors { .. } => {
                let reals: Option<Vec<Reals<'_>>> = parts.iter().map(|part| part.reals()).collect();
                let reals = reals?;
                let data: Vec<&[f64]> = reals.iter().map(|part| part.data).collect();
                let (data, width) = (data.concat().into(), reals.first()?.width);
                match parts.first()? {
                    Column::Reals(_) => Column::Reals(data),
                    _ => Column::Vectors { data, width },
                }
            }
            Column::Booleans(_) => {
                let truths: Option<Vec<&[bool]>> =
                    parts.iter().map(|part| part.booleans()).collect();
                Column::Booleans(truths?.concat().into())
            }
            Column::Texts(_) => {
                let texts: Option<Vec<&Texts>> = parts.iter().map(|part| part.texts()).collect();
                Column::Texts(Texts::joined(&texts?))
            }
        })
    }
}

impl Texts {
    /// The words of all, each once, in the order of their first cells.
    fn joined(parts: &[&Texts]) -> Texts {
        let mut words: Vec<Arc<String>> = Vec::new();
        let mut places: HashMap<Arc<String>, u32> = HashMap::new();
        let mut codes = Vec::with_capacity(parts.iter().map(|part| part.codes.len()).sum());
        for part in parts {
            let mut place = |word: &Arc<String>| {
                *places.entry(word.clone()).or_insert_with(|| {
                    words.push(word.clone());
                    words.len() as u32 - 1
                })
            };
            let renamed: Vec<u32> = part.words.iter().map(&mut place).collect();
            codes.extend(part.codes.iter().map(|code| renamed[*code as usize]));
        }
        Texts::new(codes.into(), words.into())
    }
}

impl Table {
    /// The rows of `new` as those that come after the rows of this table, with its columns in their order; or why they
    /// cannot be that. Columns that this table does not have are left out.
    pub fn continued_by(&self, new: &Table) -> Result<Table, String> {
        let mut columns = Vec::with_capacity(self.names.len());
        for (name, column) in self.names.iter().zip(&self.columns) {
            let Some(more) = new.column(*name) else {
                return Err(match new.unusable(*name) {
                    Some(reason) => {
                        format!("the column `{name}` of the new rows cannot be used: {reason}")
                    }
                    None => format!("the new rows have no column `{name}`"),
                });
            };
            let (before, now) = (column.kind(), more.kind());
            if before != now {
                return Err(format!("the column `{name}` holds {before}, in the new rows {now}"));
            }
            columns.push((*name, more.clone()));
        }
        let missing =
            new.missing.iter().filter(|(name, _)| self.column(*name).is_some()).cloned().collect();
        let table = Table {
            missing,
            rule: self.rule,
            called: self.called,
            unusable: self.unusable.clone(),
            ..new.with_columns(columns)
        };
        // Of rows that came at once, the first may have been left out.
        Ok(table.counted_from(self.first + self.rows + new.first))
    }

    /// The same rows, the first of which has this number.
    fn counted_from(self, first: usize) -> Table {
        let numbers = || (first..first + self.rows).map(|row| row as f64).collect();
        let numbers = (first > 0).then(|| Column::Reals(numbers()));
        Table { first, numbers, ..self }
    }

    /// The rows from this number on, in memory of their own.
    pub fn from_row(&self, number: usize) -> Table {
        match number.saturating_sub(self.first).min(self.rows) {
            0 => self.clone(),
            left => self.span(left..self.rows),
        }
    }

    /// The rows in these places, which keep their numbers, in memory of their own.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn span(&self, places: Range<usize>) -> Table {
        let rest = |(name, cells): &(Symbol, Missing)| {
            (*name, Missing { mask: cells.mask[places.clone()].into(), ..cells.clone() })
        };
        let table = Table {
            columns: self.columns.iter().map(|column| column.span(places.clone())).collect(),
            missing: self.missing.iter().map(rest).collect(),
            rows: places.len(),
            lender: None,
            ..self.clone()
        };
        table.counted_from(self.first + places.start)
    }

    /// The rows of a table and of those that continue it as one, in memory of its own.
    ///
    /// # Panics
    /// If there are none, or one does not continue the first.
    pub fn joined(parts: &[Arc<Table>]) -> Table {
        let first = parts.first().expect("there is a table that is continued");
        let column = |name: &Symbol| {
            let cells: Vec<&Column> = parts.iter().filter_map(|part| part.column(*name)).collect();
            Column::joined(&cells).expect("those that continue a table have its columns")
        };
        let missing = |name: &Symbol| {
            let known = parts.iter().find_map(|part| part.missing(*name))?;
            let mask = |part: &Arc<Table>| match part.missing(*name) {
                Some(cells) => cells.mask.to_vec(),
                None => vec![false; part.rows],
            };
            let mask: Vec<bool> = parts.iter().flat_map(mask).collect();
            Some((*name, Missing { mask: mask.into(), ..known.clone() }))
        };
        let table = Table {
            columns: first.names.iter().map(column).collect(),
            missing: first.names.iter().filter_map(missing).collect(),
            rows: parts.iter().map(|part| part.rows).sum(),
            lender: None,
            ..(**first).clone()
        };
        table.counted_from(first.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    fn words(words: &[&str]) -> Column {
        let mut known: Vec<Arc<String>> = Vec::new();
        let code = |word: &&str| {
            let place = known.iter().position(|known| known.as_str() == *word);
            place.unwrap_or_else(|| {
                known.push(Arc::new((*word).to_owned()));
                known.len() - 1
            }) as u32
        };
        let codes: Vec<u32> = words.iter().map(code).collect();
        Column::Texts(Texts::new(codes.into(), known.into()))
    }

    fn table(x: &[f64], w: &[&str]) -> Table {
        let (name, other) = (Symbol::new("x"), Symbol::new("w"));
        Table::new(vec![(name, Column::Reals(x.into())), (other, words(w))])
    }

    #[test]
    fn rows_continue_others() {
        let (old, new) = (table(&[1.0, 2.0], &["a", "b"]), table(&[3.0], &["c"]));
        let part = old.continued_by(&new).expect("the same columns");
        assert_eq!((part.first_row(), part.rows()), (2, 1));
        assert_eq!(part.numbers().map(|numbers| numbers.cell(0)), Some(Value::Number(2.0)));
        let last = part.continued_by(&table(&[4.0], &["a"])).expect("the same columns");
        assert_eq!(last.first_row(), 3);
        let all = Table::joined(&[old, part, last].map(Arc::new));
        let texts: Vec<Value> = (0..4).map(|row| all.columns[1].cell(row)).collect();
        assert_eq!(texts, ["a", "b", "c", "a"].map(Value::text));
        assert_eq!(all.columns[1].texts().map(|texts| texts.words().len()), Some(3));
        assert_eq!(all.columns[0].reals().map(|x| x.data), Some(&[1.0, 2.0, 3.0, 4.0][..]));
        assert_eq!((all.first_row(), all.rows(), all.numbers().is_none()), (0, 4, true));
    }

    #[test]
    fn rows_that_leave_in_front_take_no_numbers_with_them() {
        let (old, new) = (table(&[1.0, 2.0, 3.0], &["a", "b", "c"]), table(&[4.0], &["b"]));
        let part = old.continued_by(&new).expect("the same columns");
        let rest = Table::joined(&[Arc::new(old), Arc::new(part)]).from_row(2);
        assert_eq!((rest.first_row(), rest.rows()), (2, 2));
        assert_eq!(rest.columns[0].reals().map(|x| x.data), Some(&[3.0, 4.0][..]));
        assert_eq!([0, 1].map(|row| rest.columns[1].cell(row)), ["c", "b"].map(Value::text));
        let numbers = |table: &Table| table.numbers().map(Column::to_value);
        assert_eq!(numbers(&rest), Some(Value::vector([2.0, 3.0])));
        let more = Arc::new(rest.continued_by(&table(&[5.0], &["a"])).expect("the same columns"));
        let all = Table::joined(&[Arc::new(rest), more]);
        assert_eq!(numbers(&all), Some(Value::vector([2.0, 3.0, 4.0])));
        assert_eq!(all.from_row(1).rows(), 3);
        assert_eq!((all.from_row(9).rows(), all.from_row(4).first_row()), (0, 4));
    }

    #[test]
    fn other_columns_are_named() {
        let old = table(&[1.0], &["a"]);
        let lacks = Table::new(vec![(Symbol::new("x"), Column::Reals([1.0].into()))]);
        let swapped =
            Table::new(vec![(Symbol::new("x"), words(&["1"])), (Symbol::new("w"), words(&["a"]))]);
        let said = |table: &Table| old.continued_by(table).expect_err("they differ");
        assert_eq!(said(&lacks), "the new rows have no column `w`");
        assert_eq!(said(&swapped), "the column `x` holds numbers, in the new rows texts");
    }
}
