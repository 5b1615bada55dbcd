//! `smidgen debug`: the trace of a program, or what a move of one block touches.

use smidgen::Session;
use smidgen::engine::{NodeId, Scaffold, Trace, debug as views};
use smidgen::infer::block::{Block, Scope, Target};
use smidgen::lang::syntax::{Directive, DirectiveKind};
use smidgen::value::Value;

use crate::args::{DebugArgs, Picture, View};
use crate::failure::Failure;
use crate::inputs::{self, Seed};
use crate::interrupt::Interrupt;
use crate::screen;

pub fn debug(args: &DebugArgs) -> Result<(), Failure> {
    let seed = Seed::new(&args.seed);
    let interrupt = Interrupt::listen(true);
    let mut session = inputs::session(&args.inputs, seed.value, interrupt.flag.clone())?;
    let mut program = inputs::parse(&mut session, &args.file)?;
    inputs::check_all_used(&session, &program)?;
    seed.show();
    program.retain_mut(|top| without_inference(&mut top.directive));
    for top in &program {
        let result = session.execute(top);
        if interrupt.is_set() {
            return Err(Failure::Interrupted);
        }
        result.map_err(|diagnostics| Failure::wrong(&session, diagnostics))?;
    }
    let block = args.block.as_deref();
    let picture = picture(&mut session, args.view, &args.scope, block, args.format)
        .map_err(Failure::message)?;
    match &args.out {
        Some(path) => std::fs::write(path, picture)
            .map_err(|error| Failure::message(format!("--out {}: {error}", path.display()))),
        None => Ok(screen::show(&picture)?),
    }
}

/// Takes `infer` out of loops. False if nothing is left.
fn without_inference(directive: &mut Directive) -> bool {
    match &mut directive.kind {
        DirectiveKind::Infer { .. } => false,
        DirectiveKind::For { body, .. } => {
            body.retain_mut(without_inference);
            !body.is_empty()
        }
        _ => true,
    }
}

/// A view of the trace of a session, or why there is none.
pub fn picture(
    session: &mut Session,
    view: View,
    scope: &str,
    block: Option<&str>,
    format: Picture,
) -> Result<String, String> {
    let model = session.model();
    if view == View::Trace {
        return Ok(match format {
            Picture::Text => views::trace_text(model),
            Picture::Dot => views::trace_dot(model),
        });
    }
    let principals = principals(model.trace_mut(), scope, block)?;
    let mut scaffold = Scaffold::new();
    scaffold.build(model.trace_mut(), &principals);
    Ok(match format {
        Picture::Text => views::scaffold_text(model, &scaffold),
        Picture::Dot => views::scaffold_dot(model, &scaffold),
    })
}

/// The choices of a block, or why there are none.
fn principals(trace: &Trace, scope: &str, block: Option<&str>) -> Result<Vec<NodeId>, String> {
    let scope = Scope::of(id(scope));
    let chosen = match (&scope, block) {
        (Scope::Default, None) => {
            trace.choices().first().map_or(&[][..], std::slice::from_ref).into()
        }
        (Scope::Default, Some("all")) => trace.choices().to_vec(),
        (Scope::Default, Some(number)) => return choice(trace, number).map(|id| vec![id]),
        (Scope::Named(name), Some("all")) => {
            let blocks = trace.scopes().number_of_blocks(name);
            (0..blocks).flat_map(|k| trace.scopes().block_at(name, k)).copied().collect()
        }
        (Scope::Named(name), Some(block)) => trace.scopes().block(name, &id(block)).to_vec(),
        (Scope::Named(name), None) => {
            let first = trace.scopes().ordered_blocks(name).into_iter().next();
            first.map_or_else(Vec::new, |first| trace.scopes().block(name, &first).to_vec())
        }
    };
    if chosen.is_empty() {
        let block = block.map_or(Block::One, |block| Block::Id(id(block)));
        return Err(Target { scope, block }.nothing(trace));
    }
    Ok(chosen)
}

/// A choice of scope `default` by its number.
fn choice(trace: &Trace, number: &str) -> Result<NodeId, String> {
    let choices = trace.choices();
    number.parse().ok().and_then(|k: usize| choices.get(k)).copied().ok_or_else(|| {
        format!(
            "a block of scope default is a number below {} (there are so many unconstrained \
             choices), or `all`",
            choices.len()
        )
    })
}

/// The id of a scope or block as it is typed: a number, a boolean, a string in quotes, else a
/// symbol.
fn id(text: &str) -> Value {
    match serde_json::from_str(text).map(|json| smidgen::io::json_to_value(&json)) {
        Ok(Ok(value)) => value,
        _ => Value::symbol(text.trim_start_matches('\'')),
    }
}
