//! What can be recorded at places in programs: the values that a USDT probe passes, by its note, and the arguments of functions, by the
//! calling convention of what compiled them.

use bathyscope_capture::ProgramData;
use bathyscope_catalog::elf::FunctionParameters;

use crate::{
    described::{described_parameters, described_result, is_as_written},
    form::ValueFormat,
    memory::{address_formats, register, registers},
    tree::{ArgumentKind, ArgumentList, ArgumentNode, blank},
};

/// Arguments of a function of which nothing is known.
const NUMBERED: usize = 6;
/// Registers that the Go compiler passes integer arguments in, in order.
#[cfg(not(target_arch = "aarch64"))]
const GO: [&str; 9] = ["ax", "bx", "cx", "di", "si", "r8", "r9", "r10", "r11"];
#[cfg(target_arch = "aarch64")]
const GO: [&str; 9] = ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8"];

/// What the file of a place in user space tells of it, or the kernel's debug information of a place in the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserPlace {
    /// The values that a USDT probe passes; none where it is not known.
    pub passes: Option<Vec<PassedValue>>,
    /// Whether the Go compiler made the file.
    pub go: bool,
    /// What debug information says of the function; none if it says nothing.
    pub function: Option<FunctionParameters>,
    /// What it says of the variables at the place.
    pub data: ProgramData,
    /// Why it says nothing of them, in words; may be empty.
    pub data_missing: String,
}

/// A value that a USDT probe passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassedValue {
    /// Its size: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Whether it is signed.
    pub signed: bool,
    /// Whether it is a floating-point number.
    pub float: bool,
}

/// The values at a place of a provider of user space.
pub(crate) fn user_arguments(provider: &str, function: &str, place: &UserPlace) -> ArgumentList {
    if let Some(list) = described(provider, function, place) {
        return list;
    }
    match (provider, &place.passes) {
        ("usdt", Some(values)) => passed(values),
        ("usdt", None) => {
            let note = "what it passes is not known: arguments go by their number".to_owned();
            ArgumentList { note, ..numbered() }
        }
        ("uretprobe", _) => {
            let note = "its debug information is not on this host: the result is a number, or the address of a text";
            ArgumentList { nodes: vec![register("retval", "retval")], note: note.to_owned(), ..ArgumentList::default() }
        }
        // Behind its begin the registers are the compiler's.
        _ if is_within(function) => {
            let why = match place.data_missing.split_once("; use `arg0`") {
                Some((why, _)) => why,
                None => "debug information does not describe its variables",
            };
            let note = format!(
                "within a function its arguments are no longer in their registers, and {why}: these are the registers as they are \
                 there"
            );
            registers(&note)
        }
        _ if place.go => {
            let nodes = GO.iter().enumerate();
            let nodes =
                nodes.map(|(index, name)| register(&format!("argument {}", index + 1), &format!("reg(\"{name}\")")));
            let note = "its arguments are not known from debug information: these are the registers in which Go passes numbers and \
                        addresses, in order. A receiver is the first; a string takes two, its address and its length; a slice \
                        three";
            ArgumentList { nodes: nodes.collect(), note: note.to_owned(), ..ArgumentList::default() }
        }
        _ => {
            let note = format!("its debug information is not on this host: {}", convention(function));
            ArgumentList { note, ..numbered() }
        }
    }
}

/// What debug information says of a function, where that holds.
fn described(provider: &str, function: &str, place: &UserPlace) -> Option<ArgumentList> {
    // Go has registers of its own.
    let told = place.function.as_ref().filter(|_| !place.go && is_as_written(function))?;
    match provider {
        "uretprobe" => Some(described_result(told)),
        "uprobe" if !is_within(function) => Some(described_parameters(told)),
        _ => None,
    }
}

/// Whether a place is behind the begin of a function: `name+12`.
pub(crate) fn is_within(function: &str) -> bool {
    let number = |digits: &str| match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).is_ok_and(|offset| offset > 0),
        None => digits.parse::<u64>().is_ok_and(|offset| offset > 0),
    };
    function.rsplit_once('+').is_some_and(|(name, digits)| !name.is_empty() && number(digits))
}

