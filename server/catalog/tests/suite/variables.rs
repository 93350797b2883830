//! Variables at places of programs that compilers make here: which there are, of which types, and where.

use std::{fs, path::Path, process::Command};

use bathyscope_capture::{DataType, ProgramData, VariablePlace};
use bathyscope_catalog::{
    elf::{CodePlace, ElfFile, PlaceVariables, ProgramDebug, SourceLines},
    types::Types,
};

const SOURCE: &str = "#include <stdlib.h>
struct node { struct node *next; int len; enum { SMALL, LARGE } size; unsigned low : 3, high : 5; char name[8]; };
union either { int number; struct node *node; };
struct opaque;
__attribute__((noinline)) long sum(struct node *first, union either *e, struct opaque *o, double share) {
    long total = 0;
    for (struct node *at = first; at; at = at->next) {
        int step = at->len * 2;
        total += step + (e ? e->number : 0) + (o != 0) + (long)share;
    }
    return total;
}
int main(int argc, char **argv) {
    struct node second = { 0, argc, LARGE, 1, 2, \"second\" }, first = { &second, 40, SMALL, 3, 4, \"first\" };
    return (int)sum(&first, 0, 0, atof(argv[0]));
}
";

fn program(folder: &Path, options: &[&str]) -> Vec<u8> {
    let (source, binary) = (folder.join("sum.c"), folder.join("sum"));
    fs::write(&source, SOURCE).unwrap();
    let made = Command::new("cc").args(options).arg("-o").arg(&binary).arg(&source).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::read(binary).unwrap()
}

fn at(bytes: &[u8], place: CodePlace) -> PlaceVariables {
    let elf = ElfFile::parse(&bytes).unwrap();
    let debug = ProgramDebug::open(&elf, &|_compressed| None).unwrap();
    debug.at(&elf, place, None).unwrap()
}

fn begin_of(bytes: &[u8], name: &str) -> CodePlace {
    let elf = ElfFile::parse(&bytes).unwrap();
    let address = elf.functions().unwrap().named(name)[0].address;
    CodePlace { address, at_begin: true }
}

fn line_of(bytes: &[u8], line: u32) -> CodePlace {
    let elf = ElfFile::parse(&bytes).unwrap();
    let lines = SourceLines::read(&elf, &|_compressed| None).unwrap();
    let found = lines.find("sum.c", line, 1);
    assert_eq!(found[0].line, line);
    CodePlace { address: found[0].addresses[0], at_begin: false }
}

/// The variables with their types: `name: type`, and what kind of place they are at.
fn told(found: &PlaceVariables) -> Vec<String> {
    let data = ProgramData { types: found.types.clone(), places: vec![found.variables.clone()] };
    assert!(data.is_sound(), "{data:?}");
    let mut types = Types::built_in();
    let ids = types.add_program(&data);
    let one = |it: &bathyscope_capture::ProgramVariable| {
        let place = match &it.place {
            VariablePlace::Register(_) => "register",
            VariablePlace::Memory { .. } => "memory",
            VariablePlace::Sum { .. } => "sum",
            VariablePlace::Constant(_) => "constant",
            VariablePlace::Pieces(_) => "pieces",
            VariablePlace::Unreadable(why) => why,
        };
        format!("{}: {} in {place}", it.name, types.render(ids[it.ty as usize]))
    };
    found.variables.iter().map(one).collect()
}

#[test]
fn parameters_are_in_registers_where_a_function_begins() {
    let folder = tempfile::tempdir().unwrap();
    for options in [&["-g", "-O0"][..], &["-g", "-O2"], &["-g", "-gdwarf-4", "-O1"]] {
        let bytes = program(folder.path(), options);
        let found = told(&at(&bytes, begin_of(&bytes, "sum")));
        let parameters = ["first: struct node * in register", "e: union either * in register"];
        assert_eq!(found[..2], parameters, "{options:?}");
        assert_eq!(found[2], "o: struct opaque (only declared) * in register", "{options:?}");
        assert!(found[3].starts_with("share: double in it is"), "{options:?} {found:?}");
        let total = found.iter().find(|it| it.starts_with("total")).unwrap();
        assert!(total.contains("no value yet") || total.contains("nowhere") || total.contains("constant"), "{total}");
    }
}

#[test]
fn locals_are_told_at_a_source_line() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = program(folder.path(), &["-g", "-O0"]);
    let found = told(&at(&bytes, line_of(&bytes, 9)));
    let expected = [
        "first: struct node * in memory",
        "e: union either * in memory",
        "o: struct opaque (only declared) * in memory",
        "share: double in memory",
        "total: long int in memory",
        "at: struct node * in memory",
        "step: int in memory",
    ];
    assert_eq!(found, expected);
    let outside = told(&at(&bytes, line_of(&bytes, 11)));
    assert!(!outside.iter().any(|it| it.starts_with("step")), "of an inner scope: {outside:?}");
    let optimised = program(folder.path(), &["-g", "-O2"]);
    let found = told(&at(&optimised, line_of(&optimised, 9)));
    assert!(found.contains(&"at: struct node * in register".to_owned()), "{found:?}");
}

