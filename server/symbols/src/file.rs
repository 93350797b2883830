//! Names from ELF files, through the descriptor of the very file that was mapped.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::Write,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    },
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
};

use bathyscope_capture::{MAX_CODE_BYTES, Machine, Symbol, SymbolLine};
use blazesym::symbolize::{
    Input, Sym, Symbolized, Symbolizer,
    source::{Elf, Source},
};

use crate::{ElfError, build_id_text, compressed::decompressed_bytes, elf_build_id, elf_code_at};

/// The longest name of a function or source file that is kept.
const MAX_NAME_BYTES: usize = 4096;
/// The most inlined functions that are kept of one place.
const MAX_INLINED: usize = 64;
/// The longest instruction of any machine, in bytes.
const LONGEST_INSTRUCTION: u64 = 16;
/// Bytes copied at a time.
const COPY_BYTES: usize = 1 << 20;
/// Sections that name other files by path; a copy does not have them. A copy is made of files that somebody else can
/// change, and what such a file names (a pipe, say) is not to be opened.
const LINK_SECTIONS: [&[u8]; 2] = [b".gnu_debuglink\0", b".gnu_debugaltlink\0"];

/// How files are read.
#[derive(Clone, Debug)]
pub struct FileOptions {
    /// A private directory for copies of files that cannot be read in place.
    pub private_dir: PathBuf,
    /// The largest file, in bytes.
    pub max_file_bytes: u64,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Offset in the file.
    pub offset: u64,
    /// Whether it is where a call returns to, so that the call is the byte before it.
    pub is_return: bool,
}

/// The instructions of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionBytes {
    /// For which machine.
    pub machine: Machine,
    /// Address of the first byte as the file counts.
    pub address: u64,
    /// The whole length in bytes; 0 where the symbols do not tell.
    pub length: u64,
    /// The first bytes, at most [`MAX_CODE_BYTES`].
    pub bytes: Vec<u8>,
}

/// Why a file gave no names.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is not the file that was mapped.
    #[error("the file is not the one that was recorded: its build id is {found}, not {recorded}")]
    OtherFile {
        /// Its build id in hexadecimal, or `none`.
        found: String,
        /// The recorded one.
        recorded: String,
    },
    /// It is not an ELF file.
    #[error("no symbols can be read")]
    Elf(#[from] ElfError),
    /// There is no code at that place.
    #[error("no code of the file is loaded from offset {offset:#x}")]
    NoCode {
        /// Where.
        offset: u64,
    },
    /// It is too large.
    #[error("the file has {bytes} bytes; the limit is {limit}")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// It is not a regular file.
    #[error("it is not a regular file")]
    NotRegular,
    /// Reading or copying failed.
    #[error("{doing} failed")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// The symbols or the debug information could not be read.
    #[error("its symbols or debug information are damaged")]
    Damaged,
}

/// Resolves places in files. It keeps what it has read of a file, by build id, until it is dropped; it cannot leave its
/// thread.
pub struct FileResolver {
    options: FileOptions,
    uid: u32,
    read: HashMap<Vec<u8>, (PathBuf, Symbolizer)>,
    copies: u64,
}

impl std::fmt::Debug for FileResolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileResolver").field("options", &self.options).field("files", &self.read.len()).finish()
    }
}

impl FileResolver {
    /// A resolver that has read nothing yet. `uid` is the user that this process runs as.
    pub fn new(options: FileOptions, uid: u32) -> Self {
        Self { options, uid, read: HashMap::new(), copies: 0 }
    }

    /// The build id of an open file; empty if it has none.
    ///
    /// # Errors
    /// If it is not an ELF file or cannot be read.
    pub fn build_id(file: impl AsFd) -> Result<Vec<u8>, FileError> {
        let file = duplicate(file)?;
        let metadata = file.metadata().map_err(|source| FileError::Io { doing: "looking at a mapped file", source })?;
        if !metadata.is_file() {
            return Err(FileError::NotRegular);
        }
        Ok(elf_build_id(|offset, buffer| file.read_exact_at(buffer, offset).is_ok())?)
    }

