//! Reading a capture from a file that somebody else may have made.
//!
//! The file is hostile until proved otherwise. It is opened read-only and as immutable (a log beside it is ignored), its
//! own schema is not trusted, and before a table is read its objects must be exactly those of this version, text for
//! text: no view, trigger, generated column or expression of somebody else's is ever evaluated. Then SQLite checks the
//! pages, limits are checked where the sizes can be seen without reading the values, and everything is decoded on the
//! way: chunks are decoded completely, and their extremes and the time index are made anew. Rows go over as values, through the same
//! functions as those of a recorder; the file is never attached to the database.

mod feed;
mod messages;

use std::{collections::HashSet, io::Write as _, path::Path};

use bathyscope_capture::{
    Append, Batch, CaptureId, ColumnData, ColumnStats, ColumnType, KernelFormat, MAX_CHUNK_BYTES, MAX_CHUNK_COLUMNS,
    ScriptRecord, StreamKind, StreamSchema, decode_chunk, leaf_blocks,
};
use sqlx::{ConnectOptions as _, SqliteConnection};

use self::{
    feed::{Feed, FileFeed, Header},
    messages::Messages,
};
pub use messages::{MAX_IMPORT_MESSAGE_BYTES, NextMessage, tell_file};

use crate::{
    CaptureRecord, CaptureState, Origin, StoreError,
    append::{self, Phase},
    database::Database,
    deleted,
    disk::Unfinished,
    error::failed,
    finish,
    firings::FIRINGS_SINCE,
    limits::{cut, limit},
    notes::{self, NOTES_SINCE, NoteRecord, THREADS_SINCE},
    pages::{self, Content, Cursor},
    read, retention,
    rows::{sql, unsigned},
    schema::{self, MIGRATIONS},
    texts,
    writer::{Durability, Writer},
};

const DOING: &str = "reading a file";
/// Counts of a ledger and bounds of time stay below this, so that sums and differences of them cannot overflow.
const MOST: u64 = 1 << 62;
/// The longest name of a stream or column.
const NAME_BYTES: usize = 256;

fn refuse(why: impl Into<String>) -> StoreError {
    StoreError::Import { why: why.into() }
}

/// What the database says about a file that it cannot read is a reason to refuse the file, not a fault of ours.
fn of_file(error: StoreError) -> StoreError {
    match error {
        StoreError::Damaged { why, .. } => refuse(why),
        StoreError::Database { source, .. } => refuse(source.to_string()),
        StoreError::NoChunk { stream, seq, .. } => refuse(format!("chunk {seq} of stream {stream} is missing")),
        StoreError::Refused { what, why } => refuse(format!("{what}: {why}")),
        StoreError::ReadOnly { source, .. } => refuse(source.to_string()),
        StoreError::DamagedPart { what, first, last, .. } => {
            refuse(format!("its {what} {first} to {last} are damaged: their checksum is wrong"))
        }
        StoreError::NoCapture { .. } => refuse("it holds no capture that has ended"),
        other => other,
    }
}

/// For whom a file is read, and when.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    pub(crate) owner: String,
    /// Wall time, nanoseconds since 1970: the age of the capture is counted from it.
    pub(crate) now_unix_ns: i64,
    /// The largest file.
    pub(crate) max_bytes: u64,
}

pub(crate) async fn import_bytes(
    database: &Database,
    bytes: &[u8],
    receiver: Receiver,
) -> Result<CaptureId, StoreError> {
    let path = database.temporary("import");
    let (_unfinished, mut file) = Unfinished::create(path.clone())?;
    file.write_all(bytes).map_err(|source| match source.kind() {
        std::io::ErrorKind::StorageFull => StoreError::DiskFull { free_bytes: 0, reserve_bytes: 0 },
        _ => StoreError::File { doing: "cannot write", path: path.clone(), source },
    })?;
    import(database, &path, receiver).await
}

