//! `tests/cases/scripts.txt`: scripts with the form that each is read as, or where and why it is not. `BATHYSCOPE_BLESS=1`
//! writes it anew.

use std::{env, fmt::Write as _, fs, path::PathBuf, sync::LazyLock};

use bathyscope_bpf::lang::{
    CompileOptions, ExpandOptions, compile, expand, parse, points, recorded::RecordedHost, render, user_points,
};
use bathyscope_builder::{ProbeForm, Reading, read, write};
use bathyscope_capture::ProgramData;
use bathyscope_plan::{UserFile, UserPlace, UserPlaces};

static HOSTS: LazyLock<Vec<RecordedHost>> =
    LazyLock::new(|| ["6.1", "6.12", "6.18"].map(|series| RecordedHost::new(series).unwrap()).into());

/// Compiles a script on every recorded kernel; what is said where it does not.
pub(crate) fn compiles(script: &str) -> Result<(), String> {
    HOSTS.iter().try_for_each(|host| compiles_on(host, script))
}

/// Compiles a script on a recorded kernel.
pub(crate) fn compiles_on(host: &RecordedHost, script: &str) -> Result<(), String> {
    compiles_with(host, script, &ProgramData::default())
}

/// The same where debug information says something of the places in programs and of kprobes.
pub(crate) fn compiles_with(host: &RecordedHost, script: &str, data: &ProgramData) -> Result<(), String> {
    let told = |said: Vec<bathyscope_plan::Diagnostic>| {
        said.iter().map(|it| render(script, "script", it)).collect::<Vec<_>>().join("\n")
    };
    let expanded = expand(&parse(script).map_err(told)?, &ExpandOptions::default()).map_err(told)?;
    let mut made = None;
    for point in user_points(&expanded.script) {
        let place = UserPlace {
            file: UserFile { path: "/bin/made".to_owned(), in_process: None, device: 1, inode: 2 },
            offset: 0x1000,
            address: 0x1000,
            symbol: "made".to_owned(),
            provider: "maker".to_owned(),
            semaphore: 0,
            arguments: Vec::new(),
        };
        let data = data.clone();
        let places = UserPlaces { point: point.text.clone(), places: vec![place], data, ..UserPlaces::default() };
        made.get_or_insert_with(|| host.clone()).places.insert(point.text.clone(), places);
    }
    let in_kernel = points(&expanded.script).filter(|point| point.parts.first().is_some_and(|it| it.text == "kprobe"));
    for point in in_kernel.filter(|_| !data.types.is_empty()) {
        let places = UserPlaces { point: point.text.clone(), data: data.clone(), ..UserPlaces::default() };
        made.get_or_insert_with(|| host.clone()).places.insert(point.text.clone(), places);
    }
    let host = made.as_ref().unwrap_or(host);
    compile(script, host, &CompileOptions::default()).map(|_compiled| ()).map_err(told)
}

/// A form without what is as it begins.
fn shown(form: &ProbeForm) -> String {
    fn cut(value: &mut serde_json::Value, usual: &serde_json::Value) {
        if let (Some(all), Some(usual)) = (value.as_object_mut(), usual.as_object()) {
            all.retain(|name, value| usual.get(name) != Some(value));
        }
    }
    let mut value = serde_json::to_value(form).unwrap();
    cut(&mut value, &serde_json::to_value(ProbeForm::default()).unwrap());
    let until = serde_json::to_value(bathyscope_builder::Pairing::default()).unwrap();
    value.get_mut("until").into_iter().for_each(|it| cut(it, &until));
    let usual = serde_json::to_value(bathyscope_builder::RecordedValue::default()).unwrap();
    for values in ["/values", "/until/values"] {
        let values = value.pointer_mut(values).and_then(|it| it.as_array_mut());
        values.into_iter().flatten().for_each(|it| cut(it, &usual));
    }
    let lines = value.as_object().unwrap().iter().map(|(name, value)| format!("{name}: {value}\n"));
    lines.collect()
}

fn about(text: &str, it: &bathyscope_plan::Diagnostic, word: &str) -> String {
    let place = text.get(it.start as usize..it.end as usize).expect("a place within the text");
    let hint = if it.hint.is_empty() { String::new() } else { format!("; {}", it.hint) };
    format!("{word} at `{}`: {}{hint}\n", place.lines().next().unwrap_or(""), it.message)
}

