//! What happens to processes during a capture: mappings, names, forks, exits.

use std::{
    io,
    os::fd::{AsFd as _, BorrowedFd},
};

use bathyscope_protocol::{AgentError, RingContent, RingInfo, RingKind};
use perf_event_open_sys::bindings as sys;

use super::{
    cpus,
    perf::{self, Buffer, Event, Scope},
};
use crate::{engine::ProcessReports, error::refused, needs::Need};

/// Bytes of each CPU's ring where it carries nothing else: some 3000 records.
pub(crate) const RING_BYTES: u32 = 512 << 10;
/// What records that are no samples carry at their end.
const SAMPLE_TYPE: u64 = sys::PERF_SAMPLE_TID as u64 | sys::PERF_SAMPLE_TIME as u64 | sys::PERF_SAMPLE_CPU as u64;

/// Attributes of an event that counts nothing and reports what happens to processes.
pub(crate) fn attributes(sample_type: u64, build_id: bool) -> perf::Attributes {
    let mut attributes = perf::attributes(sys::PERF_TYPE_SOFTWARE, u64::from(sys::PERF_COUNT_SW_DUMMY));
    attributes.sample_type = sample_type;
    attributes.set_sample_id_all(1);
    attributes.set_mmap(1);
    attributes.set_mmap2(1);
    attributes.set_build_id(u64::from(build_id));
    attributes.set_comm(1);
    attributes.set_comm_exec(1);
    attributes.set_task(1);
    attributes.set_exclude_kernel(1);
    use_monotonic_clock(&mut attributes);
    wake_rarely(&mut attributes, RING_BYTES);
    attributes
}

/// Records are stamped by the clock of all captures.
pub(crate) fn use_monotonic_clock(attributes: &mut perf::Attributes) {
    attributes.set_use_clockid(1);
    attributes.clockid = libc::CLOCK_MONOTONIC;
}

/// Readers look by themselves every few milliseconds; they are woken only when the ring is half full.
pub(crate) fn wake_rarely(attributes: &mut perf::Attributes, ring_bytes: u32) {
    attributes.set_watermark(1);
    attributes.__bindgen_anon_2.wakeup_watermark = ring_bytes / 2;
}

/// How the records of an event look: the words of its attributes that decide that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordFormat {
    pub(crate) sample_type: u64,
    pub(crate) read_format: u64,
    pub(crate) branch_sample_type: u64,
}

/// How a ring with records of this kind is described to the console.
pub(crate) fn ring_info(content: RingContent, formats: RecordFormat, bytes: u32, cpu: u32) -> RingInfo {
    let RecordFormat { sample_type, read_format, branch_sample_type } = formats;
    let kind = RingKind::Perf { sample_type, read_format, sample_id_all: true, branch_sample_type };
    RingInfo { kind, content, data_bytes: bytes, cpu: Some(cpu) }
}

/// One event and ring for each CPU; none where another engine reports.
#[derive(Debug)]
pub(crate) struct Sideband {
    rings: Vec<(Event, Buffer)>,
    infos: Vec<RingInfo>,
}

impl Sideband {
    /// Makes the events, disabled, if they are to report here.
    pub(crate) fn open(reports: ProcessReports) -> Result<Self, AgentError> {
        let doing = "opening the events that report processes";
        let trouble = |error: &io::Error| refused(doing, error, Need::Events);
        let mut sideband = Self { rings: Vec::new(), infos: Vec::new() };
        let ProcessReports::Here { data } = reports else { return Ok(sideband) };
        for cpu in cpus::online().map_err(|error| trouble(&error))? {
            let mut attributes = attributes(SAMPLE_TYPE, true);
            attributes.set_mmap_data(u64::from(data));
            let event = match Event::open(&mut attributes, Scope::Cpu(cpu)) {
                Ok(event) => event,
                // It went offline in between.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => continue,
                Err(error) => return Err(trouble(&error)),
            };
            let buffer = Buffer::map(&event, RING_BYTES).map_err(|error| trouble(&error))?;
            sideband.rings.push((event, buffer));
            let formats = RecordFormat { sample_type: SAMPLE_TYPE, read_format: 0, branch_sample_type: 0 };
            sideband.infos.push(ring_info(RingContent::Sideband, formats, RING_BYTES, cpu));
        }
        Ok(sideband)
    }

    /// Begins to report.
    pub(crate) fn enable(&self) -> Result<(), AgentError> {
        self.rings
            .iter()
            .try_for_each(|(event, _buffer)| event.enable())
            .map_err(|error| refused("enabling the events that report processes", &error, ""))
    }

    /// Ceases to report.
    pub(crate) fn disable(&self) {
        for (event, _buffer) in &self.rings {
            // One whose CPU went offline is disabled already.
            let _gone = event.disable();
        }
    }

    /// Its rings.
    pub(crate) fn infos(&self) -> &[RingInfo] {
        &self.infos
    }

    /// Descriptor `index`.
    pub(crate) fn descriptor(&self, index: usize) -> Option<BorrowedFd<'_>> {
        self.rings.get(index).map(|(event, _buffer)| event.as_fd())
    }
}
