//! What a person asked for. The builder, the command line and the API all end in one [`CaptureSpec`], which is stored
//! with the capture, so that every capture can be run again.

mod branches;
mod budgets;
mod dynamic;
mod flight;
mod method;
mod series;
mod source;
mod target;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

pub use branches::{BranchFilter, BranchFilterError};
pub use budgets::{Budgets, USUAL_BUDGET_BYTES_PER_S};
pub use dynamic::{DynamicProbe, MAX_DYNAMIC_BYTES};
pub use flight::{
    FlightSpec, FlightTrigger, MAX_ANNOUNCE, MAX_FLIGHT_MIB, MAX_FLIGHT_PER_DAY, MAX_FLIGHT_S, MAX_TRIGGERS, PressureOf,
};
pub use method::*;
pub use series::{ParseSeriesIdError, SeriesId, SpecLine, spec_lines};
pub use source::{MAX_SOURCES, SourceSpec};
pub use target::{MAX_TARGET_PROCESSES, Target};

use crate::{CronError, Predicate, PredicateError};

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
/// The most of a script's text that becomes its title.
const MAX_TITLE_CHARACTERS: usize = 80;
const MAX_DURATION_MS: u64 = 7 * 24 * 3600 * 1000;
/// The largest budget: one whole CPU, in thousandths.
pub const MAX_BUDGET_CPU_PERMILLE: u32 = 1000;

/// Everything needed to make a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "source::ReadSpec")]
pub struct CaptureSpec {
    /// What the capture is called in lists; empty means that a name is made from the sources.
    pub name: String,
    /// What is recorded, 1 to [`MAX_SOURCES`].
    pub sources: Vec<SourceSpec>,
    /// Whose events are recorded.
    pub target: Target,
    /// When the capture ends by itself.
    pub limits: Limits,
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

impl ScriptSpec {
    /// Stands for the text of a script for somebody who is not to see it.
    pub const NOT_TOLD: &'static str = "// The script is not shown.";
}

/// A tracepoint with the fields to record and the condition under which it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventProbe {
    /// Which tracepoint.
    pub tracepoint: TracepointName,
    /// Names of its own fields to record, beside time, CPU, pid, tid and comm, which are always recorded.
    #[serde(default)]
    pub fields: Vec<String>,
    /// Evaluated in the kernel; a hit that does not satisfy it is counted as filtered and costs no record. In JSON it is text,
    /// empty for none; the trees of older captures are read too.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::predicate::text")]
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

/// When the capture ends by itself, whichever comes first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Milliseconds from the moment that all probes are attached; none for no limit. Where it is left out these are 10 s, and none for a
    /// flight recorder, which runs until it is stopped.
    pub duration_ms: Option<u64>,
    /// Rows over all streams.
    pub max_events: Option<u64>,
    /// Bytes of stored chunks.
    pub max_bytes: Option<u64>,
    /// Share of one CPU, in thousandths, that the probes may use before the guard acts.
    pub budget_cpu_permille: u32,
    /// What else it may cost.
    #[serde(skip_serializing_if = "Budgets::is_usual")]
    pub budgets: Budgets,
    /// What the guard does when they use more; none for what suits the target, see [`CaptureSpec::over_budget`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_budget: Option<OverBudget>,
    /// How urgently its records are read.
    #[serde(skip_serializing_if = "ReadingPriority::is_usual")]
    pub reading: ReadingPriority,
    /// Whether rows stay in memory until something happens; none to store all of them. The numbers of rows and bytes above are then
    /// those of each capture that is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flight: Option<Box<FlightSpec>>,
}

/// Limits as they are given: what is left out is as usual, and how long it lasts depends on the rest.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct GivenLimits {
    #[serde(deserialize_with = "given")]
    duration_ms: Option<Option<u64>>,
    max_events: Option<u64>,
    max_bytes: Option<u64>,
    budget_cpu_permille: u32,
    budgets: Budgets,
    over_budget: Option<OverBudget>,
    reading: ReadingPriority,
    flight: Option<Box<FlightSpec>>,
}

/// Tells `null` from what is left out.
fn given<'de, D: serde::Deserializer<'de>>(of: D) -> Result<Option<Option<u64>>, D::Error> {
    Option::deserialize(of).map(Some)
}

