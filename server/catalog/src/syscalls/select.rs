//! Which calls are meant by the words after `-e trace=`.

use std::collections::BTreeSet;

use regex_lite::{Regex, RegexBuilder};

use super::{
    Abi,
    table::{CallDefinition, definitions},
};
use crate::{closest, constants::Arch};

/// Sets by name with the letters of the table; a call with one of the letters is in the set.
const SETS: [(&str, &str); 15] = [
    ("file", "F"),
    ("desc", "D"),
    ("memory", "M"),
    ("network", "N"),
    ("net", "N"),
    ("process", "P"),
    ("signal", "S"),
    ("ipc", "I"),
    ("creds", "C"),
    ("clock", "K"),
    ("stat", "T"),
    ("lstat", "L"),
    ("fstat", "G"),
    ("statfs", "V"),
    ("pure", "U"),
];
/// Sets that hold others: `%%stat` and so on.
const WIDE: [(&str, &str); 3] = [("%stat", "TLG"), ("%statfs", "VW"), ("fstatfs", "W")];

/// A word that names neither a call nor a set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.words())]
pub struct SelectError {
    /// What was given, cut to 40 characters.
    pub word: String,
    /// What was probably meant, a call's or a set's name.
    pub near: Option<&'static str>,
    /// What is wrong with it, if that is not that there is none.
    pub why: Option<String>,
}

impl SelectError {
    fn words(&self) -> String {
        match (&self.why, self.near, self.word.starts_with('/')) {
            (Some(why), _, true) => format!("the regular expression `{}` cannot be read: {why}", self.word),
            (Some(why), _, false) => format!("`{}` names no system call: {why}", self.word),
            (None, _, true) => format!("no system call matches the regular expression `{}`", self.word),
            (None, Some(near), false) => {
                format!("there is no system call or set `{}`; did you mean `{near}`?", self.word)
            }
            (None, None, false) => format!("there is no system call or set `{}`", self.word),
        }
    }
}

fn in_set(call: &CallDefinition, letters: &str) -> bool {
    call.sets.chars().any(|letter| letters.contains(letter))
}

fn letters_of(word: &str) -> Option<&'static str> {
    let name = word.strip_prefix('%')?;
    WIDE.iter().chain(&SETS).find(|(known, _)| *known == name).map(|(_, letters)| *letters)
}

/// The numbers of the calls that a text means: names and sets (`%file`, or `file` as strace takes it without its sign)
/// separated by commas, `all`, `none`; with `!` in front all others. A word that begins with `?` may name nothing. A name
/// means the calls of that name of all interfaces that the processor has ([`super::Abi`]); with `@64`, `@32` or `@x32` behind it
/// only that one's. A word that begins with `/` is a regular expression, as `grep -E` takes it, that names have to match.
///
/// # Errors
/// The first word that names nothing.
pub fn select(arch: Arch, text: &str) -> Result<BTreeSet<i64>, SelectError> {
    let text = text.trim();
    let (others, words) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
    let mut chosen = BTreeSet::new();
    for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        add(arch, word, &mut chosen)?;
    }
    if others {
        return Ok(definitions(arch).map(|(number, _)| number).filter(|number| !chosen.contains(number)).collect());
    }
    Ok(chosen)
}

/// The longest regular expression, in bytes, and the most bytes that it may become: a hostile one takes no long time for
/// the names that there are.
const MAX_EXPRESSION_BYTES: usize = 256;
const MAX_COMPILED_BYTES: usize = 8 << 10;
const MAX_EXPRESSION_DEPTH: u32 = 16;

/// Reads a regular expression for names of calls; else what is wrong with it. Matching follows all ways at once, so its time
/// is at most the expression's size times the length of the names.
fn read_expression(text: &str) -> Result<Regex, String> {
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    if text.len() > MAX_EXPRESSION_BYTES {
        return Err(format!("it has {} bytes, and may have {MAX_EXPRESSION_BYTES}", text.len()));
    }
    let mut builder = RegexBuilder::new(text);
    builder.size_limit(MAX_COMPILED_BYTES).nest_limit(MAX_EXPRESSION_DEPTH);
    builder.build().map_err(|error| error.to_string())
}

