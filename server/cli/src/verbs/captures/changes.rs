//! Captures that are started, stopped and changed at the terminal: by the console that runs, or in its database where none does.

use std::{io::Read as _, path::Path};

use bathyscope_capture::{CaptureId, CaptureSpec};
use bathyscope_console::{
    capture_changes::{TerminalCapture, capture_at_terminal},
    control::{self, ControlConnection},
};
use serde_json::Value;

use super::{super::open, print};
use crate::{Failure, config::DataArgs};

/// The most bytes of a spec.
const MOST_SPEC_BYTES: u64 = 1 << 20;

/// Changes each of these captures in the same way; prints what became of it. After the first that cannot be changed, none is.
pub(super) fn change(ids: &[CaptureId], change: &TerminalCapture, data: &DataArgs) -> Result<(), Failure> {
    let dir = data.directory()?;
    let Some(first) = ControlConnection::open(&dir)? else {
        return change_alone(ids, change, data);
    };
    let mut console = Some(first);
    for id in ids {
        // It answers once for each connection.
        let asked = console.take().map_or_else(|| ControlConnection::open(&dir), |first| Ok(Some(first)))?;
        let asked = asked.ok_or_else(|| Failure::new("the console has ended meanwhile"))?;
        print(&told(*id, &asked.change_capture(*id, change.clone())?))?;
    }
    Ok(())
}

fn change_alone(ids: &[CaptureId], change: &TerminalCapture, data: &DataArgs) -> Result<(), Failure> {
    open::writing(data, async |store| {
        let mut lines = Vec::new();
        for id in ids {
            match capture_at_terminal(&store, *id, change.clone()).await {
                Ok(done) => lines.push(told(*id, &done.told)),
                Err(error) => return Ok((lines, Some(error))),
            }
        }
        Ok((lines, None))
    })
    .and_then(|(lines, failed)| {
        print(&lines.concat())?;
        failed.map_or(Ok(()), |error| Err(Failure::because("changing a capture", error)))
    })
}

fn told(id: CaptureId, what: &str) -> String {
    if what.is_empty() { String::new() } else { format!("{id}  {what}\n") }
}

/// Has the console start what a file says; prints the capture's id.
pub(super) fn start(file: &Path, again: Option<CaptureId>, data: &DataArgs) -> Result<(), Failure> {
    let spec = spec_in(file)?;
    print(&format!("{}\n", control::start_capture(&data.directory()?, spec, again)?))
}

/// The spec in a file, or on standard input if it is `-`: by itself, or in what `explain --json` prints.
fn spec_in(file: &Path) -> Result<CaptureSpec, Failure> {
    let doing = || format!("reading the capture's spec in {}", file.display());
    let failed = |error: std::io::Error| Failure::because(doing(), error);
    let mut text = String::new();
    let mut input: Box<dyn std::io::Read> = if file == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(file).map_err(failed)?)
    };
    let read = input.as_mut().take(MOST_SPEC_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if read as u64 > MOST_SPEC_BYTES {
        return Err(Failure::new(format!("{}: it has more than {MOST_SPEC_BYTES} bytes", doing())));
    }
    let wrong = |error| Failure::because(doing(), error).remedy("`bathyscope explain --json COMMAND` prints one.");
    let value: Value = serde_json::from_str(&text).map_err(wrong)?;
    let spec = value.pointer("/capture/spec").unwrap_or(&value);
    serde_json::from_value(spec.clone()).map_err(wrong)
}

/// Has the console stop captures.
pub(super) fn stop(ids: &[CaptureId], data: &DataArgs) -> Result<(), Failure> {
    let dir = data.directory()?;
    for id in ids {
        control::stop_capture(&dir, *id)?;
        print(&told(*id, "stopped"))?;
    }
    Ok(())
}
