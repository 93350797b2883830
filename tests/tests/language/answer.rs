//! What a tracer answered.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, File, Permissions},
    io::{Read as _, Seek as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::LazyLock,
    time::{Duration, Instant},
};

use bathyscope_tests::{
    programs::program,
    workspace::{binary, root},
};

use tempfile::TempDir;

use super::case::Case;

/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// What the reference says of this machine and not of the script.
const OF_THE_MACHINE: [&str; 2] =
    ["WARNING: Could not read functions from", "WARNING: Unknown error -1: couldn't set RLIMIT"];

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// Bathyscope.
    Ours,
    /// bpftrace.
    Reference,
}

impl Who {
    /// What runs a script, without its words.
    pub(crate) fn command(self) -> Command {
        match self {
            Self::Ours => {
                let mut command = Command::new(binary());
                command.arg("trace");
                command
            }
            Self::Reference => Command::new(root().join("tests/language/reference")),
        }
    }
}

/// How it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum End {
    /// With this status. A script that is refused ends with 1.
    #[default]
    Unknown,
    /// See above.
    Status(i32),
    /// It did not end by itself.
    Never,
}

/// What it said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    end: End,
    out: Vec<String>,
    err: Vec<String>,
}

/// Whether the reference can be run here.
pub(crate) fn has_reference() -> bool {
    let script = root().join("tests/language/reference");
    Command::new(script).arg("--unpack").stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Where both run: a folder with the traced program below `target/test-programs`, as the project has it, which everybody may
/// read. The project may lie in a home that is closed to others, and the console looks for files by wildcards without rights.
fn folder() -> &'static Path {
    static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("it is ours");
        let programs = folder.path().join("target/test-programs");
        fs::create_dir_all(&programs).expect("it is ours");
        if let Some(work) = program("work") {
            fs::copy(&work, programs.join("work")).expect("room for a small program");
            let content = fs::read(work).expect("it can be read");
            for (name, stored) in [("stored.zip", true), ("compressed.zip", false)] {
                let path = programs.join(name);
                fs::write(&path, archive("lib/work", &content, stored)).expect("room for a small archive");
                // The reference asks for the right to execute it.
                fs::set_permissions(path, Permissions::from_mode(0o755)).expect("it is ours");
            }
            fs::write(programs.join("flat"), &content[64..]).expect("room for it");
            fs::set_permissions(programs.join("flat"), Permissions::from_mode(0o755)).expect("it is ours");
        }
        folder
    });
    FOLDER.path()
}

/// A ZIP archive of one file. One that is not stored only says that it is compressed.
fn archive(name: &str, content: &[u8], stored: bool) -> Vec<u8> {
    let crc = !content.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _bit| (sum >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(sum & 1)))
    });
    let size = u32::try_from(content.len()).expect("it is small").to_le_bytes();
    let method = [if stored { 0 } else { 8 }, 0];
    let length = [u8::try_from(name.len()).expect("it is short"), 0];
    let common = [&[20, 0, 0, 0], &method[..], &[0; 4], &crc.to_le_bytes(), &size, &size, &length].concat();
    let head = [&b"PK\x03\x04"[..], &common[..], &[0; 2], name.as_bytes()].concat();
    let entry = [&b"PK\x01\x02\x14\0"[..], &common[..], &[0; 16], name.as_bytes()].concat();
    let from = u32::try_from(head.len() + content.len()).expect("it is small").to_le_bytes();
    let bytes = u32::try_from(entry.len()).expect("it is small").to_le_bytes();
    [&head, content, &entry, b"PK\x05\x06", &[0, 0, 0, 0, 1, 0, 1, 0], &bytes, &from, &[0; 2]].concat()
}

fn command(case: &Case, who: Who, script: Option<&str>) -> Command {
    let mut command = who.command();
    let filled = |word: &String| {
        let work = || folder().join("target/test-programs/work").to_string_lossy().into_owned();
        let mut word = word.clone();
        if word.contains("{work}") {
            word = word.replace("{work}", &work());
        }
        word
    };
    if case.run.is_empty() {
        command.arg("-q").args(case.options.iter().map(filled));
        match script {
            Some(path) => command.arg(path),
            None => command.args(["-e", &filled(&case.script)]),
        };
        command.args(case.params.iter().map(filled));
    } else {
        command.args(case.run.iter().map(filled));
    }
    command.envs(case.environment.iter().map(|(name, value)| (name, value)));
    command.current_dir(folder()).stdin(Stdio::null()).env_remove("BATHYSCOPE_DATA");
    command
}

/// Waits for its end, or ends it.
fn wait(child: &mut Child, case: &Case, out: &mut File) -> End {
    let since = Instant::now();
    let mut interrupted = false;
    while since.elapsed() < PATIENCE {
        if let Ok(Some(status)) = child.try_wait() {
            return status.code().map_or(End::Unknown, End::Status);
        }
        if let (Some(text), false) = (&case.interrupt_after, interrupted) {
            interrupted = text_of(out).contains(text.as_str());
            if interrupted {
                bathyscope_tests::server::signal(child.id(), rustix::process::Signal::INT);
            }
        }
        std::thread::sleep(Duration::from_millis(3));
    }
    let _gone = child.kill();
    let _ended = child.wait();
    End::Never
}

