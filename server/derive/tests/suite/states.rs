//! Thread states, case by case.

use bathyscope_capture::{Batch, ColumnData, ColumnType, ProcessChange, ProcessChangeKind, RowKind, StreamSchema};
use bathyscope_derive::{
    DerivationCount, DerivationError, MAX_CPUS, RecordedThreads, Rule, THREAD_STATES_RULE_VERSION, ThreadStates,
    ThreadStatesOptions,
};

use crate::fixture::{Event, Form, Host, What, column, event, new, schema, switch, told, wakeup, waking, who};

const START: u64 = 1000;
const END: u64 = 2000;

/// What is derived of events, one line each: `tid state start-end cN` with `wN` for who woke it and what is not known;
/// `cpu N: tid start-end state`; `tid waited start-end cN wN`; then the counts.
fn lines(form: Form, start_ns: Option<u64>, events: &[Event]) -> Vec<String> {
    let options = ThreadStatesOptions { start_ns, ..ThreadStatesOptions::default() };
    lines_of(form, &form.streams(), &options, events)
}

fn lines_of(form: Form, streams: &[StreamSchema], options: &ThreadStatesOptions, events: &[Event]) -> Vec<String> {
    let mut host = Host::default();
    let mut rule = ThreadStates::new(streams, options, &mut host).unwrap();
    for number in 1..50 {
        let kind = ProcessChangeKind::Existing { comm: host.id(&who(number).comm) };
        rule.learn(&ProcessChange { time_ns: 0, pid: who(number).pid, tid: number, kind });
    }
    for Event { time, what, .. } in events {
        if let What::New(child, _) = what {
            let kind = ProcessChangeKind::Fork { parent_pid: 1 };
            rule.learn(&ProcessChange { time_ns: *time, pid: child.pid, tid: child.tid, kind });
        }
    }
    form.feed(&mut rule, events, 3, &mut host);
    rule.finish(END, &mut host);
    lines_told(&rule, &host)
}

/// Streams, rows in parts, and the strings of these.
type Fed = (Vec<StreamSchema>, Vec<(u64, Vec<Batch>)>, Host);

/// The same of rows that are there, in parts, each with the moment of its last event.
fn lines_of_fed((streams, fed, mut host): Fed, options: &ThreadStatesOptions) -> Vec<String> {
    let mut rule = ThreadStates::new(&streams, options, &mut host).unwrap();
    for (time, batches) in &fed {
        for (stream, batch) in (0..).zip(batches) {
            rule.push(stream, std::sync::Arc::new(batch.clone()), &mut host);
        }
        rule.advance(*time, &mut host);
    }
    rule.finish(END, &mut host);
    lines_told(&rule, &host)
}

fn lines_told(rule: &ThreadStates, host: &Host) -> Vec<String> {
    let told = told(rule, host);
    let unknown = |words: &str| if words.is_empty() { String::new() } else { format!(" ({words})") };
    let state = |it: &crate::fixture::State| {
        let waker = if it.state == "runnable" { format!(" w{}", it.waker) } else { String::new() };
        let times = format!("{}-{}", it.start, it.end);
        format!("{} {} {times} c{}{waker}{}", it.tid, it.state, it.cpu, unknown(&it.unknown))
    };
    let mut lines: Vec<String> = told.states.iter().map(state).collect();
    lines.extend(
        told.occupation.iter().map(|it| {
            format!("cpu {}: {} {}-{} {}{}", it.cpu, it.tid, it.start, it.end, it.told, unknown(&it.unknown))
        }),
    );
    lines.extend(told.latencies.iter().map(|it| {
        format!("{} waited {}-{} c{} w{}{}", it.tid, it.start, it.end, it.cpu, it.told, unknown(&it.unknown))
    }));
    lines.extend(rule.counts().iter().map(|(what, count)| format!("{what:?} {count}")));
    lines
}

