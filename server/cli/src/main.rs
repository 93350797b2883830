//! The binary `bathyscope`: parses the command line and hands over to the verb.
//!
//! Nothing may start a thread before the verb runs: the hidden verb `console` gives up its rights first.

use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = bathyscope::verbs::parse();
    // Processes of this binary are started through /proc, and the kernel would name them after that: `exe`. `comm` in
    // `begin` and `end` probes is this name, and so is that in other tools. The kernel keeps 15 characters.
    let _cosmetic = rustix::thread::set_name(cli.process_name());
    bathyscope::verbs::run(cli)
}
