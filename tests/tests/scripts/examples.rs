//! What tools print of their workloads, kept as examples for their pages: `tests/tool-examples` has it recorded in the lab, where
//! nothing else runs.

use std::{fs, path::PathBuf};

use bathyscope_tests::workspace::root;

use crate::{cases::Case, places::Place};

/// Lines before and behind the first one that a case wants.
const BEFORE: usize = 3;
const LINES: usize = 14;
/// The longest line.
const MAX_CHARS: usize = 118;

/// Keeps the part of an output that a case is about, if that is asked for.
pub(crate) fn keep(case: &Case, wants: &[String], out: &str, place: &Place) {
    let Some(folder) = std::env::var_os("BATHYSCOPE_TOOL_EXAMPLES").map(PathBuf::from) else { return };
    // Where it was recorded is of no interest.
    let out = out.replace(&place.filled("{folder}"), "/data").replace(&place.filled("{work}"), "/usr/bin/work");
    let out = out.replace(&root().display().to_string(), "/src");
    let text = excerpt(wants, &out);
    fs::write(folder.join(case.name).with_extension("txt"), text).expect("an example");
}

fn excerpt(wants: &[String], out: &str) -> String {
    let lines: Vec<&str> = out.lines().map(str::trim_end).collect();
    let wanted = wants.first().and_then(|want| want.split([' ', '>']).find(|part| part.len() > 2)).unwrap_or_default();
    let first = lines.iter().position(|line| line.contains(wanted)).unwrap_or(0);
    let is_header = |line: &str| line.starts_with("TIME") || line.starts_with("PID");
    let header = lines.iter().take(first).position(|line| is_header(line));
    // A map's entry begins with its name, and what stands before it is the end of another one.
    let before = if lines.get(first).is_some_and(|line| line.starts_with('@')) { 0 } else { BEFORE };
    let begin = first.saturating_sub(before).max(header.map_or(0, |at| at + 1));
    let shown = header.into_iter().chain(begin..lines.len()).filter_map(|at| lines.get(at));
    let shown = shown.skip_while(|line| line.is_empty()).take(LINES);
    let mut text = String::new();
    for line in shown.map(|line| line.replace('\t', "    ")) {
        let cut: String = line.chars().take(MAX_CHARS).collect();
        text.push_str(&cut);
        if cut.len() < line.len() {
            text.push('…');
        }
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}
