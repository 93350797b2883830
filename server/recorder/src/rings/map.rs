//! The rings that the agent hands over, checked against what it said of them, and mapped.

use std::os::fd::OwnedFd;

use bathyscope_decode::perf::PerfFormat;
use bathyscope_protocol::{RingContent, RingInfo, RingKind, Started, StreamLayout, rings::RingReader};

use super::perf_format;
use crate::{link::words, page_reader::PageReader, reader::RecordSource};

/// Maps the rings of a capture, in order.
///
/// # Errors
/// If they are not what the agent said.
pub(crate) fn map_rings(rings: Vec<OwnedFd>, started: &Started) -> Result<Vec<RecordSource>, String> {
    if rings.len() != started.rings.len() {
        return Err(format!("{} rings were announced and {} came", started.rings.len(), rings.len()));
    }
    let map = |(fd, info): (OwnedFd, &RingInfo)| {
        let format = perf_format(info.kind);
        if let RingContent::Stream { stream } = info.content {
            let layout = started.streams.get(usize::from(stream)).ok_or("a ring of a stream that there is not")?;
            let fits = match layout {
                StreamLayout::Records { .. } | StreamLayout::Syscalls { .. } => format.is_none(),
                StreamLayout::PerfSamples => format.is_some_and(PerfFormat::fits_samples),
                // Branches have no rings of their own.
                StreamLayout::PerfBranches | StreamLayout::TracePages => false,
            };
            if !fits {
                return Err(format!("the ring of stream {stream} has another kind of records"));
            }
        }
        if let RingKind::TracePipe { page_bytes } = info.kind {
            return PageReader::new(fd, page_bytes).map(RecordSource::Pages).map_err(|error| words(&error));
        }
        RingReader::map(fd, info).map(RecordSource::Ring).map_err(|error| words(&error))
    };
    rings.into_iter().zip(&started.rings).map(map).collect()
}
