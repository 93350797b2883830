//! What people say of captures to find them by: tags and descriptions.

use bathyscope_capture::visible;
use bathyscope_store::{CaptureLabels, Store, StoreError};

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
