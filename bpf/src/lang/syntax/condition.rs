//! The conditions of `#if` and `#elif`.

use super::{super::limits::MAX_CONDITIONS, token};

/// Whether `text` holds: `defined(NAME)`, numbers, `!`, `&&`, `||`, parentheses; a name is 0.
///
/// # Errors
/// What is not understood.
pub(super) fn holds(text: &str, is_defined: &dyn Fn(&str) -> bool) -> Result<bool, String> {
    let mut reader = ConditionParser { rest: text.trim(), is_defined, depth: 0 };
    let value = reader.any()?;
    if reader.rest.is_empty() { Ok(value) } else { Err(format!("`{}` is not understood in a condition", reader.rest)) }
}

struct ConditionParser<'a> {
    rest: &'a str,
    is_defined: &'a dyn Fn(&str) -> bool,
    depth: usize,
}

impl<'a> ConditionParser<'a> {
    fn take(&mut self, mark: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(mark) else { return false };
        self.rest = rest.trim_start();
        true
    }

    fn any(&mut self) -> Result<bool, String> {
        let mut value = self.all()?;
        while self.take("||") {
            value |= self.all()?;
        }
        Ok(value)
    }

    fn all(&mut self) -> Result<bool, String> {
        let mut value = self.one()?;
        while self.take("&&") {
            value &= self.one()?;
        }
        Ok(value)
    }

    fn one(&mut self) -> Result<bool, String> {
        let mut negated = false;
        while self.take("!") {
            negated = !negated;
        }
        if self.take("(") {
            self.depth += 1;
            if self.depth > MAX_CONDITIONS {
                return Err("the condition has too many parentheses within each other".to_owned());
            }
            let value = self.any()?;
            self.depth -= 1;
            return if self.take(")") { Ok(value != negated) } else { Err("the condition has no `)`".to_owned()) };
        }
        let word = self.word();
        if word == "defined" {
            let parenthesis = self.take("(");
            let name = self.word();
            if name.is_empty() || (parenthesis && !self.take(")")) {
                return Err("expected `defined(NAME)`".to_owned());
            }
            return Ok((self.is_defined)(name) != negated);
        }
        if word.starts_with(|it: char| it.is_ascii_digit()) {
            return token::number(word).map(|(value, _)| (value != 0) != negated).map_err(|(message, _)| message);
        }
        if word.is_empty() { Err("the condition ends too early".to_owned()) } else { Ok(negated) }
    }

    fn word(&mut self) -> &'a str {
        let end = self.rest.bytes().position(|it| !token::is_word_byte(it)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }
}
