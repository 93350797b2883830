//! Which captures go next by rules of retention: those of `serve`, or others to be tried.

use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{Store, StoreError};

use super::{json_line, line};
use crate::{config::KeepArgs, verbs::text};

/// Prints the captures that go some day, the next first.
pub(super) async fn expiring(store: &Store, keep: &KeepArgs, json: bool) -> Result<String, StoreError> {
    let (rule, captures) = (keep.rule(), store.retained().await?);
    let now_unix_ns = wall_unix_ns();
    let all = rule.forecast(now_unix_ns, captures, |_| false);
    if json {
        let item = |one: &bathyscope_console::retention::Forecast| {
            serde_json::json!({
                "id": one.capture.id, "title": one.capture.title, "owner": one.capture.owner, "tags": one.capture.tags,
                "bytes": one.capture.size_bytes, "goes_unix_ns": one.goes_unix_ns, "after_bytes": one.after_bytes,
                "rule": one.subject.as_ref().map(ToString::to_string),
            })
        };
        let items: Vec<_> = all.iter().map(item).collect();
        return Ok(json_line(&serde_json::json!({ "total": items.len(), "items": items })));
    }
    let mut out = String::new();
    for one in &all {
        let age = one.goes_unix_ns.map(|at| {
            let rule = one.subject.as_ref().map_or_else(String::new, |subject| format!(" by {subject}"));
            let when = if at < now_unix_ns { "now".to_owned() } else { text::wall_time(at) };
            format!("  {when}{rule}")
        });
        let size = one.after_bytes.map(|bytes| match bytes {
            0 => "  now, by size".to_owned(),
            more => format!("  when captures have {} more", text::bytes(more)),
        });
        let (id, title) = (one.capture.id, bathyscope_capture::shown(&one.capture.title));
        let size_bytes = text::bytes(one.capture.size_bytes);
        let when = [age, size].into_iter().flatten().collect::<Vec<_>>().join(" or");
        line(&mut out, format_args!("{id}  {size_bytes:>9}{when}  {title}"));
    }
    if rule.is_off() {
        line(
            &mut out,
            format_args!(
                "No rule: captures stay until they are deleted. --keep-days, --keep-size and --keep-for make one."
            ),
        );
    } else if all.is_empty() {
        line(&mut out, format_args!("No capture goes by these rules."));
    }
    Ok(out)
}
