//! A verb's own options, and behind them the command that it starts: `strace -f -tt make -j8`.
//!
//! The tools whose letters these verbs take end their options at the first word that is none, and so does this: what begins
//! with `-` before the command has to be an option of the verb, else it is refused with what was probably meant; what
//! stands behind the command's name is the command's. Before the parser reads the words, `--` is put where the command
//! begins, so that nothing of it can be taken for the verb's, and nothing of the verb's for the command's.
//!
//! Verbs that start no command take options among their other words; theirs are checked in the same way. Options that the
//! tool has and the verb has not are in the tool's table, by which its pasted commands are read too ([`VerbAnswer`]): they are
//! refused with what there is instead, or, where they ask for what is so in any case, left out with a note.

use std::ffi::OsString;

use bathyscope_catalog::closest;
use bathyscope_commands::{VerbAnswer, verb_answers};
use clap::Args as _;

use super::{
    list::ListArgs,
    options::{Long, Options},
    probe::ProbeArgs,
    profile::ProfileArgs,
    record::RecordArgs,
    report::ReportArgs,
    stat::StatArgs,
    strace::StraceArgs,
    top::TopArgs,
    trace::TraceArgs,
};

/// An option that a verb does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{option}` is no option of `{verb}`.\n  {remedy}")]
pub(crate) struct LettersError {
    option: String,
    verb: &'static str,
    remedy: String,
    /// Whether the tool has it.
    is_foreign: bool,
}

/// What a verb's first word that is no option begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    /// A command, which has its own options.
    Command,
    /// A script and its parameters, which have been put behind the verb's options. Before it, too, a word may be a parameter.
    Script,
    /// Nothing: options may follow.
    Options,
}

/// The words of a command line as the parser takes them, and what is to be told about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arranged {
    /// The words, the first of which is the program's name.
    pub(crate) words: Vec<OsString>,
    /// Whole sentences about options that were left out.
    pub(crate) notes: Vec<String>,
}

/// The options of one verb.
pub(crate) struct Letters {
    verb: &'static str,
    behind: Behind,
    options: Options,
    foreign: Vec<VerbAnswer>,
}

/// A word that begins with `-`, read.
struct Word {
    /// What is left of it for the parser.
    own: Option<OsString>,
    /// Whether the next word belongs to it.
    takes_next: bool,
    /// Whether the next word is left out too.
    leaves_next_out: bool,
}

impl Letters {
    /// Those of a verb whose options are those of a tool; none of another.
    fn of_verb(verb: &str) -> Option<Self> {
        let of = |verb, behind, command: clap::Command| {
            let options = Options::of(&command);
            let mut foreign = verb_answers(verb);
            foreign.retain(|answer| !options.has(answer.option));
            Some(Self { verb, behind, options, foreign })
        };
        let command = clap::Command::new;
        match verb {
            "strace" => of("strace", Behind::Command, StraceArgs::augment_args(command("strace"))),
            "record" => of("record", Behind::Command, RecordArgs::augment_args(command("record"))),
            "profile" => of("profile", Behind::Command, ProfileArgs::augment_args(command("profile"))),
            "top" => of("top", Behind::Command, TopArgs::augment_args(command("top"))),
            "stat" => of("stat", Behind::Command, StatArgs::augment_args(command("stat"))),
            "trace" => of("trace", Behind::Script, TraceArgs::augment_args(command("trace"))),
            "report" => of("report", Behind::Options, ReportArgs::augment_args(command("report"))),
            "list" => of("list", Behind::Options, ListArgs::augment_args(command("list"))),
            "probe" => of("probe", Behind::Options, ProbeArgs::augment_args(command("probe"))),
            _ => None,
        }
    }

