//! The kernel's long lists: tracepoints, functions, symbols.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read},
};

use bathyscope_bpf::lang::host::KernelFunction;

use crate::os::tracefs::Tracefs;

/// The most functions that are kept.
const MAX_FUNCTIONS: usize = 500_000;
/// The longest list that is read.
const MAX_LIST_BYTES: u64 = 64 << 20;
/// Beginnings of names that compilers and linkers make up; they come and go with the build.
const MADE_UP: [&str; 4] = ["__pfx_", "__cfi_", "__probestub_", "__traceiter_"];

/// All tracepoints, as `system:name`, sorted. Those of ftrace itself are descriptions of records, not places in code.
pub(super) fn tracepoints() -> Vec<String> {
    let Ok(file) = Tracefs::find().and_then(|tracefs| {
        tracefs.open("available_events").map_err(|error| crate::error::refused("listing events", &error, ""))
    }) else {
        return Vec::new();
    };
    let lines = BufReader::new(File::from(file).take(MAX_LIST_BYTES)).lines().map_while(Result::ok);
    let mut all: Vec<String> = lines.filter(|line| !line.starts_with("ftrace:")).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Functions that can be probed, sorted by name: those that the kernel can patch, or where it does not tell, all.
pub(super) fn functions() -> Vec<KernelFunction> {
    let listed = Tracefs::find().ok().and_then(|tracefs| tracefs.open("available_filter_functions").ok());
    let mut all = match listed {
        Some(file) => read(File::from(file), filter_function),
        None => File::open("/proc/kallsyms").map_or_else(|_error| Vec::new(), |file| read(file, text_symbol)),
    };
    all.sort_unstable();
    all.dedup();
    all.shrink_to_fit();
    all
}

fn read(file: impl Read, line: fn(&str) -> Option<KernelFunction>) -> Vec<KernelFunction> {
    let mut reader = BufReader::with_capacity(64 << 10, file.take(MAX_LIST_BYTES));
    let (mut all, mut text) = (Vec::new(), String::new());
    while all.len() < MAX_FUNCTIONS && reader.read_line(&mut text).is_ok_and(|bytes| bytes > 0) {
        all.extend(line(text.trim_end()));
        text.clear();
    }
    all
}

/// A line of `available_filter_functions`: a name, and the module in brackets.
fn filter_function(line: &str) -> Option<KernelFunction> {
    let (name, module) = line.split_once(" [").unwrap_or((line, ""));
    function(name, module.trim_end_matches(']'))
}

/// A line of `/proc/kallsyms`: address, kind, name, and the module in brackets after a tab.
fn text_symbol(line: &str) -> Option<KernelFunction> {
    let mut words = line.split(['\t', ' ']).filter(|word| !word.is_empty());
    let (_address, kind, name) = (words.next()?, words.next()?, words.next()?);
    let module = words.next().map_or("", |module| module.trim_matches(['[', ']']));
    // Programs of BPF are listed as a module of that name.
    (matches!(kind, "t" | "T" | "w" | "W") && module != "bpf").then(|| function(name, module))?
}

fn function(name: &str, module: &str) -> Option<KernelFunction> {
    let made_up = name.is_empty() || MADE_UP.iter().any(|begin| name.starts_with(begin));
    (!made_up).then(|| KernelFunction { name: name.to_owned(), module: module.to_owned() })
}

/// How many bytes there are from the begin of a function to the next one; none if the kernel does not tell addresses, or
/// there are several of that name.
pub(crate) fn function_bytes(name: &str) -> Option<u64> {
    let mut addresses = Vec::new();
    each_symbol(|address, found| {
        addresses.extend((found == name).then_some(address));
        true
    })?;
    let [start] = addresses.as_slice() else { return None };
    let mut next = None;
    each_symbol(|address, _name| {
        if address > *start {
            next = Some(next.map_or(address, |next: u64| next.min(address)));
        }
        true
    })?;
    Some(next? - start)
}

/// The address of a symbol; none if there is none, or addresses are hidden.
pub(crate) fn symbol(name: &str) -> Option<u64> {
    let mut wanted = None;
    each_symbol(|address, found| {
        wanted = (found == name).then_some(address);
        wanted.is_none()
    })?;
    wanted
}

/// Shows symbols with addresses that are not hidden, until told to stop; none if they cannot be read.
fn each_symbol(mut show: impl FnMut(u64, &str) -> bool) -> Option<()> {
    let mut reader = BufReader::with_capacity(64 << 10, File::open("/proc/kallsyms").ok()?.take(MAX_LIST_BYTES));
    let mut line = String::new();
    while reader.read_line(&mut line).ok()? > 0 {
        let mut words = line.split_ascii_whitespace();
        if let (Some(address), Some(_kind), Some(name)) = (words.next(), words.next(), words.next())
            && let Ok(address @ 1..) = u64::from_str_radix(address, 16)
            && !show(address, name)
        {
            break;
        }
        line.clear();
    }
    Some(())
}

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "what was skipped is told")]
mod tests {
    use super::*;

    fn of(name: &str, module: &str) -> Option<KernelFunction> {
        Some(KernelFunction { name: name.to_owned(), module: module.to_owned() })
    }

    #[test]
    fn functions_have_a_size_where_the_kernel_tells_addresses() {
        assert_eq!(function_bytes("no such function"), None);
        let Some(start) = symbol("vfs_read") else {
            println!("SKIPPED: sizes of the kernel's functions — addresses that are not hidden");
            return;
        };
        let bytes = function_bytes("vfs_read").unwrap();
        let mut inside = 0;
        each_symbol(|address, _name| {
            inside += u32::from((start..start + bytes).contains(&address));
            true
        });
        assert_eq!(inside, 1, "only the function itself is in its {bytes} bytes");
    }

    #[test]
    fn lines_of_lists_are_read() {
        assert_eq!(filter_function("vfs_read"), of("vfs_read", ""));
        assert_eq!(filter_function("ext4_sync_file [ext4]"), of("ext4_sync_file", "ext4"));
        assert_eq!(filter_function("__pfx_vfs_read"), None);
        assert_eq!(text_symbol("ffffffff81000000 T vfs_read"), of("vfs_read", ""));
        assert_eq!(text_symbol("ffffffffc0000000 t ext4_sync_file\t[ext4]"), of("ext4_sync_file", "ext4"));
        assert_eq!(text_symbol("ffffffffc0000000 t bpf_prog_1_x\t[bpf]"), None);
        assert_eq!(text_symbol("ffffffff82000000 D jiffies"), None);
        assert_eq!(text_symbol(""), None);
    }
}
