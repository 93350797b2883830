//! What people keep by name: probes, scripts, recipes, filters, queries and selections, each with the texts that it had.
//!
//! What a text says is not looked at here, and who may read and change something is decided where people are known: whoever asks
//! says for whom (a reader gets what is theirs and what is shared), and whose it is that is changed.

use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use crate::{
    LibraryKind, StoreError,
    error::failed,
    limits::{at_most, limit},
    rows::{narrow, unreadable},
    writer::{Durability, Writer},
};

const SAVING: &str = "saving to the library";
const READING: &str = "reading the library";
/// How long something that was deleted can be brought back.
const KEPT_NS: i64 = 30 * 24 * 3600 * 1_000_000_000;

/// Something that is kept by name, without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryEntry {
    /// Names it for ever.
    pub id: u32,
    /// What it is.
    pub kind: LibraryKind,
    /// What it is called.
    pub name: String,
    /// Whose it is.
    pub owner: String,
    /// What it is for, in one line.
    pub description: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Whether everybody may read and use it.
    pub shared: bool,
    /// The version of its text that is used.
    pub version: u32,
    /// When it was made, nanoseconds since 1970 by the wall clock: a label, never compared.
    pub created_unix_ns: i64,
    /// When anything of it was changed last, likewise.
    pub changed_unix_ns: i64,
    /// When it was deleted, likewise; none if it was not.
    pub deleted_unix_ns: Option<i64>,
}

/// Something that is kept by name, with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryItem {
    /// All but the text.
    pub entry: LibraryEntry,
    /// The text that is used. The store does not look into it.
    pub text: String,
}

/// A text that something had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryVersion {
    /// 1 and then one more for each text.
    pub version: u32,
    /// Who saved it.
    pub author: String,
    /// When, nanoseconds since 1970 by the wall clock: a label, never compared.
    pub saved_unix_ns: i64,
    /// The text.
    pub text: String,
}

/// What is to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLibraryItem {
    /// What it is.
    pub kind: LibraryKind,
    /// What it is called, at most 64 bytes.
    pub name: String,
    /// Whose it is, and who saves it.
    pub owner: String,
    /// What it is for.
    pub description: String,
    /// Words to find it by, without blanks in them.
    pub tags: Vec<String>,
    /// Whether everybody may read and use it.
    pub shared: bool,
    /// Its text, at most 64 KiB.
    pub text: String,
    /// Now, nanoseconds since 1970 by the wall clock.
    pub at_unix_ns: i64,
}

/// What becomes of something that is kept; what is none stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LibraryChange {
    /// The version that was seen; none where that does not matter.
    pub seen: Option<u32>,
    /// What it is called.
    pub name: Option<String>,
    /// Whose it is.
    pub owner: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Words to find it by.
    pub tags: Option<Vec<String>>,
    /// Whether everybody may read and use it.
    pub shared: Option<bool>,
    /// Its text; another one is another version.
    pub text: Option<String>,
    /// Who changes it.
    pub author: String,
    /// Now, nanoseconds since 1970 by the wall clock.
    pub at_unix_ns: i64,
}

type Row = (i64, String, String, String, String, String, bool, i64, i64, i64, Option<i64>);

const COLUMNS: &str = "SELECT id, kind, name, owner, description, tags, shared, version, created_unix_ns, \
                       changed_unix_ns, deleted_unix_ns FROM library";

fn entry(row: Row) -> Result<LibraryEntry, StoreError> {
    let (id, kind, name, owner, description, tags, shared, version, created_unix_ns, changed_unix_ns, deleted) = row;
    Ok(LibraryEntry {
        id: narrow(id, "the id of something in the library")?,
        kind: kind.parse().map_err(|_unknown| unreadable("a kind of the library"))?,
        name,
        owner,
        description,
        tags: tags.split(' ').filter(|tag| !tag.is_empty()).map(str::to_owned).collect(),
        shared,
        version: narrow(version, "a version of the library")?,
        created_unix_ns,
        changed_unix_ns,
        deleted_unix_ns: deleted,
    })
}

fn check(name: &str, owner: &str, (description, tags): (&str, &[String]), text: &str) -> Result<(), StoreError> {
    at_most("the name", name.len(), limit::LIBRARY_NAME_BYTES)?;
    at_most("the user's name", owner.len(), limit::USER_BYTES)?;
    at_most("the description", description.len(), limit::LIBRARY_DESCRIPTION_BYTES)?;
    at_most("the tags", tags.iter().map(|tag| tag.len() + 1).sum(), limit::LIBRARY_TAGS_BYTES)?;
    at_most("the text", text.len(), limit::LIBRARY_TEXT_BYTES)
}

