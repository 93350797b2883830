//! Structures whole, as `strace -v` writes them; those of 64-bit programs.

use super::{
    structs::{device, is_device, mode},
    table::{ArgumentKind, StructureLayout},
    text::{Bytes, put, quoted},
};
use crate::constants::Arch;

/// Appends a structure whole; `None` of one that is written whole anyway, and of one that is cut.
pub(super) fn whole(out: &mut String, kind: ArgumentKind, bytes: &[u8], layout: StructureLayout) -> Option<()> {
    if layout.is_narrow() {
        return None;
    }
    let length = out.len();
    let b = Bytes(bytes);
    let written = match kind {
        ArgumentKind::Stat => stat(out, b),
        ArgumentKind::Rusage => usage(out, b),
        ArgumentKind::Utsname => names(out, bytes),
        _ => None,
    };
    if written.is_none() {
        out.truncate(length);
    }
    written
}

fn stat(out: &mut String, b: Bytes<'_>) -> Option<()> {
    // Where they have their members, after the inode's number.
    let [mode_at, links_at, uid_at, gid_at, rdev_at, size_at] = match Arch::HOST {
        Arch::Aarch64 => [16, 20, 24, 28, 32, 48],
        Arch::X86_64 => [24, 16, 28, 32, 40, 48],
    };
    let bits = u64::from(b.u32(mode_at)?);
    out.push_str("{st_dev=");
    device(out, b.u64(0)?);
    put(out, format_args!(", st_ino={}, st_mode=", b.u64(8)?));
    mode(out, bits);
    let (links, uid, gid) = (b.u32(links_at)?, b.u32(uid_at)?, b.u32(gid_at)?);
    put(out, format_args!(", st_nlink={links}, st_uid={uid}, st_gid={gid}"));
    put(out, format_args!(", st_blksize={}, st_blocks={}", b.u32(56)?, b.u64(64)?));
    if is_device(bits) {
        out.push_str(", st_rdev=");
        device(out, b.u64(rdev_at)?);
    } else {
        put(out, format_args!(", st_size={}", b.i64(size_at)?));
    }
    for (name, at) in [("st_atime", 72), ("st_mtime", 88), ("st_ctime", 104)] {
        let (seconds, ns) = (b.i64(at)?, b.u64(at + 8)?);
        put(out, format_args!(", {name}={seconds}"));
        if seconds != 0 || ns != 0 {
            put(out, format_args!(" /* {} */", moment(seconds, ns)));
        }
        put(out, format_args!(", {name}_nsec={ns}"));
    }
    out.push('}');
    Some(())
}

/// A moment in universal time.
fn moment(seconds: i64, ns: u64) -> String {
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let part = if ns == 0 { String::new() } else { format!(".{ns:09}") };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{part}+0000")
}

/// The date so many days after the first of January 1970. Years are counted from the first of March, so that the day that
/// only some have is their last.
fn date(days: i64) -> (i64, i64, i64) {
    const DAYS_OF_400_YEARS: i64 = 146_097;
    let days = days.saturating_add(719_468);
    let (era, of_era) = (days.div_euclid(DAYS_OF_400_YEARS), days.rem_euclid(DAYS_OF_400_YEARS));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + 400 * era + i64::from(month <= 2), month, day)
}

fn usage(out: &mut String, b: Bytes<'_>) -> Option<()> {
    const COUNTS: [&str; 14] = [
        "maxrss", "ixrss", "idrss", "isrss", "minflt", "majflt", "nswap", "inblock", "oublock", "msgsnd", "msgrcv",
        "nsignals", "nvcsw", "nivcsw",
    ];
    for (name, at) in [("{ru_utime", 0), (", ru_stime", 16)] {
        put(out, format_args!("{name}={{tv_sec={}, tv_usec={}}}", b.i64(at)?, b.i64(at + 8)?));
    }
    for (name, index) in COUNTS.into_iter().zip(4..) {
        put(out, format_args!(", ru_{name}={}", b.u64(index * 8)?));
    }
    out.push('}');
    Some(())
}

fn names(out: &mut String, bytes: &[u8]) -> Option<()> {
    const NAMES: [&str; 6] = ["sysname", "nodename", "release", "version", "machine", "domainname"];
    for (name, index) in NAMES.into_iter().zip(0..) {
        out.push_str(if index == 0 { "{" } else { ", " });
        put(out, format_args!("{name}="));
        let field = bytes.get(index * 65..(index + 1) * 65)?;
        quoted(out, field.split(|byte| *byte == 0).next().unwrap_or_default());
    }
    out.push('}');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_dates() {
        let cases = [
            (0, 0, "1970-01-01T00:00:00+0000"),
            (1_795_560_018, 81_798_255, "2026-11-24T22:40:18.081798255+0000"),
            (951_782_400, 0, "2000-02-29T00:00:00+0000"),
            (4_107_542_400, 0, "2100-03-01T00:00:00+0000"),
            (-1, 0, "1969-12-31T23:59:59+0000"),
        ];
        for (seconds, ns, expected) in cases {
            assert_eq!(moment(seconds, ns), expected);
        }
        // Whatever a process has put there.
        let _long = (moment(i64::MIN, u64::MAX), moment(i64::MAX, 0));
    }
}
