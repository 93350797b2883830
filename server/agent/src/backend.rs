//! What a session needs of whatever makes the events: the kernel, or a simulation.

use std::os::fd::{BorrowedFd, OwnedFd};

use bathyscope_capture::{CaptureSpec, Limits, Method, ProfileSpec, Target, visible};
use bathyscope_catalog::perf_events::{PerfEvent, parse_event};
use bathyscope_plan::Features;
use bathyscope_protocol::{
    AgentError, AgentErrorKind, BpfLink, BpfProgram, Budget, Capability, ContainerName, DynamicEvents, KernelFile,
    MAX_PARAMETER_BYTES, MAX_SCRIPT_BYTES, MAX_SCRIPT_PARAMETERS, MAX_UNWIND_FILES, MAX_UNWIND_ROWS, MAX_USER_PLACES,
    PerfEventInfo, ProcessFile, Readings, ScriptChecked, ScriptEnabled, ScriptFacts, ScriptRefused, ScriptStage,
    ScriptStarted, Started, UnwindTable, WireMethod, WireScript,
};

use crate::error::failed;

/// The smallest ring of a stream.
pub const MIN_RING_BYTES: u32 = 64 << 10;
/// The largest ring of a stream.
pub const MAX_RING_BYTES: u32 = 64 << 20;

/// A capture as it was asked for, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What to record.
    pub method: WireMethod,
    /// Whose events.
    pub target: Target,
    /// Bytes of each stream's ring, a power of two within the limits.
    pub ring_bytes: u32,
}

impl Plan {
    /// Checks everything that can be checked without the kernel: the console may be anybody by now.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn checked(method: WireMethod, target: Target, ring_bytes: u32) -> Result<Self, AgentError> {
        let invalid = |why: String| failed(AgentErrorKind::Invalid, "checking the capture", why, "");
        check(&method, &target)?;
        match &method {
            WireMethod::Count(count) if count.groups.is_empty() => return Err(invalid("it counts nothing".to_owned())),
            WireMethod::Count(count) => drop(read_events(&count.groups)?),
            WireMethod::Profile(profile) => {
                let more = profile.more.iter().map(|more| more.event.as_str());
                for event in profile.event.as_deref().into_iter().chain(more) {
                    drop(read_event(Some(event))?);
                }
            }
            // What these name only the kernel knows.
            WireMethod::Events { .. } | WireMethod::Trace(_) | WireMethod::Syscalls(_) => {}
        }
        let ring_bytes = ring_bytes.checked_next_power_of_two().unwrap_or(u32::MAX);
        if !(MIN_RING_BYTES..=MAX_RING_BYTES).contains(&ring_bytes) {
            let why = format!("a ring of {ring_bytes} bytes is outside of {MIN_RING_BYTES} to {MAX_RING_BYTES}");
            return Err(failed(AgentErrorKind::Limit, "checking the capture", why, "Ask for another size."));
        }
        Ok(Self { method, target, ring_bytes })
    }
}

/// Checks a method and a target by the rules of specs.
fn check(method: &WireMethod, target: &Target) -> Result<(), AgentError> {
    let invalid = |why: String| failed(AgentErrorKind::Invalid, "checking the capture", why, "");
    let method = match method.clone() {
        WireMethod::Events { probes } => Method::Events { probes },
        WireMethod::Profile(profile) => Method::Profile(profile),
        WireMethod::Count(count) => Method::Count(count),
        WireMethod::Trace(trace) => Method::Trace(*trace),
        WireMethod::Syscalls(wanted) => Method::Syscalls(wanted.calls),
    };
    let spec = CaptureSpec { name: String::new(), method, target: target.clone(), limits: Limits::default() };
    spec.validate().map_err(|error| invalid(error.to_string()))
}

/// Why the agent does not look for a unit or a container: it parses no names of others, the console does.
pub(crate) fn unresolved(name: &str) -> AgentError {
    let doing = format!("looking for the processes of `{}`", visible(name.as_bytes()));
    failed(AgentErrorKind::Invalid, doing, "the agent takes control groups by their path only", "")
}

/// The event that a text names. The console has read it too, but it may be anybody by now.
///
/// # Errors
/// If it is no event.
pub(crate) fn read_event(text: Option<&str>) -> Result<Option<PerfEvent>, AgentError> {
    let Some(text) = text else { return Ok(None) };
    let event = parse_event(text).map_err(|error| {
        let doing = format!("reading the event `{}`", visible(text.as_bytes()));
        failed(AgentErrorKind::Invalid, doing, error.to_string(), "")
    });
    event.map(Some)
}

