//! `perf_mem_data_src`: what kind of access it was, which level of memory answered, what other caches had, which TLB.

use super::{field, names};

/// What stands for something that the CPU did not tell.
pub const NOT_TOLD: &str = "N/A";
// Where each part begins; their widths follow in `Parts::of`.
const LEVEL_SHIFT: u32 = 5;
const SNOOP_SHIFT: u32 = 19;
const LOCK_SHIFT: u32 = 24;
const TLB_SHIFT: u32 = 26;
const NUMBER_SHIFT: u32 = 33;
const REMOTE_SHIFT: u32 = 37;
const SNOOP_MORE_SHIFT: u32 = 38;
const BLOCKED_SHIFT: u32 = 40;
const HOPS_SHIFT: u32 = 43;

/// The lowest bit of most parts says that the part was not told.
const ACCESS: [(u64, &str); 4] = [(2, "load"), (4, "store"), (8, "prefetch"), (16, "exec")];
/// Bits 1 and 2 say whether it was a hit, here and for TLBs.
const HIT: u64 = 2;
const MISS: u64 = 4;
const LEVELS: [(u64, &str); 11] = [
    (0x8, "L1"),
    (0x10, "LFB"),
    (0x20, "L2"),
    (0x40, "L3"),
    (0x80, "Local RAM"),
    (0x100, "Remote RAM (1 hop)"),
    (0x200, "Remote RAM (2 hops)"),
    (0x400, "Remote Cache (1 hop)"),
    (0x800, "Remote Cache (2 hops)"),
    (0x1000, "I/O"),
    (0x2000, "Uncached"),
];
const LEVEL_NUMBER_NA: u64 = 15;
/// Newer CPUs have a number beside the bits. With it stand the bits that say the same, more exactly.
const LEVEL_NUMBERS: [(u64, &str, u64); 13] = [
    (1, "L1", 0x8),
    (2, "L2", 0x20),
    (3, "L3", 0x40 | 0x400 | 0x800),
    (4, "L4", 0),
    (5, "L2 MHB", 0),
    (6, "Memory-side cache", 0),
    (8, "Uncached", 0x2000),
    (9, "CXL", 0),
    (10, "I/O", 0x1000),
    (11, "Any cache", 0x400 | 0x800),
    (12, "LFB", 0x10),
    (13, "RAM", 0x80 | 0x100 | 0x200),
    (14, "PMEM", 0),
];
const HOPS: [(u64, &str); 4] =
    [(1, "core, same node"), (2, "node, same socket"), (3, "socket, same board"), (4, "board")];
const SNOOPS: [(u64, &str); 4] = [(2, "None"), (4, "Hit"), (8, "Miss"), (16, "HitM")];
const MORE_SNOOPS: [(u64, &str); 2] = [(1, "Fwd"), (2, "Peer")];
const TLBS: [(u64, &str); 4] = [(0x8, "L1"), (0x10, "L2"), (0x20, "Walker"), (0x40, "Fault")];
const BLOCKS: [(u64, &str); 2] = [(2, "Data"), (4, "Addr")];

/// What the data source of an access says. [`NOT_TOLD`] stands for what it does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryWords {
    /// `load`, `store`, `prefetch` or `exec`.
    pub access: String,
    /// The level of memory that answered, or missed: `L1 hit`, `LFB hit`, `Remote RAM (1 hop) hit`.
    pub level: String,
    /// What other caches had: `None`, `Hit`, `Miss`, `HitM`, `Fwd`, `Peer`.
    pub snoop: String,
    /// The TLB that had the page: `L1 or L2 hit`, `Walker hit`.
    pub tlb: String,
    /// Whether the access was locked: `Yes` or `No`.
    pub locked: String,
    /// What held a load up: `Data`, `Addr`.
    pub blocked: String,
}

/// Whether a data source tells anything at all.
pub fn has_data_source(data_source: u64) -> bool {
    data_source != 0 && MemoryWords::of(data_source) != MemoryWords::of(0)
}

impl MemoryWords {
    /// The words of `perf_mem_data_src.val`.
    pub fn of(data_source: u64) -> Self {
        let part = |shift, width| field(data_source, shift, width);
        let locked = match part(LOCK_SHIFT, 2) {
            lock if lock & 1 != 0 => NOT_TOLD,
            lock if lock & 2 != 0 => "Yes",
            // A CPU that tells the rest but sets neither bit means that it was not locked.
            _ if data_source != 0 => "No",
            _ => NOT_TOLD,
        };
        let snoop = [names(part(SNOOP_SHIFT, 5), &SNOOPS), names(part(SNOOP_MORE_SHIFT, 2), &MORE_SNOOPS)];
        Self {
            access: told(names(part(0, 5), &ACCESS)),
            level: level(part(LEVEL_SHIFT, 14), part(NUMBER_SHIFT, 4), part(REMOTE_SHIFT, 1), part(HOPS_SHIFT, 3)),
            snoop: told(joined(snoop)),
            tlb: told(with_outcome(names(part(TLB_SHIFT, 7), &TLBS), part(TLB_SHIFT, 7))),
            locked: locked.to_owned(),
            blocked: told(names(part(BLOCKED_SHIFT, 3), &BLOCKS)),
        }
    }
}

fn told(words: String) -> String {
    if words.is_empty() { NOT_TOLD.to_owned() } else { words }
}

