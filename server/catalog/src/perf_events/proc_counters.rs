//! Counters of the whole machine that the kernel tells in text files: pressure, memory, and what its memory management did.
//!
//! They are counted beside events of perf, under names that are written like those of tracepoints. The files are the kernel's
//! own: numbers that no process can write text into. Whoever opens them gives the text; a part that is missing or no number is
//! a counter that is not told.

use std::fmt;

/// Where such counters are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcFile {
    /// How long threads had to wait for a CPU.
    PressureCpu,
    /// For memory.
    PressureMemory,
    /// For input and output.
    PressureIo,
    /// What memory is used for now.
    MemoryInfo,
    /// What memory management did since the machine was started.
    MemoryStat,
}

impl ProcFile {
    /// Where it is, of the whole machine.
    pub fn path(self) -> &'static str {
        match self {
            Self::PressureCpu => "/proc/pressure/cpu",
            Self::PressureMemory => "/proc/pressure/memory",
            Self::PressureIo => "/proc/pressure/io",
            Self::MemoryInfo => "/proc/meminfo",
            Self::MemoryStat => "/proc/vmstat",
        }
    }

    /// What it is called in the folder of a control group (version 2); none where groups have no such file.
    pub fn name_in_group(self) -> Option<&'static str> {
        match self {
            Self::PressureCpu => Some("cpu.pressure"),
            Self::PressureMemory => Some("memory.pressure"),
            Self::PressureIo => Some("io.pressure"),
            Self::MemoryInfo | Self::MemoryStat => None,
        }
    }

    /// Whether it tells of pressure, which not every kernel keeps.
    pub fn is_pressure(self) -> bool {
        self.name_in_group().is_some()
    }

    /// Name and value of a line; none if it has none.
    fn field(self, line: &[u8]) -> Option<(&[u8], u64)> {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let name = words.next()?;
        let value =
            if self.is_pressure() { words.find_map(|word| word.strip_prefix(b"total="))? } else { words.next()? };
        // A sign is none of a number here.
        let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let value = std::str::from_utf8(value).ok().filter(|_| is_number)?.parse().ok()?;
        Some((name, value))
    }
}

/// What a value is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterUnit {
    /// Pages, allocations, or whatever its meaning says.
    Number,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
}

impl CounterUnit {
    /// As rows have it; empty for numbers.
    pub fn text(self) -> &'static str {
        match self {
            Self::Number => "",
            Self::Nanoseconds => "ns",
            Self::Bytes => "bytes",
        }
    }
}

/// Which numbers of a file a counter is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Terms {
    /// This one.
    Of(&'static str),
    /// The first without the second.
    Difference(&'static str, &'static str),
    /// Those of these that the kernel has: they differ between versions and machines.
    Sum(&'static [&'static str]),
}

#[derive(Debug, PartialEq, Eq)]
struct ProcRow {
    name: &'static str,
    file: ProcFile,
    terms: Terms,
    /// What the file's number is multiplied with to be in the unit.
    factor: u64,
    unit: CounterUnit,
    /// The value is that of the moment.
    gauge: bool,
    meaning: &'static str,
}

const fn pressure(name: &'static str, file: ProcFile, line: &'static str, meaning: &'static str) -> ProcRow {
    let (terms, unit) = (Terms::Of(line), CounterUnit::Nanoseconds);
    ProcRow { name, file, terms, factor: 1000, unit, gauge: false, meaning }
}

const fn memory(name: &'static str, terms: Terms, meaning: &'static str) -> ProcRow {
    ProcRow { name, file: ProcFile::MemoryInfo, terms, factor: 1024, unit: CounterUnit::Bytes, gauge: true, meaning }
}

const fn vm(name: &'static str, terms: Terms, meaning: &'static str) -> ProcRow {
    ProcRow { name, file: ProcFile::MemoryStat, terms, factor: 1, unit: CounterUnit::Number, gauge: false, meaning }
}

/// What passed between devices and memory, which the kernel tells in KiB.
const fn transferred(name: &'static str, terms: Terms, meaning: &'static str) -> ProcRow {
    ProcRow { factor: 1024, unit: CounterUnit::Bytes, ..vm(name, terms, meaning) }
}

