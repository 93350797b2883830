//! Events that the kernel's perf subsystem counts and samples: names as people write them → the numbers of a
//! `perf_event_attr`.
//!
//! Hardware and cache events, software events, raw codes, events of a PMU with its format files, tracepoints and
//! breakpoints, with modifiers and groups, as in `perf stat -e`; and what can be counted beside them without perf: times and
//! counters in files of the kernel. What an event needs of the host (a tracepoint's id, a PMU's number and formats, the text of
//! a file) is left open here and asked of the caller: no I/O.

mod parse;
mod pmu;
mod proc_counters;
mod table;

use std::fmt;

use bathyscope_capture::TracepointName;

use crate::closest;

pub use parse::{MAX_EVENTS, MAX_LIST_BYTES, parse_event, parse_events};
pub use pmu::{PmuConfig, PmuFormat, encode_terms};
pub use proc_counters::{CounterUnit, ProcCounter, ProcFile, read_proc_counters};
pub use table::{Listed, detailed_events, listed, usual_events};

/// `perf_event_attr.type` of events of the CPU's counters.
pub const TYPE_HARDWARE: u32 = 0;
/// Of events that the kernel counts itself.
pub const TYPE_SOFTWARE: u32 = 1;
/// Of tracepoints; the config is the tracepoint's id.
pub const TYPE_TRACEPOINT: u32 = 2;
/// Of events of caches.
pub const TYPE_CACHE: u32 = 3;
/// Of raw codes of the CPU.
pub const TYPE_RAW: u32 = 4;
/// Of breakpoints.
pub const TYPE_BREAKPOINT: u32 = 5;

/// An event with its modifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerfEvent {
    /// What is counted.
    pub source: EventSource,
    /// Where and how.
    pub modifiers: Modifiers,
}

/// What is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventSource {
    /// A counter with a number that is the same on all hosts: hardware, software, cache, raw code.
    Fixed {
        /// `perf_event_attr.type`.
        type_: u32,
        /// `perf_event_attr.config`.
        config: u64,
    },
    /// A tracepoint, whose id the host knows.
    Tracepoint(TracepointName),
    /// Accesses of memory.
    Breakpoint {
        /// The first byte.
        address: u64,
        /// 1, 2, 4 or 8 bytes.
        bytes: u8,
        /// Bits of [`Breakpoint`](Self::Breakpoint): 1 read, 2 write, 4 execute.
        access: u8,
    },
    /// A time that no counter keeps: it is read from elsewhere, and can be counted and not sampled.
    Tool(ToolEvent),
    /// A counter of the whole machine that the kernel tells in a file: it can be counted and not sampled.
    Proc(ProcCounter),
    /// An event of a PMU that has a name on the host.
    Pmu {
        /// The PMU, a folder of `/sys/bus/event_source/devices`.
        pmu: String,
        /// What it is told, in order.
        terms: Vec<Term>,
    },
}

/// A time that `perf stat` counts beside the kernel's events, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolEvent {
    /// Time that passed while it was counted.
    Duration,
    /// Time on a CPU in user space.
    User,
    /// Time on a CPU in the kernel.
    System,
}

impl ToolEvent {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Duration, Self::User, Self::System];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Duration => "duration_time",
            Self::User => "user_time",
            Self::System => "system_time",
        }
    }

    /// The one that is called so.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Duration => "nanoseconds that passed",
            Self::User => "nanoseconds on a CPU in user space",
            Self::System => "nanoseconds on a CPU in the kernel",
        }
    }
}

/// A part of a PMU's event: `event=0x3c`, or a name alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// A field of the PMU's format, or an event that it names; of letters, digits, `_`, `-` and `.`, not only dots.
    pub name: String,
    /// What is given; none for a name alone.
    pub value: Option<u64>,
}

/// Where and how an event is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modifiers {
    /// `u`: in user space. With none of `u`, `k` and `h` everything is counted.
    pub user: bool,
    /// `k`: in the kernel.
    pub kernel: bool,
    /// `h`: in the hypervisor.
    pub hypervisor: bool,
    /// `G`: in guests. With none of `G` and `H` hardware is counted outside of guests.
    pub guest: bool,
    /// `H`: outside of guests.
    pub host: bool,
    /// `I`: not while the CPU idles.
    pub not_idle: bool,
    /// `p` once, twice or three times: how precise the instruction of a sample is.
    pub precise: u8,
    /// `D`: always on the CPU's counters, or in error.
    pub pinned: bool,
    /// `e`: alone on the CPU's counters.
    pub exclusive: bool,
}

impl Modifiers {
    /// Both modifiers of a group and of an event in it.
    fn and(self, other: Self) -> Self {
        Self {
            user: self.user | other.user,
            kernel: self.kernel | other.kernel,
            hypervisor: self.hypervisor | other.hypervisor,
            guest: self.guest | other.guest,
            host: self.host | other.host,
            not_idle: self.not_idle | other.not_idle,
            precise: self.precise.max(other.precise),
            pinned: self.pinned | other.pinned,
            exclusive: self.exclusive | other.exclusive,
        }
    }
}

impl fmt::Display for Modifiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [
            (self.user, "u"),
            (self.kernel, "k"),
            (self.hypervisor, "h"),
            (self.guest, "G"),
            (self.host, "H"),
            (self.not_idle, "I"),
            (self.precise >= 1, "p"),
            (self.precise >= 2, "p"),
            (self.precise >= 3, "p"),
            (self.pinned, "D"),
            (self.exclusive, "e"),
        ];
        letters.into_iter().filter(|(given, _)| *given).try_for_each(|(_, letter)| f.write_str(letter))
    }
}

