//! What people keep by name: probes, scripts, recipes, filters, queries and selections.
//!
//! An *entry* is `{id, kind, name, owner, description, tags, shared, version, created_unix_ns, changed_unix_ns, deleted_unix_ns,
//! can_change}`. Everybody reads their own things and what is shared, admins everything; what somebody may not read is not there.
//! An operator changes own ones, an admin all. Nothing is started by its name: what it stands for is checked as if it were typed.
//!
//! * `GET /api/library?kind=&q=&deleted=` (viewer) → `{items:[entry], can_keep}`: those that have all words of `q` in them, by kind
//!   and name; with `deleted=true` one's own that were deleted in the last 30 days.
//! * `POST /api/library` (operator) `{kind, name?, text, description?, tags?, shared?}` → 201 and the entry with its text; 409 where
//!   the name is taken. A probe's text is what stands after `perf probe --add`, with `-x FILE` before it for one in a program; its
//!   definition says what it is called.
//! * `GET /api/library/{id}` (viewer) → `{…entry, text, versions:[{version, author, saved_unix_ns, text}]}`, the last one first.
//! * `PATCH /api/library/{id}` (operator) `{seen?, name?, description?, tags?, shared?, text?, restore?}` → the same; 409 if `seen` is
//!   not the version that it has. `restore` names the version whose text it gets again.
//! * `DELETE /api/library/{id}` (operator) → 204; `POST /api/library/{id}/undelete` (operator) → the same as `GET`.
//! * `GET /api/library/{id}/file` (viewer): it as a text file. `POST /api/library/import` (operator) `{text}` → what such a file has, new
//!   or as another version of one's own of that name.
//! * `POST /api/library/probes` (operator) `{add?:[{typed, file?}], remove?:[pattern], force?, dry_run?}` → `{added:[{name, text}],
//!   already:[name], removed:[entry], dry_run}`: as `perf probe` does. Nothing is in the kernel between captures.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use bathyscope_capture::{CaptureSpec, DynamicProbe, Target};
use bathyscope_catalog::recipes::Recipe;
use bathyscope_store::{LibraryEntry, LibraryItem, LibraryKind, LibraryVersion, Role};
use http::{
    StatusCode,
    header::{CONTENT_DISPOSITION, CONTENT_TYPE},
};
use serde::{Deserialize, Serialize};

use super::{
    super::{
        access::{Operator, Viewer, Who},
        error::ApiError,
        extract::{self, Path, Query},
        state::{AppState, to_its_end},
    },
    captures,
};
use crate::library::{self, ChangedProbes, KeptChange, LibraryFile, LibraryUser, NewKept, ProbeChanges};

/// The most probes and patterns of one request.
const MOST_PROBES: usize = 64;

pub(super) fn library_user(who: &Who) -> LibraryUser<'_> {
    LibraryUser { user: who.user(), may_change_all: who.role() >= Role::Admin }
}

/// A spec in which names and patterns of kept probes are the probes that they mean to whoever asks.
pub(super) async fn with_kept(state: &AppState, who: &Who, spec: CaptureSpec) -> Result<CaptureSpec, ApiError> {
    if !spec.methods().any(|method| method.counts().is_some() || method.trace().is_some()) {
        return Ok(spec);
    }
    let kept = library::kept_probes(state.store(), library_user(who)).await?;
    if kept.is_empty() {
        return Ok(spec);
    }
    let events = state.host().tracepoints().await.ok();
    let is_event = |name: &str| events.iter().flat_map(|all| all.iter()).any(|event| event.to_string() == name);
    Ok(library::expanded(spec, &kept, &is_event).0)
}

/// An entry of the library, and what whoever asks may do with it.
#[derive(Serialize)]
pub(in crate::http) struct LibraryEntryItem {
    #[serde(flatten)]
    entry: LibraryEntry,
    /// Whether whoever asks may change and delete it.
    can_change: bool,
}

impl LibraryEntryItem {
    fn new(entry: LibraryEntry, who: &Who) -> Self {
        let can_change = who.role() >= Role::Operator && library_user(who).may_change(&entry.owner);
        Self { entry, can_change }
    }
}

/// A thing with the texts that it had.
#[derive(Serialize)]
pub(in crate::http) struct LibraryThing {
    #[serde(flatten)]
    entry: LibraryEntry,
    /// Whether whoever asks may change and delete it.
    can_change: bool,
    text: String,
    versions: Vec<LibraryVersion>,
}

async fn thing(state: &AppState, who: &Who, item: LibraryItem) -> Result<LibraryThing, ApiError> {
    let versions = state.store().kept_versions(item.entry.id).await?;
    let LibraryEntryItem { entry, can_change } = LibraryEntryItem::new(item.entry, who);
    Ok(LibraryThing { entry, can_change, text: item.text, versions })
}

