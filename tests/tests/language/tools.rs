//! The scripts that come with the reference, run by it and by ours at the same time, under the same load: the lines of both must
//! have the same shapes.
//!
//! The scripts are read where the reference was unpacked. What a line says differs from moment to moment; its shape is what is left
//! when numbers, names and the widths of columns are taken away.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use bathyscope_tests::{alone, programs::program, server::signal, skip, workspace::root};
use rustix::process::Signal;

use super::answer::{Who, has_reference};

const WHAT: &str = "the shapes of the reference's tools";
/// How long both run once both are attached.
const RUN: Duration = Duration::from_secs(5);
/// How long they may take to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// What each round of the load does, beside others.
const LOAD: [&[&str]; 12] = [
    &["open", "/etc/hostname"],
    &["missing", "/nonexistent/file"],
    &["exec", "/bin/true"],
    &["stat", "/etc/passwd"],
    &["kill"],
    &["thread"],
    &["setuid", "65534"],
    &["sleep", "5"],
    &["tcp", "127.0.0.1"],
    &["resolve", "localhost"],
    &["sync", "{folder}/sync"],
    &["reread", "{folder}/reread"],
];
/// Tools whose lines have another shape; `docs/language-differences.md` says why.
const DIFFERENT: [&str; 0] = [];

fn scripts() -> Vec<PathBuf> {
    let output = Command::new(root().join("tests/language/reference")).arg("--unpack").output().expect("it runs");
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()).join("root/usr/sbin");
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).expect("it is unpacked").flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|ending| ending == "bt"));
    found.sort();
    found
}

/// Does things that tools tell of until it is told to stop.
fn load(work: &Path, folder: &Path, stop: &AtomicBool) {
    let filled = |word: &&str| word.replace("{folder}", &folder.to_string_lossy());
    while !stop.load(Ordering::Relaxed) {
        for words in LOAD {
            let words: Vec<String> = words.iter().map(filled).collect();
            let _some_need_what_is_not_there = Command::new(work)
                .args(words)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
    }
}

/// What one of them did.
struct Run {
    child: Child,
    out: File,
    err: File,
    code: Option<Option<i32>>,
}

impl Run {
    fn start(who: Who, script: &Path) -> Self {
        let (out, err) = (tempfile::tempfile().expect("a file"), tempfile::tempfile().expect("a file"));
        let mut command = who.command();
        let copy = |file: &File| file.try_clone().expect("a descriptor");
        let child = command.arg(script).stdin(Stdio::null()).stdout(copy(&out)).stderr(copy(&err)).spawn();
        Self { child: child.expect("it starts"), out, err, code: None }
    }

    fn looks(&mut self) -> bool {
        if self.code.is_none() {
            self.code = self.child.try_wait().expect("it is a child").map(|status| status.code());
        }
        self.code.is_some()
    }

    /// Whether its probes are attached, which both say on standard error; or it has ended.
    fn is_attached(&mut self) -> bool {
        self.looks() || super::answer::text_of(&mut self.err).contains("Attached")
    }

    fn end(&mut self) {
        if !self.looks() {
            signal(self.child.id(), Signal::INT);
        }
    }
}

/// What is left of a line: signs, and `w` for one or more words.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    if line.starts_with([' ', '\t']) {
        shape.push(' ');
    }
    // A bar of a histogram is as long as there was something.
    let bar = line.contains('|') && line.contains(['[', '(']);
    for letter in line.trim().chars() {
        let sign = match letter {
            '@' | ' ' | '\t' if bar => ' ',
            '[' | ']' | '(' | ')' | '|' | ',' => letter,
            ' ' | '\t' => ' ',
            _ => 'w',
        };
        match sign {
            ' ' => {}
            'w' if shape.ends_with('w') => {}
            sign => shape.push(sign),
        }
    }
    if line.ends_with([' ', '\t']) {
        shape.push('$');
    }
    shape
}

/// Shapes of lines, each with one of them. What maps hold at the end is a matter of moments: of those that both show, the shapes
/// count.
fn shapes(text: &str, maps: &BTreeSet<String>) -> BTreeMap<String, String> {
    let is_told = |line: &&str| map_of(line).is_none_or(|name| maps.contains(name));
    text.lines().filter(is_told).map(|line| (shape(line), line.to_owned())).collect()
}

fn map_of(line: &str) -> Option<&str> {
    let end = line.find(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '@' | '_'));
    line.starts_with('@').then(|| line.get(..end.unwrap_or(line.len()))).flatten()
}

fn maps(text: &str) -> BTreeSet<String> {
    text.lines().filter_map(map_of).map(str::to_owned).collect()
}

/// How the lines of both differ: shapes that only one of them has, each with a line.
#[derive(Debug, Default)]
struct Differences {
    more: BTreeMap<String, String>,
    less: BTreeMap<String, String>,
}

impl Differences {
    fn of(found: &BTreeMap<String, String>, wanted: &BTreeMap<String, String>) -> Self {
        let only = |a: &BTreeMap<String, String>, b: &BTreeMap<String, String>| {
            a.iter().filter(|(shape, _line)| !b.contains_key(*shape)).map(|(a, b)| (a.clone(), b.clone())).collect()
        };
        Self { more: only(found, wanted), less: only(wanted, found) }
    }

