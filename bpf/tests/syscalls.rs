//! The programs for system calls on a real kernel: its verifier must accept them, and what they record must be true.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::print_stdout, reason = "a skipped test must be seen, and the times are of interest")]

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::Write as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{LazyLock, Mutex},
    time::{Duration, Instant},
};

use aya::{
    Ebpf, EbpfLoader,
    maps::{HashMap, MapData, PerCpuArray, RingBuf},
    programs::TracePoint,
};
use bathyscope_bpf::{
    compile, object,
    probe::{TARGETS_MAP, TargetFilter},
    syscalls::{COUNTERS, Outcome, RING, Record, SyscallProbe, TARGET_WILL_EXECUTE, programs},
};
use bathyscope_catalog::{
    constants::Arch,
    syscalls::{Style, decode, result_text, select},
};

const TRACEFS: &str = "/sys/kernel/tracing";
const PATIENCE: Duration = Duration::from_secs(60);

static LOADER: LazyLock<Mutex<EbpfLoader<'static>>> = LazyLock::new(|| {
    let mut loader = EbpfLoader::new();
    loader.btf(None);
    Mutex::new(loader)
});

/// Whether the tests can run; says why if not.
fn ready() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let capabilities = u64::from_str_radix(effective.unwrap_or("0").trim(), 16).unwrap_or(0);
    if capabilities & (1 << 21) == 0 {
        println!("SKIPPED: needs root (CAP_SYS_ADMIN)");
        return false;
    }
    if !Path::new(TRACEFS).join("events").exists() {
        let mounted = Command::new("mount").args(["-t", "tracefs", "tracefs", TRACEFS]).status();
        assert!(mounted.is_ok_and(|status| status.success()), "needs tracefs, and mounting it failed");
    }
    true
}

fn probe(calls: &str, target: TargetFilter) -> SyscallProbe {
    SyscallProbe {
        arch: Arch::HOST,
        calls: select(Arch::HOST, calls).unwrap(),
        target,
        excluded: Vec::new(),
        outcome: Outcome::Any,
        min_duration_ns: 0,
        path: None,
        string_bytes: 32,
        ring_bytes: 16 << 20,
    }
}

struct Tracing {
    ebpf: Ebpf,
    ring: RingBuf<MapData>,
}

impl Tracing {
    fn start(probe: &SyscallProbe, target: Option<(u32, u32)>) -> Self {
        let made = programs(probe).unwrap();
        let codes = [&made.forget, &made.exit, &made.enter].map(|program| compile(program).unwrap());
        let mut ebpf = LOADER.lock().unwrap().load(&object(&codes.iter().collect::<Vec<_>>()).unwrap()).unwrap();
        let ring = RingBuf::try_from(ebpf.take_map(RING).unwrap()).unwrap();
        if let Some((pid, state)) = target {
            let mut targets: HashMap<&mut MapData, u32, u32> =
                HashMap::try_from(ebpf.map_mut(TARGETS_MAP).unwrap()).unwrap();
            targets.insert(pid, state, 0).unwrap();
        }
        let points = [
            ("sys_forget", "sched", "sched_process_exit"),
            ("sys_exit", "raw_syscalls", "sys_exit"),
            ("sys_enter", "raw_syscalls", "sys_enter"),
        ];
        for (name, system, event) in points {
            let program: &mut TracePoint = ebpf.program_mut(name).unwrap().try_into().unwrap();
            program.load().unwrap_or_else(|error| panic!("{name} was refused: {error:?}"));
            program.attach(system, event).unwrap();
        }
        Self { ebpf, ring }
    }

    fn counters(&self) -> [u64; 4] {
        let map: PerCpuArray<&MapData, [u64; 4]> = PerCpuArray::try_from(self.ebpf.map(COUNTERS).unwrap()).unwrap();
        let mut sum = [0; 4];
        for values in map.get(&0, 0).unwrap().iter() {
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        sum
    }

    fn records(&mut self) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| self.ring.next().map(|record| record.to_vec())).collect()
    }
}

fn line(record: &Record<'_>) -> String {
    let call = record.call();
    let decoded = decode(Arch::HOST, &call, &Style { strings: 32, file_of: None });
    let result = result_text(Arch::HOST, call.number, call.result, &decoded.note);
    format!("{}({}) = {result}", decoded.name, decoded.arguments)
}

fn lines(records: &[Vec<u8>]) -> Vec<String> {
    records.iter().map(|record| line(&Record::read(record).unwrap())).collect()
}

/// A program that begins when it is told to.
struct Waiting(Child);

