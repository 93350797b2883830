//! What can be recorded at a probe site, as a tree: arguments and results with their types, and what is behind each, member
//! by member, as far as somebody unfolds it.

use bathyscope_bpf::lang::{ast::AttachText, attach_text};
use bathyscope_catalog::{
    EventField, EventFormat, FieldKind,
    constants::{Arch, constant},
    syscalls::{Abi, NameSet, definition, number_of},
    types::{CType, Parameter, TypeId, Types},
};

use crate::{
    described::is_as_written,
    form::ValueFormat,
    lists::{describe_list, entries, is_member_of},
    memory::{in_kernel, memory_at, register, registers},
    tree::{ArgumentKind, ArgumentList, ArgumentNode, NamedConstant, SOME_BYTES, blank},
    user::{UserPlace, is_within, numbered, user_arguments},
    variables::{in_programs, kernel_variables, variables},
};

/// The most nodes of one list.
pub const MAX_NODES: usize = 1000;
/// The deepest place that is unfolded.
pub const MAX_STEPS: usize = 32;
/// The most constants of an enum that are told.
const MAX_CONSTANTS: usize = 256;
/// Elements of an array that are offered one by one.
const MAX_ELEMENTS: u32 = 64;
/// Anonymous structs and unions within each other.
const MAX_ANONYMOUS: usize = 8;
/// What is said of a place behind the begin of a function of the kernel.
const WITHIN_KERNEL: &str = "within a function its arguments are no longer in their registers: these are the registers as they are \
     there";
/// What stands for the value behind a pointer in a path.
const BEHIND: &str = "*";

/// Why there is no list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// It is no probe site.
    #[error("`{site}` is no probe site: {why}")]
    Site {
        /// The text.
        site: String,
        /// Why not.
        why: String,
    },
    /// A step of the path leads nowhere.
    #[error("there is no `{step}` in {what}; unfold it again from the top")]
    Step {
        /// The step.
        step: String,
        /// In what.
        what: String,
    },
}

/// The tracepoint whose format the arguments of a site are, if it is one.
pub fn tracepoint_of(site: &str) -> Option<String> {
    let read = attach_text(site).ok()?;
    let [provider, system, name] = read.parts.as_slice() else { return None };
    (provider.text == "tracepoint").then(|| format!("{}:{}", system.text, name.text))
}

/// What is at the end of `path` at a probe site: at its top with an empty path. `format` is that of [`tracepoint_of`],
/// and `user` what the file of a place in user space tells.
///
/// # Errors
/// If it is no probe site, or the path leads nowhere.
pub fn arguments(
    site: &str,
    path: &[String],
    types: &Types,
    format: Option<&EventFormat>,
    user: &UserPlace,
) -> Result<ArgumentList, ArgumentError> {
    let read = attach_text(site).map_err(|it| ArgumentError::Site { site: site.to_owned(), why: it.message })?;
    // Types that a tracepoint's format names may have to be made.
    let mut types = types.clone();
    let mut list = top(&read, &mut types, format, user);
    list.nodes.extend(task(&types));
    for step in path.iter().take(MAX_STEPS) {
        let found = list.nodes.into_iter().find(|node| node.name == *step);
        let missing = || ArgumentError::Step { step: step.clone(), what: read.text.clone() };
        list = within(&types, &found.ok_or_else(missing)?);
    }
    if is_in_program(&read) && path.first().is_none_or(|step| step != "curtask") {
        in_programs(&mut list);
    }
    list.left_out += list.nodes.len().saturating_sub(MAX_NODES);
    list.nodes.truncate(MAX_NODES);
    Ok(list)
}

