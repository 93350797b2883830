//! Events of perf: text → numbers, canonical text, errors.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use bathyscope_catalog::perf_events::{
    CounterUnit, EventSource, MAX_EVENTS, PerfEvent, PerfEventError, PmuFormat, ProcCounter, ProcFile, Term,
    encode_terms, listed, parse_event, parse_events, read_proc_counters, usual_events,
};

fn fixed(text: &str) -> (u32, u64) {
    match parse_event(text).unwrap().source {
        EventSource::Fixed { type_, config } => (type_, config),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn names_become_the_numbers_of_the_kernels_header() {
    let cases = [
        ("cycles", (0, 0)),
        ("cpu-cycles", (0, 0)),
        ("instructions:u", (0, 1)),
        ("cache-misses", (0, 3)),
        ("branch-instructions", (0, 4)),
        ("branches", (0, 4)),
        ("branch-misses", (0, 5)),
        ("idle-cycles-backend", (0, 8)),
        ("ref-cycles", (0, 9)),
        ("cpu-clock", (1, 0)),
        ("task-clock", (1, 1)),
        ("faults", (1, 2)),
        ("cs", (1, 3)),
        ("migrations", (1, 4)),
        ("major-faults", (1, 6)),
        ("cgroup-switches", (1, 11)),
        ("L1-dcache-loads", (3, 0)),
        ("L1-dcache-load-misses", (3, 0x1_0000)),
        ("l1-dcache-stores", (3, 0x100)),
        ("L1-icache-load-misses", (3, 0x1_0001)),
        ("LLC-loads", (3, 2)),
        ("LLC-store-misses", (3, 0x1_0102)),
        ("llc-misses", (3, 0x1_0002)),
        ("dTLB-prefetches", (3, 0x203)),
        ("iTLB-load-misses", (3, 0x1_0004)),
        ("branch-loads", (3, 5)),
        ("node-prefetch-misses", (3, 0x1_0206)),
        ("r1a8", (4, 0x1a8)),
        ("rffffffffffffffff", (4, u64::MAX)),
        ("r003c:u", (4, 0x3c)),
    ];
    for (text, expected) in cases {
        assert_eq!(fixed(text), expected, "{text}");
    }
}

#[test]
fn texts_become_canonical_and_come_back() {
    let cases = [
        ("cpu-cycles:ku", "cycles:uk"),
        ("l1d-load-misses", "L1-dcache-load-misses"),
        ("r0x1a8", "r1a8"),
        ("faults:u", "page-faults:u"),
        ("cycles:ppp", "cycles:ppp"),
        ("cycles:P", "cycles:ppp"),
        ("sched:sched_switch", "sched:sched_switch"),
        ("probe_libc:malloc:u", "probe_libc:malloc:u"),
        ("mem:0x1000", "mem:0x1000/4:rw"),
        ("mem:4096/8:w", "mem:0x1000/8:w"),
        ("mem:0x1000:x:k", "mem:0x1000/8:x:k"),
        ("cpu/event=60,umask=0x1,inv/u", "cpu/event=0x3c,umask=0x1,inv/u"),
        ("uncore_imc_0/cas_count_read/", "uncore_imc_0/cas_count_read/"),
        ("cycles:HGI", "cycles:GHI"),
        (" memory:available", "memory:available"),
        ("vm:mine", "vm:mine"),
    ];
    for (text, canonical) in cases {
        let event = parse_event(text).unwrap();
        assert_eq!(event.to_string(), canonical, "{text}");
        assert_eq!(parse_event(canonical).unwrap(), event, "{text}");
    }
    for listed in listed() {
        assert_eq!(parse_event(&listed.name).unwrap().to_string(), listed.name);
        if let Some(alias) = listed.alias {
            assert_eq!(parse_event(&alias).unwrap().to_string(), listed.name);
        }
    }
}

#[test]
fn lists_have_groups() {
    let list = "cycles,{instructions,cpu/event=0x1,umask=0x2/}:u, mem:0x10/4:r,{page-faults:k}:u";
    let texts: Vec<Vec<String>> =
        parse_events(list).unwrap().iter().map(|group| group.iter().map(PerfEvent::to_string).collect()).collect();
    let expected = [
        vec!["cycles"],
        vec!["instructions:u", "cpu/event=0x1,umask=0x2/u"],
        vec!["mem:0x10/4:r"],
        vec!["page-faults:uk"],
    ];
    assert_eq!(texts, expected);
}

#[test]
fn mistakes_are_told_with_what_was_probably_meant() {
    let cases = [
        ("cylces", "did you mean `cycles`?"),
        ("instrucions:u", "did you mean `instructions`?"),
        ("L1-dcache-load-mises", "did you mean `L1-dcache-load-misses`?"),
        ("iTLB-stores", "there is no event `iTLB-stores`"),
        ("rxyz", "there is no event"),
        ("r-1", "there is no event"),
        ("r12345678123456789", "there is no event"),
        ("cycles:z", "`z` is no modifier"),
        ("cycles:S", "without it each of the group is sampled"),
        ("cycles:pppp", "`p` is no modifier"),
        ("", "it is empty"),
        ("{cycles", "a `}` is missing"),
        ("{cycles,{cs}}", "groups cannot be in groups"),
        ("{cycles}u", "after `}`"),
        ("cycles,,cs", "it is empty"),
        ("mem:x", "write mem:ADDRESS"),
        ("mem:0x10/3", "1, 2, 4 or 8"),
        ("mem:0x10/4:rx", "r, w, rw or x"),
        ("mem:0x10/4:r:u:k", "nothing can stand"),
        ("cpu/event", "write PMU/FIELD"),
        ("../x/", "write PMU/FIELD"),
        ("../a=1/", "write PMU/FIELD"),
        ("cpu/..=1/", "write PMU/FIELD"),
        ("cpu/event=zz/", "write PMU/FIELD"),
        ("a:../b", "cannot be read"),
        ("memory:availble", "did you mean `memory:available`?"),
        ("pressure:io-sum", "did you mean `pressure:io-some`?"),
        ("vm:pgscan-direct", "did you mean `vm:pgscan_direct`?"),
        ("available", "did you mean `memory:available`?"),
        ("memory:free:u", "takes no modifiers"),
        ("vm:pswpin:", "takes no modifiers"),
    ];
    for (text, expected) in cases {
        let error = parse_events(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let many = vec!["cs"; MAX_EVENTS + 1].join(",");
    assert!(matches!(parse_events(&many), Err(PerfEventError::TooMany { .. })));
    assert!(matches!(parse_events(&"x".repeat(1 << 20)), Err(PerfEventError::TooMany { .. })));
}

#[test]
fn hardware_has_a_nearest_software_event() {
    let nearest = |text: &str| parse_event(text).unwrap().nearest_software();
    assert_eq!(nearest("cycles"), Some("cpu-clock"));
    assert_eq!(nearest("LLC-load-misses"), Some("page-faults"));
    assert_eq!(nearest("cpu/event=1/"), Some("cpu-clock"));
    assert_eq!(nearest("cs"), None);
    for name in ["duration_time", "user_time", "system_time"] {
        let event = parse_event(name).unwrap();
        assert!(matches!(event.source, EventSource::Tool(_)) && event.to_string() == name && !event.is_clock());
        assert!(parse_event(&format!("{name}:u")).is_err(), "{name}");
    }
    assert!(parse_event("task-clock:u").unwrap().is_clock() && !parse_event("cycles").unwrap().is_clock());
}

#[test]
fn usual_events_are_events() {
    let counts = [0, 1, 2, 3, 9].map(|detail| usual_events(detail, false).len());
    assert_eq!(counts, [8, 12, 18, 20, 20]);
    for event in usual_events(3, true) {
        assert_eq!(parse_event(event).unwrap().to_string(), event);
    }
    assert_eq!((usual_events(0, true)[0], usual_events(0, false)[0]), ("cpu-clock", "task-clock"));
}

#[test]
fn fields_of_a_pmu_are_bits() {
    let format = |name: &str| {
        Some(match name {
            "event" => "config:0-7,32-35\n".to_owned(),
            "umask" => "config:8-15".to_owned(),
            "inv" => "config:23".to_owned(),
            "ldlat" => "config1:0-15".to_owned(),
            "bad" => "configx:1".to_owned(),
            _ => return None,
        })
    };
    let event = |name: &str| match name {
        "mem-loads" => Some("event=0xcd,umask=0x1,ldlat=?\n".to_owned()),
        "loop" => Some("loop".to_owned()),
        _ => None,
    };
    let encode = |text: &str| {
        let EventSource::Pmu { terms, .. } = parse_event(&format!("cpu/{text}/")).unwrap().source else { panic!() };
        encode_terms(&terms, &format, &event).map(|config| config.words)
    };
    assert_eq!(encode("event=0x3c,umask=1"), Ok([0x13c, 0, 0, 0]));
    assert_eq!(encode("event=0xa3c,inv"), Ok([0xa_0080_003c, 0, 0, 0]));
    assert_eq!(encode("mem-loads,ldlat=30"), Ok([0x1cd, 30, 0, 0]));
    assert_eq!(encode("config=0x12,config2=7"), Ok([0x12, 0, 7, 0]));
    assert!(matches!(encode("umask=0x100"), Err(PerfEventError::TermValue { bits: 8, .. })));
    assert!(matches!(encode("nothing=1"), Err(PerfEventError::Term { .. })));
    assert!(matches!(encode("loop"), Err(PerfEventError::Term { .. })));
    assert!(matches!(encode("bad=1"), Err(PerfEventError::Format { .. })));
    for bad in ["config:8-7", "config:64", "config", "config:", "config:a", "config:0-63,0-63"] {
        assert_eq!(PmuFormat::parse(bad), None, "{bad}");
    }
    assert_eq!(PmuFormat::parse("config:0-63").map(|format| format.bits()), Some(64));
    let all = [Term { name: "all".to_owned(), value: Some(u64::MAX) }];
    let words = encode_terms(&all, &|_| Some("config:0-63".to_owned()), &|_| None).map(|config| config.words);
    assert_eq!(words, Ok([u64::MAX, 0, 0, 0]));
}

const PRESSURE: &str = "some avg10=7.55 avg60=7.97 avg300=12.39 total=21539870687\n\
    full avg10=0.00 avg60=0.00 avg300=0.00 total=105274983\n";
const MEMORY: &str = "MemTotal:       24684092 kB\nMemFree:        13771648 kB\nMemAvailable:   22638176 kB\n\
    Active(anon):       1540 kB\nActive:          2867056 kB\nSwapTotal:       2000 kB\nSwapFree:        500 kB\n\
    HugePages_Total:       3\n";
const STAT: &str = "nr_dirty 102116\npgpgin 151233381\npswpin 7\nallocstall_normal 5\nallocstall_movable 6\n\
    pgscan_direct_throttle 99\npgscan_direct 12\noom_kill 1\n";

#[test]
fn counters_are_read_from_the_texts_of_the_kernel() {
    let cases = [
        ("pressure:io-some", PRESSURE, Some(21_539_870_687_000)),
        ("pressure:memory-full", PRESSURE, Some(105_274_983_000)),
        ("pressure:memory-full", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n", None),
        ("pressure:io-some", "some total=1\nsome total=2\n", Some(1000)),
        ("memory:total", MEMORY, Some(24_684_092 << 10)),
        ("memory:active", MEMORY, Some(2_867_056 << 10)),
        ("memory:swap-used", MEMORY, Some(1500 << 10)),
        ("memory:swap-used", "SwapTotal: 9 kB\n", None),
        ("memory:swap-used", "SwapFree: 9 kB\nSwapTotal: 5 kB\n", Some(0)),
        ("memory:dirty", MEMORY, None),
        ("vm:pgpgin", STAT, Some(151_233_381 << 10)),
        ("vm:pswpin", STAT, Some(7)),
        ("vm:pgscan_direct", STAT, Some(12)),
        ("vm:allocstall", STAT, Some(11)),
        ("vm:allocstall", "allocstall 4", Some(4)),
        ("vm:workingset_refault", STAT, None),
        // Cut in the middle, empty, and what is no number.
        ("memory:free", "MemTotal: 5 kB\nMemFr", None),
        ("memory:free", "MemFree:", None),
        ("memory:free", "MemFree: -5 kB", None),
        ("memory:free", "MemFree: +5 kB", None),
        ("memory:free", "MemFree: 0x5 kB", None),
        ("memory:free", "MemFree: 18446744073709551616 kB", None),
        ("memory:free", "MemFree: 18446744073709551615 kB", Some(u64::MAX)),
        ("vm:allocstall", "allocstall_dma 18446744073709551615\nallocstall_normal 9", Some(u64::MAX)),
        ("pressure:io-some", "some avg10=0.00 total=", None),
        ("pressure:io-some", "some", None),
        ("vm:oom_kill", "", None),
        ("vm:oom_kill", "\n\n \n\u{fffd}\u{0}oom_kill 1\n", None),
        ("vm:oom_kill", "\n  oom_kill\t\t3 and more\n", Some(3)),
    ];
    for (name, text, expected) in cases {
        let counter = ProcCounter::named(name).unwrap();
        assert_eq!(read_proc_counters(counter.file(), text.as_bytes(), &[counter]), [expected], "{name} in {text:?}");
    }
    // In one go, in the order that was asked for, and none of another file.
    let counters =
        ["memory:free", "vm:pswpin", "memory:available", "memory:free"].map(|it| ProcCounter::named(it).unwrap());
    let values = read_proc_counters(ProcFile::MemoryInfo, MEMORY.as_bytes(), &counters);
    assert_eq!(values, [Some(13_771_648 << 10), None, Some(22_638_176 << 10), Some(13_771_648 << 10)]);
}

#[test]
fn counters_of_files_say_what_they_are() {
    let event = |name: &str| parse_event(name).unwrap();
    for counter in ProcCounter::all() {
        assert_eq!(event(counter.name()).source, EventSource::Proc(counter));
        assert_eq!(counter.is_gauge(), counter.kind() == "memory", "{counter:?}");
        assert!(!counter.is_gauge() || counter.unit() == CounterUnit::Bytes, "{counter:?}");
        assert_eq!(counter.file().is_pressure(), counter.kind() == "pressure", "{counter:?}");
        assert!(!event(counter.name()).is_hardware() && !event(counter.name()).is_clock());
        assert!(!event(counter.name()).can_be_sampled() && event("cs").can_be_sampled());
    }
    let no_machine: Vec<&str> = ProcCounter::all().filter(|it| !it.is_of_machine()).map(ProcCounter::name).collect();
    assert_eq!(no_machine, ["pressure:cpu-full"]);
    let unit = |name: &str| event(name).unit().text();
    let units =
        ["pressure:io-some", "memory:free", "vm:pgpgin", "vm:pswpin", "task-clock:u", "user_time", "cs"].map(unit);
    assert_eq!(units, ["ns", "bytes", "bytes", "", "ns", "ns", ""]);
}
