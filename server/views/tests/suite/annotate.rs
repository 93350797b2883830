//! Instructions of functions with the samples at each.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use crate::fixture;

use bathyscope_capture::{CodeLines, CodeMissing, FunctionCode, Machine, MappingKind, Symbol, SymbolLine};
use bathyscope_views::{
    Annotation, Filter, FlameQuery, MAX_CODE_ROWS, MemorySource, NodeKind, Source as _, annotate, function_samples,
};
use fixture::{Build, GO, golden};

/// `spin_inner` of `tests/programs/spin.c`, as gcc 14 made it.
const SPIN_INNER: &str =
    "554889e5c745fc00000000eb1b8b45fc4863d0488b05792e00004801d04889056f2e00008345fc01817dfc3f420f007edc905dc3";

fn spin_bytes() -> Vec<u8> {
    let (digits, _) = SPIN_INNER.as_bytes().as_chunks::<2>();
    digits.iter().map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

fn at(function: &str, offset: u64, lines: &[(&str, &str, u32)]) -> Option<Symbol> {
    let line = |(function, file, line): &(&str, &str, u32)| SymbolLine {
        function: (*function).to_owned(),
        file: (*file).to_owned(),
        line: *line,
    };
    Some(Symbol { function: function.to_owned(), offset, lines: lines.iter().map(line).collect() })
}

/// Samples of stacks of one frame each, by how many.
fn sampled(frames: impl FnOnce(&mut Build) -> Vec<(u32, u64)>) -> MemorySource {
    let mut build = Build::default();
    build.profile();
    let frames = frames(&mut build);
    let mut n = 0;
    for (frame, samples) in frames {
        let stack = build.stacks.stack(&[frame]);
        for _ in 0..samples {
            build.sample((n, 0, 7, 7 + n % 2, b"spin"), stack);
            n += 1;
        }
    }
    build.finish()
}

fn code(mapping: u32, start: u64, bytes: Vec<u8>) -> FunctionCode {
    let (length, lines) = (bytes.len() as u64, CodeLines::default());
    FunctionCode {
        mapping,
        start,
        address: start + 0x1000,
        length,
        machine: Machine::X86_64,
        bytes,
        lines,
        missing: None,
    }
}

fn annotated(source: &MemorySource, function: &str, place: Option<&str>, code: Option<&FunctionCode>) -> Annotation {
    let place = place.map(|place| place.parse().unwrap());
    let found = function_samples(source, &FlameQuery::default(), function, &GO).unwrap();
    annotate(source.dictionaries(), &found, place, code)
}

fn spin() -> (MemorySource, FunctionCode) {
    let source = sampled(|build| {
        let mut frame =
            |offset| build.frame(MappingKind::File, b"/x/spin", 0x195 + offset, at("spin_inner", offset, &[]));
        // One in the middle of an instruction, as of hardware that skids.
        let frames =
            [(0x13, 30), (0x1d, 50), (0x1e, 1), (0x2f, 9), (0x33, 1)].map(|(at, samples)| (frame(at), samples));
        let main = build.frame(MappingKind::File, b"/x/spin", 0x1e1, at("main", 0, &[]));
        frames.into_iter().chain([(main, 9)]).collect()
    });
    let mut kept = code(1, 0x195, spin_bytes());
    for (offset, line) in [(0, 14), (4, 15), (0xd, 15), (0x24, 15), (0x31, 17)] {
        kept.lines.push(offset, "spin_inner", "/tests/programs/spin.c", line);
    }
    (source, kept)
}

#[test]
fn instructions_have_their_samples_and_lines() {
    let (source, kept) = spin();
    let answer = annotated(&source, "spin_inner", None, Some(&kept));
    let mut text = serde_json::to_string_pretty(&answer).unwrap();
    text.push('\n');
    golden("annotate.json", text.as_bytes());
    let shown = answer.shown.unwrap();
    assert_eq!((answer.samples, answer.own, shown.samples, shown.outside), (100, 91, 91, 0));
    let hot = &shown.rows[shown.hottest[0]];
    assert_eq!((hot.at, hot.address, hot.samples), (0x1d, Some(0x11b2), 51), "with that in its middle");
    let jump = shown.rows.iter().find(|row| row.text.starts_with("jle")).unwrap();
    assert_eq!(jump.target, Some(0xd));
}

#[test]
fn only_samples_of_the_query_count() {
    let (source, kept) = spin();
    let filter = Filter::parse("tid == 7").unwrap();
    let found = function_samples(&source, &FlameQuery { filter, ..FlameQuery::default() }, "spin_inner", &GO).unwrap();
    let answer = annotate(source.dictionaries(), &found, None, Some(&kept));
    assert_eq!((answer.samples, answer.own), (50, 46));
    let other = FlameQuery { pid: Some(8), ..FlameQuery::default() };
    let none =
        annotate(source.dictionaries(), &function_samples(&source, &other, "spin_inner", &GO).unwrap(), None, None);
    assert_eq!((none.own, none.shown), (0, None));
}

#[test]
fn one_name_can_be_at_several_places_and_inlined() {
    let source = sampled(|build| {
        let lines = [("hash", "h.c", 3), ("lookup", "l.c", 9)];
        let inlined = build.frame(MappingKind::File, b"/a", 0x110, at("lookup", 0x10, &lines));
        let own = build.frame(MappingKind::File, b"/a", 0x120, at("lookup", 0x20, &[("lookup", "l.c", 12)]));
        let other = build.frame(MappingKind::File, b"/b", 0x44, at("hash", 4, &[]));
        vec![(inlined, 5), (own, 2), (other, 3)]
    });
    let hash = annotated(&source, "hash", None, None);
    let places: Vec<_> =
        hash.places.iter().map(|p| (p.place.to_string(), p.function.as_str(), p.module.as_str(), p.samples)).collect();
    let expected = [("1-100".to_owned(), "lookup", "/a", 5), ("2-40".to_owned(), "hash", "/b", 3)];
    assert_eq!(places, expected);
    let second = annotated(&source, "hash", Some("2-40"), None).shown.unwrap();
    assert_eq!((second.place.to_string(), second.samples, second.rows[0].at), ("2-40".to_owned(), 3, 4));
    let gone = annotated(&source, "hash", Some("9-1"), None).shown.unwrap();
    assert_eq!(gone.place.to_string(), "1-100", "a place that is not there is the first");
    // The function that contains it has the samples of what was inlined into it too, with its lines.
    let lookup = annotated(&source, "lookup", None, None).shown.unwrap();
    assert_eq!(lookup.samples, 7);
    let lines: Vec<_> = lookup.rows.iter().map(|row| &lookup.sources[row.source.unwrap() as usize]).collect();
    assert_eq!(lines.iter().map(|l| (l.function.as_str(), l.line)).collect::<Vec<_>>(), [("hash", 3), ("lookup", 12)]);
    for wrong in ["", "1", "x-1", "1-", "1-g", "-1-2", "+1-2"] {
        assert!(wrong.parse::<bathyscope_views::CodePlace>().is_err(), "{wrong}");
    }
}

#[test]
fn what_is_missing_is_said_in_words() {
    let source = sampled(|build| {
        let kernel = build.frame(MappingKind::Kernel, b"[kernel]", 0x110, at("vfs_read", 0x10, &[]));
        let jit = build.frame(MappingKind::Anonymous, b"//anon", 0x7f00, at("LazyCompile:f", 0, &[]));
        let vdso = build.frame(MappingKind::File, b"[vdso]", 0x7f0, at("[vdso]", 0x7f0, &[]));
        let file = build.frame(MappingKind::File, b"/a", 0x20, at("main", 0, &[]));
        let bare = build.frame(MappingKind::File, b"/b", 0x20, None);
        [kernel, jit, vdso, file, bare].into_iter().map(|frame| (frame, 2)).collect()
    });
    let cases = [
        ("vfs_read", "/proc/kcore"),
        ("LazyCompile:f", "run-time compiler"),
        ("[vdso]", "maps this code into every process"),
        ("main", "when a profile ends"),
        ("[b+0x20]", "no symbol"),
    ];
    for (function, words) in cases {
        let shown = annotated(&source, function, None, None).shown.unwrap();
        assert!(shown.note.contains(words), "{function}: {}", shown.note);
        assert_eq!((shown.rows.len(), shown.rows[0].samples, shown.kept), (1, 2, 0), "{function}");
    }
    for (why, words) in [(CodeMissing::OtherFile, "another build"), (CodeMissing::NoRoom, "took the space")] {
        let missing = FunctionCode::without(4, 0x20, why);
        let shown = annotated(&source, "main", None, Some(&missing)).shown.unwrap();
        assert!(shown.note.contains(words), "{}", shown.note);
    }
    let arm =
        FunctionCode { machine: Machine::Aarch64, length: 0, ..code(4, 0x20, vec![0x1f, 0x20, 3, 0xd5, 9, 9, 9, 9]) };
    let shown = annotated(&source, "main", None, Some(&arm)).shown.unwrap();
    assert!(shown.note.contains("aarch64") && shown.note.contains("how long"), "{}", shown.note);
    assert_eq!(
        (shown.rows[0].bytes.as_str(), shown.rows[0].text.as_str(), shown.rows[0].samples),
        ("1f 20 03 d5", "", 2)
    );
}

#[test]
fn of_a_large_function_what_is_near_samples_is_shown() {
    let source = sampled(|build| {
        let mut frame = |offset| build.frame(MappingKind::File, b"/a", 0x100 + offset, at("large", offset, &[]));
        vec![(frame(5), 1), (frame(30_000), 7), (frame(70_000), 2)]
    });
    let nops = FunctionCode { length: 80_000, ..code(1, 0x100, vec![0x90; 60_000]) };
    let shown = annotated(&source, "large", None, Some(&nops)).shown.unwrap();
    assert!(shown.rows.len() < 100, "{}", shown.rows.len());
    assert_eq!(shown.rows.iter().map(|row| row.samples).sum::<u64>() + shown.outside, 10);
    assert_eq!((shown.rows[shown.hottest[0]].at, shown.outside), (30_000, 2));
    let first = shown.rows.iter().find(|row| row.left_out > 0).unwrap();
    assert_eq!((first.at, first.left_out), (30_000 - 24, 30_000 - 24 - 30));
    assert!(shown.note.contains("60000 of 80000"), "{}", shown.note);
    let everywhere = sampled(|build| {
        let frames = (0..6000).map(|at_| (build.frame(MappingKind::File, b"/a", at_, at("large", at_, &[])), 1));
        frames.collect()
    });
    let shown = annotated(&everywhere, "large", None, Some(&code(1, 0, vec![0x90; 6000]))).shown.unwrap();
    assert_eq!(shown.rows.len(), MAX_CODE_ROWS);
}

#[test]
fn names_of_a_hostile_file_are_made_visible() {
    let hostile = "\u{1b}[2K<img src=x>\u{202e}";
    let source = sampled(|build| vec![(build.frame(MappingKind::File, b"/a\n", 0x20, at(hostile, 0, &[])), 1)]);
    let mut kept = code(1, 0x20, spin_bytes());
    kept.lines.push(0, hostile, hostile, 1);
    kept.lines.push_call(0xb, hostile);
    let name = bathyscope_capture::visible(hostile.as_bytes());
    let answer = annotated(&source, &name, None, Some(&kept));
    let text = serde_json::to_string(&answer).unwrap();
    assert!(!text.contains('\u{1b}') && !text.contains("u001b") && !text.contains('\u{202e}'), "{text}");
    assert_eq!(answer.places[0].module, "/a\\n");
    let found = function_samples(&source, &FlameQuery::default(), &name, &GO).unwrap();
    assert_eq!(found.places[0].kind, NodeKind::User);
}
