//! Timelines: rows in bins, tracks of states and slices, and what the panel of a selected range says (`view/timeline`).

use serde::Deserialize;

use super::{TIMELINE_TRACKS, TabReader};
use crate::http::{
    error::ApiError,
    saved::{ask::Ask, windows},
};

/// The most tracks of rows in bins beside tracks of states.
const BINNED_TRACKS: u32 = 1024;

#[derive(Deserialize)]
struct Tracks {
    tracks: Vec<Track>,
    binned: Binned,
}

#[derive(Deserialize)]
struct Track {
    id: String,
}

#[derive(Deserialize)]
struct Binned {
    tick_streams: Vec<u32>,
    ticks: Vec<serde_json::Value>,
    counters: Vec<serde_json::Value>,
}

impl TabReader<'_, '_> {
    /// `view/timeline`.
    pub(super) async fn timeline(&mut self) -> Result<(), ApiError> {
        let is_tree = self.facts.has_tracks() || self.facts.is_script();
        let chosen = self.view.text("group");
        let is_chosen = |group: &str| chosen == group || (chosen.is_empty() && is_tree);
        if self.facts.is_counts() {
            self.bins("counter").await?;
        } else if is_tree && is_chosen("tree") {
            self.tree().await?;
            // Of a script that has put nothing out there is no tree.
            if !self.facts.has_tracks() {
                self.bins("cpu").await?;
            }
        } else {
            self.bins(if matches!(chosen, "" | "tree") { "cpu" } else { chosen }).await?;
        }
        self.range().await
    }

    /// Rows in bins, by CPU or thread; or counters.
    pub(super) async fn bins(&mut self, group: &str) -> Result<(), ApiError> {
        let of = self.rows_in_bins().with("group", group).with("limit_tracks", TIMELINE_TRACKS);
        self.windows(&of, "").await
    }

    pub(super) fn rows_in_bins(&self) -> Ask {
        Ask::of("/timeline").with_parts(self.view, &["filter"])
    }

    /// Threads, CPUs and devices (`track_layer.js`, `track_data.js`, `binned_tracks.js`).
    pub(super) async fn tree(&mut self) -> Result<(), ApiError> {
        if self.facts.has_maps() {
            self.asker.ask(&Ask::of("/maps")).await?;
        }
        let Some(Tracks { tracks, binned }) = self.asker.ask_json(&Ask::of("/tracks")).await? else { return Ok(()) };
        let list = |numbers: &[String]| numbers.join(",");
        let ticks: Vec<String> = binned.tick_streams.iter().map(ToString::to_string).collect();
        let outputs: Vec<String> = self.facts.outputs().iter().map(ToString::to_string).collect();
        let of = |ask: Ask, group: &str| ask.with("limit_tracks", BINNED_TRACKS).with("group", group);
        if !binned.ticks.is_empty() {
            let ticks = of(self.rows_in_bins(), "thread").with("streams", list(&ticks));
            self.windows(&ticks, "").await?;
        }
        if !outputs.is_empty() {
            let outputs = of(self.rows_in_bins(), "stream").with("streams", list(&outputs));
            self.windows(&outputs, "").await?;
        }
        if !binned.counters.is_empty() {
            self.windows(&of(Ask::of("/timeline"), "counter"), "").await?;
        }
        let ids: Vec<String> = tracks.into_iter().map(|Track { id }| id).collect();
        for some in windows::in_requests(&ids) {
            self.windows(&Ask::of("/tracks/window"), &some).await?;
        }
        Ok(())
    }

    /// Windows of a timeline, as long as there is room and time for them.
    pub(super) async fn windows(&mut self, of: &Ask, tracks: &str) -> Result<(), ApiError> {
        let duration = self.facts.duration();
        let sight = self.view.sight(duration);
        let wanted =
            if tracks.is_empty() { windows::binned(sight, duration) } else { windows::of_tracks(sight, duration) };
        let before = self.asker.answers.bytes();
        for (number, window) in wanted.into_iter().enumerate() {
            // What is widest comes first, and without it there is no timeline.
            if number > 0 && (self.asker.is_late() || self.asker.answers.bytes() - before > self.most_window_bytes) {
                self.leaves_out("Its timeline is not as fine everywhere as that of Bathyscope.".to_owned());
                break;
            }
            let ask = of.clone().with("start", window.start).with("end", window.end).with("width", window.width);
            self.asker.ask(&ask.with("tracks", tracks)).await?;
        }
        Ok(())
    }

    /// What the panel of a selected range says (`view/timeline/range`).
    pub(super) async fn range(&mut self) -> Result<(), ApiError> {
        if self.view.range().is_none() {
            return Ok(());
        }
        let ranges = ["threads", "slices", "waits", "wakeups", "counters"].map(|what| format!("/range/{what}"));
        let all = ranges.map(|below| Ask::of(below).in_range(self.view));
        self.asker.ask_all(all).await?;
        let amounts = Ask::of("/range/amounts").in_range(self.view);
        self.asker.ask_all([amounts.clone(), amounts.with("by", "thread")]).await?;
        self.functions(&["own", "total"]).await
    }

    /// The functions of the samples of a range, by what they are sorted.
    pub(super) async fn functions(&mut self, sorts: &[&'static str]) -> Result<(), ApiError> {
        for sort in sorts {
            let ask = self.of_rows("/flame/functions").with("sort", *sort).with_parts(self.view, &["unit"]);
            self.asker.ask(&ask).await?;
        }
        Ok(())
    }
}
