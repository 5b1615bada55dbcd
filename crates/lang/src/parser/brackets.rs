//! Brackets that do not match. A bracket that is not closed is closed for the reader where
//! something stands that cannot be inside it: the `]` of its directive, or a `[` that starts the
//! next one. Whatever was closed in this way is reported once, and reading goes on.

use super::{Frame, Goal, Item, MAX_ERRORS, Reader};
use crate::diagnostic::{Diagnostic, closest};
use crate::forms::{self, DIRECTIVES};
use crate::lexer::{Bracket, Token, TokenKind};
use crate::source::{Span, position};

impl Reader<'_> {
    /// Whether the `[` of token `i` is the start of a directive although brackets are open: it
    /// starts a line, or it has a directive's name where only a directive's end can be missing.
    pub(super) fn starts_directive(&self, tokens: &[Token], i: usize) -> bool {
        if self.goal == Goal::Expression {
            return false;
        }
        let frame = self.stack.last().expect("the frame of the text stays");
        let head = tokens
            .get(i + 1)
            .filter(|token| token.kind == TokenKind::Name)
            .map_or("", |token| self.text_of(token.span));
        if frame.bracket == Some(Bracket::Square) && forms::directive(head).is_some() {
            return true;
        }
        let labelled = i >= 2
            && tokens[i - 1].kind == TokenKind::Colon
            && matches!(tokens[i - 2].kind, TokenKind::Name | TokenKind::Text(_));
        let first = tokens[if labelled { i - 2 } else { i }].span.start as usize;
        let previous = tokens[..i - if labelled { 2 } else { 0 }].last();
        let gap = &self.text[previous.map_or(0, |token| token.span.end as usize)..first];
        let indent = match gap.rfind('\n') {
            Some(newline) => &gap[newline + 1..],
            None if previous.is_none() => gap,
            None => return false,
        };
        let names = DIRECTIVES.iter().map(|form| form.name);
        indent.is_empty() || closest(head, names).is_some()
    }

    /// Closes what cannot contain the directive that starts at `span`.
    pub(super) fn close_before_directive(&mut self, span: Span) {
        let keep = self.stack.iter().rposition(Frame::holds_directives).map_or(1, |i| i + 1);
        if keep == self.stack.len() {
            return;
        }
        // The label in front belongs to the new directive, not to what is closed.
        let items = &mut self.top().items;
        let label = match items.as_slice() {
            [.., Item::Syntax(_), Item::Colon(_)] => items.split_off(items.len() - 2),
            _ => Vec::new(),
        };
        self.close_down_to(keep, span, "the next directive");
        self.top().items.extend(label);
    }

    pub(super) fn close(&mut self, bracket: Bracket, span: Span) {
        // A parenthesis closes over an open brace, but neither over a directive's bracket.
        let top = self.stack.len() - 1;
        let is = |i: usize, bracket| self.stack[i].bracket == Some(bracket);
        let matching = match bracket {
            Bracket::Square if self.squares == 0 => None,
            Bracket::Square => (0..=top).rev().find(|i| is(*i, Bracket::Square)),
            Bracket::Round if is(top, Bracket::Curly) => Some(top - 1),
            _ => Some(top),
        };
        match matching.filter(|i| is(*i, bracket)) {
            Some(i) => {
                self.close_down_to(i + 1, span, &format!("`{}`", bracket.close()));
                self.end_frame(span);
            }
            None => {
                let (open, close) = (bracket.open(), bracket.close());
                let what = match bracket {
                    Bracket::Round => "closing parenthesis",
                    Bracket::Square | Bracket::Curly => "closing bracket",
                };
                let message = format!("unexpected {what} `{close}`");
                self.error(
                    Diagnostic::error(span, message).label(format!("no `{open}` is open here")),
                );
            }
        }
    }

    /// Closes all but `keep` frames in front of `found`, with one error at the innermost.
    pub(super) fn close_down_to(&mut self, keep: usize, found: Span, what: &str) {
        self.report_unclosed(keep, found, what);
        let end = self.place(found.start as usize, found.start as usize);
        while self.stack.len() > keep {
            self.top().broken = true;
            self.end_frame(end);
            self.top().broken = true;
        }
    }

    fn report_unclosed(&mut self, keep: usize, found: Span, what: &str) {
        /// More closing brackets than this are not shown.
        const SHOWN: usize = 20;
        let frames = self.stack[keep..].iter().rev().take_while(|frame| !frame.swallowed);
        let mut brackets = frames.filter_map(|frame| frame.bracket.map(|b| (b, frame.open)));
        let Some((bracket, open)) = brackets.next() else { return };
        if self.diagnostics.len() >= MAX_ERRORS {
            // Not shown, and finding its line would take a look at the whole text.
            return;
        }
        let more = brackets.by_ref().take(SHOWN).map(|(bracket, _)| bracket.close());
        let mut missing: String = std::iter::once(bracket.close()).chain(more).collect();
        if brackets.next().is_some() {
            missing.push_str("...");
        }
        let (line, column) = position(self.text, found.start as usize);
        let name = if bracket == Bracket::Round { "parenthesis" } else { "bracket" };
        let (left, right) = (bracket.open(), bracket.close());
        let message = format!(
            "this {name} `{left}` is not closed: expected `{missing}` before {what} \
             at line {line}, column {column}"
        );
        let label = format!("the `{left}` without `{right}`");
        self.error(Diagnostic::error(open, message).label(label));
    }
}
