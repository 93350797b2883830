//! A whole capture as a sequence of appends, for copying it into another database and for telling two apart.

use bathyscope_capture::{Append, CaptureId, EncodedChunk, ScriptRecord};
use sha2::{Digest as _, Sha256};
use sqlx::SqliteConnection;

use crate::{
    CaptureRecord, StoreError, derivations, read,
    rows::{mapping_kind, process_change, to_json, unreadable},
};

/// Entries of a dictionary in one page.
const PAGE: i64 = 5000;
/// Entries of those that may be large.
const LARGE_PAGE: i64 = 256;
/// Functions with their instructions.
const CODE_PAGE: i64 = 16;
/// The schema version from which on instructions are kept.
pub(crate) const CODE_SINCE: i64 = 5;

/// How far a capture has been read: dictionaries first, then what refers to them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    part: ExportedPart,
    /// The last id read, or how many entries were.
    after: u64,
    /// Whether there are instructions; not in files of older versions.
    has_code: bool,
    /// The last string that was recorded: those after it are of computed streams, which are not copied.
    last_string: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExportedPart {
    Strings,
    Mappings,
    Frames,
    Stacks,
    Symbols,
    Code,
    Processes,
    Output,
    Chunks(u16),
}

impl Cursor {
    const START: Self = Self { part: ExportedPart::Strings, after: 0, has_code: true, last_string: u32::MAX };

    /// The beginning of what was recorded of a capture of this database.
    pub(crate) async fn of_recorded(conn: &mut SqliteConnection, id: CaptureId) -> Result<Self, StoreError> {
        let last = derivations::last_recorded_string(conn, id).await?;
        Ok(Self { last_string: last.unwrap_or(u32::MAX), ..Self::START })
    }

    /// The beginning of a file of a version.
    pub(crate) const fn of_version(version: i64) -> Self {
        Self { has_code: version >= CODE_SINCE, ..Self::START }
    }

    const fn begin(&mut self, part: ExportedPart) {
        self.part = part;
        self.after = 0;
    }

    /// Goes on after the ids of a page, which must rise: a hostile file could make us read for ever.
    fn pass(&mut self, ids: impl Iterator<Item = u32>) -> Result<(), StoreError> {
        for id in ids {
            if u64::from(id) <= self.after {
                return Err(unreadable("ids out of order"));
            }
            self.after = u64::from(id);
        }
        Ok(())
    }
}

/// The next page of a capture, with at least one entry; none at the end.
pub(crate) async fn next(
    conn: &mut SqliteConnection,
    record: &CaptureRecord,
    cursor: &mut Cursor,
) -> Result<Option<Append>, StoreError> {
    let id = record.id;
    loop {
        let mut page = Append::default();
        let after = u32::try_from(cursor.after).unwrap_or(u32::MAX);
        let following = match cursor.part {
            ExportedPart::Strings => {
                page.strings = read::strings(conn, id, after, LARGE_PAGE).await?;
                page.strings.retain(|(id, _)| *id <= cursor.last_string);
                cursor.pass(page.strings.iter().map(|entry| entry.0))?;
                ExportedPart::Mappings
            }
            ExportedPart::Mappings => {
                page.mappings = read::mappings(conn, id, after, LARGE_PAGE).await?;
                cursor.pass(page.mappings.iter().map(|entry| entry.0))?;
                ExportedPart::Frames
            }
            ExportedPart::Frames => {
                page.frames = read::frames(conn, id, after, PAGE).await?;
                cursor.pass(page.frames.iter().map(|entry| entry.0))?;
                ExportedPart::Stacks
            }
            ExportedPart::Stacks => {
                page.stacks = read::stacks(conn, id, after, LARGE_PAGE * 4).await?;
                cursor.pass(page.stacks.iter().map(|entry| entry.0))?;
                ExportedPart::Symbols
            }
            ExportedPart::Symbols => {
                page.symbols = read::symbols(conn, id, after, LARGE_PAGE).await?;
                cursor.pass(page.symbols.iter().map(|entry| entry.0))?;
                if cursor.has_code { ExportedPart::Code } else { ExportedPart::Processes }
            }
            ExportedPart::Code => {
                page.code = read::code(conn, id, cursor.after, CODE_PAGE).await?;
                cursor.after += page.code.len() as u64;
                ExportedPart::Processes
            }
            ExportedPart::Processes => {
                page.processes = read::processes(conn, id, cursor.after, PAGE).await?;
                cursor.after += page.processes.len() as u64;
                ExportedPart::Output
            }
            ExportedPart::Output => {
                page.output = read::output(conn, id, cursor.after, LARGE_PAGE).await?;
                cursor.after += page.output.len() as u64;
                ExportedPart::Chunks(0)
            }
            ExportedPart::Chunks(stream) => {
                let Some(chunks) = record.streams.get(usize::from(stream)).map(|stream| stream.chunks) else {
                    return Ok(None);
                };
                if after < chunks {
                    page.chunks.push((stream, read_chunk(conn, id, stream, after).await?));
                    cursor.after += 1;
                }
                ExportedPart::Chunks(stream + 1)
            }
        };
        if page != Append::default() {
            return Ok(Some(page));
        }
        cursor.begin(following);
    }
}

