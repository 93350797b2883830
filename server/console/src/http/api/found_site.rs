//! A place that the probe builder finds, and source lines as such.

use bathyscope_builder::site_part;
use bathyscope_capture::visible;
use bathyscope_link::inventory::{KernelLineSite, LineSite};
use serde::Serialize;

/// A place that can be probed, or a program that has some.
#[derive(Serialize)]
pub(super) struct FoundSite {
    /// As the language writes it; empty for a program.
    pub(super) site: String,
    pub(super) kind: &'static str,
    pub(super) title: &'static str,
    pub(super) name: String,
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    pub(super) within: Option<String>,
    pub(super) note: String,
    pub(super) prototype: String,
    pub(super) works: bool,
    /// The program whose functions and markers are to be looked for; empty for a place.
    pub(super) file: String,
}

/// A source file and a line, where that is what is looked for: `work.c:12`, or `work.c:` for its first line.
pub(super) fn source_line(query: &str) -> Option<(&str, u32)> {
    let (source, line) = query.trim().rsplit_once(':')?;
    let (name, ending) = source.rsplit_once('.')?;
    let is_ending =
        (1..=4).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+');
    let is_source = !name.is_empty() && is_ending && !source.contains(char::is_whitespace);
    let line = if line.is_empty() { Some(1) } else { line.parse().ok() }?;
    is_source.then_some((source, line))
}

/// The place of a source line.
pub(super) fn line_site(site: LineSite) -> FoundSite {
    let LineSite { source, line, path, function, raw, offset } = site;
    let place = if offset == 0 { raw } else { format!("{raw}+{offset}") };
    let file = source.rsplit('/').next().unwrap_or_default();
    let name = format!("{file}:{line}");
    let note = match offset {
        0 => format!("where {function} begins, {source}"),
        _ => format!("{offset} bytes within {function}, {source}"),
    };
    FoundSite {
        site: format!("uprobe:{}:{}", site_part(&path), site_part(&place)),
        kind: "line",
        title: "Source lines",
        name: visible(name.as_bytes()),
        within: Some(visible(path.as_bytes())),
        note: visible(note.as_bytes()),
        prototype: String::new(),
        works: true,
        file: String::new(),
    }
}

/// The place of a source line of the kernel.
pub(super) fn kernel_line_site(site: KernelLineSite) -> FoundSite {
    let KernelLineSite { source, line, function, offset } = site;
    let file = source.rsplit('/').next().unwrap_or_default();
    let name = format!("{file}:{line}");
    let (place, note) = match offset {
        0 => (function.clone(), format!("where {function} begins, {source}")),
        _ => (format!("{function}+{offset}"), format!("{offset} bytes within {function}, {source}")),
    };
    FoundSite {
        site: format!("kprobe:{}", site_part(&place)),
        kind: "line",
        title: "Source lines",
        name: visible(name.as_bytes()),
        within: None,
        note: visible(note.as_bytes()),
        prototype: String::new(),
        works: true,
        file: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_lines_are_told_from_names() {
        let cases = [
            ("work.c:12", Some(("work.c", 12))),
            (" src/main.rs: ", Some(("src/main.rs", 1))),
            ("/usr/src/a.cpp:7", Some(("/usr/src/a.cpp", 7))),
            ("std::vector", None),
            ("main.(*server).run", None),
            ("libc:setjmp", None),
            ("a b.c:1", None),
            ("work.c", None),
            ("work.c:x", None),
        ];
        for (query, expected) in cases {
            assert_eq!(source_line(query), expected, "{query}");
        }
    }
}
