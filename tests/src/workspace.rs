//! The project's files.

use std::{
    fs,
    path::{Path, PathBuf},
};

const NOT_SOURCES: [&str; 4] = ["target", "node_modules", ".git", ".cache"];

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the workspace").to_owned()
}

/// A text file of the project.
#[derive(Debug)]
pub struct Source {
    /// Its path below the root, with `/`.
    pub path: String,
    /// What is in it.
    pub text: String,
}

impl Source {
    /// Its lines with their numbers from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// All files below `folder` (of the root) whose name ends in one of `endings`, without what was built or installed.
pub fn sources(folder: &str, endings: &[&str]) -> Vec<Source> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.expect("a readable folder").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() {
                if !NOT_SOURCES.contains(&name) {
                    folders.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                let path = path.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
                found.push(Source { path, text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The built binary: `BATHYSCOPE_BIN`, or the one of the same build as this test.
///
/// # Panics
/// If it has not been built.
pub fn binary() -> PathBuf {
    let path = std::env::var_os("BATHYSCOPE_BIN").map_or_else(
        || {
            let test = std::env::current_exe().expect("this test has a path");
            let profile = test.ancestors().nth(2).expect("it is in target/PROFILE/deps");
            profile.join("bathyscope")
        },
        PathBuf::from,
    );
    assert!(path.exists(), "{} does not exist; build it with `cargo build -p bathyscope`", path.display());
    path
}
