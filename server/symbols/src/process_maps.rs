//! The text of `/proc/PID/maps`: which memory of a process is mapped from where.

/// The most lines that are kept (the kernel's default limit of mappings is 65,530).
const MAX_LINES: usize = 1 << 17;
/// The longest name that is kept; the kernel writes at most a page.
const MAX_NAME_BYTES: usize = 4096;

/// One line: a range of addresses and what it is mapped from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessMap {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Whether code in it can run.
    pub executable: bool,
    /// Where in the file `start` is.
    pub file_offset: u64,
    /// The device of the file: major and minor number; zero where there is no file.
    pub device: (u32, u32),
    /// The inode of the file; zero where there is no file.
    pub inode: u64,
    /// The file's path as the kernel writes it, or a name in brackets, or nothing. Bytes that a process chose.
    pub name: Vec<u8>,
}

/// The lines of `/proc/PID/maps`, in ascending order of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessMaps {
    /// The lines that could be read.
    pub maps: Vec<ProcessMap>,
    /// How many lines could not be read, or were too many.
    pub skipped: usize,
}

impl ProcessMaps {
    /// Reads the text. Lines that are not mappings are skipped and counted.
    pub fn parse(text: &[u8]) -> Self {
        let mut read = Self::default();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match parse_line(line) {
                Some(map) if read.maps.len() < MAX_LINES => read.maps.push(map),
                _ => read.skipped += 1,
            }
        }
        read.maps.sort_by_key(|map| map.start);
        read
    }
}

fn parse_line(line: &[u8]) -> Option<ProcessMap> {
    let (range, rest) = word(line)?;
    let (permissions, rest) = word(rest)?;
    let (file_offset, rest) = word(rest)?;
    let (device, rest) = word(rest)?;
    let (inode, rest) = word(rest).or(Some((rest, &[])))?;
    let (start, end) = split(range, b'-')?;
    let (major, minor) = split(device, b':')?;
    let (start, end) = (hex(start)?, hex(end)?);
    if start >= end || permissions.len() != 4 {
        return None;
    }
    let name = rest.trim_ascii_start();
    Some(ProcessMap {
        start,
        end,
        executable: permissions.get(2) == Some(&b'x'),
        file_offset: hex(file_offset)?,
        device: (u32::try_from(hex(major)?).ok()?, u32::try_from(hex(minor)?).ok()?),
        inode: std::str::from_utf8(inode).ok()?.parse().ok()?,
        name: unescaped(name.get(..name.len().min(MAX_NAME_BYTES))?),
    })
}

/// The kernel writes a newline in a path as `\012`, and nothing else escaped.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((first, tail)) = rest.split_first() {
        if let Some(tail) = rest.strip_prefix(b"\\012") {
            out.push(b'\n');
            rest = tail;
        } else {
            out.push(*first);
            rest = tail;
        }
    }
    out
}

/// The first word and what follows it, without leading spaces.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_start();
    let end = text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
    if end == 0 { None } else { text.split_at_checked(end) }
}

fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let position = text.iter().position(|byte| *byte == at)?;
    Some((text.get(..position)?, text.get(position + 1..)?))
}

/// A number in base sixteen of 1 to 16 digits.
pub(crate) fn hex(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(value << 4 | u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let text = b"55d0c0a00000-55d0c0a2d000 r-xp 0001a000 fe:01 1048602                    /usr/bin/a b\\012c\n\
            7ffc1000-7ffc2000 rw-p 00000000 00:00 0                          [stack]\n\
            7f0000000000-7f0000001000 r-xp 00000000 00:00 0 \n\
            ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";
        let read = ProcessMaps::parse(text);
        assert_eq!((read.maps.len(), read.skipped), (4, 0));
        let program = read.maps.iter().find(|map| map.inode != 0).unwrap();
        assert_eq!((program.start, program.end), (0x55d0_c0a0_0000, 0x55d0_c0a2_d000));
        assert_eq!((program.file_offset, program.device, program.inode), (0x1a000, (0xfe, 1), 1_048_602));
        assert!(program.executable);
        assert_eq!(program.name, b"/usr/bin/a b\nc");
        assert_eq!(read.maps.iter().map(|map| map.name.len()).collect::<Vec<_>>(), [7, 14, 0, 10]);
    }

    #[test]
    fn what_is_no_mapping_is_skipped_and_counted() {
        let lines =
            ["x", "1-2", "2-1 r-xp 0 0:0 0 a", "1-2 r-x 0 0:0 0 a", "1-11111111111111111 r-xp 0 0:0 0", "- - - - -"];
        let read = ProcessMaps::parse(lines.join("\n").as_bytes());
        assert_eq!((read.maps.len(), read.skipped), (0, lines.len()));
    }

    proptest! {
        #[test]
        fn garbage_does_no_harm(text in proptest::collection::vec(any::<u8>(), 0..4096)) {
            let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
            let read = ProcessMaps::parse(&text);
            prop_assert_eq!(read.maps.len() + read.skipped, lines);
        }
    }
}
