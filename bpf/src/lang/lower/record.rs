//! Records of the ring.
//!
//! A record whose length is known beforehand is reserved in the ring and filled in place; short texts are sent with all of
//! their room for that. A record with longer texts is put together in scratch memory, where each text is read to where it
//! belongs, and copied to the ring with its real length.

use bathyscope_plan::{Action, COMM_BYTES, HEADER_BYTES, Shown, Site, Type};

use super::{
    Result,
    program::{Lower, ScriptCounter, size_of},
    text::MAX_WHOLE_TEXT,
};
use crate::{
    ir::{Helper, IrBinaryOp, Memory, Operand, Reg, Size, Test, moved},
    lang::hir::{Builtin, SiteId, TypedExpr, TypedExprKind},
};

/// A flag of `ringbuf_submit` and `ringbuf_output`: nobody is woken; readers poll.
const NO_WAKEUP: i64 = 1;

/// Where the fields of a site lie.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// Of each field; 0 for texts and buffers.
    pub offsets: Vec<u32>,
    /// Bytes before the first text or buffer.
    pub fixed_bytes: u32,
    /// Bytes of the largest record.
    pub max_bytes: u32,
}

/// Where the fields of a site lie; `comm` if records carry the thread's name.
pub(super) fn layout(site: &Site, comm: bool) -> Layout {
    let mut at = HEADER_BYTES + if comm { COMM_BYTES } else { 0 };
    let mut offsets = Vec::with_capacity(site.fields.len());
    for field in &site.fields {
        if field.ty.has_length() {
            offsets.push(0);
            continue;
        }
        at = at.next_multiple_of(field.ty.alignment().max(1));
        offsets.push(at);
        at = at.saturating_add(field.ty.bytes());
    }
    let fixed_bytes = at;
    for field in site.fields.iter().filter(|field| field.ty.has_length()) {
        at = at.checked_next_multiple_of(4).unwrap_or(u32::MAX).saturating_add(4).saturating_add(room(&field.ty));
    }
    Layout { offsets, fixed_bytes, max_bytes: at }
}

/// Bytes of content that a text or buffer has at most.
fn room(ty: &Type) -> u32 {
    match ty {
        Type::Buffer { bytes } => *bytes,
        other => other.bytes(),
    }
}

/// A field that waits for its place.
enum Ready<'a> {
    /// It is evaluated into the record.
    Later(&'a TypedExpr),
    Number(Operand),
    There(Memory),
}

