//! Keys, from the bytes that a terminal sends for them.

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A letter or sign.
    Char(char),
    /// Ctrl and a letter.
    Ctrl(char),
    Enter,
    Escape,
    Backspace,
    Tab,
    BackTab,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
}

/// Sequences that begin with ESC, as terminals of today send them, with their keys.
const SEQUENCES: [(&str, Key); 20] = [
    ("[A", Key::Up),
    ("[B", Key::Down),
    ("[C", Key::Right),
    ("[D", Key::Left),
    ("OA", Key::Up),
    ("OB", Key::Down),
    ("OC", Key::Right),
    ("OD", Key::Left),
    ("[5~", Key::PageUp),
    ("[6~", Key::PageDown),
    ("[H", Key::Home),
    ("[F", Key::End),
    ("OH", Key::Home),
    ("OF", Key::End),
    ("[1~", Key::Home),
    ("[4~", Key::End),
    ("[7~", Key::Home),
    ("[8~", Key::End),
    ("[Z", Key::BackTab),
    ("[3~", Key::Backspace),
];

/// Reads what one read from the terminal gave: sequences come whole. What is no key is left out.
pub(super) fn keys(bytes: &[u8]) -> Vec<Key> {
    let text = String::from_utf8_lossy(bytes);
    let mut rest = text.as_ref();
    let mut found = Vec::new();
    while let Some(first) = rest.chars().next() {
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
        match first {
            '\u{1b}' if rest.is_empty() => found.push(Key::Escape),
            '\u{1b}' => {
                let known = SEQUENCES.iter().find(|(sequence, _)| rest.starts_with(sequence));
                let length = known.map_or_else(|| sequence_length(rest), |(sequence, _)| sequence.len());
                found.extend(known.map(|(_, key)| *key));
                rest = rest.get(length..).unwrap_or_default();
            }
            '\r' | '\n' => found.push(Key::Enter),
            '\t' => found.push(Key::Tab),
            '\u{7f}' | '\u{8}' => found.push(Key::Backspace),
            control @ '\u{1}'..='\u{1a}' => found.push(Key::Ctrl(char::from(control as u8 - 1 + b'a'))),
            control if control.is_control() => {}
            sign => found.push(Key::Char(sign)),
        }
    }
    found
}

/// How long a sequence is that is no key here: to the letter that ends it.
fn sequence_length(rest: &str) -> usize {
    match rest.strip_prefix('[') {
        Some(parameters) => {
            let end = parameters.find(|c: char| ('\u{40}'..='\u{7e}').contains(&c));
            end.map_or(rest.len(), |end| end + 2)
        }
        // Alt and a letter.
        None => rest.chars().next().map_or(0, char::len_utf8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_terminals_are_keys() {
        let cases: [(&[u8], &[Key]); 9] = [
            (b"q", &[Key::Char('q')]),
            (b"\x1b", &[Key::Escape]),
            (b"\x1b[A\x1bOB\x1b[6~", &[Key::Up, Key::Down, Key::PageDown]),
            (b"\r\t\x7f\x03", &[Key::Enter, Key::Tab, Key::Backspace, Key::Ctrl('c')]),
            ("é/".as_bytes(), &[Key::Char('é'), Key::Char('/')]),
            (b"\x1b[1;5Cx", &[Key::Char('x')]),
            (b"\x1bax", &[Key::Char('x')]),
            (b"\x1b[<0;3;4M?", &[Key::Char('?')]),
            (b"\xff\x00", &[Key::Char('\u{fffd}')]),
        ];
        for (bytes, expected) in cases {
            assert_eq!(keys(bytes), expected, "{bytes:?}");
        }
    }
}