/// How arguments are passed, by how the linker's name of the function is made.
fn convention(function: &str) -> &'static str {
    let is_rust = function.starts_with("_R")
        || function.strip_prefix("_ZN").and_then(|rest| rest.rsplit_once("17h")).is_some_and(|(_, hash)| {
            hash.len() == 17 && hash.ends_with('E') && hash.bytes().take(16).all(|byte| byte.is_ascii_hexdigit())
        });
    if is_rust {
        "arguments go by their number. `self` is the first; a &str or slice takes two, its address and its length; where the result \
         is larger than two numbers, the first is the address where it is put"
    } else if function.starts_with("_Z") {
        "arguments go by their number. In a member function `this` is the first; a reference is an address; where the result is an \
         object, the first is the address where it is put"
    } else {
        "arguments go by their number, as numbers or the addresses of texts"
    }
}

/// The values of a USDT probe, with the types that its note has.
fn passed(values: &[PassedValue]) -> ArgumentList {
    let nodes = values.iter().enumerate().map(|(index, value)| {
        let name = format!("arg{index}");
        let PassedValue { bytes, signed, float } = *value;
        let ty = format!("{}int{}", if signed { "" } else { "u" }, u32::from(bytes) * 8);
        let expr = if bytes == 8 && !signed { name.clone() } else { format!("({ty}){name}") };
        if float {
            let note = "a floating-point number, which probes cannot read".to_owned();
            let ty = format!("{} of {bytes} bytes", if bytes == 4 { "float" } else { "double" });
            return ArgumentNode { bytes: Some(bytes.into()), note, ..blank(&name, name.clone(), ty) };
        }
        let formats = match bytes {
            8 => address_formats(),
            _ => vec![ValueFormat::Decimal, ValueFormat::Hex, ValueFormat::Octal],
        };
        let kind = ArgumentKind::Number;
        ArgumentNode { bytes: Some(bytes.into()), kind, formats, ..blank(&name, expr, ty) }
    });
    let note = if values.is_empty() { "it passes nothing" } else { "" };
    ArgumentList { nodes: nodes.collect(), left_out: 0, note: note.to_owned() }
}

/// Arguments of which nothing is known.
pub(crate) fn numbered() -> ArgumentList {
    let nodes = (0..NUMBERED).map(|index| format!("arg{index}")).map(|name| register(&name, &name)).collect();
    ArgumentList { nodes, ..ArgumentList::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(list: &ArgumentList) -> String {
        list.nodes
            .iter()
            .map(|node| format!("{} {} {}", node.ty, node.expr, node.formats.len()))
            .collect::<Vec<_>>()
            .join("; ")
    }

    #[test]
    fn values_of_a_usdt_probe_have_the_types_of_its_note() {
        let value = |bytes, signed, float| PassedValue { bytes, signed, float };
        let place = |values: &[PassedValue]| UserPlace { passes: Some(values.to_vec()), ..UserPlace::default() };
        let some =
            place(&[value(8, false, false), value(4, true, false), value(1, false, false), value(8, true, true)]);
        assert_eq!(
            told(&user_arguments("usdt", "p:n", &some)),
            "uint64 arg0 5; int32 (int32)arg1 3; uint8 (uint8)arg2 3; double of 8 bytes arg3 0"
        );
        assert_eq!(user_arguments("usdt", "p:n", &place(&[])).note, "it passes nothing");
        assert_eq!(user_arguments("usdt", "p:n", &UserPlace::default()).nodes.len(), NUMBERED);
    }

    #[test]
    fn arguments_go_by_the_convention_of_the_compiler() {
        let note = |name: &str, go| user_arguments("uprobe", name, &UserPlace { go, ..UserPlace::default() }).note;
        assert!(note("readline", false).contains("addresses of texts"));
        for rust in ["_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", "_RNvCs1234_7mycrate3foo"] {
            assert!(note(rust, false).contains("&str"), "{rust}");
        }
        assert!(note("_ZN2kv5Store3getERKSs", false).contains("`this` is the first"));
        assert!(note("main+12", false).contains("within a function") && note("operator+", false).contains("addresses"));
        assert!(note("main.handle", true).contains("Go passes"));
        let go = user_arguments("uprobe", "main.handle", &UserPlace { go: true, ..UserPlace::default() });
        assert_eq!((go.nodes[0].expr.clone(), go.nodes.len()), (format!("reg(\"{}\")", GO[0]), GO.len()));
    }
}
