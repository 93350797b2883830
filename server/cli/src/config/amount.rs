//! Amounts as options have them.

/// Reads an amount of bytes: a number, with K, M, G or T behind it for powers of 1024.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let text = text.trim_end_matches(['B', 'b']).trim_end_matches('i');
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (text.get(..at), 10),
        Some((at, 'm' | 'M')) => (text.get(..at), 20),
        Some((at, 'g' | 'G')) => (text.get(..at), 30),
        Some((at, 't' | 'T')) => (text.get(..at), 40),
        _ => (Some(text), 0),
    };
    let number = digits.and_then(|digits| digits.trim().parse::<u64>().ok());
    let amount = number.and_then(|number| number.checked_mul(1 << shift)).filter(|amount| *amount > 0);
    amount.ok_or_else(|| "write a number of bytes, such as 65536, 512K or 10M".to_owned())
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn amounts_are_bytes_or_multiples_of_1024() {
        for (text, expected) in [("65536", 65_536), ("512K", 512 << 10), ("10MiB", 10 << 20), ("2g", 2 << 30)] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for bad in ["", "K", "1E", "-1", "0", "99999999999999999999", "99999999999G"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }
}
