//! What is built into the binary may be given on: P46 where cargo-deny is not installed. `deny.toml` has the list.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::{fs, process::Command};

use bathyscope_tests::workspace::root;
use serde_json::Value;

/// The quoted strings of the list called `allow` in deny.toml.
fn permitted() -> Vec<String> {
    let text = fs::read_to_string(root().join("deny.toml")).expect("deny.toml exists");
    let list = text.split_once("\nallow = [").and_then(|(_, rest)| rest.split_once(']')).expect("it has a list").0;
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

fn packages() -> Vec<Value> {
    let words = ["metadata", "--format-version=1", "--locked", "--filter-platform=x86_64-unknown-linux-gnu"];
    let output = Command::new(env!("CARGO")).args(words).current_dir(root()).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    metadata["packages"].as_array().expect("a list").clone()
}

/// Whether one may use a package under `expression` (SPDX, or the old form with slashes) with the licences `permitted`.
fn is_permitted(expression: &str, permitted: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let allowed = any_of(&mut words, permitted);
    allowed && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: &mut Words<'_>, permitted: &[String]) -> bool {
    let mut allowed = all_of(words, permitted);
    while words.next_if_eq(&"OR").is_some() {
        allowed |= all_of(words, permitted);
    }
    allowed
}

fn all_of(words: &mut Words<'_>, permitted: &[String]) -> bool {
    let mut allowed = one(words, permitted);
    while words.next_if_eq(&"AND").is_some() {
        allowed &= one(words, permitted);
    }
    allowed
}

fn one(words: &mut Words<'_>, permitted: &[String]) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let allowed = any_of(words, permitted);
        return words.next() == Some(")") && allowed;
    }
    let Some(mut licence) = words.next().map(str::to_owned) else { return false };
    if words.next_if_eq(&"WITH").is_some() {
        licence = format!("{licence} WITH {}", words.next().unwrap_or_default());
    }
    permitted.contains(&licence)
}

#[test]
fn expressions_are_read_as_spdx_says() {
    let permitted = ["MIT", "Apache-2.0 WITH LLVM-exception", "Zlib"].map(str::to_owned);
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR GPL-3.0) AND Zlib", true),
        ("MIT OR GPL-3.0 AND GPL-2.0", true),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("Apache-2.0", false),
        ("", false),
    ] {
        assert_eq!(is_permitted(expression, &permitted), expected, "{expression}");
    }
}

#[test]
fn p46_every_dependency_has_a_permitted_licence() {
    let permitted = permitted();
    let refused: Vec<_> = packages()
        .iter()
        .filter(|package| !is_permitted(package["license"].as_str().unwrap_or_default(), &permitted))
        .map(|package| format!("{} {}", package["name"], package["license"]))
        .collect();
    assert!(refused.is_empty(), "not permitted by deny.toml: {refused:#?}");
}

#[test]
fn p46_every_dependency_comes_from_the_registry_with_a_checksum() {
    let foreign: Vec<_> = packages()
        .iter()
        .filter(|package| package["source"].as_str().is_some_and(|source| !source.starts_with("registry+")))
        .map(|package| package["id"].to_string())
        .collect();
    assert!(foreign.is_empty(), "{foreign:#?}");
    let lock = fs::read_to_string(root().join("Cargo.lock")).expect("the lock file is part of the project");
    for package in lock.split("\n[[package]]\n").filter(|package| package.contains("\nsource = ")) {
        assert!(package.contains("\nchecksum = "), "no checksum: {package}");
    }
}

/// Tools of the tests that are under a licence which nothing in the binary may have, by name: they are run as they are, and
/// neither changed nor given on. axe-core looks for what keeps people out of pages; there is no permissive tool beside it.
const TOOLS_ALONE: [(&str, &str); 1] = [("node_modules/axe-core", "MPL-2.0")];

/// What the browser's tests and the formatter of the front end bring: tools of the tests only.
#[test]
fn p46_every_tool_of_the_browser_tests_has_a_permitted_licence_and_a_checksum() {
    let permitted = permitted();
    let text = fs::read_to_string(root().join("tests/browser/package-lock.json")).expect("the lock file is there");
    let lock: Value = serde_json::from_str(&text).expect("JSON");
    let tools: Vec<_> =
        lock["packages"].as_object().expect("packages").iter().filter(|(path, _)| !path.is_empty()).collect();
    assert!(!tools.is_empty(), "{lock}");
    for (path, _) in TOOLS_ALONE {
        assert!(tools.iter().any(|(tool, _)| *tool == path), "{path} is not used any more");
    }
    for (path, tool) in tools {
        assert_eq!(tool["dev"], true, "{path} is of the tests only");
        let licence = tool["license"].as_str().unwrap_or_default();
        let is_named = TOOLS_ALONE.contains(&(path.as_str(), licence));
        assert!(is_named || is_permitted(licence, &permitted), "{path}: {licence}");
        assert!(tool["integrity"].as_str().is_some_and(|sum| sum.starts_with("sha512-")), "{path} has no checksum");
    }
}
