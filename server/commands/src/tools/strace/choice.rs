//! The words behind `-e`, and what else says which calls are shown and how.

use std::collections::BTreeSet;

use bathyscope_capture::{Descriptors, HexTexts, SyscallData, SyscallOutcome, visible};
use bathyscope_catalog::{
    closest,
    constants::{Arch, signal_name},
    syscalls::{SelectError, select},
};

/// A word behind `-e` that names nothing, or asks for what is not supported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct ChoiceError {
    /// What is wrong.
    pub why: String,
    /// What to do about it; may be empty.
    pub remedy: String,
}

impl ChoiceError {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), remedy: String::new() }
    }

    fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }
}

/// What `-e` asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Calls and sets; none means all.
    pub calls: Vec<String>,
    /// Which results.
    pub outcome: SyscallOutcome,
    /// Whether calls that do not return, or have not, are shown beside these.
    pub unfinished: bool,
    /// Signals that are shown; none if all are.
    pub signals: Option<BTreeSet<String>>,
    /// Calls whose arguments are numbers.
    pub raw: Vec<String>,
    /// Structures whole.
    pub verbose: bool,
    /// Calls whose structures are not written whole.
    pub abbreviated: Vec<String>,
    /// Calls whose structures are read; none means all.
    pub structures: Vec<String>,
    /// Which messages are left out, if that is said.
    pub quiet: Option<Quiet>,
    /// What is shown of descriptors, if that is said.
    pub files: Option<Files>,
    /// Descriptors whose data are shown whole, as they are read and written.
    pub data: SyscallData,
}

/// Which messages are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quiet {
    /// What is said of tracing itself, if nothing was lost.
    pub tracing: bool,
    /// How processes end.
    pub exits: bool,
    /// Which interface a process calls by.
    pub personality: bool,
}

impl Quiet {
    /// What so many `-q` leave out.
    pub fn of_count(count: u8) -> Self {
        Self { tracing: count > 0, exits: count > 1, personality: count > 1 }
    }
}

/// What is shown of descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a set")]
pub struct Files {
    /// Their paths.
    pub paths: bool,
    /// Of sockets the protocols and the ends of their connections.
    pub sockets: bool,
    /// The numbers of devices.
    pub devices: bool,
    /// The processes that they stand for.
    pub processes: bool,
}

impl Files {
    /// All of it.
    pub const ALL: Self = Self { paths: true, sockets: true, devices: true, processes: true };
    const NONE: Self = Self { paths: false, sockets: false, devices: false, processes: false };
}

/// Qualifiers of strace's, each with its other names.
const QUALIFIERS: [(&str, &[&str]); 9] = [
    ("trace", &["t"]),
    ("abbrev", &["a"]),
    ("verbose", &["v"]),
    ("raw", &["x"]),
    ("signal", &["signals", "s"]),
    ("read", &["reads", "r"]),
    ("write", &["writes", "w"]),
    ("quiet", &["silent", "silence", "q"]),
    ("decode-fds", &["decode-fd"]),
];
const PTRACE: [&str; 3] = ["inject", "fault", "kvm"];

/// Why what changes calls or stops processes is not done.
pub const NEEDS_PTRACE: &str = "It needs ptrace, which stops the process at each call; here calls are recorded \
    while the process goes on, so nothing of them can be changed. Use strace for it.";

impl Choice {
    /// What expressions ask for, in their order: a later one replaces an earlier one of its kind.
    ///
    /// # Errors
    /// The first that names nothing or is not supported.
    pub fn of(expressions: &[String]) -> Result<Self, ChoiceError> {
        let mut choice = Self::default();
        for text in expressions {
            choice.add(text)?;
        }
        Ok(choice)
    }

    fn add(&mut self, text: &str) -> Result<(), ChoiceError> {
        // A regular expression may have any sign in it.
        let Some((name, value)) = text.split_once('=').filter(|_| !text.trim_start_matches('!').starts_with('/'))
        else {
            return self.trace(text);
        };
        let known = QUALIFIERS.iter().find(|(word, others)| *word == name || others.contains(&name));
        match known.map_or(name, |(word, _)| *word) {
            "status" => self.status(value),
            "trace" => self.trace(value),
            "signal" => self.signal(value),
            "raw" => {
                check(value)?;
                self.raw = words(value);
                Ok(())
            }
            "abbrev" => self.abbreviate(value),
            "verbose" if value == "all" => {
                self.structures.clear();
                Ok(())
            }
            "verbose" => {
                check(value)?;
                self.structures = words(value);
                Ok(())
            }
            "quiet" => self.quiet(value),
            "decode-fds" => self.decode(value),
            "read" => dumps("read", value).map(|dumps| self.data.read = dumps),
            "write" => dumps("write", value).map(|dumps| self.data.write = dumps),
            name if PTRACE.contains(&name) => {
                Err(ChoiceError::new(format!("-e {name}= is not supported")).remedy(NEEDS_PTRACE))
            }
            name => {
                let all = QUALIFIERS.iter().map(|(word, _)| *word).chain(["status"]);
                let near = closest(name, all.clone()).map(|near| format!("Did you mean -e {near}=? "));
                let shown = visible(name.as_bytes());
                let list = all.collect::<Vec<_>>().join("=, ");
                Err(ChoiceError::new(format!("-e {shown}= is not known here"))
                    .remedy(format!("{}There are {list}=.", near.unwrap_or_default())))
            }
        }
    }

