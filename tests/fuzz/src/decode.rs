//! What the kernel and programs write, given to what reads it.

use std::{fs, path::PathBuf, sync::LazyLock};

use bathyscope_bpf::lang::{CheckOptions, CompileOptions, compile, recorded::RecordedHost};
use bathyscope_capture::{Batch, ColumnEncoding, ColumnLayout, StreamSchema, StringDictionary};
use bathyscope_catalog::{
    constants::Arch,
    syscalls::{Hex, Style, decode},
};
use bathyscope_decode::{
    calls::CallRecord,
    pages::{Calls, Events, Layout, Page, Role, value, write_value},
    perf::{PerfFormat, parse_record},
    records::RecordDecoder,
    script::{Decoder, Form, MapRows, NoNames, Renderer, SiteRows, Snapshot},
    states::StateRecord,
};
use bathyscope_plan::Plan;

/// A number of the first eight bytes, and the rest.
fn number(input: &[u8]) -> (u64, &[u8]) {
    match input.split_first_chunk::<8>() {
        Some((first, rest)) => (u64::from_le_bytes(*first), rest),
        None => (0, &[]),
    }
}

/// The bytes in pieces, each with its length in two bytes in front; the last may be shorter.
fn pieces(mut input: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = input.split_first_chunk::<2>()?;
        let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
        let (piece, rest) = rest.split_at(length);
        input = rest;
        Some(piece)
    })
}

/// A format in three words, then records of perf, each with its length in front.
pub(crate) fn perf_records(input: &[u8]) {
    let (sample_type, rest) = number(input);
    let (branch_sample_type, rest) = number(rest);
    let (read_format, rest) = number(rest);
    let format = PerfFormat { sample_type, read_format, sample_id_all: read_format >> 63 == 0, branch_sample_type };
    for record in pieces(rest) {
        let _parsed = parse_record(record, format);
    }
}

/// A style in one byte, then records of system calls, each with its length in front, which are written for people.
pub(crate) fn call_records(input: &[u8]) {
    let Some((style, rest)) = input.split_first() else { return };
    let has = |bit: u8| style & bit != 0;
    let hex = [Hex::None, Hex::NonAscii, Hex::Characters, Hex::All][usize::from(style & 3)];
    let style = Style { strings: 32, hex, verbose: has(4), pointers: has(8), raw: has(16), file_of: None };
    let arch = if has(32) { Arch::Aarch64 } else { Arch::X86_64 };
    for record in pieces(rest) {
        let _time = CallRecord::end_ns(record);
        let Some(record) = CallRecord::read(record) else { continue };
        let _written = decode(arch, &record.call(), &style);
    }
}

/// Records of switches and wake-ups, each with its length in front.
pub(crate) fn state_records(input: &[u8]) {
    for record in pieces(input) {
        let _read = StateRecord::read(record);
    }
}

/// How many columns there are, four bytes for each, then records.
pub(crate) fn probe_records(input: &[u8]) {
    let Some((count, rest)) = input.split_first() else { return };
    let (columns, records) = rest.split_at((usize::from(count % 16) * 4).min(rest.len()));
    let common = StreamSchema::COMMON.iter().zip([(0, 8), (8, 4), (12, 4), (16, 4), (20, 16)]);
    let common = common.map(|((name, ..), (offset, bytes))| ColumnLayout {
        name: (*name).to_owned(),
        offset,
        encoding: match *name {
            "comm" => ColumnEncoding::FixedText { bytes },
            _ => ColumnEncoding::Unsigned { bytes: bytes as u8, hex: false },
        },
    });
    let own = columns.chunks_exact(4).zip(0..).map(|(it, index)| ColumnLayout {
        name: format!("own{index}"),
        offset: u32::from(it[0]) * 4,
        encoding: match it[1] % 4 {
            0 => ColumnEncoding::Unsigned { bytes: it[2] % 10, hex: it[3] % 2 == 0 },
            1 => ColumnEncoding::Signed { bytes: it[2] % 10 },
            2 => ColumnEncoding::FixedText { bytes: u16::from_le_bytes([it[2], it[3]]) },
            _ => ColumnEncoding::LengthText { room: u16::from_le_bytes([it[2], it[3]]) },
        },
    });
    let layout: Vec<ColumnLayout> = common.chain(own).collect();
    let record_bytes = records.len().clamp(36, 128);
    let Ok((mut decoder, schema)) = RecordDecoder::new("fuzz:probe", record_bytes as u32, &layout) else { return };
    let (mut batch, mut strings) = (Batch::empty(&schema), StringDictionary::default());
    for record in records.chunks(record_bytes) {
        let _time = decoder.time_ns(record);
        decoder.decode(record, &mut batch, &mut strings);
        let _cells = decoder.cells(record, 1);
    }
}

/// What Linux 6.12 says of its pages, and the events whose formats are recorded.
static FTRACE: LazyLock<(Layout, Events)> = LazyLock::new(|| {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../ftrace/6.12/formats");
    let read = |name: &str| fs::read(folder.join(name)).expect("a recorded format");
    let mut events = Events::default();
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("the recorded formats")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with("header_"))
        .collect();
    names.sort();
    for name in &names {
        events.add(name, &read(name)).expect("a format");
    }
    (Layout::parse(&read("header_page"), &read("header_event")).expect("the layout"), events)
});

