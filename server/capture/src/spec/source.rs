//! The sources of a capture: what is recorded side by side, on one clock, of one target.

use serde::{Deserialize, Serialize};

use super::{CaptureSpec, Limits, Method, MethodKind, ScriptSpec, SpecError, Target, in_range};

/// The most sources of one capture.
pub const MAX_SOURCES: usize = 16;
/// The longest id of a source.
const MAX_SOURCE_ID_BYTES: usize = 32;

/// One thing that a capture records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceSpec {
    /// Names it within the capture: 1 to 32 lower-case letters, digits, `-` and `_`.
    pub id: String,
    /// What it records.
    pub method: Method,
    /// Whether the capture does not begin without it. Else it may fail, which is told in the capture.
    #[serde(default = "is_required", skip_serializing_if = "Clone::clone")]
    pub required: bool,
}

/// Sources are required where nothing else is said.
fn is_required() -> bool {
    true
}

impl SourceSpec {
    /// A source that is called as its kind is, and required.
    pub fn of(method: Method) -> Self {
        Self { id: method.kind().name().to_owned(), method, required: true }
    }

    fn validate(&self, target: &Target) -> Result<(), SpecError> {
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
        if !(1..=MAX_SOURCE_ID_BYTES).contains(&self.id.len()) || !self.id.bytes().all(allowed) {
            return Err(SpecError::SourceId { id: self.id.chars().take(80).collect() });
        }
        self.method.validate(target)
    }
}

/// Checks what sources are, and what they are together.
pub(super) fn validate(sources: &[SourceSpec], target: &Target) -> Result<(), SpecError> {
    in_range("the number of sources", sources.len() as u64, 1, MAX_SOURCES as u64)?;
    for (index, source) in sources.iter().enumerate() {
        source.validate(target)?;
        if sources.iter().take(index).any(|before| before.id == source.id) {
            return Err(SpecError::RepeatedSource { id: source.id.clone() });
        }
        let kind = source.method.kind();
        let again = sources.iter().take(index).any(|before| before.method.kind() == kind);
        if again && kind.is_once_a_capture() {
            return Err(SpecError::SecondSource { kind: kind.name() });
        }
    }
    Ok(())
}

impl CaptureSpec {
    /// A capture with one source, which has no name of its own.
    pub fn of(method: Method, target: Target) -> Self {
        Self { name: String::new(), sources: vec![SourceSpec::of(method)], target, limits: Limits::default() }
    }

    /// What the sources record, in their order.
    pub fn methods(&self) -> impl Iterator<Item = &Method> {
        self.sources.iter().map(|source| &source.method)
    }

    /// The kinds of the sources, each once.
    pub fn kinds(&self) -> Vec<MethodKind> {
        let mut kinds = Vec::new();
        for kind in self.methods().map(Method::kind) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds
    }

    /// The names of these kinds, as lists show and find them.
    pub fn kind_names(&self) -> String {
        self.kinds().into_iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ")
    }

    /// The script of the capture, if it has one.
    pub fn script(&self) -> Option<&ScriptSpec> {
        self.methods().find_map(Method::script)
    }

    /// What the sources record, in words.
    pub(super) fn sources_title(&self) -> String {
        self.methods().map(Method::title).collect::<Vec<_>>().join(", ")
    }
}

/// A spec as it is read: with sources, or with the one method that captures had before they could have several sources. Those are
/// in databases, samples and files, and are read for ever.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadSpec {
    #[serde(default)]
    name: String,
    sources: Option<Vec<SourceSpec>>,
    method: Option<Method>,
    target: Target,
    #[serde(default)]
    limits: Limits,
}

impl TryFrom<ReadSpec> for CaptureSpec {
    type Error = &'static str;

