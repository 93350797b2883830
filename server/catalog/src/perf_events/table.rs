//! The events with fixed numbers, from the kernel's `perf_event.h`.

use super::{ProcCounter, TYPE_CACHE, TYPE_HARDWARE, TYPE_SOFTWARE, ToolEvent};

/// Number of the CPU's clock among software events.
pub(super) const CPU_CLOCK: u64 = 0;
/// Number of the task's clock.
pub(super) const TASK_CLOCK: u64 = 1;

/// Number, name, other name, what it counts.
type Row = (u64, &'static str, &'static str, &'static str);

const HARDWARE: [Row; 10] = [
    (0, "cycles", "cpu-cycles", "cycles of the CPU's clock while it does not halt"),
    (1, "instructions", "", "instructions that were retired"),
    (2, "cache-references", "", "accesses of the last cache"),
    (3, "cache-misses", "", "accesses that the last cache could not serve"),
    (4, "branches", "branch-instructions", "branches that were retired"),
    (5, "branch-misses", "", "branches that were predicted wrongly"),
    (6, "bus-cycles", "", "cycles of the bus"),
    (7, "stalled-cycles-frontend", "idle-cycles-frontend", "cycles in which no instructions came"),
    (8, "stalled-cycles-backend", "idle-cycles-backend", "cycles in which instructions had to wait"),
    (9, "ref-cycles", "", "cycles at the CPU's nominal frequency"),
];

const SOFTWARE: [Row; 12] = [
    (CPU_CLOCK, "cpu-clock", "", "nanoseconds by a timer of the CPU"),
    (TASK_CLOCK, "task-clock", "", "nanoseconds on a CPU"),
    (2, "page-faults", "faults", "page faults"),
    (3, "context-switches", "cs", "times that a thread left its CPU"),
    (4, "cpu-migrations", "migrations", "times that a thread came to another CPU"),
    (5, "minor-faults", "", "page faults without reading from a disk"),
    (6, "major-faults", "", "page faults with reading from a disk"),
    (7, "alignment-faults", "", "unaligned accesses that the kernel had to serve"),
    (8, "emulation-faults", "", "instructions that the kernel had to emulate"),
    (9, "dummy", "", "nothing; carries records of processes"),
    (10, "bpf-output", "", "what BPF programs write"),
    (11, "cgroup-switches", "", "switches to a thread of another cgroup"),
];

/// Name, other names, and operations that the kernel knows (bits of [`OPERATIONS`]).
const CACHES: [(&str, &[&str], u8); 7] = [
    ("L1-dcache", &["l1-d", "l1d", "l1-data"], 0b111),
    ("L1-icache", &["l1-i", "l1i", "l1-instruction"], 0b101),
    ("LLC", &["l2"], 0b111),
    ("dTLB", &["d-tlb", "data-tlb"], 0b111),
    ("iTLB", &["i-tlb", "instruction-tlb"], 0b001),
    ("branch", &["branches", "bpu", "btb", "bpc"], 0b001),
    ("node", &[], 0b111),
];

/// Plural, singular, other name.
const OPERATIONS: [(&str, &str, &str); 3] =
    [("loads", "load", "read"), ("stores", "store", "write"), ("prefetches", "prefetch", "speculative-read")];

/// An event that can be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Another name that is common too.
    pub alias: Option<String>,
    /// `hardware`, `software`, `tool`, `cache`, or of counters in files of the kernel `pressure`, `memory` or `vm`.
    pub kind: &'static str,
    /// What it counts.
    pub meaning: String,
}

/// The events with names of their own, in the order to show.
pub fn listed() -> impl Iterator<Item = Listed> {
    let row = |kind: &'static str| {
        move |(_, name, alias, meaning): &Row| Listed {
            name: (*name).to_owned(),
            alias: (!alias.is_empty()).then(|| (*alias).to_owned()),
            kind,
            meaning: (*meaning).to_owned(),
        }
    };
    let cache = |(cache, operation, miss): (usize, usize, bool)| {
        let (name, meaning) = (cache_name(cache, operation, miss)?, cache_meaning(cache, operation, miss)?);
        Some(Listed { name, alias: None, kind: "cache", meaning })
    };
    let caches = (0..CACHES.len()).flat_map(|cache| (0..3).map(move |operation| (cache, operation)));
    let caches = caches.flat_map(|(cache, operation)| [(cache, operation, false), (cache, operation, true)]);
    let tool = |tool: ToolEvent| Listed {
        name: tool.name().to_owned(),
        alias: None,
        kind: "tool",
        meaning: tool.meaning().to_owned(),
    };
    let of_files = ProcCounter::all().map(|counter| Listed {
        name: counter.name().to_owned(),
        alias: None,
        kind: counter.kind(),
        meaning: counter.meaning().to_owned(),
    });
    let fixed = HARDWARE.iter().map(row("hardware")).chain(SOFTWARE.iter().map(row("software")));
    fixed.chain(ToolEvent::ALL.into_iter().map(tool)).chain(caches.filter_map(cache)).chain(of_files)
}

fn cache_name(cache: usize, operation: usize, miss: bool) -> Option<String> {
    let (name, _, operations) = CACHES.get(cache)?;
    let (plural, singular, _) = OPERATIONS.get(operation)?;
    if operations & (1 << operation) == 0 {
        return None;
    }
    Some(if miss { format!("{name}-{singular}-misses") } else { format!("{name}-{plural}") })
}

