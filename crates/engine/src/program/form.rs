//! The form of a value that holds nothing but numbers: two values of one form differ in their numbers alone.

use smidgen_value::{Matrix, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Number,
    Vector(usize),
    Matrix(usize, usize),
    Array(usize),
}

impl Form {
    /// None for a value of another kind, also for a probability that is more than its number.
    pub(crate) fn of(value: &Value) -> Option<Form> {
        match value {
            Value::Number(_) | Value::Bool(_) => Some(Form::Number),
            Value::Vector(xs) => Some(Form::Vector(xs.len())),
            Value::Matrix(m) => Some(Form::Matrix(m.rows(), m.cols())),
            Value::Array(items) => {
                let plain = items.iter().all(|item| matches!(item, Value::Number(_)));
                plain.then_some(Form::Array(items.len()))
            }
            _ => None,
        }
    }

    pub(crate) fn len(self) -> usize {
        match self {
            Form::Number => 1,
            Form::Vector(len) | Form::Array(len) => len,
            Form::Matrix(rows, cols) => rows * cols,
        }
    }

    /// Adds the numbers of a value. False, and nothing is added, if it has another form.
    #[inline]
    pub(crate) fn numbers(self, value: &Value, out: &mut Vec<f64>) -> bool {
        match (self, value) {
            (Form::Number, Value::Number(x)) => out.push(*x),
            (Form::Number, Value::Bool(b)) => out.push(f64::from(u8::from(*b))),
            (Form::Vector(len), Value::Vector(xs)) if xs.len() == len => out.extend_from_slice(xs),
            (Form::Matrix(rows, cols), Value::Matrix(m))
                if (m.rows(), m.cols()) == (rows, cols) =>
            {
                out.extend_from_slice(m.as_slice());
            }
            (Form::Array(_), Value::Array(items)) if Form::of(value) == Some(self) => {
                out.extend(items.iter().filter_map(Value::as_number));
            }
            _ => return false,
        }
        true
    }

    /// The value of this form with these numbers.
    pub(crate) fn value(self, mut numbers: impl Iterator<Item = f64>) -> Value {
        match self {
            Form::Number => Value::Number(numbers.next().expect("numbers for the form")),
            Form::Vector(len) => Value::vector(numbers.take(len).collect::<Vec<_>>()),
            Form::Matrix(rows, cols) => {
                Value::matrix(Matrix::new(rows, cols, numbers.take(rows * cols).collect()))
            }
            Form::Array(len) => Value::array(numbers.take(len).map(Value::Number).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use smidgen_value::Link;

    use super::*;

    #[test]
    fn values_of_one_form_differ_in_their_numbers_alone() {
        let values = [
            Value::Number(2.0),
            Value::vector(vec![1.0, 2.0]),
            Value::matrix(Matrix::new(1, 2, vec![3.0, 4.0])),
            Value::array(vec![Value::Number(5.0), Value::Number(6.0)]),
        ];
        for (i, value) in values.iter().enumerate() {
            let form = Form::of(value).expect("numbers");
            let mut numbers = Vec::new();
            assert!(form.numbers(value, &mut numbers) && numbers.len() == form.len());
            assert!(form.value(numbers.into_iter()).is_identical(value) || i == 3);
            for (j, other) in values.iter().enumerate() {
                let mut numbers = Vec::new();
                assert_eq!(form.numbers(other, &mut numbers), i == j);
                assert_eq!(numbers.is_empty(), i != j);
            }
        }
        let nested = Value::array(vec![Value::Number(1.0), values[1].clone()]);
        assert_eq!(Form::of(&nested), None);
        assert_eq!(Form::of(&Value::Linked(Link::LogOdds, 20.0)), None);
    }
}
