//! The parser's means: tokens with look-ahead, messages, recovery, limits. What it reads is in `items`, `statements`,
//! `expressions` and `types`.

use std::collections::VecDeque;

use bathyscope_plan::{Diagnostic, Span};

use super::{
    super::{
        ast::{Expr, ExprKind, Name},
        limits::{MAX_DEPTH, MAX_DIAGNOSTICS},
    },
    lexer::Lexer,
    token::{RESERVED, SpannedToken, Token},
};

/// Something is wrong and was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reported;

pub(super) type Parsed<T> = Result<T, Reported>;

/// A part of the tree and how high it is. Chains such as `a + b + …` make high trees without recursion in the parser, but
/// everything that later walks them recurses.
#[derive(Debug)]
pub(super) struct SyntaxNode<T> {
    pub(super) of: T,
    pub(super) height: u32,
}

#[derive(Debug)]
pub(super) struct Parser<'a> {
    pub(super) lexer: Lexer<'a>,
    ahead: VecDeque<SpannedToken<'a>>,
    pub(super) errors: Vec<Diagnostic>,
    depth: u32,
    /// The end of the last token that was taken.
    pub(super) last_end: u32,
    /// Whether a predicate is being read, which `/` before `{` ends.
    pub(super) in_predicate: bool,
    /// Attach points so far.
    pub(super) points: usize,
    /// Whether it was reported that the text ends too early; once is enough.
    end_reported: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(lexer: Lexer<'a>) -> Self {
        let (ahead, errors) = (VecDeque::new(), Vec::new());
        Self { lexer, ahead, errors, depth: 0, last_end: 0, in_predicate: false, points: 0, end_reported: false }
    }

    /// The token `index` places ahead.
    pub(super) fn peek(&mut self, index: usize) -> &SpannedToken<'a> {
        self.lexer.steps += 1;
        while self.ahead.len() <= index {
            let next = self.lexer.next();
            self.ahead.push_back(next);
        }
        &self.ahead[index]
    }

    pub(super) fn take(&mut self) -> SpannedToken<'a> {
        self.peek(0);
        let taken = self.ahead.pop_front().unwrap_or_else(|| self.lexer.next());
        self.last_end = taken.span.end;
        taken
    }

    /// Forgets what was looked ahead: reading goes on at byte `at`.
    pub(super) fn go_to(&mut self, at: usize) {
        self.ahead.clear();
        self.lexer.at = at;
    }

    pub(super) fn span(&mut self) -> Span {
        self.peek(0).span
    }

    /// From `start` to the end of the last token taken.
    pub(super) fn since(&self, start: u32) -> Span {
        Span { start, end: self.last_end.max(start) }
    }

    pub(super) fn is_mark(&mut self, index: usize, mark: &str) -> bool {
        matches!(self.peek(index).token, Token::Mark(it) if it == mark)
    }

    pub(super) fn is_word(&mut self, index: usize, word: &str) -> bool {
        matches!(self.peek(index).token, Token::Word(it) if it == word)
    }

    pub(super) fn is_end(&mut self) -> bool {
        self.peek(0).token == Token::End
    }

    /// Takes `mark` if it is next.
    pub(super) fn take_mark(&mut self, mark: &str) -> bool {
        let found = self.is_mark(0, mark);
        if found {
            self.take();
        }
        found
    }

    /// Takes `word` if it is next.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(0, word);
        if found {
            self.take();
        }
        found
    }

    /// Takes `mark`, which must be next; `context` says of what it is part.
    pub(super) fn expect(&mut self, mark: &str, context: &str) -> Parsed<Span> {
        if self.is_mark(0, mark) {
            return Ok(self.take().span);
        }
        Err(self.unexpected(&format!("`{mark}` {context}")))
    }

    /// Takes a name that is no keyword.
    pub(super) fn name(&mut self, what: &str) -> Parsed<Name> {
        match self.peek(0).token {
            Token::Word(word) if !RESERVED.contains(&word) => {
                let span = self.take().span;
                Ok(Name { text: word.to_owned(), span })
            }
            Token::Word(word) => {
                let span = self.span();
                let message = format!("expected {what}, found `{word}`, which is a word of the language");
                Err(self.report(Diagnostic::error(span, message)))
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// Takes any word, as names of members are.
    pub(super) fn word(&mut self, what: &str) -> Parsed<Name> {
        if let Token::Word(word) = self.peek(0).token {
            let span = self.take().span;
            return Ok(Name { text: word.to_owned(), span });
        }
        Err(self.unexpected(what))
    }

    /// Reports `diagnostic`.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        if !self.is_full() {
            self.errors.push(diagnostic);
        }
        Reported
    }

    /// Whether so much is wrong that reading on is of no use.
    pub(super) fn is_full(&self) -> bool {
        self.errors.len() >= MAX_DIAGNOSTICS
    }

    /// Reports that the next token is not what was expected.
    pub(super) fn unexpected(&mut self, expected: &str) -> Reported {
        self.unexpected_but(expected, String::new())
    }

    /// Reports that the next token is not what was expected, with a hint.
    pub(super) fn unexpected_but(&mut self, expected: &str, hint: String) -> Reported {
        let next = self.peek(0).clone();
        if let Token::Bad(diagnostic) = next.token {
            return self.report(*diagnostic);
        }
        if next.token == Token::End && std::mem::replace(&mut self.end_reported, true) {
            return Reported;
        }
        let found = self.describe(&next);
        self.report(Diagnostic::error(next.span, format!("expected {expected}, found {found}")).hint(hint))
    }

    fn describe(&self, next: &SpannedToken<'_>) -> String {
        match &next.token {
            Token::End => "the end of the script".to_owned(),
            Token::Text(_) => "a text".to_owned(),
            Token::Word(word) if RESERVED.contains(word) => format!("the word `{word}`"),
            _ => {
                let written = self.lexer.text.get(next.span.start as usize..next.span.end as usize);
                format!("`{}`", written.unwrap_or_default())
            }
        }
    }

    /// Does `read` one level deeper, or refuses to.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            let span = self.span();
            return Err(self.too_deep(span));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn too_deep(&mut self, span: Span) -> Reported {
        let message = format!("this is nested more than {MAX_DEPTH} levels deep, or a chain of as many operators");
        self.report(Diagnostic::error(span, message).hint("keep parts of it in variables"))
    }

    /// An expression above others, the highest of which has `below`.
    pub(super) fn node(&mut self, kind: ExprKind, span: Span, below: u32) -> Parsed<SyntaxNode<Expr>> {
        let height = below + 1;
        if height > MAX_DEPTH {
            return Err(self.too_deep(span));
        }
        Ok(SyntaxNode { of: Expr { kind, span }, height })
    }
}
