//! The ring that tells what happens to made processes, of the source that reports it for its capture.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use bathyscope_protocol::{RingContent, RingInfo, rings::SimulatedPerfRing};

use super::{events::SIDEBAND_BYTES, records};
use crate::engine::ProcessReports;

/// One ring for all CPUs; none where another source reports.
#[derive(Debug)]
pub(super) struct SimulatedSideband(Option<SimulatedPerfRing>);

impl SimulatedSideband {
    /// Makes the ring, if it is to be here.
    pub(super) fn open(reports: ProcessReports) -> io::Result<Self> {
        let here = matches!(reports, ProcessReports::Here { .. });
        Ok(Self(here.then(|| SimulatedPerfRing::create(SIDEBAND_BYTES)).transpose()?))
    }

    /// Reports something.
    pub(super) fn push(&mut self, record: &[u8]) {
        if let Some(ring) = &mut self.0 {
            ring.push(record);
        }
    }

    /// What the console is told of the ring.
    pub(super) fn infos(&self) -> Vec<RingInfo> {
        self.0.iter().map(|_ring| records::ring_info(RingContent::Sideband, SIDEBAND_BYTES, 0)).collect()
    }

    /// Its descriptor.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = io::Result<OwnedFd>> + '_ {
        self.0.iter().map(|ring| ring.as_fd().try_clone_to_owned())
    }
}
