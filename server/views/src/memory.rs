//! A capture in memory, for tests and for rows that are not stored.

use std::{collections::HashMap, sync::Arc};

use bathyscope_capture::{
    Batch, ChunkError, ColumnData, ColumnGrid, ColumnStats, DRAWN_LEVEL, DrawnDecoder, Grouping, IndexBlock,
    IndexDirectory, IndexForest, IndexNode, Loss, StreamSchema, TrackDirectory, TrackIndexBuilder, TrackPage,
    TrackRule, drawn_number, leaf_blocks,
};

use crate::{ChunkMeta, Dictionaries, DrawnPageMap, Source, TrackPageMap, ViewError};

/// A capture in memory.
#[derive(Clone, Debug, Default)]
pub struct MemorySource {
    /// See [`Source::origin_ns`].
    pub origin_ns: u64,
    /// See [`Source::losses`].
    pub losses: Vec<Loss>,
    /// See [`Source::dictionaries`].
    pub dictionaries: Dictionaries,
    schemas: Vec<StreamSchema>,
    index: HashMap<(u16, Grouping), Indexed>,
    tracks: Vec<(u16, TrackDirectory)>,
    pages: HashMap<u16, TrackPageMap>,
    /// By stream, track and the number by which they are stored.
    drawn: HashMap<u16, DrawnPageMap>,
    chunks: Vec<Vec<ChunkMeta>>,
    batches: Vec<Vec<Arc<Batch>>>,
}

impl MemorySource {
    /// An empty capture that began at `origin_ns`.
    pub fn new(origin_ns: u64) -> Self {
        Self { origin_ns, ..Self::default() }
    }

    /// Adds a stream with the rows of `batches`, sorted by time, one chunk each; empty ones are left out.
    pub fn push_stream(&mut self, schema: StreamSchema, batches: Vec<Batch>) {
        let kept: Vec<_> = batches.into_iter().filter(|batch| batch.rows() > 0).map(Arc::new).collect();
        self.chunks.push(kept.iter().map(|batch| meta_of(batch)).collect());
        self.batches.push(kept);
        self.schemas.push(schema);
    }

    /// Makes the time index of all streams, as a store would have it.
    pub fn make_index(&mut self) {
        for (stream, (schema, batches)) in (0..).zip(self.schemas.iter().zip(&self.batches)) {
            let mut forests: HashMap<Grouping, IndexForest> = HashMap::new();
            for (number, batch) in (0..).zip(batches) {
                for (grouping, leaf) in leaf_blocks(schema, batch) {
                    let indexed = self.index.entry((stream, grouping)).or_default();
                    let complete = forests.entry(grouping).or_default().push(number, &leaf);
                    complete.into_iter().for_each(|node| indexed.insert(node));
                    indexed.insert(IndexNode { level: 0, number, block: leaf });
                }
            }
            for (grouping, forest) in forests {
                let Some(indexed) = self.index.get_mut(&(stream, grouping)) else { continue };
                forest.close().into_iter().for_each(|node| indexed.insert(node));
            }
        }
    }

    /// Makes the track index of all streams that can have one, as a store would have it.
    ///
    /// # Errors
    /// If a page cannot be read back, which would be a defect.
    pub fn make_tracks(&mut self) -> Result<(), ChunkError> {
        for (stream, (schema, batches)) in (0..).zip(self.schemas.iter().zip(&self.batches)) {
            let Some(rule) = TrackRule::of(schema) else { continue };
            let mut builder = TrackIndexBuilder::new(rule);
            batches.iter().for_each(|batch| builder.add(batch));
            let (pages, drawn) = (self.pages.entry(stream).or_default(), self.drawn.entry(stream).or_default());
            for page in builder.take_pages() {
                if page.level == DRAWN_LEVEL {
                    drawn.insert((page.track, page.number), Arc::new(DrawnDecoder::default().decode(&page.bytes)?));
                } else {
                    let number = u32::try_from(page.number).unwrap_or(u32::MAX);
                    pages.insert((page.track, page.level, number), Arc::new(TrackPage::decode(&page.bytes)?));
                }
            }
            self.tracks.push((stream, builder.directory()));
        }
        Ok(())
    }
}

