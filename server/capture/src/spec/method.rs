//! The kinds of what a capture records, and what each answers when somebody asks.
//!
//! Here is the only place where the data model tells kinds apart. Whoever makes or records one has a table of its own (the
//! recorder's and the agent's engines); everybody else asks. What a kind has to say is in a module of its own.

mod perf;
mod states;
mod syscalls;
mod trace;

use serde::{Deserialize, Serialize};

pub use perf::{
    CallGraph, CountPer, CountSpec, MAX_COUNTED, MAX_DETAIL, MAX_EVENT_BYTES, MAX_FREQUENCY_HZ, MAX_SAMPLED,
    MAX_STACK_BYTES, ProfileSpec, SampledEvent, USUAL_STACK_BYTES,
};
pub use states::StatesSpec;
pub use syscalls::{Below, Descriptors, HexTexts, SyscallData, SyscallLook, SyscallOutcome, SyscallSpec};
pub use trace::{
    MAX_DYNAMIC_EVENTS, MAX_FILTER_BYTES, MAX_FUNCTION_BYTES, MAX_FUNCTION_LINES, MAX_TRACE_BUFFER_KIB,
    MAX_TRACE_EVENTS, MAX_TRACE_OPTIONS, MIN_TRACE_BUFFER_KIB, TRACE_CLOCKS, TraceEvent, TraceSpec, refused_tracer,
};

use super::{DynamicProbe, EventProbe, MAX_PROBES, ScriptSpec, SpecError, Target, in_range};

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
    /// Switches and wake-ups of threads.
    States(StatesSpec),
}

/// By whom the columns of rows are named, which tells what they can be trusted to mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnNames {
    /// This program: each is known.
    Own,
    /// The kernel, for its events, and whoever made a probe.
    Kernel,
    /// Whoever wrote a script.
    Script,
}

/// A kind of what a capture records, without what exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MethodKind {
    /// [`Method::Events`].
    Events,
    /// [`Method::Profile`].
    Profile,
    /// [`Method::Count`].
    Count,
    /// [`Method::Script`].
    Script,
    /// [`Method::Trace`].
    Trace,
    /// [`Method::Syscalls`].
    Syscalls,
    /// [`Method::States`].
    States,
}

impl MethodKind {
    /// All kinds.
    pub const ALL: [Self; 7] =
        [Self::Events, Self::Profile, Self::Count, Self::Script, Self::Trace, Self::Syscalls, Self::States];

    /// Its name, in requests and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Profile => "profile",
            Self::Count => "count",
            Self::Script => "script",
            Self::Trace => "trace",
            Self::Syscalls => "syscalls",
            Self::States => "states",
        }
    }

    /// Whether BPF programs run for it, whose time the kernel keeps. What a hit of another kind costs is an estimate.
    pub const fn loads_programs(self) -> bool {
        match self {
            Self::Events | Self::Script | Self::Syscalls | Self::States => true,
            Self::Trace | Self::Profile | Self::Count => false,
        }
    }

    /// Whether a capture may have one source of it only: what is asked of a capture's script, or of its trace, while it runs
    /// does not say which.
    pub(super) const fn is_once_a_capture(self) -> bool {
        match self {
            Self::Script | Self::Trace => true,
            Self::Events | Self::Profile | Self::Count | Self::Syscalls | Self::States => false,
        }
    }

    /// Whether it can be of threads by their ids. Rows of events of one thread are what a filter shows.
    pub const fn records_threads(self) -> bool {
        match self {
            Self::Profile | Self::Count | Self::Events | Self::States => true,
            Self::Script | Self::Trace | Self::Syscalls => false,
        }
    }
}

impl Method {
    /// Which kind it is.
    pub const fn kind(&self) -> MethodKind {
        match self {
            Self::Events { .. } => MethodKind::Events,
            Self::Profile(_) => MethodKind::Profile,
            Self::Count(_) => MethodKind::Count,
            Self::Script(_) => MethodKind::Script,
            Self::Trace(_) => MethodKind::Trace,
            Self::Syscalls(_) => MethodKind::Syscalls,
            Self::States(_) => MethodKind::States,
        }
    }

    /// The nanoseconds of a CPU that each sample of a stream stands for, if that is known.
    pub fn sample_period_ns(&self, stream: &str) -> Option<u64> {
        match self {
            Self::Profile(profile) => profile.sample_period_ns(stream),
            Self::Events { .. }
            | Self::Count(_)
            | Self::Script(_)
            | Self::Trace(_)
            | Self::Syscalls(_)
            | Self::States(_) => None,
        }
    }

    /// What it is called where nobody gave it a name.
    pub fn title(&self) -> String {
        match self {
            Self::Events { probes } => match probes.as_slice() {
                [one] => one.tracepoint.to_string(),
                [first, rest @ ..] => format!("{} and {} more", first.tracepoint, rest.len()),
                [] => "no probes".to_owned(),
            },
            Self::Profile(profile) => profile.title(),
            Self::Count(count) => count.title(),
            Self::Script(script) => script.title(),
            Self::Trace(trace) => trace.title(),
            Self::Syscalls(calls) => calls.title(),
            Self::States(_) => StatesSpec::TITLE.to_owned(),
        }
    }

