//! Arguments of probe sites on recorded kernels: what is offered compiles.

use std::collections::VecDeque;

use bathyscope_bpf::lang::{host::Host as _, recorded::RecordedHost};
use bathyscope_builder::{
    ArgumentKind, ArgumentList, ArgumentNode, ProbeForm, RecordedValue, UserPlace, ValueFormat, arguments, read,
    tracepoint_of, write,
};
use bathyscope_capture::{DataType, ProgramData, ProgramVariable, VariablePiece, VariablePlace};
use bathyscope_catalog::recorded::list_types;

use crate::tables::{compiles_on, compiles_with};

fn list(host: &RecordedHost, site: &str, path: &[&str]) -> ArgumentList {
    let format = tracepoint_of(site).and_then(|name| {
        let (system, name) = name.split_once(':').unwrap();
        host.tracepoint(system, name).unwrap()
    });
    let path: Vec<String> = path.iter().map(|step| (*step).to_owned()).collect();
    arguments(site, &path, host.types(), format.as_deref(), &UserPlace::default()).unwrap()
}

fn find(list: &ArgumentList, name: &str) -> ArgumentNode {
    let found = list.nodes.iter().find(|node| node.name == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {:?}", list.nodes.iter().map(|it| &it.name).collect::<Vec<_>>()))
        .clone()
}

/// The sites whose trees are walked.
const SITES: [&str; 9] = [
    "tracepoint:syscalls:sys_enter_openat",
    "tracepoint:syscalls:sys_exit_openat",
    "tracepoint:sched:sched_switch",
    "tracepoint:block:block_rq_issue",
    "tracepoint:sock:inet_sock_set_state",
    "rawtracepoint:sched_switch",
    "fentry:vfs_read",
    "fexit:vfs_read",
    "kprobe:vfs_read",
];

#[test]
fn everything_that_is_offered_compiles() {
    let host = RecordedHost::new("6.12").unwrap();
    for site in SITES {
        let mut open: VecDeque<Vec<String>> = VecDeque::from([Vec::new()]);
        let mut values = Vec::new();
        let mut looked_at = 0;
        while let Some(path) = open.pop_front().filter(|_| looked_at < 40) {
            looked_at += 1;
            let path_words: Vec<&str> = path.iter().map(String::as_str).collect();
            for node in list(&host, site, &path_words).nodes {
                if node.opens {
                    open.push_back(path.iter().cloned().chain([node.name.clone()]).collect());
                }
                values.extend(node.formats.iter().map(|format| (node.expr.clone(), *format)));
            }
        }
        assert!(values.len() > 8, "{site} has {} values", values.len());
        for some in values.chunks(12) {
            let values = some.iter().map(|(expr, format)| RecordedValue {
                expr: expr.clone(),
                format: *format,
                ..RecordedValue::default()
            });
            let form = ProbeForm { sites: vec![site.to_owned()], values: values.collect(), ..ProbeForm::default() };
            let script = write(&[form]).unwrap();
            if let Err(why) = compiles_on(&host, &script) {
                panic!("{why}\n{script}");
            }
        }
    }
}

#[test]
fn members_are_unfolded_through_pointers_with_their_types() {
    let host = RecordedHost::new("6.12").unwrap();
    let open = list(&host, "tracepoint:syscalls:sys_enter_openat", &[]);
    let filename = find(&open, "filename");
    assert_eq!(
        (filename.expr.as_str(), filename.formats[0], filename.late),
        ("args.filename", ValueFormat::Text, true)
    );
    let read = list(&host, "fentry:vfs_read", &[]);
    let file = find(&read, "file");
    assert_eq!((file.ty.as_str(), file.kind, file.opens), ("struct file *", ArgumentKind::Pointer, true));
    let name = list(&host, "fentry:vfs_read", &["file", "f_path", "dentry", "d_name"]);
    let name = find(&name, "name");
    assert_eq!(name.expr, "args.file->f_path.dentry->d_name.name");
    assert_eq!((name.note.as_str(), name.formats[0]), ("", ValueFormat::Text));
    let exit = list(&host, "fexit:vfs_read", &[]);
    assert_eq!(exit.nodes[0].name, "retval");
    let entry = list(&host, "kprobe:vfs_read", &[]);
    assert_eq!(find(&entry, "file").expr, "((struct file *)arg0)");
    let task = list(&host, "interval:s:1", &["curtask"]);
    let comm = find(&task, "comm");
    assert_eq!((comm.kind, comm.expr.as_str()), (ArgumentKind::Text, "curtask->comm"));
    assert!(task.nodes.iter().any(|it| it.bits == Some(1)), "bit fields are told");
    let uprobe = list(&host, "uprobe:/bin/bash:readline", &[]);
    assert!(!uprobe.note.is_empty() && uprobe.nodes.len() > 6);
    let missing = arguments("fentry:vfs_read", &["nothing".to_owned()], host.types(), None, &UserPlace::default());
    assert!(missing.unwrap_err().to_string().starts_with("there is no `nothing`"));
    assert!(arguments("what", &[], host.types(), None, &UserPlace::default()).is_err());
}

#[test]
fn enums_have_their_names() {
    let host = RecordedHost::new("6.12").unwrap();
    let list = list(&host, "rawtracepoint:skb:kfree_skb", &[]);
    let reason = find(&list, "reason");
    assert_eq!(reason.kind, ArgumentKind::Enumeration);
    assert!(reason.constants.iter().any(|it| it.name.contains("NO_SOCKET")), "{:?}", reason.constants);
}

#[test]
fn arguments_of_system_calls_have_the_names_of_their_bits() {
    let host = RecordedHost::new("6.12").unwrap();
    let cases = [
        ("tracepoint:syscalls:sys_enter_openat", "flags", "open"),
        ("tracepoint:syscalls:sys_enter_mmap", "prot", "prot"),
        ("tracepoint:syscalls:sys_enter_mmap", "flags", "mmap"),
    ];
    for (site, argument, set) in cases {
        let list = list(&host, site, &[]);
        let format = find(&list, argument).formats[0];
        assert_eq!(serde_json::to_value(format).unwrap(), serde_json::json!({ "names": set }), "{site} {argument}");
        assert!(find(&list, argument).formats.contains(&ValueFormat::Hex), "a number is offered as well");
    }
    let file = list(&host, "fentry:vfs_read", &["file"]);
    assert_eq!(
        serde_json::to_value(find(&file, "f_flags").formats[0]).unwrap(),
        serde_json::json!({ "names": "open" })
    );
}

/// A program with a list, a text of Rust, and a variable that is nowhere.
fn program() -> ProgramData {
    let variable = |name: &str, ty, place| ProgramVariable { name: name.to_owned(), ty, parameter: true, place };
    let half = |register| VariablePiece { place: VariablePlace::Register(register), bytes: 8 };
    let variables = vec![
        variable("first", 2, VariablePlace::Register(5)),
        variable("own", 1, VariablePlace::Memory { register: 7, offset: 24 }),
        variable("path", 3, VariablePlace::Sum { register: 4, offset: 8 }),
        variable("always", 0, VariablePlace::Constant(7)),
        variable("name", 7, VariablePlace::Pieces(vec![half(4), half(1)])),
        variable("gone", 0, VariablePlace::Unreadable("the compiler keeps it nowhere".to_owned())),
    ];
    ProgramData { types: list_types(), places: vec![variables] }
}

#[test]
fn variables_of_programs_are_unfolded_and_compile() {
    let host = RecordedHost::new("6.12").unwrap();
    let site = "uprobe:/bin/made:walk+20";
    let user = UserPlace { data: program(), ..UserPlace::default() };
    let list = |path: &[String]| arguments(site, path, host.types(), None, &user).unwrap();
    let path = |steps: &[&str]| steps.iter().map(|step| (*step).to_owned()).collect::<Vec<_>>();
    let top = list(&[]);
    assert_eq!(find(&top, "first").ty, "struct node *");
    assert_eq!(find(&top, "path").formats[0], ValueFormat::Text);
    let gone = find(&top, "gone");
    assert_eq!((gone.note.as_str(), gone.formats.len(), gone.opens), ("the compiler keeps it nowhere", 0, false));
    let len = find(&list(&path(&["first", "next"])), "len");
    assert_eq!(len.expr, "args.first->next->len");
    let kind = find(&list(&path(&["own"])), "kind");
    assert_eq!((kind.expr.as_str(), kind.constants[0].name.as_str()), ("args.own.kind", "RED"));
    let length = find(&list(&path(&["name"])), "length");
    assert_eq!(length.expr, "args.name.length");
    assert_eq!(find(&top, "name as text").expr, "str(args.name.data_ptr, args.name.length + 1)");
    let mut open: VecDeque<Vec<String>> = VecDeque::from([Vec::new()]);
    let mut values = Vec::new();
    while let Some(steps) = open.pop_front().filter(|_| values.len() < 120) {
        for node in list(&steps).nodes.into_iter().filter(|node| node.name != "curtask") {
            assert!(!node.formats.contains(&ValueFormat::KernelSymbol), "{node:?}");
            if node.opens {
                open.push_back(steps.iter().cloned().chain([node.name.clone()]).collect());
            }
            values.extend(node.formats.iter().map(|format| (node.expr.clone(), *format)));
        }
    }
    for some in values.chunks(12) {
        let value = |(expr, format): &(String, ValueFormat)| RecordedValue {
            expr: expr.clone(),
            format: *format,
            ..RecordedValue::default()
        };
        let values = some.iter().map(value).collect();
        let script = write(&[ProbeForm { sites: vec![site.to_owned()], values, ..ProbeForm::default() }]).unwrap();
        if let Err(why) = compiles_with(&host, &script, &program()) {
            panic!("{why}\n{script}");
        }
    }
    let refused = format!("{site} {{ print(args.gone); }}");
    let why = compiles_with(&host, &refused, &program()).unwrap_err();
    assert!(why.contains("the compiler keeps it nowhere"), "{why}");
    let misspelt = format!("{site} {{ print(args.first->lenn); }}");
    assert!(compiles_with(&host, &misspelt, &program()).unwrap_err().contains("did you mean `len`?"));
}

/// The form with one value at a site, as a script that compiles and reads back as the same form.
fn held(host: &RecordedHost, site: &str, expr: &str, format: ValueFormat, data: Option<&ProgramData>) -> String {
    let value = RecordedValue { expr: expr.to_owned(), format, ..RecordedValue::default() };
    let form = ProbeForm { sites: vec![site.to_owned()], values: vec![value], ..ProbeForm::default() };
    let script = write(std::slice::from_ref(&form)).unwrap();
    let compiled = match data {
        Some(data) => compiles_with(host, &script, data),
        None => compiles_on(host, &script),
    };
    if let Err(why) = compiled {
        panic!("{why}\n{script}");
    }
    assert_eq!(read(&script).unwrap().forms, [form.normal()], "{script}");
    script
}

#[test]
fn lists_of_the_kernel_are_unfolded_as_what_hangs_on_them() {
    for series in ["6.1", "6.12", "6.18"] {
        let host = RecordedHost::new(series).unwrap();
        let site = "interval:s:1";
        let children = find(&list(&host, site, &["curtask"]), "children");
        assert_eq!(children.note, "list of struct task_struct by sibling", "{series}");
        let within = list(&host, site, &["curtask", "children"]);
        let names: Vec<&str> = within.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["first entry", "last entry", "next", "prev"], "{series}");
        let first = &within.nodes[0];
        assert_eq!((first.ty.as_str(), first.opens), ("struct task_struct *", true));
        assert_eq!(
            first.expr,
            "(curtask->children.next != &curtask->children ? container_of(curtask->children.next, struct task_struct, sibling) : \
             (struct task_struct *)0)"
        );
        assert!(first.note.contains("an empty list has none: it is 0"), "{}", first.note);
        let child = ["curtask", "children", "first entry"];
        let comm = find(&list(&host, site, &child), "comm");
        held(&host, site, &comm.expr, comm.formats[0], None);
        held(&host, site, &first.expr, first.formats[0], None);
        let sibling = list(&host, site, &["curtask", "children", "first entry", "sibling"]);
        let next = find(&sibling, "next entry");
        assert!(next.expr.contains("->real_parent->children ? "), "{}", next.expr);
        let further = ["curtask", "children", "first entry", "sibling", "next entry"];
        let pid = find(&list(&host, site, &further), "pid");
        held(&host, site, &pid.expr, pid.formats[0], None);
        // Each step makes the expression longer, until the form cannot hold it.
        let mut path: Vec<&str> = child.to_vec();
        let last = loop {
            path.extend(["sibling", "next entry"]);
            let (name, before) = path.split_last().unwrap();
            let node = find(&list(&host, site, before), name);
            if !node.opens {
                break node;
            }
        };
        assert_eq!(
            (last.note.as_str(), last.formats.len()),
            ("further than a form can say: write a loop in the script", 0)
        );
    }
}

