//! Colours of names.

use crate::NodeKind;

/// Colours in each family.
pub const PALETTE_SIZE: usize = 8;

/// A colour: red, green, blue.
pub type Rgb = [u8; 3];

/// The colours by family.
pub const PALETTE: [[Rgb; PALETTE_SIZE]; 6] = [[[0; 3]; PALETTE_SIZE]; 6];

/// Which colour of its family a name has: its 32-bit FNV-1a hash modulo [`PALETTE_SIZE`].
pub fn palette_index(name: &str) -> usize {
    let _ = name;
    unimplemented!()
}

/// The colour of a name.
pub fn colour(kind: NodeKind, name: &str) -> Rgb {
    let _ = (kind, name);
    unimplemented!()
}

/// Black or white, whichever is easier to read on the colour.
pub fn ink(fill: Rgb) -> Rgb {
    let _ = fill;
    unimplemented!()
}
