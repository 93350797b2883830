//! Ways that take BPF programs.

use std::{
    ffi::CStr,
    io,
    os::fd::{AsFd as _, OwnedFd},
    time::{Duration, Instant},
};

use aya_obj::btf::{Btf, BtfKind};
use bathyscope_bpf::probe::{TargetFilter, TracepointProbe, tracepoint_program};
use bathyscope_catalog::parse_event_format;
use bathyscope_protocol::{AgentError, AgentErrorKind, CapabilityState};
use perf_event_open_sys::bindings::PERF_TYPE_TRACEPOINT;

use super::{
    Trial, sampling,
    verdict::{Need, Verdict, milliseconds},
};
use crate::os::{
    bpf::{self, AttachType, ProgramType},
    cpus,
    perf::{self, Event, Scope},
    tracefs::Tracefs,
};

/// A function that every kernel has and calls often.
const FUNCTION: &CStr = c"vfs_read";
/// How long to wait for a first hit.
const PATIENCE: Duration = Duration::from_millis(200);
const RING_BYTES: u32 = 64 << 10;

/// The kernel's types, read when first needed and only for this.
#[derive(Default)]
pub(super) struct KernelTypes {
    read: Option<Result<(Btf, Duration), String>>,
}

impl KernelTypes {
    fn get(&mut self) -> Result<&(Btf, Duration), &String> {
        let read = || {
            let clock = Instant::now();
            Btf::from_sys_fs().map(|types| (types, clock.elapsed())).map_err(|error| error.to_string())
        };
        self.read.get_or_insert_with(read).as_ref()
    }

    fn id(&mut self, name: &str, kind: BtfKind) -> Result<u32, Verdict> {
        let absent = |finding: String| Verdict::absent(finding, "Use a kernel with CONFIG_DEBUG_INFO_BTF.");
        let (types, _took) = self.get().map_err(|error| absent(format!("no type information: {error}")))?;
        types
            .id_by_type_name_kind(name, kind)
            .map_err(|error| absent(format!("the type information has no `{name}`: {error}")))
    }
}

pub(super) fn tracepoint(trial: &mut Trial<'_>) -> Verdict {
    let clock = Instant::now();
    match hits_of_sched_switch(trial) {
        Ok((attached, hits)) if hits > 0 => {
            Verdict::works(format!("attached to sched:sched_switch in {attached}, {hits} hits"))
        }
        Ok(_none) => Verdict::new(
            CapabilityState::Refused,
            format!("attached to sched:sched_switch, and no hit came in {}", milliseconds(clock)),
            "Report this as a defect, with the kernel's version.",
        ),
        Err(error) => {
            let state = match error.kind {
                AgentErrorKind::Denied => CapabilityState::MissingPrivilege,
                AgentErrorKind::NotFound | AgentErrorKind::Unsupported => CapabilityState::MissingKernelFeature,
                _ => CapabilityState::Refused,
            };
            Verdict::new(state, format!("{} failed: {}", error.doing, error.why), error.remedy)
        }
    }
}

