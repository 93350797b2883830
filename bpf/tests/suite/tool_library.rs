//! The tool library and the examples on every recorded kernel: each compiles with its parameters and with places in user space,
//! but for those in a table, which are refused with a message that says why; and the verifier of the running kernel takes
//! every program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::print_stdout, reason = "what was skipped must be seen")]

use crate::hand::load;

use std::{fs, path::Path};

use bathyscope_bpf::lang::{
    CheckOptions, CompileOptions, Compiled, ExpandOptions, compile, expand, parse, recorded::RecordedHost, render,
    user_points,
};
use bathyscope_plan::{Diagnostic, Severity, UsdtArgument, UsdtPlace, UserFile, UserPlace, UserPlaces};

/// What stands for a tool's positional parameters.
const PARAMETERS: [(&str, &[&str]); 11] = [
    ("eventcount", &["sched", "sched_*"]),
    ("eventstacks", &["sched", "sched_switch"]),
    ("funccount", &["libc", "f*"]),
    ("funclatency", &["libc", "fsync"]),
    ("funcstacks", &["libc", "fsync"]),
    ("kfunccount", &["vfs_*"]),
    ("kfunclatency", &["vfs_read"]),
    ("pycalls", &["/usr/bin/python3"]),
    ("pygc", &["/usr/bin/python3"]),
    ("usdtcount", &["libc", "*"]),
    ("05_parameters", &[]),
];

/// Where a recorded kernel has not got what a script needs, and what the message must say.
const REFUSED: [(&str, &str, &str); 3] = [
    ("6.1", "capable", "there is no tracepoint `capability:cap_capable`"),
    ("6.1", "tcptop", "there is no tracepoint `sock:sock_send_length`"),
    ("6.12", "capable", "there is no tracepoint `capability:cap_capable`"),
];

/// Scripts that a kernel without probes on functions refuses.
const NEED_KPROBES: [&str; 7] =
    ["12_kprobe", "cachestat", "capable-kprobe", "dcstat", "kfunccount", "kfunclatency", "vfsstat"];

struct Script {
    name: String,
    text: String,
    params: Vec<String>,
}

fn scripts() -> Vec<Script> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["tools", "examples"].into_iter().flat_map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let mut paths: Vec<_> = folders.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "bt"));
    paths.sort();
    let script = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let params = PARAMETERS.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, params)| *params);
        let params = params.iter().map(|param| (*param).to_owned()).collect();
        Script { name, text: fs::read_to_string(path).unwrap(), params }
    };
    paths.iter().map(script).collect()
}

/// A place for every attach point in user space, as if all files were there.
fn add_places(host: &mut RecordedHost, script: &Script) {
    let options = ExpandOptions { params: script.params.clone(), ..ExpandOptions::default() };
    let expanded = expand(&parse(&script.text).unwrap(), &options).unwrap();
    for point in user_points(&expanded.script) {
        let argument = |index| UsdtArgument { bytes: 8, signed: true, place: UsdtPlace::Constant(index) };
        let place = UserPlace {
            file: UserFile { path: "/lib/made".to_owned(), in_process: None, device: 1, inode: 2 },
            offset: 0x1000,
            address: 0x1000,
            symbol: "made".to_owned(),
            provider: "maker".to_owned(),
            semaphore: 0,
            arguments: (0..3).map(argument).collect(),
        };
        let places = UserPlaces { point: point.text.clone(), places: vec![place], ..UserPlaces::default() };
        host.places.insert(point.text.clone(), places);
    }
}

fn compiled(script: &Script, host: &mut RecordedHost) -> Result<Compiled, Vec<Diagnostic>> {
    add_places(host, script);
    let expand = ExpandOptions { params: script.params.clone(), ..ExpandOptions::default() };
    let check = CheckOptions { unsafe_allowed: false, pid: None };
    compile(&script.text, host, &CompileOptions { expand, check, ..CompileOptions::default() })
}

/// What is wrong if the script is not taken, or not refused, as it must be.
fn judge(script: &Script, host: &mut RecordedHost, must_say: Option<&str>) -> Result<Option<Compiled>, String> {
    match (compiled(script, host), must_say) {
        (Ok(compiled), None) => Ok(Some(compiled)),
        (Ok(_), Some(words)) => Err(format!("{} compiles, but must be refused: {words}", script.name)),
        (Err(diagnostics), must_say) => {
            let errors: Vec<&Diagnostic> = diagnostics.iter().filter(|it| it.severity == Severity::Error).collect();
            let told = must_say.is_some_and(|words| errors[0].message.contains(words) && !errors[0].hint.is_empty());
            let said: String = diagnostics.iter().map(|it| render(&script.text, &script.name, it)).collect();
            if told { Ok(None) } else { Err(format!("{}, which must say {must_say:?}:\n{said}", script.name)) }
        }
    }
}

fn refusal(series: &str, name: &str) -> Option<&'static str> {
    REFUSED.iter().find(|(on, of, _)| *on == series && *of == name).map(|(_, _, words)| *words)
}

#[test]
fn tools_and_examples_compile_for_every_kernel() {
    let mut wrong = Vec::new();
    for series in ["6.1", "6.12", "6.18"] {
        let recorded = || RecordedHost::new(series).unwrap();
        for mut host in [recorded(), recorded().with_typed_task()] {
            for script in scripts() {
                wrong.extend(
                    judge(&script, &mut host, refusal(series, &script.name)).err().map(|it| format!("{series}: {it}")),
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn without_kernel_functions_they_say_what_is_missing() {
    let mut host = RecordedHost::new("6.18").unwrap().restricted();
    let words = |script: &Script| NEED_KPROBES.contains(&script.name.as_str()).then_some("this kernel has no kprobes");
    let wrong: Vec<String> =
        scripts().iter().filter_map(|script| judge(script, &mut host, words(script)).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_running_kernel_takes_every_tool_and_example() {
    let Some(series) = load::series() else { return };
    let mut host = RecordedHost::new(&series).unwrap();
    let has_kprobes = load::has_kprobes();
    if !has_kprobes {
        host = host.restricted();
    }
    let (mut wrong, mut taken) = (Vec::new(), 0);
    for script in scripts() {
        if !has_kprobes && NEED_KPROBES.contains(&script.name.as_str()) {
            continue;
        }
        match judge(&script, &mut host, refusal(&series, &script.name)) {
            Ok(Some(compiled)) => match load::load(&compiled) {
                Ok(()) => taken += 1,
                Err(refusal) => wrong.push(format!("{}: {refusal}", script.name)),
            },
            Ok(None) => {}
            Err(error) => wrong.push(error),
        }
    }
    println!("{series}: {taken} scripts");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
