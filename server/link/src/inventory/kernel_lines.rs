//! Source lines of the kernel, where its debug information is on this host and is that of the kernel that runs.

use bathyscope_catalog::elf::{ElfFile, LineInFunction};

use super::{InventoryError, lines::LineCache};
use crate::{AgentLink, script::open_program};

/// A line of the kernel's source, where a probe can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelLineSite {
    /// The source file.
    pub source: String,
    /// The line.
    pub line: u32,
    /// The function with the instruction.
    pub function: String,
    /// Bytes from the begin of the function.
    pub offset: u64,
}

/// Where distributions and builds put the file with the kernel's debug information, the surest first.
fn candidates(release: &str, build_id: &str) -> Vec<String> {
    let by_id =
        build_id.split_at_checked(2).map(|(first, rest)| format!("/usr/lib/debug/.build-id/{first}/{rest}.debug"));
    let others = [
        format!("/usr/lib/debug/boot/vmlinux-{release}"),
        format!("/usr/lib/debug/lib/modules/{release}/vmlinux"),
        format!("/lib/modules/{release}/build/vmlinux"),
        format!("/boot/vmlinux-{release}"),
    ];
    by_id.into_iter().chain(others).collect()
}

/// The first lines from one on, with the places in functions of the kernel at which they begin.
pub(super) fn find(
    cache: &LineCache,
    link: &AgentLink,
    (release, build_id): (&str, &str),
    (source, from): (&str, u32),
    most: usize,
) -> Result<Vec<KernelLineSite>, InventoryError> {
    let told = |why: String| InventoryError::File { doing: "finding source lines of the kernel", why };
    let mut other_build = None;
    for path in candidates(release, build_id) {
        let Ok(program) = open_program(&mut link.clone(), &path, None) else { continue };
        let elf = ElfFile::parse(&program.file).map_err(|error| told(format!("{path}: {error}")))?;
        let own: Option<String> = elf.build_id().map(|id| bathyscope_symbols::build_id_text(&id));
        if own.as_deref() != Some(build_id) {
            other_build.get_or_insert(path);
            continue;
        }
        let lines = cache.lines_of(&program).map_err(told)?;
        let functions = elf.functions().map_err(|error| told(format!("{path}: {error}")))?;
        let found = lines.in_functions(&elf, &functions, (source, from), most).into_iter();
        let site = |it: LineInFunction<'_>| KernelLineSite {
            source: it.file.to_owned(),
            line: it.line,
            function: it.function.to_owned(),
            offset: it.offset,
        };
        return Ok(found.map(site).collect());
    }
    Err(told(match other_build {
        Some(path) => format!(
            "{path} is of another build of the kernel than the one that runs ({build_id}); install the debug information of \
             {release}"
        ),
        None => format!(
            "the debug information of the kernel {release} is not on this host, which source lines of the kernel need; install \
             linux-image-{release}-dbg (Debian, Ubuntu: -dbgsym) or kernel-debuginfo (Fedora, RHEL), or put its vmlinux at \
             /usr/lib/debug/boot/vmlinux-{release}"
        ),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debug_file_of_the_build_is_looked_for_first() {
        let paths = candidates("6.12.1-amd64", "abcdef");
        assert_eq!(paths[0], "/usr/lib/debug/.build-id/ab/cdef.debug");
        assert!(paths.contains(&"/usr/lib/debug/boot/vmlinux-6.12.1-amd64".to_owned()));
        assert_eq!(candidates("6.12", "").len(), 4, "without a build id");
    }
}
