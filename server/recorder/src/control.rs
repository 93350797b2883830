//! The controller of a capture: takes readings, watches limits and the agent, ends the capture, closes the ledger.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bathyscope_capture::{CaptureSpec, Ledger, ScriptProbe, Target};
use bathyscope_protocol::{
    CaptureHandle, GuardStage, ProcessUse, Readings, SourceReadings, TargetState, counters::CounterView,
};
use bathyscope_store::{CaptureState, End, StoreError};

use super::{
    Inner, LinkError,
    clock::monotonic_ns,
    engine::profile::NO_DATA_SOURCE,
    guard_words::{end_words, guard_words},
    ledger::LossKnowledge,
    link::words,
    live::{LiveMessage, ProbeTick, StreamTick, Tick},
    naming::Namer,
    process_metadata::lock,
    progress::{Cause, size},
    running::{Phase, Running},
    threads::Threads,
};

/// How often the agent is asked for readings.
const READ_EVERY: Duration = Duration::from_millis(250);
/// How many readings make a tick for viewers.
const READINGS_A_TICK: u32 = 2;
/// How long ended captures can still be viewed live, for viewers that connect as it ends.
const LINGER: Duration = Duration::from_secs(10);
/// How long viewers wait for names before they are told of the end.
const NAMES_BEFORE_THE_END: Duration = Duration::from_secs(10);
/// How old the kernel's symbols may be when functions are named: modules come and go.
const FRESH_SYMBOLS: Duration = Duration::from_secs(10);
/// How long detaching may take before the end is told without it.
const DETACHING: Duration = Duration::from_secs(30);
/// How often it is looked at how far detaching is.
const DETACHING_LOOK: Duration = Duration::from_millis(10);
/// How often a locked database is tried to note the end.
const FINISH_ATTEMPTS: u32 = 50;

/// What watches over a capture.
pub(super) struct Controller {
    pub(super) inner: Arc<Inner>,
    pub(super) running: Arc<Running>,
    pub(super) spec: CaptureSpec,
    pub(super) handle: CaptureHandle,
    pub(super) connection: u64,
    /// Readings that outlive the agent, if it could keep them.
    pub(super) counters: Option<CounterView>,
    pub(super) start_ns: u64,
    pub(super) enabled: Instant,
    pub(super) threads: Threads,
}

/// How a capture ended.
enum Ending {
    Cause(Cause),
    AgentLost(String),
}

/// What was so at the last tick.
struct LastTick {
    at: Instant,
    rows: Vec<u64>,
    console: ProcessUse,
    agent: ProcessUse,
    /// How far the guard has gone with each source.
    guards: Vec<GuardStage>,
    peak_permille: f64,
}

impl Controller {
    pub(super) async fn run(self) {
        let message = self.state_message();
        self.running.hub.send(message);
        let mut last = LastTick {
            at: self.enabled,
            rows: self.running.progress.rows_by_stream(),
            console: ProcessUse::own(),
            agent: ProcessUse::default(),
            guards: vec![GuardStage::Watching; self.spec.sources.len()],
            peak_permille: 0.0,
        };
        let ending = self.watch(&mut last).await;
        self.finish(ending, last).await;
    }

    fn state_message(&self) -> LiveMessage {
        let command = self.spec.target.command().map(|_command| "the command runs".to_owned());
        let message: Vec<String> = command.into_iter().chain(self.running.progress.missing()).collect();
        LiveMessage::State { state: CaptureState::Recording, message: message.join("; ") }
    }

