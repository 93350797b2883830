//! The scripts that come with the console, and what helps to write others.
//!
//! * `GET /api/tools` [viewer] → `{items:[{name, title, group, purpose, view, parameters:[{name, default|null, description}],
//!   needs:[provider], since|null}]}`; `group` is `processes cpu memory files network general`, `view` is
//!   `table histogram heatmap flame timeline`.
//! * `GET /api/tools/{name}` [viewer] → the same with `usual|null` and `text`, the script.
//! * `POST /api/scripts/complete` [operator] `{text, offset}` → `{items:[{label, kind, detail, insert, start, end}]}`: what
//!   can stand at a byte of the text, best first; `insert` goes in place of the bytes from `start` to `end`. `kind` is
//!   `provider probe field function value map variable setting type constant keyword`.
//! * `POST /api/scripts/hover` [operator] `{text, offset}` → `{start, end, title, about}` or `null`.

use axum::{Json, extract::State};
use bathyscope_bpf::{lang::CompletionKind, tools};
use serde::{Deserialize, Serialize};

use super::super::{
    access::{Operator, Viewer},
    error::{ApiError, ErrorKind},
    extract::{self, Path},
    state::AppState,
};

/// The most things that are offered at a time.
const MOST_OFFERED: usize = 200;

#[derive(Serialize)]
pub(in crate::http) struct Tools {
    items: Vec<ToolItem>,
}

#[derive(Serialize)]
struct ToolItem {
    name: &'static str,
    title: &'static str,
    group: &'static str,
    purpose: String,
    view: &'static str,
    parameters: Vec<ToolParameter>,
    needs: Vec<&'static str>,
    since: Option<&'static str>,
}

#[derive(Serialize)]
struct ToolParameter {
    name: &'static str,
    default: Option<&'static str>,
    description: &'static str,
}

impl From<&'static tools::Tool> for ToolItem {
    fn from(tool: &'static tools::Tool) -> Self {
        let parameter =
            |it: &tools::Parameter| ToolParameter { name: it.name, default: it.default, description: it.description };
        Self {
            name: tool.name,
            title: tool.title,
            group: tool.group.name(),
            purpose: tool.purpose.clone(),
            view: tool.view.name(),
            parameters: tool.parameters.iter().map(parameter).collect(),
            needs: tool.needs.clone(),
            since: tool.since,
        }
    }
}

/// All tools.
pub(in crate::http) async fn list(_: Viewer) -> Json<Tools> {
    Json(Tools { items: tools::all().iter().map(ToolItem::from).collect() })
}

#[derive(Deserialize)]
pub(in crate::http) struct ToolPath {
    name: String,
}

#[derive(Serialize)]
pub(in crate::http) struct Tool {
    #[serde(flatten)]
    about: ToolItem,
    usual: Option<String>,
    text: &'static str,
}

/// One tool with its script.
pub(in crate::http) async fn one(_: Viewer, Path(ToolPath { name }): Path<ToolPath>) -> Result<Json<Tool>, ApiError> {
    let tool = tools::find(&name).ok_or_else(ApiError::not_found)?;
    Ok(Json(Tool { about: tool.into(), usual: tool.usual.clone(), text: tool.text }))
}

/// A place in a script.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct At {
    text: String,
    offset: u32,
}

impl At {
    fn check(&self) -> Result<(), ApiError> {
        if self.text.len() <= bathyscope_capture::MAX_SCRIPT_BYTES {
            return Ok(());
        }
        Err(ApiError::new(ErrorKind::TooLarge, "reading the script", "it is longer than 64 KiB"))
    }
}

#[derive(Serialize)]
pub(in crate::http) struct Offered {
    items: Vec<OfferedItem>,
}

#[derive(Serialize)]
struct OfferedItem {
    label: String,
    kind: &'static str,
    detail: String,
    insert: String,
    start: u32,
    end: u32,
}

/// What can stand at a place of a script.
pub(in crate::http) async fn complete(
    _: Operator,
    State(state): State<AppState>,
    extract::Json(at): extract::Json<At>,
) -> Result<Json<Offered>, ApiError> {
    at.check()?;
    let offered = in_editor(&state, move |editor| editor.complete(&at.text, at.offset)).await?;
    let item = |it: bathyscope_bpf::lang::Completion| OfferedItem {
        label: it.label,
        kind: word(it.kind),
        detail: it.detail,
        insert: it.insert,
        start: it.replace.start,
        end: it.replace.end,
    };
    Ok(Json(Offered { items: offered.into_iter().take(MOST_OFFERED).map(item).collect() }))
}

#[derive(Serialize)]
pub(in crate::http) struct Explained {
    start: u32,
    end: u32,
    title: String,
    about: String,
}

/// What is at a place of a script.
pub(in crate::http) async fn hover(
    _: Operator,
    State(state): State<AppState>,
    extract::Json(at): extract::Json<At>,
) -> Result<Json<Option<Explained>>, ApiError> {
    at.check()?;
    let found = in_editor(&state, move |editor| editor.hover(&at.text, at.offset)).await?;
    let explained = |it: bathyscope_bpf::lang::Hover| Explained {
        start: it.span.start,
        end: it.span.end,
        title: it.title,
        about: it.about,
    };
    Ok(Json(found.map(explained)))
}

async fn in_editor<T: Send + 'static>(
    state: &AppState,
    ask: impl FnOnce(&crate::script::Editor) -> T + Send + 'static,
) -> Result<T, ApiError> {
    let state = state.clone();
    let asking = tokio::task::spawn_blocking(move || ask(state.editor()));
    asking.await.map_err(|error| ApiError::internal("looking into the script", error))
}

fn word(kind: CompletionKind) -> &'static str {
    match kind {
        CompletionKind::Provider => "provider",
        CompletionKind::Probe => "probe",
        CompletionKind::Field => "field",
        CompletionKind::Function => "function",
        CompletionKind::Value => "value",
        CompletionKind::Map => "map",
        CompletionKind::Variable => "variable",
        CompletionKind::Setting => "setting",
        CompletionKind::Type => "type",
        CompletionKind::Constant => "constant",
        CompletionKind::Keyword => "keyword",
    }
}
