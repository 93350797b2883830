//! The programs on a real kernel: its verifier must accept them and their records must be true. It needs root, and the
//! test command also runs it under the oldest kernel that is supported; without root it says that it was skipped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::print_stdout, reason = "a skipped test must be seen, and the times are of interest")]

use std::{
    fs::{self, File},
    path::Path,
    process::Command,
    sync::{LazyLock, Mutex},
    time::{Duration, Instant},
};

use aya::{
    Ebpf, EbpfLoader,
    maps::{HashMap, MapData, PerCpuArray, RingBuf},
    programs::{
        PerfEvent, TracePoint,
        perf_event::{PerfEventConfig, PerfEventScope, SamplePolicy, SoftwareEvent},
    },
};
use bathyscope_bpf::{
    Code, compile, object,
    probe::{
        ColumnPlace, Encoding, Parents, ProbeProgram, SampleFilter, TARGETS_MAP, TargetFilter, TracepointProbe,
        fork_program, free_program, sample_filter_program, tracepoint_program,
    },
};
use bathyscope_capture::Predicate;
use bathyscope_catalog::{EventFormat, parse_available_events, parse_event_format};

const TRACEFS: &str = "/sys/kernel/tracing";
const PATIENCE: Duration = Duration::from_secs(20);

/// The one loader: making it parses the kernel's BTF, which takes longer than all the rest.
static LOADER: LazyLock<Mutex<EbpfLoader<'static>>> = LazyLock::new(|| {
    let mut loader = EbpfLoader::new();
    loader.btf(None);
    Mutex::new(loader)
});

/// Whether the tests can run; says why if not. Mounts tracefs where it belongs if nobody has.
fn ready() -> bool {
    static READY: LazyLock<Result<(), String>> = LazyLock::new(|| {
        let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
        let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let capabilities = u64::from_str_radix(effective.unwrap_or("0").trim(), 16).unwrap_or(0);
        // CAP_SYS_ADMIN
        if capabilities & (1 << 21) == 0 {
            return Err("needs root (CAP_SYS_ADMIN)".to_owned());
        }
        if !Path::new(TRACEFS).join("events").exists() {
            let mounted = Command::new("mount").args(["-t", "tracefs", "tracefs", TRACEFS]).status();
            if !mounted.is_ok_and(|status| status.success()) {
                return Err("needs tracefs, and mounting it failed".to_owned());
            }
        }
        Ok(())
    });
    match &*READY {
        Ok(()) => true,
        Err(why) => {
            println!("SKIPPED: {why}");
            false
        }
    }
}

fn format(system: &str, name: &str) -> EventFormat {
    let bytes = fs::read(format!("{TRACEFS}/events/{system}/{name}/format")).unwrap();
    parse_event_format(&bytes).unwrap()
}

fn made(format: &EventFormat, fields: &[&str], predicate: Option<&str>, target: TargetFilter) -> ProbeProgram {
    let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
    let predicate = predicate.map(|text| Predicate::parse(text).unwrap());
    let predicate = predicate.as_ref();
    let ring_bytes = 1 << 20;
    tracepoint_program(&TracepointProbe { name: "probe", format, fields: &fields, predicate, target, ring_bytes })
        .unwrap()
}

fn load(programs: &[&Code]) -> Ebpf {
    LOADER.lock().unwrap().load(&object(programs).unwrap()).unwrap()
}

fn attach(ebpf: &mut Ebpf, program: &str, system: &str, name: &str) {
    let program: &mut TracePoint = ebpf.program_mut(program).unwrap().try_into().unwrap();
    if let Err(error) = program.load() {
        panic!("{system}:{name} was refused: {error:?}");
    }
    program.attach(system, name).unwrap();
}

fn counters(ebpf: &Ebpf, name: &str) -> [u64; 3] {
    let map: PerCpuArray<&MapData, [u64; 6]> = PerCpuArray::try_from(ebpf.map(name).unwrap()).unwrap();
    let mut sum = [0; 3];
    for values in map.get(&0, 0).unwrap().iter() {
        for (sum, value) in sum.iter_mut().zip(values) {
            *sum += value;
        }
        assert_eq!(values[3], 0, "nobody has set a limit");
    }
    sum
}

fn number(record: &[u8], place: &ColumnPlace) -> i64 {
    let bytes = match place.encoding {
        Encoding::Unsigned { bytes, .. } | Encoding::Signed { bytes } => usize::from(bytes),
        _ => panic!("{} is text", place.name),
    };
    let mut all = [0; 8];
    all[..bytes].copy_from_slice(&record[place.offset as usize..place.offset as usize + bytes]);
    let unused = 64 - 8 * u32::try_from(bytes).unwrap();
    i64::from_le_bytes(all) << unused >> unused
}