/// The arguments of a site.
fn top(site: &AttachText, types: &mut Types, format: Option<&EventFormat>, user: &UserPlace) -> ArgumentList {
    let parts: Vec<&str> = site.parts.iter().map(|part| part.text.as_str()).collect();
    match parts.as_slice() {
        ["tracepoint", system, name] => {
            let Some(format) = format else {
                return told("a pattern has the arguments of many places: write them in the script");
            };
            let is_call = *system == "syscalls";
            let mut nodes: Vec<ArgumentNode> =
                format.fields.iter().map(|field| field_node(types, field, is_call)).collect();
            if let Some(call) = name.strip_prefix("sys_enter_").filter(|_| is_call) {
                name_values(&mut nodes, call);
            }
            ArgumentList { nodes, ..ArgumentList::default() }
        }
        ["rawtracepoint", rest @ ..] => match rest.last().and_then(|name| types.raw_tracepoint(name)) {
            Some(found) => named(types, &found.parameters),
            None => told("the kernel's type information does not describe it"),
        },
        [provider @ ("fentry" | "fexit" | "kprobe" | "kretprobe"), rest @ ..] => {
            let (module, name) = match rest {
                [module, name] => (Some(*module), *name),
                [name] => (None, *name),
                _ => return ArgumentList::default(),
            };
            // Where its type information describes a function, a script needs no debug information.
            let is_described = !is_within(name) && !types.functions(name).is_empty();
            let told = if *provider == "kprobe" && !is_described { kernel_variables(types, user, node) } else { None };
            match (told, is_within(name)) {
                (Some(told), _) => told,
                (None, true) => in_kernel(registers(&within_kernel(&user.data_missing))),
                (None, false) => function(types, provider, module, name),
            }
        }
        [provider @ ("uprobe" | "uretprobe" | "usdt"), rest @ ..] => {
            let function = rest.last().copied().unwrap_or_default();
            let is_told = *provider == "uprobe" && is_as_written(function);
            let told = if is_told { variables(types, user, node) } else { None };
            told.unwrap_or_else(|| user_arguments(provider, function, user))
        }
        _ => told("it has no arguments"),
    }
}

/// Why only registers are told of a place within a function of the kernel.
fn within_kernel(missing: &str) -> String {
    match missing {
        "" => WITHIN_KERNEL.to_owned(),
        why => format!("{WITHIN_KERNEL}. For its variables: {why}"),
    }
}

/// Whether a site is at a place of a program whose variables are read from its memory.
fn is_in_program(site: &AttachText) -> bool {
    site.parts.first().is_some_and(|part| part.text == "uprobe")
}

fn told(note: &str) -> ArgumentList {
    ArgumentList { note: note.to_owned(), ..ArgumentList::default() }
}

