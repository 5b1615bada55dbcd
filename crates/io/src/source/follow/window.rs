//! The last rows of a table that grows.
//!
//! Rows leave in front in whole blocks, counted from the first row that ever came: how many are there hangs on nothing but
//! how many have come. With R rows asked for, and blocks of B rows, there are at least R and fewer than R + B.

/// Rows of a block that leaves as a whole.
const BLOCK: usize = 65_536;
/// A small window has blocks of at most this part of its rows.
const PARTS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub rows: usize,
}

impl Window {
    /// Rows of a block: 65,536, or the greatest power of two that is at most an eighth of a small window.
    pub fn block(self) -> usize {
        let most = (self.rows / PARTS).max(1);
        (1 << most.ilog2()).min(BLOCK)
    }

    /// The number of the first row that stays when so many have come.
    pub fn first(self, come: usize) -> usize {
        let beyond = come.saturating_sub(self.rows);
        beyond - beyond % self.block()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_rows_stay_as_were_asked_for_and_less_than_a_block_more() {
        for rows in [1, 7, 8, 100, 1000, 1 << 19, 1_000_000] {
            let window = Window { rows };
            let block = window.block();
            assert!(block == 1 || block <= rows / 8, "{rows}");
            for come in (0..5 * rows).step_by(rows / 7 + 1) {
                let (first, kept) = (window.first(come), come - window.first(come));
                assert!(first.is_multiple_of(block) && kept < rows + block);
                assert!(kept >= rows.min(come), "{kept} of {come}");
            }
        }
        assert_eq!(
            [8, 100, 1000, 1_000_000].map(|rows| Window { rows }.block()),
            [1, 8, 64, BLOCK]
        );
    }
}
