//! C definitions of scripts: what they mean next to the kernel's types, and what is said about wrong ones.
#![cfg(feature = "recorded")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use bathyscope_catalog::{
    recorded::kernel,
    types::{CType, Notes, TypeKind, Types},
};
use proptest::prelude::*;

fn types() -> Types {
    kernel("6.18").unwrap().types()
}

fn nothing(_name: &str) -> Option<i64> {
    None
}

#[test]
fn definitions_use_and_shadow_the_kernels_types() {
    let mut types = types();
    let kernels = types.spelled("struct path").unwrap();
    let text = "
        #define is not here
    ";
    assert!(types.define(text, &nothing).is_err());
    let text = "
        struct event { u32 pid; char comm[TASK_COMM_LEN]; struct path where; struct task_struct *task; struct unseen *u; };
        struct path { int mine; struct event *back; };
        enum colour { RED, GREEN = AF_INET6, TCP_LISTEN = 77 };
        typedef struct path mine_t;
        struct user { const char __user *text; void __percpu *counts; char sized[SIZE]; enum colour c : 4; };
    ";
    let constants = |name: &str| (name == "SIZE").then_some(24);
    let defined = types.define(text, &constants).unwrap();
    assert_eq!(defined.len(), 5);
    let event = types.spelled("struct event").unwrap();
    assert_eq!(types.field(event, "comm").map(|field| types.size(field.ty)), Some(Some(16)));
    // What was written before still means the kernel's.
    assert_eq!(types.strip(types.field(event, "where").unwrap().ty).id, kernels);
    let mine = types.spelled("struct path").unwrap();
    assert_ne!(mine, kernels);
    assert_eq!(types.strip(types.spelled("mine_t").unwrap()).id, mine);
    assert_eq!(types.render_definition(mine), "struct path {\n\tint mine;\n\tstruct event *back;\n};\n");
    let parent = types.pointer(types.field(event, "task").unwrap().ty).unwrap().to;
    assert_eq!(types.strip(parent).id, types.spelled("struct task_struct").unwrap());
    assert!(matches!(types.get(types.find(TypeKind::Struct, "unseen").unwrap()), CType::Forward { .. }));
    assert_eq!(types.constant("GREEN").unwrap().value, 10);
    assert_eq!(types.constant("TCP_LISTEN").unwrap().value, 77, "the script's comes first");
    let user = types.spelled("struct user").unwrap();
    let notes = |name| types.pointer(types.field(user, name).unwrap().ty).unwrap().notes;
    assert_eq!(notes("text"), Notes { user: true, constant: true, ..Notes::default() });
    assert_eq!(notes("counts"), Notes { percpu: true, ..Notes::default() });
    assert_eq!(types.field(user, "c").map(|field| (field.bit_offset, field.bits)), Some((320, Some(4))));
    assert!(types.complete(TypeKind::Struct, "eve", 9).names.contains(&"event"));
    assert_eq!(types.btf_id(mine), None);
}

#[test]
fn a_forward_declaration_is_filled_in_later() {
    let mut types = types();
    types.define("struct later; struct holder { struct later *l; };", &nothing).unwrap();
    let holder = types.spelled("struct holder").unwrap();
    assert_eq!(types.size(types.spelled("struct later").unwrap()), None);
    types.define("struct later { long x; };", &nothing).unwrap();
    let later = types.pointer(types.field(holder, "l").unwrap().ty).unwrap().to;
    assert_eq!((types.size(later), types.spelled("struct later")), (Some(8), Some(later)));
    // Declared only, the kernel's is meant.
    types.define("struct file;", &nothing).unwrap();
    assert!(types.size(types.spelled("struct file").unwrap()).is_some());
}

#[test]
fn types_are_spelled_as_in_c() {
    let mut types = types();
    let cases = [
        ("struct task_struct *", "struct task_struct *", Some(8)),
        ("const char *", "const char *", Some(8)),
        ("u8[16]", "u8[16]", Some(16)),
        ("unsigned long long", "unsigned long long", Some(8)),
        ("struct path *[4]", "struct path *[4]", Some(32)),
        ("int (*)(void)", "int (*)(...)", Some(8)),
        ("char **", "char **", Some(8)),
        ("void", "void", None),
        ("enum pid_type", "enum pid_type", Some(4)),
    ];
    for (text, rendered, size) in cases {
        let id = types.declared(text).unwrap();
        assert_eq!((types.render(id), types.size(id)), (rendered.to_owned(), size), "{text}");
    }
    let first = types.declared("struct path *").unwrap();
    assert_eq!(types.declared("struct path*").unwrap(), first, "made once");
    let path = types.spelled("struct path").unwrap();
    assert_eq!(types.pointer_to(path), first);
    let array = types.array_of(path, 3);
    assert_eq!((types.size(array), types.array_of(path, 3)), (Some(48), array));
}

