//! Lines of `kprobe_events`, `uprobe_events` and `dynamic_events`.

use super::{
    DynamicArgument, DynamicDefinition, DynamicError, DynamicProblem as Problem, End, FilePlace, Line, MAX_ARGUMENTS,
    MAX_LINE_BYTES, MAX_NAME_BYTES, ProbeSite,
    fetch::{self, Context, FetchWord},
};

/// The most calls that a return probe can watch, as in the kernel.
const MAX_ACTIVE: u32 = 4096;

/// Reads a line.
///
/// # Errors
/// What is wrong, with its place and a remedy.
pub fn parse_dynamic(line: &str) -> Result<Line, DynamicError> {
    let mut words = words(line)?.into_iter();
    let Some(head) = words.next() else { return Err(DynamicError { at: 0, problem: Problem::Empty }) };
    if head.text.starts_with('-') {
        return remove(head, words.next());
    }
    let head = Head::parse(head)?;
    let rest: Vec<FetchWord<'_>> = words.collect();
    let (place, arguments) = match rest.split_first() {
        Some((place, arguments)) => (*place, arguments),
        None => return Err(DynamicError { at: line.trim_end().len(), problem: Problem::NoPlace }),
    };
    let (arguments, filter) = split_filter(head.kind, arguments, line);
    let place = match head.kind {
        LineKind::Event => event_place(place, filter)?,
        LineKind::Traced => traced_place(place, head.max_active)?,
        LineKind::Tracepoint if is_name(place.text, MAX_NAME_BYTES) => {
            ProbeSite::Tracepoint { name: place.text.to_owned() }
        }
        LineKind::Tracepoint => return Err(place.error(Problem::WhichTracepoint)),
        LineKind::Probe | LineKind::Return => probe_place(place, &head)?,
    };
    let arguments = arguments_of(arguments, &place)?;
    Ok(Line::Define(DynamicDefinition { group: head.group, event: head.event, place, arguments }))
}

/// The words of a line with their places, if all of it can stand in one.
pub(super) fn words(line: &str) -> Result<Vec<FetchWord<'_>>, DynamicError> {
    if line.len() > MAX_LINE_BYTES {
        return Err(DynamicError { at: MAX_LINE_BYTES, problem: Problem::TooLong });
    }
    if let Some((at, _)) = line.char_indices().find(|(_, c)| c.is_control() && *c != '\t' && *c != '\n') {
        return Err(DynamicError { at, problem: Problem::Character });
    }
    // One line is one event: a line break in the middle would begin another.
    if let Some(at) = line.trim_end().find('\n') {
        return Err(DynamicError { at, problem: Problem::Character });
    }
    let mut words = Vec::new();
    let mut at = 0;
    for text in line.split([' ', '\t', '\n']) {
        if !text.is_empty() {
            words.push(FetchWord { at, text });
        }
        at += text.len() + 1;
    }
    Ok(words)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Probe,
    Return,
    Event,
    Traced,
    Tracepoint,
}

struct Head {
    kind: LineKind,
    max_active: Option<Word32>,
    group: Option<String>,
    event: Option<String>,
}

/// A number and where it stands.
#[derive(Clone, Copy)]
struct Word32 {
    at: usize,
    value: u32,
}