#[test]
fn a_thread_runs_sleeps_is_woken_and_waits() {
    let events = [
        switch(1100, 0, 0, "R", 11),
        switch(1200, 0, 11, "S", 0),
        waking(1300, 1, 21, 11, 0),
        wakeup(1301, 0, 0, 11, 0),
        switch(1310, 0, 0, "R", 11),
        switch(1400, 0, 11, "R+", 12),
    ];
    let expected = [
        "11 runnable 1000-1100 c0 w0 (begin)",
        "11 running 1100-1200 c0",
        "11 sleeping 1200-1300 c0",
        "11 runnable 1300-1310 c0 w21",
        "11 running 1310-1400 c0",
        "11 preempted 1400-2000 c0 (end)",
        "12 runnable 1000-1400 c0 w0 (begin)",
        "12 running 1400-2000 c0 (end)",
        "21 running 1000-2000 c1 (begin, end)",
        "cpu 0: 0 1000-1100 R (begin)",
        "cpu 0: 11 1100-1200 S",
        "cpu 0: 0 1200-1310 R",
        "cpu 0: 11 1310-1400 R+",
        "cpu 0: 12 1400-2000  (end)",
        "cpu 1: 21 1000-2000  (begin, end)",
        "11 waited 1300-1310 c0 w21",
    ];
    for form in Form::BOTH {
        assert_eq!(lines(form, Some(START), &events), expected, "{form:?}");
    }
}

#[test]
fn each_state_has_its_word() {
    let states = [
        ("S", "sleeping"),
        ("D", "uninterruptible"),
        ("T", "stopped"),
        ("t", "traced"),
        ("I", "idle"),
        ("P", "parked"),
        ("R", "preempted"),
        ("R+", "preempted"),
    ];
    for (name, word) in states {
        for form in Form::BOTH {
            let found = lines(form, None, &[switch(1100, 0, 0, "R", 11), switch(1200, 0, 11, name, 0)]);
            assert!(found.contains(&format!("11 {word} 1200-2000 c0 (end)")), "{name}: {found:?}");
            assert!(found.contains(&format!("cpu 0: 11 1100-1200 {name}")), "{name}: {found:?}");
        }
    }
}

/// A case: what it is, its events, and what is said of thread 11, with the counts.
type Case<'a> = (&'a str, Vec<Event>, &'a [&'a str]);

#[track_caller]
fn check(forms: &[Form], start_ns: Option<u64>, cases: Vec<Case<'_>>) {
    for (name, events, expected) in cases {
        for form in forms {
            let mut found = lines(*form, start_ns, &events);
            found.retain(|line| line.starts_with("11 ") || line.starts_with(char::is_uppercase));
            // What was so at the start is only of interest where it can be known.
            found.retain(|line| start_ns.is_some() || !line.starts_with("BeginUnknown"));
            // Only one form tells it apart from a thread that is on its way off the CPU.
            found.retain(|line| forms.len() == 1 || start_ns.is_some() || !line.starts_with("WakeupOfRunning"));
            assert_eq!(found, expected, "{name}, {form:?}");
        }
    }
}

