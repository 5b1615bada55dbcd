//! Which columns of a file form a vector.

use smidgen_value::Symbol;

use super::error::Problem;

/// Several numeric columns bound as one column of vectors.
#[derive(Clone, Debug)]
pub struct VectorColumn {
    pub name: Symbol,
    pub columns: ColumnSelection,
}

#[derive(Clone, Debug)]
pub enum ColumnSelection {
    /// All columns whose name matches, in the order of the file; `*` stands for any text.
    Glob(String),
    /// These columns, in this order.
    List(Vec<String>),
}

/// The places of the selected columns in the header.
pub(super) fn select(vector: &VectorColumn, header: &[String]) -> Result<Vec<usize>, Problem> {
    let name = || vector.name.to_string();
    match &vector.columns {
        ColumnSelection::Glob(pattern) => {
            let places: Vec<usize> =
                (0..header.len()).filter(|&i| matches(pattern, &header[i])).collect();
            if places.is_empty() {
                let (pattern, columns) = (pattern.clone(), header.to_vec());
                return Err(Problem::NoMatch { vector: name(), pattern, columns });
            }
            Ok(places)
        }
        ColumnSelection::List(columns) => {
            let mut places = Vec::new();
            for column in columns {
                let Some(place) = header.iter().position(|name| name == column) else {
                    let (column, columns) = (column.clone(), header.to_vec());
                    return Err(Problem::UnknownColumn { vector: name(), column, columns });
                };
                if places.contains(&place) {
                    return Err(Problem::RepeatedColumn { vector: name(), column: column.clone() });
                }
                places.push(place);
            }
            if places.is_empty() {
                return Err(Problem::EmptyVector { vector: name() });
            }
            Ok(places)
        }
    }
}

/// Whether the name is the pattern with some text for each `*`.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let (inner, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    // The leftmost place for each inner piece leaves the most text for the others.
    for piece in inner.split('*') {
        match name.find(piece) {
            Some(at) => name = &name[at + piece.len()..],
            None => return false,
        }
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, matching) in [
            ("x*", "x1", true),
            ("x*", "x", true),
            ("x*", "y1", false),
            ("*", "anything", true),
            ("x", "x", true),
            ("x", "x1", false),
            ("x*y", "xy", true),
            ("x*x", "x", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("*b*", "abc", true),
            ("*b", "bab", true),
        ] {
            assert_eq!(matches(pattern, name), matching, "{pattern} {name}");
        }
    }
}
