//! What the agent is asked to make for a capture, and to take back.

use bathyscope_capture::{CaptureSpec, Target};
use bathyscope_link::script::WrittenScript;
use bathyscope_plan::Diagnostic;
use bathyscope_protocol::{CaptureHandle, Started, TakenRings, WireMethod, WireSource, counters::CounterView};

use super::{
    AgentLink, Inner, StartError,
    engine::{Request, Source},
    link::words,
};
use crate::script::ScriptFailure;

/// What the agent made.
pub(super) struct Begun {
    pub(super) handle: CaptureHandle,
    pub(super) connection: u64,
    pub(super) started: Started,
    pub(super) rings: TakenRings,
    /// Readings that outlive the agent.
    pub(super) counters: Option<CounterView>,
}

/// The file of a capture's readings. Without it losses may end as unknown, which the ledger tells.
async fn open_counters(link: &AgentLink, handle: CaptureHandle) -> Option<CounterView> {
    let opened = link.call(move |client| client.open_counters(handle)).await;
    opened.inspect_err(|error| tracing::warn!(error = words(error), "readings are not kept for a lost agent")).ok()
}

/// The spec with lines for the kernel in the place of what was written.
pub(super) async fn resolved(inner: &Inner, spec: CaptureSpec) -> Result<CaptureSpec, StartError> {
    let mut link = inner.link.clone();
    let resolving = tokio::task::spawn_blocking(move || bathyscope_link::dynamic::resolve_spec(&mut link, spec)).await;
    let resolved = resolving
        .map_err(|error| StartError::System { doing: "looking up what probes name", why: error.to_string() })?;
    let spec = resolved.map_err(|(text, diagnostics)| StartError::Dynamic { text, diagnostics })?;
    // A path may have become a longer one.
    spec.validate()?;
    Ok(spec)
}

/// Lets the agent make all sources of a capture, which records nothing before it is enabled.
pub(super) async fn make(
    inner: &Inner,
    spec: &CaptureSpec,
    sources: &[Box<dyn Source + '_>],
) -> Result<Begun, StartError> {
    let (handle, ring_bytes) = (inner.next_handle(), inner.options.ring_bytes);
    let asked: Vec<(Request, SourceName)> =
        sources.iter().map(|source| source.request(&spec.target, ring_bytes)).zip(names_of(spec)).collect();
    let dynamic: Vec<String> = sources.iter().flat_map(|source| source.dynamic_lines()).map(str::to_owned).collect();
    let (mut link, wanted) = (inner.link.clone(), spec.target.clone());
    let finding = tokio::task::spawn_blocking(move || {
        super::go_returns::refuse(&mut link, &dynamic)?;
        let target = bathyscope_link::groups::resolved_target(&mut link, &wanted)?;
        let wire = asked.into_iter().map(|(request, name)| wire_source(&mut link, request, name, &target));
        let (sources, warnings): (Vec<_>, Vec<_>) = wire.collect::<Result<Vec<_>, StartError>>()?.into_iter().unzip();
        Ok::<_, StartError>((target, sources, warnings))
    });
    let found = finding.await;
    let (target, sources, warnings) =
        found.map_err(|error| StartError::System { doing: "finding the target", why: error.to_string() })??;
    let has_script = sources.iter().any(|source| source.method.has_plan());
    let status = inner.link.watch();
    let starting = inner.link.call(move |client| {
        // Read here, where nobody connects anew: an agent that came while this waited would otherwise be taken for one that
        // is gone.
        let connection = status.borrow().connection;
        let started = client.start(handle, sources, target, ring_bytes)?;
        match client.take_rings(handle, &started) {
            Ok(rings) => Ok((started, rings, connection)),
            Err(error) => {
                // What was made must not stay; why its rings cannot be had is worth more than a failure to remove it.
                let _undone = client.stop(handle, true).and_then(|_| client.discard(handle));
                Err(error)
            }
        }
    });
    let started = starting.await;
    let (mut started, rings, connection) = started
        .map_err(|error| if has_script { ScriptFailure::from(error).into() } else { StartError::from(error) })?;
    for (source, warning) in started.sources.iter_mut().zip(warnings) {
        if let Some(script) = &mut source.script {
            script.plan.warnings.extend(warning);
        }
    }
    let counters = open_counters(&inner.link, handle).await;
    Ok(Begun { handle, connection, started, rings, counters })
}

/// What a source is called, and whether the capture does not begin without it.
type SourceName = (String, bool);

fn names_of(spec: &CaptureSpec) -> impl Iterator<Item = SourceName> {
    spec.sources.iter().map(|source| (source.id.clone(), source.required))
}

/// A source as the agent takes it; of a script, a warning besides. What is named in programs is looked up.
fn wire_source(
    link: &mut AgentLink,
    request: Request,
    (id, required): SourceName,
    target: &Target,
) -> Result<(WireSource, Option<Diagnostic>), StartError> {
    let (method, warning) = match request {
        Request::Method(method) => (*method, None),
        Request::Script(request) => {
            let WrittenScript { script, warning } = crate::script::written(link, &request, target)?;
            (WireMethod::Script(Box::new(script)), warning)
        }
    };
    Ok((WireSource { id, method, required }, warning))
}

/// Takes back what the agent made.
pub(super) async fn undo(link: &AgentLink, handle: CaptureHandle, connection: u64) {
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
