//! BTF made by hand, broken BTF, and recorded BTF.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::{fmt::Write as _, sync::Arc};

use bathyscope_catalog::types::{
    Btf, BtfError, BtfId, CType, Completions, MAX_DEPTH, Member, Notes, Parameter, TypeId, TypeKind, Types,
};
use proptest::prelude::*;

/// Writes BTF type by type.
struct Maker {
    types: Vec<u8>,
    strings: Vec<u8>,
    /// Bytes of strings that the base has.
    before: u32,
    count: u32,
}

impl Maker {
    fn new() -> Self {
        Self { types: Vec::new(), strings: vec![0], before: 0, count: 0 }
    }

    fn on(base: &Self) -> Self {
        Self { types: Vec::new(), strings: Vec::new(), before: base.strings.len() as u32, count: base.count }
    }

    fn name(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let at = self.before + self.strings.len() as u32;
        self.strings.extend_from_slice(name.as_bytes());
        self.strings.push(0);
        at
    }

    /// A type's head and the numbers behind it; gives its number.
    fn add(&mut self, name: &str, kind: u32, count: usize, size_or_type: u32, rest: &[u32]) -> u32 {
        let name = self.name(name);
        for number in [name, kind << 24 | count as u32, size_or_type].iter().chain(rest) {
            self.types.extend_from_slice(&number.to_le_bytes());
        }
        self.count += 1;
        self.count
    }

    fn int(&mut self, name: &str, bytes: u32, encoding: u32) -> u32 {
        self.add(name, 1, 0, bytes, &[(encoding << 24) | (bytes * 8)])
    }

    fn record(&mut self, name: &str, kind: u32, bytes: u32, members: &[(&str, u32, u32)]) -> u32 {
        let rest: Vec<u32> = members.iter().flat_map(|(name, ty, at)| [self.name(name), *ty, *at]).collect();
        self.add(name, kind, members.len(), bytes, &rest)
    }

    fn function(&mut self, name: &str, returns: u32, parameters: &[(&str, u32)]) -> u32 {
        let rest: Vec<u32> = parameters.iter().flat_map(|(name, ty)| [self.name(name), *ty]).collect();
        let prototype = self.add("", 13, parameters.len(), returns, &rest);
        if name.is_empty() { prototype } else { self.add(name, 12, 0, prototype, &[]) }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        let types = self.types.len() as u32;
        for number in [24, 0, types, types, self.strings.len() as u32] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.types);
        bytes.extend_from_slice(&self.strings);
        bytes
    }
}

const FLAG: u32 = 1 << 7;

/// A kernel with one of everything.
fn kernel() -> Maker {
    let mut m = Maker::new();
    let int = m.int("int", 4, 1);
    let char = m.int("char", 1, 0);
    let long = m.int("long unsigned int", 8, 0);
    let bool = m.int("_Bool", 1, 4);
    let u32_ = m.add("u32", 8, 0, int, &[]);
    let constant = m.add("", 10, 0, char, &[]);
    let text = m.add("", 2, 0, constant, &[]);
    let comm = m.add("", 3, 0, 0, &[char, long, 16]);
    let row = m.add("", 3, 0, 0, &[int, long, 3]);
    let matrix = m.add("", 3, 0, 0, &[row, long, 2]);
    let open = m.add("", 3, 0, 0, &[char, long, 0]);
    // Bitfields in the new encoding.
    let inner = m.record("", 4 | FLAG, 4, &[("low", u32_, 3 << 24), ("high", u32_, 5 << 24 | 3), ("plain", char, 16)]);
    let either = m.record("", 5, 8, &[("", inner, 0), ("whole", long, 0)]);
    // And in the old one: an integer type of two bits, the second in its byte.
    let narrow = m.add("int", 1, 0, 4, &[1 << 24 | 1 << 16 | 2]);
    m.record("old", 4, 8, &[("a", int, 0), ("b", narrow, 32)]);
    let user = m.add("user", 18, 0, char, &[]);
    let user_text = m.add("", 2, 0, user, &[]);
    let forward = m.add("later", 7, 0, 0, &[]);
    let to_forward = m.add("", 2, 0, forward, &[]);
    let task = m.count + 2;
    let parent = m.add("", 2, 0, task, &[]);
    let members = [
        ("pid", u32_, 0),
        ("comm", comm, 32),
        ("", either, 192),
        ("parent", parent, 256),
        ("name", text, 320),
        ("buffer", user_text, 384),
        ("next", to_forward, 448),
        ("matrix", matrix, 512),
        ("ok", bool, 704),
        ("tail", open, 712),
    ];
    m.record("task", 4, 96, &members);
    m.record("later", 4, 8, &[("x", long, 0)]);
    let colours: Vec<u32> = [("RED", 0), ("GREEN", 7)].iter().flat_map(|(n, v)| [m.name(n), *v]).collect();
    m.add("colour", 6, 2, 4, &colours);
    let signed: Vec<u32> = [("MINUS", u32::MAX), ("PLUS", 1)].iter().flat_map(|(n, v)| [m.name(n), *v]).collect();
    m.add("sign", 6 | FLAG, 2, 4, &signed);
    let large = [m.name("LARGE"), 5, 1];
    m.add("large", 19, 1, 8, &large);
    m.add("colour", 6, 0, 4, &[]);
    let task_pointer = parent;
    m.function("vfs_read", long, &[("task", task_pointer), ("count", long)]);
    let kfunc = m.function("bpf_made_kfunc", long, &[]);
    m.add("bpf_kfunc", 17, 0, kfunc, &[u32::MAX]);
    m.function("printk", int, &[("fmt", text), ("", 0)]);
    let proto = m.function("", 0, &[("", parent), ("", bool), ("", task_pointer)]);
    let pointer = m.add("", 2, 0, proto, &[]);
    m.add("btf_trace_switch", 8, 0, pointer, &[]);
    m.function("__bpf_trace_switch", 0, &[("__data", parent), ("preempt", bool), ("prev", task_pointer)]);
    let variable = m.add("runqueue", 14, 0, task, &[1]);
    m.add(".data..percpu", 15, 1, 4096, &[variable, 64, 96]);
    m.add("double", 16, 0, 8, &[]);
    m
}

