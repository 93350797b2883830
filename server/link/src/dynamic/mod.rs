//! Dynamic events as people write them → lines for the kernel: names of parameters become registers, members offsets,
//! functions of files places in them.
//!
//! Every way in ends here: the command line, the form, and a spec that is recorded (again). What is looked up is read from
//! files that the agent opens. Nothing is made here; whether the kernel takes a line only it says, when a capture begins.

mod answers;
mod facts;
mod files;
mod foreign;
mod functions;
mod removals;

use std::collections::BTreeSet;

use bathyscope_bpf::lang::denied_function;
use bathyscope_capture::{CaptureSpec, DynamicProbe, Method, SourceSpec};
use bathyscope_catalog::{
    dynamic::{
        Dialect, DynamicDefinition, DynamicError, DynamicProblem, End, FilePlace, Line, MAX_NAME_BYTES, Passed,
        ProbeSite, ProbeVariable, Reading, TypedDefinition, argument_places, parse_dynamic, parse_perf_probe,
        program_variables, variables,
    },
    kernel_names::tracepoint_for,
    pasted::Plain,
};
use bathyscope_plan::{Diagnostic, Severity, Span};
use bathyscope_protocol::{AgentError, AgentErrorKind};

pub use answers::EventAnswer;
pub use facts::KernelFacts;
pub use files::functions_of;
pub use functions::hints;

use crate::{LinkError, ScriptAgent};

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
    pub definition: DynamicDefinition,
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
    pub skipped: Vec<Passed>,
    /// What was asked instead of making a probe.
    pub answers: Vec<EventAnswer>,
    /// What somebody should know about how the text was read.
    pub notes: Vec<String>,
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
    check_lines(agent, facts, text, |_line| file, pid)
}

/// The same with a file for each line, by the number of lines before it.
fn check_lines<'a>(
    agent: &mut impl ScriptAgent,
    facts: &mut KernelFacts,
    text: &str,
    file: impl Fn(usize) -> Option<&'a str>,
    pid: Option<u32>,
) -> Checked {
    let plain = Plain::of(text);
    let mut checked = Checked { notes: plain.notes.clone(), ..Checked::default() };
    let mut reading = Reading::default();
    let mut at = 0;
    for (number, line) in plain.text.split('\n').enumerate() {
        if let Err(error) = reading.read_line(line, at, file(number)) {
            checked.troubles.push(trouble(&plain.text, 0, &error));
        }
        at += line.len() + 1;
    }
    checked.notes.extend(reading.notes);
    checked.skipped = reading.skipped;
    let mut probes = Vec::new();
    for (before, typed) in reading.typed.iter().enumerate() {
        match one(agent, facts, typed, pid) {
            Ok(resolved) => probes.push((before, resolved)),
            Err(found) => checked.troubles.push(found),
        }
    }
    removals::apply(&reading.removed, &mut probes, &mut checked.skipped);
    checked.probes = probes.into_iter().map(|(_, resolved)| resolved).collect();
    for asked in &reading.asked {
        answers::answer(agent, facts, asked, pid, &mut checked);
    }
    name_all(&mut checked);
    let original = |place: &mut u32| {
        *place = u32::try_from(plain.original(*place as usize)).unwrap_or(u32::MAX);
    };
    for trouble in &mut checked.troubles {
        original(&mut trouble.start);
        original(&mut trouble.end);
    }
    checked.troubles.sort_by_key(|trouble| trouble.start);
    for place in checked.probes.iter_mut().map(|it| &mut it.at).chain(checked.answers.iter_mut().map(|it| &mut it.at)) {
        *place = plain.original(*place);
    }
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
fn place_span(typed: &TypedDefinition) -> Span {
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
    typed: &TypedDefinition,
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
    let places = argument_places(&typed.text, typed.dialect);
    let definition = match &definition.place {
        ProbeSite::File { path, at, returns, .. } => {
            let found = files::place(agent, pid, path, at, *returns).map_err(at_place)?;
            if !found.arguments
                && let Some(at) = argument_number(&typed.text)
            {
                return Err(told(DynamicError { at, problem: DynamicProblem::ArgumentsGone }));
            }
            notes.extend(found.notes);
            let definition = match definition.has_names() {
                true => files::with_variables(agent, pid, definition.clone(), (path, at), &places).map_err(told)?,
                false => definition.clone(),
            };
            match at {
                // The place in the function is in what was found.
                FilePlace::Function { .. } => at_found(definition, found.offset),
                FilePlace::Offset(_) => definition,
            }
        }
        ProbeSite::Function { module, symbol, on, .. } => {
            look_up(agent, facts, module.as_deref(), symbol, &mut notes).map_err(at_place)?;
            needs_kprobes(agent, facts, symbol, matches!(on, End::Return { .. })).map_err(at_place)?;
            definition
        }
        ProbeSite::Traced { symbol, .. } => {
            look_up(agent, facts, None, symbol, &mut notes).map_err(at_place)?;
            functions::can_be_traced(agent, facts, symbol).map_err(at_place)?;
            definition
        }
        ProbeSite::Address { address, .. } => {
            needs_kprobes(agent, facts, &format!("{address:#x}"), false).map_err(at_place)?;
            definition
        }
        ProbeSite::Tracepoint { .. } | ProbeSite::Event { .. } => definition,
    };
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
    // Whether an instruction begins there, and whether it has probes of the newer kinds, only the kernel knows.
    if let ProbeSite::Function { offset: 1.., .. } | ProbeSite::Traced { .. } | ProbeSite::Tracepoint { .. } =
        definition.place
    {
        can_be_made(agent, &definition).map_err(at_place)?;
    }
    Ok(Resolved { typed: typed.text.clone(), at: typed.at, file: typed.file.clone(), definition, notes })
}

/// Where the name of `$argN` stands in a definition, behind the `$`.
fn argument_number(text: &str) -> Option<usize> {
    let mut places = text.match_indices("$arg").map(|(at, _)| at + 1);
    places.find(|at| text.get(at + 3..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())))
}

