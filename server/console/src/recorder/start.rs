//! Starts a capture: everything or nothing.

use std::{
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex,
        mpsc::{SyncSender, sync_channel},
    },
    time::{Duration, Instant},
};

use bathyscope_capture::{
    CaptureId, CaptureSpec, CountSpec, DynamicProbe, Method, OverBudget, ProfileSpec, ScriptProbe, ScriptRecord,
    ScriptSpec, StreamKind, StreamSchema, SyscallSpec, Target,
};
use bathyscope_catalog::perf_events::{detailed_events, usual_events};
use bathyscope_decode::{perf::PerfFormat, records::RecordDecoder};
use bathyscope_plan::Plan;
use bathyscope_protocol::{
    Budget, CaptureHandle, ProbeFailure, RingContent, RingKind, ScriptStarted, Started, StreamLayout, TakenRings,
    WireMethod, WireSyscalls, counters::CounterView, rings::RingReader,
};
use bathyscope_store::{CaptureState, End, NewCapture};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use super::{
    AgentLink, Inner, StartError,
    appender::{Appender, QUEUED_APPENDS},
    clock::{monotonic_ns, wall_unix_ns},
    control::Controller,
    decoder,
    frames::Frames,
    kernel_formats::{self, StreamFormat},
    ledger::{Known, LossAccounting},
    link::words,
    live::LiveMessage,
    live_rows::LiveRows,
    output,
    page_reader::PageReader,
    perf_format::perf_format,
    process_metadata::{FirstLook, MetadataThread, QUEUED_REQUESTS, QUEUED_RESPONSES},
    progress::Progress,
    reader::{self, QUEUED_BATCHES, Source},
    running::{Made, Phase, Running, RunningScript},
    sample_rows,
    samples::Samples,
    script_rows::{ScriptSetup, ScriptState},
    script_streams::{ScriptStreams, probes_of, shows_kernel_addresses, shows_user_addresses},
    syscall_rows::{self, SyscallRows},
    syscall_shown::ShownCalls,
    trace_rows::TraceSetup,
    trace_streams::{TraceStreams, trace_streams},
};
use crate::script::{Follower, HostNames, ScriptEvent, ScriptFailure, ScriptOptions, ScriptRequest};

/// How old the kernel's symbols may be while a capture is recorded: only where the image lies is needed then.
const OLD_SYMBOLS: Duration = Duration::from_secs(3600);

/// What the agent started.
struct Begun {
    handle: CaptureHandle,
    connection: u64,
    started: Started,
    rings: TakenRings,
    plan: Option<Plan>,
    failed: Vec<ProbeFailure>,
    /// Readings that outlive the agent.
    counters: Option<CounterView>,
}

type Streams = Vec<(StreamSchema, Option<RecordDecoder>)>;

/// Starts a capture; to be run where nobody can cancel it.
pub(super) async fn start(
    inner: Arc<Inner>,
    spec: CaptureSpec,
    owner: String,
    tap: Option<SyncSender<ScriptEvent>>,
) -> Result<CaptureId, StartError> {
    spec.validate()?;
    if let Method::Syscalls(calls) = &spec.method {
        syscall_rows::filter_of(calls).map_err(StartError::Filter)?;
    }
    // Before the agent is asked: what would end at once is not begun.
    inner.store.has_room().await?;
    let limit = inner.options.max_captures;
    let slot = Arc::clone(&inner.slots).try_acquire_owned().map_err(|error| match error {
        tokio::sync::TryAcquireError::Closed => StartError::ShuttingDown,
        tokio::sync::TryAcquireError::NoPermits => StartError::TooMany { limit },
    })?;
    let spec = resolved(&inner, spec).await?;
    let mut made = make(&inner, &spec).await?;
    let (handle, connection) = (made.handle, made.connection);
    made.counters = open_counters(&inner.link, handle).await;
    let begun = begin(&inner, spec, (owner, tap), slot, made).await;
    if begun.is_err() {
        undo(&inner.link, handle, connection).await;
    }
    begun
}

