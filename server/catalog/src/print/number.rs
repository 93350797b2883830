//! Integers as C computes with them on a 64-bit machine.

/// An integer of 4 or 8 bytes. `bits` are extended to 64 as its sign wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PrintInt {
    pub(super) bits: u64,
    pub(super) bytes: u8,
    pub(super) signed: bool,
}

/// What stands between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BinaryOp {
    Multiply,
    Divide,
    Remainder,
    Add,
    Subtract,
    ShiftLeft,
    ShiftRight,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    And,
    Xor,
    Or,
    BothTrue,
    AnyTrue,
}

/// What stands before an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnaryOp {
    Minus,
    Complement,
    Not,
}

/// The low `bytes` of `bits`, extended to 64 bits.
pub(super) fn extended(bits: u64, bytes: u8, signed: bool) -> u64 {
    let unused = 64 - 8 * u32::from(bytes.clamp(1, 8));
    if signed { ((bits << unused).cast_signed() >> unused).cast_unsigned() } else { bits << unused >> unused }
}

impl PrintInt {
    /// A number of the type `int`, or `long` if it does not fit.
    pub(super) fn signed(value: i64) -> Self {
        let bytes = if i32::try_from(value).is_ok() { 4 } else { 8 };
        Self { bits: value.cast_unsigned(), bytes, signed: true }
    }

    /// A number of the type `unsigned long`.
    pub(super) fn unsigned(bits: u64) -> Self {
        Self { bits, bytes: 8, signed: false }
    }

    /// What was read of `bytes` bytes; those smaller than `int` become it.
    pub(super) fn read(bits: u64, bytes: u8, signed: bool) -> Self {
        let bits = extended(bits, bytes, signed);
        if bytes < 4 { Self { bits, bytes: 4, signed: true } } else { Self { bits, bytes: bytes.min(8), signed } }
    }

    pub(super) fn is_true(self) -> bool {
        self.bits != 0
    }

    fn truth(value: bool) -> Self {
        Self::signed(i64::from(value))
    }

    /// The type of both operands of an operation.
    fn common(self, other: Self) -> (u8, bool) {
        let bytes = self.bytes.max(other.bytes);
        let unsigned = |number: Self| number.bytes == bytes && !number.signed;
        (bytes, !unsigned(self) && !unsigned(other))
    }

    pub(super) fn unary(self, op: UnaryOp) -> Self {
        let bits = match op {
            UnaryOp::Minus => self.bits.wrapping_neg(),
            UnaryOp::Complement => !self.bits,
            UnaryOp::Not => return Self::truth(self.bits == 0),
        };
        Self { bits: extended(bits, self.bytes, self.signed), ..self }
    }

    /// None for a division by zero. What C leaves undefined gives some number.
    pub(super) fn binary(self, op: BinaryOp, other: Self) -> Option<Self> {
        let (bytes, signed) = match op {
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => (self.bytes, self.signed),
            _ => self.common(other),
        };
        let (a, b) = (extended(self.bits, bytes, signed), extended(other.bits, bytes, signed));
        let (sa, sb) = (a.cast_signed(), b.cast_signed());
        let less = if signed { sa < sb } else { a < b };
        let shift = u32::try_from(other.bits).unwrap_or(64);
        let bits = match op {
            BinaryOp::Multiply => a.wrapping_mul(b),
            BinaryOp::Divide if signed => sa.checked_div(sb)?.cast_unsigned(),
            BinaryOp::Divide => a.checked_div(b)?,
            BinaryOp::Remainder if signed => sa.checked_rem(sb)?.cast_unsigned(),
            BinaryOp::Remainder => a.checked_rem(b)?,
            BinaryOp::Add => a.wrapping_add(b),
            BinaryOp::Subtract => a.wrapping_sub(b),
            BinaryOp::ShiftLeft => self.bits.checked_shl(shift).unwrap_or(0),
            BinaryOp::ShiftRight if signed => (self.bits.cast_signed() >> shift.min(63)).cast_unsigned(),
            BinaryOp::ShiftRight => self.bits.checked_shr(shift).unwrap_or(0),
            BinaryOp::And => a & b,
            BinaryOp::Xor => a ^ b,
            BinaryOp::Or => a | b,
            BinaryOp::Less => return Some(Self::truth(less)),
            BinaryOp::GreaterOrEqual => return Some(Self::truth(!less)),
            BinaryOp::Greater => return Some(Self::truth(!less && a != b)),
            BinaryOp::LessOrEqual => return Some(Self::truth(less || a == b)),
            BinaryOp::Equal => return Some(Self::truth(a == b)),
            BinaryOp::NotEqual => return Some(Self::truth(a != b)),
            BinaryOp::BothTrue => return Some(Self::truth(self.is_true() && other.is_true())),
            BinaryOp::AnyTrue => return Some(Self::truth(self.is_true() || other.is_true())),
        };
        Some(Self { bits: extended(bits, bytes, signed), bytes, signed })
    }
}

impl BinaryOp {
    /// The operator and how tightly it binds; more is tighter.
    pub(super) fn of(mark: &str) -> Option<(Self, u8)> {
        Some(match mark {
            "*" => (Self::Multiply, 10),
            "/" => (Self::Divide, 10),
            "%" => (Self::Remainder, 10),
            "+" => (Self::Add, 9),
            "-" => (Self::Subtract, 9),
            "<<" => (Self::ShiftLeft, 8),
            ">>" => (Self::ShiftRight, 8),
            "<" => (Self::Less, 7),
            "<=" => (Self::LessOrEqual, 7),
            ">" => (Self::Greater, 7),
            ">=" => (Self::GreaterOrEqual, 7),
            "==" => (Self::Equal, 6),
            "!=" => (Self::NotEqual, 6),
            "&" => (Self::And, 5),
            "^" => (Self::Xor, 4),
            "|" => (Self::Or, 3),
            "&&" => (Self::BothTrue, 2),
            "||" => (Self::AnyTrue, 1),
            _ => return None,
        })
    }
}
