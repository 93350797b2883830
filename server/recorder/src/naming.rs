//! Names for the functions of a capture's frames: when it has ended, or when somebody looks at it before.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    fs::File,
    io::Read,
    os::fd::OwnedFd,
    sync::{Arc, Mutex},
};

use bathyscope_capture::{Frame, FrameId, MAX_CODES, Mapping, MappingId, MappingKind, Symbol};
use bathyscope_protocol::ProcessFile;
use bathyscope_symbols::{FileOptions, FileResolver, Kallsyms, PerfMap, Place};

use super::{
    AgentLink,
    mappings::FileKey,
    process_metadata::{SharedHeld, lock},
};

/// The mapping of the frame that stands for what was cut off.
pub const CUT_NAME: &[u8] = b"[cut]";

/// The largest file whose symbols are read.
const MAX_FILE_BYTES: u64 = 2 << 30;
/// The most that is read of a `perf-PID.map`.
const MAX_PERF_MAP_BYTES: u64 = 64 << 20;
/// Frames that are named at a time.
const BATCH: usize = 4096;

#[derive(Debug, Default)]
struct State {
    mappings: HashMap<MappingId, Mapping>,
    /// Which file a mapping is; none if it could be several.
    keys: HashMap<MappingId, Option<FileKey>>,
    frames: Vec<(FrameId, Frame)>,
    returns: HashSet<FrameId>,
    /// Offsets of frames that are named from the beginnings of their functions.
    named: HashMap<FrameId, u64>,
    /// Samples by innermost frame.
    own: HashMap<FrameId, u64>,
    /// Functions whose instructions were asked for, and the bytes that were kept of them.
    looked_at: HashSet<(MappingId, u64)>,
    code_bytes: usize,
}

/// The frames of a capture that are to be named, kept up to date by its decoder.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamingWork(Arc<Mutex<State>>);

impl NamingWork {
    /// Adds what is new.
    pub(crate) fn add(
        &self,
        mappings: &[(MappingId, Mapping)],
        frames: &[(FrameId, Frame)],
        returns: &[FrameId],
        keys: Vec<(MappingId, FileKey)>,
    ) {
        if mappings.is_empty() && frames.is_empty() && returns.is_empty() && keys.is_empty() {
            return;
        }
        let mut state = lock(&self.0);
        state.mappings.extend(mappings.iter().cloned());
        state.frames.extend_from_slice(frames);
        state.returns.extend(returns);
        for (mapping, key) in keys {
            let known = state.keys.entry(mapping).or_insert_with(|| Some(key.clone()));
            if known.as_ref() != Some(&key) {
                *known = None;
            }
        }
    }

    /// Adds samples that ended in frames.
    pub(crate) fn count(&self, own: HashMap<FrameId, u64>) {
        if own.is_empty() {
            return;
        }
        let mut state = lock(&self.0);
        for (frame, samples) in own {
            *state.own.entry(frame).or_default() += samples;
        }
    }

    /// The functions in files that have the most own samples and were not given before, the most sampled first.
    pub(super) fn hottest(&self) -> Vec<HotFunction> {
        let mut guard = lock(&self.0);
        let state = &mut *guard;
        let mut found: HashMap<(MappingId, u64), HotFunction> = HashMap::new();
        for (id, frame) in &state.frames {
            let (Some(samples), Some(offset)) = (state.own.get(id), state.named.get(id)) else { continue };
            let Some(start) = frame.offset.checked_sub(*offset) else { continue };
            let mapping_id = frame.mapping;
            let Some(mapping) = state.mappings.get(&mapping_id) else { continue };
            let in_file = mapping.kind == MappingKind::File && !mapping.name.starts_with(b"[");
            if !in_file || state.looked_at.contains(&(mapping_id, start)) {
                continue;
            }
            let function = found.entry((mapping_id, start)).or_insert_with(|| HotFunction {
                mapping_id,
                build_id: mapping.build_id.clone(),
                key: state.keys.get(&mapping_id).cloned().flatten(),
                start,
                last: start,
                samples: 0,
            });
            function.last = function.last.max(frame.offset);
            function.samples += samples;
        }
        let mut hottest: Vec<HotFunction> = found.into_values().collect();
        hottest.sort_by_key(|function| (Reverse(function.samples), function.mapping_id, function.start));
        hottest.truncate(MAX_CODES.saturating_sub(state.looked_at.len()));
        state.looked_at.extend(hottest.iter().map(|function| (function.mapping_id, function.start)));
        hottest
    }

