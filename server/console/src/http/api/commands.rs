//! Starting programs for captures: who may, and as whom they run. A command is started by `POST /api/captures` with the
//! target `{"command":{"argv":["PROGRAM",…],"user":"NAME"?,"children":true}}`, which records the command, or
//! `{"during":{"argv":["PROGRAM",…],"user":"NAME"?,"of":TARGET}}`, which records another target for as long as the command
//! runs: `"system"` for everything.
//!
//! * `GET /api/commands` (viewer) → `{may_run, why, remedy, start, users:[name], any_user}`: whether whoever asks may start
//!   one, and if not, why and what helps; `start` is a command line that would allow it. Commands run as one of `users`, as
//!   the first where none is named, or as `any_user`.
//!
//! Commands of other tools are read by `POST /api/commands/explain` (viewer) `{text}` → `{words, capture?: {spec, opens,
//! cost, missing?}, page?, stored?, probes?, script?, refused?: {start, end, why, remedy}, spans:[{start, end, kind}],
//! notes:[{start, end, is_ignored, text}]}`; places are bytes of the text. Nothing is started. What has to be known of the host is known for an
//! operator; for a viewer it is as if no host could be asked.
//!
//! Probes that are kept by name are known to whoever may use them.
//!
//! And back: `POST /api/commands/same` (viewer) with a capture's spec → `{items:[{text, differs:[words]}]}`: commands of other
//! tools and of the terminal that ask for it. `differs` says what a command asks for otherwise; it is empty where it asks for
//! exactly the same.

use axum::{Json, extract::State};
use bathyscope_agent::CommandRights;
use bathyscope_capture::{CaptureSpec, Target, visible};
use bathyscope_commands::{
    ExplainedText, KnownHost, MAX_COMMAND_BYTES, SameCommand, explain, same_as, wanted_processes,
};
use bathyscope_store::Role;
use serde::{Deserialize, Serialize};

use super::super::{
    access::{Viewer, Who},
    error::{ApiError, ErrorKind},
    extract,
    state::AppState,
};
use super::library::library_user;
use crate::library::kept_probes;

/// What allows commands, for whoever starts the console.
const START: &str = "bathyscope serve --commands NAME";
const REMEDY: &str = "Start the console with the name of the user that commands are to run as. A program that runs already \
    can be chosen as a process.";

/// Whether commands can be started, and as whom they run.
#[derive(Serialize)]
pub(in crate::http) struct Commands {
    may_run: bool,
    /// Why not; empty if they may.
    why: String,
    /// What helps.
    remedy: &'static str,
    /// A command line that allows them; empty where that does not help.
    start: &'static str,
    /// As whom they may run.
    users: Vec<String>,
    /// Whether as anybody.
    any_user: bool,
}

/// Whether whoever asks may start a command, and as whom.
pub(in crate::http) async fn about(Viewer(who): Viewer, State(state): State<AppState>) -> Json<Commands> {
    let policy = state.commands();
    let refused = policy.refuses(who.role());
    let is_off = policy.rights == CommandRights::Off;
    let (remedy, start) = if is_off { (REMEDY, START) } else { ("", "") };
    let remedy = if refused.is_some() && !is_off { "Ask an admin to start it." } else { remedy };
    // Names come from the system's user database, which may ask a network.
    let rights = policy.rights.clone();
    let users = tokio::task::spawn_blocking(move || rights.names()).await.unwrap_or_default();
    Json(Commands {
        may_run: refused.is_none(),
        why: refused.unwrap_or_default().to_owned(),
        remedy,
        start,
        users,
        any_user: policy.rights == CommandRights::AsRoot,
    })
}

/// Commands that somebody types or pastes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct CommandText {
    text: String,
}

/// What commands of other tools ask for.
pub(in crate::http) async fn explained(
    Viewer(who): Viewer,
    State(state): State<AppState>,
    extract::Json(CommandText { text }): extract::Json<CommandText>,
) -> Result<Json<ExplainedText>, ApiError> {
    if text.len() > MAX_COMMAND_BYTES {
        let why = format!("they have {} bytes, and at most {MAX_COMMAND_BYTES} are read", text.len());
        return Err(ApiError::invalid("reading the commands", why));
    }
    let mut host = if who.role() >= Role::Operator { known_host(&state, &text).await } else { KnownHost::default() };
    host.kept_probes = kept_probes(state.store(), library_user(&who)).await?;
    // A long text takes a moment.
    let explained = tokio::task::spawn_blocking(move || ExplainedText::from(explain(&text, &host))).await;
    explained.map(Json).map_err(|error| ApiError::new(ErrorKind::Internal, "reading the commands", error.to_string()))
}

