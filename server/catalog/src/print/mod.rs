//! How the kernel prints an event: the `print fmt:` of its format file, read and evaluated.
//!
//! A print format is the text of a `printf` and C expressions over the event's fields. Most formats of a kernel are
//! understood; of the rest a [`PrintError`] says why, and whoever shows the event shows its fields by name. What only the
//! running kernel could tell, such as its tick counter, is shown as `?`.
//!
//! A format may come from an imported capture, so it is as hostile as the values are: every size has a limit, nothing
//! panics, and what is printed went through [`bathyscope_capture::visible`].

mod conversion;
mod evaluate;
mod expression;
mod kernel_calls;
mod number;
mod parser;
mod pointer;
mod template;
#[cfg(test)]
mod tests;
mod words;

use std::borrow::Cow;

use self::{expression::Expr, template::TemplatePiece};
use crate::format::{EventFormat, MAX_FORMAT_BYTES, print_text};

/// The longest text that is made of one event, in bytes.
pub const MAX_PRINTED_BYTES: usize = 16 << 10;

/// A print format that cannot be used. It never quotes the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset} of the print format: {kind}")]
pub struct PrintError {
    /// Where in the text behind `print fmt:`, in bytes.
    pub offset: usize,
    /// Why.
    pub kind: PrintErrorKind,
}

/// Why a print format cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum PrintErrorKind {
    /// The file has no `print fmt:`.
    #[error("there is none")]
    Missing,
    /// Too long, too deep or too many of something.
    #[error("something is larger than its limit")]
    TooLarge,
    /// Not what is understood of C.
    #[error("it is not C as formats have it")]
    Syntax,
    /// Statements, such as a call that writes text into the kernel's buffer.
    #[error("it has statements that only the kernel can run")]
    Statement,
    /// A name of which neither the event nor the kernel's types say what it is.
    #[error("a name in it is unknown")]
    Name,
    /// A function of the kernel.
    #[error("it calls a function of the kernel that is not known")]
    Function,
    /// A `%` conversion that is not known, or has no argument.
    #[error("a conversion in it is not known or has no argument")]
    Conversion,
}

/// The value of a field of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue<'a> {
    /// A number.
    Number {
        /// Its bits, of which the low `bytes` count.
        bits: u64,
        /// 1, 2, 4 or 8.
        bytes: u8,
        /// Whether it is signed.
        signed: bool,
    },
    /// Text without the final NUL.
    Text(Cow<'a, [u8]>),
    /// An array as it is in memory, little endian.
    Array {
        /// Its bytes.
        bytes: Cow<'a, [u8]>,
        /// Bytes of each element.
        width: u8,
        /// Whether elements are signed.
        signed: bool,
    },
}

/// The function of the kernel that an address lies in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressName {
    /// Its name, with its module in brackets if it is of one.
    pub name: String,
    /// How many bytes into it the address lies.
    pub offset: u64,
}

/// What a print format asks of whoever has the event.
pub trait EventValues {
    /// The value of the field with this number in [`PrintFormat::fields`]; none if it was not recorded.
    fn field(&self, index: usize) -> Option<FieldValue<'_>>;

    /// The function that an address of the kernel lies in; none where that is not known.
    fn name_of(&self, address: u64) -> Option<AddressName>;
}

/// An event without a text: a value is missing, or is of another kind than the format wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a value that the event's print format needs is missing or does not fit")]
pub struct NoText;

/// A print format that is understood.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintFormat {
    pieces: Vec<TemplatePiece>,
    arguments: Vec<Expr>,
    fields: Vec<String>,
}

impl PrintFormat {
    /// Reads the print format in the text of a format file whose fields are `event`'s. `constant` gives the value of a name
    /// that is none of the event's, such as that of an enumeration.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn parse(
        event: &EventFormat,
        file: &str,
        constant: &mut dyn FnMut(&str) -> Option<i64>,
    ) -> Result<Self, PrintError> {
        let at_start = |kind| PrintError { offset: 0, kind };
        if file.len() > MAX_FORMAT_BYTES {
            return Err(at_start(PrintErrorKind::TooLarge));
        }
        let text = print_text(file).ok_or(at_start(PrintErrorKind::Missing))?;
        let parsed = parser::parse(event, text, constant)?;
        let (pieces, needed) = template::pieces(&parsed.template).map_err(at_start)?;
        // A call without arguments has nothing to say; of another event an empty text would hide what it has.
        if pieces.is_empty() && event.fields.iter().any(|field| field.name != "__syscall_nr") {
            return Err(at_start(PrintErrorKind::Missing));
        }
        if needed > parsed.arguments.len() {
            return Err(at_start(PrintErrorKind::Conversion));
        }
        Ok(Self { pieces, arguments: parsed.arguments, fields: parsed.fields })
    }

    /// Names of the event's fields that the text is made of, each once.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// Whether addresses in it are shown as functions of the kernel.
    pub fn names_addresses(&self) -> bool {
        self.pieces.iter().any(TemplatePiece::names_address)
    }

    /// The numbers of the fields whose addresses are shown as functions of the kernel.
    pub fn named_addresses(&self) -> Vec<usize> {
        let mut arguments = self.arguments.iter();
        let mut found = Vec::new();
        for piece in &self.pieces {
            let taken: Vec<&Expr> = arguments.by_ref().take(piece.arguments()).collect();
            if let Some(address) = taken.last().filter(|_| piece.names_address()) {
                address.fields(&mut found);
            }
        }
        found
    }

    /// Appends the text of an event to `out`; nothing if there is none.
    ///
    /// # Errors
    /// If a value is missing or does not fit.
    pub fn write(&self, values: &dyn EventValues, out: &mut String) -> Result<(), NoText> {
        let before = out.len();
        let written = conversion::write(&self.pieces, &self.arguments, values, out);
        if written.is_err() {
            out.truncate(before);
        }
        written
    }
}
