//! The kernel's lists: what hangs on which head, by which member. C does not tell; this table does, and each row is held
//! against the types at hand, so that one which they do not have is not offered.
//!
//! ```
//! use bathyscope_catalog::{lists::list_steps, types::{TypeKind, Types}};
//!
//! // Without the kernel's types no list is known.
//! let types = Types::built_in();
//! let task = types.find(TypeKind::Struct, "task_struct");
//! assert!(task.is_none_or(|task| list_steps(&types, task, "children").is_empty()));
//! ```

use crate::types::{CType, TypeId, TypeKind, Types};

/// A list of the kernel: a head in one struct, and what hangs on it by a member of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelList {
    /// The struct that has the head; empty if that is a variable of the kernel.
    pub owner: &'static str,
    /// The member that is the head: `children`, `active.rb_root`.
    pub head: &'static str,
    /// The struct of the entries.
    pub entry: &'static str,
    /// The member by which an entry hangs on the list.
    pub link: &'static str,
    /// How one gets from an entry to the owner: `real_parent`, `mnt.mnt_sb`; empty if not at all.
    pub up: &'static str,
}

/// Where a list ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListEnd {
    /// With a null pointer.
    Null,
    /// With an odd number in place of a pointer.
    Odd,
    /// With the pointer back to the member that is looked at, which is the head.
    This,
    /// With the pointer back to the head, which an entry leads to: `real_parent->children`.
    Head(String),
    /// Nowhere: it is a ring of entries.
    Ring,
    /// With the pointer back to the head, to which nothing leads.
    Unknown,
}

/// A step from a head or an entry to an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListStep {
    /// What is reached: `first entry`, `next entry`.
    pub name: &'static str,
    /// The pointer to its link, as a path from the member that is looked at: `next`, `rb_root.rb_node`.
    pub pointer: &'static str,
    /// When there is no such entry.
    pub end: ListEnd,
    /// The struct of the entry.
    pub entry: TypeId,
    /// Its name.
    pub entry_name: &'static str,
    /// The member of it that the pointer points to.
    pub link: &'static str,
}

const fn list(
    owner: &'static str,
    head: &'static str,
    entry: &'static str,
    link: &'static str,
    up: &'static str,
) -> KernelList {
    KernelList { owner, head, entry, link, up }
}

/// Entries that follow each other, with a head that is a variable of the kernel.
const fn global(entry: &'static str, link: &'static str) -> KernelList {
    list("", "", entry, link, "")
}

/// Entries in a ring, the head being in one of them.
const fn ring(entry: &'static str, link: &'static str) -> KernelList {
    list("", "ring", entry, link, "")
}

