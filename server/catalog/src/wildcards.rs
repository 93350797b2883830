//! Wildcards of attach points and filters of functions: `*`, `?`, `[abc]`, `[a-z]`, `[!abc]`.

/// Whether a text has any.
pub fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether a name matches a pattern as a whole. Takes steps in proportion to the product of their lengths at most.
pub fn matches_wildcards(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    // Where to go on after the last star: the pattern behind it, and the next place in the name.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            p += 1;
            star = Some((p, n));
            continue;
        }
        match one(pattern.get(p..).unwrap_or_default(), name.get(n).copied().unwrap_or(0)) {
            Some(length) => {
                p += length;
                n += 1;
            }
            None => match &mut star {
                Some((behind, next)) => {
                    *next += 1;
                    (p, n) = (*behind, *next);
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|byte| *byte == b'*')
}

/// How many bytes of the pattern stand for this byte, if they do.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern.first()? {
        b'?' => Some(1),
        b'[' => {
            let Some(end) = pattern.iter().skip(2).position(|b| *b == b']').map(|at| at + 2) else {
                return (byte == b'[').then_some(1);
            };
            let class = pattern.get(1..end).unwrap_or_default();
            let (negated, class) = match class.split_first() {
                Some((b'!' | b'^', rest)) => (true, rest),
                _ => (false, class),
            };
            (in_class(class, byte) != negated).then_some(end + 1)
        }
        first => (*first == byte).then_some(1),
    }
}

fn in_class(class: &[u8], byte: u8) -> bool {
    let mut rest = class;
    while let Some((first, behind)) = rest.split_first() {
        match behind {
            [b'-', last, ..] => {
                if (*first..=*last).contains(&byte) {
                    return true;
                }
                rest = behind.get(2..).unwrap_or_default();
            }
            _ => {
                if *first == byte {
                    return true;
                }
                rest = behind;
            }
        }
    }
    false
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
}
