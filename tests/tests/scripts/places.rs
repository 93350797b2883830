//! What workloads need: files, a port, a control group, TLS.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use bathyscope_tests::{in_lab, programs::program, workspace::root};
use tempfile::TempDir;

use crate::cases::Need;

const HUGE_PAGES: &str = "/proc/sys/vm/nr_hugepages";
const GROUP_BYTES: &str = "16777216";

/// Places for one workload.
pub(crate) struct Place {
    folder: TempDir,
    port: u16,
    /// The workload, which is done but still there.
    child: Option<Child>,
    group: Option<Group>,
}

/// Where files are on a disk: the lab has one made for that, else one folder that can be written.
fn on_disk() -> PathBuf {
    if let Some(disk) = std::env::var_os("BATHYSCOPE_LAB_DISK") {
        return disk.into();
    }
    if in_lab() { std::env::current_dir().expect("a working folder") } else { root().join("target") }
}

/// The type of the file system and the device under a path, of the longest mount point above it.
fn mounted(path: &Path) -> (String, String) {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let parsed = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?, words.next()?, words.next()?))
    });
    let above = parsed.filter(|(_, point, _)| path.starts_with(point));
    let last = above.max_by_key(|(_, point, _)| point.len());
    last.map(|(device, _, kind)| (kind.to_owned(), device.to_owned())).unwrap_or_default()
}

fn memory_groups() -> Option<(PathBuf, &'static str)> {
    let (first, second) = (Path::new("/sys/fs/cgroup/memory"), Path::new("/sys/fs/cgroup"));
    if first.join("memory.limit_in_bytes").exists() {
        return Some((first.to_owned(), "memory.limit_in_bytes"));
    }
    let controllers = fs::read_to_string(second.join("cgroup.controllers")).unwrap_or_default();
    controllers.contains("memory").then(|| (second.to_owned(), "memory.max"))
}

/// What is missing here for a need.
pub(crate) fn missing(need: Need) -> Option<&'static str> {
    let (kind, device) = mounted(&on_disk());
    let program = |name: &str| Command::new(name).arg("version").stdout(Stdio::null()).status().is_ok();
    let (there, what) = match need {
        Need::Nothing => (true, ""),
        Need::Disk => (device.starts_with("/dev/"), "files on a disk"),
        Need::Ext4 => (kind == "ext4", "files on ext4"),
        Need::MemoryGroup => (memory_groups().is_some(), "control groups with memory"),
        Need::Lab => (in_lab(), "a kernel that may be brought into trouble (tests/lab)"),
        Need::Frequency => (Path::new("/sys/devices/system/cpu/cpu0/cpufreq").exists(), "CPUs that change frequency"),
        Need::Processors => (thread::available_parallelism().is_ok_and(|count| count.get() > 1), "two processors"),
        Need::OpenSsl => (program("openssl"), "openssl"),
    };
    (!there).then_some(what)
}

impl Place {
    pub(crate) fn new() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
        Self { folder: tempfile::tempdir_in(on_disk()).expect("a folder"), port, child: None, group: None }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("a path of text").to_owned()
    }

    /// A word with what it stands for.
    pub(crate) fn filled(&self, word: &str) -> String {
        let work = program("work").expect("it was built");
        let group = self.group.as_ref().map(|group| group.0.join("cgroup.procs").display().to_string());
        word.replace("{file}", &self.path("file"))
            .replace("{other}", &self.path("other"))
            .replace("{folder}", self.folder.path().to_str().expect("a path of text"))
            .replace("{port}", &self.port.to_string())
            .replace("{work}", work.to_str().expect("a path of text"))
            .replace("{group}", &group.unwrap_or_default())
            .replace("{huge}", &if word == "{huge}" { too_many_huge_pages().to_string() } else { String::new() })
    }

    /// Does what the words say; the process that did stays until the end. What went wrong.
    pub(crate) fn work(&mut self, words: &str) -> Result<(), String> {
        if words.contains("{group}") {
            self.group = Some(Group::new());
        }
        let words: Vec<String> = words.split_whitespace().map(|word| self.filled(word)).collect();
        if matches!(words[0].as_str(), "major") {
            fs::write(self.path("file"), vec![1; 4 << 20]).map_err(|error| error.to_string())?;
        }
        let work = program("work").expect("it was built");
        let mut child = Command::new(work)
            .args(&words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let done = lines.any(|line| line.is_ok_and(|line| line == "done"));
        self.child = Some(child);
        if words[1..].iter().any(|word| word == HUGE_PAGES) {
            fs::write(HUGE_PAGES, "0").map_err(|error| error.to_string())?;
        }
        if done { Ok(()) } else { Err(format!("`work {}` failed", words.join(" "))) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Its input ends, and so does it.
            drop(child.stdin.take());
            let _ended = child.wait();
        }
    }
}

/// A control group with little memory.
struct Group(PathBuf);

impl Group {
    fn new() -> Self {
        let (root, limit) = memory_groups().expect("there are some");
        // Where groups are of the second kind, the root must hand the controller down.
        let _may_be_there = fs::write(root.join("cgroup.subtree_control"), "+memory");
        let path = root.join(format!("bathyscope-test-{}", std::process::id()));
        fs::create_dir(&path).expect("a control group");
        fs::write(path.join(limit), GROUP_BYTES).expect("a limit");
        Self(path)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It stays only if something still runs in it.
        let _gone = fs::remove_dir(&self.0);
    }
}

/// More large pages than memory has room for now.
fn too_many_huge_pages() -> u64 {
    let memory = fs::read_to_string("/proc/meminfo").expect("what there is");
    let free = memory.lines().find_map(|line| line.strip_prefix("MemFree:")?.trim().split(' ').next()?.parse().ok());
    free.map_or(0, |kib: u64| kib / 2048 + 10)
}

/// A TLS connection over which a line of text goes.
pub(crate) fn tls(place: &Place) {
    let (key, certificate) = (place.path("key"), place.path("certificate"));
    // Of a line with `{key}` and `{certificate}`, whose paths may have blanks.
    let openssl = |words: &str| {
        let mut command = Command::new("openssl");
        let words = words.split(' ').map(|word| match word {
            "{key}" => key.clone(),
            "{certificate}" => certificate.clone(),
            word => word.to_owned(),
        });
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    };
    let mut made = openssl(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -keyout {key} -out {certificate}",
    );
    assert!(made.status().expect("openssl starts").success(), "a certificate can be made");
    let mut server = openssl(&format!(
        "s_server -accept 127.0.0.1:{} -key {{key}} -cert {{certificate}} -naccept 1",
        place.filled("{port}")
    ))
    .spawn()
    .expect("a server starts");
    let mut lines = BufReader::new(server.stdout.take().expect("its output")).lines();
    assert!(lines.by_ref().map_while(Result::ok).any(|line| line.contains("ACCEPT")), "the server listens");
    let mut client = openssl(&format!("s_client -quiet -connect {}", place.filled("127.0.0.1:{port}")))
        .spawn()
        .expect("a client starts");
    let mut input = client.stdin.take().expect("its input");
    input.write_all(b"in the clear\n").expect("the client reads");
    assert!(lines.by_ref().map_while(Result::ok).any(|line| line.contains("in the clear")), "the text arrives");
    // Neither ends by itself in every version.
    for mut end in [client, server] {
        end.kill().and_then(|()| end.wait()).expect("it was started here");
    }
}
