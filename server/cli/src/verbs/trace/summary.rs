//! What is said at the end: how much there was, what was lost, what it cost; and the functions of a profile.

use std::collections::{BTreeMap, HashMap, HashSet};

use bathyscope_capture::{CaptureId, LossStage, StackId, StreamSchema, StringId, decode_chunk, visible};
use bathyscope_store::{CaptureRecord, Store};
use bathyscope_views::{Dictionaries, frame_names};

use super::records::{self, Records};
use crate::{Failure, Outcome, verbs::print_all};

/// Functions that are printed.
const TOP: usize = 30;

/// Prints the summary on standard error.
#[expect(clippy::print_stderr, reason = "standard output is for rows")]
pub(in crate::verbs) async fn print(
    store: &Store,
    id: CaptureId,
    saved: Option<&str>,
    detached: bool,
) -> Result<(), Failure> {
    let record = store.capture(id).await.map_err(|error| Failure::because("reading the capture", error))?;
    eprint!("{}", text(&record, saved.is_some(), detached));
    Ok(())
}

/// Whether the kernel keeps the time of what records a source. Of a stream that does not say whose it is, all of the capture's
/// sources must be so.
fn is_measured(record: &CaptureRecord, source: &str) -> bool {
    let sources = &record.spec.sources;
    match sources.iter().find(|one| one.id == source) {
        Some(one) => one.method.kind().loads_programs(),
        None => record.spec.kinds().iter().all(|kind| kind.loads_programs()),
    }
}

/// What is said at the end. After the guard has detached the probes nothing was recorded, so it is not said that nothing was
/// lost.
fn text(record: &CaptureRecord, saved: bool, detached: bool) -> String {
    let seconds = record.end_ns.saturating_sub(record.start_ns) as f64 / 1e9;
    let mut text = format!("{}: {} after {seconds:.1} s\n", record.state, record.reason);
    for (index, stream) in record.streams.iter().enumerate() {
        let totals = record.ledger.streams.get(index).copied().unwrap_or_default();
        let name = &stream.schema.name;
        text.push_str(&format!(
            "{name}: {} hits, {} filtered, {} recorded",
            totals.hits, totals.filtered, totals.stored
        ));
        if let Some(reading) = stream.reading
            && let (Some(ns), Some(permille)) = (reading.ns_per_hit, reading.cpu_permille)
        {
            let (about, estimate) =
                if is_measured(record, &stream.schema.source) { ("", "") } else { ("about ", " (estimated)") };
            text.push_str(&format!("; {about}{ns:.0} ns a hit, {:.1} % of one CPU{estimate}", permille / 10.0));
        }
        text.push('\n');
    }
    for hint in bathyscope_link::dynamic::hints(&record.spec) {
        text.push_str(&format!("note: {hint}\n"));
    }
    let mut lost: HashMap<LossStage, u64> = HashMap::new();
    if record.ledger.is_lower_bound() {
        text.push_str(&format!("{}\n", record.ledger.lost_words()));
    }
    record.ledger.losses.iter().for_each(|loss| *lost.entry(loss.stage).or_insert(0) += loss.count);
    let mut lost: Vec<_> = lost.into_iter().collect();
    lost.sort();
    if lost.is_empty() && !detached {
        text.push_str("nothing was lost\n");
    }
    for (stage, count) in lost {
        let count = if stage == LossStage::Interrupted { format!("at least {count}") } else { count.to_string() };
        text.push_str(&format!("LOST {count}: {}\n", stage_words(stage)));
    }
    if saved {
        text.push_str(&format!("kept as {}\n", record.id));
    }
    if detached {
        text.push_str(&format!("DETACHED by the guard: {}; what happened after that is not recorded\n", record.reason));
    }
    text
}

fn stage_words(stage: LossStage) -> &'static str {
    match stage {
        LossStage::KernelMissed => "the probe was not run",
        LossStage::Limited => "the limit of rows or bytes a second was reached",
        LossStage::RingFull => "the ring between kernel and console was full",
        LossStage::Decode => "a record could not be decoded",
        LossStage::Store => "they could not be stored",
        LossStage::MapFull => "a map of the script was full",
        LossStage::StackLost => "a stack could not be kept",
        LossStage::HelperFailed => "a value could not be read",
        LossStage::Interrupted => "they did not arrive",
        LossStage::NotKept => "they left the memory of the flight recorder",
    }
}

/// Prints the functions of a profile: a table, or its stacks as JSON.
pub(super) async fn print_profile(store: &Store, id: CaptureId, json: bool) -> Outcome {
    let failed = |error| Failure::because("reading the samples", error);
    let (events, dictionaries, records) = read(store, id).await.map_err(failed)?;
    let mut text = String::new();
    for (event, counts) in &events {
        let event = event.map(|id| visible(dictionaries.text(id).unwrap_or_default()));
        let names: HashMap<StackId, Vec<String>> = counts.keys().map(|id| (*id, names(&dictionaries, *id))).collect();
        let event = event.as_deref();
        text += &if json { stacks(event, counts, &names) } else { table(event, counts, &names) };
    }
    print_all(&(text + &records.shown(&dictionaries, json)))
}

/// How often each stack was sampled, by event where there are several.
type Counts = BTreeMap<Option<StringId>, HashMap<StackId, u64>>;

