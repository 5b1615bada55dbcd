//! Bytes that are nearly those of a good file or program: what a fuzzer does, from a seed and without a memory. Pieces are
//! changed, cut, doubled, moved in from other entries of the corpus, or replaced by numbers and words that matter.

use smidgen::value::Rng;

/// Words that mean something in one of the formats.
const WORDS: &[&[u8]] = &[
    b"[",
    b"]",
    b"(",
    b")",
    b"{",
    b"}",
    b"'",
    b"\"",
    b",",
    b"\n",
    b";",
    b"#",
    b"\0",
    b"-",
    b"1e999",
    b"-1e-320",
    b"9007199254740993",
    b"nan",
    b"inf",
    b"null",
    b"true",
    b"1e9",
    b"-1",
    b"0",
    b"[[",
    b"(mem ",
    b"(lambda (i) ",
    b"(flip 0.5)",
    b"(normal 0 1)",
    b"[infer 1]",
    b"[forget a]",
    b"(if ",
    b"(range 0 3)",
    b"(vector)",
    b"(list)",
    b"row.x",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\0\0\0\x80",
    b"\xef\xbb\xbf",
    b"PAR1",
    b"ARROW1",
    b"\x93NUMPY",
    b"PK\x03\x04",
    b"\xc3\xa9",
    b"\xf0\x9f\x98\x80",
];

/// One of the entries, changed in a few places.
pub fn changed(corpus: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = corpus[rng.below(corpus.len())].clone();
    for _ in 0..1 + rng.below(6) {
        change(&mut bytes, corpus, rng);
    }
    bytes
}

/// A piece of at most so many bytes.
fn piece(bytes: &[u8], most: usize, rng: &mut Rng) -> Vec<u8> {
    if bytes.is_empty() {
        return Vec::new();
    }
    let from = rng.below(bytes.len());
    let length = 1 + rng.below(most);
    bytes[from..(from + length).min(bytes.len())].to_vec()
}

fn change(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.below(bytes.len() + 1);
    let new = match rng.below(7) {
        0 if at < bytes.len() => {
            bytes[at] ^= 1 << rng.below(8);
            return;
        }
        1 if at < bytes.len() => {
            bytes[at] = rng.below(256) as u8;
            return;
        }
        2 => {
            let end = (at + 1 + rng.below(24)).min(bytes.len());
            bytes.drain(at..end);
            return;
        }
        3 => {
            bytes.truncate(at);
            return;
        }
        4 => WORDS[rng.below(WORDS.len())].to_vec(),
        5 => piece(bytes, 60, rng),
        _ => piece(&corpus[rng.below(corpus.len())], 60, rng),
    };
    // Over what stands there, or in front of it.
    let end = if rng.coin() { (at + new.len()).min(bytes.len()) } else { at };
    bytes.splice(at..end, new);
}