    /// Until something ends the capture.
    async fn watch(&self, last: &mut LastTick) -> Ending {
        let progress = &self.running.progress;
        let limit = self.spec.limits.duration_ms.map(Duration::from_millis);
        let deadline = limit.map(|limit| tokio::time::Instant::from_std(self.enabled) + limit);
        let mut status = self.inner.link.watch();
        let mut readings = tokio::time::interval(READ_EVERY);
        readings.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut count = 0_u32;
        let mut seen = Instant::now();
        loop {
            tokio::select! {
                cause = progress.ended() => return Ending::Cause(cause),
                () = sleep_until(deadline) => {
                    progress.stop(format!("{} have passed", duration(limit.unwrap_or_default())));
                }
                changed = status.changed() => {
                    let now = status.borrow_and_update().clone();
                    if changed.is_err() || now.connection != self.connection || !now.message.is_empty() {
                        return Ending::AgentLost(now.message);
                    }
                }
                _ = readings.tick() => {
                    count += 1;
                    self.check_viewers(&mut seen);
                    match self.read().await {
                        Ok(readings) => {
                            self.check_target(readings.target);
                            self.note_guards(&readings.sources, last);
                        }
                        Err(LinkError::Absent { message }) => return Ending::AgentLost(message),
                        Err(error) => tracing::warn!(capture = %self.running.id, error = words(&error), "no readings"),
                    }
                    if count.is_multiple_of(READINGS_A_TICK) {
                        self.tick(last);
                    }
                }
            }
        }
    }

    async fn read(&self) -> Result<Readings, LinkError> {
        let handle = self.handle;
        let readings = self.inner.link.call(move |client| client.readings(handle)).await?;
        self.enter(&readings);
        Ok(readings)
    }

    fn enter(&self, readings: &Readings) {
        lock(&self.running.accounting).read(readings);
        *lock(&self.running.target) = readings.target;
        if readings.command.is_some() {
            *lock(&self.running.command_time) = readings.command;
        }
    }

    /// Ends a capture without an end of its own that nobody has looked at for long (P25).
    fn check_viewers(&self, seen: &mut Instant) {
        if self.running.hub.has_viewers() {
            *seen = Instant::now();
        }
        let limits = &self.spec.limits;
        // A flight recorder is there for when nobody looks.
        let endless = limits.duration_ms.is_none() && limits.flight.is_none() && self.spec.target.command().is_none();
        if let Some(idle) = self.inner.options.idle_stop.filter(|idle| endless && seen.elapsed() >= *idle) {
            self.running.progress.stop(format!("nobody has looked at it for {}", duration(idle)));
        }
    }

    fn check_target(&self, target: TargetState) {
        if let Some(reason) = ended_target(target, &self.spec.target) {
            self.running.progress.stop(reason);
        }
    }

    fn tick(&self, last: &mut LastTick) {
        let (now, rows, console) = (Instant::now(), self.running.progress.rows_by_stream(), ProcessUse::own());
        let seconds = now.duration_since(last.at).as_secs_f64().max(1e-3);
        let accounting = lock(&self.running.accounting);
        let agent = accounting.agent();
        let (ledger, readings) = (accounting.ledger(&[]), accounting.readings().to_vec());
        let cpu_permille = accounting.cpu_permille().unwrap_or(0.0);
        drop(accounting);
        let per_s = |index: usize| {
            let (now, before) = (rows.get(index).copied().unwrap_or(0), last.rows.get(index).copied().unwrap_or(0));
            now.saturating_sub(before) as f64 / seconds
        };
        let stream = |(index, name): (usize, &String)| {
            let reading = readings.get(index).copied().flatten().unwrap_or_default();
            let totals = ledger.streams.get(index).copied().unwrap_or_default();
            StreamTick {
                name: name.clone(),
                hits_per_s: reading.hits_per_s,
                rows_per_s: per_s(index),
                stored: totals.stored,
                emitted: totals.emitted,
                filtered: totals.filtered,
                lost: u16::try_from(index).map_or(0, |index| ledger.lost(index)),
                ns_per_hit: reading.ns_per_hit,
                cpu_permille: reading.cpu_permille,
            }
        };
        let probes = lock(&self.running.accounting).programs().map(probe_tick).collect();
        let maps = self.running.script.as_ref().map(|script| lock(&script.state).maps.clone()).unwrap_or_default();
        let streams: Vec<StreamTick> = self.threads.names.iter().enumerate().map(stream).collect();
        *lock(&self.running.rows_per_s) = streams.iter().map(|stream| stream.rows_per_s).sum();
        self.running.hub.send(LiveMessage::Tick(Tick {
            elapsed: monotonic_ns().saturating_sub(self.start_ns),
            streams,
            probes,
            maps,
            console_cpu_permille: share(console, last.console, seconds),
            agent_cpu_permille: share(agent, last.agent, seconds),
            console_peak_bytes: console.peak_bytes,
            agent_peak_bytes: agent.peak_bytes,
            bytes: self.running.progress.bytes(),
            guard: self.guards_in_words(&last.guards, guard_words),
            flight: self.running.flight.as_ref().map(|flight| Box::new(flight.status())),
        }));
        last.peak_permille = last.peak_permille.max(cpu_permille);
        (last.at, last.rows, last.console, last.agent) = (now, rows, console, agent);
    }

