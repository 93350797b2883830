//! Where engines put what they made: rows of streams, texts, what viewers see, and what could not be decoded.

use std::{
    ops::Range,
    sync::{Arc, Mutex, MutexGuard},
};

use bathyscope_capture::{
    Append, Batch, ColumnData, LossStage, Row, ShownCell, StackId, StreamSchema, StringDictionary, StringId, cut_text,
};
use bathyscope_views::{Dictionaries, EventText};

use super::{
    chunks::ChunkBuilder,
    ledger::LossAccounting,
    live_rows::LiveRows,
    process_metadata::lock,
    progress::Progress,
    row::{self, NewRow},
};

/// Longer texts are cut: the store takes 64 KiB.
const MAX_TEXT_BYTES: usize = 60 << 10;
/// Bytes of raw records that may wait for a chunk.
const MAX_HELD_BYTES: usize = 64 << 20;
/// A record's time is taken a moment before its ring shows it.
const SLACK_NS: u64 = 1_000_000;

#[derive(Debug)]
struct StreamState {
    rows: ChunkBuilder,
    is_event: bool,
    /// Columns with addresses of the kernel that are shown as its functions.
    addresses: Vec<usize>,
    /// Columns in which 0 is no value.
    lengths: Vec<usize>,
    /// Greatest time seen.
    last_ns: u64,
    /// Nothing from before this moment will come.
    complete_ns: u64,
    held_bytes: usize,
    undecodable: u64,
    undecodable_since_ns: u64,
}

impl StreamState {
    fn new(schema: StreamSchema, start_ns: u64) -> Self {
        Self {
            is_event: schema.has_events(),
            addresses: address_columns(&schema),
            lengths: (0..schema.columns.len()).filter(|at| schema.zero_is_none(*at)).collect(),
            rows: ChunkBuilder::new(schema),
            last_ns: 0,
            complete_ns: 0,
            held_bytes: 0,
            undecodable: 0,
            undecodable_since_ns: start_ns,
        }
    }
}

fn address_columns(schema: &StreamSchema) -> Vec<usize> {
    let none = Dictionaries::default();
    let text = EventText::of(schema, &none).ok().flatten();
    text.map_or_else(Vec::new, |text| text.address_columns())
}

/// Takes what the engines of a capture make.
///
/// An engine numbers its streams from 0; they stand behind those of the engines before it.
pub(crate) struct Sink {
    streams: Vec<StreamState>,
    /// The engine whose turn it is, by its place among all, and the number of its first stream.
    turn: (usize, u16),
    strings: StringDictionary,
    live: LiveRows,
    /// Whether anybody looks, as of the last message.
    watched: bool,
    progress: Arc<Progress>,
    accounting: Arc<Mutex<LossAccounting>>,
    /// Addresses of the kernel in rows, which get names.
    noted: Vec<u64>,
    start_ns: u64,
    read_ns: u64,
}

impl Sink {
    pub(crate) fn new(
        schemas: Vec<StreamSchema>,
        start_ns: u64,
        live: LiveRows,
        progress: Arc<Progress>,
        accounting: Arc<Mutex<LossAccounting>>,
    ) -> Self {
        Self {
            streams: schemas.into_iter().map(|schema| StreamState::new(schema, start_ns)).collect(),
            turn: (0, 0),
            strings: StringDictionary::default(),
            live,
            watched: false,
            progress,
            accounting,
            noted: Vec::new(),
            start_ns,
            read_ns: start_ns,
        }
    }

    /// It is the turn of this engine by its place among all, whose first stream this is.
    pub(super) fn turn_to(&mut self, engine: usize, first_stream: u16) {
        self.turn = (engine, first_stream);
    }

    /// Looks whether anybody looks.
    pub(super) fn look_for_viewers(&mut self) {
        self.watched = self.live.watched();
    }

    /// Sends rows to viewers, if it is time or `now`.
    pub(super) fn send_live(&mut self, now: bool) {
        self.live.flush(now);
    }

    /// The moment when the capture began, monotonic nanoseconds.
    pub(crate) fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// How far the rings of the capture were read, monotonic nanoseconds.
    pub(super) fn read_ns(&self) -> u64 {
        self.read_ns
    }

    /// Some ring was read until this moment.
    pub(super) fn was_read(&mut self, read_ns: u64) {
        if read_ns != u64::MAX {
            self.read_ns = self.read_ns.max(read_ns);
        }
    }

    /// The dictionary of texts.
    pub(crate) fn strings(&mut self) -> &mut StringDictionary {
        &mut self.strings
    }

