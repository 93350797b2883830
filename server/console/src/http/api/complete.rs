//! Completing a command of another tool while it is typed.
//!
//! * `POST /api/commands/complete` (operator) `{text, at}` → `{start, end, items:[{text, label, detail}]}`: what the word before the
//!   byte `at` of the text may become. `start` to `end` are the bytes that `text` takes the place of; `label` is what is shown where
//!   that is more. Options come from the tables by which commands are read, names from this host.

use axum::{Json, extract::State};
use bathyscope_capture::{TracepointName, visible};
use bathyscope_commands::{KnownHost, MAX_COMMAND_BYTES, WantedName, WordCompletion, complete as completed_word};
use bathyscope_link::{
    host::users_like,
    inventory::{EntryKind, ProbeSearch},
};
use serde::{Deserialize, Serialize};

use super::{
    super::{
        access::{Operator, Who},
        error::ApiError,
        extract,
        state::AppState,
    },
    library::library_user,
};
use crate::library::kept_probes;

/// The most names of an answer.
const MOST: usize = 40;

/// A command that is being typed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct TypedCommand {
    text: String,
    /// Where, in bytes.
    at: usize,
}

/// What a word may become.
#[derive(Serialize)]
pub(in crate::http) struct CompletedCommand {
    start: usize,
    end: usize,
    items: Vec<CompletedName>,
}

/// A word or a name that is offered.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(in crate::http) struct CompletedName {
    /// What is put into the text.
    text: String,
    /// What is shown.
    label: String,
    detail: String,
}

impl CompletedName {
    fn new(text: String, detail: String) -> Self {
        let label = visible(text.as_bytes());
        Self { text, label, detail: visible(detail.as_bytes()) }
    }
}

/// What the word at a place may become; nothing where nothing is known of it.
pub(in crate::http) async fn complete(
    Operator(who): Operator,
    State(state): State<AppState>,
    extract::Json(TypedCommand { text, at }): extract::Json<TypedCommand>,
) -> Result<Json<CompletedCommand>, ApiError> {
    if text.len() > MAX_COMMAND_BYTES {
        let why = format!("it has {} bytes, and at most {MAX_COMMAND_BYTES} are read", text.len());
        return Err(ApiError::invalid("completing the command", why));
    }
    let Some(found) = completed_word(&text, at, &KnownHost::default()) else {
        return Ok(Json(CompletedCommand { start: at, end: at, items: Vec::new() }));
    };
    let WordCompletion { start, end, typed, words, wanted } = found;
    let mut items: Vec<CompletedName> =
        words.into_iter().map(|word| CompletedName::new(word.text, word.detail)).collect();
    if let Some(wanted) = wanted {
        items.extend(names(&state, &who, &wanted, &typed).await);
    }
    // What stands there already is no completion.
    items.retain(|item| item.text != typed);
    items.truncate(MOST);
    Ok(Json(CompletedCommand { start, end, items }))
}

/// Names of this host; none where it cannot be asked.
async fn names(state: &AppState, who: &Who, wanted: &WantedName, typed: &str) -> Vec<CompletedName> {
    match wanted {
        WantedName::Event => {
            let mut names = events(state, who, typed).await;
            names.extend(perf_events(state, typed).await);
            names
        }
        WantedName::Tracepoint => events(state, who, typed).await,
        WantedName::Function { file: None } => entries(state, typed, EntryKind::Function, None).await,
        WantedName::Function { file: Some(file) } => entries(state, typed, EntryKind::User, Some(file)).await,
        WantedName::File => entries(state, typed, EntryKind::File, None).await,
        WantedName::Process => processes(state, typed).await,
        WantedName::User => {
            let passwd = tokio::fs::read("/etc/passwd").await.unwrap_or_default();
            let names = users_like(&passwd, typed, MOST).into_iter();
            names.map(|name| CompletedName::new(name, "a user".to_owned())).collect()
        }
        WantedName::Field { event } => fields(state, event, typed).await,
    }
}

/// Kept probes, then tracepoints.
async fn events(state: &AppState, who: &Who, typed: &str) -> Vec<CompletedName> {
    let kept = kept_probes(state.store(), library_user(who)).await.unwrap_or_default();
    let kept = kept.into_iter().filter(|one| one.name.contains(typed));
    let mut names: Vec<CompletedName> =
        kept.map(|one| CompletedName::new(one.name, format!("kept: {}", one.probe.typed))).collect();
    names.extend(entries(state, typed, EntryKind::Tracepoint, None).await);
    names
}

async fn perf_events(state: &AppState, typed: &str) -> Vec<CompletedName> {
    let all = state.host().perf_events().await.unwrap_or_default();
    let fitting = all.into_iter().filter(|event| event.works && event.name.starts_with(typed)).take(MOST);
    fitting.map(|event| CompletedName::new(event.name, event.meaning)).collect()
}

async fn entries(state: &AppState, typed: &str, kind: EntryKind, within: Option<&String>) -> Vec<CompletedName> {
    let wanted =
        ProbeSearch { query: typed.to_owned(), kinds: vec![kind], within: within.cloned(), offset: 0, limit: MOST };
    let Ok(found) = state.inventory().search(wanted).await else { return Vec::new() };
    let usable = found.items.into_iter().filter(|item| item.works);
    usable.map(|item| CompletedName::new(item.name, item.note)).collect()
}

async fn processes(state: &AppState, typed: &str) -> Vec<CompletedName> {
    let Ok((_, found)) = state.host().processes_like(typed, MOST).await else { return Vec::new() };
    let name = |one: bathyscope_link::processes::Process| {
        let detail = if one.command.is_empty() { one.user } else { format!("{}, {}", one.user, one.command) };
        let label = format!("{} {}", one.pid, one.comm);
        CompletedName { text: one.pid.to_string(), label, detail }
    };
    found.into_iter().map(name).collect()
}

async fn fields(state: &AppState, event: &str, typed: &str) -> Vec<CompletedName> {
    let Ok(name) = event.parse::<TracepointName>() else { return Vec::new() };
    let Ok(format) = state.host().event_format(&name).await else { return Vec::new() };
    let fitting = format.fields.iter().filter(|field| field.name.starts_with(typed));
    fitting.map(|field| CompletedName::new(field.name.clone(), field.type_name.clone())).collect()
}
