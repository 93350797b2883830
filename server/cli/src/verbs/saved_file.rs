//! `captures file` and `investigations file`: a view, or a page with its views, as one HTML file that opens without Bathyscope and without
//! a network.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use bathyscope_console::http::{AskedFile, MadeFile, capture_file_at_terminal, investigation_file_at_terminal};
use bathyscope_store::{InvestigationId, Store, StoreError};
use clap::Args;
use serde::Serialize;

use super::{
    chosen::{ChosenCapture, no_captures},
    export::new_file,
    open,
};
use crate::{
    Failure, Outcome,
    config::{DataArgs, bytes},
};

/// What `captures file` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  bathyscope captures file newest -o view.html
  bathyscope captures file 00f1e2d3c4b5a697 --view 'v=3&tab=flame&start=0&end=1000000' --tab flame,events -o view.html
  bathyscope captures file newest -o - > view.html

The file has what its tabs show in the range and filter of the view, rows to sort and search up to 50,000, flame graphs and timelines
to zoom; at most 20 MB. How large it is and what is not in it is told on standard error.")]
pub struct CaptureFileArgs {
    /// Which capture: its id, or `newest`
    pub id: ChosenCapture,
    /// The view: what stands behind ? in the address of the capture's page [default: what a link without one shows]
    #[arg(long, value_name = "QUERY", default_value = "", hide_default_value = true)]
    pub view: String,
    /// Tabs that the file has, such as flame,events [default: that of the view]
    #[arg(long, value_name = "TAB", value_delimiter = ',')]
    pub tab: Vec<String>,
    /// How it is written, and where.
    #[command(flatten)]
    pub out: FileOutArgs,
}

/// What `investigations file` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  bathyscope investigations file 00f1e2d3c4b5a697 -o found.html
  bathyscope investigations file 00f1e2d3c4b5a697 --json -o found.html

The file has the page as it is now, and its views, which open at a click; at most 20 MB. Views for which there is no room stay pictures.
How large it is and what is not in it is told on standard error.")]
pub struct InvestigationFileArgs {
    /// Which, as `list` names it
    pub id: InvestigationId,
    /// How it is written, and where.
    #[command(flatten)]
    pub out: FileOutArgs,
}

/// Where a file is written, and how that is told.
#[derive(Clone, Debug, Args)]
pub struct FileOutArgs {
    /// File to write, which must not exist; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The most bytes of the file, such as 5M, at most 20 MB; of an investigation, views for which there is no room are pictures
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub most_bytes: Option<u64>,
    /// Tell as JSON, on standard output, which file was written, how large it is and what is not in it
    #[arg(long)]
    pub json: bool,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
}

impl FileOutArgs {
    fn most(&self) -> Option<usize> {
        self.most_bytes.map(|most| usize::try_from(most).unwrap_or(usize::MAX))
    }
}

/// What was written.
#[derive(Debug, Serialize)]
struct WrittenFile<'a> {
    file: String,
    bytes: usize,
    left_out: &'a [String],
}

/// Writes the file of a capture.
///
/// # Errors
/// If the capture is not there, has no such tab, or the file is too large or cannot be written.
pub(super) fn capture(args: &CaptureFileArgs) -> Outcome {
    let asked = AskedFile { view: args.view.clone(), tabs: args.tab.clone() };
    written(&args.out, async |store| {
        let Some(id) = args.id.id(&store).await? else { return Ok(Err(no_captures())) };
        Ok(capture_file_at_terminal(&store, id, (&asked, args.out.most())).await)
    })
}

/// Writes the file of an investigation.
///
/// # Errors
/// If it is not there, or the file is too large or cannot be written.
pub(super) fn investigation(args: &InvestigationFileArgs) -> Outcome {
    written(&args.out, async |store| Ok(investigation_file_at_terminal(&store, args.id, args.out.most()).await))
}

fn written(
    out: &FileOutArgs,
    make: impl AsyncFnOnce(Store) -> Result<Result<MadeFile, Failure>, StoreError>,
) -> Outcome {
    let is_stdout = out.output == Path::new("-");
    if out.json && is_stdout {
        let why = "--json tells on standard output, where the file goes too";
        return Err(Failure::new(why).remedy("Name a file with -o."));
    }
    // Made before root becomes the directory's owner, who may not write here.
    let file = if is_stdout { None } else { Some(new_file(&out.output)?) };
    let write = |made: MadeFile| {
        let written = match &file {
            Some(file) => (&mut &*file).write_all(made.html.as_bytes()),
            None => io::stdout().write_all(made.html.as_bytes()),
        };
        match written {
            // Whoever reads has seen enough, as `head` has.
            Err(error) if !is_stdout || error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::because(format!("writing {}", out.output.display()), error))
            }
            _ => Ok(made),
        }
    };
    let written = open::reading(&out.data, make).and_then(|made| made).and_then(write);
    // A part of a file must not be taken for the whole. Root has become the directory's owner, who may not remove here: then it is empty.
    if let Some(file) = file.as_ref().filter(|_| written.is_err() && std::fs::remove_file(&out.output).is_err()) {
        let left = if file.set_len(0).is_ok() { "empty" } else { "incomplete" };
        // Where nobody listens there is nothing to be done.
        let _said = writeln!(io::stderr(), "{} is left {left}: it could not be removed", out.output.display());
    }
    tell(out.json, &out.output, &written?)
}

/// Tells what was written.
fn tell(json: bool, path: &Path, made: &MadeFile) -> Outcome {
    let (size, left_out) = (made.html.len(), made.left_out.as_slice());
    if json {
        let told = WrittenFile { file: path.display().to_string(), bytes: size, left_out };
        let text = serde_json::to_string_pretty(&told).map_err(|error| Failure::because("writing JSON", error))?;
        return super::print_all(&(text + "\n"));
    }
    let mut lines = format!("{}: {:.1} MB\n", path.display(), size as f64 / 1e6);
    for words in left_out {
        lines.push_str(words);
        lines.push('\n');
    }
    // Where nobody listens there is nothing to be done.
    let _said = io::stderr().write_all(lines.as_bytes());
    Ok(ExitCode::SUCCESS)
}
