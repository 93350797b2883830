//! Print format → template and expressions.

use super::{
    PrintError, PrintErrorKind,
    expression::{CastType, Expr},
    number::{BinaryOp, PrintInt, UnaryOp},
    words::{PrintToken, PrintWord, tokens},
};
use crate::{EventFormat, format::scalar};

/// How deep expressions may be nested, and how high their trees may be.
const MAX_NESTING: u32 = 120;
const MAX_HEIGHT: u32 = 400;
/// The most arguments, and the most variables, of one format.
const MAX_ARGUMENTS: usize = 256;

/// A format taken apart.
pub(super) struct ParsedPrint {
    pub(super) template: Vec<u8>,
    pub(super) arguments: Vec<Expr>,
    pub(super) fields: Vec<String>,
}

/// An expression and the height of its tree, which is limited because what walks it calls itself.
pub(super) struct Tall {
    pub(super) expr: Expr,
    pub(super) height: u32,
}

impl Tall {
    pub(super) fn leaf(expr: Expr) -> Self {
        Self { expr, height: 1 }
    }
}

pub(super) struct PrintParser<'a> {
    tokens: Vec<PrintToken<'a>>,
    at: usize,
    event: &'a EventFormat,
    constant: &'a mut dyn FnMut(&str) -> Option<i64>,
    fields: Vec<String>,
    locals: Vec<String>,
    nesting: u32,
}

pub(super) fn parse<'a>(
    event: &'a EventFormat,
    text: &'a str,
    constant: &'a mut dyn FnMut(&str) -> Option<i64>,
) -> Result<ParsedPrint, PrintError> {
    let tokens = tokens(text)?;
    let (fields, locals) = (Vec::new(), Vec::new());
    let mut parser = PrintParser { tokens, at: 0, event, constant, fields, locals, nesting: 0 };
    let template = parser.text()?;
    let mut arguments = Vec::new();
    while parser.take(",") {
        if arguments.len() >= MAX_ARGUMENTS {
            return parser.fail(PrintErrorKind::TooLarge);
        }
        arguments.push(parser.expression()?.expr);
    }
    if *parser.peek() != PrintWord::End {
        return parser.fail(PrintErrorKind::Syntax);
    }
    Ok(ParsedPrint { template, arguments, fields: parser.fields })
}

impl<'a> PrintParser<'a> {
    pub(super) fn fail<T>(&self, kind: PrintErrorKind) -> Result<T, PrintError> {
        let offset = self.tokens.get(self.at).or(self.tokens.last()).map_or(0, |token| token.at);
        Err(PrintError { offset, kind })
    }

