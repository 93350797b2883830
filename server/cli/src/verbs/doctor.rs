//! `doctor`: what this host can trace, found by trying.

use bathyscope_capture::visible;
use bathyscope_protocol::{Capability, CapabilityState};
use clap::Args;

use crate::{
    Failure, Outcome,
    launch::{OwnAgent, agent_failure},
};

const ABOUT: &str = "\
Each way to observe is tried for real with the smallest thing that uses it, and undone at once: a tracepoint is
attached, a sample awaited, a program loaded. For what does not work it says whether a right, a feature of the kernel
or hardware is missing, or whether the kernel refuses, and what to change. Nothing stays behind in the kernel.";

const EXAMPLES: &str = "\
Examples:
  bathyscope doctor            findings and remedies for people
  bathyscope doctor --json     the same for programs: {\"kernel\", \"capabilities\": [{\"id\", \"state\", ...}]}";

/// What `doctor` takes.
#[derive(Clone, Debug, Args)]
#[command(long_about = ABOUT, after_help = EXAMPLES)]
pub struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Tries every way to observe this host and prints the findings.
///
/// # Errors
/// If no agent can be run.
pub fn run(args: DoctorArgs) -> Outcome {
    let mut agent = OwnAgent::start(None, None)?;
    let mut client = agent.client()?;
    let capabilities = client.capabilities().map_err(|error| agent_failure("trying what can be traced", error))?;
    drop(client);
    let kernel = rustix::system::uname();
    let release = visible(kernel.release().to_bytes());
    let text = if args.json {
        let report = serde_json::json!({ "kernel": release, "capabilities": capabilities });
        serde_json::to_string_pretty(&report).map_err(|error| Failure::because("writing JSON", error))?
    } else {
        let lines: String = capabilities.iter().map(lines_of).collect();
        format!("Linux {release} on {}\n\n{lines}\n{}", visible(kernel.machine().to_bytes()), summary(&capabilities))
    };
    super::print_all(&(text + "\n"))
}

fn word(state: CapabilityState) -> &'static str {
    match state {
        CapabilityState::Available => "works",
        CapabilityState::MissingPrivilege => "no right",
        CapabilityState::MissingKernelFeature => "not in kernel",
        CapabilityState::Refused => "refused",
        CapabilityState::MissingHardware => "no hardware",
        CapabilityState::Unknown => "not known",
    }
}

/// One line of finding, and one of remedy where there is one.
fn lines_of(capability: &Capability) -> String {
    let Capability { title, purpose, state, finding, remedy, .. } = capability;
    let shown = |text: &str| visible(text.as_bytes());
    let mut text = format!("{:<14} {}: {}\n", word(*state), shown(title), shown(finding));
    if *state != CapabilityState::Available {
        text += &format!("{:<14} for {}\n", "", shown(purpose));
    }
    if !remedy.is_empty() {
        text += &format!("{:<14} {}\n", "", shown(remedy));
    }
    text
}

fn summary(capabilities: &[Capability]) -> String {
    let works = capabilities.iter().filter(|one| one.state == CapabilityState::Available).count();
    let lacks_rights = capabilities.iter().any(|one| one.state == CapabilityState::MissingPrivilege);
    let hint = if lacks_rights { " Run it as root to try the rest." } else { "" };
    format!("{works} of {} ways to observe work here.{hint}", capabilities.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_followed_by_what_to_do() {
        let capability = Capability {
            id: "kprobe".into(),
            title: "Kernel probes".into(),
            purpose: "tracing functions".into(),
            state: CapabilityState::MissingKernelFeature,
            finding: "not built \u{1b}[2K".into(),
            remedy: "Use another kernel.".into(),
        };
        let text = lines_of(&capability);
        assert_eq!(
            text.lines().map(str::trim).collect::<Vec<_>>(),
            ["not in kernel  Kernel probes: not built \\x1b[2K", "for tracing functions", "Use another kernel."]
        );
        assert_eq!(summary(&[capability]), "0 of 1 ways to observe work here.");
    }
}
