//! The table that lists of captures are sorted and narrowed by: a short row for each capture, so that a hundred thousand of them are
//! looked at in milliseconds.
//!
//! What its rows say follows from other tables. The writer's connection has triggers that keep it so; they are its own and in no
//! file, so a file that somebody else made has nothing that runs.

use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::{StoreError, error::failed};

/// What a row has from the other tables, in order; losses, notes and texts are counted by themselves.
const COLUMNS: &str = "shown, state, origin, simulated, title, owner, method, target, host_name, started_unix_ns, \
                       duration_ns, row_count, size_bytes, lost, pinned, tags";
/// The values of these columns, but for `WHERE`.
const VALUES: &str = "SELECT phase = 'ready', state, origin, simulated, title, owner, method, target, host_name, \
                      started_unix_ns, max(0, end_ns - start_ns), row_count, \
                      chunk_bytes + output_bytes + index_bytes + dictionary_bytes, lost, pinned, coalesce(tags, '') \
                      FROM captures JOIN retention ON retention.capture_id = captures.id \
                      LEFT JOIN labels ON labels.capture_id = captures.id";
/// Changes of tables that change what a row has, each with the capture that it is of.
const CHANGES: [(&str, &str); 5] = [
    ("UPDATE ON main.captures", "new.id"),
    ("UPDATE ON main.retention", "new.capture_id"),
    ("INSERT ON main.labels", "new.capture_id"),
    ("UPDATE ON main.labels", "new.capture_id"),
    ("DELETE ON main.labels", "old.capture_id"),
];
/// Changes that are counted, and what they do.
const COUNTS: [(&str, &str); 8] = [
    ("INSERT ON main.notes", "UPDATE listed SET notes = notes + 1 WHERE capture_id = new.capture_id"),
    ("DELETE ON main.notes", "UPDATE listed SET notes = max(0, notes - 1) WHERE capture_id = old.capture_id"),
    (
        "INSERT ON main.losses WHEN new.stage = 'interrupted'",
        "UPDATE listed SET lost_at_least = 1 WHERE capture_id = new.capture_id",
    ),
    (
        "DELETE ON main.losses WHEN old.stage = 'interrupted'",
        "UPDATE listed SET lost_at_least = EXISTS (SELECT 1 FROM losses l WHERE l.capture_id = old.capture_id AND \
         l.stage = 'interrupted') WHERE capture_id = old.capture_id",
    ),
    ("DELETE ON main.captures", "DELETE FROM listed WHERE capture_id = old.id"),
    ("INSERT ON main.capture_rights", "UPDATE listed SET has_rights = 1 WHERE capture_id = new.capture_id"),
    (
        "DELETE ON main.capture_rights",
        "UPDATE listed SET has_rights = EXISTS (SELECT 1 FROM capture_rights r WHERE r.capture_id = old.capture_id) \
         WHERE capture_id = old.capture_id",
    ),
    // What events brought is all there once it has ended.
    (
        "UPDATE ON main.captures WHEN old.state = 'recording' AND new.state <> 'recording'",
        "UPDATE listed SET indexed = min(indexed, 1) WHERE capture_id = new.id",
    ),
];

/// Makes the connection that writes keep the table.
pub(crate) async fn keep(conn: &mut SqliteConnection) -> Result<(), StoreError> {
    let insert = format!(
        "INSERT INTO listed (capture_id, {COLUMNS}, lost_at_least, notes, indexed, left_out_bytes) \
         SELECT new.capture_id, v.*, 0, 0, 0, 0 FROM ({VALUES} WHERE captures.id = new.capture_id) v"
    );
    let renew = |id: &str| {
        format!(
            "UPDATE listed SET ({COLUMNS}) = ({VALUES} WHERE captures.id = {id}) WHERE capture_id = {id} AND \
                 EXISTS (SELECT 1 FROM captures JOIN retention ON capture_id = id WHERE id = {id})"
        )
    };
    let mut triggers = vec![("INSERT ON main.retention", insert)];
    triggers.extend(CHANGES.map(|(change, id)| (change, renew(id))));
    triggers.extend(COUNTS.map(|(change, statement)| (change, statement.to_owned())));
    for (number, (change, statement)) in triggers.into_iter().enumerate() {
        // All of it is written above.
        let trigger = format!("CREATE TEMP TRIGGER keep_listed_{number} AFTER {change} BEGIN {statement}; END");
        sqlx::query(AssertSqlSafe(trigger))
            .execute(&mut *conn)
            .await
            .map_err(failed("preparing the list of captures"))?;
    }
    Ok(())
}
