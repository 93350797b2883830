//! What scripts ask of the world outside: to show a file (`cat`) and to run a program (`system`). Both are done by this
//! process, which has no rights, and for a time and an amount that end.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Read as _},
    os::unix::{ffi::OsStrExt as _, fs::OpenOptionsExt as _},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::signals::Signals;
use crate::verbs::words;

/// How long a program may run.
const MAX_RUN: Duration = Duration::from_secs(10);
/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// The most that is read of what it prints.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;
/// Where programs are looked for.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The first `most` bytes of the file that `path` names.
pub(super) fn cat(path: &[u8], most: u64) -> Result<Vec<u8>, String> {
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    let failed = |error: std::io::Error| format!("cat: cannot read {}: {error}", visible(path));
    // A pipe without a writer must not be waited for.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)?;
    let mut content = Vec::new();
    match file.take(most).read_to_end(&mut content) {
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(failed(error)),
        _ => Ok(content),
    }
}

fn visible(path: &Path) -> String {
    bathyscope_capture::visible(path.as_os_str().as_bytes())
}

/// Runs a program without a shell and gives what it printed, on both of its outputs. It is ended when `stop` asks for it.
pub(super) fn system(text: &[u8], stop: &Signals) -> Result<Vec<u8>, String> {
    let text = String::from_utf8_lossy(text);
    let failed =
        |why: &dyn std::fmt::Display| format!("system: `{}`: {why}", bathyscope_capture::visible(text.as_bytes()));
    let words = words::split(&text).map_err(|error| failed(&error))?;
    let Some((program, arguments)) = words.split_first() else { return Ok(Vec::new()) };
    let (mut reader, writer) = std::io::pipe().map_err(|error| failed(&error))?;
    let second = writer.try_clone().map_err(|error| failed(&error))?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", PATH).stdin(Stdio::null()).stdout(writer).stderr(second);
    let mut child = command.spawn().map_err(|error| failed(&error))?;
    // Its own ends of the pipe.
    drop(command);
    let printed = std::thread::spawn(move || {
        let mut printed = Vec::new();
        // What was read before trouble is shown.
        let _partial = (&mut reader).take(MAX_OUTPUT_BYTES).read_to_end(&mut printed);
        printed
    });
    let ended = wait(&mut child, stop);
    // A program that left others behind may keep the pipe open; nobody waits for those.
    let since = Instant::now();
    while !printed.is_finished() && since.elapsed() < MAX_RUN / 10 && !stop.is_stopped() {
        std::thread::sleep(LOOK_EVERY);
    }
    match ended {
        End::Itself => {}
        End::Late => return Err(failed(&format!("it was ended after {} s", MAX_RUN.as_secs()))),
        End::Stopped => return Err(failed(&"it was ended with the script")),
    }
    if printed.is_finished() { Ok(printed.join().unwrap_or_default()) } else { Ok(Vec::new()) }
}

/// How a program ended.
enum End {
    Itself,
    /// After its time.
    Late,
    /// The script was ended meanwhile.
    Stopped,
}

fn wait(child: &mut Child, stop: &Signals) -> End {
    let since = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        let late = since.elapsed() > MAX_RUN;
        if late || stop.is_stopped() {
            let _gone = child.kill();
            let _ended = child.wait();
            return if late { End::Late } else { End::Stopped };
        }
        std::thread::sleep(LOOK_EVERY);
    }
    End::Itself
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_shown_up_to_a_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(cat(path.as_os_str().as_bytes(), 4).unwrap(), b"0123");
        assert!(cat(b"/no/such\n", 4).unwrap_err().starts_with("cat: cannot read /no/such\\n: "));
    }

    #[test]
    fn programs_run_without_a_shell() {
        let system = |text: &[u8]| system(text, &Signals::default());
        assert_eq!(system(b"echo '$HOME' '*'  x").unwrap(), b"$HOME * x\n");
        let error = system(b"/no/such/program").unwrap_err();
        assert!(error.starts_with("system: `/no/such/program`: "), "{error}");
        assert!(system(b"echo 'x").unwrap_err().contains("has no end"));
    }

    #[test]
    fn programs_end_with_the_script() {
        let stop = Signals::default();
        let asked = stop.clone();
        let thread = std::thread::spawn(move || system(b"sleep 600", &asked));
        stop.stop();
        let error = thread.join().unwrap().unwrap_err();
        assert!(error.ends_with("it was ended with the script"), "{error}");
    }
}
