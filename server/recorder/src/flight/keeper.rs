//! The keeper of a flight recorder: holds what the decoder made, decides what fires, and stores it.
//!
//! It runs where it may wait for the store. While it does, the decoder waits as it does for any capture, back to the kernel's rings,
//! which count what they cannot place.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bathyscope_capture::{
    Append, CaptureId, Firing, FiringKind, Ledger, MAX_FIRING_TEXT_BYTES, ProcessChange, ProcessChangeKind,
    ScriptRecord, cut_text,
};
use bathyscope_store::{AuditEntry, BlockingStore, CaptureState, End, NewCapture, Role, StoreError};
use bathyscope_views::Dictionaries;
use tokio::{runtime::Handle, sync::mpsc};

use super::{
    RowWatch,
    stored::{ShortWindow, StoredBefore, StoredFlight, stored_words},
    watch::Found,
    window::{FlightItem, KnownProcesses, Window},
};
use crate::{
    Inner,
    appender::Outgoing,
    clock::{monotonic_ns, wall_unix_ns},
    flight_state::{FireCause, FireError, FireRequest, Flight, Unnamed},
    link::words,
    process_metadata::lock,
    progress::size,
    running::Running,
};

const SECOND_NS: u64 = 1_000_000_000;
const DAY_NS: u64 = 24 * 3600 * SECOND_NS;
/// How often a database that another process holds is tried, and the pause between.
const LOCKED_ATTEMPTS: u32 = 50;
const LOCKED_PAUSE: Duration = Duration::from_millis(100);
/// The longest title.
const MAX_TITLE_BYTES: usize = 200;

/// What a keeper begins with.
pub(crate) struct KeeperSetup {
    pub(crate) inner: Arc<Inner>,
    pub(crate) running: Arc<Running>,
    pub(crate) flight: Arc<Flight>,
    /// The recorder's own capture: those that are stored are of the same title, spec, host and streams.
    pub(crate) own: NewCapture,
    pub(crate) script: Option<ScriptRecord>,
    pub(crate) watch: RowWatch,
}

/// Holds what a flight recorder has in memory.
pub(crate) struct Keeper {
    setup: KeeperSetup,
    store: BlockingStore,
    runtime: Handle,
    dictionaries: Dictionaries,
    window: Window,
    /// Processes as of the last item.
    now: KnownProcesses,
    stored: Option<StoredFlight>,
    pace: Pace,
    ledger: Ledger,
}

/// When it may fire again.
#[derive(Debug, Default)]
struct Pace {
    /// When it fired, within a day.
    fired_ns: VecDeque<u64>,
}

impl Pace {
    /// Why it may not fire now, if it may not.
    fn holds_back(&mut self, now_ns: u64, pause_s: u32, per_day: u32) -> Option<FireError> {
        while self.fired_ns.front().is_some_and(|fired_ns| fired_ns.saturating_add(DAY_NS) <= now_ns) {
            self.fired_ns.pop_front();
        }
        if self.fired_ns.len() >= per_day as usize {
            return Some(FireError::Day { most: per_day });
        }
        let again_ns = self.fired_ns.back()?.saturating_add(u64::from(pause_s) * SECOND_NS);
        let left_ns = again_ns.saturating_sub(now_ns);
        (left_ns > 0).then(|| FireError::Pause { left_s: left_ns.div_ceil(SECOND_NS) })
    }

    fn fired(&mut self, now_ns: u64) {
        self.fired_ns.push_back(now_ns);
    }
}

impl Keeper {
    /// To be made in the runtime.
    pub(crate) fn new(setup: KeeperSetup) -> Self {
        let spec = &setup.flight.spec;
        let (before_ns, memory_bytes) = (u64::from(spec.before_s) * SECOND_NS, u64::from(spec.memory_mib) << 20);
        Self {
            store: setup.inner.store.blocking(),
            runtime: Handle::current(),
            dictionaries: Dictionaries::default(),
            window: Window::new(setup.own.start_ns, before_ns, memory_bytes),
            now: KnownProcesses::default(),
            stored: None,
            pace: Pace::default(),
            ledger: Ledger::default(),
            setup,
        }
    }

