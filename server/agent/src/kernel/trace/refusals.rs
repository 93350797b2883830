//! What tracefs says when it refuses a line: `error_log` has the reason in words and the place in the line.

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LineRefusal {
    /// The kernel's words.
    pub(crate) words: String,
    /// The place in the line, in bytes.
    pub(crate) at: usize,
}

/// What comes before the line and before the caret below it.
const COMMAND: &str = "  Command: ";

/// The last refusal of `line` in the text of an `error_log`.
pub(crate) fn last(log: &str, line: &str) -> Option<LineRefusal> {
    let lines: Vec<&str> = log.lines().collect();
    let is_it = |three: &&[&str]| matches!(three, [_, command, _] if command.strip_prefix(COMMAND) == Some(line));
    let [head, _command, caret] = lines.windows(3).rev().find(is_it)? else { return None };
    // `[  894.661756] trace_uprobe: error: Invalid register name`
    let words = head.rsplit_once("error: ").map_or(*head, |(_, words)| words).trim();
    let at = caret.find('^')?.saturating_sub(COMMAND.len());
    Some(LineRefusal { words: words.to_owned(), at })
}

/// A line with a mark below the place.
pub(crate) fn marked(line: &str, at: usize) -> String {
    let at = line.floor_char_boundary(at);
    let before = line.get(..at).unwrap_or(line).chars().count();
    format!("{line}\n{}^", " ".repeat(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
[  894.643669] event filter parse error: error: Invalid value (did you forget quotes)?
  Command: prev_pid >> 1
                      ^
[  894.661756] trace_uprobe: error: Invalid register name
  Command: p:zz_ft/u2 /bin/bash:0x30000 arg=%zz
                                            ^
[  895.0] trace_kprobe: error: Probe point is not an instruction boundary
  Command: p:zz_ft/u2 vfs_read+1
                      ^
";

    #[test]
    fn the_reason_and_the_place_are_read() {
        let told = |line: &str| last(LOG, line).map(|refusal| (refusal.words, refusal.at));
        let words = |words: &str, at| Some((words.to_owned(), at));
        assert_eq!(told("prev_pid >> 1"), words("Invalid value (did you forget quotes)?", 11));
        assert_eq!(told("p:zz_ft/u2 /bin/bash:0x30000 arg=%zz"), words("Invalid register name", 33));
        assert_eq!(told("p:zz_ft/u2 vfs_read+1"), words("Probe point is not an instruction boundary", 11));
        assert_eq!(told("other"), None);
        assert_eq!(last("", "x"), None);
        assert_eq!(last("a\n  Command: x\n", "x"), None);
    }

    #[test]
    fn the_mark_is_below_the_place() {
        assert_eq!(marked("abc", 1), "abc\n ^");
        assert_eq!(marked("aéc", 3), "aéc\n  ^");
        assert_eq!(marked("a", 9), "a\n ^");
    }
}