const REFAULTS: &[&str] = &["workingset_refault", "workingset_refault_anon", "workingset_refault_file"];
/// One for each zone of memory that the machine has.
const STALLS: &[&str] = &[
    "allocstall",
    "allocstall_dma",
    "allocstall_dma32",
    "allocstall_normal",
    "allocstall_high",
    "allocstall_movable",
    "allocstall_device",
];

/// All of them, in the order to show.
static ROWS: [ProcRow; 40] = [
    pressure("pressure:cpu-some", ProcFile::PressureCpu, "some", "time in which some thread waited for a CPU"),
    pressure("pressure:cpu-full", ProcFile::PressureCpu, "full", "time in which all threads waited for a CPU"),
    pressure("pressure:memory-some", ProcFile::PressureMemory, "some", "time in which some thread waited for memory"),
    pressure("pressure:memory-full", ProcFile::PressureMemory, "full", "time in which all threads waited for memory"),
    pressure("pressure:io-some", ProcFile::PressureIo, "some", "time in which some thread waited for input or output"),
    pressure("pressure:io-full", ProcFile::PressureIo, "full", "time in which all threads waited for input or output"),
    memory("memory:total", Terms::Of("MemTotal:"), "memory that the kernel can use"),
    memory("memory:available", Terms::Of("MemAvailable:"), "memory that programs can get without swapping"),
    memory("memory:free", Terms::Of("MemFree:"), "memory that is used for nothing"),
    memory("memory:buffers", Terms::Of("Buffers:"), "memory with blocks of devices"),
    memory("memory:cached", Terms::Of("Cached:"), "memory with contents of files, shared memory among them"),
    memory("memory:active", Terms::Of("Active:"), "memory that was used lately"),
    memory("memory:inactive", Terms::Of("Inactive:"), "memory that is reclaimed first"),
    memory("memory:dirty", Terms::Of("Dirty:"), "memory that is to be written to disks"),
    memory("memory:writeback", Terms::Of("Writeback:"), "memory that is being written to disks"),
    memory("memory:anon", Terms::Of("AnonPages:"), "memory of processes that is of no file"),
    memory("memory:mapped", Terms::Of("Mapped:"), "memory of files that processes have mapped"),
    memory("memory:shmem", Terms::Of("Shmem:"), "shared memory, and files in tmpfs"),
    memory("memory:slab", Terms::Of("Slab:"), "kernel objects, such as entries of directories and inodes"),
    memory("memory:slab-reclaimable", Terms::Of("SReclaimable:"), "kernel objects whose memory can be reclaimed"),
    memory("memory:slab-unreclaimable", Terms::Of("SUnreclaim:"), "kernel objects whose memory cannot be reclaimed"),
    memory("memory:kernel-stack", Terms::Of("KernelStack:"), "stacks of threads in the kernel"),
    memory("memory:page-tables", Terms::Of("PageTables:"), "page tables of processes"),
    memory("memory:committed", Terms::Of("Committed_AS:"), "memory that processes have asked for"),
    memory("memory:swap-total", Terms::Of("SwapTotal:"), "swap space"),
    memory("memory:swap-free", Terms::Of("SwapFree:"), "swap space that is free"),
    memory("memory:swap-used", Terms::Difference("SwapTotal:", "SwapFree:"), "swap space that is used"),
    transferred("vm:pgpgin", Terms::Of("pgpgin"), "bytes read from block devices"),
    transferred("vm:pgpgout", Terms::Of("pgpgout"), "bytes written to block devices"),
    vm("vm:pswpin", Terms::Of("pswpin"), "pages read from swap"),
    vm("vm:pswpout", Terms::Of("pswpout"), "pages written to swap"),
    vm("vm:pgfault", Terms::Of("pgfault"), "page faults of the whole machine"),
    vm("vm:pgmajfault", Terms::Of("pgmajfault"), "page faults with reading from a disk, of the whole machine"),
    vm("vm:pgscan_kswapd", Terms::Of("pgscan_kswapd"), "pages that kswapd looked at to reclaim some"),
    vm("vm:pgscan_direct", Terms::Of("pgscan_direct"), "pages that allocating threads looked at to reclaim some"),
    vm("vm:pgsteal_kswapd", Terms::Of("pgsteal_kswapd"), "pages that kswapd reclaimed"),
    vm("vm:pgsteal_direct", Terms::Of("pgsteal_direct"), "pages that allocating threads reclaimed"),
    vm("vm:allocstall", Terms::Sum(STALLS), "allocations that had to reclaim memory first"),
    vm("vm:workingset_refault", Terms::Sum(REFAULTS), "pages that were needed again soon after they were reclaimed"),
    vm("vm:oom_kill", Terms::Of("oom_kill"), "processes that were killed for want of memory"),
];

