//! Tables of scripts in `tests/cases`: each has its translation, or its refusal, beside it.

use std::{collections::BTreeSet, env, fmt::Write as _, fs, path::PathBuf};

use bathyscope_bpf::lang::{
    CompileOptions, ExpandOptions, compile, expand, parse, recorded::RecordedHost, user_points,
};
use bathyscope_plan::{Diagnostic, UsdtArgument, UsdtPlace, UserFile, UserPlace, UserPlaces};
use bathyscope_translate::{Language, ScriptTarget, TranslateOptions, Translation, translate};

/// A case of a table.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) language: Language,
    pub(crate) options: TranslateOptions,
    pub(crate) text: String,
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

fn options(words: &str, language: &mut Language) -> TranslateOptions {
    let mut options = TranslateOptions::default();
    let mut words = words.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "dtrace" => *language = Language::DTrace,
            "stap" => *language = Language::SystemTap,
            "-p" => options.target = ScriptTarget::Process(words.next().unwrap().parse().unwrap()),
            "-c" => options.target = ScriptTarget::Command(words.next().unwrap().to_owned()),
            other => options.parameters.push(other.trim_matches('"').to_owned()),
        }
    }
    options
}

/// The text before the first case, and the cases.
pub(crate) fn table(file: &str) -> (String, Vec<Case>) {
    let text = fs::read_to_string(directory().join(file)).unwrap();
    let (head, rest) = text.split_once("\n=== ").unwrap();
    let case = |part: &str| {
        let (title, body) = part.split_once('\n').unwrap();
        let mut language = if file.starts_with("dtrace") { Language::DTrace } else { Language::SystemTap };
        let options = title.split_once(" | ").map_or_else(Default::default, |(_, words)| options(words, &mut language));
        let script = body.split_once("\n---\n").map_or(body, |(script, _)| script);
        Case { name: title.trim().to_owned(), language, options, text: script.trim_end().to_owned() }
    };
    (format!("{head}\n"), rest.split("\n=== ").map(case).collect())
}

fn said(text: &str, it: &Diagnostic, word: &str) -> String {
    let about = text.get(it.start as usize..it.end as usize).expect("a place within the text");
    let hint = if it.hint.is_empty() { String::new() } else { format!("; {}", it.hint) };
    format!("{word} at `{about}`: {}{hint}\n", it.message)
}

/// A translation without the original, with its notes.
fn shown(case: &Case, result: &Result<Translation, Box<Diagnostic>>) -> String {
    let mut shown = String::new();
    match result {
        Ok(translation) => {
            let lines = translation.script.lines().filter(|line| !line.starts_with("//"));
            for line in lines.skip_while(|line| line.is_empty()) {
                writeln!(shown, "{line}").unwrap();
            }
            for note in &translation.notes {
                shown.push_str(&said(&case.text, note, "note"));
            }
        }
        Err(refusal) => {
            assert!(!refusal.hint.is_empty(), "{}: a refusal names the nearest that works", case.name);
            shown.push_str(&said(&case.text, refusal, "refused"));
        }
    }
    shown
}

/// What the compiler says of a script on a kernel that has every place in user space.
fn compiled(script: &str) -> Result<(), String> {
    let mut host = RecordedHost::new("6.18").unwrap();
    let told = |said: Vec<Diagnostic>| {
        said.iter()
            .map(|it| {
                format!(
                    "{} at `{}`: {}",
                    it.message,
                    script.get(it.start as usize..it.end as usize).unwrap_or("?"),
                    it.hint
                )
            })
            .collect::<Vec<_>>()
            .join("\n")
    };
    let expanded = expand(&parse(script).map_err(told)?, &ExpandOptions::default()).map_err(told)?;
    for point in user_points(&expanded.script) {
        let argument = |index| UsdtArgument { bytes: 8, signed: true, place: UsdtPlace::Constant(index) };
        let place = UserPlace {
            file: UserFile { path: "/lib/made".to_owned(), in_process: None, device: 1, inode: 2 },
            offset: 0x1000,
            address: 0x1000,
            symbol: "made".to_owned(),
            provider: "maker".to_owned(),
            semaphore: 0,
            arguments: (0..3).map(argument).collect(),
        };
        let places = UserPlaces { point: point.text.clone(), places: vec![place], ..UserPlaces::default() };
        host.places.insert(point.text.clone(), places);
    }
    // What the host tells: `malloc` is no function of Linux, and ext4 is no module of the recorded kernel.
    let script = script.replace("kprobe:malloc", "kprobe:vfs_read").replace("kprobe:ext4:", "kprobe:");
    compile(&script, &host, &CompileOptions::default()).map(|_compiled| ()).map_err(told)
}

/// Translates a table, compiles what comes of it, and compares it; returns how many scripts it has.
fn check(file: &str, refused: bool) -> usize {
    let (mut found, cases) = table(file);
    let mut wrong = Vec::new();
    for case in &cases {
        let result = translate(case.language, &case.text, &case.options);
        write!(found, "=== {}\n{}\n---\n{}\n", case.name, case.text, shown(case, &result)).unwrap();
        match &result {
            Err(refusal) if !refused => wrong.push(format!("{}: {}", case.name, refusal.message)),
            Ok(_) if refused => wrong.push(format!("{} is translated", case.name)),
            Ok(translation) => {
                assert!(translation.script.contains(case.text.lines().next().unwrap().trim()), "the original is there");
                if let Err(said) = compiled(&translation.script) {
                    wrong.push(format!("{}: {said}\n{}", case.name, translation.script));
                }
            }
            Err(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), cases.len(), "names are their own");
    let path = directory().join(file);
    let found = format!("{}\n", found.trim_end());
    if env::var_os("BATHYSCOPE_BLESS").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    for (number, (expected, found)) in expected.lines().zip(found.lines()).enumerate() {
        assert_eq!(expected, found, "{file}:{}; BATHYSCOPE_BLESS=1 writes it anew", number + 1);
    }
    assert_eq!(expected, found);
    cases.len()
}

#[test]
fn scripts_of_dtrace_are_translated_and_compile() {
    let count = check("dtrace-one-liners.txt", false) + check("dtrace-scripts.txt", false);
    assert!(count >= 50, "{count} scripts");
}

#[test]
fn scripts_of_systemtap_are_translated_and_compile() {
    let count = check("systemtap.txt", false);
    assert!(count >= 30, "{count} scripts");
}

#[test]
fn what_has_no_equal_is_refused_at_its_place() {
    let count = check("refused.txt", true);
    assert!(count >= 20, "{count} scripts");
}
