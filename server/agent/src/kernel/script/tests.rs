//! The engines, with programs made of checked scripts that are put together here: what is attached fires and is counted.

use std::{
    collections::BTreeMap,
    fs::File,
    time::{Duration, Instant},
};

use bathyscope_bpf::lang::{
    Compiled, LowerOptions, ast, compile_checked,
    hir::{
        self, Builtin, Context, ProbePoint, ScriptMapId, SiteId, TypedExpr, TypedExprKind, TypedStatement,
        TypedStatementKind,
    },
};
use bathyscope_capture::Target;
use bathyscope_plan::{
    Action, Aggregation, Architecture, AttachPoint, Config, MapPlan, MapType, MissingProbes, Period, Shown, Site,
    SiteField, Span, Type, UserFile,
};
use bathyscope_protocol::{SourceReadings, rings::RingReader};

use super::*;
use crate::{
    commands::CommandRights,
    engine::{Engine as _, ProcessReports, ScriptMaps as _},
    memory::MAX_MAP_BYTES,
};

const SOON: Duration = Duration::from_secs(20);

fn possible(what: &str) -> bool {
    if rustix::process::geteuid().is_root() {
        return true;
    }
    println!("SKIPPED: {what} — root");
    false
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + SOON;
    while !done() {
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::yield_now();
    }
}

fn expr(kind: TypedExprKind, ty: Type) -> TypedExpr {
    TypedExpr { kind, ty, span: Span::default() }
}

fn probe_key() -> TypedExpr {
    expr(TypedExprKind::Builtin(Builtin::Probe), Type::Shown(Shown::Probe))
}

fn statement(kind: TypedStatementKind) -> TypedStatement {
    TypedStatement { kind, span: Span::default() }
}

/// `POINTS { @[probe] = count(); printf("%d", probe) }`
fn probe(points: &[(&str, AttachPoint)], context: Context) -> hir::TypedProbe {
    let points = points.iter().map(|(name, point)| ProbePoint { name: (*name).to_owned(), point: point.clone() });
    let count = TypedStatementKind::Aggregate { map: ScriptMapId(0), key: Some(probe_key()), value: None };
    let print = TypedStatementKind::Emit { site: SiteId(0), arguments: vec![probe_key()] };
    hir::TypedProbe {
        points: points.collect(),
        context,
        locals: Vec::new(),
        predicate: None,
        body: vec![statement(count), statement(print)],
        span: Span::default(),
    }
}

fn compiled(probes: Vec<hir::TypedProbe>, config: Config) -> CompiledScript {
    let field = SiteField { name: "probe".into(), ty: Type::Shown(Shown::Probe), offset: 0 };
    let action = Action::PrintValue;
    let site = Site { action, fields: vec![field], fixed_bytes: 0, max_bytes: 0, start: 0, end: 0, calls: Vec::new() };
    let map = MapPlan {
        name: "@".into(),
        object_name: "at_0".into(),
        kind: MapType::PerCpuHash,
        key: vec![Type::Shown(Shown::Probe)],
        value: Type::Aggregate(Aggregation::Count),
        key_bytes: 8,
        value_bytes: 8,
        max_entries: 2048,
        start: 0,
        end: 0,
    };
    let script = hir::TypedScript { probes, maps: vec![map], sites: vec![site], config, ..hir::TypedScript::default() };
    let host = KernelHost::default();
    let options = LowerOptions {
        possible_cpus: host.features().possible_cpus,
        ring_bytes: 1 << 20,
        ..LowerOptions::new(
            "",
            if cfg!(target_arch = "aarch64") { Architecture::Aarch64 } else { Architecture::X86_64 },
        )
    };
    let Compiled { codes, plan, .. } = compile_checked(ast::Script::default(), script, &options).unwrap();
    CompiledScript { codes, plan }
}

fn start_with(probes: Vec<hir::TypedProbe>, config: Config) -> Result<ScriptEngine, EngineError> {
    let target = ResolvedTarget::take(&Target::System, &CommandRights::Off).unwrap();
    let reports = ProcessReports::Here { data: false };
    make(
        &KernelHost::default(),
        compiled(probes, config),
        (&WireScript::default(), MAX_MAP_BYTES),
        (&target, reports),
        1,
    )
}

