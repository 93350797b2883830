//! The processes of a running console: what rights they have, what happens when one of them dies. All with the
//! simulated agent, so these tests need no root; some check more when they have it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::{fs, path::Path, time::Instant};

use bathyscope_tests::{
    command_line::{json_of, run, stdout_of},
    is_root, ledger, proc, rounds,
    server::{Server, signal},
    wait::until,
    workspace::binary,
};
use object::{
    LittleEndian, elf,
    read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader},
};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;

fn data() -> TempDir {
    tempfile::tempdir().expect("a folder for captures")
}

fn spec(duration_ms: u64) -> Value {
    json!({
        "method": {"events": {"probes": [{"tracepoint": "sched:sched_switch", "fields": ["prev_comm", "next_pid"]}]}},
        "target": "system",
        "limits": {"duration_ms": duration_ms}
    })
}

fn stored_rows(server: &Server, id: &str) -> u64 {
    let capture = server.get(&format!("/api/captures/{id}"));
    capture["streams"].as_array().expect("streams").iter().filter_map(|stream| stream["rows"].as_u64()).sum()
}

fn path(data: &TempDir) -> &str {
    data.path().to_str().expect("a plain path")
}

/// Whether one of the process's descriptors is a listening TCP socket.
fn listens(pid: u32) -> bool {
    let mut listening = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = fs::read_to_string(table).unwrap_or_default();
        let columns = text.lines().skip(1).map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
        listening.extend(columns.filter(|c| c.get(3) == Some(&"0A")).map(|c| format!("socket:[{}]", c[9])));
    }
    proc::descriptors(pid).iter().any(|descriptor| listening.contains(descriptor))
}

#[test]
fn the_console_has_no_rights_and_it_alone_listens() {
    let data = data();
    let server = Server::simulated(data.path());
    let (console, agent) = (server.child("console"), server.child("agent"));
    let status = proc::status(console);
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(u64::from_str_radix(&status[set], 16), Ok(0), "{set}");
    }
    assert_eq!(status["NoNewPrivs"], "1");
    if is_root() {
        assert_eq!(u64::from_str_radix(&status["CapBnd"], 16), Ok(0), "CapBnd");
        assert!(status["Uid"].split_ascii_whitespace().all(|uid| uid != "0"), "{}", status["Uid"]);
        assert!(status["Gid"].split_ascii_whitespace().all(|gid| gid != "0"), "{}", status["Gid"]);
        assert_eq!(status["Groups"], "");
        assert!(listens(console));
        assert!(!listens(agent) && !listens(server.supervisor()), "a privileged process listens on a network");
    } else {
        bathyscope_tests::skip("dropping of root by the console", "root");
    }
}

#[test]
fn stdout_is_one_line_and_the_log_keeps_the_token_to_itself() {
    let data = data();
    let mut server = Server::start(data.path(), &["--simulate", "--log-format", "json", "--log", "debug"]);
    let id = server.capture(&spec(200));
    server.ended(&id);
    assert!(server.terminate().success());
    assert_eq!(server.rest_of_stdout(), "");
    let log = server.log();
    let lines = log.lines().filter(|line| !line.is_empty());
    for line in lines.clone() {
        assert!(serde_json::from_str::<Value>(line).is_ok_and(|value| value.is_object()), "not JSON: {line}");
    }
    assert!(lines.count() > 0, "it logs something");
    assert!(!log.contains("token="));
}

#[test]
fn p42_the_whole_ends_within_ten_seconds_of_term() {
    let data = data();
    let mut server = Server::simulated(data.path());
    let id = server.capture(&spec(60_000));
    until("rows", || (stored_rows(&server, &id) > 0).then_some(()));
    let children = proc::children(server.supervisor());
    assert_eq!(children.len(), 2);
    let begin = Instant::now();
    let status = server.terminate();
    assert!(begin.elapsed().as_secs() < 10, "it took {:?}", begin.elapsed());
    assert!(status.success(), "{status}");
    assert!(children.into_iter().all(|pid| !proc::is_alive(pid)), "a child outlives its supervisor");
    let shown = json_of(["captures", "show", &id, "--json", "--data", path(&data)]);
    assert_eq!(shown["state"], "finished", "{shown}");
}

