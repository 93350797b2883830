//! Expressions.

use bathyscope_plan::Span;

use super::{
    super::{
        ast::{BinaryOp, Expr, ExprKind, Name, PathStep, TypeBase, TypeText, UnaryOp},
        suggest,
    },
    parser::{Parsed, Parser, SyntaxNode},
    token::{RESERVED, Token},
};

type Expression = Parsed<SyntaxNode<Expr>>;

/// An operator on two values and how strongly it binds.
fn binary(mark: &str) -> Option<(BinaryOp, u8)> {
    Some(match mark {
        "||" => (BinaryOp::Or, 1),
        "&&" => (BinaryOp::And, 2),
        "|" => (BinaryOp::BitOr, 3),
        "^" => (BinaryOp::BitXor, 4),
        "&" => (BinaryOp::BitAnd, 5),
        "==" => (BinaryOp::Equal, 6),
        "!=" => (BinaryOp::NotEqual, 6),
        "<" => (BinaryOp::Less, 7),
        "<=" => (BinaryOp::LessEqual, 7),
        ">" => (BinaryOp::Greater, 7),
        ">=" => (BinaryOp::GreaterEqual, 7),
        "<<" => (BinaryOp::ShiftLeft, 8),
        ">>" => (BinaryOp::ShiftRight, 8),
        "+" => (BinaryOp::Add, 9),
        "-" => (BinaryOp::Subtract, 9),
        "*" => (BinaryOp::Multiply, 10),
        "/" => (BinaryOp::Divide, 10),
        "%" => (BinaryOp::Modulo, 10),
        _ => return None,
    })
}

fn unary(mark: &str) -> Option<UnaryOp> {
    Some(match mark {
        "-" => UnaryOp::Negate,
        "!" => UnaryOp::Not,
        "~" => UnaryOp::Complement,
        "*" => UnaryOp::Dereference,
        "&" => UnaryOp::AddressOf,
        _ => return None,
    })
}

