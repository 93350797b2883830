//! What is kept of each group, column by column, so that the loop over rows of a chunk is the same for all of them.

use bathyscope_capture::{Batch, ColumnData, ColumnType, StreamSchema};

use super::Aggregate;
use crate::{hash::IdMap, log_buckets::LogScale, scan::bits};

/// How many numbers of percentiles, and how many distinct values, are kept of all groups together.
const MAX_KEPT: usize = 1 << 22;

/// What is kept so far.
#[derive(Debug, Default)]
pub(super) struct KeptCount {
    kept: usize,
}

impl KeptCount {
    fn take(&mut self) -> bool {
        let has_room = self.kept < MAX_KEPT;
        self.kept += usize::from(has_room);
        has_room
    }
}

/// One value of all groups.
pub(super) struct Held {
    column: Option<usize>,
    ty: Option<ColumnType>,
    /// Whether rows with 0 have no value.
    zero_is_none: bool,
    /// Rows that have no number in the column.
    pub(super) without: u64,
    kept: HeldValues,
    /// Whether room ran out.
    pub(super) is_rough: bool,
}

enum HeldValues {
    Count(Vec<u64>),
    /// Sum and count.
    Sum(Vec<(i128, u64)>),
    Mean(Vec<(i128, u64)>),
    Min(Vec<Option<i128>>),
    Max(Vec<Option<i128>>),
    /// The numbers of each group, or how many there are in each bin.
    Percentile(GroupNumbers, u32),
    /// The number of distinct values of each group, and the values with their groups.
    Distinct(Vec<u64>, IdMap<(u32, u64), ()>),
    First(Vec<Option<u64>>),
    Last(Vec<Option<u64>>),
}

enum GroupNumbers {
    Each(Vec<Vec<i128>>),
    Binned(Vec<NumberBins>),
    /// Bins in order, once nothing is added any more.
    Counted(Vec<Vec<(i128, u64)>>),
}

/// How many numbers are in each bin.
#[derive(Clone, Debug, Default)]
struct NumberBins(IdMap<u64, (i128, u64)>);

impl NumberBins {
    fn add(&mut self, number: i128) {
        let bin = binned(number);
        // A column has numbers with or without a sign, so the low bits tell bins apart.
        self.0.entry(bin as u64).or_insert((bin, 0)).1 += 1;
    }

    fn in_order(&self) -> Vec<(i128, u64)> {
        let mut bins: Vec<(i128, u64)> = self.0.values().copied().collect();
        bins.sort_unstable();
        bins
    }
}

/// The greatest number of a number's bin, of which each doubling has 64: at most 1.6 % more.
fn binned(number: i128) -> i128 {
    const FINE: LogScale = LogScale { bits: 6 };
    FINE.signed_ends(FINE.signed_index(number)).1
}

impl GroupNumbers {
    /// From now on numbers are counted in bins.
    fn bin(&mut self) {
        let Self::Each(each) = self else { return };
        let bins = each.iter().map(|numbers| {
            let mut bins = NumberBins::default();
            numbers.iter().for_each(|number| bins.add(*number));
            bins
        });
        *self = Self::Binned(bins.collect());
    }

    /// Puts them in order, when all are there.
    fn close(&mut self) {
        match self {
            Self::Each(each) => each.iter_mut().for_each(|numbers| numbers.sort_unstable()),
            Self::Binned(bins) => *self = Self::Counted(bins.iter().map(NumberBins::in_order).collect()),
            Self::Counted(_) => {}
        }
    }
}

/// What a group's value is.
pub(super) enum Value {
    Missing,
    Number(i128),
    Real(f64),
    /// The bits of a value of the column.
    Bits(u64),
}

impl Held {
    pub(super) fn new(schema: &StreamSchema, value: &Aggregate, column: Option<usize>) -> Self {
        let ty = column.and_then(|column| schema.columns.get(column)).map(|column| column.ty);
        let kept = match value {
            Aggregate::Count => HeldValues::Count(Vec::new()),
            Aggregate::Sum(_) => HeldValues::Sum(Vec::new()),
            Aggregate::Mean(_) => HeldValues::Mean(Vec::new()),
            Aggregate::Min(_) => HeldValues::Min(Vec::new()),
            Aggregate::Max(_) => HeldValues::Max(Vec::new()),
            Aggregate::Percentile(_, thousandths) => {
                HeldValues::Percentile(GroupNumbers::Each(Vec::new()), *thousandths)
            }
            Aggregate::Distinct(_) => HeldValues::Distinct(Vec::new(), IdMap::default()),
            Aggregate::First(_) => HeldValues::First(Vec::new()),
            Aggregate::Last(_) => HeldValues::Last(Vec::new()),
        };
        let zero_is_none = column.is_some_and(|column| schema.zero_is_none(column));
        Self { column, ty, zero_is_none, without: 0, kept, is_rough: false }
    }