/// What is listed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct LibraryQuery {
    #[serde(default)]
    kind: Option<LibraryKind>,
    #[serde(default)]
    q: String,
    #[serde(default)]
    deleted: bool,
}

/// Things of the library.
#[derive(Serialize)]
pub(in crate::http) struct LibraryList {
    items: Vec<LibraryEntryItem>,
    /// Whether whoever asks may keep something.
    can_keep: bool,
}

/// Whether an entry has all words in it.
fn has_words(entry: &LibraryEntry, words: &[String]) -> bool {
    let LibraryEntry { kind, name, owner, description, tags, .. } = entry;
    let text = format!("{} {name} {owner} {description} {}", kind.as_str(), tags.join(" ")).to_lowercase();
    words.iter().all(|word| text.contains(word.as_str()))
}

/// Lists what whoever asks may read of the library.
pub(in crate::http) async fn list(
    Viewer(who): Viewer,
    State(state): State<AppState>,
    Query(LibraryQuery { kind, q, deleted }): Query<LibraryQuery>,
) -> Result<Json<LibraryList>, ApiError> {
    let words: Vec<String> = q.split_whitespace().map(str::to_lowercase).collect();
    let entries = state.store().kept(library_user(&who).reader(), kind, deleted).await?;
    let items = entries.into_iter().filter(|entry| has_words(entry, &words));
    let items = items.map(|entry| LibraryEntryItem::new(entry, &who)).collect();
    Ok(Json(LibraryList { items, can_keep: who.role() >= Role::Operator }))
}

/// What somebody keeps.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct NewLibraryThing {
    kind: LibraryKind,
    #[serde(default)]
    name: String,
    text: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    shared: bool,
}

/// Nobody leaves to others, as a recipe, what they may not start themselves. What is no recipe is told where it is checked.
fn admit_text(state: &AppState, who: &Who, kind: LibraryKind, text: &str) -> Result<(), ApiError> {
    match Recipe::of_own_text("x", text) {
        Ok(recipe) if kind == LibraryKind::Recipe => captures::admit(state, who, &recipe.spec(Target::System)),
        _ => Ok(()),
    }
}

/// Keeps a probe, script, query or search in the library.
pub(in crate::http) async fn keep(
    Operator(who): Operator,
    State(state): State<AppState>,
    extract::Json(new): extract::Json<NewLibraryThing>,
) -> Result<(StatusCode, Json<LibraryThing>), ApiError> {
    let NewLibraryThing { kind, name, text, description, tags, shared } = new;
    admit_text(&state, &who, kind, &text)?;
    let new = NewKept { kind, name, description, tags, shared, text };
    let keeping = async move {
        let item = library::keep(state.store(), library_user(&who), new).await?;
        note(&state, &who, "library.keep", &item.entry).await;
        thing(&state, &who, item).await
    };
    Ok((StatusCode::CREATED, Json(to_its_end(keeping).await??)))
}

/// What was done, for the audit log.
async fn note(state: &AppState, who: &Who, action: &str, entry: &LibraryEntry) {
    let shared = if entry.shared { ", shared" } else { "" };
    let detail =
        format!("{} {}, version {}{shared}, of {}", entry.kind.as_str(), entry.name, entry.version, entry.owner);
    state.audit(&who.session, action, &entry.id.to_string(), &detail).await;
}

/// A thing in a path.
#[derive(Deserialize)]
pub(in crate::http) struct LibraryPath {
    id: u32,
}

/// Reads one entry of the library.
pub(in crate::http) async fn one(
    Viewer(who): Viewer,
    State(state): State<AppState>,
    Path(LibraryPath { id }): Path<LibraryPath>,
) -> Result<Json<LibraryThing>, ApiError> {
    let item = library::one(state.store(), library_user(&who), id).await?;
    Ok(Json(thing(&state, &who, item).await?))
}

/// What is changed of a thing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct LibraryEdit {
    #[serde(default)]
    seen: Option<u32>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    tags: Option<Vec<String>>,
    #[serde(default)]
    shared: Option<bool>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    restore: Option<u32>,
}

/// Changes an entry of the library.
pub(in crate::http) async fn change(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(LibraryPath { id }): Path<LibraryPath>,
    extract::Json(edit): extract::Json<LibraryEdit>,
) -> Result<Json<LibraryThing>, ApiError> {
    let LibraryEdit { seen, name, description, tags, shared, text, restore } = edit;
    let before = library::one(state.store(), library_user(&who), id).await?;
    admit_text(&state, &who, before.entry.kind, text.as_deref().unwrap_or(&before.text))?;
    let change = KeptChange { seen, name, description, tags, shared, text, restore };
    let changing = async move {
        let item = library::change(state.store(), library_user(&who), id, change).await?;
        note(&state, &who, "library.change", &item.entry).await;
        thing(&state, &who, item).await
    };
    Ok(Json(to_its_end(changing).await??))
}