pub(crate) async fn import(database: &Database, path: &Path, receiver: Receiver) -> Result<CaptureId, StoreError> {
    let most = receiver.max_bytes;
    let metadata = std::fs::metadata(path);
    let metadata =
        metadata.map_err(|source| StoreError::File { doing: "cannot read", path: path.to_owned(), source })?;
    if !metadata.is_file() {
        return Err(refuse("it is not a regular file"));
    }
    if metadata.len() > most {
        return Err(refuse(format!("it has {} bytes; at most {most} are imported", metadata.len())));
    }
    let options = schema::reading(path).immutable(true).pragma("cell_size_check", "ON").pragma("mmap_size", "0");
    let file = options.connect().await.map_err(failed(DOING)).map_err(of_file)?;
    import_feed(database, Feed::File(Box::new(FileFeed::new(file))), receiver).await
}

/// Imports what a child without rights says that it reads in a file.
pub(crate) async fn import_messages(
    database: &Database,
    next: NextMessage,
    receiver: Receiver,
) -> Result<CaptureId, StoreError> {
    let messages = Messages::new(next, receiver.max_bytes);
    import_feed(database, Feed::Messages(messages), receiver).await
}

async fn import_feed(database: &Database, mut feed: Feed, receiver: Receiver) -> Result<CaptureId, StoreError> {
    let database = database.clone();
    // A task of its own: when the caller stops waiting, the capture is either imported or removed, not left half.
    let imported = tokio::spawn(async move {
        let _one_at_a_time = database.importing().await;
        let imported = import_from(&database, &mut feed, &receiver).await;
        feed.close().await;
        imported
    });
    imported.await.map_err(|_ended| StoreError::Closed)?
}

async fn import_from(database: &Database, feed: &mut Feed, receiver: &Receiver) -> Result<CaptureId, StoreError> {
    let Header { record, script, notes, digest } = feed.header().await?;
    let id = match choose_id(database, record.id, &digest).await? {
        Choice::Deleted(id) => {
            // Somebody may have restored or discarded it meanwhile.
            database.control(move |conn| Box::pin(async move { deleted::restore(conn, id).await })).await?;
            add_notes(database, id, (notes, &receiver.owner)).await?;
            return Ok(id);
        }
        Choice::Known(id) => {
            add_notes(database, id, (notes, &receiver.owner)).await?;
            return Ok(id);
        }
        Choice::Free(id) => id,
    };
    let (new, now_unix_ns) = (record.to_new(id, &receiver.owner), receiver.now_unix_ns);
    database
        .write(move |writer| Box::pin(async move { begin(writer, &new, now_unix_ns).await }))
        .await
        .map_err(of_file)?;
    let copied = match copy(database, feed, (&record, script), id, &digest).await {
        Ok(()) => feed.finish().await,
        copied => copied,
    };
    let shown = match copied {
        Ok(()) => show_copied(database, id, (record.to_end(), notes, receiver.owner.clone())).await,
        Err(error) => Err(error),
    };
    match shown {
        Ok(()) => Ok(id),
        Err(error) => {
            database.remove_rows(id).await?;
            Err(error)
        }
    }
}

