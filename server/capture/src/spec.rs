//! What a person asked for. The builder, the command line and the API all end in one [`CaptureSpec`], which is stored
//! with the capture, so that every capture can be run again.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{Predicate, PredicateError, TextPattern, TraceSpec};

/// The most probes in one capture.
pub const MAX_PROBES: usize = 64;
/// The most event fields that one probe records.
pub const MAX_FIELDS: usize = 64;
/// The longest script.
pub const MAX_SCRIPT_BYTES: usize = 64 << 10;
/// The most parameters of a script.
pub const MAX_SCRIPT_PARAMETERS: usize = 256;
const MAX_PARAMETER_BYTES: usize = 4096;
const MAX_NAME_BYTES: usize = 256;
const MAX_PATH_BYTES: usize = 4096;
/// The longest name of a thread, without its final NUL.
const MAX_COMM_BYTES: u64 = 15;
const MAX_CALL_WORDS: u64 = 512;
const MAX_ARGUMENTS: usize = 256;
const MAX_ARGUMENT_BYTES: usize = 8 << 10;
/// The most of a script's text that becomes its title.
const MAX_TITLE_CHARACTERS: usize = 80;
const MAX_FREQUENCY_HZ: u32 = 10_000;
/// The most events that one capture counts.
pub const MAX_COUNTED: usize = 64;
/// The longest text of an event that is counted or sampled.
pub const MAX_EVENT_BYTES: usize = 256;
/// The largest [`CountSpec::detail`].
pub const MAX_DETAIL: u8 = 3;
/// Bytes of stack that are copied with a sample where nobody says.
pub const USUAL_STACK_BYTES: u32 = 8 << 10;
/// The most bytes of stack that can be copied: a record has at most 64 KiB.
pub const MAX_STACK_BYTES: u32 = 65_528;
const MIN_INTERVAL_MS: u64 = 10;
const MAX_INTERVAL_MS: u64 = 3_600_000;
const MAX_LISTED_CPUS: usize = 8192;
const MAX_CGROUP_BYTES: usize = 4096;
const MAX_DURATION_MS: u64 = 7 * 24 * 3600 * 1000;
/// The largest budget: one whole CPU, in thousandths.
pub const MAX_BUDGET_CPU_PERMILLE: u32 = 1000;

/// Everything needed to make a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureSpec {
    /// What the capture is called in lists; empty means that one is made from the method.
    #[serde(default)]
    pub name: String,
    /// How events are obtained.
    pub method: Method,
    /// Whose events are recorded.
    pub target: Target,
    /// When the capture ends by itself.
    #[serde(default)]
    pub limits: Limits,
}

/// How events are obtained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Method {
    /// One row for each hit of each probe.
    Events {
        /// The probes, one stream each, in this order.
        probes: Vec<EventProbe>,
    },
    /// Stacks sampled on every CPU, by time or by another event.
    Profile(ProfileSpec),
    /// How often events happen, one row for each event and interval.
    Count(CountSpec),
    /// What a script of the probe language prints and keeps in its maps.
    Script(ScriptSpec),
    /// What the kernel's own tracer records.
    Trace(TraceSpec),
    /// System calls with their arguments, results and durations.
    Syscalls(SyscallSpec),
}

/// Which system calls are recorded, and how much of each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SyscallSpec {
    /// Names and sets (`%file`), as strace takes them after `-e trace=`; the first may begin with `!`. None means all.
    pub calls: Vec<String>,
    /// Which results.
    pub outcome: SyscallOutcome,
    /// Only calls that took so many nanoseconds.
    pub min_duration_ns: u64,
    /// Only calls with a path that begins so, at most 128 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Bytes that are kept of a text or buffer that is no path, at most 1024.
    pub string_bytes: u16,
    /// Whether descriptors are shown with their files.
    pub fd_paths: bool,
}

/// Which results of system calls are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyscallOutcome {
    /// All.
    #[default]
    Any,
    /// Errors.
    Failed,
    /// All but errors.
    Succeeded,
}

impl Default for SyscallSpec {
    fn default() -> Self {
        let (calls, path, outcome) = (Vec::new(), None, SyscallOutcome::Any);
        Self { calls, outcome, min_duration_ns: 0, path, string_bytes: 32, fd_paths: true }
    }
}

