//! Ways that take perf events.

use std::{
    ffi::CStr,
    fs::File,
    io::{self, Read as _},
    time::Instant,
};

use bathyscope_protocol::{
    CapabilityState, RingContent, RingInfo, RingKind,
    rings::{RingError, RingReader},
};
use perf_event_open_sys::bindings as sys;

use super::{
    Trial,
    programs::wait_until,
    verdict::{Need, Verdict, milliseconds},
};
use crate::os::{
    cpus,
    perf::{self, Event, Scope},
    sideband,
};

/// This program's file, whatever became of its path.
pub(super) const OWN_PROGRAM: &CStr = c"/proc/self/exe";
const RING_BYTES: u32 = 64 << 10;
const FREQUENCY_HZ: u64 = 1000;
/// The longest file of this process's mappings that is read.
const MAX_MAPS_BYTES: u64 = 4 << 20;

/// The function that the trial of user probes is set on.
#[inline(never)]
extern "C" fn probed_function(argument: u64) -> u64 {
    std::hint::black_box(argument).wrapping_add(1)
}

/// The offset of [`probed_function`] in this program's file.
pub(super) fn own_function_offset() -> io::Result<u64> {
    let address = probed_function as extern "C" fn(u64) -> u64 as usize as u64;
    let mut maps = String::new();
    File::open("/proc/self/maps")?.take(MAX_MAPS_BYTES).read_to_string(&mut maps)?;
    let offset_in = |line: &str| {
        let mut columns = line.split_ascii_whitespace();
        let (start, end) = columns.next()?.split_once('-')?;
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let (start, end, offset) = (hex(start)?, hex(end)?, hex(columns.nth(1)?)?);
        (start..end).contains(&address).then(|| address - start + offset)
    };
    maps.lines().find_map(offset_in).ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn ring_of(event: &Event) -> Result<RingReader, RingError> {
    use std::os::fd::AsFd as _;
    let kind = RingKind::Perf { sample_type: 0, read_format: 0, sample_id_all: true, branch_sample_type: 0 };
    let info = RingInfo { kind, content: RingContent::Sideband, data_bytes: RING_BYTES, cpu: None };
    let fd = event.as_fd().try_clone_to_owned();
    let fd = fd.map_err(|source| RingError::Map { bytes: RING_BYTES, source })?;
    RingReader::map(fd, &info)
}

fn ring_verdict(error: &RingError) -> Verdict {
    let why = std::error::Error::source(error).map_or_else(String::new, |source| format!(": {source}"));
    Verdict::new(
        CapabilityState::Refused,
        format!("mapping its buffer failed{why}"),
        "Raise kernel.perf_event_mlock_kb or the limit of locked memory (`ulimit -l`).",
    )
}

pub(super) fn cpu_clock(trial: &mut Trial<'_>) -> Verdict {
    let mut attributes = perf::attributes(sys::PERF_TYPE_SOFTWARE, u64::from(sys::PERF_COUNT_SW_CPU_CLOCK));
    attributes.set_freq(1);
    attributes.__bindgen_anon_1.sample_freq = FREQUENCY_HZ;
    attributes.sample_type = u64::from(sys::PERF_SAMPLE_IP | sys::PERF_SAMPLE_CALLCHAIN);
    let cpu = cpus::online().ok().and_then(|cpus| cpus.first().copied()).unwrap_or(0);
    let event = match Event::open(&mut attributes, Scope::Cpu(cpu)) {
        Ok(event) => event,
        Err(error) => {
            return trial.rights.judge("opening a timer on a CPU", &error, Need::Events, "CONFIG_PERF_EVENTS");
        }
    };
    let mut ring = match ring_of(&event) {
        Ok(ring) => ring,
        Err(error) => return ring_verdict(&error),
    };
    let clock = Instant::now();
    if let Err(error) = event.enable() {
        return trial.rights.judge("enabling it", &error, Need::Events, "CONFIG_PERF_EVENTS");
    }
    wait_until(|| ring.used_bytes() > 0);
    let samples = ring.drain(usize::MAX, &mut |_record| ()).map_or(0, |drained| drained.records);
    match samples {
        0 => Verdict::new(
            CapabilityState::Refused,
            format!("no sample came in {}", milliseconds(clock)),
            "Report this as a defect, with the kernel's version.",
        ),
        _ => Verdict::works(format!("the first sample with a stack came after {}", milliseconds(clock))),
    }
}

/// Work for a counter to count.
fn burn() -> u64 {
    (0..200_000_u64).fold(1, |sum, i| std::hint::black_box(sum.wrapping_mul(i | 1)))
}

pub(super) fn pmu(trial: &mut Trial<'_>) -> Verdict {
    let hardware = "Run on a machine, or give the virtual machine a CPU model, with performance counters; \
                    profiles use the timer meanwhile.";
    let mut attributes = perf::attributes(sys::PERF_TYPE_HARDWARE, u64::from(sys::PERF_COUNT_HW_CPU_CYCLES));
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    let event = match Event::open(&mut attributes, Scope::ThisThread) {
        Ok(event) => event,
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV)) => {
            let finding = "this CPU offers no cycle counter";
            return Verdict::new(CapabilityState::MissingHardware, finding, hardware);
        }
        Err(error) => {
            return trial.rights.judge("opening the cycle counter", &error, Need::Events, "CONFIG_PERF_EVENTS");
        }
    };
    let counted = event.enable().and_then(|()| {
        std::hint::black_box(burn());
        event.read()
    });
    match counted {
        Ok((0, _lost)) => Verdict::new(CapabilityState::MissingHardware, "the cycle counter does not count", hardware),
        Ok((cycles, _lost)) => Verdict::works(format!("counted {cycles} cycles")),
        Err(error) => trial.rights.judge("counting cycles", &error, Need::Events, ""),
    }
}