fn start(probes: Vec<hir::TypedProbe>) -> ScriptEngine {
    start_with(probes, Config::default()).unwrap_or_else(|trouble| panic!("{trouble:#?}"))
}

/// Stops it; gives its last readings.
fn stopped(script: &mut ScriptEngine) -> SourceReadings {
    script.stop();
    script.readings()
}

/// The counts of the map by probe.
fn hits(script: &mut ScriptEngine) -> BTreeMap<u32, u64> {
    let page = script.read_map(0, false, None).unwrap();
    assert_eq!(page.next, None);
    let cpus = script.script().cpus as usize;
    let elements = page.bytes.chunks_exact(8 + 8 * cpus);
    let number = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap());
    let count = |element: &[u8]| (number(&element[..8]) as u32, element[8..].chunks_exact(8).map(number).sum());
    elements.map(count).collect()
}

fn ring(script: &ScriptEngine) -> RingReader {
    let fd = script.descriptor(0).unwrap().try_clone_to_owned().unwrap();
    RingReader::map(fd, &script.started().rings[0]).unwrap()
}

/// The probes whose records came, in order.
fn fired(ring: &mut RingReader) -> Vec<u32> {
    let mut probes = Vec::new();
    ring.drain(usize::MAX, &mut |record| probes.push(u32::from_le_bytes(record[32..36].try_into().unwrap()))).unwrap();
    probes
}

fn own_file() -> UserFile {
    let path = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let opened = super::super::user_file::open_user_file(&path, None).unwrap();
    UserFile { path, in_process: None, device: opened.device, inode: opened.inode }
}

#[inline(never)]
extern "C" fn probed(argument: u64) -> u64 {
    std::hint::black_box(argument).wrapping_add(1)
}

fn file_offset(address: u64) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let offset = |line: &str| {
        let mut columns = line.split_ascii_whitespace();
        let (start, end) = columns.next()?.split_once('-')?;
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let (start, end, offset) = (hex(start)?, hex(end)?, hex(columns.nth(1)?)?);
        (start..end).contains(&address).then(|| address - start + offset)
    };
    maps.lines().find_map(offset).unwrap()
}

fn uprobe(exit: bool, pid: Option<u32>) -> AttachPoint {
    AttachPoint::Uprobe {
        file: own_file(),
        offset: file_offset(probed as *const () as u64),
        exit,
        pid,
        symbol: "probed".into(),
    }
}

fn tracepoint(system: &str, name: &str) -> AttachPoint {
    AttachPoint::Tracepoint { system: system.into(), name: name.into() }
}

#[test]
fn begin_signal_and_end_run_by_hand_and_in_order() {
    if !possible("probes that are run by hand") {
        return;
    }
    let mut script = start(vec![
        probe(&[("begin", AttachPoint::Begin)], Context::None),
        probe(&[("end", AttachPoint::End)], Context::None),
        probe(&[("begin", AttachPoint::Begin)], Context::None),
        probe(&[("self:signal:SIGUSR1", AttachPoint::Signal { number: 10 })], Context::None),
    ]);
    let mut ring = ring(&script);
    assert_eq!(fired(&mut ring), [0_u32; 0]);
    let enabled = script.enable().unwrap().unwrap();
    assert_eq!((enabled.attached, enabled.failed.len()), (4, 0));
    assert_eq!(fired(&mut ring), [0, 2]);
    assert_eq!((script.run_signal(10).unwrap(), script.run_signal(12).unwrap()), (1, 0));
    assert_eq!(fired(&mut ring), [3]);
    let readings = stopped(&mut script);
    assert_eq!(readings.detaching.attached, 0);
    assert_eq!(fired(&mut ring), [1]);
    assert_eq!(readings.probes.iter().map(|probe| probe.hits).collect::<Vec<_>>(), [1, 1, 1, 1]);
    assert_eq!(hits(&mut script), BTreeMap::from([(0, 1), (1, 1), (2, 1), (3, 1)]));
}

