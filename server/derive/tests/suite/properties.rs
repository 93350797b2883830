//! Thread states of schedules of which the truth is known.

use std::collections::{BTreeMap, BTreeSet};

use bathyscope_derive::{DerivationCount, DerivationCounts, MAX_HELD_ROWS, Rule, ThreadStates, ThreadStatesOptions};
use proptest::prelude::*;

use crate::{
    fixture::{Event, Form, Host, OnCpu, State, Told, told},
    schedule::{Noise, Schedule},
};

/// What the rule makes of events.
fn derived(
    form: Form,
    schedule: &Schedule,
    events: &[Event],
    (losses, part): (&[u64], usize),
) -> (Told, DerivationCounts) {
    let mut host = Host::default();
    let options = ThreadStatesOptions { start_ns: Some(schedule.start), ..ThreadStatesOptions::default() };
    let mut rule = ThreadStates::new(&form.streams(), &options, &mut host).unwrap();
    schedule.changes.iter().for_each(|change| rule.learn(change));
    losses.iter().for_each(|time| rule.add_loss(*time, *time));
    form.feed(&mut rule, events, part, &mut host);
    rule.finish(schedule.now, &mut host);
    (told(&rule, &host), rule.counts())
}

/// Sums of run, wait and sleep by thread.
fn sums(states: &[State]) -> BTreeMap<u32, [u64; 3]> {
    let mut sums: BTreeMap<u32, [u64; 3]> = BTreeMap::new();
    for State { tid, start, end, state, .. } in states {
        let kind = match state.as_str() {
            "running" => 0,
            "runnable" | "preempted" => 1,
            _ => 2,
        };
        sums.entry(*tid).or_default()[kind] += end - start;
    }
    sums
}

fn assert_apart(mut spans: Vec<(u32, u64, u64)>) {
    spans.sort_unstable();
    for pair in spans.windows(2) {
        let ((of, _, end), (other, start, _)) = (pair[0], pair[1]);
        assert!(of != other || end <= start, "{pair:?} are of the same at the same time");
    }
}

fn assert_no_overlap(found: &Told) {
    assert_apart(found.states.iter().map(|it| (it.tid, it.start, it.end)).collect());
    assert_apart(found.occupation.iter().map(|it| (it.cpu, it.start, it.end)).collect());
}

