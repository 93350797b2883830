//! Rules that are applied to a capture while it is recorded.
//!
//! They read what is stored, as they do when it has ended: so recording is neither held up nor made to lose anything by them, and
//! they are behind it by the time that rows wait to be stored, and a moment. They begin when somebody looks: nobody else needs
//! them before the end.
//!
//! What cannot be told while it is recorded (events that were lost earlier than was known, rows that came late) makes the
//! streams be computed anew when it has ended.

use std::{cell::RefCell, rc::Rc, sync::Arc, time::Duration};

use bathyscope_capture::{CaptureId, ProcessChange, StreamSchema};
use bathyscope_derive::{DerivationCount, Rule, RuleOptions, RuleSpec};
use bathyscope_store::{BlockingStore, CaptureRecord};

use super::{
    DerivationFailure, Derivations, Wanted,
    host::{DerivedTracks, StoreHost, encoded, stored_text},
    inputs::Inputs,
    recorded_streams, rules_of,
    run::{begin, counts_text, losses_of, recorded_since},
    targets,
};
use crate::running::{Phase, Running};

/// How often it is looked for new rows, and for somebody who looks.
const LOOK: Duration = Duration::from_millis(500);
/// For so long a stream without rows may still get one of then: rows wait for about as long before they are stored.
const QUIET_NS: u64 = 1_000_000_000;

/// A rule that follows a capture.
struct FollowingRule<'a> {
    spec: RuleSpec,
    number: u16,
    rule: Box<dyn Rule>,
    host: StoreHost<'a>,
    inputs: Inputs,
    streams: Vec<StreamSchema>,
    /// The tracks of its streams, which the host adds rows to.
    tracks: Rc<RefCell<DerivedTracks>>,
    /// How many changes of processes it knows.
    changes: u64,
    failure: Option<DerivationFailure>,
}

/// Follows a capture until it has ended, from when somebody looks on.
pub(super) fn follow(derivations: &Derivations, store: &BlockingStore, running: &Arc<Running>) {
    let id = running.id;
    let Some((record, since_ns)) = begin_when_watched(store, running) else { return };
    let mut followers = Vec::new();
    for spec in rules_of(&record) {
        match FollowingRule::begin(store, (&record, since_ns), spec, running) {
            Ok(follower) => followers.push(follower),
            Err(error) => tracing::debug!(capture = %id, %error, "a rule does not follow a capture"),
        }
    }
    (derivations.inner.on_change)(id);
    loop {
        // In this order: what does not record any more has all of its rows stored.
        let is_over = running.phase() >= Phase::Naming;
        followers.iter_mut().for_each(|follower| follower.look(store, id, is_over));
        if is_over {
            break;
        }
        std::thread::sleep(LOOK);
    }
    for follower in followers {
        let (spec, number) = (follower.spec.clone(), follower.number);
        let Err(error) = follower.finish(store, id) else { continue };
        tracing::info!(capture = %id, rule = spec.name(), %error, "streams are computed anew");
        let removed = store.read(|store| store.remove_derivation(id, number, Some(error.to_string())));
        if removed.is_ok() {
            let _full = derivations.enqueue_with(store, Wanted { capture: id, rule: Some(spec) });
        }
    }
    (derivations.inner.on_change)(id);
}

/// Waits until somebody looks and each stream that tells of threads has rows; none if the capture ends before.
fn begin_when_watched(store: &BlockingStore, running: &Running) -> Option<(CaptureRecord, Option<u64>)> {
    while running.phase() == Phase::Recording {
        if running.hub.has_viewers() {
            let record = store.read(|store| store.capture(running.id)).ok()?;
            let rules = rules_of(&record);
            if rules.is_empty() {
                return None;
            }
            let since_ns = recorded_since(store, &record, &recorded_streams(&record)).ok()?;
            if since_ns.is_some() || !rules.contains(&RuleSpec::ThreadStates) {
                return Some((record, since_ns));
            }
        }
        std::thread::sleep(LOOK);
    }
    None
}