/// Commands that ask for a capture.
#[derive(Serialize)]
pub(in crate::http) struct SameCommands {
    items: Vec<SameCommand>,
}

/// Commands that ask for the capture of a spec. What is in the spec is told to nobody who does not have it.
pub(in crate::http) async fn same(
    Viewer(_): Viewer,
    extract::Json(spec): extract::Json<CaptureSpec>,
) -> Result<Json<SameCommands>, ApiError> {
    let made = tokio::task::spawn_blocking(move || SameCommands { items: same_as(&spec) }).await;
    made.map(Json).map_err(|error| ApiError::new(ErrorKind::Internal, "writing commands", error.to_string()))
}

/// What the commands may ask of the host. Without an agent nothing of it is known.
async fn known_host(state: &AppState, text: &str) -> KnownHost {
    let tracepoints = state.host().tracepoints().await.ok();
    let mut processes = Vec::new();
    for name in wanted_processes(text) {
        let Ok(all) = state.host().processes().await else { break };
        let mut found: Vec<_> = all.iter().filter(|one| one.comm == name && !one.kernel).collect();
        found.sort_by_key(|one| (std::cmp::Reverse(one.age_s), one.pid));
        processes.push((name, found.iter().map(|one| one.pid).collect()));
    }
    KnownHost { tracepoints, processes, kept_probes: Vec::new() }
}

/// Whether somebody may start the command of a capture, if it has one.
///
/// # Errors
/// Why not.
pub(in crate::http) fn admit(state: &AppState, who: &Who, spec: &CaptureSpec) -> Result<(), ApiError> {
    if spec.target.command().is_none() {
        return Ok(());
    }
    let Some(why) = state.commands().refuses(who.role()) else { return Ok(()) };
    let remedy = match state.commands().rights {
        CommandRights::Off => format!("Whoever starts the console can allow them: `{START}`."),
        _ => "An admin can start it.".to_owned(),
    };
    Err(ApiError::new(ErrorKind::Denied, "starting the command", why).remedy(remedy))
}

/// Whose events a capture records, for the audit log: a command with all its words and the user that the agent says it runs
/// as.
pub(in crate::http) fn target_words(target: &Target, runs_as: Option<&str>) -> String {
    let quoted = |word: &str| format!("\"{}\"", visible(word.as_bytes()).replace('\\', "\\\\").replace('"', "\\\""));
    let of_command = |argv: &[String], user: &Option<String>, more: &str| {
        let user = runs_as.or(user.as_deref()).map_or_else(|| "a user whom the agent did not name".to_owned(), quoted);
        let words: Vec<String> = argv.iter().map(|word| quoted(word)).collect();
        format!("command as {user}{more}: {}", words.join(" "))
    };
    match target {
        Target::Command { argv, user, children } => {
            of_command(argv, user, if *children { " with its children" } else { "" })
        }
        Target::During { argv, user, of } => {
            format!("{} while it runs, {}", target_words(of, None), of_command(argv, user, ""))
        }
        Target::Process { children: true, .. } => format!("{target} with its children"),
        Target::Processes { children: true, .. } => format!("{target} with their children"),
        Target::Threads { children: true, .. } => format!("{target} with what they start"),
        target => visible(target.to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p52_a_command_is_told_word_by_word() {
        let argv = ["/bin/sh", "-c", "id; head -1 \"/etc/shadow\"\n\u{1b}[31m"].map(str::to_owned).to_vec();
        let command =
            |user: Option<&str>| Target::Command { argv: argv.clone(), user: user.map(str::to_owned), children: true };
        let words = target_words(&command(Some("root")), Some("root"));
        assert!(words.starts_with(r#"command as "root" with its children: "/bin/sh" "-c" "id; head -1 \""#), "{words}");
        assert!(!words.chars().any(char::is_control), "{words}");
        let during = Target::during(argv.clone(), Some("root".to_owned()), Target::System);
        let words = target_words(&during, Some("root"));
        assert!(
            words.starts_with(r#"the whole system while it runs, command as "root": "/bin/sh" "-c" "id;"#),
            "{words}"
        );
        // What the agent answered goes before what was asked for: a number is somebody's.
        assert!(target_words(&command(None), Some("build\n")).starts_with(r#"command as "build\\n" with"#));
        assert!(target_words(&command(Some("1000")), Some("ada")).starts_with(r#"command as "ada" with"#));
        assert!(target_words(&command(None), None).starts_with("command as a user whom the agent did not name"));
        assert_eq!(target_words(&Target::Process { pid: 7, children: true }, None), "pid 7 with its children");
    }
}
