//! Draws as they were recorded: quantity x chain x draw, each draw any value.
//!
//! Chains may differ in length, because an interrupted run keeps what it has. Diagnostics and
//! columnar files want plain numbers, which [`Draws::scalars`] provides: numbers as they are,
//! booleans as 0 and 1, the entries of vectors as `NAME[0]`, of matrices as `NAME[0,0]`.
//! What has no such form is named by [`Draws::unflattened`], with the reason.

use std::collections::{HashMap, HashSet};

use smidgen_value::Value;

/// One recorded expression.
#[derive(Clone, Debug)]
pub struct Quantity {
    pub name: String,
    /// Chain by chain, draw by draw.
    pub chains: Vec<Vec<Value>>,
}

impl Quantity {
    pub fn new(name: impl Into<String>, chains: Vec<Vec<Value>>) -> Quantity {
        Quantity { name: name.into(), chains }
    }

    /// The draws of all chains, in order.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.chains.iter().flatten()
    }
}

/// One number per draw: a numeric quantity, or one entry of a vector or matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    pub name: String,
    pub chains: Vec<Vec<f64>>,
}

/// All recorded quantities; their names are distinct.
#[derive(Clone, Debug, Default)]
pub struct Draws {
    quantities: Vec<Quantity>,
    /// Where each name is.
    places: HashMap<String, usize>,
}

/// What the draws of a quantity have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Number,
    Vector(usize),
    Matrix(usize, usize),
}

impl Draws {
    /// Room for `chains` chains of the named quantities. A name that is already taken
    /// becomes `NAME #2`, `NAME #3`.
    pub fn new<N: Into<String>>(names: impl IntoIterator<Item = N>, chains: usize) -> Draws {
        let mut draws = Draws::default();
        for name in names {
            draws.add(Quantity::new(name, vec![Vec::new(); chains]));
        }
        draws
    }

    /// Adds a quantity; its name is made distinct as in [`Draws::new`].
    pub fn add(&mut self, mut quantity: Quantity) {
        quantity.name = distinct(quantity.name, |name| self.places.contains_key(name));
        self.places.insert(quantity.name.clone(), self.quantities.len());
        self.quantities.push(quantity);
    }

    /// Records one draw: a value for every quantity, in their order.
    ///
    /// # Panics
    /// If the number of values is not the number of quantities, or there is no such chain.
    pub fn push(&mut self, chain: usize, values: impl IntoIterator<Item = Value>) {
        let mut values = values.into_iter();
        for quantity in &mut self.quantities {
            let value = values.next().expect("a draw has a value for every quantity");
            quantity.chains[chain].push(value);
        }
        assert!(values.next().is_none(), "a draw has no more values than there are quantities");
    }

    /// The chains of several stores of the same quantities, one after the other.
    ///
    /// # Panics
    /// If the stores differ in their quantities.
    pub fn join(stores: impl IntoIterator<Item = Draws>) -> Draws {
        let mut stores = stores.into_iter();
        let mut joined = stores.next().unwrap_or_default();
        for store in stores {
            assert_eq!(joined.quantities.len(), store.quantities.len(), "stores of one run");
            for (quantity, more) in joined.quantities.iter_mut().zip(store.quantities) {
                assert_eq!(quantity.name, more.name, "stores of one run");
                quantity.chains.extend(more.chains);
            }
        }
        joined
    }

    /// Adds what another store of the same quantities has beyond the first `known` draws of each chain, or all of it if
    /// this one is empty. Gives the number of draws of the longest chain now.
    pub fn extend_from(&mut self, other: &Draws, known: usize) -> usize {
        if self.quantities.len() != other.quantities.len() {
            *self = other.clone();
        } else {
            for (quantity, more) in self.quantities.iter_mut().zip(&other.quantities) {
                for (chain, more) in quantity.chains.iter_mut().zip(&more.chains) {
                    chain.extend_from_slice(more.get(known..).unwrap_or(&[]));
                }
            }
        }
        let chains = self.quantities.iter().flat_map(|quantity| &quantity.chains);
        chains.map(Vec::len).max().unwrap_or(0)
    }

    pub fn quantities(&self) -> &[Quantity] {
        &self.quantities
    }

