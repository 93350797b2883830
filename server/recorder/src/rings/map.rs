//! The rings that the agent hands over, checked against what it said of them, and mapped.

use std::os::fd::OwnedFd;

use bathyscope_decode::perf::PerfFormat;
use bathyscope_protocol::{RingContent, RingInfo, RingKind, RingRecords, Started, StartedSource, rings::RingReader};

use super::perf_format;
use crate::{link::words, page_reader::PageReader, reader::RecordSource};

/// Maps the rings of a capture, in order.
///
/// # Errors
/// If they are not what the agent said.
pub(crate) fn map_rings(rings: Vec<OwnedFd>, started: &Started) -> Result<Vec<RecordSource>, String> {
    let announced = started.rings().count();
    if rings.len() != announced {
        return Err(format!("{announced} rings were announced and {} came", rings.len()));
    }
    let infos = started.sources.iter().flat_map(|source| source.rings.iter().map(move |info| (source, info)));
    let map = |(fd, (source, info)): (OwnedFd, (&StartedSource, &RingInfo))| {
        let format = perf_format(info.kind);
        if let RingContent::Stream { stream } = info.content {
            let layout = source.streams.get(usize::from(stream)).ok_or("a ring of a stream that there is not")?;
            let fits = match layout.ring_records() {
                Some(RingRecords::Bpf) => format.is_none(),
                Some(RingRecords::PerfSamples) => format.is_some_and(PerfFormat::fits_samples),
                None => false,
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
    rings.into_iter().zip(infos).map(map).collect()
}
