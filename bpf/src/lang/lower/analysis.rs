//! What is known of a program's variables and loops before it is lowered: which loops become callbacks, which variables
//! must be reached from several functions, which are read before they are set.
//!
//! A callback is a function of its own: it shares no registers with what is around it. A variable that is used on both
//! sides therefore lives in the *frame*, a piece of the program's stack whose address callbacks get.

use std::collections::HashMap;

use bathyscope_plan::Type;

use super::walk;
use crate::lang::hir::{Builtin, LocalId, TypedExpr, TypedExprKind, TypedProbe, TypedStatement, TypedStatementKind};

/// Loops in which the verifier meets more decisions than this are callbacks: it walks through every round of an ordinary
/// loop, and in loops it rarely sees that two ways have come together again.
const MAX_INLINE_DECISIONS: i64 = 60;
/// Larger variables that several functions use are in scratch memory, which all reach.
const MAX_FRAME_VALUE: u32 = 32;

/// Where the context is in the frame.
pub(super) const FRAME_CONTEXT: u32 = 0;
/// Whether a `return` within a callback has ended the program.
pub(super) const FRAME_RETURNED: u32 = 8;
/// With what.
pub(super) const FRAME_RESULT: u32 = 16;
const FRAME_VALUES: u32 = 24;

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LocalLocation {
    /// It is not used.
    Nowhere,
    /// In the registers or slots of one function: 0 is the program, others are callbacks.
    Function(u32),
    /// In the frame.
    Frame(u32),
    /// In scratch memory.
    Scratch,
}

/// A variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalPlacement {
    pub place: LocalLocation,
    /// Whether it may be read before it is set: then it is zero at first.
    pub zeroed: bool,
    /// For texts: whether the bytes after the final NUL are NULs.
    pub padded: bool,
}

/// A callback.
#[derive(Clone, Copy, Debug)]
pub(super) struct Callback {
    /// Its number, from 1.
    pub number: u32,
    /// Where the first value of its variable is in the frame.
    pub first: u32,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Analysis {
    pub locals: Vec<LocalPlacement>,
    callbacks: HashMap<*const TypedStatement, Callback>,
    /// Bytes of the frame; 0 if there are no callbacks.
    pub frame_bytes: u32,
}

#[derive(Clone, Debug, Default)]
struct LocalUse {
    functions: Vec<u32>,
    unset: bool,
    /// Whether a callback reads it before it sets it.
    kept: bool,
}

struct Walk<'a> {
    uses: Vec<LocalUse>,
    callbacks: HashMap<*const TypedStatement, Callback>,
    function: u32,
    frame: u32,
    /// What is certainly set.
    set: Vec<bool>,
    texts: Vec<(LocalId, &'a TypedExpr)>,
}

/// About how many ways lead through a body.
fn decisions(body: &[TypedStatement]) -> i64 {
    let mut sum = 0;
    walk::any_statement(body, &mut |statement| {
        sum += match statement.kind {
            TypedStatementKind::Aggregate { .. } => 8,
            TypedStatementKind::Emit { .. } => 4,
            TypedStatementKind::SetMap { .. } | TypedStatementKind::If { .. } => 3,
            // The kernel calls these in turn in any case.
            TypedStatementKind::ForRange { .. }
            | TypedStatementKind::While { .. }
            | TypedStatementKind::ForMap { .. } => 100,
            _ => 1,
        };
        false
    });
    walk::any_expression_of(body, &mut |expr| {
        sum += match expr.kind {
            TypedExprKind::Stack
            | TypedExprKind::UnwoundStack
            | TypedExprKind::Same { .. }
            | TypedExprKind::Find { .. }
            | TypedExprKind::Difference { .. } => 10,
            TypedExprKind::Read { .. }
            | TypedExprKind::ReadText { .. }
            | TypedExprKind::ReadBuffer { .. }
            | TypedExprKind::Map { .. }
            | TypedExprKind::HasKey { .. }
            | TypedExprKind::AtomicStep { .. }
            | TypedExprKind::Element { .. }
            | TypedExprKind::Compare { .. }
            | TypedExprKind::Select { .. } => 2,
            _ => 0,
        };
        false
    });
    sum
}

/// Whether a loop is a callback.
fn is_callback(statement: &TypedStatement) -> bool {
    let is_small = |rounds: i64, body| rounds.saturating_mul(decisions(body)) <= MAX_INLINE_DECISIONS;
    match &statement.kind {
        TypedStatementKind::ForMap { .. } => true,
        TypedStatementKind::While { body, limit, .. } => !is_small(i64::from(*limit), body),
        TypedStatementKind::ForRange { first, end, body, .. } => match (&first.kind, &end.kind) {
            (TypedExprKind::Integer(first), TypedExprKind::Integer(end)) => !is_small(end.saturating_sub(*first), body),
            _ => true,
        },
        _ => false,
    }
}

impl<'a> Walk<'a> {
    fn used(&mut self, local: LocalId) -> Option<&mut LocalUse> {
        let function = self.function;
        let known = self.uses.get_mut(local.0 as usize)?;
        if !known.functions.contains(&function) {
            known.functions.push(function);
        }
        Some(known)
    }

