//! A capture's dictionaries in memory, compactly, shared by all views of it.

use bathyscope_capture::{
    Append, Frame, FrameId, Mapping, MappingId, MappingKind, ProcessChange, ProcessChangeKind, StackId, StringId,
    Symbol,
};

use crate::hash::IdMap;

/// Strings, stacks, frames, mappings, symbols and process names of one capture, by id. Ids count from 1; what was never
/// inserted is absent, not an error, because a capture that was cut off may refer to it.
#[derive(Clone, Debug, Default)]
pub struct Dictionaries {
    strings: Vec<Option<Box<[u8]>>>,
    stacks: Vec<Option<bathyscope_capture::Stack>>,
    frames: Vec<Option<Frame>>,
    mappings: Vec<Option<Mapping>>,
    symbols: IdMap<FrameId, Symbol>,
    names: IdMap<u32, Vec<(u64, StringId)>>,
}

/// Ids beyond this are damage: a dictionary is dense, so one wild id must not cost gigabytes.
const MAX_ID: usize = 1 << 28;

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

impl Dictionaries {
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
        let name = match change.kind {
            ProcessChangeKind::Existing { comm } | ProcessChangeKind::Comm { comm, .. } => Some(comm),
            ProcessChangeKind::Fork { parent_pid } => self.process_name(parent_pid, change.time_ns),
            ProcessChangeKind::Exit => None,
        };
        // Threads have names of their own; a process is called what its first thread is called.
        if let Some(name) = name.filter(|_| change.pid == change.tid) {
            self.names.entry(change.pid).or_default().push((change.time_ns, name));
        }
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
        at(&self.strings, id).map(AsRef::as_ref)
    }

    /// The largest string id.
    pub fn last_string(&self) -> StringId {
        u32::try_from(self.strings.len()).unwrap_or(u32::MAX)
    }

    /// The frames of a stack, innermost first; none for 0 and for what is not there.
    pub fn stack(&self, id: StackId) -> Option<&[FrameId]> {
        at(&self.stacks, id).map(AsRef::as_ref)
    }

    /// The largest stack id.
    pub fn last_stack(&self) -> StackId {
        u32::try_from(self.stacks.len()).unwrap_or(u32::MAX)
    }

    /// The largest frame id.
    pub fn last_frame(&self) -> FrameId {
        u32::try_from(self.frames.len()).unwrap_or(u32::MAX)
    }

    /// The largest mapping id.
    pub fn last_mapping(&self) -> MappingId {
        u32::try_from(self.mappings.len()).unwrap_or(u32::MAX)
    }

    /// A frame.
    pub fn frame(&self, id: FrameId) -> Option<Frame> {
        at(&self.frames, id).copied()
    }

    /// A mapping.
    pub fn mapping(&self, id: MappingId) -> Option<&Mapping> {
        at(&self.mappings, id)
    }

    /// What a frame is called, where that is known.
    pub fn symbol(&self, id: FrameId) -> Option<&Symbol> {
        self.symbols.get(&id)
    }

    /// Names of places in the kernel, by their offset from the start of its code.
    pub(crate) fn kernel_names(&self) -> impl Iterator<Item = (u64, &Symbol)> {
        let is_kernel = |id| self.mapping(id).is_some_and(|mapping| mapping.kind == MappingKind::Kernel);
        self.symbols.iter().filter_map(move |(id, symbol)| {
            let frame = self.frame(*id).filter(|frame| is_kernel(frame.mapping))?;
            Some((frame.offset, symbol))
        })
    }

    /// What the process was called at that moment, where the history tells.
    pub fn process_name(&self, pid: u32, time_ns: u64) -> Option<StringId> {
        let names = self.names.get(&pid)?;
        let after = names.partition_point(|(since, _)| *since <= time_ns);
        // Before the first change that is known, the first name is the best guess.
        names.get(after.saturating_sub(1)).map(|(_, name)| *name)
    }
}