    /// Tells what the guard has done about each source. The capture ends when it has detached the last one (P24).
    fn note_guards(&self, sources: &[SourceReadings], last: &mut LastTick) {
        // What was not made, or not enabled, has no probes that count.
        let all_detached = sources.iter().filter(|source| !source.probes.is_empty()).all(|it| it.guard.is_detached());
        for (number, source) in sources.iter().enumerate() {
            let Some(before) = last.guards.get_mut(number).filter(|before| **before != source.guard) else { continue };
            *before = source.guard.clone();
            lock(&self.running.guards).clone_from(&last.guards);
            self.note_guard(number, &source.guard, all_detached);
        }
    }

    fn note_guard(&self, number: usize, guard: &GuardStage, all_detached: bool) {
        let words = self.of_source(number, guard_words(guard));
        if guard.is_detached() && all_detached {
            // The first reason counts.
            let _told_before = self.running.detached.set(words.clone());
            self.running.progress.stop(words.clone());
        } else if guard.is_detached() {
            self.running.progress.source_ended(words.clone());
        }
        let is_script = self.spec.sources.get(number).is_some_and(|source| source.method.script().is_some());
        if let (GuardStage::Thinned { rows_per_s: None, .. }, true, Some(script)) =
            (guard, is_script, &self.running.script)
        {
            lock(&script.state).spared = true;
        }
        if !words.is_empty() {
            tracing::warn!(capture = %self.running.id, words, "a capture costs more than its budget");
            self.running.hub.send(LiveMessage::State { state: CaptureState::Recording, message: words });
        }
    }

    /// Words about a source, which is named if there are others.
    fn of_source(&self, number: usize, words: String) -> String {
        match self.spec.sources.as_slice() {
            [_, _, ..] if !words.is_empty() => {
                let id = self.spec.sources.get(number).map_or("", |source| source.id.as_str());
                format!("{id}: {words}")
            }
            _ => words,
        }
    }

    /// What the guard has done about all sources, in `words`.
    fn guards_in_words(&self, guards: &[GuardStage], words: impl Fn(&GuardStage) -> String) -> String {
        let each = guards.iter().enumerate().map(|(number, guard)| self.of_source(number, words(guard)));
        each.filter(|words| !words.is_empty()).collect::<Vec<_>>().join("; ")
    }

