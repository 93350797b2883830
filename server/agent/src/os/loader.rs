//! Loading compiled programs through aya.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use aya::{
    Ebpf, EbpfError, EbpfLoader,
    maps::{Array, HashMap, Map, MapData, MapError, PerCpuArray},
    programs::{Program, ProgramError},
};
use bathyscope_bpf::{
    Code, ir,
    probe::{ALLOWANCE_MAP, ALLOWANCE_WORDS, COUNTERS_BYTES, TARGETS_MAP},
};
use bathyscope_protocol::{AgentError, AgentErrorKind, ProbeReading};

use crate::{
    error::{failed, kind_of, words},
    needs::Need,
    share_work::share_work,
};

/// The most of a verifier's log that is passed on.
const MAX_LOG_BYTES: usize = 16 << 10;
/// The most programs that are verified at a time.
const MAX_VERIFIED_AT_ONCE: usize = 4;
/// The most loaders, for those who load at the same time.
const MAX_LOADERS: usize = 4;
/// The most objects that are kept; a capture has one for each of its sources.
const MAX_COMPILED: usize = 16;

/// Why the verifier refused programs, by their names.
type Refused = BTreeMap<String, ProgramError>;

/// aya's loaders, made once and only if they are used: making one parses all type information of the kernel, which takes
/// longer than everything else that starting a capture does, and more memory. The programs here carry no relocations, so
/// they are then told to do without. One loads one object at a time.
#[derive(Default)]
pub(crate) struct Loader {
    made: Mutex<MadeLoaders>,
    /// Told when one is idle.
    is_idle: Condvar,
}

#[derive(Default)]
struct MadeLoaders {
    /// How many there are, those in use too.
    count: usize,
    idle: Vec<EbpfLoader<'static>>,
}

impl Loader {
    /// Makes loaders now, one for each CPU, for sources that are made side by side.
    pub(crate) fn prepare(&self) {
        let most = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_LOADERS);
        share_work(most, "bathyscope-bpf", || {
            while self.counts_one_more(most) {
                self.give_back(Self::make());
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, MadeLoaders> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one that is made now, unless there are `most`.
    fn counts_one_more(&self, most: usize) -> bool {
        let mut made = self.lock();
        let has_room = made.count < most;
        made.count += usize::from(has_room);
        has_room
    }

    fn give_back(&self, loader: EbpfLoader<'static>) {
        self.lock().idle.push(loader);
        self.is_idle.notify_one();
    }

    /// One that is idle, or that is now. If none was prepared, all wait for the first: it is there sooner than another one.
    fn take(&self) -> EbpfLoader<'static> {
        if self.counts_one_more(1) {
            return Self::make();
        }
        let mut made = self.lock();
        loop {
            if let Some(loader) = made.idle.pop() {
                return loader;
            }
            made = self.is_idle.wait(made).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn make() -> EbpfLoader<'static> {
        // aya finds out what the kernel can do when it is first asked, which would slow the first capture down.
        let features = aya::features();
        tracing::debug!(?features, "what the kernel's BPF can do");
        let mut loader = EbpfLoader::new();
        loader.btf(None);
        loader
    }

    /// Makes the maps of an object in the kernel and lets the verifier look at all of its programs.
    pub(crate) fn load(&self, object: &[u8], doing: &str) -> Result<Loaded, AgentError> {
        let mut loader = self.take();
        let loaded = loader.load(object);
        self.give_back(loader);
        let mut ebpf = loaded.map_err(|error| map_trouble(doing, &error))?;
        let refused = verify_all(&mut ebpf);
        Ok(Loaded { ebpf, refused })
    }
}

/// Lets the verifier look at the programs side by side: it takes longer than all else of a start, and looks at each alone. Gives
/// those that it refuses.
fn verify_all(ebpf: &mut Ebpf) -> Refused {
    let count = ebpf.programs().count();
    let (waiting, refused) = (Mutex::new(ebpf.programs_mut()), Mutex::new(Refused::new()));
    share_work(count.min(MAX_VERIFIED_AT_ONCE), "bathyscope-bpf", || {
        loop {
            // Held only until the next one is taken.
            let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((name, program)) = next else { return };
            if let Err(error) = verify(program) {
                refused.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), error);
            }
        }
    });
    refused.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Loads one program, if it is of a type that captures have.
fn verify(program: &mut Program) -> Result<(), ProgramError> {
    match program {
        Program::TracePoint(program) => program.load(),
        Program::RawTracePoint(program) => program.load(),
        Program::PerfEvent(program) => program.load(),
        _ => Ok(()),
    }
}

/// Programs that were compiled last, with the objects that came of them.
static COMPILED: Mutex<VecDeque<(Vec<ir::Program>, Vec<u8>)>> = Mutex::new(VecDeque::new());

/// Compiles IR programs into one object. Captures that ask for the same have the same programs, and to compile those of system
/// calls takes as long as to have them verified; so the objects of the last few are kept.
pub(crate) fn compile(programs: &[ir::Program], doing: &str) -> Result<Vec<u8>, AgentError> {
    let compiled = || COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, object)) = compiled().iter().find(|(known, _)| known == programs) {
        return Ok(object.clone());
    }
    let object = compile_anew(programs, doing)?;
    let mut compiled = compiled();
    compiled.truncate(MAX_COMPILED - 1);
    compiled.push_front((programs.to_vec(), object.clone()));
    Ok(object)
}