#[test]
fn p42_term_to_the_whole_group_is_one_wish() {
    let data = data();
    // It becomes the leader of a group, and then the binary.
    let words = ["setsid".to_owned(), binary().to_string_lossy().into_owned()];
    let mut server = Server::start_by(&words, data.path(), &["--simulate"]);
    let id = server.capture(&spec(60_000));
    until("rows", || (stored_rows(&server, &id) > 0).then_some(()));
    // As `timeout` does, and a terminal with Ctrl-C.
    let group = Pid::from_raw(i32::try_from(server.supervisor()).unwrap()).unwrap();
    kill_process_group(group, Signal::TERM).unwrap();
    let status = server.wait();
    assert!(status.success(), "{status}: {}", server.log());
    let shown = json_of(["captures", "show", &id, "--json", "--data", path(&data)]);
    assert_eq!(shown["state"], "finished", "{shown}");
}

#[test]
fn p42_the_whole_ends_within_ten_seconds_even_if_the_console_hangs() {
    let data = data();
    let mut server = Server::simulated(data.path());
    let id = server.capture(&spec(60_000));
    until("rows", || (stored_rows(&server, &id) > 0).then_some(()));
    let children = proc::children(server.supervisor());
    signal(server.child("console"), Signal::STOP);
    let begin = Instant::now();
    server.terminate();
    assert!(begin.elapsed().as_secs() < 10, "it took {:?}", begin.elapsed());
    assert!(children.into_iter().all(|pid| !proc::is_alive(pid)), "a child outlives its supervisor");
    let shown = json_of(["captures", "show", &id, "--json", "--data", path(&data)]);
    assert_eq!(shown["state"], "interrupted", "{shown}");
}

#[test]
fn p41_the_agents_death_ends_captures_and_a_new_agent_comes() {
    let data = data();
    let server = Server::simulated(data.path());
    let id = server.capture(&spec(60_000));
    until("rows", || (stored_rows(&server, &id) > 0).then_some(()));
    let (agent, console) = (server.child("agent"), server.child("console"));
    signal(agent, Signal::KILL);
    let capture = server.ended(&id);
    assert_eq!(capture["state"], "agent_lost", "{capture}");
    assert!(stored_rows(&server, &id) > 0);
    until("a new agent", || (server.get("/api/host")["agent"]["state"] == "connected").then_some(()));
    assert_ne!(server.child("agent"), agent);
    assert_eq!(server.child("console"), console, "the console went on");
    let again = server.capture(&spec(200));
    assert_eq!(server.ended(&again)["state"], "finished");
}

#[test]
fn p25_nothing_outlives_a_killed_supervisor() {
    let data = data();
    let mut server = Server::simulated(data.path());
    let children = [server.child("console"), server.child("agent")];
    signal(server.supervisor(), Signal::KILL);
    server.wait();
    for child in children {
        until("the child's end", || (!proc::is_alive(child)).then_some(()));
    }
}

/// The kernel sends the signal of a parent's death with the rights that the parent had.
#[test]
fn p25_a_console_ends_with_a_supervisor_that_may_not_signal_it() {
    if !is_root() {
        return bathyscope_tests::skip("a supervisor without CAP_KILL", "root");
    }
    let data = data();
    let words = ["setpriv", "--no-new-privs", "--bounding-set=-kill", "--inh-caps=-all"].map(str::to_owned);
    let words: Vec<String> = words.into_iter().chain([binary().to_string_lossy().into_owned()]).collect();
    let mut server = Server::start_by(&words, data.path(), &["--simulate"]);
    let children = [server.child("console"), server.child("agent")];
    signal(server.supervisor(), Signal::KILL);
    server.wait();
    for child in children {
        until("the child's end", || (!proc::is_alive(child)).then_some(()));
    }
}

