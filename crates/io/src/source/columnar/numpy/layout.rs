//! What the header of a `.npy` file says: the fields of a row, how many rows, in which order.

use arrow_schema::DataType;

use super::literal::Literal;

/// The elements of an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scalar {
    pub kind: Kind,
    /// In bytes.
    pub size: usize,
    pub big_endian: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Boolean,
    Signed,
    Unsigned,
    Float,
    /// Bytes, filled up with zeros.
    Bytes,
    /// Characters of four bytes, filled up with zeros.
    Unicode,
    /// Nothing that a table can have; the letter of the type.
    Other(char),
}

impl Scalar {
    /// From a text like `<f8`.
    fn parse(text: &str) -> Option<Scalar> {
        let text = text.trim_start_matches('=');
        let (big_endian, text) = match text.strip_prefix('>') {
            Some(rest) => (true, rest),
            None => (false, text.trim_start_matches(['<', '|'])),
        };
        let mut letters = text.chars();
        let letter = letters.next()?;
        // Points in time have a unit behind their size: M8[ns].
        let number: String = letters.take_while(char::is_ascii_digit).collect();
        let number: usize = if letter == 'O' { 8 } else { number.parse().ok()? };
        let (kind, size) = match (letter, number) {
            ('b', 1) => (Kind::Boolean, 1),
            ('i', 1 | 2 | 4 | 8) => (Kind::Signed, number),
            ('u', 1 | 2 | 4 | 8) => (Kind::Unsigned, number),
            ('f', 2 | 4 | 8) => (Kind::Float, number),
            ('S' | 'a', _) => (Kind::Bytes, number),
            ('U', _) => (Kind::Unicode, number.checked_mul(4)?),
            _ => (Kind::Other(letter), number),
        };
        Some(Scalar { kind, size, big_endian })
    }

    pub fn data_type(&self) -> Option<DataType> {
        Some(match (self.kind, self.size) {
            (Kind::Boolean, _) => DataType::Boolean,
            (Kind::Signed, 1) => DataType::Int8,
            (Kind::Signed, 2) => DataType::Int16,
            (Kind::Signed, 4) => DataType::Int32,
            (Kind::Signed, _) => DataType::Int64,
            (Kind::Unsigned, 1) => DataType::UInt8,
            (Kind::Unsigned, 2) => DataType::UInt16,
            (Kind::Unsigned, 4) => DataType::UInt32,
            (Kind::Unsigned, _) => DataType::UInt64,
            (Kind::Float, 2) => DataType::Float16,
            (Kind::Float, 4) => DataType::Float32,
            (Kind::Float, _) => DataType::Float64,
            (Kind::Bytes | Kind::Unicode, _) => DataType::Utf8,
            (Kind::Other(_), _) => return None,
        })
    }

    pub fn in_words(&self) -> String {
        match self.kind {
            Kind::Other('O') => "Python objects".to_owned(),
            Kind::Other('c') => "complex numbers".to_owned(),
            Kind::Other('M') => "points in time".to_owned(),
            Kind::Other('m') => "spans of time".to_owned(),
            Kind::Other(letter) => format!("values of the NumPy type {letter}{}", self.size),
            Kind::Boolean => "booleans".to_owned(),
            Kind::Bytes | Kind::Unicode => "texts".to_owned(),
            _ => "numbers".to_owned(),
        }
    }
}

/// A part of every row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    /// None in a plain array.
    pub name: Option<String>,
    pub scalar: Scalar,
    /// Where it begins in the row, in bytes.
    pub offset: usize,
    /// For vectors, how long they are.
    pub width: Option<usize>,
}

impl Field {
    pub fn elements(&self) -> usize {
        self.width.unwrap_or(1)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub shape: Vec<usize>,
    /// Bytes of a row.
    pub record: usize,
    pub fields: Vec<Field>,
    /// Column after column.
    pub fortran: bool,
}

impl Layout {
    pub fn parse(header: &str) -> Option<Layout> {
        let header = Literal::parse(header)?;
        let shape = header.get("shape")?.shape()?;
        let fortran = matches!(header.get("fortran_order")?, Literal::Boolean(true));
        let descr = header.get("descr")?;
        let (fields, record) = match descr {
            Literal::Text(text) => {
                let scalar = Scalar::parse(text)?;
                let width = shape.get(1).copied();
                let record = scalar.size.checked_mul(width.unwrap_or(1))?;
                (vec![Field { name: None, scalar, offset: 0, width }], record)
            }
            Literal::Sequence(fields) => structured(fields)?,
            _ => return None,
        };
        // In one dimension the orders are the same.
        let fortran = fortran && shape.len() > 1;
        Some(Layout { shape, record, fields, fortran })
    }

    pub fn rows(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    /// Whether rows of numbers or vectors can be made of it.
    pub fn is_table(&self) -> bool {
        let structured = self.fields.iter().any(|field| field.name.is_some());
        let dimensions = if structured { 1..=1 } else { 1..=2 };
        let some = self.fields.iter().all(|field| field.elements() > 0);
        dimensions.contains(&self.shape.len()) && some && self.record > 0
    }
}

/// The fields of a structured type and the size of a row.
fn structured(fields: &[Literal]) -> Option<(Vec<Field>, usize)> {
    let (mut found, mut offset) = (Vec::new(), 0usize);
    for field in fields {
        let Literal::Sequence(parts) = field else { return None };
        let [name, kind, more @ ..] = parts.as_slice() else { return None };
        // A field with a title is named by a pair (title, name).
        let name = match name {
            Literal::Text(name) => name.clone(),
            Literal::Sequence(pair) => match pair.as_slice() {
                [_, Literal::Text(name)] => name.clone(),
                _ => return None,
            },
            _ => return None,
        };
        let scalar = match kind {
            Literal::Text(text) => Scalar::parse(text)?,
            Literal::Sequence(inner) => {
                let size = structured(inner)?.1;
                Scalar { kind: Kind::Other('V'), size, big_endian: false }
            }
            _ => return None,
        };
        let shape = more.first().map(Literal::shape).map_or(Some(None), |s| s.map(Some))?;
        let width = shape.map(|s| s.iter().try_fold(1usize, |n, &m| n.checked_mul(m)));
        let width = width.map_or(Some(None), |w| w.map(Some))?;
        let size = scalar.size.checked_mul(width.unwrap_or(1))?;
        // Gaps between aligned fields have no name.
        if !name.is_empty() {
            found.push(Field { name: Some(name), scalar, offset, width });
        }
        offset = offset.checked_add(size)?;
    }
    Some((found, offset))
}