fn types() -> Types {
    Types::new(Arc::new(Btf::parse(kernel().bytes()).unwrap()))
}

#[test]
fn names_lead_to_types() {
    let types = types();
    let cases = [
        ("struct task", "struct task", Some(96)),
        ("struct  task", "struct task", Some(96)),
        ("const struct task", "struct task", Some(96)),
        ("union task", "", None),
        ("task", "", None),
        ("struct later", "struct later", Some(8)),
        ("enum colour", "enum colour", Some(4)),
        ("u32", "u32", Some(4)),
        ("int", "int", Some(4)),
        ("unsigned", "unsigned int", Some(4)),
        ("long unsigned int", "unsigned long", Some(8)),
        ("unsigned long long", "unsigned long long", Some(8)),
        ("short int", "short", Some(2)),
        ("signed char", "signed char", Some(1)),
        ("long double", "long double", Some(16)),
        ("unsigned long double", "", None),
        ("long short", "", None),
        ("uint8", "uint8", Some(1)),
        ("int64", "int64", Some(8)),
        ("uint64_t", "uint64_t", Some(8)),
        ("size_t", "size_t", Some(8)),
        ("pid_t", "pid_t", Some(4)),
        ("bool", "bool", Some(1)),
        ("void", "void", None),
        ("", "", None),
        ("struct", "", None),
        ("struct ", "", None),
    ];
    for (name, rendered, size) in cases {
        let id = types.spelled(name);
        assert_eq!(id.map(|id| types.render(id)).unwrap_or_default(), rendered, "{name:?}");
        assert_eq!(id.and_then(|id| types.size(id)), size, "{name:?}");
    }
    assert_eq!(types.closest(TypeKind::Struct, "taks"), Some("task"));
    assert_eq!(types.closest_constant("GREN"), Some("GREEN"));
    assert_eq!(types.complete(TypeKind::Function, "v", 9), Completions { total: 1, names: vec!["vfs_read"] });
    assert_eq!(types.complete(TypeKind::Struct, "", 2), Completions { total: 3, names: vec!["later", "old"] });
    assert_eq!(types.complete_constants("", 2), Completions { total: 5, names: vec!["GREEN", "LARGE"] });
    let built_in = Types::built_in();
    assert_eq!(
        built_in.spelled("u64").and_then(|id| built_in.integer(id)).map(|int| (int.bytes, int.signed)),
        Some((8, false))
    );
    assert_eq!(built_in.spelled("struct task"), None);
}

