//! Buffers of columns whose length is known only at the end, or only from what a file claims.
//!
//! Pieces double in size up to 32 MB and are copied once, piece by piece, into the buffer that
//! all chains share; a piece is given back as soon as it is copied. So memory never exceeds the
//! data by more than one piece, and a file that lies about its length costs nothing.

use std::collections::HashMap;
use std::sync::Arc;

use smidgen_value::{Column, Texts};

const FIRST_PIECE: usize = 1 << 10;
const LAST_PIECE: usize = 1 << 22;

pub(super) struct Growing<T> {
    full: Vec<Vec<T>>,
    last: Vec<T>,
    /// Items in the full pieces.
    before: usize,
}

impl<T: Copy> Growing<T> {
    pub fn new() -> Growing<T> {
        Growing { full: Vec::new(), last: Vec::new(), before: 0 }
    }

    pub fn len(&self) -> usize {
        self.before + self.last.len()
    }

    #[inline]
    pub fn push(&mut self, item: T) {
        if self.last.len() == self.last.capacity() {
            self.begin_piece();
        }
        self.last.push(item);
    }

    #[cfg(feature = "columnar")]
    pub fn extend(&mut self, mut items: &[T]) {
        while !items.is_empty() {
            if self.last.len() == self.last.capacity() {
                self.begin_piece();
            }
            let room = self.last.capacity() - self.last.len();
            let (now, later) = items.split_at(room.min(items.len()));
            self.last.extend_from_slice(now);
            items = later;
        }
    }

    #[cold]
    fn begin_piece(&mut self) {
        let size = (2 * self.last.len()).clamp(FIRST_PIECE, LAST_PIECE);
        let full = std::mem::replace(&mut self.last, Vec::with_capacity(size));
        self.before += full.len();
        self.full.push(full);
    }

    pub fn finish(self) -> Arc<[T]> {
        let len = self.len();
        let mut items = self.full.into_iter().chain([self.last]).flatten();
        // An iterator of known length is collected into its final place at once.
        (0..len).map(|_| items.next().expect("the pieces hold `len` items")).collect()
    }
}

/// Equal texts of a column are stored once.
#[derive(Default)]
pub(super) struct GrowingTexts {
    codes: Option<Growing<u32>>,
    words: Vec<Arc<String>>,
    known: HashMap<Arc<String>, u32>,
    /// Room for the text that is looked up.
    text: String,
}

impl GrowingTexts {
    pub fn push(&mut self, text: &str) {
        let code = self.code(text);
        self.codes.get_or_insert_with(Growing::new).push(code);
    }

    /// A cell that holds nothing: it has the code of some word, which nobody may read.
    pub fn push_missing(&mut self) {
        self.codes.get_or_insert_with(Growing::new).push(0);
    }

    fn code(&mut self, text: &str) -> u32 {
        self.text.clear();
        self.text.push_str(text);
        if let Some(&code) = self.known.get(&self.text) {
            return code;
        }
        let code = u32::try_from(self.words.len()).expect("fewer than 2^32 distinct texts");
        let word = Arc::new(self.text.clone());
        self.words.push(word.clone());
        self.known.insert(word, code);
        code
    }

    pub fn finish(mut self) -> Column {
        if self.words.is_empty() {
            self.words.push(Arc::default());
        }
        let codes = self.codes.map_or_else(|| Arc::new([]) as Arc<[u32]>, Growing::finish);
        Column::Texts(Texts::new(codes, self.words.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "columnar")]
    #[test]
    fn what_goes_in_comes_out() {
        for len in [0, 1, FIRST_PIECE, FIRST_PIECE + 1, 10 * FIRST_PIECE + 3] {
            let items: Vec<u32> = (0..len as u32).collect();
            let (mut single, mut several) = (Growing::new(), Growing::new());
            items.iter().for_each(|&item| single.push(item));
            items.chunks(700).for_each(|chunk| several.extend(chunk));
            assert_eq!((single.len(), several.len()), (len, len));
            assert_eq!(*single.finish(), items[..]);
            assert_eq!(*several.finish(), items[..]);
        }
    }
}
