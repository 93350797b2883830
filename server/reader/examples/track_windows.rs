//! How long windows of tracks take without HTTP, and how many bytes they are: of a stored capture with computed streams.
//!
//! ```text
//! cargo run --release -p bathyscope-reader --example track_windows DIRECTORY CAPTURE [WINDOWS]
//! ```
//!
//! DIRECTORY is that of a database, such as `make_captures` and `bathyscope captures compute` have made. For 40 and for 200 tracks
//! it makes windows at random, from the whole to a ten thousandth, at 1,280 pixels: what they take of the wall's time and of
//! the CPU's, in milliseconds, and what is sent, uncompressed and with zstd at the level of the console.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::arithmetic_side_effects, reason = "a benchmark")]

use std::{error::Error, path::Path, time::Instant};

use bathyscope_reader::CaptureCache;
use bathyscope_store::{Options, Store};
use bathyscope_views::{Cancel, Source as _, TimeRange, TrackId, TrackWindowQuery, track_list, track_window};

const WIDTH: u32 = 1280;

/// The same numbers on every run, as those of `tests/bench/captures.mjs`.
struct Dice(u32);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(self.0) / 4_294_967_296.0
    }
}

/// The time that this thread was on a CPU, in milliseconds.
fn cpu_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0) / 1e6
}

fn at(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len() as f64 * share) as usize;
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

fn measure(view: &bathyscope_reader::CaptureView, count: usize, windows: usize) -> Result<(), Box<dyn Error>> {
    let tracks: Vec<TrackId> =
        track_list(view, &Cancel::new(false))?.tracks.iter().map(|track| track.id.parse()).collect::<Result<_, _>>()?;
    let end_ns = view.tracks().iter().flat_map(|(_, directory)| &directory.tracks).map(|track| track.sum.end_ns).max();
    let (start_ns, length) = (view.origin_ns(), (end_ns.unwrap_or(0) - view.origin_ns()) as f64);
    let mut dice = Dice(13);
    let (mut wall, mut cpu, mut raw, mut sent, mut zipping) = (vec![], vec![], vec![], vec![], vec![]);
    let mut slowest = (0.0, 0.0);
    for _ in 0..windows {
        let wide = (length * 10_f64.powf(-4.0 * dice.roll())).max(1000.0);
        let start = start_ns + (dice.roll() * (length - wide)) as u64;
        let first = (dice.roll() * tracks.len().saturating_sub(count) as f64) as usize;
        let query = TrackWindowQuery {
            range: TimeRange { start_ns: start, end_ns: start + wide as u64 },
            width: WIDTH,
            tracks: tracks.iter().skip(first).take(count).copied().collect(),
        };
        let (began, cpu_before) = (Instant::now(), cpu_ms());
        let window = track_window(view, &query, &Cancel::default())?;
        let bytes = window.encode(&serde_json::to_vec(&window)?);
        wall.push(began.elapsed().as_secs_f64() * 1e3);
        cpu.push(cpu_ms() - cpu_before);
        let before = cpu_ms();
        let small = zstd::bulk::compress(&bytes, 1)?;
        zipping.push(cpu_ms() - before);
        raw.push(bytes.len() as f64);
        sent.push(small.len() as f64);
        if wall.last().copied().unwrap_or(0.0) > slowest.0 {
            slowest = (wall.last().copied().unwrap_or(0.0), wide / 1e6);
        }
    }
    println!(
        "{count} tracks: wall p50 {:.2} p99 {:.2}, this thread's CPU p50 {:.2} p99 {:.2}, compressing p50 {:.2} p99 {:.2}; bytes \
         p50 {} most {}, compressed p50 {} p99 {} most {}; the slowest was {:.0} ms wide",
        at(&wall, 0.5),
        at(&wall, 0.99),
        at(&cpu, 0.5),
        at(&cpu, 0.99),
        at(&zipping, 0.5),
        at(&zipping, 0.99),
        at(&raw, 0.5),
        at(&raw, 1.0),
        at(&sent, 0.5),
        at(&sent, 0.99),
        at(&sent, 1.0),
        slowest.1,
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, capture, rest @ ..] = &arguments[..] else {
        return Err("which directory, and which capture?".into());
    };
    let windows = rest.first().map_or(Ok(300), |word| word.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let view = runtime.block_on(async {
        let store = Store::open(Path::new(directory), Options::default()).await?;
        CaptureCache::new(store).view(capture.parse()?, false).await.map_err(Box::<dyn Error>::from)
    })?;
    for count in [40, 200] {
        measure(&view, count, windows)?;
    }
    Ok(())
}