    async fn finish(mut self, ending: Ending, mut last: LastTick) {
        self.running.set_phase(Phase::Stopping);
        self.running.progress.ends(monotonic_ns());
        let agent_lives = matches!(ending, Ending::Cause(_));
        let stopped = if agent_lives { self.stop_probes().await } else { None };
        let end_ns = stopped.as_ref().map_or_else(monotonic_ns, recorded_until_ns);
        let known = match &stopped {
            Some(readings) if readings.detaching().attached == 0 => LossKnowledge::All,
            Some(_still_attached) => LossKnowledge::UntilLastReading,
            None => self.read_what_is_left(),
        };
        self.tick(&mut last);
        let joined = self.join().await;
        self.tick(&mut last);
        let (state, reason) = self.outcome(ending, joined, stopped.is_some(), &last);
        // What is not known lasts until it is found out, which is after the last row has been stored.
        let known_ns = if matches!(known, LossKnowledge::All) { end_ns } else { end_ns.max(monotonic_ns()) };
        let (ledger, readings) = {
            let mut accounting = lock(&self.running.accounting);
            (accounting.close(known_ns, known), accounting.readings().to_vec())
        };
        self.log_end(&ledger, state, &reason);
        let script = self.running.script_end();
        let sources = self.running.source_ends(&self.spec);
        self.store_end(End { state, reason: reason.clone(), end_ns, ledger, readings, script, sources }).await;
        if let Some(derivations) = self.inner.derivations.get()
            && self.running.flight.is_none()
            && let Err(error) = derivations.compute_built_in(self.running.id)
        {
            tracing::warn!(capture = %self.running.id, error = words(&error), "streams are not computed");
        }
        if agent_lives {
            let handle = self.handle;
            if let Err(error) = self.inner.link.call(move |client| client.discard(handle)).await {
                tracing::warn!(capture = %self.running.id, error = words(&error), "the agent did not release a capture");
            }
        }
        self.running.set_phase(Phase::Naming);
        let naming = self.name(state).await;
        self.running.set_phase(Phase::Ended);
        self.running.hub.send(LiveMessage::Ended { state, reason });
        if let Some(naming) = naming
            && naming.await.is_err()
        {
            tracing::error!(capture = %self.running.id, "naming functions ended before it was done");
        }
        self.running.set_named();
        tokio::time::sleep(LINGER).await;
        self.inner.remove(self.running.id);
    }

    /// Enters the readings that the agent has left. They are final if it had the time to let the capture go.
    fn read_what_is_left(&self) -> LossKnowledge {
        let Some(last) = self.counters.as_ref().and_then(CounterView::read) else {
            return LossKnowledge::UntilLastReading;
        };
        self.enter(&last.readings);
        if last.is_final { LossKnowledge::All } else { LossKnowledge::UntilLastReading }
    }

    /// Detaches everything and takes the final counters; none if the agent could not.
    async fn stop_probes(&self) -> Option<Readings> {
        let handle = self.handle;
        match self.inner.link.call(move |client| client.stop(handle, true)).await {
            Ok(readings) => {
                self.enter(&readings);
                Some(self.detached(readings).await)
            }
            Err(error) => {
                tracing::error!(capture = %self.running.id, error = words(&error), "the agent did not stop a capture");
                None
            }
        }
    }

    /// Waits until nothing is attached any more: then the `end` probes of a script have run, and counters and maps are
    /// final.
    async fn detached(&self, mut readings: Readings) -> Readings {
        let handle = self.handle;
        let until = tokio::time::Instant::now() + DETACHING;
        while readings.detaching().attached > 0 && tokio::time::Instant::now() < until {
            tokio::time::sleep(DETACHING_LOOK).await;
            match self.inner.link.call(move |client| client.readings(handle)).await {
                Ok(now) => {
                    self.enter(&now);
                    readings = now;
                }
                Err(error) => {
                    tracing::warn!(capture = %self.running.id, error = words(&error), "the agent did not report the end of detaching");
                    break;
                }
            }
        }
        readings
    }

