//! Things of a library as text files, one for each, so that a team keeps them in a repository: a head of comments, a blank line, and
//! the text as it is used.

use bathyscope_store::{LibraryItem, LibraryKind};

/// The longest file.
const MAX_FILE_BYTES: usize = 128 << 10;
const TITLE: &str = "bathyscope";

/// What a file has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryFile {
    /// What it is.
    pub kind: LibraryKind,
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Whether everybody may read and use it.
    pub shared: bool,
    /// Its text.
    pub text: String,
}

impl From<&LibraryItem> for LibraryFile {
    fn from(LibraryItem { entry, text }: &LibraryItem) -> Self {
        Self {
            kind: entry.kind,
            name: entry.name.clone(),
            description: entry.description.clone(),
            tags: entry.tags.clone(),
            shared: entry.shared,
            text: text.clone(),
        }
    }
}

/// A file that is none of the library's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file is none of a library: {why}")]
pub struct FileError {
    why: String,
}

fn refuse(why: impl Into<String>) -> FileError {
    FileError { why: why.into() }
}

/// How comments begin in texts of a kind. JSON has none; there the head is taken off before it is read.
const fn comment(kind: LibraryKind) -> &'static str {
    match kind {
        LibraryKind::Script => "//",
        LibraryKind::Query => "--",
        LibraryKind::Probe
        | LibraryKind::Recipe
        | LibraryKind::Filter
        | LibraryKind::Selection
        | LibraryKind::Search => "#",
    }
}

/// The name of a file for something: its name and kind, with no character that a file system or a shell takes for another.
pub fn file_name(kind: LibraryKind, name: &str) -> String {
    let end = match kind {
        LibraryKind::Script => "bt",
        LibraryKind::Query => "sql",
        LibraryKind::Recipe => "recipe",
        LibraryKind::Probe => "probe",
        LibraryKind::Filter => "filter",
        LibraryKind::Selection => "selection",
        LibraryKind::Search => "search",
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '.' };
    format!("{}.{end}", name.chars().map(plain).collect::<String>())
}

/// The file of something.
pub fn file_text(file: &LibraryFile) -> String {
    let LibraryFile { kind, name, description, tags, shared, text } = file;
    let mark = comment(*kind);
    let mut out = format!("{mark} {TITLE} {}\n{mark} name: {name}\n", kind.as_str());
    if !description.is_empty() {
        out.push_str(&format!("{mark} description: {description}\n"));
    }
    if !tags.is_empty() {
        out.push_str(&format!("{mark} tags: {}\n", tags.join(" ")));
    }
    out.push_str(&format!("{mark} shared: {}\n\n{}\n", if *shared { "yes" } else { "no" }, text.trim_end()));
    out
}

/// Reads a file.
///
/// # Errors
/// Why it is none of a library.
pub fn read_file(text: &str) -> Result<LibraryFile, FileError> {
    if text.len() > MAX_FILE_BYTES {
        return Err(refuse(format!("it has {} bytes, and at most {MAX_FILE_BYTES} are read", text.len())));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let first = text.lines().next().unwrap_or_default();
    let title = first.trim_start_matches(['#', '/', '-']).trim();
    let kind = title.strip_prefix(TITLE).map(str::trim).ok_or_else(|| {
        refuse("its first line must say what it is, such as `# bathyscope probe`, `// bathyscope script` or `-- bathyscope query`")
    })?;
    let kind: LibraryKind = kind.parse().map_err(|error| refuse(format!("its first line says: {error}")))?;
    let mut file = LibraryFile {
        kind,
        name: String::new(),
        description: String::new(),
        tags: Vec::new(),
        shared: false,
        text: String::new(),
    };
    let mut rest = text.split_inclusive('\n').skip(1);
    for line in rest.by_ref() {
        if line.trim().is_empty() {
            break;
        }
        head_line(&mut file, line.trim())?;
    }
    file.text = rest.collect::<String>().trim_end().to_owned();
    if file.name.is_empty() {
        return Err(refuse("its head has no line `name: …`"));
    }
    Ok(file)
}

fn head_line(file: &mut LibraryFile, line: &str) -> Result<(), FileError> {
    let Some(line) = line.strip_prefix(comment(file.kind)).map(str::trim) else {
        return Err(refuse("a blank line is missing between its head and its text"));
    };
    let (name, value) = line.split_once(':').map(|(name, value)| (name.trim(), value.trim())).unwrap_or((line, ""));
    match name {
        "name" => value.clone_into(&mut file.name),
        "description" => value.clone_into(&mut file.description),
        "tags" => file.tags = value.split_whitespace().map(str::to_owned).collect(),
        "shared" if value == "yes" || value == "no" => file.shared = value == "yes",
        _ => {
            let line = bathyscope_capture::visible(line.as_bytes()).chars().take(80).collect::<String>();
            return Err(refuse(format!(
                "its head says `{line}`; it may have name, description, tags, and shared: yes or no"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_is_readable() {
        let file = LibraryFile {
            kind: LibraryKind::Probe,
            name: "probe:vfs_read".to_owned(),
            description: "Reads: of files".to_owned(),
            tags: vec!["fs".to_owned(), "vfs".to_owned()],
            shared: true,
            text: "vfs_read count".to_owned(),
        };
        let text = file_text(&file);
        assert_eq!(
            text,
            "# bathyscope probe\n# name: probe:vfs_read\n# description: Reads: of files\n# tags: fs vfs\n# shared: yes\n\nvfs_read count\n"
        );
        assert_eq!(read_file(&text), Ok(file));
        assert_eq!(file_name(LibraryKind::Probe, "probe:vfs_read"), "probe.vfs_read.probe");
        let crlf = text.replace('\n', "\r\n");
        assert_eq!(read_file(&crlf).unwrap().text, "vfs_read count");
    }

    #[test]
    fn other_files_are_refused_in_words() {
        for (text, part) in [
            ("", "first line"),
            ("#!/usr/bin/env bpftrace\n", "first line"),
            ("# bathyscope spell\n", "is no kind"),
            ("# bathyscope probe\n\nvfs_read\n", "no line `name: …`"),
            ("# bathyscope probe\n# name: x\nvfs_read\n", "blank line is missing"),
            ("# bathyscope probe\n# owner: eve\n\nvfs_read\n", "its head says `owner: eve`"),
            ("# bathyscope probe\n# shared: maybe\n\nx\n", "its head says"),
        ] {
            let error = read_file(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            kind in proptest::sample::select(LibraryKind::ALL.to_vec()),
            name in "[a-z][a-z0-9._-]{0,20}",
            description in "([a-zA-Z#][a-zA-Z :#/-]{0,30}[a-z])?",
            tags in proptest::collection::vec("[a-z0-9-]{1,8}", 0..4),
            shared in any::<bool>(),
            text in "[ -~]([ -~\n]{0,80}[!-~])?",
        ) {
            let text = text.trim_end().to_owned();
            let file = LibraryFile { kind, name, description, tags, shared, text };
            prop_assert_eq!(read_file(&file_text(&file)), Ok(file));
        }

        #[test]
        fn no_text_breaks_it(text in "(# bathyscope probe\n)?[ -~\n:]{0,60}") {
            let _read_or_not = read_file(&text);
        }
    }
}
