//! A console that was taken over, at the door of the real agent: what it gets is what SECURITY.md says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
#![expect(clippy::print_stdout, reason = "what is skipped is told")]

use std::{
    collections::BTreeSet,
    fs::File,
    io::Read as _,
    os::fd::AsFd as _,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use bathyscope_capture::{EventProbe, Target};
use bathyscope_protocol::{
    AgentClient, AgentError, AgentErrorKind, ClientError, Door, KernelFile, PROTOCOL_VERSION, ProcessFile, Reply,
    Request, SocketTable, TargetState, WireMethod, WireScript,
};

const SOON: Duration = Duration::from_secs(60);
const RING_BYTES: u32 = 1 << 16;

/// The agent as the supervisor starts it, and the console's end of its door.
struct Agent {
    child: Child,
    door: Door,
}

impl Agent {
    /// With these words of its command line; none without root, which most of this is about.
    fn start(what: &str, words: &[&str]) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: {what} — root");
            return None;
        }
        let (door, theirs) = Door::pair().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
        command.args(["agent", "--console-uid", "0", "--log", "error"]).args(words);
        let child = command.stdin(theirs.as_fd().try_clone_to_owned().unwrap()).stdout(Stdio::null()).spawn().unwrap();
        Some(Self { child, door })
    }

    fn client(&self) -> AgentClient {
        let end = Instant::now() + SOON;
        loop {
            match AgentClient::through(&self.door) {
                Ok(client) => return client,
                Err(error) => assert!(Instant::now() < end, "{error}"),
            }
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

fn events() -> WireMethod {
    let tracepoint = "sched:sched_process_exec".parse().unwrap();
    WireMethod::Events { probes: vec![EventProbe { tracepoint, fields: vec![], predicate: None }] }
}

fn command(words: &[&str], user: Option<&str>) -> Target {
    let argv = words.iter().map(|word| (*word).to_owned()).collect();
    Target::Command { argv, user: user.map(str::to_owned), children: true }
}

/// The same as what runs while others are watched.
fn during(words: &[&str], user: Option<&str>) -> Target {
    let argv = words.iter().map(|word| (*word).to_owned()).collect();
    Target::During { argv, user: user.map(str::to_owned), of: Box::new(Target::System) }
}

fn refused<T: std::fmt::Debug>(result: Result<T, ClientError>) -> AgentError {
    match result {
        Err(ClientError::Refused(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// Runs a command for a capture; gives what it printed and its end.
fn run(client: &mut AgentClient, target: Target) -> (String, TargetState) {
    let started = client.start(1, events(), target, RING_BYTES).unwrap();
    let rings = client.take_rings(1, &started).unwrap();
    client.enable(1).unwrap();
    let end = Instant::now() + SOON;
    let state = loop {
        match client.readings(1).unwrap().target {
            TargetState::Running => assert!(Instant::now() < end, "the command runs on"),
            state => break state,
        }
    };
    client.stop(1, true).unwrap();
    client.discard(1).unwrap();
    let (stdout, stderr) = rings.output.unwrap();
    let mut text = String::new();
    for end in [stdout, stderr] {
        let mut bytes = Vec::new();
        File::from(end).read_to_end(&mut bytes).unwrap();
        text.push_str(&String::from_utf8_lossy(&bytes));
    }
    (text, state)
}

const ATTACK: [&str; 3] = ["/bin/sh", "-c", "id; head -1 /etc/shadow"];

#[test]
fn p51_a_taken_over_console_runs_nothing_where_commands_are_off() {
    for words in [&["--scripts", "off"][..], &["--scripts", "off", "--commands", "off"]] {
        let Some(agent) = Agent::start("commands that are off", words) else { return };
        let mut client = agent.client();
        for user in [Some("root"), Some("0"), None, Some("nobody"), Some("54321")] {
            let while_it_runs = refused(client.start(1, events(), during(&ATTACK, user), RING_BYTES));
            assert_eq!(while_it_runs.kind, AgentErrorKind::Denied);
            let error = refused(client.start(1, events(), command(&ATTACK, user), RING_BYTES));
            assert_eq!(error.kind, AgentErrorKind::Denied, "{user:?}: {error}");
            assert!(error.remedy.contains("serve --commands NAME"), "{error:?}");
        }
    }
}

#[test]
fn p51_a_taken_over_console_runs_commands_only_as_users_that_were_allowed() {
    let Some(agent) = Agent::start("commands of one user", &["--commands", "54321"]) else { return };
    let mut client = agent.client();
    for user in ["root", "0", "nobody", "54322"] {
        let while_it_runs = refused(client.start(1, events(), during(&ATTACK, Some(user)), RING_BYTES));
        assert_eq!(while_it_runs.kind, AgentErrorKind::Denied);
        let error = refused(client.start(1, events(), command(&ATTACK, Some(user)), RING_BYTES));
        assert_eq!(error.kind, AgentErrorKind::Denied, "{user}: {error}");
    }
    for user in [None, Some("54321")] {
        let (text, _state) = run(&mut client, command(&ATTACK, user));
        assert!(text.starts_with("uid=54321 gid=54321 groups=54321\n"), "{text}");
        assert!(!text.contains("root:"), "a line of /etc/shadow: {text}");
    }
}

/// Nothing of the agent is in reach of a command, and nothing brings rights back; also not where it runs as root.
#[test]
fn p51_a_command_of_the_console_is_confined() {
    let script = "grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs)' /proc/self/status; ls -l /proc/$$/fd; \
        cut -d' ' -f1,5,6,7 /proc/$$/stat; cat /proc/$$/environ | tr '\\0' '\\n' | cut -d= -f1 | sort | tr '\\n' ' '; \
        chown 54321 /dev/null; unshare -m true; mount -t tmpfs x /mnt";
    for rights in ["54321", "as-root"] {
        let Some(agent) = Agent::start("what a command has", &["--commands", rights]) else { return };
        let (text, _state) = run(&mut agent.client(), command(&["/bin/sh", "-c", script], None));
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert!(text.contains(&format!("{set}:\t0000000000000000\n")), "{rights}: {text}");
        }
        assert!(text.contains("NoNewPrivs:\t1\n"), "{rights}: {text}");
        let targets: Vec<&str> = text.lines().filter_map(|line| line.split(" -> ").nth(1)).collect();
        let pipes = targets.iter().filter(|target| target.starts_with("pipe:")).count();
        assert_eq!((targets.len(), pipes), (3, 2), "standard descriptors and no other: {text}");
        let ids = text.lines().find(|line| line.ends_with(" 0") && line.split(' ').count() == 4).expect("its ids");
        let ids: Vec<&str> = ids.split(' ').collect();
        assert!(ids[0] == ids[1] && ids[1] == ids[2], "a session of its own: {text}");
        assert!(text.contains("HOME LANG PATH"), "an environment of its own: {text}");
        let refusals = ["not permitted", "denied", "must be superuser"];
        let refused = text.lines().filter(|line| refusals.iter().any(|words| line.contains(words))).count();
        assert_eq!(refused, 3, "chown, unshare and mount: {text}");
    }
}

/// The most that the kernel's own files say of this host, in bytes.
fn memory(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_ascii_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

/// 64 probes with a ring of 64 MiB each: 4 GiB, again and again.
#[test]
fn p58_all_rings_of_an_agent_share_a_limit_and_a_larger_wish_is_cut() {
    const LARGEST: u32 = 64 << 20;
    let Some(agent) = Agent::start("memory of rings", &[]) else { return };
    let mut client = agent.client();
    let mut names = String::new();
    File::from(client.open_kernel_file(KernelFile::AvailableEvents).unwrap()).read_to_string(&mut names).unwrap();
    let names: Vec<&str> = names.lines().filter(|name| name.starts_with("syscalls:sys_enter_")).take(64).collect();
    assert_eq!(names.len(), 64);
    let probe = |name: &&str| EventProbe { tracepoint: name.parse().unwrap(), fields: vec![], predicate: None };
    let method = || WireMethod::Events { probes: names.iter().map(probe).collect() };
    let limit = (memory("MemTotal:") / 16).max(8 << 20);
    let mut held = 0;
    for capture in 1.. {
        let begin = Instant::now();
        match client.start(capture, method(), Target::System, LARGEST) {
            Ok(started) => {
                let rings: u64 = started.rings().map(|ring| u64::from(ring.data_bytes)).sum();
                held += rings;
                let cut = started.sources[0].rings_cut.expect("4 GiB are cut");
                assert_eq!(cut.wanted_bytes, 64 * u64::from(LARGEST));
                assert!(cut.given_bytes <= rings && held <= limit, "{cut:?} {held}");
                assert!(begin.elapsed() < Duration::from_secs(10), "nobody was answered for {:?}", begin.elapsed());
            }
            Err(ClientError::Refused(error)) => {
                assert_eq!(error.kind, AgentErrorKind::Limit, "{error}");
                assert!(error.remedy.contains("Stop another capture"), "{error:?}");
                break;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(held > 0);
    // What is discarded can be had again.
    client.stop(1, false).unwrap();
    client.discard(1).unwrap();
    client.start(1, events(), Target::System, RING_BYTES).unwrap();
}

/// A console that hangs after it has made or stopped captures holds their programs, and a command that waits, no longer than
/// one that hangs while they record.
#[test]
fn p25_what_a_hanging_console_has_made_or_stopped_is_let_go() {
    let words = ["--scripts", "observe", "--commands", "54321"];
    let Some(agent) = Agent::start("captures of a console that hangs", &words) else { return };
    let mut client = agent.client();
    let ids = |client: &mut AgentClient| -> BTreeSet<u32> {
        client.bpf_programs().unwrap().into_iter().map(|program| program.id).collect()
    };
    let before = ids(&mut client);
    let waiting = client.start(1, events(), command(&["sleep", "1000"], None), RING_BYTES).unwrap();
    let pid = waiting.target_pid.unwrap();
    assert_eq!(waiting.command_user.as_deref(), Some("54321"), "the agent tells as whom it runs");
    let text = "tracepoint:sched:sched_process_exec { @[pid] = count(); }".to_owned();
    let script = WireScript { text, ..WireScript::default() };
    let script = WireMethod::Script(Box::new(script));
    client.start(2, script.clone(), Target::System, RING_BYTES).unwrap();
    client.start(3, script, Target::System, RING_BYTES).unwrap();
    client.enable(3).unwrap();
    client.stop(3, false).unwrap();
    let made: Vec<u32> = ids(&mut client).difference(&before).copied().collect();
    assert!(made.len() >= 3, "{made:?}");
    let begin = Instant::now();
    let is_there = |pid: u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    // To ask for something else, as a hostile one does, keeps nothing.
    loop {
        let left = ids(&mut client);
        let all_gone = made.iter().all(|id| !left.contains(id)) && !is_there(pid);
        if all_gone {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(45), "they stay: {left:?} of {made:?}, {}", is_there(pid));
        std::thread::park_timeout(Duration::from_millis(50));
    }
    assert!(begin.elapsed() > Duration::from_secs(25), "a console may take its time: {:?}", begin.elapsed());
    for capture in 1..=3 {
        let error = refused(client.readings(capture));
        assert!(error.why.contains("no request for it came"), "{error}");
        client.discard(capture).unwrap();
    }
}

/// Requests that open something, again and again: what is handed out is the console's, and what is refused is closed.
#[test]
fn p20_requests_that_open_something_leave_no_descriptor_with_the_agent() {
    let Some(agent) = Agent::start("descriptors of the agent", &["--scripts", "off"]) else { return };
    let mut client = agent.client();
    let started = client.start(1, events(), Target::System, RING_BYTES).unwrap();
    let open = || std::fs::read_dir(format!("/proc/{}/fd", agent.child.id())).unwrap().count();
    let ask_all = |client: &mut AgentClient| {
        let _counters = client.open_counters(1).unwrap();
        let _rings = client.take_rings(1, &started).unwrap();
        let _file = client.open_kernel_file(KernelFile::Kallsyms).unwrap();
        let _maps = client.open_process_file(1, ProcessFile::Maps);
        let _links = client.open_process_file(1, ProcessFile::Links);
        let _sockets = client.open_process_file(1, ProcessFile::Sockets { table: SocketTable::Tcp });
        let _refused = client.open_process_file(1, ProcessFile::Mapped { start: 0, end: u64::MAX });
        let _program = client.open_user_file("/proc/self/exe", None);
        let _no_program = client.open_user_file("/etc/shadow", None);
        let _processes = client.list_processes().unwrap();
        let _activity = client.process_activity(0).unwrap();
        let _load = client.open_kernel_file(KernelFile::LoadAverage).unwrap();
        let _groups = client.list_groups();
        let _names = client.container_names(&["0".repeat(64)]).unwrap();
        let _programs = client.bpf_programs();
        let _links = client.bpf_links();
        let _dynamic = client.dynamic_events();
        let _features = client.host_features().unwrap();
    };
    // These take long, and are asked for once.
    let _tried = client.capabilities().unwrap();
    let _events = client.perf_events().unwrap();
    // Once, for what the agent keeps open of itself.
    ask_all(&mut client);
    let before = open();
    for _again in 0..200 {
        ask_all(&mut client);
    }
    assert_eq!(open(), before, "each request leaves a descriptor behind");
}

/// Requests that are well formed and ask for what the console may not have, to an agent without any switch.
#[test]
fn p20_the_real_agent_refuses_what_a_taken_over_console_may_not_have() {
    let Some(agent) = Agent::start("refusals of the agent", &["--scripts", "off"]) else { return };
    let connection = agent.door.connect().unwrap();
    let ask = |request: &Request| {
        connection.send(request, &[], SOON).unwrap();
        connection.receive::<Reply>(Some(SOON)).unwrap()
    };
    ask(&Request::Hello { version: PROTOCOL_VERSION });
    let file = |path: &str| Request::OpenUserFile { path: path.to_owned(), in_process: None };
    let of_process = |path: &str| Request::OpenUserFile { path: path.to_owned(), in_process: Some(1) };
    let script = WireScript { text: "begin { exit(); }".to_owned(), ..WireScript::default() };
    let script = WireMethod::Script(Box::new(script));
    let trace: WireMethod = serde_json::from_value(serde_json::json!({"trace": {
        "events": [], "tracer": null, "functions": [], "not_functions": [], "graph_roots": [], "graph_not": [],
        "max_depth": null, "dynamic": ["p:x vfs_read"], "options": [], "clock": null, "buffer_kib": null,
        "overwrite": false
    }}))
    .unwrap_or_else(|error| panic!("the trace's fields have changed: {error}"));
    let requests = [
        file("/etc/shadow"),
        file("/proc/1/mem"),
        file("/proc/kcore"),
        file("/proc/self/environ"),
        file("/proc/1/root/etc/shadow"),
        of_process("/etc/shadow"),
        Request::OpenProcessFile { pid: 1, file: ProcessFile::Mapped { start: 0, end: u64::MAX } },
        Request::DetachOthers { group: "bathyscope_1_2_3_4".to_owned(), name: "x".to_owned() },
        Request::Start { capture: 1, sources: script.into(), target: Target::System, ring_bytes: RING_BYTES },
        Request::Start { capture: 1, sources: trace.into(), target: Target::System, ring_bytes: RING_BYTES },
        Request::TryEvent { line: "p:x vfs_read".to_owned() },
        Request::Start { capture: 1, sources: events().into(), target: Target::System, ring_bytes: u32::MAX },
        Request::Start { capture: 1, sources: events().into(), target: command(&ATTACK, None), ring_bytes: RING_BYTES },
    ];
    for request in requests {
        let (reply, descriptors) = ask(&request);
        assert!(matches!(reply, Reply::Failed(_)) && descriptors.is_empty(), "{request:?}: {reply:?}");
    }
}