impl Parser<'_> {
    /// Any expression.
    pub(super) fn expression(&mut self) -> Expression {
        self.deeper(Self::conditional)
    }

    fn conditional(&mut self) -> Expression {
        let condition = self.operation(1)?;
        if !self.take_mark("?") {
            return Ok(condition);
        }
        let (mut height, start) = (condition.height, condition.of.span.start);
        let then = if self.is_mark(0, ":") {
            None
        } else {
            let then = self.expression()?;
            height = height.max(then.height);
            Some(Box::new(then.of))
        };
        self.expect(":", "between the two values of `? :`")?;
        let otherwise = self.expression()?;
        height = height.max(otherwise.height);
        let kind = ExprKind::Ternary { condition: Box::new(condition.of), then, otherwise: Box::new(otherwise.of) };
        let span = self.since(start);
        self.node(kind, span, height)
    }

    /// Operators that bind at least as strongly as `least`.
    fn operation(&mut self, least: u8) -> Expression {
        let mut left = self.prefixed()?;
        while let Token::Mark(mark) = self.peek(0).token {
            let Some((op, strength)) = binary(mark).filter(|(_, strength)| *strength >= least) else { break };
            if self.ends_predicate() {
                break;
            }
            self.take();
            let right = self.operation(strength + 1)?;
            let height = left.height.max(right.height);
            let span = self.since(left.of.span.start);
            let kind = ExprKind::Binary { op, left: Box::new(left.of), right: Box::new(right.of) };
            left = self.node(kind, span, height)?;
        }
        Ok(left)
    }

    /// Whether the predicate that is being read ends here: with a `/` before a `{`.
    pub(super) fn ends_predicate(&mut self) -> bool {
        self.in_predicate && self.is_mark(0, "/") && self.is_mark(1, "{")
    }

    fn prefixed(&mut self) -> Expression {
        let start = self.span().start;
        if let Token::Mark(mark) = self.peek(0).token {
            if let Some(op) = unary(mark) {
                self.take();
                let of = self.deeper(Self::prefixed)?;
                let kind = ExprKind::Unary { op, of: Box::new(of.of) };
                let span = self.since(start);
                return self.node(kind, span, of.height);
            }
            if matches!(mark, "++" | "--") {
                self.take();
                let place = self.deeper(Self::prefixed)?;
                self.check_step(&place.of)?;
                let kind = ExprKind::Step { place: Box::new(place.of), add: mark == "++", prefix: true };
                let span = self.since(start);
                return self.node(kind, span, place.height);
            }
            if mark == "(" && self.is_cast() {
                self.take();
                let ty = self.type_text()?;
                self.expect(")", "after the type of a cast")?;
                let of = self.deeper(Self::prefixed)?;
                let kind = ExprKind::Cast { ty: ty.of, of: Box::new(of.of) };
                let span = self.since(start);
                return self.node(kind, span, of.height.max(ty.height));
            }
        }
        self.suffixed()
    }

    fn suffixed(&mut self) -> Expression {
        let mut base = self.primary()?;
        while let Token::Mark(mark) = self.peek(0).token {
            let (start, mut height) = (base.of.span.start, base.height);
            let of = match mark {
                "." | "->" => {
                    self.take();
                    self.member(Box::new(base.of), mark)?
                }
                "[" => {
                    self.take();
                    let index = self.expression()?;
                    self.expect("]", "after an index")?;
                    height = height.max(index.height);
                    ExprKind::Index { base: Box::new(base.of), index: Box::new(index.of) }
                }
                "++" | "--" => {
                    self.check_step(&base.of)?;
                    self.take();
                    ExprKind::Step { place: Box::new(base.of), add: mark == "++", prefix: false }
                }
                _ => break,
            };
            let span = self.since(start);
            base = self.node(of, span, height)?;
        }
        Ok(base)
    }

    fn check_step(&mut self, place: &Expr) -> Parsed<()> {
        match &place.kind {
            ExprKind::Variable(_) | ExprKind::Map { .. } => Ok(()),
            _ => Err(self.no_place(place)),
        }
    }

    fn member(&mut self, base: Box<Expr>, mark: &str) -> Parsed<ExprKind> {
        match self.peek(0).token {
            Token::Word(word) => {
                let span = self.take().span;
                Ok(ExprKind::Member { base, name: Name { text: word.to_owned(), span } })
            }
            Token::Integer { value, .. } if mark == "." && u32::try_from(value).is_ok() => {
                self.take();
                Ok(ExprKind::Element { base, index: u32::try_from(value).unwrap_or(u32::MAX) })
            }
            _ => Err(self.unexpected(&format!("a field's name after `{mark}`"))),
        }
    }

    fn primary(&mut self) -> Expression {
        let next = self.peek(0).clone();
        let span = next.span;
        let kind = match next.token {
            Token::Integer { value, unsigned } => ExprKind::Integer { value, unsigned },
            Token::Text(text) => ExprKind::Text(text),
            Token::Variable(name) => ExprKind::Variable(name.to_owned()),
            Token::Positional(number) => ExprKind::Positional(number),
            Token::PositionalCount => ExprKind::PositionalCount,
            Token::Map(name) => return self.map(name),
            Token::Word(word) => return self.named(word),
            Token::Mark("(") => return self.parenthesised(),
            Token::Mark("{") => {
                let block = self.block()?;
                let span = self.since(span.start);
                return self.node(ExprKind::Block(block.of), span, block.height);
            }
            _ => return Err(self.no_expression()),
        };
        self.take();
        self.node(kind, span, 0)
    }

    fn no_expression(&mut self) -> super::parser::Reported {
        let in_predicate = self.in_predicate;
        let hint = match self.peek(0).token {
            Token::Mark("=") => "to compare, write `==`",
            Token::Mark("/") if in_predicate => "a predicate stands between two `/`, before `{`",
            _ => "",
        };
        self.unexpected_but("an expression", hint.to_owned())
    }

    fn map(&mut self, name: &str) -> Expression {
        let start = self.take().span.start;
        let (mut keys, mut height) = (Vec::new(), 0);
        if self.take_mark("[") {
            (keys, height) = self.list("]", "a map's key")?;
            if keys.is_empty() {
                let span = self.since(start);
                let trouble = bathyscope_plan::Diagnostic::error(span, format!("`@{name}[]` has no key"));
                return Err(self.report(trouble.hint(format!("a map without keys is written `@{name}`"))));
            }
        }
        let span = self.since(start);
        self.node(ExprKind::Map { name: name.to_owned(), keys }, span, height)
    }

    /// Expressions or types with commas between them, to `close`.
    fn list(&mut self, close: &str, what: &str) -> Parsed<(Vec<Expr>, u32)> {
        let (mut items, mut height) = (Vec::new(), 0);
        while !self.take_mark(close) {
            let item = self.argument()?;
            height = height.max(item.height);
            items.push(item.of);
            if !self.take_mark(",") && !self.is_mark(0, close) {
                return Err(self.unexpected(&format!("`,` or `{close}` in {what}")));
            }
        }
        Ok((items, height))
    }

    /// An argument: an expression, or a type where one is meant.
    fn argument(&mut self) -> Expression {
        if self.is_type(0) {
            let ty = self.type_text()?;
            let span = ty.of.span;
            return self.node(ExprKind::Type(ty.of), span, ty.height);
        }
        self.expression()
    }

    /// What begins with a word.
    fn named(&mut self, word: &str) -> Expression {
        let start = self.span().start;
        match word {
            "true" | "false" => {
                let span = self.take().span;
                return self.node(ExprKind::Bool(word == "true"), span, 0);
            }
            "sizeof" => return self.size_of(),
            "offsetof" => return self.offset_of(),
            "if" => return self.if_value(),
            "config" => {}
            _ if RESERVED.contains(&word) => return Err(self.no_expression()),
            _ => {}
        }
        let name = if word == "config" { self.word("an expression")? } else { self.name("an expression")? };
        if !self.take_mark("(") {
            return self.node(ExprKind::Identifier(name.text), name.span, 0);
        }
        let (arguments, height) = self.list(")", &format!("the arguments of {word}()"))?;
        let span = self.since(start);
        self.node(ExprKind::Call { function: name, arguments }, span, height)
    }

    fn size_of(&mut self) -> Expression {
        let function = Name { text: "sizeof".to_owned(), span: self.take().span };
        let start = function.span.start;
        self.expect("(", "after `sizeof`")?;
        let of = self.argument()?;
        self.expect(")", "after what `sizeof` is asked about")?;
        let span = self.since(start);
        let kind = match of.of.kind {
            ExprKind::Type(ty) => ExprKind::SizeOf(ty),
            _ => ExprKind::Call { function, arguments: vec![of.of] },
        };
        self.node(kind, span, of.height)
    }

    fn offset_of(&mut self) -> Expression {
        let start = self.take().span.start;
        self.expect("(", "after `offsetof`")?;
        let of = self.argument()?;
        let mut height = of.height;
        let ty = match of.of.kind {
            ExprKind::Type(ty) => ty,
            ExprKind::Identifier(name) => {
                TypeText { base: TypeBase::Named(name), suffixes: Vec::new(), span: of.of.span }
            }
            kind => {
                let span = of.of.span;
                let base = TypeBase::Of(Box::new(Expr { kind, span }));
                TypeText { base, suffixes: Vec::new(), span }
            }
        };
        self.expect(",", "after the type in `offsetof(type, field)`")?;
        let mut path = vec![PathStep::Member(self.word("a field's name")?)];
        loop {
            if self.take_mark(".") {
                path.push(PathStep::Member(self.word("a field's name")?));
            } else if self.take_mark("[") {
                let index = self.expression()?;
                height = height.max(index.height);
                path.push(PathStep::Index(index.of));
                self.expect("]", "after an index")?;
            } else {
                break;
            }
        }
        self.expect(")", "after the field in `offsetof(type, field)`")?;
        let span = self.since(start);
        self.node(ExprKind::OffsetOf { ty, path }, span, height)
    }

    /// `if c { a } else { b }` as a value, with or without `comptime`.
    fn if_value(&mut self) -> Expression {
        let start = self.take().span.start;
        let comptime = self.take_word("comptime");
        let condition = self.expression()?;
        let then = self.block()?;
        let mut height = condition.height.max(then.height);
        let mut otherwise = None;
        if self.take_word("else") {
            let block = self.otherwise()?;
            height = height.max(block.height);
            otherwise = Some(block.of);
        }
        let span = self.since(start);
        let kind = ExprKind::If { condition: Box::new(condition.of), comptime, then: then.of, otherwise };
        self.node(kind, span, height)
    }

    /// An expression in parentheses, a tuple, or a record.
    fn parenthesised(&mut self) -> Expression {
        let start = self.take().span.start;
        if matches!(self.peek(0).token, Token::Word(_)) && self.is_mark(1, "=") {
            return self.record(start);
        }
        if self.take_mark(")") {
            let span = self.since(start);
            return self.node(ExprKind::Tuple(Vec::new()), span, 0);
        }
        let first = self.expression()?;
        if self.is_mark(0, ")") {
            self.take();
            let span = self.since(start);
            return Ok(SyntaxNode { of: Expr { kind: first.of.kind, span }, height: first.height });
        }
        if !self.take_mark(",") {
            let hint = if self.is_mark(0, "=") { "to compare, write `==`" } else { "" };
            return Err(self.unexpected_but("`)`", hint.to_owned()));
        }
        let (rest, height) = self.list(")", "a tuple")?;
        let parts = std::iter::once(first.of).chain(rest).collect();
        let span = self.since(start);
        self.node(ExprKind::Tuple(parts), span, height.max(first.height))
    }

    fn record(&mut self, start: u32) -> Expression {
        let (mut fields, mut height): (Vec<(Name, Expr)>, u32) = (Vec::new(), 0);
        while !self.take_mark(")") {
            let name = self.name("a field's name")?;
            self.expect("=", "after the name of a record's field")?;
            let value = self.expression()?;
            height = height.max(value.height);
            if fields.iter().any(|(it, _)| it.text == name.text) {
                let message = format!("the record has two fields `{}`", name.text);
                self.report(bathyscope_plan::Diagnostic::error(name.span, message));
            }
            fields.push((name, value.of));
            if fields.len() > super::super::limits::MAX_FIELDS {
                let message = format!("a record has at most {} fields", super::super::limits::MAX_FIELDS);
                let span = self.since(start);
                return Err(self.report(bathyscope_plan::Diagnostic::error(span, message)));
            }
            if !self.take_mark(",") && !self.is_mark(0, ")") {
                return Err(self.unexpected("`,` or `)` in a record"));
            }
        }
        let span = self.since(start);
        self.node(ExprKind::Record(fields), span, height)
    }

    /// What may have been meant by an expression after which the statement should end but does not.
    pub(super) fn hint_after(&mut self, before: &Expr) -> String {
        const KEYWORDS: [&str; 9] = ["break", "continue", "else", "for", "if", "let", "return", "unroll", "while"];
        match self.peek(0).token {
            Token::Word("and") => return "write `&&`".to_owned(),
            Token::Word("or") => return "write `||`".to_owned(),
            _ => {}
        }
        let word = match &before.kind {
            ExprKind::Identifier(word) => word,
            ExprKind::Call { function, .. } if self.is_mark(0, "{") => &function.text,
            _ => return String::new(),
        };
        if matches!(word.as_str(), "elif" | "elsif" | "elseif") {
            return "write `else if`".to_owned();
        }
        match &self.peek(0).token {
            Token::Word(name) if super::types::is_builtin(word) || super::types::is_c_word(word) => {
                return format!("variables are declared with `let ${name}: {word}`, or just by `${name} = …`");
            }
            Token::Text(_) => return format!("the arguments of a function stand in parentheses: `{word}(…)`"),
            _ => {}
        }
        suggest(word, KEYWORDS).map_or_else(String::new, |it| format!("did you mean `{it}`?"))
    }
}

/// The place from the begin of `first` to the end of `last`.
pub(super) fn from_to(first: Span, last: Span) -> Span {
    Span { start: first.start, end: last.end.max(first.start) }
}
