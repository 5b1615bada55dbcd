//! The Chinese restaurant process, with the Pitman-Yor discount d (0 unless given).
//!
//! After n customers at K tables of n_k customers,
//!
//! * P(table k) = (n_k - d) / (n + alpha), P(a new table) = (alpha + K d) / (n + alpha);
//! * log p(seating) = sum_{i=1}^{K-1} log(alpha + i d)
//!   + sum_k [log G(n_k - d) - log G(1 - d)] - [log G(alpha + n) - log G(alpha + 1)],
//!
//! with G the gamma function. Labels are whole numbers from 1 on. A new table takes the smallest
//! label that is not live: a function of the set of live labels alone, so undoing a move brings
//! everything back. A label is a name: any label that is not live has the probability of the new
//! table, so a customer can be observed at a table of any name.

use std::sync::Arc;

use smidgen_value::math;
use smidgen_value::{ArgumentError, Rng, Value};

use super::counted::{Law, Made, Summary, admit_number, counted};
use crate::arguments;
use crate::procedure::{Args, Arity, Spec};
use crate::support::Support;

/// (alpha, d)
fn parameters(params: Args<'_>) -> Result<(f64, f64), ArgumentError> {
    let discount = match params.len() {
        0 | 1 => 0.0,
        _ => arguments::number_where(params, 1, "a discount between 0 and 1 (1 excluded)", |d| {
            (0.0..1.0).contains(&d)
        })?,
    };
    let alpha = if discount == 0.0 {
        arguments::positive(params, 0, "a positive concentration")?
    } else {
        arguments::number_where(
            params,
            0,
            "a positive concentration (with a discount d: one above -d)",
            |alpha| alpha > -discount && alpha.is_finite(),
        )?
    };
    Ok((alpha, discount))
}

#[derive(Clone, Copy, PartialEq)]
struct Table {
    /// A whole number, as the double that names it.
    label: f64,
    customers: usize,
    /// log n_k
    log_customers: f64,
}

impl Table {
    fn new(label: f64) -> Table {
        Table { label, customers: 1, log_customers: 0.0 }
    }

    fn set(&mut self, customers: usize) {
        (self.customers, self.log_customers) = (customers, math::ln_count(customers));
    }
}

/// The live tables in order of their labels: one seating, one representation.
#[derive(Clone, Default, PartialEq)]
struct Seating {
    tables: Vec<Table>,
    customers: usize,
    outside: usize,
}

/// Labels are whole numbers of 64 bits.
const LABELS_END: f64 = 18_446_744_073_709_551_616.0;

fn as_label(x: &Value) -> Option<f64> {
    x.as_number().filter(|x| x.fract() == 0.0 && (1.0..LABELS_END).contains(x))
}

impl Seating {
    /// Where the table is, or where it would be.
    fn find(&self, label: f64) -> Result<usize, usize> {
        // Labels are mostly 1, 2, .. without gaps.
        let guess = label as usize - 1;
        match self.tables.get(guess) {
            Some(table) if table.label == label => Ok(guess),
            _ => self.tables.binary_search_by(|table| table.label.total_cmp(&label)),
        }
    }

    fn new_label(&self) -> f64 {
        // The label at place i is at least i + 1, and equal to it up to the first gap.
        let (mut low, mut high) = (0, self.tables.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.tables[middle].label == (middle + 1) as f64 {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low + 1) as f64
    }
}

impl Seating {
    /// log(n_k - d)
    #[inline]
    fn log_joining(table: &Table, discount: f64) -> f64 {
        match discount == 0.0 {
            true => table.log_customers,
            false => math::ln(table.customers as f64 - discount),
        }
    }

    /// log(alpha + K d)
    fn log_opening(&self, (alpha, discount): (f64, f64)) -> f64 {
        math::ln(alpha + self.tables.len() as f64 * discount)
    }

    /// log(n + alpha)
    fn log_all(&self, alpha: f64) -> f64 {
        math::ln(self.customers as f64 + alpha)
    }

    /// The same after a customer has left: a table left empty keeps its label.
    fn new_label_after(&self, current: &Value) -> f64 {
        let vacated = as_label(current).filter(|label| self.find(*label).is_err());
        vacated.unwrap_or_else(|| self.new_label())
    }

    /// The live tables and a new one of this label.
    fn labels(&self, new: f64) -> Vec<Value> {
        let live = self.tables.iter().map(|table| table.label);
        live.chain(std::iter::once(new)).map(Value::Number).collect()
    }

    /// Whether these are they: mostly they are the same as the last time.
    fn are_labels(&self, new: f64, values: &[Value]) -> bool {
        let is = |value: &Value, label: f64| matches!(value, Value::Number(x) if *x == label);
        let [live @ .., last] = values else { return false };
        live.len() == self.tables.len()
            && is(last, new)
            && live.iter().zip(&self.tables).all(|(value, table)| is(value, table.label))
    }
}

impl Summary for Seating {
    const EXACT: bool = true;

