//! What a kernel is: [`Kernel`] to who runs it, one [`KernelSpec`] in its own file to everybody else. The reading of
//! arguments is shared: scope and block, positional arguments, keyword
//! options, number of transitions.

use smidgen_engine::{EvalError, Trace};
use smidgen_lang::Diagnostic;
use smidgen_lang::Span;
use smidgen_lang::core::ExprRef;
use smidgen_lang::syntax::{Syntax, SyntaxKind};
use smidgen_value::bytes::Input;
use smidgen_value::{Rng, Symbol, Value};

use crate::block::{Block, Scope, Target};
use crate::explain::{Explanation, Look};
use crate::run::Log;

/// A Markov kernel on traces.
pub trait Kernel {
    /// One transition.
    fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError>;

    /// Writes what it has learnt, by addresses of choices, or says why that cannot be written. What is a function of the
    /// program and the state is made anew.
    fn save(&self, out: &mut Vec<u8>) -> Result<(), &'static str>;

    /// Takes back what a kernel of the same text has written; None if these are not such bytes.
    fn load(&mut self, from: &mut Input<'_>) -> Option<()>;

    /// Whether a transition needs no state that is possible to begin with, because what it draws
    /// does not depend on the one that is left.
    fn starts_anywhere(&self) -> bool {
        false
    }

    /// What it would do to the trace as it is now, which is left as it is. Who moves the whole
    /// scaffolds of a target's blocks finds the words in [`crate::explain::blocks`].
    fn explain(&mut self, _look: &mut Look<'_>) -> Result<Explanation, EvalError> {
        let notes = vec!["nothing more is known about this kernel".to_owned()];
        Ok(Explanation { notes, ..Explanation::default() })
    }
}

pub struct KernelSpec {
    pub name: &'static str,
    pub shape: &'static str,
    /// One sentence without a full stop.
    pub summary: &'static str,
    pub example: &'static str,
    /// Names of the arguments between the block and the options.
    pub positional: &'static [&'static str],
    /// Names of further ones that may be left out, all or none.
    pub optional: &'static [&'static str],
    pub options: &'static [&'static str],
    pub build: fn(&Arguments<'_>) -> Result<Box<dyn Kernel>, Diagnostic>,
}

/// Combinators and their shapes, for `help` and for messages.
pub static COMBINATORS: &[(&str, &str, &str)] = &[
    ("cycle", "(cycle (k1 k2 ...) n)", "The kernels one after the other, n times"),
    (
        "mixture",
        "(mixture (w1 k1 w2 k2 ...) n)",
        "n times one of the kernels, drawn with these weights",
    ),
    ("repeat", "(repeat n k)", "The kernel n times"),
    ("do", "(do k1 k2 ...)", "The kernels one after the other; (do) alone does nothing"),
    (
        "resample",
        "(resample particles)",
        "Sequential Monte Carlo: that many particles, resampled by the observations since the last time",
    ),
    ("collect", "(collect expr ...)", "Stores the current values of the expressions as a draw"),
];

/// What the reader of an inference program asks of the session.
pub trait Reader {
    /// The value of an expression without random choices.
    fn value(&mut self, syntax: &Syntax) -> Result<Value, Diagnostic>;
    /// Whether a name is the variable of a `for` around the directive.
    fn is_loop_variable(&self, name: Symbol) -> bool;
    /// An expression to be evaluated in the trace, with the name of its draws.
    fn code(&mut self, syntax: &Syntax) -> Result<(String, ExprRef), Diagnostic>;
    /// The scope of a name that the program has assumed, where no scope that it has written is called so. None if
    /// there is no such name; an error says why its choices cannot be named.
    fn assumed_scope(&mut self, _: Symbol) -> Result<Option<Value>, String> {
        Ok(None)
    }

    /// All scopes that the program can make; None if they are not known.
    fn scopes(&self) -> Option<&[Value]> {
        None
    }
    /// The text of a kernel, for reports.
    fn text(&self, span: Span) -> String;
}

/// More would hardly fit into memory.
const MOST_PARTICLES: i64 = 1_000_000;

pub struct Argument<'a> {
    pub syntax: &'a Syntax,
    pub value: Value,
}

pub struct Arguments<'a> {
    pub span: Span,
    pub target: Target,
    pub positional: Vec<Argument<'a>>,
    pub options: Vec<(&'a str, Argument<'a>)>,
}

