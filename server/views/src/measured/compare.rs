//! Two captures beside each other: their streams, the columns of numbers that both have, and the processes and system calls that
//! changed most.

use std::collections::HashSet;

use bathyscope_capture::{StreamSchema, shown};

use super::{
    spread::{ColumnSpread, common_buckets},
    stream::{NameKind, NameMeasures, StreamMeasures, columns_of},
};
use crate::{
    Cancel, Source, TimeRange, ViewError,
    against::same_stream_of,
    answers::{
        CaptureComparison, ComparedColumn, ComparedName, ComparedNumber, ComparedStream, ComparedStreamSide,
        DifferenceVerdict, MeasuredNumber,
    },
    chance::{Draw, draws, judge},
    distribution::ValueColumn,
};

/// The most streams that are compared.
pub const MAX_COMPARED_STREAMS: usize = 24;
/// The most columns of one.
const MAX_COLUMNS: usize = 6;
/// The most names in an answer.
const MAX_NAMES: usize = 24;
/// Which percentiles are told.
const SHARES: [(&str, f64); 3] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)];

/// One of two captures.
#[derive(Clone, Copy)]
pub struct MeasuredSide<'a> {
    /// Its rows.
    pub source: &'a dyn Source,
    /// From its start to its end.
    pub span: TimeRange,
}

/// Compares the rows of two captures. Streams are the same that have one name and are of one source.
///
/// # Errors
/// If rows cannot be read, or `cancel` was set.
pub fn compare_captures(
    a: MeasuredSide<'_>,
    b: MeasuredSide<'_>,
    cancel: &Cancel,
) -> Result<CaptureComparison, ViewError> {
    let (pairs, only_a, only_b) = pairs(a.source.streams(), b.source.streams());
    let left_out = pairs.len().saturating_sub(MAX_COMPARED_STREAMS);
    let draws = draws();
    let mut answer = CaptureComparison { only_a, only_b, left_out, ..CaptureComparison::default() };
    for (of_a, of_b) in pairs.into_iter().take(MAX_COMPARED_STREAMS) {
        let place = answer.streams.len();
        let (stream, names) = stream(((a, of_a), (b, of_b)), place, (&draws, cancel))?;
        answer.streams.push(stream);
        answer.names.extend(names);
    }
    judge_all(&mut answer);
    Ok(answer)
}

/// The streams of both, and what only one has.
type Pairs = (Vec<(u16, u16)>, Vec<String>, Vec<String>);

fn pairs(a: &[StreamSchema], b: &[StreamSchema]) -> Pairs {
    let is_there = |(_, schema): &(u16, &StreamSchema)| !schema.is_absent() && schema.has_events();
    let all =
        |of: &'_ [StreamSchema]| -> Vec<u16> { (0_u16..).zip(of).filter(is_there).map(|(stream, _)| stream).collect() };
    let at = |of: &'_ [StreamSchema], stream: u16| of.get(usize::from(stream)).cloned();
    let (mut pairs, mut taken, mut only_a) = (Vec::new(), HashSet::new(), Vec::new());
    let of_b = all(b);
    for stream in all(a) {
        let Some(schema) = at(a, stream) else { continue };
        let free = of_b.iter().filter(|other| !taken.contains(*other)).copied();
        match same_stream_of(&schema, b, free) {
            Some(other) => {
                taken.insert(other);
                pairs.push((stream, other));
            }
            None => only_a.push(shown(&schema.name)),
        }
    }
    let rest = of_b.iter().filter(|stream| !taken.contains(*stream)).filter_map(|stream| at(b, *stream));
    (pairs, only_a, rest.map(|schema| shown(&schema.name)).collect())
}

type OfStream<'a> = (MeasuredSide<'a>, u16);

fn stream(
    (a, b): (OfStream<'_>, OfStream<'_>),
    place: usize,
    (draws, cancel): (&[Draw], &Cancel),
) -> Result<(ComparedStream, Vec<ComparedName>), ViewError> {
    let schema = |(side, stream): OfStream<'_>| crate::scan::schema_of(side.source, stream).cloned();
    let (of_a, of_b) = (schema(a)?, schema(b)?);
    let common: Vec<(usize, usize)> = columns_of(&of_a)
        .into_iter()
        .filter_map(|at| {
            let column = of_a.columns.get(at)?;
            let there = of_b.column(&column.name)?;
            of_b.columns.get(there).filter(|other| other.ty == column.ty).map(|_| (at, there))
        })
        .collect();
    let taken = common.iter().take(MAX_COLUMNS);
    let (in_a, in_b): (Vec<usize>, Vec<usize>) = taken.copied().unzip();
    let read = |(side, stream): OfStream<'_>, columns: &[usize]| {
        StreamMeasures::read(side.source, stream, (side.span, columns), cancel)
    };
    let (measured_a, measured_b) = (read(a, &in_a)?, read(b, &in_b)?);
    let side =
        |(_, stream): OfStream<'_>, of: &StreamMeasures| ComparedStreamSide { stream, rows: of.rows(), lost: of.lost };
    let numbers = vec![
        number("count", measured_a.count(draws), measured_b.count(draws)),
        number("rate", measured_a.rate(draws), measured_b.rate(draws)),
    ];
    let lost = (measured_a.lost, measured_b.lost);
    let columns = measured_a.columns.iter().zip(&measured_b.columns);
    let compared = ComparedStream {
        name: shown(&of_a.name),
        source: shown(&of_a.source),
        computed: of_a.derived.is_some(),
        a: side(a, &measured_a),
        b: side(b, &measured_b),
        numbers,
        columns: columns.map(|(a, b)| column(a, b, (lost, draws))).collect(),
        left_out: common.len().saturating_sub(MAX_COLUMNS),
    };
    Ok((compared, names(&measured_a, &measured_b, (place, draws))))
}