pub(crate) fn text_of(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("a file of our own can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Answer {
    /// Asks.
    pub(crate) fn of(case: &Case, who: Who) -> Self {
        let file = case.in_file.then(|| {
            let mut file = tempfile::Builder::new().prefix("case").suffix(".bt").tempfile().expect("a file");
            std::io::Write::write_all(&mut file, case.script.as_bytes()).expect("it takes the script");
            file
        });
        let path = file.as_ref().map(|file| file.path().to_string_lossy().into_owned());
        // Files, which a program that was left behind cannot keep open before us.
        let (mut out, mut err) = (tempfile::tempfile().expect("a file"), tempfile::tempfile().expect("a file"));
        let copy = |file: &File| file.try_clone().expect("a descriptor");
        let mut child =
            command(case, who, path.as_deref()).stdout(copy(&out)).stderr(copy(&err)).spawn().expect("it starts");
        let end = wait(&mut child, case, &mut out);
        let name = path.unwrap_or_default();
        let lines = |file: &mut File| {
            let text = text_of(file).replace(if name.is_empty() { "\u{1}" } else { &name }, "case.bt");
            trimmed(text.lines().map(str::to_owned).collect())
        };
        let errors = |line: &String| !OF_THE_MACHINE.iter().any(|begin| line.starts_with(begin));
        let mut err: Vec<String> = lines(&mut err).into_iter().filter(errors).collect();
        if case.compares_warnings {
            err = warned_places(&err);
        } else if !case.compares_errors && who == Who::Reference {
            err.clear();
        }
        Self { end, out: lines(&mut out), err }
    }

    /// Whether they say the same, as far as the case asks for it.
    pub(crate) fn equals(&self, other: &Self, case: &Case) -> bool {
        let seen = |lines: &[String]| {
            let mut lines: Vec<String> =
                lines.iter().map(|line| if case.numbers_vary { without_numbers(line) } else { line.clone() }).collect();
            if case.sorted {
                lines.sort();
            }
            lines
        };
        let refused = |end: &End| matches!(end, End::Status(code) if *code != 0);
        // Which number a refusal ends with differs by the part of the reference that refuses.
        let ends = if self.out.is_empty() && other.out.is_empty() && refused(&self.end) {
            refused(&other.end)
        } else {
            self.end == other.end
        };
        let errors = case.compares_errors || case.compares_warnings;
        ends && seen(&self.out) == seen(&other.out) && (!errors || seen(&self.err) == seen(&other.err))
    }

    /// What was wanted and what came.
    pub(crate) fn against(&self, ours: &Self) -> String {
        format!("  wanted:\n{}  came:\n{}", self.lines("    "), ours.lines("    "))
    }

    fn lines(&self, margin: &str) -> String {
        let mut text = String::new();
        let end = match &self.end {
            End::Unknown => "killed".to_owned(),
            End::Status(code) => format!("status {code}"),
            End::Never => "never ends".to_owned(),
        };
        // Writing to a String cannot fail.
        let _infallible = writeln!(text, "{margin}{end}");
        for (mark, lines) in [("|", &self.out), ("!", &self.err)] {
            for line in lines {
                let _infallible = writeln!(text, "{margin}{mark}{line}");
            }
        }
        text
    }

    /// As the record has it.
    pub(crate) fn written(&self, name: &str) -> String {
        format!("## {name}\n{}", self.lines(""))
    }

    /// One answer of a record.
    pub(crate) fn read(text: &str) -> Self {
        let mut answer = Self::default();
        for line in text.lines() {
            if let Some(line) = line.strip_prefix('|') {
                answer.out.push(line.to_owned());
            } else if let Some(line) = line.strip_prefix('!') {
                answer.err.push(line.to_owned());
            } else if let Some(code) = line.strip_prefix("status ") {
                answer.end = End::Status(code.trim().parse().expect("a status is a number"));
            } else if line == "never ends" {
                answer.end = End::Never;
            }
        }
        answer
    }

    /// A whole record, by the cases' names.
    pub(crate) fn read_all(text: &str) -> BTreeMap<String, Self> {
        let parts = text.split("\n## ").map(|part| part.strip_prefix("## ").unwrap_or(part));
        let parts = parts.filter_map(|part| part.split_once('\n'));
        parts.map(|(name, answer)| (name.trim().to_owned(), Self::read(answer))).collect()
    }
}

/// Where in the script there is a warning, as `line:column`: the words are our own.
fn warned_places(lines: &[String]) -> Vec<String> {
    let place = |line: &String| {
        let (place, _words) = line.strip_prefix("stdin:")?.split_once(": WARNING: ")?;
        // The reference tells the end too.
        place.split('-').next().map(str::to_owned)
    };
    let mut places: Vec<String> =
        lines.iter().filter(|line| !line.ends_with("expanded from")).filter_map(place).collect();
    places.sort();
    places.dedup();
    places
}

/// Without empty lines at the begin and end, of which the reference prints some.
fn trimmed(lines: Vec<String>) -> Vec<String> {
    let mut lines: Vec<String> = lines.into_iter().skip_while(String::is_empty).collect();
    while lines.pop_if(|line| line.is_empty()).is_some() {}
    lines
}

fn without_numbers(line: &str) -> String {
    let mut text = String::new();
    for letter in line.chars() {
        if !letter.is_ascii_digit() {
            text.push(letter);
        } else if !text.ends_with('9') {
            text.push('9');
        }
    }
    text
}
