//! Tokens to syntax, for any text whatever. One pass over the tokens with a stack of open
//! brackets and no recursion: an expression is built when its bracket closes, a directive when
//! its `]` does ([`directives`]). Brackets that do not match are set right on the way
//! ([`brackets`]), and a directive that cannot be made sense of is reported and left out.

mod brackets;
mod directives;
pub mod given;

use smidgen_value::{Symbol, Value};

use crate::diagnostic::Diagnostic;
use crate::forms;
use crate::lexer::{Bracket, TokenKind, lex};
use crate::source::{SourceId, Span};
use crate::syntax::{Directive, MAX_NESTING, Named, Parsed, Syntax, SyntaxKind};

/// How deep `for` directives may nest.
const MAX_FOR_NESTING: usize = 100;

/// After this many errors the rest of a text is not worth reporting.
const MAX_ERRORS: usize = 100;

/// Reads a program.
pub fn parse(source: SourceId, text: &str) -> Parsed {
    let mut reader = Reader::new(source, text, Goal::Program);
    let items = reader.read();
    let directives = reader.only_directives(items);
    Parsed { directives, diagnostics: reader.finish() }
}

/// Reads one expression: the argument of an option, an inference program.
pub fn parse_expression(source: SourceId, text: &str) -> Result<Syntax, Vec<Diagnostic>> {
    let mut reader = Reader::new(source, text, Goal::Expression);
    let items = reader.read();
    let whole = reader.place(0, text.len());
    let mut expressions = reader.syntaxes(items);
    if expressions.len() != 1 && reader.diagnostics.is_empty() {
        let (span, found) = match expressions.get(1) {
            Some(second) => (second.span, format!("{}", expressions.len())),
            None => (whole, "nothing".to_owned()),
        };
        reader.error(Diagnostic::error(span, format!("expected one expression, found {found}")));
    }
    let diagnostics = reader.finish();
    match expressions.pop() {
        Some(expression) if diagnostics.is_empty() => Ok(expression),
        _ => Err(diagnostics),
    }
}

/// Whether more text could make this a program: a bracket is open, or a string in the last line.
/// Text that is wrong whatever follows is complete, so that its error is shown.
pub fn is_incomplete(text: &str) -> bool {
    let mut open = Vec::new();
    let mut open_string = false;
    for token in lex(SourceId(0), text) {
        let hopeless = match token.kind {
            TokenKind::Open(bracket) => {
                open.push(bracket);
                false
            }
            TokenKind::Close(bracket) => open.pop() != Some(bracket),
            TokenKind::Unterminated(_) => {
                open_string = true;
                text[token.span.end as usize..].contains('\n')
            }
            _ => false,
        };
        if hopeless {
            return false;
        }
    }
    open_string || !open.is_empty()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Goal {
    Program,
    Expression,
}

/// What stands between two brackets.
enum Item {
    Syntax(Syntax),
    Directive(Directive),
    Quote(Span),
    Colon(Span),
}

impl Item {
    fn span(&self) -> Span {
        match self {
            Item::Syntax(syntax) => syntax.span,
            Item::Directive(directive) => directive.span,
            Item::Quote(span) | Item::Colon(span) => *span,
        }
    }

    fn name(&self) -> Option<Symbol> {
        match self {
            Item::Syntax(Syntax { kind: SyntaxKind::Name(name), .. }) => Some(*name),
            _ => None,
        }
    }
}

/// An open bracket, or (without one) the text itself.
struct Frame {
    bracket: Option<Bracket>,
    open: Span,
    items: Vec<Item>,
    /// Levels of expression around the items.
    depth: usize,
    /// Quotes that wait for the next item.
    quotes: usize,
    /// Levels of `for` around the items.
    for_depth: usize,
    /// A bracket inside was not closed: what is missing here need not be missing.
    broken: bool,
    /// A string that is not closed may hold the closing bracket.
    swallowed: bool,
}

impl Frame {
    fn is_for(&self) -> bool {
        self.bracket == Some(Bracket::Square)
            && self.items.first().and_then(Item::name).is_some_and(|name| name.as_str() == "for")
    }

    /// Whether directives stand here, or are meant to.
    fn holds_directives(&self) -> bool {
        self.bracket.is_none() || self.is_for() || self.is_conditional()
    }

    /// `[if condition directive]`, which there is not.
    fn is_conditional(&self) -> bool {
        self.bracket == Some(Bracket::Square)
            && self.items.first().and_then(Item::name).is_some_and(directives::is_conditional)
    }
}

struct Reader<'a> {
    source: SourceId,
    text: &'a str,
    goal: Goal,
    /// Never empty: the first frame is the text itself.
    stack: Vec<Frame>,
    /// How many square brackets are open.
    squares: usize,
    diagnostics: Vec<Diagnostic>,
    too_deep: bool,
}

