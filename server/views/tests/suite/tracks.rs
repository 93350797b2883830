//! Windows, moments and sums of tracks are those of all rows.

use std::sync::atomic::AtomicBool;

use bathyscope_capture::{
    Batch, Column, ColumnData, ColumnType, Display, RowKind, RowMeaning, SHARE_STEPS, StreamKind, StreamSchema,
};
use bathyscope_views::{
    MemorySource, TimeRange, TrackId, TrackMomentQuery, TrackRowLine, TrackWindow, TrackWindowQuery, ViewError,
    track_list, track_moment, track_window,
};
use proptest::prelude::*;

const START_NS: u64 = 1000;

/// A row: thread, when it began, for how long, state.
type StateRow = (u64, u64, u64, u32);

fn schema() -> StreamSchema {
    let column = |name: &str, ty, display| Column { name: name.to_owned(), ty, display };
    let kind = RowKind::State { state: "state".to_owned(), duration: Some("duration_ns".to_owned()) };
    let own =
        [column("duration_ns", ColumnType::U64, Display::DurationNs), column("state", ColumnType::Text, Display::Text)];
    StreamSchema {
        rows: Some(Box::new(RowMeaning::new(kind, &["tid"]))),
        ..StreamSchema::new("thread states", StreamKind::Events, own)
    }
}

/// Rows in the order of their ends, so many in a chunk and there by their beginnings, as rules give them.
fn source(rows: &[StateRow], chunk_rows: usize) -> MemorySource {
    let mut source = MemorySource::new(START_NS);
    let mut rows = rows.to_vec();
    rows.sort_by_key(|(_, begin, length, _)| begin + length);
    let batch = |part: &[StateRow]| {
        let mut part = part.to_vec();
        part.sort_by_key(|(_, begin, ..)| *begin);
        let numbers = |of: fn(&StateRow) -> u64| ColumnData::U64(part.iter().map(of).collect());
        let ids = |of: fn(&StateRow) -> u32| ColumnData::Id(part.iter().map(of).collect());
        Batch {
            columns: vec![
                numbers(|row| row.1),
                numbers(|_| 0),
                numbers(|row| row.0 / 2 * 2),
                numbers(|row| row.0),
                ids(|row| row.0 as u32),
                numbers(|row| row.2),
                ids(|row| row.3),
            ],
        }
    };
    source.push_stream(schema(), rows.chunks(chunk_rows).map(batch).collect());
    source.make_tracks().unwrap();
    source
}

/// The least number of rows with a code.
fn rows_of(code: u8) -> u32 {
    if code < 4 { code.into() } else { u32::from(4 + code % 4) << (code / 4 - 2) }
}

/// What is drawn of a track, decoded: where it begins and ends, how many rows, the shares.
fn pieces(window: &TrackWindow, track: usize) -> Vec<(u64, u64, u32, [u8; 3])> {
    let before: usize = window.tracks[..track].iter().map(|track| track.pieces as usize).sum();
    let mut at = 0;
    let of_track = window.pieces[before..before + window.tracks[track].pieces as usize].iter();
    of_track
        .map(|piece| {
            let begin = at + u64::from(piece.gap);
            at = begin + u64::from(piece.width);
            (begin * window.unit, at * window.unit, rows_of(piece.rows), piece.shares)
        })
        .collect()
}

