//! Pages that people write on what they look for: a head and blocks in order.
//!
//! What a block is and says is not looked at here, and who may read and change a page is decided where people are known. Head and
//! blocks have a version each, so that of two people who change the same one the second is told; what is moved only changes places.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use crate::{
    InvestigationId, StoreError,
    error::failed,
    limits::{at_most, limit},
    rows::{narrow, sql, unreadable, unsigned},
    writer::{Durability, Writer},
};

const SAVING: &str = "saving an investigation";
const READING: &str = "reading investigations";
/// How long what was deleted can be restored.
const KEPT_NS: i64 = 30 * 24 * 3600 * 1_000_000_000;

/// How far an investigation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InvestigationState {
    /// It goes on.
    #[default]
    Open,
    /// The cause is known.
    Found,
    /// Nothing more is done.
    Closed,
}

impl InvestigationState {
    /// All, each with its name.
    pub const ALL: [(&'static str, Self); 3] = [("open", Self::Open), ("found", Self::Found), ("closed", Self::Closed)];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Found => "found",
            Self::Closed => "closed",
        }
    }
}

impl FromStr for InvestigationState {
    type Err = UnknownInvestigationStateError;

    fn from_str(text: &str) -> Result<Self, UnknownInvestigationStateError> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, state)| *state).ok_or(UnknownInvestigationStateError)
    }
}

/// There is no such state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an investigation is open, found or closed")]
pub struct UnknownInvestigationStateError;

/// Who changed something, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageChange {
    /// Who, by name.
    pub user: String,
    /// When, nanoseconds since 1970 by the wall clock: a label, never compared but for what was deleted.
    pub unix_ns: i64,
}

/// The head of an investigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvestigationRecord {
    /// Names it.
    pub id: InvestigationId,
    /// What it is called.
    pub title: String,
    /// How far it is.
    pub state: InvestigationState,
    /// What came of it, Markdown; empty as long as nothing did.
    pub conclusion: String,
    /// Who began it.
    pub owner: String,
    /// When, nanoseconds since 1970 by the wall clock.
    pub created_unix_ns: i64,
    /// When anything of it was changed last, and by whom.
    pub changed: PageChange,
    /// 1, and one more for each change of title, state or conclusion.
    pub version: u32,
    /// When it was deleted; none if it was not.
    pub deleted_unix_ns: Option<i64>,
}

/// A block of an investigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRecord {
    /// Names it.
    pub id: InvestigationId,
    /// What it is and says, JSON.
    pub content: String,
    /// Who added it.
    pub author: String,
    /// When, nanoseconds since 1970 by the wall clock.
    pub created_unix_ns: i64,
    /// When it was changed last, and by whom.
    pub changed: PageChange,
    /// 1, and one more for each change.
    pub version: u32,
}

/// What becomes of a head; what is none stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadChange {
    /// What it is called.
    pub title: Option<String>,
    /// How far it is.
    pub state: Option<InvestigationState>,
    /// What came of it.
    pub conclusion: Option<String>,
}

type HeadRow = (i64, String, String, String, String, i64, i64, String, i64, Option<i64>);

/// As a head, and how many blocks it has.
type ListedRow = (i64, String, String, String, String, i64, i64, String, i64, Option<i64>, i64);

fn head(row: HeadRow) -> Result<InvestigationRecord, StoreError> {
    let (id, title, state, conclusion, owner, created_unix_ns, unix_ns, user, version, deleted_unix_ns) = row;
    Ok(InvestigationRecord {
        id: InvestigationId::from_bits(unsigned(id)),
        title,
        state: state.parse().map_err(|_unknown| unreadable("the state of an investigation"))?,
        conclusion,
        owner,
        created_unix_ns,
        changed: PageChange { user, unix_ns },
        version: narrow(version, "the version of an investigation")?,
        deleted_unix_ns,
    })
}

