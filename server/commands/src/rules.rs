//! The options of a tool as a table: for each whether it is taken, has no meaning here and why, or is not possible.

/// Whether an option has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// None.
    Nothing,
    /// The rest of its word, or the next word.
    Value,
    /// The rest of its word, if there is any.
    Attached,
    /// The rest of its word, or the next word if that does not begin with `-`.
    Maybe,
}

/// What an option means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// It is done.
    Taken,
    /// It has no meaning here, and why: the end of a sentence.
    Ignored(&'static str),
    /// It is not possible: why, and what is nearest. Whole sentences.
    Refused(&'static str, &'static str),
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// Its names with their dashes. The first is what code calls it.
    pub(crate) names: &'static [&'static str],
    /// Whether it has a value.
    pub(crate) takes: Takes,
    /// What it means here.
    pub(crate) meaning: Meaning,
    /// What a verb of Bathyscope that takes the tool's letters, but not this one, says instead of that: whole sentences. None if
    /// it says the same.
    pub(crate) at_verb: Option<&'static str>,
}

impl Rule {
    pub(crate) const fn taken(names: &'static [&'static str], takes: Takes) -> Self {
        Self { names, takes, meaning: Meaning::Taken, at_verb: None }
    }

    pub(crate) const fn ignored(names: &'static [&'static str], takes: Takes, why: &'static str) -> Self {
        Self { names, takes, meaning: Meaning::Ignored(why), at_verb: None }
    }

    pub(crate) const fn refused(
        names: &'static [&'static str],
        takes: Takes,
        why: &'static str,
        nearest: &'static str,
    ) -> Self {
        Self { names, takes, meaning: Meaning::Refused(why, nearest), at_verb: None }
    }

    /// The same, which a verb that does not have it refuses with these sentences.
    pub(crate) const fn refused_at_verb(self, says: &'static str) -> Self {
        Self { at_verb: Some(says), ..self }
    }
}

/// How a tool reads its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Options end at the first word that is none: what follows is a command with options of its own.
    OptionsFirst,
    /// Options stand anywhere.
    Anywhere,
}

/// The options of a tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    /// What it is called in messages.
    pub(crate) tool: &'static str,
    /// How its words are read.
    pub(crate) order: Order,
    /// Its options.
    pub(crate) rules: &'static [Rule],
}