/// Rows that must not be there, by what they would be.
const LIMITS: [(&str, &str); 12] = [
    ("more or less than one capture", "SELECT count(*) <> 1 FROM captures"),
    (
        "a capture whose texts are too long",
        "SELECT count(*) FROM captures WHERE octet_length(spec) > 4194304 OR \
      octet_length(host) > 4194304 OR octet_length(title) > 256 OR octet_length(owner) > 64 OR octet_length(reason) > 1024",
    ),
    (
        "streams that are too many, too large or not numbered",
        "SELECT count(*) > 256 OR coalesce(max(stream) + 1, 0) <> \
      count(*) OR coalesce(max(octet_length(schema)), 0) > 4194304 OR coalesce(max(octet_length(reading)), 0) > 65536 OR \
      count(DISTINCT capture_id) > 1 FROM streams",
    ),
    (
        "chunks that are not numbered",
        "SELECT count(*) FROM streams s WHERE chunk_count <> (SELECT count(*) FROM chunks c \
      WHERE c.capture_id = s.capture_id AND c.stream = s.stream)",
    ),
    (
        "chunks that are too large",
        "SELECT (SELECT count(*) FROM chunk_data WHERE octet_length(data) > ?1) + \
      (SELECT count(*) FROM chunks WHERE octet_length(stats) > 65536)",
    ),
    (
        "strings that are too long or not numbered",
        "SELECT coalesce(max(octet_length(text)), 0) > 65536 OR \
      coalesce(max(id), 0) <> count(*) OR coalesce(min(id), 1) <> 1 FROM strings",
    ),
    (
        "mappings that are too long or not numbered",
        "SELECT coalesce(max(octet_length(name)), 0) > 65536 OR \
      coalesce(max(octet_length(build_id)), 0) > 64 OR coalesce(max(id), 0) <> count(*) OR coalesce(min(id), 1) <> 1 \
      FROM mappings",
    ),
    (
        "frames that are not numbered",
        "SELECT coalesce(max(id), 0) <> count(*) OR coalesce(min(id), 1) <> 1 FROM frames",
    ),
    (
        "stacks that are too long or not numbered",
        "SELECT coalesce(max(octet_length(frames)), 0) > 16384 OR \
      coalesce(max(id), 0) <> count(*) OR coalesce(min(id), 1) <> 1 FROM stacks",
    ),
    (
        "symbols that are too long",
        "SELECT count(*) FROM symbols WHERE octet_length(function) + octet_length(lines) > 262144",
    ),
    (
        "output that is too long or not numbered",
        "SELECT coalesce(max(octet_length(text)), 0) > 65536 OR \
      coalesce(max(seq) + 1, 0) <> count(*) FROM output",
    ),
    (
        "too many losses, or not numbered",
        "SELECT count(*) > 100000 OR coalesce(max(seq) + 1, 0) <> count(*) FROM losses",
    ),
];

/// The schema version from which on there are scripts.
const SCRIPTS_SINCE: i64 = 2;
/// The schema version from which on it is kept what became of sources, and which streams were computed.
const SOURCES_SINCE: i64 = 9;
/// The schema version from which on what people keep by name is in tables of its own.
const LIBRARY_SINCE: i64 = 12;
/// The schema version from which on captures have labels.
const LABELS_SINCE: i64 = 13;
/// The schema version from which on there are links for people without a login.
const SHARES_SINCE: i64 = 14;
/// The schema version from which on deleted captures can be restored.
const DELETED_SINCE: i64 = 15;
/// The schema version from which on lists of captures have a table of their own.
const LISTED_SINCE: i64 = 16;
/// The schema version from which on there is the track index.
const TRACKS_SINCE: i64 = 10;
/// From which on there are investigations.
const INVESTIGATIONS_SINCE: i64 = 19;
/// From which on there are accounts.
const PEOPLE_SINCE: i64 = 20;
/// From which on captures are runs of series.
const RUNS_SINCE: i64 = 21;
/// From which on captures have lists of who may read them.
const RIGHTS_SINCE: i64 = 22;
/// From which on there are webhooks and identities.
const OUTBOUND_SINCE: i64 = 24;
/// The first version whose sessions have groups.
const LOGIN_GROUPS_SINCE: i64 = 25;
/// Rows of scripts that must not be there.
const SCRIPT_LIMITS: [(&str, &str); 1] = [(
    "a script that is too long",
    "SELECT count(*) > 1 OR coalesce(max(octet_length(plan)), 0) > 4194304 OR \
      coalesce(max(octet_length(probes)), 0) > 4194304 FROM scripts",
)];

/// Rows of instructions that must not be there.
const CODE_LIMITS: [(&str, &str); 1] = [(
    "instructions that are too many or too long",
    "SELECT count(*) > 4096 OR coalesce(max(octet_length(bytes)), 0) > 65536 OR \
      coalesce(max(octet_length(lines)), 0) > 1048576 FROM code",
)];

/// Rows of what people made of captures, and of sources, that must not be there.
const DERIVATION_LIMITS: [(&str, &str); 2] = [
    ("computed streams", "SELECT count(*) FROM derivations"),
    (
        "sources that are too many, not numbered, or end with too long a reason",
        "SELECT count(*) > 16 OR coalesce(max(number) + 1, 0) <> count(*) OR \
      coalesce(max(octet_length(reason)), 0) > 1024 FROM sources",
    ),
];

