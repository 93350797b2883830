//! Scripts from text to records and maps, through a connection: on the simulated host, and on the running kernel where
//! that is possible (SKIPPED tells where not).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
#![expect(clippy::print_stdout, reason = "what was measured or skipped is told")]

use crate::common;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use bathyscope_agent::ScriptRights;
use bathyscope_capture::Target;
use bathyscope_plan::{Action, UserFile};
use bathyscope_protocol::{
    AgentClient, AgentErrorKind, ClientError, RingContent, Rows, ScriptEnabled, ScriptStage, ScriptStarted, Started,
    TargetState, UnwindTable, WireMethod, WireScript, rings::RingReader,
};
use common::{kernel, kernel_with, simulated, wait_for};

const MAP_BYTES: usize = 64 << 20;

fn script(text: &str) -> WireScript {
    WireScript { name: "test.bt".into(), text: text.into(), ..WireScript::default() }
}

fn start(client: &mut AgentClient, script: WireScript, target: Target) -> Result<Started, ClientError> {
    client.start(1, WireMethod::Script(Box::new(script)), target, 1 << 20)
}

fn enable(client: &mut AgentClient) -> ScriptEnabled {
    client.enable(1).unwrap().script.unwrap()
}

/// A script that runs, with its ring.
struct Run {
    started: ScriptStarted,
    ring: RingReader,
}

impl Run {
    fn start(client: &mut AgentClient, text: &str, target: Target) -> Self {
        let mut started = start(client, script(text), target).unwrap();
        let mut taken = client.take_rings(1, &started).unwrap();
        assert_eq!(started.sources[0].rings[0].content, RingContent::Script);
        let ring = RingReader::map(taken.rings.remove(0), &started.sources[0].rings[0]).unwrap();
        Self { started: *started.sources.remove(0).script.unwrap(), ring }
    }

    /// The records, and which program sent each.
    fn records(&mut self) -> Vec<(usize, Vec<u8>)> {
        let mut records = Vec::new();
        self.ring.drain(usize::MAX, &mut |record| records.push(record.to_vec())).unwrap();
        let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap()) as usize;
        let program = |probe: usize| self.started.plan.probes[probe].program as usize;
        records.into_iter().map(|record| (program(number(&record[4..8])), record)).collect()
    }

    fn site(&self, record: &[u8]) -> &Action {
        &self.started.plan.sites[u32::from_le_bytes(record[..4].try_into().unwrap()) as usize].action
    }

    fn map(&self, name: &str) -> u32 {
        let found = self.started.plan.maps.iter().position(|map| map.name == name);
        u32::try_from(found.unwrap_or_else(|| panic!("no map {name}"))).unwrap()
    }

    /// A map's counts by key, summed over CPUs.
    fn counts(&self, client: &mut AgentClient, name: &str) -> BTreeMap<Vec<u8>, u64> {
        let index = self.map(name);
        let plan = &self.started.plan.maps[index as usize];
        let content = client.read_map(1, index, false, MAP_BYTES).unwrap();
        let sum = |value: &[u8]| value.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).sum();
        content.elements(plan.key_bytes as usize).map(|(key, value)| (key.to_vec(), sum(value))).collect()
    }
}

fn possible(what: &str) -> bool {
    if rustix::process::geteuid().is_root() {
        return true;
    }
    println!("SKIPPED: {what} — root");
    false
}

