//! Names of parameters, members and functions → places, by the types of recorded kernels; and what people paste.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use bathyscope_catalog::{
    dynamic::{
        Dialect, DynamicDefinition, DynamicError, KernelFunctions, Line, Question, argument_places, parse_dynamic,
        parse_perf_probe, read_typed, variables,
    },
    recorded::kernel,
    types::{TypeKind, Types},
};

fn types() -> Types {
    kernel("6.12").unwrap().types()
}

fn parsed(text: &str, dialect: Dialect) -> Result<DynamicDefinition, DynamicError> {
    match dialect {
        Dialect::Perf => parse_perf_probe(text, None),
        Dialect::Kernel => match parse_dynamic(text)? {
            Line::Define(definition) => Ok(definition),
            Line::Remove { .. } => panic!("{text} removes"),
        },
    }
}

/// The line for the kernel, or where and what is wrong.
fn resolved(types: &Types, text: &str, dialect: Dialect) -> Result<String, DynamicError> {
    let definition = parsed(text, dialect)?;
    let function = definition.kernel_function().and_then(|(module, name, _)| types.function(module, name));
    let places = argument_places(text, dialect);
    Ok(definition.with_types(types, function.map(|it| it.id), &places)?.to_string())
}

fn offset(types: &Types, record: &str, path: &str) -> String {
    let id = types.find(TypeKind::Struct, record).unwrap();
    match types.field_path(id, path).unwrap().byte_offset() {
        small @ 0..10 => format!("+{small}"),
        large => format!("+{large:#x}"),
    }
}

#[test]
fn parameters_and_members_become_places_with_types() {
    let types = types();
    let at = |record: &str, path: &str| offset(&types, record, path);
    let (mode, dentry, name) = (at("file", "f_mode"), at("file", "f_path.dentry"), at("dentry", "d_name.name"));
    let family = at("sock", "__sk_common.skc_family");
    let comm = at("task_struct", "comm");
    let cases: [(&str, String); 15] = [
        ("do_sys_openat2 filename", "filename=+0($arg2):string".into()),
        ("do_sys_openat2 filename:string", "filename=+0($arg2):string".into()),
        ("do_sys_openat2 filename:x64 dfd", "filename=$arg2:x64 dfd=$arg1:s32".into()),
        ("do_sys_openat2 name=filename:ustring", "name=+0($arg2):ustring".into()),
        ("do_sys_openat2 how->flags", "flags=+0($arg3):u64".into()),
        ("vfs_read count", "count=$arg3:u64".into()),
        ("vfs_read file file->f_mode", format!("file=$arg1:x64 f_mode={mode}($arg1):u32")),
        ("vfs_read file->f_path.dentry->d_name.name:string", format!("name=+0({name}({dentry}($arg1))):string")),
        ("vfs_read +0(file):u8 %di pos", "+0($arg1):u8 %di pos=$arg4:x64".into()),
        ("tcp_sendmsg $params", "sk=$arg1:x64 msg=$arg2:x64 size=$arg3:u64".into()),
        ("tcp_sendmsg $vars", "sk=$arg1:x64 msg=$arg2:x64 size=$arg3:u64".into()),
        ("tcp_sendmsg msg->msg_iter.count", format!("count={}($arg2):u64", at("msghdr", "msg_iter.count"))),
        ("tcp_sendmsg sk->__sk_common.skc_family:x16", format!("skc_family={family}($arg1):x16")),
        ("wake_up_new_task p->comm p->comm[0]", format!("comm={comm}($arg1):string comm_2={comm}($arg1):u8")),
        ("wake_up_new_task p->real_parent->comm:string", {
            format!("comm={comm}({}($arg1)):string", at("task_struct", "real_parent"))
        }),
    ];
    for (text, expected) in cases {
        let line = resolved(&types, text, Dialect::Perf).unwrap_or_else(|error| panic!("{text}: {error}"));
        let arguments = line.splitn(3, ' ').nth(2).unwrap();
        assert_eq!(arguments, expected, "{text}");
        // What was made is understood, by the agent and by the kernel.
        assert!(parse_dynamic(&line).is_ok(), "{line}");
    }
    let kernels = resolved(&types, "p:mine vfs_read $arg1 n=count %dx:u32", Dialect::Kernel).unwrap();
    assert_eq!(kernels, "p:mine vfs_read $arg1 n=$arg3:u64 %dx:u32");
    let returned = resolved(&types, "vfs_read%return $retval n=$retval:x32", Dialect::Perf).unwrap();
    assert_eq!(returned, "r:probe/vfs_read__return vfs_read $retval:s64 n=$retval:x32");
}

