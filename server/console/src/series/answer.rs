//! A series as it is told: its runs with their key numbers, and what each is worth beside the baseline.

use std::collections::HashMap;

use bathyscope_capture::{CaptureId, Display, SeriesId, shown};
use bathyscope_catalog::recipes::{GoodWay, RecipeKey};
use bathyscope_store::{CaptureState, MarkRecord, SeriesRun, SeriesSummary};
use bathyscope_views::{DifferenceVerdict, KeyNumber, KeyWhat, MeasuredNumber, Unit, judge};
use serde::Serialize;

use super::MarkItem;

/// The most key numbers of a series; shares of functions come and go.
const MAX_KEYS: usize = 64;
/// How many are shown if nobody chose any.
const CHOSEN: usize = 3;

/// A series with its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesPage {
    /// Its id.
    pub id: SeriesId,
    /// What its last run is called.
    pub title: String,
    /// The host's name.
    pub host: String,
    /// The run that later ones are compared with; none if none is named.
    pub baseline: Option<CaptureId>,
    /// Its key numbers, those that a recipe names first.
    pub keys: Vec<SeriesKey>,
    /// How many more it has.
    pub left_out: usize,
    /// Its runs, the last first.
    pub runs: Vec<RunItem>,
    /// Marked moments of the time from its first run on, in order.
    pub marks: Vec<MarkItem>,
    /// Whether whoever asks may name the baseline, and mark moments.
    pub can_change: bool,
}

/// A key number of a series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesKey {
    /// Names it.
    pub key: String,
    /// What it says.
    pub what: KeyWhat,
    /// Of which stream.
    pub stream: String,
    /// Of which column; empty for none.
    pub column: String,
    /// Of which function or process; empty for none.
    pub name: String,
    /// How its value is written.
    pub display: Display,
    /// What it counts.
    pub unit: Unit,
    /// Which way is better; none where neither is.
    pub good: Option<GoodWay>,
    /// Whether it is shown if nobody chose.
    pub chosen: bool,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunItem {
    /// The capture.
    pub id: CaptureId,
    /// What it is called.
    pub title: String,
    /// What it is doing, or how it ended.
    pub state: CaptureState,
    /// Who started it.
    pub owner: String,
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
    /// Whether its numbers were computed.
    pub computed: bool,
    /// Why it has none; empty if it has.
    pub problem: String,
    /// Its numbers, in the order of the series' keys; none where it has no such number.
    pub numbers: Vec<Option<RunNumber>>,
}

/// A number of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunNumber {
    /// The number.
    #[serde(flatten)]
    pub number: MeasuredNumber,
    /// The function or process that was the hottest then; else empty.
    pub name: String,
    /// What it is worth beside the baseline; none if there is none, or the run was before it.
    pub verdict: Option<BaselineVerdict>,
}

/// What a number is worth beside the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineVerdict {
    /// More than chance, and the good way.
    Better,
    /// More than chance, and the other way.
    Worse,
    /// More by more than chance, and neither way is better.
    Higher,
    /// Less, likewise.
    Lower,
    /// No more than chance.
    NoDifference,
    /// There are too few rows to tell.
    TooFew,
    /// Lost rows can explain it.
    LostRows,
}

/// A line of the list of series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeriesItem {
    /// Its id.
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

impl From<SeriesSummary> for SeriesItem {
    fn from(summary: SeriesSummary) -> Self {
        let SeriesSummary { id, title, host, runs, first_unix_ns, last_unix_ns, last, baseline } = summary;
        let (title, host) = (shown(&title), shown(&host));
        Self { id, title, host, runs, first_unix_ns, last_unix_ns, last, baseline }
    }
}

