//! Headers, segments, sections and notes of an ELF file.

use gimli::{DebugAranges, DwarfSections, LittleEndian, SectionId};

use super::{Decompress, MAX_LINE_BYTES};
use crate::constants::Arch;

/// The largest table (of symbols, strings or notes) that is read, in bytes.
pub const MAX_TABLE_BYTES: u64 = 512 << 20;
/// The most segments and sections that are looked at.
const MAX_SEGMENTS: u64 = 1024;
const MAX_SECTIONS: u64 = 1 << 16;
/// The most bytes of notes that are read of one segment.
const MAX_NOTE_BYTES: u64 = 4 << 20;
/// The largest section of units of which one is read.
const MAX_UNITS_BYTES: u64 = 2 << 30;
/// The longest build id.
const MAX_BUILD_ID_BYTES: usize = 256;

const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
const ET_EXEC: u64 = 2;
const SHT_NOTE: u32 = 7;
const SHT_NOBITS: u32 = 8;
const SHF_COMPRESSED: u64 = 0x800;
const NT_GNU_BUILD_ID: u32 = 3;
const NT_GO_BUILD_ID: u32 = 4;

/// Something that can be read at any place: bytes, or an open file.
pub trait ReadAt {
    /// How many bytes there are.
    fn length(&self) -> u64;
    /// Fills the buffer from an offset; whether it could.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> bool;
}

impl ReadAt for &[u8] {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> bool {
        let start = usize::try_from(offset).ok();
        let part = start.and_then(|start| self.get(start..start.checked_add(buffer.len())?));
        part.map(|part| buffer.copy_from_slice(part)).is_some()
    }
}

impl ReadAt for Vec<u8> {
    fn length(&self) -> u64 {
        self.as_slice().length()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> bool {
        self.as_slice().read_at(offset, buffer)
    }
}

/// Why an ELF file is not understood. Never shows what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElfError {
    /// It is something else.
    #[error("this is not an ELF file of a 64-bit little-endian program")]
    NotElf,
    /// It is for another processor.
    #[error("this ELF file is for a processor that cannot be traced here (machine {machine})")]
    Machine {
        /// As its header says.
        machine: u16,
    },
    /// A part is damaged.
    #[error("the ELF file is damaged: {what}")]
    Damaged {
        /// Which part.
        what: &'static str,
    },
    /// A table is too large.
    #[error("the ELF file is too large: {what} has {bytes} bytes, the limit is {limit}")]
    TooLarge {
        /// Which table.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
}

/// A part of the file that is mapped when it runs.
#[derive(Clone, Copy, Debug)]
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    bytes: u64,
    executable: bool,
}

/// A part of the file that linkers know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    name: u32,
    pub(super) kind: u32,
    pub(super) address: u64,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) link: u32,
    pub(super) compressed: bool,
}

/// An ELF file whose headers are read.
pub struct ElfFile<'a> {
    source: &'a dyn ReadAt,
    arch: Arch,
    fixed: bool,
    segments: Vec<Segment>,
    sections: Vec<Section>,
    section_names: Vec<u8>,
}

impl std::fmt::Debug for ElfFile<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (segments, sections) = (self.segments.len(), self.sections.len());
        f.debug_struct("ElfFile").field("segments", &segments).field("sections", &sections).finish()
    }
}

