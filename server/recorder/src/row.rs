//! A row that an engine has made, before it is in the columns of its stream.

use bathyscope_capture::{Batch, Cell, ColumnData, StackId, StreamSchema, StringDictionary, cut_text, visible};

/// Longer texts are cut: the store takes 64 KiB.
const MAX_TEXT_BYTES: usize = 60 << 10;

/// A row of one of the streams.
#[derive(Debug)]
pub(crate) struct NewRow {
    pub(crate) stream: u16,
    cells: Vec<RowCell>,
}

/// A cell of a row.
#[derive(Debug)]
pub(crate) enum RowCell {
    Unsigned(u64),
    Signed(i64),
    Text(Vec<u8>),
    Stack {
        id: StackId,
        depth: usize,
    },
    /// No text.
    Null,
}

impl NewRow {
    /// A row with these cells, in the order of the stream's columns.
    pub(crate) fn new(stream: u16, cells: Vec<RowCell>) -> Self {
        Self { stream, cells }
    }

    /// Adds the cells of further columns.
    pub(super) fn extend(&mut self, cells: impl IntoIterator<Item = RowCell>) {
        self.cells.extend(cells);
    }

    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        let text = |cell: &RowCell| if let RowCell::Text(text) = cell { text.len() } else { 0 };
        16 * self.cells.len() + self.cells.iter().map(text).sum::<usize>()
    }

    pub(crate) fn time_ns(&self) -> u64 {
        match self.cells.first() {
            Some(RowCell::Unsigned(time_ns)) => *time_ns,
            _ => 0,
        }
    }

    /// As viewers get it.
    pub(crate) fn shown(&self, origin_ns: u64) -> Vec<Cell> {
        let cell = |(index, cell): (usize, &RowCell)| match cell {
            RowCell::Unsigned(time_ns) if index == StreamSchema::TIME => {
                Cell::Number(i128::from(*time_ns) - i128::from(origin_ns))
            }
            RowCell::Unsigned(value) => Cell::Number(i128::from(*value)),
            RowCell::Signed(value) => Cell::Number(i128::from(*value)),
            RowCell::Text(text) => Cell::Text(visible(text)),
            RowCell::Null | RowCell::Stack { id: 0, .. } => Cell::Null,
            RowCell::Stack { id, depth } => Cell::Stack { id: *id, top: String::new(), depth: *depth },
        };
        self.cells.iter().enumerate().map(cell).collect()
    }

    /// Appends it; `false` if it does not have the stream's columns, and then nothing is appended.
    pub(crate) fn push(self, batch: &mut Batch, strings: &mut StringDictionary) -> bool {
        let fits = |(cell, column): (&RowCell, &ColumnData)| {
            matches!(
                (cell, column),
                (RowCell::Unsigned(_), ColumnData::U64(_))
                    | (RowCell::Signed(_), ColumnData::I64(_))
                    | (RowCell::Text(_) | RowCell::Stack { .. } | RowCell::Null, ColumnData::Id(_))
            )
        };
        if self.cells.len() != batch.columns.len() || !self.cells.iter().zip(&batch.columns).all(fits) {
            return false;
        }
        for (cell, column) in self.cells.into_iter().zip(&mut batch.columns) {
            match (cell, column) {
                (RowCell::Unsigned(value), ColumnData::U64(values)) => values.push(value),
                (RowCell::Signed(value), ColumnData::I64(values)) => values.push(value),
                (RowCell::Text(text), ColumnData::Id(ids)) => ids.push(strings.id(&cut_text(&text, MAX_TEXT_BYTES))),
                (RowCell::Stack { id, .. }, ColumnData::Id(ids)) => ids.push(id),
                (RowCell::Null, ColumnData::Id(ids)) => ids.push(0),
                // All fit: see above.
                _ => {}
            }
        }
        true
    }
}
