//! Captures of the running kernel. What is missing here is said in a line that begins with SKIPPED.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
#![expect(clippy::print_stdout, reason = "what was measured or skipped is told")]

use crate::common;

use std::{
    cell::Cell,
    collections::BTreeMap,
    fs::File,
    io::Read as _,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use bathyscope_capture::{ProfileSpec, Target};
use bathyscope_protocol::{
    AgentClient, AgentErrorKind, CapabilityState, ClientError, KernelFile, PressureResource, RingContent, TargetState,
    WireMethod,
};
use common::{Rings, events, kernel, number, probe, start, text, wait_for};

/// Whether kernel captures are possible; says what is missing if not.
fn possible(what: &str) -> bool {
    if rustix::process::geteuid().is_root() {
        return true;
    }
    println!("SKIPPED: {what} — root");
    false
}

fn spawn(program: &str, words: &[&str]) -> Child {
    Command::new(program).args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn dd(count: &str) -> Child {
    spawn("dd", &["if=/dev/zero", "of=/dev/null", "bs=1", &format!("count={count}")])
}

#[test]
fn system_calls_of_a_busy_process_balance() {
    if !possible("system calls of a busy process") {
        return;
    }
    let mut client = kernel();
    let method = events(&[probe("raw_syscalls:sys_enter", &["id"], "")]);
    let mut rings = start(&mut client, method, Target::System, 8 << 20);
    let (pid, id) = (rings.column(0, "pid"), rings.column(0, "id"));
    client.enable(1).unwrap();
    let mut dd = dd("100k");
    let dd_pid = u64::from(dd.id());
    let (mut records, mut reads, mut writes) = (0, 0, 0);
    let mut each = |record: &[u8]| {
        if number(record, &pid) == dd_pid {
            reads += u64::from(number(record, &id) == 0);
            writes += u64::from(number(record, &id) == 1);
        }
    };
    wait_for("the end of dd", || {
        records += rings.stream(0, &mut each);
        dd.try_wait().unwrap().is_some()
    });
    let last = client.stop(1, false).unwrap().sources[0].probes[0].clone();
    records += rings.stream(0, &mut each);
    assert_eq!(last.hits, last.filtered + last.ring_full + records, "{last:?}");
    assert_eq!(last.ring_full, 0, "8 MiB are enough when they are read at once");
    if cfg!(target_arch = "x86_64") {
        assert!(reads >= 102_400 && writes >= 102_400, "{reads} reads, {writes} writes");
    }
    println!("{} hits, {records} records, {:?} ns for each hit", last.hits, last.ns_per_hit);
    client.discard(1).unwrap();
}

#[test]
fn a_ring_that_nobody_reads_balances_too() {
    if !possible("an overflow of a kernel ring") {
        return;
    }
    let mut client = kernel();
    let method = events(&[probe("raw_syscalls:sys_enter", &["id", "args"], "")]);
    let mut rings = start(&mut client, method, Target::System, 64 << 10);
    client.enable(1).unwrap();
    assert!(dd("20k").wait().unwrap().success());
    let last = client.stop(1, false).unwrap().sources[0].probes[0].clone();
    let records = rings.stream(0, &mut |_record| ());
    assert!(last.ring_full > 10_000 && records > 0, "{last:?}");
    assert_eq!(last.hits, last.filtered + last.ring_full + records, "{last:?}");
    assert_eq!(client.readings(1).unwrap().sources[0].probes[0].hits, last.hits, "nothing comes after the stop");
}

#[test]
fn predicates_and_targets_filter_in_the_kernel() {
    if !possible("filters in the kernel") {
        return;
    }
    let mut client = kernel();
    let mut dd = dd("100000000");
    let target = Target::Process { pid: dd.id(), children: false };
    let method = events(&[probe("raw_syscalls:sys_enter", &["id"], "id == 1")]);
    let mut rings = start(&mut client, method, target, 4 << 20);
    let (pid, id, comm) = (rings.column(0, "pid"), rings.column(0, "id"), rings.column(0, "comm"));
    client.enable(1).unwrap();
    let mut records = 0;
    let dd_pid = u64::from(dd.id());
    let mut each = |record: &[u8]| {
        assert_eq!((number(record, &pid), number(record, &id)), (dd_pid, 1));
        assert_eq!(text(record, &comm).unwrap(), b"dd");
    };
    wait_for("records", || {
        records += rings.stream(0, &mut each);
        records > 5000
    });
    assert_eq!(client.readings(1).unwrap().target, TargetState::Running);
    dd.kill().unwrap();
    dd.wait().unwrap();
    assert_eq!(client.readings(1).unwrap().target, TargetState::Gone);
    let last = client.stop(1, false).unwrap().sources[0].probes[0].clone();
    records += rings.stream(0, &mut each);
    assert_eq!(last.hits, last.filtered + last.ring_full + records, "{last:?}");
    assert!(last.filtered > 0);
}

#[test]
fn a_command_is_recorded_from_its_execution_with_its_children() {
    if !possible("a command as target") {
        return;
    }
    let mut client = kernel();
    // `timeout` forks before it executes `dd`.
    let argv = ["timeout", "60", "dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=1000"];
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    let target = Target::Command { argv, user: None, children: true };
    let method = events(&[
        probe("syscalls:sys_enter_execve", &["filename"], ""),
        probe("syscalls:sys_enter_write", &["fd", "count"], "count == 1"),
        probe("sched:sched_process_exec", &["filename"], ""),
    ]);
    let mut rings = start(&mut client, method, target, 1 << 20);
    let command = u64::from(rings.started.target_pid.unwrap());
    let columns = [rings.column(0, "filename"), rings.column(1, "pid"), rings.column(2, "filename")];
    client.enable(1).unwrap();
    wait_for("the command's end", || client.readings(1).unwrap().target != TargetState::Running);
    let last = client.stop(1, false).unwrap();
    assert_eq!(last.target, TargetState::Exited { code: Some(0), signal: None });
    let mut wanted = Vec::new();
    rings.stream(0, &mut |record| wanted.push(text(record, &columns[0])));
    let mut executed = Vec::new();
    rings.stream(2, &mut |record| executed.push(String::from_utf8(text(record, &columns[2]).unwrap()).unwrap()));
    assert!(executed.first().unwrap().ends_with("/timeout"), "{executed:?}");
    assert!(executed.iter().any(|name| name.ends_with("/dd")), "{executed:?}, wanted {wanted:?}");
    let mut writers = BTreeMap::<u64, u64>::new();
    rings.stream(1, &mut |record| *writers.entry(number(record, &columns[1])).or_default() += 1);
    assert!(writers.iter().any(|(pid, count)| *pid != command && *count >= 1000), "{writers:?}");
    let mut printed = String::new();
    rings.output.take().unwrap().1.read_to_string(&mut printed).unwrap();
    assert!(printed.contains("1000 bytes"), "{printed}");
    let mut kinds = BTreeMap::<u32, u64>::new();
    rings.drain(RingContent::Sideband, &mut |record| {
        *kinds.entry(u32::from_le_bytes(record[..4].try_into().unwrap())).or_default() += 1;
    });
    for (kind, what) in [(3, "comm"), (4, "exit"), (7, "fork"), (10, "mmap2")] {
        assert!(kinds.contains_key(&kind), "no {what} among {kinds:?}");
    }
}

#[test]
fn a_command_that_cannot_run_is_told_in_words() {
    if !possible("a command that cannot run") {
        return;
    }
    let mut client = kernel();
    let command = |argv: &[&str], user: Option<&str>| Target::Command {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        user: user.map(str::to_owned),
        children: false,
    };
    let mut refused = |target| match client.start(1, events(&[probe("sched:sched_switch", &[], "")]), target, 1 << 16) {
        Err(ClientError::Refused(error)) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(command(&["no-such-program-here"], None)).kind, AgentErrorKind::NotFound);
    assert_eq!(refused(command(&["true"], Some("no-such-user-here"))).kind, AgentErrorKind::NotFound);
    assert_eq!(refused(Target::Process { pid: 4_194_303, children: true }).kind, AgentErrorKind::NotFound);
}

/// Keeps a CPU busy until it is dropped, even by a test that fails.
struct Busy(Child);

impl Busy {
    fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _gone_already = self.0.kill();
        let _status = self.0.wait();
    }
}

fn busy() -> Busy {
    Busy(spawn("sha256sum", &["/dev/zero"]))
}

/// `PERF_RECORD_SAMPLE`.
const SAMPLE: u32 = 9;

struct Sample {
    pid: u32,
    frames: Vec<u64>,
}

/// Reads a sample of IP, TID, TIME, CPU, PERIOD, CALLCHAIN.
fn sample(record: &[u8]) -> Option<Sample> {
    let word = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().unwrap());
    if !record.starts_with(&SAMPLE.to_le_bytes()) {
        return None;
    }
    let frames = (0..word(48) as usize).map(|index| word(56 + 8 * index)).collect();
    Some(Sample { pid: word(16) as u32, frames })
}

