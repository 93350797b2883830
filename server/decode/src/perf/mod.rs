//! Records of perf rings: samples and the side-band records about processes and their memory.
//!
//! The published reader of this format panics on some of the lengths that it reads, so it only serves the tests as a
//! second opinion; what is needed here is read by hand, with every length checked.

mod words;

use bathyscope_catalog::{
    elf::Registers,
    perf_branches::{BRANCH_CALL_STACK, BRANCH_COUNTERS, BRANCH_HW_INDEX},
};

pub use words::{BranchFlags, MemoryWords, NOT_TOLD, has_data_source};

const SAMPLE_IP: u64 = 1;
const SAMPLE_TID: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_ADDR: u64 = 1 << 3;
const SAMPLE_READ: u64 = 1 << 4;
const SAMPLE_CALLCHAIN: u64 = 1 << 5;
const SAMPLE_ID: u64 = 1 << 6;
const SAMPLE_CPU: u64 = 1 << 7;
const SAMPLE_PERIOD: u64 = 1 << 8;
const SAMPLE_STREAM_ID: u64 = 1 << 9;
const SAMPLE_RAW: u64 = 1 << 10;
const SAMPLE_BRANCH_STACK: u64 = 1 << 11;
const SAMPLE_REGS_USER: u64 = 1 << 12;
const SAMPLE_STACK_USER: u64 = 1 << 13;
const SAMPLE_WEIGHT: u64 = 1 << 14;
const SAMPLE_DATA_SRC: u64 = 1 << 15;
const SAMPLE_IDENTIFIER: u64 = 1 << 16;
const SAMPLE_WEIGHT_STRUCT: u64 = 1 << 24;

const READ_TOTAL_TIME_ENABLED: u64 = 1;
const READ_TOTAL_TIME_RUNNING: u64 = 1 << 1;
const READ_ID: u64 = 1 << 2;
const READ_GROUP: u64 = 1 << 3;
const READ_LOST: u64 = 1 << 4;

const RECORD_MMAP: u32 = 1;
const RECORD_LOST: u32 = 2;
const RECORD_COMM: u32 = 3;
const RECORD_EXIT: u32 = 4;
const RECORD_THROTTLE: u32 = 5;
const RECORD_UNTHROTTLE: u32 = 6;
const RECORD_FORK: u32 = 7;
const RECORD_SAMPLE: u32 = 9;
const RECORD_MMAP2: u32 = 10;
const RECORD_LOST_SAMPLES: u32 = 13;

const MISC_COMM_EXEC: u16 = 1 << 13;
/// Of a mapping: no code can run there.
const MISC_MMAP_DATA: u16 = 1 << 13;
const MISC_MMAP_BUILD_ID: u16 = 1 << 14;

const HEADER_BYTES: usize = 8;
/// From, to, flags.
const BRANCH_BYTES: usize = 24;
/// `PERF_SAMPLE_REGS_ABI_64`
const ABI_64: u64 = 2;
/// The most frames of a stack; the kernel's limit is an administrator's choice, 127 unless changed.
const MAX_FRAMES: usize = 1024;
/// The longest path or name that is kept.
const MAX_NAME_BYTES: usize = 4096;
/// Numbers from here on in a call chain are markers, not addresses.
const FIRST_MARKER: u64 = -4095_i64 as u64;
const MARKER_HYPERVISOR: u64 = -32_i64 as u64;
const MARKER_KERNEL: u64 = -128_i64 as u64;
const MARKER_USER: u64 = -512_i64 as u64;

/// How the records of a ring look, as its event was asked to write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerfFormat {
    /// `sample_type` of its `perf_event_attr`.
    pub sample_type: u64,
    /// `read_format` of its `perf_event_attr`.
    pub read_format: u64,
    /// Whether records other than samples end in the sample's ids (`sample_id_all`).
    pub sample_id_all: bool,
    /// `branch_sample_type` of its `perf_event_attr`; zero without branches.
    pub branch_sample_type: u64,
}