async fn read_chunk(
    conn: &mut SqliteConnection,
    id: CaptureId,
    stream: u16,
    seq: u32,
) -> Result<EncodedChunk, StoreError> {
    let info = read::chunk_info(conn, id, stream, seq).await?;
    let bytes = read::chunk(conn, id, stream, seq).await?;
    let (rows, first_ns, last_ns, stats) = (info.rows, info.first_ns, info.last_ns, info.stats);
    Ok(EncodedChunk { rows, first_ns, last_ns, stats, bytes, leaves: Vec::new() })
}

/// What a capture holds but for its names: two captures with the same digest are the same recording. The title, the
/// owner, the symbols and what is kept of code do not count, because they may change.
pub(crate) struct Content(Sha256);

impl Content {
    /// Begins with what describes the capture.
    pub(crate) fn begin(record: &CaptureRecord, script: Option<&ScriptRecord>) -> Result<Self, StoreError> {
        let mut content = Self(Sha256::new());
        content.bytes(to_json(&record.spec, "the spec")?.as_bytes());
        content.bytes(to_json(&record.host, "the facts of the host")?.as_bytes());
        content.number(record.started_unix_ns.cast_unsigned());
        content.number(record.start_ns);
        content.number(record.end_ns);
        content.number(u64::from(record.simulated));
        for stream in &record.streams {
            content.bytes(to_json(&stream.schema, "the columns of a stream")?.as_bytes());
        }
        content.bytes(to_json(&record.ledger, "the ledger")?.as_bytes());
        if let Some(script) = script {
            content.bytes(to_json(script, "the script")?.as_bytes());
        }
        Ok(content)
    }

    fn number(&mut self, number: u64) {
        self.0.update(number.to_le_bytes());
    }

    fn numbers(&mut self, numbers: &[u64]) {
        numbers.iter().for_each(|number| self.number(*number));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    /// Goes on with a page.
    pub(crate) fn add(&mut self, page: &Append) {
        for (id, text) in &page.strings {
            self.number(u64::from(*id));
            self.bytes(text);
        }
        for (id, mapping) in &page.mappings {
            self.number(u64::from(*id));
            self.bytes(mapping_kind(mapping.kind).as_bytes());
            self.bytes(&mapping.build_id);
            self.bytes(&mapping.name);
            self.number(u64::from(mapping.pid));
        }
        for (id, frame) in &page.frames {
            self.numbers(&[u64::from(*id), u64::from(frame.mapping), frame.offset]);
        }
        for (id, stack) in &page.stacks {
            self.numbers(&[u64::from(*id), stack.len() as u64]);
            stack.iter().for_each(|frame| self.number(u64::from(*frame)));
        }
        for change in &page.processes {
            let (kind, value) = process_change(&change.kind);
            self.bytes(kind.as_bytes());
            self.numbers(&[change.time_ns, u64::from(change.pid), u64::from(change.tid), u64::from(value)]);
        }
        for line in &page.output {
            self.number(line.time_ns);
            self.number(crate::rows::descriptor(line.stream).cast_unsigned());
            self.bytes(&line.bytes);
        }
        for (stream, chunk) in &page.chunks {
            self.number(u64::from(*stream));
            self.bytes(&chunk.bytes);
        }
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// The digest of a whole capture from its beginning.
pub(crate) async fn digest(
    conn: &mut SqliteConnection,
    record: &CaptureRecord,
    script: Option<&ScriptRecord>,
    mut cursor: Cursor,
) -> Result<[u8; 32], StoreError> {
    let mut content = Content::begin(record, script)?;
    while let Some(page) = next(conn, record, &mut cursor).await? {
        content.add(&page);
    }
    Ok(content.finish())
}
