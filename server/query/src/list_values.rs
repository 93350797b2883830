//! The rows of the small tables, and the values in them.

use std::{borrow::Cow, ops::Range};

use bathyscope_capture::{MappingKind, ProcessChangeKind, StreamKind, Symbol};
use bathyscope_views::{Dictionaries, frame_names};

use crate::{
    capture::Capture,
    lists::List,
    shared::Shared,
    stacks::function_of,
    values::{SqlValue, relative},
};

impl List {
    /// The rows with an id.
    pub(crate) fn of_id(self, shared: &Shared, id: i64) -> Range<usize> {
        let rows = self.rows(&shared.capture, || shared.stacks().len());
        let Ok(index) = usize::try_from(id.saturating_sub(1)) else { return 0..0 };
        match self {
            Self::Stacks => shared.stacks().of(id),
            _ if index < rows => index..index + 1,
            _ => 0..0,
        }
    }

    /// A value.
    pub(crate) fn value(self, shared: &Shared, row: usize, column: usize) -> SqlValue<'_> {
        let found = match self {
            Self::Streams => stream(&shared.capture, row, column),
            Self::Losses => loss(shared, row, column),
            Self::Processes => process(&shared.capture, row, column),
            Self::Stacks => stack(shared, row, column),
            Self::Frames => frame(shared.capture.source.dictionaries(), row, column),
            Self::Mappings => mapping(shared.capture.source.dictionaries(), row, column),
            Self::Strings => string(shared.capture.source.dictionaries(), row, column),
        };
        found.unwrap_or(SqlValue::Null)
    }
}

fn id_of(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1)
}

fn stream(capture: &Capture, row: usize, column: usize) -> Option<SqlValue<'_>> {
    let schema = capture.source.streams().get(row)?;
    let chunks = capture.source.chunks(u16::try_from(row).ok()?);
    let totals = capture.totals.get(row).copied().unwrap_or_default();
    let time = |time: Option<u64>| Some(SqlValue::Integer(relative(capture.source.origin_ns(), time?)));
    match column {
        0 => Some(SqlValue::unsigned(row as u64)),
        1 if schema.is_absent() => None,
        1 => Some(SqlValue::text(schema.name.as_str())),
        2 => Some(SqlValue::text(match schema.kind {
            StreamKind::Events => "events",
            StreamKind::Samples => "samples",
            StreamKind::Map => "map",
        })),
        3 => Some(SqlValue::unsigned(chunks.iter().map(|chunk| u64::from(chunk.rows)).sum())),
        4 => Some(SqlValue::unsigned(chunks.len() as u64)),
        5 => Some(SqlValue::unsigned(totals.hits)),
        6 => Some(SqlValue::unsigned(totals.filtered)),
        7 => Some(SqlValue::unsigned(totals.emitted)),
        8 => Some(SqlValue::unsigned(totals.stored)),
        9 => time(chunks.iter().map(|chunk| chunk.first_ns).min()),
        _ => time(chunks.iter().map(|chunk| chunk.last_ns).max()),
    }
}

fn loss(shared: &Shared, row: usize, column: usize) -> Option<SqlValue<'_>> {
    let source = &shared.capture.source;
    let loss = source.losses().get(row)?;
    match column {
        0 => Some(SqlValue::text(source.streams().get(usize::from(loss.stream?))?.name.as_str())),
        1 => Some(SqlValue::text(loss.stage.as_str())),
        2 => Some(SqlValue::unsigned(loss.count)),
        3 => Some(SqlValue::Integer(relative(source.origin_ns(), loss.start_ns))),
        _ => Some(SqlValue::Integer(relative(source.origin_ns(), loss.end_ns))),
    }
}

