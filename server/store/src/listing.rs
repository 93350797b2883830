//! The list of captures: how many there are, which are on a page of it, and where they have the words that were searched for.
//!
//! It is short work with a hundred thousand captures because no statement looks at more than it has to: words are looked for in
//! their index, all other conditions in the short rows of `listed`. Where few captures are found they are sorted; where many are,
//! the index that is in the order of the list is followed until the page is full.

use std::collections::HashMap;

use bathyscope_capture::CaptureId;
use sqlx::{AssertSqlSafe, Connection as _, QueryBuilder, Row as _, SqliteConnection};

use crate::{
    CaptureState, CaptureSummary, FoundText, Sight, StoreError, SummaryPage, SummaryQuery, Unsearched,
    ends::Ends,
    error::failed,
    model::SearchField,
    places,
    read::origin_from,
    rows::{row_struct, sql, tags_from, unreadable, unsigned},
    terms,
};

const DOING: &str = "listing captures";
/// The most lines of one page of a list.
const MAX_PAGE: u32 = 10_000;
/// The most lines of one page with the places where words were found.
const MAX_FOUND: u32 = 500;
/// So many are sorted; of more, the index of the order is followed.
const FEW: i64 = 500;
/// So many are counted of those that have words or that somebody sees who does not see all: to count on takes long, and of that many
/// nobody reads the number.
const MOST_COUNTED: i64 = 5_000;
/// For at most so many captures the index of words is asked one by one, each some 0.1 ms; else all that have the words are found first.
const MOST_ASKED: i64 = 200;

pub(crate) async fn summaries(
    conn: &mut SqliteConnection,
    (query, sight): (&SummaryQuery, &Sight),
    ends: &Ends,
) -> Result<SummaryPage, StoreError> {
    // All of one moment: a number may be that of another capture afterwards.
    let mut view = conn.begin().await.map_err(failed(DOING))?;
    let words = words(&mut view, query).await?;
    let asked = (query, sight);
    let found = count(&mut view, asked, words.as_ref()).await?;
    let most = query.limit.min(if words.is_some() { MAX_FOUND } else { MAX_PAGE });
    let numbers = if (i64::from(query.offset) >= found.total && !found.is_exceeded) || most == 0 {
        Vec::new()
    } else {
        page(&mut view, (asked, most), words.as_ref(), &found).await?
    };
    let mut places = found_places(&mut view, query, &numbers).await?;
    let mut lines = lines(&mut view, &numbers, sight).await?;
    let summary = |number: &i64| {
        let line = lines.remove(number)?;
        Some(line.into_summary(ends, places.remove(number).unwrap_or_default()))
    };
    let items = numbers.iter().filter_map(summary).collect::<Result<_, _>>()?;
    let unsearched = if words.is_some() { Some(unsearched(&mut view).await?) } else { None };
    Ok(SummaryPage { total: unsigned(found.total), total_exceeded: found.is_exceeded, items, unsearched })
}

/// What is looked for, and who looks.
type Asked<'a> = (&'a SummaryQuery, &'a Sight);

/// What the index of words is asked.
struct WordQuery {
    /// In its own language.
    text: String,
    /// Whether it is asked for words as they stand: it tells in 0.1 ms whether one capture has them.
    are_whole: bool,
}

async fn words(conn: &mut SqliteConnection, query: &SummaryQuery) -> Result<Option<WordQuery>, StoreError> {
    let wanted = query.open_ends();
    let endings = terms::endings(conn, &wanted).await?;
    let are_whole = wanted.iter().all(|end| endings.contains_key(*end));
    Ok(query.words(&endings).map(|text| WordQuery { text, are_whole }))
}

/// What a count found.
struct Found {
    total: i64,
    /// Whether there are more than `total`: they were not counted.
    is_exceeded: bool,
    /// The numbers of all, with commas between them, where they are known.
    numbers: Option<String>,
    /// The largest number that was looked at, if not all were.
    looked_at: i64,
}

impl Found {
    /// Of a count of all.
    const fn of(total: i64, numbers: Option<String>) -> Self {
        Self { total, is_exceeded: false, numbers, looked_at: i64::MAX }
    }
}

/// The rest of a statement that begins with what it selects: where it looks, and for what.
fn from(select: &str, (query, sight): Asked<'_>, words: Option<&WordQuery>) -> QueryBuilder<sqlx::Sqlite> {
    let mut builder = QueryBuilder::new(select);
    match words {
        Some(words) => {
            builder.push(" FROM search CROSS JOIN listed ON listed.number = search.rowid WHERE search MATCH ");
            builder.push_bind(words.text.clone()).push(" AND listed.shown = 1");
        }
        None => {
            builder.push(" FROM listed NOT INDEXED WHERE shown = 1");
        }
    }
    query.push_conditions(&mut builder);
    sight.push_condition(&mut builder);
    builder
}

