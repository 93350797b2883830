//! Starts a capture: everything or nothing.

use std::{
    sync::{Arc, Mutex, mpsc::SyncSender},
    time::{Duration, Instant},
};

use bathyscope_capture::{CaptureId, CaptureSpec, HostFacts, OverBudget, StreamSchema};
use bathyscope_protocol::{AgentError, Budget, CaptureHandle, RingsCut, SourceFailure, Started, counters::CounterView};
use bathyscope_store::{CaptureState, End, NewCapture};
use bathyscope_symbols::Kallsyms;
use tokio::sync::OwnedSemaphorePermit;

use super::{
    Inner, StartError,
    clock::{monotonic_ns, wall_unix_ns},
    control::Controller,
    engine::{Source, note_failures, source_of},
    flight::{
        Keeper, KeeperSetup, RowWatch,
        timer::{self, Schedule},
    },
    flight_state::Flight,
    frames::Frames,
    kernel_formats,
    ledger::{LossAccounting, LossKnowledge},
    link::words,
    live::LiveMessage,
    prepared::PreparedSources,
    priority,
    process_metadata::lock,
    progress::Progress,
    request::{Begun, make, resolved, undo},
    rings::map_rings,
    running::{Made, Phase, Running},
    threads::{self, Parts, Threads},
};
use crate::script::{ScriptEvent, ScriptFailure};

/// How old the kernel's symbols may be while a capture is recorded: only where the image lies is needed then.
const OLD_SYMBOLS: Duration = Duration::from_secs(3600);

/// Who wants a capture.
struct Asked {
    owner: String,
    /// Who gets every event of a script too, in order.
    tap: Option<SyncSender<ScriptEvent>>,
    /// The permit for one more capture.
    slot: OwnedSemaphorePermit,
}

/// Starts a capture; to be run where nobody can cancel it.
pub(super) async fn start(
    inner: Arc<Inner>,
    spec: CaptureSpec,
    owner: String,
    tap: Option<SyncSender<ScriptEvent>>,
) -> Result<CaptureId, StartError> {
    spec.validate()?;
    priority::check(spec.limits.reading)?;
    // Before the agent is asked: what would end at once is not begun.
    inner.store.has_room().await?;
    let limit = inner.options.max_captures;
    let slot = Arc::clone(&inner.slots).try_acquire_owned().map_err(|error| match error {
        tokio::sync::TryAcquireError::Closed => StartError::ShuttingDown,
        tokio::sync::TryAcquireError::NoPermits => StartError::TooMany { limit },
    })?;
    let spec = resolved(&inner, spec).await?;
    let sources = spec.methods().map(source_of).collect::<Result<Vec<_>, _>>()?;
    let made = make(&inner, &spec, &sources).await?;
    let (handle, connection) = (made.handle, made.connection);
    let begun = begin(&inner, &spec, &sources, Asked { owner, tap, slot }, made).await;
    if begun.is_err() {
        undo(&inner.link, handle, connection).await;
    }
    begun
}

