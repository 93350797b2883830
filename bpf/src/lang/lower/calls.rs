//! Many system calls in one program.
//!
//! The kernel has two tracepoints for each system call. Taking one away waits for a grace period, one after the other, which
//! for all 350 takes a quarter of a minute. So a program for many of them is attached to the one tracepoint of all calls
//! (`raw_syscalls`) and asks in a table which of its attach points the number is. A record of that tracepoint begins like one
//! of a single call: the number at byte 8, the six arguments or the result from byte 16 on.
//!
//! What differs is told apart: a call of a 32-bit program has a number of another table, and the tracepoints of single calls
//! do not report it; numbers of x32 are beyond the table.

use std::collections::BTreeMap;

use bathyscope_catalog::{
    constants::{Arch, syscall_number},
    syscalls::MAX_CALLS,
};
use bathyscope_plan::{Architecture, AttachPoint, CallSide};

use super::{LowerOptions, program::Lower, walk};
use crate::{
    ir::{Helper, IrBinaryOp, MapDefinition, Operand, Reg, Size, Test},
    lang::hir::{self, ProbePoint, TypedExprKind},
    syscalls::CompatPlace,
};

/// Programs for more system calls than this are attached once. A program of few runs less often where it belongs, as the kernel
/// asks for the call before it calls it.
const MOST_SINGLE: usize = 16;
/// Where the number is in the record.
const NUMBER_AT: u32 = 8;
/// Where the first argument or the result is.
const FIRST_AT: u32 = 16;
/// Arguments of a call.
const ARGUMENTS: u32 = 6;
/// Calls whose tracepoints have the names of the kernel's functions and not those of the calls.
const OTHER_NAMES: [(&str, &str); 6] = [
    ("newstat", "stat"),
    ("newfstat", "fstat"),
    ("newlstat", "lstat"),
    ("newuname", "uname"),
    ("sendfile64", "sendfile"),
    ("umount", "umount2"),
];

/// Which calls a program is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Calls {
    /// Before or after them.
    pub side: CallSide,
    /// By number: the place among the program's attach points.
    places: BTreeMap<usize, u32>,
}

/// The call that a tracepoint is for.
fn call_of(point: &AttachPoint, arch: Arch) -> Option<(CallSide, usize)> {
    let AttachPoint::Tracepoint { system, name } = point else { return None };
    if system != "syscalls" {
        return None;
    }
    let (side, name) = match (name.strip_prefix("sys_enter_"), name.strip_prefix("sys_exit_")) {
        (Some(name), _) => (CallSide::Entry, name),
        (_, Some(name)) => (CallSide::Exit, name),
        _ => return None,
    };
    let other = OTHER_NAMES.iter().find(|(function, _call)| *function == name);
    let number = syscall_number(arch, other.map_or(name, |(_function, call)| call))?;
    usize::try_from(number).ok().filter(|number| *number < MAX_CALLS).map(|number| (side, number))
}

/// The sides of which a script has a program for many calls. All its programs for calls on that side are attached in the same
/// way then, as only that keeps their order.
pub(super) fn sides(script: &hir::TypedScript, options: &LowerOptions) -> Vec<CallSide> {
    // Asking whether a call is of a 32-bit program takes the kernel's types, and a helper for programs of this licence.
    if options.architecture != Architecture::X86_64
        || options.compat.is_none()
        || !script.config.license.starts_with("GPL")
    {
        return Vec::new();
    }
    let is_many = |probe: &hir::TypedProbe, side| {
        let points = probe.points.iter().filter(|point| number(point, side).is_some());
        points.count() > MOST_SINGLE && is_like_all(probe, side)
    };
    let mut sides = vec![CallSide::Entry, CallSide::Exit];
    sides.retain(|side| script.probes.iter().any(|probe| is_many(probe, *side)));
    sides
}

fn number(point: &ProbePoint, side: CallSide) -> Option<usize> {
    call_of(&point.point, Arch::X86_64).filter(|(of, _)| *of == side).map(|(_, number)| number)
}

