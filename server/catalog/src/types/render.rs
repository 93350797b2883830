//! Types as C writes them.

use std::fmt::Write as _;

use super::{CType, TypeId, TypeKind, Types, types::MAX_DEPTH};

/// How deeply functions that take functions are written out.
const MAX_PARAMETER_DEPTH: usize = 4;
/// The longest text of one declaration, in bytes.
const MAX_DECLARATION_BYTES: usize = 4096;
/// The longest text of a definition, in bytes.
const MAX_DEFINITION_BYTES: usize = 1 << 17;

impl Types {
    /// A type as C writes it: `struct task_struct *`, `char[16]`, `int (*)(void *, int)`.
    pub fn render(&self, id: TypeId) -> String {
        self.render_declaration(id, "")
    }

    /// A declaration as C writes it: `char comm[16]`.
    pub fn render_declaration(&self, id: TypeId, name: &str) -> String {
        self.declaration(id, name, MAX_PARAMETER_DEPTH, None)
    }

    /// `opened` is written for an anonymous struct, union or enum.
    fn declaration(&self, id: TypeId, name: &str, depth: usize, opened: Option<&str>) -> String {
        let (mut at, mut text, mut qualifiers) = (id, name.to_owned(), String::new());
        // A star binds less than what follows the name.
        let mut star = false;
        for _ in 0..MAX_DEPTH {
            if text.len() > MAX_DECLARATION_BYTES {
                break;
            }
            match self.get(at) {
                CType::Pointer { to } => {
                    let space = if qualifiers.is_empty() || text.is_empty() { "" } else { " " };
                    text = format!("*{}{space}{text}", qualifiers.trim_end());
                    (at, star, qualifiers) = (to, true, String::new());
                }
                CType::Array { element, count } => {
                    let count = if count == 0 { String::new() } else { count.to_string() };
                    text = if star { format!("({text})[{count}]") } else { format!("{text}[{count}]") };
                    (at, star) = (element, false);
                }
                CType::Prototype { returns, .. } => {
                    let parameters = self.parameters(at, depth);
                    text = if star { format!("({text})({parameters})") } else { format!("{text}({parameters})") };
                    (at, star) = (returns, false);
                }
                CType::Qualified { qualifier, to } => {
                    qualifiers = format!("{qualifiers}{qualifier} ");
                    at = to;
                }
                CType::Tag { to, .. } => at = to,
                CType::Function { name, prototype } => {
                    text = if text.is_empty() { name.to_owned() } else { text };
                    at = prototype;
                }
                CType::Variable { name, ty } => {
                    text = if text.is_empty() { name.to_owned() } else { text };
                    at = ty;
                }
                _ => break,
            }
        }
        let base = self.base_name(at, opened);
        let space = if text.is_empty() || text.starts_with('[') { "" } else { " " };
        format!("{qualifiers}{base}{space}{text}")
    }

    fn parameters(&self, prototype: TypeId, depth: usize) -> String {
        let Some(signature) = self.signature(prototype) else { return String::new() };
        let Some(depth) = depth.checked_sub(1) else { return "...".to_owned() };
        let mut text = String::new();
        for parameter in &signature.parameters {
            if text.len() > MAX_DECLARATION_BYTES {
                return format!("{text}, ...");
            }
            let comma = if text.is_empty() { "" } else { ", " };
            let _written = write!(text, "{comma}{}", self.declaration(parameter.ty, parameter.name, depth, None));
        }
        match (signature.variadic, text.is_empty()) {
            (true, true) => "...".to_owned(),
            (true, false) => format!("{text}, ..."),
            (false, true) => "void".to_owned(),
            (false, false) => text,
        }
    }

