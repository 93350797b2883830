//! C definitions of a script.

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
    /// of arrays and in values, such as those that `#define` made; enum constants are known without it. If there is an
    /// error, nothing is added. Returns what was defined, in order.
    ///
    /// # Errors
    /// If the text is not understood, names an unknown type, or describes an impossible layout.
    pub fn define(
        &mut self,
        text: &str,
        constants: &dyn Fn(&str) -> Option<i64>,
    ) -> Result<Vec<TypeId>, DefinitionError> {
        let _both = (text, constants);
        Ok(Vec::new())
    }

    /// The type that a C type name means, pointers and arrays included: `struct task_struct *`, `u8[16]`,
    /// `const char *`. See [`Types::spelled`] for names alone.
    ///
    /// # Errors
    /// If the text is not understood or names an unknown type.
    pub fn declared(&mut self, text: &str) -> Result<TypeId, DefinitionError> {
        let _text = text;
        Ok(TypeId::VOID)
    }
}
