//! Measures searching: `cargo run --release -p bathyscope-store --example search_bench [CAPTURES [ROUNDS [DIRECTORY]]]`.
//!
//! A database with so many made-up captures (100,000 unless said) is filled, its words are indexed, and then typical searches and
//! every order of the list are asked for again and again, as the page does: a page of 100, with the number of all. Said are the
//! median and the 99th percentile of each: for an admin, and for somebody from whom lists of rights keep a part of them.
#![expect(clippy::print_stdout, reason = "a measuring program")]

use std::{
    error::Error,
    path::{Path, PathBuf},
    time::Instant,
};

use bathyscope_capture::{CaptureId, CaptureSpec, HostFacts, Method, ProfileSpec, SeriesId, Target};
use bathyscope_store::{NewCapture, Options, Sight, Store, SummaryQuery, SummarySort};
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

/// A small generator (xorshift): the same captures on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    fn of(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len() as u64) as usize]
    }
}

const TITLES: [&str; 6] =
    ["CPU profile", "system calls", "why is checkout slow", "disk latency", "exec of cron", "wake-ups"];
const TAGS: [&str; 5] = ["", "", "", " slow ", " prod release-7 "];
const OWNERS: [&str; 5] = ["ada", "grace", "linus", "margaret", "terminal"];
const METHODS: [&str; 5] = ["profile", "syscalls", "events,states", "script", "trace"];
const STATES: [&str; 4] = ["finished", "finished", "finished", "interrupted"];
const COMMANDS: [&str; 4] = ["nginx: worker", "postgres", "kworker/u8:1", "systemd"];

/// One capture, as the recorder makes it: what all others are copied from.
async fn first(dir: &Path) -> Result<(), Box<dyn Error>> {
    let store = Store::open(dir, Options::default()).await?;
    let method = Method::Profile(ProfileSpec { frequency_hz: 99, ..ProfileSpec::default() });
    let new = NewCapture {
        id: CaptureId::from_bits(1),
        title: "first".to_owned(),
        owner: "ada".to_owned(),
        spec: CaptureSpec::of(method, Target::System),
        host: HostFacts { hostname: "web1".to_owned(), ..HostFacts::default() },
        streams: Vec::new(),
        started_unix_ns: 1_700_000_000_000_000_000,
        start_ns: 1,
        simulated: false,
        firing: None,
    };
    store.create(new).await?;
    store.close().await;
    Ok(())
}

/// Whose list of captures is measured beside an admin's.
const VIEWER: &str = "eve";
/// So many captures are the runs of one series.
const RUNS: u64 = 500;

