//! What stands around commands in documents and on terminals: prompts, and what `perf` answers.

use super::part::TypedPart;

/// The longest prompt.
const MAX_PROMPT_BYTES: usize = 200;

/// What `perf` prints, by how it begins, and what it is.
const ANSWERS: [(&str, &str); 8] = [
    ("Added new event", "this is what perf answered"),
    ("Removed event", "this is what perf answered"),
    ("You can now use it", "this is what perf answered"),
    ("You can now use them", "this is what perf answered"),
    ("[ perf record:", "this is what perf answered"),
    ("Available variables at ", "this is what perf answered"),
    ("Probe point found:", "this is what perf answered"),
    ("Target program is compiled without optimization", "this is what perf answered"),
];

/// Without a prompt that names a user or a shell, such as `[root@host ~]#` or `root@host:/sys#`; none if there is none.
pub(super) fn after_prompt(part: TypedPart<'_>) -> Option<TypedPart<'_>> {
    let end = match part.text.strip_prefix('[') {
        Some(inside) => {
            let end = inside.find(']')?;
            inside.get(..end).filter(|who| who.contains('@'))?;
            end + 2
        }
        None => {
            let word = part.first_word();
            let bare = word.strip_suffix(['#', '$', '%', '>'])?;
            let shell = ["sh-", "bash-", "zsh-"].iter().any(|shell| {
                let version = bare.strip_prefix(shell);
                version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
            });
            if !shell && !bare.contains('@') {
                return None;
            }
            bare.len()
        }
    };
    let rest = part.skip(end);
    let mark = rest.text.chars().next().filter(|mark| matches!(mark, '#' | '$' | '%' | '>'))?;
    let behind = rest.skip(mark.len_utf8());
    let separate = behind.text.is_empty() || behind.text.starts_with(char::is_whitespace);
    (separate && end <= MAX_PROMPT_BYTES).then(|| behind.trim())
}

/// What a line of output is, if it is one of `perf`.
pub(super) fn answer(part: TypedPart<'_>) -> Option<&'static str> {
    if let Some((_, what)) = ANSWERS.iter().find(|(begin, _)| part.text.starts_with(begin)) {
        return Some(what);
    }
    let mut words = part.text.split_whitespace();
    let named = words.next().is_some_and(|name| name.contains(':') && !name.ends_with(':'));
    if named && words.next() == Some("(on") && part.text.ends_with(')') {
        return Some("this is what perf answered");
    }
    let words: Vec<&str> = part.text.split_whitespace().collect();
    let cpu = |word: &str| {
        let digits = word.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        digits.is_some_and(|digits| digits.len() >= 3 && digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let time = |word: &str| {
        let time = word.strip_suffix(':').and_then(|time| time.split_once('.'));
        time.is_some_and(|(seconds, rest)| seconds.bytes().chain(rest.bytes()).all(|byte| byte.is_ascii_digit()))
    };
    let row = words.windows(2).any(|pair| matches!(pair, [first, second] if cpu(first) && time(second)));
    row.then_some("this is a row that was recorded")
}
