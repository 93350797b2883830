//! Leaves out what a browser does not need of a module: comments, blank lines and indentation. Everything else, strings and
//! line breaks too, stays as it was written, so that a message of the browser can be found in the sources.

/// Where the text is while it is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Between tokens.
    Code,
    /// In a string with this quote.
    Text(char),
    /// In the text of a template.
    Template,
    /// In a regular expression; whether in a class of it.
    Pattern { class: bool },
    /// In a comment up to the end of the line.
    Line,
    /// In a comment up to `*/`.
    Block,
}

/// What stands behind these begins a value, so that a `/` begins a regular expression.
const BEFORE_VALUE: &str = "(,=:[!&|?{;+-*%~^<>";
/// Words behind which a value begins.
const WORDS_BEFORE_VALUE: [&str; 10] =
    ["return", "typeof", "case", "in", "of", "delete", "void", "throw", "await", "yield"];

/// `text` without comments, blank lines and indentation.
///
/// # Errors
/// If a string, template or comment has no end.
pub(crate) fn shrink(text: &str) -> Result<String, String> {
    let mut reader = Reader { out: String::with_capacity(text.len()), place: Place::Code, braces: Vec::new() };
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        reader.read(c, chars.peek().copied());
        // What is escaped, and the second half of what begins or ends a comment, says nothing by itself.
        let escaped = c == '\\' && !matches!(reader.place, Place::Code | Place::Line | Place::Block);
        let half = matches!((c, chars.peek()), ('*', Some('/'))) && reader.place == Place::Block;
        if escaped && let Some(next) = chars.next() {
            reader.out.push(next);
        } else if half {
            chars.next();
            reader.place = Place::Code;
        }
    }
    if !matches!(reader.place, Place::Code | Place::Line) || !reader.braces.is_empty() {
        return Err("a string, template or comment has no end".to_owned());
    }
    Ok(reader.out)
}

struct Reader {
    out: String,
    place: Place,
    /// For each template that is left for `${`: how many braces are open in it.
    braces: Vec<usize>,
}

impl Reader {
    fn read(&mut self, c: char, next: Option<char>) {
        match self.place {
            Place::Code => return self.code(c, next),
            Place::Line if c != '\n' => return,
            Place::Line => {
                self.place = Place::Code;
                return self.code(c, next);
            }
            Place::Block => return,
            Place::Text(quote) if c == quote => self.place = Place::Code,
            Place::Template if c == '`' => self.place = Place::Code,
            Place::Template if c == '$' && next == Some('{') => {
                self.place = Place::Code;
                // The brace itself is read as code.
                self.braces.push(0);
            }
            Place::Pattern { class: false } if c == '/' => self.place = Place::Code,
            Place::Pattern { .. } if c == '[' => self.place = Place::Pattern { class: true },
            Place::Pattern { .. } if c == ']' => self.place = Place::Pattern { class: false },
            _ => {}
        }
        self.out.push(c);
    }

    fn code(&mut self, c: char, next: Option<char>) {
        match (c, next) {
            ('/', Some('/')) => {
                self.place = Place::Line;
                return;
            }
            ('/', Some('*')) => {
                self.place = Place::Block;
                return;
            }
            ('/', _) if self.value_begins() => self.place = Place::Pattern { class: false },
            ('"' | '\'', _) => self.place = Place::Text(c),
            ('`', _) => self.place = Place::Template,
            ('{', _) => self.braces.last_mut().into_iter().for_each(|open| *open += 1),
            ('}', _) => self.close(),
            // Blanks at the ends of lines, and whole lines of them.
            ('\n', _) => {
                self.out.truncate(self.out.trim_end_matches([' ', '\t']).len());
                if self.out.ends_with('\n') || self.out.is_empty() {
                    return;
                }
            }
            (' ' | '\t', _) if self.out.ends_with('\n') || self.out.is_empty() => return,
            _ => {}
        }
        self.out.push(c);
    }

    /// A brace ends a block, or what stands in a template.
    fn close(&mut self) {
        if let Some(open) = self.braces.last_mut() {
            *open -= 1;
            if *open == 0 {
                self.braces.pop();
                self.place = Place::Template;
            }
        }
    }

    /// Whether a value begins here rather than an operator.
    fn value_begins(&self) -> bool {
        let before = self.out.trim_end();
        let Some(last) = before.chars().next_back() else { return true };
        let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').next().unwrap_or_default();
        BEFORE_VALUE.contains(last) || WORDS_BEFORE_VALUE.contains(&word)
    }
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[test]
    fn comments_and_indentation_go_and_everything_else_stays() {
        for (text, expected) in [
            ("// head\nconst a = 1; // one\n\n  const b = 2;\n", "const a = 1;\nconst b = 2;\n"),
            ("/** @param {string} a */\nf(a);\n", "f(a);\n"),
            ("a(/* in */ 1);\n", "a( 1);\n"),
            ("const u = \"http://x\"; // y\n", "const u = \"http://x\";\n"),
            ("const s = 'it\\'s // no comment';\n", "const s = 'it\\'s // no comment';\n"),
            (
                "const t = `a // b\n    c /* d */ ${f({ a: `}` })} e`;\n",
                "const t = `a // b\n    c /* d */ ${f({ a: `}` })} e`;\n",
            ),
            ("const t = `a`;\n  if (x) {\n    y();\n  }\n", "const t = `a`;\nif (x) {\ny();\n}\n"),
            ("x.split(/[/\"]+/); // z\n", "x.split(/[/\"]+/);\n"),
            ("const p = a / b; const q = (a) / 2; // half\n", "const p = a / b; const q = (a) / 2;\n"),
            ("return /`'\"\\//.test(x);\n", "return /`'\"\\//.test(x);\n"),
            ("const s = \"a\\\\\"; // b\n", "const s = \"a\\\\\";\n"),
            ("const t = `\\`${1}\\${`;\n", "const t = `\\`${1}\\${`;\n"),
            ("/** a\n * b\n **/\nc();\n", "c();\n"),
        ] {
            assert_eq!(shrink(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_has_no_end_is_refused() {
        for text in ["const a = \"b;\n", "/* a\n", "const a = `b ${c;\n"] {
            assert!(shrink(text).is_err(), "{text}");
        }
    }
}