#[test]
fn bit_fields_keep_their_bits() {
    let types = types();
    let task = types.find(TypeKind::Struct, "task_struct").unwrap();
    let field = types.field(task, "in_execve").unwrap();
    let (bits, width) = (field.bit_offset, field.bits.unwrap());
    let line = resolved(&types, "wake_up_new_task p->in_execve", Dialect::Perf).unwrap();
    let expected = format!("in_execve=+{:#x}($arg1):b{width}@{}/32", bits / 32 * 4, bits % 32);
    assert!(line.ends_with(&expected), "{line} {expected}");
}

#[test]
fn names_that_there_are_not_have_a_place_and_a_remedy() {
    let types = types();
    let cases = [
        ("vfs_read cuont", 9, "`vfs_read` has no parameter `cuont`; it has file, buf, count, pos"),
        ("vfs_read a=%di n=cuont", 17, "`vfs_read` has no parameter"),
        ("vfs_read file->f_mod", 9, "`struct file` has no member `f_mod`; did you mean `f_mode`?"),
        ("vfs_read file.f_mode", 9, "`struct file *` is a pointer; write `->`"),
        ("vfs_read count->x", 9, "`size_t` is no pointer; write `.`"),
        ("vfs_read file->f_path", 9, "`struct path` is too large for one value; name a member, such as mnt, dentry"),
        ("vfs_read count:string", 9, "`size_t` is no text"),
        ("vfs_read+4 count", 11, "parameters have names only where a function begins"),
        ("vfs_read+4 $vars", 12, "parameters have names only where a function begins"),
        ("no_such_function x", 17, "the kernel's type information does not describe `no_such_function`"),
    ];
    for (text, at, words) in cases {
        let error = resolved(&types, text, Dialect::Perf).expect_err(text);
        assert_eq!(error.at, at, "{text}: {error}");
        assert!(error.problem.to_string().starts_with(words), "{text}: {error}");
    }
    let of_return = parse_perf_probe("readline%return prompt:string", Some("/bin/bash")).unwrap_err();
    assert!(of_return.problem.to_string().contains("are gone when a function of a program returns"), "{of_return}");
}

#[test]
fn variables_are_listed_with_their_types() {
    let types = types();
    let function = types.function(None, "do_sys_openat2").unwrap().id;
    let all = variables(&types, function).unwrap();
    let told: Vec<String> = all.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["int dfd", "const char *filename", "struct open_how *how", "long int $retval"]);
    let lines: Vec<String> = all.iter().map(|it| it.argument.as_ref().unwrap().to_string()).collect();
    assert_eq!(lines, ["dfd=$arg1:s32", "filename=+0($arg2):string", "how=$arg3:x64", "$retval:s64"]);
    let how = all.get(2).unwrap();
    assert!(how.pointer && how.members == ["flags", "mode", "resolve"]);
}

const KALLSYMS: &str = "\
ffffffff81000000 T _text
ffffffff81000010 T do_sys_openat2
ffffffff81000020 T do_sys_open
ffffffff81000030 t finish_task_switch.isra.0
ffffffff81000040 T __x64_sys_openat
ffffffff81000050 D not_a_function
ffffffff81000060 T vfs_read
ffffffffc0000000 t ext4_sync_fs\t[ext4]
ffffffffc0000010 t helper\t[ext4]
ffffffffc0000020 t helper\t[xfs]
";

