//! What names refer to: what was assumed, and built-in procedures.

use smidgen_lang::Span;
use smidgen_prob::lookup;
use smidgen_prob::registry::Builtin;
use smidgen_value::{Symbol, Value};

use super::Trace;
use super::journal::Edit;
use crate::error::{EvalError, Mistake};
use crate::operand::Operand;
use crate::procedure::Procedure;

impl Trace {
    pub fn global(&mut self, name: Symbol) -> Option<Operand> {
        match self.globals.get(name.index()) {
            Some(Some(operand)) => Some(operand.clone()),
            _ => self.builtin(name).map(Operand::Constant),
        }
    }

    /// What a name that was asked for before refers to.
    pub(crate) fn known_global(&self, name: Symbol) -> Option<Operand> {
        match self.globals.get(name.index()) {
            Some(Some(operand)) => Some(operand.clone()),
            _ => {
                let builtin = self.builtins.get(name.index()).cloned().flatten();
                builtin.map(Operand::Constant)
            }
        }
    }

    /// The built-in procedure that a name which was asked for before refers to, if it is one: nothing is counted as
    /// for a value.
    #[inline]
    pub(crate) fn known_builtin(&self, name: Symbol) -> Option<Builtin> {
        let value = match self.globals.get(name.index()) {
            Some(Some(operand)) => operand.constant()?,
            _ => self.builtins.get(name.index())?.as_ref()?,
        };
        match Procedure::of(value)? {
            Procedure::Builtin(builtin) => Some(*builtin),
            _ => None,
        }
    }

    /// The built-in procedure of that name: always the same value, so that procedures can be
    /// compared and used as memo keys.
    pub(crate) fn builtin(&mut self, name: Symbol) -> Option<Value> {
        let index = name.index();
        if let Some(Some(value)) = self.builtins.get(index) {
            return Some(value.clone());
        }
        let builtin = lookup(name)?;
        if index >= self.builtins.len() {
            self.builtins.resize(index + 1, None);
        }
        let first_name = Symbol::new(builtin.spec().name);
        let value = if first_name == name {
            Procedure::Builtin(builtin).into_value(0)
        } else {
            self.builtin(first_name)?
        };
        self.builtins[index] = Some(value.clone());
        Some(value)
    }

    /// The number of the procedure or environment made next. It is not given back when an edit is undone: numbers are
    /// compared, never counted.
    pub(crate) fn next_creation(&mut self) -> u64 {
        self.creations += 1;
        self.creations
    }

    pub(crate) fn bind_global(&mut self, name: Symbol, operand: Option<Operand>) {
        let index = name.index();
        if index >= self.globals.len() {
            self.globals.resize(index + 1, None);
        }
        if !self.assumed.contains(&name) {
            self.assumed.push(name);
        }
        let was = std::mem::replace(&mut self.globals[index], operand);
        self.journal.push(Edit::Global(name, was));
    }

    pub fn is_bound(&self, name: Symbol) -> bool {
        self.globals.get(name.index()).is_some_and(Option::is_some)
    }

    pub(crate) fn unbound(&self, name: Symbol, span: Span) -> EvalError {
        let own = self.assumed.iter().map(|name| name.as_str());
        let suggestion = crate::error::meant(name.as_str(), own);
        EvalError::new(Mistake::Unbound { name, suggestion: suggestion.map(str::to_owned) }, span)
    }
}
