//! The text of events: `cycles:u`, `L1-dcache-load-misses`, `r1a8`, `cpu/event=0x3c,umask=0/k`, `sched:sched_switch`,
//! `mem:0x1000/8:rw`, `memory:available`, and lists and groups of them.

use super::{
    EventSource, Modifiers, PerfEvent, PerfEventError, ProcCounter, TYPE_RAW, Term, ToolEvent, cut, table, unknown,
};

/// The most events in one list.
pub const MAX_EVENTS: usize = 1024;
/// The longest text of a list.
pub const MAX_LIST_BYTES: usize = 16 << 10;
const MAX_TERMS: usize = 32;
/// What a name of a PMU, field or event can be as long as.
const MAX_NAME_BYTES: usize = 64;

fn syntax(text: &str, what: &'static str) -> PerfEventError {
    PerfEventError::Syntax { text: cut(text), what }
}

/// Reads a list as `perf stat -e` takes it: events with commas between them, groups in braces. Events of a group are
/// counted together or not at all; an event alone is a group of one.
///
/// # Errors
/// The first thing that is wrong.
pub fn parse_events(text: &str) -> Result<Vec<Vec<PerfEvent>>, PerfEventError> {
    if text.len() > MAX_LIST_BYTES {
        return Err(PerfEventError::TooMany { what: "bytes of the list", value: text.len(), most: MAX_LIST_BYTES });
    }
    let mut groups = Vec::new();
    for part in split(text)? {
        let part = part.trim();
        let Some(inner) = part.strip_prefix('{') else {
            groups.push(vec![parse_event(part)?]);
            continue;
        };
        let (inner, after) = inner.rsplit_once('}').ok_or_else(|| syntax(part, "a `}` is missing"))?;
        let group = match after.strip_prefix(':') {
            Some(letters) => modifiers(letters)?,
            None if after.is_empty() => Modifiers::default(),
            None => return Err(syntax(part, "after `}` only `:` and modifiers can stand")),
        };
        let events = split(inner)?.into_iter().map(|event| parse_event(event.trim()));
        let with_group = |event: PerfEvent| PerfEvent { modifiers: event.modifiers.and(group), ..event };
        groups.push(events.map(|event| event.map(with_group)).collect::<Result<Vec<_>, _>>()?);
    }
    let value = groups.iter().map(Vec::len).sum();
    if value > MAX_EVENTS {
        return Err(PerfEventError::TooMany { what: "events", value, most: MAX_EVENTS });
    }
    Ok(groups)
}

/// Splits at commas that are neither in braces nor between the slashes of a PMU's event.
fn split(text: &str) -> Result<Vec<&str>, PerfEventError> {
    let (mut parts, mut start, mut in_braces, mut in_slashes) = (Vec::new(), 0, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' if in_braces => return Err(syntax(text, "groups cannot be in groups")),
            b'{' => in_braces = true,
            b'}' => in_braces = false,
            // The one slash of a breakpoint's length is before no comma of its own.
            b'/' => in_slashes = !in_slashes && !text.get(start..at).is_some_and(is_breakpoint),
            b',' if !in_braces && !in_slashes => {
                parts.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    Ok(parts)
}

fn is_breakpoint(text: &str) -> bool {
    let last = text.rsplit([',', '{']).next().unwrap_or_default();
    last.trim_start().starts_with("mem:")
}

/// Reads one event with its modifiers.
///
/// # Errors
/// If there is no such event, with the nearest name, or it is not written as an event is.
pub fn parse_event(text: &str) -> Result<PerfEvent, PerfEventError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(syntax(text, "it is empty; write an event, such as cycles or sched:sched_switch"));
    }
    if let Some(rest) = text.strip_prefix("mem:") {
        return breakpoint(text, rest);
    }
    if text.contains('/') {
        return pmu(text);
    }
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    if let Some((type_, config)) = table::fixed(name) {
        let source = EventSource::Fixed { type_, config };
        return Ok(PerfEvent { source, modifiers: modifiers(rest)? });
    }
    if let Some(tool) = ToolEvent::named(name) {
        // Nobody counts it, so there is no choice of where it is counted.
        if !rest.is_empty() {
            return Err(syntax(text, "a time that is read takes no modifiers"));
        }
        return Ok(PerfEvent { source: EventSource::Tool(tool), modifiers: Modifiers::default() });
    }
    if let Some(counter) = proc_counter(text)? {
        return Ok(PerfEvent { source: EventSource::Proc(counter), modifiers: Modifiers::default() });
    }
    if let Some(config) = raw(name) {
        let source = EventSource::Fixed { type_: TYPE_RAW, config };
        return Ok(PerfEvent { source, modifiers: modifiers(rest)? });
    }
    if !text.contains(':') {
        return Err(unknown(name));
    }
    let mistyped = unknown(name);
    if modifiers(rest).is_ok() && matches!(mistyped, PerfEventError::Unknown { nearest: Some(_), .. }) {
        return Err(mistyped);
    }
    // A tracepoint's name has a colon of its own.
    let (event, letters) = rest.split_once(':').unwrap_or((rest, ""));
    let named = format!("{name}:{event}").parse().map_err(|_error| unknown(text))?;
    Ok(PerfEvent { source: EventSource::Tracepoint(named), modifiers: modifiers(letters)? })
}

