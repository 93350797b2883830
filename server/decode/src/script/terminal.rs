//! What may go to a terminal.
//!
//! Text of events can hold anything. A terminal takes some of it as commands: to move, to hide, to answer, to rename its
//! window. So what is shown on a terminal has every control character but newline and tab, every character that hides or
//! reorders text, and every byte that is not UTF-8 as an escape. Files and pipes get the same: what they hold is shown on
//! some terminal later, or read line by line. Only whoever asks for raw output gets the bytes as they are, as from bpftrace.
//!
//! A script's own text may have lines and tabs; text of events is a part of a line, so that no name makes a line of its own.

use std::borrow::Cow;

/// Text of an event as a part of a line: line breaks and tabs are escapes too. A backslash stays one.
pub fn safe_in_a_line(bytes: &[u8]) -> Cow<'_, [u8]> {
    if bytes.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(bytes);
    }
    let pieces: Vec<String> = bytes.split(|byte| *byte == b'\\').map(bathyscope_capture::visible).collect();
    Cow::Owned(pieces.join("\\").into_bytes())
}

/// As [`safe_in_a_line`], for text.
pub(super) fn safe_text(text: String) -> String {
    match safe_in_a_line(text.as_bytes()) {
        Cow::Borrowed(_) => text,
        Cow::Owned(safe) => String::from_utf8_lossy(&safe).into_owned(),
    }
}

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
    fn p76_text_of_an_event_is_a_part_of_a_line() {
        let cases: [(&[u8], &[u8]); 6] = [
            (b"plain name", b"plain name"),
            (b"a\nuid=0(root)", b"a\\nuid=0(root)"),
            (b"a\tb\r", b"a\\tb\\r"),
            (b"C:\\x\x1b[31m", b"C:\\x\\x1b[31m"),
            ("gr\u{f6}\u{df}e\u{202e}".as_bytes(), "gr\u{f6}\u{df}e\\u{202e}".as_bytes()),
            (b"\x9b31m", b"\\x9b31m"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(safe_in_a_line(bytes).as_ref(), expected, "{bytes:?}");
            // What is safe stays as it is on a terminal.
            assert_eq!(safe_for_terminal(expected).as_bytes(), expected);
        }
    }

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
