#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{fmt::Write as _, path::PathBuf};

use bathyscope_plan::Diagnostic;
use proptest::prelude::*;

use super::{super::limits::*, super::*, parse_counted};

/// Compares with a file of this folder, or writes it if `BATHYSCOPE_BLESS` is set.
fn golden(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/lang/syntax/golden").join(name);
    if std::env::var_os("BATHYSCOPE_BLESS").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == actual, "{name} differs; now it is:\n{actual}");
}

/// The snippets of a file: between lines of `=====`.
fn snippets(text: &str) -> impl Iterator<Item = &str> {
    text.split("=====\n").filter(|it| !it.is_empty())
}

fn report(text: &str, errors: &[Diagnostic]) -> String {
    errors.iter().map(|it| render(text, "s", it) + "\n").collect()
}

/// The tree without places, and definitions by their text.
fn shape(script: &ast::Script, text: &str) -> String {
    let mut bare = script.clone();
    let definitions: Vec<String> =
        bare.definitions.drain(..).map(|it| definition_text(script, text, it).trim().to_owned()).collect();
    bare.skipped.clear();
    bare.warnings.clear();
    let all = format!("{bare:?} {definitions:?}");
    let mut shape = String::new();
    let mut rest = all.as_str();
    while let Some(at) = rest.find("Span { start: ") {
        shape.push_str(&rest[..at]);
        rest = &rest[at + rest[at..].find('}').unwrap() + 1..];
    }
    shape + rest
}

fn assert_prints_itself(text: &str) {
    let script = parse(text).unwrap_or_else(|errors| panic!("{}", report(text, &errors)));
    let printed = print(&script, text);
    let again = parse(&printed).unwrap_or_else(|errors| panic!("{printed}\n{}", report(&printed, &errors)));
    assert_eq!(shape(&script, text), shape(&again, &printed), "{printed}");
    assert_eq!(printed, print(&again, &printed));
}

#[test]
fn scripts_are_read_as_meant() {
    let mut all = String::new();
    for text in snippets(include_str!("golden/accepted.bt")) {
        let script = parse(text).unwrap_or_else(|errors| panic!("{}", report(text, &errors)));
        assert_prints_itself(text);
        for warning in &script.warnings {
            writeln!(all, "{}", render(text, "s", warning)).unwrap();
        }
        writeln!(all, "{}=====", print(&script, text)).unwrap();
    }
    golden("accepted.txt", &all);
}

#[test]
fn mistakes_are_told() {
    let mut all = String::new();
    for text in snippets(include_str!("golden/refused.bt")) {
        let errors = parse(text).err().unwrap_or_else(|| panic!("accepted: {text}"));
        writeln!(all, "{}=====", report(text, &errors)).unwrap();
    }
    golden("refused.txt", &all);
}

/// What binds how: each pair is the same tree.
#[test]
fn operators_bind_as_in_c() {
    let cases = [
        ("1 + 2 * 3", "1 + (2 * 3)"),
        ("1 - 2 - 3", "(1 - 2) - 3"),
        ("1 << 2 + 3", "1 << (2 + 3)"),
        ("1 & 2 == 2", "1 & (2 == 2)"),
        ("1 | 2 ^ 3 & 4", "1 | (2 ^ (3 & 4))"),
        ("1 || 2 && 3", "1 || (2 && 3)"),
        ("1 < 2 == 3 > 4", "(1 < 2) == (3 > 4)"),
        ("1 ? 2 : 3 ? 4 : 5", "1 ? 2 : (3 ? 4 : 5)"),
        ("1 ? 2 ? 3 : 4 : 5", "1 ? (2 ? 3 : 4) : 5"),
        ("1 ?: 2 ?: 3", "1 ?: (2 ?: 3)"),
        ("1 == 2 ? 3 : 4", "(1 == 2) ? 3 : 4"),
        ("-$x.y", "-($x.y)"),
        ("!$x == 1", "(!$x) == 1"),
        ("*$p.x", "*($p.x)"),
        ("(int32)$x.y + 1", "((int32)($x.y)) + 1"),
        ("(int32)-1", "(int32)(-1)"),
        ("(struct foo *)arg0->x", "(struct foo *)(arg0.x)"),
        ("$x++ + ++$y", "($x++) + (++$y)"),
        ("$x - -1", "$x - (-1)"),
        ("1 / 2 / 3 % 4", "((1 / 2) / 3) % 4"),
        ("~1 & !2", "(~1) & (!2)"),
    ];
    for (text, meaning) in cases {
        let read = |it: &str| {
            let text = format!("begin {{ $r = {it}; }}");
            let script = parse(&text).unwrap_or_else(|errors| panic!("{}", report(&text, &errors)));
            shape(&script, &text)
        };
        assert_eq!(read(text), read(meaning), "{text}");
    }
}

