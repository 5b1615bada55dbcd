//! Procedures that call procedures or open environments.
//!
//! When the operands that decide which calls are made are constant (the procedure; the length of
//! the list), the calls are made in place and nothing depends on structure. A list that is the
//! result of `list` or `array` has a fixed length, so its elements are taken as they are even
//! when their values may change. Otherwise the application is a structure node.

use std::sync::{Arc, LazyLock};

use smallvec::SmallVec;
use smidgen_lang::lower::{self, Nothing, Scope};
use smidgen_prob::registry::{Builtin, HigherOrder};
use smidgen_prob::{Arity, Function, Spec, lookup};
use smidgen_value::{ArgumentError, Matrix, Symbol, Value};

use crate::environment::Environment;
use crate::error::EvalError;
use crate::operand::{Operand, Operands};
use crate::procedure::{NamedEnvironment, Procedure};
use crate::tag::Tags;
use crate::trace::Trace;
use crate::trace::eval::{Evaluation, Site};
use crate::trace::node::{MemoTable, Observed, Op, StructureKind};

fn function(name: &str) -> &'static Function {
    match lookup(Symbol::new(name)) {
        Some(Builtin::Function(function)) => function,
        _ => unreachable!("{name} is a built-in function"),
    }
}

static LIST: LazyLock<&'static Function> = LazyLock::new(|| function("list"));
static ARRAY: LazyLock<&'static Function> = LazyLock::new(|| function("array"));

/// Entries of the largest matrix that `build_matrix` makes.
const MOST_ENTRIES: usize = 20_000_000;

/// What `build_matrix` becomes once its entries are there: rows, columns, entries row by row.
static ASSEMBLE: Function = Function {
    spec: Spec {
        name: "build_matrix",
        aliases: &[],
        parameters: "n m entries ...",
        arity: Arity::at_least(2),
        summary: "A matrix from its entries",
        example: "(build_matrix 1 1 (lambda (i j) 0))",
    },
    apply: assemble_matrix,
};

/// What `filter` becomes where it can change which elements stay: the kind of the container, whether each stays, and all.
static SELECT: Function = Function {
    spec: Spec {
        name: "filter",
        aliases: &[],
        parameters: "kind stays ... x ...",
        arity: Arity::at_least(1),
        summary: "Those of some elements that stay",
        example: "(filter (lambda (x) (> x 0)) (list 1 2))",
    },
    apply: select_elements,
};

fn select_elements(args: &[&Value]) -> Result<Value, ArgumentError> {
    let (stays, items) = args[1..].split_at(args[1..].len() / 2);
    let mut kept = Vec::new();
    for (stays, item) in stays.iter().zip(items) {
        let truth = stays.truth().ok_or_else(|| ArgumentError::wrong_type(0, "a boolean", stays));
        kept.extend(truth?.then(|| (*item).clone()));
    }
    Ok(match args[0] {
        Value::Vector(_) => {
            let numbers = kept.iter().map(|x| x.as_number().expect("a vector holds numbers"));
            Value::vector(numbers.collect::<Vec<f64>>())
        }
        Value::Array(_) => Value::array(kept),
        _ => Value::list(kept),
    })
}

fn assemble_matrix(args: &[&Value]) -> Result<Value, ArgumentError> {
    let size = |i: usize| args[i].as_integer().expect("sizes were checked") as usize;
    let entries: Result<Vec<f64>, _> = args[2..]
        .iter()
        .map(|entry| {
            entry.as_number().ok_or_else(|| ArgumentError::wrong_type(2, "a number", entry))
        })
        .collect();
    Ok(Value::matrix(Matrix::new(size(0), size(1), entries?)))
}

impl Trace {
    pub(crate) fn apply_higher_order(
        &mut self,
        which: HigherOrder,
        operands: Operands,
        site: Site<'_>,
        cx: &mut Evaluation<'_>,
        want: Option<&Observed>,
    ) -> Result<Operand, EvalError> {
        let deciding: SmallVec<[usize; 2]> = (0..operands.len())
            .filter(|i| self.decides(which, *i) && operands[*i].constant().is_none())
            .filter(|i| {
                !(self.takes_elements(which, *i) && self.fixed_elements(&operands[*i]).is_some())
            })
            .collect();
        if !deciding.is_empty() {
            let arguments = deciding.iter().map(|i| operands[*i].clone()).collect();
            let kind = StructureKind::HigherOrder { which, operands, deciding };
            return self.structure(kind, &Environment::default(), arguments, site.span, cx, want);
        }
        match which {
            HigherOrder::Mem => self.memoise(&operands[0], site, cx),
            HigherOrder::Map | HigherOrder::MapVector => self.map(which, operands, site, cx),
            HigherOrder::Filter => self.filter(&operands, site, cx),
            HigherOrder::Fold => {
                let items = self.elements(&operands, 2, site, cx)?;
                let mut total = operands[1].clone();
                for item in items {
                    self.check_interrupt(site.span, cx)?;
                    let pair = SmallVec::from_iter([total, item]);
                    total = self.apply(operands[0].clone(), pair, Site::at(site.span), cx, None)?;
                }
                Ok(total)
            }
            HigherOrder::Apply => {
                let items = self.elements(&operands, 1, site, cx)?;
                self.apply(operands[0].clone(), items, Site::at(site.span), cx, want)
            }
            HigherOrder::BuildMatrix => self.build_matrix(operands, site, cx),
            HigherOrder::Eval => self.eval_value(&operands, site, cx, want),
            HigherOrder::ExtendEnvironment => self.extend_environment(operands, site, cx),
            HigherOrder::EmptyEnvironment => {
                let empty = NamedEnvironment {
                    environment: Environment::default(),
                    names: Vec::new(),
                    sees_program: false,
                };
                Ok(Operand::Constant(empty.into_value(self.next_creation())))
            }
        }
    }

