//! What stands in square brackets, as a directive: its head is looked up, its parts are checked
//! against the directive's shape, and a mistake is answered with that shape.

use smidgen_value::Symbol;

use super::{Item, Reader};
use crate::diagnostic::{Diagnostic, closest};
use crate::forms::{self, DIRECTIVES};
use crate::source::Span;
use crate::syntax::{Directive, DirectiveKind, ForSource, Named, Syntax, SyntaxKind};

/// Why a directive was left out; `None` if the reason has been reported.
type Shaped<T> = Result<T, Option<Diagnostic>>;

impl Reader<'_> {
    /// The directive with these items, or `None` after an error. `broken`: a bracket inside was
    /// not closed, so that a wrong shape is no news.
    pub(super) fn directive(
        &mut self,
        items: Vec<Item>,
        span: Span,
        broken: bool,
    ) -> Option<DirectiveKind> {
        let shaped = self.shaped(items, span);
        match shaped {
            Ok(kind) => Some(kind),
            Err(reason) => {
                if let Some(error) = reason.filter(|_| !broken) {
                    self.error(error);
                }
                None
            }
        }
    }

    fn shaped(&mut self, items: Vec<Item>, span: Span) -> Shaped<DirectiveKind> {
        let head = match items.first() {
            None => {
                let error = Diagnostic::error(span, "expected a directive in `[ ]`, found nothing");
                return Err(Some(error.hint(all_directives())));
            }
            Some(Item::Syntax(Syntax { kind: SyntaxKind::Error, .. })) => return Err(None),
            Some(item) => match item.name() {
                Some(name) => Named { name, span: item.span() },
                None => {
                    let message = "expected the name of a directive after `[`";
                    let error = Diagnostic::error(item.span(), message);
                    return Err(Some(error.hint(all_directives())));
                }
            },
        };
        let Some(form) = forms::directive(head.name.as_str()) else {
            return Err(Some(unknown_directive(&head)));
        };
        if form.name == "for" {
            return self.for_directive(items, span);
        }
        let mut parts = self.syntaxes(items);
        if parts.iter().any(|part| part.kind == SyntaxKind::Error) {
            return Err(None);
        }
        parts.remove(0);
        let parts = Parts { name: form.name, shape: form.shape, span, parts };
        Ok(match form.name {
            "assume" => {
                let [name, expr] = parts.exactly()?;
                DirectiveKind::Assume { name: new_name(&name, form.shape)?, expr }
            }
            "let" => {
                let [name, expr] = parts.exactly()?;
                DirectiveKind::Let { name: new_name(&name, form.shape)?, expr }
            }
            "define" => {
                let [name, value] = parts.exactly()?;
                DirectiveKind::Define { name: new_name(&name, form.shape)?, value }
            }
            "observe" => {
                let [expr, value] = parts.exactly()?;
                DirectiveKind::Observe { expr, value }
            }
            "factor" => {
                // A weight is the density of an outcome that is always the same.
                let [weight] = parts.exactly()?;
                let law =
                    Syntax { kind: SyntaxKind::Name(Symbol::new(forms::FACTOR)), span: head.span };
                let expr = Syntax { span, kind: SyntaxKind::List(vec![law, weight]) };
                let value = Syntax { span, kind: SyntaxKind::Bool(true) };
                DirectiveKind::Observe { expr, value }
            }
            "force" => {
                let [expr, value] = parts.exactly()?;
                DirectiveKind::Force { expr, value }
            }
            "predict" => {
                let [expr] = parts.exactly()?;
                DirectiveKind::Predict { expr }
            }
            "infer" => {
                let [kernel] = parts.exactly()?;
                DirectiveKind::Infer { kernel }
            }
            "sample" => {
                let [expr] = parts.exactly()?;
                DirectiveKind::Sample { expr }
            }
            "report" => DirectiveKind::Report { label: parts.label()? },
            "forget" => DirectiveKind::Forget { label: parts.label()? },
            "freeze" => DirectiveKind::Freeze { label: parts.label()? },
            "clear" => parts.exactly::<0>().map(|_| DirectiveKind::Clear)?,
            "log_joint" => parts.exactly::<0>().map(|_| DirectiveKind::LogJoint)?,
            "log_likelihood" => parts.exactly::<0>().map(|_| DirectiveKind::LogLikelihood)?,
            "table" => parts.table()?,
            "impute" => {
                let [cell, law] = parts.exactly()?;
                let cell = name(&cell, form.shape)?;
                if !cell.name.as_str().contains('.') {
                    return Err(wrong(cell.span, "a column as in table.column", form.shape));
                }
                DirectiveKind::Impute { cell, law }
            }
            "load" => {
                let [path] = parts.exactly()?;
                DirectiveKind::Load { path: text(&path, form.shape)? }
            }
            other => unreachable!("`{other}` is in the table of directives"),
        })
    }

    /// `[for name in source directive...]`
    fn for_directive(&mut self, items: Vec<Item>, span: Span) -> Shaped<DirectiveKind> {
        const SHAPES: &str =
            "`[for row in table directive ...]` or `[for n in (range a b) directive ...]`";
        let mut items = items.into_iter().skip(1);
        let mut next = |what: &str| match items.next() {
            Some(Item::Syntax(syntax)) if syntax.kind == SyntaxKind::Error => Err(None),
            Some(Item::Syntax(syntax)) => Ok(syntax),
            other => {
                let place = other.map_or(span, |item| item.span());
                let message = format!("expected {what} in `for`: {SHAPES}");
                Err(Some(Diagnostic::error(place, message)))
            }
        };
        let variable = next("a name")?;
        let variable = name(&variable, SHAPES)?;
        let word = next("`in`")?;
        if !matches!(&word.kind, SyntaxKind::Name(name) if name.as_str() == "in") {
            let message = format!("expected `in` here: {SHAPES}");
            return Err(Some(Diagnostic::error(word.span, message)));
        }
        let source = next("a table or a range")?;
        let source = match source.kind {
            SyntaxKind::Name(name) => ForSource::Table(Named { name, span: source.span }),
            SyntaxKind::List(parts) => range(parts, source.span)?,
            _ => {
                let message = format!("expected a table or a range here: {SHAPES}");
                return Err(Some(Diagnostic::error(source.span, message)));
            }
        };
        let body = self.only_directives(items.collect());
        Ok(DirectiveKind::For { variable, source, body })
    }

    /// The items as directives; whatever is none is reported, one error for a run of it.
    pub(super) fn only_directives(&mut self, items: Vec<Item>) -> Vec<Directive> {
        let mut directives = Vec::new();
        let mut run: Vec<Item> = Vec::new();
        for item in items {
            match item {
                Item::Directive(directive) => {
                    self.outside(std::mem::take(&mut run));
                    directives.push(directive);
                }
                other => run.push(other),
            }
        }
        self.outside(run);
        directives
    }

    /// Reports what stands where only directives do.
    fn outside(&mut self, run: Vec<Item>) {
        let unread =
            |item: &Item| matches!(item, Item::Syntax(Syntax { kind: SyntaxKind::Error, .. }));
        if run.iter().all(unread) {
            return;
        }
        let span = run[0].span().to(run[run.len() - 1].span());
        let error = match run.as_slice() {
            [Item::Syntax(label), Item::Colon(_)]
                if matches!(label.kind, SyntaxKind::Name(_) | SyntaxKind::Text(_)) =>
            {
                let message = format!("the label {} has no directive", self.text_of(label.span));
                Diagnostic::error(span, message)
                    .hint("a label stands before a directive: name: [predict x]")
            }
            [Item::Syntax(Syntax { kind: SyntaxKind::List(parts), .. }), ..]
                if directive_head(parts.first()).is_some() =>
            {
                let form = directive_head(parts.first()).expect("checked in the guard");
                let message = "a directive stands in square brackets, not in parentheses";
                Diagnostic::error(span, message).hint(format!("write {}", form.shape))
            }
            [Item::Syntax(first), ..] if directive_head(Some(first)).is_some() => {
                let form = directive_head(Some(first)).expect("checked in the guard");
                Diagnostic::error(span, "a directive stands in square brackets")
                    .hint(format!("write {}", form.shape))
            }
            _ => Diagnostic::error(span, "expected a directive, found text outside of brackets")
                .hint("to see the value of an expression write [sample expr] or [predict expr]"),
        };
        self.error(error);
    }
}

