//! `captures compute`: streams that are computed from what a capture has recorded.

use std::fmt::Write as _;

use bathyscope_capture::visible;
use bathyscope_catalog::closest;
use bathyscope_derive::{DerivationCount, DerivationCounts, RuleSpec, Span};
use bathyscope_recorder::{DerivationFailure, derive, rules_of};
use bathyscope_store::{CaptureRecord, DerivationRecord, DerivationState, Store, StoreError};
use clap::Args;

use super::{super::chosen::ChosenCapture, no_captures, open};
use crate::{Failure, config::DataArgs};

const EXAMPLES: &str = "\
Examples:
  bathyscope captures compute newest                    all that it has the events for
  bathyscope captures compute newest --list
  bathyscope captures compute newest --span 'requests: begin = net:net_dev_queue on (skbaddr), end = net:net_dev_xmit on (skbaddr), exclusive'
  bathyscope captures compute newest --remove 'thread states'
  bathyscope query newest 'select state, sum(duration_ns) from thread_states group by state'";

/// What `captures compute` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ComputeArgs {
    /// Which capture: its id, or `newest`
    pub id: ChosenCapture,
    /// What [default: all that --list lists]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// A span from a row to the next with the same key: 'NAME: begin = STREAM on (COLUMN) [if CONDITION], end = STREAM on (COLUMN)'
    #[arg(long, value_name = "SPAN")]
    pub span: Vec<String>,
    /// Remove what was computed under this name; what was recorded stays
    #[arg(long, value_name = "NAME", conflicts_with_all = ["names", "span"])]
    pub remove: Vec<String>,
    /// Only say what was computed, and what can be
    #[arg(long, conflicts_with_all = ["names", "span", "remove"])]
    pub list: bool,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
}

/// Does it; gives what is to be printed.
pub(super) fn run(args: &ComputeArgs) -> Result<String, Failure> {
    let spans = args.span.iter().map(|text| {
        let span: Result<Span, _> = text.parse();
        span.map_err(|error| Failure::because(format!("reading the span `{text}`"), error))
    });
    let spans: Vec<Span> = spans.collect::<Result<_, _>>()?;
    let work = async |store: Store| {
        let Some(id) = args.id.id(&store).await? else { return Ok(Err(no_captures())) };
        let record = store.capture(id).await?;
        if args.list {
            return Ok(Ok(listed(&record)));
        }
        if args.remove.is_empty() {
            compute(&store, &record, args, spans).await
        } else {
            remove(&store, &record, args).await
        }
    };
    if args.list { open::reading(&args.data, work)? } else { open::writing(&args.data, work)? }
}

type Printed = Result<Result<String, Failure>, StoreError>;

async fn compute(store: &Store, record: &CaptureRecord, args: &ComputeArgs, spans: Vec<Span>) -> Printed {
    let possible = rules_of(record);
    let mut rules: Vec<RuleSpec> = Vec::new();
    for name in &args.names {
        match possible.iter().find(|rule| rule.name() == name) {
            Some(rule) => rules.push(rule.clone()),
            None => return Ok(Err(unknown(name, &possible))),
        }
    }
    if args.names.is_empty() && spans.is_empty() {
        rules = possible.into_iter().filter(|rule| !is_there(record, rule.name())).collect();
    }
    rules.extend(spans.into_iter().map(|span| RuleSpec::Span(Box::new(span))));
    let mut out = String::new();
    for rule in rules {
        if is_there(record, rule.name()) {
            let failure = Failure::new(format!("`{}` is computed already", rule.name()));
            return Ok(Err(failure.remedy("--remove removes it.")));
        }
        let (blocking, of) = (store.blocking(), record.clone());
        let named = rule.name().to_owned();
        // Nothing else runs here that the work could hold up.
        let rows = match tokio::task::block_in_place(|| derive(&blocking, &of, &rule)) {
            Ok(rows) => rows,
            Err(DerivationFailure::Store(error)) => return Err(error),
            Err(error) => return Ok(Err(Failure::because(format!("computing `{named}`"), error))),
        };
        let record = store.capture(record.id).await?;
        let untold = record
            .derivations
            .iter()
            .filter(|it| name_of(it).as_deref() == Some(&named))
            .map(|it| untold_words(&record, it));
        let untold: String = untold.collect();
        let _infallible = writeln!(out, "{}: {rows} rows{untold}", visible(named.as_bytes()));
    }
    if out.is_empty() {
        out.push_str("Nothing is left to be computed.\n");
    }
    Ok(Ok(out))
}

fn unknown(name: &str, possible: &[RuleSpec]) -> Failure {
    let near = closest(name, possible.iter().map(RuleSpec::name));
    let near = near.map_or_else(String::new, |near| format!("Did you mean `{near}`? "));
    let failure = Failure::new(format!("this capture has not the events that `{name}` is computed from"));
    failure.remedy(format!("{near}--list lists what can be computed."))
}

async fn remove(store: &Store, record: &CaptureRecord, args: &ComputeArgs) -> Printed {
    let mut out = String::new();
    for name in &args.remove {
        let found = record
            .derivations
            .iter()
            .find(|it| it.state == DerivationState::Complete && name_of(it).as_ref() == Some(name));
        let Some(found) = found else {
            let failure = Failure::new(format!("nothing was computed under the name `{name}`"));
            return Ok(Err(failure.remedy("--list lists what was.")));
        };
        store.remove_derivation(record.id, found.number, None).await?;
        let _infallible = writeln!(out, "{}: removed", visible(name.as_bytes()));
    }
    Ok(Ok(out))
}

fn listed(record: &CaptureRecord) -> String {
    let mut out = String::new();
    for it in &record.derivations {
        let name = name_of(it).unwrap_or_else(|| "a rule of another version".to_owned());
        let state = match it.state {
            DerivationState::Following => "follows the capture while it is recorded",
            DerivationState::Computing => "is being computed, or was when its console ended",
            DerivationState::Complete => "computed",
            DerivationState::Failed => "failed",
            DerivationState::Removed => "removed",
        };
        let reason = if it.reason.is_empty() { String::new() } else { format!(": {}", visible(it.reason.as_bytes())) };
        let _infallible = writeln!(out, "{}: {state}{reason}{}", visible(name.as_bytes()), untold_words(record, it));
    }
    for rule in rules_of(record).iter().filter(|rule| !is_there(record, rule.name())) {
        let _infallible = writeln!(out, "{}: can be computed", rule.name());
    }
    if out.is_empty() {
        out.push_str("Nothing was computed, and the capture has no events that anything is computed from but spans of your own.\n");
    }
    out
}

fn name_of(it: &DerivationRecord) -> Option<String> {
    serde_json::from_str::<RuleSpec>(&it.rule).ok().map(|rule| rule.name().to_owned())
}

fn is_there(record: &CaptureRecord, name: &str) -> bool {
    record.derivations.iter().any(|it| it.state == DerivationState::Complete && name_of(it).as_deref() == Some(name))
}

/// What could not be told, after a comma each.
fn untold_words(record: &CaptureRecord, it: &DerivationRecord) -> String {
    let counts: Vec<(DerivationCount, u64)> = serde_json::from_str(&it.counts).unwrap_or_default();
    let is_missing = counts.iter().any(|(what, _)| what.proves_loss());
    let note = if is_missing && record.ledger.lost_nothing() { DerivationCounts::NOT_REPORTED } else { "" };
    let words = counts.into_iter().map(|(what, count)| format!(", {count} {}", what.words()));
    words.chain((!note.is_empty()).then(|| format!("; {note}"))).collect()
}
