//! Accounts and tokens at a terminal, with a console on the same directory and without: the same words, and it counts at once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod serving;

use std::{
    path::Path,
    process::{Command, Output, Stdio},
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
    assert!(done(&bathyscope(data, &["people", "list"])).contains("bathyscope people add NAME"));
    assert_eq!(json(data, &["people", "list"]), serde_json::json!([]));
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
