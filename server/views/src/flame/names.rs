//! The names of a flame graph, each kept once.

use std::collections::HashMap;

use bathyscope_capture::FrameId;

use crate::{Dictionaries, answers::NodeKind, frame_names};

/// Frames beyond these are not told apart.
const MAX_FRAMES: usize = 1 << 27;

/// Names with an index each, and the frames that were looked up so far.
pub(super) struct Names<'a> {
    dictionaries: &'a Dictionaries,
    texts: Vec<String>,
    /// By name: the kinds that it stands for, one bit each.
    kinds: Vec<u8>,
    by_text: HashMap<String, u32>,
    functions: Vec<(u32, NodeKind)>,
    /// By frame: where its names begin and end in `functions`; nowhere where it was not looked up yet.
    by_frame: Vec<(u32, u32)>,
    /// Those of a frame that no dictionary has.
    unknown: (u32, u32),
}

impl<'a> Names<'a> {
    pub(super) fn new(dictionaries: &'a Dictionaries) -> Self {
        let frames = (dictionaries.last_frame() as usize).min(MAX_FRAMES);
        // Zeros that nobody writes to take no memory.
        let by_frame = vec![(0, 0); frames + 1];
        let (texts, kinds, by_text, functions, unknown) = Default::default();
        Self { dictionaries, texts, kinds, by_text, functions, by_frame, unknown }
    }

    /// The index of a name that stands for a node of a kind.
    pub(super) fn index(&mut self, text: &str, kind: NodeKind) -> u32 {
        let index = match self.by_text.get(text) {
            Some(index) => *index,
            None => {
                let index = self.texts.len() as u32;
                self.by_text.insert(text.to_owned(), index);
                self.texts.push(text.to_owned());
                self.kinds.push(0);
                index
            }
        };
        if let Some(kinds) = self.kinds.get_mut(index as usize) {
            *kinds |= 1 << kind as u8;
        }
        index
    }

    /// The names of a frame, innermost first.
    pub(super) fn frame(&mut self, frame: FrameId) -> &[(u32, NodeKind)] {
        let (mut start, mut end) = *self.by_frame.get(frame as usize).unwrap_or(&self.unknown);
        if start == end {
            start = self.functions.len() as u32;
            for (text, kind) in frame_names(self.dictionaries, frame) {
                let index = self.index(&text, kind);
                self.functions.push((index, kind));
            }
            end = self.functions.len() as u32;
            let slot = self.by_frame.get_mut(frame as usize).unwrap_or(&mut self.unknown);
            *slot = (start, end);
        }
        self.functions.get(start as usize..end as usize).unwrap_or(&[])
    }

    /// Whether a name stands for nodes of several kinds.
    pub(super) fn kinds_vary(&self) -> bool {
        self.kinds.iter().any(|kinds| kinds.count_ones() > 1)
    }

    /// The names in order, and the place of each index in them.
    pub(super) fn into_sorted(self) -> (Vec<String>, Vec<u32>) {
        let mut order: Vec<(String, usize)> = self.texts.into_iter().zip(0..).collect();
        order.sort_unstable();
        let mut ranks = vec![0; order.len()];
        for (rank, (_, index)) in (0u32..).zip(&order) {
            if let Some(slot) = ranks.get_mut(*index) {
                *slot = rank;
            }
        }
        (order.into_iter().map(|(text, _)| text).collect(), ranks)
    }
}