fn joined(parts: [String; 2]) -> String {
    let [first, second] = parts;
    if first.is_empty() || second.is_empty() { first + &second } else { format!("{first} or {second}") }
}

/// With ` hit` or ` miss` behind, where the bits say so.
fn with_outcome(words: String, bits: u64) -> String {
    let outcome = match (bits & HIT != 0, bits & MISS != 0) {
        (true, _) => "hit",
        (false, true) => "miss",
        (false, false) => return words,
    };
    // Which one hit or missed was not told.
    if words.is_empty() { outcome.to_owned() } else { format!("{words} {outcome}") }
}

fn level(bits: u64, number: u64, remote: u64, hops: u64) -> String {
    let numbered = match LEVEL_NUMBERS.iter().find(|(known, ..)| *known == number) {
        // What the bits say as well, and where, needs no second name. How far away it was only stands beside the number.
        Some((_, _, same)) if bits & same != 0 && hops == 0 => String::new(),
        Some((_, name, _)) => {
            let distance =
                HOPS.iter().find(|(known, _)| *known == hops).map_or(String::new(), |(_, it)| format!("{it} "));
            format!("{}{distance}{name}", if remote != 0 { "Remote " } else { "" })
        }
        None if number == 0 || number == LEVEL_NUMBER_NA => String::new(),
        None => format!("level {number}"),
    };
    let words = joined([names(bits, &LEVELS), numbered]);
    told(with_outcome(words, bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel writes where an event knows nothing of memory, such as a page fault: nothing told in every part.
    const DATA_SOURCE_UNKNOWN: u64 =
        1 | 1 << LEVEL_SHIFT | 1 << SNOOP_SHIFT | 1 << LOCK_SHIFT | 1 << TLB_SHIFT | LEVEL_NUMBER_NA << NUMBER_SHIFT;

    /// An access with these parts.
    fn source(op: u64, level: u64, snoop: u64, lock: u64, tlb: u64, number: u64) -> u64 {
        op | level << LEVEL_SHIFT
            | snoop << SNOOP_SHIFT
            | lock << LOCK_SHIFT
            | tlb << TLB_SHIFT
            | number << NUMBER_SHIFT
    }

    #[test]
    fn each_part_has_its_words() {
        let words = |source| {
            let MemoryWords { access, level, snoop, tlb, locked, blocked } = MemoryWords::of(source);
            [access, level, snoop, tlb, locked, blocked].join("|")
        };
        let remote = 1 << REMOTE_SHIFT;
        let cases = [
            (0, "N/A|N/A|N/A|N/A|N/A|N/A"),
            (DATA_SOURCE_UNKNOWN, "N/A|N/A|N/A|N/A|N/A|N/A"),
            // As a load that the first cache answers is told by Intel.
            (0x6810_0142, "load|L1 hit|None|L1 or L2 hit|No|N/A"),
            (source(4, 0x8 | 4, 1, 2, 0x20 | 4, 0), "store|L1 miss|N/A|Walker miss|Yes|N/A"),
            (source(2, 0x10 | 2, 2, 0, 0x8 | 2, 12), "load|LFB hit|None|L1 hit|No|N/A"),
            (source(2, 0x100 | 2, 8, 0, 1, 13) | remote, "load|Remote RAM (1 hop) hit|Miss|N/A|No|N/A"),
            (source(2, 0x400 | 2, 16, 0, 1, 3) | remote, "load|Remote Cache (1 hop) hit|HitM|N/A|No|N/A"),
            (
                source(2, 2, 0, 0, 0, 3) | remote | 2 << HOPS_SHIFT,
                "load|Remote node, same socket L3 hit|N/A|N/A|No|N/A",
            ),
            (source(2, 2, 4, 0, 0, 11) | 1 << SNOOP_MORE_SHIFT, "load|Any cache hit|Hit or Fwd|N/A|No|N/A"),
            (source(2, 2, 0, 0, 0, 9) | 6 << BLOCKED_SHIFT, "load|CXL hit|N/A|N/A|No|Data or Addr"),
            (source(8, 0x1000 | 2, 0, 0, 0x40 | 4, 10), "prefetch|I/O hit|N/A|Fault miss|No|N/A"),
            (source(16, 1, 1, 1, 1, 7), "exec|level 7|N/A|N/A|N/A|N/A"),
            (source(2, 2, 0, 0, 2, 0), "load|hit|N/A|hit|No|N/A"),
            (
                u64::MAX,
                "load or store or prefetch or exec|L1 or LFB or L2 or L3 or Local RAM or Remote RAM (1 hop) or \
                Remote RAM (2 hops) or Remote Cache (1 hop) or Remote Cache (2 hops) or I/O or Uncached hit|None or Hit or \
                Miss or HitM or Fwd or Peer|L1 or L2 or Walker or Fault hit|N/A|Data or Addr",
            ),
        ];
        for (source, expected) in cases {
            assert_eq!(words(source), expected, "{source:#x}");
        }
    }

    #[test]
    fn what_says_nothing_is_known_as_such() {
        assert!(!has_data_source(0) && !has_data_source(DATA_SOURCE_UNKNOWN));
        assert!(has_data_source(0x6810_0142) && has_data_source(source(4, 1, 1, 1, 1, 15)));
    }
}
