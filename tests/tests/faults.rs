//! Faults at random moments of a capture: the agent, the console or both are killed or hang, the lease is lost. Whatever
//! happens, the ledger of the capture balances, and where nobody can know how much is missing it says so.
//!
//! The faults follow from a number that a failure names; BATHYSCOPE_FAULTS takes it to see the same faults again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]
#![allow(clippy::print_stdout, reason = "what a failure shows")]

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bathyscope_tests::{
    is_root, ledger, proc, rounds,
    server::{Server, signal},
    skip,
    wait::{pass, until},
};
use rustix::process::Signal;
use serde_json::{Value, json};

/// What happens to a capture.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Nothing: it is stopped as a person stops it.
    Stop,
    /// The console hangs for a while.
    ConsoleHangs,
    /// The agent hangs for a while.
    AgentHangs,
    /// The console hangs for longer than it may without saying anything.
    LeaseEnds,
    AgentDies,
    /// The agent dies while the console hangs and reads nothing.
    AgentDiesUnseen,
    ConsoleDies,
    SupervisorDies,
    /// The whole is ended as a service manager ends it.
    Terminated,
}

const OFTEN: [Fault; 8] = [
    Fault::Stop,
    Fault::ConsoleHangs,
    Fault::AgentHangs,
    Fault::AgentDies,
    Fault::AgentDiesUnseen,
    Fault::ConsoleDies,
    Fault::SupervisorDies,
    Fault::Terminated,
];

/// After how long without a sign of the console the agent lets go, and a little more.
const LEASE: Duration = Duration::from_secs(33);

/// Numbers that look random and follow from the first one (xorshift64, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// Each fault comes within eight rounds; the one that takes half a minute every fortieth, so only in a long run.
    fn fault(&mut self, round: u64) -> Fault {
        if round % 40 == 39 { Fault::LeaseEnds } else { OFTEN[((self.0 + round) % 8) as usize] }
    }
}

fn seed() -> u64 {
    let chosen = std::env::var("BATHYSCOPE_FAULTS").ok().and_then(|number| number.parse().ok());
    chosen.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs()).max(1)
}

fn shown(server: &Server, id: &str) -> Value {
    server.get(&format!("/api/captures/{id}"))
}

/// Does the fault to a running capture. Says what the capture is then, and gives the server that knows it: the same one, or
/// where that one has died the next one on the same data.
fn strike(mut server: Server, again: impl Fn() -> Server, id: &str, fault: Fault, hang: Duration) -> (Server, Value) {
    let (agent, console) = (server.child("agent"), server.child("console"));
    let hangs = |pid: u32, time: Duration| {
        signal(pid, Signal::STOP);
        pass(time);
        signal(pid, Signal::CONT);
    };
    let stop = |server: &Server| drop(server.send("POST", &format!("/api/captures/{id}/stop"), None));
    match fault {
        Fault::Stop => stop(&server),
        Fault::ConsoleHangs | Fault::AgentHangs => {
            hangs(if matches!(fault, Fault::AgentHangs) { agent } else { console }, hang);
            stop(&server);
        }
        Fault::LeaseEnds => hangs(console, LEASE),
        Fault::AgentDies => signal(agent, Signal::KILL),
        Fault::AgentDiesUnseen => {
            signal(console, Signal::STOP);
            pass(hang);
            signal(agent, Signal::KILL);
            signal(console, Signal::CONT);
        }
        Fault::ConsoleDies | Fault::SupervisorDies | Fault::Terminated => {
            match fault {
                Fault::ConsoleDies => signal(console, Signal::KILL),
                Fault::SupervisorDies => signal(server.supervisor(), Signal::KILL),
                _ => signal(server.supervisor(), Signal::TERM),
            }
            server.wait();
            // They have the database's lock until they are gone too.
            until("the end of the processes", || (!proc::is_alive(agent) && !proc::is_alive(console)).then_some(()));
            server = again();
            let capture = shown(&server, id);
            return (server, capture);
        }
    }
    let capture = server.ended(id);
    (server, capture)
}