impl PerfFormat {
    /// Whether samples have what a row needs.
    pub fn fits_samples(self) -> bool {
        let needed = SAMPLE_TID | SAMPLE_TIME | SAMPLE_CPU | SAMPLE_CALLCHAIN;
        self.sample_type & needed == needed
    }

    /// Whether samples tell of the memory that was accessed.
    pub fn has_memory(self) -> bool {
        self.sample_type & SAMPLE_DATA_SRC != 0
    }

    /// Whether the branches of samples are rows, and not calls that make the stack.
    pub fn has_branches(self) -> bool {
        self.sample_type & SAMPLE_BRANCH_STACK != 0 && self.branch_sample_type & BRANCH_CALL_STACK == 0
    }
}

/// A record with its moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerfRecord {
    /// Monotonic nanoseconds; none where the format has none.
    pub time_ns: Option<u64>,
    /// What it tells.
    pub event: PerfEvent,
}

/// What a record tells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are what the kernel calls them")]
pub enum PerfEvent {
    /// A stack was sampled.
    Sample(Sample),
    /// Memory was mapped that code can run from.
    Map(NewMap),
    /// A thread was renamed, or executed a program.
    Comm { pid: u32, tid: u32, exec: bool, comm: Vec<u8> },
    /// A process or thread was made.
    Fork { pid: u32, tid: u32, parent_pid: u32, parent_tid: u32 },
    /// A thread ended.
    Exit { pid: u32, tid: u32 },
    /// So many records did not fit into this ring before this one.
    Lost { count: u64 },
    /// The kernel samples less often than asked, or as asked again.
    Throttle { begins: bool },
    /// Something that is not needed.
    Other,
}

/// A sampled stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are what the kernel calls them")]
pub struct Sample {
    pub cpu: u32,
    pub pid: u32,
    pub tid: u32,
    /// Kernel addresses, innermost first.
    pub kernel: Vec<u64>,
    /// User addresses, innermost first.
    pub user: Vec<u64>,
    /// What user addresses are found from, until they were.
    pub copied: Option<Box<CopiedStack>>,
    /// Whether the stack goes on behind the last address; not known where the kernel walked it.
    pub cut: Option<bool>,
    /// The access to memory, where it was asked for.
    pub memory: Option<Access>,
    /// The CPU's last branches, the newest first.
    pub branches: Vec<Branch>,
    /// Which of the events that are sampled it is of; its ring tells.
    pub event: usize,
}

/// An access to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// What was accessed.
    pub address: u64,
    /// `perf_mem_data_src`.
    pub data_source: u64,
    /// What it cost; mostly cycles.
    pub weight: u64,
    /// Cycles of the whole instruction, where the CPU tells them apart.
    pub instruction_latency: u64,
    /// Cycles until it retired, likewise.
    pub retire_latency: u64,
}

/// A branch that was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are what the kernel calls them")]
pub struct Branch {
    pub from: u64,
    pub to: u64,
    pub flags: BranchFlags,
}

/// A copy of a thread's registers and of the top of its stack in user space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are what the kernel calls them")]
pub struct CopiedStack {
    pub registers: Registers,
    /// From the stack pointer on.
    pub bytes: Vec<u8>,
}

/// Memory that was mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are what the kernel calls them")]
pub struct NewMap {
    pub pid: u32,
    pub start: u64,
    pub end: u64,
    pub file_offset: u64,
    pub file: MapFile,
    /// Path or name; bytes that a process chose.
    pub name: Vec<u8>,
    /// Whether code can run there.
    pub executable: bool,
}

/// How the mapped file is told from others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are what the kernel calls them")]
pub enum MapFile {
    BuildId(Vec<u8>),
    Inode { device: (u32, u32), inode: u64 },
    Unknown,
}

