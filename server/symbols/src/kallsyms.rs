//! The text of `/proc/kallsyms`: the kernel's own symbols and those of modules and BPF programs.

use std::collections::HashMap;

use crate::process_maps::hex;

/// The most symbols that are kept.
const MAX_SYMBOLS: usize = 1 << 22;
/// The longest name (the kernel's limit is 512).
const MAX_NAME_BYTES: usize = 1024;

/// Why the text cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KallsymsError {
    /// All addresses are zero: whoever opened the file may not see them.
    #[error("the kernel hides the addresses of its symbols (kernel.kptr_restrict, or the agent lacks CAP_SYSLOG)")]
    Hidden,
    /// There is no symbol `_text`, so nothing can be related to the image.
    #[error("the kernel's symbols lack `_text`")]
    NoBase,
    /// Too many symbols, or names too long in sum.
    #[error("the kernel's symbols exceed the limit of {limit}")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    address: u64,
    /// Where its name begins in `names`.
    name: u32,
    name_bytes: u16,
    /// Index in `modules`; 0 is the kernel itself.
    module: u16,
}

/// Symbols of code, sorted by address.
#[derive(Clone, Debug)]
pub struct Kallsyms {
    entries: Vec<Entry>,
    names: Vec<u8>,
    modules: Vec<Box<[u8]>>,
    base: u64,
    /// Address after the kernel's own code (`_etext`), 0 where it is not listed.
    core_end: u64,
    /// Where the functions begin and end in which the scheduler makes threads wait (`__sched_text_start`, `__sched_text_end`).
    scheduler: (u64, u64),
    /// How many lines could not be read.
    pub skipped: usize,
}

/// A symbol of the kernel at some place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelSymbol<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// The module it belongs to (`bpf` for BPF programs); none for the kernel itself.
    pub module: Option<&'a [u8]>,
    /// How far into the symbol the place is.
    pub offset: u64,
}

impl Kallsyms {
    /// Reads the text. Symbols of data are left out.
    ///
    /// # Errors
    /// If addresses are hidden, `_text` is missing, or a limit is exceeded.
    pub fn parse(text: &[u8]) -> Result<Self, KallsymsError> {
        let lines = text.len() / 48;
        let mut read = Self {
            entries: Vec::with_capacity(lines.min(MAX_SYMBOLS)),
            names: Vec::with_capacity(text.len() / 2),
            modules: vec![Box::default()],
            base: 0,
            core_end: 0,
            scheduler: (0, 0),
            skipped: 0,
        };
        let mut module_ids = HashMap::new();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match parse_line(line) {
                Some(symbol) => read.add(symbol, &mut module_ids)?,
                None => read.skipped += 1,
            }
        }
        read.finish()
    }

    fn add<'a>(&mut self, line: Line<'a>, ids: &mut HashMap<&'a [u8], u16>) -> Result<(), KallsymsError> {
        match (line.module, line.name) {
            (None, b"_text") => self.base = line.address,
            (None, b"_etext") => self.core_end = line.address,
            (None, b"__sched_text_start") => self.scheduler.0 = line.address,
            (None, b"__sched_text_end") => self.scheduler.1 = line.address,
            _ => {}
        }
        if !matches!(line.kind, b't' | b'T' | b'w' | b'W') {
            return Ok(());
        }
        let too_large = |_overflow| KallsymsError::TooLarge { limit: MAX_SYMBOLS };
        if self.entries.len() >= MAX_SYMBOLS {
            return Err(KallsymsError::TooLarge { limit: MAX_SYMBOLS });
        }
        let module = match line.module {
            None => 0,
            Some(module) => match ids.get(module) {
                Some(id) => *id,
                None => {
                    let id = u16::try_from(self.modules.len()).map_err(too_large)?;
                    self.modules.push(module.into());
                    ids.insert(module, id);
                    id
                }
            },
        };
        let name = u32::try_from(self.names.len()).map_err(too_large)?;
        let name_bytes = u16::try_from(line.name.len()).map_err(too_large)?;
        self.names.extend_from_slice(line.name);
        self.entries.push(Entry { address: line.address, name, name_bytes, module });
        Ok(())
    }

    fn finish(mut self) -> Result<Self, KallsymsError> {
        if self.entries.iter().all(|entry| entry.address == 0) {
            return Err(KallsymsError::Hidden);
        }
        if self.base == 0 {
            return Err(KallsymsError::NoBase);
        }
        // A stable sort keeps the file's order among aliases; the first of them is looked up.
        self.entries.sort_by_key(|entry| entry.address);
        self.entries.dedup_by_key(|entry| entry.address);
        self.entries.shrink_to_fit();
        self.names.shrink_to_fit();
        Ok(self)
    }

    /// The address of `_text`, which offsets are relative to.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Where the scheduler's own functions begin and end, in which threads wait for others' reasons: `schedule`, `mutex_lock`,
    /// `wait_for_completion`. As `/proc/PID/wchan` has it, a thread blocks in the function that called the outermost of these.
    pub fn scheduler(&self) -> Option<std::ops::Range<u64>> {
        let (start, end) = self.scheduler;
        (start != 0 && start < end).then_some(start..end)
    }

    /// How many symbols there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The offset of a kernel address from `_text`. Addresses below it (modules on some machines) wrap around.
    pub fn normalise(&self, address: u64) -> u64 {
        address.wrapping_sub(self.base)
    }

    /// The symbol at an offset from `_text`.
    pub fn lookup(&self, offset: u64) -> Option<KernelSymbol<'_>> {
        let address = self.base.wrapping_add(offset);
        let after = self.entries.partition_point(|entry| entry.address <= address);
        let entry = self.entries.get(after.checked_sub(1)?)?;
        // The kernel's own last symbol does not reach into the modules' memory.
        if entry.module == 0 && self.core_end != 0 && entry.address < self.core_end && address >= self.core_end {
            return None;
        }
        let start = entry.name as usize;
        let name = self.names.get(start..start + usize::from(entry.name_bytes))?;
        let module = self.modules.get(usize::from(entry.module)).filter(|module| !module.is_empty());
        Some(KernelSymbol { name, module: module.map(AsRef::as_ref), offset: address - entry.address })
    }
}

