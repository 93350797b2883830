//! The names of a flame graph, each kept once.

use std::collections::HashMap;

use bathyscope_capture::{FrameId, MappingId};

use crate::{Dictionaries, answers::NodeKind, frame_names, hash::IdMap, needle::shown};

/// Frames beyond these are not told apart.
const MAX_FRAMES: usize = 1 << 27;
/// Modules beyond these are as if they were not known.
const MAX_MODULES: usize = 1 << 15;

/// One name of a frame: its index, what it stands for, and the index of the module.
pub(super) type FrameName = (u32, NodeKind, u16);

/// Names with an index each, and the frames that were looked up so far.
pub(super) struct Names<'a> {
    dictionaries: &'a Dictionaries,
    texts: Vec<String>,
    /// By name: the kinds that it stands for, one bit each.
    kinds: Vec<u8>,
    by_text: HashMap<String, u32>,
    functions: Vec<FrameName>,
    /// What code was mapped from, made visible; the first is empty and stands for what is not known.
    modules: Vec<String>,
    module_of: IdMap<MappingId, u16>,
    module_by_text: HashMap<String, u16>,
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
        let (modules, module_of, module_by_text) = (vec![String::new()], IdMap::default(), HashMap::new());
        Self { dictionaries, texts, kinds, by_text, functions, modules, module_of, module_by_text, by_frame, unknown }
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
    pub(super) fn frame(&mut self, frame: FrameId) -> &[FrameName] {
        let (mut start, mut end) = *self.by_frame.get(frame as usize).unwrap_or(&self.unknown);
        if start == end {
            start = self.functions.len() as u32;
            let module = self.module(frame);
            for (text, kind) in frame_names(self.dictionaries, frame) {
                let index = self.index(&text, kind);
                self.functions.push((index, kind, module));
            }
            end = self.functions.len() as u32;
            let slot = self.by_frame.get_mut(frame as usize).unwrap_or(&mut self.unknown);
            *slot = (start, end);
        }
        self.functions.get(start as usize..end as usize).unwrap_or(&[])
    }

    /// The index of what a frame's code was mapped from; 0 where that is not known.
    fn module(&mut self, frame: FrameId) -> u16 {
        let Some(id) = self.dictionaries.frame(frame).map(|frame| frame.mapping) else { return 0 };
        if let Some(known) = self.module_of.get(&id) {
            return *known;
        }
        let text = self.dictionaries.mapping(id).map(|mapping| shown(&mapping.name).into_owned()).unwrap_or_default();
        let next = self.modules.len();
        let index = match self.module_by_text.get(&text) {
            Some(known) => *known,
            None if text.is_empty() || next >= MAX_MODULES => 0,
            None => {
                self.module_by_text.insert(text.clone(), next as u16);
                self.modules.push(text);
                next as u16
            }
        };
        self.module_of.insert(id, index);
        index
    }

    /// The name of an index.
    pub(super) fn text(&self, index: u32) -> &str {
        self.texts.get(index as usize).map_or("", String::as_str)
    }

    /// The module of an index; empty where it is not known.
    pub(super) fn module_text(&self, index: u16) -> &str {
        self.modules.get(usize::from(index)).map_or("", String::as_str)
    }

    /// The modules by index.
    pub(super) fn take_modules(&mut self) -> Vec<String> {
        std::mem::take(&mut self.modules)
    }

    /// Whether a name stands for nodes of several kinds.
    pub(super) fn kinds_vary(&self) -> bool {
        self.kinds.iter().any(|kinds| kinds.count_ones() > 1)
    }

    /// The names in order, and the place of each index in them.
    pub(super) fn into_sorted(self) -> (Vec<String>, Vec<u32>) {
        sorted_names(self.texts)
    }
}

/// The names in order, and the place of each index in them.
pub(super) fn sorted_names(names: Vec<String>) -> (Vec<String>, Vec<u32>) {
    let mut order: Vec<(String, usize)> = names.into_iter().zip(0..).collect();
    order.sort_unstable();
    let mut ranks = vec![0; order.len()];
    for (rank, (_, index)) in (0u32..).zip(&order) {
        if let Some(slot) = ranks.get_mut(*index) {
            *slot = rank;
        }
    }
    (order.into_iter().map(|(text, _)| text).collect(), ranks)
}