#[test]
fn structs_have_their_members_where_the_compiler_put_them() {
    let folder = tempfile::tempdir().unwrap();
    for options in [&["-g", "-O0"][..], &["-g", "-gdwarf-3", "-O0"]] {
        let bytes = program(folder.path(), options);
        let found = at(&bytes, begin_of(&bytes, "sum"));
        let is_node = |ty: &&DataType| matches!(ty, DataType::Record { name, .. } if name == "node");
        let Some(DataType::Record { bytes: size, members, .. }) = found.types.iter().find(is_node) else { panic!() };
        let places: Vec<_> = members.iter().map(|it| (it.name.as_str(), it.bit_offset, it.bits)).collect();
        let expected = [
            ("next", 0, None),
            ("len", 64, None),
            ("size", 96, None),
            ("low", 128, Some(3)),
            ("high", 131, Some(5)),
            ("name", 136, None),
        ];
        assert_eq!((*size, places.as_slice()), (32, expected.as_slice()), "{options:?}");
        let data = ProgramData { types: found.types.clone(), places: vec![found.variables.clone()] };
        let mut types = Types::built_in();
        let ids = types.add_program(&data);
        let node = types.pointer(ids[found.variables[0].ty as usize]).unwrap().to;
        let next = types.pointer(types.field(node, "next").unwrap().ty).unwrap().to;
        assert_eq!(types.field(next, "len").unwrap().byte_offset(), 8, "behind a pointer to its own kind");
        let size = types.field(node, "size").unwrap();
        assert_eq!(types.constant_name(size.ty, 1), Some("LARGE"));
    }
}

#[test]
fn texts_of_rust_are_two_registers() {
    let folder = tempfile::tempdir().unwrap();
    let (source, binary) = (folder.path().join("some.rs"), folder.path().join("some"));
    let text = "pub struct Request { pub id: u32, pub path: String }
#[unsafe(no_mangle)] #[inline(never)]
pub fn handle(name: &str, request: &Request, retries: u8) -> usize {
    let length = name.len() + request.path.len();
    std::hint::black_box(length + usize::from(retries) + request.id as usize)
}
fn main() {
    let request = Request { id: 7, path: String::from(\"/index\") };
    std::process::exit(handle(\"some\", &request, 3) as i32 - 20);
}
";
    fs::write(&source, text).unwrap();
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "-g", "-C", "opt-level=0", "-o"]).arg(&binary).arg(&source);
    let made = rustc.output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let bytes = fs::read(&binary).unwrap();
    let found = at(&bytes, begin_of(&bytes, "handle"));
    let told = told(&found);
    assert_eq!(told[0], "name: struct &str in pieces");
    assert_eq!(told[1], "request: struct Request * in register");
    assert_eq!(told[2], "retries: u8 in register");
    let data = ProgramData { types: found.types.clone(), places: vec![found.variables.clone()] };
    let mut types = Types::built_in();
    let ids = types.add_program(&data);
    let request = types.pointer(ids[found.variables[1].ty as usize]).unwrap().to;
    let mut names = types.field_names(request, 9);
    names.sort_unstable();
    assert_eq!(names, ["id", "path"]);
}

/// Debug information is as hostile as any file.
#[test]
fn damaged_debug_information_says_nothing_that_cannot_be() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = program(folder.path(), &["-g", "-O1"]);
    let (begin, line) = (begin_of(&bytes, "sum"), line_of(&bytes, 9));
    let from = bytes.len() / 3;
    for step in 0..600_usize {
        let mut damaged = bytes.clone();
        let at = from + step * 37 % (bytes.len() - from);
        damaged[at] = damaged[at].wrapping_add(1 + (step % 250) as u8);
        let Ok(elf) = ElfFile::parse(&damaged) else { continue };
        let Ok(debug) = ProgramDebug::open(&elf, &|_compressed| None) else { continue };
        for place in [begin, line] {
            if let Some(found) = debug.at(&elf, place, None) {
                let data = ProgramData { types: found.types, places: vec![found.variables] };
                let _ids = Types::built_in().add_program(&data);
            }
        }
    }
}