    fn base_name(&self, id: TypeId, opened: Option<&str>) -> String {
        let named = |keyword: &str, name: &str| match (name, opened) {
            ("", Some(opened)) => opened.to_owned(),
            ("", None) => format!("{keyword} {{…}}"),
            (name, _) => format!("{keyword} {name}"),
        };
        match self.get(id) {
            CType::Void => "void".to_owned(),
            CType::Int(int) => int.name.to_owned(),
            CType::Float { name, .. } | CType::Typedef { name, .. } | CType::Section { name, .. } => name.to_owned(),
            CType::Record(record) => named(if record.union { "union" } else { "struct" }, record.name),
            CType::Enum(of) => named("enum", of.name),
            CType::Forward { name, kind: TypeKind::Union } => named("union", name),
            CType::Forward { name, kind: TypeKind::Enum } => named("enum", name),
            CType::Forward { name, .. } => named("struct", name),
            // Too deep, or nothing that has a name.
            _ => "…".to_owned(),
        }
    }

    /// A whole struct, union or enum as C writes it, anonymous ones inside opened, each line indented by one tab per
    /// level. Of a typedef, the definition of what it stands for, if that has no name of its own. Anything else as
    /// [`Types::render`].
    pub fn render_definition(&self, id: TypeId) -> String {
        if let CType::Typedef { name, to } = self.get(id) {
            return match self.opened(to, 0, &mut { MAX_DEFINITION_BYTES }) {
                Some(body) if self.is_anonymous(to) => format!("typedef {body} {name};\n"),
                _ => format!("typedef {};\n", self.render_declaration(to, name)),
            };
        }
        match self.opened(id, 0, &mut { MAX_DEFINITION_BYTES }) {
            Some(body) => format!("{body};\n"),
            None => format!("{};\n", self.render(id)),
        }
    }

    fn is_anonymous(&self, id: TypeId) -> bool {
        match self.get(id) {
            CType::Record(record) => record.name.is_empty(),
            CType::Enum(of) => of.name.is_empty(),
            _ => false,
        }
    }

    /// The definition of a struct, union or enum, without the semicolon.
    fn opened(&self, id: TypeId, level: usize, room: &mut usize) -> Option<String> {
        let mut text = match self.get(id) {
            CType::Record(record) => {
                let keyword = if record.union { "union" } else { "struct" };
                head(keyword, record.name)
            }
            CType::Enum(of) => head("enum", of.name),
            _ => return None,
        };
        if level > MAX_DEPTH {
            return Some(format!("{text}…}}"));
        }
        let indent = "\t".repeat(level + 1);
        for member in self.members(id) {
            if *room < text.len() {
                text.push_str("…\n");
                break;
            }
            let inner = self.anonymous_inside(member.ty);
            let opened = inner.and_then(|inner| self.opened(inner, level + 1, room));
            let line = self.declaration(member.ty, member.name, MAX_PARAMETER_DEPTH, opened.as_deref());
            let bits = member.bits.map(|bits| format!(": {bits}")).unwrap_or_default();
            let _written = writeln!(text, "{indent}{line}{bits};");
            *room = room.saturating_sub(line.len());
        }
        for constant in self.constants(id) {
            if *room < text.len() {
                text.push_str("…\n");
                break;
            }
            let _written = match constant.signed {
                true => writeln!(text, "{indent}{} = {},", constant.name, constant.value),
                false => writeln!(text, "{indent}{} = {},", constant.name, constant.value.cast_unsigned()),
            };
        }
        text.push_str(&"\t".repeat(level));
        text.push('}');
        Some(text)
    }

    /// The anonymous struct, union or enum that a member is, or is an array of or a pointer to.
    fn anonymous_inside(&self, id: TypeId) -> Option<TypeId> {
        let mut at = id;
        for _ in 0..MAX_DEPTH {
            match self.get(at) {
                CType::Pointer { to } | CType::Qualified { to, .. } | CType::Tag { to, .. } => at = to,
                CType::Array { element, .. } => at = element,
                CType::Record(_) | CType::Enum(_) => return Some(at).filter(|at| self.is_anonymous(*at)),
                _ => return None,
            }
        }
        None
    }
}

fn head(keyword: &str, name: &str) -> String {
    if name.is_empty() { format!("{keyword} {{\n") } else { format!("{keyword} {name} {{\n") }
}
