//! A capture's dictionaries as views read them: all in memory, or page by page when they are asked for.

mod names;
mod page;
mod paged;

use std::sync::Arc;

use bathyscope_capture::{
    Append, Frame, FrameId, Mapping, MappingId, MappingKind, ProcessChange, StackId, StringId, Symbol,
};

use self::paged::Paged;
use crate::{ViewError, hash::IdMap};

pub use names::ProcessNames;
pub use page::{LoadError, LoadPages, PAGE_IDS, Page, PageContent, PageKind, Room, page_ids};
pub use paged::LastIds;

/// Strings, stacks, frames, mappings, symbols and process names of one capture, by id. Ids count from 1; what was never
/// inserted is absent, not an error, because a capture that was cut off may refer to it.
///
/// Of a stored capture ([`Dictionaries::paged`]) entries are loaded when they are asked for. What cannot be loaded is
/// absent too: whoever makes a view of it must ask [`Dictionaries::check`] at the end, and give that error instead of
/// the view.
#[derive(Clone, Debug, Default)]
pub struct Dictionaries {
    paged: Option<Paged>,
    strings: Vec<Option<Box<[u8]>>>,
    stacks: Vec<Option<bathyscope_capture::Stack>>,
    frames: Vec<Option<Frame>>,
    mappings: Vec<Option<Mapping>>,
    symbols: IdMap<FrameId, Symbol>,
    names: ProcessNames,
}

/// Ids beyond this are damage: a dictionary is dense, so one wild id must not cost gigabytes.
const MAX_ID: usize = 1 << 28;
/// Stacks of a capture whose pages are kept when all are gone through.
const MAX_KEPT_STACKS: u32 = 1 << 18;

fn place<T: Clone>(list: &mut Vec<Option<T>>, id: u32, value: T) {
    let index = id as usize;
    if index == 0 || index > MAX_ID {
        return;
    }
    if list.len() < index {
        list.resize(index, None);
    }
    if let Some(slot) = list.get_mut(index - 1) {
        *slot = Some(value);
    }
}

fn at<T>(list: &[Option<T>], id: u32) -> Option<&T> {
    list.get((id as usize).checked_sub(1)?)?.as_ref()
}

fn last<T>(list: &[Option<T>]) -> u32 {
    u32::try_from(list.len()).unwrap_or(u32::MAX)
}

impl Dictionaries {
    /// Dictionaries up to these ids, whose entries `load` gives when they are asked for. Nothing can be inserted.
    pub fn paged(load: Arc<dyn LoadPages>, last: LastIds) -> Self {
        Self { paged: Some(Paged::new(load, last)), ..Self::default() }
    }

    /// Whether all that was asked for so far could be loaded.
    ///
    /// # Errors
    /// [`ViewError::Dictionary`] or [`ViewError::TooMuch`] with the first that could not.
    pub fn check(&self) -> Result<(), ViewError> {
        self.paged.as_ref().map_or(Ok(()), Paged::check)
    }

    /// Adds a string.
    pub fn insert_string(&mut self, id: StringId, bytes: impl Into<Box<[u8]>>) {
        place(&mut self.strings, id, bytes.into());
    }

    /// Adds a stack: its frames, innermost first.
    pub fn insert_stack(&mut self, id: StackId, frames: bathyscope_capture::Stack) {
        place(&mut self.stacks, id, frames);
    }

    /// Adds a frame.
    pub fn insert_frame(&mut self, id: FrameId, frame: Frame) {
        place(&mut self.frames, id, frame);
    }

    /// Adds a mapping.
    pub fn insert_mapping(&mut self, id: MappingId, mapping: Mapping) {
        place(&mut self.mappings, id, mapping);
    }

    /// Adds or replaces a frame's name.
    pub fn insert_symbol(&mut self, id: FrameId, symbol: Symbol) {
        self.symbols.insert(id, symbol);
    }

    /// Adds a change of the process history; changes of one process come in time order.
    pub fn insert_process(&mut self, change: &ProcessChange) {
        self.names.insert(change);
    }

    /// Adds everything new in an append, for a capture that is still running.
    pub fn extend(&mut self, append: &Append) {
        for (id, bytes) in &append.strings {
            self.insert_string(*id, bytes.as_slice());
        }
        for (id, mapping) in &append.mappings {
            self.insert_mapping(*id, mapping.clone());
        }
        for (id, frame) in &append.frames {
            self.insert_frame(*id, *frame);
        }
        for (id, stack) in &append.stacks {
            self.insert_stack(*id, stack.clone());
        }
        for (id, symbol) in &append.symbols {
            self.insert_symbol(*id, symbol.clone());
        }
        for change in &append.processes {
            self.insert_process(change);
        }
    }

