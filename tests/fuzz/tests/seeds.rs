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
fn seeds_of_records_of_perf() {
    replay("perf_records");
}

#[test]
fn seeds_of_records_of_calls() {
    replay("call_records");
}

#[test]
fn seeds_of_records_of_states() {
    replay("state_records");
}

#[test]
fn seeds_of_records_of_probes() {
    replay("probe_records");
}

#[test]
fn seeds_of_pages_of_ftrace() {
    replay("trace_pages");
}

#[test]
fn seeds_of_records_and_maps_of_scripts() {
    replay("script_records");
}

#[test]
fn seeds_of_conditions() {
    replay("filters");
}

#[test]
fn seeds_of_scripts_of_other_tracers() {
    replay("translate");
}

#[test]
fn seeds_of_scripts_of_the_builder() {
    replay("builder");
}

#[test]
fn seeds_of_lines_of_sysdig() {
    replay("sysdig");
}

#[test]
fn seeds_of_commands() {
    replay("commands");
}

#[test]
fn seeds_of_texts_of_the_host() {
    replay("host_texts");
}

#[test]
fn seeds_of_lines_of_probes() {
    replay("probe_lines");
}

#[test]
fn seeds_of_formats_of_events() {
    replay("event_formats");
}

#[test]
fn seeds_of_queries() {
    replay("sql");
}

#[test]
fn seeds_of_elf_files() {
    replay("elf");
}

#[test]
fn seeds_of_debug_information() {
    replay("dwarf");
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
