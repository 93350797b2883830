//! Format files of a real kernel (6.18, x86_64) and garbage.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use bathyscope_capture::{ColumnType, Display, Predicate};
use bathyscope_catalog::{
    EventFormat, FieldKind, FormatErrorKind, MAX_FORMAT_BYTES, check_predicate, columns_of, parse_available_events,
    parse_event_format, search_tracepoints,
};
use proptest::prelude::*;

macro_rules! fixture {
    ($name:literal) => {
        parse_event_format(include_bytes!(concat!("../../fixtures/", $name, ".format"))).unwrap()
    };
}

fn all() -> Vec<EventFormat> {
    vec![
        fixture!("sched.sched_switch"),
        fixture!("sched.sched_process_exec"),
        fixture!("sched.sched_process_fork"),
        fixture!("sched.sched_process_free"),
        fixture!("sched.sched_wakeup"),
        fixture!("syscalls.sys_enter_openat"),
        fixture!("syscalls.sys_enter_write"),
        fixture!("raw_syscalls.sys_enter"),
        fixture!("kmem.kmalloc"),
        fixture!("block.block_rq_issue"),
        fixture!("tcp.tcp_retransmit_skb"),
        fixture!("dma.dma_map_sg"),
        fixture!("user_events.relative"),
    ]
}

#[test]
fn every_shape_of_field_is_understood() {
    let text = all()
        .iter()
        .map(|format| {
            let fields = format.fields.iter().map(|field| {
                let sign = if field.signed { "signed" } else { "unsigned" };
                format!(
                    "  {} @{}+{} {sign} {:?} ({}){}\n",
                    field.name,
                    field.offset,
                    field.size,
                    field.kind,
                    field.type_name,
                    field.obstacle().map_or_else(String::new, |why| format!(" - {why}"))
                )
            });
            format!("{}\n{}", format.name, fields.collect::<String>())
        })
        .collect::<String>();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/fields.golden");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(path).unwrap(), "if this is right, run again with BLESS=1");
}

#[test]
fn columns_have_names_types_and_places() {
    let names = |format: &EventFormat, fields: &[&str]| match columns_of(format, fields) {
        Ok(columns) => columns.into_iter().map(|column| column.column.name).collect::<Vec<_>>().join(" "),
        Err(error) => format!("error: {error}"),
    };
    let enter = fixture!("raw_syscalls.sys_enter");
    let wakeup = fixture!("sched.sched_wakeup");
    let open = fixture!("syscalls.sys_enter_openat");
    let dma = fixture!("dma.dma_map_sg");
    let cases: [(&EventFormat, &[&str], &str); 13] = [
        (&enter, &["id", "args"], "id args[0] args[1] args[2] args[3] args[4] args[5]"),
        (&enter, &["args[5]", "args.args[0]"], "args[5] args[0]"),
        (&enter, &["args[6]"], "error: `args[6]` of sys_enter does not exist; the last element is args[5]"),
        (&enter, &["id[0]"], "error: `id[0]` of sys_enter is not an array of numbers"),
        (&enter, &["args", "args[1]"], "error: the column `args[1]` of sys_enter is asked for twice; ask for it once"),
        (&enter, &["args[x]"], "error: sys_enter has no field `args[x]`; did you mean `args`?"),
        (&wakeup, &["comm", "pid", "args.prio"], "args.comm args.pid prio"),
        (
            &wakeup,
            &["pid", "args.pid"],
            "error: the column `args.pid` of sched_wakeup is asked for twice; ask for it once",
        ),
        (&open, &["filename", "flags"], "filename flags"),
        (&open, &["filenam"], "error: sys_enter_openat has no field `filenam`; did you mean `filename`?"),
        (&open, &["zzz"], "error: sys_enter_openat has no field `zzz`"),
        (&open, &["common_pid"], "error: sys_enter_openat has no field `common_pid`; did you mean `tid`?"),
        (
            &dma,
            &["phys_addrs"],
            "error: the field `phys_addrs` of dma_map_sg cannot be recorded: \
             it is an array of varying length that is not text",
        ),
    ];
    for (format, fields, expected) in cases {
        assert_eq!(names(format, fields), expected, "{fields:?}");
    }
    let column = |format: &EventFormat, field: &str| columns_of(format, &[field]).unwrap()[0].column.clone();
    assert_eq!(column(&open, "filename").ty, ColumnType::Text);
    assert_eq!(column(&open, "dfd").ty, ColumnType::I64);
    assert_eq!(column(&fixture!("kmem.kmalloc"), "call_site").display, Display::Hex);
    assert_eq!(column(&fixture!("kmem.kmalloc"), "ptr").display, Display::Hex);
    assert_eq!(column(&fixture!("kmem.kmalloc"), "bytes_req").display, Display::Decimal);
}

