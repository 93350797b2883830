//! Plain text that is looked for in any case.

use std::borrow::Cow;

use bathyscope_capture::visible;

use crate::ViewError;

/// How large a compiled regular expression may be: ordinary ones are far smaller, and this many steps for each character of a
/// text are soon done.
const MAX_PATTERN_BYTES: usize = 64 << 10;
/// How deep groups of a regular expression may be in one another.
const MAX_PATTERN_DEPTH: u32 = 32;

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

/// What is looked for in names: text in any case, or a regular expression between two `/`.
#[derive(Clone, Debug)]
pub struct NameSearch(SearchKind);

#[derive(Clone, Debug)]
enum SearchKind {
    Text(Needle),
    Pattern(regex_lite::Regex),
}

impl NameSearch {
    /// None if there is nothing to look for. The time that a pattern takes grows with the length of a name only.
    ///
    /// # Errors
    /// [`ViewError::Pattern`] if what is between two `/` is no regular expression.
    pub fn new(text: &str) -> Result<Option<Self>, ViewError> {
        let pattern = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')).filter(|inner| !inner.is_empty());
        let Some(pattern) = pattern else { return Ok(Needle::new(text).map(|needle| Self(SearchKind::Text(needle)))) };
        regular_expression(pattern, false).map(|pattern| Some(Self(SearchKind::Pattern(pattern))))
    }

    /// Whether it is in a name.
    pub(crate) fn is_in(&self, name: &str) -> bool {
        match &self.0 {
            SearchKind::Text(needle) => needle.is_in(name),
            SearchKind::Pattern(pattern) => pattern.is_match(name),
        }
    }
}

/// A regular expression that a person wrote (P13). The time that it takes grows with the length of a text times the size of what
/// is compiled only, which is why that has a limit.
///
/// # Errors
/// [`ViewError::Pattern`] if it is none, or is too large.
pub(crate) fn regular_expression(text: &str, case: bool) -> Result<regex_lite::Regex, ViewError> {
    let mut builder = regex_lite::RegexBuilder::new(text);
    builder.case_insensitive(!case).size_limit(MAX_PATTERN_BYTES).nest_limit(MAX_PATTERN_DEPTH);
    let why = |error: regex_lite::Error| ViewError::Pattern { pattern: text.to_owned(), why: error.to_string() };
    builder.build().map_err(why)
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

    #[test]
    fn p13_regular_expressions_have_limits() {
        for good in ["^k(worker|softirq)d?/[0-9]+", "(?i)SSH", "\\.so(\\.[0-9]+){1,3}$", "[[:alpha:]]{1,64}"] {
            assert!(regular_expression(good, true).is_ok(), "{good}");
        }
        for bad in ["(", "a{1000}{1000}", "(a|b){9999}", &"(".repeat(500), "(((((a{1,99}){1,99}){1,99}){1,99}){1,99})"]
        {
            let said = regular_expression(bad, true).unwrap_err().to_string();
            assert!(said.contains("is no regular expression"), "{said}");
        }
    }

    #[test]
    fn names_are_found_by_text_or_by_pattern() {
        let cases = [
            ("ROW", "parse_row", true),
            ("/(parse|hash)_row/", "hash_row", true),
            ("/^row/", "hash_row", false),
            ("/PARSE/", "parse_row", true),
            ("/", "a/b", true),
            ("//", "a//b", true),
            ("a.b", "axb", false),
        ];
        for (search, name, expected) in cases {
            assert_eq!(NameSearch::new(search).unwrap().unwrap().is_in(name), expected, "{search} in {name}");
        }
        assert!(NameSearch::new("").unwrap().is_none());
        let said = NameSearch::new("/(/").unwrap_err().to_string();
        assert!(said.starts_with("`(` is no regular expression"), "{said}");
    }
}
