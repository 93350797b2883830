//! The small preprocessor: `#define NAME VALUE`, conditions on what is defined, and `#include`, which is not needed.
//!
//! Each line is carried out once, when the lexer first comes to it; when it comes again it goes past the same bytes.

use bathyscope_plan::{Diagnostic, Span};

use super::{
    super::{
        ast::Name,
        limits::{MAX_CONDITIONS, MAX_DEFINES, MAX_DIAGNOSTICS},
    },
    condition,
    lexer::span,
    token::is_word_byte,
};

/// Counts as defined: types always come from the running kernel.
const HAVE_BTF: &str = "BPFTRACE_HAVE_BTF";

/// A `#define`: its name, and where its value stands.
#[derive(Clone, Debug)]
pub(super) struct RawDefine {
    pub(super) name: Name,
    pub(super) value: Option<Span>,
}

/// What the preprocessor knows.
#[derive(Debug, Default)]
pub(super) struct Directives {
    /// What stands, in order.
    pub(super) defines: Vec<RawDefine>,
    /// Lines of the preprocessor and what its conditions left out, in order.
    pub(super) skipped: Vec<Span>,
    pub(super) warnings: Vec<Diagnostic>,
    /// The conditions that are open: where each begins, and whether its `#else` was seen.
    open: Vec<(Span, bool)>,
}

/// A line of the preprocessor.
struct Line<'a> {
    /// `define`, `if`, …
    word: &'a str,
    /// The rest without comments and blanks around it.
    rest: &'a str,
    /// Where the rest begins.
    rest_at: usize,
    span: Span,
    /// Where to go on.
    next: usize,
}

impl Directives {
    /// Carries out the line whose `#` is at `at`; the place to go on from.
    pub(super) fn at(&mut self, text: &str, at: usize, errors: &mut Vec<Diagnostic>) -> usize {
        let start = span(at, at).start;
        if let Ok(index) = self.skipped.binary_search_by_key(&start, |it| it.start) {
            return self.skipped.get(index).map_or(text.len(), |it| it.end as usize);
        }
        let line = line(text, at);
        let mut report = |diagnostic: Diagnostic| {
            if errors.len() < MAX_DIAGNOSTICS {
                errors.push(diagnostic);
            }
        };
        let next = match self.carry_out(text, &line) {
            Ok(next) => next,
            Err(trouble) => {
                report(*trouble);
                line.next
            }
        };
        self.skipped.push(span(at, next));
        next
    }

    fn carry_out(&mut self, text: &str, line: &Line<'_>) -> Result<usize, Box<Diagnostic>> {
        let error = |message: String| Err(Box::new(Diagnostic::error(line.span, message)));
        match line.word {
            "define" => self.define(line)?,
            "undef" => self.defines.retain(|it| it.name.text != line.rest),
            "if" | "ifdef" | "ifndef" => {
                if self.open.len() >= MAX_CONDITIONS {
                    return error(format!("more than {MAX_CONDITIONS} conditions within each other"));
                }
                let holds = self.holds(line)?;
                self.open.push((line.span, false));
                return if holds { Ok(line.next) } else { self.leave_out(text, line.next, true) };
            }
            "elif" | "else" | "endif" => return self.branch_ends(text, line),
            "include" => {
                let message = format!("`#include {}` is not read", line.rest);
                let hint = "types and constants come from the running kernel; define others in the script";
                self.warnings.push(Diagnostic::warning(line.span, message).hint(hint));
            }
            "warning" => self.warnings.push(Diagnostic::warning(line.span, line.rest)),
            "error" => return error(line.rest.to_owned()),
            "pragma" | "line" | "" => {}
            other => {
                let known = ["define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif", "include"];
                let hint = super::super::suggest(other, known)
                    .map_or_else(|| "comments begin with `//`".to_owned(), |it| format!("did you mean `#{it}`?"));
                let message = format!("`#{other}` is no line of the preprocessor");
                return Err(Box::new(Diagnostic::error(line.span, message).hint(hint)));
            }
        }
        Ok(line.next)
    }

    fn define(&mut self, line: &Line<'_>) -> Result<(), Box<Diagnostic>> {
        let end = line.rest.bytes().position(|it| !is_word_byte(it)).unwrap_or(line.rest.len());
        let (name, value) = line.rest.split_at(end);
        if name.is_empty() || name.starts_with(|it: char| it.is_ascii_digit()) {
            let trouble = Diagnostic::error(line.span, "expected a name after `#define`");
            return Err(Box::new(trouble.hint("write `#define NAME VALUE`")));
        }
        if value.starts_with('(') {
            let message = format!("`#define {name}(…)` with parameters is not supported");
            let trouble = Diagnostic::error(line.span, message);
            return Err(Box::new(trouble.hint(format!("write `macro {name}(parameter) {{ expression }}`"))));
        }
        let value_at = line.rest_at + end + (value.len() - value.trim_start().len());
        let value = value.trim_start();
        let value = (!value.is_empty()).then(|| span(value_at, value_at + value.len()));
        let name = Name { text: name.to_owned(), span: span(line.rest_at, line.rest_at + end) };
        if let Some(before) = self.defines.iter_mut().find(|it| it.name.text == name.text) {
            let message = format!("`{}` is defined again; this value counts", name.text);
            self.warnings.push(Diagnostic::warning(name.span, message));
            before.value = value;
        } else if self.defines.len() < MAX_DEFINES {
            self.defines.push(RawDefine { name, value });
        } else {
            let message = format!("more than {MAX_DEFINES} names are defined");
            return Err(Box::new(Diagnostic::error(line.span, message)));
        }
        Ok(())
    }