#[test]
fn samples_with_stacks_come_from_a_busy_process() {
    if !possible("samples of a busy process") {
        return;
    }
    let mut client = kernel();
    let busy = busy();
    for target in [Target::System, Target::Process { pid: busy.id(), children: true }] {
        let only_it = target != Target::System;
        let method = WireMethod::Profile(common::profile(499));
        let mut rings = start(&mut client, method, target, 4 << 20);
        client.enable(1).unwrap();
        let (samples, with_user_frames) = (Cell::new(0_u64), Cell::new(0_u64));
        let mut each = |record: &[u8]| {
            let Some(sample) = sample(record) else { return };
            samples.set(samples.get() + 1);
            assert_ne!(sample.pid, 0, "idle");
            assert!(!only_it || sample.pid == busy.id());
            let user = sample.frames.iter().position(|frame| *frame == (-512_i64).cast_unsigned());
            let frames = user.map_or(0, |at| sample.frames.len() - at - 1);
            with_user_frames.set(with_user_frames.get() + u64::from(sample.pid == busy.id() && frames > 0));
        };
        // Others may keep the machine busy as well, so samples in all say nothing.
        wait_for("samples of it", || {
            rings.stream(0, &mut each);
            let readings = client.readings(1).unwrap();
            readings.sources[0].probes[0].hits - readings.sources[0].probes[0].filtered > 100
                && with_user_frames.get() > 10
        });
        let last = client.stop(1, false).unwrap().sources[0].probes[0].clone();
        rings.stream(0, &mut each);
        assert_eq!(last.hits, last.filtered + last.ring_full + samples.get(), "{last:?}");
        client.discard(1).unwrap();
    }
}

