//! The arguments of system calls by position: fields of their tracepoints.

/// An argument of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallField {
    /// The field's name.
    pub(crate) name: &'static str,
    /// `s` text, `p` pointer, `d` signed, `u` unsigned, `x` shown in hexadecimal, `o` in octal.
    pub(crate) kind: char,
}

/// The arguments of a call; none if no such call is known.
pub(crate) fn fields(call: &str) -> Option<Vec<CallField>> {
    let line = include_str!("../data/calls.txt")
        .lines()
        .find_map(|line| line.strip_prefix(call)?.strip_prefix(' ').or((line == call).then_some("")))?;
    let field = |word: &'static str| {
        let (name, kind) = word.split_once(':')?;
        Some(CallField { name, kind: kind.chars().next()? })
    };
    Some(line.split_whitespace().filter_map(field).collect())
}

/// The names of calls that a pattern with `*` and `?` matches.
pub(crate) fn matching(pattern: &str) -> Vec<&'static str> {
    let names = include_str!("../data/calls.txt").lines().filter(|line| !line.starts_with('#'));
    let names = names.filter_map(|line| line.split(' ').next());
    names.filter(|name| matches(pattern.as_bytes(), name.as_bytes())).collect()
}

/// Whether a text matches a pattern with `*` and `?`.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == b'?' || text.get(t) == Some(c) => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((at, from)) = star else { return false };
                star = Some((at, from + 1));
                p = at + 1;
                t = from + 1;
            }
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|c| *c == b'*')
}

/// Calls that programs make by another one today, which has more arguments before: `open` is `openat` for the C library.
pub(crate) fn successor(call: &str) -> Option<(&'static str, usize)> {
    (call == "open").then_some(("openat", 1))
}