/// Without what it is worth, which depends on how many there are.
fn number(what: &'static str, a: MeasuredNumber, b: MeasuredNumber) -> ComparedNumber {
    let difference = b.value - a.value;
    ComparedNumber { what, a, b, difference, error: None, verdict: DifferenceVerdict::Untested }
}

fn column(
    (of_a, a): &(ValueColumn, ColumnSpread),
    (_, b): &(ValueColumn, ColumnSpread),
    ((lost_a, lost_b), draws): ((u64, u64), &[Draw]),
) -> ComparedColumn {
    let rows = |of: &ColumnSpread, lost: u64| {
        let most = Some((of.rows + lost) as f64);
        MeasuredNumber { most, ..MeasuredNumber::of(of.rows as f64, None) }
    };
    let mut numbers = vec![number("count", rows(a, lost_a), rows(b, lost_b))];
    if a.rows > 0 && b.rows > 0 {
        let shares = SHARES.map(|(_, share)| share);
        let found = |of: &ColumnSpread, lost| of.percentiles(&shares, (lost, of_a.is_signed()), draws);
        let both = found(a, lost_a).into_iter().zip(found(b, lost_b));
        numbers.extend(SHARES.iter().zip(both).map(|((what, _), (a, b))| number(what, a, b)));
        let most = |of: &ColumnSpread, lost| {
            let number = MeasuredNumber::of(of.most as f64, None);
            MeasuredNumber { most: number.most.filter(|_| lost == 0), ..number }
        };
        numbers.push(number("most", most(a, lost_a), most(b, lost_b)));
    }
    let (buckets, of_first, of_second) = common_buckets(a, b);
    ComparedColumn { of: of_a.of.clone(), numbers, buckets, a: of_first, b: of_second }
}

fn names(a: &StreamMeasures, b: &StreamMeasures, (stream, draws): (usize, &[Draw])) -> Vec<ComparedName> {
    let mut found = Vec::new();
    for ((kind, of_a), (_, of_b)) in a.names.iter().zip(&b.names) {
        let all: HashSet<&String> = of_a.keys().chain(of_b.keys()).collect();
        for name in all {
            let (in_a, in_b) = (of_a.get(name), of_b.get(name));
            let filter = in_b.or(in_a).map(|it: &NameMeasures| it.filter.clone()).unwrap_or_default();
            let one = |kind, a: MeasuredNumber, b: MeasuredNumber| ComparedName {
                kind,
                stream,
                name: name.clone(),
                filter: filter.clone(),
                a,
                b,
                difference: b.value - a.value,
                verdict: DifferenceVerdict::Untested,
            };
            let rate = |of: &StreamMeasures, name| of.name_rate(name, draws);
            let time = |of: &StreamMeasures, name| of.name_time(name, draws);
            match kind {
                NameKind::Process => found.push(one("process", rate(a, in_a), rate(b, in_b))),
                NameKind::Call => {
                    found.push(one("call", rate(a, in_a), rate(b, in_b)));
                    found.push(one("call_time", time(a, in_a), time(b, in_b)));
                }
            }
        }
    }
    found
}

/// Says what each difference is worth among all that are looked at together: numbers, and names.
fn judge_all(answer: &mut CaptureComparison) {
    let of_stream = |stream: &ComparedStream| {
        stream.numbers.len() + stream.columns.iter().map(|column| column.numbers.len()).sum::<usize>()
    };
    let tests = answer.streams.iter().map(of_stream).sum();
    for stream in &mut answer.streams {
        let columns = stream.columns.iter_mut().flat_map(|column| column.numbers.iter_mut());
        // Extremes and numbers of values say nothing of chance by themselves.
        let tested = |number: &ComparedNumber| number.what.starts_with('p');
        for number in stream.numbers.iter_mut().chain(columns.filter(|number| tested(number))) {
            (number.difference, number.error, number.verdict) = judge(&number.a, &number.b, tests);
        }
    }
    let tests = answer.names.len();
    for name in &mut answer.names {
        (name.difference, _, name.verdict) = judge(&name.a, &name.b, tests);
    }
    answer.names_compared = tests;
    answer.names_changed = answer.names.iter().filter(|name| name.verdict == DifferenceVerdict::BeyondChance).count();
    // By how many errors they differ: rates and times are in units of their own.
    let size = |name: &ComparedName| {
        let error = name.a.error.zip(name.b.error).map_or(f64::INFINITY, |(a, b)| a.hypot(b));
        (name.verdict == DifferenceVerdict::BeyondChance, name.difference.abs() / error)
    };
    answer.names.sort_by(|a, b| {
        let order = size(b).partial_cmp(&size(a)).unwrap_or(std::cmp::Ordering::Equal);
        order.then_with(|| (a.kind, &a.name, a.stream).cmp(&(b.kind, &b.name, b.stream)))
    });
    answer.names.truncate(MAX_NAMES);
}
