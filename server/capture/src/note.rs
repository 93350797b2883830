//! Notes of people on a capture: what a note is tied to, and which texts it may have.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    id::hex_bits,
    text::{hides_or_moves_text, visible},
};

/// The longest text of a note.
pub const MAX_NOTE_BYTES: usize = 8192;
/// The longest name of a frame or a function that a note is tied to.
pub const MAX_NOTE_NAME_BYTES: usize = 4096;
/// The longest view that a note was written in.
pub const MAX_NOTE_VIEW_BYTES: usize = 8192;
/// The longest key of a track that a note is on.
pub const MAX_NOTE_TRACK_BYTES: usize = 256;
/// How many colours a note can have.
pub const NOTE_COLOURS: u8 = 8;
/// Times of notes are below this, so that differences of them cannot overflow.
const MAX_NOTE_NS: u64 = 1 << 62;

/// Names one note for ever: 64 random bits, written as 16 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct NoteId(u64);

/// The text was not 16 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a note's id is 16 lower-case hexadecimal digits")]
pub struct ParseNoteIdError;

impl NoteId {
    /// An id from random bits that the caller drew.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The bits, as a database keeps them.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

impl fmt::Display for NoteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for NoteId {
    type Err = ParseNoteIdError;

    fn from_str(text: &str) -> Result<Self, ParseNoteIdError> {
        hex_bits(text).map(Self).ok_or(ParseNoteIdError)
    }
}

impl From<NoteId> for String {
    fn from(id: NoteId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for NoteId {
    type Error = ParseNoteIdError;

    fn try_from(text: String) -> Result<Self, ParseNoteIdError> {
        text.parse()
    }
}

/// What a note is tied to. Times are by the capture's clock in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum NoteAnchor {
    /// A moment.
    Moment {
        /// When.
        start_ns: u64,
    },
    /// A range of time.
    Range {
        /// From when.
        start_ns: u64,
        /// Until before when.
        end_ns: u64,
    },
    /// A row of a stream.
    Row {
        /// Which stream, from 0.
        stream: u16,
        /// Which of its rows in the order of time, from 0.
        row: u64,
        /// When it is.
        start_ns: u64,
    },
    /// A track as a whole: [`NoteContent::track`] says which.
    Track,
    /// A frame of a flame graph: a function below certain callers.
    Frame {
        /// The frame as addresses of pages name it: 16 digits in base sixteen, which its callers and its name give.
        node: String,
        /// Its name.
        name: String,
    },
    /// A function, wherever it is found.
    Function {
        /// Its name.
        name: String,
    },
    /// The capture as a whole.
    Capture,
    /// Another note, which is no answer itself.
    Answer {
        /// Which.
        to: NoteId,
    },
}

impl NoteAnchor {
    /// From when until when; the same for a moment and a row. None for what has no time.
    pub const fn times(&self) -> Option<(u64, u64)> {
        match self {
            Self::Moment { start_ns } | Self::Row { start_ns, .. } => Some((*start_ns, *start_ns)),
            Self::Range { start_ns, end_ns } => Some((*start_ns, *end_ns)),
            Self::Track | Self::Frame { .. } | Self::Function { .. } | Self::Capture | Self::Answer { .. } => None,
        }
    }

