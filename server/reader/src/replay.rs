//! The text of a script's output, made again from the rows that were kept of it.

use std::sync::Arc;

use bathyscope_capture::{Batch, ColumnData, ColumnType, FrameId, StreamSchema, column_name_of_field};
use bathyscope_decode::script::{Form, KeptRow, Names, Record, Renderer, Snapshot, Value, WallTime, value_columns};
use bathyscope_link::local;
use bathyscope_plan::{Clock, Plan, Site, Type};
use bathyscope_views::Dictionaries;

/// Stands in for the room of a text that was kept whole.
const ANY_TEXT: Type = Type::Text { bytes: u32::MAX };

/// A script's plan as its rows need it.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    /// What was not kept as a number has become text.
    plan: Arc<Plan>,
    name: String,
    text: String,
    names: KeptNames,
}

/// What is known of the host where a capture was made.
#[derive(Clone, Copy, Debug)]
struct KeptNames {
    unix_minus_monotonic_ns: i128,
}

impl Replay {
    /// For a capture that began at these moments. `name` and `text` are the script's.
    pub(crate) fn new(plan: &Plan, (name, text): (&str, &str), started_unix_ns: i64, start_ns: u64) -> Self {
        let mut plan = plan.clone();
        for site in &mut plan.sites {
            site.fields.iter_mut().for_each(|field| field.ty = kept(&field.ty));
        }
        for map in &mut plan.maps {
            map.key.iter_mut().for_each(|ty| *ty = kept(ty));
            if map.aggregation().is_none() {
                map.value = kept(&map.value);
            }
        }
        let unix_minus_monotonic_ns = i128::from(started_unix_ns) - i128::from(start_ns);
        let names = KeptNames { unix_minus_monotonic_ns };
        Self { plan: Arc::new(plan), name: name.to_owned(), text: text.to_owned(), names }
    }

    /// What a row of a site printed; none if it is no row of that site, or the site prints nothing by itself.
    pub(crate) fn line(
        &self,
        site: u32,
        schema: &StreamSchema,
        (batch, row): (&Batch, usize),
        dictionaries: &Dictionaries,
    ) -> Option<Vec<u8>> {
        let plan_site = self.plan.sites.get(site as usize)?;
        let number = |column: usize| match batch.columns.get(column) {
            Some(ColumnData::U64(values)) => values.get(row).copied().unwrap_or(0),
            _ => 0,
        };
        let narrow = |column: usize| u32::try_from(number(column)).unwrap_or(u32::MAX);
        let record = Record {
            site,
            time_ns: number(StreamSchema::TIME),
            pid: narrow(StreamSchema::PID),
            tid: narrow(StreamSchema::TID),
            cpu: narrow(StreamSchema::CPU),
            values: Cells { schema, batch, row, dictionaries }.values(plan_site),
            ..Record::default()
        };
        let renderer = Renderer::new(Form::Text, &self.plan, &self.names).source(&self.name, &self.text);
        renderer.record(&record).map(|message| message.bytes)
    }

    /// What a map prints: `rows` are those of one snapshot, in their order.
    pub(crate) fn map<'a>(
        &self,
        map: usize,
        schema: &StreamSchema,
        rows: impl Iterator<Item = (&'a Batch, usize)>,
        (top, div): (Option<u64>, Option<u64>),
        dictionaries: &Dictionaries,
    ) -> Option<Vec<u8>> {
        let map = self.plan.maps.get(map)?;
        let numbers = value_columns(map);
        let row = |(batch, row)| {
            let cells = Cells { schema, batch, row, dictionaries };
            let name = |index: usize| if map.key.len() == 1 { "key".to_owned() } else { format!("key{index}") };
            let key = map.key.iter().enumerate();
            let key = key.map(|(index, ty)| cells.value(&name(index), ty).unwrap_or(Value::None)).collect();
            let value = match numbers {
                Some(count) => {
                    let columns = schema.columns.len().saturating_sub(count)..schema.columns.len();
                    columns.map(|column| cells.cell(column, &map.value).unwrap_or(Value::None)).collect()
                }
                None => vec![cells.value("value", &map.value).unwrap_or(Value::None)],
            };
            KeptRow { key, value }
        };
        let snapshot = Snapshot::of_rows(map, rows.map(row));
        Some(Renderer::new(Form::Text, &self.plan, &self.names).map(map, &snapshot, top, div))
    }
}

