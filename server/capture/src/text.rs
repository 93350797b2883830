//! Text from events: bytes in a dictionary, and the one way to make it visible.

use std::{collections::HashMap, fmt::Write as _};

/// Index of a string in its capture, from 1; 0 means no value (it could not be read).
pub type StringId = u32;

/// Gives ids to strings, once each, while a capture is recorded.
#[derive(Debug, Default)]
pub struct StringDictionary {
    ids: HashMap<Box<[u8]>, StringId>,
    new: Vec<(StringId, Vec<u8>)>,
}

impl StringDictionary {
    /// The id of `text`, new or known.
    pub fn id(&mut self, text: &[u8]) -> StringId {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = u32::try_from(self.ids.len()).unwrap_or(u32::MAX - 1) + 1;
        self.ids.insert(text.into(), id);
        self.new.push((id, text.to_vec()));
        id
    }

    /// Takes what is new since the last call, for the store.
    pub fn take_new(&mut self) -> Vec<(StringId, Vec<u8>)> {
        std::mem::take(&mut self.new)
    }
}

pub(crate) fn hides_or_moves_text(c: char) -> bool {
    let invisible = matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}');
    let format = matches!(c, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}');
    let more = matches!(c, '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}');
    let last = matches!(c, '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    c.is_control() || invisible || format || more || last
}

/// Bytes from an event as text that shows what is there: control, invisible and direction-changing characters, a
/// backslash, and bytes that are not UTF-8 appear as escapes (`\n`, `\x1b`, `\u{202e}`, `\\`), so that nothing hides,
/// moves or imitates anything in a terminal, a page or a log.
pub fn visible(bytes: &[u8]) -> String {
    // Nearly all text is plain, and an export shows millions of texts.
    if bytes.iter().all(|byte| matches!(byte, b' '..=b'~') && *byte != b'\\')
        && let Ok(plain) = std::str::from_utf8(bytes)
    {
        return plain.to_owned();
    }
    let mut out = String::with_capacity(bytes.len());
    for part in bytes.utf8_chunks() {
        for c in part.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                c if c.is_ascii() && c.is_control() => write_escape(&mut out, format_args!("\\x{:02x}", c as u32)),
                c if hides_or_moves_text(c) => write_escape(&mut out, format_args!("\\u{{{:x}}}", c as u32)),
                c => out.push(c),
            }
        }
        for byte in part.invalid() {
            write_escape(&mut out, format_args!("\\x{byte:02x}"));
        }
    }
    out
}

/// Text of people as it is, but for characters that are not to be seen. A backslash stays one: nobody reads it back.
pub fn shown(text: &str) -> String {
    text.split('\\').map(|part| visible(part.as_bytes())).collect::<Vec<_>>().join("\\")
}

fn write_escape(out: &mut String, escape: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _infallible = out.write_fmt(escape);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_or_moves_is_shown() {
        let cases: [(&[u8], &str); 8] = [
            (b"plain name", "plain name"),
            ("größe".as_bytes(), "größe"),
            (b"a\x1b[2Kb", "a\\x1b[2Kb"),
            (b"line\nbreak\ttab", "line\\nbreak\\ttab"),
            (b"C:\\x", "C:\\\\x"),
            ("a\u{202e}b".as_bytes(), "a\\u{202e}b"),
            (b"cut \xc3", "cut \\xc3"),
            (b"<img src=x>", "<img src=x>"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(visible(bytes), expected);
        }
    }

    #[test]
    fn ids_begin_at_one_and_are_given_once() {
        let mut dictionary = StringDictionary::default();
        assert_eq!((dictionary.id(b"a"), dictionary.id(b"b"), dictionary.id(b"a")), (1, 2, 1));
        assert_eq!(dictionary.take_new(), [(1, b"a".to_vec()), (2, b"b".to_vec())]);
        assert_eq!(dictionary.id(b"b"), 2);
        assert!(dictionary.take_new().is_empty());
    }
}