#[test]
fn a_sample_is_taken_once_in_a_period() {
    if !possible("samples by a period") {
        return;
    }
    let mut client = kernel();
    let argv = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=5000", "status=none"].map(str::to_owned).to_vec();
    for (period, expected) in [(1, 5000..=5000), (100, 45..=50)] {
        let event = Some("syscalls:sys_enter_write".to_owned());
        let method = WireMethod::Profile(ProfileSpec { event, period: Some(period), ..common::profile(99) });
        let target = Target::Command { argv: argv.clone(), user: None, children: true };
        let mut rings = start(&mut client, method, target, 4 << 20);
        client.enable(1).unwrap();
        let samples = Cell::new(0_u64);
        let is_sample = |record: &[u8]| record.starts_with(&SAMPLE.to_le_bytes());
        let mut each = |record: &[u8]| samples.set(samples.get() + u64::from(is_sample(record)));
        wait_for("the command's end", || {
            rings.stream(0, &mut each);
            matches!(client.readings(1).unwrap().target, TargetState::Exited { code: Some(0), .. })
        });
        client.stop(1, false).unwrap();
        rings.stream(0, &mut each);
        // On each CPU that it ran on the last period may be one that has not ended.
        assert!(expected.contains(&samples.get()), "{} samples, each {period}", samples.get());
        client.discard(1).unwrap();
    }
}

