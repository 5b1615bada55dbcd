//! A program whose data are drawn together with its choices.
//!
//! What `observe` directives observe is first drawn from the expression itself, given what is there, and
//! then observed. So a start (θ, y) is an exact draw from the joint law, whatever the program: no
//! rejection, no burn-in. A kernel that is right given every y leaves the law of (θ, y) as it is.
//!
//! Expressions of observations make no choices but the observed one: what they need besides is assumed or
//! predicted before. (Else y would be drawn from choices that are lost.)

use std::sync::Arc;

use smidgen_lang::SourceId;
use smidgen_lang::core::ExprRef;
use smidgen_lang::lower::{Nothing, Scope, lower, lower_named};
use smidgen_lang::parser::{parse, parse_expression};
use smidgen_lang::syntax::{DirectiveKind, Syntax};
use smidgen_value::{Column, Rng, Symbol, Table, Value};

use super::stopping;
use crate::world::{Noted, World};

/// Starts of a program that may stop, before it is given up.
const ATTEMPTS: usize = 400;

/// The name of the rows of loops, and the column that is drawn.
const ROW: &str = "row";
const OUTCOME: &str = "y";

/// A directive of a program without data.
#[derive(Clone, Debug)]
pub enum Item {
    Assume(String, String),
    Predict(String),
    /// The value is drawn.
    Observe(String),
    /// The same for every row of the program's table, whose columns are `row.x` and `row.g`.
    ObserveRows(String),
    /// A law and its arguments: a value is drawn and weighed by hand, `[factor (log_density law value arguments)]`.
    Weigh(String, String),
}

impl Item {
    /// The directive that weighs a value; empty if there is none.
    fn as_weight(&self, value: &Value) -> String {
        match self {
            Item::Weigh(law, arguments) => {
                format!("[factor (log_density {law} {} {arguments})]", show(value))
            }
            _ => String::new(),
        }
    }
}

enum Lowered {
    /// What is noted is the same in every run.
    Same(Arc<Noted>),
    Observe(ExprRef),
    ObserveRows(ExprRef),
    /// What is drawn, and the number of the item.
    Weigh(ExprRef, usize),
}

pub struct Wild {
    items: Vec<Item>,
    lowered: Vec<Lowered>,
    table: Arc<Table>,
}

/// A start: the state, and the data in the order of their directives.
pub struct Start {
    pub world: World,
    pub data: Vec<Value>,
}

pub(crate) fn read(text: &str) -> Result<Syntax, String> {
    parse_expression(SourceId(0), text).map_err(|error| format!("{}: {text}", error[0].message))
}

pub(crate) fn lowered(text: &str, scope: &Scope, numbers: &Nothing) -> Result<ExprRef, String> {
    lower(&read(text)?, scope, numbers).map_err(|errors| format!("{}: {text}", errors[0].message))
}

fn log_joint(world: &mut World) -> Result<f64, String> {
    world.model.log_joint().map_err(|error| error.to_string())
}

/// What a whole `[factor ...]` observes.
pub(crate) fn lowered_weight(
    text: &str,
    scope: &Scope,
    numbers: &Nothing,
) -> Result<ExprRef, String> {
    let parsed = parse(SourceId(0), text);
    match parsed.directives.first().map(|directive| &directive.kind) {
        Some(DirectiveKind::Observe { expr, .. }) => {
            lower(expr, scope, numbers).map_err(|errors| format!("{}: {text}", errors[0].message))
        }
        _ => Err(format!("no weight: {text}")),
    }
}

/// Covariates of so many rows.
fn covariates(rng: &mut Rng, rows: usize) -> Table {
    let x: Vec<f64> = (0..rows).map(|_| (400.0 * rng.uniform()).round() / 100.0 - 2.0).collect();
    let g: Vec<f64> = (0..rows).map(|_| rng.below(3) as f64).collect();
    Table::new(vec![
        (Symbol::new("x"), Column::Reals(x.into())),
        (Symbol::new("g"), Column::Reals(g.into())),
    ])
}

