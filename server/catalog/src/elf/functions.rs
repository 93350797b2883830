//! The functions of an ELF file.

use super::file::{ElfError, ElfFile, number};

const SHT_SYMTAB: u32 = 2;
const SHT_DYNSYM: u32 = 11;
const STT_FUNC: u8 = 2;
const STT_OBJECT: u8 = 1;
const SYMBOL_BYTES: usize = 24;
/// The longest name that is read.
const MAX_NAME_BYTES: usize = 16 << 10;
/// The most functions that are kept of one file.
const MAX_FUNCTIONS: usize = 8 << 20;

/// A function of an ELF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symbol<'a> {
    /// Where it is in the file: what a uprobe is attached to.
    pub offset: u64,
    /// Its name as linked; see [`demangle`](super::demangle()).
    pub name: &'a str,
    /// Its address in the file's own numbering.
    pub address: u64,
    /// Its size in bytes; 0 if not known.
    pub bytes: u64,
}

/// A function: offset, address, size, and where its name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FunctionEntry {
    offset: u64,
    address: u64,
    bytes: u64,
    table: u8,
    name: u32,
}

/// All functions of an ELF file, those that are only imported left out.
pub struct Functions {
    /// The names of both symbol tables.
    strings: [Vec<u8>; 2],
    /// In order of their offsets.
    entries: Vec<FunctionEntry>,
}

impl std::fmt::Debug for Functions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Functions").field("count", &self.entries.len()).finish()
    }
}

