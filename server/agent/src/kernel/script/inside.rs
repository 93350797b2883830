//! Probes inside a kernel function: at an offset, which has to be within it and at the begin of an instruction.

use std::io;

use bathyscope_protocol::{AgentError, AgentErrorKind};

use super::points::no_kprobe;
use crate::{error::failed, kernel::host::function_bytes};

/// No instruction is longer, on any processor that there are kernels for here.
const MAX_INSTRUCTION_BYTES: u64 = 15;

/// Opens a probe at an offset that is not 0. Where no instruction begins there, tells where the nearest ones do: the kernel
/// knows, and answers when it is asked for them instead.
pub(super) fn open<E>(
    doing: String,
    function: &str,
    offset: u64,
    open: &mut impl FnMut(u64) -> io::Result<E>,
) -> Result<E, AgentError> {
    // The kernel takes an offset that leads into another function, and would probe that one.
    let bytes = function_bytes(function);
    if let Some(bytes) = bytes.filter(|bytes| offset >= *bytes) {
        let why = format!("`{function}` has {bytes} bytes, and {offset} is behind its end");
        return Err(failed(AgentErrorKind::Invalid, doing, why, "Probe a place in the function."));
    }
    let error = match open(offset) {
        Ok(event) => return Ok(event),
        Err(error) => error,
    };
    if !matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EILSEQ)) {
        return Err(no_kprobe(doing, &error));
    }
    let mut begins = |offset: u64| offset == 0 || open(offset).is_ok();
    let before = (offset.saturating_sub(MAX_INSTRUCTION_BYTES)..offset).rev().find(|offset| begins(*offset));
    let end = bytes.unwrap_or(u64::MAX).min(offset.saturating_add(MAX_INSTRUCTION_BYTES + 1));
    let after = (offset + 1..end).find(|offset| begins(*offset));
    let place = |offset: u64| if offset == 0 { function.to_owned() } else { format!("{function}+{offset}") };
    let near: Vec<String> = before.into_iter().chain(after).map(place).collect();
    // Where the whole function is blocked there is nothing near.
    if near.is_empty() || (after.is_none() && before == Some(0)) {
        return Err(no_kprobe(doing, &error));
    }
    let why = "no instruction begins there, or the kernel blocks it";
    Err(failed(AgentErrorKind::Invalid, doing, why, format!("The nearest places are {}.", near.join(" and "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function that the kernel does not have, with instructions at these offsets.
    fn told(begins: &[u64], offset: u64) -> Result<u64, String> {
        let mut open = |offset: u64| match begins.contains(&offset) {
            true => Ok(offset),
            false => Err(io::Error::from_raw_os_error(libc::EILSEQ)),
        };
        super::open("attaching".to_owned(), "no such function", offset, &mut open).map_err(|error| error.remedy)
    }

    #[test]
    fn the_nearest_instructions_are_told() {
        let begins = [4, 9, 12];
        assert_eq!(told(&begins, 9), Ok(9));
        let near = |words: &str| Err(format!("The nearest places are {words}."));
        assert_eq!(told(&begins, 7), near("no such function+4 and no such function+9"));
        assert_eq!(told(&begins, 3), near("no such function and no such function+4"));
        assert_eq!(told(&begins, 13), near("no such function+12"));
        assert!(told(&[], 3).unwrap_err().contains("function that calls it"));
    }
}