    /// The name that it is found by, if it is found by one.
    fn name(&self) -> Option<&str> {
        match self {
            Self::Frame { name, .. } | Self::Function { name } => Some(name),
            _ => None,
        }
    }
}

/// Why a note cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// The text is too long.
    #[error("its text has {bytes} bytes; at most {MAX_NOTE_BYTES} are kept: shorten it, or write two notes")]
    Long {
        /// How long it is.
        bytes: usize,
    },
    /// The text has a character that cannot be seen or changes how others are seen.
    #[error("it has the character U+{:04X}, which hides or moves text; write it without", u32::from(*.0))]
    Character(char),
    /// The range has no length, or a time cannot be of a capture.
    #[error("it is from {start_ns} ns until {end_ns} ns, which is no range of time of a capture")]
    Range {
        /// From when.
        start_ns: u64,
        /// Until when.
        end_ns: u64,
    },
    /// The key of the track is too long.
    #[error("the key of its track has {bytes} bytes; at most {MAX_NOTE_TRACK_BYTES} are kept")]
    Track {
        /// How long it is.
        bytes: usize,
    },
    /// It is on a track as a whole, and names none.
    #[error("it is on a track and does not say which; give `track` its key, such as `tid:42`")]
    NoTrack,
    /// The frame or function has no name, or too long a one.
    #[error("the name of its function has {bytes} bytes; from 1 to {MAX_NOTE_NAME_BYTES} are kept")]
    Name {
        /// How long it is.
        bytes: usize,
    },
    /// The frame is not named as addresses name it.
    #[error("`{0}` names no frame; frames are named by 16 lower-case hexadecimal digits")]
    Node(String),
    /// The view is no query of an address.
    #[error("its view is no query of an address: at most {MAX_NOTE_VIEW_BYTES} printable characters without blanks")]
    View,
    /// There is no such colour.
    #[error("it has colour {0}; there are those from 0 on below {NOTE_COLOURS}")]
    Colour(u8),
}

/// What people write of a note and can change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteContent {
    /// What it is tied to.
    pub anchor: NoteAnchor,
    /// The track that it is on, by the key that addresses of pages have; none for all.
    pub track: Option<String>,
    /// The view in which it was written: the query of the page's address; empty where the place needs none.
    #[serde(default)]
    pub view: String,
    /// What it says: Markdown, lines with `\n` between them. It may be empty.
    pub text: String,
    /// Whether the text is plain: it was written before notes were Markdown.
    #[serde(default)]
    pub plain: bool,
    /// Which of the colours of categories it has; none for that of all notes.
    pub colour: Option<u8>,
}

impl NoteContent {
    /// Whether it can be kept.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> Result<(), NoteError> {
        self.check_anchor()?;
        if self.text.len() > MAX_NOTE_BYTES {
            return Err(NoteError::Long { bytes: self.text.len() });
        }
        if self.view.len() > MAX_NOTE_VIEW_BYTES || !self.view.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(NoteError::View);
        }
        let track = self.track.as_deref().unwrap_or_default();
        if track.len() > MAX_NOTE_TRACK_BYTES {
            return Err(NoteError::Track { bytes: track.len() });
        }
        if let Some(colour) = self.colour.filter(|colour| *colour >= NOTE_COLOURS) {
            return Err(NoteError::Colour(colour));
        }
        let mut names = self.anchor.name().unwrap_or_default().chars().chain(track.chars());
        let hidden = hidden_character(&self.text).or_else(|| names.find(|c| hides_or_moves_text(*c)));
        hidden.map_or(Ok(()), |c| Err(NoteError::Character(c)))
    }

    /// Whether there can be such a place.
    fn check_anchor(&self) -> Result<(), NoteError> {
        let (start_ns, end_ns) = self.anchor.times().unwrap_or_default();
        let has_length = !matches!(self.anchor, NoteAnchor::Range { .. }) || start_ns < end_ns;
        if !has_length || end_ns > MAX_NOTE_NS {
            return Err(NoteError::Range { start_ns, end_ns });
        }
        match &self.anchor {
            NoteAnchor::Track if self.track.is_none() => Err(NoteError::NoTrack),
            NoteAnchor::Frame { node, .. } if hex_bits(node).is_none() => {
                Err(NoteError::Node(visible(node.as_bytes())))
            }
            NoteAnchor::Frame { name, .. } | NoteAnchor::Function { name }
                if !(1..=MAX_NOTE_NAME_BYTES).contains(&name.len()) =>
            {
                Err(NoteError::Name { bytes: name.len() })
            }
            _ => Ok(()),
        }
    }
}

