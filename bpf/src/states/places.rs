//! Where the kernel keeps what is read of threads: found in its types, so another on each kernel.

use bathyscope_catalog::types::Types;

use crate::syscalls::place;

/// Bytes from the beginning of the kernel's structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatePlaces {
    /// `task_struct.pid`: the thread.
    pub tid: u32,
    /// `task_struct.tgid`: its process.
    pub pid: u32,
    /// `task_struct.exit_state`.
    pub exit_state: u32,
    /// `task_struct.thread_info.cpu`; a kernel for one CPU has none.
    pub cpu: Option<u32>,
    /// `task_struct.comm`.
    pub comm: u32,
    /// `task_struct.cred`, and in it `cred.uid`.
    pub user: Option<(u32, u32)>,
    /// What tells the control group of a thread.
    pub cgroup: Option<CgroupPlaces>,
}

/// What tells the control group of a thread, and those above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CgroupPlaces {
    /// `task_struct.cgroups`.
    pub set: u32,
    /// `css_set.dfl_cgrp`: the group of version 2.
    pub group: u32,
    /// `cgroup.level`.
    pub level: u32,
    /// `cgroup.ancestors`: addresses of groups by level, its own at the end.
    pub ancestors: u32,
    /// `cgroup.kn`.
    pub node: u32,
    /// `kernfs_node.id`.
    pub id: u32,
}

impl StatePlaces {
    /// Looks them up; none if something that always is needed is not there.
    pub fn find(types: &Types) -> Option<Self> {
        let task = |member: &str| place(types, "task_struct", member);
        Some(Self {
            tid: task("pid")?,
            pid: task("tgid")?,
            exit_state: task("exit_state")?,
            cpu: task("thread_info.cpu"),
            comm: task("comm")?,
            user: task("cred").zip(place(types, "cred", "uid")),
            cgroup: CgroupPlaces::find(types),
        })
    }
}

impl CgroupPlaces {
    fn find(types: &Types) -> Option<Self> {
        Some(Self {
            set: place(types, "task_struct", "cgroups")?,
            group: place(types, "css_set", "dfl_cgrp")?,
            level: place(types, "cgroup", "level")?,
            ancestors: place(types, "cgroup", "ancestors")?,
            node: place(types, "cgroup", "kn")?,
            id: place(types, "kernfs_node", "id")?,
        })
    }
}
