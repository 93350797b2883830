//! A capture that a flight recorder stores: what it refers to goes with it, once each, and nothing else of the recorder.

use std::collections::HashSet;

use bathyscope_capture::{
    Append, CaptureId, ChunkError, ColumnData, ColumnType, EncodedChunk, FrameId, MappingId, ProcessChange,
    ProcessChangeKind, StackId, StreamSchema, StringId, decode_chunk, encode_chunk,
};
use bathyscope_views::Dictionaries;

use super::window::FlightItem;

/// A capture that is being stored.
#[derive(Debug)]
pub(super) struct StoredFlight {
    pub(super) id: CaptureId,
    pub(super) start_ns: u64,
    /// When it ends, unless the recorder does before.
    pub(super) until_ns: u64,
    pub(super) before: StoredBefore,
    /// Rows by stream.
    pub(super) rows: Vec<u64>,
    /// Bytes of its chunks and texts.
    pub(super) bytes: u64,
    /// Hits that had been filtered when it began.
    pub(super) filtered: Vec<u64>,
    /// The latest moment that it covers.
    pub(super) end_ns: u64,
    strings: HashSet<StringId>,
    stacks: HashSet<StackId>,
    pub(super) frames: HashSet<FrameId>,
    pub(super) mappings: HashSet<MappingId>,
}

impl StoredFlight {
    pub(super) fn new(
        id: CaptureId,
        ([start_ns, until_ns], before): ([u64; 2], StoredBefore),
        filtered: Vec<u64>,
        streams: usize,
    ) -> Self {
        Self {
            id,
            start_ns,
            until_ns,
            before,
            rows: vec![0; streams],
            bytes: 0,
            filtered,
            end_ns: start_ns,
            strings: HashSet::new(),
            stacks: HashSet::new(),
            frames: HashSet::new(),
            mappings: HashSet::new(),
        }
    }

    /// All rows.
    pub(super) fn row_count(&self) -> u64 {
        self.rows.iter().sum()
    }

    /// What of an item belongs to it, with everything that this refers to and that it does not have yet.
    pub(super) fn append_of(
        &mut self,
        item: &FlightItem,
        schemas: &[StreamSchema],
        dictionaries: &Dictionaries,
    ) -> Result<Append, ChunkError> {
        let mut append = Append {
            processes: item.processes.clone(),
            output: item.output.iter().filter(|line| line.time_ns >= self.start_ns).cloned().collect(),
            end_ns: item.end_ns,
            ..Append::default()
        };
        for (stream, chunk) in &item.chunks {
            let Some(schema) = schemas.get(usize::from(*stream)) else { continue };
            let cut = if chunk.first_ns < self.start_ns { Some(after(schema, chunk, self.start_ns)?) } else { None };
            let chunk = match cut {
                Some(None) => continue,
                Some(Some(cut)) => cut,
                None => chunk.clone(),
            };
            self.refer(schema, &chunk, dictionaries, &mut append)?;
            if let Some(rows) = self.rows.get_mut(usize::from(*stream)) {
                *rows += u64::from(chunk.rows);
            }
            self.bytes += chunk.bytes.len() as u64;
            append.chunks.push((*stream, chunk));
        }
        let changes = std::mem::take(&mut append.processes);
        changes.iter().for_each(|change| self.name(change, dictionaries, &mut append));
        append.processes = changes;
        self.bytes += append.strings.iter().map(|(_, text)| text.len() as u64).sum::<u64>();
        self.end_ns = self.end_ns.max(append.end_ns);
        Ok(append)
    }

    /// What was known of processes before it begins.
    pub(super) fn append_before(&mut self, known: Vec<ProcessChange>, dictionaries: &Dictionaries) -> Append {
        let mut append = Append::default();
        known.iter().for_each(|change| self.name(change, dictionaries, &mut append));
        append.processes = known;
        append
    }

    /// Adds the texts and stacks of a chunk.
    fn refer(
        &mut self,
        schema: &StreamSchema,
        chunk: &EncodedChunk,
        dictionaries: &Dictionaries,
        append: &mut Append,
    ) -> Result<(), ChunkError> {
        let refers = |ty| matches!(ty, ColumnType::Text | ColumnType::Stack);
        let wanted: Vec<usize> = (0..).zip(&schema.columns).filter(|(_, it)| refers(it.ty)).map(|(at, _)| at).collect();
        let batch = decode_chunk(schema, &chunk.bytes, &wanted)?;
        for at in wanted {
            let (Some(column), Some(data)) = (schema.columns.get(at), batch.columns.get(at)) else { continue };
            // Neighbours are often the same.
            let mut last = 0;
            for id in data.as_id() {
                if *id == last {
                    continue;
                }
                last = *id;
                match column.ty {
                    ColumnType::Stack => self.add_stack(*id, dictionaries, append),
                    _ => self.add_string(*id, dictionaries, append),
                }
            }
        }
        Ok(())
    }

