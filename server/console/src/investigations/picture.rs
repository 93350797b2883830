//! The picture of a view on an investigation's page: its flame graph, or how many rows there were over time with the range that the view
//! shows. It is made of the capture as it is now, has no script, and no text of events but names of functions.

use std::fmt::Write as _;

use bathyscope_reader::{
    CaptureView, ViewQuery,
    export::{self, Format},
};
use bathyscope_views::{Cancel, Rate, ViewError};

/// Pixels.
const WIDTH: u32 = 800;
/// Pixels of rows over time.
const HEIGHT: u32 = 64;
/// Bins of rows over time.
const BINS: u32 = 200;

/// What a picture is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureOf {
    /// The parameters of the view.
    pub query: ViewQuery,
    /// Whether it is of stacks.
    pub is_flame: bool,
    /// The time that the timeline shows, if the view says so.
    pub window: Option<(i64, i64)>,
}

/// The picture, as SVG.
///
/// # Errors
/// If the view does not fit the capture, a chunk cannot be loaded, or `cancel` was set.
pub fn picture(view: &CaptureView, of: &PictureOf, cancel: &Cancel) -> Result<String, ViewError> {
    if of.is_flame {
        let query = ViewQuery { width: Some(WIDTH), ..of.query.clone() };
        let mut bytes = Vec::new();
        export::write(view, Format::SvgPlain, &query, &mut bytes, cancel)?;
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let whole = ViewQuery { start: None, end: None, bins: Some(BINS), ..of.query.clone() };
    let rate = bathyscope_views::rate(view, &whole.rate(view)?, cancel)?;
    let range = of.window.or(of.query.start.zip(of.query.end));
    Ok(bars(&rate, range))
}

/// Rows over time as bars, with a range marked.
fn bars(rate: &Rate, range: Option<(i64, i64)>) -> String {
    let sums: Vec<u64> =
        (0..rate.bins as usize).map(|bin| rate.streams.iter().filter_map(|one| one.counts.get(bin)).sum()).collect();
    let most = sums.iter().copied().max().unwrap_or(0).max(1) as f64;
    let (width, height) = (f64::from(WIDTH), f64::from(HEIGHT));
    let span = (rate.end.saturating_sub(rate.start)).max(1) as f64;
    let place = |time: i64| (time.saturating_sub(rate.start) as f64 / span * width).clamp(0.0, width);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\">"
    );
    if let Some((start, end)) = range {
        let (left, right) = (place(start), place(end));
        // Writing to a String cannot fail.
        let _infallible = write!(
            out,
            "<rect x=\"{left:.1}\" width=\"{:.1}\" height=\"{HEIGHT}\" fill=\"#2a7aaf\" fill-opacity=\"0.25\"/>",
            (right - left).max(2.0)
        );
    }
    out.push_str("<path fill=\"#6d8ea3\" d=\"");
    let wide = width / sums.len().max(1) as f64;
    for (bin, sum) in sums.iter().enumerate().filter(|(_, sum)| **sum > 0) {
        let tall = (*sum as f64 / most * height).max(1.0);
        let _infallible =
            write!(out, "M{:.1} {HEIGHT}v-{tall:.1}h{:.1}v{tall:.1}z", bin as f64 * wide, (wide - 0.4).max(0.4));
    }
    out.push_str("\"/></svg>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use bathyscope_views::StreamRate;

    #[test]
    fn rows_over_time_are_bars_with_the_range_of_the_view() {
        let stream = StreamRate { stream: 0, name: "<b>".to_owned(), counts: vec![0, 4, 2, 0] };
        let rate = Rate { start: 0, end: 400, bins: 4, streams: vec![stream], losses: Vec::new() };
        let svg = bars(&rate, Some((100, 200)));
        assert!(svg.contains("x=\"200.0\" width=\"200.0\""), "{svg}");
        assert_eq!(svg.matches('M').count(), 2, "{svg}");
        assert!(!svg.contains("<b>"));
        assert!(!bars(&rate, None).contains("rect"));
    }
}
