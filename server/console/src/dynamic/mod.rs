//! Dynamic events as people write them → lines for the kernel: names of parameters become registers, members offsets,
//! functions of files places in them.
//!
//! Every way in ends here: the command line, the form, and a spec that is recorded (again). What is looked up is read from
//! files that the agent opens. Nothing is made here; whether the kernel takes a line only it says, when a capture begins.

mod facts;
mod files;
mod foreign;

use std::collections::BTreeSet;

use bathyscope_bpf::lang::{Diagnostic, Severity, ast::Span, denied_function};
use bathyscope_capture::{CaptureSpec, DynamicProbe, Method};
use bathyscope_catalog::dynamic::{
    Definition, Dialect, DynamicError, FilePlace, Line, MAX_NAME_BYTES, Place, Typed, Variable, argument_places,
    parse_dynamic, parse_perf_probe, read_typed, variables,
};

pub use facts::KernelFacts;
pub use files::functions_of;

use crate::script::ScriptAgent;

/// A dynamic event that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// What was written.
    pub typed: String,
    /// Bytes before it in all of the text.
    pub at: usize,
    /// The file that was named beside it.
    pub file: Option<String>,
    /// What was understood; its text is the line for the kernel.
    pub definition: Definition,
    /// What somebody should know who records it.
    pub notes: Vec<String>,
}

/// What was made of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The events, in their order.
    pub probes: Vec<Resolved>,
    /// What is wrong, with places in the text.
    pub troubles: Vec<Diagnostic>,
    /// Lines that were passed over, and why.
    pub skipped: Vec<(String, &'static str)>,
}

/// Reads a text of definitions and looks up what they name. `file` is the one that functions of `perf probe`'s grammar are
/// in, `pid` the process through whose root files are found.
pub fn check(
    agent: &mut impl ScriptAgent,
    facts: &mut KernelFacts,
    text: &str,
    file: Option<&str>,
    pid: Option<u32>,
) -> Checked {
    let mut checked = Checked::default();
    let reading = match read_typed(text, file) {
        Ok(reading) => reading,
        Err(error) => {
            checked.troubles.push(trouble(text, 0, &error));
            return checked;
        }
    };
    checked.skipped = reading.skipped;
    for typed in &reading.typed {
        match one(agent, facts, typed, pid) {
            Ok(resolved) => checked.probes.push(resolved),
            Err(found) => checked.troubles.push(found),
        }
    }
    name_all(&mut checked);
    checked
}

/// An error as a message about the whole text.
fn trouble(text: &str, at: usize, error: &DynamicError) -> Diagnostic {
    let start = at + error.at;
    let rest = text.get(start..).unwrap_or_default();
    let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
    Diagnostic::error(span(start, start + word), error.problem.to_string())
}

fn span(start: usize, end: usize) -> Span {
    Span { start: u32::try_from(start).unwrap_or(u32::MAX), end: u32::try_from(end).unwrap_or(u32::MAX) }
}

/// The word of a definition that names its place.
fn place_span(typed: &Typed) -> Span {
    let before = match typed.dialect {
        Dialect::Kernel => typed.text.find(char::is_whitespace).map_or(0, |at| at + 1),
        Dialect::Perf => 0,
    };
    let rest = typed.text.get(before..).unwrap_or_default();
    let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let name = rest.get(..length).and_then(|word| word.find('=')).map_or(0, |at| at + 1);
    span(typed.at + before + name, typed.at + before + length)
}