impl Lower<'_> {
    pub(super) fn emit(&mut self, site: SiteId, arguments: &[TypedExpr]) -> Result<()> {
        let index = site.0 as usize;
        let (Some(layout), Some(plan)) = (self.shared.layouts.get(index), self.shared.script.sites.get(index)) else {
            return self.error("the checked script names a site that it does not have");
        };
        if plan.fields.len() != arguments.len() {
            return self.error("the checked script gives a site other fields than it has");
        }
        let measured = |expr: &&TypedExpr| expr.ty.has_length() && constant_length(expr).is_none();
        if arguments.iter().any(|expr| measured(&expr)) {
            self.output(site, layout, arguments)
        } else {
            self.reserve(site, plan, layout, arguments)
        }
    }

    /// A record of a length that is known.
    fn reserve(&mut self, site: SiteId, plan: &Site, layout: &Layout, arguments: &[TypedExpr]) -> Result<()> {
        // Nothing that may fail or call for memory can be done while a record is reserved.
        let mut ready = Vec::with_capacity(arguments.len());
        for expr in arguments {
            ready.push(if self.is_direct(expr) {
                Ready::Later(expr)
            } else if expr.ty.is_scalar() {
                Ready::Number(self.scalar(expr)?)
            } else {
                Ready::There(self.place_outside_context(expr)?)
            });
        }
        let mut bytes = layout.fixed_bytes;
        for expr in arguments {
            if let Some(length) = constant_length(expr) {
                bytes = bytes.next_multiple_of(4) + 4 + length;
            }
        }
        let ring = self.ring();
        let record = self.b.call(Helper::RingbufReserve, &[ring.into(), i64::from(bytes).into(), 0.into()]);
        let [full, there, done] = [(); 3].map(|()| self.b.block());
        self.b.branch(Test::Eq, record, 0, full, there);
        self.b.switch_to(full);
        self.count(ScriptCounter::RingFull);
        self.b.jump(done);
        self.b.switch_to(there);
        self.header(site, Memory::Pointer(record, 0))?;
        let mut end = layout.fixed_bytes;
        for (((expr, ready), field), offset) in arguments.iter().zip(ready).zip(&plan.fields).zip(&layout.offsets) {
            let Some(length) = constant_length(expr) else {
                let to = self.within(record, *offset)?;
                self.fill(to, &field.ty, ready)?;
                continue;
            };
            let at = end.next_multiple_of(4);
            let to = self.within(record, at)?;
            self.store(to, Size::B4, Operand::Constant(length.into()));
            let to = moved(to, 4);
            match (&expr.kind, ready) {
                (TypedExprKind::Text(text), _) => self.write_exact(text, to, length),
                (_, Ready::There(from)) => self.copy(to, from, length),
                _ => self.write_text(expr, to, length, false)?,
            }
            end = at + 4 + length;
        }
        self.b.call_only(Helper::RingbufSubmit, &[record.into(), NO_WAKEUP.into()]);
        if plan.action == Action::Exit {
            // Only now: a script whose record found no room goes on, and says it again.
            let ended = self.ended();
            self.b.store(ended, 0, Size::B8, 1);
        }
        self.b.jump(done);
        self.b.switch_to(done);
        Ok(())
    }

    fn within(&self, record: Reg, offset: u32) -> Result<Memory> {
        match i16::try_from(offset) {
            Ok(offset) => Ok(Memory::Pointer(record, offset)),
            Err(_too_far) => self.error("this record is too large: send fewer or shorter values"),
        }
    }

    fn fill(&mut self, to: Memory, ty: &Type, ready: Ready<'_>) -> Result<()> {
        match ready {
            Ready::Later(expr) => self.write(expr, to, ty.bytes(), true),
            Ready::Number(value) => {
                self.store(to, size_of(ty.bytes()), value);
                Ok(())
            }
            Ready::There(from) => {
                self.copy(to, from, ty.bytes());
                Ok(())
            }
        }
    }

    /// The bytes of a text without NUL.
    fn write_exact(&mut self, text: &[u8], to: Memory, length: u32) {
        if length > 0 {
            self.write_constant(text, to, length);
        }
    }

    fn header(&mut self, site: SiteId, to: Memory) -> Result<()> {
        self.store(to, Size::B4, Operand::Constant(site.0.into()));
        let probe = self.attach_point();
        self.store(moved(to, 4), Size::B4, probe);
        let shown = self.shared.script.sites.get(site.0 as usize).is_some_and(|site| only_shows(&site.action));
        if self.shared.options.bare && shown {
            self.b.zero(moved(to, 8), HEADER_BYTES - 8);
            return Ok(());
        }
        let now = self.b.call(Helper::KtimeGetNs, &[]);
        self.store(moved(to, 8), Size::B8, now);
        let pid_tgid = self.pid_tgid();
        self.store(moved(to, 20), Size::B4, pid_tgid);
        let pid = self.b.binary(IrBinaryOp::Shr, pid_tgid, 32);
        self.store(moved(to, 16), Size::B4, pid);
        let cpu = self.b.call(Helper::GetSmpProcessorId, &[]);
        // The upper half is the reserved word.
        self.store(moved(to, 24), Size::B8, cpu);
        if self.shared.options.comm {
            self.write_comm(Builtin::Comm, moved(to, HEADER_BYTES))?;
        }
        Ok(())
    }

    /// A record whose length the program finds out.
    fn output(&mut self, site: SiteId, layout: &Layout, arguments: &[TypedExpr]) -> Result<()> {
        // The verifier does not see that rounding up adds nothing to what is a multiple of 4 already.
        let slack = 4 * u32::try_from(arguments.len()).unwrap_or(0) + 8;
        let piece = self.piece(layout.max_bytes.saturating_add(slack))?;
        let record = self.reach(super::program::Where::Scratch(piece));
        self.header(site, record)?;
        for (expr, offset) in arguments.iter().zip(&layout.offsets) {
            if !expr.ty.has_length() {
                self.write(expr, moved(record, *offset), expr.ty.bytes(), true)?;
            }
        }
        // Where the next text begins; from the first one on that is only known when the program runs.
        let mut end = Operand::Constant(layout.fixed_bytes.into());
        for expr in arguments.iter().filter(|expr| expr.ty.has_length()) {
            end = self.append(record, end, expr)?;
        }
        let address = self.b.address_of(record);
        let ring = self.ring();
        let arguments = [ring.into(), address.into(), end, NO_WAKEUP.into()];
        let failed = self.b.call(Helper::RingbufOutput, &arguments);
        self.count_unless_zero(failed, ScriptCounter::RingFull);
        Ok(())
    }

    /// Appends a text or buffer; gives where it ends.
    fn append(&mut self, record: Memory, end: Operand, expr: &TypedExpr) -> Result<Operand> {
        let (place, at) = match end {
            Operand::Constant(end) => {
                let at = (end + 3) & !3;
                (moved(record, u32::try_from(at).unwrap_or(u32::MAX)), Operand::Constant(at))
            }
            Operand::Reg(end) => {
                let up = self.b.binary(IrBinaryOp::Add, end, 3);
                let at = self.b.binary(IrBinaryOp::And, up, !3);
                let base = self.b.address_of(record);
                (Memory::Pointer(self.b.binary(IrBinaryOp::Add, base, at), 0), at.into())
            }
        };
        let length = match &expr.ty {
            Type::Buffer { .. } if matches!(expr.kind, TypedExprKind::ReadBuffer { .. }) => {
                self.read_buffer(expr, place)?
            }
            Type::Buffer { bytes } => {
                let from = self.place_outside_context(expr)?;
                let length = self.b.load_memory(from, Size::B4, false);
                self.copy(place, from, bytes + 4);
                self.at_most(length.into(), i64::from(*bytes))
            }
            _ => {
                let length = match (constant_length(expr), self.read_text(expr, moved(place, 4), room(&expr.ty))?) {
                    (Some(length), _) => Operand::Constant(length.into()),
                    (None, Operand::Constant(length)) => Operand::Constant(length - 1),
                    (None, Operand::Reg(length)) => self.b.binary(IrBinaryOp::Sub, length, 1).into(),
                };
                self.store(place, Size::B4, length);
                length
            }
        };
        Ok(match (at, length) {
            (Operand::Constant(at), Operand::Constant(length)) => Operand::Constant(at + 4 + length),
            (Operand::Reg(reg), Operand::Constant(known)) | (Operand::Constant(known), Operand::Reg(reg)) => {
                self.b.binary(IrBinaryOp::Add, reg, known + 4).into()
            }
            (Operand::Reg(at), Operand::Reg(length)) => {
                let sum = self.b.binary(IrBinaryOp::Add, at, length);
                self.b.binary(IrBinaryOp::Add, sum, 4).into()
            }
        })
    }
}