/// A record that contradicts its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record of the kernel's event ring does not have its announced form")]
pub struct MalformedRecord;

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], MalformedRecord> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or(MalformedRecord)?;
        self.0 = rest;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, MalformedRecord> {
        self.take(4)?.try_into().map(u32::from_le_bytes).map_err(|_size| MalformedRecord)
    }

    fn u64(&mut self) -> Result<u64, MalformedRecord> {
        self.take(8)?.try_into().map(u64::from_le_bytes).map_err(|_size| MalformedRecord)
    }

    /// Up to the first NUL; what follows is padding.
    fn text(&self) -> Vec<u8> {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        self.0.get(..end.min(MAX_NAME_BYTES)).unwrap_or_default().to_vec()
    }
}

/// Reads one whole record, header included.
///
/// # Errors
/// If it contradicts itself or its format.
pub fn parse_record(record: &[u8], format: PerfFormat) -> Result<PerfRecord, MalformedRecord> {
    let mut header = Cursor(record);
    let kind = header.u32()?;
    let misc_and_size = header.u32()?;
    let (misc, size) = (misc_and_size as u16, (misc_and_size >> 16) as usize);
    let body = record.get(HEADER_BYTES..size.min(record.len())).ok_or(MalformedRecord)?;
    if kind == RECORD_SAMPLE {
        return sample(Cursor(body), format);
    }
    let (mut body, time_ns) = without_id(body, format)?;
    let event = match kind {
        RECORD_MMAP | RECORD_MMAP2 => PerfEvent::Map(new_map(&mut body, kind, misc)?),
        RECORD_COMM => {
            let (pid, tid) = (body.u32()?, body.u32()?);
            PerfEvent::Comm { pid, tid, exec: misc & MISC_COMM_EXEC != 0, comm: body.text() }
        }
        RECORD_FORK => {
            let (pid, parent_pid) = (body.u32()?, body.u32()?);
            PerfEvent::Fork { pid, parent_pid, tid: body.u32()?, parent_tid: body.u32()? }
        }
        RECORD_EXIT => {
            let (pid, _parent) = (body.u32()?, body.u32()?);
            PerfEvent::Exit { pid, tid: body.u32()? }
        }
        RECORD_LOST => {
            let _id = body.u64()?;
            PerfEvent::Lost { count: body.u64()? }
        }
        RECORD_LOST_SAMPLES => PerfEvent::Lost { count: body.u64()? },
        RECORD_THROTTLE => PerfEvent::Throttle { begins: true },
        RECORD_UNTHROTTLE => PerfEvent::Throttle { begins: false },
        _ => PerfEvent::Other,
    };
    Ok(PerfRecord { time_ns, event })
}

/// The part before the ids that end every record other than a sample, and the moment among them.
fn without_id(body: &[u8], format: PerfFormat) -> Result<(Cursor<'_>, Option<u64>), MalformedRecord> {
    if !format.sample_id_all {
        return Ok((Cursor(body), None));
    }
    let has = |bit| usize::from(format.sample_type & bit != 0);
    let after_time = has(SAMPLE_ID) + has(SAMPLE_STREAM_ID) + has(SAMPLE_CPU) + has(SAMPLE_IDENTIFIER);
    let words = has(SAMPLE_TID) + has(SAMPLE_TIME) + after_time;
    let (body, mut ids) =
        body.len().checked_sub(8 * words).and_then(|at| body.split_at_checked(at)).ok_or(MalformedRecord)?;
    if has(SAMPLE_TIME) == 0 {
        return Ok((Cursor(body), None));
    }
    ids = ids.get(8 * has(SAMPLE_TID)..).ok_or(MalformedRecord)?;
    Ok((Cursor(body), Some(Cursor(ids).u64()?)))
}

