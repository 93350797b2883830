//! Globals, functions and probes of a script.

use std::collections::BTreeMap;

use bathyscope_plan::Span;

use crate::{
    MAX_POINTS,
    expressions::Parser,
    lexer::{Dialect, TokenKind},
    refusal::{Result, refuse, span},
    tree::{ExprKind, Statement},
};

/// A global variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Global {
    pub(super) name: String,
    /// What it begins with, in the probe language.
    pub(super) value: Option<String>,
}

/// A function of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceFunction {
    pub(super) parameters: Vec<String>,
    pub(super) body: Vec<Statement>,
}

/// A part of a probe point: `function("vfs_read")`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Component {
    pub(super) name: String,
    pub(super) argument: Option<String>,
}

/// A probe point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrittenPoint {
    pub(super) components: Vec<Component>,
    pub(super) span: Span,
}

/// A probe with its statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceHandler {
    pub(super) points: Vec<WrittenPoint>,
    pub(super) body: Vec<Statement>,
}

/// A script.
#[derive(Debug, Default)]
pub(super) struct StapProgram {
    pub(super) globals: Vec<Global>,
    pub(super) functions: BTreeMap<String, SourceFunction>,
    pub(super) handlers: Vec<SourceHandler>,
}

/// Reads a script.
pub(super) fn program(text: &str) -> Result<StapProgram> {
    let mut parser = Parser::new(text, Dialect::SystemTap);
    let mut program = StapProgram::default();
    loop {
        while parser.accept(";")? {}
        let token = parser.take()?;
        match &token.kind {
            TokenKind::End => return Ok(program),
            TokenKind::Name(word) if word == "global" => globals(&mut parser, &mut program)?,
            TokenKind::Name(word) if word == "function" => function(&mut parser, &mut program)?,
            TokenKind::Name(word) if word == "probe" => {
                let points = points(&mut parser)?;
                let body = parser.block()?;
                program.handlers.push(SourceHandler { points, body });
            }
            TokenKind::Name(word) if word == "private" => {}
            TokenKind::Operator("%{" | "%(") => {
                return refuse(
                    token.span,
                    "C code and the preprocessor of SystemTap are not translated",
                    "write it as a script",
                );
            }
            _ => {
                let hint = "a script has `probe`, `global` and `function`";
                return refuse(token.span, "this begins nothing of a script", hint);
            }
        }
    }
}

fn globals(parser: &mut Parser<'_>, program: &mut StapProgram) -> Result<()> {
    loop {
        let (name, place) = parser.expect_name("the name of a variable")?;
        if name.contains(['$', '@', '`']) {
            return refuse(place, format!("`{name}` is no name of a variable"), "use letters, digits and `_`");
        }
        while parser.accept("%")? {}
        if parser.is("[")? {
            parser.list("[", "]")?;
        }
        let mut value = None;
        if parser.accept("=")? {
            let expr = parser.expression()?;
            value = match (&expr.kind, expr.number()) {
                (ExprKind::Text(text), _) => Some(format!("\"{text}\"")),
                (_, Some(number)) => Some(number.to_string()),
                _ => {
                    return refuse(
                        expr.span,
                        "a global begins with a number or a text",
                        "assign to it in `probe begin`",
                    );
                }
            };
        }
        program.globals.push(Global { name, value });
        if !parser.accept(",")? {
            return Ok(());
        }
    }
}

/// `: long` or `: string`.
fn typed(parser: &mut Parser<'_>) -> Result<()> {
    if parser.accept(":")? {
        parser.expect_name("a type")?;
    }
    Ok(())
}

fn function(parser: &mut Parser<'_>, program: &mut StapProgram) -> Result<()> {
    let (name, place) = parser.expect_name("the name of a function")?;
    typed(parser)?;
    parser.expect("(")?;
    let mut parameters = Vec::new();
    while !parser.is(")")? {
        parameters.push(parser.expect_name("the name of a parameter")?.0);
        typed(parser)?;
        if !parser.accept(",")? {
            break;
        }
    }
    parser.expect(")")?;
    typed(parser)?;
    if parser.is("%{")? {
        let span = parser.peek()?.span;
        return refuse(span, "functions in C are not translated", "write it as a script");
    }
    let body = parser.block()?;
    if program.functions.insert(name.clone(), SourceFunction { parameters, body }).is_some() {
        return refuse(place, format!("there are two functions `{name}`"), "give one of them another name");
    }
    Ok(())
}

