//! `captures`: stored captures, from the terminal.

use std::path::PathBuf;

use bathyscope_capture::CaptureId;
use clap::{Args, Subcommand};

use crate::{Failure, Outcome, config::DataArgs};

/// What `captures` takes.
#[derive(Clone, Debug, Args)]
pub struct CapturesArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: CapturesVerb,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
}

/// What can be done with stored captures.
#[derive(Clone, Debug, Subcommand)]
pub enum CapturesVerb {
    /// List them, newest first
    List {
        /// Only those whose title contains this
        #[arg(value_name = "TEXT")]
        query: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one: spec, host, streams, ledger
    Show {
        /// Which
        id: CaptureId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Give one another title
    Rename {
        /// Which
        id: CaptureId,
        /// The new title
        title: String,
    },
    /// Delete captures for good
    Delete {
        /// Which
        #[arg(required = true)]
        ids: Vec<CaptureId>,
    },
    /// Add a capture from a .bathy file
    Import {
        /// The file
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Does it.
///
/// # Errors
/// If the store cannot be opened, or the capture is not there.
pub fn run(args: CapturesArgs) -> Outcome {
    let _ = args;
    Err(Failure::new("`captures` is not in this build yet"))
}
