//! Regular expressions for names of calls, as `grep -E` takes them: `^ $ . [a-z] ( | ) * + ?`.
//!
//! Matching follows all ways at once, so that no expression takes long.

/// The most nested parentheses.
const MAX_DEPTH: usize = 16;
/// The longest text that is matched; a name of a call is far shorter.
const MAX_TEXT: usize = 62;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Byte(u8),
    Any,
    Class(Vec<(u8, u8)>, bool),
    Begin,
    End,
    Group(Vec<Vec<Node>>),
    /// At least so often, and whether more than once.
    Repeat(Box<Node>, bool, bool),
}

/// A regular expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expression(Vec<Vec<Node>>);

struct Reader<'a> {
    rest: &'a [u8],
    depth: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn alternatives(&mut self) -> Result<Vec<Vec<Node>>, &'static str> {
        let mut all = vec![Vec::new()];
        while let Some(next) = self.rest.first() {
            match next {
                b')' if self.depth > 0 => break,
                b'|' => {
                    self.next();
                    all.push(Vec::new());
                }
                _ => {
                    let node = self.repeated()?;
                    if let Some(last) = all.last_mut() {
                        last.push(node);
                    }
                }
            }
        }
        Ok(all)
    }

    fn repeated(&mut self) -> Result<Node, &'static str> {
        let mut node = self.one()?;
        while let Some(sign) = self.rest.first().copied().filter(|sign| b"*+?".contains(sign)) {
            self.next();
            node = Node::Repeat(Box::new(node), sign == b'+', sign != b'?');
        }
        Ok(node)
    }

    fn one(&mut self) -> Result<Node, &'static str> {
        match self.next() {
            Some(b'(') => {
                if self.depth >= MAX_DEPTH {
                    return Err("it is nested too deeply");
                }
                self.depth += 1;
                let inner = self.alternatives()?;
                self.depth -= 1;
                if self.next() == Some(b')') { Ok(Node::Group(inner)) } else { Err("a `)` is missing") }
            }
            Some(b'[') => self.class(),
            Some(b'.') => Ok(Node::Any),
            Some(b'^') => Ok(Node::Begin),
            Some(b'$') => Ok(Node::End),
            Some(b'\\') => self.next().map(Node::Byte).ok_or("nothing follows the last backslash"),
            Some(b'*' | b'+' | b'?') => Err("there is nothing to repeat"),
            Some(b'{') => Err("counts in braces are not read"),
            Some(byte) => Ok(Node::Byte(byte)),
            None => Err("something is missing"),
        }
    }

    fn class(&mut self) -> Result<Node, &'static str> {
        let missing = "a `]` is missing";
        let not = self.rest.first() == Some(&b'^');
        if not {
            self.next();
        }
        let mut ranges = Vec::new();
        loop {
            let first = self.next().ok_or(missing)?;
            if first == b']' && !ranges.is_empty() {
                return Ok(Node::Class(ranges, not));
            }
            match self.rest {
                [b'-', last, ..] if *last != b']' => {
                    ranges.push((first, *last));
                    self.rest = self.rest.get(2..).unwrap_or_default();
                }
                _ => ranges.push((first, first)),
            }
        }
    }
}

/// Where a text may go on after what a sequence matches; places are bits, as the given ones.
fn sequence(nodes: &[Node], text: &[u8], places: u64) -> u64 {
    nodes.iter().fold(places, |places, node| step(node, text, places))
}

fn step(node: &Node, text: &[u8], places: u64) -> u64 {
    let bytes = |fits: &dyn Fn(u8) -> bool| {
        let fitting =
            text.iter().enumerate().filter(|(_, byte)| fits(**byte)).fold(0, |all, (at, _)| all | 1_u64 << at);
        (places & fitting) << 1
    };
    match node {
        Node::Byte(wanted) => bytes(&|byte| byte == *wanted),
        Node::Any => bytes(&|_| true),
        Node::Class(ranges, not) => {
            bytes(&|byte| ranges.iter().any(|(first, last)| (*first..=*last).contains(&byte)) != *not)
        }
        Node::Begin => places & 1,
        Node::End => places & 1 << text.len(),
        Node::Group(alternatives) => alternatives.iter().fold(0, |all, nodes| all | sequence(nodes, text, places)),
        Node::Repeat(inner, once, more) => {
            let mut reached = if *once { 0 } else { places };
            let mut from = places;
            // Each round adds a place, of which there are few.
            loop {
                let next = step(inner, text, from);
                let new = next & !reached;
                reached |= next;
                if !more || new == 0 {
                    return reached;
                }
                from = new;
            }
        }
    }
}

impl Expression {
    /// Reads one; else what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("it is empty");
        }
        let mut reader = Reader { rest: text.as_bytes(), depth: 0 };
        reader.alternatives().map(Self)
    }

    /// Whether some part of a text matches.
    pub(super) fn matches(&self, text: &str) -> bool {
        let text = text.as_bytes();
        let text = text.get(..MAX_TEXT).unwrap_or(text);
        let everywhere = (1_u64 << (text.len() + 1)) - 1;
        self.0.iter().any(|nodes| sequence(nodes, text, everywhere) != 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_match_as_with_grep() {
        let cases = [
            ("^open", "openat", true),
            ("^open$", "openat", false),
            ("stat", "newfstatat", true),
            ("^(read|write)v?$", "writev", true),
            ("^(read|write)v?$", "preadv", false),
            ("^[a-c].*64$", "chown64", true),
            ("^[a-c].*64$", "fchown64", false),
            ("^[a-c].*t$", "accept", true),
            ("^[^a-c]", "accept", false),
            ("^..$", "bp", true),
            ("x*", "bpf", true),
            ("f+", "bpf", true),
            ("z+", "bpf", false),
            ("^(a|b*)*pf$", "bpf", true),
            ("p\\.f", "bpf", false),
            ("a||b", "zzz", true),
            ("^$", "bpf", false),
        ];
        for (expression, name, expected) in cases {
            assert_eq!(Expression::parse(expression).unwrap().matches(name), expected, "{expression} {name}");
        }
        for wrong in ["", "(", "a(b", "[a", "*", "a|+", "a\\", "a{2}", &"(".repeat(30)] {
            assert!(Expression::parse(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-c()|*+?.^$\\[\\]-]{0,40}", name in "[a-c]{0,80}") {
            if let Ok(expression) = Expression::parse(&text) {
                expression.matches(&name);
            }
        }
    }
}