/// The file of a capture's readings. Without it losses may end as unknown, which the ledger tells.
async fn open_counters(link: &AgentLink, handle: CaptureHandle) -> Option<CounterView> {
    let opened = link.call(move |client| client.open_counters(handle)).await;
    opened.inspect_err(|error| tracing::warn!(error = words(error), "readings are not kept for a lost agent")).ok()
}

/// With lines for the kernel in the place of what was written.
async fn resolved(inner: &Inner, spec: CaptureSpec) -> Result<CaptureSpec, StartError> {
    let mut link = inner.link.clone();
    let resolving = tokio::task::spawn_blocking(move || crate::dynamic::resolve_spec(&mut link, spec)).await;
    let resolved = resolving
        .map_err(|error| StartError::System { doing: "looking up what probes name", why: error.to_string() })?;
    let spec = resolved.map_err(|(text, diagnostics)| StartError::Dynamic { text, diagnostics })?;
    // A path may have become a longer one.
    spec.validate()?;
    Ok(spec)
}

fn lines_of(probes: &[DynamicProbe]) -> Vec<String> {
    probes.iter().map(|probe| probe.line().to_owned()).collect()
}

async fn make(inner: &Inner, spec: &CaptureSpec) -> Result<Begun, StartError> {
    let handle = inner.next_handle();
    let method = match &spec.method {
        Method::Script(script) => return make_script(inner, script, &spec.target, handle).await,
        method => wire_method(method, &spec.target),
    };
    let (mut link, wanted) = (inner.link.clone(), spec.target.clone());
    let dynamic: Vec<String> = match &spec.method {
        Method::Trace(trace) => lines_of(&trace.dynamic),
        Method::Count(count) => lines_of(&count.dynamic),
        _ => Vec::new(),
    };
    let finding = tokio::task::spawn_blocking(move || {
        super::go_returns::refuse(&mut link, &dynamic)?;
        Ok::<_, StartError>(crate::groups::resolved_target(&mut link, &wanted)?)
    });
    let found = finding.await;
    let target =
        found.map_err(|error| StartError::System { doing: "finding the target", why: error.to_string() })??;
    let (ring_bytes, status) = (inner.options.ring_bytes, inner.link.watch());
    let (started, rings, connection) = inner
        .link
        .call(move |client| {
            // Read here, where nobody connects anew: an agent that came while this waited would otherwise be taken for one that
            // is gone.
            let connection = status.borrow().connection;
            let started = client.start(handle, method, target, ring_bytes)?;
            let rings = client.take_rings(handle, &started)?;
            Ok((started, rings, connection))
        })
        .await?;
    Ok(Begun { handle, connection, started, rings, plan: None, failed: Vec::new(), counters: None })
}

/// Finds the places that a script names and lets the agent compile and load it.
async fn make_script(
    inner: &Inner,
    script: &ScriptSpec,
    target: &Target,
    handle: CaptureHandle,
) -> Result<Begun, StartError> {
    let connection = inner.link.status().connection;
    let request = ScriptRequest {
        text: script.text.clone(),
        name: if script.file.is_empty() { "script".to_owned() } else { script.file.clone() },
        params: script.params.clone(),
        // The rows of a capture always have the thread's name.
        options: ScriptOptions { unsafe_allowed: script.allow_unsafe, comm: true, bare: false },
        settings: Vec::new(),
        target: target.clone(),
        folder: None,
        ring_bytes: inner.options.ring_bytes,
    };
    let mut link = inner.link.clone();
    let making = tokio::task::spawn_blocking(move || crate::script::make(&mut link, handle, &request));
    let made = making
        .await
        .map_err(|error| StartError::System { doing: "preparing the script", why: error.to_string() })??;
    // Its calls went to two agents, and which of them has it cannot be said.
    let now = inner.link.status().connection;
    if now != connection {
        undo(&inner.link, handle, now).await;
        return Err(super::LinkError::Absent { message: "it was restarted meanwhile; try again".to_owned() }.into());
    }
    let ScriptStarted { started, plan, failed, .. } = made.started;
    let rings = TakenRings { rings: made.rings, output: made.output };
    Ok(Begun { handle, connection, started, rings, plan: Some(plan), failed, counters: None })
}

