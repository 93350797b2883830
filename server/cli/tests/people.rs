//! Accounts and tokens at a terminal, with a console on the same directory and without: the same words, and it counts at once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod serving;

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use serving::{Serving, done, refused};

fn bathyscope(data: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
    command.args(words).arg("--data").arg(data).stdin(Stdio::null()).output().unwrap()
}

fn json(data: &Path, words: &[&str]) -> serde_json::Value {
    serde_json::from_str(&done(&bathyscope(data, &[words, &["--json"]].concat()))).unwrap()
}

fn manage(data: &Path, has_console: bool) {
    if has_console {
        assert!(done(&bathyscope(data, &["people", "list"])).contains("bathyscope people add NAME"));
        assert_eq!(json(data, &["people", "list"]), serde_json::json!([]));
    } else {
        assert!(refused(&bathyscope(data, &["people", "list"])).contains("there is no database in "));
    }
    let made = json(data, &["people", "add", "alice", "--role", "operator"]);
    assert_eq!((&made["person"]["name"], &made["person"]["role"]), (&"alice".into(), &"operator".into()));
    let path = made["link"]["path"].as_str().unwrap();
    assert!(path.starts_with("/password#name=alice&token="), "{path}");
    let url = made["link"]["url"].as_str();
    assert_eq!(url.is_some_and(|url| url.starts_with("http://127.0.0.1:") && url.ends_with(path)), has_console);
    let told = done(&bathyscope(data, &["people", "add", "bob"]));
    assert!(told.contains("viewer") && told.contains("/password#name=bob&token="), "{told}");
    assert!(told.contains("does not run now") != has_console, "{told}");
    for (words, says) in [
        (vec!["people", "add", "ALICE"], "there is an account `ALICE` already"),
        (vec!["people", "add", "../"], "a name is 1 to 64 letters"),
        (vec!["people", "add", "admin"], "are of nobody"),
        (vec!["people", "role", "carol", "admin"], "there is no account carol"),
        (vec!["people", "remove", "carol"], "there is no account carol"),
        (vec!["tokens", "list", "--user", "carol"], "there is no account carol"),
        (vec!["tokens", "make", "--user", "carol", "--name", "x"], "there is no account carol"),
        (
            vec!["tokens", "make", "--user", "bob", "--name", "x", "--role", "admin"],
            "bob is viewer, so it cannot be admin",
        ),
        (vec!["tokens", "revoke", "0011223344556677"], "there is no token 0011223344556677"),
    ] {
        let error = refused(&bathyscope(data, &words));
        assert!(error.contains(says), "{words:?}: {error}");
    }
    assert!(done(&bathyscope(data, &["people", "role", "alice", "admin"])).contains("alice  admin"));
    let token =
        json(data, &["tokens", "make", "--user", "Alice", "--name", "nightly", "--role", "viewer", "--days", "30"]);
    let text = token["token"].as_str().unwrap();
    assert!(text.starts_with("bathyscope_") && text.len() == 75, "{text}");
    let printed = done(&bathyscope(data, &["tokens", "make", "--user", "bob", "--name", "x"]));
    assert!(printed.starts_with("bathyscope_") && printed.len() == 76, "{printed}");
    let listed = json(data, &["tokens", "list", "--user", "alice"]);
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!((&listed[0]["id"], &listed[0]["name"]), (&token["item"]["id"], &"nightly".into()));
    assert!(!listed.to_string().contains(text));
    assert_eq!(done(&bathyscope(data, &["tokens", "list"])).lines().count(), 2);
    assert!(done(&bathyscope(data, &["people", "disable", "alice"])).contains("disabled for"));
    assert!(done(&bathyscope(data, &["tokens", "list"])).contains("of no use while the account is disabled"));
    let error = refused(&bathyscope(data, &["people", "reset", "alice"]));
    assert!(error.contains("is disabled: enable it first"), "{error}");
    assert!(done(&bathyscope(data, &["people", "enable", "alice"])).contains("no password yet"));
    assert!(json(data, &["people", "reset", "alice"])["link"]["path"].is_string());
    let id = token["item"]["id"].as_str().unwrap();
    assert!(done(&bathyscope(data, &["tokens", "revoke", id])).contains("nightly of alice  revoked"));
    assert_eq!(json(data, &["people", "remove", "alice"]), serde_json::json!({ "removed": "alice" }));
    let left = json(data, &["people", "list"]);
    assert_eq!((left.as_array().unwrap().len(), &left[0]["name"], &left[0]["tokens"]), (1, &"bob".into(), &1.into()));
}

#[test]
fn accounts_are_managed_at_a_terminal() {
    let data = tempfile::tempdir().unwrap();
    manage(data.path(), false);
    let log = done(&bathyscope(data.path(), &["people", "list", "--json"]));
    assert!(log.contains("bob"), "what was done stays");
}

#[test]
fn accounts_are_managed_by_the_console_that_runs() {
    let data = tempfile::tempdir().unwrap();
    let _serving = Serving::start(data.path());
    manage(data.path(), true);
}

