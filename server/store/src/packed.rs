//! Pages of dictionaries. A row takes a microsecond and more on its way from SQLite's thread, most of it for being a row;
//! so SQLite puts the entries of a page into one row: their contents one after another, and their lengths as a list.
//!
//! Aggregates take rows in the order in which the index over capture and id gives them. What is put together is checked
//! against its lengths, so that nothing is taken for another entry's.

use bathyscope_capture::{CaptureId, Frame, FrameId, Packed, Symbol};
use sqlx::{Connection as _, SqliteConnection};

use crate::{
    DictionaryEnds, StoreError,
    error::failed,
    read,
    rows::{from_json, narrow, stack_from_bytes, stack_to_bytes, unreadable, unsigned},
    select::{all, of},
    sums::{self, ChecksummedPart},
};

/// How many entries, their least and greatest id, their lengths, their bytes, and the sum that is stored of them.
type Row = (i64, Option<i64>, Option<i64>, Option<String>, Option<Vec<u8>>, Option<i64>);

/// The largest ids of a capture.
pub(crate) async fn ends(conn: &mut SqliteConnection, id: CaptureId) -> Result<DictionaryEnds, StoreError> {
    let select = "SELECT (SELECT max(id) FROM strings WHERE capture_id = ?1), \
                  (SELECT max(id) FROM mappings WHERE capture_id = ?1), \
                  (SELECT max(id) FROM frames WHERE capture_id = ?1), \
                  (SELECT max(id) FROM stacks WHERE capture_id = ?1)";
    type Ends = (Option<i64>, Option<i64>, Option<i64>, Option<i64>);
    let rows: Vec<Ends> = all(conn, of(select, id), "reading how large dictionaries are").await?;
    let (strings, mappings, frames, stacks) = rows.first().copied().unwrap_or_default();
    let end = |id: Option<i64>| id.map_or(Ok(0), |id| narrow(id, "an id of a dictionary"));
    Ok(DictionaryEnds { strings: end(strings)?, mappings: end(mappings)?, frames: end(frames)?, stacks: end(stacks)? })
}

/// Numbers with a space after each but the last.
fn numbers<T: TryFrom<i64>>(list: Option<&str>, what: &'static str) -> Result<Vec<T>, StoreError> {
    let number = |word: &str| word.parse().map_err(|_no_number| unreadable(what)).and_then(|it| narrow(it, what));
    list.unwrap_or_default().split_ascii_whitespace().map(number).collect()
}

/// The lengths and bytes of a page, put together by `select`; none if ids are missing in it.
async fn dense(
    conn: &mut SqliteConnection,
    select: &'static str,
    id: CaptureId,
    (first, last): (u32, u32),
    doing: &'static str,
) -> Result<Option<(Option<String>, Vec<u8>, Option<i64>)>, StoreError> {
    let (from, to) = sums::whole_pages(first, last).unwrap_or_default();
    let rows: Vec<Row> = all(conn, of(select, id).bind(first).bind(last).bind(from).bind(to), doing).await?;
    let (count, least, most, lengths, bytes, sum) = rows.into_iter().next().unwrap_or_default();
    Ok(is_dense(count, least, most, first).then(|| (lengths, bytes.unwrap_or_default(), sum)))
}

/// Compares a page with the sum that was read with it, if it is a whole page.
fn check(
    id: CaptureId,
    part: ChecksummedPart,
    (first, last): (u32, u32),
    entries: impl Iterator<Item = i64>,
    stored: Option<i64>,
) -> Result<(), StoreError> {
    if sums::whole_pages(first, last).is_none() {
        return Ok(());
    }
    sums::compare(id, part, (first, last), entries.sum(), stored)
}

