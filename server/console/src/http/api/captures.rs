//! Captures: listed, made, shown, renamed, tagged, deleted.

use std::collections::BTreeSet;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use bathyscope_capture::{CaptureId, CaptureSpec, OutputLine, OutputStream, SeriesId, shown, visible};
use bathyscope_link::{clock::wall_unix_ns, script::ScriptFailure};
use bathyscope_reader::RemovedKind;
use bathyscope_store::{
    CaptureLabels, CaptureRecord, CaptureRight, CaptureSummary, FireToken, LabelChange, MarkRecord, Role, RunPlace,
    Store, SummaryQuery, SummarySort,
};
use http::{StatusCode, header::LOCATION};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::super::{
    access::{Operator, Reader, Viewer, Who},
    error::{ApiError, ErrorKind},
    extract::{self, Path, Query},
    share::{Share, SharedPart},
    state::{AppState, to_its_end},
};
use super::{CaptureAddress, commands, library::with_kept, scripts};
use crate::{hex::hex, retention::restorable_until, wire};
use bathyscope_recorder::{FlightStatus, StartError};

/// The most captures on a page of the list.
const MOST_LISTED: u32 = 500;
/// The most captures of a flight recorder in one answer.
const MOST_STORED: u32 = 1000;
/// The most pieces of a command's output in one answer.
const MOST_OUTPUT: u32 = 1000;

/// The capture in a path.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(in crate::http) struct CapturePath {
    pub(in crate::http) id: CaptureId,
}

/// Which captures are listed.
#[derive(Deserialize)]
pub(in crate::http) struct ListQuery {
    #[serde(default)]
    q: String,
    /// By what they are sorted, with `-` before it for the other way round; as the search says if it is not said, else newest first.
    sort: Option<String>,
    limit: Option<u32>,
    #[serde(default)]
    offset: u32,
}

impl ListQuery {
    /// What the store is asked.
    fn summaries(&self) -> Result<SummaryQuery, ApiError> {
        let asked = SummaryQuery::parse(&self.q, wall_unix_ns());
        let asked = asked.map_err(|error| ApiError::invalid("searching captures", error.to_string()))?;
        let (sort, reversed) = match &self.sort {
            None => (asked.sort, asked.reversed),
            Some(sort) => SummarySort::parse(sort)
                .map_err(|error| ApiError::invalid("sorting captures", format!("they are sorted by {error}")))?,
        };
        let limit = self.limit.unwrap_or(100).min(MOST_LISTED);
        Ok(SummaryQuery { sort, reversed, limit, offset: self.offset, ..asked })
    }
}

#[derive(Serialize)]
pub(in crate::http) struct CaptureList {
    /// How many there are on all pages together.
    total: u64,
    /// Whether there are more than that: of what has words, and of what somebody sees from whom some are kept, at most 5,000 are counted.
    total_exceeded: bool,
    items: Vec<wire::CaptureItem>,
    retention: wire::Retention,
    /// What a search for words did not look into; none if no words were searched for.
    unsearched: Option<wire::Unsearched>,
    /// How they are sorted, with `-` before it for the other way round.
    sort: String,
    /// What was probably meant, if nothing was found and a name before a colon is no condition.
    hint: Option<String>,
}

/// Lists captures, a page at a time.
pub(in crate::http) async fn list(
    Viewer(who): Viewer,
    State(state): State<AppState>,
    Query(query): Query<ListQuery>,
) -> Result<Json<CaptureList>, ApiError> {
    let text = query.q.clone();
    let query = query.summaries()?;
    let seen = state.seen(&who);
    // What all take together is summed up meanwhile.
    let (page, sizes) = tokio::try_join!(seen.summaries(&query), state.store().sizes())?;
    let hint = if page.total == 0 { wire::search_hint(&text) } else { None };
    let rule = state.retention();
    let retention = wire::Retention::new(rule, sizes, state.store().room());
    let runs = seen.run_counts(page.items.iter().map(|item| item.id).collect()).await?;
    let item = |item: CaptureSummary| {
        let (can_pin, run) = (who.role() >= Role::Operator && item.can_change, runs.get(&item.id).copied());
        wire::CaptureItem::kept_by(item, rule, can_pin).of_series(run)
    };
    let (total, total_exceeded) = (page.total, page.total_exceeded);
    let items = page.items.into_iter().map(item).collect();
    let unsearched = page.unsearched.map(wire::Unsearched::from);
    let sort = format!("{}{}", if query.reversed { "-" } else { "" }, query.sort.name());
    Ok(Json(CaptureList { total, total_exceeded, items, retention, unsearched, sort, hint }))
}

