//! Dynamic events: what becomes of what somebody writes, what can be recorded where, and which there are.
//!
//! * `POST /api/dynamic/check` (operator) `{text, file?, pid?}` → `{ok, probes:[{typed, start, name, line, function, place,
//!   returns, arguments:[{name, text}], notes}], messages:[{severity, message, line, column, start, end, …}],
//!   skipped:[{text, why}], answers:[{asked, start, lines}], notes:[text]}`; `start` and `end` are bytes of the text.
//!   a line that is the name of kept probes, or a pattern of names, is these probes;
//!   `answers` are to what `perf probe` asks with `-V`, `-F`, `-l`, `-n`. Makes nothing.
//! * `GET /api/dynamic/variables?function=&module=&file=` (operator) → `{function, variables:[{name, type, declaration, argument,
//!   pointer, members}], notes}`: the parameters of a function of the kernel, and `$retval`.
//! * `GET /api/dynamic/functions?q=&file=&limit=` (operator) → `{file, total, items, hint?}`: functions of the kernel or a file;
//!   `hint` says what a name of the kernel that there is not is called here, or that a function is hardly ever called.
//! * `GET /api/dynamic` (operator) → `{events:[{group, name, line, hits, missed, marks, owner, capture, can_detach}],
//!   optimization, limits}`.
//! * `POST /api/captures/{id}/probes/detach` (operator, of own captures; admin) `{pattern}` → `{detached:[name]}`: switches
//!   probes of a running trace off; the capture goes on.
//! * `POST /api/host/kprobes` (admin) `{optimization}`: the machine's `debug.kprobes-optimization`.

use axum::{Json, extract::State};
use bathyscope_capture::{CaptureId, visible};
use bathyscope_catalog::dynamic::{DynamicArgument, ProbeSite, ProbeVariable};
use bathyscope_commands::KeptProbe;
use bathyscope_link::dynamic::{self, Checked, Resolved};
use bathyscope_plan::{Diagnostic, Severity};
use bathyscope_protocol::{DynamicEvent, ProbeLimit};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        access::{Admin, Operator},
        error::{ApiError, ErrorKind},
        extract::{self, Path, Query},
        state::{AppState, to_its_end},
    },
    captures::{CapturePath, admit_change, may_change},
    library::library_user,
};
use crate::{
    library::{self, NamingLine},
    wire::ScriptMessage,
};

/// The longest text that is checked, in bytes.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// The most functions in an answer.
const MOST_FUNCTIONS: usize = 1000;

/// What somebody writes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ProbeBody {
    text: String,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    pid: Option<u32>,
}

