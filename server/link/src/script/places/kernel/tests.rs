//! Tests of [`super`].

use std::process::Command;

use super::*;

#[test]
fn the_debug_file_of_the_build_is_looked_for_first() {
    let paths = candidates("6.12.1-amd64", "abcdef");
    assert_eq!(paths[0], "/usr/lib/debug/.build-id/ab/cdef.debug");
    assert!(paths.contains(&"/usr/lib/debug/boot/vmlinux-6.12.1-amd64".to_owned()));
    assert_eq!(candidates("6.12", "").len(), 4, "without a build id");
}

#[test]
fn variables_are_those_of_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let (source, binary) = (folder.path().join("like.c"), folder.path().join("like"));
    let text = "struct file { int mode; long pos; };\n\
                __attribute__((noinline)) long read_it(struct file *file, long count) { return file->pos + count; }\n\
                static __attribute__((noinline)) int twice(int a) { return a * 3; }\n\
                int main(int argc, char **argv) { struct file f = { argc, 3 }; return (int)read_it(&f, twice(argc)) + !argv; }\n";
    std::fs::write(&source, text).unwrap();
    let made = Command::new("cc").args(["-g", "-O1", "-o"]).arg(&binary).arg(&source).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let bytes = std::fs::read(&binary).unwrap();
    let elf = ElfFile::parse(&bytes).unwrap();
    let names = |place: &str| {
        let data = variables_in(&elf, place, None)?;
        Ok::<_, String>(data.places[0].iter().map(|it| it.name.clone()).collect::<Vec<_>>())
    };
    assert_eq!(names("read_it").unwrap(), ["file", "count"]);
    assert_eq!(names("twice+0x1").unwrap(), ["a"]);
    for (place, why) in [
        ("nothing", "there is no function `nothing`"),
        ("read_it+4096", "4096 is behind its end"),
        ("read_it+x", "`x` is no number of bytes"),
    ] {
        let said = names(place).unwrap_err();
        assert!(said.contains(why), "{place}: {said}");
    }
}