/// The page of a series; `runs` are those of it, the last first, and `wished` what their recipe names.
pub fn series_page(
    id: SeriesId,
    runs: Vec<SeriesRun>,
    (wished, marks, can_change): (&[RecipeKey], Vec<MarkRecord>, bool),
) -> SeriesPage {
    let numbers: Vec<Vec<KeyNumber>> = runs.iter().map(numbers_of).collect();
    let (keys, left_out) = keys_of(&numbers, wished);
    let baseline = runs.iter().position(|run| run.is_baseline);
    let of_run = |numbers: &[KeyNumber]| -> HashMap<String, KeyNumber> {
        numbers.iter().map(|number| (number.key.clone(), number.clone())).collect()
    };
    let base = baseline.and_then(|at| Some((runs.get(at)?, of_run(numbers.get(at)?))));
    let item = |(run, numbers): (&SeriesRun, &Vec<KeyNumber>)| {
        let beside = base.as_ref().filter(|(baseline, _)| run.started_unix_ns > baseline.started_unix_ns);
        run_item(run, &of_run(numbers), (&keys, beside.map(|(_, numbers)| numbers)))
    };
    let items: Vec<RunItem> = runs.iter().zip(&numbers).map(item).collect();
    let last = runs.first();
    SeriesPage {
        id,
        title: last.map_or_else(String::new, |run| shown(&run.title)),
        host: last.map_or_else(String::new, |run| shown(&run.host)),
        baseline: base.as_ref().map(|(run, _)| run.id),
        runs: items,
        marks: marks_of(marks, &runs),
        keys,
        left_out,
        can_change,
    }
}

/// The numbers of a run, as they were kept; those of another program's version that cannot be read are none.
fn numbers_of(run: &SeriesRun) -> Vec<KeyNumber> {
    let kept = run.numbers.as_ref().map(|kept| serde_json::from_str(&kept.numbers));
    kept.and_then(Result::ok).unwrap_or_default()
}

/// Marks of the hosts of these runs, from the first on.
fn marks_of(marks: Vec<MarkRecord>, runs: &[SeriesRun]) -> Vec<MarkItem> {
    let is_here = |host: &str| host.is_empty() || runs.iter().any(|run| run.host == host);
    marks.into_iter().filter(|record| is_here(&record.mark.host)).map(MarkItem::from).collect()
}

fn keys_of(numbers: &[Vec<KeyNumber>], wished: &[RecipeKey]) -> (Vec<SeriesKey>, usize) {
    let mut keys: Vec<SeriesKey> = Vec::new();
    // The last run says the order; of runs before only what it has not is added.
    for number in numbers.iter().flatten() {
        if keys.iter().any(|key| key.key == number.key) {
            continue;
        }
        let wish = wished.iter().find(|wish| wish.key == number.key);
        let is_latency = matches!(number.what, KeyWhat::P50 | KeyWhat::P99) && number.display == Display::DurationNs;
        let usual = is_latency.then_some(GoodWay::Less);
        let is_named = matches!(number.what, KeyWhat::FunctionShare | KeyWhat::ProcessShare);
        keys.push(SeriesKey {
            key: number.key.clone(),
            what: number.what,
            stream: number.stream.clone(),
            column: number.column.clone(),
            name: if is_named { number.name.clone() } else { String::new() },
            display: number.display,
            unit: number.unit,
            good: wish.and_then(|wish| wish.good).or(usual),
            chosen: false,
        });
    }
    let place = |key: &SeriesKey| wished.iter().position(|wish| wish.key == key.key).unwrap_or(usize::MAX);
    keys.sort_by_key(place);
    let left_out = keys.len().saturating_sub(MAX_KEYS);
    keys.truncate(MAX_KEYS);
    choose(&mut keys, wished);
    (keys, left_out)
}

/// What is shown if nobody chose: what the recipe names, else how long things took, how often they were, and what was hottest.
fn choose(keys: &mut [SeriesKey], wished: &[RecipeKey]) {
    let mut chosen = 0;
    for key in keys.iter_mut().filter(|key| wished.iter().any(|wish| wish.key == key.key)).take(CHOSEN) {
        key.chosen = true;
        chosen += 1;
    }
    if chosen > 0 {
        return;
    }
    for wanted in [KeyWhat::P99, KeyWhat::Rate, KeyWhat::HottestFunction] {
        if let Some(key) = keys.iter_mut().find(|key| key.what == wanted) {
            key.chosen = true;
        }
    }
}

