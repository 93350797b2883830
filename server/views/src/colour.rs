//! Colours of names: the same name has the same colour everywhere, and kinds of code are families that people who see
//! no difference between red and green can tell apart too.

use crate::{NodeKind, hash::fnv1a_32};

/// Colours in each family.
pub const PALETTE_SIZE: usize = 8;

/// A colour: red, green, blue.
pub type Rgb = [u8; 3];

/// The colours, by family.
///
/// The rule, which the front end repeats: take the family of the kind, hash the name (UTF-8, as shown) with 32-bit FNV-1a
/// (offset 0x811c9dc5, prime 0x01000193), and take the colour at that number modulo [`PALETTE_SIZE`]. The families, in
/// this order:
///
/// 0. processes, threads and events: eight hues that stay apart in all common kinds of colour blindness; without amber
///    and red, which mean lost data and failure here;
/// 1. kernel: sand to olive;
/// 2. user: sky blue to steel blue;
/// 3. inlined: pale blue-green;
/// 4. JIT: mauve;
/// 5. unresolved, and the root: greys.
///
/// Kernel against user is yellowish against blue, the pair that colour blindness leaves; inlined differs from user by
/// being lighter. Text on a colour is [`ink`].
pub const PALETTE: [[Rgb; PALETTE_SIZE]; 6] = [
    [
        [0x33, 0x22, 0x88],
        [0x88, 0xcc, 0xee],
        [0x44, 0xaa, 0x99],
        [0x11, 0x77, 0x33],
        [0x99, 0x99, 0x33],
        [0xdd, 0xcc, 0x77],
        [0xaa, 0x44, 0x99],
        [0x55, 0x77, 0xbb],
    ],
    [
        [0xd9, 0xcb, 0x8a],
        [0xcf, 0xc0, 0x78],
        [0xc6, 0xb8, 0x86],
        [0xe0, 0xd4, 0x9c],
        [0xbf, 0xb3, 0x6e],
        [0xd3, 0xc6, 0x96],
        [0xc9, 0xbf, 0x7c],
        [0xe3, 0xd8, 0x8f],
    ],
    [
        [0x7f, 0xb2, 0xd9],
        [0x6a, 0xa3, 0xd0],
        [0x8c, 0xbc, 0xe3],
        [0x74, 0xa6, 0xc9],
        [0x5f, 0x9a, 0xcb],
        [0x86, 0xb0, 0xdb],
        [0x79, 0xbb, 0xdd],
        [0x6e, 0x9f, 0xd6],
    ],
    [
        [0xbf, 0xe3, 0xe0],
        [0xb2, 0xdb, 0xdb],
        [0xc9, 0xe8, 0xe2],
        [0xb8, 0xe0, 0xd6],
        [0xc2, 0xe0, 0xe6],
        [0xac, 0xd8, 0xd4],
        [0xd0, 0xea, 0xe8],
        [0xb5, 0xdd, 0xe3],
    ],
    [
        [0xcc, 0x9c, 0xc4],
        [0xc0, 0x8e, 0xba],
        [0xd6, 0xa9, 0xcd],
        [0xb9, 0x87, 0xb8],
        [0xc9, 0x94, 0xb9],
        [0xd1, 0xa1, 0xd1],
        [0xbd, 0x93, 0xc6],
        [0xda, 0xb1, 0xcf],
    ],
    [
        [0xb4, 0xb8, 0xbc],
        [0xa9, 0xae, 0xb3],
        [0xbf, 0xc3, 0xc6],
        [0xb0, 0xb0, 0xb6],
        [0xc6, 0xc8, 0xcb],
        [0xa5, 0xa9, 0xac],
        [0xba, 0xbd, 0xc4],
        [0xad, 0xb4, 0xb6],
    ],
];

/// Which family of [`PALETTE`] a kind has.
pub const fn family(kind: NodeKind) -> usize {
    match kind {
        NodeKind::Process => 0,
        NodeKind::Kernel => 1,
        NodeKind::User => 2,
        NodeKind::Inlined => 3,
        NodeKind::Jit => 4,
        NodeKind::Unresolved | NodeKind::Root => 5,
    }
}

/// Which colour of its family a name has: its 32-bit FNV-1a hash modulo [`PALETTE_SIZE`].
pub fn palette_index(name: &str) -> usize {
    fnv1a_32(name.as_bytes()) as usize % PALETTE_SIZE
}

/// The colour of a name.
pub fn colour(kind: NodeKind, name: &str) -> Rgb {
    PALETTE.get(family(kind)).and_then(|family| family.get(palette_index(name))).copied().unwrap_or([0x80; 3])
}

/// Black or white, whichever is easier to read on the colour; the contrast is at least 4.5:1 either way.
pub fn ink(fill: Rgb) -> Rgb {
    // Where black and white are equally far: sqrt(1.05 * 0.05) - 0.05.
    if luminance(fill) > 0.179 { [0; 3] } else { [0xff; 3] }
}

/// Relative luminance of an sRGB colour, 0 to 1.
fn luminance(colour: Rgb) -> f64 {
    let linear = colour.map(|part| {
        let part = f64::from(part) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    linear.iter().zip([0.2126, 0.7152, 0.0722]).map(|(part, weight)| part * weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_can_be_read_on_every_colour() {
        for fill in PALETTE.iter().flatten() {
            let (a, b) = (luminance(*fill), luminance(ink(*fill)));
            let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
            assert!(contrast >= 4.5, "{fill:?}: {contrast}");
        }
    }

    #[test]
    fn no_colour_means_two_things() {
        let mut all: Vec<Rgb> = PALETTE.iter().flatten().copied().collect();
        all.sort_unstable();
        let before = all.len();
        all.dedup();
        assert_eq!(all.len(), before);
    }

    #[test]
    fn a_name_keeps_its_colour() {
        // The front end has the same table of cases.
        let cases = [("", 5), ("a", 4), ("main", 0), ("do_syscall_64", 1), ("größe", 2)];
        for (name, index) in cases {
            assert_eq!(palette_index(name), index, "{name}");
        }
    }
}