/// Adds captures with 60 texts of 30 bytes each, names of 8 processes, a note on every tenth, a list of rights on every twentieth,
/// and all of them as runs.
async fn fill(dir: &Path, captures: u64) -> Result<(), Box<dyn Error>> {
    let options = SqliteConnectOptions::new().filename(dir.join("bathyscope.db")).pragma("synchronous", "OFF");
    let mut conn = SqliteConnection::connect_with(&options).await?;
    let mut random = Random(88_172_645_463_325_252);
    let mut change = conn.begin().await?;
    for number in 2..=captures {
        let id = (random.below(u64::MAX) | 2).cast_signed();
        let word = random.below(50_000);
        let title = format!("{} on web{} ({word})", random.of(&TITLES), random.below(40));
        let started = 1_700_000_000_000_000_000 + (number * 300_000_000_000).cast_signed();
        let (owner, method, state) = (random.of(&OWNERS), random.of(&METHODS), random.of(&STATES));
        let capture = "INSERT INTO captures SELECT ?1, 'ready', ?2, '', origin, ?3, ?4, spec, host, ?5, target, ?6, '', ?7, \
                       start_ns, ?8, ?9, ?10, 0, ?11, 0 FROM captures WHERE id = 1";
        let capture = sqlx::query(capture).bind(id).bind(state).bind(title).bind(owner).bind(method);
        let capture = capture.bind(format!("web{}", random.below(40))).bind(started);
        let capture = capture.bind(random.below(1 << 36).cast_signed()).bind(random.below(1 << 24).cast_signed());
        let lost = if random.below(4) == 0 { random.below(1000) } else { 0 };
        capture.bind(random.below(1 << 30).cast_signed()).bind(lost.cast_signed()).execute(&mut *change).await?;
        let retention = sqlx::query("INSERT INTO retention VALUES (?, ?, ?, 4096, 8192)").bind(id);
        retention.bind(random.below(50) == 0).bind(started).execute(&mut *change).await?;
        let tags = random.of(&TAGS);
        if !tags.is_empty() {
            let labels = sqlx::query("INSERT INTO labels VALUES (?, '', ?)").bind(id).bind(tags);
            labels.execute(&mut *change).await?;
        }
        if number % 10 == 0 {
            let note = "INSERT INTO notes SELECT ?1, ?1, 'moment', 1, 1, NULL, NULL, '', ?2, 1, NULL, 'ada', 'ada', 0, 1, NULL, NULL, NULL, NULL, 1";
            let text = format!("the connection pool was exhausted after deploy {word}");
            sqlx::query(note).bind(id).bind(text).execute(&mut *change).await?;
        }
        if number % 20 == 0 {
            let reader = if number % 40 == 0 { VIEWER } else { "grace" };
            let rights = "INSERT INTO capture_rights VALUES (?1, 'owner', '', 'change'), (?1, 'person', ?2, 'read')";
            sqlx::query(rights).bind(id).bind(reader).execute(&mut *change).await?;
        }
        let run = "INSERT INTO runs VALUES (?1, ?2, NULL, 0, 1, '{}', '')";
        sqlx::query(run).bind(id).bind((1 + number / RUNS).cast_signed()).execute(&mut *change).await?;
        let texts = (0..60).map(|_| format!("/usr/lib/x86_64-linux-gnu/lib{}.so", random.below(50_000)));
        let texts: Vec<String> = COMMANDS.iter().map(|&name| name.to_owned()).chain(texts).collect();
        let rows: Vec<String> =
            (1..).zip(&texts).map(|(at, text)| format!("({id}, {at}, CAST('{text}' AS BLOB))")).collect();
        let strings = sqlx::AssertSqlSafe(format!("INSERT INTO strings VALUES {}", rows.join(", ")));
        sqlx::query(strings).persistent(false).execute(&mut *change).await?;
        let names = sqlx::query(
            "INSERT INTO processes SELECT ?1, id, 0, id, id, 'existing', id FROM strings WHERE capture_id = ?1 AND id <= 4",
        );
        names.bind(id).execute(&mut *change).await?;
    }
    let listed = "INSERT INTO listed (capture_id, shown, state, origin, simulated, title, owner, method, target, host_name, \
                  started_unix_ns, duration_ns, row_count, size_bytes, lost, pinned, tags, lost_at_least, notes, indexed, left_out_bytes, has_rights) \
                  SELECT id, 1, state, origin, simulated, title, owner, method, target, host_name, started_unix_ns, end_ns - start_ns, \
                  row_count, chunk_bytes + index_bytes + dictionary_bytes, lost, pinned, coalesce(tags, ''), 0, \
                  (SELECT count(*) FROM notes n WHERE n.capture_id = id), 0, 0, EXISTS (SELECT 1 FROM capture_rights r WHERE r.capture_id = id) \
                  FROM captures JOIN retention ON retention.capture_id = id \
                  LEFT JOIN labels ON labels.capture_id = id WHERE id <> 1";
    sqlx::query(listed).execute(&mut *change).await?;
    // One of the two tags is kept from the viewer, the other is given to a group of theirs.
    let tags = "INSERT INTO tag_rights VALUES ('prod', 'owner', '', 'change'), ('slow', 'owner', '', 'change'), ('slow', 'group', 'team', 'read')";
    sqlx::query(tags).execute(&mut *change).await?;
    sqlx::query("INSERT INTO groups VALUES ('team')").execute(&mut *change).await?;
    sqlx::query("INSERT INTO group_members VALUES ('team', ?)").bind(VIEWER).execute(&mut *change).await?;
    change.commit().await?;
    Ok(conn.close().await?)
}

/// Asks so often. Gives the median and the 99th percentile of what it takes, in milliseconds, and the last answer.
async fn timed<T>(
    rounds: usize,
    mut ask: impl AsyncFnMut() -> Result<T, Box<dyn Error>>,
) -> Result<(String, T), Box<dyn Error>> {
    let (mut took, mut last) = (Vec::with_capacity(rounds), None);
    for _ in 0..rounds {
        let start = Instant::now();
        last = Some(ask().await?);
        took.push(start.elapsed().as_secs_f64() * 1000.0);
    }
    took.sort_by(f64::total_cmp);
    let text = format!("{:6.1} ms  {:6.1} ms", took[took.len() / 2], took[took.len() * 99 / 100]);
    Ok((text, last.ok_or("asked at least once")?))
}

