//! Histograms of a column's values, with percentiles, of all rows and by the most frequent values of another column.

use super::{
    ValueLimits,
    groups::{Groups, group_column, group_value},
    scale::{Buckets, ValueScale, extremes},
    shown,
    values::{Outside, ValueColumn},
};
use crate::{
    Cancel, Filter, Source, TimeRange, ViewError,
    answers::{Distribution, DistributionGroup},
    log_buckets::LogBuckets,
    range::word,
    scan::{Scan, schema_of},
    source::relative,
};

/// The most values of another column that have a histogram each.
pub const MAX_GROUPS: u32 = 10;
/// Which percentiles are told, in thousandths.
const PERMILLES: [u64; 7] = [250, 500, 750, 900, 950, 990, 999];

/// What is put into buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistributionQuery {
    /// The stream.
    pub stream: u16,
    /// A column of numbers; the one that rows are about if it is empty.
    pub column: String,
    /// When.
    pub range: TimeRange,
    /// Which rows.
    pub filter: Option<Filter>,
    /// Into which buckets.
    pub scale: ValueScale,
    /// Which values.
    pub limits: ValueLimits,
    /// The column whose most frequent values have a histogram each; none for all rows together only.
    pub by: Option<String>,
    /// How many of these, 1 to [`MAX_GROUPS`].
    pub groups: u32,
}

/// Values of some rows.
#[derive(Default)]
struct Sums {
    counts: Vec<u64>,
    rows: u64,
    /// Of keys.
    least: u64,
    most: u64,
    sum: i128,
    negative: LogBuckets,
    positive: LogBuckets,
}

impl Sums {
    fn new(buckets: usize) -> Self {
        Self { counts: vec![0; buckets], least: u64::MAX, ..Self::default() }
    }

    fn add(&mut self, (bucket, key): (usize, u64), value: i128) {
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.rows += 1;
        self.least = self.least.min(key);
        self.most = self.most.max(key);
        self.sum += value;
        let size = u64::try_from(value.unsigned_abs()).unwrap_or(u64::MAX);
        if value < 0 { self.negative.add(size) } else { self.positive.add(size) }
    }

    /// The values that so many thousandths of all are not greater than.
    fn percentiles(&self, column: &ValueColumn) -> Vec<(u64, i128)> {
        // Of numbers below 0 the largest are the least values.
        let mut steps: Vec<(i128, u64)> =
            self.negative.filled().map(|(low, wide, count)| (-i128::from(low + wide / 2), count)).collect();
        steps.reverse();
        steps.extend(self.positive.filled().map(|(low, wide, count)| (i128::from(low + wide / 2), count)));
        let (least, most) = (column.value(self.least), column.value(self.most));
        let mut found = Vec::new();
        let (mut before, mut steps) = (0_u128, steps.into_iter());
        let mut last = least;
        for permille in PERMILLES {
            let wanted = (u128::from(self.rows) * u128::from(permille)).div_ceil(1000).max(1);
            while before < wanted {
                let Some((value, count)) = steps.next() else { break };
                (before, last) = (before + u128::from(count), value);
            }
            found.push((permille, last.clamp(least, most)));
        }
        found
    }

    fn answer(self, column: &ValueColumn) -> DistributionGroup {
        if self.rows == 0 {
            return DistributionGroup { counts: self.counts, ..DistributionGroup::default() };
        }
        DistributionGroup {
            rows: self.rows,
            least: Some(shown(column.value(self.least))),
            most: Some(shown(column.value(self.most))),
            mean: self.sum as f64 / self.rows as f64,
            sum: self.sum as f64,
            percentiles: self.percentiles(column).into_iter().map(|(at, value)| (at, shown(value))).collect(),
            counts: self.counts,
            ..DistributionGroup::default()
        }
    }
}

/// How the values of a column are spread.
///
/// # Errors
/// If there is no such stream or column, a parameter is out of its limits, a chunk cannot be read, or `cancel` was set.
pub fn distribution(
    source: &dyn Source,
    query: &DistributionQuery,
    cancel: &Cancel,
) -> Result<Distribution, ViewError> {
    query.scale.check()?;
    if query.by.is_some() {
        ViewError::within("the number of values", query.groups.into(), 1, MAX_GROUPS.into())?;
    }
    let schema = schema_of(source, query.stream)?;
    let column = ValueColumn::of(source, schema, &query.column)?;
    let by = query.by.as_deref().map(|name| group_column(schema, name)).transpose()?;
    let taken = column.range(query.limits);
    let wanted: Vec<usize> = [column.index()].into_iter().chain(by).collect();
    let mut scan = Scan::new(source, query.stream, query.range, query.filter.as_ref(), &wanted, cancel)?;
    let about = (query.range, cancel);
    let (low, high) = (query.limits.low.map(shown), query.limits.high.map(shown));
    let mut answer = Distribution {
        of: column.of.clone(),
        start: relative(source.origin_ns(), query.range.start_ns),
        end: relative(source.origin_ns(), query.range.end_ns),
        low,
        high,
        by: query.by.clone().unwrap_or_default(),
        ..Distribution::default()
    };
    let groups = by.map(|by| Groups::of(&mut scan, (by, query.groups as usize), &column)).transpose()?;
    let found = extremes(&mut scan, &column, (taken, true), about)?;
    let buckets = Buckets::new(query.scale, &column, found.unwrap_or((0, 0)));
    let (first, last) = found.map_or((0, -1), |(first, last)| (buckets.index(first), buckets.index(last)));
    let many = usize::try_from(last - first + 1).unwrap_or(0);
    let mut all = Sums::new(many);
    let mut parts: Vec<Sums> = groups.iter().flat_map(|groups| &groups.top).map(|_| Sums::new(many)).collect();
    let mut outside = Outside::default();
    scan.for_each_hit(|hit| {
        answer.rows += hit.picked.len() as u64;
        answer.without += column.for_each(hit, |row, key| {
            if !taken.takes(key, &mut outside) {
                return;
            }
            let place = (usize::try_from(buckets.index(key) - first).unwrap_or(usize::MAX), key);
            let value = column.value(key);
            all.add(place, value);
            let group = groups.as_ref().and_then(|groups| groups.place(word(&hit.batch, groups.column, row)));
            if let Some(part) = group.and_then(|group| parts.get_mut(group)) {
                part.add(place, value);
            }
        });
        Ok(())
    })?;
    (answer.below, answer.above) = (outside.below, outside.above);
    answer.buckets = (first..=last).map(|index| buckets.limits(index)).map(|(a, b)| (shown(a), shown(b))).collect();
    answer.all = all.answer(&column);
    if let Some(groups) = groups {
        (answer.more_groups, answer.is_cut) = (groups.more, groups.is_cut);
        for (word, sums) in groups.top.iter().zip(parts) {
            let (value, filter) = group_value(source, schema, (groups.column, *word));
            answer.groups.push(DistributionGroup { value: Some(value), filter, ..sums.answer(&column) });
        }
    }
    Ok(answer)
}
