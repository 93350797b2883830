//! The options of a verb as the parser knows them, for what orders or checks words before the parser reads them.

/// Whether an option takes a value, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Takes {
    value: bool,
    behind_equals: bool,
    /// The option stands for itself too, so that a word which begins with `-` is the next option.
    optional: bool,
}

impl Takes {
    const NOTHING: Self = Self { value: false, behind_equals: false, optional: false };

    fn of(argument: &clap::Arg) -> Self {
        Self {
            value: takes_values(argument),
            behind_equals: argument.is_require_equals_set(),
            optional: argument.get_num_args().is_some_and(|range| range.min_values() == 0),
        }
    }

    /// Whether it takes one at all.
    pub(super) fn value(self) -> bool {
        self.value
    }

    /// Whether this word, the one behind the option, is its value, where none stands at the option itself.
    pub(super) fn takes(self, next: Option<&str>) -> bool {
        let can_be = !self.optional || next.is_some_and(|word| !word.starts_with('-'));
        self.value && !self.behind_equals && can_be
    }
}

/// Whether a word can be an option's value. One that is only counted, or stands for a value of another, has none.
pub(super) fn takes_values(argument: &clap::Arg) -> bool {
    argument.get_action().takes_values() && argument.get_num_args().is_none_or(|range| range.max_values() > 0)
}

/// An option by one of its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Long {
    /// The name without `--`.
    pub(super) name: String,
    pub(super) takes: Takes,
    /// Whether help shows it. Others are understood by their whole name and never proposed.
    pub(super) is_shown: bool,
}

/// The options of one verb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) long: Vec<Long>,
    /// By their letters.
    pub(super) short: Vec<(char, Takes)>,
}

impl Options {
    /// Those of a command of the parser, under all names that the parser takes, and help.
    pub(super) fn of(command: &clap::Command) -> Self {
        let help = Long { name: "help".to_owned(), takes: Takes::NOTHING, is_shown: true };
        let (mut long, mut short) = (vec![help], vec![('h', Takes::NOTHING)]);
        for argument in command.get_arguments() {
            let takes = Takes::of(argument);
            let named = |name: &str, is_shown| Long { name: name.to_owned(), takes, is_shown };
            let visible = argument.get_visible_aliases().unwrap_or_default();
            long.extend(argument.get_long().map(|name| named(name, !argument.is_hide_set())));
            let aliases = argument.get_all_aliases().unwrap_or_default();
            long.extend(aliases.into_iter().map(|name| named(name, visible.contains(&name))));
            let letters = argument.get_short().into_iter().chain(argument.get_all_short_aliases().unwrap_or_default());
            short.extend(letters.map(|letter| (letter, takes)));
        }
        Self { long, short }
    }

    /// Whether it has an option, as it is typed: `-b`, `--seccomp-bpf`.
    pub(super) fn has(&self, option: &str) -> bool {
        let mut letters = option.strip_prefix('-').unwrap_or_default().chars();
        match (option.strip_prefix("--"), letters.next(), letters.next()) {
            (Some(name), ..) => self.long(name).is_some(),
            (None, Some(letter), None) => self.short(letter).is_some(),
            _ => false,
        }
    }

    /// What the option of this name takes.
    pub(super) fn long(&self, name: &str) -> Option<Takes> {
        self.long.iter().find(|known| known.name == name).map(|known| known.takes)
    }

    /// What the option of this letter takes.
    pub(super) fn short(&self, letter: char) -> Option<Takes> {
        self.short.iter().find(|(known, _)| *known == letter).map(|(_, takes)| *takes)
    }

    /// What the last of these letters takes of the next word; letters behind one that takes a value are its value.
    ///
    /// # Errors
    /// The first letter that is no option.
    pub(super) fn letters(&self, letters: &str) -> Result<Takes, char> {
        for (at, letter) in letters.char_indices() {
            let takes = self.short(letter).ok_or(letter)?;
            if takes.value {
                let is_last = at + letter.len_utf8() == letters.len();
                return Ok(if is_last { takes } else { Takes::NOTHING });
            }
        }
        Ok(Takes::NOTHING)
    }
}