    fn add(&mut self, x: &Value) {
        let Some(label) = as_label(x) else {
            self.outside += 1;
            return;
        };
        self.customers += 1;
        match self.find(label) {
            Ok(place) => {
                let table = &mut self.tables[place];
                table.set(table.customers + 1);
            }
            Err(place) => self.tables.insert(place, Table::new(label)),
        }
    }

    fn remove(&mut self, x: &Value) {
        let Some(label) = as_label(x) else {
            self.outside -= 1;
            return;
        };
        let place = self.find(label).expect("a customer who leaves was seated");
        self.customers -= 1;
        match self.tables[place].customers {
            1 => drop(self.tables.remove(place)),
            customers => self.tables[place].set(customers - 1),
        }
    }

    fn count(&self) -> usize {
        self.customers + self.outside
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        admit_number(x)
    }
}

#[derive(Clone)]
struct Restaurant;

impl Law<Seating> for Restaurant {
    fn sample(
        &self,
        seen: &Seating,
        params: Args<'_>,
        rng: &mut Rng,
    ) -> Result<Value, ArgumentError> {
        let (alpha, discount) = parameters(params)?;
        if !seen.tables.is_empty() {
            let mut left = rng.uniform() * (seen.customers as f64 + alpha);
            for table in &seen.tables {
                left -= table.customers as f64 - discount;
                if left < 0.0 {
                    return Ok(Value::Number(table.label));
                }
            }
        }
        Ok(Value::Number(seen.new_label()))
    }

    fn log_predictive(
        &self,
        x: &Value,
        seen: &Seating,
        params: Args<'_>,
    ) -> Result<f64, ArgumentError> {
        let params = parameters(params)?;
        let Some(label) = as_label(x) else { return Ok(f64::NEG_INFINITY) };
        if seen.tables.is_empty() {
            return Ok(0.0);
        }
        let log_weight = match seen.find(label) {
            Ok(place) => Seating::log_joining(&seen.tables[place], params.1),
            Err(_) => seen.log_opening(params),
        };
        Ok(log_weight - seen.log_all(params.0))
    }

    fn log_marginal(&self, seen: &Seating, params: Args<'_>) -> Result<f64, ArgumentError> {
        let (alpha, discount) = parameters(params)?;
        if seen.outside > 0 {
            return Ok(f64::NEG_INFINITY);
        }
        if seen.tables.is_empty() {
            return Ok(0.0);
        }
        let opened = if discount == 0.0 {
            (seen.tables.len() - 1) as f64 * math::ln(alpha)
        } else {
            (1..seen.tables.len()).map(|i| math::ln(alpha + i as f64 * discount)).sum()
        };
        let joined: f64 = seen
            .tables
            .iter()
            .map(|table| math::ln_gamma_ratio(1.0 - discount, (table.customers - 1) as f64))
            .sum();
        Ok(opened + joined - math::ln_gamma_ratio(alpha + 1.0, (seen.customers - 1) as f64))
    }

    fn support(&self, params: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(params)?;
        Ok(Support::Integers { low: 1.0, high: f64::INFINITY })
    }

    fn enumerate(
        &self,
        seen: &Seating,
        params: Args<'_>,
    ) -> Result<Option<Vec<Value>>, ArgumentError> {
        parameters(params)?;
        Ok(Some(seen.labels(seen.new_label())))
    }

    fn enumerate_for(
        &self,
        current: &Value,
        seen: &Seating,
        params: Args<'_>,
    ) -> Result<Option<Vec<Value>>, ArgumentError> {
        parameters(params)?;
        Ok(Some(seen.labels(seen.new_label_after(current))))
    }

    fn enumerate_weighed(
        &self,
        current: &Value,
        seen: &Seating,
        params: Args<'_>,
        values: &mut Arc<Vec<Value>>,
        log_p: &mut Vec<f64>,
    ) -> Result<bool, ArgumentError> {
        let params = parameters(params)?;
        let log_all = seen.log_all(params.0);
        let new = seen.new_label_after(current);
        if !seen.are_labels(new, values) {
            *values = Arc::new(seen.labels(new));
        }
        log_p.clear();
        match params.1 == 0.0 {
            true => log_p.extend(seen.tables.iter().map(|table| table.log_customers - log_all)),
            false => {
                let joining = |table| Seating::log_joining(table, params.1) - log_all;
                log_p.extend(seen.tables.iter().map(joining));
            }
        }
        log_p.push(if seen.tables.is_empty() { 0.0 } else { seen.log_opening(params) - log_all });
        Ok(true)
    }
}

pub static MAKE_CRP: Made = Made {
    spec: &Spec {
        name: "make_crp",
        aliases: &[],
        parameters: "alpha [d]",
        arity: Arity::between(1, 2),
        summary: "A Chinese restaurant process of concentration alpha (with discount d: Pitman-Yor) that draws table labels from 1 on",
        example: "((make_crp 1.5))",
    },
    check: |args| parameters(args).map(drop),
    empty: |params| {
        parameters(params)?;
        Ok(counted(Seating::default(), Restaurant))
    },
    latent: None,
};