    fn accounting(&self) -> MutexGuard<'_, LossAccounting> {
        lock(&self.accounting)
    }

    /// The number of an engine's stream in the capture.
    pub(crate) fn number_of(&self, stream: u16) -> u16 {
        self.turn.1.saturating_add(stream)
    }

    /// Records of the engine were read that counters of no stream have, whatever became of them.
    pub(crate) fn seen(&self, records: u64) {
        self.accounting().seen(self.turn.0, records);
    }

    /// A record told that so many events of some stream of the engine were lost between two moments; none if it does not know
    /// how many.
    pub(crate) fn told(&self, count: Option<u64>, start_ns: u64, end_ns: u64) {
        self.accounting().told(self.turn.0, count, start_ns, end_ns);
    }

    /// A perf ring told that it lost records of a stream between two moments.
    pub(crate) fn ring_lost(&self, stream: u16, count: u64, start_ns: u64, end_ns: u64) {
        self.accounting().ring_lost(self.number_of(stream), count, start_ns, end_ns);
    }

    /// Records of a stream were lost behind the ring.
    pub(crate) fn lost(&self, stream: u16, stage: LossStage, count: u64, start_ns: u64, end_ns: u64) {
        self.accounting().lost(self.number_of(stream), stage, count, start_ns, end_ns);
    }

    /// A stream of the engine; none if it has no such stream.
    pub(crate) fn stream(&mut self, stream: u16) -> Option<StreamSink<'_>> {
        let number = self.number_of(stream);
        Some(StreamSink {
            number,
            state: self.streams.get_mut(usize::from(number))?,
            strings: &mut self.strings,
            live: self.watched.then_some(&mut self.live),
            noted: &mut self.noted,
            progress: &self.progress,
            start_ns: self.start_ns,
        })
    }

    /// Appends rows.
    pub(crate) fn push(&mut self, rows: Vec<NewRow>) {
        for row in rows {
            if let Some(mut stream) = self.stream(row.stream) {
                stream.push_new(row);
            }
        }
    }

    /// Records that make no sense and belong to no stream.
    pub(crate) fn undecodable(&self, records: u64, start_ns: u64, end_ns: u64) {
        lock(&self.accounting).lost_somewhere(LossStage::Decode, records, start_ns, end_ns);
    }

    /// Records that were read and left out by a filter that the kernel cannot decide.
    pub(crate) fn leave_out(&self, stream: u16, records: u64) {
        if records > 0 {
            lock(&self.accounting).left_out(self.number_of(stream), records);
            self.progress.leave_out(records);
        }
    }

    /// No row of a stream from before this moment will come any more.
    pub(crate) fn complete(&mut self, stream: u16, complete_ns: u64) {
        let number = self.number_of(stream);
        if let Some(state) = self.streams.get_mut(usize::from(number)) {
            state.complete_ns = state.complete_ns.max(complete_ns);
        }
    }

    /// The ring was read that the rows of a stream are made of at once.
    pub(crate) fn ring_read(&mut self, stream: u16, read_ns: u64, to_its_end: bool) {
        let last_ns = self.streams.get(usize::from(self.number_of(stream))).map_or(0, |state| state.last_ns);
        let complete_ns = if to_its_end { read_ns } else { last_ns };
        self.complete(stream, complete_ns.saturating_sub(SLACK_NS));
    }

    /// Whether some stream has so much that it is to be stored now.
    pub(super) fn is_full(&self) -> bool {
        self.streams.iter().any(|stream| stream.rows.is_full() || stream.held_bytes > MAX_HELD_BYTES)
    }

    /// Rows of some streams that came after later ones were stored.
    pub(super) fn late(&self, streams: Range<u16>) -> u64 {
        let streams = self.streams.get(usize::from(streams.start)..usize::from(streams.end)).unwrap_or_default();
        streams.iter().map(|stream| stream.rows.late()).sum()
    }

    /// Addresses of the kernel that were in rows since this was asked before.
    pub(super) fn take_noted(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.noted)
    }

    /// The chunks that are complete, or all, with their texts; and how many rows of which stream they have.
    pub(super) fn take_chunks(&mut self, all: bool) -> (Append, Vec<(u16, u64)>) {
        let mut append = Append { end_ns: self.progress.covered_ns(self.read_ns), ..Append::default() };
        let mut rows = Vec::new();
        for (stream, state) in (0_u16..).zip(&mut self.streams) {
            let flushed = state.rows.flush(if all { u64::MAX } else { state.complete_ns });
            state.held_bytes = 0;
            let undecodable = std::mem::take(&mut state.undecodable) + flushed.unfit;
            let since_ns = std::mem::replace(&mut state.undecodable_since_ns, self.read_ns);
            let stored: u64 = flushed.chunks.iter().map(|chunk| u64::from(chunk.rows)).sum();
            let mut accounting = lock(&self.accounting);
            accounting.lost(stream, LossStage::Decode, undecodable, since_ns, self.read_ns);
            accounting.pending(stream, stored);
            if stored > 0 {
                rows.push((stream, stored));
            }
            // Ranges end before their end: the whole capture has its last row too, which may come while probes are detached.
            let ends = flushed.chunks.iter().map(|chunk| chunk.last_ns.saturating_add(1));
            append.end_ns = ends.fold(append.end_ns, u64::max);
            append.chunks.extend(flushed.chunks.into_iter().map(|chunk| (stream, chunk)));
        }
        append.strings = self.strings.take_new();
        (append, rows)
    }
}