fn check_head(record: &InvestigationRecord) -> Result<(), StoreError> {
    at_most("the title of an investigation", record.title.len(), limit::TITLE_BYTES)?;
    at_most("its conclusion", record.conclusion.len(), limit::CONCLUSION_BYTES)?;
    at_most("the user's name", record.owner.len().max(record.changed.user.len()), limit::USER_BYTES)
}

/// Puts a new investigation with its blocks.
pub(crate) async fn put(
    writer: &mut Writer,
    new: &InvestigationRecord,
    blocks: &[BlockRecord],
) -> Result<(), StoreError> {
    let bytes = blocks.iter().map(|block| block.content.len()).sum::<usize>() + new.conclusion.len();
    writer.has_room_for(2 * bytes as u64).await?;
    writer.begin(Durability::Full).await?;
    let done = put_in(&mut writer.conn, new, blocks).await;
    writer.end(done).await
}

async fn put_in(
    conn: &mut SqliteConnection,
    new: &InvestigationRecord,
    blocks: &[BlockRecord],
) -> Result<(), StoreError> {
    check_head(new)?;
    purge(conn, new.created_unix_ns).await?;
    let select = sqlx::query_as("SELECT count(*) FROM investigations WHERE deleted_unix_ns IS NULL");
    let (count,): (i64,) = select.fetch_one(&mut *conn).await.map_err(failed(SAVING))?;
    if count >= limit::INVESTIGATIONS {
        let why = format!("there are {count} investigations; delete some first");
        return Err(StoreError::Refused { what: "another investigation", why });
    }
    let insert = sqlx::query("INSERT INTO investigations VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, NULL)");
    let insert = insert.bind(sql(new.id.bits())).bind(&new.title).bind(new.state.as_str()).bind(&new.conclusion);
    let insert = insert.bind(&new.owner).bind(new.created_unix_ns).bind(new.changed.unix_ns);
    let insert = insert.bind(&new.changed.user).bind(new.version.max(1));
    insert.execute(&mut *conn).await.map_err(failed(SAVING))?;
    for (place, block) in (0..).zip(blocks) {
        insert_block(conn, new.id, (place, block)).await?;
    }
    Ok(())
}

/// Removes for good what was deleted long ago.
async fn purge(conn: &mut SqliteConnection, now_unix_ns: i64) -> Result<(), StoreError> {
    let before = now_unix_ns.saturating_sub(KEPT_NS);
    for statement in [
        "DELETE FROM blocks WHERE deleted_unix_ns < ?1 OR investigation_id IN \
         (SELECT id FROM investigations WHERE deleted_unix_ns < ?1)",
        "DELETE FROM investigations WHERE deleted_unix_ns < ?1",
    ] {
        sqlx::query(statement).bind(before).execute(&mut *conn).await.map_err(failed(SAVING))?;
    }
    Ok(())
}

/// The heads of all that are not deleted, or of those that are: the one that was changed last first.
pub(crate) async fn list(
    conn: &mut SqliteConnection,
    deleted: bool,
) -> Result<Vec<(InvestigationRecord, u64)>, StoreError> {
    let select = "SELECT i.id, title, state, conclusion, owner, i.created_unix_ns, i.changed_unix_ns, i.changed_by, i.version, \
                  i.deleted_unix_ns, (SELECT count(*) FROM blocks b WHERE b.investigation_id = i.id AND b.deleted_unix_ns IS NULL) \
                  FROM investigations i WHERE (i.deleted_unix_ns IS NOT NULL) = ?1 ORDER BY i.changed_unix_ns DESC, i.id";
    let rows: Vec<ListedRow> = sqlx::query_as(select).bind(deleted).fetch_all(conn).await.map_err(failed(READING))?;
    let one = |(id, title, state, conclusion, owner, created, changed, by, version, deleted, blocks): ListedRow| {
        let row = (id, title, state, conclusion, owner, created, changed, by, version, deleted);
        Ok((head(row)?, unsigned(blocks)))
    };
    rows.into_iter().map(one).collect()
}