#[test]
fn simulated_scripts_print_count_and_lose_what_is_known() {
    let mut client = simulated("rate=1000,lose_every=10,seed=7");
    let text = "begin { printf(\"go\\n\"); }
        tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, str(args.filename)); @opens[comm] = count(); }
        tracepoint:syscalls:sys_exit_openat { @ret = hist(args.ret); }
        end { printf(\"done\\n\"); }";
    let mut run = Run::start(&mut client, text, Target::System);
    let enabled = enable(&mut client);
    assert_eq!((enabled.attached, enabled.failed.len()), (4, 0));
    wait_for("hits", || client.readings(1).unwrap().sources[0].probes[1].hits > 100);
    let last = client.stop(1, false).unwrap();
    assert!(last.detaching().is_done());
    let records = run.records();
    for (program, probe) in last.sources[0].probes.iter().enumerate() {
        let records = records.iter().filter(|(of, _record)| *of == program).count() as u64;
        let prints = program != 2;
        let expected = if prints { probe.hits - probe.filtered - probe.ring_full } else { 0 };
        assert_eq!(records, expected, "program {program}: {probe:?}");
    }
    assert_eq!(last.sources[0].probes[1].ring_full, last.sources[0].probes[1].hits / 10, "{last:?}");
    assert_eq!((records.first().unwrap().0, records.last().unwrap().0), (0, 3), "begin is first and end is last");
    let opens = run.counts(&mut client, "@opens");
    assert_eq!(opens.values().sum::<u64>(), last.sources[0].probes[1].hits);
    assert!(opens.keys().any(|comm| comm.starts_with(b"<img src=x oner")), "hostile names are among them");
    let returned = run.counts(&mut client, "@ret");
    assert_eq!(returned.values().sum::<u64>(), last.sources[0].probes[2].hits);
    client.discard(1).unwrap();
}

#[test]
fn simulated_scripts_are_the_same_each_time() {
    let records = || {
        let mut client = simulated("rate=1000,seed=3");
        let text = "tracepoint:sched:sched_switch { printf(\"%d %s %d\\n\", pid, args.next_comm, args.next_pid); }
            interval:ms:50 { printf(\"tick %d\\n\", cpu); }";
        let mut run = Run::start(&mut client, text, Target::System);
        enable(&mut client);
        let mut records = Vec::new();
        wait_for("records", || {
            records.extend(run.records());
            records.len() >= 60
        });
        records.truncate(60);
        // Times are those of the clock.
        records.into_iter().map(|(_program, record)| [&record[..8], &record[16..]].concat()).collect::<Vec<_>>()
    };
    assert_eq!(records(), records());
}

#[test]
fn simulated_stacks_lead_to_their_bodies() {
    let mut client = simulated("rate=1000");
    let text = "profile:hz:499 { @[kstack, ustack] = count(); }";
    let run = Run::start(&mut client, text, Target::System);
    enable(&mut client);
    wait_for("samples", || client.readings(1).unwrap().sources[0].probes[0].hits > 200);
    let last = client.stop(1, false).unwrap();
    let counts = run.counts(&mut client, "@");
    assert_eq!(counts.values().sum::<u64>(), last.sources[0].probes[0].hits, "{last:?}");
    let id = |key: &[u8]| u64::from_le_bytes(key[..8].try_into().unwrap());
    let mut ids: Vec<u64> = counts.keys().map(|key| id(key)).filter(|id| *id != 0).collect();
    ids.sort_unstable();
    ids.dedup();
    let stacks = client.read_stacks(1, false, &ids).unwrap();
    assert!(stacks.len() > 1, "{ids:?}");
    assert!(stacks.iter().all(|(_id, frames)| frames.iter().all(|frame| *frame >= 0xffff_ffff_8100_0000)));
    let users: Vec<u64> = counts.keys().map(|key| id(&key[8..])).collect();
    assert!(client.read_stacks(1, true, &users).unwrap().iter().any(|(_id, frames)| frames.len() > 2));
}

#[test]
fn scripts_that_are_wrong_are_told_where() {
    let mut client = simulated("");
    let text = "tracepoint:sched:sched_switch { @ = args.no_such_field; }";
    let refused = start(&mut client, script(text), Target::System).unwrap_err();
    let ClientError::Script(refused) = refused else { panic!("{refused:?}") };
    let first = &refused.diagnostics[0];
    assert!(text[first.start as usize..first.end as usize].contains("no_such_field"), "{first:?}");
    let checked = client.check_script(script(text), None).unwrap();
    assert_eq!((&checked.diagnostics, checked.plan), (&refused.diagnostics, None));
    let good = script("tracepoint:sched:sched_switch { @[args.next_comm] = count(); }");
    let checked = client.check_script(good, Some(ScriptStage::Bpf)).unwrap();
    assert!(checked.shown.contains("exit") && checked.plan.unwrap().maps.len() == 1);
    let limit = |script: WireScript, client: &mut AgentClient| match client.check_script(script, None) {
        Err(ClientError::Refused(error)) => error.kind,
        other => panic!("{other:?}"),
    };
    assert_eq!(limit(script(&" ".repeat((64 << 10) + 1)), &mut client), AgentErrorKind::Limit);
    let many = WireScript { parameters: vec![String::new(); 300], ..script("begin {}") };
    assert_eq!(limit(many, &mut client), AgentErrorKind::Limit);
    let table = |rows: Vec<u64>| {
        let file = UserFile { path: "/bin/true".into(), in_process: None, device: 1, inode: 1 };
        UnwindTable { file, rows: Rows(rows) }
    };
    let walks = |unwind| WireScript { unwind, ..script("begin { print(dw_ustack); }") };
    // What was made wrongly, and more than is taken.
    for rows in [vec![2 << 32, 1 << 32], vec![1 << 32, 1 << 32 | 5]] {
        assert_eq!(limit(walks(vec![table(rows)]), &mut client), AgentErrorKind::Invalid);
    }
    assert_eq!(limit(walks(vec![table(vec![1 << 32]); 3000]), &mut client), AgentErrorKind::Limit);
    let half: Vec<u64> = (0..600_000).map(|row| row << 32).collect();
    assert_eq!(limit(walks(vec![table(half.clone()), table(half)]), &mut client), AgentErrorKind::Limit);
    let walked = client.check_script(walks(vec![table((0..1000).map(|row| row << 32).collect())]), None).unwrap();
    // They are taken; but the simulated host has no types that tell where processes keep their mappings.
    assert!(walked.plan.is_none() && walked.diagnostics[0].message.contains("the types of this kernel"), "{walked:?}");
    // Larger than a packet, and within all limits.
    let long = format!("begin {{ }} // {}", "x".repeat(60 << 10));
    let large = WireScript { parameters: vec!["p".repeat(4000); 30], ..script(&long) };
    assert!(client.check_script(large, None).unwrap().plan.is_some());
}

#[test]
fn scripts_run_on_the_kernel_from_text_to_detached() {
    if !possible("scripts on the kernel") {
        return;
    }
    let mut client = kernel();
    let text = "begin { printf(\"go\\n\"); @start = nsecs; }
        tracepoint:raw_syscalls:sys_enter /pid != 0/ { @calls[comm] = count(); @all = count(); }
        tracepoint:sched:sched_switch { @[kstack] = count(); }
        interval:ms:5 { printf(\"%d\\n\", cpu); }
        end { printf(\"done\\n\"); }";
    let mut run = Run::start(&mut client, text, Target::System);
    enable(&mut client);
    let mut records = Vec::new();
    wait_for("hits", || {
        records.extend(run.records());
        let probes = client.readings(1).unwrap().sources.remove(0).probes;
        probes[1].hits > 1000 && probes[2].hits > 100 && probes[3].hits > 5
    });
    let mut last = client.stop(1, false).unwrap();
    wait_for("the end of all links", || {
        last = client.readings(1).unwrap();
        last.detaching().attached == 0
    });
    records.extend(run.records());
    let all = run.counts(&mut client, "@all").values().sum::<u64>();
    assert_eq!(all, last.sources[0].probes[1].hits - last.sources[0].probes[1].filtered, "{last:?}");
    let calls = run.counts(&mut client, "@calls").values().sum::<u64>();
    assert_eq!(calls + last.sources[0].probes[1].map_full, all, "{last:?}");
    let prints = records.iter().filter(|(program, _record)| *program == 3).count() as u64;
    assert_eq!(prints, last.sources[0].probes[3].hits - last.sources[0].probes[3].ring_full);
    assert_eq!((records.first().unwrap().0, records.last().unwrap().0), (0, 4));
    assert!(matches!(run.site(&records[0].1), Action::Print { .. }));
    let counts = run.counts(&mut client, "@");
    let ids: Vec<u64> = counts.keys().map(|key| u64::from_le_bytes(key[..8].try_into().unwrap())).collect();
    let stacks = client.read_stacks(1, false, &ids).unwrap();
    assert!(stacks.iter().any(|(_id, frames)| frames.len() > 3), "{stacks:?}");
    assert!(client.clear_map(1, run.map("@calls")).unwrap() > 0);
    client.discard(1).unwrap();
}

/// Runs where the kernel has it: see the lab.
#[test]
fn kernel_functions_are_probed_from_text() {
    if !possible("functions of the kernel") {
        return;
    }
    let mut client = kernel();
    let features = client.host_features().unwrap();
    let mut text = "rawtracepoint:sched_switch { @raw = count(); }
        software:page-faults:1 { @faults = count(); }
        iter:task { @tasks = count(); }
        "
    .to_owned();
    if features.kprobe {
        text += "kprobe:vfs_read, kprobe:vfs_open { @k[probe] = count(); }
            kprobe:vfs_read { @start[tid] = nsecs; }
            kretprobe:vfs_read /@start[tid]/ { @ns = hist(nsecs - @start[tid]); delete(@start, tid); }
            kretprobe:vfs_op* { @returns = count(); }";
    } else {
        println!("SKIPPED: kernel probes from text — {features:?}");
    }
    if features.fentry {
        text += "fentry:vfs_read { @wanted = max(args.count); @fentry = count(); }
            fexit:vfs_read { @got = max(retval); @fexit = count(); }";
    } else {
        println!("SKIPPED: fentry from text — {features:?}");
    }
    let run = Run::start(&mut client, &text, Target::System);
    assert_eq!(enable(&mut client).failed, []);
    let mut names = vec!["@raw", "@faults", "@tasks"];
    names.extend(features.kprobe.then_some(["@k", "@ns", "@returns"]).into_iter().flatten());
    names.extend(features.fentry.then_some(["@fentry", "@fexit"]).into_iter().flatten());
    wait_for("all probes", || {
        assert!(std::process::Command::new("true").status().unwrap().success());
        names.iter().all(|name| run.counts(&mut client, name).values().sum::<u64>() > 0)
    });
    client.stop(1, false).unwrap();
    client.discard(1).unwrap();
}

#[test]
fn a_commands_children_are_counted_too() {
    if !possible("scripts with a command") {
        return;
    }
    let mut client = kernel();
    let argv = ["timeout", "60", "dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=1000"];
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    let target = Target::Command { argv, user: None, children: true };
    let text = "tracepoint:syscalls:sys_enter_write { @[comm] = count(); }";
    let run = Run::start(&mut client, text, target);
    enable(&mut client);
    wait_for("the command's end", || client.readings(1).unwrap().target != TargetState::Running);
    let last = client.stop(1, false).unwrap();
    assert_eq!(last.target, TargetState::Exited { code: Some(0), signal: None });
    let counts = run.counts(&mut client, "@");
    let of =
        |name: &[u8]| counts.iter().filter(|(comm, _)| comm.starts_with(name)).map(|(_, count)| count).sum::<u64>();
    assert!(of(b"dd\0") >= 1000, "{counts:?}");
    assert_eq!(
        counts.values().sum::<u64>(),
        last.sources[0].probes[0].hits - last.sources[0].probes[0].filtered,
        "{last:?}"
    );
}

/// How long it takes is for people to read (`--nocapture`, in release): nothing here judges time.
#[test]
fn starting_and_stopping_tell_what_they_took() {
    if !possible("times of scripts") {
        return;
    }
    let mut client = kernel();
    for text in [
        "begin { exit(); }",
        "tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, str(args.filename)); }",
        "tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, str(args.filename)); }",
        "tracepoint:sched:sched_switch { @[kstack] = count(); } interval:s:1 { print(@); }",
        "tracepoint:syscalls:sys_enter_* { @[probe] = count(); }",
    ] {
        let clock = Instant::now();
        let started = start(&mut client, script(text), Target::System).unwrap();
        let made = clock.elapsed();
        let enabled = enable(&mut client);
        let attached = clock.elapsed();
        let clock = Instant::now();
        let stopped = client.stop(1, false).unwrap();
        let seen = clock.elapsed();
        client.discard(1).unwrap();
        let ns = |ns: u64| Duration::from_nanos(ns);
        let script = started.sources[0].script.as_ref().unwrap();
        println!(
            "{text}: {} points, compile {:?} load {:?} prepare {:?}, made {made:?}, linked in {:?}, attached after \
             {attached:?}; stopped in {seen:?}, left {:?}; {:?}",
            enabled.attached,
            ns(started.sources[0].compile_ns),
            ns(started.sources[0].load_ns),
            ns(started.sources[0].attach_ns),
            ns(enabled.attach_ns),
            stopped.detaching(),
            script.stats,
        );
        assert!(started.sources[0].compile_ns > 0 && started.sources[0].load_ns > 0);
    }
}

/// The kernel forgets a script when its console goes.
#[test]
fn a_console_that_goes_leaves_no_program_of_a_script() {
    if !possible("detaching scripts at the end of a connection") {
        return;
    }
    let mut client = kernel();
    let mut run = Run::start(&mut client, "interval:ms:1 { printf(\"%d\\n\", cpu); }", Target::System);
    enable(&mut client);
    wait_for("records", || !run.records().is_empty());
    drop(client);
    wait_for("silence", || {
        let _late = run.records();
        let end = Instant::now() + Duration::from_millis(50);
        while Instant::now() < end {
            std::thread::yield_now();
        }
        run.records().is_empty()
    });
}

#[test]
fn scripts_do_only_what_the_agent_was_started_for() {
    let start = |rights: ScriptRights, allow_unsafe: bool| {
        let mut client = kernel_with(rights);
        let wanted = WireScript { allow_unsafe, ..script("begin { signal(9); }") };
        match client.start(1, WireMethod::Script(Box::new(wanted)), Target::System, 1 << 20) {
            Err(ClientError::Refused(error)) => Some(error.kind),
            Err(ClientError::Script(refused)) => {
                assert!(!refused.diagnostics.is_empty());
                None
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(start(ScriptRights::Off, false), Some(AgentErrorKind::Denied));
    assert_eq!(start(ScriptRights::Off, true), Some(AgentErrorKind::Denied));
    assert_eq!(start(ScriptRights::Observe, true), Some(AgentErrorKind::Denied));
    assert_eq!(start(ScriptRights::Observe, false), None, "the compiler says what it needs");
}
