//! Cells of a table that hold nothing, and what the program says about them.
//!
//! The buffer of a column has a number for every row all the same (NaN, `false`, or the first word); nobody may read
//! it there, and the mask says where.

use std::sync::Arc;

use crate::Symbol;

/// `(missing skip)`, `(missing infer)`, or nothing said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingRule {
    /// Using a column with missing cells is an error.
    #[default]
    Refuse,
    /// Rows of a loop are left out if a cell that the loop uses is missing.
    Skip,
    /// A missing cell that would be observed is not; any other is a random choice.
    Infer,
}

/// The missing cells of a column.
#[derive(Clone, Debug)]
pub struct Missing {
    /// By row.
    pub mask: Arc<[bool]>,
    /// Where the first one is, in words.
    pub first: String,
    /// The procedure that gives them, by the number of the row.
    pub law: Option<Symbol>,
    /// The columns of the file that make up a vector.
    pub parts: Vec<Part>,
}

/// One column of the file in a vector.
#[derive(Clone, Debug)]
pub struct Part {
    pub name: Symbol,
    /// None if all its cells are there.
    pub mask: Option<Arc<[bool]>>,
    pub law: Option<Symbol>,
}

impl Missing {
    pub fn new(mask: Arc<[bool]>, first: String) -> Missing {
        Missing { mask, first, law: None, parts: Vec::new() }
    }

    pub fn count(&self) -> usize {
        self.mask.iter().filter(|missing| **missing).count()
    }

    /// Whether every missing cell has a law.
    pub fn has_law(&self) -> bool {
        let known = |part: &Part| part.mask.is_none() || part.law.is_some();
        self.law.is_some() || !self.parts.is_empty() && self.parts.iter().all(known)
    }

    /// The names under which laws can be given, each with its law.
    pub(crate) fn laws(
        &mut self,
        column: Symbol,
    ) -> impl Iterator<Item = (Symbol, &mut Option<Symbol>)> {
        let whole = self.parts.is_empty().then_some((column, &mut self.law));
        let parts = self.parts.iter_mut().filter(|part| part.mask.is_some());
        whole.into_iter().chain(parts.map(|part| (part.name, &mut part.law)))
    }

    /// The mask of a column, or of a part of a vector.
    pub fn mask_of(&self, column: Symbol, wanted: Symbol) -> Option<&Arc<[bool]>> {
        match self.parts.is_empty() {
            true => (column == wanted).then_some(&self.mask),
            false => self.parts.iter().find(|part| part.name == wanted)?.mask.as_ref(),
        }
    }
}
