//! Captures as runs of a series: which they are of, and the key numbers that were computed of them. What a series is and how numbers
//! are computed is decided elsewhere; here they are kept, so that a thousand runs are told at once.

use std::collections::{BTreeSet, HashMap};

use bathyscope_capture::{CaptureId, SeriesId};
use sqlx::{AssertSqlSafe, QueryBuilder, Sqlite, SqliteConnection};

use crate::{
    CaptureState, Sight, StoreError,
    error::failed,
    limits::{at_most, cut, limit},
    rows::{narrow, row_struct, sql, unreadable, unsigned},
    select::{all, of},
};

const SAVING: &str = "keeping a run of a series";
const READING: &str = "reading runs of series";
/// How many captures are told at once that lack something.
const BATCH: i64 = 32;
/// So many runs of a series are counted, and told.
const MAX_RUNS: i64 = 1000;
/// So many runs of a series are counted for lists of captures.
const MOST_COUNTED_RUNS: i64 = 20;
/// So many series are told.
const MAX_SERIES: i64 = 1000;

/// A capture whose key numbers are to be computed, or of which it is not kept of which series it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingRun {
    /// The capture.
    pub id: CaptureId,
    /// Whether it has ended: only then it has numbers.
    pub has_ended: bool,
}

/// The key numbers of a run, as they are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunNumbers {
    /// The version of the rule that computed them, at least 1.
    pub rule: u32,
    /// JSON.
    pub numbers: String,
    /// Why there are none; empty if there are.
    pub problem: String,
}

/// A run of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesRun {
    /// The capture.
    pub id: CaptureId,
    /// What it is called.
    pub title: String,
    /// What it is doing, or how it ended.
    pub state: CaptureState,
    /// Who started or imported it.
    pub owner: String,
    /// The host's name.
    pub host: String,
    /// When it began, wall time in nanoseconds since 1970.
    pub started_unix_ns: i64,
    /// How long it lasted.
    pub duration_ns: u64,
    /// Rows over all streams.
    pub rows: u64,
    /// Events that were lost.
    pub lost: u64,
    /// Whether more may have been lost.
    pub lost_at_least: bool,
    /// The capture that was run again; none if it was not begun so.
    pub again_of: Option<CaptureId>,
    /// Whether later runs are compared with it.
    pub is_baseline: bool,
    /// Its key numbers; none as long as they were not computed.
    pub numbers: Option<RunNumbers>,
}

/// Of which series a capture is a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunPlace {
    /// The series.
    pub series: SeriesId,
    /// How many runs it has that are shown, at most 1000.
    pub runs: u64,
    /// The capture that was run again.
    pub again_of: Option<CaptureId>,
    /// The baseline of the series; none if none is named.
    pub baseline: Option<CaptureId>,
}

/// A series with more than one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesSummary {
    /// The series.
    pub id: SeriesId,
    /// What its last run is called.
    pub title: String,
    /// The host's name.
    pub host: String,
    /// How many runs it has.
    pub runs: u64,
    /// When the first began, wall time in nanoseconds since 1970.
    pub first_unix_ns: i64,
    /// When the last began.
    pub last_unix_ns: i64,
    /// The last.
    pub last: CaptureId,
    /// The baseline; none if none is named.
    pub baseline: Option<CaptureId>,
}

row_struct! {
    struct RunRow {
        capture_id: i64,
        title: String,
        state: String,
        owner: String,
        host_name: String,
        started_unix_ns: i64,
        duration_ns: i64,
        row_count: i64,
        lost: i64,
        lost_at_least: bool,
        again_of: Option<i64>,
        is_baseline: bool,
        rule: i64,
        numbers: String,
        problem: String,
    }
}

/// Whether a capture of `listed` is a run. A flight recorder, which has no rows, is none: the captures that it has stored are. Its spec
/// is looked at only where there are no rows, which is rare.
const IS_RUN: &str = "(listed.row_count > 0 \
     OR EXISTS (SELECT 1 FROM firings WHERE firings.capture_id = listed.capture_id) \
     OR NOT EXISTS (SELECT 1 FROM captures WHERE captures.id = listed.capture_id \
     AND CASE WHEN json_valid(captures.spec) THEN json_type(captures.spec, '$.limits.flight') = 'object' ELSE 0 END))";

