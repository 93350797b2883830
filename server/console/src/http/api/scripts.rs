//! Scripts of the probe language: what the editor asks before a script runs. A script is run by `POST /api/captures` with
//! the method `{"script":{"text":…,"file":"","params":[],"allow_unsafe":false}}`.
//!
//! All bodies and answers are JSON; in a text, `line` and `column` count from 1 (columns in characters), `start` and `end`
//! are bytes. A *message* is
//! `{severity:"error"|"warning", message, hint, line, column, end_line, end_column, start, end, detail?}`.
//!
//! * `GET /api/scripts` (viewer) → `{may_run, allow_unsafe, why}`: whether whoever asks may run scripts here, and why not.
//! * `POST /api/scripts/check` (operator) `{text, params?:[…], file?, allow_unsafe?, target?}` →
//!   `{ok, messages:[message], probes:[{name, line, attached}], maps:[{name, kind}], compile_ms}`; `ok` says that it can be
//!   run; `attached` counts attach points. `target` is that of a capture's spec.
//! * `POST /api/scripts/compile` (operator) `{text, params?, file?, allow_unsafe?,
//!   emit:"ast"|"types"|"ir"|"bpf"|"elf"|"plan"}` → `{text, messages}`: what a pass made of it (`elf` in hexadecimal).
//!
//! The two are for those who may run scripts; `complete` and `hover` are too.
//!
//! A script that is refused by `POST /api/captures` gives status 422 and
//! `{error:{kind:"script", doing, why, remedy, request_id, diagnostics:[message]}}`.

use std::time::Duration;

use axum::{Json, extract::State};
use bathyscope_capture::{CaptureSpec, Method, ScriptSpec, Target, visible};
use bathyscope_catalog::pasted::{Plain, behind_program, unquoted};
use bathyscope_link::script::{ScriptFailure, ScriptOptions, ScriptRequest, check_script};
use bathyscope_plan::{Diagnostic, Severity};
use bathyscope_protocol::{ScriptChecked, ScriptStage};
use bathyscope_views::MapKind;
use serde::{Deserialize, Serialize};

use super::super::{
    access::{Operator, Viewer, Who},
    error::{ApiError, ErrorKind},
    extract,
    state::AppState,
};
use crate::wire::{ScriptMessage, SpecRefusal};

/// How long compiling may take before nobody waits for it any more.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether scripts can be run.
#[derive(Serialize)]
pub(in crate::http) struct Scripts {
    may_run: bool,
    allow_unsafe: bool,
    /// Why not; empty if they may.
    why: String,
}

/// Tells whether whoever asks may run scripts.
pub(in crate::http) async fn about(Viewer(who): Viewer, State(state): State<AppState>) -> Json<Scripts> {
    let refused = state.scripts().refuses(who.role());
    let allow_unsafe = refused.is_none() && state.scripts().allow_unsafe;
    Json(Scripts { may_run: refused.is_none(), allow_unsafe, why: refused.unwrap_or_default().to_owned() })
}

/// Whether somebody may run a script.
///
/// # Errors
/// Why not.
pub(in crate::http) fn admit(state: &AppState, who: &Who, script: &ScriptSpec) -> Result<(), ApiError> {
    const DOING: &str = "running the script";
    admit_texts(state, who, DOING)?;
    if script.allow_unsafe && !state.scripts().allow_unsafe {
        return Err(ApiError::new(ErrorKind::Denied, DOING, "scripts that change the system are switched off")
            .remedy("Whoever starts the console can allow them with --allow-unsafe-scripts."));
    }
    Ok(())
}

/// Whether somebody may have scripts compiled at all, which takes the host's time and memory, and tells of its kernel.
///
/// # Errors
/// Why not.
pub(in crate::http) fn admit_texts(state: &AppState, who: &Who, doing: &str) -> Result<(), ApiError> {
    let refused = state.scripts().refuses(who.role());
    refused.map_or(Ok(()), |why| {
        let error = ApiError::new(ErrorKind::Denied, doing, why);
        Err(error.remedy("Whoever starts the console can allow it with --scripts."))
    })
}

/// Whether somebody may make dynamic events, whose arguments read memory as scripts do.
///
/// # Errors
/// Why not.
pub(in crate::http) fn admit_probes(state: &AppState, who: &Who) -> Result<(), ApiError> {
    let refused = state.scripts().refuses(who.role());
    refused.map_or(Ok(()), |why| {
        let error = ApiError::new(ErrorKind::Denied, "making dynamic events", why);
        Err(error.remedy("They read memory as scripts do. Whoever starts the console can allow both with --scripts."))
    })
}

