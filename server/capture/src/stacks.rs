//! Stacks as ids of frames, frames as places in files: what stays true when the process has ended and the host has
//! been rebooted.

use std::{collections::HashMap, sync::Arc};

use serde::{Deserialize, Serialize};

/// Index of a stack in its capture, from 1; 0 means no stack.
pub type StackId = u32;
/// Index of a frame in its capture, from 1.
pub type FrameId = u32;
/// Index of a mapping in its capture, from 1.
pub type MappingId = u32;

/// What a frame's offset is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MappingKind {
    /// The kernel and its modules; offsets are from the symbol `_text`, so they do not depend on where it was loaded.
    Kernel,
    /// A file; offsets are file offsets.
    File,
    /// Memory without a file, such as code that a run-time compiler made; offsets are addresses.
    Anonymous,
    /// No mapping was known; offsets are addresses.
    Unknown,
}

/// A file or other thing that code was mapped from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mapping {
    /// What kind of thing.
    pub kind: MappingKind,
    /// The build id where it is known, else empty.
    pub build_id: Vec<u8>,
    /// The path as the process saw it, or the kernel's name. Bytes from an event: never a path to open as it is.
    pub name: Vec<u8>,
    /// The process, for [`MappingKind::Anonymous`] and [`MappingKind::Unknown`], whose addresses mean nothing elsewhere;
    /// otherwise 0.
    pub pid: u32,
}

/// A place in a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Which mapping.
    pub mapping: MappingId,
    /// Offset as the mapping's kind says; a call's return address, so symbolise the byte before it except in the
    /// innermost frame.
    pub offset: u64,
}

/// The frames of a stack, innermost first, kernel frames before user frames.
pub type Stack = Arc<[FrameId]>;

/// What a frame is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// The function that contains the frame, demangled; empty where none was found.
    pub function: String,
    /// Offset in the function in bytes.
    pub offset: u64,
    /// Functions inlined at that place, innermost first, and last the containing function's own line.
    pub lines: Vec<SymbolLine>,
}

/// A source line of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolLine {
    /// The (inlined) function.
    pub function: String,
    /// The source file; empty where it is not known.
    pub file: String,
    /// The line from 1; 0 where it is not known.
    pub line: u32,
}

/// Gives ids to mappings, frames and stacks, once each, while a capture is recorded.
#[derive(Debug, Default)]
pub struct StackDictionary {
    mapping_ids: HashMap<Mapping, MappingId>,
    frame_ids: HashMap<Frame, FrameId>,
    stack_ids: HashMap<Stack, StackId>,
    new_mappings: Vec<(MappingId, Mapping)>,
    new_frames: Vec<(FrameId, Frame)>,
    new_stacks: Vec<(StackId, Stack)>,
}

fn next_id(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX - 1) + 1
}

impl StackDictionary {
    /// The id of `mapping`, new or known.
    pub fn mapping(&mut self, mapping: Mapping) -> MappingId {
        if let Some(id) = self.mapping_ids.get(&mapping) {
            return *id;
        }
        let id = next_id(self.mapping_ids.len());
        self.mapping_ids.insert(mapping.clone(), id);
        self.new_mappings.push((id, mapping));
        id
    }

    /// The id of `frame`, new or known.
    pub fn frame(&mut self, frame: Frame) -> FrameId {
        if let Some(id) = self.frame_ids.get(&frame) {
            return *id;
        }
        let id = next_id(self.frame_ids.len());
        self.frame_ids.insert(frame, id);
        self.new_frames.push((id, frame));
        id
    }

    /// The id of the stack with these frames, innermost first; 0 for no frames.
    pub fn stack(&mut self, frames: &[FrameId]) -> StackId {
        if frames.is_empty() {
            return 0;
        }
        if let Some(id) = self.stack_ids.get(frames) {
            return *id;
        }
        let id = next_id(self.stack_ids.len());
        let stack: Stack = frames.into();
        self.stack_ids.insert(Arc::clone(&stack), id);
        self.new_stacks.push((id, stack));
        id
    }

    /// Takes what is new since the last call, for the store.
    #[expect(clippy::type_complexity, reason = "three lists of id and value, named where they are used")]
    pub fn take_new(&mut self) -> (Vec<(MappingId, Mapping)>, Vec<(FrameId, Frame)>, Vec<(StackId, Stack)>) {
        (
            std::mem::take(&mut self.new_mappings),
            std::mem::take(&mut self.new_frames),
            std::mem::take(&mut self.new_stacks),
        )
    }
}
