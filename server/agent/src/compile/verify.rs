//! Whether what the child has made is allowed.
//!
//! The compiler makes nothing that is refused here. But it ran on the text of a stranger, in a child that may have been taken
//! over, so nothing of its answer is believed: not that instructions refer only to maps of the script, not that a program is
//! what its attach points want, not that maps have the sizes and kinds that the agent reads and writes them by. What is
//! dangerous is allowed by the agent's own settings and the request. What a program does beyond that is for the kernel's verifier.

mod instructions;
mod maps;
mod points;
#[cfg(test)]
mod tests;

use bathyscope_plan::{Action, Plan};
use bathyscope_protocol::{AgentError, AgentErrorKind, WireScript};

use super::{CompiledScript, ScriptRights};
use crate::error::failed;

/// The most attach points of a script, whatever it sets.
const MAX_PROBES: usize = 65_536;
/// The most programs of a script, whatever it sets.
const MAX_PROGRAMS: usize = 8192;
/// The longest name of a program, a map or an attach point.
const MAX_NAME_BYTES: usize = 512;
/// The longest licence.
const MAX_LICENSE_BYTES: usize = 128;

/// What a script may do here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowed {
    /// Change what it observes.
    change: bool,
}

impl Allowed {
    /// Both whoever started the agent and whoever sent the script must have said so.
    pub(super) fn of(script: &WireScript, rights: ScriptRights) -> Self {
        Self { change: rights == ScriptRights::Change && script.allow_unsafe }
    }
}

/// Checks everything that [`crate::kernel`] relies on.
///
/// # Errors
/// The first thing that is not allowed.
pub(super) fn check(compiled: &CompiledScript, script: &WireScript, allowed: Allowed) -> Result<(), AgentError> {
    let CompiledScript { codes, plan } = compiled;
    check_counts(plan, codes.len())?;
    points::check(plan, codes, script, allowed)?;
    maps::check(plan, codes)?;
    codes.iter().try_for_each(|code| instructions::check(code, allowed))
}

fn check_counts(plan: &Plan, codes: usize) -> Result<(), AgentError> {
    let limit = |what: &str, found: usize, most: usize| {
        let why = format!("it has {found} {what}, and at most {most} are possible");
        Err(failed(AgentErrorKind::Limit, "loading the script", why, "Choose fewer with its wildcards."))
    };
    if plan.probes.len() > MAX_PROBES {
        return limit("attach points", plan.probes.len(), MAX_PROBES);
    }
    if codes > MAX_PROGRAMS {
        return limit("programs", codes, MAX_PROGRAMS);
    }
    if plan.programs.len() != codes {
        return Err(unexpected("its plan and its programs do not match"));
    }
    let license = &plan.config.license;
    if license.len() > MAX_LICENSE_BYTES || license.contains('\0') {
        return Err(unexpected("its licence is too long, or has a NUL byte"));
    }
    let map_of = |action: &Action| match action {
        Action::PrintMap { map, .. }
        | Action::PrintElement { map, .. }
        | Action::Clear { map }
        | Action::Zero { map } => Some(*map as usize),
        _ => None,
    };
    let maps = plan.sites.iter().filter_map(|site| map_of(&site.action));
    if maps.max().is_some_and(|map| map >= plan.maps.len()) {
        return Err(unexpected("a record is about a map that the script does not have"));
    }
    Ok(())
}

/// What the compiler never makes: it is broken, or somebody speaks in its place.
fn unexpected(why: impl Into<String>) -> AgentError {
    let why = format!("the process that compiles returned an invalid program: {}", why.into());
    failed(AgentErrorKind::Internal, "checking the compiled script", why, "Report this as a defect, with the script.")
}

/// What this agent, or this request, does not allow.
fn denied(why: impl Into<String>) -> AgentError {
    let remedy = "Whoever starts Bathyscope can allow scripts that change what they observe, and then the script must ask for it.";
    failed(AgentErrorKind::Denied, "checking the compiled script", why, remedy)
}

/// Whether it can be the name of something: printable, and not too long.
fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len()) && !name.contains('\0')
}
