//! Captures that were deleted and can be restored.

use std::fmt::Write as _;

use bathyscope_capture::{CaptureId, visible};
use bathyscope_console::retention::restorable_until;
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{DeletedCapture, Store, StoreError};
use serde::Serialize;

use super::{super::text, json_line};

/// A deleted capture as JSON has it.
#[derive(Serialize)]
struct ListedCapture<'a> {
    id: CaptureId,
    title: &'a str,
    owner: &'a str,
    bytes: u64,
    deleted_unix_ns: i64,
    deleted_by: &'a str,
    restorable_until_unix_ns: i64,
}

/// Those that can be restored, the one that was deleted last first.
pub(super) async fn list(store: &Store, json: bool) -> Result<String, StoreError> {
    let mut all = store.deleted().await?;
    all.reverse();
    if json {
        let listed = |one: &DeletedCapture| {
            serde_json::to_value(ListedCapture {
                id: one.id,
                title: &one.title,
                owner: &one.owner,
                bytes: one.size_bytes,
                deleted_unix_ns: one.deleted_unix_ns,
                deleted_by: &one.deleted_by,
                restorable_until_unix_ns: restorable_until(one.deleted_unix_ns),
            })
        };
        let items: Vec<_> = all.iter().filter_map(|one| listed(one).ok()).collect();
        return Ok(json_line(&serde_json::json!({ "items": items })));
    }
    if all.is_empty() {
        return Ok("There is no deleted capture.\n".to_owned());
    }
    let mut out = String::new();
    for one in &all {
        let left_ns = restorable_until(one.deleted_unix_ns).saturating_sub(wall_unix_ns());
        let left = text::span(u64::try_from(left_ns / 1_000_000_000).unwrap_or(0));
        let (size, title) = (text::bytes(one.size_bytes), visible(one.title.as_bytes()));
        let by = visible(one.deleted_by.as_bytes());
        let _infallible = writeln!(out, "{}  {size}  deleted by {by}, restorable for {left}  {title}", one.id);
    }
    Ok(out)
}
