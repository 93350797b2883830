//! Lines and columns of the script.

use bathyscope_plan::Span;

/// Where the lines of a text begin.
#[derive(Debug)]
pub(super) struct Lines {
    starts: Vec<u32>,
}

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        let breaks = text.bytes().zip(1_u32..).filter(|(byte, _)| *byte == b'\n').map(|(_, next)| next);
        Self { starts: std::iter::once(0).chain(breaks).collect() }
    }

    /// The line and the column (in bytes) at which it begins, both from 1.
    pub(super) fn at(&self, span: Span) -> (u32, u32) {
        let line = self.starts.partition_point(|start| *start <= span.start);
        let start = line.checked_sub(1).and_then(|index| self.starts.get(index)).copied().unwrap_or(0);
        (u32::try_from(line).unwrap_or(u32::MAX), span.start.saturating_sub(start).saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_begin_at_one() {
        let lines = Lines::of("a\nbc\n\nd");
        let at = |start| lines.at(Span { start, end: start });
        assert_eq!([at(0), at(1), at(2), at(3), at(5), at(6), at(9)].map(|(line, _)| line), [1, 1, 2, 2, 3, 4, 4]);
        assert_eq!((at(3).1, at(6).1), (2, 1));
    }
}