/// How a capture ends by each fault, and whether all that it lost is known then.
fn check(capture: &Value, fault: Fault) {
    let (states, is_known): (&[&str], bool) = match fault {
        Fault::Stop | Fault::ConsoleHangs | Fault::AgentHangs | Fault::Terminated => (&["stopped", "finished"], true),
        // The agent lets go and leaves its last readings.
        Fault::LeaseEnds => (&["agent_lost"], true),
        Fault::AgentDies | Fault::AgentDiesUnseen => (&["agent_lost"], false),
        Fault::ConsoleDies => (&["interrupted"], false),
        // The console may have noticed that, or that the agent has ended with it, before it was ended too.
        Fault::SupervisorDies => (&["interrupted", "failed", "agent_lost"], false),
    };
    let state = capture["state"].as_str().unwrap();
    assert!(states.contains(&state), "{capture}");
    assert_eq!(capture["lost_at_least"], !is_known, "{capture}");
    ledger::check(capture);
    let rows: u64 = capture["streams"].as_array().unwrap().iter().filter_map(|one| one["rows"].as_u64()).sum();
    let stored = capture["ledger"]["streams"].as_array().unwrap().iter().filter_map(|one| one["stored"].as_u64());
    assert_eq!(rows, stored.sum::<u64>(), "{capture}");
}

fn run(data: &Path, options: &[&str], spec: &Value, count: u64) {
    let again = || Server::start(data, options);
    let (seed, mut server) = (seed(), again());
    let mut random = Random(seed);
    for round in 0..count {
        // After an agent's death the next one may not be there yet, which is answered as 503.
        let id = until("an agent", || {
            let answer = server.send("POST", "/api/captures", Some(spec));
            assert!([201, 503].contains(&answer.status), "{}", answer.text());
            (answer.status == 201).then(|| answer.json()["id"].as_str().unwrap().to_owned())
        });
        let least = 1 + random.below(2_000);
        until("rows", || {
            let capture = shown(&server, &id);
            assert_eq!(capture["running"], true, "{capture}\n{}", server.log());
            (capture["streams"][0]["rows"].as_u64() >= Some(least)).then_some(())
        });
        pass(Duration::from_millis(random.below(400)));
        let (fault, hang) = (random.fault(round), Duration::from_millis(random.below(1_500)));
        println!("BATHYSCOPE_FAULTS={seed}, round {round}: {fault:?} for {hang:?}");
        let (next, capture) = strike(server, again, &id, fault, hang);
        check(&capture, fault);
        server = next;
    }
}

fn spec(tracepoint: &str, field: &str) -> Value {
    json!({
        "method": {"events": {"probes": [{"tracepoint": tracepoint, "fields": [field]}]}},
        "target": "system",
        "limits": {"duration_ms": 600_000, "over_budget": "warn"}
    })
}

#[test]
fn p73_random_faults_leave_a_balanced_ledger_of_made_up_events() {
    let data = tempfile::tempdir().unwrap();
    run(
        data.path(),
        &["--simulate=rate=300000,lose_every=7000"],
        &spec("sched:sched_switch", "next_pid"),
        rounds(8, 120),
    );
}

/// A program that makes system calls as fast as it can, until it is dropped.
struct Load(Child);

impl Load {
    fn new() -> Self {
        let mut command = Command::new("dd");
        command.args(["if=/dev/zero", "of=/dev/null", "bs=1"]);
        Self(command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("dd starts"))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _has_ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[test]
fn p73_random_faults_leave_a_balanced_ledger_of_the_running_kernel() {
    if !is_root() {
        return skip("random faults on the running kernel", "root");
    }
    let (_load, data) = (Load::new(), tempfile::tempdir().unwrap());
    run(data.path(), &[], &spec("raw_syscalls:sys_enter", "id"), rounds(8, 80));
}