impl<'a> Reader<'a> {
    fn new(source: SourceId, text: &'a str, goal: Goal) -> Reader<'a> {
        let mut reader = Reader {
            source,
            text,
            goal,
            stack: Vec::new(),
            squares: 0,
            diagnostics: Vec::new(),
            too_deep: false,
        };
        let open = reader.place(0, 0);
        reader.stack.push(Frame {
            bracket: None,
            open,
            items: Vec::new(),
            depth: 0,
            quotes: 0,
            for_depth: 0,
            broken: false,
            swallowed: false,
        });
        reader
    }

    fn place(&self, start: usize, end: usize) -> Span {
        let place = |byte| u32::try_from(byte).expect("the lexer takes texts below 4 GiB");
        Span { source: self.source, start: place(start), end: place(end) }
    }

    fn text_of(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_ERRORS {
            self.diagnostics.push(diagnostic);
        }
    }

    /// The diagnostics in the order of the text.
    fn finish(self) -> Vec<Diagnostic> {
        let mut diagnostics = self.diagnostics;
        diagnostics.sort_by_key(|diagnostic| diagnostic.span.map(|span| span.start));
        if diagnostics.len() == MAX_ERRORS {
            diagnostics.push(Diagnostic::error(
                diagnostics[MAX_ERRORS - 1].span,
                format!("there are {MAX_ERRORS} errors or more: the rest are not shown"),
            ));
        }
        diagnostics
    }

    fn top(&mut self) -> &mut Frame {
        self.stack.last_mut().expect("the frame of the text stays")
    }

    /// Reads all tokens; gives what stands outside of brackets.
    fn read(&mut self) -> Vec<Item> {
        let tokens = lex(self.source, self.text);
        for (i, token) in tokens.iter().enumerate() {
            let span = token.span;
            match &token.kind {
                TokenKind::Open(bracket) => {
                    if *bracket == Bracket::Square && self.starts_directive(&tokens, i) {
                        self.close_before_directive(span);
                    }
                    self.open(*bracket, span);
                }
                TokenKind::Close(bracket) => self.close(*bracket, span),
                TokenKind::Quote => self.quote(span),
                TokenKind::Colon => {
                    self.stray_quotes();
                    self.top().items.push(Item::Colon(span));
                }
                TokenKind::Number(x) => self.push(Syntax { kind: SyntaxKind::Number(*x), span }),
                TokenKind::Text(text) => {
                    self.push(Syntax { kind: SyntaxKind::Text(text.clone()), span });
                }
                TokenKind::Name => {
                    let kind = match self.text_of(span) {
                        "true" => SyntaxKind::Bool(true),
                        "false" => SyntaxKind::Bool(false),
                        name => SyntaxKind::Name(Symbol::new(name)),
                    };
                    self.push(Syntax { kind, span });
                }
                TokenKind::QuotedColumn { row, column } => {
                    let kind = SyntaxKind::Name(Symbol::new(&format!("{row}.{column}")));
                    self.push(Syntax { kind, span });
                }
                TokenKind::Unterminated(diagnostic) => {
                    self.error((**diagnostic).clone());
                    self.push(Syntax { kind: SyntaxKind::Error, span });
                    // The string has swallowed the brackets behind it: none of them is missed.
                    let frames = self.stack.iter_mut().rev();
                    for frame in frames.take_while(|frame| !frame.swallowed) {
                        (frame.broken, frame.swallowed) = (true, true);
                    }
                }
                TokenKind::Error(diagnostic) => {
                    self.error((**diagnostic).clone());
                    self.push(Syntax { kind: SyntaxKind::Error, span });
                }
            }
        }
        self.close_down_to(1, self.place(self.text.len(), self.text.len()), "the end of the text");
        std::mem::take(&mut self.top().items)
    }

    /// Adds an expression, inside the quotes that wait for it.
    fn push(&mut self, mut syntax: Syntax) {
        let frame = self.top();
        while frame.quotes > 0 {
            let quote = frame.items.pop().expect("a quote waits").span();
            let span = quote.to(syntax.span);
            syntax = Syntax { kind: SyntaxKind::Quote(Box::new(syntax)), span };
            frame.quotes -= 1;
        }
        frame.items.push(Item::Syntax(syntax));
    }

    fn quote(&mut self, span: Span) {
        if self.top().depth + self.top().quotes >= MAX_NESTING {
            self.nests_too_deep(span);
        } else {
            let frame = self.top();
            frame.quotes += 1;
            frame.items.push(Item::Quote(span));
        }
    }

    fn nests_too_deep(&mut self, span: Span) {
        if !self.too_deep {
            self.too_deep = true;
            let message = format!("expressions nest deeper than the limit of {MAX_NESTING} levels");
            self.error(Diagnostic::error(span, message));
        }
    }

    fn open(&mut self, bracket: Bracket, open: Span) {
        if self.top().bracket == Some(Bracket::Curly) {
            // Braces hold a name and nothing else.
            self.close_down_to(self.stack.len() - 1, open, &format!("`{}`", bracket.open()));
        }
        let parent = self.top();
        let depth = parent.depth + parent.quotes + 1;
        let for_depth = parent.for_depth + usize::from(parent.is_for());
        if depth == MAX_NESTING + 1 {
            self.nests_too_deep(open);
        }
        self.squares += usize::from(bracket == Bracket::Square);
        self.stack.push(Frame {
            bracket: Some(bracket),
            open,
            items: Vec::new(),
            depth,
            quotes: 0,
            for_depth,
            broken: false,
            swallowed: false,
        });
    }

    /// Turns the innermost frame into an item of the one around it.
    fn end_frame(&mut self, close: Span) {
        let frame = self.stack.pop().expect("only open brackets are closed");
        self.squares -= usize::from(frame.bracket == Some(Bracket::Square));
        let span = frame.open.to(close);
        let unread = Syntax { kind: SyntaxKind::Error, span };
        if frame.depth > MAX_NESTING {
            // Too deep, which has been reported; its items go without having nested.
            self.push(unread);
            return;
        }
        match frame.bracket.expect("the frame of the text is not closed") {
            Bracket::Round => {
                let items = self.syntaxes(frame.items);
                self.push(Syntax { kind: SyntaxKind::list(items), span });
            }
            Bracket::Curly => {
                let items = self.syntaxes(frame.items);
                let parameter = self.parameter(&items, span, frame.broken);
                self.push(parameter);
            }
            Bracket::Square => self.end_square(frame, span, unread),
        }
    }

    fn end_square(&mut self, frame: Frame, span: Span, unread: Syntax) {
        if self.goal == Goal::Expression || !self.top().holds_directives() {
            let head = frame.items.first().and_then(Item::name);
            let error = match head.filter(|name| forms::directive(name.as_str()).is_some()) {
                Some(name) => Diagnostic::error(
                    span,
                    format!("the directive `{name}` cannot stand inside an expression"),
                ),
                None => Diagnostic::error(span, "`[` cannot stand inside an expression")
                    .hint("a list is written (list 1 2 3), a vector (vector 1 2 3)"),
            };
            self.error(error);
            self.push(unread);
            return;
        }
        let kind = if frame.for_depth >= MAX_FOR_NESTING {
            let limit = format!("`for` nests deeper than the limit of {MAX_FOR_NESTING} levels");
            self.error(Diagnostic::error(span, limit));
            None
        } else {
            self.directive(frame.items, span, frame.broken)
        };
        let label = self.take_label();
        match kind {
            Some(kind) => {
                self.stray_quotes();
                self.top().items.push(Item::Directive(Directive { label, kind, span }));
            }
            None => self.push(unread),
        }
    }

    /// The label in front of a directive that has just been read.
    fn take_label(&mut self) -> Option<Named<String>> {
        let items = &mut self.top().items;
        let [.., Item::Syntax(label), Item::Colon(_)] = items.as_slice() else { return None };
        let name = match &label.kind {
            SyntaxKind::Name(name) => name.to_string(),
            SyntaxKind::Text(text) => text.clone(),
            _ => return None,
        };
        let label = Named { name, span: label.span };
        items.truncate(items.len() - 2);
        Some(label)
    }

    /// Quotes with nothing to quote behind them.
    fn stray_quotes(&mut self) {
        let frame = self.top();
        let first = frame.items.len() - std::mem::take(&mut frame.quotes);
        let quotes = frame.items.split_off(first);
        if let Some(quote) = quotes.first() {
            let message = "expected an expression after the quote `'`";
            self.error(Diagnostic::error(quote.span(), message));
        }
    }

    /// `{name}`, or with a default `{name=2.5}`.
    fn parameter(&mut self, items: &[Syntax], span: Span, broken: bool) -> Syntax {
        let parameter = |name: &str, default| {
            let name = Symbol::new(name);
            (!name.as_str().is_empty()).then_some(SyntaxKind::Parameter { name, default })
        };
        let kind = match items {
            [Syntax { kind: SyntaxKind::Name(name), .. }] => match name.as_str().split_once('=') {
                Some((name, default)) => {
                    literal(default).and_then(|default| parameter(name, Some(default)))
                }
                None => parameter(name.as_str(), None),
            },
            [Syntax { kind: SyntaxKind::Name(name), .. }, default] => {
                let default = match &default.kind {
                    SyntaxKind::Text(text) => Some(Value::text(text.clone())),
                    SyntaxKind::Number(x) => Some(Value::Number(*x)),
                    SyntaxKind::Bool(b) => Some(Value::Bool(*b)),
                    _ => None,
                };
                let name = name.as_str().strip_suffix('=');
                name.zip(default).and_then(|(name, default)| parameter(name, Some(default)))
            }
            _ => None,
        };
        let kind = kind.unwrap_or_else(|| {
            if !broken && items.iter().all(|item| item.kind != SyntaxKind::Error) {
                let message = "expected one name in braces: `{name}` stands for a value \
                               given from outside";
                let hint =
                    "with a number, a boolean or a string as default it is written {name=2.5}";
                self.error(Diagnostic::error(span, message).hint(hint));
            }
            SyntaxKind::Error
        });
        Syntax { kind, span }
    }

    /// The items as expressions; whatever is none is reported.
    fn syntaxes(&mut self, items: Vec<Item>) -> Vec<Syntax> {
        let mut syntaxes = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Item::Syntax(syntax) => syntaxes.push(syntax),
                Item::Directive(directive) => self.error(Diagnostic::error(
                    directive.span,
                    "expected an expression, found a directive",
                )),
                Item::Quote(span) => self
                    .error(Diagnostic::error(span, "expected an expression after the quote `'`")),
                Item::Colon(span) => {
                    self.error(Diagnostic::error(span, "unexpected `:`").hint(
                        "`:` ends a label, which stands before a directive: name: [predict x]",
                    ))
                }
            }
        }
        syntaxes
    }
}

/// A default that is written without a blank before it.
fn literal(word: &str) -> Option<Value> {
    match word {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ => word.parse().ok().filter(|x: &f64| x.is_finite()).map(Value::Number),
    }
}