/// How many captures have each tag, in order of the tags.
pub(in crate::http) async fn tags(
    Viewer(who): Viewer,
    State(state): State<AppState>,
) -> Result<Json<TagList>, ApiError> {
    let items = state.seen(&who).tags().await?.into_iter().map(|(tag, captures)| TagItem { tag, captures }).collect();
    Ok(Json(TagList { items }))
}

#[derive(Serialize)]
pub(in crate::http) struct TagList {
    items: Vec<TagItem>,
}

#[derive(Serialize)]
struct TagItem {
    tag: String,
    captures: u64,
}

/// How a capture is started.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct StartQuery {
    /// The capture that is run again.
    again: Option<CaptureId>,
}

/// Starts a capture.
pub(in crate::http) async fn start(
    Operator(who): Operator,
    State(state): State<AppState>,
    Query(StartQuery { again }): Query<StartQuery>,
    extract::Json(spec): extract::Json<CaptureSpec>,
) -> Result<Response, ApiError> {
    let spec = with_kept(&state, &who, spec).await?;
    wire::check_spec(&spec)?;
    admit(&state, &who, &spec)?;
    state.webhooks().check(spec.limits.flight.as_deref()).await?;
    let script = spec.script().map(|script| script.text.clone());
    let starting = async move {
        let started = state.recorder().start(spec.clone(), who.user()).await;
        let id = started.map_err(|error| refused(error, script.as_deref()))?;
        begin_run(state.store(), id, again).await;
        let detail = audit_words(&spec, script.as_deref(), state.recorder().command_user(id).as_deref());
        state.audit(&who.session, "capture.start", &id.to_string(), &detail).await;
        Ok::<_, ApiError>(id)
    };
    let id = to_its_end(starting).await??;
    let address = CaptureAddress::of(id);
    Ok((StatusCode::CREATED, [(LOCATION, address.url.clone())], Json(address)).into_response())
}

/// Keeps of which series a capture is that has just begun. It is recorded all the same where that fails: it is kept later.
pub(crate) async fn begin_run(store: &Store, id: CaptureId, again: Option<CaptureId>) {
    let begun = async {
        let record = store.capture(id).await?;
        let series = SeriesId::of(&record.spec, &record.host, record.simulated);
        store.begin_run(id, series, again).await
    };
    if let Err(error) = begun.await {
        tracing::warn!(capture = %id, %error, "of which series it is was not kept");
    }
}

/// Whether somebody may start all that a capture has: its command, its script, its dynamic events.
///
/// # Errors
/// What they may not.
pub(super) fn admit(state: &AppState, who: &Who, spec: &CaptureSpec) -> Result<(), ApiError> {
    commands::admit(state, who, spec)?;
    if let Some(script) = spec.script() {
        scripts::admit(state, who, script)?;
    }
    if spec.methods().any(|method| !method.dynamic().is_empty()) {
        scripts::admit_probes(state, who)?;
    }
    Ok(())
}

/// Why a capture could not be started; of a script, with the places in its text.
pub(super) fn refused(error: StartError, script: Option<&str>) -> ApiError {
    match (error, script) {
        (StartError::Script(ScriptFailure::Script { diagnostics }), Some(text)) => ApiError::script(text, &diagnostics),
        (error, _) => error.into(),
    }
}