    /// Adds rows of a chunk, each with the number of its group; there are `groups` of these.
    pub(super) fn add(&mut self, rows: &[(u32, u32)], groups: usize, batch: &Batch, room: &mut KeptCount) {
        let data = self.column.and_then(|column| batch.columns.get(column));
        let zero_is_none = self.zero_is_none || matches!(data, Some(ColumnData::Id(_)));
        let with_value: Vec<(u32, u32)>;
        let mut rows = rows;
        if self.zero_is_none {
            let has_value = |(_, row): &&(u32, u32)| bits(data, *row as usize) != 0;
            let all = rows;
            with_value = all.iter().filter(has_value).copied().collect();
            self.without += (all.len() - with_value.len()) as u64;
            // The first and the last row of a group may be without a value, which is told then.
            if !matches!(self.kept, HeldValues::First(_) | HeldValues::Last(_)) {
                rows = &with_value;
            }
        }
        match &mut self.kept {
            HeldValues::Count(counts) => each(counts, groups, rows, |count, _| *count += 1),
            HeldValues::Sum(sums) | HeldValues::Mean(sums) => {
                numbers(sums, groups, rows, data, |(sum, count), number| {
                    *sum += number;
                    *count += 1;
                })
            }
            HeldValues::Min(least) => numbers(least, groups, rows, data, |least, number| {
                *least = Some(least.map_or(number, |least| least.min(number)));
            }),
            HeldValues::Max(most) => numbers(most, groups, rows, data, |most, number| {
                *most = Some(most.map_or(number, |most| most.max(number)));
            }),
            HeldValues::Percentile(kept, _) => percentile(kept, (groups, rows, data), room, &mut self.is_rough),
            HeldValues::Distinct(counts, seen) => {
                counts.resize(groups.max(counts.len()), 0);
                for (group, row) in rows {
                    let value = bits(data, *row as usize);
                    if (zero_is_none && value == 0) || seen.contains_key(&(*group, value)) {
                        continue;
                    }
                    if !room.take() {
                        self.is_rough = true;
                        continue;
                    }
                    seen.insert((*group, value), ());
                    if let Some(count) = counts.get_mut(*group as usize) {
                        *count += 1;
                    }
                }
            }
            HeldValues::First(first) => each(first, groups, rows, |first, row| {
                first.get_or_insert_with(|| bits(data, row));
            }),
            HeldValues::Last(last) => each(last, groups, rows, |last, row| *last = Some(bits(data, row))),
        }
    }

    /// The value of a group.
    pub(super) fn value(&self, group: usize) -> Value {
        let number = |number: Option<i128>| number.map_or(Value::Missing, Value::Number);
        match &self.kept {
            HeldValues::Count(counts) | HeldValues::Distinct(counts, _) => {
                Value::Number(counts.get(group).copied().map_or(0, i128::from))
            }
            HeldValues::Sum(sums) => number(sums.get(group).filter(|(_, count)| *count > 0).map(|(sum, _)| *sum)),
            HeldValues::Mean(sums) => match sums.get(group).filter(|(_, count)| *count > 0) {
                Some((sum, count)) => Value::Real(*sum as f64 / *count as f64),
                None => Value::Missing,
            },
            HeldValues::Min(all) | HeldValues::Max(all) => number(all.get(group).copied().flatten()),
            HeldValues::Percentile(numbers, thousandths) => number(nth(numbers, group, *thousandths)),
            HeldValues::First(all) | HeldValues::Last(all) => match all.get(group).copied().flatten() {
                Some(0) if self.zero_is_none || matches!(self.ty, Some(ColumnType::Text | ColumnType::Stack)) => {
                    Value::Missing
                }
                Some(bits) => Value::Bits(bits),
                None => Value::Missing,
            },
        }
    }