fn directive_head(syntax: Option<&Syntax>) -> Option<&'static forms::Form> {
    match syntax?.kind {
        SyntaxKind::Name(name) => forms::directive(name.as_str()),
        _ => None,
    }
}

fn all_directives() -> String {
    let names: Vec<_> = DIRECTIVES.iter().map(|form| form.name).collect();
    format!("the directives are {}", names.join(", "))
}

/// A word that would make directives depend on something.
pub(super) fn is_conditional(head: Symbol) -> bool {
    ["if", "cond", "when", "unless"].contains(&head.as_str())
}

fn unknown_directive(head: &Named<Symbol>) -> Diagnostic {
    if is_conditional(head.name) {
        let message = format!(
            "directives cannot be conditional: `{}` stands inside an expression",
            head.name
        );
        return Diagnostic::error(head.span, message).hint(
            "put the condition into the directive: [observe (if condition a b) value], \
             [factor (if condition log_weight 0)], [assume x (if condition a b)]",
        );
    }
    let error = Diagnostic::error(head.span, format!("unknown directive `{}`", head.name));
    match closest(head.name.as_str(), DIRECTIVES.iter().map(|form| form.name)) {
        Some(name) => error.hint(format!("did you mean `{name}`?")),
        None => error.hint(all_directives()),
    }
}

