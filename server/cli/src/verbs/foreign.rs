//! Options of the tools whose letters our verbs take, that a verb does not have: each is refused with what there is instead,
//! or left out with a note where it asks for what is so in any case. Each verb has a table of them.

/// What is answered to an option of the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionAnswer {
    /// It is refused.
    Refused,
    /// What it asks for is so in any case: it is left out, and that is told.
    Meaningless,
}

/// An option of the tool whose letters a verb takes, that the verb does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// The option as it is typed: `-b`, `--seccomp-bpf`.
    pub(crate) option: &'static str,
    /// What is answered.
    pub(crate) answer: OptionAnswer,
    /// Whether the word behind it is its value; only asked where it is left out.
    pub(crate) takes_value: bool,
    /// Why: whole sentences where it is refused, else the end of one.
    pub(crate) why: &'static str,
}

impl Foreign {
    /// One that is refused.
    pub(crate) const fn refused(option: &'static str, why: &'static str) -> Self {
        Self { option, answer: OptionAnswer::Refused, takes_value: false, why }
    }

    /// One that is left out.
    pub(crate) const fn meaningless(option: &'static str, why: &'static str) -> Self {
        Self { option, answer: OptionAnswer::Meaningless, takes_value: false, why }
    }

    /// The same with the word behind it.
    pub(crate) const fn with_value(self) -> Self {
        Self { takes_value: true, ..self }
    }
}
