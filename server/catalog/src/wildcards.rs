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
    parts: Vec<WildcardPart>,
    /// Bytes that a name must have at least.
    least: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum WildcardPart {
    /// Anything.
    Star,
    /// Any character.
    Any,
    Character(char),
    /// A character of these ranges, or of none of them.
    Class {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
}

impl Wildcards {
    /// Reads a pattern as fnmatch(3) does: a `\` takes its meaning from the character behind it, a `[` without an end stands
    /// for itself, and a `]` that comes first is one of the characters of a class.
    pub fn new(pattern: &str) -> Self {
        Self::read(pattern, true)
    }

    /// Reads a pattern in which only `*` and `?` mean something: names of C++ have brackets.
    pub fn without_classes(pattern: &str) -> Self {
        Self::read(pattern, false)
    }

    fn read(pattern: &str, classes: bool) -> Self {
        // Behind the last `]` every `[` is without an end.
        let last_end = pattern.rfind(']').filter(|_| classes);
        let (mut parts, mut at) = (Vec::new(), 0);
        while let Some(first) = pattern.get(at..).and_then(|rest| rest.chars().next()) {
            at += first.len_utf8();
            let class = match first {
                '[' if last_end.is_some_and(|last| last > at) => class(pattern.get(at..).unwrap_or_default()),
                _ => None,
            };
            match (first, class) {
                ('*', _) => {
                    if parts.last() != Some(&WildcardPart::Star) {
                        parts.push(WildcardPart::Star);
                    }
                }
                ('?', _) => parts.push(WildcardPart::Any),
                ('\\', _) if classes => match pattern.get(at..).and_then(|rest| rest.chars().next()) {
                    Some(meant) => {
                        at += meant.len_utf8();
                        parts.push(WildcardPart::Character(meant));
                    }
                    // At the end of a pattern it stands for nothing that there could be.
                    None => parts.push(WildcardPart::Class { ranges: Vec::new(), negated: false }),
                },
                (_, Some((class, bytes))) => {
                    at += bytes;
                    parts.push(class);
                }
                (character, None) => parts.push(WildcardPart::Character(character)),
            }
        }
        let least = parts.iter().filter(|part| **part != WildcardPart::Star).count();
        Self { parts, least }
    }

    /// The characters that a name must have, in their order: those of the pattern that stand for themselves.
    pub(crate) fn literals(&self) -> impl Iterator<Item = char> {
        characters(&self.parts)
    }

    /// The longest text that a name must have in it; the first of them if there are several.
    pub(crate) fn longest_literal(&self) -> String {
        let runs = self.parts.split(|part| !matches!(part, WildcardPart::Character(_)));
        let longest = runs.rev().max_by_key(|run| run.len()).unwrap_or_default();
        characters(longest).collect()
    }

    /// Whether a name matches as a whole.
    pub fn matches(&self, name: &str) -> bool {
        if name.len() < self.least {
            return false;
        }
        let (mut p, mut rest) = (0, name);
        // Where to go on after the last star: the part behind it, and the next place in the name.
        let mut star: Option<(usize, &str)> = None;
        loop {
            let part = self.parts.get(p);
            if part == Some(&WildcardPart::Star) {
                p += 1;
                star = Some((p, rest));
                continue;
            }
            let mut characters = rest.chars();
            let Some(found) = characters.next() else { break };
            if part.is_some_and(|part| part.fits(found)) {
                (p, rest) = (p + 1, characters.as_str());
            } else if let Some((behind, from)) = &mut star {
                let mut later = from.chars();
                let _passed = later.next();
                *from = later.as_str();
                (p, rest) = (*behind, *from);
            } else {
                return false;
            }
        }
        self.parts.get(p..).unwrap_or_default().iter().all(|part| *part == WildcardPart::Star)
    }
}

impl WildcardPart {
    fn fits(&self, found: char) -> bool {
        match self {
            Self::Star | Self::Any => true,
            Self::Character(wanted) => *wanted == found,
            Self::Class { ranges, negated } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&found)) != *negated
            }
        }
    }
}

