//! Where members lie, as compilers for 64-bit Linux decide it.

/// The largest record, in bytes: bit offsets in BTF have 32 bits.
const MAX_BYTES: u64 = 1 << 28;

/// What an attribute says about alignment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    /// No gaps.
    pub(super) packed: bool,
    /// At least this alignment, in bytes; 0 is none.
    pub(super) align: u64,
}

impl Attributes {
    /// What both say.
    pub(super) fn and(self, other: Self) -> Self {
        Self { packed: self.packed || other.packed, align: self.align.max(other.align) }
    }
}

/// A member that is to be placed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// Size of its type.
    pub(super) bytes: u64,
    /// Alignment of its type.
    pub(super) align: u64,
    /// Its width, if it is a bitfield; 0 ends a unit.
    pub(super) bits: Option<u32>,
    /// Whether it has a name.
    pub(super) named: bool,
    pub(super) attributes: Attributes,
}

/// A struct or union that is being laid out.
#[derive(Clone, Copy, Debug)]
pub(super) struct DefinedLayout {
    union: bool,
    packed: bool,
    /// Behind the last member; in a union behind the largest.
    end_bits: u64,
    align: u64,
}

impl DefinedLayout {
    /// An empty one. `packed` must be known before the first member, though C writes it behind the last.
    pub(super) fn new(union: bool, packed: bool) -> Self {
        Self { union, packed, end_bits: 0, align: 1 }
    }

    /// Places a member: its offset in bits. `None` if the record becomes too large.
    pub(super) fn add(&mut self, member: Wanted) -> Option<u64> {
        let Wanted { bytes, align: natural, bits, named, attributes } = member;
        let packed = self.packed || attributes.packed;
        let align = attributes.align.max(if packed { 1 } else { natural });
        let from = if self.union { 0 } else { self.end_bits };
        let (start, size) = match bits {
            None => (from.checked_next_multiple_of(align * 8)?, bytes.checked_mul(8)?),
            Some(0) => (from.checked_next_multiple_of(natural.max(attributes.align) * 8)?, 0),
            Some(bits) => {
                let mut start = from;
                if attributes.align > 0 {
                    start = start.checked_next_multiple_of(attributes.align * 8)?;
                }
                // A bitfield does not cross the border of a unit of its type.
                let unit = natural * 8;
                if !packed && (start % unit + u64::from(bits)).div_ceil(unit) > (bytes * 8).div_ceil(unit) {
                    start = start.checked_next_multiple_of(unit)?;
                }
                (start, u64::from(bits))
            }
        };
        if bits.is_none() || named {
            self.align = self.align.max(align);
        }
        let end = start.checked_add(size)?;
        self.end_bits = self.end_bits.max(end);
        (self.end_bits <= MAX_BYTES * 8).then_some(start)
    }

    /// Size and alignment in bytes.
    pub(super) fn finish(self, align: u64) -> Option<(u32, u32)> {
        let align = self.align.max(align);
        let bytes = self.end_bits.div_ceil(8).checked_next_multiple_of(align)?;
        Some((u32::try_from(bytes).ok()?, u32::try_from(align).ok()?))
    }
}
