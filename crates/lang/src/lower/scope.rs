//! The names around an expression, frame by frame, as the core language counts them.

use std::fmt;
use std::sync::Arc;

use smidgen_value::{Column, Symbol, Table};

/// The frames around an expression, innermost last.
#[derive(Clone, Default)]
pub struct Scope {
    frames: Vec<Frame>,
    /// How many procedures are open around the expression.
    procedures: usize,
}

#[derive(Clone)]
enum Frame {
    Names(Arc<[Symbol]>),
    /// The names of a `letrec` while its values are read; `procedures` were open around it.
    Pending {
        names: Arc<[Symbol]>,
        procedures: usize,
    },
    /// One slot, the row number; `variable.column` is a cell of the table.
    Row {
        variable: Symbol,
        table: Arc<Table>,
    },
}

/// What a name refers to.
pub(super) enum Resolved<'n> {
    Local {
        depth: u32,
        slot: u32,
    },
    /// A name of a `letrec` before it has a value.
    Pending,
    /// `row.column`, where the row number is in that slot.
    Column {
        depth: u32,
        slot: u32,
        table: Arc<Table>,
        column: &'n str,
    },
    /// `row.index` in rows that are not counted from 0.
    Number {
        depth: u32,
        slot: u32,
        numbers: Column,
    },
    /// `row.index` where a column has that name too.
    TwoIndices,
    /// `row` alone.
    Row {
        table: Arc<Table>,
    },
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names().iter()).finish()
    }
}

impl Scope {
    /// No frames: every name is global.
    pub fn global() -> Scope {
        Scope::default()
    }

    /// Inside `[for variable in table ...]`.
    pub fn with_row(&self, variable: Symbol, table: Arc<Table>) -> Scope {
        self.with(Frame::Row { variable, table })
    }

    /// Inside `[for variable in (range a b) ...]`: one frame of one plain name.
    pub fn with_variable(&self, variable: Symbol) -> Scope {
        self.with(Frame::Names([variable].into()))
    }

    /// The scope of an environment as [`crate::core::ExprKind::CurrentEnvironment`] names it.
    pub fn of_environment(frames_innermost_first: &[Arc<[Symbol]>]) -> Scope {
        let frames = frames_innermost_first.iter().rev().cloned().map(Frame::Names).collect();
        Scope { frames, procedures: 0 }
    }

    /// Whether a frame binds the name (or is the row that `name` takes a column of).
    pub fn binds(&self, name: Symbol) -> bool {
        self.find(name).is_some()
    }

    /// How many frames there are.
    pub(super) fn depth(&self) -> usize {
        self.frames.len()
    }

    fn with(&self, frame: Frame) -> Scope {
        let mut scope = self.clone();
        scope.frames.push(frame);
        scope
    }

    pub(super) fn enter(&mut self, names: Arc<[Symbol]>) {
        self.frames.push(Frame::Names(names));
    }

    pub(super) fn enter_pending(&mut self, names: Arc<[Symbol]>) {
        self.frames.push(Frame::Pending { names, procedures: self.procedures });
    }

    pub(super) fn enter_procedure(&mut self, params: Arc<[Symbol]>) {
        self.procedures += 1;
        self.enter(params);
    }

    pub(super) fn leave_procedure(&mut self) {
        self.procedures -= 1;
        self.leave(1);
    }

    pub(super) fn leave(&mut self, frames: usize) {
        self.frames.truncate(self.frames.len() - frames);
    }

    /// The names of the frames, innermost first.
    pub(super) fn names(&self) -> Arc<[Arc<[Symbol]>]> {
        let names = |frame: &Frame| match frame {
            Frame::Names(names) | Frame::Pending { names, .. } => names.clone(),
            Frame::Row { variable, .. } => [*variable].into(),
        };
        self.frames.iter().rev().map(names).collect()
    }

    pub(super) fn find(&self, name: Symbol) -> Option<Resolved<'static>> {
        let text = name.as_str();
        let frames = self.frames.iter().rev().zip(0u32..);
        for (frame, depth) in frames {
            match frame {
                Frame::Names(names) => {
                    if let Some(slot) = slot_of(names, name) {
                        return Some(Resolved::Local { depth, slot });
                    }
                }
                Frame::Pending { names, procedures } => {
                    if let Some(slot) = slot_of(names, name) {
                        let ready = self.procedures > *procedures;
                        return Some(if ready {
                            Resolved::Local { depth, slot }
                        } else {
                            Resolved::Pending
                        });
                    }
                }
                Frame::Row { variable, table } => {
                    if *variable == name {
                        return Some(Resolved::Row { table: table.clone() });
                    }
                    let behind = text.strip_prefix(variable.as_str());
                    if let Some(column) = behind.and_then(|behind| behind.strip_prefix('.')) {
                        return Some(match column {
                            "index" if table.has(Symbol::new("index")) => Resolved::TwoIndices,
                            "index" => match table.numbers() {
                                Some(numbers) => {
                                    Resolved::Number { depth, slot: 0, numbers: numbers.clone() }
                                }
                                None => Resolved::Local { depth, slot: 0 },
                            },
                            _ => Resolved::Column { depth, slot: 0, table: table.clone(), column },
                        });
                    }
                }
            }
        }
        None
    }
}

/// The slot of a name in its frame; a later binding of the same name hides an earlier one.
fn slot_of(names: &[Symbol], name: Symbol) -> Option<u32> {
    let slot = names.iter().rposition(|bound| *bound == name)?;
    Some(u32::try_from(slot).expect("a frame has fewer than 2^32 slots"))
}
