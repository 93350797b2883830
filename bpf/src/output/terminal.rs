//! What may go to a terminal.
//!
//! Text of events can hold anything. A terminal takes some of it as commands: to move, to hide, to answer, to rename its
//! window. So what is shown on a terminal has every control character but newline and tab, every character that hides or
//! reorders text, and every byte that is not UTF-8 as an escape. Files and pipes get the bytes as they are, as from
//! bpftrace: what reads them is a program.

/// The bytes with everything escaped that a terminal would not just show; newlines and tabs stay.
pub fn safe_for_terminal(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\t' | b'\\')) {
        let (text, end) = match piece.split_last() {
            Some((end @ (b'\n' | b'\t' | b'\\'), text)) => (text, Some(char::from(*end))),
            _ => (piece, None),
        };
        out.push_str(&bathyscope_capture::visible(text));
        out.extend(end);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p12_a_terminal_gets_text_only() {
        let cases: [(&[u8], &str); 6] = [
            (b"a\tb\n", "a\tb\n"),
            (b"\x1b]0;title\x07\n", "\\x1b]0;title\\x07\n"),
            (b"C:\\x\n", "C:\\x\n"),
            ("a\u{202e}b gr\u{f6}\u{df}e".as_bytes(), "a\\u{202e}b gr\u{f6}\u{df}e"),
            (b"\r\xff", "\\r\\xff"),
            (b"", ""),
        ];
        for (bytes, expected) in cases {
            assert_eq!(safe_for_terminal(bytes), expected);
        }
    }
}
