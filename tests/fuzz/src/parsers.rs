//! Texts and files of people, programs and the kernel, given to what reads them.

use std::{
    io::Write as _,
    os::fd::OwnedFd,
    sync::{Arc, LazyLock},
    time::Duration,
};

use bathyscope_builder::{read as read_form, write as write_form};
use bathyscope_capture::{Batch, ColumnData, ColumnUnit, Predicate, StreamKind, StreamSchema};
use bathyscope_catalog::{
    EventFormat,
    dynamic::{Dialect, argument_places, parse_dynamic, parse_perf_probe, read_typed},
    elf::{ElfFile, Registers, StackCopy, demangle, parse_library_cache, rule_of, stored_file, walk_stack},
    groups, parse_available_events, parse_dynamic_events, parse_event_format, parse_fields, parse_modules,
    perf_events::{ProcCounter, ProcFile, parse_event, parse_events, read_proc_counters},
    print::{AddressName, EventValues, FieldValue, PrintFormat},
};
use bathyscope_commands::{Answer, KeptProbe, KnownHost, UnknownHost, complete, explain, same_as, wanted_processes};
use bathyscope_formats::{CallFacts, CallField, CallFilter, parse_pasted_filter, parse_sysdig_filter};
use bathyscope_query::{Capture, Limits, run};
use bathyscope_symbols::{
    FileOptions, FileResolver, Kallsyms, PerfMap, Place, ProcessMaps, build_id_of_notes, elf_build_id,
};
use bathyscope_translate::{Language, ScriptTarget, TranslateOptions, translate as translated};
use bathyscope_views::{Cancel, Filter, MemorySource};

/// The longest text of an input.
const MOST: usize = 16 << 10;

fn text(input: &[u8]) -> String {
    String::from_utf8_lossy(input.get(..MOST.min(input.len())).unwrap_or_default()).into_owned()
}

/// Conditions of captures and of views.
pub(crate) fn filters(input: &[u8]) {
    let text = text(input);
    if let Ok(predicate) = Predicate::parse(&text) {
        let shown = predicate.to_string();
        assert_eq!(Predicate::parse(&shown).as_ref(), Ok(&predicate), "{shown:?} reads back as another condition");
        let _holds = predicate.eval(&mut |_name| None);
        for unit in [ColumnUnit::Milliseconds, ColumnUnit::Bytes] {
            if let Ok(plain) = predicate.in_units(&mut |_name| Some(unit)) {
                assert_eq!(plain.in_units(&mut |_name| None), Ok(plain.clone()), "{plain} has no units any more");
            }
        }
    }
    let _filter = Filter::parse(&text);
    let _events = (parse_event(&text), parse_events(&text));
}

struct NoFacts;

impl CallFacts for NoFacts {
    fn values(&self, field: &CallField) -> Vec<String> {
        if matches!(field, CallField::Type) { vec!["open".to_owned(), "7".to_owned()] } else { Vec::new() }
    }
}

/// Scripts of other tracers, with a process and without; what is said of them has its place in the text.
pub(crate) fn translate(input: &[u8]) {
    let text = text(input);
    for target in [ScriptTarget::None, ScriptTarget::Process(1), ScriptTarget::Command("/bin/true".to_owned())] {
        let options = TranslateOptions { parameters: vec!["1".to_owned()], target, quiet: false };
        for language in [Language::DTrace, Language::SystemTap] {
            let said = match translated(language, &text, &options) {
                Ok(translation) => translation.notes,
                Err(refusal) => vec![*refusal],
            };
            assert!(said.iter().all(|it| text.get(it.start as usize..it.end as usize).is_some()), "{said:?}");
        }
    }
}

/// Scripts, read as forms: a form says the same when its own script is read.
pub(crate) fn builder(input: &[u8]) {
    let text = text(input);
    let said = match read_form(&text) {
        Ok(reading) => {
            let again = write_form(&reading.forms).ok().and_then(|script| read_form(&script).ok());
            assert!(again.is_none_or(|again| again.forms == reading.forms), "{text:?} reads back as other forms");
            reading.left_out
        }
        Err(said) => said,
    };
    assert!(said.iter().all(|it| text.get(it.start as usize..it.end as usize).is_some()), "{said:?}");
}

