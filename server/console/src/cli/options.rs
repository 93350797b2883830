//! The options of a verb as the parser knows them, for what orders or checks words before the parser reads them.

/// Whether an option takes a value, and whether only behind `=`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Takes {
    value: bool,
    behind_equals: bool,
}

impl Takes {
    /// Whether the next word is its value, where none stands behind the option itself.
    pub(super) fn next_word(self) -> bool {
        self.value && !self.behind_equals
    }
}

/// The options of one verb.
pub(super) struct Options {
    /// By their names without `--`.
    pub(super) long: Vec<(String, Takes)>,
    /// By their letters.
    pub(super) short: Vec<(char, Takes)>,
}

impl Options {
    /// Those of a command of the parser, and help.
    pub(super) fn of(command: &clap::Command) -> Self {
        let flag = Takes { value: false, behind_equals: false };
        let (mut long, mut short) = (vec![("help".to_owned(), flag)], vec![('h', flag)]);
        for argument in command.get_arguments() {
            let takes =
                Takes { value: argument.get_action().takes_values(), behind_equals: argument.is_require_equals_set() };
            let names = argument.get_long_and_visible_aliases().unwrap_or_default();
            long.extend(names.into_iter().map(|name| (name.to_owned(), takes)));
            let letters = argument.get_short_and_visible_aliases().unwrap_or_default();
            short.extend(letters.into_iter().map(|letter| (letter, takes)));
        }
        Self { long, short }
    }

    /// Whether the word behind these letters is the value of the last one.
    ///
    /// # Errors
    /// The first letter that is no option.
    pub(super) fn letters(&self, letters: &str) -> Result<bool, char> {
        for (at, letter) in letters.char_indices() {
            let (_, takes) = self.short.iter().find(|(known, _)| *known == letter).ok_or(letter)?;
            if takes.value {
                return Ok(at + letter.len_utf8() == letters.len() && takes.next_word());
            }
        }
        Ok(false)
    }
}