/// The blocks of one stream and grouping.
#[derive(Clone, Debug, Default)]
struct Indexed {
    directory: IndexDirectory,
    blocks: HashMap<(u8, u32), Arc<IndexBlock>>,
}

impl Indexed {
    fn insert(&mut self, node: IndexNode) {
        self.directory.insert(node.level, node.number, node.block.shift);
        self.blocks.insert((node.level, node.number), Arc::new(node.block));
    }
}

fn meta_of(batch: &Batch) -> ChunkMeta {
    let time = batch.columns.get(StreamSchema::TIME).map_or(&[][..], ColumnData::as_u64);
    ChunkMeta {
        rows: u32::try_from(batch.rows()).unwrap_or(u32::MAX),
        first_ns: time.first().copied().unwrap_or(0),
        last_ns: time.last().copied().unwrap_or(0),
        stats: batch.columns.iter().map(stats_of).collect(),
    }
}

fn stats_of(column: &ColumnData) -> ColumnStats {
    match column {
        ColumnData::U64(values) => {
            values.iter().min().zip(values.iter().max()).map_or(ColumnStats::None, |(a, b)| ColumnStats::U64(*a, *b))
        }
        ColumnData::I64(values) => {
            values.iter().min().zip(values.iter().max()).map_or(ColumnStats::None, |(a, b)| ColumnStats::I64(*a, *b))
        }
        ColumnData::Id(_) => ColumnStats::None,
    }
}

impl Source for MemorySource {
    fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    fn streams(&self) -> &[StreamSchema] {
        &self.schemas
    }

    fn chunks(&self, stream: u16) -> &[ChunkMeta] {
        self.chunks.get(usize::from(stream)).map_or(&[], Vec::as_slice)
    }

    fn batch(&self, stream: u16, chunk: usize, _wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        let found = self.batches.get(usize::from(stream)).and_then(|batches| batches.get(chunk));
        found.cloned().ok_or(ViewError::Shape { stream, chunk, what: "there is no such chunk" })
    }

    fn index(&self, stream: u16, grouping: Grouping) -> Option<&IndexDirectory> {
        self.index.get(&(stream, grouping)).map(|indexed| &indexed.directory)
    }

    fn index_block(
        &self,
        stream: u16,
        grouping: Grouping,
        level: u8,
        number: u32,
    ) -> Result<Arc<IndexBlock>, ViewError> {
        let indexed = self.index.get(&(stream, grouping));
        let block = indexed.and_then(|indexed| indexed.blocks.get(&(level, number))).cloned();
        block.ok_or(ViewError::Shape { stream, chunk: number as usize, what: "there is no such block of the index" })
    }

    fn tracks(&self) -> &[(u16, TrackDirectory)] {
        &self.tracks
    }

    fn track_pages(&self, stream: u16, places: &[(u32, u8, u32)]) -> Result<TrackPageMap, ViewError> {
        let Some(pages) = self.pages.get(&stream) else { return Ok(TrackPageMap::default()) };
        Ok(places.iter().filter_map(|place| Some((*place, Arc::clone(pages.get(place)?)))).collect())
    }

    fn drawn_pages(&self, stream: u16, grid: ColumnGrid, places: &[(u32, u64)]) -> Result<DrawnPageMap, ViewError> {
        let Some(drawn) = self.drawn.get(&stream) else { return Ok(DrawnPageMap::new()) };
        let page = |(track, page): &(u32, u64)| {
            Some(((*track, *page), Arc::clone(drawn.get(&(*track, drawn_number(grid, *page)))?)))
        };
        Ok(places.iter().filter_map(page).collect())
    }

    fn dictionaries(&self) -> &Dictionaries {
        &self.dictionaries
    }

    fn losses(&self) -> &[Loss] {
        &self.losses
    }
}