impl Wild {
    /// `seed` draws the covariates.
    pub fn new(items: Vec<Item>, rows: usize, seed: u64) -> Result<Wild, String> {
        let table = Arc::new(covariates(&mut Rng::from_seed(seed), rows));
        let global = Scope::global();
        let in_row = global.with_row(Symbol::new(ROW), table.clone());
        let lower_item = |(number, item): (usize, &Item)| -> Result<Lowered, String> {
            // Every text numbers its procedures apart from the others.
            let numbers = Nothing((number as u64) << 32);
            Ok(match item {
                Item::Assume(name, text) => {
                    let (name, syntax) = (Symbol::new(name), read(text)?);
                    let expr = lower_named(&syntax, &global, &numbers, name)
                        .map_err(|errors| format!("{}: {text}", errors[0].message))?;
                    Lowered::Same(Arc::new(Noted::Assume { name, expr, label: None }))
                }
                Item::Predict(text) => {
                    let expr = lowered(text, &global, &numbers)?;
                    Lowered::Same(Arc::new(Noted::Predict { expr, label: None }))
                }
                Item::Observe(text) => Lowered::Observe(lowered(text, &global, &numbers)?),
                Item::ObserveRows(text) => Lowered::ObserveRows(lowered(text, &in_row, &numbers)?),
                Item::Weigh(law, arguments) => {
                    let drawn = format!("({law} {arguments})");
                    Lowered::Weigh(lowered(&drawn, &global, &numbers)?, number)
                }
            })
        };
        let lowered = items.iter().enumerate().map(lower_item).collect::<Result<_, _>>()?;
        Ok(Wild { items, lowered, table })
    }

    /// A program text; the values of its observations are drawn all the same.
    ///
    /// # Panics
    /// If it is no program of assumptions, predictions and observations.
    pub fn of_text(text: &str) -> Wild {
        let parsed = parse(SourceId(0), text);
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        let words =
            |syntax: &Syntax| text[syntax.span.start as usize..syntax.span.end as usize].to_owned();
        let item = |kind: &DirectiveKind| match kind {
            DirectiveKind::Assume { name, expr } => {
                Item::Assume(name.name.to_string(), words(expr))
            }
            DirectiveKind::Predict { expr } => Item::Predict(words(expr)),
            DirectiveKind::Observe { expr, .. } => Item::Observe(words(expr)),
            DirectiveKind::For { body, .. } => match &body[0].kind {
                DirectiveKind::Observe { expr, .. } => Item::ObserveRows(words(expr)),
                other => panic!("no loop of observations: {other:?}"),
            },
            other => panic!("not a directive of wild programs: {other:?}"),
        };
        let items = parsed.directives.iter().map(|directive| item(&directive.kind)).collect();
        Wild::new(items, ROWS, 0).unwrap_or_else(|error| panic!("{error}"))
    }

    /// An exact draw of choices and data. An error says why the program does not run.
    pub fn start(&self, seed: u64) -> Result<Start, String> {
        let mut start = self.attempt(seed);
        if stopping::may_stop(&self.items) {
            let mut seeds = Rng::from_seed(seed);
            for _ in 0..ATTEMPTS {
                if start.is_ok() {
                    break;
                }
                start = self.attempt(seeds.seed());
            }
        }
        start
    }

