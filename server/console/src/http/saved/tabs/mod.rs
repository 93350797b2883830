//! What each tab of a capture's page asks for, and more of what people go on to look at there: other zooms of timelines, all rows, the
//! whole flame graph, other columns. The pages' modules are named beside each; a flow in the browser opens each tab of such files and
//! holds that nothing is asked for that they do not have (`tests/browser/saved_flows.mjs`).

use serde::Deserialize;

use super::{
    ask::{Ask, Asker},
    facts::{Facts, StreamFacts},
    view::KeptView,
};
use crate::http::error::ApiError;

mod against;
mod calls;
mod flame;
mod spread;
mod timeline;

/// The most rows of a table in a file, and how many are asked for at once.
const MOST_ROWS: u64 = 50_000;
const ROWS_AT_ONCE: u64 = 5000;
/// The most tracks of a timeline of rows in bins.
const TIMELINE_TRACKS: u32 = 256;
/// The most pages of what a script printed.
const TEXT_PAGES: usize = 20;
/// Bins of time of groups that are drawn over it (`view/table/pivot_panel.js`).
const GROUP_BINS: u32 = 200;
/// By what system calls are counted.
const CALL_GROUPS: [&str; 5] = ["call", "process", "thread", "process_call", "thread_call"];
/// The most requests for maps of a script.
const MAP_REQUESTS: usize = 80;

/// What is read for one view.
pub(super) struct TabReader<'a, 'b> {
    /// Asks the console.
    pub(super) asker: &'b mut Asker<'a>,
    /// Of the capture.
    pub(super) facts: &'b Facts,
    /// The view.
    pub(super) view: &'b KeptView,
    /// The most bytes of the windows of its timelines.
    pub(super) most_window_bytes: usize,
    /// What is not in the file, in sentences of plain letters.
    pub(super) left_out: Vec<String>,
}

#[derive(Deserialize)]
struct Matched {
    matched: u64,
}

#[derive(Deserialize)]
struct MapList {
    maps: Vec<MapHead>,
}

#[derive(Deserialize)]
struct MapHead {
    n: u32,
    snapshots: u64,
    views: Vec<String>,
}

#[derive(Deserialize)]
struct Text {
    next: Option<Cursor>,
}

#[derive(Deserialize)]
struct Cursor {
    time: i64,
    skip: u64,
}

impl TabReader<'_, '_> {
    /// What every tab needs: the page around it.
    ///
    /// # Errors
    /// As [`Asker::ask`], for this and all others here.
    pub(super) async fn base(&mut self) -> Result<(), ApiError> {
        let rows: u64 = self.facts.recorded().map(|stream| stream.rows).sum();
        // As many bars as a page of usual width has (`page/minimap.js`).
        let bars = (rows.div_ceil(8)).clamp(60, 600);
        self.asker.ask(&Ask::of("/notes")).await?;
        self.asker.ask_first(&Ask::of("/rate").with("bins", bars).with_parts(self.view, &["filter"])).await?;
        if self.facts.is_counts() {
            return Ok(());
        }
        // By which the most frequent names have their colours (`page/capture_context.js`).
        let colours = Ask::of("/timeline").with("start", 0).with("end", self.facts.duration()).with("width", 512);
        self.asker.ask(&colours.with("group", "cpu").with("limit_tracks", TIMELINE_TRACKS)).await?;
        Ok(())
    }

    /// What a tab needs; nothing for one that there is not.
    pub(super) async fn tab(&mut self, tab: &str) -> Result<(), ApiError> {
        let in_view = |below: &str| Ask::of(below).in_range(self.view);
        match tab {
            "calls" => self.calls().await,
            "systemcalls" => self.system_calls().await,
            "counts" => self.asker.ask(&in_view("/counts").with("bins", 800)).await,
            "maps" => self.maps().await,
            "output" => self.output().await,
            "events" => self.events().await,
            "timeline" => self.timeline().await,
            "flame" => self.flame().await,
            "processes" => self.asker.ask(&in_view("/processes")).await,
            "distribution" => self.distribution().await,
            "info" => self.asker.ask(&Ask::of("/output")).await,
            _ => Ok(()),
        }
    }

    /// Says once what is not in the file.
    fn leaves_out(&mut self, words: String) {
        if !self.left_out.contains(&words) {
            self.left_out.push(words);
        }
    }

    /// A question about the rows of the view.
    fn of_rows(&self, below: &str) -> Ask {
        Ask::of(below).in_range(self.view).with_parts(self.view, &["filter"])
    }

    /// `view/table/events_view.js`, `pivot_panel.js`.
    async fn events(&mut self) -> Result<(), ApiError> {
        let Some(stream) = self.facts.stream(self.view.number("stream")) else { return Ok(()) };
        let rows = self.of_rows("/rows").with("stream", stream.index).with_parts(self.view, &["pairs", "neighbours"]);
        let page = |offset: u64, limit: u64| rows.clone().with("offset", offset).with("limit", limit);
        let Some(Matched { matched }) = self.asker.ask_json(&page(0, ROWS_AT_ONCE)).await? else { return Ok(()) };
        let most = matched.min(MOST_ROWS);
        for offset in (ROWS_AT_ONCE..most).step_by(ROWS_AT_ONCE as usize) {
            self.asker.ask(&page(offset, ROWS_AT_ONCE.min(most - offset))).await?;
        }
        if matched > most {
            self.left_out.push(format!("Of {} rows it has the first {}.", grouped(matched), grouped(most)));
        }
        if stream.has_stack() && matched > 0 {
            self.left_out.push("Stacks of single rows are not in it.".to_owned());
        }
        if !self.view.text("groupby").is_empty() {
            self.compared_groups(&self.grouped(stream, "/pivot/compare")).await?;
            self.groups(stream).await?;
        }
        Ok(())
    }