/// The first character of a text of lines that cannot be seen or changes how others are seen; none if there is none.
pub fn hidden_character(text: &str) -> Option<char> {
    // What joins and colours pictographs stays; it hides nothing by itself.
    let is_kept = |c: char| matches!(c, '\n' | '\u{200d}' | '\u{fe0f}');
    text.chars().filter(|c| !is_kept(*c)).find(|c| hides_or_moves_text(*c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str) -> NoteContent {
        NoteContent {
            anchor: NoteAnchor::Moment { start_ns: 5 },
            track: Some("tid:7".to_owned()),
            view: String::new(),
            plain: false,
            text: text.to_owned(),
            colour: Some(7),
        }
    }

    #[test]
    fn what_cannot_be_kept_is_refused_in_words() {
        for kept in ["", "two\nlines", "größer ⚠️", &"x".repeat(MAX_NOTE_BYTES)] {
            assert_eq!(note(kept).check(), Ok(()), "{kept}");
        }
        assert_eq!(note("a\u{202e}b").check(), Err(NoteError::Character('\u{202e}')));
        assert_eq!(
            note("a\u{7}").check().unwrap_err().to_string(),
            "it has the character U+0007, which hides or moves text; write it without"
        );
        assert_eq!(note(&"x".repeat(MAX_NOTE_BYTES + 1)).check(), Err(NoteError::Long { bytes: MAX_NOTE_BYTES + 1 }));
        let with = |anchor| NoteContent { anchor, ..note("") }.check();
        assert_eq!(with(NoteAnchor::Range { start_ns: 4, end_ns: 5 }), Ok(()));
        assert!(with(NoteAnchor::Range { start_ns: 5, end_ns: 5 }).is_err());
        assert!(with(NoteAnchor::Moment { start_ns: u64::MAX }).is_err());
        assert_eq!(with(NoteAnchor::Row { stream: 1, row: 7, start_ns: 5 }), Ok(()));
        for kept in [NoteAnchor::Track, NoteAnchor::Capture, NoteAnchor::Answer { to: NoteId(1) }] {
            assert_eq!(with(kept), Ok(()));
        }
        let (node, name) = ("00ff00ff00ff00ff".to_owned(), "main".to_owned());
        assert_eq!(with(NoteAnchor::Frame { node: node.clone(), name: name.clone() }), Ok(()));
        let other = NoteAnchor::Frame { node: "main".to_owned(), name };
        assert_eq!(with(other), Err(NoteError::Node("main".to_owned())));
        for (name, is_kept) in [("", false), ("f", true), (&"f".repeat(4096), true), (&"f".repeat(4097), false)] {
            assert_eq!(with(NoteAnchor::Function { name: name.to_owned() }).is_ok(), is_kept, "{}", name.len());
        }
        assert_eq!(
            with(NoteAnchor::Frame { node, name: "a\u{202e}".to_owned() }),
            Err(NoteError::Character('\u{202e}'))
        );
        assert_eq!(NoteContent { track: None, anchor: NoteAnchor::Track, ..note("") }.check(), Err(NoteError::NoTrack));
        for (view, is_kept) in [("v=3&tab=flame", true), ("a b", false), ("\u{e4}", false), (&"x".repeat(8193), false)]
        {
            assert_eq!(NoteContent { view: view.to_owned(), ..note("") }.check().is_ok(), is_kept, "{view}");
        }
        assert_eq!(NoteContent { colour: Some(8), ..note("") }.check(), Err(NoteError::Colour(8)));
        assert!(NoteContent { track: Some("\n".to_owned()), ..note("") }.check().is_err());
        assert!(NoteContent { track: Some("t".repeat(257)), ..note("") }.check().is_err());
    }

    #[test]
    fn an_id_is_sixteen_lower_case_digits() {
        assert_eq!("00000000000000ff".parse(), Ok(NoteId(255)));
        assert_eq!(NoteId(255).to_string(), "00000000000000ff");
        assert_eq!("ff".parse::<NoteId>(), Err(ParseNoteIdError));
    }
}
