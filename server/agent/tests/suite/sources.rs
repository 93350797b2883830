//! Captures with several sources: one start for all, one budget, one report of processes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use bathyscope_capture::{CountSpec, ProfileSpec, StatesSpec, SyscallSpec, Target};
use bathyscope_protocol::{
    AgentClient, Budget, ClientError, RingContent, TargetState, WireMethod, WireScript, WireSource, WireSyscalls,
};

use crate::common::{Rings, count, events, kernel, probe, simulated, wait_for};

fn profile() -> WireMethod {
    WireMethod::Profile(ProfileSpec { frequency_hz: 99, ..ProfileSpec::default() })
}

fn syscalls() -> WireMethod {
    let calls = SyscallSpec { calls: vec!["read".to_owned(), "write".to_owned()], ..SyscallSpec::default() };
    WireMethod::Syscalls(WireSyscalls { calls, ancestors: false, opening: false })
}

fn script(text: &str) -> WireMethod {
    WireMethod::Script(Box::new(WireScript {
        text: text.to_owned(),
        name: "script".to_owned(),
        ..WireScript::default()
    }))
}

fn all(methods: Vec<WireMethod>) -> Vec<WireSource> {
    methods.into_iter().map(WireSource::from).collect()
}

fn begin(client: &mut AgentClient, sources: Vec<WireSource>, target: Target) -> Rings {
    let started = client.start(1, sources, target, 1 << 20).unwrap();
    let taken = client.take_rings(1, &started).unwrap();
    Rings::map(started, taken)
}

