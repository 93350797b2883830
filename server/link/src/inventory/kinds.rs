//! What there is on a host that can be traced, by kind.

/// A kind of entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// A function of the kernel or of a module.
    Function,
    /// A tracepoint.
    Tracepoint,
    /// A tracer of ftrace.
    Tracer,
    /// A struct, union, enum or typedef of the kernel or of a module.
    Type,
    /// An event that is counted or sampled by its name.
    Perf,
    /// A probe that somebody has made by a text.
    Probe,
    /// A BPF program.
    Program,
    /// A program or library that a process has mapped.
    File,
    /// A function of such a file.
    User,
    /// A USDT marker of such a file.
    Marker,
}

/// What is read together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Source {
    Kernel,
    Tracepoints,
    Tracers,
    Perf,
    Probes,
    Programs,
    Files,
    /// Files that were read, one by one, when they were asked for.
    Symbols,
}

impl EntryKind {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 10] = [
        Self::Function,
        Self::Tracepoint,
        Self::Type,
        Self::Tracer,
        Self::Perf,
        Self::File,
        Self::User,
        Self::Marker,
        Self::Probe,
        Self::Program,
    ];

    /// Its name in addresses and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Tracepoint => "tracepoint",
            Self::Tracer => "tracer",
            Self::Type => "type",
            Self::Perf => "perf",
            Self::Probe => "probe",
            Self::Program => "program",
            Self::File => "file",
            Self::User => "user",
            Self::Marker => "marker",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Function => "Kernel functions",
            Self::Tracepoint => "Tracepoints",
            Self::Tracer => "Tracers",
            Self::Type => "Kernel types",
            Self::Perf => "Perf events",
            Self::Probe => "Dynamic probes",
            Self::Program => "BPF programs",
            Self::File => "Programs and libraries",
            Self::User => "User functions",
            Self::Marker => "USDT probes",
        }
    }

    /// The kind of that name.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    pub(super) fn source(self) -> Source {
        match self {
            Self::Function | Self::Type => Source::Kernel,
            Self::Tracepoint => Source::Tracepoints,
            Self::Tracer => Source::Tracers,
            Self::Perf => Source::Perf,
            Self::Probe => Source::Probes,
            Self::Program => Source::Programs,
            Self::File => Source::Files,
            Self::User | Self::Marker => Source::Symbols,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_word_of_its_own() {
        for kind in EntryKind::ALL {
            assert_eq!(EntryKind::of_word(kind.word()), Some(kind));
        }
        assert_eq!(EntryKind::of_word("functions"), None);
    }
}
