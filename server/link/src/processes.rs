//! The processes of this host, as somebody who chooses one wants to tell them apart.

use std::{
    fs::File,
    io::Read as _,
    os::fd::{AsFd as _, OwnedFd},
};

use bathyscope_capture::visible;
use bathyscope_protocol::{AgentClient, ClientError, ProcessFile};
use serde::Serialize;

/// `stat` of a process is one line; more is not read.
const STAT_BYTES: u64 = 1024;
/// The most of a command line that is read.
const COMMAND_BYTES: u64 = 1024;
/// Ticks of the clock in which `stat` tells times, a second: Linux has one number for all programs.
pub(crate) const TICKS_PER_S: u64 = 100;
/// Flag of the kernel's own threads in `stat`.
pub(crate) const KERNEL_THREAD: u64 = 0x0020_0000;

/// A process that can be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its name, made visible.
    pub comm: String,
    /// Its command line, words with blanks between, made visible; empty for threads of the kernel, and where it is not told.
    pub command: String,
    /// The user that it runs as, by name or number.
    pub user: String,
    /// Seconds since it was started.
    pub age_s: u64,
    /// CPU time that it and its threads have used, milliseconds.
    pub cpu_ms: u64,
    /// Whether it is a thread of the kernel.
    pub kernel: bool,
}

/// What the first line of `/proc/PID/stat` tells.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stat<'a> {
    comm: &'a [u8],
    flags: u64,
    cpu_ticks: u64,
    start_ticks: u64,
}

/// The name in `PID (NAME) …`, as `/proc/PID/stat` has it. The name may have parentheses itself.
pub fn comm_of_stat(stat: &[u8]) -> Option<&[u8]> {
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    stat.get(open + 1..close)
}

/// When a process was started, in ticks since the host was.
pub(crate) fn start_ticks_of_stat(stat: &[u8]) -> Option<u64> {
    stat_of(stat).map(|stat| stat.start_ticks)
}

/// A line of `/proc/PID/stat`, by its fields.
#[derive(Debug)]
pub struct StatLine<'a> {
    /// The name, which may hold any byte.
    pub comm: &'a [u8],
    /// From the third field on.
    behind: Vec<&'a str>,
}

impl<'a> StatLine<'a> {
    /// None where there is no name in parentheses.
    pub fn read(stat: &'a [u8]) -> Option<Self> {
        let comm = comm_of_stat(stat)?;
        let close = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(stat.get(close + 1..)?).unwrap_or("");
        Some(Self { comm, behind: rest.split_ascii_whitespace().collect() })
    }

    /// A field behind the name by its number in proc(5), which begins with 3.
    pub fn text(&self, field: usize) -> Option<&'a str> {
        self.behind.get(field.checked_sub(3)?).copied()
    }

    /// The same as a number.
    pub fn number(&self, field: usize) -> Option<u64> {
        self.text(field)?.parse().ok()
    }
}

fn stat_of(stat: &[u8]) -> Option<Stat<'_>> {
    let line = StatLine::read(stat)?;
    let number = |field: usize| line.number(field).unwrap_or(0);
    let cpu_ticks = number(14).saturating_add(number(15));
    Some(Stat { comm: line.comm, flags: number(9), cpu_ticks, start_ticks: number(22) })
}

/// Seconds since the host was started, as `stat` counts them.
fn uptime_s() -> u64 {
    u64::try_from(rustix::time::clock_gettime(rustix::time::ClockId::Boottime).tv_sec).unwrap_or(0)
}

/// At most so many bytes of a file of a process. One that ends meanwhile leaves a part, which is as good as nothing.
pub fn read_some(file: OwnedFd, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ended = File::from(file).take(most).read_to_end(&mut bytes);
    bytes
}

/// The processes with what `stat` tells of them; those that have ended meanwhile are left out. `passwd` names users.
pub(crate) fn listed(client: &mut AgentClient, pids: &[u32], passwd: &[u8]) -> Result<Vec<Process>, ClientError> {
    let mut all = Vec::with_capacity(pids.len());
    let now_s = uptime_s();
    for &pid in pids {
        match client.open_process_file(pid, ProcessFile::Stat) {
            Ok(file) => {
                let uid = rustix::fs::fstat(file.as_fd()).ok().map(|stat| stat.st_uid);
                let bytes = read_some(file, STAT_BYTES);
                let Some(stat) = stat_of(&bytes) else { continue };
                all.push(Process {
                    pid,
                    comm: visible(stat.comm),
                    command: String::new(),
                    user: uid.map(|uid| user_of(passwd, uid)).unwrap_or_default(),
                    age_s: now_s.saturating_sub(stat.start_ticks / TICKS_PER_S),
                    cpu_ms: stat.cpu_ticks.saturating_mul(1000 / TICKS_PER_S),
                    kernel: stat.flags & KERNEL_THREAD != 0,
                });
            }
            Err(ClientError::Refused(_ended)) => {}
            Err(broken) => return Err(broken),
        }
    }
    Ok(all)
}

/// Adds the command lines of those that are shown.
pub(crate) fn with_commands(client: &mut AgentClient, mut shown: Vec<Process>) -> Result<Vec<Process>, ClientError> {
    for process in shown.iter_mut().filter(|process| !process.kernel) {
        match client.open_process_file(process.pid, ProcessFile::Cmdline) {
            Ok(file) => process.command = command_of(&read_some(file, COMMAND_BYTES)),
            Err(ClientError::Refused(_ended)) => {}
            Err(broken) => return Err(broken),
        }
    }
    Ok(shown)
}

