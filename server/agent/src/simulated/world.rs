//! The processes, functions and tracepoints of the simulated host, hostile names among them.

/// A made process.
#[derive(Clone, Copy, Debug)]
pub(super) struct MadeProcess {
    pub(super) pid: u32,
    pub(super) threads: &'static [u32],
    /// At most 15 bytes, as the kernel cuts it.
    pub(super) comm: &'static [u8],
    pub(super) path: &'static [u8],
    /// Whether its code was made at run time and is described by a perf map.
    pub(super) compiled_at_run_time: bool,
    /// Its control group.
    pub(super) group: &'static str,
}

impl MadeProcess {
    /// Its user.
    pub(super) fn uid(&self) -> u32 {
        if self.pid == 1 { 0 } else { 1000 }
    }
}

/// A container's id.
pub(super) const CONTAINER_ID: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";
/// What its runtime calls it.
pub(super) const CONTAINER_NAME: &str = "orders-db";
/// The image that it was made of.
pub(super) const CONTAINER_IMAGE: &str = "nginx:1.27";

/// The process that ends by itself soon after a capture of it was enabled.
pub(super) const SHORT_LIVED_PID: u32 = 1644;
/// The process that a command target becomes.
pub(super) const COMMAND_PID: u32 = 2001;
/// Whose that is, if nobody is chosen.
pub(super) const COMMAND_USER: &str = "user";
/// The process that is forked during a profile, and what forks it.
pub(super) const FORKED_PID: u32 = 1999;

pub(super) const PROCESSES: [MadeProcess; 7] = [
    MadeProcess {
        pid: 1,
        threads: &[1],
        comm: b"init",
        path: b"/usr/sbin/init",
        compiled_at_run_time: false,
        group: "/init.scope",
    },
    MadeProcess {
        pid: 1201,
        threads: &[1201, 1202, 1203],
        comm: b"webserver",
        path: b"/usr/bin/webserver",
        compiled_at_run_time: false,
        group: "/system.slice/webserver.service",
    },
    MadeProcess {
        pid: 1310,
        threads: &[1310, 1311],
        comm: b"database",
        path: b"/usr/lib/database/bin/database",
        compiled_at_run_time: false,
        group: "/system.slice/docker-0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0.scope",
    },
    MadeProcess {
        pid: 1422,
        threads: &[1422],
        comm: b"<img src=x oner",
        path: b"/tmp/</script><svg onload=alert(1)>",
        compiled_at_run_time: false,
        group: "/user.slice/user-1000.slice",
    },
    MadeProcess {
        pid: 1533,
        threads: &[1533, 1534],
        comm: b"java",
        path: b"/usr/lib/jvm/bin/java",
        compiled_at_run_time: true,
        group: "/system.slice/java.service",
    },
    MadeProcess {
        pid: SHORT_LIVED_PID,
        threads: &[SHORT_LIVED_PID],
        comm: b"\x1b[2K\xe2\x80\xaecod\xff",
        path: b"/opt/a b;c\nd",
        compiled_at_run_time: false,
        group: "/user.slice/user-1000.slice",
    },
    MadeProcess {
        pid: COMMAND_PID,
        threads: &[COMMAND_PID],
        comm: b"command",
        path: b"/usr/bin/command",
        compiled_at_run_time: false,
        group: "/user.slice/user-1000.slice",
    },
];

/// Functions of every simulated program, in the order of their code.
pub(super) const FUNCTIONS: [&str; 10] = [
    "main",
    "event_loop",
    "handle_request",
    "parse_headers",
    "render_page",
    "query",
    "compress",
    "_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE",
    "<img src=x onerror=alert(1)>",
    "operator;semi colon",
];

/// Functions of the simulated kernel, in the order of their code.
pub(super) const KERNEL_FUNCTIONS: [&str; 11] = [
    "_text",
    "entry_SYSCALL_64_after_hwframe",
    "do_syscall_64",
    "ksys_read",
    "vfs_read",
    "ksys_write",
    "vfs_write",
    "copy_user_generic",
    "schedule",
    "common_interrupt",
    "handle_irq_event",
];

/// Bytes of code of each function.
pub(super) const FUNCTION_BYTES: u64 = 0x100;
/// Where a simulated program's code is mapped, and its offset in the file.
pub(super) const CODE_ADDRESS: u64 = 0x5555_5555_6000;
/// Offset of the code in the file.
pub(super) const CODE_OFFSET: u64 = 0x1000;
/// Bytes of the mapping.
pub(super) const CODE_BYTES: u64 = 0x1000;
/// Where each has its heap.
pub(super) const HEAP_ADDRESS: u64 = 0x5555_5557_0000;
/// Bytes of a heap.
pub(super) const HEAP_BYTES: u64 = 0x1_0000;
/// Where code that was made at run time is.
pub(super) const COMPILED_ADDRESS: u64 = 0x7f00_1234_0000;
/// Where the kernel's code is.
pub(super) const KERNEL_ADDRESS: u64 = 0xffff_ffff_8100_0000;

