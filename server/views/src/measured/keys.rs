//! Key numbers of a capture: few of them, which are followed over its runs.

use std::collections::HashMap;

use bathyscope_capture::{Display, RowKind, StreamKind, StreamSchema, shown};

use super::stream::{NameKind, StreamMeasures, columns_of, is_duration, numbers_of};
use crate::{
    Cancel, FlameQuery, ViewError,
    answers::{GroupBy, KeyNumber, KeyWhat, MeasuredNumber, ShownValues, Unit},
    chance::{Draw, draws},
    distribution::main_column,
    flame::ComparedSide,
    measured::MeasuredSide,
};

/// The most streams of which numbers are followed.
pub const MAX_KEY_STREAMS: usize = 16;
/// The most columns of one, beside those that are wished for.
const MAX_COLUMNS: usize = 2;
/// The most functions and the most processes.
const MAX_SHARES: usize = 10;
/// The longest name in a key.
const MAX_NAME_CHARACTERS: usize = 200;

/// A key number that is wished for: by a recipe, say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyWish {
    /// What.
    pub what: KeyWhat,
    /// Of which column, function or process; empty where it is of none.
    pub of: String,
    /// Of which stream.
    pub stream: String,
}

impl KeyWish {
    /// Reads a key such as `p99:duration_ns@read`; none if it is no key.
    pub fn parse(key: &str) -> Option<Self> {
        let (head, stream) = key.rsplit_once('@')?;
        let (word, of) = head.split_once(':').unwrap_or((head, ""));
        let what = KeyWhat::ALL.iter().find(|(name, _)| *name == word)?.1;
        let needs =
            !matches!(what, KeyWhat::Count | KeyWhat::Rate | KeyWhat::HottestFunction | KeyWhat::HottestProcess);
        let is_whole = !stream.is_empty() && needs != of.is_empty();
        is_whole.then(|| Self { what, of: of.to_owned(), stream: stream.to_owned() })
    }

    /// The same in one text.
    pub fn key(&self) -> String {
        let (what, of) = (self.what.as_str(), &self.of);
        let head = if of.is_empty() { what.to_owned() } else { format!("{what}:{of}") };
        format!("{head}@{}", self.stream)
    }
}

/// The key numbers of a capture that has ended, those that are wished for among them where there are such columns.
///
/// # Errors
/// If rows cannot be read, or `cancel` was set.
pub fn key_numbers(side: MeasuredSide<'_>, wishes: &[KeyWish], cancel: &Cancel) -> Result<Vec<KeyNumber>, ViewError> {
    let draws = draws();
    let mut found = Vec::new();
    let mut seen: HashMap<String, u32> = HashMap::new();
    let all = (0_u16..).zip(side.source.streams());
    let has_rows = |(_, schema): &(u16, &StreamSchema)| !schema.is_absent() && schema.has_events();
    for (stream, schema) in all.filter(has_rows).take(MAX_KEY_STREAMS) {
        // Two streams can have one name: the second has its number in keys.
        let count = seen.entry(shown(&schema.name)).and_modify(|count| *count += 1).or_insert(1);
        let name = if *count == 1 { shown(&schema.name) } else { format!("{} {count}", shown(&schema.name)) };
        let columns = wanted_columns(schema, &name, wishes);
        let measures = StreamMeasures::read(side.source, stream, (side.span, &columns), cancel)?;
        of_rows(&measures, &name, (&draws, &mut found));
        if schema.kind == StreamKind::Samples {
            of_processes(&measures, &name, (&draws, &mut found));
        }
    }
    let samples = side.source.streams().iter().find(|schema| schema.kind == StreamKind::Samples);
    if let Some(samples) = samples {
        of_functions(side, &shown(&samples.name), (cancel, &mut found))?;
    }
    Ok(found)
}

fn wanted_columns(schema: &StreamSchema, name: &str, wishes: &[KeyWish]) -> Vec<usize> {
    let all = columns_of(schema);
    let is_wished = |at: &usize| {
        let column = schema.columns.get(*at).map_or("", |column| column.name.as_str());
        wishes.iter().any(|wish| wish.stream == name && wish.of == column)
    };
    let is_about = !matches!(schema.meaning().kind, RowKind::Instant | RowKind::Snapshot { .. });
    let main = Some(main_column(schema)).filter(|_| is_about);
    let usual = |at: &usize| is_duration(schema, *at) || main == Some(*at);
    let mut chosen: Vec<usize> = all.iter().copied().filter(usual).take(MAX_COLUMNS).collect();
    chosen
        .extend(numbers_of(schema).into_iter().filter(is_wished).filter(|at| !chosen.contains(at)).collect::<Vec<_>>());
    chosen
}

