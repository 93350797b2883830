//! What `profile` and `stat` have in common with `perf record` and `perf stat`: letters that mean the same.

use bathyscope_capture::{Target, visible};

use crate::Failure;

/// The most CPUs in a list.
const MAX_CPUS: u32 = 8192;

/// Whose events: `others`, for as long as the command runs if there is one.
pub(super) fn while_runs(others: Target, argv: Vec<String>, user: Option<String>) -> Target {
    if argv.is_empty() { others } else { Target::during(argv, user, others) }
}

/// Reads a number of milliseconds to wait before the first sample or count.
pub(super) fn delay(text: &str) -> Result<u32, String> {
    match text {
        "-1" => Err("sampling and counting begin by themselves; leave -D out, or write milliseconds".to_owned()),
        text if text.contains('-') => {
            Err("ranges of time are not chosen beforehand; any range of a capture can be looked at by itself"
                .to_owned())
        }
        text => text.parse().map_err(|_number| "write a number of milliseconds".to_owned()),
    }
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