    /// The same as a number to draw; none where it is none or has no rows.
    pub(super) fn number(&self, group: usize) -> Option<f64> {
        match self.value(group) {
            Value::Number(0) if matches!(self.kept, HeldValues::Count(_) | HeldValues::Distinct(..)) => None,
            Value::Number(number) => Some(number as f64),
            Value::Real(number) => Some(number),
            Value::Bits(bits) => match self.ty {
                Some(ColumnType::U64) => Some(bits as f64),
                Some(ColumnType::I64) => Some(bits.cast_signed() as f64),
                _ => None,
            },
            Value::Missing => None,
        }
    }

    /// Makes what is asked of each group quick to tell.
    pub(super) fn close(&mut self) {
        if let HeldValues::Percentile(numbers, _) = &mut self.kept {
            numbers.close();
        }
    }
}

fn each<T: Clone + Default>(kept: &mut Vec<T>, groups: usize, rows: &[(u32, u32)], mut add: impl FnMut(&mut T, usize)) {
    kept.resize(groups.max(kept.len()), T::default());
    for (group, row) in rows {
        if let Some(kept) = kept.get_mut(*group as usize) {
            add(kept, *row as usize);
        }
    }
}

/// The same with the number that each row has in a column.
fn numbers<T: Clone + Default>(
    kept: &mut Vec<T>,
    groups: usize,
    rows: &[(u32, u32)],
    data: Option<&ColumnData>,
    mut add: impl FnMut(&mut T, i128),
) {
    match data {
        Some(ColumnData::U64(values)) => each(kept, groups, rows, |kept, row| {
            if let Some(value) = values.get(row) {
                add(kept, i128::from(*value));
            }
        }),
        Some(ColumnData::I64(values)) => each(kept, groups, rows, |kept, row| {
            if let Some(value) = values.get(row) {
                add(kept, i128::from(*value));
            }
        }),
        Some(ColumnData::Id(_)) | None => {}
    }
}

fn percentile(
    kept: &mut GroupNumbers,
    (groups, rows, data): (usize, &[(u32, u32)], Option<&ColumnData>),
    room: &mut KeptCount,
    is_rough: &mut bool,
) {
    if room.kept + rows.len() > MAX_KEPT {
        *is_rough = true;
        kept.bin();
    }
    match kept {
        GroupNumbers::Each(each) => {
            room.kept += rows.len();
            numbers(each, groups, rows, data, |numbers: &mut Vec<i128>, number| numbers.push(number));
        }
        GroupNumbers::Binned(bins) => numbers(bins, groups, rows, data, NumberBins::add),
        // Rows come before it is closed.
        GroupNumbers::Counted(_) => {}
    }
}

/// The least number that at least so many thousandths of a percent do not exceed.
fn nth(numbers: &GroupNumbers, group: usize, thousandths: u32) -> Option<i128> {
    let rank = |count: u64| (u128::from(count) * u128::from(thousandths)).div_ceil(100_000).max(1);
    match numbers {
        GroupNumbers::Each(each) => {
            let numbers = each.get(group).filter(|numbers| !numbers.is_empty())?;
            numbers.get(usize::try_from(rank(numbers.len() as u64) - 1).ok()?).copied()
        }
        // It is closed before it is asked.
        GroupNumbers::Binned(_) => None,
        GroupNumbers::Counted(bins) => {
            let bins = bins.get(group)?;
            let rank = rank(bins.iter().map(|(_, count)| count).sum());
            let mut below = 0_u128;
            bins.iter()
                .find(|(_, count)| {
                    below += u128::from(*count);
                    below >= rank
                })
                .map(|(number, _)| *number)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rough_percentiles_are_a_little_more() {
        let mut numbers: Vec<i128> = (0..5000_i128).map(|i| (i * 7919 % 10_007 - 2000).pow(3)).collect();
        let mut rough = GroupNumbers::Each(vec![numbers.clone()]);
        rough.bin();
        numbers.sort_unstable();
        rough.close();
        for thousandths in [1_u32, 1000, 50_000, 99_000, 99_950, 100_000] {
            let exact = numbers[(5000 * thousandths).div_ceil(100_000) as usize - 1];
            let found = nth(&rough, 0, thousandths).unwrap();
            assert!(found >= exact && found - exact <= exact.abs() / 63, "{thousandths}: {exact} {found}");
        }
    }

    #[test]
    fn rough_numbers_are_a_little_more() {
        for number in [0, 1, 63, 64, 127, 128, 1000, 1 << 40, -1, -5, -1000, i128::from(u64::MAX)] {
            let rough = binned(number);
            assert!(rough >= number && rough - number <= number.abs() / 63, "{number} {rough}");
        }
    }
}
