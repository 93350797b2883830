//! Bytes of rows that say how many: by what rows are called, and by thread.

use std::collections::HashMap;

use bathyscope_capture::{
    Column, ColumnType, CompareOp, Literal, Predicate, RowKind, StreamKind, StreamSchema, TrackRule,
};

use super::{RangeQuery, groups::RangeGroups, marked::MarkedTracks, overlap::word, text};
use crate::{
    Cancel, Source, ViewError,
    answers::{RangeAmount, RangeAmounts},
    scan::Scan,
    source::relative,
};

/// The most names, and the most threads; rows of further ones are the rest.
const MAX_GROUPS: usize = 1 << 14;

/// System calls whose result is how many bytes they moved.
const CALLS: [&[u8]; 25] = [
    b"read",
    b"readv",
    b"pread64",
    b"preadv",
    b"preadv2",
    b"write",
    b"writev",
    b"pwrite64",
    b"pwritev",
    b"pwritev2",
    b"recvfrom",
    b"recvmsg",
    b"sendto",
    b"sendmsg",
    b"sendfile",
    b"sendfile64",
    b"copy_file_range",
    b"splice",
    b"vmsplice",
    b"tee",
    b"process_vm_readv",
    b"process_vm_writev",
    b"getrandom",
    b"getdents",
    b"getdents64",
];

/// Whether the result of a call of this name is how many bytes it moved.
pub(super) fn moves_bytes(call: &[u8]) -> bool {
    CALLS.contains(&call)
}

/// Where the bytes of a stream's rows are.
struct AmountColumns {
    stream: u16,
    bytes: usize,
    /// What rows are called; none where all are of the same kind.
    name: Option<usize>,
    /// Whether only rows of [`CALLS`] have bytes.
    are_calls: bool,
}

/// The columns of bytes of a stream.
fn columns_of(stream: u16, schema: &StreamSchema) -> Vec<AmountColumns> {
    let is_call = |at: usize| schema.columns.get(at).is_some_and(|column| column.ty == ColumnType::I64);
    if let (Some(name), Some(bytes)) = (schema.column("call"), schema.column("result").filter(|at| is_call(*at))) {
        return vec![AmountColumns { stream, bytes, name: Some(name), are_calls: true }];
    }
    let own = || (StreamSchema::COMMON.len()..).zip(schema.columns.iter().skip(StreamSchema::COMMON.len()));
    let texts = || own().filter(|(_, column)| column.ty == ColumnType::Text).map(|(at, _)| at);
    let name = TrackRule::of(schema).map_or_else(|| texts().next(), |rule| rule.text_column());
    let weight = match schema.meaning().kind {
        RowKind::Counter { .. } | RowKind::Snapshot { .. } => return Vec::new(),
        RowKind::Sample { weight: Some(weight), unit, .. } if unit == "bytes" => schema.column(&weight),
        _ => None,
    };
    let named =
        |column: &Column| column.name == "bytes" || column.name == "nr_bytes" || column.name.ends_with("_bytes");
    let is_number = |at: &usize| schema.columns.get(*at).is_some_and(|column| column.ty == ColumnType::U64);
    let of_bytes = own().filter(|(_, column)| named(column)).map(|(at, _)| at);
    let mut found: Vec<usize> = of_bytes.chain(weight).filter(is_number).collect();
    found.dedup();
    found.into_iter().map(|bytes| AmountColumns { stream, bytes, name, are_calls: false }).collect()
}

#[derive(Clone, Copy, Debug, Default)]
struct AmountSums {
    count: u64,
    bytes: u64,
    most: u64,
    most_at_ns: u64,
    pid: u64,
    comm: u32,
}

impl AmountSums {
    fn add(&mut self, bytes: u64, time_ns: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        if bytes > self.most || self.count == 1 {
            (self.most, self.most_at_ns) = (bytes, time_ns);
        }
    }
}

/// Of a stream and a column, the text that rows are called by or the thread.
type AmountKey = (u16, u16, u64);
type AmountGroups = RangeGroups<AmountKey, AmountSums>;

/// How many bytes rows moved whose time is in the range, those with most first.
///
/// # Errors
/// If a track does not exist, a chunk cannot be read, or `cancel` was set.
pub fn range_amounts(source: &dyn Source, query: &RangeQuery, cancel: &Cancel) -> Result<RangeAmounts, ViewError> {
    let marked = MarkedTracks::of(source, &query.tracks)?;
    let mut gathered = Gathered {
        source,
        marked,
        names: RangeGroups::new(MAX_GROUPS),
        threads: RangeGroups::new(MAX_GROUPS),
        calls: HashMap::new(),
    };
    let streams = (0u16..).zip(source.streams()).filter(|(_, schema)| schema.kind != StreamKind::Map);
    for columns in streams.flat_map(|(stream, schema)| columns_of(stream, schema)) {
        gathered.add_stream(&columns, query, cancel)?;
    }
    let whole = |sums: &AmountSums| (sums.count, sums.bytes);
    let (names, names_rest) = gathered.names.greatest(|sums| sums.bytes, whole);
    let (threads, threads_rest) = gathered.threads.greatest(|sums| sums.bytes, whole);
    let origin = source.origin_ns();
    Ok(RangeAmounts {
        start: relative(origin, query.range.start_ns),
        end: relative(origin, query.range.end_ns),
        names: names.into_iter().map(|(key, sums)| amount(source, key, &sums, false)).collect(),
        names_rest,
        threads: threads.into_iter().map(|(key, sums)| amount(source, key, &sums, true)).collect(),
        threads_rest,
    })
}