    /// Checks everything that can be checked without a host.
    pub(super) fn validate(&self, target: &Target) -> Result<(), SpecError> {
        match self {
            Self::Events { probes } => {
                in_range("the number of probes", probes.len() as u64, 1, MAX_PROBES as u64)?;
                probes.iter().try_for_each(EventProbe::validate)
            }
            Self::Profile(profile) => profile.validate(),
            Self::Count(count) => count.validate(target),
            Self::Script(script) => script.validate(),
            Self::Trace(trace) => trace.validate(),
            Self::Syscalls(calls) => calls.validate(),
            // Each of its values is a valid one.
            Self::States(_) => Ok(()),
        }
    }

    /// By whom the columns of its rows are named.
    pub const fn columns_are_of(&self) -> ColumnNames {
        match self {
            Self::Events { .. } | Self::Trace(_) => ColumnNames::Kernel,
            Self::Script(_) => ColumnNames::Script,
            Self::Profile(_) | Self::Count(_) | Self::Syscalls(_) | Self::States(_) => ColumnNames::Own,
        }
    }

    /// The same as it is told to somebody who is not to see all of it: without conditions, paths, scripts and probes that somebody
    /// wrote. `name` writes the names of events and functions.
    #[must_use]
    pub fn without_texts(&self, name: &dyn Fn(&str) -> String) -> Self {
        match self {
            Self::Events { probes } => {
                let probe = |probe: &EventProbe| EventProbe { predicate: None, ..probe.clone() };
                Self::Events { probes: probes.iter().map(probe).collect() }
            }
            Self::Profile(profile) => Self::Profile(profile.without_texts(name)),
            Self::Count(count) => Self::Count(count.without_texts(name)),
            Self::Script(_) => {
                Self::Script(ScriptSpec { text: ScriptSpec::NOT_TOLD.to_owned(), ..ScriptSpec::default() })
            }
            Self::Trace(trace) => Self::Trace(trace.without_texts(name)),
            Self::Syscalls(calls) => Self::Syscalls(calls.without_texts(name)),
            Self::States(states) => Self::States(*states),
        }
    }

    /// The tracepoints that it records.
    pub fn tracepoints(&self) -> &[EventProbe] {
        if let Self::Events { probes } = self { probes } else { &[] }
    }

    /// What is sampled, of samples.
    pub fn profile(&self) -> Option<&ProfileSpec> {
        if let Self::Profile(profile) = self { Some(profile) } else { None }
    }

    /// Which system calls are recorded, of system calls.
    pub fn syscalls(&self) -> Option<&SyscallSpec> {
        if let Self::Syscalls(calls) = self { Some(calls) } else { None }
    }

    /// The script that makes it.
    pub fn script(&self) -> Option<&ScriptSpec> {
        if let Self::Script(script) = self { Some(script) } else { None }
    }

    /// What is counted.
    pub fn counts(&self) -> Option<&CountSpec> {
        if let Self::Count(count) = self { Some(count) } else { None }
    }

    /// What the kernel's own tracer is asked for.
    pub fn trace(&self) -> Option<&TraceSpec> {
        if let Self::Trace(trace) = self { Some(trace) } else { None }
    }

    /// The dynamic events that are made for it.
    pub fn dynamic(&self) -> &[DynamicProbe] {
        match self {
            Self::Trace(trace) => &trace.dynamic,
            Self::Count(count) => &count.dynamic,
            Self::Events { .. } | Self::Profile(_) | Self::Script(_) | Self::Syscalls(_) | Self::States(_) => &[],
        }
    }

    /// The same, to be changed; none where it can have none.
    pub fn dynamic_mut(&mut self) -> Option<&mut Vec<DynamicProbe>> {
        match self {
            Self::Trace(trace) => Some(&mut trace.dynamic),
            Self::Count(count) => Some(&mut count.dynamic),
            Self::Events { .. } | Self::Profile(_) | Self::Script(_) | Self::Syscalls(_) | Self::States(_) => None,
        }
    }

    /// The functions below which no calls are traced, to be changed; none where no calls are.
    pub fn calls_left_out_mut(&mut self) -> Option<&mut Vec<String>> {
        match self {
            Self::Trace(trace) => Some(&mut trace.graph_not),
            Self::Events { .. }
            | Self::Profile(_)
            | Self::Count(_)
            | Self::Script(_)
            | Self::Syscalls(_)
            | Self::States(_) => None,
        }
    }

    /// The events of perf that it names.
    pub fn perf_events(&self) -> Vec<&str> {
        match self {
            Self::Profile(profile) => {
                let more = profile.more.iter().map(|more| &more.event);
                profile.event.iter().chain(more).map(String::as_str).collect()
            }
            Self::Count(count) => count.groups.iter().flatten().map(String::as_str).collect(),
            Self::Events { .. } | Self::Script(_) | Self::Trace(_) | Self::Syscalls(_) | Self::States(_) => Vec::new(),
        }
    }
}