#[test]
fn p34_every_capture_of_a_killed_console_opens_as_interrupted() {
    let data = data();
    let mut ids = Vec::new();
    let kills = rounds(15, 200);
    for kill in 0..kills {
        let mut server = Server::simulated(data.path());
        let id = server.capture(&spec(60_000));
        // At different moments: after the first rows, and after some more.
        let least = 1 + (kill as u64 % 5) * 400;
        until("rows", || (stored_rows(&server, &id) >= least).then_some(()));
        signal(server.child("console"), Signal::KILL);
        server.wait();
        let shown = json_of(["captures", "show", &id, "--json", "--data", path(&data)]);
        assert_eq!(shown["state"], "interrupted", "kill {kill}: {shown}");
        ids.push((id, least));
    }
    let server = Server::simulated(data.path());
    for (id, least) in &ids {
        let capture = server.get(&format!("/api/captures/{id}"));
        assert_eq!(capture["state"], "interrupted");
        let page = server.get(&format!("/api/captures/{id}/rows?stream=0&limit=5"));
        assert!(page["total"].as_u64() >= Some(*least), "{page}");
        assert_eq!(page["rows"].as_array().map(Vec::len), Some(5));
        ledger::check(&capture);
    }
    assert_eq!(server.get("/api/captures?limit=1")["total"], kills);
}

#[test]
fn p28_the_ledger_of_the_simulated_agent_balances() {
    let data = data();
    let server = Server::simulated(data.path());
    let id = server.capture(&spec(2_000));
    let capture = server.ended(&id);
    assert_eq!(capture["state"], "finished");
    assert!(stored_rows(&server, &id) > 0);
    ledger::check(&capture);
}

/// Whether this process has the right to raise limits (`CAP_SYS_RESOURCE`), which root lacks on some machines.
fn may_raise_limits() -> bool {
    let status = proc::status(std::process::id());
    let bits = status.get("CapEff").and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.is_some_and(|bits| bits & 1 << 24 != 0)
}

/// The niceness of the threads with these names, of all of them that a process has.
fn niceness(pid: u32, names: &[&str]) -> Vec<i64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let texts = threads.filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
    let of = |text: String| {
        let (head, fields) = text.rsplit_once(") ")?;
        let name = head.split_once('(')?.1;
        names.contains(&name).then(|| fields.split(' ').nth(16)?.parse().ok())?
    };
    let mut all: Vec<i64> = texts.filter_map(of).collect();
    all.sort_unstable();
    all
}

#[test]
fn records_are_read_before_other_programs_run_only_if_somebody_asks_for_it() {
    const READ: [&str; 2] = ["bathyscope-ring", "bathyscope-rows"];
    const OTHERS: [&str; 2] = ["bathyscope-work", "bathyscope-link"];
    let data = data();
    let server = Server::simulated(data.path());
    // Whoever runs the tests may have chosen another than 0.
    let own = i64::from(rustix::process::getpriority_process(None).expect("a niceness"));
    let usual = server.capture(&spec(60_000));
    let console = server.child("console");
    until("the threads that read", || (niceness(console, &READ) == [own, own]).then_some(()));
    let mut urgent = spec(60_000);
    urgent["limits"]["reading"] = json!("high");
    if !may_raise_limits() {
        // Nobody can let the threads of this console run before others.
        let refused = server.send("POST", "/api/captures", Some(&urgent));
        assert_eq!(refused.status, 400, "{}", refused.text());
        assert!(refused.text().contains("LimitNICE=-10"), "{}", refused.text());
        return;
    }
    let urgent = server.capture(&urgent);
    until("the threads that read urgently", || (niceness(console, &READ) == [-10, -10, own, own]).then_some(()));
    let others = niceness(console, &OTHERS);
    assert!(!others.is_empty() && others.iter().all(|nice| *nice == own), "what serves people is as usual: {others:?}");
    for id in [usual, urgent] {
        server.send("POST", &format!("/api/captures/{id}/stop"), None);
        ledger::check(&server.ended(&id));
    }
}

#[test]
fn p37_a_second_server_on_the_same_data_refuses_and_names_the_first() {
    let data = data();
    let _first = Server::simulated(data.path());
    let second = run(["serve", "--simulate", "--listen", "127.0.0.1:0", "--data", path(&data)]);
    assert!(!second.status.success());
    assert!(second.stdout.is_empty(), "{}", String::from_utf8_lossy(&second.stdout));
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    let owner = fs::read_to_string(data.path().join("bathyscope.lock")).expect("the lock file");
    assert!(owner.starts_with("process ") && said.contains(owner.trim()) && said.contains("--data"), "{owner}: {said}");
}