impl<'a> ElfFile<'a> {
    /// Reads the headers.
    ///
    /// # Errors
    /// If it is not an ELF file of x86_64 or aarch64, or damaged.
    pub fn parse(source: &'a dyn ReadAt) -> Result<Self, ElfError> {
        let mut header = [0; 64];
        if !source.read_at(0, &mut header) || !header.starts_with(b"\x7fELF\x02\x01") {
            return Err(ElfError::NotElf);
        }
        let word = |at, size| number(&header, at, size).unwrap_or(0);
        let arch = match word(18, 2) {
            62 => Arch::X86_64,
            183 => Arch::Aarch64,
            machine => return Err(ElfError::Machine { machine: u16::try_from(machine).unwrap_or(0) }),
        };
        let fixed = word(16, 2) == ET_EXEC;
        let (segments, sections, section_names) = (Vec::new(), Vec::new(), Vec::new());
        let mut file = Self { source, arch, fixed, segments, sections, section_names };
        let (mut segments, mut sections, mut names) = (word(56, 2), word(60, 2), word(62, 2));
        let (segments_at, sections_at) = (word(32, 8), word(40, 8));
        if sections_at != 0 && (sections == 0 || segments == 0xffff || names == 0xffff) {
            // What does not fit into the header is in the first section.
            let first = file.entries(sections_at, 64, 1, "its section headers")?;
            let or_first = |value, limit, at, size| {
                if value == limit { number(&first, at, size).unwrap_or(0) } else { value }
            };
            sections = or_first(sections, 0, 32, 8);
            segments = or_first(segments, 0xffff, 44, 4);
            names = or_first(names, 0xffff, 40, 4);
        }
        let table = file.entries(segments_at, 56, segments.min(MAX_SEGMENTS), "its program headers")?;
        file.segments = table.as_chunks::<56>().0.iter().map(|entry| segment(entry)).collect();
        if sections_at != 0 {
            let table = file.entries(sections_at, 64, sections.min(MAX_SECTIONS), "its section headers")?;
            file.sections = table.as_chunks::<64>().0.iter().map(|entry| section(entry)).collect();
            let names = usize::try_from(names).ok().and_then(|at| file.sections.get(at).copied());
            file.section_names =
                names.map(|names| file.content(names, "names of sections")).transpose()?.unwrap_or_default();
        }
        Ok(file)
    }

    /// The processor it is for.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Whether it is always loaded where its own numbering says: a program that is not position-independent.
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    fn entries(&self, at: u64, size: u64, count: u64, what: &'static str) -> Result<Vec<u8>, ElfError> {
        self.read(at, size.saturating_mul(count), what)
    }

    /// Bytes of the file.
    fn read(&self, offset: u64, bytes: u64, what: &'static str) -> Result<Vec<u8>, ElfError> {
        // Nothing is allocated for what cannot be there.
        if offset.checked_add(bytes).is_none_or(|end| end > self.source.length()) {
            return Err(ElfError::Damaged { what });
        }
        let size = usize::try_from(bytes).ok().filter(|_| bytes <= MAX_TABLE_BYTES);
        let mut content = vec![0; size.ok_or(ElfError::TooLarge { what, bytes, limit: MAX_TABLE_BYTES })?];
        if self.source.read_at(offset, &mut content) { Ok(content) } else { Err(ElfError::Damaged { what }) }
    }

    pub(super) fn content(&self, of: Section, what: &'static str) -> Result<Vec<u8>, ElfError> {
        if of.kind == SHT_NOBITS { Ok(Vec::new()) } else { self.read(of.offset, of.bytes, what) }
    }

