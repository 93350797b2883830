//! Blocks and statements.

use bathyscope_plan::{Diagnostic, Span};

use super::{
    super::ast::{BinaryOp, Block, Expr, ExprKind, Name, Statement, StatementKind},
    expressions::from_to,
    parser::{Parsed, Parser, SyntaxNode},
    token::Token,
};

/// The operator of `+=` and the like; none in it for `=`.
fn assignment(mark: &str) -> Option<Option<BinaryOp>> {
    Some(Some(match mark {
        "=" => return Some(None),
        "+=" => BinaryOp::Add,
        "-=" => BinaryOp::Subtract,
        "*=" => BinaryOp::Multiply,
        "/=" => BinaryOp::Divide,
        "%=" => BinaryOp::Modulo,
        "&=" => BinaryOp::BitAnd,
        "|=" => BinaryOp::BitOr,
        "^=" => BinaryOp::BitXor,
        "<<=" => BinaryOp::ShiftLeft,
        ">>=" => BinaryOp::ShiftRight,
        _ => return None,
    }))
}

/// A statement as it was read.
#[derive(Debug)]
struct Read {
    kind: StatementKind,
    height: u32,
    /// Whether it ends with a block, so that no `;` is needed.
    blocky: bool,
}

impl Parser<'_> {
    /// Statements in braces; the value stays apart.
    pub(super) fn block(&mut self) -> Parsed<SyntaxNode<Block>> {
        let open = self.expect("{", "before statements")?;
        let predicate = std::mem::replace(&mut self.in_predicate, false);
        let result = self.deeper(|parser| parser.statements(open));
        self.in_predicate = predicate;
        result
    }

    /// Statements in braces that have no value: what stands last is a statement too.
    fn body(&mut self) -> Parsed<SyntaxNode<Block>> {
        let mut block = self.block()?;
        without_value(&mut block.of);
        Ok(block)
    }

    fn statements(&mut self, open: Span) -> Parsed<SyntaxNode<Block>> {
        let (mut block, mut height) = (Block::default(), 0);
        loop {
            if self.take_mark("}") {
                break;
            }
            if self.is_end() || self.is_full() {
                let hint = format!("the `{{` is in line {}", self.line_of(open));
                return Err(self.unexpected_but("`}` at the end of a block", hint));
            }
            if self.take_mark(";") {
                continue;
            }
            let start = self.span().start;
            match self.statement().and_then(|read| self.finish_statement(read, start, &mut block)) {
                Ok(of) => height = height.max(of),
                Err(_) if self.is_full() => return Err(super::parser::Reported),
                Err(_) => self.recover(),
            }
        }
        block.span = self.since(open.start);
        last_is_value(&mut block);
        Ok(SyntaxNode { of: block, height: height + 1 })
    }

    fn line_of(&self, place: Span) -> u32 {
        super::super::render::place(self.lexer.text, place.start).line
    }

    /// Puts a statement into its block, after the `;` that must follow it; its height.
    fn finish_statement(&mut self, read: Read, start: u32, block: &mut Block) -> Parsed<u32> {
        let Read { kind, height, blocky } = read;
        let span = self.since(start);
        let ended = self.take_mark(";");
        if !ended && !blocky {
            if self.is_mark(0, "}") {
                if let StatementKind::Expression(value) = kind {
                    block.value = Some(Box::new(value));
                    return Ok(height);
                }
            } else {
                self.missing_semicolon(&kind)?;
            }
        }
        if blocky && ended {
            // `{ … };` is a statement and no value, even at the end.
            block.statements.push(Statement { kind: statement_without_value(kind), span });
        } else {
            block.statements.push(Statement { kind, span });
        }
        // Only the last statement may have become the value of its block.
        if let Some(before) = block.statements.len().checked_sub(2).and_then(|it| block.statements.get_mut(it)) {
            fold(before);
        }
        Ok(height)
    }

    /// Reports that a statement does not end. If the next one begins on a new line, only the `;` is missing.
    fn missing_semicolon(&mut self, kind: &StatementKind) -> Parsed<()> {
        let next = self.span();
        let gap = self.lexer.text.get(self.last_end as usize..next.start as usize).unwrap_or_default();
        let begins = matches!(self.peek(0).token, Token::Word(_) | Token::Variable(_) | Token::Map(_));
        let hint = match kind {
            StatementKind::Expression(expr) => self.hint_after(expr),
            _ => String::new(),
        };
        if gap.contains('\n') && begins && hint.is_empty() {
            let at = Span { start: self.last_end.saturating_sub(1), end: self.last_end };
            self.report(Diagnostic::error(at, "expected `;` after this statement"));
            return Ok(());
        }
        if hint.is_empty()
            && let StatementKind::Expression(expr) = kind
            && let Token::Mark(mark) = self.peek(0).token
            && assignment(mark).is_some()
        {
            return Err(self.no_place(expr));
        }
        Err(self.unexpected_but("`;` or `}` after a statement", hint))
    }

    /// Goes on after a mistake: behind the next `;`, or before the `}` that ends the block.
    pub(super) fn recover(&mut self) {
        let mut depth = 0_usize;
        loop {
            match self.peek(0).token {
                Token::End => return,
                Token::Mark("{") => depth += 1,
                Token::Mark("}") if depth == 0 => return,
                Token::Mark("}") => {
                    depth -= 1;
                    if depth == 0 {
                        self.take();
                        if !self.is_word(0, "else") {
                            return;
                        }
                    }
                }
                Token::Mark(";") if depth == 0 => {
                    self.take();
                    return;
                }
                _ => {}
            }
            self.take();
        }
    }

    fn statement(&mut self) -> Parsed<Read> {
        match self.peek(0).token {
            Token::Word("if") => self.if_statement(),
            Token::Word("unroll") => self.unroll(),
            Token::Word("while") => self.while_loop(),
            Token::Word("for") => self.for_loop(),
            Token::Word("let") => self.declaration(),
            Token::Word("return") => self.return_statement(),
            Token::Word(word @ ("break" | "continue")) => {
                self.take();
                let kind = if word == "break" { StatementKind::Break } else { StatementKind::Continue };
                Ok(Read { kind, height: 1, blocky: false })
            }
            Token::Word("else") => {
                let span = self.take().span;
                Err(self.report(Diagnostic::error(span, "`else` without an `if` before it")))
            }
            Token::Mark("{") => {
                let block = self.block()?;
                Ok(Read { kind: StatementKind::Block(block.of), height: block.height, blocky: true })
            }
            _ => self.expression_or_assignment(),
        }
    }

    fn expression_or_assignment(&mut self) -> Parsed<Read> {
        let left = self.expression()?;
        let op = match self.peek(0).token {
            Token::Mark(mark) => assignment(mark),
            _ => None,
        };
        let Some(op) = op else {
            return Ok(Read { kind: StatementKind::Expression(left.of), height: left.height, blocky: false });
        };
        let discard = matches!(&left.of.kind, ExprKind::Identifier(name) if name == "_");
        if !discard && !matches!(left.of.kind, ExprKind::Variable(_) | ExprKind::Map { .. }) {
            return Err(self.no_place(&left.of));
        }
        self.take();
        let value = self.expression()?;
        let height = left.height.max(value.height) + 1;
        Ok(Read { kind: StatementKind::Assign { place: left.of, op, value: value.of }, height, blocky: false })
    }

    pub(super) fn no_place(&mut self, place: &Expr) -> super::parser::Reported {
        let (message, hint) = match &place.kind {
            ExprKind::Identifier(name) => (
                format!("nothing can be assigned to `{name}`"),
                format!("variables are written `${name}`, and maps, which last from event to event, `@{name}`"),
            ),
            ExprKind::Positional(number) => {
                (format!("nothing can be assigned to the parameter `${number}`"), String::new())
            }
            _ => (
                "nothing can be assigned to this".to_owned(),
                "values go into variables `$name` and elements of maps `@name[key]`".to_owned(),
            ),
        };
        self.report(Diagnostic::error(place.span, message).hint(hint))
    }

    fn if_statement(&mut self) -> Parsed<Read> {
        self.take();
        let comptime = self.take_word("comptime");
        let condition = self.condition("if")?;
        let then = self.block()?;
        let mut height = condition.height.max(then.height);
        let mut otherwise = None;
        if self.take_word("else") {
            let block = self.otherwise()?;
            height = height.max(block.height);
            otherwise = Some(block.of);
        }
        let kind = StatementKind::If { condition: condition.of, comptime, then: then.of, otherwise };
        Ok(Read { kind, height: height + 1, blocky: true })
    }

    /// What stands after `else`: a block, or an `if`, which is put into a block of its own.
    pub(super) fn otherwise(&mut self) -> Parsed<SyntaxNode<Block>> {
        if !self.is_word(0, "if") {
            return self.block();
        }
        let start = self.span().start;
        let read = self.deeper(Self::if_statement)?;
        let span = self.since(start);
        let mut block =
            Block { statements: vec![Statement { kind: read.kind, span }], value: None, span, called: None };
        last_is_value(&mut block);
        Ok(SyntaxNode { of: block, height: read.height + 1 })
    }

    /// The condition of `if` or `while`.
    fn condition(&mut self, word: &str) -> Parsed<SyntaxNode<Expr>> {
        let condition = self.expression()?;
        if let Token::Mark(mark) = self.peek(0).token
            && assignment(mark).is_some()
        {
            let hint = "to compare, write `==`".to_owned();
            return Err(self.unexpected_but(&format!("`{{` after the condition of `{word}`"), hint));
        }
        if !self.is_mark(0, "{") {
            let hint = self.hint_after(&condition.of);
            let hint = if hint.is_empty() { "what it does stands in braces".to_owned() } else { hint };
            return Err(self.unexpected_but(&format!("`{{` after the condition of `{word}`"), hint));
        }
        Ok(condition)
    }

    fn unroll(&mut self) -> Parsed<Read> {
        self.take();
        let count = self.condition("unroll")?;
        let body = self.body()?;
        let height = count.height.max(body.height) + 1;
        Ok(Read { kind: StatementKind::Unroll { count: count.of, body: body.of }, height, blocky: true })
    }

    fn while_loop(&mut self) -> Parsed<Read> {
        self.take();
        let condition = self.condition("while")?;
        let body = self.body()?;
        let height = condition.height.max(body.height) + 1;
        Ok(Read { kind: StatementKind::While { condition: condition.of, body: body.of }, height, blocky: true })
    }

    fn for_loop(&mut self) -> Parsed<Read> {
        self.take();
        let parenthesis = self.take_mark("(");
        let hint = "loops are written `for $i : 0..10 { … }` and `for $kv : @map { … }`".to_owned();
        let Token::Variable(name) = self.peek(0).token else {
            return Err(self.unexpected_but("the loop's variable", hint));
        };
        let variable = Name { text: name.to_owned(), span: self.take().span };
        if !self.take_mark(":") {
            return Err(self.unexpected_but("`:` after the loop's variable", hint));
        }
        let over = self.expression()?;
        let end = if self.take_mark("..") { Some(self.expression()?) } else { None };
        if parenthesis {
            self.expect(")", "after what the loop goes over")?;
        }
        self.for_body(variable, over, end)
    }

    fn for_body(&mut self, variable: Name, over: SyntaxNode<Expr>, end: Option<SyntaxNode<Expr>>) -> Parsed<Read> {
        let map = match (&over.of.kind, &end) {
            (_, Some(_)) => None,
            (ExprKind::Map { name, keys }, None) if keys.is_empty() => {
                Some(Name { text: name.clone(), span: over.of.span })
            }
            _ => {
                let trouble = Diagnostic::error(over.of.span, "a loop goes over a map or a range");
                return Err(self.report(trouble.hint("write `@map` without a key, or `0..10`")));
            }
        };
        if !self.is_mark(0, "{") {
            return Err(self.unexpected("`{` after what the loop goes over"));
        }
        let body = self.body()?;
        let height = over.height.max(body.height).max(end.as_ref().map_or(0, |it| it.height)) + 1;
        let body = body.of;
        let kind = match (map, end) {
            (Some(map), _) => StatementKind::ForMap { variable, map, body },
            (None, Some(end)) => StatementKind::ForRange { variable, first: over.of, end: end.of, body },
            (None, None) => return Err(super::parser::Reported),
        };
        Ok(Read { kind, height, blocky: true })
    }

    fn declaration(&mut self) -> Parsed<Read> {
        self.take();
        let Token::Variable(name) = self.peek(0).token else {
            let hint = match self.peek(0).token {
                Token::Map(_) => "maps are declared outside of probes".to_owned(),
                Token::Word(word) => format!("variables are written `${word}`"),
                _ => String::new(),
            };
            return Err(self.unexpected_but("a variable after `let`", hint));
        };
        let variable = Name { text: name.to_owned(), span: self.take().span };
        let (mut ty, mut value, mut height) = (None, None, 1);
        if self.take_mark(":") {
            let of = self.type_text()?;
            height = height.max(of.height);
            ty = Some(of.of);
        }
        if self.take_mark("=") {
            let of = self.expression()?;
            height = height.max(of.height);
            value = Some(of.of);
        }
        Ok(Read { kind: StatementKind::Let { variable, ty, value }, height: height + 1, blocky: false })
    }

    fn return_statement(&mut self) -> Parsed<Read> {
        self.take();
        let (mut value, mut height) = (None, 0);
        if !self.is_mark(0, ";") && !self.is_mark(0, "}") {
            let of = self.expression()?;
            height = of.height;
            value = Some(of.of);
        }
        Ok(Read { kind: StatementKind::Return(value), height: height + 1, blocky: false })
    }
}