    /// Whether it says which calls are shown, or which signals.
    pub fn chooses(&self) -> bool {
        !self.calls.is_empty() || self.outcome != SyscallOutcome::Any || self.signals.is_some()
    }

    fn trace(&mut self, value: &str) -> Result<(), ChoiceError> {
        check(value)?;
        self.calls = words(value);
        Ok(())
    }

    fn status(&mut self, value: &str) -> Result<(), ChoiceError> {
        let (not, list) = value.strip_prefix('!').map_or((false, value), |rest| (true, rest));
        let (mut failed, mut succeeded, mut unfinished) = (false, false, false);
        for word in words(list) {
            match word.as_str() {
                "failed" | "unsuccessful" => failed = true,
                "successful" => succeeded = true,
                "all" => (failed, succeeded, unfinished) = (true, true, true),
                // A call that does not return has no other status here.
                "unfinished" | "unavailable" | "detached" => unfinished = true,
                "none" => {}
                word => {
                    let shown = visible(word.as_bytes());
                    return Err(ChoiceError::new(format!("-e status={shown} is not known here"))
                        .remedy("Write failed, successful or all."));
                }
            }
        }
        self.unfinished = unfinished != not;
        self.outcome = match (failed != not, succeeded != not) {
            (true, true) => SyscallOutcome::Any,
            (true, false) => SyscallOutcome::Failed,
            (false, true) => SyscallOutcome::Succeeded,
            (false, false) => {
                let why = format!("-e status={} leaves no call that returns", visible(value.as_bytes()));
                return Err(ChoiceError::new(why).remedy(
                    "Calls that do not return are shown only beside others: write failed, successful or all.",
                ));
            }
        };
        Ok(())
    }

    fn signal(&mut self, value: &str) -> Result<(), ChoiceError> {
        let (not, list) = value.strip_prefix('!').map_or((false, value), |rest| (true, rest));
        if words(list).is_empty() {
            return Err(ChoiceError::new("-e signal= names no signal").remedy("Write names or numbers, all or none."));
        }
        let mut chosen = BTreeSet::new();
        for word in words(list) {
            match word.as_str() {
                "all" => chosen.extend(signals()),
                "none" => {}
                word => {
                    chosen.insert(signal(word)?);
                }
            }
        }
        let all = signals();
        let chosen: BTreeSet<String> =
            if not { all.iter().filter(|name| !chosen.contains(*name)).cloned().collect() } else { chosen };
        self.signals = (chosen != all).then_some(chosen);
        Ok(())
    }

    fn abbreviate(&mut self, value: &str) -> Result<(), ChoiceError> {
        self.abbreviated.clear();
        match value {
            "all" => self.verbose = false,
            "none" => self.verbose = true,
            calls => {
                check(calls)?;
                self.verbose = true;
                self.abbreviated = words(calls);
            }
        }
        Ok(())
    }

    fn quiet(&mut self, value: &str) -> Result<(), ChoiceError> {
        let (not, list) = value.strip_prefix('!').map_or((false, value), |rest| (true, rest));
        let mut quiet = Quiet::default();
        for word in words(list) {
            match word.as_str() {
                "attach" | "path-resolution" | "path-resolve" => quiet.tracing = true,
                "exit" | "exits" => quiet.exits = true,
                "personality" => quiet.personality = true,
                // Nothing is said of these anyway.
                "thread-execve" | "superseded" | "none" => {}
                "all" => quiet = Quiet { tracing: true, exits: true, personality: true },
                word => {
                    let shown = visible(word.as_bytes());
                    return Err(ChoiceError::new(format!("-e quiet={shown} is not known here")).remedy(
                        "Write attach, exit, path-resolution, personality, thread-execve, superseded or all.",
                    ));
                }
            }
        }
        let other = Quiet { tracing: !quiet.tracing, exits: !quiet.exits, personality: !quiet.personality };
        self.quiet = Some(if not { other } else { quiet });
        Ok(())
    }