/// The events that texts name, in their groups.
///
/// # Errors
/// If one is no event.
pub(crate) fn read_events(groups: &[Vec<String>]) -> Result<Vec<Vec<PerfEvent>>, AgentError> {
    let of_group = |group: &Vec<String>| {
        let events = group.iter().map(|text| read_event(Some(text)));
        events.filter_map(Result::transpose).collect()
    };
    groups.iter().map(of_group).collect()
}

/// A script as it was asked for, checked as far as that goes without compiling it.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptPlan {
    /// What to run.
    pub script: WireScript,
    /// Whose events.
    pub target: Target,
    /// Bytes of its ring, a power of two within the limits.
    pub ring_bytes: u32,
    /// The most bytes that its maps may take, with the ring.
    pub map_bytes: u64,
}

/// The most bytes of a script's maps, however much there is.
pub(crate) const MAX_MAP_BYTES: u64 = 1 << 30;

impl ScriptPlan {
    /// Checks sizes and the target.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn checked(script: WireScript, target: Target, ring_bytes: u32) -> Result<Self, AgentError> {
        check_script_sizes(&script)?;
        // The rules for targets and rings are those of other captures, whatever is recorded.
        let any = WireMethod::Profile(ProfileSpec::default());
        if let Target::Threads { .. } = &target {
            let remedy = "Choose their process; tid is the thread's id in a script, such as /tid == 7/.";
            return Err(failed(AgentErrorKind::Invalid, "checking the script", "scripts are not of threads", remedy));
        }
        let Plan { target, ring_bytes, .. } = Plan::checked(any, target, ring_bytes)?;
        Ok(Self { script, target, ring_bytes, map_bytes: MAX_MAP_BYTES })
    }
}

/// Checks the sizes of all parts of a script.
///
/// # Errors
/// The first that is too large.
pub fn check_script_sizes(script: &WireScript) -> Result<(), AgentError> {
    let limit = |what: String| Err(failed(AgentErrorKind::Limit, "checking the script", what, "Make it smaller."));
    let longest = |texts: &mut dyn Iterator<Item = &String>| texts.map(String::len).max().unwrap_or(0);
    let settings = script.settings.iter().flat_map(|(name, value)| [name, value]);
    let words = longest(&mut script.parameters.iter().chain(settings).chain([&script.name]));
    let places: usize = script.user_places.iter().map(|point| point.places.len()).sum();
    if script.text.len() > MAX_SCRIPT_BYTES {
        return limit(format!("it has {} bytes, and at most {MAX_SCRIPT_BYTES} are taken", script.text.len()));
    }
    if script.parameters.len() > MAX_SCRIPT_PARAMETERS || script.settings.len() > MAX_SCRIPT_PARAMETERS {
        return limit(format!("it has more than {MAX_SCRIPT_PARAMETERS} parameters or settings"));
    }
    if words > MAX_PARAMETER_BYTES {
        return limit(format!("a name, parameter or setting has more than {MAX_PARAMETER_BYTES} bytes"));
    }
    if places > MAX_USER_PLACES || script.user_places.len() > MAX_USER_PLACES {
        return limit(format!("it has {places} probe sites in user space, and at most {MAX_USER_PLACES} are taken"));
    }
    check_unwind_tables(script)
}

/// Checks the tables of `dw_ustack`: programs search in them, and rely on nothing but their number.
fn check_unwind_tables(script: &WireScript) -> Result<(), AgentError> {
    let doing = "checking the script's unwind tables";
    let (rows, files) = crate::compile::unwind_sizes(script);
    if rows as usize > MAX_UNWIND_ROWS || files as usize > MAX_UNWIND_FILES {
        let why = format!(
            "they have {rows} rows of {files} files, and at most {MAX_UNWIND_ROWS} of {MAX_UNWIND_FILES} are taken"
        );
        return Err(failed(AgentErrorKind::Limit, doing, why, "Trace one process or command."));
    }
    let sorted = |table: &UnwindTable| table.rows.0.is_sorted_by(|a, b| a >> 32 < b >> 32);
    if script.unwind.iter().all(sorted) {
        return Ok(());
    }
    Err(failed(AgentErrorKind::Invalid, doing, "the rows of a file are not sorted", "Report this as a defect."))
}

/// Why a script cannot run.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptTrouble {
    /// Something about the script.
    Script(ScriptRefused),
    /// Something else.
    Agent(AgentError),
}

impl From<AgentError> for ScriptTrouble {
    fn from(error: AgentError) -> Self {
        Self::Agent(error)
    }
}

/// A file of user space, open.
#[derive(Debug)]
pub struct UserFile {
    /// The file.
    pub file: OwnedFd,
    /// Its device.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// Its size.
    pub bytes: u64,
}

/// Elements of a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elements {
    /// How many.
    pub count: u32,
    /// Key and values of each, see [`bathyscope_protocol::MapPage`].
    pub bytes: Vec<u8>,
    /// Where to go on; none after the last.
    pub next: Option<Vec<u8>>,
}