#[test]
fn what_threads_do_is_followed() {
    let begin = [switch(1100, 0, 0, "R", 11), switch(1200, 0, 11, "S", 0)];
    let after = |more: &[Event]| begin.iter().chain(more).cloned().collect::<Vec<Event>>();
    let cases: Vec<Case<'_>> = vec![
        (
            "it migrates between its wake-up and its run",
            after(&[waking(1300, 1, 21, 11, 0), wakeup(1301, 2, 0, 11, 2), switch(1310, 3, 0, "R", 11)]),
            &[
                "11 running 1100-1200 c0",
                "11 sleeping 1200-1300 c0",
                "11 runnable 1300-1310 c0 w21",
                "11 running 1310-2000 c3 (end)",
                "11 waited 1300-1310 c3 w21",
            ],
        ),
        (
            "it is woken while it runs",
            vec![
                switch(1100, 0, 0, "R", 11),
                waking(1150, 1, 21, 11, 0),
                wakeup(1151, 1, 21, 11, 0),
                switch(1200, 0, 11, "S", 0),
            ],
            &["11 running 1100-1200 c0", "11 sleeping 1200-2000 c0 (end)"],
        ),
        (
            "it is woken on its way off the CPU",
            vec![
                switch(1100, 0, 0, "R", 11),
                waking(1199, 1, 21, 11, 0),
                switch(1200, 0, 11, "S", 0),
                wakeup(1205, 0, 0, 11, 0),
                switch(1210, 0, 0, "R", 11),
            ],
            &[
                "11 running 1100-1200 c0",
                "11 runnable 1200-1210 c0 w21",
                "11 running 1210-2000 c0 (end)",
                "11 waited 1200-1210 c0 w21",
            ],
        ),
        (
            "it is woken where everything has the same time",
            after(&[switch(1300, 0, 0, "R", 11), wakeup(1300, 0, 0, 11, 0), waking(1300, 0, 0, 11, 0)]),
            &[
                "11 running 1100-1200 c0",
                "11 sleeping 1200-1300 c0",
                "11 runnable 1300-1300 c0 w0",
                "11 running 1300-2000 c0 (end)",
                "11 waited 1300-1300 c0 w0",
            ],
        ),
        (
            "it is woken while it is preempted, which changes nothing",
            vec![
                switch(1100, 0, 0, "R", 11),
                switch(1200, 0, 11, "R+", 0),
                waking(1250, 0, 0, 11, 0),
                wakeup(1251, 0, 0, 11, 0),
                switch(1300, 0, 0, "R", 11),
            ],
            &["11 running 1100-1200 c0", "11 preempted 1200-1300 c0", "11 running 1300-2000 c0 (end)"],
        ),
        (
            "it begins, ends, and another has its number",
            vec![
                new(1100, 0, 21, 11, 1),
                switch(1110, 1, 0, "R", 11),
                event(1150, 1, 11, What::Exit),
                switch(1200, 1, 11, "Z", 0),
                new(1300, 0, 21, 11, 0),
                switch(1310, 0, 21, "R", 11),
                switch(1400, 0, 11, "X", 21),
            ],
            &[
                "11 runnable 1100-1110 c1 w21",
                "11 running 1110-1200 c1",
                "11 dead 1200-1200 c1",
                "11 runnable 1300-1310 c0 w21",
                "11 running 1310-1400 c0",
                "11 dead 1400-1400 c0",
                "11 waited 1300-1310 c0 w21",
                "11 waited 1100-1110 c1 w21",
            ],
        ),
    ];
    check(&Form::BOTH, None, cases);
}

#[test]
fn lost_switches_are_counted() {
    let cases: Vec<Case<'_>> = vec![
        (
            "the switch to it is lost: what another thread ran is cut at the last sign of it",
            vec![
                switch(1100, 0, 0, "R", 12),
                waking(1150, 0, 12, 11, 0),
                wakeup(1151, 0, 12, 11, 0),
                switch(1200, 0, 11, "S", 0),
            ],
            &["11 sleeping 1200-2000 c0 (end)", "OtherThreadRan 1", "RunWithoutSwitch 1", "EndUnknown 1"],
        ),
        (
            "the switch away from it is lost",
            vec![
                switch(1100, 0, 0, "R", 11),
                waking(1150, 0, 11, 12, 0),
                wakeup(1150, 0, 11, 12, 0),
                switch(1200, 0, 0, "R", 12),
            ],
            &["11 running 1100-1150 c0 (end)", "OtherThreadRan 1"],
        ),
        (
            "the switch away from it is lost and it runs elsewhere",
            vec![switch(1100, 0, 0, "R", 11), switch(1200, 1, 0, "R", 11), switch(1300, 1, 11, "S", 0)],
            &["11 running 1200-1300 c1", "11 sleeping 1300-2000 c1 (end)", "RunElsewhere 1", "EndUnknown 1"],
        ),
        (
            "a sign of it comes from a CPU that runs another",
            vec![switch(1100, 0, 0, "R", 12), waking(1200, 0, 11, 13, 0), switch(1300, 0, 11, "S", 0)],
            &["11 running 1200-1300 c0 (begin)", "11 sleeping 1300-2000 c0 (end)", "OtherThreadRan 1", "EndUnknown 1"],
        ),
    ];
    check(&Form::BOTH, None, cases);
}

