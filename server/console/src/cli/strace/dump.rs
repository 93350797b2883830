//! `-e read=` and `-e write=`: what was read and written, in base sixteen and as text.

/// The text that stands first in quotes among a call's arguments, as bytes, and whether it was cut.
pub(super) fn data_of(arguments: &str) -> Option<(Vec<u8>, bool)> {
    let begin = arguments.find('"')?;
    let mut bytes = Vec::new();
    let mut rest = arguments.get(begin + 1..)?.bytes().peekable();
    let mut read = begin + 1;
    while let Some(byte) = rest.next() {
        read += 1;
        match byte {
            b'"' => return Some((bytes, arguments.get(read..).is_some_and(|after| after.starts_with("...")))),
            b'\\' => {
                let next = rest.next()?;
                read += 1;
                match next {
                    b'n' => bytes.push(b'\n'),
                    b't' => bytes.push(b'\t'),
                    b'r' => bytes.push(b'\r'),
                    b'v' => bytes.push(0x0b),
                    b'f' => bytes.push(0x0c),
                    b'x' => {
                        let digits = [rest.next()?, rest.next()?];
                        read += 2;
                        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
                    }
                    b'0'..=b'7' => {
                        let mut value = u32::from(next - b'0');
                        for _ in 0..2 {
                            let Some(digit) = rest.next_if(|digit| matches!(digit, b'0'..=b'7')) else { break };
                            read += 1;
                            value = value * 8 + u32::from(digit - b'0');
                        }
                        bytes.push(u8::try_from(value & 0xff).unwrap_or(0));
                    }
                    other => bytes.push(other),
                }
            }
            byte => bytes.push(byte),
        }
    }
    None
}

/// The arguments with their first text in quotes cut to so many bytes, as `-s` cuts it.
pub(super) fn cut(arguments: &str, most: usize) -> String {
    let Some(begin) = arguments.find('"') else { return arguments.to_owned() };
    let bytes = arguments.as_bytes();
    let (mut at, mut shown, mut cut_at) = (begin + 1, 0, None);
    while let Some(byte) = bytes.get(at) {
        if *byte == b'"' {
            break;
        }
        if shown == most {
            cut_at.get_or_insert(at);
        }
        let digits = |from: usize, most: usize| {
            bytes.iter().skip(from).take(most).take_while(|byte| matches!(byte, b'0'..=b'7')).count()
        };
        at += match (byte, bytes.get(at + 1)) {
            (b'\\', Some(b'x')) => 4,
            (b'\\', Some(b'0'..=b'7')) => 1 + digits(at + 1, 3),
            (b'\\', _) => 2,
            _ => 1,
        };
        shown += 1;
    }
    match cut_at {
        None => arguments.to_owned(),
        Some(cut_at) => {
            let after = arguments.get(at + 1..).unwrap_or_default();
            let after = after.strip_prefix("...").unwrap_or(after);
            format!("{}\"...{after}", arguments.get(..cut_at).unwrap_or_default())
        }
    }
}

/// Sixteen bytes a line, as strace dumps them.
pub(super) fn dump(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (row, line) in bytes.chunks(16).enumerate() {
        let mut hex = String::new();
        for index in 0..16 {
            match line.get(index) {
                Some(byte) => hex.push_str(&format!("{byte:02x} ")),
                None => hex.push_str("   "),
            }
            if index == 7 {
                hex.push(' ');
            }
        }
        let shown: String =
            line.iter().map(|byte| if (b' '..=b'~').contains(byte) { char::from(*byte) } else { '.' }).collect();
        text.push_str(&format!(" | {:05x}  {hex} {shown:<16} |\n", row * 16));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_read_back_out_of_the_arguments() {
        let of = |text: &str| data_of(text);
        assert_eq!(of(r#"1, "a\n\0\0019\"\\\377", 9"#), Some((b"a\n\0\x019\"\\\xff".to_vec(), false)));
        assert_eq!(of(r#"3</x>, "\x41\x0a"..., 9"#), Some((b"A\n".to_vec(), true)));
        assert_eq!((of("1, 0x7f, 3"), of(r#"1, "abc"#), of(r#"1, "\"#)), (None, None, None));
    }

    #[test]
    fn arguments_are_cut_as_texts_are() {
        let cases = [
            (r#"1, "hello", 5"#, 5, r#"1, "hello", 5"#),
            (r#"1, "hello", 5"#, 2, r#"1, "he"..., 5"#),
            (r#"1, "h\n\0001x"..., 5"#, 3, r#"1, "h\n\000"..., 5"#),
            (r#"1, "\x41\x42", 5"#, 1, r#"1, "\x41"..., 5"#),
            ("1, 0x7f, 3", 1, "1, 0x7f, 3"),
            (r#"1, "", 0"#, 0, r#"1, "", 0"#),
        ];
        for (text, most, expected) in cases {
            assert_eq!(cut(text, most), expected, "{text}");
        }
    }

    #[test]
    fn dumps_look_as_straces_do() {
        let expected = " | 00000  68 65 6c 6c 6f 20 77 6f  72 6c 64 0a 00 01 ff 41  hello world....A |\n \
                        | 00010  42                                                B                |\n";
        assert_eq!(dump(b"hello world\n\0\x01\xffAB"), expected);
        assert_eq!(dump(b""), "");
    }
}