fn compile_anew(programs: &[ir::Program], doing: &str) -> Result<Vec<u8>, AgentError> {
    let internal = |why: String| failed(AgentErrorKind::Internal, doing, why, "Report this as a defect.");
    let codes: Vec<Code> = programs
        .iter()
        .map(|program| bathyscope_bpf::compile(program).map_err(|error| internal(error.to_string())))
        .collect::<Result<_, _>>()?;
    bathyscope_bpf::object(&codes.iter().collect::<Vec<_>>()).map_err(|error| internal(error.to_string()))
}

/// Programs and maps in the kernel. Dropping it removes them as soon as nothing else refers to them.
#[derive(Debug)]
pub(crate) struct Loaded {
    ebpf: Ebpf,
    /// Programs that the verifier refused.
    refused: Refused,
}

impl Loaded {
    /// The descriptor of the program `name`, which the verifier has taken.
    ///
    /// # Errors
    /// Why it has not.
    pub(crate) fn load_program(&mut self, name: &str, doing: &str) -> Result<OwnedFd, AgentError> {
        let absent = || failed(AgentErrorKind::Internal, doing, format!("there is no program `{name}`"), "");
        if let Some(error) = self.refused.remove(name) {
            return Err(program_trouble(doing, &error));
        }
        let fd = match self.ebpf.program(name).ok_or_else(absent)? {
            Program::TracePoint(program) => program.fd(),
            Program::RawTracePoint(program) => program.fd(),
            Program::PerfEvent(program) => program.fd(),
            _ => return Err(absent()),
        };
        clone(fd.map_err(|error| program_trouble(doing, &error))?.as_fd(), doing)
    }

    /// A descriptor of the ring buffer `name`.
    pub(crate) fn ring(&self, name: &str, doing: &str) -> Result<OwnedFd, AgentError> {
        let absent = || failed(AgentErrorKind::Internal, doing, format!("there is no ring `{name}`"), "");
        let Some(Map::RingBuf(data)) = self.ebpf.map(name) else { return Err(absent()) };
        clone(data.fd().as_fd(), doing)
    }

    /// Takes the counters `name`, of so many words.
    pub(crate) fn counters<const WORDS: usize>(
        &mut self,
        name: &str,
        doing: &str,
    ) -> Result<Counters<WORDS>, AgentError> {
        let absent = || failed(AgentErrorKind::Internal, doing, format!("there are no counters `{name}`"), "");
        let map = self.ebpf.take_map(name).ok_or_else(absent)?;
        let map = PerCpuArray::try_from(map).map_err(|error| map_error(doing, &error))?;
        Ok(Counters { map })
    }

    /// Takes the guard's limits.
    pub(crate) fn allowance(&mut self, doing: &str) -> Result<Allowance, AgentError> {
        let absent = || failed(AgentErrorKind::Internal, doing, "there is no map of the guard's limit", "");
        let map = self.ebpf.take_map(ALLOWANCE_MAP).ok_or_else(absent)?;
        let map = Array::try_from(map).map_err(|error| map_error(doing, &error))?;
        Ok(Allowance { map })
    }

    /// Puts a process among the targets.
    pub(crate) fn add_target(&mut self, pid: u32, doing: &str) -> Result<(), AgentError> {
        self.add_target_in_state(pid, 1, doing)
    }

    /// Puts a process among the targets, with a word for the programs that ask for one.
    pub(crate) fn add_target_in_state(&mut self, pid: u32, state: u32, doing: &str) -> Result<(), AgentError> {
        let absent = || failed(AgentErrorKind::Internal, doing, "there is no map of targets", "");
        let map = self.ebpf.map_mut(TARGETS_MAP).ok_or_else(absent)?;
        let insert = |mut map: HashMap<&mut MapData, u32, u32>| map.insert(pid, state, 0);
        HashMap::try_from(map).and_then(insert).map_err(|error| map_error(doing, &error))
    }
}

