//! `export`: a stored capture in another format.

use std::path::PathBuf;

use bathyscope_capture::CaptureId;
use clap::{Args, ValueEnum};

use crate::{Failure, Outcome, config::DataArgs};

/// What `export` takes.
#[derive(Clone, Debug, Args)]
pub struct ExportArgs {
    /// Which capture
    pub id: CaptureId,
    /// In which format
    #[arg(long, value_enum)]
    pub format: ExportFormat,
    /// File to write, which must not exist; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
}

/// Formats that a capture can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Stacks, one line each, with their count
    Folded,
    /// Rows as comma-separated values
    Csv,
    /// Rows as JSON objects, one a line
    Ndjson,
    /// The flame graph as a self-contained picture
    Svg,
    /// The whole capture, to import elsewhere
    Bathy,
}

/// Writes it.
///
/// # Errors
/// If the capture is not there or the file cannot be written.
pub fn run(args: ExportArgs) -> Outcome {
    let _ = args;
    Err(Failure::new("`export` is not in this build yet"))
}
