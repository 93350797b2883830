//! Dynamic events of a spec: what somebody wrote, and what the kernel was told.

use serde::{Deserialize, Serialize};

use super::{SpecError, in_range, one_line};

/// The longest definition, in bytes, as it was written and as the kernel is told.
pub const MAX_DYNAMIC_BYTES: usize = 2048;
/// The longest path of a file.
const MAX_FILE_BYTES: usize = 4096;

/// A dynamic event. In JSON a text alone is what was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "DynamicProbeForm", into = "DynamicProbeForm")]
pub struct DynamicProbe {
    /// What was written, in the grammar of the kernel's files or of `perf probe`.
    pub typed: String,
    /// The file that its function is in, as after `perf probe -x`.
    pub file: Option<String>,
    /// The line that was made of it for the kernel of the host, when it was last recorded: names of parameters are registers
    /// in it, functions of files offsets. It is made anew for each recording.
    pub line: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum DynamicProbeForm {
    Text(String),
    Parts(Parts),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    typed: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<String>,
}

impl From<DynamicProbeForm> for DynamicProbe {
    fn from(written: DynamicProbeForm) -> Self {
        match written {
            DynamicProbeForm::Text(typed) => Self { typed, file: None, line: None },
            DynamicProbeForm::Parts(Parts { typed, file, line }) => Self { typed, file, line },
        }
    }
}

impl From<DynamicProbe> for DynamicProbeForm {
    fn from(probe: DynamicProbe) -> Self {
        match probe {
            DynamicProbe { typed, file: None, line: None } => Self::Text(typed),
            DynamicProbe { typed, file, line } => Self::Parts(Parts { typed, file, line }),
        }
    }
}

impl From<&str> for DynamicProbe {
    fn from(typed: &str) -> Self {
        Self { typed: typed.to_owned(), ..Self::default() }
    }
}

impl DynamicProbe {
    /// A line that the kernel is told as it is.
    pub fn of_line(line: &str) -> Self {
        Self { typed: line.to_owned(), file: None, line: Some(line.to_owned()) }
    }

    /// What the kernel is told: the line that was made, or what was written where nothing had to be made of it.
    pub fn line(&self) -> &str {
        self.line.as_deref().unwrap_or(&self.typed)
    }

    pub(crate) fn validate(&self) -> Result<(), SpecError> {
        in_range("the length of a dynamic event in bytes", self.typed.len() as u64, 1, MAX_DYNAMIC_BYTES as u64)?;
        one_line("a dynamic event", &self.typed)?;
        if let Some(file) = &self.file {
            in_range("the length of a dynamic event's file in bytes", file.len() as u64, 1, MAX_FILE_BYTES as u64)?;
            one_line("a dynamic event's file", file)?;
        }
        self.line.as_deref().map_or(Ok(()), validate_line)
    }
}

/// A line for the kernel.
fn validate_line(line: &str) -> Result<(), SpecError> {
    in_range("the length of a dynamic event in bytes", line.len() as u64, 3, MAX_DYNAMIC_BYTES as u64)?;
    one_line("a dynamic event", line)?;
    // The kernel takes the rest of a line after it for a comment.
    if line.contains('#') {
        return Err(SpecError::Character { what: "a dynamic event", found: "a `#`" });
    }
    let head = line.split(' ').next().unwrap_or_default();
    let kind = head.split(':').next().unwrap_or_default();
    let right = match kind.split_at_checked(1) {
        Some(("p" | "e" | "t", "")) => true,
        Some(("r" | "f", most)) => most.len() <= 6 && most.bytes().all(|byte| byte.is_ascii_digit()),
        _ => false,
    };
    if right && head.len() < line.len() {
        return Ok(());
    }
    let rule = "write p, r, e, f or t, then a name and a place, such as `p:mine vfs_read`";
    Err(SpecError::TracePart { what: "the dynamic event", text: line.chars().take(80).collect(), rule })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn lines_for_the_kernel_are_one_line_of_a_probe() {
        let cases = [
            ("p:mine vfs_read", true),
            ("p vfs_read+0x10 %di +0x3c(%di):u32", true),
            ("r16:zfree_exit /bin/zsh:0x46420 %ip", true),
            ("e:mine sched.sched_switch prev=$prev_pid", true),
            ("f:mine vfs_read%return $retval", true),
            ("f16 vfs_read%return", true),
            ("t:mine sched_switch", true),
            ("t2:mine sched_switch", false),
            ("-:mine", false),
            ("-:mine vfs_read", false),
            ("p:mine", false),
            ("s:mine long a", false),
            ("p:mine vfs_read # ", false),
            ("p:a vfs_read\n-:b", false),
            ("r1234567 vfs_read", false),
        ];
        for (line, right) in cases {
            assert_eq!(DynamicProbe::of_line(line).validate().is_ok(), right, "{line:?}");
        }
        for (typed, right) in [("do_sys_open filename:string", true), ("", false), ("a\nb", false)] {
            assert_eq!(DynamicProbe::from(typed).validate().is_ok(), right, "{typed:?}");
        }
    }

    #[test]
    fn what_was_written_alone_is_a_text() {
        let cases = [
            r#""p:mine vfs_read""#,
            r#"{"typed":"malloc","file":"libc"}"#,
            r#"{"typed":"malloc","file":"libc","line":"p:probe_libc/malloc /usr/lib/libc.so.6:0x1000"}"#,
        ];
        for json in cases {
            let probe: DynamicProbe = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&probe).unwrap(), json);
        }
        assert!(serde_json::from_str::<DynamicProbe>(r#"{"typed":"a","more":1}"#).is_err());
    }
}