struct Gathered<'a> {
    source: &'a dyn Source,
    marked: MarkedTracks,
    names: AmountGroups,
    threads: AmountGroups,
    /// Whether the results of calls with this name are bytes.
    calls: HashMap<u64, bool>,
}

impl Gathered<'_> {
    fn add_stream(&mut self, columns: &AmountColumns, query: &RangeQuery, cancel: &Cancel) -> Result<(), ViewError> {
        let rule = self.source.streams().get(usize::from(columns.stream)).and_then(TrackRule::of);
        let mut wanted = rule.iter().flat_map(TrackRule::columns).collect::<Vec<_>>();
        wanted.extend((0..StreamSchema::COMMON.len()).chain([columns.bytes]).chain(columns.name));
        let mut scan = Scan::new(self.source, columns.stream, query.range, None, &wanted, cancel)?;
        scan.for_each_hit(|hit| {
            // By place: the key of the row's track, which may be marked.
            let mut keys: Vec<u64> = Vec::new();
            if let Some(rule) = &rule {
                rule.for_each(&hit.batch, |row| keys.push(row.key));
            }
            hit.picked.for_each(|row| {
                let at = |column: usize| word(&hit.batch, column, row);
                let (tid, cpu) = (at(StreamSchema::TID), at(StreamSchema::CPU));
                let name = columns.name.map_or(0, at);
                let bytes = at(columns.bytes);
                // A result below zero is an error.
                if bytes == 0 || bytes > i64::MAX as u64 || (columns.are_calls && !self.moves_bytes(name)) {
                    return;
                }
                if !self.marked.has_key(columns.stream, keys.get(row).copied(), tid, cpu) {
                    return;
                }
                let column = columns.bytes as u16;
                let time_ns = at(StreamSchema::TIME);
                if let Some(sums) = self.names.of((columns.stream, column, name), bytes) {
                    sums.add(bytes, time_ns);
                }
                if let Some(sums) = self.threads.of((columns.stream, column, tid), bytes) {
                    sums.add(bytes, time_ns);
                    (sums.pid, sums.comm) = (at(StreamSchema::PID), at(StreamSchema::COMM) as u32);
                }
            });
            Ok(())
        })
    }

    fn moves_bytes(&mut self, name: u64) -> bool {
        let dictionaries = self.source.dictionaries();
        let is_one = || dictionaries.text(name as u32).is_some_and(moves_bytes);
        *self.calls.entry(name).or_insert_with(is_one)
    }
}

fn amount(source: &dyn Source, (stream, column, of): AmountKey, sums: &AmountSums, by_thread: bool) -> RangeAmount {
    let schema = source.streams().get(usize::from(stream));
    let columns = schema.map(|schema| columns_of(stream, schema)).unwrap_or_default();
    let named = columns.iter().find(|columns| columns.bytes == usize::from(column)).and_then(|columns| columns.name);
    let field = |at: usize| schema.and_then(|schema| schema.columns.get(at)).map(|column| column.name.clone());
    let field_of = if by_thread { field(StreamSchema::TID) } else { named.and_then(field) };
    let value = if by_thread {
        Some(Literal::Number(of))
    } else {
        let known = source.dictionaries().text(of as u32).and_then(|text| std::str::from_utf8(text).ok());
        known.map(|text| Literal::Text(text.to_owned()))
    };
    let compared = field_of.zip(value).map(|(field, value)| Predicate::Compare { field, op: CompareOp::Eq, value });
    let name = if by_thread { text(source, sums.comm) } else { text(source, of as u32) };
    let stream_name = || schema.map(|schema| bathyscope_capture::visible(schema.name.as_bytes())).unwrap_or_default();
    RangeAmount {
        stream,
        column: field(usize::from(column)).unwrap_or_default(),
        name: if name.is_empty() { stream_name() } else { name },
        tid: by_thread.then_some(of),
        pid: by_thread.then_some(sums.pid),
        filter: compared.map(|predicate| predicate.to_string()).unwrap_or_default(),
        count: sums.count,
        bytes: sums.bytes,
        mean: sums.bytes as f64 / sums.count.max(1) as f64,
        most: sums.most,
        at: relative(source.origin_ns(), sums.most_at_ns),
    }
}