    pub fn get(&self, name: &str) -> Option<&Quantity> {
        self.places.get(name).map(|&place| &self.quantities[place])
    }

    /// Whether nothing was drawn.
    pub fn is_empty(&self) -> bool {
        self.quantities.iter().all(|q| q.values().next().is_none())
    }

    /// Every quantity that is numeric and keeps its shape, as plain numbers.
    pub fn scalars(&self) -> Vec<Scalar> {
        self.entries().into_iter().map(|(_, scalar)| scalar).collect()
    }

    /// The same, each with the place of its quantity and its own place in that.
    pub fn entries(&self) -> Vec<((usize, usize), Scalar)> {
        let mut scalars = Vec::new();
        let mut taken = HashSet::new();
        for (place, quantity) in self.quantities.iter().enumerate() {
            let Ok(shape) = shape_of(quantity) else { continue };
            for (entry, mut scalar) in flatten(quantity, shape).into_iter().enumerate() {
                // A label `x[0]` and entry 0 of a vector `x` are different things.
                scalar.name = distinct(scalar.name, |name| taken.contains(name));
                taken.insert(scalar.name.clone());
                scalars.push(((place, entry), scalar));
            }
        }
        scalars
    }

    /// The quantities that [`Draws::scalars`] leaves out, as (name, reason).
    pub fn unflattened(&self) -> Vec<(String, String)> {
        let reason = |q: &Quantity| shape_of(q).err().map(|reason| (q.name.clone(), reason));
        self.quantities.iter().filter_map(reason).collect()
    }
}

/// The name, or with the first of ` #2`, ` #3`, ... that is free.
fn distinct(name: String, taken: impl Fn(&str) -> bool) -> String {
    if !taken(&name) {
        return name;
    }
    let mut numbered = (2u64..).map(|k| format!("{name} #{k}"));
    numbered.find(|name| !taken(name)).expect("there are more numbers than names")
}

fn shape_of(quantity: &Quantity) -> Result<Shape, String> {
    let mut values = quantity.values();
    let Some(first) = values.next() else { return Err("nothing was drawn".to_owned()) };
    let shape = shape_of_value(first)?;
    for value in values {
        let other = shape_of_value(value)?;
        if other != shape {
            return Err(format!("it is {} in one draw and {} in another", shape, other));
        }
    }
    match shape {
        Shape::Vector(0) | Shape::Matrix(0, _) | Shape::Matrix(_, 0) => {
            Err("it has no elements".to_owned())
        }
        _ => Ok(shape),
    }
}

fn shape_of_value(value: &Value) -> Result<Shape, String> {
    match value {
        Value::Number(_) | Value::Linked(..) | Value::Bool(_) => Ok(Shape::Number),
        Value::Vector(xs) => Ok(Shape::Vector(xs.len())),
        Value::Matrix(m) => Ok(Shape::Matrix(m.rows(), m.cols())),
        Value::Nil | Value::Pair(_) | Value::Array(_) => match value.to_reals() {
            Some(xs) => Ok(Shape::Vector(xs.len())),
            None => Err(format!("it is {} of other things than numbers", value.type_name())),
        },
        _ => Err(format!("it is {}", value.type_name())),
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Shape::Number => f.write_str("a number"),
            Shape::Vector(1) => f.write_str("of 1 element"),
            Shape::Vector(n) => write!(f, "of {n} elements"),
            Shape::Matrix(rows, cols) => write!(f, "a {rows} x {cols} matrix"),
        }
    }
}

/// The scalars of a quantity whose draws all have this shape.
fn flatten(quantity: &Quantity, shape: Shape) -> Vec<Scalar> {
    const KEPT: &str = "every draw has the shape that was found";
    let name = &quantity.name;
    let names: Vec<String> = match shape {
        Shape::Number => vec![name.clone()],
        Shape::Vector(n) => (0..n).map(|i| format!("{name}[{i}]")).collect(),
        Shape::Matrix(rows, cols) => {
            (0..rows).flat_map(|i| (0..cols).map(move |j| format!("{name}[{i},{j}]"))).collect()
        }
    };
    let empty = || quantity.chains.iter().map(|chain| Vec::with_capacity(chain.len())).collect();
    let mut scalars: Vec<Scalar> =
        names.into_iter().map(|name| Scalar { name, chains: empty() }).collect();
    for (c, chain) in quantity.chains.iter().enumerate() {
        for value in chain {
            let mut put = |i: usize, x: f64| scalars[i].chains[c].push(x);
            match value {
                Value::Vector(xs) => xs.iter().enumerate().for_each(|(i, x)| put(i, *x)),
                Value::Matrix(m) => m.as_slice().iter().enumerate().for_each(|(i, x)| put(i, *x)),
                _ => match value.as_number() {
                    Some(x) => put(0, x),
                    None => {
                        let xs = value.to_reals().expect(KEPT);
                        xs.iter().enumerate().for_each(|(i, x)| put(i, *x));
                    }
                },
            }
        }
    }
    scalars
}

