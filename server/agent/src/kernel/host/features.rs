//! What the kernel can do for scripts, found by trying with the smallest thing that tells.
//!
//! The doctor tries the same with all that belongs to it, for people, and takes its time; this has to be over before a
//! script's first compilation is.

use std::{io, os::fd::AsFd as _};

use bathyscope_catalog::types::{TypeKind, Types};
use bathyscope_plan::{Architecture, Features};
use perf_event_open_sys::bindings as sys;

use crate::{
    lockdown::Lockdown,
    os::{
        bpf::{self, AttachType, ProgramType, links},
        cpus,
        perf::{self, Event, Scope},
        tracefs::Tracefs,
    },
};

/// A function that does nothing and is there for trying such things.
const TEST_FUNCTION: &str = "bpf_fentry_test1";
/// The number of the first pid namespace, fixed in the kernel.
const FIRST_PID_NAMESPACE: u64 = 4_026_531_836;

/// Tries everything.
pub(super) fn find(types: &Types) -> Features {
    let lockdown = Lockdown::of_this_kernel();
    let memory_is_hidden = lockdown.hides_memory();
    let kprobe = perf_kind("kprobe").is_some() && !memory_is_hidden;
    let uprobe = perf_kind("uprobe").is_some();
    Features {
        kernel: kernel_version(),
        architecture: if cfg!(target_arch = "aarch64") { Architecture::Aarch64 } else { Architecture::X86_64 },
        possible_cpus: cpus::possible().unwrap_or(1),
        kprobe,
        kprobe_multi: kprobe && has_kprobe_multi(),
        fentry: !memory_is_hidden && has_fentry(types),
        uprobe,
        uprobe_multi: uprobe && has_uprobe_multi(),
        pmu: opens(sys::PERF_TYPE_HARDWARE, u64::from(sys::PERF_COUNT_HW_CPU_CYCLES)),
        // Trying one takes the kernel longer than everything else here; what is refused is told when it is attached.
        watchpoint: perf_kind("breakpoint").is_some(),
        raw_tracepoint: types.find(TypeKind::Typedef, "btf_trace_sched_switch").is_some() && !memory_is_hidden,
        iterator: types.function(None, "bpf_iter_task").is_some() && !memory_is_hidden,
        typed_task: types.find(TypeKind::Struct, "task_struct").is_some() && !memory_is_hidden,
        lockdown: lockdown.level().to_owned(),
        pid_namespace: pid_namespace(),
    }
}

fn kernel_version() -> u32 {
    let release = rustix::system::uname();
    let text = release.release().to_string_lossy().into_owned();
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    numbers.next().unwrap_or(0) * 1000 + numbers.next().unwrap_or(0)
}

fn pid_namespace() -> Option<(u64, u64)> {
    let stat = rustix::fs::stat("/proc/self/ns/pid").ok()?;
    (stat.st_ino != FIRST_PID_NAMESPACE).then_some((stat.st_dev, stat.st_ino))
}

/// The number of a kind of perf event that the kernel made up at boot.
pub(crate) fn perf_kind(kind: &str) -> Option<u32> {
    std::fs::read_to_string(format!("/sys/bus/event_source/devices/{kind}/type")).ok()?.trim().parse().ok()
}

fn opens(kind: u32, config: u64) -> bool {
    Event::open(&mut perf::attributes(kind, config), Scope::ThisThread).is_ok()
}

fn has_kprobe_multi() -> bool {
    let Ok(program) = bpf::load_empty_program(ProgramType::Kprobe, AttachType::KprobeMulti, 0) else { return false };
    // With no function at all it is refused in any case; what for tells.
    match links::kprobe_multi(program.as_fd(), &[], false) {
        Ok(_link) => true,
        Err(error) => !unsupported(&error),
    }
}

fn has_uprobe_multi() -> bool {
    let Ok(program) = bpf::load_empty_program(ProgramType::Kprobe, AttachType::UprobeMulti, 0) else { return false };
    let place = links::UprobeSite { offset: 0, semaphore: 0, cookie: 0 };
    // A folder has no code: kernels that get as far as to look say so.
    match links::uprobe_multi(program.as_fd(), c"/", &[place], false, None) {
        Ok(_link) => true,
        Err(error) => error.raw_os_error() == Some(libc::EBADF),
    }
}

fn unsupported(error: &io::Error) -> bool {
    // 524: the kernel's own number for what is not supported, which escapes in places.
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS | 524))
}

fn has_fentry(types: &Types) -> bool {
    // Trying takes the kernel a while; where it cannot patch its functions at all there is no need to.
    if Tracefs::find_mounted().is_some_and(|tracefs| tracefs.open("available_filter_functions").is_err()) {
        return false;
    }
    let function = [TEST_FUNCTION, "vfs_statx"].into_iter().find_map(|name| types.function(None, name));
    let Some(id) = function.and_then(|function| types.btf_id(function.id)) else { return false };
    let program = bpf::load_empty_program(ProgramType::Tracing, AttachType::TraceFentry, id.id);
    program.is_ok_and(|program| links::typed(program.as_fd(), AttachType::TraceFentry as u32, 0).is_ok())
}