/// Takes back what the agent made.
async fn undo(link: &AgentLink, handle: CaptureHandle, connection: u64) {
    // Over another connection the handle means nothing, or another capture.
    if link.status().connection != connection {
        return;
    }
    let undone = link
        .call(move |client| {
            client.stop(handle, true)?;
            client.discard(handle)
        })
        .await;
    if let Err(error) = undone {
        tracing::warn!(error = words(&error), "the agent could not discard a capture");
    }
}

async fn begin(
    inner: &Arc<Inner>,
    spec: CaptureSpec,
    (owner, tap): (String, Option<SyncSender<ScriptEvent>>),
    slot: OwnedSemaphorePermit,
    made: Begun,
) -> Result<CaptureId, StartError> {
    let Begun { handle, connection, started, rings, plan, failed, counters } = made;
    let rings_error = |why: String| StartError::Rings { why };
    let script = match (&spec.method, plan) {
        (Method::Script(script), Some(plan)) => Some(Script::new(plan, &script.text, failed).map_err(rings_error)?),
        _ => None,
    };
    let mut trace = match &spec.method {
        Method::Trace(trace) => Some(trace_streams(&inner.link, trace, &started).await.map_err(rings_error)?),
        _ => None,
    };
    let mut streams = match (&script, &trace) {
        (Some(script), _) => undecoded(&script.streams.schemas),
        (None, Some(trace)) => undecoded(&trace.schemas),
        (None, None) => streams_of(&spec, &started).map_err(rings_error)?,
    };
    let readers = map_rings(rings.rings, &started).map_err(rings_error)?;
    let is_profile = matches!(spec.method, Method::Profile { .. });
    let shows_kernel = script.as_ref().is_some_and(|script| shows_kernel_addresses(&script.plan));
    let maps = shows_stacks_beside_samples(&spec.method, script.as_ref().map(|script| &*script.plan));
    let host = crate::host::facts_of_capture(&inner.link, &spec.target).await;
    let formats = match &mut trace {
        Some(trace) => std::mem::take(&mut trace.formats),
        None => kernel_formats::of_probes(&inner.link, &spec.method).await,
    };
    let kernel =
        if is_profile || shows_kernel || trace.is_some() || formats.iter().any(StreamFormat::may_name_addresses) {
            inner.kernel.get(&inner.link, OLD_SYMBOLS).await
        } else {
            None
        };
    let schemas = streams.iter_mut().map(|(schema, _)| schema).collect();
    kernel_formats::keep(&inner.link, schemas, formats, kernel.as_ref().map(|kernel| kernel.base())).await;
    let kernel_build_id = from_hex(&host.kernel_build_id);
    let id = new_id()?;
    let Started { compile_ns, load_ns, attach_ns, .. } = &started;
    tracing::debug!(capture = %id, compile_ns, load_ns, attach_ns, "the probes are attached");
    let start_ns = monotonic_ns();
    let new = NewCapture {
        id,
        title: spec.title(),
        owner: owner.clone(),
        spec: spec.clone(),
        host,
        streams: streams.iter().map(|(schema, _)| schema.clone()).collect(),
        started_unix_ns: wall_unix_ns(),
        start_ns,
        simulated: inner.link.status().simulated,
    };
    let title = new.title.clone();
    inner.store.create(new).await?;
    if let Some(script) = &script {
        let record = ScriptRecord { plan: script.json.clone(), probes: script.probes.clone(), exit_code: None };
        inner.store.put_script(id, record).await?;
    }
    let limits = &spec.limits;
    let progress = Arc::new(Progress::new(streams.len(), limits.max_events, limits.max_bytes));
    let accounting = accounting_of(&spec.method, streams.len(), start_ns, script.as_ref(), trace.as_ref());
    let accounting = Arc::new(Mutex::new(accounting));
    let told = script
        .as_ref()
        .map(|script| RunningScript { plan: Arc::clone(&script.plan), state: Arc::clone(&script.state) });
    let made = Made::of(handle, connection, &started);
    let running = Arc::new(Running::new((id, title, owner), (progress, accounting), slot, (told, made)));
    let script = script.map(|script| ScriptSetup {
        follower: Follower::new(handle, Arc::clone(&script.plan)),
        plan: script.plan,
        streams: script.streams,
        link: inner.link.clone(),
        names: HostNames::new(kernel.clone()),
        state: script.state,
        progress: Arc::clone(&running.progress),
        hub: running.hub.clone(),
        tap,
    });
    let names = HostNames::new(kernel.clone());
    let trace = trace.map(|streams| TraceSetup { streams, names, link: inner.link.clone() });
    let syscalls = match &spec.method {
        Method::Syscalls(calls) => Some(SyscallRows::new(calls, &spec.target, &started.streams, inner.link.clone())),
        _ => None,
    };
    let samples = Frames::new(kernel, kernel_build_id, Arc::clone(&running.held));
    let samples = Samples::new(&started.rings, samples, maps).of_events(sampled_events(&spec.method));
    if let Some(cut) = started.rings_cut {
        running.progress.cut_rings(cut);
        tracing::info!(capture = %id, words = running.progress.rings_cut_words(), "the rings were cut");
    }
    let parts = Parts { started, streams, readers, output: rings.output, samples, script, trace, syscalls, maps };
    let begun = match run_threads(inner, &running, parts, start_ns) {
        Ok(threads) => {
            let agent = (handle, connection, counters);
            enable(inner, &running, spec, agent, threads, start_ns).await
        }
        Err(error) => Err(StartError::System { doing: "starting the capture's threads", why: error.to_string() }),
    };
    if let Err(error) = &begun {
        mark_failed(inner, &running, start_ns, error).await;
    }
    begun.map(|()| id)
}

