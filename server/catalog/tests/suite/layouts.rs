//! C definitions lie in memory as the compiler puts them. `BATHYSCOPE_BLESS=1` asks the compiler (`cc`) again for the
//! golden table, and for some thousand random structs besides.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::{fmt::Write as _, fs, process::Command};

use bathyscope_catalog::types::{CType, Member, TypeId, Types};

const DEFINITIONS: &str = include_str!("../../fixtures/layouts.h");

/// What `Types` says, one line for each type and member.
fn ours(types: &Types, defined: &[TypeId]) -> String {
    let mut text = String::new();
    for id in defined {
        let name = types.render(*id);
        match types.get(*id) {
            CType::Enum(of) => writeln!(text, "{name} {} {}", of.bytes, if of.signed { "signed" } else { "unsigned" }),
            _ => writeln!(text, "{name} {} {}", types.size(*id).unwrap(), types.align(*id).unwrap()),
        }
        .unwrap();
        for constant in types.constants(*id) {
            writeln!(text, "  {} {}", constant.name, constant.value).unwrap();
        }
        for (member, offset) in named(types, *id) {
            let bits = member.bits.map_or_else(|| types.size(member.ty).unwrap() * 8, u64::from);
            writeln!(text, "  {} {offset} {bits}", member.name).unwrap();
        }
    }
    text
}

/// Members with names and where they are, in bits.
fn named(types: &Types, id: TypeId) -> Vec<(Member<'_>, u64)> {
    let mut found = Vec::new();
    for name in types.field_names(id, usize::MAX) {
        let field = types.field(id, name).unwrap();
        let (bit_offset, ty, bits) = (field.bit_offset, field.ty, field.bits);
        found.push((Member { name, ty, bit_offset, bits }, bit_offset));
    }
    found
}

/// What the compiler says, in the same form.
fn compilers(types: &Types, defined: &[TypeId], definitions: &str) -> String {
    let mut program = "#include <stdio.h>\n#include <stddef.h>\n#include <string.h>\n".to_owned();
    writeln!(program, "{definitions}").unwrap();
    program.push_str(
        "static void found(const char *name, void *at, size_t bytes) { unsigned char *p = at; long first = -1, n = 0;
         for (size_t i = 0; i < bytes * 8; i++) if (p[i / 8] >> i % 8 & 1) { if (first < 0) first = i; n++; }
         printf(\"  %s %ld %ld\\n\", name, first, n); }\nint main(void) {\n",
    );
    for id in defined {
        let name = types.render(*id);
        if matches!(types.get(*id), CType::Enum(_)) {
            let sign = format!("({name})-1 < ({name})1 ? \"signed\" : \"unsigned\"");
            writeln!(program, "printf(\"{name} %zu %s\\n\", sizeof({name}), {sign});").unwrap();
            for constant in types.constants(*id) {
                writeln!(program, "printf(\"  {0} %ld\\n\", (long){0});", constant.name).unwrap();
            }
            continue;
        }
        writeln!(program, "printf(\"{name} %zu %zu\\n\", sizeof({name}), _Alignof({name}));").unwrap();
        for (member, _) in named(types, *id) {
            let field = member.name;
            if member.bits.is_some() {
                let set = format!("static {name} x; memset(&x, 0, sizeof x); x.{field} = -1;");
                writeln!(program, "{{ {set} found(\"{field}\", &x, sizeof x); }}").unwrap();
            } else {
                let open = matches!(types.get(member.ty), CType::Array { count: 0, .. });
                let size = if open { "(size_t)0".to_owned() } else { format!("sizeof((({name} *)0)->{field})") };
                let line = format!("printf(\"  {field} %zu %zu\\n\", offsetof({name}, {field}) * 8, {size} * 8);");
                writeln!(program, "{line}").unwrap();
            }
        }
    }
    program.push_str("return 0; }\n");
    let folder = tempfile::tempdir().unwrap();
    let (source, binary) = (folder.path().join("layouts.c"), folder.path().join("layouts"));
    fs::write(&source, program).unwrap();
    let compiled = Command::new("cc").args(["-w", "-std=gnu11", "-o"]).arg(&binary).arg(&source).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    String::from_utf8(Command::new(&binary).output().unwrap().stdout).unwrap()
}

#[test]
fn members_lie_where_the_compiler_puts_them() {
    let mut types = Types::built_in();
    let defined = types.define(DEFINITIONS, &|_| None).unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/layouts.golden");
    if std::env::var_os("BATHYSCOPE_BLESS").is_some() {
        fs::write(path, compilers(&types, &defined, DEFINITIONS)).unwrap();
        for seed in 1..=8 {
            random_ones_agree(seed);
        }
    }
    let golden = fs::read_to_string(path).unwrap();
    let ours = ours(&types, &defined);
    for (line, golden) in ours.lines().zip(golden.lines()) {
        assert_eq!(line, golden);
    }
    assert_eq!(ours.lines().count(), golden.lines().count());
}

/// Numbers that look random and are the same every time.
struct Noise(u64);

impl Noise {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

fn random_ones_agree(seed: u64) {
    let mut noise = Noise(seed);
    let mut text = String::new();
    for number in 0..400 {
        let keyword = if noise.below(6) == 0 { "union" } else { "struct" };
        let mut body = String::new();
        for member in 0..1 + noise.below(9) {
            random_member(&mut noise, &mut body, &format!("m{member}"), 0);
        }
        let after = noise.of(&["", "", "", " __attribute__((packed))", " __attribute__((aligned(16)))"]);
        writeln!(text, "{keyword} r{number} {{ {body}}}{after};").unwrap();
    }
    let mut types = Types::built_in();
    let defined = types.define(&text, &|_| None).unwrap();
    let compilers = compilers(&types, &defined, &text);
    let mut record = String::new();
    for (ours, theirs) in ours(&types, &defined).lines().zip(compilers.lines()) {
        if !ours.starts_with(' ') {
            record = ours.split(' ').take(2).collect::<Vec<_>>().join(" ");
        }
        let definition = text.lines().find(|line| line.starts_with(&format!("{record} ")));
        assert_eq!(ours, theirs, "{definition:?}");
    }
}

fn random_member(noise: &mut Noise, body: &mut String, name: &str, depth: u32) {
    let int = noise.of(&["char", "unsigned char", "short", "int", "unsigned", "long", "unsigned long long", "_Bool"]);
    let most = match int {
        "_Bool" => 1,
        "char" | "unsigned char" => 8,
        "short" => 16,
        "int" | "unsigned" => 32,
        _ => 64,
    };
    let extra = noise.of(&["", "", "", "", "", "", " __attribute__((packed))", " __attribute__((aligned(8)))"]);
    match noise.below(10) {
        0..=3 => write!(body, "{int} {name} : {}{extra}; ", 1 + noise.below(most)),
        4 => write!(body, "{int} : {}; ", noise.below(most + 1)),
        5 => write!(body, "{int} {name}[{}]{extra}; ", 1 + noise.below(5)),
        6 => write!(body, "void *{name}{extra}; "),
        7 if depth < 3 => {
            let mut inner = String::new();
            for member in 0..1 + noise.below(4) {
                random_member(noise, &mut inner, &format!("{name}_{member}"), depth + 1);
            }
            write!(body, "{} {{ {inner}}}; ", noise.of(&["struct", "union"]))
        }
        _ => write!(body, "{int} {name}{extra}; "),
    }
    .unwrap();
}