#[test]
fn lost_wakeups_and_ends_are_counted() {
    let cases: Vec<Case<'_>> = vec![
        (
            "its wake-up is lost",
            vec![switch(1100, 0, 0, "R", 11), switch(1200, 0, 11, "S", 0), switch(1300, 0, 0, "R", 11)],
            &[
                "11 running 1100-1200 c0",
                "11 sleeping 1200-1300 c0 (wake-up)",
                "11 running 1300-2000 c0 (end)",
                "RunWithoutWakeup 1",
            ],
        ),
        (
            "its run between two wake-ups is lost",
            vec![
                switch(1100, 0, 0, "R", 11),
                switch(1200, 0, 11, "S", 0),
                waking(1300, 0, 0, 11, 0),
                wakeup(1301, 0, 0, 11, 0),
                waking(1400, 0, 0, 11, 0),
                wakeup(1401, 0, 0, 11, 0),
                switch(1410, 0, 0, "R", 11),
            ],
            &[
                "11 running 1100-1200 c0",
                "11 sleeping 1200-1300 c0",
                "11 runnable 1400-1410 c0 w0 (begin)",
                "11 running 1410-2000 c0 (end)",
                "11 waited 1400-1410 c0 w0 (begin)",
                "WokenTwice 1",
                "EndUnknown 1",
            ],
        ),
        (
            "its end is lost and another has its number",
            vec![
                switch(1100, 0, 0, "R", 11),
                switch(1200, 0, 11, "S", 0),
                new(1300, 0, 0, 11, 0),
                switch(1310, 0, 0, "R", 11),
            ],
            &[
                "11 running 1100-1200 c0",
                "11 runnable 1300-1310 c0 w0",
                "11 running 1310-2000 c0 (end)",
                "11 waited 1300-1310 c0 w0",
                "StartUnseen 1",
                "EndUnknown 1",
            ],
        ),
        (
            "the start of another with its number is lost",
            vec![switch(1100, 0, 0, "R", 11), switch(1200, 0, 11, "Z", 0), switch(1300, 0, 0, "R", 11)],
            &["11 running 1100-1200 c0", "11 dead 1200-1200 c0", "11 running 1300-2000 c0 (end)", "RunAfterEnd 1"],
        ),
    ];
    check(&Form::BOTH, None, cases);
}

#[test]
fn what_only_tracepoints_tell() {
    let cases: Vec<Case<'_>> = vec![
        (
            "who woke it is lost with sched_waking",
            vec![
                switch(1100, 0, 0, "R", 11),
                switch(1200, 0, 11, "S", 0),
                wakeup(1301, 0, 0, 11, 0),
                switch(1310, 0, 0, "R", 11),
            ],
            &[
                "11 running 1100-1200 c0",
                "11 sleeping 1200-1301 c0 (wake-up)",
                "11 runnable 1301-1310 c0 w0",
                "11 running 1310-2000 c0 (end)",
                "11 waited 1301-1310 c0 w0",
                "WakeupWithoutWaking 1",
            ],
        ),
        (
            "it is woken while it runs",
            vec![switch(1100, 0, 0, "R", 11), waking(1150, 1, 21, 11, 0), wakeup(1151, 1, 21, 11, 0)],
            &["11 running 1100-2000 c0 (end)", "WakeupOfRunning 1"],
        ),
        (
            "it was about to end when the switch away from it was lost",
            vec![
                switch(1100, 0, 0, "R", 11),
                event(1150, 0, 11, What::Exit),
                switch(1200, 0, 0, "R", 12),
                new(1300, 0, 12, 11, 0),
            ],
            &["11 running 1100-1150 c0 (end)", "11 runnable 1300-2000 c0 w12 (end)", "OtherThreadRan 1"],
        ),
    ];
    check(&[Form::Tracepoints], None, cases);
}

