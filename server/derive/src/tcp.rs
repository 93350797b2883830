//! In which state each TCP connection was, and for how long, from `sock:inet_sock_set_state`.
//!
//! A row begins with a change and ends with the next one of the same socket. What a socket did before its first change is not
//! known when it began, and has no row; what is open at the end lasts until there and is marked. A socket's address is used again
//! after it was closed, which is a state without a row.

use std::{collections::HashMap, sync::Arc};

use bathyscope_capture::{
    Batch, Column, ColumnType, Derivation, Display, RowKind, RowMeaning, StreamKind, StreamSchema, StringId,
};

use crate::{
    DerivationCount, DerivationCounts, DerivationError, DerivationHost, Rule, RuleInput,
    column::{bits, is_number, number, own, typed},
    losses::Losses,
    merge::{MAX_HELD_ROWS, RowMerge, Until},
    output::OutputRows,
};

/// The name of the rule.
pub const TCP_STATES_RULE: &str = "tcp states";
/// The version of the rule; rows of another version may mean something else.
pub const TCP_STATES_RULE_VERSION: u32 = 1;
/// The most sockets that are followed; with more of them new ones are not, and counted.
pub const MAX_SOCKETS: usize = 1 << 18;

const INPUT: &str = "sock:inet_sock_set_state";
/// What the kernel's numbers mean (include/net/tcp_states.h), from 1 on.
const STATES: [&str; 13] = [
    "established",
    "syn sent",
    "syn received",
    "fin wait 1",
    "fin wait 2",
    "time wait",
    "closed",
    "close wait",
    "last ack",
    "listen",
    "closing",
    "new syn received",
    "bound inactive",
];
const CLOSED: u64 = 7;
/// Columns that are carried along where they were recorded.
const CARRIED: [&str; 4] = ["sport", "dport", "family", "protocol"];

/// The rule: see the module's description.
#[derive(Debug)]
pub struct TcpStates {
    stream: u16,
    socket: usize,
    state: usize,
    carried: Vec<usize>,
    words: Vec<StringId>,
    /// The words for `lost events`, and for the end that is not known.
    unknown: [u64; 2],
    /// By socket: the row that began its state, without its duration.
    open: HashMap<u64, Vec<u64>>,
    merge: RowMerge,
    losses: Losses,
    streams: [StreamSchema; 1],
    output: OutputRows,
    counts: DerivationCounts,
}

impl TcpStates {
    /// The rule for a capture with these streams.
    ///
    /// # Errors
    /// If the event, or a column of it that is needed, was not recorded.
    pub fn new(streams: &[StreamSchema], host: &mut dyn DerivationHost) -> Result<Self, DerivationError> {
        let missing = || DerivationError::NoStream { rule: TCP_STATES_RULE.to_owned(), needed: INPUT.to_owned() };
        let found = (0_u16..).zip(streams).find(|(_, schema)| schema.name == INPUT);
        let (stream, schema) = found.ok_or_else(missing)?;
        let column = |name: &str| {
            typed(schema, name, is_number).ok_or_else(|| DerivationError::NoColumn {
                rule: TCP_STATES_RULE.to_owned(),
                stream: INPUT.to_owned(),
                column: name.to_owned(),
                as_what: "numbers",
            })
        };
        let (socket, state) = (column("skaddr")?, column("newstate")?);
        let carried: Vec<usize> = CARRIED.iter().filter_map(|name| typed(schema, name, is_number)).collect();
        let columns = std::iter::once(socket).chain(carried.iter().copied());
        let schema = schema_of(columns.filter_map(|at| schema.columns.get(at)).cloned());
        Ok(Self {
            stream,
            socket,
            state,
            carried,
            words: STATES.iter().map(|word| host.string_id(word.as_bytes())).collect(),
            unknown: ["lost events", "end"].map(|word| u64::from(host.string_id(word.as_bytes()))),
            open: HashMap::new(),
            merge: RowMerge::default(),
            losses: Losses::default(),
            output: OutputRows::new(0, &schema),
            streams: [schema],
            counts: DerivationCounts::default(),
        })
    }

