//! The build id of an ELF file, and of the notes that the kernel shows of itself; where the code of a file is.

use bathyscope_capture::Machine;

/// The most program headers that are looked at.
const MAX_HEADERS: u64 = 256;
/// The most sections that are looked at; large programs have some thousands.
const MAX_SECTIONS: u64 = 1 << 20;
/// Bit of a section that is compressed.
const SHF_COMPRESSED: u64 = 0x800;
/// The most bytes of notes that are read of one segment.
const MAX_NOTE_BYTES: u64 = 64 << 10;
/// The longest build id.
const MAX_BUILD_ID_BYTES: usize = 64;
/// Type of a segment that holds notes.
const PT_NOTE: u32 = 4;
/// Type of a segment that is loaded.
const PT_LOAD: u32 = 1;
/// Bit of a segment that holds code.
const PF_X: u64 = 1;
/// Type of the note that holds the build id.
const NT_GNU_BUILD_ID: u32 = 3;

/// Why a file is not an ELF file that can be read. Never shows what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElfError {
    /// It is something else.
    #[error("the file is not a little-endian ELF file")]
    NotElf,
    /// It ends before its headers do.
    #[error("the ELF file is damaged: {what}")]
    Damaged {
        /// Which part.
        what: &'static str,
    },
}

/// The build id of the ELF file whose bytes `read` gives; empty if it has none.
///
/// `read` fills its buffer from an offset of the file and says whether it could.
///
/// # Errors
/// If it is not an ELF file, or a damaged one.
pub fn elf_build_id(mut read: impl FnMut(u64, &mut [u8]) -> bool) -> Result<Vec<u8>, ElfError> {
    let headers = headers(&mut read)?;
    for segment in headers.segments.iter().filter(|segment| segment.kind == PT_NOTE) {
        let size = usize::try_from(segment.size.min(MAX_NOTE_BYTES)).unwrap_or(0);
        let mut notes = vec![0; size];
        if !read(segment.offset, &mut notes) {
            return Err(ElfError::Damaged { what: "its notes" });
        }
        if let Some(id) = build_id_of_notes(&notes) {
            return Ok(id.to_vec());
        }
    }
    Ok(Vec::new())
}

/// Code of a file, as it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeSegment {
    /// For which machine.
    pub machine: Machine,
    /// Offset in the file.
    pub offset: u64,
    /// Bytes in the file.
    pub size: u64,
    /// Address of the first byte as the file counts.
    pub address: u64,
}

/// The loaded code of the ELF file whose bytes `read` gives, as [`elf_build_id`], around an offset of it; none if there is no
/// code.
///
/// # Errors
/// If it is not an ELF file, or a damaged one.
pub fn elf_code_at(offset: u64, mut read: impl FnMut(u64, &mut [u8]) -> bool) -> Result<Option<CodeSegment>, ElfError> {
    let headers = headers(&mut read)?;
    let mut code = headers.segments.iter().filter(|segment| segment.kind == PT_LOAD && segment.flags & PF_X != 0);
    let around = |segment: &&Segment| offset.checked_sub(segment.offset).is_some_and(|into| into < segment.size);
    Ok(code.find(around).map(|&Segment { offset, size, address, .. }| CodeSegment {
        machine: headers.machine,
        offset,
        size,
        address,
    }))
}

struct Segment {
    kind: u32,
    flags: u64,
    offset: u64,
    address: u64,
    size: u64,
}

struct Headers {
    machine: Machine,
    segments: Vec<Segment>,
}

/// The header, and whether its numbers have 64 bits.
fn file_header(read: &mut impl FnMut(u64, &mut [u8]) -> bool) -> Result<([u8; 64], bool), ElfError> {
    let mut header = [0_u8; 64];
    // A file of 32-bit code may be shorter than a 64-bit header.
    if !read(0, &mut header) && !read(0, header.get_mut(..52).unwrap_or_default()) {
        return Err(ElfError::NotElf);
    }
    let wide = match header {
        [0x7f, b'E', b'L', b'F', 2, 1, ..] => true,
        [0x7f, b'E', b'L', b'F', 1, 1, ..] => false,
        _ => return Err(ElfError::NotElf),
    };
    Ok((header, wide))
}