#[test]
fn predicates_are_checked_against_the_event() {
    let wakeup = fixture!("sched.sched_wakeup");
    let enter = fixture!("raw_syscalls.sys_enter");
    let check = |format: &EventFormat, text: &str| {
        check_predicate(format, &Predicate::parse(text).unwrap()).map_err(|error| error.to_string())
    };
    let cases = [
        (&wakeup, "pid == 1 && comm == \"x\" && args.pid == 2 && args.comm ~ \"a*\" && cpu < 3 && tid != 4", ""),
        (&wakeup, "prio == 1 && args.prio > 3", ""),
        (
            &wakeup,
            "comm == 1",
            "`comm` of sched_wakeup is text: compare it with text in quotes by ==, !=, ~, contains or in",
        ),
        (&wakeup, "prio == 'a'", "`prio` of sched_wakeup is a number: compare it with a number"),
        (&wakeup, "!(pri == 1)", "sched_wakeup has no field `pri`; did you mean `prio`?"),
        (&enter, "id == 1 || args[2] & 3", ""),
        (&fixture!("kmem.kmalloc"), "bytes_req >= 4KiB", ""),
        (
            &wakeup,
            "comm == \"a\" && prio > 100ms",
            "sched_wakeup: 100ms is a time, but nothing says what `prio` is in: write a number without a unit at character 22",
        ),
        (
            &wakeup,
            "comm > 100ms",
            "`comm` of sched_wakeup is text: compare it with text in quotes by ==, !=, ~, contains or in",
        ),
        (&enter, "args == 1", "`args` of sys_enter is an array of 6; name one element, such as args[0]"),
    ];
    for (format, text, expected) in cases {
        assert_eq!(check(format, text).err().unwrap_or_default(), expected, "{text}");
    }
}

#[test]
fn p17_errors_tell_the_line_and_never_the_text() {
    let head = "name: x\nID: 1\nformat:\n";
    let cases: [(String, usize, FormatErrorKind); 12] = [
        (String::new(), 1, FormatErrorKind::Name),
        ("name: secret\n".to_owned(), 1, FormatErrorKind::Id),
        ("name: \nID: 1\n".to_owned(), 1, FormatErrorKind::Name),
        ("name: x\nID: secret\n".to_owned(), 2, FormatErrorKind::Id),
        (format!("{head}\tfield:secret;\toffset:0;\tsize:4;\tsigned:0;\n"), 4, FormatErrorKind::Field),
        (format!("{head}\tfield:int secret;\toffset:0;\tsize:4;\n"), 4, FormatErrorKind::Field),
        (format!("{head}\tfield:int secret;\toffset:-1;\tsize:4;\tsigned:0;\n"), 4, FormatErrorKind::Field),
        (format!("{head}\tfield:int 5secret;\toffset:1;\tsize:4;\tsigned:0;\n"), 4, FormatErrorKind::Field),
        (format!("{head}\tfield:int secret[;\toffset:1;\tsize:4;\tsigned:0;\n"), 4, FormatErrorKind::Field),
        (format!("{head}\tfield:int secret;\toffset:4294967295;\tsize:4;\tsigned:0;\n"), 4, FormatErrorKind::TooLarge),
        (
            format!("{head}\tfield:int {};\toffset:1;\tsize:4;\tsigned:0;\n", "s".repeat(300)),
            4,
            FormatErrorKind::TooLarge,
        ),
        (
            format!("{head}{}", "\tfield:int secret;\toffset:8;\tsize:4;\tsigned:0;\n".repeat(2)),
            5,
            FormatErrorKind::RepeatedField,
        ),
    ];
    for (text, line, kind) in cases {
        let error = parse_event_format(text.as_bytes()).unwrap_err();
        assert_eq!((error.line, error.kind), (line, kind), "{text}");
        assert!(!error.to_string().contains("secret"));
    }
    assert_eq!(parse_event_format(b"name: x\n\xff").unwrap_err().line, 2);
    assert_eq!(parse_event_format(&vec![b' '; MAX_FORMAT_BYTES]).unwrap_err().kind, FormatErrorKind::Name);
    assert_eq!(parse_event_format(&vec![b' '; MAX_FORMAT_BYTES + 1]).unwrap_err().kind, FormatErrorKind::TooLarge);
}

