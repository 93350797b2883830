//! Options of a tool, by a table: for each whether it is taken, has no meaning here and why, or is not possible and what is
//! nearest. Words are read as the tool reads them: clusters of letters, `--name=value`, the beginning of a long name, `--`.

use std::ops::Range;

use bathyscope_catalog::closest;

use crate::{
    answer::{Marks, Refusal, Result, SpanKind},
    shell::Word,
};

pub(crate) use crate::rules::{Meaning, Order, Rule, Table, Takes};

/// An option that was given.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// The first of its names.
    pub(crate) key: &'static str,
    /// Where it stands.
    pub(crate) at: Range<usize>,
    /// Its value.
    pub(crate) value: Option<Word>,
}

impl Given {
    /// Its value, as it is.
    pub(crate) fn word(&self) -> Word {
        self.value.clone().unwrap_or_else(|| Word::made("", self.at.clone()))
    }

    /// Its value, which a shell would leave as it is.
    ///
    /// # Errors
    /// What a shell would expand.
    pub(crate) fn text(&self) -> Result<String> {
        self.word().pattern().map(str::to_owned)
    }

    /// A refusal of the value, or of the option if it has none.
    pub(crate) fn refuse<T>(&self, why: impl Into<String>, remedy: impl Into<String>) -> Result<T> {
        let at = self.value.as_ref().map_or_else(|| self.at.clone(), |value| value.source.clone());
        Err(Refusal::new(at, why, remedy))
    }
}

/// The words of a tool, read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arguments {
    /// Options that are taken, in their order.
    pub(crate) given: Vec<Given>,
    /// Words that are no options; of [`Order::OptionsFirst`] the first is where they end.
    pub(crate) operands: Vec<Word>,
    /// Whether `--` stands before the operands.
    pub(crate) has_dashes: bool,
}

impl Arguments {
    /// Whether an option is given.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.given.iter().any(|given| given.key == key)
    }

    /// How often an option is given.
    pub(crate) fn count(&self, key: &str) -> usize {
        self.given.iter().filter(|given| given.key == key).count()
    }

    /// An option, as it was given last.
    pub(crate) fn last(&self, key: &str) -> Option<&Given> {
        self.given.iter().rfind(|given| given.key == key)
    }

    /// All that an option was given.
    pub(crate) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Given> {
        self.given.iter().filter(move |given| given.key == key)
    }
}

struct Reading<'a> {
    table: &'a Table,
    marks: &'a mut Marks,
    arguments: Arguments,
}

impl Table {
    /// Reads the words behind the tool's name.
    ///
    /// # Errors
    /// An option that the tool does not have, with what was probably meant; one that is not possible here.
    pub(crate) fn read(&self, words: &[Word], marks: &mut Marks) -> Result<Arguments> {
        marks.reads_by(*self);
        let mut reading = Reading { table: self, marks, arguments: Arguments::default() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let is_option = word.text.starts_with('-') && word.text.len() > 1;
            if word.text == "--" && !word.is_quoted {
                reading.marks.mark(&word.source, SpanKind::Shell);
                reading.arguments.has_dashes = true;
                reading.arguments.operands.extend(words.cloned());
                break;
            }
            if !is_option {
                reading.arguments.operands.push(word.clone());
                if self.order == Order::OptionsFirst {
                    reading.arguments.operands.extend(words.cloned());
                    break;
                }
                continue;
            }
            let mut next = words.clone();
            let following = next.next();
            let uses_next = if self.rules.iter().any(|rule| rule.names.contains(&word.text.as_str())) {
                reading.whole(word, following)?
            } else if word.text.starts_with("--") {
                reading.long(word, following)?
            } else {
                reading.cluster(word, following)?
            };
            if uses_next {
                words = next;
            }
        }
        Ok(reading.arguments)
    }