/// How often each stack was sampled, what names need, and what samples tell beside.
async fn read(store: &Store, id: CaptureId) -> Result<(Counts, Dictionaries, Records), bathyscope_store::StoreError> {
    let record = store.capture(id).await?;
    let mut counts = Counts::new();
    let Some(stream) = record.streams.first() else {
        return Ok((counts, Dictionaries::default(), Records::default()));
    };
    let records = records::read(store, id, &record).await?;
    let event = stream.schema.column("event");
    let columns: Vec<usize> = std::iter::once(StreamSchema::STACK).chain(event).collect();
    if event.is_none() {
        // One that took no samples has an empty table.
        counts.insert(None, HashMap::new());
    }
    for info in store.chunk_index(id, 0, 0).await? {
        let bytes = store.chunk(id, 0, info.seq).await?;
        if let Ok(batch) = decode_chunk(&stream.schema, &bytes, &columns) {
            let ids = |column: usize| batch.columns.get(column).map(|column| column.as_id()).unwrap_or_default();
            let events = event.map(ids).unwrap_or_default();
            for (row, stack) in ids(StreamSchema::STACK).iter().enumerate() {
                let of_event = counts.entry(events.get(row).copied()).or_default();
                *of_event.entry(*stack).or_insert(0) += 1;
            }
        }
    }
    let mut all = Dictionaries::default();
    let strings = if records.is_empty() && event.is_none() { Vec::new() } else { store.strings(id, 0).await? };
    strings.into_iter().for_each(|(id, text)| all.insert_string(id, text));
    for (id, stack) in store.stacks(id, 0).await? {
        all.insert_stack(id, stack);
    }
    for (id, frame) in store.frames(id, 0).await? {
        all.insert_frame(id, frame);
    }
    for (id, mapping) in store.mappings(id, 0).await? {
        all.insert_mapping(id, mapping);
    }
    for (id, symbol) in store.symbols(id, 0).await? {
        all.insert_symbol(id, symbol);
    }
    Ok((counts, all, records))
}

/// The functions of a stack, innermost first, inlined ones among them.
fn names(dictionaries: &Dictionaries, stack: StackId) -> Vec<String> {
    let frames = dictionaries.stack(stack).unwrap_or_default();
    let names: Vec<String> =
        frames.iter().flat_map(|frame| frame_names(dictionaries, *frame)).map(|(name, _)| name).collect();
    if names.is_empty() { vec!["[no stack]".to_owned()] } else { names }
}

fn table(event: Option<&str>, counts: &HashMap<StackId, u64>, names: &HashMap<StackId, Vec<String>>) -> String {
    let mut functions: HashMap<&str, (u64, u64)> = HashMap::new();
    for (stack, count) in counts {
        let Some(names) = names.get(stack) else { continue };
        if let Some(innermost) = names.first() {
            functions.entry(innermost).or_default().0 += count;
        }
        let once: HashSet<&str> = names.iter().map(String::as_str).collect();
        once.into_iter().for_each(|name| functions.entry(name).or_default().1 += count);
    }
    let all: u64 = counts.values().sum();
    let mut functions: Vec<(&str, (u64, u64))> = functions.into_iter().collect();
    functions.sort_by(|(a_name, a), (b_name, b)| b.cmp(a).then_with(|| a_name.cmp(b_name)));
    let of = event.map_or_else(String::new, |event| format!(" of {event}"));
    let mut text = format!("{all} samples{of}\n{:>7} {:>7}  function\n", "self", "total");
    for (name, (own, total)) in functions.into_iter().take(TOP) {
        let percent = |count: u64| 100.0 * count as f64 / all.max(1) as f64;
        text.push_str(&format!("{:>6.1}% {:>6.1}%  {name}\n", percent(own), percent(total)));
    }
    text
}

/// One object for each stack, the most frequent first, its functions innermost first.
fn stacks(event: Option<&str>, counts: &HashMap<StackId, u64>, names: &HashMap<StackId, Vec<String>>) -> String {
    let mut counts: Vec<(&StackId, &u64)> = counts.iter().collect();
    counts.sort_by(|(a_id, a), (b_id, b)| b.cmp(a).then_with(|| a_id.cmp(b_id)));
    let line = |(stack, count): (&StackId, &u64)| {
        let names = names.get(stack).map(Vec::as_slice).unwrap_or_default();
        let line = match event {
            None => serde_json::json!({ "samples": count, "stack": names }),
            Some(event) => serde_json::json!({ "event": event, "samples": count, "stack": names }),
        };
        format!("{line}\n")
    };
    counts.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_self_and_total_once_a_sample() {
        let counts = HashMap::from([(1, 3), (2, 1)]);
        let stack = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let names = HashMap::from([(1, stack(&["leaf", "again", "again", "main"])), (2, stack(&["main"]))]);
        let text = table(None, &counts, &names);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "4 samples");
        assert_eq!(lines[2], "  75.0%   75.0%  leaf");
        assert_eq!(lines[3], "  25.0%  100.0%  main");
        assert_eq!(lines[4], "   0.0%   75.0%  again");
        assert!(table(Some("cs"), &counts, &names).starts_with("4 samples of cs\n"));
        assert_eq!(stacks(None, &counts, &names).lines().count(), 2);
    }
}
