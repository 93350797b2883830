//! A predicate as branches. Its meaning is that of [`Predicate::eval`] on the row that the record would become.

use bathyscope_capture::{CompareOp, Literal, Predicate};
use bathyscope_catalog::{ColumnSource, EventFormat, Operand as Named, check_predicate, in_units};

use super::{
    COMM_BYTES, ProbeError,
    frame::{Frame, load_number},
    text::Texts,
};
use crate::ir::{BlockId, Helper, Operand, Reg, Test};

/// A number and the range of its type.
struct Number {
    reg: Reg,
    bits: u32,
    signed: bool,
}

/// Lowers a predicate into a program.
pub(super) struct Conditions<'a> {
    frame: &'a mut Frame,
    format: &'a EventFormat,
    cpu: Option<Reg>,
    tid: Option<Reg>,
    texts: Texts,
}

impl<'a> Conditions<'a> {
    /// Reads what the predicate asks of the current task. That is done before its first branch, so that it is known
    /// on all paths.
    pub(super) fn new(frame: &'a mut Frame, format: &'a EventFormat, predicate: &Predicate) -> Self {
        let fields = predicate.fields();
        let cpu = fields.contains(&"cpu").then(|| frame.builder.call(Helper::GetSmpProcessorId, &[]));
        let tid = fields.contains(&"tid").then(|| frame.tid());
        let comm = fields.contains(&"comm").then(|| {
            let slot = frame.builder.slot(u32::from(COMM_BYTES));
            let address = frame.builder.slot_address(slot);
            let bytes = Operand::Constant(i64::from(COMM_BYTES));
            frame.builder.call_only(Helper::GetCurrentComm, &[address.into(), bytes]);
            slot
        });
        Self { frame, format, cpu, tid, texts: Texts::new(comm) }
    }

    /// Goes on only where the predicate holds. Gives the CPU's number if it is known then.
    pub(super) fn require(mut self, predicate: &Predicate) -> Result<Option<Reg>, ProbeError> {
        check_predicate(self.format, predicate)?;
        let predicate = &in_units(self.format, predicate)?;
        let holds = self.frame.builder.block();
        let filtered = self.frame.filtered;
        self.lower(predicate, holds, filtered)?;
        self.frame.builder.switch_to(holds);
        Ok(self.cpu)
    }

    fn lower(&mut self, predicate: &Predicate, yes: BlockId, no: BlockId) -> Result<(), ProbeError> {
        if let Some(said) = predicate.as_comparisons() {
            return self.lower(&said, yes, no);
        }
        match predicate {
            Predicate::Not(inner) => self.lower(inner, no, yes),
            Predicate::All(parts) => self.chain(parts, yes, no, true),
            Predicate::Any(parts) => self.chain(parts, yes, no, false),
            // Said by comparisons above, or refused before: no row has what is not known here.
            Predicate::In { .. } | Predicate::Between { .. } | Predicate::HasFrame { .. } => {
                self.frame.builder.jump(no);
                Ok(())
            }
            Predicate::Compare { field, op, value } => {
                let source = Named::resolve(self.format, field)?;
                match value {
                    Literal::Text(wanted) => {
                        self.texts.compare(&mut self.frame.builder, source, *op, wanted, yes, no);
                    }
                    Literal::Negative(constant) => self.compare(source, *op, i128::from(*constant), yes, no),
                    Literal::Number(constant) => self.compare(source, *op, i128::from(*constant), yes, no),
                    // Plain numbers by now.
                    Literal::Amount { .. } => self.frame.builder.jump(no),
                }
                Ok(())
            }
        }
    }

    /// Parts of which all must hold, or of which one must.
    fn chain(&mut self, parts: &[Predicate], yes: BlockId, no: BlockId, all: bool) -> Result<(), ProbeError> {
        let Some((last, first)) = parts.split_last() else {
            self.frame.builder.jump(if all { yes } else { no });
            return Ok(());
        };
        for part in first {
            let next = self.frame.builder.block();
            if all {
                self.lower(part, next, no)?;
            } else {
                self.lower(part, yes, next)?;
            }
            self.frame.builder.switch_to(next);
        }
        self.lower(last, yes, no)
    }

    fn number(&mut self, source: Named) -> Option<Number> {
        let task = |reg| Number { reg, bits: 32, signed: false };
        match source {
            Named::Pid => Some(task(self.frame.tgid)),
            Named::Tid => self.tid.map(task),
            Named::Cpu => self.cpu.map(task),
            Named::Field(ColumnSource::Number { offset, bytes, signed }) => {
                let reg = load_number(&mut self.frame.builder, offset, bytes, signed);
                Some(Number { reg, bits: bytes * 8, signed })
            }
            Named::Comm | Named::Field(_) => None,
        }
    }

    fn compare(&mut self, source: Named, op: CompareOp, constant: i128, yes: BlockId, no: BlockId) {
        let Some(number) = self.number(source) else {
            self.frame.builder.jump(no);
            return;
        };
        let (least, most) = if number.signed {
            (-(1_i128 << (number.bits - 1)), (1_i128 << (number.bits - 1)) - 1)
        } else {
            (0, (1_i128 << number.bits) - 1)
        };
        let builder = &mut self.frame.builder;
        // The bits of a signed number are those of its 64-bit form.
        if op == CompareOp::AnyBit {
            return match bits(constant) {
                0 => builder.jump(no),
                mask => builder.branch(Test::Bits, number.reg, mask, yes, no),
            };
        }
        let outside = match constant {
            c if c < least => Some(matches!(op, CompareOp::Ne | CompareOp::Gt | CompareOp::Ge)),
            c if c > most => Some(matches!(op, CompareOp::Ne | CompareOp::Lt | CompareOp::Le)),
            _ => None,
        };
        if let Some(holds) = outside {
            return builder.jump(if holds { yes } else { no });
        }
        let test = match (op, number.signed) {
            (CompareOp::Eq, _) => Test::Eq,
            (CompareOp::Ne, _) => Test::Ne,
            (CompareOp::Lt, false) => Test::Lt,
            (CompareOp::Le, false) => Test::Le,
            (CompareOp::Gt, false) => Test::Gt,
            (CompareOp::Ge, false) => Test::Ge,
            (CompareOp::Lt, true) => Test::SignedLt,
            (CompareOp::Le, true) => Test::SignedLe,
            (CompareOp::Gt, true) => Test::SignedGt,
            (CompareOp::Ge, true) => Test::SignedGe,
            (CompareOp::AnyBit | CompareOp::Matches | CompareOp::Contains | CompareOp::Regex, _) => {
                return builder.jump(no);
            }
        };
        builder.branch(test, number.reg, bits(constant), yes, no);
    }
}

/// The 64 bits of a constant that fits them, signed or unsigned.
fn bits(constant: i128) -> i64 {
    let [a, b, c, d, e, f, g, h, ..] = constant.to_le_bytes();
    i64::from_le_bytes([a, b, c, d, e, f, g, h])
}
