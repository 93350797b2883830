//! How long a search in 200,000 names and more takes: `cargo bench -p bathyscope-catalog --bench names`. The names are the
//! running kernel's symbols, as often as it takes, each copy with an ending of its own. Somebody who types goes on
//! undisturbed below 50 ms, with all that comes around the search; it must stay far below that itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a benchmark prints its readings")]

use std::{hint::black_box, time::Instant};

use bathyscope_catalog::{
    KernelFunctionLists,
    names::{Names, NamesBuilder, NewName, Query, Searched, search},
};

const LEAST: usize = 200_000;
const RUNS: usize = 60;
const ROUNDS: usize = 3;

fn kernels() -> Names {
    let symbols = std::fs::read("/proc/kallsyms").unwrap_or_default();
    let start = Instant::now();
    let names = KernelFunctionLists { symbols: &symbols, ..KernelFunctionLists::default() }.names();
    println!("{} functions of this kernel read in {:.0} ms", names.len(), start.elapsed().as_secs_f64() * 1e3);
    names
}

fn many() -> Names {
    let kernel = kernels();
    let mut texts: Vec<String> = kernel.iter().map(|name| name.text.to_owned()).collect();
    if texts.is_empty() {
        texts = (0..50_000).map(|n| format!("made_up_{n}_{}", n * 7919 % 1000)).collect();
    }
    let mut builder = NamesBuilder::new();
    for copy in 0..LEAST.div_ceil(texts.len()) {
        for text in &texts {
            let text = if copy == 0 { text.clone() } else { format!("{text}.part.{copy}") };
            builder.add(NewName { text: &text, ..NewName::default() });
        }
    }
    let start = Instant::now();
    let names = builder.finish();
    println!("{} names put in order in {:.0} ms", names.len(), start.elapsed().as_secs_f64() * 1e3);
    println!("{:.1} MiB of memory", names.memory_bytes() as f64 / f64::from(1 << 20));
    names
}

/// Milliseconds at a share of the sorted readings.
fn at(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

fn main() {
    let names = many();
    let lists = [Searched { names: &names, group: None }];
    println!(
        "{:>20} {:>9} {:>9} {:>9} {:>9}   noise of p50 over {ROUNDS} rounds",
        "query", "found", "p50 ms", "p99 ms", "max ms"
    );
    for query in [
        "",
        "e",
        "s",
        "vfs_read",
        "vfs",
        "read file",
        "tcp_send",
        "sched switch",
        "a e i o",
        "vfs_*",
        "*_read*",
        "*e*",
        "?[a-z]*",
        "zzzz",
    ] {
        let parsed = Query::new(query);
        let (mut all, mut middles, mut total) = (Vec::new(), Vec::new(), 0);
        for _ in 0..ROUNDS {
            let mut took: Vec<f64> = (0..RUNS)
                .map(|_| {
                    let start = Instant::now();
                    total = black_box(search(&lists, black_box(&parsed), 0, 100)).total();
                    start.elapsed().as_secs_f64() * 1e3
                })
                .collect();
            took.sort_by(f64::total_cmp);
            middles.push(at(&took, 0.5));
            all.extend(took);
        }
        all.sort_by(f64::total_cmp);
        middles.sort_by(f64::total_cmp);
        let noise = (at(&middles, 1.0) - at(&middles, 0.0)) / at(&middles, 0.5) * 100.0;
        println!(
            "{query:>20} {total:>9} {:>9.2} {:>9.2} {:>9.2}   {noise:.0} %",
            at(&all, 0.5),
            at(&all, 0.99),
            at(&all, 1.0)
        );
    }
}
