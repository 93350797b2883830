//! Options of `trace-cmd list` that this verb does not have, and why.

use crate::verbs::foreign::Foreign;

/// All of them.
pub(in crate::verbs) const FOREIGN: &[Foreign] = &[
    Foreign::refused("-F", "The fields of events: `bathyscope list 'sched:*' --fields`."),
    Foreign::refused("--full", "The fields of events: `bathyscope list 'sched:*' --fields`."),
    Foreign::refused("-R", "Triggers of events are not set by Bathyscope, nor listed."),
    Foreign::refused("-l", "Filters belong to a capture: `bathyscope captures show ID` tells those of one."),
    Foreign::refused("-P", "There are no plugins: events print by the formats that the kernel gave."),
    Foreign::refused("-O", "There are no plugins: events print by the formats that the kernel gave."),
    Foreign::refused(
        "-B",
        "Each capture has a tracing instance of its own; `bathyscope cleanup --dry-run` lists those left behind.",
    ),
    Foreign::refused("-c", "Captures are compressed in one way."),
];
