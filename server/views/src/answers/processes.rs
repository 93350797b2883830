//! Processes of a capture.

use serde::Serialize;

/// What started what, as far as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProcessTree {
    /// The range's start.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// Processes that were there in the range, with those that started them; parents before children, in the order of their start.
    pub processes: Vec<ProcessLife>,
    /// How many more there were.
    pub more: u64,
    /// Whether states of threads tell how long processes ran.
    pub has_states: bool,
    /// Whether rows tell how processes ended.
    pub has_ends: bool,
    /// Whether rows tell the arguments of programs.
    pub has_arguments: bool,
    /// Whether the history tells who started what was there before; captures of before have no such thing.
    pub has_parents: bool,
    /// The same of users and control groups.
    pub has_owners: bool,
}

/// A process from its start to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProcessLife {
    /// Its id, which others may have had before or have got since.
    pub pid: u32,
    /// The place of the process that started it; none where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// How many are above it.
    pub depth: u32,
    /// Its last name, made visible.
    pub comm: String,
    /// Names that it had before, the first one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<String>,
    /// When it started; none where it was there before the capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<i64>,
    /// When it ended; none where it was still there in the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<i64>,
    /// The arguments of the program that it executed last, as they were recorded; empty where they were not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub arguments: String,
    /// How it ended: `exited 1`, `killed SIGKILL`; empty where that was not recorded.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ended: String,
    /// The user that it runs as, by name or number; empty where that is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// The container that it is in, such as `docker 0f1e2d3c4b5a`; empty where it is in none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub container: String,
    /// The unit of systemd that it belongs to; empty where its control group names none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// The path of its control group; empty where that is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Whether user and group are those of the process that started it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_inherited: bool,
    /// Nanoseconds in the range for which its threads ran; none where that was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<u64>,
    /// Samples of it in the range; none where there are none of anybody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// The most threads that it had at a time, of those that are known.
    pub threads: u32,
    /// Processes that it started, with those that these started, and so on; those that are listed.
    pub descendants: u32,
    /// The condition on rows of it and of all that it started; empty where it would be too long.
    pub filter: String,
    /// Whether that condition also has rows of another process that had the same id.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_shared: bool,
}
