//! Which readings of a map a view is of, and what came in between two of them.

use std::collections::HashMap;

use bathyscope_capture::{ColumnType, ShownCell, StreamSchema};

use super::{MapShape, SnapshotInfo, snapshots};
use crate::{
    Cancel, Source, TimeRange, ViewError,
    answers::{At, KeyId, MapKind},
    cell::cells,
    scan::schema_of,
};

/// The most elements whose values are compared between readings.
const MAX_COMPARED: usize = 1 << 20;

/// Which part of a map's history a view is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Period {
    /// The last reading: of all that came in.
    #[default]
    Last,
    /// The reading of this number.
    Snapshot(u64),
    /// What came in within a range; of values that do not add up, what was there at its end.
    Range(TimeRange),
}

impl Period {
    /// The range, or all time.
    pub(super) fn range(self) -> TimeRange {
        if let Self::Range(range) = self { range } else { TimeRange::ALL }
    }
}

/// The readings that a period stands for; never none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Readings {
    /// Those whose values are added: one, or where the script empties the map itself all of the range.
    shown: Vec<SnapshotInfo>,
    /// The one before, whose values are subtracted.
    before: Option<SnapshotInfo>,
}

/// Whether values of two readings can be added and subtracted.
pub(super) fn adds_up(kind: MapKind) -> bool {
    matches!(kind, MapKind::Histogram | MapKind::Count | MapKind::Sum | MapKind::Stats)
}

impl Readings {
    /// Finds them; none if there is none.
    pub(super) fn of(
        source: &dyn Source,
        shape: &MapShape,
        period: Period,
        cancel: &Cancel,
    ) -> Result<Option<Self>, ViewError> {
        let all = snapshots(source, shape, cancel)?;
        let one = |info: Option<&SnapshotInfo>| info.map(|info| Self { shown: vec![*info], before: None });
        match period {
            Period::Last => Ok(one(all.last())),
            Period::Snapshot(number) => match all.iter().find(|info| info.number == number) {
                Some(found) => Ok(one(Some(found))),
                None => {
                    let (least, most) = all.first().zip(all.last()).map_or((0, 0), |(a, b)| (a.number, b.number));
                    Err(ViewError::OutOfRange { what: "the number of the snapshot", value: number, least, most })
                }
            },
            Period::Range(range) => {
                let ended = || all.iter().take_while(|info| info.time_ns < range.end_ns);
                if !adds_up(shape.kind) {
                    return Ok(one(ended().last()));
                }
                if shape.resets {
                    let shown: Vec<SnapshotInfo> =
                        ended().filter(|info| info.time_ns >= range.start_ns).copied().collect();
                    return Ok((!shown.is_empty()).then_some(Self { shown, before: None }));
                }
                let before = ended().take_while(|info| info.time_ns <= range.start_ns).last().copied();
                let last = ended().last().copied();
                // Nothing was read within the range, so nothing can be said of it.
                Ok(last.filter(|last| before != Some(*last)).map(|last| Self { shown: vec![last], before }))
            }
        }
    }

    /// The last of them.
    pub(super) fn at(&self, source: &dyn Source) -> Option<At> {
        self.shown.last().map(|info| info.at(source))
    }

    /// The one that is subtracted.
    pub(super) fn since(&self, source: &dyn Source) -> Option<At> {
        self.before.map(|info| info.at(source))
    }

    /// Gives every row to `each`, as the cells of all its columns: as it was read, or what came in.
    ///
    /// # Errors
    /// If a chunk cannot be loaded, there are too many elements to compare, or `cancel` was set.
    pub(super) fn each(
        &self,
        source: &dyn Source,
        shape: &MapShape,
        cancel: &Cancel,
        each: &mut dyn FnMut(KeyId, Vec<ShownCell>),
    ) -> Result<(), ViewError> {
        let mut changes = Changes::new(shape, schema_of(source, shape.stream)?);
        let compared = self.shown.len() > 1 || self.before.is_some();
        for (info, is_before) in
            self.shown.iter().map(|info| (info, false)).chain(self.before.iter().map(|it| (it, true)))
        {
            shape.each(source, info, cancel, &mut |schema, batch, row| {
                let key = shape.key_id(batch, row);
                let row = cells(source.dictionaries(), schema, batch, row, source.origin_ns());
                if compared { changes.add(key, row, is_before) } else { each(key, row) }
            })?;
        }
        changes.finish(each)
    }
}