    /// Keeps until nobody sends any more. To be run where it may wait.
    pub(crate) fn run(mut self, mut from: mpsc::Receiver<Outgoing>) {
        while let Some(outgoing) = from.blocking_recv() {
            self.take(outgoing);
        }
        self.setup.flight.close();
        self.close_stored("the flight recorder ended");
        let gone = self.window.drain();
        self.not_kept(&gone);
        self.publish();
    }

    fn take(&mut self, Outgoing { append, rows }: Outgoing) {
        self.dictionaries.extend(&append);
        let filtered = {
            let accounting = lock(&self.setup.running.accounting);
            accounting.ledger(&[]).streams.iter().map(|totals| totals.filtered).collect()
        };
        let end_ns = append.end_ns.max(self.window.end_ns());
        let Append { chunks, processes, output, .. } = append;
        let item = FlightItem { chunks, processes, output, rows, end_ns, filtered };
        let mut found = self.setup.watch.look(&item, &self.dictionaries);
        found.extend(self.exits(&item.processes));
        self.add_to_stored(&item);
        self.window.push(item);
        self.fire_all(found);
        self.close_if_due();
        let gone = self.window.evict();
        self.not_kept(&gone);
        self.publish();
    }

    /// Programs of triggers that have ended; keeps what processes are called now.
    fn exits(&mut self, changes: &[ProcessChange]) -> Vec<Found> {
        let mut found = Vec::new();
        for change in changes {
            if change.kind == ProcessChangeKind::Exit && change.pid == change.tid {
                let comm = self.now.name(change.pid).and_then(|id| self.dictionaries.text(id)).unwrap_or_default();
                let triggers = self.setup.flight.spec.triggers.iter();
                let is_meant = |trigger: &&bathyscope_capture::FlightTrigger| matches!(trigger, bathyscope_capture::FlightTrigger::Exit { comm: wanted } if wanted.as_bytes() == comm);
                found.extend(triggers.filter(is_meant).map(|trigger| {
                    let fired_ns = (change.time_ns > 0).then_some(change.time_ns);
                    let (trigger, value) = (trigger.to_string(), format!("pid {}", change.pid));
                    let cause = FireCause { kind: FiringKind::Exit, trigger, value, fired_ns, since_ns: None };
                    Found { cause, rows: 1 }
                }));
            }
            self.now.apply(change);
        }
        found
    }

    fn fire_all(&mut self, found: Vec<Found>) {
        for Found { cause, rows } in found {
            if self.fire(cause).is_err() {
                self.setup.flight.update(|status| status.held_back += rows);
            }
        }
        for FireRequest { cause, reply } in self.setup.flight.take_waiting() {
            let fired = self.fire(cause);
            if fired.is_err() {
                self.setup.flight.update(|status| status.held_back += 1);
            }
            if let Some(reply) = reply {
                // Whoever asked may be gone.
                let _unheard = reply.send(fired);
            }
        }
    }

    /// Begins to store what is in memory.
    fn fire(&mut self, cause: FireCause) -> Result<CaptureId, FireError> {
        let now_ns = self.window.end_ns();
        if let Some(stored) = &self.stored {
            return Err(FireError::Storing { left_s: stored.until_ns.saturating_sub(now_ns).div_ceil(SECOND_NS) });
        }
        let (pause_s, per_day) = (self.setup.flight.spec.pause_s, self.setup.flight.spec.per_day);
        let held_back = self.pace.holds_back(now_ns, pause_s, per_day);
        if let Some(held_back) = held_back.filter(|_| cause.kind != FiringKind::Hand) {
            return Err(held_back);
        }
        let (kind, trigger) = (cause.kind, cause.trigger.clone());
        let begun = self.begin(cause).map_err(|error| FireError::Store { why: words(&error) });
        match &begun {
            Ok(id) => {
                self.note_fired(*id, kind, &trigger);
                self.pace.fired(now_ns);
                self.setup.flight.set_storing(Some(*id));
                self.setup.flight.update(|status| {
                    status.captures += 1;
                    status.last = Some(*id);
                    status.trouble.clear();
                });
            }
            Err(error) => self.setup.flight.trouble(words(error)),
        }
        begun
    }