fn id_of(bits: i64) -> CaptureId {
    CaptureId::from_bits(unsigned(bits))
}

impl RunRow {
    fn into_run(self) -> Result<SeriesRun, StoreError> {
        let rule = narrow(self.rule, "the rule of a run")?;
        let numbers = RunNumbers { rule, numbers: self.numbers, problem: self.problem };
        Ok(SeriesRun {
            id: id_of(self.capture_id),
            title: self.title,
            state: self.state.parse().map_err(|_unknown| unreadable("the state of a capture"))?,
            owner: self.owner,
            host: self.host_name,
            started_unix_ns: self.started_unix_ns,
            duration_ns: unsigned(self.duration_ns),
            rows: unsigned(self.row_count),
            lost: unsigned(self.lost),
            lost_at_least: self.lost_at_least,
            again_of: self.again_of.map(id_of),
            is_baseline: self.is_baseline,
            numbers: Some(numbers).filter(|numbers| numbers.rule > 0),
        })
    }
}

/// Captures that are shown and of which it is not kept of which series they are, or that have ended and whose numbers are not by this
/// version of the rule: the newest first.
pub(crate) async fn pending(conn: &mut SqliteConnection, rule: u32) -> Result<Vec<PendingRun>, StoreError> {
    let select = format!(
        "SELECT listed.capture_id, state <> 'recording' FROM listed \
         LEFT JOIN runs r ON r.capture_id = listed.capture_id \
         WHERE shown = 1 AND (r.capture_id IS NULL OR (r.rule < ?1 AND state <> 'recording')) AND {IS_RUN} \
         ORDER BY number DESC LIMIT ?2"
    );
    let rows: Vec<(i64, bool)> =
        sqlx::query_as(AssertSqlSafe(select)).bind(rule).bind(BATCH).fetch_all(conn).await.map_err(failed(READING))?;
    Ok(rows.into_iter().map(|(id, has_ended)| PendingRun { id: id_of(id), has_ended }).collect())
}

/// Keeps of which series a capture is, and its numbers if they were computed. One that is gone meanwhile has none.
pub(crate) async fn put(
    conn: &mut SqliteConnection,
    (id, series): (CaptureId, SeriesId),
    numbers: Option<&RunNumbers>,
) -> Result<(), StoreError> {
    let empty = RunNumbers { rule: 0, numbers: String::new(), problem: String::new() };
    let RunNumbers { rule, numbers, problem } = numbers.unwrap_or(&empty);
    at_most("the key numbers of a run", numbers.len(), limit::KEY_NUMBERS_BYTES)?;
    let insert = "INSERT INTO runs SELECT id, ?2, NULL, 0, ?3, ?4, ?5 FROM captures WHERE id = ?1 \
                  ON CONFLICT DO UPDATE SET rule = excluded.rule, numbers = excluded.numbers, problem = excluded.problem \
                  WHERE excluded.rule > 0";
    let query = of(insert, id).bind(sql(series.bits())).bind(*rule).bind(numbers);
    query.bind(cut(problem, limit::REASON_BYTES)).execute(conn).await.map_err(failed(SAVING))?;
    Ok(())
}

/// Keeps which capture was run again by this one.
pub(crate) async fn begin(
    conn: &mut SqliteConnection,
    (id, series): (CaptureId, SeriesId),
    again_of: Option<CaptureId>,
) -> Result<(), StoreError> {
    put(conn, (id, series), None).await?;
    let update = of("UPDATE runs SET again_of = ?2 WHERE capture_id = ?1", id);
    let update = update.bind(again_of.map(|id| sql(id.bits())));
    update.execute(conn).await.map_err(failed(SAVING))?;
    Ok(())
}

