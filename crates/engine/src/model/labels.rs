//! Directives that name others: report, forget, freeze.

use super::*;

impl Model {
    pub(super) fn place(&self, label: &str) -> Result<usize, EvalError> {
        // Records stand in the order of their numbers.
        if let Some(number) = self.by_label.get(label)
            && let Ok(place) = self.records.binary_search_by_key(number, |record| record.number)
        {
            return Ok(place);
        }
        let by_name = |record: &Record| match &record.kind {
            RecordKind::Assume(name) => record.label.is_none() && name.as_str() == label,
            _ => false,
        };
        self.records.iter().position(by_name).ok_or_else(|| {
            let known: Vec<&str> = self.by_label.keys().map(String::as_str).collect();
            let error =
                EvalError::other(None, format!("there is no directive with the label `{label}`"));
            match smidgen_lang::diagnostic::closest(label, known) {
                Some(close) => error.hint(format!("did you mean `{close}`?")),
                None => error,
            }
        })
    }

    /// For the label of a directive in a loop, which has one name for all rounds: the labels of the rounds in order.
    fn labels_of_rows(&self, label: &str) -> Option<Vec<String>> {
        if self.by_label.contains_key(label) {
            return None;
        }
        let round = |known: &String| {
            known.strip_prefix(label)?.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
        };
        // Few rows of a loop are no plate: what was appended to it may be some of both.
        let mut rows: Vec<i64> = self.by_label.keys().filter_map(round).collect();
        for place in self.places_of(label) {
            rows.extend(self.rows_of_plates(place));
        }
        rows.sort_unstable();
        let named = rows.into_iter().map(|row| format!("{label}[{row}]"));
        Some(named.collect()).filter(|rows: &Vec<String>| !rows.is_empty())
    }

    pub fn report(&mut self, label: &str) -> Result<Value, EvalError> {
        if let Some((place, row)) = self.plate_row(label) {
            return self.observed_in_row(place, row);
        }
        if let Some(rows) = self.labels_of_rows(label) {
            let values: Result<Vec<Value>, _> = rows.iter().map(|row| self.report(row)).collect();
            return Ok(Value::list(values?));
        }
        let root = self.records[self.place(label)?].root.clone();
        self.trace.operand_value(&root).cloned()
    }

    /// Removes a directive and what only it needs.
    pub fn forget(&mut self, label: &str) -> Result<(), EvalError> {
        if let Some((place, row)) = self.plate_row(label) {
            return self.forget_row(place, row);
        }
        // From the last on, so that the places of the others stay.
        let places = self.places_of(label);
        for place in places.iter().rev() {
            self.forget_plates(*place)?;
        }
        if !places.is_empty() && self.labels_of_rows(label).is_none() {
            return Ok(());
        }
        if let Some(rows) = self.labels_of_rows(label) {
            return rows.iter().try_for_each(|row| self.forget(row));
        }
        let place = self.place(label)?;
        if let RecordKind::Assume(name) = self.records[place].kind {
            let users =
                self.records.iter().filter(|record| free_globals(&record.expr).contains(&name));
            let users = users.filter(|record| record.number != self.records[place].number).count();
            if users > 0 {
                return Err(still_used(label));
            }
            self.trace.bind_global(name, None);
        }
        if self.records[place].kind == RecordKind::Observe {
            let root = self.records[place].root.clone();
            for node in self.trace.observed_path(&root) {
                self.trace.set_observed(node, None);
            }
            if let Referent::Choice(id) = self.trace.referent(&root)
                && self.trace.node(id).constrained
            {
                self.trace.set_constrained(id, false);
                self.trace.enter_choices(id);
            }
        }
        let savepoint = self.trace.savepoint();
        self.trace.release(self.records[place].family)?;
        // What `eval` uses does not show in the text.
        if self.trace.has_detached_in_use(savepoint) {
            return Err(still_used(label));
        }
        let record = self.records.remove(place);
        if let Some(label) = &record.label {
            self.by_label.remove(label);
        }
        self.removed.push((place, record));
        Ok(())
    }

    /// Whether a directive is still there.
    pub fn has_record(&self, number: u64) -> bool {
        self.records.iter().any(|record| record.number == number)
    }

    /// Turns what a directive refers to into a constant of its current value.
    pub fn freeze(&mut self, label: &str) -> Result<Value, EvalError> {
        if self.plate_row(label).is_some() {
            return Err(is_observed(label));
        }
        let place = self.place(label)?;
        let root = self.records[place].root.clone();
        let mut value = self.trace.operand_value(&root)?.clone();
        if let Operand::Node(id) = root {
            // A state knows what was frozen by its value, whatever that was computed from.
            let address = self.trace.node(id).address;
            let given = self.trace.given.as_ref().and_then(|given| given.state.get(address));
            if let Some(given) = given.cloned() {
                value = given;
                self.trace.set_value(id, value.clone());
            }
            self.frozen.push(id);
            if self.trace.node(id).constrained || self.trace.node(id).observed.is_some() {
                return Err(is_observed(label));
            }
            let (is_draw, expansion) = match self.trace.node(id).op {
                Op::Draw(maker) => (Some(maker), FamilyId::NONE),
                Op::Structure(_) => (None, self.trace.node(id).expansion),
                _ => (None, FamilyId::NONE),
            };
            if let Some(maker) = is_draw {
                self.trace.uncount(maker, &value);
            }
            self.trace.freeze_node(id);
            // A procedure may hold nodes of the body that made it: that body then stays.
            if !holds_procedure(&value) {
                self.trace.release(expansion)?;
            }
        }
        Ok(value)
    }

    pub fn clear(&mut self) {
        let (interrupt, given) = (self.trace.interrupt.clone(), self.trace.given.take());
        *self = Model::new();
        (self.trace.interrupt, self.trace.given) = (interrupt, given);
    }
}
