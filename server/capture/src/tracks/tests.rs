//! Windows and sums from pages are those of all rows.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{collections::HashMap, sync::Arc};

use proptest::prelude::*;

use super::{
    ColumnGrid, ColumnSum, DRAWN_LEVEL, DrawnDecoder, DrawnPage, FAN_OUT, NameTotals, PAGE_ROWS, TrackColumns,
    TrackDirectory, TrackEntry, TrackIndexBuilder, TrackInfo, TrackPage, TrackPages, TrackPiece, TrackRule,
    ends::PAGE_ENDS_LEVEL, track_totals, walk_track,
};
use crate::{Batch, Column, ColumnData, ColumnType, Display, RowKind, RowMeaning, SliceTime, StreamKind, StreamSchema};

fn schema(kind: RowKind, key: &[&str], own: &[(&str, ColumnType)]) -> StreamSchema {
    let column =
        |(name, ty): &(&str, ColumnType)| Column { name: (*name).to_owned(), ty: *ty, display: Display::Decimal };
    StreamSchema {
        rows: Some(Box::new(RowMeaning::new(kind, key))),
        ..StreamSchema::new("some", StreamKind::Events, own.iter().map(column))
    }
}

fn states() -> StreamSchema {
    let kind = RowKind::State { state: "state".to_owned(), duration: Some("duration_ns".to_owned()) };
    schema(kind, &["tid"], &[("state", ColumnType::Text), ("duration_ns", ColumnType::U64)])
}

fn slices(depth: Option<&str>) -> StreamSchema {
    let depth = depth.map(str::to_owned);
    let kind = RowKind::Slice { duration: "duration_ns".to_owned(), time: SliceTime::End, depth };
    schema(
        kind,
        &["dev", "sector"],
        &[
            ("dev", ColumnType::U64),
            ("sector", ColumnType::U64),
            ("duration_ns", ColumnType::U64),
            ("depth", ColumnType::U64),
        ],
    )
}

/// Rows of states: time, CPU, pid, tid, name of the thread, state, duration.
fn batch(rows: &[[u64; 7]]) -> Batch {
    let column = |at: usize| rows.iter().map(|row| row[at]).collect::<Vec<_>>();
    let ids = |at: usize| ColumnData::Id(rows.iter().map(|row| row[at] as u32).collect());
    let numbers = |at: usize| ColumnData::U64(column(at));
    Batch { columns: vec![numbers(0), numbers(1), numbers(2), numbers(3), ids(4), ids(5), numbers(6)] }
}

/// Pages of all tracks by track, level and number.
#[derive(Default)]
struct Stored {
    pages: HashMap<(u32, u8, u64), Arc<TrackPage>>,
    drawn: HashMap<(u32, u64), DrawnPage>,
    tracks: Vec<TrackInfo>,
}

impl Stored {
    fn take(&mut self, builder: &mut TrackIndexBuilder) {
        for page in builder.take_pages() {
            assert!(page.bytes.len() <= super::MAX_TRACK_PAGE_BYTES);
            if page.level == DRAWN_LEVEL {
                let decoded = DrawnDecoder::default().decode(&page.bytes).unwrap();
                self.drawn.insert((page.track, page.number), decoded);
                continue;
            }
            let decoded = TrackPage::decode(&page.bytes).unwrap();
            self.pages.insert((page.track, page.level, page.number), Arc::new(decoded));
        }
        let directory = builder.directory();
        assert_eq!(TrackDirectory::decode(&directory.encode()).unwrap(), directory);
        self.tracks = directory.tracks;
    }

    fn drawn(&self, track: usize, range: std::ops::Range<u64>, pixel_ns: u64) -> Vec<TrackPiece> {
        let mut pieces = Vec::new();
        let pages = PagesOf(self, track as u32);
        walk_track(&pages, &self.tracks[track], range, pixel_ns, &mut |piece| pieces.push(piece));
        pieces
    }