/// Lines of sysdig.
pub(crate) fn sysdig(input: &[u8]) {
    let text = text(input);
    let _parsed = (parse_sysdig_filter(&text), parse_pasted_filter(&text));
    if let Ok(Some(filter)) = CallFilter::new(&text, &|_set| vec!["open".to_owned()]) {
        let _holds = filter.holds(&NoFacts);
    }
}

/// Commands of other tools.
pub(crate) fn commands(input: &[u8]) {
    let text = text(input);
    let processes = wanted_processes(&text).into_iter().map(|name| (name, vec![7, 8])).collect();
    let names = ["sched:sched_switch", "kmem:kmalloc"];
    let tracepoints = Some(names.iter().filter_map(|name| name.parse().ok()).collect());
    let kept_probes = vec![KeptProbe { name: "probe:vfs_read".to_owned(), probe: "vfs_read count".into() }];
    let known = explain(&text, &KnownHost { tracepoints, processes, kept_probes });
    if let Some(word) = complete(&text, text.len(), &UnknownHost) {
        assert_eq!(text.get(word.start..word.end), Some(word.typed.as_str()), "a completion without a place");
    }
    for explanation in [known, explain(&text, &UnknownHost)] {
        let mut end = 0;
        for span in &explanation.spans {
            assert!(span.start >= end && text.get(span.start..span.end).is_some(), "{span:?} is no part of the text");
            end = span.end;
        }
        assert!(
            explanation.notes.iter().all(|note| text.get(note.start..note.end).is_some()),
            "a note without a place"
        );
        if let Answer::Capture(planned) = explanation.answer
            && planned.missing.is_none()
        {
            assert!(planned.spec.validate().is_ok(), "a capture that cannot be made");
            let _commands = same_as(&planned.spec);
        }
    }
}

/// What the kernel and runtimes say of symbols, mappings, groups and events.
pub(crate) fn host_texts(input: &[u8]) {
    let map = PerfMap::parse(input);
    let _found = (map.lookup(0), map.lookup(u64::MAX));
    let _maps = ProcessMaps::parse(input);
    if let Ok(symbols) = Kallsyms::parse(input) {
        let _found = (symbols.lookup(0), symbols.lookup(u64::MAX), symbols.normalise(u64::MAX));
    }
    let text = text(input);
    let _name = groups::name_of(&text);
    let _lists = (parse_modules(input), parse_dynamic_events(input), parse_available_events(input));
    let _libraries = parse_library_cache(input);
    let _build_id = build_id_of_notes(input);
    let counters: Vec<ProcCounter> = ProcCounter::all().collect();
    for file in [ProcFile::PressureIo, ProcFile::MemoryInfo, ProcFile::MemoryStat] {
        assert_eq!(read_proc_counters(file, input, &counters).len(), counters.len());
    }
}

/// Probes as the kernel and `perf probe` have them written.
pub(crate) fn probe_lines(input: &[u8]) {
    let text = text(input);
    for file in [None, Some("/bin/bash")] {
        let _read = read_typed(&text, file);
        for line in text.lines() {
            let _perf = parse_perf_probe(line, file);
        }
    }
    for line in text.lines() {
        let _parsed = parse_dynamic(line);
        for dialect in [Dialect::Kernel, Dialect::Perf] {
            let _places = argument_places(line, dialect);
        }
    }
}

/// A value that depends on the field only.
struct Values(usize);

impl EventValues for Values {
    fn field(&self, index: usize) -> Option<FieldValue<'_>> {
        Some(match (self.0 + index) % 4 {
            0 => FieldValue::Number { bits: u64::MAX, bytes: 8, signed: true },
            1 => FieldValue::Text(b"a\xff%s"[..].into()),
            2 => FieldValue::Array { bytes: [1_u8, 2, 3, 4, 5][..].into(), width: 4, signed: false },
            _ => FieldValue::Number { bits: 7, bytes: 4, signed: false },
        })
    }

    fn name_of(&self, address: u64) -> Option<AddressName> {
        address.is_multiple_of(2).then(|| AddressName { name: "f".to_owned(), offset: address })
    }
}

