//! What the agent is asked to make for a capture, and to take back.

use bathyscope_capture::{CaptureSpec, Target};
use bathyscope_plan::Plan;
use bathyscope_protocol::{
    CaptureHandle, ProbeFailure, ScriptStarted, Started, TakenRings, WireMethod, counters::CounterView,
};

use super::{
    AgentLink, Inner, LinkError, StartError,
    engine::{Request, Source},
    link::words,
};
use crate::script::ScriptRequest;

/// What the agent made.
pub(super) struct Begun {
    pub(super) handle: CaptureHandle,
    pub(super) connection: u64,
    pub(super) started: Started,
    pub(super) rings: TakenRings,
    /// What its compiler made of a script.
    pub(super) plan: Option<Plan>,
    pub(super) failed: Vec<ProbeFailure>,
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

/// Lets the agent make a source, which records nothing before it is enabled.
pub(super) async fn make(inner: &Inner, source: &dyn Source, target: &Target) -> Result<Begun, StartError> {
    let handle = inner.next_handle();
    let mut made = match source.request(target, inner.options.ring_bytes) {
        Request::Method(method) => {
            let dynamic = source.dynamic_lines().into_iter().map(str::to_owned).collect();
            make_method(inner, *method, dynamic, target, handle).await?
        }
        Request::Script(request) => make_script(inner, *request, handle).await?,
    };
    made.counters = open_counters(&inner.link, handle).await;
    Ok(made)
}

async fn make_method(
    inner: &Inner,
    method: WireMethod,
    dynamic: Vec<String>,
    target: &Target,
    handle: CaptureHandle,
) -> Result<Begun, StartError> {
    let (mut link, wanted) = (inner.link.clone(), target.clone());
    let finding = tokio::task::spawn_blocking(move || {
        super::go_returns::refuse(&mut link, &dynamic)?;
        Ok::<_, StartError>(bathyscope_link::groups::resolved_target(&mut link, &wanted)?)
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
async fn make_script(inner: &Inner, request: ScriptRequest, handle: CaptureHandle) -> Result<Begun, StartError> {
    let connection = inner.link.status().connection;
    let mut link = inner.link.clone();
    let making = tokio::task::spawn_blocking(move || crate::script::make(&mut link, handle, &request));
    let made = making
        .await
        .map_err(|error| StartError::System { doing: "preparing the script", why: error.to_string() })??;
    // Its calls went to two agents, and which of them has it cannot be said.
    let now = inner.link.status().connection;
    if now != connection {
        undo(&inner.link, handle, now).await;
        return Err(LinkError::Absent { message: "it was restarted meanwhile; try again".to_owned() }.into());
    }
    let ScriptStarted { plan, failed, .. } = made.script;
    let rings = TakenRings { rings: made.rings, output: made.output };
    Ok(Begun { handle, connection, started: made.started, rings, plan: Some(plan), failed, counters: None })
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