    fn totals(&self, track: usize, range: std::ops::Range<u64>) -> NameTotals {
        let mut totals = NameTotals::default();
        track_totals(&PagesOf(self, track as u32), &self.tracks[track], range, &mut totals);
        totals.retain(|_, time_ns| *time_ns > 0);
        totals
    }
}

struct PagesOf<'a>(&'a Stored, u32);

impl TrackPages for PagesOf<'_> {
    fn page(&self, level: u8, number: u32) -> Option<Arc<TrackPage>> {
        Some(Arc::clone(&self.0.pages[&(self.1, level, number.into())]))
    }
}

/// The sum of pieces from all rows, without pages.
fn naive(rows: &[TrackEntry], range: &std::ops::Range<u64>) -> (u64, u64, NameTotals) {
    let mut totals = NameTotals::default();
    let inside = |row: &&TrackEntry| {
        row.begin_ns < range.end
            && (row.end_ns > range.start || row.begin_ns == row.end_ns && row.begin_ns >= range.start)
    };
    let (mut count, mut busy_ns) = (0, 0);
    for row in rows.iter().filter(inside) {
        count += 1;
        busy_ns += row.duration_ns();
        *totals.entry(row.name).or_default() += row.end_ns.min(range.end).saturating_sub(row.begin_ns.max(range.start));
    }
    totals.retain(|_, time_ns| *time_ns > 0);
    (count, busy_ns, totals)
}

/// One thread's states: pauses, durations and states, in batches.
fn one_track() -> impl Strategy<Value = (Vec<(u64, u64, u32)>, usize)> {
    let lengths = prop_oneof![4 => 1_u64..50, 1 => 1_000_u64..100_000, 1 => Just(0_u64)];
    let pauses = prop_oneof![8 => Just(0_u64), 1 => 1_u64..10_000];
    (prop::collection::vec((pauses, lengths, 1_u32..12), 1..3000), 1_usize..700)
}