    /// The symbols at `places` of the file behind `descriptor`, in their order; none where there is no name.
    ///
    /// `recorded` is the build id that the capture recorded, empty where it recorded none.
    ///
    /// # Errors
    /// If the file is another one, is no ELF file, is too large or damaged, or cannot be read.
    pub fn resolve(
        &mut self,
        descriptor: &OwnedFd,
        recorded: &[u8],
        places: &[Place],
    ) -> Result<Vec<Option<Symbol>>, FileError> {
        self.with(descriptor, recorded, |symbolizer, path| symbols_of(symbolizer, path, places))
    }

    /// The instructions of the function that begins at offset `start` of the file behind `descriptor` and reaches at least
    /// to `last`. Where symbols do not tell its length, it is taken for that long.
    ///
    /// # Errors
    /// As [`FileResolver::resolve`], and if there is no code at the place.
    pub fn function(
        &mut self,
        descriptor: &OwnedFd,
        recorded: &[u8],
        start: u64,
        last: u64,
    ) -> Result<FunctionBytes, FileError> {
        let length = self.with(descriptor, recorded, |symbolizer, path| length_of(symbolizer, path, start, last))?;
        let file = duplicate(descriptor)?;
        let segment = elf_code_at(start, |offset, buffer| file.read_exact_at(buffer, offset).is_ok())?;
        let segment = segment.ok_or(FileError::NoCode { offset: start })?;
        let reached = last.saturating_sub(start).saturating_add(LONGEST_INSTRUCTION);
        let left = segment.offset.saturating_add(segment.size).saturating_sub(start);
        let wanted = if length == 0 { reached } else { length }.min(left).min(MAX_CODE_BYTES as u64);
        let mut bytes = vec![0; usize::try_from(wanted).unwrap_or(0)];
        let io = |source| FileError::Io { doing: "reading instructions", source };
        file.read_exact_at(&mut bytes, start).map_err(io)?;
        let address = segment.address.wrapping_add(start - segment.offset);
        Ok(FunctionBytes { machine: segment.machine, address, length, bytes })
    }

    /// Does something with the symbols of a file, which are read once.
    fn with<T>(
        &mut self,
        descriptor: &OwnedFd,
        recorded: &[u8],
        find: impl FnOnce(&Symbolizer, &Path) -> Result<T, FileError>,
    ) -> Result<T, FileError> {
        let found = Self::build_id(descriptor)?;
        if !recorded.is_empty() && found != recorded {
            let found = if found.is_empty() { "none".to_owned() } else { build_id_text(&found) };
            return Err(FileError::OtherFile { found, recorded: build_id_text(recorded) });
        }
        let key = self.key(descriptor, found)?;
        let (path, symbolizer) = match self.read.remove(&key) {
            Some(read) => read,
            None => self.open(descriptor)?,
        };
        let found = find(&symbolizer, &path);
        if found.is_ok() {
            self.read.insert(key, (path, symbolizer));
        }
        found
    }

    /// The build id, or for files without one what tells them apart.
    fn key(&self, descriptor: &OwnedFd, build_id: Vec<u8>) -> Result<Vec<u8>, FileError> {
        if !build_id.is_empty() {
            return Ok(build_id);
        }
        let file = duplicate(descriptor)?;
        let about = file.metadata().map_err(|source| FileError::Io { doing: "looking at a mapped file", source })?;
        let numbers = [about.dev(), about.ino(), about.size(), about.mtime().cast_unsigned()];
        // Longer than any build id, so that it is never taken for one.
        Ok(numbers.iter().flat_map(|number| number.to_le_bytes()).chain([0; 64]).collect())
    }

