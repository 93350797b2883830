//! A capture of sampled stacks.
//!
//! Each CPU has two events that share one ring: one that samples, and one that reports processes. Keeping them apart
//! lets the kernel count the samples that did not fit into the ring without counting other records.

use std::{
    io,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    time::Instant,
};

use bathyscope_bpf::probe::{SampleFilter, TargetFilter, sample_filter_program};
use bathyscope_protocol::{AgentError, ProbeReading, Readings, RingContent, RingInfo, Started, StreamLayout};
use perf_event_open_sys::bindings as sys;

use super::{
    bpf, cpus,
    events::Following,
    loader::{Counters, Counts, Loaded, Loader, compile},
    perf::{self, Buffer, Event, Scope},
    sideband::{self, PERF_REMEDY},
    target::Target,
};
use crate::{
    backend::{MIN_RING_BYTES, RunningCapture, monotonic_ns},
    error::refused,
};

const SAMPLE_TYPE: u64 = sys::PERF_SAMPLE_IP as u64
    | sys::PERF_SAMPLE_TID as u64
    | sys::PERF_SAMPLE_TIME as u64
    | sys::PERF_SAMPLE_CPU as u64
    | sys::PERF_SAMPLE_PERIOD as u64
    | sys::PERF_SAMPLE_CALLCHAIN as u64;
const READ_FORMAT: u64 = sys::PERF_FORMAT_LOST as u64;

/// What to sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    /// Samples per second and CPU.
    pub(crate) frequency_hz: u32,
    /// Whether kernel frames are recorded.
    pub(crate) kernel_stacks: bool,
    /// Whether user frames are recorded.
    pub(crate) user_stacks: bool,
    /// Bytes of all rings together.
    pub(crate) ring_bytes: u32,
}

/// What drives the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The CPU's cycle counter: needs hardware, also sees code that runs with interrupts off.
    Cycles,
    /// A timer on each CPU.
    Clock,
}

impl Source {
    fn attributes(self, wish: Wish, ring_bytes: u32) -> perf::Attributes {
        let (type_, config) = match self {
            Self::Cycles => (sys::PERF_TYPE_HARDWARE, sys::PERF_COUNT_HW_CPU_CYCLES),
            Self::Clock => (sys::PERF_TYPE_SOFTWARE, sys::PERF_COUNT_SW_CPU_CLOCK),
        };
        let mut attributes = perf::attributes(type_, u64::from(config));
        attributes.set_freq(1);
        attributes.__bindgen_anon_1.sample_freq = u64::from(wish.frequency_hz);
        attributes.sample_type = SAMPLE_TYPE;
        attributes.read_format = READ_FORMAT;
        attributes.set_sample_id_all(1);
        attributes.set_exclude_callchain_kernel(u64::from(!wish.kernel_stacks));
        attributes.set_exclude_callchain_user(u64::from(!wish.user_stacks));
        if self == Self::Cycles {
            attributes.set_exclude_guest(1);
        }
        sideband::use_monotonic_clock(&mut attributes);
        sideband::wake_rarely(&mut attributes, ring_bytes);
        attributes
    }

    /// Cycles where a counter can be had on every CPU, else the clock.
    fn choose(wish: Wish, cpus: &[u32]) -> Self {
        let works =
            |cpu: &u32| Event::open(&mut Self::Cycles.attributes(wish, MIN_RING_BYTES), Scope::Cpu(*cpu)).is_ok();
        if cpus.iter().all(works) { Self::Cycles } else { Self::Clock }
    }
}

#[derive(Debug)]
struct Cpu {
    sampler: Event,
    reporter: Event,
    _buffer: Buffer,
}

/// A program that decides about each sample, and what it counts.
#[derive(Debug)]
struct Filter {
    program: OwnedFd,
    counters: Counters,
    last: Counts,
    _loaded: Loaded,
}

/// A capture of sampled stacks.
#[derive(Debug)]
pub(crate) struct ProfileCapture {
    started: Started,
    cpus: Vec<Cpu>,
    filter: Filter,
    following: Option<Following>,
    target: Target,
}

/// Each CPU's share of the memory for rings, a power of two.
fn ring_bytes_each(all: u32, cpus: usize) -> u32 {
    let share = all / u32::try_from(cpus.max(1)).unwrap_or(u32::MAX);
    let floor = (share + 1).checked_next_power_of_two().map_or(share, |above| above / 2);
    floor.max(4 * MIN_RING_BYTES)
}

fn cannot_sample(error: &io::Error, wish: Wish) -> AgentError {
    let most = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").unwrap_or_default();
    let most = most.trim();
    let doing = format!("sampling at {} Hz", wish.frequency_hz);
    if error.raw_os_error() == Some(libc::EINVAL) && most.parse().is_ok_and(|most: u32| wish.frequency_hz > most) {
        let remedy = format!("Ask for at most {most} Hz, or raise kernel.perf_event_max_sample_rate.");
        return refused(doing, error, remedy);
    }
    refused(doing, error, PERF_REMEDY)
}