    /// Lets everything that was read reach the store. An error says which part broke.
    async fn join(&mut self) -> Result<(), &'static str> {
        self.threads.ending.send_replace(true);
        self.threads.reader.finish();
        let (decoder, appender) = (self.threads.decoder.take(), self.threads.appender.take());
        let decoded = tokio::task::spawn_blocking(move || decoder.is_none_or(|decoder| decoder.join().is_ok())).await;
        if let Some(output) = self.threads.output.take() {
            let _output_is_not_needed = output.await;
        }
        let appended = match appender {
            Some(appender) => appender.await.is_ok(),
            None => true,
        };
        match (decoded.unwrap_or(false), appended) {
            (false, _) => Err("reading its records"),
            (true, false) => Err("storing it"),
            (true, true) => Ok(()),
        }
    }

    fn outcome(
        &self,
        ending: Ending,
        joined: Result<(), &'static str>,
        stopped: bool,
        last: &LastTick,
    ) -> (CaptureState, String) {
        let progress = &self.running.progress;
        let (state, mut reason) = match (ending, joined) {
            (_, Err(part)) => (CaptureState::Failed, format!("{part} failed unexpectedly")),
            (Ending::AgentLost(message), _) => {
                let why = if message.is_empty() { "the agent was started again".to_owned() } else { message };
                (CaptureState::AgentLost, format!("the agent ended: {why}"))
            }
            (Ending::Cause(Cause::Failed(reason)), _) => (CaptureState::Failed, reason),
            (Ending::Cause(Cause::Done(reason)), _) => match progress.cause() {
                Some(Cause::Failed(failure)) => (CaptureState::Failed, failure),
                _ if !stopped => (CaptureState::Failed, format!("{reason}; its final counters could not be read")),
                _ => (CaptureState::Finished, reason),
            },
        };
        if let Some(flight) = &self.running.flight {
            let status = flight.status();
            reason.push_str(&match status.captures {
                0 => "; nothing fired, so nothing was stored".to_owned(),
                1 => "; it has fired once, and what was stored is a capture of its own".to_owned(),
                captures => format!("; it has fired {captures} times, and what was stored are captures of their own"),
            });
        }
        for words in progress.missing() {
            reason.push_str("; ");
            reason.push_str(&words);
        }
        let guards = self.guards_in_words(&last.guards, |guard| end_words(guard, last.peak_permille));
        if !guards.is_empty() {
            reason.push_str("; ");
            reason.push_str(&guards);
        }
        if progress.output_left_out() > 0 {
            reason.push_str(&format!("; {} of the command's output were not kept", size(progress.output_left_out())));
        }
        if progress.left_out() > 0 {
            reason.push_str(&format!("; {} calls were recorded and are not shown: the filter left them out, or they tell what descriptors are", progress.left_out()));
        }
        if let Some(words) = progress.rings_cut_words() {
            reason.push_str("; ");
            reason.push_str(&words);
        }
        if progress.late_rows() > 0 {
            reason.push_str(&format!("; {} rows came too late to be in order", progress.late_rows()));
        }
        if let Some(words) = progress.without_file_words() {
            reason.push_str("; ");
            reason.push_str(&words);
        }
        if progress.is_memory_untold() {
            reason.push_str("; ");
            reason.push_str(NO_DATA_SOURCE);
        }
        if let Some(script) = &self.running.script {
            let script = lock(&script.state);
            if script.after_exit > 0 {
                reason.push_str(&format!("; {} records after exit() were left out", script.after_exit));
            }
            for trouble in &script.troubles {
                reason.push_str("; ");
                reason.push_str(trouble);
            }
        }
        (state, reason)
    }

    fn log_end(&self, ledger: &Ledger, state: CaptureState, reason: &str) {
        let stored: u64 = ledger.streams.iter().map(|stream| stream.stored).sum();
        let lost = ledger.lost_total();
        tracing::info!(capture = %self.running.id, %state, reason, stored, lost, "a capture has ended");
    }

    async fn store_end(&self, end: End) {
        for _ in 0..FINISH_ATTEMPTS {
            match self.inner.store.finish(self.running.id, end.clone()).await {
                Ok(()) => return,
                Err(StoreError::Locked) => tokio::time::sleep(Duration::from_millis(100)).await,
                Err(error) => {
                    let error = words(&error);
                    tracing::error!(capture = %self.running.id, error, "the end waits until it can be stored");
                    return;
                }
            }
        }
        tracing::error!(capture = %self.running.id, "the database stays locked; the end waits until it can be stored");
    }

    /// Names functions; gives the work back if it takes so long that the capture should not wait for it.
    async fn name(&self, state: CaptureState) -> Option<tokio::task::JoinHandle<()>> {
        let hub = self.running.hub.clone();
        let told = move |progress: super::naming::NamingProgress| {
            let message = format!("naming functions: {} of {} files", progress.mappings, progress.of_mappings);
            hub.send(LiveMessage::State { state, message });
        };
        let namer = self.inner.namer(&self.running).await;
        let refused = lock(&self.running.held).refused();
        if refused > 0 {
            tracing::info!(capture = %self.running.id, refused, "more files were sampled than are kept open");
        }
        let (running, store) = (Arc::clone(&self.running), self.inner.store.clone());
        let mut naming = tokio::spawn(async move { running.name_functions(&store, namer, told).await });
        if tokio::time::timeout(NAMES_BEFORE_THE_END, &mut naming).await.is_ok() {
            return None;
        }
        tracing::info!(capture = %self.running.id, "naming functions takes long and goes on");
        Some(naming)
    }
}

