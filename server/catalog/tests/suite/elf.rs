//! ELF files made by hand, this very test, and damaged ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use bathyscope_catalog::{
    constants::Arch,
    elf::{
        ArgumentLocation, CacheError, ElfError, ElfFile, Entry, Instruction, Library, Marker, SourceLines, demangle,
        find_library, parse_library_cache,
    },
};
use proptest::prelude::*;

/// Where the code segment is in the file and in memory, and the data segment behind it.
const CODE: (u64, u64) = (0x1000, 0x40_1000);
const DATA: (u64, u64) = (0x2000, 0x60_3000);
const SEGMENT_BYTES: u64 = 0x200;

fn note(kind: u32, name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut note = Vec::new();
    for number in [name.len() as u32, value.len() as u32, kind] {
        note.extend_from_slice(&number.to_le_bytes());
    }
    for part in [name, value] {
        note.extend_from_slice(part);
        note.resize(note.len().next_multiple_of(4), 0);
    }
    note
}

fn marker(address: u64, base: u64, semaphore: u64, text: &[u8]) -> Vec<u8> {
    let numbers: Vec<u8> = [address, base, semaphore].iter().flat_map(|number| number.to_le_bytes()).collect();
    note(3, b"stapsdt\0", &[&numbers, text].concat())
}

/// A symbol: name, type, section, address, size.
type Symbol<'a> = (&'a str, u8, u16, u64, u64);

struct Maker<'a> {
    machine: u16,
    code: &'a [u8],
    symbols: &'a [Symbol<'a>],
    dynamic: &'a [Symbol<'a>],
    notes: Vec<u8>,
    markers: Vec<u8>,
    /// The address of `.stapsdt.base`.
    base: u64,
    link: &'a [u8],
}

impl Default for Maker<'_> {
    fn default() -> Self {
        let (code, symbols, dynamic, link) = (&[] as &[_], &[] as &[_], &[] as &[_], &[] as &[_]);
        Self { machine: 62, code, symbols, dynamic, notes: Vec::new(), markers: Vec::new(), base: 0, link }
    }
}

