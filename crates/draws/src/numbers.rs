//! Draws as one block of numbers: chain by chain, draw by draw, entry by entry, behind an `Arc`, so that whoever shows them to others
//! (NumPy, Arrow) can hand out the memory itself.

use std::sync::Arc;

use smidgen_value::Value;

use crate::store::Quantity;

/// A quantity whose draws are numbers of one shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    pub chains: usize,
    /// Draws of each chain: of chains that differ, as many as the shortest has.
    pub draws: usize,
    /// The shape of one draw: empty for a number, `[n]` for a vector, `[n, m]` for a matrix or a list of n lists of m.
    pub shape: Vec<usize>,
    /// Row-major: chain, draw, then the shape.
    pub data: Arc<[f64]>,
}

impl Quantity {
    /// All draws as one block; None if they are no numbers, or differ in shape, or there are none.
    ///
    /// ```
    /// use smidgen_draws::Quantity;
    /// use smidgen_value::Value;
    ///
    /// let chain = vec![Value::vector([1.0, 2.0]), Value::vector([3.0, 4.0])];
    /// let numbers = Quantity::new("w", vec![chain]).numbers().unwrap();
    /// assert_eq!((numbers.chains, numbers.draws, &numbers.shape[..]), (1, 2, &[2][..]));
    /// assert_eq!(numbers.data[..], [1.0, 2.0, 3.0, 4.0]);
    /// ```
    pub fn numbers(&self) -> Option<Numbers> {
        let draws = self.chains.iter().map(Vec::len).min()?;
        let shape = shape(self.chains.first()?.first()?)?;
        let entries: usize = shape.iter().product();
        let mut data = Vec::with_capacity(self.chains.len() * draws * entries);
        for chain in &self.chains {
            for value in &chain[..draws] {
                let before = data.len();
                put(value, &shape, &mut data)?;
                debug_assert_eq!(data.len() - before, entries);
            }
        }
        Some(Numbers { chains: self.chains.len(), draws, shape, data: data.into() })
    }
}

fn shape(value: &Value) -> Option<Vec<usize>> {
    match value {
        Value::Number(_) | Value::Bool(_) | Value::Linked(..) => Some(Vec::new()),
        Value::Vector(xs) => Some(vec![xs.len()]),
        Value::Matrix(m) => Some(vec![m.rows(), m.cols()]),
        Value::Nil => Some(vec![0]),
        Value::Pair(_) | Value::Array(_) => {
            let items = value.elements()?;
            let inner = items.first().map_or_else(|| Some(Vec::new()), shape)?;
            Some([vec![items.len()], inner].concat())
        }
        _ => None,
    }
}

/// Adds the numbers of a value that has this shape.
fn put(value: &Value, shape: &[usize], data: &mut Vec<f64>) -> Option<()> {
    match (value, shape) {
        (Value::Vector(xs), [n]) if xs.len() == *n => data.extend(xs.iter()),
        (Value::Matrix(m), [n, k]) if (m.rows(), m.cols()) == (*n, *k) => data.extend(m.as_slice()),
        (Value::Nil | Value::Pair(_) | Value::Array(_), [n, inner @ ..]) => {
            let items = value.elements().filter(|items| items.len() == *n)?;
            items.iter().try_for_each(|item| put(item, inner, data))?;
        }
        (_, []) => data.push(value.as_number()?),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(chains: Vec<Vec<Value>>) -> Option<Numbers> {
        Quantity::new("x", chains).numbers()
    }

    #[test]
    fn draws_of_one_shape_are_one_block() {
        let number = |x: f64| Value::Number(x);
        let block = numbers(vec![vec![number(1.0), Value::TRUE], vec![number(3.0)]]).unwrap();
        assert_eq!((block.chains, block.draws, block.data.to_vec()), (2, 1, vec![1.0, 3.0]));
        let nested =
            Value::list([Value::vector([1.0, 2.0]), Value::array(vec![number(3.0), number(4.0)])]);
        let block = numbers(vec![vec![nested]]).unwrap();
        assert_eq!((block.shape, block.data.to_vec()), (vec![2, 2], vec![1.0, 2.0, 3.0, 4.0]));
        assert!(numbers(vec![vec![Value::vector([1.0]), Value::vector([1.0, 2.0])]]).is_none());
        assert!(numbers(vec![vec![Value::symbol("a")]]).is_none());
        assert!(numbers(vec![vec![number(1.0), Value::vector([1.0])]]).is_none());
        assert!(numbers(vec![vec![]]).is_none() && numbers(vec![]).is_none());
    }
}
