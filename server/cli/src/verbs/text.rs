//! Numbers and times for people at a terminal.

/// A number of things by their name: `1 attempt`, `2 attempts`.
pub(crate) fn counted(number: u64, name: &str) -> String {
    format!("{} {name}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A count with at most four digits and a prefix: `999`, `12.3k`.
pub(crate) fn count(number: u64) -> String {
    let mut scaled = number as f64;
    if number < 1000 {
        return number.to_string();
    }
    for prefix in ["k", "M", "G", "T"] {
        scaled /= 1000.0;
        if scaled < 999.5 {
            return format!("{}{prefix}", three_digits(scaled));
        }
    }
    format!("{scaled:.0}T")
}

/// A size with at most three digits and a binary unit: `999 B`, `1.50 MiB`.
pub(crate) fn bytes(number: u64) -> String {
    let mut scaled = number as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if scaled < 999.5 {
            break;
        }
        (scaled, unit) = (scaled / 1024.0, larger);
    }
    if unit == "B" { format!("{number} B") } else { format!("{} {unit}", three_digits(scaled)) }
}

/// A length of time, scaled: `1.25 ms`.
pub(crate) fn duration(ns: u64) -> String {
    let ns = ns as f64;
    for (unit, length) in [("s", 1e9), ("ms", 1e6), ("µs", 1e3)] {
        if ns >= length {
            return format!("{} {unit}", three_digits(ns / length));
        }
    }
    format!("{ns:.0} ns")
}

/// How long something has lasted or will last, in two units at most: `40 s`, `59 min`, `3 h 20 min`, `6 d 23 h`.
pub(crate) fn span(seconds: u64) -> String {
    let two = |larger: u64, unit: &str, smaller: u64, smaller_unit: &str| match smaller {
        0 => format!("{larger} {unit}"),
        _ => format!("{larger} {unit} {smaller} {smaller_unit}"),
    };
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => two(seconds / 3600, "h", seconds % 3600 / 60, "min"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3600, "h"),
    }
}

fn three_digits(number: f64) -> String {
    let decimals = if number < 9.995 {
        2
    } else if number < 99.95 {
        1
    } else {
        0
    };
    format!("{number:.decimals$}")
}

/// A moment in this machine's zone.
pub(crate) fn wall_time(unix_ns: i64) -> String {
    let moment = jiff::Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or_default();
    moment.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_two_units_at_most() {
        let spans = [
            (0, "0 s"),
            (59, "59 s"),
            (3599, "59 min"),
            (3600, "1 h"),
            (12_000, "3 h 20 min"),
            (604_799, "6 d 23 h"),
            (604_800, "7 d"),
        ];
        for (seconds, expected) in spans {
            assert_eq!(span(seconds), expected);
        }
    }

    #[test]
    fn numbers_have_three_digits() {
        let counts =
            [(0, "0"), (999, "999"), (1000, "1.00k"), (12_345, "12.3k"), (999_499, "999k"), (999_500, "1.00M")];
        for (number, expected) in counts {
            assert_eq!(count(number), expected);
        }
        for (number, expected) in [(0, "0 B"), (999, "999 B"), (1000, "0.98 KiB"), (3 << 29, "1.50 GiB")] {
            assert_eq!(bytes(number), expected);
        }
        let durations = [(0, "0 ns"), (1500, "1.50 µs"), (10_000_000_000, "10.0 s"), (1_000_000, "1.00 ms")];
        for (ns, expected) in durations {
            assert_eq!(duration(ns), expected);
        }
    }
}
