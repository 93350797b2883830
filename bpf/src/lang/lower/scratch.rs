//! Memory of a program that is too large for its stack: a value of a per-CPU array, given out piece by piece.
//!
//! Pieces are given back in the reverse order, so a counter is enough. The kernel allocates at most 32 KiB for each CPU at
//! once; where more is needed there are several arrays. Programs whose runs may come in between one another have several
//! values in each: see [`super::nesting`].

/// The most bytes of one array.
pub(super) const CHUNK_BYTES: u32 = 32 << 10;

/// The most values of an array, so the most runs that one CPU can have begun.
pub(super) const MAX_PIECES: u32 = 16;
/// The fewest.
const MIN_PIECES: u32 = 4;
/// What is spent on them for each CPU if that is possible.
const PIECES_BYTES: u32 = 128 << 10;
/// How the arrays are called whose values are claimed.
pub(super) const CLAIMED: &str = "scratch_user";

/// How many values arrays have that need so many bytes together for each.
pub(super) fn pieces(bytes: u32) -> u32 {
    (PIECES_BYTES / bytes.max(1)).clamp(MIN_PIECES, MAX_PIECES)
}

/// A piece of scratch memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// In which array.
    pub chunk: u32,
    /// Where.
    pub offset: u32,
}

/// What is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    chunk: u32,
    used: u32,
}

/// Gives out pieces.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    at: Mark,
    /// How much of each array was used at most.
    most: Vec<u32>,
}

impl Scratch {
    /// A piece, aligned to 8; none if it is larger than an array can be.
    pub(super) fn take(&mut self, bytes: u32) -> Option<Piece> {
        let bytes = bytes.checked_next_multiple_of(8).filter(|bytes| *bytes <= CHUNK_BYTES)?;
        if self.at.used + bytes > CHUNK_BYTES {
            self.at = Mark { chunk: self.at.chunk + 1, used: 0 };
        }
        let Mark { chunk, used: offset } = self.at;
        self.at.used += bytes;
        let index = chunk as usize;
        if self.most.len() <= index {
            self.most.resize(index + 1, 0);
        }
        if let Some(most) = self.most.get_mut(index) {
            *most = self.at.used.max(*most);
        }
        Some(Piece { chunk, offset })
    }

    pub(super) fn mark(&self) -> Mark {
        self.at
    }

    /// Gives back all that was taken since the mark.
    pub(super) fn release(&mut self, mark: Mark) {
        self.at = mark;
    }

    /// Bytes of each array.
    pub(super) fn sizes(&self) -> &[u32] {
        &self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_do_not_overlap_and_are_given_back() {
        let mut scratch = Scratch::default();
        assert_eq!(scratch.take(5), Some(Piece { chunk: 0, offset: 0 }));
        let mark = scratch.mark();
        assert_eq!(scratch.take(1024), Some(Piece { chunk: 0, offset: 8 }));
        assert_eq!(scratch.take(CHUNK_BYTES), Some(Piece { chunk: 1, offset: 0 }));
        assert_eq!(scratch.take(CHUNK_BYTES + 1), None);
        scratch.release(mark);
        assert_eq!(scratch.take(8), Some(Piece { chunk: 0, offset: 8 }));
        assert_eq!(scratch.sizes(), [1032, CHUNK_BYTES]);
    }
}