struct Line<'a> {
    address: u64,
    kind: u8,
    name: &'a [u8],
    module: Option<&'a [u8]>,
}

/// `ADDRESS KIND NAME` and for those of a module a tab and `[MODULE]`.
fn parse_line(line: &[u8]) -> Option<Line<'_>> {
    let space = line.iter().position(|byte| *byte == b' ')?;
    let address = hex(line.get(..space)?)?;
    let [kind, b' ', rest @ ..] = line.get(space + 1..)? else { return None };
    let (name, module) = match rest.iter().position(|byte| *byte == b'\t') {
        None => (rest, None),
        Some(tab) => {
            let module = rest.get(tab + 1..)?.trim_ascii();
            (rest.get(..tab)?, Some(module.strip_prefix(b"[")?.strip_suffix(b"]")?))
        }
    };
    let fits = !name.is_empty() && name.len() <= MAX_NAME_BYTES;
    fits.then_some(Line { address, kind: *kind, name, module })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    const TEXT: &[u8] = b"ffffffff81000000 T _text\nffffffff81000000 T startup_64\nffffffff81000100 t do_one\n\
        ffffffff81000200 W do_two\nffffffff81000210 D some_data\nffffffff81001000 T _etext\n\
        ffffffff81000100 t alias_of_do_one\n\
        ffffffffc0000000 t nf_hook\t[nf_tables]\nffffffffc0000040 t bpf_prog_6deef7357e7b4530_f\t[bpf]\n";

    fn found(symbols: &Kallsyms, address: u64) -> Option<(String, Option<String>, u64)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        symbols.lookup(symbols.normalise(address)).map(|s| (text(s.name), s.module.map(text), s.offset))
    }

    #[test]
    fn symbols_are_found_by_offset_from_text() {
        let symbols = Kallsyms::parse(TEXT).unwrap();
        assert_eq!(symbols.base(), 0xffff_ffff_8100_0000);
        let plain = |name: &str, offset| Some((name.to_owned(), None, offset));
        assert_eq!(found(&symbols, 0xffff_ffff_8100_0000), plain("_text", 0));
        assert_eq!(found(&symbols, 0xffff_ffff_8100_01ff), plain("do_one", 0xff));
        assert_eq!(found(&symbols, 0xffff_ffff_8100_0220), plain("do_two", 0x20));
        assert_eq!(found(&symbols, 0xffff_ffff_80ff_ffff), None);
        let module = Some(("nf_hook".to_owned(), Some("nf_tables".to_owned()), 0x3f));
        assert_eq!(found(&symbols, 0xffff_ffff_c000_003f), module);
        assert_eq!(found(&symbols, 0xffff_ffff_c000_0041).unwrap().1, Some("bpf".to_owned()));
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        assert_eq!(Kallsyms::parse(b"0000000000000000 T _text\n").unwrap_err(), KallsymsError::Hidden);
        assert_eq!(Kallsyms::parse(b"ffffffff81000000 T other\n").unwrap_err(), KallsymsError::NoBase);
        assert_eq!(Kallsyms::parse(b"").unwrap_err(), KallsymsError::Hidden);
    }

    proptest! {
        #[test]
        fn garbage_does_no_harm(text in proptest::collection::vec(any::<u8>(), 0..4096), at in any::<u64>()) {
            let whole = [TEXT, &text].concat();
            if let Ok(symbols) = Kallsyms::parse(&whole) {
                let _found = symbols.lookup(at);
            }
        }
    }
}