    fn name(&mut self, change: &ProcessChange, dictionaries: &Dictionaries, append: &mut Append) {
        match change.kind {
            ProcessChangeKind::Existing { comm: text }
            | ProcessChangeKind::Comm { comm: text, .. }
            | ProcessChangeKind::User { name: text }
            | ProcessChangeKind::Group { path: text } => self.add_string(text, dictionaries, append),
            ProcessChangeKind::Fork { .. } | ProcessChangeKind::Exit | ProcessChangeKind::Parent { .. } => {}
        }
    }

    fn add_string(&mut self, id: StringId, dictionaries: &Dictionaries, append: &mut Append) {
        if let Some(text) = dictionaries.text(id).filter(|_| self.strings.insert(id)) {
            append.strings.push((id, text.to_vec()));
        }
    }

    fn add_stack(&mut self, id: StackId, dictionaries: &Dictionaries, append: &mut Append) {
        let Some(frames) = dictionaries.stack(id).filter(|_| self.stacks.insert(id)) else { return };
        for frame_id in frames {
            let Some(frame) = dictionaries.frame(*frame_id).filter(|_| self.frames.insert(*frame_id)) else { continue };
            if let Some(mapping) = dictionaries.mapping(frame.mapping).filter(|_| self.mappings.insert(frame.mapping)) {
                append.mappings.push((frame.mapping, mapping.clone()));
            }
            append.frames.push((*frame_id, frame));
        }
        append.stacks.push((id, frames.into()));
    }
}

/// What there is before a firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StoredBefore {
    /// For so long everything is there, nanoseconds.
    pub(super) complete_ns: u64,
    /// Why that is less than was asked for, where it is more than a moment: the recorder was not older, or its memory is too small.
    pub(super) short: Option<ShortWindow>,
}

/// Why a flight recorder has fewer seconds than were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShortWindow {
    /// It had begun only then.
    Young,
    /// More did not fit its memory.
    Memory,
}

/// How much was stored around a firing, in words.
pub(super) fn stored_words(before: StoredBefore, before_s: u32, after_s: u32) -> String {
    let after = format!("{after_s} s after it are stored");
    if before.complete_ns >= u64::from(before_s) * 1_000_000_000 {
        return format!("{before_s} s before the firing and {after}");
    }
    let why = match before.short {
        Some(ShortWindow::Young) => ", as the recorder was no older",
        Some(ShortWindow::Memory) => ", as its memory held no more",
        None => "",
    };
    // Cut and not rounded, so that no more is said than there is.
    let tenths = before.complete_ns / 100_000_000;
    format!("{}.{} s before the firing{why} ({before_s} s were asked for), and {after}", tenths / 10, tenths % 10)
}