/// A script that is not run yet.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ScriptBody {
    text: String,
    #[serde(default)]
    params: Vec<String>,
    #[serde(default)]
    file: String,
    #[serde(default)]
    allow_unsafe: bool,
    #[serde(default)]
    target: Option<Target>,
    #[serde(default)]
    emit: Emit,
}

/// Which pass is shown.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(in crate::http) enum Emit {
    /// The syntax tree, as it would be written.
    Ast,
    /// With its types.
    Types,
    /// The intermediate representation.
    Ir,
    /// Instructions.
    #[default]
    Bpf,
    /// The object file.
    Elf,
    /// What its records and maps mean.
    Plan,
}

impl Emit {
    fn stage(self) -> Option<ScriptStage> {
        match self {
            Self::Ast => Some(ScriptStage::Ast),
            Self::Types => Some(ScriptStage::Types),
            Self::Ir => Some(ScriptStage::Ir),
            Self::Bpf => Some(ScriptStage::Bpf),
            Self::Elf => Some(ScriptStage::Elf),
            Self::Plan => None,
        }
    }
}

impl ScriptBody {
    /// As the agent is asked, checked as a capture would be.
    fn request(self) -> Result<ScriptRequest, ApiError> {
        let Self { text, params, file, allow_unsafe, target, .. } = self;
        let target = target.unwrap_or(Target::System);
        let script = ScriptSpec { text, file, params, allow_unsafe };
        let method = Method::Script(script.clone());
        let spec = CaptureSpec::of(method, target.clone());
        spec.validate().map_err(SpecRefusal::from)?;
        Ok(ScriptRequest {
            name: if script.file.is_empty() { "script".to_owned() } else { script.file },
            text: script.text,
            params: script.params,
            options: ScriptOptions { unsafe_allowed: allow_unsafe, comm: true, bare: false },
            settings: Vec::new(),
            target,
            folder: None,
            ring_bytes: bathyscope_link::script::USUAL_RING_BYTES,
        })
    }
}

/// What is known about a script without running it.
#[derive(Default, Serialize)]
pub(in crate::http) struct CheckedScript {
    ok: bool,
    messages: Vec<ScriptMessage>,
    probes: Vec<CheckedProbe>,
    maps: Vec<CheckedMap>,
    compile_ms: f64,
    /// The script that was meant, where what was pasted is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pasted: Option<Pasted>,
}

/// What a text that was pasted is read as.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Pasted {
    text: String,
    /// What was read as something else, in words.
    notes: Vec<String>,
}

impl Pasted {
    /// Quotes and dashes as they were typed, and the script of a command that runs it; none if there is nothing to read anew.
    fn of(text: &str) -> Option<Self> {
        let Plain { text: plain, mut notes, .. } = Plain::of(text);
        let script = behind_program(&plain, "bpftrace").and_then(|(behind, _)| {
            let (script, is_quoted) = unquoted(behind.strip_prefix("-e")?.trim());
            is_quoted.then(|| script.to_owned())
        });
        if script.is_some() {
            notes.push("the script was taken out of the command".to_owned());
        }
        let made = script.unwrap_or(plain);
        (made != text).then_some(Self { text: made, notes })
    }
}

#[derive(Serialize)]
struct CheckedProbe {
    name: String,
    line: u32,
    attached: u32,
}

#[derive(Serialize)]
struct CheckedMap {
    name: String,
    kind: MapKind,
}

/// Compiles a script and loads nothing.
pub(in crate::http) async fn check(
    Operator(who): Operator,
    State(state): State<AppState>,
    extract::Json(draft): extract::Json<ScriptBody>,
) -> Result<Json<CheckedScript>, ApiError> {
    admit_texts(&state, &who, "checking the script")?;
    let checked = checked(&state, draft.clone()).await?;
    if checked.ok {
        return Ok(Json(checked));
    }
    // Within texts these characters are meant, so what compiles is left as it is.
    let Some(pasted) = Pasted::of(&draft.text) else { return Ok(Json(checked)) };
    let meant = self::checked(&state, ScriptBody { text: pasted.text.clone(), ..draft }).await?;
    Ok(Json(if meant.ok { CheckedScript { pasted: Some(pasted), ..meant } } else { checked }))
}