/// The whole way that a capture takes, with as little in it as possible.
fn hits_of_sched_switch(trial: &mut Trial<'_>) -> Result<(String, u64), AgentError> {
    use crate::{
        error::{failed, refused},
        os::loader::compile,
    };
    let internal = |why: String| failed(AgentErrorKind::Internal, "trying sched:sched_switch", why, "");
    let name = "sched:sched_switch".parse().map_err(|error| internal(format!("{error}")))?;
    let format =
        parse_event_format(&Tracefs::find()?.read_format(&name)?).map_err(|error| internal(error.to_string()))?;
    let clock = Instant::now();
    let probe = TracepointProbe {
        name: "try",
        format: &format,
        fields: &[],
        predicate: None,
        target: TargetFilter::System,
        ring_bytes: RING_BYTES,
    };
    let made = tracepoint_program(&probe).map_err(|error| internal(error.to_string()))?;
    let doing = "attaching to sched:sched_switch";
    let object = compile(std::slice::from_ref(&made.program), doing)?;
    let mut loaded = trial.loader.load(&object, doing)?;
    let program = loaded.load_program(&made.program.name, doing)?;
    let counters = loaded.counters(&made.counters, doing)?;
    let cpu = cpus::online().ok().and_then(|cpus| cpus.first().copied()).unwrap_or(0);
    let event = Event::open(&mut perf::attributes(PERF_TYPE_TRACEPOINT, u64::from(format.id)), Scope::Cpu(cpu))
        .map_err(|error| refused(doing, &error, Need::Events))?;
    let link = bpf::link_perf_event(program.as_fd(), &event).map_err(|error| refused(doing, &error, ""))?;
    let attached = milliseconds(clock);
    let hits = || counters.read().map_or(0, |counts| counts.hits);
    wait_until(|| hits() > 0);
    let hits = hits();
    drop((link, event));
    Ok((attached, hits))
}

/// Gives up the CPU now and then, which also makes the scheduler switch.
pub(super) fn wait_until(mut done: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() && Instant::now() < end {
        std::thread::sleep(Duration::from_micros(200));
    }
}

pub(super) fn ring_buffer(trial: &mut Trial<'_>) -> Verdict {
    match bpf::create_ring_buffer(RING_BYTES) {
        Ok(_map) => Verdict::works("made one"),
        Err(error) => trial.rights.judge("making a ring buffer", &error, Need::Programs, "version 5.8 or later"),
    }
}

pub(super) fn run_time_stats(trial: &mut Trial<'_>) -> Verdict {
    match bpf::enable_stats() {
        Ok(_switch) => Verdict::works("switched on and off"),
        Err(error) => {
            trial.rights.judge("switching the statistics on", &error, Need::Administrator, "version 5.8 or later")
        }
    }
}

fn load(
    trial: &Trial<'_>,
    program: ProgramType,
    attach: AttachType,
    types: u32,
    what: &str,
) -> Result<OwnedFd, Verdict> {
    bpf::load_empty_program(program, attach, types).map_err(|(error, log)| {
        let mut verdict = trial.rights.judge(&format!("loading a program {what}"), &error, Need::Programs, "it");
        if verdict.state == CapabilityState::MissingKernelFeature {
            verdict.remedy = String::new();
        }
        if !log.is_empty() {
            verdict.finding = format!("{} ({})", verdict.finding, log.lines().next().unwrap_or_default());
        }
        verdict
    })
}

pub(super) fn raw_tracepoint(trial: &mut Trial<'_>) -> Verdict {
    let attempt = || -> Result<String, Verdict> {
        let program = load(trial, ProgramType::RawTracepoint, AttachType::None, 0, "for a raw tracepoint")?;
        let clock = Instant::now();
        bpf::open_raw_tracepoint(Some(c"sched_switch"), program.as_fd()).map_err(|error| {
            trial.rights.judge("attaching to sched_switch", &error, Need::Programs, "CONFIG_BPF_EVENTS")
        })?;
        Ok(format!("attached to sched_switch in {}", milliseconds(clock)))
    };
    attempt().map_or_else(|verdict| verdict, Verdict::works)
}

pub(super) fn btf(trial: &mut Trial<'_>) -> Verdict {
    match trial.types.get() {
        Ok((_types, took)) => {
            Verdict::works(format!("read /sys/kernel/btf/vmlinux in {:.1} ms", took.as_secs_f64() * 1e3))
        }
        Err(_error) if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() => {
            Verdict::absent("there is no /sys/kernel/btf/vmlinux", "Use a kernel with CONFIG_DEBUG_INFO_BTF.")
        }
        Err(error) => Verdict::absent(format!("/sys/kernel/btf/vmlinux cannot be read: {error}"), ""),
    }
}

