//! Which reply each request has, and what travels with it: one line each in the table at the end. Whoever asks gets a value
//! of the line's type; no other reply can be taken for it.

use std::{marker::PhantomData, os::fd::OwnedFd, time::Duration};

use bathyscope_capture::Target;
use bathyscope_plan::Features;

use super::{CALL_TIMEOUT, SLOW_CALL_TIMEOUT};
use crate::{
    ActivityPage, BpfLink, BpfProgram, Budget, Bytes, Capability, CaptureHandle, ContainerName, DynamicEvents, Enabled,
    KernelFile, MAX_MESSAGE_FDS, MapPage, PerfEventInfo, ProcessFile, Readings, Reply, Request, ScriptChecked,
    ScriptFacts, ScriptStage, Started, WireScript, WireSource,
};

/// A request whose reply holds an `R`, with the descriptors `D`.
pub(super) struct TypedRequest<R, D = ()> {
    pub(super) request: Request,
    pub(super) name: &'static str,
    pub(super) timeout: Duration,
    /// None for the reply of another request.
    pub(super) read: fn(Reply) -> Option<R>,
    pub(super) descriptors: PhantomData<D>,
}

/// The descriptors that travel with a reply.
pub(super) trait Descriptors: Sized {
    /// The most of them.
    const MOST: usize;
    /// None if there are not as many as there must be.
    fn take(descriptors: Vec<OwnedFd>) -> Option<Self>;
}

impl Descriptors for () {
    const MOST: usize = 0;

    fn take(descriptors: Vec<OwnedFd>) -> Option<Self> {
        descriptors.is_empty().then_some(())
    }
}

impl Descriptors for OwnedFd {
    const MOST: usize = 1;

    fn take(descriptors: Vec<OwnedFd>) -> Option<Self> {
        <[OwnedFd; 1]>::try_from(descriptors).ok().map(|[file]| file)
    }
}

impl Descriptors for Vec<OwnedFd> {
    const MOST: usize = MAX_MESSAGE_FDS;

    fn take(descriptors: Vec<OwnedFd>) -> Option<Self> {
        Some(descriptors)
    }
}

/// `name(arguments) -> what the reply holds, its descriptors, timeout: request => reply => what is taken of it`.
macro_rules! calls {
    ($($name:ident($($argument:ident: $type:ty),*) -> $holds:ty, $descriptors:ty, $timeout:ident:
        $request:expr => $reply:pat => $taken:expr;)*) => {
        $(pub(super) fn $name($($argument: $type),*) -> TypedRequest<$holds, $descriptors> {
            let read = |reply| match reply {
                $reply => Some($taken),
                _of_another_request => None,
            };
            let (request, name, timeout) = ($request, stringify!($name), $timeout);
            TypedRequest { request, name, timeout, read, descriptors: PhantomData }
        })*
    };
}

