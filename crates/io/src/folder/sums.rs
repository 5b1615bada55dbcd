//! Check sums: CRC-32, which finds every change within 32 bits in a row and so every changed byte, and a quick sum of 64 bits
//! beside it, in whose company no accident passes.

/// CRC-32 (IEEE 802.3, reflected), eight bytes at a time.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = (before >> 8) ^ tables[0][(before & 0xFF) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

/// Sums of bytes that come in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    crc: u32,
    quick: u64,
    /// Bytes that make no whole word yet.
    rest: [u8; 8],
    held: usize,
    length: u64,
}

impl Default for Sums {
    fn default() -> Sums {
        Sums { crc: !0, quick: 0x9E37_79B9_7F4A_7C15, rest: [0; 8], held: 0, length: 0 }
    }
}

impl Sums {
    pub fn of(bytes: &[u8]) -> Sums {
        let mut sums = Sums::default();
        sums.add(bytes);
        sums
    }

    pub fn add(&mut self, mut bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.held > 0 {
            let taken = bytes.len().min(8 - self.held);
            self.rest[self.held..self.held + taken].copy_from_slice(&bytes[..taken]);
            self.held += taken;
            bytes = &bytes[taken..];
            if self.held < 8 {
                return;
            }
            self.word(self.rest);
            self.held = 0;
        }
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(*word));
        self.rest[..rest.len()].copy_from_slice(rest);
        self.held = rest.len();
    }

    fn word(&mut self, word: [u8; 8]) {
        let [a, b, c, d, e, f, g, h] = word;
        let low = u32::from_le_bytes([a, b, c, d]) ^ self.crc;
        let [a, b, c, d] = low.to_le_bytes();
        self.crc = [(7, a), (6, b), (5, c), (4, d), (3, e), (2, f), (1, g), (0, h)]
            .into_iter()
            .fold(0, |sum, (table, byte)| sum ^ TABLES[table][usize::from(byte)]);
        self.quick = mixed(self.quick, u64::from_le_bytes(word));
    }

    pub fn crc(&self) -> u32 {
        let step = |crc: u32, byte: &u8| {
            (crc >> 8) ^ TABLES[0][((crc ^ u32::from(*byte)) & 0xFF) as usize]
        };
        !self.rest[..self.held].iter().fold(self.crc, step)
    }

    pub fn quick(&self) -> u64 {
        let mut last = [0; 8];
        last[..self.held].copy_from_slice(&self.rest[..self.held]);
        mixed(mixed(self.quick, u64::from_le_bytes(last)), self.length)
    }
}

/// Both halves of a product with a large odd number, so that every bit of a word reaches all others.
fn mixed(sum: u64, word: u64) -> u64 {
    let product = u128::from(sum ^ word) * 0xD6E8_FEB8_6659_FD93;
    (product as u64).rotate_left(29) ^ (product >> 64) as u64 ^ sum.rotate_left(17)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crc_is_the_usual_one() {
        assert_eq!(Sums::of(b"123456789").crc(), 0xCBF4_3926);
        assert_eq!(Sums::of(b"").crc(), 0);
        let long: Vec<u8> = (0..1000u32).map(|k| (k * 7) as u8).collect();
        let bitwise = long.iter().fold(!0u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |c, _| {
                if c & 1 == 1 { (c >> 1) ^ 0xEDB8_8320 } else { c >> 1 }
            })
        });
        assert_eq!(Sums::of(&long).crc(), !bitwise);
    }

    #[test]
    fn pieces_do_not_matter_and_lengths_do() {
        let bytes: Vec<u8> = (0..101u8).collect();
        let whole = Sums::of(&bytes);
        for cut in 0..bytes.len() {
            let mut sums = Sums::of(&bytes[..cut]);
            sums.add(&bytes[cut..]);
            assert_eq!((sums.crc(), sums.quick()), (whole.crc(), whole.quick()), "cut at {cut}");
        }
        assert_ne!(Sums::of(&[0; 8]).quick(), Sums::of(&[0; 16]).quick());
        assert_ne!(Sums::of(&[0; 3]).quick(), Sums::of(&[0; 4]).quick());
    }
}
