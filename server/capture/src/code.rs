//! Instructions of functions, kept with a capture: months later the file may be gone, or another one.

use serde::{Deserialize, Serialize};

use crate::MappingId;

/// The most bytes that are kept of one function.
pub const MAX_CODE_BYTES: usize = 64 << 10;
/// The most functions of a capture whose instructions are kept.
pub const MAX_CODES: usize = 256;

/// The most changes of source lines that are kept of one function; more of its instructions have none.
const MAX_LINES: usize = 16 << 10;
/// About the most bytes of names.
const MAX_NAME_BYTES: usize = 256 << 10;

/// For which machine instructions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Machine {
    /// x86 with 64 bits.
    X86_64,
    /// x86 with 32 bits.
    X86,
    /// ARM with 64 bits.
    Aarch64,
    /// Any other.
    Other,
}

/// Why there are no instructions of a function that was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CodeMissing {
    /// The file could not be opened while it was mapped, or was not kept open.
    NoFile,
    /// The file was another one when it was read: its build id is not the recorded one.
    OtherFile,
    /// The file could not be read, or has no code at that place.
    Unreadable,
    /// Other functions, which had more samples, took the room.
    NoRoom,
}

/// The instructions of a function as they were in its file when it was named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCode {
    /// What it was mapped from.
    pub mapping: MappingId,
    /// Offset of its first byte, as in [`crate::Frame::offset`].
    pub start: u64,
    /// Address of its first byte as the file counts, which other tools show; 0 where that is not known.
    pub address: u64,
    /// Its whole length in bytes; 0 where the symbol table does not tell.
    pub length: u64,
    /// For which machine.
    pub machine: Machine,
    /// Its first bytes, at most [`MAX_CODE_BYTES`]; empty if `missing` says why.
    pub bytes: Vec<u8>,
    /// Source lines of the instructions.
    pub lines: CodeLines,
    /// Why there are no bytes.
    pub missing: Option<CodeMissing>,
}

impl FunctionCode {
    /// A function without instructions.
    pub fn without(mapping: MappingId, start: u64, why: CodeMissing) -> Self {
        let (machine, missing) = (Machine::Other, Some(why));
        Self { mapping, start, address: 0, length: 0, machine, bytes: Vec::new(), lines: CodeLines::default(), missing }
    }
}

/// Source lines of a function's instructions, each name once. Names are text from debug information: to be shown, never
/// to be opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeLines {
    /// Names of files and functions.
    pub names: Vec<String>,
    /// In order of offsets.
    pub rows: Vec<CodeLine>,
    /// Where other functions are called or jumped to, in order of offsets: the instruction's offset, and the index of the
    /// other function's name.
    #[serde(default)]
    pub calls: Vec<(u32, u32)>,
}

/// From which source line instructions are, up to the next entry: offset in the function in bytes; indices of the names of
/// the function, which may be inlined there, and of the file; the line from 1. Without a line all but the offset are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeLine(pub u32, pub u32, pub u32, pub u32);

impl CodeLines {
    /// Goes on with instructions from `offset` on, if their line is another one than that before.
    pub fn push(&mut self, offset: u32, function: &str, file: &str, line: u32) {
        if self.rows.len() >= MAX_LINES || self.bytes() >= MAX_NAME_BYTES {
            return;
        }
        let names = if line == 0 { (0, 0) } else { (self.name(function), self.name(file)) };
        let new = CodeLine(offset, names.0, names.1, line);
        let same = |last: &CodeLine| (last.1, last.2, last.3) == (new.1, new.2, new.3);
        if !self.rows.last().map_or(line == 0, same) {
            self.rows.push(new);
        }
    }

    /// The instruction at `offset` goes to another function; offsets rise.
    pub fn push_call(&mut self, offset: u32, function: &str) {
        if self.calls.len() < MAX_LINES && self.bytes() < MAX_NAME_BYTES {
            let name = self.name(function);
            self.calls.push((offset, name));
        }
    }

    /// The other function that the instruction at an offset goes to, where it is known.
    pub fn call(&self, offset: u32) -> Option<&str> {
        let found = self.calls.binary_search_by_key(&offset, |(at, _)| *at).ok()?;
        let (_, name) = *self.calls.get(found)?;
        self.names.get(name as usize).map(String::as_str)
    }

    fn bytes(&self) -> usize {
        self.names.iter().map(String::len).sum()
    }

    fn name(&mut self, name: &str) -> u32 {
        let found = self.names.iter().rposition(|known| known == name);
        let index = found.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        u32::try_from(index).unwrap_or(0)
    }

    /// The function, file and line of the instruction at an offset.
    pub fn at(&self, offset: u32) -> Option<(&str, &str, u32)> {
        let after = self.rows.partition_point(|row| row.0 <= offset);
        let CodeLine(_, function, file, line) = *self.rows.get(after.checked_sub(1)?)?;
        let name = |index: u32| self.names.get(index as usize).map_or("", String::as_str);
        (line > 0).then(|| (name(function), name(file), line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_where_they_change_and_found_again() {
        let mut lines = CodeLines::default();
        lines.push(0, "", "", 0);
        for (offset, function, file, line) in
            [(1, "f", "a.c", 3), (4, "f", "a.c", 3), (6, "g", "a.h", 9), (8, "", "", 0), (9, "f", "a.c", 4)]
        {
            lines.push(offset, function, file, line);
        }
        assert_eq!(lines.names, ["f", "a.c", "g", "a.h"]);
        assert_eq!(lines.rows.len(), 4);
        let found = [0, 1, 5, 6, 7, 8, 900].map(|offset| lines.at(offset));
        let (f3, g9, f4) = (Some(("f", "a.c", 3)), Some(("g", "a.h", 9)), Some(("f", "a.c", 4)));
        assert_eq!(found, [None, f3, f3, g9, g9, None, f4]);
        lines.push_call(4, "h");
        assert_eq!((lines.call(4), lines.call(5)), (Some("h"), None));
    }

    #[test]
    fn lines_of_a_hostile_file_name_nothing() {
        let lines = CodeLines {
            names: Vec::new(),
            rows: vec![CodeLine(5, 9, 9, 1), CodeLine(2, 0, 0, 2)],
            calls: vec![(0, 7)],
        };
        assert_eq!(lines.call(0), None);
        assert_eq!(lines.at(5), Some(("", "", 2)));
        assert_eq!(lines.at(0), None);
    }
}
