//! The programs for system calls on a real kernel: its verifier must accept them, and what they record must be true.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::print_stdout, reason = "a skipped test must be seen, and the times are of interest")]

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{Read as _, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{LazyLock, Mutex},
    time::{Duration, Instant},
};

use aya::{
    Ebpf, EbpfLoader,
    maps::{HashMap, MapData, PerCpuArray, RingBuf},
    programs::{RawTracePoint, TracePoint},
};
use bathyscope_bpf::{
    compile, object,
    probe::{TARGETS_MAP, TargetFilter},
    syscalls::{
        COUNTERS, COUNTERS_WORDS, CompatPlace, EndPlaces, KernelPlaces, RING, SyscallProbe, TARGET_WILL_EXECUTE,
        programs,
    },
};
use bathyscope_capture::{Below, SyscallData, SyscallOutcome};
use bathyscope_catalog::{
    constants::{Arch, syscall_number},
    syscalls::{Beside, Style, decode, result_text, select, signal_text},
    types::{Btf, Types},
};
use bathyscope_decode::calls::{CallEvent, CallRecord};

const TRACEFS: &str = "/sys/kernel/tracing";
const PATIENCE: Duration = Duration::from_secs(60);

static LOADER: LazyLock<Mutex<EbpfLoader<'static>>> = LazyLock::new(|| {
    let mut loader = EbpfLoader::new();
    loader.btf(None);
    Mutex::new(loader)
});

thread_local! {
    static PLACES: Option<(EndPlaces, Option<CompatPlace>, KernelPlaces)> = {
        let bytes = fs::read("/sys/kernel/btf/vmlinux").ok();
        let types = bytes.map(|bytes| Types::new(std::sync::Arc::new(Btf::parse(bytes).unwrap())));
        let compat = |types: &Types| (Arch::HOST == Arch::X86_64).then(|| CompatPlace::find(types).unwrap());
        types.map(|types| (EndPlaces::find(&types).unwrap(), compat(&types), KernelPlaces::find(&types)))
    };
}

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
        besides: BTreeSet::new(),
        target,
        excluded: Vec::new(),
        outcome: SyscallOutcome::Any,
        min_duration_ns: 0,
        path: None,
        string_bytes: 32,
        ring_bytes: 16 << 20,
        signals: true,
        ends: PLACES.with(|places| places.map(|(ends, _, _)| ends)),
        compat: PLACES.with(|places| places.and_then(|(_, compat, _)| compat)),
        places: PLACES.with(|places| places.map(|(_, _, places)| places).unwrap_or_default()),
        raw: PLACES.with(|places| places.is_some_and(|(_, _, places)| places.family.is_some())),
        inodes: true,
        cpu_time: false,
        addresses: false,
        stacks: false,
        data: SyscallData::default(),
        below: None,
        ancestors: false,
    }
}

struct Tracing {
    ebpf: Ebpf,
    ring: RingBuf<MapData>,
}

impl Tracing {
    fn start(probe: &SyscallProbe, target: Option<(u32, u32)>) -> Self {
        let made = programs(probe).unwrap();
        let all = [&made.forget, &made.exit, &made.enter, &made.inside].into_iter().chain(&made.signal);
        let codes: Vec<_> = all.map(|program| compile(program).unwrap()).collect();
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
        if made.signal.is_some() {
            let program: &mut RawTracePoint = ebpf.program_mut("sys_signal").unwrap().try_into().unwrap();
            program.load().unwrap_or_else(|error| panic!("sys_signal was refused: {error:?}"));
            program.attach("signal_deliver").unwrap();
        }
        let inside: &mut RawTracePoint = ebpf.program_mut("sys_inside").unwrap().try_into().unwrap();
        inside.load().unwrap_or_else(|error| panic!("sys_inside was refused: {error:?}"));
        for (name, system, event) in points {
            if probe.raw && system == "raw_syscalls" {
                let program: &mut RawTracePoint = ebpf.program_mut(name).unwrap().try_into().unwrap();
                program.load().unwrap_or_else(|error| panic!("{name} was refused: {error:?}"));
                program.attach(event).unwrap();
                continue;
            }
            let program: &mut TracePoint = ebpf.program_mut(name).unwrap().try_into().unwrap();
            program.load().unwrap_or_else(|error| panic!("{name} was refused: {error:?}"));
            program.attach(system, event).unwrap();
        }
        Self { ebpf, ring }
    }

    /// Hits, filtered, without room in the ring and in the map.
    fn counters(&self) -> [u64; 4] {
        let [hits, filtered, ring_full, no_room, ..] = self.all_counters();
        [hits, filtered, ring_full, no_room]
    }