impl SyscallSpec {
    fn validate(&self) -> Result<(), SpecError> {
        in_range("the number of system calls and sets", self.calls.len() as u64, 0, MAX_CALL_WORDS)?;
        for word in &self.calls {
            in_range("the length of a system call's name in bytes", word.len() as u64, 1, 64)?;
            if word.contains([',', '\0', ' ']) {
                return Err(SpecError::Character { what: "a system call's name", found: "a comma, space or NUL" });
            }
        }
        if let Some(path) = &self.path {
            in_range("the length of the path in bytes", path.len() as u64, 1, 128)?;
            if path.contains('\0') {
                return Err(SpecError::Character { what: "the path", found: "a NUL byte" });
            }
        }
        in_range("the bytes of a text", u64::from(self.string_bytes), 0, 1024)
    }

    /// What it is called.
    fn title(&self) -> String {
        let failed = if self.outcome == SyscallOutcome::Failed { "failed " } else { "" };
        match self.calls.as_slice() {
            [] => format!("{failed}system calls"),
            some => {
                let mut title = format!("{failed}system calls {}", some.join(","));
                if let Some((at, _)) = title.char_indices().nth(MAX_TITLE_CHARACTERS) {
                    title.truncate(at);
                    title.push('…');
                }
                title
            }
        }
    }
}

/// What is sampled, how often, and how stacks are found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileSpec {
    /// Samples per second and CPU; not used where there is a period.
    #[serde(default = "usual_frequency")]
    pub frequency_hz: u32,
    /// Whether kernel frames are recorded.
    pub kernel_stacks: bool,
    /// Whether user frames are recorded.
    pub user_stacks: bool,
    /// The event, as `perf record -e` takes one; none means the CPU's cycles where they can be counted, else its clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// One sample for so many of the event, instead of the frequency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<u64>,
    /// How the frames in user space are found.
    #[serde(default, skip_serializing_if = "CallGraph::is_usual")]
    pub call_graph: CallGraph,
    /// Bytes of each thread's stack that are copied for [`CallGraph::Dwarf`]; none means [`USUAL_STACK_BYTES`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_bytes: Option<u32>,
}

/// Samples per second where nobody says: not a divisor of the timer's rate, so as not to run in step with it.
const fn usual_frequency() -> u32 {
    99
}

impl Default for ProfileSpec {
    fn default() -> Self {
        Self {
            frequency_hz: usual_frequency(),
            kernel_stacks: true,
            user_stacks: true,
            event: None,
            period: None,
            call_graph: CallGraph::FramePointer,
            stack_bytes: None,
        }
    }
}

/// How frames in user space are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallGraph {
    /// By the kernel, which follows frame pointers; code that was compiled without them has short stacks.
    #[default]
    FramePointer,
    /// From a copy of registers and stack, by the unwind tables of the files.
    Dwarf,
    /// From the CPU's record of its last branches, where it keeps one.
    Lbr,
}

impl CallGraph {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
    fn is_usual(&self) -> bool {
        *self == Self::FramePointer
    }
}

/// What is counted, of whom, how often it is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CountSpec {
    /// Events as `perf stat -e` takes them; those of a group are counted together or not at all. With none, the usual
    /// ones are counted.
    pub groups: Vec<Vec<String>>,
    /// Milliseconds between two readings.
    pub interval_ms: u32,
    /// What has a row of its own.
    pub per: CountPer,
    /// Only on these CPUs; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// Everything on the CPUs is counted, and the target says only how long.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub everywhere: bool,
    /// Only threads of this control group, a path as `/proc/PID/cgroup` has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// How many more events of caches and TLBs are counted: 0 to [`MAX_DETAIL`].
    #[serde(skip_serializing_if = "is_zero")]
    pub detail: u8,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(detail: &u8) -> bool {
    *detail == 0
}

impl Default for CountSpec {
    fn default() -> Self {
        Self {
            groups: Vec::new(),
            interval_ms: 1000,
            per: CountPer::Total,
            cpus: Vec::new(),
            everywhere: false,
            cgroup: None,
            detail: 0,
        }
    }
}

