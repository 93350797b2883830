//! What is looked for.

use crate::wildcards::Wildcards;

/// The longest query that is compared; more of it is ignored.
pub const MAX_QUERY_BYTES: usize = 256;
/// The most words of a query; more are ignored.
const MAX_WORDS: usize = 8;

/// What is looked for: words in any case, or a pattern with wildcards that a whole name must match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub(super) what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    All,
    Pattern(Wildcards),
    Words {
        /// The whole query in lower case, blanks replaced by `_`.
        whole: Vec<u8>,
        /// Its words in lower case, the longest first. All of them must be in a name.
        words: Vec<Vec<u8>>,
    },
}

/// What separates words, in queries and in names.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, '_' | ':' | '.')
}

impl Query {
    /// Reads what somebody typed. With `*` or `?` in it, it is a pattern: `vfs_*`, `sched:*`, `tcp_[a-c]*`.
    pub fn new(text: &str) -> Self {
        let text = text.trim();
        let text = text.get(..text.floor_char_boundary(MAX_QUERY_BYTES)).unwrap_or_default();
        if text.is_empty() {
            return Self { what: What::All };
        }
        if text.contains(['*', '?']) {
            return Self { what: What::Pattern(Wildcards::new(text)) };
        }
        let lower = text.to_ascii_lowercase();
        let whole = lower.split_whitespace().collect::<Vec<_>>().join("_").into_bytes();
        let parts = lower.split(is_separator).filter(|word| !word.is_empty()).take(MAX_WORDS);
        let mut words: Vec<Vec<u8>> = parts.map(|word| word.as_bytes().to_vec()).collect();
        if words.is_empty() {
            // Nothing but separators: they are what is looked for.
            words.push(whole.clone());
        }
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        Self { what: What::Words { whole, words } }
    }

    /// A pattern that a whole name must match; without wildcards, that name alone.
    pub fn pattern(text: &str) -> Self {
        let text = text.trim();
        let text = text.get(..text.floor_char_boundary(MAX_QUERY_BYTES)).unwrap_or_default();
        Self { what: What::Pattern(Wildcards::new(text)) }
    }

    /// Whether it is a pattern, of which the number of names that match means something.
    pub fn is_pattern(&self) -> bool {
        matches!(&self.what, What::Pattern(_))
    }
}

/// Whether a pattern matches one of a name's forms.
pub(super) fn fits(pattern: &Wildcards, text: &str, own_at: usize, raw: &str) -> bool {
    let forms = [Some(text), text.get(own_at..).filter(|_| own_at > 0), Some(raw).filter(|raw| *raw != text)];
    forms.into_iter().flatten().any(|form| pattern.matches(form))
}
