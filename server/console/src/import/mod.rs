//! Captures from files of somebody else, whoever brings them: the browser, or a terminal.
//!
//! A file is read by a short-lived child without rights (`child`). At a terminal the verb starts it; the console cannot,
//! as its filter of system calls lets it start no process. So it has a process from its beginning, the *reader*
//! (`reader`), which starts a child for each file and passes on what both say. What comes of it the store takes as
//! hostile, and either whole or not at all.

mod child;
mod frames;
mod importer;
mod reader;

use std::fmt;

pub use child::{ImportReply, Message, first_answer, start, watch};
pub use frames::{take_frames, to_frames};
pub use importer::{ImportError, Imported, Importer, NewReader};
pub use reader::serve as serve_reader;

/// The largest file that is imported: the child reads it into memory.
pub const MAX_IMPORT_BYTES: u64 = 512 << 20;
/// So many bytes tell what a file is.
pub const HEAD_BYTES: usize = 16;

/// What a file is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A whole capture, as `export --format bathy` writes it.
    Bathy,
}

impl Format {
    /// All that can be imported.
    pub const ALL: [Self; 1] = [Self::Bathy];

    /// The format of a file that begins with `head`; none if it is not one that can be imported.
    pub fn of(head: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|format| head.starts_with(format.magic()))
    }

    /// With what each file of it begins.
    const fn magic(self) -> &'static [u8] {
        match self {
            // A database of SQLite.
            Self::Bathy => b"SQLite format 3\0",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bathy => f.write_str(".bathy (a whole capture)"),
        }
    }
}

/// What a file that begins with none of the formats is told.
pub fn unknown_format() -> String {
    let all: Vec<String> = Format::ALL.iter().map(ToString::to_string).collect();
    format!("its format is not known; what can be imported: {}", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_the_first_bytes() {
        for (head, expected) in [
            (&b"SQLite format 3\0\x10\0"[..], Some(Format::Bathy)),
            (b"SQLite format 3", None),
            (b"PERFILE2", None),
            (b"", None),
        ] {
            assert_eq!(Format::of(head), expected, "{head:?}");
        }
        assert!(Format::ALL.iter().all(|format| format.magic().len() <= HEAD_BYTES));
    }
}