    /// A symboliser and the path that it reads. A file that only root or we can change is read in place; of others
    /// there is a private copy, because a file that shrinks while it is mapped would end this process.
    fn open(&mut self, descriptor: &OwnedFd) -> Result<(PathBuf, Symbolizer), FileError> {
        let file = duplicate(descriptor)?;
        let about = file.metadata().map_err(|source| FileError::Io { doing: "looking at a mapped file", source })?;
        let limit = self.options.max_file_bytes;
        if about.size() > limit {
            return Err(FileError::TooLarge { bytes: about.size(), limit });
        }
        let ours = about.uid() == 0 || about.uid() == self.uid;
        let in_place = PathBuf::from(format!("/proc/self/fd/{}", descriptor.as_raw_fd()));
        let builder = Symbolizer::builder().enable_auto_reload(false);
        if ours && about.mode() & 0o022 == 0 && File::open(&in_place).is_ok() {
            check_sections(&file, limit)?;
            let symbolizer = builder.build();
            read_now(&symbolizer, &in_place)?;
            return Ok((in_place, symbolizer));
        }
        let symbolizer = builder.set_debug_dirs(Some(std::iter::empty::<&Path>())).build();
        let copy = self.copy(&file, about.size())?;
        // Of the copy, as nobody else can change that.
        let io = |source| FileError::Io { doing: "opening the copy of a mapped file", source };
        let checked = File::open(&copy).map_err(io).and_then(|copy| check_sections(&copy, limit));
        let read = checked.and_then(|()| read_now(&symbolizer, &copy));
        // What was read stays mapped without its name.
        if let Err(error) = std::fs::remove_file(&copy) {
            tracing::warn!(%error, "a private copy of a mapped file could not be removed");
        }
        read.map(|()| (copy, symbolizer))
    }

    /// Copies the file into the private directory, under a name of our own.
    fn copy(&mut self, from: &File, bytes: u64) -> Result<PathBuf, FileError> {
        self.copies += 1;
        let path = self.options.private_dir.join(format!("symbols-{}-{}.elf", std::process::id(), self.copies));
        let io = |source| FileError::Io { doing: "copying a mapped file", source };
        let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(io)?;
        let copied = copy_without_links(from, &mut to, bytes).map_err(io);
        if copied.is_err() {
            let _the_first_error_is_told = std::fs::remove_file(&path);
        }
        copied.map(|()| path)
    }
}

fn duplicate(descriptor: impl AsFd) -> Result<File, FileError> {
    let copy = descriptor.as_fd().try_clone_to_owned();
    copy.map(File::from).map_err(|source| FileError::Io { doing: "duplicating a descriptor", source })
}

/// Copies `bytes` bytes and spoils the names of sections that name other files. Names that lie across two pieces are
/// found too: each piece begins with the end of the one before.
fn copy_without_links(from: &File, to: &mut impl Write, bytes: u64) -> std::io::Result<()> {
    let longest = LINK_SECTIONS.iter().map(|name| name.len()).max().unwrap_or(0);
    let mut piece: Vec<u8> = Vec::new();
    let mut offset = 0;
    while offset < bytes {
        let kept = piece.len();
        let wanted = usize::try_from(bytes - offset).unwrap_or(usize::MAX).min(COPY_BYTES);
        piece.resize(kept + wanted, 0);
        from.read_exact_at(piece.get_mut(kept..).unwrap_or_default(), offset)?;
        offset += wanted as u64;
        LINK_SECTIONS.iter().for_each(|name| spoil(&mut piece, name));
        let done = if offset < bytes { piece.len().saturating_sub(longest) } else { piece.len() };
        to.write_all(piece.get(..done).unwrap_or_default())?;
        piece.drain(..done);
    }
    to.flush()
}

fn spoil(bytes: &mut [u8], name: &[u8]) {
    let mut at = 0;
    while let Some(dot) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'.')) {
        at += dot;
        if bytes.get(at..).is_some_and(|rest| rest.starts_with(name))
            && let Some(byte) = bytes.get_mut(at)
        {
            *byte = b'_';
        }
        at += 1;
    }
}

/// Refuses a file that is too large when its sections are decompressed, as one that is too large without.
fn check_sections(file: &File, limit: u64) -> Result<(), FileError> {
    let bytes = decompressed_bytes(file, limit)?;
    if bytes > limit { Err(FileError::TooLarge { bytes, limit }) } else { Ok(()) }
}

/// Makes the symboliser read the file now. A panic in a parser of hostile bytes is an error of that file only.
fn read_now(symbolizer: &Symbolizer, path: &Path) -> Result<(), FileError> {
    symbols_of(symbolizer, path, &[Place { offset: 0, is_return: false }]).map(drop)
}

