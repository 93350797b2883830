//! Has a script made: places, compiler, maps and rings, but for its links.

use std::os::fd::OwnedFd;

use bathyscope_capture::Target;
use bathyscope_plan::{Diagnostic, Span};
use bathyscope_protocol::{CaptureHandle, ProtocolError, ScriptStarted, Started, WireMethod, WireScript};

use super::{ScriptFailure, ScriptRequest, places};
use crate::{ScriptAgent, groups::resolved_target};

/// What the agent made for a script, before anything runs.
#[derive(Debug)]
pub struct PreparedScript {
    /// What it says of it, but for what only scripts have.
    pub started: Started,
    /// What the script does and takes.
    pub script: ScriptStarted,
    /// In the order of its rings; the first is the script's.
    pub rings: Vec<OwnedFd>,
    /// Read ends of the command's standard output and standard error, if there is one whose output is kept.
    pub output: Option<(OwnedFd, OwnedFd)>,
}

/// A script with everything that the agent needs of it.
#[derive(Debug)]
pub struct WrittenScript {
    /// What is sent.
    pub script: WireScript,
    /// What is worth knowing of it besides; belongs to the warnings of its plan.
    pub warning: Option<Diagnostic>,
}

/// Finds a script's places in user space, and the tables by which stacks of its target are walked. Blocks.
///
/// # Errors
/// If a place is not there, or the agent is not.
pub fn written(
    agent: &mut impl ScriptAgent,
    request: &ScriptRequest,
    target: &Target,
) -> Result<WrittenScript, ScriptFailure> {
    let mut script = places::wire_script(agent, request)?;
    let tables = places::tables_of(agent, &request.text, target);
    script.unwind = tables.tables;
    Ok(WrittenScript { script, warning: tables.warning.map(|it| Diagnostic::warning(Span::default(), it)) })
}

/// Finds what a script needs and lets the agent compile, load and prepare it. Blocks.
///
/// # Errors
/// What is wrong with the script, or why it cannot run here.
pub fn make(
    agent: &mut impl ScriptAgent,
    handle: CaptureHandle,
    request: &ScriptRequest,
) -> Result<PreparedScript, ScriptFailure> {
    let target = resolved_target(agent, &request.target)?;
    let WrittenScript { script, warning } = written(agent, request, &target)?;
    let (method, ring_bytes) = (WireMethod::Script(Box::new(script)), request.ring_bytes);
    let (started, mut script, taken) = agent.call(move |client| {
        let mut started = client.start(handle, method, target, ring_bytes)?;
        let script = started.sources.first_mut().and_then(|source| source.script.take());
        let script = script.ok_or(ProtocolError::WrongReply { request: "start" })?;
        match client.take_rings(handle, &started) {
            Ok(rings) => Ok((started, *script, rings)),
            Err(error) => {
                // What was made must not stay; why its rings cannot be had is worth more than a failure to remove it.
                let _undone = client.stop(handle, true).and_then(|_| client.discard(handle));
                Err(error)
            }
        }
    })?;
    script.plan.warnings.extend(warning);
    Ok(PreparedScript { started, script, rings: taken.rings, output: taken.output })
}
