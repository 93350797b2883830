//! Runs of one series: captures that ask the same of the same host, and what two specs say differently.
//!
//! Two captures are runs of one series if they record the same sources of the same target on a host of the same name. Not looked
//! at: the title, the name of a script's file, the order of sources, and all limits but what fires a flight recorder, since how long a
//! capture may last and what it may cost changes how much is seen, not what is asked. Processes and threads that a target names by
//! their ids are known by their names where these are known: a service that was started again has other ids.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::CaptureSpec;
use crate::{HostFacts, id::hex_bits};

/// The most lines of a longer text that are told.
const MAX_LINES: usize = 40;
/// Members that are ids of processes and threads.
const IDS: [&str; 4] = ["pid", "pids", "tid", "tids"];

/// Names a series: 64 bits of a digest of what its runs have in common, written as 16 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SeriesId(u64);

/// The text was not 16 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a series is named by 16 lower-case hexadecimal digits")]
pub struct ParseSeriesIdError;

impl SeriesId {
    /// The series of a spec that is, or was, recorded on a host.
    pub fn of(spec: &CaptureSpec, host: &HostFacts, simulated: bool) -> Self {
        let mut sources: Vec<Value> = spec.sources.iter().map(normalised).collect();
        sources.sort_by_key(Value::to_string);
        let mut target = json(&spec.target);
        if !host.target_name.is_empty() {
            name_ids(&mut target, &host.target_name);
        }
        let whole = Value::Array(vec![
            Value::Array(sources),
            target,
            json(&spec.limits.flight),
            Value::String(host.hostname.clone()),
            Value::Bool(simulated),
        ]);
        let digest = Sha256::digest(whole.to_string().as_bytes());
        Self(digest.iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
    }

    /// From bits, as a database keeps them.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The bits.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

impl fmt::Display for SeriesId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for SeriesId {
    type Err = ParseSeriesIdError;

    fn from_str(text: &str) -> Result<Self, ParseSeriesIdError> {
        hex_bits(text).map(Self).ok_or(ParseSeriesIdError)
    }
}

impl From<SeriesId> for String {
    fn from(id: SeriesId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for SeriesId {
    type Error = ParseSeriesIdError;

    fn try_from(text: String) -> Result<Self, ParseSeriesIdError> {
        text.parse()
    }
}

/// What a spec is can always be written as JSON: it is stored so.
fn json(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}

/// A source without what it is only called.
fn normalised(source: &super::SourceSpec) -> Value {
    let mut value = json(source);
    let scripts = value.get_mut("method").and_then(Value::as_object_mut);
    for script in scripts.into_iter().flat_map(serde_json::Map::values_mut).filter_map(Value::as_object_mut) {
        if script.contains_key("text") {
            script.remove("file");
        }
    }
    value
}

fn name_ids(value: &mut Value, name: &str) {
    let Value::Object(members) = value else { return };
    for (key, member) in members {
        if IDS.contains(&key.as_str()) {
            *member = Value::String(name.to_owned());
        } else {
            name_ids(member, name);
        }
    }
}

/// Something that two specs say, or one of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpecLine {
    /// Of what: the id of a source, `target` or `limits`.
    pub part: String,
    /// What, in words: `calls`, `frequency hz`.
    pub what: String,
    /// What the first says; none if it says nothing of it. Of a text of several lines, those that the second has not.
    pub a: Option<String>,
    /// What the second says, likewise.
    pub b: Option<String>,
    /// Whether both say the same.
    pub same: bool,
}

/// What two specs say, part by part: sources, the target, and limits. Sources are the same that have one id.
pub fn spec_lines(a: &CaptureSpec, b: &CaptureSpec) -> Vec<SpecLine> {
    let mut lines = Vec::new();
    let ids: Vec<&str> = a.sources.iter().chain(&b.sources).map(|source| source.id.as_str()).collect();
    let mut seen: Vec<&str> = Vec::new();
    for id in ids {
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        let of = |spec: &CaptureSpec| spec.sources.iter().find(|source| source.id == id).map(said).unwrap_or_default();
        lines.extend(pair(id, &of(a), &of(b)));
    }
    lines.extend(pair("target", &said(&a.target), &said(&b.target)));
    lines.extend(pair("limits", &said(&a.limits), &said(&b.limits)));
    lines
}

type Said = BTreeMap<String, String>;

/// Everything a part says, by what it says it of.
fn said(part: &impl Serialize) -> Said {
    let mut found = Said::new();
    let mut value = json(part);
    // It is the part's own name.
    if let Value::Object(members) = &mut value {
        members.remove("id");
    }
    flatten(&value, &mut Vec::new(), &mut found);
    found
}

/// Depth is that of a spec, which is bounded.
fn flatten(value: &Value, path: &mut Vec<String>, found: &mut Said) {
    let mut say = |text: String| {
        found.insert(path.join(": "), text);
    };
    match value {
        Value::Null => {}
        Value::Bool(yes) => say(if *yes { "yes" } else { "no" }.to_owned()),
        Value::Number(number) => say(number.to_string()),
        Value::String(text) => say(text.clone()),
        Value::Array(values) if values.iter().all(|value| !value.is_object() && !value.is_array()) => {
            let words = values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            say(words.collect::<Vec<_>>().join(", "));
        }
        Value::Array(values) => {
            for (number, value) in (1..).zip(values) {
                path.push(name_of(value).unwrap_or_else(|| format!("number {number}")));
                flatten(value, path, found);
                path.pop();
            }
        }
        Value::Object(members) if members.is_empty() => say("yes".to_owned()),
        Value::Object(members) => {
            for (key, value) in members {
                path.push(key.replace('_', " "));
                flatten(value, path, found);
                path.pop();
            }
        }
    }
}

/// By what an element of a list is known.
fn name_of(value: &Value) -> Option<String> {
    let name = ["tracepoint", "name", "event", "definition"].iter().find_map(|key| value.get(key)?.as_str());
    name.map(str::to_owned)
}

fn pair(part: &str, a: &Said, b: &Said) -> Vec<SpecLine> {
    let mut all: Vec<&String> = a.keys().chain(b.keys()).collect();
    all.sort();
    all.dedup();
    let line = |what: &String| {
        let (of_a, of_b) = (a.get(what), b.get(what));
        let same = of_a == of_b;
        let long = |text: Option<&String>| text.is_some_and(|text| text.contains('\n'));
        let (a, b) = match (of_a, of_b) {
            (Some(a), Some(b)) if !same && (long(of_a) || long(of_b)) => (Some(lacking(a, b)), Some(lacking(b, a))),
            (a, b) => (a.cloned(), b.cloned()),
        };
        SpecLine { part: part.to_owned(), what: what.clone(), a, b, same }
    };
    all.into_iter().map(line).collect()
}

/// The lines of a text that another has not, as often as it has them less.
fn lacking(text: &str, other: &str) -> String {
    let mut there: BTreeMap<&str, usize> = BTreeMap::new();
    other.lines().for_each(|line| *there.entry(line.trim_end()).or_default() += 1);
    let mut lines = Vec::new();
    for line in text.lines().map(str::trim_end) {
        match there.get_mut(line) {
            Some(count) if *count > 0 => *count -= 1,
            _ => lines.push(line),
        }
    }
    let left_out = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    let rest = if left_out > 0 { format!("\n… and {left_out} more lines") } else { String::new() };
    if lines.is_empty() {
        "the same lines in another order, or blank ones".to_owned()
    } else {
        lines.join("\n") + &rest
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::{Method, ProfileSpec, ScriptSpec, SourceSpec, Target};

    fn script(text: &str, file: &str) -> CaptureSpec {
        let script = ScriptSpec { text: text.to_owned(), file: file.to_owned(), ..ScriptSpec::default() };
        CaptureSpec::of(Method::Script(script), Target::System)
    }

    fn host(name: &str, target: &str) -> HostFacts {
        HostFacts { hostname: name.to_owned(), target_name: target.to_owned(), ..HostFacts::default() }
    }

    fn profile(hz: u32, target: Target) -> CaptureSpec {
        CaptureSpec::of(Method::Profile(ProfileSpec { frequency_hz: hz, ..ProfileSpec::default() }), target)
    }

    fn process(pid: u32) -> Target {
        Target::Process { pid, children: true }
    }

    #[test]
    fn what_is_asked_makes_the_series_and_nothing_else() {
        let id = |spec: &CaptureSpec, facts: &HostFacts| SeriesId::of(spec, facts, false);
        let plain = script("begin { }", "a.bt");
        let here = host("here", "");
        let mut longer = script("begin { }", "b.bt");
        longer.name = "another title".to_owned();
        longer.limits.duration_ms = Some(99);
        longer.limits.budget_cpu_permille = 7;
        assert_eq!(id(&plain, &here), id(&longer, &here));
        assert_ne!(id(&plain, &here), id(&script("begin {  }", "a.bt"), &here));
        assert_ne!(id(&plain, &here), id(&plain, &host("there", "")));
        assert_ne!(id(&plain, &here), SeriesId::of(&plain, &here, true));
        assert_ne!(id(&profile(99, Target::System), &here), id(&profile(199, Target::System), &here));
        // By the names of processes where they are known.
        let named = host("here", "nginx");
        assert_eq!(id(&profile(99, process(1)), &named), id(&profile(99, process(2)), &named));
        assert_ne!(id(&profile(99, process(1)), &named), id(&profile(99, process(1)), &host("here", "redis")));
        assert_ne!(id(&profile(99, process(1)), &here), id(&profile(99, process(2)), &here));
        // The order of sources says nothing.
        let two = |turned: bool| {
            let mut spec = profile(99, Target::System);
            spec.sources.push(SourceSpec { id: "other".to_owned(), ..script("begin { }", "").sources.remove(0) });
            if turned {
                spec.sources.reverse();
            }
            spec
        };
        assert_eq!(id(&two(false), &here), id(&two(true), &here));
        let text = id(&plain, &here).to_string();
        assert_eq!(text.parse(), Ok(id(&plain, &here)));
        assert!("00".parse::<SeriesId>().is_err());
    }

    #[test]
    fn differences_are_told_in_words() {
        let differing = |a: &CaptureSpec, b: &CaptureSpec| -> Vec<(String, String, Option<String>, Option<String>)> {
            let lines = spec_lines(a, b).into_iter().filter(|line| !line.same);
            lines.map(|line| (line.part, line.what, line.a, line.b)).collect()
        };
        let told = differing(&profile(99, Target::System), &profile(199, process(7)));
        assert!(
            told.iter().any(|(part, what, a, b)| part != "target"
                && what.ends_with("frequency hz")
                && (a.as_deref(), b.as_deref()) == (Some("99"), Some("199"))),
            "{told:?}"
        );
        assert!(
            told.iter().any(|(part, what, a, b)| part == "target"
                && what == "process: pid"
                && (a.as_deref(), b.as_deref()) == (None, Some("7"))),
            "{told:?}"
        );
        let (a, b) = (script("one\ntwo\n<b>", "x"), script("one\nthree\n<b>", "x"));
        let told = differing(&a, &b);
        let texts: Vec<_> = told.iter().map(|(_, what, a, b)| (what.as_str(), a.as_deref(), b.as_deref())).collect();
        assert_eq!(texts, [("method: script: text", Some("two"), Some("three"))]);
        assert!(spec_lines(&a, &a).iter().all(|line| line.same));
    }
}
