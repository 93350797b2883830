//! Resolves places in this very test program: with its debug information in place, and through a private copy.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{fs::File, os::unix::fs::PermissionsExt, path::Path};

use bathyscope_symbols::{FileError, FileOptions, FileResolver, Place, ProcessMaps};

#[inline(never)]
fn a_function_with_this_name(value: u64) -> u64 {
    std::hint::black_box(value).wrapping_mul(3)
}

/// Offset in the program's file of the function above.
fn offset_of_function() -> u64 {
    let address = a_function_with_this_name as *const () as usize as u64;
    let maps = ProcessMaps::parse(&std::fs::read("/proc/self/maps").unwrap());
    let map = maps.maps.iter().find(|map| (map.start..map.end).contains(&address)).unwrap();
    assert!(map.executable);
    address - map.start + map.file_offset
}

fn resolver(directory: &Path) -> FileResolver {
    let options = FileOptions { private_dir: directory.to_owned(), max_file_bytes: 1 << 30 };
    FileResolver::new(options, rustix::process::getuid().as_raw())
}

#[test]
fn a_function_of_this_program_is_named_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let offset = offset_of_function();
    let program = File::open("/proc/self/exe").unwrap().into();
    let places = [
        Place { offset, is_return: false },
        Place { offset: offset + 4, is_return: true },
        Place { offset: u64::MAX, is_return: false },
    ];
    let symbols = resolver(directory.path()).resolve(&program, &[], &places).unwrap();
    let named = symbols[0].as_ref().unwrap();
    assert!(named.function.ends_with("::a_function_with_this_name"), "{}", named.function);
    assert_eq!(named.offset, 0);
    assert!(named.lines.iter().any(|line| line.file.ends_with("own_program.rs") && line.line > 0), "{named:?}");
    assert_eq!(symbols[1].as_ref().map(|symbol| symbol.offset), Some(4));
    assert_eq!(symbols[2], None);
}

#[test]
fn a_function_of_this_program_has_its_instructions() {
    let directory = tempfile::tempdir().unwrap();
    let start = offset_of_function();
    let path = std::fs::read_link("/proc/self/exe").unwrap();
    let program = File::open(&path).unwrap().into();
    let mut resolver = resolver(directory.path());
    let code = resolver.function(&program, &[], start, start).unwrap();
    assert!(code.length > 0 && code.bytes.len() as u64 == code.length, "{code:?}");
    let at = usize::try_from(start).unwrap();
    assert_eq!(std::fs::read(&path).unwrap()[at..at + code.bytes.len()], code.bytes);
    let within = resolver.function(&program, &[], start, start + code.length - 1).unwrap();
    assert_eq!(within, code);
    // Where no function begins, what is between is given; where no code is, nothing.
    let unknown = resolver.function(&program, &[], start + 1, start + 2).unwrap();
    assert_eq!((unknown.length, unknown.bytes.len()), (0, 17));
    let header = resolver.function(&program, &[], 0, 0).unwrap_err();
    assert!(matches!(header, FileError::NoCode { offset: 0 }), "{header:?}");
    let other = resolver.function(&program, &[0xab; 20], start, start).unwrap_err();
    assert!(matches!(other, FileError::OtherFile { .. }), "{other:?}");
}

#[test]
fn a_file_that_others_can_change_is_read_through_a_copy() {
    let directory = tempfile::tempdir().unwrap();
    let theirs = directory.path().join("theirs");
    std::fs::copy("/proc/self/exe", &theirs).unwrap();
    std::fs::set_permissions(&theirs, std::fs::Permissions::from_mode(0o666)).unwrap();
    let private = tempfile::tempdir().unwrap();
    let program = File::open(&theirs).unwrap().into();
    let place = Place { offset: offset_of_function(), is_return: false };
    let mut resolver = resolver(private.path());
    let symbols = resolver.resolve(&program, &[], &[place]).unwrap();
    assert!(symbols[0].as_ref().unwrap().function.ends_with("::a_function_with_this_name"));
    assert_eq!(std::fs::read_dir(private.path()).unwrap().count(), 0, "the copy stayed");
    File::options().write(true).open(&theirs).unwrap().set_len(4096).unwrap();
    let again = resolver.resolve(&program, &[], &[place]);
    assert!(again.is_err() || again.is_ok_and(|symbols| symbols.len() == 1), "a file cut short ends nobody");
}

#[test]
fn another_file_gives_no_names() {
    let directory = tempfile::tempdir().unwrap();
    let program = File::open("/proc/self/exe").unwrap().into();
    let place = Place { offset: offset_of_function(), is_return: false };
    let refused = resolver(directory.path()).resolve(&program, &[0xab; 20], &[place]);
    assert!(matches!(refused, Err(FileError::OtherFile { .. })), "{refused:?}");
}

#[test]
fn what_is_no_elf_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("text");
    std::fs::write(&text, "secret words").unwrap();
    let error = resolver(directory.path()).resolve(&File::open(&text).unwrap().into(), &[], &[]).unwrap_err();
    assert!(matches!(error, FileError::Elf(_)), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("secret"));
}