    /// Notes for ever what fired by itself. Who fires by hand or with a token is noted where they ask.
    fn note_fired(&self, stored: CaptureId, kind: FiringKind, trigger: &str) {
        if matches!(kind, FiringKind::Hand | FiringKind::Token) {
            return;
        }
        let own = &self.setup.own;
        let entry = AuditEntry {
            time_unix_ns: wall_unix_ns(),
            user: format!("flight recorder of {}", own.owner),
            role: Role::Operator,
            action: "capture.fire".to_owned(),
            object: own.id.to_string(),
            detail: format!("stored as {stored}, by {trigger}"),
        };
        if let Err(error) = self.store.read(|store| store.add_audit(entry)) {
            tracing::error!(capture = %own.id, error = words(&error), "a firing could not be written into the audit log");
        }
    }

    fn begin(&mut self, cause: FireCause) -> Result<CaptureId, StoreError> {
        let id = CaptureId::from_bits(getrandom::u64().map_err(|_none| StoreError::Closed)?);
        self.store.read(|store| store.has_room())?;
        let (now_ns, own) = (self.window.end_ns(), &self.setup.own);
        let spec = &self.setup.flight.spec;
        let fired_ns = cause.fired_ns.unwrap_or_else(monotonic_ns);
        let before_ns = u64::from(spec.before_s) * SECOND_NS;
        let complete_from_ns = self.window.complete_from_ns().max(fired_ns.saturating_sub(before_ns)).min(now_ns);
        let start_ns = cause.since_ns.map_or(complete_from_ns, |since_ns| since_ns.min(complete_from_ns));
        let until_ns = fired_ns.max(start_ns).saturating_add(u64::from(spec.after_s) * SECOND_NS);
        let before = self.before(fired_ns.saturating_sub(complete_from_ns));
        let wall = |at_ns: u64| {
            let ago_ns = i64::try_from(i128::from(monotonic_ns()) - i128::from(at_ns)).unwrap_or(0);
            wall_unix_ns().saturating_sub(ago_ns)
        };
        let text = |text: &str| String::from_utf8_lossy(&cut_text(text.as_bytes(), MAX_FIRING_TEXT_BYTES)).into_owned();
        let firing = Firing {
            recorder: own.id,
            kind: cause.kind,
            trigger: text(&cause.trigger),
            value: text(&cause.value),
            fired_ns,
            fired_unix_ns: wall(fired_ns),
            complete_from_ns,
        };
        let new = NewCapture {
            id,
            title: title(&own.title, &firing.trigger),
            started_unix_ns: wall(start_ns),
            start_ns,
            firing: Some(firing),
            ..own.clone()
        };
        self.store.read(|store| store.create(new))?;
        self.fill(id, ([start_ns, until_ns], before)).inspect_err(|error| self.fail(id, words(error)))
    }

    /// What there is before a firing.
    fn before(&self, complete_ns: u64) -> StoredBefore {
        let is_young = self.window.complete_from_ns() <= self.setup.own.start_ns;
        let memory = self.window.is_short().then_some(ShortWindow::Memory);
        StoredBefore { complete_ns, short: if is_young { Some(ShortWindow::Young) } else { memory } }
    }

    /// Stores what is in memory.
    fn fill(&mut self, id: CaptureId, range: ([u64; 2], StoredBefore)) -> Result<CaptureId, StoreError> {
        if let Some(script) = self.setup.script.clone() {
            self.store.read(|store| store.put_script(id, script))?;
        }
        let filtered = self.window.gone_filtered().to_vec();
        let mut stored = StoredFlight::new(id, range, filtered, self.setup.own.streams.len());
        let before = stored.append_before(self.window.known().changes(), &self.dictionaries);
        self.append(id, before)?;
        for item in self.window.items() {
            let append = stored.append_of(item, &self.setup.own.streams, &self.dictionaries).map_err(damaged)?;
            self.append(id, append)?;
        }
        self.stored = Some(stored);
        Ok(id)
    }

