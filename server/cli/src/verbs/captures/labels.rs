//! What people say of captures to find them by: tags and descriptions.

use bathyscope_capture::{CaptureId, visible};
use bathyscope_store::{CaptureLabels, LabelChange, Store, StoreError};

use super::{json_line, line};
/// All tags, each with how many captures have it.
pub(super) async fn tags(store: &Store, json: bool) -> Result<String, StoreError> {
    let tags = store.tags().await?;
    if json {
        let items = tags.iter().map(|(tag, captures)| serde_json::json!({ "tag": tag, "captures": captures }));
        return Ok(json_line(&serde_json::json!({ "items": items.collect::<Vec<_>>() })));
    }
    let mut out = String::new();
    for (tag, captures) in &tags {
        line(&mut out, format_args!("{captures:>6}  {tag}"));
    }
    if tags.is_empty() {
        line(&mut out, format_args!("No tags. `bathyscope captures tag ID --add TAG` gives one."));
    }
    Ok(out)
}

/// Changes the tags of captures; a line for each with those that it has now.
pub(super) async fn tag(
    store: &Store,
    ids: &[CaptureId],
    add: Vec<String>,
    remove: Vec<String>,
) -> Result<String, StoreError> {
    let change = LabelChange { add, remove, description: None };
    let mut out = String::new();
    for id in ids {
        let labels = store.change_labels(*id, change.clone()).await?;
        line(&mut out, format_args!("{id}  {}", Vec::from_iter(labels.tags).join(" ")));
    }
    Ok(out)
}

/// Says what a capture is about.
pub(super) async fn describe(store: &Store, id: CaptureId, text: &str) -> Result<String, StoreError> {
    let seen = store.labels(id).await?.description;
    let change = LabelChange { description: Some((seen, text.trim().to_owned())), ..LabelChange::default() };
    store.change_labels(id, change).await.map(|_labels| String::new())
}

/// Lines for what people say of a capture.
pub(super) fn labelled(labels: &CaptureLabels) -> String {
    let mut out = String::new();
    if !labels.tags.is_empty() {
        line(
            &mut out,
            format_args!("tags     {}", labels.tags.iter().map(String::as_str).collect::<Vec<_>>().join(" ")),
        );
    }
    for (index, text) in labels.description.lines().enumerate() {
        let head = if index == 0 { "about" } else { "" };
        line(&mut out, format_args!("{head:<8} {}", visible(text.as_bytes())));
    }
    out
}
