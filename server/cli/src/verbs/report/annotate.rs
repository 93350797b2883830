//! `report --annotate`: the instructions of a function with the samples at each, as `perf annotate --stdio` shows them.

use std::io::{BufWriter, Write};

use bathyscope_capture::visible;
use bathyscope_reader::CaptureView;
use bathyscope_store::{Store, StoreError};
use bathyscope_views::{
    Annotation, Cancel, CodeRow, FunctionOrder, FunctionSamples, MAX_FUNCTIONS, ShownCode, Source as _, ViewError,
    annotate, function_samples, sampled_functions,
};

use super::ReportArgs;
use crate::Failure;

/// How many of the hottest instructions are named before all of them.
const HOTTEST: usize = 5;
/// How many functions are named when there is none with the name that was asked for.
const SUGGESTED: usize = 10;

/// What came of it.
pub(super) type Written = Result<Result<(), Failure>, ViewError>;

/// Writes the instructions as text, or one JSON object.
pub(super) async fn write(
    store: &Store,
    view: &CaptureView,
    args: &ReportArgs,
    function: &str,
) -> Result<Written, StoreError> {
    let found = match view.checked(tokio::task::block_in_place(|| find(view, args, function))) {
        Ok(Ok(found)) => found,
        Ok(Err(failure)) => return Ok(Ok(Err(failure))),
        Err(error) => return Ok(Err(error)),
    };
    let code = match found.chosen(None) {
        Some(known) => store.code_at(view.record().id, known.place.mapping, known.place.start).await?,
        None => None,
    };
    let make = || Ok(annotate(view.dictionaries(), &found, None, code.as_ref()));
    let answer = match view.checked(tokio::task::block_in_place(make)) {
        Ok(answer) => answer,
        Err(error) => return Ok(Err(error)),
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written = if args.json { json(&answer, &mut out) } else { text(&answer, &mut out) };
    Ok(written.and_then(|()| out.flush()).map(|()| Ok(())).map_err(ViewError::Write))
}

/// The samples of the function with a name, or of the only one that has it in its name.
fn find(view: &CaptureView, args: &ReportArgs, function: &str) -> Result<Result<FunctionSamples, Failure>, ViewError> {
    let cancel = Cancel::new(false);
    let query = args.range.query(args.filters.condition()).flame(view)?;
    let found = function_samples(view, &query, function, &cancel)?;
    if !found.places.is_empty() {
        return Ok(Ok(found));
    }
    let named = bathyscope_views::FlameQuery { search: Some(function.to_owned()), ..query.clone() };
    let mut functions = sampled_functions(view, &named, FunctionOrder::Own, MAX_FUNCTIONS, &cancel)?.functions;
    functions.retain(|function| function.own > 0);
    if let [only] = functions.as_slice() {
        return function_samples(view, &query, &only.name, &cancel).map(Ok);
    }
    let failure = Failure::new(format!("no sample ended in the function {}", visible(function.as_bytes())));
    let names: Vec<&str> = functions.iter().take(SUGGESTED).map(|function| function.name.as_str()).collect();
    Ok(Err(match names.as_slice() {
        [] => failure.remedy("`bathyscope report --functions` lists those that were sampled."),
        names => failure.remedy(format!("These have it in their names: {}", names.join(", "))),
    }))
}

fn json(answer: &Annotation, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "{}", serde_json::to_string(answer)?)
}

