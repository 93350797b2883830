//! Clauses of a D script.

use std::collections::BTreeMap;

use bathyscope_plan::Span;

use crate::{
    expressions::Parser,
    lexer::{Dialect, TokenKind},
    refusal::{Result, join, refuse, span},
    tree::{Expr, Statement},
};

/// A probe as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Description {
    pub(super) text: String,
    pub(super) span: Span,
}

/// `probes /predicate/ { actions }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceClause {
    pub(super) descriptions: Vec<Description>,
    pub(super) predicate: Option<Expr>,
    /// None where the default action is meant.
    pub(super) body: Option<Vec<Statement>>,
}

/// A script.
#[derive(Debug, Default)]
pub(super) struct DtraceProgram {
    pub(super) clauses: Vec<SourceClause>,
    pub(super) constants: BTreeMap<String, String>,
    pub(super) quiet: bool,
}

/// Options of `#pragma D option` that have no meaning here: sizes and rates of buffers, and what is quiet here anyway.
const OPTIONS: [&str; 17] = [
    "quiet",
    "switchrate",
    "statusrate",
    "aggrate",
    "bufsize",
    "aggsize",
    "dynvarsize",
    "strsize",
    "stackframes",
    "ustackframes",
    "cleanrate",
    "defaultargs",
    "bufpolicy",
    "bufresize",
    "specsize",
    "nspec",
    "aggsortkey",
];

/// What begins a declaration.
const DECLARATIONS: [&str; 19] = [
    "self",
    "this",
    "int",
    "long",
    "char",
    "short",
    "unsigned",
    "string",
    "uint64_t",
    "int64_t",
    "uint32_t",
    "int32_t",
    "uint16_t",
    "uint8_t",
    "size_t",
    "uintptr_t",
    "pid_t",
    "struct",
    "hrtime_t",
];

/// Reads a script.
pub(super) fn program(text: &str) -> Result<DtraceProgram> {
    let mut parser = Parser::new(text, Dialect::D);
    let mut program = DtraceProgram::default();
    loop {
        parser.rewind()?;
        let rest = parser.lexer.rest();
        if rest.is_empty() {
            return Ok(program);
        }
        if rest.starts_with('#') {
            directive(&mut parser, &mut program)?;
            continue;
        }
        if rest.starts_with(';') {
            parser.take()?;
            continue;
        }
        let word = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        let behind = rest.get(word.len()..).unwrap_or_default();
        let is_declared = behind.starts_with([' ', '\t']);
        if matches!(word, "translator" | "typedef" | "provider" | "enum" | "union") && is_declared {
            let start = parser.lexer.at;
            let hint = "leave it out, and use members of the kernel's own types";
            return refuse(span(start, start + word.len()), format!("`{word}` is not translated"), hint);
        }
        if word == "inline" && is_declared {
            inline(&mut parser, &mut program)?;
        } else if DECLARATIONS.contains(&word) && is_declared {
            declaration(&mut parser)?;
        } else {
            let clause = clause(&mut parser)?;
            program.clauses.push(clause);
        }
    }
}

fn directive(parser: &mut Parser<'_>, program: &mut DtraceProgram) -> Result<()> {
    let start = parser.lexer.at;
    let line = parser.lexer.rest().lines().next().unwrap_or_default();
    let place = span(start, start + line.len());
    parser.lexer.at += line.len();
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        [first, ..] if first.starts_with("#!") => Ok(()),
        ["#pragma", "D", "option", option] => {
            let name = option.split('=').next().unwrap_or_default();
            program.quiet |= name == "quiet";
            if OPTIONS.contains(&name) {
                return Ok(());
            }
            let hint = match name {
                "flowindent" => "record a trace by function_graph, which nests calls",
                "destructive" => "leave it out: nothing that changes the system is translated",
                _ => "leave it out",
            };
            refuse(place, format!("the option `{name}` has no equal"), hint)
        }
        ["#pragma", "D", "depends_on" | "attributes", ..] | ["#ident", ..] => Ok(()),
        _ => refuse(place, "the preprocessor is not translated", "put in what the lines stand for"),
    }
}

/// `inline int NAME = value;`.
fn inline(parser: &mut Parser<'_>, program: &mut DtraceProgram) -> Result<()> {
    parser.take()?;
    let mut name = (String::new(), Span::default());
    while !parser.is("=")? {
        name = parser.expect_name("the name of a constant")?;
        while parser.accept("*")? {}
    }
    parser.take()?;
    let value = parser.expression()?;
    let text = match (&value.kind, value.number()) {
        (crate::tree::ExprKind::Text(text), _) => format!("\"{text}\""),
        (_, Some(number)) => number.to_string(),
        _ => {
            return refuse(
                value.span,
                "only numbers and texts are translated as constants",
                "put the value where it is used",
            );
        }
    };
    parser.expect(";")?;
    program.constants.insert(name.0, text);
    Ok(())
}

/// `self int x;`: types come from what is assigned.
fn declaration(parser: &mut Parser<'_>) -> Result<()> {
    while !parser.accept(";")? {
        let token = parser.take()?;
        if matches!(token.kind, TokenKind::End | TokenKind::Operator("{")) {
            return refuse(token.span, "here `;` is expected", "declare a variable as `self int name;`");
        }
    }
    Ok(())
}

fn clause(parser: &mut Parser<'_>) -> Result<SourceClause> {
    let mut descriptions = vec![description(parser)?];
    loop {
        parser.rewind()?;
        if !parser.lexer.rest().starts_with(',') {
            break;
        }
        parser.take()?;
        descriptions.push(description(parser)?);
    }
    let mut predicate = None;
    if parser.lexer.rest().starts_with('/') {
        let start = parser.take()?.span;
        parser.in_predicate = true;
        let found = parser.expression()?;
        parser.in_predicate = false;
        if !parser.is("/")? {
            return refuse(join(start, found.span), "the predicate has no end", "end it with `/`");
        }
        parser.take()?;
        predicate = Some(found);
        parser.rewind()?;
    }
    let body = if parser.lexer.rest().starts_with('{') { Some(parser.block()?) } else { None };
    Ok(SourceClause { descriptions, predicate, body })
}

fn description(parser: &mut Parser<'_>) -> Result<Description> {
    parser.rewind()?;
    let start = parser.lexer.at;
    let rest = parser.lexer.rest();
    let length = rest.find(|c: char| c.is_whitespace() || matches!(c, ',' | '/' | '{' | ';')).unwrap_or(rest.len());
    let text = rest.get(..length).unwrap_or_default();
    let bad = text.char_indices().find(|(_, c)| !c.is_ascii_alphanumeric() && !":_*?.$-[]!+@`".contains(*c));
    if let Some((at, c)) = bad {
        let place = span(start + at, start + at + c.len_utf8());
        return refuse(
            place,
            format!("`{}` is not part of a probe", c.escape_default()),
            "write `provider:module:function:name`",
        );
    }
    if text.is_empty() {
        let place = span(start, start + rest.chars().next().map_or(0, char::len_utf8));
        return refuse(place, "here a probe is expected", "write `provider:module:function:name`");
    }
    parser.lexer.at += length;
    Ok(Description { text: text.to_owned(), span: span(start, start + length) })
}
