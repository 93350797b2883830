//! "Did you mean": the known name that is closest to a mistyped one.

/// The longest name that is compared; longer ones are no typing slips.
const MAX_COMPARED_BYTES: usize = 64;

/// The one of `known` that was probably meant by `typed`: equal but for case, a few typing slips away, or the shortest
/// that contains it. `None` if nothing is near.
///
/// It takes time for each of `known`: whoever reads names from a text asks for a limited number of them.
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
    let mut lower = String::new();
    let mut rank = |name: &&str| {
        if name.len() > MAX_COMPARED_BYTES {
            return None;
        }
        lower.clear();
        lower.push_str(name);
        lower.make_ascii_lowercase();
        // A slip must leave something of the name.
        let within = |distance: &usize| *distance == 0 || *distance < typed.len().min(lower.len());
        if let Some(distance) = distance(typed.as_bytes(), lower.as_bytes(), allowed).filter(within) {
            return Some((distance, lower.len()));
        }
        (typed.len() >= 3 && lower.contains(&typed)).then_some((allowed + 1, lower.len()))
    };
    known.into_iter().filter_map(|name| rank(&name).map(|rank| (rank, name))).min().map(|(_rank, name)| name)
}

/// Typing slips between two names of at most [`MAX_COMPARED_BYTES`]: a letter too many, too few, another, or two neighbours
/// exchanged; `None` if there are more than `allowed`.
fn distance(a: &[u8], b: &[u8], allowed: usize) -> Option<usize> {
    // Each letter that one has more is a slip.
    if a.len().abs_diff(b.len()) > allowed {
        return None;
    }
    let more = allowed + 1;
    // Column 0 is before the first letter of `b`. What is more than `allowed` beside the diagonal cannot come back.
    let mut rows = [[more; MAX_COMPARED_BYTES + 1]; 3];
    let [mut before, mut above, mut row] = rows.each_mut();
    for (cell, at) in above.iter_mut().zip(0..=allowed) {
        *cell = at;
    }
    let cell = |cells: &[usize], at: usize| cells.get(at).copied().unwrap_or(more);
    for (i, x) in a.iter().enumerate() {
        let from = (i + 1).saturating_sub(allowed);
        let to = (i + 1 + allowed).min(b.len());
        row.fill(more);
        for at in from..=to {
            let mut best = cell(above, at) + 1;
            match at.checked_sub(1) {
                None => best = i + 1,
                Some(j) => {
                    let y = b.get(j);
                    best = best.min(cell(above, j) + usize::from(Some(x) != y)).min(cell(row, j) + 1);
                    let exchanged = i > 0 && j > 0 && a.get(i - 1) == y && b.get(j - 1) == Some(x);
                    if exchanged {
                        best = best.min(cell(before, j - 1) + 1);
                    }
                }
            }
            if let Some(here) = row.get_mut(at) {
                *here = best.min(more);
            }
        }
        if row.iter().all(|slips| *slips >= more) {
            return None;
        }
        (before, above, row) = (above, row, before);
    }
    Some(cell(above, b.len())).filter(|slips| *slips <= allowed)
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
        for (a, b, expected) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("abc", "", 3),
            ("", "ab", 2),
            ("kitten", "sitting", 3),
            ("abcd", "badc", 2),
            ("vfs_raed", "vfs_read", 1),
            ("xvfs_read", "vfs_read", 1),
            ("vfs_read", "vfs_readx", 1),
            ("abcdef", "uvwxyz", 6),
            ("abcdef", "defabc", 6),
        ] {
            for allowed in 0..4 {
                let within = Some(expected).filter(|slips| *slips <= allowed);
                assert_eq!(distance(a.as_bytes(), b.as_bytes(), allowed), within, "{a} {b} {allowed}");
            }
        }
    }
}