fn process(capture: &Capture, row: usize, column: usize) -> Option<SqlValue<'_>> {
    let change = capture.processes.get(row)?;
    let dictionaries = capture.source.dictionaries();
    let (kind, name, parent) = match change.kind {
        ProcessChangeKind::Existing { comm } => ("existing", Some(comm), None),
        ProcessChangeKind::Fork { parent_pid } => ("fork", None, Some(parent_pid)),
        ProcessChangeKind::Comm { comm, exec: true } => ("exec", Some(comm), None),
        ProcessChangeKind::Comm { comm, exec: false } => ("comm", Some(comm), None),
        ProcessChangeKind::Exit => ("exit", None, None),
        ProcessChangeKind::Parent { parent_pid } => ("parent", None, Some(parent_pid)),
        ProcessChangeKind::User { name } => ("user", Some(name), None),
        ProcessChangeKind::Group { path } => ("group", Some(path), None),
    };
    match column {
        // What was so at the start has no time of its own.
        0 if change.time_ns == 0 => Some(SqlValue::Integer(0)),
        0 => Some(SqlValue::Integer(relative(capture.source.origin_ns(), change.time_ns))),
        1 => Some(SqlValue::Integer(i64::from(change.pid))),
        2 => Some(SqlValue::Integer(i64::from(change.tid))),
        3 => Some(SqlValue::text(kind)),
        4 => Some(SqlValue::Text(Cow::Borrowed(dictionaries.text(name?)?))),
        _ => Some(SqlValue::Integer(i64::from(parent?))),
    }
}

fn stack(shared: &Shared, row: usize, column: usize) -> Option<SqlValue<'_>> {
    let (id, depth) = shared.stacks().at(row)?;
    let dictionaries = shared.capture.source.dictionaries();
    let frame = *dictionaries.stack(id)?.get(depth)?;
    match column {
        0 => Some(SqlValue::Integer(i64::from(id))),
        1 => Some(SqlValue::unsigned(depth as u64)),
        2 => Some(SqlValue::Integer(i64::from(frame))),
        _ => Some(SqlValue::text(function_of(dictionaries, frame))),
    }
}

const fn kind_name(kind: MappingKind) -> &'static str {
    match kind {
        MappingKind::Kernel => "kernel",
        MappingKind::File => "file",
        MappingKind::Anonymous => "anonymous",
        MappingKind::Unknown => "unknown",
    }
}

fn frame(dictionaries: &Dictionaries, row: usize, column: usize) -> Option<SqlValue<'_>> {
    let id = id_of(row);
    let place = dictionaries.frame(id);
    let mapping = place.and_then(|place| dictionaries.mapping(place.mapping));
    let symbol = || dictionaries.symbol(id);
    let line = || symbol().and_then(|symbol: &Symbol| symbol.lines.last());
    match column {
        0 => Some(SqlValue::Integer(i64::from(id))),
        1 => Some(SqlValue::text(function_of(dictionaries, id))),
        2 => Some(SqlValue::unsigned(symbol()?.offset)),
        3 => Some(SqlValue::Text(Cow::Borrowed(&mapping?.name))),
        4 => Some(SqlValue::text(kind_name(mapping?.kind))),
        5 => Some(SqlValue::unsigned(place?.offset)),
        6 => Some(SqlValue::text(line()?.file.as_str())).filter(|file| *file != SqlValue::text("")),
        7 => Some(SqlValue::Integer(i64::from(line()?.line))).filter(|line| *line != SqlValue::Integer(0)),
        _ => {
            let mut names = frame_names(dictionaries, id);
            names.pop();
            let inlined: Vec<String> = names.into_iter().rev().map(|(name, _kind)| name).collect();
            (!inlined.is_empty()).then(|| SqlValue::text(inlined.join(";")))
        }
    }
}

fn mapping(dictionaries: &Dictionaries, row: usize, column: usize) -> Option<SqlValue<'_>> {
    let id = id_of(row);
    let mapping = dictionaries.mapping(id)?;
    match column {
        0 => Some(SqlValue::Integer(i64::from(id))),
        1 => Some(SqlValue::text(kind_name(mapping.kind))),
        2 => Some(SqlValue::Text(Cow::Borrowed(&mapping.name))),
        3 => {
            let hex: String = mapping.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
            (!hex.is_empty()).then(|| SqlValue::text(hex))
        }
        _ => Some(SqlValue::Integer(i64::from(mapping.pid))),
    }
}

fn string(dictionaries: &Dictionaries, row: usize, column: usize) -> Option<SqlValue<'_>> {
    let id = id_of(row);
    match column {
        0 => Some(SqlValue::Integer(i64::from(id))),
        _ => Some(SqlValue::Text(Cow::Borrowed(dictionaries.text(id)?))),
    }
}