/// The lists that are known. Where kernels differ, each has its row.
#[rustfmt::skip]
pub static KERNEL_LISTS: &[KernelList] = &[
    // Threads and processes.
    list("task_struct", "children", "task_struct", "sibling", "real_parent"),
    list("task_struct", "ptraced", "task_struct", "ptrace_entry", "parent"),
    list("signal_struct", "thread_head", "task_struct", "thread_node", "signal"),
    ring("task_struct", "tasks"),
    ring("task_struct", "thread_group"),
    list("css_set", "tasks", "task_struct", "cg_list", "cgroups"),
    list("rq", "cfs_tasks", "task_struct", "se.group_node", ""),
    list("cfs_rq", "tasks_timeline", "sched_entity", "run_node", ""),
    list("sigpending", "list", "sigqueue", "list", ""),
    list("signal_struct", "posix_timers", "k_itimer", "list", "it_signal"),
    list("task_struct", "pi_state_list", "futex_pi_state", "list", "owner"),
    list("task_struct", "perf_event_list", "perf_event", "owner_entry", "owner"),
    list("io_context", "icq_list", "io_cq", "ioc_node", "ioc"),
    list("user_struct", "uidhash_node", "user_struct", "uidhash_node", ""),
    // Control groups.
    list("cgroup_subsys_state", "children", "cgroup_subsys_state", "sibling", "parent"),
    list("cgroup", "cset_links", "cgrp_cset_link", "cset_link", "cgrp"),
    list("css_set", "cgrp_links", "cgrp_cset_link", "cgrp_link", "cset"),
    list("blkcg", "blkg_list", "blkcg_gq", "blkcg_node", "blkcg"),
    // Waiting.
    list("wait_queue_head", "head", "wait_queue_entry", "entry", ""),
    list("swait_queue_head", "task_list", "swait_queue", "task_list", ""),
    list("mutex", "wait_list", "mutex_waiter", "list", ""),
    list("rw_semaphore", "wait_list", "rwsem_waiter", "list", ""),
    list("semaphore", "wait_list", "semaphore_waiter", "list", ""),
    list("rt_mutex_base", "waiters", "rt_mutex_waiter", "tree.entry", "lock"),
    list("rt_mutex_base", "waiters", "rt_mutex_waiter", "tree_entry", "lock"),
    list("task_struct", "pi_waiters", "rt_mutex_waiter", "pi_tree.entry", ""),
    list("task_struct", "pi_waiters", "rt_mutex_waiter", "pi_tree_entry", ""),
    // Work and timers.
    list("worker_pool", "worklist", "work_struct", "entry", ""),
    list("worker_pool", "idle_list", "worker", "entry", "pool"),
    list("worker_pool", "workers", "worker", "node", "pool"),
    list("worker", "scheduled", "work_struct", "entry", ""),
    list("workqueue_struct", "pwqs", "pool_workqueue", "pwqs_node", "wq"),
    list("pool_workqueue", "inactive_works", "work_struct", "entry", ""),
    list("timer_list", "entry", "timer_list", "entry", ""),
    list("hrtimer_clock_base", "active.rb_root", "hrtimer", "node.node", "base"),
    // Files and file systems.
    list("super_block", "s_inodes", "inode", "i_sb_list", "i_sb"),
    list("super_block", "s_inodes_wb", "inode", "i_wb_list", "i_sb"),
    list("super_block", "s_mounts", "mount", "mnt_instance", "mnt.mnt_sb"),
    list("file_system_type", "fs_supers", "super_block", "s_instances", "s_type"),
    global("super_block", "s_list"),
    list("dentry", "d_subdirs", "dentry", "d_child", "d_parent"),
    list("dentry", "d_children", "dentry", "d_sib", "d_parent"),
    list("inode", "i_dentry", "dentry", "d_u.d_alias", "d_inode"),
    list("bdi_writeback", "b_dirty", "inode", "i_io_list", ""),
    list("bdi_writeback", "b_io", "inode", "i_io_list", ""),
    list("bdi_writeback", "b_more_io", "inode", "i_io_list", ""),
    list("bdi_writeback", "b_dirty_time", "inode", "i_io_list", ""),
    list("backing_dev_info", "wb_list", "bdi_writeback", "bdi_node", "bdi"),
    list("file_lock_context", "flc_flock", "file_lock", "fl_list", ""),
    list("file_lock_context", "flc_flock", "file_lock", "c.flc_list", ""),
    list("file_lock_context", "flc_posix", "file_lock", "fl_list", ""),
    list("file_lock_context", "flc_posix", "file_lock", "c.flc_list", ""),
    list("file_lock_context", "flc_lease", "file_lock", "fl_list", ""),
    list("file_lock_context", "flc_lease", "file_lease", "c.flc_list", ""),
    list("mount", "mnt_mounts", "mount", "mnt_child", "mnt_parent"),
    list("mnt_namespace", "list", "mount", "mnt_list", "mnt_ns"),
    list("mnt_namespace", "mounts", "mount", "mnt_node", "mnt_ns"),
    list("eventpoll", "rbr", "epitem", "rbn", "ep"),
    list("eventpoll", "rdllist", "epitem", "rdllink", "ep"),
    list("ext4_sb_info", "s_orphan", "ext4_inode_info", "i_orphan", ""),
    list("transaction_s", "t_inode_list", "jbd2_inode", "i_list", ""),
    // Disks.
    list("request_queue", "requeue_list", "request", "queuelist", "q"),
    list("blk_mq_hw_ctx", "dispatch", "request", "queuelist", "mq_hctx"),
    list("request_queue", "icq_list", "io_cq", "q_node", "q"),
    list("request_queue", "blkg_list", "blkcg_gq", "q_node", "q"),
    list("Scsi_Host", "__devices", "scsi_device", "siblings", "host"),
    list("scsi_target", "devices", "scsi_device", "same_target_siblings", ""),
    // Memory.
    list("vm_area_struct", "anon_vma_chain", "anon_vma_chain", "same_vma", "vma"),
    list("anon_vma", "rb_root", "anon_vma_chain", "rb", "anon_vma"),
    list("address_space", "i_mmap", "vm_area_struct", "shared.rb", ""),
    ring("mm_struct", "mmlist"),
    global("vmap_area", "list"),
    global("kmem_cache", "list"),
    list("kmem_cache_node", "partial", "slab", "slab_list", ""),
    // Network.
    list("net", "dev_base_head", "net_device", "dev_list", "nd_net.net"),
    global("net", "list"),
    list("net_device", "napi_list", "napi_struct", "dev_list", "dev"),
    list("net_device", "adj_list.upper", "netdev_adjacent", "list", ""),
    list("net_device", "adj_list.lower", "netdev_adjacent", "list", ""),
    list("napi_struct", "rx_list", "sk_buff", "list", ""),
    list("inet6_dev", "addr_list", "inet6_ifaddr", "if_list", "idev"),
    list("inet_ehash_bucket", "chain", "sock", "__sk_common.skc_nulls_node", ""),
    list("inet_listen_hashbucket", "nulls_head", "sock", "__sk_common.skc_nulls_node", ""),
    list("udp_hslot", "head", "sock", "__sk_common.skc_node", ""),
    list("inet_bind_hashbucket", "chain", "inet_bind_bucket", "node", ""),
    list("inet_bind_bucket", "owners", "sock", "__sk_common.skc_bind_node", ""),
    list("sock", "tcp_rtx_queue", "sk_buff", "rbnode", ""),
    list("tcp_sock", "out_of_order_queue", "sk_buff", "rbnode", ""),
    list("tcp_sock", "tsorted_sent_queue", "sk_buff", "tcp_tsorted_anchor", ""),
    // Modules, devices and what describes them.
    global("module", "list"),
    list("module", "source_list", "module_use", "source_list", "target"),
    list("module", "target_list", "module_use", "target_list", "source"),
    list("kset", "list", "kobject", "entry", "kset"),
    list("klist", "k_list", "klist_node", "n_node", ""),
    list("device", "devres_head", "devres_node", "entry", ""),
    list("device", "links.consumers", "device_link", "s_node", "supplier"),
    list("device", "links.suppliers", "device_link", "c_node", "consumer"),
    list("input_dev", "h_list", "input_handle", "d_node", "dev"),
    list("pci_bus", "devices", "pci_dev", "bus_list", "bus"),
    list("pci_bus", "children", "pci_bus", "node", "parent"),
    // Tracing.
    list("perf_event_context", "event_list", "perf_event", "event_entry", "ctx"),
    list("perf_event", "sibling_list", "perf_event", "sibling_list", "group_leader"),
    list("perf_event", "child_list", "perf_event", "child_list", "parent"),
    list("trace_array", "events", "trace_event_file", "list", "tr"),
    list("trace_array", "systems", "trace_subsystem_dir", "list", "tr"),
    global("trace_array", "list"),
];

