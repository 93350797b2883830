//! `bathyscope trace` with a script, as a person uses it: start it, wait until it is attached, let something happen,
//! Ctrl+C, read what it printed.

use std::{
    io::{BufRead as _, BufReader, Read},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::Instant,
};

use rustix::process::Signal;

use crate::{
    server::signal,
    wait::{PATIENCE, until},
    workspace::{binary, root},
};

/// A running `bathyscope trace`. It is ended when this is dropped.
#[derive(Debug)]
pub struct Tracer {
    child: Child,
    out: Stream,
    err: Stream,
}

/// How it ended.
#[derive(Debug)]
pub struct Traced {
    /// Its exit status; none if it had to be killed.
    pub status: Option<ExitStatus>,
    /// What it printed.
    pub out: String,
    /// What it said on the standard error.
    pub err: String,
}

#[derive(Debug)]
struct Stream {
    text: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Stream {
    fn follow(source: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let shared = Arc::clone(&text);
        let reader = std::thread::spawn(move || {
            let mut source = BufReader::new(source);
            let mut line = Vec::new();
            while source.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
                shared.lock().unwrap_or_else(PoisonError::into_inner).push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
        });
        Self { text, reader: Some(reader) }
    }

    fn text(&self) -> String {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn whole(&mut self) -> String {
        self.reader.take().map(JoinHandle::join);
        self.text()
    }
}

impl Tracer {
    /// Starts it with these words after `trace`, in the root of the project.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut command = Command::new(binary());
        command.arg("trace").args(words).current_dir(root()).env_remove("BATHYSCOPE_DATA");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("bathyscope starts");
        let out = Stream::follow(child.stdout.take().expect("its output is a pipe"));
        let err = Stream::follow(child.stderr.take().expect("its errors are a pipe"));
        Self { child, out, err }
    }

    /// Waits until it says that its probes are attached; false if it ended without.
    pub fn attached(&mut self) -> bool {
        until("`Attached`", || {
            let ended = self.has_ended();
            match self.err.text().contains("Attached ") {
                true => Some(true),
                false => ended.then(|| self.err.whole().contains("Attached ")),
            }
        })
    }

    /// Sends it a signal.
    pub fn signal(&self, number: Signal) {
        signal(self.child.id(), number);
    }

    /// Waits until it has printed what `found` looks for, or ended.
    pub fn printed(&mut self, found: impl Fn(&str) -> bool) {
        until("output", || (found(&self.out.text()) || self.has_ended()).then_some(()));
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Ctrl+C, unless it has ended by itself, and what it printed to its end.
    pub fn interrupt(mut self) -> Traced {
        if !self.has_ended() {
            signal(self.child.id(), Signal::INT);
        }
        self.finish()
    }

    /// Waits for its own end.
    pub fn finish(mut self) -> Traced {
        let since = Instant::now();
        let mut status = None;
        while status.is_none() && since.elapsed() < PATIENCE {
            status = self.child.try_wait().ok().flatten();
            if status.is_none() {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        }
        self.end();
        Traced { status, out: self.out.whole(), err: self.err.whole() }
    }

    fn end(&mut self) {
        // It may have ended by itself.
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether `text` has what `pattern` says: pieces between ` … ` follow each other in one line, pieces between ` >> `
/// anywhere later.
pub fn shows(text: &str, pattern: &str) -> bool {
    let mut rest = text;
    pattern.split(" >> ").all(|part| match in_one_line(rest, part) {
        Some(end) => {
            rest = rest.get(end..).unwrap_or_default();
            true
        }
        None => false,
    })
}

/// Where the first line that has all pieces has the last of them.
fn in_one_line(text: &str, pieces: &str) -> Option<usize> {
    let mut start = 0;
    text.split_inclusive('\n').find_map(|line| {
        let begin = start;
        start += line.len();
        let mut at = 0;
        pieces
            .split(" … ")
            .all(|piece| {
                line[at..].find(piece).is_some_and(|found| {
                    at += found + piece.len();
                    true
                })
            })
            .then_some(begin + at)
    })
}

#[cfg(test)]
mod tests {
    use super::shows;

    #[test]
    fn patterns_are_found_in_lines_and_later() {
        let text = "a b c\nd e f\ng\n";
        for pattern in ["b", "a … c", "c >> e … f", "d >> f >> g"] {
            assert!(shows(text, pattern), "{pattern}");
        }
        for pattern in ["x", "c … a", "c … d", "d >> c", "g >> g"] {
            assert!(!shows(text, pattern), "{pattern}");
        }
    }
}
