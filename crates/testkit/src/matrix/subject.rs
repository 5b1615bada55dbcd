//! A program with its data, which paths are tried on: as nodes or with plates, from its choices' values or drawn.

use std::sync::Arc;

use smidgen_engine::check::again::Choices;
use smidgen_lang::core::ExprRef;
use smidgen_lang::lower::{Nothing, Scope, lower_named};
use smidgen_value::{Column, Rng, Symbol, Table};

use crate::wild::program::{lowered, lowered_weight, read, show};
use crate::world::{Noted, World};

/// The name of the rows of loops, and the column that is observed.
const ROW: &str = "row";
const OUTCOME: &str = "y";

/// A directive.
#[derive(Clone, Debug)]
pub enum Line {
    Assume {
        name: String,
        expr: String,
    },
    Predict(String),
    Observe {
        expr: String,
        value: String,
    },
    /// `[for row in table [observe expr row.y]]`, or `[for row in table [factor ...]]`.
    ObserveRows {
        expr: String,
        table: Arc<Table>,
    },
}

/// Whether loops become plates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum House {
    Nodes,
    Plates,
    /// Long ones do, as users get it.
    AsUsual,
}

pub struct Subject {
    lines: Vec<Line>,
    noted: Vec<Arc<Noted>>,
}

impl Subject {
    /// An error would be a mistake of whoever wrote the program.
    pub fn new(lines: Vec<Line>) -> Result<Subject, String> {
        let note = |(number, line): (usize, &Line)| note(number, line).map(Arc::new);
        let noted = lines.iter().enumerate().map(note).collect::<Result<_, String>>()?;
        Ok(Subject { lines, noted })
    }

    /// Runs the program, with these values of its choices if there are any.
    pub fn world(
        &self,
        house: House,
        choices: Option<Choices>,
        seed: u64,
    ) -> Result<World, String> {
        self.run(house, choices, seed, |_| true)
    }

    /// Runs what is not observed.
    pub fn world_without_data(&self, choices: Choices) -> Result<World, String> {
        let is_prior =
            |noted: &Noted| !matches!(noted, Noted::Observe { .. } | Noted::ObserveRows { .. });
        self.run(House::Nodes, Some(choices), 0, is_prior)
    }

    fn run(
        &self,
        house: House,
        choices: Option<Choices>,
        seed: u64,
        runs: impl Fn(&Noted) -> bool,
    ) -> Result<World, String> {
        let mut world = World::empty(Rng::from_seed(seed));
        match house {
            House::Nodes => world.model.set_plates_from(usize::MAX),
            House::Plates => world.model.set_plates_from(1),
            House::AsUsual => {}
        }
        if let Some(choices) = choices {
            choices.give(&mut world.model);
            // No other values are looked for where these lead out of some domain.
            world.model.keep_past();
        }
        for noted in self.noted.iter().filter(|noted| runs(noted)) {
            world.perform(noted.clone())?;
        }
        Ok(world)
    }

    /// A twin that has lost a row, or its last observation. None if there is nothing to lose.
    pub fn forgetful(&self) -> Option<Subject> {
        let mut lines = self.lines.clone();
        let is_data = |line: &Line| matches!(line, Line::Observe { .. } | Line::ObserveRows { .. });
        let last = lines.iter().rposition(is_data)?;
        let noted = &self.noted[last];
        let shorter = match &**noted {
            Noted::ObserveRows { expr, outcome, rows } if *rows > 1 => Some(Noted::ObserveRows {
                expr: expr.clone(),
                outcome: outcome.clone(),
                rows: rows - 1,
            }),
            _ => None,
        };
        let mut noted = self.noted.clone();
        match shorter {
            Some(shorter) => noted[last] = Arc::new(shorter),
            None => {
                noted.remove(last);
                lines.remove(last);
            }
        }
        Some(Subject { lines, noted })
    }

    /// The program for people, its tables as comments.
    pub fn text(&self) -> String {
        let line = |line: &Line| match line {
            Line::Assume { name, expr } => format!("[assume {name} {expr}]\n"),
            Line::Predict(expr) => format!("[predict {expr}]\n"),
            Line::Observe { expr, .. } if is_weight(expr) => format!("{expr}\n"),
            Line::Observe { expr, value } => format!("[observe {expr} {value}]\n"),
            Line::ObserveRows { expr, table } => {
                let directive = match is_weight(expr) {
                    true => expr.clone(),
                    false => format!("[observe {expr} row.y]"),
                };
                format!("{}[for row in t {directive}]\n", shown(table))
            }
        };
        self.lines.iter().map(line).collect()
    }
}

/// Whether an observation is written as a whole `[factor ...]`.
fn is_weight(text: &str) -> bool {
    text.starts_with('[')
}

/// What is observed; of a weight, the law that observes it.
fn observed(text: &str, scope: &Scope, numbers: &Nothing) -> Result<ExprRef, String> {
    match is_weight(text) {
        true => lowered_weight(text, scope, numbers),
        false => lowered(text, scope, numbers),
    }
}

fn note(number: usize, line: &Line) -> Result<Noted, String> {
    // Every text numbers its procedures apart from the others.
    let numbers = Nothing((number as u64) << 32);
    let global = Scope::global();
    Ok(match line {
        Line::Assume { name, expr } => {
            let (name, syntax) = (Symbol::new(name), read(expr)?);
            let lowered = lower_named(&syntax, &global, &numbers, name)
                .map_err(|errors| format!("{}: {expr}", errors[0].message))?;
            Noted::Assume { name, expr: lowered, label: None }
        }
        Line::Predict(expr) => {
            Noted::Predict { expr: lowered(expr, &global, &numbers)?, label: None }
        }
        Line::Observe { expr, value } => {
            let value = World::empty(Rng::from_seed(0)).value(value);
            Noted::Observe { expr: observed(expr, &global, &numbers)?, value, label: None }
        }
        Line::ObserveRows { expr, table } => {
            let scope = global.with_row(Symbol::new(ROW), table.clone());
            let expr = observed(expr, &scope, &numbers)?;
            let numbers = Nothing((number as u64 + (1 << 16)) << 32);
            let outcome = lowered(&format!("{ROW}.{OUTCOME}"), &scope, &numbers)?;
            Noted::ObserveRows { expr, outcome, rows: table.rows() }
        }
    })
}

/// Rows of a table that are shown.
const SHOWN: usize = 12;

fn shown(table: &Table) -> String {
    let columns: Vec<(Symbol, &Column)> = ["x", "v", "n", "g", OUTCOME]
        .iter()
        .filter_map(|name| Some((Symbol::new(name), table.column(Symbol::new(name))?)))
        .collect();
    let names: Vec<String> = columns.iter().map(|(name, _)| name.to_string()).collect();
    let mut text = format!("; t, {} rows: {}\n", table.rows(), names.join(","));
    for row in 0..table.rows().min(SHOWN) {
        let cells: Vec<String> =
            columns.iter().map(|(_, column)| show(&column.cell(row))).collect();
        text.push_str(&format!(";   {}\n", cells.join(",")));
    }
    text
}
