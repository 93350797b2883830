//! How long a search in 60,000 names takes: `cargo bench -p bathyscope-catalog`. A person types on undisturbed below
//! 50 ms; the slowest query must stay below that.
#![expect(clippy::print_stdout, reason = "the figures are its output")]

use std::time::Instant;

use bathyscope_capture::TracepointName;
use bathyscope_catalog::{parse_available_events, search_tracepoints};

fn main() {
    let real = include_bytes!("../fixtures/available_events");
    let mut text = Vec::new();
    for copy in 0..30 {
        for line in real.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            text.extend_from_slice(line);
            text.extend_from_slice(format!("_{copy}\n").as_bytes());
        }
    }
    let start = Instant::now();
    let names: Vec<TracepointName> = parse_available_events(&text);
    println!("{} names read in {:.1} ms", names.len(), start.elapsed().as_secs_f64() * 1e3);
    for query in ["", "s", "sched_switch", "sched:sw", "enter openat", "shdswtch", "e", "zzzz", "a e i o u s c t"] {
        let mut slowest = 0.0_f64;
        let mut total = 0;
        for _ in 0..20 {
            let start = Instant::now();
            total = search_tracepoints(&names, query, 50).total;
            slowest = slowest.max(start.elapsed().as_secs_f64() * 1e3);
        }
        println!("{query:>16}: slowest of 20 {slowest:.2} ms, {total} found");
    }
}
