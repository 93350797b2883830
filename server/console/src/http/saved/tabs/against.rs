//! What a view is compared with, in each tab that shows two sides (`view/against`): in all ways in which amounts are compared, and with
//! as many lines as the console tells, which the page sorts itself (`page/saved_against.js`).

use std::collections::{HashSet, VecDeque};

use bathyscope_views::MAX_AGAINST_TOLD;
use serde::{Deserialize, de::IgnoredAny};

use super::{CALL_GROUPS, MAP_REQUESTS, TabReader, grouped};
use crate::http::{
    error::ApiError,
    saved::{ask::Ask, windows},
};

/// In which ways amounts are compared.
const PER: [&str; 3] = ["time", "total", "none"];
/// What is said where there was no time or room for all.
const NOT_ALL: &str = "Not all of its comparisons are in it.";
/// The most ways of functions whose calls unfold in the tree.
const WAYS: usize = 100;

#[derive(Deserialize)]
struct TwoSides {
    compared: u64,
    lines: Vec<SidesLine>,
}

#[derive(Deserialize)]
struct SidesLine {
    key: Vec<serde_json::Value>,
    has_inner: bool,
}

impl TwoSides {
    fn is_cut(&self) -> bool {
        (self.lines.len() as u64) < self.compared
    }
}

impl TabReader<'_, '_> {
    /// `view/syscalls/syscalls_view.js`: by all that calls are counted by.
    pub(super) async fn compared_system_calls(&mut self) -> Result<(), ApiError> {
        let groups = chosen_first(&CALL_GROUPS, self.view.text("callsby"));
        let asks = groups.into_iter().map(|by| self.of_rows("/syscalls/compare").with("calls_by", by)).collect();
        self.tables("system calls", asks).await
    }

    /// `view/table/pivot_panel.js`.
    pub(super) async fn compared_groups(&mut self, of: &Ask) -> Result<(), ApiError> {
        self.tables("groups", vec![of.clone()]).await
    }

    /// `view/maps/maps_view.js`: maps by their numbers.
    pub(super) async fn compared_maps(&mut self, maps: Vec<u32>) -> Result<(), ApiError> {
        let chosen = self.view.number("map").and_then(|n| u32::try_from(n).ok());
        let (first, others): (Vec<u32>, Vec<u32>) = maps.into_iter().partition(|n| Some(*n) == chosen);
        let left = (first.len() + others.len()).saturating_sub(MAP_REQUESTS);
        let asked = first.into_iter().chain(others).take(MAP_REQUESTS);
        let asks = asked.map(|n| Ask::of(format!("/maps/{n}/compare")).in_range(self.view)).collect();
        self.tables("maps", asks).await?;
        if self.view.is_compared() && left > 0 {
            self.leaves_out(format!("{left} maps are not compared in it."));
        }
        Ok(())
    }

    /// `view/calls/calls_view.js`: functions, and the tree as far as it unfolds.
    pub(super) async fn compared_calls(&mut self, of: &Ask) -> Result<(), ApiError> {
        if !self.view.is_compared() {
            return Ok(());
        }
        let functions = vec![of.clone()];
        let tree = of.clone().with("function", self.view.text("func"));
        if self.view.text("calls") == "functions" {
            self.tables("functions", functions).await?;
            self.compared_tree(&tree).await
        } else {
            self.compared_tree(&tree).await?;
            self.tables("functions", functions).await
        }
    }

    async fn compared_tree(&mut self, of: &Ask) -> Result<(), ApiError> {
        let mut next: VecDeque<String> = ways_to(self.view.text("inway")).into();
        let mut known: HashSet<String> = next.iter().cloned().collect();
        let mut read = 0;
        while let Some(way) = next.pop_front() {
            if read == WAYS || (read > 0 && self.asker.is_late()) {
                self.leaves_out("Not all compared calls unfold in it.".to_owned());
                break;
            }
            read += 1;
            let mut inner = Vec::new();
            for (number, ask) in self.both_sides(&of.clone().with("way", &way)).into_iter().enumerate() {
                let Some(table) = self.two_sides("calls", &ask).await? else { continue };
                if table.is_cut() {
                    self.leaves_out(format!(
                        "Of some compared calls it has the {} that changed most.",
                        grouped(MAX_AGAINST_TOLD.into())
                    ));
                }
                if number == 0 {
                    inner = table.lines;
                }
            }
            let within = inner.iter().filter(|line| line.has_inner).filter_map(|line| within(&way, line.key.first()?));
            next.extend(within.filter(|way| known.insert(way.clone())));
        }
        Ok(())
    }

    /// `heat_panel.js`: both heat maps, with the same rows.
    pub(super) async fn compared_heat(&mut self, of: &Ask) -> Result<(), ApiError> {
        if !self.view.is_compared() {
            return Ok(());
        }
        let ask = of.clone().below("/compare").with_other_side(self.view);
        match self.asker.ask_sides::<IgnoredAny>(&ask).await? {
            Ok(_) => {}
            Err(why) => self.not_compared("heat maps", why),
        }
        Ok(())
    }

    /// `compare_view.js`: whole, drawn by either side, either way up. The page zooms and searches them.
    pub(super) async fn compared_stacks(&mut self) -> Result<(), ApiError> {
        if !self.view.is_compared() || !self.facts.compares_stacks() {
            return Ok(());
        }
        let before = self.asker.answers.bytes();
        for (number, ask) in self.both_stacks().into_iter().enumerate() {
            if number > 0 && self.has_no_room_to_compare(before) {
                break;
            }
            if let Err(why) = self.asker.ask_sides::<IgnoredAny>(&ask).await? {
                self.not_compared("stacks", why);
            }
        }
        Ok(())
    }

