//! Graphs in the language of Graphviz: solid edges are statistical, dashed edges existential.

use std::fmt::Write;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Part, Parts, SHOWN, View};
use crate::id::NodeId;
use crate::model::Model;
use crate::trace::node::Op;
use crate::trace::scaffold::Scaffold;

impl Part {
    fn colour(self) -> &'static str {
        match self {
            Part::Target => "#9ecae1",
            Part::Transient => "#fdbe85",
            Part::Absorbing => "#a1d99b",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Part::Target => "D: target",
            Part::Transient => "T: transient",
            Part::Absorbing => "A: absorbing",
        }
    }
}

/// The graph of a trace.
pub fn trace_dot(model: &mut Model) -> String {
    let mut view = View::new(model);
    let mut shown: Vec<NodeId> = view.trace.live_nodes().collect();
    let all = shown.len();
    shown.truncate(SHOWN);
    let note = (all > SHOWN).then(|| format!("the first {SHOWN} of {all} nodes"));
    draw(&mut view, &shown, None, note)
}

/// The graph of a trace with a scaffold in colours: D blue, T orange, A green, principals with a
/// double border. Of a large trace only the scaffold and its parents are shown.
pub fn scaffold_dot(model: &mut Model, scaffold: &Scaffold) -> String {
    let mut view = View::new(model);
    let parts = Parts::of(view.trace, scaffold);
    let all: Vec<NodeId> = view.trace.live_nodes().collect();
    if all.len() <= SHOWN {
        return draw(&mut view, &all, Some(&parts), None);
    }
    let mut near: Vec<NodeId> =
        parts.sets().iter().flat_map(|(_, nodes)| nodes.iter().copied()).collect();
    let size = near.len();
    for k in 0..size {
        near.extend(statistical(&view, near[k]));
    }
    let mut seen = FxHashSet::default();
    near.retain(|id| seen.insert(*id));
    near.truncate(SHOWN);
    let note = format!(
        "the scaffold ({size} nodes) and its parents: {} of {} nodes",
        near.len(),
        all.len()
    );
    draw(&mut view, &near, Some(&parts), Some(note))
}

/// What the value of a node depends on, each once: its arguments, and for a draw its maker.
fn statistical(view: &View<'_>, id: NodeId) -> Vec<NodeId> {
    let node = view.trace.node(id);
    let mut found: Vec<NodeId> = node.args.iter().filter_map(|arg| arg.operand.node()).collect();
    if let Op::Draw(maker) = node.op {
        found.push(maker);
    }
    once(found)
}

fn once(mut ids: Vec<NodeId>) -> Vec<NodeId> {
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes any text");
}

fn draw(
    view: &mut View<'_>,
    nodes: &[NodeId],
    parts: Option<&Parts>,
    note: Option<String>,
) -> String {
    let shown: FxHashSet<NodeId> = nodes.iter().copied().collect();
    let mut part_of: FxHashMap<NodeId, Part> = FxHashMap::default();
    for (part, ids) in parts.iter().flat_map(|parts| parts.sets()) {
        part_of.extend(ids.iter().map(|id| (*id, part)));
    }
    let name = if parts.is_some() { "scaffold" } else { "trace" };
    let mut out =
        format!("digraph {name} {{\n  node [shape=ellipse, style=filled, fillcolor=white];\n");
    if let Some(note) = note {
        put(&mut out, format_args!("  label={};\n", quoted(&note)));
    }
    for id in once(nodes.to_vec()) {
        let mut label = view.label(id);
        if !view.names.contains_key(&id) {
            label = format!("#{} {label}", id.0);
        }
        put(&mut out, format_args!("  n{} [label={}", id.0, quoted(&label)));
        if let Some(part) = part_of.get(&id) {
            put(&mut out, format_args!(", fillcolor=\"{}\"", part.colour()));
        }
        if view.trace.node(id).constrained {
            out += ", shape=box";
        }
        if parts.is_some_and(|parts| parts.principals.contains(&id)) {
            out += ", peripheries=2";
        }
        out += "];\n";
    }
    for id in once(nodes.to_vec()) {
        for parent in statistical(view, id).into_iter().filter(|parent| shown.contains(parent)) {
            put(&mut out, format_args!("  n{} -> n{};\n", parent.0, id.0));
        }
        for parent in once(view.deciding(id)).into_iter().filter(|parent| shown.contains(parent)) {
            put(&mut out, format_args!("  n{} -> n{} [style=dashed];\n", parent.0, id.0));
        }
    }
    legend(parts.is_some(), &mut out);
    out += "}\n";
    out
}

fn legend(with_parts: bool, out: &mut String) {
    *out += "  subgraph cluster_legend {\n    label=\"legend\";\n    color=grey;\n";
    if with_parts {
        for (k, part) in [Part::Target, Part::Transient, Part::Absorbing].into_iter().enumerate() {
            let (meaning, colour) = (part.meaning(), part.colour());
            put(
                out,
                format_args!("    legend{k} [label=\"{meaning}\", fillcolor=\"{colour}\"];\n"),
            );
        }
        *out += "    legend3 [label=\"principal\", peripheries=2];\n";
    }
    *out += "    legend4 [label=\"observed\", shape=box];\n";
    *out += "    legend5 [shape=point];\n    legend6 [shape=point];\n    legend7 [shape=point];\n";
    *out += "    legend5 -> legend6 [label=\"statistical\"];\n";
    *out += "    legend6 -> legend7 [label=\"existential\", style=dashed];\n  }\n";
}

/// A string of the language.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