#[test]
fn maps_are_read_taken_and_changed() {
    if !possible("maps of scripts") {
        return;
    }
    let mut script = start(vec![
        probe(&[("begin", AttachPoint::Begin), ("begin", AttachPoint::Begin)], Context::None),
        probe(&[("self:signal:SIGUSR1", AttachPoint::Signal { number: 10 })], Context::None),
    ]);
    script.enable().unwrap();
    script.run_signal(10).unwrap();
    let key = |probe: u64| probe.to_ne_bytes();
    let two = script.read_elements(0, &[&key(2), &key(77)]).unwrap();
    assert_eq!((two.count, &two.bytes[..8]), (1, &key(2)[..]));
    assert_eq!(script.zero_map(0).unwrap() as usize, hits(&mut script).len());
    assert!(hits(&mut script).values().all(|count| *count == 0));
    assert_eq!(script.delete_keys(0, &[&key(2), &key(77)]).unwrap(), 1);
    assert!(!hits(&mut script).contains_key(&2));
    script.run_signal(10).unwrap();
    let taken = script.read_map(0, true, None).unwrap();
    assert!(taken.count >= 1 && hits(&mut script).is_empty());
    script.run_signal(10).unwrap();
    assert_eq!((script.clear_map(0).unwrap(), hits(&mut script).len()), (1, 0));
    assert!(script.read_map(0, false, Some(&[1, 2, 3])).is_err(), "a cursor that was never given");
}

#[test]
fn tracepoints_and_raw_tracepoints_fire_and_balance() {
    if !possible("tracepoints of scripts") {
        return;
    }
    let raw = AttachPoint::RawTracepoint { module: String::new(), name: "sys_enter".into() };
    let mut script = start(vec![
        probe(&[("t", tracepoint("syscalls", "sys_enter_getpid"))], Context::Tracepoint),
        probe(&[("t", tracepoint("syscalls", "sys_enter_getpid"))], Context::Tracepoint),
        probe(&[("rt", raw)], Context::Words),
    ]);
    let mut ring = ring(&script);
    script.enable().unwrap();
    for _ in 0..100 {
        // The C library does not ask the kernel again.
        // SAFETY: a plain system call.
        unsafe { libc::syscall(libc::SYS_getpid) };
    }
    let readings = stopped(&mut script);
    wait_for("the background", || script.readings().detaching.is_done());
    let all = fired(&mut ring);
    let of = |probe: u32| all.iter().filter(|one| **one == probe).count() as u64;
    assert!(of(0) >= 100 && of(2) >= 100, "{readings:?}");
    let first: Vec<&u32> = all.iter().filter(|one| **one < 2).take(2).collect();
    assert_eq!(first, [&0, &1], "in the script's order");
    for (index, probe) in (0_u32..).zip(&readings.probes) {
        assert_eq!(probe.hits, of(index) + probe.ring_full + probe.filtered, "{readings:?}");
        assert_eq!(hits(&mut script)[&index], probe.hits);
    }
}

#[test]
fn timers_and_software_events_fire() {
    if !possible("timers of scripts") {
        return;
    }
    let interval = AttachPoint::Interval { every: Period::Nanoseconds(2_000_000) };
    let profile = AttachPoint::Profile { every: Period::Hertz(999) };
    let faults = AttachPoint::PerfEvent { name: "page-faults".into(), kind: 1, config: 2, period: 1 };
    let mut script = start(vec![
        probe(&[("interval", interval)], Context::PerfEvent),
        probe(&[("profile", profile)], Context::PerfEvent),
        probe(&[("software", faults)], Context::PerfEvent),
    ]);
    script.enable().unwrap();
    wait_for("all of them", || {
        // A fresh process has many faults.
        assert!(std::process::Command::new("true").status().unwrap().success());
        hits(&mut script).values().filter(|count| **count > 5).count() == 3
    });
    let readings = stopped(&mut script);
    assert_eq!(script.readings().probes, readings.probes, "nothing comes after the stop");
    let too_often = AttachPoint::Interval { every: Period::Nanoseconds(1) };
    assert!(start_with(vec![probe(&[("i", too_often)], Context::PerfEvent)], Config::default()).is_err());
}

