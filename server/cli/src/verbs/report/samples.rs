//! `report` of samples: rows by keys with their chains of calls, as `perf report --stdio` prints them.

use std::io::{BufWriter, Write as _};

use bathyscope_capture::{StreamKind, visible};
use bathyscope_formats::{ChainShape, ReportText, write_perf_report, write_report_json};
use bathyscope_reader::CaptureView;
use bathyscope_views::{
    Cancel, ChainOrder, ReportKey, ReportQuery, SampleReport, Source as _, ViewError, sample_report, sampled_streams,
};
use clap::Args;

use super::ReportArgs;
use crate::Failure;

/// Branches of chains with a smaller share, in percent, are left out unless another is given, as with perf.
const USUAL_PERCENT: f64 = 0.5;

/// The options of `perf report`.
#[derive(Clone, Debug, Default, Args)]
pub struct SampleArgs {
    /// Samples by comm, dso and symbol, as `perf report` prints them; what is printed of a profile unless --rows is given
    #[arg(long)]
    pub stdio: bool,
    /// Samples by these keys: comm, dso, symbol (or sym), srcline, cpu, pid, tid, cgroup [default: comm,dso,symbol]
    #[arg(short, long, value_name = "KEY,…", value_delimiter = ',', value_parser = key)]
    pub sort: Vec<ReportKey>,
    /// With the number of samples of each row
    #[arg(short = 'n', long)]
    pub show_nr_samples: bool,
    /// Functions by their samples with those of what they called; the default where samples have callers
    #[arg(long)]
    pub children: bool,
    /// Functions by their own samples
    #[arg(long, conflicts_with = "children")]
    pub no_children: bool,
    /// How chains of calls are printed: graph, folded or none; from the caller or the callee; branches from so many percent on, such as graph,0.5,caller
    #[arg(short = 'g', long, value_name = "HOW,…", num_args = 0..=1, default_missing_value = "", value_parser = chains)]
    pub call_graph: Option<ChainArgs>,
    /// Only rows with at least this share of the samples, in percent
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub percent_limit: Option<f64>,
    /// Only samples of this stream: its name, or its number from 0
    #[arg(long, value_name = "STREAM")]
    pub stream: Option<String>,
    /// The rows of a profile, each sample in a line
    #[arg(long, conflicts_with_all = ["stdio", "sort", "call_graph", "percent_limit"])]
    pub rows: bool,
}

/// What is said of chains.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChainArgs {
    shape: Option<ChainShape>,
    order: Option<ChainOrder>,
    percent: Option<f64>,
}

/// Reads a key.
fn key(word: &str) -> Result<ReportKey, String> {
    let all = || ReportKey::ALL.map(|(name, _)| name).join(", ");
    ReportKey::named(word.trim()).ok_or_else(|| format!("samples are sorted by {}", all()))
}

/// Reads a share in percent.
pub(in crate::verbs) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<f64>();
    number.ok().filter(|number| (0.0..=100.0).contains(number)).ok_or_else(|| "write a number from 0 to 100".to_owned())
}

/// Reads what stands behind `-g`: words of perf in any order.
fn chains(text: &str) -> Result<ChainArgs, String> {
    let mut read = ChainArgs::default();
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word {
            "graph" => read.shape = Some(ChainShape::Graph),
            "folded" => read.shape = Some(ChainShape::Folded),
            "none" => read.shape = Some(ChainShape::Nothing),
            "caller" => read.order = Some(ChainOrder::Caller),
            "callee" => read.order = Some(ChainOrder::Callee),
            // What is so in any case.
            "function" | "percent" => {}
            "fractal" | "flat" => return Err(format!("{word} is not supported; write graph or folded")),
            "address" | "srcline" | "branch" | "period" | "count" => {
                return Err(format!("{word} is not supported: chains are of functions, with shares of all samples"));
            }
            number => {
                let known = percent(number).map_err(|_number| {
                    "write graph, folded or none, caller or callee, and a percentage, such as graph,0.5,caller; the capture \
                     stands before -g"
                        .to_owned()
                });
                read.percent = Some(known?);
            }
        }
    }
    Ok(read)
}

impl SampleArgs {
    /// Whether an option asks for samples by keys.
    pub(super) fn are_given(&self) -> bool {
        self.stdio
            || self.show_nr_samples
            || self.children
            || self.no_children
            || self.call_graph.is_some()
            || self.percent_limit.is_some()
            || !self.sort.is_empty()
    }

    fn keys(&self) -> Vec<ReportKey> {
        let mut keys = Vec::new();
        for key in &self.sort {
            if !keys.contains(key) {
                keys.push(*key);
            }
        }
        if keys.is_empty() { vec![ReportKey::Comm, ReportKey::Dso, ReportKey::Symbol] } else { keys }
    }
}

/// Whether all that was recorded are samples.
pub(super) fn is_profile(view: &CaptureView) -> bool {
    let mut recorded = view.streams().iter().filter(|schema| schema.derived.is_none()).peekable();
    recorded.peek().is_some() && recorded.all(|schema| schema.kind == StreamKind::Samples)
}

