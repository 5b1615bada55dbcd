//! Special forms and calls. Every form checks its shape and answers a wrong one with the right
//! one; the parts of a well-shaped form are read even when one of them is wrong, so that all
//! mistakes are found at once.

use std::sync::Arc;

use smidgen_value::{Column, Symbol, Value};

use super::missing::{Use, column_name};
use super::{Lowering, constant, make, unknown_column};
use crate::core::{ExprKind, ExprRef, Lambda};
use crate::diagnostic::{Diagnostic, closest};
use crate::forms::special_form;
use crate::source::Span;
use crate::syntax::{Syntax, SyntaxKind};

/// Holds the value of an operand of `or`. No program can name it: it contains a blank.
const OR_VALUE: &str = "value of or";

/// Names with their values, and the body.
type Bindings<'s> = (Vec<(Symbol, &'s Syntax)>, &'s [Syntax]);

impl Lowering<'_> {
    pub(super) fn list(&mut self, items: &[Syntax], span: Span, name: Option<Symbol>) -> ExprRef {
        let Some((head, args)) = items.split_first() else {
            let error = Diagnostic::error(span, "`()` is not an expression");
            return self.error(error.hint("the empty list is (list)"));
        };
        let operator = match head.kind {
            SyntaxKind::Name(operator) if !self.scope.binds(operator) => operator.as_str(),
            _ => "",
        };
        match operator {
            "lambda" => self.lambda(args, span, name),
            "if" => self.if_form(args, span),
            "let" => self.let_form(args, span),
            "letrec" => self.letrec(args, span),
            "cond" => self.cond(args, span),
            "and" => self.and(args, span),
            "or" => self.or(args, span),
            "begin" => match args {
                [] => self.wrong_shape("begin", args, span),
                _ => self.body(args),
            },
            "quote" => match args {
                [datum] => self.quoted(datum, span),
                _ => self.wrong_shape("quote", args, span),
            },
            "scope_include" => self.scope_include(args, span),
            "scope_exclude" => match args {
                [scope, body] => {
                    let (scope, body) = (self.expr(scope), self.expr(body));
                    make(ExprKind::ScopeExclude { scope, body }, span)
                }
                _ => self.wrong_shape("scope_exclude", args, span),
            },
            "get_current_environment" => match args {
                [] => make(ExprKind::CurrentEnvironment(self.scope.names()), span),
                _ => self.wrong_shape("get_current_environment", args, span),
            },
            "column" | "cell" | "rows" | "levels" => match self.table_form(operator, args, span) {
                Some(expr) => expr,
                None => self.call(head, args, span, None),
            },
            "is_missing" => self.is_missing(args, span),
            "only_if" => self.only_if(args, span),
            // A name for the memoised procedure is the name of the procedure.
            "mem" => self.call(head, args, span, name),
            _ => self.call(head, args, span, None),
        }
    }

    fn call(
        &mut self,
        operator: &Syntax,
        operands: &[Syntax],
        span: Span,
        name: Option<Symbol>,
    ) -> ExprRef {
        let operator = self.expr(operator);
        let operands = operands.iter().map(|operand| self.named(operand, name)).collect();
        make(ExprKind::Apply { operator, operands }, span)
    }

    /// Says how the form is written. A part too many or too few is told by the count.
    pub(super) fn wrong_shape(&mut self, form: &str, args: &[Syntax], span: Span) -> ExprRef {
        let shape = special_form(form).map_or("", |form| form.shape);
        let count = if args.len() == 1 { "1 part".into() } else { format!("{} parts", args.len()) };
        let message =
            format!("wrong shape of `{form}`: expected `{shape}`, found {count} after it");
        self.error(Diagnostic::error(span, message))
    }

    /// Says how the form is written, at the part that is wrong.
    pub(super) fn wrong_part(&mut self, form: &str, expected: &str, part: Span) -> ExprRef {
        let shape = special_form(form).map_or("", |form| form.shape);
        let message = format!("expected {expected} here: `{shape}`");
        self.error(Diagnostic::error(part, message))
    }

    /// One expression or several, the last of which gives the value. Not empty.
    fn body(&mut self, exprs: &[Syntax]) -> ExprRef {
        match exprs {
            [single] => self.expr(single),
            [first, .., last] => {
                let span = first.span.to(last.span);
                let exprs = exprs.iter().map(|expr| self.expr(expr)).collect();
                make(ExprKind::Begin(exprs), span)
            }
            [] => unreachable!("the shape of the form was checked"),
        }
    }

    fn lambda(&mut self, args: &[Syntax], span: Span, name: Option<Symbol>) -> ExprRef {
        let [params, body @ ..] = args else { return self.wrong_shape("lambda", args, span) };
        if body.is_empty() {
            return self.wrong_shape("lambda", args, span);
        }
        let SyntaxKind::List(params) = &params.kind else {
            return self.wrong_part(
                "lambda",
                "the names of the arguments in parentheses",
                params.span,
            );
        };
        let mut names = Vec::with_capacity(params.len());
        for param in params {
            match param.kind {
                SyntaxKind::Name(name) => {
                    if names.contains(&name) {
                        self.twice(name, param.span);
                    }
                    names.push(name);
                }
                _ => {
                    self.wrong_part("lambda", "a name", param.span);
                }
            }
        }
        let number = self.next_procedure;
        self.next_procedure += 1;
        self.scope.enter_procedure(names.as_slice().into());
        let body = self.body(body);
        self.scope.leave_procedure();
        make(ExprKind::Lambda(Arc::new(Lambda { params: names, body, name, number })), span)
    }

    fn twice(&mut self, name: Symbol, span: Span) {
        self.error(Diagnostic::error(span, format!("the name `{name}` is bound twice here")));
    }

    fn if_form(&mut self, args: &[Syntax], span: Span) -> ExprRef {
        let [condition, then, otherwise] = args else { return self.wrong_shape("if", args, span) };
        let (if_true, if_false) =
            (self.present_if(condition, true), self.present_if(condition, false));
        let condition = self.expr(condition);
        let then = self.where_present(if_true, |this| this.expr(then));
        let otherwise = self.where_present(if_false, |this| this.expr(otherwise));
        make(ExprKind::If(condition, then, otherwise), span)
    }

    /// The names and values of `let` and `letrec`, and the body.
    fn bindings<'s>(
        &mut self,
        form: &str,
        args: &'s [Syntax],
        span: Span,
    ) -> Result<Bindings<'s>, ExprRef> {
        let [bindings, body @ ..] = args else { return Err(self.wrong_shape(form, args, span)) };
        if body.is_empty() {
            return Err(self.wrong_shape(form, args, span));
        }
        let SyntaxKind::List(bindings) = &bindings.kind else {
            return Err(self.wrong_part(form, "a list of (name value)", bindings.span));
        };
        let mut pairs = Vec::with_capacity(bindings.len());
        let mut wrong = None;
        for binding in bindings {
            let parts = match &binding.kind {
                SyntaxKind::List(parts) => parts.as_slice(),
                _ => &[],
            };
            match parts {
                [Syntax { kind: SyntaxKind::Name(name), .. }, value] => pairs.push((*name, value)),
                _ => wrong = Some(self.wrong_part(form, "(name value)", binding.span)),
            }
        }
        wrong.map_or(Ok((pairs, body)), Err)
    }

    fn let_form(&mut self, args: &[Syntax], span: Span) -> ExprRef {
        let (bindings, body) = match self.bindings("let", args, span) {
            Ok(parts) => parts,
            Err(wrong) => return wrong,
        };
        let outer = self.depth;
        let mut values = Vec::with_capacity(bindings.len());
        for (i, (name, value)) in bindings.into_iter().enumerate() {
            self.depth = outer + i;
            values.push((name, self.named(value, Some(name))));
            self.scope.enter([name].into());
        }
        let body = self.body(body);
        self.depth = outer;
        self.scope.leave(values.len());
        values
            .into_iter()
            .rev()
            .fold(body, |body, (name, value)| make(ExprKind::Let { name, value, body }, span))
    }

    fn letrec(&mut self, args: &[Syntax], span: Span) -> ExprRef {
        let (bindings, body) = match self.bindings("letrec", args, span) {
            Ok(parts) => parts,
            Err(wrong) => return wrong,
        };
        let names: Vec<Symbol> = bindings.iter().map(|(name, _)| *name).collect();
        for (i, (name, value)) in bindings.iter().enumerate() {
            if names[..i].contains(name) {
                self.twice(*name, value.span);
            }
        }
        self.scope.enter_pending(names.as_slice().into());
        let values =
            bindings.into_iter().map(|(name, value)| self.named(value, Some(name))).collect();
        self.scope.leave(1);
        self.scope.enter(names.as_slice().into());
        let body = self.body(body);
        self.scope.leave(1);
        make(ExprKind::LetRec { names, values, body }, span)
    }

    fn cond(&mut self, clauses: &[Syntax], span: Span) -> ExprRef {
        let (outer, known) = (self.depth, self.present.len());
        let mut branches = Vec::with_capacity(clauses.len());
        let mut otherwise = None;
        for (i, clause) in clauses.iter().enumerate() {
            let parts = match &clause.kind {
                SyntaxKind::List(parts) => parts.as_slice(),
                _ => &[],
            };
            let [condition, body @ ..] = parts else {
                self.wrong_part("cond", "(condition value)", clause.span);
                continue;
            };
            if body.is_empty() {
                self.wrong_part("cond", "(condition value)", clause.span);
            } else if matches!(condition.kind, SyntaxKind::Name(name) if name.as_str() == "else") {
                if i + 1 < clauses.len() {
                    let message = "`else` is the last clause of `cond`, but more clauses follow";
                    self.error(Diagnostic::error(clause.span, message));
                }
                // It stands beside the value of the clause before.
                self.depth = outer + i.saturating_sub(1);
                otherwise = Some(self.body(body));
            } else {
                self.depth = outer + i;
                let (if_true, mut if_false) =
                    (self.present_if(condition, true), self.present_if(condition, false));
                let condition = self.expr(condition);
                let value = self.where_present(if_true, |this| this.body(body));
                branches.push((condition, value, clause.span));
                self.present.append(&mut if_false);
            }
        }
        self.present.truncate(known);
        self.depth = outer;
        let otherwise = otherwise.unwrap_or_else(|| {
            let message = "`cond` has no `else` clause";
            let hint = "add (else value): what it is when no condition is true";
            self.error(Diagnostic::error(span, message).hint(hint))
        });
        branches.into_iter().rev().fold(otherwise, |otherwise, (condition, then, clause)| {
            make(ExprKind::If(condition, then, otherwise), clause)
        })
    }

    /// `(and a b)` is `(if a b false)`.
    fn and(&mut self, args: &[Syntax], span: Span) -> ExprRef {
        let outer = self.depth;
        let mut operands = Vec::with_capacity(args.len());
        for (i, arg) in args.iter().enumerate() {
            // The last two stand in one `if`.
            self.depth = outer + i.min(args.len().saturating_sub(2));
            operands.push(self.expr(arg));
        }
        self.depth = outer;
        let Some(last) = operands.pop() else { return constant(true, span) };
        operands.into_iter().rev().fold(last, |rest, operand| {
            make(ExprKind::If(operand, rest, constant(false, span)), span)
        })
    }

    /// `(or a b)` is `(let ((t a)) (if t t b))` with a `t` that nothing else can name.
    fn or(&mut self, args: &[Syntax], span: Span) -> ExprRef {
        let Some((last, args)) = args.split_last() else { return constant(false, span) };
        let name = Symbol::new(OR_VALUE);
        let outer = self.depth;
        let mut operands = Vec::with_capacity(args.len());
        for arg in args {
            operands.push(self.expr(arg));
            self.scope.enter([name].into());
            self.depth += 2;
        }
        let last = self.expr(last);
        self.depth = outer;
        self.scope.leave(operands.len());
        operands.into_iter().rev().fold(last, |rest, value| {
            let held = || make(ExprKind::Local { depth: 0, slot: 0, name }, value.span);
            let body = make(ExprKind::If(held(), held(), rest), span);
            make(ExprKind::Let { name, value, body }, span)
        })
    }

    fn scope_include(&mut self, args: &[Syntax], span: Span) -> ExprRef {
        match args {
            [scope, block, body] => {
                let (scope, block) = (self.expr(scope), self.expr(block));
                make(ExprKind::ScopeInclude { scope, block, body: self.expr(body) }, span)
            }
            [_, _] => {
                let message = "wrong shape of `scope_include`: expected \
                               `(scope_include scope block e)`, found 2 parts after it";
                let hint = "if the scope has one block only, write 0 for the block";
                self.error(Diagnostic::error(span, message).hint(hint))
            }
            _ => self.wrong_shape("scope_include", args, span),
        }
    }

    /// `(column table x)`, `(cell table x i)`, `(rows table)` or `(levels table x)`; `None` if that is an ordinary call, because the
    /// program has a procedure of that name and the first operand is no table.
    fn table_form(&mut self, form: &str, args: &[Syntax], span: Span) -> Option<ExprRef> {
        let (name, place) = match args.first() {
            Some(Syntax { kind: SyntaxKind::Name(name), span }) if !self.scope.binds(*name) => {
                (*name, *span)
            }
            _ => return None,
        };
        let Some(table) = self.catalog.table(name) else {
            let known = self.catalog.known_names();
            if known.iter().any(|known| known == form) {
                return None;
            }
            let error = Diagnostic::error(place, format!("there is no table `{name}`"));
            let near = closest(name.as_str(), known.iter().map(String::as_str));
            let error = match near {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint(format!("load it before: [table {name} \"path\"]")),
            };
            return Some(self.error(error));
        };
        let (wanted, index) = match (form, args) {
            ("rows", [_]) => return Some(constant(table.rows() as f64, span)),
            ("column" | "levels", [_, wanted]) => (wanted, None),
            ("cell", [_, wanted, index]) => (wanted, Some(index)),
            _ => return Some(self.wrong_shape(form, args, span)),
        };
        let Some(column_name) = column_name(wanted) else {
            return Some(self.wrong_part(form, "the name of a column", wanted.span));
        };
        let Some(column) = table.column(column_name) else {
            return Some(self.error(unknown_column(&table, column_name, wanted.span)));
        };
        if let Some(missing) = table.missing(column_name) {
            let name = Symbol::new(&format!("{name}.{column_name}"));
            let used = Use { table: &table, column: column_name, missing, name, span };
            let index = index.map(|index| self.expr(index));
            let in_range = |index: &ExprRef| match &index.kind {
                ExprKind::Constant(number) => {
                    number.as_integer().is_some_and(|row| (0..column.len() as i64).contains(&row))
                }
                _ => true,
            };
            match index {
                None => return Some(self.column_of(&used, column)),
                Some(index) if in_range(&index) => {
                    return Some(self.cell_at(&used, column, index));
                }
                // The index is wrong, which is said below.
                Some(_) => {}
            }
        }
        Some(match index {
            None if form == "levels" => match column.levels() {
                Some(levels) => constant(levels, span),
                None => {
                    let message =
                        format!("`{column_name}` is a column of vectors: it has no levels");
                    self.error(Diagnostic::error(wanted.span, message))
                }
            },
            None => constant(column.to_value(), span),
            Some(index) => self.cell(column, wanted.span, index, span),
        })
    }

    fn cell(&mut self, column: &Column, place: Span, index: &Syntax, span: Span) -> ExprRef {
        let index = self.expr(index);
        let ExprKind::Constant(number) = &index.kind else {
            let operator = make(ExprKind::Global(Symbol::new("lookup")), span);
            let operands = vec![constant(column.to_value(), place), index];
            return make(ExprKind::Apply { operator, operands }, span);
        };
        let row = number.as_integer().and_then(|row| usize::try_from(row).ok());
        match row.filter(|row| *row < column.len()) {
            Some(row) => constant(column.cell(row), span),
            // A wrong index inside the index has been reported.
            None if matches!(number, Value::Nil) && !self.errors.is_empty() => index,
            None => {
                let rows = column.len();
                let message = format!(
                    "the index {} is out of range: the table has {rows} rows, counted from 0",
                    number.brief()
                );
                self.error(Diagnostic::error(index.span, message))
            }
        }
    }
}
