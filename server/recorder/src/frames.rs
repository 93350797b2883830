//! Addresses of a sampled stack → frames: places in files, which stay true when the process has ended.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use bathyscope_capture::{Frame, FrameId, Mapping, MappingId, MappingKind, StackDictionary, StackId};
use bathyscope_catalog::elf::{Rule, StackCopy, WalkEnd, walk_stack};
use bathyscope_decode::perf::Sample;
use bathyscope_symbols::Kallsyms;

use super::{
    data_areas::KERNEL_HALF,
    mappings::{Backing, FileKey, MappedFile, Place, Processes},
    naming::{CUT_NAME, NamingWork},
    process_metadata::{SharedHeld, lock},
    unwind::UnwindTables,
};

/// As many frames as the kernel gives unless an administrator allows more: then the stack went on (P33).
const CUT_AT_FRAMES: usize = 127;

/// The most files of one capture that are asked for.
const MAX_FILES: usize = 1 << 14;

/// What must be found out before a stack can be resolved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Need {
    /// A process's mappings.
    Maps(u32),
    /// A file itself, for its unwind table.
    File { key: FileKey, pid: u32, range: (u64, u64) },
    /// The build id of a file, by where it is mapped.
    BuildId { device: (u32, u32), inode: u64, pid: u32, range: (u64, u64) },
}

/// Something to ask the metadata thread for once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    File { key: FileKey, pid: u32, range: (u64, u64), name: Vec<u8> },
    PerfMap(u32),
}

/// A place in a file that a process has mapped.
#[derive(Clone, Debug)]
pub(crate) struct MappedPlace {
    pub(crate) key: FileKey,
    /// Where it is mapped.
    pub(crate) range: (u64, u64),
    /// In bytes of the file.
    pub(crate) offset: u64,
    /// The file, as the process sees it.
    pub(crate) name: Vec<u8>,
}

/// Resolves stacks and gives ids to them.
#[derive(Debug)]
pub(crate) struct Frames {
    held: SharedHeld,
    dictionary: StackDictionary,
    kernel: Option<Arc<Kallsyms>>,
    kernel_build_id: Vec<u8>,
    kernel_mapping: Option<MappingId>,
    build_ids: HashMap<((u32, u32), u64), Vec<u8>>,
    wished: HashSet<FileKey>,
    wished_perf_maps: HashSet<u32>,
    wishes: Vec<Wish>,
    returns: HashSet<FrameId>,
    new_returns: Vec<FrameId>,
    new_keys: Vec<(MappingId, FileKey)>,
    /// Samples by innermost frame since the last call.
    new_own: HashMap<FrameId, u64>,
    unwind: UnwindTables,
}

impl Frames {
    /// Resolves kernel addresses with `kernel`, and tells `held` which files were sampled.
    pub(crate) fn new(kernel: Option<Arc<Kallsyms>>, kernel_build_id: Vec<u8>, held: SharedHeld) -> Self {
        Self {
            held,
            dictionary: StackDictionary::default(),
            kernel,
            kernel_build_id,
            kernel_mapping: None,
            build_ids: HashMap::new(),
            wished: HashSet::new(),
            wished_perf_maps: HashSet::new(),
            wishes: Vec::new(),
            returns: HashSet::new(),
            new_returns: Vec::new(),
            new_keys: Vec::new(),
            new_own: HashMap::new(),
            unwind: UnwindTables::default(),
        }
    }

    /// A file's build id was read, or could not be.
    pub(crate) fn learn_build_id(&mut self, device: (u32, u32), inode: u64, build_id: Vec<u8>) {
        if !build_id.is_empty() {
            // The metadata thread has kept the file already.
            self.wished.insert(FileKey::BuildId(build_id.clone()));
        }
        self.build_ids.insert((device, inode), build_id);
    }

    /// A file could not be opened where it was seen; elsewhere it may.
    pub(crate) fn forget(&mut self, key: &FileKey) {
        self.wished.remove(key);
        self.unwind.unopened(key);
    }

