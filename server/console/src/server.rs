//! The console process once it has no rights left: store, agent link, recorder, HTTP.

use crate::{Failure, Outcome, cli::console::ConsoleArgs};

/// Serves until told to stop.
///
/// # Errors
/// If the store cannot be opened or the address cannot be bound.
pub async fn run(args: &ConsoleArgs) -> Outcome {
    let _ = args;
    Err(Failure::new("the console is not in this build yet"))
}
