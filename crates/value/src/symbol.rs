//! Interned names. Two symbols are equal iff their texts are; comparing costs one pointer, hashing one
//! number. The hash is that of the text, so no order or stream that is made from it depends on which
//! names were met before. The interner only ever grows (programs have few names) and is the one piece of
//! process-wide state: it carries no meaning, only identity.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{LazyLock, RwLock};

use rustc_hash::{FxBuildHasher, FxHashMap};

#[derive(Clone, Copy)]
pub struct Symbol(&'static Interned);

struct Interned {
    text: &'static str,
    number: usize,
    hash: u64,
}

type Interner = FxHashMap<&'static str, &'static Interned>;

static INTERNER: LazyLock<RwLock<Interner>> = LazyLock::new(Default::default);

impl Symbol {
    pub fn new(text: &str) -> Symbol {
        const UNPOISONED: &str = "no code panics while it holds the interner";
        if let Some(interned) = INTERNER.read().expect(UNPOISONED).get(text) {
            return Symbol(interned);
        }
        let mut interner = INTERNER.write().expect(UNPOISONED);
        if let Some(interned) = interner.get(text) {
            return Symbol(interned);
        }
        let (number, hash) = (interner.len(), FxBuildHasher.hash_one(text));
        let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
        let interned: &'static Interned = Box::leak(Box::new(Interned { text, number, hash }));
        interner.insert(text, interned);
        Symbol(interned)
    }

    pub fn as_str(self) -> &'static str {
        self.0.text
    }

    /// A small integer, unique to this name in this process; for dense side tables.
    /// It must never influence an order or a stream: use the text for that.
    pub fn index(self) -> usize {
        self.0.number
    }
}

impl PartialEq for Symbol {
    fn eq(&self, other: &Symbol) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Symbol {}

impl Hash for Symbol {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
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
