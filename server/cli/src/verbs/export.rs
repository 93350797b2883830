//! `export`: a stored capture in another format.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use bathyscope_capture::CaptureId;
use bathyscope_reader::{
    CaptureCache, ViewQuery,
    export::{self, Format},
};
use bathyscope_store::{Store, StoreError};
use bathyscope_views::{Cancel, ViewError};
use clap::Args;

use super::{
    chosen::{ChosenCapture, no_captures},
    open,
};
use crate::{Failure, Outcome, config::DataArgs};

/// What `export` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
What the capture has lost is told on standard error, and in NDJSON by a last line {\"bathyscope_ledger\": {\"lost\": N,
\"at_least\": BOOL, \"words\": TEXT}}, if anything was.

Examples:
  bathyscope export 00f1e2d3c4b5a697 --format folded | flamegraph.pl > flame.svg
  bathyscope export 00f1e2d3c4b5a697 --format csv --filter 'pid == 1' -o rows.csv
  bathyscope export 00f1e2d3c4b5a697 --format bathy -o elsewhere.bathy")]
pub struct ExportArgs {
    /// Which capture: its id, or `newest`
    pub id: ChosenCapture,
    /// In which format
    #[arg(long, value_enum)]
    pub format: Format,
    /// File to write, which must not exist; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// Stream to take rows from, counted from 0
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub stream: u16,
    /// Only rows that satisfy this predicate, or contain this text
    #[arg(long, value_name = "FILTER", default_value = "")]
    pub filter: String,
    /// Only from this many nanoseconds after the capture's start
    #[arg(long, value_name = "NS", allow_negative_numbers = true)]
    pub start: Option<i64>,
    /// Only until this many nanoseconds after the capture's start
    #[arg(long, value_name = "NS", allow_negative_numbers = true)]
    pub end: Option<i64>,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
}

/// Writes it.
///
/// # Errors
/// If the capture is not there or the file cannot be written.
pub fn run(args: ExportArgs) -> Outcome {
    // Opened before root becomes the directory's owner, who may not write here.
    let mut out = output(&args.output)?;
    let query = ViewQuery {
        stream: args.stream,
        filter: args.filter,
        start: args.start,
        end: args.end,
        ..ViewQuery::default()
    };
    let format = args.format;
    let dir = args.data.directory()?;
    let Some(id) = open::reading(&args.data, async |store| args.id.id(&store).await)? else {
        return Err(no_captures());
    };
    let to_stdout = args.output == Path::new("-");
    let written = open::reading(&args.data, async |store| write(store, &dir, id, format, query, &mut out).await)
        .and_then(|written| match written {
            // Whoever reads has seen enough, as `head` has.
            Err(ViewError::Write(error)) if to_stdout && error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(|error| Failure::because(format!("exporting capture {id}"), error)),
        });
    if written.is_err() && !to_stdout {
        // A part of a file must not be taken for the whole.
        let _not_there = std::fs::remove_file(&args.output);
    }
    written.map(|()| ExitCode::SUCCESS)
}

async fn write(
    store: Store,
    dir: &Path,
    id: CaptureId,
    format: Format,
    query: ViewQuery,
    out: &mut Box<dyn Write + Send>,
) -> Result<Result<(), ViewError>, StoreError> {
    if format == Format::Bathy {
        let mut file = export::whole_file(&store, id, dir).await?;
        return Ok(io::copy(&mut file, out).and_then(|_bytes| out.flush()).map_err(ViewError::Write));
    }
    let view = CaptureCache::new(store).view(id, false).await?;
    // Nothing else runs here that the work could hold up.
    Ok(tokio::task::block_in_place(|| {
        export::write(&view, format, &query, out, &Cancel::new(false))?;
        out.flush().map_err(ViewError::Write)?;
        if let Some(words) = export::missing_words(view.record()) {
            // Where nobody listens there is nothing to be done.
            let _said = writeln!(io::stderr(), "{words}");
        }
        Ok(())
    }))
}

fn output(path: &Path) -> Result<Box<dyn Write + Send>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(BufWriter::new(io::stdout())));
    }
    Ok(Box::new(BufWriter::new(new_file(path)?)))
}

/// The file of an earlier try that failed, which is empty, and of whoever tries again, alone.
fn left_empty(path: &Path) -> Option<File> {
    let file = OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).ok()?;
    let known = file.metadata().ok()?;
    let is_own = known.uid() == rustix::process::geteuid().as_raw() && known.nlink() == 1 && known.mode() & 0o077 == 0;
    (known.is_file() && known.len() == 0 && is_own).then_some(file)
}

/// A file that is made, for whoever makes it alone.
///
/// # Errors
/// If there is such a file already, or it cannot be made.
pub(super) fn new_file(path: &Path) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let made = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => left_empty(path).ok_or(error),
        made => made,
    };
    made.map_err(|error| {
        Failure::because(format!("making {}", path.display()), error).remedy("Give a file that does not exist, or -.")
    })
}