/// What has a row of its own in each interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountPer {
    /// Each event.
    #[default]
    Total,
    /// Each event on each CPU.
    Cpu,
    /// Each event of each thread that the target had at the beginning.
    Thread,
}

/// A script with everything that it needs to be run again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptSpec {
    /// Its text, at most [`MAX_SCRIPT_BYTES`].
    pub text: String,
    /// What it is called in messages and lists, such as the tool's name or the file's; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// `$1`, `$2` … and what `getopt()` reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<String>,
    /// Whether it may change the system: `system()`, `signal()`, `override()`, raw addresses.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_unsafe: bool,
}

/// A tracepoint with the fields to record and the condition under which it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventProbe {
    /// Which tracepoint.
    pub tracepoint: TracepointName,
    /// Names of its own fields to record, beside time, CPU, pid, tid and comm, which are always recorded.
    pub fields: Vec<String>,
    /// Evaluated in the kernel; a hit that does not satisfy it is counted as filtered and costs no record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate: Option<Predicate>,
}

/// The two parts of a tracepoint's name, each of letters, digits, `_`, `-` and `.` only, and neither of them only dots.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TracepointName {
    system: String,
    name: String,
}

impl TracepointName {
    /// The subsystem, such as `sched`.
    pub fn system(&self) -> &str {
        &self.system
    }

    /// The event in it, such as `sched_switch`.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for TracepointName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.system, self.name)
    }
}

impl FromStr for TracepointName {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let bad = || SpecError::Tracepoint { text: text.chars().take(80).collect() };
        let (system, name) = text.split_once(':').ok_or_else(bad)?;
        let part = |p: &str| {
            let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
            !p.is_empty() && p.len() <= 128 && p.bytes().all(allowed) && p.bytes().any(|b| b != b'.')
        };
        if part(system) && part(name) {
            Ok(Self { system: system.to_owned(), name: name.to_owned() })
        } else {
            Err(bad())
        }
    }
}

impl From<TracepointName> for String {
    fn from(name: TracepointName) -> Self {
        name.to_string()
    }
}

impl TryFrom<String> for TracepointName {
    type Error = SpecError;

    fn try_from(text: String) -> Result<Self, SpecError> {
        text.parse()
    }
}

/// Whose events are recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Target {
    /// Every process, and the kernel itself.
    System,
    /// One running process.
    Process {
        /// Its process id (the kernel's tgid), in the agent's pid namespace.
        pid: u32,
        /// Whether processes that it forks during the capture are recorded too.
        children: bool,
    },
    /// A program that is started for the capture; the capture ends when it does.
    Command {
        /// The program and its arguments; the program is looked up in a fixed path if it has no slash. Never a shell.
        argv: Vec<String>,
        /// The user to run it as, by name or number; none means the user who runs the console.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// Whether processes that it forks are recorded too.
        children: bool,
    },
    /// The processes of a control group (version 2) and of the groups below it.
    Cgroup {
        /// Its path from the root of the file system of control groups, such as `/system.slice/cron.service`.
        path: String,
    },
    /// The processes of a unit of systemd: its control group is looked up when the capture begins.
    Unit {
        /// Its full name, such as `cron.service`.
        name: String,
    },
    /// The processes of a container: its control group is looked up when the capture begins.
    Container {
        /// Its name, or its id or the beginning of it.
        name: String,
    },
    /// The processes of a user.
    User {
        /// The user's name or number.
        user: String,
    },
    /// Threads by their name.
    Comm {
        /// The whole name (at most 15 bytes), or a part of it with `*` where more may stand: at its beginning, its end or
        /// both.
        pattern: String,
    },
}

impl Target {
    /// Whether the capture ends when the target does.
    pub fn can_end(&self) -> bool {
        !matches!(self, Self::System | Self::User { .. } | Self::Comm { .. })
    }
}

impl fmt::Display for Target {
    /// In words, such as `pid 7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("the whole system"),
            Self::Process { pid, .. } => write!(f, "pid {pid}"),
            Self::Command { argv, .. } => f.write_str(argv.first().map_or("a command", String::as_str)),
            Self::Cgroup { path } => write!(f, "control group {path}"),
            Self::Unit { name } => f.write_str(name),
            Self::Container { name } => write!(f, "container {name}"),
            Self::User { user } => write!(f, "user {user}"),
            Self::Comm { pattern } => write!(f, "threads called {pattern}"),
        }
    }
}