fn named(types: &Types, parameters: &[Parameter<'_>]) -> ArgumentList {
    let nodes = parameters.iter().filter(|it| !it.name.is_empty());
    let nodes = nodes.map(|it| node(types, it.ty, it.name, format!("args.{}", it.name)));
    ArgumentList { nodes: nodes.collect(), ..ArgumentList::default() }
}

/// What a function takes, or gives.
fn function(types: &Types, provider: &str, module: Option<&str>, name: &str) -> ArgumentList {
    let found = types.function(module, name).or_else(|| types.functions(name).into_iter().next());
    let Some(signature) = found.and_then(|found| types.signature(found.id)) else {
        let what = "the kernel's type information does not describe it, so arguments are numbers";
        return match provider {
            "kprobe" => in_kernel(ArgumentList { note: what.to_owned(), ..numbered() }),
            "kretprobe" => {
                in_kernel(ArgumentList { nodes: vec![register("retval", "retval")], ..ArgumentList::default() })
            }
            _ => told("the kernel's type information does not describe it, which this kind of probe needs"),
        };
    };
    let returns = types.strip(signature.returns).id != TypeId::VOID;
    let mut list = match provider {
        "fentry" | "fexit" => named(types, &signature.parameters),
        "kprobe" => {
            let all = signature.parameters.iter().enumerate();
            let nodes = all.map(|(index, it)| cast(types, it.ty, it.name, &format!("arg{index}")));
            ArgumentList { nodes: nodes.collect(), ..ArgumentList::default() }
        }
        _ => ArgumentList::default(),
    };
    match provider {
        "fexit" if returns => list.nodes.insert(0, node(types, signature.returns, "retval", "retval".to_owned())),
        "kretprobe" if returns => list.nodes.insert(0, cast(types, signature.returns, "retval", "retval")),
        "kretprobe" => "the function returns nothing".clone_into(&mut list.note),
        _ => {}
    }
    list
}

/// A register with the type that is known of it.
fn cast(types: &Types, ty: TypeId, name: &str, register: &str) -> ArgumentNode {
    let name = if name.is_empty() { register } else { name };
    let expr = match (types.pointer(ty), types.stripped(ty)) {
        (Some(pointer), _) => match types.stripped(pointer.to) {
            CType::Record(record) if !record.name.is_empty() => {
                let word = if record.union { "union" } else { "struct" };
                format!("(({word} {} *){register})", record.name)
            }
            _ => register.to_owned(),
        },
        (None, CType::Int(int)) if int.bytes < 8 || int.signed => {
            format!("({}int{}){register}", if int.signed { "" } else { "u" }, int.bytes * 8)
        }
        (None, CType::Enum(of)) if !of.name.is_empty() => format!("(enum {}){register}", of.name),
        _ => register.to_owned(),
    };
    node(types, ty, name, expr)
}

/// The current thread, which is there everywhere.
fn task(types: &Types) -> Option<ArgumentNode> {
    let id = types.find(bathyscope_catalog::types::TypeKind::Struct, "task_struct")?;
    let node = blank("curtask", "curtask".to_owned(), "struct task_struct *".to_owned());
    let note = "the current thread in the kernel".to_owned();
    let (kind, formats) = (ArgumentKind::Pointer, vec![ValueFormat::Hex]);
    Some(ArgumentNode { bytes: Some(8), kind, formats, opens: true, note, at: Some(id), ..node })
}

/// A field of a tracepoint's record.
fn field_node(types: &mut Types, field: &EventField, is_call: bool) -> ArgumentNode {
    use ArgumentKind::{Array, Number, Pointer, Text};
    let expr = format!("args.{}", field.name);
    let declared = |types: &mut Types| types.declared(&field.type_name.replace("__user", " ")).ok();
    let plain = blank(&field.name, expr.clone(), field.type_name.clone());
    let plain = ArgumentNode { bytes: Some(u64::from(field.size)), ..plain };
    let text = || vec![ValueFormat::Plain];
    match field.kind {
        FieldKind::FixedText | FieldKind::DynamicText | FieldKind::RelativeDynamicText => {
            ArgumentNode { kind: Text, formats: text(), ..plain }
        }
        FieldKind::ArrayOf { element_bytes, count } => {
            let formats = array_formats(u64::from(element_bytes), count);
            ArgumentNode { kind: Array, formats, ..plain }
        }
        FieldKind::Integer if field.type_name.trim_start_matches("const ").starts_with("enum ") => {
            match types.spelled(field.type_name.trim_start_matches("const ").trim()) {
                Some(id) => ArgumentNode { bytes: plain.bytes, ty: plain.ty, ..node(types, id, &field.name, expr) },
                None => ArgumentNode { kind: Number, formats: numbers(field.size.into(), &field.name), ..plain },
            }
        }
        FieldKind::Integer => {
            let formats = numbers(u64::from(field.size), &field.name);
            ArgumentNode { kind: Number, formats, ..plain }
        }
        FieldKind::Pointer | FieldKind::UserText => match declared(types).filter(|id| types.pointer(*id).is_some()) {
            Some(id) => {
                let found = node(types, id, &field.name, expr);
                // What a system call gets is memory of the process.
                let formats = found.formats.into_iter().filter(|it| !is_call || *it != ValueFormat::KernelSymbol);
                ArgumentNode { formats: formats.collect(), ty: plain.ty, late: is_call, ..found }
            }
            None => ArgumentNode { kind: Pointer, formats: addresses(), late: is_call, ..plain },
        },
        FieldKind::Other => {
            ArgumentNode { note: "an array or struct in the record: write it in the script".to_owned(), ..plain }
        }
    }
}

/// Shows the arguments of a system call by name whose bits or numbers have names.
fn name_values(nodes: &mut [ArgumentNode], call: &str) {
    let number = number_of(Arch::HOST, Abi::Native, call);
    let Some(call) = number.and_then(|number| definition(Arch::HOST, number)) else { return };
    // The number of the call stands before its arguments.
    let arguments = nodes.iter_mut().filter(|node| node.name != "__syscall_nr");
    for (register, node) in (0_u8..).zip(arguments) {
        let argument = call.arguments.iter().find(|argument| argument.register == register);
        let Some(set) = argument.and_then(NameSet::of_argument).filter(|_| node.kind == ArgumentKind::Number) else {
            continue;
        };
        name_number(node, set);
    }
}

/// Offers the names of a number's bits, or of the number, as the usual way to show it.
fn name_number(node: &mut ArgumentNode, set: NameSet) {
    node.formats.insert(0, ValueFormat::Names(set));
    let known = set.numbers().iter().filter(|(_, name)| constant(Arch::HOST, name).is_some());
    let named = known.filter_map(|(value, name)| {
        Some(NamedConstant { name: (*name).to_owned(), value: i64::try_from(*value).ok()? })
    });
    node.constants = named.take(MAX_CONSTANTS).collect();
}

/// What is in a node or behind it.
fn within(types: &Types, parent: &ArgumentNode) -> ArgumentList {
    if parent.memory {
        return memory_at(parent);
    }
    let Some(id) = parent.at else { return told("there is nothing in it") };
    let mut list = ArgumentList::default();
    match types.stripped(id) {
        CType::Record(_) => {
            let between = if parent.kind == ArgumentKind::Pointer { "->" } else { "." };
            list.nodes = entries(types, parent);
            members(types, id, 0, &format!("{}{between}", parent.expr), 0, &mut list);
            for node in &mut list.nodes {
                is_member_of(node, parent, id);
                describe_list(types, node);
            }
        }
        CType::Array { element, count } if parent.kind == ArgumentKind::Array => {
            let shown = count.min(MAX_ELEMENTS);
            let one = |index: u32| node(types, element, &format!("[{index}]"), format!("{}[{index}]", parent.expr));
            list.nodes = (0..shown).map(one).collect();
            list.left_out = count.saturating_sub(shown) as usize;
        }
        _ if parent.kind == ArgumentKind::Pointer => {
            list.nodes = vec![node(types, id, BEHIND, format!("*{}", parent.expr))];
        }
        _ => {}
    }
    list
}

/// The members of a struct or union; those of anonymous ones stand in their places.
fn members(types: &Types, id: TypeId, base: u64, before: &str, depth: usize, list: &mut ArgumentList) {
    let in_union = matches!(types.stripped(id), CType::Record(record) if record.union);
    for member in types.members(id) {
        let bit_offset = base.saturating_add(member.bit_offset);
        if member.name.is_empty() {
            if member.bits.is_none() && depth < MAX_ANONYMOUS {
                members(types, member.ty, bit_offset, before, depth + 1, list);
            }
            continue;
        }
        if list.nodes.len() >= MAX_NODES {
            list.left_out += 1;
            continue;
        }
        let mut found = node(types, member.ty, member.name, format!("{before}{}", member.name));
        // What a file was opened with, in the kernel.
        if let Some(set) =
            NameSet::find("open").filter(|_| member.name == "f_flags" && found.kind == ArgumentKind::Number)
        {
            name_number(&mut found, set);
        }
        let note = if in_union && found.note.is_empty() { "in a union".to_owned() } else { found.note.clone() };
        list.nodes.push(ArgumentNode { bit_offset: Some(bit_offset), bits: member.bits, note, ..found });
    }
}

/// A value of a type.
fn node(types: &Types, ty: TypeId, name: &str, expr: String) -> ArgumentNode {
    use ArgumentKind::{Array, Boolean, Enumeration, Number, Pointer, Structure, Text, Union};
    let plain = ArgumentNode { bytes: types.size(ty), at: Some(ty), ..blank(name, expr, types.render(ty)) };
    match types.stripped(ty) {
        CType::Int(int) if int.boolean => {
            ArgumentNode { kind: Boolean, formats: vec![ValueFormat::Plain, ValueFormat::Decimal], ..plain }
        }
        CType::Int(int) if int.bytes > 8 => ArgumentNode { note: "a number of 16 bytes".to_owned(), ..plain },
        CType::Int(int) => {
            let formats = numbers(u64::from(int.bytes), name);
            ArgumentNode { kind: Number, formats, ..plain }
        }
        CType::Enum(_) => {
            let constants = types.constants(ty).take(MAX_CONSTANTS);
            let constants = constants.map(|it| NamedConstant { name: it.name.to_owned(), value: it.value }).collect();
            let formats = vec![ValueFormat::Plain, ValueFormat::Decimal, ValueFormat::Hex];
            ArgumentNode { kind: Enumeration, formats, constants, ..plain }
        }
        CType::Pointer { .. } => {
            let to = types.pointer(ty).map_or(TypeId::VOID, |it| it.to);
            let (formats, opens) = pointer(types, to);
            let memory = types.strip(to).id == TypeId::VOID;
            ArgumentNode { kind: Pointer, formats, opens: opens || memory, memory, at: Some(to), ..plain }
        }
        CType::Array { element, count } => match types.stripped(element) {
            CType::Int(int) if int.character && count > 0 => {
                ArgumentNode { kind: Text, formats: vec![ValueFormat::Plain], ..plain }
            }
            of => {
                let bytes = types.size(element).unwrap_or(0);
                let numbers = matches!(of, CType::Int(_));
                let formats = if numbers { array_formats(bytes, count) } else { Vec::new() };
                let note = if count == 0 { "an array whose length is not known" } else { "" };
                ArgumentNode { kind: Array, formats, opens: count > 0, note: note.to_owned(), ..plain }
            }
        },
        CType::Record(record) => {
            ArgumentNode { kind: if record.union { Union } else { Structure }, opens: true, ..plain }
        }
        CType::Forward { .. } => {
            ArgumentNode { note: "its definition is not part of the kernel's type information".to_owned(), ..plain }
        }
        CType::Float { .. } => {
            ArgumentNode { note: "a floating-point number, which probes cannot read".to_owned(), ..plain }
        }
        _ => plain,
    }
}

/// How a pointer can be shown, and whether what it points to can be looked at.
fn pointer(types: &Types, to: TypeId) -> (Vec<ValueFormat>, bool) {
    use ValueFormat::{Hex, KernelSymbol, Text};
    match types.stripped(to) {
        CType::Int(int) if int.character || int.bytes == 1 => (vec![Text, Hex, ValueFormat::Bytes(SOME_BYTES)], false),
        CType::Int(int) => (vec![Hex, ValueFormat::Bytes(SOME_BYTES)], int.bytes <= 8),
        CType::Prototype { .. } => (vec![KernelSymbol, Hex], false),
        CType::Record(_) => (vec![Hex], true),
        CType::Pointer { .. } | CType::Enum(_) => (vec![Hex], true),
        _ => (addresses(), false),
    }
}

fn addresses() -> Vec<ValueFormat> {
    use ValueFormat::{Hex, KernelSymbol, Text, UserSymbol};
    vec![Hex, Text, ValueFormat::Bytes(SOME_BYTES), KernelSymbol, UserSymbol]
}

/// How a number of so many bytes can be shown; its name tells what it probably is.
fn numbers(bytes: u64, name: &str) -> Vec<ValueFormat> {
    use ValueFormat::{ErrorName, Hex, Ip, KernelSymbol, Octal, Plain, SignalName, SyscallName, UserName, UserSymbol};
    let ends = |word: &str| name == word || name.ends_with(&format!("_{word}"));
    let mut formats = vec![Plain, Hex, Octal];
    match bytes {
        8 => formats.extend([KernelSymbol, UserSymbol, SyscallName]),
        4 => formats.extend([Ip, UserName, SignalName, SyscallName, ErrorName]),
        _ => {}
    }
    let usual = if ["flags", "mode", "addr", "address", "ip"].into_iter().any(ends) {
        Hex
    } else if ends("uid") {
        UserName
    } else if ends("sig") {
        SignalName
    } else if ends("syscall_nr") {
        SyscallName
    } else {
        Plain
    };
    if let Some(at) = formats.iter().position(|it| *it == usual) {
        formats.swap(0, at);
    }
    formats
}

/// How an array of numbers can be shown.
fn array_formats(element_bytes: u64, count: u32) -> Vec<ValueFormat> {
    match (element_bytes, count) {
        (_, 0) => Vec::new(),
        (1, 4 | 16) => vec![ValueFormat::Ip, ValueFormat::Bytes(count)],
        (1, 6) => vec![ValueFormat::Mac, ValueFormat::Bytes(count)],
        (1, _) => vec![ValueFormat::Bytes(count.min(1024))],
        _ => vec![ValueFormat::Plain],
    }
}