/// A wrong text with the place of the error marked by `<>`, what is said, and what is suggested.
const WRONG: &[(&str, &str, &str)] = &[
    ("struct a { int x; }<>", "expected `;` behind the definition, found the end", "Add `;`."),
    ("struct a { <foo_t> x; };", "there is no type `foo_t`", ""),
    ("struct a { <pidt> x; };", "there is no type `pidt`", "Did you mean `pid_t`?"),
    ("struct a { <task_struct> *x; };", "there is no type `task_struct`", "Write `struct task_struct`."),
    (
        "struct a { struct nowhere <x>; };",
        "a member cannot have the type `struct nowhere`, which is not defined",
        "Define it before, or use a pointer to it.",
    ),
    (
        "struct a { struct bpf_attr <x>; };",
        "a member cannot have the type `struct bpf_attr`, which is not defined",
        "Did you mean `union bpf_attr`?",
    ),
    ("struct a { void <x>; };", "a member cannot have the type `void`", "Use `void *`."),
    ("struct a { int x; char <x>; };", "there are two members `x`", "Rename one of them."),
    ("struct a { int x; <struct> { int y, x; }; };", "there are two members `x`", "Rename one of them."),
    ("struct a { int x : <40>; };", "`int` has 32 bits, not 40", ""),
    (
        "struct a { int *x : <4>; };",
        "a bitfield cannot have the type `int *`",
        "Use an integer type of at most 64 bits.",
    ),
    ("struct a { int x[<->1]; };", "an array cannot have -1 elements", ""),
    ("struct a { int x[<4> - 5UL]; };", "an array cannot have 18446744073709551615 elements", ""),
    ("struct a { int x[2][<]>; };", "only the first dimension of an array may be open", ""),
    (
        "struct a { int <x>[]; int y; };",
        "an array of open length must be the last member",
        "Make it the last member, or write its size.",
    ),
    (
        "struct a { int x[<MY_OWN_NUMBER>]; };",
        "`MY_OWN_NUMBER` is no constant that is known here",
        "Define it: `#define MY_OWN_NUMBER 16`.",
    ),
    ("struct a { int x[1 </> 0]; };", "this divides by zero", ""),
    (
        "struct a { int x[1 <<<> 31]; };",
        "the result does not fit into the type of the operands",
        "Add the suffix `UL` to one of the numbers.",
    ),
    ("struct a <{> int x;", "this is not closed", "Add `}`."),
    (
        "struct a { int x; } <y>;",
        "expected `;` behind the definition, found `y`",
        "Variables cannot be defined here; add `;`.",
    ),
    (
        "<int> f(void);",
        "expected `struct`, `union`, `enum` or `typedef`, found `int`",
        "Only types can be defined in C; functions, variables and macros with parameters cannot.",
    ),
    (
        "struct a { int <f>(void); };",
        "a member cannot be a function",
        "Write a pointer to a function: `int (*name)(…)`.",
    ),
    ("struct a { int x; }; struct <a> { int y; };", "`a` is defined twice", "Remove one of the two."),
    ("typedef int a; typedef int <a>;", "the type `a` is defined twice", "Remove one of them."),
    ("enum e { A, <A> };", "the constant `A` is defined twice", "Remove one of them."),
    ("enum e { A <B> };", "expected `,` or `}`, found `B`", "Add `,`."),
    ("enum e <{> };", "an enum must have constants", ""),
    ("struct a { <long> double int x; };", "`long double int` is no type", "Write a type such as `unsigned long`."),
    ("struct a { int x __attribute__((aligned(<3>))); };", "3 is no alignment", "Use a power of two such as 8 or 64."),
    ("struct a { int x[<08>]; };", "`08` is no number of at most 64 bits", "Write it as 42, 052, 0x2a or 0b101010."),
    ("struct a { int <$>x; };", "variables and maps cannot stand in C definitions", ""),
    ("struct a { int x; }<> ", "expected `;` behind the definition, found the end", ""),
    ("struct a { int x; }; </*> never closed", "this comment has no end", "End it with `*/`."),
    ("struct a { struct a <x>; };", "a member cannot have the type `struct a`, which is not defined", ""),
    ("struct a { <int> ; };", "this member has no name", "Add a name before `;`."),
    ("struct a { char x[<1UL> << 33]; };", "an array cannot have 8589934592 elements", ""),
    ("struct a { long x<[>0x10000000][0x10000000]; };", "this array is larger than 4 GiB", ""),
    ("struct a { char <x>[0x7fffffff]; char y; };", "with this member, the whole is too large", ""),
];

