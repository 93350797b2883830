//! Counting events of the running kernel. What is missing here is said in a line that begins with SKIPPED.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
#![expect(clippy::print_stdout, reason = "what was skipped is told")]

use crate::common;

use std::{collections::BTreeMap, process::Command};

use bathyscope_capture::{CountPer, CountSpec, Target};
use bathyscope_protocol::{AgentClient, AgentErrorKind, ClientError, TargetState, WireMethod};
use common::{Rings, count, kernel, number, simulated, start, text, wait_for};

fn possible(what: &str) -> bool {
    if rustix::process::geteuid().is_root() {
        return true;
    }
    println!("SKIPPED: {what} — root");
    false
}

fn command(words: &[&str]) -> Target {
    Target::Command { argv: words.iter().map(|word| (*word).to_owned()).collect(), user: None, children: true }
}

fn dd(blocks: u32) -> Target {
    command(&["dd", "if=/dev/zero", "of=/dev/null", "bs=1", &format!("count={blocks}")])
}

/// Of each event and scope: sums of value, enabled and running, and what was said of it.
#[derive(Debug, Default, PartialEq)]
struct Sum {
    value: u64,
    enabled_ns: u64,
    running_ns: u64,
    rows: u64,
    state: String,
}

type Sums = BTreeMap<(String, String), Sum>;

fn read(rings: &mut Rings, sums: &mut Sums) {
    let column = |name: &str| rings.column(0, name);
    let (event, scope, state) = (column("event"), column("scope"), column("state"));
    let (value, enabled, running) = (column("value"), column("enabled_ns"), column("running_ns"));
    rings.stream(0, &mut |record| {
        let word = |column| String::from_utf8(text(record, column).unwrap()).unwrap();
        let sum = sums.entry((word(&event), word(&scope))).or_default();
        sum.value += number(record, &value);
        sum.enabled_ns += number(record, &enabled);
        sum.running_ns += number(record, &running);
        sum.rows += 1;
        sum.state = word(&state);
    });
}

/// Runs a command to its end and sums what was counted.
fn run(client: &mut AgentClient, wish: CountSpec, target: Target) -> Sums {
    let mut rings = start(client, WireMethod::Count(wish), target, 1 << 20);
    client.enable(1).unwrap();
    let mut sums = Sums::new();
    wait_for("the command's end", || {
        read(&mut rings, &mut sums);
        matches!(client.readings(1).unwrap().target, TargetState::Exited { code: Some(0), .. })
    });
    let last = client.stop(1, false).unwrap().sources[0].probes[0].clone();
    read(&mut rings, &mut sums);
    assert_eq!(last.hits, last.ring_full + sums.values().map(|sum| sum.rows).sum::<u64>());
    client.discard(1).unwrap();
    sums
}

fn value(sums: &Sums, event: &str) -> u64 {
    sums.iter().filter(|((name, _), _)| name == event).map(|(_, sum)| sum.value).sum()
}

#[test]
fn tracepoints_of_a_command_are_counted_exactly() {
    if !possible("counts of tracepoints") {
        return;
    }
    let mut client = kernel();
    let wish = count(&["syscalls:sys_enter_write", "syscalls:sys_enter_read", "task-clock", "page-faults:u"]);
    let sums = run(&mut client, wish.clone(), dd(5000));
    // Three lines about what was copied, one write each, come after the blocks.
    let writes = value(&sums, "syscalls:sys_enter_write");
    assert!((5001..=5005).contains(&writes), "{writes}");
    assert!(value(&sums, "syscalls:sys_enter_read") >= 5000);
    assert!(value(&sums, "task-clock") > 100_000 && value(&sums, "page-faults:u") > 10, "{sums:?}");
    // The same by interval: nothing is counted twice or left out between two readings.
    let often = run(&mut client, CountSpec { interval_ms: 10, ..wish }, dd(400_000));
    let writes = value(&often, "syscalls:sys_enter_write");
    assert!((400_001..=400_005).contains(&writes), "{writes}");
    assert!(often.values().any(|sum| sum.rows > 3), "{often:?}");
}

