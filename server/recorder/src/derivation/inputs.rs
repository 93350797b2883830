//! The rows that a rule is made from, chunk by chunk in order of time.

use bathyscope_capture::{Batch, CaptureId, StreamSchema, decode_chunk};
use bathyscope_derive::RuleInput;
use bathyscope_store::{BlockingStore, CaptureRecord, StoreError};

use super::DerivationFailure;

/// A stream that is read.
#[derive(Debug)]
struct Input {
    stream: u16,
    columns: Vec<usize>,
    /// The last moment in any of its chunks; 0 if there are none.
    last_ns: u64,
    /// For each chunk, the earliest moment in it and in those after it: rows may come in order of their end.
    from_ns: Vec<u64>,
    next: usize,
}

impl Input {
    /// No row from before this moment is left.
    fn next_ns(&self) -> u64 {
        self.from_ns.get(self.next).copied().unwrap_or(u64::MAX)
    }
}

/// The chunks of all streams that a rule reads.
#[derive(Debug)]
pub(super) struct Inputs {
    capture: CaptureId,
    inputs: Vec<Input>,
}

impl Inputs {
    /// Reads which chunks there are.
    pub(super) fn new(store: &BlockingStore, capture: CaptureId, wanted: &[RuleInput]) -> Result<Self, StoreError> {
        let input = |input: &RuleInput| Input {
            stream: input.stream,
            columns: input.columns.clone(),
            last_ns: 0,
            from_ns: Vec::new(),
            next: 0,
        };
        let mut inputs = Self { capture, inputs: wanted.iter().map(input).collect() };
        inputs.look(store)?;
        Ok(inputs)
    }

    /// Reads which chunks are new.
    pub(super) fn look(&mut self, store: &BlockingStore) -> Result<(), StoreError> {
        for input in &mut self.inputs {
            let from = u32::try_from(input.from_ns.len()).unwrap_or(u32::MAX);
            let new = store.read(|store| store.chunk_index(self.capture, input.stream, from))?;
            input.last_ns = new.iter().map(|chunk| chunk.last_ns).max().unwrap_or(0).max(input.last_ns);
            input.from_ns.extend(new.iter().map(|chunk| chunk.first_ns));
            let mut least = u64::MAX;
            for from in input.from_ns.iter_mut().skip(input.next).rev() {
                least = least.min(*from);
                *from = least;
            }
        }
        Ok(())
    }

    /// Until when all rows are there of a capture that is recorded, of which every stream was stored until `known_ns`: a stream
    /// is stored in order of time.
    pub(super) fn seen_ns(&self, known_ns: u64) -> u64 {
        self.inputs.iter().map(|input| input.last_ns.max(known_ns)).min().unwrap_or(known_ns)
    }

    /// Until when it is known what happened, once the capture has ended: until the first of the inputs began to be detached, but for
    /// rows that came after that. What is open then has no end.
    pub(super) fn recorded_until_ns(&self, record: &CaptureRecord) -> u64 {
        let of_input = |input: &Input| record.streams.get(usize::from(input.stream))?.reading?.recorded_until_ns;
        let known = self.inputs.iter().filter_map(of_input).min().unwrap_or(record.end_ns).min(record.end_ns);
        self.inputs.iter().map(|input| input.last_ns).fold(known, u64::max)
    }

    /// How many chunks there are.
    pub(super) fn chunks(&self) -> u64 {
        self.inputs.iter().map(|input| input.from_ns.len() as u64).sum()
    }

    /// No row from before this moment is left.
    pub(super) fn complete_ns(&self) -> u64 {
        self.inputs.iter().map(Input::next_ns).min().unwrap_or(u64::MAX)
    }

    /// The next chunk with the columns that are wanted, and its stream; none at the end.
    pub(super) fn next(
        &mut self,
        store: &BlockingStore,
        streams: &[StreamSchema],
    ) -> Result<Option<(u16, Batch)>, DerivationFailure> {
        let left = self.inputs.iter_mut().filter(|input| input.next < input.from_ns.len());
        let Some(input) = left.min_by_key(|input| input.next_ns()) else { return Ok(None) };
        let Some(schema) = streams.get(usize::from(input.stream)) else { return Ok(None) };
        let (stream, seq) = (input.stream, u32::try_from(input.next).unwrap_or(u32::MAX));
        let bytes = store.read(|store| store.chunk(self.capture, stream, seq))?;
        let rows = decode_chunk(schema, &bytes, &input.columns);
        let rows = rows.map_err(|source| DerivationFailure::Chunk { stream: schema.name.clone(), source })?;
        input.next += 1;
        Ok(Some((stream, rows)))
    }
}
