//! Times that are counted beside the kernel's events: how long it lasted, and what was used of the CPUs in user space and in
//! the kernel.
//!
//! Of what runs the kernel tells hundredths of a second (`/proc/stat`, `/proc/PID/stat`); of a command that has ended,
//! microseconds.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use bathyscope_catalog::perf_events::ToolEvent;
use bathyscope_protocol::CpuTime;

use crate::kernel::{command::Used, target::ResolvedTarget};

/// Whose time on the CPUs is read.
#[derive(Debug)]
enum Whose {
    Everybody,
    /// With those that they have waited for.
    Processes(Vec<u32>),
    /// Each with its process.
    Threads(Vec<(u32, u32)>),
    Command {
        pid: u32,
        pidfd: OwnedFd,
        used: Used,
    },
}

/// A clock of what is counted, from the beginning of counting.
#[derive(Debug)]
pub(super) struct Times {
    whose: Whose,
    begin_ns: u64,
    begin: CpuTime,
    /// What was read last: time on the CPUs never goes back, also not where it comes from another place.
    last: CpuTime,
}

impl Times {
    /// Of a target; of everybody if `everywhere`.
    pub(super) fn of(target: &ResolvedTarget, everywhere: bool) -> io::Result<Self> {
        let whose = match (target.is_command(), target.command()) {
            _ if everywhere => Whose::Everybody,
            (true, Some(command)) => Whose::Command {
                pid: command.pid(),
                pidfd: command.pidfd().try_clone_to_owned()?,
                used: command.used().clone(),
            },
            _ => match target.threads() {
                [] => Whose::Processes(target.pids()),
                threads => Whose::Threads(threads.iter().map(|held| (held.pid, held.tid)).collect()),
            },
        };
        Ok(Self { whose, begin_ns: 0, begin: CpuTime::default(), last: CpuTime::default() })
    }

    /// Counting begins now.
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.begin_ns = now_ns;
        // What the command's process used before it was executed is the command's for the kernel too.
        self.begin = if matches!(self.whose, Whose::Command { .. }) { CpuTime::default() } else { self.now() };
        self.last = self.begin;
    }

    /// Nanoseconds from the beginning until now, for each kind.
    pub(super) fn read(&mut self, now_ns: u64) -> impl Fn(ToolEvent) -> u64 + use<> {
        let now = self.now();
        self.last.user_ns = self.last.user_ns.max(now.user_ns);
        self.last.system_ns = self.last.system_ns.max(now.system_ns);
        let duration = now_ns.saturating_sub(self.begin_ns);
        let user = self.last.user_ns.saturating_sub(self.begin.user_ns);
        let system = self.last.system_ns.saturating_sub(self.begin.system_ns);
        move |tool| match tool {
            ToolEvent::Duration => duration,
            ToolEvent::User => user,
            ToolEvent::System => system,
        }
    }

    fn now(&self) -> CpuTime {
        match &self.whose {
            Whose::Everybody => of_machine(&std::fs::read_to_string("/proc/stat").unwrap_or_default()),
            Whose::Processes(pids) => sum(pids.iter().map(|pid| of_process(*pid))),
            Whose::Threads(threads) => sum(threads.iter().map(|(pid, tid)| of_thread(*pid, *tid))),
            Whose::Command { pid, pidfd, used } => used.at_end(pidfd.as_fd()).unwrap_or_else(|| of_process(*pid)),
        }
    }
}

fn sum(times: impl Iterator<Item = CpuTime>) -> CpuTime {
    times.fold(CpuTime::default(), |all, one| CpuTime {
        user_ns: all.user_ns.saturating_add(one.user_ns),
        system_ns: all.system_ns.saturating_add(one.system_ns),
    })
}

fn of_thread(pid: u32, tid: u32) -> CpuTime {
    of_line(&std::fs::read(format!("/proc/{pid}/task/{tid}/stat")).unwrap_or_default())
}

fn of_process(pid: u32) -> CpuTime {
    of_line(&std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default())
}

fn ticks_ns(ticks: u64) -> u64 {
    ticks.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second().max(1))
}

/// The first line of `/proc/stat`: `cpu USER NICE SYSTEM …`.
fn of_machine(stat: &str) -> CpuTime {
    let words: Vec<u64> = stat.lines().next().unwrap_or_default().split_whitespace().skip(1).map(number).collect();
    let at = |index: usize| words.get(index).copied().unwrap_or(0);
    CpuTime { user_ns: ticks_ns(at(0).saturating_add(at(1))), system_ns: ticks_ns(at(2)) }
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or(0)
}

/// `/proc/PID/stat`: behind the name, which may hold anything, come the state and twelve numbers, then the time in user space
/// and in the kernel, its own and that of children that it waited for.
fn of_line(stat: &[u8]) -> CpuTime {
    let behind =
        stat.iter().rposition(|byte| *byte == b')').map_or(&[][..], |at| stat.get(at + 1..).unwrap_or_default());
    let text = String::from_utf8_lossy(behind);
    let words: Vec<u64> = text.split_whitespace().skip(11).take(4).map(number).collect();
    let at = |index: usize| words.get(index).copied().unwrap_or(0);
    CpuTime { user_ns: ticks_ns(at(0).saturating_add(at(2))), system_ns: ticks_ns(at(1).saturating_add(at(3))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_whatever_a_process_is_called() {
        let ns = ticks_ns(1);
        let line = b"7 (a) R 1 2) S 1 7 7 0 -1 4194560 1 2 3 4 11 22 33 44 20 0 1 0 9";
        assert_eq!(of_line(line), CpuTime { user_ns: 44 * ns, system_ns: 66 * ns });
        let machine = of_machine("cpu  10 5 7 100 0 0 0 0 0 0\ncpu0 1 1 1 1\n");
        assert_eq!(machine, CpuTime { user_ns: 15 * ns, system_ns: 7 * ns });
        for bad in ["", "7 (a", "cpu", "cpu x y z"] {
            assert_eq!((of_line(bad.as_bytes()), of_machine(bad)), (CpuTime::default(), CpuTime::default()), "{bad}");
        }
    }
}
