//! The kernel's functions by name, and what those that it has not are called in it.

use std::collections::BTreeMap;

use crate::suggest::closest;

/// The most functions that are kept.
const MAX_FUNCTIONS: usize = 1 << 21;
/// The longest name, as in the kernel.
const MAX_NAME_BYTES: usize = 512;
/// The most names that are suggested.
const MAX_SUGGESTED: usize = 3;
/// What compilers put behind the names of functions that they changed.
const CHANGED: [&str; 3] = [".isra.", ".constprop.", ".part."];

/// Functions that were renamed or split from one kernel to another, and what does their work elsewhere.
const RENAMED: &[(&str, &[&str])] = &[
    ("do_sys_open", &["do_sys_openat2"]),
    ("do_fork", &["kernel_clone", "_do_fork"]),
    ("_do_fork", &["kernel_clone", "do_fork"]),
    ("kernel_clone", &["_do_fork", "do_fork"]),
    ("do_execve", &["do_execveat_common", "__do_execve_file", "bprm_execve"]),
    ("do_page_fault", &["do_user_addr_fault", "exc_page_fault", "handle_mm_fault"]),
    ("__do_page_fault", &["do_user_addr_fault", "handle_mm_fault"]),
    ("clear_huge_page", &["folio_zero_user"]),
    ("folio_zero_user", &["clear_huge_page"]),
    ("add_to_page_cache_lru", &["filemap_add_folio"]),
    ("mark_page_accessed", &["folio_mark_accessed"]),
    ("account_page_dirtied", &["folio_account_dirtied"]),
    ("__set_page_dirty", &["__folio_mark_dirty"]),
    ("blk_account_io_start", &["blk_mq_start_request", "blk_start_request"]),
    ("blk_start_request", &["blk_mq_start_request"]),
    ("blk_account_io_completion", &["blk_account_io_done", "blk_mq_end_request"]),
    ("generic_make_request", &["submit_bio_noacct"]),
    ("kmem_cache_alloc", &["kmem_cache_alloc_noprof"]),
    ("__kmalloc", &["__kmalloc_noprof"]),
    ("kfree_skb", &["kfree_skb_reason", "sk_skb_reason_drop"]),
    ("kfree_skb_reason", &["sk_skb_reason_drop", "kfree_skb"]),
];

/// Functions that exist and are hardly ever called, and why.
const SELDOM: &[(&str, &str, &str)] = &[(
    "do_sys_open",
    "do_sys_openat2",
    "in this kernel open() and openat() go straight to do_sys_openat2, so do_sys_open is hardly ever called; probe \
     do_sys_openat2 to see them",
)];

/// What names of system calls begin with, in the kernels of several times and processors.
const CALLS: [&str; 8] = ["__x64_sys_", "__arm64_sys_", "__se_sys_", "__do_sys_", "ksys_", "SyS_", "do_sys_", "sys_"];

/// The names of the kernel's functions, each with the modules that have one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelFunctions {
    /// Empty for the kernel itself.
    modules: Vec<Box<str>>,
    names: BTreeMap<Box<str>, Vec<u16>>,
}

impl KernelFunctions {
    /// Reads the text of `/proc/kallsyms`: `ADDRESS KIND NAME [MODULE]` a line. What is no function, and what cannot be
    /// read, is left out.
    pub fn parse_kallsyms(text: &[u8]) -> Self {
        let mut all = Self { modules: vec!["".into()], names: BTreeMap::new() };
        for line in text.split(|byte| *byte == b'\n') {
            let Ok(line) = std::str::from_utf8(line) else { continue };
            let mut words = line.split_ascii_whitespace();
            let (Some(_address), Some("t" | "T" | "w" | "W"), Some(name)) = (words.next(), words.next(), words.next())
            else {
                continue;
            };
            if name.len() <= MAX_NAME_BYTES && all.names.len() < MAX_FUNCTIONS {
                all.add(name, words.next().map_or("", |module| module.trim_matches(['[', ']'])));
            }
        }
        all
    }

    fn add(&mut self, name: &str, module: &str) {
        // Those of a module come one after another.
        let known = self.modules.iter().rposition(|known| **known == *module);
        let module = known.unwrap_or_else(|| {
            self.modules.push(module.into());
            self.modules.len() - 1
        });
        let Ok(module) = u16::try_from(module) else { return };
        match self.names.get_mut(name) {
            Some(modules) if modules.contains(&module) => {}
            Some(modules) => modules.push(module),
            None => {
                self.names.insert(name.into(), vec![module]);
            }
        }
    }

    /// Whether there are none: the list could not be read.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether there is a function of that name in a module, or anywhere.
    pub fn has(&self, module: Option<&str>, name: &str) -> bool {
        self.modules_of(name).any(|of| module.is_none_or(|module| of == module || of.is_empty() && module == "vmlinux"))
    }

    /// The modules that have a function of that name; empty text is the kernel itself.
    pub fn modules_of(&self, name: &str) -> impl Iterator<Item = &str> {
        let modules = self.names.get(name).into_iter().flatten();
        modules.filter_map(|module| self.modules.get(usize::from(*module)).map(AsRef::as_ref))
    }

    /// The names that begin with `prefix`, by the alphabet.
    pub fn beginning_with<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        let from = self.names.range::<str, _>((std::ops::Bound::Included(prefix), std::ops::Bound::Unbounded));
        from.map(|(name, _)| name.as_ref()).take_while(move |name: &&str| name.starts_with(prefix))
    }

    /// What a function that this kernel has not is called here, the likeliest first.
    pub fn instead_of(&self, name: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let mut add = |name: String| {
            if found.len() < MAX_SUGGESTED && !found.contains(&name) {
                found.push(name);
            }
        };
        let changed = |base: &str| {
            let names: Vec<String> = self.beginning_with(base).map(str::to_owned).collect();
            let kept = move |name: &String| CHANGED.iter().any(|mark| name.starts_with(&format!("{base}{mark}")));
            names.into_iter().filter(kept).collect::<Vec<_>>()
        };
        changed(name).into_iter().for_each(&mut add);
        for other in RENAMED.iter().filter(|(old, _)| *old == name).flat_map(|(_, others)| others.iter()) {
            if self.has(None, other) {
                add((*other).to_owned());
            }
            changed(other).into_iter().for_each(&mut add);
        }
        if let Some(call) = CALLS.iter().find_map(|prefix| name.strip_prefix(prefix)) {
            let others = CALLS.iter().map(|prefix| format!("{prefix}{call}"));
            others.filter(|other| other != name && self.has(None, other)).for_each(&mut add);
        }
        // What compilers put behind a name is no slip of whoever typed it.
        let bases = self.names.keys().map(|name| name.split('.').next().unwrap_or(name));
        if let Some(near) = closest(name, bases) {
            match self.has(None, near) {
                true => add(near.to_owned()),
                false => changed(near).into_iter().for_each(&mut add),
            }
        }
        found
    }

    /// What somebody should know who probes a function that exists: that others do its work here.
    pub fn seldom_called(&self, name: &str) -> Option<&'static str> {
        let found = SELDOM.iter().find(|(function, instead, _)| *function == name && self.has(None, instead));
        found.map(|(_, _, why)| *why)
    }
}
