//! Rows of one stream, gathered into chunks in order of time.
//!
//! Rows arrive nearly in order: a record's time is taken a moment before it is placed in the ring, so neighbours of
//! different CPUs may be swapped. Rows are held back until nothing earlier can come any more, sorted, and cut into
//! chunks. A row that comes even later than that is kept in a later chunk and counted: then a chunk's first time may lie
//! before the last time of the one before it.

use bathyscope_capture::{Batch, ColumnData, EncodedChunk, MAX_CHUNK_ROWS, StreamSchema, encode_chunk};

/// Rows held back at most; beyond that the earliest go, whatever may still come.
const MAX_HELD_ROWS: usize = 2 * MAX_CHUNK_ROWS;

/// What a flush gave.
#[derive(Debug, Default)]
pub(crate) struct Flushed {
    /// The chunks, in order.
    pub(crate) chunks: Vec<EncodedChunk>,
    /// Rows that could not be encoded.
    pub(crate) unfit: u64,
}

/// Gathers rows of one stream.
#[derive(Debug)]
pub(crate) struct ChunkBuilder {
    schema: StreamSchema,
    rows: Batch,
    flushed_ns: u64,
    late: u64,
}

impl ChunkBuilder {
    pub(crate) fn new(schema: StreamSchema) -> Self {
        let rows = Batch::empty(&schema);
        Self { schema, rows, flushed_ns: 0, late: 0 }
    }

    /// Where rows are appended.
    pub(crate) fn rows_mut(&mut self) -> &mut Batch {
        &mut self.rows
    }

    /// How many rows are held.
    pub(crate) fn held(&self) -> usize {
        self.rows.rows()
    }

    /// Whether there is a whole chunk.
    pub(crate) fn is_full(&self) -> bool {
        self.held() >= MAX_CHUNK_ROWS
    }

    /// How many rows came after a later one had gone.
    pub(crate) fn late(&self) -> u64 {
        self.late
    }

    /// Takes all rows from before `complete_ns` as chunks.
    pub(crate) fn flush(&mut self, complete_ns: u64) -> Flushed {
        sort_by_time(&mut self.rows);
        let times = time_column(&self.rows);
        let due = times.partition_point(|time| *time < complete_ns);
        let due = due.max(times.len().saturating_sub(MAX_HELD_ROWS)).min(times.len());
        let late = times.iter().take(due).filter(|time| **time < self.flushed_ns).count();
        self.late += late as u64;
        if let Some(last) = due.checked_sub(1).and_then(|last| times.get(last)) {
            self.flushed_ns = self.flushed_ns.max(*last);
        }
        let mut taken = take_front(&mut self.rows, due);
        let mut flushed = Flushed::default();
        while taken.rows() > 0 {
            let part = take_front(&mut taken, MAX_CHUNK_ROWS);
            match encode_chunk(&self.schema, &part) {
                Ok(chunk) => flushed.chunks.push(chunk),
                Err(error) => {
                    tracing::error!(%error, stream = self.schema.name, "rows cannot be encoded");
                    flushed.unfit += part.rows() as u64;
                }
            }
        }
        flushed
    }
}

fn time_column(rows: &Batch) -> &[u64] {
    rows.columns.get(StreamSchema::TIME).map(ColumnData::as_u64).unwrap_or_default()
}

/// A stable sort: rows of the same moment keep their order.
fn sort_by_time(rows: &mut Batch) {
    let times = time_column(rows);
    if times.is_sorted() {
        return;
    }
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|index| times.get(*index).copied());
    for column in &mut rows.columns {
        match column {
            ColumnData::U64(values) => gather(values, &order),
            ColumnData::I64(values) => gather(values, &order),
            ColumnData::Id(values) => gather(values, &order),
        }
    }
}

fn gather<T: Copy>(values: &mut Vec<T>, order: &[usize]) {
    *values = order.iter().filter_map(|index| values.get(*index).copied()).collect();
}

/// Removes the first `count` rows and gives them back.
fn take_front(rows: &mut Batch, count: usize) -> Batch {
    fn front<T>(values: &mut Vec<T>, count: usize) -> Vec<T> {
        let rest = values.split_off(count.min(values.len()));
        std::mem::replace(values, rest)
    }
    let columns = rows.columns.iter_mut().map(|column| match column {
        ColumnData::U64(values) => ColumnData::U64(front(values, count)),
        ColumnData::I64(values) => ColumnData::I64(front(values, count)),
        ColumnData::Id(values) => ColumnData::Id(front(values, count)),
    });
    Batch { columns: columns.collect() }
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::{StreamKind, decode_chunk};

    use super::*;

    fn builder() -> ChunkBuilder {
        ChunkBuilder::new(StreamSchema::new("a:b", StreamKind::Events, []))
    }

    fn push(builder: &mut ChunkBuilder, time: u64, tid: u64) {
        for (index, column) in builder.rows_mut().columns.iter_mut().enumerate() {
            match column {
                ColumnData::U64(values) => values.push(match index {
                    StreamSchema::TIME => time,
                    StreamSchema::TID => tid,
                    _ => 0,
                }),
                ColumnData::I64(values) => values.push(0),
                ColumnData::Id(values) => values.push(0),
            }
        }
    }

    fn rows(builder: &ChunkBuilder, flushed: &Flushed) -> Vec<Vec<(u64, u64)>> {
        let decode = |chunk: &EncodedChunk| {
            let wanted = [StreamSchema::TIME, StreamSchema::TID];
            let batch = decode_chunk(&builder.schema, &chunk.bytes, &wanted).unwrap();
            let (times, tids) = (batch.columns[0].as_u64(), batch.columns[3].as_u64());
            times.iter().copied().zip(tids.iter().copied()).collect()
        };
        flushed.chunks.iter().map(decode).collect()
    }

    #[test]
    fn rows_are_sorted_and_the_latest_held_back() {
        let mut builder = builder();
        for (time, tid) in [(30, 1), (10, 2), (20, 3), (10, 4), (40, 5)] {
            push(&mut builder, time, tid);
        }
        let flushed = builder.flush(30);
        assert_eq!(rows(&builder, &flushed), [[(10, 2), (10, 4), (20, 3)]]);
        assert_eq!((builder.held(), builder.late()), (2, 0));
        push(&mut builder, 15, 6);
        let flushed = builder.flush(u64::MAX);
        assert_eq!(rows(&builder, &flushed), [[(15, 6), (30, 1), (40, 5)]]);
        assert_eq!((builder.held(), builder.late()), (0, 1));
        assert!(builder.flush(u64::MAX).chunks.is_empty());
    }

    #[test]
    fn chunks_have_at_most_64_ki_rows() {
        let mut builder = builder();
        (0..MAX_CHUNK_ROWS as u64 + 1).for_each(|time| push(&mut builder, time, time));
        assert!(builder.is_full());
        let flushed = builder.flush(u64::MAX);
        assert_eq!(flushed.chunks.iter().map(|chunk| chunk.rows).collect::<Vec<_>>(), [65_536, 1]);
    }

    #[test]
    fn what_is_held_back_is_bounded() {
        let mut builder = builder();
        (0..MAX_HELD_ROWS as u64 + 5).for_each(|time| push(&mut builder, time + 100, 0));
        let flushed = builder.flush(0);
        assert_eq!(flushed.chunks.iter().map(|chunk| chunk.rows).sum::<u32>(), 5);
        assert_eq!(builder.held(), MAX_HELD_ROWS);
    }
}