impl PerfEvent {
    /// The same event without modifiers, as its text says it.
    pub fn name(&self) -> String {
        match &self.source {
            EventSource::Fixed { type_, config } => {
                table::name_of(*type_, *config).unwrap_or_else(|| format!("r{config:x}"))
            }
            EventSource::Tracepoint(name) => name.to_string(),
            EventSource::Tool(tool) => tool.name().to_owned(),
            EventSource::Proc(counter) => counter.name().to_owned(),
            EventSource::Breakpoint { address, bytes, access } => {
                let letters = [(1, 'r'), (2, 'w'), (4, 'x')];
                let access: String = letters.iter().filter(|(bit, _)| access & bit != 0).map(|(_, c)| *c).collect();
                format!("mem:{address:#x}/{bytes}:{access}")
            }
            EventSource::Pmu { pmu, terms } => {
                let term = |term: &Term| match term.value {
                    Some(value) => format!("{}={value:#x}", term.name),
                    None => term.name.clone(),
                };
                format!("{pmu}/{}/", terms.iter().map(term).collect::<Vec<_>>().join(","))
            }
        }
    }

    /// Whether it needs counters of the CPU, which virtual machines often do not have.
    pub fn is_hardware(&self) -> bool {
        match &self.source {
            EventSource::Fixed { type_, .. } => matches!(*type_, TYPE_HARDWARE | TYPE_CACHE | TYPE_RAW),
            EventSource::Pmu { pmu, .. } => pmu.starts_with("cpu"),
            EventSource::Tracepoint(_)
            | EventSource::Breakpoint { .. }
            | EventSource::Tool(_)
            | EventSource::Proc(_) => false,
        }
    }

    /// Whether it happens, so that it can be sampled. The rest is only read.
    pub fn can_be_sampled(&self) -> bool {
        !matches!(self.source, EventSource::Tool(_) | EventSource::Proc(_))
    }

    /// Whether its value is nanoseconds of a clock.
    pub fn is_clock(&self) -> bool {
        matches!(self.source, EventSource::Fixed { type_: TYPE_SOFTWARE, config: table::CPU_CLOCK | table::TASK_CLOCK })
    }

    /// What its values are measured in.
    pub fn unit(&self) -> CounterUnit {
        match self.source {
            EventSource::Tool(_) => CounterUnit::Nanoseconds,
            EventSource::Proc(counter) => counter.unit(),
            _ if self.is_clock() => CounterUnit::Nanoseconds,
            _ => CounterUnit::Number,
        }
    }

    /// The event that tells most of the same where there is no counter for it.
    pub fn nearest_software(&self) -> Option<&'static str> {
        match self.source {
            EventSource::Fixed { type_: TYPE_HARDWARE, config } => Some(table::nearest(config)),
            EventSource::Fixed { type_: TYPE_CACHE, .. } => Some("page-faults"),
            EventSource::Fixed { type_: TYPE_RAW, .. } => Some("cpu-clock"),
            EventSource::Pmu { .. } if self.is_hardware() => Some("cpu-clock"),
            _ => None,
        }
    }
}

impl fmt::Display for PerfEvent {
    /// As it can be parsed again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())?;
        let modifiers = self.modifiers.to_string();
        match (&self.source, modifiers.as_str()) {
            (_, "") => Ok(()),
            (EventSource::Pmu { .. }, modifiers) => f.write_str(modifiers),
            (_, modifiers) => write!(f, ":{modifiers}"),
        }
    }
}

/// A text that names no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PerfEventError {
    /// No event has this name.
    #[error("there is no event `{name}`{}; `bathyscope list perf` shows them", did_you_mean(.nearest.as_deref()))]
    Unknown {
        /// What was given, cut to 80 characters.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// Only the first event of a group is to be sampled.
    #[error(
        "`S` samples only the first event of a group, which is not possible; without it each of the group is sampled, and all are counted at the same times"
    )]
    LeaderSampling,
    /// A letter after the colon is no modifier.
    #[error("`{letter}` is no modifier of an event; u, k, h, G, H, I, p, P, D, e and W are")]
    Modifier {
        /// What was given.
        letter: char,
    },
    /// The text is not written as an event is.
    #[error("the event `{text}` cannot be read: {what}")]
    Syntax {
        /// What was given, cut to 80 characters.
        text: String,
        /// What is wrong and what would be right.
        what: &'static str,
    },
    /// Too many or too long.
    #[error("{what} are {value}; at most {most} are taken")]
    TooMany {
        /// What.
        what: &'static str,
        /// How many there are.
        value: usize,
        /// How many there may be.
        most: usize,
    },
    /// The PMU has no such field or event.
    #[error(
        "the PMU has neither a field nor an event `{name}`; its folder in /sys/bus/event_source/devices lists them"
    )]
    Term {
        /// What was given.
        name: String,
    },
    /// A value has more bits than its field.
    #[error("{value:#x} does not fit into the field `{name}`, which has {bits} bits")]
    TermValue {
        /// The field.
        name: String,
        /// What was given.
        value: u64,
        /// How many bits it has.
        bits: u32,
    },
    /// The PMU's own file cannot be read.
    #[error("the PMU describes its field `{name}` in a way that is not known here")]
    Format {
        /// The field.
        name: String,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

fn cut(text: &str) -> String {
    text.chars().take(80).collect()
}

fn unknown(name: &str) -> PerfEventError {
    let known = listed().flat_map(|listed| [Some(listed.name), listed.alias]).flatten();
    let known: Vec<String> = known.collect();
    let nearest = closest(name, known.iter().map(String::as_str)).map(str::to_owned);
    PerfEventError::Unknown { name: cut(name), nearest }
}
