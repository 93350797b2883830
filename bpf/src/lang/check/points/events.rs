//! Attach points without a place in code: begin and end, timers, counters of events.

use bathyscope_plan::{AttachPoint, Period};

use super::{PointKind, ResolvedPoint, Shape, UnresolvedPoint, parts};
use crate::lang::{ast::AttachText, host::Host};

/// The most samples a second on each CPU; the kernel's own limit is below.
const MAX_HERTZ: u64 = 100_000;
/// The shortest time between two hits of a timer.
const MIN_PERIOD_NS: u64 = 1_000;

/// `PERF_TYPE_SOFTWARE`, `PERF_TYPE_HARDWARE`
const SOFTWARE: u32 = 1;
const HARDWARE: u32 = 0;

/// An event that the kernel or the CPU counts.
pub(in crate::lang::check) struct Event {
    pub(in crate::lang::check) name: &'static str,
    short: &'static str,
    config: u64,
    /// One hit for so many.
    period: u64,
}

const fn event(name: &'static str, short: &'static str, config: u64, period: u64) -> Event {
    Event { name, short, config, period }
}

/// Events of `software`.
pub(in crate::lang::check) const SOFTWARE_EVENTS: &[Event] = &[
    event("alignment-faults", "", 7, 1),
    event("bpf-output", "", 10, 1),
    event("context-switches", "cs", 3, 1_000),
    event("cpu-clock", "cpu", 0, 1_000_000),
    event("cpu-migrations", "", 4, 1),
    event("dummy", "", 9, 1),
    event("emulation-faults", "", 8, 1),
    event("major-faults", "", 6, 1),
    event("minor-faults", "", 5, 100),
    event("page-faults", "faults", 2, 100),
    event("task-clock", "", 1, 1_000_000),
];

/// Events of `hardware`.
pub(in crate::lang::check) const HARDWARE_EVENTS: &[Event] = &[
    event("backend-stalls", "", 8, 1_000_000),
    event("branch-instructions", "branches", 4, 100_000),
    event("branch-misses", "", 5, 100_000),
    event("bus-cycles", "", 6, 100_000),
    event("cache-misses", "", 3, 1_000_000),
    event("cache-references", "", 2, 1_000_000),
    event("cpu-cycles", "cycles", 0, 1_000_000),
    event("frontend-stalls", "", 7, 1_000_000),
    event("instructions", "", 1, 1_000_000),
    event("ref-cycles", "", 9, 1_000_000),
];

fn one(kind: PointKind, text: &AttachText, name: String, point: AttachPoint) -> Vec<ResolvedPoint> {
    vec![ResolvedPoint { name, point, shape: Shape::new(kind, &text.text), layout: String::new() }]
}

pub(super) fn special(kind: PointKind, text: &AttachText) -> Result<Vec<ResolvedPoint>, UnresolvedPoint> {
    let parts = parts(text);
    match (kind, parts.as_slice()) {
        (PointKind::Begin, []) => Ok(one(kind, text, "begin".to_owned(), AttachPoint::Begin)),
        (PointKind::End, []) => Ok(one(kind, text, "end".to_owned(), AttachPoint::End)),
        (PointKind::Signal, ["signal", "SIGUSR1"]) => {
            Ok(one(kind, text, "self:signal:SIGUSR1".to_owned(), AttachPoint::Signal { number: 10 }))
        }
        (PointKind::Signal, ["signal", "SIGUSR2"]) => {
            Ok(one(kind, text, "self:signal:SIGUSR2".to_owned(), AttachPoint::Signal { number: 12 }))
        }
        (PointKind::Signal, _) => Err(UnresolvedPoint::wrong(
            format!("`{}` is no event of the tracer itself", text.text),
            "write `self:signal:SIGUSR1`",
        )),
        (kind, _) => {
            let name = kind.name();
            Err(UnresolvedPoint::wrong(format!("`{name}` takes nothing after it"), format!("write `{name}`")))
        }
    }
}