/// The sight of somebody as of each request, and a search by it.
async fn search(store: &Store, who: Option<&str>, query: &SummaryQuery) -> Result<u64, Box<dyn Error>> {
    let Some(who) = who else { return Ok(store.summaries(query).await?.total) };
    let sight = store.sight(who).await?;
    Ok(store.seen_by(&sight).summaries(query).await?.total)
}

/// What else is asked of all captures by somebody from whom some are kept.
async fn others(store: &Store, rounds: usize) -> Result<(), Box<dyn Error>> {
    let sight = store.sight(VIEWER).await?;
    let seen = store.seen_by(&sight);
    let (took, found) = timed(rounds, async || Ok(store.sight(VIEWER).await?)).await?;
    drop::<Sight>(found);
    println!("{took}          sight of a viewer");
    let (took, found) = timed(rounds, async || Ok(seen.tags().await?.len())).await?;
    println!("{took}  {found:7} tags of all");
    let (took, found) = timed(rounds, async || Ok(seen.series().await?.len())).await?;
    println!("{took}  {found:7} series of all");
    let (took, found) = timed(rounds, async || Ok(seen.series_runs(SeriesId::from_bits(7)).await?.len())).await?;
    println!("{took}  {found:7} runs of a series");
    let (took, found) = timed(rounds, async || Ok(seen.unseen().await?.len())).await?;
    println!("{took}  {found:7} captures that are kept from them");
    Ok(())
}

const SEARCHES: [(&str, &str); 20] = [
    ("everything", ""),
    ("a rare word", "4711"),
    ("a word of every tenth, in notes", "exhausted"),
    ("the same in notes alone", "note:exhausted"),
    ("a phrase in notes", "\"connection pool was\""),
    ("a word of all", "nginx"),
    ("two words of all", "nginx postgres"),
    ("the beginning of a word of all", "ngi"),
    ("two letters", "li"),
    ("a path of all (60 in each)", "usr/lib"),
    ("a word that some have not", "-exhausted"),
    ("a word of all and not another", "nginx -slow"),
    ("a tag", "tag:slow"),
    ("a tag and a word", "tag:slow checkout"),
    ("a host, an owner, a source", "host:web7 by:ada source:profile"),
    ("pinned", "is:pinned"),
    ("lost some, larger than 500 MiB", "lost:>0 larger:500M"),
    ("the first half of the time", "before:2024-05-01"),
    ("a word of all in that time", "nginx before:2024-05-01"),
    ("nothing", "tag:never"),
];

async fn measure(dir: &Path, captures: u64, rounds: usize) -> Result<(), Box<dyn Error>> {
    first(dir).await?;
    fill(dir, captures).await?;
    let start = Instant::now();
    let store = Store::open(dir, Options::default()).await?;
    store.index_texts().await?;
    let size = std::fs::metadata(dir.join("bathyscope.db"))?.len() >> 20;
    println!("{captures} captures are indexed in {:.1?}; the database has {size} MiB", start.elapsed());
    let mut searches: Vec<(String, SummaryQuery)> = Vec::new();
    for (what, text) in SEARCHES {
        searches.push((format!("{what}: `{text}`"), SummaryQuery::parse(text, 0)?));
    }
    for (name, sort) in SummarySort::ALL {
        searches.push((format!("all by {name}"), SummaryQuery { sort, ..SummaryQuery::default() }));
        let words = SummaryQuery::parse("nginx", 0)?;
        searches.push((format!("a word of all by {name}"), SummaryQuery { sort, ..words }));
    }
    let offset = u32::try_from(captures / 2)?;
    searches.push(("all, from the middle on".to_owned(), SummaryQuery { offset, ..SummaryQuery::default() }));
    for (what, query) in &searches {
        let (all, total) = timed(rounds, async || search(&store, None, query).await).await?;
        let (seen, of_these) = timed(rounds, async || search(&store, Some(VIEWER), query).await).await?;
        println!("{all}  {total:7} found   {seen}  {of_these:7} of them  {what}");
    }
    others(&store, rounds).await?;
    let start = Instant::now();
    store.sizes().await?;
    println!("sizes of all: {:.1?}", start.elapsed());
    store.close().await;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let mut number = |usual: u64| -> Result<u64, Box<dyn Error>> {
        Ok(args.next().map_or(Ok(usual), |text| text.to_string_lossy().parse())?)
    };
    let (captures, rounds) = (number(100_000)?, number(100)?);
    let parent = args.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = parent.join(format!("bathyscope-search-bench-{}", std::process::id()));
    std::fs::create_dir(&dir)?;
    let measured = measure(&dir, captures, usize::try_from(rounds.max(1))?).await;
    std::fs::remove_dir_all(&dir)?;
    measured
}
