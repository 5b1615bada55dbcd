//! Names of the program as scopes: `(slice phi all 1)`, `(pgibbs h ordered 20 1)` without any tag in the program.
//!
//! A kernel that names one asks for it when it is read. Then the choices that are there are tagged, once, in O(trace), and
//! from there on what is made carries its tags as any other choice does: structures hold those in force where they
//! stand, and a memoised procedure tags each application by its arguments. So a transition costs what it costs with tags
//! that the program has written. Only the choices of the name's own evaluation count, not those of other memoised
//! procedures that it asks for: which of two asks first is history.

use std::sync::Arc;

use smidgen_value::{Symbol, Value};

use super::{Model, RecordKind};
use crate::id::FamilyId;
use crate::procedure::Procedure;
use crate::tag::{Tag, scope_of_name};
use crate::trace::Trace;
use crate::trace::apply::application_tag;
use crate::trace::node::{MemoEntry, MemoKey, NOWHERE, Op, Structure, StructureKind};

/// Why a name is no scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoScope {
    Unbound,
    /// A procedure that remembers nothing: its choices belong to whoever calls it.
    PlainProcedure,
}

impl Model {
    /// The scope of an assumed name: the choices made for it, each a block of its own, or the applications of a
    /// memoised procedure, with their arguments as blocks (several as a list). No transaction may be open.
    pub fn scope_of_name(&mut self, name: Symbol) -> Result<Value, NoScope> {
        let of_name = |kind: &RecordKind| *kind == RecordKind::Assume(name);
        let place = self.records.iter().rposition(|record| of_name(&record.kind));
        let place = place.ok_or(NoScope::Unbound)?;
        let record = &self.records[place];
        if let Some(scope) = &record.scope {
            return Ok(scope.clone());
        }
        let procedure = record.root.constant().and_then(Procedure::of);
        let scope = match procedure {
            Some(Procedure::Memoised(memo)) => {
                let memo = *memo;
                let scope = self.trace.memo(memo).scope.clone();
                scope.unwrap_or_else(|| self.trace.tag_applications(memo, scope_of_name(name)))
            }
            Some(Procedure::Builtin(_) | Procedure::Compound { .. }) => {
                return Err(NoScope::PlainProcedure);
            }
            Some(Procedure::Made(_)) | None => {
                let (family, scope) = (record.family, scope_of_name(name));
                self.trace.tag_family(family, (&scope, &Tag::Alone));
                scope
            }
        };
        self.records[place].scope = Some(scope.clone());
        Ok(scope)
    }
}

impl Trace {
    fn tag_applications(&mut self, memo: crate::id::NodeId, scope: Value) -> Value {
        let table = self.memo_mut(memo);
        table.scope = Some(scope.clone());
        let families = table.families.iter().filter_map(|(key, entry)| match entry {
            MemoEntry::Family(family) => Some((key.clone(), *family)),
            MemoEntry::InProgress => None,
        });
        let mut families: Vec<(MemoKey, FamilyId)> = families.collect();
        families.sort();
        for (key, family) in families {
            self.tag_family(family, (&scope, &application_tag(&key)));
        }
        scope
    }

    /// Tags what stands in a family and in those below it, as if the tag had been in force when it was made.
    fn tag_family(&mut self, family: FamilyId, (scope, tag): (&Value, &Tag)) {
        debug_assert!(self.journal.is_empty(), "nothing is open");
        let mut families = vec![family];
        while let Some(family) = families.pop() {
            // A body that is a constant has no family.
            if family.is_none() {
                continue;
            }
            for k in 0..self.families[family.index()].nodes.len() {
                let id = self.families[family.index()].nodes[k];
                let node = &mut self.nodes[id.index()];
                if let Op::Structure(structure) = &node.op {
                    let Structure { kind, environment, tags } = &**structure;
                    let tags = tags.tagged(scope.clone(), tag.clone());
                    let is_request = matches!(kind, StructureKind::Request { .. });
                    let (kind, environment) = (kind.clone(), environment.clone());
                    node.op = Op::Structure(Arc::new(Structure { kind, environment, tags }));
                    families.extend((!is_request).then_some(node.expansion));
                } else if node.is_random() {
                    node.tags = node.tags.tagged(scope.clone(), tag.clone());
                    if node.choice_place != NOWHERE {
                        let place = (id, node.address);
                        self.scopes.enter_late(place, (scope, tag), &mut node.memberships);
                    }
                }
                self.note_edges(id);
            }
        }
        // What is kept about scaffolds knows whether they have tags.
        self.structure += 1;
    }
}