    /// The words behind the verb with `--` before the command, long options by their whole names, and without what means
    /// nothing here.
    fn arranged(&self, words: Vec<OsString>) -> Result<Arranged, LettersError> {
        let mut arranged = Arranged { words: Vec::with_capacity(words.len() + 1), notes: Vec::new() };
        let mut words = words.into_iter().peekable();
        let mut lines = Vec::new();
        while let Some(word) = words.next() {
            let word = self.whole(&word, words.peek(), &mut arranged.notes).map_or(word, |whole| {
                let _second_half = words.next();
                whole
            });
            let text = word.to_str().unwrap_or_default();
            if self.behind == Behind::Options && (text.starts_with("- ") || text.starts_with("-:")) {
                lines.push(word);
                continue;
            }
            if text == "--" {
                arranged.words.push(word);
                break;
            }
            if !text.starts_with('-') || text == "-" {
                match self.behind {
                    Behind::Command => arranged.words.extend(["--".into(), word]),
                    Behind::Script | Behind::Options => arranged.words.push(word),
                }
                if self.behind == Behind::Options {
                    continue;
                }
                break;
            }
            let next = words.peek().map(|word| word.to_str().unwrap_or_default());
            let read = match text.strip_prefix("--") {
                Some(name) => self.long(name, next, &mut arranged.notes),
                None => self.short(text, next, &mut arranged.notes),
            };
            let read = match read {
                // What is no option may be a parameter of the script.
                Err(error) if self.behind == Behind::Script && !error.is_foreign => {
                    Word { own: Some(word), takes_next: false, leaves_next_out: false }
                }
                read => read?,
            };
            arranged.words.extend(read.own);
            if read.takes_next {
                arranged.words.extend(words.next());
            } else if read.leaves_next_out {
                let _left_out = words.next();
            }
        }
        if !lines.is_empty() {
            arranged.words.push("--".into());
            arranged.words.append(&mut lines);
        }
        arranged.words.extend(words);
        Ok(arranged)
    }

    /// A long option whose two dashes were torn apart, as `- -add` is in papers.
    fn whole(&self, word: &OsString, next: Option<&OsString>, notes: &mut Vec<String>) -> Option<OsString> {
        let next = next.and_then(|next| next.to_str()).filter(|_| word == "-" && self.behind != Behind::Script)?;
        let name = next.strip_prefix('-')?;
        let known = self.options.long(name.split('=').next().unwrap_or_default()).is_some();
        known.then(|| {
            notes.push(format!("`- -{name}` was read as `--{name}`"));
            format!("--{name}").into()
        })
    }

    /// A long option by its whole name. The beginning of a name is enough if no other begins so.
    fn long(&self, text: &str, next: Option<&str>, notes: &mut Vec<String>) -> Result<Word, LettersError> {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let foreign = self.foreign(&format!("--{name}"));
        let begin_so: Vec<_> =
            self.options.long.iter().filter(|known| known.is_shown && known.name.starts_with(name)).collect();
        let (known, takes) = match (self.options.long(name), foreign, begin_so.as_slice()) {
            (Some(takes), ..) => (name, takes),
            (None, Some(VerbAnswer { is_refused: false, takes_value, why, .. }), _) => {
                notes.push(format!("--{name} has no meaning here: {why}"));
                return Ok(Word { own: None, takes_next: false, leaves_next_out: *takes_value && value.is_none() });
            }
            (None, None, [known]) => (known.name.as_str(), known.takes),
            (None, _, several) => return Err(self.unknown_long(name, several)),
        };
        let whole = value.map_or_else(|| format!("--{known}"), |value| format!("--{known}={value}"));
        let takes_next = value.is_none() && takes.takes(next);
        Ok(Word { own: Some(whole.into()), takes_next, leaves_next_out: false })
    }

    /// Letters behind one `-`, without those that mean nothing here.
    fn short(&self, text: &str, next: Option<&str>, notes: &mut Vec<String>) -> Result<Word, LettersError> {
        let mut own = String::new();
        let mut letters = text.strip_prefix('-').unwrap_or_default().chars();
        let mut takes_next = false;
        while let Some(letter) = letters.next() {
            if let Some(takes) = self.options.short(letter) {
                own.push(letter);
                if takes.value() {
                    takes_next = letters.as_str().is_empty() && takes.takes(next);
                    own.push_str(letters.as_str());
                    break;
                }
                continue;
            }
            match self.foreign(&format!("-{letter}")) {
                Some(VerbAnswer { is_refused: false, takes_value, why, .. }) => {
                    notes.push(format!("-{letter} has no meaning here: {why}"));
                    if *takes_value {
                        let own = (!own.is_empty()).then(|| format!("-{own}").into());
                        return Ok(Word { own, takes_next: false, leaves_next_out: letters.as_str().is_empty() });
                    }
                }
                _ => return Err(self.unknown_short(text, letter)),
            }
        }
        let own = (!own.is_empty()).then(|| format!("-{own}").into());
        Ok(Word { own, takes_next, leaves_next_out: false })
    }

