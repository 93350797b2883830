//! Two captures beside each other, as the page, the API and the terminal show them.

use bathyscope_capture::{CaptureId, HostFacts, SpecLine, StreamKind, shown, spec_lines};
use bathyscope_store::{CaptureRecord, CaptureState};
use bathyscope_views::{
    AskedOfBoth, Cancel, CaptureComparison, ComparedFunction, FlameDifference, KeyNumber, KeyWish, MeasuredSide,
    Normalised, Source, TimeRange, ViewError, compare_captures, key_numbers,
};
use serde::Serialize;

use crate::{
    CaptureView, CompareParams, ViewQuery,
    asked::{as_source, asked_differently, asked_of_both, unasked},
};

/// The most functions in an answer.
const MAX_FUNCTIONS: usize = 20;
/// How much the length of two captures may differ before it is said that counts are not of the same time.
const LENGTH_RATIO: f64 = 1.1;

/// Two captures beside each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedCaptures {
    /// The first: what it was before.
    pub a: ComparedCapture,
    /// The second: what it is now.
    pub b: ComparedCapture,
    /// What makes a comparison less than it seems, in whole sentences.
    pub cautions: Vec<String>,
    /// What their specs say.
    pub spec: Vec<SpecLine>,
    /// Facts of their hosts.
    pub host: Vec<ComparedFact>,
    /// Their rows.
    pub rows: CaptureComparison,
    /// Functions in sampled stacks.
    pub functions: ComparedFunctions,
}

/// One of the two.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedCapture {
    /// Its id.
    pub id: CaptureId,
    /// What it is called.
    pub title: String,
    /// What it is doing, or how it ended.
    pub state: CaptureState,
    /// Why it ended.
    pub reason: String,
    /// When it began, nanoseconds since 1970 by the wall clock.
    pub started_unix_ns: i64,
    /// How long it lasted.
    pub duration_ns: u64,
    /// Rows of all streams that were recorded.
    pub rows: u64,
    /// Bytes of it.
    pub bytes: u64,
    /// Events that were lost.
    pub lost: u64,
    /// Whether more may have been lost.
    pub lost_at_least: bool,
    /// Losses by stage and stream.
    pub losses: Vec<ComparedLoss>,
    /// The share of a CPU that its probes used at the last reading, in thousandths; none where it was not measured.
    pub cpu_permille: Option<f64>,
    /// Whether its events were made up.
    pub simulated: bool,
    /// Whether it came in a file.
    pub imported: bool,
}

/// What was lost at a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedLoss {
    /// Where.
    pub stage: &'static str,
    /// Of which stream; empty where that is not known.
    pub stream: String,
    /// How many events.
    pub count: u64,
}

/// A fact of two hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedFact {
    /// Which, in words.
    pub what: &'static str,
    /// Of the first; empty where it is not known.
    pub a: String,
    /// Of the second.
    pub b: String,
    /// Whether both are alike.
    pub same: bool,
}

/// Functions of two captures, by their shares of samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ComparedFunctions {
    /// Those that changed most; values of the first are scaled to the samples of the second.
    pub items: Vec<ComparedFunction>,
    /// How many were compared.
    pub compared: usize,
    /// How many changed by more than chance.
    pub changed: usize,
    /// Samples of the first.
    pub a_total: u64,
    /// Samples of the second.
    pub b_total: u64,
    /// What is counted: `samples`, `ns` …; empty where nothing is compared.
    pub unit: &'static str,
    /// Why they are not compared; none if they are.
    pub why_not: Option<String>,
}

/// Compares two captures. It reads their rows, so it must run where it may wait.
///
/// # Errors
/// If rows cannot be read, or `cancel` was set.
pub fn compared_captures(a: &CaptureView, b: &CaptureView, cancel: &Cancel) -> Result<ComparedCaptures, ViewError> {
    let (of_a, of_b) = (a.record(), b.record());
    let unasked = unasked(of_a, of_b);
    let both = (asked_of_both(a, unasked.as_ref()), asked_of_both(b, unasked.as_ref()));
    let rows = compare_captures(a.measured(both.0.as_ref()), b.measured(both.1.as_ref()), cancel);
    let mut cautions = cautions(of_a, of_b);
    if let Some(unasked) = &unasked {
        for (view, whose, other) in
            [(a, "of the first", "the second did not ask for"), (b, "of the second", "the first did not ask for")]
        {
            let count = unasked.count(view, None, (TimeRange::ALL, None), cancel)?;
            cautions.extend(count.sentence(whose, other));
        }
    }
    let rows = rows.and_then(|rows| {
        // What either could not load makes the numbers wrong.
        a.checked(Ok(()))?;
        b.checked(Ok(rows))
    })?;
    let spec = spec_lines(&of_a.spec, &of_b.spec).into_iter().map(shown_line).collect();
    Ok(ComparedCaptures {
        a: ComparedCapture::of(of_a),
        b: ComparedCapture::of(of_b),
        cautions,
        spec,
        host: facts(&of_a.host, &of_b.host),
        rows,
        functions: functions(a, b, cancel)?,
    })
}

