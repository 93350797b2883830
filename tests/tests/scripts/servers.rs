//! USDT probes of programs as a distribution packages them: Python's, and those of a PostgreSQL server with a database of its own.

use std::{
    fs,
    os::unix::fs::chown,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use bathyscope_tests::{
    is_root,
    server::signal,
    skip,
    tracing::{Tracer, shows},
    wait::until,
};
use rustix::process::Signal;

const PYTHON: &str = "/usr/bin/python3";

fn python_has_probes() -> bool {
    const NAME: &[u8] = b"import__find__load__start";
    fs::read(PYTHON).is_ok_and(|bytes| bytes.windows(NAME.len()).any(|part| part == NAME))
}

#[test]
fn b8_usdt_probes_of_a_packaged_python_tell_what_it_imports() {
    if !is_root() {
        return skip("USDT probes of Python", "root");
    }
    if !python_has_probes() {
        return skip("USDT probes of Python", "a python3 that was built with USDT probes, such as Debian's");
    }
    let script = format!(
        "usdt:{PYTHON}:python:import__find__load__start {{ printf(\"%s begins %s\\n\", comm, str(arg0)); }}\n\
         usdt:{PYTHON}:python:import__find__load__done {{ printf(\"%s has %s %d\\n\", comm, str(arg0), arg1); }}"
    );
    let mut tracer = Tracer::start(["-e", script.as_str()]);
    assert!(tracer.attached(), "{:?}", tracer.interrupt());
    let ran =
        Command::new(PYTHON).args(["-c", "import colorsys"]).stdin(Stdio::null()).status().expect("Python starts");
    assert!(ran.success());
    let traced = tracer.interrupt();
    assert!(shows(&traced.out, "python3 begins colorsys >> python3 has colorsys 1"), "{traced:?}");
}

/// A PostgreSQL server on a socket in a folder of its own.
struct Postgres {
    child: Child,
    programs: PathBuf,
    folder: tempfile::TempDir,
}

impl Postgres {
    /// The folder of the programs, if the package is installed.
    fn programs() -> Option<PathBuf> {
        let versions = fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(Result::ok);
        let mut found: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
        found.retain(|folder| folder.join("postgres").exists());
        found.sort();
        found.pop()
    }

    /// It does not run as root.
    fn command(programs: &Path, name: &str, folder: &Path) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(programs.join(name));
        command.current_dir(folder).env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
        command
    }

    fn start(programs: PathBuf) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        chown(folder.path(), Some(65_534), Some(65_534)).expect("a folder of nobody");
        let made = Self::command(&programs, "initdb", folder.path())
            .args(["--no-sync", "--auth=trust", "--username=b8", "-D", "data"])
            .output()
            .expect("initdb starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let child = Self::command(&programs, "postgres", folder.path())
            .args(["-D", "data", "-c", "listen_addresses=", "-k"])
            .arg(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("postgres starts");
        Self { child, programs, folder }
    }

    /// Whether a query was answered.
    fn asked(&self, query: &str) -> bool {
        let folder = self.folder.path();
        let mut command = Self::command(&self.programs, "psql", folder);
        let told = command.arg("-h").arg(folder).args(["-U", "b8", "-d", "postgres", "-c", query]).output();
        told.is_ok_and(|output| output.status.success())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Its quick way to end.
        signal(self.child.id(), Signal::INT);
        let _ended = self.child.wait();
    }
}

#[test]
fn b8_usdt_probes_of_a_packaged_server_tell_its_queries_and_how_long_they_take() {
    if !is_root() {
        return skip("USDT probes of PostgreSQL", "root");
    }
    let Some(programs) = Postgres::programs() else {
        return skip(
            "USDT probes of PostgreSQL",
            "Debian's package postgresql (200 MB with what it needs; `tests/setup --all` installs it)",
        );
    };
    let file = programs.join("postgres");
    let server = Postgres::start(programs);
    until("the server", || server.asked("select 1").then_some(()));
    let point = format!("usdt:{}:postgresql", file.display());
    let script = format!(
        "{point}:query__start {{ @began[tid] = nsecs; @text[tid] = str(arg0); }}\n\
         {point}:query__done /@began[tid]/ {{\n  printf(\"%s took %d us\\n\", @text[tid], (nsecs - @began[tid]) / 1000);\n}}\n\
         end {{ clear(@began); clear(@text); }}"
    );
    let mut tracer = Tracer::start(["-e", script.as_str()]);
    assert!(tracer.attached(), "{:?}", tracer.interrupt());
    assert!(server.asked("select 4711 as b8, pg_sleep(0.02)"));
    let traced = tracer.interrupt();
    let line = traced.out.lines().find(|line| line.contains("select 4711 as b8"));
    let us: u64 = line.and_then(|line| line.split(' ').nth_back(1)?.parse().ok()).unwrap_or(0);
    assert!(us >= 20_000, "{traced:?}");
}
