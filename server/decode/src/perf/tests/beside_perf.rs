//! Samples of memory and branches by hand, read by `perf script` from a file and by us from the same bytes: no machine of
//! the tests has hardware that makes such samples.

use std::{io::Write as _, process::Command};

use super::{Access, Branch, MemoryWords, PerfEvent, PerfFormat, Sample, parse_record};

/// IP, TID, TIME, ADDR, CALLCHAIN, CPU, PERIOD, BRANCH_STACK, DATA_SRC.
const SAMPLE_TYPE: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 11 | 1 << 15;
const WEIGHT: u64 = 1 << 14;
const WEIGHT_STRUCT: u64 = 1 << 24;
const HW_INDEX: u64 = 1 << 17;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const PROCESS: u64 = 7 << 32 | 7;

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let size = u16::try_from(8 + body.len()).unwrap();
    [&kind.to_le_bytes()[..], &misc.to_le_bytes(), &size.to_le_bytes(), body].concat()
}

/// What a file of samples is made of.
#[derive(Clone)]
struct Made {
    weight: u64,
    hw_index: bool,
    samples: Vec<(Access, Vec<[u64; 3]>)>,
}

impl Made {
    fn format(&self) -> PerfFormat {
        let branch_sample_type = 1 << 3 | if self.hw_index { HW_INDEX } else { 0 };
        PerfFormat { sample_type: SAMPLE_TYPE | self.weight, read_format: 0, sample_id_all: true, branch_sample_type }
    }

    fn records(&self) -> Vec<Vec<u8>> {
        let sample = |(index, (access, branches)): (u64, &(Access, Vec<[u64; 3]>))| {
            let Access { address, data_source, weight, instruction_latency, retire_latency } = *access;
            // IP, process, time, address, CPU, period, a stack of one frame in user space.
            let mut body = vec![0x1000, PROCESS, 1000 + index, address, 0, 1, 2, (-512_i64).cast_unsigned(), 0x1000];
            body.push(branches.len() as u64);
            body.extend(self.hw_index.then_some(5));
            body.extend(branches.iter().flatten());
            let weights = if self.weight == WEIGHT_STRUCT {
                weight | instruction_latency << 32 | retire_latency << 48
            } else {
                weight
            };
            body.extend([weights, data_source]);
            record(9, 2, &words(&body))
        };
        (0..).zip(&self.samples).map(sample).collect()
    }

    /// A file as `perf record` writes it: header, the attributes of one event, records.
    fn file(&self) -> Vec<u8> {
        const HEADER_BYTES: u64 = 104;
        let format = self.format();
        let mut attributes = [1_u32, 120].map(u32::to_le_bytes).concat();
        // The CPU's clock, period, sample_type, read_format, flags, wake-up and breakpoint, two configs, branches, the rest.
        attributes.extend(words(&[0, 1, format.sample_type, 0, SAMPLE_ID_ALL, 0, 0, 0, format.branch_sample_type]));
        attributes.resize(120, 0);
        // Where its ids are: nowhere.
        attributes.extend(words(&[0, 0]));
        let ids = words(&[PROCESS, 1, 0]);
        let comm = record(3, 0, &[&words(&[PROCESS])[..], b"made\0\0\0\0", &ids].concat());
        let data = [comm, self.records().concat()].concat();
        let (at, size) = (HEADER_BYTES, attributes.len() as u64);
        let mut file = b"PERFILE2".to_vec();
        file.extend(words(&[HEADER_BYTES, size, at, size, at + size, data.len() as u64, 0, 0, 0, 0, 0, 0]));
        file.extend(attributes);
        file.extend(data);
        file
    }

    fn ours(&self) -> Vec<Sample> {
        let read = |record: &Vec<u8>| match parse_record(record, self.format()).unwrap().event {
            PerfEvent::Sample(sample) => sample,
            other => panic!("{other:?}"),
        };
        self.records().iter().map(read).collect()
    }