/// The class that begins behind a `[`, and how many bytes it has with its `]`; none if it has no end.
fn class(text: &str) -> Option<(WildcardPart, usize)> {
    let (negated, inside) = match text.strip_prefix(['!', '^']) {
        Some(inside) => (true, inside),
        None => (false, text),
    };
    let first = inside.chars().next()?;
    let end = inside.get(first.len_utf8()..)?.find(']')? + first.len_utf8();
    let mut rest = inside.get(..end)?.chars();
    let mut ranges = Vec::new();
    while let Some(first) = rest.next() {
        let mut behind = rest.clone();
        match (behind.next(), behind.next()) {
            (Some('-'), Some(last)) => {
                rest = behind;
                ranges.push((first, last));
            }
            _ => ranges.push((first, first)),
        }
    }
    Some((WildcardPart::Class { ranges, negated }, text.len() - inside.len() + end + 1))
}

/// The parts that stand for themselves.
fn characters(parts: &[WildcardPart]) -> impl Iterator<Item = char> {
    parts.iter().filter_map(|part| if let WildcardPart::Character(one) = part { Some(*one) } else { None })
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
            ("[!]", "[!]", true),
            ("[a-", "[a-", true),
            ("[a-]x", "-x", true),
            ("[z-a]", "m", false),
            ("[^a]*[!b]", "bxa", true),
            ("[é]", "é", true),
            ("*read", "vfs_read", true),
            ("sched:*", "sched:sched_switch", true),
            ("*:sched_*tch", "sched:sched_switch", true),
            ("sched", "sched:sched_switch", false),
            ("sched:sched_switc?", "sched:sched_switch", true),
            ("**a**", "bab", true),
            ("", "", true),
            ("?", "", false),
            ("*aab", "aaab", true),
            // Characters, not bytes.
            ("?", "é", true),
            ("??", "é", false),
            ("[à-ý]x", "éx", true),
            ("*é?", "aéß", true),
            // What fnmatch(3) makes of brackets and backslashes.
            ("a[", "a[", true),
            ("a[b", "a[b", true),
            ("a[b", "ab", false),
            ("[]", "[]", true),
            ("[]]", "]", true),
            ("[]a]", "a", true),
            ("[!]a]", "b", true),
            ("[!]a]", "]", false),
            ("[^a]", "b", true),
            ("[a-]", "-", true),
            ("[a-]", "b", false),
            ("[-a]", "-", true),
            ("[z-a]", "m", false),
            ("[*]", "*", true),
            ("[*]", "a", false),
            ("[?]x", "?x", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a\\b", "ab", true),
            ("a\\", "a\\", false),
            ("\\[a]", "[a]", true),
            ("*[", "a[", true),
            ("*[x-z]*", "abyc", true),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches_wildcards(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn patterns_tell_what_names_must_have() {
        let cases = [
            ("*_read*", "_read", "_read"),
            ("vfs_?e[ab]d*", "vfs_", "vfs_ed"),
            ("*", "", ""),
            ("a*b*c", "a", "abc"),
            ("\\*é?x", "*é", "*éx"),
        ];
        for (pattern, longest, all) in cases {
            let read = Wildcards::new(pattern);
            assert_eq!((read.longest_literal().as_str(), read.literals().collect::<String>().as_str()), (longest, all));
        }
    }

    #[test]
    fn patterns_of_any_length_are_soon_answered() {
        let names: Vec<String> = (0..10_000).map(|number| format!("do_something_with_{number}")).collect();
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

    #[test]
    fn names_may_have_brackets_of_their_own() {
        let cases = [
            ("operator[]", "operator[]", true),
            ("<[T] as *>::f", "<[T] as Fn>::f", true),
            ("[ab]", "a", false),
            ("a?c*", "abcd", true),
            ("\\*", "\\anything", true),
            ("?", "é", true),
            ("*", "", true),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(Wildcards::without_classes(pattern).matches(name), expected, "{pattern} {name}");
        }
    }
}
