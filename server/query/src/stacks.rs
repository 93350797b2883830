//! Stacks as rows: one for each frame, and the function of a frame.

use std::ops::Range;

use bathyscope_capture::StackId;
use bathyscope_views::{Dictionaries, frame_names};

/// Where the frames of each stack are in the table of them all.
pub(crate) struct StackRows {
    /// The row after the last frame of each stack, by id from 1.
    ends: Vec<usize>,
}

impl StackRows {
    pub(crate) fn new(dictionaries: &Dictionaries) -> Self {
        let (mut ends, mut end) = (Vec::new(), 0_usize);
        let Ok(()) = dictionaries.for_each_stack(1..=dictionaries.last_stack(), |_id, stack| {
            end += stack.map_or(0, <[_]>::len);
            ends.push(end);
            Ok::<_, std::convert::Infallible>(())
        });
        Self { ends }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    pub(crate) fn of(&self, id: i64) -> Range<usize> {
        let end = |id: i64| usize::try_from(id.saturating_sub(1)).ok().and_then(|index| self.ends.get(index)).copied();
        end(id).map_or(0..0, |last| end(id.saturating_sub(1)).unwrap_or(0)..last)
    }

    /// The stack and the depth of a row.
    pub(crate) fn at(&self, row: usize) -> Option<(StackId, usize)> {
        let index = self.ends.partition_point(|end| *end <= row);
        let begin = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        Some((u32::try_from(index).ok()?.checked_add(1)?, row.checked_sub(begin)?))
    }
}

/// The function that contains a frame, without those that were inlined into it.
pub(crate) fn function_of(dictionaries: &Dictionaries, frame: u32) -> String {
    frame_names(dictionaries, frame).pop().map(|(name, _kind)| name).unwrap_or_default()
}