pub(super) fn timer(kind: PointKind, text: &AttachText) -> Result<Vec<ResolvedPoint>, UnresolvedPoint> {
    let name = kind.name();
    let form = || format!("write `{name}:hz:99`, `{name}:ms:100` or `{name}:1s`");
    let wrong = |message: String| UnresolvedPoint::wrong(message, form());
    let parts = parts(text);
    let every = match parts.as_slice() {
        [time] => {
            let ns = duration(time).ok_or_else(|| wrong(format!("`{time}` is no time")))?;
            Period::Nanoseconds(ns)
        }
        [unit, count] => {
            let count: u64 = number(count).ok_or_else(|| wrong(format!("`{count}` is no number")))?;
            match *unit {
                "hz" => Period::Hertz(count),
                unit => {
                    let factor = factor(unit).ok_or_else(|| wrong(format!("`{unit}` is no unit of time")))?;
                    let ns = count.checked_mul(factor).ok_or_else(|| wrong(format!("{count} {unit} are too long")))?;
                    Period::Nanoseconds(ns)
                }
            }
        }
        _ => return Err(wrong(format!("`{}` does not say how often", text.text))),
    };
    match every {
        Period::Hertz(hertz) if hertz == 0 || hertz > MAX_HERTZ => {
            return Err(UnresolvedPoint::wrong(
                format!("{hertz} times a second is not possible"),
                format!("use 1 to {MAX_HERTZ}"),
            ));
        }
        Period::Nanoseconds(ns) if ns < MIN_PERIOD_NS => {
            return Err(UnresolvedPoint::wrong(format!("every {ns} ns is too often"), "use at least `us:1`"));
        }
        _ => {}
    }
    // A time with its unit is shown in microseconds.
    let full = match (parts.as_slice(), every) {
        ([_time], Period::Nanoseconds(ns)) => format!("{name}:us:{}", ns / 1000),
        _ => format!("{name}:{}", parts.join(":")),
    };
    let point =
        if kind == PointKind::Profile { AttachPoint::Profile { every } } else { AttachPoint::Interval { every } };
    Ok(one(kind, text, full, point))
}

fn number(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    match digits.split_once('e') {
        Some((number, power)) => 10_u64.checked_pow(power.parse().ok()?)?.checked_mul(number.parse().ok()?),
        None => digits.parse().ok(),
    }
}

fn factor(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    })
}

/// `100ms`; a number alone is nanoseconds.
fn duration(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len());
    let (count, unit) = text.split_at_checked(end)?;
    number(count)?.checked_mul(if unit.is_empty() { 1 } else { factor(unit)? })
}

fn counted(kind: PointKind, text: &AttachText, table: &[Event]) -> Result<(String, u64, u64), UnresolvedPoint> {
    let name = kind.name();
    let parts = parts(text);
    let (word, count) = match parts.as_slice() {
        [word] => (*word, None),
        [word, count] => (*word, Some(*count)),
        _ => {
            let message = format!("`{}` does not name one event", text.text);
            return Err(UnresolvedPoint::wrong(message, format!("write `{name}:EVENT` or `{name}:EVENT:COUNT`")));
        }
    };
    let found = table.iter().find(|event| event.name == word || (!event.short.is_empty() && event.short == word));
    let Some(event) = found else {
        let names = table.iter().map(|event| event.name);
        let hint = crate::lang::suggest(word, names.clone()).map_or_else(
            || format!("there are {}", names.collect::<Vec<_>>().join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(UnresolvedPoint::wrong(format!("there is no {name} event `{word}`"), hint));
    };
    let period = match count.filter(|count| !count.is_empty()) {
        None => event.period,
        Some(count) => match number(count) {
            Some(count) if count > 0 => count,
            _ => {
                return Err(UnresolvedPoint::wrong(
                    format!("`{count}` is no number of events"),
                    "write for instance `1000`",
                ));
            }
        },
    };
    Ok((event.name.to_owned(), event.config, period))
}

pub(super) fn software(text: &AttachText) -> Result<Vec<ResolvedPoint>, UnresolvedPoint> {
    let (name, config, period) = counted(PointKind::Software, text, SOFTWARE_EVENTS)?;
    // As it was written: several names are of one event.
    let full = format!("software:{}:{period}", parts(text).first().copied().unwrap_or(&name));
    Ok(one(PointKind::Software, text, full, AttachPoint::PerfEvent { name, kind: SOFTWARE, config, period }))
}

pub(super) fn hardware(text: &AttachText, host: &dyn Host) -> Result<Vec<ResolvedPoint>, UnresolvedPoint> {
    let (name, config, period) = counted(PointKind::Hardware, text, HARDWARE_EVENTS)?;
    if !host.features().pmu {
        let instead = match name.as_str() {
            "cpu-cycles" | "ref-cycles" | "instructions" | "bus-cycles" => {
                "use `profile:hz:99` or `software:cpu-clock:1000000`"
            }
            _ => "there is no replacement; `profile:hz:99` samples where time is spent",
        };
        let message = format!("this machine has no performance counters, which `hardware:{name}` needs");
        return Err(UnresolvedPoint::missing(message, instead));
    }
    let full = format!("hardware:{}:{period}", parts(text).first().copied().unwrap_or(&name));
    Ok(one(PointKind::Hardware, text, full, AttachPoint::PerfEvent { name, kind: HARDWARE, config, period }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let cases = [
            ("1s", Some(1_000_000_000)),
            ("100ms", Some(100_000_000)),
            ("5000", Some(5_000)),
            ("x", None),
            ("1y", None),
        ];
        for (text, ns) in cases {
            assert_eq!(duration(text), ns, "{text}");
        }
        assert_eq!((number("1e6"), number("1_000")), (Some(1_000_000), Some(1_000)));
    }
}