/// A capture in the audit log: what tells it from others, and whose events it records. The long comes last, as
/// the log cuts it: the digests tell it all the same. `command_user` is as whom the agent runs the command, if there is one.
pub(crate) fn audit_words(spec: &CaptureSpec, script: Option<&str>, command_user: Option<&str>) -> String {
    let digest = |bytes: &[u8]| hex(&Sha256::digest(bytes));
    let script = script.map_or_else(String::new, |text| format!(" script {}", digest(text.as_bytes())));
    let json = serde_json::to_vec(spec).unwrap_or_default();
    format!("spec {}{script}; of {}", digest(&json), commands::target_words(&spec.target, command_user))
}

#[derive(Serialize)]
pub(in crate::http) struct CapturePage {
    #[serde(flatten)]
    capture: wire::Capture,
    /// Whether the recorder works on it.
    running: bool,
    /// What it has in memory, if it is a flight recorder that runs.
    flight: Option<FlightStatus>,
    /// The captures that it has stored, if it is a flight recorder, newest first.
    stored: Vec<CaptureId>,
    /// Whether others can fire it with a token, if it is a flight recorder that runs; none if they cannot.
    fire_token: Option<FireToken>,
    /// Whether whoever asks may rename it, stop it, and detach its probes.
    can_change: bool,
    /// Whether whoever asks may delete it now.
    can_delete: bool,
    /// Whether whoever asks may pin it, and take that back.
    can_pin: bool,
    /// Whether whoever asks may say who may read it.
    can_give: bool,
    /// Whether a list of it or of one of its tags says who may read it; not told in a share.
    is_limited: bool,
    /// When retention deletes it by its age, nanoseconds since 1970; none if it does not.
    kept_until_unix_ns: Option<i64>,
    /// What links to it for others begin with; none if nobody said by which address they reach the console.
    public_url: Option<String>,
    /// Its tags, in order.
    tags: Vec<String>,
    /// What it is about, as people say; empty if nobody has.
    description: String,
    /// By which share whoever asks reads it; none for somebody who is logged in.
    share: Option<ReadShare>,
    /// Whether whoever asks may make shares, and why not: none if they may.
    no_shares: Option<&'static str>,
    /// Of which series it is a run; none where that is not known yet, and in a share.
    run: Option<CaptureRun>,
    /// Moments that were marked while it was recorded, of its host or of all; none in a share.
    marks: Vec<CaptureMark>,
}

/// A marked moment in a capture.
#[derive(Serialize)]
struct CaptureMark {
    /// Nanoseconds from the capture's start.
    time: i64,
    /// What happened.
    text: String,
    /// Who marked it.
    author: String,
}

/// The marks while a capture was recorded, by the wall clock that it began by.
async fn marks_of(state: &AppState, record: &CaptureRecord) -> Result<Vec<CaptureMark>, ApiError> {
    let lasts_ns = i64::try_from(record.end_ns.saturating_sub(record.start_ns)).unwrap_or(i64::MAX);
    let began = record.started_unix_ns;
    let marks = state.store().marks(began, began.saturating_add(lasts_ns)).await?.into_iter();
    let host = &record.host.hostname;
    let of_host = marks.filter(|found| found.mark.host.is_empty() || found.mark.host == *host);
    let mark = |MarkRecord { mark, .. }| CaptureMark {
        time: mark.time_unix_ns.saturating_sub(began),
        text: shown(&mark.text),
        author: shown(&mark.author),
    };
    Ok(of_host.map(mark).collect())
}

/// A capture as a run of its series.
#[derive(Serialize)]
struct CaptureRun {
    /// The series.
    series: SeriesId,
    /// How many runs it has, at most 1000.
    runs: u64,
    /// The capture that was run again; none if it was not begun so.
    again_of: Option<CaptureId>,
    /// The run that later ones are compared with; none if none is named.
    baseline: Option<CaptureId>,
}

impl From<RunPlace> for CaptureRun {
    fn from(RunPlace { series, runs, again_of, baseline }: RunPlace) -> Self {
        Self { series, runs, again_of, baseline }
    }
}

