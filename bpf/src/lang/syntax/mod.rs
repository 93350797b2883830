//! Text → tree: the lexer, the small preprocessor, and the parser.

mod attach;
mod condition;
mod directives;
mod expressions;
mod items;
mod lexer;
mod parser;
mod print;
mod statements;
mod token;
mod types;

#[cfg(test)]
mod tests;

use bathyscope_plan::{Diagnostic, Span};

use super::{
    ast::{AttachText, Item, Script},
    limits::{MAX_DIAGNOSTICS, MAX_SCRIPT_BYTES},
};

pub(super) use attach::with_parameters;
pub use attach::{PROVIDERS, Provider, provider};
pub use print::print;
pub(super) use statements::without_value;
pub(super) use token::number;

/// The tree of a script.
///
/// # Errors
/// Everything that is wrong with it, at most [`MAX_DIAGNOSTICS`], in the order of the text.
pub fn parse(text: &str) -> Result<Script, Vec<Diagnostic>> {
    parse_counted(text).0
}

/// As [`parse()`], with how much work it was.
fn parse_counted(text: &str) -> (Result<Script, Vec<Diagnostic>>, u64) {
    if text.len() > MAX_SCRIPT_BYTES {
        let message = format!("the script has {} bytes, and at most {MAX_SCRIPT_BYTES} are accepted", text.len());
        let trouble = Diagnostic::error(Span { start: 0, end: 0 }, message);
        return (Err(vec![trouble.hint("write it as several scripts, or use wildcards and macros")]), 0);
    }
    let mut parser = parser::Parser::new(lexer::Lexer::new(text));
    let script = parser.script();
    let mut errors = parser.errors;
    errors.append(&mut parser.lexer.errors);
    if errors.is_empty() {
        return (Ok(script), parser.lexer.steps);
    }
    errors.sort_by_key(|it| (it.start, it.end));
    errors.dedup();
    errors.truncate(MAX_DIAGNOSTICS);
    (Err(errors), parser.lexer.steps)
}

/// One attach point alone, as `bathyscope trace -l` takes it.
///
/// # Errors
/// If it is none, or something follows it.
pub fn attach_text(text: &str) -> Result<AttachText, Diagnostic> {
    if text.len() > MAX_SCRIPT_BYTES {
        return Err(Diagnostic::error(Span::default(), "this is too long for an attach point"));
    }
    let blanks = text.len() - text.trim_start().len();
    let (point, end) = attach::point(text, blanks, None).map_err(|it| *it)?;
    if text.get(end..).is_none_or(|rest| rest.trim().is_empty()) {
        return Ok(point);
    }
    Err(Diagnostic::error(lexer::span(end, text.len()), "something follows the attach point")
        .hint("put quotes around parts with commas, blanks or braces"))
}

/// The text of a C definition of a script, ready for `catalog`'s `Types::define`: lines of the preprocessor within it are
/// blank. It is as long as its span, so that places in it are places in the script.
pub fn definition_text(script: &Script, text: &str, span: Span) -> String {
    let bytes = text.as_bytes().get(span.start as usize..span.end as usize).unwrap_or_default();
    let mut bytes = bytes.to_vec();
    for skipped in script.skipped.iter().filter(|it| it.start < span.end && it.end > span.start) {
        let from = skipped.start.saturating_sub(span.start) as usize;
        let to = (skipped.end - span.start) as usize;
        for byte in bytes.iter_mut().take(to).skip(from).filter(|it| **it != b'\n') {
            *byte = b' ';
        }
    }
    // Before a probe its end may be left out, which the reader of C does not know.
    if bytes.last() != Some(&b';') {
        bytes.push(b';');
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// The attach points of a script, in the order of the text.
pub fn points(script: &Script) -> impl Iterator<Item = &AttachText> {
    script.items.iter().flat_map(|item| match item {
        Item::Probe(probe) => probe.points.as_slice(),
        _ => &[],
    })
}

/// The attach points in user space (`uprobe`, `uretprobe`, `usdt`), which whoever knows the files must resolve before the
/// script is checked. Of an expanded script, so that positional parameters are in place.
pub fn user_points(script: &Script) -> Vec<AttachText> {
    let probes = script.items.iter().filter_map(|item| match item {
        Item::Probe(probe) => Some(probe),
        _ => None,
    });
    let user = |point: &&AttachText| {
        point.parts.first().is_some_and(|it| matches!(it.text.as_str(), "uprobe" | "uretprobe" | "usdt"))
    };
    probes.flat_map(|probe| probe.points.iter().filter(user).cloned()).collect()
}
