//! Arguments of probe sites on recorded kernels: what is offered compiles.

use std::collections::VecDeque;

use bathyscope_bpf::lang::{host::Host as _, recorded::RecordedHost};
use bathyscope_builder::{
    ArgumentKind, ArgumentList, ArgumentNode, ProbeForm, RecordedValue, UserPlace, ValueFormat, arguments,
    tracepoint_of, write,
};
use bathyscope_capture::{
    DataMember, DataType, IntegerMeaning, ProgramData, ProgramVariable, VariablePiece, VariablePlace,
};

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
    let member = |name: &str, ty, bit_offset, bits| DataMember { name: name.to_owned(), ty, bit_offset, bits };
    let record = |name: &str, bytes, members| DataType::Record { name: name.to_owned(), union: false, bytes, members };
    let number = |bytes, signed, meaning| DataType::Integer { bytes, signed, meaning };
    let node = vec![
        member("next", 2, 0, None),
        member("len", 0, 64, None),
        member("low", 0, 96, Some(3)),
        member("text", 6, 128, None),
        member("kind", 5, 192, None),
    ];
    let types = vec![
        number(4, true, IntegerMeaning::Number),
        record("node", 32, node),
        DataType::Pointer { to: 1 },
        DataType::Pointer { to: 4 },
        number(1, true, IntegerMeaning::Character),
        DataType::Enumeration { name: "colour".into(), bytes: 4, signed: false, constants: vec![("RED".into(), 0)] },
        DataType::Array { element: 4, count: 8 },
        record("&str", 16, vec![member("data_ptr", 3, 0, None), member("length", 8, 64, None)]),
        number(8, false, IntegerMeaning::Number),
    ];
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
    ProgramData { types, places: vec![variables] }
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
