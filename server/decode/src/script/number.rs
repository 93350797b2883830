//! Conversions of printf.

use bathyscope_plan::Conversion;

/// The widest field; formats come from scripts, which may ask for anything.
const MAX_WIDTH: u32 = 4096;

/// A number by a conversion: `d i u x X o b B c p`; what does not fit into 64 bits wraps.
pub(super) fn number(conversion: &Conversion, value: i128) -> Vec<u8> {
    let (bits, number) = narrowed(conversion.bytes, value as u64);
    let (sign, digits, prefix) = match conversion.letter {
        'c' => return pad(conversion, vec![bits.to_le_bytes()[0]]),
        'd' | 'i' => {
            let sign = match number {
                ..0 => "-",
                _ if conversion.plus => "+",
                _ if conversion.blank => " ",
                _ => "",
            };
            (sign, number.unsigned_abs().to_string(), "")
        }
        'x' => ("", format!("{bits:x}"), if conversion.alternate && bits != 0 { "0x" } else { "" }),
        'X' => ("", format!("{bits:X}"), if conversion.alternate && bits != 0 { "0X" } else { "" }),
        'o' => ("", format!("{bits:o}"), if conversion.alternate && bits != 0 { "0" } else { "" }),
        'b' | 'B' => ("", format!("{bits:b}"), if conversion.alternate && bits != 0 { "0b" } else { "" }),
        'p' => ("", format!("{bits:x}"), if bits != 0 { "0x" } else { "" }),
        _ => ("", bits.to_string(), ""),
    };
    let least = conversion.precision.unwrap_or(0).min(MAX_WIDTH) as usize;
    let head = format!("{sign}{prefix}");
    if conversion.zeros && !conversion.left && conversion.precision.is_none() {
        let width = (conversion.width.unwrap_or(0).min(MAX_WIDTH) as usize).saturating_sub(head.len());
        return format!("{head}{digits:0>width$}").into_bytes();
    }
    pad(conversion, format!("{head}{digits:0>least$}").into_bytes())
}

/// The lowest bytes of a number, without and with a sign.
fn narrowed(bytes: u8, bits: u64) -> (u64, i64) {
    match bytes {
        1..=7 => {
            let unused = 64 - 8 * u32::from(bytes);
            (bits << unused >> unused, (bits << unused).cast_signed() >> unused)
        }
        _ => (bits, bits.cast_signed()),
    }
}

/// Text by a conversion: cut to its precision, filled up to its width.
pub(super) fn text(conversion: &Conversion, mut text: Vec<u8>) -> Vec<u8> {
    if let Some(most) = conversion.precision {
        text.truncate(most as usize);
    }
    pad(conversion, text)
}

fn pad(conversion: &Conversion, mut text: Vec<u8>) -> Vec<u8> {
    let width = conversion.width.unwrap_or(0).min(MAX_WIDTH) as usize;
    let missing = width.saturating_sub(text.len());
    if conversion.left {
        text.resize(text.len() + missing, b' ');
        return text;
    }
    let mut out = vec![b' '; missing];
    out.append(&mut text);
    out
}

/// Bytes by `%r` (those that are not printable as `\x0a`), `%rx` (all as `\x0a`) and `%rh` (`0a 0b`).
pub(super) fn buffer(raw: Option<char>, bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for (at, byte) in bytes.iter().enumerate() {
        match raw {
            Some('h') if at > 0 => out.push_str(&format!(" {byte:02x}")),
            Some('h') => out.push_str(&format!("{byte:02x}")),
            None if matches!(byte, b' '..=b'~') => out.push(char::from(*byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversion(text: &str) -> Conversion {
        let letter = text.chars().last().unwrap();
        let flags = text.find(|c: char| !"-+ #0".contains(c)).unwrap();
        let (flags, rest) = text.split_at(flags);
        let (width, precision) = rest[..rest.len() - 1].split_once('.').unwrap_or((&rest[..rest.len() - 1], ""));
        Conversion {
            letter,
            bytes: 0,
            raw: None,
            left: flags.contains('-'),
            zeros: flags.contains('0'),
            plus: flags.contains('+'),
            blank: flags.contains(' '),
            alternate: flags.contains('#'),
            width: width.parse().ok(),
            precision: precision.parse().ok(),
        }
    }

    #[test]
    fn numbers_are_as_in_c() {
        // As printf(1) shows them.
        let cases: [(&str, i128, &str); 26] = [
            ("d", -1, "-1"),
            ("u", -1, "18446744073709551615"),
            ("x", -1, "ffffffffffffffff"),
            ("X", 255, "FF"),
            ("o", 8, "10"),
            ("p", 4096, "0x1000"),
            ("p", 0, "0"),
            ("c", 65, "A"),
            ("5d", 42, "   42"),
            ("-5d", 42, "42   "),
            ("05d", 42, "00042"),
            ("05d", -42, "-0042"),
            ("-05d", 42, "42   "),
            ("+d", 2, "+2"),
            ("+05d", 2, "+0002"),
            (" d", 3, " 3"),
            ("#x", 4, "0x4"),
            ("#x", 0, "0"),
            ("#010x", 255, "0x000000ff"),
            ("#o", 8, "010"),
            (".3d", 5, "005"),
            ("6.3d", -5, "  -005"),
            ("06.3d", 5, "   005"),
            ("d", u64::MAX as i128, "-1"),
            ("b", 5, "101"),
            ("3c", 65, "  A"),
        ];
        for (format, value, expected) in cases {
            let shown = number(&conversion(format), value);
            assert_eq!(String::from_utf8(shown).unwrap(), expected, "%{format} {value}");
        }
    }

    #[test]
    fn numbers_are_as_narrow_as_was_asked() {
        let cases: [(&str, u8, i128, &str); 8] = [
            ("x", 1, 0x12_3456_789a_bcde, "de"),
            ("x", 2, 0x12_3456_789a_bcde, "bcde"),
            ("x", 4, 0x12_3456_789a_bcde, "789abcde"),
            ("x", 8, 0x12_3456_789a_bcde, "123456789abcde"),
            ("d", 4, 5_000_000_000, "705032704"),
            ("d", 1, 200, "-56"),
            ("u", 4, -1, "4294967295"),
            ("o", 2, -1, "177777"),
        ];
        for (format, bytes, value, expected) in cases {
            let shown = number(&Conversion { bytes, ..conversion(format) }, value);
            assert_eq!(String::from_utf8(shown).unwrap(), expected, "%{format} of {bytes} bytes, {value}");
        }
    }

    #[test]
    fn text_is_cut_and_filled() {
        let cases = [("s", "abc"), ("10s", "       abc"), ("-10s", "abc       "), (".2s", "ab"), ("-5.1s", "a    ")];
        for (format, expected) in cases {
            assert_eq!(text(&conversion(format), b"abc".to_vec()), expected.as_bytes(), "%{format}");
        }
        assert_eq!(text(&conversion("4294967295s"), Vec::new()).len(), MAX_WIDTH as usize);
    }

    #[test]
    fn buffers_are_bytes() {
        assert_eq!(buffer(None, b"a\n\x01b\xff"), "a\\x0a\\x01b\\xff");
        assert_eq!(buffer(Some('x'), b"ab"), "\\x61\\x62");
        assert_eq!(buffer(Some('h'), b"ab\0"), "61 62 00");
    }
}
