//! Checksums of dictionaries, of the columns of streams, and of what was asked for.
//!
//! A page is 2048 ids, as views read them. Its checksum is the *sum* of the CRC-32 of its entries, each with its id, so
//! that entries can be added in any order and in any number of appends without reading those that are there. A bit that
//! turns changes one CRC and so the sum; an entry that vanishes takes its CRC away. It finds faults, not forgers: whoever
//! can write the file can write the sum.

use std::collections::{BTreeMap, BTreeSet};

use bathyscope_capture::{CaptureId, Frame, FrameId, Mapping, MappingId, StringId};
use futures_util::future::BoxFuture;
use sqlx::{Connection as _, SqliteConnection};

use crate::{
    StoreError,
    error::failed,
    read,
    rows::{mapping_kind, sql, stack_to_bytes, unreadable, unsigned},
    select::{all, of},
};

/// Ids of one page.
const PAGE_IDS: u32 = 2048;
/// The schema version from which on there are checksums.
pub(crate) const SINCE: i64 = 8;
const DOING: &str = "storing checksums";

/// What has checksums, with the numbers of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ChecksummedPart {
    Strings = 0,
    Mappings = 1,
    Frames = 2,
    Stacks = 3,
    Symbols = 4,
    Columns = 5,
    Spec = 6,
}

impl ChecksummedPart {
    pub(crate) const DICTIONARIES: [Self; 5] =
        [Self::Strings, Self::Mappings, Self::Frames, Self::Stacks, Self::Symbols];

    /// In words, for errors.
    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::Strings => "strings",
            Self::Mappings => "mappings",
            Self::Frames => "frames",
            Self::Stacks => "stacks",
            Self::Symbols => "symbols",
            Self::Columns => "columns of streams",
            Self::Spec => "spec and host",
        }
    }

    const fn number(self) -> i64 {
        self as i64
    }
}

/// The page of an id.
pub(crate) const fn page_of(id: u32) -> u32 {
    id.saturating_sub(1) / PAGE_IDS
}

/// The pages that ids from `first` to `last` are, if they are whole pages.
pub(crate) fn whole_pages(first: u32, last: u32) -> Option<(u32, u32)> {
    let begins = first.checked_sub(1)?.is_multiple_of(PAGE_IDS);
    let ends = last.is_multiple_of(PAGE_IDS) || last == u32::MAX;
    (begins && ends && first <= last).then(|| (page_of(first), page_of(last)))
}

/// The CRC-32 of one entry; what has no length of its own in it is preceded by one.
struct Entry(crc32fast::Hasher);

impl Entry {
    fn of(id: u32) -> Self {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&id.to_le_bytes());
        Self(hasher)
    }

    fn number(mut self, number: u64) -> Self {
        self.0.update(&number.to_le_bytes());
        self
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    fn sum(self) -> i64 {
        i64::from(self.0.finalize())
    }
}

pub(crate) fn string(id: StringId, text: &[u8]) -> i64 {
    Entry::of(id).bytes(text).sum()
}

pub(crate) fn mapping(id: MappingId, mapping: &Mapping) -> i64 {
    let entry = Entry::of(id).bytes(mapping_kind(mapping.kind).as_bytes()).bytes(&mapping.build_id);
    entry.bytes(&mapping.name).number(u64::from(mapping.pid)).sum()
}

pub(crate) fn frame(id: FrameId, frame: &Frame) -> i64 {
    Entry::of(id).number(u64::from(frame.mapping)).number(frame.offset).sum()
}

/// `frames` as they are stored, 4 bytes each.
pub(crate) fn stack(id: u32, frames: &[u8]) -> i64 {
    Entry::of(id).bytes(frames).sum()
}

/// `lines` as they are stored.
pub(crate) fn symbol(id: FrameId, function: &[u8], place: u64, lines: &[u8]) -> i64 {
    Entry::of(id).bytes(function).number(place).bytes(lines).sum()
}

pub(crate) fn columns(stream: u32, schema: &str) -> i64 {
    Entry::of(stream).bytes(schema.as_bytes()).sum()
}

pub(crate) fn spec(spec: &str, host: &str) -> i64 {
    Entry::of(0).bytes(spec.as_bytes()).bytes(host.as_bytes()).sum()
}

/// What is to be added to the sums of a capture.
#[derive(Debug, Default)]
pub(crate) struct ChecksumChanges(BTreeMap<(ChecksummedPart, u32), i64>);

impl ChecksumChanges {
    /// An entry of a dictionary was added, or taken away with a negative sum.
    pub(crate) fn entry(&mut self, part: ChecksummedPart, id: u32, sum: i64) {
        self.page(part, page_of(id), sum);
    }

    pub(crate) fn page(&mut self, part: ChecksummedPart, page: u32, sum: i64) {
        *self.0.entry((part, page)).or_default() += sum;
    }

