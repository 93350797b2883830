//! Text → commands.

use std::ops::Range;

use super::{
    Expansion, ExpansionKind, Lines, MAX_WORDS, Pipeline, Redirect, RedirectKind, Simple, Word, prompt::prompt_bytes,
    refuse,
};
use crate::answer::Result;

/// Words of a shell's own language.
const LANGUAGE: [&str; 12] =
    ["for", "while", "until", "if", "case", "function", "select", "do", "done", "then", "fi", "esac"];

/// A here-document whose text follows the line.
struct Document {
    end: String,
    without_tabs: bool,
    is_quoted: bool,
    /// Of which command and redirection.
    at: (usize, usize, usize),
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    lines: Lines,
    command: Simple,
    pipeline: Pipeline,
    documents: Vec<Document>,
    words: usize,
    is_command: &'a dyn Fn(&str) -> bool,
    has_prompts: bool,
}

/// Reads a text; `is_command` says whether a word begins a command that is known.
///
/// # Errors
/// What cannot be read, with its place.
pub(crate) fn read(text: &str, is_command: &dyn Fn(&str) -> bool) -> Result<Lines> {
    let has_prompts = text.lines().any(|line| prompt_bytes(line, is_command) > 0);
    let mut reader = Reader {
        text,
        at: 0,
        lines: Lines::default(),
        command: Simple::default(),
        pipeline: Pipeline::default(),
        documents: Vec::new(),
        words: 0,
        is_command,
        has_prompts,
    };
    reader.all()?;
    Ok(reader.lines)
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn all(&mut self) -> Result<()> {
        self.begin_line();
        while let Some(one) = self.next() {
            match one {
                '\n' => self.end_line()?,
                _ if one.is_whitespace() => self.at += one.len_utf8(),
                '\\' if self.rest().starts_with("\\\n") => self.at += 2,
                '\\' if self.rest().starts_with("\\\r\n") => self.at += 3,
                '#' => self.comment(),
                ';' | '|' | '&' if !self.rest().starts_with("&>") => self.sign()?,
                '(' | ')' => {
                    return refuse(
                        self.at..self.at + 1,
                        "parentheses are for a shell, and none is started",
                        "Write the command without them, or put the word in quotes.",
                    );
                }
                _ if self.is_redirect() => self.redirect()?,
                _ => {
                    let word = self.word()?;
                    self.add(word)?;
                }
            }
        }
        self.end_line()
    }

    fn add(&mut self, word: Word) -> Result<()> {
        self.words += 1;
        if self.words > MAX_WORDS {
            return refuse(word.source, format!("there are more than {MAX_WORDS} words"), "Paste less at once.");
        }
        let first = self.command.words.is_empty() && !word.is_quoted;
        if first && (LANGUAGE.contains(&word.text.as_str()) || matches!(word.text.as_str(), "{" | "}" | "[[" | "!")) {
            return refuse(
                word.source.clone(),
                format!("`{}` belongs to the language of a shell, and none is started", word.text),
                "Write the commands one by one.",
            );
        }
        self.command.words.push(word);
        Ok(())
    }

    /// Skips a prompt, and a line without one where others have one: it is what a command has printed.
    fn begin_line(&mut self) {
        let line = self.rest().split('\n').next().unwrap_or_default();
        let bytes = prompt_bytes(line, self.is_command);
        let (at, length) = (self.at, line.len());
        if bytes > 0 {
            self.lines.comments.push(at..at + bytes);
            self.at += bytes;
        } else if self.has_prompts && !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            self.lines.comments.push(at..at + length);
            self.lines.printed += 1;
            self.at += length;
        }
    }

    fn end_line(&mut self) -> Result<()> {
        let continues = self.command == Simple::default() && !self.pipeline.commands.is_empty();
        if !continues {
            self.end_pipeline(false);
        }
        if self.next() == Some('\n') {
            self.at += 1;
        }
        for document in std::mem::take(&mut self.documents) {
            self.document(&document)?;
        }
        if !continues {
            self.begin_line();
        } else if self.at >= self.text.len() {
            self.end_pipeline(false);
        }
        Ok(())
    }

    fn end_command(&mut self) {
        let command = std::mem::take(&mut self.command);
        if command != Simple::default() {
            self.pipeline.commands.push(command);
        }
    }

    fn end_pipeline(&mut self, is_background: bool) {
        self.end_command();
        let pipeline = std::mem::take(&mut self.pipeline);
        if !pipeline.commands.is_empty() {
            self.lines.pipelines.push(Pipeline { is_background, ..pipeline });
        }
    }

    fn comment(&mut self) {
        let line = self.rest().split('\n').next().unwrap_or_default().len();
        self.lines.comments.push(self.at..self.at + line);
        self.at += line;
    }

    fn sign(&mut self) -> Result<()> {
        let sign = ["&&", "||", ";;", "|&", ";", "|", "&"].into_iter().find(|sign| self.rest().starts_with(sign));
        let sign = sign.unwrap_or(";");
        let place = self.at..self.at + sign.len();
        self.at += sign.len();
        match sign {
            "|" | "|&" if self.command == Simple::default() => {
                return refuse(place, "a pipe begins without a command", "Write the command before it.");
            }
            "|" | "|&" => self.end_command(),
            "||" => {
                return refuse(
                    place,
                    "what follows `||` runs only if the command before it fails, which a shell decides",
                    "Write the commands one by one.",
                );
            }
            sign => self.end_pipeline(sign == "&"),
        }
        self.lines.signs.push(place);
        Ok(())
    }

    fn is_redirect(&self) -> bool {
        let rest = self.rest().trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = self.rest().len() - rest.len();
        (digits <= 1 && rest.starts_with(['<', '>']) || self.rest().starts_with("&>")) && !rest.starts_with("<(")
    }

    fn redirect(&mut self) -> Result<()> {
        let begin = self.at;
        let is_error = self.rest().starts_with('2') || self.rest().starts_with('&');
        self.at += usize::from(self.rest().starts_with(|c: char| c.is_ascii_digit()));
        let signs = ["&>>", "&>", "<<<", "<<-", "<<", "<>", "<", ">>", ">|", ">&", ">"];
        let sign = signs.into_iter().find(|sign| self.rest().starts_with(sign)).unwrap_or(">");
        self.at += sign.len();
        while self.next().is_some_and(|c| c == ' ' || c == '\t') {
            self.at += 1;
        }
        if self.next().is_none_or(|c| c == '\n' || ";|&".contains(c)) {
            return refuse(begin..self.at, format!("no file follows `{sign}`"), "Write it behind the sign.");
        }
        let word = self.word()?;
        let kind = match sign {
            "<" | "<>" => RedirectKind::In,
            ">>" | "&>>" => RedirectKind::Append,
            ">&" => RedirectKind::Copy,
            "<<<" | "<<" | "<<-" => RedirectKind::Text,
            _ => RedirectKind::Out,
        };
        if matches!(sign, "<<" | "<<-") {
            let at = (self.lines.pipelines.len(), self.pipeline.commands.len(), self.command.redirects.len());
            let (end, is_quoted) = (word.text.clone(), word.is_quoted);
            self.documents.push(Document { end, without_tabs: sign == "<<-", is_quoted, at });
        }
        let source = begin..self.at;
        self.command.redirects.push(Redirect { kind, is_error, word, source });
        Ok(())
    }

    /// The lines of a here-document, which begin here.
    fn document(&mut self, document: &Document) -> Result<()> {
        let begin = self.at;
        let mut word = Word { source: begin..begin, is_quoted: true, ..Word::default() };
        loop {
            let line = self.rest().split('\n').next().unwrap_or_default().to_owned();
            let shown = if document.without_tabs { line.trim_start_matches('\t') } else { line.as_str() };
            if self.at >= self.text.len() {
                let why = format!("the text behind `<<` has no line `{}` at its end", document.end);
                return refuse(begin..self.at, why, "Write it after the last line.");
            }
            if shown.trim_end_matches('\r') == document.end {
                word.source.end = self.at;
                self.lines.signs.push(self.at..self.at + line.len());
                self.at = (self.at + line.len() + 1).min(self.text.len());
                break;
            }
            let cut = line.len() - shown.len();
            for (at, one) in shown.char_indices() {
                let place = self.at + cut + at;
                if !document.is_quoted && (one == '`' || one == '$' && expands(shown.get(at + 1..).unwrap_or_default()))
                {
                    let name =
                        shown.get(at + 1..).unwrap_or_default().split(|c: char| !c.is_alphanumeric() && c != '_');
                    let kind = ExpansionKind::Variable(name.clone().next().unwrap_or_default().to_owned());
                    word.expansions.push(Expansion { at: word.text.len(), source: place..place + 1, kind });
                }
                word.push(one, place);
            }
            word.push('\n', (self.at + line.len()).min(self.text.len()));
            self.at = (self.at + line.len() + 1).min(self.text.len());
        }
        let (pipeline, command, redirect) = document.at;
        let found = self.lines.pipelines.get_mut(pipeline).unwrap_or(&mut self.pipeline);
        let found = found.commands.get_mut(command).unwrap_or(&mut self.command);
        if let Some(one) = found.redirects.get_mut(redirect) {
            one.word = word;
        }
        Ok(())
    }

    /// One word.
    fn word(&mut self) -> Result<Word> {
        let begin = self.at;
        let mut word = Word { source: begin..begin, ..Word::default() };
        while let Some(one) = self.next() {
            let at = self.at;
            match one {
                '<' if self.rest().starts_with("<(") => {
                    let inner = self.parenthesis("<(")?;
                    word.expansions.push(Expansion {
                        at: word.text.len(),
                        source: inner,
                        kind: ExpansionKind::Process,
                    });
                }
                _ if one.is_whitespace() || ";|&<>()".contains(one) => break,
                '\\' => {
                    self.at += 1;
                    match self.next() {
                        Some('\n') => self.at += 1,
                        Some(next) => {
                            word.push(next, at);
                            word.is_quoted = true;
                            self.at += next.len_utf8();
                        }
                        None => return refuse(at..at + 1, "nothing follows the backslash", "Remove it."),
                    }
                }
                '\'' => self.single(&mut word)?,
                '"' => self.double(&mut word)?,
                '$' => self.dollar(&mut word, false)?,
                '`' => self.backtick(&mut word)?,
                _ => {
                    self.plain(&mut word, one);
                    self.at += one.len_utf8();
                }
            }
        }
        word.source.end = self.at;
        Ok(word)
    }

    /// A character without quotes, and what a shell would make of it.
    fn plain(&self, word: &mut Word, one: char) {
        let rest = self.rest();
        let kind = match one {
            '*' | '?' => Some(ExpansionKind::Glob),
            '[' if rest
                .find(']')
                .is_some_and(|end| end > 1 && !rest.get(..end).unwrap_or_default().contains(char::is_whitespace)) =>
            {
                Some(ExpansionKind::Glob)
            }
            '{' if makes_words(rest) => Some(ExpansionKind::Braces),
            '~' if word.text.is_empty() && !word.is_quoted => Some(ExpansionKind::Home),
            _ => None,
        };
        if let Some(kind) = kind {
            let source = self.at..self.at + one.len_utf8();
            word.expansions.push(Expansion { at: word.text.len(), source, kind });
        }
        word.push(one, self.at);
    }

    fn single(&mut self, word: &mut Word) -> Result<()> {
        let begin = self.at;
        word.is_quoted = true;
        let inner = self.text.get(begin + 1..).unwrap_or_default();
        let Some(end) = inner.find('\'') else {
            return refuse(begin..begin + 1, "the quote (') has no end", "Write the second one.");
        };
        for (at, one) in inner.char_indices().take_while(|(at, _)| *at < end) {
            word.push(one, begin + 1 + at);
        }
        self.at = begin + end + 2;
        Ok(())
    }

    fn double(&mut self, word: &mut Word) -> Result<()> {
        let begin = self.at;
        word.is_quoted = true;
        self.at += 1;
        loop {
            let at = self.at;
            match self.next() {
                None => return refuse(begin..begin + 1, "the quote (\") has no end", "Write the second one."),
                Some('"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('\\') => {
                    let next = self.text.get(at + 1..).and_then(|rest| rest.chars().next());
                    match next {
                        Some(next @ ('"' | '\\' | '$' | '`')) => {
                            word.push(next, at);
                            self.at += 2;
                        }
                        Some('\n') => self.at += 2,
                        _ => {
                            word.push('\\', at);
                            self.at += 1;
                        }
                    }
                }
                Some('$') => self.dollar(word, true)?,
                Some('`') => self.backtick(word)?,
                Some(one) => {
                    word.push(one, at);
                    self.at += one.len_utf8();
                }
            }
        }
    }

    /// `$` and what follows it.
    fn dollar(&mut self, word: &mut Word, in_quotes: bool) -> Result<()> {
        let at = self.at;
        let rest = self.text.get(at + 1..).unwrap_or_default();
        let (kind, end) = if rest.starts_with("((") {
            let inner = self.parenthesis("$(")?;
            (ExpansionKind::Arithmetic, inner.end)
        } else if rest.starts_with('(') {
            let inner = self.parenthesis("$(")?;
            let text = self.text.get(inner.start + 2..inner.end.saturating_sub(1)).unwrap_or_default();
            (ExpansionKind::Command(text.trim().to_owned()), inner.end)
        } else if let Some(inner) = rest.strip_prefix('{') {
            let Some(end) = inner.find('}') else {
                return refuse(at..at + 2, "the brace behind `$` has no end", "Write `}` behind the name.");
            };
            (ExpansionKind::Variable(inner.get(..end).unwrap_or_default().to_owned()), at + 3 + end)
        } else if rest.starts_with('\'') && !in_quotes {
            self.at += 1;
            return self.escaped(word);
        } else if rest.starts_with('"') && !in_quotes {
            self.at += 1;
            return self.double(word);
        } else if expands(rest) {
            let first = rest.chars().next().map_or(0, char::len_utf8);
            let is_name = rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = if is_name { rest.find(|c| !in_name(c)).unwrap_or(rest.len()) } else { first };
            (ExpansionKind::Variable(rest.get(..end).unwrap_or_default().to_owned()), at + 1 + end)
        } else {
            word.push('$', at);
            self.at += 1;
            return Ok(());
        };
        word.expansions.push(Expansion { at: word.text.len(), source: at..end, kind });
        self.at = end;
        Ok(())
    }

    /// `$'…'`
    fn escaped(&mut self, word: &mut Word) -> Result<()> {
        let begin = self.at;
        word.is_quoted = true;
        self.at += 1;
        loop {
            let at = self.at;
            let Some(one) = self.next() else {
                return refuse(begin..begin + 1, "the quote (') has no end", "Write the second one.");
            };
            self.at += one.len_utf8();
            match one {
                '\'' => return Ok(()),
                '\\' => {
                    let next = self.next().unwrap_or('\\');
                    self.at += next.len_utf8();
                    let read = match next {
                        'n' => '\n',
                        't' => '\t',
                        '\\' | '\'' | '"' => next,
                        _ => {
                            let why = format!("`\\{next}` in `$'…'` is not understood");
                            return refuse(at..self.at.min(self.text.len()), why, "Write the character itself.");
                        }
                    };
                    word.push(read, at);
                }
                one => word.push(one, at),
            }
        }
    }

    fn backtick(&mut self, word: &mut Word) -> Result<()> {
        let at = self.at;
        let inner = self.text.get(at + 1..).unwrap_or_default();
        let Some(end) = inner.find('`') else {
            return refuse(
                at..at + 1,
                "the backtick has no end",
                "Write the second one, or put the word in single quotes.",
            );
        };
        let kind = ExpansionKind::Command(inner.get(..end).unwrap_or_default().trim().to_owned());
        self.at = at + end + 2;
        word.expansions.push(Expansion { at: word.text.len(), source: at..self.at, kind });
        Ok(())
    }

    /// Behind what begins here and ends in its parenthesis.
    fn parenthesis(&mut self, begin: &str) -> Result<Range<usize>> {
        let at = self.at;
        let mut depth = 0_usize;
        for (offset, one) in self.rest().char_indices() {
            match one {
                '(' => depth += 1,
                ')' if depth == 1 => {
                    self.at = at + offset + 1;
                    return Ok(at..self.at);
                }
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        refuse(at..at + begin.len(), format!("`{begin}` has no end"), "Write `)` behind the command.")
    }
}

/// Whether a shell puts something in place of `$` and what follows it.
fn expands(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_!?$@*#-({".contains(c))
}

/// Whether a shell makes several words of the braces that begin here.
fn makes_words(rest: &str) -> bool {
    let Some(end) = rest.find('}') else { return false };
    let inner = rest.get(1..end).unwrap_or_default();
    !inner.contains(char::is_whitespace) && (inner.contains(',') || inner.contains(".."))
}
