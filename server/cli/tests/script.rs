//! `bathyscope trace` and `compile` with scripts, as a person runs them: on the simulated kernel, which needs no rights,
//! and, where that is allowed, on the running one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, reason = "tests")]

use std::process::{Command, Output, Stdio};

fn run(verb: &str, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
    command.arg(verb).args(words).stdin(Stdio::null()).env("TZ", "UTC");
    command.output().unwrap()
}

fn simulated(words: &[&str]) -> Output {
    run("trace", &[&["--simulate"], words].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Standard output of a script that has to end well.
fn printed(words: &[&str]) -> String {
    let output = simulated(words);
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_script_prints_ends_and_shows_its_maps() {
    let output = simulated(&["-e", "BEGIN { printf(\"%d %s\\n\", 6 * 7, \"x\"); @a[1] = 5; @b = count(); exit(); }"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "42 x\n\n\n@a[1]: 5\n@b: 1\n");
    assert_eq!(text(&output.stderr), "Attached 1 probe\n");
    assert!(simulated(&["-q", "-e", "BEGIN { exit(); }"]).stderr.is_empty());
}

#[test]
fn the_exit_code_is_the_scripts() {
    assert_eq!(simulated(&["-q", "-e", "BEGIN { exit(7); }"]).status.code(), Some(7));
    assert_eq!(simulated(&["-q", "-e", "BEGIN { exit( }"]).status.code(), Some(1));
}

#[test]
fn parameters_follow_the_script() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.bt");
    std::fs::write(&path, "BEGIN { printf(\"%d %s\\n\", $1, str($2)); exit(); }").unwrap();
    assert_eq!(printed(&[path.to_str().unwrap(), "42", "word"]), "42 word\n\n\n");
    assert_eq!(printed(&["-e", "BEGIN { printf(\"%d\\n\", $1 + 1); exit(); }", "4"]), "5\n\n\n");
}

#[test]
fn json_is_one_object_a_line() {
    let out = printed(&["-f", "json", "-e", "BEGIN { printf(\"a\\n\"); print((1, \"x\")); @h = hist(5); exit(); }"]);
    let lines: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["attached_probes", "printf", "value", "hist"], "{out}");
    assert_eq!(lines[3]["data"]["@h"][0]["min"], 4);
}

#[test]
fn errors_have_their_place_in_the_script() {
    let output = simulated(&["-e", "BEGIN { prinf(\"x\"); }"]);
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stderr);
    assert!(told.starts_with("stdin:1:9: ERROR: "), "{told}");
    assert!(told.contains("^^^^^") && told.contains("did you mean"), "{told}");
    assert!(output.stdout.is_empty());
    let dry = simulated(&["--dry-run", "-e", "BEGIN { printf(\"x\"); exit(); }"]);
    assert!(dry.status.success() && dry.stdout.is_empty(), "{}", text(&dry.stderr));
}

#[test]
fn p76_output_goes_to_a_file_with_control_characters_as_they_are_only_if_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    let words = ["-q", "-o", path.to_str().unwrap(), "-e", "BEGIN { printf(\"%s\\n\", \"a\\x1bb\"); exit(); }"];
    for (raw, expected) in [(&[][..], &b"a\\x1bb\n\n\n"[..]), (&["--raw"], b"a\x1bb\n\n\n")] {
        assert_eq!(printed(&[raw, &words].concat()), "");
        assert_eq!(std::fs::read(&path).unwrap(), expected, "{raw:?}");
    }
}

#[test]
fn files_are_shown_by_cat() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shown");
    std::fs::write(&path, "content\n").unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let script = format!("BEGIN {{ cat(\"{}\"); cat(\"/no/such/file\"); exit(); }}", path.display());
    let output = simulated(&["-q", "-e", &script]);
    assert_eq!(text(&output.stdout), "content\n\n\n");
    assert!(text(&output.stderr).contains("cat: cannot read /no/such/file: "), "{}", text(&output.stderr));
}

#[test]
fn the_passes_of_the_compiler_are_shown() {
    let script = "BEGIN { printf(\"%d\\n\", $1); }";
    let pass = |pass: &str| {
        let output = run("compile", &["--simulate", "--emit", pass, "-e", script, "42"]);
        assert!(output.status.success(), "{pass}: {}", text(&output.stderr));
        output.stdout
    };
    assert!(text(&pass("ast")).contains("42"));
    assert!(!pass("types").is_empty() && !pass("ir").is_empty());
    assert!(text(&pass("bpf")).contains("exit"));
    assert!(pass("elf").starts_with(b"\x7fELF"));
    let wrong = run("compile", &["--simulate", "-e", "BEGIN { nothing(); }"]);
    assert!(wrong.status.code() == Some(1) && text(&wrong.stderr).contains("stdin:1:9: ERROR:"), "{wrong:?}");
}