/// Refuses probes of the kernel's functions where it has none, with the event that tells about the same.
fn needs_kprobes(
    agent: &mut impl ScriptAgent,
    facts: &mut KernelFacts,
    function: &str,
    returns: bool,
) -> Result<(), String> {
    if facts.has_kprobes(agent) {
        return Ok(());
    }
    let events = facts.events(agent);
    let exists = |name: &str| events.binary_search_by(|known| known.as_str().cmp(name)).is_ok();
    let instead = match tracepoint_for(function, returns, exists) {
        Some(event) => format!("record the event {event} instead"),
        None => "look for an event instead (`bathyscope list WORD`), or probe a function of a program".to_owned(),
    };
    Err(format!(
        "this kernel has no probes of its own functions (it was built without CONFIG_KPROBE_EVENTS), which `{function}` \
         needs; {instead}"
    ))
}

/// Asks the kernel whether it makes a probe at a place.
fn can_be_made(agent: &mut impl ScriptAgent, definition: &DynamicDefinition) -> Result<(), String> {
    let line = DynamicDefinition { arguments: Vec::new(), ..definition.clone() }.to_string();
    match agent.call(move |client| client.try_event(&line)) {
        Err(LinkError::Refused(AgentError {
            kind: AgentErrorKind::Invalid | AgentErrorKind::NotFound | AgentErrorKind::Unsupported,
            why,
            remedy,
            ..
        })) => Err([why, remedy].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(". ")),
        // Whoever may not ask is told when the capture begins.
        _ => Ok(()),
    }
}

