//! What the values of columns are: the most frequent ones with their rows, and how numbers spread.
//!
//! One pass over the chunks for all columns that are asked for. A column has room for [`MAX_FACET_VALUES`] distinct values; rows
//! with further ones are counted together and told. A budget of rows takes chunks that are spread evenly over the range, so that
//! a first answer of a large stream is soon there.

mod bars;
mod tally;

use std::collections::HashMap;

use bathyscope_capture::{Column, ColumnData, ColumnType, Display, FrameId, Literal, ShownCell, StackId, StreamSchema};

use self::{
    bars::{Bars, FineBins, Piece},
    tally::Tally,
};
use crate::{
    Cancel, Dictionaries, Filter, Source, TimeRange, ViewError,
    answers::{ColumnHead, Facet, FacetBar, FacetValue, Facets},
    filter::no_such_column,
    frame_names,
    needle::{Needle, shown},
    scan::{Hit, Scan, schema_of},
    source::relative,
};

/// The most columns whose values are counted together.
pub const MAX_FACET_COLUMNS: usize = 64;
/// How many distinct values of a column are counted apart.
pub const MAX_FACET_VALUES: usize = 1 << 16;
/// The most values that are told of a column.
pub const MAX_FACET_TOLD: u32 = 1000;
/// The longest literal that a filter has room for.
const MAX_LITERAL_BYTES: usize = 512;

/// Which columns of which rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FacetsQuery {
    /// The stream.
    pub stream: u16,
    /// From when to when.
    pub range: TimeRange,
    /// Which rows.
    pub filter: Option<Filter>,
    /// Names of columns, at most [`MAX_FACET_COLUMNS`].
    pub columns: Vec<String>,
    /// How many values of each are told, at most [`MAX_FACET_TOLD`].
    pub limit: u32,
    /// Only values with this text, in any case, are told.
    pub search: String,
    /// How many rows are looked at, about.
    pub budget_rows: u64,
}

impl FacetsQuery {
    /// The ten most frequent values of columns, of all rows of a stream.
    pub fn new(stream: u16, columns: &[&str]) -> Self {
        Self {
            stream,
            range: TimeRange::ALL,
            filter: None,
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            limit: 10,
            search: String::new(),
            budget_rows: u64::MAX,
        }
    }
}

/// Counts the values of columns.
///
/// # Errors
/// If the query does not fit the capture, a chunk cannot be loaded, or `cancel` was set.
pub fn facets(source: &dyn Source, query: &FacetsQuery, cancel: &Cancel) -> Result<Facets, ViewError> {
    ViewError::within("the number of columns", query.columns.len() as u64, 1, MAX_FACET_COLUMNS as u64)?;
    ViewError::within("the number of values", u64::from(query.limit), 1, u64::from(MAX_FACET_TOLD))?;
    let schema = schema_of(source, query.stream)?;
    let find = |name: &String| schema.column(name).ok_or_else(|| no_such_column(schema, name));
    let wanted: Vec<usize> = query.columns.iter().map(find).collect::<Result<_, _>>()?;
    let mut scan = Scan::new(source, query.stream, query.range, query.filter.as_ref(), &wanted, cancel)?;
    let mut counted: Vec<ColumnTally> = wanted.iter().filter_map(|column| ColumnTally::new(schema, *column)).collect();
    let mut answer = Facets::default();
    let (chunks, total) = chunks_within(&scan, query);
    answer.total = total;
    for chunk in chunks {
        answer.looked_at += scan.chunks().get(chunk).map_or(0, |meta| u64::from(meta.rows));
        let Some(hit) = scan.hit(chunk)? else { continue };
        answer.rows += hit.picked.len() as u64;
        counted.iter_mut().for_each(|column| column.add(&hit));
    }
    let told = Told { source, limit: query.limit as usize, needle: Needle::new(&query.search) };
    answer.facets = counted.into_iter().map(|column| told.facet(column)).collect();
    Ok(answer)
}

/// The chunks of the range that the budget has rows for, evenly spread, and the rows of all of them.
fn chunks_within(scan: &Scan<'_>, query: &FacetsQuery) -> (Vec<usize>, u64) {
    let range = query.range;
    let touched = scan.chunks().iter().enumerate();
    let touched: Vec<(usize, u64)> = touched
        .filter(|(_, meta)| meta.last_ns >= range.start_ns && meta.first_ns < range.end_ns)
        .map(|(chunk, meta)| (chunk, u64::from(meta.rows)))
        .collect();
    let total: u64 = touched.iter().map(|(_, rows)| rows).sum();
    let step = usize::try_from(total.div_ceil(query.budget_rows.max(1))).unwrap_or(usize::MAX).max(1);
    (touched.into_iter().step_by(step).map(|(chunk, _)| chunk).collect(), total)
}