impl Inner {
    /// Everything that names come from, with fresh symbols of the kernel.
    pub(super) async fn namer(&self, running: &Running) -> Namer {
        let has_stacks = !running.naming.is_empty();
        let kernel = if has_stacks { self.kernel.get(&self.link, FRESH_SYMBOLS).await } else { None };
        let (held, private_dir) = (Arc::clone(&running.held), self.options.private_dir.clone());
        Namer { link: self.link.clone(), held, kernel, private_dir }
    }
}

fn probe_tick(program: &ScriptProbe) -> ProbeTick {
    ProbeTick {
        name: program.name.clone(),
        line: program.line,
        hits: program.hits,
        filtered: program.filtered,
        lost: program.ring_full + program.map_full + program.stack_lost + program.missed + program.nested,
        helper_failed: program.helper_failed,
        ns_per_hit: program.ns_per_hit,
    }
}

/// The share of one CPU that a process used, in thousandths. Nothing at its first reading, which tells of its whole life.
fn share(now: ProcessUse, before: ProcessUse, seconds: f64) -> f64 {
    if before.cpu_ns == 0 {
        return 0.0;
    }
    // ns per second are parts of 10^9; thousandths are 10^6 of them.
    now.cpu_ns.saturating_sub(before.cpu_ns) as f64 / seconds / 1e6
}

async fn sleep_until(moment: Option<tokio::time::Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Why a target's end ends the capture, if it has ended.
fn ended_target(state: TargetState, target: &Target) -> Option<String> {
    match (state, target) {
        (TargetState::Running, _) => None,
        (TargetState::Gone, Target::Process { pid, .. }) => Some(format!("the process {pid} has ended")),
        (TargetState::Gone, Target::Command { .. } | Target::During { .. }) => Some("the command has ended".to_owned()),
        (TargetState::Gone, Target::Processes { .. }) => Some("all processes of the target have ended".to_owned()),
        (TargetState::Gone, Target::Threads { .. }) => Some("all threads of the target have ended".to_owned()),
        (TargetState::Gone, target) => Some(format!("{target} is gone")),
        (TargetState::Exited { code: Some(code), .. }, _) => Some(format!("the command exited with status {code}")),
        (TargetState::Exited { signal: Some(signal), .. }, _) => {
            Some(format!("the command was ended by signal {signal}"))
        }
        (TargetState::Exited { .. }, _) => Some("the command has ended".to_owned()),
    }
}

/// A length of time in words: `10 s`, `1.5 s`, `250 ms`.
fn duration(length: Duration) -> String {
    match length.as_millis() {
        ms if ms < 1000 => format!("{ms} ms"),
        ms if ms % 1000 == 0 => format!("{} s", ms / 1000),
        ms => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
    }
}

/// When the last source began to be detached, which is when the capture ends: nobody knows what happened while it was.
fn recorded_until_ns(readings: &Readings) -> u64 {
    readings.sources.iter().filter_map(|source| source.recorded_until_ns).max().unwrap_or(readings.time_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_in_words() {
        let cases = [(10_000, "10 s"), (1500, "1.5 s"), (250, "250 ms"), (90_000, "90 s")];
        for (ms, expected) in cases {
            assert_eq!(duration(Duration::from_millis(ms)), expected);
        }
        let exited = |code, signal| ended_target(TargetState::Exited { code, signal }, &Target::System);
        assert_eq!(exited(Some(0), None).as_deref(), Some("the command exited with status 0"));
        assert_eq!(exited(None, Some(9)).as_deref(), Some("the command was ended by signal 9"));
        let process = Target::Process { pid: 7, children: true };
        assert_eq!(ended_target(TargetState::Gone, &process).as_deref(), Some("the process 7 has ended"));
        assert_eq!(ended_target(TargetState::Running, &process), None);
    }
}