impl Head {
    /// `p[:[GROUP/][EVENT]]`, `r[MAXACTIVE]…`, `e…`
    fn parse(word: FetchWord<'_>) -> Result<Self, DynamicError> {
        let (kind, name) = match word.split(':') {
            Some((kind, name)) => (kind, Some(name)),
            None => (word, None),
        };
        let number = kind.text.get(1..).unwrap_or_default();
        let (kind, max_active) = match kind.text.bytes().next() {
            Some(b'p') if number.is_empty() => (LineKind::Probe, None),
            Some(b'e') if number.is_empty() => (LineKind::Event, None),
            Some(b't') if number.is_empty() => (LineKind::Tracepoint, None),
            Some(b'r') if number.is_empty() => (LineKind::Return, None),
            Some(b'f') if number.is_empty() => (LineKind::Traced, None),
            Some(first @ (b'r' | b'f')) => {
                let at = word.at + 1;
                let value = number.parse::<u32>().ok().filter(|count| (1..=MAX_ACTIVE).contains(count));
                let value = value.ok_or(DynamicError { at, problem: Problem::MaxActive })?;
                (if first == b'r' { LineKind::Return } else { LineKind::Traced }, Some(Word32 { at, value }))
            }
            _ => return Err(word.error(Problem::Kind)),
        };
        let (group, event) = name.map_or(Ok((None, None)), names)?;
        Ok(Self { kind, max_active, group, event })
    }
}

/// `[GROUP/][EVENT]`; the kernel takes a point for the stroke.
pub(super) fn names(word: FetchWord<'_>) -> Result<(Option<String>, Option<String>), DynamicError> {
    let (group, event) = match word.split('/').or_else(|| word.split('.')) {
        Some((group, event)) => (Some(group), event),
        None => (None, word),
    };
    let checked = |word: FetchWord<'_>| {
        if is_name(word.text, MAX_NAME_BYTES) { Ok(word.text.to_owned()) } else { Err(word.error(Problem::Name)) }
    };
    let group = group.map(checked).transpose()?;
    let event = if event.text.is_empty() && group.is_some() { None } else { Some(checked(event)?) };
    Ok((group, event))
}

pub(super) fn is_name(text: &str, longest: usize) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=longest).contains(&text.len())
        && text.bytes().all(word)
        && !text.starts_with(|first: char| first.is_ascii_digit())
}

fn remove(head: FetchWord<'_>, more: Option<FetchWord<'_>>) -> Result<Line, DynamicError> {
    // Documents write `- NAME` too; the kernel takes only `-:NAME`.
    let name = match (head.text, more) {
        ("-", Some(name)) => name,
        (_, Some(extra)) => return Err(extra.error(Problem::Name)),
        (text, None) if text.starts_with("-:") => head.skip(2),
        _ => return Err(head.error(Problem::RemoveWhich)),
    };
    match names(name)? {
        (group, Some(event)) => Ok(Line::Remove { group, event }),
        (_, None) => Err(name.error(Problem::RemoveWhich)),
    }
}

/// The arguments before the word `if` of an event at another event, and what stands behind it.
fn split_filter<'a, 'l>(
    kind: LineKind,
    words: &'a [FetchWord<'l>],
    line: &'l str,
) -> (&'a [FetchWord<'l>], Option<&'l str>) {
    let at = words.iter().position(|word| kind == LineKind::Event && word.text == "if");
    match at.and_then(|at| words.split_at_checked(at)) {
        Some((before, rest)) => {
            let filter = rest.first().and_then(|word| line.get(word.at + 2..)).unwrap_or_default();
            (before, Some(filter.trim()))
        }
        None => (words, None),
    }
}

fn event_place(word: FetchWord<'_>, filter: Option<&str>) -> Result<ProbeSite, DynamicError> {
    let (group, event) = names(word)?;
    let (Some(group), Some(event)) = (group, event) else { return Err(word.error(Problem::WhichEvent)) };
    Ok(ProbeSite::Event { group, event, filter: filter.filter(|text| !text.is_empty()).map(str::to_owned) })
}

/// `SYMBOL[%return]`
fn traced_place(word: FetchWord<'_>, max_active: Option<Word32>) -> Result<ProbeSite, DynamicError> {
    let (bare, on) = match (word.text.strip_suffix("%return"), max_active) {
        (Some(bare), active) => (bare, End::Return { max_active: active.map(|number| number.value) }),
        (None, None) => (word.text, End::Entry),
        (None, Some(number)) => return Err(DynamicError { at: number.at, problem: Problem::MaxActive }),
    };
    if !fetch::is_symbol(bare) {
        return Err(word.error(Problem::WholeFunction));
    }
    Ok(ProbeSite::Traced { symbol: bare.to_owned(), on })
}

