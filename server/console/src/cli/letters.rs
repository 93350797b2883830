//! A verb's own options, and behind them the command that it starts: `strace -f -tt make -j8`.
//!
//! The tools whose letters these verbs take end their options at the first word that is none, and so does this: what begins
//! with `-` before the command has to be an option of the verb, else it is refused with what was probably meant; what
//! stands behind the command's name is the command's. Before the parser reads the words, `--` is put where the command
//! begins, so that nothing of it can be taken for the verb's, and nothing of the verb's for the command's.

use std::ffi::OsString;

use bathyscope_catalog::closest;
use clap::Args as _;

use super::{
    options::{Options, Takes},
    profile::ProfileArgs,
    record::RecordArgs,
    stat::StatArgs,
    strace::{FOREIGN, StraceArgs},
};

/// An option of the tool whose letters a verb takes, that the verb does not have, and why or what to use instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// The option as it is typed: `-b`, `--seccomp-bpf`.
    pub(crate) option: &'static str,
    /// Whole sentences.
    pub(crate) why: &'static str,
}

/// An option that a verb does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{option}` is no option of `{verb}`.\n  {remedy}")]
pub(crate) struct LettersError {
    option: String,
    verb: &'static str,
    remedy: String,
}

/// The options of one verb.
pub(crate) struct Letters {
    verb: &'static str,
    options: Options,
    foreign: &'static [Foreign],
}

impl Letters {
    /// Those of a verb that starts a command behind its options; none of another.
    fn of_verb(verb: &str) -> Option<Self> {
        let of = |name, command, foreign| Some(Self::of(name, &command, foreign));
        match verb {
            "strace" => of("strace", StraceArgs::augment_args(clap::Command::new("strace")), FOREIGN),
            "record" => of("record", RecordArgs::augment_args(clap::Command::new("record")), &[]),
            "profile" => of("profile", ProfileArgs::augment_args(clap::Command::new("profile")), &[]),
            "stat" => of("stat", StatArgs::augment_args(clap::Command::new("stat")), &[]),
            _ => None,
        }
    }

    fn of(verb: &'static str, command: &clap::Command, foreign: &'static [Foreign]) -> Self {
        Self { verb, options: Options::of(command), foreign }
    }

    /// The words behind the verb with `--` before the command, and long options by their whole names.
    fn arranged(&self, words: Vec<OsString>) -> Result<Vec<OsString>, LettersError> {
        let (mut arranged, mut words) = (Vec::with_capacity(words.len() + 1), words.into_iter());
        while let Some(word) = words.next() {
            let text = word.to_str().unwrap_or_default();
            if text == "--" {
                arranged.push(word);
                break;
            }
            if !text.starts_with('-') || text == "-" {
                arranged.extend(["--".into(), word]);
                break;
            }
            let (whole, takes_next) = match text.strip_prefix("--") {
                Some(name) => self.long(name)?,
                None => (word.clone(), self.short(text)?),
            };
            arranged.push(whole);
            if takes_next {
                arranged.extend(words.next());
            }
        }
        arranged.extend(words);
        Ok(arranged)
    }

    /// A long option by its whole name, and whether the next word is its value. The beginning of a name is enough if no other
    /// begins so.
    fn long(&self, text: &str) -> Result<(OsString, bool), LettersError> {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let begin_so: Vec<_> = self.options.long.iter().filter(|(known, _)| known.starts_with(name)).collect();
        let exact = begin_so.iter().find(|(known, _)| known == name);
        let (known, takes) = match (exact, begin_so.as_slice()) {
            (Some((known, takes)), _) | (None, [(known, takes)]) => (known, *takes),
            (None, several) => return Err(self.unknown_long(name, several)),
        };
        let whole = value.map_or_else(|| format!("--{known}"), |value| format!("--{known}={value}"));
        Ok((whole.into(), value.is_none() && takes.next_word()))
    }

    /// Whether the next word is the value of the last letter.
    fn short(&self, text: &str) -> Result<bool, LettersError> {
        let letters = text.strip_prefix('-').unwrap_or_default();
        self.options.letters(letters).map_err(|letter| self.unknown_short(text, letter))
    }

    fn foreign(&self, option: &str) -> Option<String> {
        self.foreign.iter().find(|foreign| foreign.option == option).map(|foreign| foreign.why.to_owned())
    }

    fn unknown_long(&self, name: &str, begin_so: &[&(String, Takes)]) -> LettersError {
        let option = format!("--{name}");
        let near = || {
            let names: Vec<String> = match begin_so {
                [] => closest(name, self.options.long.iter().map(|(known, _)| known.as_str()))
                    .map(|known| format!("`--{known}`"))
                    .into_iter()
                    .collect(),
                several => several.iter().map(|(known, _)| format!("`--{known}`")).collect(),
            };
            (!names.is_empty()).then(|| format!("Did you mean {}?", names.join(" or ")))
        };
        let remedy = self.foreign(&option).or_else(near).unwrap_or_else(|| self.look_up());
        LettersError { option, verb: self.verb, remedy }
    }

