//! Scripts of the probe language as they are given to the agent: the places in user space that they name ([`places_of`]) are
//! found here, in files that the agent opens; it compiles, loads and attaches.

mod make;
mod places;

use std::path::PathBuf;

use bathyscope_capture::Target;
use bathyscope_plan::Diagnostic;
use bathyscope_protocol::{AgentError, ScriptFacts};

pub use make::{PreparedScript, WrittenScript, make, written};
pub use places::{FileVersion, OpenFile, ProgramFile, check_script, matches, open_program, resolve as places_of};
pub(crate) use places::{
    OffsetPlace, ReadProgram, decompressed_debug, file_functions, function_place, kernel_variables, offset_place,
    open_kernel_debug, place_variables, user_path,
};

use crate::{LinkError, ScriptAgent, groups::TargetError, words};

/// What can stand at a byte of a script that is being written, and what stands there.
///
/// # Errors
/// If the agent is not there.
pub fn script_facts(agent: &mut impl ScriptAgent, text: String, offset: u32) -> Result<ScriptFacts, ScriptFailure> {
    Ok(agent.call(move |client| client.script_facts(&text, offset))?)
}

/// Bytes of the ring where nothing else is said: what is printed in 50 ms if each of a million hits a second prints 80
/// bytes. The pages are part of the memory that a session costs.
pub const USUAL_RING_BYTES: u32 = 4 << 20;

/// A script to run.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptRequest {
    /// Its text.
    pub text: String,
    /// What it is called in messages: a file's name, or `script`.
    pub name: String,
    /// `$1`, `$2` …
    pub params: Vec<String>,
    /// How it is run.
    pub options: ScriptOptions,
    /// Settings from outside, as `config` names them.
    pub settings: Vec<(String, String)>,
    /// Where paths in attach points begin that do not begin with `/`; none where whoever wrote it is in no folder here.
    pub folder: Option<PathBuf>,
    /// Whose events.
    pub target: Target,
    /// Bytes of the ring; the script's own `config` counts more, the agent has the last word.
    pub ring_bytes: u32,
}

/// How a script is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScriptOptions {
    /// Whether it may change the system (`system()`, `signal()`, `override()` …) and probe raw addresses.
    pub unsafe_allowed: bool,
    /// Whether each record carries the thread's name.
    pub comm: bool,
    /// Whether nobody keeps a ledger, or rows: then neither are hits counted, nor do records that only show something say
    /// when, where and by whom they were made.
    pub bare: bool,
}

/// Why a script does not run. Nothing of it is left in the kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptFailure {
    /// The script is wrong, or cannot run on this kernel. At least one of them is an error.
    #[error("the script cannot run: {}", first(diagnostics))]
    Script {
        /// What is wrong, in the order of the text.
        diagnostics: Vec<Diagnostic>,
    },
    /// Whose events are wanted was not found.
    #[error(transparent)]
    Target(TargetError),
    /// The agent refused it, and said why.
    #[error(transparent)]
    Refused(AgentError),
    /// The agent is not there, or went away.
    #[error("the agent cannot be reached: {message}")]
    Absent {
        /// What is known about it.
        message: String,
    },
    /// What the agent gave cannot be used.
    #[error("the script's records cannot be read: {why}")]
    Ring {
        /// Why.
        why: String,
    },
}

fn first(diagnostics: &[Diagnostic]) -> &str {
    let worst = |it: &&Diagnostic| it.severity == bathyscope_plan::Severity::Error;
    let worst = diagnostics.iter().find(worst).or(diagnostics.first());
    worst.map_or("it is not known why", |it| it.message.as_str())
}

impl From<TargetError> for ScriptFailure {
    fn from(error: TargetError) -> Self {
        match error {
            TargetError::Agent(error) => error.into(),
            error => Self::Target(error),
        }
    }
}

impl From<LinkError> for ScriptFailure {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Refused(error) => Self::Refused(error),
            LinkError::Script(refused) => Self::Script { diagnostics: refused.diagnostics },
            other => Self::Absent { message: words(&other) },
        }
    }
}