#[test]
fn members_have_their_places() {
    let types = types();
    let task = types.spelled("struct task").unwrap();
    let cases = [
        ("pid", Some((0, None, "u32"))),
        ("comm", Some((32, None, "char[16]"))),
        ("low", Some((192, Some(3), "u32"))),
        ("high", Some((195, Some(5), "u32"))),
        ("plain", Some((208, None, "char"))),
        ("whole", Some((192, None, "long unsigned int"))),
        ("name", Some((320, None, "const char *"))),
        ("next", Some((448, None, "struct later *"))),
        ("matrix", Some((512, None, "int[2][3]"))),
        ("tail", Some((712, None, "char[]"))),
        ("x", None),
        ("", None),
    ];
    for (name, expected) in cases {
        let field = types.field(task, name);
        let found = field.map(|field| (field.bit_offset, field.bits, types.render(field.ty)));
        assert_eq!(found, expected.map(|(at, bits, ty)| (at, bits, ty.to_owned())), "{name}");
    }
    let paths = [
        ("matrix[1][2]", Some(512 + 5 * 32)),
        ("comm[15]", Some(32 + 120)),
        ("pid", Some(0)),
        ("parent.pid", None),
        ("matrix[", None),
        ("matrix[x]", None),
        ("pid[0]", None),
        ("", None),
        ("comm[18446744073709551615]", None),
    ];
    for (path, expected) in paths {
        assert_eq!(types.field_path(task, path).map(|field| field.bit_offset), expected, "{path}");
    }
    let names =
        ["pid", "comm", "low", "high", "plain", "whole", "parent", "name", "buffer", "next", "matrix", "ok", "tail"];
    assert_eq!(types.field_names(task, 99), names);
    assert_eq!(types.field_names(task, 3), &names[..3]);
    let old: Vec<_> = types.members(types.spelled("struct old").unwrap()).map(|m| (m.bit_offset, m.bits)).collect();
    assert_eq!(old, [(0, None), (33, Some(2))]);
    assert_eq!(types.field(types.spelled("u32").unwrap(), "pid"), None);
    let Member { name, .. } = types.members(task).nth(2).unwrap();
    assert_eq!(name, "");
}

#[test]
fn pointers_keep_notes_and_forwards_become_definitions() {
    let types = types();
    let task = types.spelled("struct task").unwrap();
    let pointed = |name| types.pointer(types.field(task, name).unwrap().ty).unwrap();
    assert_eq!(pointed("buffer").notes, Notes { user: true, ..Notes::default() });
    assert_eq!(pointed("name").notes, Notes { constant: true, ..Notes::default() });
    assert_eq!(types.render(pointed("buffer").to), "char");
    assert_eq!(pointed("parent").to, task);
    let next = pointed("next").to;
    assert!(matches!(types.get(next), CType::Forward { name: "later", kind: TypeKind::Struct }));
    assert_eq!(types.size(next), Some(8));
    assert_eq!(types.field(next, "x").map(|field| field.bit_offset), Some(0));
    assert_eq!(types.pointer(task), None);
    let int = types.integer(types.spelled("u32").unwrap()).unwrap();
    assert_eq!((int.bytes, int.signed, int.of), (4, true, None));
    let flag = types.integer(types.field(task, "ok").unwrap().ty).unwrap();
    assert!(flag.boolean);
    assert_eq!((types.align(task), types.align(types.field(task, "comm").unwrap().ty)), (Some(8), Some(1)));
}

#[test]
fn enums_have_constants() {
    let types = types();
    let cases = [("RED", 0, false), ("GREEN", 7, false), ("MINUS", -1, true), ("LARGE", 1 << 32 | 5, false)];
    for (name, value, signed) in cases {
        let found = types.constant(name).unwrap();
        assert_eq!((found.name, found.value, found.signed), (name, value, signed));
        assert_eq!(types.constant_name(found.of, value), Some(name));
    }
    let colour = types.spelled("enum colour").unwrap();
    assert_eq!(types.constant_name(colour, 7 | 1 << 40), Some("GREEN"), "more bits than the enum has");
    assert_eq!((types.constant_name(colour, 9), types.constant("BLUE"), types.constant("")), (None, None, None));
    let int = types.integer(colour).unwrap();
    assert_eq!((int.bytes, int.signed, int.of), (4, false, Some(colour)));
}

