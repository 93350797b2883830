//! The reader of predicate text: recursive descent over characters, with a limit on recursion.

use super::{
    CompareOp, Literal, MAX_FIELD_BYTES, MAX_PREDICATE_BYTES, MAX_PREDICATE_DEPTH, Place, Predicate, PredicateError,
    check_bounds, check_frame, check_list, check_operand,
};
use crate::{Amount, AmountError, amount::is_unit};

/// Parentheses and negations nest at most twice for each level of the tree; more are redundant.
const MAX_RECURSION: usize = 2 * MAX_PREDICATE_DEPTH;

pub(super) fn parse(text: &str) -> Result<Predicate, PredicateError> {
    if text.len() > MAX_PREDICATE_BYTES {
        return Err(PredicateError::TooLarge { what: "long", limit: MAX_PREDICATE_BYTES });
    }
    let mut parser = Parser { chars: text.chars().collect(), at: 0, depth: 0 };
    parser.skip_space();
    if parser.peek().is_none() {
        return Err(parser.expected("a condition such as bytes_req > 1000"));
    }
    let predicate = parser.any()?;
    match parser.peek() {
        None => Ok(predicate),
        Some(')') => Err(parser.error("this ) closes nothing")),
        Some(_) => Err(parser.expected("&&, || or the end after a condition")),
    }
}

/// Whether `name` can stand for a field: `name`, `args.name`, `name[3]`, and not a word of the grammar.
pub(super) fn is_field(name: &str) -> bool {
    let mut parser = Parser { chars: name.chars().collect(), at: 0, depth: 0 };
    name.len() <= MAX_FIELD_BYTES && parser.field().is_ok_and(|read| read == name) && parser.at == parser.chars.len()
}

fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn continues_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn error(&self, message: impl Into<String>) -> PredicateError {
        PredicateError::Syntax { offset: self.at, message: message.into() }
    }

    fn expected(&self, what: &str) -> PredicateError {
        self.error(format!("expected {what}"))
    }

    /// Takes `token` and the space after it if it is next. A word is taken only as a whole word.
    fn take(&mut self, token: &str) -> bool {
        let mut end = self.at;
        for c in token.chars() {
            if self.chars.get(end) != Some(&c) {
                return false;
            }
            end += 1;
        }
        let word = token.chars().all(continues_name);
        let follow = self.chars.get(end).copied();
        if word && follow.is_some_and(|c| continues_name(c) || c == '.') {
            return false;
        }
        self.at = end;
        self.skip_space();
        true
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, PredicateError>) -> Result<T, PredicateError> {
        if self.depth >= MAX_RECURSION {
            return Err(PredicateError::TooLarge { what: "deep", limit: MAX_PREDICATE_DEPTH });
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn any(&mut self) -> Result<Predicate, PredicateError> {
        let mut parts = vec![self.all()?];
        while self.take("||") || self.take("or") {
            parts.push(self.all()?);
        }
        Ok(one_or(parts, Predicate::Any))
    }

    fn all(&mut self) -> Result<Predicate, PredicateError> {
        let mut parts = vec![self.not()?];
        while self.take("&&") || self.take("and") {
            parts.push(self.not()?);
        }
        Ok(one_or(parts, Predicate::All))
    }

    fn not(&mut self) -> Result<Predicate, PredicateError> {
        if self.take("!") || self.take("not") {
            let inner = self.deeper(Self::not)?;
            return Ok(Predicate::Not(Box::new(inner)));
        }
        let open = self.at;
        if !self.take("(") {
            return self.comparison();
        }
        let inner = self.deeper(Self::any)?;
        if !self.take(")") {
            return Err(self.expected(&format!("a ) for the ( at character {open}")));
        }
        self.bits_against_zero(inner)
    }

    /// `(flags & 0x10) != 0`, as C has it.
    fn bits_against_zero(&mut self, inner: Predicate) -> Result<Predicate, PredicateError> {
        if !matches!(inner, Predicate::Compare { op: CompareOp::AnyBit, .. }) {
            return Ok(inner);
        }
        let equal = self.take("==");
        if !equal && !self.take("!=") {
            return Ok(inner);
        }
        let start = self.at;
        if self.number()? != Literal::Number(0) {
            self.at = start;
            return Err(self.error("the result of & can be compared with 0 only"));
        }
        Ok(if equal { Predicate::Not(Box::new(inner)) } else { inner })
    }

    fn comparison(&mut self) -> Result<Predicate, PredicateError> {
        if let Some(frame) = self.frame()? {
            return Ok(frame);
        }
        let field = self.field()?;
        self.skip_space();
        let not = self.take("not");
        if let Some(of_words) = self.of_words(&field)? {
            return Ok(if not { Predicate::Not(Box::new(of_words)) } else { of_words });
        }
        if not {
            return Err(self.expected("in, between, contains or matches after not"));
        }
        let (op, negated, sign) = self.operator()?;
        let start = self.at;
        let value = self.value(sign)?;
        self.fits(start, check_operand(op, &value))?;
        let compare = Predicate::Compare { field, op, value };
        Ok(if negated { Predicate::Not(Box::new(compare)) } else { compare })
    }

    /// `has stack frame "…"`; a field may be called `has` too.
    fn frame(&mut self) -> Result<Option<Predicate>, PredicateError> {
        let start = self.at;
        if !(self.take("has") && self.take("stack")) {
            self.at = start;
            return Ok(None);
        }
        if !self.take("frame") {
            return Err(self.expected("frame, as in has stack frame \"tcp_*\""));
        }
        let at = self.at;
        let Some(quote @ ('"' | '\'')) = self.peek() else {
            return Err(self.expected("a function's name in quotes after has stack frame"));
        };
        let Literal::Text(name) = self.text(quote)? else { return Ok(None) };
        self.fits(at, check_frame(&name))?;
        Ok(Some(Predicate::HasFrame { name }))
    }

    /// What follows a field where that is a word and no sign.
    fn of_words(&mut self, field: &str) -> Result<Option<Predicate>, PredicateError> {
        let field = field.to_owned();
        for op in [CompareOp::Contains, CompareOp::Regex] {
            if self.take(op.sign()) {
                let at = self.at;
                let value = self.value(op.sign())?;
                self.fits(at, check_operand(op, &value))?;
                return Ok(Some(Predicate::Compare { field, op, value }));
            }
        }
        let at = self.at;
        if self.take("in") {
            return self.list(at).map(|values| Some(Predicate::In { field, values }));
        }
        if !self.take("between") {
            return Ok(None);
        }
        let at = self.at;
        let low = self.value("between")?;
        if !self.take("and") {
            return Err(self.expected("and with the greater number, as in between 10 and 20"));
        }
        let high = self.value("and")?;
        self.fits(at, check_bounds(&low, &high))?;
        Ok(Some(Predicate::Between { field, low, high }))
    }

    /// The values in parentheses after `in`, which stands at `word`.
    fn list(&mut self, word: usize) -> Result<Vec<Literal>, PredicateError> {
        if !self.take("(") {
            return Err(self.expected("( with values after in, as in (1, 2)"));
        }
        let mut values = Vec::new();
        loop {
            values.push(self.value(if values.is_empty() { "in (" } else { "," })?);
            if self.take(",") {
                continue;
            }
            if !self.take(")") {
                return Err(self.expected("a , or a ) after a value"));
            }
            self.fits(word, check_list(&values))?;
            return Ok(values);
        }
    }

    /// Goes back to where something begins that cannot be, and says why.
    fn fits(&mut self, at: usize, checked: Result<(), &'static str>) -> Result<(), PredicateError> {
        checked.map_err(|what| {
            self.at = at;
            self.error(what)
        })
    }

    fn field(&mut self) -> Result<String, PredicateError> {
        let start = self.at;
        match self.peek() {
            None => return Err(self.expected("a field's name")),
            Some('"' | '\'' | '-' | '0'..='9') => return Err(self.expected("a field's name before the value")),
            Some(c) if !begins_name(c) => return Err(self.expected("a field's name")),
            Some(_) => {}
        }
        let mut name = self.name();
        let dot = self.peek() == Some('.');
        if dot || (self.peek() == Some('-') && self.chars.get(self.at + 1) == Some(&'>')) {
            if name != "args" {
                return Err(self.error("only args has parts, as in args.filename"));
            }
            self.at += if dot { 1 } else { 2 };
            if !self.peek().is_some_and(begins_name) {
                return Err(self.expected("a field's name after args."));
            }
            name = format!("args.{}", self.name());
        } else if matches!(name.as_str(), "and" | "or" | "not") {
            self.at = start;
            return Err(self.error(format!("expected a field's name, found the word {name} (a field is args.{name})")));
        }
        if self.peek() == Some('[') {
            name.push_str(&self.index()?);
        }
        if name.len() > MAX_FIELD_BYTES {
            self.at = start;
            return Err(self.error(format!("a field's name is longer than {MAX_FIELD_BYTES} bytes")));
        }
        Ok(name)
    }

    fn name(&mut self) -> String {
        let start = self.at;
        while self.peek().is_some_and(continues_name) {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect()
    }

    fn index(&mut self) -> Result<String, PredicateError> {
        self.at += 1;
        let digits: String = self.chars[self.at..].iter().take_while(|c| c.is_ascii_digit()).take(8).collect();
        let Ok(index) = digits.parse::<u32>() else {
            return Err(self.expected("the number of an element after ["));
        };
        self.at += digits.len();
        if self.peek() != Some(']') {
            return Err(self.expected("] after the number of an element"));
        }
        self.at += 1;
        Ok(format!("[{index}]"))
    }

    /// The operator, whether it is negated, and how it was written.
    fn operator(&mut self) -> Result<(CompareOp, bool, &'static str), PredicateError> {
        const OPERATORS: [(&str, CompareOp, bool); 9] = [
            ("==", CompareOp::Eq, false),
            ("!=", CompareOp::Ne, false),
            ("!~", CompareOp::Matches, true),
            ("<=", CompareOp::Le, false),
            (">=", CompareOp::Ge, false),
            ("<", CompareOp::Lt, false),
            (">", CompareOp::Gt, false),
            ("~", CompareOp::Matches, false),
            ("&", CompareOp::AnyBit, false),
        ];
        // `a && b` lacks a comparison; it is not `a & (&b)`.
        let doubled = self.peek() == Some('&') && self.chars.get(self.at + 1) == Some(&'&');
        if !doubled {
            for (sign, op, negated) in OPERATORS {
                if self.take(sign) {
                    return Ok((op, negated, sign));
                }
            }
        }
        if self.peek() == Some('=') {
            return Err(self.error("to compare, write =="));
        }
        Err(self.expected("a comparison such as == or > or a word such as contains after the field"))
    }

    fn value(&mut self, sign: &str) -> Result<Literal, PredicateError> {
        match self.peek() {
            Some(quote @ ('"' | '\'')) => self.text(quote),
            Some('-' | '0'..='9') => self.number(),
            Some(c) if begins_name(c) => Err(self.expected(&format!("a number, or text in quotes, after {sign}"))),
            _ => Err(self.expected(&format!("a value after {sign}"))),
        }
    }

    fn number(&mut self) -> Result<Literal, PredicateError> {
        let start = self.at;
        let negative = self.peek() == Some('-');
        if negative {
            self.at += 1;
        }
        let hex = self.peek() == Some('0') && matches!(self.chars.get(self.at + 1), Some('x' | 'X'));
        if hex {
            self.at += 2;
        }
        let radix = if hex { 16 } else { 10 };
        let mut digits = 0;
        let mut number = Some(0_u64);
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(radix)) {
            number = number.and_then(|n| n.checked_mul(u64::from(radix))?.checked_add(u64::from(digit)));
            digits += 1;
            self.at += 1;
        }
        if digits == 0 {
            return Err(self.expected(if hex { "hexadecimal digits after 0x" } else { "a number" }));
        }
        let whole = self.at;
        if !hex && let Some(amount) = self.amount(negative, start, whole)? {
            return Ok(amount);
        }
        if self.peek().is_some_and(|c| continues_name(c) || c == '.') {
            return Err(self.error("a number without a unit is whole, decimal or hexadecimal"));
        }
        let literal = number.and_then(|n| match (negative, n) {
            (false, n) | (true, n @ 0) => Some(Literal::Number(n)),
            (true, n) => 0_i64.checked_sub_unsigned(n).map(Literal::Negative),
        });
        let Some(literal) = literal else {
            self.at = start;
            return Err(self.error("this number does not fit into 64 bits"));
        };
        self.skip_space();
        Ok(literal)
    }

    /// A number with a unit: what is from `start` on, with the digits before a point up to `whole`. None if there is no unit.
    fn amount(&mut self, negative: bool, start: usize, whole: usize) -> Result<Option<Literal>, PredicateError> {
        let digits: String = self.chars[start + usize::from(negative)..whole].iter().collect();
        let after = |at: usize, fits: fn(char) -> bool| -> String {
            self.chars.get(at..).into_iter().flatten().copied().take_while(|c| fits(*c)).collect()
        };
        let mut part = String::new();
        let mut end = whole;
        if self.peek() == Some('.') {
            part = after(whole + 1, |c| c.is_ascii_digit());
            end = whole + 1 + part.chars().count();
        }
        let blanks = after(end, char::is_whitespace).chars().count();
        let unit = after(end + blanks, char::is_alphanumeric);
        let is_other_word = blanks > 0 && !is_unit(&unit);
        if unit.is_empty() || is_other_word || (part.is_empty() && end > whole) {
            return Ok(None);
        }
        let amount = Amount::of_parts(negative, &digits, &part, &unit).map_err(|error| {
            let is_of_unit = matches!(error, AmountError::Unit(_));
            self.at = if is_of_unit { end + blanks } else { start };
            self.error(error.to_string())
        })?;
        self.at = end + blanks + unit.chars().count();
        if self.peek().is_some_and(|c| continues_name(c) || c == '.') {
            return Err(self.expected("&&, || or the end after a condition"));
        }
        self.skip_space();
        Ok(Some(Literal::Amount { amount, at: Place(u32::try_from(start).ok()) }))
    }

    fn text(&mut self, quote: char) -> Result<Literal, PredicateError> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.peek() {
                None => {
                    self.at = start;
                    return Err(self.error(format!("this text has no closing {quote}")));
                }
                Some('\\') => text.push(self.escape()?),
                Some(c) => {
                    self.at += 1;
                    if c == quote {
                        self.skip_space();
                        return Ok(Literal::Text(text));
                    }
                    text.push(c);
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, PredicateError> {
        let c = match self.chars.get(self.at + 1) {
            Some(c @ ('\\' | '"' | '\'')) => *c,
            Some('n') => '\n',
            Some('t') => '\t',
            Some('u') => return self.unicode_escape(),
            _ => return Err(self.error("a \\ begins one of \\\\ \\\" \\' \\n \\t \\u{…}")),
        };
        self.at += 2;
        Ok(c)
    }

    fn unicode_escape(&mut self) -> Result<char, PredicateError> {
        let body = self.chars.get(self.at + 2..).unwrap_or_default();
        let digits: String = body.iter().skip(1).take_while(|c| c.is_ascii_hexdigit()).take(6).collect();
        let closed = body.first() == Some(&'{') && body.get(digits.len() + 1) == Some(&'}');
        let c = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
        match c {
            Some(c) if closed => {
                self.at += 4 + digits.len();
                Ok(c)
            }
            _ => Err(self.error("\\u{…} needs the number of a character in hexadecimal")),
        }
    }
}

fn one_or(mut parts: Vec<Predicate>, group: fn(Vec<Predicate>) -> Predicate) -> Predicate {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            group(parts)
        }
        None => group(parts),
    }
}