fn symbolized<'a>(
    symbolizer: &'a Symbolizer,
    path: &Path,
    offsets: &[u64],
    debug_syms: bool,
) -> Result<Vec<Symbolized<'a>>, FileError> {
    let source = Source::Elf(Elf { debug_syms, ..Elf::new(path) });
    let resolve = || symbolizer.symbolize(&source, Input::FileOffset(offsets));
    let found = std::panic::catch_unwind(AssertUnwindSafe(resolve)).map_err(|_panic| FileError::Damaged)?;
    found.map_err(|error| {
        tracing::debug!(%error, "a mapped file has no readable symbols");
        FileError::Damaged
    })
}

/// The length of the function that begins at `start`, found by a place in it; 0 where no symbol tells.
fn length_of(symbolizer: &Symbolizer, path: &Path, start: u64, last: u64) -> Result<u64, FileError> {
    let length = |debug_syms| {
        let found = symbolized(symbolizer, path, &[last], debug_syms)?;
        let symbol = found.first().and_then(Symbolized::as_sym);
        let same = symbol.filter(|symbol| last.checked_sub(symbol.offset as u64) == Some(start));
        Ok(same.and_then(|symbol| symbol.size).map_or(0, |size| size as u64))
    };
    match length(true) {
        Ok(length) if length > 0 => Ok(length),
        _ => length(false),
    }
}

fn symbols_of(symbolizer: &Symbolizer, path: &Path, places: &[Place]) -> Result<Vec<Option<Symbol>>, FileError> {
    let offsets: Vec<u64> =
        places.iter().map(|place| place.offset.saturating_sub(u64::from(place.is_return))).collect();
    let resolve = |debug_syms| symbolized(symbolizer, path, &offsets, debug_syms);
    // Debug information knows lines and inlined functions, but often only the last part of a function's name; the
    // symbol table has all of it. Damaged debug information does not keep the symbol table from being used.
    let plain = resolve(false);
    let Ok(detailed) = resolve(true) else {
        return Ok(plain?.iter().zip(places).map(|(found, place)| symbol(found.as_sym()?, *place)).collect());
    };
    let plain = plain.unwrap_or_default();
    let plain = plain.iter().map(Symbolized::as_sym).chain(std::iter::repeat(None));
    let both = detailed.iter().map(Symbolized::as_sym).zip(plain).zip(places);
    Ok(both.map(|((detailed, plain), place)| better(detailed, plain, *place)).collect())
}

fn better(detailed: Option<&Sym<'_>>, plain: Option<&Sym<'_>>, place: Place) -> Option<Symbol> {
    let mut symbol = symbol(detailed.or(plain)?, place)?;
    if let (Some(detailed), Some(plain)) = (detailed, plain)
        && detailed.addr == plain.addr
    {
        symbol.function = cut(&plain.name);
        if let Some(own) = symbol.lines.last_mut() {
            own.function.clone_from(&symbol.function);
        }
    }
    Some(symbol)
}

fn symbol(found: &Sym<'_>, place: Place) -> Option<Symbol> {
    if found.name.is_empty() {
        return None;
    }
    let line = |function: &str, code: Option<&blazesym::symbolize::CodeInfo<'_>>| SymbolLine {
        function: cut(function),
        file: code.map_or_else(String::new, |code| cut(&code.to_path().to_string_lossy())),
        line: code.and_then(|code| code.line).unwrap_or(0),
    };
    let own = line(&found.name, found.code_info.as_deref());
    let inlined = found.inlined.iter().rev().take(MAX_INLINED);
    let mut lines: Vec<SymbolLine> = inlined.map(|inner| line(&inner.name, inner.code_info.as_ref())).collect();
    if !lines.is_empty() || !own.file.is_empty() {
        lines.push(own);
    }
    let offset = found.offset as u64 + u64::from(place.is_return);
    Some(Symbol { function: cut(&found.name), offset, lines })
}

fn cut(text: &str) -> String {
    text.get(..text.floor_char_boundary(MAX_NAME_BYTES)).unwrap_or_default().to_owned()
}
