//! Bytes of a function → its instructions as text, as other tools write them (AT&T).

use crate::answers::Flow;
use bathyscope_capture::Machine;
use iced_x86::{Decoder, DecoderOptions, Formatter as _, GasFormatter, Mnemonic, OpKind};

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Offset in the function in bytes.
    pub at: u32,
    /// Its bytes.
    pub length: u32,
    /// As text; empty where this machine's instructions are not read.
    pub text: String,
    /// Where it goes.
    pub flow: Flow,
    /// The address that it jumps to or calls, where it names one.
    pub target: Option<u64>,
}

/// The instructions of a function whose first byte has `address`. Those of aarch64 have no text; of other machines there are
/// none.
pub fn instructions(machine: Machine, bytes: &[u8], address: u64) -> Vec<Instruction> {
    match machine {
        Machine::X86_64 => x86(64, bytes, address),
        Machine::X86 => x86(32, bytes, address),
        Machine::Aarch64 => (0_u32..).step_by(4).zip(bytes.chunks_exact(4)).map(|(at, _)| word(at)).collect(),
        Machine::Other => Vec::new(),
    }
}

fn word(at: u32) -> Instruction {
    Instruction { at, length: 4, text: String::new(), flow: Flow::Next, target: None }
}

fn x86(bits: u32, bytes: &[u8], address: u64) -> Vec<Instruction> {
    let mut decoder = Decoder::with_ip(bits, bytes, address, DecoderOptions::NONE);
    let mut formatter = formatter();
    let mut found = Vec::new();
    let mut read = iced_x86::Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut read);
        let mut text = String::new();
        formatter.format(&read, &mut text);
        // As others do: where the operand lies, which its distance does not tell a reader.
        if read.is_ip_rel_memory_operand() {
            text.push_str(&format!("  # {:x}", read.ip_rel_memory_address()));
        }
        let at = u32::try_from(read.ip().wrapping_sub(address)).unwrap_or(u32::MAX);
        let length = u32::try_from(read.len()).unwrap_or(0);
        found.push(Instruction { at, length, text, flow: flow(&read), target: target(&read) });
    }
    found
}

fn formatter() -> GasFormatter {
    let mut formatter = GasFormatter::new();
    let options = formatter.options_mut();
    options.set_uppercase_hex(false);
    options.set_small_hex_numbers_in_decimal(false);
    options.set_branch_leading_zeros(false);
    options.set_rip_relative_addresses(true);
    options.set_first_operand_char_index(7);
    formatter
}

fn flow(read: &iced_x86::Instruction) -> Flow {
    match read.mnemonic() {
        Mnemonic::Call => Flow::Call,
        Mnemonic::Ret | Mnemonic::Retf | Mnemonic::Iretq | Mnemonic::Sysretq => Flow::Return,
        Mnemonic::Jmp => Flow::Jump,
        _ if target(read).is_some() => Flow::Jump,
        _ => Flow::Next,
    }
}

fn target(read: &iced_x86::Instruction) -> Option<u64> {
    let near = matches!(read.op0_kind(), OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64);
    (read.op_count() == 1 && near).then(|| read.near_branch_target())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `spin_inner` of `tests/programs/spin.c`, as gcc 14 made it.
    const SPIN_INNER: [u8; 52] = [
        0x55, 0x48, 0x89, 0xe5, 0xc7, 0x45, 0xfc, 0, 0, 0, 0, 0xeb, 0x1b, 0x8b, 0x45, 0xfc, 0x48, 0x63, 0xd0, 0x48,
        0x8b, 0x05, 0x79, 0x2e, 0, 0, 0x48, 0x01, 0xd0, 0x48, 0x89, 0x05, 0x6f, 0x2e, 0, 0, 0x83, 0x45, 0xfc, 0x01,
        0x81, 0x7d, 0xfc, 0x3f, 0x42, 0x0f, 0, 0x7e, 0xdc, 0x90, 0x5d, 0xc3,
    ];

    /// What objdump says of it, but for the spaces between words, the names of places, and the `0x` of addresses.
    const BY_OBJDUMP: [(u32, &str); 15] = [
        (0x0, "push %rbp"),
        (0x1, "mov %rsp,%rbp"),
        (0x4, "movl $0x0,-0x4(%rbp)"),
        (0xb, "jmp 0x11bd"),
        (0xd, "mov -0x4(%rbp),%eax"),
        (0x10, "movslq %eax,%rdx"),
        (0x13, "mov 0x2e79(%rip),%rax # 4028"),
        (0x1a, "add %rdx,%rax"),
        (0x1d, "mov %rax,0x2e6f(%rip) # 4028"),
        (0x24, "addl $0x1,-0x4(%rbp)"),
        (0x28, "cmpl $0xf423f,-0x4(%rbp)"),
        (0x2f, "jle 0x11a2"),
        (0x31, "nop"),
        (0x32, "pop %rbp"),
        (0x33, "ret"),
    ];

    #[test]
    fn instructions_read_as_objdump_writes_them() {
        let found = instructions(Machine::X86_64, &SPIN_INNER, 0x1195);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said: Vec<(u32, String)> = found.iter().map(|one| (one.at, words(&one.text))).collect();
        let expected: Vec<(u32, String)> = BY_OBJDUMP.iter().map(|(at, text)| (*at, (*text).to_owned())).collect();
        assert_eq!(said, expected);
        let jumps: Vec<_> = found.iter().filter_map(|one| Some((one.at, one.flow, one.target?))).collect();
        assert_eq!(jumps, [(0xb, Flow::Jump, 0x11bd), (0x2f, Flow::Jump, 0x11a2)]);
        assert_eq!(found.last().map(|last| (last.flow, last.length)), Some((Flow::Return, 1)));
    }

    #[test]
    fn what_is_no_instruction_or_is_cut_off_is_said() {
        let found = instructions(Machine::X86_64, &[0x06, 0x48, 0x8b], 0);
        assert!(found.iter().all(|one| one.text.contains("bad")), "{found:?}");
        assert_eq!(found.iter().map(|one| one.length).sum::<u32>(), 3);
        assert_eq!(instructions(Machine::X86, &[0x40], 0)[0].text.trim(), "inc    %eax");
    }

    #[test]
    fn words_of_aarch64_have_no_text_and_others_are_not_read() {
        let found = instructions(Machine::Aarch64, &[0; 9], 0);
        assert_eq!(found.iter().map(|one| (one.at, one.text.as_str())).collect::<Vec<_>>(), [(0, ""), (4, "")]);
        assert!(instructions(Machine::Other, &[0; 9], 0).is_empty());
    }
}