    /// Questions about stacks of both sides, what is shown first.
    fn both_stacks(&self) -> Vec<Ask> {
        let view = self.view;
        let ask = self.of_rows("/flame/compare").with_parts(view, &["unit", "transforms"]);
        let ask = ask.with("width", windows::MOST_WIDTH).with("by", self.by()).with_other_side(view);
        let is_median = view.compared_with().is_some_and(|others| others.len() > 1);
        let (turned, inverted) = (view.is_on("swapped"), view.is_on("invert"));
        let turns = if is_median { vec![turned] } else { vec![turned, !turned] };
        let mut asks = Vec::new();
        for invert in [inverted, !inverted] {
            for per in chosen_first(&["total", "time", "none"], view.text("per")) {
                let ask = ask.clone().with("invert", u8::from(invert)).with("normalised", per);
                asks.extend(turns.iter().map(|turned| ask.clone().with("turned", u8::from(*turned))));
            }
        }
        asks
    }

    /// Tables, each compared in all ways. What is shown comes first, and is read even if it is late.
    async fn tables(&mut self, what: &str, of: Vec<Ask>) -> Result<(), ApiError> {
        if !self.view.is_compared() {
            return Ok(());
        }
        let asks: Vec<Ask> = of.iter().flat_map(|ask| self.both_sides(ask)).collect();
        for (number, ask) in asks.into_iter().enumerate() {
            if number > 0 && self.is_late_to_compare() {
                break;
            }
            let Some(table) = self.two_sides(what, &ask).await? else { continue };
            if table.is_cut() {
                let (all, told) = (grouped(table.compared), grouped(table.lines.len() as u64));
                self.leaves_out(format!("Of {all} lines of compared {what} it has the {told} that changed most."));
            }
        }
        Ok(())
    }

    /// A question about two sides, in each way in which amounts are compared.
    fn both_sides(&self, of: &Ask) -> Vec<Ask> {
        let ask = of.clone().with_other_side(self.view).with("lines", MAX_AGAINST_TOLD);
        chosen_first(&PER, self.view.text("per")).into_iter().map(|per| ask.clone().with("normalised", per)).collect()
    }

    async fn two_sides(&mut self, what: &str, ask: &Ask) -> Result<Option<TwoSides>, ApiError> {
        match self.asker.ask_sides(ask).await? {
            Ok(table) => Ok(table),
            Err(why) => {
                self.not_compared(what, why);
                Ok(None)
            }
        }
    }

    fn is_late_to_compare(&mut self) -> bool {
        let is_late = self.asker.is_late();
        if is_late {
            self.leaves_out(NOT_ALL.to_owned());
        }
        is_late
    }

    /// Whether there is no time, or pictures have grown by as much as those of a timeline may.
    fn has_no_room_to_compare(&mut self, before: usize) -> bool {
        let is_full = self.asker.answers.bytes() - before > self.most_window_bytes;
        if is_full {
            self.leaves_out(NOT_ALL.to_owned());
        }
        is_full || self.is_late_to_compare()
    }

    /// Says why something is not compared; at its place the page says the same.
    fn not_compared(&mut self, what: &str, why: Option<ApiError>) {
        let why = why.map(|refusal| refusal.why).filter(|why| why.is_ascii());
        let why = why.unwrap_or_else(|| "they have no other side".to_owned());
        self.leaves_out(format!("Its {what} are not compared: {why}."));
    }
}

/// All, the chosen one first.
fn chosen_first(all: &[&'static str], chosen: &str) -> Vec<&'static str> {
    let (mut first, others): (Vec<&'static str>, Vec<&'static str>) = all.iter().partition(|one| **one == chosen);
    first.extend(others);
    first
}

/// The ways that lead to one, which is a list of names, itself first, and the outermost calls last, as the page asks for them.
fn ways_to(list: &str) -> Vec<String> {
    let mut ways = vec![",".to_owned()];
    let mut is_escaped = false;
    for (at, letter) in list.char_indices() {
        if letter == ',' && !is_escaped {
            ways.push(list[..at].to_owned());
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    if !list.is_empty() {
        ways.push(list.to_owned());
    }
    ways.reverse();
    ways
}

/// The way to the calls within a line.
fn within(way: &str, name: &serde_json::Value) -> Option<String> {
    let name = name.as_str()?.replace('\\', "\\\\").replace(',', "\\,");
    Some(if way == "," { name } else { format!("{way},{name}") })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_chosen_is_asked_for_first() {
        assert_eq!(chosen_first(&PER, "total"), ["total", "time", "none"]);
        assert_eq!(chosen_first(&PER, ""), PER);
    }

    #[test]
    fn ways_are_lists_of_names() {
        assert_eq!(ways_to(""), [","]);
        assert_eq!(ways_to("a,b\\,c,d"), ["a,b\\,c,d", "a,b\\,c", "a", ","]);
        assert_eq!(within(",", &json!("a,b")), Some("a\\,b".to_owned()));
        assert_eq!(within("a\\,b", &json!("c\\")), Some("a\\,b,c\\\\".to_owned()));
        assert_eq!(within("a", &json!(null)), None);
    }
}