/// Ends a capture that exists already and could not be started.
async fn mark_failed(inner: &Inner, running: &Running, start_ns: u64, error: &StartError) {
    let (state, reason) = (CaptureState::Failed, format!("it could not be started: {}", words(error)));
    let ledger = super::process_metadata::lock(&running.accounting).close(start_ns, Known::All);
    let end = End { state, reason, end_ns: start_ns, ledger, readings: Vec::new(), script: None };
    if let Err(error) = inner.store.finish(running.id, end).await {
        tracing::error!(capture = %running.id, error = words(&error), "a capture that failed cannot be marked so");
    }
}

/// Streams whose rows are not made by a decoder of their own.
fn undecoded(schemas: &[StreamSchema]) -> Streams {
    schemas.iter().map(|schema| (schema.clone(), None)).collect()
}

fn accounting_of(
    method: &Method,
    streams: usize,
    start_ns: u64,
    script: Option<&Script>,
    trace: Option<&TraceStreams>,
) -> LossAccounting {
    match (method, script, trace) {
        (_, Some(script), _) => LossAccounting::of_script(streams, start_ns, script.probes.clone()),
        (Method::Trace(spec), _, Some(trace)) => {
            let name = |stream: &Option<u16>| {
                let schema = stream.and_then(|stream| trace.schemas.get(usize::from(stream)));
                schema.map(|schema| schema.name.clone()).unwrap_or_default()
            };
            let names: Vec<String> = trace.dynamic.iter().map(name).collect();
            LossAccounting::of_trace(streams, start_ns, spec.overwrite, (trace.dynamic.clone(), &names))
        }
        _ => LossAccounting::new(streams, start_ns),
    }
}

/// What the threads begin with.
struct Parts {
    started: Started,
    streams: Streams,
    readers: Vec<Source>,
    output: Option<(OwnedFd, OwnedFd)>,
    samples: Samples,
    script: Option<ScriptSetup>,
    trace: Option<TraceSetup>,
    syscalls: Option<SyscallRows>,
    /// Whether it matters what processes map.
    maps: bool,
}

/// A script that was compiled.
struct Script {
    plan: Arc<Plan>,
    /// The plan as it is stored.
    json: String,
    streams: ScriptStreams,
    probes: Vec<ScriptProbe>,
    state: Arc<Mutex<ScriptState>>,
}

