//! The kernel's functions by name, and what those that it has not are called in it.

use std::collections::BTreeMap;

use crate::{
    kernel_names::{self, CALLS},
    suggest::closest,
};

/// The most functions that are kept.
const MAX_FUNCTIONS: usize = 1 << 21;
/// The longest name, as in the kernel.
const MAX_NAME_BYTES: usize = 512;
/// The most names that are suggested.
const MAX_SUGGESTED: usize = 3;
/// What compilers put behind the names of functions that they changed, and that may take something else.
pub const CHANGED_MARKS: [&str; 3] = [".isra.", ".constprop.", ".part."];

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
            let kept = move |name: &String| CHANGED_MARKS.iter().any(|mark| name.starts_with(&format!("{base}{mark}")));
            names.into_iter().filter(kept).collect::<Vec<_>>()
        };
        changed(name).into_iter().for_each(&mut add);
        for other in kernel_names::renamed(name) {
            if self.has(None, other) {
                add(other.to_owned());
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
        let (_, why) = kernel_names::seldom_called(name).filter(|(instead, _)| self.has(None, instead))?;
        Some(why)
    }

    /// What somebody should know who asks for a function that there is not, as a sentence. `tracepoints` has their names in
    /// the order of the alphabet.
    pub fn missing(&self, name: &str, tracepoints: &[String]) -> String {
        let event = kernel_names::tracepoint_for(name, false, |event| {
            tracepoints.binary_search_by(|known| known.as_str().cmp(event)).is_ok()
        });
        let event = event.map(|event| format!("; the event {event} tells about the same")).unwrap_or_default();
        if let Some(words) = kernel_names::elsewhere(name) {
            return format!("this kernel has no function `{name}`: {words}");
        }
        match self.instead_of(name).as_slice() {
            [] if event.is_empty() => {
                format!("this kernel has no function `{name}`; it may be inlined, or in a module that is not loaded")
            }
            [] => format!("this kernel has no function `{name}`{event}"),
            [one] => format!("this kernel has no function `{name}`; did you mean `{one}`?{}", sentence(&event)),
            several => {
                let list: Vec<String> = several.iter().map(|name| format!("`{name}`")).collect();
                let event = sentence(&event);
                format!("this kernel has no function `{name}`; did you mean one of {}?{event}", list.join(", "))
            }
        }
    }
}

/// What stands behind a question mark.
fn sentence(event: &str) -> String {
    event.strip_prefix("; t").map(|rest| format!(" T{rest}")).unwrap_or_default()
}