#[test]
fn children_are_counted_if_asked_for() {
    if !possible("counts of children") {
        return;
    }
    let mut client = kernel();
    let script = "for i in 1 2 3; do dd if=/dev/zero of=/dev/null bs=1 count=100 2>/dev/null; done; :";
    let wish = count(&["syscalls:sys_enter_write"]);
    let all = run(&mut client, wish.clone(), command(&["/bin/sh", "-c", script]));
    assert!((300..=330).contains(&value(&all, "syscalls:sys_enter_write")), "{all:?}");
    let Target::Command { argv, user, .. } = command(&["/bin/sh", "-c", script]) else { unreachable!() };
    let own = run(&mut client, wish, Target::Command { argv, user, children: false });
    assert!(value(&own, "syscalls:sys_enter_write") < 10, "{own:?}");
}

#[test]
fn what_cannot_be_counted_has_a_row_in_words() {
    if !possible("counts of what is not there") {
        return;
    }
    let mut client = kernel();
    let wish = CountSpec {
        groups: vec![vec!["cycles".to_owned(), "instructions".to_owned()], vec!["context-switches".to_owned()]],
        ..count(&[])
    };
    let sums = run(&mut client, wish, dd(10));
    assert!(sums.contains_key(&("context-switches".to_owned(), "all".to_owned())));
    match &sums[&("cycles".to_owned(), "all".to_owned())] {
        Sum { state, .. } if state.is_empty() => assert!(value(&sums, "instructions") > 100_000),
        Sum { state, .. } => assert!(state.starts_with("not supported: "), "{state}"),
    }
    let mut refused = |events: &[&str]| match client.start(1, WireMethod::Count(count(events)), Target::System, 1 << 16)
    {
        Err(ClientError::Refused(error)) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&["sched:no_such_event", "cs"]).kind, AgentErrorKind::NotFound);
    let error = refused(&["no_such_pmu/event=1/"]);
    assert_eq!(error.kind, AgentErrorKind::Unsupported, "{error}");
}

#[test]
fn cpus_and_threads_have_rows_of_their_own() {
    if !possible("counts by CPU and thread") {
        return;
    }
    let mut client = kernel();
    let by_cpu = CountSpec { per: CountPer::Cpu, everywhere: true, ..count(&["context-switches", "cpu-clock"]) };
    let sums = run(&mut client, by_cpu.clone(), dd(20_000));
    let cpus = std::thread::available_parallelism().unwrap().get();
    assert!(sums.len() >= 2 * cpus, "{sums:?}");
    let clocks: Vec<u64> = sums.iter().filter(|((name, _), _)| name == "cpu-clock").map(|(_, sum)| sum.value).collect();
    // Each CPU's clock goes as long as the command runs.
    assert!(clocks.iter().all(|ns| ns.abs_diff(clocks[0]) < clocks[0] / 2 + 5_000_000), "{clocks:?}");
    let one = run(&mut client, CountSpec { cpus: vec![0], ..by_cpu }, dd(10));
    assert!(one.keys().all(|(_, scope)| scope == "CPU0"), "{one:?}");

    let mut busy = Command::new("sleep").arg("60").spawn().unwrap();
    // Whoever starts a program goes on a little before the program has its name.
    let comm = format!("/proc/{}/comm", busy.id());
    wait_for("its name", || std::fs::read_to_string(&comm).unwrap() == "sleep\n");
    let wish = CountSpec { per: CountPer::Thread, interval_ms: 10, ..count(&["task-clock"]) };
    let target = Target::Process { pid: busy.id(), children: true };
    let mut rings = start(&mut client, WireMethod::Count(wish), target, 1 << 20);
    client.enable(1).unwrap();
    let mut sums = Sums::new();
    wait_for("two rows", || {
        read(&mut rings, &mut sums);
        sums.values().any(|sum| sum.rows >= 2)
    });
    busy.kill().unwrap();
    busy.wait().unwrap();
    wait_for("its end", || client.readings(1).unwrap().target == TargetState::Gone);
    client.stop(1, false).unwrap();
    assert!(sums.keys().all(|(_, scope)| *scope == format!("sleep-{}", busy.id())), "{sums:?}");
}