fn headers(read: &mut impl FnMut(u64, &mut [u8]) -> bool) -> Result<Headers, ElfError> {
    let (header, wide) = file_header(read)?;
    let damaged = ElfError::Damaged { what: "its header" };
    let (table, entry, count) = if wide {
        (number(&header, 32, 8), number(&header, 54, 2), number(&header, 56, 2))
    } else {
        (number(&header, 28, 4), number(&header, 42, 2), number(&header, 44, 2))
    };
    let (table, entry, count) = (table.ok_or(damaged)?, entry.ok_or(damaged)?, count.ok_or(damaged)?);
    let machine = match (number(&header, 18, 2), wide) {
        (Some(62), true) => Machine::X86_64,
        (Some(3), false) => Machine::X86,
        (Some(183), true) => Machine::Aarch64,
        _ => Machine::Other,
    };
    let mut segments = Vec::new();
    for index in 0..count.min(MAX_HEADERS) {
        let damaged = ElfError::Damaged { what: "its program headers" };
        let at = index.checked_mul(entry).and_then(|offset| table.checked_add(offset)).ok_or(damaged)?;
        let mut program = [0_u8; 56];
        let bytes = program.get_mut(..if wide { 56 } else { 32 }).unwrap_or_default();
        if !read(at, bytes) {
            return Err(damaged);
        }
        segments.extend(segment(&program, wide));
    }
    Ok(Headers { machine, segments })
}

fn segment(program: &[u8], wide: bool) -> Option<Segment> {
    let kind = u32::try_from(number(program, 0, 4)?).ok()?;
    let at = |place, size| number(program, place, size);
    let (flags, offset, address, size) = if wide {
        (at(4, 4)?, at(8, 8)?, at(16, 8)?, at(32, 8)?)
    } else {
        (at(24, 4)?, at(4, 4)?, at(8, 4)?, at(16, 4)?)
    };
    Some(Segment { kind, flags, offset, address, size })
}

/// How a section is compressed, where a parser would decompress it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Zlib,
    Zstd,
}

/// A compressed section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompressedSection {
    pub(crate) compression: Compression,
    /// Offset of its data in the file.
    pub(crate) offset: u64,
    /// Bytes of its data in the file.
    pub(crate) bytes: u64,
    /// How much it says it is when it is decompressed.
    pub(crate) told_bytes: u64,
}

/// The compressed sections of the ELF file whose bytes `read` gives, as [`elf_build_id`].
///
/// # Errors
/// If it is not an ELF file, or has more sections than are looked at.
pub(crate) fn compressed_sections(
    mut read: impl FnMut(u64, &mut [u8]) -> bool,
) -> Result<Vec<CompressedSection>, ElfError> {
    let (header, wide) = file_header(&mut read)?;
    let at = |place, size| number(&header, place, size).unwrap_or(0);
    let (table, entry, count, usual_entry) =
        if wide { (at(40, 8), at(58, 2), at(60, 2), 64) } else { (at(32, 4), at(46, 2), at(48, 2), 40) };
    if table == 0 {
        return Ok(Vec::new());
    }
    // Parsers take the usual size, whatever is said here.
    if entry != usual_entry {
        return Err(ElfError::Damaged { what: "its section headers" });
    }
    let mut section = |index: u64| {
        let mut bytes = [0_u8; 64];
        let place = index.checked_mul(entry).and_then(|offset| table.checked_add(offset))?;
        read(place, bytes.get_mut(..usize::try_from(entry).ok()?)?).then_some(bytes)
    };
    // With very many sections their number is the size of the first one.
    let size_of = |first: [u8; 64]| if wide { number(&first, 32, 8) } else { number(&first, 20, 4) };
    let count = if count == 0 { section(0).and_then(size_of).unwrap_or(0) } else { count };
    if count > MAX_SECTIONS {
        return Err(ElfError::Damaged { what: "its sections, of which there are too many" });
    }
    let is_compressed = |section: &[u8; 64]| {
        let flags = if wide { number(section, 8, 8) } else { number(section, 8, 4) };
        flags.is_some_and(|flags| flags & SHF_COMPRESSED != 0)
    };
    let found: Vec<[u8; 64]> = (0..count).map_while(&mut section).filter(is_compressed).collect();
    Ok(found.iter().filter_map(|section| compressed(section, wide, &mut read)).collect())
}