fn give(data: &Path) {
    let rights = |words: &[&str]| bathyscope(data, &[&["rights"], words].concat());
    let id = json(data, &["captures", "list"])["items"][0]["id"].as_str().unwrap().to_owned();
    for (words, says) in [
        (vec!["show", "newest"], "everybody reads, as roles say"),
        (vec!["groups"], "There is no group. `bathyscope rights group NAME --add PERSON` makes one."),
        (vec!["tags"], "No tag says who may read what has it."),
        (vec!["group", "ops", "--add", "ada", "--add", "bob"], "Group ops: ada, bob."),
        (vec!["group", "OPS", "--add", "Ada", "--remove", "BOB"], "Group OPS: ada."),
        (vec!["groups"], "ops  ada"),
        (
            vec!["set", "newest", "--read", "bob", "--read", "eve", "--change", "group:ops", "--change", "eve"],
            "read: bob; change: ",
        ),
        (vec!["show", &id], "read: bob; change: eve, group:ops"),
        (vec!["set-tag", "payroll"], "Captures with the tag payroll: only the owner and admins."),
        (vec!["tags"], "payroll  only the owner and admins"),
        (vec!["clear-tag", "payroll"], "everybody reads, as roles say"),
        (vec!["remove-group", "ops"], "Removed group ops, and what was given to it."),
        (vec!["show", &id], "read: bob; change: eve\n"),
        (vec!["clear", "newest"], "everybody reads, as roles say"),
    ] {
        let told = done(&rights(&words));
        assert!(told.contains(says), "{words:?}: {told}");
    }
    for (words, says) in [
        (vec!["remove-group", "ops"], "there is no group `ops`; `bathyscope rights groups` lists them"),
        (vec!["group", "ops", "--remove", "ada"], "there is no group `ops`"),
        (vec!["set", "newest", "--read", "group:ops"], "there is no group `ops`"),
        (vec!["set", "newest", "--read", ""], "is no name of a person or group"),
        (vec!["show", "00000000000000ee"], "00000000000000ee"),
    ] {
        let error = refused(&rights(&words));
        assert!(error.contains(says), "{words:?}: {error}");
    }
    let list = json(data, &["rights", "set", &id, "--read", "everybody"]);
    assert!(list["done"].as_str().unwrap().ends_with(": read: everybody."), "{list}");
    let list = json(data, &["rights", "show", &id]);
    assert_eq!(list, serde_json::json!({ "list": [{ "to": "everybody", "may": "read" }] }));
}

#[test]
fn rights_are_given_at_a_terminal_with_a_console_and_without() {
    let data = tempfile::tempdir().unwrap();
    let words = ["profile", "--simulate=rate=3000", "--duration", "300ms", "--save", "one"];
    done(&bathyscope(data.path(), &words));
    give(data.path());
    let _serving = Serving::start(data.path());
    done(&bathyscope(data.path(), &["rights", "clear", "newest"]));
    give(data.path());
}

const PROXY: [&str; 5] = ["--behind-proxy", "--allow-host", "trace.example", "--proxy-user-header", "X-Forwarded-User"];

/// A console that a test ends.
struct Console(Child);

impl Drop for Console {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        let _gone = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ended = self.0.wait();
    }
}

/// The first line that a program is answered which asks with these headers.
fn asked(port: u16, headers: &[(&str, &str)]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    write!(stream, "GET /api/own HTTP/1.1\r\nhost: trace.example\r\nconnection: close\r\n{headers}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_proxy_on_this_host_is_believed_with_its_secret_and_the_account_decides() {
    let data = tempfile::tempdir().unwrap();
    let secrets = tempfile::tempdir().unwrap();
    let secret = secrets.path().join("secret");
    std::fs::write(&secret, "0123456789abcdef0123456789abcdef\n").unwrap();
    let short = secrets.path().join("short");
    std::fs::write(&short, "0123456789abcdef0123456789abcde").unwrap();
    let serve = |words: &[&str]| {
        bathyscope(data.path(), &[&["serve", "--simulate", "--listen", "127.0.0.1:0"], words].concat())
    };
    let from = ["--proxy-from", "127.0.0.1"];
    for (words, says) in [
        ([&PROXY[..], &from].concat(), "every user of this host can send the header x-forwarded-user"),
        ([&PROXY[1..], &from].concat(), "--behind-proxy"),
        (PROXY.to_vec(), "--proxy-from"),
        ([&PROXY[..], &from, &["--proxy-secret", short.to_str().unwrap()]].concat(), "32 random letters and digits"),
        ([&PROXY[..], &from, &["--proxy-group-role", "ops=operator"]].concat(), "--proxy-group-header"),
        ([&PROXY[..], &["--proxy-from", "proxy.example"]].concat(), "it is an address such as 10.0.0.2"),
    ] {
        let error = refused(&serve(&words));
        assert!(error.contains(says), "{words:?}: {error}");
    }
    done(&bathyscope(data.path(), &["people", "add", "alice", "--role", "admin"]));
    // Free a moment ago: behind a proxy the line that is printed does not tell the port.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
    command
        .args(["serve", "--simulate", "--log", "error", "--listen", &format!("127.0.0.1:{port}")])
        .args(PROXY)
        .args(from);
    command.arg("--proxy-secret").arg(&secret).args([
        "--proxy-group-header",
        "X-Groups",
        "--proxy-group-role",
        "ops=operator",
    ]);
    let mut console =
        Console(command.arg("--data").arg(data.path()).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(console.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("Bathyscope is ready: https://trace.example/login#token="), "{line}");
    let own = ("bathyscope-proxy-secret", "0123456789abcdef0123456789abcdef");
    for (headers, expected) in [
        (vec![("x-forwarded-user", "alice"), own], "HTTP/1.1 200 OK"),
        (vec![("x-forwarded-user", "bob"), ("x-groups", "dev,ops"), own], "HTTP/1.1 200 OK"),
        (vec![("x-forwarded-user", "bob"), own], "HTTP/1.1 403 Forbidden"),
        (vec![("x-forwarded-user", "alice")], "HTTP/1.1 403 Forbidden"),
        (vec![own], "HTTP/1.1 401 Unauthorized"),
    ] {
        assert_eq!(asked(port, &headers), expected, "{headers:?}");
    }
}
