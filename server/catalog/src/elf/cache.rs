//! `/etc/ld.so.cache`: where libraries are, by their short names.

use super::file::number;
use crate::constants::Arch;

/// The largest cache that is read, in bytes.
const MAX_BYTES: usize = 64 << 20;
/// The most libraries.
const MAX_LIBRARIES: usize = 1 << 18;
/// The longest name or path.
const MAX_NAME_BYTES: usize = 4096;
const OLD: &[u8] = b"ld.so-1.7.0\0";
const NEW: &[u8] = b"glibc-ld.so.cache1.1";

/// Why a cache is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// It is something else.
    #[error("this is no cache of libraries")]
    NotCache,
    /// It ends too early or is too large.
    #[error("the cache of libraries is damaged; ldconfig makes a new one")]
    Damaged,
}

/// A library that the dynamic linker knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Its name, such as `libc.so.6`.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// The processor it is for, if that is one that can be traced.
    pub arch: Option<Arch>,
}

/// Reads the cache.
///
/// # Errors
/// If it is something else, or damaged.
pub fn parse_library_cache(bytes: &[u8]) -> Result<Vec<Library>, CacheError> {
    if bytes.len() > MAX_BYTES {
        return Err(CacheError::Damaged);
    }
    let cache = if bytes.starts_with(NEW) { bytes } else { behind_old(bytes).ok_or(CacheError::NotCache)? };
    let word =
        |at: usize| number(cache, at, 4).and_then(|value| usize::try_from(value).ok()).ok_or(CacheError::Damaged);
    let count = word(20)?;
    if count > MAX_LIBRARIES {
        return Err(CacheError::Damaged);
    }
    let mut libraries = Vec::new();
    for entry in 0..count {
        let at = 48 + entry * 24;
        let text = |at| word(at).and_then(|at| text(cache, at).ok_or(CacheError::Damaged));
        let arch = match word(at)? {
            0x0303 => Some(Arch::X86_64),
            0x0a03 => Some(Arch::Aarch64),
            _ => None,
        };
        libraries.push(Library { name: text(at + 4)?, path: text(at + 8)?, arch });
    }
    Ok(libraries)
}

/// The cache of today behind one for very old linkers.
fn behind_old(bytes: &[u8]) -> Option<&[u8]> {
    let count = usize::try_from(number(bytes.strip_prefix(OLD)?, 0, 4)?).ok()?;
    let end = count.checked_mul(12)?.checked_add(16)?;
    let cache = bytes.get(end.checked_next_multiple_of(8)?..)?;
    cache.starts_with(NEW).then_some(cache)
}

fn text(bytes: &[u8], at: usize) -> Option<String> {
    let rest = bytes.get(at..)?;
    let rest = rest.get(..MAX_NAME_BYTES.min(rest.len()))?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(rest.get(..end)?).ok().map(str::to_owned)
}

/// The libraries that a short name means, best first: `libc.so.6` is exactly that; `libc`, `c` and `libc.so` are
/// `libc.so` or `libc.so.6`, not `libc-2.so`.
pub fn find_library<'a>(libraries: &'a [Library], arch: Arch, name: &str) -> Vec<&'a Library> {
    let rank = |library: &Library| {
        if name.is_empty() || name.contains('/') {
            return None;
        }
        if library.name == name {
            return Some(0);
        }
        let stem = name.strip_suffix(".so").unwrap_or(name);
        let stem = |prefix: &str| library.name.strip_prefix(prefix)?.strip_prefix(stem)?.strip_prefix(".so");
        let (rest, prefixed) = stem("").map(|rest| (rest, 0)).or_else(|| stem("lib").map(|rest| (rest, 2)))?;
        match rest.bytes().next() {
            None => Some(1 + prefixed),
            Some(b'.') => Some(2 + prefixed),
            Some(_) => None,
        }
    };
    let of_arch = libraries.iter().filter(|library| library.arch == Some(arch));
    let mut found: Vec<_> = of_arch.filter_map(|library| rank(library).map(|rank| (rank, library))).collect();
    // The linker takes the first of equal names: those are in its order.
    found.sort_by_key(|(rank, library)| (*rank, library.name.len()));
    found.into_iter().map(|(_rank, library)| library).collect()
}
