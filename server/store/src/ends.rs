//! Ends of captures that the database could not take yet: on a full disk, or while another process locks it.
//!
//! Each is kept in memory, where reads find it, and in a file beside the database whose blocks were allocated before, so
//! that it survives the end of this process although nothing more fits onto the disk. The writer tries again until the
//! database has it; then the file's room is free for the next. Where the file system gives a write new blocks each time
//! (btrfs, ZFS) the file may fail too: then memory alone has the end, and that is logged.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use bathyscope_capture::CaptureId;
use serde::{Deserialize, Serialize};

use crate::End;

/// The room of the file.
const FILE_BYTES: u64 = 1 << 20;
/// Bytes of a record's length and of its checksum.
const HEAD_BYTES: usize = 8;
/// Follows the last record: a length of 0.
const TERMINATOR: [u8; 4] = [0; 4];
const MODE: u32 = 0o600;

/// One record of the file.
#[derive(Serialize, Deserialize)]
enum Record<'e> {
    /// The end of a capture is to be stored.
    Held { id: u64, end: Cow<'e, End> },
    /// It has been stored, or the capture was deleted.
    Released { id: u64 },
}

/// The ends that wait.
#[derive(Debug)]
pub(crate) struct Ends {
    path: PathBuf,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    ends: BTreeMap<CaptureId, End>,
    /// None while there was no room for it.
    file: Option<File>,
    /// Where the next record goes.
    at: u64,
    /// Whether an end is in memory only.
    unwritten: bool,
}

impl Ends {
    /// Those that the last process could not store, with the file to keep more of them.
    pub(crate) fn open(database: &Path) -> Self {
        let ends = Self::read(database);
        ends.take_room();
        ends
    }

    /// Those that wait in another process.
    pub(crate) fn read(database: &Path) -> Self {
        let path = database.with_file_name("bathyscope.ends");
        let bytes = read_at_most(&path).unwrap_or_default();
        let (ends, at) = parse(&bytes);
        Self { path, waiting: Mutex::new(Waiting { ends, at, ..Waiting::default() }) }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets room aside if there is none yet. Without it an end lasts only as long as this process.
    pub(crate) fn take_room(&self) {
        let mut waiting = self.waiting();
        if waiting.file.is_some() {
            return;
        }
        match allocate(&self.path) {
            Ok(file) => {
                waiting.file = Some(file);
                if std::mem::take(&mut waiting.unwritten) {
                    waiting.write_all();
                }
            }
            Err(error) => {
                tracing::debug!(path = %self.path.display(), %error, "no disk space is reserved for the ends of captures")
            }
        }
    }

    pub(crate) fn get(&self, id: CaptureId) -> Option<End> {
        self.waiting().ends.get(&id).cloned()
    }

    pub(crate) fn has(&self, id: CaptureId) -> bool {
        self.waiting().ends.contains_key(&id)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting().ends.is_empty()
    }

    pub(crate) fn all(&self) -> Vec<(CaptureId, End)> {
        self.waiting().ends.clone().into_iter().collect()
    }

    /// Keeps an end until it is released.
    pub(crate) fn hold(&self, id: CaptureId, end: &End) {
        let mut waiting = self.waiting();
        if waiting.ends.insert(id, end.clone()).as_ref() == Some(end) {
            return;
        }
        waiting.write(&Record::Held { id: id.bits(), end: Cow::Borrowed(end) });
    }

    /// An end has been stored, or is not wanted any more.
    pub(crate) fn release(&self, id: CaptureId) {
        let mut waiting = self.waiting();
        if waiting.ends.remove(&id).is_none() {
            return;
        }
        if waiting.ends.is_empty() {
            waiting.clear();
        } else {
            waiting.write(&Record::Released { id: id.bits() });
        }
    }
}

impl Waiting {
    /// Writes what came while there was no file.
    fn write_all(&mut self) {
        self.at = 0;
        for (id, end) in self.ends.clone() {
            self.write(&Record::Held { id: id.bits(), end: Cow::Owned(end) });
        }
    }

    /// Writes a record behind the others, into room that is allocated.
    fn write(&mut self, record: &Record<'_>) {
        let Some(file) = &self.file else {
            self.unwritten = true;
            return;
        };
        let Ok(body) = serde_json::to_vec(record) else { return };
        let Ok(length) = u32::try_from(body.len()) else { return };
        let mut bytes = Vec::with_capacity(HEAD_BYTES + body.len() + TERMINATOR.len());
        bytes.extend(length.to_le_bytes());
        bytes.extend(crc32fast::hash(&body).to_le_bytes());
        bytes.extend(&body);
        let next = self.at + bytes.len() as u64;
        bytes.extend(TERMINATOR);
        if next + TERMINATOR.len() as u64 > FILE_BYTES {
            tracing::warn!("an end that could not be stored is kept in memory only: its file is full");
            return;
        }
        match file.write_all_at(&bytes, self.at).and_then(|()| file.sync_data()) {
            Ok(()) => self.at = next,
            Err(error) => tracing::warn!(%error, "an end that could not be stored is kept in memory only"),
        }
    }