/// What people keep by name, which is in no file of a capture: as tables had it before version 12, and since.
const RECIPE_LIMITS: [(&str, &str); 1] = [("recipes", "SELECT count(*) FROM recipes")];
const LIBRARY_LIMITS: [(&str, &str); 1] =
    [("entries of a library", "SELECT (SELECT count(*) FROM library) + (SELECT count(*) FROM library_versions)")];

/// What people say of captures, likewise.
const LABEL_LIMITS: [(&str, &str); 1] = [("labels of captures", "SELECT count(*) FROM labels")];
/// Links for people without a login, which are in no file of a capture.
const SHARE_LIMITS: [(&str, &str); 1] = [("shares", "SELECT count(*) FROM shares")];
/// What fired, which is of the one capture at most.
const FIRING_LIMITS: [(&str, &str); 2] = [
    ("tokens of flight recorders", "SELECT count(*) FROM fire_tokens"),
    (
        "firings that are too many or too long",
        "SELECT count(*) > 1 OR coalesce(max(max(octet_length(condition), octet_length(value))), 0) > 1024 FROM firings",
    ),
];
/// Deleted captures, which are not either.
const DELETED_LIMITS: [(&str, &str); 1] = [("deleted captures", "SELECT count(*) FROM deleted")];

/// Rows of the list of captures, which follow from others.
const LISTED_LIMITS: [(&str, &str); 1] = [("lines of the list of captures", "SELECT count(*) FROM listed")];

/// Investigations, which are not either.
const INVESTIGATION_LIMITS: [(&str, &str); 1] =
    [("investigations", "SELECT (SELECT count(*) FROM investigations) + (SELECT count(*) FROM blocks)")];

/// Accounts and their tokens, which are not either.
const PEOPLE_LIMITS: [(&str, &str); 1] =
    [("accounts", "SELECT (SELECT count(*) FROM accounts) + (SELECT count(*) FROM api_tokens)")];
/// What captures are runs of, which follows from them, and marks.
const RUN_LIMITS: [(&str, &str); 1] =
    [("runs of series and marks", "SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM marks)")];

/// Who may read what, which is in no file of a capture.
const RIGHT_LIMITS: [(&str, &str); 1] = [(
    "rights and groups of people",
    "SELECT (SELECT count(*) FROM capture_rights) + (SELECT count(*) FROM tag_rights) + (SELECT count(*) FROM groups) + \
     (SELECT count(*) FROM group_members)",
)];

/// Webhooks, messages to them, and who people are elsewhere, which are not either.
const OUTBOUND_LIMITS: [(&str, &str); 1] = [(
    "webhooks and identities",
    "SELECT (SELECT count(*) FROM webhooks) + (SELECT count(*) FROM deliveries) + (SELECT count(*) FROM identities)",
)];

/// Groups of logins, which are not either.
const LOGIN_GROUP_LIMITS: [(&str, &str); 1] = [("groups of logins", "SELECT count(*) FROM session_groups")];

/// Notes of before threads that must not be there.
const PLAIN_NOTE_LIMITS: [(&str, &str); 1] = [(
    "notes that are too many or too long",
    "SELECT count(*) > 1000 OR coalesce(max(octet_length(text)), 0) > 2048 OR coalesce(max(octet_length(track)), 0) > 256 OR \
      coalesce(max(max(octet_length(author), octet_length(owner), coalesce(octet_length(changed_by), 0))), 0) > 64 FROM notes",
)];

/// Notes, and what they said before, that must not be there.
const NOTE_LIMITS: [(&str, &str); 2] = [
    (
        "notes that are too many or too long",
        "SELECT count(*) > 1000 OR coalesce(max(octet_length(text)), 0) > 8192 OR coalesce(max(octet_length(track)), 0) > 256 OR \
          coalesce(max(octet_length(view)), 0) > 8192 OR coalesce(max(octet_length(place)), 0) > 4200 OR \
          coalesce(max(max(octet_length(author), octet_length(owner), coalesce(octet_length(changed_by), 0), \
          coalesce(octet_length(resolved_by), 0))), 0) > 64 FROM notes",
    ),
    (
        "versions of notes that are too many or too long",
        "SELECT count(*) > 100000 OR coalesce(max(octet_length(content)), 0) > 131072 OR \
          coalesce(sum(octet_length(content)), 0) > 67108864 OR coalesce(max(octet_length(saved_by)), 0) > 64 FROM note_versions",
    ),
];