    /// The content of a section of debug information, decompressed; empty if there is none.
    pub(super) fn debug_section(
        &self,
        name: &[u8],
        limit: usize,
        decompress: &dyn Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<Vec<u8>, ElfError> {
        const WHAT: &str = "its debug information";
        let Some(section) = self.section(name) else { return Ok(Vec::new()) };
        if section.bytes > limit as u64 {
            return Err(ElfError::TooLarge { what: WHAT, bytes: section.bytes, limit: limit as u64 });
        }
        let content = self.content(section, WHAT)?;
        if section.compressed { decompress(&content).ok_or(ElfError::Damaged { what: WHAT }) } else { Ok(content) }
    }

    /// The section of units with only the one that has an address, and where that is; the rest is zeros, for which no memory is
    /// taken. None where the file does not tell which unit it is, or that cannot be read alone.
    pub(super) fn unit_at(&self, address: u64, decompress: Decompress<'_>) -> Option<(Vec<u8>, usize)> {
        let section = self.section(b".debug_info").filter(|it| !it.compressed && it.kind != SHT_NOBITS)?;
        let ranges = self.debug_section(b".debug_aranges", MAX_LINE_BYTES, decompress).ok()?;
        let at = unit_offset(&ranges, address).filter(|at| *at < section.bytes)?;
        let size = usize::try_from(section.bytes).ok().filter(|_| section.bytes <= MAX_UNITS_BYTES)?;
        let mut head = [0; 12];
        let begin = section.offset.checked_add(at).filter(|begin| self.source.read_at(*begin, &mut head))?;
        let bytes = match number(&head, 0, 4)? {
            // A unit of the 64-bit form.
            0xffff_ffff => number(&head, 4, 8)?.checked_add(12)?,
            bytes => bytes + 4,
        };
        let end = at.checked_add(bytes).filter(|end| *end <= section.bytes && bytes <= MAX_LINE_BYTES as u64)?;
        // The file ends behind the section, so this is no more than it has.
        section.offset.checked_add(section.bytes).filter(|end| *end <= self.source.length())?;
        let (at, end) = (usize::try_from(at).ok()?, usize::try_from(end).ok()?);
        let mut content = vec![0; size];
        self.source.read_at(begin, content.get_mut(at..end)?).then_some((content, at))
    }

    /// Those of the sections of debug information that are wanted; the others are empty.
    pub(super) fn dwarf_sections(
        &self,
        wanted: &[SectionId],
        decompress: Decompress<'_>,
    ) -> Result<DwarfSections<Vec<u8>>, ElfError> {
        DwarfSections::load(|id| match wanted.contains(&id) {
            true => self.debug_section(id.name().as_bytes(), MAX_LINE_BYTES, decompress),
            false => Ok(Vec::new()),
        })
    }

    pub(super) fn sections(&self) -> impl Iterator<Item = Section> {
        self.sections.iter().copied()
    }

    pub(super) fn section_at(&self, index: u32) -> Option<Section> {
        self.sections.get(index as usize).copied()
    }

    pub(super) fn section(&self, name: &[u8]) -> Option<Section> {
        let is_named = |section: &&Section| {
            let rest = self.section_names.get(section.name as usize..).unwrap_or_default();
            rest.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&0))
        };
        self.sections.iter().find(is_named).copied()
    }

    /// Where in the file an address is, in the numbering of the file itself.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let segment = self.loaded().find(|segment| holds(segment.address, segment.bytes, address))?;
        (address - segment.address).checked_add(segment.offset)
    }

    /// The address, in the numbering of the file itself, of what is at an offset of the file.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let segment = self.loaded().find(|segment| holds(segment.offset, segment.bytes, offset))?;
        (offset - segment.offset).checked_add(segment.address)
    }

    /// Whether instructions are at an offset of the file: only there can a uprobe be.
    pub fn is_code(&self, offset: u64) -> bool {
        self.loaded().any(|segment| segment.executable && holds(segment.offset, segment.bytes, offset))
    }

    fn loaded(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(|segment| segment.kind == PT_LOAD)
    }

    /// At most `N` bytes from an offset, as many as the file has.
    pub(super) fn bytes_at<const N: usize>(&self, offset: u64) -> ([u8; N], usize) {
        let mut bytes = [0; N];
        let left = usize::try_from(self.source.length().saturating_sub(offset)).unwrap_or(usize::MAX).min(N);
        let read = bytes.get_mut(..left).is_some_and(|part| self.source.read_at(offset, part));
        (bytes, if read { left } else { 0 })
    }

    /// The first note for which `take` gives something: it is shown the name, the type and the content.
    fn find_note<T>(&self, take: impl Fn(&[u8], u32, &[u8]) -> Option<T>) -> Option<T> {
        let segments = self.segments.iter().filter(|segment| segment.kind == PT_NOTE).map(|s| (s.offset, s.bytes));
        // Object files and debug files have no segments.
        let sections = self.sections.iter().filter(|section| section.kind == SHT_NOTE).map(|s| (s.offset, s.bytes));
        segments.chain(sections).find_map(|(offset, bytes)| {
            let content = self.read(offset, bytes.min(MAX_NOTE_BYTES), "its notes").ok()?;
            notes(&content).find_map(|(name, kind, value)| take(name, kind, value))
        })
    }

    /// The build id; `None` if it has none.
    pub fn build_id(&self) -> Option<Vec<u8>> {
        self.find_note(|name, kind, value| {
            let fits = !value.is_empty() && value.len() <= MAX_BUILD_ID_BYTES;
            (kind == NT_GNU_BUILD_ID && name == b"GNU" && fits).then(|| value.to_vec())
        })
    }

    /// Whether the Go compiler made it. A return probe breaks such a program, because its stacks move.
    pub fn is_go(&self) -> bool {
        let noted = self.find_note(|name, kind, _value| (kind == NT_GO_BUILD_ID && name == b"Go").then_some(()));
        noted.is_some() || self.section(b".gopclntab").is_some() || self.section(b".go.buildinfo").is_some()
    }

    /// The name of the file that has its debug information and all its symbols, and that file's CRC-32.
    pub fn debug_link(&self) -> Option<(Vec<u8>, u32)> {
        let section = self.section(b".gnu_debuglink").filter(|section| section.bytes <= 8192)?;
        let content = self.content(section, "its debug link").ok()?;
        let end = content.iter().position(|byte| *byte == 0)?;
        let crc = number(&content, (end + 1).next_multiple_of(4), 4)?;
        let name = content.get(..end).filter(|name| !name.is_empty() && !name.contains(&b'/'))?;
        Some((name.to_vec(), u32::try_from(crc).ok()?))
    }
}