/// What becomes of it.
#[derive(Serialize)]
pub(in crate::http) struct ProbeAnswer {
    ok: bool,
    probes: Vec<ResolvedProbe>,
    messages: Vec<ScriptMessage>,
    skipped: Vec<Skipped>,
    answers: Vec<Answered>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Answered {
    asked: String,
    start: usize,
    lines: Vec<String>,
}

#[derive(Serialize)]
struct Skipped {
    text: String,
    why: String,
}

#[derive(Serialize)]
struct ResolvedProbe {
    typed: String,
    start: usize,
    name: String,
    line: String,
    place: String,
    returns: bool,
    arguments: Vec<WireArgument>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct WireArgument {
    name: Option<String>,
    text: String,
}

impl From<&DynamicArgument> for WireArgument {
    fn from(argument: &DynamicArgument) -> Self {
        Self { name: argument.name.clone(), text: argument.to_string() }
    }
}

impl From<Resolved> for ResolvedProbe {
    fn from(resolved: Resolved) -> Self {
        let usual = resolved.usual_group();
        let Resolved { typed, at, definition, notes, .. } = resolved;
        let group = definition.group.as_deref().unwrap_or(usual);
        Self {
            typed: visible(typed.as_bytes()),
            start: at,
            name: format!("{group}:{}", definition.event.as_deref().unwrap_or_default()),
            line: visible(definition.to_string().as_bytes()),
            place: visible(definition.place.to_string().as_bytes()),
            returns: definition.returns() && !matches!(definition.place, ProbeSite::Event { .. }),
            arguments: definition.arguments.iter().map(WireArgument::from).collect(),
            notes,
        }
    }
}

/// Whether probes can be made as they are written, as far as can be told without making them.
pub(in crate::http) async fn check(
    Operator(who): Operator,
    State(state): State<AppState>,
    extract::Json(ProbeBody { text, file, pid }): extract::Json<ProbeBody>,
) -> Result<Json<ProbeAnswer>, ApiError> {
    if text.len() > MAX_TEXT_BYTES {
        let why = format!("it has {} bytes, and at most {MAX_TEXT_BYTES} are taken", text.len());
        return Err(ApiError::invalid("reading the probes", why));
    }
    let file = file.filter(|file| !file.trim().is_empty());
    let kept = match file {
        // Functions of a file are meant.
        Some(_) => Vec::new(),
        None => library::kept_probes(state.store(), library_user(&who)).await?,
    };
    let (plain, named) = library::naming_lines(&text, &kept);
    let checked = state.host().with_facts(move |link, facts| {
        let mut checked = dynamic::check(link, facts, &plain, file.as_deref().map(str::trim), pid);
        for line in &named {
            for KeptProbe { name, probe } in &line.probes {
                let of_kept = dynamic::check(link, facts, &probe.typed, probe.file.as_deref(), pid);
                take_kept(&mut checked, line, name, of_kept);
            }
        }
        checked.probes.sort_by_key(|probe| probe.at);
        (text, checked)
    });
    let (text, Checked { probes, troubles, skipped, answers, notes }) = checked.await?;
    let seen = |text: &String| visible(text.as_bytes());
    Ok(Json(ProbeAnswer {
        ok: troubles.iter().all(|trouble| trouble.severity != Severity::Error),
        probes: probes.into_iter().map(ResolvedProbe::from).collect(),
        messages: troubles.iter().map(|trouble| ScriptMessage::new(&text, trouble)).collect(),
        skipped: skipped.iter().map(|it| Skipped { text: seen(&it.text), why: seen(&it.why) }).collect(),
        answers: answers
            .iter()
            .map(|it| Answered { asked: seen(&it.asked), start: it.at, lines: it.lines.iter().map(seen).collect() })
            .collect(),
        notes: notes.iter().map(seen).collect(),
    }))
}

/// Puts what becomes of a kept probe where the text names it.
fn take_kept(checked: &mut Checked, line: &NamingLine, name: &str, of_kept: Checked) {
    let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let (start, end) = (place(line.start), place(line.start + line.name.len()));
    checked.probes.extend(of_kept.probes.into_iter().map(|mut probe| {
        probe.at = line.start;
        probe.notes.insert(0, format!("`{name}` is kept in the library"));
        probe
    }));
    checked.troubles.extend(of_kept.troubles.into_iter().map(|trouble| Diagnostic {
        start,
        end,
        message: format!("the kept probe `{name}`: {}", trouble.message),
        ..trouble
    }));
    checked.troubles.sort_by_key(|trouble| trouble.start);
}

/// A function of the kernel.
#[derive(Deserialize)]
pub(in crate::http) struct FunctionQuery {
    function: String,
    module: Option<String>,
    file: Option<String>,
}

#[derive(Serialize)]
pub(in crate::http) struct Variables {
    function: String,
    variables: Vec<WireVariable>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct WireVariable {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    declaration: String,
    /// How it is recorded by itself; none for a whole struct.
    argument: Option<String>,
    pointer: bool,
    members: Vec<String>,
}

impl From<ProbeVariable> for WireVariable {
    fn from(variable: ProbeVariable) -> Self {
        Self {
            declaration: variable.to_string(),
            argument: variable.argument.as_ref().map(ToString::to_string),
            name: variable.name,
            type_name: variable.type_name,
            pointer: variable.pointer,
            members: variable.members,
        }
    }
}

/// What has a name where a function of the kernel begins and returns, or at a place of a program.
pub(in crate::http) async fn variables(
    _: Operator,
    State(state): State<AppState>,
    Query(FunctionQuery { function, module, file }): Query<FunctionQuery>,
) -> Result<Json<Variables>, ApiError> {
    let (asked, of) = (function.clone(), module.filter(|module| !module.is_empty()));
    let file = file.map(|file| file.trim().to_owned()).filter(|file| !file.is_empty());
    let found = state.host().with_facts(move |link, facts| match file {
        Some(file) => dynamic::variables_in_program(link, None, &file, &asked),
        None => dynamic::variables_of(link, facts, of.as_deref(), &asked),
    });
    let found = found.await?;
    let doing = format!("looking for the parameters of {}", visible(function.as_bytes()));
    let (variables, notes) = found.map_err(|why| ApiError::new(ErrorKind::NotFound, doing, why))?;
    let variables = variables.into_iter().map(WireVariable::from).collect();
    Ok(Json(Variables { function: visible(function.as_bytes()), variables, notes }))
}

/// Which functions.
#[derive(Deserialize)]
pub(in crate::http) struct FunctionsQuery {
    #[serde(default)]
    q: String,
    file: Option<String>,
    limit: Option<usize>,
}

#[derive(Serialize)]
pub(in crate::http) struct Functions {
    /// Its path; none for the kernel.
    file: Option<String>,
    total: usize,
    items: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// Functions of the kernel, or of a program or library, that begin with or else contain what is looked for.
pub(in crate::http) async fn functions(
    _: Operator,
    State(state): State<AppState>,
    Query(FunctionsQuery { q, file, limit }): Query<FunctionsQuery>,
) -> Result<Json<Functions>, ApiError> {
    let limit = limit.unwrap_or(50).min(MOST_FUNCTIONS);
    let file = file.map(|file| file.trim().to_owned()).filter(|file| !file.is_empty());
    let named = file.clone();
    let listed = state.host().with_facts(move |link, facts| match named {
        Some(file) => {
            let (path, names) = dynamic::functions_of(link, None, &file)?;
            Ok((Some(path), found(names.iter().map(String::as_str), q.trim(), limit), None))
        }
        None => {
            let events = facts.events(link);
            let functions = facts.functions(link);
            let found = found(functions.beginning_with(""), q.trim(), limit);
            let hint = match functions.seldom_called(q.trim()) {
                Some(why) => Some(why.to_owned()),
                None => (found.0 == 0 && !functions.is_empty()).then(|| functions.missing(q.trim(), &events)),
            };
            Ok((None, found, hint))
        }
    });
    let listed: Result<_, String> = listed.await?;
    let doing = || format!("listing the functions of {}", visible(file.as_deref().unwrap_or_default().as_bytes()));
    let (file, (total, items), hint) = listed.map_err(|why| ApiError::new(ErrorKind::NotFound, doing(), why))?;
    let hint = hint.map(|hint| visible(hint.as_bytes()));
    Ok(Json(Functions { file, total, items, hint }))
}

fn found<'a>(names: impl Iterator<Item = &'a str>, wanted: &str, limit: usize) -> (usize, Vec<String>) {
    let mut all: Vec<&str> = names.filter(|name| name.contains(wanted)).collect();
    // Those that begin so first, the shorter the better.
    all.sort_by_key(|name| (!name.starts_with(wanted), name.len()));
    let items = all.iter().take(limit).map(|name| visible(name.as_bytes())).collect();
    (all.len(), items)
}

/// The dynamic events of the host.
#[derive(Serialize)]
pub(in crate::http) struct Events {
    events: Vec<Event>,
    optimization: Option<bool>,
    limits: Vec<ProbeLimit>,
}

#[derive(Serialize)]
struct Event {
    #[serde(flatten)]
    event: DynamicEvent,
    /// The running capture that made it, if it runs in this console.
    capture: Option<CaptureId>,
    /// What it is called in that capture.
    label: Option<String>,
    /// Whether whoever asks may detach it.
    can_detach: bool,
}

/// Which dynamic events there are, whoever made them.
pub(in crate::http) async fn list(
    Operator(who): Operator,
    State(state): State<AppState>,
) -> Result<Json<Events>, ApiError> {
    let listed = state.host().dynamic_events().await?;
    let event = |mut event: DynamicEvent| {
        let ours = state.recorder().made_by(&event.group, &event.name);
        event.line = visible(event.line.as_bytes());
        let can_detach = ours.as_ref().is_some_and(|made| may_change(&who, &made.owner));
        let (capture, label) = ours.map(|made| (made.capture, made.label)).unzip();
        Event { event, capture, label, can_detach }
    };
    let events = listed.events.into_iter().map(event).collect();
    Ok(Json(Events { events, optimization: listed.optimization, limits: listed.limits }))
}

/// Which probes of a capture.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Detach {
    pattern: String,
}

#[derive(Serialize)]
pub(in crate::http) struct Detached {
    detached: Vec<String>,
}

/// Switches probes of a running capture off.
pub(in crate::http) async fn detach(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    extract::Json(Detach { pattern }): extract::Json<Detach>,
) -> Result<Json<Detached>, ApiError> {
    admit_change(&state, &who, id).await?;
    let detaching = async move {
        let detached = state.recorder().detach(id, &pattern).await?;
        let names = detached.join(" ");
        state.audit(&who.session, "capture.detach", &id.to_string(), &names).await;
        Ok::<_, ApiError>(detached)
    };
    let detached = to_its_end(detaching).await??;
    Ok(Json(Detached { detached }))
}

/// A setting of the machine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Kprobes {
    optimization: bool,
}

/// Lets the kernel optimise its probes, or not: for everybody's, until somebody changes it again.
pub(in crate::http) async fn set_kprobes(
    Admin(who): Admin,
    State(state): State<AppState>,
    extract::Json(Kprobes { optimization }): extract::Json<Kprobes>,
) -> Result<StatusCode, ApiError> {
    let setting = async move {
        state.host().optimize_kprobes(optimization).await?;
        let value = if optimization { "1" } else { "0" };
        state.audit(&who.session, "host.set", "debug.kprobes-optimization", value).await;
        Ok::<_, ApiError>(())
    };
    to_its_end(setting).await??;
    Ok(StatusCode::NO_CONTENT)
}