/// Rows of the track index, which follows from the chunks and is made anew.
const TRACK_LIMITS: [(&str, &str); 1] = [(
    "pages of the track index, which belong to no file",
    "SELECT (SELECT count(*) FROM track_directories) + (SELECT count(*) FROM track_pages)",
)];

/// Checks version, tables, pages and sizes, in this order: each is safe once those before it are. Gives the version.
///
/// A file of an older version is read as it is: version 1 has no scripts, and its losses are of fewer
/// stages; those before version 5 have no instructions; those before version 9 do not say what became of sources; those
/// before version 11 have no notes; those before version 17 do not say what fired.
async fn check_file(file: &mut SqliteConnection) -> Result<i64, StoreError> {
    let known = schema::newest(&MIGRATIONS);
    let version = match schema::file_version(file).await? {
        Some(version) if (1..=known).contains(&version) => version,
        Some(version) => {
            return Err(refuse(format!("it has schema version {version}, this program reads up to version {known}")));
        }
        None => return Err(refuse("it is a database of another program")),
    };
    let found = schema::objects(file).await.map_err(failed(DOING))?;
    let mut expected = schema::expected_objects(&schema::up_to(&MIGRATIONS, version)).await?;
    expected.retain(|(_, name, _)| name != schema::SEARCH);
    let (others,): (i64,) = sqlx::query_as("SELECT count(*) FROM sqlite_schema WHERE tbl_name = '_sqlx_migrations'")
        .fetch_one(&mut *file)
        .await
        .map_err(failed(DOING))?;
    if others > 0 {
        return Err(refuse("it is a whole database, not the file of one capture"));
    }
    if let Some((kind, name, _)) = found.symmetric_difference(&expected).next() {
        let name = bathyscope_capture::visible(cut(name, 80).as_bytes());
        return Err(refuse(format!("its {kind} {name} is not as this program makes it")));
    }
    let (check,): (String,) =
        sqlx::query_as("PRAGMA quick_check(1)").fetch_one(&mut *file).await.map_err(failed(DOING))?;
    if check != "ok" {
        return Err(refuse("its pages are damaged"));
    }
    let of_scripts = SCRIPT_LIMITS.into_iter().filter(|_| version >= SCRIPTS_SINCE);
    let of_code = CODE_LIMITS.into_iter().filter(|_| version >= pages::CODE_SINCE);
    let of_sources = DERIVATION_LIMITS.into_iter().filter(|_| version >= SOURCES_SINCE);
    let of_tracks = TRACK_LIMITS.into_iter().filter(|_| version >= TRACKS_SINCE);
    let of_plain = PLAIN_NOTE_LIMITS.into_iter().filter(|_| (NOTES_SINCE..THREADS_SINCE).contains(&version));
    let of_notes = NOTE_LIMITS.into_iter().filter(|_| version >= THREADS_SINCE);
    let of_recipes = RECIPE_LIMITS.into_iter().filter(|_| (SOURCES_SINCE..LIBRARY_SINCE).contains(&version));
    let of_library = LIBRARY_LIMITS.into_iter().filter(|_| version >= LIBRARY_SINCE);
    let of_labels = LABEL_LIMITS.into_iter().filter(|_| version >= LABELS_SINCE);
    let of_shares = SHARE_LIMITS.into_iter().filter(|_| version >= SHARES_SINCE);
    let of_deleted = DELETED_LIMITS.into_iter().filter(|_| version >= DELETED_SINCE);
    let of_firings = FIRING_LIMITS.into_iter().filter(|_| version >= FIRINGS_SINCE);
    let of_listed = LISTED_LIMITS.into_iter().filter(|_| version >= LISTED_SINCE);
    let of_pages = INVESTIGATION_LIMITS.into_iter().filter(|_| version >= INVESTIGATIONS_SINCE);
    let of_accounts = PEOPLE_LIMITS.into_iter().filter(|_| version >= PEOPLE_SINCE);
    let of_rights = RIGHT_LIMITS.into_iter().filter(|_| version >= RIGHTS_SINCE);
    let of_runs = RUN_LIMITS.into_iter().filter(|_| version >= RUNS_SINCE);
    let of_people = of_sources.chain(of_plain).chain(of_notes).chain(of_recipes).chain(of_library).chain(of_labels);
    let of_people = of_people.chain(of_shares).chain(of_deleted).chain(of_firings).chain(of_listed).chain(of_pages);
    let of_people = of_people.chain(of_accounts).chain(of_runs).chain(of_rights);
    let of_outbound = OUTBOUND_LIMITS.into_iter().filter(|_| version >= OUTBOUND_SINCE);
    let of_logins = LOGIN_GROUP_LIMITS.into_iter().filter(|_| version >= LOGIN_GROUPS_SINCE);
    let of_people = of_people.chain(of_outbound).chain(of_logins);
    let all = LIMITS.into_iter().chain(of_scripts).chain(of_code).chain(of_tracks).chain(of_people);
    for (what, select) in all {
        let query = sqlx::query_as(select).bind(sql(MAX_CHUNK_BYTES as u64));
        let (bad,): (i64,) = query.fetch_one(&mut *file).await.map_err(failed(DOING))?;
        if bad != 0 {
            return Err(refuse(format!("it holds {what}")));
        }
    }
    Ok(version)
}

