//! What two captures were asked for differently, for comparisons: what one did not record has not gone.

use bathyscope_capture::{SpecLine, shown, spec_lines};
use bathyscope_store::CaptureRecord;
use bathyscope_views::{AskedOfBoth, Source, UnaskedRows};

use crate::CaptureView;

/// The most differences that are named.
const MAX_NAMED: usize = 6;

/// System calls that only one of the two asked for; none if they asked for the same.
pub(crate) fn unasked(a: &CaptureRecord, b: &CaptureRecord) -> Option<UnaskedRows> {
    UnaskedRows::between((&a.spec, &a.host.machine), (&b.spec, &b.host.machine))
}

/// One of the two without what only it asked for.
pub(crate) fn asked_of_both<'a>(view: &'a CaptureView, unasked: Option<&'a UnaskedRows>) -> Option<AskedOfBoth<'a>> {
    unasked.map(|unasked| AskedOfBoth::new(view, unasked))
}

/// The same as what views read.
pub(crate) fn as_source<'a>(view: &'a CaptureView, both: Option<&'a AskedOfBoth<'a>>) -> &'a dyn Source {
    both.map_or(view as &dyn Source, |both| both)
}

/// That sources, conditions or the target are others, as a sentence.
pub(crate) fn asked_differently(a: &CaptureRecord, b: &CaptureRecord) -> Option<String> {
    let names = (&a.host.target_name, &b.host.target_name);
    // Numbers of processes are others each time: where their names are known, these count.
    let same_processes = names.0 == names.1 && !names.0.is_empty();
    let is_number =
        |line: &SpecLine| line.part == "target" && (line.what.ends_with("pid") || line.what.ends_with("pids"));
    let counts = |line: &SpecLine| !line.same && line.part != "limits" && !(same_processes && is_number(line));
    let lines: Vec<SpecLine> = spec_lines(&a.spec, &b.spec).into_iter().filter(counts).collect();
    if lines.is_empty() {
        return None;
    }
    let mut named: Vec<String> = Vec::new();
    for line in &lines {
        let name = shown(&format!("{}: {}", line.part, line.what));
        if !named.contains(&name) {
            named.push(name);
        }
    }
    let others = named.len().saturating_sub(MAX_NAMED);
    named.truncate(MAX_NAMED);
    if others > 0 {
        named.push(format!("{others} more"));
    }
    Some(format!(
        "They were not asked for the same ({}): what only one was asked for has not come or gone.",
        named.join("; ")
    ))
}
