//! Interned names. Two symbols are equal iff their texts are; comparison and hashing
//! cost one integer. The interner only ever grows (programs have few names) and is the
//! one piece of process-wide state: it carries no meaning, only identity.

use std::fmt;
use std::sync::{LazyLock, RwLock};

use rustc_hash::FxHashMap;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Symbol(u32);

#[derive(Default)]
struct Interner {
    ids: FxHashMap<&'static str, u32>,
    texts: Vec<&'static str>,
}

static INTERNER: LazyLock<RwLock<Interner>> = LazyLock::new(Default::default);

impl Symbol {
    pub fn new(text: &str) -> Symbol {
        const UNPOISONED: &str = "no code panics while it holds the interner";
        if let Some(&id) = INTERNER.read().expect(UNPOISONED).ids.get(text) {
            return Symbol(id);
        }
        let mut interner = INTERNER.write().expect(UNPOISONED);
        if let Some(&id) = interner.ids.get(text) {
            return Symbol(id);
        }
        let id = u32::try_from(interner.texts.len()).expect("fewer than 2^32 distinct names");
        let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
        interner.ids.insert(text, id);
        interner.texts.push(text);
        Symbol(id)
    }

    pub fn as_str(self) -> &'static str {
        INTERNER.read().expect("no code panics while it holds the interner").texts[self.0 as usize]
    }

    /// A small integer, unique to this name in this process; for dense side tables.
    /// It must never influence an order that a user can see: use the text for that.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}", self.as_str())
    }
}

impl From<&str> for Symbol {
    fn from(text: &str) -> Symbol {
        Symbol::new(text)
    }
}
