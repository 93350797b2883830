//! Whether a recipe of one's own has scripts or probes: only then the agent is started so that it runs any.
//!
//! The agent is started while this process has its rights, and what people have saved is not read with them. So the verb `recipes`
//! reads it, as a process of its own that gives them up first.

use std::process::Stdio;

use bathyscope_capture::SourceSpec;

use crate::{config::DataArgs, launch::this_binary};

/// What the verb says of a recipe that has any.
pub(in crate::verbs) const OBSERVES: &str = "observes\n";

/// Whether the recipe has scripts or probes. One that cannot be read has none: it is refused when it is looked for again.
pub(super) fn has_scripts(name: &str, data: &DataArgs) -> bool {
    let Ok(directory) = data.directory() else { return false };
    let mut command = this_binary("recipes");
    command.args(["--observes", "--data"]).arg(directory).args(["--", name]);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success() && output.stdout == OBSERVES.as_bytes())
}

/// Whether sources read memory as scripts do.
pub(in crate::verbs) fn observe(sources: &[SourceSpec]) -> bool {
    let reads = |source: &SourceSpec| source.method.script().is_some() || !source.method.dynamic().is_empty();
    sources.iter().any(reads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scripts_and_probes_read_memory() {
        let states = r#"{"id":"states","method":{"states":{}}}"#;
        let script = r#"{"id":"script","method":{"script":{"text":"BEGIN { exit() }"}}}"#;
        let trace =
            |probes: &str| format!(r#"{{"id":"trace","method":{{"trace":{{"events":[],"dynamic":[{probes}]}}}}}}"#);
        let probe = r#""p:mine do_sys_openat2""#;
        let of = |sources: &[&str]| {
            let sources: Vec<SourceSpec> = serde_json::from_str(&format!("[{}]", sources.join(","))).expect("sources");
            observe(&sources)
        };
        assert_eq!(
            [of(&[states]), of(&[states, script]), of(&[&trace("")]), of(&[&trace(probe)])],
            [false, true, false, true]
        );
    }
}
