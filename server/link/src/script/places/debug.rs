//! Files with the symbols that a program was stripped of: below `/usr/lib/debug` by its build id, or by the name that it
//! keeps, beside it, in `.debug` or below `/usr/lib/debug`.
//!
//! A file that only has the right name is not taken: its build id, or the sum over its content, must be as the program says.

use bathyscope_catalog::elf::{ElfFile, ReadAt};

/// Where distributions put debug files.
const DEBUG_DIRECTORY: &str = "/usr/lib/debug";
const BUILD_ID_DIRECTORY: &str = "/usr/lib/debug/.build-id/";
/// Bytes that are summed up at a time.
const CHUNK_BYTES: usize = 1 << 20;
/// The largest file that is summed up. One without a build id is rare, and small.
const MAX_SUMMED_BYTES: u64 = 1 << 30;

/// Paths at which the debug file of a stripped program may be, the best first; none if it was not stripped.
pub(super) fn candidates(path: &str, elf: &ElfFile<'_>) -> Vec<String> {
    if !elf.is_stripped() {
        return Vec::new();
    }
    let mut paths = Vec::new();
    if let Some(id) = elf.build_id() {
        let text: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        paths.extend(text.split_at_checked(2).map(|(first, rest)| format!("{BUILD_ID_DIRECTORY}{first}/{rest}.debug")));
    }
    let name = elf.debug_link().and_then(|(name, _sum)| String::from_utf8(name).ok());
    if let (Some(name), Some((directory, _file))) = (name, path.rsplit_once('/')) {
        paths.push(format!("{directory}/{name}"));
        paths.push(format!("{directory}/.debug/{name}"));
        paths.push(format!("{DEBUG_DIRECTORY}{directory}/{name}"));
    }
    paths
}

/// Whether the path alone says which program it is for.
pub(super) fn is_by_build_id(path: &str) -> bool {
    path.starts_with(BUILD_ID_DIRECTORY)
}

/// Whether a file is the debug file of this very program.
pub(super) fn belongs(file: &dyn ReadAt, elf: &ElfFile<'_>) -> bool {
    let Ok(found) = ElfFile::parse(file) else { return false };
    match (found.build_id(), elf.build_id()) {
        (Some(found), Some(wanted)) => found == wanted,
        _ => elf.debug_link().is_some_and(|(_name, wanted)| sum(file) == Some(wanted)),
    }
}

/// The CRC-32 of a file.
fn sum(file: &dyn ReadAt) -> Option<u32> {
    let bytes = Some(file.length()).filter(|bytes| *bytes <= MAX_SUMMED_BYTES)?;
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; CHUNK_BYTES];
    for offset in (0..bytes).step_by(CHUNK_BYTES) {
        let size = usize::try_from(bytes - offset).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES));
        let part = buffer.get_mut(..size)?;
        if !file.read_at(offset, part) {
            return None;
        }
        hasher.update(part);
    }
    Some(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_debug_links() {
        // The check value of this sum, as its definition gives it.
        assert_eq!(sum(&b"123456789".as_slice()), Some(0xcbf4_3926));
        let large: Vec<u8> = (0..CHUNK_BYTES + 10).map(|at| u8::try_from(at % 251).unwrap()).collect();
        assert_eq!(sum(&large), Some(crc32fast::hash(&large)));
    }
}