    /// Those that another run has too. What other programs of the machine do is seen by one and not by the other now and then.
    fn again(mut self, other: &Self) -> Self {
        self.more.retain(|shape, _line| other.more.contains_key(shape));
        self.less.retain(|shape, _line| other.less.contains_key(shape));
        self
    }

    fn told(&self) -> Result<(), String> {
        if self.more.is_empty() && self.less.is_empty() {
            return Ok(());
        }
        let lines = |of: &BTreeMap<String, String>| {
            of.iter().map(|(shape, line)| format!("  {line:?} ({shape})\n")).collect::<String>()
        };
        Err(format!(
            "shows what the reference does not:\n{}and not what it does:\n{}",
            lines(&self.more),
            lines(&self.less)
        ))
    }
}

/// Runs a script by both, up to three times; in words, how they differ each time.
fn compare(script: &Path) -> Result<(), String> {
    let mut differences: Option<Differences> = None;
    for _run in 0..3 {
        let found = compare_once(script).or_else(|_once| compare_once(script))?;
        let both = match differences.take() {
            Some(before) => found.again(&before),
            None => found,
        };
        if both.told().is_ok() {
            return Ok(());
        }
        differences = Some(both);
    }
    differences.unwrap_or_default().told()
}

fn compare_once(script: &Path) -> Result<Differences, String> {
    let mut runs = [Who::Ours, Who::Reference].map(|who| Run::start(who, script));
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE && !runs.iter_mut().all(Run::is_attached) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let since = Instant::now();
    while since.elapsed() < RUN && !runs.iter_mut().all(Run::looks) {
        std::thread::sleep(Duration::from_millis(20));
    }
    runs.iter_mut().for_each(Run::end);
    while !runs.iter_mut().all(Run::looks) {
        if since.elapsed() > RUN + PATIENCE {
            runs.iter_mut().for_each(|run| drop(run.child.kill()));
            return Err("does not end".to_owned());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let [ours, theirs] = &mut runs;
    let text = |file: &mut File| super::answer::text_of(file);
    let (our_text, their_text) = (text(&mut ours.out), text(&mut theirs.out));
    if ours.code != theirs.code {
        let (ours, theirs) = (ours.code.flatten(), text(&mut ours.err));
        return Err(format!("ends with {ours:?}, which is not what the reference ends with:\n{theirs}"));
    }
    let both: BTreeSet<String> = maps(&our_text).intersection(&maps(&their_text)).cloned().collect();
    Ok(Differences::of(&shapes(&our_text, &both), &shapes(&their_text, &both)))
}

#[test]
fn tools_of_the_reference_have_the_same_shapes() {
    if std::env::var_os("BATHYSCOPE_TESTS_LONG").is_none_or(|tier| tier != "1") {
        return;
    }
    let Some(_alone) = alone(WHAT) else { return };
    let Some(work) = program("work").filter(|_| has_reference()) else {
        skip(WHAT, "gcc, and bpftrace 0.27 of Debian's unstable distribution");
        return;
    };
    let wanted = std::env::var("BATHYSCOPE_CASES").unwrap_or_default();
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder on a disk");
    let stop = AtomicBool::new(false);
    let (mut refused, mut wrong, mut compared) = (Vec::new(), Vec::new(), 0);
    std::thread::scope(|scope| {
        scope.spawn(|| load(&work, folder.path(), &stop));
        for script in scripts() {
            let name = script.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if !name.contains(&wanted) {
                continue;
            }
            if let Some(lack) = lacks(&script) {
                refused.push(format!("{name} ({lack})"));
                continue;
            }
            compared += 1;
            match (compare(&script), DIFFERENT.contains(&name.as_str())) {
                (Err(trouble), false) => wrong.push(format!("{name} {trouble}")),
                (Ok(()), true) => wrong.push(format!("{name} has the same shape, and is listed as one that has not")),
                _ => {}
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    if !refused.is_empty() {
        skip(&format!("{WHAT}: {}", refused.join(", ")), "what these probe, in this kernel");
    }
    assert!(wrong.is_empty(), "{} of {compared} tools differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// What a script needs that this kernel has not: the reference refuses it too.
fn lacks(script: &Path) -> Option<&'static str> {
    let text = fs::read_to_string(script).unwrap_or_default();
    let here = |kind: &str| Path::new("/sys/bus/event_source/devices").join(kind).exists();
    let begins = |kinds: &[&str]| text.lines().any(|line| kinds.iter().any(|kind| line.trim_start().starts_with(kind)));
    if begins(&["kprobe:", "kretprobe:", "fentry:", "fexit:"]) && !here("kprobe") {
        return Some("functions of the kernel");
    }
    // It reads a variable of the kernel by its name, which locked down kernels do not tell.
    let kallsyms = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    (text.contains("kaddr(\"avenrun\")") && !kallsyms.contains(" avenrun")).then_some("a variable of the kernel")
}