impl Script {
    fn new(plan: Plan, text: &str, failed: Vec<ProbeFailure>) -> Result<Self, String> {
        let json = serde_json::to_string(&plan).map_err(|error| error.to_string())?;
        let streams = ScriptStreams::new(&plan, text)?;
        let mut state = ScriptState::default();
        note_failures(&plan, &failed, &mut state);
        let probes = probes_of(&plan);
        Ok(Self { plan: Arc::new(plan), json, streams, probes, state: Arc::new(Mutex::new(state)) })
    }
}

/// Notes attach points without which a script runs.
fn note_failures(plan: &Plan, failed: &[ProbeFailure], state: &mut ScriptState) {
    for ProbeFailure { probe, error } in failed {
        let name = plan.probes.get(*probe as usize).map_or("a probe", |probe| probe.name.as_str());
        state.trouble(format!("{name} is not attached: {}", error.why));
    }
}

/// The threads and tasks of a capture.
pub(super) struct Threads {
    pub(super) reader: reader::ReaderHandle,
    pub(super) decoder: Option<std::thread::JoinHandle<()>>,
    /// Told when the decoder knows what it has to know before the target goes on.
    pub(super) ready: Option<tokio::sync::oneshot::Receiver<()>>,
    pub(super) appender: Option<tokio::task::JoinHandle<()>>,
    pub(super) output: Option<tokio::task::JoinHandle<()>>,
    pub(super) ending: watch::Sender<bool>,
    pub(super) names: Vec<String>,
}

fn run_threads(inner: &Inner, running: &Running, parts: Parts, start_ns: u64) -> std::io::Result<Threads> {
    let Parts { started, streams, readers, output, samples, script, trace, syscalls, maps } = parts;
    let (to_decoder, records) = sync_channel(QUEUED_BATCHES);
    let (requests_in, requests) = sync_channel(QUEUED_REQUESTS);
    let (responses_in, responses) = sync_channel(QUEUED_RESPONSES);
    let (to_store, appends) = mpsc::channel(QUEUED_APPENDS);
    let (ending, watched) = watch::channel(false);
    let held = Arc::clone(&running.held);
    let names = streams.iter().map(|(schema, _)| schema.name.clone()).collect();
    let has_stacks = streams.iter().any(|(schema, _)| schema.kind == StreamKind::Samples);
    let first = started.target_pid.map_or(FirstLook::All, FirstLook::One);
    let metadata = MetadataThread {
        link: inner.link.clone(),
        requests,
        responses: responses_in,
        held,
        first,
        maps: has_stacks || maps,
    };
    let (progress, accounting) = (Arc::clone(&running.progress), Arc::clone(&running.accounting));
    let appender = Appender {
        store: inner.store.clone(),
        id: running.id,
        accounting: Arc::clone(&accounting),
        progress: Arc::clone(&progress),
    };
    let output =
        output.map(|pipes| tokio::spawn(output::read(pipes, to_store.clone(), Arc::clone(&progress), watched)));
    let live = LiveRows::new(running.hub.clone(), streams.len());
    let rows = decoder::Rows { samples, script, trace, syscalls, target_pid: started.target_pid };
    let setup = decoder::Setup {
        id: running.id,
        start_ns,
        flush_every: inner.options.flush_every,
        streams,
        rings: started.rings,
        records,
        responses,
        requests: requests_in,
        to_store,
        accounting,
        progress,
        live,
        naming: running.naming.clone(),
        link: inner.link.clone(),
        private_dir: inner.options.private_dir.clone(),
    };
    let (tell_ready, ready) = tokio::sync::oneshot::channel();
    let decoder = decoder::spawn(setup, rows, tell_ready)?;
    let appender = tokio::spawn(appender.run(appends));
    metadata.spawn()?;
    let reader = reader::spawn(readers, to_decoder)?;
    Ok(Threads { reader, decoder: Some(decoder), ready: Some(ready), appender: Some(appender), output, ending, names })
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
    if let Some(script) = &running.script {
        let enabled = inner.link.call(move |client| client.enable_script(handle)).await;
        let enabled = enabled.map_err(ScriptFailure::from)?;
        note_failures(&script.plan, &enabled.failed, &mut super::process_metadata::lock(&script.state));
    } else {
        inner.link.call(move |client| client.enable(handle)).await?;
    }
    let enabled = Instant::now();
    inner.add(Arc::clone(running));
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
    let ledger = super::process_metadata::lock(&running.accounting).close(end_ns, Known::UntilLastReading);
    let end = End { state, reason: reason.clone(), end_ns, ledger, readings: Vec::new(), script: None };
    if let Err(error) = inner.store.finish(running.id, end).await {
        tracing::error!(capture = %running.id, error = words(&error), "a capture that failed cannot be marked so");
    }
    running.set_phase(Phase::Ended);
    running.hub.send(LiveMessage::Ended { state, reason });
    inner.remove(running.id);
}