    fn all_counters(&self) -> [u64; COUNTERS_WORDS] {
        let map: PerCpuArray<&MapData, [u64; COUNTERS_WORDS]> =
            PerCpuArray::try_from(self.ebpf.map(COUNTERS).unwrap()).unwrap();
        let mut sum = [0; COUNTERS_WORDS];
        for values in map.get(&0, 0).unwrap().iter() {
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        sum
    }

    fn records(&mut self) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| self.ring.next().map(|record| record.to_vec())).collect()
    }
}

fn line(record: &CallRecord<'_>) -> String {
    let call = record.call();
    match record.what {
        CallEvent::Signal => return format!("--- {} ---", signal_text(call.number, &record.signal()).1),
        CallEvent::End(end) => {
            return format!("+++ {} of {} +++", end.status, if end.is_last { "all" } else { "some" });
        }
        CallEvent::Stack => return format!("a stack of {} bytes", record.stack().bytes.len()),
        CallEvent::Data => return format!("data of {} bytes", record.data().2.len()),
        CallEvent::Call | CallEvent::Unfinished | CallEvent::Inside => {}
    }
    let decoded = decode(Arch::HOST, &call, &Style { strings: 32, ..Style::default() });
    let result = result_text(Arch::HOST, call.number, call.result, &decoded.note);
    format!("{}({}) = {result}", decoded.name, decoded.arguments)
}

fn lines(records: &[Vec<u8>]) -> Vec<String> {
    records.iter().map(|record| line(&CallRecord::read(record).unwrap())).collect()
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
    let last = if PLACES.with(Option::is_some) { "+++ 256 of all +++" } else { "exit_group(1) = ?" };
    assert_eq!(lines.last().unwrap(), last);
    assert!(lines.contains(&"exit_group(1) = ?".to_owned()));
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
        let record = CallRecord::read(record).unwrap();
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
    assert_eq!(recorded(&SyscallProbe { outcome: SyscallOutcome::Failed, ..all.clone() }), [missing]);
    assert_eq!(recorded(&SyscallProbe { outcome: SyscallOutcome::Succeeded, ..all.clone() }).len(), 2);
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

/// A number beside a call.
fn beside(record: &CallRecord<'_>, which: u8, part: u8) -> Option<u64> {
    let piece = record.pieces.iter().find(|piece| (piece.argument, piece.part) == (which, part))?;
    Some(u64::from_le_bytes(piece.bytes?.try_into().ok()?))
}

#[test]
fn what_is_recorded_beside_calls_is_what_the_process_is_and_did() {
    if !ready() || !PLACES.with(Option::is_some) {
        return;
    }
    let pid = std::process::id();
    let asked = SyscallProbe {
        cpu_time: true,
        addresses: true,
        ancestors: true,
        ..probe("clock_nanosleep,socket,read", TargetFilter::Process(pid))
    };
    let mut tracing = Tracing::start(&asked, None);
    let socket = std::os::unix::net::UnixDatagram::unbound().unwrap();
    std::thread::sleep(Duration::from_millis(60));
    let mut bytes = vec![0; 2 << 20];
    File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    let records = tracing.records();
    let read: Vec<CallRecord<'_>> = records.iter().map(|record| CallRecord::read(record).unwrap()).collect();
    let own = fs::read_link("/proc/thread-self").unwrap();
    let own: u32 = own.file_name().unwrap().to_str().unwrap().parse().unwrap();
    let call = |name: &str| {
        let number = syscall_number(Arch::HOST, name).unwrap();
        let is_it = |record: &&CallRecord<'_>| i64::from(record.number) == number && record.tid == own;
        // That of most work, or the longest wait.
        let own = read.iter().filter(is_it).max_by_key(|record| record.duration_ns);
        own.unwrap_or_else(|| panic!("no {name}"))
    };
    // A thread that waits does not run; one that is not switched away from runs all the time.
    let (slept, worked) = (call("clock_nanosleep"), call("read"));
    let cpu = |record: &CallRecord<'_>| beside(record, Beside::CPU_NS, 0).unwrap();
    assert!(
        slept.duration_ns >= 60_000_000 && cpu(slept) < slept.duration_ns / 4,
        "{} {}",
        slept.duration_ns,
        cpu(slept)
    );
    assert!(cpu(worked) > 100_000 && cpu(worked) <= worked.duration_ns, "{} {}", worked.duration_ns, cpu(worked));
    let link = fs::read_link(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&socket))).unwrap();
    let made =
        read.iter().filter_map(|record| beside(record, Beside::INODE, 0)).map(|inode| format!("socket:[{inode}]"));
    assert!(made.collect::<Vec<_>>().contains(&link.to_str().unwrap().to_owned()), "{link:?}");
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let at = beside(worked, Beside::ADDRESS, 0).unwrap();
    let inside = |line: &str| {
        let (from, to) = line.split(' ').next()?.split_once('-')?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        Some((number(from)?..number(to)?).contains(&at) && line.contains("r-xp"))
    };
    assert!(maps.lines().any(|line| inside(line) == Some(true)), "{at:#x}");
    let owner = beside(worked, Beside::OWNER, 0).unwrap();
    assert_eq!((owner & 0xffff_ffff, owner >> 32), (0, 0), "root's");
    let ancestors = worked.pieces.iter().find(|piece| piece.argument == Beside::ANCESTORS).unwrap().bytes.unwrap();
    let parent = u64::from_le_bytes(ancestors[..8].try_into().unwrap());
    assert_eq!(parent, u64::from(std::os::unix::process::parent_id()));
    assert_eq!(ancestors.len(), (Beside::ANCESTORS_MOST * Beside::ANCESTOR_BYTES) as usize);
}