async fn begin(
    inner: &Arc<Inner>,
    spec: &CaptureSpec,
    sources: &[Box<dyn Source + '_>],
    Asked { owner, tap, slot }: Asked,
    made: Begun,
) -> Result<CaptureId, StartError> {
    let Begun { handle, connection, started, rings, counters } = made;
    let rings_error = |why: String| StartError::Rings { why };
    // The kernel puts each page of a ring in its place then, which takes as long as all that is done meanwhile.
    let (of_rings, taken) = (started.clone(), rings.rings);
    let mapping = tokio::task::spawn_blocking(move || map_rings(taken, &of_rings));
    let mut prepared = PreparedSources::of(&inner.link, spec, sources, &started).await.map_err(rings_error)?;
    let host = bathyscope_link::host::facts_of_capture(&inner.link, &spec.target).await;
    let kernel = name_addresses(inner, &mut prepared).await;
    let kernel_build_id = from_hex(&host.kernel_build_id);
    let new = new_capture(inner, spec, owner, host, &mut prepared)?;
    let flight = flight_of(&new)?;
    let own = flight.is_some().then(|| new.clone());
    let (id, title, owner, start_ns) = (new.id, new.title.clone(), new.owner.clone(), new.start_ns);
    for source in &started.sources {
        tracing::debug!(capture = %id, source.compile_ns, source.load_ns, source.attach_ns, "probes are attached");
    }
    inner.store.create(new).await?;
    let (script, record) = prepared.script.take().unzip();
    if let Some(record) = record.clone() {
        inner.store.put_script(id, record).await?;
    }
    // The limits of a flight recorder are those of each capture that it stores.
    let (max_events, max_bytes) =
        if flight.is_some() { (None, None) } else { (spec.limits.max_events, spec.limits.max_bytes) };
    let progress = Progress::new(prepared.streams(), max_events, max_bytes);
    let mut accounting = LossAccounting::new(start_ns, prepared.accounted);
    if let Some((flight, _)) = &flight {
        accounting.remember_for(flight.remembered_ns());
    }
    let accounting = Arc::new(Mutex::new(accounting));
    let made = Made::of(handle, connection, &started);
    let (flight, watch) = flight.unzip();
    let shared = (Arc::new(progress), accounting);
    let running = Arc::new(Running::new((id, title, owner), shared, slot, (script, made), flight.clone()));
    let keeper = flight.zip(watch).zip(own).map(|((flight, (watch, schedules)), own)| {
        timer::start(&running, &flight, &inner.link, schedules);
        let (inner, running) = (Arc::clone(inner), Arc::clone(&running));
        Keeper::new(KeeperSetup { inner, running, flight, own, script: record, watch })
    });
    note_cut_rings(&running, &started);
    running.progress.without_sources(&prepared.failed);
    let parts = |readers| Parts {
        sources: prepared.parts,
        target_pid: started.target_pid,
        readers,
        output: rings.output,
        frames: Frames::new(kernel.clone(), kernel_build_id, Arc::clone(&running.held)),
        kernel,
        follows_maps: prepared.follows_maps,
        tap,
        start_ns,
        reading: spec.limits.reading,
        keeper,
    };
    let system = |doing| move |error: &dyn std::error::Error| StartError::System { doing, why: error.to_string() };
    let mapped = mapping.await.map_err(|error| system("mapping the rings")(&error));
    let readers = mapped.and_then(|mapped| mapped.map_err(rings_error));
    let threads = readers.and_then(|readers| {
        threads::run(inner, &running, parts(readers)).map_err(|error| system("starting the capture's threads")(&error))
    });
    let begun = match threads {
        Ok(threads) => enable(inner, &running, spec.clone(), (handle, connection, counters), threads, start_ns).await,
        Err(error) => Err(error),
    };
    if let Err(error) = &begun {
        mark_failed(inner, &running, start_ns, error).await;
    }
    begun.map(|()| id)
}

/// Tells how much less memory the rings of all sources have than was asked for.
fn note_cut_rings(running: &Running, started: &Started) {
    let cut = started.sources.iter().filter_map(|source| source.rings_cut).reduce(|a, b| RingsCut {
        wanted_bytes: a.wanted_bytes.saturating_add(b.wanted_bytes),
        given_bytes: a.given_bytes.saturating_add(b.given_bytes),
    });
    if let Some(cut) = cut {
        running.progress.cut_rings(cut);
        tracing::info!(capture = %running.id, words = running.progress.rings_cut_words(), "the rings were cut");
    }
}

/// Keeps with the streams how the kernel prints them, and reads the kernel's functions, if rows show any.
async fn name_addresses(inner: &Inner, prepared: &mut PreparedSources) -> Option<Arc<Kallsyms>> {
    let kernel = if prepared.names_kernel_addresses { inner.kernel.get(&inner.link, OLD_SYMBOLS).await } else { None };
    let (formats, code_start) = (std::mem::take(&mut prepared.formats), kernel.as_ref().map(|kernel| kernel.base()));
    let mut schemas: Vec<&mut StreamSchema> = prepared.schemas().collect();
    kernel_formats::keep(&inner.link, &mut schemas, formats, code_start).await;
    kernel
}

fn new_capture(
    inner: &Inner,
    spec: &CaptureSpec,
    owner: String,
    host: HostFacts,
    prepared: &mut PreparedSources,
) -> Result<NewCapture, StartError> {
    Ok(NewCapture {
        id: new_id()?,
        title: spec.title(),
        owner,
        spec: spec.clone(),
        host,
        streams: prepared.schemas().map(|schema| schema.clone()).collect(),
        started_unix_ns: wall_unix_ns(),
        start_ns: monotonic_ns(),
        simulated: inner.link.status().simulated,
        firing: None,
    })
}

/// A flight recorder, what looks at its rows, and when it fires.
type PreparedFlight = (Arc<Flight>, (RowWatch, Vec<Schedule>));

/// What a flight recorder keeps, and what looks at its rows; none for a capture that is none.
fn flight_of(new: &NewCapture) -> Result<Option<PreparedFlight>, StartError> {
    let Some(spec) = new.spec.limits.flight.as_deref().cloned() else { return Ok(None) };
    let watch = RowWatch::new(new.streams.clone(), &spec.triggers, new.start_ns);
    let watch = watch.map_err(|why| StartError::Flight { why })?;
    let schedules = timer::schedules(&spec.triggers).map_err(|why| StartError::Flight { why })?;
    Ok(Some((Arc::new(Flight::new(spec)), (watch, schedules))))
}

/// Ends a capture that exists already and could not be started.
async fn mark_failed(inner: &Inner, running: &Running, start_ns: u64, error: &StartError) {
    let (state, reason) = (CaptureState::Failed, format!("it could not be started: {}", words(error)));
    let ledger = lock(&running.accounting).close(start_ns, LossKnowledge::All);
    let end = End { state, reason, end_ns: start_ns, ledger, readings: Vec::new(), script: None, sources: Vec::new() };
    if let Err(error) = inner.store.finish(running.id, end).await {
        tracing::error!(capture = %running.id, error = words(&error), "a capture that failed cannot be marked so");
    }
}

async fn enable(
    inner: &Arc<Inner>,
    running: &Arc<Running>,
    spec: CaptureSpec,
    (handle, connection, counters): (CaptureHandle, u64, Option<CounterView>),
    mut threads: Threads,
    start_ns: u64,
) -> Result<(), StartError> {
    if let Some(ready) = threads.ready.take() {
        // A decoder that is gone is told of by the controller.
        let _gone = ready.await;
    }
    let detach = spec.over_budget() == OverBudget::Detach;
    let budget = Budget::of_cpu(spec.limits.budget_cpu_permille, detach).with(spec.limits.budgets);
    inner.link.call(move |client| client.set_budget(handle, budget)).await?;
    let enabled = inner.link.call(move |client| client.enable(handle)).await;
    let enabled = match &running.script {
        Some(_script) => enabled.map_err(ScriptFailure::from)?,
        None => enabled?,
    };
    if let Some(script) = &running.script {
        let failed = enabled.script.map(|script| script.failed).unwrap_or_default();
        note_failures(&script.plan, &failed, &mut lock(&script.state));
    }
    running.progress.without_sources(&failures(&spec, enabled.failed));
    let enabled = Instant::now();
    inner.add(Arc::clone(running));
    if let Some(derivations) = inner.derivations.get().filter(|_| running.flight.is_none()) {
        derivations.follow(running);
    }
    let controller = Controller {
        inner: Arc::clone(inner),
        running: Arc::clone(running),
        spec,
        handle,
        connection,
        counters,
        start_ns,
        enabled,
        threads,
    };
    tokio::spawn(guard(Arc::clone(inner), Arc::clone(running), controller, (handle, connection)));
    Ok(())
}

/// Sources that could be made and not enabled, by id.
fn failures(spec: &CaptureSpec, failed: Vec<SourceFailure>) -> Vec<(String, AgentError)> {
    let named = |SourceFailure { source, error }: SourceFailure| {
        let id = spec.sources.get(source as usize).map(|source| source.id.clone());
        (id.unwrap_or_default(), error)
    };
    failed.into_iter().map(named).collect()
}

/// Runs the controller; if it panics, its capture fails and no other does (P45).
async fn guard(
    inner: Arc<Inner>,
    running: Arc<Running>,
    controller: Controller,
    (handle, connection): (CaptureHandle, u64),
) {
    let Err(error) = tokio::spawn(controller.run()).await else { return };
    tracing::error!(capture = %running.id, %error, "the controller of a capture failed");
    undo(&inner.link, handle, connection).await;
    let (state, reason) = (CaptureState::Failed, "the console failed while it was recorded".to_owned());
    let end_ns = monotonic_ns();
    let ledger = lock(&running.accounting).close(end_ns, LossKnowledge::UntilLastReading);
    let end =
        End { state, reason: reason.clone(), end_ns, ledger, readings: Vec::new(), script: None, sources: Vec::new() };
    if let Err(error) = inner.store.finish(running.id, end).await {
        tracing::error!(capture = %running.id, error = words(&error), "a capture that failed cannot be marked so");
    }
    running.set_phase(Phase::Ended);
    running.hub.send(LiveMessage::Ended { state, reason });
    inner.remove(running.id);
}

fn new_id() -> Result<CaptureId, StartError> {
    let bits = getrandom::u64();
    bits.map(CaptureId::from_bits)
        .map_err(|error| StartError::System { doing: "drawing a random id", why: error.to_string() })
}

fn from_hex(digits: &str) -> Vec<u8> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.as_bytes().chunks(2).map_while(pair).collect()
}