fn one(
    agent: &mut impl ScriptAgent,
    facts: &mut KernelFacts,
    typed: &Typed,
    pid: Option<u32>,
) -> Result<Resolved, Diagnostic> {
    let mut notes = Vec::new();
    let at_place = |message: String| Diagnostic::error(place_span(typed), message);
    let told = |error: DynamicError| {
        let Diagnostic { message, start, end, .. } = trouble(&typed.text, 0, &error);
        let moved = |place: u32| place as usize + typed.at;
        Diagnostic::error(span(moved(start), moved(end)), message)
    };
    let path = match &typed.file {
        Some(name) => Some(files::path_of(agent, pid, name).map_err(at_place)?),
        None => None,
    };
    let definition = match typed.dialect {
        Dialect::Perf => parse_perf_probe(&typed.text, path.as_deref()).map_err(told)?,
        Dialect::Kernel => match parse_dynamic(&typed.text).map_err(told)? {
            Line::Define(definition) => definition,
            Line::Remove { .. } => return Err(at_place("it makes no event".to_owned())),
        },
    };
    let definition = match &definition.place {
        Place::File { path, at, returns, .. } => {
            let found = files::place(agent, pid, path, at, *returns).map_err(at_place)?;
            notes.extend(found.notes);
            match at {
                // The place in the function is in what was found.
                FilePlace::Function { .. } => at_found(definition, found.offset),
                FilePlace::Offset(_) => definition,
            }
        }
        Place::Function { module, symbol, .. } => {
            look_up(agent, facts, module.as_deref(), symbol, &mut notes).map_err(at_place)?;
            definition
        }
        Place::Address { .. } | Place::Event { .. } => definition,
    };
    let places = argument_places(&typed.text, typed.dialect);
    let function = definition.kernel_function().map(|(module, name, _)| (module.map(str::to_owned), name.to_owned()));
    let types = function.as_ref().and_then(|(module, name)| {
        // A kernel's types take some milliseconds to read: only where they tell something.
        let wanted = definition.has_names() || typed.dialect == Dialect::Perf;
        wanted.then(|| facts.function(agent, module.as_deref(), name)).flatten()
    });
    let definition = match (types, definition.has_names()) {
        (Some((types, id)), _) => definition.with_types(types, Some(id), &places).map_err(told)?,
        (None, true) => definition.with_types(facts.types(agent), None, &places).map_err(told)?,
        (None, false) => definition,
    };
    Ok(Resolved { typed: typed.text.clone(), at: typed.at, file: typed.file.clone(), definition, notes })
}

fn at_found(mut definition: Definition, offset: u64) -> Definition {
    if let Place::File { at, .. } = &mut definition.place {
        *at = FilePlace::Offset(offset);
    }
    definition
}

/// Whether the kernel has a function that can be probed; if not, in words what it has.
fn look_up(
    agent: &mut impl ScriptAgent,
    facts: &mut KernelFacts,
    module: Option<&str>,
    symbol: &str,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    if let Some(why) = denied_function(symbol) {
        return Err(format!("`{symbol}` is not probed: {why}; probe what calls it"));
    }
    let functions = facts.functions(agent);
    // Where the list cannot be read the kernel is asked when the capture begins.
    if functions.is_empty() || functions.has(module, symbol) {
        notes.extend(functions.seldom_called(symbol).map(str::to_owned));
        return Ok(());
    }
    let elsewhere: Vec<&str> =
        functions.modules_of(symbol).map(|of| if of.is_empty() { "the kernel itself" } else { of }).collect();
    if let (Some(module), [first, ..]) = (module, elsewhere.as_slice()) {
        return Err(format!("the module `{module}` has no function `{symbol}`; {first} has one"));
    }
    Err(match functions.instead_of(symbol).as_slice() {
        [] => format!("this kernel has no function `{symbol}`; it may be inlined, or in a module that is not loaded"),
        [one] => format!("this kernel has no function `{symbol}`; did you mean `{one}`?"),
        several => {
            let list: Vec<String> = several.iter().map(|name| format!("`{name}`")).collect();
            format!("this kernel has no function `{symbol}`; did you mean one of {}?", list.join(", "))
        }
    })
}

/// Gives names to events that have none, as the kernel does, and others to those that perf's rules name alike.
fn name_all(checked: &mut Checked) {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let key = |definition: &Definition| {
        format!("{}:{}", definition.group.as_deref().unwrap_or(""), definition.event.as_deref().unwrap_or(""))
    };
    for probe in &mut checked.probes {
        let given = gives_name(&probe.typed);
        let name = probe.definition.event.get_or_insert_default();
        if name.is_empty() {
            *name = made_name(&probe.definition.place);
        }
        let base = probe.definition.event.clone().unwrap_or_default();
        let mut number = 1;
        while !taken.insert(key(&probe.definition)) {
            if given {
                let at = span(probe.at, probe.at + probe.typed.len());
                checked
                    .troubles
                    .push(Diagnostic::error(at, format!("there are two with the name `{base}`; give each its own")));
                break;
            }
            probe.definition.event =
                Some(format!("{}_{number}", base.get(..base.len().min(MAX_NAME_BYTES - 5)).unwrap_or("event")));
            number += 1;
        }
    }
}

/// Whether a name was written, in either grammar.
fn gives_name(typed: &str) -> bool {
    let first = typed.split_whitespace().next().unwrap_or_default();
    let kind = first.split(':').next().unwrap_or_default();
    let is_kernel = matches!(kind.bytes().next(), Some(b'p' | b'r' | b'e'))
        && kind.len() < 6
        && kind.bytes().skip(1).all(|byte| byte.is_ascii_digit());
    if is_kernel { first.contains(':') && !first.ends_with('/') } else { first.contains('=') }
}

