//! Places in memory.

use super::{Reg, Size, SlotId};

/// A piece of memory at a constant offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// In a stack slot.
    Slot(SlotId, u32),
    /// Behind a pointer into a map's value, a record or a slot.
    Pointer(Reg, i16),
    /// In the context, which can only be read.
    Context(u32),
}

/// The largest piece, `done` bytes after each of these places, that can be accessed at once and is not more than
/// `rest`; none where nothing is left.
pub(crate) fn piece(places: &[Memory], done: u32, rest: usize) -> Option<Size> {
    let aligned = |bytes: u32| {
        places.iter().all(|place| match place {
            Memory::Slot(_, offset) | Memory::Context(offset) => offset.wrapping_add(done).is_multiple_of(bytes),
            Memory::Pointer(_, offset) => {
                i64::from(*offset).wrapping_add(i64::from(done)).cast_unsigned().is_multiple_of(u64::from(bytes))
            }
        })
    };
    [Size::B8, Size::B4, Size::B2, Size::B1]
        .into_iter()
        .find(|size| size.bytes() as usize <= rest && aligned(size.bytes()))
}

/// The place `by` bytes further.
pub(crate) fn moved(place: Memory, by: u32) -> Memory {
    match place {
        Memory::Slot(slot, offset) => Memory::Slot(slot, offset.saturating_add(by)),
        Memory::Context(offset) => Memory::Context(offset.saturating_add(by)),
        Memory::Pointer(reg, offset) => {
            Memory::Pointer(reg, offset.saturating_add(i16::try_from(by).unwrap_or(i16::MAX)))
        }
    }
}
