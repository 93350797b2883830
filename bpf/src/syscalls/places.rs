//! Where the kernel keeps what the programs read beside calls: found in its types, so another on each kernel.

use bathyscope_catalog::types::{TypeKind, Types};

/// Bytes from the beginning of a structure to a member.
pub(crate) fn place(types: &Types, structure: &str, member: &str) -> Option<u32> {
    let field = types.field_path(types.find(TypeKind::Struct, structure)?, member)?;
    u32::try_from(field.byte_offset()).ok()
}

/// What is read beside calls; what a kernel does not tell is not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelPlaces {
    /// What a new program was given.
    pub program: Option<ProgramPlaces>,
    /// What a descriptor is.
    pub file: Option<FilePlaces>,
    /// What a socket is and whom it talks to.
    pub socket: Option<SocketPlaces>,
    /// How long a thread has run.
    pub time: Option<TimePlaces>,
    /// What made a process.
    pub family: Option<FamilyPlaces>,
}

impl KernelPlaces {
    /// Looks them up.
    pub fn find(types: &Types) -> Self {
        Self {
            program: ProgramPlaces::find(types),
            file: FilePlaces::find(types),
            socket: SocketPlaces::find(types),
            time: TimePlaces::find(types),
            family: FamilyPlaces::find(types),
        }
    }
}

/// Where the kernel keeps what a program was given: its words, its environment and its name lie on its stack then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramPlaces {
    /// `task_struct.mm`.
    pub memory: u32,
    /// `mm_struct.start_stack`: the number of words, the words' addresses, 0, the environment's addresses, 0.
    pub stack: u32,
    /// `mm_struct.env_end`: the name that the program was executed by stands there.
    pub name: u32,
}

impl ProgramPlaces {
    fn find(types: &Types) -> Option<Self> {
        Some(Self {
            memory: place(types, "task_struct", "mm")?,
            stack: place(types, "mm_struct", "start_stack")?,
            name: place(types, "mm_struct", "env_end")?,
        })
    }
}

/// Where the kernel keeps what a descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePlaces {
    /// `task_struct.files`.
    pub files: u32,
    /// `files_struct.fdt`.
    pub table: u32,
    /// `fdtable.fd`.
    pub descriptors: u32,
    /// `file.f_inode`.
    pub inode: u32,
    /// `inode.i_ino`.
    pub number: u32,
}

impl FilePlaces {
    fn find(types: &Types) -> Option<Self> {
        Some(Self {
            files: place(types, "task_struct", "files")?,
            table: place(types, "files_struct", "fdt")?,
            descriptors: place(types, "fdtable", "fd")?,
            inode: place(types, "file", "f_inode")?,
            number: place(types, "inode", "i_ino")?,
        })
    }
}

/// Where the kernel keeps what a socket is and whom it talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketPlaces {
    /// `file.private_data`: the `struct socket`.
    pub private: u32,
    /// `socket.sk`.
    pub sock: u32,
    /// `socket.file`.
    pub file: u32,
    /// `sock.sk_socket`.
    pub socket: u32,
    /// `sock.__sk_common.skc_family`.
    pub family: u32,
    /// `sock.__sk_common.skc_num`, as the processor has numbers.
    pub own_port: u32,
    /// `sock.__sk_common.skc_dport`, as the network has numbers.
    pub other_port: u32,
    /// `sock.__sk_common.skc_rcv_saddr`.
    pub own_address: u32,
    /// `sock.__sk_common.skc_daddr`.
    pub other_address: u32,
    /// `sock.__sk_common.skc_v6_rcv_saddr`.
    pub own_address_6: u32,
    /// `sock.__sk_common.skc_v6_daddr`.
    pub other_address_6: u32,
    /// `unix_sock.peer`.
    pub peer: u32,
    /// `netlink_sock.portid`.
    pub netlink_port: u32,
}

impl SocketPlaces {
    fn find(types: &Types) -> Option<Self> {
        let common = |member: &str| place(types, "sock", &format!("__sk_common.{member}"));
        Some(Self {
            private: place(types, "file", "private_data")?,
            sock: place(types, "socket", "sk")?,
            file: place(types, "socket", "file")?,
            socket: place(types, "sock", "sk_socket")?,
            family: common("skc_family")?,
            own_port: common("skc_num")?,
            other_port: common("skc_dport")?,
            own_address: common("skc_rcv_saddr")?,
            other_address: common("skc_daddr")?,
            // A kernel without IPv6 has none.
            own_address_6: common("skc_v6_rcv_saddr").or_else(|| common("skc_rcv_saddr"))?,
            other_address_6: common("skc_v6_daddr").or_else(|| common("skc_daddr"))?,
            peer: place(types, "unix_sock", "peer")?,
            netlink_port: place(types, "netlink_sock", "portid")?,
        })
    }
}

/// Where the kernel keeps how long a thread has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimePlaces {
    /// `task_struct.se.sum_exec_runtime`: up to the last tick or switch.
    pub ran: u32,
    /// `task_struct.se.exec_start`: the moment of that.
    pub since: u32,
    /// `task_struct.nvcsw`: how often it has waited.
    pub waits: u32,
    /// `task_struct.nivcsw`: how often others were let run before it.
    pub preemptions: u32,
}

impl TimePlaces {
    fn find(types: &Types) -> Option<Self> {
        Some(Self {
            ran: place(types, "task_struct", "se.sum_exec_runtime")?,
            since: place(types, "task_struct", "se.exec_start")?,
            waits: place(types, "task_struct", "nvcsw")?,
            preemptions: place(types, "task_struct", "nivcsw")?,
        })
    }
}

/// Where the kernel keeps what made a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FamilyPlaces {
    /// `task_struct.real_parent`.
    pub parent: u32,
    /// `task_struct.tgid`.
    pub pid: u32,
    /// `task_struct.comm`.
    pub comm: u32,
}

impl FamilyPlaces {
    fn find(types: &Types) -> Option<Self> {
        Some(Self {
            parent: place(types, "task_struct", "real_parent")?,
            pid: place(types, "task_struct", "tgid")?,
            comm: place(types, "task_struct", "comm")?,
        })
    }
}
