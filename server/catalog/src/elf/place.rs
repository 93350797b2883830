//! Where arguments of USDT markers are: the operands that the assembler was given.

use super::file::ElfFile;
use crate::constants::Arch;

/// Where a value is when a marker is hit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgumentLocation {
    /// It is this number.
    Constant(i64),
    /// In a register.
    Register {
        /// Its offset in bytes in `struct pt_regs` (aarch64: `struct user_pt_regs`).
        pt_regs: u16,
        /// How many low bits to leave out: 8 of `%ah`.
        shift: u8,
    },
    /// In memory, at the sum of these.
    Memory {
        /// Offset in `pt_regs` of a register.
        base: Option<u16>,
        /// Offset in `pt_regs` of another register, and what it is multiplied with: 1, 2, 4 or 8.
        index: Option<(u16, u8)>,
        /// A number.
        displacement: i64,
    },
    /// In a register that probes cannot read, such as `%xmm0`, or written in a way that is not understood.
    Unreadable,
}

/// Offsets in `struct pt_regs` of x86_64, with the names of the whole register and its parts of 4, 2 and 1 bytes.
const X86_64: [(u16, [&str; 4]); 9] = [
    (80, ["rax", "eax", "ax", "al"]),
    (40, ["rbx", "ebx", "bx", "bl"]),
    (88, ["rcx", "ecx", "cx", "cl"]),
    (96, ["rdx", "edx", "dx", "dl"]),
    (104, ["rsi", "esi", "si", "sil"]),
    (112, ["rdi", "edi", "di", "dil"]),
    (32, ["rbp", "ebp", "bp", "bpl"]),
    (152, ["rsp", "esp", "sp", "spl"]),
    (128, ["rip", "eip", "ip", ""]),
];
/// The same of `r8` to `r15`.
const X86_64_NUMBERED: [u16; 8] = [72, 64, 56, 48, 24, 16, 8, 0];
/// The instruction pointer.
const X86_64_IP: u16 = 128;

/// Reads an operand of a marker that is at `address` of the file.
pub(super) fn operand(file: &ElfFile<'_>, text: &str, address: u64) -> ArgumentLocation {
    let place = match file.arch() {
        Arch::X86_64 => x86_64(text, &|symbol| {
            // From the instruction pointer, so that it does not matter where the file is loaded.
            let symbol = file.address_of_symbol(symbol)?;
            Some(symbol.wrapping_sub(address).cast_signed())
        }),
        Arch::Aarch64 => aarch64(text),
    };
    place.unwrap_or(ArgumentLocation::Unreadable)
}

/// `%rax`, `$-5`, `-8(%rbp)`, `(%rax,%rbx,8)`, `symbol+4(%rip)`.
fn x86_64(text: &str, symbol: &dyn Fn(&str) -> Option<i64>) -> Option<ArgumentLocation> {
    if let Some(constant) = text.strip_prefix('$') {
        return number(constant).map(ArgumentLocation::Constant);
    }
    if let Some(name) = text.strip_prefix('%') {
        let (pt_regs, shift) = x86_64_register(name)?;
        return Some(ArgumentLocation::Register { pt_regs, shift });
    }
    let (before, inside) = match text.strip_suffix(')') {
        Some(rest) => rest.split_once('(')?,
        None => (text, ""),
    };
    let mut parts = inside.split(',').map(str::trim);
    let whole = |name: &str| x86_64_register(name.strip_prefix('%')?).map(|(pt_regs, _)| pt_regs);
    let base = match parts.next() {
        None | Some("") => None,
        Some(name) => Some(whole(name)?),
    };
    let index = match parts.next() {
        None => None,
        Some(name) => Some(whole(name)?),
    };
    let scale = match parts.next() {
        None => 1,
        Some(scale) => u8::try_from(number(scale)?).ok().filter(|scale| matches!(scale, 1 | 2 | 4 | 8))?,
    };
    if parts.next().is_some() {
        return None;
    }
    if base == Some(X86_64_IP) {
        // A number alone would count from the instruction that the operand was never part of.
        let displacement = symbol_and_number(before, symbol)?;
        return index.is_none().then_some(ArgumentLocation::Memory { base, index: None, displacement });
    }
    let displacement = if before.is_empty() { 0 } else { number(before)? };
    if base.is_none() && index.is_none() {
        return None;
    }
    Some(ArgumentLocation::Memory { base, index: index.map(|index| (index, scale)), displacement })
}

/// `symbol`, `symbol+8`, `symbol-8`, `8+symbol`.
fn symbol_and_number(text: &str, symbol: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
    if let Some(at) = text.get(1..)?.rfind(['+', '-']).map(|at| at + 1) {
        let (left, right) = text.split_at(at);
        if let Some(offset) = number(right) {
            return symbol(left)?.checked_add(offset);
        }
        return symbol(right.strip_prefix('+')?)?.checked_add(number(left)?);
    }
    symbol(text)
}