async fn checked(state: &AppState, draft: ScriptBody) -> Result<CheckedScript, ApiError> {
    let request = draft.request()?;
    let text = request.text.clone();
    Ok(match ask(state, request, None).await? {
        Ok(checked) => describe(&text, &checked),
        Err(diagnostics) => CheckedScript { messages: messages(&text, &diagnostics), ..CheckedScript::default() },
    })
}

/// Compiles through the agent: what came of it, or what is wrong with the script.
async fn ask(
    state: &AppState,
    request: ScriptRequest,
    show: Option<ScriptStage>,
) -> Result<Result<ScriptChecked, Vec<Diagnostic>>, ApiError> {
    let mut link = state.link().clone();
    let checking = tokio::task::spawn_blocking(move || check_script(&mut link, &request, show));
    let late = |_elapsed| ApiError::new(ErrorKind::Timeout, "compiling the script", "it takes too long");
    let checked = tokio::time::timeout(PATIENCE, checking).await.map_err(late)?;
    match checked.map_err(|error| ApiError::internal("compiling the script", error))? {
        Ok(checked) => Ok(Ok(checked)),
        Err(ScriptFailure::Script { diagnostics }) => Ok(Err(diagnostics)),
        Err(error) => Err(error.into()),
    }
}

fn messages(text: &str, diagnostics: &[Diagnostic]) -> Vec<ScriptMessage> {
    diagnostics.iter().map(|diagnostic| ScriptMessage::new(text, diagnostic)).collect()
}

fn describe(text: &str, checked: &ScriptChecked) -> CheckedScript {
    let is_error = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Error;
    let mut described = CheckedScript {
        ok: checked.plan.is_some() && !checked.diagnostics.iter().any(is_error),
        messages: messages(text, &checked.diagnostics),
        compile_ms: checked.compile_ns as f64 / 1e6,
        ..CheckedScript::default()
    };
    if let Some(plan) = &checked.plan {
        let probe = |probe: bathyscope_capture::ScriptProbe| CheckedProbe {
            name: visible(probe.name.as_bytes()),
            line: probe.line,
            attached: probe.attached,
        };
        described.probes = bathyscope_recorder::probes_of(plan).into_iter().map(probe).collect();
        let map =
            |map| CheckedMap { name: visible(map_name(map).as_bytes()), kind: bathyscope_recorder::map_kind(map) };
        described.maps = plan.maps.iter().map(map).collect();
    }
    described
}

fn map_name(map: &bathyscope_plan::MapPlan) -> &str {
    &map.name
}

/// What a pass made of a script.
#[derive(Default, Serialize)]
pub(in crate::http) struct Listing {
    text: String,
    messages: Vec<ScriptMessage>,
}

/// Shows what a pass of the compiler makes of a script.
pub(in crate::http) async fn compile(
    Operator(who): Operator,
    State(state): State<AppState>,
    extract::Json(draft): extract::Json<ScriptBody>,
) -> Result<Json<Listing>, ApiError> {
    admit_texts(&state, &who, "compiling the script")?;
    let emit = draft.emit;
    let request = draft.request()?;
    let text = request.text.clone();
    match ask(&state, request, emit.stage()).await? {
        Ok(checked) => {
            let shown = match (emit, &checked.plan) {
                (Emit::Plan, Some(plan)) => {
                    serde_json::to_string_pretty(plan).map_err(|error| ApiError::internal("writing the plan", error))?
                }
                _ => checked.shown.clone(),
            };
            Ok(Json(Listing { text: shown, messages: messages(&text, &checked.diagnostics) }))
        }
        Err(diagnostics) => Ok(Json(Listing { text: String::new(), messages: messages(&text, &diagnostics) })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_pasted_is_read_as_what_was_meant() {
        let of = |text: &str| Pasted::of(text).map(|pasted| pasted.text);
        assert_eq!(of("BEGIN { printf(“a”); }").as_deref(), Some("BEGIN { printf(\"a\"); }"));
        assert_eq!(of("# bpftrace -e 'BEGIN { exit(); }'").as_deref(), Some("BEGIN { exit(); }"));
        assert_eq!(of("$ sudo bpftrace -e ‘BEGIN { exit(); }’").as_deref(), Some("BEGIN { exit(); }"));
        assert_eq!(of("BEGIN { exit(); }"), None);
        assert_eq!(of("bpftrace opensnoop.bt"), None);
    }
}
