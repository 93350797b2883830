//! What the text of a script tells of the places that print: which probe they are in, and whether they say the same each time.
//! Names of streams follow from it. The text compiles, so a place that is not understood only gets a plainer name.

/// Probes that fire by a clock or once, in whatever thread runs at that moment.
const OF_NO_THREAD: [&str; 7] = ["interval", "i", "begin", "end", "self", "bench", "test"];
/// The most of a tool's name that is taken.
const MAX_TOOL_CHARACTERS: usize = 32;

/// What a character of a script belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Code,
    Text,
    Comment,
}

/// Each character with its place and what it belongs to. Quotes belong to their text.
fn parts(text: &str) -> impl Iterator<Item = (usize, char, Part)> {
    let bytes = text.as_bytes();
    let mut state = Part::Code;
    let (mut line_comment, mut escaped) = (false, false);
    let mut skip_until = 0;
    text.char_indices().map(move |(at, letter)| {
        let two = |pair: &[u8]| bytes.get(at..).is_some_and(|rest| rest.starts_with(pair));
        if at < skip_until {
            return (at, letter, Part::Comment);
        }
        match state {
            Part::Code if two(b"//") || two(b"/*") => {
                (state, line_comment) = (Part::Comment, two(b"//"));
                skip_until = at + 2;
                (at, letter, Part::Comment)
            }
            Part::Code => {
                if letter == '"' {
                    state = Part::Text;
                    return (at, letter, Part::Text);
                }
                (at, letter, Part::Code)
            }
            Part::Text => {
                if letter == '"' && !escaped {
                    state = Part::Code;
                }
                escaped = letter == '\\' && !escaped;
                (at, letter, Part::Text)
            }
            Part::Comment => {
                if line_comment && letter == '\n' {
                    state = Part::Code;
                    return (at, letter, Part::Code);
                }
                if !line_comment && two(b"*/") {
                    state = Part::Code;
                    skip_until = at + 2;
                }
                (at, letter, Part::Comment)
            }
        }
    })
}

/// What is before the `{` of the outermost block that holds a place: the probe's attach points and condition.
pub(super) fn header_at(text: &str, place: usize) -> String {
    let (mut depth, mut header, mut current) = (0_u32, String::new(), String::new());
    // The line that names an interpreter is not of the language.
    let first = if text.starts_with("#!") { text.find('\n').unwrap_or(text.len()) } else { 0 };
    for (at, letter, part) in parts(text).skip_while(|(at, ..)| *at < first) {
        if at >= place {
            break;
        }
        match (part, letter) {
            (Part::Code, '{') => {
                if depth == 0 {
                    header = std::mem::take(&mut current);
                }
                depth += 1;
            }
            (Part::Code, '}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    current.clear();
                }
            }
            (Part::Code, letter) if depth == 0 => current.push(letter),
            _ => {}
        }
    }
    if depth == 0 { String::new() } else { header.trim().to_owned() }
}

/// Whether a probe's rows belong to no thread: each of its attach points fires by a clock or once.
pub(super) fn is_of_no_thread(header: &str) -> bool {
    let points = header.split(['/', ';']).next().unwrap_or("");
    let aside = |point: &str| {
        let kind = point.trim().split(':').next().unwrap_or("").to_ascii_lowercase();
        OF_NO_THREAD.contains(&kind.as_str())
    };
    !points.trim().is_empty() && points.split(',').all(aside)
}

/// Whether a call has no argument but constants, so that it says the same each time.
pub(super) fn is_constant(call: &str) -> bool {
    let open = call.find('(').unwrap_or(call.len());
    let rest = call.get(open..).unwrap_or("");
    let constant = |letter: char| letter.is_ascii_digit() || letter.is_whitespace() || "(),;-".contains(letter);
    !rest.is_empty() && parts(rest).filter(|(_, _, part)| *part == Part::Code).all(|(_, letter, _)| constant(letter))
}

/// The name of a tool in the first line of its header, `// name: title`.
pub(super) fn tool_name(text: &str) -> Option<&str> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("#!"))?;
    let (name, title) = first.strip_prefix("//")?.trim().split_once(": ")?;
    let word = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    let is_name = !name.is_empty() && name.len() <= MAX_TOOL_CHARACTERS && name.chars().all(word);
    (is_name && !title.trim().is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "#!/usr/bin/env x\n// spy: who \"does { what\n/* { */ begin { printf(\"HEAD { \\\" \\n\"); }\n\
        tracepoint:a:b, interval:s:1 /pid == 1/ { if (1) { printf(\"%d\", pid); } }\nINTERVAL:s:1 { print(@a); }";

    fn at(words: &str) -> usize {
        SCRIPT.find(words).unwrap_or(0)
    }

    #[test]
    fn a_place_is_in_a_probe() {
        assert_eq!(header_at(SCRIPT, at("printf(\"HEAD")), "begin");
        assert_eq!(header_at(SCRIPT, at("printf(\"%d")), "tracepoint:a:b, interval:s:1 /pid == 1/");
        assert_eq!(header_at(SCRIPT, at("print(@a")), "INTERVAL:s:1");
        assert_eq!(header_at(SCRIPT, at("tracepoint")), "");
        assert_eq!(header_at("", 7), "");
    }

    #[test]
    fn clocks_and_beginnings_are_of_no_thread() {
        for (header, aside) in [
            ("begin", true),
            ("END", true),
            ("interval:s:1", true),
            ("i:ms:10 /@on/", true),
            ("begin, interval:hz:5", true),
            ("tracepoint:a:b, interval:s:1", false),
            ("profile:hz:99", false),
            ("fn ends($a: int64)", false),
            ("", false),
        ] {
            assert_eq!(is_of_no_thread(header), aside, "{header}");
        }
    }

    #[test]
    fn headings_have_no_arguments_but_constants() {
        for (call, constant) in [
            ("printf(\"%-9s %s\\n\", \"TIME\", \"FILE\")", true),
            ("printf(\"Hit Ctrl-C.\\n\");", true),
            ("printf(\"%d\\n\", 1)", true),
            ("printf(\"%d\\n\", pid)", false),
            ("printf(\"\\\"%s\", comm)", false),
            ("print(@a)", false),
            ("print", false),
        ] {
            assert_eq!(is_constant(call), constant, "{call}");
        }
    }

    #[test]
    fn tools_have_names() {
        for (text, name) in [
            (SCRIPT, Some("spy")),
            ("// opensnoop: files that are opened\n", Some("opensnoop")),
            ("// Who runs, and where: this\n", None),
            ("// name:\n", None),
            ("begin { } // a: b", None),
            ("", None),
        ] {
            assert_eq!(tool_name(text), name, "{text}");
        }
    }
}