/// Whether what is said is part of something that was so.
fn assert_true(found: &Told, truth: &Told) {
    let is_certain = |unknown: &str| !unknown.contains("lost events") && !unknown.contains("wake-up");
    for state in found.states.iter().filter(|state| is_certain(&state.unknown)) {
        // Who is said to have been waiting before may have been preempted and not woken.
        let waits_longer = state.state == "runnable" && state.unknown.contains("begin");
        let is_so = |real: &State| {
            let same = real.state == state.state || (waits_longer && real.state == "preempted");
            real.tid == state.tid && same && real.start <= state.start && state.end <= real.end
        };
        assert!(truth.states.iter().any(is_so), "{state:?} was not so");
    }
    for run in found.occupation.iter().filter(|run| is_certain(&run.unknown)) {
        let is_so =
            |real: &OnCpu| (real.cpu, real.tid) == (run.cpu, run.tid) && real.start <= run.start && run.end <= real.end;
        assert!(truth.occupation.iter().any(is_so), "{run:?} was not so");
    }
    for latency in found.latencies.iter().filter(|latency| latency.unknown.is_empty()) {
        let is_so = |real: &OnCpu| {
            (real.tid, real.cpu, real.end) == (latency.tid, latency.cpu, latency.end) && real.start <= latency.start
        };
        assert!(truth.latencies.iter().any(is_so), "{latency:?} was not so");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn states_of_a_schedule_are_exactly_what_was_so(
        seed in any::<u64>(), cpus in 1..6_u32, threads in 1..12_u32, events in 1..400_usize, part in 1..100_usize,
    ) {
        let schedule = Schedule::new(seed, cpus, threads, events);
        for form in Form::BOTH {
            let (found, counts) = derived(form, &schedule, &schedule.events, (&[], part));
            prop_assert_eq!(&found, &schedule.truth, "{:?}", form);
            prop_assert_eq!(sums(&found.states), sums(&schedule.truth.states));
            prop_assert!(!counts.prove_loss(), "{:?}", counts);
            prop_assert_eq!(counts.get(DerivationCount::EndUnknown), 0);
            assert_no_overlap(&found);
        }
    }

    #[test]
    fn rows_that_are_missing_are_told_and_nothing_is_made_up(
        seed in any::<u64>(), cpus in 1..6_u32, threads in 2..12_u32, events in 50..400_usize, share in 1..60_u64,
    ) {
        let schedule = Schedule::new(seed, cpus, threads, events);
        let mut noise = Noise(seed ^ share);
        let (lost, left): (Vec<Event>, Vec<Event>) =
            schedule.events.iter().cloned().partition(|_| noise.below(100) < share);
        let times: Vec<u64> = lost.iter().map(|event| event.time).collect();
        for form in Form::BOTH {
            // That something was lost is known or not.
            for losses in [&[][..], &times] {
                let (found, counts) = derived(form, &schedule, &left, (losses, 64));
                assert_no_overlap(&found);
                let ends = found.states.iter().map(|state| (state.start, state.end));
                let all = ends.chain(found.occupation.iter().map(|run| (run.start, run.end)));
                prop_assert!(all.into_iter().all(|(start, end)| start <= end && end <= schedule.now));
                if lost.len() > 40 {
                    prop_assert!(counts.prove_loss(), "{:?}", counts);
                }
                if losses.len() == lost.len() {
                    assert_true(&found, &schedule.truth);
                }
            }
        }
    }

    #[test]
    fn rows_of_any_kind_do_no_harm(
        seed in any::<u64>(), rows in 1..300_usize, small in any::<bool>(),
    ) {
        let mut noise = Noise(seed);
        let end = if small { 4 } else { u64::from(u32::MAX) };
        let mut time = 0;
        let mut events = Schedule::new(seed, 3, 4, rows).events;
        for event in &mut events {
            // Any thread may seem to run anywhere, at times that go back now and then.
            event.current = crate::fixture::who(noise.below(end) as u32);
            event.cpu = noise.below(if small { 3 } else { 1 << 20 }) as u32;
            time = if noise.below(10) == 0 { noise.below(time + 1) } else { time + noise.below(3) };
            event.time = time;
        }
        for form in Form::BOTH {
            let mut host = Host::default();
            let options = ThreadStatesOptions { start_ns: Some(0), ..ThreadStatesOptions::default() };
            let mut rule = ThreadStates::new(&form.streams(), &options, &mut host).unwrap();
            form.feed(&mut rule, &events, 16, &mut host);
            rule.finish(noise.below(time + 1), &mut host);
            let kinds: BTreeSet<usize> = host.batches.iter().map(|(output, _)| *output).collect();
            prop_assert!(kinds.iter().all(|output| *output < 3));
        }
    }
}

#[test]
fn what_is_held_is_bounded() {
    let schedule = Schedule::new(7, 4, 20, 2000);
    let mut host = Host::default();
    let form = Form::States;
    let options = ThreadStatesOptions { start_ns: Some(schedule.start), ..ThreadStatesOptions::default() };
    let mut rule = ThreadStates::new(&form.streams(), &options, &mut host).unwrap();
    let batches: Vec<_> = form.batches(&schedule.events, &mut host).into_iter().map(std::sync::Arc::new).collect();
    let mut held = 0;
    // Nobody says until when rows are complete, and the same rows come again and again.
    while held < 2 * MAX_HELD_ROWS {
        for (stream, batch) in (0..).zip(&batches) {
            held += batch.rows();
            rule.push(stream, batch.clone(), &mut host);
        }
    }
    assert!(rule.counts().get(DerivationCount::LateRows) > 0, "rows were looked at before the end");
}
