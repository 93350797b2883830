//! What is measured of a stream, in one pass over its rows.

use std::collections::HashMap;

use bathyscope_capture::{Column, ColumnType, Display, StreamSchema};

use super::spread::{ColumnSpread, Parts};
use crate::{
    Cancel, Source, TimeRange, ViewError,
    answers::MeasuredNumber,
    chance::{self, BLOCKS, Draw, parts_of, spread, sum_of},
    distribution::{ValueColumn, group_value, main_column},
    hash::IdMap,
    scan::{Hit, Scan, lost_of, schema_of},
};

/// The most names of a column that are told apart.
const MAX_NAMES: usize = 4096;
const SECOND_NS: f64 = 1e9;

/// What is measured of it.
pub(super) struct StreamMeasures {
    span_ns: u64,
    pub(super) lost: u64,
    rows: Vec<u64>,
    pub(super) columns: Vec<(ValueColumn, ColumnSpread)>,
    /// Names of processes, and of system calls, each with what has it.
    pub(super) names: Vec<(NameKind, HashMap<String, NameMeasures>)>,
}

/// What names are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameKind {
    Process,
    Call,
}

/// What has a name.
#[derive(Clone, Debug, Default)]
pub(super) struct NameMeasures {
    pub(super) filter: String,
    rows: Vec<u64>,
    /// How long they took, nanoseconds.
    time_ns: Vec<u64>,
}

/// Rows with an id, by part of time, and how long they took.
#[derive(Default)]
struct IdMeasures {
    rows: Parts,
    time_ns: [u64; BLOCKS as usize],
}

/// A column of texts whose names are counted.
struct NameColumn {
    kind: NameKind,
    column: usize,
    duration: Option<usize>,
    found: IdMap<u32, Box<IdMeasures>>,
}

/// Columns of numbers of the rows' own.
pub(super) fn numbers_of(schema: &StreamSchema) -> Vec<usize> {
    let is_number =
        |at: &usize| schema.columns.get(*at).is_some_and(|it| matches!(it.ty, ColumnType::U64 | ColumnType::I64));
    (StreamSchema::COMMON.len()..schema.columns.len()).filter(is_number).collect()
}

/// Columns of numbers that are worth comparing: the one that rows are about, lengths of time, then others. Addresses, masks and
/// moments are not, and neither are results of system calls, which are something else for each call.
pub(super) fn columns_of(schema: &StreamSchema) -> Vec<usize> {
    let main = main_column(schema);
    let of = |at: &usize| schema.columns.get(*at);
    let is_of_calls = schema.column("call").is_some();
    let mut found = numbers_of(schema);
    found.retain(|at| {
        let is_amount = |it: &Column| !matches!(it.display, Display::Hex | Display::TimeNs);
        of(at).is_some_and(|it| is_amount(it) && !(is_of_calls && it.name == "result"))
    });
    found.sort_by_key(|at| (*at != main, of(at).is_none_or(|it| it.display != Display::DurationNs), *at));
    found
}

/// Whether the column says how long something took.
pub(super) fn is_duration(schema: &StreamSchema, at: usize) -> bool {
    schema.columns.get(at).is_some_and(|column| column.display == Display::DurationNs)
}

impl StreamMeasures {
    /// Reads the rows of a stream; `span` is how long it was recorded.
    pub(super) fn read(
        source: &dyn Source,
        stream: u16,
        (span, columns): (TimeRange, &[usize]),
        cancel: &Cancel,
    ) -> Result<Self, ViewError> {
        let schema = schema_of(source, stream)?;
        let mut names = name_columns(schema);
        let of = |at: &usize| schema.columns.get(*at).map(|column| ValueColumn::of(source, schema, &column.name));
        let fresh = |column: ValueColumn| (column, ColumnSpread::default());
        let mut columns: Vec<(ValueColumn, ColumnSpread)> =
            columns.iter().filter_map(of).map(|column| column.map(fresh)).collect::<Result<_, _>>()?;
        let texts = names.iter().flat_map(|name| [Some(name.column), name.duration]).flatten();
        let wanted: Vec<usize> =
            columns.iter().map(|(column, _)| column.index()).chain(texts).chain([StreamSchema::TIME]).collect();
        let mut rows = vec![0_u64; BLOCKS as usize];
        let mut blocks: Vec<u8> = Vec::new();
        Scan::new(source, stream, TimeRange::ALL, None, &wanted, cancel)?.for_each_hit(|hit| {
            place_in_time(hit.u64s(StreamSchema::TIME)?, span, &mut blocks);
            hit.picked.for_each(|row| count(&mut rows, block_of(&blocks, row), 1));
            for (column, spread) in &mut columns {
                column.for_each(hit, |row, key| spread.add(column.value(key), block_of(&blocks, row)));
            }
            names.iter_mut().try_for_each(|name| name.add(hit, &blocks))
        })?;
        let named = names.into_iter().map(|name| (name.kind, name.into_names(source, schema)));
        let lost = lost_of(source, stream, schema);
        Ok(Self { span_ns: span.span_ns().max(1), lost, rows, columns, names: named.collect() })
    }

    /// Its rows.
    pub(super) fn rows(&self) -> u64 {
        self.rows.iter().sum()
    }

    /// How many rows it has.
    pub(super) fn count(&self, draws: &[Draw]) -> MeasuredNumber {
        counted(&self.rows, self.lost, draws)
    }

    /// What there are of something in a second.
    fn a_second(&self, number: MeasuredNumber) -> MeasuredNumber {
        number.times(SECOND_NS / self.span_ns as f64)
    }

    /// Rows a second.
    pub(super) fn rate(&self, draws: &[Draw]) -> MeasuredNumber {
        self.a_second(self.count(draws))
    }