async fn count(conn: &mut SqliteConnection, asked: Asked<'_>, words: Option<&WordQuery>) -> Result<Found, StoreError> {
    let (query, sight) = asked;
    if let Some(words) = words {
        return count_words(conn, asked, words).await;
    }
    if query.has_others() {
        // The numbers come at once: reading all rows again would take as long again.
        let mut told = from("SELECT count(*), group_concat(number)", asked, None);
        let (total, numbers): (i64, Option<String>) =
            told.build_query_as().fetch_one(conn).await.map_err(failed(DOING))?;
        return Ok(Found::of(total, numbers.filter(|_| total <= FEW)));
    }
    if !sight.is_narrow() {
        let all = "SELECT count(*) FROM listed INDEXED BY listed_by_indexed WHERE shown = 1";
        let (total,) = sqlx::query_as(all).fetch_one(conn).await.map_err(failed(DOING))?;
        return Ok(Found::of(total, None));
    }
    // All that a sight looks at stands in this index.
    let some = "SELECT count(*) FROM (SELECT 1 FROM listed INDEXED BY listed_by_start WHERE shown = 1";
    let mut some = QueryBuilder::new(some);
    sight.push_condition(&mut some);
    some.push(" LIMIT ").push_bind(MOST_COUNTED + 1).push(")");
    let (total,): (i64,) = some.build_query_as().fetch_one(conn).await.map_err(failed(DOING))?;
    Ok(Found { is_exceeded: total > MOST_COUNTED, ..Found::of(total.min(MOST_COUNTED), None) })
}

/// Counts what has words, and more if more is asked for, up to a bound.
async fn count_words(conn: &mut SqliteConnection, asked: Asked<'_>, words: &WordQuery) -> Result<Found, StoreError> {
    let (query, sight) = asked;
    let mut some = if query.has_others() || sight.is_narrow() {
        from("SELECT count(*), max(number), group_concat(number) FROM (SELECT listed.number", asked, Some(words))
    } else {
        // Every row of it is of a capture that is shown.
        let mut builder = QueryBuilder::new(
            "SELECT count(*), max(number), group_concat(number) FROM (SELECT rowid AS number FROM search WHERE search MATCH ",
        );
        builder.push_bind(words.text.clone());
        builder
    };
    some.push(" LIMIT ").push_bind(MOST_COUNTED + 1).push(")");
    let row = some.build_query_as().fetch_one(conn).await.map_err(failed(DOING))?;
    let (total, looked_at, numbers): (i64, Option<i64>, Option<String>) = row;
    if total <= MOST_COUNTED {
        return Ok(Found::of(total, Some(numbers.unwrap_or_default())));
    }
    Ok(Found { total: MOST_COUNTED, is_exceeded: true, numbers: None, looked_at: looked_at.unwrap_or(i64::MAX) })
}

