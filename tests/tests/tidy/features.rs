//! What the tests bring with them must not be what the binary needs: everything is built at once for the tests, with the
//! features that any of it asks for, while the binary by itself is built with its own.

use std::{collections::BTreeSet, process::Command};

use bathyscope_tests::workspace::root;

use crate::{before_tests, none, rust, shipped};

/// Features that crates of the binary have only where the tests are built too. Of others, what they are for is in their
/// manifest; what `tempfile` and `getrandom` have are sources of random numbers that the tests ask for, `indexmap` and `syn` have what
/// the document of the API is made with, which the binary has ready.
const BROUGHT: [&str; 7] = [
    "bathyscope-bpf recorded",
    "bathyscope-catalog recorded",
    "bathyscope-store testing",
    "getrandom std",
    "indexmap serde",
    "tempfile default",
    "tempfile getrandom",
];
/// What crates have by these features, as it is called: modules of two, a function of the store.
const GATED: [&str; 2] = ["recorded::", ".fingerprint()"];
/// Ends of paths that the binary is not built from, or only with the feature.
const NOT_PRODUCT: [&str; 3] = ["/tests.rs", "/recorded.rs", "/examples/record_types.rs"];

/// A line `PACKAGE FEATURE` for each feature that cargo chooses for what `arguments` select.
fn features(arguments: &[&str]) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--locked", "--prefix", "none", "--no-dedupe", "--format", "{p}|{f}"]).args(arguments);
    let output = cargo.current_dir(root()).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("cargo prints text");
    let of_line = |line: &str| {
        let (package, features) = line.split_once('|')?;
        let package = package.split(" (").next()?.to_owned();
        Some(features.split(',').map(|feature| format!("{package} {feature}")).collect::<Vec<_>>())
    };
    text.lines().filter_map(of_line).flatten().collect()
}

#[test]
fn the_binary_has_no_feature_only_by_the_tests() {
    let alone = features(&["--package", "bathyscope", "--edges", "normal,build"]);
    let together = features(&["--workspace", "--edges", "normal,build,dev"]);
    let packages: BTreeSet<_> =
        alone.iter().filter_map(|line| line.rsplit_once(' ')).map(|(package, _)| package).collect();
    assert!(packages.len() > 100, "what the binary is built from can be read: {packages:?}");
    let is_in_binary = |line: &&String| line.rsplit_once(' ').is_some_and(|(package, _)| packages.contains(package));
    let without_version = |line: &String| {
        let words: Vec<_> = line.split(' ').collect();
        format!("{} {}", words[0], words[words.len() - 1])
    };
    let brought: BTreeSet<_> = together.difference(&alone).filter(is_in_binary).map(without_version).collect();
    assert_eq!(brought, BROUGHT.iter().map(ToString::to_string).collect(), "see that the binary builds without them");
}

#[test]
fn what_only_tests_have_is_called_by_tests_only() {
    let sources = rust();
    let product =
        sources.iter().filter(|source| shipped(source) && !NOT_PRODUCT.iter().any(|end| source.path.ends_with(end)));
    let called = product.flat_map(|source| {
        let lines = before_tests(source).filter(|(_, line)| GATED.iter().any(|name| line.contains(name)));
        lines.map(|(number, line)| format!("{}:{number}: {line}", source.path)).collect::<Vec<_>>()
    });
    none("what is built for the tests only", called);
}
