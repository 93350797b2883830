//! Rows as lines: what was stored since the last look, in order of time over all streams.

use std::io::{ErrorKind, Write as _};

use bathyscope_capture::{
    Batch, CaptureId, Cell, ColumnData, ColumnType, Display, OutputStream, ShownCell, StreamSchema, StringId,
    decode_chunk, visible,
};
use bathyscope_recorder::Recorder;
use bathyscope_store::{Store, StoreError};
use bathyscope_views::{Dictionaries, EventText, RecordedCell, cells};

use super::names::NameReader;
use crate::Failure;

/// Reads the rows of a capture as they are stored.
pub(in crate::verbs) struct RowReader {
    store: Store,
    id: CaptureId,
    schemas: Vec<StreamSchema>,
    origin_ns: u64,
    /// Of each stream, the first chunk that was not read yet.
    next: Vec<u32>,
    dictionaries: Dictionaries,
    strings: StringId,
    /// What names come from, where rows of the kernel's events have text.
    texts: Option<Recorder>,
    names: NameReader,
}

/// A row of a stream.
pub(in crate::verbs) struct StreamRow {
    /// Its moment, monotonic.
    pub(in crate::verbs) time_ns: u64,
    /// Its stream's index.
    pub(in crate::verbs) stream: usize,
    /// Its cells, in the order of the stream's columns.
    pub(in crate::verbs) cells: Vec<ShownCell>,
    /// Of an event of the kernel's, what the kernel prints of it and the columns that are in that, if that is asked for.
    pub(in crate::verbs) text: Option<(String, Vec<usize>)>,
}

/// Prints what a capture records.
pub(super) struct RowPrinter {
    reader: RowReader,
    json: bool,
    /// Samples are not printed one by one.
    only_output: bool,
    output: u64,
}

impl RowPrinter {
    pub(super) fn new(store: Store, recorder: Recorder, id: CaptureId, json: bool, only_output: bool) -> Self {
        let texts = (!json).then_some(recorder);
        Self { reader: RowReader { texts, ..RowReader::new(store, id) }, json, only_output, output: 0 }
    }

    /// Prints what is new. Says whether anybody reads it.
    pub(super) async fn print_new(&mut self) -> Result<bool, Failure> {
        self.print_output().await.map_err(failed)?;
        if self.only_output {
            return Ok(true);
        }
        let mut rows = self.reader.new_rows().await.map_err(failed)?;
        rows.sort_by_key(|row| row.time_ns);
        let line = |row: &StreamRow| {
            let schema = self.reader.schemas.get(row.stream)?;
            Some(if self.json { json_line(schema, &row.cells) } else { text_line(schema, row) })
        };
        let text: String = rows.iter().filter_map(line).collect();
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Failure::because("printing rows", error)),
        }
    }

    /// What the command of a made-up capture printed goes where this process prints; a real one has the terminal itself.
    async fn print_output(&mut self) -> Result<(), StoreError> {
        for piece in self.reader.store.output(self.reader.id, self.output, 1000).await? {
            self.output += 1;
            // If nobody reads it the capture goes on all the same.
            let _unread = match piece.stream {
                OutputStream::Stdout => std::io::stdout().lock().write_all(&piece.bytes),
                OutputStream::Stderr => std::io::stderr().lock().write_all(&piece.bytes),
            };
        }
        Ok(())
    }
}

impl RowReader {
    pub(in crate::verbs) fn new(store: Store, id: CaptureId) -> Self {
        let (schemas, next, dictionaries) = (Vec::new(), Vec::new(), Dictionaries::default());
        let names = NameReader::default();
        Self { store, id, schemas, origin_ns: 0, next, dictionaries, strings: 0, texts: None, names }
    }

    /// The schema of a stream, once rows were read.
    pub(in crate::verbs) fn schema(&self, stream: usize) -> Option<&StreamSchema> {
        self.schemas.get(stream)
    }

