//! The functions of the kernel, and by which means each of them can be probed.

use std::collections::{BTreeSet, HashMap};

use crate::names::{Names, NamesBuilder, NewName};

/// Beginnings of symbols that are no functions: room before them, and the compiler's checks of indirect calls.
const NO_FUNCTIONS: [&str; 2] = ["__pfx_", "__cfi_"];
/// How symbols begin that stand for places that ftrace has given up.
const GIVEN_UP: &str = "__ftrace_invalid_address___";
/// Programs of BPF are listed as a module of that name, and symbols that the kernel made itself as these.
const NO_MODULES: [&str; 4] = ["bpf", "__builtin__ftrace", "__builtin__kprobes", "__builtin__bpf"];

/// What is known about a function: bits of [`crate::names::Name::flags`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelFunction {
    /// It is in ftrace's list: the kernel can patch its entry.
    pub traceable: bool,
    /// It is in the kernel's own list of functions that a kprobe would break.
    pub blacklisted: bool,
    /// The kernel's types tell what it takes and returns.
    pub typed: bool,
    /// There are several functions of that name.
    pub repeated: bool,
    /// It is among the kernel's symbols; else only ftrace knows it.
    pub symbol: bool,
}

impl KernelFunction {
    const BITS: [u32; 5] = [1, 2, 4, 8, 16];

    /// As bits.
    pub fn flags(self) -> u32 {
        let all = [self.traceable, self.blacklisted, self.typed, self.repeated, self.symbol];
        all.into_iter().zip(Self::BITS).filter(|(is, _bit)| *is).map(|(_, bit)| bit).sum()
    }

    /// From bits.
    pub fn of_flags(flags: u32) -> Self {
        let [traceable, blacklisted, typed, repeated, symbol] = Self::BITS.map(|bit| flags & bit != 0);
        Self { traceable, blacklisted, typed, repeated, symbol }
    }
}

/// Whether the types of a module (of the kernel itself, if empty) describe a function.
pub type HasBtf<'a> = dyn Fn(&str, &str) -> bool + 'a;

/// What the kernel says about its functions.
#[derive(Clone, Copy, Default)]
pub struct KernelFunctionLists<'a> {
    /// `/proc/kallsyms`.
    pub symbols: &'a [u8],
    /// `available_filter_functions` of tracefs; empty if this kernel has none.
    pub traceable: &'a [u8],
    /// `kprobes/blacklist` of debugfs; empty if it cannot be read.
    pub blacklist: &'a [u8],
    /// Whether the types of a module (of the kernel itself, if empty) describe a function.
    pub typed: Option<&'a HasBtf<'a>>,
}

impl std::fmt::Debug for KernelFunctionLists<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = (self.symbols.len(), self.traceable.len(), self.blacklist.len());
        f.debug_struct("KernelFunctions").field("bytes", &bytes).finish_non_exhaustive()
    }
}

