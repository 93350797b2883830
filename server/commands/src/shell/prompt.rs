//! Prompts before commands, as documents and terminals have them.

/// The longest prompt.
const MAX_PROMPT_BYTES: usize = 200;

/// How many bytes a prompt takes at the beginning of a line, with the blanks around it; 0 if there is none. `is_command` says
/// whether a word begins a command: `# word` may be a comment as well.
pub(super) fn prompt_bytes(line: &str, is_command: impl Fn(&str) -> bool) -> usize {
    let begin = line.len() - line.trim_start().len();
    let rest = line.get(begin..).unwrap_or_default();
    let Some(end) = end_of_prompt(rest) else { return 0 };
    let behind = rest.get(end..).unwrap_or_default();
    let blanks = behind.len() - behind.trim_start().len();
    let is_bare = end == 1;
    let word = behind.split_whitespace().next().unwrap_or_default();
    let separate = blanks > 0 || behind.is_empty();
    let taken = if rest.starts_with('#') && is_bare { is_command(word) } else { separate };
    if taken && end <= MAX_PROMPT_BYTES { begin + end + blanks } else { 0 }
}

/// Where the sign of a prompt ends.
fn end_of_prompt(rest: &str) -> Option<usize> {
    if rest.starts_with(['#', '$', '%']) {
        return Some(1);
    }
    if let Some(inside) = rest.strip_prefix('[') {
        let end = inside.find(']')?;
        inside.get(..end).filter(|who| who.contains('@'))?;
        let sign = rest.get(end + 2..)?.chars().next()?;
        return matches!(sign, '#' | '$' | '%').then_some(end + 3);
    }
    let word = rest.split(char::is_whitespace).next()?;
    let bare = word.strip_suffix(['#', '$', '%'])?;
    let shell = ["sh-", "bash-", "zsh-"].iter().any(|shell| {
        let version = bare.strip_prefix(shell);
        version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
    });
    let folder = bare.starts_with(['/', '~']) && !bare.contains(['=', '>', '"', '\'']);
    let user = bare.contains('@') && !bare.contains(['=', '>', '"', '\'', '(']);
    (shell || folder || user).then_some(word.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_told_from_comments_and_words() {
        let is_command = |word: &str| matches!(word, "perf" | "echo" | "cd");
        let cases = [
            ("# perf record", 2),
            ("#perf record", 1),
            ("# records a profile", 0),
            ("$ perf record", 2),
            ("  $ ls", 4),
            ("$PID", 0),
            ("% ls", 2),
            ("[root@host ~]# perf list", 15),
            ("root@host:/sys/kernel# echo 1", 23),
            ("/sys/kernel/debug/tracing# cat trace", 27),
            ("bash-5.2# ls", 10),
            ("perf stat -e a@b# ls", 0),
            ("[a-z] x", 0),
            ("", 0),
        ];
        for (line, bytes) in cases {
            assert_eq!(prompt_bytes(line, is_command), bytes, "{line}");
        }
    }
}