    /// Adds to a capture. A database that another process holds is tried again.
    fn append(&self, id: CaptureId, append: Append) -> Result<(), StoreError> {
        let append = Arc::new(append);
        for _ in 1..LOCKED_ATTEMPTS {
            match self.store.read(|store| store.append(id, Arc::clone(&append))) {
                Err(StoreError::Locked) => std::thread::sleep(LOCKED_PAUSE),
                done => return done,
            }
        }
        self.store.read(|store| store.append(id, append))
    }

    /// Adds what has just come to the capture that is being stored.
    fn add_to_stored(&mut self, item: &FlightItem) {
        let Some(mut stored) = self.stored.take() else { return };
        let append = stored.append_of(item, &self.setup.own.streams, &self.dictionaries).map_err(damaged);
        let added = append.and_then(|append| self.append(stored.id, append));
        match added {
            Ok(()) => self.stored = Some(stored),
            Err(error) => {
                self.fail(stored.id, words(&error));
                self.setup.flight.set_storing(None);
            }
        }
    }

    /// A capture cannot be stored any further: what it has stays.
    fn fail(&self, id: CaptureId, why: String) {
        tracing::error!(capture = %id, error = why, "what a flight recorder has in memory cannot be stored");
        let end = End {
            state: CaptureState::Failed,
            reason: format!("it could not be stored to its end: {why}"),
            end_ns: self.window.end_ns(),
            ledger: Ledger::default(),
            readings: Vec::new(),
            script: None,
            sources: Vec::new(),
        };
        if let Err(error) = self.store.read(|store| store.finish(id, end)) {
            tracing::error!(capture = %id, error = words(&error), "a capture that failed cannot be marked so");
        }
        self.setup.flight.trouble(why);
    }

    /// Ends the capture that is being stored when its time has come, and all that was lost until then is known.
    fn close_if_due(&mut self) {
        let Some(stored) = &self.stored else { return };
        let limits = &self.setup.own.spec.limits;
        let is_full = limits.max_events.is_some_and(|most| stored.row_count() >= most)
            || limits.max_bytes.is_some_and(|most| stored.bytes >= most);
        let is_read = lock(&self.setup.running.accounting).read_ns() >= stored.until_ns;
        if is_full {
            let (rows, bytes) = (stored.row_count(), size(stored.bytes));
            self.close_stored(&format!("a limit of the flight recorder's captures was reached: {rows} rows, {bytes}"));
        } else if stored.end_ns >= stored.until_ns && is_read {
            let (before_s, after_s) = (self.setup.flight.spec.before_s, self.setup.flight.spec.after_s);
            let reason = stored_words(stored.before, before_s, after_s);
            self.close_stored(&reason);
        }
    }

    fn close_stored(&mut self, reason: &str) {
        let Some(stored) = self.stored.take() else { return };
        let id = stored.id;
        self.end(stored, reason);
        // Only now: views of what grows are not kept.
        self.setup.flight.set_storing(None);
        tracing::debug!(capture = %id, reason, "a capture of a flight recorder has ended");
    }

