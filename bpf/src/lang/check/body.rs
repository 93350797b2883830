//! One body checked for one layout of its context: variables and their scopes, and where messages go.

use std::collections::HashMap;

use bathyscope_plan::{Diagnostic, Span, Type};

use super::{
    Checked, Failed,
    checker::ScriptChecker,
    context::Shape,
    describe::{Join, describe, number},
};
use crate::lang::{
    ast::{self, Name, Probe},
    hir::{Local, LocalId, TypedExpr, TypedExprKind},
};

/// What a variable's name stands for.
#[derive(Clone, Debug)]
pub(super) enum Binding {
    /// A variable.
    Variable {
        local: LocalId,
        /// Where it is declared, by which its type is remembered.
        declared: Span,
        /// Whether its type was written.
        fixed: bool,
    },
    /// The key and value of a loop over a map.
    Pair { key: TypedExpr, value: Option<TypedExpr> },
    /// The counter of a loop that was unrolled or of a range: cannot be assigned.
    Counter(LocalId),
    /// What was assigned is wrong, which was told.
    Unknown,
}

/// See the module.
pub(super) struct BodyChecker<'c, 'a> {
    pub(super) cx: &'c mut ScriptChecker<'a>,
    pub(super) shape: &'c Shape,
    pub(super) locals: Vec<Local>,
    /// The attach points' names.
    pub(super) names: Vec<String>,
    scopes: Vec<HashMap<String, Binding>>,
    /// Names that were declared in scopes that are closed.
    gone: HashMap<String, Span>,
    /// Which program of the script it is.
    instance: usize,
    pub(super) loops: u32,
    /// How many `while` loops the present text is in.
    pub(super) whiles: u32,
    /// How deep loops that run as functions of their own are nested.
    pub(super) depth: u32,
    /// The calls of macros within whose bodies the present text stands, outermost first.
    pub(super) calls: Vec<Span>,
}

impl<'c, 'a> BodyChecker<'c, 'a> {
    pub(super) fn new(cx: &'c mut ScriptChecker<'a>, shape: &'c Shape, instance: usize) -> Self {
        Self {
            cx,
            shape,
            locals: Vec::new(),
            names: Vec::new(),
            scopes: vec![HashMap::new()],
            gone: HashMap::new(),
            instance,
            loops: 0,
            whiles: 0,
            depth: 0,
            calls: Vec::new(),
        }
    }

    /// Checks the probe: its predicate and statements.
    pub(super) fn probe(&mut self, probe: &Probe) -> (Option<TypedExpr>, Vec<crate::lang::hir::TypedStatement>) {
        let predicate = probe.predicate.as_ref().and_then(|predicate| {
            let value = self.value(predicate).ok()?;
            self.condition(value).ok()
        });
        let body = self.block(&probe.body);
        (predicate, body)
    }

