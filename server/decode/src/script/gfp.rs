//! What an allocation of memory in the kernel may do (`gfp_t`), for `%gr`: the names that the kernel's own events show.
//!
//! Bits are those of Linux 6.10 and later.

use std::fmt::Write as _;

/// Names for several bits together, the largest first, and then for each bit.
const NAMES: [(u64, &str); 35] = [
    (0x21c_24ca, "GFP_TRANSHUGE"),
    (0x21c_20ca, "GFP_TRANSHUGE_LIGHT"),
    (0x210_0cca, "GFP_HIGHUSER_MOVABLE"),
    (0x10_0cc2, "GFP_HIGHUSER"),
    (0x10_0cc0, "GFP_USER"),
    (0x40_0cc0, "GFP_KERNEL_ACCOUNT"),
    (0xcc0, "GFP_KERNEL"),
    (0xc40, "GFP_NOFS"),
    (0x820, "GFP_ATOMIC"),
    (0xc00, "GFP_NOIO"),
    (0x2800, "GFP_NOWAIT"),
    (1, "GFP_DMA"),
    (1 << 1, "__GFP_HIGHMEM"),
    (1 << 2, "GFP_DMA32"),
    (1 << 5, "__GFP_HIGH"),
    (1 << 6, "__GFP_IO"),
    (1 << 7, "__GFP_FS"),
    (1 << 8, "__GFP_ZERO"),
    (1 << 10, "__GFP_DIRECT_RECLAIM"),
    (1 << 11, "__GFP_KSWAPD_RECLAIM"),
    (1 << 12, "__GFP_WRITE"),
    (1 << 13, "__GFP_NOWARN"),
    (1 << 14, "__GFP_RETRY_MAYFAIL"),
    (1 << 15, "__GFP_NOFAIL"),
    (1 << 16, "__GFP_NORETRY"),
    (1 << 17, "__GFP_MEMALLOC"),
    (1 << 18, "__GFP_COMP"),
    (1 << 19, "__GFP_NOMEMALLOC"),
    (1 << 20, "__GFP_HARDWALL"),
    (1 << 21, "__GFP_THISNODE"),
    (1 << 22, "__GFP_ACCOUNT"),
    (1 << 23, "__GFP_ZEROTAGS"),
    (1 << 24, "__GFP_SKIP_ZERO"),
    (1 << 25, "__GFP_SKIP_KASAN"),
    (1 << 26, "__GFP_NO_OBJ_EXT"),
];

/// The names of all bits, with `|` between them; bits without one as a number.
pub(super) fn flags(value: u64) -> String {
    let (mut left, mut text) = (value, String::new());
    for (bits, name) in NAMES {
        if left & bits == bits {
            left &= !bits;
            text.push_str(if text.is_empty() { "" } else { "|" });
            text.push_str(name);
        }
    }
    if left != 0 {
        let separator = if text.is_empty() { "" } else { "|" };
        // Writing to a String cannot fail.
        let _infallible = write!(text, "{separator}{left:#x}");
    }
    if text.is_empty() { "0".to_owned() } else { text }
}