#[test]
fn where_nothing_is_lost_what_was_so_at_the_start_is_known() {
    let cases: Vec<Case<'_>> = vec![
        (
            "it ran",
            vec![switch(1100, 0, 11, "S", 0)],
            &["11 running 1000-1100 c0 (begin)", "11 sleeping 1100-2000 c0 (end)"],
        ),
        (
            "it waited",
            vec![switch(1100, 0, 0, "R", 11)],
            &["11 runnable 1000-1100 c0 w0 (begin)", "11 running 1100-2000 c0 (end)"],
        ),
        (
            "it was blocked, and nothing says in which state",
            vec![waking(1100, 0, 0, 11, 0), wakeup(1101, 0, 0, 11, 0), switch(1110, 0, 0, "R", 11)],
            &[
                "11 runnable 1100-1110 c0 w0 (begin)",
                "11 running 1110-2000 c0 (end)",
                "11 waited 1100-1110 c0 w0 (begin)",
                "BeginUnknown 1",
            ],
        ),
        (
            "it ran on another CPU when it was woken for nothing",
            vec![waking(1100, 0, 0, 11, 1), wakeup(1101, 0, 0, 11, 1), switch(1200, 1, 11, "D", 0)],
            &[
                "11 running 1000-1200 c1 (begin)",
                "11 uninterruptible 1200-2000 c1 (end)",
                "WakeupOfRunning 1",
                "BeginUnknown 1",
            ],
        ),
        (
            "it may have run on another CPU all the time",
            vec![waking(1100, 0, 0, 11, 1), wakeup(1101, 0, 0, 11, 1)],
            &["BeginUnknown 2"],
        ),
        (
            "after the first sign of a loss nothing is told of the start",
            vec![switch(1100, 0, 0, "R", 12), switch(1200, 0, 0, "R", 13), switch(1300, 1, 11, "S", 0)],
            &["11 sleeping 1300-2000 c1 (end)", "OtherThreadRan 1", "BeginUnknown 2", "EndUnknown 1"],
        ),
    ];
    check(&Form::BOTH, Some(START), cases);
}

#[test]
fn without_wakeups_a_state_lasts_until_the_next_run() {
    for form in Form::BOTH {
        let streams: Vec<StreamSchema> =
            form.streams().into_iter().filter(|schema| schema.name.contains("switch")).collect();
        let events = [switch(1100, 0, 11, "S", 0), switch(1300, 0, 0, "R", 11), switch(1400, 0, 11, "R", 0)];
        // The streams of the test have other places than those of the rule.
        let mut host = Host::default();
        let options = ThreadStatesOptions { start_ns: Some(START), ..ThreadStatesOptions::default() };
        let mut rule = ThreadStates::new(&streams, &options, &mut host).unwrap();
        let switches = form.batches(&events, &mut host).into_iter().find(|batch| batch.rows() > 0).unwrap();
        rule.push(0, std::sync::Arc::new(switches), &mut host);
        rule.finish(END, &mut host);
        let found: Vec<(String, u64, u64, String)> =
            told(&rule, &host).states.into_iter().map(|it| (it.state, it.start, it.end, it.unknown)).collect();
        let line = |state: &str, start, end, unknown: &str| (state.to_owned(), start, end, unknown.to_owned());
        assert_eq!(
            found,
            [
                line("running", 1000, 1100, "begin"),
                line("sleeping", 1100, 1300, "wake-up"),
                line("running", 1300, 1400, ""),
                line("preempted", 1400, 2000, "end"),
            ]
        );
        assert!(!rule.counts().prove_loss());
    }
}

#[test]
fn rows_over_a_loss_are_marked() {
    let mut host = Host::default();
    let form = Form::States;
    let options = ThreadStatesOptions { start_ns: Some(START), ..ThreadStatesOptions::default() };
    let mut rule = ThreadStates::new(&form.streams(), &options, &mut host).unwrap();
    rule.add_loss(1150, 1160);
    let events = [switch(1100, 0, 11, "S", 0), switch(1200, 0, 0, "R", 12), switch(1300, 0, 12, "S", 0)];
    form.feed(&mut rule, &events, 1, &mut host);
    rule.finish(END, &mut host);
    let told = told(&rule, &host);
    let found: Vec<(u32, u64, &str)> = told.states.iter().map(|it| (it.tid, it.start, it.unknown.as_str())).collect();
    // Thread 12 is not said to have waited since the start.
    assert_eq!(found, [(11, 1000, "begin"), (11, 1100, "end, lost events"), (12, 1200, ""), (12, 1300, "end"),]);
    let idle: Vec<&str> = told.occupation.iter().map(|it| it.unknown.as_str()).collect();
    assert_eq!(idle, ["begin", "lost events", "", "end"]);
}