fn text(record: &[u8], place: &ColumnPlace) -> String {
    let at = place.offset as usize;
    let bytes = match place.encoding {
        Encoding::FixedText { bytes } => &record[at..at + usize::from(bytes)],
        Encoding::LengthText { .. } => {
            let length = i32::from_le_bytes(record[at..at + 4].try_into().unwrap());
            &record[at + 4..at + 4 + usize::try_from(length).unwrap()]
        }
        _ => panic!("{} is a number", place.name),
    };
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap()).into_owned()
}

/// Calls `stir` until `enough` records are in the ring.
fn collect(ring: &mut RingBuf<MapData>, enough: usize, what: &str, mut stir: impl FnMut()) -> Vec<Vec<u8>> {
    let deadline = Instant::now() + PATIENCE;
    let mut records = Vec::new();
    while records.len() < enough {
        assert!(Instant::now() < deadline, "{what}: only {} of {enough} records came", records.len());
        stir();
        while let Some(record) = ring.next() {
            records.push(record.to_vec());
        }
    }
    records
}

#[test]
fn all_formats_of_this_kernel_are_read() {
    if !ready() {
        return;
    }
    let names = parse_available_events(&fs::read(format!("{TRACEFS}/available_events")).unwrap());
    let (mut read, mut refused) = (0, Vec::new());
    for name in &names {
        let Ok(bytes) = fs::read(format!("{TRACEFS}/events/{}/{}/format", name.system(), name.name())) else {
            continue;
        };
        match parse_event_format(&bytes) {
            Ok(_) => read += 1,
            Err(error) => refused.push(format!("{name}: {error}")),
        }
    }
    println!("{read} formats read");
    assert!(read > 500 && refused.is_empty(), "{refused:?}");
}

#[test]
fn sched_switch_arrives() {
    if !ready() {
        return;
    }
    let format = format("sched", "sched_switch");
    let probe = made(&format, &["prev_comm", "prev_pid", "prev_state", "next_comm"], None, TargetFilter::System);
    let code = compile(&probe.program).unwrap();
    let mut ebpf = load(&[&code]);
    let mut ring = RingBuf::try_from(ebpf.take_map(&probe.ring).unwrap()).unwrap();
    attach(&mut ebpf, "probe", "sched", "sched_switch");
    let records = collect(&mut ring, 20, "sched_switch", || std::thread::sleep(Duration::from_millis(1)));
    for record in &records {
        assert_eq!(record.len(), probe.record_bytes as usize);
        // The one that is switched away from is the current one, under its thread id and name.
        assert_eq!(number(record, &probe.layout[3]), number(record, &probe.layout[6]));
        assert_eq!(text(record, &probe.layout[4]), text(record, &probe.layout[5]));
        assert!(!text(record, &probe.layout[8]).is_empty());
    }
    let [hits, filtered, ring_full] = counters(&ebpf, &probe.counters);
    assert!(hits >= records.len() as u64 && filtered == 0 && ring_full == 0, "{hits} {filtered} {ring_full}");
}

#[test]
fn text_in_user_memory_is_compared_and_recorded() {
    if !ready() {
        return;
    }
    let format = format("syscalls", "sys_enter_openat");
    let wanted = "/nowhere/bathyscope/openat-test.conf";
    let cases = [
        ("filename == \"/nowhere/bathyscope/openat-test.conf\"", true),
        ("filename == \"/nowhere/bathyscope/openat-test.con\"", false),
        ("filename != \"/nowhere/bathyscope/openat-test.con\" && filename ~ \"*.conf\"", true),
        ("filename ~ \"/nowhere/bathyscope/*\"", true),
        ("filename ~ \"*/openat-test.conf\"", true),
        ("filename ~ \"*scope/open*\"", true),
        ("filename ~ \"*scope/opem*\"", false),
        ("filename ~ \"*.conf\" && dfd == -100 && !(flags & 0x1) && pid != 0 && cpu < 4096", true),
        ("comm ~ \"*text_in*\" && filename ~ \"*.conf\"", true),
    ];
    for (predicate, expected) in cases {
        let target = TargetFilter::Process(std::process::id());
        let probe = made(&format, &["filename", "dfd"], Some(predicate), target);
        let code = compile(&probe.program).unwrap();
        let mut ebpf = load(&[&code]);
        let mut ring = RingBuf::try_from(ebpf.take_map(&probe.ring).unwrap()).unwrap();
        attach(&mut ebpf, "probe", "syscalls", "sys_enter_openat");
        let open = || {
            let _missing = File::open(wanted).unwrap_err();
        };
        if expected {
            for record in collect(&mut ring, 3, predicate, open) {
                assert_eq!(text(&record, &probe.layout[5]), wanted, "{predicate}");
                assert_eq!(number(&record, &probe.layout[6]), -100);
                assert_eq!(number(&record, &probe.layout[2]), i64::from(std::process::id()));
            }
        } else {
            (0..20).for_each(|_| open());
            assert!(ring.next().is_none(), "{predicate}");
            let [hits, filtered, _] = counters(&ebpf, &probe.counters);
            assert!(hits >= 20 && hits == filtered, "{predicate}: {hits} {filtered}");
        }
    }
}