    fn decode(&mut self, value: &str) -> Result<(), ChoiceError> {
        let (not, list) = value.strip_prefix('!').map_or((false, value), |rest| (true, rest));
        let mut files = Files::NONE;
        for word in words(list) {
            match word.as_str() {
                "all" => files = Files::ALL,
                "none" => files = Files::NONE,
                "path" => files.paths = true,
                "socket" => files.sockets = true,
                "dev" => files.devices = true,
                "pidfd" => files.processes = true,
                word => {
                    let shown = visible(word.as_bytes());
                    return Err(ChoiceError::new(format!("decode-fds={shown} is not known here"))
                        .remedy("Write path, socket, dev, pidfd, all or none."));
                }
            }
        }
        let Files { paths, sockets, devices, processes } = files;
        let other = Files { paths: !paths, sockets: !sockets, devices: !devices, processes: !processes };
        self.files = Some(if not { other } else { files });
        Ok(())
    }
}

/// `-x`, `-xx`.
pub fn hex_texts(count: u8) -> HexTexts {
    match count {
        0 => HexTexts::None,
        1 => HexTexts::NonAscii,
        _ => HexTexts::All,
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}

/// Whether words name calls.
fn check(text: &str) -> Result<(), ChoiceError> {
    if text.trim_start_matches('!').trim().is_empty() {
        return Err(ChoiceError::new("a system call's name is missing").remedy("Write names, sets, all or none."));
    }
    select(Arch::HOST, text).map(drop).map_err(|error| unknown(&error))
}

/// What helps where a word names no call.
pub fn unknown(error: &SelectError) -> ChoiceError {
    ChoiceError::new(error.to_string())
        .remedy("Sets have a % in front: %file, %network, %process; a regular expression begins with /.")
}

fn signals() -> BTreeSet<String> {
    let name = |number: i64| match signal_name(number) {
        Some(name) => name.to_owned(),
        None if number == 32 => "SIGRTMIN".to_owned(),
        None => format!("SIGRT_{}", number - 32),
    };
    (1..=64).map(name).collect()
}

/// A signal by name, with or without `SIG`, or by number.
fn signal(word: &str) -> Result<String, ChoiceError> {
    let all = signals();
    let upper = word.to_uppercase();
    let named = if upper.starts_with("SIG") { upper } else { format!("SIG{upper}") };
    let by_number = || signal_name(word.parse().ok()?).map(str::to_owned);
    if all.contains(&named) {
        return Ok(named);
    }
    by_number().ok_or_else(|| {
        let near = closest(&named, all.iter().map(String::as_str)).map(|near| format!("Did you mean {near}?"));
        ChoiceError::new(format!("there is no signal `{}`", visible(word.as_bytes()))).remedy(near.unwrap_or_default())
    })
}

fn dumps(name: &str, value: &str) -> Result<Descriptors, ChoiceError> {
    let (not, list) = value.strip_prefix('!').map_or((false, value), |rest| (true, rest));
    match (not, list) {
        (false, "all") | (true, "none") => return Ok(Descriptors::All),
        (false, "none") | (true, "all") => return Ok(Descriptors::None),
        (true, _) => {
            let why = format!("-e {name}=! is not supported");
            return Err(ChoiceError::new(why).remedy("Name the descriptors whose data are shown, or write all."));
        }
        (false, _) => {}
    }
    let number = |word: String| {
        let why = || {
            ChoiceError::new(format!("-e {name}={}: that is no descriptor", visible(word.as_bytes())))
                .remedy("Write numbers separated by commas, all or none.")
        };
        word.parse::<u32>().map_err(|_number| why())
    };
    let numbers = words(list).into_iter().map(number).collect::<Result<BTreeSet<_>, _>>()?;
    if numbers.is_empty() {
        return Err(ChoiceError::new(format!("-e {name}= names no descriptor")));
    }
    Ok(Descriptors::Of(numbers.into_iter().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Choice, String> {
        let expressions: Vec<String> = text.split(' ').filter(|it| !it.is_empty()).map(str::to_owned).collect();
        Choice::of(&expressions).map_err(|error| format!("{} {}", error.why, error.remedy))
    }

    #[test]
    fn expressions_choose_as_straces_do() {
        let of = |text: &str| of(text).unwrap();
        assert_eq!(of(""), Choice::default());
        assert_eq!(of("openat,%network").calls, ["openat", "%network"]);
        assert_eq!(of("!futex").calls, ["!futex"]);
        assert_eq!(of("trace=/^(open|close)$").calls, ["/^(open|close)$"]);
        assert_eq!(of("/^(open|close)").calls, ["/^(open|close)"]);
        assert_eq!(of("/sync=|^read").calls, ["/sync=|^read"]);
        assert_eq!(of("openat@64").calls, ["openat@64"]);
        assert_eq!(of("status=unsuccessful").outcome, SyscallOutcome::Failed);
        assert_eq!(of("x=read,%file").raw, ["read", "%file"]);
        assert!(of("abbrev=none").verbose && !of("abbrev=none a=all").verbose);
        let whole = of("abbrev=!fstat,stat");
        assert!(whole.verbose && whole.abbreviated == ["!fstat", "stat"]);
        assert_eq!(of("verbose=none").structures, ["none"]);
        assert_eq!(of("v=read,close verbose=all").structures, [""; 0]);
        let status = |text: &str| (of(text).outcome, of(text).unfinished);
        assert_eq!(status("status=!failed"), (SyscallOutcome::Succeeded, true));
        assert_eq!(status("status=failed"), (SyscallOutcome::Failed, false));
        assert_eq!(status("status=failed,unfinished"), (SyscallOutcome::Failed, true));
        assert_eq!(of("status=successful,failed,unfinished").outcome, SyscallOutcome::Any);
        assert!(of("status=failed").chooses() && of("signal=INT").chooses() && !of("raw=read").chooses());
        let names = |text: &str| of(text).signals.map(|it| it.into_iter().collect::<Vec<_>>());
        assert_eq!(names("signal=SIGUSR1,int,15"), Some(["SIGINT", "SIGTERM", "SIGUSR1"].map(String::from).to_vec()));
        assert_eq!(names("signal=none"), Some(Vec::new()));
        assert_eq!(names("s=all"), None);
        assert_eq!(names("signal=!SIGCHLD").map(|it| it.len()), Some(63));
        let quiet = |text: &str| of(text).quiet.unwrap();
        assert_eq!(quiet("quiet=exit"), Quiet { exits: true, ..Quiet::default() });
        assert_eq!(quiet("q=attach,personality"), Quiet { exits: false, ..Quiet::of_count(3) });
        assert_eq!(quiet("silent=!exit"), Quiet { exits: false, ..Quiet::of_count(3) });
        assert_eq!(of("decode-fds=path").files, Some(Files { paths: true, ..Files::NONE }));
        assert_eq!(of("decode-fds=dev,pidfd").files, Some(Files { devices: true, processes: true, ..Files::NONE }));
        assert_eq!(of("decode-fds=!socket").files, Some(Files { sockets: false, ..Files::ALL }));
        assert_eq!(of("decode-fds=all").files, Some(Files::ALL));
        let data = of("read=5,3 write=all").data;
        assert_eq!((data.read, data.write), (Descriptors::Of(vec![3, 5]), Descriptors::All));
    }

    #[test]
    fn a_later_expression_replaces_an_earlier_one_of_its_kind() {
        // What real strace shows after all of them is what it shows after the last one of each kind.
        let cases = [
            ("trace=openat trace=close", "trace=close"),
            ("openat t=read,%file !close", "trace=!close"),
            ("trace=openat raw=openat x=close", "trace=openat raw=close"),
            ("status=failed status=successful", "status=successful"),
            ("signal=USR1 s=!USR2", "signal=!USR2"),
            ("read=3 read=4 write=all write=none", "read=4"),
            ("abbrev=none abbrev=execve", "abbrev=execve"),
            ("abbrev=execve abbrev=all", ""),
            ("verbose=none verbose=all", ""),
            ("verbose=all v=read", "verbose=read"),
            ("quiet=exit quiet=attach", "quiet=attach"),
            ("decode-fds=path decode-fds=!socket", "decode-fds=!socket"),
        ];
        for (all, last) in cases {
            assert_eq!(of(all).unwrap(), of(last).unwrap(), "{all}");
        }
    }

    #[test]
    fn what_is_not_done_is_refused_in_words() {
        let cases = [
            ("inject=openat:error=ENOENT", "It needs ptrace"),
            ("fault=read", "It needs ptrace"),
            ("kvm=vcpu", "It needs ptrace"),
            ("signl=SIGINT", "Did you mean -e signal=?"),
            ("trace=opennat", "did you mean `openat`"),
            ("raw=opennat", "did you mean `openat`"),
            ("signal=SIGUSER1", "no signal `SIGUSER1`"),
            ("abbrev=raed", "did you mean `read`"),
            ("verbose=raed", "did you mean `read`"),
            ("quiet=everything", "Write attach"),
            ("status=detached", "write failed"),
            ("status=filed", "Write failed"),
            ("read=x", "that is no descriptor"),
            ("decode-fds=device", "Write path"),
            ("trace=/(", "regular expression"),
            ("trace=", "name is missing"),
            ("raw=!", "name is missing"),
            ("signal=", "names no signal"),
        ];
        for (text, words) in cases {
            let error = of(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