#[test]
fn a_row_without_length_that_has_a_page_for_itself_keeps_its_name() {
    let mut builder = TrackIndexBuilder::new(TrackRule::of(&states()).unwrap());
    let word = |number: u64, length: u64| [1000 + number * 10, 0, 7, 8, 9, 1 + number % 3, length];
    let last = PAGE_ROWS as u64;
    let words: Vec<_> = (0..last).map(|number| word(number, 10)).chain([word(last, 0)]).collect();
    builder.add(&batch(&words));
    let mut stored = Stored::default();
    stored.take(&mut builder);
    let of_rows = stored.drawn(0, 0..u64::MAX, 0);
    stored.tracks[0].has_page_ends = false;
    assert_eq!(stored.drawn(0, 0..u64::MAX, 0), of_rows);
    let name = |piece: &TrackPiece| piece.names[0].0;
    assert_eq!(of_rows.iter().rev().take(4).map(name).collect::<Vec<_>>(), [2, 1, 0, 2], "the names go on in turn");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn windows_and_sums_are_those_of_all_rows(
        (rows, batch_rows) in one_track(), from in 0.0_f64..1.0, share in 0.0_f64..1.2, pixels in 1_u64..400,
        published in 0_usize..4,
    ) {
        let mut at = 1000;
        let all: Vec<TrackEntry> = rows.iter().map(|(pause, length, name)| {
            let begin_ns = at + pause;
            at = begin_ns + length;
            TrackEntry { begin_ns, end_ns: at, name: *name }
        }).collect();
        let mut builder = TrackIndexBuilder::new(TrackRule::of(&states()).unwrap());
        let mut stored = Stored::default();
        for (number, part) in all.chunks(batch_rows).enumerate() {
            let words: Vec<_> =
                part.iter().map(|row| [row.begin_ns, 0, 7, 8, 9, row.name.into(), row.duration_ns()]).collect();
            builder.add(&batch(&words));
            // A capture that is recorded is stored again and again.
            if published > 0 && number % published == 0 {
                stored.take(&mut builder);
            }
        }
        stored.take(&mut builder);
        prop_assert_eq!(stored.tracks.len(), 1);
        prop_assert_eq!(stored.tracks[0].rows, all.len() as u64);
        let names = builder.directory().names;
        // States are numbered as they come.
        let named: Vec<TrackEntry> = all.iter().map(|row| TrackEntry {
            name: names.iter().position(|name| name.text == row.name).unwrap() as u32, ..*row
        }).collect();
        let start = (from * at as f64) as u64;
        let range = start..start + 1 + (share * at as f64) as u64;
        let (count, busy_ns, totals) = naive(&named, &range);
        let exact = stored.drawn(0, range.clone(), 0);
        prop_assert_eq!(exact.iter().map(|piece| piece.rows).sum::<u64>(), count);
        prop_assert_eq!(exact.iter().map(|piece| piece.busy_ns).sum::<u64>(), busy_ns);
        prop_assert_eq!(stored.totals(0, range.clone()), totals);

        let pixel_ns = (range.end - range.start).div_ceil(pixels);
        let pieces = stored.drawn(0, range.clone(), pixel_ns);
        prop_assert!(pieces.windows(2).all(|pair| pair[0].end_ns <= pair[1].begin_ns));
        // Whatever is wider than a pixel is drawn as it is.
        for row in named.iter().filter(|row| row.duration_ns() > pixel_ns) {
            if row.end_ns > range.start && row.begin_ns < range.end {
                prop_assert!(pieces.contains(&row.into()), "{row:?}");
            }
        }
        let mut wide = pieces.iter().filter(|piece| piece.end_ns - piece.begin_ns > 4 * pixel_ns);
        prop_assert!(wide.all(|piece| piece.rows == 1));
        let levels = usize::from(stored.tracks[0].top_level()) + 1;
        let most = ((pixels as usize + 2) * FAN_OUT * levels).max(2 * PAGE_ROWS);
        prop_assert!(pieces.len() <= most, "{}", pieces.len());
        // An index of an earlier release has no ends of pages.
        stored.tracks[0].has_page_ends = false;
        let before = stored.drawn(0, range.clone(), 0);
        prop_assert_eq!(before, exact);
        prop_assert!(stored.drawn(0, range.clone(), pixel_ns).len() <= most);
        // The whole is the sum that the track has.
        let sum = stored.tracks[0].sum;
        let (_, busy_ns, _) = naive(&named, &(0..u64::MAX));
        prop_assert_eq!((sum.begin_ns, sum.end_ns, sum.rows, sum.busy_ns()),
            (named[0].begin_ns, at, all.len() as u64, busy_ns));
        let longest = named.iter().map(TrackEntry::duration_ns).max().unwrap();
        prop_assert_eq!(sum.longest.duration_ns(), longest);
    }

    #[test]
    fn pages_of_what_is_drawn_are_columns_of_all_rows(
        (rows, batch_rows) in one_track(), published in 0_usize..4, dense in 1_u64..200, burst in 0_usize..3000,
    ) {
        // Rows before the burst are so many times as long, so that finer columns begin in between.
        let mut at = 0;
        let all: Vec<TrackEntry> = rows.iter().enumerate().map(|(number, (pause, length, name))| {
            let times = if number < burst { dense } else { 1 };
            let begin_ns = at + pause * times;
            at = begin_ns + length * times;
            TrackEntry { begin_ns, end_ns: at, name: name % 6 + 1 }
        }).collect();
        let mut builder = TrackIndexBuilder::new(TrackRule::of(&states()).unwrap());
        let mut stored = Stored::default();
        for (number, part) in all.chunks(batch_rows).enumerate() {
            let words: Vec<_> =
                part.iter().map(|row| [row.begin_ns, 0, 7, 8, 9, row.name.into(), row.duration_ns()]).collect();
            builder.add(&batch(&words));
            if published > 0 && number % published == 0 {
                stored.take(&mut builder);
            }
        }
        stored.take(&mut builder);
        let names = builder.directory().names;
        let named: Vec<TrackEntry> = all.iter().map(|row| TrackEntry {
            name: names.iter().position(|name| name.text == row.name).unwrap() as u32, ..*row
        }).collect();
        for ((_, number), page) in &stored.drawn {
            let grid = ColumnGrid::new((number >> 56) as u8).unwrap();
            let start = (number & ((1 << 56) - 1)) * grid.page_ns();
            let until = start + u64::from(page.until) * grid.unit_ns();
            let mut pieces = Vec::new();
            // What is after the page's end may be in the same column as its last rows.
            let known = named.iter().filter(|row| row.begin_ns < until);
            let mut columns = TrackColumns::new(grid);
            known.for_each(|row| columns.push(ColumnSum::from(row), &mut |sum| pieces.push(sum)));
            columns.finish(&mut |sum| pieces.push(sum));
            let unit = |time_ns: u64| grid.unit(time_ns.clamp(start, start + grid.page_ns())) - grid.unit(start);
            let is_in = |sum: &&ColumnSum| sum.end_ns > start || sum.begin_ns >= start;
            let wanted: Vec<_> = pieces.iter().filter(is_in).map(|sum| {
                (unit(sum.begin_ns), unit(sum.end_ns), super::rows_code(sum.rows), sum.look())
            }).collect();
            let found: Vec<_> = page.pieces.iter().filter(|piece| piece.begin < page.until).map(|piece| {
                let look = page.looks[usize::from(piece.look)];
                (u64::from(piece.begin), u64::from(piece.end), piece.rows, (look, piece.shares))
            }).collect();
            if page.until == 4096 {
                prop_assert_eq!(&found, &wanted, "page {} of {:?}", number, grid);
            } else {
                // The last column may go on.
                prop_assert!(found.len() + 2 >= wanted.len());
                let both = found.len().min(wanted.len()).saturating_sub(1);
                prop_assert_eq!(&found[..both], &wanted[..both], "page {} of {:?}", number, grid);
            }
            prop_assert_eq!(page.goes_on, pieces.iter().any(|sum| sum.begin_ns < start && sum.end_ns > start));
            prop_assert!(page.pieces.len() as u64 <= 2 * super::PAGE_COLUMNS + 1);
        }
        if all.len() > 2000 && burst == 0 && at < 200_000 {
            prop_assert!(!stored.drawn.is_empty());
        }
    }

    #[test]
    fn damaged_pages_are_refused(at in 0_usize..4000, bit in 0_u8..8, cut in 0_usize..4000) {
        let rows = (0..200_u64).map(|at| TrackEntry { begin_ns: at * 10, end_ns: at * 10 + at % 7, name: 3 });
        let damage = |bytes: &[u8]| {
            let mut damaged = bytes.to_vec();
            damaged[at % bytes.len()] ^= 1 << bit;
            (damaged, bytes[..cut % bytes.len()].to_vec())
        };
        let (damaged, short) = damage(&TrackPage::Rows(rows.collect()).encode());
        prop_assert!(TrackPage::decode(&damaged).is_err() && TrackPage::decode(&short).is_err());
        let directory = TrackDirectory { tracks: vec![TrackInfo::default(); 40], ..TrackDirectory::default() };
        let (damaged, short) = damage(&directory.encode());
        prop_assert!(TrackDirectory::decode(&damaged).is_err() && TrackDirectory::decode(&short).is_err());
    }
}