#[test]
fn p39_a_rule_of_retention_is_followed_from_the_start() {
    let data = data();
    let mut server = Server::simulated(data.path());
    let ids: Vec<String> = (0..3).map(|_| server.capture(&spec(200))).collect();
    ids.iter().for_each(|id| drop(server.ended(id)));
    assert!(server.terminate().success());
    stdout_of(["captures", "pin", &ids[0], "--data", path(&data)]);
    let server = Server::start(data.path(), &["--simulate", "--keep-size", "1"]);
    // The first is pinned, the newest stays.
    let kept =
        |id: &String| server.get("/api/captures")["items"].as_array().unwrap().iter().any(|one| one["id"] == **id);
    until("the rule is followed", || (!kept(&ids[1])).then_some(()));
    assert!(kept(&ids[0]) && kept(&ids[2]));
    let list = server.get("/api/captures");
    assert_eq!((&list["retention"]["keep_bytes"], &list["total"]), (&1.into(), &2.into()));
}

#[test]
fn every_verb_explains_itself() {
    let help = stdout_of(["--help"]);
    for verb in ["serve", "doctor", "cleanup", "list", "trace", "captures", "export"] {
        assert!(help.contains(&format!("  {verb} ")), "{verb} is not in --help");
        assert!(stdout_of([verb, "--help"]).lines().count() > 5, "{verb} --help says little");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(stdout_of(["completions", shell]).contains("captures"), "{shell}");
    }
}

#[test]
fn captures_can_be_read_renamed_exported_imported_and_deleted_from_the_terminal() {
    let data = data();
    let mut server = Server::simulated(data.path());
    let id = server.capture(&spec(300));
    server.ended(&id);
    let rows = stored_rows(&server, &id);
    assert!(server.terminate().success());
    let data_path = path(&data);
    let listed = json_of(["captures", "list", "--json", "--data", data_path]);
    assert!(listed.to_string().contains(&id), "{listed}");
    stdout_of(["captures", "rename", &id, "a name of its own", "--data", data_path]);
    assert_eq!(json_of(["captures", "show", &id, "--json", "--data", data_path])["title"], "a name of its own");
    let csv = stdout_of(["export", &id, "--format", "csv", "--data", data_path]);
    assert_eq!(csv.lines().count() as u64, rows + 1);
    let ndjson = stdout_of(["export", &id, "--format", "ndjson", "--data", data_path]);
    assert!(ndjson.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    assert_eq!(ndjson.lines().count() as u64, rows);
    let file = data.path().with_extension("bathy");
    let file_path = file.to_str().unwrap();
    stdout_of(["export", &id, "--format", "bathy", "-o", file_path, "--data", data_path]);
    stdout_of(["captures", "pin", &id, "--data", data_path]);
    assert_eq!(json_of(["captures", "list", "--json", "--data", data_path])["items"][0]["pinned"], true);
    assert!(stdout_of(["captures", "list", "--data", data_path]).contains("  pinned  "));
    stdout_of(["captures", "unpin", &id, "--data", data_path]);
    assert_eq!(json_of(["captures", "show", &id, "--json", "--data", data_path])["pinned"], false);
    stdout_of(["captures", "delete", &id, "--data", data_path]);
    assert!(!run(["captures", "show", &id, "--data", data_path]).status.success());
    import_again(&file, data_path, &csv);
}

fn import_again(file: &Path, data_path: &str, csv: &str) {
    let imported = json_of(["captures", "import", file.to_str().unwrap(), "--json", "--data", data_path]);
    let id = imported["id"].as_str().expect("an id");
    assert_eq!(stdout_of(["export", id, "--format", "csv", "--data", data_path]), csv);
    fs::remove_file(file).expect("the file is ours");
}

#[test]
fn p74_sessions_are_listed_and_ended_at_the_terminal() {
    let data = data();
    let server = Server::simulated(data.path());
    let link =
        json_of(["login-link", "--role", "viewer", "--user", "eve", "--for", "30m", "--json", "--data", path(&data)]);
    assert_eq!((&link["expires_in_s"], &link["session_expires_in_s"]), (&1800.into(), &1800.into()));
    let listed = json_of(["sessions", "list", "--json", "--data", path(&data)]);
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1), "{listed}");
    let unused = listed["links"].as_array().unwrap().iter().find(|one| one["user"] == "eve").expect("eve's link");
    assert!(unused["session_ends_in_s"].as_u64().unwrap() <= 1800, "{unused}");
    let shown = stdout_of(["sessions", "list", "--data", path(&data)]);
    assert!(shown.contains("last used") && shown.contains("eve"), "{shown}");
    let wrong = run(["sessions", "end", "0000000000000000", "--data", path(&data)]);
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("no session"), "{wrong:?}");
    stdout_of(["sessions", "end", "--all", "--data", path(&data)]);
    assert_eq!(server.send("GET", "/api/host", None).status, 401, "the session has ended");
    let listed = json_of(["sessions", "list", "--json", "--data", path(&data)]);
    assert_eq!((&listed["sessions"], &listed["links"]), (&json!([]), &json!([])));
}