/// The head of this id, deleted or not; none if there is none.
pub(crate) async fn one(
    conn: &mut SqliteConnection,
    id: InvestigationId,
) -> Result<Option<InvestigationRecord>, StoreError> {
    let select = "SELECT id, title, state, conclusion, owner, created_unix_ns, changed_unix_ns, changed_by, version, \
                  deleted_unix_ns FROM investigations WHERE id = ?";
    let select = sqlx::query_as(select).bind(sql(id.bits()));
    let row: Option<HeadRow> = select.fetch_optional(conn).await.map_err(failed(READING))?;
    row.map(head).transpose()
}

async fn open(conn: &mut SqliteConnection, id: InvestigationId) -> Result<InvestigationRecord, StoreError> {
    let found = one(conn, id).await?.filter(|found| found.deleted_unix_ns.is_none());
    found.ok_or(StoreError::NoInvestigation { id })
}

/// Notes who changed something of it.
async fn touch(conn: &mut SqliteConnection, id: InvestigationId, change: &PageChange) -> Result<(), StoreError> {
    at_most("the user's name", change.user.len(), limit::USER_BYTES)?;
    let update = sqlx::query("UPDATE investigations SET changed_unix_ns = ?2, changed_by = ?3 WHERE id = ?1");
    let update = update.bind(sql(id.bits())).bind(change.unix_ns).bind(&change.user);
    update.execute(conn).await.map_err(failed(SAVING))?;
    Ok(())
}

/// Changes a head that has the version that was seen; gives it as it is now.
pub(crate) async fn change_head(
    conn: &mut SqliteConnection,
    (id, seen): (InvestigationId, u32),
    (change, by): (HeadChange, PageChange),
) -> Result<InvestigationRecord, StoreError> {
    let found = open(conn, id).await?;
    if found.version != seen {
        return Err(StoreError::InvestigationChanged { what: "the investigation" });
    }
    let HeadChange { title, state, conclusion } = change;
    let record = InvestigationRecord {
        title: title.unwrap_or(found.title),
        state: state.unwrap_or(found.state),
        conclusion: conclusion.unwrap_or(found.conclusion),
        changed: by,
        version: found.version.saturating_add(1),
        ..found
    };
    check_head(&record)?;
    let update = "UPDATE investigations SET title = ?2, state = ?3, conclusion = ?4, version = ?5 WHERE id = ?1";
    let update = sqlx::query(update).bind(sql(id.bits())).bind(&record.title).bind(record.state.as_str());
    let update = update.bind(&record.conclusion).bind(record.version);
    update.execute(&mut *conn).await.map_err(failed(SAVING))?;
    touch(conn, id, &record.changed).await?;
    Ok(record)
}

/// Deletes an investigation, so that it can be restored, or restores it; says whether it was not so already.
pub(crate) async fn set_deleted(
    conn: &mut SqliteConnection,
    id: InvestigationId,
    deleted_unix_ns: Option<i64>,
) -> Result<bool, StoreError> {
    let update = "UPDATE investigations SET deleted_unix_ns = ?2 \
                  WHERE id = ?1 AND (deleted_unix_ns IS NULL) = (?2 IS NOT NULL)";
    let update = sqlx::query(update).bind(sql(id.bits())).bind(deleted_unix_ns);
    Ok(update.execute(conn).await.map_err(failed(SAVING))?.rows_affected() > 0)
}

type BlockRow = (i64, String, String, i64, i64, String, i64);

fn block(row: BlockRow) -> Result<BlockRecord, StoreError> {
    let (id, content, author, created_unix_ns, unix_ns, user, version) = row;
    Ok(BlockRecord {
        id: InvestigationId::from_bits(unsigned(id)),
        content,
        author,
        created_unix_ns,
        changed: PageChange { user, unix_ns },
        version: narrow(version, "the version of a block")?,
    })
}