#[test]
fn functions_tracepoints_and_variables_are_described() {
    let types = types();
    let read = types.function(Some("vmlinux"), "vfs_read").unwrap();
    assert_eq!(types.render(read.id), "long unsigned int vfs_read(struct task *task, long unsigned int count)");
    let printk = types.signature(types.functions("printk")[0].id).unwrap();
    assert_eq!((printk.parameters.len(), printk.variadic), (1, true));
    assert_eq!(types.render(types.functions("printk")[0].id), "int printk(const char *fmt, ...)");
    let switch = types.raw_tracepoint("switch").unwrap();
    let names: Vec<_> = switch.parameters.iter().map(|Parameter { name, ty }| (*name, types.render(*ty))).collect();
    assert_eq!(names, [("preempt", "_Bool".to_owned()), ("prev", "struct task *".to_owned())]);
    assert!(types.btf_id(switch.id).is_some());
    assert_eq!(types.complete_raw_tracepoints("sw", 9).names, ["switch"]);
    let variable = types.variable("runqueue").unwrap();
    assert_eq!((variable.section, variable.offset, variable.bytes), (".data..percpu", 64, 96));
    assert!(variable.percpu());
    assert_eq!((types.function(Some("none"), "vfs_read"), types.variable("vfs_read")), (None, None));
    let tagged = |name, tag| types.is_tagged(types.functions(name)[0].id, tag);
    assert_eq!((tagged("bpf_made_kfunc", "bpf_kfunc"), tagged("vfs_read", "bpf_kfunc")), (Some(true), Some(false)));
    assert_eq!(tagged("vfs_read", "no such tag"), None);
}

#[test]
fn definitions_are_written_as_c() {
    let types = types();
    let task = types.spelled("struct task").unwrap();
    let expected = "struct task {\n\tu32 pid;\n\tchar comm[16];\n\tunion {\n\t\tstruct {\n\t\t\tu32 low: 3;\n\t\t\tu32 high: 5;\n\
                    \t\t\tchar plain;\n\t\t};\n\t\tlong unsigned int whole;\n\t};\n\tstruct task *parent;\n\tconst char *name;\n\
                    \tchar *buffer;\n\tstruct later *next;\n\tint matrix[2][3];\n\t_Bool ok;\n\tchar tail[];\n};\n";
    assert_eq!(types.render_definition(task), expected);
    let sign = types.spelled("enum sign").unwrap();
    assert_eq!(types.render_definition(sign), "enum sign {\n\tMINUS = -1,\n\tPLUS = 1,\n};\n");
    assert_eq!(types.render_definition(types.spelled("u32").unwrap()), "typedef int u32;\n");
    assert_eq!(types.render_definition(TypeId::VOID), "void;\n");
}

#[test]
fn modules_go_on_where_the_kernel_ends() {
    let base = kernel();
    let mut m = Maker::on(&base);
    // The kernel's second type is `char`; its name at 1 is "int".
    let pointer = m.add("", 2, 0, 2, &[]);
    let record = m.record("in_module", 4, 8, &[("text", pointer, 0)]);
    m.function("vfs_read", 1, &[("of", record)]);
    let mut second = Maker::on(&base);
    second.record("in_second", 4, 4, &[("x", 1, 0)]);
    let kernel = Arc::new(Btf::parse(base.bytes()).unwrap());
    let module = |name: &str, maker: &Maker| Arc::new(Btf::parse_module(name, maker.bytes(), &kernel).unwrap());
    let (first, second) = (module("first", &m), module("second", &second));
    let mut types = Types::new(Arc::clone(&kernel));
    types.add_module(first).unwrap();
    types.add_module(Arc::clone(&second)).unwrap();
    let found = types.spelled("struct in_module").unwrap();
    assert_eq!(types.render_definition(found), "struct in_module {\n\tchar *text;\n};\n");
    let btf_id = types.btf_id(found).unwrap();
    assert_eq!(btf_id, BtfId { module: Some("first"), id: record });
    assert_eq!(types.of_btf_id(btf_id), Some(found));
    assert_eq!(types.btf_id(types.spelled("struct in_second").unwrap()).unwrap().id, base.count + 1);
    assert_eq!(types.btf_id(types.spelled("struct task").unwrap()).unwrap().module, None);
    let modules: Vec<_> = types.functions("vfs_read").iter().map(|function| function.module).collect();
    assert_eq!(modules, [None, Some("first")]);
    let in_module = types.function(Some("first"), "vfs_read").unwrap();
    assert_eq!(types.render(in_module.id), "int vfs_read(struct in_module of)");
    let other = Types::new(Arc::new(Btf::parse(base.bytes()).unwrap())).add_module(second);
    assert_eq!(other, Err(BtfError::OtherBase { module: "second".to_owned() }));
}

