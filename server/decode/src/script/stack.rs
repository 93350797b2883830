//! Stacks and single addresses by name.

use std::fmt::Write as _;

use bathyscope_plan::StackMode;

use super::{Names, Symbol, terminal::safe_text};

/// A stack: an empty line, then a line for each frame.
pub(super) struct Shape {
    /// Whether of user space.
    pub(super) user: bool,
    /// How it is shown.
    pub(super) mode: StackMode,
    /// The most frames.
    pub(super) frames: u16,
    /// Blanks before each frame.
    pub(super) indent: usize,
    /// Whether names stay as they came.
    pub(super) raw: bool,
}

pub(super) fn text(shape: &Shape, id: u64, pid: u32, names: &dyn Names) -> String {
    let frames = if id == 0 { Vec::new() } else { names.stack(shape.user, id).unwrap_or_default() };
    let mut out = "\n".to_owned();
    for address in frames.into_iter().take(usize::from(shape.frames)) {
        frame(&mut out, shape, address, pid, names);
    }
    out
}

fn frame(out: &mut String, shape: &Shape, address: u64, pid: u32, names: &dyn Names) {
    let symbol = || {
        let symbol = if shape.user { names.user_symbol(pid, address) } else { names.kernel_symbol(address) }?;
        let safe = |text: String| if shape.raw { text } else { safe_text(text) };
        Some(Symbol { name: safe(symbol.name), module: safe(symbol.module), ..symbol })
    };
    let blanks = " ".repeat(shape.indent);
    // Writing to a String cannot fail.
    let _infallible = match shape.mode {
        StackMode::Bpftrace => match symbol() {
            Some(Symbol { name, offset, .. }) => writeln!(out, "{blanks}{name}+{offset}"),
            None => writeln!(out, "{blanks}{address:#x}"),
        },
        StackMode::Perf => match symbol() {
            Some(Symbol { name, offset, module }) if module.is_empty() => {
                writeln!(out, "\t{address:x} {name}+{offset}")
            }
            Some(Symbol { name, offset, module }) => writeln!(out, "\t{address:x} {name}+{offset} ({module})"),
            None => writeln!(out, "\t{address:x} {address:#x} ([unknown])"),
        },
        // These two are for programs, which count on nothing before them.
        StackMode::Raw => writeln!(out, "{address:x}"),
        StackMode::BuildId => match names.build_id(pid, address) {
            Some((id, offset)) => {
                let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
                writeln!(out, "{id} {offset:#x}")
            }
            None => writeln!(out, "{address:#x}"),
        },
    };
}

/// The name at an address of a process, or of the kernel.
pub(super) fn name(pid: Option<u32>, address: u64, names: &dyn Names) -> String {
    let symbol = match pid {
        Some(pid) => names.user_symbol(pid, address),
        None => names.kernel_symbol(address),
    };
    symbol.map_or_else(|| format!("{address:#x}"), |symbol| symbol.name)
}
