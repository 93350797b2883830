//! What concerns the checker as a whole: that it never panics, ends in time, and answers the editor.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use proptest::prelude::*;

use super::{CheckOptions, Completion, check, checker::ScriptChecker, complete, hover};
use crate::lang::{ExpandOptions, expand, parse, recorded::RecordedHost};

const SCRIPTS: [&str; 8] = [
    include_str!("../../../tests/check/arguments.bt"),
    include_str!("../../../tests/check/everything.bt"),
    include_str!("../../../tests/check/latency.bt"),
    include_str!("../../../tests/check/maps.bt"),
    include_str!("../../../tests/check/network.bt"),
    include_str!("../../../tests/check/one_liners.bt"),
    include_str!("../../../tests/check/syscalls.bt"),
    include_str!("../../../tests/check/types.bt"),
];

fn host() -> &'static RecordedHost {
    static HOST: std::sync::OnceLock<RecordedHost> = std::sync::OnceLock::new();
    HOST.get_or_init(|| RecordedHost::new("6.18").unwrap())
}

fn steps(text: &str) -> u64 {
    let Ok(script) = parse(text) else { return 0 };
    let Ok(expanded) = expand(&script, &ExpandOptions::default()) else { return 0 };
    let options = CheckOptions { unsafe_allowed: true, pid: None };
    let mut checker = ScriptChecker::new(&expanded, text, host(), &options);
    let _checked = checker.run(&expanded.warnings);
    checker.steps
}

/// The words of all scripts, to be put where they do not belong.
fn words() -> Vec<&'static str> {
    let mut words: Vec<&str> = SCRIPTS
        .iter()
        .flat_map(|text| text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$' && c != '@'))
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Parts of scripts are exchanged for parts of others: most still parse, few make sense.
    #[test]
    fn mutated_scripts_never_panic(
        script in 0..SCRIPTS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6),
    ) {
        let words = words();
        let mut parts: Vec<&str> = SCRIPTS[script]
            .split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$' && c != '@')
            .collect();
        for (place, word) in changes {
            let last = parts.len();
            parts[place.index(last)] = words[word.index(words.len())];
        }
        let text: String = parts.concat();
        if let Ok(script) = parse(&text)
            && let Ok(expanded) = expand(&script, &ExpandOptions::default())
        {
            match check(&expanded, &text, host(), &CheckOptions::default()) {
                Ok(script) => prop_assert!(!script.to_string().is_empty()),
                Err(said) => prop_assert!(said.iter().all(|it| it.start <= it.end && !it.message.is_empty())),
            }
        }
    }

    /// The editor asks at any place of anything.
    #[test]
    fn the_editor_may_ask_anywhere(script in 0..SCRIPTS.len(), at in any::<prop::sample::Index>()) {
        let text = SCRIPTS[script];
        let offset = u32::try_from(at.index(text.len() + 1)).unwrap();
        for offered in complete(text, offset, host()) {
            prop_assert!(offered.replace.end == offset && offered.replace.start <= offset);
        }
        let _shown = hover(text, offset, host());
    }
}

#[test]
fn the_work_grows_with_the_script() {
    let statement =
        "@a[pid, comm] = nsecs; $x = @a[1, \"x\"] + 1; if ($x > 5) { printf(\"%d\\n\", $x); } @b = hist($x * 2);\n";
    let of = |count: usize| steps(&format!("begin {{ {} }}", statement.repeat(count)));
    let (few, many) = (of(20), of(400));
    assert!(few > 0 && many <= few * 21, "{few} steps for 20 statements, {many} for 400");
}

#[test]
fn depth_is_no_trouble() {
    let deep = format!("begin {{ $x = {}1{}; }}", "(".repeat(200), ")".repeat(200));
    let long = format!("begin {{ $x = 1{}; }}", " + pid".repeat(200));
    let nested = format!("begin {{ {} exit(); {} }}", "if (pid) { ".repeat(200), "}".repeat(200));
    let members = format!("begin {{ $x = curtask{}.pid; print($x); }}", ".real_parent".repeat(200));
    for text in [deep, long, nested, members] {
        assert!(steps(&text) > 0, "{text}");
    }
}

#[test]
fn a_chain_of_maps_is_understood() {
    let script = "end { @a = @b; @b = @c; @c = @d; @d = @e; @e = nsecs; print(@a); }";
    let expanded = expand(&parse(script).unwrap(), &ExpandOptions::default()).unwrap();
    let checked = check(&expanded, script, host(), &CheckOptions::default()).unwrap();
    assert!(checked.maps.iter().all(|map| map.value == bathyscope_plan::Type::U64), "{checked}");
}

/// What is offered where `|` stands, by its labels.
fn offered(text: &str) -> Vec<String> {
    let offset = u32::try_from(text.find('|').unwrap()).unwrap();
    let text = text.replacen('|', "", 1);
    complete(&text, offset, host()).into_iter().map(|it: Completion| it.label).collect()
}

