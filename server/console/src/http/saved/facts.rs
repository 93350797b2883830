//! What a page knows of a capture before it asks for anything else: its length and its streams. From these follow the tabs that it has
//! (`web/static/js/page/views.js`, `capture_context.js`), and which of them a link without one shows (`view/first_view.js`).

use bathyscope_capture::CaptureSpec;
use bathyscope_store::CaptureState;
use serde::Deserialize;

/// The columns that every stream begins with; a map has the number of its snapshot after them.
pub(super) const COMMON_COLUMNS: usize = 5;
/// The tabs that a file can have, in their order. SQL is asked of the console.
pub(super) const TABS: [&str; 11] = [
    "calls",
    "systemcalls",
    "counts",
    "maps",
    "output",
    "events",
    "timeline",
    "flame",
    "processes",
    "distribution",
    "info",
];

/// The facts, of what `GET /api/captures/{id}` answers.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Facts {
    pub(super) title: String,
    start_ns: i64,
    end_ns: i64,
    running: bool,
    state: CaptureState,
    pub(super) streams: Vec<StreamFacts>,
    spec: CaptureSpec,
}

/// A stream.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct StreamFacts {
    pub(super) index: usize,
    pub(super) name: String,
    kind: String,
    pub(super) row: String,
    source: String,
    rule: String,
    pub(super) rows: u64,
    pub(super) columns: Vec<ColumnFacts>,
}

/// A column.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ColumnFacts {
    pub(super) name: String,
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    display: String,
}

impl ColumnFacts {
    /// Whether it has numbers.
    pub(super) fn is_number(&self) -> bool {
        self.kind == "u64" || self.kind == "i64"
    }

    /// Whether its numbers are lengths of time.
    pub(super) fn is_duration(&self) -> bool {
        self.display == "duration_ns"
    }
}

impl StreamFacts {
    /// Whether it holds what a map was when it was read.
    pub(super) fn is_map(&self) -> bool {
        self.kind == "map" || self.name.starts_with('@')
    }

    /// Whether it is what a script only says: headings of its tables.
    pub(super) fn is_heading(&self) -> bool {
        self.name.starts_with("heading:")
    }

    /// Whether its rows were recorded, and not computed from others.
    pub(super) fn is_recorded(&self) -> bool {
        self.rule.is_empty() && !self.columns.is_empty()
    }

    /// Whether it has a column of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name == name)
    }

    /// The column that rows are grouped by first: who (`firstKeys` of `view/table/pivot_model.js`).
    pub(super) fn first_key(&self) -> Option<&str> {
        let named = self.columns.iter().find(|column| column.name == "comm");
        named.or_else(|| self.columns.get(1)).or_else(|| self.columns.first()).map(|column| column.name.as_str())
    }

    /// Whether its rows have stacks.
    pub(super) fn has_stack(&self) -> bool {
        self.columns.iter().any(|column| column.kind == "stack")
    }
}

impl Facts {
    /// Whether it still grows: here, or in another process, where a terminal reads beside a console.
    pub(super) fn grows(&self) -> bool {
        self.running || self.state == CaptureState::Recording
    }

