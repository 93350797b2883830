//! Whatever text it is given, the compiler answers: with programs or with what is wrong, soon, and without using up its stack.
//!
//! Scripts are mutated (tokens removed, doubled, exchanged, put in from others) and expressions grown, in nests of every
//! construct far beyond the limit. `BATHYSCOPE_FUZZ_SECONDS=1800` goes on for so long, from another beginning each time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
    time::{Duration, Instant, SystemTime},
};

use bathyscope_bpf::lang::{
    CheckOptions, CompileOptions, compile,
    host::{Host, KernelFunction},
    recorded::RecordedHost,
};
use bathyscope_catalog::{EventFormat, types::Types};
use bathyscope_plan::{Features, ProgramType, UserPlaces};

static HOST: LazyLock<RecordedHost> = LazyLock::new(|| RecordedHost::new("6.12").unwrap());

/// As much stack as threads get that nobody gives more: requests of the console are answered on such.
const STACK_BYTES: usize = 2 << 20;
/// How many mutated scripts are compiled in an ordinary run.
const ROUNDS: u64 = 1500;
/// No script of this size may take more CPU time, on however slow a machine.
const LONGEST: Duration = Duration::from_secs(20);

/// Numbers that look random: xorshift.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.roll() % most.max(1) as u64).unwrap()
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Compiles on a thread with little stack; an answer of any kind is right.
fn answers(text: &str) {
    answers_on(&*HOST, text);
}

fn answers_on(host: &'static (impl Host + Sync), text: &str) {
    let owned = text.to_owned();
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        let check = CheckOptions { unsafe_allowed: true, pid: None };
        let params = vec!["5".to_owned(), "text".to_owned(), "interval:ms:1".to_owned()];
        let options = CompileOptions { check, ..CompileOptions::default() };
        let options = with_params(options, params);
        let _programs_or_words = compile(&owned, host, &options);
        cpu_time()
    });
    let Ok(took) = thread.unwrap().join() else { panic!("the compiler panicked at:\n{text}") };
    assert!(took < LONGEST, "{took:?} for:\n{text}");
}

/// CPU time of this thread: what else a machine does is not the compiler's.
fn cpu_time() -> Duration {
    let told = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(told.split(' ').next().unwrap().parse().unwrap())
}

fn with_params(mut options: CompileOptions, params: Vec<String>) -> CompileOptions {
    options.expand.params = params;
    options
}

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.extension().is_some_and(|it| it == ending) {
            found.push(path);
        }
    }
}

/// Scripts to begin with: tools, examples, the corpus, and the cases of the language.
fn seeds() -> Vec<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in ["tools", "examples", "tests/corpus", "tests/check"] {
        files(&here.join(folder), "bt", &mut found);
    }
    let mut seeds: Vec<String> = found.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let mut cases = Vec::new();
    files(&here.join("../tests/language/cases"), "txt", &mut cases);
    for path in cases {
        let text = fs::read_to_string(path).unwrap();
        let scripts = text.split("\n## ").filter_map(|part| part.split_once('\n'));
        seeds.extend(scripts.map(|(_, script)| {
            script
                .lines()
                .filter(|line| !line.starts_with("#: ") && !line.starts_with("#="))
                .collect::<Vec<_>>()
                .join("\n")
        }));
    }
    assert!(seeds.len() > 400, "{}", seeds.len());
    seeds
}

/// Words, numbers, texts and marks.
fn tokens(text: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' || c == '$' || c == '@' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut tokens = Vec::new();
    let mut from = 0;
    let mut last = None;
    for (at, c) in text.char_indices() {
        let now = kind(c);
        if last.is_some_and(|last| last != now || now == 2) {
            tokens.push(&text[from..at]);
            from = at;
        }
        last = Some(now);
    }
    tokens.push(&text[from..]);
    tokens
}