#[test]
fn functions_that_there_are_not_are_called_otherwise_here() {
    let functions = KernelFunctions::parse_kallsyms(KALLSYMS.as_bytes());
    assert!(functions.has(None, "vfs_read") && functions.has(Some("vmlinux"), "vfs_read"));
    assert!(functions.has(Some("ext4"), "ext4_sync_fs") && !functions.has(Some("xfs"), "ext4_sync_fs"));
    assert!(!functions.has(None, "not_a_function") && !functions.is_empty());
    assert_eq!(functions.modules_of("helper").collect::<Vec<_>>(), ["ext4", "xfs"]);
    let cases: [(&str, &[&str]); 7] = [
        ("finish_task_switch", &["finish_task_switch.isra.0"]),
        ("finish_task_swich", &["finish_task_switch.isra.0"]),
        ("sys_openat", &["__x64_sys_openat", "do_sys_openat2"]),
        ("SyS_openat", &["__x64_sys_openat", "do_sys_openat2"]),
        ("vfs_raed", &["vfs_read"]),
        ("do_sys_opn", &["do_sys_open"]),
        ("zzzzzzzzzzzzzzzz", &[]),
    ];
    for (name, expected) in cases {
        assert_eq!(functions.instead_of(name), expected, "{name}");
    }
    assert!(functions.seldom_called("do_sys_open").unwrap().contains("do_sys_openat2"));
    assert!(functions.seldom_called("vfs_read").is_none());
    let renamed = KernelFunctions::parse_kallsyms(b"ffffffff81000010 T do_sys_openat2\n");
    assert_eq!(renamed.instead_of("do_sys_open"), ["do_sys_openat2"]);
    assert!(KernelFunctions::parse_kallsyms(b"\xff\xfe x\n\n1 T\n").is_empty());
}

#[test]
fn what_is_pasted_is_taken_apart() {
    let text = "\
# cd /sys/kernel/tracing
p:open do_sys_openat2 file=+0($arg2):string

# echo 'p vfs_read+0x10 %di +0x3c(%di):u32' >> kprobe_events
echo \"r:zfree_exit /bin/zsh:0x46420 %ip %ax\" >> /sys/kernel/tracing/uprobe_events
echo r:x vfs_write > kprobe_events
echo 1 > events/kprobes/open/enable
# cat trace
sudo perf probe -x /bin/bash 'readline%return +0($retval):string'
perf probe --add='do_sys_open filename:string' --add tcp_sendmsg -f
perf probe do_sys_open flags
perf record -e probe:do_sys_open -a
$ do_sys_open filename:string
";
    let reading = read_typed(text, None).unwrap();
    let found: Vec<(&str, Dialect, Option<&str>)> =
        reading.typed.iter().map(|it| (it.text.as_str(), it.dialect, it.file.as_deref())).collect();
    assert_eq!(
        found,
        [
            ("p:open do_sys_openat2 file=+0($arg2):string", Dialect::Kernel, None),
            ("p vfs_read+0x10 %di +0x3c(%di):u32", Dialect::Kernel, None),
            ("r:zfree_exit /bin/zsh:0x46420 %ip %ax", Dialect::Kernel, None),
            ("r:x vfs_write", Dialect::Kernel, None),
            ("readline%return +0($retval):string", Dialect::Perf, Some("/bin/bash")),
            ("do_sys_open filename:string", Dialect::Perf, None),
            ("tcp_sendmsg", Dialect::Perf, None),
            ("do_sys_open flags", Dialect::Perf, None),
            ("do_sys_open filename:string", Dialect::Perf, None),
        ]
    );
    for one in &reading.typed {
        assert!(text[one.at..].starts_with(&one.text), "{one:?}");
    }
    let skipped: Vec<&str> = reading.skipped.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(
        skipped,
        [
            "cd /sys/kernel/tracing",
            "echo 1 > events/kprobes/open/enable",
            "cat trace",
            "perf record -e probe:do_sys_open -a"
        ]
    );
    assert_eq!(reading.notes.len(), 1, "{:?}", reading.notes);
    assert!(reading.notes[0].starts_with("`-f` of `perf probe` changes nothing here"), "{:?}", reading.notes);
    let libc = read_typed("malloc\np:x vfs_read", Some("libc")).unwrap();
    assert_eq!(libc.typed.iter().map(|it| it.file.as_deref()).collect::<Vec<_>>(), [Some("libc"), None]);
    let removed = read_typed("p:x f\n- p_vfs_read_0", None).unwrap().removed;
    assert_eq!((removed[0].at, removed[0].event.as_str(), removed[0].after), (6, "p_vfs_read_0", 1));
    assert_eq!(read_typed("echo 'p:x f", None).unwrap_err().at, 5);
}

