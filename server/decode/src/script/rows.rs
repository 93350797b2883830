//! Records and maps as rows of a capture's streams.
//!
//! A site is a stream: the common columns, then one for each field; tuples, records and structs are taken apart. A map is
//! a stream of its snapshots: the common columns (only the time is set), `snapshot` (its number), the parts of the key, and
//! what the value is: for a histogram a row for each bucket with `low`, `high` and `count`.

use bathyscope_capture::{Cell, Column, ColumnType, Display, Row, StreamKind, StreamSchema, column_name_of_field};
use bathyscope_plan::{Action, Aggregation, Clock, MapPlan, Plan, Shown, Site, Type};

use super::{
    Aggregated, Entry, Names, Record, Snapshot, Value, aggregate, histogram,
    text::{Context, INDENT, part_types},
};

/// The most columns of a stream, the common ones among them. Values with more parts stay whole, as text.
pub const MAX_COLUMNS: usize = 128;

/// A stack of a script, in the maps that the script keeps stacks in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptStack {
    /// Whether of user space.
    pub user: bool,
    /// Its id; 0 for none.
    pub id: u64,
    /// The process, for user stacks.
    pub pid: u32,
}

/// A row of a script: texts are bytes, stacks have no id in the capture yet.
pub type ScriptRow = Row<Vec<u8>, ScriptStack>;

type ScriptCell = Cell<Vec<u8>, ScriptStack>;

/// A column's value inside a composed one.
#[derive(Clone, Debug)]
struct Leaf {
    name: String,
    ty: Type,
    path: Vec<usize>,
}

/// Makes rows of a site's records.
#[derive(Clone, Debug)]
pub struct SiteRows {
    schema: StreamSchema,
    leaves: Vec<Leaf>,
}

impl SiteRows {
    /// The stream called `name` of a site; none if its records are no rows, such as those of `clear`.
    pub fn new(name: &str, site: &Site) -> Option<Self> {
        let is_rows = matches!(
            site.action,
            Action::Print { .. } | Action::PrintValue | Action::PrintElement { .. } | Action::Join { .. }
        );
        if !is_rows {
            return None;
        }
        let fields = site.fields.iter().map(|field| (column_name_of_field(&field.name), &field.ty));
        let leaves = leaves(fields, MAX_COLUMNS - StreamSchema::COMMON.len());
        let schema = StreamSchema::new(name, StreamKind::Events, leaves.iter().map(column));
        Some(Self { schema, leaves })
    }

    /// Its columns.
    pub fn schema(&self) -> &StreamSchema {
        &self.schema
    }

    /// The row of a record: a cell for each column.
    pub fn row(&self, record: &Record, plan: &Plan, names: &dyn Names) -> ScriptRow {
        let context = Context { plan, names, indent: INDENT, raw: true, is_compact: false };
        let mut row = Row::common(record.time_ns, record.cpu, [record.pid, record.tid], record.comm.clone());
        row.cells.extend(self.leaves.iter().map(|leaf| leaf.cell(&record.values, &context)));
        row
    }
}

/// Makes rows of a map's snapshots.
#[derive(Clone, Debug)]
pub struct MapRows {
    schema: StreamSchema,
    key: Vec<Leaf>,
    value: Vec<Leaf>,
}

impl MapRows {
    /// The stream of a map, called as it is.
    pub fn new(map: &MapPlan) -> Self {
        let room = MAX_COLUMNS - StreamSchema::COMMON.len() - 1 - 3;
        let named = |(index, ty)| (if map.key.len() == 1 { "key".to_owned() } else { format!("key{index}") }, ty);
        let key = leaves(map.key.iter().enumerate().map(named), room);
        let value = match map.aggregation() {
            Some(_) => Vec::new(),
            None => leaves([("value".to_owned(), &map.value)].into_iter(), room - key.len().min(room - 1)),
        };
        let number = |name: &str, ty| Column { name: name.to_owned(), ty, display: Display::Decimal };
        let own = [number("snapshot", ColumnType::U64)]
            .into_iter()
            .chain(key.iter().map(column))
            .chain(map.aggregation().map(aggregate_columns).unwrap_or_default())
            .chain(value.iter().map(column));
        Self { schema: StreamSchema::new(&map.name, StreamKind::Events, own), key, value }
    }