    fn try_from(read: ReadSpec) -> Result<Self, Self::Error> {
        let ReadSpec { name, sources, method, target, limits } = read;
        let sources = match (sources, method) {
            (Some(sources), None) => sources,
            (None, Some(method)) => vec![SourceSpec::of(method)],
            (None, None) => return Err("missing field `sources`"),
            (Some(_), Some(_)) => return Err("`sources` and `method` exclude each other: `method` is the older form"),
        };
        Ok(Self { name, sources, target, limits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CountSpec, ProfileSpec};

    #[test]
    fn a_spec_of_before_there_were_sources_is_read_and_written_anew() {
        let old = r#"{"name":"x","method":{"count":{"groups":[["cs"]]}},"target":"system","limits":{"duration_ms":5}}"#;
        let spec: CaptureSpec = serde_json::from_str(old).unwrap();
        assert_eq!(spec.sources.len(), 1);
        assert_eq!((spec.sources[0].id.as_str(), spec.kinds()), ("count", vec![MethodKind::Count]));
        let new = serde_json::to_string(&spec).unwrap();
        assert!(new.contains(r#""sources":[{"id":"count","method":{"count""#), "{new}");
        assert_eq!(serde_json::from_str::<CaptureSpec>(&new).unwrap(), spec);
        for (wrong, why) in [
            (r#"{"target":"system"}"#, "missing field `sources`"),
            (r#"{"method":{"count":{}},"sources":[],"target":"system"}"#, "exclude each other"),
            (
                r#"{"sources":[{"id":"a","method":{"count":{}},"colour":1}],"target":"system"}"#,
                "unknown field `colour`",
            ),
        ] {
            let error = serde_json::from_str::<CaptureSpec>(wrong).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn sources_have_different_ids_of_plain_letters() {
        let source = |id: &str| SourceSpec { id: id.to_owned(), ..SourceSpec::of(Method::Count(CountSpec::default())) };
        let check = |ids: &[&str]| {
            let sources = ids.iter().copied().map(source).collect();
            let spec = CaptureSpec { sources, ..CaptureSpec::of(Method::Count(CountSpec::default()), Target::System) };
            spec.validate().map_err(|error| error.to_string())
        };
        assert_eq!(check(&["a", "b-2", "c_d"]), Ok(()));
        let refused = |ids: &[&str], words: &str| assert!(check(ids).unwrap_err().contains(words), "{ids:?}");
        refused(&[], "number of sources");
        refused(&["a", "b", "a"], "two sources are called `a`");
        for id in ["", "A", "a b", "ä", &"x".repeat(33)] {
            refused(&[id], "cannot be the id of a source");
        }
        let ids: Vec<String> = (0..17).map(|n| format!("s{n}")).collect();
        refused(&ids.iter().map(String::as_str).collect::<Vec<_>>(), "number of sources");
    }

    #[test]
    fn a_capture_has_one_script_and_one_trace_at_most() {
        let script = |id: &str| {
            let script = ScriptSpec { text: "begin { exit() }".to_owned(), ..ScriptSpec::default() };
            SourceSpec { id: id.to_owned(), ..SourceSpec::of(Method::Script(script)) }
        };
        let mut spec = CaptureSpec::of(Method::Count(CountSpec::default()), Target::System);
        spec.sources.push(script("a"));
        spec.validate().unwrap();
        spec.sources.push(script("b"));
        assert!(spec.validate().unwrap_err().to_string().contains("two sources are of the kind script"));
    }

    #[test]
    fn a_source_that_is_not_required_says_so() {
        let source: SourceSpec = serde_json::from_str(r#"{"id":"a","method":{"count":{}}}"#).unwrap();
        assert!(source.required && !serde_json::to_string(&source).unwrap().contains("required"));
        let optional = SourceSpec { required: false, ..source };
        let text = serde_json::to_string(&optional).unwrap();
        assert!(text.contains(r#""required":false"#), "{text}");
        assert_eq!(serde_json::from_str::<SourceSpec>(&text).unwrap(), optional);
    }

    #[test]
    fn a_title_tells_all_sources() {
        let mut spec = CaptureSpec::of(Method::Profile(ProfileSpec::default()), Target::System);
        let alone = spec.title();
        spec.sources.push(SourceSpec::of(Method::Count(CountSpec::default())));
        assert_eq!(spec.title(), format!("{alone}, {}", Method::Count(CountSpec::default()).title()));
        assert_eq!(spec.kind_names(), "profile, count");
    }
}
