//! What a task does that keeps the agent waiting: a message must not blame a file system for a busy machine, or for whoever
//! has stopped the task.

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// It computes, or waits for its turn on a CPU.
    Runs,
    /// Somebody has stopped it.
    IsStopped,
    /// It waits for something, as a file.
    Waits,
    /// It has ended, or there is none.
    IsGone,
}

/// What the task of `/proc/…/stat` does.
pub(super) fn doing(stat: &str) -> Doing {
    std::fs::read_to_string(stat).map_or(Doing::IsGone, |text| state(&text))
}

/// The state in such a file: the first letter after the name, which may have any bytes and brackets.
pub(super) fn state(stat: &str) -> Doing {
    let letter = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    match letter {
        Some('R') => Doing::Runs,
        Some('T' | 't') => Doing::IsStopped,
        Some('S' | 'D' | 'K' | 'W' | 'P' | 'I') => Doing::Waits,
        Some(_) | None => Doing::IsGone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_what_comes_after_the_name() {
        let cases = [
            ("7 (sh) R 1 7", Doing::Runs),
            ("7 (a) R) S 1 7", Doing::Waits),
            ("7 (sh) D 1", Doing::Waits),
            ("7 (sh) T 1", Doing::IsStopped),
            ("7 (sh) t 1", Doing::IsStopped),
            ("7 (sh) Z 1", Doing::IsGone),
            ("7 (sh) X 1", Doing::IsGone),
            ("", Doing::IsGone),
        ];
        for (text, expected) in cases {
            assert_eq!(state(text), expected, "{text}");
        }
        assert_eq!(doing("/proc/thread-self/stat"), Doing::Runs);
        assert_eq!(doing("/proc/4194305/stat"), Doing::IsGone);
    }
}