    /// Finds the user addresses of a sample that has a copy of the stack instead. With `must`, what is not known yet is
    /// walked by frame pointers; otherwise it is said.
    pub(crate) fn unwind(&mut self, sample: &mut Sample, processes: &Processes, must: bool) -> Result<(), Need> {
        let Some(copied) = sample.copied.take() else { return Ok(()) };
        let mut tables = std::mem::take(&mut self.unwind);
        let stack = StackCopy { base: copied.registers.sp, bytes: &copied.bytes };
        let mut rule_at = |address| self.rule_at(&mut tables, sample.pid, address, processes, must);
        let walked = walk_stack(copied.registers, stack, &mut rule_at);
        self.unwind = tables;
        match walked {
            Ok((frames, end)) => {
                sample.user = frames;
                sample.cut = Some(matches!(end, WalkEnd::Copied | WalkEnd::Many));
                Ok(())
            }
            Err(need) => {
                sample.copied = Some(copied);
                Err(need)
            }
        }
    }

    fn rule_at(
        &self,
        tables: &mut UnwindTables,
        pid: u32,
        address: u64,
        processes: &Processes,
        must: bool,
    ) -> Result<Rule, Need> {
        let (start, area) = match processes.find(pid, address) {
            Place::Area(start, area) => (start, area),
            Place::Unread if !must => return Err(Need::Maps(pid)),
            // No code is there: something before was wrong.
            Place::Unread | Place::Nothing => return Ok(Rule::Unsupported),
        };
        let Backing::File { key, .. } = &area.source.backing else { return Ok(Rule::Unknown) };
        let range = area.source.range;
        let Some(key) = self.file_key(key.as_ref(), pid, range, must)? else { return Ok(Rule::Unknown) };
        let offset = (address - start).wrapping_add(area.file_offset);
        match tables.rule(&key, offset, &self.held) {
            Some(rule) => Ok(rule),
            None if must => Ok(Rule::Unknown),
            None => Err(Need::File { key, pid, range }),
        }
    }

    /// A sample ended in a frame: the functions with the most of them are looked at more closely.
    pub(crate) fn count_own(&mut self, innermost: Option<&FrameId>) {
        if let Some(frame) = innermost {
            *self.new_own.entry(*frame).or_default() += 1;
        }
    }

    /// The kernel's symbols, if they could be read.
    pub(crate) fn kernel(&self) -> Option<&Kallsyms> {
        self.kernel.as_deref()
    }

    /// The descriptors that are kept.
    pub(crate) fn held(&self) -> SharedHeld {
        Arc::clone(&self.held)
    }

    /// The file at an address of a process.
    pub(crate) fn file_at(&self, pid: u32, address: u64, processes: &Processes) -> Option<MappedPlace> {
        let Place::Area(start, area) = processes.find(pid, address) else { return None };
        let Backing::File { key, name } = &area.source.backing else { return None };
        let key = match key.as_ref()? {
            FileKey::Inode { device, inode } => match self.build_ids.get(&(*device, *inode)) {
                Some(id) if !id.is_empty() => FileKey::BuildId(id.clone()),
                _ => FileKey::Inode { device: *device, inode: *inode },
            },
            known => known.clone(),
        };
        let offset = (address - start).wrapping_add(area.file_offset);
        Some(MappedPlace { key, range: area.source.range, offset, name: name.clone() })
    }

    /// What the metadata thread should be asked for since the last call.
    pub(crate) fn take_wishes(&mut self) -> Vec<Wish> {
        std::mem::take(&mut self.wishes)
    }

    /// A file was mapped: it is opened at once, once for each build id, because its process may end soon.
    pub(crate) fn seen(&mut self, key: &FileKey, pid: u32, range: (u64, u64), name: &[u8]) {
        if self.wished.len() < MAX_FILES && !self.wished.contains(key) {
            self.wished.insert(key.clone());
            self.wishes.push(Wish::File { key: key.clone(), pid, range, name: name.to_vec() });
        }
    }

