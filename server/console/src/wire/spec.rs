//! A capture's spec on the wire: as it is stored, but with predicates as text.

use bathyscope_capture::{
    CaptureSpec, CountSpec, EventProbe, Limits, Method, Predicate, PredicateError, ProfileSpec, ScriptSpec, SpecError,
    SyscallSpec, Target, TraceSpec, TracepointName,
};
use bathyscope_catalog::perf_events::{PerfEventError, parse_event};
use serde::{Deserialize, Serialize};

/// A spec as the browser writes and reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireSpec {
    #[serde(default)]
    name: String,
    method: WireMethod,
    target: Target,
    #[serde(default)]
    limits: Limits,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum WireMethod {
    Events { probes: Vec<WireProbe> },
    Profile(ProfileSpec),
    Count(CountSpec),
    Script(WireScript),
    Trace(TraceSpec),
    Syscalls(SyscallSpec),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireScript {
    text: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    file: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    params: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    allow_unsafe: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireProbe {
    tracepoint: TracepointName,
    #[serde(default)]
    fields: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    predicate: Option<String>,
}

/// A spec that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireSpecError {
    /// A predicate cannot be read.
    #[error("the predicate of {tracepoint} cannot be read")]
    Predicate {
        /// The probe it belongs to.
        tracepoint: TracepointName,
        /// Why.
        source: PredicateError,
    },
    /// An event cannot be read.
    #[error("an event cannot be counted or sampled")]
    Event(#[source] PerfEventError),
    /// Something else about it.
    #[error(transparent)]
    Spec(#[from] SpecError),
}

impl TryFrom<WireSpec> for CaptureSpec {
    type Error = WireSpecError;

    fn try_from(wire: WireSpec) -> Result<Self, WireSpecError> {
        let WireSpec { name, method, target, limits } = wire;
        let method = match method {
            WireMethod::Events { probes } => {
                Method::Events { probes: probes.into_iter().map(probe).collect::<Result<_, _>>()? }
            }
            // Events are stored as they are written; what is none is told before the agent is asked.
            WireMethod::Profile(profile) => {
                let more = profile.more.iter().map(|more| more.event.as_str());
                for event in profile.event.as_deref().into_iter().chain(more) {
                    parse_event(event).map_err(WireSpecError::Event)?;
                }
                Method::Profile(profile)
            }
            WireMethod::Count(count) => {
                let events = count.groups.iter().flatten();
                events.map(|event| parse_event(event)).collect::<Result<Vec<_>, _>>().map_err(WireSpecError::Event)?;
                Method::Count(count)
            }
            WireMethod::Script(WireScript { text, file, params, allow_unsafe }) => {
                Method::Script(ScriptSpec { text, file, params, allow_unsafe })
            }
            WireMethod::Trace(trace) => Method::Trace(trace),
            WireMethod::Syscalls(calls) => Method::Syscalls(calls),
        };
        let spec = Self { name, method, target, limits };
        spec.validate()?;
        Ok(spec)
    }
}

fn probe(wire: WireProbe) -> Result<EventProbe, WireSpecError> {
    let WireProbe { tracepoint, fields, predicate } = wire;
    let parse = |text: &str| {
        let tracepoint = tracepoint.clone();
        Predicate::parse(text).map_err(|source| WireSpecError::Predicate { tracepoint, source })
    };
    let predicate = predicate.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(parse).transpose()?;
    Ok(EventProbe { tracepoint, fields, predicate })
}

impl From<&CaptureSpec> for WireSpec {
    fn from(spec: &CaptureSpec) -> Self {
        let method = match &spec.method {
            Method::Events { probes } => WireMethod::Events {
                probes: probes
                    .iter()
                    .map(|probe| WireProbe {
                        tracepoint: probe.tracepoint.clone(),
                        fields: probe.fields.clone(),
                        predicate: probe.predicate.as_ref().map(ToString::to_string),
                    })
                    .collect(),
            },
            Method::Profile(profile) => WireMethod::Profile(profile.clone()),
            Method::Count(count) => WireMethod::Count(count.clone()),
            Method::Script(ScriptSpec { text, file, params, allow_unsafe }) => WireMethod::Script(WireScript {
                text: text.clone(),
                file: file.clone(),
                params: params.clone(),
                allow_unsafe: *allow_unsafe,
            }),
            Method::Trace(trace) => WireMethod::Trace(trace.clone()),
            Method::Syscalls(calls) => WireMethod::Syscalls(calls.clone()),
        };
        Self { name: spec.name.clone(), method, target: spec.target.clone(), limits: spec.limits.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_comes_back_as_it_went() {
        let json = r#"{"name":"x","method":{"events":{"probes":[{"tracepoint":"sched:sched_switch",
            "fields":["prev_comm"],"predicate":"pid == 1 && comm ~ \"a*\""}]}},"target":"system"}"#;
        let wire: WireSpec = serde_json::from_str(json).unwrap();
        let spec = CaptureSpec::try_from(wire).unwrap();
        let again = WireSpec::from(&spec);
        assert_eq!(CaptureSpec::try_from(again).unwrap(), spec);
    }

    #[test]
    fn profiles_and_counts_come_back_with_what_was_left_out() {
        let cases = [
            r#"{"method":{"profile":{"frequency_hz":99,"kernel_stacks":true,"user_stacks":true}},"target":"system"}"#,
            r#"{"method":{"profile":{"kernel_stacks":true,"user_stacks":true,"event":"page-faults:u","period":1,
                "call_graph":"dwarf","stack_bytes":4096}},"target":{"process":{"pid":7,"children":true}}}"#,
            r#"{"method":{"count":{}},"target":"system"}"#,
            r#"{"method":{"count":{"groups":[["cycles","instructions"],["cs"]],"interval_ms":100,"per":"cpu",
                "cpus":[0,1],"everywhere":true,"detail":3}},"target":{"process":{"pid":7,"children":true}}}"#,
        ];
        for json in cases {
            let spec = CaptureSpec::try_from(serde_json::from_str::<WireSpec>(json).unwrap()).unwrap();
            assert_eq!(CaptureSpec::try_from(WireSpec::from(&spec)).unwrap(), spec, "{json}");
        }
    }

    #[test]
    fn what_cannot_be_run_is_refused_with_the_reason() {
        let cases = [
            (r#"{"method":{"events":{"probes":[]}},"target":"system"}"#, "number of probes"),
            (
                r#"{"method":{"events":{"probes":[{"tracepoint":"a:b","predicate":"pid =="}]}},"target":"system"}"#,
                "character",
            ),
            (r#"{"method":{"count":{"groups":[["cylces"]]}},"target":"system"}"#, "did you mean `cycles`?"),
            (r#"{"method":{"count":{"per":"thread"}},"target":"system"}"#, "needs a process or command"),
            (
                r#"{"method":{"profile":{"kernel_stacks":true,"user_stacks":true,"period":5}},"target":"system"}"#,
                "needs the event",
            ),
        ];
        for (json, expected) in cases {
            let wire: WireSpec = serde_json::from_str(json).unwrap();
            let error = CaptureSpec::try_from(wire).unwrap_err();
            let words = crate::recorder::words(&error);
            assert!(words.contains(expected), "{words}");
        }
        for json in [
            r#"{"method":{"events":{"probes":[{"tracepoint":"../x","fields":[]}]}},"target":"system"}"#,
            r#"{"method":{"profile":{"frequency_hz":99,"kernel_stacks":true,"user_stacks":true}}}"#,
            r#"{"method":{"events":{"probes":[]}},"target":"system","shell":"rm"}"#,
        ] {
            assert!(serde_json::from_str::<WireSpec>(json).is_err(), "{json}");
        }
    }
}
