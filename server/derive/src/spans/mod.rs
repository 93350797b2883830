//! What lies between two rows that belong together: a *span*, from a begin to the end with the same key.
//!
//! [`definition`] says what a span is, [`built_in`] lists those that everybody has, and [`open`] keeps begins until their ends
//! come.

mod built_in;
mod condition;
mod definition;
mod open;
mod text;

use std::sync::Arc;

use bathyscope_capture::{Batch, Derivation, Display, RowKind, RowMeaning, SliceTime};
use bathyscope_capture::{Column, ColumnType, StreamKind, StreamSchema};

use crate::{
    DerivationCount, DerivationCounts, DerivationError, DerivationHost, Rule, RuleInput, column,
    losses::Losses,
    merge::{MAX_HELD_ROWS, RowMerge, Until},
    output::OutputRows,
};
use definition::{Edge, edges};
use open::OpenBegins;

pub use built_in::{BUILT_IN_SPANS, BuiltInSpan};
pub use definition::{MAX_SPAN_COLUMNS, Span, SpanEdge, SpanPairing};
pub use open::MAX_OPEN_BEGINS;
pub use text::SpanTextError;

/// The version of the rule; rows of another version may mean something else.
pub const SPAN_RULE_VERSION: u32 = 1;

/// The columns that every stream of spans has after the common ones.
const OWN: [(&str, ColumnType, Display); 3] = [
    ("duration_ns", ColumnType::U64, Display::DurationNs),
    ("end_cpu", ColumnType::U64, Display::Decimal),
    ("unknown", ColumnType::Text, Display::Text),
];
/// Only of nested spans.
const DEPTH: (&str, ColumnType, Display) = ("depth", ColumnType::U64, Display::Decimal);

/// The rule of one [`Span`].
///
/// Its rows have the common columns of the begin, `duration_ns`, `end_cpu`, `unknown` (`lost events` where some are known to
/// have been lost in its time, so that it may be two), `depth` if spans are nested, then the columns of the key and those that
/// are carried along. Begins whose end does not come have no row and are counted, also those that are open at the end.
#[derive(Debug)]
pub struct Spans {
    begin: Edge,
    end: Edge,
    /// Columns of the begin that become columns of the span, in their order.
    carried: Vec<usize>,
    pairing: SpanPairing,
    open: OpenBegins,
    merge: RowMerge,
    losses: Losses,
    lost: u64,
    streams: [StreamSchema; 1],
    output: OutputRows,
    counts: DerivationCounts,
    row: Vec<u64>,
}

impl Spans {
    /// The rule for a capture with these streams.
    ///
    /// # Errors
    /// If the definition cannot be, or a stream or a column that it needs was not recorded. A column that is only carried along
    /// is left out then.
    pub fn new(span: &Span, streams: &[StreamSchema], host: &mut dyn DerivationHost) -> Result<Self, DerivationError> {
        let (begin, end) = edges(span, streams)?;
        let schema = streams.get(usize::from(begin.stream));
        let column = |name: &String| schema.and_then(|schema| schema.column(name));
        let common = StreamSchema::COMMON.len();
        let mut carried: Vec<usize> = Vec::new();
        for at in begin.key.iter().copied().chain(span.carried.iter().filter_map(column)) {
            if at >= common && !carried.contains(&at) {
                carried.push(at);
            }
        }
        let from = |at: &usize| schema.and_then(|schema| schema.columns.get(*at));
        let columns = carried.iter().filter_map(from).cloned().collect();
        let stream = schema_of(span, columns);
        let output = OutputRows::new(0, &stream);
        let open = OpenBegins::new(common + carried.len() + 1);
        let lost = u64::from(host.string_id(b"lost events"));
        Ok(Self {
            begin,
            end,
            carried,
            pairing: span.pairing,
            open,
            merge: RowMerge::default(),
            losses: Losses::default(),
            lost,
            streams: [stream],
            output,
            counts: DerivationCounts::default(),
            row: Vec::new(),
        })
    }

    fn look(&mut self, until: Until, host: &mut dyn DerivationHost) {
        let mut merge = std::mem::take(&mut self.merge);
        merge.advance(until, |input, rows, row| {
            // A row that is both ends what was open before it.
            let is_both = self.begin.stream == self.end.stream;
            if (input == 1 || is_both) && self.end.condition.holds(rows, row, host) {
                self.end(rows, row, host);
            }
            if input == 0 && self.begin.condition.holds(rows, row, host) {
                self.begin(rows, row);
            }
        });
        self.counts.add(DerivationCount::LateRows, merge.take_late());
        self.merge = merge;
    }

    fn begin(&mut self, rows: &Batch, row: usize) {
        let Some(key) = self.begin.key_of(rows, row) else {
            return self.counts.add(DerivationCount::UnusableRows, 1);
        };
        if self.pairing == SpanPairing::Exclusive && self.open.take(&key, self.pairing, &mut self.row) {
            self.counts.add(DerivationCount::UnmatchedBegin, 1);
        }
        self.row.clear();
        self.row.push(self.open.depth(&key));
        let common = 0..StreamSchema::COMMON.len();
        self.row.extend(common.chain(self.carried.iter().copied()).map(|at| column::bits(rows, at, row)));
        if self.open.add(key, &self.row) {
            self.counts.add(DerivationCount::BeginsEvicted, 1);
        }
    }

