//! Trials: a script is run for a moment to see its first rows and what it costs, and nothing of it is kept.
//!
//! A trial is a capture like any other, with the same checks, limits and guard, which is deleted as soon as it was read: also
//! if whoever asked has gone meanwhile. If the console itself ends in between, it stays in the history under its title.

use std::time::Duration;

use axum::{Json, extract::State};
use bathyscope_capture::{CaptureId, CaptureSpec, Limits, Method, ScriptSpec, Target, visible};
use bathyscope_reader::{
    CaptureView,
    script_view::{BytesRow, Cursor, PrintedBytes, PrintedText},
};
use bathyscope_views::{Cancel, MapTable, Period, TableQuery, map_table};
use serde::{Deserialize, Serialize};

use super::{
    super::{
        access::{Operator, Who},
        error::ApiError,
        extract,
        state::{AppState, to_its_end},
    },
    captures, maps,
};
use crate::{hex::hex, wire};

/// What a trial is called while it is there.
const TITLE: &str = "trial of the probe builder, which is deleted by itself";
/// How long a trial is, where nothing is said, and how long it may be.
const USUAL: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(5);
const SHORTEST: Duration = Duration::from_millis(100);
/// The most rows and bytes of one.
const MOST_ROWS: u64 = 100_000;
const MOST_BYTES: u64 = 32 << 20;
/// The lines that are shown.
const MOST_LINES: usize = 200;
/// The maps that are shown, and the elements of each.
const MOST_MAPS: usize = 4;
const MOST_ELEMENTS: u32 = 50;
/// Hits whose memory is shown.
const MOST_DUMPS: usize = 8;
/// The longest that somebody waits for the names of functions in its stacks.
const NAMING: Duration = Duration::from_secs(5);

/// What is tried.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct TrialBody {
    text: String,
    #[serde(default)]
    target: Option<Target>,
    duration_ms: Option<u64>,
}

/// What came of it.
#[derive(Serialize)]
pub(in crate::http) struct Trial {
    /// What it printed, with its maps as they were at the end.
    output: PrintedText,
    /// Its maps as they were at the end, the greatest elements first.
    tables: Vec<MapTable>,
    /// Memory that it printed, as it was at the first hits.
    bytes: Vec<TrialBytes>,
    /// What each of its programs counted.
    probes: Vec<wire::Probe>,
    /// How long it recorded.
    duration_ns: u64,
    /// Records that were lost.
    lost: u64,
    /// Why it ended, where that was not its time; empty if it was.
    reason: String,
}

/// Memory that one value of a `printf` is.
#[derive(Serialize)]
pub(in crate::http) struct TrialBytes {
    /// Which `printf` of the script, from 0.
    statement: usize,
    /// Which of its values, from 0.
    value: usize,
    /// Its column.
    name: String,
    /// The first hits.
    rows: Vec<TrialBytesRow>,
}

#[derive(Serialize)]
struct TrialBytesRow {
    /// Nanoseconds since the trial's start.
    time: u64,
    pid: u64,
    /// The bytes, two digits each.
    hex: String,
}

impl From<PrintedBytes> for TrialBytes {
    fn from(PrintedBytes { statement, value, name, rows }: PrintedBytes) -> Self {
        let row = |BytesRow { time, pid, bytes }: &BytesRow| TrialBytesRow { time: *time, pid: *pid, hex: hex(bytes) };
        let name = visible(name.as_bytes());
        Self { statement, value, name, rows: rows.iter().map(row).collect() }
    }
}

/// Runs a script of the probe builder for a moment.
pub(in crate::http) async fn run(
    Operator(who): Operator,
    State(state): State<AppState>,
    extract::Json(body): extract::Json<TrialBody>,
) -> Result<Json<Trial>, ApiError> {
    let spec = spec_of(body);
    wire::check_spec(&spec)?;
    captures::admit(&state, &who, &spec)?;
    // It is deleted also if nobody waits for it any more.
    to_its_end(tried(state, who, spec)).await?.map(Json)
}

fn spec_of(TrialBody { text, target, duration_ms }: TrialBody) -> CaptureSpec {
    let script = ScriptSpec { text, ..ScriptSpec::default() };
    let asked = duration_ms.map_or(USUAL, Duration::from_millis).clamp(SHORTEST, LONGEST);
    let limits = Limits {
        duration_ms: Some(u64::try_from(asked.as_millis()).unwrap_or(u64::MAX)),
        max_events: Some(MOST_ROWS),
        max_bytes: Some(MOST_BYTES),
        ..Limits::default()
    };
    let spec = CaptureSpec::of(Method::Script(script), target.unwrap_or(Target::System));
    CaptureSpec { name: TITLE.to_owned(), limits, ..spec }
}

async fn tried(state: AppState, who: Who, spec: CaptureSpec) -> Result<Trial, ApiError> {
    let script = spec.script().map(|script| script.text.clone());
    let started = state.recorder().start(spec.clone(), who.user()).await;
    let id = started.map_err(|error| captures::refused(error, script.as_deref()))?;
    let words = captures::audit_words(&spec, script.as_deref(), None);
    state.audit(&who.session, "trial.start", &id.to_string(), &words).await;
    let trial = outcome(&state, id).await;
    // Names are still being looked for: they are of no use any more.
    state.recorder().ended(id).await;
    let deleted = state.store().delete(id).await;
    state.captures().forget(id);
    state.audit(&who.session, "trial.delete", &id.to_string(), "").await;
    deleted?;
    trial
}

/// Waits for the end, and reads what came of it.
async fn outcome(state: &AppState, id: CaptureId) -> Result<Trial, ApiError> {
    state.recorder().wait(id).await;
    // Without names stacks are addresses; that is no reason to show nothing.
    let _named = tokio::time::timeout(NAMING, state.recorder().ended(id)).await;
    let record = state.store().capture(id).await?;
    let kept = state.store().script(id).await?;
    let view = state.view(id).await?;
    let script = maps::script_of(state, &view).await?;
    let read = move |view: &CaptureView, cancel: &Cancel| {
        let output = script.text(view, Cursor { time: 0, skip: 0 }, MOST_LINES, cancel)?;
        let maps = script.maps(view, cancel)?;
        let shapes = maps.iter().filter(|map| map.last > 0).take(MOST_MAPS);
        let shapes = shapes.filter_map(|map| script.shape(view, map.n));
        let table = |shape| {
            let query = TableQuery { period: Period::Last, offset: 0, limit: MOST_ELEMENTS, ascending: false };
            map_table(view, &shape, &query, cancel)
        };
        let tables = shapes.map(table).collect::<Result<Vec<_>, _>>()?;
        Ok((output, tables, script.printed_bytes(view, MOST_DUMPS, cancel)?))
    };
    let (output, tables, bytes) = state.workers().view(view, read).await?;
    let duration_ns = record.end_ns.saturating_sub(record.start_ns);
    let in_time = record.spec.limits.duration_ms.is_some_and(|asked| duration_ns / 1_000_000 >= asked);
    Ok(Trial {
        output,
        tables,
        bytes: bytes.into_iter().map(TrialBytes::from).collect(),
        probes: kept.iter().flat_map(|kept| &kept.probes).map(wire::Probe::from).collect(),
        duration_ns,
        lost: record.ledger.lost_total(),
        reason: if in_time { String::new() } else { visible(record.reason.as_bytes()) },
    })
}
