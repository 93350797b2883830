//! The BPF programs of everybody: looked at, never touched. A descriptor of each is held for as long as it takes to ask.

use std::{collections::BTreeSet, io, os::fd::AsFd as _};

use bathyscope_capture::visible;
use bathyscope_protocol::{AgentError, BpfLink, BpfPlace, BpfProgram, MAX_ATTACHED_BYTES};

use crate::{
    error::refused,
    needs::Need,
    os::bpf::listing::{self, LinkInfo, ProgramInfo},
};

/// Programs with a greater number than `after`, at most `limit`, and whether there are more.
pub(super) fn programs(after: u32, limit: usize) -> Result<(Vec<BpfProgram>, bool), AgentError> {
    let ours = held_here();
    let told = |error: io::Error| refused("listing the BPF programs of this host", &error, Need::Administrator);
    page(after, limit, listing::next_program, |id| {
        let program = listing::open_program(id)?;
        listing::program_info(program.as_fd()).map(|info| wire_program(&info, &ours))
    })
    .map_err(told)
}

/// Links with a greater number than `after`, at most `limit`, and whether there are more.
pub(super) fn links(after: u32, limit: usize) -> Result<(Vec<BpfLink>, bool), AgentError> {
    let told = |error: io::Error| refused("listing where BPF programs are attached", &error, Need::Administrator);
    page(after, limit, listing::next_link, |id| {
        let link = listing::open_link(id)?;
        listing::link_info(link.as_fd()).map(|info| wire_link(&info))
    })
    .map_err(told)
}

fn page<T>(
    after: u32,
    limit: usize,
    next: fn(u32) -> io::Result<Option<u32>>,
    look: impl Fn(u32) -> io::Result<T>,
) -> io::Result<(Vec<T>, bool)> {
    let (mut found, mut id) = (Vec::new(), after);
    while let Some(number) = next(id)? {
        if found.len() >= limit {
            return Ok((found, true));
        }
        id = number;
        match look(id) {
            Ok(one) => found.push(one),
            // It went away in between.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
            Err(error) => return Err(error),
        }
    }
    Ok((found, false))
}

/// The numbers of the programs that this process holds, as the kernel tells them of its descriptors.
fn held_here() -> BTreeSet<u32> {
    let entries = std::fs::read_dir("/proc/self/fdinfo").into_iter().flatten().flatten();
    let texts = entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
    texts.filter_map(|text| text.lines().find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok())).collect()
}

fn wire_program(info: &ProgramInfo, ours: &BTreeSet<u32>) -> BpfProgram {
    BpfProgram {
        id: info.id,
        kind: info.kind,
        name: text(&info.name),
        tag: info.tag,
        loaded_ns: info.loaded_ns,
        uid: info.uid,
        bytes: info.bytes,
        maps: info.maps,
        run_time_ns: info.run_time_ns,
        run_count: info.run_count,
        target_object: info.target_object,
        target_type: info.target_type,
        ours: ours.contains(&info.id),
    }
}

/// What the kernel wrote before the first zero, visible and of a bounded length.
fn text(bytes: &[u8]) -> String {
    let shown = visible(bytes.split(|byte| *byte == 0).next().unwrap_or_default());
    shown.get(..shown.floor_char_boundary(MAX_ATTACHED_BYTES)).unwrap_or_default().to_owned()
}