    /// What perf says of a field of each sample.
    fn theirs(&self, field: &str) -> Vec<String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&self.file()).unwrap();
        let output =
            Command::new("perf").arg("script").arg("-i").arg(file.path()).args(["-F", field]).output().unwrap();
        let (out, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}");
        let lines: Vec<String> = out.lines().map(|line| line.trim().to_owned()).filter(|it| !it.is_empty()).collect();
        assert_eq!(lines.len(), self.samples.len(), "{out}{said}");
        lines
    }
}

#[expect(clippy::print_stdout, reason = "what is skipped is told")]
fn has_perf(what: &str) -> bool {
    let found = Command::new("perf").arg("--version").output().is_ok();
    if !found {
        println!("SKIPPED: {what} — perf");
    }
    found
}

/// Every bit of each part by itself, and some that come together. What perf of any version names otherwise is left to the
/// tests of the tables: levels by bits and by number at once, levels that only newer ones know, and a data source of zero.
fn sources() -> Vec<u64> {
    let load = 2_u64;
    let mut all: Vec<u64> = [1, 2, 4, 8, 16].into_iter().map(|access| access | 1 << 5).collect();
    all.push(0x6810_0142);
    for outcome in [2, 4] {
        all.extend((3..14).map(|bit| load | (1 << bit | outcome) << 5));
        all.extend([1, 2, 3, 4, 9, 10, 11, 12, 13, 14].map(|number| load | outcome << 5 | number << 33));
    }
    for hops in 0..5 {
        all.push(load | 2 << 5 | 3 << 33 | 1 << 37 | hops << 43);
    }
    // Not those that say at once that nothing is told and what.
    all.extend((0..32).filter(|snoop| *snoop == 1 || snoop % 2 == 0).map(|snoop| load | snoop << 19));
    all.extend([1, 2].map(|more| load | more << 38));
    all.extend((0..4).map(|lock| load | lock << 24));
    for tlb in 1..16 {
        all.extend([2, 4].map(|outcome| load | (tlb << 3 | outcome) << 26));
    }
    all.extend([1, 2, 4].map(|blocked| load | blocked << 40));
    all
}

/// The parts of `|OP LOAD|LVL L1 hit|SNP None|TLB L1 hit|LCK No|BLK  N/A`, with our names of them.
fn parts_of(text: &str) -> Vec<String> {
    let text = text.split_once('|').map_or("", |(_, parts)| parts);
    let part = |part: &str| {
        let (name, words) = part.split_once(' ').unwrap_or((part, ""));
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ").replace("LFB/MAB", "LFB");
        match (name, words.as_str()) {
            ("OP", "N/A") => words,
            ("OP", "PFETCH") => "prefetch".to_owned(),
            ("OP", access) => access.to_lowercase(),
            _ => words,
        }
    };
    text.split('|').map(part).collect()
}

#[test]
fn data_sources_are_those_of_perf() {
    if !has_perf("data sources beside perf's") {
        return;
    }
    let samples = sources().into_iter().map(|data_source| (Access { data_source, ..Access::default() }, Vec::new()));
    let made = Made { weight: WEIGHT_STRUCT, hw_index: false, samples: samples.collect() };
    assert!(made.samples.len() > 100);
    for (ours, theirs) in made.ours().into_iter().zip(made.theirs("data_src")) {
        let source = ours.memory.unwrap().data_source;
        let MemoryWords { access, level, snoop, tlb, locked, blocked } = MemoryWords::of(source);
        assert_eq!([access, level, snoop, tlb, locked, blocked].to_vec(), parts_of(&theirs), "{source:#x}: {theirs}");
    }
}