/// Keeps something that is new; gives its id.
pub(crate) async fn put(writer: &mut Writer, new: &NewLibraryItem) -> Result<u32, StoreError> {
    check(&new.name, &new.owner, (&new.description, &new.tags), &new.text)?;
    writer.has_room_for(new.text.len() as u64).await?;
    writer.begin(Durability::Full).await?;
    let done = put_in(&mut writer.conn, new).await;
    writer.end(done).await
}

async fn put_in(conn: &mut SqliteConnection, new: &NewLibraryItem) -> Result<u32, StoreError> {
    let NewLibraryItem { kind, name, owner, description, tags, shared, text, at_unix_ns } = new;
    forget_deleted(conn, *at_unix_ns).await?;
    is_free(conn, (*kind, name), (owner, *shared), None).await?;
    // The id of what is gone must not become another thing's, to which a link would lead then.
    let insert = "INSERT INTO library (id, kind, name, owner, description, tags, shared, version, created_unix_ns, \
                  changed_unix_ns) VALUES (abs(random() % 4294967295) + 1, ?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?7)";
    let insert = sqlx::query(insert).bind(kind.as_str()).bind(name).bind(owner).bind(description);
    let insert = insert.bind(tags.join(" ")).bind(shared).bind(at_unix_ns);
    let id = insert.execute(&mut *conn).await.map_err(failed(SAVING))?.last_insert_rowid();
    add_version(conn, (id, 1), text, (owner, *at_unix_ns)).await?;
    are_few(conn, *kind, owner).await?;
    narrow(id, "the id of something in the library")
}

async fn add_version(
    conn: &mut SqliteConnection,
    (id, version): (i64, u32),
    text: &str,
    (author, at_unix_ns): (&str, i64),
) -> Result<(), StoreError> {
    let insert = sqlx::query("INSERT INTO library_versions VALUES (?, ?, ?, ?, ?)").bind(id).bind(version);
    let insert = insert.bind(text).bind(author).bind(at_unix_ns);
    insert.execute(conn).await.map_err(failed(SAVING))?;
    Ok(())
}

/// Fails if the owner has another one of the name, or somebody shares one of the name that is to be shared.
async fn is_free(
    conn: &mut SqliteConnection,
    (kind, name): (LibraryKind, &str),
    (owner, shared): (&str, bool),
    but: Option<u32>,
) -> Result<(), StoreError> {
    let select = "SELECT count(*) FROM library WHERE kind = ? AND name = ? AND deleted_unix_ns IS NULL \
                  AND (owner = ? OR (shared AND ?)) AND id IS NOT ?";
    let query = sqlx::query_as(select).bind(kind.as_str()).bind(name).bind(owner).bind(shared).bind(but);
    let (count,): (i64,) = query.fetch_one(conn).await.map_err(failed(SAVING))?;
    if count == 0 { Ok(()) } else { Err(StoreError::LibraryNameTaken { kind, name: name.to_owned() }) }
}

async fn are_few(conn: &mut SqliteConnection, kind: LibraryKind, owner: &str) -> Result<(), StoreError> {
    let select = "SELECT count(*), count(*) FILTER (WHERE owner = ?) FROM library \
                  WHERE kind = ? AND deleted_unix_ns IS NULL";
    let query = sqlx::query_as(select).bind(owner).bind(kind.as_str());
    let (all, of_owner): (i64, i64) = query.fetch_one(conn).await.map_err(failed(SAVING))?;
    let limits = [
        ("another one of this user in the library", of_owner, limit::LIBRARY_OF_OWNER),
        ("another one in the library", all, limit::LIBRARY_OF_KIND),
    ];
    for (what, count, most) in limits {
        if count > most {
            let why = format!("at most {most} of the kind {} are kept; delete one first", kind.as_str());
            return Err(StoreError::Refused { what, why });
        }
    }
    Ok(())
}

