//! Attach points: the kinds there are, and how the text of one is split.
//!
//! They are not made of the language's tokens: a path may contain nearly anything. A part ends at a colon, the whole at a
//! blank, a comma, a brace, or (but for paths) the `/` of a predicate. `"…"` and `\` take away a character's meaning.

use bathyscope_plan::{Diagnostic, Span};

use super::{
    super::{
        ast::{AttachText, Name},
        limits::MAX_POINT_BYTES,
    },
    lexer::span,
    token,
};

/// A kind of attach point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its present name.
    pub name: &'static str,
    /// Its short name; empty if it has none.
    pub short: &'static str,
    /// Other names it has or had.
    pub others: &'static [&'static str],
    /// How its attach points are written.
    pub form: &'static str,
}

const fn kind(
    name: &'static str,
    short: &'static str,
    others: &'static [&'static str],
    form: &'static str,
) -> Provider {
    Provider { name, short, others, form }
}

/// Every kind of attach point.
pub const PROVIDERS: &[Provider] = &[
    kind("begin", "", &["BEGIN"], "begin"),
    kind("end", "", &["END"], "end"),
    kind("self", "", &[], "self:signal:SIGNAL"),
    kind("tracepoint", "t", &[], "tracepoint:SUBSYSTEM:EVENT"),
    kind("rawtracepoint", "rt", &[], "rawtracepoint:[MODULE:]EVENT"),
    kind("kprobe", "k", &[], "kprobe:[MODULE:]FUNCTION[+OFFSET]"),
    kind("kretprobe", "kr", &[], "kretprobe:[MODULE:]FUNCTION"),
    kind("fentry", "f", &["kfunc"], "fentry:[MODULE:]FUNCTION"),
    kind("fexit", "fr", &["kretfunc"], "fexit:[MODULE:]FUNCTION"),
    kind("uprobe", "u", &[], "uprobe:FILE:FUNCTION[+OFFSET]"),
    kind("uretprobe", "ur", &[], "uretprobe:FILE:FUNCTION"),
    kind("usdt", "U", &[], "usdt:FILE:[PROVIDER:]NAME"),
    kind("profile", "p", &[], "profile:hz:99"),
    kind("interval", "i", &[], "interval:s:1"),
    kind("software", "s", &[], "software:EVENT[:COUNT]"),
    kind("hardware", "h", &[], "hardware:EVENT[:COUNT]"),
    kind("watchpoint", "w", &["asyncwatchpoint", "aw"], "watchpoint:ADDRESS:LENGTH:rwx"),
    kind("iter", "it", &[], "iter:task"),
];

/// The kind of attach point that `word` names in any spelling.
pub fn provider(word: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|it| it.name == word || (!word.is_empty() && it.short == word) || it.others.contains(&word))
}

/// All spellings of all kinds, for suggestions.
pub(super) fn spellings() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().map(|it| it.name).chain(PROVIDERS.iter().flat_map(|it| it.others).copied())
}

/// Reads one attach point.
struct AttachPointParser<'a> {
    text: &'a str,
    at: usize,
    start: usize,
    /// The values of positional parameters, if they are to be put in.
    params: Option<&'a [String]>,
    parts: Vec<Name>,
    part: String,
    part_at: usize,
    replaced: bool,
}

/// The attach point that begins at `start` of `text`, and the first byte after it. With `params`, `$1` and so on are
/// replaced by them.
///
/// # Errors
/// What is wrong with it.
pub(super) fn point(
    text: &str,
    start: usize,
    params: Option<&[String]>,
) -> Result<(AttachText, usize), Box<Diagnostic>> {
    let (parts, part) = (Vec::new(), String::new());
    let mut reader = AttachPointParser { text, at: start, start, params, parts, part, part_at: start, replaced: false };
    reader.read()?;
    reader.finish()
}