fn wrong(span: Span, expected: &str, shape: &str) -> Option<Diagnostic> {
    let shape = if shape.contains('`') { shape.to_owned() } else { format!("`{shape}`") };
    Some(Diagnostic::error(span, format!("expected {expected} here: {shape}")))
}

fn name(part: &Syntax, shape: &str) -> Shaped<Named<Symbol>> {
    match part.kind {
        SyntaxKind::Name(name) => Ok(Named { name, span: part.span }),
        _ => Err(wrong(part.span, "a name", shape)),
    }
}

/// A name to be bound for the whole program.
fn new_name(part: &Syntax, shape: &str) -> Shaped<Named<Symbol>> {
    let named = name(part, shape)?;
    if forms::is_reserved(named.name.as_str()) {
        let message = format!("`{}` is a special form and cannot be bound", named.name);
        return Err(Some(Diagnostic::error(part.span, message).hint("choose another name")));
    }
    Ok(named)
}

fn text(part: &Syntax, shape: &str) -> Shaped<Named<String>> {
    match &part.kind {
        SyntaxKind::Text(text) => Ok(Named { name: text.clone(), span: part.span }),
        _ => Err(wrong(part.span, "a string", shape)),
    }
}

fn range(parts: Vec<Syntax>, span: Span) -> Shaped<ForSource> {
    let is_range = matches!(
        parts.first(),
        Some(Syntax { kind: SyntaxKind::Name(name), .. }) if name.as_str() == "range"
    );
    match <[Syntax; 3]>::try_from(parts) {
        Ok([_, low, high]) if is_range => Ok(ForSource::Range { low, high, span }),
        Ok(_) | Err(_) => {
            let message = "expected the name of a table or `(range a b)` here";
            Err(Some(Diagnostic::error(span, message)))
        }
    }
}

/// What follows the head of a directive.
struct Parts {
    name: &'static str,
    shape: &'static str,
    span: Span,
    parts: Vec<Syntax>,
}

impl Parts {
    fn exactly<const N: usize>(self) -> Shaped<[Syntax; N]> {
        // Too many parts: the first one too many is marked; too few: the directive.
        let place = self.parts.get(N).map_or(self.span, |part| part.span);
        <[Syntax; N]>::try_from(self.parts).map_err(|parts| {
            let count = |n: usize| if n == 1 { "1 part".into() } else { format!("{n} parts") };
            let message = format!(
                "`{}` has {} instead of {}: expected `{}`",
                self.name,
                count(parts.len()),
                N,
                self.shape
            );
            Some(Diagnostic::error(place, message))
        })
    }

    /// A name, string or whole number.
    fn label(self) -> Shaped<Named<String>> {
        let shape = self.shape;
        let [part] = self.exactly()?;
        let label = match &part.kind {
            SyntaxKind::Name(name) => name.to_string(),
            SyntaxKind::Text(text) => text.clone(),
            SyntaxKind::Number(x) if x.fract() == 0.0 => format!("{x}"),
            _ => return Err(wrong(part.span, "a name, a string or a whole number", shape)),
        };
        Ok(Named { name: label, span: part.span })
    }

    fn table(self) -> Shaped<DirectiveKind> {
        let mut parts = self.parts.into_iter().peekable();
        let Some(part) = parts.next() else { return Err(wrong(self.span, "a name", self.shape)) };
        let name = name(&part, self.shape)?;
        let path = match parts.peek() {
            Some(Syntax { kind: SyntaxKind::Text(path), span }) => {
                Some(Named { name: path.clone(), span: *span })
            }
            _ => None,
        };
        let options: Vec<_> = parts.skip(usize::from(path.is_some())).collect();
        for option in &options {
            if !matches!(option.kind, SyntaxKind::List(_)) {
                return Err(wrong(option.span, "an option such as (vector x \"x*\")", self.shape));
            }
        }
        Ok(DirectiveKind::Table { name, path, options })
    }
}
