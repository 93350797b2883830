//! Characters that documents print for those that were typed: `’ ‘ “ ”` for quotes, `—` and `–` for `-` and `--`, blanks
//! that do not break a line. What is pasted from them is read as what was meant.

/// A text with the characters that were typed, and where each stands in what was pasted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plain {
    /// The text.
    pub text: String,
    /// What was read as something else, in words; each kind once.
    pub notes: Vec<String>,
    /// Bytes of the text, and of what was pasted, before each place where they begin to differ.
    moved: Vec<(usize, usize)>,
}

/// What is read for a character that nobody types here.
enum Read {
    As(&'static str),
    /// It is left out.
    Nothing,
}

impl Plain {
    /// Reads what was pasted.
    pub fn of(pasted: &str) -> Self {
        let mut plain = Self { text: String::with_capacity(pasted.len()), ..Self::default() };
        let mut last = None;
        for (at, one) in pasted.char_indices() {
            let rest = pasted.get(at + one.len_utf8()..).unwrap_or_default();
            match read(one, last, rest) {
                None => plain.text.push(one),
                Some(read) => plain.replace(one, at, &read),
            }
            last = Some(one);
        }
        plain
    }

    fn replace(&mut self, one: char, at: usize, read: &Read) {
        let (into, words) = match read {
            Read::As(into) if one == ' ' => (*into, Some("`- -` was read as `--`".to_owned())),
            Read::As(" ") => (" ", Some("a blank that does not break a line was read as a blank".to_owned())),
            Read::As(into) => (*into, Some(format!("{one} was read as {into}"))),
            Read::Nothing => ("", None),
        };
        for byte in 0..into.len() {
            self.moved.push((self.text.len() + byte, at));
        }
        self.text.push_str(into);
        self.moved.push((self.text.len(), at + one.len_utf8()));
        self.notes.extend(words.filter(|words| !self.notes.contains(words)));
    }

    /// Where a place of the text is in what was pasted.
    pub fn original(&self, at: usize) -> usize {
        let before = self.moved.partition_point(|(place, _)| *place <= at);
        match before.checked_sub(1).and_then(|index| self.moved.get(index)) {
            Some((place, original)) => original + (at - place),
            None => at,
        }
    }
}

/// What stands behind a program's name in a command line that starts it, without a prompt and `sudo` before it, and how many
/// bytes stand before that; none of a text that is no such command line.
pub fn behind_program<'a>(text: &'a str, program: &str) -> Option<(&'a str, usize)> {
    let mut at = 0;
    // A prompt has a word or two.
    for _ in 0..4 {
        let rest = text.get(at..)?;
        let begin = at + rest.len() - rest.trim_start().len();
        let word = text.get(begin..)?.split_whitespace().next()?;
        at = begin + word.len();
        if word == program || word.strip_suffix(program).is_some_and(|folder| folder.ends_with('/')) {
            let behind = text.get(at..)?;
            let begin = at + behind.len() - behind.trim_start().len();
            return Some((behind.trim(), begin));
        }
        let is_before = word == "sudo" || word.ends_with(['#', '$', '%', '>']) || word.starts_with('[');
        if !is_before {
            return None;
        }
    }
    None
}

/// What stands between quotes, if that is all of a text, and whether there were any.
pub fn unquoted(text: &str) -> (&str, bool) {
    let inner = |quote: char| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains(quote)).then_some(inner)
    };
    match inner('\'').or_else(|| inner('"')) {
        Some(inner) => (inner, true),
        None => (text, false),
    }
}

/// What a character between `last` and `rest` is read as; none for itself.
fn read(one: char, last: Option<char>, rest: &str) -> Option<Read> {
    let next = rest.chars().next();
    let in_word = |side: Option<char>| side.is_some_and(char::is_alphanumeric);
    match one {
        // Within a word it is part of a name.
        '‘' | '’' | '‚' | '‛' | '“' | '”' | '„' | '‟' if in_word(last) && in_word(next) => None,
        '‘' | '’' | '‚' | '‛' => Some(Read::As("'")),
        '“' | '”' | '„' | '‟' => Some(Read::As("\"")),
        '–' | '—' | '−' | '‐' | '‑' | '‒' => Some(Read::As(dash(one, last, rest))),
        '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}' => Some(Read::As(" ")),
        '\u{200b}' | '\u{feff}' => Some(Read::Nothing),
        // `- -add`: no option is written so, and a file called `-` has none of this length behind it.
        ' ' if last == Some('-') && rest.strip_prefix('-').is_some_and(|option| letters(option) >= 3) => {
            Some(Read::As(""))
        }
        _ => None,
    }
}