fn compressed(section: &[u8], wide: bool, read: &mut impl FnMut(u64, &mut [u8]) -> bool) -> Option<CompressedSection> {
    let at = |place, size| number(section, place, size);
    let (offset, bytes) = if wide { (at(24, 8)?, at(32, 8)?) } else { (at(16, 4)?, at(20, 4)?) };
    let mut header = [0_u8; 24];
    let header_bytes = if wide { 24_u8 } else { 12 };
    let header = header.get_mut(..usize::from(header_bytes))?;
    if !read(offset, header) {
        return None;
    }
    let compression = match number(header, 0, 4)? {
        1 => Compression::Zlib,
        2 => Compression::Zstd,
        _ => return None,
    };
    let told_bytes = if wide { number(header, 8, 8)? } else { number(header, 4, 4)? };
    let (offset, bytes) = (offset.checked_add(header_bytes.into())?, bytes.checked_sub(header_bytes.into())?);
    Some(CompressedSection { compression, offset, bytes, told_bytes })
}

/// A build id as people and servers of debug files write it: in hexadecimal digits.
pub fn build_id_text(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The build id in a sequence of ELF notes, such as `/sys/kernel/notes`.
pub fn build_id_of_notes(notes: &[u8]) -> Option<&[u8]> {
    let mut rest = notes;
    loop {
        let name_bytes = usize::try_from(number(rest, 0, 4)?).ok()?;
        let value_bytes = usize::try_from(number(rest, 4, 4)?).ok()?;
        let kind = number(rest, 8, 4)?;
        let value_start = 12_usize.checked_add(name_bytes.checked_next_multiple_of(4)?)?;
        let value_end = value_start.checked_add(value_bytes)?;
        let name = rest.get(12..12_usize.checked_add(name_bytes)?)?;
        let value = rest.get(value_start..value_end)?;
        let fits = !value.is_empty() && value.len() <= MAX_BUILD_ID_BYTES;
        if kind == u64::from(NT_GNU_BUILD_ID) && name == b"GNU\0" && fits {
            return Some(value);
        }
        rest = rest.get(value_end.checked_next_multiple_of(4)?..)?;
    }
}

/// An unsigned little-endian number of 2, 4 or 8 bytes.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    fn of_bytes(bytes: &[u8]) -> Result<Vec<u8>, ElfError> {
        elf_build_id(|offset, buffer| {
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            let part = start.checked_add(buffer.len()).and_then(|end| bytes.get(start..end));
            part.map(|part| buffer.copy_from_slice(part)).is_some()
        })
    }

    fn note(kind: u32, name: &[u8], value: &[u8]) -> Vec<u8> {
        let mut note = Vec::new();
        for number in [name.len(), value.len()] {
            note.extend_from_slice(&u32::try_from(number).unwrap().to_le_bytes());
        }
        note.extend_from_slice(&kind.to_le_bytes());
        for part in [name, value] {
            note.extend_from_slice(part);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    fn elf(notes: &[u8]) -> Vec<u8> {
        let mut file = vec![0_u8; 64 + 56];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[32..40].copy_from_slice(&64_u64.to_le_bytes());
        file[54..56].copy_from_slice(&56_u16.to_le_bytes());
        file[56..58].copy_from_slice(&1_u16.to_le_bytes());
        file[64..68].copy_from_slice(&PT_NOTE.to_le_bytes());
        file[72..80].copy_from_slice(&120_u64.to_le_bytes());
        file[96..104].copy_from_slice(&(notes.len() as u64).to_le_bytes());
        file.extend_from_slice(notes);
        file
    }

    #[test]
    fn the_build_id_is_found_behind_other_notes() {
        let notes = [note(5, b"GNU\0", &[1; 16]), note(1, b"stapsdt\0", &[2; 7]), note(3, b"GNU\0", &[0xab; 20])];
        assert_eq!(of_bytes(&elf(&notes.concat())), Ok(vec![0xab; 20]));
        assert_eq!(of_bytes(&elf(&notes[0])), Ok(Vec::new()));
        assert_eq!(build_id_of_notes(&notes.concat()), Some([0xab; 20].as_slice()));
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(of_bytes(b"#!/bin/sh\n"), Err(ElfError::NotElf));
        let mut file = elf(&note(3, b"GNU\0", &[1; 20]));
        file[96..104].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(of_bytes(&file), Err(ElfError::Damaged { what: "its notes" }));
        file[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(of_bytes(&file), Err(ElfError::Damaged { what: "its program headers" }));
    }

    proptest! {
        #[test]
        fn garbage_does_no_harm(garbage in proptest::collection::vec(any::<u8>(), 0..512)) {
            let _plain = of_bytes(&garbage);
            let _notes = build_id_of_notes(&garbage);
            let _inside = of_bytes(&elf(&garbage));
            let mut file = b"\x7fELF\x02\x01".to_vec();
            file.extend_from_slice(&garbage);
            let _header = of_bytes(&file);
        }
    }
}