const MMAP2: u32 = 10;
const MISC_BUILD_ID: u16 = 1 << 14;

/// Maps this program's own file once more and looks at what is reported of that.
pub(super) fn sideband_build_id(trial: &mut Trial<'_>) -> Verdict {
    let mut attributes = sideband::attributes(u64::from(sys::PERF_SAMPLE_TID | sys::PERF_SAMPLE_TIME), true);
    let event = match Event::open(&mut attributes, Scope::ThisThread) {
        Ok(event) => event,
        Err(error) => {
            return trial.rights.judge(
                "opening the event that reports processes",
                &error,
                Need::Events,
                "5.12 or later",
            );
        }
    };
    let mut ring = match ring_of(&event) {
        Ok(ring) => ring,
        Err(error) => return ring_verdict(&error),
    };
    if let Err(error) = event.enable().and_then(|()| map_own_program_once()) {
        return trial.rights.judge("mapping a program", &error, Need::Events, "");
    }
    let mut found = None;
    let drained = ring.drain(usize::MAX, &mut |record| {
        if let Some(&[kind_0, kind_1, kind_2, kind_3, misc_0, misc_1, ..]) = record.first_chunk::<8>()
            && u32::from_le_bytes([kind_0, kind_1, kind_2, kind_3]) == MMAP2
        {
            found = Some(u16::from_le_bytes([misc_0, misc_1]) & MISC_BUILD_ID != 0);
        }
    });
    let of_whom = whose_processes(trial);
    match (drained, found) {
        (Ok(_), Some(true)) => Verdict::works(format!("a mapping was reported with its build id; {of_whom}")),
        (Ok(_), Some(false)) => Verdict::works(format!(
            "a mapping was reported, without a build id, which this program's file has not; {of_whom}"
        )),
        (Ok(_), None) => Verdict::absent("a mapping was not reported", "Report this as a defect."),
        (Err(error), _) => ring_verdict(&error),
    }
}

