//! What the editor shows about the thing under the cursor.

use bathyscope_plan::{Pointee, Span, Type};

use super::{
    CheckOptions,
    body::BodyChecker,
    checker::{ScriptChecker, Watch},
    describe::describe,
    reference::reference,
    values::CheckedOperand,
};
use crate::lang::{ExpandOptions, Expanded, expand, host::Host, parse};

/// The most members of a type that are told.
const MAX_MEMBERS: usize = 2048;

/// What is under the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    /// What it is about.
    pub span: Span,
    /// Its type, or how it is called: `string[16]`, `str(address[, length]) → string`.
    pub title: String,
    /// What it is, in a line; may be empty.
    pub about: String,
}

/// What is under the cursor of a script; none if that is nothing, or cannot be known because the script is not understood.
pub fn hover(text: &str, offset: u32, host: &dyn Host) -> Option<Hover> {
    let (word, at) = word_at(text, offset as usize)?;
    let known = reference().into_iter().find(|it| it.name == word);
    let before = text.get(..at.start as usize)?;
    let plain = !before.ends_with(['$', '@', '.']);
    let expanded = expanded_of(text);
    if before.ends_with('@') {
        let title = map_type(&expanded?, text, word, host)?;
        let span = Span { start: at.start.saturating_sub(1), end: at.end };
        return Some(Hover { span, title, about: "A map.".to_owned() });
    }
    let ty = expanded.and_then(|expanded| type_at(&expanded, text, Watch::Around(offset), host));
    if let (Some(known), true) = (known, plain) {
        let about = match &ty {
            Some(ty) if ty.at == at => format!("{} Here: {}.", known.about, ty.ty),
            _ => known.about.to_owned(),
        };
        return Some(Hover { span: at, title: known.signature.to_owned(), about });
    }
    let ty = ty?;
    Some(Hover { span: ty.at, title: ty.ty, about: String::new() })
}

/// The name around a byte.
fn word_at(text: &str, offset: usize) -> Option<(&str, Span)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let before = text.get(..offset)?;
    let start = before
        .rfind(|c| !is_word(c))
        .map_or(0, |at| at + before.get(at..).and_then(|it| it.chars().next()).map_or(1, char::len_utf8));
    let rest = text.get(start..)?;
    let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    let end = start + length;
    let span = Span { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()? };
    (length > 0).then(|| (text.get(start..end).unwrap_or_default(), span))
}

/// What a map of the script holds: `@start[uint32] = uint64`.
fn map_type(expanded: &Expanded, text: &str, name: &str, host: &dyn Host) -> Option<String> {
    let options = CheckOptions { unsafe_allowed: true, pid: None };
    let mut checker = ScriptChecker::new(expanded, text, host, &options);
    let _checked = checker.run(&[]);
    let name = format!("@{name}");
    let map = checker.maps.all.iter().find(|map| map.name == name)?;
    let key: Vec<String> = map.key.iter().flatten().map(describe).collect();
    let key = if key.is_empty() { String::new() } else { format!("[{}]", key.join(", ")) };
    Some(format!("{name}{key} = {}", describe(map.value.as_ref()?)))
}

/// What was found about an expression.
pub(super) struct ExpressionType {
    pub(super) at: Span,
    pub(super) ty: String,
    pub(super) members: Vec<(String, String)>,
}

/// The type of the expression that is looked for.
pub(super) fn type_at(expanded: &Expanded, text: &str, watch: Watch, host: &dyn Host) -> Option<ExpressionType> {
    let options = CheckOptions { unsafe_allowed: true, pid: None };
    let mut checker = ScriptChecker::new(expanded, text, host, &options);
    checker.watch = Some(watch);
    let _checked = checker.run(&[]);
    match checker.watch {
        Some(Watch::Found { at, ty, members, .. }) => Some(ExpressionType { at, ty, members }),
        _ => None,
    }
}

impl BodyChecker<'_, '_> {
    /// Keeps what the editor wants to know.
    pub(super) fn watched(&mut self, operand: &CheckedOperand, span: Span) {
        let around = |offset: u32| (span.start..=span.end).contains(&offset);
        let wanted = match &self.cx.watch {
            Some(Watch::Exactly(at)) if *at == span => None,
            Some(Watch::Around(offset)) if around(*offset) => Some(*offset),
            Some(Watch::Found { at, wanted: Some(offset), .. }) if around(*offset) => {
                // The smallest; and the same one again in a later pass, which knows more.
                if span.end - span.start > at.end - at.start {
                    return;
                }
                Some(*offset)
            }
            Some(Watch::Found { at, wanted: None, .. }) if *at == span => None,
            _ => return,
        };
        let members = if wanted.is_none() { self.members_of(operand) } else { Vec::new() };
        let ty = match operand {
            CheckedOperand::Value(value) => describe(&value.ty),
            CheckedOperand::Place(place) => describe(&place.ty),
            CheckedOperand::Args(_) => "the arguments of the attach point".to_owned(),
            CheckedOperand::IteratorContext(_) => "the iterator's context".to_owned(),
            CheckedOperand::Pair { key, value, .. } => {
                let value = value.as_ref().map_or_else(|| "aggregation".to_owned(), |it| describe(&it.ty));
                format!("({}, {value})", describe(&key.ty))
            }
        };
        self.cx.watch = Some(Watch::Found { at: span, ty, members, wanted });
    }

    fn members_of(&mut self, operand: &CheckedOperand) -> Vec<(String, String)> {
        let ty = match operand {
            CheckedOperand::Args(_) | CheckedOperand::IteratorContext(_) => {
                return self.argument_types().into_iter().map(|(name, ty)| (name, describe(&ty))).collect();
            }
            CheckedOperand::Pair { key, value, .. } => {
                let value = value.iter().map(|it| ("1".to_owned(), describe(&it.ty)));
                return [("0".to_owned(), describe(&key.ty))].into_iter().chain(value).collect();
            }
            CheckedOperand::Value(value) => &value.ty,
            CheckedOperand::Place(place) => &place.ty,
        };
        match ty {
            Type::Pointer { to, .. } => match &**to {
                Pointee::C { id, .. } => self.c_members(*id),
                Pointee::Type(Type::Struct(it)) => self.c_members(it.id),
                _ => Vec::new(),
            },
            Type::Struct(it) => self.c_members(it.id),
            Type::Record(parts) => parts.iter().map(|(name, ty)| (name.clone(), describe(ty))).collect(),
            Type::Tuple(parts) => parts.iter().enumerate().map(|(at, ty)| (at.to_string(), describe(ty))).collect(),
            _ => Vec::new(),
        }
    }

    fn c_members(&self, id: u32) -> Vec<(String, String)> {
        let id = self.cx.c_type_of(id);
        let types = &self.cx.types;
        let names = types.field_names(id, MAX_MEMBERS);
        let with_type = |name: &str| {
            let ty = types.field(id, name).map(|field| types.render(field.ty)).unwrap_or_default();
            (name.to_owned(), ty)
        };
        names.into_iter().map(with_type).collect()
    }
}

/// A script's text as the checker takes it, if it is understood.
pub(super) fn expanded_of(text: &str) -> Option<Expanded> {
    expand(&parse(text).ok()?, &ExpandOptions::default()).ok()
}