/// The blocks of an investigation that are not deleted, in their order.
pub(crate) async fn blocks(conn: &mut SqliteConnection, id: InvestigationId) -> Result<Vec<BlockRecord>, StoreError> {
    let select = "SELECT id, content, author, created_unix_ns, changed_unix_ns, changed_by, version FROM blocks \
                  WHERE investigation_id = ? AND deleted_unix_ns IS NULL ORDER BY place, id";
    let select = sqlx::query_as(select).bind(sql(id.bits()));
    let rows: Vec<BlockRow> = select.fetch_all(conn).await.map_err(failed(READING))?;
    rows.into_iter().map(block).collect()
}

async fn insert_block(
    conn: &mut SqliteConnection,
    id: InvestigationId,
    (place, block): (i64, &BlockRecord),
) -> Result<(), StoreError> {
    at_most("a block of an investigation", block.content.len(), limit::BLOCK_BYTES)?;
    at_most("the user's name", block.author.len(), limit::USER_BYTES)?;
    let insert = sqlx::query("INSERT INTO blocks VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, NULL)");
    let insert =
        insert.bind(sql(id.bits())).bind(sql(block.id.bits())).bind(place).bind(&block.content).bind(&block.author);
    let insert = insert.bind(block.created_unix_ns).bind(block.changed.unix_ns).bind(&block.changed.user);
    insert.bind(block.version.max(1)).execute(conn).await.map_err(failed(SAVING))?;
    Ok(())
}

/// Adds a block before another one, or at the end.
pub(crate) async fn add_block(
    writer: &mut Writer,
    id: InvestigationId,
    (new, before): (&BlockRecord, Option<InvestigationId>),
) -> Result<(), StoreError> {
    writer.has_room_for(2 * new.content.len() as u64).await?;
    writer.begin(Durability::Full).await?;
    let done = add_block_in(&mut writer.conn, id, (new, before)).await;
    writer.end(done).await
}

async fn add_block_in(
    conn: &mut SqliteConnection,
    id: InvestigationId,
    (new, before): (&BlockRecord, Option<InvestigationId>),
) -> Result<(), StoreError> {
    open(conn, id).await?;
    let select = sqlx::query_as("SELECT count(*) FROM blocks WHERE investigation_id = ?").bind(sql(id.bits()));
    let (count,): (i64,) = select.fetch_one(&mut *conn).await.map_err(failed(SAVING))?;
    if count >= limit::BLOCKS {
        let why = format!("an investigation has at most {} blocks, deleted ones included", limit::BLOCKS);
        return Err(StoreError::Refused { what: "another block", why });
    }
    insert_block(conn, id, (count, new)).await?;
    arrange(conn, id, (new.id, before)).await?;
    touch(conn, id, &new.changed).await
}

/// Puts a block before another one, or at the end, and numbers all places anew. Deleted ones stay after those that they followed.
async fn arrange(
    conn: &mut SqliteConnection,
    id: InvestigationId,
    (moved, before): (InvestigationId, Option<InvestigationId>),
) -> Result<(), StoreError> {
    let select =
        sqlx::query_as("SELECT id FROM blocks WHERE investigation_id = ? ORDER BY place, id").bind(sql(id.bits()));
    let rows: Vec<(i64,)> = select.fetch_all(&mut *conn).await.map_err(failed(SAVING))?;
    let mut order: Vec<u64> =
        rows.into_iter().map(|(block,)| unsigned(block)).filter(|it| *it != moved.bits()).collect();
    // One that is gone meanwhile was somewhere; the end is seen.
    let at = before.and_then(|before| order.iter().position(|it| *it == before.bits())).unwrap_or(order.len());
    order.insert(at, moved.bits());
    for (place, block) in (0i64..).zip(order) {
        let update =
            sqlx::query("UPDATE blocks SET place = ?3 WHERE investigation_id = ?1 AND id = ?2 AND place <> ?3");
        let update = update.bind(sql(id.bits())).bind(sql(block)).bind(place);
        update.execute(&mut *conn).await.map_err(failed(SAVING))?;
    }
    Ok(())
}