    fn rule(&self, name: &str) -> Option<&'static Rule> {
        self.rules.iter().find(|rule| rule.names.contains(&name))
    }

    fn unknown(&self, at: Range<usize>, name: &str) -> Refusal {
        let names = self.rules.iter().filter(|rule| !matches!(rule.meaning, Meaning::Refused(..)));
        let names = names.flat_map(|rule| rule.names.iter().copied());
        let long = name.strip_prefix("--").and_then(|bare| {
            let longs = names.clone().filter_map(|name| name.strip_prefix("--"));
            closest(bare, longs).map(|near| format!("--{near}"))
        });
        let other_case = || {
            let letter = name.chars().nth(1).filter(|_| name.chars().count() == 2)?;
            let other = if letter.is_uppercase() { letter.to_ascii_lowercase() } else { letter.to_ascii_uppercase() };
            names.clone().find(|known| *known == format!("-{other}")).map(str::to_owned)
        };
        let remedy = match long.or_else(other_case) {
            Some(near) => format!("Did you mean `{near}`?"),
            None => format!("Look it up in the manual of {}.", self.tool),
        };
        Refusal::new(at, format!("`{name}` is no option of {}", self.tool), remedy)
    }
}

impl Reading<'_> {
    /// An option whose name is the whole word.
    fn whole(&mut self, word: &Word, next: Option<&Word>) -> Result<bool> {
        let Some(rule) = self.table.rule(&word.text) else {
            return Err(self.table.unknown(word.source.clone(), &word.text));
        };
        self.with_next(rule, word.source.clone(), &word.text, next)
    }

    /// `--name=value`, or a name that is not whole.
    fn long(&mut self, word: &Word, next: Option<&Word>) -> Result<bool> {
        let (name, value) = match word.text.find('=') {
            Some(at) => (word.text.get(..at).unwrap_or_default(), Some(word.from(at + 1))),
            None => (word.text.as_str(), None),
        };
        let at = word.place(0..name.len());
        let rule = match self.table.rule(name) {
            Some(rule) => rule,
            None => self.beginning(name, &at)?,
        };
        match value {
            None => self.with_next(rule, at, name, next),
            Some(value) if rule.takes == Takes::Nothing => Err(Refusal::new(
                value.source.clone(),
                format!("`{name}` of {} has no value", self.table.tool),
                "Remove what follows the `=`.",
            )),
            Some(value) => self.add(rule, name, at, Some(value)).map(|()| false),
        }
    }

    /// The one rule whose long name begins so.
    fn beginning(&self, name: &str, at: &Range<usize>) -> Result<&'static Rule> {
        let begins = |rule: &&Rule| rule.names.iter().any(|known| known.starts_with(name) && known.starts_with("--"));
        let mut found = self.table.rules.iter().filter(begins);
        match (found.next(), found.next()) {
            (Some(rule), None) if name.len() > 3 => Ok(rule),
            _ => Err(self.table.unknown(at.clone(), name)),
        }
    }

    fn with_next(&mut self, rule: &'static Rule, at: Range<usize>, name: &str, next: Option<&Word>) -> Result<bool> {
        match (rule.takes, next) {
            (Takes::Nothing | Takes::Attached, _) => self.add(rule, name, at, None).map(|()| false),
            (Takes::Maybe, Some(next)) if !next.text.starts_with('-') => {
                self.add(rule, name, at, Some(next.clone())).map(|()| true)
            }
            (Takes::Maybe, _) => self.add(rule, name, at, None).map(|()| false),
            (Takes::Value, Some(next)) => self.add(rule, name, at, Some(next.clone())).map(|()| true),
            (Takes::Value, None) => Err(Refusal::new(
                at,
                format!("`{name}` of {} needs a value", self.table.tool),
                "Write it behind the option.",
            )),
        }
    }

    /// Letters behind one `-`.
    fn cluster(&mut self, word: &Word, next: Option<&Word>) -> Result<bool> {
        let letters: Vec<(usize, char)> = word.text.char_indices().skip(1).collect();
        for (index, (at, letter)) in letters.iter().enumerate() {
            let place = if index == 0 {
                word.place(0..at + letter.len_utf8())
            } else {
                word.place(*at..at + letter.len_utf8())
            };
            let name = format!("-{letter}");
            let Some(rule) = self.table.rule(&name) else {
                return Err(self.table.unknown(place, &name));
            };
            let behind = at + letter.len_utf8();
            if rule.takes == Takes::Nothing {
                self.add(rule, &name, place, None)?;
            } else if behind < word.text.len() {
                return self.add(rule, &name, place, Some(word.from(behind))).map(|()| false);
            } else {
                return self.with_next(rule, place, &name, next);
            }
        }
        Ok(false)
    }

    /// Takes an option that was given under one of its names.
    fn add(&mut self, rule: &'static Rule, name: &str, at: Range<usize>, value: Option<Word>) -> Result<()> {
        let key = rule.names.first().copied().unwrap_or_default();
        match rule.meaning {
            Meaning::Taken => {
                self.marks.mark(&at, SpanKind::Option);
                if let Some(value) = &value {
                    self.marks.mark(&value.source, SpanKind::Value);
                }
                self.arguments.given.push(Given { key, at, value });
            }
            Meaning::Ignored(why) => {
                let end = value.as_ref().map_or(at.end, |value| value.source.end).max(at.end);
                let text = format!("{name} has no meaning here: {why}");
                // Letters that are repeated are told once.
                if self.marks.has_ignored(&text) {
                    self.marks.mark(&(at.start..end), SpanKind::Ignored);
                } else {
                    self.marks.ignore(&(at.start..end), text);
                }
            }
            Meaning::Refused(why, nearest) => {
                return Err(Refusal::new(at, format!("{name} of {} is not possible. {why}", self.table.tool), nearest));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Table = Table {
        tool: "a tool",
        order: Order::OptionsFirst,
        rules: &[
            Rule::taken(&["-a", "--all"], Takes::Nothing),
            Rule::taken(&["-p", "--pid"], Takes::Value),
            Rule::taken(&["-z", "--level"], Takes::Attached),
            Rule::ignored(&["-q", "--quiet"], Takes::Nothing, "it is quiet"),
            Rule::refused(&["-b"], Takes::Value, "It stops.", "Write -a."),
        ],
    };

    fn read(order: Order, line: &str) -> std::result::Result<String, Refusal> {
        let lines = crate::shell::read(line, &|_| false)?;
        let words = lines.pipelines.first().map(|it| it.commands[0].words.clone()).unwrap_or_default();
        let arguments = Table { order, ..TABLE }.read(&words, &mut Marks::default())?;
        let given = arguments.given.iter().map(|it| match &it.value {
            Some(value) => format!("{}={}", it.key, value.text),
            None => it.key.to_owned(),
        });
        let operands = arguments.operands.iter().map(|word| word.text.clone());
        Ok(given.chain(operands).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn words_are_read_as_tools_read_them() {
        let cases = [
            ("-ap 1 ls -a", "-a -p=1 ls -a"),
            ("-p1 -qa ls", "-p=1 -a ls"),
            ("--pid=1 --all -- -x", "-p=1 -a -x"),
            ("--pid 1 --lev=2 -z3 -z ls", "-p=1 -z=2 -z=3 -z ls"),
            ("- -a", "- -a"),
        ];
        for (line, expected) in cases {
            assert_eq!(read(Order::OptionsFirst, line).as_deref(), Ok(expected), "{line}");
        }
        assert_eq!(read(Order::Anywhere, "x -a y -p 2").as_deref(), Ok("-a -p=2 x y"));
    }

    #[test]
    fn what_is_no_option_is_refused_at_its_place() {
        let cases = [
            ("-ax", 2..3, "look it up"),
            ("-A ls", 0..2, "did you mean `-a`?"),
            ("--al ls", 0..4, ""),
            ("--alll ls", 0..6, "did you mean `--all`?"),
            ("-a --pid", 3..8, "behind the option"),
            ("--all=3", 6..7, "remove"),
            ("-ab 1", 2..3, "write -a."),
        ];
        for (line, at, remedy) in cases {
            match read(Order::OptionsFirst, line) {
                Ok(read) => assert_eq!((line, read.as_str()), ("--al ls", "-a ls")),
                Err(error) => {
                    assert_eq!(error.at, at, "{line}");
                    assert!(error.remedy.to_lowercase().contains(remedy), "{line}: {error:?}");
                }
            }
        }
    }
}