impl Filter {
    fn load(loader: &mut Loader, target: &Target) -> Result<(Self, Option<Following>), AgentError> {
        let doing = "loading the program that chooses samples";
        let filter = match target.pid() {
            None => TargetFilter::System,
            Some(_) if target.follows_children() => TargetFilter::Targets,
            Some(pid) => TargetFilter::Process(pid),
        };
        let wish = SampleFilter { name: "sample", target: filter, skip_idle: true };
        let (program, counters) = sample_filter_program(&wish).map_err(|error| {
            crate::error::failed(bathyscope_protocol::AgentErrorKind::Internal, doing, error.to_string(), "")
        })?;
        let name = program.name.clone();
        let follow = if filter == TargetFilter::Targets { Following::programs()? } else { Vec::new() };
        let places: Vec<_> = follow.iter().map(|(at, id, program)| (at.clone(), *id, program.name.clone())).collect();
        let programs: Vec<_> =
            std::iter::once(program).chain(follow.into_iter().map(|(_, _, program)| program)).collect();
        let mut loaded = loader.load(&compile(&programs, doing)?, doing)?;
        if let Some(pid) = target.pid().filter(|_| target.follows_children()) {
            loaded.add_target(pid, "setting the capture's target")?;
        }
        let program = loaded.load_program(&name, doing)?;
        let following = if places.is_empty() { None } else { Some(Following::open(&mut loaded, &places)?) };
        let counters = loaded.counters(&counters, doing)?;
        Ok((Self { program, counters, last: Counts::default(), _loaded: loaded }, following))
    }
}

fn open_cpu(source: Source, wish: Wish, ring_bytes: u32, cpu: u32, filter: &Filter) -> io::Result<Cpu> {
    let sampler = Event::open(&mut source.attributes(wish, ring_bytes), Scope::Cpu(cpu))?;
    let buffer = Buffer::map(&sampler, ring_bytes)?;
    let mut attributes = sideband::attributes(SAMPLE_TYPE, true);
    attributes.read_format = READ_FORMAT;
    let reporter = Event::open(&mut attributes, Scope::Cpu(cpu))?;
    reporter.write_into(&sampler)?;
    sampler.set_program(filter.program.as_fd())?;
    Ok(Cpu { sampler, reporter, _buffer: buffer })
}

impl ProfileCapture {
    /// Opens everything, disabled.
    pub(crate) fn make(loader: &mut Loader, wish: Wish, target: Target) -> Result<Self, AgentError> {
        let clock = Instant::now();
        let (filter, following) = Filter::load(loader, &target)?;
        let load_ns = u64::try_from(clock.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let clock = Instant::now();
        let online = cpus::online().map_err(|error| refused("listing the CPUs", &error, ""))?;
        let source = Source::choose(wish, &online);
        let ring_bytes = ring_bytes_each(wish.ring_bytes, online.len());
        let (mut cpus, mut rings) = (Vec::new(), Vec::<RingInfo>::new());
        for cpu in online {
            match open_cpu(source, wish, ring_bytes, cpu, &filter) {
                Ok(open) => cpus.push(open),
                // It went offline in between.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => continue,
                Err(error) => return Err(cannot_sample(&error, wish)),
            }
            let content = RingContent::Stream { stream: 0 };
            rings.push(sideband::ring_info(content, SAMPLE_TYPE, READ_FORMAT, ring_bytes, cpu));
        }
        let started = Started {
            streams: vec![StreamLayout::PerfSamples],
            rings,
            target_pid: target.pid(),
            has_output: target.outputs().is_some(),
            compile_ns: 0,
            load_ns,
            attach_ns: u64::try_from(clock.elapsed().as_nanos()).unwrap_or(u64::MAX),
            trace: None,
        };
        Ok(Self { started, cpus, filter, following, target })
    }

    fn detach(&mut self) {
        for cpu in &self.cpus {
            // One whose CPU went offline is disabled already.
            let _gone = cpu.sampler.disable();
            let _gone = cpu.reporter.disable();
        }
        if let Some(following) = &mut self.following {
            following.disable();
        }
    }

    fn lost(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.sampler.read().map_or(0, |(_count, lost)| lost)).sum()
    }
}

impl RunningCapture for ProfileCapture {
    fn started(&self) -> &Started {
        &self.started
    }

    fn descriptor(&self, index: usize) -> Option<BorrowedFd<'_>> {
        if let Some(cpu) = self.cpus.get(index) {
            return Some(cpu.sampler.as_fd());
        }
        let (stdout, stderr) = self.target.outputs()?;
        match index - self.cpus.len() {
            0 => Some(stdout.as_fd()),
            1 => Some(stderr.as_fd()),
            _ => None,
        }
    }

    fn enable(&mut self) -> Result<u64, AgentError> {
        let enable = |event: &Event| event.enable().map_err(|error| refused("enabling a perf event", &error, ""));
        self.cpus.iter().try_for_each(|cpu| enable(&cpu.reporter))?;
        if let Some(following) = &mut self.following {
            following.enable()?;
        }
        self.cpus.iter().try_for_each(|cpu| enable(&cpu.sampler))?;
        let time_ns = monotonic_ns();
        self.target.release()?;
        Ok(time_ns)
    }

    fn readings(&mut self) -> Readings {
        self.filter.last = self.filter.counters.read().unwrap_or(self.filter.last);
        let Counts { hits, filtered, .. } = self.filter.last;
        let probe = ProbeReading {
            hits,
            filtered,
            ring_full: self.lost(),
            missed: bpf::program_stats(self.filter.program.as_fd()).unwrap_or_default().missed,
            // The kernel's statistics cover the filter program alone, not walking and writing the stack.
            ns_per_hit: None,
            ..ProbeReading::default()
        };
        Readings { time_ns: monotonic_ns(), probes: vec![probe], target: self.target.state(), ..Readings::default() }
    }

    fn stop(&mut self, end_command: bool) -> Readings {
        self.detach();
        if end_command {
            self.target.end();
        }
        self.readings()
    }
}

impl Drop for ProfileCapture {
    fn drop(&mut self) {
        self.detach();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_share_their_memory() {
        let cases = [(1 << 20, 2, 1 << 19), (1 << 20, 3, 1 << 18), (64 << 20, 1, 64 << 20), (1 << 16, 64, 1 << 18)];
        for (all, cpus, expected) in cases {
            assert_eq!(ring_bytes_each(all, cpus), expected, "{all} for {cpus}");
        }
    }
}
