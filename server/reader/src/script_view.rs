//! What is shown of a stored capture that a script made: its maps, and its output as text.

use std::sync::atomic::Ordering;

use bathyscope_capture::{ScriptRecord, StreamKind, StreamSchema, visible};
use bathyscope_decode::script::safe_for_terminal;
use bathyscope_plan::{Action, AttachPoint, Plan, Site};
use bathyscope_store::CaptureState;
use bathyscope_views::{Cancel, MapKind, MapShape, Source, Unit, ViewError, snapshots};
use serde::Serialize;

use crate::{replay::Replay, view_source::CaptureView};

mod bytes;

pub use bytes::{BytesRow, PrintedBytes};

/// The most lines of output in one answer.
pub const MAX_LINES: usize = 5000;
/// The most rows of one map that are shown as text: the last, which are the greatest.
const MAX_ROWS: usize = 5000;
/// After so many rows of maps an answer ends.
const MAX_ROWS_OF_ANSWER: usize = 20_000;

/// A map of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MapInfo {
    /// Its stream, which names it in addresses.
    pub n: u16,
    /// `@name`, or the place of the script that printed one element.
    pub name: String,
    /// What its values are.
    pub kind: MapKind,
    /// Names of the key's columns.
    pub key: Vec<String>,
    /// Names of the value's columns.
    pub value: Vec<String>,
    /// How many snapshots have rows.
    pub snapshots: u64,
    /// Number of the last one; 0 if there is none.
    pub last: u64,
    /// Whether the script empties it, so that each snapshot begins anew.
    pub resets: bool,
    /// What its numbers count.
    pub unit: Unit,
    /// Which views make sense, the best first: `histogram`, `heatmap`, `flame`, `series`, `table`.
    pub views: Vec<&'static str>,
}

/// A capture's script, for its views.
#[derive(Clone, Debug)]
pub struct ScriptView {
    plan: Plan,
    text: String,
    replay: Replay,
}

impl ScriptView {
    /// The script of a capture; none if it was not made by one, or its plan is of a program that this one does not know.
    pub fn new(view: &CaptureView, record: Option<&ScriptRecord>) -> Option<Self> {
        let plan: Plan = serde_json::from_slice(record?.plan.as_bytes()).ok()?;
        let about = view.record();
        let spec = view.script()?;
        let name = if spec.file.is_empty() { "script" } else { &spec.file };
        let replay = Replay::new(&plan, (name, &spec.text), about.started_unix_ns, about.start_ns);
        Some(Self { plan, text: spec.text.clone(), replay })
    }

    /// Whether the script empties a map.
    fn resets(&self, name: &str) -> bool {
        let map = self.plan.maps.iter().position(|map| map.name == name);
        let emptied = |action: &Action| match action {
            Action::Clear { map } | Action::Zero { map } => Some(*map as usize),
            _ => None,
        };
        map.is_some() && self.plan.sites.iter().any(|site| emptied(&site.action) == map)
    }

    /// The shape of a map's stream.
    pub fn shape(&self, view: &CaptureView, stream: u16) -> Option<MapShape> {
        let schema = view.streams().get(usize::from(stream))?;
        let shape = MapShape::of(stream, schema, self.resets(&schema.name))?;
        let unit = match Unit::of_map(&schema.name, shape.kind, &self.text) {
            Unit::Hits if self.only_samples() => Unit::Samples,
            unit => unit,
        };
        Some(MapShape { unit, ..shape })
    }

    /// Whether all that it does is done at samples.
    fn only_samples(&self) -> bool {
        let aside =
            |point: &AttachPoint| matches!(point, AttachPoint::Begin | AttachPoint::End | AttachPoint::Interval { .. });
        let mut points = self.plan.probes.iter().map(|probe| &probe.point).filter(|point| !aside(point)).peekable();
        points.peek().is_some() && points.all(|point| matches!(point, AttachPoint::Profile { .. }))
    }

