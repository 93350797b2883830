//! Options of `trace` that stand behind the script's file, as other tracers take them.
//!
//! Everything behind the file may be a parameter of the script, so the parser leaves it alone. Before it reads the words,
//! those that are options of `trace` are put before the file; behind `--` nothing is one. Options that `trace` does not have
//! stay where they are: scripts have their own.

use std::ffi::OsString;

use bathyscope_commands::verb_answers;
use clap::Args as _;

use super::TraceArgs;
use crate::verbs::options::Options;

/// How many words an option that begins with this one takes, itself among them; none if it is no option of `trace`, nor one
/// that is refused in words.
fn words_of(options: &Options, word: &str, next: Option<&str>) -> Option<usize> {
    let name = word.split('=').next().unwrap_or(word);
    if verb_answers("trace").iter().any(|answer| answer.for_verb && answer.option == name) {
        return Some(1);
    }
    let takes_next = if let Some(name) = word.strip_prefix("--") {
        let (name, has_value) = name.split_once('=').map_or((name, false), |(name, _)| (name, true));
        options.long(name)?.takes(next) && !has_value
    } else {
        let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty())?;
        options.letters(letters).ok()?.takes(next)
    };
    Some(1 + usize::from(takes_next))
}

/// The words of the whole command line, with the options of `trace` before its file.
pub(in crate::verbs) fn arranged(words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_none_or(|verb| verb != "trace") {
        return words;
    }
    let options = Options::of(&TraceArgs::augment_args(clap::Command::new("trace")));
    let mut words = words.into_iter().peekable();
    let mut first: Vec<OsString> = words.by_ref().take(2).collect();
    let mut others = Vec::new();
    while let Some(word) = words.next() {
        if word == "--" {
            others.push(word);
            break;
        }
        let next = words.peek().and_then(|next| next.to_str());
        match word.to_str().and_then(|word| words_of(&options, word, next)) {
            Some(count) => {
                first.push(word);
                first.extend(words.by_ref().take(count - 1));
            }
            // Before the file, what is no option is the parser's to refuse.
            None => others.push(word),
        }
    }
    first.extend(others);
    first.extend(words);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_before_the_file() {
        let cases = [
            ("trace x.bt --unsafe", "trace --unsafe x.bt"),
            ("trace x.bt -q", "trace -q x.bt"),
            ("trace x.bt 5 -f json six", "trace -f json x.bt 5 six"),
            ("trace -q x.bt -fjson -vq -o out", "trace -q -fjson -vq -o out x.bt"),
            ("trace x.bt --format=json -p 7", "trace --format=json -p 7 x.bt"),
            ("trace x.bt --size=3 --all -5", "trace x.bt --size=3 --all -5"),
            ("trace x.bt -q -- -q --unsafe", "trace -q x.bt -- -q --unsafe"),
            ("trace -e script 5 -v", "trace -e script -v 5"),
            ("trace -e script -- -v", "trace -e script -- -v"),
            ("trace -e a:b -- make -j8 -q", "trace -e a:b -- make -j8 -q"),
            ("trace x.bt --duration 5s", "trace --duration 5s x.bt"),
            ("trace x.bt --fmt", "trace --fmt x.bt"),
            ("stat x -q", "stat x -q"),
        ];
        for (words, expected) in cases {
            let of = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
            let found = arranged([vec![OsString::from("bathyscope")], of(words)].concat());
            assert_eq!(found[1..], of(expected), "{words}");
        }
    }
}