fn cache_meaning(cache: usize, operation: usize, miss: bool) -> Option<String> {
    let (name, _, _) = CACHES.get(cache)?;
    let (plural, _, _) = OPERATIONS.get(operation)?;
    let what = match cache {
        0 => "the first data cache",
        1 => "the first instruction cache",
        2 => "the last cache",
        3 => "the data TLB",
        4 => "the instruction TLB",
        5 => "the branch prediction",
        6 => "the node's own memory",
        _ => name,
    };
    Some(if miss { format!("{plural} that {what} could not serve") } else { format!("{plural} of {what}") })
}

/// Type and config of a name; none if it has no fixed number.
pub(super) fn fixed(name: &str) -> Option<(u32, u64)> {
    let find = |rows: &[Row]| {
        let is =
            |row: &&Row| name.eq_ignore_ascii_case(row.1) || (!row.2.is_empty() && name.eq_ignore_ascii_case(row.2));
        rows.iter().find(is).map(|row| row.0)
    };
    let hardware = find(&HARDWARE).map(|config| (TYPE_HARDWARE, config));
    hardware.or_else(|| find(&SOFTWARE).map(|config| (TYPE_SOFTWARE, config))).or_else(|| cache(name))
}

/// `CACHE[-OPERATION][-RESULT]` in any of their names, such as `L1-dcache-load-misses` or `llc-misses`.
fn cache(name: &str) -> Option<(u32, u64)> {
    let lower = name.to_ascii_lowercase();
    let named = |(index, (cache, others, operations)): (usize, &(&str, &[&str], u8))| {
        let cache = cache.to_ascii_lowercase();
        let names = std::iter::once(cache.as_str()).chain(others.iter().copied());
        let rest = names.filter_map(|known| lower.strip_prefix(known)).min_by_key(|rest| rest.len())?;
        let rest = rest.strip_prefix('-')?;
        let (operation, miss) = cache_rest(rest)?;
        (operations & (1 << operation) != 0).then_some((index, operation, miss))
    };
    let (cache, operation, miss) = CACHES.iter().enumerate().find_map(named)?;
    Some((TYPE_CACHE, cache as u64 | (operation as u64) << 8 | u64::from(miss) << 16))
}

/// Operation and whether misses are counted; a result alone is of loads.
fn cache_rest(rest: &str) -> Option<(usize, bool)> {
    let result = |text: &str| match text {
        "misses" | "miss" => Some(true),
        "" | "refs" | "reference" | "references" | "ops" | "access" => Some(false),
        _ => None,
    };
    let operation = OPERATIONS.iter().enumerate().find_map(|(index, (plural, singular, other))| {
        let rest = [plural, singular, other].into_iter().find_map(|name| {
            let rest = rest.strip_prefix(name)?;
            if rest.is_empty() { Some("") } else { rest.strip_prefix('-') }
        })?;
        Some((index, result(rest)?))
    });
    operation.or_else(|| Some((0, result(rest).filter(|_| !rest.is_empty())?)))
}

/// The name of a type and config; none for raw codes and numbers that nobody named.
pub(super) fn name_of(type_: u32, config: u64) -> Option<String> {
    let find = |rows: &[Row]| rows.iter().find(|row| row.0 == config).map(|row| row.1.to_owned());
    match type_ {
        TYPE_HARDWARE => find(&HARDWARE),
        TYPE_SOFTWARE => find(&SOFTWARE),
        TYPE_CACHE => {
            let part = |shift: u32| ((config >> shift) & 0xff) as usize;
            cache_name(part(0), part(8), part(16) == 1)
        }
        _ => None,
    }
}

/// What is counted where nobody says: time, switches, faults, cycles, instructions and branches; each step of `detail`
/// up to 3 adds events of caches and TLBs. `on_cpus` for whole CPUs, of which the time is that of their clock.
pub fn usual_events(detail: u8, on_cpus: bool) -> Vec<&'static str> {
    let clock = if on_cpus { "cpu-clock" } else { "task-clock" };
    let mut events = vec![clock, "context-switches", "cpu-migrations", "page-faults"];
    events.extend(["cycles", "instructions", "branches", "branch-misses"]);
    events.extend(detailed_events(detail));
    events
}

/// The events of caches and TLBs that a detail up to 3 adds.
pub fn detailed_events(detail: u8) -> Vec<&'static str> {
    let steps: [&[&str]; 3] = [
        &["L1-dcache-loads", "L1-dcache-load-misses", "LLC-loads", "LLC-load-misses"],
        &[
            "L1-icache-loads",
            "L1-icache-load-misses",
            "dTLB-loads",
            "dTLB-load-misses",
            "iTLB-loads",
            "iTLB-load-misses",
        ],
        &["L1-dcache-prefetches", "L1-dcache-prefetch-misses"],
    ];
    steps.into_iter().take(usize::from(detail)).flatten().copied().collect()
}

/// The software event that tells most of the same as a hardware event.
pub(super) fn nearest(config: u64) -> &'static str {
    match config {
        2 | 3 => "page-faults",
        _ => "cpu-clock",
    }
}
