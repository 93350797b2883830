//! Expressions, by precedence.

use bathyscope_plan::Span;

use crate::{
    MAX_DEPTH,
    lexer::{Dialect, Lexer, Token, TokenKind},
    refusal::{Result, join, refuse},
    tree::{Expr, ExprKind},
};

/// Reads expressions and statements.
#[derive(Debug)]
pub(crate) struct Parser<'a> {
    pub(crate) lexer: Lexer<'a>,
    peeked: Option<Token>,
    last: Span,
    depth: u32,
    /// Whether a `/` before `{` ends the expression.
    pub(crate) in_predicate: bool,
}

const ASSIGNMENTS: [&str; 13] = ["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", ".=", "<<<"];

/// Binary operators with how tight they hold.
const BINARY: [(&str, u8); 22] = [
    ("||", 1),
    ("^^", 2),
    ("&&", 3),
    ("in", 4),
    ("|", 5),
    ("^", 6),
    ("&", 7),
    ("==", 8),
    ("!=", 8),
    ("=~", 8),
    ("!~", 8),
    ("<", 9),
    (">", 9),
    ("<=", 9),
    (">=", 9),
    (".", 10),
    ("<<", 11),
    (">>", 11),
    ("+", 12),
    ("-", 12),
    ("*", 13),
    ("/", 13),
];

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str, dialect: Dialect) -> Self {
        let lexer = Lexer { text, at: 0, dialect };
        Self { lexer, peeked: None, last: Span::default(), depth: 0, in_predicate: false }
    }

    pub(crate) fn peek(&mut self) -> Result<&Token> {
        let token = match self.peeked.take() {
            Some(token) => token,
            None => self.lexer.next()?,
        };
        Ok(self.peeked.insert(token))
    }

    pub(crate) fn take(&mut self) -> Result<Token> {
        self.peek()?;
        let token = self.peeked.take().map_or_else(|| self.lexer.next(), Ok)?;
        self.last = token.span;
        Ok(token)
    }

    /// To where the next token begins, for what is not made of tokens.
    pub(crate) fn rewind(&mut self) -> Result<()> {
        if let Some(token) = self.peeked.take() {
            self.lexer.at = token.span.start as usize;
        }
        self.lexer.skip_blank()
    }

    pub(crate) fn last(&self) -> Span {
        self.last
    }

    pub(crate) fn is(&mut self, operator: &str) -> Result<bool> {
        Ok(matches!(&self.peek()?.kind, TokenKind::Operator(it) if *it == operator))
    }

    pub(crate) fn is_name(&mut self, name: &str) -> Result<bool> {
        Ok(matches!(&self.peek()?.kind, TokenKind::Name(it) if it == name))
    }

    pub(crate) fn at_end(&mut self) -> Result<bool> {
        Ok(self.peek()?.kind == TokenKind::End)
    }

    pub(crate) fn accept(&mut self, operator: &str) -> Result<bool> {
        let found = self.is(operator)?;
        if found {
            self.take()?;
        }
        Ok(found)
    }

    pub(crate) fn expect(&mut self, operator: &str) -> Result<Span> {
        if self.is(operator)? {
            return Ok(self.take()?.span);
        }
        let span = self.peek()?.span;
        refuse(span, format!("here `{operator}` is expected"), format!("write `{operator}` here"))
    }

    pub(crate) fn expect_name(&mut self, what: &str) -> Result<(String, Span)> {
        let token = self.take()?;
        match token.kind {
            TokenKind::Name(name) => Ok((name, token.span)),
            _ => refuse(token.span, format!("here {what} is expected"), "write a name"),
        }
    }

    /// Runs what may call itself again, within the limit.
    pub(crate) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            let span = self.peek()?.span;
            return refuse(span, "this is nested too deep", "write it in fewer levels");
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    pub(crate) fn expression(&mut self) -> Result<Expr> {
        self.nested(|it| {
            let to = it.ternary()?;
            let operator = match &it.peek()?.kind {
                TokenKind::Operator(operator) if ASSIGNMENTS.contains(operator) => *operator,
                _ => return Ok(to),
            };
            it.take()?;
            let value = it.expression()?;
            let span = join(to.span, value.span);
            Expr::new(ExprKind::Assign { operator, to: Box::new(to), value: Box::new(value) }, span)
        })
    }

    fn ternary(&mut self) -> Result<Expr> {
        let condition = self.binary(0)?;
        if !self.accept("?")? {
            return Ok(condition);
        }
        let then = self.expression()?;
        self.expect(":")?;
        let otherwise = self.nested(Self::ternary)?;
        let span = join(condition.span, otherwise.span);
        let [condition, then, otherwise] = [condition, then, otherwise].map(Box::new);
        Expr::new(ExprKind::Ternary { condition, then, otherwise }, span)
    }

    /// The binary operator that comes, and how tight it holds.
    fn operator(&mut self) -> Result<Option<(&'static str, u8)>> {
        let is_systemtap = self.lexer.dialect == Dialect::SystemTap;
        let found = match &self.peek()?.kind {
            TokenKind::Operator("%") => Some(("%", 13)),
            TokenKind::Operator(operator) => BINARY.iter().find(|(it, _)| it == operator).copied(),
            TokenKind::Name(name) if name == "in" && is_systemtap => Some(("in", 4)),
            _ => None,
        };
        match found {
            Some(("/", _)) if self.in_predicate => {
                let mut ahead = self.lexer;
                let next = ahead.next()?;
                let ends = matches!(next.kind, TokenKind::Operator("{") | TokenKind::End);
                Ok(if ends { None } else { found })
            }
            Some((".", _)) if !is_systemtap => Ok(None),
            found => Ok(found),
        }
    }

    fn binary(&mut self, least: u8) -> Result<Expr> {
        let mut left = self.prefix()?;
        while let Some((operator, tight)) = self.operator()? {
            if tight < least || (tight == least && least > 0) {
                break;
            }
            self.take()?;
            let right = self.nested(|it| it.binary(tight))?;
            let span = join(left.span, right.span);
            left = match operator {
                "in" => Expr::new(ExprKind::In { keys: keys_of(left), array: Box::new(right) }, span)?,
                _ => Expr::new(ExprKind::Binary { operator, left: Box::new(left), right: Box::new(right) }, span)?,
            };
        }
        Ok(left)
    }

    fn prefix(&mut self) -> Result<Expr> {
        let start = self.peek()?.span;
        let operator = match &self.peek()?.kind {
            TokenKind::Operator(it @ ("-" | "+" | "!" | "~" | "*" | "&" | "++" | "--")) => *it,
            _ => return self.postfix(),
        };
        self.take()?;
        let of = self.nested(Self::prefix)?;
        let span = join(start, of.span);
        Expr::new(ExprKind::Prefix { operator, of: Box::new(of) }, span)
    }

    fn postfix(&mut self) -> Result<Expr> {
        let mut expr = self.primary()?;
        loop {
            let operator = match &self.peek()?.kind {
                TokenKind::Operator(operator) => *operator,
                _ => return Ok(expr),
            };
            let is_d = self.lexer.dialect == Dialect::D;
            let kind = match operator {
                "[" => ExprKind::Index { of: Box::new(expr), keys: self.list("[", "]")? },
                "++" | "--" => {
                    self.take()?;
                    ExprKind::Postfix { operator, of: Box::new(expr) }
                }
                "->" => self.member(expr)?,
                "." if is_d => self.member(expr)?,
                _ => return Ok(expr),
            };
            let start = match &kind {
                ExprKind::Index { of, .. } | ExprKind::Postfix { of, .. } | ExprKind::Member { of, .. } => of.span,
                _ => self.last,
            };
            expr = Expr::new(kind, join(start, self.last))?;
        }
    }

    fn member(&mut self, of: Expr) -> Result<ExprKind> {
        self.take()?;
        let (name, _) = self.expect_name("the name of a member")?;
        Ok(ExprKind::Member { of: Box::new(of), name })
    }

    /// Expressions with commas, between two brackets.
    pub(crate) fn list(&mut self, open: &str, close: &str) -> Result<Vec<Expr>> {
        self.expect(open)?;
        // A `/` in brackets divides.
        let in_predicate = std::mem::replace(&mut self.in_predicate, false);
        let mut all = Vec::new();
        while !self.is(close)? {
            all.push(self.expression()?);
            if !self.accept(",")? {
                break;
            }
        }
        self.expect(close)?;
        self.in_predicate = in_predicate;
        Ok(all)
    }

    fn primary(&mut self) -> Result<Expr> {
        let token = self.peek()?.clone();
        match token.kind {
            TokenKind::Number(number) => {
                self.take()?;
                Expr::new(ExprKind::Number(number), token.span)
            }
            TokenKind::Text(text) => {
                self.take()?;
                Expr::new(ExprKind::Text(text), token.span)
            }
            TokenKind::Name(name) => {
                self.take()?;
                if !self.is("(")? {
                    return Expr::new(ExprKind::Name(name), token.span);
                }
                let arguments = self.list("(", ")")?;
                Expr::new(ExprKind::Call { name, arguments }, join(token.span, self.last))
            }
            TokenKind::Operator("(") => self.in_parentheses(),
            TokenKind::Operator("[") if self.lexer.dialect == Dialect::SystemTap => {
                let keys = self.list("[", "]")?;
                if !self.is_name("in")? {
                    return refuse(
                        join(token.span, self.last),
                        "a list of keys stands before `in`",
                        "write `[a, b] in array`",
                    );
                }
                self.take()?;
                let array = self.nested(Self::prefix)?;
                let span = join(token.span, array.span);
                Expr::new(ExprKind::In { keys, array: Box::new(array) }, span)
            }
            TokenKind::End => refuse(token.span, "the script ends within an expression", "write its other half"),
            TokenKind::Operator(operator) => {
                refuse(token.span, format!("`{operator}` begins no expression"), "write a value here")
            }
        }
    }

    fn in_parentheses(&mut self) -> Result<Expr> {
        let start = self.expect("(")?;
        if let Some(to) = self.type_name()? {
            self.expect(")")?;
            let of = self.nested(Self::prefix)?;
            let span = join(start, of.span);
            return Expr::new(ExprKind::Cast { to, of: Box::new(of) }, span);
        }
        let in_predicate = std::mem::replace(&mut self.in_predicate, false);
        let mut expr = self.expression()?;
        self.in_predicate = in_predicate;
        self.expect(")")?;
        expr.span = join(start, self.last);
        Ok(expr)
    }

    /// A type of C, if one comes.
    fn type_name(&mut self) -> Result<Option<String>> {
        let is_type = |name: &str| {
            const WORDS: [&str; 12] = [
                "struct", "union", "enum", "int", "char", "long", "short", "unsigned", "signed", "void", "string",
                "bool",
            ];
            WORDS.contains(&name) || name.ends_with("_t")
        };
        let is_d = self.lexer.dialect == Dialect::D;
        let TokenKind::Name(first) = &self.peek()?.kind else { return Ok(None) };
        if !is_d || !is_type(first) {
            return Ok(None);
        }
        let mut text = String::new();
        loop {
            let word = match &self.peek()?.kind {
                TokenKind::Name(name) => name.clone(),
                TokenKind::Operator("*") => "*".to_owned(),
                _ => return Ok(Some(text)),
            };
            self.take()?;
            if !text.is_empty() && !text.ends_with('*') {
                text.push(' ');
            }
            text.push_str(&word);
        }
    }
}

fn keys_of(key: Expr) -> Vec<Expr> {
    vec![key]
}
