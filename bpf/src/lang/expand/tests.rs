#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{fmt::Write as _, path::PathBuf};

use bathyscope_plan::{MissingProbes, StackMode};

use super::{
    super::{parse, print, render},
    *,
};

/// Compares with a file of this folder, or writes it if `BATHYSCOPE_BLESS` is set.
fn golden(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/lang/expand/golden").join(name);
    if std::env::var_os("BATHYSCOPE_BLESS").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == actual, "{name} differs; now it is:\n{actual}");
}

/// Expands a snippet with the parameters that its first line gives.
fn expanded(text: &str) -> Result<Expanded, String> {
    let report = |errors: Vec<Diagnostic>| errors.iter().map(|it| render(text, "s", it) + "\n").collect::<String>();
    let params = text.lines().next().and_then(|it| it.strip_prefix("// params: ")).unwrap_or_default();
    let params = params.split_whitespace().map(str::to_owned).collect();
    let script = parse(text).map_err(report)?;
    expand(&script, &ExpandOptions { params, environment: Vec::new() }).map_err(report)
}

fn snippets(text: &str) -> impl Iterator<Item = &str> {
    text.split("=====\n").filter(|it| !it.is_empty())
}

#[test]
fn scripts_become_what_they_mean() {
    let mut all = String::new();
    for text in snippets(include_str!("golden/accepted.bt")) {
        let expanded = expanded(text).unwrap_or_else(|it| panic!("{it}"));
        let bare = Script { defines: Vec::new(), ..expanded.script };
        let printed = print(&bare, text);
        parse(&printed).unwrap_or_else(|it| panic!("{printed}{it:?}"));
        writeln!(all, "{printed}=====").unwrap();
    }
    golden("accepted.txt", &all);
}

#[test]
fn mistakes_are_told() {
    let mut all = String::new();
    for text in snippets(include_str!("golden/refused.bt")) {
        let Err(report) = expanded(text) else { panic!("accepted: {text}") };
        writeln!(all, "{report}=====").unwrap();
    }
    golden("refused.txt", &all);
}

#[test]
fn settings_are_read() {
    let text = "config = { max_strlen = 64, BPFTRACE_MAX_MAP_KEYS = 0x10; stack_mode = \"perf\"; missing_probes = warn;\n\
        print_maps_on_exit = false; str_trunc_trailer = \"…\"; perf_rb_pages = 3; license = \"Dual BSD/GPL\"; log_size = 5;\n\
        max_strlen = 65; lazy_symbolication = 0; cpp_demangle = 0; on_stack_limit = 64; max_cat_bytes = 5;\n\
        max_bpf_progs = 7; max_probes = 8; cache_user_symbols = PER_PID; unstable_tseries = enable }";
    let script = parse(text).unwrap();
    let expanded = expand(&script, &ExpandOptions::default()).unwrap();
    let expected = Config {
        max_strlen: 65,
        max_map_keys: 16,
        stack_mode: StackMode::Perf,
        missing_probes: MissingProbes::Warn,
        print_maps_on_exit: false,
        str_trunc_trailer: "…".to_owned(),
        ring_bytes: 16_384,
        license: "Dual BSD/GPL".to_owned(),
        lazy_symbolication: false,
        cpp_demangle: false,
        on_stack_limit: 64,
        max_cat_bytes: 5,
        max_bpf_programs: 7,
        max_probes: 8,
    };
    assert_eq!(expanded.config, expected);
    let warnings: Vec<&str> = expanded.warnings.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        warnings,
        [
            "the setting `log_size` has no effect here",
            "`max_strlen` is set twice; the last value counts",
            "the setting `cache_user_symbols` has no effect here",
            "the setting `unstable_tseries` has no effect here",
        ]
    );
}

#[test]
fn the_environment_wins() {
    let script = parse("config = { max_strlen = 64 }").unwrap();
    let with = |pairs: &[(&str, &str)]| {
        let environment = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        expand(&script, &ExpandOptions { params: Vec::new(), environment })
    };
    let pairs = [
        ("BPFTRACE_STRLEN", "128"),
        ("BPFTRACE_STACK_MODE", "raw"),
        ("BPFTRACE_COLOR", "always"),
        ("BPFTRACE_NO_CPP_DEMANGLE", "1"),
        ("PATH", "/bin"),
        ("BPFTRACE_MAX_STRLN", "5"),
    ];
    let expanded = with(&pairs).unwrap();
    assert_eq!((expanded.config.max_strlen, expanded.config.stack_mode), (128, StackMode::Raw));
    assert!(!expanded.config.cpp_demangle);
    assert_eq!(expanded.warnings.len(), 1);
    assert_eq!(expanded.warnings[0].hint, "did you mean `max_strlen`?");
    let errors = with(&[("BPFTRACE_MAX_STRLEN", "many")]).unwrap_err();
    assert!(errors[0].message.contains("`many`, and must be a number from 1 to"), "{errors:?}");
}