impl Default for GivenLimits {
    fn default() -> Self {
        let Limits {
            max_events,
            max_bytes,
            budget_cpu_permille,
            budgets,
            over_budget,
            reading,
            flight,
            duration_ms: _,
        } = Limits::default();
        Self { duration_ms: None, max_events, max_bytes, budget_cpu_permille, budgets, over_budget, reading, flight }
    }
}

impl<'de> Deserialize<'de> for Limits {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let GivenLimits {
            duration_ms,
            max_events,
            max_bytes,
            budget_cpu_permille,
            budgets,
            over_budget,
            reading,
            flight,
        } = GivenLimits::deserialize(from)?;
        let usual = Self::default().duration_ms.filter(|_| flight.is_none());
        let duration_ms = duration_ms.unwrap_or(usual);
        Ok(Self { duration_ms, max_events, max_bytes, budget_cpu_permille, budgets, over_budget, reading, flight })
    }
}

/// How urgently the threads of the console run that read, decode and gather the records of a capture. On a machine that is busy
/// with more than it has CPUs, they get their turn too late, and records are lost for want of room in the rings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadingPriority {
    /// As other programs do.
    #[default]
    Usual,
    /// Before programs of the usual priority, which get less done meanwhile.
    High,
}

impl ReadingPriority {
    /// Whether nobody has chosen another.
    pub fn is_usual(&self) -> bool {
        *self == Self::Usual
    }
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
            budgets: Budgets::default(),
            over_budget: None,
            reading: ReadingPriority::Usual,
            flight: None,
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
    /// The id of a source cannot be one.
    #[error("`{id}` cannot be the id of a source; use 1 to 32 lower-case letters, digits, `-` and `_`")]
    SourceId {
        /// What was given, cut to 80 characters.
        id: String,
    },
    /// Two sources of one id.
    #[error("two sources are called `{id}`; give each an id of its own")]
    RepeatedSource {
        /// The id.
        id: String,
    },
    /// Two sources of a kind of which a capture may have one.
    #[error("two sources are of the kind {kind}, and a capture may have one of it; start a capture for each")]
    SecondSource {
        /// The kind.
        kind: &'static str,
    },
    /// The same event field twice in one probe.
    #[error("the field `{field}` is listed twice for {tracepoint}; list it once")]
    RepeatedField {
        /// The field.
        field: String,
        /// The probe that lists it.
        tracepoint: TracepointName,
    },
    /// A time that comes again cannot be read.
    #[error("the schedule `{text}` cannot be used: {error}")]
    Schedule {
        /// What was given, cut to 80 characters.
        text: String,
        /// What is wrong.
        error: CronError,
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

fn in_range(what: &'static str, value: u64, least: u64, most: u64) -> Result<(), SpecError> {
    if (least..=most).contains(&value) { Ok(()) } else { Err(SpecError::OutOfRange { what, value, least, most }) }
}

/// Fails for text that the kernel would not read as part of one line.
fn one_line(what: &'static str, text: &str) -> Result<(), SpecError> {
    if text.chars().any(char::is_control) {
        return Err(SpecError::Character { what, found: "a line break or another control character" });
    }
    Ok(())
}

impl CaptureSpec {
    /// Checks everything that can be checked without a host: sizes, ranges, names, predicates' depth.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), SpecError> {
        in_range("the length of the capture's name in bytes", self.name.len() as u64, 0, MAX_NAME_BYTES as u64)?;
        source::validate(&self.sources, &self.target)?;
        self.target.validate()?;
        let know_threads = self.methods().all(|method| method.kind().records_threads());
        if matches!(self.target.watched(), Target::Threads { .. }) && !know_threads {
            let needs = "thread states, tracepoints, a profile or counts; system calls, scripts and ftrace are of processes, of which a \
                 filter such as tid == 7 shows one thread";
            return Err(SpecError::Needs { what: "recording threads by their ids", needs });
        }
        self.limits.validate()
    }

    /// What is done about probes that use more than their budget. Where nothing is said, a command that was started to be
    /// observed may be slowed down, and nobody else.
    pub fn over_budget(&self) -> OverBudget {
        let usual = if matches!(self.target, Target::Command { .. }) { OverBudget::Warn } else { OverBudget::Detach };
        self.limits.over_budget.unwrap_or(usual)
    }

    /// The name to show: the given one, or one made from the sources and the target.
    pub fn title(&self) -> String {
        if !self.name.trim().is_empty() {
            return self.name.trim().to_owned();
        }
        let what = self.sources_title();
        match &self.target {
            Target::System => what,
            Target::During { argv, of, .. } if **of == Target::System => {
                format!("{what} while {} runs", argv.first().map_or("a command", String::as_str))
            }
            target => format!("{what} of {target}"),
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

    /// What it is called: its file's name, or the first words of its first comment, or where its first probe is.
    pub fn title(&self) -> String {
        if !self.file.trim().is_empty() {
            return self.file.trim().to_owned();
        }
        let lines = || self.text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("#!"));
        let comment = lines().map_while(comment_of).find(|words| !words.is_empty());
        let code = || lines().find(|line| comment_of(line).is_none()).map(place_of).filter(|place| !place.is_empty());
        let words = comment.or_else(code).unwrap_or("a script");
        let mut title: String = words.chars().take(MAX_TITLE_CHARACTERS).collect();
        if title.len() < words.len() {
            title.push('…');
        }
        title
    }
}

/// Where the probe is that a line begins: what is before its condition and its block.
fn place_of(line: &str) -> &str {
    let end = line.find('{').unwrap_or(line.len());
    let place = line.get(..end).unwrap_or(line);
    // A path has slashes too; a condition's first one follows a blank.
    place.split(" /").next().unwrap_or(place).trim().trim_end_matches(',')
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

impl Limits {
    fn validate(&self) -> Result<(), SpecError> {
        if let Some(ms) = self.duration_ms {
            in_range("the duration in milliseconds", ms, 1, MAX_DURATION_MS)?;
        }
        let most = u64::from(MAX_BUDGET_CPU_PERMILLE);
        in_range("the budget in thousandths of a CPU", u64::from(self.budget_cpu_permille), 1, most)?;
        self.budgets.validate()?;
        self.flight.as_ref().map_or(Ok(()), |flight| flight.validate())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_flight_recorder_without_a_duration_has_no_limit_of_time() {
        for (json, duration_ms) in [
            ("{}", Some(10_000)),
            (r#"{"duration_ms":null}"#, None),
            (r#"{"duration_ms":5}"#, Some(5)),
            (r#"{"flight":{}}"#, None),
            (r#"{"flight":null}"#, Some(10_000)),
            (r#"{"flight":{},"duration_ms":null}"#, None),
            (r#"{"flight":{},"duration_ms":60000}"#, Some(60_000)),
        ] {
            let limits: Limits = serde_json::from_str(json).unwrap();
            assert_eq!(limits.duration_ms, duration_ms, "{json}");
            let again = serde_json::to_string(&limits).unwrap();
            assert_eq!(serde_json::from_str::<Limits>(&again).unwrap(), limits, "{again}");
        }
        let why = serde_json::from_str::<Limits>(r#"{"duration":5}"#).unwrap_err().to_string();
        assert!(why.contains("unknown field `duration`"), "{why}");
    }

    fn script(text: &str) -> ScriptSpec {
        ScriptSpec { text: text.to_owned(), ..ScriptSpec::default() }
    }

    #[test]
    fn a_script_is_called_by_its_file_or_its_first_words() {
        let cases = [
            ("#!/usr/bin/env bathyscope\n\n// Files that are opened.\nbegin {}", "Files that are opened."),
            ("/*\n * opens\n * more\n */\nbegin {}", "opens"),
            ("begin { exit(); }\n// later", "begin"),
            ("uprobe:/bin/sh:main /pid == 3/ { printf(\"%s\\n\", comm); }", "uprobe:/bin/sh:main"),
            ("tracepoint:a:b,\ntracepoint:a:c { }", "tracepoint:a:b"),
            ("// offcputime: where threads wait\n//\n// group: cpu\n", "offcputime: where threads wait"),
            ("{ }", "a script"),
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
