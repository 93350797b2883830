//! The instructions of one function with the samples at each, as `perf annotate --stdio` shows them.
//!
//! Two steps, because instructions are kept apart from samples: [`function_samples`] counts and says where the function is,
//! the caller reads the instructions of one of its places, and [`annotate`] puts both together.

use std::{
    collections::{BTreeMap, HashMap},
    convert::Infallible,
};

use bathyscope_capture::{CodeMissing, FrameId, FunctionCode, MAX_CODES, Machine, MappingKind};

use super::{FlameQuery, Instruction, Weight, count::count, groups::SampleGroups, instructions, weight::Counting};
use crate::{
    Cancel, Dictionaries, Source, ViewError,
    answers::{Annotation, CodePlace, CodeRow, GroupBy, NodeKind, PlaceLine, SampleUnit, ShownCode, SourceLine},
    frame_names,
    needle::shown,
};

/// The most rows of an answer.
pub const MAX_CODE_ROWS: usize = 4000;
/// The most places of an answer.
const MAX_PLACES: usize = 200;
/// Instructions beside a sampled one that are shown where a function has too many.
const BESIDE: usize = 24;

/// The samples that ended in a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionSamples {
    /// The function's name as it is shown.
    pub function: String,
    /// All samples of the query.
    pub total: u64,
    /// Where its code is, the place with the most samples first: functions of several files can have one name, and one that
    /// was inlined is wherever it was.
    pub places: Vec<SampledPlace>,
}

/// A function at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledPlace {
    /// Where.
    pub place: CodePlace,
    /// The function that begins there; another one than was asked for if that was inlined into it.
    pub function: String,
    /// What it is.
    pub kind: NodeKind,
    /// Samples in it.
    pub samples: u64,
    /// Samples by offset from its beginning, with a frame there.
    at: BTreeMap<u64, (u64, FrameId)>,
}

impl FunctionSamples {
    /// The place that is asked for, or else the one with the most samples.
    pub fn chosen(&self, place: Option<CodePlace>) -> Option<&SampledPlace> {
        let asked = place.and_then(|place| self.places.iter().find(|known| known.place == place));
        asked.or(self.places.first())
    }
}

/// Counts the samples of a query that ended in a function, by their places. `function` is a name as [`frame_names()`] shows
/// it; one that contains others by inlining has their samples too.
///
/// # Errors
/// If the query does not fit the capture, a chunk cannot be loaded, or `cancel` was set.
pub fn function_samples(
    source: &dyn Source,
    query: &FlameQuery,
    function: &str,
    cancel: &Cancel,
) -> Result<FunctionSamples, ViewError> {
    let query = FlameQuery { by: GroupBy::None, weight: Weight::Own(Some(SampleUnit::Samples)), ..query.clone() };
    let counting = Counting::of(source, &query.weight)?;
    if counting.and_then(|counting| counting.own_unit()) != Some(SampleUnit::Samples) {
        return Err(ViewError::NoSamples);
    }
    let dictionaries = source.dictionaries();
    let mut by_frame: HashMap<FrameId, u64> = HashMap::new();
    let mut total = 0;
    let counts = count(source, &query, &mut SampleGroups::new(source, GroupBy::None), cancel)?;
    let more = counts.more_by_stack();
    let Ok(()) = dictionaries.for_each_stack(counts.stacks(), |stack, frames| {
        let samples = counts.first(stack) + more.get(&stack).copied().unwrap_or(0);
        total += samples;
        if let Some(frame) = frames.and_then(<[_]>::first) {
            *by_frame.entry(*frame).or_default() += samples;
        }
        Ok::<_, Infallible>(())
    });
    total += counts.beyond().map(|(_, samples)| samples).sum::<u64>();
    let mut places: HashMap<CodePlace, SampledPlace> = HashMap::new();
    for (frame, samples) in by_frame {
        let names = frame_names(dictionaries, frame);
        let Some(outer) = names.last().filter(|_| names.iter().any(|(name, _)| name == function)) else { continue };
        let Some((place, offset)) = place_of(dictionaries, frame) else { continue };
        let known = places.entry(place).or_insert_with(|| SampledPlace {
            place,
            function: outer.0.clone(),
            kind: outer.1,
            samples: 0,
            at: BTreeMap::new(),
        });
        known.samples += samples;
        known.at.entry(offset).or_insert((0, frame)).0 += samples;
    }
    let mut places: Vec<SampledPlace> = places.into_values().collect();
    places.sort_by(|a, b| b.samples.cmp(&a.samples).then(a.place.cmp(&b.place)));
    Ok(FunctionSamples { function: function.to_owned(), total, places })
}