    /// How often there is something of a name in a second.
    pub(super) fn name_rate(&self, name: Option<&NameMeasures>, draws: &[Draw]) -> MeasuredNumber {
        self.a_second(counted(name.map_or(&[][..], |name| &name.rows), self.lost, draws))
    }

    /// For how many nanoseconds of a second; how long what was lost took is not known.
    pub(super) fn name_time(&self, name: Option<&NameMeasures>, draws: &[Draw]) -> MeasuredNumber {
        let time = name.map_or(&[][..], |name| &name.time_ns);
        let most = |value| (self.lost == 0).then_some(value);
        let number = summed(time, draws);
        // One that is not there has taken no time, and how much that varies is not known.
        let error = number.error.filter(|error| *error > 0.0);
        self.a_second(MeasuredNumber { error, most: most(number.value), ..number })
    }

    /// Which share of all rows a name has.
    pub(super) fn name_share(&self, name: &NameMeasures, draws: &[Draw]) -> MeasuredNumber {
        let (own, all) = (parts_of(&name.rows), parts_of(&self.rows));
        let (rows, whole) = (name.rows.iter().sum::<u64>() as f64, (self.rows() as f64).max(1.0));
        let share = rows / whole;
        let drawn: Vec<f64> = draws.iter().map(|draw| sum_of(draw, &own) / sum_of(draw, &all).max(1.0)).collect();
        let alone = (share * (1.0 - share) / whole).sqrt().max(1.0 / whole);
        let with_lost = whole + self.lost as f64;
        let (least, most) = (Some(rows / with_lost), Some((rows + self.lost as f64) / with_lost));
        MeasuredNumber { value: share, error: Some(spread(&drawn).max(alone)), least, most }
    }
}

/// A sum over parts of time.
fn summed(parts: &[u64], draws: &[Draw]) -> MeasuredNumber {
    let all = parts_of(parts);
    let drawn: Vec<f64> = draws.iter().map(|draw| sum_of(draw, &all)).collect();
    MeasuredNumber::of(all.iter().sum(), Some(spread(&drawn)))
}

/// A number of rows, of which so many were lost.
fn counted(rows: &[u64], lost: u64, draws: &[Draw]) -> MeasuredNumber {
    let number = summed(rows, draws);
    // One more, so that what was never seen has an error too.
    let error = number.error.map(|error| error.max((number.value + 1.0).sqrt()));
    MeasuredNumber { error, most: Some(number.value + lost as f64), ..number }
}

fn count(parts: &mut [u64], block: usize, more: u64) {
    if let Some(sum) = parts.get_mut(block) {
        *sum = sum.saturating_add(more);
    }
}

fn block_of(blocks: &[u8], row: usize) -> usize {
    blocks.get(row).copied().map_or(0, usize::from)
}

/// In which part of a span each moment is; those outside of it are in the first or the last.
fn place_in_time(times: &[u64], span: TimeRange, blocks: &mut Vec<u8>) {
    blocks.clear();
    // There are fewer than 256.
    blocks.extend(times.iter().map(|time| chance::block_of(span, *time) as u8));
}

fn name_columns(schema: &StreamSchema) -> Vec<NameColumn> {
    let found = IdMap::default;
    let process = NameColumn { kind: NameKind::Process, column: StreamSchema::COMM, duration: None, found: found() };
    let is_text = |at: &usize| schema.columns.get(*at).is_some_and(|column| column.ty == ColumnType::Text);
    let call = schema.column("call").filter(is_text).filter(|_| schema.column("result").is_some());
    let call = call.map(|column| NameColumn {
        kind: NameKind::Call,
        column,
        duration: schema.duration_column(),
        found: found(),
    });
    if schema.is_recorded() { [process].into_iter().chain(call).collect() } else { Vec::new() }
}

impl NameColumn {
    fn add(&mut self, hit: &Hit, blocks: &[u8]) -> Result<(), ViewError> {
        let ids = hit.ids(self.column)?;
        let durations = self.duration.map(|column| hit.u64s(column)).transpose()?;
        let found = &mut self.found;
        hit.picked.for_each(|row| {
            let Some(id) = ids.get(row).copied() else { return };
            if !found.contains_key(&id) && found.len() >= MAX_NAMES {
                return;
            }
            let (measures, block) = (found.entry(id).or_default(), block_of(blocks, row));
            if let Some(rows) = measures.rows.get_mut(block) {
                *rows = rows.saturating_add(1);
            }
            count(&mut measures.time_ns, block, durations.and_then(|all| all.get(row)).copied().unwrap_or(0));
        });
        Ok(())
    }

    /// By name: texts of several ids can look the same.
    fn into_names(self, source: &dyn Source, schema: &StreamSchema) -> HashMap<String, NameMeasures> {
        let mut names: HashMap<String, NameMeasures> = HashMap::new();
        for (id, measures) in self.found {
            let (_, filter) = group_value(source, schema, (self.column, id.into()));
            let text = source.dictionaries().text(id).map(bathyscope_capture::visible);
            let name = names.entry(text.unwrap_or_default()).or_default();
            let empty = NameMeasures { filter, rows: vec![0; BLOCKS as usize], time_ns: vec![0; BLOCKS as usize] };
            if name.rows.is_empty() {
                *name = empty;
            }
            for (block, rows) in measures.rows.iter().enumerate() {
                count(&mut name.rows, block, (*rows).into());
            }
            for (block, time_ns) in measures.time_ns.iter().enumerate() {
                count(&mut name.time_ns, block, *time_ns);
            }
        }
        // What has no name is no process that could be told from others.
        names.remove("");
        names
    }
}