/// What `perf probe` is asked, without its file: what makes a probe is a definition.
fn asked(line: &str) -> Result<Vec<String>, DynamicError> {
    let reading = read_typed(line, None)?;
    let made = reading.typed.iter().map(|it| format!("probe {}", it.text));
    let questions = reading.asked.iter().map(|it| match &it.question {
        Question::Variables { function, .. } => format!("variables {function}"),
        Question::Functions { pattern, .. } => format!("functions {}", pattern.as_deref().unwrap_or("*")),
        Question::List { pattern } => format!("list {}", pattern.as_deref().unwrap_or("*")),
        Question::Definition(typed) => format!("dry {}", typed.text),
    });
    Ok(made.chain(questions).chain(reading.removed.iter().map(|it| format!("removed {}", it.event))).collect())
}

#[test]
fn questions_of_perf_probe_make_no_probe() {
    let cases: [(&str, &[&str]); 20] = [
        ("perf probe -V do_sys_open", &["variables do_sys_open"]),
        ("perf probe --vars=tcp_sendmsg", &["variables tcp_sendmsg"]),
        ("perf probe -x /bin/bash -V readline", &["variables readline"]),
        ("perf probe -x /bin/bash --funcs", &["functions *"]),
        ("perf probe -F 'vfs_*'", &["functions vfs_*"]),
        ("perf probe -F --filter 'vfs_*'", &["functions vfs_*"]),
        ("perf probe --list", &["list *"]),
        ("perf probe -l probe:*", &["list probe:*"]),
        ("perf probe -fnv vfs_read", &["dry vfs_read"]),
        ("perf probe --dry-run --add 'vfs_read count' vfs_write", &["dry vfs_read count", "dry vfs_write"]),
        ("perf probe -D vfs_read", &["dry vfs_read"]),
        ("perf probe --del 'schedule*'", &["removed schedule*"]),
        ("perf probe -d probe:a --del=b", &["removed a", "removed b"]),
        ("perf probe -f vfs_read", &["probe vfs_read"]),
        ("perf probe -x/bin/bash -avfs_read", &["probe vfs_read"]),
        ("perf probe vfs_read file->f_mode > /dev/null 2>&1", &["probe vfs_read file->f_mode"]),
        ("perf probe -F | grep vfs", &["functions *"]),
        ("--add 'vfs_read count'", &["probe vfs_read count"]),
        ("-V vfs_read", &["variables vfs_read"]),
        ("sudo perf probe --quiet --add vfs_read; perf record -e probe:vfs_read -aR sleep 1", &["probe vfs_read"]),
    ];
    for (line, expected) in cases {
        assert_eq!(asked(line).unwrap_or_else(|error| panic!("{line}: {error}")), expected, "{line}");
    }
}

#[test]
fn options_of_perf_probe_are_known_or_refused() {
    let cases = [
        ("perf probe -L tcp_sendmsg", 11, "source lines are found in the probe builder"),
        ("perf probe --line vfs_read:0+7", 11, "`--line`: source lines"),
        ("perf probe -nL vfs_read", 11, "`-nL`: source lines"),
        ("perf probe -m ext4 ext4_sync_file", 11, "`ext4:ext4_sync_file`"),
        ("perf probe --externs -V f", 11, "only the debug information of programs is read"),
        ("perf probe --cache f", 11, "no counterpart"),
        ("perf probe -Z f", 11, "`-Z`: `perf probe` has no such option"),
        ("perf probe --lisst", 11, "did you mean `--list`?"),
        ("perf probe --add", 11, "`--add`: it needs a value"),
    ];
    for (line, at, words) in cases {
        let error = read_typed(line, None).expect_err(line);
        assert_eq!(error.at, at, "{line}: {error}");
        assert!(error.problem.to_string().contains(words), "{line}: {error}");
    }
    let pattern = parse_perf_probe("schedule;cpu=*", None).unwrap_err();
    assert_eq!(pattern.at, 8);
    assert!(pattern.problem.to_string().contains("patterns of lines"), "{pattern}");
}