impl<'a> FollowingRule<'a> {
    fn begin(
        store: &'a BlockingStore,
        (record, start_ns): (&CaptureRecord, Option<u64>),
        spec: RuleSpec,
        running: &'a Arc<Running>,
    ) -> Result<Self, DerivationFailure> {
        let (streams, id) = (recorded_streams(record), record.id);
        let (number, schemas) = begin(store, id, &spec, &streams)?;
        let tracks = Rc::new(RefCell::new(DerivedTracks::of(&schemas)));
        let grown = Rc::clone(&tracks);
        let take = move |output, rows| {
            let mut chunk = encoded(&schemas, output, &rows)?;
            // The time index of a capture ends with it, and these rows do not.
            chunk.leaves.clear();
            let changes = grown.borrow_mut().add(output, &rows);
            store.read(|store| store.append_derived(id, number, vec![(output, chunk)], changes))?;
            Ok(())
        };
        let name = move |text: &[u8]| match running.text_id(text) {
            Some(id) => Ok(id),
            None => stored_text(store, id, text),
        };
        let mut host = StoreHost::new((store, id), take, name);
        // What is recorded now tells it.
        let recorded = targets::known(record, &streams).unwrap_or_default();
        let options = RuleOptions { start_ns, recorded, by_name: targets::by_name(record) };
        let rule = spec.rule(&streams, &options, &mut host)?;
        let inputs = Inputs::new(store, id, &rule.inputs())?;
        Ok(Self { spec, number, rule, host, inputs, streams, tracks, changes: 0, failure: None })
    }

    /// Takes what is new, if nothing went wrong so far.
    fn look(&mut self, store: &BlockingStore, id: CaptureId, is_over: bool) {
        if self.failure.is_none()
            && let Err(error) = self.try_to_look(store, id, is_over)
        {
            self.failure = Some(error);
        }
    }

    fn try_to_look(&mut self, store: &BlockingStore, id: CaptureId, is_over: bool) -> Result<(), DerivationFailure> {
        // Before the rows: what has happened by then is among them, but for what waits.
        let known_ns = store.read(|store| store.capture(id))?.end_ns.saturating_sub(QUIET_NS);
        let changes: Vec<ProcessChange> = store.read(|store| store.processes_after(id, self.changes))?;
        self.changes += changes.len() as u64;
        changes.iter().for_each(|change| self.rule.learn(change));
        self.inputs.look(store)?;
        while let Some((stream, rows)) = self.inputs.next(store, &self.streams)? {
            self.rule.push(stream, Arc::new(rows), &mut self.host);
            self.host.check()?;
        }
        let complete_ns = if is_over { u64::MAX } else { self.inputs.seen_ns(known_ns) };
        self.rule.advance(complete_ns, &mut self.host);
        self.rule.flush(&mut self.host);
        self.host.check()?;
        self.publish_tracks(store, id)
    }

    /// Stores the tracks as they are now.
    fn publish_tracks(&self, store: &BlockingStore, id: CaptureId) -> Result<(), DerivationFailure> {
        let changes = self.tracks.borrow_mut().take_all();
        if !changes.is_empty() {
            store.read(|store| store.append_derived(id, self.number, Vec::new(), changes))?;
        }
        Ok(())
    }

    /// Closes what is open at the capture's end. An error says why the rows are not all that can be told.
    fn finish(mut self, store: &BlockingStore, id: CaptureId) -> Result<(), DerivationFailure> {
        self.failure.take().map_or(Ok(()), Err)?;
        let record = store.read(|store| store.capture(id))?;
        let has_losses = !losses_of(&*self.rule, &record).is_empty();
        self.rule.finish(self.inputs.recorded_until_ns(&record), &mut self.host);
        let counts = self.rule.counts();
        if has_losses || counts.get(DerivationCount::LateRows) > 0 {
            return Err(DerivationFailure::System("telling all of it while it was recorded"));
        }
        self.host.check()?;
        self.publish_tracks(store, id)?;
        self.host.close()?;
        let counts = counts_text(&counts)?;
        store.read(|store| store.finish_derivation(id, self.number, counts))?;
        Ok(())
    }
}