    fn end(&mut self, rows: &Batch, row: usize, host: &mut dyn DerivationHost) {
        let Some(key) = self.end.key_of(rows, row) else {
            return self.counts.add(DerivationCount::UnusableRows, 1);
        };
        if !self.open.take(&key, self.pairing, &mut self.row) {
            return self.counts.add(DerivationCount::UnmatchedEnd, 1);
        }
        let (start_ns, end_ns) = (self.row.get(1).copied().unwrap_or(0), column::bits(rows, StreamSchema::TIME, row));
        let unknown = if self.losses.overlap(start_ns, end_ns) { self.lost } else { 0 };
        let own = [end_ns.saturating_sub(start_ns), column::bits(rows, StreamSchema::CPU, row), unknown];
        let depth = self.row.first().copied().filter(|_| self.pairing == SpanPairing::Nested);
        // What was kept is the depth, the common columns, and what is carried along.
        self.row.remove(0);
        let place = StreamSchema::COMMON.len();
        self.row.splice(place..place, own.into_iter().chain(depth));
        self.output.push(&self.row, host);
    }
}

/// The schema of spans, with columns of the begin after their own.
fn schema_of(span: &Span, carried: Vec<Column>) -> StreamSchema {
    let is_nested = span.pairing == SpanPairing::Nested;
    let own = OWN.into_iter().chain(Some(DEPTH).filter(|_| is_nested));
    let own: Vec<Column> = own.map(|(name, ty, display)| column::own(name, ty, display)).collect();
    let rename = |column: Column| {
        let is_taken = own.iter().any(|own| own.name == column.name);
        let name = if is_taken { format!("begin.{}", column.name) } else { column.name };
        Column { name, ..column }
    };
    let names = |edge: &SpanEdge| edge.key.clone();
    let rename_key = |name: String| if own.iter().any(|own| own.name == name) { format!("begin.{name}") } else { name };
    let kind = RowKind::Slice {
        duration: "duration_ns".to_owned(),
        time: SliceTime::Begin,
        depth: is_nested.then(|| DEPTH.0.to_owned()),
    };
    let rows = RowMeaning { kind, key: names(&span.begin).into_iter().map(rename_key).collect() };
    let mut from = vec![span.begin.stream.clone(), span.end.stream.clone()];
    from.dedup();
    let derived = Derivation { rule: span.name.clone(), version: SPAN_RULE_VERSION, from };
    let columns: Vec<Column> = own.clone().into_iter().chain(carried.into_iter().map(rename)).collect();
    StreamSchema {
        rows: Some(Box::new(rows)),
        derived: Some(Box::new(derived)),
        ..StreamSchema::new(span.name.as_str(), StreamKind::Events, columns)
    }
}

impl Rule for Spans {
    fn streams(&self) -> &[StreamSchema] {
        &self.streams
    }

    fn inputs(&self) -> Vec<RuleInput> {
        let common = 0..StreamSchema::COMMON.len();
        let begin: Vec<usize> = common.chain(self.begin.columns()).chain(self.carried.iter().copied()).collect();
        let end: Vec<usize> = [StreamSchema::TIME, StreamSchema::CPU].into_iter().chain(self.end.columns()).collect();
        let input = |(stream, mut columns): (u16, Vec<usize>)| {
            columns.sort_unstable();
            columns.dedup();
            RuleInput { stream, columns }
        };
        if self.begin.stream == self.end.stream {
            return vec![input((self.begin.stream, begin.into_iter().chain(end).collect()))];
        }
        [(self.begin.stream, begin), (self.end.stream, end)].map(input).into()
    }

    fn push(&mut self, stream: u16, rows: Arc<Batch>, host: &mut dyn DerivationHost) {
        let input = match stream {
            _ if stream == self.begin.stream => 0,
            _ if stream == self.end.stream => 1,
            _ => return,
        };
        self.merge.push(input, rows);
        if self.merge.is_full() {
            self.look(Until::Held(MAX_HELD_ROWS / 2), host);
        }
    }

    fn add_loss(&mut self, start_ns: u64, end_ns: u64) {
        self.losses.add(start_ns, end_ns);
    }

    fn advance(&mut self, complete_ns: u64, host: &mut dyn DerivationHost) {
        self.look(Until::Before(complete_ns), host);
    }

    fn flush(&mut self, host: &mut dyn DerivationHost) {
        self.output.flush(host);
    }

    fn finish(&mut self, _end_ns: u64, host: &mut dyn DerivationHost) {
        self.look(Until::End, host);
        self.counts.add(DerivationCount::UnmatchedBegin, self.open.clear());
        self.output.flush(host);
    }

    fn counts(&self) -> DerivationCounts {
        self.counts
    }
}
