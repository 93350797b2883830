//! A hostile console (P20, P14): what closes the connection, and what is only refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use crate::common;

use std::{
    os::fd::AsFd as _,
    time::{Duration, Instant},
};

use bathyscope_agent::{SessionEnd, SimulatedBackend, Simulation};
use bathyscope_capture::{BranchFilter, CallGraph, CountPer, CountSpec, ProfileSpec, Target};
use bathyscope_protocol::{
    AgentErrorKind, Budget, Bytes, Connection, KernelFile, MAX_CAPTURES, MAX_KEYS, MAX_MESSAGE_BYTES, MAX_STACK_IDS,
    PROTOCOL_VERSION, ProcessFile, ProtocolError, Reply, Request, StreamLayout, WireMethod, WireScript,
};
use common::{SOON, events, probe, raw_agent, raw_agent_with_lease};

fn simulated() -> (Connection, std::thread::JoinHandle<SessionEnd>) {
    raw_agent(|| Box::new(SimulatedBackend::new(Simulation::default())))
}

fn greeted() -> (Connection, std::thread::JoinHandle<SessionEnd>) {
    let (connection, thread) = simulated();
    ask(&connection, &Request::Hello { version: PROTOCOL_VERSION });
    (connection, thread)
}

fn ask(connection: &Connection, request: &Request) -> Reply {
    connection.send(request, &[], SOON).unwrap();
    connection.receive::<Reply>(Some(SOON)).unwrap().0
}

fn start(capture: u32) -> Request {
    let method = events(&[probe("sched:sched_switch", &[], "")]);
    Request::Start { capture, sources: method.into(), target: Target::System, ring_bytes: 1 << 16 }
}

fn must_close(connection: &Connection, thread: std::thread::JoinHandle<SessionEnd>, what: &str) {
    let answer = connection.receive::<Reply>(Some(SOON));
    assert!(matches!(answer, Err(ProtocolError::Closed)), "{what}: {answer:?}");
    assert!(matches!(thread.join().unwrap(), SessionEnd::Violation(_)), "{what}");
}

#[test]
fn p20_whatever_is_out_of_order_closes_the_connection() {
    let hello = Request::Hello { version: PROTOCOL_VERSION };
    let stop = Request::Stop { capture: 1, end_command: false };
    let (enable, discard) = (Request::Enable { capture: 1 }, Request::Discard { capture: 1 });
    let take = |from| Request::TakeRings { capture: 1, from };
    let cases: Vec<(&str, Vec<Request>)> = vec![
        ("not greeted", vec![Request::Capabilities]),
        ("wrong version", vec![Request::Hello { version: 0 }]),
        ("greeted twice", vec![hello.clone(), hello.clone()]),
        ("unknown capture", vec![hello.clone(), enable.clone()]),
        ("readings of nothing", vec![hello.clone(), Request::Readings { capture: 9 }]),
        ("duplicated handle", vec![hello.clone(), start(1), start(1)]),
        ("rings that are not there", vec![hello.clone(), start(1), take(99)]),
        ("ring at the end of numbers", vec![hello.clone(), start(1), take(u32::MAX)]),
        ("enabled twice", vec![hello.clone(), start(1), enable.clone(), enable.clone()]),
        ("stopped twice", vec![hello.clone(), start(1), stop.clone(), stop.clone()]),
        ("enabled after the stop", vec![hello.clone(), start(1), stop.clone(), enable.clone()]),
        ("discarded before the stop", vec![hello.clone(), start(1), discard.clone()]),
        ("discarded twice", vec![hello.clone(), start(1), stop.clone(), discard.clone(), discard.clone()]),
        ("counters of nothing", vec![hello.clone(), Request::OpenCounters { capture: 1 }]),
        ("counters at the end of numbers", vec![hello.clone(), start(1), Request::OpenCounters { capture: u32::MAX }]),
        (
            "counters of a capture that was given back",
            vec![hello.clone(), start(1), stop.clone(), discard.clone(), Request::OpenCounters { capture: 1 }],
        ),
        (
            "events of a script to detach",
            vec![hello.clone(), start_script(1), Request::DetachEvents { capture: 1, events: vec![0] }],
        ),
        (
            "dynamic events of a capture that is no trace to detach",
            vec![hello.clone(), start(1), Request::DetachEvents { capture: 1, events: vec![0] }],
        ),
        ("events of nothing to detach", vec![hello.clone(), Request::DetachEvents { capture: 1, events: vec![0] }]),
        ("a budget of nothing", vec![hello.clone(), Request::SetBudget { capture: 1, budget: Budget::default() }]),
        (
            "a budget after the beginning",
            vec![hello.clone(), start(1), enable.clone(), Request::SetBudget { capture: 1, budget: Budget::default() }],
        ),
    ];
    for (what, mut requests) in cases.into_iter().chain(hostile_about_scripts(&hello)) {
        let (connection, thread) = simulated();
        let last = requests.pop().unwrap();
        for request in requests {
            assert!(!matches!(ask(&connection, &request), Reply::Failed(_)), "{what}");
        }
        connection.send(&last, &[], SOON).unwrap();
        must_close(&connection, thread, what);
    }
}

