//! Instructions of the functions with the most samples, kept with the capture: when somebody asks which of them were hot,
//! the file may be gone or another one.
//!
//! They are read from the descriptor of the very file that was mapped, and only if it still has the recorded build id.
//! Source lines come from its debug information as names; no file that such a name tells is opened.

use std::time::{Duration, Instant};

use bathyscope_capture::{CodeLines, CodeMissing, FunctionCode, Symbol};
use bathyscope_symbols::{FileError, FileResolver, FunctionBytes, Place};
use bathyscope_views::{Instruction, instructions};

use super::{
    link::words,
    naming::{HotFunction, Namer, NamingWork},
    process_metadata::lock,
};

/// The most bytes of instructions of one capture.
const MAX_BYTES: usize = 2 << 20;
/// How long source lines are looked up in one run. It takes tens of microseconds for an instruction in a large file, and the
/// hottest functions come first; the others are kept without lines.
const LOOKING_UP: Duration = Duration::from_secs(2);
/// Instructions whose lines are looked up at a time.
const LOOKED_UP: usize = 64;
/// The most calls of one function whose names are looked up.
const MAX_CALLS: usize = 256;
/// Functions that are handed out at a time.
const BATCH: usize = 16;

impl Namer {
    /// Reads the instructions of functions that were not looked at before and hands them out in batches; after
    /// [`Namer::run`], because names tell where functions begin. `batch` says whether to go on.
    pub(crate) fn code(
        &self,
        work: &NamingWork,
        files: &mut FileResolver,
        mut batch: impl FnMut(Vec<FunctionCode>) -> bool,
    ) {
        let begun = Instant::now();
        let until = begun + LOOKING_UP;
        let (mut functions, mut bytes) = (0, 0);
        for part in work.hottest().chunks(BATCH) {
            let code: Vec<FunctionCode> = part.iter().map(|hot| self.function(work, hot, files, until)).collect();
            functions += code.len();
            bytes += code.iter().map(|code| code.bytes.len()).sum::<usize>();
            if !batch(code) {
                break;
            }
        }
        if functions > 0 {
            tracing::debug!(functions, bytes, took_ms = begun.elapsed().as_millis(), "instructions were read");
        }
    }

    fn function(&self, work: &NamingWork, hot: &HotFunction, files: &mut FileResolver, until: Instant) -> FunctionCode {
        let without = |why| FunctionCode::without(hot.mapping_id, hot.start, why);
        let Some(file) = hot.key.as_ref().and_then(|key| lock(&self.held).file(key)) else {
            return without(CodeMissing::NoFile);
        };
        let read = match files.function(&file, &hot.build_id, hot.start, hot.last) {
            Ok(read) => read,
            Err(FileError::OtherFile { .. }) => return without(CodeMissing::OtherFile),
            Err(error) => {
                tracing::debug!(error = words(&error), "a mapped file gives no instructions");
                return without(CodeMissing::Unreadable);
            }
        };
        if !work.take_room(read.bytes.len(), MAX_BYTES) {
            return without(CodeMissing::NoRoom);
        }
        let mut named = |places: &[Place]| files.resolve(&file, &hot.build_id, places).unwrap_or_default();
        let lines = lines(&read, hot.start, until, &mut named);
        let FunctionBytes { machine, address, length, bytes } = read;
        let (mapping, start) = (hot.mapping_id, hot.start);
        FunctionCode { mapping, start, address, length, machine, bytes, lines, missing: None }
    }
}

/// The source lines of a function that begins at `start` of its file, and what it calls.
fn lines(
    read: &FunctionBytes,
    start: u64,
    until: Instant,
    named: &mut dyn FnMut(&[Place]) -> Vec<Option<Symbol>>,
) -> CodeLines {
    let found = instructions(read.machine, &read.bytes, read.address);
    let mut lines = CodeLines::default();
    for part in found.chunks(LOOKED_UP) {
        if Instant::now() > until {
            return lines;
        }
        let places: Vec<Place> = part.iter().map(|one| place(start + u64::from(one.at))).collect();
        for (one, symbol) in part.iter().zip(named(&places)) {
            match symbol.as_ref().and_then(|symbol| symbol.lines.first()) {
                Some(line) => lines.push(one.at, &line.function, &line.file, line.line),
                None => lines.push(one.at, "", "", 0),
            }
        }
        // A file without lines has none further on.
        if lines.rows.is_empty() {
            break;
        }
    }
    let (calls, places) = calls(read, start, &found);
    for (at, symbol) in calls.into_iter().zip(named(&places)) {
        // What is behind the beginning of a function is a part of one that has no symbol.
        if let Some(symbol) = symbol.filter(|symbol| symbol.offset == 0) {
            lines.push_call(at, &symbol.function);
        }
    }
    lines
}

const fn place(offset: u64) -> Place {
    Place { offset, is_return: false }
}

/// The instructions that go to other functions, and where these are in the file.
fn calls(read: &FunctionBytes, start: u64, found: &[Instruction]) -> (Vec<u32>, Vec<Place>) {
    let inside = read.address..read.address.saturating_add(read.length.max(read.bytes.len() as u64));
    let outside = found.iter().filter_map(|one| Some((one.at, one.target.filter(|target| !inside.contains(target))?)));
    // In the same segment places in the file are as far from each other as addresses.
    let outside = outside.take(MAX_CALLS);
    outside.map(|(at, target)| (at, place(target.wrapping_sub(read.address).wrapping_add(start)))).unzip()
}
