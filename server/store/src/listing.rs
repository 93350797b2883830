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
};

const DOING: &str = "listing captures";
/// The most lines of one page of a list.
const MAX_PAGE: u32 = 10_000;
/// The most lines of one page with the places where words were found.
const MAX_FOUND: u32 = 500;
/// So many are sorted; of more, the index of the order is followed.
const FEW: i64 = 500;

pub(crate) async fn summaries(
    conn: &mut SqliteConnection,
    (query, sight): (&SummaryQuery, &Sight),
    ends: &Ends,
) -> Result<SummaryPage, StoreError> {
    // All of one moment: a number may be that of another capture afterwards.
    let mut view = conn.begin().await.map_err(failed(DOING))?;
    let words = query.words();
    let asked = (query, sight);
    let found = count(&mut view, asked, words.as_deref()).await?;
    let most = query.limit.min(if words.is_some() { MAX_FOUND } else { MAX_PAGE });
    let numbers = if i64::from(query.offset) >= found.total || most == 0 {
        Vec::new()
    } else {
        page(&mut view, (asked, most), words.as_deref(), &found).await?
    };
    let mut places = found_places(&mut view, query, &numbers).await?;
    let mut lines = lines(&mut view, &numbers, sight).await?;
    let summary = |number: &i64| {
        let line = lines.remove(number)?;
        Some(line.into_summary(ends, places.remove(number).unwrap_or_default()))
    };
    let items = numbers.iter().filter_map(summary).collect::<Result<_, _>>()?;
    let unsearched = if words.is_some() { Some(unsearched(&mut view).await?) } else { None };
    Ok(SummaryPage { total: unsigned(found.total), items, unsearched })
}

/// What is looked for, and who looks.
type Asked<'a> = (&'a SummaryQuery, &'a Sight);

/// What a count found.
struct Found {
    total: i64,
    /// The numbers of all, where they were told and are few.
    few: Option<String>,
}

/// The rest of a statement that begins with what it selects: where it looks, and for what.
fn from(select: &str, (query, sight): Asked<'_>, words: Option<&str>) -> QueryBuilder<sqlx::Sqlite> {
    let mut builder = QueryBuilder::new(select);
    match words {
        Some(words) => {
            builder.push(" FROM search CROSS JOIN listed ON listed.number = search.rowid WHERE search MATCH ");
            builder.push_bind(words.to_owned()).push(" AND listed.shown = 1");
        }
        None => {
            builder.push(" FROM listed NOT INDEXED WHERE shown = 1");
        }
    }
    query.push_conditions(&mut builder);
    sight.push_condition(&mut builder);
    builder
}

async fn count(conn: &mut SqliteConnection, asked: Asked<'_>, words: Option<&str>) -> Result<Found, StoreError> {
    let (query, sight) = asked;
    match words {
        Some(_) if query.has_others() || sight.is_narrow() => return count_found(conn, asked, words).await,
        None if query.has_others() => {
            // The numbers come at once: reading all rows again would take as long again.
            let mut told = from("SELECT count(*), group_concat(number)", asked, words);
            let (total, numbers): (i64, Option<String>) =
                told.build_query_as().fetch_one(conn).await.map_err(failed(DOING))?;
            return Ok(Found { total, few: numbers.filter(|_| total <= FEW) });
        }
        _ => {}
    }
    let mut all = match words {
        // Every row of it is of a capture that is shown.
        Some(words) => {
            let mut builder = QueryBuilder::new("SELECT count(*) FROM search WHERE search MATCH ");
            builder.push_bind(words.to_owned());
            builder
        }
        // All that a sight looks at stands in this index.
        None if sight.is_narrow() => {
            let mut builder =
                QueryBuilder::new("SELECT count(*) FROM listed INDEXED BY listed_by_start WHERE shown = 1");
            sight.push_condition(&mut builder);
            builder
        }
        None => QueryBuilder::new("SELECT count(*) FROM listed INDEXED BY listed_by_indexed WHERE shown = 1"),
    };
    let (total,): (i64,) = all.build_query_as().fetch_one(conn).await.map_err(failed(DOING))?;
    Ok(Found { total, few: None })
}

/// Counts what has words and more. Of few, the numbers come at once; of many, to tell them would take longer than to look again.
async fn count_found(conn: &mut SqliteConnection, asked: Asked<'_>, words: Option<&str>) -> Result<Found, StoreError> {
    let mut some = from("SELECT number", asked, words);
    some.push(" LIMIT ").push_bind(FEW + 1);
    let numbers: Vec<(i64,)> = some.build_query_as().fetch_all(&mut *conn).await.map_err(failed(DOING))?;
    let numbers: Vec<i64> = numbers.into_iter().map(|(number,)| number).collect();
    let total = sql(numbers.len() as u64);
    if total <= FEW {
        return Ok(Found { total, few: Some(list_of(&numbers)) });
    }
    let (total,): (i64,) =
        from("SELECT count(*)", asked, words).build_query_as().fetch_one(conn).await.map_err(failed(DOING))?;
    Ok(Found { total, few: None })
}

/// The numbers of the captures of a page, in order.
async fn page(
    conn: &mut SqliteConnection,
    ((query, sight), most): (Asked<'_>, u32),
    words: Option<&str>,
    found: &Found,
) -> Result<Vec<i64>, StoreError> {
    let mut builder = match (&found.few, words) {
        // Digits and commas.
        (Some(numbers), _) => QueryBuilder::new(format!("SELECT number FROM listed WHERE number IN ({numbers})")),
        (None, Some(words)) if found.total <= FEW => from("SELECT number", (query, sight), Some(words)),
        (None, words) => {
            let mut builder = QueryBuilder::new("SELECT number FROM listed INDEXED BY ");
            builder.push(query.sort.index()).push(" WHERE shown = 1");
            if let Some(words) = words {
                // With `+` it is looked up for each, not what is gone by.
                builder.push(" AND +number IN (SELECT rowid FROM search WHERE search MATCH ");
                builder.push_bind(words.to_owned()).push(")");
            }
            query.push_conditions(&mut builder);
            sight.push_condition(&mut builder);
            builder
        }
    };
    builder.push(" ORDER BY ").push(query.sort.order(query.reversed));
    builder.push(" LIMIT ").push_bind(most).push(" OFFSET ").push_bind(query.offset);
    let rows: Vec<(i64,)> = builder.build_query_as().fetch_all(conn).await.map_err(failed(DOING))?;
    Ok(rows.into_iter().map(|(number,)| number).collect())
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
