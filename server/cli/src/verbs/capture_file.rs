//! The file that a verb writes its capture to, as `captures import` reads it.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use bathyscope_capture::CaptureId;
use bathyscope_reader::export;
use bathyscope_store::Store;

use crate::Failure;

/// A file that is opened before the capture is made, and written when that has ended.
#[derive(Debug)]
pub(super) struct CaptureFile {
    path: PathBuf,
    /// None is standard output.
    file: Option<File>,
    /// Whether it was there before.
    existed: bool,
}

impl CaptureFile {
    /// Opens a file; `-` is standard output. What it held stays until there is something to write.
    ///
    /// # Errors
    /// If it cannot be written, or standard output is a terminal.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            if io::IsTerminal::is_terminal(&io::stdout()) {
                let failure =
                    Failure::new("writing the capture to standard output: it is a terminal, and the file is binary");
                return Err(failure.remedy("Redirect it, write it into a pipe, or give the name of a file."));
            }
            return Ok(Self { path: path.to_owned(), file: None, existed: true });
        }
        let doing = |error| {
            Failure::because(format!("opening {} to write the capture", path.display()), error)
                .remedy("Give the name of a file in a folder that you may write into, or `-`.")
        };
        let existed = path.try_exists().map_err(doing)?;
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path).map_err(doing)?;
        Ok(Self { path: path.to_owned(), file: Some(file), existed })
    }

    /// Whether it is standard output.
    pub(super) fn is_stdout(&self) -> bool {
        self.file.is_none()
    }

    /// Writes the capture, and says so.
    ///
    /// # Errors
    /// If it cannot be written; then nothing of it is left.
    #[expect(clippy::print_stderr, reason = "standard output is for functions, rows, or the file itself")]
    pub(super) async fn write(&self, store: &Store, id: CaptureId, directory: &Path) -> Result<(), Failure> {
        let doing = || format!("writing the capture to {}", self.path.display());
        let whole = export::whole_file(store, id, directory).await;
        let mut whole = whole.map_err(|error| Failure::because(doing(), error))?;
        let written = match &self.file {
            None => copy(&mut whole, &mut io::stdout().lock()),
            Some(file) => file.set_len(0).and_then(|()| copy(&mut whole, &mut &*file)),
        };
        match (written, &self.file) {
            // Whoever reads has seen enough.
            (Err(error), None) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            (Err(error), file) => {
                if let Some(file) = file {
                    // A part of a capture must not be taken for the whole.
                    let _kept = file.set_len(0);
                }
                Err(Failure::because(doing(), error))
            }
            (Ok(_), None) => Ok(()),
            (Ok(bytes), Some(_)) => {
                let path = self.path.display();
                eprintln!("{path}: {bytes} bytes written; `bathyscope captures import {path}` opens it");
                Ok(())
            }
        }
    }
}

impl Drop for CaptureFile {
    fn drop(&mut self) {
        let is_empty = self.file.as_ref().is_some_and(|file| file.metadata().is_ok_and(|it| it.len() == 0));
        if is_empty && !self.existed {
            // Nothing was recorded. Without the rights that the file was made with it stays, empty.
            let _stays = std::fs::remove_file(&self.path);
        }
    }
}

fn copy(from: &mut File, to: &mut impl Write) -> io::Result<u64> {
    let bytes = io::copy(from, to)?;
    to.flush()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_left_as_it_was_where_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bathy");
        drop(CaptureFile::open(&path).unwrap());
        assert!(!path.exists());
        std::fs::write(&path, b"something").unwrap();
        drop(CaptureFile::open(&path).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"something");
        let error = CaptureFile::open(&folder.path().join("none/a.bathy")).unwrap_err().report();
        assert!(error.contains("none/a.bathy") && error.contains("Give the name"), "{error}");
    }
}