/// Names the baseline of a series, or takes it back.
pub(crate) async fn set_baseline(
    conn: &mut SqliteConnection,
    series: SeriesId,
    baseline: Option<CaptureId>,
) -> Result<(), StoreError> {
    if let Some(id) = baseline {
        let select = format!(
            "SELECT 1 FROM runs JOIN listed ON listed.capture_id = runs.capture_id \
             WHERE runs.capture_id = ?1 AND series = ?2 AND shown = 1 AND {IS_RUN}"
        );
        let select = sqlx::query(AssertSqlSafe(select)).bind(sql(id.bits()));
        let found: Vec<(i64,)> = all(conn, select.bind(sql(series.bits())), READING).await?;
        if found.is_empty() {
            let why = format!("capture {id} is no run of this series");
            return Err(StoreError::Refused { what: "the baseline", why });
        }
    }
    let update = sqlx::query("UPDATE runs SET is_baseline = (capture_id IS ?2) WHERE series = ?1");
    let update = update.bind(sql(series.bits())).bind(baseline.map(|id| sql(id.bits())));
    update.execute(conn).await.map_err(failed(SAVING))?;
    Ok(())
}

/// The runs of a series that are shown and seen, the last first; as many as are told at most.
pub(crate) async fn of_series(
    conn: &mut SqliteConnection,
    series: SeriesId,
    sight: &Sight,
) -> Result<Vec<SeriesRun>, StoreError> {
    let mut builder = QueryBuilder::new("SELECT listed.*, again_of, is_baseline, rule, numbers, problem");
    push_runs_of(&mut builder, sql(series.bits()), sight);
    builder.push(" ORDER BY listed.started_unix_ns DESC, listed.number DESC LIMIT ").push_bind(MAX_RUNS);
    let rows: Vec<RunRow> = builder.build_query_as().fetch_all(conn).await.map_err(failed(READING))?;
    rows.into_iter().map(RunRow::into_run).collect()
}

/// The rest of a statement about the runs of a series that are shown and seen.
fn push_runs_of(builder: &mut QueryBuilder<Sqlite>, series: i64, sight: &Sight) {
    push_runs(builder, sight);
    builder.push(" AND runs.series = ").push_bind(series);
}

/// The rest of a statement about runs that are shown and seen; of which series is to follow.
fn push_runs(builder: &mut QueryBuilder<Sqlite>, sight: &Sight) {
    builder.push(
        " FROM runs INDEXED BY runs_by_series CROSS JOIN listed ON listed.capture_id = runs.capture_id \
         WHERE listed.shown = 1 AND ",
    );
    builder.push(IS_RUN);
    sight.push_condition(builder);
}

/// Of which series captures are; those of which it is not known, and flight recorders, are left out.
pub(crate) async fn places(
    conn: &mut SqliteConnection,
    ids: &[CaptureId],
    sight: &Sight,
) -> Result<HashMap<CaptureId, RunPlace>, StoreError> {
    let mut counts: HashMap<i64, (i64, Option<i64>)> = HashMap::new();
    let mut found = HashMap::new();
    for id in ids {
        let select = format!(
            "SELECT series, again_of FROM runs JOIN listed ON listed.capture_id = runs.capture_id \
             WHERE runs.capture_id = ? AND {IS_RUN}"
        );
        let select = sqlx::query(AssertSqlSafe(select)).bind(sql(id.bits()));
        let rows: Vec<(i64, Option<i64>)> = all(conn, select, READING).await?;
        let Some((series, again_of)) = rows.into_iter().next() else { continue };
        let (runs, baseline) = match counts.get(&series) {
            Some(known) => *known,
            None => {
                let told = counted(conn, series, sight).await?;
                counts.insert(series, told);
                told
            }
        };
        let place = RunPlace {
            series: SeriesId::from_bits(unsigned(series)),
            runs: unsigned(runs),
            again_of: again_of.map(id_of),
            baseline: baseline.map(id_of),
        };
        found.insert(*id, place);
    }
    Ok(found)
}

