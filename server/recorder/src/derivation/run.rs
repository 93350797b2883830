//! One rule, applied to one capture.

use std::sync::{Arc, atomic::Ordering};

use bathyscope_capture::{CaptureId, ChunkError, Loss, ProcessChange, StreamSchema};
use bathyscope_derive::{DerivationCounts, DerivationError, Rule, RuleOptions, RuleSpec};
use bathyscope_store::{BlockingStore, CaptureRecord, StoreError};

use super::{
    Watch,
    host::{StoreHost, store_beside, stored_text},
    inputs::Inputs,
    recorded_streams, targets,
};

/// Why the streams of a rule could not be computed.
#[derive(Debug, thiserror::Error)]
pub enum DerivationFailure {
    /// The rule cannot be applied.
    #[error(transparent)]
    Rule(#[from] DerivationError),
    /// The rows that it is made from, or its own, cannot be read or stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A chunk is not what was stored.
    #[error("a chunk of {stream} cannot be read")]
    Chunk {
        /// The stream.
        stream: String,
        /// What is wrong with it.
        source: ChunkError,
    },
    /// Rows cannot be kept as they are.
    #[error("rows of {stream} cannot be encoded")]
    Rows {
        /// The stream.
        stream: String,
        /// Why.
        source: ChunkError,
    },
    /// A part of the program failed.
    #[error("{0} failed")]
    System(&'static str),
    /// Nobody wants them any more.
    #[error("they were removed while they were computed")]
    Cancelled,
}

/// Computes the streams of a rule and stores them; says how many rows.
///
/// # Errors
/// See [`DerivationFailure`]. Nothing of the rule is shown then, and what was recorded is as it was.
pub(super) fn run(
    store: &BlockingStore,
    record: &CaptureRecord,
    spec: &RuleSpec,
    watch: &Watch,
) -> Result<u64, DerivationFailure> {
    let streams = recorded_streams(record);
    let (number, schemas) = begin(store, record.id, spec, &streams)?;
    let computed = compute(store, (record, &streams), spec, (number, &schemas), watch);
    let ended = computed.and_then(|(rows, counts)| {
        store.read(|store| store.finish_derivation(record.id, number, counts))?;
        Ok(rows)
    });
    match ended {
        Ok(rows) => Ok(rows),
        // Whoever cancelled it has hidden it, and removes its rows, as far as they were there then.
        Err(error) => {
            let why = (!watch.is_cancelled()).then(|| bathyscope_link::words(&error));
            let removed = store.read(|store| store.remove_derivation(record.id, number, why));
            if let Err(error) = removed
                && !matches!(error, StoreError::NoCapture { .. } | StoreError::Closed)
            {
                tracing::warn!(capture = %record.id, %error, "rows that were computed in vain are not removed yet");
            }
            Err(if watch.is_cancelled() { DerivationFailure::Cancelled } else { error })
        }
    }
}

/// Makes room for the streams of a rule; says its number in the capture, and what they are.
pub(super) fn begin(
    store: &BlockingStore,
    id: CaptureId,
    spec: &RuleSpec,
    streams: &[StreamSchema],
) -> Result<(u16, Vec<StreamSchema>), DerivationFailure> {
    let schemas = spec.check(streams)?;
    let text = serde_json::to_string(spec).map_err(|_unwritable| DerivationFailure::System("writing the rule"))?;
    let begun = store.read(|store| store.begin_derivation(id, text, schemas.clone()))?;
    Ok((begun.number, schemas))
}

/// What a rule could not tell, as it is stored.
pub(super) fn counts_text(counts: &DerivationCounts) -> Result<String, DerivationFailure> {
    let counts: Vec<_> = counts.iter().collect();
    serde_json::to_string(&counts).map_err(|_unwritable| DerivationFailure::System("writing what could not be told"))
}

fn compute(
    store: &BlockingStore,
    (record, streams): (&CaptureRecord, &[StreamSchema]),
    spec: &RuleSpec,
    (number, schemas): (u16, &[StreamSchema]),
    watch: &Watch,
) -> Result<(u64, String), DerivationFailure> {
    let changes = store.read(|store| store.processes(record.id))?;
    let options = match spec {
        RuleSpec::ThreadStates => RuleOptions {
            start_ns: recorded_since(store, record, streams)?,
            recorded: targets::recorded(store, record, streams, watch)?,
            by_name: targets::by_name(record),
        },
        RuleSpec::TcpStates | RuleSpec::Span(_) => RuleOptions::default(),
    };
    std::thread::scope(|scope| {
        let (sender, stored) = store_beside(scope, store, (record.id, number), schemas)?;
        // When nobody takes them, the threads that store them say why.
        let take = move |output, rows| sender.send(output, rows);
        let mut host = StoreHost::new((store, record.id), take, |text| stored_text(store, record.id, text));
        let mut rule = spec.rule(streams, &options, &mut host)?;
        losses_of(&*rule, record).iter().for_each(|loss| rule.add_loss(loss.start_ns, loss.end_ns));
        let fed = feed(store, (record, streams), (&mut *rule, &mut host), &changes, watch);
        if let Ok(until_ns) = &fed {
            rule.finish(*until_ns, &mut host);
        }
        let asked = host.close();
        // What those that store say explains why they take no more.
        let rows = stored.join()?;
        fed?;
        asked?;
        Ok((rows, counts_text(&rule.counts())?))
    })
}

/// From when on all switches and wake-ups were recorded: probes are attached on all CPUs at once, so it is so when each of these
/// streams has a row.
pub(super) fn recorded_since(
    store: &BlockingStore,
    record: &CaptureRecord,
    streams: &[StreamSchema],
) -> Result<Option<u64>, StoreError> {
    const TOLD: [&str; 5] = ["switches", "wakeups", "sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup"];
    let mut since = None;
    for (stream, _) in (0_u16..).zip(streams).filter(|(_, schema)| TOLD.contains(&schema.name.as_str())) {
        let chunks = store.read(|store| store.chunk_index(record.id, stream, 0))?;
        let Some(first_ns) = chunks.iter().map(|chunk| chunk.first_ns).min() else { return Ok(None) };
        since = since.max(Some(first_ns));
    }
    Ok(since)
}

/// When events of a rule's inputs were lost.
pub(super) fn losses_of<'a>(rule: &dyn Rule, record: &'a CaptureRecord) -> Vec<&'a Loss> {
    let inputs: Vec<u16> = rule.inputs().iter().map(|input| input.stream).collect();
    let losses = record.ledger.losses.iter();
    losses.filter(|loss| loss.stream.is_none_or(|stream| inputs.contains(&stream))).collect()
}

/// Gives a rule all rows of its inputs and all changes of processes, as they come; says until when they were recorded.
fn feed(
    store: &BlockingStore,
    (record, streams): (&CaptureRecord, &[StreamSchema]),
    (rule, host): (&mut dyn Rule, &mut StoreHost<'_>),
    changes: &[ProcessChange],
    watch: &Watch,
) -> Result<u64, DerivationFailure> {
    let mut inputs = Inputs::new(store, record.id, &rule.inputs())?;
    watch.of.store(inputs.chunks(), Ordering::Relaxed);
    let mut changes = changes.iter().peekable();
    while let Some((stream, rows)) = inputs.next(store, streams)? {
        if watch.is_cancelled() {
            return Err(DerivationFailure::Cancelled);
        }
        rule.push(stream, Arc::new(rows), host);
        let complete_ns = inputs.complete_ns();
        while let Some(change) = changes.next_if(|change| change.time_ns < complete_ns) {
            rule.learn(change);
        }
        rule.advance(complete_ns, host);
        host.check()?;
        watch.done.fetch_add(1, Ordering::Relaxed);
    }
    changes.for_each(|change| rule.learn(change));
    Ok(inputs.recorded_until_ns(record))
}