type Into<'a> = (&'a [Draw], &'a mut Vec<KeyNumber>);

fn of_rows(measures: &StreamMeasures, stream: &str, (draws, found): Into<'_>) {
    let plain = ShownValues { column: String::new(), display: Display::Decimal, unit: Unit::Hits };
    found.push(key(KeyWhat::Rate, (stream, ""), &plain, measures.rate(draws)));
    found.push(key(KeyWhat::Count, (stream, ""), &plain, measures.count(draws)));
    for (column, spread) in measures.columns.iter().filter(|(_, spread)| spread.rows > 0) {
        let numbers = spread.percentiles(&[0.5, 0.99], (measures.lost, column.is_signed()), draws);
        for (what, number) in [KeyWhat::P50, KeyWhat::P99].into_iter().zip(numbers) {
            found.push(key(what, (stream, ""), &column.of, number));
        }
    }
}

/// With the name of what it is of, or of the column.
fn key(what: KeyWhat, (stream, name): (&str, &str), of: &ShownValues, number: MeasuredNumber) -> KeyNumber {
    let name: String = name.chars().take(MAX_NAME_CHARACTERS).collect();
    let is_named = matches!(what, KeyWhat::FunctionShare | KeyWhat::ProcessShare);
    let wished = if is_named { name.clone() } else { of.column.clone() };
    let wish = KeyWish { what, of: wished, stream: stream.to_owned() };
    KeyNumber {
        key: wish.key(),
        what,
        stream: stream.to_owned(),
        column: of.column.clone(),
        name,
        display: of.display,
        unit: of.unit,
        number,
    }
}

/// Shares of samples.
fn shares() -> ShownValues {
    ShownValues { column: String::new(), display: Display::Decimal, unit: Unit::Samples }
}

fn of_processes(measures: &StreamMeasures, stream: &str, (draws, found): Into<'_>) {
    let of_kind = measures.names.iter().find(|(kind, _)| *kind == NameKind::Process);
    let Some((_, names)) = of_kind else { return };
    let mut all: Vec<(&String, MeasuredNumber)> =
        names.iter().map(|(name, of)| (name, measures.name_share(of, draws))).collect();
    all.sort_by(|a, b| b.1.value.total_cmp(&a.1.value).then_with(|| a.0.cmp(b.0)));
    if let Some((name, number)) = all.first() {
        found.push(key(KeyWhat::HottestProcess, (stream, name), &shares(), *number));
    }
    found.extend(
        all.iter()
            .take(MAX_SHARES)
            .map(|(name, number)| key(KeyWhat::ProcessShare, (stream, name), &shares(), *number)),
    );
}

fn of_functions(
    side: MeasuredSide<'_>,
    stream: &str,
    (cancel, found): (&Cancel, &mut Vec<KeyNumber>),
) -> Result<(), ViewError> {
    let query = FlameQuery { by: GroupBy::None, ..FlameQuery::default() };
    let hottest = ComparedSide::read(side.source, &query, cancel)?.hottest(MAX_SHARES);
    let lost = side.source.losses().iter().filter(|loss| loss.stage.is_lost()).map(|loss| loss.count).sum::<u64>();
    let number = |share: f64, error: f64| {
        let number = MeasuredNumber::of(share, Some(error));
        // Any of the lost samples can have been of it.
        if lost == 0 { number } else { MeasuredNumber { least: None, most: None, ..number } }
    };
    if let Some((name, share, error)) = hottest.first() {
        found.push(key(KeyWhat::HottestFunction, (stream, name), &shares(), number(*share, *error)));
    }
    found.extend(
        hottest
            .iter()
            .map(|(name, share, error)| key(KeyWhat::FunctionShare, (stream, name), &shares(), number(*share, *error))),
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        let good = ["rate@sched:sched_switch", "p99:duration_ns@calls", "function_share:f@g@cpu-clock", "count@a b"];
        for key in good {
            assert_eq!(KeyWish::parse(key).map(|wish| wish.key()).as_deref(), Some(key));
        }
        for key in ["", "rate", "rate@", "p99@calls", "rate:x@calls", "p98:x@calls", "@x", "p50:@x"] {
            assert_eq!(KeyWish::parse(key), None, "{key}");
        }
    }
}