fn table(symbols: &[Symbol<'_>]) -> (Vec<u8>, Vec<u8>) {
    let (mut entries, mut strings) = (vec![0; 24], vec![0]);
    for (name, kind, section, address, bytes) in symbols {
        entries.extend_from_slice(&(strings.len() as u32).to_le_bytes());
        entries.extend_from_slice(&[0x10 | kind, 0]);
        entries.extend_from_slice(&section.to_le_bytes());
        entries.extend_from_slice(&address.to_le_bytes());
        entries.extend_from_slice(&bytes.to_le_bytes());
        strings.extend_from_slice(name.as_bytes());
        strings.push(0);
    }
    (entries, strings)
}

impl Maker<'_> {
    fn bytes(&self) -> Vec<u8> {
        let mut file = vec![0; 0x3000];
        file[CODE.0 as usize..][..self.code.len()].copy_from_slice(self.code);
        let ((symbols, strings), (dynamic, dynamic_strings)) = (table(self.symbols), table(self.dynamic));
        // Name, type, link, address, content.
        let sections: [(&str, u32, u32, u64, &[u8]); 10] = [
            ("", 0, 0, 0, &[]),
            (".symtab", 2, 2, 0, &symbols),
            (".strtab", 3, 0, 0, &strings),
            (".dynsym", 11, 4, 0, &dynamic),
            (".dynstr", 3, 0, 0, &dynamic_strings),
            (".note.gnu", 7, 0, 0, &self.notes),
            (".note.stapsdt", 7, 0, 0, &self.markers),
            (".stapsdt.base", 1, 0, self.base, &[0]),
            (".gnu_debuglink", 1, 0, 0, self.link),
            (".shstrtab", 3, 0, 0, &[]),
        ];
        let (mut headers, mut names) = (Vec::new(), Vec::new());
        let mut notes_at = 0;
        for (at, (name, kind, link, address, content)) in sections.into_iter().enumerate() {
            let name_at = names.len() as u32;
            names.extend_from_slice(name.as_bytes());
            names.push(0);
            let start = file.len() as u64;
            let content = if at == 9 { names.clone() } else { content.to_vec() };
            file.extend_from_slice(&content);
            if name == ".note.gnu" {
                notes_at = start;
            }
            for number in [name_at, kind] {
                headers.extend_from_slice(&number.to_le_bytes());
            }
            for number in [0, address, start, content.len() as u64] {
                headers.extend_from_slice(&number.to_le_bytes());
            }
            headers.extend_from_slice(&link.to_le_bytes());
            headers.resize(headers.len().next_multiple_of(64), 0);
        }
        let sections_at = file.len() as u64;
        file.extend_from_slice(&headers);
        file[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\0");
        file[16..18].copy_from_slice(&3_u16.to_le_bytes());
        file[18..20].copy_from_slice(&self.machine.to_le_bytes());
        file[32..40].copy_from_slice(&64_u64.to_le_bytes());
        file[40..48].copy_from_slice(&sections_at.to_le_bytes());
        for (at, number) in [(54, 56_u16), (56, 3), (58, 64), (60, 10), (62, 9)] {
            file[at..at + 2].copy_from_slice(&number.to_le_bytes());
        }
        let notes = (notes_at, 0, self.notes.len() as u64);
        let code = (CODE.0, CODE.1, SEGMENT_BYTES);
        let data = (DATA.0, DATA.1, SEGMENT_BYTES);
        for (at, (kind, flags, (offset, address, bytes))) in
            [(1_u32, 5_u32, code), (1, 6, data), (4, 4, notes)].into_iter().enumerate()
        {
            let entry = &mut file[64 + at * 56..][..56];
            entry[..4].copy_from_slice(&kind.to_le_bytes());
            entry[4..8].copy_from_slice(&flags.to_le_bytes());
            for (place, number) in [(8, offset), (16, address), (32, bytes), (40, bytes)] {
                entry[place..place + 8].copy_from_slice(&number.to_le_bytes());
            }
        }
        file
    }
}

#[test]
fn functions_are_found_by_name_and_place() {
    let base = CODE.1;
    let symbols = [
        ("main", 2, 1, base, 16),
        ("helper", 2, 1, base + 0x40, 8),
        ("helper", 2, 1, base + 0x80, 8),
        ("alias", 2, 1, base + 0x40, 8),
        ("imported", 2, 0, 0, 0),
        ("variable", 1, 2, DATA.1, 8),
        ("nowhere", 2, 1, 0x10, 8),
        ("", 2, 1, base + 0x20, 8),
        ("unsized", 2, 1, base + 0xc0, 0),
    ];
    let dynamic = [("main", 2, 1, base, 16), ("_ZN3foo3barEi", 2, 1, base + 0x100, 4)];
    let bytes = Maker { symbols: &symbols, dynamic: &dynamic, ..Maker::default() }.bytes();
    let file = ElfFile::parse(&bytes).unwrap();
    let functions = file.functions().unwrap();
    let found: Vec<_> =
        functions.iter().map(|symbol| (symbol.name, symbol.offset, symbol.address, symbol.bytes)).collect();
    let at = |offset: u64| (CODE.0 + offset, base + offset);
    let expected = [
        ("main", at(0), 16),
        ("alias", at(0x40), 8),
        ("helper", at(0x40), 8),
        ("helper", at(0x80), 8),
        ("unsized", at(0xc0), 0),
        ("_ZN3foo3barEi", at(0x100), 4),
    ];
    assert_eq!(found, expected.map(|(name, (offset, address), bytes)| (name, offset, address, bytes)));
    assert_eq!(functions.named("helper").len(), 2);
    assert!(functions.named("imported").is_empty());
    let name_at = |offset: u64| functions.at(CODE.0 + offset).map(|symbol| symbol.name);
    assert_eq!((name_at(0), name_at(15), name_at(16)), (Some("main"), Some("main"), None));
    assert_eq!(
        (name_at(0x47), name_at(0xd0), name_at(0x102)),
        (Some("helper"), Some("unsized"), Some("_ZN3foo3barEi"))
    );
    assert_eq!(functions.at(0), None);
    let names = ["variable", "main", "imported", "no such symbol"].map(str::to_owned);
    let symbols = [("main".to_owned(), base, 16), ("variable".to_owned(), DATA.1, 8)];
    assert_eq!(file.symbols_named(&names).unwrap(), symbols);
    assert_eq!(file.symbols_named(&[]).unwrap(), []);
    assert_eq!((file.offset_of(base + 5), file.address_of(CODE.0 + 5)), (Some(CODE.0 + 5), Some(base + 5)));
    assert_eq!((file.offset_of(base + SEGMENT_BYTES), file.is_code(CODE.0), file.is_code(DATA.0)), (None, true, false));
}

#[test]
fn notes_and_links_are_read() {
    let notes = [note(4, b"Go\0\0", b"abc"), note(3, b"GNU\0", &[0xab; 20])].concat();
    let bytes = Maker { notes, link: b"name.debug\0\0\x78\x56\x34\x12", ..Maker::default() }.bytes();
    let file = ElfFile::parse(&bytes).unwrap();
    assert_eq!(file.arch(), Arch::X86_64);
    assert_eq!(file.build_id(), Some(vec![0xab; 20]));
    assert!(file.is_go());
    assert_eq!(file.debug_link(), Some((b"name.debug".to_vec(), 0x1234_5678)));
    let bytes = Maker { machine: 183, link: b"../../etc/passwd\0\0\0\0\x78\x56\x34\x12", ..Maker::default() }.bytes();
    let file = ElfFile::parse(&bytes).unwrap();
    assert_eq!((file.arch(), file.build_id(), file.is_go(), file.debug_link()), (Arch::Aarch64, None, false, None));
}

#[test]
fn the_first_instruction_decides_where_to_probe() {
    let mut code = vec![0xf3, 0x0f, 0x1e, 0xfa, 0x55];
    code.resize(16, 0xcc);
    code.extend_from_slice(&[0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x08]);
    code.resize(32, 0xcc);
    code.extend_from_slice(&[0x41, 0x54]);
    let bytes = Maker { code: &code, ..Maker::default() }.bytes();
    let file = ElfFile::parse(&bytes).unwrap();
    let entry = |offset| file.entry(CODE.0 + offset);
    assert_eq!((entry(0), entry(0).skip()), (Entry { marker_bytes: 4, instruction: Instruction::Push }, 4));
    assert_eq!((entry(16).skip(), entry(16).stepped()), (0, true));
    assert_eq!((entry(32).skip(), entry(32).stepped()), (0, false));
    assert_eq!(file.entry(DATA.0).instruction, Instruction::Unknown, "data is no code");
}

#[test]
fn markers_have_arguments_and_semaphores() {
    let symbols = [("counter", 1, 2, DATA.1 + 0x20, 8)];
    let markers = [
        marker(CODE.1 + 0x10, 0x500, DATA.1 + 8, b"app\0start\0-4@%edi 8@8(%rsp) 8f@%xmm0 2@$-7\0"),
        // Moved after linking: everything is 0x100 further than the note says.
        marker(CODE.1 - 0x80, 0x400, DATA.1 - 0xf8, b"app\0moved\0 8@counter(%rip)\0"),
        marker(CODE.1 + 0x30, 0x500, 0, b"app\0bare\0\0"),
        marker(0x10, 0x500, 0, b"app\0outside\0\0"),
        marker(CODE.1, 0x500, 0, b"\0nameless\0\0"),
        note(7, b"stapsdt\0", &[0; 40]),
        note(3, b"stapsdt\0", &[0; 5]),
    ];
    let bytes = Maker { symbols: &symbols, markers: markers.concat(), base: 0x500, ..Maker::default() }.bytes();
    let found = ElfFile::parse(&bytes).unwrap().markers().unwrap();
    let heads: Vec<_> = found.iter().map(|m| (m.provider.as_str(), m.name.as_str(), m.offset, m.semaphore)).collect();
    let (code, data) = (CODE.0, DATA.0);
    let expected = [
        ("app", "start", code + 0x10, Some(data + 8)),
        ("app", "moved", code + 0x80, Some(data + 8)),
        ("app", "bare", code + 0x30, None),
    ];
    assert_eq!(heads, expected);
    let Marker { arguments, .. } = &found[0];
    let shown: Vec<_> = arguments.iter().map(|a| (a.bytes, a.signed, a.float, a.text.as_str())).collect();
    let expected = [
        (4, true, false, "-4@%edi"),
        (8, false, false, "8@8(%rsp)"),
        (8, false, true, "8f@%xmm0"),
        (2, false, false, "2@$-7"),
    ];
    assert_eq!(shown, expected);
    let places: Vec<_> = arguments.iter().map(|argument| argument.place.clone()).collect();
    let memory = |base, displacement| ArgumentLocation::Memory { base: Some(base), index: None, displacement };
    let expected = [
        ArgumentLocation::Register { pt_regs: 112, shift: 0 },
        memory(152, 8),
        ArgumentLocation::Unreadable,
        ArgumentLocation::Constant(-7),
    ];
    assert_eq!(places, expected);
    let from_here = (DATA.1 + 0x20 - (CODE.1 + 0x80)).cast_signed();
    assert_eq!(found[1].arguments[0].place, memory(128, from_here));
    assert!(found[2].arguments.is_empty());
}

#[test]
fn this_test_finds_itself() {
    let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let file = ElfFile::parse(&bytes).unwrap();
    let functions = file.functions().unwrap();
    let itself = functions.iter().find(|symbol| {
        let name = demangle(symbol.name);
        name.contains("Maker") && name.ends_with("::bytes")
    });
    let itself = itself.expect("a test has symbols");
    assert!(file.is_code(itself.offset) && itself.bytes > 0);
    assert_eq!(functions.at(itself.offset + 1).map(|symbol| symbol.offset), Some(itself.offset));
    assert_ne!(file.entry(itself.offset).instruction, Instruction::Unknown);
    assert!(!file.is_go() && !file.is_fixed());
    assert_eq!(file.arch(), Arch::HOST);
}

#[test]
fn other_files_are_refused() {
    let good = Maker { symbols: &[("main", 2, 1, CODE.1, 16)], ..Maker::default() }.bytes();
    let with = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        ElfFile::parse(&file).map(|_| ())
    };
    assert_eq!(with(0, b"MZ"), Err(ElfError::NotElf));
    assert_eq!(with(4, &[1]), Err(ElfError::NotElf));
    assert_eq!(with(5, &[2]), Err(ElfError::NotElf));
    assert_eq!(with(18, &[40, 0]), Err(ElfError::Machine { machine: 40 }));
    assert_eq!(with(32, &[0xff; 8]), Err(ElfError::Damaged { what: "its program headers" }));
    assert_eq!(with(40, &[0xff; 8]), Err(ElfError::Damaged { what: "its section headers" }));
    assert!(ElfFile::parse(&good[..100].to_vec()).is_err());
    assert!(ElfFile::parse(&Vec::new()).is_err());
}

