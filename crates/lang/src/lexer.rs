//! Text to tokens. Never fails: what cannot be read becomes an error token that carries its
//! diagnostic, and reading goes on behind it.
//!
//! A word (a run of characters that may stand in a name) is a number if it starts like one,
//! else a name. Strings end on their line.

use crate::diagnostic::Diagnostic;
use crate::source::{SourceId, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bracket {
    Round,
    Square,
    Curly,
}

impl Bracket {
    pub fn open(self) -> char {
        match self {
            Bracket::Round => '(',
            Bracket::Square => '[',
            Bracket::Curly => '{',
        }
    }

    pub fn close(self) -> char {
        match self {
            Bracket::Round => ')',
            Bracket::Square => ']',
            Bracket::Curly => '}',
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum TokenKind {
    Open(Bracket),
    Close(Bracket),
    /// `'`
    Quote,
    /// `:`, which ends a label.
    Colon,
    Number(f64),
    /// A string, its escapes resolved.
    Text(String),
    /// The text of the name is the token's own.
    Name,
    /// `row."any name"`: the row and the name of its column.
    QuotedColumn {
        row: String,
        column: String,
    },
    /// A string that does not end on its line.
    Unterminated(Box<Diagnostic>),
    Error(Box<Diagnostic>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

/// All tokens of a text. Blanks and comments leave no token.
///
/// # Panics
/// If the text has 4 GiB or more: spans could not name its places.
pub fn lex(source: SourceId, text: &str) -> Vec<Token> {
    assert!(u32::try_from(text.len()).is_ok(), "a text is smaller than 4 GiB");
    let mut tokens = Vec::new();
    let mut place = 0;
    while let Some(first) = text[place..].chars().next() {
        let rest = &text[place..];
        let length = match first {
            ';' | '#' => rest.find('\n').unwrap_or(rest.len()),
            _ if is_blank(first) => first.len_utf8(),
            _ => {
                let lexer = Lexer { source, start: place };
                let (kind, length) = lexer.token(first, rest);
                tokens.push(Token { kind, span: lexer.span(length) });
                length
            }
        };
        place += length;
    }
    tokens
}

/// A byte order mark counts as a blank: editors put it before the first token.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// Whether a character may stand in a name (`#` not at its start: there it begins a comment).
pub(crate) fn in_name(c: char) -> bool {
    let combining = ('\u{300}'..='\u{36f}').contains(&c);
    c.is_alphanumeric() || combining || "_.!?<>=+-*/%&^~$@#".contains(c)
}

/// Whether a word is meant as a number: a digit, perhaps behind a sign and a point.
fn starts_number(word: &str) -> bool {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    unsigned.strip_prefix('.').unwrap_or(unsigned).starts_with(|c: char| c.is_ascii_digit())
}

/// The reading of one token that starts at `start`.
struct Lexer {
    source: SourceId,
    start: usize,
}

impl Lexer {
    fn span(&self, length: usize) -> Span {
        self.part(0, length)
    }

    /// The place of bytes `from .. to` of the token.
    fn part(&self, from: usize, to: usize) -> Span {
        let place = |offset| u32::try_from(self.start + offset).expect("checked for the text");
        Span { source: self.source, start: place(from), end: place(to) }
    }

    /// The token at the start of `rest`, and its length in bytes.
    fn token(&self, first: char, rest: &str) -> (TokenKind, usize) {
        match first {
            '(' => (TokenKind::Open(Bracket::Round), 1),
            ')' => (TokenKind::Close(Bracket::Round), 1),
            '[' => (TokenKind::Open(Bracket::Square), 1),
            ']' => (TokenKind::Close(Bracket::Square), 1),
            '{' => (TokenKind::Open(Bracket::Curly), 1),
            '}' => (TokenKind::Close(Bracket::Curly), 1),
            '\'' => (TokenKind::Quote, 1),
            ':' => (TokenKind::Colon, 1),
            '"' => self.string(rest),
            _ if in_name(first) => {
                let length = rest.find(|c| !in_name(c)).unwrap_or(rest.len());
                let word = &rest[..length];
                if starts_number(word) {
                    return (self.number(word), length);
                }
                match word.strip_suffix('.') {
                    Some(row) if !row.is_empty() && rest[length..].starts_with('"') => {
                        let quoted = Lexer { source: self.source, start: self.start + length };
                        let (kind, more) = quoted.string(&rest[length..]);
                        let kind = match kind {
                            TokenKind::Text(column) => {
                                TokenKind::QuotedColumn { row: row.to_owned(), column }
                            }
                            wrong => wrong,
                        };
                        (kind, length + more)
                    }
                    _ => (TokenKind::Name, length),
                }
            }
            _ => self.unexpected(rest),
        }
    }

    fn number(&self, word: &str) -> TokenKind {
        let span = self.span(word.len());
        match word.parse::<f64>() {
            Ok(number) if number.is_finite() => TokenKind::Number(number),
            Ok(_) => TokenKind::Error(Box::new(
                Diagnostic::error(span, format!("the number `{word}` is too large"))
                    .hint("the largest number is about 1.8e308"),
            )),
            Err(_) => {
                let problem = Diagnostic::error(span, format!("`{word}` is not a number"));
                let hint = match word.split_once(['/', '*', '+', '-']) {
                    Some((a, b)) if a.parse::<f64>().is_ok() && b.parse::<f64>().is_ok() => {
                        let operator = &word[a.len()..=a.len()];
                        format!("operators come first: ({operator} {a} {b})")
                    }
                    _ => "numbers look like 1, -2.5 or 1e-3, and a name cannot start with a digit"
                        .to_owned(),
                };
                TokenKind::Error(Box::new(problem.hint(hint)))
            }
        }
    }

    /// A run of characters that start no token.
    fn unexpected(&self, rest: &str) -> (TokenKind, usize) {
        let ends = |c: char| in_name(c) || is_blank(c) || "()[]{}'\":;#".contains(c);
        let length = rest.find(ends).unwrap_or(rest.len());
        let run = &rest[..length];
        let mut problem = Diagnostic::error(
            self.span(length),
            format!("unexpected character `{}`", run.escape_debug()),
        );
        let hint = match run.chars().next() {
            Some(',') => Some("elements are separated by blanks"),
            Some('“' | '”' | '„' | '«' | '»') => {
                Some("strings are written in straight quotes \"")
            }
            Some('‘' | '’' | '`') => Some("a quote is written '"),
            Some('−' | '–' | '—') => Some("a minus sign is written -"),
            _ => None,
        };
        if let Some(hint) = hint {
            problem = problem.hint(hint);
        }
        (TokenKind::Error(Box::new(problem)), length)
    }

    fn string(&self, rest: &str) -> (TokenKind, usize) {
        let mut text = String::new();
        let mut problem = None;
        let mut chars = rest.char_indices().skip(1);
        while let Some((place, c)) = chars.next() {
            match c {
                '"' => {
                    let kind = problem.map_or(TokenKind::Text(text), TokenKind::Error);
                    return (kind, place + 1);
                }
                '\n' => break,
                '\\' => match escape(&rest[place..]) {
                    Ok((c, length)) => {
                        text.push(c);
                        // The backslash is read; every escape consists of one-byte characters.
                        for _ in 1..length {
                            chars.next();
                        }
                    }
                    Err(length) => {
                        let shown = &rest[place..place + length];
                        let message = format!("unknown escape `{shown}` in a string");
                        let error = Diagnostic::error(self.part(place, place + length), message)
                            .hint(r#"the escapes are \n \t \r \0 \" \' \\ and \u{...}"#);
                        problem.get_or_insert_with(|| Box::new(error));
                    }
                },
                _ => text.push(c),
            }
        }
        let length = rest.find('\n').unwrap_or(rest.len());
        let length = rest[..length].trim_end().len();
        let error = Diagnostic::error(self.span(length), "this string is not closed")
            .label("expected `\"` on this line")
            .hint("a line break in a string is written \\n");
        (TokenKind::Unterminated(Box::new(error)), length)
    }
}

/// The character an escape stands for and the length of the escape, or the length of what is
/// no escape.
fn escape(rest: &str) -> Result<(char, usize), usize> {
    let Some(letter) = rest.chars().nth(1).filter(|c| *c != '\n') else { return Err(1) };
    let plain = match letter {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '0' => '\0',
        '"' | '\\' | '\'' => letter,
        'u' => {
            let digits = rest[2..].strip_prefix('{').map(|rest| {
                &rest[..rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len())]
            });
            let Some(digits) = digits else { return Err(2) };
            let end = 3 + digits.len();
            let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
            return match code {
                Some(c) if rest[end..].starts_with('}') => Ok((c, end + 1)),
                _ => Err(end),
            };
        }
        _ => return Err(1 + letter.len_utf8()),
    };
    Ok((plain, 2))
}
