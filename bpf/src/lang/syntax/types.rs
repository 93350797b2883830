//! Types as scripts write them, and where a name is a type rather than a value.

use super::{
    super::ast::{TypeBase, TypeSuffix, TypeText},
    parser::{Parsed, Parser, SyntaxNode},
    token::{RESERVED, Token},
};

/// Names of types that nothing else can have.
pub(super) fn is_builtin(word: &str) -> bool {
    matches!(
        word,
        "void"
            | "bool"
            | "int8"
            | "int16"
            | "int32"
            | "int64"
            | "uint8"
            | "uint16"
            | "uint32"
            | "uint64"
            | "string"
            | "buffer"
            | "inet"
    )
}

/// Words that C's own types are made of.
pub(super) fn is_c_word(word: &str) -> bool {
    matches!(word, "unsigned" | "signed" | "long" | "short" | "int" | "char")
}

impl Parser<'_> {
    /// A type.
    pub(super) fn type_text(&mut self) -> Parsed<SyntaxNode<TypeText>> {
        self.deeper(|parser| {
            while parser.is_word(0, "const") || parser.is_word(0, "volatile") {
                parser.take();
            }
            let start = parser.span().start;
            let (base, mut height) = parser.type_base()?;
            let mut suffixes = Vec::new();
            loop {
                if parser.take_mark("*") {
                    suffixes.push(TypeSuffix::Pointer);
                } else if parser.take_mark("[") {
                    let mut count = None;
                    if !parser.is_mark(0, "]") {
                        let size = parser.expression()?;
                        height = height.max(size.height);
                        count = Some(size.of);
                    }
                    parser.expect("]", "after the size of an array")?;
                    suffixes.push(TypeSuffix::Array(count));
                } else if !parser.take_word("const") && !parser.take_word("volatile") {
                    break;
                }
                if suffixes.len() > super::super::limits::MAX_TYPE_SUFFIXES {
                    let span = parser.since(start);
                    let message = "the type is a pointer to a pointer to a pointer … too often";
                    return Err(parser.report(bathyscope_plan::Diagnostic::error(span, message)));
                }
            }
            Ok(SyntaxNode { of: TypeText { base, suffixes, span: parser.since(start) }, height: height + 1 })
        })
    }

    fn type_base(&mut self) -> Parsed<(TypeBase, u32)> {
        let Token::Word(word) = self.peek(0).token else { return Err(self.unexpected("a type")) };
        let tagged: Option<fn(String) -> TypeBase> = match word {
            "struct" => Some(TypeBase::Struct),
            "union" => Some(TypeBase::Union),
            "enum" => Some(TypeBase::Enum),
            _ => None,
        };
        if let Some(tagged) = tagged {
            self.take();
            return Ok((tagged(self.name(&format!("the name of a {word}"))?.text), 0));
        }
        if word == "typeof" {
            self.take();
            self.expect("(", "after `typeof`")?;
            let of = if self.is_type(0) {
                let ty = self.type_text()?;
                let span = ty.of.span;
                self.node(super::super::ast::ExprKind::Type(ty.of), span, ty.height)?
            } else {
                self.expression()?
            };
            self.expect(")", "after what `typeof` is asked about")?;
            return Ok((TypeBase::Of(Box::new(of.of)), of.height));
        }
        if is_c_word(word) {
            let mut words = Vec::new();
            while let Token::Word(word) = self.peek(0).token
                && is_c_word(word)
                && words.len() < 4
            {
                self.take();
                words.push(word);
            }
            return Ok((TypeBase::Named(words.join(" ")), 0));
        }
        Ok((TypeBase::Named(self.name("a type")?.text), 0))
    }

    /// Whether the tokens from `index` on must be a type. A bare name that is no builtin type is one only if a `*` follows it
    /// and an expression cannot go on there.
    pub(super) fn is_type(&mut self, index: usize) -> bool {
        let Token::Word(word) = self.peek(index).token else { return false };
        match word {
            "struct" | "union" | "enum" | "const" | "volatile" => true,
            "typeof" => self.is_mark(index + 1, "("),
            _ if is_c_word(word) || is_builtin(word) => !self.is_mark(index + 1, "("),
            _ if RESERVED.contains(&word) => false,
            _ => {
                let (after, pointer) = self.after_suffixes(index + 1);
                pointer && (self.is_mark(after, ")") || self.is_mark(after, ","))
            }
        }
    }

    /// Past `*` and `[n]`, where `n` is one token; and whether there was a `*`.
    fn after_suffixes(&mut self, mut index: usize) -> (usize, bool) {
        let mut pointer = false;
        loop {
            if self.is_mark(index, "*") {
                pointer = true;
                index += 1;
            } else if self.is_mark(index, "[") && self.is_mark(index + 1, "]") {
                index += 2;
            } else if self.is_mark(index, "[")
                && matches!(self.peek(index + 1).token, Token::Integer { .. } | Token::Word(_))
                && self.is_mark(index + 2, "]")
            {
                index += 3;
            } else {
                return (index, pointer);
            }
        }
    }

    /// Whether the `(` that is next begins a cast.
    pub(super) fn is_cast(&mut self) -> bool {
        if self.is_type(1) {
            return true;
        }
        let Token::Word(word) = self.peek(1).token else { return false };
        if RESERVED.contains(&word) {
            return false;
        }
        let (after, _) = self.after_suffixes(2);
        // `(name)` before something that cannot go on with an expression: the name is a type's. What could also be an
        // operator on two values is one: `(pid) - 1`.
        self.is_mark(after, ")")
            && match self.peek(after + 1).token {
                Token::Integer { .. }
                | Token::Text(_)
                | Token::Variable(_)
                | Token::Positional(_)
                | Token::PositionalCount
                | Token::Map(_)
                | Token::Mark("(" | "!" | "~") => true,
                Token::Word(word) => !RESERVED.contains(&word) || matches!(word, "sizeof" | "offsetof"),
                _ => false,
            }
    }
}
