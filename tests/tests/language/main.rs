//! The language's answers, case by case, against those that bpftrace 0.27 gave: `tests/language/cases` has the scripts,
//! `tests/language/recorded` what the reference printed. Where ours are others, the case says why, and
//! `docs/language-differences.md` names it.
//!
//! With `BATHYSCOPE_TESTS_LONG=1` the reference runs too (`tests/language/reference` fetches it), and what is recorded must be
//! what it says now. With `BATHYSCOPE_BLESS=1` it is recorded anew; `BATHYSCOPE_CASES=WORD` takes only cases whose name has
//! that word.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

mod answer;
mod case;
mod ends;
mod tools;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use answer::{Answer, Who};
use bathyscope_tests::{
    alone,
    programs::program,
    skip,
    workspace::{root, sources},
};
use case::Case;

/// Cases that run at once: they wait for the kernel most of the time.
const AT_ONCE: usize = 4;

fn folder(name: &str) -> PathBuf {
    root().join("tests/language").join(name)
}

/// The files with cases, by name.
fn areas() -> Vec<(String, Vec<Case>)> {
    let files = sources("tests/language/cases", &[".txt"]);
    let wanted = std::env::var("BATHYSCOPE_CASES").unwrap_or_default();
    let named = |path: &str| path.rsplit('/').next().unwrap_or(path).trim_end_matches(".txt").to_owned();
    let cases = |text: &str| Case::read(text).into_iter().filter(|case| case.name.contains(&wanted)).collect();
    files.iter().map(|file| (named(&file.path), cases(&file.text))).collect()
}

fn recorded(area: &str) -> BTreeMap<String, Answer> {
    // A new file has no record yet.
    let text = fs::read_to_string(folder("recorded").join(area).with_extension("txt")).unwrap_or_default();
    Answer::read_all(&text)
}

/// Does something for each of `items`, a few at once; the results in their order.
fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _worker in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((index, item)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|index| Some((index, items.get(index)?)))
                {
                    let result = work(item);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[test]
fn answers_are_those_of_the_reference() {
    let Some(_alone) = alone("the language's answers beside those of bpftrace") else { return };
    let (mut all, mut wrong) = (0, Vec::new());
    let has_program = program("work").is_some();
    if !has_program {
        skip("the language's answers about a program", "gcc");
    }
    for (area, mut cases) in areas() {
        cases.retain(|case| has_program || !case.needs_program());
        let recorded = recorded(&area);
        all += cases.len();
        let found = each(&cases, |case| {
            let Some(theirs) = recorded.get(&case.name) else { return Some("is not recorded".to_owned()) };
            let wanted = case.ours.as_ref().unwrap_or(theirs);
            let ours = Answer::of(case, Who::Ours);
            (!ours.equals(wanted, case)).then(|| wanted.against(&ours))
        });
        let told = cases.iter().zip(found).filter_map(|(case, wrong)| Some((case, wrong?)));
        wrong.extend(told.map(|(case, wrong)| format!("{area}/{}: {}\n{wrong}", case.name, case.shown())));
    }
    assert!(wrong.is_empty(), "{} of {all} cases are wrong:\n\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_reference_says_what_is_recorded() {
    const WHAT: &str = "the reference of the language beside what is recorded of it";
    let bless = std::env::var_os("BATHYSCOPE_BLESS").is_some();
    if !bless && std::env::var_os("BATHYSCOPE_TESTS_LONG").is_none_or(|tier| tier != "1") {
        return;
    }
    let Some(_alone) = alone(WHAT) else { return };
    if !answer::has_reference() {
        skip(WHAT, "bpftrace 0.27 of Debian's unstable distribution");
        return;
    }
    // Without a wish, only what is not recorded yet is blessed.
    let anew = ["BATHYSCOPE_TESTS_LONG", "BATHYSCOPE_CASES"].iter().any(|name| std::env::var_os(name).is_some());
    let mut wrong = Vec::new();
    for (area, cases) in areas() {
        let mut known = recorded(&area);
        let new: Vec<&Case> = cases.iter().filter(|case| anew || !known.contains_key(&case.name)).collect();
        let answers = each(&new, |case| Answer::of(case, Who::Reference));
        for (case, answer) in new.into_iter().zip(answers) {
            match known.get(&case.name) {
                _ if bless => {
                    known.insert(case.name.clone(), answer);
                }
                Some(before) if before.equals(&answer, case) => {}
                Some(before) => wrong.push(format!("{area}/{}\n{}", case.name, before.against(&answer))),
                None => wrong.push(format!("{area}/{} is not recorded", case.name)),
            }
        }
        if bless {
            let text: String = case::all_of(&area)
                .iter()
                .filter_map(|case| Some(known.get(&case.name)?.written(&case.name)))
                .collect();
            fs::write(folder("recorded").join(&area).with_extension("txt"), text).expect("the record can be written");
        }
    }
    assert!(wrong.is_empty(), "recorded is not what the reference says now:\n{}", wrong.join("\n"));
}

#[test]
fn every_difference_is_explained() {
    let told = fs::read_to_string(root().join("docs/language-differences.md")).expect("the page is there");
    let mut names = BTreeSet::new();
    for (area, cases) in areas() {
        for case in cases {
            let name = format!("{area}/{}", case.name);
            assert!(names.insert(name.clone()), "two cases are called {name}");
            let named = told.contains(&format!("`{name}`"));
            assert_eq!(
                named,
                case.ours.is_some(),
                "{name}: a case with an answer of our own is named in docs/language-differences.md, and no other"
            );
        }
    }
}

/// Of so many cases that are our own at least 98 of 100 must have the reference's answer.
#[test]
fn nearly_all_answers_are_the_reference_s() {
    const LEAST_CASES: usize = 400;
    let (mut all, mut different) = (0, Vec::new());
    for area in sources("tests/language/cases", &[".txt"]) {
        let cases = Case::read(&area.text);
        all += cases.len();
        different.extend(cases.into_iter().filter(|case| case.ours.is_some()).map(|case| case.name));
    }
    assert!(all >= LEAST_CASES, "there are {all} cases");
    assert!(different.len() * 50 <= all, "{} of {all} cases have another answer: {different:?}", different.len());
}