/// When the capture ends by itself, whichever comes first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Milliseconds from the moment that all probes are attached.
    pub duration_ms: Option<u64>,
    /// Rows over all streams.
    pub max_events: Option<u64>,
    /// Bytes of stored chunks.
    pub max_bytes: Option<u64>,
    /// Share of one CPU, in thousandths, that the probes may use before the guard acts.
    pub budget_cpu_permille: u32,
    /// What the guard does when they use more; none for what suits the target, see [`CaptureSpec::over_budget`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_budget: Option<OverBudget>,
}

/// What is done about probes that use more than their budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverBudget {
    /// It is told.
    Warn,
    /// It is told; if it lasts, fewer rows are recorded where that can help; if it still lasts, the probes are detached.
    Detach,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            duration_ms: Some(10_000),
            max_events: None,
            max_bytes: Some(1 << 30),
            budget_cpu_permille: 50,
            over_budget: None,
        }
    }
}

/// A spec that cannot be run, with what is wrong and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The text does not name a tracepoint.
    #[error("`{text}` is not a tracepoint's name; write subsystem:event, such as sched:sched_switch")]
    Tracepoint {
        /// What was given, cut to 80 characters.
        text: String,
    },
    /// A number or length is outside its limits.
    #[error("{what} is {value}; it must be from {least} to {most}")]
    OutOfRange {
        /// Which part of the spec, in words.
        what: &'static str,
        /// What was given.
        value: u64,
        /// The smallest that is accepted.
        least: u64,
        /// The largest that is accepted.
        most: u64,
    },
    /// A text has a character that it cannot have.
    #[error("{what} must not contain {found}")]
    Character {
        /// Which part of the spec, in words.
        what: &'static str,
        /// What was found, in words.
        found: &'static str,
    },
    /// A part of a trace cannot be used.
    #[error("{what} `{text}` cannot be used: {rule}")]
    TracePart {
        /// Which part, in words.
        what: &'static str,
        /// What was given, cut to 80 characters.
        text: String,
        /// Why, and what would be right.
        rule: &'static str,
    },
    /// A trace without tracer and events.
    #[error("a trace needs a tracer, an event or a dynamic event; it has none")]
    EmptyTrace,
    /// A profile of neither kernel nor user frames.
    #[error("a profile needs kernel stacks, user stacks or both; both are switched off")]
    NoStacks,
    /// A choice that needs another one.
    #[error("{what} needs {needs}")]
    Needs {
        /// What was chosen, in words.
        what: &'static str,
        /// What it needs, in words.
        needs: &'static str,
    },
    /// The same event field twice in one probe.
    #[error("the field `{field}` is listed twice for {tracepoint}; list it once")]
    RepeatedField {
        /// The field.
        field: String,
        /// The probe that lists it.
        tracepoint: TracepointName,
    },
    /// The predicate cannot be used.
    #[error("the predicate of {tracepoint} cannot be used")]
    Predicate {
        /// The probe it belongs to.
        tracepoint: TracepointName,
        /// Why.
        source: PredicateError,
    },
}

pub(crate) fn in_range(what: &'static str, value: u64, least: u64, most: u64) -> Result<(), SpecError> {
    if (least..=most).contains(&value) { Ok(()) } else { Err(SpecError::OutOfRange { what, value, least, most }) }
}

