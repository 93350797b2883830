//! Records of fixed length → rows, as soon as they come.

use bathyscope_decode::records::RecordDecoder;
use bathyscope_protocol::{RingContent, RingInfo, StartedSource, StreamLayout};

use crate::{
    engine::{Engine, EngineSetup, Prepared},
    lookup::Lookup,
    reader::RecordBatch,
    sink::Sink,
};

/// Streams called `names` whose rows come as records of fixed length.
///
/// # Errors
/// If the agent made other streams than were asked for.
pub(in crate::engine) fn prepare_records(names: Vec<String>, started: &StartedSource) -> Result<Prepared, String> {
    if names.len() != started.streams.len() {
        return Err(format!("{} streams were asked for and {} were made", names.len(), started.streams.len()));
    }
    let stream = |(name, layout): (&String, &StreamLayout)| match layout {
        StreamLayout::Records { record_bytes, columns } => {
            RecordDecoder::new(name, *record_bytes, columns).map_err(|error| error.to_string())
        }
        _ => Err(format!("{name} has records of another kind")),
    };
    let streams = names.iter().zip(&started.streams).map(stream);
    let (decoders, schemas) = streams.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    Ok(Prepared::of(schemas, Box::new(|setup: EngineSetup| Box::new(RecordEngine { decoders, setup }))))
}

struct RecordEngine {
    /// By stream.
    decoders: Vec<RecordDecoder>,
    setup: EngineSetup,
}

impl RecordEngine {
    fn stream_of(&self, ring: usize) -> Option<u16> {
        match self.setup.rings.get(ring).map(|info: &RingInfo| info.content) {
            Some(RingContent::Stream { stream }) => Some(stream),
            _ => None,
        }
    }
}

impl Engine for RecordEngine {
    fn take(&mut self, batch: &RecordBatch, sink: &mut Sink, _lookup: &mut Lookup) {
        let Some(stream) = self.stream_of(batch.ring) else { return };
        let (Some(decoder), Some(mut out)) = (self.decoders.get_mut(usize::from(stream)), sink.stream(stream)) else {
            return;
        };
        let mut rows = 0;
        for record in batch.records() {
            let (columns, strings) = out.columns();
            if decoder.decode(record, columns, strings) {
                rows += 1;
                let time_ns = decoder.time_ns(record).unwrap_or(0);
                out.appended(time_ns, record.len(), |start_ns| decoder.cells(record, start_ns));
            } else {
                out.undecodable(1);
            }
        }
        out.count(rows);
    }

    fn ring_read(&mut self, ring: usize, read_ns: u64, to_its_end: bool, sink: &mut Sink) {
        if let Some(stream) = self.stream_of(ring) {
            sink.ring_read(stream, read_ns, to_its_end);
        }
    }
}