fn wire_link(info: &LinkInfo) -> BpfLink {
    const RAW_TRACEPOINT: u32 = 1;
    const TRACING: u32 = 2;
    const CGROUP: u32 = 3;
    const ITERATOR: u32 = 4;
    const NAMESPACE: u32 = 5;
    const XDP: u32 = 6;
    const PERF_EVENT: u32 = 7;
    const KPROBE_MULTI: u32 = 8;
    const TCX: u32 = 11;
    const UPROBE_MULTI: u32 = 12;
    const NETKIT: u32 = 13;
    const AT_RETURN: u32 = 1;
    let name = || text(&info.name);
    let place = match info.kind {
        RAW_TRACEPOINT => BpfPlace::RawTracepoint { name: name() },
        TRACING => BpfPlace::Typed { attach: info.u32(16) },
        CGROUP => BpfPlace::Cgroup { id: info.u64(16), attach: info.u32(24) },
        ITERATOR => BpfPlace::Iterator { name: name() },
        NAMESPACE => BpfPlace::Namespace { inode: info.u32(16) },
        XDP | TCX | NETKIT => BpfPlace::Interface { index: info.u32(16) },
        KPROBE_MULTI => BpfPlace::Kprobes { count: info.u32(24), at_return: info.u32(28) & AT_RETURN != 0 },
        UPROBE_MULTI => {
            BpfPlace::Uprobes { path: name(), count: info.u32(52), at_return: info.u32(56) & AT_RETURN != 0 }
        }
        PERF_EVENT => perf_place(info),
        kind => BpfPlace::Other { kind },
    };
    BpfLink { id: info.id, program: info.program, place }
}

/// `struct bpf_link_info` of a link at an event of perf: 16 its kind, 32 the length of the name, 36 the offset.
fn perf_place(info: &LinkInfo) -> BpfPlace {
    let name = || text(&info.name);
    match info.u32(16) {
        kind @ (1 | 2) => BpfPlace::Uprobe { path: name(), offset: info.u32(36), at_return: kind == 2 },
        kind @ (3 | 4) => BpfPlace::Kprobe { function: name(), offset: info.u32(36), at_return: kind == 4 },
        5 => BpfPlace::Tracepoint { name: name() },
        6 => BpfPlace::PerfEvent { kind: info.u32(32), config: info.u64(24) },
        // Before 6.6 the kernel does not tell.
        _ => BpfPlace::Other { kind: info.kind },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(kind: u32, name: &[u8], numbers: &[(usize, u32)]) -> LinkInfo {
        let mut info = LinkInfo::new(kind, 7, 3, name);
        for (offset, number) in numbers {
            info.set(*offset, *number);
        }
        info
    }

    #[test]
    fn places_are_read_as_the_kernel_lays_them_out() {
        let path = || "/bin/a\\n".to_owned();
        let cases = [
            (info(1, b"sched_switch\0junk", &[]), BpfPlace::RawTracepoint { name: "sched_switch".into() }),
            (info(2, b"", &[(16, 24)]), BpfPlace::Typed { attach: 24 }),
            (info(3, b"", &[(16, 9), (24, 8)]), BpfPlace::Cgroup { id: 9, attach: 8 }),
            (
                info(7, b"vfs_read\0", &[(16, 4), (36, 12)]),
                BpfPlace::Kprobe { function: "vfs_read".into(), offset: 12, at_return: true },
            ),
            (
                info(7, b"/bin/a\n\0", &[(16, 1), (36, 64)]),
                BpfPlace::Uprobe { path: path(), offset: 64, at_return: false },
            ),
            (info(7, b"sched_switch\0", &[(16, 5)]), BpfPlace::Tracepoint { name: "sched_switch".into() }),
            (info(7, b"", &[(16, 6), (24, 3), (32, 1)]), BpfPlace::PerfEvent { kind: 1, config: 3 }),
            (info(7, b"", &[]), BpfPlace::Other { kind: 7 }),
            (info(8, b"", &[(24, 5), (28, 1)]), BpfPlace::Kprobes { count: 5, at_return: true }),
            (info(12, b"/bin/a\n\0", &[(52, 2)]), BpfPlace::Uprobes { path: path(), count: 2, at_return: false }),
            (info(99, b"", &[]), BpfPlace::Other { kind: 99 }),
        ];
        for (info, expected) in cases {
            assert_eq!(wire_link(&info), BpfLink { id: 7, program: 3, place: expected });
        }
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(text(&[b'x'; 4096]).len(), MAX_ATTACHED_BYTES);
    }
}
