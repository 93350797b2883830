//! A row that an engine has made, before it is in the columns of its stream.

use bathyscope_capture::{Cell, Row, ShownCell, StackId, visible};

/// A stack of the capture, and how many frames it has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedStack {
    pub(crate) id: StackId,
    pub(crate) depth: usize,
}

/// A cell of such a row.
pub(crate) type NewCell = Cell<Vec<u8>, PlacedStack>;

/// The cells of such a row.
pub(crate) type PlacedRow = Row<Vec<u8>, PlacedStack>;

/// A row of one of the streams; its texts get their ids when it is appended.
#[derive(Debug)]
pub(crate) struct NewRow {
    pub(crate) stream: u16,
    pub(crate) row: PlacedRow,
}

impl NewRow {
    /// Adds the cells of further columns.
    pub(super) fn extend(&mut self, cells: impl IntoIterator<Item = NewCell>) {
        self.row.cells.extend(cells);
    }

    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        let text = |cell: &NewCell| if let Cell::Text(text) = cell { text.len() } else { 0 };
        16 * self.row.cells.len() + self.row.cells.iter().map(text).sum::<usize>()
    }

    /// As viewers get it.
    pub(crate) fn shown(&self, origin_ns: u64) -> Vec<ShownCell> {
        shown(&self.row, origin_ns)
    }
}

/// A row as viewers get it.
pub(super) fn shown(row: &PlacedRow, origin_ns: u64) -> Vec<ShownCell> {
    row.shown(
        origin_ns,
        |text| Some(visible(text)),
        |stack| match *stack {
            PlacedStack { id: 0, .. } => ShownCell::Null,
            PlacedStack { id, depth } => ShownCell::Stack { id, top: String::new(), depth },
        },
    )
}
