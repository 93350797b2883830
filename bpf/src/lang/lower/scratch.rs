//! Memory of a program that is too large for its stack: a value of a per-CPU array, given out piece by piece.
//!
//! Pieces are given back in the reverse order, so a counter is enough. The kernel allocates at most 32 KiB for each CPU at
//! once; where more is needed there are several arrays.

/// The most bytes of one array.
pub(super) const CHUNK_BYTES: u32 = 32 << 10;

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