    /// Takes room for the instructions of a function; says whether there was any.
    pub(super) fn take_room(&self, bytes: usize, most: usize) -> bool {
        let mut state = lock(&self.0);
        let fits = state.code_bytes.saturating_add(bytes) <= most;
        if fits {
            state.code_bytes += bytes;
        }
        fits
    }

    /// Whether there are no frames at all.
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).frames.is_empty()
    }

    /// How many frames are in files that are not held.
    pub(crate) fn without_file(&self, held: &SharedHeld) -> u64 {
        let state = lock(&self.0);
        let held = lock(held);
        let is_missing = |mapping: &MappingId| {
            let key = state.keys.get(mapping).and_then(Option::as_ref);
            key.is_some_and(|key| held.file(key).is_none())
        };
        let missing: HashSet<MappingId> = state.keys.keys().filter(|mapping| is_missing(mapping)).copied().collect();
        state.frames.iter().filter(|(_, frame)| missing.contains(&frame.mapping)).count() as u64
    }

    /// What is not named yet, by mapping.
    fn to_do(&self) -> Vec<Job> {
        let state = lock(&self.0);
        let mut by_mapping: HashMap<MappingId, Vec<(FrameId, Place)>> = HashMap::new();
        for (id, frame) in state.frames.iter().filter(|(id, _)| !state.named.contains_key(id)) {
            let place = Place { offset: frame.offset, is_return: state.returns.contains(id) };
            by_mapping.entry(frame.mapping).or_default().push((*id, place));
        }
        let job = |(id, frames): (MappingId, Vec<_>)| {
            let mapping = state.mappings.get(&id)?.clone();
            Some(Job { mapping_id: id, mapping, key: state.keys.get(&id).cloned().flatten(), frames })
        };
        let mut jobs: Vec<Job> = by_mapping.into_iter().filter_map(job).collect();
        jobs.sort_by_key(Job::order);
        jobs
    }

    fn done(&self, symbols: &[(FrameId, Symbol)]) {
        lock(&self.0).named.extend(symbols.iter().map(|(id, symbol)| (*id, symbol.offset)));
    }
}

/// A function that many samples ended in.
#[derive(Debug)]
pub(super) struct HotFunction {
    pub(super) mapping_id: MappingId,
    pub(super) build_id: Vec<u8>,
    pub(super) key: Option<FileKey>,
    /// Offset of its first byte.
    pub(super) start: u64,
    /// The greatest offset that was sampled.
    pub(super) last: u64,
    samples: u64,
}

struct Job {
    mapping_id: MappingId,
    mapping: Mapping,
    key: Option<FileKey>,
    frames: Vec<(FrameId, Place)>,
}

impl Job {
    /// What is known already comes first, so that nobody who looks meanwhile waits for the debug information of a large
    /// file to see the kernel's functions; then the files that most frames are in.
    fn order(&self) -> (bool, Reverse<usize>, MappingId) {
        (self.mapping.kind == MappingKind::File, Reverse(self.frames.len()), self.mapping_id)
    }
}

/// How far naming has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamingProgress {
    pub(crate) mappings: usize,
    pub(crate) of_mappings: usize,
    pub(crate) named: usize,
    pub(crate) unnamed: usize,
}

/// Everything that names come from.
pub(crate) struct Namer {
    pub(crate) link: AgentLink,
    pub(crate) held: SharedHeld,
    pub(crate) kernel: Option<Arc<Kallsyms>>,
    pub(crate) private_dir: std::path::PathBuf,
}

