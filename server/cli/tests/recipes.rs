//! Recipes of one's own as a person saves, lists and deletes them, with a console on the same directory and without.
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

/// Saves, lists, replaces, uses and deletes.
fn save_use_and_delete(data: &Path) {
    let by_hand = ["record", "--syscalls=%file", "--states", "--optional", "states", "--duration", "5s"];
    let save = |words: &[&str]| bathyscope(data, &[&by_hand[..], words].concat());
    let told = save(&["--name", "Which files?", "--save", "files"]);
    assert_eq!(done(&told), "");
    assert!(String::from_utf8_lossy(&told.stderr).contains("`bathyscope record --recipe files`"), "{told:?}");
    let list = done(&bathyscope(data, &["recipes"]));
    let (of_program, own) = list.split_once("\nSaved here:\n").unwrap();
    assert!(of_program.contains("Why is the disk slow?") && own.starts_with("files "), "{list}");
    assert!(own.contains("Which files?  (by terminal)"), "{list}");
    let shown = done(&bathyscope(data, &["recipes", "files"]));
    assert!(shown.contains("\n  states: ") && shown.contains("if that is possible"), "{shown}");
    let json: serde_json::Value = serde_json::from_str(&done(&bathyscope(data, &["recipes", "--json"]))).unwrap();
    let own = json.as_array().unwrap().last().unwrap();
    assert_eq!(
        (&own["name"], &own["owner"], &own["limits"]["duration_ms"]),
        (&"files".into(), &"terminal".into(), &5000.into())
    );
    assert!(json[0].get("owner").is_none(), "{}", json[0]);

    completed(data);
    let error = refused(&save(&["--save", "files"]));
    assert!(error.contains("there is a recipe `files` already, saved by terminal"), "{error}");
    done(&save(&["--name", "Still?", "--save", "files", "--replace"]));
    // One recipe from another.
    let words = ["record", "--recipe", "files", "--optional", "syscalls", "--save", "more-files"];
    done(&bathyscope(data, &words));
    let json: serde_json::Value =
        serde_json::from_str(&done(&bathyscope(data, &["recipes", "more-files", "--json"]))).unwrap();
    assert_eq!((&json["question"], &json["sources"][0]["required"]), (&"Still?".into(), &false.into()), "{json}");
    let error = refused(&bathyscope(data, &["record", "--recipe", "file", "--save", "x"]));
    assert!(error.contains("there is no recipe `file`") && error.contains("Did you mean `files`?"), "{error}");

    // Only one with a script needs an agent that runs scripts.
    let observes = |name: &str| done(&bathyscope(data, &["recipes", "--observes", name]));
    assert_eq!((observes("files"), observes("disk")), (String::new(), String::new()));
    done(&bathyscope(data, &["record", "--script", "BEGIN { exit() }", "--duration", "1s", "--save", "scripted"]));
    assert_eq!(observes("scripted"), "observes\n");
    done(&bathyscope(data, &["recipes", "--delete", "scripted"]));

    let delete = |name: &str| bathyscope(data, &["recipes", "--delete", name]);
    assert!(refused(&delete("file")).contains("nobody has saved a recipe `file`; did you mean `files`?"));
    assert!(refused(&delete("disk")).contains("comes with the program"));
    done(&delete("files"));
    done(&delete("more-files"));
    assert!(!done(&bathyscope(data, &["recipes"])).contains("Saved here"));
}

/// Bash completes names of recipes, `files` among them.
fn completed(data: &Path) {
    let names = done(&bathyscope(data, &["recipes", "--names"]));
    assert!(names.starts_with("process-time\n") && names.ends_with("\nfiles\n"), "{names}");
    let program = Path::new(env!("CARGO_BIN_EXE_bathyscope"));
    let cases: [(&[&str], &[&str]); 4] = [
        (&["record", "--recipe", "di"], &["disk"]),
        (&["record", "--recipe", "fi"], &["files"]),
        (&["recipes", "--delete", "fi"], &["files"]),
        (&["recipes", "fi"], &["files"]),
    ];
    for (words, expected) in cases {
        let last = words.len();
        let run = format!(
            "source <(bathyscope completions bash)\nCOMP_WORDS=(bathyscope {})\nCOMP_CWORD={last}\n\
             _bathyscope bathyscope \"${{COMP_WORDS[{last}]}}\" \"${{COMP_WORDS[{last}-1]}}\"\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.join(" ")
        );
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", &run]).env("BATHYSCOPE_DATA", data).stdin(Stdio::null());
        let path = std::env::var("PATH").unwrap_or_default();
        bash.env("PATH", format!("{}:{path}", program.parent().unwrap().display()));
        let output = bash.output().expect("bash");
        let found = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(found.lines().collect::<Vec<_>>(), expected, "{words:?}: {output:?}");
    }
}

#[test]
fn recipes_are_saved_and_deleted_without_a_console() {
    let data = tempfile::tempdir().unwrap();
    // Nothing is made by looking.
    let missing = data.path().join("missing");
    assert!(!done(&bathyscope(&missing, &["recipes"])).contains("Saved here") && !missing.exists());
    save_use_and_delete(data.path());
}

#[test]
fn recipes_are_saved_and_deleted_while_a_console_runs() {
    let data = tempfile::tempdir().unwrap();
    let serving = Serving::start(data.path());
    save_use_and_delete(data.path());
    drop(serving);
}
