//! The providers of DTrace that have the same names on every system, and tracepoints that are their equal.

use crate::emit::ValueKind::{self, Number, Text};

/// A member of an argument: `args[0]->pr_pid`. Without a member it is the argument itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StableArgument {
    pub(crate) index: i64,
    pub(crate) member: &'static str,
    pub(crate) value: &'static str,
    pub(crate) kind: ValueKind,
}

/// A probe with its equal.
#[derive(Debug)]
pub(crate) struct Stable {
    provider: &'static str,
    name: &'static str,
    pub(crate) point: &'static str,
    pub(crate) condition: &'static str,
    /// `execname`, `pid` and `tid`, if it is not the current thread of the attach point.
    pub(crate) thread: Option<[&'static str; 3]>,
    pub(crate) arguments: &'static [StableArgument],
}

const fn argument(index: i64, member: &'static str, value: &'static str, kind: ValueKind) -> StableArgument {
    StableArgument { index, member, value, kind }
}

const fn stable(
    provider: &'static str,
    name: &'static str,
    point: &'static str,
    condition: &'static str,
    arguments: &'static [StableArgument],
) -> Stable {
    Stable { provider, name, point, condition, thread: None, arguments }
}

const NEXT: [StableArgument; 5] = [
    argument(0, "pr_lwpid", "args.next.pid", Number),
    argument(0, "pr_pri", "args.next.prio", Number),
    argument(1, "pr_pid", "args.next.tgid", Number),
    argument(1, "pr_fname", "args.next.comm", Text),
    argument(1, "pr_lwpid", "args.next.pid", Number),
];
const WOKEN: [StableArgument; 5] = [
    argument(0, "pr_lwpid", "args.p.pid", Number),
    argument(0, "pr_pri", "args.p.prio", Number),
    argument(1, "pr_pid", "args.p.tgid", Number),
    argument(1, "pr_fname", "args.p.comm", Text),
    argument(1, "pr_lwpid", "args.p.pid", Number),
];
const CHILD: [StableArgument; 3] = [
    argument(0, "pr_pid", "args.child.tgid", Number),
    argument(0, "pr_lwpid", "args.child.pid", Number),
    argument(0, "pr_fname", "args.child.comm", Text),
];
const BLOCK: [StableArgument; 9] = [
    argument(0, "", "(uint64)args.rq", Number),
    argument(0, "b_bcount", "args.rq.__data_len", Number),
    argument(0, "b_bufsize", "args.rq.__data_len", Number),
    argument(0, "b_blkno", "args.rq.__sector", Number),
    argument(0, "b_lblkno", "args.rq.__sector", Number),
    argument(0, "b_edev", "args.rq.part.bd_dev", Number),
    argument(1, "dev_major", "(args.rq.part.bd_dev >> 20)", Number),
    argument(1, "dev_minor", "(args.rq.part.bd_dev & 0xfffff)", Number),
    argument(1, "dev_statname", "args.rq.q.disk.disk_name", Text),
];
const BLOCK_DONE: [StableArgument; 9] = [
    argument(0, "", "(uint64)args.rq", Number),
    argument(0, "b_bcount", "args.nr_bytes", Number),
    argument(0, "b_bufsize", "args.nr_bytes", Number),
    argument(0, "b_blkno", "args.rq.__sector", Number),
    argument(0, "b_lblkno", "args.rq.__sector", Number),
    argument(0, "b_edev", "args.rq.part.bd_dev", Number),
    argument(1, "dev_major", "(args.rq.part.bd_dev >> 20)", Number),
    argument(1, "dev_minor", "(args.rq.part.bd_dev & 0xfffff)", Number),
    argument(1, "dev_statname", "args.rq.q.disk.disk_name", Text),
];
const PATH: [StableArgument; 1] = [argument(0, "", "str(args.filename)", Text)];
const SIGNAL: [StableArgument; 4] = [
    argument(2, "", "args.sig", Number),
    argument(1, "pr_pid", "args.pid", Number),
    argument(0, "pr_lwpid", "args.pid", Number),
    argument(1, "pr_fname", "args.comm", Text),
];

static ALL: &[Stable] = &[
    stable("proc", "exec", "tracepoint:syscalls:sys_enter_execve", "", &PATH),
    stable("proc", "exec-success", "tracepoint:sched:sched_process_exec", "", &[]),
    // The probe fires for a process, the tracepoint for each of its threads.
    stable("proc", "exit", "tracepoint:sched:sched_process_exit", "pid == tid", &[]),
    stable("proc", "lwp-exit", "tracepoint:sched:sched_process_exit", "", &[]),
    stable("proc", "create", "rawtracepoint:sched_process_fork", "args.child.pid == args.child.tgid", &CHILD),
    stable("proc", "lwp-create", "rawtracepoint:sched_process_fork", "args.child.pid != args.child.tgid", &CHILD),
    stable("proc", "signal-send", "tracepoint:signal:signal_generate", "", &SIGNAL),
    stable("proc", "signal-handle", "tracepoint:signal:signal_deliver", "", &[argument(0, "", "args.sig", Number)]),
    Stable {
        provider: "sched",
        name: "on-cpu",
        point: "rawtracepoint:sched_switch",
        condition: "",
        thread: Some(["args.next.comm", "args.next.tgid", "args.next.pid"]),
        arguments: &[],
    },
    stable("sched", "off-cpu", "rawtracepoint:sched_switch", "", &NEXT),
    stable("sched", "wakeup", "rawtracepoint:sched_wakeup", "", &WOKEN),
    stable("io", "start", "rawtracepoint:block_rq_issue", "", &BLOCK),
    stable("io", "done", "rawtracepoint:block_rq_complete", "", &BLOCK_DONE),
    stable("vminfo", "maj_fault", "software:major-faults:1", "", &[argument(0, "", "1", Number)]),
    stable("vminfo", "as_fault", "software:page-faults:1", "", &[argument(0, "", "1", Number)]),
    stable("sysinfo", "pswitch", "tracepoint:sched:sched_switch", "", &[argument(0, "", "1", Number)]),
    stable("sysinfo", "syscall", "tracepoint:raw_syscalls:sys_enter", "", &[argument(0, "", "1", Number)]),
    stable("sysinfo", "sysread", "tracepoint:syscalls:sys_enter_read", "", &[argument(0, "", "1", Number)]),
    stable("sysinfo", "syswrite", "tracepoint:syscalls:sys_enter_write", "", &[argument(0, "", "1", Number)]),
    stable("sysinfo", "sysexec", "tracepoint:syscalls:sys_enter_execve", "", &PATH_COUNT),
];
const PATH_COUNT: [StableArgument; 1] = [argument(0, "", "1", Number)];

/// The equal of a probe.
pub(crate) fn find(provider: &str, name: &str) -> Option<&'static Stable> {
    ALL.iter().find(|it| it.provider == provider && it.name == name)
}