    fn unknown_short(&self, text: &str, letter: char) -> LettersError {
        let option = format!("-{letter}");
        // Words such as `-summary` are long options with a `-` too few.
        let name = text.strip_prefix('-').and_then(|name| name.split('=').next()).unwrap_or_default();
        let long = self.options.long.iter().find(|(known, _)| name.len() > 2 && known == name);
        let other = if letter.is_ascii_lowercase() { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() };
        let remedy = match (self.foreign(&option), long) {
            (Some(why), _) => why,
            (None, Some((known, _))) => format!("Did you mean `--{known}`?"),
            (None, None) if self.options.short.iter().any(|(known, _)| *known == other) => {
                format!("`-{other}` is one. {}", self.look_up())
            }
            (None, None) => self.look_up(),
        };
        let option = if text.chars().count() == 2 { option } else { format!("{option}` in `{text}") };
        LettersError { option, verb: self.verb, remedy }
    }

    fn look_up(&self) -> String {
        format!(
            "`bathyscope {} --help` lists its options; a command whose name begins with `-` stands behind `--`.",
            self.verb
        )
    }
}

/// The words of the whole command line, arranged if their verb starts a command behind its options.
///
/// # Errors
/// If the verb does not have an option that stands before the command.
pub(crate) fn arranged(mut words: Vec<OsString>) -> Result<Vec<OsString>, LettersError> {
    let letters = words.get(1).and_then(|verb| verb.to_str()).and_then(Letters::of_verb);
    let Some(letters) = letters else { return Ok(words) };
    let own = words.split_off(2);
    words.extend(letters.arranged(own)?);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHERS: &[Foreign] = &[
        Foreign { option: "-b", why: "It needs ptrace." },
        Foreign { option: "--seccomp-bpf", why: "It needs ptrace too." },
    ];

    fn made(line: &str) -> Result<String, String> {
        let flag = |name: &'static str, letter| clap::Arg::new(name).long(name).short(letter);
        let command = clap::Command::new("strace")
            .arg(flag("follow", 'f').action(clap::ArgAction::Count))
            .arg(flag("times", 'T').action(clap::ArgAction::SetTrue))
            .arg(flag("summary", 'C').action(clap::ArgAction::SetTrue))
            .arg(clap::Arg::new("summary-only").long("summary-only").action(clap::ArgAction::SetTrue))
            .arg(flag("expr", 'e').action(clap::ArgAction::Append))
            .arg(clap::Arg::new("simulate").long("simulate").num_args(0..=1).require_equals(true));
        let letters = Letters::of("strace", &command, OTHERS);
        let words = line.split(' ').filter(|word| !word.is_empty()).map(OsString::from).collect();
        let arranged = letters.arranged(words).map_err(|error| error.to_string())?;
        Ok(arranged.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_command_begins_at_the_first_word_that_is_no_option() {
        let cases = [
            ("", ""),
            ("ls", "-- ls"),
            ("ls -v --foo -- x", "-- ls -v --foo -- x"),
            ("-f ls -f", "-f -- ls -f"),
            ("-ffT -e open ls -b", "-ffT -e open -- ls -b"),
            ("-fe open -eread ls", "-fe open -eread -- ls"),
            ("--expr open ls", "--expr open -- ls"),
            ("--expr=open ls", "--expr=open -- ls"),
            ("--exp=open --ti ls", "--expr=open --times -- ls"),
            ("--summary ls", "--summary -- ls"),
            ("--simulate ls", "--simulate -- ls"),
            ("--simulate=x ls", "--simulate=x -- ls"),
            ("-f -- -v", "-f -- -v"),
            ("-", "-- -"),
            ("-h", "-h"),
            ("-f -e", "-f -e"),
        ];
        for (line, expected) in cases {
            assert_eq!(made(line).as_deref(), Ok(expected), "{line}");
        }
    }

    #[test]
    fn what_is_no_option_is_refused_at_its_place() {
        let cases = [
            ("-v ls", "`-v` is no option", "behind `--`"),
            ("-fv ls", "`-v` in `-fv` is no option", "--help"),
            ("-b execve ls", "`-b` is no option", "It needs ptrace."),
            ("-fb execve ls", "`-b` in `-fb`", "It needs ptrace."),
            ("-t ls", "`-t`", "`-T` is one."),
            ("--seccomp-bpf ls", "`--seccomp-bpf`", "It needs ptrace too."),
            ("--follwo ls", "`--follwo`", "Did you mean `--follow`?"),
            ("-times ls", "`-t` in `-times`", "Did you mean `--times`?"),
            ("--s ls", "`--s`", "`--summary` or `--summary-only` or `--simulate`"),
            ("-é ls", "`-é`", "--help"),
            ("--nothing-like-it=3 ls", "`--nothing-like-it`", "--help"),
        ];
        for (line, what, remedy) in cases {
            let error = made(line).unwrap_err();
            assert!(error.contains(what) && error.contains(remedy) && error.contains("`strace`"), "{line}: {error}");
        }
    }

    #[test]
    fn verbs_that_start_a_command_refuse_what_they_do_not_know() {
        let of = |line: &str| {
            let words = ["bathyscope"].into_iter().chain(line.split(' ')).map(OsString::from).collect();
            arranged(words).map(|words| words.len())
        };
        for verb in ["strace", "record", "profile", "stat"] {
            let error = of(&format!("{verb} --frobnicate ls")).unwrap_err().to_string();
            assert!(error.contains(&format!("no option of `{verb}`")), "{error}");
            assert_eq!(of(&format!("{verb} --help")), Ok(3));
            assert_eq!(of(&format!("{verb} ls -frobnicate")), Ok(5));
        }
        assert_eq!(of("query newest --frobnicate"), Ok(4), "other verbs are the parser's alone");
    }
}
