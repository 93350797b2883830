//! What functions of the kernel are called in kernels of other times, which are hardly ever called, and which tracepoints
//! tell about the same. The one place for such hints: probes, graphs, filters of functions, scripts and lists ask here.

/// Functions that were renamed or split from one kernel to another, and what does their work elsewhere.
const RENAMED: &[(&str, &[&str])] = &[
    ("do_sys_open", &["do_sys_openat2"]),
    ("do_fork", &["kernel_clone", "_do_fork"]),
    ("_do_fork", &["kernel_clone", "do_fork"]),
    ("kernel_clone", &["_do_fork", "do_fork"]),
    ("do_execve", &["do_execveat_common", "__do_execve_file", "bprm_execve"]),
    ("do_page_fault", &["do_user_addr_fault", "exc_page_fault", "handle_mm_fault"]),
    ("__do_page_fault", &["do_user_addr_fault", "handle_mm_fault"]),
    ("clear_huge_page", &["folio_zero_user"]),
    ("folio_zero_user", &["clear_huge_page"]),
    ("do_IRQ", &["__common_interrupt", "common_interrupt", "handle_irq_event"]),
    ("smp_apic_timer_interrupt", &["__sysvec_apic_timer_interrupt", "sysvec_apic_timer_interrupt"]),
    ("__do_softirq", &["handle_softirqs"]),
    ("kmalloc", &["__kmalloc_noprof", "__kmalloc", "__kmalloc_cache_noprof"]),
    ("tcp_drop", &["tcp_drop_reason", "sk_skb_reason_drop"]),
    ("try_to_wake_up", &["ttwu_do_activate"]),
    ("add_to_page_cache_lru", &["filemap_add_folio"]),
    ("mark_page_accessed", &["folio_mark_accessed"]),
    ("account_page_dirtied", &["folio_account_dirtied"]),
    ("__set_page_dirty", &["__folio_mark_dirty"]),
    ("blk_account_io_start", &["blk_mq_start_request", "blk_start_request"]),
    ("blk_start_request", &["blk_mq_start_request"]),
    ("blk_account_io_completion", &["blk_account_io_done", "blk_mq_end_request"]),
    ("generic_make_request", &["submit_bio_noacct"]),
    ("kmem_cache_alloc", &["kmem_cache_alloc_noprof"]),
    ("__kmalloc", &["__kmalloc_noprof"]),
    ("kfree_skb", &["kfree_skb_reason", "sk_skb_reason_drop"]),
    ("kfree_skb_reason", &["sk_skb_reason_drop", "kfree_skb"]),
];

/// Functions that exist and are hardly ever called, what is called instead, and why.
const SELDOM: &[(&str, &str, &str)] = &[
    (
        "do_sys_open",
        "do_sys_openat2",
        "in this kernel open() and openat() go straight to do_sys_openat2, so do_sys_open is hardly ever called; use \
         do_sys_openat2 to see them",
    ),
    (
        "schedule",
        "__schedule",
        "preemption and idle CPUs go straight to __schedule, so only threads that wait by themselves come through \
         schedule; the event sched:sched_switch sees all",
    ),
];

/// Names that people look for in the kernel, and where they are.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "malloc",
        "malloc is of the C library of programs: probe it there (`perf probe -x libc malloc`). What the kernel allocates is \
         seen by the event kmem:kmalloc",
    ),
    (
        "free",
        "free is of the C library of programs: probe it there (`perf probe -x libc free`). What the kernel frees is seen by \
         the event kmem:kfree",
    ),
    (
        "dtmalloc",
        "dtmalloc is a provider of DTrace on FreeBSD; here what the kernel allocates is seen by the event kmem:kmalloc",
    ),
];

/// What names of system calls begin with, in the kernels of several times and processors.
pub(crate) const CALLS: [&str; 8] =
    ["__x64_sys_", "__arm64_sys_", "__se_sys_", "__do_sys_", "ksys_", "SyS_", "do_sys_", "sys_"];