/// The key numbers of a capture that has ended. It reads its rows.
///
/// # Errors
/// If rows cannot be read, or `cancel` was set.
pub fn capture_key_numbers(
    view: &CaptureView,
    wishes: &[KeyWish],
    cancel: &Cancel,
) -> Result<Vec<KeyNumber>, ViewError> {
    view.checked(key_numbers(view.measured(None), wishes, cancel))
}

impl CaptureView {
    /// As one of two, or as a run: from its start to its end, without what only one asked for if there are `both`.
    fn measured<'a>(&'a self, both: Option<&'a AskedOfBoth<'a>>) -> MeasuredSide<'a> {
        let (start_ns, end_ns) = (self.record().start_ns, self.record().end_ns);
        MeasuredSide { source: as_source(self, both), span: TimeRange { start_ns, end_ns: end_ns.max(start_ns) } }
    }
}

impl ComparedCapture {
    fn of(record: &CaptureRecord) -> Self {
        let name = |stream: Option<u16>| {
            let stream = stream.and_then(|stream| record.streams.get(usize::from(stream)));
            stream.map_or_else(String::new, |stream| shown(&stream.schema.name))
        };
        let mut losses: Vec<ComparedLoss> = Vec::new();
        for loss in record.ledger.losses.iter().filter(|loss| loss.count > 0) {
            let (stage, stream) = (loss.stage.as_str(), name(loss.stream));
            match losses.iter_mut().find(|other| (other.stage, &other.stream) == (stage, &stream)) {
                Some(other) => other.count = other.count.saturating_add(loss.count),
                None => losses.push(ComparedLoss { stage, stream, count: loss.count }),
            }
        }
        losses.sort_by_key(|loss| std::cmp::Reverse(loss.count));
        let readings = record.streams.iter().filter_map(|stream| stream.reading?.cpu_permille);
        let recorded = record.streams.iter().filter(|stream| stream.schema.is_recorded());
        Self {
            id: record.id,
            title: shown(&record.title),
            state: record.state,
            reason: shown(&record.reason),
            started_unix_ns: record.started_unix_ns,
            duration_ns: record.end_ns.saturating_sub(record.start_ns),
            rows: recorded.map(|stream| stream.rows).sum(),
            bytes: record.size_bytes,
            lost: record.ledger.lost_total(),
            lost_at_least: record.ledger.is_lower_bound(),
            losses,
            cpu_permille: readings.reduce(|sum, one| sum + one),
            simulated: record.simulated,
            imported: record.origin == bathyscope_store::Origin::Imported,
        }
    }
}

fn shown_line(line: SpecLine) -> SpecLine {
    // Line by line, as what a text of several lines says differently is told so.
    let text = |text: Option<String>| text.map(|text| text.lines().map(shown).collect::<Vec<_>>().join("\n"));
    SpecLine { part: shown(&line.part), what: shown(&line.what), a: text(line.a), b: text(line.b), same: line.same }
}

fn facts(a: &HostFacts, b: &HostFacts) -> Vec<ComparedFact> {
    let fact = |what, of: &dyn Fn(&HostFacts) -> String| {
        let (a, b) = (shown(&of(a)), shown(&of(b)));
        ComparedFact { what, same: a == b, a, b }
    };
    let number = |number: u64| if number == 0 { String::new() } else { number.to_string() };
    vec![
        fact("host", &|host| host.hostname.clone()),
        fact("kernel", &|host| host.kernel_release.clone()),
        fact("kernel build", &|host| host.kernel_build_id.clone()),
        fact("machine", &|host| host.machine.clone()),
        fact("CPUs", &|host| number(host.cpus.into())),
        fact("memory in bytes", &|host| number(host.memory_bytes)),
        fact("boot", &|host| host.boot_id.clone()),
        fact("target", &|host| host.target_name.clone()),
    ]
}