/// Pages of ftrace, of 4096 bytes each. A first byte of 1 has the bytes behind it taken for the descriptions of pages.
pub(crate) fn trace_pages(input: &[u8]) {
    if let Some((1, text)) = input.split_first() {
        let (page, event) = text.split_at(text.len() / 2);
        let _layout = Layout::parse(page, event);
        return;
    }
    let (layout, events) = &*FTRACE;
    let (mut calls, mut out, mut text, mut last) = (Calls::default(), Vec::new(), String::new(), 0);
    for (cpu, bytes) in (0..).zip(input.chunks(4096)) {
        let Ok(page) = Page::parse(layout, bytes) else { continue };
        for event in page.events() {
            let Ok(event) = event else { break };
            last = event.time;
            let Some((id, tid)) = events.head(event.record) else { continue };
            for field in events.format(id).map(|format| format.fields.as_slice()).unwrap_or_default() {
                if let Some(value) = value(field, event.record) {
                    let _written = write_value(&value, &mut text);
                }
            }
            match events.role(id) {
                Some(Role::GraphEntry(fields)) => {
                    if let Some(entry) = fields.read(event.record) {
                        calls.enter(cpu, tid, event.time, entry, &mut out);
                    }
                }
                Some(Role::GraphExit(fields)) => {
                    if let Some(exit) = fields.read(event.record) {
                        calls.leave(cpu, tid, event.time, exit, &mut out);
                    }
                }
                _ => {}
            }
        }
    }
    calls.finish(last, &mut out);
    assert!(out.len() <= input.len() && text.len() <= input.len() * 64, "more comes out than was there");
}

/// Between them they use each kind of value, map and format.
const SCRIPTS: [&str; 4] = [
    "tracepoint:syscalls:sys_enter_openat { printf(\"%s %d %-10s|%x %r\\n\", comm, tid, str(args.filename), args.flags,
        buf(args.filename, 16)); print((pid, comm, (1, kstack(3)))); @[ustack(5), comm] = count(); }
        tracepoint:syscalls:sys_enter_execve { join(args.argv); }",
    "begin { @h = hist(pid); @l = lhist(tid, 0, 1000, 10); @s = stats(pid); @a[comm, pid] = avg(tid); @m = max(-1);
        @k[kstack] = sum(1); @[1] = (1, comm); @t = strftime(\"%H:%M:%S %f\", nsecs); @n = ntop(pid); }",
    "begin { print(@x[1]); @x[1] = min(pid); printf(\"%s %s %c %%\", ksym(pid), usym(tid), 65); time(\"%F %T\");
        print(macaddr(0)); cat(\"/proc/%d/stat\", pid); @u = username; @p = probe; exit(3); }",
    "begin { @ts = tseries(pid, 1s, 10); @ll = hist(tid, 3); errorf(\"%d\", -1); print(@ts); clear(@ts); zero(@ll); }",
];

static PLANS: LazyLock<Vec<Plan>> = LazyLock::new(|| {
    let host = RecordedHost::new("6.12").expect("a recorded kernel");
    let check = CheckOptions { unsafe_allowed: true, pid: None };
    let options = CompileOptions { check, ..CompileOptions::default() };
    let plan = |text: &&str| match compile(text, &host, &options) {
        Ok(compiled) => compiled.plan,
        Err(errors) => panic!("{text}: {errors:?}"),
    };
    SCRIPTS.iter().map(plan).collect()
});

/// Which script, then what its ring and its maps have: each piece with its length in front. A piece whose first byte is
/// below 16 is the content of the map of that number.
pub(crate) fn script_records(input: &[u8]) {
    let Some((script, rest)) = input.split_first() else { return };
    let plans = &*PLANS;
    let plan = &plans[usize::from(*script) % plans.len()];
    let decoder = Decoder::new(plan);
    let renderers = [Form::Text, Form::Json].map(|form| Renderer::new(form, plan, &NoNames).source("fuzz", "begin {}"));
    for piece in pieces(rest) {
        match piece.split_first() {
            Some((map @ 0..16, content)) if piece.len() % 4 == 1 => {
                map_content(plan, usize::from(*map), content, &renderers)
            }
            _ => {
                let Ok(record) = decoder.record(piece) else { continue };
                let _stacks = record.stacks(plan);
                for renderer in &renderers {
                    let _shown = renderer.record(&record);
                    let _formatted = renderer.formatted(&record);
                }
                if let Some(rows) = decoder.site(&record).and_then(|site| SiteRows::new("fuzz", site)) {
                    assert_eq!(rows.row(&record, plan, &NoNames).cells.len(), rows.schema().columns.len());
                }
            }
        }
    }
}

fn map_content(plan: &Plan, map: usize, content: &[u8], renderers: &[Renderer<'_>]) {
    let Some(map) = plan.maps.get(map % plan.maps.len().max(1)) else { return };
    let key = map.key_bytes as usize;
    // Some have the values of two CPUs, some none that fits.
    let value = map.value_bytes as usize * if map.is_per_cpu() { 2 } else { 1 };
    let elements = content.chunks((key + value).max(1)).map(|element| element.split_at(key.min(element.len())));
    let Ok(snapshot) = Snapshot::read(map, elements) else { return };
    let rows = MapRows::new(map);
    for row in rows.rows(map, &snapshot, (1, 1), plan, &NoNames) {
        assert_eq!(row.cells.len(), rows.schema().columns.len());
    }
    let _stacks = snapshot.stacks(map);
    for renderer in renderers {
        let _shown = renderer.map(map, &snapshot, Some(3), Some(7));
        for entry in &snapshot.entries {
            let _shown = renderer.element(map, entry, None);
        }
    }
}
