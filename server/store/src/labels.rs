//! What people say of captures to find them by: tags and a description. Whatever changes one of them, or a note, changes what
//! searches look into too.

use std::collections::{BTreeMap, BTreeSet};

use bathyscope_capture::CaptureId;
use sqlx::{QueryBuilder, SqliteConnection};

use crate::{
    Sight, StoreError,
    error::failed,
    limits::{at_most, limit},
    read::state_of,
    rows::{tags_from, unsigned},
    select::{all, of},
    tags::tag_of,
    texts,
    writer::{Durability, Writer},
};

const SAVING: &str = "saving what is said of a capture";

/// What people say of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureLabels {
    /// Its tags, in order and in lower case.
    pub tags: BTreeSet<String>,
    /// What it is about; empty if nobody has said.
    pub description: String,
}

/// What is to become of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelChange {
    /// Tags that it gets; those that it has stay.
    pub add: Vec<String>,
    /// Tags that it loses, if it has them.
    pub remove: Vec<String>,
    /// The description as it was seen, and as it shall be; none leaves it.
    pub description: Option<(String, String)>,
}

/// Changes what is said of a capture; gives it as it is now.
pub(crate) async fn change(
    writer: &mut Writer,
    id: CaptureId,
    change: LabelChange,
) -> Result<CaptureLabels, StoreError> {
    let grown =
        change.add.iter().map(String::len).sum::<usize>() + change.description.as_ref().map_or(0, |it| it.1.len());
    writer.has_room_for(2 * grown as u64).await?;
    writer.begin(Durability::Full).await?;
    let done = change_in(&mut writer.conn, id, change).await;
    writer.end(done).await
}

async fn change_in(
    conn: &mut SqliteConnection,
    id: CaptureId,
    LabelChange { add, remove, description }: LabelChange,
) -> Result<CaptureLabels, StoreError> {
    let mut labels = of_shown(conn, id).await?;
    if let Some((seen, new)) = description {
        if seen != labels.description {
            return Err(StoreError::DescriptionChanged { id });
        }
        at_most("the description", new.len(), limit::DESCRIPTION_BYTES)?;
        labels.description = new;
    }
    for tag in &remove {
        labels.tags.remove(&tag.trim().to_lowercase());
    }
    labels.tags.extend(add.iter().map(|tag| tag_of(tag)).collect::<Result<Vec<_>, _>>()?);
    if labels.tags.len() > limit::TAGS {
        let why = format!("a capture has at most {} tags; remove some first", limit::TAGS);
        return Err(StoreError::Refused { what: "another tag", why });
    }
    write(conn, id, &labels).await?;
    Ok(labels)
}

/// Puts what is said of a capture into its row, and its words into what searches look into; removes a row that would say nothing.
async fn write(conn: &mut SqliteConnection, id: CaptureId, labels: &CaptureLabels) -> Result<(), StoreError> {
    let query = if *labels == CaptureLabels::default() {
        of("DELETE FROM labels WHERE capture_id = ?", id)
    } else {
        let upsert = "INSERT INTO labels VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE \
                      SET description = excluded.description, tags = excluded.tags";
        of(upsert, id).bind(&labels.description).bind(as_stored(&labels.tags))
    };
    query.execute(&mut *conn).await.map_err(failed(SAVING))?;
    texts::renew(conn, id).await
}

fn as_stored(tags: &BTreeSet<String>) -> String {
    if tags.is_empty() {
        String::new()
    } else {
        format!(" {} ", tags.iter().map(String::as_str).collect::<Vec<_>>().join(" "))
    }
}

/// What is said of a capture, shown or not.
pub(crate) async fn one(conn: &mut SqliteConnection, id: CaptureId) -> Result<CaptureLabels, StoreError> {
    let select = of("SELECT description, tags FROM labels WHERE capture_id = ?", id);
    let rows: Vec<(String, String)> = all(conn, select, "reading what is said of a capture").await?;
    let labels = |(description, tags): (String, String)| CaptureLabels { tags: tags_from(&tags), description };
    Ok(rows.into_iter().next().map(labels).unwrap_or_default())
}

/// What is said of a capture that is shown.
pub(crate) async fn of_shown(conn: &mut SqliteConnection, id: CaptureId) -> Result<CaptureLabels, StoreError> {
    state_of(conn, id).await?;
    one(conn, id).await
}

/// How many captures that are shown and seen have each tag.
pub(crate) async fn tags(conn: &mut SqliteConnection, sight: &Sight) -> Result<BTreeMap<String, u64>, StoreError> {
    const DOING: &str = "reading tags";
    let select = "SELECT tags, count(*) FROM listed INDEXED BY listed_by_start WHERE shown = 1 AND tags <> ''";
    let mut select = QueryBuilder::new(select);
    sight.push_condition(&mut select);
    select.push(" GROUP BY tags");
    let rows: Vec<(String, i64)> = all(conn, select.build(), DOING).await?;
    let mut counts = BTreeMap::new();
    for (tags, captures) in rows {
        for tag in tags.split_whitespace() {
            *counts.entry(tag.to_owned()).or_default() += unsigned(captures);
        }
    }
    Ok(counts)
}