impl KernelFunctionLists<'_> {
    /// The functions, each with the module it is in as its group and a [`KernelFunction`] as its flags.
    pub fn names(&self) -> Names {
        let mut all: HashMap<(&str, &str), KernelFunction> = HashMap::with_capacity(self.symbols.len() / 48);
        for (module, name) in lines(self.symbols).filter_map(symbol) {
            let known = all.entry((module, name)).or_default();
            known.repeated |= known.symbol;
            known.symbol = true;
        }
        for (module, name) in lines(self.traceable).filter_map(in_list) {
            all.entry((module, name)).or_default().traceable = true;
        }
        for (module, name) in lines(self.blacklist).filter_map(blacklisted) {
            if let Some(known) = all.get_mut(&(module, name)) {
                known.blacklisted = true;
            }
        }
        let mut names = NamesBuilder::new();
        for ((module, name), mut known) in all {
            known.typed = self.typed.is_some_and(|typed| typed(module, name));
            names.add(NewName { text: name, group: module, flags: known.flags(), ..NewName::default() });
        }
        names.finish()
    }

    /// Whether the kernel shows no addresses to whoever opened its symbols.
    pub fn addresses_are_hidden(&self) -> bool {
        let mut addresses = lines(self.symbols).filter_map(|line| line.split(' ').next()).peekable();
        addresses.peek().is_some() && addresses.all(|address| address.bytes().all(|digit| digit == b'0'))
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &str> {
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.filter_map(|line| std::str::from_utf8(line).ok())
}

/// A line of `/proc/kallsyms`, if it is a function: address, kind, name, and the module in brackets after a tab.
fn symbol(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split(['\t', ' ']).filter(|word| !word.is_empty());
    let (_address, kind, name) = (words.next()?, words.next()?, words.next()?);
    let module = words.next().map_or("", |module| module.trim_matches(['[', ']']));
    let is_function = matches!(kind, "t" | "T" | "w" | "W") && !NO_MODULES.contains(&module);
    (is_function && !NO_FUNCTIONS.iter().any(|begin| name.starts_with(begin))).then_some((module, name))
}

/// A line of `available_filter_functions`: a name, and the module in brackets.
fn in_list(line: &str) -> Option<(&str, &str)> {
    let (name, module) = line.split_once(" [").unwrap_or((line, ""));
    let is_function = !name.is_empty() && !name.starts_with(GIVEN_UP);
    is_function.then_some((module.trim_end_matches(']'), name))
}

/// A line of the list of functions that a probe would break: a range, a tab, and the name as in the list above.
fn blacklisted(line: &str) -> Option<(&str, &str)> {
    in_list(line.split_once('\t')?.1)
}

/// The names of the modules in `/proc/modules`, sorted.
pub fn parse_modules(text: &[u8]) -> BTreeSet<&str> {
    lines(text).filter_map(|line| line.split(' ').next()).collect()
}

/// Which means of probing functions this kernel has: for each, why not; none where it works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probing {
    /// `fentry` and `fexit`.
    pub fentry: Option<String>,
    /// `kprobe` and `kretprobe`.
    pub kprobe: Option<String>,
    /// The tracers `function` and `function_graph`.
    pub ftrace: Option<String>,
    /// Whether the list of functions that a kprobe would break could be read.
    pub blacklist_known: bool,
}

/// A means of probing a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// As it is called: `fentry`, `kprobe`, `ftrace`.
    pub id: &'static str,
    /// What it is good for.
    pub purpose: &'static str,
    /// Why it does not work for this function, without a final stop; none if it does.
    pub why_not: Option<String>,
}

