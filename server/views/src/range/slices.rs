//! Slices by name: how many, how long, how long themselves.

use std::collections::HashMap;

use bathyscope_capture::{CompareOp, Literal, Predicate, RowKind, StreamSchema, TrackName, TrackRow, TrackRule};

use super::{
    RangeQuery,
    durations::Durations,
    groups::RangeGroups,
    is_latency,
    marked::MarkedTracks,
    overlap::{OverlapScan, inside_ns},
    timed_streams,
};
use crate::{
    Cancel, Source, ViewError,
    answers::{RangeSlice, RangeSlices, SlicedStream},
    source::relative,
    tracks::{name_label, track_key},
};

/// The most names; rows of further ones are the rest.
const MAX_NAMES: usize = 1 << 12;
/// The most tracks whose nesting is followed at once. Beyond, times of children are not taken from those of parents.
const MAX_NESTED: usize = 1 << 18;

#[derive(Clone, Debug, Default)]
struct SliceSums {
    durations: Durations,
    /// Within the range, without the slices inside.
    own_ns: u64,
}

/// How long slices by name took, those that took most of the range first.
///
/// # Errors
/// If a track does not exist, a chunk cannot be read, or `cancel` was set.
pub fn range_slices(source: &dyn Source, query: &RangeQuery, cancel: &Cancel) -> Result<RangeSlices, ViewError> {
    let marked = MarkedTracks::of(source, &query.tracks)?;
    let mut names: RangeGroups<(u16, TrackName), SliceSums> = RangeGroups::new(MAX_NAMES);
    let mut streams = Vec::new();
    let is_slices =
        |schema: &StreamSchema| matches!(schema.meaning().kind, RowKind::Slice { .. }) && !is_latency(schema);
    for (stream, schema, rule) in timed_streams(source, is_slices) {
        streams.push(told(stream, schema, &rule));
        let zero_is_none = schema.zero_is_none(rule.duration_column());
        let scan = OverlapScan { source, stream, rule: &rule, range: query.range, more: &[], cancel };
        let mut nesting = Nesting::default();
        scan.for_each_chunk(|_, rows| {
            for (_, row) in rows {
                let inside_ns = inside_ns(row, query.range);
                // Children count whether their track is marked or not, since their parents' tracks are the same.
                let own_ns = nesting.own_ns(row, inside_ns);
                if !marked.has_row(stream, row) {
                    continue;
                }
                if let Some(sums) = names.of((stream, row.name), inside_ns) {
                    match zero_is_none && row.entry.duration_ns() == 0 {
                        true => sums.durations.add_without(),
                        false => sums.durations.add(row, inside_ns),
                    }
                    sums.own_ns += own_ns;
                }
            }
            Ok(())
        })?;
    }
    let (lines, rest) =
        names.greatest(|sums| sums.durations.time_ns, |sums| (sums.durations.count, sums.durations.time_ns));
    let origin = source.origin_ns();
    let slice = |((stream, name), sums): ((u16, TrackName), SliceSums)| RangeSlice {
        stream,
        name: name_label(source, stream, name).text,
        filter: filter_of(source, stream, name),
        key: track_key(source, stream, sums.durations.longest_key),
        own: sums.own_ns,
        durations: sums.durations.answer(origin),
    };
    Ok(RangeSlices {
        start: relative(origin, query.range.start_ns),
        end: relative(origin, query.range.end_ns),
        streams,
        slices: lines.into_iter().map(slice).collect(),
        rest,
    })
}

fn told(stream: u16, schema: &StreamSchema, rule: &TrackRule) -> SlicedStream {
    let name = |column: usize| schema.columns.get(column).map(|column| column.name.clone()).unwrap_or_default();
    SlicedStream {
        stream,
        column: rule.text_column().or(rule.number_column()).map(name).unwrap_or_default(),
        duration: name(rule.duration_column()),
        is_end: rule.span_ns(1, 1).0 == 0,
    }
}

/// How long slices are nested that have not ended yet: slices come in the order of their ends, so the children of one are all
/// there when it comes.
#[derive(Debug, Default)]
struct Nesting {
    /// By track: how long slices of each depth took since the last of the depth above.
    inside_ns: HashMap<u64, Vec<u64>>,
}

impl Nesting {
    /// How much of a slice's time is not that of slices inside.
    fn own_ns(&mut self, row: &TrackRow, inside_ns: u64) -> u64 {
        let Some(depth) = row.depth.and_then(|depth| usize::try_from(depth).ok()).filter(|depth| *depth < 1024) else {
            return inside_ns;
        };
        if self.inside_ns.len() >= MAX_NESTED && !self.inside_ns.contains_key(&row.key) {
            return inside_ns;
        }
        let depths = self.inside_ns.entry(row.key).or_default();
        if depths.len() < depth + 2 {
            depths.resize(depth + 2, 0);
        }
        let children_ns = depths.get_mut(depth + 1).map(std::mem::take).unwrap_or_default();
        // What is deeper and has not been taken has no parent in the range.
        depths.truncate(depth + 2);
        if let Some(own) = depths.get_mut(depth) {
            *own += inside_ns;
        }
        inside_ns.saturating_sub(children_ns)
    }
}

/// The filter that finds rows of a stream with this name; empty where nothing tells them apart.
fn filter_of(source: &dyn Source, stream: u16, name: TrackName) -> String {
    let schema = source.streams().get(usize::from(stream));
    let Some((schema, rule)) = schema.and_then(|schema| Some((schema, TrackRule::of(schema)?))) else {
        return String::new();
    };
    let field = |column: usize| schema.columns.get(column).map(|column| column.name.clone());
    let value = source.dictionaries().text(name.text).and_then(|text| std::str::from_utf8(text).ok());
    let compared = match (rule.text_column().and_then(field), rule.number_column().and_then(field)) {
        (Some(field), _) => value.map(|text| (field, Literal::Text(text.to_owned()))),
        (None, Some(field)) => Some((field, Literal::Number(name.number))),
        (None, None) => None,
    };
    compared
        .map_or_else(String::new, |(field, value)| Predicate::Compare { field, op: CompareOp::Eq, value }.to_string())
}