#[cfg(test)]
mod tests {
    use super::*;
    use smidgen_value::Matrix;

    fn single(value: Value) -> Draws {
        let mut draws = Draws::new(["x"], 1);
        draws.push(0, [value]);
        draws
    }

    #[test]
    fn numbers_vectors_and_matrices_become_scalars() {
        let mut draws = Draws::new(["b", "v", "l", "m"], 2);
        for chain in [0, 1, 1] {
            draws.push(
                chain,
                [
                    Value::TRUE,
                    Value::vector([1.0, 2.0]),
                    Value::list([3.0.into(), Value::FALSE]),
                    Value::matrix(Matrix::new(1, 2, vec![5.0, 6.0])),
                ],
            );
        }
        let flat = draws.scalars();
        let names: Vec<&str> = flat.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["b", "v[0]", "v[1]", "l[0]", "l[1]", "m[0,0]", "m[0,1]"]);
        let expected = [1.0, 1.0, 2.0, 3.0, 0.0, 5.0, 6.0];
        for (scalar, x) in flat.iter().zip(expected) {
            assert_eq!(scalar.chains, [vec![x], vec![x, x]], "{}", scalar.name);
        }
        assert!(draws.unflattened().is_empty());
    }

    #[test]
    fn what_is_no_number_is_left_out_with_a_reason() {
        let nested = Value::array(vec![Value::vector([1.0])]);
        for (value, reason) in [
            (Value::symbol("a"), "it is a symbol"),
            (Value::text("a"), "it is a string"),
            (Value::dict([]), "it is a dictionary"),
            (nested, "it is an array of other things than numbers"),
            (Value::pair(1.0.into(), 2.0.into()), "it is a list of other things than numbers"),
            (Value::Nil, "it has no elements"),
            (Value::matrix(Matrix::new(0, 3, vec![])), "it has no elements"),
        ] {
            let draws = single(value);
            assert!(draws.scalars().is_empty());
            assert_eq!(draws.unflattened(), [("x".to_owned(), reason.to_owned())]);
        }
        assert_eq!(Draws::new(["x"], 4).unflattened()[0].1, "nothing was drawn");
    }

    #[test]
    fn a_changing_shape_is_left_out() {
        let mut draws = single(Value::vector([1.0]));
        draws.push(0, [Value::vector([1.0, 2.0])]);
        assert!(draws.scalars().is_empty());
        let reason = &draws.unflattened()[0].1;
        assert_eq!(reason, "it is of 1 element in one draw and of 2 elements in another");
    }

    #[test]
    fn equal_names_are_numbered() {
        let draws = Draws::new(["x", "x", "x #2", "x"], 0);
        let names: Vec<&str> = draws.quantities().iter().map(|q| q.name.as_str()).collect();
        assert_eq!(names, ["x", "x #2", "x #2 #2", "x #3"]);
        let mut draws = Draws::new(["x", "x[0]"], 1);
        draws.push(0, [Value::vector([1.0]), 2.0.into()]);
        let names: Vec<String> = draws.scalars().into_iter().map(|s| s.name).collect();
        assert_eq!(names, ["x[0]", "x[0] #2"]);
    }

    #[test]
    fn stores_of_single_chains_join() {
        let joined = Draws::join([single(1.0.into()), single(2.0.into())]);
        let x = joined.get("x").expect("the quantity of both");
        assert_eq!(x.chains, [[Value::Number(1.0)], [Value::Number(2.0)]]);
        assert!(!joined.is_empty());
        assert!(Draws::new(["x"], 2).is_empty() && joined.get("y").is_none());
    }
}