    /// Its columns.
    pub fn schema(&self) -> &StreamSchema {
        &self.schema
    }

    /// The rows of the `number`-th snapshot, taken at `time_ns`: each a cell for each column.
    pub fn rows(
        &self,
        map: &MapPlan,
        snapshot: &Snapshot,
        (number, time_ns): (u64, u64),
        plan: &Plan,
        names: &dyn Names,
    ) -> Vec<ScriptRow> {
        let context = Context { plan, names, indent: INDENT, raw: true, is_compact: false };
        let mut rows = Vec::new();
        for Entry { key, value } in &snapshot.entries {
            let mut head: ScriptRow = Row::common(time_ns, 0, [0, 0], Vec::new());
            head.cells.push(Cell::U64(number));
            head.cells.extend(self.key.iter().map(|leaf| leaf.cell(key, &context)));
            let tails = match (map.aggregation(), value) {
                (Some(aggregation), Value::Aggregate(aggregated)) => aggregate_cells(aggregation, aggregated),
                _ => {
                    let value = std::slice::from_ref(value);
                    vec![self.value.iter().map(|leaf| leaf.cell(value, &context)).collect()]
                }
            };
            rows.extend(tails.into_iter().map(|tail| Row { cells: head.cells.iter().cloned().chain(tail).collect() }));
        }
        rows
    }
}

/// The columns of these values, at most `room` where that is possible at all: whatever has too many parts stays whole.
fn leaves<'a>(fields: impl Iterator<Item = (String, &'a Type)>, room: usize) -> Vec<Leaf> {
    let whole: Vec<Leaf> =
        fields.enumerate().map(|(index, (name, ty))| Leaf { name, ty: ty.clone(), path: vec![index] }).collect();
    let mut used = whole.len();
    let mut all = Vec::new();
    for leaf in whole {
        let parts = leaf.parts(0);
        if used + parts.len() <= room + 1 {
            used += parts.len() - 1;
            all.extend(parts);
        } else {
            all.push(leaf);
        }
    }
    all.truncate(room);
    all
}

/// The deepest nesting that is taken apart.
const MAX_DEPTH: u32 = 4;