    fn foreign(&self, option: &str) -> Option<&VerbAnswer> {
        self.foreign.iter().find(|foreign| foreign.option == option)
    }

    fn unknown_long(&self, name: &str, begin_so: &[&Long]) -> LettersError {
        let option = format!("--{name}");
        let near = || {
            let names: Vec<String> = match begin_so {
                [] => {
                    let shown = self.options.long.iter().filter(|known| known.is_shown);
                    let near = closest(name, shown.map(|known| known.name.as_str()));
                    near.map(|known| format!("`--{known}`")).into_iter().collect()
                }
                several => several.iter().map(|known| format!("`--{}`", known.name)).collect(),
            };
            (!names.is_empty()).then(|| format!("Did you mean {}?", names.join(" or ")))
        };
        let why = self.foreign(&option).map(|foreign| foreign.why.clone());
        let is_foreign = why.is_some();
        let remedy = why.or_else(near).unwrap_or_else(|| self.look_up());
        LettersError { option, verb: self.verb, remedy, is_foreign }
    }

    fn unknown_short(&self, text: &str, letter: char) -> LettersError {
        let option = format!("-{letter}");
        // Words such as `-summary` are long options with a `-` too few.
        let name = text.strip_prefix('-').and_then(|name| name.split('=').next()).unwrap_or_default();
        let long = self.options.long.iter().find(|known| known.is_shown && name.len() > 2 && known.name == name);
        let other = if letter.is_ascii_lowercase() { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() };
        let foreign = self.foreign(&option);
        let remedy = match (foreign, long) {
            (Some(foreign), _) => foreign.why.clone(),
            (None, Some(known)) => format!("Did you mean `--{}`?", known.name),
            (None, None) if self.options.short(other).is_some() => {
                format!("`-{other}` is one. {}", self.look_up())
            }
            (None, None) => self.look_up(),
        };
        let option = if text.chars().count() == 2 { option } else { format!("{option}` in `{text}") };
        LettersError { option, verb: self.verb, remedy, is_foreign: foreign.is_some() }
    }

    fn look_up(&self) -> String {
        let behind = match self.behind {
            Behind::Command => "a command whose name begins with `-` stands behind `--`",
            Behind::Script => "a script's own options stand behind its file",
            Behind::Options => "other words that begin with `-` stand behind `--`",
        };
        format!("`bathyscope {} --help` lists its options; {behind}.", self.verb)
    }
}

/// The words of the whole command line, arranged if the options of their verb are those of a tool.
///
/// # Errors
/// If the verb does not have an option that stands before the command.
pub(crate) fn arranged(mut words: Vec<OsString>) -> Result<Arranged, LettersError> {
    let letters = words.get(1).and_then(|verb| verb.to_str()).and_then(Letters::of_verb);
    let Some(letters) = letters else { return Ok(Arranged { words, notes: Vec::new() }) };
    let own = words.split_off(2);
    let arranged = letters.arranged(own)?;
    words.extend(arranged.words);
    Ok(Arranged { words, notes: arranged.notes })
}