/// Where events come from.
pub trait Backend {
    /// Whether they are made up.
    fn simulated(&self) -> bool;

    /// As whom a command runs for which `wanted` was chosen, or nobody: the user's name, or the number where it has none.
    fn command_user(&self, wanted: Option<&str>) -> Option<String>;

    /// Tries every way to observe.
    fn capabilities(&mut self) -> Vec<Capability>;

    /// Tries every event with a name of its own.
    fn perf_events(&mut self) -> Vec<PerfEventInfo>;

    /// Opens a file of the kernel.
    ///
    /// # Errors
    /// If it does not exist or may not be read.
    fn open_kernel_file(&mut self, file: &KernelFile) -> Result<OwnedFd, AgentError>;

    /// Processes with a greater id than `after`, ascending, at most `limit`, and whether there are more.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn list_processes(&mut self, after: u32, limit: usize) -> Result<(Vec<u32>, bool), AgentError>;

    /// Paths of control groups greater than `after`, ascending, of at most `bytes` bytes together, and whether there are
    /// more.
    ///
    /// # Errors
    /// If there is no hierarchy of version 2.
    fn list_groups(&mut self, after: &str, bytes: usize) -> Result<(Vec<String>, bool), AgentError>;

    /// What a container runtime calls a container, and its image.
    fn container_name(&mut self, id: &str) -> ContainerName;

    /// BPF programs with a greater number than `after`, ascending, at most `limit`, and whether there are more.
    ///
    /// # Errors
    /// If they may not be looked at.
    fn bpf_programs(&mut self, after: u32, limit: usize) -> Result<(Vec<BpfProgram>, bool), AgentError>;

    /// What holds BPF programs with a greater number than `after`, ascending, at most `limit`, and whether there are more.
    ///
    /// # Errors
    /// If they may not be looked at.
    fn bpf_links(&mut self, after: u32, limit: usize) -> Result<(Vec<BpfLink>, bool), AgentError>;

    /// Opens a file of a process.
    ///
    /// # Errors
    /// If it or the process does not exist or may not be read.
    fn open_process_file(&mut self, pid: u32, file: &ProcessFile) -> Result<OwnedFd, AgentError>;

    /// Makes a capture's probes; nothing is recorded before [`RunningCapture::enable`].
    ///
    /// # Errors
    /// If anything of it cannot be made; then all of it is undone.
    fn start(&mut self, plan: &Plan) -> Result<Box<dyn RunningCapture>, AgentError>;

    /// The dynamic events of the host.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn dynamic_events(&mut self) -> Result<DynamicEvents, AgentError>;

    /// Makes a dynamic event and removes it at once.
    ///
    /// # Errors
    /// If it cannot be made.
    fn try_event(&mut self, line: &str) -> Result<(), AgentError>;

    /// Lets the kernel optimise its probes, or not.
    ///
    /// # Errors
    /// If it has no such setting, or it may not be written.
    fn optimize_kprobes(&mut self, on: bool) -> Result<(), AgentError>;

    /// Switches a dynamic event of another agent of this program off. Returns in how many instances it was on.
    ///
    /// # Errors
    /// If nobody may here, or the event is not of such an agent.
    fn detach_others(&mut self, group: &str, name: &str) -> Result<u32, AgentError> {
        let doing = format!("detaching {}:{}", visible(group.as_bytes()), visible(name.as_bytes()));
        let remedy = "`bathyscope probe --del` detaches it from a terminal, with the rights of whoever records it.";
        Err(failed(
            AgentErrorKind::Denied,
            doing,
            "it belongs to another process, and this agent serves a console",
            remedy,
        ))
    }

    /// What scripts can use.
    fn features(&mut self) -> Features;

    /// Compiles a script and loads nothing.
    ///
    /// # Errors
    /// If it cannot be compiled for a reason that is not in the script.
    fn check_script(&mut self, script: &WireScript, show: Option<ScriptStage>) -> Result<ScriptChecked, AgentError>;

    /// What can stand at a byte of a script, and what stands there.
    ///
    /// # Errors
    /// If it cannot be looked at for a reason that is not in the script.
    fn script_facts(&mut self, script: &WireScript, offset: u32) -> Result<ScriptFacts, AgentError>;

    /// Compiles and loads a script; nothing runs before [`RunningScript::enable`].
    ///
    /// # Errors
    /// If anything of it cannot be made; then all of it is undone.
    fn start_script(&mut self, plan: &ScriptPlan) -> Result<Box<dyn RunningScript>, ScriptTrouble>;

    /// Opens a program or library, through the root of a process if one is given.
    ///
    /// # Errors
    /// If it is none or may not be read.
    fn open_user_file(&mut self, path: &str, in_process: Option<u32>) -> Result<UserFile, AgentError>;
}