/// A share, to whom it is shown to.
#[derive(Serialize)]
pub(super) struct ReadShare {
    title: String,
    /// Who made it; empty if names are removed.
    owner: String,
    /// From when on it shows nothing, nanoseconds since 1970 by the wall clock.
    expires_unix_ns: i64,
    /// The only part that it shows; none for all. Where something is removed it does not say by which filter.
    part: Option<SharedPart>,
    /// What is removed from it.
    removes: Vec<RemovedKind>,
    /// Whether notes are shown.
    notes: bool,
    /// Whether results of queries are shown.
    results: bool,
    /// Whether views that stand on the investigation can be opened.
    views: bool,
}

impl From<&Share> for ReadShare {
    fn from(share: &Share) -> Self {
        let (record, choices) = (share.record(), share.choices());
        Self {
            title: shown(&record.title),
            owner: choices.told_owner(&record.owner),
            expires_unix_ns: record.expires_unix_ns,
            part: share.part().map(|part| choices.told_part(part.clone())),
            removes: choices.removes().to_vec(),
            notes: choices.has_notes(),
            results: choices.has_results(),
            views: choices.opens_views(),
        }
    }
}

/// Why somebody may make no shares; none if they may.
pub(super) fn no_shares(state: &AppState, who: Option<&Who>) -> Option<&'static str> {
    match who {
        None => Some("a share is read only"),
        Some(who) if who.role() < Role::Operator => Some("who may only look makes no shares; operators and admins may"),
        Some(_) if !state.shares().are_allowed() => {
            Some("shares are not allowed in this console; an admin allows them on the page Shares")
        }
        Some(_) => None,
    }
}

/// Describes one capture, without its rows.
pub(in crate::http) async fn one(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
) -> Result<Json<CapturePage>, ApiError> {
    // In this order: what does not run any more has its end stored, and what is computed no more has its streams.
    let running = state.is_running(id);
    let work = wire::work_on(state.derivations(), id);
    let no_shares = no_shares(&state, reader.who());
    let Some(who) = reader.who() else {
        // What people say of it among themselves is not in a share, and neither is when it goes.
        let record = reader.view(&state, id).await?.record().clone();
        return Ok(Json(CapturePage {
            capture: wire::Capture::from(record).computing(work),
            running,
            flight: None,
            stored: Vec::new(),
            fire_token: None,
            can_change: false,
            can_delete: false,
            can_pin: false,
            can_give: false,
            is_limited: false,
            kept_until_unix_ns: None,
            public_url: None,
            tags: Vec::new(),
            description: String::new(),
            share: reader.share().map(ReadShare::from),
            no_shares,
            run: None,
            marks: Vec::new(),
        }));
    };
    let record = state.store().capture(id).await?;
    let can_change = may_change_capture(&state, who, id).await?;
    let (can_delete, can_pin) = (can_change && !running, can_change);
    let is_recorder = record.spec.limits.flight.is_some() && record.firing.is_none();
    let mut stored = if is_recorder { state.store().stored_by(id, MOST_STORED).await? } else { Vec::new() };
    let unseen = if stored.is_empty() { BTreeSet::new() } else { state.seen(who).unseen().await? };
    stored.retain(|stored| !unseen.contains(stored));
    let flight = state.recorder().flight(id).filter(|_| running);
    let fire_token = if flight.is_some() { state.store().fire_token(id, None).await? } else { None };
    let public_url = state.hosts().public_url().map(ToString::to_string);
    let CaptureLabels { tags, description } = state.store().labels(id).await?;
    let can_give = may_change(who, &record.owner);
    let is_limited = is_limited(&state, id, &tags).await?;
    let kept_until = state.retention().kept_until(record.since_unix_ns, record.pinned, (&record.owner, &tags));
    let kept_until_unix_ns = kept_until.filter(|_| !running);
    let marks = marks_of(&state, &record).await?;
    let capture = wire::Capture::from(record).computing(work);
    let tags = tags.into_iter().collect();
    let share = None;
    let run = state.seen(who).run_places(vec![id]).await?.remove(&id).map(CaptureRun::from);
    Ok(Json(CapturePage {
        capture,
        running,
        flight,
        stored,
        fire_token,
        can_change,
        can_delete,
        can_pin,
        can_give,
        is_limited,
        kept_until_unix_ns,
        public_url,
        tags,
        description,
        share,
        no_shares,
        run,
        marks,
    }))
}