/// Whose processes are reported, by trying for all of a CPU.
fn whose_processes(trial: &Trial<'_>) -> String {
    let mut attributes = sideband::attributes(u64::from(sys::PERF_SAMPLE_TID | sys::PERF_SAMPLE_TIME), true);
    match Event::open(&mut attributes, Scope::Cpu(0)) {
        Ok(_event) => "processes of all users are reported".to_owned(),
        Err(error) => {
            let Verdict { finding, .. } =
                trial.rights.judge("reporting those of other users", &error, Need::Events, "");
            format!("only processes of this agent's user are reported: {finding}")
        }
    }
}

fn map_own_program_once() -> io::Result<()> {
    use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
    let file = File::open("/proc/self/exe")?;
    let bytes = rustix::param::page_size();
    // SAFETY: a fresh private mapping at an address that the kernel chooses, which nothing refers to; it is removed at
    // once and never looked at.
    unsafe {
        let address =
            mmap(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::EXEC, MapFlags::PRIVATE, &file, 0)?;
        munmap(address, bytes)?;
    }
    Ok(())
}

/// The number of a kind of event that the kernel made up at boot.
fn kind_number(kind: &str) -> Option<u32> {
    let path = format!("/sys/bus/event_source/devices/{kind}/type");
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

pub(super) fn uprobe(trial: &mut Trial<'_>) -> Verdict {
    let Some(kind) = kind_number("uprobe") else {
        return Verdict::absent("this kernel has no user probes", "Use a kernel with CONFIG_UPROBE_EVENTS.");
    };
    let option = "CONFIG_UPROBE_EVENTS";
    let offset = match own_function_offset() {
        Ok(offset) => offset,
        Err(error) => return trial.rights.judge("finding a function of this program", &error, Need::Administrator, ""),
    };
    let clock = Instant::now();
    let event = match Event::open_at(&mut perf::attributes(kind, 0), OWN_PROGRAM, offset, Scope::ThisThread) {
        Ok(event) => event,
        Err(error) => {
            return trial.rights.judge("probing a function of this program", &error, Need::Administrator, option);
        }
    };
    let attached = milliseconds(clock);
    let counted = event.enable().and_then(|()| {
        std::hint::black_box(probed_function(1));
        event.read()
    });
    match counted {
        Ok((1, _lost)) => Verdict::works(format!("probed a function of this program in {attached}, 1 hit of 1 call")),
        Ok((hits, _lost)) => Verdict::new(
            CapabilityState::Refused,
            format!("a probed function of this program was called once and hit {hits} times"),
            "Report this as a defect, with the kernel's version.",
        ),
        Err(error) => trial.rights.judge("counting hits", &error, Need::Administrator, option),
    }
}

pub(super) fn kprobe(trial: &mut Trial<'_>) -> Verdict {
    let Some(kind) = kind_number("kprobe") else {
        let remedy = "Use a kernel with CONFIG_KPROBES and CONFIG_KPROBE_EVENTS, as distributions have.";
        return Verdict::absent("this kernel was built without kernel probes", remedy);
    };
    let option = "CONFIG_KPROBE_EVENTS";
    let clock = Instant::now();
    let event = match Event::open_at(&mut perf::attributes(kind, 0), c"vfs_read", 0, Scope::ThisThread) {
        Ok(event) => event,
        Err(error) => return trial.rights.judge("probing vfs_read", &error, Need::Administrator, option),
    };
    let attached = milliseconds(clock);
    let counted = event.enable().and_then(|()| {
        File::open("/proc/self/stat")?.read_exact(&mut [0])?;
        event.read()
    });
    match counted {
        Ok((0, _lost)) => Verdict::new(
            CapabilityState::Refused,
            "vfs_read was probed and called, and no hit was counted",
            "See that kprobes are enabled: /sys/kernel/debug/kprobes/enabled",
        ),
        Ok((hits, _lost)) => Verdict::works(format!("probed vfs_read in {attached}, {hits} hits")),
        Err(error) => trial.rights.judge("counting hits", &error, Need::Administrator, option),
    }
}
