//! What is sampled, and what is counted.

use serde::{Deserialize, Serialize};

use crate::spec::{BranchFilter, DynamicProbe, MAX_DYNAMIC_EVENTS, MAX_FILTER_BYTES, SpecError, Target, in_range};

/// The most samples a second and CPU.
pub const MAX_FREQUENCY_HZ: u32 = 10_000;
/// The most events that one capture samples.
pub const MAX_SAMPLED: usize = 16;
/// The most events that one capture counts.
pub const MAX_COUNTED: usize = 1024;
/// The longest text of an event that is counted or sampled.
pub const MAX_EVENT_BYTES: usize = 256;
/// The largest [`CountSpec::detail`].
pub const MAX_DETAIL: u8 = 3;
/// Bytes of stack that are copied with a sample where nobody says.
pub const USUAL_STACK_BYTES: u32 = 8 << 10;
/// The most bytes of stack that can be copied: a record has at most 64 KiB.
pub const MAX_STACK_BYTES: u32 = 65_528;
const MIN_INTERVAL_MS: u64 = 10;
/// The longest that sampling or counting waits before it begins.
const MAX_DELAY_MS: u64 = 3_600_000;
const MAX_INTERVAL_MS: u64 = 3_600_000;
const MAX_LISTED_CPUS: usize = 8192;
const MAX_CGROUP_BYTES: usize = 4096;

/// What is sampled, how often, and how stacks are found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileSpec {
    /// Samples per second and CPU; not used where there is a period.
    pub frequency_hz: u32,
    /// Whether kernel frames are recorded.
    pub kernel_stacks: bool,
    /// Whether user frames are recorded.
    pub user_stacks: bool,
    /// The event, as `perf record -e` takes one; none means the CPU's cycles where they can be counted, else its clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// One sample for so many of the event, instead of the frequency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<u64>,
    /// How the frames in user space are found.
    #[serde(skip_serializing_if = "CallGraph::is_usual")]
    pub call_graph: CallGraph,
    /// Bytes of each thread's stack that are copied for [`CallGraph::Dwarf`]; none means [`USUAL_STACK_BYTES`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack_bytes: Option<u32>,
    /// Whether samples tell of the memory that was accessed: address, data source, weight.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub memory: bool,
    /// Which of the CPU's last branches come with each sample; empty for none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<BranchFilter>,
    /// Only on these CPUs; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// A condition on the fields of the event, in the kernel's own filter language; only tracepoints have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Milliseconds from the capture's start, and so from the command's, to the first sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u32>,
    /// Events that are sampled besides `event`, each by itself, at the same frequency. Each sample tells its event.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<SampledEvent>,
    /// Whether all these events are one group of the kernel, which counts them at the same times or not at all.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub group: bool,
}

/// A further event that is sampled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampledEvent {
    /// The event, as [`ProfileSpec::event`].
    pub event: String,
    /// One sample for so many of it, instead of the frequency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<u64>,
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
            memory: false,
            branches: Vec::new(),
            cpus: Vec::new(),
            filter: None,
            delay_ms: None,
            more: Vec::new(),
            group: false,
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
    /// Probes that are made for these counts; their events are counted beside those of `groups`, which may name them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dynamic: Vec<DynamicProbe>,
    /// Milliseconds from the capture's start, and so from the command's, until counting begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u32>,
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
            dynamic: Vec::new(),
            delay_ms: None,
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

/// The text of an event: its grammar is not known here.
fn check_event(event: &str) -> Result<(), SpecError> {
    in_range("the length of an event's name in bytes", event.trim().len() as u64, 1, MAX_EVENT_BYTES as u64)?;
    if event.contains(|c: char| c.is_control()) {
        return Err(SpecError::Character { what: "an event's name", found: "a control character" });
    }
    Ok(())
}

fn check_delay(delay_ms: Option<u32>) -> Result<(), SpecError> {
    in_range("the delay in milliseconds", u64::from(delay_ms.unwrap_or(0)), 0, MAX_DELAY_MS)
}

impl ProfileSpec {
    /// See [`crate::Method::without_texts`].
    pub(super) fn without_texts(&self, name: &dyn Fn(&str) -> String) -> Self {
        let more = |one: &SampledEvent| SampledEvent { event: name(&one.event), period: one.period };
        Self {
            event: self.event.as_deref().map(name),
            more: self.more.iter().map(more).collect(),
            filter: None,
            ..self.clone()
        }
    }