    /// Writes them, in the transaction that is open.
    pub(crate) async fn store(self, conn: &mut SqliteConnection, id: CaptureId) -> Result<(), StoreError> {
        for ((part, page), sum) in self.0 {
            // At most 2048 times 2^32: far from what would overflow.
            let insert = sqlx::query(
                "INSERT INTO checksums VALUES (?, ?, ?, ?) \
                 ON CONFLICT (capture_id, part, page) DO UPDATE SET sum = sum + excluded.sum",
            );
            let insert = insert.bind(sql(id.bits())).bind(part.number()).bind(page).bind(sum);
            insert.execute(&mut *conn).await.map_err(failed(DOING))?;
        }
        Ok(())
    }
}

/// Compares what the entries of some pages add up to with what is stored; `first` and `last` are ids for words.
pub(crate) fn compare(
    id: CaptureId,
    part: ChecksummedPart,
    (first, last): (u32, u32),
    entries: i64,
    stored: Option<i64>,
) -> Result<(), StoreError> {
    if entries == stored.unwrap_or(0) {
        return Ok(());
    }
    Err(StoreError::DamagedPart { id, what: part.what(), first, last })
}

/// The sum that is stored of some pages.
pub(crate) async fn stored(
    conn: &mut SqliteConnection,
    id: CaptureId,
    part: ChecksummedPart,
    (first, last): (u32, u32),
) -> Result<Option<i64>, StoreError> {
    let select = "SELECT sum(sum) FROM checksums WHERE capture_id = ? AND part = ? AND page BETWEEN ? AND ?";
    let rows: Vec<(Option<i64>,)> =
        all(conn, of(select, id).bind(part.number()).bind(first).bind(last), "reading checksums").await?;
    Ok(rows.first().and_then(|row| row.0))
}

/// Checks what a capture is, which never changes: the columns of its streams, its spec and its host.
pub(crate) async fn check_head(conn: &mut SqliteConnection, id: CaptureId) -> Result<(), StoreError> {
    let head = head_of(conn, id).await?;
    for part in [ChecksummedPart::Columns, ChecksummedPart::Spec] {
        let found = head.0.iter().filter(|((of, _), _)| *of == part).map(|(_, sum)| sum).sum();
        let last = head.0.keys().map(|(_, page)| *page).max().unwrap_or(0);
        compare(id, part, (0, last), found, stored(conn, id, part, (0, u32::MAX)).await?)?;
    }
    Ok(())
}

/// The sums of what a capture is.
async fn head_of(conn: &mut SqliteConnection, id: CaptureId) -> Result<ChecksumChanges, StoreError> {
    let mut head = ChecksumChanges::default();
    let select = "SELECT stream, schema FROM streams WHERE capture_id = ?";
    let streams: Vec<(u32, String)> = all(conn, of(select, id), "reading streams").await?;
    for (stream, schema) in &streams {
        head.page(ChecksummedPart::Columns, *stream, columns(*stream, schema));
    }
    let texts: Vec<(String, String)> =
        all(conn, of("SELECT spec, host FROM captures WHERE id = ?", id), "reading a capture").await?;
    for (text, host) in &texts {
        head.page(ChecksummedPart::Spec, 0, spec(text, host));
    }
    Ok(head)
}

/// The sums of the entries of a dictionary with ids above `after`, at most `most`, and the last of these ids.
async fn entries(
    conn: &mut SqliteConnection,
    id: CaptureId,
    part: ChecksummedPart,
    (after, most): (u32, i64),
) -> Result<(Vec<(u32, i64)>, Option<u32>), StoreError> {
    let sums: Vec<(u32, i64)> = match part {
        ChecksummedPart::Strings => {
            let entries = read::strings(conn, id, after, most).await?;
            entries.iter().map(|(id, text)| (*id, string(*id, text))).collect()
        }
        ChecksummedPart::Mappings => {
            let entries = read::mappings(conn, id, after, most).await?;
            entries.iter().map(|(id, value)| (*id, mapping(*id, value))).collect()
        }
        ChecksummedPart::Frames => {
            let entries = read::frames(conn, id, after, most).await?;
            entries.iter().map(|(id, value)| (*id, frame(*id, value))).collect()
        }
        ChecksummedPart::Stacks => {
            let entries = read::stacks(conn, id, after, most).await?;
            entries.iter().map(|(id, value)| (*id, stack(*id, &stack_to_bytes(value)))).collect()
        }
        ChecksummedPart::Symbols => {
            let rows = read::symbol_rows(conn, id, after, most).await?;
            let sum = |(id, function, place, lines): &read::SymbolRow| {
                (*id, symbol(*id, function.as_bytes(), unsigned(*place), lines.as_bytes()))
            };
            rows.iter().map(sum).collect()
        }
        ChecksummedPart::Columns | ChecksummedPart::Spec => Vec::new(),
    };
    let last = sums.last().map(|(id, _)| *id);
    Ok((sums, last))
}