/// Functions, and the tracepoints nearest to them, the best first.
const TRACEPOINTS: &[(&str, &[&str])] = &[
    ("vfs_read", &["syscalls:sys_enter_read"]),
    ("vfs_write", &["syscalls:sys_enter_write"]),
    ("vfs_readv", &["syscalls:sys_enter_readv"]),
    ("vfs_writev", &["syscalls:sys_enter_writev"]),
    ("vfs_open", &["syscalls:sys_enter_openat"]),
    ("vfs_fsync", &["syscalls:sys_enter_fsync"]),
    ("vfs_fsync_range", &["syscalls:sys_enter_fsync"]),
    ("vfs_unlink", &["syscalls:sys_enter_unlinkat"]),
    ("vfs_mkdir", &["syscalls:sys_enter_mkdirat"]),
    ("vfs_rmdir", &["syscalls:sys_enter_unlinkat"]),
    ("vfs_rename", &["syscalls:sys_enter_renameat2"]),
    ("vfs_statx", &["syscalls:sys_enter_statx", "syscalls:sys_enter_newfstatat"]),
    ("vfs_create", &["syscalls:sys_enter_openat"]),
    ("do_sys_open", &["syscalls:sys_enter_openat"]),
    ("do_sys_openat2", &["syscalls:sys_enter_openat"]),
    ("do_filp_open", &["syscalls:sys_enter_openat"]),
    ("do_unlinkat", &["syscalls:sys_enter_unlinkat"]),
    ("do_execve", &["sched:sched_process_exec", "syscalls:sys_enter_execve"]),
    ("do_execveat_common", &["sched:sched_process_exec", "syscalls:sys_enter_execve"]),
    ("bprm_execve", &["sched:sched_process_exec"]),
    ("do_exit", &["sched:sched_process_exit"]),
    ("do_group_exit", &["sched:sched_process_exit"]),
    ("kernel_clone", &["sched:sched_process_fork"]),
    ("_do_fork", &["sched:sched_process_fork"]),
    ("wake_up_new_task", &["sched:sched_wakeup_new"]),
    ("do_nanosleep", &["syscalls:sys_enter_clock_nanosleep", "syscalls:sys_enter_nanosleep"]),
    ("hrtimer_nanosleep", &["syscalls:sys_enter_clock_nanosleep"]),
    ("schedule", &["sched:sched_switch"]),
    ("__schedule", &["sched:sched_switch"]),
    ("finish_task_switch", &["sched:sched_switch"]),
    ("try_to_wake_up", &["sched:sched_wakeup"]),
    ("ttwu_do_wakeup", &["sched:sched_wakeup"]),
    ("ttwu_do_activate", &["sched:sched_wakeup"]),
    ("set_task_cpu", &["sched:sched_migrate_task"]),
    ("cap_capable", &["capability:cap_capable"]),
    ("oom_kill_process", &["oom:mark_victim"]),
    ("out_of_memory", &["oom:mark_victim"]),
    ("kmem_cache_alloc", &["kmem:kmem_cache_alloc"]),
    ("kmem_cache_alloc_noprof", &["kmem:kmem_cache_alloc"]),
    ("kmem_cache_free", &["kmem:kmem_cache_free"]),
    ("__kmalloc", &["kmem:kmalloc"]),
    ("__kmalloc_noprof", &["kmem:kmalloc"]),
    ("kfree", &["kmem:kfree"]),
    ("__alloc_pages", &["kmem:mm_page_alloc"]),
    ("handle_mm_fault", &["exceptions:page_fault_user"]),
    ("do_user_addr_fault", &["exceptions:page_fault_user"]),
    ("swap_readpage", &["exceptions:page_fault_user"]),
    ("try_to_free_pages", &["vmscan:mm_vmscan_direct_reclaim_begin"]),
    ("shrink_node", &["vmscan:mm_vmscan_direct_reclaim_begin"]),
    ("filemap_add_folio", &["filemap:mm_filemap_add_to_page_cache"]),
    ("add_to_page_cache_lru", &["filemap:mm_filemap_add_to_page_cache"]),
    ("folio_mark_accessed", &["filemap:mm_filemap_get_pages"]),
    ("mark_page_accessed", &["filemap:mm_filemap_get_pages"]),
    ("blk_account_io_start", &["block:block_io_start", "block:block_rq_issue"]),
    ("__blk_account_io_start", &["block:block_io_start", "block:block_rq_issue"]),
    ("blk_account_io_done", &["block:block_io_done", "block:block_rq_complete"]),
    ("__blk_account_io_done", &["block:block_io_done", "block:block_rq_complete"]),
    ("blk_mq_start_request", &["block:block_rq_issue"]),
    ("blk_mq_end_request", &["block:block_rq_complete"]),
    ("submit_bio", &["block:block_bio_queue"]),
    ("submit_bio_noacct", &["block:block_bio_queue"]),
    ("tcp_connect", &["sock:inet_sock_set_state"]),
    ("tcp_v4_connect", &["sock:inet_sock_set_state"]),
    ("tcp_v6_connect", &["sock:inet_sock_set_state"]),
    ("tcp_set_state", &["sock:inet_sock_set_state"]),
    ("inet_csk_accept", &["sock:inet_sock_set_state"]),
    ("tcp_close", &["sock:inet_sock_set_state"]),
    ("tcp_retransmit_skb", &["tcp:tcp_retransmit_skb"]),
    ("tcp_drop", &["skb:kfree_skb"]),
    ("tcp_drop_reason", &["skb:kfree_skb"]),
    ("kfree_skb", &["skb:kfree_skb"]),
    ("kfree_skb_reason", &["skb:kfree_skb"]),
    ("kfree_skb_list_reason", &["skb:kfree_skb"]),
    ("sk_skb_reason_drop", &["skb:kfree_skb"]),
    ("consume_skb", &["skb:consume_skb"]),
    ("tcp_rcv_established", &["tcp:tcp_probe"]),
    ("tcp_v4_do_rcv", &["tcp:tcp_probe"]),
    ("tcp_sendmsg", &["sock:sock_send_length"]),
    ("tcp_recvmsg", &["sock:sock_recv_length"]),
    ("tcp_cleanup_rbuf", &["sock:sock_recv_length"]),
    ("udp_sendmsg", &["sock:sock_send_length"]),
    ("udp_recvmsg", &["sock:sock_recv_length"]),
    ("tcp_send_active_reset", &["tcp:tcp_send_reset"]),
    ("tcp_v4_send_reset", &["tcp:tcp_send_reset"]),
    ("tcp_reset", &["tcp:tcp_receive_reset"]),
    ("dev_queue_xmit", &["net:net_dev_queue"]),
    ("__dev_queue_xmit", &["net:net_dev_queue"]),
    ("dev_hard_start_xmit", &["net:net_dev_start_xmit"]),
    ("netif_receive_skb", &["net:netif_receive_skb"]),
    ("__netif_receive_skb_core", &["net:netif_receive_skb"]),
    ("napi_gro_receive", &["net:napi_gro_receive_entry"]),
    ("napi_poll", &["napi:napi_poll"]),
    ("security_socket_bind", &["syscalls:sys_enter_bind"]),
    ("inet_bind", &["syscalls:sys_enter_bind"]),
    ("inet_listen", &["syscalls:sys_enter_listen"]),
    ("mutex_lock", &["lock:contention_begin"]),
    ("__mutex_lock_slowpath", &["lock:contention_begin"]),
    ("mutex_unlock", &["lock:contention_end"]),
    ("down_read", &["lock:contention_begin"]),
    ("down_write", &["lock:contention_begin"]),
    ("do_futex", &["syscalls:sys_enter_futex"]),
    ("send_signal_locked", &["signal:signal_generate"]),
    ("__send_signal_locked", &["signal:signal_generate"]),
    ("do_IRQ", &["irq:irq_handler_entry"]),
    ("common_interrupt", &["irq:irq_handler_entry"]),
    ("__common_interrupt", &["irq:irq_handler_entry"]),
    ("handle_irq_event", &["irq:irq_handler_entry"]),
    ("kmalloc", &["kmem:kmalloc"]),
    ("get_signal", &["signal:signal_deliver"]),
    ("do_send_sig_info", &["signal:signal_generate"]),
    ("__do_softirq", &["irq:softirq_entry"]),
    ("handle_softirqs", &["irq:softirq_entry"]),
    ("handle_irq_event_percpu", &["irq:irq_handler_entry"]),
    ("__handle_irq_event_percpu", &["irq:irq_handler_entry"]),
    ("process_one_work", &["workqueue:workqueue_execute_start"]),
    ("__queue_work", &["workqueue:workqueue_queue_work"]),
    ("call_timer_fn", &["timer:timer_expire_entry"]),
    ("__hrtimer_run_queues", &["timer:hrtimer_expire_entry"]),
    ("do_mount", &["syscalls:sys_enter_mount"]),
    ("path_mount", &["syscalls:sys_enter_mount"]),
    ("ksys_sync", &["syscalls:sys_enter_sync"]),
    ("do_init_module", &["module:module_load"]),
    ("cgroup_attach_task", &["cgroup:cgroup_attach_task"]),
    ("wb_writeback", &["writeback:writeback_start"]),
    ("ext4_file_write_iter", &["ext4:ext4_da_write_begin"]),
    ("ext4_sync_file", &["ext4:ext4_sync_file_enter"]),
    ("xfs_file_fsync", &["xfs:xfs_file_fsync"]),
    ("xfs_file_buffered_write", &["xfs:xfs_file_buffered_write"]),
    ("btrfs_sync_file", &["btrfs:btrfs_sync_file"]),
];

