//! Statements of both languages.

use crate::{
    expressions::Parser,
    lexer::{Dialect, TokenKind},
    refusal::{Result, join, refuse},
    tree::{Foreach, Statement, StatementKind},
};

impl Parser<'_> {
    /// `{ … }`.
    pub(crate) fn block(&mut self) -> Result<Vec<Statement>> {
        self.expect("{")?;
        let mut body = Vec::new();
        loop {
            while self.accept(";")? {}
            if self.accept("}")? {
                return Ok(body);
            }
            if self.at_end()? {
                let span = self.peek()?.span;
                return refuse(span, "the script ends within a block", "write its `}`");
            }
            body.push(self.nested(Self::statement)?);
        }
    }

    fn statement(&mut self) -> Result<Statement> {
        let start = self.peek()?.span;
        let word = match &self.peek()?.kind {
            TokenKind::Operator("{") => "{".to_owned(),
            TokenKind::Operator("%{" | "%(") => {
                return refuse(
                    start,
                    "C code and the preprocessor of SystemTap are not translated",
                    "write it as a script",
                );
            }
            TokenKind::Name(name) => name.clone(),
            _ => String::new(),
        };
        let is_systemtap = self.lexer.dialect == Dialect::SystemTap;
        let kind = match word.as_str() {
            "{" => StatementKind::Block(self.nested(Self::block)?),
            "if" => self.condition()?,
            "return" if is_systemtap => self.returned()?,
            "while" if is_systemtap => self.while_loop()?,
            "for" if is_systemtap => self.for_loop()?,
            "foreach" if is_systemtap => self.foreach()?,
            "delete" if is_systemtap => {
                self.take()?;
                StatementKind::Delete(self.expression()?)
            }
            "next" if is_systemtap => self.word(StatementKind::Next)?,
            "break" if is_systemtap => self.word(StatementKind::Break)?,
            "continue" if is_systemtap => self.word(StatementKind::Continue)?,
            "try" | "catch" | "switch" | "goto" => {
                return refuse(start, format!("`{word}` is not translated"), "use `if`");
            }
            _ => StatementKind::Expr(self.expression()?),
        };
        let ends = matches!(kind, StatementKind::Expr(_)) && !is_systemtap;
        if ends && !self.is("}")? {
            self.expect(";")?;
        }
        Ok(Statement { span: join(start, self.last()), kind })
    }

    fn word(&mut self, kind: StatementKind) -> Result<StatementKind> {
        self.take()?;
        Ok(kind)
    }

    fn body(&mut self) -> Result<Box<Statement>> {
        while self.lexer.dialect == Dialect::D && self.accept(";")? {}
        Ok(Box::new(self.nested(Self::statement)?))
    }

    fn condition(&mut self) -> Result<StatementKind> {
        self.take()?;
        self.expect("(")?;
        let condition = self.expression()?;
        self.expect(")")?;
        let then = self.body()?;
        // A `;` before `else` belongs to the statement before.
        while self.is(";")? && self.else_follows()? {
            self.take()?;
        }
        let otherwise = if self.is_name("else")? {
            self.take()?;
            Some(self.body()?)
        } else {
            None
        };
        Ok(StatementKind::If { condition, then, otherwise })
    }

    fn else_follows(&mut self) -> Result<bool> {
        self.rewind()?;
        let mut ahead = self.lexer;
        ahead.next()?;
        Ok(matches!(ahead.next()?.kind, TokenKind::Name(name) if name == "else"))
    }

    fn returned(&mut self) -> Result<StatementKind> {
        self.take()?;
        let ends = self.is(";")? || self.is("}")?;
        Ok(StatementKind::Return(if ends { None } else { Some(self.expression()?) }))
    }

    fn while_loop(&mut self) -> Result<StatementKind> {
        self.take()?;
        self.expect("(")?;
        let condition = self.expression()?;
        self.expect(")")?;
        Ok(StatementKind::While { condition, body: self.body()? })
    }

    fn for_loop(&mut self) -> Result<StatementKind> {
        self.take()?;
        self.expect("(")?;
        let first = if self.is(";")? { None } else { Some(self.expression()?) };
        self.expect(";")?;
        let condition = if self.is(";")? { None } else { Some(self.expression()?) };
        self.expect(";")?;
        let step = if self.is(")")? { None } else { Some(self.expression()?) };
        self.expect(")")?;
        Ok(StatementKind::For { first, condition, step, body: self.body()? })
    }

    fn foreach(&mut self) -> Result<StatementKind> {
        self.take()?;
        self.expect("(")?;
        let (mut keys, mut value, mut by_key) = (Vec::new(), None, None);
        if self.accept("[")? {
            while !self.is("]")? {
                keys.push(self.expect_name("the name of a key")?.0);
                self.sorted(&mut by_key)?;
                if !self.accept(",")? {
                    break;
                }
            }
            self.expect("]")?;
        } else {
            keys.push(self.expect_name("the name of a key")?.0);
            self.sorted(&mut by_key)?;
        }
        if self.accept("=")? {
            value = keys.pop();
            keys.push(self.expect_name("the name of a key")?.0);
        }
        let (word, span) = self.expect_name("`in`")?;
        if word != "in" {
            return refuse(span, "here `in` is expected", "write `foreach (key in array)`");
        }
        let (array, array_span) = self.expect_name("the name of an array")?;
        if self.is("[")? {
            let span = self.peek()?.span;
            return refuse(span, "a slice of an array is not translated", "take all elements and use `if`");
        }
        let by_value = match self.peek()?.kind {
            TokenKind::Operator("-") => Some('-'),
            TokenKind::Operator("+") => Some('+'),
            _ => None,
        };
        if by_value.is_some() {
            self.take()?;
        }
        let limit = if self.is_name("limit")? {
            self.take()?;
            Some(self.expression()?)
        } else {
            None
        };
        self.expect(")")?;
        let body = self.body()?;
        Ok(StatementKind::Foreach(Foreach { keys, value, array, array_span, by_value, by_key, limit, body }))
    }

    fn sorted(&mut self, by_key: &mut Option<bathyscope_plan::Span>) -> Result<()> {
        if self.is("+")? || self.is("-")? {
            *by_key = Some(self.take()?.span);
        }
        Ok(())
    }
}
