//! The kernel's own counters, read from its texts. What is missing counts nothing.

use std::collections::BTreeMap;

use bathyscope_capture::visible;

use super::{
    message::{HostPressure, Pressure},
    page::number_after,
};

/// Bytes of a sector, whatever the disk's own are.
const SECTOR_BYTES: u64 = 512;
/// The most disks or network devices that are read.
const MAX_DEVICES: usize = 4096;

/// What is in the files that are read at a time; empty where one could not be.
#[derive(Clone, Debug, Default)]
pub(super) struct KernelTexts {
    pub(super) stat: Vec<u8>,
    pub(super) load_average: Vec<u8>,
    pub(super) memory_info: Vec<u8>,
    pub(super) memory_stat: Vec<u8>,
    pub(super) disk_stat: Vec<u8>,
    pub(super) network_stat: Vec<u8>,
    /// Of CPU, memory and disks.
    pub(super) pressure: [Vec<u8>; 3],
}

/// Counters of the whole host.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KernelCounters {
    pub(super) cpus: u32,
    pub(super) busy_ticks: u64,
    pub(super) all_ticks: u64,
    pub(super) running: u64,
    pub(super) blocked: u64,
    pub(super) load: [f64; 3],
    pub(super) memory_bytes: u64,
    pub(super) memory_available_bytes: u64,
    pub(super) swap_bytes: u64,
    pub(super) swap_free_bytes: u64,
    pub(super) faults: u64,
    pub(super) major_faults: u64,
    pub(super) pressure: Option<HostPressure>,
    /// By name, made visible.
    pub(super) disks: BTreeMap<String, DiskCounters>,
    /// By name, made visible.
    pub(super) networks: BTreeMap<String, NetworkCounters>,
}

/// Counters of a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DiskCounters {
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
    pub(super) busy_ms: u64,
}

/// Counters of a network device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NetworkCounters {
    pub(super) received_bytes: u64,
    pub(super) sent_bytes: u64,
    pub(super) received_packets: u64,
    pub(super) sent_packets: u64,
    pub(super) failed_packets: u64,
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

fn number(word: &[u8]) -> Option<u64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// The counters in these texts.
pub(super) fn counters(texts: &KernelTexts) -> KernelCounters {
    let (busy_ticks, all_ticks) = cpu_ticks(&texts.stat);
    let is_cpu = |line: &&[u8]| line.strip_prefix(b"cpu").and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit);
    let kib = |name: &[u8]| number_after(&texts.memory_info, name).saturating_mul(1024);
    KernelCounters {
        cpus: u32::try_from(lines(&texts.stat).filter(is_cpu).count()).unwrap_or(u32::MAX),
        busy_ticks,
        all_ticks,
        running: number_after(&texts.stat, b"procs_running "),
        blocked: number_after(&texts.stat, b"procs_blocked "),
        load: load(&texts.load_average),
        memory_bytes: kib(b"MemTotal:"),
        memory_available_bytes: kib(b"MemAvailable:"),
        swap_bytes: kib(b"SwapTotal:"),
        swap_free_bytes: kib(b"SwapFree:"),
        faults: number_after(&texts.memory_stat, b"pgfault "),
        major_faults: number_after(&texts.memory_stat, b"pgmajfault "),
        pressure: host_pressure(&texts.pressure),
        disks: disks(&texts.disk_stat),
        networks: networks(&texts.network_stat),
    }
}

/// Ticks of all CPUs in which they ran something, and all ticks.
fn cpu_ticks(stat: &[u8]) -> (u64, u64) {
    let Some(line) = lines(stat).find_map(|line| line.strip_prefix(b"cpu ")) else { return (0, 0) };
    // What guests use is in the first two already.
    let ticks: Vec<u64> = words(line).take(8).map(|word| number(word).unwrap_or(0)).collect();
    let all = ticks.iter().fold(0, |sum: u64, ticks| sum.saturating_add(*ticks));
    let idle = ticks.iter().skip(3).take(2).fold(0, |sum: u64, ticks| sum.saturating_add(*ticks));
    (all.saturating_sub(idle), all)
}