    /// All maps.
    ///
    /// # Errors
    /// If a chunk cannot be read, or `cancel` was set.
    pub fn maps(&self, view: &CaptureView, cancel: &Cancel) -> Result<Vec<MapInfo>, ViewError> {
        let mut maps = Vec::new();
        for (stream, schema) in (0_u16..).zip(view.streams()) {
            let Some(shape) = self.shape(view, stream) else { continue };
            let all = snapshots(view, &shape, cancel)?;
            let names = |columns: &[usize]| {
                let named = columns.iter().filter_map(|column| schema.columns.get(*column));
                named.map(|column| visible(column.name.as_bytes())).collect()
            };
            maps.push(MapInfo {
                n: stream,
                name: visible(schema.name.as_bytes()),
                kind: shape.kind,
                key: names(&shape.key),
                value: names(&shape.value),
                snapshots: all.len() as u64,
                last: all.last().map_or(0, |info| info.number),
                resets: shape.resets,
                unit: shape.unit,
                views: views_of(view, &shape)?,
            });
        }
        Ok(maps)
    }

    /// Lines of output from a moment on.
    ///
    /// # Errors
    /// If a chunk cannot be read, or `cancel` was set.
    pub fn text(
        &self,
        view: &CaptureView,
        from: Cursor,
        limit: usize,
        cancel: &Cancel,
    ) -> Result<PrintedText, ViewError> {
        let sites = self.sites_of(view);
        let mut rows: Vec<(u64, u16, usize, usize)> = Vec::new();
        for (stream, _) in &sites {
            self.rows_from(view, *stream, from, limit, &mut rows, cancel)?;
        }
        rows.sort_unstable();
        let from_ns = view.record().start_ns.saturating_add(from.time);
        let skipped = rows.iter().take_while(|row| row.0 == from_ns).count().min(from.skip);
        let limit = limit.clamp(1, MAX_LINES);
        let mut text = PrintedText { lines: Vec::new(), next: None };
        let (mut told, mut of_maps) = (0, 0);
        for (time_ns, stream, chunk, row) in rows.iter().skip(skipped).take(limit) {
            if cancel.load(Ordering::Relaxed) {
                return Err(ViewError::Cancelled);
            }
            let line = self.line(view, &sites, (*time_ns, *stream, *chunk, *row), &mut of_maps)?;
            text.lines.extend(line);
            told += 1;
            if of_maps >= MAX_ROWS_OF_ANSWER {
                break;
            }
        }
        if let Some((time_ns, ..)) = rows.get(skipped + told) {
            let before = rows.iter().take(skipped + told).filter(|row| row.0 == *time_ns).count();
            text.next = Some(Cursor { time: time_ns.saturating_sub(view.record().start_ns), skip: before });
        }
        Ok(text)
    }

    /// The streams that are output, with what they come from.
    fn sites_of(&self, view: &CaptureView) -> Vec<(u16, Origin)> {
        let mut names = site_streams(&self.plan, view);
        for (stream, schema) in (0_u16..).zip(view.streams()).filter(|(_, schema)| schema.kind == StreamKind::Map) {
            if names.iter().all(|(known, _)| *known != stream)
                && let Some(map) = self.plan.maps.iter().position(|map| map.name == schema.name)
            {
                names.push((stream, Origin::Map { map, site: None }));
            }
        }
        names
    }

    /// Whether snapshots of a map were asked for by the script; otherwise only the last is output.
    fn is_printed(&self, name: &str) -> bool {
        let map = self.plan.maps.iter().position(|map| map.name == name);
        map.is_none_or(|map| {
            self.plan.sites.iter().any(|site| match site.action {
                Action::PrintMap { map: of, .. } | Action::Clear { map: of } | Action::Zero { map: of } => {
                    of as usize == map
                }
                _ => false,
            })
        })
    }