/// Of each event the values of its rows, in order, and what its rows say of them: gauge, unit, state.
type Told = BTreeMap<String, (Vec<u64>, u64, String, String)>;

fn read_told(rings: &mut Rings, told: &mut Told) {
    let column = |name: &str| rings.column(0, name);
    let [event, state, unit] = ["event", "state", "unit"].map(column);
    let [value, gauge, span] = ["value", "gauge", "span_ns"].map(column);
    rings.stream(0, &mut |record| {
        let word = |column| String::from_utf8(text(record, column).unwrap()).unwrap();
        let of = told.entry(word(&event)).or_default();
        of.0.push(number(record, &value));
        (of.1, of.2, of.3) = (number(record, &gauge), word(&unit), word(&state));
        assert_eq!(number(record, &span) == 0, !of.3.is_empty(), "{}: {}", word(&event), of.3);
    });
}

#[test]
fn pressure_and_memory_are_read_from_the_kernels_files() {
    if !possible("pressure and memory of this machine") {
        return;
    }
    let mut client = kernel();
    let events = ["pressure:cpu-some", "pressure:io-full", "pressure:cpu-full", "memory:total", "memory:available"];
    let more = ["memory:swap-used", "vm:pgfault", "vm:pgpgin", "vm:oom_kill", "context-switches"];
    let wish = CountSpec { interval_ms: 10, per: CountPer::Cpu, ..count(&[&events[..], &more[..]].concat()) };
    let mut rings = start(&mut client, WireMethod::Count(wish), Target::System, 1 << 20);
    client.enable(1).unwrap();
    let mut told = Told::new();
    wait_for("three intervals", || {
        read_told(&mut rings, &mut told);
        told.get("memory:total").is_some_and(|(values, ..)| values.len() > 3)
    });
    client.stop(1, false).unwrap();
    let of = |name: &str| &told[name];
    let (total, gauge, unit, _) = of("memory:total");
    assert!(total.iter().all(|bytes| *bytes == total[0] && *bytes > 16 << 20), "{total:?}");
    assert_eq!((*gauge, unit.as_str()), (1, "bytes"));
    let (available, ..) = of("memory:available");
    assert!(available.iter().all(|bytes| *bytes > 0 && *bytes < total[0]), "{available:?}");
    assert_eq!(of("memory:swap-used").1, 1);
    // Differences, and not what was counted since the machine was started.
    let (faults, gauge, unit, _) = of("vm:pgfault");
    assert!(*gauge == 0 && unit.is_empty() && faults.iter().all(|faults| *faults < 1 << 30), "{faults:?}");
    assert_eq!((of("vm:oom_kill").1, of("vm:pgpgin").2.as_str()), (0, "bytes"));
    assert!(of("pressure:cpu-full").3.contains("in a control group only"), "{told:?}");
    match of("pressure:cpu-some") {
        (_, _, _, state) if state.contains("CONFIG_PSI") => println!("SKIPPED: pressure — a kernel with CONFIG_PSI"),
        (waited, gauge, unit, state) => {
            assert!(state.is_empty() && *gauge == 0 && unit == "ns", "{told:?}");
            // No interval has more time than the test took.
            assert!(waited.iter().all(|ns| *ns < 60_000_000_000), "{waited:?}");
        }
    }
    client.discard(1).unwrap();
    // Of a process none of them means anything; beside what can be counted it says so.
    let mut refused =
        |events: &[&str], target: Target| match client.start(1, WireMethod::Count(count(events)), target, 1 << 16) {
            Err(ClientError::Refused(error)) => error,
            other => panic!("{other:?}"),
        };
    let own = || Target::Process { pid: std::process::id(), children: false };
    let error = refused(&["memory:free", "pressure:io-some"], own());
    assert_eq!(error.kind, AgentErrorKind::Unsupported);
    assert!(error.why.contains("of the whole machine, not of processes") && error.remedy.contains("-a"), "{error}");
    let sums = run(&mut client, count(&["task-clock", "memory:free"]), dd(10));
    let free = &sums[&("memory:free".to_owned(), "all".to_owned())];
    assert!(free.rows == 1 && free.state.starts_with("not supported: "), "{sums:?}");
    // Everywhere while a command runs, it does.
    let everywhere = CountSpec { everywhere: true, ..count(&["memory:free"]) };
    assert!(value(&run(&mut client, everywhere, dd(10)), "memory:free") > 0);
}

