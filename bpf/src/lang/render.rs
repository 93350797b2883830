//! A message about a script as text: where, what, the line with a mark under the place, and what would be right.

use bathyscope_plan::{Diagnostic, Severity, Span};

/// The most columns of the script's line that are shown.
const MAX_COLUMNS: usize = 140;
/// Columns that stay before the place if the line is cut.
const COLUMNS_BEFORE: usize = 60;
/// Stands before the script's line and the marks.
const INDENT: &str = "    ";

/// A place in a text as people count: both from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineColumn {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// The line and column of byte `at` of `text`.
pub fn place(text: &str, at: u32) -> LineColumn {
    let before = &text[..text.floor_char_boundary(at as usize)];
    let line = &before[line_start(before, before.len())..];
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    LineColumn { line: count(before.matches('\n').count() + 1), column: count(line.chars().count() + 1) }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The message as text for people, without a final line feed. `name` is the script's: a path, or what the user calls it.
/// Control characters of the script are replaced, so the text is safe for a terminal.
///
/// ```text
/// opens.bt:1:35: ERROR: no field `filname` in args of tracepoint:syscalls:sys_enter_openat
///     tracepoint:syscalls:sys_enter_openat { print(str(args.filname)); }
///                                                           ^^^^^^^
///     hint: did you mean `filename`?
/// ```
pub fn render(text: &str, name: &str, diagnostic: &Diagnostic) -> String {
    let LineColumn { line, column } = place(text, diagnostic.start);
    let severity = match diagnostic.severity {
        Severity::Error => "ERROR",
        Severity::Warning => "WARNING",
    };
    let mut rendered = format!("{name}:{line}:{column}: {severity}: {}", diagnostic.message);
    for line in excerpt(text, diagnostic.span()) {
        rendered.push('\n');
        rendered.push_str(INDENT);
        rendered.push_str(&line);
    }
    if !diagnostic.hint.is_empty() {
        rendered.push_str(&format!("\n{INDENT}hint: {}", diagnostic.hint));
    }
    let harmless = |it: char| if it.is_control() && !matches!(it, '\n' | '\t') { '\u{fffd}' } else { it };
    rendered.chars().map(harmless).collect()
}

/// The first line of `span`, and marks under it.
fn excerpt(text: &str, span: Span) -> Vec<String> {
    let start = text.floor_char_boundary(span.start as usize);
    let first = line_start(text, start);
    let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
    let end = text.ceil_char_boundary(span.end as usize).clamp(start, line_end);
    let goes_on = span.end as usize > line_end && !text[line_end..].trim_end().is_empty();
    let (before, marked, after) = (&text[first..start], &text[start..end], text[end..line_end].trim_end());
    if before.trim().is_empty() && marked.is_empty() && after.is_empty() {
        return Vec::new();
    }
    let before = cut_before(before);
    let (marked, marked_cut) = cut_after(marked, MAX_COLUMNS);
    let (after, after_cut) = cut_after(after, MAX_COLUMNS.saturating_sub(columns(&before) + columns(marked)));
    let cut = if marked_cut || after_cut || goes_on { " …" } else { "" };
    let after = if marked_cut { "" } else { after };
    let under: String =
        before.chars().flat_map(|it| std::iter::repeat_n(if it == '\t' { '\t' } else { ' ' }, width(it))).collect();
    let marks = "^".repeat(columns(marked).max(1));
    vec![format!("{before}{marked}{after}{cut}"), format!("{under}{marks}")]
}

/// What of a line before the place is shown.
fn cut_before(before: &str) -> String {
    let all = columns(before);
    if all <= COLUMNS_BEFORE {
        return before.to_owned();
    }
    let mut left_out = 0;
    let kept = before.chars().skip_while(|it| {
        left_out += width(*it);
        left_out <= all - COLUMNS_BEFORE
    });
    std::iter::once('…').chain(kept).collect()
}

/// The first `most` columns of a text, and whether that is less than all.
fn cut_after(text: &str, most: usize) -> (&str, bool) {
    let mut used = 0;
    for (at, character) in text.char_indices() {
        used += width(character);
        if used > most {
            return (&text[..at], true);
        }
    }
    (text, false)
}

fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// Columns of a character in a terminal; of a tab one, since the line with the marks has it too.
fn width(character: char) -> usize {
    match u32::from(character) {
        0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, start: u32, end: u32) -> String {
        render(text, "s.bt", &Diagnostic::error(Span { start, end }, "wrong").hint("do it right"))
    }

    #[test]
    fn marks_stand_under_the_place() {
        let cases = [
            (
                "begin { abc }",
                8,
                11,
                "s.bt:1:9: ERROR: wrong\n    begin { abc }\n            ^^^\n    hint: do it right",
            ),
            ("a\n\tbc d\n", 3, 5, "s.bt:2:2: ERROR: wrong\n    \tbc d\n    \t^^\n    hint: do it right"),
            ("\"日本\" x", 9, 10, "s.bt:1:6: ERROR: wrong\n    \"日本\" x\n           ^\n    hint: do it right"),
            ("日", 1, 3, "s.bt:1:1: ERROR: wrong\n    日\n    ^^\n    hint: do it right"),
            ("a {\n b\n}", 2, 8, "s.bt:1:3: ERROR: wrong\n    a { …\n      ^\n    hint: do it right"),
            ("abc", 3, 3, "s.bt:1:4: ERROR: wrong\n    abc\n       ^\n    hint: do it right"),
            ("abc\n", 4, 4, "s.bt:2:1: ERROR: wrong\n    hint: do it right"),
            ("", 0, 0, "s.bt:1:1: ERROR: wrong\n    hint: do it right"),
            ("ab", 90, 99, "s.bt:1:3: ERROR: wrong\n    ab\n      ^\n    hint: do it right"),
            ("\u{1b}[2J", 1, 2, "s.bt:1:2: ERROR: wrong\n    \u{fffd}[2J\n     ^\n    hint: do it right"),
        ];
        for (text, start, end, expected) in cases {
            assert_eq!(shown(text, start, end), expected, "{text:?}");
        }
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let rendered = shown(&text, 500, 501);
        let lines: Vec<&str> = rendered.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|it| it.chars().count() < MAX_COLUMNS + 10), "{rendered}");
        let column = |line: &str, mark: char| line.chars().position(|it| it == mark);
        assert_eq!(column(lines[1], 'X'), column(lines[2], '^'));
        assert!(shown(&text, 0, 1001).lines().nth(2).is_some_and(|it| it.len() < MAX_COLUMNS + 10));
    }
}