fn mutated(seeds: &[String], dice: &mut Dice) -> String {
    let (first, second) = (dice.one(seeds).clone(), dice.one(seeds).clone());
    let mut words: Vec<&str> = tokens(&first);
    let others = tokens(&second);
    const MARKS: [&str; 24] = [
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ";",
        ",",
        "++",
        "--",
        "?",
        ":",
        "$a",
        "@a",
        "0",
        "-1",
        "\"x\"",
        "if",
        "else",
        "*",
        "&",
        "..",
        "0x7fffffffffffffff",
        "%",
    ];
    for _ in 0..=dice.below(6) {
        let at = dice.below(words.len());
        match dice.below(6) {
            0 => drop(words.remove(at)),
            1 => words.insert(at, words[at]),
            2 => {
                let with = dice.below(words.len());
                words.swap(at, with);
            }
            3 => words[at] = *dice.one(&others),
            4 => words.insert(at, *dice.one(&MARKS)),
            _ => {
                let from = dice.below(others.len());
                let to = (from + 1 + dice.below(12)).min(others.len());
                words.splice(at..at, others[from..to].iter().copied());
            }
        }
        if words.is_empty() {
            return String::new();
        }
    }
    words.concat()
}

/// The recorded kernel with as many names as large ones have.
struct Crowded {
    tracepoints: Vec<String>,
    raw_tracepoints: Vec<String>,
    functions: Vec<KernelFunction>,
}

static CROWDED: LazyLock<Crowded> = LazyLock::new(|| {
    let names = |count: usize, prefix: &str| (0..count).map(|it| format!("{prefix}{it:06}_of_them")).collect();
    let function = |name: String| KernelFunction { name, module: String::new() };
    let functions: Vec<String> = names(120_000, "function_");
    let mut functions: Vec<KernelFunction> = functions.into_iter().map(function).collect();
    functions.extend_from_slice(HOST.functions());
    functions.sort();
    let (mut tracepoints, mut raw_tracepoints): (Vec<_>, Vec<_>) = (names(5000, "sched:point_"), names(5000, "point_"));
    tracepoints.extend_from_slice(HOST.tracepoints());
    raw_tracepoints.extend_from_slice(HOST.raw_tracepoints());
    tracepoints.sort();
    raw_tracepoints.sort();
    Crowded { tracepoints, raw_tracepoints, functions }
});

impl Host for Crowded {
    fn features(&self) -> &Features {
        HOST.features()
    }
    fn tracepoint(&self, system: &str, name: &str) -> Result<Option<Arc<EventFormat>>, String> {
        HOST.tracepoint(system, name)
    }
    fn tracepoints(&self) -> &[String] {
        &self.tracepoints
    }
    fn raw_tracepoints(&self) -> &[String] {
        &self.raw_tracepoints
    }
    fn functions(&self) -> &[KernelFunction] {
        &self.functions
    }
    fn types(&self) -> &Types {
        HOST.types()
    }
    fn kernel_symbol(&self, _name: &str) -> Option<u64> {
        None
    }
    fn user_places(&self, _point: &str) -> Option<&UserPlaces> {
        None
    }
    fn kfunc_allowed(&self, _name: &str, _program: ProgramType) -> Option<bool> {
        Some(false)
    }
}

