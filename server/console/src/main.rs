//! The binary `bathyscope`: parses the command line and hands over to the verb.
//!
//! Nothing may start a thread before the verb runs: the hidden verb `console` gives up its rights first.

use std::process::ExitCode;

fn main() -> ExitCode {
    bathyscope::cli::run(bathyscope::cli::parse())
}