fn start_script(capture: u32) -> Request {
    let text = "tracepoint:sched:sched_switch { @[pid] = count(); printf(\"x\"); }".to_owned();
    let script = WireScript { text, ..WireScript::default() };
    let method = WireMethod::Script(Box::new(script));
    Request::Start { capture, sources: method.into(), target: Target::System, ring_bytes: 1 << 16 }
}

/// Numbers, keys and states that do not fit the plan that the console was given.
fn hostile_about_scripts(hello: &Request) -> Vec<(&'static str, Vec<Request>)> {
    let (capture, enable) = (1, Request::Enable { capture: 1 });
    let script = |last: Request| vec![hello.clone(), start_script(1), last];
    let page = |map, after| Request::ReadMap { capture, map, take: true, after };
    let keys = |keys: Vec<Bytes>| Request::ReadElements { capture, map: 0, keys };
    let stacks = |ids| Request::ReadStacks { capture, user: true, ids };
    vec![
        ("map of no capture", vec![hello.clone(), page(0, None)]),
        ("map of no script", vec![hello.clone(), start(1), page(0, None)]),
        ("unknown map", script(page(1, None))),
        ("map at the end of numbers", script(page(u32::MAX, None))),
        ("unknown map to clear", script(Request::ClearMap { capture, map: 7 })),
        ("unknown map to set to zero", script(Request::ZeroMap { capture, map: 7 })),
        ("short key", script(keys(vec![Bytes(vec![1])]))),
        ("long key to delete", script(Request::DeleteKeys { capture, map: 0, keys: vec![Bytes(vec![0; 4096])] })),
        ("too many keys", script(keys(vec![Bytes(vec![0; 8]); MAX_KEYS + 1]))),
        ("stacks that are not kept", script(stacks(vec![1]))),
        ("too many stacks", script(stacks(vec![1; MAX_STACK_IDS + 1]))),
        ("signal before it runs", script(Request::RunSignal { capture, number: 10 })),
        ("iterator before it runs", script(Request::ReadIterator { capture, probe: 0 })),
        (
            "iterator that is none",
            vec![hello.clone(), start_script(1), enable.clone(), Request::ReadIterator { capture, probe: 0 }],
        ),
        ("duplicated handle of a script", vec![hello.clone(), start_script(1), start_script(1)]),
        ("script enabled twice", vec![hello.clone(), start_script(1), enable.clone(), enable]),
    ]
}

