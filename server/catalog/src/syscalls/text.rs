//! Numbers, names and texts as strace writes them.

use std::fmt::Write as _;

use super::table::Set;

/// Little-endian numbers out of bytes that may be too few.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    pub(super) fn u16(self, at: usize) -> Option<u16> {
        self.take(at).map(u16::from_le_bytes)
    }

    pub(super) fn u16_be(self, at: usize) -> Option<u16> {
        self.take(at).map(u16::from_be_bytes)
    }

    pub(super) fn u32(self, at: usize) -> Option<u32> {
        self.take(at).map(u32::from_le_bytes)
    }

    pub(super) fn i32(self, at: usize) -> Option<i32> {
        self.take(at).map(i32::from_le_bytes)
    }

    pub(super) fn u64(self, at: usize) -> Option<u64> {
        self.take(at).map(u64::from_le_bytes)
    }

    pub(super) fn i64(self, at: usize) -> Option<i64> {
        self.take(at).map(i64::from_le_bytes)
    }

    /// A number of so many bytes, 4 or 8.
    pub(super) fn word(self, at: usize, bytes: usize) -> Option<u64> {
        if bytes == 4 { self.u32(at).map(u64::from) } else { self.u64(at) }
    }

    /// As [`Self::word`], with a sign.
    pub(super) fn signed_word(self, at: usize, bytes: usize) -> Option<i64> {
        if bytes == 4 { self.i32(at).map(i64::from) } else { self.i64(at) }
    }
}

/// Appends formatted text; writing to a string does not fail.
pub(super) fn put(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _infallible = out.write_fmt(arguments);
}

/// Appends an address.
pub(super) fn pointer(out: &mut String, address: u64) {
    match address {
        0 => out.push_str("NULL"),
        address => put(out, format_args!("{address:#x}")),
    }
}

/// Appends a number in base eight as people write modes: with a zero in front.
pub(super) fn octal(out: &mut String, number: u64) {
    match number {
        0 => out.push('0'),
        number => put(out, format_args!("0{number:o}")),
    }
}

/// Appends text in quotes. What cannot be printed is in base eight, as short as can be read back.
pub(super) fn quoted(out: &mut String, bytes: &[u8]) {
    escaped(out, bytes, false);
}

/// As [`quoted`], with what cannot be printed in base sixteen.
pub(super) fn quoted_with_hex(out: &mut String, bytes: &[u8]) {
    escaped(out, bytes, true);
}

fn escaped(out: &mut String, bytes: &[u8], in_hex: bool) {
    out.push('"');
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'\r' => out.push_str("\\r"),
            0x0b => out.push_str("\\v"),
            0x0c => out.push_str("\\f"),
            b' '..=b'~' => out.push(char::from(*byte)),
            byte if in_hex => put(out, format_args!("\\x{byte:02x}")),
            byte => {
                // 8 and 9 are no digits of base eight.
                let digit_follows = bytes.get(at + 1).is_some_and(|next| matches!(next, b'0'..=b'7'));
                if digit_follows {
                    put(out, format_args!("\\{byte:03o}"));
                } else {
                    put(out, format_args!("\\{byte:o}"));
                }
            }
        }
    }
    out.push('"');
}

/// Appends text in quotes, every byte in base sixteen.
pub(super) fn quoted_hex(out: &mut String, bytes: &[u8]) {
    out.push('"');
    bytes.iter().for_each(|byte| put(out, format_args!("\\x{byte:02x}")));
    out.push('"');
}

impl Set {
    /// The name of a number.
    pub(super) fn name_of(&self, value: u64) -> Option<&'static str> {
        self.names.iter().find(|(known, _)| *known == value).map(|(_, name)| *name)
    }

    /// Appends the name of a number, or the number with a note that it has none.
    pub(super) fn write_one(&self, out: &mut String, value: u64) {
        match self.name_of(value) {
            Some(name) => out.push_str(name),
            None => {
                put(out, format_args!("{value:#x} /* {}??? */", self.prefix()));
            }
        }
    }

    /// What all names begin with, up to the first `_`.
    fn prefix(&self) -> &'static str {
        let first = self.names.first().map_or("", |(_, name)| *name);
        first.find('_').and_then(|at| first.get(..=at)).unwrap_or(first)
    }

    /// Appends the names of bits, joined by `|`; what has no name as a number.
    pub(super) fn write_bits(&self, out: &mut String, value: u64) {
        let mut rest = value;
        let mut any = false;
        let mut add = |out: &mut String, name: &str| {
            if std::mem::replace(&mut any, true) {
                out.push('|');
            }
            out.push_str(name);
        };
        for (mask, names) in &self.masked {
            if let Some((value, name)) = names.iter().find(|(known, _)| *known == rest & mask) {
                rest &= !value;
                add(out, name);
            }
        }
        for (bits, name) in &self.names {
            if *bits != 0 && rest & bits == *bits {
                rest &= !bits;
                add(out, name);
            }
        }
        match (any, rest) {
            (true, 0) => {}
            (true, rest) => put(out, format_args!("|{rest:#x}")),
            (false, 0) => out.push_str(self.name_of(0).unwrap_or("0")),
            (false, rest) => put(out, format_args!("{rest:#x} /* {}??? */", self.prefix())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscalls::table::set;

    #[test]
    fn texts_are_escaped_as_strace_does() {
        let cases: [(&[u8], &str); 6] = [
            (b"hello\n\x01\xff\"q\\ ", r#""hello\n\1\377\"q\\ ""#),
            (b"\0\x003\x7f\x1b[m", r#""\0\0003\177\33[m""#),
            (b"\x019\x008\x007", r#""\19\08\0007""#),
            (b"a\tb\rc\x0b\x0c", r#""a\tb\rc\v\f""#),
            ("é".as_bytes(), r#""\303\251""#),
            (b"", "\"\""),
        ];
        for (bytes, expected) in cases {
            let mut out = String::new();
            quoted(&mut out, bytes);
            assert_eq!(out, expected);
        }
        let mut out = String::new();
        quoted_with_hex(&mut out, b"a\n\x001\xff\"\\\t");
        assert_eq!(out, r#""a\n\x001\xff\"\\\t""#);
    }

    #[test]
    fn bits_have_names_in_order_and_what_has_none_is_a_number() {
        let bits = |name: &str, value: u64| {
            let mut out = String::new();
            set(name).write_bits(&mut out, value);
            out
        };
        assert_eq!(bits("open", 0), "O_RDONLY");
        assert_eq!(bits("open", 0o2_000_000 | 0o100 | 1), "O_WRONLY|O_CREAT|O_CLOEXEC");
        assert_eq!(bits("prot", 0), "PROT_NONE");
        assert_eq!(bits("fdopen", 0), "0");
        assert_eq!(bits("at", 0x100), "AT_SYMLINK_NOFOLLOW");
        assert_eq!(bits("at", 0x100 | 0x4_0000), "AT_SYMLINK_NOFOLLOW|0x40000");
        assert_eq!(bits("at", 0x4_0000), "0x40000 /* AT_??? */");
        let mut out = String::new();
        set("shut").write_one(&mut out, 5);
        assert_eq!(out, "0x5 /* SHUT_??? */");
    }
}
