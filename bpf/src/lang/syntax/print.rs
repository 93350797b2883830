//! Tree → text in the language itself, with as few parentheses as its meaning needs.

use std::fmt::{self, Display, Write as _};

use super::super::ast::{
    BinaryOp, Block, Expr, ExprKind, Item, Macro, MacroParameter, MapDeclaration, PathStep, Probe, Script, Statement,
    StatementKind, TypeBase, TypeSuffix, TypeText, UnaryOp,
};
use super::types::{is_builtin, is_c_word};

/// How strongly what stands outermost in an expression binds.
const TERNARY: u8 = 0;
const UNARY: u8 = 11;
const SUFFIX: u8 = 12;
const PRIMARY: u8 = 13;

/// A text in quotes that the lexer reads as `bytes`.
pub(super) fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                '\r' => text.push_str("\\r"),
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                control if control.is_ascii_control() => {
                    let _never_fails = write!(text, "\\x{:02x}", u32::from(control));
                }
                other => text.push(other),
            }
        }
        for byte in chunk.invalid() {
            let _never_fails = write!(text, "\\x{byte:02x}");
        }
    }
    text.push('"');
    text
}

/// The operator as written.
pub(super) fn binary_mark(op: BinaryOp) -> (&'static str, u8) {
    match op {
        BinaryOp::Or => ("||", 1),
        BinaryOp::And => ("&&", 2),
        BinaryOp::BitOr => ("|", 3),
        BinaryOp::BitXor => ("^", 4),
        BinaryOp::BitAnd => ("&", 5),
        BinaryOp::Equal => ("==", 6),
        BinaryOp::NotEqual => ("!=", 6),
        BinaryOp::Less => ("<", 7),
        BinaryOp::LessEqual => ("<=", 7),
        BinaryOp::Greater => (">", 7),
        BinaryOp::GreaterEqual => (">=", 7),
        BinaryOp::ShiftLeft => ("<<", 8),
        BinaryOp::ShiftRight => (">>", 8),
        BinaryOp::Add => ("+", 9),
        BinaryOp::Subtract => ("-", 9),
        BinaryOp::Multiply => ("*", 10),
        BinaryOp::Divide => ("/", 10),
        BinaryOp::Modulo => ("%", 10),
    }
}

fn unary_mark(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Negate => "-",
        UnaryOp::Not => "!",
        UnaryOp::Complement => "~",
        UnaryOp::Dereference => "*",
        UnaryOp::AddressOf => "&",
    }
}

fn strength(kind: &ExprKind) -> u8 {
    match kind {
        ExprKind::Ternary { .. } => TERNARY,
        ExprKind::Binary { op, .. } => binary_mark(*op).1,
        ExprKind::Unary { .. } | ExprKind::Cast { .. } | ExprKind::Step { prefix: true, .. } => UNARY,
        ExprKind::Step { .. } | ExprKind::Member { .. } | ExprKind::Element { .. } | ExprKind::Index { .. } => SUFFIX,
        // Its last block would take what follows for a part of another statement.
        ExprKind::If { .. } => TERNARY,
        _ => PRIMARY,
    }
}

/// Writes with indentation.
#[derive(Debug, Default)]
struct Printer {
    text: String,
    indent: usize,
}

impl Printer {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn show(&mut self, value: impl Display) {
        let _never_fails = write!(self.text, "{value}");
    }

    fn new_line(&mut self) {
        self.text.push('\n');
        for _ in 0..self.indent {
            self.text.push_str("    ");
        }
    }

    /// An expression where one that binds less than `least` needs parentheses.
    fn operand(&mut self, expr: &Expr, least: u8) {
        if strength(&expr.kind) < least {
            self.put("(");
            self.expression(expr);
            self.put(")");
        } else {
            self.expression(expr);
        }
    }

