//! Thread states of what kernels recorded: `tests/ftrace` has their own text of the events of one thread.

use std::collections::BTreeMap;

use bathyscope_derive::{DerivationCount, RecordedThreads, Rule, ThreadStates, ThreadStatesOptions};

use crate::fixture::{Event, Form, Host, What, Who};

/// The names that switches are told with.
const STATES: [&str; 10] = ["R", "S", "D", "T", "t", "X", "Z", "P", "I", "R+"];

/// An event of the scheduler of a line such as `true-195 [000] d..2. 4.023899: sched_switch: prev_comm=bash …`.
fn event(line: &str) -> Option<Event> {
    let (head, rest) = line.split_once(": ")?;
    let (name, fields) = rest.split_once(": ")?;
    let (task, head) = head.split_once('[')?;
    let (cpu, head) = head.split_once(']')?;
    let (seconds, micros) = head.split_whitespace().last()?.split_once('.')?;
    let time = (seconds.parse::<u64>().ok()? * 1_000_000 + micros.parse::<u64>().ok()?) * 1000;
    let field = |name: &str| {
        let value = fields.split_once(&format!("{name}="))?.1;
        value.split_whitespace().next()
    };
    let who = |comm: &str, pid: &str| {
        let tid = field(pid)?.parse().ok()?;
        Some(Who { pid: tid, tid, comm: field(comm)?.to_owned() })
    };
    let tid = task.trim().rsplit_once('-')?.1.parse().ok()?;
    let (current, what) = match name {
        "sched_switch" => {
            let state = STATES.into_iter().find(|state| field("prev_state") == Some(state))?;
            (who("prev_comm", "prev_pid")?, What::Switch(state, who("next_comm", "next_pid")?, 0))
        }
        // The name before the number is the last that the thread had.
        "sched_wakeup" => {
            let current = Who { pid: tid, tid, comm: String::new() };
            (current, What::Wakeup(who("comm", "pid")?, field("target_cpu")?.parse().ok()?))
        }
        _ => return None,
    };
    assert_eq!(current.tid, tid, "{line}");
    Some(Event { time, cpu: cpu.parse().ok()?, current, what })
}

#[test]
fn a_thread_of_a_real_kernel_is_followed() {
    // On the last of them, two switches from idle to the thread on CPU 1 are not in the kernel's text.
    for (kernel, thread, least, lost) in [("6.1", 154, 200, 0), ("6.12", 195, 200, 0), ("6.18", 30437, 7, 2)] {
        let path = format!("{}/../../tests/ftrace/{kernel}/events/trace", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let events: Vec<Event> = text.lines().filter_map(event).collect();
        // Recorded were switches from and to this thread, and its wake-ups, without `sched_waking`.
        let form = Form::Tracepoints;
        let streams = form.streams().into_iter().take(2).collect::<Vec<_>>();
        let mut host = Host::default();
        let options =
            ThreadStatesOptions { start_ns: None, recorded: RecordedThreads::These([thread].into()), by_name: false };
        let mut rule = ThreadStates::new(&streams, &options, &mut host).unwrap();
        form.feed(&mut rule, &events, 50, &mut host);
        rule.finish(events.last().unwrap().time, &mut host);
        let counts = rule.counts();
        let found = [DerivationCount::RunWithoutSwitch, DerivationCount::OtherThreadRan].map(|what| counts.get(what));
        assert_eq!((found, counts.prove_loss()), ([lost, lost], lost > 0), "{kernel}: {counts:?}");

        let number = |row: &BTreeMap<String, String>, name: &str| row[name].parse::<u64>().unwrap();
        let mut rows = host.table(&rule.streams()[0], 0);
        rows.sort_by_key(|row| (number(row, "time"), number(row, "duration_ns")));
        assert!(rows.len() >= least, "{kernel}: {} rows", rows.len());
        assert!(rows.iter().all(|row| row["tid"] == thread.to_string()), "{kernel}");
        // One state after another, without a moment between them but where the switch is missing.
        let end = |row| number(row, "time") + number(row, "duration_ns");
        let gaps = rows.windows(2).filter(|pair| end(&pair[0]) != number(&pair[1], "time")).count();
        assert_eq!(gaps as u64, lost, "{kernel}");
        let switches =
            events.iter().filter(|event| matches!(event.what, What::Switch(..)) && event.current.tid == thread);
        let runs = rows.iter().filter(|row| row["state"] == "running").count();
        assert!(runs.abs_diff(switches.count()) as u64 <= 1 + lost, "{kernel}: {runs} runs");
    }
}