/// Texts with ids from `first` to `last`.
pub(crate) async fn strings(
    conn: &mut SqliteConnection,
    id: CaptureId,
    (first, last): (u32, u32),
) -> Result<Packed<u8>, StoreError> {
    let select = "SELECT count(*), min(id), max(id), group_concat(octet_length(text), ' '), \
                  CAST(group_concat(text, '') AS BLOB), (SELECT sum(sum) FROM checksums WHERE capture_id = ?1 AND \
                  part = 0 AND page BETWEEN ?4 AND ?5) FROM strings WHERE capture_id = ?1 AND id BETWEEN ?2 AND ?3";
    if let Some((lengths, bytes, sum)) = dense(conn, select, id, (first, last), "reading strings").await? {
        let lengths: Vec<u32> = numbers(lengths.as_deref(), "lengths of strings")?;
        let count = lengths.len();
        let packed = Packed::dense(first, lengths, bytes).ok_or_else(|| unreadable("strings"))?;
        let ids = (first..).take(count);
        check(
            id,
            ChecksummedPart::Strings,
            (first, last),
            ids.map(|id| sums::string(id, packed.get(id).unwrap_or_default())),
            sum,
        )?;
        return Ok(packed);
    }
    let mut view = conn.begin().await.map_err(failed("reading strings"))?;
    let mut entries = read::strings(&mut view, id, first.saturating_sub(1), span(first, last)).await?;
    entries.retain(|entry| entry.0 <= last);
    let sum = stored(&mut view, id, ChecksummedPart::Strings, (first, last)).await?;
    check(id, ChecksummedPart::Strings, (first, last), entries.iter().map(|(id, text)| sums::string(*id, text)), sum)?;
    Ok(Packed::sparse(first, entries.iter().map(|(id, text)| (*id, text.as_slice()))))
}

/// Stacks with ids from `first` to `last`.
pub(crate) async fn stacks(
    conn: &mut SqliteConnection,
    id: CaptureId,
    (first, last): (u32, u32),
) -> Result<Packed<FrameId>, StoreError> {
    let select = "SELECT count(*), min(id), max(id), group_concat(octet_length(frames), ' '), \
                  CAST(group_concat(frames, '') AS BLOB), (SELECT sum(sum) FROM checksums WHERE capture_id = ?1 AND \
                  part = 3 AND page BETWEEN ?4 AND ?5) FROM stacks WHERE capture_id = ?1 AND id BETWEEN ?2 AND ?3";
    if let Some((lengths, bytes, sum)) = dense(conn, select, id, (first, last), "reading stacks").await? {
        let lengths: Vec<u32> = numbers(lengths.as_deref(), "lengths of stacks")?;
        let mut rest = bytes.as_slice();
        let stack = |(id, length): (u32, &u32)| {
            let (stack, after) = rest.split_at_checked(*length as usize).unwrap_or((rest, &[]));
            rest = after;
            sums::stack(id, stack)
        };
        check(id, ChecksummedPart::Stacks, (first, last), (first..).zip(&lengths).map(stack), sum)?;
        let frames = stack_from_bytes::<Vec<FrameId>>(&bytes)?;
        let whole = lengths.iter().all(|length| length % 4 == 0);
        let packed = Packed::dense(first, lengths.into_iter().map(|length| length / 4), frames);
        return packed.filter(|_| whole).ok_or_else(|| unreadable("stacks"));
    }
    let mut view = conn.begin().await.map_err(failed("reading stacks"))?;
    let mut entries = read::stacks(&mut view, id, first.saturating_sub(1), span(first, last)).await?;
    entries.retain(|entry| entry.0 <= last);
    let sum = stored(&mut view, id, ChecksummedPart::Stacks, (first, last)).await?;
    let found = entries.iter().map(|(id, stack)| sums::stack(*id, &stack_to_bytes(stack)));
    check(id, ChecksummedPart::Stacks, (first, last), found, sum)?;
    Ok(Packed::sparse(first, entries.iter().map(|(id, stack)| (*id, &**stack))))
}

/// The sum that is stored of a page, if these ids are a whole one.
async fn stored(
    conn: &mut SqliteConnection,
    id: CaptureId,
    part: ChecksummedPart,
    (first, last): (u32, u32),
) -> Result<Option<i64>, StoreError> {
    match sums::whole_pages(first, last) {
        Some(pages) => sums::stored(conn, id, part, pages).await,
        None => Ok(None),
    }
}

/// Whether these are all ids from `first` to the greatest.
fn is_dense(count: i64, least: Option<i64>, most: Option<i64>, first: u32) -> bool {
    let first = i64::from(first);
    count == 0 || (least == Some(first) && most == count.checked_add(first - 1))
}

fn span(first: u32, last: u32) -> read::Most {
    i64::from(last) - i64::from(first) + 1
}