fn add(arch: Arch, word: &str, chosen: &mut BTreeSet<i64>) -> Result<(), SelectError> {
    let (optional, word) = word.strip_prefix('?').map_or((false, word), |rest| (true, rest));
    if word == "all" {
        chosen.extend(definitions(arch).map(|(number, _)| number));
        return Ok(());
    }
    if word == "none" {
        return Ok(());
    }
    let wrong = |why: Option<&str>| SelectError {
        word: word.chars().take(40).collect(),
        near: None,
        why: why.map(str::to_owned),
    };
    if let Some(expression) = word.strip_prefix('/') {
        let expression = read_expression(expression).map_err(|why| wrong(Some(&why)))?;
        let before = chosen.len();
        chosen.extend(definitions(arch).filter(|(_, call)| expression.is_match(call.name)).map(|(number, _)| number));
        return if chosen.len() > before || optional { Ok(()) } else { Err(wrong(None)) };
    }
    if let Some((bare, interface)) = word.rsplit_once('@') {
        let abi = match interface {
            "64" => Abi::Native,
            "32" => Abi::I386,
            "x32" => Abi::X32,
            _ => return Err(wrong(Some("an interface is 64, 32 or x32"))),
        };
        let mut all = BTreeSet::new();
        add(arch, bare, &mut all)?;
        let own: Vec<i64> = all.into_iter().filter(|number| Abi::of(arch, *number) == abi).collect();
        if own.is_empty() && !optional {
            return Err(wrong(Some("that interface does not have it")));
        }
        chosen.extend(own);
        return Ok(());
    }
    let named: Vec<i64> = definitions(arch).filter(|(_, call)| call.name == word).map(|(number, _)| number).collect();
    // Sets without their sign are an old habit of strace; names of calls go before them.
    let bare = || SETS.iter().find(|(name, _)| *name == word && word != "stat").map(|(_, letters)| *letters);
    if !named.is_empty() {
        chosen.extend(named);
    } else if let Some(letters) = letters_of(word).or_else(bare) {
        chosen.extend(definitions(arch).filter(|(_, call)| in_set(call, letters)).map(|(number, _)| number));
    } else if !optional {
        let calls = definitions(arch).map(|(_, call)| call.name);
        let near = closest(word.trim_start_matches('%'), calls.chain(SETS.iter().map(|(name, _)| *name)));
        return Err(SelectError { near, ..wrong(None) });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;
    use crate::{constants::syscall_name, syscalls::Abi};

    fn names(text: &str) -> Vec<&'static str> {
        let chosen = select(Arch::X86_64, text).unwrap();
        chosen.into_iter().filter_map(|number| syscall_name(Arch::X86_64, number)).collect()
    }

    #[test]
    fn names_match_as_with_grep() {
        let cases = [
            ("^open", "openat", true),
            ("^open$", "openat", false),
            ("stat", "newfstatat", true),
            ("^(read|write)v?$", "writev", true),
            ("^(read|write)v?$", "preadv", false),
            ("^[a-c].*64$", "chown64", true),
            ("^[^a-c]", "accept", false),
            ("^[[:alpha:]]+$", "bpf", true),
            ("^[[:alpha:]]+$", "dup2", false),
            ("^..$", "bp", true),
            ("x*", "bpf", true),
            ("z+", "bpf", false),
            ("^(a|b*)*pf$", "bpf", true),
            ("^.{3}$", "bpf", true),
            ("p\\.f", "bpf", false),
            ("a||b", "zzz", true),
        ];
        for (expression, name, expected) in cases {
            assert_eq!(read_expression(expression).unwrap().is_match(name), expected, "{expression} {name}");
        }
        for wrong in ["", "(", "a(b", "[a", "*", "a\\", &"(".repeat(30), &"a".repeat(300)] {
            assert!(read_expression(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_hostile_expression_takes_no_long_time_and_no_much_memory() {
        let began = Instant::now();
        for hostile in ["(((.{90}){90}){90}){90}", "(a{0,999}){0,999}"] {
            assert!(read_expression(hostile).unwrap_err().contains("size"), "{hostile}");
        }
        for hostile in ["((((a*)*)*)*)*$", "(.*)*(.*)*(.*)*(.*)*x{9}$", "(a|aa|.)*(b|.|bb)*(.?){9}[^a-z]$"] {
            assert!(select(Arch::X86_64, &format!("?/{hostile}")).is_ok(), "{hostile}");
        }
        // A tenth of it where it is optimised.
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }

    proptest! {
        #[test]
        fn any_expression_is_read_or_refused(text in "[a-c()|*+?.^$\\[\\]{}0-9,-]{0,40}", name in "[a-c]{0,80}") {
            if let Ok(expression) = read_expression(&text) {
                expression.is_match(&name);
            }
        }
    }

    #[test]
    fn a_name_means_calls_of_64_and_of_32_bit_programs() {
        let chosen = |text: &str| select(Arch::X86_64, text).unwrap().into_iter().collect::<Vec<_>>();
        let i386 = |number: i64| Abi::I386_BIT | number;
        assert_eq!(chosen("open"), [2, i386(5)]);
        assert_eq!(chosen("socket"), [41, i386(359), i386(Abi::THROUGH_SOCKETCALL + 1)]);
        assert_eq!(chosen("mmap2,readv"), [19, Abi::X32_BIT | 515, i386(145), i386(192)]);
        assert!(chosen("%file").contains(&i386(195)) && !chosen("!%file").contains(&i386(195)));
        assert_eq!(select(Arch::Aarch64, "mmap2").unwrap_err().near, Some("mmap"));
    }

    #[test]
    fn names_and_sets_select_calls() {
        assert_eq!(names("close, open"), ["open", "close"]);
        assert_eq!(names("?nothing,close"), ["close"]);
        assert_eq!(
            names("%clock"),
            [
                "nanosleep",
                "gettimeofday",
                "adjtimex",
                "settimeofday",
                "time",
                "clock_settime",
                "clock_gettime",
                "clock_getres",
                "clock_nanosleep",
                "clock_adjtime"
            ]
        );
        assert!(names("%file").contains(&"openat") && !names("%file").contains(&"read"));
        assert!(names("network").contains(&"accept4"));
        assert_eq!(names("%%stat"), ["stat", "fstat", "lstat", "newfstatat"]);
        assert!(names("!futex,%desc").iter().all(|name| !matches!(*name, "futex" | "read" | "openat")));
        assert_eq!(select(Arch::X86_64, "all").unwrap().len(), definitions(Arch::X86_64).count());
        assert!(names("none").is_empty() && names("").is_empty());
    }

    #[test]
    fn expressions_and_interfaces_select_calls() {
        assert_eq!(names("/^open"), ["open", "openat", "open_by_handle_at", "open_tree", "openat2", "open_tree_attr"]);
        assert_eq!(names("/^(preadv|pwritev)2?$,close"), ["close", "preadv", "pwritev", "preadv2", "pwritev2"]);
        assert_eq!(names("?/^nothing"), [""; 0]);
        let chosen = |text: &str| select(Arch::X86_64, text).unwrap().into_iter().collect::<Vec<_>>();
        let i386 = |number: i64| Abi::I386_BIT | number;
        assert_eq!((chosen("open@64"), chosen("open@32")), (vec![2], vec![i386(5)]));
        assert_eq!(chosen("readv@x32"), [Abi::X32_BIT | 515]);
        assert!(chosen("%file@32").iter().all(|number| number & Abi::I386_BIT != 0));
        let error = |text: &str| select(Arch::X86_64, text).unwrap_err().to_string();
        assert!(error("/^nothing").contains("no system call matches"));
        assert!(error("/(").contains("cannot be read"));
        assert!(error("mmap2@64").contains("does not have it"));
        assert!(error("open@16").contains("an interface is"));
        assert!(error("opne@64").contains("did you mean `open`"));
    }

    #[test]
    fn a_word_that_names_nothing_is_told_with_the_nearest() {
        let error = select(Arch::X86_64, "read,opennat").unwrap_err();
        assert_eq!(error.to_string(), "there is no system call or set `opennat`; did you mean `openat`?");
        let error = select(Arch::X86_64, "%netwrk").unwrap_err();
        assert_eq!(error.near, Some("network"));
        assert_eq!(select(Arch::X86_64, &"x".repeat(100)).unwrap_err().word.len(), 40);
    }
}
