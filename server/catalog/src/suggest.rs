//! "Did you mean": the known name that is closest to a mistyped one.

/// The longest name that is compared; longer ones are no typing slips.
const MAX_COMPARED_BYTES: usize = 64;

/// The one of `known` that was probably meant by `typed`: equal but for case, a few typing slips away, or the shortest
/// that contains it. `None` if nothing is near.
pub fn closest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_ascii_lowercase();
    if typed.is_empty() || typed.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let allowed = match typed.len() {
        0..=2 => 1,
        3..=6 => 2,
        _ => 3,
    };
    let rank = |name: &&str| {
        if name.len() > MAX_COMPARED_BYTES {
            return None;
        }
        let lower = name.to_ascii_lowercase();
        // Each letter that one has more is a slip.
        let far = lower.len().abs_diff(typed.len()) > allowed;
        let distance = if far { usize::MAX } else { distance(typed.as_bytes(), lower.as_bytes()) };
        // A slip must leave something of the name.
        if distance <= allowed && distance < typed.len().min(lower.len()) || distance == 0 {
            return Some((distance, lower.len()));
        }
        (typed.len() >= 3 && lower.contains(&typed)).then_some((allowed + 1, lower.len()))
    };
    known.into_iter().filter_map(|name| rank(&name).map(|rank| (rank, name))).min().map(|(_rank, name)| name)
}

/// Typing slips between two names: a letter too many, too few, another, or two neighbours exchanged.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let value = |cells: &[usize], at: usize| cells.get(at).copied().unwrap_or(usize::MAX / 2);
            let mut best =
                (value(&above, j) + usize::from(x != y)).min(value(&above, j + 1) + 1).min(value(&row, j) + 1);
            if i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x) {
                best = best.min(value(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised() {
        let known = ["prev_comm", "prev_pid", "prev_state", "next_comm", "next_pid", "bytes_req", "id"];
        let cases = [
            ("prev_pdi", Some("prev_pid")),
            ("nxt_pid", Some("next_pid")),
            ("PREV_COMM", Some("prev_comm")),
            ("state", Some("prev_state")),
            ("bytesreq", Some("bytes_req")),
            ("comm", Some("next_comm")),
            ("nr", None),
            ("ib", Some("id")),
            ("filename", None),
            ("", None),
        ];
        for (typed, expected) in cases {
            assert_eq!(closest(typed, known), expected, "{typed}");
        }
        assert_eq!(closest(&"x".repeat(100_000), known), None);
    }

    #[test]
    fn distance_counts_slips() {
        for (a, b, expected) in
            [("", "", 0), ("abc", "abc", 0), ("abc", "acb", 1), ("abc", "", 3), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(a.as_bytes(), b.as_bytes()), expected, "{a} {b}");
        }
    }
}