#[test]
fn slices_that_overlap_are_on_lanes() {
    let rule = TrackRule::of(&slices(None)).unwrap();
    let mut builder = TrackIndexBuilder::new(rule);
    // Time of the end, device, sector, duration: two requests at once, and a third after the first.
    let rows = [[10, 1, 5, 10], [15, 1, 6, 12], [20, 1, 7, 9], [25, 2, 8, 20]];
    let numbers = |at: usize| ColumnData::U64(rows.iter().map(|row| row[at]).collect());
    let none = || ColumnData::U64(vec![0; rows.len()]);
    let columns = vec![
        numbers(0),
        none(),
        none(),
        none(),
        ColumnData::Id(vec![0; rows.len()]),
        numbers(1),
        numbers(2),
        numbers(3),
        none(),
    ];
    builder.add(&Batch { columns: columns.clone() });
    let mut stored = Stored::default();
    stored.take(&mut builder);
    let lanes: Vec<_> = stored.tracks.iter().map(|track| (track.key, track.lane, track.rows)).collect();
    assert_eq!(lanes, [(1, 0, 2), (1, 1, 1), (2, 0, 1)]);
    // With a depth, that is the lane.
    let mut builder = TrackIndexBuilder::new(TrackRule::of(&slices(Some("depth"))).unwrap());
    let mut columns = columns;
    columns[8] = ColumnData::U64(vec![1, 1, 0, 3]);
    builder.add(&Batch { columns });
    stored.take(&mut builder);
    let lanes: Vec<_> = stored.tracks.iter().map(|track| (track.key, track.lane, track.rows)).collect();
    assert_eq!(lanes, [(1, 1, 2), (1, 0, 1), (2, 3, 1)]);
}