/// What of a probe's attach points one program at `raw_syscalls` serves, on these sides; the rest remains in `points`.
pub(super) fn take<'a>(
    probe: &hir::TypedProbe,
    sides: &[CallSide],
    points: &mut Vec<&'a ProbePoint>,
) -> Vec<(Calls, Vec<&'a ProbePoint>)> {
    let mut found = Vec::new();
    for side in sides.iter().copied().filter(|side| is_like_all(probe, *side)) {
        let (own, others): (Vec<_>, Vec<_>) = points.iter().copied().partition(|point| number(point, side).is_some());
        let numbers = own.iter().zip(0..).filter_map(|(point, place)| Some((number(point, side)?, place)));
        let places: BTreeMap<usize, u32> = numbers.collect();
        // One that is named twice runs twice, which a table cannot tell.
        if places.is_empty() || places.len() != own.len() {
            continue;
        }
        *points = others;
        found.push((Calls { side, places }, own));
    }
    found
}

/// Whether the probe reads only what records of all calls have where those of single ones have it.
fn is_like_all(probe: &hir::TypedProbe, side: CallSide) -> bool {
    let end = FIRST_AT + 8 * if side == CallSide::Entry { ARGUMENTS } else { 1 };
    let is_there = |offset: u32, bytes: u32| offset >= NUMBER_AT && offset.saturating_add(bytes) <= end;
    let mut elsewhere = |expr: &hir::TypedExpr| match &expr.kind {
        TypedExprKind::Context { offset } => !is_there(*offset, expr.ty.bytes()),
        TypedExprKind::ContextAddress { .. }
        | TypedExprKind::DynamicText { .. }
        | TypedExprKind::DynamicAddress { .. } => true,
        _ => false,
    };
    !probe.predicate.as_ref().is_some_and(|predicate| walk::any_expression(predicate, &mut elsewhere))
        && !walk::any_expression_of(&probe.body, &mut elsewhere)
}

impl Calls {
    /// By number: 0, or one more than the index of the attach point in the plan, where the program's first is `first`.
    fn table(&self, first: u32) -> Vec<u8> {
        (0..MAX_CALLS)
            .flat_map(|number| self.places.get(&number).map_or(0, |place| first + place + 1).to_le_bytes())
            .collect()
    }
}

impl Lower<'_> {
    /// Ends the program, uncounted, if the call is none of its own.
    pub(super) fn require_call(&mut self) {
        if self.id.calls.is_none() {
            return;
        }
        let [elsewhere, in_table, own, go_on] = [(); 4].map(|()| self.b.block());
        let number = self.b.load_context(NUMBER_AT, Size::B8, false);
        self.b.branch(Test::Ge, number, MAX_CALLS as i64, elsewhere, in_table);
        self.b.switch_to(in_table);
        let entry = self.call_entry(number);
        self.b.branch(Test::Eq, entry, 0, elsewhere, own);
        self.b.switch_to(own);
        match self.shared.options.compat {
            Some(compat) => {
                let task = self.b.call(Helper::GetCurrentTaskBtf, &[]);
                let status = i16::try_from(compat.status).unwrap_or(i16::MAX);
                let status = self.b.load(task, status, Size::B4, false);
                self.b.branch(Test::Bits, status, CompatPlace::BIT, elsewhere, go_on);
            }
            None => self.b.jump(go_on),
        }
        self.b.switch_to(elsewhere);
        self.b.ret(0);
        self.b.switch_to(go_on);
    }

    /// Which attach point it is, as an index in the plan; in the program itself or a function of it.
    pub(super) fn attach_point_of_call(&mut self) -> Operand {
        let number = self.b.load_context(NUMBER_AT, Size::B8, false);
        // Asked for at the begin of the program; the verifier does not know that any more.
        let number = self.b.binary(IrBinaryOp::And, number, MAX_CALLS as i64 - 1);
        let entry = self.call_entry(number);
        self.b.binary(IrBinaryOp::Sub, entry, 1).into()
    }

    /// What the table has at a number that is within it.
    fn call_entry(&mut self, number: Reg) -> Reg {
        let table = self.id.calls.as_ref().map(|calls| calls.table(self.id.point)).unwrap_or_default();
        let map = self.map(MapDefinition::constant(format!("calls{}", self.id.program), table));
        let table = self.b.global_address(map, 0);
        let offset = self.b.binary(IrBinaryOp::Shl, number, 2);
        let place = self.b.binary(IrBinaryOp::Add, table, offset);
        self.b.load(place, 0, Size::B4, false)
    }
}