/// Deletes an entry of the library; it can be brought back.
pub(in crate::http) async fn delete(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(LibraryPath { id }): Path<LibraryPath>,
) -> Result<StatusCode, ApiError> {
    let deleting = async move {
        let entry = library::delete(state.store(), library_user(&who), id).await?;
        note(&state, &who, "library.delete", &entry).await;
        Ok::<_, ApiError>(())
    };
    to_its_end(deleting).await??;
    Ok(StatusCode::NO_CONTENT)
}

/// Brings a deleted entry of the library back.
pub(in crate::http) async fn undelete(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(LibraryPath { id }): Path<LibraryPath>,
) -> Result<Json<LibraryThing>, ApiError> {
    let undeleting = async move {
        let item = library::undelete(state.store(), library_user(&who), id).await?;
        note(&state, &who, "library.undelete", &item.entry).await;
        thing(&state, &who, item).await
    };
    Ok(Json(to_its_end(undeleting).await??))
}

/// Reads an entry of the library as a text file.
pub(in crate::http) async fn file(
    Viewer(who): Viewer,
    State(state): State<AppState>,
    Path(LibraryPath { id }): Path<LibraryPath>,
) -> Result<Response, ApiError> {
    let item = library::one(state.store(), library_user(&who), id).await?;
    let name = library::file_name(item.entry.kind, &item.entry.name);
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    Ok((headers, library::file_text(&LibraryFile::from(&item))).into_response())
}

/// A file of a thing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ImportedText {
    text: String,
}

/// Keeps what a file has in the library.
pub(in crate::http) async fn import(
    Operator(who): Operator,
    State(state): State<AppState>,
    extract::Json(ImportedText { text }): extract::Json<ImportedText>,
) -> Result<Json<LibraryThing>, ApiError> {
    let file = library::read_file(&text).map_err(library::LibraryError::from)?;
    admit_text(&state, &who, file.kind, &file.text)?;
    let importing = async move {
        let item = library::import(state.store(), library_user(&who), &text).await?;
        note(&state, &who, "library.import", &item.entry).await;
        thing(&state, &who, item).await
    };
    Ok(Json(to_its_end(importing).await??))
}

/// What is asked of kept probes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ProbeEdit {
    #[serde(default)]
    add: Vec<DynamicProbe>,
    #[serde(default)]
    remove: Vec<String>,
    #[serde(default)]
    force: bool,
    #[serde(default)]
    dry_run: bool,
}

/// What was done with kept probes.
#[derive(Serialize)]
pub(in crate::http) struct ProbeEdited {
    added: Vec<NamedProbe>,
    /// Names of those that were kept before exactly so.
    already: Vec<String>,
    removed: Vec<LibraryEntryItem>,
    /// Whether nothing was done.
    dry_run: bool,
}

#[derive(Serialize)]
struct NamedProbe {
    name: String,
    text: String,
}

/// Keeps and deletes probes as `perf probe` does.
pub(in crate::http) async fn probes(
    Operator(who): Operator,
    State(state): State<AppState>,
    extract::Json(ProbeEdit { add, remove, force, dry_run }): extract::Json<ProbeEdit>,
) -> Result<Json<ProbeEdited>, ApiError> {
    if add.len() + remove.len() > MOST_PROBES || add.is_empty() && remove.is_empty() {
        let why = format!("there are {} definitions and patterns; write 1 to {MOST_PROBES}", add.len() + remove.len());
        return Err(ApiError::invalid("keeping probes", why));
    }
    let changing = async move {
        let changes = ProbeChanges { add, remove, force, dry_run };
        let done = library::change_probes(state.store(), library_user(&who), changes).await?;
        let ChangedProbes { added, already, removed } = done;
        if !dry_run {
            for entry in &removed {
                note(&state, &who, "library.delete", entry).await;
            }
            for (name, _) in &added {
                state.audit(&who.session, "library.keep", name, "probe").await;
            }
        }
        let added = added.into_iter().map(|(name, text)| NamedProbe { name, text }).collect();
        let removed = removed.into_iter().map(|entry| LibraryEntryItem::new(entry, &who)).collect();
        Ok::<_, ApiError>(ProbeEdited { added, already, removed, dry_run })
    };
    Ok(Json(to_its_end(changing).await??))
}