impl<'a> Arguments<'a> {
    pub fn option(&self, name: &str) -> Option<&Argument<'a>> {
        self.options.iter().find(|(known, _)| *known == name).map(|(_, argument)| argument)
    }
}

impl Argument<'_> {
    pub fn error(&self, wanted: &str) -> Diagnostic {
        let message =
            format!("expected {wanted}, found {} {}", self.value.type_name(), self.value.brief());
        Diagnostic::error(self.syntax.span, message)
    }

    /// A number of particles of at least `least`.
    pub fn particles(&self, least: i64) -> Result<usize, Diagnostic> {
        let wanted =
            format!("a number of particles (a whole number from {least} to {MOST_PARTICLES})");
        let count = self.value.as_integer().filter(|n| (least..=MOST_PARTICLES).contains(n));
        count.map(|n| n as usize).ok_or_else(|| self.error(&wanted))
    }
}

/// A whole number from 0 on.
pub fn read_count(syntax: &Syntax, reader: &mut dyn Reader) -> Result<u64, Diagnostic> {
    let value = reader.value(syntax)?;
    let count = value.as_integer().and_then(|n| u64::try_from(n).ok());
    count.ok_or_else(|| {
        let argument = Argument { syntax, value };
        argument.error("a number of transitions (a whole number, 0 or more)")
    })
}

/// The value of an argument that the kernel is to choose itself.
pub const AUTO: &str = "auto";

