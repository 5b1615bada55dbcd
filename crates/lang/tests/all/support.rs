//! Short words for what the tests do over and over.

use std::collections::HashMap;
use std::sync::Arc;

use smidgen_lang::core::{Expr, ExprKind, ExprRef};
use smidgen_lang::lower::{Catalog, Scope, lower};
use smidgen_lang::parser::{parse, parse_expression};
use smidgen_lang::syntax::{Directive, Syntax};
use smidgen_lang::{Diagnostic, SourceId};
use smidgen_value::{Column, Symbol, Table, Value};

pub const SOURCE: SourceId = SourceId(0);

/// The directives of a text without errors.
pub fn program(text: &str) -> Vec<Directive> {
    let parsed = parse(SOURCE, text);
    assert!(parsed.diagnostics.is_empty(), "{text}: {:#?}", parsed.diagnostics);
    parsed.directives
}

pub fn expression(text: &str) -> Syntax {
    parse_expression(SOURCE, text).unwrap_or_else(|errors| panic!("{text}: {errors:#?}"))
}

/// Errors as "marked text: message", in order.
pub fn shown(text: &str, errors: &[Diagnostic]) -> Vec<String> {
    errors
        .iter()
        .map(|error| {
            let span = error.span.expect("every error has a place");
            let marked = &text[span.start as usize..span.end as usize];
            format!("{marked}: {}", error.message)
        })
        .collect()
}

#[derive(Default)]
pub struct World {
    pub parameters: HashMap<&'static str, Value>,
    pub constants: HashMap<&'static str, Value>,
    pub tables: HashMap<&'static str, Arc<Table>>,
    pub known: Vec<String>,
}

impl Catalog for World {
    fn parameter(&self, name: Symbol) -> Option<Value> {
        self.parameters.get(name.as_str()).cloned()
    }

    fn constant(&self, name: Symbol) -> Option<Value> {
        self.constants.get(name.as_str()).cloned()
    }

    fn table(&self, name: Symbol) -> Option<Arc<Table>> {
        self.tables.get(name.as_str()).cloned()
    }

    fn known_names(&self) -> Vec<String> {
        self.known.clone()
    }
}

pub fn points() -> Arc<Table> {
    Arc::new(Table::new(vec![
        (Symbol::new("x"), Column::Reals([1.5, 2.5, 3.5].into())),
        (Symbol::new("height"), Column::Reals([10.0, 20.0, 30.0].into())),
        (
            Symbol::new("v"),
            Column::Vectors { data: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].into(), width: 2 },
        ),
    ]))
}

/// A world with the table `points`, the parameter `n` = 7 and the constant `k` = 5.
pub fn world() -> World {
    World {
        parameters: [("n", Value::Number(7.0))].into(),
        constants: [("k", Value::Number(5.0))].into(),
        tables: [("points", points())].into(),
        known: vec!["points".to_owned(), "normal".to_owned()],
    }
}

pub fn lowered_in(text: &str, scope: &Scope) -> Result<ExprRef, Vec<Diagnostic>> {
    lower(&expression(text), scope, &world())
}

/// The core expression of a text in the global scope, in words.
pub fn core(text: &str) -> String {
    let expr = lowered_in(text, &Scope::global());
    show(&expr.unwrap_or_else(|errors| panic!("{text}: {errors:#?}")))
}

/// The errors of lowering a text in the global scope.
pub fn lowering_errors(text: &str) -> Vec<String> {
    let errors = lowered_in(text, &Scope::global()).expect_err("an error");
    shown(text, &errors)
}

/// Core in words: locals as `name@depth.slot`.
pub fn show(expr: &Expr) -> String {
    let all = |exprs: &[ExprRef]| exprs.iter().map(|e| format!(" {}", show(e))).collect::<String>();
    match &expr.kind {
        ExprKind::Constant(value) => value.to_string(),
        ExprKind::Local { depth, slot, name } => format!("{name}@{depth}.{slot}"),
        ExprKind::Global(name) => name.to_string(),
        ExprKind::Lambda(lambda) => {
            let name = lambda.name.map_or(String::new(), |name| format!(":{name}"));
            let params: Vec<_> = lambda.params.iter().map(|name| name.as_str()).collect();
            format!("(lambda{name} ({}) {})", params.join(" "), show(&lambda.body))
        }
        ExprKind::If(a, b, c) => format!("(if {} {} {})", show(a), show(b), show(c)),
        ExprKind::Let { name, value, body } => {
            format!("(let {name} {} {})", show(value), show(body))
        }
        ExprKind::LetRec { names, values, body } => {
            let names: Vec<_> = names.iter().map(|name| name.as_str()).collect();
            format!("(letrec ({}){} {})", names.join(" "), all(values), show(body))
        }
        ExprKind::Begin(exprs) => format!("(begin{})", all(exprs)),
        ExprKind::Apply { operator, operands } => format!("({}{})", show(operator), all(operands)),
        ExprKind::ScopeInclude { scope, block, body } => {
            format!("(include {} {} {})", show(scope), show(block), show(body))
        }
        ExprKind::ScopeExclude { scope, body } => {
            format!("(exclude {} {})", show(scope), show(body))
        }
        ExprKind::CurrentEnvironment(frames) => format!("(environment {frames:?})"),
        ExprKind::Cell { depth, slot, name, .. } => format!("(cell {name}@{depth}.{slot})"),
    }
}
