//! By what captures are sorted.

/// By what captures are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SummarySort {
    /// When they began, newest first.
    #[default]
    Started,
    /// How long they are, longest first.
    Duration,
    /// Rows, most first.
    Rows,
    /// Bytes, most first.
    Bytes,
    /// Lost events, most first.
    Lost,
    /// Title, `a` first.
    Title,
    /// Host, likewise.
    Host,
    /// Who started or imported it, likewise.
    Owner,
    /// Whose events, likewise.
    Target,
    /// Kinds of sources, likewise.
    Method,
    /// What it is doing or how it ended, likewise.
    State,
}

impl SummarySort {
    /// All, each with its name in addresses and on the command line.
    pub const ALL: [(&'static str, Self); 11] = [
        ("started", Self::Started),
        ("duration", Self::Duration),
        ("rows", Self::Rows),
        ("bytes", Self::Bytes),
        ("lost", Self::Lost),
        ("title", Self::Title),
        ("host", Self::Host),
        ("owner", Self::Owner),
        ("target", Self::Target),
        ("method", Self::Method),
        ("state", Self::State),
    ];

    /// Its name in addresses and on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, sort)| *sort == self).map_or("", |(name, _)| name)
    }

    /// The sort that `text` names; with `-` before the name it is the other way round, which is said beside it.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn parse(text: &str) -> Result<(Self, bool), UnknownSortError> {
        let (reversed, name) = text.strip_prefix('-').map_or((false, text), |name| (true, name));
        // What is larger than something is found by its size.
        let name = if name == "size" { "bytes" } else { name };
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, sort)| (*sort, reversed)).ok_or(UnknownSortError)
    }

    /// The index of `listed` that is in this order, forwards or backwards.
    pub(crate) const fn index(self) -> &'static str {
        match self {
            Self::Started => "listed_by_start",
            Self::Duration => "listed_by_duration",
            Self::Rows => "listed_by_rows",
            Self::Bytes => "listed_by_size",
            Self::Lost => "listed_by_lost",
            Self::Title => "listed_by_title",
            Self::Host => "listed_by_host",
            Self::Owner => "listed_by_owner",
            Self::Target => "listed_by_target",
            Self::Method => "listed_by_method",
            Self::State => "listed_by_state",
        }
    }

    /// What follows `ORDER BY`: the order of the index, or its reverse.
    pub(crate) fn order(self, reversed: bool) -> String {
        let (down, up) = if reversed { ("ASC", "DESC") } else { ("DESC", "ASC") };
        let number =
            |column: &str| format!("listed.{column} {down}, listed.started_unix_ns {down}, listed.number {down}");
        let text = |column: &str| {
            format!("listed.{column} COLLATE NOCASE {up}, listed.started_unix_ns {down}, listed.number {down}")
        };
        match self {
            Self::Started => format!("listed.started_unix_ns {down}, listed.number {down}"),
            Self::Duration => number("duration_ns"),
            Self::Rows => number("row_count"),
            Self::Bytes => format!(
                "listed.size_bytes {down}, listed.started_unix_ns {down}, listed.pinned {down}, listed.number {down}"
            ),
            Self::Lost => number("lost"),
            Self::Title => text("title"),
            Self::Host => text("host_name"),
            Self::Owner => text("owner"),
            Self::Target => text("target"),
            Self::Method => text("method"),
            Self::State => text("state"),
        }
    }
}

/// There is no sort of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("one of {}", SummarySort::ALL.map(|(name, _)| name).join(", "))]
pub struct UnknownSortError;
