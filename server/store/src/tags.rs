//! What can be a tag.

use crate::{StoreError, limits::limit};

/// Characters of tags that are neither letters nor digits.
const PUNCTUATION: &str = "-_.:/+#@";

/// The tag as it is stored: in lower case.
///
/// # Errors
/// What makes it none, in words.
pub(crate) fn tag_of(text: &str) -> Result<String, StoreError> {
    let refused = |why: &str| {
        let shown = bathyscope_capture::visible(crate::limits::cut(text, 80).as_bytes());
        StoreError::Refused { what: "a tag", why: format!("`{shown}` {why}") }
    };
    let tag = text.trim().to_lowercase();
    if tag.is_empty() {
        return Err(refused("has no character"));
    }
    if tag.len() > limit::TAG_BYTES {
        return Err(refused("is too long; at most 48 bytes are stored"));
    }
    if !tag.chars().all(|c| c.is_alphanumeric() || PUNCTUATION.contains(c)) {
        return Err(refused(
            "has a character that tags do not have; they have letters, digits and any of - _ . : / + # @",
        ));
    }
    if tag.starts_with('-') {
        return Err(refused("begins with `-`, with which a search leaves tags out"));
    }
    Ok(tag)
}