impl CaptureSpec {
    /// Checks everything that can be checked without a host: sizes, ranges, names, predicates' depth.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), SpecError> {
        in_range("the length of the capture's name in bytes", self.name.len() as u64, 0, MAX_NAME_BYTES as u64)?;
        match &self.method {
            Method::Events { probes } => {
                in_range("the number of probes", probes.len() as u64, 1, MAX_PROBES as u64)?;
                probes.iter().try_for_each(EventProbe::validate)?;
            }
            Method::Profile(profile) => profile.validate()?,
            Method::Count(count) => count.validate(&self.target)?,
            Method::Script(script) => script.validate()?,
            Method::Trace(trace) => trace.validate()?,
            Method::Syscalls(calls) => calls.validate()?,
        }
        self.target.validate()?;
        self.limits.validate()
    }

    /// What is done about probes that use more than their budget. Where nothing is said, a command that was started to be
    /// observed may be slowed down, and nobody else.
    pub fn over_budget(&self) -> OverBudget {
        let usual = if matches!(self.target, Target::Command { .. }) { OverBudget::Warn } else { OverBudget::Detach };
        self.limits.over_budget.unwrap_or(usual)
    }

    /// The name to show: the given one, or one made from the method and target.
    pub fn title(&self) -> String {
        if !self.name.trim().is_empty() {
            return self.name.trim().to_owned();
        }
        let what = match &self.method {
            Method::Events { probes } => match probes.as_slice() {
                [one] => one.tracepoint.to_string(),
                [first, rest @ ..] => format!("{} and {} more", first.tracepoint, rest.len()),
                [] => "no probes".to_owned(),
            },
            Method::Profile(profile) => profile.title(),
            Method::Count(count) => count.title(),
            Method::Script(script) => script.title(),
            Method::Trace(trace) => trace.title(),
            Method::Syscalls(calls) => calls.title(),
        };
        match &self.target {
            Target::System => what,
            target => format!("{what} of {target}"),
        }
    }
}

/// The text of an event: its grammar is not known here.
fn check_event(event: &str) -> Result<(), SpecError> {
    in_range("the length of an event's name in bytes", event.trim().len() as u64, 1, MAX_EVENT_BYTES as u64)?;
    if event.contains(|c: char| c.is_control()) {
        return Err(SpecError::Character { what: "an event's name", found: "a control character" });
    }
    Ok(())
}

impl ProfileSpec {
    fn validate(&self) -> Result<(), SpecError> {
        let most = u64::from(MAX_FREQUENCY_HZ);
        in_range("the sampling frequency in hertz", u64::from(self.frequency_hz), 1, most)?;
        if !self.kernel_stacks && !self.user_stacks {
            return Err(SpecError::NoStacks);
        }
        self.event.as_deref().map_or(Ok(()), check_event)?;
        if let Some(period) = self.period {
            in_range("the period of samples", period, 1, 1 << 62)?;
            let what = "a period of samples";
            self.event.as_ref().ok_or(SpecError::Needs { what, needs: "the event that is counted" })?;
        }
        if self.call_graph != CallGraph::FramePointer && !self.user_stacks {
            let what = "finding frames of user space in another way";
            return Err(SpecError::Needs { what, needs: "user stacks, which are switched off" });
        }
        match self.stack_bytes {
            None => Ok(()),
            Some(_) if self.call_graph != CallGraph::Dwarf => {
                let what = "a size of the copied stack";
                Err(SpecError::Needs { what, needs: "call_graph to be dwarf" })
            }
            Some(bytes) => in_range("the bytes of stack to copy", u64::from(bytes), 256, u64::from(MAX_STACK_BYTES)),
        }
    }

    /// The bytes of stack that are copied with each sample; none without DWARF.
    pub fn copied_stack_bytes(&self) -> u32 {
        match self.call_graph {
            // The kernel takes multiples of eight.
            CallGraph::Dwarf => self.stack_bytes.unwrap_or(USUAL_STACK_BYTES).next_multiple_of(8).min(MAX_STACK_BYTES),
            CallGraph::FramePointer | CallGraph::Lbr => 0,
        }
    }

    fn title(&self) -> String {
        match (&self.event, self.period) {
            (None, _) => format!("profile at {} Hz", self.frequency_hz),
            (Some(event), None) => format!("profile of {event} at {} Hz", self.frequency_hz),
            (Some(event), Some(1)) => format!("profile of every {event}"),
            (Some(event), Some(period)) => format!("profile of {event} every {period}"),
        }
    }
}

