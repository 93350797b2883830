//! Probes of SystemTap's library (the tapsets) and what their variables are.

use crate::emit::ValueKind::{self, Number, Text};

/// A variable of a probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct AliasVariable {
    pub(super) name: &'static str,
    pub(super) value: &'static str,
    pub(super) kind: ValueKind,
}

/// A probe of the library with its equal.
#[derive(Debug)]
pub(super) struct Alias {
    /// As it is written, with `.`.
    name: &'static str,
    pub(super) point: &'static str,
    pub(super) condition: &'static str,
    pub(super) variables: &'static [AliasVariable],
}

const fn number(name: &'static str, value: &'static str) -> AliasVariable {
    AliasVariable { name, value, kind: Number }
}

const fn text(name: &'static str, value: &'static str) -> AliasVariable {
    AliasVariable { name, value, kind: Text }
}

const fn alias(name: &'static str, point: &'static str, variables: &'static [AliasVariable]) -> Alias {
    Alias { name, point, condition: "", variables }
}

const SWITCH: [AliasVariable; 9] = [
    number("prev_tid", "args.prev.pid"),
    number("prev_pid", "args.prev.tgid"),
    text("prev_task_name", "args.prev.comm"),
    number("prev_priority", "args.prev.prio"),
    number("next_tid", "args.next.pid"),
    number("next_pid", "args.next.tgid"),
    text("next_task_name", "args.next.comm"),
    number("next_priority", "args.next.prio"),
    text("name", "\"ctxswitch\""),
];
const WAKEUP: [AliasVariable; 4] = [
    number("task_pid", "args.p.tgid"),
    number("task_tid", "args.p.pid"),
    number("task_priority", "args.p.prio"),
    text("name", "\"wakeup\""),
];
const MIGRATE: [AliasVariable; 5] = [
    number("task_tid", "args.pid"),
    number("priority", "args.prio"),
    number("cpu_from", "args.orig_cpu"),
    number("cpu_to", "args.dest_cpu"),
    text("name", "\"migrate\""),
];
const BIO: [AliasVariable; 2] = [number("size", "(args.nr_sector * 512)"), number("sector", "args.sector")];
const SENT: [AliasVariable; 2] = [number("length", "args.len"), text("dev_name", "args.name")];
const SIGNAL: [AliasVariable; 4] = [
    number("sig", "args.sig"),
    number("sig_pid", "args.pid"),
    text("pid_name", "args.comm"),
    AliasVariable { name: "sig_name", value: "signal_name(args.sig)", kind: ValueKind::Shown },
];
const KMALLOC: [AliasVariable; 4] = [
    number("bytes_req", "args.bytes_req"),
    number("bytes_alloc", "args.bytes_alloc"),
    number("ptr", "(uint64)args.ptr"),
    number("call_site", "(uint64)args.call_site"),
];
const FORK: [AliasVariable; 2] = [number("new_pid", "args.child.tgid"), number("new_tid", "args.child.pid")];
const EXIT: [AliasVariable; 1] = [text("name", "\"exit\"")];