    /// Takes what is new since the last call, for the store; who names functions gets a copy.
    #[expect(clippy::type_complexity, reason = "as the dictionary gives it")]
    pub(crate) fn take_new(
        &mut self,
        naming: &NamingWork,
    ) -> (Vec<(MappingId, Mapping)>, Vec<(FrameId, Frame)>, Vec<(StackId, bathyscope_capture::Stack)>) {
        let (mappings, frames, stacks) = self.dictionary.take_new();
        naming.add(&mappings, &frames, &std::mem::take(&mut self.new_returns), std::mem::take(&mut self.new_keys));
        naming.count(std::mem::take(&mut self.new_own));
        (mappings, frames, stacks)
    }

    /// The stack of a sample, with its innermost frame.
    ///
    /// With `must`, what is not known yet is left unresolved; otherwise it is said.
    pub(crate) fn stack(
        &mut self,
        sample: &Sample,
        processes: &Processes,
        must: bool,
    ) -> Result<(StackId, Vec<FrameId>), Need> {
        let mut frames = Vec::with_capacity(sample.kernel.len() + sample.user.len() + 1);
        for address in &sample.user {
            frames.push(self.user_frame(sample.pid, *address, processes, must)?);
        }
        let user = frames.len();
        let kernel: Vec<FrameId> = sample.kernel.iter().map(|address| self.kernel_frame(*address)).collect();
        // All but the innermost of each side are return addresses.
        for side in [kernel.as_slice(), frames.get(..user).unwrap_or_default()] {
            for frame in side.iter().skip(1) {
                if self.returns.insert(*frame) {
                    self.new_returns.push(*frame);
                }
            }
        }
        let mut stack = kernel;
        stack.append(&mut frames);
        if sample.cut.unwrap_or(stack.len() >= CUT_AT_FRAMES) {
            let mapping = Mapping { kind: MappingKind::Unknown, build_id: Vec::new(), name: CUT_NAME.to_vec(), pid: 0 };
            let mapping = self.dictionary.mapping(mapping);
            stack.push(self.dictionary.frame(Frame { mapping, offset: 0 }));
        }
        Ok((self.dictionary.stack(&stack), stack))
    }

    /// The stack of one frame for an address on either side, exactly there; none of no address.
    pub(crate) fn place(&mut self, pid: u32, address: u64, processes: &Processes, must: bool) -> Result<StackId, Need> {
        let frame = match address {
            0 => return Ok(0),
            KERNEL_HALF.. => self.kernel_frame(address),
            _ => self.user_frame(pid, address, processes, must)?,
        };
        Ok(self.dictionary.stack(&[frame]))
    }

    /// The frame of an address of the kernel.
    pub(crate) fn kernel_frame(&mut self, address: u64) -> FrameId {
        let mapping = match self.kernel_mapping {
            Some(mapping) => mapping,
            None => {
                // Without `_text` an address cannot be related to the image.
                let kind = if self.kernel.is_some() { MappingKind::Kernel } else { MappingKind::Unknown };
                let build_id = self.kernel_build_id.clone();
                let mapping = Mapping { kind, build_id, name: b"[kernel]".to_vec(), pid: 0 };
                *self.kernel_mapping.insert(self.dictionary.mapping(mapping))
            }
        };
        let offset = self.kernel.as_ref().map_or(address, |kernel| kernel.normalise(address));
        self.dictionary.frame(Frame { mapping, offset })
    }

    fn user_frame(&mut self, pid: u32, address: u64, processes: &Processes, must: bool) -> Result<FrameId, Need> {
        match processes.find(pid, address) {
            Place::Area(start, area) => {
                let mapping = match area.source.mapping.get() {
                    Some(mapping) => *mapping,
                    None => self.mapping(pid, &area.source, must)?,
                };
                let offset = match area.source.backing {
                    Backing::File { .. } => (address - start).wrapping_add(area.file_offset),
                    Backing::Kernel { .. } => address - area.source.range.0.min(address),
                    Backing::Anonymous { .. } => address,
                };
                Ok(self.dictionary.frame(Frame { mapping, offset }))
            }
            Place::Unread if !must => Err(Need::Maps(pid)),
            Place::Unread | Place::Nothing => {
                let mapping = Mapping { kind: MappingKind::Unknown, build_id: Vec::new(), name: Vec::new(), pid };
                let mapping = self.dictionary.mapping(mapping);
                Ok(self.dictionary.frame(Frame { mapping, offset: address }))
            }
        }
    }