/// The build id of a simulated program, made of its process id.
pub(super) fn build_id(pid: u32) -> [u8; 20] {
    let mut id = [0xb5; 20];
    for (to, from) in id.iter_mut().zip(pid.to_le_bytes()) {
        *to = from;
    }
    id
}

/// Paths of control groups after `after`, ascending, of at most `bytes` bytes, and whether there are more.
pub(super) fn groups(after: &str, bytes: usize) -> (Vec<String>, bool) {
    let parents = PROCESSES.iter().flat_map(|process| {
        let ends = process.group.match_indices('/').map(|(at, _)| at).chain([process.group.len()]);
        ends.map(|end| if end == 0 { "/" } else { process.group.get(..end).unwrap_or("/") })
    });
    let all: std::collections::BTreeSet<&str> = parents.filter(|path| *path > after).collect();
    let mut left = bytes;
    let fits = |path: &&&str| left.checked_sub(path.len()).map(|rest| left = rest).is_some();
    let page: Vec<String> = all.iter().take_while(fits).map(|path| (*path).to_owned()).collect();
    let more = page.len() < all.len();
    (page, more)
}

/// The process with this id.
pub(super) fn process(pid: u32) -> Option<&'static MadeProcess> {
    PROCESSES.iter().find(|process| process.pid == pid)
}

/// The process that a thread belongs to.
pub(super) fn process_of(tid: u32) -> Option<&'static MadeProcess> {
    PROCESSES.iter().find(|process| process.threads.contains(&tid))
}

/// Numbers that are decided by a seed and a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draw(u64);

impl Draw {
    /// The numbers of event `index` of stream `stream`.
    pub(super) fn of(seed: u64, stream: u64, index: u64) -> Self {
        Self(mix(mix(mix(seed) ^ stream) ^ index))
    }

    /// One of its numbers.
    pub(super) fn number(self, which: u64) -> u64 {
        mix(self.0 ^ which.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// One of its numbers, below `limit`.
    pub(super) fn below(self, which: u64, limit: u64) -> u64 {
        self.number(which) % limit.max(1)
    }

    /// One of `all`.
    pub(super) fn one_of<T: Copy>(self, which: u64, all: &[T]) -> Option<T> {
        all.get(self.below(which, all.len() as u64) as usize).copied()
    }
}

/// The finalizer of splitmix64: every bit of the result depends on every bit of the value.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The value of a made field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MadeValue {
    Unsigned(u64),
    Signed(i64),
    Text(Vec<u8>),
    /// Text at an address that cannot be read.
    Unreadable,
}

/// A field of a made tracepoint, as the kernel describes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct MadeField {
    pub(super) name: &'static str,
    pub(super) declaration: &'static str,
    pub(super) offset: u32,
    pub(super) size: u32,
    pub(super) signed: bool,
    /// Makes the value; the second number is the index in an array.
    pub(super) make: fn(Draw, u64) -> MadeValue,
}

/// A made tracepoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct MadeTracepoint {
    pub(super) system: &'static str,
    pub(super) name: &'static str,
    pub(super) fields: &'static [MadeField],
}

const PATHS: [&[u8]; 9] = [
    b"/etc/passwd",
    b"/usr/lib/x86_64-linux-gnu/libc.so.6",
    b"/proc/self/maps",
    b"/tmp/<img src=x onerror=alert(document.domain)>",
    b"/tmp/\"><svg onload=alert(1)>",
    b"/tmp/new\nline\ttab\x1b[2K\x1b]8;;http://x\x07",
    b"/tmp/\xe2\x80\xaetxt.exe",
    b"=cmd|'/c calc'!A1",
    b"/tmp/bytes-\xff\xfe\xc3",
];

fn comm(draw: Draw, _index: u64) -> MadeValue {
    let process = draw.one_of(11, &PROCESSES);
    MadeValue::Text(process.map_or_else(Vec::new, |process| process.comm.to_vec()))
}

fn pid(draw: Draw, _index: u64) -> MadeValue {
    MadeValue::Signed(draw.one_of(11, &PROCESSES).map_or(0, |process| i64::from(process.pid)))
}

fn priority(_draw: Draw, _index: u64) -> MadeValue {
    MadeValue::Signed(120)
}

