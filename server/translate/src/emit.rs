//! Values in the probe language, made of expressions. What names and calls mean differs by language.

use bathyscope_plan::Span;

use crate::{
    refusal::{Result, refuse},
    tree::{Expr, ExprKind},
};

/// What a value is, as far as a format must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Number,
    Text,
    /// A stack or symbol: shown by `%s`, and compared with nothing.
    Shown,
    /// The wall clock, which has an equal only when it is shown as a date.
    Date,
    /// Only the kernel's types tell.
    Unknown,
}

/// A value in the probe language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) text: String,
    pub(crate) kind: ValueKind,
    /// The same where a pointer is wanted.
    pub(crate) pointer: Option<String>,
    /// Whether it is a field without a sign, which both languages take as a signed number of 64 bits.
    pub(crate) unsigned: bool,
    /// Whether it needs no parentheses beside an operator.
    pub(crate) atom: bool,
    /// A part of a format with its arguments, for what cannot be made but while printing.
    pub(crate) parts: Option<(String, Vec<String>)>,
}

impl Value {
    pub(crate) fn new(text: impl Into<String>, kind: ValueKind) -> Self {
        Self { text: text.into(), kind, pointer: None, unsigned: false, atom: true, parts: None }
    }

    pub(crate) fn number(text: impl Into<String>) -> Self {
        Self::new(text, ValueKind::Number)
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::new(text, ValueKind::Text)
    }

    pub(crate) fn loose(mut self) -> Self {
        self.atom = false;
        self
    }

    pub(crate) fn or_pointer(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }

    /// A field without a sign.
    pub(crate) fn unsigned(mut self) -> Self {
        self.unsigned = true;
        self
    }

    /// The signed number that both languages have, where the sign may matter.
    pub(crate) fn signed(&self) -> String {
        if self.unsigned { format!("(int64){}", self.text) } else { self.text.clone() }
    }

    /// As an operand.
    pub(crate) fn operand(&self) -> String {
        if self.atom { self.text.clone() } else { format!("({})", self.text) }
    }

    /// As a pointer.
    pub(crate) fn as_pointer(&self) -> String {
        self.pointer.clone().unwrap_or_else(|| self.operand())
    }
}

/// What names and calls of a language mean at a probe.
pub(crate) trait Meaning {
    /// Everything that both languages do not have alike.
    fn leaf(&mut self, expr: &Expr) -> Result<Value>;

    /// What compares or combines values, if it means something else at this probe.
    fn special(&mut self, expr: &Expr) -> Result<Option<Value>>;

    /// A value.
    fn value(&mut self, expr: &Expr) -> Result<Value>
    where
        Self: Sized,
    {
        if let Some(value) = self.special(expr)? {
            return Ok(value);
        }
        match &expr.kind {
            ExprKind::Number(number) => Ok(Value::number(number.to_string())),
            ExprKind::Text(text) => Ok(Value::text(format!("\"{text}\""))),
            ExprKind::Prefix { operator, of } => prefix(self, operator, of, expr.span),
            ExprKind::Binary { operator, left, right } => binary(self, operator, left, right, expr.span),
            ExprKind::Ternary { condition, then, otherwise } => {
                let condition = comparable(self, condition)?;
                let (then, otherwise) = (self.value(then)?, self.value(otherwise)?);
                let text = format!("{} ? {} : {}", condition.operand(), then.operand(), otherwise.operand());
                Ok(Value::new(text, then.kind).loose())
            }
            ExprKind::Assign { .. } => refuse(
                expr.span,
                "an assignment within an expression is not translated",
                "write it as a statement before",
            ),
            _ => self.leaf(expr),
        }
    }

    /// Values with commas.
    fn values(&mut self, all: &[Expr]) -> Result<String>
    where
        Self: Sized,
    {
        let mut texts = Vec::new();
        for expr in all {
            texts.push(settled(self.value(expr)?, expr.span)?.text);
        }
        Ok(texts.join(", "))
    }
}