/// The only capture of the file.
async fn read_record(file: &mut SqliteConnection) -> Result<CaptureRecord, StoreError> {
    let (id,): (i64,) =
        sqlx::query_as("SELECT id FROM captures LIMIT 1").fetch_one(&mut *file).await.map_err(failed(DOING))?;
    read::capture(file, CaptureId::from_bits(unsigned(id))).await
}

fn check_record(record: &CaptureRecord) -> Result<(), StoreError> {
    if record.state == CaptureState::Recording {
        return Err(refuse("its capture has not ended"));
    }
    record.spec.validate().map_err(|error| refuse(format!("its spec: {error}")))?;
    if record.sources.len() > record.spec.sources.len() || record.sources.iter().any(|end| end.reason.len() > 1024) {
        return Err(refuse("it says more of sources than there are"));
    }
    if record.start_ns > record.end_ns || record.end_ns > MOST {
        return Err(refuse("its capture ends before it begins"));
    }
    for stream in &record.streams {
        check_schema(&stream.schema).map_err(refuse)?;
    }
    let ledger = &record.ledger;
    let totals = ledger.streams.iter().flat_map(|totals| [totals.hits, totals.filtered, totals.emitted, totals.stored]);
    let lost = ledger.losses.iter().fold(0_u64, |sum, loss| sum.saturating_add(loss.count));
    if totals.chain([lost]).any(|count| count > MOST) {
        return Err(refuse("its ledger counts more than can be"));
    }
    let streams = record.streams.len();
    if ledger.losses.iter().any(|loss| loss.stream.is_some_and(|stream| usize::from(stream) >= streams)) {
        return Err(refuse("a loss is of a stream that does not exist"));
    }
    Ok(())
}

fn check_schema(schema: &StreamSchema) -> Result<(), &'static str> {
    if schema.columns.len() > MAX_CHUNK_COLUMNS {
        return Err("a stream has too many columns");
    }
    let common = StreamSchema::COMMON.iter().zip(&schema.columns);
    let begins = common.filter(|((name, ty, _), column)| column.name == *name && column.ty == *ty).count();
    if begins != StreamSchema::COMMON.len() {
        return Err("a stream does not begin with the common columns");
    }
    let has_stack = schema.columns.get(StreamSchema::STACK).is_some_and(|column| column.ty == ColumnType::Stack);
    if schema.kind == StreamKind::Samples && !has_stack {
        return Err("samples have no column of stacks");
    }
    let mut names = HashSet::new();
    if !schema.columns.iter().all(|column| names.insert(&column.name)) {
        return Err("two columns of a stream have the same name");
    }
    if let Some(format) = &schema.format {
        let longest = format.constants.keys().map(String::len).max();
        if format.text.len() > KernelFormat::MAX_TEXT_BYTES
            || format.constants.len() > KernelFormat::MAX_CONSTANTS
            || longest > Some(NAME_BYTES)
        {
            return Err("the kernel's format of an event is too long");
        }
    }
    if schema.derived.is_some() {
        return Err("a stream was computed: these are computed anew from what was recorded, and not taken from files");
    }
    schema.check_meaning()?;
    let longest = schema.columns.iter().map(|column| column.name.len()).chain([schema.name.len()]).max();
    if longest > Some(NAME_BYTES) { Err("the name of a stream or column is too long") } else { Ok(()) }
}