/// How lists are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// A ring of `list_head`s, one of which is the head.
    Ring,
    /// A chain of `hlist_node`s.
    Chain,
    /// One of `hlist_nulls_node`s.
    Nulls,
    /// One of `llist_node`s.
    Lockless,
    /// A tree of `rb_node`s.
    Tree,
    /// One whose first entry is kept.
    CachedTree,
}

/// What begins a list, what hangs on it, and what it is.
const SHAPES: [(&str, &str, Shape); 6] = [
    ("list_head", "list_head", Shape::Ring),
    ("hlist_head", "hlist_node", Shape::Chain),
    ("hlist_nulls_head", "hlist_nulls_node", Shape::Nulls),
    ("llist_head", "llist_node", Shape::Lockless),
    ("rb_root", "rb_node", Shape::Tree),
    ("rb_root_cached", "rb_node", Shape::CachedTree),
];

impl Shape {
    /// The steps from a head: their names and pointers.
    fn head_steps(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Ring => &[("first entry", "next"), ("last entry", "prev")],
            Self::Chain | Self::Nulls | Self::Lockless => &[("first entry", "first")],
            Self::Tree => &[("top entry", "rb_node")],
            Self::CachedTree => &[("first entry", "rb_leftmost"), ("top entry", "rb_root.rb_node")],
        }
    }

    /// Those from the link of an entry.
    fn link_steps(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Ring => &[("next entry", "next"), ("previous entry", "prev")],
            Self::Chain | Self::Nulls | Self::Lockless => &[("next entry", "next")],
            Self::Tree | Self::CachedTree => &[("left entry", "rb_left"), ("right entry", "rb_right")],
        }
    }

    /// When there is no entry behind a pointer, if `ring` is so of rings.
    fn end(self, ring: impl FnOnce() -> ListEnd) -> ListEnd {
        match self {
            Self::Ring => ring(),
            Self::Nulls => ListEnd::Odd,
            Self::Chain | Self::Lockless | Self::Tree | Self::CachedTree => ListEnd::Null,
        }
    }
}

