//! Parameters and source lines of programs that a compiler makes here.

use std::{fs, path::Path, process::Command};

use bathyscope_catalog::elf::{ElfFile, FunctionParameters, SourceLines};

const SOURCE: &str = "#include <stddef.h>
struct big { long a[3]; };
enum colour { RED, BLUE };
int plain(const char *path, int count, double share, size_t size, enum colour c) {
    return path[0] + count + (int)share + (int)size + c;
}
struct big large(short s, _Bool b) { struct big all = {{s, b, 0}}; return all; }
static void nothing(void) {}
int main(int argc, char **argv) {
    nothing();
    return plain(argv[0], argc, 1.0, 2, BLUE) + (int)large(1, 1).a[0];
}
";

fn program(folder: &Path, options: &[&str]) -> Vec<u8> {
    let (source, binary) = (folder.join("some.c"), folder.join("some"));
    fs::write(&source, SOURCE).unwrap();
    let made = Command::new("cc").args(options).arg("-o").arg(&binary).arg(&source).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::read(binary).unwrap()
}

/// A function as it is told: each parameter with its register, then the result.
fn told(elf: &ElfFile<'_>, name: &str) -> String {
    let functions = elf.functions().unwrap();
    let address = functions.named(name)[0].address;
    let found = FunctionParameters::read(elf, address, &|_compressed| None).unwrap().unwrap();
    let parameter = |it: &bathyscope_catalog::elf::FunctionParameter| {
        let place = it.register.map_or("?".to_owned(), |register| register.to_string());
        format!("{} {} in {place}", it.ty.text, it.name)
    };
    let parameters: Vec<String> = found.parameters.iter().map(parameter).collect();
    let returns = found.returns.map_or("void".to_owned(), |ty| ty.text);
    let whose = if found.is_external { "" } else { "static " };
    format!("{whose}{returns}({})", parameters.join(", "))
}

#[test]
fn functions_are_described_as_they_were_compiled() {
    let folder = tempfile::tempdir().unwrap();
    for options in [&["-g", "-O0"][..], &["-g", "-O2", "-fno-inline"], &["-g", "-gdwarf-4", "-O1", "-fno-inline"]] {
        let bytes = program(folder.path(), options);
        let elf = ElfFile::parse(&bytes).unwrap();
        assert_eq!(
            told(&elf, "plain"),
            "int(const char * path in 0, int count in 1, double share in ?, size_t size in 2, enum colour c in 3)",
            "{options:?}"
        );
        if cfg!(target_arch = "x86_64") {
            assert_eq!(told(&elf, "large"), "big(short int s in 1, _Bool b in 2)", "{options:?}");
        }
        assert_eq!(told(&elf, "main"), "int(int argc in 0, char * * argv in 1)", "{options:?}");
        let lines = SourceLines::read(&elf, &|_compressed| None).unwrap();
        let found = lines.find("some.c", 5, 1);
        assert_eq!(found.iter().map(|line| line.line).collect::<Vec<_>>(), [5], "{options:?}");
        let functions = elf.functions().unwrap();
        let at = functions.at(elf.offset_of(found[0].addresses[0]).unwrap()).unwrap();
        assert_eq!(at.name, "plain", "{options:?}");
    }
}

/// A file as a kernel's build leaves it: linked to where the kernel is, with a build id.
#[test]
fn lines_of_a_kernel_are_places_in_its_functions() {
    let folder = tempfile::tempdir().unwrap();
    let (source, file) = (folder.path().join("read_write.c"), folder.path().join("vmlinux"));
    let text = "int seen;\nint vfs_peek(int count)\n{\n\tint left = count;\n\tseen += left;\n\treturn left;\n}\n";
    fs::write(&source, text).unwrap();
    let options = ["-g", "-O0", "-ffreestanding", "-nostdlib", "-static", "-no-pie", "-fno-pie"];
    let place = if cfg!(target_arch = "x86_64") {
        &["-mcmodel=kernel", "-Wl,-Ttext=0xffffffff81000000"][..]
    } else {
        &["-Wl,-Ttext=0xffff800080010000"]
    };
    let linked = ["-Wl,-e,vfs_peek", "-Wl,--build-id=0x0123456789abcdef"];
    let made = Command::new("cc").args(options).args(place).args(linked).arg("-o").arg(&file).arg(&source).output();
    let made = made.unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let bytes = fs::read(&file).unwrap();
    let elf = ElfFile::parse(&bytes).unwrap();
    assert_eq!(elf.build_id(), Some(vec![0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]));
    let lines = SourceLines::read(&elf, &|_compressed| None).unwrap();
    let functions = elf.functions().unwrap();
    let told = |from: u32| {
        let found = lines.in_functions(&elf, &functions, ("read_write.c", from), 1);
        found.iter().map(|it| (it.line, it.function.to_owned(), it.offset > 0)).collect::<Vec<_>>()
    };
    assert_eq!(told(2), [(3, "vfs_peek".to_owned(), false)]);
    assert_eq!(told(5), [(5, "vfs_peek".to_owned(), true)]);
    assert_eq!(told(9), []);
}

#[test]
fn without_debug_information_nothing_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = program(folder.path(), &["-O1"]);
    let elf = ElfFile::parse(&bytes).unwrap();
    let main = elf.functions().unwrap().named("main")[0].address;
    assert_eq!(FunctionParameters::read(&elf, main, &|_compressed| None), Ok(None));
    assert!(SourceLines::read(&elf, &|_compressed| None).unwrap().is_empty());
}

/// Debug information is as hostile as any file.
#[test]
fn damaged_debug_information_is_survived() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = program(folder.path(), &["-g", "-O1"]);
    let main = ElfFile::parse(&bytes).unwrap().functions().unwrap().named("main")[0].address;
    let from = bytes.len() / 3;
    for step in 0..400_usize {
        let mut damaged = bytes.clone();
        let at = from + step * 37 % (bytes.len() - from);
        damaged[at] = damaged[at].wrapping_add(1 + (step % 250) as u8);
        if let Ok(elf) = ElfFile::parse(&damaged) {
            let _any = FunctionParameters::read(&elf, main, &|_compressed| None);
            let _any = SourceLines::read(&elf, &|_compressed| None).map(|lines| lines.find("some.c", 1, 9).len());
        }
    }
}