/// For each name that is none, something near is looked for among all that the kernel or the script has: not for as many as a
/// script has, and not once more in each pass. Where many names would be known too, they are declared first.
#[test]
fn many_names_that_are_none_are_answered() {
    LazyLock::force(&CROWDED);
    // What stands before, what is repeated with a number, and what stands behind.
    let places: [(&str, &str, &str); 22] = [
        ("begin { ", "print(bu#);", " }"),
        ("begin { ", "print(pids_enter#);", " }"),
        ("begin { ", "print(functio_#());", " }"),
        ("begin { ", "prin#(1);", " }"),
        ("begin { ", "print($varable#);", " }"),
        ("begin { ", "print(@mpa#);", " }"),
        ("begin { ", "print(@mpa#[1]);", " }"),
        ("begin { ", "$x = (struct task_struc#*)0;", " }"),
        ("begin { ", "$x = (enum bpf_map_typ#)0;", " }"),
        ("begin { ", "$x = (pid_#*)0;", " }"),
        ("begin { $t = (struct task_struct *)1; ", "print($t->pdi#);", " }"),
        ("begin { $t = (pid = 1, comm = 2); ", "print($t.cmm#);", " }"),
        ("begin { ", "print(kaddr(\"functon_#\"));", " }"),
        ("begin { ", "print(percpu_kaddr(\"functon_#\"));", " }"),
        ("uprobe:/bin/x:f { ", "print(uaddr(\"functon_#\"));", " }"),
        ("kprobe:vfs_read { ", "print(reg(\"rax#\"));", " }"),
        ("tracepoint:sched:sched_switch { ", "print(args.prev_cmm#);", " }"),
        ("rawtracepoint:sched_switch { ", "print(args.prve#);", " }"),
        ("iter:task { ", "print(ctx.tsak#);", " }"),
        ("", "let @m# = hsah#(1);", " begin { }"),
        ("", "struct s# { struct task_strc# a; }", " begin { }"),
        ("config = { ", "max_mpa_keys# = 1;", " } begin { }"),
    ];
    let known: String = (0..2500).map(|number| format!("$var_able{number}=1;")).collect();
    let maps: String = (0..2500).map(|number| format!("@mapa{number}=1;")).collect();
    for (before, unit, behind) in places {
        let room = 60_000 - before.len() - behind.len();
        let many: String = (0..5000).map(|number| unit.replace('#', &number.to_string())).collect();
        let cut = many.get(..room).map_or(many.as_str(), |cut| &cut[..=cut.rfind([';', '}']).unwrap()]);
        answers_on(&*CROWDED, &[before, cut, behind].concat());
        answers_on(&*CROWDED, &[before, &unit.replace('#', "").repeat(room / unit.len()), behind].concat());
        // A name of any length.
        answers_on(&*CROWDED, &[before, &unit.replace('#', &"x".repeat(room / 3)), behind].concat());
    }
    for (known, name) in [(known, "$varable"), (maps, "@mapp")] {
        let wrong: String = (0..1500).map(|number| format!("print({name}{number});")).collect();
        answers_on(&*CROWDED, &format!("begin {{ {known} }}").replace(" }", &format!(" {wrong} }}")));
    }
}

/// As many attach points as a script may have, each with another name of another kind that is none.
#[test]
fn many_attach_points_that_are_none_are_answered() {
    LazyLock::force(&CROWDED);
    let kinds = [
        "kprobe:function_#_of_tem",
        "kretprobe:vmlinux:function_#_of_tem",
        "kprobe:nf_tables:function_#_of_tem",
        "fentry:function_#_of_tem",
        "fexit:vmlinux:function_#_of_tem",
        "rawtracepoint:point_#_of_tem",
        "tracepoint:sched:point_#_of_tem",
        "tracepoint:shced:point_#_of_tem",
        "tracepoint:point_#_of_tem",
        "software:page-fault#",
        "hardware:cach-misses#",
        "iter:tsak#",
        "kprobe:*#*_of_tem",
        "kprobe:*",
        "fentry:*#*_of_tem",
        "fentry:*",
        "tracepoint:*:*#*_of_tem",
        "rawtracepoint:*#*_of_tem",
        "kprobe:???????*?#",
        "kprobe:[!a-z]*[a-z#]*",
        "kprb#:x",
    ];
    // Short, long enough to be compared, and as long as may be.
    for filling in ["", "0123456789", &"x".repeat(4000), &"*x".repeat(2000), &"[".repeat(4000), &"*[!x]".repeat(800)] {
        for kind in kinds.into_iter().filter(|kind| filling.is_empty() || kind.contains('#')) {
            let point = |number: usize| format!("{} {{ }}", kind.replace('#', &format!("{number}{filling}")));
            let count = (60_000 / point(10).len()).min(64);
            answers_on(&*CROWDED, &(0..count).map(point).collect::<String>());
        }
    }
}