#[test]
fn tracks_are_what_rows_are_told_apart_by() {
    use ColumnType::{Text, U64};
    let slice = || RowKind::Slice { duration: "duration_ns".to_owned(), time: SliceTime::Begin, depth: None };
    let state = |name: &str| RowKind::State { state: name.to_owned(), duration: Some("duration_ns".to_owned()) };
    let duration = ("duration_ns", U64);
    let kind = |kind, key: &[&str], own: &[(&str, ColumnType)]| {
        TrackRule::of(&schema(kind, key, own)).map(|rule| match rule.kind() {
            super::TrackKind::Thread => "thread".to_owned(),
            super::TrackKind::Cpu => "cpu".to_owned(),
            super::TrackKind::Value(column) => column.clone(),
        })
    };
    assert_eq!(kind(state("state"), &["tid"], &[("state", Text), duration]).as_deref(), Some("thread"));
    assert_eq!(kind(state("comm"), &["cpu"], &[duration]).as_deref(), Some("cpu"));
    assert_eq!(kind(slice(), &["dev", "sector"], &[("dev", U64), ("sector", U64), duration]).as_deref(), Some("dev"));
    assert_eq!(kind(slice(), &["work"], &[("work", U64), duration]).as_deref(), Some("thread"));
    assert_eq!(kind(slice(), &["cpu", "vec"], &[("vec", U64), duration]).as_deref(), Some("cpu"));
    assert_eq!(
        kind(state("state"), &["skaddr"], &[("skaddr", U64), ("state", Text), duration]).as_deref(),
        Some("skaddr")
    );
    assert_eq!(kind(RowKind::Instant, &["tid"], &[]), None);
    assert_eq!(kind(RowKind::State { state: "state".to_owned(), duration: None }, &["tid"], &[("state", Text)]), None);
}

#[test]
fn a_page_is_whole_at_its_number_of_rows() {
    let mut builder = TrackIndexBuilder::new(TrackRule::of(&states()).unwrap());
    let rows: Vec<_> = (0..PAGE_ROWS as u64 + 1).map(|at| [at * 10, 0, 7, 8, 9, 1, 10]).collect();
    builder.add(&batch(&rows[..PAGE_ROWS]));
    assert_eq!(builder.take_full_pages(), []);
    builder.add(&batch(&rows[PAGE_ROWS..]));
    let pages = builder.take_pages();
    assert_eq!(
        pages
            .iter()
            .filter(|page| page.level < PAGE_ENDS_LEVEL)
            .map(|page| (page.level, page.number))
            .collect::<Vec<_>>(),
        [(0, 0), (0, 1), (1, 0)]
    );
    assert_eq!(pages.iter().filter(|page| page.level == PAGE_ENDS_LEVEL).count(), 1);
    assert_eq!(
        TrackPage::decode(&pages.iter().find(|page| page.level == PAGE_ENDS_LEVEL).unwrap().bytes).unwrap(),
        TrackPage::RowPageEnds(vec![PAGE_ROWS as u64 * 10, (PAGE_ROWS as u64 + 1) * 10])
    );
    assert_eq!(builder.directory().tracks[0].top_level(), 1);
}