#[test]
fn damaged_files_are_refused() {
    let good = kernel().bytes();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        Btf::parse(bytes).map(|btf| btf.len())
    };
    assert!(matches!(with(0, 0xeb), Err(BtfError::NotBtf)));
    assert!(matches!(with(4, 23), Err(BtfError::Damaged { what: "its header", .. })));
    assert!(matches!(with(15, 0x7f), Err(BtfError::Damaged { .. })));
    assert!(matches!(with(24 + 7, 31), Err(BtfError::UnknownKind { kind: 31, id: 1 })));
    assert!(matches!(with(good.len() - 1, 1), Err(BtfError::Damaged { what: "its strings do not end", .. })));
    assert!(matches!(Btf::parse(Vec::new()), Err(BtfError::NotBtf)));
    assert!(Btf::parse(good[..good.len() - 1].to_vec()).is_err());
}

#[test]
fn circles_end() {
    let mut m = Maker::new();
    // A typedef of itself, an array of itself, a struct that holds itself without a name, and a pointer to itself.
    m.add("loop", 8, 0, 1, &[]);
    m.add("", 3, 0, 0, &[2, 2, 3]);
    m.record("inside", 4, 8, &[("", 3, 0), ("", 3, 0), ("end", 1, 0)]);
    m.add("", 2, 0, 4, &[]);
    m.function("round", 0, &[("f", 5)]);
    m.record("", 4, 8, &[("", 7, 0), ("x", 7, 0), ("y", 7, 64)]);
    let deep = m.count + 1;
    for level in 0..70 {
        // Each level twice: looking at all of them would never end.
        let below = if level == 0 { 1 } else { deep + level - 1 };
        m.record("", 4, 8, &[("", below, 0), ("", below, 0)]);
    }
    let types = Types::new(Arc::new(Btf::parse(m.bytes()).unwrap()));
    for id in 1..=m.count {
        ask_everything(&types, types.of_btf_id(BtfId { module: None, id }).unwrap());
    }
    assert_eq!(types.size(types.spelled("loop").unwrap()), None);
    assert_eq!(types.field(types.spelled("struct inside").unwrap(), "nothing"), None);
    const { assert!(MAX_DEPTH < 70) }
}

/// Calls everything that looks at a type.
fn ask_everything(types: &Types, id: TypeId) {
    let mut text = types.render(id);
    text.push_str(&types.render_definition(id));
    write!(text, "{:?} {:?} {:?} {:?}", types.get(id), types.strip(id), types.size(id), types.align(id)).unwrap();
    write!(text, "{:?} {:?} {:?}", types.integer(id), types.pointer(id), types.signature(id)).unwrap();
    for name in types.field_names(id, 50) {
        write!(text, "{:?}", types.field(id, name)).unwrap();
    }
    write!(text, "{:?} {:?}", types.field(id, "pid"), types.field_path(id, "matrix[1][1]")).unwrap();
    write!(text, "{:?}", types.constants(id).map(|c| types.constant_name(id, c.value)).collect::<Vec<_>>()).unwrap();
    assert!(text.len() < 64 << 20);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn changed_bytes_do_no_harm(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12)) {
        let maker = kernel();
        let mut bytes = maker.bytes();
        for (at, byte) in &changes {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        if let Ok(btf) = Btf::parse(bytes.clone()) {
            let btf = Arc::new(btf);
            let mut types = Types::new(Arc::clone(&btf));
            if let Ok(module) = Btf::parse_module("m", bytes, &btf) {
                types.add_module(Arc::new(module)).unwrap();
            }
            for number in 0..(2 * maker.count) {
                if let Some(id) = types.of_btf_id(BtfId { module: None, id: number }) {
                    ask_everything(&types, id);
                }
            }
            for name in ["struct task", "u32", "enum colour", "struct later"] {
                let _found = types.spelled(name).map(|id| ask_everything(&types, id));
            }
            let _all = (types.constant("GREEN"), types.functions("vfs_read"), types.raw_tracepoint("switch"));
            let names = (types.complete(TypeKind::Struct, "", 5), types.closest(TypeKind::Function, "vfs"));
            let _more = (types.variable("runqueue"), names);
            let _defined = types.define("struct mine { struct task *t; struct later l; u32 n[GREEN]; };", &|_| None);
        }
    }

    #[test]
    fn garbage_does_no_harm(garbage in proptest::collection::vec(any::<u8>(), 0..256)) {
        let _parsed = Btf::parse(garbage.clone());
        let mut bytes = kernel().bytes();
        bytes.truncate(24);
        bytes.extend_from_slice(&garbage);
        let _parsed = Btf::parse(bytes);
    }
}