#[test]
fn user_functions_fire_at_entry_and_return() {
    if !possible("user probes of scripts") {
        return;
    }
    let own = std::process::id();
    let mut script = start(vec![
        probe(&[("u", uprobe(false, None))], Context::Registers),
        probe(&[("u", uprobe(false, None))], Context::Registers),
        probe(&[("ur", uprobe(true, None))], Context::Registers),
        probe(&[("mine", uprobe(false, Some(own)))], Context::Registers),
        probe(&[("of init", uprobe(false, Some(1)))], Context::Registers),
    ]);
    let mut ring = ring(&script);
    script.enable().unwrap();
    assert_eq!((0..10).map(|one| probed(one)).sum::<u64>(), 55);
    // Another thread of the process counts too.
    std::thread::spawn(|| probed(1)).join().unwrap();
    stopped(&mut script);
    let all = fired(&mut ring);
    let of = |probe: u32| all.iter().filter(|one| **one == probe).count();
    assert_eq!([of(0), of(1), of(2), of(3), of(4)], [11, 11, 11, 11, 0], "{all:?}");
    let entries: Vec<&u32> = all.iter().filter(|one| **one < 2).take(2).collect();
    assert_eq!(entries, [&0, &1], "in the script's order");
    assert_eq!(probed(1), 2);
    assert_eq!(fired(&mut ring), [0_u32; 0]);
}

/// The semaphore of a marker: a counter in the program's file, which the kernel raises while somebody looks.
#[unsafe(link_section = ".probes")]
static SEMAPHORE: std::sync::atomic::AtomicU16 = std::sync::atomic::AtomicU16::new(0);