    /// The rows that were stored since the last call, stream by stream.
    pub(in crate::verbs) async fn new_rows(&mut self) -> Result<Vec<StreamRow>, StoreError> {
        if self.schemas.is_empty() {
            let record = self.store.capture(self.id).await?;
            self.origin_ns = record.start_ns;
            self.schemas = record.streams.into_iter().map(|stream| stream.schema).collect();
            self.next = vec![0; self.schemas.len()];
        }
        let mut found = Vec::new();
        for (stream, next) in (0_u16..).zip(&mut self.next) {
            for info in self.store.chunk_index(self.id, stream, *next).await? {
                *next = info.seq + 1;
                found.push((stream, info.seq));
            }
        }
        // After the chunks: what they refer to is there by then.
        for (id, text) in self.store.strings(self.id, self.strings).await? {
            self.strings = self.strings.max(id);
            self.dictionaries.insert_string(id, text);
        }
        self.load_names(!found.is_empty()).await?;
        let mut rows = Vec::new();
        for (stream, seq) in found {
            let bytes = self.store.chunk(self.id, stream, seq).await?;
            if let Some(schema) = self.schemas.get(usize::from(stream)) {
                rows.extend(self.rows(usize::from(stream), schema, &bytes));
            }
        }
        Ok(rows)
    }

    /// Loads the names of functions of the kernel that events print.
    async fn load_names(&mut self, has_rows: bool) -> Result<(), StoreError> {
        let Some(recorder) = self.texts.clone().filter(|_| has_rows) else { return Ok(()) };
        let none = Dictionaries::default();
        let names = |schema: &StreamSchema| {
            let text = EventText::of(schema, &none).ok().flatten();
            text.is_some_and(|text| !text.address_columns().is_empty())
        };
        if !self.schemas.iter().any(names) {
            return Ok(());
        }
        self.names.load(&recorder, &self.store, self.id, &mut self.dictionaries).await
    }

    fn rows(&self, stream: usize, schema: &StreamSchema, bytes: &[u8]) -> Vec<StreamRow> {
        let event = EventText::of(schema, &self.dictionaries).ok().flatten().filter(|_| self.texts.is_some());
        let event = event.map(|event| (event.columns(), event));
        let wanted: Vec<usize> = (0..schema.columns.len()).collect();
        let batch = match decode_chunk(schema, bytes, &wanted) {
            Ok(batch) => batch,
            Err(error) => {
                tracing::error!(%error, "stored rows cannot be read back");
                return Vec::new();
            }
        };
        let times = batch.columns.get(StreamSchema::TIME).map(|column| column.as_u64()).unwrap_or_default();
        let row = |(row, time): (usize, &u64)| {
            let text = event.as_ref().and_then(|(columns, event)| {
                let mut text = String::new();
                let value = |column: usize| self.value(schema, &batch, column, row);
                event.write(value, &mut text).then(|| (text, columns.clone()))
            });
            let cells = cells(&self.dictionaries, schema, &batch, row, self.origin_ns);
            StreamRow { time_ns: *time, stream, cells, text }
        };
        times.iter().enumerate().map(row).collect()
    }
}

impl RowReader {
    /// The value of a row in a column.
    fn value(&self, schema: &StreamSchema, batch: &Batch, column: usize, row: usize) -> RecordedCell<'_> {
        let found = match batch.columns.get(column) {
            Some(ColumnData::U64(values)) => values.get(row).map(|value| Cell::U64(*value)),
            Some(ColumnData::I64(values)) => values.get(row).map(|value| Cell::I64(*value)),
            Some(ColumnData::Id(ids)) => {
                let is_text = schema.columns.get(column).is_some_and(|column| column.ty == ColumnType::Text);
                let id = ids.get(row).filter(|_| is_text);
                id.and_then(|id| self.dictionaries.text(*id)).map(Cell::Text)
            }
            None => None,
        };
        found.unwrap_or(Cell::Null)
    }
}

fn failed(error: StoreError) -> Failure {
    Failure::because("reading back what was stored", error)
}