/// Under which id a capture is imported.
enum Choice {
    /// It is here already.
    Known(CaptureId),
    /// Somebody deleted it, and it can be restored.
    Deleted(CaptureId),
    /// Nothing has this id.
    Free(CaptureId),
}

/// The file's own id if it is free; else one made from the content, so that the same file gets the same id each time.
async fn choose_id(database: &Database, own: CaptureId, digest: &[u8; 32]) -> Result<Choice, StoreError> {
    let (parts, _) = digest.as_chunks::<8>();
    let made = parts.iter().map(|part| CaptureId::from_bits(u64::from_le_bytes(*part)));
    for id in [own].into_iter().chain(made) {
        let mut conn = database.reader().await?;
        let select = sqlx::query_as("SELECT phase FROM captures WHERE id = ?").bind(sql(id.bits()));
        let row: Option<(String,)> =
            select.fetch_optional(&mut *conn).await.map_err(failed("looking for a capture"))?;
        let Some((phase,)) = row else { return Ok(Choice::Free(id)) };
        let is_shown = phase == Phase::Ready.as_str();
        if is_shown || deleted::has(&mut conn, id).await? {
            let record = read::shown_or_hidden(&mut conn, id).await?.recorded();
            let script = read::script(&mut conn, id).await?;
            let cursor = Cursor::of_recorded(&mut conn, id).await?;
            if pages::digest(&mut conn, &record, script.as_ref(), cursor).await? == *digest {
                return Ok(if is_shown { Choice::Known(id) } else { Choice::Deleted(id) });
            }
        }
    }
    Err(refuse("captures with other content have all ids that it could get"))
}

async fn begin(writer: &mut Writer, new: &crate::NewCapture, now_unix_ns: i64) -> Result<(), StoreError> {
    writer.begin(Durability::Full).await?;
    let made = async {
        append::insert_capture(&mut writer.conn, new, Phase::Importing, Origin::Imported).await?;
        retention::since(&mut writer.conn, new.id, now_unix_ns).await
    };
    let made = made.await;
    writer.end(made).await
}

/// Copies all rows, checked, and then shows the capture.
async fn copy(
    database: &Database,
    feed: &mut Feed,
    (record, script): (&CaptureRecord, Option<ScriptRecord>),
    id: CaptureId,
    digest: &[u8; 32],
) -> Result<(), StoreError> {
    let mut content = Content::begin(record, script.as_ref())?;
    if let Some(script) = script {
        let added = database.write(move |writer| Box::pin(async move { add_script(writer, id, &script).await })).await;
        added.map_err(of_file)?;
    }
    let mut known = Known::default();
    while let Some(mut page) = feed.next().await? {
        content.add(&page);
        known.check(record, &mut page).map_err(refuse)?;
        let added = database.write(move |writer| Box::pin(async move { add(writer, id, &page).await })).await;
        added.map_err(of_file)?;
    }
    if content.finish() != *digest {
        return Err(refuse("it was changed while it was read"));
    }
    Ok(())
}

/// Ends what was copied, and shows it.
async fn show_copied(
    database: &Database,
    id: CaptureId,
    (end, notes, owner): (crate::End, Vec<NoteRecord>, String),
) -> Result<(), StoreError> {
    database
        .write(move |writer| {
            Box::pin(async move {
                finish::close_index(writer, id).await;
                writer.begin(Durability::Full).await?;
                let done = async {
                    show(&mut writer.conn, id, &end).await?;
                    notes::add_imported(&mut writer.conn, id, (notes, &owner)).await
                };
                let done = done.await;
                writer.end(done).await
            })
        })
        .await
        .map_err(of_file)
}