/// What a function of other kernels may be called in this one, the likeliest first.
pub(crate) fn renamed(name: &str) -> impl Iterator<Item = &'static str> {
    RENAMED.iter().filter(move |(old, _)| *old == name).flat_map(|(_, others)| others.iter().copied())
}

/// What is called instead of a function that is hardly ever called, and why.
pub fn seldom_called(name: &str) -> Option<(&'static str, &'static str)> {
    let found = SELDOM.iter().find(|(function, ..)| *function == name);
    found.map(|(_, instead, why)| (*instead, *why))
}

/// Where a name is that no kernel has among its functions, in words.
pub fn elsewhere(name: &str) -> Option<&'static str> {
    ELSEWHERE.iter().find(|(known, _)| *known == name).map(|(_, words)| *words)
}

/// Names that an old name may have in this kernel, by the tables alone: other kernels' names of the same function, and the
/// names that functions of system calls have had.
pub fn other_names(name: &str) -> Vec<String> {
    let call = CALLS.iter().find_map(|prefix| name.strip_prefix(prefix));
    let calls = call.into_iter().flat_map(|call| CALLS.iter().map(move |prefix| format!("{prefix}{call}")));
    renamed(name).map(str::to_owned).chain(calls.filter(|other| other != name)).collect()
}

/// The tracepoint that tells about the same as a function, or as its return, of those that `exists` knows.
pub fn tracepoint_for(function: &str, exit: bool, exists: impl Fn(&str) -> bool) -> Option<String> {
    let leaving = |name: &str| match name.strip_prefix("syscalls:sys_enter_") {
        Some(rest) if exit => format!("syscalls:sys_exit_{rest}"),
        _ => name.to_owned(),
    };
    let known = TRACEPOINTS.iter().find(|(known, _)| *known == function);
    let known = known.into_iter().flat_map(|(_, names)| names.iter().map(|name| leaving(name)));
    let way = if exit { "exit" } else { "enter" };
    let calls = CALLS.iter().filter_map(|prefix| function.strip_prefix(prefix));
    known.chain(calls.map(|call| format!("syscalls:sys_{way}_{call}"))).find(|name| exists(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_that_the_seeds_name_leads_somewhere() {
        let any = |_: &str| true;
        for name in
            ["do_sys_open", "do_IRQ", "do_execve", "schedule", "clear_huge_page", "sys_read", "malloc", "dtmalloc"]
        {
            let led = seldom_called(name).is_some()
                || elsewhere(name).is_some()
                || !other_names(name).is_empty()
                || tracepoint_for(name, false, any).is_some();
            assert!(led, "{name}");
        }
        assert_eq!(tracepoint_for("vfs_read", true, any).as_deref(), Some("syscalls:sys_exit_read"));
        assert_eq!(tracepoint_for("sys_read", false, any).as_deref(), Some("syscalls:sys_enter_read"));
        assert_eq!(tracepoint_for("do_IRQ", false, any).as_deref(), Some("irq:irq_handler_entry"));
        assert_eq!(tracepoint_for("vfs_read", false, |_| false), None);
        assert!(other_names("sys_read").contains(&"__x64_sys_read".to_owned()));
        assert!(other_names("vfs_read").is_empty());
    }
}