    /// Whether operand `i` decides which calls are made.
    fn decides(&self, which: HigherOrder, i: usize) -> bool {
        match which {
            HigherOrder::Fold => i != 1,
            HigherOrder::ExtendEnvironment => i != 2,
            _ => true,
        }
    }

    fn takes_elements(&self, which: HigherOrder, i: usize) -> bool {
        match which {
            HigherOrder::Map
            | HigherOrder::MapVector
            | HigherOrder::Filter
            | HigherOrder::Apply => i >= 1,
            HigherOrder::Fold => i == 2,
            _ => false,
        }
    }

    /// The elements of a container whose length cannot change.
    fn fixed_elements(&self, operand: &Operand) -> Option<Operands> {
        match operand {
            Operand::Constant(value) => {
                Some(value.elements()?.into_iter().map(Operand::Constant).collect())
            }
            Operand::Node(id) => match &self.node(*id).op {
                Op::Function(f) if std::ptr::eq(*f, *LIST) || std::ptr::eq(*f, *ARRAY) => {
                    Some(self.node(*id).args.iter().map(|arg| arg.operand.clone()).collect())
                }
                _ => None,
            },
        }
    }

    fn elements(
        &mut self,
        operands: &Operands,
        i: usize,
        site: Site<'_>,
        cx: &Evaluation<'_>,
    ) -> Result<Operands, EvalError> {
        match self.fixed_elements(&operands[i]) {
            Some(elements) => Ok(elements),
            None => {
                let found = self.settled_value(&operands[i]);
                let error = ArgumentError::wrong_type(i, "a list or array", found);
                self.bad_argument("a procedure over a list", error, site, cx)
            }
        }
    }

    fn memoise(
        &mut self,
        target: &Operand,
        site: Site<'_>,
        cx: &mut Evaluation<'_>,
    ) -> Result<Operand, EvalError> {
        let target = self.settled_value(target).clone();
        if Procedure::of(&target).is_none() {
            let error = ArgumentError::wrong_type(0, "a procedure", &target);
            return self.bad_argument("mem", error, site, cx);
        }
        let table = MemoTable { target, scope: None, families: Default::default() };
        let place = (cx.family, Tags::default(), site.span);
        let id = self.add_node(Op::Memo(Box::new(table)), [], Value::Nil, place);
        Ok(Operand::Constant(Procedure::Memoised(id).into_value(self.next_creation())))
    }

    fn map(
        &mut self,
        which: HigherOrder,
        operands: Operands,
        site: Site<'_>,
        cx: &mut Evaluation<'_>,
    ) -> Result<Operand, EvalError> {
        let lists: Result<Vec<Operands>, _> =
            (1..operands.len()).map(|i| self.elements(&operands, i, site, cx)).collect();
        let lists = lists?;
        if lists.iter().any(|list| list.len() != lists[0].len()) {
            let error = ArgumentError::other("the lists differ in length (dimension)");
            return self.bad_argument("map", error, site, cx);
        }
        let mut results = Operands::new();
        for k in 0..lists[0].len() {
            self.check_interrupt(site.span, cx)?;
            let arguments = lists.iter().map(|list| list[k].clone()).collect();
            results.push(self.apply(
                operands[0].clone(),
                arguments,
                Site::at(site.span),
                cx,
                None,
            )?);
        }
        let collect = if which == HigherOrder::Map { *LIST } else { *ARRAY };
        self.apply_function(collect, results, Site::at(site.span), cx)
    }