impl Probing {
    /// By which means a function can be probed, and why not by the others. `denied` says why Bathyscope itself refuses it.
    pub fn ways(&self, function: KernelFunction, denied: Option<&str>) -> Vec<Way> {
        let not_traceable = || {
            let why = "not traceable: it is not in the kernel's list of functions whose entry it can patch";
            (!function.traceable).then(|| why.to_owned())
        };
        let denied = || denied.map(|why| format!("not probed by Bathyscope: {why}"));
        let untyped = || {
            let why =
                "the kernel's types do not say what it takes (it is inlined in places, or was cut by the compiler)";
            (!function.typed).then(|| why.to_owned())
        };
        let blacklisted = || {
            let why = "not traceable: it is in the kernel's list of functions that a probe would break";
            function.blacklisted.then(|| why.to_owned())
        };
        let several = || {
            let why = "several functions have this name, and this means takes one";
            function.repeated.then(|| why.to_owned())
        };
        let fentry = self.fentry.clone().or_else(denied).or_else(not_traceable).or_else(untyped).or_else(several);
        let kprobe = self.kprobe.clone().or_else(denied).or_else(blacklisted);
        let ftrace = self.ftrace.clone().or_else(not_traceable);
        vec![
            Way { id: "fentry", purpose: "arguments by their names, and the result; costs least", why_not: fentry },
            Way {
                id: "kprobe",
                purpose: "any function, also inside of it; arguments by their numbers",
                why_not: kprobe,
            },
            Way { id: "ftrace", purpose: "calls as a list or a tree, with durations", why_not: ftrace },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYMBOLS: &[u8] = b"ffffffff81000000 T _text\nffffffff81000010 T vfs_read\nffffffff81000020 t helper\n\
        ffffffff81000030 t helper\nffffffff81000000 D jiffies\nffffffff81000008 t __pfx_vfs_read\n\
        ffffffffc0000000 t ext4_sync_file\t[ext4]\nffffffffc0000100 t bpf_prog_1_x\t[bpf]\nffffffff81000040 W weak\n\
        ffffffff81000050 t do_int3\nbroken\n";

    fn functions() -> Names {
        let typed = |module: &str, name: &str| module.is_empty() && name == "vfs_read";
        let sources = KernelFunctionLists {
            symbols: SYMBOLS,
            traceable: b"vfs_read\nhelper\next4_sync_file [ext4]\n__ftrace_invalid_address___16\n",
            blacklist: b"0xffffffff81000050-0xffffffff81000060\tdo_int3\nnonsense\n",
            typed: Some(&typed),
        };
        assert!(!sources.addresses_are_hidden());
        sources.names()
    }

    #[test]
    fn functions_are_those_of_all_lists_together() {
        let names = functions();
        let shown: Vec<_> =
            names.iter().map(|it| (it.text, it.group.unwrap_or(""), KernelFunction::of_flags(it.flags))).collect();
        let plain = KernelFunction { symbol: true, ..KernelFunction::default() };
        let traceable = KernelFunction { traceable: true, ..plain };
        assert_eq!(
            shown,
            [
                ("_text", "", plain),
                ("do_int3", "", KernelFunction { blacklisted: true, ..plain }),
                ("ext4_sync_file", "ext4", traceable),
                ("helper", "", KernelFunction { repeated: true, ..traceable }),
                ("vfs_read", "", KernelFunction { typed: true, ..traceable }),
                ("weak", "", plain),
            ]
        );
    }

    #[test]
    fn each_means_says_why_it_does_not_serve() {
        let names = functions();
        let function =
            |name: &str| KernelFunction::of_flags(names.get(names.exactly(name).next().unwrap()).unwrap().flags);
        let works = |probing: &Probing, name: &str, denied| -> Vec<&str> {
            let ways = probing.ways(function(name), denied);
            ways.into_iter().filter(|way| way.why_not.is_none()).map(|way| way.id).collect()
        };
        let all = Probing { blacklist_known: true, ..Probing::default() };
        let none = Probing {
            kprobe: Some("no kprobes".into()),
            fentry: Some("no".into()),
            ftrace: Some("no".into()),
            ..all.clone()
        };
        let cases: [(&Probing, &str, Option<&str>, &[&str]); 6] = [
            (&all, "vfs_read", None, &["fentry", "kprobe", "ftrace"]),
            (&all, "vfs_read", Some("it is dangerous"), &["ftrace"]),
            (&all, "helper", None, &["kprobe", "ftrace"]),
            (&all, "weak", None, &["kprobe"]),
            (&all, "do_int3", None, &[]),
            (&none, "vfs_read", None, &[]),
        ];
        for (probing, name, denied, expected) in cases {
            assert_eq!(works(probing, name, denied), expected, "{name}");
        }
        let why = |name| all.ways(function(name), None)[1].why_not.clone();
        assert_eq!(
            why("do_int3").unwrap(),
            "not traceable: it is in the kernel's list of functions that a probe would break"
        );
    }

    #[test]
    fn hidden_addresses_are_noticed() {
        let hidden = |symbols| KernelFunctionLists { symbols, ..KernelFunctionLists::default() }.addresses_are_hidden();
        assert!(hidden(b"0000000000000000 T _text\n0000000000000000 t a\n".as_slice()));
        assert!(!hidden(b"0000000000000000 A percpu\nffffffff81000000 T _text\n".as_slice()));
        assert!(!hidden(b"".as_slice()));
    }

    #[test]
    fn modules_are_named() {
        let text = b"ext4 1 1 - Live 0x0\nxfs 2 0 - Live 0x0 (E)\n\n";
        assert_eq!(parse_modules(text).into_iter().collect::<Vec<_>>(), ["ext4", "xfs"]);
    }
}