/// The name of the struct that a type is; empty if it is none that the kernel describes.
fn kernel_struct(types: &Types, id: TypeId) -> &str {
    let id = types.strip(id).id;
    match types.get(id) {
        CType::Record(record) if !record.union && types.btf_id(id).is_some() => record.name,
        _ => "",
    }
}

/// The struct that a member is, by its path: `list_head`.
fn member_struct<'a>(types: &'a Types, owner: TypeId, path: &str) -> &'a str {
    types.field_path(owner, path).filter(|it| it.bits.is_none()).map_or("", |it| kernel_struct(types, it.ty))
}

/// The shape of a list and the struct of its entries, as far as these types have them.
fn held(types: &Types, row: &KernelList) -> Option<(Shape, TypeId)> {
    let entry = types.find(TypeKind::Struct, row.entry).filter(|id| kernel_struct(types, *id) == row.entry)?;
    let link = member_struct(types, entry, row.link);
    let head = match row.owner {
        "" => None,
        owner => Some(member_struct(types, types.find(TypeKind::Struct, owner)?, row.head)),
    };
    // A row may be about links alone: its head is no member, or is one itself.
    let fits = |(of_head, of_link, _): &&(&str, &str, Shape)| {
        *of_link == link && head.is_none_or(|head| head == *of_head || (is_link_alone(row) && head == link))
    };
    let (.., shape) = SHAPES.iter().find(fits)?;
    Some((*shape, entry))
}

/// Whether a row says only what follows an entry.
fn is_link_alone(row: &KernelList) -> bool {
    row.owner == row.entry && row.head == row.link && row.up.is_empty()
}

/// Where a ring ends, seen from an entry.
fn ring_end(types: &Types, row: &KernelList, entry: TypeId) -> ListEnd {
    if row.owner.is_empty() {
        return if row.head == "ring" { ListEnd::Ring } else { ListEnd::Unknown };
    }
    let leads = || {
        let to = types.pointer(types.field_path(entry, row.up)?.ty)?.to;
        (kernel_struct(types, to) == row.owner).then_some(())
    };
    match row.up {
        "" => ListEnd::Unknown,
        up => leads().map_or(ListEnd::Unknown, |()| ListEnd::Head(format!("{up}->{}", row.head))),
    }
}

/// The entries to which a member leads, which is the head of a list or by which something hangs on one. `owner` is the struct
/// that the member is in, and `path` its name, or names with dots between them where it is in a struct within.
pub fn list_steps(types: &Types, owner: TypeId, path: &str) -> Vec<ListStep> {
    let name = kernel_struct(types, owner);
    let mut steps: Vec<ListStep> = Vec::new();
    if name.is_empty() {
        return steps;
    }
    for row in KERNEL_LISTS {
        let is_head = row.owner == name && row.head == path && !is_link_alone(row);
        let is_link = row.entry == name && row.link == path;
        if !is_head && !is_link {
            continue;
        }
        let Some((shape, entry)) = held(types, row) else { continue };
        let mut add = |(name, pointer): (&'static str, &'static str), end: ListEnd| {
            let step = ListStep { name, pointer, end, entry, entry_name: row.entry, link: row.link };
            // Several lists may have their entries hang by one member.
            match steps.iter_mut().find(|it| it.name == name && it.entry == entry && it.link == row.link) {
                Some(known) if known.end != step.end => known.end = ListEnd::Unknown,
                Some(_) => {}
                None => steps.push(step),
            }
        };
        if is_head {
            shape.head_steps().iter().for_each(|step| add(*step, shape.end(|| ListEnd::This)));
        }
        if is_link {
            shape.link_steps().iter().for_each(|step| add(*step, shape.end(|| ring_end(types, row, entry))));
        }
    }
    steps
}

/// The rows of the table that these types have.
pub fn known_lists(types: &Types) -> impl Iterator<Item = &'static KernelList> {
    KERNEL_LISTS.iter().filter(|row| held(types, row).is_some())
}