fn points(parser: &mut Parser<'_>) -> Result<Vec<WrittenPoint>> {
    let mut all = Vec::new();
    loop {
        point(parser, &mut all)?;
        if all.len() > MAX_POINTS {
            let place = all.last().map_or_else(Span::default, |it| it.span);
            return refuse(
                place,
                format!("the script has more than {MAX_POINTS} probes"),
                "use a wildcard, or fewer probes",
            );
        }
        if !parser.accept(",")? {
            break;
        }
    }
    let token = parser.peek()?;
    match &token.kind {
        TokenKind::Operator("{") => Ok(all),
        TokenKind::Operator("=" | "+=") => {
            refuse(token.span, "aliases of probes are not translated", "write the probe itself where the alias is used")
        }
        TokenKind::Name(word) if word == "if" => {
            refuse(token.span, "a condition of a probe is not translated", "write `if (…)` in its body")
        }
        _ => refuse(token.span, "here `{` is expected", "write the statements of the probe in braces"),
    }
}

/// Reads one point, which stands for several if it has a list in braces.
fn point(parser: &mut Parser<'_>, all: &mut Vec<WrittenPoint>) -> Result<()> {
    parser.rewind()?;
    let start = parser.lexer.at;
    let mut written: Vec<Vec<Component>> = vec![Vec::new()];
    loop {
        let choices = names(parser)?;
        let argument = argument(parser)?;
        let mut longer = Vec::new();
        for before in &written {
            for name in &choices {
                let mut components = before.clone();
                components.push(Component { name: name.clone(), argument: argument.clone() });
                longer.push(components);
            }
        }
        written = longer;
        let here = span(start, parser.lexer.at);
        if written.len() > MAX_POINTS {
            return refuse(here, format!("this list stands for more than {MAX_POINTS} probes"), "write fewer");
        }
        if !parser.lexer.rest().starts_with('.') {
            break;
        }
        if written.iter().any(|it| it.len() >= 8) {
            return refuse(here, "a probe point has not so many parts", "write `kernel.function(\"NAME\")`");
        }
        parser.lexer.at += 1;
    }
    let place = span(start, parser.lexer.at);
    if parser.lexer.rest().starts_with(['?', '!']) {
        parser.lexer.at += 1;
    }
    all.extend(written.into_iter().map(|components| WrittenPoint { components, span: place }));
    Ok(())
}

/// The name of a component, or those of a list in braces.
fn names(parser: &mut Parser<'_>) -> Result<Vec<String>> {
    let (at, rest) = (parser.lexer.at, parser.lexer.rest());
    if let Some(list) = rest.strip_prefix('{') {
        let Some((inside, _)) = list.split_once('}') else {
            return refuse(span(at, at + 1), "this list has no end", "end it with `}`");
        };
        parser.lexer.at += inside.len() + 2;
        let names: Vec<String> = inside.split(',').map(|it| it.trim().to_owned()).collect();
        let plain =
            |name: &String| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_*".contains(c));
        if !names.iter().all(plain) {
            return refuse(
                span(at, parser.lexer.at),
                "this list is translated only if it has names",
                "write the probes one by one",
            );
        }
        return Ok(names);
    }
    let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_*".contains(c)).unwrap_or(rest.len());
    if length == 0 {
        let width = rest.chars().next().map_or(0, char::len_utf8);
        return refuse(
            span(at, at + width),
            "here a part of a probe point is expected",
            "write `kernel.function(\"NAME\")` or `syscall.read`",
        );
    }
    parser.lexer.at += length;
    Ok(vec![rest.get(..length).unwrap_or_default().to_owned()])
}

/// What stands in parentheses behind a component.
fn argument(parser: &mut Parser<'_>) -> Result<Option<String>> {
    if !parser.lexer.rest().starts_with('(') {
        return Ok(None);
    }
    parser.expect("(")?;
    let token = parser.take()?;
    let argument = match token.kind {
        TokenKind::Text(text) if !text.contains('\\') => text,
        TokenKind::Number(number) => number.to_string(),
        TokenKind::Name(name) => name,
        _ => return refuse(token.span, "here a name in quotes or a number is expected", "write `function(\"NAME\")`"),
    };
    parser.expect(")")?;
    Ok(Some(argument))
}
