//! Compressed sections of ELF files, counted before a parser decompresses them.
//!
//! What a section says of its size, and what comes of its data, is as hostile as any input: the one makes whoever believes it
//! ask for more memory than there is, which ends the process, and the other fills it. So both are looked at first, a piece
//! at a time.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt as _,
};

use flate2::read::ZlibDecoder;

use crate::elf::{CompressedSection, Compression, ElfError, compressed_sections};

/// Bytes that are decompressed at a time.
const PIECE_BYTES: usize = 64 << 10;

/// How much a file's sections are when they are decompressed, which is more than `limit` if it is more.
///
/// # Errors
/// If the file is not an ELF file, or a section has more than it says.
pub(crate) fn decompressed_bytes(file: &File, limit: u64) -> Result<u64, ElfError> {
    let sections = compressed_sections(|offset, buffer| file.read_exact_at(buffer, offset).is_ok())?;
    let told = sections.iter().fold(0_u64, |sum, section| sum.saturating_add(section.told_bytes));
    if told > limit {
        return Ok(told);
    }
    for section in &sections {
        let part = Part { file, offset: section.offset, left: section.bytes };
        if !fits(part, section) {
            return Err(ElfError::Damaged { what: "a compressed section, which has more than it says" });
        }
    }
    Ok(told)
}

/// Whether no more than was told comes of a section. Data that is damaged fits as far as it can be read.
fn fits(part: Part<'_>, section: &CompressedSection) -> bool {
    match section.compression {
        Compression::Zlib => counted(ZlibDecoder::new(part), section.told_bytes),
        Compression::Zstd => zstd::Decoder::new(part).map_or(true, |data| counted(data, section.told_bytes)),
    }
}

/// A compressed section with its header, decompressed; none if it is damaged, or more than `limit` bytes.
pub fn decompressed(section: &[u8], limit: usize) -> Option<Vec<u8>> {
    let word = |at: usize| section.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
    let (kind, told) = (word(0)? & 0xffff_ffff, usize::try_from(word(8)?).ok()?);
    let data = section.get(24..)?;
    if told > limit {
        return None;
    }
    // No more is asked for than was told.
    let mut content = Vec::with_capacity(told);
    let most = told as u64;
    match kind {
        1 => ZlibDecoder::new(data).take(most).read_to_end(&mut content).ok()?,
        2 => zstd::Decoder::new(data).ok()?.take(most).read_to_end(&mut content).ok()?,
        _ => return None,
    };
    (content.len() == told).then_some(content)
}

fn counted(mut data: impl Read, most: u64) -> bool {
    let (mut piece, mut bytes) = (vec![0; PIECE_BYTES], 0_u64);
    loop {
        match data.read(&mut piece) {
            Ok(0) => return true,
            Ok(count) => bytes += count as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_damaged) => return true,
        }
        if bytes > most {
            return false;
        }
    }
}

/// Bytes of a file from an offset on.
struct Part<'a> {
    file: &'a File,
    offset: u64,
    left: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.file.read_at(buffer.get_mut(..most).unwrap_or_default(), self.offset)?;
        self.offset += count as u64;
        self.left -= count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::io::Write as _;

    use flate2::{Compression as Level, write::ZlibEncoder};

    use super::*;

    /// A file with one section of this type of compression.
    fn file(kind: u32, told: u64, data: &[u8]) -> File {
        let mut bytes = vec![0_u8; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[40..48].copy_from_slice(&64_u64.to_le_bytes());
        bytes[58..60].copy_from_slice(&64_u16.to_le_bytes());
        bytes[60..62].copy_from_slice(&1_u16.to_le_bytes());
        let mut section = vec![0_u8; 64];
        section[4..8].copy_from_slice(&1_u32.to_le_bytes());
        section[8..16].copy_from_slice(&0x800_u64.to_le_bytes());
        section[24..32].copy_from_slice(&128_u64.to_le_bytes());
        section[32..40].copy_from_slice(&(24 + data.len() as u64).to_le_bytes());
        let mut header = vec![0_u8; 24];
        header[..4].copy_from_slice(&kind.to_le_bytes());
        header[8..16].copy_from_slice(&told.to_le_bytes());
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[bytes, section, header, data.to_vec()].concat()).unwrap();
        file
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Level::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn p16_sections_that_lie_of_their_size_are_refused() {
        let zeros = vec![0; 1 << 20];
        let both = [(1, zlib(&zeros)), (2, zstd::encode_all(&zeros[..], 3).unwrap())];
        for (kind, data) in both {
            assert!(data.len() < 2000, "a thousandth of what comes of it");
            assert_eq!(decompressed_bytes(&file(kind, 1 << 20, &data), 1 << 20), Ok(1 << 20));
            let less = decompressed_bytes(&file(kind, 1 << 10, &data), 1 << 20);
            assert!(matches!(less, Err(ElfError::Damaged { .. })), "{less:?}");
            assert_eq!(
                decompressed_bytes(&file(kind, 0x0101_0101_0101_0101, &data), 1 << 20),
                Ok(0x0101_0101_0101_0101)
            );
            assert_eq!(decompressed_bytes(&file(kind, 1 << 20, &data[..data.len() / 2]), 1 << 20), Ok(1 << 20));
        }
        // Another compression is nobody's business, as nothing is made of it.
        assert_eq!(decompressed_bytes(&file(7, u64::MAX, b""), 1 << 20), Ok(0));
    }
}
