//! Instructions: which helpers they call, and what their wide constants refer to.

use bathyscope_bpf::{Code, Instruction, ir::Helper};
use bathyscope_protocol::AgentError;

use super::{Allowed, denied, unexpected};

/// The load of a constant of 64 bits, in two halves.
const WIDE_CONSTANT: u8 = 0x18;
/// A call; `src` tells of what.
const CALL: u8 = 0x85;
/// `src` of a call of a helper.
const OF_HELPER: u8 = 0;
/// `src` of a call of a function of the program.
const OF_FUNCTION: u8 = 1;
/// `src` of a wide constant that is a number.
const NUMBER: u8 = 0;
/// `src` of one that is a map, and of one that is the address of a map's value: the loader puts the descriptor in.
const MAPS: [u8; 2] = [1, 2];
/// `src` of one that is a function of the program.
const FUNCTION: u8 = 4;
/// The lowest bits tell the class of an instruction: this one's are the loads of packets, and [`WIDE_CONSTANT`].
const CLASS: u8 = 0x07;
/// Jumps have two classes.
const JUMPS: [u8; 2] = [0x05, 0x06];
/// The operation of a jump that is a call.
const CALLS: u8 = 0x80;
/// The bits that tell the operation.
const OPERATION: u8 = 0xf0;

/// Helpers that change what is observed.
const CHANGING: [Helper; 4] =
    [Helper::ProbeWriteUser, Helper::OverrideReturn, Helper::SendSignal, Helper::SendSignalThread];

/// Checks each instruction of a program.
pub(super) fn check(code: &Code, allowed: Allowed) -> Result<(), AgentError> {
    let mut wide = vec![false; code.instructions.len()];
    let mut instructions = code.instructions.iter().enumerate();
    let mut of_maps = 0;
    while let Some((at, instruction)) = instructions.next() {
        match instruction.code {
            WIDE_CONSTANT => {
                let second = instructions.next().map(|(_at, second)| *second);
                // Its registers and its offset must be zero; the kernel looks at them too.
                if second.is_none_or(|second| (second.code, second.dst, second.src, second.off) != (0, 0, 0, 0)) {
                    return Err(unexpected(format!("half of a constant at instruction {at} of {}", code.name)));
                }
                if MAPS.contains(&instruction.src) {
                    of_maps += 1;
                    if let Some(entry) = wide.get_mut(at) {
                        *entry = true;
                    }
                } else if !matches!(instruction.src, NUMBER | FUNCTION) {
                    return Err(foreign(code, at));
                }
            }
            CALL => check_call(code, at, instruction, allowed)?,
            other if is_unknown(other) => {
                return Err(unexpected(format!("instruction {at} of {} has the code {other:#04x}", code.name)));
            }
            _ => {}
        }
    }
    check_references(code, &wide, of_maps)
}

fn is_unknown(code: u8) -> bool {
    let class = code & CLASS;
    class == WIDE_CONSTANT & CLASS || (JUMPS.contains(&class) && code & OPERATION == CALLS)
}

fn foreign(code: &Code, at: usize) -> AgentError {
    unexpected(format!("instruction {at} of {} refers to what is not the script's", code.name))
}

fn check_call(code: &Code, at: usize, call: &Instruction, allowed: Allowed) -> Result<(), AgentError> {
    match call.src {
        OF_FUNCTION => Ok(()),
        OF_HELPER => match Helper::of_number(call.imm) {
            Some(helper) if CHANGING.contains(&helper) && !allowed.change => Err(denied(format!(
                "the program {} calls bpf_{}, which changes what is observed",
                code.name,
                helper.name()
            ))),
            Some(_known) => Ok(()),
            None => Err(unexpected(format!("instruction {at} of {} calls helper {}", code.name, call.imm))),
        },
        _kernels_function => Err(foreign(code, at)),
    }
}

/// The loader puts the descriptor of a map of the script into each reference. One that it does not know of would be a
/// descriptor of whatever the agent has open under that number.
fn check_references(code: &Code, wide: &[bool], of_maps: usize) -> Result<(), AgentError> {
    let mut last = None;
    for (at, map) in &code.map_references {
        let known = wide.get(*at) == Some(&true) && map.index() < code.maps.len();
        if !known || last >= Some(*at) {
            return Err(foreign(code, *at));
        }
        last = Some(*at);
    }
    if code.map_references.len() == of_maps { Ok(()) } else { Err(foreign(code, 0)) }
}
