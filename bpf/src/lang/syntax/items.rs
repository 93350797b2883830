//! The parts of a script: definitions, settings, macros, declarations of maps, probes.

use bathyscope_plan::{Diagnostic, Span};

use super::{
    super::{
        ast::{AttachText, Define, Item, Macro, MacroParameter, MapDeclaration, Name, Probe, Script, Setting},
        limits::MAX_POINTS,
        suggest,
    },
    attach,
    directives::RawDefine,
    lexer::{Lexer, span},
    parser::{Parsed, Parser, Reported},
    statements::without_value,
    token::Token,
};

/// Words with which a part of a script may begin, beside kinds of probes.
const BEGINNINGS: [&str; 8] = ["config", "enum", "import", "let", "macro", "struct", "typedef", "union"];

impl Parser<'_> {
    /// A whole script.
    pub(super) fn script(&mut self) -> Script {
        let mut script = Script::default();
        while !self.is_end() && !self.is_full() {
            let start = self.span().start;
            if self.item(&mut script).is_err() {
                self.recover_item(start);
            }
        }
        if let Some(directives) = self.lexer.directives.take() {
            directives.finish(&mut self.lexer.errors);
            script.defines = directives.defines.into_iter().map(|it| define(self.lexer.text, it)).collect();
            script.skipped = directives.skipped;
            script.warnings = directives.warnings;
        }
        script
    }

    fn item(&mut self, script: &mut Script) -> Parsed<()> {
        match self.peek(0).token {
            Token::Mark(";") => {
                self.take();
            }
            Token::Word("struct" | "union" | "enum" | "typedef") => {
                let definition = self.definition()?;
                script.definitions.push(definition);
            }
            Token::Word("config") => self.config(script)?,
            Token::Word("import") => {
                let import = self.import()?;
                script.imports.push(import);
            }
            Token::Word("macro") => {
                let item = self.macro_definition()?;
                script.items.push(Item::Macro(item));
            }
            Token::Word("let") => {
                let item = self.map_declaration()?;
                script.items.push(Item::Map(item));
            }
            Token::Word(_) | Token::Positional(_) | Token::Mark("*") => {
                let probe = self.probe()?;
                script.items.push(Item::Probe(probe));
            }
            _ => return Err(self.no_item()),
        }
        Ok(())
    }

    fn no_item(&mut self) -> Reported {
        let hint = match self.peek(0).token {
            Token::Variable(_) | Token::Map(_) => "statements stand in a probe: begin { … }",
            Token::Mark("/") => "a predicate stands after an attach point: kprobe:name /predicate/ { … }",
            Token::Mark("{") => "a probe begins with where it is attached: begin { … }",
            _ => "",
        };
        self.unexpected_but("a probe, a macro or a definition", hint.to_owned())
    }

    /// Goes on after a mistake in a part that began at `start`: after its braces, or where another part seems to begin.
    fn recover_item(&mut self, start: u32) {
        let mut depth = 0_usize;
        loop {
            let place = self.span().start;
            match self.peek(0).token.clone() {
                Token::End => return,
                Token::Mark("{") => depth += 1,
                Token::Mark("}") if depth <= 1 => {
                    self.take();
                    return;
                }
                Token::Mark("}") => depth -= 1,
                Token::Mark(";") if depth == 0 => {
                    self.take();
                    return;
                }
                Token::Word(word) if depth == 0 && place > start && self.begins_item(word, place) => return,
                _ => {}
            }
            self.take();
        }
    }

    fn begins_item(&self, word: &str, place: u32) -> bool {
        let before = self.lexer.text.get(..place as usize).unwrap_or_default();
        (before.is_empty() || before.ends_with('\n'))
            && (BEGINNINGS.contains(&word) || attach::provider(word).is_some())
    }

    /// A definition of a C type. Only where it ends is of interest here.
    fn definition(&mut self) -> Parsed<Span> {
        let first = self.take();
        let start = first.span.start;
        let is_typedef = first.token == Token::Word("typedef");
        let mut braces_seen = false;
        loop {
            match self.peek(0).token {
                Token::Mark("{") => {
                    self.balanced("{", "}")?;
                    braces_seen = true;
                }
                Token::Mark(";") => {
                    self.take();
                    return Ok(self.since(start));
                }
                Token::Word(word) if word.starts_with("__attribute") => {
                    self.take();
                    self.balanced("(", ")")?;
                }
                _ if braces_seen && !is_typedef => return Ok(self.since(start)),
                Token::End | Token::Mark("}") => {
                    let what = if is_typedef { "`;` after a `typedef`" } else { "`{` or `;` in a definition" };
                    return Err(self.unexpected(what));
                }
                Token::Mark(":" | "/" | "=") | Token::Bad(_) => return Err(self.unexpected("a C definition")),
                _ => {
                    self.take();
                }
            }
        }
    }

    /// Goes past what stands in brackets.
    fn balanced(&mut self, open: &str, close: &str) -> Parsed<()> {
        let place = self.expect(open, "in a definition")?;
        let mut depth = 1_usize;
        while depth > 0 {
            let next = self.take();
            match next.token {
                Token::Mark(mark) if mark == open => depth += 1,
                Token::Mark(mark) if mark == close => depth -= 1,
                Token::End => {
                    let message = format!("the `{open}` of this definition is never closed");
                    return Err(self.report(Diagnostic::error(place, message)));
                }
                Token::Bad(trouble) => return Err(self.report(*trouble)),
                _ => {}
            }
        }
        Ok(())
    }

    fn config(&mut self, script: &mut Script) -> Parsed<()> {
        self.take();
        self.expect("=", "after `config`")?;
        self.expect("{", "after `config =`")?;
        while !self.take_mark("}") {
            if self.take_mark(";") || self.take_mark(",") {
                continue;
            }
            match self.setting() {
                Ok(setting) => script.config.push(setting),
                Err(_) if self.is_full() || self.is_end() => return Err(Reported),
                Err(_) => self.recover(),
            }
        }
        self.take_mark(";");
        Ok(())
    }

    fn setting(&mut self) -> Parsed<Setting> {
        let name = self.name("a setting's name")?;
        self.expect("=", "after a setting's name")?;
        let value = self.expression()?.of;
        if !self.is_mark(0, ";") && !self.is_mark(0, ",") && !self.is_mark(0, "}") {
            return Err(self.unexpected("`;` or `,` after a setting"));
        }
        Ok(Setting { name, value })
    }

    fn import(&mut self) -> Parsed<Name> {
        self.take();
        let next = self.peek(0).clone();
        let Token::Text(text) = next.token else { return Err(self.unexpected("a text after `import`")) };
        self.take();
        self.expect(";", "after an import")?;
        Ok(Name { text: String::from_utf8_lossy(&text).into_owned(), span: next.span })
    }

    fn macro_definition(&mut self) -> Parsed<Macro> {
        let start = self.take().span.start;
        let name = self.name("the macro's name")?;
        self.expect("(", "after the macro's name")?;
        let mut parameters = Vec::new();
        while !self.take_mark(")") {
            let next = self.peek(0).clone();
            let named = |text: &str| Name { text: text.to_owned(), span: next.span };
            parameters.push(match next.token {
                Token::Variable(text) => MacroParameter::Variable(named(text)),
                Token::Map(text) if !text.is_empty() => MacroParameter::Map(named(text)),
                _ => MacroParameter::Expression(self.name("a parameter: `name`, `$name` or `@name`")?),
            });
            if !matches!(parameters.last(), Some(MacroParameter::Expression(_))) {
                self.take();
            }
            if !self.take_mark(",") && !self.is_mark(0, ")") {
                return Err(self.unexpected("`,` or `)` after a parameter"));
            }
        }
        let body = self.block()?.of;
        Ok(Macro { name, parameters, body, span: self.since(start) })
    }

    fn map_declaration(&mut self) -> Parsed<MapDeclaration> {
        let start = self.take().span.start;
        let next = self.peek(0).clone();
        let Token::Map(name) = next.token else {
            let hint = match next.token {
                Token::Variable(_) => "variables are declared in probes",
                _ => "maps are declared as `let @name = lruhash(1000);`",
            };
            return Err(self.unexpected_but("a map after `let`", hint.to_owned()));
        };
        let map = Name { text: name.to_owned(), span: self.take().span };
        self.expect("=", "after the map's name")?;
        let kind = self.name("a kind of map such as `lruhash`")?;
        self.expect("(", "after the kind of map")?;
        let entries = self.expression()?.of;
        self.expect(")", "after the number of entries")?;
        let span = self.since(start);
        if !self.take_mark(";") {
            return Err(self.unexpected("`;` after the declaration of a map"));
        }
        Ok(MapDeclaration { map, kind, entries, span })
    }

    fn probe(&mut self) -> Parsed<Probe> {
        let start = self.span();
        self.refuse_statement(start)?;
        let points = self.attach_points(start)?;
        let mut predicate = None;
        if self.is_mark(0, "/") {
            self.take();
            self.in_predicate = true;
            let condition = self.expression().map(|it| it.of);
            let ended = condition.is_err() || self.ends_predicate();
            self.in_predicate = false;
            predicate = Some(condition?);
            if !ended {
                return Err(self.unexpected("the `/` at the end of the predicate, before `{`"));
            }
            self.take();
        }
        if !self.is_mark(0, "{") {
            let expected = if predicate.is_some() { "`{` after the predicate" } else { "`{`, `,` or `/predicate/`" };
            return Err(self.unexpected(&format!("{expected} after the attach point")));
        }
        let mut body = self.block()?.of;
        without_value(&mut body);
        Ok(Probe { points, predicate, body, span: self.since(start.start) })
    }

    /// A statement outside of a probe is a frequent mistake.
    fn refuse_statement(&mut self, first: Span) -> Parsed<()> {
        let Token::Word(word) = self.peek(0).token else { return Ok(()) };
        if attach::provider(word).is_some() {
            return Ok(());
        }
        let rest = self.lexer.text.get(first.end as usize..).unwrap_or_default();
        let next = rest.trim_start_matches([' ', '\t']).bytes().next();
        let trouble = match (word, next) {
            ("fn", _) => Diagnostic::error(first, "functions are not supported").hint("write a `macro`"),
            ("if" | "for" | "while" | "unroll" | "return" | "break" | "continue" | "else", _)
            | (_, Some(b'(' | b'=')) => Diagnostic::error(first, format!("`{word}` outside of a probe"))
                .hint("statements stand in a probe: begin { … }"),
            _ if next != Some(b':') => match suggest(word, BEGINNINGS) {
                Some(near) if suggest(word, attach::spellings()).is_none() => {
                    Diagnostic::error(first, format!("expected a probe, a macro or a definition, found `{word}`"))
                        .hint(format!("did you mean `{near}`?"))
                }
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        Err(self.report(trouble))
    }

    fn attach_points(&mut self, start: Span) -> Parsed<Vec<AttachText>> {
        self.go_to(start.start as usize);
        let mut points = Vec::new();
        loop {
            self.points += 1;
            if self.points > MAX_POINTS {
                let at = self.lexer.at;
                let message = format!("a script has at most {MAX_POINTS} attach points");
                let trouble = Diagnostic::error(span(at, at + 1), message).hint("a wildcard counts as one");
                return Err(self.report(trouble));
            }
            let at = self.lexer.at;
            match attach::point(self.lexer.text, at, None) {
                Ok((point, end)) => {
                    self.lexer.steps += (end - at) as u64;
                    self.go_to(end);
                    self.last_end = span(end, end).end;
                    points.push(point);
                }
                Err(trouble) => {
                    // What follows is read as usual, from the end of the line's first word on.
                    self.go_to(at);
                    return Err(self.report(*trouble));
                }
            }
            if !self.take_mark(",") {
                return Ok(points);
            }
            if self.is_mark(0, "{") || self.is_mark(0, "/") {
                return Ok(points);
            }
            let next = self.span().start;
            self.go_to(next as usize);
        }
    }
}

/// A `#define` with its value, if that is an expression.
fn define(text: &str, raw: RawDefine) -> Define {
    let value = raw.value.and_then(|part| {
        let mut parser = Parser::new(Lexer::of_part(text, part));
        let value = parser.expression().ok()?;
        (parser.is_end() && parser.errors.is_empty()).then_some(value.of)
    });
    Define { name: raw.name, value }
}
