//! What others have attached to the simulated host, a hostile name among it.

use bathyscope_capture::visible;
use bathyscope_protocol::{BpfLink, BpfPlace, BpfProgram};

/// Probes that others have made by a text.
pub(super) const DYNAMIC_EVENTS: &str = "p:kprobes/slow_read vfs_read count=%dx\n\
    r64:uprobes/<b>done /usr/bin/webserver:0x1100\n";

/// Programs that others have loaded.
pub(super) fn programs() -> Vec<BpfProgram> {
    let program = |id, kind, name: &[u8]| BpfProgram {
        id,
        kind,
        name: visible(name),
        tag: 0x0123_4567_89ab_cdef,
        loaded_ns: 42_000_000_000,
        bytes: 296,
        maps: 1,
        ..BpfProgram::default()
    };
    vec![
        BpfProgram { run_time_ns: 120_000, run_count: 60, ..program(3, 2, b"count_reads") },
        program(7, 8, b"<img src=x\x1b["),
    ]
}

/// Where they are attached.
pub(super) fn links() -> Vec<BpfLink> {
    let function = "vfs_read".to_owned();
    vec![BpfLink { id: 2, program: 3, place: BpfPlace::Kprobe { function, offset: 0, at_return: false } }]
}

/// Those with a greater number, and whether there are more.
pub(super) fn page<T>(all: Vec<T>, after: u32, limit: usize, id: fn(&T) -> u32) -> (Vec<T>, bool) {
    let mut page: Vec<T> = all.into_iter().filter(|one| id(one) > after).collect();
    let more = page.len() > limit;
    page.truncate(limit);
    (page, more)
}