async fn one_block(
    conn: &mut SqliteConnection,
    id: InvestigationId,
    wanted: InvestigationId,
) -> Result<BlockRecord, StoreError> {
    open(conn, id).await?;
    let select = "SELECT id, content, author, created_unix_ns, changed_unix_ns, changed_by, version FROM blocks \
                  WHERE investigation_id = ? AND id = ? AND deleted_unix_ns IS NULL";
    let select = sqlx::query_as(select).bind(sql(id.bits())).bind(sql(wanted.bits()));
    let row: Option<BlockRow> = select.fetch_optional(conn).await.map_err(failed(READING))?;
    row.map_or(Err(StoreError::NoInvestigation { id }), block)
}

/// Changes a block that has the version that was seen; gives it as it is now.
pub(crate) async fn change_block(
    writer: &mut Writer,
    id: InvestigationId,
    (wanted, seen): (InvestigationId, u32),
    (content, by): (String, PageChange),
) -> Result<BlockRecord, StoreError> {
    writer.has_room_for(2 * content.len() as u64).await?;
    writer.begin(Durability::Full).await?;
    let done = change_block_in(&mut writer.conn, id, (wanted, seen), (content, by)).await;
    writer.end(done).await
}

async fn change_block_in(
    conn: &mut SqliteConnection,
    id: InvestigationId,
    (wanted, seen): (InvestigationId, u32),
    (content, by): (String, PageChange),
) -> Result<BlockRecord, StoreError> {
    let found = one_block(conn, id, wanted).await?;
    if found.version != seen {
        return Err(StoreError::InvestigationChanged { what: "the block" });
    }
    at_most("a block of an investigation", content.len(), limit::BLOCK_BYTES)?;
    touch(conn, id, &by).await?;
    let block = BlockRecord { content, changed: by, version: found.version.saturating_add(1), ..found };
    let update = "UPDATE blocks SET content = ?3, changed_unix_ns = ?4, changed_by = ?5, version = ?6 \
                  WHERE investigation_id = ?1 AND id = ?2";
    let update = sqlx::query(update).bind(sql(id.bits())).bind(sql(wanted.bits())).bind(&block.content);
    let update = update.bind(block.changed.unix_ns).bind(&block.changed.user).bind(block.version);
    update.execute(conn).await.map_err(failed(SAVING))?;
    Ok(block)
}

/// Moves a block before another one, or to the end.
pub(crate) async fn move_block(
    conn: &mut SqliteConnection,
    id: InvestigationId,
    (moved, before): (InvestigationId, Option<InvestigationId>),
    by: PageChange,
) -> Result<(), StoreError> {
    one_block(conn, id, moved).await?;
    arrange(conn, id, (moved, before)).await?;
    touch(conn, id, &by).await
}

/// Deletes a block, so that it can be restored at its place, or restores it; says whether it was not so already.
pub(crate) async fn set_block_deleted(
    conn: &mut SqliteConnection,
    (id, block): (InvestigationId, InvestigationId),
    is_deleted: bool,
    by: PageChange,
) -> Result<bool, StoreError> {
    open(conn, id).await?;
    let update = "UPDATE blocks SET deleted_unix_ns = ?3 \
                  WHERE investigation_id = ?1 AND id = ?2 AND (deleted_unix_ns IS NULL) = (?3 IS NOT NULL)";
    let update =
        sqlx::query(update).bind(sql(id.bits())).bind(sql(block.bits())).bind(is_deleted.then_some(by.unix_ns));
    let done = update.execute(&mut *conn).await.map_err(failed(SAVING))?.rows_affected() > 0;
    if done {
        touch(conn, id, &by).await?;
    }
    Ok(done)
}