impl AttachPointParser<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn error<T>(&self, from: usize, message: impl Into<String>) -> Result<T, Box<Diagnostic>> {
        Err(Box::new(Diagnostic::error(span(from, self.at.max(from)), message)))
    }

    fn read(&mut self) -> Result<(), Box<Diagnostic>> {
        while let Some(byte) = self.byte() {
            if self.at - self.start > MAX_POINT_BYTES || self.part.len() > MAX_POINT_BYTES {
                return self.error(self.start, format!("an attach point has at most {MAX_POINT_BYTES} bytes"));
            }
            match byte {
                b'"' => self.quoted()?,
                b'\\' => self.escaped()?,
                b':' => {
                    self.end_part();
                    self.at += 1;
                    self.skip_blanks();
                    self.part_at = self.at;
                }
                b' ' | b'\t' if self.colon_follows() => self.skip_blanks(),
                b',' | b'{' | b'}' | b';' => break,
                byte if byte.is_ascii_whitespace() => break,
                b'/' if !self.is_path() => break,
                b'$' => self.parameter()?,
                _ => self.character(),
            }
        }
        self.end_part();
        Ok(())
    }

    fn character(&mut self) {
        if let Some(character) = self.text.get(self.at..).and_then(|it| it.chars().next()) {
            self.part.push(character);
            self.at += character.len_utf8();
        } else {
            self.at += 1;
        }
    }

    fn quoted(&mut self) -> Result<(), Box<Diagnostic>> {
        match token::text(self.text.as_bytes(), self.at) {
            Ok((value, end)) => {
                let from = std::mem::replace(&mut self.at, end);
                let Ok(value) = String::from_utf8(value) else {
                    return self.error(from, "the text in quotes is not UTF-8, as names and paths of probes must be");
                };
                self.part.push_str(&value);
                Ok(())
            }
            Err((place, message, end)) => {
                self.at = end;
                self.error(place, message)
            }
        }
    }

    fn escaped(&mut self) -> Result<(), Box<Diagnostic>> {
        self.at += 1;
        match self.byte() {
            None | Some(b'\n') => self.error(self.at - 1, "a `\\` must be followed by the character that it protects"),
            Some(_) => {
                self.character();
                Ok(())
            }
        }
    }

    fn parameter(&mut self) -> Result<(), Box<Diagnostic>> {
        let from = self.at;
        let digits = self.text.as_bytes().iter().skip(from + 1).take_while(|it| it.is_ascii_digit()).count();
        let (Some(params), true) = (self.params, digits > 0) else {
            self.character();
            return Ok(());
        };
        self.at = from + 1 + digits;
        let number: usize = self.text.get(from + 1..self.at).and_then(|it| it.parse().ok()).unwrap_or(0);
        let Some(value) = number.checked_sub(1).and_then(|index| params.get(index)) else {
            return self.error(from, format!("the attach point needs parameter {number}, which was not given"));
        };
        self.part.push_str(value);
        self.replaced = true;
        Ok(())
    }

    fn colon_follows(&self) -> bool {
        let mut rest = self.text.as_bytes().iter().skip(self.at);
        rest.find(|it| !matches!(it, b' ' | b'\t')) == Some(&b':')
    }

    fn skip_blanks(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// Whether the part that is being read is a path, in which a `/` is an ordinary character.
    fn is_path(&self) -> bool {
        match (self.parts.first().map(|it| it.text.as_str()), self.parts.len()) {
            (Some("uprobe" | "uretprobe" | "usdt"), 1) => true,
            (Some("iter"), 2) => self.part.is_empty() || self.part.starts_with('/'),
            _ => false,
        }
    }

    fn end_part(&mut self) {
        let mut text = std::mem::take(&mut self.part);
        if self.parts.is_empty()
            && let Some(provider) = provider(&text)
        {
            provider.name.clone_into(&mut text);
        }
        self.parts.push(Name { text, span: span(self.part_at, self.at) });
    }

    fn finish(self) -> Result<(AttachText, usize), Box<Diagnostic>> {
        let Self { text, at, start, parts, replaced, .. } = self;
        // Blanks after a last colon are not part of it.
        let written = text.get(start..at).unwrap_or_default().trim_end();
        let whole = span(start, start + written.len());
        let Some(first) = parts.first() else {
            return Err(Box::new(Diagnostic::error(whole, "expected an attach point")));
        };
        check_provider(first)?;
        let text = if replaced { joined(&parts) } else { written.to_owned() };
        Ok((AttachText { parts, text, span: whole }, at))
    }
}

fn check_provider(first: &Name) -> Result<(), Box<Diagnostic>> {
    let word = first.text.as_str();
    if provider(word).is_some() || word.contains(['*', '?', '$']) {
        return Ok(());
    }
    let error = |message: String| Diagnostic::error(first.span, message);
    Err(Box::new(match word {
        "" => error("expected a kind of probe such as `tracepoint`".to_owned()),
        "test" | "bench" => error(format!("`{word}` probes are for bpftrace's own tests")),
        _ => {
            let trouble = error(format!("`{word}` is no kind of probe"));
            match super::super::suggest(word, spellings()).and_then(|it| provider(&it)) {
                Some(near) => trouble.hint(format!("did you mean `{}`?", near.form)),
                None => trouble.hint(format!("there are {}", names())),
            }
        }
    }))
}

fn names() -> String {
    PROVIDERS.iter().map(|it| it.name).collect::<Vec<_>>().join(", ")
}

/// Parts as one text that is split into them again.
fn joined(parts: &[Name]) -> String {
    let first = parts.first().map_or("", |it| it.text.as_str());
    let quoted = |(index, part): (usize, &Name)| {
        let path = index == 1 && matches!(first, "uprobe" | "uretprobe" | "usdt");
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.+*@!?".contains(&byte) || (path && byte == b'/');
        if part.text.bytes().all(plain) { part.text.clone() } else { super::print::quoted(part.text.as_bytes()) }
    };
    parts.iter().enumerate().map(quoted).collect::<Vec<_>>().join(":")
}

/// `point` with positional parameters put in.
///
/// # Errors
/// If one was not given, or the result is no attach point.
pub(in super::super) fn with_parameters(point: &AttachText, params: &[String]) -> Result<AttachText, Box<Diagnostic>> {
    let moved = |it: Span| Span { start: it.start + point.span.start, end: it.end + point.span.start };
    let placed = |mut trouble: Box<Diagnostic>| {
        let at = moved(trouble.span());
        (trouble.start, trouble.end) = (at.start, at.end);
        trouble
    };
    let whole = point.text.strip_prefix('$').and_then(|number| number.parse::<usize>().ok());
    let given = whole.and_then(|number| params.get(number.checked_sub(1)?));
    // A parameter that is the whole of it has colons of its own.
    let read = match given {
        Some(text) => self::point(text, 0, None),
        None => self::point(&point.text, 0, Some(params)),
    };
    let (mut result, _) = read.map_err(placed)?;
    result.span = point.span;
    for part in &mut result.parts {
        part.span = moved(part.span);
    }
    Ok(result)
}
