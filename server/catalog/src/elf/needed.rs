//! What a program is loaded with: its libraries and the dynamic linker.

use super::{ElfFile, file::number};

const SHT_DYNAMIC: u32 = 6;
const DT_NEEDED: u64 = 1;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
/// The most libraries, and folders, of one file.
const MAX_NAMES: usize = 512;
/// The longest name of one.
const MAX_NAME_BYTES: usize = 4096;

/// What a file says of its libraries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needed {
    /// The names of libraries, such as `libc.so.6`.
    pub libraries: Vec<String>,
    /// Where to look for them first: folders, which may begin with `$ORIGIN`, the file's own.
    pub folders: Vec<String>,
    /// The path of the dynamic linker, if it is a program that has one.
    pub linker: Option<String>,
}

impl ElfFile<'_> {
    /// The libraries that the file is loaded with. What is damaged is left out.
    pub fn needed(&self) -> Needed {
        let mut needed = Needed { linker: self.linker(), ..Needed::default() };
        let Some(section) = self.sections().find(|section| section.kind == SHT_DYNAMIC) else { return needed };
        let strings = self.section_at(section.link).and_then(|strings| self.content(strings, "its names").ok());
        let (Some(strings), Ok(content)) = (strings, self.content(section, "its dynamic section")) else {
            return needed;
        };
        for entry in content.as_chunks::<16>().0 {
            let (tag, value) = (number(entry, 0, 8).unwrap_or(0), number(entry, 8, 8).unwrap_or(0));
            let Some(text) = usize::try_from(value).ok().and_then(|at| text(strings.get(at..)?)) else { continue };
            match tag {
                DT_NEEDED if needed.libraries.len() < MAX_NAMES => needed.libraries.push(text),
                DT_RPATH | DT_RUNPATH if needed.folders.len() < MAX_NAMES => {
                    let folders = text.split(':').filter(|folder| !folder.is_empty());
                    needed.folders.extend(folders.take(MAX_NAMES).map(str::to_owned));
                }
                _ => {}
            }
        }
        needed
    }

    fn linker(&self) -> Option<String> {
        let section = self.section(b".interp").filter(|section| section.bytes <= MAX_NAME_BYTES as u64)?;
        text(&self.content(section, "its dynamic linker").ok()?)
    }
}

/// Text up to its NUL.
fn text(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().take(MAX_NAME_BYTES).position(|byte| *byte == 0)?;
    String::from_utf8(bytes.get(..end)?.to_vec()).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_program_names_its_libraries_and_linker() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let needed = ElfFile::parse(&own).unwrap().needed();
        assert!(needed.libraries.iter().any(|name| name.starts_with("libc.so")), "{needed:?}");
        assert!(needed.linker.is_some_and(|path| path.starts_with('/')));
        assert_eq!(text(b"no end"), None);
    }
}
