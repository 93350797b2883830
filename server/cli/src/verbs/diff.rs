//! `diff`: the functions of two profiles beside each other, as `perf diff` shows them, and which differences are more than
//! chance.

use std::{
    io::{BufWriter, Write as _},
    process::ExitCode,
};

use bathyscope_capture::{CaptureId, visible};
use bathyscope_formats::{DiffText, write_perf_diff};
use bathyscope_reader::{CaptureCache, CaptureView, CompareParams};
use bathyscope_store::{Store, StoreError};
use bathyscope_views::{Cancel, FlameDifference, ViewError};
use clap::{Args, ValueEnum};

use super::{
    chosen::ChosenCapture,
    open,
    range::{RangeArgs, moment},
    report::samples::percent,
};
use crate::{Failure, Outcome, config::DataArgs};

/// What `diff` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Of several baselines the median counts. Chance is what sampling the same program again would give: functions that differ by more are \
named first. By time, or as counted, only samples that were taken equally often are compared.

Examples:
  bathyscope diff                                       the newest with the one before
  bathyscope diff 00f1e2d3c4b5a697 newest               what the newest profile has more and less of
  bathyscope diff 00f1e2d3c4b5a697 11f1e2d3c4b5a697 newest --significant
  bathyscope diff newest newest --to 2s --with-from 8s --with-to 10s
  bathyscope diff newest newest -F 'cpu == 1' --with-filter 'cpu == 0'")]
pub struct DiffArgs {
    /// The baseline, or several, and last the capture that is compared with them: ids, `newest` or `previous` [default: previous newest]
    #[arg(value_name = "CAPTURE")]
    pub captures: Vec<ChosenCapture>,
    /// Only samples that satisfy this predicate, or contain this text
    #[arg(short = 'F', long, value_name = "FILTER", default_value = "")]
    pub filter: String,
    /// Of which part of the last capture.
    #[command(flatten)]
    pub range: RangeArgs,
    /// Of the baseline only from this time after its start
    #[arg(long, visible_alias = "with-from", value_name = "TIME", allow_hyphen_values = true, value_parser = moment)]
    pub with_start: Option<i64>,
    /// Of the baseline only until this time after its start
    #[arg(long, visible_alias = "with-to", value_name = "TIME", allow_hyphen_values = true, value_parser = moment)]
    pub with_end: Option<i64>,
    /// Samples of the baseline, if they are others
    #[arg(long, value_name = "FILTER")]
    pub with_filter: Option<String>,
    /// Differences of shares, or how many times as much
    #[arg(short = 'c', long, value_enum, value_name = "WHAT", default_value_t)]
    pub compute: Compute,
    /// By what samples are compared: shares of all, samples a second, or as they were counted
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    pub by: Measure,
    /// What is added up: samples, nanoseconds, bytes, cpu_time, rows (@STREAM) or a column (COLUMN@STREAM)
    #[arg(long, visible_alias = "weight", value_name = "WEIGHT")]
    pub unit: Option<String>,
    /// Only functions whose difference is more than chance
    #[arg(long)]
    pub significant: bool,
    /// Only functions that have at least this share of one of them, in percent
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "0")]
    pub percent_limit: f64,
    /// One JSON object for each function
    #[arg(long)]
    pub json: bool,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
}

/// What the column of differences has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Compute {
    /// How many percent of all samples more or less.
    #[default]
    #[value(alias = "delta-abs")]
    Delta,
    /// How many times as much.
    Ratio,
}

/// By what samples are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Measure {
    /// Shares of all samples.
    #[default]
    Total,
    /// Samples in the same time.
    Time,
    /// As they were counted.
    None,
}

/// Prints it.
///
/// # Errors
/// If a capture is not there, samples cannot be compared, or the table cannot be written.
pub fn run(args: DiffArgs) -> Outcome {
    if args.captures.len() == 1 {
        let failure = Failure::new("one capture is given, and two are compared");
        return Err(failure.remedy("Write the baseline before it, such as `bathyscope diff previous newest`."));
    }
    let Some(found) = open::reading(&args.data, async |store| compared(store, &args).await)? else {
        let failure = Failure::new("there are no two captures to compare");
        return Err(failure.remedy("Record them with `bathyscope profile --save NAME`."));
    };
    let (difference, heads) = found.map_err(|error| Failure::because("comparing the captures", error))?;
    let ratio = args.compute == Compute::Ratio;
    let text = DiffText { heads, percent_limit: args.percent_limit, only_significant: args.significant, ratio };
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written =
        if args.json { json(&difference, &args, &mut out) } else { write_perf_diff(&difference, &text, &mut out) };
    match written.and_then(|()| out.flush().map_err(ViewError::Write)) {
        Err(ViewError::Write(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        done => done.map(|()| ExitCode::SUCCESS).map_err(|error| Failure::because("printing the comparison", error)),
    }
}

fn json(found: &FlameDifference, args: &DiffArgs, out: &mut dyn std::io::Write) -> Result<(), ViewError> {
    let all = found.functions.iter().filter(|function| !args.significant || function.is_significant);
    all.into_iter().try_for_each(|function| {
        let line = serde_json::to_string(function).map_err(|error| ViewError::Write(error.into()))?;
        writeln!(out, "{line}").map_err(ViewError::Write)
    })
}

type Compared = Result<(FlameDifference, Vec<String>), ViewError>;

async fn compared(store: Store, args: &DiffArgs) -> Result<Option<Compared>, StoreError> {
    let cache = CaptureCache::new(store.clone());
    let mut ids: Vec<CaptureId> = Vec::with_capacity(args.captures.len());
    let usual = [ChosenCapture::Previous, ChosenCapture::Newest];
    let chosen = if args.captures.is_empty() { &usual[..] } else { &args.captures };
    for chosen in chosen {
        let Some(id) = chosen.compared_id(&store).await? else { return Ok(None) };
        ids.push(id);
    }
    let Some((last, baselines)) = ids.split_last() else { return Ok(None) };
    let mut others: Vec<CaptureView> = Vec::with_capacity(baselines.len());
    for id in baselines {
        others.push(cache.view(*id, false).await?);
    }
    let here = cache.view(*last, false).await?;
    let params = CompareParams {
        with: baselines.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        with_start: args.with_start,
        with_end: args.with_end,
        with_filter: args.with_filter.clone(),
        normalised: match args.by {
            Measure::Total => "total",
            Measure::Time => "time",
            Measure::None => "none",
        }
        .to_owned(),
        turned: None,
    };
    // Checks how many there are.
    let query = bathyscope_reader::ViewQuery {
        unit: args.unit.clone().unwrap_or_default(),
        ..args.range.query(args.filter.clone())
    };
    // Nothing else runs here that the work could hold up.
    let answer = tokio::task::block_in_place(|| {
        params.captures()?;
        let found = params.answer(&query, &here, &others, &Cancel::new(false))?;
        let heads = heads(&found, &here, &others);
        Ok((found, heads))
    });
    Ok(Some(here.checked(answer)))
}

/// What is compared, in lines.
fn heads(found: &FlameDifference, here: &CaptureView, others: &[CaptureView]) -> Vec<String> {
    let line = |what: &str, view: &CaptureView, samples: u64| {
        let record = view.record();
        format!("{what} {}: {samples} {} of {}", record.id, found.graph.unit, visible(record.spec.name.as_bytes()))
    };
    let baselines = others.iter().zip(&found.other_totals).map(|(view, total)| line("Baseline", view, *total));
    baselines.chain([line("Compared", here, found.graph.total)]).collect()
}