impl ElfFile<'_> {
    /// Whether it has no symbol table of its own, but for what it exports.
    pub fn is_stripped(&self) -> bool {
        self.sections().all(|section| section.kind != SHT_SYMTAB)
    }

    /// The functions of both symbol tables. A stripped file has only those that it exports.
    ///
    /// # Errors
    /// If the tables are damaged or too large.
    pub fn functions(&self) -> Result<Functions, ElfError> {
        self.functions_with(None)
    }

    /// The same, with the symbol table of its debug file if it was stripped of its own.
    ///
    /// # Errors
    /// If the tables are damaged or too large.
    pub fn functions_with(&self, debug: Option<&ElfFile<'_>>) -> Result<Functions, ElfError> {
        let mut functions = Functions { strings: [Vec::new(), Vec::new()], entries: Vec::new() };
        let symbols = debug.filter(|_debug| self.is_stripped());
        let tables = [symbols.map_or((0, SHT_SYMTAB, self), |debug| (0, SHT_SYMTAB, debug)), (1, SHT_DYNSYM, self)];
        for (table, kind, from) in tables {
            from.each_symbol(kind, &mut |symbol, strings| {
                if symbol.kind == STT_FUNC
                    && functions.entries.len() < MAX_FUNCTIONS
                    && let Some(offset) = self.offset_of(symbol.address)
                {
                    let (address, bytes, name) = (symbol.address, symbol.bytes, symbol.name);
                    functions.entries.push(FunctionEntry { offset, address, bytes, table, name });
                }
                let place = functions.strings.get_mut(usize::from(table));
                if let Some(place) = place.filter(|place| place.is_empty()) {
                    strings.clone_into(place);
                }
                true
            })?;
        }
        let Functions { strings, entries } = &mut functions;
        entries.sort_unstable();
        // Names are looked at only where several functions are in one place.
        for same in entries.chunk_by_mut(|a, b| a.offset == b.offset).filter(|same| same.len() > 1) {
            same.sort_by_key(|entry| name_in(strings, entry));
        }
        entries.dedup_by(|b, a| a.offset == b.offset && name_in(strings, a) == name_in(strings, b));
        entries.retain(|entry| !name_in(strings, entry).is_empty());
        entries.shrink_to_fit();
        Ok(functions)
    }

    /// The variables and functions of these names, in the order in which the tables have them: name, address in the file's
    /// own numbering, and size (0 if not known). Of several of one name the first counts.
    ///
    /// # Errors
    /// If the tables are damaged or too large.
    pub fn symbols_named(&self, names: &[String]) -> Result<Vec<(String, u64, u64)>, ElfError> {
        let mut found: Vec<(String, u64, u64)> = Vec::new();
        for kind in [SHT_SYMTAB, SHT_DYNSYM] {
            self.each_symbol(kind, &mut |symbol, strings| {
                if matches!(symbol.kind, STT_FUNC | STT_OBJECT) {
                    let name = text(strings, symbol.name);
                    if names.iter().any(|it| it == name) && !found.iter().any(|(known, ..)| known == name) {
                        found.push((name.to_owned(), symbol.address, symbol.bytes));
                    }
                }
                found.len() < names.len()
            })?;
        }
        Ok(found)
    }

    /// The address of a variable or function, in the file's own numbering.
    pub(super) fn address_of_symbol(&self, name: &str) -> Option<u64> {
        let mut address = None;
        for kind in [SHT_SYMTAB, SHT_DYNSYM] {
            let _damaged = self.each_symbol(kind, &mut |symbol, strings| {
                if matches!(symbol.kind, STT_FUNC | STT_OBJECT) && text(strings, symbol.name) == name {
                    address = Some(symbol.address);
                }
                address.is_none()
            });
        }
        address
    }

    /// Shows every symbol that is defined here, with the table of names, until told to stop.
    fn each_symbol(&self, kind: u32, show: &mut dyn FnMut(Defined, &Vec<u8>) -> bool) -> Result<(), ElfError> {
        for section in self.sections().filter(|section| section.kind == kind).take(1) {
            let symbols = self.content(section, "its symbols")?;
            let strings = self.section_at(section.link).ok_or(ElfError::Damaged { what: "its names of symbols" })?;
            let strings = self.content(strings, "its names of symbols")?;
            for entry in symbols.as_chunks::<SYMBOL_BYTES>().0 {
                let word = |at, size| number(entry, at, size).unwrap_or(0);
                let (section, address) = (word(6, 2), word(8, 8));
                let name = u32::try_from(word(0, 4)).unwrap_or(0);
                let kind = u8::try_from(word(4, 1)).unwrap_or(0) & 0xf;
                // Section 0 is another file's.
                if section == 0 || address == 0 {
                    continue;
                }
                if !show(Defined { name, kind, address, bytes: word(16, 8) }, &strings) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

struct Defined {
    name: u32,
    kind: u8,
    address: u64,
    bytes: u64,
}

impl Functions {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All of them, in order of their offsets.
    pub fn iter(&self) -> impl Iterator<Item = Symbol<'_>> {
        self.entries.iter().map(|entry| self.symbol(entry))
    }

    /// All functions of that name: more than one if several are private to their source files.
    pub fn named(&self, name: &str) -> Vec<Symbol<'_>> {
        self.iter().filter(|symbol| symbol.name == name).collect()
    }

    /// The function that holds an offset of the file; the next one before it if its size is not known.
    pub fn at(&self, offset: u64) -> Option<Symbol<'_>> {
        let after = self.entries.partition_point(|entry| entry.offset <= offset);
        let mut before = self.entries.get(..after)?.iter().rev().take(8);
        let entry = before.find(|entry| entry.bytes == 0 || offset - entry.offset < entry.bytes)?;
        Some(self.symbol(entry))
    }

    fn symbol(&self, entry: &FunctionEntry) -> Symbol<'_> {
        let FunctionEntry { offset, address, bytes, .. } = *entry;
        Symbol { offset, name: name_in(&self.strings, entry), address, bytes }
    }
}

fn name_in<'a>(strings: &'a [Vec<u8>; 2], entry: &FunctionEntry) -> &'a str {
    strings.get(usize::from(entry.table)).map(|strings| text(strings, entry.name)).unwrap_or_default()
}

/// A name; empty if it is too long or no text.
fn text(strings: &[u8], at: u32) -> &str {
    let rest = strings.get(at as usize..).unwrap_or_default();
    let rest = rest.get(..MAX_NAME_BYTES.min(rest.len())).unwrap_or_default();
    let end = rest.iter().position(|byte| *byte == 0);
    end.and_then(|end| std::str::from_utf8(rest.get(..end)?).ok()).unwrap_or_default()
}
