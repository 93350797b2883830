//! Programs and libraries that lie in a ZIP archive as they are, not compressed: from there the dynamic linker of Android maps
//! them, and so they can be probed.

use super::ReadAt;

/// Bytes of the record at the end, without its comment.
const END_BYTES: u64 = 22;
/// The longest comment.
const MAX_COMMENT_BYTES: u64 = 0xffff;
/// The most that is read of the list of files.
const MAX_LIST_BYTES: u64 = 16 << 20;
/// Bytes of an entry of the list, and of the head before a file, without names.
const ENTRY_BYTES: usize = 46;
const HEAD_BYTES: u64 = 30;

/// Why a file in an archive cannot be probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// It is no archive, or one of more than 4 GiB.
    #[error("it is no ZIP archive that can be read")]
    NoArchive,
    /// There is no such file in it.
    #[error("the archive has no such file")]
    NoFile,
    /// It is compressed.
    #[error("the archive has it compressed, so that nothing can run there; store it without compression")]
    Compressed,
}

/// Where the content of a file of an archive begins, and its bytes.
///
/// # Errors
/// If there is none that can be run from there.
pub fn stored_file(archive: &impl ReadAt, name: &str) -> Result<(u64, u64), ArchiveError> {
    let list = list(archive).ok_or(ArchiveError::NoArchive)?;
    let entry = find(&list, name.as_bytes()).ok_or(ArchiveError::NoFile)?;
    if entry.method != 0 {
        return Err(ArchiveError::Compressed);
    }
    let mut head = [0; HEAD_BYTES as usize];
    if !archive.read_at(entry.head_at, &mut head) || !head.starts_with(b"PK\x03\x04") {
        return Err(ArchiveError::NoArchive);
    }
    let length = |at| u64::from(number(&head, at, 2).unwrap_or(0));
    let from = entry.head_at + HEAD_BYTES + length(26) + length(28);
    let fits = from.checked_add(entry.bytes).is_some_and(|end| end <= archive.length());
    if fits { Ok((from, entry.bytes)) } else { Err(ArchiveError::NoArchive) }
}

struct ArchiveEntry {
    method: u32,
    bytes: u64,
    head_at: u64,
}

fn number(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(count)?)?;
    Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}

/// The list of files, which the record at the end tells of.
fn list(archive: &impl ReadAt) -> Option<Vec<u8>> {
    let most = archive.length().min(END_BYTES + MAX_COMMENT_BYTES);
    let mut tail = vec![0; usize::try_from(most).ok()?];
    if !archive.read_at(archive.length() - most, &mut tail) {
        return None;
    }
    // The comment may look like a record; the real one is as far from the end as it says.
    let is_end = |at: &usize| {
        let comment = number(&tail, at + 20, 2).map(|bytes| bytes as usize);
        tail.get(*at..)
            .is_some_and(|rest| rest.starts_with(b"PK\x05\x06") && comment.map(|it| it + 22) == Some(rest.len()))
    };
    let end = (0..=tail.len().checked_sub(END_BYTES as usize)?).rev().find(is_end)?;
    let (bytes, from) = (number(&tail, end + 12, 4)?, number(&tail, end + 16, 4)?);
    if u64::from(bytes) > MAX_LIST_BYTES {
        return None;
    }
    let mut list = vec![0; bytes as usize];
    archive.read_at(u64::from(from), &mut list).then_some(list)
}

fn find(list: &[u8], wanted: &[u8]) -> Option<ArchiveEntry> {
    let mut rest = list;
    while rest.starts_with(b"PK\x01\x02") {
        let length = |at| number(rest, at, 2).map(|bytes| bytes as usize);
        let name_bytes = length(28)?;
        let name = rest.get(ENTRY_BYTES..ENTRY_BYTES + name_bytes)?;
        if name == wanted {
            let (method, bytes, head_at) = (number(rest, 10, 2)?, number(rest, 20, 4)?, number(rest, 42, 4)?);
            return Some(ArchiveEntry { method, bytes: bytes.into(), head_at: head_at.into() });
        }
        rest = rest.get(ENTRY_BYTES + name_bytes + length(30)? + length(32)?..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes(Vec<u8>);

    impl ReadAt for Bytes {
        fn length(&self) -> u64 {
            self.0.len() as u64
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> bool {
            let from = usize::try_from(offset).unwrap_or(usize::MAX);
            let found = self.0.get(from..).and_then(|rest| rest.get(..buffer.len()));
            found.inspect(|found| buffer.copy_from_slice(found)).is_some()
        }
    }

    /// An archive of these files: name, whether compressed, content.
    fn archive(files: &[(&str, bool, &[u8])], comment: &[u8]) -> Vec<u8> {
        let (mut bytes, mut list) = (Vec::new(), Vec::new());
        for (name, compressed, content) in files {
            let at = u32::try_from(bytes.len()).unwrap();
            let size = u32::try_from(content.len()).unwrap().to_le_bytes();
            let method = [u8::from(*compressed) * 8, 0];
            let length = u16::try_from(name.len()).unwrap().to_le_bytes();
            let common = [&[20, 0, 0, 0][..], &method, &[0; 8], &size, &size, &length].concat();
            bytes.extend([b"PK\x03\x04", &common[..], &[3, 0], name.as_bytes(), &[0; 3], content].concat());
            let rest = [&[0; 12][..], &at.to_le_bytes(), name.as_bytes()].concat();
            list.extend([b"PK\x01\x02", &[0; 2][..], &common, &rest].concat());
        }
        let (from, size) = (u32::try_from(bytes.len()).unwrap(), u32::try_from(list.len()).unwrap());
        let count = u16::try_from(files.len()).unwrap().to_le_bytes();
        let length = u16::try_from(comment.len()).unwrap().to_le_bytes();
        let end = [&[0; 4][..], &count, &count, &size.to_le_bytes(), &from.to_le_bytes(), &length, comment].concat();
        [bytes, list, b"PK\x05\x06".to_vec(), end].concat()
    }

    #[test]
    fn files_of_an_archive_are_found() {
        let files: [(&str, bool, &[u8]); 3] = [("a", false, b"one"), ("lib/b", false, b"second"), ("c", true, b"x")];
        for comment in [&b""[..], b"PK\x05\x06 looks like an end, and is none"] {
            let bytes = Bytes(archive(&files, comment));
            let content = |name: &str| {
                let (from, length) = stored_file(&bytes, name)?;
                Ok(bytes.0[usize::try_from(from).unwrap()..][..usize::try_from(length).unwrap()].to_vec())
            };
            assert_eq!(content("a"), Ok(b"one".to_vec()));
            assert_eq!(content("lib/b"), Ok(b"second".to_vec()));
            assert_eq!(content("c"), Err(ArchiveError::Compressed));
            assert_eq!(content("b"), Err(ArchiveError::NoFile));
        }
        assert_eq!(stored_file(&Bytes(b"PK".to_vec()), "a"), Err(ArchiveError::NoArchive));
        assert_eq!(stored_file(&Bytes(vec![0; 100]), "a"), Err(ArchiveError::NoArchive));
    }

    #[test]
    fn nothing_panics_whatever_the_bytes_are() {
        let good = archive(&[("a", false, b"one"), ("b", false, b"two")], b"comment");
        for at in 0..good.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut bytes = good.clone();
                bytes[at] = byte;
                let _found_or_not = stored_file(&Bytes(bytes), "b");
            }
            let _cut = stored_file(&Bytes(good[..at].to_vec()), "b");
        }
    }
}
