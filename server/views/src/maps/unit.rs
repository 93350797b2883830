//! What the numbers of a map count, as far as its script tells.

use bathyscope_capture::ColumnUnit;

use crate::answers::{MapKind, Unit};

/// Calls that add up what is between their brackets.
const VERBS: [&str; 8] = ["sum", "hist", "lhist", "stats", "avg", "max", "min", "tseries"];
/// The most steps from a variable to what it was set to.
const MOST_STEPS: usize = 8;

impl Unit {
    /// As answers name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hits => "hits",
            Self::Samples => "samples",
            Self::Nanoseconds => "nanoseconds",
            Self::Microseconds => "microseconds",
            Self::Milliseconds => "milliseconds",
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
            Self::Values => "values",
        }
    }

    /// What the values of the map `name` count: what its name says, else what the script puts in.
    pub fn of_map(name: &str, kind: MapKind, script: &str) -> Self {
        if kind == MapKind::Count {
            return Self::Hits;
        }
        let named = of_name(name.trim_start_matches('@'));
        named.or_else(|| of_expression(put_in(name, script)?, script, MOST_STEPS)).unwrap_or_default()
    }
}

fn of_name(name: &str) -> Option<Unit> {
    ColumnUnit::of_name(name).map(Unit::from)
}

impl From<ColumnUnit> for Unit {
    fn from(unit: ColumnUnit) -> Self {
        match unit {
            ColumnUnit::Nanoseconds => Self::Nanoseconds,
            ColumnUnit::Microseconds => Self::Microseconds,
            ColumnUnit::Milliseconds => Self::Milliseconds,
            ColumnUnit::Seconds => Self::Seconds,
            ColumnUnit::Bytes => Self::Bytes,
        }
    }
}

/// What the script puts into a map: the first argument of `@name[…] = sum(…)`.
fn put_in<'a>(name: &str, script: &'a str) -> Option<&'a str> {
    script.match_indices(name).find_map(|(at, _)| {
        let rest = script.get(at + name.len()..)?;
        if rest.starts_with(|next: char| next.is_alphanumeric() || next == '_') {
            return None;
        }
        let rest = match rest.trim_start().strip_prefix('[') {
            Some(key) => key.get(closing(key, '[', ']')? + 1..)?,
            None => rest,
        };
        let value = rest.trim_start().strip_prefix('=')?.trim_start();
        let verb = VERBS.iter().find_map(|verb| value.strip_prefix(verb)?.trim_start().strip_prefix('('))?;
        let arguments = verb.get(..closing(verb, '(', ')')?)?;
        first_argument(arguments)
    })
}

/// Where the bracket that is open at the beginning is closed.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 1_u32;
    text.char_indices().find_map(|(at, letter)| {
        depth = if letter == open { depth + 1 } else { depth - u32::from(letter == close) };
        (depth == 0).then_some(at)
    })
}

fn first_argument(arguments: &str) -> Option<&str> {
    let mut depth = 0_i32;
    let comma = arguments.char_indices().find(|(_, letter)| {
        depth += i32::from(matches!(letter, '(' | '[')) - i32::from(matches!(letter, ')' | ']'));
        *letter == ',' && depth == 0
    });
    arguments.get(..comma.map_or(arguments.len(), |(at, _)| at))
}

/// What an expression counts: a difference of times, perhaps divided, or a variable.
fn of_expression(text: &str, script: &str, steps: usize) -> Option<Unit> {
    let steps = steps.checked_sub(1)?;
    let text = text.trim();
    if is_word(text.trim_start_matches('$')) && text.starts_with('$') {
        if let Some(unit) = of_name(text.trim_start_matches('$')) {
            return Some(unit);
        }
        let set = script.match_indices(text).find_map(|(at, _)| {
            let rest = script.get(at + text.len()..)?.trim_start().strip_prefix('=')?;
            (!rest.starts_with('=')).then(|| rest.split([';', '}', '\n']).next()).flatten()
        })?;
        return of_expression(set, script, steps);
    }
    if let Some((left, right)) = text.rsplit_once('/') {
        let unit = of_expression(strip_brackets(left), script, steps)?;
        let divided = right.trim().replace('_', "");
        return divide(unit, &divided);
    }
    let last = text.rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or("");
    if text.starts_with("nsecs") || text.starts_with("elapsed") {
        return Some(Unit::Nanoseconds);
    }
    let has_operator = text.contains(['+', '-', '*', '%', '&', '|', '<', '>', '?']);
    if has_operator { None } else { of_name(last).or((last == "bytes_alloc" || last == "len").then_some(Unit::Bytes)) }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

fn strip_brackets(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    inner.filter(|inner| closing(inner, '(', ')').is_none()).unwrap_or(text)
}

/// A time in a larger unit.
fn divide(unit: Unit, by: &str) -> Option<Unit> {
    let scale = [Unit::Nanoseconds, Unit::Microseconds, Unit::Milliseconds, Unit::Seconds];
    let at = scale.iter().position(|one| *one == unit)?;
    let steps = match by {
        "1000" | "1e3" => 1,
        "1000000" | "1e6" => 2,
        "1000000000" | "1e9" => 3,
        _ => return None,
    };
    scale.get(at + steps).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_what_it_counts() {
        for (name, unit) in [
            ("@us", Unit::Microseconds),
            ("@wait_ns", Unit::Nanoseconds),
            ("@ms", Unit::Milliseconds),
            ("@time_s", Unit::Seconds),
            ("@bytes", Unit::Bytes),
            ("@s", Unit::Values),
            ("@bus", Unit::Values),
            ("@", Unit::Values),
            ("@pids", Unit::Values),
        ] {
            assert_eq!(Unit::of_map(name, MapKind::Sum, ""), unit, "{name}");
        }
        assert_eq!(Unit::of_map("@us", MapKind::Count, ""), Unit::Hits);
    }

    #[test]
    fn else_what_is_put_in_tells() {
        for (script, unit) in [
            ("@ = sum(nsecs - @begun[tid]);", Unit::Nanoseconds),
            ("@[comm, @x[1]] = hist((nsecs - @begun[tid]) / 1000);", Unit::Microseconds),
            ("@ = stats((nsecs - $t) / 1_000_000);", Unit::Milliseconds),
            ("@ = lhist((nsecs - $t) / 1e9, 0, 10, 1);", Unit::Seconds),
            ("$d = (nsecs - @t) / 1000; @[pid] = sum($d);", Unit::Microseconds),
            ("@ = sum($wait_us);", Unit::Microseconds),
            ("@[comm] = sum(args.bytes);", Unit::Bytes),
            ("@ = sum(args.bytes * 2);", Unit::Values),
            ("@ = sum(args.ret);", Unit::Values),
            ("@ = sum((nsecs - $t) / 7);", Unit::Values),
            ("$a = $b; $b = $a; @ = sum($a);", Unit::Values),
            ("@ = sum(", Unit::Values),
            ("@[", Unit::Values),
            ("@other = sum(nsecs);", Unit::Values),
        ] {
            assert_eq!(Unit::of_map("@", MapKind::Sum, script), unit, "{script}");
        }
    }
}
