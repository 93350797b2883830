//! Sets of descriptors and of signals, entries of folders, and what comes beside a message.

use super::{
    decode::{CallWriter, value},
    structs::structure,
    table::{ArgumentKind, StructureLayout},
    text::{Bytes, pointer, put},
};

/// Appends the descriptors of a set.
pub(super) fn descriptors(w: &mut CallWriter<'_>, bytes: &[u8]) {
    let nfds = usize::try_from(value(w.call, 0)).unwrap_or(usize::MAX);
    let is_in = |fd: &usize| bytes.get(fd / 8).is_some_and(|byte| byte >> (fd % 8) & 1 == 1);
    w.out.push('[');
    let mut first = true;
    for fd in (0..(bytes.len() * 8).min(nfds)).filter(is_in) {
        if !std::mem::take(&mut first) {
            w.out.push(' ');
        }
        w.descriptor(i32::try_from(fd).unwrap_or(-1));
    }
    if nfds > bytes.len() * 8 {
        w.out.push_str(if first { "..." } else { " ..." });
    }
    w.out.push(']');
}

/// What `select` found: the descriptors of each set that are ready, and the time that was left.
pub(super) fn select_note(w: &mut CallWriter<'_>) {
    let Some(found @ 0..) = w.call.result else { return };
    if found == 0 {
        w.note.push_str("Timeout");
        return;
    }
    let mut parts = Vec::new();
    let before = std::mem::take(&mut w.out);
    for (at, name) in [(1, "in "), (2, "out "), (3, "except ")] {
        if let Some(bytes) = w.piece(at, 0, true).filter(|bytes| bytes.iter().any(|byte| *byte != 0)) {
            w.out.push_str(name);
            descriptors(w, bytes);
            parts.push(std::mem::take(&mut w.out));
        }
    }
    let kind = if w.definition.like == "select" { ArgumentKind::Timeval } else { ArgumentKind::Timespec };
    if let Some(bytes) = w.piece(4, 0, true) {
        w.out.push_str("left ");
        if structure(&mut w.out, kind, bytes, w.definition.layout).is_some() {
            parts.push(std::mem::take(&mut w.out));
        }
    }
    w.out = before;
    w.note = parts.join(", ");
}

/// Appends what `pselect6` gets as its last argument: where the signals are, and how many bytes. They are not copied.
pub(super) fn mask_pointer(out: &mut String, b: Bytes<'_>, layout: StructureLayout) -> Option<()> {
    out.push_str("{sigmask=");
    pointer(out, b.word(0, layout.word)?);
    put(out, format_args!(", sigsetsize={}}}", b.word(layout.word, layout.word)?));
    Some(())
}

/// Appends where the entries of a folder are and how many, where they were counted.
pub(super) fn entries(w: &mut CallWriter<'_>, at: usize) -> Option<()> {
    let count = match w.call.result {
        Some(0) => 0,
        _ => Bytes(w.piece(at, 0, true)?).u32(0)?,
    };
    pointer(&mut w.out, value(w.call, at));
    put(&mut w.out, format_args!(" /* {count} entries */"));
    Some(())
}

/// Appends what comes beside a message; none if some of it is of another kind than descriptors and credentials. `word` is
/// how many bytes a `long` has.
pub(super) fn control(out: &mut String, bytes: &[u8], word: usize) -> Option<()> {
    const SOL_SOCKET: i32 = 1;
    // Of a `struct cmsghdr` before its data.
    let header = word + 8;
    let b = Bytes(bytes);
    let mut at = 0;
    out.push('[');
    while at + header <= bytes.len() {
        let length = usize::try_from(b.word(at, word)?).ok()?;
        let (level, kind) = (b.i32(at + word)?, b.i32(at + word + 4)?);
        let data = bytes.get(at + header..at.checked_add(length)?).filter(|_| level == SOL_SOCKET)?;
        if at > 0 {
            out.push_str(", ");
        }
        put(out, format_args!("{{cmsg_len={length}, cmsg_level=SOL_SOCKET, cmsg_type="));
        match kind {
            1 => {
                let all: Vec<String> =
                    (0..data.len() / 4).filter_map(|index| Some(Bytes(data).i32(4 * index)?.to_string())).collect();
                put(out, format_args!("SCM_RIGHTS, cmsg_data=[{}]", all.join(", ")));
            }
            2 => {
                let (pid, uid, gid) = (Bytes(data).i32(0)?, Bytes(data).u32(4)?, Bytes(data).u32(8)?);
                put(out, format_args!("SCM_CREDENTIALS, cmsg_data={{pid={pid}, uid={uid}, gid={gid}}}"));
            }
            _ => return None,
        }
        out.push('}');
        at += length.next_multiple_of(word);
    }
    out.push(']');
    Some(())
}
