//! What the kernel says about its pages: `events/header_page` and `events/header_event`.

use bathyscope_catalog::{EventField, FormatError, parse_fields};

/// The largest page that is read; the kernel's largest sub-buffers have 64 KiB on most machines.
pub const MAX_PAGE_BYTES: usize = 1 << 20;
/// The longest `header_event` that is read.
const MAX_HEADER_EVENT_BYTES: usize = 16 << 10;

/// The lines of `header_event` on which the reading of pages rests: what is said, and what it must be.
const EXPECTED: [(&str, &str); 7] = [
    ("type_len", "5 bits"),
    ("time_delta", "27 bits"),
    ("array", "32 bits"),
    ("padding", "type == 29"),
    ("time_extend", "type == 30"),
    ("time_stamp", "type == 31"),
    ("data max type_len", "28"),
];

/// Where things are in a page of `trace_pipe_raw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub(super) time_at: usize,
    pub(super) commit_at: usize,
    pub(super) commit_bytes: usize,
    pub(super) data_at: usize,
    page_bytes: usize,
}

/// A description of pages that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageLayoutError {
    /// `header_page` cannot be read.
    #[error("events/header_page cannot be read")]
    Page(#[from] FormatError),
    /// `header_page` lacks a field or has it where it cannot be.
    #[error("events/header_page describes no usable field `{0}`; it must be read in one piece")]
    Field(&'static str),
    /// Pages are larger than [`MAX_PAGE_BYTES`].
    #[error(
        "the kernel's pages of {bytes} bytes are larger than {MAX_PAGE_BYTES}; set a smaller buffer_subbuf_size_kb"
    )]
    TooLarge {
        /// Bytes of a page.
        bytes: usize,
    },
    /// `header_event` says something else than has been known since 2009.
    #[error("events/header_event says something else about `{0}` than is known; this kernel's pages cannot be read")]
    Event(&'static str),
}

impl Layout {
    /// Reads both descriptions.
    ///
    /// # Errors
    /// If pages are of another kind than this module reads.
    pub fn parse(header_page: &[u8], header_event: &[u8]) -> Result<Self, PageLayoutError> {
        let fields = parse_fields(header_page)?;
        let find =
            |name: &'static str| fields.iter().find(|field| field.name == name).ok_or(PageLayoutError::Field(name));
        let number = |name: &'static str| {
            let field = find(name)?;
            matches!(field.size, 4 | 8).then_some(field).ok_or(PageLayoutError::Field(name))
        };
        let (time, commit, data) = (number("timestamp")?, number("commit")?, find("data")?);
        let page_bytes = end(data);
        if page_bytes > MAX_PAGE_BYTES {
            return Err(PageLayoutError::TooLarge { bytes: page_bytes });
        }
        if time.size != 8 || end(time) > data.offset as usize {
            return Err(PageLayoutError::Field("timestamp"));
        }
        if end(commit) > data.offset as usize {
            return Err(PageLayoutError::Field("commit"));
        }
        check_header_event(header_event)?;
        Ok(Self {
            time_at: time.offset as usize,
            commit_at: commit.offset as usize,
            commit_bytes: commit.size as usize,
            data_at: data.offset as usize,
            page_bytes,
        })
    }

    /// Bytes of a page, as one read of `trace_pipe_raw` gives it at most.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }
}

fn end(field: &EventField) -> usize {
    (field.offset as usize).saturating_add(field.size as usize)
}

fn check_header_event(bytes: &[u8]) -> Result<(), PageLayoutError> {
    let bytes = bytes.get(..bytes.len().min(MAX_HEADER_EVENT_BYTES)).unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    for (name, expected) in EXPECTED {
        // `data max type_len  == 28` is the one line without a colon.
        let said = text.lines().find_map(|line| {
            let line = line.trim();
            match line.split_once(':') {
                Some((key, value)) if key.trim() == name => Some(value.trim()),
                Some(_) => None,
                None => line.split_once("==").filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim()),
            }
        });
        let same = said.is_some_and(|said| said.split_whitespace().eq(expected.split_whitespace()));
        if !same {
            return Err(PageLayoutError::Event(name));
        }
    }
    Ok(())
}
