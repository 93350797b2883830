//! Tracepoints that tell about the same as a kernel function, for kernels on which functions cannot be probed.

use crate::lang::host::Host;

/// Functions, and the tracepoints nearest to them, the best first.
const KNOWN: &[(&str, &[&str])] = &[
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

/// What begins the names of functions that do a system call's work, by architecture.
const SYSCALL_PREFIXES: [&str; 6] = ["__x64_sys_", "__arm64_sys_", "__se_sys_", "__do_sys_", "ksys_", "sys_"];

/// The tracepoint of this host that is nearest to a kernel function.
pub(super) fn alternative(host: &dyn Host, function: &str, exit: bool) -> Option<String> {
    let all = host.tracepoints();
    let exists = |name: &str| all.binary_search_by(|it| it.as_str().cmp(name)).is_ok();
    let leaving = |name: &str| match name.strip_prefix("syscalls:sys_enter_") {
        Some(rest) if exit => format!("syscalls:sys_exit_{rest}"),
        _ => name.to_owned(),
    };
    if let Some((_, names)) = KNOWN.iter().find(|(known, _)| *known == function) {
        let found = names.iter().map(|name| leaving(name)).find(|name| exists(name));
        if found.is_some() {
            return found;
        }
    }
    for prefix in SYSCALL_PREFIXES {
        if let Some(call) = function.strip_prefix(prefix) {
            let name = format!("syscalls:sys_{}_{call}", if exit { "exit" } else { "enter" });
            if exists(&name) {
                return Some(name);
            }
        }
    }
    // Subsystems often name a tracepoint after the function that has it.
    let base = function.trim_start_matches('_');
    let named = |name: &&String| name.split_once(':').is_some_and(|(_, event)| event == base);
    let begun = |name: &&String| {
        let event = name.split_once(':').map_or("", |(_, event)| event);
        base.len() >= 6 && event.starts_with(base) && event.as_bytes().get(base.len()) == Some(&b'_')
    };
    all.iter().find(named).or_else(|| all.iter().find(begun)).cloned()
}
