//! Source lines: which instructions were made from a line of a source file, by the line tables of debug information.

use gimli::{
    AttributeValue, DebugLine, DebugLineOffset, DebugLineStr, DebugStr, EndianSlice, FileEntry, LineProgramHeader,
    LittleEndian,
};

use super::{ElfError, ElfFile, Functions};

/// The most bytes of a section of debug information, when it is decompressed.
pub const MAX_LINE_BYTES: usize = 256 << 20;
/// The most places of lines that are kept of a file; more are counted.
const MAX_LINE_PLACES: usize = 4 << 20;
/// Functions in which a line is offered: where it was inlined, there are many.
const MAX_FUNCTIONS: usize = 16;
/// The most source files.
const MAX_SOURCE_FILES: usize = 1 << 20;

/// Decompresses a section with its header; none if it is damaged or too large.
pub type Decompress<'a> = &'a dyn Fn(&[u8]) -> Option<Vec<u8>>;

/// Where instructions of a line begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LinePlace {
    file: u32,
    line: u32,
    address: u64,
}

/// The source lines of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLines {
    files: Vec<String>,
    /// In order, each once.
    places: Vec<LinePlace>,
    left_out: usize,
}

/// A line with the addresses, in the file's own numbering, at which its instructions begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine<'a> {
    /// The source file, as the compiler was given it.
    pub file: &'a str,
    /// Its number.
    pub line: u32,
    /// The addresses, in order.
    pub addresses: Vec<u64>,
}

/// A line with a place in a function at which its instructions begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineInFunction<'a> {
    /// The source file, as the compiler was given it.
    pub file: &'a str,
    /// Its number.
    pub line: u32,
    /// The function, as the linker knows it.
    pub function: &'a str,
    /// Bytes from the begin of the function.
    pub offset: u64,
}

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

impl SourceLines {
    /// Reads the line tables of a file; without any lines if it has none.
    ///
    /// # Errors
    /// If a section of them is damaged or too large.
    pub fn read(elf: &ElfFile<'_>, decompress: Decompress<'_>) -> Result<Self, ElfError> {
        let section = |name: &[u8]| elf.debug_section(name, MAX_LINE_BYTES, decompress);
        let (line, strings, line_strings) =
            (section(b".debug_line")?, section(b".debug_str")?, section(b".debug_line_str")?);
        let mut reading = LineReading {
            bytes: &line,
            strings: DebugStr::new(&strings, LittleEndian),
            line_strings: DebugLineStr::new(&line_strings, LittleEndian),
            lines: Self::default(),
            numbers: std::collections::HashMap::new(),
        };
        reading.all();
        let mut lines = reading.lines;
        lines.places.sort_unstable();
        lines.places.dedup();
        lines.places.shrink_to_fit();
        Ok(lines)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Places that were not taken because of a limit.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Bytes of memory, about.
    pub fn memory_bytes(&self) -> usize {
        let files: usize = self.files.iter().map(|file| file.len() + size_of::<String>()).sum();
        files + self.places.len() * size_of::<LinePlace>()
    }

    /// The source files, each once.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// The first lines with instructions from a line on, of all files of that path or that end of a path.
    pub fn find(&self, file: &str, from: u32, most: usize) -> Vec<SourceLine<'_>> {
        let mut found = Vec::new();
        for (number, path) in (0_u32..).zip(&self.files) {
            if is_end_of(path, file) {
                self.lines_of(number, path, from, most, &mut found);
            }
        }
        // Those of all files from the nearest on.
        found.sort_by(|a, b| (a.line, a.file).cmp(&(b.line, b.file)));
        found.truncate(most);
        found
    }

    /// The same with the functions that have the instructions, of a line each once; not what the linker has left out.
    pub fn in_functions<'a>(
        &'a self,
        elf: &ElfFile<'_>,
        functions: &'a Functions,
        (file, from): (&str, u32),
        most: usize,
    ) -> Vec<LineInFunction<'a>> {
        let mut found = Vec::new();
        for SourceLine { file, line, addresses } in self.find(file, from, most) {
            let mut seen: Vec<u64> = Vec::new();
            for address in addresses {
                let Some(at) = elf.offset_of(address).filter(|at| elf.is_code(*at)) else { continue };
                let Some(symbol) = functions.at(at) else { continue };
                if seen.len() == MAX_FUNCTIONS || seen.contains(&symbol.offset) {
                    continue;
                }
                seen.push(symbol.offset);
                found.push(LineInFunction { file, line, function: symbol.name, offset: at - symbol.offset });
            }
        }
        found
    }

    fn lines_of<'a>(&'a self, file: u32, path: &'a str, from: u32, most: usize, found: &mut Vec<SourceLine<'a>>) {
        let first = self.places.partition_point(|place| (place.file, place.line) < (file, from));
        let own = self.places.get(first..).unwrap_or_default().iter().take_while(|place| place.file == file);
        let end = found.len().saturating_add(most);
        for place in own {
            if let Some(last) = found.last_mut().filter(|last| last.line == place.line && last.file == path) {
                last.addresses.push(place.address);
            } else if found.len() < end {
                found.push(SourceLine { file: path, line: place.line, addresses: vec![place.address] });
            } else {
                return;
            }
        }
    }
}

/// Whether a path is `end`, or ends in it behind a `/`.
fn is_end_of(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/') || end.starts_with('/'))
}