fn new_map(body: &mut Cursor<'_>, kind: u32, misc: u16) -> Result<NewMap, MalformedRecord> {
    let (pid, _tid) = (body.u32()?, body.u32()?);
    let (start, length, file_offset) = (body.u64()?, body.u64()?, body.u64()?);
    let mut file = MapFile::Unknown;
    if kind == RECORD_MMAP2 {
        let id = body.take(24)?;
        let _protection_and_flags = body.u64()?;
        file = if misc & MISC_MMAP_BUILD_ID != 0 {
            let (bytes, id) = (id.first().copied().unwrap_or(0), id.get(4..).unwrap_or_default());
            let id = id.get(..usize::from(bytes)).ok_or(MalformedRecord)?;
            if id.is_empty() { MapFile::Unknown } else { MapFile::BuildId(id.to_vec()) }
        } else {
            let mut id = Cursor(id);
            let device = (id.u32()?, id.u32()?);
            match id.u64()? {
                0 => MapFile::Unknown,
                inode => MapFile::Inode { device, inode },
            }
        };
    }
    let end = start.checked_add(length).filter(|end| *end > start).ok_or(MalformedRecord)?;
    let executable = misc & MISC_MMAP_DATA == 0;
    Ok(NewMap { pid, start, end, file_offset, file, name: body.text(), executable })
}

fn sample(mut body: Cursor<'_>, format: PerfFormat) -> Result<PerfRecord, MalformedRecord> {
    let has = |bit| format.sample_type & bit != 0;
    let skip = |body: &mut Cursor<'_>, bit| if has(bit) { body.u64().map(drop) } else { Ok(()) };
    skip(&mut body, SAMPLE_IDENTIFIER)?;
    skip(&mut body, SAMPLE_IP)?;
    let (pid, tid) = if has(SAMPLE_TID) { (body.u32()?, body.u32()?) } else { (0, 0) };
    let time_ns = if has(SAMPLE_TIME) { Some(body.u64()?) } else { None };
    let address = if has(SAMPLE_ADDR) { body.u64()? } else { 0 };
    skip(&mut body, SAMPLE_ID)?;
    skip(&mut body, SAMPLE_STREAM_ID)?;
    let cpu = if has(SAMPLE_CPU) { (body.u32()?, body.u32()?).0 } else { 0 };
    skip(&mut body, SAMPLE_PERIOD)?;
    if has(SAMPLE_READ) {
        skip_counters(&mut body, format.read_format)?;
    }
    let (mut kernel, mut user) = (Vec::new(), Vec::new());
    if has(SAMPLE_CALLCHAIN) {
        let count = usize::try_from(body.u64()?).map_err(|_large| MalformedRecord)?;
        let chain = body.take(count.checked_mul(8).ok_or(MalformedRecord)?)?;
        read_chain(chain, &mut kernel, &mut user);
    }
    if has(SAMPLE_RAW) {
        let bytes = body.u32()? as usize;
        body.take(bytes)?;
    }
    let mut branches = Vec::new();
    if has(SAMPLE_BRANCH_STACK) {
        branches = read_branches(&mut body, format.branch_sample_type)?;
        if !format.has_branches() {
            user = returns_of(&std::mem::take(&mut branches));
        }
    }
    let mut copied = None;
    if has(SAMPLE_REGS_USER) && has(SAMPLE_STACK_USER) {
        copied = copied_stack(&mut body)?;
        user.extend(copied.as_ref().map(|copied| copied.registers.ip));
    }
    let memory = if format.has_memory() { Some(access(&mut body, address, format)?) } else { None };
    let sample = Sample { cpu, pid, tid, kernel, user, copied, cut: None, memory, branches, event: 0 };
    Ok(PerfRecord { time_ns, event: PerfEvent::Sample(sample) })
}

/// What stands at the end of a sample of memory.
fn access(body: &mut Cursor<'_>, address: u64, format: PerfFormat) -> Result<Access, MalformedRecord> {
    let mut access = Access { address, ..Access::default() };
    if format.sample_type & SAMPLE_WEIGHT_STRUCT != 0 {
        let weights = body.u64()?;
        access.weight = weights & 0xffff_ffff;
        access.instruction_latency = weights >> 32 & 0xffff;
        access.retire_latency = weights >> 48;
    } else if format.sample_type & SAMPLE_WEIGHT != 0 {
        access.weight = body.u64()?;
    }
    access.data_source = body.u64()?;
    Ok(access)
}

