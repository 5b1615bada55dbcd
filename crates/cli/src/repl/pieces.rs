//! What was typed or pasted at once, piece by piece: directives (with or without a label), expressions and commands
//! of the prompt, in any order.

use smidgen::lang::SourceId;
use smidgen::lang::lexer::{Bracket, Token, TokenKind, lex};

#[derive(Debug, PartialEq)]
pub enum Piece<'t> {
    /// A line that begins with a colon, without it.
    Command(&'t str),
    /// Directives that follow one another.
    Directives(&'t str),
    Expression(&'t str),
}

pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if let Some(command) = rest.strip_prefix(':') {
            let (line, after) = command.split_once('\n').unwrap_or((command, ""));
            found.push(Piece::Command(line.trim()));
            rest = after;
            continue;
        }
        // Up to the next command.
        let end = commands_at(rest).unwrap_or(rest.len());
        split(&rest[..end], &mut found);
        if end == rest.len() {
            return found;
        }
        rest = &rest[end..];
    }
}

/// Where the first line begins that is a command: outside of all brackets.
fn commands_at(text: &str) -> Option<usize> {
    let lines = text.match_indices('\n').map(|(at, _)| at + 1);
    let mut lines = lines.filter(|at| text[*at..].trim_start_matches([' ', '\t']).starts_with(':'));
    lines.find(|at| depth(&lex(SourceId(0), &text[..*at])) == 0)
}

fn depth(tokens: &[Token]) -> i64 {
    let step = |token: &Token| match token.kind {
        TokenKind::Open(_) => 1,
        TokenKind::Close(_) => -1,
        _ => 0,
    };
    tokens.iter().map(step).sum()
}

/// Directives that follow one another are one piece, each expression is one.
fn split<'t>(text: &'t str, found: &mut Vec<Piece<'t>>) {
    let tokens = lex(SourceId(0), text);
    let mut directives: Option<(usize, usize)> = None;
    let mut k = 0;
    while k < tokens.len() {
        let labelled = tokens.get(k + 1).is_some_and(|token| token.kind == TokenKind::Colon);
        let is_directive = labelled || tokens[k].kind == TokenKind::Open(Bracket::Square);
        let end = form_end(&tokens, if labelled { k + 2 } else { k });
        let (from, to) = (tokens[k].span.start as usize, tokens[end - 1].span.end as usize);
        if is_directive {
            directives = Some((directives.map_or(from, |(from, _)| from), to));
        } else {
            found.extend(directives.take().map(|(from, to)| Piece::Directives(&text[from..to])));
            found.push(Piece::Expression(&text[from..to]));
        }
        k = end;
    }
    found.extend(directives.map(|(from, to)| Piece::Directives(&text[from..to])));
}

/// The number of the token after the form that begins here. What is not balanced goes to the end.
fn form_end(tokens: &[Token], mut k: usize) -> usize {
    while tokens.get(k).is_some_and(|token| token.kind == TokenKind::Quote) {
        k += 1;
    }
    let mut open = 0i64;
    for (place, token) in tokens.iter().enumerate().skip(k) {
        match token.kind {
            TokenKind::Open(_) => open += 1,
            TokenKind::Close(_) => open -= 1,
            _ => {}
        }
        if open <= 0 {
            return place + 1;
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_and_expressions_may_follow_one_another() {
        let text = "[assume x\n (normal 0 1)]\ny: [observe (normal x 1) 2] (+ 1 2) ; a comment\nx '(a b) 3\n:help normal\n[predict x]";
        let found = pieces(text);
        let wanted = [
            Piece::Directives("[assume x\n (normal 0 1)]\ny: [observe (normal x 1) 2]"),
            Piece::Expression("(+ 1 2)"),
            Piece::Expression("x"),
            Piece::Expression("'(a b)"),
            Piece::Expression("3"),
            Piece::Command("help normal"),
            Piece::Directives("[predict x]"),
        ];
        assert_eq!(found, wanted);
        assert_eq!(pieces(""), []);
        assert_eq!(pieces("; nothing"), []);
        assert_eq!(pieces("(+ 1"), [Piece::Expression("(+ 1")]);
        assert_eq!(pieces(")"), [Piece::Expression(")")]);
        assert_eq!(pieces(":trace"), [Piece::Command("trace")]);
        // Within brackets a colon begins no command.
        assert_eq!(pieces("(f\n:g)").len(), 1);
    }
}