#[test]
fn p07_shares_are_made_listed_and_revoked_at_the_terminal() {
    let data = data();
    let server = Server::simulated(data.path());
    let id = server.send("POST", "/api/samples/scheduler", None).json()["id"].as_str().expect("an id").to_owned();
    let refused = run(["shares", "create", &id, "--data", path(&data)]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("shares are not allowed"), "{refused:?}");
    assert!(stdout_of(["shares", "list", "--data", path(&data)]).contains("not allowed"));
    stdout_of(["shares", "allow", "--data", path(&data)]);
    let wrong = run(["shares", "create", &id, "--filter", "nothing == 1", "--data", path(&data)]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("nothing"), "{wrong:?}");
    let url = stdout_of(["shares", "create", &id, "--filter", "cpu == 0", "--days", "2", "--data", path(&data)]);
    let (link, token) = url.trim().rsplit_once('#').expect("a token");
    assert_eq!(token.len(), 64, "{url}");
    let listed = json_of(["shares", "list", "--json", "--data", path(&data)]);
    let share = &listed["items"][0];
    assert_eq!((&listed["allowed"], &share["part"]["filter"]), (&true.into(), &"cpu == 0".into()), "{listed}");
    let share_id = share["id"].as_str().expect("an id");
    assert!(link.ends_with(&format!("/s/{share_id}")), "{url}");
    let shown = stdout_of(["shares", "list", "--data", path(&data)]);
    assert!(shown.contains("never used") && shown.contains("a part of") && !shown.contains(token), "{shown}");
    stdout_of(["shares", "revoke", share_id, "--data", path(&data)]);
    let again = run(["shares", "revoke", share_id, "--data", path(&data)]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("there is no share"), "{again:?}");
    stdout_of(["shares", "forbid", "--data", path(&data)]);
    assert!(stdout_of(["shares", "list", "--data", path(&data)]).contains("There is no share"));
}

#[test]
fn a_terminal_imports_into_the_console_that_runs() {
    let (from, to, files) = (data(), data(), data());
    let file = files.path().join("taken along.bathy");
    let file = file.to_str().expect("a plain path");
    let id = {
        let server = Server::simulated(from.path());
        let id = server.capture(&spec(300));
        server.ended(&id);
        stdout_of(["export", &id, "--format", "bathy", "-o", file, "--data", path(&from)]);
        id
    };
    let server = Server::simulated(to.path());
    let reader = until("the process that reads files", || {
        let mut children = proc::children(server.child("console")).into_iter();
        children.find(|pid| proc::command_line(*pid).get(1).is_some_and(|word| word == "reader"))
    });
    let status = proc::status(reader);
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(u64::from_str_radix(&status[set], 16), Ok(0), "{set}");
    }
    assert_eq!((status["NoNewPrivs"].as_str(), &status["Uid"]), ("1", &proc::status(server.child("console"))["Uid"]));
    let broken = files.path().join("broken.bathy");
    let whole = fs::read(file).unwrap();
    fs::write(&broken, &whole[..whole.len() / 2]).unwrap();
    let refused = run(["captures", "import", broken.to_str().unwrap(), "--data", path(&to)]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("Nothing was stored."), "{said}");
    assert_eq!(server.get("/api/captures")["total"], 0);
    assert_eq!(json_of(["captures", "import", file, "--json", "--data", path(&to)])["id"], id.as_str());
    let capture = server.get(&format!("/api/captures/{id}"));
    assert_eq!((capture["owner"].as_str(), capture["state"].as_str()), (Some("terminal"), Some("finished")));
    assert!(stored_rows(&server, &id) > 0);
    let audit = server.send("GET", "/api/audit", None).text();
    assert!(audit.contains("capture.import") && audit.contains("taken along.bathy"), "{audit}");
    drop(server);
    until("the reader ends with the console", || (!proc::is_alive(reader)).then_some(()));
}