/// Removes what was deleted long ago, and the oldest where much was deleted.
async fn forget_deleted(conn: &mut SqliteConnection, now_unix_ns: i64) -> Result<(), StoreError> {
    let old = "SELECT id FROM library WHERE deleted_unix_ns IS NOT NULL AND (deleted_unix_ns < ?1 OR id NOT IN \
               (SELECT id FROM library WHERE deleted_unix_ns IS NOT NULL ORDER BY deleted_unix_ns DESC LIMIT ?2))";
    let query = sqlx::query_as(old).bind(now_unix_ns.saturating_sub(KEPT_NS)).bind(limit::LIBRARY_DELETED);
    let ids: Vec<(i64,)> = query.fetch_all(&mut *conn).await.map_err(failed(SAVING))?;
    for (id,) in ids {
        for delete in ["DELETE FROM library_versions WHERE item = ?", "DELETE FROM library WHERE id = ?"] {
            sqlx::query(delete).bind(id).execute(&mut *conn).await.map_err(failed(SAVING))?;
        }
    }
    Ok(())
}

/// Changes something that is `owner`'s; gives it as it is now.
pub(crate) async fn change(
    writer: &mut Writer,
    (id, owner): (u32, &str),
    change: LibraryChange,
) -> Result<LibraryEntry, StoreError> {
    writer.has_room_for(change.text.as_ref().map_or(0, String::len) as u64).await?;
    writer.begin(Durability::Full).await?;
    let done = change_in(&mut writer.conn, (id, owner), change).await;
    writer.end(done).await
}

async fn change_in(
    conn: &mut SqliteConnection,
    (id, owner): (u32, &str),
    change: LibraryChange,
) -> Result<LibraryEntry, StoreError> {
    let LibraryItem { entry: before, text } = shown(conn, id, owner).await?;
    if change.seen.is_some_and(|seen| seen != before.version) {
        return Err(StoreError::LibraryChanged { name: before.name });
    }
    let another = change.text.filter(|wanted| *wanted != text);
    let entry = LibraryEntry {
        name: change.name.unwrap_or(before.name),
        owner: change.owner.unwrap_or(before.owner),
        description: change.description.unwrap_or(before.description),
        tags: change.tags.unwrap_or(before.tags),
        shared: change.shared.unwrap_or(before.shared),
        version: before.version.saturating_add(u32::from(another.is_some())),
        changed_unix_ns: change.at_unix_ns,
        ..before
    };
    let LibraryEntry { kind, name, owner, description, tags, shared, version, .. } = &entry;
    check(name, owner, (description, tags), another.as_deref().unwrap_or_default())?;
    is_free(conn, (*kind, name), (owner, *shared), Some(id)).await?;
    let update = "UPDATE library SET name = ?2, owner = ?3, description = ?4, tags = ?5, shared = ?6, version = ?7, \
                  changed_unix_ns = ?8 WHERE id = ?1";
    let update = sqlx::query(update).bind(id).bind(name).bind(owner).bind(description).bind(tags.join(" "));
    let update = update.bind(shared).bind(version).bind(entry.changed_unix_ns);
    update.execute(&mut *conn).await.map_err(failed(SAVING))?;
    if let Some(text) = another {
        add_version(conn, (i64::from(id), *version), &text, (&change.author, change.at_unix_ns)).await?;
        let delete = sqlx::query("DELETE FROM library_versions WHERE item = ? AND version <= ?").bind(id);
        let delete = delete.bind(i64::from(*version) - limit::LIBRARY_VERSIONS);
        delete.execute(&mut *conn).await.map_err(failed(SAVING))?;
    }
    are_few(conn, *kind, owner).await?;
    Ok(entry)
}

/// Something that is `owner`'s and not deleted.
async fn shown(conn: &mut SqliteConnection, id: u32, owner: &str) -> Result<LibraryItem, StoreError> {
    let found = one(conn, id).await?;
    let is_shown = |item: &LibraryItem| item.entry.owner == owner && item.entry.deleted_unix_ns.is_none();
    found.filter(is_shown).ok_or(StoreError::NoLibraryItem { id })
}

/// The one of this id, also a deleted one.
pub(crate) async fn one(conn: &mut SqliteConnection, id: u32) -> Result<Option<LibraryItem>, StoreError> {
    let query = sqlx::query_as(sqlx::AssertSqlSafe(format!("{COLUMNS} WHERE id = ?"))).bind(id);
    let row: Option<Row> = query.fetch_optional(&mut *conn).await.map_err(failed(READING))?;
    let Some(entry) = row.map(entry).transpose()? else { return Ok(None) };
    let text = text_of(conn, id, entry.version).await?.ok_or_else(|| unreadable("something without its text"))?;
    Ok(Some(LibraryItem { entry, text: text.text }))
}

async fn text_of(conn: &mut SqliteConnection, id: u32, version: u32) -> Result<Option<LibraryVersion>, StoreError> {
    let found = versions_where(conn, id, Some(version)).await?;
    Ok(found.into_iter().next())
}