    /// Reports an error.
    pub(super) fn error(&mut self, span: Span, message: impl Into<String>) -> Hint<'_> {
        self.cx.report(Diagnostic::error(span, message))
    }

    /// Reports an error for a value that is then not there.
    pub(super) fn fail<T>(&mut self, span: Span, message: impl Into<String>, hint: impl Into<String>) -> Checked<T> {
        self.error(span, message).hint(hint);
        Err(Failed)
    }

    /// Reports a warning.
    pub(super) fn warn(&mut self, span: Span, message: impl Into<String>) -> Hint<'_> {
        self.cx.report(Diagnostic::warning(span, message))
    }

    /// A new variable.
    pub(super) fn local(&mut self, name: String, ty: Type) -> LocalId {
        let id = LocalId(u32::try_from(self.locals.len()).unwrap_or(u32::MAX));
        self.locals.push(Local { name, ty });
        id
    }

    /// Runs `inside` in a scope of its own.
    pub(super) fn scoped<T>(&mut self, inside: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(HashMap::new());
        let result = inside(self);
        for (name, binding) in self.scopes.pop().unwrap_or_default() {
            if let Binding::Variable { declared, .. } = binding {
                self.gone.insert(name, declared);
            }
        }
        result
    }

    /// Runs `inside` in the scope of a block.
    pub(super) fn in_block<T>(&mut self, block: &ast::Block, inside: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.calls.len();
        self.calls.extend(block.called);
        let result = self.scoped(inside);
        self.calls.truncate(before);
        result
    }

    /// What a name stands for.
    pub(super) fn binding(&self, name: &str) -> Option<&Binding> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// Lets a name stand for something in the innermost scope.
    pub(super) fn bind_name(&mut self, name: &str, binding: Binding) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), binding);
        }
    }

    /// Whether the innermost scope declares it.
    pub(super) fn declared_here(&self, name: &str) -> bool {
        self.scopes.last().is_some_and(|scope| scope.contains_key(name))
    }

    /// Names that can be used here.
    pub(super) fn names(&self) -> Vec<String> {
        self.scopes.iter().flat_map(|scope| scope.keys().cloned()).collect()
    }

    /// The value of a variable.
    pub(super) fn variable(&mut self, name: &str, span: Span) -> Checked<super::values::CheckedOperand> {
        use super::values::CheckedOperand;
        match self.binding(name) {
            Some(Binding::Variable { local, .. }) => {
                let local = *local;
                let ty = self.locals.get(local.0 as usize).map_or(Type::None, |it| it.ty.clone());
                if ty == Type::None {
                    // Known only after a further look at what is assigned later.
                    let message = format!("${name} has no value yet");
                    return self.fail(span, message, format!("assign it first: `${name} = …`"));
                }
                Ok(CheckedOperand::Value(TypedExpr::new(TypedExprKind::Local(local), ty, span)))
            }
            Some(Binding::Counter(local)) => {
                let local = *local;
                let ty = self.locals.get(local.0 as usize).map_or(Type::I64, |it| it.ty.clone());
                Ok(CheckedOperand::Value(TypedExpr::new(TypedExprKind::Local(local), ty, span)))
            }
            Some(Binding::Pair { key, value }) => {
                Ok(CheckedOperand::Pair { key: key.clone(), value: value.clone(), span })
            }
            Some(Binding::Unknown) => Err(Failed),
            None => self.no_variable(name, span),
        }
    }

    fn no_variable<T>(&mut self, name: &str, span: Span) -> Checked<T> {
        let message = format!("there is no variable ${name} here");
        if self.gone.contains_key(name) {
            // Older scripts assign in the branches of an `if` and use it afterwards: the next pass takes it as one
            // variable of the whole probe.
            self.cx.hoist(self.instance, name);
            let hint = format!("it ended with its block; declare it before that block: `let ${name};`");
            return self.fail(span, message, hint);
        }
        let hint =
            self.cx.hints.about(&format!("variable of {}", self.instance), name, || {
                match crate::lang::suggest(name, self.names().iter().map(String::as_str)) {
                    Some(near) => format!("did you mean `${near}`?"),
                    None => {
                        format!(
                            "assign it first: `${name} = …`; what one probe keeps for another goes in a map: `@{name}`"
                        )
                    }
                }
            });
        self.fail(span, message, hint)
    }

    /// Declares a variable in the innermost scope; `ty` is none if it follows from what is assigned.
    pub(super) fn declare(&mut self, name: &Name, ty: Option<Type>) {
        let binding = self.new_binding(name, ty);
        self.bind_name(&name.text, binding);
    }

    fn new_binding(&mut self, name: &Name, ty: Option<Type>) -> Binding {
        let fixed = ty.is_some();
        let key = (self.instance, name.span, name.text.clone());
        let known = ty.or_else(|| self.cx.variables.get(&key).cloned()).unwrap_or(Type::None);
        let local = self.local(name.text.clone(), known);
        Binding::Variable { local, declared: name.span, fixed }
    }

    /// A value that a variable is assigned; if it is wrong, nothing more is said about the variable.
    pub(super) fn assigned<T>(&mut self, name: &str, value: Checked<T>) -> Checked<T> {
        if value.is_err() && self.binding(name).is_none() {
            self.bind_name(name, Binding::Unknown);
        }
        value
    }

    /// Assigns a variable, whose type grows as needed: the variable and the value as it takes it.
    pub(super) fn assign_variable(&mut self, name: &Name, value: TypedExpr) -> Checked<(LocalId, TypedExpr)> {
        if value.ty == Type::None {
            return self.fail(value.span, "this has no value that could be assigned", "");
        }
        if let Type::Aggregate(_) = value.ty {
            return self.fail(value.span, "only a map can keep an aggregation", "assign it to a map: `@name = …`");
        }
        if matches!(self.binding(&name.text), None | Some(Binding::Unknown)) {
            let binding = self.new_binding(name, None);
            let hoisted = self.cx.is_hoisted(self.instance, &name.text);
            let scope = if hoisted { self.scopes.first_mut() } else { self.scopes.last_mut() };
            if let Some(scope) = scope {
                scope.insert(name.text.clone(), binding);
            }
        }
        let (local, declared, fixed) = match self.binding(&name.text) {
            Some(Binding::Variable { local, declared, fixed }) => (*local, *declared, *fixed),
            _ => {
                let message = format!("${} is the variable of a loop and cannot be assigned", name.text);
                return self.fail(name.span, message, "use a variable of another name");
            }
        };
        let current = self.locals.get(local.0 as usize).map_or(Type::None, |it| it.ty.clone());
        let key = (self.instance, declared, name.text.clone());
        if !fixed {
            self.cx.infer_variable(key.clone(), &value.ty);
        }
        let ty = match (&current, is_natural(&value)) {
            // So far only counts were assigned, which may be of either sign.
            (Type::Integer { bytes: 8, signed: true }, false)
                if !fixed && value.ty == Type::U64 && !self.cx.signed_variables.contains(&key) =>
            {
                Type::U64
            }
            _ => self.grown(&name.text, &current, &value, fixed)?,
        };
        if !is_natural(&value) && number(&value.ty).is_some_and(|(_, signed)| signed) {
            self.cx.signed_variables.insert(key.clone());
        }
        if ty != current && !fixed {
            if let Some(it) = self.locals.get_mut(local.0 as usize) {
                it.ty = ty.clone();
            }
            self.cx.learn_variable(key, ty.clone());
        }
        let value = self.coerce(value, &ty, false)?;
        Ok((local, value))
    }

    /// The least type that holds what a variable or map is assigned; none for other expressions, and if it is not known.
    pub(super) fn inferred(&self, expr: &ast::Expr) -> Option<Type> {
        match &expr.kind {
            ast::ExprKind::Variable(name) => match self.binding(name)? {
                Binding::Variable { declared, fixed: false, .. } => {
                    self.cx.inferred(&(self.instance, *declared, name.clone()))
                }
                _ => None,
            },
            ast::ExprKind::Map { name, .. } => self.cx.maps.inferred(name),
            _ => None,
        }
    }

    fn grown(&mut self, name: &str, current: &Type, value: &TypedExpr, fixed: bool) -> Checked<Type> {
        if *current == Type::None {
            return Ok(Self::kept_type(value));
        }
        let joined = Self::join_value(current, value);
        match joined {
            Join::To(ty) if !fixed || ty == *current || is_room(current, &value.ty) => {
                Ok(if fixed { current.clone() } else { ty })
            }
            Join::Lossy(ty) if !fixed => {
                let message = format!("${name} is {} and is assigned {}", describe(current), describe(&value.ty));
                self.warn(value.span, message).hint("the variable becomes int64; cast the value to say what is meant");
                Ok(ty)
            }
            // What is inferred of a variable fits, though it may change its sign.
            Join::To(_) | Join::Lossy(_) if self.may_convert(current, value) => {
                let message = format!("{} is made {} here", describe(&value.ty), describe(current));
                self.warn(value.span, message).hint(format!("cast it: `({})…`", describe(current)));
                Ok(current.clone())
            }
            Join::To(_) | Join::Lossy(_) => {
                let message =
                    format!("{} does not fit into ${name}, which is {}", describe(&value.ty), describe(current));
                self.fail(value.span, message, format!("cast it: `({})…`, or declare a larger type", describe(current)))
            }
            Join::Never => {
                let message =
                    format!("${name} is {} and cannot be assigned {}", describe(current), describe(&value.ty));
                self.fail(value.span, message, "use another variable")
            }
        }
    }
}

