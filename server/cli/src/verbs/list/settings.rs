//! Options and clocks of the kernel's tracer, as `trace-cmd list -o` and `-C` show them.

use bathyscope_capture::{TRACE_CLOCKS, visible};
use bathyscope_catalog::matches_wildcards;
use bathyscope_protocol::{AgentClient, KernelFile};
use serde_json::json;

use crate::{Failure, Outcome, launch::agent_failure, verbs::print_all};

fn text(client: &mut AgentClient, file: KernelFile, doing: &str) -> Result<String, Failure> {
    let file = client.open_kernel_file(file).map_err(|error| agent_failure(doing, error))?;
    Ok(String::from_utf8_lossy(&super::read(file, doing)?).into_owned())
}

fn none(what: &str, pattern: &str) -> Failure {
    Failure::new(format!("this kernel's tracer has no {what} that matches `{}`", visible(pattern.as_bytes())))
        .remedy("Write a part of a name with wildcards, such as `func*`.")
}

/// Options, with whether each is on in the machine's own instance.
pub(super) fn options(client: &mut AgentClient, pattern: Option<&str>, as_json: bool) -> Outcome {
    let text = text(client, KernelFile::TraceOptions, "the tracer's options")?;
    let pattern = pattern.unwrap_or("*");
    let all = text.lines().map(|line| line.strip_prefix("no").map_or((line, true), |name| (name, false)));
    let found: Vec<(&str, bool)> = all.filter(|(name, _)| matches_wildcards(pattern, name)).collect();
    if found.is_empty() {
        return Err(none("option", pattern));
    }
    if as_json {
        let one = |(name, on): &(&str, bool)| json!({ "name": visible(name.as_bytes()), "on": on });
        return print_all(&format!("{}\n", json!(found.iter().map(one).collect::<Vec<_>>())));
    }
    let line =
        |(name, on): &(&str, bool)| format!("{:<28} {}\n", visible(name.as_bytes()), if *on { "on" } else { "off" });
    print_all(&found.iter().map(line).collect::<String>())
}

/// Clocks, with whether captures can have them.
pub(super) fn clocks(client: &mut AgentClient, pattern: Option<&str>, as_json: bool) -> Outcome {
    let text = text(client, KernelFile::TraceClocks, "the tracer's clocks")?;
    let pattern = pattern.unwrap_or("*");
    let all = text.split_ascii_whitespace().map(|name| match name.strip_prefix('[') {
        Some(chosen) => (chosen.trim_end_matches(']'), true),
        None => (name, false),
    });
    let found: Vec<(&str, bool)> = all.filter(|(name, _)| matches_wildcards(pattern, name)).collect();
    if found.is_empty() {
        return Err(none("clock", pattern));
    }
    let usable = |name: &str| TRACE_CLOCKS.contains(&name);
    if as_json {
        let one = |(name, chosen): &(&str, bool)| json!({ "name": visible(name.as_bytes()), "chosen": chosen, "for_captures": usable(name) });
        return print_all(&format!("{}\n", json!(found.iter().map(one).collect::<Vec<_>>())));
    }
    let line = |(name, chosen): &(&str, bool)| {
        let note = match (usable(name), TRACE_CLOCKS.first() == Some(name)) {
            (true, true) => "the default of captures",
            (true, false) => "for captures too (`record -C`)",
            (false, _) => "not for captures: its timestamps cannot be compared with those of other captures",
        };
        let mark = if *chosen { ", chosen for the machine's own instance" } else { "" };
        format!("{:<12} {note}{mark}\n", visible(name.as_bytes()))
    };
    print_all(&found.iter().map(line).collect::<String>())
}
