//! The probe language for people: tools to begin with, examples, every word of it, and what can stand at a place of a
//! script that is being written.
//!
//! * `GET /api/tools` (viewer) → `{items:[{name, title, group, purpose, parameters:[{name, default, takes, about}], view, needs,
//!   since, usual}]}`.
//! * `GET /api/tools/{name}` (viewer) → the same of one, with its `text` and an `example` of its output.
//! * `GET /api/language` (viewer) → `{examples:[{name, section, title, about, script}], entries:[{name, group, signature,
//!   about}]}`; in `about` words of the language are between backquotes.
//! * `POST /api/scripts/complete` (operator) `{text, offset}` → `{start, items:[{label, insert, kind, detail}]}`: what can
//!   stand at a byte of the text; what is from `start` to there is replaced.
//! * `POST /api/scripts/hover` (operator) `{text, offset}` → `{hover: null | {title, text, start, end}}`.

use axum::{Json, extract::State};
use bathyscope_bpf::{examples, lang, tools};
use bathyscope_link::script::script_facts;
use bathyscope_protocol::{ScriptCompletion, ScriptFacts};
use serde::{Deserialize, Serialize};

use super::super::{
    access::{Operator, Viewer},
    error::ApiError,
    extract,
    state::AppState,
};
use super::{scripts::admit_texts, tool_examples::example_of};

/// Tools.
#[derive(Serialize)]
pub(in crate::http) struct Tools {
    items: Vec<Tool>,
}

/// A tool.
#[derive(Serialize)]
pub(in crate::http) struct Tool {
    name: &'static str,
    title: &'static str,
    group: &'static str,
    purpose: &'static str,
    parameters: Vec<Parameter>,
    view: &'static str,
    needs: &'static [&'static str],
    since: Option<&'static str>,
    usual: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'static str>,
    /// What it printed of a known workload; empty where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    example: Option<&'static str>,
}

#[derive(Serialize)]
struct Parameter {
    name: &'static str,
    default: Option<&'static str>,
    /// What its values are names of: file, function, usdt, subsystem, event or thread.
    takes: Option<&'static str>,
    about: &'static str,
}

impl Tool {
    fn of(tool: &'static tools::Tool, whole: bool) -> Self {
        let parameter = |it: &tools::Parameter| Parameter {
            name: it.name,
            default: it.default,
            takes: it.takes.map(tools::NameKind::word),
            about: it.description,
        };
        Self {
            name: tool.name,
            title: tool.title,
            group: tool.group.name(),
            purpose: &tool.purpose,
            parameters: tool.parameters.iter().map(parameter).collect(),
            view: tool.view.name(),
            needs: &tool.needs,
            since: tool.since,
            usual: tool.usual.as_deref(),
            text: whole.then_some(tool.text),
            example: whole.then(|| example_of(tool.name)),
        }
    }
}

/// Lists all tools, by name.
pub(in crate::http) async fn list(_: Viewer) -> Json<Tools> {
    Json(Tools { items: tools::all().iter().map(|tool| Tool::of(tool, false)).collect() })
}

/// The tool in a path.
#[derive(Deserialize)]
pub(in crate::http) struct ToolPath {
    name: String,
}

/// Reads one tool, with its script.
pub(in crate::http) async fn tool(
    _: Viewer,
    extract::Path(ToolPath { name }): extract::Path<ToolPath>,
) -> Result<Json<Tool>, ApiError> {
    let tool = tools::find(&name).ok_or_else(ApiError::not_found)?;
    Ok(Json(Tool::of(tool, true)))
}

/// The reference of the language.
#[derive(Serialize)]
pub(in crate::http) struct Language {
    examples: Vec<Example>,
    entries: Vec<LanguageEntry>,
}

#[derive(Serialize)]
struct Example {
    name: &'static str,
    section: &'static str,
    title: &'static str,
    about: String,
    script: &'static str,
}

#[derive(Serialize)]
struct LanguageEntry {
    name: &'static str,
    group: &'static str,
    signature: &'static str,
    about: &'static str,
}

/// Lists examples of the probe language, and what a script can use.
pub(in crate::http) async fn language(_: Viewer) -> Json<Language> {
    let example = |it: examples::Example| Example {
        name: it.name,
        section: it.section,
        title: it.title,
        about: it.prose(),
        script: it.script,
    };
    let entry = |it: lang::Reference| LanguageEntry {
        name: it.name,
        group: it.group.title(),
        signature: it.signature,
        about: it.about,
    };
    Json(Language {
        examples: examples::examples().into_iter().map(example).collect(),
        entries: lang::reference().into_iter().map(entry).collect(),
    })
}

/// A place in a script that is being written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ScriptPlace {
    text: String,
    offset: u32,
}

/// What fits there.
#[derive(Default, Serialize)]
pub(in crate::http) struct Completions {
    start: u32,
    items: Vec<Completion>,
}

#[derive(Serialize)]
struct Completion {
    label: String,
    insert: String,
    kind: String,
    detail: String,
}

/// Lists what fits at a place of a script.
pub(in crate::http) async fn complete(
    Operator(who): Operator,
    State(state): State<AppState>,
    extract::Json(place): extract::Json<ScriptPlace>,
) -> Result<Json<Completions>, ApiError> {
    admit_texts(&state, &who, "completing the script")?;
    let at = place.offset;
    let facts = facts(&state, place).await?;
    let start = facts.completions.first().map_or(at, |first| first.start);
    let item =
        |it: ScriptCompletion| Completion { label: it.label, insert: it.insert, kind: it.kind, detail: it.detail };
    Ok(Json(Completions { start, items: facts.completions.into_iter().map(item).collect() }))
}

/// What stands there.
#[derive(Serialize)]
pub(in crate::http) struct Hovered {
    hover: Option<Hover>,
}

#[derive(Serialize)]
struct Hover {
    title: String,
    text: String,
    start: u32,
    end: u32,
}

/// Explains what stands at a place of a script.
pub(in crate::http) async fn hover(
    Operator(who): Operator,
    State(state): State<AppState>,
    extract::Json(place): extract::Json<ScriptPlace>,
) -> Result<Json<Hovered>, ApiError> {
    admit_texts(&state, &who, "explaining the script")?;
    let hover = facts(&state, place).await?.hover;
    let hover = hover.map(|it| Hover { title: it.title, text: it.text, start: it.start, end: it.end });
    Ok(Json(Hovered { hover }))
}

/// The agent knows the host's probes and types, so it is asked.
async fn facts(state: &AppState, place: ScriptPlace) -> Result<ScriptFacts, ApiError> {
    let ScriptPlace { text, offset } = place;
    let mut link = state.link().clone();
    let asking = tokio::task::spawn_blocking(move || script_facts(&mut link, text, offset));
    let answer = asking.await.map_err(|error| ApiError::internal("asking about the script", error))?;
    Ok(answer?)
}
