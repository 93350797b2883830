//! A filter line → a tree of conditions.

use bathyscope_capture::visible;

use super::{
    MAX_DEPTH, Result, SysdigError,
    fields::{Field, Operator},
    wrong,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    /// `=`, `!=`, `<`, `<=`, `>`, `>=`, `(`, `)` or `,`.
    Sign(&'static str),
}

const SIGNS: [&str; 10] = ["==", "!=", "<=", ">=", "=", "<", ">", "(", ")", ","];

/// Words and signs with where they begin.
pub(super) fn tokens(line: &str) -> Result<Vec<(usize, Token)>> {
    let mut found = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start();
        let at = line.len() - rest.len();
        let Some(first) = rest.chars().next() else { return Ok(found) };
        if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            found.push((at, Token::Sign(if sign == "==" { "=" } else { sign })));
            rest = rest.get(sign.len()..).unwrap_or_default();
        } else if first == '"' || first == '\'' {
            let inner = rest.get(1..).unwrap_or_default();
            let Some((text, after)) = inner.split_once(first) else {
                return wrong(at, "a quotation has no end", format!("Write a second {first}."));
            };
            found.push((at, Token::Word(text.to_owned())));
            rest = after;
        } else {
            // A `!` alone, as in a pattern, is no sign.
            let ends = |(at, c): (usize, char)| {
                let is_sign = c.is_whitespace() || "=<>(),\"'".contains(c);
                is_sign || (c == '!' && rest.get(at..).is_some_and(|rest| rest.starts_with("!=")))
            };
            let end = rest.char_indices().find(|one| ends(*one)).map_or(rest.len(), |(at, _)| at);
            let end = end.max(first.len_utf8());
            let (word, after) = rest.split_at(end);
            found.push((at, Token::Word(word.to_owned())));
            rest = after;
        }
    }
}

/// A condition on one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) at: usize,
    pub(super) field: Field,
    pub(super) operator: Operator,
    pub(super) values: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    One(Condition),
    Not(usize, Box<Tree>),
    All(Vec<Tree>),
    Any(usize, Vec<Tree>),
}

/// Reads tokens.
pub(super) struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
    end: usize,
    depth: usize,
}

impl Parser {
    /// All of a line; none if there is nothing in it.
    pub(super) fn line(line: &str) -> Result<Option<Tree>> {
        let mut parser = Self { tokens: tokens(line)?, next: 0, end: line.len(), depth: 0 };
        if parser.tokens.is_empty() {
            return Ok(None);
        }
        let tree = parser.any()?;
        if parser.next < parser.tokens.len() {
            return wrong(
                parser.at(),
                "it continues where its end was expected",
                "Join conditions with `and` or `or`.",
            );
        }
        Ok(Some(tree))
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |(at, _)| *at)
    }

    fn peek_word(&self) -> Option<&str> {
        match self.tokens.get(self.next) {
            Some((_, Token::Word(word))) => Some(word),
            _ => None,
        }
    }

    fn take_word(&mut self, what: &str) -> Result<String> {
        let (at, word) = (self.at(), self.peek_word().map(str::to_owned));
        self.next += 1;
        word.map_or_else(|| wrong(at, format!("{what} is missing"), EXAMPLE), Ok)
    }

    fn keyword(&mut self, wanted: &str) -> bool {
        let found = self.peek_word().is_some_and(|word| word.eq_ignore_ascii_case(wanted));
        self.next += usize::from(found);
        found
    }

    fn sign(&mut self, wanted: &str) -> bool {
        let found = matches!(self.tokens.get(self.next), Some((_, Token::Sign(sign))) if *sign == wanted);
        self.next += usize::from(found);
        found
    }

    fn any(&mut self) -> Result<Tree> {
        let (at, first) = (self.at(), self.all()?);
        let mut several = vec![first];
        while self.keyword("or") {
            several.push(self.all()?);
        }
        Ok(if several.len() == 1 { several.remove(0) } else { Tree::Any(at, several) })
    }

    fn all(&mut self) -> Result<Tree> {
        let mut several = vec![self.not()?];
        while self.keyword("and") {
            several.push(self.not()?);
        }
        Ok(if several.len() == 1 { several.remove(0) } else { Tree::All(several) })
    }

    fn not(&mut self) -> Result<Tree> {
        let at = self.at();
        if self.depth >= MAX_DEPTH {
            return wrong(at, "it is nested too deeply", "");
        }
        self.depth += 1;
        let tree = if self.keyword("not") {
            Tree::Not(at, Box::new(self.not()?))
        } else if self.sign("(") {
            let inner = self.any()?;
            if !self.sign(")") {
                return wrong(self.at(), "a `)` is missing", "");
            }
            inner
        } else {
            Tree::One(self.condition()?)
        };
        self.depth -= 1;
        Ok(tree)
    }

    fn condition(&mut self) -> Result<Condition> {
        let at = self.at();
        let field = self.take_word("a field such as `proc.name`")?;
        let sign = Operator::SIGNS.into_iter().find(|(sign, _)| self.sign(sign));
        let operator_at = self.at();
        let (operator, word) = match sign {
            Some((sign, operator)) => (operator, sign.to_owned()),
            None => {
                let word = self.take_word("an operator such as `=`")?.to_ascii_lowercase();
                let Some(operator) = Operator::of_word(&word) else {
                    let remedy = format!("The operators are =, !=, <, <=, >, >=, {}.", Operator::words());
                    return wrong(operator_at, format!("`{}` is no operator", visible(word.as_bytes())), remedy);
                };
                (operator, word)
            }
        };
        let field = Field::parse(&field).map_err(|(why, remedy)| SysdigError { why, remedy, offset: at })?;
        let values = match operator {
            Operator::Exists => Vec::new(),
            Operator::In | Operator::Pmatch | Operator::Intersects => self.list(&word)?,
            _ => {
                // `evt.dir` is `<` or `>`.
                let direction = ["<", ">"].into_iter().find(|sign| self.sign(sign)).map(str::to_owned);
                vec![direction.map_or_else(|| self.take_word("the value"), Ok)?]
            }
        };
        field.check(operator, &values).map_err(|(why, remedy)| SysdigError { why, remedy, offset: at })?;
        Ok(Condition { at, field, operator, values })
    }

    fn list(&mut self, word: &str) -> Result<Vec<String>> {
        if !self.sign("(") {
            let remedy = "Write it like `evt.type in (open, openat)`.";
            return wrong(self.at(), format!("`{word}` takes a list in parentheses"), remedy);
        }
        let mut values = vec![self.value()?];
        while self.sign(",") {
            values.push(self.value()?);
        }
        if !self.sign(")") {
            return wrong(self.at(), "a `)` is missing", "");
        }
        Ok(values)
    }

    fn value(&mut self) -> Result<String> {
        let direction = ["<", ">"].into_iter().find(|sign| self.sign(sign)).map(str::to_owned);
        direction.map_or_else(|| self.take_word("a value"), Ok)
    }
}

const EXAMPLE: &str = "Write it like `proc.name=redis-server and evt.type=open`.";
