//! Rows of a derived stream, gathered into batches.

use bathyscope_capture::{Batch, ColumnData, ColumnType, MAX_CHUNK_ROWS, StreamSchema};

use crate::DerivationHost;

/// Bits for the place of a row in a batch.
const PLACE_BITS: u32 = MAX_CHUNK_ROWS.trailing_zeros();

/// Gathers rows of one derived stream, which come in order of their end, into batches in order of their time.
///
/// A row is a list of words, one for each column: numbers by their bits, texts and stacks by their ids.
#[derive(Debug)]
pub(crate) struct OutputRows {
    output: usize,
    types: Vec<ColumnType>,
    words: Vec<u64>,
}

impl OutputRows {
    /// For the stream that is the rule's `output`.
    pub(crate) fn new(output: usize, schema: &StreamSchema) -> Self {
        Self { output, types: schema.columns.iter().map(|column| column.ty).collect(), words: Vec::new() }
    }

    /// Adds a row, which has a word for each column. A full batch goes to `host`.
    pub(crate) fn push(&mut self, row: &[u64], host: &mut dyn DerivationHost) {
        debug_assert_eq!(row.len(), self.types.len(), "a word for each column");
        if row.len() != self.types.len() {
            return;
        }
        self.words.extend_from_slice(row);
        if self.words.len() >= MAX_CHUNK_ROWS * self.types.len() {
            self.flush(host);
        }
    }

    /// Gives what there is to `host`.
    pub(crate) fn flush(&mut self, host: &mut dyn DerivationHost) {
        if self.words.is_empty() {
            return;
        }
        let width = self.types.len();
        let order = self.order();
        let column = |(at, ty): (usize, &ColumnType)| {
            let words = order.iter().map(|row| self.words.get(row * width + at).copied().unwrap_or(0));
            match ty {
                ColumnType::U64 => ColumnData::U64(words.collect()),
                ColumnType::I64 => ColumnData::I64(words.map(u64::cast_signed).collect()),
                ColumnType::Text | ColumnType::Stack => ColumnData::Id(words.map(|word| word as u32).collect()),
            }
        };
        let columns = self.types.iter().enumerate().map(column).collect();
        self.words.clear();
        host.rows(self.output, Batch { columns });
    }

    /// The places of the rows by time; rows of the same moment as they came.
    fn order(&self) -> Vec<usize> {
        let rows = self.words.chunks_exact(self.types.len());
        let times = || rows.clone().map(|row| row.first().copied().unwrap_or(0));
        let (least, most) = times().fold((u64::MAX, 0), |(least, most), time| (time.min(least), time.max(most)));
        // A moment and a place in one word are sorted twice as fast as side by side; only rows that are days apart do not fit.
        if most.saturating_sub(least) >> (u64::BITS - PLACE_BITS) == 0 {
            let mut keys: Vec<u64> = times().zip(0..).map(|(time, row)| (time - least) << PLACE_BITS | row).collect();
            keys.sort_unstable();
            return keys.into_iter().map(|key| (key & (MAX_CHUNK_ROWS as u64 - 1)) as usize).collect();
        }
        let mut keys: Vec<(u64, usize)> = times().zip(0..).collect();
        keys.sort_unstable();
        keys.into_iter().map(|(_, row)| row).collect()
    }
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::StreamKind;

    use super::*;

    #[test]
    fn rows_are_put_in_order_whatever_lies_between_them() {
        for far in [9, 1 << 47, 1 << 50, u64::MAX] {
            let mut rows = OutputRows::new(0, &StreamSchema::new("made", StreamKind::Events, []));
            for (cpu, time) in (0..).zip([5, far, 3, 5, 0, far]) {
                rows.words.extend([time, cpu, 0, 0, 0]);
            }
            assert_eq!(rows.order(), [4, 2, 0, 3, 1, 5], "{far}");
        }
    }
}