#[test]
fn of_some_processes_nothing_is_said_of_others() {
    // Switches were recorded from and to threads of process 10 only, and wake-ups of them.
    let events = [
        switch(1100, 0, 31, "R+", 11),
        switch(1200, 0, 11, "S", 21),
        waking(1300, 0, 31, 11, 0),
        switch(1310, 0, 21, "R+", 11),
        switch(1400, 0, 11, "S", 31),
        waking(1500, 0, 21, 11, 0),
        switch(1510, 0, 0, "R", 11),
    ];
    let form = Form::States;
    let expected = [
        "11 runnable 1000-1100 c0 w0 (begin)",
        "11 running 1100-1200 c0",
        "11 sleeping 1200-1300 c0",
        "11 runnable 1300-1310 c0 w31",
        "11 running 1310-1400 c0",
        "11 sleeping 1400-1500 c0",
        "11 runnable 1500-1510 c0 w21",
        "11 running 1510-2000 c0 (end)",
        "cpu 0: 11 1100-1200 S",
        "cpu 0: 11 1310-1400 S",
        "cpu 0: 11 1510-2000  (end)",
        "11 waited 1300-1310 c0 w31",
        "11 waited 1500-1510 c0 w21",
    ];
    let of = |recorded| ThreadStatesOptions { start_ns: Some(START), recorded, by_name: false };
    let of_process = of(RecordedThreads::OfProcesses([10].into()));
    assert_eq!(lines_of(form, &form.streams(), &of_process, &events), expected);
    let of_thread = of(RecordedThreads::These([11].into()));
    assert_eq!(lines_of(form, &form.streams(), &of_thread, &events), expected);
    // Rows tell it by themselves, however many of them come at a time.
    for part in [1, 3, 100] {
        assert_eq!(lines_of_fed(telling(&events, &[11], part), &of(RecordedThreads::All)), expected, "{part}");
    }
}

/// The streams of the kind *states* of a target, and the rows of events in parts: each switch tells which threads are the target's.
fn telling(events: &[Event], own: &[u32], part: usize) -> Fed {
    let form = Form::States;
    let mut streams = form.streams();
    streams[1].columns.push(column("of_target", ColumnType::Text));
    let mut host = Host::default();
    let mut fed = Vec::new();
    for part in events.chunks(part) {
        let mut batches = form.batches(part, &mut host);
        let sides = part.iter().filter_map(|event| match &event.what {
            What::Switch(_, next, _) => Some((own.contains(&event.current.tid), own.contains(&next.tid))),
            _ => None,
        });
        let words = sides.map(|(from, to)| bathyscope_capture::SwitchSides { from, to }.word().unwrap_or(""));
        batches[1].columns.push(ColumnData::Id(words.map(|word| host.id(word)).collect()));
        fed.push((part.last().map_or(0, |event| event.time), batches));
    }
    (streams, fed, host)
}

#[test]
fn a_thread_that_is_the_targets_no_more_has_no_state_without_an_end() {
    let events = [
        switch(1100, 0, 0, "R", 11),
        switch(1200, 0, 11, "S", 21),
        waking(1300, 0, 21, 11, 0),
        switch(1310, 0, 21, "S", 11),
        // It goes to another control group while it runs, and is switched to thread 12 of the target.
        switch(1400, 0, 11, "S", 12),
        switch(1500, 0, 12, "S", 0),
    ];
    let (streams, mut fed, mut host) = telling(&events, &[11, 12], 100);
    let to = host.id("to");
    let ColumnData::Id(words) = fed[0].1[1].columns.last_mut().unwrap() else { unreachable!("words") };
    words[3] = to;
    let lines = lines_of_fed((streams, fed, host), &ThreadStatesOptions::default());
    assert!(lines.contains(&"11 running 1100-1200 c0".to_owned()), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.starts_with("11 ") && line.contains("-1400")), "{lines:#?}");
    assert!(lines.contains(&"EndUnknown 1".to_owned()), "{lines:#?}");
    assert!(lines.contains(&"12 running 1400-1500 c0".to_owned()), "{lines:#?}");
}

