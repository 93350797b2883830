//! Where a script's output goes, and how soon.

use std::{
    fs::File,
    io::{BufWriter, ErrorKind, IsTerminal as _, Write},
    path::Path,
};

use bathyscope_decode::script::safe_for_terminal;
use clap::ValueEnum;

use crate::Failure;

/// How soon output is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Buffering {
    /// When a line is complete, and there is nothing more at the moment
    #[default]
    Line,
    /// When there is much of it, and at the end
    Full,
    /// At once
    None,
}

const BUFFER_BYTES: usize = 64 << 10;

/// Standard output or a file. Events can hold anything, so what a terminal would not just show is escaped, on a terminal
/// and elsewhere; files and pipes get the bytes as they are if that is asked for.
pub(super) struct ScriptOutput {
    out: BufWriter<Box<dyn Write>>,
    terminal: bool,
    raw: bool,
    buffering: Buffering,
    /// Whether anybody reads.
    open: bool,
}

impl ScriptOutput {
    /// Standard output, or the file at `path`, made anew.
    pub(super) fn open(path: Option<&Path>, buffering: Buffering, raw: bool) -> Result<Self, Failure> {
        let (out, terminal): (Box<dyn Write>, bool) = match path {
            Some(path) => {
                let file = File::create(path)
                    .map_err(|error| Failure::because(format!("writing to {}", path.display()), error))?;
                let terminal = file.is_terminal();
                (Box::new(file), terminal)
            }
            None => (Box::new(std::io::stdout()), std::io::stdout().is_terminal()),
        };
        Ok(Self::to(out, terminal, buffering, raw))
    }

    fn to(out: Box<dyn Write>, terminal: bool, buffering: Buffering, raw: bool) -> Self {
        let raw = raw && !terminal;
        Self { out: BufWriter::with_capacity(BUFFER_BYTES, out), terminal, raw, buffering, open: true }
    }

    /// Whether it is shown at once.
    pub(super) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Whether anybody still reads.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Writes. A reader that went away, such as `head`, is no failure: it has seen enough.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if !self.open || bytes.is_empty() {
            return Ok(());
        }
        let written =
            if self.raw { self.out.write_all(bytes) } else { self.out.write_all(safe_for_terminal(bytes).as_bytes()) };
        self.done(written)?;
        if self.buffering == Buffering::None { self.flush() } else { Ok(()) }
    }

    /// There is nothing more to write at the moment.
    pub(super) fn pause(&mut self) -> Result<(), Failure> {
        if self.buffering == Buffering::Full { Ok(()) } else { self.flush() }
    }

    /// Writes what waits.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        if !self.open {
            return Ok(());
        }
        let flushed = self.out.flush();
        self.done(flushed)
    }

    fn done(&mut self, result: std::io::Result<()>) -> Result<(), Failure> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.open = false;
                Ok(())
            }
            result => result.map_err(|error| Failure::because("writing the script's output", error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, rc::Rc};

    use super::*;

    #[derive(Clone, Default)]
    struct Shared(Rc<RefCell<Vec<u8>>>, bool);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.1 {
                return Err(ErrorKind::BrokenPipe.into());
            }
            self.0.borrow_mut().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn output_is_written_as_soon_as_was_asked() {
        let cases = [(Buffering::None, 1, 1, 1), (Buffering::Line, 0, 1, 1), (Buffering::Full, 0, 0, 1)];
        for (buffering, at_once, after_pause, at_the_end) in cases {
            let shared = Shared::default();
            let mut sink = ScriptOutput::to(Box::new(shared.clone()), false, buffering, true);
            sink.write(b"\x1b").unwrap();
            assert_eq!(shared.0.borrow().len(), at_once, "{buffering:?}");
            sink.pause().unwrap();
            assert_eq!(shared.0.borrow().len(), after_pause, "{buffering:?}");
            sink.flush().unwrap();
            assert_eq!(*shared.0.borrow(), b"\x1b"[..at_the_end], "{buffering:?}");
        }
    }

    #[test]
    fn p12_p76_only_pipes_get_raw_bytes_and_only_if_they_are_asked_for() {
        for (terminal, raw, expected) in [
            (true, false, &b"\\x1b[2J\n"[..]),
            (true, true, b"\\x1b[2J\n"),
            (false, false, b"\\x1b[2J\n"),
            (false, true, b"\x1b[2J\n"),
        ] {
            let shared = Shared::default();
            let mut sink = ScriptOutput::to(Box::new(shared.clone()), terminal, Buffering::None, raw);
            sink.write(b"\x1b[2J\n").unwrap();
            assert_eq!(*shared.0.borrow(), expected, "terminal: {terminal}, raw: {raw}");
        }
    }

    #[test]
    fn a_reader_may_go_away() {
        let mut sink = ScriptOutput::to(Box::new(Shared(Rc::default(), true)), false, Buffering::None, false);
        sink.write(b"x").unwrap();
        assert!(!sink.is_open());
        sink.write(b"y").unwrap();
    }
}