fn at_found(mut definition: DynamicDefinition, offset: u64) -> DynamicDefinition {
    if let ProbeSite::File { at, .. } = &mut definition.place {
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
    let events = facts.events(agent);
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
    Err(functions.missing(symbol, &events))
}

/// Gives names to events that have none, as the kernel does, and others to those that perf's rules name alike.
fn name_all(checked: &mut Checked) {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let key = |definition: &DynamicDefinition| {
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
    let is_kernel = matches!(kind.bytes().next(), Some(b'p' | b'r' | b'e' | b'f' | b't'))
        && kind.len() < 6
        && kind.bytes().skip(1).all(|byte| byte.is_ascii_digit());
    if is_kernel { first.contains(':') && !first.ends_with('/') } else { first.contains('=') }
}

/// The groups that the kernel gives to events without one.
pub const USUAL_GROUPS: [&str; 5] = ["kprobes", "uprobes", "eprobes", "fprobes", "tracepoints"];

fn usual_group(place: &ProbeSite) -> &'static str {
    let [kprobes, uprobes, eprobes, fprobes, tracepoints] = USUAL_GROUPS;
    match place {
        ProbeSite::Function { .. } | ProbeSite::Address { .. } => kprobes,
        ProbeSite::File { .. } => uprobes,
        ProbeSite::Event { .. } => eprobes,
        ProbeSite::Traced { .. } => fprobes,
        ProbeSite::Tracepoint { .. } => tracepoints,
    }
}

/// What the event of a definition is called, `GROUP:NAME`: as the definition says, else as the kernel would call it.
pub fn event_name(definition: &DynamicDefinition) -> String {
    let group = definition.group.as_deref().unwrap_or_else(|| usual_group(&definition.place));
    let name = definition.event.clone().filter(|name| !name.is_empty());
    format!("{group}:{}", name.unwrap_or_else(|| made_name(&definition.place)))
}

/// The name that the kernel would make.
fn made_name(place: &ProbeSite) -> String {
    let (letter, name) = match place {
        ProbeSite::Function { symbol, offset, on, .. } => (letter(*on), format!("{symbol}_{offset}")),
        ProbeSite::Address { address, on } => (letter(*on), format!("{address:#x}")),
        ProbeSite::File { path, at, returns, .. } => {
            let offset = match at {
                FilePlace::Offset(offset) | FilePlace::Function { offset, .. } => offset,
            };
            (if *returns { "r" } else { "p" }, format!("{}_{offset:#x}", path.rsplit('/').next().unwrap_or_default()))
        }
        ProbeSite::Event { event, .. } => ("e", event.clone()),
        ProbeSite::Traced { symbol, on: End::Entry } => return name_of(&format!("{symbol}__entry")),
        ProbeSite::Traced { symbol, .. } => return name_of(&format!("{symbol}__exit")),
        ProbeSite::Tracepoint { name } => return name_of(name),
    };
    name_of(&format!("{letter}_{name}"))
}

/// As an event can be called.
fn name_of(text: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    text.chars().map(safe).take(MAX_NAME_BYTES - 5).collect()
}

fn letter(on: End) -> &'static str {
    match on {
        End::Entry => "p",
        End::Return { .. } => "r",
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
) -> Result<(Vec<ProbeVariable>, Vec<String>), String> {
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

/// The parameters and variables at a place of a program, `FUNCTION` or `FUNCTION+OFFSET`, and what is to be known of them.
///
/// # Errors
/// In words, if there is no such place, or no debug information.
pub fn variables_in_program(
    agent: &mut impl ScriptAgent,
    pid: Option<u32>,
    file: &str,
    place: &str,
) -> Result<(Vec<ProbeVariable>, Vec<String>), String> {
    let path = files::path_of(agent, pid, file)?;
    let (data, missing) = crate::script::place_variables(agent, pid, &path, place)?;
    let found = program_variables(&data);
    if found.is_empty() && !missing.is_empty() {
        let why = missing.split_once("; use `arg0`").map_or(missing.as_str(), |(why, _)| why);
        return Err(format!("{why}; registers (%di, %si, …) and, where it returns, $retval can be written"));
    }
    Ok((found, Vec::new()))
}

/// Where the line that has a place ends.
fn line_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.find('\n').unwrap_or(rest.len())
}

/// A spec whose dynamic events are lines for the kernel.
///
/// # Errors
/// What is wrong with them, with places in their texts, one a line.
pub fn resolve_spec(
    agent: &mut impl ScriptAgent,
    mut spec: CaptureSpec,
) -> Result<CaptureSpec, (String, Vec<Diagnostic>)> {
    let mut facts = KernelFacts::default();
    for source in std::mem::take(&mut spec.sources) {
        let method = resolve_method(agent, &mut facts, source.method)?;
        spec.sources.push(SourceSpec { method, ..source });
    }
    Ok(spec)
}

fn resolve_method(
    agent: &mut impl ScriptAgent,
    facts: &mut KernelFacts,
    method: Method,
) -> Result<Method, (String, Vec<Diagnostic>)> {
    let mut method = foreign::by_ftrace(agent, method)?;
    let counted = method.counts().is_some();
    if let Some(trace) = method.trace()
        && let Some(wrong) = functions::wrong(agent, facts, trace)
    {
        return Err(wrong);
    }
    let Some(dynamic) = method.dynamic_mut().filter(|dynamic| !dynamic.is_empty()) else { return Ok(method) };
    let text: String = dynamic.iter().map(|probe| probe.typed.replace('\n', " ") + "\n").collect();
    let file = |line: usize| dynamic.get(line).and_then(|probe: &DynamicProbe| probe.file.as_deref());
    let mut all = check_lines(agent, facts, &text, file, None);
    // A spec has no room for answers: whoever asks is told where they are.
    for answer in &all.answers {
        let why = "this asks and makes no probe: leave it out. It is answered where probes are written, and by `bathyscope probe`";
        all.troubles.push(Diagnostic::error(span(answer.at, line_end(&text, answer.at)), why));
    }
    if all.probes.is_empty() && all.troubles.is_empty() {
        let nothing = "there is no probe here; write for example do_sys_openat2 filename:string";
        all.troubles.push(Diagnostic::error(span(0, line_end(&text, 0)), nothing));
    }
    if all.troubles.iter().any(|it| it.severity == Severity::Error) {
        return Err((text, all.troubles));
    }
    *dynamic = all.probes.into_iter().map(|resolved| resolved.recorded(counted)).collect();
    Ok(method)
}

impl Resolved {
    /// The group that the kernel puts it in where none is given.
    pub fn usual_group(&self) -> &'static str {
        usual_group(&self.definition.place)
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
pub fn event_of(line: &str) -> Option<String> {
    match parse_dynamic(line).ok()? {
        Line::Define(DynamicDefinition { group: Some(group), event: Some(event), .. }) => {
            Some(format!("{group}:{event}"))
        }
        _ => None,
    }
}