fn path(draw: Draw, _index: u64) -> MadeValue {
    draw.one_of(12, &PATHS)
        .filter(|_| draw.below(13, 50) != 0)
        .map_or(MadeValue::Unreadable, |path| MadeValue::Text(path.to_vec()))
}

fn system_call(draw: Draw, _index: u64) -> MadeValue {
    MadeValue::Signed(draw.one_of(14, &[0, 1, 3, 9, 35, 202, 232, 257]).unwrap_or(0))
}

fn returned(draw: Draw, _index: u64) -> MadeValue {
    MadeValue::Signed(if draw.below(15, 10) == 0 { -2 } else { draw.below(16, 4096).cast_signed() })
}

const COMM: MadeField =
    MadeField { name: "comm", declaration: "char comm[16]", offset: 8, size: 16, signed: false, make: comm };
const CALL: MadeField =
    MadeField { name: "id", declaration: "long id", offset: 8, size: 8, signed: true, make: system_call };

const fn number(
    name: &'static str,
    declaration: &'static str,
    [offset, size]: [u32; 2],
    signed: bool,
    make: fn(Draw, u64) -> MadeValue,
) -> MadeField {
    MadeField { name, declaration, offset, size, signed, make }
}

pub(super) const TRACEPOINTS: [MadeTracepoint; 9] = [
    MadeTracepoint {
        system: "sched",
        name: "sched_switch",
        fields: &[
            MadeField {
                name: "prev_comm",
                declaration: "char prev_comm[16]",
                offset: 8,
                size: 16,
                signed: false,
                make: comm,
            },
            number("prev_pid", "pid_t prev_pid", [24, 4], true, pid),
            number("prev_prio", "int prev_prio", [28, 4], true, priority),
            number("prev_state", "long prev_state", [32, 8], true, |draw, _| {
                MadeValue::Signed(draw.one_of(17, &[0, 1, 2]).unwrap_or(0))
            }),
            MadeField {
                name: "next_comm",
                declaration: "char next_comm[16]",
                offset: 40,
                size: 16,
                signed: false,
                make: |draw, index| comm(Draw(draw.number(18)), index),
            },
            number("next_pid", "pid_t next_pid", [56, 4], true, |draw, index| pid(Draw(draw.number(18)), index)),
            number("next_prio", "int next_prio", [60, 4], true, priority),
        ],
    },
    MadeTracepoint {
        system: "sched",
        name: "sched_wakeup",
        fields: &[
            COMM,
            number("pid", "pid_t pid", [24, 4], true, pid),
            number("prio", "int prio", [28, 4], true, priority),
            number("target_cpu", "int target_cpu", [32, 4], true, |draw, _| {
                MadeValue::Signed(draw.below(19, 2).cast_signed())
            }),
        ],
    },
    MadeTracepoint {
        system: "sched",
        name: "sched_process_exec",
        fields: &[
            number("filename", "__data_loc char[] filename", [8, 4], false, path),
            number("pid", "pid_t pid", [12, 4], true, pid),
            number("old_pid", "pid_t old_pid", [16, 4], true, pid),
        ],
    },
    MadeTracepoint {
        system: "raw_syscalls",
        name: "sys_enter",
        fields: &[
            CALL,
            number("args", "unsigned long args[6]", [16, 48], false, |draw, index| {
                MadeValue::Unsigned(draw.number(20 + index))
            }),
        ],
    },
    MadeTracepoint {
        system: "raw_syscalls",
        name: "sys_exit",
        fields: &[CALL, number("ret", "long ret", [16, 8], true, returned)],
    },
    MadeTracepoint {
        system: "syscalls",
        name: "sys_enter_openat",
        fields: &[
            number("__syscall_nr", "int __syscall_nr", [8, 4], true, |_, _| MadeValue::Signed(257)),
            number("dfd", "int dfd", [16, 8], false, |_, _| MadeValue::Signed(-100)),
            number("filename", "const char * filename", [24, 8], false, path),
            number("flags", "int flags", [32, 8], false, |draw, _| {
                MadeValue::Signed(draw.one_of(21, &[0, 0x8_0000, 0x241]).unwrap_or(0))
            }),
            number("mode", "umode_t mode", [40, 8], false, |_, _| MadeValue::Unsigned(0o644)),
        ],
    },
    MadeTracepoint {
        system: "syscalls",
        name: "sys_exit_openat",
        fields: &[
            number("__syscall_nr", "int __syscall_nr", [8, 4], true, |_, _| MadeValue::Signed(257)),
            number("ret", "long ret", [16, 8], true, returned),
        ],
    },
    MadeTracepoint {
        system: "block",
        name: "block_rq_issue",
        fields: &[
            number("dev", "dev_t dev", [8, 4], false, |_, _| MadeValue::Unsigned(0x80_0010)),
            number("sector", "sector_t sector", [16, 8], false, |draw, _| MadeValue::Unsigned(draw.below(22, 1 << 40))),
            number("nr_sector", "unsigned int nr_sector", [24, 4], false, |draw, _| {
                MadeValue::Unsigned(8 << draw.below(23, 6))
            }),
            number("bytes", "unsigned int bytes", [28, 4], false, |draw, _| {
                MadeValue::Unsigned(4096 << draw.below(23, 6))
            }),
            MadeField {
                name: "rwbs",
                declaration: "char rwbs[10]",
                offset: 32,
                size: 10,
                signed: false,
                make: |draw, _| {
                    MadeValue::Text(draw.one_of(24, &[b"R".as_slice(), b"WS", b"RA"]).unwrap_or_default().to_vec())
                },
            },
            MadeField { offset: 42, ..COMM },
        ],
    },
    MadeTracepoint {
        system: "irq",
        name: "irq_handler_entry",
        fields: &[
            number("irq", "int irq", [8, 4], true, |draw, _| {
                MadeValue::Signed(draw.one_of(25, &[1, 24, 25]).unwrap_or(1))
            }),
            number("name", "__data_loc char[] name", [12, 4], false, |draw, _| {
                MadeValue::Text(
                    draw.one_of(25, &[b"i8042".as_slice(), b"eth0", b"nvme0q1"]).unwrap_or_default().to_vec(),
                )
            }),
        ],
    },
];

