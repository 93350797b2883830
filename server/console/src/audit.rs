//! What is noted for ever of what people do.

use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{AuditEntry, Role, Store};

/// Notes who did what, in which role. Where that fails the deed is done already: it is logged.
pub(crate) async fn audit(store: &Store, (user, role): (&str, Role), action: &str, (object, detail): (&str, &str)) {
    let entry = AuditEntry {
        time_unix_ns: wall_unix_ns(),
        user: user.to_owned(),
        role,
        action: action.to_owned(),
        object: object.to_owned(),
        detail: detail.to_owned(),
    };
    if let Err(error) = store.add_audit(entry).await {
        tracing::error!(%error, action, "an entry of the audit log could not be written");
    }
}