impl BodyChecker<'_, '_> {
    /// Whether a variable's value may go into a smaller type, since no more than that was ever put into it.
    fn may_convert(&self, into: &Type, value: &TypedExpr) -> bool {
        let TypedExprKind::Local(local) = value.kind else { return false };
        let known = self.scopes.iter().flat_map(HashMap::iter).find_map(|(name, binding)| match binding {
            Binding::Variable { local: own, declared, fixed: false } if *own == local => {
                self.cx.inferred(&(self.instance, *declared, name.clone()))
            }
            _ => None,
        });
        match (known.as_ref().and_then(number), number(into)) {
            (Some((bytes, _)), Some((room, _))) => bytes <= room,
            _ => false,
        }
    }
}

/// Whether it is a known number that is not negative: as good with a sign as without.
pub(super) fn is_natural(value: &TypedExpr) -> bool {
    value.constant().is_some_and(|it| it >= 0) && value.ty != Type::U64
}

/// Whether both are texts or buffers, of which a longer one is cut.
fn is_room(a: &Type, b: &Type) -> bool {
    matches!((a, b), (Type::Text { .. }, Type::Text { .. }) | (Type::Buffer { .. }, Type::Buffer { .. }))
}

/// A reported message, to which a hint can be put.
pub(super) struct Hint<'d>(pub(super) Option<&'d mut Diagnostic>);

impl Hint<'_> {
    pub(super) fn hint(self, hint: impl Into<String>) {
        if let Some(diagnostic) = self.0 {
            diagnostic.hint = hint.into();
        }
    }
}
