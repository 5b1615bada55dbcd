//! A table from record batches that somebody else made and keeps in memory, as frames of Python are.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use smidgen_value::Table;

use super::batches::Batches;
use crate::source::{DataError, TableOptions};

/// The rows of all batches. With `lend`, columns of doubles are used where they lie if there is one
/// batch, which nobody may change as long as the table lives; everything else is copied. `name` stands
/// in messages where those about files have a path.
pub fn table_of_batches(
    name: &str,
    schema: &Schema,
    batches: &[RecordBatch],
    options: &TableOptions,
    lend: bool,
) -> Result<Table, DataError> {
    let read = || {
        let mut columns = Batches::new(schema, options)?;
        if let ([only], true) = (batches, lend) {
            columns.lend(only);
        }
        batches.iter().try_for_each(|batch| columns.push(batch))?;
        columns.finish()
    };
    read().map_err(|problem| problem.of(Path::new(name)))
}