/// Whether a list of a capture or of one of its tags says who may read it.
async fn is_limited(state: &AppState, id: CaptureId, tags: &BTreeSet<String>) -> Result<bool, ApiError> {
    if state.store().capture_rights(id).await?.is_some() {
        return Ok(true);
    }
    Ok(!tags.is_empty() && state.store().tag_rights().await?.keys().any(|tag| tags.contains(tag)))
}

/// What can be changed of a capture.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Change {
    title: Option<String>,
    pinned: Option<bool>,
    /// Tags that it gets.
    #[serde(default)]
    add_tags: Vec<String>,
    /// Tags that it loses.
    #[serde(default)]
    remove_tags: Vec<String>,
    /// Another description.
    description: Option<DescriptionChange>,
}

/// What a capture is about: as whoever changes it has seen it, and as it shall be.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DescriptionChange {
    seen: String,
    text: String,
}

/// Gives a capture another title, tags or description, or pins it.
pub(in crate::http) async fn change(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    extract::Json(change): extract::Json<Change>,
) -> Result<StatusCode, ApiError> {
    let Change { title, pinned, add_tags, remove_tags, description } = change;
    let description = description.map(|DescriptionChange { seen, text }| (seen, text.trim().to_owned()));
    let labels = LabelChange { add: add_tags, remove: remove_tags, description };
    let is_labelled = labels != LabelChange::default();
    let title = title.map(|title| title.trim().to_owned());
    if title.as_deref() == Some("") {
        return Err(ApiError::invalid("renaming the capture", "a title needs at least one character"));
    }
    if title.is_none() && pinned.is_none() && !is_labelled {
        let why = "none of `title`, `pinned`, `add_tags`, `remove_tags` and `description` is given";
        return Err(ApiError::invalid("changing the capture", why));
    }
    admit_change(&state, &who, id).await?;
    admit_tags(&state, &who, id, &labels).await?;
    let changing = async move {
        if is_labelled {
            let (added, removed) = (labels.add.join(" "), labels.remove.join(" "));
            let detail =
                format!("tags added: {added}; removed: {removed}; description: {}", labels.description.is_some());
            state.store().change_labels(id, labels).await?;
            state.audit(&who.session, "capture.label", &id.to_string(), &detail).await;
        }
        if let Some(title) = title {
            state.store().rename(id, &title).await?;
            state.audit(&who.session, "capture.rename", &id.to_string(), "").await;
        }
        if let Some(pinned) = pinned {
            state.store().set_pinned(id, pinned).await?;
            let action = if pinned { "capture.pin" } else { "capture.unpin" };
            state.audit(&who.session, action, &id.to_string(), "").await;
        }
        Ok::<_, ApiError>(())
    };
    to_its_end(changing).await??;
    Ok(StatusCode::NO_CONTENT)
}

/// Refuses tags that say who may read, from everybody but the owner and admins: with one more or less the capture would be others' too.
async fn admit_tags(state: &AppState, who: &Who, id: CaptureId, labels: &LabelChange) -> Result<(), ApiError> {
    if !who.sight().is_narrow() || may_change(who, &state.store().capture(id).await?.owner) {
        return Ok(());
    }
    let lists = state.store().tag_rights().await?;
    let mut named = labels.add.iter().chain(&labels.remove).map(|tag| tag.trim().to_lowercase());
    match named.find(|tag| lists.contains_key(tag)) {
        None => Ok(()),
        Some(tag) => {
            let why = format!("the tag `{tag}` says who may read the capture, and it is not yours");
            let refused = ApiError::new(ErrorKind::ReadOnly, "changing the capture", why);
            Err(refused.remedy("Its owner or an admin can do it."))
        }
    }
}

/// Whether somebody may change what this person owns: an operator own things, an admin all.
pub(super) fn may_change(who: &Who, owner: &str) -> bool {
    who.role() >= Role::Admin || (who.role() >= Role::Operator && owner == who.user())
}

