//! The view in the address of a capture's page, as far as what it asks the console for follows from it. Pages write it
//! (`web/static/js/page/url_state.js`); what they would not have written is taken as it is, and then the file lacks an answer.

use std::collections::BTreeMap;

use bathyscope_capture::CaptureId;
use openidconnect::url::form_urlencoded;

/// The version of views that pages write.
const VERSION: u32 = 3;
/// Parts that ask the console again and again, and what they are called. A file opens without them.
const NEED_CONSOLE: [(&str, &str); 6] = [
    ("find", "rows found by a text in the timeline"),
    ("hit", "a found row"),
    ("facets", "values of columns beside the rows"),
    ("tracks", "tracks of SQL"),
    ("path", "a critical path"),
    ("over", "a range over some of the tracks"),
];
/// Parts that are of a comparison (`NO_COMPARISON` of `against_model.js`).
const OF_COMPARISON: [&str; 8] =
    ["against", "againststart", "againstend", "againstfilter", "againstsame", "swapped", "versus", "inway"];

/// A view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KeptView {
    parts: BTreeMap<String, String>,
}

impl KeptView {
    /// The view in a query, with or without `?`. What an older release meant by it is said as this one says it.
    pub(super) fn read(query: &str) -> Self {
        let query = query.strip_prefix('?').unwrap_or(query);
        let mut parts: BTreeMap<String, String> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let version = parts.remove("v").and_then(|version| version.parse().ok()).unwrap_or(VERSION);
        let mut older = |name: &str, value: &str| {
            parts.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        };
        if version < 2 {
            older("stream", "0");
        }
        if version < 3 {
            older("group", "cpu");
        }
        if version < 2 && parts.get("tab").is_some_and(|tab| tab == "maps") {
            parts.entry("map".to_owned()).or_insert_with(|| "0".to_owned());
        }
        let mut view = Self { parts };
        for (from, to) in [("start", "end"), ("from", "to")] {
            if view.pair(from, to).is_none() {
                view.parts.remove(from);
                view.parts.remove(to);
            }
        }
        view
    }

    /// Takes out what a file cannot have; gives what that is, in words.
    pub(super) fn leave_out(&mut self) -> Vec<&'static str> {
        NEED_CONSOLE
            .into_iter()
            .filter(|(name, _)| self.parts.remove(*name).is_some_and(|it| !it.is_empty()))
            .map(|(_, words)| words)
            .collect()
    }

    /// Whether it is compared with something else.
    pub(super) fn is_compared(&self) -> bool {
        !self.text("against").is_empty()
    }

    /// The captures that it is compared with: none where it is itself; nothing where the address says what is no capture.
    pub(super) fn compared_with(&self) -> Option<Vec<CaptureId>> {
        match self.text("against") {
            "" | "self" => Some(Vec::new()),
            ids => ids.split(',').map(|id| id.parse().ok()).collect(),
        }
    }

    /// Takes the comparison out.
    pub(super) fn end_comparison(&mut self) {
        self.parts.retain(|name, _| !OF_COMPARISON.contains(&name.as_str()));
    }

    /// The query of its address.
    pub(super) fn query(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(format!("v={VERSION}"));
        query.extend_pairs(&self.parts);
        query.finish()
    }

    /// A part as it is written; empty where it is not said.
    pub(super) fn text(&self, name: &str) -> &str {
        self.parts.get(name).map_or("", String::as_str)
    }

    /// A part that is chosen from some; the usual one where it is not said, or is none of them.
    pub(super) fn one_of(&self, name: &str, values: &[&'static str]) -> &'static str {
        let said = self.text(name);
        values.iter().find(|value| **value == said).or(values.first()).copied().unwrap_or_default()
    }

    /// A part that is a number.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.text(name).parse().ok()
    }

    /// Whether a part is switched on.
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.text(name) == "1"
    }

    fn pair(&self, from: &str, to: &str) -> Option<(i64, i64)> {
        self.number(from).zip(self.number(to)).filter(|(from, to)| *from >= 0 && from < to)
    }

    /// The range that is selected, nanoseconds from the capture's start.
    pub(super) fn range(&self) -> Option<(i64, i64)> {
        self.pair("start", "end")
    }

    /// What of a capture of this length is in sight on its timeline, likewise.
    pub(super) fn sight(&self, duration: i64) -> (i64, i64) {
        self.pair("from", "to").unwrap_or((0, duration))
    }

    /// Sets a part.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.parts.insert(name.to_owned(), value.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_read_as_pages_read_it() {
        let view = KeptView::read("?v=3&tab=flame&start=5&end=9&filter=pid+%3D%3D+4&invert=1&from=9&to=2");
        assert_eq!((view.text("tab"), view.text("filter"), view.range()), ("flame", "pid == 4", Some((5, 9))));
        assert!(view.is_on("invert") && !view.is_on("turn"));
        assert_eq!((view.text("from"), view.sight(100)), ("", (0, 100)), "it ends before it begins");
        assert_eq!(view.query(), "v=3&end=9&filter=pid+%3D%3D+4&invert=1&start=5&tab=flame");
        assert_eq!(KeptView::read(&view.query()), view);
        assert_eq!(view.one_of("by", &["process", "cpu"]), "process");
        assert_eq!(KeptView::read("by=cpu").one_of("by", &["process", "cpu"]), "cpu");
    }

    #[test]
    fn what_older_releases_meant_stays() {
        for (query, stream, group, map) in
            [("v=1&tab=maps", "0", "cpu", "0"), ("v=2", "", "cpu", ""), ("v=3", "", "", ""), ("", "", "", "")]
        {
            let view = KeptView::read(query);
            assert_eq!((view.text("stream"), view.text("group"), view.text("map")), (stream, group, map), "{query}");
        }
    }

    #[test]
    fn what_a_file_cannot_have_is_left_out_and_named() {
        let mut view = KeptView::read("find=abc&tracks=&path=tid:4&tab=timeline");
        assert_eq!(view.leave_out(), ["rows found by a text in the timeline", "a critical path"]);
        assert_eq!(view.query(), "v=3&tab=timeline");
    }

    #[test]
    fn a_comparison_stays_until_it_is_taken_out() {
        let mut view =
            KeptView::read("against=0123456789abcdef&againstfilter=x&versus=-1.ratio&per=total&tab=systemcalls");
        assert!(view.leave_out().is_empty() && view.is_compared());
        assert_eq!(view.compared_with().map(|ids| ids.len()), Some(1));
        view.end_comparison();
        assert_eq!((view.query().as_str(), view.is_compared()), ("v=3&per=total&tab=systemcalls", false));
        assert_eq!(KeptView::read("against=self").compared_with(), Some(vec![]));
        assert_eq!(KeptView::read("against=0123456789abcdef,me").compared_with(), None);
    }
}
