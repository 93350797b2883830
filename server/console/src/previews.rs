//! The picture of a share's preview: how many rows there were over time, as bars. It has no text, so it tells nothing that was removed.

use bathyscope_formats::IndexedPicture;
use bathyscope_reader::{CaptureView, ViewQuery};
use bathyscope_views::{Cancel, Rate, ViewError};

/// Pixels, as chats show a picture beside a title.
const WIDTH: u32 = 1200;
/// Likewise.
const HEIGHT: u32 = 630;
/// Bars.
const BINS: u32 = 120;
/// Pixels of a bar, with the gap behind it.
const BAR: u32 = 9;
/// What is left free at the top and the bottom.
const FREE: u32 = 90;
/// Ground, bars, and the line that they stand on: as the pages have them in the dark theme.
const PALETTE: [[u8; 3]; 3] = [[0x13, 0x1b, 0x22], [0x5f, 0xc9, 0xda], [0x6d, 0x8e, 0xa3]];
const BARS: u8 = 1;
const LINE: u8 = 2;

/// The picture of a view, as PNG.
///
/// # Errors
/// If the view does not fit the capture, a chunk cannot be loaded, or `cancel` was set.
pub(crate) fn preview_picture(view: &CaptureView, query: &ViewQuery, cancel: &Cancel) -> Result<Vec<u8>, ViewError> {
    let query = ViewQuery { bins: Some(BINS), ..query.clone() };
    Ok(bars(&bathyscope_views::rate(view, &query.rate(view)?, cancel)?).to_png())
}

/// The picture of what has no rows.
pub(crate) fn empty_preview() -> Vec<u8> {
    ground().to_png()
}

fn ground() -> IndexedPicture {
    let mut picture = IndexedPicture::new(WIDTH, HEIGHT, &PALETTE);
    picture.fill(((WIDTH - BINS * BAR) / 2, HEIGHT - FREE), (BINS * BAR, 2), LINE);
    picture
}

fn bars(rate: &Rate) -> IndexedPicture {
    let mut picture = ground();
    let bins = (rate.bins as usize).min(BINS as usize);
    let sums: Vec<u64> =
        (0..bins).map(|bin| rate.streams.iter().filter_map(|stream| stream.counts.get(bin)).sum()).collect();
    let most = u128::from(sums.iter().copied().max().unwrap_or(0).max(1));
    let tallest = HEIGHT - 2 * FREE;
    let left = (WIDTH - BINS * BAR) / 2;
    for (bin, sum) in (0_u32..).zip(sums).filter(|(_, sum)| *sum > 0) {
        let tall = u32::try_from(u128::from(sum) * u128::from(tallest) / most).unwrap_or(tallest).max(2);
        picture.fill((left + bin * BAR, HEIGHT - FREE - tall), (BAR - 2, tall), BARS);
    }
    picture
}

#[cfg(test)]
mod tests {
    use super::*;
    use bathyscope_views::StreamRate;

    #[test]
    fn rows_over_time_are_bars_without_text() {
        let stream = StreamRate { stream: 0, name: "secret".to_owned(), counts: vec![0, 4, 2, u64::MAX / 2] };
        let rate = Rate { start: 0, end: 400, bins: 4, streams: vec![stream], losses: Vec::new() };
        let picture = bars(&rate);
        let left = (WIDTH - BINS * BAR) / 2;
        let at = |bin: u32, up: u32| picture.pixel(left + bin * BAR, HEIGHT - FREE - up);
        assert_eq!([at(0, 1), at(1, 1), at(1, 9), at(3, HEIGHT - 2 * FREE)], [Some(0), Some(1), Some(0), Some(1)]);
        let png = picture.to_png();
        assert!(png.len() < 16 << 10, "{} bytes", png.len());
        assert!(!png.windows(6).any(|window| window == b"secret"));
        assert!(empty_preview().starts_with(b"\x89PNG"));
    }
}
