//! What `/proc/PID/status` tells of a process.

/// What the status of a thread tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessStatus {
    /// The process that it belongs to.
    pub(crate) pid: Option<u32>,
    /// Its name as it has it, as perf and the tracepoints tell it: the kernel writes line ends and backslashes as `\n` and `\\`.
    pub(crate) name: Option<Vec<u8>>,
    /// The process that started its process, or has taken it over since; none of those that the kernel started.
    pub(crate) parent_pid: Option<u32>,
    /// The user by whose rights it acts.
    pub(crate) uid: Option<u32>,
}

impl ProcessStatus {
    pub(crate) fn read(status: &[u8]) -> Self {
        let value = |key: &[u8]| {
            let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(key));
            line.map(|line| line.strip_prefix(b"\t").unwrap_or(line))
        };
        let number = |key: &[u8], field: usize| {
            let fields = std::str::from_utf8(value(key)?).ok()?;
            fields.split_ascii_whitespace().nth(field)?.parse::<u32>().ok()
        };
        Self {
            pid: number(b"Tgid:", 0),
            name: value(b"Name:").map(unescaped),
            parent_pid: number(b"PPid:", 0).filter(|pid| *pid != 0),
            // The real one, then the effective one.
            uid: number(b"Uid:", 1),
        }
    }
}

fn unescaped(mut name: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(name.len());
    while let [byte, rest @ ..] = name {
        let (byte, rest) = match (byte, rest) {
            (b'\\', [b'n', rest @ ..]) => (b'\n', rest),
            (b'\\', [b'\\', rest @ ..]) => (b'\\', rest),
            _ => (*byte, rest),
        };
        plain.push(byte);
        name = rest;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_tells_whose_a_thread_is_and_by_whom_it_was_started() {
        let cases = [
            (
                "Name:\tworker 1\nUmask:\t0022\nTgid:\t70\nPid:\t75\nPPid:\t12\n",
                Some(70),
                Some("worker 1"),
                Some(12),
                None,
            ),
            ("Name:\ta\nTgid:\tx\nUid:\t1000\t0\t0\t0\n", None, Some("a"), None, Some(0)),
            ("Name:\ta\\nb\\\\n\\x\nTgid:\t7\nPPid:\t0\n", Some(7), Some("a\nb\\n\\x"), None, None),
            ("Name:\t two \nTgid:\t7\nUid:\t5\n", Some(7), Some(" two "), None, None),
            ("", None, None, None, None),
            ("Nam", None, None, None, None),
        ];
        for (status, pid, name, parent_pid, uid) in cases {
            let name = name.map(|name| name.as_bytes().to_vec());
            assert_eq!(
                ProcessStatus::read(status.as_bytes()),
                ProcessStatus { pid, name, parent_pid, uid },
                "{status}"
            );
        }
    }
}