fn refusal(client: &mut AgentClient, sources: Vec<WireSource>) -> String {
    match client.start(1, sources, Target::System, 1 << 20) {
        Err(ClientError::Refused(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

/// How many sources have rings that tell of processes.
fn reporters(rings: &Rings) -> usize {
    let reports = |content: RingContent| content == RingContent::Sideband;
    rings.started.sources.iter().filter(|source| source.rings.iter().any(|ring| reports(ring.content))).count()
}

#[test]
fn simulated_sources_record_side_by_side() {
    let mut client = simulated("rate=20000");
    let text = "tracepoint:sched:sched_switch { @[pid] = count(); printf(\"%d\\n\", pid); }";
    let methods = vec![
        events(&[probe("sched:sched_switch", &["prev_pid"], "")]),
        profile(),
        WireMethod::Count(count(&["cs"])),
        syscalls(),
        script(text),
    ];
    let mut rings = begin(&mut client, all(methods), Target::System);
    assert_eq!(reporters(&rings), 1, "one tells of processes for all");
    assert!(rings.started.sources.iter().all(|source| source.failed.is_none() && !source.rings.is_empty()));
    client.enable(1).unwrap();
    wait_for("hits of all", || {
        let readings = client.readings(1).unwrap();
        assert_eq!(readings.sources.len(), 5);
        readings.sources.iter().all(|source| source.probes.iter().any(|probe| probe.hits > 10))
    });
    assert_eq!(client.run_signal(1, 12).unwrap(), 0, "what is asked of the script finds it");
    let last = client.stop(1, true).unwrap();
    let rows: u64 =
        rings.readers.iter_mut().map(|ring| ring.drain(usize::MAX, &mut |_record| ()).unwrap().records).sum();
    assert!(rows > 50, "{rows} records, {last:?}");
    client.discard(1).unwrap();
}

#[test]
fn a_capture_has_1_to_16_sources_and_one_script_and_one_trace() {
    let mut client = simulated("rate=1000");
    let said = refusal(&mut client, Vec::new());
    assert!(said.contains("0 sources are outside of 1 to 16"), "{said}");
    let said = refusal(&mut client, all(vec![profile(); 17]));
    assert!(said.contains("17 sources are outside of 1 to 16"), "{said}");
    let said = refusal(&mut client, all(vec![script("begin { exit() }"); 2]));
    assert!(said.contains("it has 2 scripts, and may have one"), "{said}");
    let trace = WireMethod::Trace(Box::default());
    let said = refusal(&mut client, all(vec![trace; 2]));
    assert!(said.contains("it has 2 traces, and may have one"), "{said}");
}

#[test]
fn a_source_that_is_not_required_may_fail_and_others_may_not() {
    let mut client = simulated("rate=1000");
    let (good, bad) = (|| events(&[probe("sched:sched_switch", &[], "")]), || events(&[probe("no:such", &[], "")]));
    let optional = |method: WireMethod| WireSource { required: false, ..method.into() };
    let said = refusal(&mut client, vec![good().into(), bad().into()]);
    assert!(said.contains("no:such"), "{said}");
    let called = |id: &str, method: WireMethod| WireSource { id: id.to_owned(), ..method.into() };
    let said = refusal(&mut client, vec![called("fine", good()), called("typed-wrong", bad()), called("more", good())]);
    assert!(said.starts_with("source `typed-wrong`: ") && said.contains("no:such"), "{said}");
    let said = refusal(&mut client, vec![called("alone", bad())]);
    assert!(!said.contains("alone") && said.contains("no:such"), "an only source needs no name: {said}");
    let said = refusal(&mut client, vec![called(&"x".repeat(33), good())]);
    assert!(said.contains("33 bytes"), "{said}");
    let rings = begin(&mut client, vec![optional(bad()), good().into()], Target::System);
    let [failed, made] = rings.started.sources.as_slice() else { panic!("{:?}", rings.started) };
    assert!(failed.failed.as_ref().unwrap().to_string().contains("no:such") && failed.rings.is_empty());
    assert!(made.failed.is_none() && made.streams.len() == 1);
    assert_eq!(reporters(&rings), 1, "the one that could be made reports");
    client.enable(1).unwrap();
    let readings = client.readings(1).unwrap();
    assert!(readings.sources[0].probes.is_empty() && readings.sources[1].probes.len() == 1);
    client.stop(1, true).unwrap();
    client.discard(1).unwrap();
    let said = refusal(&mut client, vec![optional(bad())]);
    assert!(said.contains("none of its sources can be recorded here; the first:"), "{said}");
}

#[test]
fn a_source_that_fails_while_others_are_made_takes_them_along() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: several sources in the kernel — root");
        return;
    }
    let mut client = kernel();
    let called = |id: &str, method: WireMethod| WireSource { id: id.to_owned(), ..method.into() };
    let good = || events(&[probe("sched:sched_switch", &["next_pid"], "")]);
    let states = || WireMethod::States(StatesSpec::default());
    for round in 0..5 {
        // What fails at once stands at each place among those that take long.
        let mut sources = vec![
            called("calls", syscalls()),
            called("states", states()),
            called("profile", profile()),
            called("good", good()),
        ];
        sources.insert(round, called("wrong", events(&[probe("sched:no_such_event", &[], "")])));
        let said = refusal(&mut client, sources);
        assert!(said.starts_with("source `wrong`: ") && said.contains("sched:no_such_event"), "{said}");
        wait_for("the end of what was made", || own_programs(&mut client) == 0);
    }
    // If it may fail, all others are there, and what reports is another than the best, which is the one that fails.
    let wrong = WireSource { required: false, ..called("wrong", events(&[probe("sched:no_such_event", &[], "")])) };
    let sources = vec![wrong, called("calls", syscalls()), called("states", states()), called("profile", profile())];
    let rings = begin(&mut client, sources, Target::System);
    let failed: Vec<bool> = rings.started.sources.iter().map(|source| source.failed.is_some()).collect();
    assert_eq!((failed.as_slice(), reporters(&rings)), ([true, false, false, false].as_slice(), 1));
    client.enable(1).unwrap();
    wait_for("hits of all", || {
        let readings = client.readings(1).unwrap();
        readings.sources.iter().skip(1).all(|source| source.probes.iter().any(|probe| probe.hits > 0))
    });
    client.stop(1, true).unwrap();
    client.discard(1).unwrap();
}

/// How many programs for thread states this process has in the kernel, which no other test here loads.
fn own_programs(client: &mut AgentClient) -> usize {
    client.bpf_programs().unwrap().iter().filter(|program| program.ours && program.name.starts_with("st_")).count()
}

#[test]
fn p24_the_dearest_source_is_detached_and_the_other_goes_on() {
    // Over 8 % of a CPU for the six probes of the first, over 1 % for that of the second; and 6 % may be used. Where the process is kept
    // from running, the hits of a while come at once: then the second takes several times as much as usual, too.
    let mut client = simulated("rate=90000");
    let switches = || probe("sched:sched_switch", &[], "");
    let others = ["sched:sched_wakeup", "sched:sched_process_exec", "raw_syscalls:sys_enter", "raw_syscalls:sys_exit"];
    let mut dear: Vec<_> = others.iter().map(|name| probe(name, &[], "")).collect();
    dear.extend([switches(), probe("syscalls:sys_enter_openat", &[], "")]);
    let sources = all(vec![events(&dear), events(&[switches()])]);
    let _rings = begin(&mut client, sources, Target::System);
    // What the agent itself uses is that of all tests of this process.
    let budget = Budget { agent_cpu_permille: 4000, ..Budget::of_cpu(60, true) };
    client.set_budget(1, budget).unwrap();
    client.enable(1).unwrap();
    let mut readings = client.readings(1).unwrap();
    wait_for("the guard", || {
        readings = client.readings(1).unwrap();
        readings.sources[0].guard.is_detached()
    });
    // It may have been warned.
    assert!(!readings.sources[1].guard.is_detached(), "{readings:?}");
    let before = readings.sources[1].probes[0].hits;
    wait_for("more of the other", || client.readings(1).unwrap().sources[1].probes[0].hits > before + 1000);
    client.stop(1, true).unwrap();
    client.discard(1).unwrap();
}

#[test]
fn all_sources_are_there_before_the_command_begins() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: several sources in the kernel — root");
        return;
    }
    let mut client = kernel();
    let argv = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=20000", "status=none"];
    let target = Target::Command { argv: argv.map(str::to_owned).to_vec(), user: None, children: true };
    let software = CountSpec { groups: vec![vec!["task-clock".to_owned()]], ..CountSpec::default() };
    let entered = script("tracepoint:syscalls:sys_enter_write { @ = count(); }");
    let methods = vec![
        profile(),
        syscalls(),
        events(&[probe("raw_syscalls:sys_enter", &["id"], "id == 1")]),
        WireMethod::Count(software),
        entered,
    ];
    let mut rings = begin(&mut client, all(methods), target);
    assert_eq!(reporters(&rings), 1, "{:?}", rings.started);
    client.enable(1).unwrap();
    let mut drained = [0; 5];
    let mut take = |rings: &mut Rings| {
        let sources = rings.started.sources.iter().enumerate();
        let owners: Vec<(usize, RingContent)> =
            sources.flat_map(|(number, source)| source.rings.iter().map(move |ring| (number, ring.content))).collect();
        for ((number, content), ring) in owners.into_iter().zip(&mut rings.readers) {
            let records = ring.drain(usize::MAX, &mut |_record| ()).unwrap().records;
            drained[number] += if content == RingContent::Sideband { 0 } else { records };
        }
    };
    wait_for("the end of dd", || {
        take(&mut rings);
        client.readings(1).unwrap().target != TargetState::Running
    });
    let last = client.stop(1, true).unwrap();
    take(&mut rings);
    let hits = |source: usize| last.sources[source].probes.iter().map(|probe| probe.hits - probe.filtered).sum::<u64>();
    // 20,000 reads and as many writes; and those of the loader.
    assert!(hits(1) >= 40_000, "{last:?}");
    assert!(hits(2) >= 20_000 && hits(4) >= 20_000, "{last:?}");
    assert_eq!(drained[2], hits(2) - last.sources[2].probes[0].ring_full, "{last:?}");
    assert!(drained[3] > 0, "counts are read at the end");
    println!("records by source: {drained:?}");
    client.discard(1).unwrap();
}