impl CountSpec {
    fn validate(&self, target: &Target) -> Result<(), SpecError> {
        let events = self.groups.iter().map(Vec::len).sum::<usize>();
        in_range("the number of counted events", events as u64, 0, MAX_COUNTED as u64)?;
        for group in &self.groups {
            in_range("the number of events in a group", group.len() as u64, 1, MAX_COUNTED as u64)?;
            group.iter().try_for_each(|event| check_event(event))?;
        }
        let interval = u64::from(self.interval_ms);
        in_range("the interval in milliseconds", interval, MIN_INTERVAL_MS, MAX_INTERVAL_MS)?;
        in_range("the detail of counting", u64::from(self.detail), 0, u64::from(MAX_DETAIL))?;
        in_range("the number of CPUs in the list", self.cpus.len() as u64, 0, MAX_LISTED_CPUS as u64)?;
        if let Some(path) = &self.cgroup {
            in_range("the length of the control group's path", path.len() as u64, 1, MAX_CGROUP_BYTES as u64)?;
            if path.contains('\0') {
                return Err(SpecError::Character { what: "a control group's path", found: "a NUL byte" });
            }
        }
        let one = !self.everywhere && !matches!(target, Target::System);
        if self.per == CountPer::Thread && !one {
            return Err(SpecError::Needs { what: "counting by thread", needs: "a process or command as target" });
        }
        if self.cgroup.is_some() && one {
            let needs = "the whole system as target, or `everywhere`";
            return Err(SpecError::Needs { what: "counting a control group", needs });
        }
        Ok(())
    }

    fn title(&self) -> String {
        let mut names = self.groups.iter().flatten();
        match (names.next(), names.count()) {
            (None, _) => "counts".to_owned(),
            (Some(one), 0) => format!("counts of {one}"),
            (Some(first), more) => format!("counts of {first} and {more} more"),
        }
    }
}

impl ScriptSpec {
    fn validate(&self) -> Result<(), SpecError> {
        in_range("the length of the script in bytes", self.text.len() as u64, 1, MAX_SCRIPT_BYTES as u64)?;
        in_range("the length of the script's name in bytes", self.file.len() as u64, 0, MAX_NAME_BYTES as u64)?;
        let most = MAX_SCRIPT_PARAMETERS as u64;
        in_range("the number of the script's parameters", self.params.len() as u64, 0, most)?;
        for param in &self.params {
            let most = MAX_PARAMETER_BYTES as u64;
            in_range("the length of a parameter of the script in bytes", param.len() as u64, 0, most)?;
        }
        let mut texts = self.params.iter().chain([&self.text, &self.file]);
        if texts.any(|text| text.contains('\0')) {
            return Err(SpecError::Character { what: "a script and its parameters", found: "a NUL byte" });
        }
        Ok(())
    }

    /// What it is called: its file's name, or the first words of its first comment, or its first line.
    pub fn title(&self) -> String {
        if !self.file.trim().is_empty() {
            return self.file.trim().to_owned();
        }
        let lines = || self.text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("#!"));
        let comment = lines().map_while(comment_of).find(|words| !words.is_empty());
        let words = comment.or_else(|| lines().find(|line| comment_of(line).is_none())).unwrap_or("a script");
        let mut title: String = words.chars().take(MAX_TITLE_CHARACTERS).collect();
        if title.len() < words.len() {
            title.push('…');
        }
        title
    }
}

/// The words of a line that is a comment or part of one.
fn comment_of(line: &str) -> Option<&str> {
    let inside = ["//", "/*", "*/", "*"].into_iter().find_map(|begin| line.strip_prefix(begin))?;
    Some(inside.trim_end_matches("*/").trim_matches(|c: char| c == '*' || c == '/' || c.is_whitespace()))
}

impl EventProbe {
    fn validate(&self) -> Result<(), SpecError> {
        in_range("the number of recorded fields", self.fields.len() as u64, 0, MAX_FIELDS as u64)?;
        for (i, field) in self.fields.iter().enumerate() {
            in_range("the length of a field's name in bytes", field.len() as u64, 1, 128)?;
            if self.fields.iter().take(i).any(|earlier| earlier == field) {
                let tracepoint = self.tracepoint.clone();
                return Err(SpecError::RepeatedField { field: field.clone(), tracepoint });
            }
        }
        match &self.predicate {
            Some(predicate) => predicate
                .validate()
                .map_err(|source| SpecError::Predicate { tracepoint: self.tracepoint.clone(), source }),
            None => Ok(()),
        }
    }
}

