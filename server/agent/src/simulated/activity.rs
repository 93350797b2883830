//! What the simulated host's processes use, and what it has of memory, disks and network: counters that go on with the clock,
//! each at a pace that rises and falls.

use std::fmt::Write as _;

use bathyscope_protocol::{ActivityPage, PressureResource};

use super::world::{self, MadeProcess};

const CPUS: u64 = 4;
/// When the host seems to have been started, in ticks of the processes' start times.
const START_TICKS: u64 = 100;
/// The period in which a pace rises and falls.
const PERIOD_S: f64 = 20.0;

/// Seconds since the real host was started.
fn now_s() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// A counter that grows by `per_s` in the mean; `phase` tells those apart that rise and fall.
fn grown(now_s: f64, per_s: u64, phase: u32) -> u64 {
    let angle = std::f64::consts::TAU * now_s / PERIOD_S + f64::from(phase);
    let swing = PERIOD_S / std::f64::consts::TAU * 0.6;
    (per_s as f64 * (now_s + swing * (1.0 + angle.sin()))) as u64
}

/// Shares of a CPU in thousandths, bytes of memory, faults, bytes read and bytes written in a second.
const fn pace(pid: u32) -> [u64; 5] {
    match pid {
        1 => [2, 12 << 20, 1, 0, 4 << 10],
        1201 => [640, 180 << 20, 900, 300 << 10, 2 << 20],
        1310 => [310, 900 << 20, 120, 40 << 20, 12 << 20],
        1533 => [1200, 2 << 30, 4000, 0, 64 << 10],
        _ => [20, 8 << 20, 15, 1 << 10, 0],
    }
}

fn add(bytes: &mut Vec<u8>, process: &MadeProcess, now_s: f64) {
    let MadeProcess { pid, group, threads, .. } = *process;
    let [cpu_permille, memory, faults, read, written] = pace(pid);
    // A hundred ticks are a second.
    let ticks = grown(now_s, cpu_permille, pid) / 10;
    let mut stat = format!("{pid} (").into_bytes();
    stat.extend(process.comm);
    let state = if cpu_permille > 500 { 'R' } else { 'S' };
    let (minor, major) = (grown(now_s, faults, pid), grown(now_s, faults, pid) / 100);
    let (user, system) = (ticks * 3 / 4, ticks / 4);
    let (count, pages) = (threads.len(), memory / 4096);
    let rest = format!(
        ") {state} 1 {pid} {pid} 0 -1 4194560 {minor} 0 {major} 0 {user} {system} 0 0 20 0 {count} 0 {START_TICKS} 0 {pages} 0\n"
    );
    stat.extend(rest.bytes());
    let (read, written) = (grown(now_s, read, pid), grown(now_s, written, pid));
    let io = format!(
        "rchar: {read}\nwchar: {written}\nsyscr: 0\nsyscw: 0\nread_bytes: {read}\nwrite_bytes: {written}\n\
         cancelled_write_bytes: 0\n"
    );
    bytes.extend(pid.to_le_bytes());
    bytes.extend(process.uid().to_le_bytes());
    for file in [stat, io.into_bytes(), format!("0::{group}\n").into_bytes()] {
        bytes.extend((file.len() as u16).to_le_bytes());
        bytes.extend(file);
    }
}

/// All processes with a greater id in one page: there are few.
pub(super) fn page(after: u32) -> (ActivityPage, Vec<u8>) {
    let now_s = now_s();
    let mut bytes = Vec::new();
    let (mut count, mut last) = (0, after);
    for process in world::PROCESSES.iter().filter(|process| process.pid > after) {
        add(&mut bytes, process, now_s);
        (count, last) = (count + 1, process.pid);
    }
    (ActivityPage { count, last, left: 0 }, bytes)
}

/// `/proc/stat`.
pub(super) fn stat() -> String {
    let now_s = now_s();
    let busy = grown(now_s, 220, 1);
    let idle = ((now_s * 100.0) as u64 * CPUS).saturating_sub(busy);
    let mut text = format!("cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\n");
    for cpu in 0..CPUS {
        let _infallible = writeln!(text, "cpu{cpu} {} 0 0 {} 0 0 0 0 0 0", busy / CPUS, idle / CPUS);
    }
    let running = 2 + now_s as u64 % 3;
    let _infallible = writeln!(text, "ctxt {}\nprocs_running {running}\nprocs_blocked 1", grown(now_s, 9000, 2));
    text
}

/// `/proc/meminfo`.
pub(super) fn memory_info() -> String {
    let available = 5_000_000 + now_s() as u64 % 60 * 10_000;
    format!(
        "MemTotal: 16000000 kB\nMemFree: 2000000 kB\nMemAvailable: {available} kB\nSwapTotal: 4000000 kB\nSwapFree: 3900000 kB\n"
    )
}

/// `/proc/vmstat`.
pub(super) fn memory_stat() -> String {
    let now_s = now_s();
    format!("pgfault {}\npgmajfault {}\n", grown(now_s, 5200, 3), grown(now_s, 30, 3))
}

/// `/proc/diskstats`: a disk with a partition, and one that is never used.
pub(super) fn disk_stat() -> String {
    let now_s = now_s();
    let sectors = |per_s: u64| grown(now_s, per_s, 4) / 512;
    let (reads, writes) = (grown(now_s, 300, 4), grown(now_s, 150, 4));
    let line = |name: &str| {
        let (read, written, busy_ms) = (sectors(40 << 20), sectors(14 << 20), grown(now_s, 400, 4));
        format!("{name} {reads} 0 {read} 900 {writes} 0 {written} 700 2 {busy_ms} 1600 0 0 0 0 0 0\n")
    };
    format!("{}{} 7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n", line(" 253 0 vda"), line(" 253 1 vda1"))
}

/// `/proc/net/dev`.
pub(super) fn network_stat() -> String {
    let now_s = now_s();
    let (received, sent) = (grown(now_s, 3 << 20, 5), grown(now_s, 9 << 20, 6));
    let head = "Inter-|   Receive                                                |  Transmit\n \
        face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n";
    format!(
        "{head}    lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n  eth0: {received} {} 0 0 0 0 0 0 {sent} {} 0 0 0 0 0 0\n",
        received / 900,
        sent / 1200
    )
}

/// `/proc/pressure/…`.
pub(super) fn pressure(resource: PressureResource) -> String {
    let tenths = now_s() as u64 % 40;
    let (some, full) = match resource {
        PressureResource::Cpu => (tenths + 30, 0),
        PressureResource::Memory => (0, 0),
        PressureResource::Io => (tenths + 12, tenths),
    };
    let line = |name: &str, tenths: u64| {
        format!("{name} avg10={}.{}0 avg60=1.00 avg300=0.50 total=1000\n", tenths / 10, tenths % 10)
    };
    format!("{}{}", line("some", some), line("full", full))
}
