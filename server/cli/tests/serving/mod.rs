//! What tests of verbs share that work with a console on the same directory and without.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Output, Stdio},
};

/// What it printed, which must have succeeded.
#[track_caller]
pub(crate) fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What it said, which must have failed.
#[track_caller]
pub(crate) fn refused(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A console on a directory, with the simulated agent.
pub(crate) struct Serving(Child);

impl Serving {
    /// Starts it, and waits until it is ready.
    pub(crate) fn start(data: &Path) -> Self {
        Self::start_with(data, &[])
    }

    /// The same, with more options.
    pub(crate) fn start_with(data: &Path, options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
        command.args(["serve", "--simulate=rate=100", "--listen", "127.0.0.1:0", "--log", "error", "--data"]);
        let mut child = command.arg(data).args(options).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("Bathyscope is ready"), "{line}");
        Self(child)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _gone =
            rustix::process::kill_process(rustix::process::Pid::from_child(&self.0), rustix::process::Signal::TERM);
        let _ended = self.0.wait();
    }
}
