//! Constant expressions: sizes of arrays, widths of bitfields, values of enums.

use super::{
    parser::{DefinitionParser, Parsed},
    tokens::{DefinitionValue, DefinitionWord},
};
use crate::constants::{Arch, constant};

/// Operators with two sides, by how close they bind.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl DefinitionParser<'_> {
    /// A constant expression; wide enough for all numbers of 64 bits with and without sign.
    pub(super) fn constant_expression(&mut self) -> Parsed<i128> {
        self.nested(Self::choice).map(|value| value.number)
    }

    fn choice(&mut self) -> Parsed<DefinitionValue> {
        let condition = self.level(0)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.nested(Self::choice)?;
        self.expect(":", "between the two values")?;
        let no = self.nested(Self::choice)?;
        Ok(if condition.number != 0 { yes } else { no })
    }

    fn level(&mut self, level: usize) -> Parsed<DefinitionValue> {
        let Some(operators) = LEVELS.get(level) else { return self.nested(Self::unary) };
        let mut left = self.level(level + 1)?;
        loop {
            let DefinitionWord::Mark(operator) = self.word() else { return Ok(left) };
            if !operators.contains(&operator) {
                return Ok(left);
            }
            let place = self.place();
            self.next();
            let right = self.level(level + 1)?;
            left = match computed(operator, left, right) {
                Some(value) => value,
                None if right.number == 0 => return Err(self.wrong_at(place, "this divides by zero", None)),
                None => {
                    let how = Some("Add the suffix `UL` to one of the numbers.");
                    return Err(self.wrong_at(place, "the result does not fit into the type of the operands", how));
                }
            };
        }
    }

    fn unary(&mut self) -> Parsed<DefinitionValue> {
        let place = self.place();
        if let DefinitionWord::Mark(mark @ ("-" | "+" | "~" | "!")) = self.word() {
            self.next();
            let value = self.nested(Self::unary)?;
            let number = match mark {
                "-" => -value.number,
                "~" => !value.number,
                "!" => return Ok(DefinitionValue::new(i128::from(value.number == 0))),
                _ => value.number,
            };
            let value = DefinitionValue::typed(number, value.wide, value.unsigned);
            return value.ok_or_else(|| self.wrong_at(place, "this number does not fit into its type", None));
        }
        match self.word() {
            DefinitionWord::Number(value) => {
                self.next();
                Ok(value)
            }
            DefinitionWord::Mark("(") => {
                self.next();
                self.grouped()
            }
            DefinitionWord::Name("sizeof") => {
                self.next();
                self.size_of()
            }
            DefinitionWord::Name(name) => {
                let value = self.named_constant(name)?;
                self.next();
                Ok(DefinitionValue::new(value))
            }
            other => Err(self.wrong_at(place, &format!("expected a number, found {}", other.shown()), None)),
        }
    }

    /// Behind an opening parenthesis: a type, whose cast changes the value, or an expression.
    fn grouped(&mut self) -> Parsed<DefinitionValue> {
        if !self.at_type() {
            let value = self.nested(Self::choice)?;
            self.expect(")", "behind the expression")?;
            return Ok(value);
        }
        let ty = self.type_name()?;
        self.expect(")", "behind the type")?;
        let value = self.nested(Self::unary)?;
        let Some(int) = self.types.integer(ty).filter(|int| int.bytes <= 8) else { return Ok(value) };
        let (wide, unsigned) = (int.bytes == 8, !int.signed && int.bytes >= 4);
        let unused = 128 - int.bytes * 8;
        let number = if int.signed {
            (value.number << unused) >> unused
        } else {
            ((value.number.cast_unsigned() << unused) >> unused).cast_signed()
        };
        Ok(DefinitionValue { number, wide, unsigned })
    }

    fn size_of(&mut self) -> Parsed<DefinitionValue> {
        self.expect("(", "behind `sizeof`")?;
        let place = self.place();
        if !self.at_type() {
            let what = format!("expected a type in `sizeof`, found {}", self.word().shown());
            return Err(self.wrong(&what, None));
        }
        let ty = self.type_name()?;
        let bytes = self.complete_size(ty, place, "the operand of `sizeof`")?;
        self.expect(")", "behind the type")?;
        Ok(DefinitionValue { number: i128::from(bytes), wide: true, unsigned: true })
    }

    fn named_constant(&mut self, name: &str) -> Parsed<i128> {
        if let Some(value) = (self.constants)(name) {
            return Ok(i128::from(value));
        }
        if let Some(found) = self.types.constant(name) {
            let unsigned = || i128::from(found.value.cast_unsigned());
            return Ok(if found.signed { i128::from(found.value) } else { unsigned() });
        }
        if let Some(found) = constant(Arch::HOST, name) {
            return Ok(i128::from(found.value));
        }
        let near = self.types.closest_constant(name).map(|near| format!("Did you mean `{near}`?"));
        let suggestion = near.unwrap_or_else(|| format!("Define it: `#define {name} 16`."));
        Err(self.wrong(&format!("`{name}` is no constant that is known here"), Some(&suggestion)))
    }
}

/// What an operation gives, in the type that C gives it.
fn computed(operator: &str, left: DefinitionValue, right: DefinitionValue) -> Option<DefinitionValue> {
    let truth = |is: bool| Some(DefinitionValue::new(i128::from(is)));
    match operator {
        "||" => return truth(left.number != 0 || right.number != 0),
        "&&" => return truth(left.number != 0 && right.number != 0),
        "<<" | ">>" => {
            let by = u32::try_from(right.number).ok().filter(|by| *by < if left.wide { 64 } else { 32 })?;
            let number = if operator == "<<" { left.number.checked_mul(1 << by)? } else { left.number >> by };
            return DefinitionValue::typed(number, left.wide, left.unsigned);
        }
        _ => {}
    }
    // Both become the wider type; of equally wide ones, the unsigned.
    let wide = left.wide || right.wide;
    let unsigned = (left.unsigned && left.wide == wide) || (right.unsigned && right.wide == wide);
    let (left, right) = match unsigned {
        true => (
            DefinitionValue::typed(left.number, wide, true)?.number,
            DefinitionValue::typed(right.number, wide, true)?.number,
        ),
        false => (left.number, right.number),
    };
    let number = match operator {
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => return truth(left == right),
        "!=" => return truth(left != right),
        "<" => return truth(left < right),
        ">" => return truth(left > right),
        "<=" => return truth(left <= right),
        ">=" => return truth(left >= right),
        "+" => left + right,
        "-" => left - right,
        "*" => left.checked_mul(right)?,
        "/" => left.checked_div(right)?,
        _ => left.checked_rem(right)?,
    };
    DefinitionValue::typed(number, wide, unsigned)
}
