//! What inference programs take from the program that they stand in: values, names, scopes.

use smidgen_engine::environment::Environment;
use smidgen_engine::model::{Code, NoScope};
use smidgen_engine::tag::scope_of_name;
use smidgen_engine::{EvalError, Model};
use smidgen_infer::spec::Reader;
use smidgen_lang::core::ExprRef;
use smidgen_lang::lower::{self, Scope};
use smidgen_lang::syntax::Syntax;
use smidgen_lang::{Diagnostic, SourceMap, Span, printer};
use smidgen_value::{Rng, Symbol, Value};

use crate::catalog::Catalog;
use crate::execute::Mode;

pub(crate) struct KernelReader<'a> {
    pub catalog: &'a Catalog,
    pub sources: &'a SourceMap,
    pub scope: &'a Scope,
    pub environment: &'a Environment,
    pub model: &'a mut Model,
    pub rng: &'a mut Rng,
    pub mode: Mode,
}

fn first(mut diagnostics: Vec<Diagnostic>) -> Diagnostic {
    diagnostics.swap_remove(0)
}

impl Reader for KernelReader<'_> {
    fn value(&mut self, syntax: &Syntax) -> Result<Value, Diagnostic> {
        let expr = lower::lower(syntax, self.scope, self.catalog).map_err(first)?;
        let code = Code { expr: &expr, environment: self.environment };
        self.model.constant(code, self.rng).map_err(EvalError::into_diagnostic)
    }

    fn is_loop_variable(&self, name: Symbol) -> bool {
        self.scope.binds(name)
    }

    fn code(&mut self, syntax: &Syntax) -> Result<(String, ExprRef), Diagnostic> {
        let name = printer::squeeze(self.sources.text(syntax.span));
        let expr = lower::lower(syntax, self.scope, self.catalog).map_err(first)?;
        Ok((name, expr))
    }

    fn assumed_scope(&mut self, name: Symbol) -> Result<Option<Value>, String> {
        // The program's own scopes come first, also those that it computes.
        if self.model.scopes().number_of_blocks(&Value::Symbol(name)) > 0 {
            return Ok(None);
        }
        if self.mode == Mode::Check {
            return Ok(self.catalog.is_assumed(name).then(|| scope_of_name(name)));
        }
        match self.model.scope_of_name(name) {
            Ok(scope) => Ok(Some(scope)),
            Err(NoScope::Unbound) => Ok(None),
            Err(NoScope::PlainProcedure) => Err(format!(
                "`{name}` is a procedure without memory, whose choices belong to whoever calls it: \
                 memoise it by `mem`, or name what calls it"
            )),
        }
    }

    /// Where a program has no scope at all, a kernel for one moves nothing, with a warning; `check` calls it a mistake.
    fn scopes(&self) -> Option<&[Value]> {
        self.catalog.scopes().filter(|scopes| self.mode == Mode::Check || !scopes.is_empty())
    }

    fn text(&self, span: Span) -> String {
        printer::squeeze(self.sources.text(span))
    }
}