/// Reads `(name scope block positional... 'option value... n)`.
pub fn read_kernel(
    spec: &'static KernelSpec,
    items: &[Syntax],
    span: Span,
    reader: &mut dyn Reader,
) -> Result<(Box<dyn Kernel>, u64), Diagnostic> {
    let least = 3 + spec.positional.len();
    let wrong_count = || {
        let or_more = match spec.optional.len() {
            0 => String::new(),
            optional => format!(" or {}", least + optional),
        };
        let found = items.len() - 1;
        let more = if spec.options.is_empty() { "" } else { " (more with options)" };
        let message =
            format!("{} takes {least}{or_more} arguments{more}, found {found}", spec.name);
        Diagnostic::error(span, message).hint(format!("its shape is {}", spec.shape))
    };
    if items.len() <= least {
        return Err(wrong_count());
    }
    // Up to the first option, or to the number of transitions.
    let plain = items[least..].iter().take_while(|item| quoted_name(item).is_none()).count();
    let to_n = usize::from(least + plain == items.len());
    let fixed = match plain - to_n {
        0 => least,
        given if given == spec.optional.len() => least + given,
        _ => return Err(wrong_count()),
    };
    let target = read_target(spec.name, &items[1], &items[2], reader)?;
    let mut positional = Vec::new();
    for syntax in &items[3..fixed] {
        // `auto` stands for itself, quoted or not.
        let value = match &syntax.kind {
            SyntaxKind::Name(name) if name.as_str() == AUTO => Value::Symbol(*name),
            _ => reader.value(syntax)?,
        };
        positional.push(Argument { syntax, value });
    }
    let (n, pairs) = items[fixed..].split_last().expect("there is at least one more");
    let mut options: Vec<(&str, Argument<'_>)> = Vec::new();
    for pair in pairs.chunks(2) {
        let [keyword, syntax] = pair else { return Err(wrong_count()) };
        let Some(name) = quoted_name(keyword) else { return Err(wrong_count()) };
        if !spec.options.contains(&name.as_str()) {
            let known: Vec<String> = spec.options.iter().map(|o| format!("'{o}")).collect();
            let message = format!("unknown option '{name} of {}", spec.name);
            let hint = match known.is_empty() {
                true => format!("{} has no options", spec.name),
                false => format!("known options: {}", known.join(" ")),
            };
            return Err(Diagnostic::error(keyword.span, message).hint(hint));
        }
        if options.iter().any(|(known, _)| *known == name.as_str()) {
            return Err(Diagnostic::error(keyword.span, format!("'{name} is given twice")));
        }
        options.push((name.as_str(), Argument { syntax, value: reader.value(syntax)? }));
    }
    let n = read_count(n, reader)?;
    let kernel = (spec.build)(&Arguments { span, target, positional, options })?;
    Ok((kernel, n))
}

/// `(resample particles)`: how many.
pub fn read_resample(syntax: &Syntax, reader: &mut dyn Reader) -> Result<usize, Diagnostic> {
    match &syntax.kind {
        SyntaxKind::List(items) if items.len() == 2 => {
            let argument = Argument { syntax: &items[1], value: reader.value(&items[1])? };
            argument.particles(1)
        }
        _ => Err(Diagnostic::error(syntax.span, "resample takes 1 argument")
            .hint("its shape is (resample particles)")),
    }
}

fn quoted_name(syntax: &Syntax) -> Option<Symbol> {
    match &syntax.kind {
        SyntaxKind::Quote(inner) => match inner.kind {
            SyntaxKind::Name(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// A name stands for itself, quoted or not, unless a loop binds it.
fn read_id(syntax: &Syntax, reader: &mut dyn Reader) -> Result<Value, Diagnostic> {
    match &syntax.kind {
        SyntaxKind::Name(name) if !reader.is_loop_variable(*name) => Ok(Value::Symbol(*name)),
        _ => reader.value(syntax),
    }
}

/// A scope that the program can have.
fn read_scope(syntax: &Syntax, reader: &mut dyn Reader) -> Result<Scope, Diagnostic> {
    const TAG: &str = "an assumed name is a scope, of the choices made for it; others are made by (scope_include 'scope block expr); default is that of all choices";
    let id = read_id(syntax, reader).map_err(|error| match &syntax.kind {
        SyntaxKind::List(_) => {
            let message = "a scope is one name, number or string, not a list";
            Diagnostic::error(syntax.span, message).hint(TAG)
        }
        _ => error,
    })?;
    let scope = Scope::of(id);
    let Scope::Named(id) = &scope else { return Ok(scope) };
    if reader.scopes().is_some_and(|known| known.contains(id)) {
        return Ok(scope);
    }
    if let Value::Symbol(name) = id {
        let of_name = reader.assumed_scope(*name);
        if let Some(id) = of_name.map_err(|message| Diagnostic::error(syntax.span, message))? {
            return Ok(Scope::Named(id));
        }
    }
    let Some(known) = reader.scopes() else { return Ok(scope) };
    let known: Vec<String> = known.iter().map(Value::to_string).collect();
    let error = Diagnostic::error(syntax.span, format!("no scope of the program is called {id}"));
    let error = match smidgen_lang::diagnostic::closest(
        &id.to_string(),
        known.iter().map(String::as_str),
    ) {
        Some(close) => error.hint(format!("did you mean {close}?")),
        None if known.is_empty() => error,
        None => error.hint(format!("its scopes are {}", known.join(", "))),
    };
    Err(error.hint(TAG))
}

fn read_target(
    kernel: &str,
    scope: &Syntax,
    block: &Syntax,
    reader: &mut dyn Reader,
) -> Result<Target, Diagnostic> {
    let scope = read_scope(scope, reader)?;
    let block_value = match &block.kind {
        SyntaxKind::List(items) if is_head(items, "ordered_range") => {
            let [_, low, high] = items.as_slice() else {
                return Err(Diagnostic::error(block.span, "ordered_range takes 2 arguments")
                    .hint("its shape is (ordered_range low high), both ends included"));
            };
            let (low, high) = (reader.value(low)?, reader.value(high)?);
            if low > high {
                let message = format!(
                    "the range from {low} to {high} is empty: its low end is above its high end"
                );
                return Err(Diagnostic::error(block.span, message)
                    .hint(format!("did you mean (ordered_range {high} {low})? Blocks are always moved in ascending order")));
            }
            Block::Range { low, high }
        }
        SyntaxKind::Name(name) if !reader.is_loop_variable(*name) => match name.as_str() {
            "one" => Block::One,
            "all" => Block::All,
            "each" | "ordered" => Block::Each,
            _ => Block::Id(Value::Symbol(*name)),
        },
        _ => Block::Id(reader.value(block)?),
    };
    if scope == Scope::Default && matches!(block_value, Block::Id(_) | Block::Range { .. }) {
        let message = format!(
            "scope `default` has no named blocks: {kernel} default takes the block one, all or each"
        );
        return Err(Diagnostic::error(block.span, message)
            .hint("tag choices with (scope_include scope block expr) to name them"));
    }
    Ok(Target { scope, block: block_value })
}

pub fn is_head(items: &[Syntax], name: &str) -> bool {
    matches!(items.first(), Some(Syntax { kind: SyntaxKind::Name(head), .. }) if head.as_str() == name)
}
