//! Wildcards of attach points and filters of functions: `*`, `?`, `[abc]`, `[a-z]`, `[!abc]`.

/// Whether a text has any.
pub fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether a name matches a pattern as a whole. For many names, read the pattern once: [`Wildcards`].
pub fn matches_wildcards(pattern: &str, name: &str) -> bool {
    Wildcards::new(pattern).matches(name)
}

/// A pattern that was read, so that each name costs the same however it is written: steps in proportion to the square of
/// the name's length at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wildcards {
    parts: Vec<Part>,
    /// Bytes that a name must have at least.
    least: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Anything.
    Star,
    /// Any byte.
    Any,
    Byte(u8),
    /// A byte whose bit is set.
    Class([u64; 4]),
}

impl Wildcards {
    /// Reads a pattern. A `[` without an end stands for itself.
    pub fn new(pattern: &str) -> Self {
        // Behind the last `]` every `[` is without an end.
        let last_end = pattern.bytes().rev().position(|byte| byte == b']').map_or(0, |behind| behind + 1);
        Self::read(pattern, last_end)
    }

    /// Reads a pattern in which only `*` and `?` mean something: names of C++ have brackets.
    pub fn without_classes(pattern: &str) -> Self {
        Self::read(pattern, 0)
    }

    /// `last_end`: how many bytes from the end on there is a `]`; 0 if there is none that ends a class.
    fn read(pattern: &str, last_end: usize) -> Self {
        let mut rest = pattern.as_bytes();
        let mut parts = Vec::new();
        while let Some((first, behind)) = rest.split_first() {
            let end = match first {
                b'[' if behind.len() >= last_end && last_end > 0 => {
                    behind.iter().skip(1).position(|byte| *byte == b']').map(|at| at + 1)
                }
                _ => None,
            };
            match (first, end) {
                (b'*', _) => {
                    if parts.last() != Some(&Part::Star) {
                        parts.push(Part::Star);
                    }
                }
                (b'?', _) => parts.push(Part::Any),
                (_, Some(end)) => parts.push(Part::Class(class(behind.get(..end).unwrap_or_default()))),
                (byte, None) => parts.push(Part::Byte(*byte)),
            }
            rest = behind.get(end.map_or(0, |end| end + 1)..).unwrap_or_default();
        }
        let least = parts.iter().filter(|part| **part != Part::Star).count();
        Self { parts, least }
    }

    /// Whether a name matches as a whole.
    pub fn matches(&self, name: &str) -> bool {
        let name = name.as_bytes();
        if name.len() < self.least {
            return false;
        }
        let (mut p, mut n) = (0, 0);
        // Where to go on after the last star: the part behind it, and the next place in the name.
        let mut star: Option<(usize, usize)> = None;
        while let Some(byte) = name.get(n) {
            let fits = match self.parts.get(p) {
                Some(Part::Star) => {
                    p += 1;
                    star = Some((p, n));
                    continue;
                }
                Some(Part::Any) => true,
                Some(Part::Byte(wanted)) => wanted == byte,
                Some(Part::Class(bits)) => {
                    bits.get(usize::from(byte / 64)).is_some_and(|it| it >> (byte % 64) & 1 == 1)
                }
                None => false,
            };
            if fits {
                p += 1;
                n += 1;
            } else if let Some((behind, next)) = &mut star {
                *next += 1;
                (p, n) = (*behind, *next);
            } else {
                return false;
            }
        }
        self.parts.get(p..).unwrap_or_default().iter().all(|part| *part == Part::Star)
    }
}

/// The bytes that stand between `[` and `]`.
fn class(text: &[u8]) -> [u64; 4] {
    let (negated, mut rest) = match text.split_first() {
        Some((b'!' | b'^', rest)) => (true, rest),
        _ => (false, text),
    };
    let mut bits = [0_u64; 4];
    while let Some((first, behind)) = rest.split_first() {
        let (last, next) = match behind {
            [b'-', last, next @ ..] => (last, next),
            _ => (first, behind),
        };
        for byte in *first..=*last {
            if let Some(word) = bits.get_mut(usize::from(byte / 64)) {
                *word |= 1 << (byte % 64);
            }
        }
        rest = next;
    }
    if negated { bits.map(|word| !word) } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_whole_names() {
        let cases = [
            ("vfs_*", "vfs_read", true),
            ("vfs_*", "xvfs_read", false),
            ("*", "", true),
            ("sys_enter_?pen", "sys_enter_open", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("tcp_[a-c]x", "tcp_bx", true),
            ("tcp_[!a-c]x", "tcp_bx", false),
            ("tcp_[!a-c]x", "tcp_dx", true),
            ("tcp_[", "tcp_[", true),
            ("[]", "[]", true),
            ("[]a]", "]", true),
            ("[]a]b[", "ab[", true),
            ("a]b[c", "a]b[c", true),
            ("[!]", "x", true),
            ("[a-", "[a-", true),
            ("[a-]x", "-x", true),
            ("[z-a]", "m", false),
            ("[^a]*[!b]", "bxa", true),
            ("[é]", "é", false),
            ("*read", "vfs_read", true),
            ("sched:*", "sched:sched_switch", true),
            ("*:sched_*tch", "sched:sched_switch", true),
            ("sched", "sched:sched_switch", false),
            ("sched:sched_switc?", "sched:sched_switch", true),
            ("**a**", "bab", true),
            ("", "", true),
            ("?", "", false),
            ("*aab", "aaab", true),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches_wildcards(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn patterns_of_any_length_are_soon_answered() {
        let names: Vec<String> = (0..100_000).map(|number| format!("do_something_with_{number}")).collect();
        let long = 4096;
        let began = std::time::Instant::now();
        for unit in ["*", "[", "?*", "*a", "[a-z]*", "[*", "do_", "*[!x]"] {
            for end in ["", "]", "x"] {
                let wildcards = Wildcards::new(&(unit.repeat(long / unit.len()) + end));
                let _counted = names.iter().filter(|name| wildcards.matches(name)).count();
            }
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
    }
}