    /// Adds the first rows of a stream from a moment on: one for each record, one for each snapshot that was asked for.
    fn rows_from(
        &self,
        view: &CaptureView,
        stream: u16,
        from: Cursor,
        limit: usize,
        rows: &mut Vec<(u64, u16, usize, usize)>,
        cancel: &Cancel,
    ) -> Result<(), ViewError> {
        let Some(schema) = view.streams().get(usize::from(stream)) else { return Ok(()) };
        let from_ns = view.record().start_ns.saturating_add(from.time);
        let is_map = schema.kind == StreamKind::Map;
        let only_last = is_map && !self.is_printed(&schema.name);
        let last = view.chunks(stream).last().map_or(0, |chunk| chunk.last_ns);
        let (mut found, mut before) = (0, None);
        for (chunk, meta) in view.chunks(stream).iter().enumerate() {
            if meta.last_ns < from_ns {
                continue;
            }
            if cancel.load(Ordering::Relaxed) {
                return Err(ViewError::Cancelled);
            }
            let batch = view.batch(stream, chunk, &[StreamSchema::TIME])?;
            let times = batch.columns.get(StreamSchema::TIME).map_or(&[][..], |column| column.as_u64());
            for (row, time_ns) in times.iter().enumerate().filter(|(_, time_ns)| **time_ns >= from_ns) {
                let repeated = is_map && before.replace(*time_ns) == Some(*time_ns);
                if repeated || (only_last && *time_ns != last) {
                    continue;
                }
                rows.push((*time_ns, stream, chunk, row));
                found += 1;
            }
            // Those of the same moment as the cursor are left out later; one more tells whether anything follows.
            if found > limit + from.skip {
                break;
            }
        }
        Ok(())
    }

    fn line(
        &self,
        view: &CaptureView,
        sites: &[(u16, Origin)],
        (time_ns, stream, chunk, row): (u64, u16, usize, usize),
        of_maps: &mut usize,
    ) -> Result<Option<PrintedLine>, ViewError> {
        let Some(schema) = view.streams().get(usize::from(stream)) else { return Ok(None) };
        let time = time_ns.saturating_sub(view.record().start_ns);
        let origin = sites.iter().find(|(of, _)| *of == stream).map(|(_, origin)| *origin);
        match origin {
            Some(Origin::Map { map, site }) => {
                let rows = MapText { stream, time_ns, map, site };
                self.map_text(view, schema, &rows, (chunk, row), of_maps).map(Some)
            }
            Some(Origin::Site(site)) => {
                let all: Vec<usize> = (0..schema.columns.len()).collect();
                let batch = view.batch(stream, chunk, &all)?;
                let text = self.replay.line(site, schema, (&batch, row), view.dictionaries());
                Ok(text.map(|text| PrintedLine { time, stream, text: lines(&text), snapshot: None, left_out: 0 }))
            }
            None => Ok(None),
        }
    }

    /// A map as `trace` prints it, made of the rows of one snapshot, the first of which is at `first`.
    fn map_text(
        &self,
        view: &CaptureView,
        schema: &StreamSchema,
        of: &MapText,
        (first_chunk, first_row): (usize, usize),
        of_maps: &mut usize,
    ) -> Result<PrintedLine, ViewError> {
        let number = StreamSchema::COMMON.len();
        let all: Vec<usize> = (0..schema.columns.len()).collect();
        let mut snapshot = None;
        let mut parts = Vec::new();
        for chunk in first_chunk..view.chunks(of.stream).len() {
            let batch = view.batch(of.stream, chunk, &all)?;
            let column = |column: usize| batch.columns.get(column).map_or(&[][..], |column| column.as_u64());
            let begin = if chunk == first_chunk { first_row } else { 0 };
            let keys = column(StreamSchema::TIME).iter().zip(column(number)).skip(begin);
            snapshot = snapshot.or(column(number).get(begin).copied());
            let count = keys.take_while(|(time, number)| **time == of.time_ns && Some(**number) == snapshot).count();
            let ends_here = begin + count < batch.rows();
            parts.push((batch, begin..begin + count));
            if ends_here {
                break;
            }
        }
        let total: usize = parts.iter().map(|(_, rows)| rows.len()).sum();
        let left_out = total.saturating_sub(MAX_ROWS);
        *of_maps += total - left_out;
        let rows = parts.iter().flat_map(|(batch, rows)| rows.clone().map(move |row| (&**batch, row))).skip(left_out);
        let text = self.replay.map(of.map, schema, rows, self.shown(view, of), view.dictionaries());
        let time = of.time_ns.saturating_sub(view.record().start_ns);
        Ok(PrintedLine { time, stream: of.stream, text: lines(&text.unwrap_or_default()), snapshot, left_out })
    }

