//! Whole captures with the simulated agent, whose truth is known.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use crate::common;

use std::{collections::BTreeSet, io::Read as _};

use bathyscope_capture::{Target, TracepointName};
use bathyscope_catalog::{parse_available_events, parse_event_format};
use bathyscope_protocol::{
    AgentClient, ClientError, KernelFile, ProbeReading, ProcessFile, RingContent, TargetState, WireMethod,
};
use common::{Rings, events, number, probe, simulated, start, text, wait_for};

fn read(fd: std::os::fd::OwnedFd) -> Vec<u8> {
    let mut bytes = Vec::new();
    std::fs::File::from(fd).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Runs until about `rows` were hit, and gives the final counters and the records.
fn run(client: &mut AgentClient, rings: &mut Rings, rows: u64) -> (ProbeReading, Vec<Vec<u8>>) {
    let mut records = Vec::new();
    client.enable(1).unwrap();
    wait_for("hits", || {
        rings.stream(0, &mut |record| records.push(record.to_vec()));
        client.readings(1).unwrap().sources[0].probes[0].hits >= rows
    });
    let last = client.stop(1, true).unwrap();
    rings.stream(0, &mut |record| records.push(record.to_vec()));
    (last.sources[0].probes[0].clone(), records)
}

#[test]
fn the_ledger_balances_with_known_losses() {
    for (options, predicate) in [
        ("rate=50000", ""),
        ("rate=50000,lose_every=10", ""),
        ("rate=50000,lose_every=3,seed=5", "prev_pid > 1300 && comm != \"java\""),
    ] {
        let mut client = simulated(options);
        let method = events(&[probe("sched:sched_switch", &["prev_pid", "next_comm"], predicate)]);
        let mut rings = start(&mut client, method, Target::System, 1 << 20);
        let (last, records) = run(&mut client, &mut rings, 5000);
        let stored = records.len() as u64;
        assert_eq!(last.hits, last.filtered + last.ring_full + stored, "{options}");
        let wanted = last.hits - last.filtered;
        let lose_every =
            options.split("lose_every=").nth(1).map_or(u64::MAX, |n| n.split(',').next().unwrap().parse().unwrap());
        assert_eq!(last.ring_full, wanted / lose_every, "{options}: dropped exactly what was asked for");
        assert_eq!(last.filtered > 0, !predicate.is_empty());
        let pid = rings.column(0, "prev_pid");
        assert!(predicate.is_empty() || records.iter().all(|record| number(record, &pid) > 1300));
        client.discard(1).unwrap();
    }
}

#[test]
fn a_ring_that_nobody_reads_overflows_and_counts() {
    let mut client = simulated("rate=200000");
    let method = events(&[probe("raw_syscalls:sys_enter", &["id", "args"], "")]);
    let mut rings = start(&mut client, method, Target::System, 1 << 16);
    client.enable(1).unwrap();
    wait_for("an overflow", || client.readings(1).unwrap().sources[0].probes[0].ring_full > 1000);
    let last = client.stop(1, false).unwrap().sources[0].probes[0].clone();
    let stored = rings.stream(0, &mut |_record| ());
    assert_eq!(last.hits, last.ring_full + stored);
}

#[test]
fn events_are_the_same_for_the_same_seed() {
    let take = |options: &str| -> Vec<(u64, u64, Option<Vec<u8>>)> {
        let mut client = simulated(options);
        let method = events(&[probe("syscalls:sys_enter_openat", &["filename", "flags"], "")]);
        let mut rings = start(&mut client, method, Target::System, 1 << 20);
        let (_last, records) = run(&mut client, &mut rings, 1000);
        let (tid, flags, name) = (rings.column(0, "tid"), rings.column(0, "flags"), rings.column(0, "filename"));
        let row = |record: &Vec<u8>| (number(record, &tid), number(record, &flags), text(record, &name));
        records.iter().take(1000).map(row).collect()
    };
    let first = take("rate=100000,seed=3");
    assert_eq!(first, take("rate=100000,seed=3"));
    assert_ne!(first, take("rate=100000,seed=4"));
    let names: BTreeSet<_> = first.iter().filter_map(|(_, _, name)| name.clone()).collect();
    assert!(names.iter().any(|name| name.starts_with(b"/tmp/<img")) && names.iter().any(|name| name.contains(&0xff)));
    assert!(first.iter().any(|(_, _, name)| name.is_none()), "some cannot be read");
}

#[test]
fn times_ascend_from_the_moment_of_enabling() {
    let mut client = simulated("rate=100000");
    let method = events(&[probe("sched:sched_wakeup", &["pid", "comm"], "")]);
    let mut rings = start(&mut client, method, Target::System, 1 << 20);
    let names: Vec<String> = rings.columns(0).iter().map(|column| column.name.clone()).collect();
    assert_eq!(names, ["time", "cpu", "pid", "tid", "comm", "args.pid", "args.comm"]);
    let (_last, records) = run(&mut client, &mut rings, 2000);
    let time = rings.column(0, "time");
    let times: Vec<u64> = records.iter().map(|record| number(record, &time)).collect();
    assert!(times.is_sorted() && times.len() >= 2000);
}

#[test]
fn what_is_listed_can_be_described() {
    let mut client = simulated("");
    assert!(client.simulated());
    let names: Vec<TracepointName> =
        parse_available_events(&read(client.open_kernel_file(KernelFile::AvailableEvents).unwrap()));
    assert_eq!(names.len(), 9);
    for tracepoint in names {
        let file = client.open_kernel_file(KernelFile::EventFormat { tracepoint: tracepoint.clone() }).unwrap();
        assert_eq!(parse_event_format(&read(file)).unwrap().name, tracepoint.name());
    }
    let kallsyms = read(client.open_kernel_file(KernelFile::Kallsyms).unwrap());
    assert!(kallsyms.starts_with(b"ffffffff81000000 T _text\n"));
    assert!(client.open_kernel_file(KernelFile::Notes).is_ok());
    assert_eq!(client.capabilities().unwrap().len(), 23);
}

#[test]
fn what_processes_use_goes_on() {
    let mut client = simulated("");
    let (page, bytes) = client.process_activity(0).unwrap();
    assert_eq!((page.count as usize, page.left), (client.list_processes().unwrap().len(), 0));
    let begun = std::time::Instant::now();
    while client.process_activity(0).unwrap().1 == bytes {
        assert!(begun.elapsed().as_secs() < 10, "the counters stand still");
    }
    assert_eq!(client.process_activity(page.last).unwrap().0.count, 0);
    for file in [KernelFile::Stat, KernelFile::MemoryInfo, KernelFile::DiskStat, KernelFile::NetworkStat] {
        assert!(!read(client.open_kernel_file(file).unwrap()).is_empty());
    }
}

#[test]
fn every_process_has_its_files() {
    let mut client = simulated("");
    let pids = client.list_processes().unwrap();
    assert!(pids.len() > 5);
    for pid in pids {
        for file in [ProcessFile::Maps, ProcessFile::Stat, ProcessFile::Cmdline] {
            assert!(!read(client.open_process_file(pid, file).unwrap()).is_empty());
        }
        let maps = read(client.open_process_file(pid, ProcessFile::Maps).unwrap());
        let range = String::from_utf8_lossy(maps.split(|byte| *byte == b' ').next().unwrap()).into_owned();
        let (start, end) = range.split_once('-').unwrap();
        let hex = |text| u64::from_str_radix(text, 16).unwrap();
        let file = ProcessFile::Mapped { start: hex(start), end: hex(end) };
        assert!(read(client.open_process_file(pid, file).unwrap()).starts_with(b"\x7fELF"));
    }
    let missing = client.open_process_file(77, ProcessFile::Maps);
    assert!(matches!(missing, Err(ClientError::Refused(_))));
    assert!(client.open_process_file(1533, ProcessFile::PerfMap).is_ok());
}

#[test]
fn samples_balance_and_come_with_process_history() {
    let mut client = simulated("lose_every=7");
    let method = WireMethod::Profile(common::profile(2000));
    let mut rings = start(&mut client, method, Target::System, 1 << 20);
    let mut kinds = std::collections::BTreeMap::<u32, u64>::new();
    let mut count = |record: &[u8]| *kinds.entry(u32::from_le_bytes(record[..4].try_into().unwrap())).or_default() += 1;
    client.enable(1).unwrap();
    wait_for("an exit", || {
        rings.stream(0, &mut count);
        client.readings(1).unwrap().sources[0].probes[0].hits > 4000
    });
    let last = client.stop(1, false).unwrap().sources[0].probes[0].clone();
    rings.stream(0, &mut count);
    assert_eq!(last.hits, last.filtered + last.ring_full + kinds[&9]);
    assert_eq!(last.ring_full, (last.hits - last.filtered) / 7);
    for (kind, what) in [(2, "lost"), (3, "comm"), (4, "exit"), (7, "fork"), (10, "mmap2")] {
        assert!(kinds.contains_key(&kind), "{what}");
    }
}

#[test]
fn commands_print_and_end_and_short_lived_processes_go() {
    let mut client = simulated("");
    let target = Target::Command { argv: vec!["work".into(), "hard".into()], user: None, children: true };
    let mut rings = start(&mut client, events(&[probe("raw_syscalls:sys_enter", &["id"], "")]), target, 1 << 16);
    let pid = u64::from(rings.started.target_pid.unwrap());
    let pid_column = rings.column(0, "pid");
    client.enable(1).unwrap();
    let ended = TargetState::Exited { code: Some(0), signal: None };
    wait_for("the end", || client.readings(1).unwrap().target == ended);
    client.stop(1, true).unwrap();
    assert!(rings.stream(0, &mut |record| assert_eq!(number(record, &pid_column), pid)) > 0);
    assert!(rings.drain(RingContent::Sideband, &mut |_record| ()) >= 2, "execution and mapping");
    let mut printed = String::new();
    rings.output.unwrap().0.read_to_string(&mut printed).unwrap();
    assert_eq!(printed, "simulated run of work hard\nsimulated: done\n");
    client.discard(1).unwrap();

    let target = Target::Process { pid: 1644, children: false };
    let _rings = start(&mut client, events(&[probe("sched:sched_switch", &[], "")]), target, 1 << 16);
    assert_eq!(client.readings(1).unwrap().target, TargetState::Running);
    client.enable(1).unwrap();
    wait_for("its end", || client.readings(1).unwrap().target == TargetState::Gone);
}

#[test]
fn programs_of_others_come_in_pages_that_lead_on() {
    let mut client = simulated("");
    let programs = client.bpf_programs().unwrap();
    assert!(programs.is_sorted_by_key(|program| program.id) && programs.iter().all(|program| !program.ours));
    let links = client.bpf_links().unwrap();
    assert!(links.iter().all(|link| programs.iter().any(|program| program.id == link.program)), "{links:?}");
}