#[test]
fn errors_say_where_and_what() {
    let mut types = types();
    for (marked, message, suggestion) in WRONG {
        let start = marked.find('<').unwrap();
        let end = marked.rfind('>').unwrap();
        let text = format!("{}{}{}", &marked[..start], &marked[start + 1..end], &marked[end + 1..]);
        let error = types.define(&text, &nothing).unwrap_err();
        assert_eq!(error.message, *message, "{text}");
        if !suggestion.is_empty() {
            assert_eq!(error.suggestion.as_deref(), Some(*suggestion), "{text}");
        }
        if end > start + 1 {
            assert_eq!(error.at, start..end - 1, "{text}");
        }
        // Nothing of it stays.
        assert!(!matches!(types.spelled("struct a").map(|id| types.get(id)), Some(CType::Record(_))), "{text}");
    }
    let error = types.declared("struct task_strukt *").unwrap_err();
    assert_eq!(error.message, "there is no `struct task_strukt`");
    assert_eq!(error.suggestion.as_deref(), Some("Did you mean `struct task_struct`?"));
    assert_eq!(types.declared("struct path x").unwrap_err().message, "expected a type only, found the name `x`");
}

#[test]
fn deep_nesting_is_refused() {
    let mut types = Types::built_in();
    for (open, close) in [("struct { ", " x; }"), ("(", ")"), ("-", ""), ("*", "")] {
        let (open, close) = (open.repeat(5000), close.repeat(5000));
        let texts = [
            format!("struct a {{ {open}int x;{close} }};"),
            format!("struct a {{ int x[{open}1{close}]; }};"),
            format!("struct a {{ int {open}x{close}; }};"),
        ];
        for text in texts {
            let _result = types.define(&text, &nothing);
        }
    }
    let mut types = Types::built_in();
    let error = types.define(&format!("struct a {{ int x[{}1]; }};", "-".repeat(500)), &nothing).unwrap_err();
    assert_eq!(error.message, "this is nested more than 100 levels deep");
}

const WORDS: [&str; 48] = [
    "struct",
    "union",
    "enum",
    "typedef",
    "int",
    "unsigned",
    "long",
    "char",
    "a",
    "b",
    "x",
    "y",
    "{",
    "}",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ";",
    ";",
    ",",
    ":",
    "*",
    "=",
    "+",
    "-",
    "/",
    "<<",
    "?",
    "1",
    "3",
    "0x10",
    "sizeof",
    "const",
    "void",
    "u32",
    "struct path",
    "__attribute__((packed))",
    "__aligned(8)",
    "~",
    "'a'",
    "/*",
    "\"",
    "TASK_COMM_LEN",
    "64",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_words_are_understood_or_refused(words in proptest::collection::vec(0..WORDS.len(), 0..60)) {
        let text = words.iter().map(|at| WORDS[*at]).collect::<Vec<_>>().join(" ");
        let mut types = Types::built_in();
        match types.define(&text, &nothing) {
            Ok(defined) => for id in defined {
                let _all = (types.render_definition(id), types.size(id), types.align(id), types.field_names(id, 99));
            },
            Err(error) => prop_assert!(error.at.end <= text.len() && !error.message.is_empty()),
        }
        let _declared = types.declared(&text);
    }

    #[test]
    fn any_text_is_understood_or_refused(text in "\\PC{0,80}") {
        let _result = Types::built_in().define(&text, &nothing);
    }
}