/// Reads the entries of a dictionary with ids above `after`, and compares them with their sums in one view of the
/// database. `read` is given the id before the first of a page.
pub(crate) async fn checked<T: Send>(
    conn: &mut SqliteConnection,
    (id, part, after): (CaptureId, ChecksummedPart, u32),
    read: impl for<'c> FnOnce(&'c mut SqliteConnection, u32) -> BoxFuture<'c, Result<Vec<T>, StoreError>> + Send,
    sum: impl Fn(&T) -> (u32, i64) + Send,
) -> Result<Vec<T>, StoreError> {
    let first = page_of(after.saturating_add(1));
    let mut view = conn.begin().await.map_err(failed("reading checksums"))?;
    let mut entries = read(&mut view, first.saturating_mul(PAGE_IDS)).await?;
    let mut found: BTreeMap<u32, i64> = BTreeMap::new();
    for (id, sum) in entries.iter().map(&sum) {
        *found.entry(page_of(id)).or_default() += sum;
    }
    compare_pages(id, part, &found, &stored_pages(&mut view, id, part, first).await?).map_or(Ok(()), Err)?;
    view.rollback().await.map_err(failed("reading checksums"))?;
    entries.retain(|entry| sum(entry).0 > after);
    Ok(entries)
}

/// What is stored of the pages from `first` on.
async fn stored_pages(
    conn: &mut SqliteConnection,
    id: CaptureId,
    part: ChecksummedPart,
    first: u32,
) -> Result<BTreeMap<u32, i64>, StoreError> {
    let select = "SELECT page, sum FROM checksums WHERE capture_id = ? AND part = ? AND page >= ?";
    let query = of(select, id).bind(part.number()).bind(first);
    let stored: Vec<(u32, i64)> = all(conn, query, "reading checksums").await?;
    Ok(stored.into_iter().collect())
}

/// The first page that is not as it was stored, as an error.
fn compare_pages(
    id: CaptureId,
    part: ChecksummedPart,
    found: &BTreeMap<u32, i64>,
    stored: &BTreeMap<u32, i64>,
) -> Option<StoreError> {
    let pages: BTreeSet<u32> = found.keys().chain(stored.keys()).copied().collect();
    pages.into_iter().find_map(|page| {
        let first = page.saturating_mul(PAGE_IDS);
        let ids = (first.saturating_add(1), first.saturating_add(PAGE_IDS));
        compare(id, part, ids, found.get(&page).copied().unwrap_or(0), stored.get(&page).copied()).err()
    })
}

/// Whether the entries of a dictionary are as they were stored, in one view of the database; the error of the first page
/// that is not.
pub(crate) async fn check(conn: &mut SqliteConnection, id: CaptureId, part: ChecksummedPart) -> Result<(), StoreError> {
    // Entries and sums belong together although the capture may be growing.
    let mut view = conn.begin().await.map_err(failed("reading checksums"))?;
    let stored = stored_pages(&mut view, id, part, 0).await?;
    let (mut found, mut after) = (BTreeMap::<u32, i64>::new(), 0);
    while let (sums, Some(last)) = entries(&mut view, id, part, (after, i64::from(PAGE_IDS))).await? {
        for (id, sum) in sums {
            *found.entry(page_of(id)).or_default() += sum;
        }
        if last <= after {
            return Err(unreadable("ids out of order"));
        }
        after = last;
    }
    view.rollback().await.map_err(failed("reading checksums"))?;
    compare_pages(id, part, &found, &stored).map_or(Ok(()), Err)
}

/// Whether all that has checksums is as it was stored.
pub(crate) async fn check_all(conn: &mut SqliteConnection, id: CaptureId) -> Result<(), StoreError> {
    check_head(conn, id).await?;
    for part in ChecksummedPart::DICTIONARIES {
        check(conn, id, part).await?;
    }
    Ok(())
}

/// Computes the sums of captures that were made by a version that had none.
pub(crate) async fn make_all(conn: &mut SqliteConnection) -> Result<(), StoreError> {
    let select = sqlx::query_as("SELECT id FROM captures");
    let ids: Vec<(i64,)> = select.fetch_all(&mut *conn).await.map_err(failed("looking for captures"))?;
    for (id,) in ids {
        let id = CaptureId::from_bits(unsigned(id));
        head_of(conn, id).await?.store(conn, id).await?;
        for part in ChecksummedPart::DICTIONARIES {
            let mut after = 0;
            while let (sums, Some(last)) = entries(conn, id, part, (after, i64::from(PAGE_IDS))).await? {
                let mut added = ChecksumChanges::default();
                sums.into_iter().for_each(|(id, sum)| added.entry(part, id, sum));
                added.store(conn, id).await?;
                after = last;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_those_of_views() {
        assert_eq!([1, 2048, 2049, 4096].map(page_of), [0, 0, 1, 1]);
        assert_eq!(whole_pages(1, 2048), Some((0, 0)));
        assert_eq!(whole_pages(2049, 6144), Some((1, 2)));
        assert_eq!([whole_pages(0, 2048), whole_pages(1, 2047), whole_pages(2, 2048)], [None; 3]);
    }

    #[test]
    fn entries_differ_by_every_part() {
        let sums = [string(1, b"a"), string(2, b"a"), string(1, b"b"), string(1, b"")];
        let different: BTreeSet<_> = sums.iter().collect();
        assert_eq!(different.len(), sums.len());
        assert_ne!(symbol(1, b"ab", 0, b"c"), symbol(1, b"a", 0, b"bc"));
    }
}