#[test]
fn children_of_a_directory_follow_the_kernel() {
    for (series, head, how) in [("6.1", "d_subdirs", "d_child"), ("6.12", "d_children", "d_sib")] {
        let host = RecordedHost::new(series).unwrap();
        let path = ["file", "f_path", "dentry"];
        let of = |more: &[&'static str]| -> Vec<&'static str> { path.iter().chain(more).copied().collect() };
        let node = find(&list(&host, "fentry:vfs_read", &path), head);
        assert!(node.note.ends_with(&format!("by {how}")), "{series} {}", node.note);
        let name = find(&list(&host, "fentry:vfs_read", &of(&[head, "first entry", "d_name"])), "name");
        held(&host, "fentry:vfs_read", &name.expr, ValueFormat::Text, None);
    }
}

#[test]
fn memory_that_nothing_describes_is_offered_word_by_word() {
    let host = RecordedHost::new("6.12").unwrap();
    let list = |site: &str, path: &[&str]| list(&host, site, path);
    for (site, first, register) in [
        ("uprobe:/bin/stripped:0x1234", "arg0", "arg0"),
        ("kprobe:vfs_read+12", "di", "reg(\"di\")"),
        ("uprobe:/bin/stripped:main+12", "di", "reg(\"di\")"),
        ("uretprobe:/bin/stripped:main", "retval", "retval"),
    ] {
        let top = list(site, &[]);
        let node = find(&top, first);
        assert!(node.memory && node.opens && node.expr == register, "{site} {node:?}");
        let within = list(site, &[first]);
        let names: Vec<&str> = within.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names[..3], ["bytes", "+0", "+8"], "{site}");
        assert_eq!(within.nodes[0].formats, [ValueFormat::Bytes(64)]);
        let further = list(site, &[first, "+8"]);
        for node in within.nodes.iter().chain(&further.nodes) {
            for format in &node.formats {
                held(&host, site, &node.expr, *format, None);
            }
        }
    }
    let kernel = list("kprobe:vfs_read+12", &["di"]);
    assert!(find(&kernel, "+0").formats.contains(&ValueFormat::KernelSymbol), "functions of the kernel");
    // A pointer to nothing that is known leads to memory too.
    let data = list("rawtracepoint:kfree_skb", &[]);
    let location = find(&data, "location");
    assert!(location.memory, "{location:?}");
    held(
        &host,
        "rawtracepoint:kfree_skb",
        &list("rawtracepoint:kfree_skb", &["location"]).nodes[2].expr,
        ValueFormat::Hex,
        None,
    );
}