/// The values of a column so far.
struct ColumnTally {
    column: usize,
    described: Column,
    tally: Tally,
    missing: u64,
    /// Whether rows with 0 have no value.
    zero_is_none: bool,
    /// Of a column of numbers that has more distinct values than are counted apart.
    fine: Option<FineBins>,
}

impl ColumnTally {
    fn new(schema: &StreamSchema, column: usize) -> Option<Self> {
        let described = schema.columns.get(column)?.clone();
        let (tally, zero_is_none) = (Tally::new(MAX_FACET_VALUES), schema.zero_is_none(column));
        Some(Self { column, described, tally, missing: 0, zero_is_none, fine: None })
    }

    fn add(&mut self, hit: &Hit) {
        let Self { tally, missing, fine, zero_is_none, .. } = self;
        match hit.batch.columns.get(self.column) {
            Some(ColumnData::U64(values)) => hit.picked.for_each(|row| match values.get(row) {
                Some(0) if *zero_is_none => *missing += 1,
                Some(value) => number(tally, fine, *value, i128::from(*value)),
                None => {}
            }),
            Some(ColumnData::I64(values)) => hit.picked.for_each(|row| {
                if let Some(value) = values.get(row) {
                    number(tally, fine, value.cast_unsigned(), i128::from(*value));
                }
            }),
            Some(ColumnData::Id(ids)) => hit.picked.for_each(|row| match ids.get(row) {
                None | Some(0) => *missing += 1,
                Some(id) => {
                    tally.add(u64::from(*id));
                }
            }),
            None => {}
        }
    }

    /// The number that a key of the tally stands for.
    fn number_of(&self, key: u64) -> i128 {
        if self.described.ty == ColumnType::I64 { i128::from(key.cast_signed()) } else { i128::from(key) }
    }
}

/// Counts a number; from the first on that has no room of its own, numbers are also counted in bins.
fn number(tally: &mut Tally, fine: &mut Option<FineBins>, key: u64, value: i128) {
    if tally.add(key) {
        return;
    }
    fine.get_or_insert_with(FineBins::default).add(value, 1);
}

/// What is told of the values.
struct Told<'a> {
    source: &'a dyn Source,
    limit: usize,
    needle: Option<Needle>,
}

