//! Which captures go next by rules of retention: those of the console that runs, or others to be tried.

use bathyscope_console::{
    control,
    retention::{Forecast, RetentionRule},
};
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{Store, StoreError};

use super::{super::open, json_line, line};
use crate::{
    Failure,
    config::{DataArgs, KeepArgs},
    verbs::text,
};

/// Prints the captures that go some day by the rules that are given, else by those of the console that runs.
pub(super) fn run(keep: &KeepArgs, json: bool, data: &DataArgs) -> Result<String, Failure> {
    let given = keep.rule();
    let is_given = given != RetentionRule::default();
    // Before this process becomes the console's user, whom it does not answer.
    let of_console = if is_given { None } else { control::retention(&data.directory()?)? };
    let has_console = of_console.is_some();
    let rule = of_console.unwrap_or(given);
    open::reading(data, async |store| expiring(&store, (&rule, has_console), json).await)
}

async fn expiring(
    store: &Store,
    (rule, has_console): (&RetentionRule, bool),
    json: bool,
) -> Result<String, StoreError> {
    let captures = store.retained().await?;
    let now_unix_ns = wall_unix_ns();
    let all = rule.forecast(now_unix_ns, captures, |_| false);
    if json {
        let item = |one: &Forecast| {
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
        let (id, title) = (one.capture.id, bathyscope_capture::shown(&one.capture.title));
        let size_bytes = text::bytes(one.capture.size_bytes);
        line(&mut out, format_args!("{id}  {size_bytes:>9}  {}  {title}", when(one, now_unix_ns)));
    }
    if rule.is_off() {
        let whose = if has_console { "The console has no rule" } else { "No console runs here, and no rule is given" };
        let told = "captures stay until they are deleted. --keep-days, --keep-size and --keep-for make one.";
        line(&mut out, format_args!("{whose}: {told}"));
    } else if all.is_empty() {
        line(&mut out, format_args!("No capture goes by these rules."));
    }
    Ok(out)
}

/// When a capture goes: at a time, or when others need the room.
fn when(one: &Forecast, now_unix_ns: i64) -> String {
    let age = one.goes_unix_ns.map(|at| {
        let when = if at < now_unix_ns { "now".to_owned() } else { text::wall_time(at) };
        one.subject.as_ref().map_or_else(|| when.clone(), |rule| format!("{when} (rule {rule})"))
    });
    let size = one.after_bytes.map(|bytes| match bytes {
        0 => "now, as all are larger than may be".to_owned(),
        more => format!("when captures have {} more", text::bytes(more)),
    });
    [age, size].into_iter().flatten().collect::<Vec<_>>().join(" or ")
}
