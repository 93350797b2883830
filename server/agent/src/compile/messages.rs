//! What agent and child say to each other. The agent treats what comes from the child as hostile.

use bathyscope_bpf::Code;
use bathyscope_plan::{Diagnostic, Plan, ProgramType};
use bathyscope_protocol::{MAX_PATH_BYTES, ScriptChecked, ScriptFacts, ScriptStage};
use serde::{Deserialize, Serialize};

use super::Around;

/// The longest name that is asked for; those of the kernel are shorter.
const MAX_NAME_BYTES: usize = 512;

/// What a child is to do. It finds this in its memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Job {
    /// Compile the script to run it.
    Compile(Around),
    /// Compile it for its messages, and show a stage.
    Check(Option<ScriptStage>),
    /// Say what stands and can stand at this byte.
    Facts(u32),
}

/// A question about the host that only the agent can answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Question {
    /// The format of a tracepoint.
    Tracepoint {
        /// Its subsystem.
        system: String,
        /// Its name.
        name: String,
    },
    /// The address of a kernel symbol.
    Symbol {
        /// Its name.
        name: String,
    },
    /// Whether programs of a type may call a function of the kernel.
    Callable {
        /// Its name.
        name: String,
        /// The type.
        program: ProgramType,
    },
    /// The id of a control group.
    Group {
        /// Its path.
        path: String,
    },
}

impl Question {
    /// Whether its names are such as the kernel gives. A tracepoint's are parsed by whoever opens its files.
    pub(super) fn is_sound(&self) -> bool {
        let is_name =
            |name: &str| (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
        match self {
            Self::Tracepoint { system, name } => is_name(system) && is_name(name),
            Self::Symbol { name } | Self::Callable { name, .. } => is_name(name),
            Self::Group { path } => path.len() < MAX_PATH_BYTES && !path.contains('\0'),
        }
    }
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Told {
    /// The format's text; none if there is no such tracepoint; or why it cannot be read.
    Tracepoint(Result<Option<String>, String>),
    /// The address.
    Symbol(Option<u64>),
    /// Whether they may; none if it cannot be found out.
    Callable(Option<bool>),
    /// The id.
    Group(Option<u64>),
    /// The question was none.
    Unsound,
}

/// A list that the agent has not read yet. It is too long to be sent: the agent reads it and forks another child, which then
/// finds it in its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Missing {
    /// All tracepoints.
    Tracepoints,
    /// Raw tracepoints with types.
    RawTracepoints,
    /// Functions of the kernel.
    Functions,
}

impl Missing {
    /// How many there are.
    pub(super) const COUNT: usize = 3;
}

/// What a child says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Said {
    /// It asks.
    Asks(Question),
    /// It cannot go on without a list, and ends.
    Lacks(Missing),
    /// It is done, and ends.
    Done(Box<JobResult>),
    /// The compiler has panicked, with this message.
    Panicked(String),
}

/// What a child has made.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum JobResult {
    /// The programs, and what to know about them.
    Compiled {
        /// The programs.
        codes: Vec<Code>,
        /// The plan.
        plan: Plan,
    },
    /// What is wrong with the script.
    Refused {
        /// At least one error.
        diagnostics: Vec<Diagnostic>,
    },
    /// The messages.
    Checked(ScriptChecked),
    /// What can stand there.
    Facts(ScriptFacts),
}