fn wire_method(method: &Method, target: &Target) -> WireMethod {
    match method {
        Method::Events { probes } => WireMethod::Events { probes: probes.clone() },
        Method::Syscalls(spec) => {
            let filter = syscall_rows::filter_of(spec).ok().flatten();
            WireMethod::Syscalls(WireSyscalls {
                // Conditions on files need what new descriptors are as well.
                calls: SyscallSpec { fd_paths: spec.fd_paths || filter.is_some(), ..spec.clone() },
                ancestors: filter.is_some_and(|filter| filter.asks_for_family()),
                opening: ShownCalls::of(spec).is_some(),
            })
        }
        Method::Profile(profile) => WireMethod::Profile(profile.clone()),
        Method::Count(count) => WireMethod::Count(counted(count, target)),
        // A script is made by a request of its own.
        Method::Script(_) => WireMethod::Events { probes: Vec::new() },
        Method::Trace(trace) => WireMethod::Trace(Box::new(trace.clone())),
    }
}

/// The counts with their events one by one, also where the spec leaves them open.
fn counted(count: &CountSpec, target: &Target) -> CountSpec {
    let everywhere = count.everywhere || *target.watched() == Target::System;
    let alone = |event: &str| vec![event.to_owned()];
    // Events that are made for this are counted, whether or not they are named.
    let made = count.dynamic.iter().filter_map(|probe| crate::dynamic::event_of(probe.line()));
    let is_named = |event: &String| {
        count.groups.iter().flatten().any(|named| named == event || named.starts_with(&format!("{event}:")))
    };
    let made: Vec<Vec<String>> = made.filter(|event| !is_named(event)).map(|event| vec![event]).collect();
    let groups = match count.groups.as_slice() {
        [] if !made.is_empty() => Vec::new(),
        [] => usual_events(count.detail, everywhere).into_iter().map(alone).collect(),
        groups => groups.iter().cloned().chain(detailed_events(count.detail).into_iter().map(alone)).collect(),
    };
    CountSpec { groups: groups.into_iter().chain(made).collect(), detail: 0, ..count.clone() }
}

/// The events that are sampled, if there are several.
fn sampled_events(method: &Method) -> Vec<String> {
    match method {
        Method::Profile(profile) if !profile.more.is_empty() => {
            let more = profile.more.iter().map(|more| &more.event);
            profile.event.iter().chain(more).cloned().collect()
        }
        _ => Vec::new(),
    }
}

/// The names of a profile's streams. That of branches is made of the samples' one.
fn profile_streams(profile: &ProfileSpec) -> Vec<String> {
    let usual = if profile.branches.is_empty() { "cpu-clock" } else { "cycles" };
    let name = match profile.more.as_slice() {
        [] => profile.event.clone().unwrap_or_else(|| usual.to_owned()),
        _several => "samples".to_owned(),
    };
    let branches = (!profile.branches.is_empty()).then(|| name.clone());
    std::iter::once(name).chain(branches).collect()
}

