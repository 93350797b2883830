//! Bytes of memory that a script printed with `buf`, as they were.

use bathyscope_capture::{ColumnData, StreamSchema, column_name_of_field};
use bathyscope_plan::{Action, Type};
use bathyscope_views::{Cancel, Source as _, ViewError};

use super::{Origin, ScriptView, site_streams};
use crate::view_source::CaptureView;

/// Bytes that one value of a `printf` had, at its first hits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedBytes {
    /// Which `printf` of the script, from 0.
    pub statement: usize,
    /// Which of its values, from 0.
    pub value: usize,
    /// Its column.
    pub name: String,
    /// The hits, in order of time within each CPU's reading.
    pub rows: Vec<BytesRow>,
}

/// What one hit had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BytesRow {
    /// Nanoseconds since the capture's start.
    pub time: u64,
    /// The process.
    pub pid: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl ScriptView {
    /// What `buf` gave, at the first `most` hits of each `printf`.
    ///
    /// # Errors
    /// If a chunk cannot be read.
    pub fn printed_bytes(
        &self,
        view: &CaptureView,
        most: usize,
        cancel: &Cancel,
    ) -> Result<Vec<PrintedBytes>, ViewError> {
        let mut statements: Vec<u32> =
            self.plan.sites.iter().filter(|it| is_print(&it.action)).map(|it| it.start).collect();
        statements.sort_unstable();
        statements.dedup();
        let mut found = Vec::new();
        for (stream, origin) in site_streams(&self.plan, view) {
            let Origin::Site(number) = origin else { continue };
            let Some(site) = self.plan.sites.get(number as usize).filter(|site| is_print(&site.action)) else {
                continue;
            };
            let Some(schema) = view.streams().get(usize::from(stream)) else { continue };
            let Some(statement) = statements.iter().position(|start| *start == site.start) else { continue };
            for (value, field) in site.fields.iter().enumerate() {
                let column = schema.columns.iter().position(|column| column.name == column_name_of_field(&field.name));
                let Some(column) = column.filter(|_| matches!(field.ty, Type::Buffer { .. })) else { continue };
                let rows = first_rows(view, stream, column, most, cancel)?;
                found.push(PrintedBytes { statement, value, name: field.name.clone(), rows });
            }
        }
        found.sort_by_key(|it| (it.statement, it.value));
        Ok(found)
    }
}

fn is_print(action: &Action) -> bool {
    matches!(action, Action::Print { .. })
}

/// The first rows of a column that has bytes.
fn first_rows(
    view: &CaptureView,
    stream: u16,
    column: usize,
    most: usize,
    cancel: &Cancel,
) -> Result<Vec<BytesRow>, ViewError> {
    let mut rows = Vec::new();
    for chunk in 0..view.chunks(stream).len() {
        if cancel.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(ViewError::Cancelled);
        }
        let batch = view.batch(stream, chunk, &[StreamSchema::TIME, StreamSchema::PID, column])?;
        let numbers = |at: usize| batch.columns.get(at).map_or(&[][..], ColumnData::as_u64);
        let Some(ColumnData::Id(ids)) = batch.columns.get(column) else { continue };
        let times = numbers(StreamSchema::TIME).iter().zip(numbers(StreamSchema::PID)).zip(ids);
        rows.extend(times.take(most - rows.len()).map(|((time_ns, pid), id)| BytesRow {
            time: time_ns.saturating_sub(view.record().start_ns),
            pid: *pid,
            bytes: view.dictionaries().text(*id).unwrap_or_default().to_vec(),
        }));
        if rows.len() >= most {
            break;
        }
    }
    Ok(rows)
}