/// The series of captures, with how many runs each has, counted up to [`MOST_COUNTED_RUNS`]; left out are those that [`places`] leaves out.
///
/// A page of the list may have a hundred series of a thousand runs.
pub(crate) async fn run_counts(
    conn: &mut SqliteConnection,
    ids: &[CaptureId],
    sight: &Sight,
) -> Result<HashMap<CaptureId, (SeriesId, u64)>, StoreError> {
    let numbers = ids.iter().map(|id| sql(id.bits()).to_string()).collect::<Vec<_>>().join(",");
    // Digits, signs and commas.
    let select = format!(
        "SELECT runs.capture_id, series FROM runs JOIN listed ON listed.capture_id = runs.capture_id \
         WHERE runs.capture_id IN ({numbers}) AND {IS_RUN}"
    );
    let select = sqlx::query(AssertSqlSafe(select)).persistent(false);
    let rows: Vec<(i64, i64)> = all(conn, select, READING).await?;
    // All in one statement: a hundred of their own take longer than what they read.
    let series: BTreeSet<String> = rows.iter().map(|(_, series)| series.to_string()).collect();
    let mut builder = QueryBuilder::new("SELECT wanted.value, (SELECT count(*) FROM (SELECT 1");
    push_runs(&mut builder, sight);
    builder.push(" AND runs.series = wanted.value LIMIT ").push_bind(MOST_COUNTED_RUNS).push(")) FROM json_each(");
    builder.push_bind(format!("[{}]", series.into_iter().collect::<Vec<_>>().join(","))).push(") wanted");
    let counts: Vec<(i64, i64)> = builder.build_query_as().fetch_all(conn).await.map_err(failed(READING))?;
    let counts: HashMap<i64, i64> = counts.into_iter().collect();
    let place = |(id, series): (i64, i64)| {
        Some((id_of(id), (SeriesId::from_bits(unsigned(series)), unsigned(*counts.get(&series)?))))
    };
    Ok(rows.into_iter().filter_map(place).collect())
}

/// How many runs of a series are shown, and its baseline.
async fn counted(conn: &mut SqliteConnection, series: i64, sight: &Sight) -> Result<(i64, Option<i64>), StoreError> {
    let mut builder = QueryBuilder::new(
        "SELECT count(*), max(CASE WHEN is_baseline THEN capture_id END) FROM (SELECT runs.capture_id, is_baseline",
    );
    push_runs_of(&mut builder, series, sight);
    builder.push(" LIMIT ").push_bind(MAX_RUNS).push(")");
    builder.build_query_as().fetch_one(conn).await.map_err(failed(READING))
}

row_struct! {
    struct SummaryRow {
        series: i64,
        runs: i64,
        first_unix_ns: i64,
        last_unix_ns: i64,
        capture_id: i64,
        title: String,
        host_name: String,
        baseline: Option<i64>,
    }
}

/// Series with more than one run that is seen, the one with the last run first.
pub(crate) async fn summaries(conn: &mut SqliteConnection, sight: &Sight) -> Result<Vec<SeriesSummary>, StoreError> {
    // Which one is the last is looked up by its time, for those that are told only: of several of that time it is the first row.
    let mut builder = QueryBuilder::new(
        "SELECT g.*, listed.capture_id, listed.title, listed.host_name FROM (SELECT runs.series, count(*) AS runs, \
         min(started_unix_ns) AS first_unix_ns, max(started_unix_ns) AS last_unix_ns, \
         max(CASE WHEN is_baseline THEN listed.capture_id END) AS baseline FROM listed NOT INDEXED \
         CROSS JOIN runs ON runs.capture_id = listed.capture_id WHERE listed.shown = 1 AND ",
    );
    builder.push(IS_RUN);
    sight.push_condition(&mut builder);
    builder.push(" GROUP BY runs.series HAVING count(*) > 1 ORDER BY last_unix_ns DESC LIMIT ").push_bind(MAX_SERIES);
    builder.push(
        ") g CROSS JOIN listed INDEXED BY listed_by_start ON listed.shown = 1 AND listed.started_unix_ns = g.last_unix_ns \
         CROSS JOIN runs ON runs.capture_id = listed.capture_id AND runs.series = g.series WHERE ",
    );
    builder.push(IS_RUN);
    sight.push_condition(&mut builder);
    builder.push(" ORDER BY g.last_unix_ns DESC, g.series, listed.number DESC");
    let mut rows: Vec<SummaryRow> = builder.build_query_as().fetch_all(conn).await.map_err(failed(READING))?;
    rows.dedup_by_key(|row| row.series);
    let summary = |row: SummaryRow| SeriesSummary {
        id: SeriesId::from_bits(unsigned(row.series)),
        title: row.title,
        host: row.host_name,
        runs: unsigned(row.runs),
        first_unix_ns: row.first_unix_ns,
        last_unix_ns: row.last_unix_ns,
        last: id_of(row.capture_id),
        baseline: row.baseline.map(id_of),
    };
    Ok(rows.into_iter().map(summary).collect())
}