/// Frames with ids from `first` to `last`.
pub(crate) async fn frames(
    conn: &mut SqliteConnection,
    id: CaptureId,
    (first, last): (u32, u32),
) -> Result<Vec<(FrameId, Frame)>, StoreError> {
    let select = "SELECT group_concat(id, ' '), group_concat(mapping_id, ' '), group_concat(place, ' '), \
                  (SELECT sum(sum) FROM checksums WHERE capture_id = ?1 AND part = 2 AND page BETWEEN ?4 AND ?5) \
                  FROM frames WHERE capture_id = ?1 AND id BETWEEN ?2 AND ?3";
    type Lists = (Option<String>, Option<String>, Option<String>, Option<i64>);
    let (from, to) = sums::whole_pages(first, last).unwrap_or_default();
    let query = of(select, id).bind(first).bind(last).bind(from).bind(to);
    let rows: Vec<Lists> = all(conn, query, "reading frames").await?;
    let (ids, mappings, places, sum) = rows.into_iter().next().unwrap_or_default();
    let ids: Vec<FrameId> = numbers(ids.as_deref(), "a frame's id")?;
    let mappings: Vec<u32> = numbers(mappings.as_deref(), "a mapping's id")?;
    let places: Vec<i64> = numbers(places.as_deref(), "a frame's place")?;
    if ids.len() != mappings.len() || ids.len() != places.len() {
        return Err(unreadable("frames"));
    }
    let frame = |(mapping, place): (u32, i64)| Frame { mapping, offset: unsigned(place) };
    let frames: Vec<_> = ids.into_iter().zip(mappings.into_iter().zip(places).map(frame)).collect();
    let entries = frames.iter().map(|(id, frame)| sums::frame(*id, frame));
    check(id, ChecksummedPart::Frames, (first, last), entries, sum)?;
    Ok(frames)
}

/// Symbols of frames with ids from `first` to `last`.
pub(crate) async fn symbols(
    conn: &mut SqliteConnection,
    id: CaptureId,
    (first, last): (u32, u32),
) -> Result<Vec<(FrameId, Symbol)>, StoreError> {
    let select = "SELECT group_concat(frame_id, ' '), group_concat(place, ' '), \
                  group_concat(octet_length(function), ' '), CAST(group_concat(function, '') AS BLOB), \
                  group_concat(octet_length(lines), ' '), CAST(group_concat(lines, '') AS BLOB), \
                  (SELECT sum(sum) FROM checksums WHERE capture_id = ?1 AND part = 4 AND page BETWEEN ?4 AND ?5) \
                  FROM symbols WHERE capture_id = ?1 AND frame_id BETWEEN ?2 AND ?3";
    type Lists =
        (Option<String>, Option<String>, Option<String>, Option<Vec<u8>>, Option<String>, Option<Vec<u8>>, Option<i64>);
    let (from, to) = sums::whole_pages(first, last).unwrap_or_default();
    let query = of(select, id).bind(first).bind(last).bind(from).bind(to);
    let rows: Vec<Lists> = all(conn, query, "reading symbols").await?;
    let (ids, places, name_lengths, names, line_lengths, lines, sum) = rows.into_iter().next().unwrap_or_default();
    let ids: Vec<FrameId> = numbers(ids.as_deref(), "a frame's id")?;
    let places: Vec<i64> = numbers(places.as_deref(), "a symbol's place")?;
    let texts = |lengths: Option<String>, bytes: Option<Vec<u8>>| {
        let lengths: Vec<u32> = numbers(lengths.as_deref(), "lengths of symbols")?;
        let packed = Packed::dense(0, lengths, bytes.unwrap_or_default());
        packed.ok_or_else(|| unreadable("symbols"))
    };
    let (names, lines) = (texts(name_lengths, names)?, texts(line_lengths, lines)?);
    if ids.len() != places.len() {
        return Err(unreadable("symbols"));
    }
    let entry = |((index, frame), place): ((u32, &FrameId), &i64)| {
        let (function, lines) = (names.get(index).unwrap_or_default(), lines.get(index).unwrap_or_default());
        sums::symbol(*frame, function, unsigned(*place), lines)
    };
    check(id, ChecksummedPart::Symbols, (first, last), (0..).zip(&ids).zip(&places).map(entry), sum)?;
    let symbol = |(index, (frame, place)): (u32, (FrameId, i64))| {
        let text = |of: &Packed<u8>| of.get(index).and_then(|bytes| std::str::from_utf8(bytes).ok()).map(str::to_owned);
        let function = text(&names).ok_or_else(|| unreadable("the name of a symbol"))?;
        let lines = match text(&lines).ok_or_else(|| unreadable("the lines of a symbol"))?.as_str() {
            "[]" => Vec::new(),
            lines => from_json(lines, "the lines of a symbol")?,
        };
        Ok((frame, Symbol { function, offset: unsigned(place), lines }))
    };
    (0..).zip(ids.into_iter().zip(places)).map(symbol).collect()
}