/// In a process of its own: the kernel raises the counter once for each place where the file is mapped, and other tests map it.
#[test]
fn markers_fire_while_their_semaphore_is_raised() {
    const ALONE: &str = "BATHYSCOPE_TEST_ALONE";
    if !possible("markers of scripts") {
        return;
    }
    if std::env::var_os(ALONE).is_none() {
        let name = "kernel::script::tests::markers_fire_while_their_semaphore_is_raised";
        let mut own = std::process::Command::new(std::env::current_exe().unwrap());
        let output = own.args(["--exact", name]).env(ALONE, "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let raised = || SEMAPHORE.load(std::sync::atomic::Ordering::SeqCst);
    let marker = |pid| AttachPoint::Usdt {
        file: own_file(),
        offset: file_offset(probed as *const () as u64),
        semaphore: file_offset(std::ptr::from_ref(&SEMAPHORE) as u64),
        pid,
        provider: "test".into(),
        name: "probed".into(),
        arguments: Vec::new(),
    };
    let own = Some(std::process::id());
    let mut script = start(vec![probe(&[("U", marker(None)), ("U", marker(own))], Context::Registers)]);
    script.enable().unwrap();
    assert_eq!(raised(), 1, "one place is one, however many look");
    probed(1);
    let readings = stopped(&mut script);
    assert_eq!(readings.probes[0].hits, 2, "{readings:?}");
    wait_for("the semaphore", || raised() == 0);
}

#[test]
fn p26_a_file_that_was_replaced_is_not_probed() {
    if !possible("user probes of replaced files") {
        return;
    }
    let AttachPoint::Uprobe { mut file, offset, .. } = uprobe(false, None) else { panic!() };
    file.inode += 1;
    let point = AttachPoint::Uprobe { file, offset, exit: false, pid: None, symbol: "probed".into() };
    let refused = start_with(vec![probe(&[("u", point)], Context::Registers)], Config::default());
    let Err(EngineError::Script(refused)) = refused else { panic!("{refused:?}") };
    assert!(refused.diagnostics[0].message.contains("was replaced"), "{refused:?}");
}

#[test]
fn iterators_are_walked() {
    if !possible("iterators of scripts") {
        return;
    }
    let task = AttachPoint::Iterator { target: "task".into(), pin: None };
    let mut script = start(vec![probe(&[("iter:task", task)], Context::Words)]);
    script.enable().unwrap();
    let first = hits(&mut script)[&0];
    assert!(first > 1, "{first} tasks");
    script.run_iterator(0).unwrap();
    assert!(hits(&mut script)[&0] > first);
}

#[test]
fn what_is_missing_is_told_by_probe_or_left_out() {
    if !possible("missing probes") {
        return;
    }
    let points = [("good", tracepoint("sched", "sched_switch")), ("bad", tracepoint("sched", "no_such_event"))];
    let strict = start_with(vec![probe(&points, Context::Tracepoint)], Config::default());
    let Err(EngineError::Script(refused)) = strict else { panic!("{strict:?}") };
    assert_eq!(refused.diagnostics.len(), 1, "{refused:?}");
    assert!(refused.diagnostics[0].message.contains("attaching to bad: this kernel has no such"), "{refused:?}");
    let lenient = Config { missing_probes: MissingProbes::Warn, ..Config::default() };
    let mut script = start_with(vec![probe(&points, Context::Tracepoint)], lenient.clone()).unwrap();
    assert_eq!(script.script().failed.iter().map(|failure| failure.probe).collect::<Vec<_>>(), [1]);
    assert_eq!(script.enable().unwrap().unwrap().attached, 1);
    let nothing = start_with(vec![probe(&points[1..], Context::Tracepoint)], lenient);
    assert!(nothing.is_err(), "nothing is attached at all");
}

#[test]
fn a_programs_memory_is_watched() {
    if !possible("watchpoints") || !KernelHost::default().features().watchpoint {
        println!("SKIPPED: watchpoints — hardware breakpoints");
        return;
    }
    static WATCHED: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let address = std::ptr::from_ref(&WATCHED) as u64;
    let pid = Some(std::process::id());
    let point = AttachPoint::Watchpoint { address, bytes: 8, read: false, write: true, execute: false, pid };
    let mut script = start(vec![probe(&[("w", point)], Context::PerfEvent)]);
    script.enable().unwrap();
    for value in 0..10 {
        WATCHED.store(value, std::sync::atomic::Ordering::SeqCst);
    }
    let readings = stopped(&mut script);
    assert_eq!(readings.probes[0].hits, 10, "{readings:?}");
}

/// All entries of system calls: many links, made and taken away without keeping anybody waiting.
#[test]
fn many_tracepoints_are_attached_and_detached() {
    if !possible("many tracepoints") {
        return;
    }
    let host = KernelHost::default();
    let names: Vec<String> = {
        let all = host.tracepoints().iter().filter_map(|name| name.strip_prefix("syscalls:sys_enter_"));
        all.map(|name| format!("sys_enter_{name}")).collect()
    };
    let points: Vec<(&str, AttachPoint)> =
        names.iter().map(|name| (name.as_str(), tracepoint("syscalls", name))).collect();
    let clock = Instant::now();
    let mut script = start(vec![probe(&points, Context::Tracepoint)]);
    let made = clock.elapsed();
    let enabled = script.enable().unwrap().unwrap();
    let attached = clock.elapsed();
    assert_eq!(enabled.attached as usize, names.len());
    read_something(1);
    let clock = Instant::now();
    let readings = stopped(&mut script);
    let stopped = clock.elapsed();
    wait_for("the end of all links", || script.readings().detaching.attached == 0);
    println!(
        "{} tracepoints: made in {made:?}, attached after {attached:?}, stopped in {stopped:?}, detached after {:?}",
        names.len(),
        clock.elapsed()
    );
    // How long the kernel takes to close them in the background is for people to measure; here it goes on for seconds.
    assert!(script.readings().detaching.closing > 0);
    assert!(readings.probes[0].hits > 0);
}

fn read_something(times: u32) {
    use std::io::Read as _;
    for _ in 0..times {
        File::open("/proc/self/stat").unwrap().read_exact(&mut [0]).unwrap();
    }
}

fn kprobe(function: &str, offset: u64, exit: bool) -> AttachPoint {
    AttachPoint::Kprobe { module: String::new(), function: function.into(), offset, exit }
}

/// The first two of `all` that are among `probes`.
fn first_two(all: &[u32], probes: std::ops::Range<u32>) -> Vec<u32> {
    all.iter().copied().filter(|one| probes.contains(one)).take(2).collect()
}

#[test]
fn kernel_functions_fire_at_entry_and_return() {
    let features = KernelHost::default().features().clone();
    if !features.kprobe || !possible("kernel probes of scripts") {
        println!("SKIPPED: kernel probes — {features:?}");
        return;
    }
    let many = [
        ("k", kprobe("vfs_read", 0, false)),
        ("k", kprobe("vfs_open", 0, false)),
        ("k", kprobe("vfs_statx", 0, false)),
    ];
    let returns = [("kr", kprobe("vfs_read", 0, true)), ("kr", kprobe("vfs_open", 0, true))];
    let mut script = start(vec![
        probe(&many, Context::Registers),
        probe(&returns, Context::Registers),
        probe(&[("k", kprobe("vfs_read", 0, false))], Context::Registers),
        probe(&[("k", kprobe("vfs_read", 0, false))], Context::Registers),
        probe(&[("kr", kprobe("vfs_read", 0, true))], Context::Registers),
        probe(&[("kr", kprobe("vfs_read", 0, true))], Context::Registers),
        // The instruction after the first: `endbr64`, or the call that is patched for tracing, has 4 or 5 bytes.
        probe(&[("off", kprobe("vfs_read", 0, false)), ("off", kprobe("vfs_read", 0, false))], Context::Registers),
    ]);
    let mut ring = ring(&script);
    assert_eq!(script.enable().unwrap().unwrap().failed, []);
    read_something(20);
    let readings = stopped(&mut script);
    let all = fired(&mut ring);
    println!("{:?}", hits(&mut script));
    for probe in [0, 1, 3, 4, 5, 6, 7, 8] {
        assert!(hits(&mut script).get(&probe).is_some_and(|hits| *hits >= 20), "{probe}: {readings:?}");
    }
    assert_eq!(first_two(&all, 5..7), [5, 6], "in the script's order");
    assert_eq!(first_two(&all, 7..9), [7, 8], "in the script's order, at the return too");
}

#[test]
fn kernel_functions_that_cannot_be_probed_are_told_one_by_one() {
    let features = KernelHost::default().features().clone();
    if !features.kprobe || !possible("kernel probes that fail") {
        println!("SKIPPED: kernel probes that fail — {features:?}");
        return;
    }
    let lenient = Config { missing_probes: MissingProbes::Ignore, ..Config::default() };
    let points = [
        ("k", kprobe("vfs_read", 0, false)),
        ("k", kprobe("no_such_function_here", 0, false)),
        ("k", kprobe("vfs_open", 0, false)),
        ("k", kprobe("vfs_write", 0, false)),
    ];
    let mut script = start_with(vec![probe(&points, Context::Registers)], lenient).unwrap();
    let enabled = script.enable().unwrap().unwrap();
    let told: Vec<u32> = script.script().failed.iter().chain(&enabled.failed).map(|one| one.probe).collect();
    assert_eq!((told, enabled.attached), (vec![1], 3));
    read_something(3);
    assert!(hits(&mut script)[&0] >= 3);
    let strict = start_with(vec![probe(&points, Context::Registers)], Config::default());
    let refused = strict.and_then(|mut script| script.enable().map(|_| ()));
    let Err(EngineError::Script(refused)) = refused else { panic!("{refused:?}") };
    assert!(refused.diagnostics[0].message.contains("no such function"), "{refused:?}");
}

#[test]
fn kernel_functions_fire_through_trampolines() {
    let features = KernelHost::default().features().clone();
    if !features.fentry || !possible("fentry of scripts") {
        println!("SKIPPED: fentry — {features:?}");
        return;
    }
    let at = |function: &str, exit| AttachPoint::Fentry { module: String::new(), function: function.into(), exit };
    let mut script = start(vec![
        probe(&[("f", at("vfs_read", false)), ("f", at("vfs_open", false))], Context::Words),
        probe(&[("f", at("vfs_read", false))], Context::Words),
        probe(&[("fr", at("vfs_read", true))], Context::Words),
        probe(&[("fr", at("vfs_read", true))], Context::Words),
    ]);
    let mut ring = ring(&script);
    assert_eq!(script.enable().unwrap().unwrap().failed, []);
    read_something(20);
    let readings = stopped(&mut script);
    let all = fired(&mut ring);
    println!("{:?}", hits(&mut script));
    for probe in 0..5 {
        assert!(hits(&mut script).get(&probe).is_some_and(|hits| *hits >= 20), "{probe}: {readings:?}");
    }
    let reads: Vec<u32> = all.iter().copied().filter(|one| [0, 2].contains(one)).take(2).collect();
    assert_eq!(reads, [0, 2], "in the script's order");
    assert_eq!(first_two(&all, 3..5), [3, 4], "in the script's order, at the return too");
}

#[test]
fn addresses_of_user_space_are_found_in_types() {
    let types = [Type::U64, Type::Tuple(vec![Type::U64, Type::Shown(Shown::UserSymbol)])];
    assert_eq!(types.map(|ty| has_user_address(&ty)), [false, true]);
}