fn x86_64_register(name: &str) -> Option<(u16, u8)> {
    if let Some((pt_regs, _)) = X86_64.iter().find(|(_, names)| !name.is_empty() && names.contains(&name)) {
        return Some((*pt_regs, 0));
    }
    if let Some(high) = ["ah", "bh", "ch", "dh"].iter().position(|high| *high == name) {
        return Some((*[80, 40, 88, 96].get(high)?, 8));
    }
    let digits = name.strip_prefix('r')?.trim_end_matches(['d', 'w', 'b']);
    let number: usize = digits.parse().ok()?;
    Some((*X86_64_NUMBERED.get(number.checked_sub(8)?)?, 0))
}

/// `x0`, `w3`, `5`, `[sp, 24]`, `[x0]`, `[x1, x2]`.
fn aarch64(text: &str) -> Option<ArgumentLocation> {
    if let Some(inside) = text.strip_prefix('[') {
        let mut parts = inside.strip_suffix(']')?.split(',').map(str::trim);
        let base = Some(aarch64_register(parts.next()?)?);
        let (mut index, mut displacement) = (None, 0);
        if let Some(second) = parts.next() {
            match aarch64_register(second) {
                Some(register) => index = Some((register, 1)),
                None => displacement = number(second.strip_prefix('#').unwrap_or(second))?,
            }
        }
        // A third part would shift or widen the second.
        return parts.next().is_none().then_some(ArgumentLocation::Memory { base, index, displacement });
    }
    if matches!(text, "xzr" | "wzr") {
        return Some(ArgumentLocation::Constant(0));
    }
    match aarch64_register(text) {
        Some(pt_regs) => Some(ArgumentLocation::Register { pt_regs, shift: 0 }),
        None => number(text.strip_prefix('#').unwrap_or(text)).map(ArgumentLocation::Constant),
    }
}

fn aarch64_register(name: &str) -> Option<u16> {
    match name {
        "sp" | "wsp" => return Some(248),
        "pc" => return Some(256),
        "lr" => return Some(240),
        "fp" => return Some(232),
        _ => {}
    }
    let number: u16 = name.strip_prefix(['x', 'w'])?.parse().ok()?;
    (number <= 30).then_some(number * 8)
}

/// A number with sign, in decimal, hexadecimal or octal.
fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8).ok()?,
        None => digits.parse().ok()?,
    };
    // Constants are written with 64 bits, with or without sign.
    Some(if negative { 0_i64.wrapping_sub_unsigned(value) } else { value.cast_signed() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(base: impl Into<Option<u16>>, index: Option<(u16, u8)>, displacement: i64) -> Option<ArgumentLocation> {
        Some(ArgumentLocation::Memory { base: base.into(), index, displacement })
    }

    fn register(pt_regs: u16, shift: u8) -> Option<ArgumentLocation> {
        Some(ArgumentLocation::Register { pt_regs, shift })
    }

    #[test]
    fn operands_of_x86_64() {
        let symbols = |name: &str| (name == "value").then_some(0x100);
        let cases = [
            ("%rax", register(80, 0)),
            ("%eax", register(80, 0)),
            ("%ah", register(80, 8)),
            ("%dil", register(112, 0)),
            ("%r8d", register(72, 0)),
            ("%r15", register(0, 0)),
            ("%r16", None),
            ("%r7", None),
            ("%xmm0", None),
            ("%", None),
            ("$5", Some(ArgumentLocation::Constant(5))),
            ("$-5", Some(ArgumentLocation::Constant(-5))),
            ("$0xff", Some(ArgumentLocation::Constant(255))),
            ("$18446744073709551615", Some(ArgumentLocation::Constant(-1))),
            ("$", None),
            ("-8(%rbp)", memory(32, None, -8)),
            ("(%rax)", memory(80, None, 0)),
            ("8(%rax,%rbx,4)", memory(80, Some((40, 4)), 8)),
            ("(%rax,%rbx)", memory(80, Some((40, 1)), 0)),
            ("16(,%rcx,8)", memory(None, Some((88, 8)), 16)),
            ("8(%rax,%rbx,3)", None),
            ("8(%rax,%rbx,4,5)", None),
            ("value(%rip)", memory(128, None, 0x100)),
            ("value+8(%rip)", memory(128, None, 0x108)),
            ("value-8(%rip)", memory(128, None, 0xf8)),
            ("8+value(%rip)", memory(128, None, 0x108)),
            ("other(%rip)", None),
            ("4(%rip)", None),
            ("(%rip)", None),
            ("8(%rax", None),
            ("8", None),
            ("()", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(x86_64(text, &symbols), expected, "{text:?}");
        }
    }

    #[test]
    fn operands_of_aarch64() {
        let cases = [
            ("x0", register(0, 0)),
            ("w30", register(240, 0)),
            ("x31", None),
            ("sp", register(248, 0)),
            ("xzr", Some(ArgumentLocation::Constant(0))),
            ("5", Some(ArgumentLocation::Constant(5))),
            ("-5", Some(ArgumentLocation::Constant(-5))),
            ("[sp]", memory(248, None, 0)),
            ("[sp, 24]", memory(248, None, 24)),
            ("[x29, #-8]", memory(232, None, -8)),
            ("[x1,x2]", memory(8, Some((16, 1)), 0)),
            ("[x1,w2,sxtw]", None),
            ("[x1", None),
            ("d0", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(aarch64(text), expected, "{text:?}");
        }
    }
}