#[test]
fn captures_follow_each_other_and_tell_what_attaching_took() {
    if !possible("the time from spec to attached") {
        return;
    }
    let mut client = kernel();
    // The first one makes the kernel and this process read what they have not read yet.
    for _ in 0..8 {
        let method = events(&[probe("raw_syscalls:sys_enter", &["id", "args"], "id == 0 && comm == \"none\"")]);
        // Reading a format waits for the kernel to have let go of the probes of the capture before.
        let tracepoint = "raw_syscalls:sys_enter".parse().unwrap();
        read_some(&mut client, KernelFile::EventFormat { tracepoint });
        let clock = Instant::now();
        let started = client.start(1, method, Target::System, 1 << 20).unwrap();
        let made = clock.elapsed();
        client.enable(1).unwrap();
        let attached = clock.elapsed();
        client.stop(1, false).unwrap();
        client.discard(1).unwrap();
        let ms = |ns: u64| Duration::from_nanos(ns);
        println!(
            "compile {:?} load {:?} open {:?} made {made:?} all {attached:?}, stop {:?}",
            ms(started.sources[0].compile_ns),
            ms(started.sources[0].load_ns),
            ms(started.sources[0].attach_ns),
            clock.elapsed().saturating_sub(attached)
        );
        // How long it takes is for people to read (`--nocapture`): a test beside this one may hold the kernel's lock.
        assert!(
            started.sources[0].compile_ns > 0 && started.sources[0].load_ns > 0 && started.sources[0].attach_ns > 0,
            "{started:?}"
        );
    }
}

#[test]
fn many_probes_are_detached_quickly() {
    if !possible("many probes") {
        return;
    }
    let mut client = kernel();
    let names = ["sched_switch", "sched_wakeup", "sched_waking", "sched_process_fork", "sched_process_exit"];
    let sched = names.iter().map(|name| probe(&format!("sched:{name}"), &[], ""));
    let calls = ["read", "write", "openat", "close", "mmap", "munmap", "futex", "poll", "ioctl", "clone", "execve"];
    let calls = calls.iter().map(|name| probe(&format!("syscalls:sys_enter_{name}"), &[], ""));
    let probes: Vec<_> = sched.chain(calls).cycle().take(64).collect();
    let clock = Instant::now();
    let mut rings = start(&mut client, events(&probes), Target::System, 64 << 10);
    client.enable(1).unwrap();
    let attached = clock.elapsed();
    let clock = Instant::now();
    let last = client.stop(1, false).unwrap();
    println!("64 probes: attached in {attached:?}, detached in {:?}", clock.elapsed());
    for (stream, probe) in (0..).zip(&last.sources[0].probes) {
        let records = rings.stream(stream, &mut |_record| ());
        assert_eq!(probe.hits, probe.filtered + probe.ring_full + records);
    }
}

fn read_some(client: &mut AgentClient, file: KernelFile) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    let got = File::from(client.open_kernel_file(file).unwrap()).read(&mut bytes).unwrap();
    bytes.truncate(got);
    bytes
}

#[test]
fn the_kernels_files_are_opened() {
    if !possible("files of the kernel") {
        return;
    }
    let mut client = kernel();
    let kallsyms = read_some(&mut client, KernelFile::Kallsyms);
    assert!(kallsyms.contains(&b'T') || kallsyms.contains(&b't') || kallsyms.contains(&b'A'));
    assert!(read_some(&mut client, KernelFile::AvailableEvents).contains(&b':'));
    assert!(read_some(&mut client, KernelFile::Notes).len() > 16);
    let tracepoint = "sched:sched_switch".parse().unwrap();
    assert!(read_some(&mut client, KernelFile::EventFormat { tracepoint }).starts_with(b"name: sched_switch"));
    assert!(client.list_processes().unwrap().contains(&std::process::id()));
}