fn load(text: &[u8]) -> [f64; 3] {
    let mut all = words(text).map(|word| std::str::from_utf8(word).ok().and_then(|word| word.parse::<f64>().ok()));
    [(); 3].map(|()| all.next().flatten().filter(|load| load.is_finite()).unwrap_or(0.0))
}

/// None where the kernel tells of none of the three.
fn host_pressure([cpu, memory, io]: &[Vec<u8>; 3]) -> Option<HostPressure> {
    let known = [cpu, memory, io].iter().any(|text| !text.is_empty());
    known.then(|| HostPressure { cpu: pressure(cpu), memory: pressure(memory), io: pressure(io) })
}

/// The total of a line of a pressure file, microseconds.
pub(super) fn pressure_total_us(text: &[u8], full: bool) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(if full { "full " } else { "some " }))?;
    line.split_whitespace().find_map(|word| word.strip_prefix("total=")?.parse().ok())
}

fn pressure(text: &[u8]) -> Pressure {
    let permille = |name: &[u8]| {
        let line = lines(text).find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        let share = words(line).find_map(|word| word.strip_prefix(b"avg10=")).unwrap_or_default();
        let percent = std::str::from_utf8(share).ok().and_then(|share| share.parse::<f64>().ok()).unwrap_or(0.0);
        // Not above the whole, whatever is written there; a number that is none becomes zero.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in 0 to 1000")]
        let permille = (percent * 10.0).round().clamp(0.0, 1000.0) as u32;
        permille
    };
    Pressure { some_permille: permille(b"some "), full_permille: permille(b"full ") }
}

/// Disks that were used since the host was started, without partitions.
fn disks(text: &[u8]) -> BTreeMap<String, DiskCounters> {
    let disk = |line| {
        let fields: Vec<&[u8]> = words(line).collect();
        let count = |at: usize| fields.get(at).and_then(|word| number(word));
        let counters = DiskCounters {
            reads: count(3)?,
            read_bytes: count(5)?.saturating_mul(SECTOR_BYTES),
            writes: count(7)?,
            written_bytes: count(9)?.saturating_mul(SECTOR_BYTES),
            busy_ms: count(12)?,
        };
        Some((visible(fields.get(2)?), counters))
    };
    let all: BTreeMap<String, DiskCounters> = lines(text).filter_map(disk).take(MAX_DEVICES).collect();
    let is_used = |disk: &DiskCounters| disk.reads > 0 || disk.writes > 0;
    let is_partition = |name: &str| {
        let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        // `sda1` is of `sda`; where a disk's name ends in a digit there is a letter between: `nvme0n1p2`.
        let before_letter =
            stem.strip_suffix('p').filter(|disk| disk.ends_with(|letter: char| letter.is_ascii_digit()));
        stem.len() < name.len() && (all.contains_key(stem) || before_letter.is_some_and(|disk| all.contains_key(disk)))
    };
    let kept = all.iter().filter(|(name, disk)| is_used(disk) && !is_partition(name));
    kept.map(|(name, disk)| (name.clone(), *disk)).collect()
}

