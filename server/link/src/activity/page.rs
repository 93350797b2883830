//! What the agent collects of processes, read. Names and paths in it are chosen by programs: they may hold any byte.

use std::time::Duration;

use bathyscope_capture::visible;

use crate::processes::{KERNEL_THREAD, StatLine, control_group};

/// Counters of a process. Id and start time together name it, as ids are used again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ProcessCounters {
    pub(super) pid: u32,
    pub(super) start_ticks: u64,
    pub(super) uid: u32,
    /// Made visible.
    pub(super) comm: String,
    pub(super) state: char,
    pub(super) threads: u64,
    pub(super) kernel: bool,
    pub(super) cpu_ticks: u64,
    pub(super) faults: u64,
    pub(super) resident_pages: u64,
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
    /// Its control group as text, as [`control_group`] tells it; empty where there is none.
    pub(super) group: String,
    /// When it was read, since the sampler began.
    pub(super) at: Duration,
}

/// The processes of a page that was asked for `at`; what cannot be understood is left out. Stops where the page is cut.
pub(super) fn processes(mut bytes: &[u8], at: Duration) -> Vec<ProcessCounters> {
    let mut all = Vec::new();
    while let Some((process, rest)) = next(bytes) {
        all.extend(process.map(|process| ProcessCounters { at, ..process }));
        bytes = rest;
    }
    all
}

/// The first process, none inside if its files make no sense, and what follows.
fn next(bytes: &[u8]) -> Option<(Option<ProcessCounters>, &[u8])> {
    let (pid, bytes) = bytes.split_first_chunk::<4>()?;
    let (uid, bytes) = bytes.split_first_chunk::<4>()?;
    let (stat, bytes) = file(bytes)?;
    let (io, bytes) = file(bytes)?;
    let (cgroup, bytes) = file(bytes)?;
    let process = of_stat(u32::from_le_bytes(*pid), stat).map(|of_stat| ProcessCounters {
        uid: u32::from_le_bytes(*uid),
        read_bytes: number_after(io, b"read_bytes: "),
        written_bytes: number_after(io, b"write_bytes: "),
        group: control_group(cgroup).and_then(|path| std::str::from_utf8(path).ok()).unwrap_or_default().to_owned(),
        ..of_stat
    });
    Some((process, bytes))
}

fn file(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))
}

fn of_stat(pid: u32, stat: &[u8]) -> Option<ProcessCounters> {
    let line = StatLine::read(stat)?;
    let number = |field: usize| line.number(field);
    Some(ProcessCounters {
        pid,
        comm: visible(line.comm),
        state: line.text(3)?.chars().next().filter(char::is_ascii_alphabetic)?,
        kernel: number(9)? & KERNEL_THREAD != 0,
        faults: number(10)?.saturating_add(number(12)?),
        cpu_ticks: number(14)?.saturating_add(number(15)?),
        threads: number(20)?,
        start_ticks: number(22)?,
        resident_pages: number(24)?,
        ..ProcessCounters::default()
    })
}

/// The number of the line that begins with `name`; zero if there is none.
pub(super) fn number_after(text: &[u8], name: &[u8]) -> u64 {
    let found = text.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(name));
    let digits = found.map(|rest| rest.trim_ascii()).unwrap_or_default();
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    std::str::from_utf8(digits.get(..end).unwrap_or_default()).ok().and_then(|it| it.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A process as the agent writes it.
    pub(in crate::activity) fn record(pid: u32, uid: u32, stat: &[u8], io: &[u8], cgroup: &[u8]) -> Vec<u8> {
        let mut bytes = [pid.to_le_bytes(), uid.to_le_bytes()].concat();
        for file in [stat, io, cgroup] {
            bytes.extend(u16::try_from(file.len()).unwrap().to_le_bytes());
            bytes.extend(file);
        }
        bytes
    }

    /// A line of `stat` of a process with this name.
    fn stat(comm: &[u8]) -> Vec<u8> {
        [b"7 (", comm, b") R 1 7 7 0 -1 4194560 10 99 5 99 30 12 99 99 20 0 3 0 1234 8192 21 0\n"].concat()
    }

    const IO: &[u8] = b"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\n\
        cancelled_write_bytes: 0\n";

    #[test]
    fn counters_are_read_whatever_a_process_is_called() {
        for (comm, shown) in [
            (&b"bash"[..], "bash"),
            (b"a) S (b", "a) S (b"),
            (b") R 1 1 1", ") R 1 1 1"),
            (b"", ""),
            (b"two words", "two words"),
            (b"a\nb", "a\\nb"),
            (b"\xff\x1b[2K", "\\xff\\x1b[2K"),
        ] {
            let bytes = record(7, 1000, &stat(comm), IO, b"1:cpu:/x\n0::/system.slice/a.service\n");
            let expected = ProcessCounters {
                pid: 7,
                start_ticks: 1234,
                uid: 1000,
                comm: shown.to_owned(),
                state: 'R',
                threads: 3,
                kernel: false,
                cpu_ticks: 42,
                faults: 15,
                resident_pages: 21,
                read_bytes: 4096,
                written_bytes: 8192,
                group: "/system.slice/a.service".to_owned(),
                at: Duration::from_secs(9),
            };
            assert_eq!(processes(&bytes, Duration::from_secs(9)), [expected], "{}", comm.escape_ascii());
        }
    }

    #[test]
    fn files_that_could_not_be_read_count_nothing() {
        let all = processes(&record(7, 0, &stat(b"x"), b"", b""), Duration::ZERO);
        assert_eq!((all[0].read_bytes, all[0].written_bytes, all[0].group.as_str()), (0, 0, ""));
    }

    #[test]
    fn what_makes_no_sense_is_left_out_and_ends_nothing() {
        let good = record(8, 0, &stat(b"good"), IO, b"0::/\n");
        let huge = b"7 (x) S 1 7 7 0 -1 4194560 10 99 5 99 99999999999999999999 1 99 99 20 0 3 0 1234 8192 21 0\n";
        for bad in
            [&b""[..], b"7", b"7 (x", b"7 (x)", b"7 (x) R 1", b"7 (x) \xff 1 1", b")(", b"7 (x) 9 1", huge.as_slice()]
        {
            let bytes = [record(7, 0, bad, IO, b"0::/\n"), good.clone()].concat();
            let pids: Vec<u32> = processes(&bytes, Duration::ZERO).iter().map(|one| one.pid).collect();
            assert_eq!(pids, [8], "{}", bad.escape_ascii());
        }
        for cut in 0..good.len() {
            assert!(processes(&good[..cut], Duration::ZERO).is_empty(), "{cut}");
        }
        let long = [&7_u32.to_le_bytes()[..], &0_u32.to_le_bytes(), &u16::MAX.to_le_bytes(), b"7 (x)"].concat();
        assert!(processes(&long, Duration::ZERO).is_empty());
    }

    #[test]
    fn numbers_stand_after_their_names() {
        for (text, expected) in [
            (&b"read_bytes: 12\n"[..], 12),
            (b"xread_bytes: 12\nread_bytes:  7 kB", 7),
            (b"read_bytes: -1\n", 0),
            (b"read_bytes: 99999999999999999999\n", 0),
            (b"", 0),
        ] {
            assert_eq!(number_after(text, b"read_bytes: "), expected, "{}", text.escape_ascii());
        }
    }
}
