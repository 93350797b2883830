//! How many rows per bin of time, for each stream, and where events were lost.

use bathyscope_capture::{Grouping, Loss, LossStage, StreamSchema};

use crate::{
    Cancel, Filter, Source, TimeRange, ViewError,
    answers::{Rate, RateLoss, StreamRate},
    source::relative,
    window::Window,
};

/// The most bins of a rate.
pub const MAX_BINS: u32 = 8192;

/// What to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateQuery {
    /// From when to when.
    pub range: TimeRange,
    /// Into how many bins at most (or 2), 1 to [`MAX_BINS`]. There are at least half as many, as their length is a power of two
    /// of nanoseconds.
    pub bins: u32,
    /// Which rows. A stream without the columns of the filter counts none.
    pub filter: Option<Filter>,
}

/// Counts rows per bin.
///
/// # Errors
/// If the query does not fit the capture, a chunk cannot be loaded, or `cancel` was set.
pub fn rate(source: &dyn Source, query: &RateQuery, cancel: &Cancel) -> Result<Rate, ViewError> {
    let window = Window::new(query.range, query.bins, MAX_BINS, "the number of bins")?;
    let names = (0u16..).zip(source.streams());
    let mut streams: Vec<StreamRate> = names
        .map(|(stream, schema)| StreamRate { stream, name: schema.name.clone(), counts: vec![0; window.bins as usize] })
        .collect();
    for (stream, block) in window.fill(source, query.filter.as_ref(), Grouping::Cpu, None, cancel)? {
        let Some(counted) = streams.get_mut(usize::from(stream)) else { continue };
        for bin in block.tracks.iter().flat_map(|track| &track.bins) {
            if let Some(count) = counted.counts.get_mut(window.relative(bin.number) as usize) {
                *count += bin.rows;
            }
        }
    }
    streams.retain(|rate| source.streams().get(usize::from(rate.stream)).is_some_and(StreamSchema::is_recorded));
    let origin = source.origin_ns();
    let span = window.span();
    let (start, end) = (relative(origin, span.start_ns), relative(origin, span.end_ns));
    let overlaps = |loss: &&Loss| {
        let is_loss = loss.stage != LossStage::NotKept;
        is_loss && loss.start_ns < query.range.end_ns && loss.end_ns >= query.range.start_ns
    };
    let losses = source.losses().iter().filter(overlaps).map(|loss| RateLoss {
        stream: loss.stream,
        stage: loss.stage,
        count: loss.count,
        start: relative(origin, loss.start_ns),
        end: relative(origin, loss.end_ns),
    });
    Ok(Rate { start, end, bins: window.bins, streams, losses: losses.collect() })
}