    /// Where it is known which elements stay they are taken as they are, even if their values may change.
    fn filter(
        &mut self,
        operands: &Operands,
        site: Site<'_>,
        cx: &mut Evaluation<'_>,
    ) -> Result<Operand, EvalError> {
        let items = self.elements(operands, 1, site, cx)?;
        let mut stays = Operands::new();
        for item in &items {
            self.check_interrupt(site.span, cx)?;
            let argument = SmallVec::from_iter([item.clone()]);
            stays.push(self.apply(operands[0].clone(), argument, Site::at(site.span), cx, None)?);
        }
        let is_array =
            |id| matches!(&self.node(id).op, Op::Function(f) if std::ptr::eq(*f, *ARRAY));
        let kind = match &operands[1] {
            Operand::Constant(Value::Vector(_)) => Value::vector([]),
            Operand::Constant(Value::Array(_)) => Value::array(Vec::new()),
            Operand::Node(id) if is_array(*id) => Value::array(Vec::new()),
            _ => Value::Nil,
        };
        if stays.iter().any(|stays| stays.constant().is_none()) {
            let kind = Operand::Constant(kind);
            let all = [kind].into_iter().chain(stays).chain(items).collect();
            return self.apply_function(&SELECT, all, Site::at(site.span), cx);
        }
        let mut kept = Operands::new();
        for (stays, item) in stays.iter().zip(items) {
            if self.truth(self.settled_value(stays), site.span, cx)? {
                kept.push(item);
            }
        }
        let collect = match kind {
            Value::Vector(_) => function("vector"),
            Value::Array(_) => *ARRAY,
            _ => *LIST,
        };
        self.apply_function(collect, kept, Site::at(site.span), cx)
    }

    fn build_matrix(
        &mut self,
        operands: Operands,
        site: Site<'_>,
        cx: &mut Evaluation<'_>,
    ) -> Result<Operand, EvalError> {
        let mut sizes = [0usize; 2];
        for (i, size) in sizes.iter_mut().enumerate() {
            let value = self.settled_value(&operands[i]);
            match value.as_integer().filter(|n| (0..=100_000).contains(n)) {
                Some(n) => *size = n as usize,
                None => {
                    let error =
                        ArgumentError::domain(i, "a whole number of rows or columns", value);
                    return self.bad_argument("build_matrix", error, site, cx);
                }
            }
        }
        if sizes[0].saturating_mul(sizes[1]) > MOST_ENTRIES {
            let message = format!("a matrix of {} x {} is too large", sizes[0], sizes[1]);
            return self.bad_argument("build_matrix", ArgumentError::other(message), site, cx);
        }
        let mut entries: Operands = SmallVec::from_iter([operands[0].clone(), operands[1].clone()]);
        for i in 0..sizes[0] {
            for j in 0..sizes[1] {
                self.check_interrupt(site.span, cx)?;
                let place = [i, j].map(|k| Operand::Constant(Value::Number(k as f64)));
                let f = operands[2].clone();
                let entry =
                    self.apply(f, SmallVec::from_iter(place), Site::at(site.span), cx, None)?;
                entries.push(entry);
            }
        }
        self.apply_function(&ASSEMBLE, entries, Site::at(site.span), cx)
    }

    fn eval_value(
        &mut self,
        operands: &Operands,
        site: Site<'_>,
        cx: &mut Evaluation<'_>,
        want: Option<&Observed>,
    ) -> Result<Operand, EvalError> {
        let environment = self.settled_value(&operands[1]).clone();
        let Some(named) = NamedEnvironment::of(&environment) else {
            let error = ArgumentError::wrong_type(1, "an environment", &environment);
            return self.bad_argument("eval", error, site, cx);
        };
        let expression = self.settled_value(&operands[0]);
        let number = self.address_of_values(std::slice::from_ref(expression));
        // External parameters and tables belong to the text: `eval` sees none.
        let lowered = lower::syntax_of_value(expression, site.span)
            .map_err(|diagnostic| vec![diagnostic])
            .and_then(|syntax| {
                lower::lower(&syntax, &Scope::of_environment(&named.names), &Nothing(number))
            });
        let expr = match lowered {
            Ok(expr) => expr,
            Err(diagnostics) => {
                let said: Vec<String> = diagnostics.into_iter().map(|d| d.message).collect();
                return cx.fail(EvalError::other(site.span, format!("eval: {}", said.join("; "))));
            }
        };
        if !named.sees_program {
            for name in lower::free_globals(&expr) {
                if lookup(name).is_none() {
                    return cx.fail(self.unbound(name, site.span));
                }
            }
        }
        self.enter_call(cx, site.span)?;
        let result = self.eval(&expr, &named.environment, cx, want);
        cx.depth -= 1;
        result
    }

    fn extend_environment(
        &mut self,
        operands: Operands,
        site: Site<'_>,
        cx: &mut Evaluation<'_>,
    ) -> Result<Operand, EvalError> {
        let environment = self.settled_value(&operands[0]).clone();
        let Some(named) = NamedEnvironment::of(&environment) else {
            let error = ArgumentError::wrong_type(0, "an environment", &environment);
            return self.bad_argument("extend_environment", error, site, cx);
        };
        let Value::Symbol(name) = *self.settled_value(&operands[1]) else {
            let found = self.settled_value(&operands[1]);
            let error = ArgumentError::wrong_type(1, "a symbol", found);
            return self.bad_argument("extend_environment", error, site, cx);
        };
        let mut names: Vec<Arc<[Symbol]>> = vec![Arc::from([name])];
        names.extend(named.names.iter().cloned());
        let extended = NamedEnvironment {
            environment: named.environment.push([operands[2].clone()]),
            names,
            sees_program: named.sees_program,
        };
        Ok(Operand::Constant(extended.into_value(self.next_creation())))
    }
}