#[test]
fn children_are_followed_to_what_they_execute() {
    if !ready() {
        return;
    }
    let format = |name| format("sched", name);
    let probe = made(
        &format("sched_process_exec"),
        &["filename", "pid", "old_pid"],
        Some("filename ~ \"*tru*\""),
        TargetFilter::Targets,
    );
    let record = compile(&probe.program).unwrap();
    let fork = compile(&fork_program("fork", &format("sched_process_fork"), Parents::Processes).unwrap()).unwrap();
    let free = compile(&free_program("free", &format("sched_process_free")).unwrap()).unwrap();
    let mut ebpf = load(&[&fork, &free, &record]);
    let mut ring = RingBuf::try_from(ebpf.take_map(&probe.ring).unwrap()).unwrap();
    let mut targets: HashMap<MapData, u32, u32> = HashMap::try_from(ebpf.take_map(TARGETS_MAP).unwrap()).unwrap();
    targets.insert(std::process::id(), 1, 0).unwrap();
    attach(&mut ebpf, "fork", "sched", "sched_process_fork");
    attach(&mut ebpf, "free", "sched", "sched_process_free");
    attach(&mut ebpf, "probe", "sched", "sched_process_exec");
    let mut children = Vec::new();
    let records = collect(&mut ring, 2, "exec", || {
        // A grandchild, through a shell.
        let mut child = Command::new("/bin/sh").args(["-c", "/bin/true; :"]).spawn().unwrap();
        children.push(child.id());
        child.wait().unwrap();
    });
    for record in &records {
        assert!(text(record, &probe.layout[5]).ends_with("/true"));
        assert_eq!(number(record, &probe.layout[6]), number(record, &probe.layout[2]));
        let pid = u32::try_from(number(record, &probe.layout[2])).unwrap();
        assert!(!children.contains(&pid), "it was not the grandchild");
    }
    // The kernel frees tasks after a grace period.
    let deadline = Instant::now() + PATIENCE;
    while children.iter().any(|child| targets.get(child, 0).is_ok()) {
        assert!(Instant::now() < deadline, "a child that has ended is still followed");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(targets.get(&std::process::id(), 0).is_ok());
}

#[test]
fn samples_are_filtered_in_the_kernel() {
    if !ready() {
        return;
    }
    let filter = |name, target| sample_filter_program(&SampleFilter { name, target, skip_idle: true }).unwrap();
    let (mine, mine_count) = filter("mine", TargetFilter::Process(std::process::id()));
    let (none, none_count) = filter("none", TargetFilter::Process(u32::MAX));
    let codes = [compile(&mine).unwrap(), compile(&none).unwrap()];
    let mut ebpf = load(&[&codes[0], &codes[1]]);
    for name in ["mine", "none"] {
        let program: &mut PerfEvent = ebpf.program_mut(name).unwrap().try_into().unwrap();
        program.load().unwrap();
        for cpu in aya::util::online_cpus().unwrap() {
            let scope = PerfEventScope::AllProcessesOneCpu { cpu };
            let config = PerfEventConfig::Software(SoftwareEvent::CpuClock);
            program.attach(config, scope, SamplePolicy::Frequency(999), false).unwrap();
        }
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < deadline);
        let spun: u64 = (0..1_000_000_u64).fold(0, |sum, n| std::hint::black_box(sum ^ n));
        std::hint::black_box(spun);
        let ([hits, filtered, _], none) = (counters(&ebpf, &mine_count), counters(&ebpf, &none_count));
        assert!(filtered <= hits);
        if hits - filtered >= 5 && none[0] >= 5 {
            assert_eq!(none[0], none[1]);
            break;
        }
    }
}