/// The type of what was kept of a type.
fn kept(ty: &Type) -> Type {
    match ty {
        Type::Integer { .. } | Type::Bool | Type::Pointer { .. } | Type::Buffer { .. } | Type::Text { .. } => {
            ty.clone()
        }
        Type::Shown(bathyscope_plan::Shown::Time { clock: Clock::Monotonic, .. }) => ty.clone(),
        Type::Tuple(parts) => Type::Tuple(parts.iter().map(kept).collect()),
        Type::Record(parts) => Type::Record(parts.iter().map(|(name, part)| (name.clone(), kept(part))).collect()),
        Type::Struct(it) => {
            let mut it = it.clone();
            it.fields.iter_mut().for_each(|field| field.ty = kept(&field.ty));
            Type::Struct(it)
        }
        _ => ANY_TEXT,
    }
}

/// The cells of one row.
struct Cells<'a> {
    schema: &'a StreamSchema,
    batch: &'a Batch,
    row: usize,
    dictionaries: &'a Dictionaries,
}

impl Cells<'_> {
    fn values(&self, site: &Site) -> Vec<Value> {
        let fields = site.fields.iter();
        fields.map(|field| self.value(&column_name_of_field(&field.name), &field.ty).unwrap_or(Value::None)).collect()
    }

    /// The value called `name`: of its column, or put together from those of its parts.
    fn value(&self, name: &str, ty: &Type) -> Option<Value> {
        if let Some(column) = self.schema.column(name) {
            return self.cell(column, ty);
        }
        let part = |(index, part_name, ty): (usize, &str, &Type)| {
            let part_name = if part_name.is_empty() { index.to_string() } else { part_name.to_owned() };
            self.value(&format!("{name}.{part_name}"), ty).unwrap_or(Value::None)
        };
        let parts: Vec<Value> = match ty {
            Type::Tuple(parts) => parts.iter().enumerate().map(|(index, ty)| part((index, "", ty))).collect(),
            Type::Record(parts) => {
                parts.iter().enumerate().map(|(index, (name, ty))| part((index, name, ty))).collect()
            }
            Type::Struct(it) => {
                it.fields.iter().enumerate().map(|(index, field)| part((index, &field.name, &field.ty))).collect()
            }
            _ => return None,
        };
        Some(Value::List(parts))
    }

    fn cell(&self, column: usize, ty: &Type) -> Option<Value> {
        match self.batch.columns.get(column)? {
            ColumnData::U64(values) if *ty == Type::Bool => values.get(self.row).map(|value| Value::Bool(*value != 0)),
            ColumnData::U64(values) => values.get(self.row).map(|value| Value::Unsigned(*value)),
            ColumnData::I64(values) => values.get(self.row).map(|value| Value::Signed(*value)),
            ColumnData::Id(values) => {
                let id = *values.get(self.row)?;
                if self.schema.columns.get(column)?.ty == ColumnType::Stack {
                    let frames = self.dictionaries.stack(id).unwrap_or_default();
                    return Some(Value::Text(stack_text(self.dictionaries, frames)));
                }
                let text = self.dictionaries.text(id).unwrap_or_default().to_vec();
                Some(if matches!(ty, Type::Buffer { .. }) { Value::Buffer(text) } else { Value::Text(text) })
            }
        }
    }
}

/// A stack, one `function+offset` a line.
fn stack_text(dictionaries: &Dictionaries, frames: &[FrameId]) -> Vec<u8> {
    let mut text = b"\n".to_vec();
    for frame in frames {
        let place = dictionaries.frame(*frame).map_or(0, |frame| frame.offset);
        let line = match dictionaries.symbol(*frame) {
            Some(symbol) => format!("        {}+{}\n", symbol.function, symbol.offset),
            None => format!("        {place:#x}\n"),
        };
        text.extend(line.into_bytes());
    }
    text
}

impl Names for KeptNames {
    fn wall_time(&self, clock: Clock, ns: u64) -> Option<WallTime> {
        // Of the other clocks only their own host knows how far they were ahead.
        (clock == Clock::Monotonic).then(|| local(i128::from(ns) + self.unix_minus_monotonic_ns))
    }
}
