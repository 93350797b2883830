//! Capture identifiers: parsed types, so that no text from a client ever reaches a path or a statement as it came.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Names one capture for ever: 64 random bits, written as 16 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CaptureId(u64);

/// The text was not 16 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a capture id is 16 lower-case hexadecimal digits")]
pub struct ParseIdError;

/// The bits that exactly 16 lower-case hexadecimal digits say.
pub(crate) fn hex_bits(text: &str) -> Option<u64> {
    let is_plain = text.len() == 16 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if is_plain { u64::from_str_radix(text, 16).ok() } else { None }
}

impl CaptureId {
    /// An id from random bits that the caller drew.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The bits, as a database keeps them.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

impl fmt::Display for CaptureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for CaptureId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        hex_bits(text).map(Self).ok_or(ParseIdError)
    }
}

impl From<CaptureId> for String {
    fn from(id: CaptureId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for CaptureId {
    type Error = ParseIdError;

    fn try_from(text: String) -> Result<Self, ParseIdError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sixteen_lower_case_digits_are_an_id() {
        assert_eq!("00000000000000ff".parse(), Ok(CaptureId(255)));
        assert_eq!(CaptureId(255).to_string(), "00000000000000ff");
        for bad in ["", "ff", "00000000000000FF", "+0000000000000ff", "00000000000000fg", "../../../../etc/p"] {
            assert_eq!(bad.parse::<CaptureId>(), Err(ParseIdError), "{bad}");
        }
    }
}