/// A script's programs and maps. Dropping it detaches and closes everything, and ends its command.
///
/// Maps are named by their index in the plan, which the caller has checked.
pub trait RunningScript {
    /// What was made.
    fn started(&self) -> &ScriptStarted;

    /// Descriptor `index`: the rings in order, then the read ends of the command's two outputs.
    fn descriptor(&self, index: usize) -> Option<BorrowedFd<'_>>;

    /// What it may cost; said before it is enabled, if at all.
    fn set_budget(&mut self, budget: Budget);

    /// Detaches all probes, without running its `end`; counters, maps and rings stay, and it can only be stopped.
    fn detach(&mut self);

    /// Runs `begin` probes, attaches the others, and lets the command run.
    ///
    /// # Errors
    /// If a probe cannot be attached that the script cannot do without; it can then only be stopped.
    fn enable(&mut self) -> Result<ScriptEnabled, ScriptTrouble>;

    /// Counters and states.
    fn readings(&mut self) -> Readings;

    /// Begins to detach. What cannot be done at once goes on in the background, and readings tell how far it is. When
    /// nothing is attached any more the `end` probes run.
    fn stop(&mut self, end_command: bool) -> Readings;

    /// A page of a map's elements, those that come after `after`.
    ///
    /// # Errors
    /// If the kernel fails.
    fn read_map(&mut self, map: usize, take: bool, after: Option<&[u8]>) -> Result<Elements, AgentError>;

    /// Those of `keys`, all as long as the map's, that are in it.
    ///
    /// # Errors
    /// If the kernel fails.
    fn read_elements(&mut self, map: usize, keys: &[&[u8]]) -> Result<Elements, AgentError>;

    /// Removes all elements; sets an array's to zero. Returns how many.
    ///
    /// # Errors
    /// If the kernel fails.
    fn clear_map(&mut self, map: usize) -> Result<u32, AgentError>;

    /// Sets all values to zero. Returns how many.
    ///
    /// # Errors
    /// If the kernel fails.
    fn zero_map(&mut self, map: usize) -> Result<u32, AgentError>;

    /// Removes `keys`, all as long as the map's. Returns how many there were.
    ///
    /// # Errors
    /// If the kernel fails.
    fn delete_keys(&mut self, map: usize, keys: &[&[u8]]) -> Result<u32, AgentError>;

    /// Stacks by id, those that exist, with their frames.
    ///
    /// # Errors
    /// If the kernel fails.
    fn read_stacks(&mut self, user: bool, ids: &[u64]) -> Result<Vec<(u64, Vec<u64>)>, AgentError>;

    /// Runs the probes of a signal. Returns how many ran.
    ///
    /// # Errors
    /// If the kernel fails.
    fn run_signal(&mut self, number: i32) -> Result<u32, AgentError>;

    /// Walks the iterator of probe `probe` of the plan, which the caller has checked to be one.
    ///
    /// # Errors
    /// If the kernel fails.
    fn run_iterator(&mut self, probe: usize) -> Result<(), AgentError>;
}

/// A capture's probes. Dropping it detaches and closes everything, and ends its command.
pub trait RunningCapture {
    /// What was made.
    fn started(&self) -> &Started;

    /// Descriptor `index`: the rings in order, then the read ends of the command's two outputs.
    fn descriptor(&self, index: usize) -> Option<BorrowedFd<'_>>;

    /// What it may cost; said before it is enabled, if at all. Does nothing for captures whose cost is not known.
    fn set_budget(&mut self, _budget: Budget) {}

    /// Makes it cost the agent less, once. Returns whether it can.
    fn throttle(&mut self) -> bool {
        false
    }

    /// Detaches what costs something; counters and rings stay, and it can only be stopped.
    fn detach(&mut self);

    /// Begins to record. Returns the moment after, monotonic nanoseconds.
    ///
    /// # Errors
    /// If a probe cannot be attached or the command cannot be executed; the capture can then only be stopped.
    fn enable(&mut self) -> Result<u64, AgentError>;

    /// Counters and states.
    fn readings(&mut self) -> Readings;

    /// Switches some of its dynamic events off; the rest goes on. Returns how many were on.
    ///
    /// # Errors
    /// If it has none, or the kernel fails.
    fn detach_events(&mut self, _events: &[u16]) -> Result<u32, AgentError> {
        let why = "it has no dynamic events";
        Err(failed(AgentErrorKind::Invalid, "detaching probes of the capture", why, "Stop the whole capture."))
    }

    /// Detaches; the rings keep what they hold. Returns the final counters.
    fn stop(&mut self, end_command: bool) -> Readings;
}

/// Now, by the clock of all captures.
pub(crate) fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