#[test]
fn variables_of_the_kernel_have_its_types() {
    let host = RecordedHost::new("6.12").unwrap();
    let site = "kprobe:vfs_read+45";
    // The kernel's own struct file, of which debug information says the size and one member.
    let file = host.types().spelled("struct file").unwrap();
    let bytes = u32::try_from(host.types().size(file).unwrap()).unwrap();
    let record = DataType::Record { name: "file".to_owned(), union: false, bytes, members: Vec::new() };
    let types = vec![DataType::Pointer { to: 1 }, record, list_types()[8].clone()];
    let variable = |name: &str, ty, place| ProgramVariable { name: name.to_owned(), ty, parameter: false, place };
    let variables = vec![
        variable("file", 0, VariablePlace::Register(5)),
        variable("count", 2, VariablePlace::Memory { register: 7, offset: 8 }),
        variable("gone", 2, VariablePlace::Unreadable("the compiler keeps it nowhere".to_owned())),
    ];
    let data = ProgramData { types, places: vec![variables] };
    let user = UserPlace { data: data.clone(), ..UserPlace::default() };
    let list = |path: &[&str]| {
        let path: Vec<String> = path.iter().map(|step| (*step).to_owned()).collect();
        arguments(site, &path, host.types(), None, &user).unwrap()
    };
    let top = list(&[]);
    assert_eq!((find(&top, "file").ty.as_str(), find(&top, "gone").formats.len()), ("struct file *", 0));
    let name = find(&list(&["file", "f_path", "dentry", "d_name"]), "name");
    assert_eq!(name.expr, "args.file->f_path.dentry->d_name.name");
    held(&host, site, &name.expr, ValueFormat::Text, Some(&data));
    held(&host, site, "args.count", ValueFormat::Decimal, Some(&data));
    let refused = compiles_with(&host, &format!("{site} {{ print(args.gone); }}"), &data).unwrap_err();
    assert!(refused.contains("the compiler keeps it nowhere"), "{refused}");
    let none = UserPlace { data_missing: "install linux-image-dbg".to_owned(), ..UserPlace::default() };
    let told = arguments(site, &[], host.types(), None, &none).unwrap();
    assert!(told.note.ends_with("For its variables: install linux-image-dbg"), "{}", told.note);
    // At its begin the kernel's type information is enough.
    let begin = arguments("kprobe:vfs_read", &[], host.types(), None, &user).unwrap();
    assert_eq!(find(&begin, "file").expr, "((struct file *)arg0)");
}