async fn versions_where(
    conn: &mut SqliteConnection,
    id: u32,
    version: Option<u32>,
) -> Result<Vec<LibraryVersion>, StoreError> {
    let select = "SELECT version, author, saved_unix_ns, text FROM library_versions \
                  WHERE item = ?1 AND (?2 IS NULL OR version = ?2) ORDER BY version DESC";
    let query = sqlx::query_as(select).bind(id).bind(version);
    let rows: Vec<(i64, String, i64, String)> = query.fetch_all(conn).await.map_err(failed(READING))?;
    let read = |(version, author, saved_unix_ns, text)| {
        Ok(LibraryVersion { version: narrow(version, "a version of the library")?, author, saved_unix_ns, text })
    };
    rows.into_iter().map(read).collect()
}

/// The texts that something had, the last one first.
pub(crate) async fn versions(conn: &mut SqliteConnection, id: u32) -> Result<Vec<LibraryVersion>, StoreError> {
    versions_where(conn, id, None).await
}

/// What `reader` may read, or everything if that is none, by kind and name; of what has the same name the reader's own comes first.
pub(crate) async fn list(
    conn: &mut SqliteConnection,
    (reader, kind, deleted): (Option<&str>, Option<LibraryKind>, bool),
) -> Result<Vec<LibraryEntry>, StoreError> {
    let select = format!(
        "{COLUMNS} WHERE (?1 IS NULL OR owner = ?1 OR (shared AND NOT ?3)) AND (?2 IS NULL OR kind = ?2) AND \
         (deleted_unix_ns IS NOT NULL) = ?3 ORDER BY kind, name, owner IS NOT ?1, id"
    );
    let query = sqlx::query_as(sqlx::AssertSqlSafe(select)).bind(reader).bind(kind.map(LibraryKind::as_str));
    let rows: Vec<Row> = query.bind(deleted).fetch_all(conn).await.map_err(failed(READING))?;
    rows.into_iter().map(entry).collect()
}

/// The same of one kind, with their texts.
pub(crate) async fn items(
    conn: &mut SqliteConnection,
    reader: Option<&str>,
    kind: LibraryKind,
) -> Result<Vec<LibraryItem>, StoreError> {
    let entries = list(conn, (reader, Some(kind), false)).await?;
    let mut items = Vec::with_capacity(entries.len());
    for entry in entries {
        let text = text_of(conn, entry.id, entry.version).await?;
        let text = text.ok_or_else(|| unreadable("something without its text"))?.text;
        items.push(LibraryItem { entry, text });
    }
    Ok(items)
}

/// Deletes what is `owner`'s, so that it can be brought back for a while; says whether there was one.
pub(crate) async fn delete(
    conn: &mut SqliteConnection,
    (id, owner): (u32, &str),
    at_unix_ns: i64,
) -> Result<bool, StoreError> {
    let update = "UPDATE library SET deleted_unix_ns = ?3 WHERE id = ?1 AND owner = ?2 AND deleted_unix_ns IS NULL";
    let update = sqlx::query(update).bind(id).bind(owner).bind(at_unix_ns);
    let deleted = update.execute(conn).await.map_err(failed("deleting from the library"))?;
    Ok(deleted.rows_affected() > 0)
}

/// Brings back what was deleted and is `owner`'s.
pub(crate) async fn undelete(writer: &mut Writer, (id, owner): (u32, &str)) -> Result<LibraryEntry, StoreError> {
    writer.begin(Durability::Full).await?;
    let done = undelete_in(&mut writer.conn, (id, owner)).await;
    writer.end(done).await
}

async fn undelete_in(conn: &mut SqliteConnection, (id, owner): (u32, &str)) -> Result<LibraryEntry, StoreError> {
    let found = one(conn, id).await?.map(|item| item.entry);
    let deleted = found.filter(|entry| entry.owner == owner && entry.deleted_unix_ns.is_some());
    let entry = deleted.ok_or(StoreError::NoLibraryItem { id })?;
    is_free(conn, (entry.kind, &entry.name), (owner, entry.shared), Some(id)).await?;
    let update = sqlx::query("UPDATE library SET deleted_unix_ns = NULL WHERE id = ?").bind(id);
    update.execute(&mut *conn).await.map_err(failed(SAVING))?;
    are_few(conn, entry.kind, owner).await?;
    Ok(LibraryEntry { deleted_unix_ns: None, ..entry })
}