impl Told<'_> {
    fn facet(&self, counted: ColumnTally) -> Facet {
        let dictionaries = self.source.dictionaries();
        let Column { name, ty, display } = counted.described.clone();
        let mut facet = Facet {
            column: ColumnHead { name, ty, display },
            distinct: 0,
            found: 0,
            missing: counted.missing,
            left_out: counted.tally.further(),
            values: Vec::new(),
            bars: Vec::new(),
            log: false,
        };
        match ty {
            ColumnType::Text => {
                self.tell(
                    &mut facet,
                    counted.tally.into_counts(),
                    |id| {
                        let bytes = dictionaries.text(*id as u32).unwrap_or_default();
                        (shown(bytes).into_owned(), bytes)
                    },
                    |(text, bytes)| FacetValue { literal: text_literal(bytes), value: ShownCell::Text(text), rows: 0 },
                );
            }
            ColumnType::Stack => {
                let functions = functions(dictionaries, counted.tally.into_counts());
                self.tell(
                    &mut facet,
                    functions,
                    |name| (name.clone(), ()),
                    |(name, _)| FacetValue {
                        literal: text_literal(name.as_bytes()),
                        value: ShownCell::Text(name),
                        rows: 0,
                    },
                );
            }
            ColumnType::U64 | ColumnType::I64 => self.numbers(&mut facet, counted),
        }
        facet
    }

    /// Puts the most frequent of those that are looked for into the facet.
    fn tell<K, V: Ord>(
        &self,
        facet: &mut Facet,
        counts: Vec<(K, u64)>,
        read: impl Fn(&K) -> (String, V),
        make: impl Fn((String, V)) -> FacetValue,
    ) {
        facet.distinct = counts.len() as u64;
        let mut found: Vec<((String, V), u64)> = match &self.needle {
            None => {
                top(counts, self.limit, &mut facet.found).into_iter().map(|(key, rows)| (read(&key), rows)).collect()
            }
            Some(needle) => {
                let read = counts.into_iter().map(|(key, rows)| (read(&key), rows));
                let found: Vec<_> = read.filter(|((text, _), _)| needle.is_in(text)).collect();
                facet.found = found.len() as u64;
                found
            }
        };
        found.sort_by(|((text_a, a), rows_a), ((text_b, b), rows_b)| {
            rows_b.cmp(rows_a).then_with(|| a.cmp(b)).then_with(|| text_a.cmp(text_b))
        });
        found.truncate(self.limit);
        facet.values = found.into_iter().map(|(read, rows)| FacetValue { rows, ..make(read) }).collect();
    }

    fn numbers(&self, facet: &mut Facet, counted: ColumnTally) {
        let (display, origin_ns) = (facet.column.display, self.source.origin_ns());
        let moment = display == Display::TimeNs;
        // Moments are told, and looked for in filters, from the capture's start.
        let as_shown = |number: i128| match moment {
            true => u64::try_from(number).map_or(number, |ns| i128::from(relative(origin_ns, ns))),
            false => number,
        };
        let mut numbers: Vec<(i128, u64)> = Vec::new();
        counted.tally.counts(|key, rows| numbers.push((as_shown(counted.number_of(key)), rows)));
        numbers.sort_unstable();
        let pieces = numbers.iter().map(|(number, rows)| Piece { low: *number, high: *number, rows: *rows });
        let bars = match &counted.fine {
            None => Bars::of_numbers(&pieces.collect::<Vec<_>>()),
            Some(fine) => {
                let mut fine = fine.clone();
                counted.tally.counts(|key, rows| fine.add(counted.number_of(key), rows));
                Bars::of_bins(&fine.pieces())
            }
        };
        let shift = |number: i128| if counted.fine.is_some() { as_shown(number) } else { number };
        facet.log = bars.log;
        facet.bars = bars
            .bars
            .into_iter()
            .map(|Piece { low, high, rows }| FacetBar {
                low: ShownCell::Number(shift(low)),
                high: ShownCell::Number(shift(high)),
                rows,
            })
            .collect();
        let written = |number: &i128| match display {
            Display::Hex => format!("{number:#x}"),
            _ => number.to_string(),
        };
        self.tell(
            facet,
            numbers,
            |number| (written(number), *number),
            |(_, number)| FacetValue { literal: Some(number.to_string()), value: ShownCell::Number(number), rows: 0 },
        );
    }
}

/// The `limit` most frequent, and all that are as frequent as the last of them, whose order is yet to be told.
fn top<K>(mut counts: Vec<(K, u64)>, limit: usize, found: &mut u64) -> Vec<(K, u64)> {
    *found = counts.len() as u64;
    if counts.len() > limit {
        let mut rows: Vec<u64> = counts.iter().map(|(_, rows)| *rows).collect();
        let at = rows.len() - limit;
        let least = *rows.select_nth_unstable(at).1;
        counts.retain(|(_, rows)| *rows >= least);
    }
    counts
}

/// Rows by function that is anywhere in their stacks.
fn functions(dictionaries: &Dictionaries, stacks: Vec<(u64, u64)>) -> Vec<(String, u64)> {
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut of_frame: HashMap<FrameId, Vec<usize>> = HashMap::new();
    // Rows, and the stack that was counted last: a function that is in a stack twice counts once.
    let mut sums: Vec<(u64, u64)> = Vec::new();
    for (stack, rows) in stacks {
        for frame in dictionaries.stack(stack as StackId).unwrap_or_default() {
            let of_frame = of_frame.entry(*frame).or_insert_with(|| {
                let names = frame_names(dictionaries, *frame).into_iter();
                names
                    .map(|(name, _)| {
                        let new = sums.len();
                        let number = *numbers.entry(name).or_insert(new);
                        if number == new {
                            sums.push((0, 0));
                        }
                        number
                    })
                    .collect()
            });
            for number in of_frame {
                if let Some((sum, last)) = sums.get_mut(*number).filter(|(_, last)| *last != stack) {
                    *sum += rows;
                    *last = stack;
                }
            }
        }
    }
    let rows = |number: usize| sums.get(number).map_or(0, |(rows, _)| *rows);
    numbers.into_iter().map(|(name, number)| (name, rows(number))).collect()
}

/// A text as it is written in a filter; none if it is no text, or too long for one.
fn text_literal(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
    let literal = Literal::Text(text.to_owned()).to_string();
    (literal.len() <= MAX_LITERAL_BYTES).then_some(literal)
}