/// The numbers of elements in the readings that are compared.
struct Changes<'a> {
    shape: &'a MapShape,
    /// Columns with numbers that add up.
    numbers: Vec<usize>,
    /// Whether a sum can become less by itself.
    falls: bool,
    places: HashMap<(KeyId, Option<(i128, i128)>), usize>,
    rows: Vec<Change>,
    too_many: bool,
}

struct Change {
    key: KeyId,
    cells: Vec<ShownCell>,
    now: Vec<i128>,
    before: Vec<i128>,
}

impl<'a> Changes<'a> {
    fn new(shape: &'a MapShape, schema: &StreamSchema) -> Self {
        let numbers: Vec<usize> = match shape.kind {
            // Limits tell a bucket, and an average is made anew.
            MapKind::Histogram => shape.value.iter().skip(2).copied().collect(),
            MapKind::Stats => shape.value.iter().step_by(2).copied().collect(),
            _ => shape.value.clone(),
        };
        let signed = |index: &usize| schema.columns.get(*index).is_some_and(|column| column.ty == ColumnType::I64);
        let falls = shape.kind == MapKind::Sum && numbers.iter().any(signed);
        Self { shape, numbers, falls, places: HashMap::new(), rows: Vec::new(), too_many: false }
    }

    fn add(&mut self, key: KeyId, cells: Vec<ShownCell>, is_before: bool) {
        let limit = |place: usize| match self.shape.value.get(place).and_then(|column| cells.get(*column)) {
            Some(ShownCell::Number(number)) => Some(*number),
            _ => None,
        };
        let limits = if self.shape.kind == MapKind::Histogram { limit(0).zip(limit(1)) } else { None };
        let next = self.rows.len();
        let place = match self.places.get(&(key, limits)) {
            Some(place) => *place,
            None if next >= MAX_COMPARED => {
                self.too_many = true;
                return;
            }
            None => {
                let none = || vec![0; self.numbers.len()];
                self.rows.push(Change { key, cells: cells.clone(), now: none(), before: none() });
                self.places.insert((key, limits), next);
                next
            }
        };
        let Some(change) = self.rows.get_mut(place) else { return };
        let sums = if is_before { &mut change.before } else { &mut change.now };
        for (sum, column) in sums.iter_mut().zip(&self.numbers) {
            if let Some(ShownCell::Number(number)) = cells.get(*column) {
                *sum = sum.saturating_add(*number);
            }
        }
    }

    fn finish(self, each: &mut dyn FnMut(KeyId, Vec<ShownCell>)) -> Result<(), ViewError> {
        if self.too_many {
            let (what, value) = ("the number of elements of a map that are compared", MAX_COMPARED as u64 + 1);
            return Err(ViewError::OutOfRange { what, value, least: 0, most: MAX_COMPARED as u64 });
        }
        for Change { key, mut cells, now, before } in self.rows {
            // Less than before: the element was taken out in between, and what is there came in since.
            let fell = !self.falls && now.first() < before.first();
            let came: Vec<i128> =
                now.iter().zip(&before).map(|(now, before)| if fell { *now } else { now - before }).collect();
            if came.iter().all(|number| *number == 0) {
                continue;
            }
            for (column, number) in self.numbers.iter().zip(&came) {
                set(&mut cells, *column, *number);
            }
            if let (MapKind::Stats, [count, total]) = (self.shape.kind, came.as_slice())
                && let Some(average) = self.shape.value.get(1)
            {
                set(&mut cells, *average, total.checked_div(*count).unwrap_or(0));
            }
            each(key, cells);
        }
        Ok(())
    }
}

fn set(cells: &mut [ShownCell], column: usize, number: i128) {
    if let Some(cell) = cells.get_mut(column) {
        *cell = ShownCell::Number(number);
    }
}