    /// How many elements the script wants to be printed, and by what values are divided. At the end all are.
    fn shown(&self, view: &CaptureView, of: &MapText) -> (Option<u64>, Option<u64>) {
        let at_the_end = view.record().state != CaptureState::Recording
            && view.chunks(of.stream).last().is_some_and(|chunk| chunk.last_ns == of.time_ns);
        let action = of.site.and_then(|site| self.plan.sites.get(site as usize)).map(|site| &site.action);
        if let Some(Action::PrintElement { div, .. }) = action {
            return (None, *div);
        }
        let printed = self.plan.sites.iter().find_map(|site| match site.action {
            Action::PrintMap { map, top, div } if map as usize == of.map => Some((top, div)),
            _ => None,
        });
        printed.filter(|_| !at_the_end).unwrap_or_default()
    }
}

/// One snapshot of a map.
#[derive(Clone, Copy, Debug)]
struct MapText {
    stream: u16,
    time_ns: u64,
    map: usize,
    site: Option<u32>,
}

/// What a stream of output comes from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    Site(u32),
    /// A map of the plan, or one element of it that a site printed.
    Map {
        map: usize,
        site: Option<u32>,
    },
}

/// Sites and their streams are in the same order.
fn site_streams(plan: &Plan, view: &CaptureView) -> Vec<(u16, Origin)> {
    let has_stream = |action: &Action| {
        !matches!(action, Action::PrintMap { .. } | Action::Clear { .. } | Action::Zero { .. } | Action::Exit)
    };
    let sites = (0_u32..).zip(&plan.sites).filter(|(_, site)| has_stream(&site.action));
    let streams = (0_u16..).zip(view.streams());
    let origin = |((site, action), (stream, schema)): ((u32, &Site), (u16, &StreamSchema))| match action.action {
        Action::PrintElement { map, .. } if schema.kind == StreamKind::Map => {
            (stream, Origin::Map { map: map as usize, site: Some(site) })
        }
        _ => (stream, Origin::Site(site)),
    };
    sites.zip(streams).map(origin).collect()
}

fn views_of(view: &CaptureView, shape: &MapShape) -> Result<Vec<&'static str>, ViewError> {
    let mut views = Vec::new();
    if shape.has_stacks(view)? && !matches!(shape.kind, MapKind::Histogram | MapKind::TimeSeries) {
        views.push("flame");
    }
    match shape.kind {
        MapKind::Histogram => views.extend(["histogram", "heatmap"]),
        MapKind::TimeSeries => views.push("series"),
        _ => {}
    }
    views.push("table");
    if !matches!(shape.kind, MapKind::Histogram | MapKind::TimeSeries) {
        views.push("series");
    }
    Ok(views)
}

/// Where to go on in the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cursor {
    /// Nanoseconds since the capture's start.
    pub time: u64,
    /// How many of that moment were told.
    pub skip: usize,
}

/// A part of the output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PrintedText {
    /// In order.
    pub lines: Vec<PrintedLine>,
    /// Where to go on; none at the end.
    pub next: Option<Cursor>,
}

/// What one record printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrintedLine {
    /// Nanoseconds since the capture's start.
    pub time: u64,
    /// The stream that it is a row of.
    pub stream: u16,
    /// The text, each line made visible.
    pub text: String,
    /// Of a map: which snapshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<u64>,
    /// Of a large map: how many rows are not in the text; they are the least.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Text of several lines, in which only the script's own line breaks are some: those of events are escapes already.
fn lines(text: &[u8]) -> String {
    safe_for_terminal(text)
}