/// What is larger than a packet comes in a sealed file, and only what may be large.
#[test]
fn p20_large_messages_come_sealed_or_close_the_connection() {
    use bathyscope_protocol::large::{MAX_LARGE_REQUEST_BYTES, sealed_file};
    let script = WireScript { parameters: vec!["x".repeat(4000); 40], ..WireScript::default() };
    let check = Request::CheckScript { script, show: None };
    let bytes = serde_json::to_vec(&check).unwrap();
    assert!(bytes.len() > MAX_MESSAGE_BYTES);
    let (connection, _thread) = greeted();
    connection.send_large(&check, &[], MAX_LARGE_REQUEST_BYTES, SOON).unwrap();
    assert!(matches!(connection.receive::<Reply>(Some(SOON)).unwrap().0, Reply::ScriptChecked(_)));

    let envelope = |length: usize| format!("{{\"in_file\":{length}}}").into_bytes();
    let open = rustix::fs::memfd_create("open", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::io::write(&open, &bytes).unwrap();
    let own = std::fs::File::open("/proc/self/exe").unwrap().into();
    let other = serde_json::to_vec(&Request::Capabilities).unwrap();
    let cases: Vec<(&str, std::os::fd::OwnedFd, usize)> = vec![
        ("a file that can change", open, bytes.len()),
        ("a file on a disk", own, 1000),
        ("another length than told", sealed_file("x", &bytes).unwrap(), bytes.len() - 1),
        ("too long a file", sealed_file("x", &bytes).unwrap(), MAX_LARGE_REQUEST_BYTES + 1),
        ("no JSON", sealed_file("x", &vec![b'['; 1000]).unwrap(), 1000),
        ("a request that is small", sealed_file("x", &other).unwrap(), other.len()),
    ];
    for (what, file, length) in cases {
        let (connection, thread) = greeted();
        connection.send_bytes(&envelope(length), &[file.as_fd()], SOON).unwrap();
        must_close(&connection, thread, what);
    }
    let (connection, thread) = greeted();
    connection.send_bytes(&envelope(10), &[], SOON).unwrap();
    must_close(&connection, thread, "no file at all");
}

#[test]
fn p14_paths_that_are_none_are_refused() {
    let (connection, _thread) = greeted();
    for path in ["relative", "", "/with\0nul", &format!("/{}", "x".repeat(5000))] {
        let request = Request::OpenUserFile { path: path.to_owned(), in_process: None };
        match ask(&connection, &request) {
            Reply::Failed(error) => assert_eq!(error.kind, AgentErrorKind::Invalid, "{error}"),
            reply => panic!("{reply:?}"),
        }
    }
}

#[test]
fn p20_unknown_and_oversized_messages_and_descriptors_close_the_connection() {
    for bytes in [&b"{\"run\":\"sh\"}"[..], b"\xff\xff", b"{}", b"\"hello\"", b"[[[[[[[["] {
        let (connection, thread) = greeted();
        connection.send_bytes(bytes, &[], SOON).unwrap();
        must_close(&connection, thread, "unknown");
    }
    let (connection, thread) = greeted();
    let big = vec![b' '; MAX_MESSAGE_BYTES + 1];
    rustix::net::send(connection.as_fd(), &big, rustix::net::SendFlags::NOSIGNAL).unwrap();
    must_close(&connection, thread, "oversized");
    let (connection, thread) = greeted();
    let null = std::fs::File::open("/dev/null").unwrap();
    connection.send(&Request::Capabilities, &[null.as_fd()], SOON).unwrap();
    must_close(&connection, thread, "descriptors");
}

/// Targets of a command beside another one, of several processes, and samples with a choice.
#[test]
fn p14_wrong_targets_and_choices_of_samples_are_refused() {
    let (connection, _thread) = greeted();
    let words = || vec!["ls".to_owned()];
    let command = || Target::Command { argv: words(), user: None, children: false };
    let during = |argv: Vec<String>, of: Target| Target::During { argv, user: None, of: Box::new(of) };
    let of = |pids: Vec<u32>| Target::Processes { pids, children: false };
    let one = || events(&[probe("sched:sched_switch", &[], "")]);
    let sampled = |it: ProfileSpec| (WireMethod::Profile(it), Target::System);
    let cases = [
        (one(), during(vec![], Target::System)),
        (one(), during(words(), command())),
        (one(), during(words(), during(words(), Target::System))),
        // Only the console knows names of units and containers.
        (one(), Target::Unit { name: "cron.service".into() }),
        (one(), during(words(), Target::Container { name: "web".into() })),
        (one(), of(vec![])),
        (one(), of(vec![1; 2])),
        (one(), of((1..999).collect())),
        sampled(ProfileSpec { filter: Some("a > 1".into()), ..common::profile(9) }),
        sampled(ProfileSpec { cpus: vec![0; 9000], ..common::profile(9) }),
    ];
    for (method, target) in cases {
        let request = Request::Start { capture: 1, sources: method.into(), target, ring_bytes: 1 << 16 };
        match ask(&connection, &request) {
            Reply::Failed(error) => assert_eq!(error.kind, AgentErrorKind::Invalid, "{request:?}: {error}"),
            other => panic!("{request:?}: {other:?}"),
        }
    }
}

/// Requests of the right form with the wrong content are refused in words, and the connection goes on.
#[test]
fn p14_wrong_sizes_and_names_are_refused() {
    let (connection, _thread) = greeted();
    let system = Target::System;
    let one = events(&[probe("sched:sched_switch", &[], "")]);
    let with = |method: WireMethod, target: Target, ring_bytes: u32| (method, target, ring_bytes);
    let command = |argv: Vec<String>| Target::Command { argv, user: None, children: false };
    let profile = |frequency_hz, stacks| {
        WireMethod::Profile(ProfileSpec { kernel_stacks: stacks, user_stacks: stacks, ..common::profile(frequency_hz) })
    };
    let sampled = |it: ProfileSpec| WireMethod::Profile(it);
    let counted = |it: CountSpec| WireMethod::Count(it);
    let (count, event) = (|| common::count(&["context-switches"]), || Some("cs".to_owned()));
    let invalid = AgentErrorKind::Invalid;
    let fields = vec!["prev_pid"; 2];
    let cases = [
        (with(one.clone(), system.clone(), 0), AgentErrorKind::Limit),
        (with(one.clone(), system.clone(), 32 << 10), AgentErrorKind::Limit),
        (with(one.clone(), system.clone(), (64 << 20) + 1), AgentErrorKind::Limit),
        (with(one.clone(), system.clone(), u32::MAX), AgentErrorKind::Limit),
        (with(events(&[]), system.clone(), 1 << 16), AgentErrorKind::Invalid),
        (with(events(&vec![probe("a:b", &[], ""); 65]), system.clone(), 1 << 16), AgentErrorKind::Invalid),
        (with(events(&[probe("a:b", &fields, "")]), system.clone(), 1 << 16), AgentErrorKind::Invalid),
        (with(events(&[probe("no:such", &[], "")]), system.clone(), 1 << 16), AgentErrorKind::NotFound),
        (with(events(&[probe("sched:sched_switch", &["nope"], "")]), system.clone(), 1 << 16), AgentErrorKind::Invalid),
        (
            with(events(&[probe("sched:sched_switch", &[], "nope == 1")]), system.clone(), 1 << 16),
            AgentErrorKind::Invalid,
        ),
        (with(profile(0, true), system.clone(), 1 << 16), AgentErrorKind::Invalid),
        (with(profile(1_000_000, true), system.clone(), 1 << 16), AgentErrorKind::Invalid),
        (with(profile(99, false), system.clone(), 1 << 16), AgentErrorKind::Invalid),
        (
            with(sampled(ProfileSpec { event: Some("nope".into()), ..common::profile(9) }), system.clone(), 1 << 16),
            invalid,
        ),
        (
            with(sampled(ProfileSpec { event: Some("x".repeat(300)), ..common::profile(9) }), system.clone(), 1 << 16),
            invalid,
        ),
        (
            with(
                sampled(ProfileSpec { period: Some(0), event: event(), ..common::profile(9) }),
                system.clone(),
                1 << 16,
            ),
            invalid,
        ),
        (with(sampled(ProfileSpec { period: Some(5), ..common::profile(9) }), system.clone(), 1 << 16), invalid),
        (with(sampled(ProfileSpec { stack_bytes: Some(512), ..common::profile(9) }), system.clone(), 1 << 16), invalid),
        (
            with(
                sampled(ProfileSpec { stack_bytes: Some(1 << 20), call_graph: CallGraph::Dwarf, ..common::profile(9) }),
                system.clone(),
                1 << 16,
            ),
            invalid,
        ),
        (with(counted(CountSpec { groups: vec![], ..count() }), system.clone(), 1 << 16), invalid),
        (with(counted(CountSpec { groups: vec![vec![]], ..count() }), system.clone(), 1 << 16), invalid),
        (with(counted(common::count(&["a/../../x=1/"])), system.clone(), 1 << 16), invalid),
        (with(counted(common::count(&["../x:y"])), system.clone(), 1 << 16), invalid),
        (with(counted(common::count(&["cs\n"])), system.clone(), 1 << 16), invalid),
        (with(counted(common::count(&["cs"; 1025])), system.clone(), 1 << 16), invalid),
        (with(counted(CountSpec { interval_ms: 0, ..count() }), system.clone(), 1 << 16), invalid),
        (with(counted(CountSpec { interval_ms: u32::MAX, ..count() }), system.clone(), 1 << 16), invalid),
        (with(counted(CountSpec { per: CountPer::Thread, ..count() }), system.clone(), 1 << 16), invalid),
        (with(counted(CountSpec { cgroup: Some("a\0b".into()), ..count() }), system.clone(), 1 << 16), invalid),
        (
            with(counted(CountSpec { cgroup: Some("x".into()), ..count() }), command(vec!["ls".into()]), 1 << 16),
            invalid,
        ),
        (with(counted(CountSpec { cpus: vec![0; 9000], ..count() }), system.clone(), 1 << 16), invalid),
        (with(one.clone(), Target::Process { pid: 0, children: false }, 1 << 16), AgentErrorKind::Invalid),
        (with(one.clone(), Target::Process { pid: 999_999, children: false }, 1 << 16), AgentErrorKind::NotFound),
        (with(one.clone(), command(vec![]), 1 << 16), AgentErrorKind::Invalid),
        (with(one.clone(), command(vec!["a\0b".into()]), 1 << 16), AgentErrorKind::Invalid),
        (with(one, command(vec!["x".into(); 300]), 1 << 16), AgentErrorKind::Invalid),
    ];
    for ((method, target, ring_bytes), kind) in cases {
        let request = Request::Start { capture: 1, sources: method.into(), target, ring_bytes };
        match ask(&connection, &request) {
            Reply::Failed(error) => assert_eq!(error.kind, kind, "{request:?}: {error}"),
            reply => panic!("{request:?}: {reply:?}"),
        }
    }
    let file = Request::OpenProcessFile { pid: 1201, file: ProcessFile::Mapped { start: u64::MAX, end: 0 } };
    assert!(matches!(ask(&connection, &file), Reply::Failed(_)));
    let tracepoint = "sched:nope".parse().unwrap();
    let file = Request::OpenKernelFile { file: KernelFile::EventFormat { tracepoint } };
    assert!(matches!(ask(&connection, &file), Reply::Failed(_)));
    assert!(matches!(ask(&connection, &start(1)), Reply::Started(_)), "the handle is still free");
}

#[test]
fn p14_a_filter_of_branches_has_limits() {
    let (connection, _thread) = greeted();
    let start = |branches: Vec<BranchFilter>, call_graph| {
        let method = WireMethod::Profile(ProfileSpec { branches, call_graph, ..common::profile(9) });
        ask(
            &connection,
            &Request::Start { capture: 1, sources: method.into(), target: Target::System, ring_bytes: 1 << 16 },
        )
    };
    for (branches, call_graph) in
        [(vec![BranchFilter::U; 15], CallGraph::FramePointer), (vec![BranchFilter::Any], CallGraph::Lbr)]
    {
        match start(branches, call_graph) {
            Reply::Failed(error) => assert_eq!(error.kind, AgentErrorKind::Invalid, "{error}"),
            reply => panic!("{reply:?}"),
        }
    }
    match start(BranchFilter::ALL.to_vec(), CallGraph::FramePointer) {
        Reply::Started(started) => {
            assert_eq!(started.sources[0].streams, [StreamLayout::PerfSamples, StreamLayout::PerfBranches]);
        }
        reply => panic!("{reply:?}"),
    }
}

#[test]
fn p14_no_more_captures_than_the_limit() {
    let (connection, _thread) = greeted();
    let limit = u32::try_from(MAX_CAPTURES).unwrap();
    for capture in 1..=limit {
        assert!(matches!(ask(&connection, &start(capture)), Reply::Started(_)));
    }
    match ask(&connection, &start(0)) {
        Reply::Failed(error) => assert_eq!(error.kind, AgentErrorKind::Limit),
        reply => panic!("{reply:?}"),
    }
    assert!(matches!(ask(&connection, &Request::Stop { capture: 1, end_command: false }), Reply::Stopped(_)));
    assert!(matches!(ask(&connection, &Request::Discard { capture: 1 }), Reply::Done));
    assert!(matches!(ask(&connection, &start(0)), Reply::Started(_)));
}

/// A lease that tests can wait for.
const LEASE: Duration = Duration::from_millis(400);

fn with_lease() -> (Connection, std::thread::JoinHandle<SessionEnd>) {
    let (connection, thread) = raw_agent_with_lease(LEASE, || Box::new(SimulatedBackend::new(Simulation::default())));
    ask(&connection, &Request::Hello { version: PROTOCOL_VERSION });
    (connection, thread)
}

/// Whether a capture was let go: then everything about it is refused in words.
fn is_let_go(connection: &Connection, capture: u32) -> bool {
    match ask(connection, &Request::Readings { capture }) {
        Reply::Readings(_) => false,
        Reply::Failed(error) => {
            assert_eq!(error.kind, AgentErrorKind::NotFound, "{error}");
            assert!(error.why.contains("no request for it came"), "{error}");
            true
        }
        reply => panic!("{reply:?}"),
    }
}

/// Captures that do not record are let go too: made, failed, or stopped, by a console that hangs between two requests.
#[test]
fn p25_what_does_not_record_and_is_not_asked_for_is_let_go() {
    let (connection, _thread) = with_lease();
    let stop = |capture| Request::Stop { capture, end_command: false };
    for capture in 1..=16 {
        assert!(matches!(ask(&connection, &start(capture)), Reply::Started(_)), "{capture}");
    }
    for capture in 9..=16 {
        assert!(matches!(ask(&connection, &stop(capture)), Reply::Stopped(_)), "{capture}");
    }
    // It hangs: nothing is asked for.
    let silence = connection.receive::<Reply>(Some(LEASE * 2));
    assert!(matches!(silence, Err(ProtocolError::TimedOut(_))), "{silence:?}");
    for capture in 1..=16 {
        assert!(is_let_go(&connection, capture), "{capture}");
    }
    for request in [Request::Enable { capture: 1 }, stop(1), Request::OpenCounters { capture: 1 }] {
        assert!(matches!(ask(&connection, &request), Reply::Failed(_)), "{request:?}");
    }
    // Its places are free again, and so are handles that are given back or used anew.
    assert!(matches!(ask(&connection, &Request::Discard { capture: 1 }), Reply::Done));
    for capture in 1..=16 {
        assert!(matches!(ask(&connection, &start(capture)), Reply::Started(_)), "{capture}");
    }
}

/// A console that asks for one thing holds no other by that.
#[test]
fn p25_asking_for_something_else_keeps_no_capture() {
    let (connection, thread) = with_lease();
    for capture in 1..=3 {
        assert!(matches!(ask(&connection, &start(capture)), Reply::Started(_)));
    }
    assert!(matches!(ask(&connection, &Request::Enable { capture: 1 }), Reply::Enabled(_)));
    let end = Instant::now() + LEASE * 3;
    while Instant::now() < end {
        assert!(matches!(ask(&connection, &Request::Readings { capture: 1 }), Reply::Readings(_)));
        assert!(matches!(ask(&connection, &Request::Readings { capture: 2 }), Reply::Readings(_)));
    }
    assert!(is_let_go(&connection, 3) && !is_let_go(&connection, 1) && !is_let_go(&connection, 2));
    // What is let go is unknown for ever once it was given back.
    assert!(matches!(ask(&connection, &Request::Discard { capture: 3 }), Reply::Done));
    connection.send(&Request::Discard { capture: 3 }, &[], SOON).unwrap();
    must_close(&connection, thread, "discarded twice");
}

/// While something records, silence is the end of the connection, as before.
#[test]
fn p25_silence_while_something_records_ends_the_connection() {
    let (connection, thread) = with_lease();
    assert!(matches!(ask(&connection, &start(1)), Reply::Started(_)));
    assert!(matches!(ask(&connection, &start(2)), Reply::Started(_)));
    assert!(matches!(ask(&connection, &Request::Enable { capture: 1 }), Reply::Enabled(_)));
    assert!(matches!(connection.receive::<Reply>(Some(SOON)), Err(ProtocolError::Closed)));
    assert!(matches!(thread.join().unwrap(), SessionEnd::Lease(lease) if lease == LEASE));
}

#[test]
fn a_console_that_goes_ends_the_session() {
    let (connection, thread) = greeted();
    assert!(matches!(ask(&connection, &start(1)), Reply::Started(_)));
    assert!(matches!(ask(&connection, &Request::Enable { capture: 1 }), Reply::Enabled(_)));
    drop(connection);
    assert!(matches!(thread.join().unwrap(), SessionEnd::Closed));
}