type Beside<'a> = (&'a [SeriesKey], Option<&'a HashMap<String, KeyNumber>>);

fn run_item(run: &SeriesRun, own: &HashMap<String, KeyNumber>, (keys, base): Beside<'_>) -> RunItem {
    let of_base = |key: &SeriesKey| base.and_then(|base| base.get(&key.key));
    let tests = keys.iter().filter(|key| own.contains_key(&key.key) && of_base(key).is_some()).count();
    let number = |key: &SeriesKey| {
        let number = own.get(&key.key)?;
        let is_hottest = matches!(key.what, KeyWhat::HottestFunction | KeyWhat::HottestProcess);
        Some(RunNumber {
            number: number.number,
            name: if is_hottest { number.name.clone() } else { String::new() },
            verdict: of_base(key).map(|base| beside(&base.number, &number.number, (key.good, tests))),
        })
    };
    RunItem {
        id: run.id,
        title: shown(&run.title),
        state: run.state,
        owner: shown(&run.owner),
        started_unix_ns: run.started_unix_ns,
        duration_ns: run.duration_ns,
        rows: run.rows,
        lost: run.lost,
        lost_at_least: run.lost_at_least,
        again_of: run.again_of,
        computed: run.numbers.is_some(),
        problem: run.numbers.as_ref().map_or_else(String::new, |kept| shown(&kept.problem)),
        numbers: keys.iter().map(number).collect(),
    }
}