#[test]
fn pressure_is_that_of_a_group_too() {
    let group = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].iter().find(|mount| {
        std::path::Path::new(mount).join("cgroup.controllers").exists()
            && std::path::Path::new(mount).join("cpu.pressure").exists()
    });
    if group.is_none() {
        println!("SKIPPED: pressure of a control group — control groups of version 2 with pressure");
        return;
    }
    if !possible("pressure of a control group") {
        return;
    }
    let mut client = kernel();
    let wish = CountSpec { interval_ms: 10, ..count(&["pressure:cpu-full", "pressure:io-some", "memory:free"]) };
    let target = Target::Cgroup { path: "/".to_owned() };
    let mut rings = start(&mut client, WireMethod::Count(wish), target, 1 << 20);
    client.enable(1).unwrap();
    let mut told = Told::new();
    wait_for("three intervals", || {
        read_told(&mut rings, &mut told);
        told.get("pressure:cpu-full").is_some_and(|(values, ..)| values.len() > 3)
    });
    client.stop(1, false).unwrap();
    assert!(
        told["pressure:io-some"].3.is_empty() && told["memory:free"].3.contains("not of a control group"),
        "{told:?}"
    );
}

#[test]
fn simulated_pressure_and_memory_move_within_bounds() {
    let events = ["pressure:io-some", "pressure:cpu-full", "memory:total", "memory:available", "vm:pgpgin"];
    let told_of = |target: Target| {
        let mut client = simulated("rate=1000");
        let wish = CountSpec { interval_ms: 10, ..count(&events) };
        let mut rings = start(&mut client, WireMethod::Count(wish), target, 1 << 20);
        client.enable(1).unwrap();
        let mut told = Told::new();
        wait_for("some rows", || {
            read_told(&mut rings, &mut told);
            told.get("memory:total").is_some_and(|(values, _, _, state)| values.len() > 9 || !state.is_empty())
        });
        told
    };
    let told = told_of(Target::System);
    let (available, gauge, unit, _) = &told["memory:available"];
    let bounds = 8 << 30..10 << 30_u64;
    assert!(available.iter().all(|bytes| bounds.contains(bytes)), "{available:?}");
    assert!(available.windows(2).any(|two| two[0] != two[1]), "{available:?}");
    assert_eq!((*gauge, unit.as_str()), (1, "bytes"));
    let (waited, gauge, unit, _) = &told["pressure:io-some"];
    assert!(waited.iter().all(|ns| *ns > 0 && *ns < 10_000_000), "{waited:?}");
    assert_eq!((*gauge, unit.as_str()), (0, "ns"));
    assert!(told["pressure:cpu-full"].3.contains("in a control group only"), "{told:?}");
    let told = told_of(Target::Process { pid: 1310, children: false });
    assert!(told.values().all(|(_, _, _, state)| state.starts_with("not supported: ")), "{told:?}");
}

#[test]
fn counts_are_simulated_too() {
    let mut client = simulated("rate=1000");
    let wish = CountSpec { interval_ms: 10, ..count(&["context-switches", "cycles", "task-clock"]) };
    let mut rings = start(&mut client, WireMethod::Count(wish), Target::System, 1 << 20);
    client.enable(1).unwrap();
    let mut sums = Sums::new();
    wait_for("some rows", || {
        read(&mut rings, &mut sums);
        sums.get(&("context-switches".to_owned(), "all".to_owned())).is_some_and(|sum| sum.rows > 5)
    });
    let cycles = &sums[&("cycles".to_owned(), "all".to_owned())];
    assert!(cycles.rows == 1 && cycles.state.starts_with("not supported"), "{cycles:?}");
}
