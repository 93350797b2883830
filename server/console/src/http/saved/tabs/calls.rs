//! Calls of functions (`view/calls`).

use std::collections::VecDeque;

use serde::Deserialize;

use super::TabReader;
use crate::http::{error::ApiError, saved::ask::Ask};

/// The most pages of calls, which unfold in the tree.
const CALL_PAGES: usize = 200;
const CALLS_AT_ONCE: u64 = 200;

#[derive(Deserialize)]
struct Calls {
    total: u64,
    calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    id: u64,
    children: u64,
}

impl TabReader<'_, '_> {
    /// `view/calls`: the tree with what unfolds, ranked functions, the chart.
    pub(super) async fn calls(&mut self) -> Result<(), ApiError> {
        let view = self.view;
        let longer = view.number("longer").filter(|longer| *longer > 0);
        let of = |ask: Ask| {
            let ask = ask.with_parts(view, &["filter"]).with_some("longer", longer);
            ask.with_some("tid", view.number("thread"))
        };
        self.compared_calls(&of(Ask::of("/calls/compare").in_range(view))).await?;
        let tree = of(Ask::of("/calls").in_range(view)).with("function", view.text("func"));
        self.call_tree(&tree).await?;
        self.asker.ask(&Ask::of("/calls").with("limit", 1)).await?;
        for rank in ["total", "self", "calls", "average", "median", "p99", "longest", "name"] {
            for order in ["asc", "desc"] {
                let ask = of(Ask::of("/calls/functions").in_range(view)).with("rank", rank).with("order", order);
                self.asker.ask(&ask.with_parts(view, &["part", "search"]).with("limit", 500)).await?;
            }
        }
        self.chart(&of(Ask::of("/calls/chart")).with("function", view.text("func"))).await
    }

    pub(super) async fn call_tree(&mut self, of: &Ask) -> Result<(), ApiError> {
        let page = |parent: Option<u64>, offset: u64| {
            of.clone().with_some("parent", parent).with("offset", offset).with("limit", CALLS_AT_ONCE)
        };
        let (open, call) = (self.view.text("open"), self.view.text("call"));
        let wanted: Vec<&str> = [open, call].into_iter().filter(|ids| !ids.is_empty()).collect();
        if !wanted.is_empty() {
            self.asker.ask(&of.clone().with("places", wanted.join("."))).await?;
        }
        let mut next = VecDeque::from([(None, 0)]);
        let mut read = 0;
        while let Some((parent, offset)) = next.pop_front() {
            if read == CALL_PAGES || self.asker.is_late() {
                self.left_out.push("Not all calls unfold in it.".to_owned());
                break;
            }
            read += 1;
            let Some(Calls { total, calls }) = self.asker.ask_json(&page(parent, offset)).await? else { break };
            let inner = calls.iter().filter(|call| call.children > 0).map(|call| (Some(call.id), 0));
            let further = (offset + CALLS_AT_ONCE < total).then_some((parent, offset + CALLS_AT_ONCE));
            next.extend(further.into_iter().chain(inner));
        }
        Ok(())
    }
}
