//! What the kernel says of processes.

use std::{collections::BTreeMap, fs};

use rustix::process::{Pid, Signal, kill_process};

use crate::wait::until;

/// The children of a process, by all of its threads.
pub fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let of_thread = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("children")).unwrap_or_default();
    let lists = threads.flatten().map(of_thread).collect::<Vec<_>>().join(" ");
    lists.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// The words of a process's command line.
pub fn command_line(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    bytes.split(|&b| b == 0).filter(|word| !word.is_empty()).map(|w| String::from_utf8_lossy(w).into_owned()).collect()
}

/// `/proc/PID/status` by name; empty once the process is gone.
pub fn status(pid: u32) -> BTreeMap<String, String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}

/// Whether a process exists and is more than a zombie.
pub fn is_alive(pid: u32) -> bool {
    status(pid).get("State").is_some_and(|state| !state.starts_with(['Z', 'X']))
}

/// Whether it is stopped by a signal.
pub fn is_stopped(pid: u32) -> bool {
    status(pid).get("State").is_some_and(|state| state.starts_with('T'))
}

/// Whether this process ignores a signal, and with it what it starts: SIGHUP below `nohup`, SIGINT behind a script's `&`.
pub fn is_ignored(signal: Signal) -> bool {
    let bits = status(std::process::id()).get("SigIgn").and_then(|bits| u64::from_str_radix(bits, 16).ok());
    bits.is_some_and(|bits| bits & (1 << (signal.as_raw() - 1)) != 0)
}

/// Milliseconds of CPU time that all threads of a process have used.
///
/// # Panics
/// If there is no such process.
pub fn cpu_ms(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process lives");
    let behind_name = stat.rsplit_once(')').expect("its name is in parentheses").1;
    let ticks = |index: usize| behind_name.split_ascii_whitespace().nth(index).and_then(|it| it.parse::<u64>().ok());
    // Fields 14 and 15 of proc(5), in hundredths of a second on every Linux.
    (ticks(11).expect("user time") + ticks(12).expect("system time")) * 10
}

/// Resident memory of a process in KiB; 0 once it is gone.
pub fn resident_kib(pid: u32) -> u64 {
    let status = status(pid);
    status.get("VmRSS").and_then(|text| text.split(' ').next()?.parse().ok()).unwrap_or(0)
}

/// Where the descriptors of a process point, such as `anon_inode:bpf-prog`.
pub fn descriptors(pid: u32) -> Vec<String> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let targets = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.map(|target| target.to_string_lossy().into_owned()).collect()
}

/// A process without rights that `parent` has forked, once it is confined: stopped where it is.
///
/// # Panics
/// If none comes.
pub fn stopped_child(parent: u32) -> u32 {
    until("a process without rights", || {
        // The limits come last but for the filter, which the agent may have one of, too.
        let limited = |pid: u32| {
            let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
            let line = limits.lines().find_map(|line| line.strip_prefix("Max file size"));
            line.is_some_and(|line| line.trim_start().starts_with("0 "))
        };
        let filtered = |pid: u32| status(pid).get("Seccomp").is_some_and(|mode| mode == "2");
        let confined = |pid: &u32| limited(*pid) && filtered(*pid);
        let child = children(parent).into_iter().find(confined)?;
        let pid = Pid::from_raw(i32::try_from(child).ok()?)?;
        kill_process(pid, Signal::STOP).ok()?;
        is_stopped(child).then_some(child)
    })
}

/// No capability, none to come, and a filter of system calls.
///
/// # Panics
/// If it has one.
#[track_caller]
pub fn assert_no_rights(status: &BTreeMap<String, String>) {
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(status[set].trim_start_matches('0'), "", "{set}");
    }
    assert_eq!((status["Seccomp"].as_str(), status["NoNewPrivs"].as_str()), ("2", "1"));
}
