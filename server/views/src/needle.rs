//! Plain text that is looked for in any case.

use std::borrow::Cow;

use bathyscope_capture::visible;

/// Text to look for.
#[derive(Clone, Debug)]
pub(crate) struct Needle {
    lower: String,
}

impl Needle {
    /// Looks for `text`; none if it is empty.
    pub(crate) fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self { lower: text.to_lowercase() })
    }

    /// Whether it is in `text`.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        if !(text.is_ascii() && self.lower.is_ascii()) {
            return text.to_lowercase().contains(&self.lower);
        }
        let wanted = self.lower.as_bytes();
        text.as_bytes().windows(wanted.len()).any(|window| window.eq_ignore_ascii_case(wanted))
    }

    /// Whether it is in what `bytes` look like when shown.
    pub(crate) fn is_in_bytes(&self, bytes: &[u8]) -> bool {
        self.is_in(&shown(bytes))
    }
}

/// As [`visible`], without a copy where nothing needs an escape.
pub(crate) fn shown(bytes: &[u8]) -> Cow<'_, str> {
    let plain = bytes.iter().all(|byte| matches!(byte, b' '..=b'~') && *byte != b'\\');
    match std::str::from_utf8(bytes) {
        Ok(text) if plain => Cow::Borrowed(text),
        _ => Cow::Owned(visible(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_found_in_any_case_as_it_is_shown() {
        let cases: [(&str, &[u8], bool); 9] = [
            ("Read", b"__x64_sys_read", true),
            ("read", b"READ", true),
            ("reads", b"read", false),
            ("GR\u{d6}SSE", "gr\u{f6}sse".as_bytes(), true),
            ("\\n", b"two\nlines", true),
            ("\n", b"two\nlines", false),
            ("\\xff", b"\xff", true),
            ("a", b"", false),
            ("\\\\x", b"\\x", true),
        ];
        for (needle, text, expected) in cases {
            assert_eq!(Needle::new(needle).unwrap().is_in_bytes(text), expected, "{needle} in {text:?}");
        }
        assert!(Needle::new("").is_none());
    }
}
