//! Which columns a table gets from the columns of a file, and in which order.

use std::collections::HashSet;

use smidgen_value::Symbol;

use super::TableOptions;
use super::error::Problem;
use super::selection::select;

pub(super) struct Plan {
    /// The names of the file's columns.
    pub header: Vec<String>,
    /// In the order of the file; a vector stands where its first column stands.
    pub targets: Vec<Target>,
}

/// A column of the table.
pub(super) struct Target {
    pub name: Symbol,
    pub from: From,
}

pub(super) enum From {
    /// This column of the file.
    Single { column: usize, as_text: bool },
    /// Several numeric columns, bound as one vector.
    Several(Vec<usize>),
}

impl Target {
    fn first(&self) -> usize {
        self.columns()[0]
    }

    /// The columns of the file that it is made from.
    pub fn columns(&self) -> &[usize] {
        match &self.from {
            From::Single { column, .. } => std::slice::from_ref(column),
            From::Several(columns) => columns,
        }
    }

    pub fn is_vector(&self) -> bool {
        matches!(self.from, From::Several(_))
    }
}

impl Plan {
    pub fn new(header: Vec<String>, options: &TableOptions) -> Result<Plan, Problem> {
        check_names(&header)?;
        let mut targets = Vec::new();
        let mut in_vectors: HashSet<usize> = HashSet::new();
        for vector in &options.vectors {
            let columns = select(vector, &header)?;
            in_vectors.extend(&columns);
            targets.push(Target { name: vector.name, from: From::Several(columns) });
        }
        let singles: Vec<usize> =
            (0..header.len()).filter(|column| !in_vectors.contains(column)).collect();
        let is_single = |text: &String| singles.iter().any(|&column| header[column] == *text);
        if let Some(column) = options.texts.iter().find(|text| !is_single(text)) {
            let columns = singles.iter().map(|&column| header[column].clone()).collect();
            return Err(Problem::UnknownText { column: column.clone(), columns });
        }
        let mut names: HashSet<Symbol> =
            singles.iter().map(|&column| Symbol::new(&header[column])).collect();
        if let Some(taken) = targets.iter().find(|target| !names.insert(target.name)) {
            return Err(Problem::TakenName { vector: taken.name.to_string() });
        }
        targets.extend(singles.into_iter().map(|column| {
            let as_text = options.texts.contains(&header[column]);
            let from = From::Single { column, as_text };
            Target { name: Symbol::new(&header[column]), from }
        }));
        targets.sort_by_key(Target::first);
        Ok(Plan { header, targets })
    }
}

fn check_names(header: &[String]) -> Result<(), Problem> {
    if header.is_empty() {
        return Err(Problem::NoColumns);
    }
    if let Some(place) = header.iter().position(String::is_empty) {
        return Err(Problem::UnnamedColumn { position: place + 1 });
    }
    let mut seen = HashSet::new();
    match header.iter().find(|name| !seen.insert(*name)) {
        Some(twice) => Err(Problem::DuplicateColumn { name: twice.clone() }),
        None => Ok(()),
    }
}