pub(super) fn btf_tracepoint(trial: &mut Trial<'_>) -> Verdict {
    let id = match trial.types.id("btf_trace_sched_switch", BtfKind::Typedef) {
        Ok(id) => id,
        Err(verdict) => return verdict,
    };
    let attempt = || -> Result<String, Verdict> {
        let attach = AttachType::TraceRawTracepoint;
        let program = load(trial, ProgramType::Tracing, attach, id, "for a typed raw tracepoint")?;
        let clock = Instant::now();
        bpf::open_raw_tracepoint(None, program.as_fd()).map_err(|error| {
            trial.rights.judge("attaching to sched_switch", &error, Need::Programs, "BPF trampolines")
        })?;
        Ok(format!("attached to sched_switch in {}", milliseconds(clock)))
    };
    attempt().map_or_else(|verdict| verdict, Verdict::works)
}

/// Whether the kernel can patch calls into its functions, on which fentry and the function tracers rest.
fn has_function_tracing() -> bool {
    Tracefs::find().is_ok_and(|tracefs| tracefs.open("available_filter_functions").is_ok())
}

pub(super) fn fentry(trial: &mut Trial<'_>) -> Verdict {
    let id = match trial.types.id("vfs_read", BtfKind::Func) {
        Ok(id) => id,
        Err(verdict) => return verdict,
    };
    let attempt = || -> Result<String, Verdict> {
        let program = load(trial, ProgramType::Tracing, AttachType::TraceFentry, id, "for the entry of vfs_read")?;
        let clock = Instant::now();
        bpf::open_raw_tracepoint(None, program.as_fd()).map_err(|error| {
            trial.rights.judge("attaching to vfs_read", &error, Need::Programs, "CONFIG_FUNCTION_TRACER")
        })?;
        Ok(format!("attached to vfs_read in {}", milliseconds(clock)))
    };
    match attempt() {
        Ok(finding) => Verdict::works(finding),
        // Where the kernel has it and refuses, no other kernel is needed.
        Err(verdict)
            if matches!(verdict.state, CapabilityState::MissingPrivilege | CapabilityState::Refused)
                || has_function_tracing() =>
        {
            verdict
        }
        Err(verdict) => Verdict::absent(
            format!("this kernel cannot patch calls into its functions ({})", verdict.finding),
            "Use a kernel with CONFIG_DYNAMIC_FTRACE and CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS, as distributions have.",
        ),
    }
}

fn attach_multi(
    trial: &Trial<'_>,
    attach: AttachType,
    what: &str,
    option: &str,
    link: impl FnOnce(&OwnedFd) -> io::Result<OwnedFd>,
) -> Verdict {
    let attempt = || -> Result<String, Verdict> {
        let program = load(trial, ProgramType::Kprobe, attach, 0, "for it")?;
        let clock = Instant::now();
        link(&program)
            .map_err(|error| trial.rights.judge(&format!("attaching to {what}"), &error, Need::Programs, option))?;
        Ok(format!("attached to {what} in {}", milliseconds(clock)))
    };
    match attempt() {
        Ok(finding) => Verdict::works(finding),
        Err(mut verdict) => {
            if verdict.state == CapabilityState::MissingKernelFeature {
                verdict.remedy = format!("Use a kernel with {option}.");
            }
            verdict
        }
    }
}

pub(super) fn kprobe_multi(trial: &mut Trial<'_>) -> Verdict {
    attach_multi(trial, AttachType::KprobeMulti, "vfs_read", "CONFIG_FPROBE (and 5.18 or later)", |program| {
        bpf::link_kprobe_multi(program.as_fd(), FUNCTION)
    })
}

pub(super) fn uprobe_multi(trial: &mut Trial<'_>) -> Verdict {
    let own = "a function of this program";
    attach_multi(trial, AttachType::UprobeMulti, own, "CONFIG_UPROBES (and 6.6 or later)", |program| {
        bpf::link_uprobe_multi(
            program.as_fd(),
            sampling::OWN_PROGRAM,
            sampling::own_function_offset()?,
            std::process::id(),
        )
    })
}