#[test]
fn a_thread_of_another_name_has_no_state_until_it_is_seen_again() {
    let events = [
        switch(1100, 0, 0, "R", 11),
        switch(1200, 0, 11, "S", 0),
        waking(1700, 0, 0, 11, 0),
        switch(1710, 0, 0, "R", 11),
    ];
    let run = |by_name| {
        let (streams, fed, mut host) = telling(&events, &[11], 100);
        let options = ThreadStatesOptions { by_name, ..ThreadStatesOptions::default() };
        let mut rule = ThreadStates::new(&streams, &options, &mut host).unwrap();
        let kind = ProcessChangeKind::Comm { comm: host.id("other"), exec: false };
        rule.learn(&ProcessChange { time_ns: 1300, pid: 10, tid: 11, kind });
        for (stream, batch) in (0..).zip(fed[0].1.clone()) {
            rule.push(stream, std::sync::Arc::new(batch), &mut host);
        }
        rule.finish(END, &mut host);
        lines_told(&rule, &host)
    };
    assert!(run(false).contains(&"11 sleeping 1200-1700 c0".to_owned()), "{:#?}", run(false));
    let renamed = run(true);
    assert!(!renamed.iter().any(|line| line.contains("sleeping")), "{renamed:#?}");
    assert!(renamed.contains(&"EndUnknown 1".to_owned()), "{renamed:#?}");
    assert!(renamed.contains(&"11 running 1710-2000 c0 (end)".to_owned()), "{renamed:#?}");
}

#[test]
fn an_uninterruptible_state_tells_the_function_that_blocks() {
    let events = [
        switch(1100, 0, 0, "R", 11),
        switch(1200, 0, 11, "D", 0),
        waking(1300, 0, 0, 11, 0),
        switch(1310, 0, 0, "R", 11),
        switch(1400, 0, 11, "S", 0),
    ];
    let form = Form::States;
    let mut streams = form.streams();
    streams[1].columns.insert(9, column("blocked_function", ColumnType::Text));
    let mut host = Host::default();
    let mut rule = ThreadStates::new(&streams, &ThreadStatesOptions::default(), &mut host).unwrap();
    let mut batches = form.batches(&events, &mut host);
    let function = host.id("folio_wait_bit_common");
    batches[1].columns.insert(9, ColumnData::Id(vec![0, function, 0, 0]));
    for (stream, batch) in (0..).zip(batches) {
        rule.push(stream, std::sync::Arc::new(batch), &mut host);
    }
    rule.finish(END, &mut host);
    let rows = host.table(&rule.streams()[0], 0);
    let told: Vec<_> = rows.iter().map(|row| (row["state"].as_str(), row["blocked_function"].as_str())).collect();
    let blocked = ("uninterruptible", "folio_wait_bit_common");
    assert_eq!(told, [("running", ""), blocked, ("runnable", ""), ("running", ""), ("sleeping", "")]);
    assert!(form.streams()[1].column("blocked_function").is_none(), "rows of before have none");
}

#[test]
fn blocked_states_have_the_stack_if_it_was_recorded() {
    let mut host = Host::default();
    let form = Form::States;
    let mut rule = ThreadStates::new(&form.streams(), &ThreadStatesOptions::default(), &mut host).unwrap();
    let events = [
        switch(1100, 0, 0, "R", 11),
        event(1200, 0, 11, What::Switch("D", who(0), 7)),
        waking(1300, 0, 0, 11, 0),
        switch(1310, 0, 0, "R", 11),
    ];
    form.feed(&mut rule, &events, 9, &mut host);
    rule.finish(END, &mut host);
    let rows = host.table(&rule.streams()[0], 0);
    let stacks: Vec<(&str, &str)> = rows.iter().map(|row| (row["state"].as_str(), row["stack"].as_str())).collect();
    assert_eq!(stacks, [("running", "0"), ("uninterruptible", "7"), ("runnable", "0"), ("running", "0")]);
    // Time off the CPU is a sample of that stack.
    let samples = host.table(&rule.streams()[3], 3);
    let told = |name: &str| samples.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(
        (told("stack"), told("duration_ns"), told("tid")),
        (vec!["7".into()], vec!["100".into()], vec!["11".into()])
    );
}

