//! `-e read=` and `-e write=`: what was read and written, in base sixteen and as text.

use std::collections::{BTreeMap, HashMap};

/// The most threads whose data wait for their call.
const MAX_THREADS: usize = 1 << 10;

/// What threads have moved whose call comes next: by buffer of a vector, as far as it was recorded without a gap.
#[derive(Debug, Default)]
pub(super) struct Dumps {
    waiting: HashMap<u64, BTreeMap<u64, Vec<u8>>>,
}

impl Dumps {
    /// Keeps a piece: which buffer, how many bytes of it came before, and the bytes in base sixteen.
    pub(super) fn keep(&mut self, tid: u64, buffer: &str, before: i64, hex: &str) {
        if self.waiting.len() >= MAX_THREADS {
            // Of calls whose row was lost.
            self.waiting.clear();
        }
        let buffer = buffer.parse().unwrap_or(0);
        let bytes = self.waiting.entry(tid).or_default().entry(buffer).or_default();
        if usize::try_from(before).is_ok_and(|before| before == bytes.len()) {
            bytes.extend(from_hex(hex));
        }
    }

    /// The lines below a call, and how many bytes of what it has moved are missing; nothing of a call without data.
    pub(super) fn of_call(&mut self, tid: u64, call: &str, moved: i64) -> String {
        let Some(buffers) = self.waiting.remove(&tid) else { return String::new() };
        let moved = usize::try_from(moved).unwrap_or(0);
        let is_vector = call.ends_with("msg") || call.trim_end_matches('2').ends_with('v');
        let mut text = String::new();
        for (index, bytes) in &buffers {
            if is_vector {
                text.push_str(&format!(" * {} bytes in buffer {index}\n", bytes.len()));
            }
            text.push_str(&dump(bytes, if is_vector { bytes.len() } else { moved }));
        }
        let shown: usize = buffers.values().map(Vec::len).sum();
        if shown < moved {
            text.push_str(&format!(" | {} of {moved} bytes are missing: they were not recorded\n", moved - shown));
        }
        text
    }
}

/// Bytes as far as they are digits.
fn from_hex(hex: &str) -> impl Iterator<Item = u8> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    hex.as_bytes().chunks_exact(2).map_while(pair)
}

/// Sixteen bytes a line, as strace dumps them; with so many digits as the place of the last of `whole` bytes needs.
fn dump(bytes: &[u8], whole: usize) -> String {
    let digits = format!("{:x}", whole.saturating_sub(1)).len().max(5);
    let mut text = String::new();
    for (row, line) in bytes.chunks(16).enumerate() {
        let mut hex = String::new();
        for index in 0..16 {
            match line.get(index) {
                Some(byte) => hex.push_str(&format!("{byte:02x} ")),
                None => hex.push_str("   "),
            }
            if index == 7 {
                hex.push(' ');
            }
        }
        let shown: String =
            line.iter().map(|byte| if (b' '..=b'~').contains(byte) { char::from(*byte) } else { '.' }).collect();
        text.push_str(&format!(" | {:0digits$x}  {hex} {shown:<16} |\n", row * 16));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: &str = " | 00000  68 65 6c 6c 6f 20 77 6f  72 6c 64 0a 00 01 ff 41  hello world....A |\n \
         | 00010  42                                                B                |\n";

    #[test]
    fn pieces_of_a_call_are_put_together() {
        let mut dumps = Dumps::default();
        dumps.keep(7, "0", 0, "68656c6c6f20776f726c640a00");
        dumps.keep(8, "0", 0, "41");
        dumps.keep(7, "0", 13, "01ff4142");
        assert_eq!(dumps.of_call(7, "read", 17), EXPECTED);
        assert_eq!(dumps.of_call(7, "read", 17), "");
        // A piece that was lost leaves a gap, behind which nothing is shown.
        dumps.keep(8, "0", 2, "43");
        let text = dumps.of_call(8, "write", 3);
        assert!(
            text.ends_with(" | 2 of 3 bytes are missing: they were not recorded\n") && !text.contains('C'),
            "{text}"
        );
    }

    #[test]
    fn buffers_of_a_vector_have_headings() {
        let mut dumps = Dumps::default();
        dumps.keep(7, "0", 0, "6162");
        dumps.keep(7, "1", 0, "63646566");
        let text = dumps.of_call(7, "preadv2", 6);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[2]), (4, " * 2 bytes in buffer 0", " * 4 bytes in buffer 1"));
    }

    #[test]
    fn dumps_look_as_straces_do() {
        assert_eq!(dump(b"hello world\n\0\x01\xffAB", 17), EXPECTED);
        assert_eq!(dump(b"", 0), "");
        assert!(dump(b"x", 1_100_000).starts_with(" | 000000  78 "));
    }
}