fn probe_place(word: FetchWord<'_>, head: &Head) -> Result<ProbeSite, DynamicError> {
    let (bare, returns) = match word.text.strip_suffix("%return") {
        Some(bare) => (FetchWord { text: bare, ..word }, true),
        None => (word, head.kind == LineKind::Return),
    };
    if bare.text.contains('/') {
        if let Some(number) = head.max_active {
            return Err(DynamicError { at: number.at, problem: Problem::MaxActive });
        }
        return file_place(bare, returns);
    }
    let on = if returns { End::Return { max_active: head.max_active.map(|number| number.value) } } else { End::Entry };
    kernel_place(bare, on)
}

/// `[MODULE:]SYMBOL[+OFFSET]` or an address.
pub(super) fn kernel_place(word: FetchWord<'_>, on: End) -> Result<ProbeSite, DynamicError> {
    if word.text.starts_with(|first: char| first.is_ascii_digit()) {
        let address = fetch::number(word.text).ok_or_else(|| word.error(Problem::Place))?;
        return Ok(ProbeSite::Address { address, on });
    }
    let (module, rest) = match word.split(':') {
        Some((module, rest)) => (Some(module), rest),
        None => (None, word),
    };
    let (symbol, offset) = match rest.split('+') {
        Some((symbol, offset)) => (symbol, fetch::number(offset.text).ok_or_else(|| offset.error(Problem::Place))?),
        None => (rest, 0),
    };
    let module = match module {
        Some(module) if is_name(module.text, MAX_NAME_BYTES) => Some(module.text.to_owned()),
        Some(module) => return Err(module.error(Problem::Place)),
        None => None,
    };
    if !fetch::is_symbol(symbol.text) {
        return Err(symbol.error(Problem::Place));
    }
    if offset != 0 && on != End::Entry {
        return Err(word.error(Problem::ReturnOffset));
    }
    Ok(ProbeSite::Function { module, symbol: symbol.text.to_owned(), offset, on })
}

/// `/PATH:OFFSET[(REFERENCE)]`, with `%return` before or behind the reference.
fn file_place(word: FetchWord<'_>, returns: bool) -> Result<ProbeSite, DynamicError> {
    if !word.text.starts_with('/') {
        return Err(word.error(Problem::RelativePath));
    }
    let colon = word.text.rfind(':').ok_or_else(|| word.error(Problem::Place))?;
    let (path, at) = (word.text.get(..colon).unwrap_or_default(), word.skip(colon + 1));
    let (at, reference) = match at.split('(') {
        Some((at, reference)) => {
            let number = reference.text.strip_suffix(')').ok_or_else(|| reference.error(Problem::Unclosed))?;
            (at, Some(fetch::number(number).ok_or_else(|| reference.error(Problem::Number))?))
        }
        None => (at, None),
    };
    let (at, returns) = match at.text.strip_suffix("%return") {
        Some(bare) => (FetchWord { text: bare, ..at }, true),
        None => (at, returns),
    };
    let offset = fetch::number(at.text).ok_or_else(|| at.error(Problem::Place))?;
    Ok(ProbeSite::File { path: path.to_owned(), at: FilePlace::Offset(offset), reference, returns })
}

pub(super) fn arguments_of(words: &[FetchWord<'_>], place: &ProbeSite) -> Result<Vec<DynamicArgument>, DynamicError> {
    let context = Context::of(place);
    let mut arguments = Vec::<DynamicArgument>::new();
    for word in words {
        if arguments.len() == MAX_ARGUMENTS {
            return Err(word.error(Problem::TooManyArguments));
        }
        let argument = fetch::argument(*word, context)?;
        if argument.name.is_some() && arguments.iter().any(|earlier| earlier.name == argument.name) {
            return Err(word.error(Problem::RepeatedName));
        }
        arguments.push(argument);
    }
    Ok(arguments)
}