fn reading(script: &str) -> String {
    match read(script) {
        Ok(Reading { forms, left_out }) => {
            let written = write(&forms).unwrap();
            assert_eq!(read(&written).unwrap().forms, forms, "{written}");
            if let Err(why) = compiles(&written) {
                panic!("{why}\n{written}");
            }
            let told = match forms.as_slice() {
                [form] => shown(form),
                forms => forms.iter().zip(1..).map(|(form, n)| format!("probe {n}\n{}", shown(form))).collect(),
            };
            told + &left_out.iter().map(|it| about(script, it, "left out")).collect::<String>()
        }
        Err(said) => said.iter().map(|it| about(script, it, "refused")).collect(),
    }
}

#[test]
fn scripts_are_read_as_forms_or_refused_at_their_place() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases/scripts.txt");
    let text = fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once("\n=== ").unwrap();
    let mut found = format!("{head}\n");
    let (mut taken, mut refused) = (0, 0);
    for case in rest.split("\n=== ") {
        let (title, body) = case.split_once('\n').unwrap();
        let script = body.split_once("\n---\n").map_or(body, |(script, _)| script).trim_end();
        let told = reading(script);
        *(if told.contains("refused at") { &mut refused } else { &mut taken }) += 1;
        write!(found, "=== {title}\n{script}\n---\n{told}\n").unwrap();
    }
    assert!(taken >= 25 && refused >= 15, "{taken} scripts are taken, {refused} refused");
    let found = format!("{}\n", found.trim_end());
    if env::var_os("BATHYSCOPE_BLESS").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    for (number, (expected, found)) in expected.lines().zip(found.lines()).enumerate() {
        assert_eq!(expected, found, "scripts.txt:{}; BATHYSCOPE_BLESS=1 writes it anew", number + 1);
    }
    assert_eq!(expected, found);
}

fn form(json: &str) -> ProbeForm {
    serde_json::from_str(json).unwrap()
}

#[test]
fn a_form_writes_what_a_person_would() {
    let opens = form(
        r#"{"comment": "Who opens which file", "sites": ["tracepoint:syscalls:sys_enter_openat"],
            "values": [{"expr": "args.filename", "format": "text", "late": true}],
            "until": {"sites": ["tracepoint:syscalls:sys_exit_openat"], "duration": true,
                      "values": [{"expr": "args.ret"}], "condition": "$duration_ns > 1000"}}"#,
    );
    let script = write(&[opens]).unwrap();
    assert_eq!(
        script,
        "// Who opens which file\n\
         tracepoint:syscalls:sys_enter_openat\n\
         {\n  @began[tid] = nsecs;\n  @filename[tid] = args.filename;\n}\n\n\
         tracepoint:syscalls:sys_exit_openat\n\
         /@began[tid]/\n\
         {\n  $duration_ns = nsecs - @began[tid];\n  if ($duration_ns > 1000) {\n    \
         printf(\"filename=%s ret=%s duration_ns=%s\\n\", str(@filename[tid]), args.ret, $duration_ns);\n  }\n  \
         delete(@began[tid]);\n  delete(@filename[tid]);\n}\n\n\
         end\n{\n  clear(@began);\n  clear(@filename);\n}\n"
    );
    assert_eq!(compiles(&script), Ok(()));
    let stacks = form(
        r#"{"sites": ["tracepoint:sched:sched_switch"], "condition": "args.prev_prio / 2 > 50", "kernel_stack": true,
            "values": [{"expr": "args.prev_comm"}],
            "action": {"kind": "aggregate", "map": "stacks", "function": "count"}}"#,
    );
    let script = write(&[stacks]).unwrap();
    assert_eq!(
        script,
        "tracepoint:sched:sched_switch\n/(args.prev_prio / 2 > 50)/\n{\n  \
         @stacks[args.prev_comm, kstack] = count();\n}\n"
    );
    assert_eq!(compiles(&script), Ok(()));
}

