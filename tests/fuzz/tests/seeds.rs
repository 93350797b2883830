//! Every committed seed, and some mutations of it, given to its target.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use bathyscope_fuzz::{Mutator, TARGETS, seeds, target};

/// Mutations for each target: enough that none is broken without notice, few enough for every run.
const MUTATIONS: usize = 40;

fn replay(name: &str) {
    let target = target(name).unwrap();
    let all = seeds(name);
    assert!(!all.is_empty(), "{name} has no seeds");
    for (file, seed) in &all {
        println!("{name}: {file}");
        (target.run)(seed);
    }
    let mut mutator = Mutator::new(18, all.into_iter().map(|(_, seed)| seed).collect());
    for _ in 0..MUTATIONS {
        (target.run)(&mutator.input());
    }
}

#[test]
fn p16_seeds_of_the_agents_socket_by_bytes() {
    replay("agent_bytes");
}

#[test]
fn p20_seeds_of_the_agents_socket_by_requests() {
    replay("agent_requests");
}

#[test]
fn p16_seeds_of_scripts() {
    replay("script");
}

#[test]
fn p06_seeds_of_logins() {
    replay("login");
}

#[test]
fn p18_seeds_of_imports() {
    replay("import");
}

#[test]
fn every_target_has_seeds_and_a_file_for_cargo_fuzz() {
    for target in TARGETS {
        assert!(!seeds(target.name).is_empty(), "{}", target.name);
        let file = format!("{}/fuzz/fuzz_targets/{}.rs", env!("CARGO_MANIFEST_DIR"), target.name);
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(text.contains(&format!("\"{}\"", target.name)), "{file} runs another target");
    }
}