    fn end(&self, stored: StoredFlight, reason: &str) {
        let running = &self.setup.running;
        let (ledger, readings) = {
            let accounting = lock(&running.accounting);
            let ledger = accounting.part([stored.start_ns, stored.end_ns], &stored.rows, &stored.filtered);
            (ledger, accounting.readings().to_vec())
        };
        let end = End {
            state: CaptureState::Finished,
            reason: reason.to_owned(),
            end_ns: stored.end_ns,
            ledger,
            readings,
            script: running.script_end(),
            sources: running.source_ends(&self.setup.own.spec),
        };
        let id = stored.id;
        if let Err(error) = self.store.read(|store| store.finish(id, end)) {
            self.fail(id, words(&error));
            return;
        }
        tracing::info!(capture = %id, recorder = %running.id, rows = stored.row_count(), "a flight recorder has stored a capture");
        self.setup.flight.wait_for_names(Unnamed { id, frames: stored.frames, mappings: stored.mappings });
        if let Some(derivations) = self.setup.inner.derivations.get()
            && let Err(error) = derivations.compute_built_in(id)
        {
            tracing::warn!(capture = %id, error = words(&error), "streams are not computed");
        }
        let (inner, running) = (Arc::clone(&self.setup.inner), Arc::clone(running));
        self.runtime.spawn(async move {
            let namer = inner.namer(&running).await;
            running.name_functions(&inner.store, namer, |_| ()).await;
        });
    }

    fn not_kept(&self, gone: &[FlightItem]) {
        let mut accounting = lock(&self.setup.running.accounting);
        for item in gone {
            for (stream, rows) in &item.rows {
                let own = item.chunks.iter().filter(|(of, _)| of == stream).map(|(_, chunk)| chunk);
                let start_ns = own.clone().map(|chunk| chunk.first_ns).min().unwrap_or(item.end_ns);
                let end_ns = own.map(|chunk| chunk.last_ns).max().unwrap_or(item.end_ns);
                accounting.not_kept(*stream, *rows, start_ns, end_ns);
            }
        }
    }

    /// Tells how much it holds, and stores the recorder's ledger.
    fn publish(&mut self) {
        let (held_ns, held_rows, held_bytes) = (self.window.held_ns(), self.window.rows(), self.window.bytes());
        let is_short = self.window.is_short();
        self.setup.flight.update(|status| {
            (status.held_ns, status.held_rows, status.held_bytes, status.is_short) =
                (held_ns, held_rows, held_bytes, is_short);
        });
        let ledger = lock(&self.setup.running.accounting).ledger(&[]);
        if ledger == self.ledger {
            return;
        }
        let append = Append { ledger: Some(ledger.clone()), end_ns: self.window.end_ns(), ..Append::default() };
        let id = self.setup.own.id;
        match self.store.read(|store| store.append(id, append)) {
            Ok(()) => self.ledger = ledger,
            // The next one says it too.
            Err(StoreError::Locked) => {}
            Err(error) => {
                tracing::warn!(capture = %id, error = words(&error), "the ledger of a flight recorder cannot be stored");
                self.setup.flight.trouble(words(&error));
            }
        }
    }
}

fn damaged(error: bathyscope_capture::ChunkError) -> StoreError {
    StoreError::Refused { what: "rows of a flight recorder", why: error.to_string() }
}

/// What a capture is called that came of a firing.
fn title(recorder: &str, trigger: &str) -> String {
    let title = format!("{recorder}: {trigger}");
    String::from_utf8_lossy(&cut_text(title.as_bytes(), MAX_TITLE_BYTES)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_pauses_and_fires_only_so_often_in_a_day() {
        let mut pace = Pace::default();
        let s = SECOND_NS;
        assert_eq!(pace.holds_back(100 * s, 60, 2), None);
        pace.fired(100 * s);
        assert_eq!(pace.holds_back(130 * s, 60, 2), Some(FireError::Pause { left_s: 30 }));
        assert_eq!(pace.holds_back(160 * s, 60, 2), None);
        pace.fired(160 * s);
        assert_eq!(pace.holds_back(1000 * s, 60, 2), Some(FireError::Day { most: 2 }));
        assert_eq!(pace.holds_back(100 * s + DAY_NS, 60, 2), None);
        assert_eq!(pace.holds_back(100 * s + DAY_NS, 0, 1), Some(FireError::Day { most: 1 }));
    }

    #[test]
    fn a_title_says_what_fired() {
        assert_eq!(title("Calls", "duration_ns > 5"), "Calls: duration_ns > 5");
        assert!(title(&"x".repeat(300), "y").len() <= MAX_TITLE_BYTES);
    }
}
