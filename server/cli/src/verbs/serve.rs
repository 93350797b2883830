//! `serve`: the supervisor of agent and console.

use crate::{Outcome, config::ServeArgs};

/// Runs agent and console until the console ends.
///
/// # Errors
/// If a child cannot be started.
pub fn run(args: ServeArgs) -> Outcome {
    // Whatever the shell had open beside the standard descriptors is for neither of the processes.
    bathyscope_agent::close_inherited();
    crate::logging::start(&args.log)?;
    crate::launch::supervise(&args)
}
