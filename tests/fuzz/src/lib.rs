//! Inputs of hostile sides, given to the code that takes them first. Each target takes any bytes; it must end soon and
//! not panic, and what comes back does not matter.
//!
//! Constraints: no rights, no network, no kernel interface; what a target makes is gone when it returns.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a target that cannot begin has to say so")]

mod agent;
mod console;
mod decode;
mod mutate;
mod parsers;
mod script;

use std::path::PathBuf;

pub use mutate::Mutator;

/// Something that takes bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is that of its folder of seeds.
    pub name: &'static str,
    /// Takes an input.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 22] = [
    Target { name: "agent_bytes", run: agent::bytes },
    Target { name: "agent_requests", run: agent::requests },
    Target { name: "script", run: script::script },
    Target { name: "translate", run: parsers::translate },
    Target { name: "builder", run: parsers::builder },
    Target { name: "login", run: console::login },
    Target { name: "import", run: console::import },
    Target { name: "perf_records", run: decode::perf_records },
    Target { name: "call_records", run: decode::call_records },
    Target { name: "state_records", run: decode::state_records },
    Target { name: "probe_records", run: decode::probe_records },
    Target { name: "trace_pages", run: decode::trace_pages },
    Target { name: "script_records", run: decode::script_records },
    Target { name: "filters", run: parsers::filters },
    Target { name: "sysdig", run: parsers::sysdig },
    Target { name: "commands", run: parsers::commands },
    Target { name: "host_texts", run: parsers::host_texts },
    Target { name: "probe_lines", run: parsers::probe_lines },
    Target { name: "event_formats", run: parsers::event_formats },
    Target { name: "sql", run: parsers::sql },
    Target { name: "elf", run: parsers::elf },
    Target { name: "dwarf", run: parsers::dwarf },
];

/// Finds a target.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}

/// Libraries that read files for the symboliser, which catches their panics: such a file has no names.
const CAUGHT: [&str; 2] = ["/blazesym-", "/gimli-"];

/// For a fuzzer that takes each panic for a finding, also one that is caught: lets those pass that the product expects.
#[allow(clippy::print_stderr, reason = "what the fuzzer shows")]
pub fn pass_caught_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let is_caught = |file: &str| CAUGHT.iter().any(|library| file.contains(library));
        if !panic.location().is_some_and(|at| is_caught(at.file())) {
            eprintln!("{panic}");
            std::process::abort();
        }
    }));
}

/// The seeds of a target with their file names, in the order of these.
///
/// # Panics
/// If they cannot be read.
pub fn seeds(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut seeds: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).expect("a seed")))
        .collect();
    seeds.sort();
    seeds
}