fn text(answer: &Annotation, out: &mut impl Write) -> std::io::Result<()> {
    let Some(code) = &answer.shown else { return Ok(()) };
    let share = answer.own as f64 * 100.0 / answer.samples.max(1) as f64;
    writeln!(out, "# {}: {} of {} samples ({share:.2}%) ended in it", answer.function, answer.own, answer.samples)?;
    for place in &answer.places {
        let mark = if place.place == code.place && answer.places.len() > 1 { ", shown here" } else { "" };
        writeln!(out, "# {} samples in {} of {}{mark}", place.samples, place.function, place.module)?;
    }
    if !code.note.is_empty() {
        writeln!(out, "# {}", code.note)?;
    }
    let percent = |samples: u64| samples as f64 * 100.0 / code.samples.max(1) as f64;
    let hottest = code.hottest.iter().filter_map(|row| code.rows.get(*row)).take(HOTTEST);
    let hottest: Vec<String> = hottest.map(|row| format!("+{:#x} {:.2}%", row.at, percent(row.samples))).collect();
    writeln!(out, "# hottest: {}", hottest.join(", "))?;
    writeln!(out, "# Percent  Samples  Address       Offset  Instruction")?;
    let mut source = None;
    for row in &code.rows {
        if row.left_out > 0 {
            writeln!(out, "{:>46} {} instructions without samples", "...", row.left_out)?;
        }
        line(code, row, percent(row.samples), &mut source, out)?;
    }
    if code.outside > 0 {
        writeln!(out, "# {} samples behind what is kept", code.outside)?;
    }
    Ok(())
}

/// One instruction, after its source line if that is another one than before.
fn line(
    code: &ShownCode,
    row: &CodeRow,
    percent: f64,
    before: &mut Option<u32>,
    out: &mut impl Write,
) -> std::io::Result<()> {
    if row.source.is_some() && row.source != *before {
        *before = row.source;
        if let Some(source) = row.source.and_then(|source| code.sources.get(source as usize)) {
            writeln!(out, "{:>42}{} {}:{}", "", source.function, source.file, source.line)?;
        }
    }
    let (share, samples) = match row.samples {
        0 => (String::new(), String::new()),
        samples => (format!("{percent:.2}%"), samples.to_string()),
    };
    let address = row.address.map(|address| format!("{address:x}")).unwrap_or_default();
    let offset = format!("+{:#x}", row.at);
    let text = if row.text.is_empty() { &row.bytes } else { &row.text };
    let goes = match (row.target, &row.calls) {
        (Some(target), _) => format!("  <+{target:#x}>"),
        (None, Some(function)) => format!("  <{function}>"),
        (None, None) => String::new(),
    };
    writeln!(out, "{}", format!("{share:>9} {samples:>8} {address:>8} {offset:>12}  {text}{goes}").trim_end())
}

#[cfg(test)]
mod tests {
    use bathyscope_views::{CodePlace, PlaceLine, SourceLine};

    use super::*;

    #[test]
    fn lines_have_shares_of_the_place_and_sources_where_they_change() {
        let place = CodePlace { mapping: 1, start: 0x1149 };
        let row = |at, text: &str, samples, source| CodeRow {
            at,
            address: Some(0x1149 + at),
            text: text.to_owned(),
            samples,
            source,
            ..CodeRow::default()
        };
        let rows = vec![
            row(0, "push   %rbp", 0, Some(0)),
            CodeRow { target: Some(0), ..row(1, "jne    0x1149", 3, Some(0)) },
            CodeRow { left_out: 7, calls: Some("g".to_owned()), ..row(90, "call   0x2000", 1, Some(1)) },
        ];
        let source = |line| SourceLine { function: "f".to_owned(), file: "/a.c".to_owned(), line };
        let (note, sources, hottest) = ("Cut.".to_owned(), vec![source(1), source(2)], vec![1, 2]);
        let code = ShownCode { place, samples: 5, length: 99, kept: 95, note, rows, hottest, sources, outside: 1 };
        let known = PlaceLine { place, function: "f".to_owned(), module: "/bin/x".to_owned(), samples: 5 };
        let (function, places) = ("f".to_owned(), vec![known]);
        let answer = Annotation { function, samples: 10, own: 5, places, more_places: 0, shown: Some(code) };
        let mut out = Vec::new();
        text(&answer, &mut out).unwrap();
        let expected = "\
# f: 5 of 10 samples (50.00%) ended in it
# 5 samples in f of /bin/x
# Cut.
# hottest: +0x1 60.00%, +0x5a 20.00%
# Percent  Samples  Address       Offset  Instruction
                                          f /a.c:1
                       1149         +0x0  push   %rbp
   60.00%        3     114a         +0x1  jne    0x1149  <+0x0>
                                           ... 7 instructions without samples
                                          f /a.c:2
   20.00%        1     11a3        +0x5a  call   0x2000  <g>
# 1 samples behind what is kept
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
