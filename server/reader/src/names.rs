//! Lists of names in parameters of addresses: commas stand between them, and a backslash before a comma or a backslash of a name.

/// The names of a list; empty ones are left out.
pub(crate) fn split_names(text: &str) -> Vec<String> {
    parts(text, |_| false).into_iter().map(|(name, _)| name).collect()
}

/// The names of a list, and whether a `-` stands before each.
pub(crate) fn split_orders(text: &str) -> Vec<(String, bool)> {
    parts(text, |c| c == '-')
}

/// The names, and whether each begins with a sign, which is no part of it then.
fn parts(text: &str, is_sign: fn(char) -> bool) -> Vec<(String, bool)> {
    let (mut names, mut name, mut signed, mut begins) = (Vec::new(), String::new(), false, true);
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            ',' => {
                names.push((std::mem::take(&mut name), signed));
                (signed, begins) = (false, true);
                continue;
            }
            '\\' => name.extend(characters.next()),
            c if begins && is_sign(c) => signed = true,
            c => name.push(c),
        }
        begins = false;
    }
    names.push((name, signed));
    names.retain(|(name, _)| !name.is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_of_names_are_told_from_those_between_them() {
        let cases: [(&str, &[&str]); 6] = [
            ("", &[]),
            ("a", &["a"]),
            ("a,b.c[0]", &["a", "b.c[0]"]),
            (",a,,b,", &["a", "b"]),
            (r"@x[pid\, comm],a\\b", &["@x[pid, comm]", r"a\b"]),
            (r"a\", &["a"]),
        ];
        for (text, names) in cases {
            assert_eq!(split_names(text), names, "{text}");
        }
        let orders = split_orders(r"a,-b,\-c,-d\,e,-");
        let expected =
            [("a", false), ("b", true), ("-c", false), ("d,e", true)].map(|(name, is)| (name.to_owned(), is));
        assert_eq!(orders, expected);
    }
}