    /// The bytes of a string; none for 0 and for what is not there.
    pub fn text(&self, id: StringId) -> Option<&[u8]> {
        let Some(paged) = &self.paged else { return at(&self.strings, id).map(AsRef::as_ref) };
        match paged.find(PageKind::Texts, id)?.0 {
            PageContent::Texts(texts) => texts.get(id),
            _ => None,
        }
    }

    /// The largest string id.
    pub fn last_string(&self) -> StringId {
        self.paged.as_ref().map_or_else(|| last(&self.strings), |paged| paged.last().string)
    }

    /// The frames of a stack, innermost first; none for 0 and for what is not there.
    pub fn stack(&self, id: StackId) -> Option<&[FrameId]> {
        let Some(paged) = &self.paged else { return at(&self.stacks, id).map(AsRef::as_ref) };
        match paged.find(PageKind::Stacks, id)?.0 {
            PageContent::Stacks(stacks) => stacks.get(id),
            _ => None,
        }
    }

    /// Calls `each` with the frames of these stacks, innermost first; none for what is not there. Ids that rise cost least.
    /// However many there are, only a page of them is in memory on their account.
    ///
    /// # Errors
    /// What `each` gives.
    pub fn for_each_stack<E>(
        &self,
        ids: impl IntoIterator<Item = StackId>,
        mut each: impl FnMut(StackId, Option<&[FrameId]>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(paged) = &self.paged else {
            return ids.into_iter().try_for_each(|id| each(id, at(&self.stacks, id).map(AsRef::as_ref)));
        };
        // Of very many the first would be forgotten before the last are read: keeping them helps nobody.
        let keep = paged.last().stack <= MAX_KEPT_STACKS;
        let mut open: Option<(u32, Option<Arc<Page>>)> = None;
        for id in ids {
            let Some(number) = id.checked_sub(1).map(|index| index / PAGE_IDS) else {
                each(id, None)?;
                continue;
            };
            let page = match &mut open {
                Some((known, page)) if *known == number => page,
                other => &mut other.insert((number, paged.borrow(PageKind::Stacks, number, keep))).1,
            };
            let stacks = page.as_ref().map(|page| page.content());
            each(id, stacks.and_then(|stacks| if let PageContent::Stacks(all) = stacks { all.get(id) } else { None }))?;
        }
        Ok(())
    }

    /// The largest stack id.
    pub fn last_stack(&self) -> StackId {
        self.paged.as_ref().map_or_else(|| last(&self.stacks), |paged| paged.last().stack)
    }

    /// The largest frame id.
    pub fn last_frame(&self) -> FrameId {
        self.paged.as_ref().map_or_else(|| last(&self.frames), |paged| paged.last().frame)
    }

    /// The largest mapping id.
    pub fn last_mapping(&self) -> MappingId {
        self.paged.as_ref().map_or_else(|| last(&self.mappings), |paged| paged.last().mapping)
    }

    /// A frame.
    pub fn frame(&self, id: FrameId) -> Option<Frame> {
        let Some(paged) = &self.paged else { return at(&self.frames, id).copied() };
        match paged.find(PageKind::Frames, id)? {
            (PageContent::Frames(frames), place) => *frames.get(place)?,
            _ => None,
        }
    }

    /// A mapping.
    pub fn mapping(&self, id: MappingId) -> Option<&Mapping> {
        let Some(paged) = &self.paged else { return at(&self.mappings, id) };
        match paged.get(PageKind::Mappings, 0)?.content() {
            PageContent::Mappings(mappings) => at(mappings, id),
            _ => None,
        }
    }

    /// What a frame is called, where that is known.
    pub fn symbol(&self, id: FrameId) -> Option<&Symbol> {
        let Some(paged) = &self.paged else { return self.symbols.get(&id) };
        match paged.find(PageKind::Symbols, id)? {
            (PageContent::Symbols(symbols), place) => symbols.get(place)?.as_ref(),
            _ => None,
        }
    }

    /// Names of places in the kernel, by their offset from the start of its code.
    pub(crate) fn kernel_names(&self) -> impl Iterator<Item = (u64, &Symbol)> {
        let is_kernel = |id| self.mapping(id).is_some_and(|mapping| mapping.kind == MappingKind::Kernel);
        (1..=self.last_frame()).filter_map(move |id| {
            let frame = self.frame(id).filter(|frame| is_kernel(frame.mapping))?;
            Some((frame.offset, self.symbol(id)?))
        })
    }

    /// What the process was called at that moment, where the history tells.
    pub fn process_name(&self, pid: u32, time_ns: u64) -> Option<StringId> {
        let Some(paged) = &self.paged else { return self.names.at(pid, time_ns) };
        match paged.get(PageKind::Names, 0)?.content() {
            PageContent::Names(names) => names.at(pid, time_ns),
            _ => None,
        }
    }
}
