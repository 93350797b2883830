//! What `profile` and `stat` have in common with `perf record` and `perf stat`: letters that mean the same, and those that
//! are refused in words because there is something else for them here, or nothing.

use bathyscope_capture::{Target, visible};
use clap::Args;

use crate::Failure;

/// The most CPUs in a list.
const MAX_CPUS: u32 = 8192;

/// Letters of `perf record` that are refused, each with what there is instead.
#[derive(Clone, Debug, Default, Args)]
pub struct NotInProfile {
    /// Samples of threads
    #[arg(short = 't', long = "tid", value_name = "TID", hide = true)]
    pub tid: Option<String>,
    /// A file of samples
    #[arg(short = 'o', long = "output", value_name = "FILE", hide = true)]
    pub output: Option<String>,
    /// Milliseconds before the first sample
    #[arg(short = 'D', long = "delay", value_name = "MS", hide = true)]
    pub delay: Option<String>,
}

impl NotInProfile {
    /// What was asked for, and how it is had.
    pub(super) fn refusal(&self) -> Option<Failure> {
        let cases = [
            (
                &self.tid,
                "-t",
                "Sample its process with -p; each sample says its thread, and with --save the timeline has a lane for \
                 each. `bathyscope stat -t` counts in one thread.",
            ),
            (
                &self.output,
                "-o",
                "Captures are kept in a database: --save NAME keeps this one, and `bathyscope export` writes it to a file.",
            ),
            (
                &self.delay,
                "-D",
                "Sampling begins with the command. Start the command by itself, and sample its process with -p when it is \
                 warm.",
            ),
        ];
        let (_, option, remedy) = cases.into_iter().find(|(given, ..)| given.is_some())?;
        Some(Failure::new(format!("`profile` has no {option}")).remedy(remedy))
    }
}

/// Whose events: `others`, for as long as the command runs if there is one.
pub(super) fn while_runs(others: Target, argv: Vec<String>, user: Option<String>) -> Target {
    if argv.is_empty() { others } else { Target::during(argv, user, others) }
}

/// Says that an option changes nothing here, and why.
pub(super) fn say_meaningless(option: &str, why: &str) {
    say(&format!("{option} has no meaning here: {why}"));
}

/// Says something beside the output.
#[expect(clippy::print_stderr, reason = "a note to whoever typed the option")]
pub(super) fn say(text: &str) {
    eprintln!("{text}");
}

/// Reads a list such as `0,2-5`.
pub(super) fn cpus(list: &str) -> Result<Vec<u32>, Failure> {
    let wrong = || Failure::new(format!("`{}` is no list of CPUs", visible(list.as_bytes()))).remedy("Write 0,2-5.");
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) else {
            return Err(wrong());
        };
        if last >= MAX_CPUS || first > last {
            return Err(wrong());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}