    /// Nanoseconds from its start to its end.
    pub(super) fn duration(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns).max(1)
    }

    /// The streams that were recorded.
    pub(super) fn recorded(&self) -> impl Iterator<Item = &StreamFacts> {
        self.streams.iter().filter(|stream| stream.is_recorded())
    }

    fn has_counts(&self) -> bool {
        self.streams.iter().any(|stream| stream.row == "counter")
    }

    /// Whether it has nothing but counts of events.
    pub(super) fn is_counts(&self) -> bool {
        self.has_counts() && self.recorded().all(|stream| stream.row == "counter")
    }

    /// Whether a script made it.
    pub(super) fn is_script(&self) -> bool {
        self.spec.sources.iter().any(|source| source.method.script().is_some())
    }

    /// Whether it has calls of functions.
    pub(super) fn has_calls(&self) -> bool {
        self.streams.iter().any(|stream| stream.name == "function_graph" && stream.kind == "events")
    }

    /// Whether it has maps of a script.
    pub(super) fn has_maps(&self) -> bool {
        self.streams.iter().any(StreamFacts::is_map)
    }

    /// Whether stacks are those of a script's maps: nothing else has any.
    pub(super) fn folds_maps(&self) -> bool {
        self.is_script() && !self.streams.iter().any(|stream| !stream.is_map() && stream.has_stack())
    }

    /// Whether it has stacks that are compared: those of maps are not.
    pub(super) fn compares_stacks(&self) -> bool {
        !self.folds_maps() && self.streams.iter().any(|stream| stream.kind == "samples" || stream.has_stack())
    }

    /// Whether it can have tracks of states or slices.
    pub(super) fn has_tracks(&self) -> bool {
        self.streams.iter().any(|stream| matches!(stream.row.as_str(), "state" | "slice") && stream.rows > 0)
    }

    /// The numbers of the streams of what scripts have printed.
    pub(super) fn outputs(&self) -> Vec<usize> {
        let scripts = self.spec.sources.iter().filter(|source| source.method.script().is_some());
        let scripts: Vec<&str> = scripts.map(|source| source.id.as_str()).collect();
        let is_of = |source: &str| scripts.contains(&source) || (source.is_empty() && self.is_script());
        let is_output = |stream: &&StreamFacts| {
            stream.row == "instant" && stream.rule.is_empty() && stream.rows > 0 && is_of(&stream.source)
        };
        self.streams.iter().filter(is_output).map(|stream| stream.index).collect()
    }

    /// The stream that the table shows.
    pub(super) fn stream(&self, chosen: Option<i64>) -> Option<&StreamFacts> {
        let chosen = chosen.and_then(|index| self.streams.get(usize::try_from(index).ok()?));
        let rows = || self.streams.iter().find(|stream| !stream.is_heading() && !stream.is_map());
        let others = || self.streams.iter().find(|stream| !stream.is_heading());
        chosen.or_else(rows).or_else(others).or_else(|| self.streams.first())
    }

    /// Whether it has a tab.
    fn has_tab(&self, tab: &str) -> bool {
        const CALL: [&str; 4] = ["call", "args", "result", "duration_ns"];
        match tab {
            "calls" => self.has_calls(),
            "systemcalls" => self.streams.iter().any(|stream| CALL.iter().all(|name| stream.has(name))),
            "counts" => self.has_counts(),
            "maps" => self.has_maps(),
            "output" => self.is_script(),
            "flame" | "processes" => !self.is_counts(),
            "distribution" => self.streams.iter().any(|stream| !stream.columns.is_empty()),
            _ => true,
        }
    }

    /// The tabs that it has, of those that a file can have.
    pub(super) fn tabs(&self) -> Vec<&'static str> {
        TABS.into_iter().filter(|tab| self.has_tab(tab)).collect()
    }

    /// The tabs of which a link that names none shows one. Which one it is of a script's, its text says; all of them are small.
    pub(super) fn first_tabs(&self) -> Vec<&'static str> {
        let first = self.spec.sources.first().map(|source| &source.method);
        let wanted: &[&'static str] = if first.is_some_and(|first| first.counts().is_some()) {
            &["counts"]
        } else if first.is_some_and(|first| first.profile().is_some()) {
            &["flame"]
        } else if first.is_some_and(|first| first.script().is_some()) {
            &["maps", "output", "flame", "events", "timeline"]
        } else if self.has_calls() {
            &["calls"]
        } else {
            &["events"]
        };
        wanted.iter().copied().filter(|tab| self.has_tab(tab)).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::{Value, json};

    use super::*;

    fn stream(index: usize, name: &str, row: &str, columns: &[(&str, &str)]) -> Value {
        let columns: Vec<Value> = columns.iter().map(|(name, kind)| json!({"name": name, "type": kind})).collect();
        json!({"index": index, "name": name, "kind": "events", "row": row, "source": "s", "rule": "", "rows": 3, "columns": columns})
    }

    fn facts(method: &Value, streams: &[Value]) -> Facts {
        let spec = json!({"sources": [{"id": "s", "method": method}], "target": "system"});
        serde_json::from_value(
            json!({"title": "t", "start_ns": 5, "end_ns": 25, "running": false, "state": "finished", "streams": streams, "spec": spec}),
        )
        .unwrap()
    }

    #[test]
    fn a_capture_has_the_tabs_that_its_streams_fill() {
        let rows = stream(0, "sched:sched_switch", "instant", &[("time", "u64"), ("comm", "text")]);
        let calls = stream(
            0,
            "syscalls",
            "slice",
            &[("call", "u64"), ("args", "text"), ("result", "i64"), ("duration_ns", "u64")],
        );
        let counts = stream(0, "counts", "counter", &[("value", "u64")]);
        let map = stream(0, "@x", "instant", &[("key", "u64")]);
        let all = ["events", "timeline", "flame", "processes", "distribution", "info"];
        for (method, streams, more, first) in [
            (
                json!({"events": {"probes": [{"tracepoint": "sched:sched_switch", "fields": []}]}}),
                vec![rows.clone()],
                vec![],
                vec!["events"],
            ),
            (json!({"syscalls": {}}), vec![calls], vec!["systemcalls"], vec!["events"]),
            (
                json!({"profile": {"frequency_hz": 99, "kernel_stacks": true, "user_stacks": true}}),
                vec![rows.clone()],
                vec![],
                vec!["flame"],
            ),
            (
                json!({"script": {"text": "x"}}),
                vec![map, rows],
                vec!["maps", "output"],
                vec!["maps", "output", "flame", "events", "timeline"],
            ),
        ] {
            let facts = facts(&method, &streams);
            assert_eq!(facts.tabs(), [more, all.to_vec()].concat(), "{method}");
            assert_eq!(facts.first_tabs(), first, "{method}");
        }
        let facts = facts(&json!({"count": {"groups": [["cs"]], "interval_ms": 100}}), &[counts]);
        assert_eq!(facts.tabs(), ["counts", "events", "timeline", "distribution", "info"]);
        assert_eq!((facts.first_tabs(), facts.duration()), (vec!["counts"], 20));
    }

    #[test]
    fn the_table_shows_rows_before_headings_and_maps() {
        let named = |name| stream(0, name, "instant", &[("time", "u64")]);
        let facts = facts(&json!({"script": {"text": "x"}}), &[named("heading:x"), named("@x"), named("printf")]);
        assert_eq!(facts.stream(None).unwrap().name, "printf");
        assert_eq!(facts.stream(Some(1)).unwrap().name, "@x");
        assert_eq!(facts.stream(Some(9)).unwrap().name, "printf");
    }
}