/// How many small letters a text begins with.
fn letters(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_lowercase).count()
}

/// A dash before a long option's name stands for two.
fn dash(one: char, last: Option<char>, rest: &str) -> &'static str {
    let begins = last.is_none_or(|last| last.is_whitespace() || matches!(last, '\'' | '"' | '’' | '‘' | '“' | '”'));
    let alone = rest.is_empty() || rest.starts_with(char::is_whitespace);
    let long = matches!(one, '–' | '—') && letters(rest) >= 3;
    if begins && (long || alone && one == '—') { "--" } else { "-" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_documents_print_is_read_as_what_was_typed() {
        let cases = [
            (
                "perf probe -x /bin/bash ’readline%return +0($retval):string’",
                "perf probe -x /bin/bash 'readline%return +0($retval):string'",
            ),
            ("perf probe -x /bin/bash —funcs", "perf probe -x /bin/bash --funcs"),
            ("perf probe –add do_sys_open", "perf probe --add do_sys_open"),
            ("perf probe - -add do_sys_open", "perf probe --add do_sys_open"),
            ("perf probe –x /bin/sh “main”", "perf probe -x /bin/sh \"main\""),
            ("echo ‘– p_vfs_read_0’", "echo '- p_vfs_read_0'"),
            ("perf record -e probe:a –aR — sleep 10", "perf record -e probe:a -aR -- sleep 10"),
            ("perf record -o - -a", "perf record -o - -a"),
            ("funcgraph‑proc a\u{a0}b\u{200b}", "funcgraph-proc a b"),
            ("/opt/café’s/bin ä", "/opt/café’s/bin ä"),
        ];
        for (pasted, expected) in cases {
            let plain = Plain::of(pasted);
            assert_eq!(plain.text, expected);
            assert_eq!(plain.notes.is_empty(), pasted == expected, "{pasted}: {:?}", plain.notes);
        }
        assert_eq!(Plain::of("’a’ —add").notes, ["’ was read as '", "— was read as --"]);
    }

    #[test]
    fn places_lead_back_to_what_was_pasted() {
        let pasted = "a ’b’ —add - -del c";
        let plain = Plain::of(pasted);
        for word in ["a", "b", "add", "del", "c"] {
            let at = plain.text.find(word).unwrap();
            assert_eq!(plain.original(at), pasted.find(word).unwrap(), "{word}");
        }
        for at in 0..=plain.text.len() + 2 {
            assert!(pasted.is_char_boundary(plain.original(at)) || plain.original(at) > pasted.len());
        }
    }

    #[test]
    fn commands_are_read_behind_prompts() {
        let cases = [
            ("sysdig proc.name=cat", Some("proc.name=cat")),
            ("  # sysdig  proc.name=cat ", Some("proc.name=cat")),
            ("[root@host ~]# sudo /usr/bin/sysdig evt.type=open", Some("evt.type=open")),
            ("me@host:~$ sysdig evt.type=open", Some("evt.type=open")),
            ("proc.name=sysdig", None),
            ("proc.name = sysdig", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let found = behind_program(text, "sysdig");
            assert_eq!(found.map(|(behind, _)| behind), expected, "{text}");
            assert!(found.is_none_or(|(behind, at)| text[at..].starts_with(behind)));
        }
        assert_eq!(unquoted("\"a='b'\""), ("a='b'", true));
        assert_eq!(unquoted("'a' or 'b'"), ("'a' or 'b'", false));
        assert_eq!((unquoted("'"), unquoted("")), (("'", false), ("", false)));
    }
}
