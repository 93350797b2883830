//! The small tables: what rows of streams refer to.

use bathyscope_capture::Display;

use crate::{
    capture::Capture,
    column::{ColumnInfo, ColumnKind},
};

/// A small table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Streams,
    Losses,
    Processes,
    Stacks,
    Frames,
    Mappings,
    Strings,
}

impl List {
    pub(crate) const ALL: [Self; 7] =
        [Self::Streams, Self::Losses, Self::Processes, Self::Stacks, Self::Frames, Self::Mappings, Self::Strings];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Streams => "streams",
            Self::Losses => "losses",
            Self::Processes => "processes",
            Self::Stacks => "stacks",
            Self::Frames => "frames",
            Self::Mappings => "mappings",
            Self::Strings => "strings",
        }
    }

    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Streams => "the streams of this capture and their totals",
            Self::Losses => "what was lost, where and when",
            Self::Processes => {
                "what happened to processes and threads; those from before with their parent, user and control group"
            }
            Self::Stacks => "each frame of each stack; depth 0 is the innermost",
            Self::Frames => "code addresses and their names",
            Self::Mappings => "what code was mapped from",
            Self::Strings => "texts by their ids",
        }
    }

    pub(crate) fn columns(self) -> Vec<ColumnInfo> {
        let whole = |name| ColumnInfo::new(name, ColumnKind::Integer, Display::Decimal);
        let time = |name| ColumnInfo::new(name, ColumnKind::Integer, Display::TimeNs);
        let hex = |name| ColumnInfo::new(name, ColumnKind::Integer, Display::Hex);
        let text = |name| ColumnInfo::new(name, ColumnKind::Text, Display::Text);
        match self {
            Self::Streams => {
                let counts = ["rows", "chunks", "hits", "filtered", "emitted", "stored"].map(whole);
                let ends = ["first", "last"].map(time);
                [whole("id"), text("name"), text("kind")].into_iter().chain(counts).chain(ends).collect()
            }
            Self::Losses => vec![text("stream"), text("stage"), whole("count"), time("start"), time("end")],
            Self::Processes => {
                vec![time("time"), whole("pid"), whole("tid"), text("kind"), text("name"), whole("parent")]
            }
            Self::Stacks => vec![whole("id"), whole("depth"), whole("frame"), text("function")],
            Self::Frames => {
                let place = [whole("id"), text("function"), hex("offset"), text("module"), text("kind"), hex("place")];
                place.into_iter().chain([text("file"), whole("line"), text("inlined")]).collect()
            }
            Self::Mappings => vec![whole("id"), text("kind"), text("name"), text("build_id"), whole("pid")],
            Self::Strings => vec![whole("id"), text("text")],
        }
    }

    /// How many rows there are.
    pub(crate) fn rows(self, capture: &Capture, stack_rows: impl FnOnce() -> usize) -> usize {
        let (source, dictionaries) = (&capture.source, capture.source.dictionaries());
        match self {
            Self::Streams => source.streams().len(),
            Self::Losses => source.losses().len(),
            Self::Processes => capture.processes.len(),
            Self::Stacks => stack_rows(),
            Self::Frames => dictionaries.last_frame() as usize,
            Self::Mappings => dictionaries.last_mapping() as usize,
            Self::Strings => dictionaries.last_string() as usize,
        }
    }

    /// Whether the rows with one id are found without looking at the others.
    pub(crate) const fn has_id(self) -> bool {
        matches!(self, Self::Stacks | Self::Frames | Self::Mappings | Self::Strings)
    }
}