#[test]
fn calls_of_others_are_passed_over_and_counted_apart() {
    if !ready() || !PLACES.with(Option::is_some) {
        return;
    }
    let mut other = Waiting::new("dd if=/dev/zero of=/dev/null bs=1 count=20000 status=none");
    let target = TargetFilter::Process(std::process::id());
    let mut tracing = Tracing::start(&probe("close", target), None);
    other.go();
    other.0.wait().unwrap();
    let (_closed, records) = (drop(File::open("/proc/self/stat")), tracing.records());
    let [hits, filtered, ring_full, no_room, others, spent_ns] = tracing.all_counters();
    assert!(others >= 40_000, "{others}");
    // Other threads of this process go on between the two readings.
    let told = filtered + ring_full + no_room + records.len() as u64;
    assert!((told..told + 100).contains(&hits), "{hits} hits, {told} told");
    assert!(filtered < 40_000, "{filtered}");
    drop(tracing);
    // Of what descends from this process, and of nothing else: it has made no other that does so much.
    let below = SyscallProbe {
        below: Some(Below { pid: std::process::id(), direct: true }),
        ..probe("read,write", TargetFilter::System)
    };
    let mut tracing = Tracing::start(&below, None);
    let mut child = Waiting::new("dd if=/dev/zero of=/dev/null bs=1 count=5000 status=none");
    child.go();
    child.0.wait().unwrap();
    let records = tracing.records();
    let pids: BTreeSet<u32> = records.iter().map(|record| CallRecord::read(record).unwrap().pid).collect();
    assert!(pids.contains(&child.0.id()) && !pids.contains(&std::process::id()), "{pids:?}");
    let spent = tracing.all_counters()[5];
    println!("{spent_ns} ns and {spent} ns spent on calls that were asked for");
    assert!(spent > 10_000 * 100, "{spent}");
}

const EXECUTES: &str = r#"
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words) {
    int child = fork();
    if (child == 0) {
        execl("/bin/true", "words of", "a page", "that nobody has touched", (char *)0);
        _exit(1);
    }
    wait(0);
    if (fork() == 0) {
        execl(words[1], "changed", "second", (char *)0);
        _exit(1);
    }
    wait(0);
    return 0;
}
"#;

/// A child that was just forked has few of its pages; what it executes a program with is read where the program runs.
#[test]
fn what_a_child_executes_is_read_though_it_has_touched_nothing() {
    if !ready() || !PLACES.with(Option::is_some) {
        return;
    }
    let Some(program) = compiled(EXECUTES, "syscalls_executes") else { return };
    let script = Path::new(env!("CARGO_TARGET_TMPDIR")).join("syscalls_script");
    fs::write(&script, "#!/bin/sh -e\nexit 0\n").unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let script = script.to_str().unwrap();
    // Whoever runs the program is not recorded, but its children are.
    let mut command = Waiting::new(&format!("'{program}' '{script}'"));
    let below = SyscallProbe {
        below: Some(Below { pid: command.0.id(), direct: true }),
        ..probe("execve", TargetFilter::System)
    };
    let mut tracing = Tracing::start(&below, None);
    command.go();
    command.0.wait().unwrap();
    let lines: Vec<String> = lines(&tracing.records()).into_iter().filter(|line| line.starts_with("execve(")).collect();
    let first = r#"execve("/bin/true", ["words of", "a page", "that nobody has touched"], 0x"#;
    assert!(lines.iter().any(|line| line.starts_with(first) && line.ends_with(" = 0")), "{lines:?}");
    let vars = lines.iter().filter(|line| line.contains(" vars */) = 0") || line.contains(" var */) = 0")).count();
    assert_eq!(vars, lines.len(), "{lines:?}");
    // Of a script, what its interpreter was given: its path for its first word, which may be known from before.
    let second = format!("execve(\"{script}\", [");
    assert!(lines.iter().any(|line| line.starts_with(&second)), "{lines:?}");
    assert!(lines.iter().all(|line| !line.contains("-e")), "{lines:?}");
}

