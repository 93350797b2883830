//! Stacks as text, once each.

use std::collections::HashMap;

use bathyscope_capture::StackId;
use bathyscope_views::{Dictionaries, frame_names};

/// The most stacks that are remembered; then it begins anew, so that a long export does not grow.
const MAX_KEPT: usize = 4096;

/// Remembers what stacks are written as.
#[derive(Default)]
pub(crate) struct StackTexts {
    known: HashMap<StackId, String>,
}

impl StackTexts {
    /// The text of a stack: known, or made by `write` from its names, innermost first.
    pub(crate) fn get(
        &mut self,
        dictionaries: &Dictionaries,
        stack: StackId,
        write: impl FnOnce(Vec<String>) -> String,
    ) -> &str {
        if self.known.len() >= MAX_KEPT && !self.known.contains_key(&stack) {
            self.known.clear();
        }
        self.known.entry(stack).or_insert_with(|| {
            let frames = dictionaries.stack(stack).unwrap_or(&[]).iter();
            write(frames.flat_map(|frame| frame_names(dictionaries, *frame)).map(|(name, _)| name).collect())
        })
    }
}