fn cache(libraries: &[(&str, &str, u32)], old: bool) -> Vec<u8> {
    let strings_at = 48 + libraries.len() * 24;
    let (mut entries, mut strings) = (Vec::new(), Vec::new());
    for (name, path, flags) in libraries {
        let mut place = |text: &str| {
            let at = (strings_at + strings.len()) as u32;
            strings.extend_from_slice(text.as_bytes());
            strings.push(0);
            at
        };
        for number in [*flags, place(name), place(path), 0, 0, 0] {
            entries.extend_from_slice(&number.to_le_bytes());
        }
    }
    let mut bytes = b"glibc-ld.so.cache1.1".to_vec();
    bytes.extend_from_slice(&(libraries.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(strings.len() as u32).to_le_bytes());
    bytes.resize(48, 0);
    bytes.extend_from_slice(&entries);
    bytes.extend_from_slice(&strings);
    if old {
        let mut before = b"ld.so-1.7.0\0".to_vec();
        before.extend_from_slice(&1_u32.to_le_bytes());
        before.resize(32, 7);
        bytes = [before, bytes].concat();
    }
    bytes
}

const LIBRARIES: [(&str, &str, u32); 7] = [
    ("libssl.so.3", "/lib/libssl.so.3", 0x0303),
    ("libssl.so", "/lib/libssl.so", 0x0303),
    ("libc.so.6", "/lib/libc.so.6", 0x0303),
    ("libc.so.6", "/lib32/libc.so.6", 0x0003),
    ("libc.so.6", "/arm/libc.so.6", 0x0a03),
    ("libcap.so.2", "/lib/libcap.so.2", 0x0303),
    ("plugin.so", "/lib/plugin.so", 0x0303),
];

#[test]
fn libraries_have_short_names() {
    for old in [false, true] {
        let libraries = parse_library_cache(&cache(&LIBRARIES, old)).unwrap();
        assert_eq!(libraries.len(), LIBRARIES.len());
        let of = |arch| move |library: &&Library| library.arch == Some(arch);
        assert_eq!(libraries.iter().filter(of(Arch::Aarch64)).count(), 1);
        let paths = |arch, name: &str| -> Vec<String> {
            find_library(&libraries, arch, name).into_iter().map(|library| library.path.clone()).collect()
        };
        let cases: [(&str, &[&str]); 9] = [
            ("libc.so.6", &["/lib/libc.so.6"]),
            ("libc", &["/lib/libc.so.6"]),
            ("c", &["/lib/libc.so.6"]),
            ("libc.so", &["/lib/libc.so.6"]),
            ("libssl", &["/lib/libssl.so", "/lib/libssl.so.3"]),
            ("libssl.so.3", &["/lib/libssl.so.3"]),
            ("plugin", &["/lib/plugin.so"]),
            ("lib", &[]),
            ("", &[]),
        ];
        for (name, expected) in cases {
            assert_eq!(paths(Arch::X86_64, name), expected, "{name}");
        }
        assert_eq!(paths(Arch::Aarch64, "c"), ["/arm/libc.so.6"]);
    }
    assert_eq!(parse_library_cache(b"something else"), Err(CacheError::NotCache));
    let mut cut = cache(&LIBRARIES, false);
    cut.truncate(100);
    assert_eq!(parse_library_cache(&cut), Err(CacheError::Damaged));
}

/// Calls everything that looks at a file.
fn ask_everything(bytes: &[u8]) {
    let Ok(file) = ElfFile::parse(&bytes) else { return };
    let _notes = (file.build_id(), file.is_go(), file.debug_link(), file.markers());
    if let Ok(functions) = file.functions() {
        for symbol in functions.iter() {
            let _all = (demangle(symbol.name), file.entry(symbol.offset), functions.at(symbol.offset));
        }
    }
}

proptest! {
    #[test]
    fn changed_bytes_do_no_harm(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..16)) {
        let symbols = [("main", 2, 1, CODE.1, 16), ("_ZN3foo3barEi", 2, 1, CODE.1 + 0x100, 4)];
        let markers = marker(CODE.1 + 0x10, 0x500, DATA.1 + 8, b"app\0start\0-4@%edi 8@main+8(%rip) 8@(%rax,%rbx,8)\0");
        let notes = note(3, b"GNU\0", &[0xab; 20]);
        let mut bytes = Maker { symbols: &symbols, dynamic: &symbols, markers, notes, base: 0x500, ..Maker::default() }.bytes();
        for (at, byte) in changes {
            // The headers at the beginning and everything behind the segments, not the empty bytes between.
            let at = at.index(256 + bytes.len() - 0x3000);
            let at = if at < 256 { at } else { at - 256 + 0x3000 };
            bytes[at] = byte;
        }
        ask_everything(&bytes);
    }

    #[test]
    fn garbage_does_no_harm(garbage in proptest::collection::vec(any::<u8>(), 0..512), text in "\\PC{0,60}") {
        ask_everything(&garbage);
        let mut file = b"\x7fELF\x02\x01".to_vec();
        file.extend_from_slice(&garbage);
        ask_everything(&file);
        let _cache = parse_library_cache(&garbage);
        let mut bytes = b"glibc-ld.so.cache1.1".to_vec();
        bytes.extend_from_slice(&garbage);
        let _cache = parse_library_cache(&bytes);
        let _names = (demangle(&text), demangle(&format!("_Z{text}")), demangle(&format!("_R{text}")));
    }
}

#[test]
fn source_lines_lead_to_the_functions_that_they_are_in() {
    let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let elf = ElfFile::parse(&bytes).unwrap();
    let lines = SourceLines::read(&elf, &|_compressed| None).unwrap();
    // A constant is no code.
    let here = line!() + 1;
    let found = lines.find("suite/elf.rs", here, 1);
    assert_eq!(found.iter().map(|line| line.line).collect::<Vec<_>>(), [here]);
    let functions = elf.functions().unwrap();
    let names: Vec<&str> = found[0]
        .addresses
        .iter()
        .filter_map(|address| functions.at(elf.offset_of(*address)?).map(|symbol| symbol.name))
        .collect();
    assert!(names.iter().any(|name| name.contains("source_lines_lead_to")), "{names:?}");
    assert!(lines.find("no_such_file.rs", 1, 9).is_empty());
    assert!(lines.files().any(|file| file.ends_with("suite/elf.rs")));
}
