//! The header of a `.npy` file is a Python literal: texts, whole numbers, True, False, None,
//! tuples, lists and one dictionary. This reads such literals, to a depth that no header needs.

const MAX_DEPTH: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Text(String),
    Integer(u64),
    Boolean(bool),
    None,
    /// A tuple or a list.
    Sequence(Vec<Literal>),
    Dictionary(Vec<(Literal, Literal)>),
}

impl Literal {
    pub fn parse(text: &str) -> Option<Literal> {
        let mut parser = Parser { rest: text };
        let literal = parser.literal(0)?;
        parser.skip_blanks();
        parser.rest.is_empty().then_some(literal)
    }

    /// The entry of a dictionary.
    pub fn get(&self, key: &str) -> Option<&Literal> {
        let Literal::Dictionary(entries) = self else { return None };
        let is_key = |literal: &Literal| matches!(literal, Literal::Text(text) if text == key);
        entries.iter().find(|(name, _)| is_key(name)).map(|(_, value)| value)
    }

    /// A sequence of whole numbers, or one alone.
    pub fn shape(&self) -> Option<Vec<usize>> {
        let size = |literal: &Literal| match literal {
            Literal::Integer(size) => usize::try_from(*size).ok(),
            _ => None,
        };
        match self {
            Literal::Sequence(sizes) => sizes.iter().map(size).collect(),
            single => Some(vec![size(single)?]),
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, text: &str) -> bool {
        self.skip_blanks();
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn literal(&mut self, depth: usize) -> Option<Literal> {
        if depth > MAX_DEPTH {
            return None;
        }
        for (word, literal) in [
            ("True", Literal::Boolean(true)),
            ("False", Literal::Boolean(false)),
            ("None", Literal::None),
        ] {
            if self.eat(word) {
                return Some(literal);
            }
        }
        match self.rest.chars().next()? {
            '(' => self.sequence("(", ")", depth),
            '[' => self.sequence("[", "]", depth),
            '{' => self.dictionary(depth),
            quote @ ('\'' | '"') => self.text(quote),
            digit if digit.is_ascii_digit() => self.integer(),
            _ => None,
        }
    }

    fn sequence(&mut self, open: &str, close: &str, depth: usize) -> Option<Literal> {
        let mut items = Vec::new();
        self.eat(open);
        while !self.eat(close) {
            items.push(self.literal(depth + 1)?);
            if !self.eat(",") {
                return self.eat(close).then_some(Literal::Sequence(items));
            }
        }
        Some(Literal::Sequence(items))
    }

    fn dictionary(&mut self, depth: usize) -> Option<Literal> {
        let mut entries = Vec::new();
        self.eat("{");
        while !self.eat("}") {
            let key = self.literal(depth + 1)?;
            if !self.eat(":") {
                return None;
            }
            entries.push((key, self.literal(depth + 1)?));
            if !self.eat(",") {
                return self.eat("}").then_some(Literal::Dictionary(entries));
            }
        }
        Some(Literal::Dictionary(entries))
    }

    /// Names of fields may hold escaped quotes and backslashes; nothing else is escaped.
    fn text(&mut self, quote: char) -> Option<Literal> {
        let mut text = String::new();
        let mut letters = self.rest.char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' => text.push(letters.next()?.1),
                letter if letter == quote => {
                    self.rest = &self.rest[at + letter.len_utf8()..];
                    return Some(Literal::Text(text));
                }
                letter => text.push(letter),
            }
        }
        None
    }

    /// Python 2 wrote an L behind long integers.
    fn integer(&mut self) -> Option<Literal> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest.strip_prefix('L').unwrap_or(rest);
        digits.parse().ok().map(Literal::Integer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read() {
        let header = "{'descr': [('a', '<f8'), (\"b'\", '<i4', (2,))], 'fortran_order': False, 'shape': (3L,), }\n";
        let literal = Literal::parse(header).expect("a literal");
        assert_eq!(literal.get("fortran_order"), Some(&Literal::Boolean(false)));
        assert_eq!(literal.get("shape").and_then(Literal::shape), Some(vec![3]));
        assert!(
            matches!(literal.get("descr"), Some(Literal::Sequence(fields)) if fields.len() == 2)
        );
        for text in ["", "{", "(1", "{'a': }", "{'a' 1}", "'a", "x", "1 2", "99999999999999999999"]
        {
            assert_eq!(Literal::parse(text), None, "{text}");
        }
        assert_eq!(Literal::parse(&"(".repeat(100_000)), None);
    }
}
