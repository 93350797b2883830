//! Bytes as text.

use std::fmt::Write as _;

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        // Writing to a String cannot fail.
        let _infallible = write!(out, "{byte:02x}");
        out
    })
}