#[test]
fn mutated_scripts_are_answered() {
    let seeds = seeds();
    let seconds = std::env::var("BATHYSCOPE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let start = match seconds {
        Some(_) => SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64 | 1,
        None => 0x9e37_79b9_7f4a_7c15,
    };
    let (mut dice, began) = (Dice(start), Instant::now());
    let mut rounds = 0;
    while seconds.map_or(rounds < ROUNDS, |seconds| began.elapsed() < Duration::from_secs(seconds)) {
        answers(&mutated(&seeds, &mut dice));
        rounds += 1;
    }
}

#[test]
fn nests_of_every_construct_are_answered() {
    // What stands before the inside, the inside, and what stands behind it.
    let constructs: [(&str, &str, &str); 22] = [
        ("(", "1", ")"),
        ("-", "1", ""),
        ("!", "$a", ""),
        ("~", "$a", ""),
        ("*", "$p", ""),
        ("&", "$a", ""),
        ("++", "$a", ""),
        ("(uint8)", "$a", ""),
        ("$a ? 1 : ", "2", ""),
        ("$a ? ", "1", " : 2"),
        ("1 + ", "$a", ""),
        ("", "$a", " * 2"),
        ("(1, ", "2", ")"),
        ("(a = ", "2", ")"),
        ("{ ", "1", " }"),
        ("if ($a) { ", "1", " } else { 2 }"),
        ("@m[", "1", "]"),
        ("str(", "$a", ")"),
        ("strlen(str_concat(\"a\", ", "\"b\"", "))"),
        ("twice(", "$a", ")"),
        ("sizeof(", "$a", ")"),
        ("", "$a", ".a"),
    ];
    for (before, inside, behind) in constructs {
        for depth in [3, 60, 250, 1000, 6000] {
            let nest = [before.repeat(depth), inside.to_owned(), behind.repeat(depth)].concat();
            for place in ["$b = NEST; print($b);", "@x = NEST;", "if (NEST) { print(1); }", "printf(\"%d\", NEST);"] {
                let body = place.replace("NEST", &nest);
                answers(&format!("macro twice(x) {{ x + x }} begin {{ $a = 1; $p = (int32 *)0; {body} }}"));
            }
        }
    }
}

#[test]
fn nests_of_statements_are_answered() {
    let constructs = [
        ("{ ", " }"),
        ("if (1 < $a) { ", " }"),
        ("if ($a) { } else { ", " }"),
        ("while ($a) { ", " }"),
        ("for ($i : 0..$a) { ", " }"),
        ("if ($a) { } else ", ""),
    ];
    for (before, behind) in constructs {
        for depth in [3, 12, 250, 3000] {
            let nest = [before.repeat(depth), "print($a);".to_owned(), behind.repeat(depth)].concat();
            answers(&format!("begin {{ $a = 1; {nest} }}"));
        }
    }
    // Each level doubles what is compiled.
    for depth in [3, 6] {
        let nest = ["unroll(2) { ".repeat(depth), "print(1);".to_owned(), " }".repeat(depth)].concat();
        answers(&format!("begin {{ {nest} }}"));
    }
}

#[test]
fn long_chains_are_answered() {
    for (link, most) in
        [(" + $a", 5000), (" ? $a : 1", 3000), (" && $a", 5000), (", $a", 3000), ("++", 3000), ("[0]", 3000)]
    {
        for count in [10, 200, most] {
            let chain = link.repeat(count);
            answers(&format!("begin {{ $a = 1; print($a{chain}); }}"));
            answers(&format!("begin {{ $a = 1; print(($a{chain})); }}"));
        }
    }
    let doubling: String = (1..40).map(|at| format!("macro m{at}(x) {{ m{}(x) + m{}(x) }} ", at - 1, at - 1)).collect();
    answers(&format!("macro m0(x) {{ x }} {doubling} begin {{ print(m39(1)); }}"));
    let growing: String = (0..300).map(|at| format!("$v{} = str_concat($v{at}, $v{at}); ", at + 1)).collect();
    answers(&format!("begin {{ $v0 = \"ab\"; {growing} print($v300); }}"));
}
