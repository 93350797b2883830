//! What people keep by name, at a terminal: probes as with `perf probe`, files, and deletion, with a console on the same directory and
//! without.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod serving;

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

use serving::{Serving, done, refused};

fn bathyscope(data: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
    // Options stand before definitions.
    let (verb, rest) = words.split_at(words.len().min(if words[0] == "library" { 2 } else { 1 }));
    command.args(verb).arg("--data").arg(data).args(rest).stdin(Stdio::null()).output().unwrap()
}

fn keep_name_and_delete(data: &Path, files: &Path) {
    let probe = |words: &[&str]| bathyscope(data, &[&["probe", "--simulate"], words].concat());
    let told = done(&probe(&["--dry-run", "--add", "vfs_read count=%dx"]));
    assert!(told.contains("vfs_read") && !told.contains("Kept"), "{told}");
    let told = done(&probe(&["--add", "vfs_read count=%dx"]));
    assert!(
        told.contains("Kept probe:vfs_read: vfs_read count=%dx") && told.contains("Nothing is in the kernel"),
        "{told}"
    );
    assert!(done(&probe(&["--add", "vfs_read count=%dx"])).contains("is kept already, exactly so"));
    let error = refused(&probe(&["--add", "vfs_read"]));
    assert!(error.contains("there is a probe `probe:vfs_read` already"), "{error}");
    assert!(done(&probe(&["--force", "--add", "vfs_read"])).contains("Kept probe:vfs_read_1"));
    let list = done(&probe(&["--list"]));
    assert!(list.contains("probe:vfs_read_1") && list.contains("kept by name"), "{list}");
    // Commands name them.
    let explained = done(&bathyscope(data, &["explain", "--simulate", "perf stat -e 'probe:vfs_*' -a sleep 1"]));
    assert!(explained.contains("is kept in the library") && explained.contains("vfs_read count=%dx"), "{explained}");
    let folder = files.to_str().unwrap();
    let written = done(&bathyscope(data, &["library", "export", "--to", folder]));
    assert_eq!(written.lines().count(), 2, "{written}");
    let file = files.join("probe.vfs_read.probe");
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text, done(&bathyscope(data, &["library", "show", "probe:vfs_read"])));
    assert!(text.starts_with("# bathyscope probe\n# name: probe:vfs_read\n"), "{text}");
    assert!(done(&probe(&["--del", "vfs_*", "--dry-run"])).contains("Would delete the kept probe probe:vfs_read_1."));
    assert!(done(&probe(&["--del", "vfs_*"])).contains("Deleted the kept probe probe:vfs_read."));
    assert_eq!(done(&bathyscope(data, &["library", "list"])), "");
    std::fs::write(&file, text.replace("# shared: no", "# description: Reads\n# tags: fs\n# shared: yes")).unwrap();
    let told = done(&bathyscope(data, &["library", "import", file.to_str().unwrap()]));
    assert_eq!(told, "Kept the probe probe:vfs_read, version 1.\n");
    let list = done(&bathyscope(data, &["library", "list", "reads", "FS"]));
    assert_eq!(list, "probe      probe:vfs_read  (terminal, shared)  Reads\n");
    let error = refused(&bathyscope(data, &["library", "delete", "probe:vfs_raed"]));
    assert!(error.contains("did you mean `probe:vfs_read`?"), "{error}");
    assert!(
        done(&bathyscope(data, &["library", "delete", "probe:vfs_read"])).contains("Deleted the probe probe:vfs_read")
    );
    assert_eq!(done(&bathyscope(data, &["library", "list", "--json"])).trim(), "[]");
}

#[test]
fn probes_are_kept_at_a_terminal() {
    let (data, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    keep_name_and_delete(data.path(), files.path());
}

#[test]
fn probes_are_kept_by_the_console_that_runs() {
    let (data, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let _console = Serving::start(data.path());
    keep_name_and_delete(data.path(), files.path());
}
