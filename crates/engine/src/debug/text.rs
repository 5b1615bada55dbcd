//! Listings: one node per line.

use std::fmt::Write;

use super::{Part, Parts, SHOWN, View, counted};
use crate::id::NodeId;
use crate::model::Model;
use crate::trace::scaffold::Scaffold;

/// The nodes of a trace: number, name, computation, value; scopes and blocks; what made it exist.
pub fn trace_text(model: &mut Model) -> String {
    let mut view = View::new(model);
    let nodes: Vec<NodeId> = view.trace.live_nodes().collect();
    let observed = nodes.iter().filter(|id| view.trace.node(**id).constrained).count();
    let mut out = format!(
        "trace: {}, of which {} and {observed} observed\n",
        counted(nodes.len(), "node"),
        counted(view.trace.choices().len(), "choice"),
    );
    list(&mut view, &nodes, &mut out, |_| "");
    out
}

/// The sets D, T and A of a scaffold.
pub fn scaffold_text(model: &mut Model, scaffold: &Scaffold) -> String {
    let mut view = View::new(model);
    let parts = Parts::of(view.trace, scaffold);
    let principals: Vec<String> =
        (scaffold.principals.iter().take(SHOWN)).map(|id| view.reference(*id)).collect();
    let mut out = format!("scaffold of {}\n", principals.join(", "));
    for (part, nodes) in parts.sets() {
        let (letter, meaning) = match part {
            Part::Target => ("D", "target: these values change"),
            Part::Transient => ("T", "transient: these exist because of values in D"),
            Part::Absorbing => ("A", "absorbing: only the densities of these change"),
        };
        put(&mut out, format_args!("{letter}, {meaning}: {}\n", counted(nodes.len(), "node")));
        let is_principal = |id| part == Part::Target && parts.principals.contains(&id);
        list(&mut view, nodes, &mut out, |id| if is_principal(id) { "  principal" } else { "" });
    }
    out
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes any text");
}

fn list(
    view: &mut View<'_>,
    nodes: &[NodeId],
    out: &mut String,
    note: impl Fn(NodeId) -> &'static str,
) {
    for id in nodes.iter().take(SHOWN) {
        let label = view.label(*id);
        put(out, format_args!("  #{:<4} {label}{}", id.0, note(*id)));
        for (scope, block) in view.tags.get(id).into_iter().flatten() {
            put(out, format_args!("  [{scope} {block}]"));
        }
        exists_by(view, *id, out);
        out.push('\n');
    }
    if nodes.len() > SHOWN {
        put(out, format_args!("  ... and {} more\n", nodes.len() - SHOWN));
    }
}

/// The structures, or the memoised request, that a node exists by.
fn exists_by(view: &View<'_>, id: NodeId, out: &mut String) {
    /// Owners of a shared body that are named.
    const NAMED: usize = 3;
    let family = view.trace.node(id).family;
    if let Some(entry) = &view.trace.families[family.index()].memo {
        let key: Vec<String> = entry.1.iter().map(|value| value.brief()).collect();
        put(out, format_args!("  for {}({})", view.reference(entry.0), key.join(", ")));
    }
    let owners = view.owners_of(id);
    if owners.is_empty() {
        return;
    }
    let named: Vec<String> =
        owners.iter().take(NAMED).map(|owner| view.reference(*owner)).collect();
    put(out, format_args!("  exists by {}", named.join(", ")));
    if owners.len() > NAMED {
        put(out, format_args!(" and {} more", owners.len() - NAMED));
    }
}
