//! Places in programs that are not as their compiler left them: stripped, made by another compiler, or in a container.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use bathyscope_tests::{
    command_line::{run, stdout_of},
    proc,
    programs::program,
    skip,
    tracing::shows,
    wait::until,
};
use tempfile::TempDir;

use crate::{
    actions::{Acts, go},
    traced,
};

fn objcopy(words: &[&str]) {
    let status = Command::new("objcopy").args(words).status().expect("objcopy starts");
    assert!(status.success(), "objcopy {words:?}");
}

fn has_objcopy(what: &str) -> bool {
    let has = Command::new("objcopy").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has {
        skip(what, "objcopy");
    }
    has
}

/// The function is found by its name and fires.
fn finds(acts: &Acts) {
    let place = format!("uprobe:{}:say_this", acts.text());
    assert_eq!(stdout_of(["trace", "-l", &place]).trim(), place);
    let listed = stdout_of(["trace", "-l", &format!("uprobe:{}:say_*", acts.text())]);
    assert_eq!(listed.trim(), place);
    let script = format!("{place} {{ printf(\"<%s>\\n\", str(arg0)); }}");
    let printed = traced(&["-e", &script], || drop(acts.act(&["say", "found"]))).expect("it is attached");
    assert!(shows(&printed.out, "<found>"), "{printed:?}");
}

/// Why it is not found.
fn missing(acts: &Acts) -> String {
    let output = run(["trace", "-l", &format!("uprobe:{}:say_this", acts.text())]);
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn functions_of_stripped_programs_are_found_in_their_debug_files() {
    let what = "programs with debug files";
    let Some(acts) = Acts::new(what) else { return };
    if !has_objcopy(what) {
        return;
    }
    let program = acts.text().to_owned();
    let debug = format!("{program}.debug");
    objcopy(&["--only-keep-debug", &program, &debug]);
    objcopy(&["--strip-all", &program]);
    let said = missing(&acts);
    assert!(said.contains("stripped") && said.contains("debug symbols"), "{said}");
    // Named in the program, beside it and in a folder for that.
    objcopy(&["--add-gnu-debuglink", &debug, &program]);
    finds(&acts);
    let folder = acts.path.parent().expect("it is in a folder").join(".debug");
    fs::create_dir(&folder).expect("a folder");
    fs::rename(&debug, folder.join("acts.debug")).expect("a file can be moved");
    finds(&acts);
    // Without a build id the sum over the debug file decides.
    let moved = folder.join("acts.debug");
    for file in [Path::new(&program), &moved] {
        objcopy(&["--remove-section", ".note.gnu.build-id", file.to_str().expect("a path of text")]);
    }
    assert!(missing(&acts).contains("stripped"), "the debug file is not the one that was linked");
    objcopy(&["--remove-section", ".gnu_debuglink", &program]);
    objcopy(&["--add-gnu-debuglink", moved.to_str().expect("a path of text"), &program]);
    finds(&acts);
}

/// A root of its own with `acts` and what it needs, in namespaces of its own, as a container has.
struct Container {
    _root: TempDir,
    child: Child,
    /// The process in it, as it is called outside.
    pid: u32,
}

impl Container {
    fn start(words: &[&str]) -> Option<Self> {
        let built = program("acts")?;
        let root = tempfile::tempdir().expect("a folder");
        for file in libraries(&built) {
            let to = root.path().join(file.strip_prefix("/").expect("an absolute path"));
            fs::create_dir_all(to.parent().expect("it is in a folder")).expect("a folder");
            fs::copy(&file, to).expect("a library can be copied");
        }
        fs::create_dir(root.path().join("bin")).expect("a folder");
        fs::copy(&built, root.path().join("bin/acts")).expect("a program can be copied");
        fs::create_dir(root.path().join("proc")).expect("a folder");
        let enter = "mount --make-rprivate / && mount --bind \"$1\" \"$1\" && cd \"$1\" && mount -t proc proc proc && \
                     mkdir old && pivot_root . old && cd / && shift && exec /old/usr/bin/env -i \"$@\"";
        let mut child = Command::new("unshare")
            .args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enter, "container"])
            .arg(root.path())
            .arg("/bin/acts")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare starts");
        let pid = until("the process in the container", || {
            assert!(child.try_wait().is_ok_and(|status| status.is_none()), "it ended");
            proc::children(child.id())
                .into_iter()
                .find(|pid| proc::command_line(*pid).first().is_some_and(|it| it == "/bin/acts"))
        });
        Some(Self { _root: root, child, pid })
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _gone = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// What the dynamic linker takes for a program.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(program).output().expect("ldd starts");
    let text = String::from_utf8(output.stdout).expect("paths of text");
    text.split_ascii_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect()
}

#[test]
fn programs_in_containers_are_probed_by_their_own_paths() {
    let what = "programs in containers";
    if !bathyscope_tests::is_root() {
        return skip(what, "root");
    }
    let cases = [
        ("uprobe:/bin/acts:say_this", "<contained>"),
        ("uprobe:acts:say_this", "<contained>"),
        ("uprobe:libc:puts", "<contained>"),
        ("uprobe:libc.so.6:puts", "<contained>"),
    ];
    for (place, wanted) in cases {
        let Some(mut container) = Container::start(&["say", "contained"]) else { return skip(what, "gcc") };
        let pid = container.pid.to_string();
        let script = format!("{place} {{ printf(\"<%s>\\n\", str(arg0)); }}");
        let printed = traced(&["-p", &pid, "-e", &script], || {
            go(&mut container.child);
            until("its end", || (!proc::is_alive(container.pid)).then_some(()));
        });
        let printed = printed.unwrap_or_else(|refused| panic!("{place}: {refused}"));
        assert!(shows(&printed.out, wanted), "{place}: {printed:?}");
    }
    let refused = traced(&["-e", "uprobe:/bin/acts:say_this { exit(); }"], || {}).expect_err("it is not outside");
    assert!(refused.contains("/bin/acts cannot be opened"), "{refused}");
}

/// What the Go compiler leaves in a program, put into one of another compiler: its note, and the table of its functions.
#[test]
fn returns_in_programs_of_go_are_not_probed() {
    let what = "programs of Go";
    let Some(acts) = Acts::new(what) else { return };
    if !has_objcopy(what) {
        return;
    }
    let table = acts.path.with_extension("table");
    // The magic number of Go 1.20 and later, and what follows it.
    fs::write(&table, [0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8]).expect("a file");
    let section = format!(".gopclntab={}", table.to_str().expect("a path of text"));
    objcopy(&["--add-section", &section, acts.text()]);
    let place = format!("uretprobe:{}:say_this", acts.text());
    let refused = traced(&["-e", &format!("{place} {{ exit(); }}")], || {}).expect_err("it would break the program");
    assert!(refused.contains("Go compiler") && refused.contains("use uprobe"), "{refused}");
    finds(&acts);
}