#[test]
fn streams_say_what_their_rows_are_and_what_they_are_made_from() {
    for form in Form::BOTH {
        let rule = ThreadStates::new(&form.streams(), &ThreadStatesOptions::default(), &mut Host::default()).unwrap();
        let names: Vec<&str> = rule.streams().iter().map(|stream| stream.name.as_str()).collect();
        let off_cpu = (form == Form::States).then_some("off-CPU");
        let expected = ["thread states", "cpu occupation", "run-queue latency"];
        assert_eq!(names, expected.into_iter().chain(off_cpu).collect::<Vec<_>>());
        for stream in rule.streams() {
            let meaning = stream.meaning();
            assert_eq!(Some(&meaning), stream.rows.as_deref(), "its columns are as it says");
            let is_state = stream.name.ends_with("states") || stream.name.ends_with("occupation");
            assert_eq!(matches!(meaning.kind, RowKind::State { .. }), is_state);
            assert_eq!(matches!(meaning.kind, RowKind::Sample { .. }), stream.name == "off-CPU");
            let derived = stream.derived.as_deref().unwrap();
            assert_eq!((derived.rule.as_str(), derived.version), ("thread states", THREAD_STATES_RULE_VERSION));
            assert_eq!(derived.from.len(), if form == Form::States { 2 } else { 5 });
        }
        let has_stack = rule.streams()[0].column("stack").is_some();
        assert_eq!(has_stack, form == Form::States);
        let recorded = form.streams();
        for input in rule.inputs() {
            assert!(input.columns.is_sorted() && input.columns.len() >= 5);
            assert!(*input.columns.last().unwrap() < recorded[usize::from(input.stream)].columns.len());
        }
    }
}

#[test]
fn of_several_sources_those_of_the_switches_count() {
    let of = |source: &str| {
        let source = source.to_owned();
        Form::Tracepoints.streams().into_iter().map(move |schema| StreamSchema { source: source.clone(), ..schema })
    };
    let inputs = |streams: &[StreamSchema]| {
        let rule = ThreadStates::new(streams, &ThreadStatesOptions::default(), &mut Host::default()).unwrap();
        rule.inputs().iter().map(|input| input.stream).collect::<Vec<_>>()
    };
    let wakeups_first: Vec<StreamSchema> = of("a").skip(1).chain(of("b")).collect();
    assert_eq!(inputs(&wakeups_first), [8, 6, 5, 7, 4]);
    let apart: Vec<StreamSchema> = of("a").skip(1).chain(of("b").take(1)).collect();
    assert_eq!(inputs(&apart), [3, 1, 0, 2, 4]);
}

#[test]
fn what_is_missing_is_told() {
    let number = [("prev_state", ColumnType::I64)];
    let rule = |streams: &[StreamSchema]| {
        ThreadStates::new(streams, &ThreadStatesOptions::default(), &mut Host::default()).map(|_| ())
    };
    assert!(matches!(rule(&[schema("a:b", &[])]), Err(DerivationError::NoStream { .. })));
    let error = rule(&[schema("sched:sched_switch", &number)]).unwrap_err();
    let words = "thread states needs the column next_pid of sched:sched_switch as a number, which was not recorded so";
    assert!(error.to_string().starts_with(words), "{error}");
    let error = rule(&[schema("switches", &[("next_tid", ColumnType::U64)])]).unwrap_err();
    assert!(error.to_string().contains("the column state of switches as text"), "{error}");
    let both = [("prev_state", ColumnType::I64), ("next_pid", ColumnType::I64)];
    assert!(rule(&[schema("switches", &[]), schema("sched:sched_switch", &both)]).is_ok());
}

#[test]
fn rows_that_cannot_be_are_counted() {
    for form in Form::BOTH {
        let mut host = Host::default();
        let mut rule = ThreadStates::new(&form.streams(), &ThreadStatesOptions::default(), &mut host).unwrap();
        let events = [
            switch(1100, MAX_CPUS as u32, 0, "R", 11),
            switch(1200, 0, 0, "R", 11),
            switch(1150, 0, 11, "S", 0),
            switch(1300, 0, 11, "S", 0),
        ];
        form.feed(&mut rule, &events[..2], 9, &mut host);
        rule.advance(1201, &mut host);
        form.feed(&mut rule, &events[2..3], 9, &mut host);
        form.feed(&mut rule, &events[3..], 9, &mut host);
        rule.finish(END, &mut host);
        let counts = rule.counts();
        let found = [DerivationCount::UnusableRows, DerivationCount::LateRows].map(|what| counts.get(what));
        assert_eq!(found, [1, 1]);
    }
}