/// Whoever types an expression writes it as scripts do, where a tick in the tree is a value and its format.
#[test]
fn a_function_that_is_typed_around_a_value_is_its_format() {
    let cases = [
        ("str(arg1)", r#"{"expr": "arg1", "format": "text"}"#),
        ("str( arg1+8 )", r#"{"expr": "arg1 + 8", "format": "text"}"#),
        ("buf(arg1, 16)", r#"{"expr": "arg1", "format": {"bytes": 16}}"#),
        ("usym(arg0)", r#"{"expr": "arg0", "format": "user_symbol"}"#),
        ("str(arg1, 12)", r#"{"expr": "str(arg1, 12)"}"#),
        ("(arg1)", r#"{"expr": "arg1"}"#),
    ];
    for action in [
        r#"{"kind": "record"}"#,
        r#"{"kind": "print", "format": "%s\\n"}"#,
        r#"{"kind": "aggregate", "map": "x", "function": "count"}"#,
    ] {
        let with = |value: &str| {
            form(&format!(r#"{{"sites": ["kprobe:vfs_read"], "values": [{value}], "action": {action}}}"#))
        };
        for (typed, same) in cases {
            let script = write(&[with(&format!(r#"{{"expr": "{typed}"}}"#))]).unwrap();
            assert_eq!(script, write(&[with(same)]).unwrap(), "{typed}");
            assert_eq!(read(&script).unwrap().forms, [with(same).normal()], "{typed}");
        }
    }
}

#[test]
fn a_form_that_has_no_script_says_why() {
    let cases = [
        ("{}", "the form has no probe site; choose one"),
        (r#"{"sites": ["begin", "nonsense:a"]}"#, "`nonsense:a` is no probe site"),
        (r#"{"sites": ["end"]}"#, "`end` is no probe site: the form ends by itself"),
        (r#"{"sites": ["begin { } begin"]}"#, "`begin { } begin` is no probe site"),
        (r#"{"sites": ["begin"], "condition": "pid =="}"#, "the condition `pid ==` is no expression"),
        (r#"{"sites": ["begin"], "condition": "1; exit()"}"#, "the condition `1; exit()` is no expression"),
        (r#"{"sites": ["begin"], "condition": "1 // 2"}"#, "would not read back"),
        (r#"{"sites": ["begin"], "values": [{"expr": "pid", "name": "a b"}]}"#, "`a b` is no name"),
        (r#"{"sites": ["begin"], "until": {"sites": []}}"#, "the place where it ends has no probe site"),
        (r#"{"sites": ["begin"], "until": {"sites": ["begin"], "key": []}}"#, "the key has 0 parts"),
        (
            r#"{"sites": ["begin"], "values": [{"expr": "pid", "name": "began"}], "until": {"sites": ["begin"]}}"#,
            "two maps would be called `@began`",
        ),
        (
            r#"{"sites": ["begin"], "action": {"kind": "aggregate", "map": "x", "function": "sum"}}"#,
            "the number `` is no expression",
        ),
    ];
    for (json, why) in cases {
        let error = write(&[form(json)]).unwrap_err().to_string();
        assert!(error.contains(why), "{json}: {error}");
    }
}

#[test]
fn several_probes_are_one_script() {
    let reads = r#"{"comment": "Who reads", "sites": ["tracepoint:syscalls:sys_enter_read"],
        "values": [{"expr": "args.fd"}],
        "until": {"sites": ["tracepoint:syscalls:sys_exit_read"], "started": "read_began"},
        "action": {"kind": "aggregate", "map": "ns", "function": "histogram", "of": "$duration_ns"}}"#;
    let writes = reads.replace("read", "write");
    let switches = r#"{"sites": ["tracepoint:sched:sched_switch"], "values": [{"expr": "args.next_comm"}]}"#;
    let forms = [form(reads), form(&writes), form(switches)];
    let script = write(&forms).unwrap();
    for words in [
        "// Who writes\n",
        "@write_began[tid] = nsecs;",
        "@fd[tid] = args.fd;",
        "@fd_2[tid] = args.fd;",
        "clear(@fd_2);",
    ] {
        assert!(script.contains(words), "{words} in {script}");
    }
    assert_eq!(compiles(&script), Ok(()));
    let read = read(&script).unwrap();
    assert_eq!((read.forms.len(), read.left_out.len()), (3, 0));
    assert_eq!(read.forms[1].comment, "Who writes");
    let named = |error: bathyscope_builder::FormError| (error.form, error.to_string());
    let (number, why) = named(write(&[form(reads), form(reads)]).unwrap_err());
    assert_eq!((number, why.as_str()), (1, "two maps would be called `@read_began`; give one of them another name"));
    let counts = r#"{"sites": ["begin"], "action": {"kind": "aggregate", "map": "read_began", "function": "count"}}"#;
    assert_eq!(named(write(&[form(counts), form(reads)]).unwrap_err()).0, 0);
    assert_eq!(named(write(&[form(switches), form("{}")]).unwrap_err()).0, 1);
    assert_eq!(write(&[form(switches), form(switches)]).map(|script| script.matches("printf").count()), Ok(2));
    assert_eq!(
        write(&vec![form(switches); 17]).unwrap_err().to_string(),
        "17 probes are too many; a form has at most 16"
    );
}