#[test]
fn numbers_and_texts() {
    let value = |text: &str| {
        let script = parse(&format!("begin {{ $r = {text}; }}")).ok()?;
        let ast::Item::Probe(probe) = &script.items[0] else { return None };
        match &probe.body.statements[0].kind {
            ast::StatementKind::Assign { value, .. } => Some(value.kind.clone()),
            _ => None,
        }
    };
    let number = |value, unsigned| Some(ast::ExprKind::Integer { value, unsigned });
    let numbers = [
        ("0", number(0, false)),
        ("1_000", number(1000, false)),
        ("0x1F", number(31, false)),
        ("0xffff_ffff_ffff_ffff", number(u64::MAX, true)),
        ("010", number(8, false)),
        ("2e3", number(2000, false)),
        ("1_0E2u", number(1000, true)),
        ("12ULL", number(12, true)),
        ("12L", number(12, false)),
        ("1s", number(1_000_000_000, false)),
        ("10ms", number(10_000_000, false)),
        ("3us", number(3000, false)),
        ("7ns", number(7, false)),
        ("2m", number(120_000_000_000, false)),
        ("1h", number(3_600_000_000_000, false)),
        ("1d", number(86_400_000_000_000, false)),
        ("18446744073709551615", number(u64::MAX, true)),
        ("9223372036854775807", number(i64::MAX as u64, false)),
        ("18446744073709551616", None),
        ("0b11", None),
        ("08", None),
        ("0x", None),
        ("1e", None),
        ("1e20", None),
        ("1x", None),
        ("300000d", None),
    ];
    for (text, expected) in numbers {
        assert_eq!(value(text), expected, "{text}");
    }
    let texts: [(&str, Option<&[u8]>); 9] = [
        (r#""""#, Some(b"")),
        (r#""a\n\t\r\\\"""#, Some(b"a\n\t\r\\\"")),
        (r#""\0\101\x41\xff\x1g""#, Some(b"\0AA\xff\x01g")),
        ("\"é\"", Some("é".as_bytes())),
        ("\"// no /* comment\"", Some(b"// no /* comment")),
        (r#""\q""#, None),
        (r#""\777""#, None),
        (r#""\x""#, None),
        ("\"a\nb\"", None),
    ];
    for (text, expected) in texts {
        assert_eq!(value(text), expected.map(|it| ast::ExprKind::Text(it.to_vec())), "{text}");
    }
}

#[test]
fn attach_points_are_split() {
    let cases: &[(&str, &[&str])] = &[
        ("BEGIN", &["begin"]),
        ("k:vfs_read", &["kprobe", "vfs_read"]),
        ("kfunc:nvme:nvme_reset", &["fentry", "nvme", "nvme_reset"]),
        ("kprobe:vfs_read+0x10", &["kprobe", "vfs_read+0x10"]),
        ("tracepoint:sched:sched_*", &["tracepoint", "sched", "sched_*"]),
        ("uprobe:/usr/lib/*.so:f*", &["uprobe", "/usr/lib/*.so", "f*"]),
        ("uprobe:/bin//sh:main", &["uprobe", "/bin//sh", "main"]),
        ("u:/a\\:b\\ c:f", &["uprobe", "/a:b c", "f"]),
        ("u:\"/a:b c\":cpp:\"ns::f(int, char*)\"", &["uprobe", "/a:b c", "cpp", "ns::f(int, char*)"]),
        ("usdt:/lib/libc++.so.6:libc:setjmp", &["usdt", "/lib/libc++.so.6", "libc", "setjmp"]),
        ("uprobe:zip!/lib.so:f", &["uprobe", "zip!/lib.so", "f"]),
        ("uprobe:./a.out@main.c:12", &["uprobe", "./a.out@main.c", "12"]),
        ("interval:1s", &["interval", "1s"]),
        ("profile : hz : 99", &["profile", "hz", "99"]),
        ("hardware:cache-misses:1000000", &["hardware", "cache-misses", "1000000"]),
        ("watchpoint:0x10:8:rw", &["watchpoint", "0x10", "8", "rw"]),
        ("self:signal:SIGUSR1", &["self", "signal", "SIGUSR1"]),
        ("iter:task:/sys/fs/bpf/tasks", &["iter", "task", "/sys/fs/bpf/tasks"]),
        ("*:vfs*", &["*", "vfs*"]),
        ("kprobe:$1", &["kprobe", "$1"]),
    ];
    for (text, expected) in cases {
        let point = attach_text(text).unwrap_or_else(|it| panic!("{}", render(text, "s", &it)));
        let parts: Vec<&str> = point.parts.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(&parts, expected, "{text}");
        assert_eq!(point.text, *text);
    }
    for text in ["", ":", "kprbe:f", "kprobe:f, kprobe:g", "kprobe:f/1/", "u:\"x", "k:\\"] {
        assert!(attach_text(text).is_err(), "{text}");
    }
}

#[test]
fn user_points_are_found() {
    let text = "BEGIN, uprobe:/bin/sh:main { } U:/x:y { } kprobe:f { } ur:libc:malloc { }";
    let points: Vec<String> = user_points(&parse(text).unwrap()).into_iter().map(|it| it.text).collect();
    assert_eq!(points, ["uprobe:/bin/sh:main", "U:/x:y", "ur:libc:malloc"]);
}

#[test]
fn definitions_keep_their_place_without_the_preprocessor() {
    let text = "struct a {\n#ifdef X\n int no;\n#else\n int yes;\n#endif\n};\nbegin { }";
    let script = parse(text).unwrap();
    let definition = definition_text(&script, text, script.definitions[0]);
    assert_eq!(definition.split_whitespace().collect::<Vec<_>>().join(" "), "struct a { int yes; };");
    assert_eq!(definition.find("yes"), text.find("yes"));
}

#[test]
fn limits_hold() {
    let nested = |open: &str, close: &str, count: usize| {
        format!("begin {{ $r = {}1{}; }}", open.repeat(count), close.repeat(count))
    };
    let most = MAX_DEPTH as usize;
    for (open, close) in
        [("(", ")"), ("- ", ""), ("!", ""), ("f(", ")"), ("@a[", "]"), ("(1,", ")"), ("{", "}"), ("1+", "")]
    {
        assert!(parse(&nested(open, close, 50)).is_ok(), "{open}");
        let errors = parse(&nested(open, close, most + 10)).unwrap_err();
        assert!(errors[0].message.contains("deep"), "{open}: {errors:?}");
        let endless = open.repeat(MAX_SCRIPT_BYTES / open.len() - 20);
        assert!(parse(&format!("begin {{ $r = {endless}")).is_err());
        assert!(parse(&format!("begin {{ {endless}")).is_err());
        assert!(parse(&endless).is_err());
    }
    for chain in [
        "1+",
        "$a.b,",
        "$a.b.",
        "$a[1].",
        "if 1 { } else ",
        "a ? 1 : ",
        "a ?: ",
        "{",
        "if 1 {",
        "(a)",
        "*",
        "typeof(",
        "(typeof(",
        "f(typeof(",
    ] {
        let endless = chain.repeat(60_000 / chain.len());
        assert!(parse(&format!("begin {{ $r = {endless}")).is_err(), "{chain}");
        assert!(parse(&format!("begin {{ {endless}")).is_err(), "{chain}");
    }
    assert!(parse(&" ".repeat(MAX_SCRIPT_BYTES)).is_ok());
    assert!(parse(&" ".repeat(MAX_SCRIPT_BYTES + 1)).is_err());
    let points = |count: usize| format!("{} {{ }}", vec!["kprobe:f"; count].join(","));
    assert!(parse(&points(MAX_POINTS)).is_ok());
    assert!(parse(&points(MAX_POINTS + 1)).is_err());
    let many = "begin { $x = ; }\n".repeat(100);
    assert_eq!(parse(&many).unwrap_err().len(), MAX_DIAGNOSTICS);
}

/// On a small stack too, as threads of an agent may have.
#[test]
fn the_deepest_scripts_need_little_stack() {
    let texts: Vec<String> = ["(", "{", "if 1 {", "f(@a[(", "$x = {", "(int32)(", "1 ? "]
        .iter()
        .map(|it| format!("begin {{ {}", it.repeat(2000)))
        .chain(["(", "f("].iter().map(|it| format!("begin {{ $r = {}1{}; }}", it.repeat(250), ")".repeat(250))))
        .collect();
    let run = move || texts.iter().filter(|it| parse(it).is_ok()).count();
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap();
    assert_eq!(thread.join().unwrap(), 2);
}

#[test]
fn work_grows_only_with_the_text() {
    let pieces = [
        "begin { $x = ((((1 + 2) * 3) - f(a, b)) / 4); } ",
        "kprobe:f /(pid) == 1/ { @x[(struct a *)arg0, typeof(b) *] = count(); } ",
        "#ifdef X\nbegin { }\n#else\nend { }\n#endif\n",
        "#if 0\n#if 1\n#endif\n#endif\n",
        "struct a { int x[4]; };\n",
        "begin { (a * * * * * * * b); (((((x)))); f(a[1][1][1][1] } ",
        "/* comment */ // another\n",
        "(a ** (a ** (a ** ",
        "\"text\" 'x' ",
        "            #",
        "begin { if 1 { } else if 2 { } else { { { 1 } } } } ",
        "f(typeof(typeof(x) *) *) ",
        "{ typeof(typeof(typeof(typeof(",
    ];
    for piece in pieces {
        let work = |bytes: usize| {
            let text = piece.repeat(bytes / piece.len());
            parse_counted(&text).1.max(1) / (text.len() as u64)
        };
        let (small, large) = (work(4_000).max(1), work(60_000));
        assert!(large <= small * 2 && large < 100, "{piece}: {small} → {large} steps per byte");
    }
}

/// Real scripts for mutations.
fn corpus() -> Vec<&'static str> {
    snippets(include_str!("golden/accepted.bt")).collect()
}

const WORDS: &[&str] = &[
    "begin",
    "kprobe:f",
    "tracepoint:a:b",
    "uprobe:/x:y",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "?",
    ".",
    "->",
    "$x",
    "@m",
    "@",
    "$1",
    "$#",
    "1",
    "0x1f",
    "\"t\"",
    "if",
    "else",
    "for",
    "while",
    "unroll",
    "let",
    "macro",
    "config",
    "=",
    "==",
    "+",
    "-",
    "*",
    "/",
    "/",
    "&",
    "++",
    "--",
    "sizeof",
    "offsetof",
    "typeof",
    "struct",
    "s",
    "int32",
    "comptime",
    "..",
    "return",
    "break",
    "#define A 1\n",
    "#if 1\n",
    "#endif\n",
    "#else\n",
    "//",
    "/*",
    "*/",
    "\n",
    "true",
    "_",
    "'",
];

#[test]
fn a_types_name_as_a_condition_prints_itself() {
    survives("begin { if int32 { print(1) } else { print(2) } while char { } unroll uint8 { } }");
}

/// Whatever is read: no panic, errors within the text, rendering works, and what is accepted prints itself.
fn survives(text: &str) {
    match parse(text) {
        Ok(script) => {
            let printed = print(&script, text);
            if script.defines.is_empty() && printed.len() <= MAX_SCRIPT_BYTES {
                let again =
                    parse(&printed).unwrap_or_else(|it| panic!("{text}\n→\n{printed}\n{}", report(&printed, &it)));
                assert_eq!(shape(&script, text), shape(&again, &printed), "{printed}");
            }
            drop(expand(&script, &ExpandOptions::default()));
        }
        Err(errors) => {
            assert!(!errors.is_empty() && errors.len() <= MAX_DIAGNOSTICS);
            for error in &errors {
                assert!(error.start <= error.end && error.end as usize <= text.len() + 1, "{error:?}");
                assert!(!render(text, "s", error).is_empty());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_survived(text in "\\PC{0,200}") {
        survives(&text);
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        survives(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_words_are_survived(words in proptest::collection::vec(proptest::sample::select(WORDS), 0..60), blanks: bool) {
        let text = words.join(if blanks { " " } else { "" });
        survives(&text);
        survives(&format!("begin {{ {text} }}"));
        survives(&format!("begin {{ $x = {text}; }}"));
    }

    #[test]
    fn changed_scripts_are_survived(
        index in any::<prop::sample::Index>(), from in any::<prop::sample::Index>(), length in 0_usize..12,
        word in proptest::sample::select(WORDS),
    ) {
        let corpus = corpus();
        let text = corpus[index.index(corpus.len())];
        let start = text.floor_char_boundary(from.index(text.len() + 1));
        let end = text.ceil_char_boundary(start + length);
        survives(&format!("{}{word}{}", &text[..start], &text[end..]));
        survives(&text[..start]);
    }
}