impl Namer {
    /// Names what has no name yet and hands it out in batches; may take seconds. `batch` says whether to go on.
    pub(crate) fn run(
        &self,
        work: &NamingWork,
        files: &mut FileResolver,
        mut batch: impl FnMut(Vec<(FrameId, Symbol)>, NamingProgress) -> bool,
    ) -> NamingProgress {
        let jobs = work.to_do();
        let mut progress = NamingProgress { of_mappings: jobs.len(), ..NamingProgress::default() };
        for job in jobs {
            progress.mappings += 1;
            let source = self.source(&job);
            for part in job.frames.chunks(BATCH) {
                let symbols = self.name(&job.mapping, &source, part, files);
                progress.named += symbols.len();
                progress.unnamed += part.len() - symbols.len();
                work.done(&symbols);
                if !batch(symbols, progress) {
                    return progress;
                }
            }
        }
        progress
    }

    /// What reads files; it keeps what it has read.
    pub(crate) fn files(&self) -> FileResolver {
        let options = FileOptions { private_dir: self.private_dir.clone(), max_file_bytes: MAX_FILE_BYTES };
        FileResolver::new(options, rustix::process::geteuid().as_raw())
    }

    fn source(&self, job: &Job) -> NameSource {
        match job.mapping.kind {
            MappingKind::Kernel => NameSource::Kernel,
            MappingKind::File if job.mapping.name.starts_with(b"[") => NameSource::Fixed,
            MappingKind::File => {
                let file = job.key.as_ref().and_then(|key| lock(&self.held).file(key));
                file.map_or(NameSource::None, NameSource::File)
            }
            MappingKind::Anonymous => self.perf_map(job.mapping.pid).map_or(NameSource::None, NameSource::Compiler),
            MappingKind::Unknown if job.mapping.name == CUT_NAME => NameSource::Fixed,
            MappingKind::Unknown => NameSource::None,
        }
    }

    fn perf_map(&self, pid: u32) -> Option<PerfMap> {
        let held = lock(&self.held).perf_map(pid);
        let file = match held {
            Some(file) => file.try_clone().ok()?,
            // It may have been written after the process was first seen.
            None => self.link.call_blocking(move |c| c.open_process_file(pid, ProcessFile::PerfMap)).ok()?,
        };
        let map = PerfMap::parse(&whole(file)?);
        if map.skipped > 0 {
            tracing::info!(pid, skipped = map.skipped, "lines of a perf map could not be read");
        }
        Some(map)
    }

    fn name(
        &self,
        mapping: &Mapping,
        source: &NameSource,
        frames: &[(FrameId, Place)],
        files: &mut FileResolver,
    ) -> Vec<(FrameId, Symbol)> {
        let one = |name: &dyn Fn(Place) -> Option<Symbol>| -> Vec<(FrameId, Symbol)> {
            frames.iter().filter_map(|(id, place)| Some((*id, name(*place)?))).collect()
        };
        match source {
            NameSource::None => Vec::new(),
            NameSource::Fixed => {
                let function = String::from_utf8_lossy(&mapping.name).into_owned();
                one(&|place| Some(plain(function.clone(), place.offset)))
            }
            NameSource::Kernel => one(&|place| kernel_symbol(self.kernel.as_deref()?, place)),
            NameSource::Compiler(map) => one(&|place| {
                let (name, offset) = map.lookup(place.offset.saturating_sub(u64::from(place.is_return)))?;
                Some(plain(String::from_utf8_lossy(name).into_owned(), offset + u64::from(place.is_return)))
            }),
            NameSource::File(file) => {
                let places: Vec<Place> = frames.iter().map(|(_, place)| *place).collect();
                match files.resolve(file, &mapping.build_id, &places) {
                    Ok(symbols) => {
                        let named = frames.iter().zip(symbols);
                        named.filter_map(|((id, _), symbol)| Some((*id, symbol?))).collect()
                    }
                    Err(error) => {
                        tracing::debug!(error = super::link::words(&error), "a mapped file gives no names");
                        Vec::new()
                    }
                }
            }
        }
    }
}

enum NameSource {
    None,
    /// The mapping's own name.
    Fixed,
    Kernel,
    File(Arc<OwnedFd>),
    Compiler(PerfMap),
}