static ALL: &[Alias] = &[
    alias("scheduler.ctxswitch", "rawtracepoint:sched_switch", &SWITCH),
    alias("scheduler.wakeup", "rawtracepoint:sched_wakeup", &WAKEUP),
    alias("scheduler.wakeup_new", "rawtracepoint:sched_wakeup_new", &WAKEUP),
    alias("scheduler.migrate", "tracepoint:sched:sched_migrate_task", &MIGRATE),
    alias("scheduler.process_exit", "tracepoint:sched:sched_process_exit", &EXIT),
    alias("scheduler.process_fork", "rawtracepoint:sched_process_fork", &[]),
    alias("kprocess.create", "rawtracepoint:sched_process_fork", &FORK),
    alias("kprocess.exec_complete", "tracepoint:sched:sched_process_exec", &[]),
    alias("kprocess.exit", "tracepoint:sched:sched_process_exit", &[]),
    alias("ioblock.request", "tracepoint:block:block_bio_queue", &BIO),
    alias("ioblock.end", "tracepoint:block:block_bio_complete", &BIO),
    alias("netdev.transmit", "tracepoint:net:net_dev_queue", &SENT),
    alias("netdev.receive", "tracepoint:net:netif_receive_skb", &SENT),
    alias("signal.send", "tracepoint:signal:signal_generate", &SIGNAL),
    alias("vm.pagefault", "software:page-faults:1", &[]),
    alias("vm.kmalloc", "tracepoint:kmem:kmalloc", &KMALLOC),
    alias("softirq.entry", "tracepoint:irq:softirq_entry", &[number("vec_nr", "args.vec")]),
    alias("softirq.exit", "tracepoint:irq:softirq_exit", &[number("vec_nr", "args.vec")]),
    alias("irq_handler.entry", "tracepoint:irq:irq_handler_entry", &[number("irq", "args.irq")]),
    alias(
        "irq_handler.exit",
        "tracepoint:irq:irq_handler_exit",
        &[number("irq", "args.irq"), number("ret", "args.ret")],
    ),
];

/// The equal of a probe.
pub(super) fn find(name: &str) -> Option<&'static Alias> {
    ALL.iter().find(|it| it.name == name)
}

/// Functions that probes of the library stand for, with the variables that name their arguments.
const FUNCTIONS: [(&str, &str, &[AliasVariable]); 6] = [
    ("vfs.read", "vfs_read", &[number("bytes_to_read", "args.count"), number("pos", "(uint64)args.pos")]),
    ("vfs.write", "vfs_write", &[number("bytes_to_write", "args.count"), number("pos", "(uint64)args.pos")]),
    ("vfs.open", "vfs_open", &[]),
    ("tcp.sendmsg", "tcp_sendmsg", &[number("size", "args.size")]),
    ("tcp.recvmsg", "tcp_recvmsg", &[number("size", "args.len")]),
    ("udp.sendmsg", "udp_sendmsg", &[number("size", "args.len")]),
];

/// The function that a probe stands for.
pub(super) fn function(name: &str) -> Option<(&'static str, &'static [AliasVariable])> {
    FUNCTIONS.iter().find(|(it, _, _)| *it == name).map(|(_, function, variables)| (*function, *variables))
}

/// What is near to a probe that has no equal.
pub(super) fn nearest(family: &str) -> &'static str {
    match family {
        "scheduler" => "`scheduler.ctxswitch`, `wakeup`, `wakeup_new`, `migrate`, `process_exit`",
        "ioblock" | "ioblock_trace" | "ioscheduler" => {
            "`ioblock.request` and `ioblock.end`, or the tracepoints `block:*`"
        }
        "vfs" => "`vfs.read`, `vfs.write`, `vfs.open`, or `kernel.function(\"vfs_NAME\")`",
        "netdev" => "`netdev.transmit` and `netdev.receive`, or the tracepoints `net:*`",
        "tcp" | "udp" | "socket" | "tcpmib" | "ipmib" => {
            "`tcp.sendmsg`, `tcp.recvmsg`, `udp.sendmsg`, or the tracepoints `sock:*` and `tcp:*`"
        }
        "kprocess" => "`kprocess.create`, `exec_complete`, `exit`",
        "signal" => "`signal.send`, or the tracepoint `signal:signal_deliver`",
        "vm" => "`vm.pagefault`, `vm.kmalloc`, or the tracepoints `kmem:*`",
        "nfs" | "nfsd" => "the tracepoints `nfs:*`, `nfs4:*` and `nfsd:*`",
        "workqueue" => "the tracepoints `workqueue:*`",
        "perf" => "`timer.profile`, or events of `perf` in a capture of samples",
        "java" | "python" | "ruby" => "USDT probes of the runtime: `process(\"FILE\").mark(\"NAME\")`",
        _ => "search the catalogue for a tracepoint: `kernel.trace(\"NAME\")`",
    }
}