    /// The id of a mapping that has none yet.
    fn mapping(&mut self, pid: u32, source: &MappedFile, must: bool) -> Result<MappingId, Need> {
        let (kind, build_id, name, owner) = match &source.backing {
            Backing::File { key, name } => {
                let key = self.file_key(key.as_ref(), pid, source.range, must)?;
                let build_id = match &key {
                    Some(FileKey::BuildId(id)) => id.clone(),
                    Some(FileKey::Inode { .. }) | None => Vec::new(),
                };
                let mapping = Mapping { kind: MappingKind::File, build_id, name: name.clone(), pid: 0 };
                let id = self.dictionary.mapping(mapping);
                if let Some(key) = key {
                    self.seen(&key, pid, source.range, name);
                    lock(&self.held).sampled(key.clone());
                    self.new_keys.push((id, key));
                }
                let _set_once = source.mapping.set(id);
                return Ok(id);
            }
            // The same in every process, so its offsets mean the same everywhere.
            Backing::Kernel { name } => (MappingKind::File, Vec::new(), name, 0),
            // What is inherited is other code after the next compilation, so each process has its own.
            Backing::Anonymous { name } => {
                if self.wished_perf_maps.insert(pid) {
                    self.wishes.push(Wish::PerfMap(pid));
                }
                (MappingKind::Anonymous, Vec::new(), name, pid)
            }
        };
        let id = self.dictionary.mapping(Mapping { kind, build_id, name: name.clone(), pid: owner });
        if owner == 0 {
            let _set_once = source.mapping.set(id);
        }
        Ok(id)
    }

    /// A file that is known by its inode only is told apart by its build id, which has to be read from it.
    fn file_key(
        &self,
        key: Option<&FileKey>,
        pid: u32,
        range: (u64, u64),
        must: bool,
    ) -> Result<Option<FileKey>, Need> {
        let Some(FileKey::Inode { device, inode }) = key else { return Ok(key.cloned()) };
        match self.build_ids.get(&(*device, *inode)) {
            Some(id) if id.is_empty() => Ok(key.cloned()),
            Some(id) => Ok(Some(FileKey::BuildId(id.clone()))),
            None if must => Ok(key.cloned()),
            None => Err(Need::BuildId { device: *device, inode: *inode, pid, range }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn p33_a_stack_that_was_cut_ends_with_a_frame_that_says_so() {
        let addresses = |count: usize| (0..count as u64).map(|frame| 0xffff_8000_0000_0000 + frame * 16).collect();
        // As many frames as the kernel walks, and whether the walk told.
        let cases =
            [(5, None, false), (126, None, false), (127, None, true), (127, Some(false), false), (5, Some(true), true)];
        for (count, cut, expected) in cases {
            let mut frames = Frames::new(None, Vec::new(), SharedHeld::default());
            let sample = Sample {
                pid: 7,
                tid: 7,
                cpu: 0,
                kernel: addresses(count),
                user: Vec::new(),
                copied: None,
                cut,
                memory: None,
                branches: Vec::new(),
                event: 0,
            };
            let (_, stack) = frames.stack(&sample, &Processes::default(), true).unwrap();
            let (mappings, known, _) = frames.dictionary.take_new();
            let outermost = known.iter().find(|(id, _)| Some(id) == stack.last()).unwrap().1.mapping;
            let name = &mappings.iter().find(|(id, _)| *id == outermost).unwrap().1.name;
            assert_eq!(
                (name.as_slice() == CUT_NAME, stack.len()),
                (expected, count + usize::from(expected)),
                "{count} {cut:?}"
            );
        }
    }
}