/// A format file of an event, its print format, and the text that this makes.
pub(crate) fn event_formats(input: &[u8]) {
    let _fields = parse_fields(input);
    let Ok(event) = parse_event_format(input) else { return };
    let _obstacles: Vec<_> = event.fields.iter().map(|field| (field.obstacle(), field.varying_element())).collect();
    let text = text(input);
    let EventFormat { fields, .. } = &event;
    assert!(fields.len() <= input.len(), "more fields than bytes");
    let Ok(print) = PrintFormat::parse(&event, &text, &mut |name| name.len().is_multiple_of(2).then_some(3)) else {
        return;
    };
    for kind in 0..4 {
        let mut out = String::new();
        let _written = print.write(&Values(kind), &mut out);
    }
}

/// A capture of three rows.
static CAPTURE: LazyLock<Capture> = LazyLock::new(|| {
    let schema = StreamSchema::new("sched:sched_switch", StreamKind::Events, []);
    let numbers = || ColumnData::U64(vec![1, 2, 3]);
    let columns = vec![numbers(), numbers(), numbers(), numbers(), ColumnData::Id(vec![0, 0, 0])];
    let mut source = MemorySource::new(0);
    source.push_stream(schema, vec![Batch { columns }]);
    Capture::new(Arc::new(source))
});

/// Queries of people.
pub(crate) fn sql(input: &[u8]) {
    let limits = Limits { time: Duration::from_millis(500), rows: 100, bytes: 64 << 10, memory: 64 << 20 };
    let _answer = run(&CAPTURE, &text(input), &limits, &Arc::new(Cancel::default()));
}

/// An ELF file, or an archive of some; and the stack of a thread of it.
pub(crate) fn elf(input: &[u8]) {
    let _stored = stored_file(&input, "lib/x86_64/libmade.so");
    let _build_id = elf_build_id(|offset, buffer| {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let found = start.checked_add(buffer.len()).and_then(|end| input.get(start..end));
        found.is_some_and(|bytes| {
            buffer.copy_from_slice(bytes);
            true
        })
    });
    let Ok(file) = ElfFile::parse(&input) else { return };
    let _facts = (file.build_id(), file.is_go(), file.debug_link(), file.arch(), file.is_fixed(), file.needed());
    let _markers = file.markers();
    if let Ok(functions) = file.functions() {
        for symbol in functions.iter().take(1000) {
            let _name = demangle(symbol.name);
        }
        let _found = (functions.at(0), functions.at(u64::MAX));
    }
    let _symbols = file.symbols_named(&["main".to_owned()]);
    for offset in [0, 1, 0x1000, input.len() as u64, u64::MAX] {
        let _entry = (file.entry(offset), file.offset_of(offset), file.address_of(offset), file.is_code(offset));
    }
    if let Ok(rows) = file.unwind_rows() {
        let registers = Registers { ip: 0x1000, sp: 0x7000, bp: 0x7010 };
        let stack = StackCopy { base: 0x7000, bytes: input };
        let _frames = walk_stack(registers, stack, &mut |address| Ok::<_, ()>(rule_of(&rows, address)));
    }
}

/// A file with debug information, asked for the names at some places.
pub(crate) fn dwarf(input: &[u8]) {
    let private = tempfile::tempdir().expect("a folder");
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(input).expect("the file is written");
    let options = FileOptions { private_dir: private.path().to_owned(), max_file_bytes: 1 << 20 };
    let mut resolver = FileResolver::new(options, rustix::process::getuid().as_raw());
    let places: Vec<Place> =
        [0, 0x40, 0x1000, 0x1001, 0x1010, 0x1020].map(|offset| Place { offset, is_return: offset % 2 == 1 }).into();
    let file = OwnedFd::from(file);
    let _symbols = resolver.resolve(&file, &[], &places);
    let _code = resolver.function(&file, &[], 0x1000, 0x1010);
}