/// `SECONDS  CPU  NAME PID/TID  EVENT  field=value …`; of an event of the kernel's what it prints, and what it does not print.
fn text_line(schema: &StreamSchema, row: &StreamRow) -> String {
    let cells = &row.cells;
    let cell = |index: usize| cells.get(index).map(|cell| text_cell(Display::Decimal, cell)).unwrap_or_default();
    let time = match cells.get(StreamSchema::TIME) {
        Some(ShownCell::Number(ns)) => format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000),
        _ => String::new(),
    };
    let (pid, tid) = (cell(StreamSchema::PID), cell(StreamSchema::TID));
    let thread = if pid == tid { pid } else { format!("{pid}/{tid}") };
    let (cpu, name) = (cell(StreamSchema::CPU), cell(StreamSchema::COMM));
    let mut line = format!("{time:>14} {cpu:>3} {name:<15} {thread:<9} {}", schema.name);
    let printed = row.text.as_ref().map_or(&[][..], |(_, columns)| columns);
    if let Some((text, _)) = &row.text {
        line.push_str(&format!(" {text}"));
    }
    let own = schema.columns.iter().zip(cells).enumerate().skip(StreamSchema::COMMON.len());
    for (_, (column, cell)) in own.filter(|(index, _)| !printed.contains(index)) {
        line.push_str(&format!(" {}={}", visible(column.name.as_bytes()), text_cell(column.display, cell)));
    }
    line.push('\n');
    line
}

fn text_cell(display: Display, cell: &ShownCell) -> String {
    match cell {
        ShownCell::Null => "-".to_owned(),
        ShownCell::Number(number) if display == Display::Hex => format!("{number:#x}"),
        ShownCell::Number(number) => number.to_string(),
        ShownCell::Real(number) => number.to_string(),
        ShownCell::Text(text) if text.is_empty() || text.contains([' ', '"', '=']) => format!("{text:?}"),
        ShownCell::Text(text) => text.clone(),
        ShownCell::Stack { top, .. } => top.clone(),
    }
}

/// One object; `event` first, then the columns in their order.
pub(in crate::verbs) fn json_line(schema: &StreamSchema, cells: &[ShownCell]) -> String {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let mut line = format!("{{\"event\":{}", text(&schema.name));
    for (column, cell) in schema.columns.iter().zip(cells) {
        let value = serde_json::to_string(cell).unwrap_or_else(|_cells_are_plain| "null".to_owned());
        line.push_str(&format!(",{}:{value}", text(&column.name)));
    }
    line.push_str("}\n");
    line
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::{Column, ColumnType, StreamKind};

    use super::*;

    fn schema() -> StreamSchema {
        let column = |name: &str, ty, display| Column { name: name.to_owned(), ty, display };
        let own = [column("flags", ColumnType::U64, Display::Hex), column("path", ColumnType::Text, Display::Text)];
        StreamSchema::new("fs:open", StreamKind::Events, own)
    }

    fn cells() -> Vec<ShownCell> {
        let number = ShownCell::Number;
        let text = |text: &str| ShownCell::Text(text.to_owned());
        vec![number(1_000_000_023), number(3), number(70), number(71), text("a\\x1b[2K"), number(255), text("b c")]
    }

    #[test]
    fn p12_rows_are_lines_that_hide_nothing() {
        let mut row = StreamRow { time_ns: 0, stream: 0, cells: cells(), text: None };
        let line = text_line(&schema(), &row);
        assert_eq!(line, "   1.000000023   3 a\\x1b[2K        70/71     fs:open flags=0xff path=\"b c\"\n");
        // The kernel's own text, and what is not in it.
        row.text = Some(("flags=O_ALL".to_owned(), vec![5]));
        let line = text_line(&schema(), &row);
        assert_eq!(line, "   1.000000023   3 a\\x1b[2K        70/71     fs:open flags=O_ALL path=\"b c\"\n");
    }

    #[test]
    fn rows_are_json_in_the_order_of_their_columns() {
        let line = json_line(&schema(), &cells());
        let expected = r#"{"event":"fs:open","time":1000000023,"cpu":3,"pid":70,"tid":71,"comm":"a\\x1b[2K","flags":255,"path":"b c"}"#;
        assert_eq!(line.trim_end(), expected);
    }
}