/// Refuses what exists only while something is printed.
pub(crate) fn settled(value: Value, span: Span) -> Result<Value> {
    if value.parts.is_some() {
        let hint = "print it by `%s`, or use the arguments themselves";
        return refuse(span, "this text is made only while it is printed", hint);
    }
    if value.kind == ValueKind::Date {
        let hint = "use a monotonic clock (`timestamp` of D, `local_clock_us()` of SystemTap), or show it as a date";
        return refuse(span, "programs in the kernel cannot read the wall clock as a number", hint);
    }
    Ok(value)
}

fn comparable(meaning: &mut impl Meaning, expr: &Expr) -> Result<Value> {
    let value = settled(meaning.value(expr)?, expr.span)?;
    if value.kind == ValueKind::Shown {
        return refuse(expr.span, "stacks and symbols are not compared", "use it as a key, or print it");
    }
    Ok(value)
}

fn prefix(meaning: &mut impl Meaning, operator: &str, of: &Expr, span: Span) -> Result<Value> {
    if matches!(operator, "++" | "--") {
        let value = meaning.value(of)?;
        return Ok(Value::number(format!("{operator}{}", value.text)).loose());
    }
    if operator == "&" {
        return refuse(span, "the address of a value is not translated", "use the value itself");
    }
    let value = comparable(meaning, of)?;
    match operator {
        "+" => Ok(value),
        "*" => Ok(Value::new(format!("*{}", value.as_pointer()), ValueKind::Unknown).loose()),
        _ if value.kind == ValueKind::Text => {
            refuse(span, "a text has no truth and no sign", "compare it: `text == \"\"`")
        }
        _ => Ok(Value::number(format!("{operator}{}", value.operand())).loose()),
    }
}

fn binary(meaning: &mut impl Meaning, operator: &str, left: &Expr, right: &Expr, span: Span) -> Result<Value> {
    let (a, b) = (comparable(meaning, left)?, comparable(meaning, right)?);
    let texts = (a.kind == ValueKind::Text, b.kind == ValueKind::Text);
    match operator {
        "^^" => {
            return Ok(Value::number(format!("({} != 0) != ({} != 0)", a.operand(), b.operand())).loose());
        }
        "." => return Ok(Value::text(format!("str_concat({}, {})", a.text, b.text))),
        "=~" | "!~" => {
            return refuse(span, "regular expressions have no equal", "use `==`, or look for a part of the text");
        }
        "<" | ">" | "<=" | ">=" if texts.0 || texts.1 => {
            return refuse(span, "texts are compared by `==` and `!=` only", "use one of these");
        }
        "==" | "!=" => {
            let unequal = [a.kind, b.kind].contains(&ValueKind::Number) && (texts.0 || texts.1);
            if unequal {
                return refuse(span, "a number is compared with a text", "compare values of one type");
            }
        }
        "&&" | "||" | "<" | ">" | "<=" | ">=" => {}
        _ if texts.0 || texts.1 => {
            return refuse(span, format!("`{operator}` is for numbers"), "use a number");
        }
        _ => {}
    }
    let (a, b) = match operator {
        // These answer the same for numbers that are not negative.
        "==" | "!=" | "&&" | "||" | "&" | "|" | "^" | "+" | "*" | "<<" => (a.operand(), b.operand()),
        "<" | ">" | "<=" | ">=" if is_plain(left) || is_plain(right) => (a.operand(), b.operand()),
        _ => (signed_operand(&a), signed_operand(&b)),
    };
    Ok(Value::number(format!("{a} {operator} {b}")).loose())
}

/// A number that is written and not negative.
fn is_plain(expr: &Expr) -> bool {
    expr.number().is_some_and(|number| number >= 0)
}

fn signed_operand(value: &Value) -> String {
    if value.unsigned { format!("({})", value.signed()) } else { value.operand() }
}
