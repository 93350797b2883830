//! Numbers with units in a condition as plain numbers in the units of its fields.

use super::{Literal, Predicate, PredicateError};
use crate::{Amount, ColumnUnit};

/// Where in its text a constant stands, in characters from 0, if it was read from text here. It makes no difference between
/// constants: all places are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place(pub Option<u32>);

impl PartialEq for Place {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Place {}

/// The place behind a message.
pub(super) fn place_words(offset: Option<&u32>) -> String {
    offset.map_or_else(String::new, |offset| format!(" at character {offset}"))
}

impl Predicate {
    /// The same with plain numbers in place of those with units, in the unit of each field, as `unit_of` knows it.
    ///
    /// # Errors
    /// The first number with a unit that does not fit its field, with its place and what would fit.
    pub fn in_units(&self, unit_of: &mut dyn FnMut(&str) -> Option<ColumnUnit>) -> Result<Self, PredicateError> {
        let mut parts = |parts: &[Self]| {
            parts.iter().map(|part| part.in_units(unit_of)).collect::<Result<Vec<_>, PredicateError>>()
        };
        Ok(match self {
            Self::Not(inner) => Self::Not(Box::new(inner.in_units(unit_of)?)),
            Self::All(all) => Self::All(parts(all)?),
            Self::Any(any) => Self::Any(parts(any)?),
            Self::HasFrame { .. } => self.clone(),
            Self::Compare { field, op, value } => {
                let value = value.in_unit(field, unit_of)?;
                Self::Compare { field: field.clone(), op: *op, value }
            }
            Self::In { field, values } => {
                let values = values.iter().map(|value| value.in_unit(field, unit_of)).collect::<Result<_, _>>()?;
                Self::In { field: field.clone(), values }
            }
            Self::Between { field, low, high } => {
                let (low, high) = (low.in_unit(field, unit_of)?, high.in_unit(field, unit_of)?);
                Self::Between { field: field.clone(), low, high }
            }
        })
    }
}

impl Predicate {
    /// Forgets where its constants stand: in a text that is not what somebody typed, but what was made of that.
    pub(super) fn forget_places(&mut self) {
        match self {
            Self::Not(inner) => inner.forget_places(),
            Self::All(parts) | Self::Any(parts) => parts.iter_mut().for_each(Self::forget_places),
            Self::HasFrame { .. } => {}
            Self::Compare { value, .. } => value.forget_place(),
            Self::In { values, .. } => values.iter_mut().for_each(Literal::forget_place),
            Self::Between { low, high, .. } => [low, high].into_iter().for_each(Literal::forget_place),
        }
    }
}

impl Literal {
    fn forget_place(&mut self) {
        if let Self::Amount { at, .. } = self {
            *at = Place::default();
        }
    }

    fn in_unit(
        &self,
        field: &str,
        unit_of: &mut dyn FnMut(&str) -> Option<ColumnUnit>,
    ) -> Result<Self, PredicateError> {
        let Self::Amount { amount, at } = self else { return Ok(self.clone()) };
        let unit = unit_of(field);
        let number = unit.and_then(|unit| unit.of(*amount));
        let Some(number) = number else {
            return Err(PredicateError::Unit { offset: at.0, message: misfit(*amount, field, unit) });
        };
        Ok(u64::try_from(number).map_or(Self::Negative(number), Self::Number))
    }
}

/// Why an amount cannot be compared with a field, and what can.
fn misfit(amount: Amount, field: &str, unit: Option<ColumnUnit>) -> String {
    let (is, _) = amount.kind.words();
    match unit {
        None => format!("{amount} is {is}, but nothing says what `{field}` is in: write a number without a unit"),
        Some(unit) if unit.kind() != amount.kind => {
            let (_, fits) = unit.kind().words();
            format!("{amount} is {is}, but `{field}` is in {}: write {fits}, or a number without a unit", unit.words())
        }
        Some(unit) => {
            format!(
                "{amount} is no whole number of {0}, which `{field}` is in: write a whole number of {0}",
                unit.words()
            )
        }
    }
}
