//! The capabilities that an agent keeps, however many it was started with.

use bathyscope_protocol::sandbox::{keep_capabilities, shrink_bounding_set};
use rustix::thread::CapabilitySet;

/// What SECURITY.md lists, with what each is for, and `CAP_SYS_ADMIN`, which only an agent has that was started by root
/// outside of a service unit and a container: it gives run-time statistics of programs, probes in programs through perf,
/// the programs of others, and a mount of tracefs where there is none.
const KEPT: CapabilitySet = CapabilitySet::BPF
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::CHECKPOINT_RESTORE)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::SYSLOG)
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SYS_ADMIN);

/// What the launcher keeps of an agent that serves a console: to become the users of commands, to take all rights from
/// commands, and to look for their programs, which may be in directories of these users.
const FOR_COMMANDS: CapabilitySet =
    CapabilitySet::SETUID.union(CapabilitySet::SETGID).union(CapabilitySet::SETPCAP).union(CapabilitySet::DAC_OVERRIDE);

/// Gives up all that the agent does not need, for this process and whatever it starts. To be called before any thread
/// exists.
///
/// # Errors
/// If the kernel refuses to take a right away.
pub(crate) fn keep_listed() -> std::io::Result<()> {
    keep(KEPT)
}

/// As [`keep_listed`], for the launcher of commands.
///
/// # Errors
/// As [`keep_listed`].
pub(crate) fn keep_for_commands() -> std::io::Result<()> {
    keep(FOR_COMMANDS)
}

fn keep(set: CapabilitySet) -> std::io::Result<()> {
    shrink_bounding_set(set);
    Ok(keep_capabilities(set)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each capability of the table in SECURITY.md that the agent is said to need, and the one beside it.
    #[test]
    fn p60_what_is_kept_is_what_is_documented() {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../SECURITY.md")).unwrap();
        let rows =
            text.lines().filter_map(|line| line.strip_prefix("| `CAP_")).filter(|row| !row.contains("supervisor:"));
        let cells = rows.filter_map(|row| row.split(" |").next());
        let mut documented: Vec<String> = cells
            .flat_map(|cell| cell.replace('`', "").split(", ").map(|it| it.replace("CAP_", "")).collect::<Vec<_>>())
            .collect();
        documented.push("SYS_ADMIN".to_owned());
        documented.sort_unstable();
        let mut kept: Vec<String> = KEPT.iter_names().map(|(name, _)| name.to_owned()).collect();
        kept.sort_unstable();
        assert_eq!(kept, documented);
    }
}