/// Where the function of a frame begins, and the frame's offset from there. What has no name begins where it is.
fn place_of(dictionaries: &Dictionaries, frame: FrameId) -> Option<(CodePlace, u64)> {
    let at = dictionaries.frame(frame)?;
    let named = dictionaries.symbol(frame).filter(|symbol| !symbol.function.is_empty());
    let offset = named.map_or(0, |symbol| symbol.offset);
    let start = at.offset.checked_sub(offset)?;
    Some((CodePlace { mapping: at.mapping, start }, offset))
}

/// Puts samples and instructions of one place together. `code` is what was kept of the place that
/// [`FunctionSamples::chosen`] gives.
pub fn annotate(
    dictionaries: &Dictionaries,
    found: &FunctionSamples,
    place: Option<CodePlace>,
    code: Option<&FunctionCode>,
) -> Annotation {
    let module = |place: CodePlace| {
        let mapping = dictionaries.mapping(place.mapping);
        mapping.map(|mapping| shown(&mapping.name).into_owned()).unwrap_or_default()
    };
    let line = |known: &SampledPlace| PlaceLine {
        place: known.place,
        function: known.function.clone(),
        module: module(known.place),
        samples: known.samples,
    };
    Annotation {
        function: found.function.clone(),
        samples: found.total,
        own: found.places.iter().map(|place| place.samples).sum(),
        places: found.places.iter().take(MAX_PLACES).map(line).collect(),
        more_places: found.places.len().saturating_sub(MAX_PLACES),
        shown: found.chosen(place).map(|place| show(dictionaries, place, code)),
    }
}

fn show(dictionaries: &Dictionaries, place: &SampledPlace, code: Option<&FunctionCode>) -> ShownCode {
    let mut sources = Sources::default();
    let kept = code.filter(|code| !code.bytes.is_empty());
    let read = kept.map(|code| instructions(code.machine, &code.bytes, code.address)).unwrap_or_default();
    let (mut rows, outside) = match kept.filter(|_| !read.is_empty()) {
        Some(code) => instruction_rows(place, code, &read, &mut sources),
        None => (place_rows(dictionaries, place, &mut sources), 0),
    };
    if rows.len() > MAX_CODE_ROWS {
        rows = around_samples(rows);
    }
    let mut hottest: Vec<usize> =
        (0..rows.len()).filter(|row| rows.get(*row).is_some_and(|row| row.samples > 0)).collect();
    hottest.sort_by_key(|row| std::cmp::Reverse(rows.get(*row).map_or(0, |row| row.samples)));
    ShownCode {
        place: place.place,
        samples: place.samples,
        length: code.map_or(0, |code| code.length),
        kept: code.map_or(0, |code| code.bytes.len()),
        note: note(dictionaries, place, code),
        rows,
        hottest,
        sources: sources.lines,
        outside,
    }
}

/// A row for each instruction, and the samples behind the last one.
fn instruction_rows(
    place: &SampledPlace,
    code: &FunctionCode,
    read: &[Instruction],
    sources: &mut Sources,
) -> (Vec<CodeRow>, u64) {
    let mut samples = place.at.iter().map(|(at, (samples, _))| (*at, *samples)).peekable();
    let mut rows = Vec::with_capacity(read.len());
    for one in read {
        let end = u64::from(one.at) + u64::from(one.length);
        let mut row = instruction_row(code, one, sources);
        // A sample that is not at the beginning of an instruction counts for the one that it is in.
        while let Some((_, count)) = samples.next_if(|(at, _)| *at < end) {
            row.samples += count;
        }
        rows.push(row);
    }
    (rows, samples.map(|(_, count)| count).sum())
}

fn instruction_row(code: &FunctionCode, one: &Instruction, sources: &mut Sources) -> CodeRow {
    let (start, end) = (one.at as usize, one.at as usize + one.length as usize);
    let bytes = code.bytes.get(start..end).unwrap_or_default();
    let bytes = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    let length = if code.length == 0 { code.bytes.len() as u64 } else { code.length };
    let target = one.target.map(|target| target.wrapping_sub(code.address)).filter(|target| *target < length);
    let calls = code.lines.call(one.at).map(|name| shown(name.as_bytes()).into_owned());
    let source = code.lines.at(one.at).map(|(function, file, line)| sources.index(function, file, line));
    let (at, address) = (u64::from(one.at), Some(code.address.wrapping_add(u64::from(one.at))));
    CodeRow { at, address, bytes, text: one.text.clone(), flow: one.flow, target, calls, source, ..CodeRow::default() }
}

/// A row for each sampled place, where there are no instructions.
fn place_rows(dictionaries: &Dictionaries, place: &SampledPlace, sources: &mut Sources) -> Vec<CodeRow> {
    let row = |(at, (samples, frame)): (&u64, &(u64, FrameId))| {
        let lines = dictionaries.symbol(*frame).map_or(&[][..], |symbol| symbol.lines.as_slice());
        let line = lines.first().filter(|line| line.line > 0);
        let source = line.map(|line| sources.index(&line.function, &line.file, line.line));
        CodeRow { at: *at, samples: *samples, source, ..CodeRow::default() }
    };
    place.at.iter().map(row).collect()
}

