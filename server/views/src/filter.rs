//! Which rows a view takes.

use bathyscope_capture::{Predicate, PredicateError};

/// Which rows a view takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Rows that satisfy a predicate over their columns. Names are resolved as in the kernel: a common column first,
    /// then the event's own field; `args.NAME` is always the event's own field. `time` is relative to the capture's start.
    Predicate(Predicate),
    /// Rows with this text, in any case, in any text column as it is shown, or in a function's name in their stack.
    Substring(String),
}

impl Filter {
    /// Reads what a person typed: a predicate if it has an operator, else text to look for. Text in double quotes is
    /// always looked for as it is. Nothing but blanks is no filter.
    ///
    /// # Errors
    /// If it has an operator and is not a predicate, or is too long.
    pub fn parse(text: &str) -> Result<Option<Self>, PredicateError> {
        let _ = text;
        unimplemented!()
    }
}
