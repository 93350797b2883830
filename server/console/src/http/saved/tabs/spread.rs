//! How values are spread (`view/distribution`).

use serde::Deserialize;
use serde_json::Value;

use super::TabReader;
use crate::http::{
    error::ApiError,
    saved::{
        ask::Ask,
        facts::{COMMON_COLUMNS, ColumnFacts, Facts, StreamFacts},
        view::KeptView,
    },
};

/// The most columns whose values are spread.
const SPREAD_COLUMNS: usize = 24;

#[derive(Deserialize)]
struct Heat {
    next: Option<u64>,
    low: Value,
    high: Value,
}

impl TabReader<'_, '_> {
    /// `view/distribution`: the form that is shown, and the buckets of all columns of numbers.
    pub(super) async fn distribution(&mut self) -> Result<(), ApiError> {
        let (facts, view) = (self.facts, self.view);
        let form = view.one_of("spread", &["histogram", "heat", "offsets", "busy", "single"]);
        if form == "busy" {
            self.busy().await?;
        }
        let Some(stream) = spread_stream(facts, view) else { return Ok(()) };
        let numbers = numbers_of(stream);
        let Some(column) = shown_number(&numbers, view.text("column")) else { return Ok(()) };
        let below = |below: &str| of_column(view, stream.index, &column).below(below);
        match form {
            "single" => self.asker.ask(&below("/scatter")).await,
            "offsets" => {
                let period = view.number("period").unwrap_or(1_000_000_000);
                let ask = below("/heat").with("period", period).with("rows", 50).with("columns", 1024);
                self.heat(&ask, false).await
            }
            "heat" => {
                let (scale, steps) = self.scale(4, 200);
                let ask = below("/heat").with("scale", scale).with("steps", steps).with("columns", 256);
                self.compared_heat(&ask).await?;
                self.heat(&ask, scale == "linear").await
            }
            _ => Ok(()),
        }?;
        // Where the other forms lead back to.
        self.histograms(stream, &column).await
    }

    /// The buckets of the column that is shown, and of the others.
    async fn histograms(&mut self, stream: &StreamFacts, column: &str) -> Result<(), ApiError> {
        let view = self.view;
        let ((scale, steps), by) = (self.scale(6, 4096), self.split(stream));
        let numbers = numbers_of(stream);
        let others = numbers.iter().map(|number| number.name.as_str()).filter(|name| *name != column);
        // Limits are of the column that is shown.
        let is_limited = !view.text("low").is_empty() || !view.text("high").is_empty();
        let others = others.take(if is_limited { 0 } else { SPREAD_COLUMNS });
        let groups = view.number("parts").unwrap_or(5);
        let ask = |column: &str| {
            let ask = of_column(view, stream.index, column).with("scale", scale).with("steps", steps);
            ask.with("by", &by).with("groups", groups)
        };
        let all: Vec<Ask> = [column].into_iter().chain(others).map(ask).collect();
        self.asker.ask_all(all).await
    }

    /// Buckets, with at most so many steps.
    pub(super) fn scale(&self, most_bits: i64, most_rows: i64) -> (&'static str, i64) {
        let scale = self.view.one_of("buckets", &["log", "linear"]);
        let (usual, first, most) = if scale == "log" { (2, 6, most_bits) } else { (60, 4096, most_rows) };
        (scale, self.view.number("steps").unwrap_or(usual).min(first).min(most))
    }

    /// By which column values are put apart.
    pub(super) fn split(&self, stream: &StreamFacts) -> String {
        match self.view.text("split") {
            "-" => String::new(),
            "" if stream.row == "counter" && stream.has("event") => "event".to_owned(),
            split => split.to_owned(),
        }
    }

    /// All parts of a heat map (`heat_panel.js`).
    pub(super) async fn heat(&mut self, of: &Ask, keeps_limits: bool) -> Result<(), ApiError> {
        let Some(first) = self.asker.ask_json::<Heat>(of).await? else { return Ok(()) };
        let limit = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let of = if keeps_limits && !first.low.is_null() {
            of.clone().without(&["low", "high"]).with("low", limit(&first.low)).with("high", limit(&first.high))
        } else {
            of.clone()
        };
        let mut next = first.next;
        while let Some(skip) = next {
            if self.asker.is_late() {
                self.left_out.push("Of the heat map it has the beginning.".to_owned());
                break;
            }
            next = self.asker.ask_json::<Heat>(&of.clone().with("skip", skip)).await?.and_then(|part| part.next);
        }
        Ok(())
    }

    /// `busy_panel.js`.
    pub(super) async fn busy(&mut self) -> Result<(), ApiError> {
        let is_busy = |stream: &&StreamFacts| {
            let of_thread = stream.row == "state" && !stream.has("waker_tid") && !stream.has("skaddr");
            let of_device = stream.row == "slice" && ["dev", "irq", "vec"].iter().any(|name| stream.has(name));
            stream.rows > 0 && (of_thread || of_device)
        };
        let (start, end) = self.view.range().unwrap_or((0, self.facts.duration()));
        let streams: Vec<usize> = self.facts.streams.iter().filter(is_busy).map(|stream| stream.index).collect();
        for stream in streams {
            let ask = Ask::of("/distribution/utilisation").with("stream", stream).with("start", start).with("end", end);
            self.asker.ask(&ask.with_parts(self.view, &["filter"]).with("columns", 256)).await?;
        }
        Ok(())
    }
}

/// The stream whose values are spread: what took time before what only happened.
fn spread_stream<'a>(facts: &'a Facts, view: &KeptView) -> Option<&'a StreamFacts> {
    const INTEREST: [&str; 5] = ["slice", "state", "counter", "sample", "instant"];
    let chosen = view.number("stream").and_then(|index| facts.streams.get(usize::try_from(index).ok()?));
    let rank = |stream: &&StreamFacts| {
        let of = INTEREST.iter().position(|row| *row == stream.row).unwrap_or(INTEREST.len());
        let has_own = stream.columns.iter().skip(COMMON_COLUMNS).any(ColumnFacts::is_number);
        of + if has_own { 0 } else { INTEREST.len() }
    };
    let shown = facts.streams.iter();
    let shown = shown.filter(|stream| !stream.columns.is_empty() && stream.rows > 0 && !stream.is_heading());
    chosen.filter(|stream| !stream.columns.is_empty()).or_else(|| shown.min_by_key(rank))
}

/// A question about the values of a column.
fn of_column(view: &KeptView, stream: usize, column: &str) -> Ask {
    let ask = Ask::of("/distribution").with("stream", stream).with("column", column).in_range(view);
    ask.with_parts(view, &["filter", "low", "high"])
}

/// The columns of numbers of a stream, its own before those that all have.
fn numbers_of(stream: &StreamFacts) -> Vec<&ColumnFacts> {
    let (common, own) = stream.columns.split_at(COMMON_COLUMNS.min(stream.columns.len()));
    own.iter().chain(common).filter(|column| column.is_number()).collect()
}

/// The column of numbers that is shown: the chosen one, else lengths of time, else values.
fn shown_number(numbers: &[&ColumnFacts], chosen: &str) -> Option<String> {
    let named = |name: &str| numbers.iter().find(|column| column.name == name);
    let length = || numbers.iter().find(|column| column.is_duration());
    let found = named(chosen).or_else(length).or_else(|| named("value")).or_else(|| numbers.first());
    found.map(|column| column.name.clone())
}