/// A block's last statement becomes its value if it is a block or an `if` with values; an `if` without is a statement.
fn last_is_value(block: &mut Block) {
    if block.value.is_some() {
        if let Some(last) = block.statements.last_mut() {
            fold(last);
        }
        return;
    }
    let has_value = |statement: &Statement| match &statement.kind {
        StatementKind::Block(inner) => inner.value.is_some(),
        StatementKind::If { comptime: true, then, otherwise, .. } => {
            then.value.is_some() || otherwise.as_ref().is_some_and(|it| it.value.is_some())
        }
        StatementKind::If { comptime: false, then, otherwise, .. } => {
            then.value.is_some() && otherwise.as_ref().is_some_and(|it| it.value.is_some())
        }
        _ => false,
    };
    let Some(last) = block.statements.pop_if(|it| has_value(it)) else {
        if let Some(last) = block.statements.last_mut()
            && matches!(last.kind, StatementKind::If { comptime: false, .. })
        {
            fold(last);
        }
        return;
    };
    let kind = match last.kind {
        StatementKind::Block(inner) => ExprKind::Block(inner),
        StatementKind::If { condition, comptime, then, otherwise } => {
            ExprKind::If { condition: Box::new(condition), comptime, then, otherwise }
        }
        kind => {
            block.statements.push(Statement { kind, span: last.span });
            return;
        }
    };
    block.value = Some(Box::new(Expr { kind, span: last.span }));
}

/// A statement among others has no value, so what is in it has none either.
fn fold(statement: &mut Statement) {
    match &mut statement.kind {
        StatementKind::Block(block) => without_value(block),
        StatementKind::If { then, otherwise, .. } => {
            without_value(then);
            if let Some(otherwise) = otherwise {
                without_value(otherwise);
            }
        }
        _ => {}
    }
}

fn statement_without_value(kind: StatementKind) -> StatementKind {
    let mut statement = Statement { kind, span: Span::default() };
    fold(&mut statement);
    statement.kind
}

/// Makes a block's value its last statement.
pub(in super::super) fn without_value(block: &mut Block) {
    let Some(value) = block.value.take() else {
        if let Some(last) = block.statements.last_mut() {
            fold(last);
        }
        return;
    };
    let span = from_to(value.span, value.span);
    let kind = match value.kind {
        ExprKind::Block(inner) => StatementKind::Block(inner),
        ExprKind::If { condition, comptime, then, otherwise } => {
            StatementKind::If { condition: *condition, comptime, then, otherwise }
        }
        kind => StatementKind::Expression(Expr { kind, span }),
    };
    let mut statement = Statement { kind, span };
    fold(&mut statement);
    block.statements.push(statement);
}