    fn read(&mut self, local: LocalId) {
        let set = self.set.get(local.0 as usize).copied().unwrap_or(false);
        let inside = self.function != 0;
        if let Some(known) = self.used(local)
            && !set
        {
            known.unset = true;
            known.kept |= inside;
        }
    }

    fn write(&mut self, local: LocalId) {
        self.used(local);
        if let Some(set) = self.set.get_mut(local.0 as usize) {
            *set = true;
        }
    }

    fn expr(&mut self, expr: &'a TypedExpr) {
        match &expr.kind {
            TypedExprKind::Local(local) => self.read(*local),
            TypedExprKind::LocalStep { local, .. } => {
                self.read(*local);
                self.write(*local);
            }
            _ => {}
        }
        let (inside, statements) = walk::parts(expr);
        self.statements(statements);
        // What only one of several ways sets is not certainly set.
        let before = self.set.clone();
        inside.into_iter().for_each(|expr| self.expr(expr));
        if matches!(expr.kind, TypedExprKind::And(..) | TypedExprKind::Or(..) | TypedExprKind::Select { .. }) {
            self.set = before;
        }
    }

    fn statements(&mut self, statements: &'a [TypedStatement]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &'a TypedStatement) {
        if is_callback(statement) {
            return self.callback(statement);
        }
        walk::expressions(statement).into_iter().for_each(|expr| self.expr(expr));
        match &statement.kind {
            TypedStatementKind::SetLocal { local, value } => {
                self.texts.push((*local, value));
                self.write(*local);
            }
            TypedStatementKind::If { then, otherwise, .. } => {
                let before = self.set.clone();
                self.statements(then);
                let after = std::mem::replace(&mut self.set, before);
                self.statements(otherwise);
                self.set.iter_mut().zip(after).for_each(|(set, other)| *set &= other);
            }
            TypedStatementKind::ForRange { body, variable, .. } => {
                let before = self.set.clone();
                variable.iter().for_each(|variable| self.write(*variable));
                self.statements(body);
                self.set = before;
            }
            TypedStatementKind::While { body, .. } => {
                let before = self.set.clone();
                self.statements(body);
                self.set = before;
            }
            TypedStatementKind::Block(body) => self.statements(body),
            _ => {}
        }
    }

