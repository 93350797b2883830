//! `cleanup`: removing what a killed agent left in tracefs, and the directories of verbs that were killed. An agent does
//! the former when it starts, a verb the latter.
//!
//! It runs in this process, which must be root, and asks no agent: it has to work when nothing else does.

use bathyscope_agent::{Leftover, cleanup};
use bathyscope_capture::visible;
use clap::Args;

use crate::{
    Failure, Outcome,
    launch::{LeftDirectory, remove_left},
};

const ABOUT: &str = "\
BPF programs and perf events vanish with the agent that made them. A trace by ftrace does not: a tracing instance and
its probes stay when the agent is killed. They are removed here if their names or the agent's journal say that a
Bathyscope agent made them, and that agent has ended. Instances and probes of others, and of agents that run, are not
touched. Every agent does this when it starts; calling it twice does no harm.

Verbs that print what they record keep it in a directory below /run/bathyscope meanwhile. Those of verbs that were
killed are removed too.";

const EXAMPLES: &str = "\
Examples:
  bathyscope cleanup --dry-run   what would be removed
  bathyscope cleanup --json      remove it; for programs: {\"leftovers\": [{\"kind\", \"name\", \"removed\", ...}],
                                 \"directories\": [{\"path\", \"removed\", \"why\"}]}

The exit status is 1 if something could not be removed.";

/// What `cleanup` takes.
#[derive(Clone, Debug, Args)]
#[command(long_about = ABOUT, after_help = EXAMPLES)]
pub struct CleanupArgs {
    /// Only say what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Removes what ended agents left, or lists it.
///
/// # Errors
/// If this is not root, or something could not be removed.
pub fn run(args: CleanupArgs) -> Outcome {
    if !rustix::process::geteuid().is_root() {
        return Err(Failure::new("only root can look for what is left in the kernel's tracing")
            .remedy("Run: sudo bathyscope cleanup"));
    }
    let directories = remove_left(args.dry_run);
    let leftovers = cleanup(args.dry_run);
    let text = if args.json {
        let shown: Vec<_> = directories.iter().map(|left| left_json(left, args.dry_run)).collect();
        let report = serde_json::json!({ "dry_run": args.dry_run, "leftovers": leftovers, "directories": shown });
        serde_json::to_string_pretty(&report).map_err(|error| Failure::because("writing JSON", error))? + "\n"
    } else if leftovers.is_empty() && directories.is_empty() {
        "Nothing is left of agents and verbs that have ended.\n".to_owned()
    } else {
        let left = directories.iter().map(|left| directory_line(left, args.dry_run));
        leftovers.iter().map(|leftover| line_of(leftover, args.dry_run)).chain(left).collect()
    };
    let code = super::print_all(&text)?;
    let stays = leftovers.iter().any(|leftover| !leftover.removed) || directories.iter().any(|d| d.trouble.is_some());
    let stays = stays && !args.dry_run;
    Ok(if stays { std::process::ExitCode::FAILURE } else { code })
}

fn state_of(removed: bool, why: &str, dry_run: bool) -> String {
    match (dry_run, removed) {
        (true, _) => "would be removed".to_owned(),
        (false, true) => "removed".to_owned(),
        (false, false) => format!("still there: {}", visible(why.as_bytes())),
    }
}

fn directory_line(left: &LeftDirectory, dry_run: bool) -> String {
    let state = state_of(left.trouble.is_none(), left.trouble.as_deref().unwrap_or_default(), dry_run);
    format!("directory {} of a verb that has ended: {state}\n", left.path.display())
}

fn left_json(left: &LeftDirectory, dry_run: bool) -> serde_json::Value {
    let (removed, why) = (!dry_run && left.trouble.is_none(), left.trouble.as_deref().unwrap_or_default());
    serde_json::json!({ "path": left.path.to_string_lossy(), "removed": removed, "why": why })
}

fn line_of(leftover: &Leftover, dry_run: bool) -> String {
    let Leftover { kind, name, owner_pid, removed, why } = leftover;
    let name = visible(name.as_bytes());
    let state = state_of(*removed, why, dry_run);
    format!("{kind:<9} {name} of process {owner_pid}, which has ended: {state}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_leftover_is_a_line() {
        let leftover = |removed, why: &str| Leftover {
            kind: "event",
            name: "bathyscope_1_2_3_4/x".to_owned(),
            owner_pid: 2,
            removed,
            why: why.to_owned(),
        };
        let begin = "event     bathyscope_1_2_3_4/x of process 2, which has ended: ";
        assert_eq!(line_of(&leftover(false, ""), true), format!("{begin}would be removed\n"));
        assert_eq!(line_of(&leftover(true, ""), false), format!("{begin}removed\n"));
        assert_eq!(line_of(&leftover(false, "it is used"), false), format!("{begin}still there: it is used\n"));
    }
}
