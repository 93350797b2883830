//! A command in one text, as words: `ls -l 'my file'`.
//!
//! Quotes and backslashes work as in a shell. Nothing else does: no shell is started, so `$`, `*`, `|`, `>` and the like
//! are characters of the words.

/// Why a text is no list of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WordsError {
    /// A quote has no end.
    #[error("a quote ({0}) has no end")]
    Open(char),
    /// Nothing follows a backslash.
    #[error("nothing follows the last backslash")]
    Backslash,
    /// There is no word.
    #[error("there is no command")]
    Empty,
}

/// Splits a text into words.
pub(crate) fn split(text: &str) -> Result<Vec<String>, WordsError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_ascii_whitespace() => words.extend(word.take()),
            '\'' => quoted(&mut chars, '\'', word.get_or_insert_default())?,
            '"' => quoted(&mut chars, '"', word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(chars.next().ok_or(WordsError::Backslash)?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if words.is_empty() { Err(WordsError::Empty) } else { Ok(words) }
}

/// In double quotes a backslash stands before `"`, `\`, `$` and a backtick only.
fn quoted(chars: &mut std::str::Chars<'_>, quote: char, word: &mut String) -> Result<(), WordsError> {
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => return Ok(()),
            '\\' if quote == '"' => match chars.next().ok_or(WordsError::Open(quote))? {
                c @ ('"' | '\\' | '$' | '`') => word.push(c),
                c => word.extend(['\\', c]),
            },
            c => word.push(c),
        }
    }
    Err(WordsError::Open(quote))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_in_a_shell() {
        let cases: [(&str, &[&str]); 9] = [
            ("ls -l", &["ls", "-l"]),
            ("  ls\t\n-l  ", &["ls", "-l"]),
            ("cat 'my file' \"an other\"", &["cat", "my file", "an other"]),
            ("a''b '' \"\"", &["ab", "", ""]),
            (r"a\ b \'", &["a b", "'"]),
            (r#""\"\\\$\n""#, &["\"\\$\\n"]),
            ("echo $HOME | wc > x; y", &["echo", "$HOME", "|", "wc", ">", "x;", "y"]),
            (r"'\n'", &["\\n"]),
            ("größe", &["größe"]),
        ];
        for (text, expected) in cases {
            assert_eq!(split(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_has_no_end_is_refused() {
        let cases = [
            ("", WordsError::Empty),
            (" \n", WordsError::Empty),
            ("a 'b", WordsError::Open('\'')),
            ("\"\\", WordsError::Open('"')),
            ("a\\", WordsError::Backslash),
        ];
        for (text, expected) in cases {
            assert_eq!(split(text), Err(expected), "{text}");
        }
    }
}