/// Writes a table for each stream of samples.
pub(super) fn write(view: &CaptureView, args: &ReportArgs) -> Result<Result<(), Failure>, ViewError> {
    let streams = match chosen(view, args) {
        Ok(streams) => streams,
        Err(failure) => return Ok(Err(failure)),
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    for (at, (stream, filter)) in streams.into_iter().enumerate() {
        if at > 0 && !args.json {
            writeln!(out).map_err(ViewError::Write)?;
        }
        write_stream(view, args, stream, filter, &mut out)?;
    }
    out.flush().map(Ok).map_err(ViewError::Write)
}

/// The streams of samples that are wanted, with the condition for each.
fn chosen(view: &CaptureView, args: &ReportArgs) -> Result<Vec<(u16, String)>, Failure> {
    let names: Vec<&str> = view.streams().iter().map(|stream| stream.name.as_str()).collect();
    let sampled = sampled_streams(view);
    if sampled.is_empty() {
        let failure = Failure::new("this capture has no samples");
        return Err(failure.remedy(
            "`bathyscope profile --save NAME` records some; --calls ranks functions by what their calls took.",
        ));
    }
    let listed = || {
        let names = sampled.iter().map(|(stream, schema)| format!("{stream} {}", visible(schema.name.as_bytes())));
        names.collect::<Vec<_>>().join(", ")
    };
    let named = |wanted: &str| {
        let of_name = sampled.iter().find(|(stream, schema)| schema.name == wanted || wanted.parse() == Ok(*stream));
        of_name.map(|(stream, _)| *stream).ok_or_else(|| {
            let failure = Failure::new(format!("`{}` is no stream of samples", visible(wanted.as_bytes())));
            failure.remedy(format!("There are: {}.", listed()))
        })
    };
    let only = args.samples.stream.as_deref().map(named).transpose()?;
    let mut chosen = args.filters.chosen(&names)?;
    chosen.retain(|(stream, _)| {
        sampled.iter().any(|(known, _)| known == stream) && only.is_none_or(|only| only == *stream)
    });
    if chosen.is_empty() {
        return Err(Failure::new("the filter leaves no stream of samples").remedy(format!("There are: {}.", listed())));
    }
    Ok(chosen)
}

fn write_stream(
    view: &CaptureView,
    args: &ReportArgs,
    stream: u16,
    filter: String,
    out: &mut dyn std::io::Write,
) -> Result<(), ViewError> {
    let flame = args.range.query(filter).flame(view)?;
    let (wanted, keys) = (args.samples.call_graph.unwrap_or_default(), args.samples.keys());
    let children = !args.samples.no_children;
    let usual = if children { ChainOrder::Caller } else { ChainOrder::Callee };
    let chain_percent = wanted.percent.unwrap_or(USUAL_PERCENT);
    let query = ReportQuery {
        stream,
        range: flame.range,
        filter: flame.filter,
        keys: keys.clone(),
        children,
        chains: (wanted.shape != Some(ChainShape::Nothing)).then(|| wanted.order.unwrap_or(usual)),
        chain_percent,
    };
    let report = sample_report(view, &query, &Cancel::new(false))?;
    let text = ReportText {
        event: view.streams().get(usize::from(stream)).map_or("", |schema| schema.name.as_str()),
        lost: lost(view, stream),
        keys: &keys,
        children: children && (args.samples.children || has_callers(&report)),
        counts: args.samples.show_nr_samples,
        chains: shape(wanted, &report),
        chain_percent,
        percent_limit: args.samples.percent_limit.unwrap_or(0.0),
    };
    if args.json { write_report_json(&report, &text, out) } else { write_perf_report(&report, &text, out) }
}

/// Whether there is a stack with more than one function.
fn has_callers(report: &SampleReport) -> bool {
    report.deepest > 1
}

fn shape(wanted: ChainArgs, report: &SampleReport) -> ChainShape {
    if has_callers(report) { wanted.shape.unwrap_or_default() } else { ChainShape::Nothing }
}

/// How many samples the ledger says were lost.
fn lost(view: &CaptureView, stream: u16) -> String {
    let of_stream = view.losses().iter().filter(|loss| loss.stream.is_none_or(|of| of == stream));
    let count: u64 = of_stream.map(|loss| loss.count).sum();
    if view.record().ledger.is_lower_bound() { format!("at least {count}") } else { count.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_read_as_perf_writes_them() {
        let of = |shape, order, percent| Ok(ChainArgs { shape, order, percent });
        let (graph, folded, nothing) = (ChainShape::Graph, ChainShape::Folded, ChainShape::Nothing);
        for (text, expected) in [
            ("", of(None, None, None)),
            ("caller", of(None, Some(ChainOrder::Caller), None)),
            ("graph,0.5,callee", of(Some(graph), Some(ChainOrder::Callee), Some(0.5))),
            ("folded,caller", of(Some(folded), Some(ChainOrder::Caller), None)),
            ("graph,0.5,caller,function,percent", of(Some(graph), Some(ChainOrder::Caller), Some(0.5))),
            ("none", of(Some(nothing), None, None)),
        ] {
            assert_eq!(chains(text), expected, "{text}");
        }
        for text in ["fractal", "graph,address", "newest", "101", "caller,x"] {
            assert!(chains(text).is_err(), "{text}");
        }
    }
}