impl Leaf {
    fn parts(&self, depth: u32) -> Vec<Self> {
        let composed = matches!(self.ty, Type::Tuple(_) | Type::Record(_) | Type::Struct(_));
        if !composed || depth == MAX_DEPTH {
            return vec![self.clone()];
        }
        let part = |(index, (name, part)): (usize, (&str, super::text::Part<'_>))| {
            let name = if name.is_empty() { index.to_string() } else { name.to_owned() };
            let path = self.path.iter().copied().chain([index]).collect();
            Self { name: format!("{}.{name}", self.name), ty: part.ty().clone(), path }.parts(depth + 1)
        };
        let parts: Vec<Self> = part_types(&self.ty).enumerate().flat_map(part).collect();
        if parts.is_empty() { vec![self.clone()] } else { parts }
    }

    fn cell(&self, values: &[Value], context: &Context<'_>) -> ScriptCell {
        let (first, rest) = self.path.split_first().map_or((0, [].as_slice()), |(first, rest)| (*first, rest));
        let top = values.get(first).unwrap_or(&Value::None);
        let value = rest.iter().fold(top, |value, index| value.parts().get(*index).unwrap_or(&Value::None));
        let number = value.number().unwrap_or(0);
        match (kept_as(&self.ty).0, &self.ty) {
            (ColumnType::U64, _) => Cell::U64(number as u64),
            (ColumnType::I64, _) => Cell::I64(number as i64),
            (ColumnType::Stack, ty) => match value {
                Value::Stack { id, pid } => {
                    let user = matches!(ty, Type::Stack { user: true, .. });
                    Cell::Stack(ScriptStack { user, id: *id, pid: *pid })
                }
                _ => Cell::Null,
            },
            (ColumnType::Text, ty) => match value {
                Value::Text(text) | Value::Buffer(text) => Cell::Text(text.clone()),
                Value::None => Cell::Text(Vec::new()),
                value => Cell::Text(context.value(ty, value)),
            },
        }
    }
}

fn column(leaf: &Leaf) -> Column {
    let (ty, display) = kept_as(&leaf.ty);
    Column { name: leaf.name.clone(), ty, display }
}

fn kept_as(ty: &Type) -> (ColumnType, Display) {
    match ty {
        Type::Integer { signed: true, .. } => (ColumnType::I64, Display::Decimal),
        Type::Integer { signed: false, .. } | Type::Bool => (ColumnType::U64, Display::Decimal),
        Type::Pointer { .. } => (ColumnType::U64, Display::Hex),
        Type::Stack { .. } => (ColumnType::Stack, Display::Text),
        Type::Shown(Shown::Time { clock: Clock::Monotonic, .. }) => (ColumnType::U64, Display::TimeNs),
        _ => (ColumnType::Text, Display::Text),
    }
}

pub(super) fn aggregate_columns(aggregation: &Aggregation) -> Vec<Column> {
    let column = |name: &str, ty, display| Column { name: name.to_owned(), ty, display };
    let number = |name: &str, signed: bool| {
        column(name, if signed { ColumnType::I64 } else { ColumnType::U64 }, Display::Decimal)
    };
    match aggregation {
        Aggregation::Count => vec![number("count", false)],
        Aggregation::Sum { signed } => vec![number("sum", *signed)],
        Aggregation::Min { signed } => vec![number("min", *signed)],
        Aggregation::Max { signed } => vec![number("max", *signed)],
        Aggregation::Average { signed } => vec![number("average", *signed)],
        Aggregation::Stats { signed } => {
            vec![number("count", false), number("average", *signed), number("total", *signed)]
        }
        Aggregation::Hist { .. } | Aggregation::LinearHist { .. } => {
            vec![number("low", true), number("high", true), number("count", false)]
        }
        Aggregation::TimeSeries { signed, .. } => {
            vec![column("begin", ColumnType::U64, Display::TimeNs), number("value", *signed)]
        }
    }
}

/// As the column wants it; what does not fit is cut to the nearest number that does.
fn number_cell(signed: bool, number: i128) -> ScriptCell {
    if signed {
        Cell::I64(i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX }))
    } else {
        Cell::U64(u64::try_from(number).unwrap_or(if number < 0 { 0 } else { u64::MAX }))
    }
}

fn is_signed(aggregation: &Aggregation) -> bool {
    match aggregation {
        Aggregation::Sum { signed }
        | Aggregation::Min { signed }
        | Aggregation::Max { signed }
        | Aggregation::Average { signed }
        | Aggregation::Stats { signed }
        | Aggregation::TimeSeries { signed, .. } => *signed,
        Aggregation::Count | Aggregation::Hist { .. } | Aggregation::LinearHist { .. } => false,
    }
}

fn aggregate_cells(aggregation: &Aggregation, aggregated: &Aggregated) -> Vec<Vec<ScriptCell>> {
    let signed = is_signed(aggregation);
    match aggregated {
        Aggregated::Number(number) => vec![vec![number_cell(signed, number.unwrap_or(0))]],
        Aggregated::Stats { count, total } => {
            let average = aggregate::average(*count, *total);
            vec![vec![Cell::U64(*count), number_cell(signed, average), number_cell(signed, *total)]]
        }
        Aggregated::Buckets(counts) => {
            let row = |(number, count): &(u64, u64)| {
                let (low, high) = histogram::limits(aggregation, *number);
                let low = number_cell(true, low.unwrap_or(i128::from(i64::MIN)));
                vec![low, number_cell(true, high.unwrap_or(i128::from(i64::MAX))), Cell::U64(*count)]
            };
            counts.iter().map(row).collect()
        }
        Aggregated::Series(points) => {
            let intervals = super::series::Intervals::of(aggregation);
            let row = |point: &super::Point| {
                vec![Cell::U64(intervals.begin_ns(point.interval)), number_cell(signed, point.value)]
            };
            points.iter().map(row).collect()
        }
    }
}