    fn clear(&mut self) {
        let Some(file) = &self.file else { return };
        match file.write_all_at(&TERMINATOR, 0).and_then(|()| file.sync_data()) {
            Ok(()) => self.at = 0,
            // What is stored already is not stored twice: the capture is not being recorded any more.
            Err(error) => tracing::warn!(%error, "ends that are stored stay in their file"),
        }
    }
}

/// Opens the file with all its blocks; what is in it stays.
fn allocate(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(MODE).open(path)?;
    let allocated = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, FILE_BYTES);
    match allocated {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::NOTSUP | rustix::io::Errno::NOSYS) => {
            let length = file.metadata()?.len();
            let rest = FILE_BYTES.saturating_sub(length);
            file.write_all_at(&vec![0; usize::try_from(rest).unwrap_or(0)], length)?;
            Ok(file)
        }
        Err(error) => Err(error.into()),
    }
}

fn read_at_most(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The ends that wait, by a file's bytes, and where the next record goes. Stops at the first record that is not whole.
fn parse(bytes: &[u8]) -> (BTreeMap<CaptureId, End>, u64) {
    let (mut ends, mut at) = (BTreeMap::new(), 0);
    while let Some((record, next)) = record_at(bytes, at) {
        match record {
            Record::Held { id, end } => ends.insert(CaptureId::from_bits(id), end.into_owned()),
            Record::Released { id } => ends.remove(&CaptureId::from_bits(id)),
        };
        at = next;
    }
    (ends, at as u64)
}

fn record_at(bytes: &[u8], at: usize) -> Option<(Record<'static>, usize)> {
    let (length, rest) = bytes.get(at..)?.split_first_chunk::<4>()?;
    let (checksum, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok().filter(|length| *length > 0)?;
    let body = rest.get(..length)?;
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return None;
    }
    Some((serde_json::from_slice(body).ok()?, at + HEAD_BYTES + length))
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::Ledger;

    use super::*;
    use crate::CaptureState;

    fn end(reason: &str) -> End {
        let (state, ledger) = (CaptureState::Failed, Ledger::default());
        End {
            state,
            reason: reason.to_owned(),
            end_ns: 7,
            ledger,
            readings: Vec::new(),
            script: None,
            sources: Vec::new(),
        }
    }

    #[test]
    fn p71_ends_outlive_the_process_and_their_room_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("bathyscope.db");
        let ends = Ends::open(&database);
        let [a, b] = [1, 2].map(CaptureId::from_bits);
        ends.hold(a, &end("first"));
        ends.hold(b, &end("second"));
        ends.release(a);
        drop(ends);
        let ends = Ends::open(&database);
        assert_eq!(ends.all(), [(b, end("second"))]);
        for round in 0..10_000 {
            // Far more than the file holds, if its room did not come back.
            ends.hold(a, &end(&format!("{round}")));
            ends.release(a);
            if round == 0 {
                ends.release(b);
            }
        }
        ends.hold(a, &end("last"));
        assert_eq!(Ends::read(&database).all(), [(a, end("last"))]);
        assert_eq!(std::fs::metadata(&ends.path).unwrap().len(), FILE_BYTES);
    }

    #[test]
    fn p71_a_torn_or_foreign_file_gives_what_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("bathyscope.db");
        let ends = Ends::open(&database);
        let [a, b] = [1, 2].map(CaptureId::from_bits);
        ends.hold(a, &end("first"));
        let whole = usize::try_from(ends.waiting().at).unwrap();
        ends.hold(b, &end("second"));
        let bytes = std::fs::read(&ends.path).unwrap();
        let second = usize::try_from(ends.waiting().at).unwrap();
        for cut in 0..second {
            let (found, _) = parse(bytes.get(..cut).unwrap());
            assert_eq!(found.contains_key(&a), cut >= whole, "{cut}");
            assert!(!found.contains_key(&b));
        }
        for at in 0..whole {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(!parse(&flipped).0.contains_key(&a), "a flipped bit at {at} is not noticed");
        }
        assert!(parse(&[0xff; 64]).0.is_empty());
    }
}
