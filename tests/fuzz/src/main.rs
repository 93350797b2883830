//! `bathyscope-fuzz TARGET SECONDS [NUMBER]`: gives mutated seeds to a target. An input that makes it panic is written
//! to a file in the current folder, whose name is printed.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool for developers")]

use std::{
    panic::AssertUnwindSafe,
    process::ExitCode,
    time::{Duration, Instant},
};

use bathyscope_fuzz::{Mutator, TARGETS, seeds, target};

/// Inputs that take longer are told.
const SLOW: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let chosen = words.first().and_then(|name| target(name));
    let seconds = words.get(1).and_then(|seconds| seconds.parse().ok());
    let (Some(target), Some(seconds)) = (chosen, seconds) else {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("usage: bathyscope-fuzz TARGET SECONDS [NUMBER]; targets: {}", names.join(", "));
        return ExitCode::FAILURE;
    };
    let number = words.get(2).and_then(|number| number.parse().ok()).unwrap_or(1);
    let mut mutator = Mutator::new(number, seeds(target.name).into_iter().map(|(_, seed)| seed).collect());
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut inputs, mut slowest) = (0_u64, Duration::ZERO);
    while Instant::now() < end {
        let input = mutator.input();
        let began = Instant::now();
        let ran = std::panic::catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        let took = began.elapsed();
        if ran.is_err() || took > SLOW.max(slowest * 2) {
            let what = if ran.is_err() { "panic" } else { "slow" };
            let name = format!("{what}-{}-{number}-{inputs}", target.name);
            println!("{what} after {took:?}: {name}");
            if let Err(error) = std::fs::write(&name, &input) {
                eprintln!("writing {name}: {error}");
            }
            if ran.is_err() {
                return ExitCode::FAILURE;
            }
        }
        slowest = slowest.max(took);
        inputs += 1;
    }
    println!("{}: {inputs} inputs, the slowest took {slowest:?}", target.name);
    ExitCode::SUCCESS
}
