//! The programs of kinds of sections, where they have been asked for.

use super::lanes::SectionProgram;

/// A program that was asked for.
#[derive(Default)]
enum ProgramState {
    #[default]
    Never,
    /// There is none.
    Impossible,
    Written(Box<SectionProgram>),
}

/// By the number of the kind.
#[derive(Default)]
pub(crate) struct Programs(Vec<ProgramState>);

impl Programs {
    /// Whether nobody has asked for the program of a kind yet.
    pub(crate) fn is_unwritten(&mut self, kind: u32) -> bool {
        let kind = kind as usize;
        if self.0.len() <= kind {
            self.0.resize_with(kind + 1, ProgramState::default);
        }
        matches!(self.0[kind], ProgramState::Never)
    }

    pub(crate) fn has_program(&self, kind: u32) -> bool {
        matches!(self.0.get(kind as usize), Some(ProgramState::Written(_)))
    }

    /// Whether the program of a kind was asked for in vain.
    pub(crate) fn has_no_program(&self, kind: u32) -> bool {
        matches!(self.0.get(kind as usize), Some(ProgramState::Impossible))
    }

    /// Takes the program of a kind for use, if there is one.
    pub(crate) fn take_program(&mut self, kind: u32) -> Option<Box<SectionProgram>> {
        match std::mem::replace(&mut self.0[kind as usize], ProgramState::Impossible) {
            ProgramState::Written(program) => Some(program),
            ProgramState::Never | ProgramState::Impossible => None,
        }
    }

    /// Keeps the program of a kind, or that there is none.
    pub(crate) fn keep_program(&mut self, kind: u32, program: Option<Box<SectionProgram>>) {
        self.0[kind as usize] = program.map_or(ProgramState::Impossible, ProgramState::Written);
    }

    /// From now on sections of these kinds, all that are known, are weighed node by node.
    pub(crate) fn forgo(&mut self, kinds: usize) {
        self.0.clear();
        self.0.resize_with(kinds, || ProgramState::Impossible);
    }
}