    fn look(&mut self, until: Until, host: &mut dyn DerivationHost) {
        let mut merge = std::mem::take(&mut self.merge);
        merge.advance(until, |_, rows, row| self.change(rows, row, host));
        self.counts.add(DerivationCount::LateRows, merge.take_late());
        self.merge = merge;
    }

    fn change(&mut self, rows: &Batch, row: usize, host: &mut dyn DerivationHost) {
        let time_ns = bits(rows, StreamSchema::TIME, row);
        let (Some(socket), Some(state)) = (number(rows, self.socket, row), number(rows, self.state, row)) else {
            return self.counts.add(DerivationCount::UnusableRows, 1);
        };
        match self.open.remove(&socket) {
            Some(begun) => self.close(begun, time_ns, 0, host),
            // It is closed until then.
            None if state == 2 || state == 10 => {}
            None => self.counts.add(DerivationCount::BeginUnknown, 1),
        }
        let word = state.checked_sub(1).and_then(|at| self.words.get(usize::try_from(at).ok()?));
        let Some(word) = word.filter(|_| state != CLOSED) else {
            return if state != CLOSED {
                self.counts.add(DerivationCount::UnusableRows, 1)
            };
        };
        if self.open.len() >= MAX_SOCKETS {
            return self.counts.add(DerivationCount::BeginsEvicted, 1);
        }
        let mut begun: Vec<u64> = (0..StreamSchema::COMMON.len()).map(|at| bits(rows, at, row)).collect();
        begun.extend([0, u64::from(*word), 0, socket]);
        begun.extend(self.carried.iter().map(|at| bits(rows, *at, row)));
        self.open.insert(socket, begun);
    }

    fn close(&mut self, mut row: Vec<u64>, end_ns: u64, unknown: u64, host: &mut dyn DerivationHost) {
        let start_ns = row.first().copied().unwrap_or(0);
        let lost = self.losses.overlap(start_ns, end_ns);
        let own = StreamSchema::COMMON.len();
        if let Some([duration, _, told]) = row.get_mut(own..own + 3) {
            *duration = end_ns.saturating_sub(start_ns);
            *told = if lost { self.unknown[0] } else { unknown };
        }
        self.output.push(&row, host);
    }
}

fn schema_of(more: impl Iterator<Item = Column>) -> StreamSchema {
    let columns = [
        own("duration_ns", ColumnType::U64, Display::DurationNs),
        own("state", ColumnType::Text, Display::Text),
        own("unknown", ColumnType::Text, Display::Text),
    ];
    let kind = RowKind::State { state: "state".to_owned(), duration: Some("duration_ns".to_owned()) };
    let derived =
        Derivation { rule: TCP_STATES_RULE.to_owned(), version: TCP_STATES_RULE_VERSION, from: vec![INPUT.to_owned()] };
    StreamSchema {
        rows: Some(Box::new(RowMeaning::new(kind, &["skaddr"]))),
        derived: Some(Box::new(derived)),
        ..StreamSchema::new(TCP_STATES_RULE, StreamKind::Events, columns.into_iter().chain(more))
    }
}

impl Rule for TcpStates {
    fn streams(&self) -> &[StreamSchema] {
        &self.streams
    }

    fn inputs(&self) -> Vec<RuleInput> {
        let common = 0..StreamSchema::COMMON.len();
        let mut columns: Vec<usize> =
            common.chain([self.socket, self.state]).chain(self.carried.iter().copied()).collect();
        columns.sort_unstable();
        vec![RuleInput { stream: self.stream, columns }]
    }

    fn push(&mut self, stream: u16, rows: Arc<Batch>, host: &mut dyn DerivationHost) {
        if stream == self.stream {
            self.merge.push(0, rows);
            if self.merge.is_full() {
                self.look(Until::Held(MAX_HELD_ROWS / 2), host);
            }
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

    fn finish(&mut self, end_ns: u64, host: &mut dyn DerivationHost) {
        self.look(Until::End, host);
        let mut open: Vec<Vec<u64>> = std::mem::take(&mut self.open).into_values().collect();
        // In an order that is the same each time.
        open.sort_unstable();
        let [_, end] = self.unknown;
        open.into_iter().for_each(|begun| self.close(begun, end_ns, end, host));
        self.output.flush(host);
    }

    fn counts(&self) -> DerivationCounts {
        self.counts
    }
}