/// Why a probe has no equal, and what is nearest.
pub(crate) fn no_equal(provider: &str, name: &str) -> (String, String) {
    let nearest = match (provider, name) {
        ("proc", "exec-failure") => "`syscall::execve:return /arg0 < 0/`",
        ("proc", "start") => "`proc:::create`, in the parent",
        ("proc", "signal-discard") => "the tracepoint `signal:signal_generate` with args.result",
        ("proc", _) => "`proc:::create`, `exec-success`, `exit`, `signal-send`",
        ("sched", "enqueue" | "dequeue") => "`sched:::wakeup` and `sched:::on-cpu`",
        ("sched", "sleep" | "preempt" | "remain-cpu" | "surrender") => {
            "`sched:::off-cpu`; the thread's state is args.prev_state of the tracepoint `sched:sched_switch`"
        }
        ("sched", "tick") => "`profile-99`",
        ("sched", "change-pri") => "the tracepoint `sched:sched_pi_setprio`",
        ("sched", _) => "`sched:::on-cpu`, `off-cpu`, `wakeup`",
        ("io", _) => "`io:::start` and `io:::done`, or the tracepoints `block:*`",
        ("dtmalloc", "free") => "the tracepoint `kmem:kfree`; Linux has no types of kernel memory",
        ("dtmalloc", _) => {
            "the tracepoint `kmem:kmalloc` (args.bytes_req, args.bytes_alloc, args.call_site); Linux has no types of kernel memory"
        }
        ("lockstat" | "plockstat", _) => {
            "the tracepoints `lock:contention_begin` and `lock:contention_end`, or the tool `locks`"
        }
        ("vminfo", _) => "`vminfo:::maj_fault`, `vminfo:::as_fault`, or the tracepoints `vmscan:*` and `kmem:*`",
        ("sysinfo", _) => "`sysinfo:::pswitch`, `syscall`, `sysread`, `syswrite`",
        ("fsinfo" | "vfs", _) => "kernel functions `fbt::vfs_*:entry`, or system calls",
        ("tcp", _) => "the tracepoints `tcp:*` and `sock:inet_sock_set_state`, or the tools `tcplife` and `tcpstates`",
        ("udp" | "ip", _) => "the tracepoints `net:*` and `sock:*`",
        ("mib", _) => "`/proc/net/snmp`, or the tracepoints `tcp:*`",
        ("cpc", _) => "hardware events: `hardware:cache-misses:1000000`",
        ("nfsv3" | "nfsv4", _) => "the tracepoints `nfs4:*` and `nfsd:*`",
        ("lockf" | "priv", _) => "the tracepoint `capability:cap_capable`",
        _ => "search the catalogue for a tracepoint",
    };
    let name = if name.is_empty() { String::new() } else { format!(":::{name}") };
    (format!("Linux has no probe `{provider}{name}`"), format!("the nearest: {nearest}"))
}
