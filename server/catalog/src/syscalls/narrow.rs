//! Structures of 32-bit programs whose members are not those of 64-bit programs in another size.

use super::{
    structs::{action_of, device, hex, is_device, mode},
    table::set,
    text::{Bytes, put},
};

/// `struct compat_stat`, which `stat` fills.
pub(super) fn stat(out: &mut String, b: Bytes<'_>) -> Option<()> {
    file(out, u64::from(b.u16(8)?), u64::from(b.u32(16)?), i64::from(b.u32(20)?))
}

/// `struct stat64`.
pub(super) fn stat64(out: &mut String, b: Bytes<'_>) -> Option<()> {
    file(out, u64::from(b.u32(16)?), b.u64(32)?, b.i64(44)?)
}

fn file(out: &mut String, bits: u64, special: u64, bytes: i64) -> Option<()> {
    out.push_str("{st_mode=");
    mode(out, bits);
    if is_device(bits) {
        out.push_str(", st_rdev=");
        device(out, special);
    } else {
        put(out, format_args!(", st_size={bytes}"));
    }
    out.push_str(", ...}");
    Some(())
}

/// `struct compat_statfs`, whose counts have 4 bytes, or `struct compat_statfs64`, with 8.
pub(super) fn statfs(out: &mut String, b: Bytes<'_>, count: usize) -> Option<()> {
    out.push_str("{f_type=");
    set("fsmagic").write_one(out, u64::from(b.u32(0)?));
    put(out, format_args!(", f_bsize={}", b.u32(4)?));
    for (name, index) in ["blocks", "bfree", "bavail", "files", "ffree"].into_iter().zip(0..) {
        put(out, format_args!(", f_{name}={}", b.word(8 + index * count, count)?));
    }
    let rest = 8 + 5 * count;
    out.push_str(", f_fsid={val=[");
    hex(out, b.u32(rest)?);
    out.push_str(", ");
    hex(out, b.u32(rest + 4)?);
    put(out, format_args!("]}}, f_namelen={}, f_frsize={}, f_flags=", b.u32(rest + 8)?, b.u32(rest + 12)?));
    set("st").write_bits(out, u64::from(b.u32(rest + 16)?));
    out.push('}');
    Some(())
}

/// `struct compat_old_sigaction`: the signals come second.
pub(super) fn old_action(out: &mut String, b: Bytes<'_>) -> Option<()> {
    let member = |index: usize| b.word(index * 4, 4);
    action_of(out, [member(0)?, member(1)?, member(2)?, member(3)?], 4)
}
