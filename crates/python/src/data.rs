//! Tables from Python. Memory of Arrow is lent, because nobody writes to it; memory that Python can
//! write to is copied before anything is looked at.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float64Array, RecordBatch, StringArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3_arrow::PyTable;
use pyo3_arrow::input::AnyRecordBatch;
use smidgen::io::{TableOptions, table_of_batches};
use smidgen::value::{self, Column, Symbol};

use crate::error::{Problem, failure};
use crate::value::to_python;

/// Columns of equal length, shared by all runs that use them.
#[pyclass(frozen, module = "smidgen._core")]
pub struct Table {
    pub table: Arc<value::Table>,
    /// What it was made of, to hand on.
    batches: Vec<RecordBatch>,
    schema: SchemaRef,
    /// Why what was copied was copied.
    reason: String,
    /// What becomes of missing cells, if somebody has said so.
    #[pyo3(get)]
    missing: Option<String>,
}

#[pymethods]
impl Table {
    /// From anything with `__arrow_c_stream__` or `__arrow_c_array__`.
    #[staticmethod]
    fn from_arrow(
        py: Python<'_>,
        name: &str,
        frame: AnyRecordBatch,
        lend: bool,
        reason: String,
    ) -> PyResult<Table> {
        let reader = frame.into_reader()?;
        let schema = reader.schema();
        let batches: Result<Vec<RecordBatch>, _> = py.detach(|| reader.collect());
        let batches = batches.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let reason = match (lend, batches.len()) {
            (true, 0 | 1) => reason,
            (true, n) => format!("it comes in {n} parts"),
            (false, _) => reason,
        };
        Table::new(py, name, schema, batches, lend, reason)
    }

    /// From copies of arrays: (name, kind, data) with the kinds `reals`, `vectors` (doubles, row by
    /// row), `booleans` (bytes) and `texts` (a list of strings, None where one is missing).
    #[staticmethod]
    fn from_arrays(
        py: Python<'_>,
        name: &str,
        columns: Vec<(String, String, Bound<'_, PyAny>, usize)>,
        reason: String,
    ) -> PyResult<Table> {
        let mut fields = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for (column, kind, data, width) in columns {
            let array = array(py, &kind, &data, width)?;
            fields.push(Field::new(column, array.data_type().clone(), true));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(schema.clone(), arrays)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        // The copy is ours, so the table may keep it as it is.
        Table::new(py, name, schema, vec![batch], true, reason)
    }

    /// The same table with another rule about missing cells.
    fn with_missing(&self, rule: String) -> Table {
        let (batches, schema) = (self.batches.clone(), self.schema.clone());
        let (table, reason) = (self.table.clone(), self.reason.clone());
        Table { table, batches, schema, reason, missing: Some(rule) }
    }

    #[getter]
    fn rows(&self) -> usize {
        self.table.rows()
    }

    #[getter]
    fn columns(&self) -> Vec<&'static str> {
        self.table.names().iter().map(|name| name.as_str()).collect()
    }

    /// (name, kind, bytes, "lent", or why it was copied) of every column.
    fn account(&self) -> Vec<(&'static str, &'static str, usize, String)> {
        let each = |name: &Symbol| {
            let column = self.table.column(*name).expect("a name has its column");
            let (kind, bytes) = match column {
                Column::Reals(xs) => ("numbers", 8 * xs.len()),
                Column::Booleans(xs) => ("booleans", xs.len()),
                Column::Texts(texts) => ("texts", 4 * texts.codes().len()),
                Column::Vectors { data, .. } => ("vectors", 8 * data.len()),
            };
            let how = match (column.is_lent() && self.reason.is_empty(), column) {
                (true, _) => "lent".to_owned(),
                (false, _) if !self.reason.is_empty() => self.reason.clone(),
                (false, Column::Booleans(_)) => "booleans take a byte each here".to_owned(),
                (false, Column::Texts(_)) => "texts become numbered words".to_owned(),
                (false, _) => "its numbers become doubles".to_owned(),
            };
            (name.as_str(), kind, bytes, how)
        };
        self.table.names().iter().map(each).collect()
    }

    /// The cells of a column as Python objects; None where one is missing.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyList>>> {
        let name = Symbol::new(name);
        let Some(column) = self.table.column(name) else { return Ok(None) };
        let missing = self.table.missing(name);
        let is_missing = |row: usize| missing.is_some_and(|m| m.mask.get(row) == Some(&true));
        let list = PyList::empty(py);
        for i in 0..column.len() {
            match is_missing(i) {
                true => list.append(py.None())?,
                false => list.append(to_python(py, &column.cell(i))?)?,
            }
        }
        Ok(Some(list))
    }

    /// The columns that cannot be used, and why.
    fn unusable(&self) -> Vec<(String, String)> {
        let names = self.schema.fields().iter().map(|field| field.name());
        let why = |name: &String| {
            let reason = self.table.unusable(Symbol::new(name))?;
            Some((name.clone(), reason.to_owned()))
        };
        names.filter_map(why).collect()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, pyo3::types::PyCapsule>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        stream(py, self.batches.clone(), self.schema.clone(), requested_schema)
    }
}

impl Table {
    fn new(
        py: Python<'_>,
        name: &str,
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
        lend: bool,
        reason: String,
    ) -> PyResult<Table> {
        let options = TableOptions::default();
        let table = py.detach(|| table_of_batches(name, &schema, &batches, &options, lend));
        let table = table.map_err(|error| failure(py, &[Problem::plain(error.to_string())]))?;
        // What was copied need not be held twice.
        let kept = if lend { batches } else { Vec::new() };
        Ok(Table { table: Arc::new(table), batches: kept, schema, reason, missing: None })
    }
}

fn array(py: Python<'_>, kind: &str, data: &Bound<'_, PyAny>, width: usize) -> PyResult<ArrayRef> {
    let doubles = || PyBuffer::<f64>::get(data)?.to_vec(py);
    Ok(match kind {
        "reals" => Arc::new(Float64Array::from(doubles()?)),
        "vectors" => {
            let item = Arc::new(Field::new("item", DataType::Float64, true));
            let width = i32::try_from(width)?;
            let values = Arc::new(Float64Array::from(doubles()?));
            let lists = FixedSizeListArray::try_new(item, width, values, None)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            Arc::new(lists)
        }
        "booleans" => {
            let bytes = PyBuffer::<u8>::get(data)?.to_vec(py)?;
            Arc::new(bytes.into_iter().map(|byte| Some(byte != 0)).collect::<BooleanArray>())
        }
        _ => Arc::new(StringArray::from(data.extract::<Vec<Option<String>>>()?)),
    })
}

/// Batches as a capsule for whoever asks.
pub fn stream<'py>(
    py: Python<'py>,
    batches: Vec<RecordBatch>,
    schema: SchemaRef,
    requested: Option<Bound<'py, pyo3::types::PyCapsule>>,
) -> PyResult<Bound<'py, PyAny>> {
    let table = Bound::new(py, PyTable::try_new(batches, schema)?)?;
    let named = PyDict::new(py);
    named.set_item("requested_schema", requested)?;
    table.call_method("__arrow_c_stream__", (), Some(&named))
}