    pub(super) fn peek(&self) -> &PrintWord<'a> {
        self.ahead(0)
    }

    fn ahead(&self, count: usize) -> &PrintWord<'a> {
        self.tokens.get(self.at + count).map_or(&PrintWord::End, |token| &token.word)
    }

    fn next(&mut self) -> PrintWord<'a> {
        let word = self.peek().clone();
        self.at += 1;
        word
    }

    pub(super) fn take(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), PrintWord::Mark(found) if *found == mark);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, mark: &str) -> Result<(), PrintError> {
        if self.take(mark) { Ok(()) } else { self.fail(PrintErrorKind::Syntax) }
    }

    pub(super) fn name(&mut self) -> Result<&'a str, PrintError> {
        match *self.peek() {
            PrintWord::Name(name) => {
                self.at += 1;
                Ok(name)
            }
            _ => self.fail(PrintErrorKind::Syntax),
        }
    }

    /// Literal texts, one after the other.
    pub(super) fn text(&mut self) -> Result<Vec<u8>, PrintError> {
        let PrintWord::Text(mut text) = self.peek().clone() else { return self.fail(PrintErrorKind::Syntax) };
        self.at += 1;
        while let PrintWord::Text(more) = self.peek() {
            text.extend_from_slice(more);
            self.at += 1;
        }
        Ok(text)
    }

    /// The number of a field of the event.
    pub(super) fn field(&mut self, name: &str) -> Result<usize, PrintError> {
        if self.event.field(name).is_none() {
            return self.fail(PrintErrorKind::Name);
        }
        if let Some(known) = self.fields.iter().position(|known| known == name) {
            return Ok(known);
        }
        self.fields.push(name.to_owned());
        Ok(self.fields.len() - 1)
    }

    /// What an expression over these is, if it is not too high.
    pub(super) fn grown<const N: usize>(
        &self,
        parts: [Tall; N],
        make: impl FnOnce([Expr; N]) -> Expr,
    ) -> Result<Tall, PrintError> {
        let height = parts.iter().map(|part| part.height).max().unwrap_or(0) + 1;
        if height > MAX_HEIGHT {
            return self.fail(PrintErrorKind::TooLarge);
        }
        Ok(Tall { expr: make(parts.map(|part| part.expr)), height })
    }

    pub(super) fn expression(&mut self) -> Result<Tall, PrintError> {
        if self.nesting >= MAX_NESTING {
            return self.fail(PrintErrorKind::TooLarge);
        }
        self.nesting += 1;
        let found = self.choice();
        self.nesting -= 1;
        found
    }

    fn choice(&mut self) -> Result<Tall, PrintError> {
        let condition = self.binary(1)?;
        if !self.take("?") {
            return Ok(condition);
        }
        if self.take(":") {
            let slot = self.variable("")?;
            let other = self.expression()?;
            return self.grown([condition, other], |[condition, other]| {
                let choice = Expr::Choice(Box::new((Expr::Local(slot), Expr::Local(slot), other)));
                Expr::Block(vec![(slot, condition)], Box::new(choice))
            });
        }
        let yes = self.expression()?;
        self.expect(":")?;
        let no = self.expression()?;
        self.grown([condition, yes, no], |[condition, yes, no]| Expr::Choice(Box::new((condition, yes, no))))
    }

    fn binary(&mut self, least: u8) -> Result<Tall, PrintError> {
        let mut left = self.unary()?;
        loop {
            let PrintWord::Mark(mark) = self.peek() else { return Ok(left) };
            let Some((op, level)) = BinaryOp::of(mark).filter(|(_, level)| *level >= least) else { return Ok(left) };
            self.at += 1;
            let right = self.binary(level + 1)?;
            left = self.grown([left, right], |[left, right]| Expr::Binary(op, Box::new((left, right))))?;
        }
    }

    fn unary(&mut self) -> Result<Tall, PrintError> {
        if self.nesting >= MAX_NESTING {
            return self.fail(PrintErrorKind::TooLarge);
        }
        self.nesting += 1;
        let found = self.prefixed();
        self.nesting -= 1;
        found
    }

    fn prefixed(&mut self) -> Result<Tall, PrintError> {
        let op = match self.peek() {
            PrintWord::Mark("-") => UnaryOp::Minus,
            PrintWord::Mark("~") => UnaryOp::Complement,
            PrintWord::Mark("!") => UnaryOp::Not,
            // An array is its own address.
            PrintWord::Mark("+" | "&") => {
                self.at += 1;
                return self.unary();
            }
            PrintWord::Mark("*") => {
                self.at += 1;
                let of = self.unary()?;
                return self.grown([of], |[of]| Expr::Dereference(Box::new(of)));
            }
            PrintWord::Mark("(") if *self.ahead(1) != PrintWord::Mark("{") => match self.cast()? {
                Some(to) => {
                    let of = self.unary()?;
                    return self.grown([of], |[of]| Expr::Cast(to, Box::new(of)));
                }
                None => return self.postfixed(),
            },
            _ => return self.postfixed(),
        };
        self.at += 1;
        let of = self.unary()?;
        self.grown([of], |[of]| Expr::Unary(op, Box::new(of)))
    }

    /// The type of a cast, if there is one here.
    fn cast(&mut self) -> Result<Option<CastType>, PrintError> {
        let before = self.at;
        self.at += 1;
        let found = self.ctype();
        if let Some(found) = found.filter(|_| self.take(")")) {
            // `(name)` before an operator is a name in brackets, whatever it looks like.
            let operand = match self.peek() {
                PrintWord::Name(_) | PrintWord::Number(_) | PrintWord::Text(_) => true,
                PrintWord::Mark(mark) => matches!(*mark, "(" | "~" | "!" | "-" | "&" | "*"),
                PrintWord::End => false,
            };
            if operand {
                return Ok(Some(found));
            }
        }
        self.at = before;
        Ok(None)
    }

    /// A type, if here is one.
    fn ctype(&mut self) -> Option<CastType> {
        let (mut words, mut tagged, mut stars) = (Vec::new(), None, 0);
        loop {
            match *self.peek() {
                PrintWord::Name("const" | "volatile" | "static" | "__user" | "__force") => {}
                PrintWord::Name(tag @ ("struct" | "union" | "enum")) if words.is_empty() && tagged.is_none() => {
                    self.at += 1;
                    tagged = Some(tag);
                }
                PrintWord::Name(name) if stars == 0 && tagged.is_none() && is_type_word(name, words.is_empty()) => {
                    words.push(name);
                }
                PrintWord::Mark("*") if tagged.is_some() || !words.is_empty() => stars += 1,
                _ => break,
            }
            self.at += 1;
        }
        let base = match (tagged, words.as_slice()) {
            (None, []) => return None,
            (Some("enum"), _) => Some((4, false)),
            (Some(_), _) => None,
            (None, ["bool" | "_Bool"]) if stars == 0 => return Some(CastType::Bool),
            (None, ["void"]) => Some((1, false)),
            (None, words) => scalar_of(words),
        };
        Some(match (stars, base) {
            (0, Some((bytes, signed))) => CastType::Int { bytes, signed },
            (0, None) => CastType::Unknown,
            (1, Some((bytes, signed))) => CastType::Pointer { bytes, signed },
            _ => CastType::Pointer { bytes: 0, signed: false },
        })
    }

    fn postfixed(&mut self) -> Result<Tall, PrintError> {
        let mut found = self.primary()?;
        while self.take("[") {
            let index = self.expression()?;
            self.expect("]")?;
            found = self.grown([found, index], |[of, index]| Expr::Index(Box::new((of, index))))?;
        }
        if matches!(self.peek(), PrintWord::Mark("." | "->")) {
            return self.fail(PrintErrorKind::Name);
        }
        Ok(found)
    }

    fn primary(&mut self) -> Result<Tall, PrintError> {
        // The kernel has it in brackets at times.
        if [0, 1, 2].map(|i| self.ahead(i)) == [&PrintWord::Mark("("), &PrintWord::Name("REC"), &PrintWord::Mark(")")] {
            self.at += 3;
            return self.of_record();
        }
        match self.peek() {
            PrintWord::Text(_) => Ok(Tall::leaf(Expr::Text(self.text()?))),
            PrintWord::Number(number) => {
                let number = *number;
                self.at += 1;
                Ok(Tall::leaf(Expr::Number(number)))
            }
            PrintWord::Mark("(") if *self.ahead(1) == PrintWord::Mark("{") => self.block(),
            PrintWord::Mark("(") => {
                self.at += 1;
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            PrintWord::Name(_) => self.named(),
            PrintWord::Mark(_) | PrintWord::End => self.fail(PrintErrorKind::Syntax),
        }
    }

    fn of_record(&mut self) -> Result<Tall, PrintError> {
        self.expect("->")?;
        let field = self.name()?;
        Ok(Tall::leaf(Expr::Field(self.field(field)?)))
    }

    fn named(&mut self) -> Result<Tall, PrintError> {
        let name = self.name()?;
        if name == "REC" {
            return self.of_record();
        }
        if name == "sizeof" {
            return self.size_of();
        }
        if matches!(self.peek(), PrintWord::Mark("(")) {
            return self.call(name);
        }
        if let Some(slot) = self.locals.iter().rposition(|local| local == name) {
            return Ok(Tall::leaf(Expr::Local(slot)));
        }
        Ok(Tall::leaf(match name {
            // The kernel's time and the addresses of its memory: they differ from moment to moment and from boot to boot.
            "jiffies" | "vmemmap_base" | "mem_map" => Expr::Hidden,
            "true" => Expr::Number(PrintInt::signed(1)),
            "false" | "NULL" => Expr::Number(PrintInt::signed(0)),
            _ => match (self.constant)(name) {
                Some(value) => Expr::Number(PrintInt::signed(value)),
                None => {
                    self.at -= 1;
                    return self.fail(PrintErrorKind::Name);
                }
            },
        }))
    }

    fn size_of(&mut self) -> Result<Tall, PrintError> {
        self.expect("(")?;
        let before = self.at;
        let of_type = match self.ctype() {
            Some(CastType::Int { bytes, .. }) => Some(u64::from(bytes)),
            Some(CastType::Bool) => Some(1),
            Some(CastType::Pointer { .. }) => Some(8),
            Some(CastType::Unknown) => return self.size_of_record(before),
            None => None,
        };
        let size = match of_type {
            Some(size) => size,
            None => match (self.next(), self.next(), self.next()) {
                (PrintWord::Name("REC"), PrintWord::Mark("->"), PrintWord::Name(field)) => {
                    match self.event.field(field) {
                        Some(field) => u64::from(field.size),
                        None => return self.fail(PrintErrorKind::Name),
                    }
                }
                _ => return self.fail(PrintErrorKind::Syntax),
            },
        };
        self.expect(")")?;
        Ok(Tall::leaf(Expr::Number(PrintInt::unsigned(size))))
    }

    /// Sizes that are part of what the kernel promises to programs.
    fn size_of_record(&mut self, at: usize) -> Result<Tall, PrintError> {
        self.at = at;
        let (first, second) = (self.next(), self.peek().clone());
        let size = match (first, second) {
            (PrintWord::Name("struct"), PrintWord::Name("in_addr")) => 4,
            (PrintWord::Name("struct"), PrintWord::Name("in6_addr" | "sockaddr" | "sockaddr_in")) => 16,
            (PrintWord::Name("struct"), PrintWord::Name("sockaddr_in6")) => 28,
            (PrintWord::Name("struct"), PrintWord::Name("sockaddr_storage")) => 128,
            (PrintWord::Name("guid_t" | "uuid_t"), _) => 16,
            _ => return self.fail(PrintErrorKind::Name),
        };
        self.at += usize::from(!matches!(self.peek(), PrintWord::Mark(")")));
        self.expect(")")?;
        Ok(Tall::leaf(Expr::Number(PrintInt::unsigned(size))))
    }

    fn variable(&mut self, name: &str) -> Result<usize, PrintError> {
        if self.locals.len() >= MAX_ARGUMENTS {
            return self.fail(PrintErrorKind::TooLarge);
        }
        self.locals.push(name.to_owned());
        Ok(self.locals.len() - 1)
    }

    /// `({ TYPE NAME = VALUE; …; RESULT; })`, as `min()` becomes.
    fn block(&mut self) -> Result<Tall, PrintError> {
        self.at += 2;
        let (mut variables, mut height) = (Vec::new(), 0);
        loop {
            let inferred = matches!(self.peek(), PrintWord::Name("__auto_type"));
            self.at += usize::from(inferred);
            let to = if inferred { Some(CastType::Unknown) } else { self.ctype() };
            let Some(to) = to else { break };
            let PrintWord::Name(name) = *self.peek() else { return self.fail(PrintErrorKind::Statement) };
            self.at += 1;
            if !self.take("=") {
                return self.fail(PrintErrorKind::Statement);
            }
            let value = self.expression()?;
            if !self.take(";") {
                return self.fail(PrintErrorKind::Statement);
            }
            height = height.max(value.height + 1);
            variables.push((self.variable(name)?, Expr::Cast(to, Box::new(value.expr))));
        }
        let result = self.expression()?;
        let whole = self.take(";") && self.take("}") && self.take(")");
        if !whole {
            return self.fail(PrintErrorKind::Statement);
        }
        let Tall { expr, height: of_result } = result;
        let tall = Tall { expr, height: of_result.max(height) };
        self.grown([tall], |[result]| Expr::Block(variables, Box::new(result)))
    }
}

/// Whether a word is, or may go on, the name of a type.
fn is_type_word(name: &str, first: bool) -> bool {
    let basic = matches!(name, "unsigned" | "signed" | "char" | "short" | "int" | "long" | "void" | "bool" | "_Bool");
    basic || (first && (name.ends_with("_t") || (scalar(name).is_some() && name != "REC")))
}

fn scalar_of(words: &[&str]) -> Option<(u8, bool)> {
    let mut words: Vec<&str> = words.to_vec();
    // `long unsigned int` is written in any order.
    words.sort_by_key(|word| !matches!(*word, "unsigned" | "signed"));
    if words.len() > 1 && words.contains(&"int") {
        words.retain(|word| *word != "int" && *word != "signed");
        if words.is_empty() || words == ["unsigned"] {
            words.push("int");
        }
    }
    let (bytes, signed) = scalar(&words.join(" "))?;
    Some((u8::try_from(bytes).ok()?, signed))
}