    /// The columns that rows are grouped by: those that the stream has, or the first ones.
    fn group_columns<'s>(&'s self, stream: &'s StreamFacts) -> Vec<&'s str> {
        match self.view.text("groupby") {
            "*" => stream.first_key().into_iter().collect(),
            names => names.split(',').filter(|name| stream.has(name)).collect(),
        }
    }

    /// A question about groups of rows.
    fn grouped(&self, stream: &StreamFacts, below: &str) -> Ask {
        self.of_rows(below)
            .with("stream", stream.index)
            .with("by", self.group_columns(stream).join(","))
            .with("values", self.view.text("measures"))
    }

    /// The groups of rows that the view shows: first as it shows them, then in its other form and by each other column.
    async fn groups(&mut self, stream: &StreamFacts) -> Result<(), ApiError> {
        let by = self.group_columns(stream).len();
        let columns = by + self.view.text("measures").split(',').count();
        let order = self.view.text("grouporder");
        let (is_down, at) = order.strip_prefix('-').map_or((false, order), |at| (true, at));
        let at: Option<usize> = at.parse().ok().filter(|at| *at < columns);
        let shown = at.map_or((by, true), |at| (at, is_down));
        let has_bins = matches!(self.view.text("groupshow"), "lines" | "heat");
        let of = self.grouped(stream, "/pivot").with("limit", 1000);
        let ask = |(sort, is_down): (usize, bool), bins: u32| {
            let ask = of.clone().with("sort", sort).with("order", if is_down { "desc" } else { "asc" });
            ask.with("bins", bins)
        };
        let bins = if has_bins { [GROUP_BINS, 0] } else { [0, GROUP_BINS] };
        let others = (0..columns).flat_map(|sort| [(sort, true), (sort, false)]).filter(|order| *order != shown);
        let mut asks = bins.map(|bins| ask(shown, bins)).to_vec();
        asks.extend(others.map(|order| ask(order, 0)));
        for (number, ask) in asks.iter().enumerate() {
            if number > 0 && self.asker.is_late() {
                self.leaves_out("Its groups are in it as they are sorted, and not in each other order.".to_owned());
                break;
            }
            self.asker.ask(ask).await?;
        }
        Ok(())
    }

    /// `view/syscalls/syscalls_view.js`: in all its groups and orders.
    async fn system_calls(&mut self) -> Result<(), ApiError> {
        self.compared_system_calls().await?;
        for by in CALL_GROUPS {
            let ask = self.of_rows("/syscalls").with("calls_by", by);
            self.asker.ask_all([ask.clone(), ask.with("bytes", 1)]).await?;
        }
        Ok(())
    }

    /// `view/maps/maps_view.js`: each map in each of its views.
    async fn maps(&mut self) -> Result<(), ApiError> {
        let Some(MapList { maps }) = self.asker.ask_json(&Ask::of("/maps")).await? else { return Ok(()) };
        self.compared_maps(maps.iter().map(|map| map.n).collect()).await?;
        let shown = |map: &MapHead| -> Vec<(u32, String)> {
            let views = map.views.iter().filter(|view| *view != "flame");
            views.map(|view| (map.n, view.clone())).collect()
        };
        let all: Vec<(u32, String)> = maps.iter().filter(|map| map.snapshots > 0).flat_map(shown).collect();
        let chosen = self.view.number("map").and_then(|n| u32::try_from(n).ok());
        let (first, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(n, _)| Some(*n) == chosen);
        let left = (first.len() + others.len()).saturating_sub(MAP_REQUESTS);
        for (n, show) in first.into_iter().chain(others).take(MAP_REQUESTS) {
            let ask = self.of_map(n, &show);
            match show.as_str() {
                "table" => self.asker.ask(&ask.with("limit", 200)).await?,
                "histogram" | "heatmap" => self.asker.ask(&ask.with_parts(self.view, &["key"])).await?,
                _ => self.asker.ask(&ask).await?,
            };
        }
        if left > 0 {
            self.left_out.push(format!("{left} views of maps are not in it."));
        }
        Ok(())
    }

    /// `view/table/output_view.js`.
    async fn output(&mut self) -> Result<(), ApiError> {
        let mut next = Some(Cursor { time: self.view.range().map_or(0, |(start, _)| start), skip: 0 });
        for _page in 0..TEXT_PAGES {
            let Some(Cursor { time, skip }) = next else { return Ok(()) };
            let ask = Ask::of("/text").with("time", time).with("skip", skip).with("limit", 1000);
            next = self.asker.ask_json(&ask).await?.and_then(|Text { next }| next);
        }
        if next.is_some() {
            self.left_out.push("Of what the script printed it has the beginning.".to_owned());
        }
        Ok(())
    }
}

/// A number with its digits in threes.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
