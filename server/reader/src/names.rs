//! Lists of names in parameters of addresses: commas stand between them, and a backslash before a comma or a backslash of a name.

/// The names of a list; empty ones are left out.
pub(crate) fn split_names(text: &str) -> Vec<String> {
    let (mut names, mut name) = (Vec::new(), String::new());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            ',' => names.push(std::mem::take(&mut name)),
            '\\' => name.extend(characters.next()),
            c => name.push(c),
        }
    }
    names.push(name);
    names.retain(|name| !name.is_empty());
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
    }
}