/// Where the unit with an address is among the units, as the table of addresses says.
fn unit_offset(ranges: &[u8], address: u64) -> Option<u64> {
    let ranges = DebugAranges::new(ranges, LittleEndian);
    let mut headers = ranges.headers();
    while let Ok(Some(header)) = headers.next() {
        let mut entries = header.entries();
        while let Ok(Some(entry)) = entries.next() {
            if holds(entry.address(), entry.length(), address) {
                return u64::try_from(header.debug_info_offset().0).ok();
            }
        }
    }
    None
}

/// The notes in a section or segment: name without its zeros, type, content.
pub(super) fn notes(content: &[u8]) -> impl Iterator<Item = (&[u8], u32, &[u8])> {
    let mut rest = content;
    std::iter::from_fn(move || {
        let size = |at| usize::try_from(number(rest, at, 4)?).ok();
        let (name_bytes, value_bytes) = (size(0)?, size(4)?);
        let kind = u32::try_from(number(rest, 8, 4)?).ok()?;
        let name = rest.get(12..12_usize.checked_add(name_bytes)?)?;
        let start = 12_usize.checked_add(name_bytes.checked_next_multiple_of(4)?)?;
        let end = start.checked_add(value_bytes)?;
        let value = rest.get(start..end)?;
        rest = rest.get(end.next_multiple_of(4)..).unwrap_or_default();
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        Some((name.get(..end)?, kind, value))
    })
}

fn holds(start: u64, bytes: u64, at: u64) -> bool {
    at.checked_sub(start).is_some_and(|inside| inside < bytes)
}

fn segment(entry: &[u8]) -> Segment {
    let word = |at, size| number(entry, at, size).unwrap_or(0);
    let kind = u32::try_from(word(0, 4)).unwrap_or(0);
    Segment { kind, offset: word(8, 8), address: word(16, 8), bytes: word(32, 8), executable: word(4, 4) & 1 != 0 }
}

fn section(entry: &[u8]) -> Section {
    let word = |at, size| number(entry, at, size).unwrap_or(0);
    let half = |at| u32::try_from(word(at, 4)).unwrap_or(0);
    Section {
        name: half(0),
        kind: half(4),
        address: word(16, 8),
        offset: word(24, 8),
        bytes: word(32, 8),
        link: half(40),
        compressed: word(8, 8) & SHF_COMPRESSED != 0,
    }
}

/// An unsigned little-endian number of at most 8 bytes.
pub(super) fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}