/// A counter that is read from a file of the kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ProcCounter(&'static ProcRow);

impl fmt::Debug for ProcCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProcCounter").field(&self.0.name).finish()
    }
}

impl ProcCounter {
    /// All of them, in the order to show.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(Self)
    }

    /// The one that is called so.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|counter| counter.0.name == name)
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// What its name begins with: `pressure`, `memory` or `vm`.
    pub fn kind(self) -> &'static str {
        self.0.name.split_once(':').map_or(self.0.name, |(kind, _)| kind)
    }

    /// What it tells.
    pub fn meaning(self) -> &'static str {
        self.0.meaning
    }

    /// Where it is told.
    pub fn file(self) -> ProcFile {
        self.0.file
    }

    /// What its values are measured in.
    pub fn unit(self) -> CounterUnit {
        self.0.unit
    }

    /// Whether its value is that of the moment, of which there are no differences and no rates.
    pub fn is_gauge(self) -> bool {
        self.0.gauge
    }

    /// Whether it means something of the whole machine. That all threads wait for a CPU cannot be while one runs: the kernel
    /// tells that of the whole machine as zero.
    pub fn is_of_machine(self) -> bool {
        !(self.0.file == ProcFile::PressureCpu && self.0.terms == Terms::Of("full"))
    }
}

/// What was found of a counter.
#[derive(Clone, Copy, Default)]
struct Found {
    first: Option<u64>,
    second: Option<u64>,
}

impl Found {
    /// Takes a number of the file; of two with one name the first counts.
    fn take(&mut self, terms: Terms, name: &[u8], value: u64) {
        match terms {
            Terms::Of(first) | Terms::Difference(first, _) if first.as_bytes() == name => {
                self.first.get_or_insert(value);
            }
            Terms::Difference(_, second) if second.as_bytes() == name => {
                self.second.get_or_insert(value);
            }
            Terms::Sum(parts) if parts.iter().any(|part| part.as_bytes() == name) => {
                self.first = Some(self.first.unwrap_or(0).saturating_add(value));
            }
            Terms::Of(_) | Terms::Difference(..) | Terms::Sum(_) => {}
        }
    }

    fn value(self, row: &ProcRow) -> Option<u64> {
        let number = match row.terms {
            Terms::Of(_) | Terms::Sum(_) => self.first?,
            Terms::Difference(..) => self.first?.saturating_sub(self.second?),
        };
        Some(number.saturating_mul(row.factor))
    }
}

/// The values of `counters` in the text of `file`, in their order and units; none for one that it does not tell. What the kernel
/// counts up is as it counts it, from some beginning of its own.
pub fn read_proc_counters(file: ProcFile, text: &[u8], counters: &[ProcCounter]) -> Vec<Option<u64>> {
    let mut found = vec![Found::default(); counters.len()];
    for (name, value) in text.split(|byte| *byte == b'\n').filter_map(|line| file.field(line)) {
        let of_file = found.iter_mut().zip(counters).filter(|(_, counter)| counter.0.file == file);
        of_file.for_each(|(found, counter)| found.take(counter.0.terms, name, value));
    }
    found.iter().zip(counters).map(|(found, counter)| found.value(counter.0)).collect()
}