/// The rows of a chunk that are not from before a moment; none if there are none.
fn after(schema: &StreamSchema, chunk: &EncodedChunk, start_ns: u64) -> Result<Option<EncodedChunk>, ChunkError> {
    if chunk.last_ns < start_ns {
        return Ok(None);
    }
    let all: Vec<usize> = (0..schema.columns.len()).collect();
    let mut batch = decode_chunk(schema, &chunk.bytes, &all)?;
    let times = batch.columns.get(StreamSchema::TIME).map_or(&[][..], ColumnData::as_u64);
    let first = times.partition_point(|time| *time < start_ns);
    for column in &mut batch.columns {
        match column {
            ColumnData::U64(values) => drop(values.drain(..first.min(values.len()))),
            ColumnData::I64(values) => drop(values.drain(..first.min(values.len()))),
            ColumnData::Id(values) => drop(values.drain(..first.min(values.len()))),
        }
    }
    if batch.rows() == 0 { Ok(None) } else { encode_chunk(schema, &batch).map(Some) }
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::{Batch, Frame, Mapping, MappingKind, StreamKind};

    use super::*;

    const NONE: StoredBefore = StoredBefore { complete_ns: 0, short: Some(ShortWindow::Young) };

    #[test]
    fn no_more_is_said_to_be_there_than_there_is() {
        let (young, memory) = (Some(ShortWindow::Young), Some(ShortWindow::Memory));
        let before = |complete_ns, short| StoredBefore { complete_ns, short };
        for (before, expected) in [
            (before(10_000_000_000, young), "10 s before the firing and 3 s after it are stored"),
            (before(12_000_000_000, None), "10 s before the firing and 3 s after it are stored"),
            (
                before(1_290_000_000, young),
                "1.2 s before the firing, as the recorder was no older (10 s were asked for), and 3 s after it are stored",
            ),
            (
                before(9_999_999_999, memory),
                "9.9 s before the firing, as its memory held no more (10 s were asked for), and 3 s after it are stored",
            ),
            (before(9_400_000_000, None), "9.4 s before the firing (10 s were asked for), and 3 s after it are stored"),
            (
                NONE,
                "0.0 s before the firing, as the recorder was no older (10 s were asked for), and 3 s after it are stored",
            ),
        ] {
            assert_eq!(stored_words(before, 10, 3), expected);
        }
    }

    fn chunk(schema: &StreamSchema, rows: &[(u64, u32, u32)]) -> EncodedChunk {
        let mut batch = Batch::empty(schema);
        for (time_ns, comm, stack) in rows {
            for (at, column) in batch.columns.iter_mut().enumerate() {
                match column {
                    ColumnData::U64(values) => values.push(if at == StreamSchema::TIME { *time_ns } else { 1 }),
                    ColumnData::I64(values) => values.push(0),
                    ColumnData::Id(values) => values.push(if at == StreamSchema::STACK { *stack } else { *comm }),
                }
            }
        }
        encode_chunk(schema, &batch).unwrap()
    }

    fn schema() -> StreamSchema {
        let stack = bathyscope_capture::Column {
            name: "stack".to_owned(),
            ty: ColumnType::Stack,
            display: bathyscope_capture::Display::Text,
        };
        StreamSchema::new("a:b", StreamKind::Samples, [stack])
    }

    fn dictionaries() -> Dictionaries {
        let mut all = Dictionaries::default();
        for id in 1..=4 {
            all.insert_string(id, format!("name {id}").into_bytes());
            let mapping = Mapping { kind: MappingKind::File, build_id: Vec::new(), name: vec![b'm'], pid: id };
            all.insert_mapping(id, mapping);
            all.insert_frame(id, Frame { mapping: id, offset: 1 });
            all.insert_stack(id, vec![id, 1].into());
        }
        all
    }

    fn item(schema: &StreamSchema, rows: &[(u64, u32, u32)]) -> FlightItem {
        FlightItem {
            chunks: vec![(0, chunk(schema, rows))],
            processes: Vec::new(),
            output: Vec::new(),
            rows: vec![(0, rows.len() as u64)],
            end_ns: 1000,
            filtered: vec![0],
        }
    }

    #[test]
    fn what_rows_refer_to_goes_with_them_once() {
        let (schemas, all) = ([schema()], dictionaries());
        let mut stored = StoredFlight::new(CaptureId::from_bits(1), ([100, 2000], NONE), Vec::new(), 1);
        let first =
            stored.append_of(&item(&schemas[0], &[(50, 4, 4), (150, 1, 2), (160, 1, 2)]), &schemas, &all).unwrap();
        let ids = |append: &Append| -> [Vec<u32>; 4] {
            [
                append.strings.iter().map(|it| it.0).collect(),
                append.stacks.iter().map(|it| it.0).collect(),
                append.frames.iter().map(|it| it.0).collect(),
                append.mappings.iter().map(|it| it.0).collect(),
            ]
        };
        // The row from before it began is not in it, and neither is what only that refers to.
        assert_eq!(ids(&first), [vec![1], vec![2], vec![2, 1], vec![2, 1]]);
        assert_eq!((first.chunks[0].1.rows, first.chunks[0].1.first_ns), (2, 150));
        let second = stored.append_of(&item(&schemas[0], &[(170, 1, 2), (180, 3, 1)]), &schemas, &all).unwrap();
        assert_eq!(ids(&second), [vec![3], vec![1], vec![], vec![]]);
        assert_eq!((stored.row_count(), stored.end_ns), (4, 1000));
        let gone = stored.append_of(&item(&schemas[0], &[(20, 2, 3)]), &schemas, &all).unwrap();
        assert!(gone.chunks.is_empty() && gone.strings.is_empty());
    }

    #[test]
    fn names_of_processes_from_before_go_with_it() {
        let mut stored = StoredFlight::new(CaptureId::from_bits(1), ([100, 2000], NONE), Vec::new(), 1);
        let change = ProcessChange { time_ns: 0, pid: 7, tid: 7, kind: ProcessChangeKind::Existing { comm: 2 } };
        let append = stored.append_before(vec![change.clone()], &dictionaries());
        assert_eq!(append.strings, [(2, b"name 2".to_vec())]);
        assert_eq!(append.processes, [change]);
    }
}