calls! {
    hello(version: u32) -> (u32, bool), (), CALL_TIMEOUT:
        Request::Hello { version } => Reply::Hello { version, simulated } => (version, simulated);
    capabilities() -> Vec<Capability>, (), SLOW_CALL_TIMEOUT:
        Request::Capabilities => Reply::Capabilities { capabilities } => capabilities;
    perf_events() -> Vec<PerfEventInfo>, (), SLOW_CALL_TIMEOUT:
        Request::PerfEvents => Reply::PerfEvents { events } => events;
    dynamic_events() -> DynamicEvents, (), CALL_TIMEOUT:
        Request::DynamicEvents => Reply::DynamicEvents(events) => events;
    try_event(line: String) -> (), (), SLOW_CALL_TIMEOUT:
        Request::TryEvent { line } => Reply::Done => ();
    detach_events(capture: CaptureHandle, events: Vec<u16>) -> u32, (), SLOW_CALL_TIMEOUT:
        Request::DetachEvents { capture, events } => Reply::Changed { count } => count;
    detach_others(group: String, name: String) -> u32, (), SLOW_CALL_TIMEOUT:
        Request::DetachOthers { group, name } => Reply::Changed { count } => count;
    optimize_kprobes(on: bool) -> (), (), SLOW_CALL_TIMEOUT:
        Request::OptimizeKprobes { on } => Reply::Done => ();
    open_kernel_file(file: KernelFile) -> (), OwnedFd, CALL_TIMEOUT:
        Request::OpenKernelFile { file } => Reply::File => ();
    open_process_file(pid: u32, file: ProcessFile) -> (), OwnedFd, CALL_TIMEOUT:
        Request::OpenProcessFile { pid, file } => Reply::File => ();
    set_budget(capture: CaptureHandle, budget: Budget) -> (), (), CALL_TIMEOUT:
        Request::SetBudget { capture, budget } => Reply::Done => ();
    list_processes(after: u32) -> (Vec<u32>, bool), (), CALL_TIMEOUT:
        Request::ListProcesses { after } => Reply::Processes { pids, more } => (pids, more);
    process_activity(after: u32) -> ActivityPage, OwnedFd, CALL_TIMEOUT:
        Request::ProcessActivity { after } => Reply::ProcessActivity(page) => page;
    list_groups(after: String) -> (Vec<String>, bool), (), CALL_TIMEOUT:
        Request::ListGroups { after } => Reply::Groups { paths, more } => (paths, more);
    container_names(ids: Vec<String>) -> Vec<ContainerName>, (), CALL_TIMEOUT:
        Request::ContainerNames { ids } => Reply::ContainerNames { names } => names;
    bpf_programs(after: u32) -> (Vec<BpfProgram>, bool), (), CALL_TIMEOUT:
        Request::BpfPrograms { after } => Reply::BpfPrograms { programs, more } => (programs, more);
    bpf_links(after: u32) -> (Vec<BpfLink>, bool), (), CALL_TIMEOUT:
        Request::BpfLinks { after } => Reply::BpfLinks { links, more } => (links, more);
    start(capture: CaptureHandle, sources: Vec<WireSource>, target: Target, ring_bytes: u32) -> Started, (), SLOW_CALL_TIMEOUT:
        Request::Start { capture, sources, target, ring_bytes } => Reply::Started(started) => started;
    take_rings(capture: CaptureHandle, from: u32) -> u32, Vec<OwnedFd>, CALL_TIMEOUT:
        Request::TakeRings { capture, from } => Reply::Rings { count } => count;
    open_counters(capture: CaptureHandle) -> (), OwnedFd, CALL_TIMEOUT:
        Request::OpenCounters { capture } => Reply::File => ();
    enable(capture: CaptureHandle) -> Enabled, (), SLOW_CALL_TIMEOUT:
        Request::Enable { capture } => Reply::Enabled(enabled) => enabled;
    readings(capture: CaptureHandle) -> Readings, (), CALL_TIMEOUT:
        Request::Readings { capture } => Reply::Readings(readings) => readings;
    stop(capture: CaptureHandle, end_command: bool) -> Readings, (), SLOW_CALL_TIMEOUT:
        Request::Stop { capture, end_command } => Reply::Stopped(readings) => readings;
    discard(capture: CaptureHandle) -> (), (), SLOW_CALL_TIMEOUT:
        Request::Discard { capture } => Reply::Done => ();
    host_features() -> Features, (), SLOW_CALL_TIMEOUT:
        Request::HostFeatures => Reply::Features(features) => features;
    script_facts(text: String, offset: u32) -> ScriptFacts, (), SLOW_CALL_TIMEOUT:
        Request::ScriptFacts { text, offset } => Reply::ScriptFacts(facts) => facts;
    check_script(script: WireScript, show: Option<ScriptStage>) -> ScriptChecked, (), SLOW_CALL_TIMEOUT:
        Request::CheckScript { script, show } => Reply::ScriptChecked(checked) => checked;
    read_map(capture: CaptureHandle, map: u32, take: bool, after: Option<Bytes>) -> MapPage, OwnedFd, SLOW_CALL_TIMEOUT:
        Request::ReadMap { capture, map, take, after } => Reply::MapPage(page) => page;
    read_elements(capture: CaptureHandle, map: u32, keys: Vec<Bytes>) -> MapPage, OwnedFd, SLOW_CALL_TIMEOUT:
        Request::ReadElements { capture, map, keys } => Reply::MapPage(page) => page;
    clear_map(capture: CaptureHandle, map: u32) -> u32, (), SLOW_CALL_TIMEOUT:
        Request::ClearMap { capture, map } => Reply::Changed { count } => count;
    zero_map(capture: CaptureHandle, map: u32) -> u32, (), SLOW_CALL_TIMEOUT:
        Request::ZeroMap { capture, map } => Reply::Changed { count } => count;
    delete_keys(capture: CaptureHandle, map: u32, keys: Vec<Bytes>) -> u32, (), SLOW_CALL_TIMEOUT:
        Request::DeleteKeys { capture, map, keys } => Reply::Changed { count } => count;
    read_stacks(capture: CaptureHandle, user: bool, ids: Vec<u64>) -> u32, OwnedFd, CALL_TIMEOUT:
        Request::ReadStacks { capture, user, ids } => Reply::Stacks { count } => count;
    run_signal(capture: CaptureHandle, number: i32) -> u32, (), CALL_TIMEOUT:
        Request::RunSignal { capture, number } => Reply::Ran { count } => count;
    read_iterator(capture: CaptureHandle, probe: u32) -> (), (), SLOW_CALL_TIMEOUT:
        Request::ReadIterator { capture, probe } => Reply::Ran { .. } => ();
    open_user_file(path: String, in_process: Option<u32>) -> (u64, u64, u64), OwnedFd, CALL_TIMEOUT:
        Request::OpenUserFile { path, in_process } => Reply::UserFile { device, inode, bytes } => (device, inode, bytes);
}
