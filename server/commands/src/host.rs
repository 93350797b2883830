//! What is asked of the host that the console runs on, while a text is read.

use bathyscope_capture::TracepointName;

/// Answers about a host. Each is none where it is not known, because nobody could ask or whoever asks may not know.
pub trait Host {
    /// The tracepoints that there are.
    fn tracepoints(&self) -> Option<&[TracepointName]> {
        None
    }

    /// The processes whose name is `name`, the one that started last at the end.
    fn processes(&self, name: &str) -> Option<Vec<u32>> {
        let _ = name;
        None
    }
}

/// A host of which nothing is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnknownHost;

impl Host for UnknownHost {}
