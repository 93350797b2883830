//! Whose events: what `perf record`, `perf stat` and others have in common.

use bathyscope_capture::Target;

use crate::{
    answer::{Refusal, Result},
    call::{Call, Whose},
    options::{Arguments, Given},
};

/// The most CPUs in a list.
const MAX_CPUS: u32 = 8192;

/// Whose events, by `-p`, `-t`, `-a`, `-C`, `-G`, `-u` and the command. `is_system` says whether it is everything where nothing is
/// chosen.
///
/// # Errors
/// What is not understood, or chosen twice.
pub(super) fn whose(arguments: &Arguments, call: &mut Call<'_>, is_system: bool) -> Result<Whose> {
    let children = !arguments.has("-i");
    let (others, missing) = others(arguments, call, children)?;
    let command = arguments.operands.as_slice();
    let others = others.or_else(|| {
        let everything = arguments.has("-a") || arguments.has("-C") || is_system && command.is_empty();
        everything.then_some(Target::System)
    });
    match others {
        Some(others) => {
            if let (Some(given), false) = (arguments.last("-a"), others == Target::System) {
                call.marks
                    .ignore(&given.at, "-a has no meaning here: with -p, -t, -u or -G only their events are recorded");
            }
            let whose = call.while_runs(others, command)?;
            Ok(Whose { missing, ..whose })
        }
        None if command.is_empty() => Err(Refusal::new(
            call.source(),
            "there is neither a command nor -a, -p PID or -C CPUS",
            "Write one of them: `-a` is the whole system.",
        )),
        None => {
            let argv = call.command(command)?;
            Ok(Whose::of(Target::Command { argv, user: None, children }))
        }
    }
}

fn others(arguments: &Arguments, call: &mut Call<'_>, children: bool) -> Result<(Option<Target>, Option<String>)> {
    let chosen: Vec<&Given> = ["-p", "-t", "-G", "-u"].iter().filter_map(|key| arguments.last(key)).collect();
    let given = match chosen.as_slice() {
        [] => return Ok((None, None)),
        [one] => *one,
        [_, other, ..] => {
            return other.refuse(
                "a capture is of processes, threads, a user or a group",
                "Write only one of -p, -t, -u and -G.",
            );
        }
    };
    match given.key {
        "-p" | "-t" => {
            let (mut ids, mut missing) = (Vec::new(), None);
            for one in arguments.all(given.key) {
                let (more, choose) = call.process_ids(&one.word())?;
                ids.extend(more);
                missing = missing.or(choose);
            }
            if missing.is_some() {
                return Ok((Some(Target::Process { pid: 0, children }), missing));
            }
            let target = match given.key {
                "-p" => Target::of_processes(&ids, children),
                _ => Target::Threads { tids: ids, children },
            };
            Ok((Some(target), None))
        }
        "-u" => Ok((Some(Target::User { user: given.text()? }), None)),
        _ => {
            let path = given.text()?;
            if path.contains(',') {
                return given.refuse("a capture is of one control group", "Write one.");
            }
            let path = path.strip_prefix("/sys/fs/cgroup").unwrap_or(&path).to_owned();
            Ok((Some(Target::Cgroup { path: format!("/{}", path.trim_matches('/')) }), None))
        }
    }
}

/// A list of CPUs such as `0,2-5`.
///
/// # Errors
/// If it is none.
pub(super) fn cpus(arguments: &Arguments) -> Result<Vec<u32>> {
    let Some(given) = arguments.last("-C") else { return Ok(Vec::new()) };
    let text = given.text()?;
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            (Ok(first), Ok(last)) if first <= last && last < MAX_CPUS => cpus.extend(first..=last),
            _ => return given.refuse(format!("`{text}` is no list of CPUs"), "Write 0,2-5."),
        }
    }
    Ok(cpus)
}

/// Milliseconds to wait before the first sample or count.
///
/// # Errors
/// If it is no number of them.
pub(super) fn delay_ms(arguments: &Arguments) -> Result<Option<u32>> {
    let Some(given) = arguments.last("-D") else { return Ok(None) };
    match given.text()?.as_str() {
        "-1" => given.refuse("sampling and counting begin by themselves", "Remove -D, or write milliseconds."),
        text => match text.parse::<u32>() {
            Ok(0) => Ok(None),
            Ok(ms) => Ok(Some(ms)),
            Err(_) => given.refuse(
                "that is no number of milliseconds",
                "Write one; ranges of time are chosen where a capture is shown.",
            ),
        },
    }
}
