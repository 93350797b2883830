//! Texts that are longer than the room for them say so (P33).

use std::borrow::Cow;

/// Added to a text that was cut.
pub const CUT_MARK: &[u8] = "…".as_bytes();

/// A text of at most `most` bytes; one that was longer ends with the mark, and not within a character.
pub fn cut_text(text: &[u8], most: usize) -> Cow<'_, [u8]> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let mut kept = text.get(..most.saturating_sub(CUT_MARK.len())).unwrap_or_default();
    // The first byte that is left out goes on with a character: so do at most three before it.
    for _ in 0..3 {
        let next = text.get(kept.len()).copied().unwrap_or(0);
        if next & 0xc0 != 0x80 {
            break;
        }
        kept = kept.split_last().map_or(&[][..], |(_, rest)| rest);
    }
    Cow::Owned([kept, CUT_MARK].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p33_a_text_that_was_cut_says_so() {
        let cases: [(&str, usize, &str); 7] = [
            ("abcdef", 6, "abcdef"),
            ("abcdefg", 6, "abc…"),
            ("", 0, ""),
            ("abcé", 5, "abcé"),
            ("abcéé", 6, "abc…"),
            ("abéfgh", 6, "ab…"),
            ("😀😀", 7, "😀…"),
        ];
        for (text, most, expected) in cases {
            assert_eq!(String::from_utf8_lossy(&cut_text(text.as_bytes(), most)), expected, "{text} {most}");
        }
        // What is no text at all is cut, too.
        assert_eq!(cut_text(&[0x80; 20], 10).len(), 4 + CUT_MARK.len());
    }
}