/// What makes the comparison less than it seems.
fn cautions(a: &CaptureRecord, b: &CaptureRecord) -> Vec<String> {
    let mut all = Vec::new();
    for (which, record) in [("first", a), ("second", b)] {
        cautions_of(which, record, &mut all);
        let lost = record.ledger.lost_total();
        if lost > 0 {
            all.push(format!("The {which} lost {lost} events: a difference that they can explain is not called one."));
        }
    }
    all.extend(other_host(a, b));
    all.extend(asked_differently(a, b));
    let length = |record: &CaptureRecord| record.end_ns.saturating_sub(record.start_ns) as f64;
    let (shorter, longer) = (length(a).min(length(b)), length(a).max(length(b)));
    if longer > shorter * LENGTH_RATIO {
        all.push("One lasted longer than the other: compare rates, and not counts.".to_owned());
    }
    all
}

/// What makes a comparison of views less than it seems, beside losses, which each view tells of its range.
pub(crate) fn cautions_of_sides(here: &CaptureRecord, there: &CaptureRecord) -> Vec<String> {
    let mut all = Vec::new();
    cautions_of("capture here", here, &mut all);
    if here.id != there.id {
        cautions_of("capture there", there, &mut all);
        all.extend(other_host(here, there));
        all.extend(asked_differently(here, there));
    }
    all
}

/// What makes the numbers of one capture less than they seem.
fn cautions_of(which: &str, record: &CaptureRecord, all: &mut Vec<String>) {
    match (record.state, record.ledger.is_lower_bound()) {
        (CaptureState::Recording, _) => all.push(format!("The {which} is being recorded: its numbers still change.")),
        (CaptureState::Interrupted | CaptureState::AgentLost, _) | (_, true) => {
            all.push(format!("The {which} broke off: what came after is not in it."));
        }
        (CaptureState::Failed, _) => all.push(format!("The {which} failed: {}", shown(&record.reason))),
        (CaptureState::Finished, _) => {}
    }
    if record.ledger.losses.iter().any(|loss| loss.stage.as_str() == "limited" && loss.count > 0) {
        all.push(format!("The {which} was thinned, as it cost too much: what is missing is not missing by chance."));
    }
    if record.simulated {
        all.push(format!("The events of the {which} were made up."));
    }
}

/// How far the hosts differ.
fn other_host(a: &CaptureRecord, b: &CaptureRecord) -> Option<String> {
    if a.host.hostname != b.host.hostname {
        Some("They were recorded on two hosts, whose speed and load may differ by themselves.".to_owned())
    } else if a.host.boot_id != b.host.boot_id {
        Some("The host was started again between them: their clocks do not go on from each other.".to_owned())
    } else {
        None
    }
}

/// Functions by their shares of samples, if both have sampled stacks.
fn functions(a: &CaptureView, b: &CaptureView, cancel: &Cancel) -> Result<ComparedFunctions, ViewError> {
    let why_not = |why: String| Ok(ComparedFunctions { why_not: Some(why), ..ComparedFunctions::default() });
    let has_samples = |view: &CaptureView| view.streams().iter().any(|schema| schema.kind == StreamKind::Samples);
    match (has_samples(a), has_samples(b)) {
        (true, true) => {}
        (false, false) => return why_not("neither has sampled stacks".to_owned()),
        (false, true) => return why_not("the first has no sampled stacks".to_owned()),
        (true, false) => return why_not("the second has no sampled stacks".to_owned()),
    }
    let query = ViewQuery::default();
    let params = CompareParams { with: a.record().id.to_string(), ..CompareParams::default() };
    match params.answer(&query, b, std::slice::from_ref(a), cancel) {
        Ok(found) => Ok(told(found)),
        Err(
            error @ (ViewError::ComparedUnits { .. }
            | ViewError::ComparedRates { .. }
            | ViewError::ComparedWeight { .. }),
        ) => why_not(error.to_string()),
        Err(error) => Err(error),
    }
}

fn told(found: FlameDifference) -> ComparedFunctions {
    debug_assert_eq!(found.normalised, Normalised::Total, "shares");
    ComparedFunctions {
        compared: found.compared,
        changed: found.significant,
        a_total: found.other_totals.first().copied().unwrap_or(0),
        b_total: found.graph.total,
        unit: found.graph.unit,
        // Those that only call others have no samples of their own in either.
        items: found.functions.into_iter().filter(|it| it.own > 0 || it.other_own > 0.0).take(MAX_FUNCTIONS).collect(),
        why_not: None,
    }
}
