//! What of a spec can only be said with the host's grammars.

use bathyscope_capture::{CaptureSpec, Method, SpecError};
use bathyscope_catalog::perf_events::{PerfEventError, parse_event};

/// A spec that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecRefusal {
    /// An event cannot be read.
    #[error("an event cannot be counted or sampled")]
    Event(#[source] PerfEventError),
    /// Something else about it.
    #[error(transparent)]
    Spec(#[from] SpecError),
}

/// Checks what can be checked without asking the agent. Events are stored as they are written; what is none is told here.
///
/// # Errors
/// The first thing that is wrong.
pub fn check_spec(spec: &CaptureSpec) -> Result<(), SpecRefusal> {
    for event in spec.methods().flat_map(Method::perf_events) {
        parse_event(event).map_err(SpecRefusal::Event)?;
    }
    Ok(spec.validate()?)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let spec: CaptureSpec = serde_json::from_str(json).unwrap();
            check_spec(&spec).unwrap();
            let again = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<CaptureSpec>(&again).unwrap(), spec, "{json}");
        }
    }

    #[test]
    fn what_cannot_be_run_is_refused_with_the_reason() {
        let cases = [
            (r#"{"method":{"events":{"probes":[]}},"target":"system"}"#, "number of probes"),
            (r#"{"method":{"count":{"groups":[["cylces"]]}},"target":"system"}"#, "did you mean `cycles`?"),
            (r#"{"method":{"count":{"per":"thread"}},"target":"system"}"#, "needs a process or command"),
            (
                r#"{"method":{"profile":{"kernel_stacks":true,"user_stacks":true,"period":5}},"target":"system"}"#,
                "needs the event",
            ),
        ];
        for (json, expected) in cases {
            let spec: CaptureSpec = serde_json::from_str(json).unwrap();
            let error = check_spec(&spec).unwrap_err();
            let words = bathyscope_link::words(&error);
            assert!(words.contains(expected), "{words}");
        }
        for json in [
            r#"{"method":{"events":{"probes":[{"tracepoint":"a:b","predicate":"pid =="}]}},"target":"system"}"#,
            r#"{"method":{"events":{"probes":[{"tracepoint":"../x","fields":[]}]}},"target":"system"}"#,
            r#"{"method":{"profile":{"frequency_hz":99,"kernel_stacks":true,"user_stacks":true}}}"#,
            r#"{"method":{"events":{"probes":[]}},"target":"system","shell":"rm"}"#,
        ] {
            assert!(serde_json::from_str::<CaptureSpec>(json).is_err(), "{json}");
        }
    }
}
