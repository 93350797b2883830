//! What a local user, an operator, and whoever was let into one process gets from the others. As written in attacks:
//! against the real processes, from outside.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::{
    fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use bathyscope_tests::{
    alone,
    command_line::{json_of, stdout_of},
    in_lab, proc,
    server::{Server, signal},
    skip,
    wait::until,
    workspace::binary,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A user that nothing else here is.
const UID: u32 = 54_321;
/// What the attack runs.
const ATTACK: [&str; 3] = ["/bin/sh", "-c", "id; head -1 /etc/shadow"];

fn data() -> TempDir {
    tempfile::tempdir().expect("a folder for captures")
}

fn path(data: &TempDir) -> &str {
    data.path().to_str().expect("a plain path")
}

fn spec(target: &Value) -> Value {
    json!({
        "method": {"events": {"probes": [{"tracepoint": "sched:sched_process_exec", "fields": ["pid"]}]}},
        "target": target,
        "limits": {"duration_ms": 30_000}
    })
}

/// The same as what runs while others are watched.
fn during(user: Option<&str>) -> Value {
    let mut target = json!({"during": {"argv": ATTACK, "of": "system"}});
    if let Some(user) = user {
        target["during"]["user"] = user.into();
    }
    target
}

fn command(user: Option<&str>) -> Value {
    let mut command = json!({"command": {"argv": ATTACK, "children": true}});
    if let Some(user) = user {
        command["command"]["user"] = user.into();
    }
    command
}

/// Started by the shell of somebody who became root by sudo.
fn through_sudo(data: &Path, options: &[&str]) -> Server {
    let words = ["env".to_owned(), format!("SUDO_UID={UID}"), binary().to_string_lossy().into_owned()];
    Server::start_by(&words, data, options)
}

fn uid_of(pid: u32) -> u32 {
    proc::status(pid)["Uid"].split_ascii_whitespace().next().unwrap().parse().unwrap()
}

fn refusal(server: &Server, target: &Value) -> String {
    let answer = server.send("POST", "/api/captures", Some(&spec(target)));
    assert_eq!(answer.status, 422, "{}", answer.text());
    answer.text()
}

#[test]
fn p51_commands_run_only_as_those_whom_the_start_allowed() {
    let Some(_alone) = alone("commands through the web") else { return };
    let folder = data();
    let mut server = Server::start_by(
        &["env".to_owned(), "-u".to_owned(), "SUDO_UID".to_owned(), binary().to_string_lossy().into_owned()],
        folder.path(),
        &["--commands", "off"],
    );
    for user in [None, Some("root"), Some("nobody")] {
        for target in [command(user), during(user)] {
            let said = refusal(&server, &target);
            assert!(said.contains("serve --commands NAME"), "{said}");
        }
    }
    let about = server.get("/api/commands");
    assert_eq!((&about["may_run"], &about["start"]), (&json!(false), &json!("bathyscope serve --commands NAME")));
    server.terminate();

    let folder = data();
    let server = through_sudo(folder.path(), &[]);
    assert_eq!(server.get("/api/commands")["users"], json!([UID.to_string()]));
    for user in ["root", "0", "nobody"] {
        for target in [command(Some(user)), during(Some(user))] {
            assert!(refusal(&server, &target).contains(&UID.to_string()), "the message names who may");
        }
    }
    for target in [command(None), during(None)] {
        let id = server.capture(&spec(&target));
        server.ended(&id);
        let output = server.send("GET", &format!("/api/captures/{id}/output"), None).text();
        assert!(output.contains(&format!("uid={UID}")) && !output.contains("root:"), "{output}");
    }
    drop(server);

    // Started by somebody who is not root, only as that user, whatever the option says.
    let copied = data();
    let copy = copied.path().join("bathyscope");
    fs::copy(binary(), &copy).expect("room for a copy");
    for (options, expected) in [(&[][..], json!([UID.to_string()])), (&["--commands", "as-root"][..], json!([]))] {
        let folder = data();
        for path in [copied.path(), folder.path()] {
            fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
            std::os::unix::fs::chown(path, Some(UID), Some(UID)).expect("it is ours");
        }
        let number = UID.to_string();
        let words = ["setpriv", "--reuid", &number, "--regid", &number, "--clear-groups", copy.to_str().unwrap()];
        let server = Server::start_by(&words.map(str::to_owned), folder.path(), options);
        assert_eq!(server.get("/api/commands")["users"], expected, "{options:?}");
        assert!(refusal(&server, &command(Some("root"))).contains("root"), "{options:?}");
    }
    let help = stdout_of(["serve", "--help"]);
    let words = help.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("started by another user than root, only as that user"), "{words}");

    // Where others reach the console, being started through sudo is not enough.
    let folder = data();
    let mut exposed = Command::new(binary())
        .args(["serve", "--listen", "127.0.0.1:0", "--behind-proxy", "--allow-host", "x.example", "--log", "error"])
        .args(["--data", path(&folder)])
        .env("SUDO_UID", UID.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let words = until("the agent", || {
        let mut children = proc::children(exposed.id()).into_iter().map(proc::command_line);
        children.find(|words| words.get(1).is_some_and(|word| word == "agent"))
    });
    signal(exposed.id(), Signal::TERM);
    exposed.wait().unwrap();
    let at = words.iter().position(|word| word == "--commands").expect("the agent is told");
    assert_eq!(words[at + 1], "off");
}

#[test]
fn p52_only_admins_start_commands_and_the_audit_log_keeps_them_in_words() {
    let Some(_alone) = alone("commands in the audit log") else { return };
    let folder = data();
    let mut server = Server::start(folder.path(), &["--commands", "as-root"]);
    let id = server.capture(&spec(&command(Some("root"))));
    server.ended(&id);
    assert_eq!(server.send("DELETE", &format!("/api/captures/{id}"), None).status, 200);
    let log = server.get("/api/audit");
    let entries = log["items"].as_array().expect("entries");
    let entry = entries.iter().find(|one| one["action"] == "capture.start").expect("the start is noted");
    let detail = entry["detail"].as_str().unwrap();
    assert!(
        detail.contains(r#"command as "root" with its children: "/bin/sh" "-c" "id; head -1 /etc/shadow""#),
        "{detail}"
    );
    assert_eq!(entry["object"], id.as_str());
    // Where nobody was chosen, or a number, it is the name that the agent answers with.
    for user in [None, Some("0")] {
        let id = server.capture(&spec(&command(user)));
        let log = server.get("/api/audit");
        let entry = log["items"].as_array().unwrap().iter().find(|one| one["object"] == id.as_str()).unwrap().clone();
        assert!(entry["detail"].as_str().unwrap().contains(r#"command as "root" with its"#), "{user:?}: {entry}");
        server.ended(&id);
    }

    for role in ["operator", "viewer"] {
        let link = stdout_of(["login-link", "--role", role, "--user", "eve", "--data", path(&folder)]);
        server.log_in_by(link.trim());
        for target in [command(Some("root")), during(Some("root"))] {
            let answer = server.send("POST", "/api/captures", Some(&spec(&target)));
            let expected = if role == "operator" { 422 } else { 404 };
            assert_eq!(answer.status, expected, "{role}: {}", answer.text());
        }
        assert_eq!(server.get("/api/commands")["may_run"], false, "{role}");
    }
}

/// Runs a verb as another user, who has nothing else. The project may lie in a home that is closed to others, so it is a copy.
fn run_as(uid: u32, words: &[&str]) -> std::process::Output {
    let folder = data();
    let copy = folder.path().join("bathyscope");
    fs::copy(binary(), &copy).expect("room for a copy");
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    let mut command = Command::new(copy);
    command.uid(uid).gid(uid).args(words).stdin(Stdio::null()).current_dir("/").env_remove("SUDO_UID");
    command.output().expect("the binary starts")
}

#[test]
fn p53_the_agent_cannot_be_reached_by_a_name() {
    let Some(_alone) = alone("names of sockets") else { return };
    let folder = data();
    let server = Server::simulated(folder.path());
    let sockets = fs::read_to_string("/proc/net/unix").expect("sockets");
    let named: Vec<(String, String)> = sockets
        .lines()
        .map(|line| line.split_ascii_whitespace().collect::<Vec<_>>())
        .filter_map(|columns| Some((format!("socket:[{}]", columns.get(6)?), (*columns.get(7)?).to_owned())))
        .collect();
    for verb in ["agent", "console"] {
        let open = proc::descriptors(server.child(verb));
        let names = named.iter().filter(|(socket, _)| open.contains(socket)).map(|(_, name)| name.as_str());
        let others: Vec<&str> = names.filter(|name| verb == "agent" || !name.ends_with("/control.sock")).collect();
        assert!(open.iter().any(|one| one.starts_with("socket:")) && others.is_empty(), "{verb}: {others:?}");
    }
    // The next agent is found by the console all the same.
    let agent = server.child("agent");
    signal(agent, Signal::KILL);
    until("the next agent", || {
        let host = server.get("/api/host");
        (host["agent"]["state"] == "connected" && !proc::is_alive(agent)).then_some(())
    });
}

/// A process of another user, until it is dropped.
struct Other(Child);

impl Other {
    fn start(uid: u32) -> Self {
        let mut command = Command::new("sleep");
        command.arg("1000").uid(uid).gid(uid).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("sleep starts"))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _ended = self.0.wait();
    }
}

#[test]
fn p54_the_consoles_user_is_nobody_elses_and_gets_no_link() {
    let Some(_alone) = alone("the console's user") else { return };
    if fs::read_to_string("/etc/passwd").is_ok_and(|users| users.contains("\nbathyscope:")) {
        return skip("a number of the console's own", "a host without a user `bathyscope`");
    }
    let folder = data();
    let mut server = Server::simulated(folder.path());
    let uid = uid_of(server.child("console"));
    let passwd = fs::read_to_string("/etc/passwd").expect("users");
    let has_account = passwd.lines().any(|line| line.split(':').nth(2) == Some(&uid.to_string()));
    assert!(uid != 65_534 && !has_account, "{uid} is somebody else's");
    // Whoever has that number, or `nobody`, asks for a link, as root and the starter may.
    for other in [uid, 65_534, UID] {
        let asked = run_as(other, &["login-link", "--data", path(&folder)]);
        assert!(!asked.status.success(), "{other}: {}", String::from_utf8_lossy(&asked.stdout));
    }
    assert!(stdout_of(["login-link", "--data", path(&folder)]).contains("#token="));
    let spec = json!({"method": {"profile": {"frequency_hz": 99, "kernel_stacks": true, "user_stacks": true}}, "target": "system", "limits": {"duration_ms": 200}});
    let id = server.capture(&spec);
    server.ended(&id);
    server.terminate();

    let mut server = Server::simulated(folder.path());
    assert_eq!(uid_of(server.child("console")), uid, "kept from start to start");
    server.terminate();

    // Another process has it meanwhile: then the directory goes to another number, with all that is in it.
    let other = Other::start(uid);
    let server = Server::simulated(folder.path());
    let moved = uid_of(server.child("console"));
    drop(other);
    assert_ne!(moved, uid);
    assert_eq!(server.get(&format!("/api/captures/{id}"))["state"], "finished");
}

#[test]
fn p55_descriptors_of_whoever_starts_it_are_closed() {
    let Some(_alone) = alone("inherited descriptors") else { return };
    let folder = data();
    let shell = format!("exec 9</etc/shadow; exec '{}' \"$@\"", binary().display());
    let words = ["/bin/sh", "-c", &shell, "sh"].map(str::to_owned);
    let server = Server::start_by(&words, folder.path(), &["--simulate"]);
    for pid in [server.supervisor(), server.child("agent"), server.child("console")] {
        let open = proc::descriptors(pid);
        assert!(!open.is_empty() && open.iter().all(|one| !one.contains("shadow")), "{open:?}");
    }
}

/// A trace of the simulated agent. One that a failed test leaves behind ends with it.
struct Tracing(Child);

impl Tracing {
    /// Starts it and waits until it has a database in a directory of its own.
    fn start() -> (Self, PathBuf) {
        let words = ["trace", "--simulate", "-e", "sched:sched_switch", "--duration", "1000s"];
        let mut command = Command::new(binary());
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let trace = Self(command.spawn().unwrap());
        // By what it has open, because verbs of others may make directories beside it at the same time.
        let directory = until("the directory of the trace", || {
            let open = proc::descriptors(trace.0.id()).into_iter().find(|name| name.ends_with("/bathyscope.db"))?;
            Path::new(&open).parent().filter(|path| path.starts_with("/run/bathyscope")).map(Path::to_owned)
        });
        (trace, directory)
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        let _has_ended = self.0.kill();
        let _is_reaped = self.0.wait();
    }
}

/// A trace that is killed with its agent, so that nobody is left who could remove anything.
fn killed_trace() -> PathBuf {
    let (mut killed, left) = Tracing::start();
    let agents = proc::children(killed.0.id());
    for agent in &agents {
        signal(*agent, Signal::STOP);
    }
    signal(killed.0.id(), Signal::KILL);
    killed.0.wait().unwrap();
    // A process that had stopped by then gets SIGHUP from the kernel, one that had not yet stays stopped. Both have the
    // directory's lock until they are gone.
    for agent in agents.iter().filter_map(|agent| Pid::from_raw(i32::try_from(*agent).unwrap())) {
        let _may_have_ended = kill_process(agent, Signal::KILL);
    }
    until("the end of its agents", || agents.iter().all(|agent| !proc::is_alive(*agent)).then_some(()));
    left
}

#[test]
fn p56_verbs_that_are_ended_leave_nothing_and_what_killed_ones_left_is_removed() {
    let Some(_alone) = alone("directories of verbs") else { return };
    for how in [Signal::HUP, Signal::TERM, Signal::INT] {
        if how == Signal::HUP && proc::is_ignored(how) {
            skip("the end of a terminal", "a caller that does not ignore SIGHUP, as nohup does");
            continue;
        }
        let (mut child, directory) = Tracing::start();
        let meta = fs::metadata(&directory).unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&meta) & 0o777, 0o700);
        // It is listened to once rows are printed; before, the signal ends it as any program, which the rest is about.
        until("the signal is handled", || {
            let caught =
                proc::status(child.0.id()).get("SigCgt").and_then(|bits| u64::from_str_radix(bits, 16).ok())?;
            (caught & (1 << (how.as_raw() - 1)) != 0).then_some(())
        });
        signal(child.0.id(), how);
        child.0.wait().unwrap();
        assert!(!directory.exists(), "{how:?} left {directory:?}");
    }
    let (mut running, held) = Tracing::start();
    let left = killed_trace();
    assert!(left.exists() && held.exists());
    let names = |report: &Value| {
        let all = report["directories"].as_array().expect("directories").clone();
        all.iter().map(|one| PathBuf::from(one["path"].as_str().unwrap())).collect::<Vec<_>>()
    };
    let found = names(&json_of(["cleanup", "--dry-run", "--json"]));
    assert!(found.contains(&left) && !found.contains(&held), "{found:?}");
    assert!(names(&json_of(["cleanup", "--json"])).contains(&left));
    assert!(!left.exists() && held.exists());
    // The next verb does the same.
    let left = killed_trace();
    stdout_of(["trace", "--simulate", "-e", "sched:sched_switch", "--duration", "10ms"]);
    assert!(!left.exists() && held.exists());
    signal(running.0.id(), Signal::TERM);
    running.0.wait().unwrap();
    assert!(!held.exists());
}

/// `bathyscope strace CMD` of root runs the command as strace does.
#[test]
fn p57_a_command_of_whoever_is_root_anyway_runs_as_the_shell_would_run_it() {
    let Some(_alone) = alone("a command at a terminal") else { return };
    if in_lab() {
        return skip("a command at a terminal", "programs that the small system of the lab does not have");
    }
    let folder = data();
    let secret = folder.path().join("secret");
    fs::write(&secret, "of the ninth\n").unwrap();
    let script = "id -u; id -G; echo mark=$MARK; cat <&9; cat; grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/$$/status; \
        cut -d' ' -f5,6 /proc/$$/stat; pwd; umask; trap | cat; kill -HUP $$; echo survived";
    let verb = format!("'{}' strace -o {}/calls", binary().display(), path(&folder));
    let run = |prefix: &str| {
        let line = format!(
            "exec 9<{}; export MARK=shell; umask 027; cd {}; trap '' HUP; \
             echo of stdin | setpriv --groups 4711,4712 {prefix} /bin/sh -c \"$0\"; echo status $?",
            secret.display(),
            path(&folder)
        );
        let mut command = Command::new("/bin/sh");
        // A group of its own, as a shell with job control makes one.
        command.args(["-c", &line, script]).process_group(0).env("SUDO_UID", UID.to_string());
        let output = command.stdin(Stdio::null()).output().unwrap();
        let ids = |text: &str| {
            text.lines().map(|line| line.strip_prefix("/proc").unwrap_or(line).to_owned()).collect::<Vec<_>>()
        };
        (ids(&String::from_utf8_lossy(&output.stdout)), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (alone, _) = run("");
    let (traced, said) = run(&format!("{verb} --"));
    // The process group and session differ from run to run: that both are the shell's is what counts.
    let same = |lines: &[String]| {
        let is_ids =
            |line: &&String| line.split(' ').count() == 2 && line.split(' ').all(|id| id.parse::<u32>().is_ok());
        let rest: Vec<String> =
            lines.iter().filter(|line| !is_ids(line) || line.starts_with("4711")).cloned().collect();
        rest
    };
    assert_eq!(same(&traced), same(&alone), "{said}");
    assert!(alone.contains(&"of the ninth".to_owned()) && alone.contains(&"of stdin".to_owned()), "{alone:?}");
    assert!(alone.contains(&"survived".to_owned()) && alone.contains(&"status 0".to_owned()), "{alone:?}");
    assert!(fs::read_to_string(folder.path().join("calls")).unwrap().contains("execve(\"/bin/sh\""));
}

/// Four loops that `unroll` writes out a hundred times each: 85 bytes that become a hundred million statements.
const BOMB: &str = "begin { unroll(100) { unroll(100) { unroll(100) { unroll(100) { @a++; } } } } exit() }";

#[test]
fn p59_a_script_that_unrolls_without_end_is_refused_at_once() {
    let (folder, texts) = (data(), data());
    let file = texts.path().join("bomb.bt");
    fs::write(&file, BOMB).unwrap();
    // With less memory than the bomb takes, whatever refuses it.
    let limited = format!("ulimit -v 4000000; exec '{}' compile --simulate {}", binary().display(), file.display());
    let output = Command::new("/bin/sh").args(["-c", &limited]).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{:?}: {said}", output.status);
    assert!(said.contains("`unroll` makes more than"), "{said}");

    let mut server = Server::simulated(folder.path());
    let agent = server.child("agent");
    let body = json!({"text": BOMB});
    let checked = server.send("POST", "/api/scripts/check", Some(&body));
    assert_eq!((checked.status, &checked.json()["ok"]), (200, &json!(false)), "{}", checked.text());
    assert!(proc::resident_kib(agent) < 300 << 10, "the agent has {} KiB", proc::resident_kib(agent));
    // Who may not run scripts has none compiled.
    let link = stdout_of(["login-link", "--role", "operator", "--user", "eve", "--data", path(&folder)]);
    server.log_in_by(link.trim());
    for what in ["check", "compile", "complete", "hover"] {
        let mut body = body.clone();
        if matches!(what, "complete" | "hover") {
            body["offset"] = 3.into();
        }
        let answer = server.send("POST", &format!("/api/scripts/{what}"), Some(&body));
        assert_eq!(answer.status, 422, "{what}: {}", answer.text());
        assert_eq!(answer.json()["error"]["kind"], "denied", "{what}");
    }
    assert_eq!(server.child("agent"), agent, "the agent lives on");
}

/// Takes the compiler some time, and is within its limits.
const LONG: &str = "begin { unroll(90) { unroll(90) { @a[1, 2, 3] = @a[4, 5, 6] + 1; } } exit() }";

#[test]
fn p81_the_agent_and_its_captures_outlive_the_process_that_compiles() {
    let folder = data();
    let server = Server::simulated(folder.path());
    let agent = server.child("agent");
    let id = server.capture(&spec(&json!("system")));
    let killed = std::thread::scope(|scope| {
        let check = || server.send("POST", "/api/scripts/check", Some(&json!({"text": LONG}))).text();
        // The one that is stopped is killed; all before are answered.
        let checks = scope.spawn(move || std::iter::repeat_with(check).find(|answer| answer.contains("signal 9")));
        let child = proc::stopped_child(agent);
        let (status, open) = (proc::status(child), proc::descriptors(child));
        signal(child, Signal::KILL);
        (status, open, checks.join().unwrap().unwrap())
    });
    let (status, open, killed) = killed;
    // The agent may not change its user any more, and so its children are who it is: without a right of that user's.
    proc::assert_no_rights(&status);
    assert_eq!(open.len(), 1, "its socket: {open:?}");
    assert!(killed.contains("was ended by signal 9"), "{killed}");
    assert_eq!(server.child("agent"), agent, "the agent lives on");
    assert_eq!(server.get(&format!("/api/captures/{id}"))["running"], true, "and so does the capture");
    let checked = server.send("POST", "/api/scripts/check", Some(&json!({"text": "begin { exit() }"}))).json();
    assert_eq!(checked["ok"], true, "{checked}");
    assert_eq!(server.send("POST", &format!("/api/captures/{id}/stop"), None).status / 100, 2);
    assert_eq!(server.ended(&id)["state"], "finished");
}

/// Capabilities by their numbers in the kernel: those of SECURITY.md that the agent keeps, and `CAP_SYS_ADMIN`.
const AGENTS: [u32; 9] = [1, 5, 14, 19, 21, 34, 38, 39, 40];

#[test]
fn p60_the_agent_keeps_the_listed_capabilities_and_no_other() {
    let Some(_alone) = alone("capabilities of the agent") else { return };
    let folder = data();
    let server = Server::start(folder.path(), &[]);
    let agent = server.child("agent");
    let allowed = AGENTS.iter().fold(0_u64, |all, number| all | 1 << number);
    let had = u64::from_str_radix(&proc::status(std::process::id())["CapEff"], 16).unwrap();
    let sets = || proc::status(agent);
    until("the agent gives its rights up", || {
        let kept = u64::from_str_radix(sets().get("CapPrm")?, 16).ok()?;
        (kept == had & allowed).then_some(())
    });
    let set = |name: &str| u64::from_str_radix(&sets()[name], 16).unwrap();
    for name in ["CapEff", "CapBnd"] {
        assert_eq!(set(name) & !allowed, 0, "{name}");
    }
    assert_eq!((set("CapInh"), set("CapAmb")), (0, 0));
    // What it is for still works.
    let spec = json!({"method": {"profile": {"frequency_hz": 99, "kernel_stacks": true, "user_stacks": true}},
        "target": "system", "limits": {"duration_ms": 300}});
    let id = server.capture(&spec);
    assert_eq!(server.ended(&id)["state"], "finished");
}