    fn is_defined(&self, name: &str) -> bool {
        name == HAVE_BTF || self.defines.iter().any(|it| it.name.text == name)
    }

    fn holds(&self, line: &Line<'_>) -> Result<bool, Box<Diagnostic>> {
        if matches!(line.word, "if" | "elif") {
            return condition::holds(line.rest, &|name| self.is_defined(name)).map_err(|message| {
                let hint = "conditions are made of `defined(NAME)`, numbers, `!`, `&&`, `||` and parentheses";
                Box::new(Diagnostic::error(line.span, message).hint(hint))
            });
        }
        if line.rest.is_empty() || !line.rest.bytes().all(is_word_byte) {
            return Err(Box::new(Diagnostic::error(line.span, format!("expected one name after `#{}`", line.word))));
        }
        Ok(self.is_defined(line.rest) == (line.word == "ifdef"))
    }

    /// A branch that was taken ends here.
    fn branch_ends(&mut self, text: &str, line: &Line<'_>) -> Result<usize, Box<Diagnostic>> {
        let Some((_, otherwise)) = self.open.last_mut() else {
            let message = format!("`#{}` without a `#if` before it", line.word);
            return Err(Box::new(Diagnostic::error(line.span, message)));
        };
        if line.word == "endif" {
            self.open.pop();
            return Ok(line.next);
        }
        if *otherwise {
            let message = format!("`#{}` after the `#else` of the same `#if`", line.word);
            return Err(Box::new(Diagnostic::error(line.span, message)));
        }
        *otherwise = line.word == "else";
        self.leave_out(text, line.next, false)
    }

    /// Goes past what a condition leaves out, from the line at `at` to after the line that ends it: its `#endif`, or if
    /// `seek` its `#else` or an `#elif` that holds.
    fn leave_out(&mut self, text: &str, mut at: usize, seek: bool) -> Result<usize, Box<Diagnostic>> {
        let mut depth = 0_usize;
        while at < text.len() {
            let blanks = text.as_bytes().iter().skip(at).take_while(|it| matches!(it, b' ' | b'\t')).count();
            let line = line(text, at + blanks);
            at = line.next;
            if text.as_bytes().get(line.span.start as usize) != Some(&b'#') {
                continue;
            }
            match line.word {
                "if" | "ifdef" | "ifndef" => depth += 1,
                "endif" if depth > 0 => depth -= 1,
                "endif" => {
                    self.open.pop();
                    return Ok(at);
                }
                "else" | "elif" if depth == 0 => {
                    let taken = seek && (line.word == "else" || self.holds(&line)?);
                    if let Some((_, otherwise)) = self.open.last_mut() {
                        *otherwise |= line.word == "else";
                    }
                    if taken {
                        return Ok(at);
                    }
                }
                _ => {}
            }
        }
        Ok(at)
    }

    /// Conditions that the end of the text finds open.
    pub(super) fn finish(&self, errors: &mut Vec<Diagnostic>) {
        if let Some((span, _)) = self.open.last() {
            errors.push(Diagnostic::error(*span, "the condition has no `#endif`"));
        }
    }
}

/// The line that begins at `at`, with the lines that a `\` at its end joins to it.
fn line(text: &str, at: usize) -> Line<'_> {
    let bytes = text.as_bytes();
    let mut end = super::lexer::line_end(bytes, at);
    while end < bytes.len() && end > at && bytes.get(end - 1) == Some(&b'\\') {
        end = super::lexer::line_end(bytes, end + 1);
    }
    let body = text.get(at..end).unwrap_or_default();
    let code = &body[..comment_at(body)];
    let after_mark = code.strip_prefix('#').unwrap_or(code).trim_start();
    let word_end = after_mark.bytes().position(|it| !is_word_byte(it)).unwrap_or(after_mark.len());
    let (word, rest) = after_mark.split_at(word_end);
    let rest_at = at + code.len() - rest.trim_start().len();
    let last = at + code.trim_end().len();
    Line { word, rest: rest.trim(), rest_at, span: span(at, last.max(at)), next: (end + 1).min(bytes.len()) }
}

/// Where the comment at the end of a line begins; a `//` within a text is none.
fn comment_at(line: &str) -> usize {
    let (mut quoted, mut escaped) = (false, false);
    let bytes = line.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'/' if !quoted && matches!(bytes.get(at + 1), Some(b'/' | b'*')) => return at,
            _ => {}
        }
    }
    line.len()
}