/// The rows near samples, and no more than are sent; what is left out is counted where it was.
fn around_samples(rows: Vec<CodeRow>) -> Vec<CodeRow> {
    let mut near = vec![false; rows.len()];
    let sampled = rows.iter().enumerate().filter(|(_, row)| row.samples > 0);
    for (index, _) in sampled {
        let range = index.saturating_sub(BESIDE)..(index + BESIDE + 1).min(rows.len());
        near.get_mut(range).unwrap_or_default().fill(true);
    }
    let mut left_out = 0;
    let mut kept = Vec::new();
    for (mut row, near) in rows.into_iter().zip(near) {
        // Where nearly all was sampled, only that is shown.
        if near && (kept.len() < MAX_CODE_ROWS / 2 || row.samples > 0) && kept.len() < MAX_CODE_ROWS {
            row.left_out = std::mem::take(&mut left_out);
            kept.push(row);
        } else {
            left_out += 1;
        }
    }
    kept
}

/// Source lines, each once.
#[derive(Default)]
struct Sources {
    lines: Vec<SourceLine>,
    indices: HashMap<SourceLine, u32>,
}

impl Sources {
    fn index(&mut self, function: &str, file: &str, line: u32) -> u32 {
        let text = |text: &str| shown(text.as_bytes()).into_owned();
        let source = SourceLine { function: text(function), file: text(file), line };
        let next = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
        *self.indices.entry(source).or_insert_with_key(|source| {
            self.lines.push(source.clone());
            next
        })
    }
}

/// What is missing of a function's code, and why.
fn note(dictionaries: &Dictionaries, place: &SampledPlace, code: Option<&FunctionCode>) -> String {
    let mapping = dictionaries.mapping(place.place.mapping);
    let kind = mapping.map_or(MappingKind::Unknown, |mapping| mapping.kind);
    let lent = mapping.is_some_and(|mapping| mapping.name.starts_with(b"["));
    match code {
        Some(code) if !code.bytes.is_empty() => kept_note(code),
        _ if kind == MappingKind::Kernel => KERNEL.to_owned(),
        _ if kind == MappingKind::Anonymous => "A run-time compiler made this code: it was in memory only, and its \
            instructions are not kept. Samples by address:"
            .to_owned(),
        _ if kind == MappingKind::Unknown => "It is not known what this code was mapped from.".to_owned(),
        _ if lent => {
            "The kernel maps this code into every process (vDSO); it is in no file, and its instructions are not kept. \
            Samples by address:"
                .to_owned()
        }
        _ if place.kind == NodeKind::Unresolved => {
            "This frame has no symbol, so it is not known where its function begins \
            and ends. Symbols of the file would tell."
                .to_owned()
        }
        code => missing_note(code.and_then(|code| code.missing)),
    }
}

const KERNEL: &str = "Instructions of the kernel are not kept: they can only be read through /proc/kcore, with all of the \
    kernel's memory, which takes CAP_SYS_RAWIO and no lockdown; the agent does not ask for that. Samples by address:";

fn missing_note(missing: Option<CodeMissing>) -> String {
    let why = match missing {
        Some(CodeMissing::NoFile) => "the file could not be opened while the program ran",
        Some(CodeMissing::OtherFile) => "the file was another build than the one that ran, by its build id",
        Some(CodeMissing::Unreadable) => "the file could not be read, or has no code at that place",
        Some(CodeMissing::NoRoom) => "functions with more samples took the space that is kept for instructions",
        None => {
            return format!(
                "No instructions of this function were kept. They are kept when a profile ends, for the {MAX_CODES} \
                 functions with the most own samples; older captures have none. Samples by address:"
            );
        }
    };
    format!("No instructions of this function were kept: {why}. Samples by address:")
}

fn kept_note(code: &FunctionCode) -> String {
    let mut notes = Vec::new();
    match code.machine {
        Machine::X86_64 | Machine::X86 => {}
        Machine::Aarch64 => {
            notes.push("Instructions of aarch64 are not disassembled: their bytes are shown.".to_owned())
        }
        Machine::Other => notes.push("Instructions of this machine are not read. Samples by address:".to_owned()),
    }
    if code.length == 0 {
        notes
            .push("The symbols do not tell how long the function is: it is shown up to the last sampled place.".into());
    } else if (code.bytes.len() as u64) < code.length {
        notes.push(format!("The first {} of {} bytes are kept.", code.bytes.len(), code.length));
    }
    notes.join(" ")
}
