//! Stacks: the graph, functions, callers and callees, the order of time, comparisons, instructions (`view/flame`).

use serde::Deserialize;

use super::{MAP_REQUESTS, MapHead, MapList, TabReader};
use crate::http::{
    error::ApiError,
    saved::{ask::Ask, windows},
};

#[derive(Deserialize)]
struct RankedFunctions {
    functions: Vec<RankedFunction>,
}

#[derive(Deserialize)]
struct RankedFunction {
    name: String,
}

impl TabReader<'_, '_> {
    /// `view/flame`.
    pub(super) async fn flame(&mut self) -> Result<(), ApiError> {
        let view = self.view;
        self.compared_stacks().await?;
        if !view.text("code").is_empty() {
            let ask =
                self.of_rows("/flame/annotate").with("function", view.text("code")).with("place", view.text("at"));
            return self.asker.ask(&ask).await;
        }
        match view.text("flame") {
            "between" => self.between().await?,
            "time" => {
                let of = Ask::of("/flame/chart").with_parts(view, &["filter", "search", "unit", "transforms"]);
                self.chart(&of.with("by", self.by())).await?;
            }
            _ => {}
        }
        self.sorted(view.text("search")).await?;
        self.graph().await
    }

    /// The functions, in both orders: all, and those that are searched for.
    async fn sorted(&mut self, search: &str) -> Result<(), ApiError> {
        let of = self.of_rows("/flame/functions").with_parts(self.view, &["unit", "transforms"]);
        for sort in ["own", "total"] {
            let all = of.clone().with("sort", sort);
            self.asker.ask(&all).await?;
            if !search.is_empty() {
                self.asker.ask(&all.with("search", search)).await?;
            }
        }
        Ok(())
    }

    /// By what stacks are put together first.
    pub(super) fn by(&self) -> &'static str {
        self.view.one_of("by", &["process", "thread", "comm", "cpu", "container", "source", "none"])
    }

    /// The graph, and the tree, which is of the same: whole, as finely as the console draws it.
    pub(super) async fn graph(&mut self) -> Result<(), ApiError> {
        let (view, by) = (self.view, self.by());
        let drawn = |ask: &Ask| {
            let ask = ask.clone().with("width", windows::MOST_WIDTH).with("by", by);
            let ask = ask.with_parts(view, &["unit", "transforms"]);
            [ask.clone().with("invert", 0), ask.with("invert", 1)]
        };
        let source = view.text("source").strip_prefix('@').and_then(|n| n.parse::<u32>().ok());
        if source.is_none() && !self.facts.folds_maps() {
            let both = drawn(&self.of_rows("/flame"));
            return self.asker.ask_all(both).await;
        }
        let Some(MapList { maps }) = self.asker.ask_json(&Ask::of("/maps")).await? else { return Ok(()) };
        let is_shown = |map: &&MapHead| match source {
            Some(n) => map.n == n,
            None => map.views.iter().any(|view| view == "flame"),
        };
        let shown = maps.iter().filter(is_shown).take(MAP_REQUESTS);
        let asks: Vec<Ask> = shown.flat_map(|map| drawn(&self.of_map(map.n, "flame"))).collect();
        self.asker.ask_all(asks).await
    }

    /// A map at a moment, or over the range.
    pub(super) fn of_map(&self, n: u32, show: &str) -> Ask {
        let ask = Ask::of(format!("/maps/{n}")).with("view", show);
        match self.view.number("snapshot") {
            Some(snapshot) if !matches!(show, "heatmap" | "series") => ask.with("snapshot", snapshot),
            _ => ask.in_range(self.view),
        }
    }

    pub(super) async fn between(&mut self) -> Result<(), ApiError> {
        let view = self.view;
        let of = self.of_rows("/flame/functions").with_parts(view, &["unit", "transforms"]);
        let ask = of.with("sort", view.one_of("top", &["own", "total"])).with_parts(view, &["search"]);
        let found: Option<RankedFunctions> = self.asker.ask_json(&ask).await?;
        let first = found.and_then(|found| found.functions.into_iter().next()).map(|function| function.name);
        let named = Some(view.text("between").to_owned()).filter(|name| !name.is_empty()).or(first);
        let Some(name) = named else { return Ok(()) };
        let ask = self.of_rows("/flame/sandwich").with_parts(view, &["unit", "transforms", "search"]);
        self.asker.ask(&ask.with("function", name).with("width", windows::MOST_WIDTH)).await
    }

    /// Windows of a chart of lanes (`view/lanes/lanes_chart.js`).
    pub(super) async fn chart(&mut self, of: &Ask) -> Result<(), ApiError> {
        let of = of.clone().with("lanes", self.view.one_of("lanes", &["thread", "cpu"])).with("limit_lanes", 48);
        self.windows(&of, "").await
    }
}
