//! Variables of programs by their names: parameters where a function begins, locals at a source line, members behind pointers.

use std::{fs, path::Path, process::Command};

use bathyscope_tests::{
    in_lab, is_root,
    programs::described,
    skip,
    tracing::{Traced, Tracer},
    workspace::root,
};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

const WHAT: &str = "variables of a program by its debug information";

fn traced(program: &Path, script: &str) -> Traced {
    Tracer::start(["-c", program.to_str().expect("a path of text"), "-e", script]).finish()
}

/// The lines that a script printed.
fn lines(traced: &Traced) -> Vec<&str> {
    traced.out.lines().filter(|line| line.starts_with("> ")).collect()
}

/// A place in the loop of `walk`, where its variables are set, as scripts write it.
fn place_in_loop(program: &Path) -> String {
    let bytes = fs::read(program).expect("the program");
    let file = object::File::parse(bytes.as_slice()).expect("a program");
    let address = |name: &str| {
        let found = file.symbols().find(|symbol| symbol.name() == Ok(name));
        found.expect("a symbol of the program").address()
    };
    format!("walk+{}", address("probed_line") - address("walk"))
}

#[test]
fn parameters_and_what_is_behind_them_are_read() {
    if !is_root() {
        return skip(WHAT, "root");
    }
    for optimise in ["-O0", "-O2"] {
        let Some(program) = described("list", optimise) else { return skip(WHAT, "gcc") };
        let script = format!(
            "uprobe:{}:walk {{ printf(\"> %d %d %d %s\\n\", args.step, args.first->len, args.first->next->next->len, \
             str(args.first->next->name)); \
             printf(\"> %d %d %s %s\\n\", args.first->low, args.first->high, args.first->text, args.first->next->kind); \
             printf(\"> %d %d\\n\", args.outer->inner.len, args.outer->first->next->len); }}",
            program.display()
        );
        let traced = traced(&program, &script);
        let expected = ["> -3 1 300 middle", "> 7 31 first SMALL", "> 300 -20"];
        assert_eq!(lines(&traced), expected, "{optimise}: {traced:?}");
    }
}

#[test]
fn locals_are_read_within_a_function() {
    if !is_root() {
        return skip(WHAT, "root");
    }
    let Some(program) = described("list", "-O0") else { return skip(WHAT, "gcc") };
    assert_locals_are_read(&program);
}

fn assert_locals_are_read(program: &Path) {
    let script = format!(
        "uprobe:{}:{} /args.at->len != 1/ {{ printf(\"> %d %d %s\\n\", args.twice, args.total, str(args.at->name)); }}",
        program.display(),
        place_in_loop(program)
    );
    let traced = traced(program, &script);
    // 300 at first, and three times less of twice the first one's.
    assert_eq!(lines(&traced), ["> -40 294 middle", "> 600 414 last of all"], "{traced:?}");
}

/// Expressions as the probe builder writes them: a process without a child, its only thread, and the end of the list of those.
#[test]
fn entries_of_lists_of_the_kernel_are_read_and_their_ends_are_nothing() {
    if !is_root() {
        return skip("lists of the kernel", "root");
    }
    let Some(program) = described("list", "-O0") else { return skip("lists of the kernel", "gcc") };
    let entry = |pointer: &str, end: &str, link: &str| {
        format!("({pointer} != &{end} ? container_of({pointer}, struct task_struct, {link}) : (struct task_struct *)0)")
    };
    let child = entry("curtask->children.next", "curtask->children", "sibling");
    let thread = entry("curtask->signal->thread_head.next", "curtask->signal->thread_head", "thread_node");
    let next = entry("curtask->thread_node.next", "curtask->signal->thread_head", "thread_node");
    let script = format!(
        "uprobe:{}:walk {{ printf(\"> %d %d %s %d\\n\", {child}->pid, {thread}->tgid == pid, {thread}->comm, {next}->pid); }}",
        program.display()
    );
    let traced = traced(&program, &script);
    let name = program.file_name().and_then(|name| name.to_str()).expect("a name of text");
    let comm: String = name.chars().take(15).collect();
    assert_eq!(lines(&traced), [format!("> 0 1 {comm} 0")], "{traced:?}");
}

/// Where there is no `.eh_frame`, `.debug_frame` tells where the frame is; it is compressed as all debug information.
#[test]
fn locals_are_read_by_a_compressed_table_of_frames() {
    if !is_root() || in_lab() {
        return skip(WHAT, "root and gcc");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("list");
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-gz", "-O0", "-fno-asynchronous-unwind-tables", "-o"]);
    compiler.arg(&program).arg(root().join("tests/programs/list.c"));
    let Ok(made) = compiler.output() else { return skip(WHAT, "gcc") };
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let bytes = fs::read(&program).expect("the program");
    let file = object::File::parse(bytes.as_slice()).expect("a program");
    let frames = file.section_by_name(".debug_frame").expect("a table of frames");
    let format = frames.compressed_file_range().expect("how it is kept").format;
    assert_ne!(format, object::CompressionFormat::None);
    assert_locals_are_read(&program);
}

#[test]
fn what_cannot_be_read_is_refused_in_words() {
    if !is_root() {
        return skip(WHAT, "root");
    }
    let Some(program) = described("list", "-O0") else { return skip(WHAT, "gcc") };
    let path = program.display();
    let cases = [
        (format!("uprobe:{path}:walk {{ print(args.total); }}"), "no value yet"),
        (format!("uprobe:{path}:walk {{ print(args.stop); }}"), "did you mean `step`?"),
        (format!("uprobe:{path}:walk {{ print(args.first->lenn); }}"), "did you mean `len`?"),
        ("uprobe:/bin/true:0x3000 { print(args.x); }".to_owned(), "use `arg0`"),
    ];
    for (script, expected) in cases {
        let traced = traced(&program, &script);
        assert!(traced.err.contains(expected), "{script}: {traced:?}");
    }
}

/// A program of Rust: a text is an address and a length in two registers, and members are where the compiler put them.
#[test]
fn texts_and_members_of_rust_are_read() {
    if !is_root() || in_lab() {
        return skip(WHAT, "root and a compiler of Rust");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("serve.rs"), folder.path().join("serve"));
    fs::write(&source, RUST).expect("the program's source");
    for optimise in ["0", "3"] {
        let mut rustc = Command::new("rustc");
        rustc
            .args(["--edition", "2021", "-g", "-C", &format!("opt-level={optimise}"), "-o"])
            .arg(&program)
            .arg(&source);
        let Ok(made) = rustc.output() else { return skip(WHAT, "rustc") };
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let script = format!(
            "uprobe:{}:serve_one {{ printf(\"> %s %d %d %d\\n\", str(args.name.data_ptr, args.name.length + 1), args.request->id, \
             args.request->retries, args.last); }}",
            program.display()
        );
        let traced = traced(&program, &script);
        assert_eq!(lines(&traced), ["> some 7 -3 200"], "{optimise}: {traced:?}");
    }
}

const RUST: &str = "pub struct Request { pub retries: i16, pub id: u32, pub path: String }
#[no_mangle] #[inline(never)]
pub fn serve_one(name: &str, request: &Request, last: u8) -> usize {
    let length = name.len() + request.path.len();
    println!(\"{name} {} {} {last}\", request.id, request.retries);
    length
}
fn main() {
    let request = Request { retries: -3, id: 7, path: String::from(\"/index\") };
    let name = String::from(\"some\");
    std::process::exit(serve_one(std::hint::black_box(&name), std::hint::black_box(&request), 200) as i32 - 10);
}
";