/// Network devices that were used since they were made.
fn networks(text: &[u8]) -> BTreeMap<String, NetworkCounters> {
    let device = |line: &[u8]| {
        // A name may hold a colon itself; numbers do not.
        let colon = line.iter().rposition(|byte| *byte == b':')?;
        let (name, rest) = line.split_at_checked(colon)?;
        let counts: Vec<u64> = words(rest.get(1..)?).map_while(number).collect();
        let count = |at: usize| counts.get(at).copied();
        let failed = [count(2)?, count(3)?, count(10)?, count(11)?];
        let counters = NetworkCounters {
            received_bytes: count(0)?,
            received_packets: count(1)?,
            sent_bytes: count(8)?,
            sent_packets: count(9)?,
            failed_packets: failed.iter().fold(0, |sum: u64, packets| sum.saturating_add(*packets)),
        };
        let is_used = counters.received_packets > 0 || counters.sent_packets > 0;
        is_used.then(|| (visible(name.trim_ascii()), counters))
    };
    lines(text).filter_map(device).take(MAX_DEVICES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_and_threads_are_read() {
        let texts = KernelTexts {
            stat:
                b"cpu  10 1 5 100 20 1 1 2 9 9\ncpu0 1 1 1\ncpu1 1 1 1\ncpufreq 1\nprocs_running 3\nprocs_blocked 2\n"
                    .to_vec(),
            load_average: b"0.50 1.25 x 1/200 4711\n".to_vec(),
            memory_info: b"MemTotal:       16 kB\nMemAvailable:  8 kB\nSwapTotal: 4 kB\nSwapFree: 1 kB\n".to_vec(),
            memory_stat: b"pgfault 7\nnpgmajfault 4\npgmajfault 3\n".to_vec(),
            ..KernelTexts::default()
        };
        let read = counters(&texts);
        assert_eq!((read.cpus, read.busy_ticks, read.all_ticks), (2, 20, 140));
        assert_eq!((read.running, read.blocked, read.load), (3, 2, [0.5, 1.25, 0.0]));
        assert_eq!((read.memory_bytes, read.memory_available_bytes), (16 << 10, 8 << 10));
        assert_eq!((read.swap_bytes, read.swap_free_bytes), (4 << 10, 1 << 10));
        assert_eq!((read.faults, read.major_faults, read.pressure), (7, 3, None));
        assert_eq!(counters(&KernelTexts::default()), KernelCounters::default());
    }

    #[test]
    fn the_total_of_a_pressure_is_that_of_its_line() {
        let text = b"some avg10=0.00 avg60=0.00 avg300=0.00 total=12\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n";
        assert_eq!((pressure_total_us(text, false), pressure_total_us(text, true)), (Some(12), Some(3)));
        assert_eq!((pressure_total_us(b"some avg10=1", false), pressure_total_us(b"\xff", true)), (None, None));
    }

    #[test]
    fn pressure_is_a_share_whatever_is_written() {
        for (text, some, full) in [
            (&b"some avg10=12.34 avg60=0.00 total=1\nfull avg10=0.50 avg60=0.00 total=1\n"[..], 123, 5),
            (b"some avg10=100.00 total=1\n", 1000, 0),
            (b"some avg10=-5\nfull avg10=1e300\n", 0, 1000),
            (b"some avg10=NaN\nfull avg10=inf\n", 0, 1000),
            (b"some avg60=3.0\nawesome avg10=4\n", 0, 0),
            (b"\xff", 0, 0),
        ] {
            let expected = Pressure { some_permille: some, full_permille: full };
            assert_eq!(pressure(text), expected, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn disks_are_without_their_partitions_and_those_that_are_never_used() {
        let line = |name: &str, reads: u64| format!(" 8 0 {name} {reads} 0 16 9 5 0 8 9 0 77 9\n");
        let names = ["sda", "sda1", "sda12", "nvme0n1", "nvme0n1p2", "dm-0", "dm-1", "md127", "loop0p1", "sdb3"];
        let text: String = names.iter().map(|name| line(name, 3)).collect();
        let text = format!("{text} 7 0 loop7 0 0 0 0 0 0 0 0 0 0 0\n 8 0 cut 1 2\n\n");
        let found = disks(text.as_bytes());
        assert_eq!(found.keys().collect::<Vec<_>>(), ["dm-0", "dm-1", "loop0p1", "md127", "nvme0n1", "sda", "sdb3"]);
        let expected = DiskCounters { reads: 3, writes: 5, read_bytes: 8192, written_bytes: 4096, busy_ms: 77 };
        assert_eq!(found["sda"], expected);
        assert!(disks(b" 8 0 sda 99999999999999999999 0 1 1 1 1 1 1 1 1 1\n\xff").is_empty());
    }

    #[test]
    fn network_devices_may_have_colons_in_their_names() {
        let text = b"Inter-|   Receive  |  Transmit\n face |bytes packets errs|bytes\n\
            eth0: 100 2 1 1 0 0 0 0 300 4 1 2 0 0 0 0\n  a:b:5 1 0 0 0 0 0 0 6 0 0 0 0 0 0 0\n\
            lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n x: 1 2 3\n\x1b[2K: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0";
        let found = networks(text);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["\\x1b[2K", "a:b", "eth0"]);
        let expected = NetworkCounters {
            received_bytes: 100,
            sent_bytes: 300,
            received_packets: 2,
            sent_packets: 4,
            failed_packets: 5,
        };
        assert_eq!(found["eth0"], expected);
    }
}
