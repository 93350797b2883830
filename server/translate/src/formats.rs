//! Formats of `printf`.

use bathyscope_plan::Span;

use crate::{
    emit::{Value, ValueKind},
    refusal::{Result, refuse},
    tree::{Expr, ExprKind},
};

/// A part of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// As it was written, `%%` too.
    Literal(String),
    /// Flags, width and precision, and the letter.
    Conversion { flags: String, letter: char },
}

/// Takes a format apart. The lengths of numbers have no meaning: all have 64 bits.
fn pieces(format: &str, span: Span) -> Result<Vec<Piece>> {
    let (mut all, mut literal) = (Vec::new(), String::new());
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        literal.push(c);
        if c != '%' {
            continue;
        }
        if chars.next_if_eq(&'%').is_some() {
            literal.push('%');
            continue;
        }
        literal.pop();
        if !literal.is_empty() {
            all.push(Piece::Literal(std::mem::take(&mut literal)));
        }
        let mut flags = String::new();
        while let Some(flag) = chars.next_if(|c| matches!(c, '-' | '+' | ' ' | '#' | '.' | '0'..='9')) {
            flags.push(flag);
        }
        while chars.next_if(|c| matches!(c, 'h' | 'l' | 'L' | 'q' | 'j' | 'z')).is_some() {}
        match chars.next() {
            Some('*') => {
                return refuse(span, "a width that is an argument is not translated", "write the width as a number");
            }
            Some(letter) if letter.is_ascii_alphabetic() || letter == '@' => {
                all.push(Piece::Conversion { flags, letter });
            }
            _ => return refuse(span, "the format ends within a conversion", "write `%%` for a percent sign"),
        }
    }
    if !literal.is_empty() {
        all.push(Piece::Literal(literal));
    }
    Ok(all)
}

/// The format and the values of a call of `printf`, with the conversion that `convert` makes of each value: its flags, its letter.
pub(crate) fn converted(
    arguments: &[Expr],
    span: Span,
    mut convert: impl FnMut(&str, char, &Expr) -> Result<(String, Vec<String>)>,
) -> Result<(String, Vec<String>)> {
    let Some((Expr { kind: ExprKind::Text(format), span: place, .. }, values)) = arguments.split_first() else {
        return refuse(span, "`printf` begins with a format in quotes", "write `printf(\"%d\\n\", value)`");
    };
    let (mut text, mut shown, mut values) = (String::new(), Vec::new(), values.iter());
    for piece in pieces(format, *place)? {
        let (flags, letter) = match piece {
            Piece::Literal(literal) => {
                text.push_str(&literal);
                continue;
            }
            Piece::Conversion { flags, letter } => (flags, letter),
        };
        let Some(expr) = values.next() else {
            return refuse(
                *place,
                "the format has more conversions than there are values",
                "remove one, or add a value",
            );
        };
        let (format, arguments) = convert(&flags, letter, expr)?;
        text.push_str(&format);
        shown.extend(arguments);
    }
    if let Some(more) = values.next() {
        return refuse(more.span, "the format has no conversion for this value", "add `%d` or `%s`");
    }
    Ok((text, shown))
}

/// A conversion of numbers or texts that both languages have, with the value that it shows.
pub(crate) fn shown(flags: &str, letter: char, value: &Value, span: Span) -> Result<(String, Vec<String>)> {
    if let (Some((format, arguments)), 's') = (&value.parts, letter) {
        if flags.is_empty() {
            return Ok((format.clone(), arguments.clone()));
        }
        return refuse(span, "this text is made while it is printed, and cannot be given a width", "write `%s`");
    }
    let kind = value.kind;
    if kind == ValueKind::Date {
        let hint = "show it as a date, or use a monotonic clock: `timestamp` of D, `local_clock_us()` of SystemTap";
        return refuse(span, "programs in the kernel cannot read the wall clock as a number", hint);
    }
    let is_text = matches!(kind, ValueKind::Text | ValueKind::Shown);
    match letter {
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'c' | 'p' if is_text => {
            refuse(span, format!("`%{letter}` is given a text"), "write `%s`")
        }
        's' if kind == ValueKind::Number => refuse(span, "`%s` is given a number", "write `%d`"),
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' => Ok((format!("%{flags}l{letter}"), vec![value.text.clone()])),
        'c' | 'p' | 's' => Ok((format!("%{flags}{letter}"), vec![value.text.clone()])),
        'e' | 'f' | 'g' | 'E' | 'G' => {
            refuse(span, format!("`%{letter}` needs a floating-point number, which there is not"), "use `%d`")
        }
        _ => refuse(span, format!("the conversion `%{letter}` has no equal"), "use `%d`, `%x` or `%s`"),
    }
}

/// `printf` of a format that was put together.
pub(crate) fn printf(format: &str, arguments: &[String]) -> String {
    let mut text = format!("printf(\"{format}\"");
    for argument in arguments {
        text.push_str(", ");
        text.push_str(argument);
    }
    text.push_str(");");
    text
}