    fn list(&mut self, items: &[Expr]) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.put(", ");
            }
            self.expression(item);
        }
    }

    fn expression(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Unary { .. } | ExprKind::Step { .. } | ExprKind::Binary { .. } | ExprKind::Cast { .. } => {
                self.operation(&expr.kind);
            }
            ExprKind::Ternary { condition, then, otherwise } => {
                self.operand(condition, TERNARY + 1);
                match then {
                    Some(then) => {
                        self.put(" ? ");
                        self.operand(then, TERNARY);
                        self.put(" : ");
                    }
                    None => self.put(" ?: "),
                }
                self.operand(otherwise, TERNARY);
            }
            ExprKind::Member { .. } | ExprKind::Element { .. } | ExprKind::Index { .. } => self.suffixed(&expr.kind),
            ExprKind::If { condition, comptime, then, otherwise } => {
                self.put(if *comptime { "if comptime " } else { "if " });
                self.conditional(condition, then, otherwise.as_ref());
            }
            ExprKind::Block(block) => self.block(block),
            kind => self.primary(kind),
        }
    }

    fn operation(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Unary { op, of } => {
                self.put(unary_mark(*op));
                // `--x` is another operator than `-(-x)`.
                let doubled = matches!((op, &of.kind), (UnaryOp::Negate, ExprKind::Unary { op: UnaryOp::Negate, .. }))
                    || matches!((op, &of.kind), (UnaryOp::AddressOf, ExprKind::Unary { op: UnaryOp::AddressOf, .. }))
                    || matches!((op, &of.kind), (UnaryOp::Negate, ExprKind::Step { add: false, prefix: true, .. }));
                self.operand(of, if doubled { PRIMARY } else { UNARY });
            }
            ExprKind::Step { place, add, prefix } => {
                let mark = if *add { "++" } else { "--" };
                if *prefix {
                    self.put(mark);
                    self.operand(place, SUFFIX);
                } else {
                    self.operand(place, SUFFIX);
                    self.put(mark);
                }
            }
            ExprKind::Binary { op, left, right } => {
                let (mark, strength) = binary_mark(*op);
                self.operand(left, strength);
                self.put(" ");
                self.put(mark);
                self.put(" ");
                // `/ {` would end a predicate.
                let least = if matches!(right.kind, ExprKind::Block(_)) { PRIMARY + 1 } else { strength + 1 };
                self.operand(right, least);
            }
            ExprKind::Cast { ty, of } => {
                self.put("(");
                self.type_text(ty);
                self.put(")");
                // `(name)-x` would be a subtraction.
                self.operand(of, if matches!(ty.base, TypeBase::Named(_)) { SUFFIX } else { UNARY });
            }
            _ => {}
        }
    }

    fn suffixed(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Member { base, name } => {
                self.operand(base, SUFFIX);
                self.put(".");
                self.put(&name.text);
            }
            ExprKind::Element { base, index } => {
                self.operand(base, SUFFIX);
                self.show(format_args!(".{index}"));
            }
            ExprKind::Index { base, index } => {
                // After a map without keys the brackets would be its key.
                let bare = matches!(&base.kind, ExprKind::Map { keys, .. } if keys.is_empty());
                if bare {
                    self.put("(");
                }
                self.operand(base, SUFFIX);
                if bare {
                    self.put(")");
                }
                self.put("[");
                self.expression(index);
                self.put("]");
            }
            _ => {}
        }
    }

    fn primary(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Integer { value, unsigned } => {
                let mark = if *unsigned && i64::try_from(*value).is_ok() { "u" } else { "" };
                self.show(format_args!("{value}{mark}"));
            }
            ExprKind::Bool(value) => self.show(value),
            ExprKind::Text(text) => self.put(&quoted(text)),
            ExprKind::Identifier(name) => self.put(name),
            ExprKind::Positional(number) => self.show(format_args!("${number}")),
            ExprKind::PositionalCount => self.put("$#"),
            ExprKind::Variable(name) => self.show(format_args!("${name}")),
            ExprKind::Map { name, keys } => {
                self.show(format_args!("@{name}"));
                if !keys.is_empty() {
                    self.put("[");
                    self.list(keys);
                    self.put("]");
                }
            }
            ExprKind::Call { function, arguments } => {
                self.put(&function.text);
                self.put("(");
                self.list(arguments);
                self.put(")");
            }
            ExprKind::Tuple(parts) => {
                self.put("(");
                self.list(parts);
                self.put(if parts.len() == 1 { ",)" } else { ")" });
            }
            ExprKind::Record(fields) => {
                for (index, (name, value)) in fields.iter().enumerate() {
                    self.put(if index == 0 { "(" } else { ", " });
                    self.put(&name.text);
                    self.put(" = ");
                    self.expression(value);
                }
                self.put(")");
            }
            ExprKind::SizeOf(ty) => {
                self.put("sizeof(");
                self.type_text(ty);
                self.put(")");
            }
            ExprKind::OffsetOf { ty, path } => self.offset_of(ty, path),
            ExprKind::Type(ty) => self.type_text(ty),
            _ => {}
        }
    }

    fn offset_of(&mut self, ty: &TypeText, path: &[PathStep]) {
        self.put("offsetof(");
        match &ty.base {
            TypeBase::Of(expr) if ty.suffixes.is_empty() && !matches!(expr.kind, ExprKind::Identifier(_)) => {
                self.expression(expr);
            }
            _ => self.type_text(ty),
        }
        self.put(", ");
        for (index, step) in path.iter().enumerate() {
            match step {
                PathStep::Member(name) => {
                    self.put(if index == 0 { "" } else { "." });
                    self.put(&name.text);
                }
                PathStep::Index(at) => {
                    self.put("[");
                    self.expression(at);
                    self.put("]");
                }
            }
        }
        self.put(")");
    }

    fn type_text(&mut self, ty: &TypeText) {
        match &ty.base {
            TypeBase::Named(name) => self.put(name),
            TypeBase::Struct(name) => self.show(format_args!("struct {name}")),
            TypeBase::Union(name) => self.show(format_args!("union {name}")),
            TypeBase::Enum(name) => self.show(format_args!("enum {name}")),
            TypeBase::Of(expr) => {
                self.put("typeof(");
                self.expression(expr);
                self.put(")");
            }
        }
        let mut after_name = true;
        for suffix in &ty.suffixes {
            match suffix {
                TypeSuffix::Pointer => self.put(if after_name { " *" } else { "*" }),
                TypeSuffix::Array(None) => self.put("[]"),
                TypeSuffix::Array(Some(count)) => {
                    self.put("[");
                    self.expression(count);
                    self.put("]");
                }
            }
            after_name = false;
        }
    }

    fn conditional(&mut self, condition: &Expr, then: &Block, otherwise: Option<&Block>) {
        self.condition(condition);
        self.block(then);
        if let Some(otherwise) = otherwise {
            self.put(" else ");
            match (otherwise.statements.as_slice(), &otherwise.value) {
                ([Statement { kind: kind @ StatementKind::If { .. }, .. }], None) => self.statement(kind),
                _ => self.block(otherwise),
            }
        }
    }

    fn block(&mut self, block: &Block) {
        if block.statements.is_empty() && block.value.is_none() {
            self.put("{ }");
            return;
        }
        self.put("{");
        self.indent += 1;
        for statement in &block.statements {
            self.new_line();
            self.statement(&statement.kind);
        }
        if let Some(value) = &block.value {
            self.new_line();
            self.statement_expression(value);
        }
        self.indent -= 1;
        self.new_line();
        self.put("}");
    }

    /// An expression where a statement may stand, so that a block would be one.
    fn statement_expression(&mut self, expr: &Expr) {
        if matches!(expr.kind, ExprKind::Block(_) | ExprKind::If { .. }) {
            self.put("(");
            self.expression(expr);
            self.put(")");
        } else {
            self.expression(expr);
        }
    }

    fn statement(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::If { condition, comptime, then, otherwise } => {
                self.put(if *comptime { "if comptime " } else { "if " });
                self.conditional(condition, then, otherwise.as_ref());
            }
            StatementKind::Unroll { count, body } => self.looped("unroll ", count, body),
            StatementKind::While { condition, body } => self.looped("while ", condition, body),
            StatementKind::ForRange { variable, first, end, body } => {
                self.show(format_args!("for (${} : ", variable.text));
                self.operand(first, TERNARY + 1);
                self.put("..");
                self.operand(end, TERNARY + 1);
                self.put(") ");
                self.block(body);
            }
            StatementKind::ForMap { variable, map, body } => {
                self.show(format_args!("for (${} : @{}) ", variable.text, map.text));
                self.block(body);
            }
            StatementKind::Block(block) => self.block(block),
            kind => {
                self.simple(kind);
                self.put(";");
            }
        }
    }

    fn looped(&mut self, word: &str, condition: &Expr, body: &Block) {
        self.put(word);
        self.condition(condition);
        self.block(body);
    }

    /// What stands between the word and the block. A type's name in parentheses would be a cast of the block; that it is no
    /// value is for the check to say.
    fn condition(&mut self, condition: &Expr) {
        match &condition.kind {
            ExprKind::Identifier(name) if is_builtin(name) || is_c_word(name) => self.put(name),
            _ => {
                self.put("(");
                self.expression(condition);
                self.put(")");
            }
        }
        self.put(" ");
    }

    /// A statement that a semicolon ends.
    fn simple(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::Expression(expr) => self.statement_expression(expr),
            StatementKind::Let { variable, ty, value } => {
                self.show(format_args!("let ${}", variable.text));
                if let Some(ty) = ty {
                    self.put(" : ");
                    self.type_text(ty);
                }
                if let Some(value) = value {
                    self.put(" = ");
                    self.expression(value);
                }
            }
            StatementKind::Assign { place, op, value } => {
                self.expression(place);
                self.put(" ");
                self.put(op.map_or("", |it| binary_mark(it).0));
                self.put("= ");
                self.expression(value);
            }
            StatementKind::Break => self.put("break"),
            StatementKind::Continue => self.put("continue"),
            StatementKind::Return(None) => self.put("return"),
            StatementKind::Return(Some(value)) => {
                self.put("return ");
                self.expression(value);
            }
            _ => {}
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Probe(probe) => self.probe(probe),
            Item::Macro(item) => self.macro_definition(item),
            Item::Map(map) => {
                self.show(format_args!("let @{} = {}(", map.map.text, map.kind.text));
                self.expression(&map.entries);
                self.put(");");
            }
        }
    }

    fn probe(&mut self, probe: &Probe) {
        for (index, point) in probe.points.iter().enumerate() {
            self.put(if index == 0 { "" } else { ",\n" });
            self.put(&point.text);
        }
        if let Some(predicate) = &probe.predicate {
            self.put(" /");
            let at = self.text.len();
            self.expression(predicate);
            // `/*` would begin a comment.
            if self.text.get(at..).is_some_and(|it| it.starts_with('*')) {
                self.text.insert(at, ' ');
            }
            self.put("/");
        }
        self.put(" ");
        self.block(&probe.body);
    }

    fn macro_definition(&mut self, item: &Macro) {
        self.show(format_args!("macro {}(", item.name.text));
        for (index, parameter) in item.parameters.iter().enumerate() {
            self.put(if index == 0 { "" } else { ", " });
            match parameter {
                MacroParameter::Expression(name) => self.put(&name.text),
                MacroParameter::Variable(name) => self.show(format_args!("${}", name.text)),
                MacroParameter::Map(name) => self.show(format_args!("@{}", name.text)),
            }
        }
        self.put(") ");
        self.block(&item.body);
    }

    fn script(&mut self, script: &Script) {
        for define in &script.defines {
            self.show(format_args!("#define {} ", define.name.text));
            if let Some(value) = &define.value {
                let mut line = Self::default();
                line.operand(value, PRIMARY);
                self.put(&line.text.replace('\n', " "));
            }
            self.put("\n");
        }
        if !script.config.is_empty() {
            self.put("config = {");
            self.indent += 1;
            for setting in &script.config {
                self.new_line();
                self.show(format_args!("{} = ", setting.name.text));
                self.expression(&setting.value);
                self.put(";");
            }
            self.indent -= 1;
            self.new_line();
            self.put("}\n");
        }
        for import in &script.imports {
            self.show(format_args!("import {};\n", quoted(import.text.as_bytes())));
        }
        for (index, item) in script.items.iter().enumerate() {
            self.put(if index == 0 { "" } else { "\n" });
            self.item(item);
            self.put("\n");
        }
    }
}

/// A script's text again; `text` is the one it was parsed from, for the C definitions in it.
pub fn print(script: &Script, text: &str) -> String {
    let mut printer = Printer::default();
    for span in &script.definitions {
        printer.put(super::definition_text(script, text, *span).trim_end());
        printer.put("\n");
    }
    printer.script(script);
    printer.text
}

/// [`Display`] by a method of [`Printer`].
macro_rules! display {
    ($($ty:ty => $method:ident),+ $(,)?) => {$(
        impl Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut printer = Printer::default();
                printer.$method(self);
                f.write_str(&printer.text)
            }
        }
    )+};
}

display! {
    Expr => expression,
    Block => block,
    TypeText => type_text,
    Probe => probe,
    Macro => macro_definition,
    Item => item,
}

impl Display for StatementKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::default();
        printer.statement(self);
        f.write_str(&printer.text)
    }
}

impl Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl Display for MapDeclaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Item::Map(self.clone()).fmt(f)
    }
}
