//! Values of the language from and to Python objects.
//!
//! A sequence of numbers is a vector, any other an array; a NumPy array of two dimensions is a
//! matrix; a dictionary is a dictionary. So a JSON text given to the command and the same lists
//! given here are the same value.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use smidgen::value::{Matrix, Value};

/// Up to here every whole number is a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

pub fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Value::Bool(truth.is_true()));
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Value::Number(object.extract()?));
    }
    if object.is_instance_of::<PyInt>() {
        return whole(object);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::text(text.to_str()?));
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        let mut entries = Vec::new();
        for (key, value) in dict {
            entries.push((from_python(&key)?, from_python(&value)?));
        }
        return Ok(Value::dict(entries));
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return sequence(object);
    }
    // NumPy, by its own words: an array has `tolist`, and dimensions.
    if let Ok(listed) = object.call_method0("tolist") {
        let dimensions = object.getattr("ndim").and_then(|n| n.extract::<usize>());
        return match dimensions {
            Ok(2) => matrix(&listed),
            _ => from_python(&listed),
        };
    }
    let kind = object.get_type().name()?;
    Err(PyTypeError::new_err(format!("{kind} is not a value of the language")))
}

fn whole(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    match object.extract::<f64>() {
        Ok(x) if x.abs() <= EXACT => Ok(Value::Number(x)),
        _ => Err(PyValueError::new_err(format!(
            "the integer {object} is beyond 2^53, where doubles skip integers"
        ))),
    }
}

fn sequence(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let mut items = Vec::new();
    for item in object.try_iter()? {
        items.push(from_python(&item?)?);
    }
    let numbers: Option<Vec<f64>> = items
        .iter()
        .map(|item| if let Value::Number(x) = item { Some(*x) } else { None })
        .collect();
    Ok(match numbers {
        Some(numbers) if !items.is_empty() => Value::vector(numbers),
        _ => Value::array(items),
    })
}

fn matrix(rows: &Bound<'_, PyAny>) -> PyResult<Value> {
    let rows: Vec<Vec<f64>> = rows.extract()?;
    let columns = rows.first().map_or(0, Vec::len);
    Ok(Value::matrix(Matrix::new(rows.len(), columns, rows.concat())))
}

pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Bool(b) => PyBool::new(py, *b).to_owned().into_any(),
        Value::Number(_) | Value::Linked(..) => {
            PyFloat::new(py, value.as_number().unwrap_or(f64::NAN)).into_any()
        }
        Value::Symbol(name) => PyString::new(py, name.as_str()).into_any(),
        Value::Text(text) => PyString::new(py, text).into_any(),
        Value::Vector(xs) => PyList::new(py, xs.iter())?.into_any(),
        Value::Matrix(m) => {
            let rows: Vec<&[f64]> = (0..m.rows()).map(|i| m.row(i)).collect();
            PyList::new(py, rows)?.into_any()
        }
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items.iter() {
                list.append(to_python(py, item)?)?;
            }
            list.into_any()
        }
        Value::Nil | Value::Pair(_) => list(py, value)?,
        Value::Dict(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries.entries() {
                let key = match key {
                    Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Symbol(_) => {
                        to_python(py, key)?
                    }
                    other => PyString::new(py, &other.to_string()).into_any(),
                };
                dict.set_item(key, to_python(py, value)?)?;
            }
            dict.into_any()
        }
        Value::Procedure(_) | Value::Environment(_) => {
            PyString::new(py, &value.to_string()).into_any()
        }
    })
}

fn list<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    let mut link = value;
    while let Value::Pair(pair) = link {
        list.append(to_python(py, &pair.first)?)?;
        link = &pair.rest;
    }
    if !matches!(link, Value::Nil) {
        list.append(to_python(py, link)?)?;
    }
    Ok(list.into_any())
}