#[test]
fn probes_are_listed_by_pattern() {
    let listed = printed(&["-l", "tracepoint:sched:*"]);
    assert!(listed.lines().any(|line| line == "tracepoint:sched:sched_switch"), "{listed}");
    let with_fields = printed(&["-lv", "tracepoint:sched:sched_switch"]);
    assert!(with_fields.contains("\n    char prev_comm[16]") || with_fields.contains(" prev_comm"), "{with_fields}");
    let json: serde_json::Value = serde_json::from_str(&printed(&["-l", "--json", "software:page-*"])).unwrap();
    assert_eq!(json[0]["probe"], "software:page-faults:");
    let none = simulated(&["-l", "tracpoint:x"]);
    assert!(text(&none.stderr).contains("Did you mean `tracepoint`?"), "{}", text(&none.stderr));
}

/// Whether scripts can run on this kernel; says what is missing where not.
fn has_kernel() -> bool {
    let output = run("trace", &["-q", "-e", "BEGIN { exit(); }"]);
    if !output.status.success() {
        eprintln!("skipped: scripts do not run on this kernel here: {}", text(&output.stderr));
    }
    output.status.success()
}

#[test]
fn scripts_run_on_this_kernel() {
    if !has_kernel() {
        return;
    }
    let script = "tracepoint:syscalls:sys_enter_execve { printf(\"%s\\n\", str(args.filename)); @[comm] = count(); }";
    let output = run("trace", &["-q", "-c", "/bin/sh -c /bin/true", "-e", script]);
    let told = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(told.contains("/bin/true\n") && told.contains("]: "), "{told}");
    let output =
        run("trace", &["-q", "-e", "interval:ms:20 { @n++; if (@n == 3) { exit(2); } } END { printf(\"end\\n\"); }"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "end\n\n\n@n: 3\n");
    let output = run("trace", &["-q", "-c", "sh -c 'exit 5'", "-e", "END { printf(\"bye\\n\"); }"]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(5), "bye\n\n\n"));
    // A variable of a library, which is loaded anywhere.
    let script = "uprobe:libc:exit { printf(\"%d %d\\n\", *uaddr(\"opterr\"), cgroupid(\"/\") > 0); exit(); }";
    let output = run("trace", &["-q", "-c", "/bin/true", "-e", script]);
    assert_eq!(text(&output.stdout), "1 1\n\n\n", "{}", text(&output.stderr));
    let script = "begin { @h[1] = hist(5, 5); @h[2] = hist(77, 5); for ($kv : @h) { printf(\"%d \", $kv.0); }
        printf(\"%d %d %d\", has_key(@h, 1), has_key(@h, 3), len(@h)); clear(@h); exit(); }";
    let output = run("trace", &["-q", "-e", script]);
    let told = text(&output.stdout);
    assert!(matches!(told.trim(), "1 2 1 0 2" | "2 1 1 0 2"), "{told} {}", text(&output.stderr));
}

#[test]
fn functions_of_modules_have_arguments() {
    let loaded = std::fs::read_to_string("/proc/modules").unwrap_or_default();
    let names = loaded.lines().filter_map(|line| line.split(' ').next());
    let typed = names.filter(|name| std::path::Path::new("/sys/kernel/btf").join(name).exists());
    let listed = |name: &str| text(&run("trace", &["-lv", &format!("fentry:{name}:*")]).stdout);
    let Some((name, told)) = typed.map(|name| (name, listed(name))).find(|(_, told)| !told.is_empty()) else {
        eprintln!("skipped: no module with functions and types is loaded, or it cannot be read");
        return;
    };
    let arguments = told.lines().filter(|line| line.starts_with("    ")).count();
    assert!(told.starts_with(&format!("fentry:{name}:")) && arguments > 0, "{told}");
}

#[test]
fn an_interrupt_ends_the_script_with_its_maps() {
    if !has_kernel() {
        return;
    }
    let script = "interval:ms:10 { printf(\"tick\\n\"); @n = count(); } END { printf(\"end\\n\"); }";
    let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
    command.args(["trace", "-q", "-e", script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    assert_eq!(line, "tick\n");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut out, &mut rest).unwrap();
    assert!(rest.contains("end\n\n\n@n: "), "{rest}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_kept_script_is_a_capture() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path().join("data");
    let place = ["--data", data.to_str().unwrap()];
    let script = "BEGIN { printf(\"%d\\n\", 1); @a[1] = count(); exit(); }";
    let output = simulated(&[&place[..], &["--save", "kept", "-e", script]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "1\n\n\n@a[1]: 1\n");
    let listed = run("captures", &[&["list", "--json"], &place[..]].concat());
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["items"][0]["title"], "kept");
}
