//! C definitions of a script: structs, unions, enums and typedefs, with everything that such definitions contain in
//! headers: bitfields, anonymous members, arrays with computed sizes, attributes, pointers to functions.

mod declarator;
mod expression;
mod layout;
mod parser;
mod record;
mod tokens;

use std::ops::Range;

use super::{TypeId, Types};

/// Why a C definition is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DefinitionError {
    /// Where in the text, in bytes.
    pub at: Range<usize>,
    /// What is wrong, and what was expected.
    pub message: String,
    /// What would be right, as a whole sentence, if that is known.
    pub suggestion: Option<String>,
}

impl Types {
    /// Adds the C definitions in `text`: any number of `struct`, `union`, `enum` and `typedef` definitions and forward
    /// declarations. They shadow types of the same name. `constants` gives the values of names that may stand in sizes
    /// of arrays and in values, such as those that `#define` made; enum constants and those of
    /// [`crate::constants`] are known without it. If there is an error, nothing is added. Returns what was defined, in
    /// order.
    ///
    /// # Errors
    /// If the text is not understood, names an unknown type, or describes an impossible layout.
    pub fn define(
        &mut self,
        text: &str,
        constants: &dyn Fn(&str) -> Option<i64>,
    ) -> Result<Vec<TypeId>, DefinitionError> {
        self.or_nothing(|types| parser::DefinitionParser::new(types, text, constants)?.definitions())
    }

    /// The type that a C type name means, pointers and arrays included: `struct task_struct *`, `u8[16]`,
    /// `const char *`. See [`Types::spelled`] for names alone.
    ///
    /// # Errors
    /// If the text is not understood or names an unknown type.
    pub fn declared(&mut self, text: &str) -> Result<TypeId, DefinitionError> {
        self.or_nothing(|types| parser::DefinitionParser::new(types, text, &|_name| None)?.type_alone())
    }

    /// Takes back what was added if there is an error.
    fn or_nothing<T>(
        &mut self,
        add: impl FnOnce(&mut Self) -> Result<T, DefinitionError>,
    ) -> Result<T, DefinitionError> {
        let before = self.locals.clone();
        let result = add(self);
        if result.is_err() {
            self.locals = before;
        }
        result
    }
}
