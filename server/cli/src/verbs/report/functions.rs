//! `report --functions`: the functions of sampled stacks, as `perf report -n` lists them.

use std::io::{BufWriter, Write as _};

use bathyscope_capture::visible;
use bathyscope_reader::CaptureView;
use bathyscope_views::{
    Cancel, FunctionOrder, MAX_FUNCTIONS, SampledFunction, SampledFunctions, ViewError, sampled_functions,
};

use super::ReportArgs;

/// Writes the table, or an object for each function.
pub(super) fn write(view: &CaptureView, args: &ReportArgs) -> Result<(), ViewError> {
    let query = args.range.query(args.filters.condition()).flame(view)?;
    let order = if args.samples.children { FunctionOrder::Total } else { FunctionOrder::Own };
    let found = sampled_functions(view, &query, order, MAX_FUNCTIONS, &Cancel::new(false))?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written = if args.json { json(&found, &mut out) } else { table(&found, &mut out) };
    written.and_then(|()| out.flush()).map_err(ViewError::Write)
}

fn json(found: &SampledFunctions, out: &mut impl std::io::Write) -> std::io::Result<()> {
    found.functions.iter().try_for_each(|function| writeln!(out, "{}", serde_json::to_string(function)?))
}

fn table(found: &SampledFunctions, out: &mut impl std::io::Write) -> std::io::Result<()> {
    let percent = |value: u64| value as f64 * 100.0 / found.samples.max(1) as f64;
    writeln!(out, "# {} {} of {} functions", found.samples, found.unit, found.total)?;
    writeln!(out, "#    Own  {:>12}    Total  Function", found.unit)?;
    for SampledFunction { name, own, total, .. } in &found.functions {
        let name = visible(name.as_bytes());
        writeln!(out, "{:>7.2}% {own:>13} {:>8.2}%  {name}", percent(*own), percent(*total))?;
    }
    let more = found.total - found.functions.len();
    if more > 0 {
        writeln!(out, "# {more} more")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bathyscope_views::NodeKind;

    use super::*;

    #[test]
    fn shares_are_of_all_samples() {
        let function = |name: &str, own, total| SampledFunction { name: name.into(), kind: NodeKind::User, own, total };
        let functions = vec![function("spin", 30, 30), function("main", 0, 40)];
        let mut out = Vec::new();
        let left_out = bathyscope_views::LeftOutRows::default();
        table(&SampledFunctions { unit: "samples", left_out, samples: 40, total: 3, functions }, &mut out).unwrap();
        let expected = "# 40 samples of 3 functions\n#    Own       samples    Total  Function\n  75.00%            30    75.00%  spin\n   \
             0.00%             0   100.00%  main\n# 1 more\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