#[test]
fn completions_fit_their_place() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("trac|", &["tracepoint"], &["print"]),
        ("begin { exit(); }\nkp|", &["kprobe"], &["tracepoint"]),
        ("tracepoint:sch|", &["sched"], &["syscalls"]),
        ("tracepoint:sched:sched_sw|", &["sched_switch", "sched_swap_numa"], &["sched_wakeup"]),
        (
            "begin, tracepoint:syscalls:sys_enter_opena|",
            &["sys_enter_openat", "sys_enter_openat2"],
            &["sys_enter_open"],
        ),
        ("kprobe:vfs_rea|", &["vfs_read", "vfs_readv"], &["vfs_write"]),
        ("rawtracepoint:sched_sw|", &["sched_switch"], &[]),
        ("software:page|", &["page-faults"], &["cpu-clock"]),
        ("iter:|", &["task", "task_file", "task_vma"], &[]),
        ("config = { max_| }", &["max_strlen", "max_map_keys"], &["stack_mode"]),
        ("tracepoint:syscalls:sys_enter_openat { print(str(args.|", &["filename", "dfd", "flags"], &["pid"]),
        ("tracepoint:syscalls:sys_enter_openat { print(str(args.fi| ", &["filename"], &["dfd"]),
        ("tracepoint:syscalls:sys_enter_openat /args.d|", &["dfd"], &["filename"]),
        ("fentry:vfs_read { $x = 1; if (args.file.f_in|", &["f_inode"], &["f_op"]),
        ("kprobe:vfs_read { $f = (struct file *)arg0; printf(\"%d\", $f->f_inode.i_i|", &["i_ino"], &["i_mode"]),
        ("kprobe:vfs_read { print(((struct file *)arg0).f_fl|", &["f_flags"], &["f_mode"]),
        (
            "struct pair { int first; int second; };\nkprobe:vfs_read { $p = (struct pair *)arg0; $p.|",
            &["first", "second"],
            &[],
        ),
        ("begin { @x[1] = (1, \"a\"); for ($kv : @x) { print($kv.|", &["0", "1"], &["2"]),
        ("begin { @x[1] = (a = 1, b = 2); print(@x[1].|", &["a", "b"], &[]),
        ("iter:task { print(ctx.|", &["task", "meta"], &[]),
        ("begin { $count = 1; $comma = 2; print($co|", &["comma", "count"], &[]),
        ("begin { @start = 1; @stop = 2; print(@st|", &["start", "stop"], &[]),
        ("begin { pri|", &["print", "printf"], &["strlen"]),
        ("begin { print(str|", &["str", "strlen", "strerror", "string"], &["print"]),
        ("begin { print(TCP_EST|", &["TCP_ESTABLISHED"], &[]),
        ("begin { print(AF_INE|", &["AF_INET", "AF_INET6"], &[]),
        ("kprobe:vfs_read { $x = (struct task_str|", &["task_struct"], &["file"]),
        ("begin { print(\"pi|", &[], &["pid"]),
        ("begin { // pi|", &[], &["pid"]),
        ("macro twice(x) { x * 2 }\nbegin { print(twi|", &["twice"], &[]),
    ];
    for (text, expected, absent) in cases {
        let found = offered(text);
        for label in *expected {
            assert!(found.iter().any(|it| it == label), "{text}: no {label} in {found:?}");
        }
        for label in *absent {
            assert!(!found.iter().any(|it| it == label), "{text}: {label} in {found:?}");
        }
    }
}

#[test]
fn the_cursor_shows_types() {
    let cases = [
        ("begin { $x = ns|ecs; }", "nsecs([clock]) → uint64", "Here: uint64."),
        ("begin { $x = comm; print($|x); }", "string[16]", ""),
        ("begin { @start[tid] = nsecs; print(@st|art[tid]); }", "@start[uint32] = uint64", "A map."),
        ("fentry:vfs_read { print(args.fi|le); }", "struct file *", ""),
        ("fentry:vfs_read { print(args.file.f_ino|de.i_ino); }", "struct inode *", ""),
        ("begin { pri|ntf(\"hello\"); }", "printf(format, …)", "Shows values by a format."),
    ];
    for (text, title, about) in cases {
        let offset = text.find('|').unwrap();
        let text = text.replacen('|', "", 1);
        let shown = hover(&text, u32::try_from(offset).unwrap(), host()).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(shown.title, title, "{text}");
        assert!(shown.about.contains(about), "{text}: {}", shown.about);
    }
}

#[test]
fn the_reference_is_whole() {
    let all = super::reference();
    assert!(all.len() > 90);
    for it in &all {
        assert!(!it.signature.is_empty() && it.about.ends_with('.'), "{}", it.name);
    }
    let mut names: Vec<&str> = all.iter().map(|it| it.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}