#[test]
fn old_array_lengths_are_names() {
    let field = |declaration: &str, size: u32| {
        let text = format!("name: x\nID: 1\n\tfield:{declaration};\toffset:8;\tsize:{size};\tsigned:0;\n");
        parse_event_format(text.as_bytes()).unwrap().fields[0].kind
    };
    let array = |element_bytes, count| FieldKind::ArrayOf { element_bytes, count };
    let cases = [
        ("char comm[TASK_COMM_LEN]", 16, FieldKind::FixedText),
        ("unsigned char mac[ETH_ALEN]", 6, array(1, 6)),
        ("struct x y[2]", 16, FieldKind::Other),
        ("u16 a[3]", 6, array(2, 3)),
        ("u16 a[0]", 0, FieldKind::Other),
        ("u16 a[5]", 16, FieldKind::Other),
        ("int a[2][2]", 16, FieldKind::Other),
        ("struct timespec t", 8, FieldKind::Other),
        ("const char *name", 8, FieldKind::Pointer),
        ("__data_loc u8[] data", 4, FieldKind::Other),
        ("__rel_loc char[] data", 4, FieldKind::RelativeDynamicText),
        ("uuid_t id", 16, FieldKind::Other),
    ];
    for (declaration, size, expected) in cases {
        assert_eq!(field(declaration, size), expected, "{declaration}");
    }
}

#[test]
fn search_ranks_prefix_word_substring_subsequence() {
    let names = parse_available_events(include_bytes!("../../fixtures/available_events"));
    assert!(names.len() > 2000);
    let best = |query: &str, limit: usize| {
        let found = search_tracepoints(&names, query, limit);
        found.best.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(best("sched_switch", 1), ["sched:sched_switch"]);
    assert_eq!(best("SWITCH", 1), ["sched:sched_switch"]);
    assert_eq!(
        best("openat", 4),
        [
            "syscalls:sys_exit_openat",
            "syscalls:sys_enter_openat",
            "syscalls:sys_exit_openat2",
            "syscalls:sys_enter_openat2"
        ]
    );
    assert_eq!(best("enter openat", 2), ["syscalls:sys_enter_openat", "syscalls:sys_enter_openat2"]);
    assert_eq!(best("shdswtch", 1), ["sched:sched_switch"]);
    assert_eq!(best("kmem:", 100).iter().filter(|name| name.starts_with("kmem:")).count(), best("kmem:", 100).len());
    assert_eq!(search_tracepoints(&names, "", 7).total, names.len());
    assert_eq!(search_tracepoints(&names, "", 7).best.len(), 7);
    assert_eq!(search_tracepoints(&names, "no such event at all", 7).total, 0);
    assert_eq!(search_tracepoints(&names, "s", 0).best.len(), 0);
}

#[test]
fn names_that_are_none_are_left_out() {
    let names = parse_available_events(b"sched:a\n\n\xff:b\nno_colon\na:b c\nblock:x\nsched:a\n../x:y\n");
    assert_eq!(names.iter().map(ToString::to_string).collect::<Vec<_>>(), ["block:x", "sched:a"]);
}

proptest! {
    #[test]
    fn p16_garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400), query in "\\PC{0,20}") {
        let _any = parse_event_format(&bytes);
        let names = parse_available_events(&bytes);
        let _found = search_tracepoints(&names, &query, 5);
    }

    #[test]
    fn p16_mutated_formats_never_panic(
        at in 0_usize..2000, byte in any::<u8>(), cut in 0_usize..2000, field in "[a-z\\[\\].0-9]{0,12}",
    ) {
        let mut bytes = include_bytes!("../../fixtures/raw_syscalls.sys_enter.format").to_vec();
        let length = bytes.len();
        bytes[at % length] = byte;
        bytes.truncate(cut % length);
        if let Ok(format) = parse_event_format(&bytes) {
            let _columns = columns_of(&format, &[field]);
            let names: Vec<_> = format.fields.iter().map(|field| field.name.clone()).collect();
            let _columns = columns_of(&format, &names);
        }
    }
}