/// The CPU's record of branches, the newest first. There are no more than fit into a record of 64 KiB.
fn read_branches(body: &mut Cursor<'_>, branch_sample_type: u64) -> Result<Vec<Branch>, MalformedRecord> {
    let count = usize::try_from(body.u64()?).map_err(|_large| MalformedRecord)?;
    if branch_sample_type & BRANCH_HW_INDEX != 0 {
        let _where_in_the_cpus_buffer = body.u64()?;
    }
    let entries = body.take(count.checked_mul(BRANCH_BYTES).ok_or(MalformedRecord)?)?;
    let mut branches = Vec::with_capacity(count);
    for entry in entries.chunks_exact(BRANCH_BYTES) {
        let mut entry = Cursor(entry);
        branches.push(Branch { from: entry.u64()?, to: entry.u64()?, flags: BranchFlags(entry.u64()?) });
    }
    if branch_sample_type & BRANCH_COUNTERS != 0 {
        body.take(count.checked_mul(8).ok_or(MalformedRecord)?)?;
    }
    Ok(branches)
}

/// The stack that the calls which have not returned make: where the last one went, and where each came from.
fn returns_of(calls: &[Branch]) -> Vec<u64> {
    let innermost = calls.first().map(|call| call.to);
    innermost.into_iter().chain(calls.iter().map(|call| call.from)).take(MAX_FRAMES).collect()
}

/// Registers and stack of user space; none of a thread of the kernel, or of a program for another mode of the CPU.
fn copied_stack(body: &mut Cursor<'_>) -> Result<Option<Box<CopiedStack>>, MalformedRecord> {
    let abi = body.u64()?;
    let mut registers = Registers::default();
    if abi != 0 {
        // In the order of their bits in `USER_REGISTERS`.
        registers = Registers { bp: body.u64()?, sp: body.u64()?, ip: body.u64()? };
    }
    let size = usize::try_from(body.u64()?).map_err(|_large| MalformedRecord)?;
    if size == 0 {
        return Ok(None);
    }
    let bytes = body.take(size)?;
    let copied = usize::try_from(body.u64()?).unwrap_or(usize::MAX).min(size);
    let bytes = bytes.get(..copied).unwrap_or_default().to_vec();
    Ok((abi == ABI_64).then(|| Box::new(CopiedStack { registers, bytes })))
}

fn skip_counters(body: &mut Cursor<'_>, read_format: u64) -> Result<(), MalformedRecord> {
    let has = |bit| usize::from(read_format & bit != 0);
    let times = has(READ_TOTAL_TIME_ENABLED) + has(READ_TOTAL_TIME_RUNNING);
    let each = 1 + has(READ_ID) + has(READ_LOST);
    let counters = if has(READ_GROUP) == 1 { usize::try_from(body.u64()?).unwrap_or(usize::MAX) } else { 1 };
    let words = counters.checked_mul(each).and_then(|words| words.checked_add(times)).ok_or(MalformedRecord)?;
    body.take(words.checked_mul(8).ok_or(MalformedRecord)?).map(drop)
}

/// Sorts a call chain's addresses by the markers between them. Addresses of a hypervisor or a guest are left out.
fn read_chain(chain: &[u8], kernel: &mut Vec<u64>, user: &mut Vec<u64>) {
    let mut side = MARKER_HYPERVISOR;
    for word in chain.chunks_exact(8) {
        let address = word.try_into().map(u64::from_le_bytes).unwrap_or(0);
        if address >= FIRST_MARKER {
            side = address;
        } else if kernel.len() + user.len() < MAX_FRAMES {
            match side {
                MARKER_KERNEL => kernel.push(address),
                MARKER_USER => user.push(address),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