/// One stream of a [`Sink`].
pub(crate) struct StreamSink<'a> {
    number: u16,
    state: &'a mut StreamState,
    strings: &'a mut StringDictionary,
    /// None if nobody looks.
    live: Option<&'a mut LiveRows>,
    noted: &'a mut Vec<u64>,
    progress: &'a Progress,
    start_ns: u64,
}

impl StreamSink<'_> {
    /// Columns and dictionary, for whoever makes a row in place and then calls [`StreamSink::appended`].
    pub(crate) fn columns(&mut self) -> (&mut Batch, &mut StringDictionary) {
        (self.state.rows.rows_mut(), self.strings)
    }

    /// A row was appended to the columns, made of so many bytes. Viewers see `cells`, which are told when the capture began.
    pub(crate) fn appended(&mut self, time_ns: u64, bytes: usize, cells: impl FnOnce(u64) -> Vec<ShownCell>) {
        self.show(cells);
        self.note(time_ns, bytes);
    }

    fn show(&mut self, cells: impl FnOnce(u64) -> Vec<ShownCell>) {
        let start_ns = self.start_ns;
        if let Some(live) = self.live.as_deref_mut().filter(|_| self.state.is_event) {
            live.row(self.number, || {
                let mut cells = cells(start_ns);
                for at in &self.state.lengths {
                    if let Some(cell) = cells.get_mut(*at).filter(|cell| **cell == ShownCell::Number(0)) {
                        *cell = ShownCell::Null;
                    }
                }
                cells
            });
        }
    }

    fn note(&mut self, time_ns: u64, bytes: usize) {
        for column in &self.state.addresses {
            let numbers = self.state.rows.rows_mut().columns.get(*column).map_or(&[][..], ColumnData::as_u64);
            self.noted.extend(numbers.last());
        }
        self.state.held_bytes += bytes;
        self.seen(time_ns);
    }

    /// Rows were appended: they count for the limits of the capture.
    pub(crate) fn count(&self, rows: u64) {
        self.progress.rows(self.number, rows);
    }

    /// A record makes no sense.
    pub(crate) fn undecodable(&mut self, records: u64) {
        self.state.undecodable += records;
    }

    /// A record was read, whatever became of it: none from before will come, but for the order of CPUs.
    pub(crate) fn seen(&mut self, time_ns: u64) {
        self.state.last_ns = self.state.last_ns.max(time_ns);
    }

    fn push_new(&mut self, row: NewRow) {
        let bytes = row.bytes();
        let text = |text: Vec<u8>, strings: &mut StringDictionary| strings.id(&cut_text(&text, MAX_TEXT_BYTES));
        self.push(row.row, bytes, row::shown, text, |stack| stack.id);
    }

    /// Appends a row that is made of so many bytes, with the ids of its texts and stacks. Viewers see what `shown` says of it and
    /// of the moment when the capture began. A row that does not have the stream's columns counts as undecodable.
    pub(crate) fn push<T, S>(
        &mut self,
        row: Row<T, S>,
        bytes: usize,
        shown: impl FnOnce(&Row<T, S>, u64) -> Vec<ShownCell>,
        mut text: impl FnMut(T, &mut StringDictionary) -> StringId,
        stack: impl FnMut(S) -> StackId,
    ) {
        let time_ns = row.time_ns();
        self.show(|start_ns| shown(&row, start_ns));
        let strings = &mut *self.strings;
        if row.append(self.state.rows.rows_mut(), |value| text(value, strings), stack) {
            self.note(time_ns, bytes);
            self.count(1);
        } else {
            self.seen(time_ns);
            self.undecodable(1);
        }
    }
}