/// The words of a command line, which end in NUL each.
fn command_of(bytes: &[u8]) -> String {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    bytes.split(|byte| *byte == 0).map(visible).collect::<Vec<_>>().join(" ")
}

/// The control group of a process, by the lines of `/proc/PID/cgroup`: that of version 2, or where everything is in its root because
/// version 1 is used, systemd's.
pub fn control_group(lines: &[u8]) -> Option<&[u8]> {
    let of = |controllers: &[u8]| {
        lines.split(|byte| *byte == b'\n').find_map(|line| {
            let rest = line.get(line.iter().position(|byte| *byte == b':')? + 1..)?;
            rest.strip_prefix(controllers)?.strip_prefix(b":")
        })
    };
    let version_2 = of(b"");
    version_2.filter(|path| *path != b"/").or_else(|| of(b"name=systemd")).or(version_2)
}

/// The name of a user in `/etc/passwd`, or the number.
pub fn user_of(passwd: &[u8], uid: u32) -> String {
    let number = uid.to_string();
    let name = passwd.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        (id == number.as_bytes() && !name.is_empty()).then(|| visible(name))
    });
    name.unwrap_or(number)
}

/// Those that fit what was typed, a beginning of an id or a part of a name: named exactly so first, then those whose name
/// begins so, the busiest first; threads of the kernel last.
pub(crate) fn fitting(all: &[Process], typed: &str) -> Vec<Process> {
    let wanted = typed.trim().to_lowercase();
    let rank = |process: &Process| {
        let comm = process.comm.to_lowercase();
        let pid = process.pid.to_string();
        match () {
            () if pid == wanted || comm == wanted => Some(0),
            () if pid.starts_with(&wanted) || comm.starts_with(&wanted) => Some(1),
            () if comm.contains(&wanted) => Some(2),
            () => None,
        }
    };
    let mut found: Vec<(bool, u8, u64, &Process)> = all
        .iter()
        .filter_map(|process| Some((process.kernel, rank(process)?, u64::MAX - process.cpu_ms, process)))
        .collect();
    found.sort_by_key(|(kernel, rank, idle, process)| (*kernel, *rank, *idle, process.pid));
    found.into_iter().map(|(.., process)| process.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_processes_may_have_parentheses() {
        let cases: [(&[u8], Option<&[u8]>); 4] = [
            (b"12 (bash) S 1", Some(b"bash")),
            (b"12 (a) S (b)) R 1", Some(b"a) S (b)")),
            (b"12 bash", None),
            (b"", None),
        ];
        for (stat, expected) in cases {
            assert_eq!(comm_of_stat(stat), expected);
        }
    }

    #[test]
    fn a_line_of_stat_tells_time_and_kind() {
        let line = b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 7 30 0 0 20 0 1 0 1234 0 0\n";
        let expected = Stat { comm: b"kthreadd", flags: 2_129_984, cpu_ticks: 37, start_ticks: 1234 };
        assert_eq!(stat_of(line), Some(expected));
        assert_ne!(2_129_984 & KERNEL_THREAD, 0);
        let cut = Stat { comm: b"x", flags: 0, cpu_ticks: 0, start_ticks: 0 };
        assert_eq!(stat_of(b"9 (x) S"), Some(cut));
        assert_eq!(stat_of(b"no"), None);
    }

    #[test]
    fn command_lines_and_users_are_for_people() {
        assert_eq!(command_of(b"python3\0-c\0print(1)\n\0"), "python3 -c print(1)\\n");
        assert_eq!(command_of(b""), "");
        let passwd = b"root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534\n:x:7\n";
        assert_eq!([0, 65534, 7, 12].map(|uid| user_of(passwd, uid)), ["root", "nobody", "7", "12"]);
    }

    #[test]
    fn what_was_meant_comes_first_and_the_kernel_last() {
        let process = |pid: u32, comm: &str, cpu_ms: u64, kernel: bool| Process {
            pid,
            comm: comm.to_owned(),
            cpu_ms,
            kernel,
            ..Process::default()
        };
        let all = [
            process(3, "burnd", 900, false),
            process(5, "burn", 1, true),
            process(70, "burn", 5, false),
            process(71, "burn", 50, false),
            process(7, "sunburn", 9999, false),
            process(8, "idle", 1, false),
        ];
        let pids = |typed: &str| fitting(&all, typed).iter().map(|process| process.pid).collect::<Vec<_>>();
        assert_eq!(pids(" Burn"), [71, 70, 3, 7, 5]);
        assert_eq!(pids("7"), [7, 71, 70]);
        assert_eq!(pids("nothing"), [] as [u32; 0]);
        assert_eq!(pids("").len(), 6);
    }

    #[test]
    fn the_control_group_is_that_of_version_2_where_it_is_used() {
        let cases: [(&[u8], Option<&[u8]>); 6] = [
            (b"0::/system.slice/a.service\n", Some(b"/system.slice/a.service")),
            (b"4:cpu:/x\n1:name=systemd:/user.slice\n0::/\n", Some(b"/user.slice")),
            (b"1:name=systemd:/user.slice\n0::/a:b\n", Some(b"/a:b")),
            (b"0::/\n", Some(b"/")),
            (b"4:cpu:/x\n", None),
            (b"0\n", None),
        ];
        for (lines, group) in cases {
            assert_eq!(control_group(lines), group, "{}", String::from_utf8_lossy(lines));
        }
    }
}
