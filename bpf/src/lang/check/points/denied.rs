//! Kernel functions that are not probed: a hit in them can stop the machine or never end.

use std::sync::LazyLock;

use super::Wildcards;

/// Names of functions that are refused, as wildcards, each with why.
const DENIED: &[(&str, &str)] = &[
    ("*_spin_*lock*", "a probe inside a spin lock can deadlock"),
    ("*spin_unlock*", "a probe inside a spin lock can deadlock"),
    ("queued_spin_*", "a probe inside a spin lock can deadlock"),
    ("queued_read_lock*", "a probe inside a lock can deadlock"),
    ("queued_write_lock*", "a probe inside a lock can deadlock"),
    ("pv_queued_*", "a probe inside a spin lock can deadlock"),
    ("__pv_queued_*", "a probe inside a spin lock can deadlock"),
    ("_raw_read_*lock*", "a probe inside a lock can deadlock"),
    ("_raw_write_*lock*", "a probe inside a lock can deadlock"),
    ("arch_cpu_idle*", "it runs where the kernel is idle and nothing may be traced"),
    ("default_idle*", "it runs where the kernel is idle and nothing may be traced"),
    ("cpu_idle_*", "it runs where the kernel is idle and nothing may be traced"),
    ("acpi_idle_*", "it runs where the kernel is idle and nothing may be traced"),
    ("intel_idle*", "it runs where the kernel is idle and nothing may be traced"),
    ("mwait_idle*", "it runs where the kernel is idle and nothing may be traced"),
    ("poll_idle*", "it runs where the kernel is idle and nothing may be traced"),
    ("do_idle", "it runs where the kernel is idle and nothing may be traced"),
    ("rcu_*", "probes depend on RCU: a probe in it never ends"),
    ("__rcu_*", "probes depend on RCU: a probe in it never ends"),
    ("srcu_*", "probes depend on RCU: a probe in it never ends"),
    ("__srcu_*", "probes depend on RCU: a probe in it never ends"),
    ("ct_nmi_*", "it runs where RCU does not watch"),
    ("ct_irq_*", "it runs where RCU does not watch"),
    ("ct_kernel_*", "it runs where RCU does not watch"),
    ("bpf_*", "it is part of what runs probes"),
    ("__bpf_*", "it is part of what runs probes"),
    ("trace_call_bpf*", "it is part of what runs probes"),
    ("kprobe_*", "it is part of what runs probes"),
    ("kretprobe_*", "it is part of what runs probes"),
    ("ftrace_*", "it is part of what runs probes"),
    ("__ftrace_*", "it is part of what runs probes"),
    ("perf_trace_*", "it is part of what runs probes"),
    ("trampoline_*", "it is part of what runs probes"),
    ("htab_*map_*", "maps of probes use it"),
    ("preempt_count_*", "every probe runs it"),
    ("migrate_disable", "every probe runs it"),
    ("migrate_enable", "every probe runs it"),
    ("exc_*", "it handles faults, also those of probes"),
    ("asm_exc_*", "it handles faults, also those of probes"),
    ("do_int3*", "it handles faults, also those of probes"),
    ("notify_die", "it handles faults, also those of probes"),
    ("copy_from_kernel_nofault*", "every probe runs it"),
    ("copy_from_user_nofault", "every probe runs it"),
    ("native_write_msr*", "it is used where nothing may be traced"),
    ("native_load_*", "it is used where nothing may be traced"),
];

/// What of the above is harmless after all.
const ALLOWED: &[&str] = &["bpf_prog_load*", "bpf_map_create*", "bpf_check", "rcu_sched_clock_irq", "rcu_do_batch"];

/// Why a function of the kernel is not probed; none if it may be.
pub fn denied(function: &str) -> Option<&'static str> {
    static LISTS: LazyLock<Lists> = LazyLock::new(|| Lists {
        allowed: ALLOWED.iter().map(|pattern| Wildcards::new(pattern)).collect(),
        denied: DENIED.iter().map(|(pattern, why)| (Wildcards::new(pattern), *why)).collect(),
    });
    if LISTS.allowed.iter().any(|pattern| pattern.matches(function)) {
        return None;
    }
    LISTS.denied.iter().find(|(pattern, _)| pattern.matches(function)).map(|(_, why)| *why)
}

/// The lists, read once: a wildcard asks about all functions of the kernel.
struct Lists {
    allowed: Vec<Wildcards>,
    denied: Vec<(Wildcards, &'static str)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dangerous_functions_are_denied() {
        for name in [
            "_raw_spin_lock_irqsave",
            "_raw_spin_unlock",
            "queued_spin_lock_slowpath",
            "native_queued_spin_lock_slowpath",
            "rcu_read_unlock_special",
            "arch_cpu_idle",
            "default_idle_call",
            "bpf_ringbuf_output",
        ] {
            assert!(denied(name).is_some(), "{name}");
        }
        for name in
            ["vfs_read", "tcp_sendmsg", "do_nanosleep", "mutex_lock", "spi_sync", "bpf_prog_load", "rcu_do_batch"]
        {
            assert_eq!(denied(name), None, "{name}");
        }
    }
}