/// Whether there are stacks of user space that are no samples'.
fn shows_stacks_beside_samples(method: &Method, plan: Option<&Plan>) -> bool {
    let own = match method {
        Method::Syscalls(calls) => calls.stacks,
        Method::Trace(trace) => trace.options.iter().any(|(name, on)| *on && name == "userstacktrace"),
        _ => false,
    };
    own || plan.is_some_and(shows_user_addresses)
}

/// The streams' schemas and decoders, if the agent's layouts are what was asked for.
fn streams_of(spec: &CaptureSpec, started: &Started) -> Result<Streams, String> {
    let names: Vec<String> = match &spec.method {
        Method::Events { probes } => probes.iter().map(|probe| probe.tracepoint.to_string()).collect(),
        Method::Profile(profile) => profile_streams(profile),
        Method::Count(_) => vec!["counts".to_owned()],
        Method::Syscalls(_) => vec!["syscalls".to_owned()],
        Method::Script(_) => Vec::new(),
        // Its streams are made of the kernel's formats.
        Method::Trace(_) => Vec::new(),
    };
    if names.len() != started.streams.len() {
        return Err(format!("{} streams were asked for and {} were made", names.len(), started.streams.len()));
    }
    let is_profile = matches!(spec.method, Method::Profile { .. });
    let has_memory = matches!(&spec.method, Method::Profile(profile) if profile.memory);
    let has_events = matches!(&spec.method, Method::Profile(profile) if !profile.more.is_empty());
    let calls = if let Method::Syscalls(calls) = &spec.method { Some(calls) } else { None };
    let is_syscalls = calls.is_some();
    let stream = |(name, layout): (String, &StreamLayout)| match layout {
        StreamLayout::Records { record_bytes, columns } if !is_profile && !is_syscalls => {
            let made = RecordDecoder::new(&name, *record_bytes, columns).map_err(|error| error.to_string())?;
            Ok((made.1, Some(made.0)))
        }
        StreamLayout::PerfSamples if is_profile => {
            let with = sample_rows::SampleColumns {
                memory: has_memory,
                branches: started.streams.len() > 1,
                event: has_events,
            };
            Ok((sample_rows::samples(name, with), None))
        }
        StreamLayout::PerfBranches if is_profile => Ok((sample_rows::branches(&name), None)),
        StreamLayout::Syscalls { .. } if is_syscalls => {
            Ok((calls.map(syscall_rows::schema).ok_or_else(|| format!("{name} is asked of no calls"))?, None))
        }
        StreamLayout::Records { .. }
        | StreamLayout::PerfSamples
        | StreamLayout::PerfBranches
        | StreamLayout::Syscalls { .. }
        | StreamLayout::TracePages => Err(format!("{name} has records of another kind")),
    };
    names.into_iter().zip(&started.streams).map(stream).collect()
}

fn map_rings(rings: Vec<OwnedFd>, started: &Started) -> Result<Vec<Source>, String> {
    if rings.len() != started.rings.len() {
        return Err(format!("{} rings were announced and {} came", started.rings.len(), rings.len()));
    }
    let map = |(fd, info): (OwnedFd, &bathyscope_protocol::RingInfo)| {
        let format = perf_format(info.kind);
        if let RingContent::Stream { stream } = info.content {
            let layout = started.streams.get(usize::from(stream)).ok_or("a ring of a stream that there is not")?;
            let fits = match layout {
                StreamLayout::Records { .. } | StreamLayout::Syscalls { .. } => format.is_none(),
                StreamLayout::PerfSamples => format.is_some_and(PerfFormat::fits_samples),
                // Branches have no rings of their own.
                StreamLayout::PerfBranches | StreamLayout::TracePages => false,
            };
            if !fits {
                return Err(format!("the ring of stream {stream} has another kind of records"));
            }
        }
        if let RingKind::TracePipe { page_bytes } = info.kind {
            return PageReader::new(fd, page_bytes).map(Source::Pages).map_err(|error| words(&error));
        }
        RingReader::map(fd, info).map(Source::Ring).map_err(|error| words(&error))
    };
    rings.into_iter().zip(&started.rings).map(map).collect()
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
