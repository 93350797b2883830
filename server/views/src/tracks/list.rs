//! Which tracks there are.

use std::collections::HashMap;

use bathyscope_capture::{RowKind, TrackDirectory, TrackInfo, TrackKind, TrackNameId, TrackRule, visible};

use super::{binned::binned_list, label};
use crate::{
    Cancel, Source, ViewError,
    answers::{NameTime, TrackId, TrackLabel, TrackLine, TrackList, TrackOf, TrackStream, TrackedRow},
    source::relative,
};

/// All tracks that a capture has an index of, and what else the tree of tracks has.
///
/// # Errors
/// If rows cannot be read, or `cancel` was set.
pub fn track_list(source: &dyn Source, cancel: &Cancel) -> Result<TrackList, ViewError> {
    let mut list = TrackList {
        start: i64::MAX,
        end: i64::MIN,
        streams: Vec::new(),
        tracks: Vec::new(),
        names: Vec::new(),
        left_out: 0,
        binned: binned_list(source, cancel)?,
    };
    for (stream, directory) in source.tracks() {
        let Some(schema) = source.streams().get(usize::from(*stream)) else { continue };
        let Some(rule) = TrackRule::of(schema) else { continue };
        let row = match schema.meaning().kind {
            RowKind::State { .. } => TrackedRow::State,
            _ => TrackedRow::Slice,
        };
        let (of, column) = match rule.kind() {
            TrackKind::Thread => (TrackOf::Thread, String::new()),
            TrackKind::Cpu => (TrackOf::Cpu, String::new()),
            TrackKind::Value(column) => (TrackOf::Value, column.clone()),
        };
        list.streams.push(TrackStream { stream: *stream, name: visible(schema.name.as_bytes()), row, of, column });
        list.left_out += directory.dropped_rows;
        StreamTracks { source, stream: *stream, directory, of, names: HashMap::new() }.add_to(&mut list);
    }
    if list.tracks.is_empty() {
        (list.start, list.end) = (0, 0);
    }
    Ok(list)
}

struct StreamTracks<'a> {
    source: &'a dyn Source,
    stream: u16,
    directory: &'a TrackDirectory,
    of: TrackOf,
    /// By the directory's number, that in the list.
    names: HashMap<TrackNameId, u32>,
}

impl StreamTracks<'_> {
    fn add_to(&mut self, list: &mut TrackList) {
        let directory = self.directory;
        let mut tracks: Vec<(u32, &TrackInfo)> = (0..).zip(&directory.tracks).collect();
        tracks.retain(|(_, track)| track.rows > 0);
        tracks.sort_by_key(|(_, track)| (track.key, track.lane));
        for (number, track) in tracks {
            let line = self.line(number, track, &mut list.names);
            list.start = list.start.min(line.start);
            list.end = list.end.max(line.end);
            list.tracks.push(line);
        }
    }

    fn line(&mut self, number: u32, track: &TrackInfo, names: &mut Vec<TrackLabel>) -> TrackLine {
        let origin = self.source.origin_ns();
        let top = track.sum.top.iter().filter(|(_, time_ns)| *time_ns > 0);
        let top = top.map(|(name, time)| NameTime { name: self.name(*name, names), time: *time }).collect();
        let line = TrackLine {
            id: TrackId { stream: self.stream, track: number }.to_string(),
            stream: self.stream,
            lane: track.lane,
            rows: track.rows,
            start: relative(origin, track.sum.begin_ns),
            end: relative(origin, track.sum.end_ns),
            busy: track.sum.busy_ns(),
            longest: track.sum.longest.duration_ns(),
            top,
            ..TrackLine::default()
        };
        self.told(track, line)
    }

    /// Says what a track is of.
    fn told(&self, track: &TrackInfo, line: TrackLine) -> TrackLine {
        let text = |id| self.source.dictionaries().text(id).map(visible).unwrap_or_default();
        let key = track.key;
        match (self.of, TrackRule::idle_cpu(key)) {
            (TrackOf::Thread, Some(cpu)) => {
                TrackLine { key: format!("idle:{cpu}"), label: format!("idle of CPU {cpu}"), cpu: Some(cpu), ..line }
            }
            (TrackOf::Thread, None) => TrackLine {
                key: format!("tid:{key}"),
                label: text(track.comm),
                pid: Some(track.pid),
                tid: Some(key),
                ..line
            },
            (TrackOf::Cpu, _) => {
                TrackLine { key: format!("cpu:{key}"), label: format!("CPU {key}"), cpu: Some(key), ..line }
            }
            (TrackOf::Value, _) => {
                let value = value_text(self.source, self.stream, key);
                TrackLine { key: value.clone(), label: value, ..line }
            }
        }
    }

    fn name(&mut self, name: TrackNameId, names: &mut Vec<TrackLabel>) -> u32 {
        let (source, stream, directory) = (self.source, self.stream, self.directory);
        *self.names.entry(name).or_insert_with(|| {
            names.push(label(source, (stream, directory), name));
            (names.len() - 1) as u32
        })
    }
}

/// A value of the key's column as people read it.
pub(crate) fn value_text(source: &dyn Source, stream: u16, key: u64) -> String {
    let schema = source.streams().get(usize::from(stream));
    let rule = schema.and_then(|schema| Some((schema, TrackRule::of(schema)?)));
    let column = rule.and_then(|(schema, rule)| match rule.kind() {
        TrackKind::Value(name) => schema.columns.iter().find(|column| column.name == *name),
        _ => None,
    });
    match column.map(|column| column.ty) {
        Some(bathyscope_capture::ColumnType::Text) => {
            let text = u32::try_from(key).ok().and_then(|id| source.dictionaries().text(id));
            text.map(visible).unwrap_or_default()
        }
        // Device numbers of block events, as the kernel prints them.
        _ if column.is_some_and(|column| column.name == "dev") => {
            format!("{}:{}", key >> 20, key & ((1 << 20) - 1))
        }
        _ if key > 1 << 32 => format!("{key:#x}"),
        _ => key.to_string(),
    }
}
