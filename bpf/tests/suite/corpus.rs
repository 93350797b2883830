//! Every feature of the language in small scripts, and the tools: they compile for each recorded kernel, and where one of
//! these runs and there are the rights, its verifier must accept every program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::print_stdout, reason = "what was skipped must be seen")]

use crate::hand;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use bathyscope_bpf::lang::{CheckOptions, CompileOptions, Compiled, compile, recorded::RecordedHost, render};
use bathyscope_plan::{Diagnostic, UserFile, UserPlace, UserPlaces};
use hand::load;

const CORPUS: &str = "tests/corpus";
/// Scripts that need parameters, or files of user space; what does not compile is left out.
const TOOLS: [&str; 2] = ["tools", "examples"];

fn scripts(folders: &[&str]) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<PathBuf> = folders
        .iter()
        .filter_map(|folder| fs::read_dir(root.join(folder)).ok())
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "bt"))
        .collect();
    paths.sort();
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

fn host(series: &str) -> RecordedHost {
    let mut host = RecordedHost::new(series).unwrap();
    for point in ["uprobe:/bin/bash:readline", "uretprobe:/bin/bash:readline"] {
        let file = UserFile { path: "/bin/bash".to_owned(), in_process: None, device: 1, inode: 2 };
        let place = UserPlace {
            file,
            offset: 0x1000,
            address: 0x1000,
            symbol: "readline".to_owned(),
            provider: String::new(),
            semaphore: 0,
            arguments: Vec::new(),
        };
        let places = UserPlaces { point: point.to_owned(), places: vec![place], ..UserPlaces::default() };
        host.places.insert(point.to_owned(), places);
    }
    host
}

fn compiled(text: &str, host: &RecordedHost) -> Result<Compiled, Vec<Diagnostic>> {
    let check = CheckOptions { unsafe_allowed: true, pid: None };
    compile(text, host, &CompileOptions { check, ..CompileOptions::default() })
}

#[test]
fn all_compile_for_every_kernel() {
    let mut wrong = Vec::new();
    for series in ["6.1", "6.12", "6.18"] {
        let mut slowest = (Duration::ZERO, String::new());
        for host in [host(series), host(series).with_typed_task()] {
            for (name, text) in scripts(&[CORPUS]) {
                let begin = Instant::now();
                if let Err(diagnostics) = compiled(&text, &host) {
                    let said: Vec<String> = diagnostics.iter().map(|it| render(&text, &name, it)).collect();
                    wrong.push(format!("{series} {name}:\n{}", said.join("")));
                }
                slowest = slowest.max((begin.elapsed(), name));
            }
        }
        println!("{series}: the slowest is {} with {:?}", slowest.1, slowest.0);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_running_kernel_accepts_all() {
    let Some(series) = load::series() else { return };
    let host = host(&series);
    let host = if load::has_kprobes() { host } else { host.restricted() };
    let mut wrong = BTreeMap::new();
    let (mut accepted, mut skipped) = (0, Vec::new());
    for host in [host.clone(), host.with_typed_task()] {
        for (name, text) in scripts(&[&[CORPUS], TOOLS.as_slice()].concat()) {
            match compiled(&text, &host) {
                Err(_) => skipped.push(name),
                Ok(compiled) => match load::load(&compiled) {
                    Ok(()) => accepted += 1,
                    Err(refusal) => {
                        wrong.insert(name, refusal);
                    }
                },
            }
        }
    }
    println!("{series}: {accepted} scripts accepted; not for this machine: {skipped:?}");
    let names: Vec<&String> = wrong.keys().collect();
    let said: Vec<String> = wrong.iter().map(|(name, refusal)| format!("=== {name}: {refusal}")).collect();
    assert!(wrong.is_empty(), "{}\nrefused: {names:?}", said.join("\n"));
}