    pub(super) fn validate(&self) -> Result<(), SpecError> {
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
        self.check_branches()?;
        check_delay(self.delay_ms)?;
        self.check_more()?;
        in_range("the number of CPUs in the list", self.cpus.len() as u64, 0, MAX_LISTED_CPUS as u64)?;
        if let Some(filter) = &self.filter {
            let what = "a filter of samples";
            self.event.as_ref().ok_or(SpecError::Needs { what, needs: "the tracepoint that is sampled" })?;
            in_range("the length of a filter in bytes", filter.len() as u64, 1, MAX_FILTER_BYTES as u64)?;
            if filter.contains(|c: char| c.is_control()) {
                return Err(SpecError::Character { what: "a filter", found: "a control character" });
            }
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

    /// The events besides the first.
    fn check_more(&self) -> Result<(), SpecError> {
        in_range("the number of sampled events", self.more.len() as u64 + 1, 1, MAX_SAMPLED as u64)?;
        for SampledEvent { event, period } in &self.more {
            check_event(event)?;
            period.map_or(Ok(()), |period| in_range("the period of samples", period, 1, 1 << 62))?;
        }
        let needs = |what, needs| Err(SpecError::Needs { what, needs });
        match (self.more.is_empty(), &self.event) {
            (true, _) if self.group => needs("a group of events", "two events or more"),
            (true, _) => Ok(()),
            (false, None) => needs("sampling by more events", "the first event"),
            (false, Some(_)) if !self.branches.is_empty() => needs("recording branches", "one event"),
            (false, Some(_)) if self.filter.is_some() => {
                needs("a filter of samples", "one event, a tracepoint, whose fields it is about")
            }
            (false, Some(_)) => Ok(()),
        }
    }

    fn check_branches(&self) -> Result<(), SpecError> {
        let most = BranchFilter::ALL.len() as u64;
        in_range("the number of words of the branch filter", self.branches.len() as u64, 0, most)?;
        if !self.branches.is_empty() && self.call_graph == CallGraph::Lbr {
            let needs =
                "call_graph to be frame_pointer or dwarf: stacks by lbr use up the CPU's one record of branches";
            return Err(SpecError::Needs { what: "recording branches", needs });
        }
        Ok(())
    }

    /// The nanoseconds of a CPU that each sample stands for, of a stream that is called as its event: the period of a clock. None of
    /// other events, and where several are sampled.
    pub fn sample_period_ns(&self, stream: &str) -> Option<u64> {
        let is_clock = matches!(stream, "cpu-clock" | "task-clock") && self.more.is_empty();
        let period = self.period.unwrap_or_else(|| 1_000_000_000 / u64::from(self.frequency_hz.max(1)));
        is_clock.then_some(period)
    }

    /// The bytes of stack that are copied with each sample; none without DWARF.
    pub fn copied_stack_bytes(&self) -> u32 {
        match self.call_graph {
            // The kernel takes multiples of eight.
            CallGraph::Dwarf => self.stack_bytes.unwrap_or(USUAL_STACK_BYTES).next_multiple_of(8).min(MAX_STACK_BYTES),
            CallGraph::FramePointer | CallGraph::Lbr => 0,
        }
    }

    pub(super) fn title(&self) -> String {
        match (&self.event, self.period) {
            (None, _) => format!("profile at {} Hz", self.frequency_hz),
            (Some(event), _) if !self.more.is_empty() => format!("profile of {event} and {} more", self.more.len()),
            (Some(event), None) => format!("profile of {event} at {} Hz", self.frequency_hz),
            (Some(event), Some(1)) => format!("profile of every {event}"),
            (Some(event), Some(period)) => format!("profile of {event} every {period}"),
        }
    }
}

impl CountSpec {
    /// See [`crate::Method::without_texts`].
    pub(super) fn without_texts(&self, name: &dyn Fn(&str) -> String) -> Self {
        let group = |group: &Vec<String>| group.iter().map(|event| name(event)).collect();
        Self {
            groups: self.groups.iter().map(group).collect(),
            interval_ms: self.interval_ms,
            per: self.per,
            cpus: self.cpus.clone(),
            everywhere: self.everywhere,
            detail: self.detail,
            delay_ms: self.delay_ms,
            ..Self::default()
        }
    }

    pub(super) fn validate(&self, target: &Target) -> Result<(), SpecError> {
        let events = self.groups.iter().map(Vec::len).sum::<usize>();
        in_range("the number of counted events", events as u64, 0, MAX_COUNTED as u64)?;
        for group in &self.groups {
            in_range("the number of events in a group", group.len() as u64, 1, MAX_COUNTED as u64)?;
            group.iter().try_for_each(|event| check_event(event))?;
        }
        let interval = u64::from(self.interval_ms);
        check_delay(self.delay_ms)?;
        in_range("the interval in milliseconds", interval, MIN_INTERVAL_MS, MAX_INTERVAL_MS)?;
        in_range("the detail of counting", u64::from(self.detail), 0, u64::from(MAX_DETAIL))?;
        in_range("the number of CPUs in the list", self.cpus.len() as u64, 0, MAX_LISTED_CPUS as u64)?;
        in_range("the number of dynamic events", self.dynamic.len() as u64, 0, MAX_DYNAMIC_EVENTS as u64)?;
        self.dynamic.iter().try_for_each(DynamicProbe::validate)?;
        if let Some(path) = &self.cgroup {
            in_range("the length of the control group's path", path.len() as u64, 1, MAX_CGROUP_BYTES as u64)?;
            if path.contains('\0') {
                return Err(SpecError::Character { what: "a control group's path", found: "a NUL byte" });
            }
        }
        let one = !self.everywhere && *target.watched() != Target::System;
        if self.per == CountPer::Thread && !one {
            return Err(SpecError::Needs { what: "counting by thread", needs: "a process or command as target" });
        }
        if self.cgroup.is_some() && one {
            let needs = "the whole system as target, or `everywhere`";
            return Err(SpecError::Needs { what: "counting a control group", needs });
        }
        Ok(())
    }

    pub(super) fn title(&self) -> String {
        let mut names = self.groups.iter().flatten().chain(self.dynamic.iter().map(|probe| &probe.typed));
        match (names.next(), names.count()) {
            (None, _) => "counts".to_owned(),
            (Some(one), 0) => format!("counts of {one}"),
            (Some(first), more) => format!("counts of {first} and {more} more"),
        }
    }
}
