//! Random scripts: each is accepted by the verifier of the running kernel or refused by the checker with a message; a
//! refusal of the verifier, or a panic, is a fault. Always the same ones unless the environment says otherwise:
//!
//! - `BATHYSCOPE_RANDOM_SEED` the first seed,
//! - `BATHYSCOPE_RANDOM_COUNT` how many scripts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::print_stdout, reason = "what was skipped must be seen")]

mod generate;
use crate::hand::load;

use std::collections::BTreeMap;

use bathyscope_bpf::lang::{CheckOptions, CompileOptions, compile, recorded::RecordedHost, render};
use bathyscope_plan::Severity;

const COUNT: u64 = 400;
/// In the lab, where everything is emulated.
const LAB_COUNT: u64 = 120;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What became of many scripts.
#[derive(Default)]
struct Outcome {
    accepted: u64,
    /// First lines of messages, with how often.
    refused: BTreeMap<String, u64>,
    faults: Vec<String>,
}

fn outcome(series: &str, load: bool) -> Outcome {
    let host = RecordedHost::new(series).unwrap();
    let lab = std::env::var_os("BATHYSCOPE_KEEP_FOR").is_some();
    let count = number("BATHYSCOPE_RANDOM_COUNT").unwrap_or(if lab { LAB_COUNT } else { COUNT });
    let first = number("BATHYSCOPE_RANDOM_SEED").unwrap_or(1);
    let mut outcome = Outcome::default();
    for seed in first..first + count {
        let text = generate::script(seed);
        let check = CheckOptions { unsafe_allowed: true, pid: None };
        match compile(&text, &host, &CompileOptions { check, ..CompileOptions::default() }) {
            Err(diagnostics) => {
                let error = diagnostics.iter().find(|it| it.severity == Severity::Error);
                let first = error.unwrap_or_else(|| panic!("seed {seed}: refused without a word:\n{text}"));
                *outcome.refused.entry(first.message.clone()).or_default() += 1;
                if std::env::var_os("BATHYSCOPE_RANDOM_SHOW").is_some() {
                    println!("seed {seed}: {}", render(&text, "script", first));
                }
            }
            Ok(_) if !load => outcome.accepted += 1,
            Ok(compiled) => match load::load(&compiled) {
                Ok(()) => outcome.accepted += 1,
                Err(refusal) => outcome.faults.push(format!("=== seed {seed}:\n{text}\n{refusal}")),
            },
        }
    }
    outcome
}

fn judge(what: &str, outcome: &Outcome) {
    let refused: u64 = outcome.refused.values().sum();
    println!("{what}: {} accepted, {refused} refused by the checker", outcome.accepted);
    for (message, count) in &outcome.refused {
        println!("  {count} {message}");
    }
    assert!(outcome.faults.is_empty(), "{} faults:\n{}", outcome.faults.len(), outcome.faults.join("\n"));
    // Otherwise the generator has lost its way.
    assert!(outcome.accepted > refused * 4, "most are well-typed: {} of {refused} others", outcome.accepted);
}

#[test]
fn random_scripts_compile_or_are_told_why_not() {
    for series in ["6.1", "6.12", "6.18"] {
        judge(series, &outcome(series, false));
    }
}

#[test]
fn the_verifier_accepts_what_the_checker_accepts() {
    let Some(series) = load::series() else { return };
    judge(&series, &outcome(&series, true));
}