/// What a number is worth beside another one.
fn beside(base: &MeasuredNumber, number: &MeasuredNumber, (good, tests): (Option<GoodWay>, usize)) -> BaselineVerdict {
    let (difference, _, verdict) = judge(base, number, tests);
    match (verdict, good) {
        (DifferenceVerdict::WithinChance, _) => BaselineVerdict::NoDifference,
        (DifferenceVerdict::TooFew | DifferenceVerdict::Untested, _) => BaselineVerdict::TooFew,
        (DifferenceVerdict::LostRows, _) => BaselineVerdict::LostRows,
        (DifferenceVerdict::BeyondChance, None) if difference > 0.0 => BaselineVerdict::Higher,
        (DifferenceVerdict::BeyondChance, None) => BaselineVerdict::Lower,
        (DifferenceVerdict::BeyondChance, Some(way)) if (difference > 0.0) == (way == GoodWay::More) => {
            BaselineVerdict::Better
        }
        (DifferenceVerdict::BeyondChance, Some(_)) => BaselineVerdict::Worse,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use bathyscope_store::{NewMark, RunNumbers};

    use super::*;

    fn number(key: &str, what: KeyWhat, (value, error): (f64, f64)) -> KeyNumber {
        let is_latency = matches!(what, KeyWhat::P50 | KeyWhat::P99);
        KeyNumber {
            key: key.to_owned(),
            what,
            stream: "read".to_owned(),
            column: String::new(),
            name: "<b>f".to_owned(),
            display: if is_latency { Display::DurationNs } else { Display::Decimal },
            unit: Unit::Hits,
            number: MeasuredNumber { value, error: Some(error), least: Some(value), most: Some(value) },
        }
    }

    fn run(at: i64, numbers: Option<&[KeyNumber]>) -> SeriesRun {
        SeriesRun {
            id: CaptureId::from_bits(at.unsigned_abs()),
            title: format!("run {at} \u{1b}[2K"),
            state: CaptureState::Finished,
            owner: "ada".to_owned(),
            host: "here".to_owned(),
            started_unix_ns: at,
            duration_ns: 1,
            rows: 1,
            lost: 0,
            lost_at_least: false,
            again_of: None,
            is_baseline: at == 2,
            numbers: numbers.map(|numbers| RunNumbers {
                rule: 1,
                numbers: serde_json::to_string(numbers).unwrap(),
                problem: String::new(),
            }),
        }
    }

    fn of_run(p99: f64, rate: f64) -> Vec<KeyNumber> {
        vec![number("rate@read", KeyWhat::Rate, (rate, 1.0)), number("p99:d@read", KeyWhat::P99, (p99, 1.0))]
    }

    #[test]
    fn later_runs_are_worth_something_beside_the_baseline() {
        use BaselineVerdict::{Better, Higher, Lower, NoDifference, Worse};
        let all =
            [of_run(50.0, 10.0), of_run(100.0, 10.0), of_run(150.0, 90.0), of_run(101.0, 11.0), of_run(20.0, 1.0)];
        let mut runs: Vec<SeriesRun> = (1..).zip(&all).map(|(at, numbers)| run(at, Some(numbers))).collect();
        runs.push(run(6, None));
        runs.reverse();
        let page = series_page(SeriesId::from_bits(7), runs, (&[], Vec::new(), true));
        let verdicts = |at: usize| -> Vec<Option<BaselineVerdict>> {
            page.runs[at].numbers.iter().map(|number| number.as_ref().and_then(|number| number.verdict)).collect()
        };
        assert_eq!(page.baseline, Some(CaptureId::from_bits(2)));
        assert_eq!(verdicts(1), [Some(Lower), Some(Better)]);
        assert_eq!(verdicts(2), [Some(NoDifference), Some(NoDifference)]);
        assert_eq!(verdicts(3), [Some(Higher), Some(Worse)]);
        // The baseline itself, and what was before it.
        assert_eq!((verdicts(4), verdicts(5)), (vec![None, None], vec![None, None]));
        assert!(!page.runs[0].computed && page.runs[0].numbers.iter().all(Option::is_none));
        assert_eq!(page.title, "run 6 \\x1b[2K");
        let chosen: Vec<&str> = page.keys.iter().filter(|key| key.chosen).map(|key| key.key.as_str()).collect();
        assert_eq!(chosen, ["rate@read", "p99:d@read"]);
    }

    #[test]
    fn a_recipe_says_which_numbers_come_first_and_which_way_is_good() {
        let wished = [RecipeKey { key: "rate@read".to_owned(), good: Some(GoodWay::More) }];
        let runs = vec![run(3, Some(&of_run(1.0, 90.0))), run(2, Some(&of_run(1.0, 10.0)))];
        let marks = [("here", 5), ("there", 5), ("", 6)].map(|(host, time_unix_ns)| MarkRecord {
            id: time_unix_ns,
            mark: NewMark {
                time_unix_ns,
                host: host.to_owned(),
                text: "<b>2.1".to_owned(),
                link: String::new(),
                author: "ci".to_owned(),
                created_unix_ns: 1,
            },
        });
        let page = series_page(SeriesId::from_bits(7), runs, (&wished, marks.to_vec(), false));
        assert_eq!(page.keys[0].key, "rate@read");
        let chosen: Vec<bool> = page.keys.iter().map(|key| key.chosen).collect();
        assert_eq!(chosen, [true, false]);
        assert_eq!(page.runs[0].numbers[0].as_ref().unwrap().verdict, Some(BaselineVerdict::Better));
        assert_eq!(page.marks.len(), 2, "not those of another host");
    }

    #[test]
    fn what_cannot_be_read_is_no_number() {
        let mut broken = run(1, Some(&[]));
        broken.numbers.as_mut().unwrap().numbers = "{".to_owned();
        let page = series_page(SeriesId::from_bits(7), vec![broken], (&[], Vec::new(), false));
        assert!(page.keys.is_empty() && page.runs[0].numbers.is_empty());
        assert!(series_page(SeriesId::from_bits(7), Vec::new(), (&[], Vec::new(), false)).runs.is_empty());
    }
}