/// The numbers of the captures of a page, in order.
async fn page(
    conn: &mut SqliteConnection,
    (asked, most): (Asked<'_>, u32),
    words: Option<&WordQuery>,
    found: &Found,
) -> Result<Vec<i64>, StoreError> {
    let (query, sight) = asked;
    let mut builder = match &found.numbers {
        // Digits and commas.
        Some(numbers) if found.total <= FEW => {
            QueryBuilder::new(format!("SELECT number FROM listed WHERE number IN ({numbers})"))
        }
        numbers => {
            let mut builder = QueryBuilder::new("SELECT number FROM listed INDEXED BY ");
            builder.push(query.sort.index()).push(" WHERE shown = 1");
            if let Some(numbers) = numbers {
                // With `+` they are looked up for each, not what is gone by.
                builder.push(" AND +number IN (SELECT value FROM json_each(");
                builder.push_bind(format!("[{numbers}]")).push("))");
            } else {
                query.push_conditions(&mut builder);
                sight.push_condition(&mut builder);
                push_words(
                    &mut builder,
                    words,
                    found.looked_at.saturating_mul(i64::from(query.offset) + i64::from(most)),
                );
            }
            builder
        }
    };
    builder.push(" ORDER BY ").push(query.sort.order(query.reversed));
    builder.push(" LIMIT ").push_bind(most).push(" OFFSET ").push_bind(query.offset);
    let rows: Vec<(i64,)> = builder.build_query_as().fetch_all(conn).await.map_err(failed(DOING))?;
    Ok(rows.into_iter().map(|(number,)| number).collect())
}

/// Adds that captures have words of which more than are counted have them.
fn push_words(builder: &mut QueryBuilder<sqlx::Sqlite>, words: Option<&WordQuery>, wanted_by_looked_at: i64) {
    let Some(words) = words else { return };
    // Before as many are found as are wanted, some come that have not the words: as many in proportion as the count met.
    builder.push(if words.are_whole && wanted_by_looked_at <= MOST_ASKED * MOST_COUNTED {
        // `EXISTS` may be made a join that begins with the words.
        " AND 1 = (SELECT 1 FROM search WHERE search.rowid = listed.number AND search MATCH "
    } else {
        " AND +number IN (SELECT rowid FROM search WHERE search MATCH "
    });
    builder.push_bind(words.text.clone()).push(")");
}

/// Numbers as a list of SQL.
fn list_of(numbers: &[i64]) -> String {
    numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

async fn lines(conn: &mut SqliteConnection, numbers: &[i64], sight: &Sight) -> Result<HashMap<i64, Line>, StoreError> {
    let mut builder = QueryBuilder::new("SELECT listed.*, end_ns, since_unix_ns, ");
    sight.push_may_change(&mut builder);
    builder.push(
        " AS can_change FROM listed JOIN captures c ON c.id = listed.capture_id \
         JOIN retention ON retention.capture_id = listed.capture_id WHERE number IN (",
    );
    // Digits and commas.
    builder.push(list_of(numbers)).push(")");
    let query = builder.build_query_as().persistent(false);
    let rows: Vec<Line> = query.fetch_all(conn).await.map_err(failed(DOING))?;
    Ok(rows.into_iter().map(|line| (line.number, line)).collect())
}

row_struct! {
    struct Line {
        number: i64,
        capture_id: i64,
        title: String,
        state: String,
        method: String,
        target: String,
        host_name: String,
        owner: String,
        origin: String,
        started_unix_ns: i64,
        duration_ns: i64,
        end_ns: i64,
        row_count: i64,
        size_bytes: i64,
        lost: i64,
        lost_at_least: bool,
        pinned: bool,
        since_unix_ns: i64,
        simulated: bool,
        tags: String,
        left_out_bytes: i64,
        can_change: bool,
    }
}

impl Line {
    fn into_summary(mut self, ends: &Ends, found: Vec<FoundText>) -> Result<CaptureSummary, StoreError> {
        let id = CaptureId::from_bits(unsigned(self.capture_id));
        let mut state = self.state.parse().map_err(|_unknown| unreadable("the state of a capture"))?;
        if let Some(end) = ends.get(id).filter(|_| state == CaptureState::Recording) {
            state = end.state;
            let more = end.end_ns.saturating_sub(unsigned(self.end_ns));
            self.duration_ns = self.duration_ns.saturating_add(sql(more));
            (self.lost, self.lost_at_least) = (sql(end.ledger.lost_total()), end.ledger.is_lower_bound());
        }
        Ok(CaptureSummary {
            id,
            title: self.title,
            state,
            method: self.method,
            target: self.target,
            host: self.host_name,
            owner: self.owner,
            origin: origin_from(&self.origin)?,
            started_unix_ns: self.started_unix_ns,
            duration_ns: unsigned(self.duration_ns),
            rows: unsigned(self.row_count),
            size_bytes: unsigned(self.size_bytes),
            lost: unsigned(self.lost),
            lost_at_least: self.lost_at_least,
            pinned: self.pinned,
            since_unix_ns: self.since_unix_ns,
            simulated: self.simulated,
            tags: tags_from(&self.tags).into_iter().collect(),
            found,
            left_out_bytes: unsigned(self.left_out_bytes),
            can_change: self.can_change,
        })
    }
}

/// Where these captures have the words.
async fn found_places(
    conn: &mut SqliteConnection,
    query: &SummaryQuery,
    numbers: &[i64],
) -> Result<HashMap<i64, Vec<FoundText>>, StoreError> {
    let wanted = places::wanted(query);
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    // Digits and commas, and columns of the table.
    let columns = SearchField::ALL.map(|(field, ..)| field.name()).join(", ");
    let select = AssertSqlSafe(format!("SELECT rowid, {columns} FROM search WHERE rowid IN ({})", list_of(numbers)));
    let rows = sqlx::query(select).persistent(false).fetch_all(conn).await.map_err(failed(DOING))?;
    let mut found = HashMap::new();
    for row in rows {
        let mut texts = Vec::new();
        for (column, (field, ..)) in (1..).zip(SearchField::ALL) {
            let text: &str = row.try_get(column).map_err(failed(DOING))?;
            texts.extend(places::found_text(field, text, &wanted));
        }
        found.insert(row.try_get(0).map_err(failed(DOING))?, texts);
    }
    Ok(found)
}

/// What searches for words do not look into.
async fn unsearched(conn: &mut SqliteConnection) -> Result<Unsearched, StoreError> {
    let select = "SELECT (SELECT count(*) FROM listed WHERE shown = 1 AND indexed = 0), \
                  (SELECT count(*) FROM listed WHERE shown = 1 AND indexed = 1 AND state <> 'recording'), \
                  (SELECT count(*) FROM listed WHERE shown = 1 AND left_out_bytes > 0)";
    let row = sqlx::query_as(select).fetch_one(conn).await.map_err(failed(DOING))?;
    let (captures, texts, cut): (i64, i64, i64) = row;
    Ok(Unsearched { captures: unsigned(captures), texts: unsigned(texts), cut: unsigned(cut) })
}
