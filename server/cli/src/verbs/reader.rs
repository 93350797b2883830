//! `reader` (hidden): starts the children that read files for the console, which may start none itself. The console starts it,
//! with its end of a socket as standard input.

use std::{os::fd::AsFd as _, process::ExitCode};

use bathyscope_console::import;
use clap::Args;

use crate::{Failure, Outcome};

/// What the console gives to its reader.
#[derive(Clone, Debug, Args)]
pub struct ReaderArgs {
    /// User id to become
    #[arg(long, value_name = "UID")]
    pub uid: Option<u32>,
    /// Group id to become
    #[arg(long, value_name = "GID")]
    pub gid: Option<u32>,
    /// Process that started this one; the reader ends with it
    #[arg(long, value_name = "PID")]
    pub parent: u32,
}

/// Gives up all rights, files, and system calls that are not needed; then serves the console until that is gone.
///
/// # Errors
/// If rights remain, or the console says what is not agreed.
pub fn run(args: &ReaderArgs) -> Outcome {
    crate::launch::confine_helper(args.uid, args.gid, args.parent)?;
    let console = std::io::stdin().as_fd().try_clone_to_owned();
    let console = console.map_err(|error| Failure::because("taking the console's socket", error))?;
    crate::launch::restrict_files_of_reader()?;
    crate::launch::filter_system_calls_of_reader()?;
    import::serve_reader(console).map_err(|error| Failure::because("serving the console", error))?;
    Ok(ExitCode::SUCCESS)
}
