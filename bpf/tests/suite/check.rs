//! The checker on recorded kernels: what scripts mean, and what is said about those that are wrong.
//!
//! `check/*.bt` are scripts with what they are checked to beside them (`*.hir`). `check/errors.txt` has scripts of one line and what is said
//! about them; `check/restricted.txt` the same on a kernel without kprobes. `BATHYSCOPE_BLESS=1` writes them anew.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{env, fmt::Write as _, fs, path::PathBuf};

use bathyscope_bpf::lang::{
    CheckOptions, CompileOptions, ExpandOptions, check, compile, expand, hir, parse, recorded::RecordedHost,
};
use bathyscope_plan::{
    Diagnostic, ProgramType, Severity, UsdtArgument, UsdtPlace, UserFile, UserPlace, UserPlaces, UserSymbol,
};

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/check")
}

fn blessing() -> bool {
    env::var_os("BATHYSCOPE_BLESS").is_some()
}

fn compare(name: &str, found: &str) {
    let path = directory().join(name);
    if blessing() {
        fs::write(&path, found).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    for (number, (expected, found)) in expected.lines().zip(found.lines()).enumerate() {
        assert_eq!(expected, found, "{name}:{}; BATHYSCOPE_BLESS=1 writes it anew", number + 1);
    }
    assert_eq!(expected, found, "{name}; BATHYSCOPE_BLESS=1 writes it anew");
}

fn place(path: &str, symbol: &str, provider: &str, arguments: Vec<UsdtArgument>) -> UserPlace {
    let file = UserFile { path: path.to_owned(), in_process: None, device: 1, inode: 2 };
    let (symbol, provider) = (symbol.to_owned(), provider.to_owned());
    UserPlace { file, offset: 0x1000, address: 0x2000, symbol, provider, semaphore: 0, arguments }
}

fn symbols() -> Vec<UserSymbol> {
    let symbol = |path: &str, name: &str, address, bytes, fixed| UserSymbol {
        path: path.to_owned(),
        name: name.to_owned(),
        address,
        bytes,
        fixed,
    };
    vec![
        symbol("/bin/bash", "history_length", 0x4010, 4, false),
        symbol("/bin/bash", "environ", 0x4020, 0, false),
        symbol("/usr/bin/app", "counter", 0x40_4028, 8, true),
    ]
}

/// A recorded kernel on which some programs are known.
fn host(series: &str) -> RecordedHost {
    let mut host = RecordedHost::new(series).unwrap();
    let mut know = |point: &str, places: Vec<UserPlace>, trouble: &str| {
        let (trouble, warnings) = (trouble.to_owned(), Vec::new());
        host.places.insert(
            point.to_owned(),
            UserPlaces {
                point: point.to_owned(),
                places,
                trouble,
                warnings,
                symbols: symbols(),
                ..UserPlaces::default()
            },
        );
    };
    let int = |signed| UsdtArgument { bytes: 4, signed, place: UsdtPlace::Register { offset: 112, shift: 0 } };
    let text = UsdtArgument { bytes: 8, signed: false, place: UsdtPlace::Register { offset: 104, shift: 0 } };
    let bash = "/bin/bash";
    know("uprobe:/bin/bash:readline", vec![place(bash, "readline", "", vec![])], "");
    know("uretprobe:/bin/bash:readline", vec![place(bash, "readline", "", vec![])], "");
    know("uprobe:/bin/bash:reedline", vec![], "no function `reedline` in /bin/bash; did you mean `readline`?");
    know("usdt:/usr/bin/app:app:start", vec![place("/usr/bin/app", "start", "app", vec![int(true), text])], "");
    host.symbols.insert("avenrun".to_owned(), 0xffff_ffff_8280_0000);
    host.symbols.insert("runqueues".to_owned(), 0x31_0000);
    host.symbols.insert("__per_cpu_offset".to_owned(), 0xffff_ffff_8290_0000);
    host.callable.push(("bpf_task_from_pid".to_owned(), ProgramType::RawTracepoint));
    host.cgroups.insert("/sys/fs/cgroup/system.slice".to_owned(), 4242);
    host
}

fn checked(text: &str, host: &RecordedHost, options: &CheckOptions) -> Result<hir::TypedScript, Vec<Diagnostic>> {
    let expanded = expand(&parse(text)?, &ExpandOptions::default())?;
    check(&expanded, text, host, options)
}

fn allowed() -> CheckOptions {
    CheckOptions { unsafe_allowed: true, pid: None }
}

#[test]
fn scripts_mean_what_they_say() {
    let host = host("6.18");
    let mut names: Vec<PathBuf> = fs::read_dir(directory()).unwrap().map(|it| it.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|it| it == "bt"));
    names.sort();
    assert!(names.len() >= 8, "{names:?}");
    for path in names {
        let text = fs::read_to_string(&path).unwrap();
        let script = match checked(&text, &host, &allowed()) {
            Ok(script) => script,
            Err(said) => panic!("{}: {said:#?}", path.display()),
        };
        let mut shown = String::new();
        for it in &script.warnings {
            writeln!(shown, "warning: {} | {}", it.message, it.hint).unwrap();
        }
        write!(shown, "{script}").unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        compare(&format!("{name}.hir"), &shown);
    }
}

/// Checks the scripts of a table: a line that begins with `> ` is a script, the lines after it what is said.
fn table(name: &str, host: &RecordedHost, least: usize) {
    let text = fs::read_to_string(directory().join(name)).unwrap();
    let (mut found, mut rows) = (String::new(), 0);
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            writeln!(found, "{line}").unwrap();
        }
        let Some(script) = line.strip_prefix("> ") else { continue };
        rows += 1;
        writeln!(found, "{line}").unwrap();
        let said = match checked(script, host, &CheckOptions::default()) {
            Ok(script) => script.warnings,
            Err(said) => said,
        };
        for it in said {
            let word = if it.severity == Severity::Error { "error" } else { "warning" };
            let about = script.get(it.start as usize..it.end as usize).unwrap_or("?");
            writeln!(found, "{word} at `{about}`: {}", it.message).unwrap();
            if !it.hint.is_empty() {
                writeln!(found, "hint: {}", it.hint).unwrap();
            }
        }
    }
    assert!(rows >= least, "{name} has {rows} rows");
    compare(name, &found);
}

#[test]
fn what_is_wrong_is_told() {
    table("errors.txt", &host("6.18"), 120);
}

#[test]
fn what_the_kernel_lacks_is_told_with_what_works() {
    table("restricted.txt", &host("6.18").restricted(), 12);
}

/// Whatever is checked can be lowered and compiled.
#[test]
fn what_is_checked_compiles() {
    let host = host("6.18");
    for path in fs::read_dir(directory()).unwrap().map(|it| it.unwrap().path()) {
        if path.extension().is_none_or(|it| it != "bt") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let options = CompileOptions { check: allowed(), ..CompileOptions::default() };
        if let Err(said) = compile(&text, &host, &options) {
            panic!("{}: {said:#?}", path.display());
        }
    }
}