/// Why `word`, which begins with `-`, is no option of that verb; none if it is one, or if the verb's options are not those of a
/// tool.
pub(crate) fn unknown(verb: &str, word: &str) -> Option<LettersError> {
    let letters = Letters::of_verb(verb)?;
    let read = match word.strip_prefix("--") {
        Some(name) => letters.long(name, None, &mut Vec::new()),
        None => letters.short(word, None, &mut Vec::new()),
    };
    read.err()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers to options: whether each is refused, and whether it has a value.
    fn others() -> Vec<VerbAnswer> {
        let cases = [
            ("-b", true, false, "It needs ptrace."),
            ("--seccomp-bpf", true, false, "It needs ptrace too."),
            ("-R", false, false, "it is so"),
            ("-m", false, true, "it is so"),
            ("--pages", false, true, "it is so"),
        ];
        let answer = |(option, is_refused, takes_value, why): (&'static str, bool, bool, &str)| VerbAnswer {
            option,
            is_refused,
            takes_value,
            for_verb: false,
            why: why.to_owned(),
        };
        cases.into_iter().map(answer).collect()
    }

    fn of(behind: Behind, line: &str) -> Result<(String, Vec<String>), String> {
        let flag = |name: &'static str, letter| clap::Arg::new(name).long(name).short(letter);
        let long = |name: &'static str| clap::Arg::new(name).long(name);
        let command = clap::Command::new("strace")
            .arg(flag("follow", 'f').action(clap::ArgAction::Count).alias("follow-forks").short_alias('F'))
            .arg(flag("times", 'T').action(clap::ArgAction::SetTrue))
            .arg(flag("summary", 'C').action(clap::ArgAction::SetTrue))
            .arg(long("summary-only").action(clap::ArgAction::SetTrue))
            .arg(flag("expr", 'e').action(clap::ArgAction::Append))
            .arg(flag("names", 'n').num_args(0..=1))
            .arg(long("hidden").hide(true))
            .arg(long("simulate").num_args(0..=1).require_equals(true));
        let letters = Letters { verb: "strace", behind, options: Options::of(&command), foreign: others() };
        let words = line.split(' ').filter(|word| !word.is_empty()).map(OsString::from).collect();
        let arranged = letters.arranged(words).map_err(|error| error.to_string())?;
        let words = arranged.words.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>();
        Ok((words.join(" "), arranged.notes))
    }

    fn made(line: &str) -> Result<String, String> {
        of(Behind::Command, line).map(|(words, _)| words)
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
            ("-Fe open ls", "-Fe open -- ls"),
            ("--follow-forks ls", "--follow-forks -- ls"),
            ("--hidden x ls", "--hidden x -- ls"),
            ("-n ls x", "-n ls -- x"),
            ("-n -f ls", "-n -f -- ls"),
            ("--names --times ls", "--names --times -- ls"),
            ("-fR ls", "-f -- ls"),
            ("-R ls -R", "-- ls -R"),
            ("-m 64 ls", "-- ls"),
            ("-fm64 ls", "-f -- ls"),
            ("--pages=64 ls", "-- ls"),
            ("--pages 64 -f ls", "-f -- ls"),
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
            ("--follow-f ls", "`--follow-f`", "Did you mean `--follow`?"),
            ("--hid ls", "`--hid`", "--help"),
            ("-é ls", "`-é`", "--help"),
            ("--nothing-like-it=3 ls", "`--nothing-like-it`", "--help"),
        ];
        for (line, what, remedy) in cases {
            let error = made(line).unwrap_err();
            assert!(error.contains(what) && error.contains(remedy) && error.contains("`strace`"), "{line}: {error}");
        }
    }

    #[test]
    fn where_no_command_follows_options_stand_anywhere() {
        for (line, expected) in [
            ("one -f two", "one -f two"),
            ("one -e x -R two", "one -e x two"),
            ("one -- -b", "one -- -b"),
            ("-n one", "-n one"),
            ("- -follow one", "--follow one"),
            ("- -expr=x one", "--expr=x one"),
            ("- -nothing one", "- -nothing one"),
            ("one -:name -f", "one -f -- -:name"),
        ] {
            let found = of(Behind::Options, line).map_or_else(|_error| line.to_owned(), |found| found.0);
            assert_eq!(found, expected, "{line}");
        }
        assert_eq!(of(Behind::Options, "- -follow one").unwrap().1, ["`- -follow` was read as `--follow`"]);
        for line in ["one -b", "one --frobnicate", "-f one -q"] {
            assert!(of(Behind::Options, line).is_err(), "{line}");
        }
        // A script has options of its own.
        assert_eq!(of(Behind::Script, "-f --size=3 x.bt -b").unwrap().0, "-f --size=3 x.bt -b");
        assert!(of(Behind::Script, "-b x.bt").unwrap_err().contains("It needs ptrace."));
    }

    #[test]
    fn what_means_nothing_here_is_told() {
        let (_, notes) = of(Behind::Command, "-fR -m 4 --pages=3 ls -R").unwrap();
        let told = ["-R has no meaning here: it is so", "-m has no meaning here: it is so"];
        assert_eq!(notes, [told[0], told[1], "--pages has no meaning here: it is so"]);
    }

    /// The words of a command line behind the program's name, arranged.
    fn whole(line: &[&str]) -> Result<Vec<String>, String> {
        let words = ["bathyscope"].iter().chain(line).map(OsString::from).collect();
        let words = crate::verbs::trace::order::arranged(words);
        let arranged = arranged(words).map_err(|error| error.to_string())?;
        Ok(arranged.words.into_iter().skip(1).map(|word| word.into_string().unwrap()).collect())
    }

    /// All names under which the parser takes an option, and whether the next word is its value.
    fn names(argument: &clap::Arg) -> Vec<(String, bool)> {
        let value = crate::verbs::options::takes_values(argument) && !argument.is_require_equals_set();
        let long = argument.get_long().into_iter().chain(argument.get_all_aliases().unwrap_or_default());
        let short = argument.get_short().into_iter().chain(argument.get_all_short_aliases().unwrap_or_default());
        long.map(|name| (format!("--{name}"), value)).chain(short.map(|letter| (format!("-{letter}"), value))).collect()
    }

    #[test]
    fn every_name_that_the_parser_takes_is_taken_before_it() {
        let mut command = <crate::verbs::Cli as clap::CommandFactory>::command();
        command.build();
        let (mut taken, mut with_letters) = (0, 0);
        for verb in command.get_subcommands() {
            let own = Letters::of_verb(verb.get_name());
            with_letters += usize::from(own.is_some());
            for (option, value) in verb.get_arguments().flat_map(names) {
                let line = if value {
                    vec![verb.get_name(), &option, "5", "ls"]
                } else {
                    vec![verb.get_name(), &option, "ls"]
                };
                let mut expected: Vec<&str> = line.clone();
                if own.as_ref().is_some_and(|own| own.behind == Behind::Command) {
                    expected.insert(line.len() - 1, "--");
                }
                assert_eq!(whole(&line).as_deref().map(|words| words.join(" ")), Ok(expected.join(" ")), "{line:?}");
                taken += 1;
            }
        }
        assert!(taken > 300 && with_letters == 9, "{taken} {with_letters}");
    }

    #[test]
    fn options_of_the_tools_are_not_ours_and_told_in_sentences() {
        for verb in ["strace", "record", "profile", "stat", "trace", "report", "list", "probe"] {
            let letters = Letters::of_verb(verb).unwrap();
            assert!(letters.foreign.len() > 3, "{verb}");
            for (at, VerbAnswer { option, is_refused, why, .. }) in letters.foreign.iter().enumerate() {
                let known = option.strip_prefix("--").map_or_else(
                    || option.chars().nth(1).and_then(|letter| letters.options.short(letter)),
                    |name| letters.options.long(name),
                );
                assert_eq!(known, None, "{verb} {option} is an option of the verb");
                assert!(letters.foreign[..at].iter().all(|earlier| earlier.option != *option), "{verb} {option} twice");
                let is_sentence =
                    why.starts_with(|c: char| !c.is_lowercase()) && why.ends_with(['.', '?', ')', '"', '`']);
                assert_eq!(is_sentence, *is_refused, "{verb} {option}: {why}");
            }
        }
    }

    #[test]
    fn verbs_that_start_a_command_refuse_what_they_do_not_know() {
        let of = |line: &str| {
            let words = ["bathyscope"].into_iter().chain(line.split(' ')).map(OsString::from).collect();
            arranged(words).map(|arranged| arranged.words.len())
        };
        for verb in ["strace", "record", "profile", "stat"] {
            let error = of(&format!("{verb} --frobnicate ls")).unwrap_err().to_string();
            assert!(error.contains(&format!("no option of `{verb}`")), "{error}");
            assert_eq!(of(&format!("{verb} --help")), Ok(3));
            assert_eq!(of(&format!("{verb} ls -frobnicate")), Ok(5), "{verb}");
        }
        assert_eq!(of("query newest --frobnicate"), Ok(4), "other verbs are the parser's alone");
    }
}