/// A program in C, made of a text.
fn compiled(text: &str, name: &str) -> Option<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join(name).with_extension("c"), folder.join(name));
    fs::write(&source, text).unwrap();
    let made = Command::new("gcc").args(["-O1", "-w", "-o"]).args([&program, &source]).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("SKIPPED: needs gcc");
        return None;
    }
    Some(program.to_str().unwrap().to_owned())
}

const SIGNALS: &str = r#"
#include <signal.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>
static void caught(int number) {}
int main() {
    struct sigaction action = { .sa_handler = caught };
    sigaddset(&action.sa_mask, SIGHUP);
    sigaction(SIGUSR1, &action, 0);
    kill(getpid(), SIGUSR1);
    int pair[2];
    pipe(pair);
    write(pair[1], "x", 1);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pair[0], &set);
    struct timeval time = { 1, 0 };
    syscall(SYS_select, pair[0] + 1, &set, 0, 0, &time);
    int parent = getpid();
    if (fork() == 0) { usleep(100000); kill(parent, SIGKILL); }
    else { char byte; read(pair[0], &byte, 1); read(pair[0], &byte, 1); }
}"#;

#[test]
fn signals_ends_and_calls_that_do_not_return_are_recorded() {
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    if !ready() {
        return;
    }
    let Some(program) = compiled(SIGNALS, "syscalls_made") else { return };
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "read go; exec \"$0\"", &program]).stdin(Stdio::piped()).process_group(0);
    let mut command = Waiting(command.spawn().unwrap());
    let pid = command.0.id();
    let mut tracing = Tracing::start(&probe("all", TargetFilter::Targets), Some((pid, TARGET_WILL_EXECUTE)));
    command.go();
    assert_eq!(command.0.wait().unwrap().signal(), Some(9));
    let records = tracing.records();
    let all = lines(&records);
    let has = |line: &str| assert!(all.iter().any(|known| known == line), "no {line} in {all:#?}");
    has(&format!("--- {{si_signo=SIGUSR1, si_code=SI_USER, si_pid={pid}, si_uid=0}} ---"));
    if PLACES.with(Option::is_some) {
        has("rt_sigreturn({mask=[]}) = 0");
        has("+++ 9 of all +++");
    }
    assert!(
        all.iter()
            .any(|line| line
                .starts_with("select(4, [3], NULL, NULL, {tv_sec=1, tv_usec=0}) = 1 (in [3], left {tv_sec=0, ")),
        "{all:#?}"
    );
    // The call of a process that is killed comes back, though nobody gets its result.
    assert!(all.iter().any(|line| line.starts_with("read(3, 0x") && line.contains("? ERESTARTSYS")), "{all:#?}");
    let [hits, filtered, ring_full, no_room] = tracing.counters();
    assert_eq!(hits, filtered + ring_full + no_room + records.len() as u64);
}

#[test]
fn the_verifier_accepts_every_form() {
    if !ready() {
        return;
    }
    let any = probe("all", TargetFilter::System);
    let forms = [
        any.clone(),
        SyscallProbe { excluded: vec![1, 2], string_bytes: 16 << 10, ..any.clone() },
        SyscallProbe { signals: false, ends: None, ..any.clone() },
        SyscallProbe { compat: None, ..any.clone() },
        SyscallProbe { calls: select(Arch::HOST, "read").unwrap(), ..any.clone() },
        SyscallProbe { string_bytes: 0, path: Some(vec![b'/'; 128]), ..any.clone() },
        SyscallProbe {
            cpu_time: true,
            addresses: true,
            ancestors: true,
            below: Some(Below { pid: 1, direct: false }),
            ..any.clone()
        },
        SyscallProbe { stacks: true, ..any.clone() },
        SyscallProbe { inodes: false, places: KernelPlaces::default(), raw: false, ..any.clone() },
        SyscallProbe { raw: false, ..any.clone() },
        SyscallProbe {
            outcome: SyscallOutcome::Failed,
            min_duration_ns: u64::MAX,
            target: TargetFilter::Targets,
            ..any
        },
    ];
    for form in &forms {
        drop(Tracing::start(form, None));
    }
    // `trace=none` shows signals and ends.
    assert!(programs(&SyscallProbe { calls: BTreeSet::new(), ..probe("all", TargetFilter::System) }).is_ok());
    assert!(programs(&SyscallProbe { ring_bytes: 5000, ..probe("all", TargetFilter::System) }).is_err());
}