#[test]
fn options_are_listed_for_help() {
    let text = "#define DEPTH 7\nmacro f() { getopt(\"in_macro\", \"x\") }\n\
        begin /getopt(\"verbose\")/ { f(); $d = getopt(\"depth\", DEPTH, \"how deep\"); $e = getopt(\"depth\", 8); getopt(5); }";
    let script = parse(text).unwrap();
    let option = |name: &str, kind, description: &str| ScriptOption {
        name: name.to_owned(),
        kind,
        description: description.to_owned(),
    };
    let expected = [
        option("in_macro", OptionKind::Text(b"x".to_vec()), ""),
        option("verbose", OptionKind::Bool(false), ""),
        option("depth", OptionKind::Integer(7), "how deep"),
    ];
    assert_eq!(script_options(&script), expected);
}

#[test]
fn words_after_two_dashes_are_positional() {
    let script = parse("begin { print($#); print(str($1)); print($2); }").unwrap();
    let params = ["--", "--x", "-1"].map(str::to_owned).to_vec();
    let expanded = expand(&script, &ExpandOptions { params, environment: Vec::new() }).unwrap();
    assert_eq!(print(&expanded.script, ""), "begin {\n    print(2);\n    print(\"--x\");\n    print(-1);\n}\n");
}

#[test]
fn numbers_of_parameters() {
    let cases = [
        ("12", Some(12)),
        ("-12", Some(-12)),
        ("0x1F", Some(31)),
        ("010", Some(8)),
        ("1_000", Some(1000)),
        ("18446744073709551615", Some(i128::from(u64::MAX))),
        ("-9223372036854775808", Some(i128::from(i64::MIN))),
        ("-9223372036854775809", None),
        ("18446744073709551616", None),
        ("5s", None),
        ("1e3", None),
        ("0xg", None),
        ("", None),
        ("-", None),
        ("--1", None),
        ("1.5", None),
        ("0x1 ", None),
    ];
    for (text, expected) in cases {
        assert_eq!(params::integer(text), expected, "{text}");
    }
}

#[test]
fn constants_are_computed() {
    let text = "#define A 4\n#define B (A << 2 | 1)\n#define C D\n#define D C\n#define E \"x\"\n#define F\n#define G ~0\n#define H A/0\n\
        #define I (A > 3 && !F2)\n#define J -B";
    let expanded = expand(&parse(text).unwrap(), &ExpandOptions::default()).unwrap();
    let expected = [("A", 4), ("B", 17), ("G", -1), ("J", -17)];
    assert_eq!(expanded.constants, expected.map(|(name, value)| (name.to_owned(), value)).into());
}

#[test]
fn limits_hold_on_little_stack() {
    let deep = |count: usize| format!("begin {{ $x = {}1{}; }}", "f(".repeat(count), ")".repeat(count));
    let chain: String =
        (0..100).map(|it| format!("#define A{it} {}A{}{}\n", "1+(".repeat(120), it + 1, ")".repeat(120))).collect();
    let texts = [
        format!("macro f(x) {{ {{ x + 1 }} }} {}", deep(200)),
        format!("macro f(x) {{ let $y = x; $y }} {}", deep(200)),
        format!("macro f(x) {{ f2(x) }} macro f2(x) {{ x }} {}", deep(200)),
        format!("{chain}begin {{ $x = A0; }}"),
        (0..5000).map(|it| format!("macro f{it}() {{ f{}() }}\n", it + 1)).take(2500).collect::<String>()
            + "begin { f0(); }",
        (0..60).map(|it| format!("macro f{it}() {{ f{0}(); f{0}(); }}\n", it + 1)).collect::<String>()
            + "begin { f0(); }",
        (0..40).map(|it| format!("#define A{it} A{0}+A{0}\n", it + 1)).collect::<String>() + "begin { print(A0); }",
    ];
    let run = move || texts.iter().map(|it| expanded(it).err().unwrap_or_default()).collect::<Vec<_>>();
    let thread = std::thread::Builder::new().stack_size(3 << 19).spawn(run).unwrap();
    let reports = thread.join().unwrap();
    for (index, says) in [
        "levels deep",
        "levels deep",
        "",
        "levels deep",
        "within each other",
        "more than 100000 parts",
        "more than 100000 parts",
    ]
    .iter()
    .enumerate()
    {
        assert!(reports[index].contains(says), "{index}: {}", reports[index]);
    }
}