/// Adds the notes of a file to a capture that is here already.
async fn add_notes(
    database: &Database,
    id: CaptureId,
    (notes, owner): (Vec<NoteRecord>, &str),
) -> Result<(), StoreError> {
    if notes.is_empty() {
        return Ok(());
    }
    let owner = owner.to_owned();
    let added = database.write(move |writer| {
        Box::pin(async move {
            writer.has_room_for(2 * notes::size(&notes)).await?;
            writer.begin(Durability::Full).await?;
            let done = notes::add_imported(&mut writer.conn, id, (notes, &owner)).await;
            writer.end(done).await
        })
    });
    added.await.map_err(of_file)
}

async fn add(writer: &mut Writer, id: CaptureId, page: &Append) -> Result<(), StoreError> {
    writer.has_room_for(2 * append::size_of(page)).await?;
    writer.begin(Durability::Normal).await?;
    let done = append::grow(writer, id, page).await;
    append::end_growing(writer, id, done).await
}

async fn add_script(writer: &mut Writer, id: CaptureId, script: &ScriptRecord) -> Result<(), StoreError> {
    writer.has_room_for(2 * script.plan.len() as u64).await?;
    writer.begin(Durability::Normal).await?;
    let done = append::insert_script(&mut writer.conn, id, script).await;
    writer.end(done).await
}

async fn show(conn: &mut SqliteConnection, id: CaptureId, end: &crate::End) -> Result<(), StoreError> {
    append::put_ledger(conn, id, &end.ledger, &[]).await?;
    finish::put_end(conn, id, end).await?;
    append::set_phase(conn, id, Phase::Ready, "importing a capture").await?;
    texts::renew(conn, id).await
}

/// How many entries the dictionaries have, to check what refers to them.
#[derive(Default)]
struct Known {
    strings: u32,
    frames: u32,
    stacks: u32,
}

impl Known {
    /// Checks a page, and computes anew what the file says about its chunks. Dictionaries come before what uses them.
    fn check(&mut self, record: &CaptureRecord, page: &mut Append) -> Result<(), String> {
        self.strings = page.strings.iter().map(|entry| entry.0).max().unwrap_or(self.strings);
        self.frames = page.frames.iter().map(|entry| entry.0).max().unwrap_or(self.frames);
        self.stacks = page.stacks.iter().map(|entry| entry.0).max().unwrap_or(self.stacks);
        let bad_frame = |stack: &bathyscope_capture::Stack| {
            stack.len() > limit::STACK_FRAMES || stack.iter().any(|frame| *frame == 0 || *frame > self.frames)
        };
        if page.stacks.iter().any(|(_, stack)| bad_frame(stack)) {
            return Err("a stack has a frame that does not exist".to_owned());
        }
        for (stream, chunk) in &mut page.chunks {
            let schema = &record.streams.get(usize::from(*stream)).ok_or("a chunk of no stream")?.schema;
            let all: Vec<usize> = (0..schema.columns.len()).collect();
            let batch = decode_chunk(schema, &chunk.bytes, &all).map_err(|error| error.to_string())?;
            self.check_ids(schema, &batch)?;
            let times = batch.columns.first().map(ColumnData::as_u64).unwrap_or_default();
            let (Some(first), Some(last), true) = (times.first(), times.last(), times.is_sorted()) else {
                return Err("the rows of a chunk are not in order of time".to_owned());
            };
            (chunk.first_ns, chunk.last_ns) = (*first, *last);
            chunk.rows = u32::try_from(times.len()).map_err(|_many| "a chunk has too many rows")?;
            chunk.stats = batch.columns.iter().map(ColumnStats::of).collect();
            chunk.leaves = leaf_blocks(schema, &batch);
        }
        Ok(())
    }

    fn check_ids(&self, schema: &StreamSchema, batch: &Batch) -> Result<(), String> {
        for (column, data) in schema.columns.iter().zip(&batch.columns) {
            let most = match column.ty {
                ColumnType::Text => self.strings,
                ColumnType::Stack => self.stacks,
                ColumnType::U64 | ColumnType::I64 => continue,
            };
            if data.as_id().iter().any(|id| *id > most) {
                return Err("a row refers to a string or stack that does not exist".to_owned());
            }
        }
        Ok(())
    }
}
