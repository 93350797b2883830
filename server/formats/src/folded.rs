//! Folded stacks: `process;outermost;…;innermost count`, one distinct stack a line, sorted by names, as the FlameGraph
//! scripts, inferno and speedscope read them.
//!
//! The format has no escapes, so three things in names are changed: `;` becomes `:`; where a name ends in a blank and a
//! number, that blank becomes `_`, because readers would take it for a second count; an empty name becomes `[unnamed]`.
//! Other blanks stay, as in `operator new(unsigned long)`: readers take what is before the last blank as the stack.

use std::{borrow::Cow, io::Write};

use bathyscope_views::{FoldedStacks, ViewError};

/// Writes folded stacks.
///
/// # Errors
/// If the output cannot be written.
pub fn write_folded(stacks: &FoldedStacks, out: &mut dyn Write) -> Result<(), ViewError> {
    for stack in stacks.iter() {
        for (level, (name, _)) in stack.frames.iter().enumerate() {
            let separator = if level == 0 { "" } else { ";" };
            write!(out, "{separator}{}", frame(name)).map_err(ViewError::Write)?;
        }
        writeln!(out, " {}", stack.samples).map_err(ViewError::Write)?;
    }
    Ok(())
}

/// A name as a frame of a folded stack.
pub(crate) fn frame(name: &str) -> Cow<'_, str> {
    if name.trim().is_empty() {
        return Cow::Borrowed("[unnamed]");
    }
    let mut frame = Cow::Borrowed(name);
    if frame.contains(';') {
        frame = Cow::Owned(frame.replace(';', ":"));
    }
    let number = |tail: &str| tail.chars().all(|c| c.is_numeric() || c == '.');
    if let Some((head, tail)) = frame.rsplit_once(char::is_whitespace).filter(|(_, tail)| number(tail)) {
        frame = Cow::Owned(format!("{head}_{tail}"));
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_be_taken_for_frames_or_counts() {
        let cases = [
            ("main", "main"),
            ("operator new(unsigned long)", "operator new(unsigned long)"),
            ("a;b; c", "a:b: c"),
            ("worker 12", "worker_12"),
            ("a 1 2 3.5", "a 1 2_3.5"),
            ("x\u{a0}7", "x_7"),
            ("ends ", "ends_"),
            ("", "[unnamed]"),
            ("  ", "[unnamed]"),
        ];
        for (name, expected) in cases {
            assert_eq!(frame(name), expected, "{name:?}");
        }
    }
}
