//! Which windows of a timeline a file has: the whole capture, then what is in sight in more and more detail. Pure.

/// Zooms of a timeline: each shows a quarter of the one before.
const ZOOMS: u32 = 4;
const ZOOM: i64 = 4;
/// How many pixels a timeline is taken to have.
pub(super) const WIDTH: i64 = 1024;
/// The most pixels of a window that the console draws, and of those of tracks that they begin and end at multiples of.
pub(super) const MOST_WIDTH: i64 = 8192;
const QUANTUM: i64 = 256;
/// The most tracks of a request.
const MOST_TRACKS: usize = 400;

/// A window, in nanoseconds from the capture's start, and how many pixels it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) width: i64,
}

/// Windows of rows in bins, the widest first. What is in sight is asked for with as much again before and after it, as pages do.
pub(super) fn binned((from, to): (i64, i64), duration: i64) -> Vec<Window> {
    let span = to - from;
    let (start, end) = ((from - span).max(0), (to + span).min(duration));
    let wide = (WIDTH.saturating_mul(end - start) / span.max(1)).clamp(1, MOST_WIDTH);
    let window = |start: i64, end: i64| Window { start, end, width: wide.clamp(1, (end - start).max(1)) };
    let mut windows = vec![window(0, duration)];
    for zoom in 0..ZOOMS {
        let parts = ZOOM.pow(zoom);
        if (end - start) / parts < wide {
            break;
        }
        // Parts begin and end at whole nanoseconds, and each has all of its own.
        let at = |part: i64| {
            start + i64::try_from(i128::from(end - start) * i128::from(part) / i128::from(parts)).unwrap_or(0)
        };
        windows.extend((0..parts).map(|part| window(at(part), at(part + 1))));
    }
    windows
}

/// Windows of tracks of states and slices, whose pixels are powers of two of nanoseconds.
pub(super) fn of_tracks((from, to): (i64, i64), duration: i64) -> Vec<Window> {
    let mut pixel = 1;
    while duration / pixel > MOST_WIDTH - QUANTUM {
        pixel *= 2;
    }
    let mut windows = pieces((0, duration), pixel);
    let mut finest = 1;
    while finest * 2 <= (to - from) / WIDTH {
        finest *= 2;
    }
    for zoom in 0..ZOOMS {
        let pixel = finest / ZOOM.pow(zoom);
        if pixel < 1 {
            break;
        }
        windows.extend(pieces((from.max(0), to.min(duration)), pixel));
    }
    windows
}

/// A range in windows that begin and end where the console's do.
fn pieces((start, end): (i64, i64), pixel: i64) -> Vec<Window> {
    let quantum = QUANTUM * pixel;
    let mut found = Vec::new();
    let mut at = start / quantum * quantum;
    while at < end {
        let wanted = (end - at + quantum - 1) / quantum * QUANTUM;
        let width = wanted.min(MOST_WIDTH);
        found.push(Window { start: at, end: at + width * pixel, width });
        at += width * pixel;
    }
    found
}

/// The names of tracks, as many in each as a request takes.
pub(super) fn in_requests(tracks: &[String]) -> Vec<String> {
    tracks.chunks(MOST_TRACKS).map(|some| some.join(",")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zooms_are_the_whole_capture_and_finer_and_finer_parts_of_what_is_in_sight() {
        let windows = binned((0, 1_000_000), 1_000_000);
        assert_eq!(windows.len(), 1 + 1 + 4 + 16 + 64);
        assert_eq!(windows.first(), Some(&Window { start: 0, end: 1_000_000, width: WIDTH }));
        assert_eq!(windows.last(), Some(&Window { start: 984_375, end: 1_000_000, width: WIDTH }));
        let part = binned((400_000, 500_000), 10_000_000);
        assert_eq!(part[1], Window { start: 300_000, end: 600_000, width: 3 * WIDTH }, "with what is beside it");
        for windows in part[2..6].windows(2) {
            assert!(windows[0].end >= windows[1].start, "nothing is between them");
        }
        assert_eq!(binned((0, 1), 1), [Window { start: 0, end: 1, width: 1 }], "of a nanosecond there is no zoom");
    }

    #[test]
    fn windows_of_tracks_begin_and_end_where_the_consoles_do() {
        for (sight, duration) in [((0, 1_000_000), 1_000_000), ((5_000_000, 9_000_000), 3_000_000_000), ((0, 3), 3)] {
            let windows = of_tracks(sight, duration);
            assert!(!windows.is_empty());
            for Window { start, end, width } in windows {
                let pixel = (end - start) / width;
                assert!(pixel.count_ones() == 1 && width <= MOST_WIDTH, "{start} {end} {width}");
                assert_eq!(((end - start) % width, start % (QUANTUM * pixel), width % QUANTUM), (0, 0, 0));
            }
        }
    }

    #[test]
    fn many_tracks_are_asked_for_in_several_requests() {
        let tracks: Vec<String> = (0..900).map(|track| track.to_string()).collect();
        let asked = in_requests(&tracks);
        assert_eq!((asked.len(), asked[2].split(',').count()), (3, 100));
    }
}