#[test]
fn addresses_and_weights_are_those_of_perf() {
    if !has_perf("weights beside perf's") {
        return;
    }
    let access = |index: u64| Access {
        address: 0x7fff_0000_1000 + index * 0x1234_5678,
        data_source: 0x6810_0142,
        weight: index * index * 77,
        instruction_latency: index * 3000 % 0x1_0000,
        retire_latency: index * 500 % 0x1_0000,
    };
    let samples: Vec<_> = (0..40).map(|index| (access(index), vec![])).collect();
    let made = Made { weight: WEIGHT_STRUCT, hw_index: false, samples };
    let number = |field: &str, radix| {
        let read = |text: String| u64::from_str_radix(text.trim_start_matches("0x"), radix).unwrap();
        made.theirs(field).into_iter().map(read).collect::<Vec<_>>()
    };
    let ours = |part: fn(&Access) -> u64| made.ours().iter().map(|it| part(&it.memory.unwrap())).collect::<Vec<_>>();
    assert_eq!(number("addr", 16), ours(|access| access.address));
    assert_eq!(number("weight", 10), ours(|access| access.weight));
    assert_eq!(number("ins_lat", 10), ours(|access| access.instruction_latency));
    assert_eq!(ours(|access| access.retire_latency), (0..40).map(|index| index * 500).collect::<Vec<_>>());
    // As one number, as kernels before 5.12 write it, and events that know no parts.
    let whole = Made { weight: WEIGHT, ..made.clone() };
    let theirs: Vec<u64> = whole.theirs("weight").iter().map(|text| text.parse().unwrap()).collect();
    assert_eq!(theirs, whole.ours().iter().map(|it| it.memory.unwrap().weight).collect::<Vec<_>>());
}

/// A branch as perf writes it: `0x10/0x20/M/-/-/7/COND`, newer ones with the speculation behind.
fn branch_words(branch: &Branch) -> [String; 8] {
    let flags = branch.flags;
    let letter =
        |letters: &[(bool, &str)]| letters.iter().find(|(set, _)| *set).map_or("-", |(_, letter)| *letter).to_owned();
    [
        format!("{:#x}", branch.from),
        format!("{:#x}", branch.to),
        letter(&[(flags.mispredicted(), "M"), (flags.predicted(), "P")]),
        letter(&[(flags.in_tx(), "X")]),
        letter(&[(flags.abort(), "A")]),
        flags.cycles().to_string(),
        flags.kind().to_uppercase(),
        flags.speculation().to_uppercase(),
    ]
}

#[test]
fn branches_are_those_of_perf() {
    if !has_perf("branches beside perf's") {
        return;
    }
    let flags: Vec<u64> = [0, 1, 2, 4, 8, 4 | 8 | 1]
        .into_iter()
        .chain([0, 1, 99, 0xffff].map(|cycles| 2 | cycles << 4))
        .chain((0..15).map(|kind| kind << 20))
        .chain((0..8).map(|kind| 15 << 20 | kind << 26))
        .chain((0..4).map(|spec| spec << 24 | 1 << 20))
        .collect();
    let branch =
        |(index, flags): (u64, &u64)| [0x10_0000 + index * 0x11, 0xffff_ffff_8100_0000 + index * 0x101, *flags];
    let all: Vec<[u64; 3]> = (0..).zip(&flags).map(branch).collect();
    for hw_index in [false, true] {
        let stacks = all.chunks(5).map(|stack| (Access::default(), stack.to_vec()));
        let made = Made { weight: WEIGHT_STRUCT, hw_index, samples: stacks.collect() };
        for (ours, theirs) in made.ours().iter().zip(made.theirs("brstack")) {
            let theirs: Vec<&str> = theirs.split_whitespace().collect();
            assert_eq!(theirs.len(), ours.branches.len(), "{theirs:?}");
            for (branch, theirs) in ours.branches.iter().zip(theirs) {
                let words = branch_words(branch);
                for (ours, theirs) in words.iter().zip(theirs.split('/')) {
                    let theirs = if matches!(theirs, "-" | "N/A") && ours.is_empty() { "" } else { theirs };
                    assert_eq!(ours, theirs, "{words:?} in {theirs}");
                }
            }
        }
    }
}
