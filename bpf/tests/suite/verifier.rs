//! What the verifier of another kernel says of objects that were compiled outside of it (see [`crate::hand::load`]).
#![allow(clippy::print_stdout, reason = "what was done must be seen")]

use std::{env, fs, path::PathBuf};

use crate::hand::load;

#[test]
#[ignore = "the kernel lab runs it, with objects that were kept for its kernel"]
fn it_takes_every_object_that_was_kept() {
    let folder = PathBuf::from(env::var_os("BATHYSCOPE_OBJECTS").expect("the folder in which objects were kept"));
    let paths = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut objects: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|it| it == "o")).collect();
    objects.sort();
    assert!(objects.len() > 100, "{} has only {} objects", folder.display(), objects.len());
    let mut refused = Vec::new();
    let mut programs = 0;
    for path in &objects {
        let lines = fs::read_to_string(path.with_extension("programs")).unwrap();
        let listed: Vec<(&str, &str)> = lines.lines().map(|line| line.split_once('\t').unwrap()).collect();
        programs += listed.len();
        if let Err((name, log)) = load::load_object(&fs::read(path).unwrap(), &listed) {
            refused.push(format!("=== {} {name}:\n{log}", path.display()));
        }
    }
    println!("{programs} programs of {} objects", objects.len());
    assert!(refused.is_empty(), "{} refused:\n{}", refused.len(), refused.join("\n"));
}
