//! The rows of a capture of which something was removed.

use std::sync::Arc;

use bathyscope_capture::{Batch, ColumnData, StreamSchema};
use bathyscope_store::CaptureRecord;
use bathyscope_views::{ChunkMeta, Narrowed};

use super::{
    Removal,
    columns::{ColumnRule, rules},
    pages::TextSpan,
};

/// The least number that is taken for an address of memory, where a column's name does not tell.
const LEAST_POINTER: u64 = 1 << 32;
/// Negative numbers up to this are results and differences; others are addresses of the kernel.
const LEAST_NEGATIVE: i64 = -(1 << 32);

/// What is left of a capture's rows.
#[derive(Clone, Debug)]
pub(crate) struct RemovedView {
    removal: Arc<Removal>,
    span: TextSpan,
    /// For each stream.
    rules: Vec<Vec<ColumnRule>>,
    chunks: Vec<Vec<ChunkMeta>>,
    /// Tracks that were made of what is left, once they are.
    tracks: Option<Arc<Narrowed>>,
}

impl RemovedView {
    /// Of streams as they were recorded, with their chunks.
    pub(crate) fn new<'a>(
        removal: &Arc<Removal>,
        (record, schemas): (&CaptureRecord, &[StreamSchema]),
        span: TextSpan,
        chunks: impl Fn(u16) -> &'a [ChunkMeta],
    ) -> Self {
        let named_by =
            |schema: &StreamSchema| super::head::source_of(record, schema).map(|source| source.method.columns_are_of());
        let rules: Vec<_> = schemas.iter().map(|schema| rules(removal, schema, named_by(schema))).collect();
        // The extremes of a chunk tell what was removed, and a filter that asks for a placeholder would pass the chunk over.
        let without = |meta: &ChunkMeta| ChunkMeta { stats: Vec::new(), ..meta.clone() };
        let left = |(stream, rules): (u16, &Vec<ColumnRule>)| {
            let is_whole = rules.iter().all(|rule| *rule == ColumnRule::Keep);
            if is_whole { chunks(stream).to_vec() } else { chunks(stream).iter().map(without).collect() }
        };
        let chunks = (0_u16..).zip(&rules).map(left).collect();
        Self { removal: Arc::clone(removal), span, rules, chunks, tracks: None }
    }

    /// With tracks that were made of what is left.
    pub(crate) fn with_tracks(self, tracks: Arc<Narrowed>) -> Self {
        Self { tracks: Some(tracks), ..self }
    }

    /// What has the tracks, if they were made.
    pub(crate) fn tracks(&self) -> Option<&Narrowed> {
        self.tracks.as_deref()
    }

    /// The chunks of a stream.
    pub(crate) fn chunks(&self, stream: u16) -> &[ChunkMeta] {
        self.chunks.get(usize::from(stream)).map_or(&[], Vec::as_slice)
    }

    /// What is left of a chunk of a stream.
    pub(crate) fn batch(&self, stream: u16, whole: &Arc<Batch>) -> Arc<Batch> {
        let rules = self.rules.get(usize::from(stream)).map_or(&[][..], Vec::as_slice);
        let columns = whole.columns.iter().enumerate();
        // A column that no rule is of is none of the stream.
        let of = |index: usize| rules.get(index).copied().unwrap_or(ColumnRule::Number);
        Arc::new(Batch { columns: columns.map(|(index, column)| self.column(of(index), column)).collect() })
    }

    fn column(&self, rule: ColumnRule, column: &ColumnData) -> ColumnData {
        let number = |value: u64| match rule {
            ColumnRule::Number => self.removal.number(value),
            ColumnRule::Pointers if value >= LEAST_POINTER => self.removal.number(value),
            _ => value,
        };
        let signed = |value: i64| match rule {
            ColumnRule::Pointers if value < LEAST_NEGATIVE => self.removal.number(value.cast_unsigned()).cast_signed(),
            ColumnRule::Pointers if value < 0 => value,
            _ => number(value.cast_unsigned()).cast_signed(),
        };
        match (column, rule) {
            (ColumnData::U64(values), _) => ColumnData::U64(values.iter().copied().map(number).collect()),
            (ColumnData::I64(values), _) => ColumnData::I64(values.iter().copied().map(signed).collect()),
            (ColumnData::Id(ids), ColumnRule::Text(kind)) => {
                ColumnData::Id(ids.iter().map(|id| self.span.replaced(kind, *id)).collect())
            }
            (ColumnData::Id(ids), _) => ColumnData::Id(ids.clone()),
        }
    }
}