/// The counter of a file of the kernel that a text names.
fn proc_counter(text: &str) -> Result<Option<ProcCounter>, PerfEventError> {
    if let Some(counter) = ProcCounter::named(text) {
        return Ok(Some(counter));
    }
    let is_with_modifiers = text.rsplit_once(':').is_some_and(|(name, _)| ProcCounter::named(name).is_some());
    if is_with_modifiers {
        return Err(syntax(text, "what the kernel tells in a file takes no modifiers"));
    }
    let kind = text.split_once(':').map(|(kind, _)| kind);
    if !kind.is_some_and(|kind| ProcCounter::all().any(|counter| counter.kind() == kind)) {
        return Ok(None);
    }
    // A dynamic event may be called so, if its name is not nearly that of a counter.
    match unknown(text) {
        mistyped @ PerfEventError::Unknown { nearest: Some(_), .. } => Err(mistyped),
        _ => Ok(None),
    }
}

fn raw(name: &str) -> Option<u64> {
    let digits = name.strip_prefix('r').filter(|digits| (1..=16).contains(&digits.len()))?;
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    // `from_str_radix` would take a sign.
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

fn modifiers(letters: &str) -> Result<Modifiers, PerfEventError> {
    let mut it = Modifiers::default();
    for letter in letters.chars() {
        match letter {
            'u' => it.user = true,
            'k' => it.kernel = true,
            'h' => it.hypervisor = true,
            'G' => it.guest = true,
            'H' => it.host = true,
            'I' => it.not_idle = true,
            'p' if it.precise < 3 => it.precise += 1,
            'P' => it.precise = 3,
            'D' => it.pinned = true,
            'e' => it.exclusive = true,
            // A group that does not fit is counted apart here anyway.
            'W' => {}
            'S' => return Err(PerfEventError::LeaderSampling),
            letter => return Err(PerfEventError::Modifier { letter }),
        }
    }
    Ok(it)
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => u64::from_str_radix(digits, 16).ok(),
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    }
}

/// `mem:ADDRESS[/LENGTH][:ACCESS][:MODIFIERS]`.
fn breakpoint(text: &str, rest: &str) -> Result<PerfEvent, PerfEventError> {
    let mut parts = rest.split(':');
    let place = parts.next().unwrap_or_default();
    let (address, length) = place.split_once('/').map_or((place, None), |(address, bytes)| (address, Some(bytes)));
    let address = number(address).ok_or_else(|| syntax(text, "write mem:ADDRESS, such as mem:0xffffffff81000000"))?;
    let mut access = 0;
    let (second, third) = (parts.next(), parts.next());
    for letter in second.unwrap_or("rw").chars() {
        access |= match letter {
            'r' => 1,
            'w' => 2,
            'x' => 4,
            _ => return Err(syntax(text, "the access is r, w, rw or x")),
        };
    }
    if access == 0 || (access & 4 != 0 && access != 4) {
        return Err(syntax(text, "the access is r, w, rw or x"));
    }
    let usual = if access == 4 { 8 } else { 4 };
    let bytes = match length {
        None => usual,
        Some(length) => number(length)
            .and_then(|length| u8::try_from(length).ok())
            .filter(|length| matches!(length, 1 | 2 | 4 | 8))
            .ok_or_else(|| syntax(text, "the length is 1, 2, 4 or 8 bytes"))?,
    };
    if parts.next().is_some() {
        return Err(syntax(text, "nothing can stand after the modifiers"));
    }
    let modifiers = modifiers(third.unwrap_or_default())?;
    Ok(PerfEvent { source: EventSource::Breakpoint { address, bytes, access }, modifiers })
}

fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=MAX_NAME_BYTES).contains(&text.len()) && text.bytes().all(allowed) && text.bytes().any(|byte| byte != b'.')
}

/// `PMU/TERM,…/MODIFIERS`.
fn pmu(text: &str) -> Result<PerfEvent, PerfEventError> {
    let wrong = || syntax(text, "write PMU/FIELD=VALUE,…/, such as cpu/event=0x3c,umask=0/");
    let (pmu, rest) = text.split_once('/').ok_or_else(wrong)?;
    let (inner, letters) = rest.split_once('/').ok_or_else(wrong)?;
    if !is_name(pmu) {
        return Err(wrong());
    }
    let mut terms = Vec::new();
    for part in inner.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').map_or((part, None), |(name, value)| (name, Some(value)));
        let value = value.map(|value| number(value).ok_or_else(wrong)).transpose()?;
        if !is_name(name) {
            return Err(wrong());
        }
        terms.push(Term { name: name.to_owned(), value });
    }
    if terms.len() > MAX_TERMS {
        return Err(PerfEventError::TooMany { what: "fields of an event", value: terms.len(), most: MAX_TERMS });
    }
    let letters = letters.strip_prefix(':').unwrap_or(letters);
    let source = EventSource::Pmu { pmu: pmu.to_owned(), terms };
    Ok(PerfEvent { source, modifiers: modifiers(letters)? })
}
