//! A value of a row as it is shown, and as JSON.

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::StackId;

/// The greatest whole number that a browser keeps exactly, 2^53 − 1.
pub const MAX_EXACT_NUMBER: u64 = (1 << 53) - 1;

/// A value as the browser gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// `null`.
    Null,
    /// A JSON number up to [`MAX_EXACT_NUMBER`] in size, else a string of digits.
    Number(i128),
    /// Text, made visible.
    Text(String),
    /// `{id, top, depth}`.
    Stack {
        /// The stack.
        id: StackId,
        /// The innermost function, made visible.
        top: String,
        /// How many frames there are, inlined functions not counted.
        depth: usize,
    },
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Number(number) => match i64::try_from(*number) {
                Ok(exact) if exact.unsigned_abs() <= MAX_EXACT_NUMBER => serializer.serialize_i64(exact),
                _ => serializer.collect_str(number),
            },
            Self::Text(text) => serializer.serialize_str(text),
            Self::Stack { id, top, depth } => {
                let mut cell = serializer.serialize_struct("Stack", 3)?;
                cell.serialize_field("id", id)?;
                cell.serialize_field("top", top)?;
                cell.serialize_field("depth", depth)?;
                cell.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_a_browser_would_round_are_strings() {
        let cases: [(i128, &str); 6] = [
            (0, "0"),
            (9_007_199_254_740_991, "9007199254740991"),
            (9_007_199_254_740_992, "\"9007199254740992\""),
            (-9_007_199_254_740_991, "-9007199254740991"),
            (-9_007_199_254_740_992, "\"-9007199254740992\""),
            (u64::MAX as i128, "\"18446744073709551615\""),
        ];
        for (number, expected) in cases {
            assert_eq!(serde_json::to_string(&Cell::Number(number)).unwrap(), expected);
        }
    }
}