/// With how many bytes a text is sent, if that does not depend on what it is.
fn constant_length(expr: &TypedExpr) -> Option<u32> {
    match (&expr.kind, &expr.ty) {
        (TypedExprKind::Text(text), _) => u32::try_from(text.len()).ok(),
        (_, Type::Text { bytes } | Type::Shown(Shown::Path { bytes })) if *bytes <= MAX_WHOLE_TEXT => Some(*bytes),
        _ => None,
    }
}

impl Lower<'_> {
    /// Whether a value can be made while a record is reserved: it needs no memory and nothing of it can fail.
    fn is_direct(&self, expr: &TypedExpr) -> bool {
        use TypedExprKind as K;
        let narrow = |of: &TypedExpr| expr.ty != Type::Bool && expr.ty.is_scalar() && of.ty.is_scalar();
        match &expr.kind {
            K::Integer(_) | K::Text(_) | K::Register { .. } => true,
            K::Context { offset } => {
                expr.ty.is_scalar() && *offset >= 8 && offset.is_multiple_of(expr.ty.bytes().max(1))
            }
            K::Convert(of) | K::ByteSwap(of) => narrow(of) && self.is_direct(of),
            K::Builtin(Builtin::Pid | Builtin::Tid) => self.shared.options.pid_namespace.is_none(),
            K::Builtin(builtin) => matches!(
                builtin,
                Builtin::HostPid
                    | Builtin::HostTid
                    | Builtin::Uid
                    | Builtin::Gid
                    | Builtin::Comm
                    | Builtin::Cpu
                    | Builtin::Nanoseconds(_)
                    | Builtin::Cgroup
                    | Builtin::Random
                    | Builtin::CurrentTask
            ),
            _ => false,
        }
    }
}

/// Whether what is done with a record needs nothing but its fields.
fn only_shows(action: &Action) -> bool {
    matches!(action, Action::Print { .. } | Action::PrintValue | Action::PrintElement { .. } | Action::Join { .. })
}