    fn callback(&mut self, statement: &'a TypedStatement) {
        if let TypedStatementKind::ForRange { first, end, .. } = &statement.kind {
            self.expr(first);
            self.expr(end);
        }
        let number = u32::try_from(self.callbacks.len()).unwrap_or(u32::MAX).saturating_add(1);
        self.callbacks.insert(std::ptr::from_ref(statement), Callback { number, first: self.frame });
        self.frame += 8;
        let outer = std::mem::replace(&mut self.function, number);
        let nothing = vec![false; self.set.len()];
        let set = std::mem::replace(&mut self.set, nothing);
        match &statement.kind {
            TypedStatementKind::ForRange { variable, .. } => variable.iter().for_each(|variable| self.write(*variable)),
            TypedStatementKind::ForMap { key, value, .. } => {
                self.write(*key);
                value.iter().for_each(|value| self.write(*value));
            }
            TypedStatementKind::While { condition, .. } => self.expr(condition),
            _ => {}
        }
        walk::bodies(statement).into_iter().for_each(|body| self.statements(body));
        self.function = outer;
        self.set = set;
    }
}

impl Analysis {
    pub(super) fn of(probe: &TypedProbe) -> Self {
        let nothing = vec![false; probe.locals.len()];
        let uses = vec![LocalUse::default(); probe.locals.len()];
        let frame = FRAME_VALUES;
        let mut walk = Walk { uses, callbacks: HashMap::new(), function: 0, frame, set: nothing, texts: Vec::new() };
        if let Some(predicate) = &probe.predicate {
            walk.expr(predicate);
        }
        walk.statements(&probe.body);
        let mut frame = walk.frame;
        let place = |(known, local): (&LocalUse, &super::hir::Local)| {
            let bytes = local.ty.bytes().next_multiple_of(8);
            let place = match known.functions.as_slice() {
                [] => LocalLocation::Nowhere,
                [function] if !known.kept => LocalLocation::Function(*function),
                _ if bytes > MAX_FRAME_VALUE => LocalLocation::Scratch,
                _ => {
                    frame += bytes;
                    LocalLocation::Frame(frame - bytes)
                }
            };
            LocalPlacement { place, zeroed: known.unset, padded: matches!(local.ty, Type::Text { .. }) }
        };
        let mut locals: Vec<LocalPlacement> = walk.uses.iter().zip(&probe.locals).map(place).collect();
        while unpad(&mut locals, &walk.texts) {}
        let frame_bytes = if walk.callbacks.is_empty() { 0 } else { frame };
        Self { locals, callbacks: walk.callbacks, frame_bytes }
    }

    /// The callback that a loop becomes, if it does.
    pub(super) fn callback(&self, statement: &TypedStatement) -> Option<Callback> {
        self.callbacks.get(&std::ptr::from_ref(statement)).copied()
    }

    pub(super) fn local(&self, local: LocalId) -> Option<&LocalPlacement> {
        self.locals.get(local.0 as usize)
    }
}

/// Takes back what was assumed of one text; tells whether there was one.
fn unpad(locals: &mut [LocalPlacement], texts: &[(LocalId, &TypedExpr)]) -> bool {
    for (local, value) in texts {
        let padded = is_padded(value, locals);
        if let Some(known) = locals.get_mut(local.0 as usize)
            && known.padded
            && !padded
        {
            known.padded = false;
            return true;
        }
    }
    false
}

/// Whether the bytes after a text's final NUL are NULs, wherever it is written.
pub(super) fn is_padded(expr: &TypedExpr, locals: &[LocalPlacement]) -> bool {
    match &expr.kind {
        TypedExprKind::Text(_)
        | TypedExprKind::Map { .. }
        | TypedExprKind::Builtin(Builtin::Comm | Builtin::LeaderComm | Builtin::ParentComm) => true,
        TypedExprKind::Local(local) => locals.get(local.0 as usize).is_some_and(|known| known.padded),
        TypedExprKind::Part { of, .. } => matches!(of.ty, Type::Tuple(_) | Type::Record(_)),
        TypedExprKind::Select { then, otherwise, .. } => is_padded(then, locals) && is_padded(otherwise, locals),
        TypedExprKind::Block(_, value) => is_padded(value, locals),
        _ => false,
    }
}
