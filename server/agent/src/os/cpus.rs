//! Which CPUs there are.

use std::io;

use bathyscope_protocol::{AgentError, AgentErrorKind};

use crate::error::{failed, refused};

/// The most CPUs that a kernel is built for.
const MAX_CPUS: u32 = 8192;

/// The CPUs that are online, ascending.
pub(crate) fn online() -> io::Result<Vec<u32>> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    parse(text.trim()).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the list of CPUs cannot be read"))
}

/// Those of the CPUs that are online which were asked for; with none, all.
///
/// # Errors
/// If one is not online.
pub(crate) fn chosen(wanted: &[u32]) -> Result<Vec<u32>, AgentError> {
    let online = online().map_err(|error| refused("listing the CPUs", &error, ""))?;
    if let Some(missing) = wanted.iter().find(|cpu| !online.contains(cpu)) {
        let why = format!("CPU {missing} is not online");
        let remedy = "The file /sys/devices/system/cpu/online lists those that are.";
        return Err(failed(AgentErrorKind::NotFound, "choosing the CPUs", why, remedy));
    }
    Ok(online.into_iter().filter(|cpu| wanted.is_empty() || wanted.contains(cpu)).collect())
}

/// How many CPUs there may ever be: as many values a per-CPU map has.
pub(crate) fn possible() -> io::Result<u32> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible")?;
    let last = parse(text.trim()).and_then(|cpus| cpus.last().copied());
    last.map(|last| last + 1)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the list of CPUs cannot be read"))
}

/// Reads a list such as `0-3,8`.
fn parse(list: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if last >= MAX_CPUS || first > last {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read() {
        let cases: [(&str, Option<&[u32]>); 7] = [
            ("0", Some(&[0])),
            ("0-2,7", Some(&[0, 1, 2, 7])),
            ("", None),
            ("a-b", None),
            ("3-1", None),
            ("0-99999999", None),
            ("-", None),
        ];
        for (list, expected) in cases {
            assert_eq!(parse(list).as_deref(), expected, "{list}");
        }
    }
}