struct LineReading<'a> {
    bytes: &'a [u8],
    strings: DebugStr<Bytes<'a>>,
    line_strings: DebugLineStr<Bytes<'a>>,
    lines: SourceLines,
    numbers: std::collections::HashMap<String, u32>,
}

impl<'a> LineReading<'a> {
    /// Reads one table after the other. What cannot be read is skipped as far as it says that it goes.
    fn all(&mut self) {
        let section = DebugLine::new(self.bytes, LittleEndian);
        let mut at = 0;
        while let Some(end) = table_end(self.bytes, at) {
            if let Ok(program) = section.program(DebugLineOffset(at), 8, None, None) {
                let files = self.files_of(program.header());
                self.rows(program, &files);
            }
            at = end;
        }
    }

    /// The numbers that the files of a table have among all.
    fn files_of(&mut self, header: &LineProgramHeader<Bytes<'a>>) -> Vec<Option<u32>> {
        // Before the fifth version the first file has the number 1.
        let count = header.file_names().len() as u64 + 1;
        (0..count).map(|number| self.file(header, header.file(number)?)).collect()
    }

    fn file(&mut self, header: &LineProgramHeader<Bytes<'a>>, entry: &FileEntry<Bytes<'a>>) -> Option<u32> {
        let name = self.text(entry.path_name())?;
        let folder = entry.directory(header).and_then(|folder| self.text(folder)).unwrap_or_default();
        let path = if name.starts_with('/') || folder.is_empty() { name } else { format!("{folder}/{name}") };
        if let Some(number) = self.numbers.get(&path) {
            return Some(*number);
        }
        let number =
            u32::try_from(self.lines.files.len()).ok().filter(|_| self.lines.files.len() < MAX_SOURCE_FILES)?;
        self.lines.files.push(path.clone());
        self.numbers.insert(path, number);
        Some(number)
    }

    fn text(&self, value: AttributeValue<Bytes<'a>>) -> Option<String> {
        let bytes = match value {
            AttributeValue::String(bytes) => bytes,
            AttributeValue::DebugStrRef(at) => self.strings.get_str(at).ok()?,
            AttributeValue::DebugLineStrRef(at) => self.line_strings.get_str(at).ok()?,
            _ => return None,
        };
        String::from_utf8(bytes.slice().to_vec()).ok()
    }

    fn rows(&mut self, program: gimli::IncompleteLineProgram<Bytes<'a>>, files: &[Option<u32>]) {
        let mut rows = program.rows();
        let mut before = None;
        while let Ok(Some((_header, row))) = rows.next_row() {
            if row.end_sequence() {
                before = None;
                continue;
            }
            let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
            let file = usize::try_from(row.file_index()).ok().and_then(|at| files.get(at).copied().flatten());
            let (Some(line), Some(file), true) = (line, file, row.is_stmt()) else { continue };
            // Several rows of a line that follow each other are one place.
            if before.replace((file, line)) == Some((file, line)) {
                continue;
            }
            if self.lines.places.len() < MAX_LINE_PLACES {
                self.lines.places.push(LinePlace { file, line, address: row.address() });
            } else {
                self.lines.left_out += 1;
            }
        }
    }
}

/// Where the table at a place ends, by the length that it begins with.
fn table_end(bytes: &[u8], at: usize) -> Option<usize> {
    let word =
        |at: usize, size: usize| super::file::number(bytes, at, size).and_then(|word| usize::try_from(word).ok());
    let (length, head) = match word(at, 4)? {
        0xffff_ffff => (word(at.checked_add(4)?, 8)?, 12),
        length => (length, 4),
    };
    let end = at.checked_add(head)?.checked_add(length)?;
    (end <= bytes.len()).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(files: &[&str], places: &[(u32, u32, u64)]) -> SourceLines {
        let places = places.iter().map(|&(file, line, address)| LinePlace { file, line, address }).collect();
        SourceLines { files: files.iter().map(|file| (*file).to_owned()).collect(), places, left_out: 0 }
    }

    #[test]
    fn lines_are_found_from_a_number_on() {
        let lines = lines(
            &["/src/work.c", "/src/other/work.c", "/src/homework.c"],
            &[(0, 3, 0x10), (0, 3, 0x40), (0, 7, 0x20), (1, 5, 0x90), (2, 3, 0x99)],
        );
        let found = |file: &str, from: u32, most: usize| {
            let found = lines.find(file, from, most).into_iter();
            found.map(|it| format!("{}:{} {:x?}", it.file, it.line, it.addresses)).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(found("work.c", 3, 2), "/src/work.c:3 [10, 40]; /src/other/work.c:5 [90]");
        assert_eq!(found("other/work.c", 1, 9), "/src/other/work.c:5 [90]");
        assert_eq!(found("/src/work.c", 4, 9), "/src/work.c:7 [20]");
        assert_eq!(found("work.c", 8, 9), "");
        assert_eq!(found("ork.c", 1, 9), "");
    }

    #[test]
    fn tables_end_where_they_say() {
        let wide = [&[0xff; 4][..], &4_u64.to_le_bytes(), &[0; 4]].concat();
        assert_eq!(table_end(&wide, 0), Some(16));
        assert_eq!(table_end(&[2, 0, 0, 0, 1, 1], 0), Some(6));
        assert_eq!(table_end(&[3, 0, 0, 0, 1, 1], 0), None);
        assert_eq!(table_end(&[0xff; 12], 0), None);
        assert_eq!(table_end(&[], 0), None);
    }
}