fn plain(function: String, offset: u64) -> Symbol {
    Symbol { function, offset, lines: Vec::new() }
}

/// The symbol of a place in the kernel, with its module as other tools write it.
pub(crate) fn kernel_symbol(kernel: &Kallsyms, place: Place) -> Option<Symbol> {
    let back = u64::from(place.is_return);
    let found = kernel.lookup(place.offset.wrapping_sub(back))?;
    let name = String::from_utf8_lossy(found.name);
    let function = match found.module {
        Some(module) => format!("{name} [{}]", String::from_utf8_lossy(module)),
        None => name.into_owned(),
    };
    Some(plain(function, found.offset + back))
}

/// The file from its beginning, wherever its descriptor stands.
fn whole(file: OwnedFd) -> Option<Vec<u8>> {
    let mut file = File::from(file);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    std::io::Seek::rewind(&mut file).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_PERF_MAP_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_named_before_files_and_the_most_sampled_file_first() {
        let mapping = |kind, name: &[u8]| Mapping { kind, build_id: Vec::new(), name: name.to_vec(), pid: 0 };
        let mappings = [
            (1, mapping(MappingKind::File, b"/seldom")),
            (2, mapping(MappingKind::File, b"/often")),
            (3, mapping(MappingKind::Kernel, b"[kernel]")),
        ];
        let frame = |id, mapping| (id, Frame { mapping, offset: u64::from(id) });
        let work = NamingWork::default();
        work.add(&mappings, &[frame(1, 1), frame(2, 2), frame(3, 2), frame(4, 3)], &[], Vec::new());
        let order: Vec<Vec<u8>> = work.to_do().into_iter().map(|job| job.mapping.name).collect();
        assert_eq!(order, [&b"[kernel]"[..], b"/often", b"/seldom"]);
    }

    #[test]
    fn frames_in_files_that_nobody_has_open_are_counted() {
        let frame = |id, mapping| (id, Frame { mapping, offset: u64::from(id) });
        let key = |number| FileKey::BuildId(vec![number]);
        let work = NamingWork::default();
        work.add(&[], &[frame(1, 1), frame(2, 2), frame(3, 2), frame(4, 3)], &[], vec![(1, key(1)), (2, key(2))]);
        let held = SharedHeld::default();
        lock(&held).keep(key(1), File::open("/dev/null").unwrap().into());
        assert_eq!(work.without_file(&held), 2, "the third mapping is no file's");
    }

    #[test]
    fn functions_in_files_are_looked_at_once_the_most_sampled_first() {
        let mapping = |kind, name: &[u8]| Mapping { kind, build_id: vec![1], name: name.to_vec(), pid: 0 };
        let mappings = [
            (1, mapping(MappingKind::File, b"/x")),
            (2, mapping(MappingKind::File, b"[vdso]")),
            (3, mapping(MappingKind::Kernel, b"[kernel]")),
        ];
        let frame = |id, mapping, offset| (id, Frame { mapping, offset });
        let frames = [frame(1, 1, 0x14), frame(2, 1, 0x18), frame(3, 1, 0x40), frame(4, 2, 0x10), frame(5, 3, 0x10)];
        let work = NamingWork::default();
        work.add(&mappings, &frames, &[], Vec::new());
        work.count((1..=5).map(|id| (id, u64::from(id))).collect());
        assert!(work.hottest().is_empty(), "nothing has a name yet");
        let offsets = [(1, 4), (2, 8), (3, 0), (4, 0), (5, 0)];
        work.done(&offsets.map(|(id, offset)| (id, plain("f".to_owned(), offset))));
        // Three samples are in each; the first place decides.
        let found = work.hottest().into_iter().map(|hot| (hot.mapping_id, hot.start, hot.last, hot.samples));
        assert_eq!(found.collect::<Vec<_>>(), [(1, 0x10, 0x18, 3), (1, 0x40, 0x40, 3)]);
        assert!(work.hottest().is_empty(), "each is looked at once");
        assert!(work.take_room(6, 10) && !work.take_room(6, 10) && work.take_room(4, 10));
    }
}