/// Checks a name that is looked up.
fn name(what: &'static str, text: &str, most: usize) -> Result<(), SpecError> {
    in_range(what, text.len() as u64, 1, most as u64)?;
    if text.contains('\0') {
        return Err(SpecError::Character { what, found: "a NUL byte" });
    }
    Ok(())
}

impl Target {
    fn validate(&self) -> Result<(), SpecError> {
        match self {
            Self::System => Ok(()),
            Self::Process { pid, .. } => in_range("the process id", u64::from(*pid), 1, 1 << 22),
            Self::Command { argv, .. } => {
                in_range("the number of words of the command", argv.len() as u64, 1, MAX_ARGUMENTS as u64)?;
                for word in argv {
                    in_range("the length of a word of the command", word.len() as u64, 0, MAX_ARGUMENT_BYTES as u64)?;
                    if word.contains('\0') {
                        return Err(SpecError::Character { what: "a word of the command", found: "a NUL byte" });
                    }
                }
                in_range("the length of the program's name", argv.first().map_or(0, String::len) as u64, 1, 4096)
            }
            Self::Cgroup { path } => name("the control group's path", path, MAX_PATH_BYTES),
            Self::Unit { name: unit } => name("the unit's name", unit, MAX_NAME_BYTES),
            Self::Container { name: container } => name("the container's name", container, MAX_NAME_BYTES),
            Self::User { user } => name("the user's name", user, MAX_NAME_BYTES),
            Self::Comm { pattern } => {
                let text = TextPattern::new(pattern).text();
                in_range("the length of a thread's name in bytes", text.len() as u64, 0, MAX_COMM_BYTES)?;
                if text.contains('*') {
                    return Err(SpecError::Character { what: "a thread's name", found: "a `*` inside" });
                }
                name("a thread's name", pattern, MAX_NAME_BYTES)
            }
        }
    }
}

impl Limits {
    fn validate(&self) -> Result<(), SpecError> {
        if let Some(ms) = self.duration_ms {
            in_range("the duration in milliseconds", ms, 1, MAX_DURATION_MS)?;
        }
        let most = u64::from(MAX_BUDGET_CPU_PERMILLE);
        in_range("the budget in thousandths of a CPU", u64::from(self.budget_cpu_permille), 1, most)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn script(text: &str) -> ScriptSpec {
        ScriptSpec { text: text.to_owned(), ..ScriptSpec::default() }
    }

    #[test]
    fn a_script_is_called_by_its_file_or_its_first_words() {
        let cases = [
            ("#!/usr/bin/env bathyscope\n\n// Files that are opened.\nbegin {}", "Files that are opened."),
            ("/*\n * opens\n * more\n */\nbegin {}", "opens"),
            ("begin { exit(); }\n// later", "begin { exit(); }"),
            ("", "a script"),
            ("//\n", "a script"),
        ];
        for (text, expected) in cases {
            assert_eq!(script(text).title(), expected, "{text}");
        }
        assert_eq!(script(&"x".repeat(100)).title().chars().count(), MAX_TITLE_CHARACTERS + 1);
        let named = ScriptSpec { file: "opensnoop".to_owned(), ..script("// text") };
        assert_eq!(named.title(), "opensnoop");
    }

    #[test]
    fn p14_scripts_have_limits() {
        let limit = |length: usize| script(&"x".repeat(length)).validate();
        assert!(limit(MAX_SCRIPT_BYTES - 1).is_ok() && limit(MAX_SCRIPT_BYTES).is_ok());
        assert!(limit(MAX_SCRIPT_BYTES + 1).is_err() && limit(0).is_err());
        let params = |count: usize, length: usize| {
            ScriptSpec { params: vec!["x".repeat(length); count], ..script("x") }.validate()
        };
        assert!(params(MAX_SCRIPT_PARAMETERS, 1).is_ok() && params(MAX_SCRIPT_PARAMETERS + 1, 1).is_err());
        assert!(params(1, MAX_PARAMETER_BYTES).is_ok() && params(1, MAX_PARAMETER_BYTES + 1).is_err());
        assert!(script("a\0b").validate().is_err());
    }
}