/// Goes on only for somebody who may change the capture (P08); others get the answer of an address that does not exist.
pub(super) async fn admit_change(state: &AppState, who: &Who, id: CaptureId) -> Result<(), ApiError> {
    if may_change_capture(state, who, id).await? { Ok(()) } else { Err(ApiError::not_found()) }
}

/// Whether somebody may change a capture: as its owner, as an admin, or by a right that was given.
pub(super) async fn may_change_capture(state: &AppState, who: &Who, id: CaptureId) -> Result<bool, ApiError> {
    let right = state.seen(who).right(id).await?;
    Ok(who.role() >= Role::Operator && right == CaptureRight::Change)
}

/// How a capture is deleted.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct DeleteQuery {
    /// So that it cannot be restored.
    #[serde(default)]
    for_good: bool,
}

/// What became of a capture that was deleted.
#[derive(Serialize)]
pub(in crate::http) struct CaptureDeleted {
    /// Until when it can be restored, nanoseconds since 1970 by the wall clock; none if it cannot.
    restorable_until_unix_ns: Option<i64>,
}

/// Deletes a capture, so that it can be restored for a day if there is room to keep it.
pub(in crate::http) async fn delete(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(DeleteQuery { for_good }): Query<DeleteQuery>,
) -> Result<Json<CaptureDeleted>, ApiError> {
    admit_change(&state, &who, id).await?;
    let deleting = async move {
        let now_unix_ns = wall_unix_ns();
        let is_kept = if for_good {
            state.store().delete(id).await?;
            false
        } else {
            state.store().delete_restorably(id, (now_unix_ns, who.user().to_owned())).await?
        };
        state.captures().forget(id);
        let detail = if is_kept { "it can be restored for a day" } else { "for good" };
        state.audit(&who.session, "capture.delete", &id.to_string(), detail).await;
        let restorable_until_unix_ns = is_kept.then(|| restorable_until(now_unix_ns));
        Ok::<_, ApiError>(CaptureDeleted { restorable_until_unix_ns })
    };
    Ok(Json(to_its_end(deleting).await??))
}

#[derive(Serialize)]
pub(in crate::http) struct Stopped {
    stopped: bool,
}

/// Asks a running capture to stop; says whether it was running.
pub(in crate::http) async fn stop(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
) -> Result<Json<Stopped>, ApiError> {
    admit_change(&state, &who, id).await?;
    let stopping = async move {
        let stopped = state.recorder().stop(id, who.user());
        if stopped {
            state.audit(&who.session, "capture.stop", &id.to_string(), "").await;
        }
        stopped
    };
    Ok(Json(Stopped { stopped: to_its_end(stopping).await? }))
}

/// Which part of the output.
#[derive(Deserialize)]
pub(in crate::http) struct OutputQuery {
    #[serde(default)]
    offset: u64,
    limit: Option<u32>,
}

#[derive(Serialize)]
pub(in crate::http) struct Output {
    items: Vec<OutputItem>,
    offset: u64,
}

#[derive(Serialize)]
struct OutputItem {
    time: i64,
    stream: &'static str,
    /// The lines, each made visible; the last may be unfinished.
    lines: Vec<String>,
}

/// What the traced command printed.
pub(in crate::http) async fn output(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<OutputQuery>,
) -> Result<Json<Output>, ApiError> {
    reader.admit_whole(id, "what its command printed")?;
    let start_ns = state.store().capture(id).await?.start_ns;
    let pieces = state.store().output(id, query.offset, query.limit.unwrap_or(MOST_OUTPUT).min(MOST_OUTPUT)).await?;
    let item = |piece: OutputLine| {
        let stream = match piece.stream {
            OutputStream::Stdout => "stdout",
            OutputStream::Stderr => "stderr",
        };
        let bytes = piece.bytes.strip_suffix(b"\n").unwrap_or(&piece.bytes);
        let lines = bytes.split(|byte| *byte == b'\n').map(visible).collect();
        OutputItem { time: piece.time_ns.cast_signed().wrapping_sub_unsigned(start_ns), stream, lines }
    };
    Ok(Json(Output { items: pieces.into_iter().map(item).collect(), offset: query.offset }))
}