fn clone(fd: BorrowedFd<'_>, doing: &str) -> Result<OwnedFd, AgentError> {
    fd.try_clone_to_owned()
        .map_err(|error| failed(kind_of(&error), doing, words(&error), "Raise the limit of open files (`ulimit -n`)."))
}

/// The counters of one program, or of several that share them.
pub(crate) struct Counters<const WORDS: usize = PROBE_WORDS> {
    map: PerCpuArray<MapData, [u64; WORDS]>,
}

/// Words of the counters of `bathyscope_bpf::probe`.
const PROBE_WORDS: usize = COUNTERS_BYTES as usize / 8;

impl<const WORDS: usize> std::fmt::Debug for Counters<WORDS> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Counters")
    }
}

/// The sums of a program's counters over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Times that it ran.
    pub(crate) hits: u64,
    /// Hits that the target or the predicate rejected.
    pub(crate) filtered: u64,
    /// Hits whose record did not fit.
    pub(crate) ring_full: u64,
    /// Hits whose record the guard did not let be written.
    pub(crate) limited: u64,
}

impl From<Counts> for ProbeReading {
    fn from(Counts { hits, filtered, ring_full, limited }: Counts) -> Self {
        Self { hits, filtered, ring_full, limited, ..Self::default() }
    }
}

impl<const WORDS: usize> Counters<WORDS> {
    /// Their sums over all CPUs. Those of a running program are of slightly different moments.
    pub(crate) fn sums(&self) -> io::Result<[u64; WORDS]> {
        let per_cpu = self.map.get(&0, 0).map_err(io::Error::other)?;
        let mut sums = [0_u64; WORDS];
        for values in per_cpu.iter() {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        Ok(sums)
    }
}

impl Counters {
    /// Reads them.
    pub(crate) fn read(&self) -> io::Result<Counts> {
        let [hits, filtered, ring_full, limited, ..] = self.sums()?;
        Ok(Counts { hits, filtered, ring_full, limited })
    }
}

/// The guard's limits.
pub(crate) struct Allowance {
    map: Array<MapData, [u64; ALLOWANCE_WORDS]>,
}

/// Limits for each window of time; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Rows of one program on one CPU.
    pub(crate) rows_each: u64,
    /// Rows of the capture.
    pub(crate) rows: u64,
    /// Bytes of the capture's records.
    pub(crate) bytes: u64,
}

impl std::fmt::Debug for Allowance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Allowance")
    }
}

impl Allowance {
    /// Sets the limits. The current window begins anew.
    pub(crate) fn set(&mut self, Allowed { rows_each, rows, bytes }: Allowed) -> io::Result<()> {
        self.map.set(0, [rows_each, rows, bytes, 0, 0, 0], 0).map_err(io::Error::other)
    }
}

fn source_io<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a io::Error> {
    std::iter::successors(Some(error), |error| error.source()).find_map(|error| error.downcast_ref::<io::Error>())
}

fn map_trouble(doing: &str, error: &EbpfError) -> AgentError {
    trouble(doing, error, "creating its maps failed")
}

fn map_error(doing: &str, error: &MapError) -> AgentError {
    trouble(doing, error, "a map cannot be used")
}

fn trouble(doing: &str, error: &(dyn std::error::Error + 'static), what: &str) -> AgentError {
    match source_io(error) {
        Some(io) => {
            let denied = kind_of(io) == AgentErrorKind::Denied;
            failed(
                kind_of(io),
                doing,
                format!("{what}: {}", words(io)),
                if denied { Need::Programs.remedy() } else { String::new() },
            )
        }
        None => failed(AgentErrorKind::Internal, doing, format!("{what}: {error}"), ""),
    }
}

fn program_trouble(doing: &str, error: &ProgramError) -> AgentError {
    let ProgramError::LoadError { io_error, verifier_log } = error else {
        return trouble(doing, error, "loading its program failed");
    };
    let mut failure = match io_error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) if verifier_log.to_string().is_empty() => {
            failed(AgentErrorKind::Denied, doing, "the kernel does not allow programs", Need::Programs.remedy())
        }
        _ => {
            let why = format!("the kernel's verifier refused the program: {}", words(io_error));
            failed(AgentErrorKind::Internal, doing, why, "Report this as a defect, with the details.")
        }
    };
    let log = verifier_log.to_string();
    let start = log.len().saturating_sub(MAX_LOG_BYTES);
    let start = (start..log.len()).find(|at| log.is_char_boundary(*at)).unwrap_or(log.len());
    failure.detail = log.get(start..).unwrap_or_default().to_owned();
    failure
}
