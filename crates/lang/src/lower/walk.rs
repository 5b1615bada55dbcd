//! Over all of a core expression without recursion: the names it needs, its procedures, and its end. A tree may
//! be thousands of levels deep and is dropped wherever its last owner happens to be, with
//! whatever little stack is left there.

use std::sync::Arc;

use smidgen_value::{Symbol, Value};

use crate::core::{Expr, ExprKind, ExprRef};

/// The names an expression needs from the global environment, each once, in alphabetical order.
pub fn free_globals(expr: &Expr) -> Vec<Symbol> {
    let mut names = Vec::new();
    let mut pending = vec![expr];
    while let Some(expr) = pending.pop() {
        if let ExprKind::Global(name) = expr.kind {
            names.push(name);
        }
        push_parts(expr, &mut pending);
    }
    names.sort_by_key(|name| name.as_str());
    names.dedup();
    names
}

/// How many procedures an expression writes.
pub fn procedures(expr: &Expr) -> u64 {
    let mut count = 0;
    let mut pending = vec![expr];
    while let Some(expr) = pending.pop() {
        count += u64::from(matches!(expr.kind, ExprKind::Lambda(_)));
        push_parts(expr, &mut pending);
    }
    count
}

/// The scopes that an expression's `scope_include`s name. False if there may be others, which are computed.
pub fn written_scopes(expr: &Expr, into: &mut Vec<Value>) -> bool {
    let mut are_all = true;
    let mut pending = vec![expr];
    while let Some(expr) = pending.pop() {
        match &expr.kind {
            ExprKind::ScopeInclude { scope, .. } => match &scope.kind {
                ExprKind::Constant(id) if into.contains(id) => {}
                ExprKind::Constant(id) => into.push(id.clone()),
                _ => are_all = false,
            },
            ExprKind::Global(name) if name.as_str() == "eval" => are_all = false,
            _ => {}
        }
        push_parts(expr, &mut pending);
    }
    are_all
}

/// Whether an expression uses a name of the frame that many frames out from it.
pub fn uses_frame(expr: &Expr, out: u32) -> bool {
    let mut pending = vec![(expr, out)];
    while let Some((expr, out)) = pending.pop() {
        match &expr.kind {
            ExprKind::Local { depth, .. } | ExprKind::Cell { depth, .. } if *depth == out => {
                return true;
            }
            ExprKind::CurrentEnvironment(_) => return true,
            ExprKind::Lambda(lambda) => pending.push((&lambda.body, out + 1)),
            ExprKind::Let { value, body, .. } => {
                pending.extend([(&**value, out), (&**body, out + 1)]);
            }
            ExprKind::LetRec { values, body, .. } => {
                pending.extend(values.iter().chain([body]).map(|part| (&**part, out + 1)));
            }
            _ => {
                let mut parts = Vec::new();
                push_parts(expr, &mut parts);
                pending.extend(parts.into_iter().map(|part| (part, out)));
            }
        }
    }
    false
}

fn push_parts<'e>(expr: &'e Expr, pending: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::Constant(_)
        | ExprKind::Local { .. }
        | ExprKind::Global(_)
        | ExprKind::CurrentEnvironment(_)
        | ExprKind::Cell { .. } => {}
        ExprKind::Lambda(lambda) => pending.push(&lambda.body),
        ExprKind::If(condition, then, otherwise) => {
            pending.extend([&**condition, &**then, &**otherwise]);
        }
        ExprKind::Let { value, body, .. } => pending.extend([&**value, &**body]),
        ExprKind::LetRec { values, body, .. } => {
            pending.extend(values.iter().map(|value| &**value));
            pending.push(body);
        }
        ExprKind::Begin(exprs) => pending.extend(exprs.iter().map(|expr| &**expr)),
        ExprKind::Apply { operator, operands } => {
            pending.push(operator);
            pending.extend(operands.iter().map(|operand| &**operand));
        }
        ExprKind::ScopeInclude { scope, block, body } => {
            pending.extend([&**scope, &**block, &**body]);
        }
        ExprKind::ScopeExclude { scope, body } => pending.extend([&**scope, &**body]),
    }
}

impl Drop for Expr {
    fn drop(&mut self) {
        let mut pending = Vec::new();
        take_parts(&mut self.kind, &mut pending);
        while let Some(part) = pending.pop() {
            if let Some(mut expr) = Arc::into_inner(part) {
                take_parts(&mut expr.kind, &mut pending);
            }
        }
    }
}

/// Moves the parts of an expression to `pending`; one without parts stays as it is.
fn take_parts(kind: &mut ExprKind, pending: &mut Vec<ExprRef>) {
    if matches!(
        kind,
        ExprKind::Constant(_)
            | ExprKind::Local { .. }
            | ExprKind::Global(_)
            | ExprKind::CurrentEnvironment(_)
            | ExprKind::Cell { .. }
    ) {
        return;
    }
    match std::mem::replace(kind, ExprKind::Constant(Value::Nil)) {
        ExprKind::Lambda(lambda) => pending.extend(Arc::into_inner(lambda).map(|inner| inner.body)),
        ExprKind::If(condition, then, otherwise) => pending.extend([condition, then, otherwise]),
        ExprKind::Let { value, body, .. } => pending.extend([value, body]),
        ExprKind::LetRec { values, body, .. } => {
            pending.extend(values);
            pending.push(body);
        }
        ExprKind::Begin(exprs) => pending.extend(exprs),
        ExprKind::Apply { operator, operands } => {
            pending.push(operator);
            pending.extend(operands);
        }
        ExprKind::ScopeInclude { scope, block, body } => pending.extend([scope, block, body]),
        ExprKind::ScopeExclude { scope, body } => pending.extend([scope, body]),
        ExprKind::Constant(_)
        | ExprKind::Local { .. }
        | ExprKind::Global(_)
        | ExprKind::CurrentEnvironment(_)
        | ExprKind::Cell { .. } => unreachable!("an expression without parts stays as it is"),
    }
}