/// What makes the verifier work hardest, and what it understands least.
#[test]
fn the_verifier_accepts_hard_predicates() {
    if !ready() {
        return;
    }
    let many = |part: &str, between: &str| {
        let mut text = part.to_owned();
        while text.len() + between.len() + part.len() <= 900 {
            text = format!("{text}{between}{part}");
        }
        text
    };
    let openat = format("syscalls", "sys_enter_openat");
    let switch = format("sched", "sched_switch");
    let exec = format("sched", "sched_process_exec");
    let cases = [
        (&openat, format!("filename ~ \"*{}*\"", "x".repeat(200))),
        (&openat, format!("filename ~ \"*{}\"", "x".repeat(250))),
        (&openat, format!("filename == \"{}\"", "x".repeat(255))),
        (&openat, format!("filename ~ \"{}*\"", "x".repeat(255))),
        (&openat, many("filename ~ \"*a*\"", " || ")),
        (&openat, many("filename ~ \"*ab*\"", " && ")),
        (&openat, many("!(filename ~ \"*ab*\" && filename ~ \"*.so\")", " || ")),
        (&openat, many("filename ~ \"*abcdefgh\"", " && ")),
        (&openat, many("filename != \"abcdefgh\"", " && ")),
        (&openat, many("comm ~ \"*b*\" && filename ~ \"/proc/*\"", " || ")),
        (&switch, many("prev_comm ~ \"*bc*\" || next_comm ~ \"*x\"", " && ")),
        (&switch, many("prev_comm == \"ab\"", " || ")),
        (&switch, many("prev_prio > -3", " && ")),
        (&switch, many("(prev_state & 0x100000000) != 0 || prev_pid == 1", " && ")),
        (&exec, many("filename ~ \"*bin/*\"", " || ")),
        (&exec, many("filename ~ \"*sh\" || filename == \"/bin/ls\"", " && ")),
    ];
    for (format, predicate) in cases {
        let probe = made(format, &[], Some(&predicate), TargetFilter::Targets);
        accept(&probe, &predicate);
    }
}

fn accept(probe: &ProbeProgram, what: &str) {
    let start = Instant::now();
    let code = compile(&probe.program).unwrap_or_else(|error| panic!("{what}: {error}"));
    let compiled = start.elapsed();
    let mut ebpf = load(&[&code]);
    let program: &mut TracePoint = ebpf.program_mut("probe").unwrap().try_into().unwrap();
    let start = Instant::now();
    if let Err(error) = program.load() {
        panic!("{what}: {error:?}");
    }
    let what: String = what.chars().take(50).collect();
    let length = code.instructions.len();
    println!("{length:5} instructions, compiled in {compiled:8.1?}, verified in {:8.1?}: {what}", start.elapsed());
}

/// Random predicates over an event of each kind; the generator is fixed, so a failure comes again.
#[test]
fn the_verifier_accepts_random_predicates() {
    if !ready() {
        return;
    }
    let openat = format("syscalls", "sys_enter_openat");
    let switch = format("sched", "sched_switch");
    let fork = format("sched", "sched_process_fork");
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let numbers = ["pid", "tid", "cpu", "flags", "dfd", "mode", "prev_pid", "prev_state", "next_prio", "child_pid"];
    let texts = ["comm", "filename", "prev_comm", "next_comm", "parent_comm", "child_comm"];
    let operators = ["==", "!=", "<", ">=", "&"];
    let patterns = ["a*", "*b", "*cd*", "exact", "/usr/lib/x86*", "*.so.6", "*/bin/*"];
    for round in 0..60 {
        let event = [&openat, &switch, &fork][round % 3];
        let known = |name: &&str| matches!(*name, "pid" | "tid" | "cpu" | "comm") || event.field(name).is_some();
        let numbers: Vec<_> = numbers.into_iter().filter(known).collect();
        let texts: Vec<_> = texts.into_iter().filter(known).collect();
        let mut predicate = String::new();
        for part in 0..=random(8) {
            if part > 0 {
                predicate = format!("({predicate}) {} ", ["&&", "||"][random(2) as usize]);
            }
            let next = if random(2) == 0 {
                let (name, operator) = (numbers[random(numbers.len() as u64) as usize], operators[random(5) as usize]);
                format!("{name} {operator} {}", random(1 << 33))
            } else {
                let name = texts[random(texts.len() as u64) as usize];
                format!("{name} ~ \"{}\"", patterns[random(7) as usize])
            };
            predicate += &if random(4) == 0 { format!("!({next})") } else { next };
        }
        let target = [TargetFilter::System, TargetFilter::Process(1), TargetFilter::Targets][random(3) as usize];
        let fields: Vec<&str> = event.fields.iter().map(|field| field.name.as_str()).collect();
        accept(&made(event, &fields, Some(&predicate), target), &predicate);
    }
}

#[test]
fn from_spec_to_attached_is_quick() {
    if !ready() {
        return;
    }
    let _made_once = LOADER.lock().unwrap();
    drop(_made_once);
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let format = format("raw_syscalls", "sys_enter");
        let probe = made(&format, &["id", "args"], Some("id == 0 && comm != \"dd\""), TargetFilter::System);
        let code = compile(&probe.program).unwrap();
        let compiled = start.elapsed();
        let mut ebpf = load(&[&code]);
        let mapped = start.elapsed();
        attach(&mut ebpf, "probe", "raw_syscalls", "sys_enter");
        let attached = start.elapsed();
        println!("compiled {compiled:.1?}, maps {:.1?}, program {:.1?}", mapped - compiled, attached - mapped);
        best = best.min(attached);
    }
    println!("spec to attached at best {best:.1?}");
}