#[test]
fn prompts_and_answers_are_passed_over_by_name() {
    let text = "\
[root@host ~]# perf probe --add do_sys_open
Added new event:
  probe:do_sys_open    (on do_sys_open with filename)
You can now use it in all perf tools, such as:

        perf record -e probe:do_sys_open -aR sleep 1

root@debian:/sys/kernel/tracing# echo 'p vfs_read' | sudo tee -a kprobe_events
bash-5.1# cd /; echo 1 > events/enable && ls
[root@host ~]# uptime
user@host:~$
$ sudo sh -c \"echo 'p:x vfs_write' >> /sys/kernel/tracing/kprobe_events\"
              ls  9374 [001]   7.0123: probe:do_sys_open: (ffffffff81000000)
[ perf record: Captured and wrote 0.200 MB perf.data (~8741 samples) ]
# a comment; p:y vfs_read
";
    let reading = read_typed(text, None).unwrap();
    let made: Vec<&str> = reading.typed.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(made, ["do_sys_open", "p vfs_read", "p:x vfs_write"]);
    for one in &reading.typed {
        assert!(text[one.at..].starts_with(&one.text), "{one:?}");
    }
    let why = |begin: &str| reading.skipped.iter().find(|it| it.text.starts_with(begin)).map(|it| it.why.as_str());
    assert_eq!(why("Added new"), Some("this is what perf answered"));
    assert_eq!(why("probe:do_sys_open"), Some("this is what perf answered"));
    assert_eq!(why("perf record"), Some("the capture records and shows its probes itself"));
    assert_eq!(why("uptime"), Some("this command makes no probe"));
    assert_eq!(why("user@host:~$"), Some("this is a prompt"));
    assert_eq!(why("ls  9374"), Some("this is a row that was recorded"));
    assert_eq!(reading.skipped.len(), 11, "{:?}", reading.skipped);
    // Functions of a library may be called so.
    assert_eq!(read_typed("sleep", Some("libc")).unwrap().typed.len(), 1);
}

#[test]
fn variables_of_programs_become_places_with_types() {
    use bathyscope_capture::{ProgramData, ProgramVariable, VariablePlace};
    use bathyscope_catalog::recorded::list_types;

    let variable = |name: &str, ty, place| ProgramVariable { name: name.to_owned(), ty, parameter: true, place };
    let variables = vec![
        variable("first", 2, VariablePlace::Register(5)),
        variable("step", 0, VariablePlace::Register(4)),
        variable("at", 2, VariablePlace::Memory { register: 6, offset: -16 }),
        variable("own", 1, VariablePlace::Memory { register: 7, offset: -24 }),
        variable("gone", 0, VariablePlace::Unreadable("the compiler keeps it nowhere".to_owned())),
    ];
    let data = ProgramData { types: list_types(), places: vec![variables] };
    let told = |text: &str| {
        let text = format!("walk+8 {text}");
        let definition = parse_perf_probe(&text, Some("/bin/made")).unwrap();
        let places = argument_places(&text, Dialect::Perf);
        match definition.with_program(&data, "", &places) {
            Ok(definition) => definition.to_string().split_once(' ').unwrap().1.split_once(' ').unwrap().1.to_owned(),
            Err(error) => format!("{}: {}", &text[error.at..], error.problem),
        }
    };
    if cfg!(target_arch = "x86_64") {
        let cases = [
            ("step", "step=%si:s32"),
            ("first->len", "len=+8(%di):s32"),
            ("first->next->len", "len=+8(+0(%di)):s32"),
            ("first->name:string", "name=+0(+0x10(%di)):string"),
            ("first->low", "low=+0xc(%di):b3@0/32"),
            ("at->len step", "len=+8(-0x10(%bp)):s32 step=%si:s32"),
            ("own.len own.low", "len=-0x10(%sp):s32 low=-0xc(%sp):b3@0/32"),
            ("x=at", "x=-0x10(%bp):x64"),
        ];
        for (text, expected) in cases {
            assert_eq!(told(text), expected, "{text}");
        }
    }
    assert_eq!(told("gone"), "gone: `gone` cannot be recorded at this place: the compiler keeps it nowhere");
    assert!(told("stop").ends_with("did you mean `step`?"), "{}", told("stop"));
    assert!(told("first->lem").contains("did you mean `len`?"), "{}", told("first->lem"));
    let listed = bathyscope_catalog::dynamic::program_variables(&data);
    let shown: Vec<String> = listed.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["struct node *first", "int step", "struct node *at", "struct node own", "int gone"]);
    assert_eq!((listed[0].members[1].as_str(), listed[0].pointer, listed[4].argument.is_none()), ("len", true, true));
}
