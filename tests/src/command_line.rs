//! Running the binary for one answer.

use std::{
    ffi::OsStr,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

use crate::workspace::binary;

/// Runs a verb to its end.
///
/// # Panics
/// If it cannot be started.
pub fn run<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Output {
    let mut command = Command::new(binary());
    command.args(words).stdin(Stdio::null()).env_remove("BATHYSCOPE_DATA").env_remove("BATHYSCOPE_LISTEN");
    command.output().expect("the binary starts")
}

/// Runs a verb that must succeed; gives its stdout.
///
/// # Panics
/// If it fails; its stderr says why.
#[track_caller]
pub fn stdout_of<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> String {
    let output = run(words);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {err}{out}", output.status);
    out.into_owned()
}

/// Runs a verb with `--json` among its words; gives what it printed.
///
/// # Panics
/// If it fails or does not print JSON.
#[track_caller]
pub fn json_of<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Value {
    let text = stdout_of(words);
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e} in {text}"))
}