#[test]
fn what_the_kernel_and_processes_use_is_read() {
    if !possible("counters of processes") {
        return;
    }
    let mut client = kernel();
    for (file, begins) in [
        (KernelFile::Stat, "cpu  "),
        (KernelFile::MemoryInfo, "MemTotal:"),
        (KernelFile::MemoryStat, "nr_"),
        (KernelFile::NetworkStat, "Inter-|"),
    ] {
        assert!(read_some(&mut client, file.clone()).starts_with(begins.as_bytes()), "{file:?}");
    }
    assert_eq!(read_some(&mut client, KernelFile::LoadAverage).iter().filter(|byte| **byte == b' ').count(), 4);
    let _disks = read_some(&mut client, KernelFile::DiskStat);
    let pressure = client.open_kernel_file(KernelFile::Pressure { resource: PressureResource::Memory });
    assert!(pressure.is_ok() || !std::path::Path::new("/proc/pressure/memory").exists(), "{pressure:?}");
    let own = std::process::id();
    let (page, bytes) = client.process_activity(own - 1).unwrap();
    assert!(page.count >= 1, "{page:?}");
    assert_eq!(bytes[..4], own.to_le_bytes());
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("read_bytes: ") && text.contains(&format!("{own} (")), "{text}");
    let (mut after, mut all) = (0, 0);
    loop {
        let (page, _bytes) = client.process_activity(after).unwrap();
        (after, all) = (page.last, all + page.count);
        if page.left == 0 {
            break;
        }
    }
    assert!(all as usize > client.list_processes().unwrap().len() / 2);
}

/// Everything that was found is printed, so that a run on another kernel tells what it has.
#[test]
fn p27_every_way_to_observe_gets_a_verdict_in_words() {
    let mut client = kernel();
    let clock = Instant::now();
    let capabilities = client.capabilities().unwrap();
    println!("{} ways tried in {:?}", capabilities.len(), clock.elapsed());
    for one in &capabilities {
        println!("{:?} {}: {} {}", one.state, one.id, one.finding, one.remedy);
        assert!(!one.title.is_empty() && !one.purpose.is_empty() && !one.finding.is_empty(), "{one:?}");
        assert!((one.state == CapabilityState::Available) == one.remedy.is_empty(), "{one:?}");
    }
    if !possible("verdicts with all rights") {
        assert!(capabilities.iter().any(|one| one.state == CapabilityState::MissingPrivilege));
        return;
    }
    let state = |id: &str| capabilities.iter().find(|one| one.id == id).unwrap().state;
    let always = ["tracefs", "tracepoint", "ring_buffer", "run_time_stats", "raw_tracepoint", "cpu_clock_sampling"];
    for id in always.iter().chain(&["btf", "btf_tracepoint", "sideband_build_id", "kallsyms", "uprobe"]) {
        assert_eq!(state(id), CapabilityState::Available, "{id}");
    }
    if std::env::var_os("BATHYSCOPE_LAB").is_some() {
        for id in ["kprobe", "fentry", "function_graph"] {
            assert_eq!(state(id), CapabilityState::Available, "{id}");
        }
    }
    assert!(capabilities.iter().all(|one| one.state != CapabilityState::MissingPrivilege));
    let leftovers = std::fs::read_dir("/sys/kernel/tracing/instances").unwrap();
    let ours = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().file_name().to_str().unwrap().starts_with("bathyscope-")
    };
    assert_eq!(leftovers.filter(|_| true).map(ours).filter(|ours| *ours).count(), 0, "nothing is left in tracefs");
}

/// The kernel forgets everything when the console goes: programs of a capture are freed.
#[test]
fn a_console_that_goes_leaves_nothing_attached() {
    if !possible("detaching at the end of a connection") {
        return;
    }
    let mut client = kernel();
    let mut rings: Rings =
        start(&mut client, events(&[probe("raw_syscalls:sys_enter", &["id"], "")]), Target::System, 1 << 20);
    client.enable(1).unwrap();
    wait_for("records", || rings.stream(0, &mut |_record| ()) > 0);
    drop(client);
    // The session ends in its own thread; then nothing comes any more.
    wait_for("silence", || {
        while rings.stream(0, &mut |_record| ()) > 0 {}
        let end = Instant::now() + Duration::from_millis(50);
        while Instant::now() < end {
            std::thread::yield_now();
        }
        rings.stream(0, &mut |_record| ()) == 0
    });
}