/// The tracepoint of this name, with its number from 1.
pub(super) fn tracepoint(system: &str, name: &str) -> Option<(usize, &'static MadeTracepoint)> {
    let found = TRACEPOINTS.iter().position(|one| one.system == system && one.name == name)?;
    TRACEPOINTS.get(found).map(|tracepoint| (found + 1, tracepoint))
}

impl MadeTracepoint {
    /// Its `format` file.
    pub(super) fn format(&self, number: usize) -> String {
        let mut text = format!("name: {}\nID: {number}\nformat:\n", self.name);
        for (declaration, offset, size, signed) in [
            ("unsigned short common_type", 0, 2, false),
            ("unsigned char common_flags", 2, 1, false),
            ("unsigned char common_preempt_count", 3, 1, false),
            ("int common_pid", 4, 4, true),
        ] {
            text += &field_line(declaration, offset, size, signed);
        }
        text.push('\n');
        for field in self.fields {
            text += &field_line(field.declaration, field.offset, field.size, field.signed);
        }
        text + "\nprint fmt: \"\"\n"
    }

    /// The value of a column of its records: `NAME`, `args.NAME` or `NAME[INDEX]`.
    pub(super) fn value(&self, column: &str, draw: Draw) -> Option<MadeValue> {
        let plain = column.strip_prefix("args.").unwrap_or(column);
        let (name, index) = match plain.split_once('[') {
            Some((name, rest)) => (name, rest.strip_suffix(']')?.parse().ok()?),
            None => (plain, 0),
        };
        self.fields.iter().find(|field| field.name == name).map(|field| (field.make)(draw, index))
    }
}

fn field_line(declaration: &str, offset: u32, size: u32, signed: bool) -> String {
    format!("\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{};\n", u8::from(signed))
}

#[cfg(test)]
mod tests {
    use bathyscope_catalog::parse_event_format;

    use super::*;

    #[test]
    fn every_made_format_is_one_that_the_catalog_reads() {
        for (index, made) in TRACEPOINTS.iter().enumerate() {
            let format = parse_event_format(made.format(index + 1).as_bytes()).unwrap();
            assert_eq!((format.name.as_str(), format.fields.len()), (made.name, made.fields.len()));
            for field in &format.fields {
                assert!(made.value(&field.name, Draw::of(1, 2, 3)).is_some(), "{} {}", made.name, field.name);
            }
        }
    }

    #[test]
    fn names_fit_the_kernels_limits() {
        for process in PROCESSES {
            assert!(process.comm.len() <= 15 && process.threads.first() == Some(&process.pid));
        }
    }

    #[test]
    fn a_draw_is_decided_by_its_place() {
        assert_eq!(Draw::of(1, 2, 3).number(4), Draw::of(1, 2, 3).number(4));
        assert_ne!(Draw::of(1, 2, 3).number(4), Draw::of(2, 2, 3).number(4));
        assert_ne!(Draw::of(1, 2, 3).number(4), Draw::of(1, 2, 4).number(4));
    }
}