/// States of four threads, one after another.
fn states() -> impl Strategy<Value = Vec<StateRow>> {
    let lengths = prop_oneof![6 => 1_u64..60, 1 => 500_u64..20_000];
    prop::collection::vec((1_u64..5, lengths, 1_u32..6), 1..1500).prop_map(|parts| {
        let mut last = [START_NS; 5];
        let row = |(tid, length, state): (u64, u64, u32)| {
            let begin = last[tid as usize];
            last[tid as usize] += length;
            (tid, begin, length, state)
        };
        parts.into_iter().map(row).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn tracks_are_those_of_all_rows(
        rows in states(), chunk_rows in 1_usize..400, from in 0.0_f64..1.0, share in 0.01_f64..1.0, width in 1_u32..300,
    ) {
        let source = source(&rows, chunk_rows);
        let go_on = AtomicBool::new(false);
        let end = rows.iter().map(|row| row.1 + row.2).max().unwrap();
        let start_ns = START_NS + (from * (end - START_NS) as f64) as u64;
        let range = TimeRange { start_ns, end_ns: start_ns + 1 + (share * (end - START_NS) as f64) as u64 };
        let list = track_list(&source, &go_on).unwrap();
        let threads: Vec<u64> = list.tracks.iter().map(|track| track.tid.unwrap()).collect();
        let mut known: Vec<u64> = rows.iter().map(|row| row.0).collect();
        known.sort_unstable();
        known.dedup();
        prop_assert_eq!(&threads, &known);
        let tracks: Vec<TrackId> = list.tracks.iter().map(|track| track.id.parse().unwrap()).collect();
        let query = TrackWindowQuery { range, width, tracks: tracks.clone() };
        let window = track_window(&source, &query, &go_on).unwrap();
        let pixel_ns = range.span_ns().div_ceil(width.into());
        for (place, tid) in threads.iter().enumerate() {
            let inside: Vec<&StateRow> = rows.iter()
                .filter(|row| row.0 == *tid && row.1 < range.end_ns && row.1 + row.2 > range.start_ns).collect();
            let drawn = pieces(&window, place);
            let count = drawn.iter().map(|piece| u64::from(piece.2)).sum::<u64>() as usize;
            prop_assert!(count <= inside.len() && count * 4 >= inside.len() * 3, "about {} rows: {count}", inside.len());
            prop_assert!(drawn.len() <= 2 * width as usize + 4, "{} pieces for {width} pixels", drawn.len());
            for (_, _, _, shares) in &drawn {
                prop_assert!(shares.iter().sum::<u8>() <= SHARE_STEPS, "{shares:?}");
            }
            for piece in drawn.iter().filter(|piece| piece.1 - piece.0 > 12 * pixel_ns + window.unit) {
                prop_assert_eq!(piece.2, 1, "what is wider than what is drawn together is one row");
            }
            for (_, begin, length, _) in inside.iter().filter(|row| row.2 >= 4 * pixel_ns) {
                let clip = |time: u64| time.clamp(range.start_ns, range.end_ns) - START_NS - window.start.unsigned_abs();
                let (begin, end) = (clip(*begin), clip(begin + length));
                let near = |at: u64, wanted: u64| at.abs_diff(wanted) <= window.unit;
                prop_assert!(drawn.iter().any(|piece| near(piece.0, begin) && near(piece.1, end)), "{begin} to {end}");
            }
            let line = &list.tracks[place];
            prop_assert_eq!(line.rows, rows.iter().filter(|row| row.0 == *tid).count() as u64);
        }
        // Any row is found at its moment, with what it was made of.
        for row in rows.iter().step_by(37) {
            let place = threads.iter().position(|tid| *tid == row.0).unwrap();
            let at = TrackMomentQuery { track: tracks[place], time_ns: row.1 + row.2 / 2 };
            let moment = track_moment(&source, &at, &go_on).unwrap();
            let found = moment.at.unwrap();
            prop_assert_eq!((found.start.unsigned_abs() + START_NS, found.duration), (row.1, row.2));
            if let Some(before) = moment.before {
                prop_assert_eq!(before.end, found.start);
            }
            if let Some(after) = moment.after {
                prop_assert_eq!(after.start, found.end);
            }
            if chunk_rows > 100 {
                prop_assert!(moment.fields.is_some());
            }
            let same = rows.iter().filter(|other| other.0 == row.0 && other.3 == row.3 && other.1 != row.1);
            let (before, after): (Vec<&StateRow>, Vec<&StateRow>) = same.partition(|other| other.1 < row.1);
            let start = |found: Option<TrackRowLine>| found.map(|found| found.start.unsigned_abs() + START_NS);
            prop_assert_eq!(start(moment.before_same), before.iter().map(|other| other.1).max());
            prop_assert_eq!(start(moment.after_same), after.iter().map(|other| other.1).min());
            prop_assert_eq!((moment.same_cut, moment.name_column.as_deref()), (false, Some("state")));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn dense_tracks_are_drawn_as_their_rows_are(
        lengths in prop::collection::vec((1_u64..100, 0_u64..40), 64), from in 0.0_f64..1.0, zoom in 0.0_f64..8.0,
        width in 100_u32..2000, dense in 1_u64..30,
    ) {
        let mut at = START_NS;
        let rows: Vec<StateRow> = (0..20_000_usize).map(|number| {
            let (length, wide) = lengths[number % lengths.len()];
            // Some are as long as many others, and the second half is denser.
            let times = if number < 10_000 { dense } else { 1 };
            let length = times * if number % 97 < wide as usize % 7 { length * 50 } else { length };
            at += length;
            (1, at - length, length, (number % 5) as u32 + 1)
        }).collect();
        let mut source = source(&rows, 5000);
        (1..=5).for_each(|state| source.dictionaries.insert_string(state, state.to_string().into_bytes()));
        let wide = (((at - START_NS) as f64 * (-zoom).exp()) as u64).max(1);
        let start_ns = START_NS + (from * (at - START_NS - wide) as f64) as u64;
        let range = TimeRange { start_ns, end_ns: start_ns + wide };
        let query = TrackWindowQuery { range, width, tracks: vec!["0.0".parse().unwrap()] };
        let window = track_window(&source, &query, &AtomicBool::new(false)).unwrap();
        let pixel_ns = range.span_ns().div_ceil(width.into());
        let drawn = pieces(&window, 0);
        let origin = START_NS + window.start.unsigned_abs();
        prop_assert!(drawn.len() <= 2 * width as usize + 4, "{} pieces for {width} pixels", drawn.len());
        let inside: Vec<&StateRow> =
            rows.iter().filter(|row| row.1 < range.end_ns && row.1 + row.2 > range.start_ns).collect();
        let clip = |time: u64| time.clamp(range.start_ns, range.end_ns);
        for (_, begin, length, _) in inside.iter().filter(|row| row.2 >= 4 * pixel_ns) {
            let near = |at: u64, wanted: u64| (at + origin).abs_diff(wanted) <= window.unit;
            let (begin, end) = (clip(*begin), clip(begin + length));
            // Of what reaches into the window by less than a unit, half a pixel, nothing is seen.
            if end - begin < window.unit {
                continue;
            }
            let exact = drawn.iter().any(|piece| near(piece.0, begin) && near(piece.1, end) && piece.2 == 1);
            prop_assert!(exact, "{begin} to {end} of {window:?}");
        }
        // How long each state is, by the shares of what is drawn.
        for (number, name) in window.names.iter().enumerate() {
            let told = window.pieces.iter().map(|piece| {
                let names = window.looks[piece.look as usize];
                let told = names.iter().zip(piece.shares).filter(|(name, _)| usize::from(**name) == number);
                let share = told.map(|(_, share)| u64::from(share)).max().unwrap_or(0);
                u64::from(piece.width) * window.unit * share
            });
            let told: u64 = told.sum();
            let state: u32 = name.text.parse().unwrap();
            let of_state = inside.iter().filter(|row| row.3 == state);
            let took: u64 = of_state.map(|row| clip(row.1 + row.2) - clip(row.1)).sum();
            let told = told / u64::from(SHARE_STEPS);
            prop_assert!(told.abs_diff(took) <= wide / 6 + 4 * pixel_ns, "{state}: {told} of {took} in {wide}");
        }
    }
}

#[test]
fn what_is_no_track_is_said() {
    let source = source(&[(1, 1000, 10, 1), (2, 1000, 5, 2)], 10);
    let go_on = AtomicBool::new(false);
    let query = |width, tracks: &[&str]| TrackWindowQuery {
        range: TimeRange { start_ns: 1000, end_ns: 1010 },
        width,
        tracks: tracks.iter().map(|track| track.parse().unwrap()).collect(),
    };
    let window = track_window(&source, &query(10, &["0.1", "0.7", "4.0"]), &go_on).unwrap();
    assert_eq!(window.tracks.iter().map(|track| track.pieces).collect::<Vec<_>>(), [1, 0, 0]);
    for bad in [query(0, &["0.0"]), query(9000, &["0.0"]), query(10, &[])] {
        assert!(matches!(track_window(&source, &bad, &go_on), Err(ViewError::OutOfRange { .. })));
    }
    let none = TrackMomentQuery { track: "0.9".parse().unwrap(), time_ns: 0 };
    assert!(track_moment(&source, &none, &go_on).unwrap_err().is_bad_request());
    for bad in ["", "1", "1.", ".1", "1.x", "-1.2", "70000.1"] {
        assert!(bad.parse::<TrackId>().is_err(), "{bad}");
    }
    assert_eq!("3.17".parse::<TrackId>().unwrap().to_string(), "3.17");
    let cancelled = AtomicBool::new(true);
    assert!(matches!(track_window(&source, &query(10, &["0.0"]), &cancelled), Err(ViewError::Cancelled)));
}

#[test]
fn the_binary_form_has_what_it_says() {
    let source = source(&[(1, 1000, 10, 1), (1, 1010, 1, 2), (1, 1011, 1, 1), (1, 1012, 1, 2), (1, 1013, 50, 1)], 10);
    let range = TimeRange { start_ns: 1000, end_ns: 1100 };
    let query = TrackWindowQuery { range, width: 40, tracks: vec!["0.0".parse().unwrap()] };
    let window = track_window(&source, &query, &AtomicBool::new(false)).unwrap();
    assert_eq!((window.start, window.end, window.unit), (0, 100, 1));
    assert_eq!(
        pieces(&window, 0).iter().map(|piece| (piece.0, piece.1, piece.2)).collect::<Vec<_>>(),
        [(0, 10, 1), (10, 13, 3), (13, 63, 1)]
    );
    // One third and two, in the order of the names.
    assert_eq!(pieces(&window, 0)[1].3, [5, 10, 0]);
    let bytes = window.encode(b"{}");
    let golden: Vec<u8> = [
        &b"BTW2"[..],
        &[2, 0, 0, 0],
        b"{}\0\0",
        &[2, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
        &[0, 0, 0, 0],
        &[0, 0, 1, 0],
        &[0, 0, 1, 0],
        &[0, 0, 0],
        &[10, 3, 50],
        &[0, 1, 0],
        &[0; 6],
        &[1, 3, 1],
        &[5 | 10 << 4],
        &[0],
    ]
    .concat();
    assert_eq!(bytes, golden);
}