    fn attempt(&self, seed: u64) -> Result<Start, String> {
        let mut world = World::empty(Rng::from_seed(seed));
        let mut data = Vec::new();
        for (lowered, item) in self.lowered.iter().zip(&self.items) {
            // Where a directive stops, a model looks for other values that are possible: no draw from the law.
            let before = match stopping::is_stop(item) {
                true => Some(log_joint(&mut world)?),
                false => None,
            };
            let noted = match lowered {
                Lowered::Same(noted) => noted.clone(),
                Lowered::Observe(expr) => {
                    let value = world.sample(expr, None)?;
                    data.push(value.clone());
                    Arc::new(Noted::Observe { expr: expr.clone(), value, label: None })
                }
                Lowered::ObserveRows(expr) => {
                    let rows = self.table.rows();
                    let mut ys = Vec::with_capacity(rows);
                    for row in 0..rows {
                        let value = world.sample(expr, Some(row))?;
                        ys.push(value.as_number().ok_or("an outcome is no number")?);
                    }
                    let outcome = outcome(&ys)?;
                    data.push(Value::vector(ys));
                    Arc::new(Noted::ObserveRows { expr: expr.clone(), outcome, rows })
                }
                Lowered::Weigh(expr, number) => {
                    let value = world.sample(expr, None)?;
                    data.push(value.clone());
                    let expr = self.weight(*number, &value)?;
                    Arc::new(Noted::Observe { expr, value: Value::Bool(true), label: None })
                }
            };
            let is_free = matches!(lowered, Lowered::Same(_));
            world.perform(noted)?;
            if is_free && before.is_some_and(|before| log_joint(&mut world) != Ok(before)) {
                return Err("it stops".to_owned());
            }
        }
        Ok(Start { world, data })
    }

    /// What the weight of a drawn value observes.
    fn weight(&self, number: usize, value: &Value) -> Result<ExprRef, String> {
        let numbers = Nothing((number as u64 + (1 << 16)) << 32);
        lowered_weight(&self.items[number].as_weight(value), &Scope::global(), &numbers)
    }

    /// The program with the data of a start, for people; its table as a comment.
    pub fn text(&self, data: &[Value]) -> String {
        let mut data = data.iter();
        let mut text = String::new();
        for item in &self.items {
            let line = match item {
                Item::Assume(name, expr) => format!("[assume {name} {expr}]\n"),
                Item::Predict(expr) => format!("[predict {expr}]\n"),
                Item::Observe(expr) => {
                    format!("[observe {expr} {}]\n", data.next().map_or("?".into(), show))
                }
                Item::Weigh(..) => {
                    let value = data.next().cloned().unwrap_or(Value::Number(f64::NAN));
                    format!("{}\n", item.as_weight(&value))
                }
                Item::ObserveRows(expr) => {
                    let table = data.next().map_or(String::new(), |ys| self.shown_table(ys));
                    format!("{table}[for row in t [observe {expr} row.y]]\n")
                }
            };
            text.push_str(&line);
        }
        text
    }

    fn shown_table(&self, ys: &Value) -> String {
        let cell = |name: &str, row| self.table.column(Symbol::new(name)).map(|c| c.cell(row));
        let mut text = "; t.csv:\n; x,g,y\n".to_owned();
        for (row, y) in ys.to_reals().unwrap_or_default().iter().enumerate() {
            if let (Some(x), Some(g)) = (cell("x", row), cell("g", row)) {
                text.push_str(&format!("; {x},{g},{y}\n"));
            }
        }
        text
    }
}

/// Rows from which on a loop is a plate, and a few more.
pub const ROWS: usize = 132;

/// The cell of a row in a column of these values.
fn outcome(ys: &[f64]) -> Result<ExprRef, String> {
    let column = Column::Reals(ys.to_vec().into());
    let table = Arc::new(Table::new(vec![(Symbol::new(OUTCOME), column)]));
    let scope = Scope::global().with_row(Symbol::new(ROW), table);
    lowered(&format!("{ROW}.{OUTCOME}"), &scope, &Nothing(u64::MAX << 32))
}

/// A value as it is written in a program, to the last digit.
pub(crate) fn show(value: &Value) -> String {
    match value {
        Value::Number(x) => format!("{x:?}"),
        Value::Vector(xs) => {
            let xs: Vec<String> = xs.iter().map(|x| format!("{x:?}")).collect();
            format!("(vector {})", xs.join(" "))
        }
        other => other.to_string(),
    }
}
