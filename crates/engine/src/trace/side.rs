//! Side tables: what clients of the trace keep about it from one move to the next. The trace carries them along and
//! knows nothing of what is in them; a copy of the trace begins without any.
//!
//! A client has one table, told from others by its type. What stands in it is keyed by node and holds a stamp that says how
//! long it is valid ([`Trace::edges_at`](super::Trace), `changed_at`, [`super::node::Made::stamp`]).

use std::any::{Any, TypeId};

/// Each beside its type: to find one, none has to be asked.
#[derive(Default)]
pub(crate) struct SideTables(Vec<(TypeId, Box<dyn Any + Send + Sync>)>);

impl SideTables {
    /// The table of a client, if it has one.
    pub(crate) fn get<T: Any>(&self) -> Option<&T> {
        let (_, table) = self.0.iter().find(|(kind, _)| *kind == TypeId::of::<T>())?;
        table.downcast_ref()
    }

    /// The table of a client, which is made when it is first asked for.
    pub(crate) fn get_mut<T: Any + Default + Send + Sync>(&mut self) -> &mut T {
        let kind = TypeId::of::<T>();
        let known = self.0.iter().position(|(known, _)| *known == kind);
        let at = known.unwrap_or_else(|| {
            self.0.push((kind, Box::<T>::default()));
            self.0.len() - 1
        });
        self.0[at].1.downcast_mut().expect("it was found by its type")
    }

    /// Takes a table for use beside the trace. It is to be given back with [`SideTables::put`].
    pub(crate) fn take<T: Any + Default + Send + Sync>(&mut self) -> T {
        std::mem::take(self.get_mut())
    }

    pub(crate) fn put<T: Any + Default + Send + Sync>(&mut self, table: T) {
        *self.get_mut() = table;
    }
}