/// The flags of `.cargo/config.toml`, which make the binary smaller, take nothing of what hardens it.
#[test]
fn the_binary_lies_anywhere_and_its_tables_are_read_only() {
    let bytes = fs::read(binary()).expect("the binary");
    let file = ElfFile64::<LittleEndian>::parse(&*bytes).expect("an ELF file");
    assert_eq!(file.elf_header().e_type(LittleEndian), elf::ET_DYN);
    let segments = file.elf_program_headers();
    assert!(segments.iter().any(|segment| segment.p_type(LittleEndian) == elf::PT_GNU_RELRO), "RELRO");
    let stack =
        segments.iter().find(|segment| segment.p_type(LittleEndian) == elf::PT_GNU_STACK).expect("of the stack");
    assert_eq!(stack.p_flags(LittleEndian) & elf::PF_X, 0, "an executable stack");
    let entries = segments.iter().find_map(|segment| segment.dynamic(LittleEndian, &*bytes).transpose());
    let entries = entries.expect("a dynamic section").expect("it can be read");
    let now = |entry: &&elf::Dyn64<LittleEndian>| {
        entry.d_tag(LittleEndian) == elf::DT_FLAGS_1 && entry.d_val(LittleEndian) & u64::from(elf::DF_1_NOW) != 0
    };
    assert!(entries.iter().any(|entry| now(&entry)), "all is bound at the start, so that no table is written later");
}

/// Somebody who takes messages at a port of this host, and answers each with 204.
fn receiver() -> (std::net::SocketAddr, std::sync::mpsc::Receiver<String>) {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (told, messages) = std::sync::mpsc::sync_channel(64);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut bytes = [0; 8192];
            let length = stream.read(&mut bytes).unwrap_or(0);
            let _gone = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
            if told.send(String::from_utf8_lossy(&bytes[..length]).into_owned()).is_err() {
                return;
            }
        }
    });
    (address, messages)
}

fn outbound_of(server: &Server) -> Option<u32> {
    let mut children = proc::children(server.supervisor()).into_iter();
    children.find(|&pid| proc::command_line(pid).get(1).is_some_and(|word| word == "outbound"))
}

#[test]
fn h26_one_process_connects_to_listed_hosts_and_without_any_there_is_none() {
    let folder = data();
    let server = Server::simulated(folder.path());
    assert_eq!(outbound_of(&server), None, "nobody is listed");
    drop(server);
    let (address, messages) = receiver();
    let (folder, host) = (data(), address.to_string());
    let server = Server::start(folder.path(), &["--simulate", "--outbound-private", &host]);
    let outbound = server.child("outbound");
    let status = proc::status(outbound);
    proc::assert_no_rights(&status);
    assert_eq!(status["Seccomp"], "2");
    assert!(!listens(outbound));
    let made =
        server.send("POST", "/api/webhooks", Some(&json!({"name": "chat", "url": format!("http://{host}/hook")})));
    assert_eq!(made.status, 201, "{}", made.text());
    let test = || server.send("POST", "/api/webhooks/chat/test", None).json();
    let sent = test();
    assert_eq!(sent["state"], "delivered", "{sent}\n{}", server.log());
    assert!(messages.recv().unwrap().starts_with("POST /hook HTTP/1.1\r\n"));
    // At the terminal too.
    let listed = json_of(["webhooks", "list", "--json", "--data", path(&folder)]);
    assert_eq!((&listed["items"][0]["name"], &listed["items"][0]["delivered"]), (&json!("chat"), &json!(1)));
    let text = stdout_of(["webhooks", "test", "chat", "--data", path(&folder)]);
    assert!(text.contains("test  delivered  1 attempt  status 204"), "{text}");
    // One that dies is started again, and the console goes on with it.
    signal(outbound, Signal::KILL);
    let next = until("another process that connects", || outbound_of(&server).filter(|pid| *pid != outbound));
    assert_eq!(test()["state"], "delivered", "{}", server.log());
    assert!(server.log().contains("the process that connects to others has ended; another one is started"));
    drop(server);
    until("its end", || (!proc::is_alive(next)).then_some(()));
}
