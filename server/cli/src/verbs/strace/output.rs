//! Where lines go: standard error, a file, or a file for each thread.

use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    fs::{File, OpenOptions},
    io::{BufWriter, ErrorKind, Write},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use bathyscope_capture::visible;

use crate::{Failure, verbs::file_maker::FileMaker};

/// The most files that are open at once; others are opened again when something is to be written.
const MAX_OPEN: usize = 256;

/// Where lines go.
pub(super) enum LineOutput {
    /// All to one.
    One(Box<dyn Write>),
    /// Those of each thread to a file of its own, with its id behind the name.
    Each {
        path: PathBuf,
        /// What makes the files where this process gives up the rights to do so.
        maker: Option<FileMaker>,
        open: HashMap<u64, BufWriter<File>>,
        /// Threads whose files have been begun.
        begun: std::collections::HashSet<u64>,
        append: bool,
    },
}

fn failed(path: &Path, error: std::io::Error) -> Failure {
    let is_link = error.raw_os_error() == Some(libc::ELOOP);
    let failure = Failure::because(format!("writing {}", visible(path.as_os_str().as_bytes())), error);
    if is_link {
        failure.remedy("It is a link, which is not followed here: remove it, or choose another name.")
    } else {
        failure
    }
}

/// What makes files beside `path`, as root; anybody else keeps the right to do so.
fn maker(path: &Path, append: bool) -> Result<Option<FileMaker>, Failure> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let Some(name) = path.file_name() else {
        return Err(Failure::new(format!("-o {} names no file", visible(path.as_os_str().as_bytes()))));
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let open = File::open(folder)
        .and_then(|file| if file.metadata()?.is_dir() { Ok(file) } else { Err(ErrorKind::NotADirectory.into()) });
    let folder = open.map_err(|error| failed(folder, error))?;
    FileMaker::start(folder.into(), &name.to_owned(), append).map(Some)
}

fn opened(path: &Path, append: bool) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).append(append).truncate(!append);
    options.open(path).map_err(|error| failed(path, error))
}

impl LineOutput {
    /// Opens it.
    pub(super) fn open(path: Option<&Path>, separately: bool, append: bool, json: bool) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Self::One(if json { Box::new(std::io::stdout()) } else { Box::new(std::io::stderr()) }));
        };
        let text = path.as_os_str().as_bytes();
        if text.starts_with(b"|") || text.starts_with(b"!") {
            let why = format!("-o {}: lines are not written to a program", visible(text));
            return Err(Failure::new(why).remedy("Write them to a file, or to a pipe with -o /dev/stdout."));
        }
        if separately {
            let (open, begun) = (HashMap::new(), std::collections::HashSet::new());
            return Ok(Self::Each { path: path.to_owned(), maker: maker(path, append)?, open, begun, append });
        }
        Ok(Self::One(Box::new(BufWriter::new(opened(path, append)?))))
    }

    /// Writes lines of a thread. Says whether anybody reads them.
    pub(super) fn put(&mut self, tid: u64, text: &str) -> Result<bool, Failure> {
        let written = match self {
            Self::One(to) => to.write_all(text.as_bytes()).and_then(|()| to.flush()),
            Self::Each { path, maker, open, begun, append } => {
                if text.is_empty() {
                    return Ok(true);
                }
                if open.len() >= MAX_OPEN {
                    // Closing one writes what it holds.
                    open.clear();
                }
                let mut name = path.clone().into_os_string();
                name.push(format!(".{tid}"));
                let file = match open.entry(tid) {
                    std::collections::hash_map::Entry::Occupied(file) => file.into_mut(),
                    std::collections::hash_map::Entry::Vacant(room) => {
                        let again = !begun.insert(tid);
                        let file = match maker {
                            Some(maker) => maker.open(tid, again).map_err(|error| failed(Path::new(&name), error))?,
                            None => opened(Path::new(&name), *append || again)?,
                        };
                        room.insert(BufWriter::new(file))
                    }
                };
                file.write_all(text.as_bytes()).and_then(|()| file.flush())
            }
        };
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Failure::because("printing calls", error)),
        }
    }

    /// Whether each thread has a file of its own.
    pub(super) fn is_separate(&self) -> bool {
        matches!(self, Self::Each { .. })
    }
}

/// A variable and its value; none if it is to be removed.
pub(super) fn variable(text: &OsStr) -> Result<(OsString, Option<OsString>), Failure> {
    let bytes = text.as_bytes();
    let (name, value) = match bytes.iter().position(|byte| *byte == b'=') {
        Some(at) => {
            let (name, rest) = bytes.split_at(at);
            (name, Some(OsStr::from_bytes(rest.get(1..).unwrap_or_default()).to_owned()))
        }
        None => (bytes, None),
    };
    if name.is_empty() {
        return Err(
            Failure::new(format!("-E `{}` names no variable", visible(bytes))).remedy("Write NAME=VALUE, or NAME.")
        );
    }
    Ok((OsStr::from_bytes(name).to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_set_and_removed() {
        let of = |text: &str| variable(OsStr::new(text)).ok();
        let made = |name: &str, value: Option<&str>| Some((OsString::from(name), value.map(OsString::from)));
        assert_eq!(of("A=b=c"), made("A", Some("b=c")));
        assert_eq!(of("A="), made("A", Some("")));
        assert_eq!(of("A"), made("A", None));
        assert_eq!((of("=x"), of("")), (None, None));
    }

    #[test]
    fn each_thread_has_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls");
        let each = |append| LineOutput::Each {
            path: path.clone(),
            maker: None,
            open: HashMap::new(),
            begun: std::collections::HashSet::new(),
            append,
        };
        let read = |tid: u64| std::fs::read_to_string(folder.path().join(format!("calls.{tid}"))).unwrap();
        let mut sink = each(false);
        for tid in 0..600_u64 {
            sink.put(tid, &format!("first of {tid}\n")).unwrap();
        }
        sink.put(3, "second\n").unwrap();
        drop(sink);
        assert_eq!((read(3).as_str(), read(599).as_str()), ("first of 3\nsecond\n", "first of 599\n"));
        let mut sink = each(true);
        sink.put(3, "third\n").unwrap();
        assert_eq!(read(3), "first of 3\nsecond\nthird\n");
        let mut sink = each(false);
        sink.put(3, "anew\n").unwrap();
        assert_eq!(read(3), "anew\n");
        assert!(LineOutput::open(Some(Path::new("|cat")), false, false, false).is_err());
    }
}