impl Waiting {
    fn new(script: &str) -> Self {
        let script = format!("read go; exec {script}");
        Self(Command::new("/bin/sh").args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }

    fn go(&mut self) {
        self.0.stdin.take().unwrap().write_all(b"\n").unwrap();
    }
}

#[test]
fn a_command_is_recorded_from_its_first_call_to_its_last() {
    if !ready() {
        return;
    }
    let mut command = Waiting::new("/bin/cat /etc/hostname /nowhere/bathyscope 2>/dev/null");
    let mut tracing = Tracing::start(&probe("all", TargetFilter::Targets), Some((command.0.id(), TARGET_WILL_EXECUTE)));
    command.go();
    command.0.wait().unwrap();
    let records = tracing.records();
    let lines = lines(&records);
    let first = lines.first().unwrap();
    assert!(
        first.starts_with(r#"execve("/bin/cat", ["/bin/cat", "/etc/hostname", "/nowhere/bathyscope"], 0x"#),
        "{first}"
    );
    assert!(first.ends_with("*/) = 0"), "{first}");
    assert_eq!(lines.last().unwrap(), "exit_group(1) = ?");
    let expected = [
        r#"openat(AT_FDCWD, "/etc/hostname", O_RDONLY) = 3"#,
        r#"openat(AT_FDCWD, "/nowhere/bathyscope", O_RDONLY) = -1 ENOENT (No such file or directory)"#,
        "close(3) = 0",
    ];
    for expected in expected {
        assert!(lines.iter().any(|line| line == expected), "{expected}\n{}", lines.join("\n"));
    }
    let name = fs::read_to_string("/etc/hostname").unwrap();
    let read = format!("read(3, \"{}\\n\", 131072) = {}", name.trim_end(), name.len());
    assert!(name.len() > 32 || lines.contains(&read), "{read}\n{}", lines.join("\n"));
    let [hits, filtered, ring_full, no_room] = tracing.counters();
    assert_eq!(hits, filtered + records.len() as u64);
    assert_eq!((ring_full, no_room), (0, 0));
    for record in &records {
        let record = Record::read(record).unwrap();
        assert!(record.has_entry && record.pid == command.0.id() && record.tid == record.pid);
    }
}

#[test]
fn calls_are_filtered_by_result_time_and_path() {
    if !ready() {
        return;
    }
    let target = TargetFilter::Process(std::process::id());
    let open = |path: &str| drop(File::open(path));
    let recorded = |probe: &SyscallProbe| {
        let mut tracing = Tracing::start(probe, None);
        open("/nowhere/bathyscope-1");
        open("/proc/self/stat");
        // Longer than any other call takes, even where everything is emulated.
        std::thread::sleep(Duration::from_millis(100));
        let records = tracing.records();
        // Other tests run in this process too.
        let ours = |line: &String| {
            line.contains("/nowhere/bathyscope-1") || line.contains("/proc/self/stat\"") || line.contains("nanosleep")
        };
        lines(&records).into_iter().filter(ours).collect::<Vec<_>>()
    };
    let missing =
        r#"openat(AT_FDCWD, "/nowhere/bathyscope-1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)"#;
    let all = probe("openat,clock_nanosleep", target);
    assert_eq!(recorded(&all).len(), 3);
    assert_eq!(recorded(&SyscallProbe { outcome: Outcome::Failed, ..all.clone() }), [missing]);
    assert_eq!(recorded(&SyscallProbe { outcome: Outcome::Succeeded, ..all.clone() }).len(), 2);
    assert_eq!(recorded(&SyscallProbe { path: Some(b"/nowhere/".to_vec()), ..all.clone() }), [missing]);
    let slow = recorded(&SyscallProbe { min_duration_ns: 100_000_000, ..all });
    assert!(matches!(slow.as_slice(), [one] if one.starts_with("clock_nanosleep(CLOCK_")), "{slow:?}");
}

#[test]
fn a_flood_of_calls_is_counted_to_the_last() {
    if !ready() {
        return;
    }
    const COUNT: u64 = 100 << 10;
    let mut command = Waiting::new(&format!("dd if=/dev/zero of=/dev/null bs=1 count={COUNT} status=none"));
    // Too small on purpose: what does not fit must be counted.
    for ring_bytes in [64 << 10, 16 << 20] {
        let probe = SyscallProbe { ring_bytes, ..probe("read,write", TargetFilter::Targets) };
        let mut tracing = Tracing::start(&probe, Some((command.0.id(), TARGET_WILL_EXECUTE)));
        let begun = Instant::now();
        command.go();
        let mut recorded = 0;
        while command.0.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < PATIENCE, "dd does not end");
            recorded += tracing.records().len() as u64;
        }
        recorded += tracing.records().len() as u64;
        let [hits, filtered, ring_full, no_room] = tracing.counters();
        println!("{recorded} of {hits} recorded, {filtered} filtered, {ring_full} lost, in {:?}", begun.elapsed());
        assert_eq!(hits, filtered + ring_full + no_room + recorded);
        assert!(recorded + ring_full >= 2 * COUNT, "{recorded} {ring_full}");
        command = Waiting::new(&format!("dd if=/dev/zero of=/dev/null bs=1 count={COUNT} status=none"));
    }
    command.go();
    command.0.wait().unwrap();
}

#[test]
fn the_verifier_accepts_every_form() {
    if !ready() {
        return;
    }
    let any = probe("all", TargetFilter::System);
    let forms = [
        any.clone(),
        SyscallProbe { excluded: vec![1, 2], string_bytes: 1024, ..any.clone() },
        SyscallProbe { string_bytes: 0, path: Some(vec![b'/'; 128]), ..any.clone() },
        SyscallProbe { outcome: Outcome::Failed, min_duration_ns: u64::MAX, target: TargetFilter::Targets, ..any },
    ];
    for form in &forms {
        drop(Tracing::start(form, None));
    }
    assert!(programs(&SyscallProbe { calls: BTreeSet::new(), ..probe("all", TargetFilter::System) }).is_err());
    assert!(programs(&SyscallProbe { ring_bytes: 5000, ..probe("all", TargetFilter::System) }).is_err());
}