/// The name that the kernel would make.
fn made_name(place: &Place) -> String {
    let (letter, name) = match place {
        Place::Function { symbol, offset, on, .. } => (letter(*on), format!("{symbol}_{offset}")),
        Place::Address { address, on } => (letter(*on), format!("{address:#x}")),
        Place::File { path, at, returns, .. } => {
            let offset = match at {
                FilePlace::Offset(offset) | FilePlace::Function { offset, .. } => offset,
            };
            (if *returns { "r" } else { "p" }, format!("{}_{offset:#x}", path.rsplit('/').next().unwrap_or_default()))
        }
        Place::Event { event, .. } => ("e", event.clone()),
    };
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("{letter}_{name}").chars().map(safe).take(MAX_NAME_BYTES - 5).collect()
}

fn letter(on: bathyscope_catalog::dynamic::End) -> &'static str {
    match on {
        bathyscope_catalog::dynamic::End::Entry => "p",
        bathyscope_catalog::dynamic::End::Return { .. } => "r",
    }
}

/// The parameters of a function of the kernel, or in words why they are not known.
///
/// # Errors
/// If there is no such function, or nothing describes it.
pub fn variables_of(
    agent: &mut impl ScriptAgent,
    facts: &mut KernelFacts,
    module: Option<&str>,
    function: &str,
) -> Result<(Vec<Variable>, Vec<String>), String> {
    let mut notes = Vec::new();
    look_up(agent, facts, module, function, &mut notes)?;
    let found = facts.function(agent, module, function).and_then(|(types, id)| variables(types, id));
    let found = found.ok_or_else(|| {
        format!(
            "the kernel's type information does not describe `{function}`, so its parameters have no names; registers \
             (%di, %si, …) and $arg1, $arg2 … can be written"
        )
    })?;
    Ok((found, notes))
}

/// A spec whose dynamic events are lines for the kernel.
///
/// # Errors
/// What is wrong with them, with places in their texts, one a line.
pub(crate) fn resolve_spec(
    agent: &mut impl ScriptAgent,
    mut spec: CaptureSpec,
) -> Result<CaptureSpec, (String, Vec<Diagnostic>)> {
    spec.method = foreign::by_ftrace(agent, spec.method)?;
    let counted = matches!(spec.method, Method::Count(_));
    let dynamic = match &mut spec.method {
        Method::Trace(trace) => &mut trace.dynamic,
        Method::Count(count) => &mut count.dynamic,
        Method::Events { .. } | Method::Profile(_) | Method::Script(_) | Method::Syscalls(_) => return Ok(spec),
    };
    if dynamic.is_empty() {
        return Ok(spec);
    }
    let mut facts = KernelFacts::default();
    let (mut text, mut all) = (String::new(), Checked::default());
    for probe in dynamic.iter() {
        let before = text.len();
        text.push_str(&probe.typed);
        text.push('\n');
        let mut checked = check(agent, &mut facts, &probe.typed, probe.file.as_deref(), None);
        let moved = |place: u32| place.saturating_add(u32::try_from(before).unwrap_or(u32::MAX));
        for trouble in &mut checked.troubles {
            (trouble.start, trouble.end) = (moved(trouble.start), moved(trouble.end));
        }
        for resolved in &mut checked.probes {
            resolved.at += before;
        }
        if checked.probes.is_empty() && checked.troubles.is_empty() {
            let nothing = "there is no probe here; write for example do_sys_openat2 filename:string";
            checked.troubles.push(Diagnostic::error(span(before, text.len() - 1), nothing));
        }
        all.probes.extend(checked.probes);
        all.troubles.extend(checked.troubles);
    }
    name_all(&mut all);
    if all.troubles.iter().any(|it| it.severity == Severity::Error) {
        return Err((text, all.troubles));
    }
    *dynamic = all.probes.into_iter().map(|resolved| resolved.recorded(counted)).collect();
    Ok(spec)
}

impl Resolved {
    /// The group that the kernel puts it in where none is given.
    pub fn usual_group(&self) -> &'static str {
        match self.definition.place {
            Place::Function { .. } | Place::Address { .. } => "kprobes",
            Place::File { .. } => "uprobes",
            Place::Event { .. } => "eprobes",
        }
    }

    /// As it is kept in a spec; what is counted needs a group in its name.
    fn recorded(mut self, counted: bool) -> DynamicProbe {
        if counted {
            let usual = self.usual_group();
            self.definition.group.get_or_insert_with(|| usual.to_owned());
        }
        DynamicProbe { typed: self.typed, file: self.file, line: Some(self.definition.to_string()) }
    }
}

/// Group and name of the event of a line that was made here.
pub(crate) fn event_of(line: &str) -> Option<String> {
    match parse_dynamic(line).ok()? {
        Line::Define(Definition { group: Some(group), event: Some(event), .. }) => Some(format!("{group}:{event}")),
        _ => None,
    }
}
