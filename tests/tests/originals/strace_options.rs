//! Options of strace and conditions of sysdig, beside strace and on processes of which it is known what they do.

use std::{fs, process::Command};

use bathyscope_tests::{in_lab, programs::program, skip};
use serde_json::Value;

use super::{
    beside, path, prepared, read, run, stdout_of,
    strace::{assert_same, calls, files, strace_both, without_run, without_times},
    words,
};

/// Numbers of inodes and ports are of one run only: each becomes what it is the first, second, … of. What clone3 wrote of the
/// new thread's id strace reads when it may be there or not.
pub(super) fn without_numbers(lines: &[Vec<String>]) -> Vec<Vec<String>> {
    let mut known: Vec<String> = Vec::new();
    let mut plain = |line: &String| {
        let mut out = String::new();
        for (index, part) in line.split(['[', ']', '(', ')', ':', '>', '-', ',', '<']).enumerate() {
            let is_one = part.len() > 3 && part.bytes().all(|byte| byte.is_ascii_digit());
            let place = known.iter().position(|it| it == part).unwrap_or(known.len());
            if is_one && place == known.len() {
                known.push(part.to_owned());
            }
            let of_thread = line.starts_with("clone3(") && out.ends_with("{parent_tid=");
            let part = if is_one { format!("NUMBER{place}") } else { part.to_owned() };
            let part = if of_thread { "THREAD".to_owned() } else { part };
            out.push_str(if index > 0 { "|" } else { "" });
            out.push_str(&part);
        }
        out
    };
    lines.iter().map(|lines| lines.iter().map(&mut plain).collect()).collect()
}

#[test]
fn b1_daily_options_of_strace_show_what_strace_shows() {
    let Some((_alone, folder)) = beside("strace", "daily options of strace") else { return };
    let Some(letters) = program("letters") else { return skip("daily options of strace", "gcc") };
    let letters = letters.to_str().unwrap();
    files(&folder);
    let cases: [&[&str]; 10] = [
        &["-e", "%network,pipe2,execve,write,clone3"],
        &["-x", "-e", "write,read"],
        &["-xx", "-s", "5", "-e", "write,openat,execve"],
        &["-e", "signal=SIGUSR2", "-e", "trace=kill"],
        &["-e", "signal=!SIGUSR2,CHLD", "-e", "trace=kill"],
        &["-e", "trace=openat@64,?close@32"],
        &["-v", "-e", "trace=%%stat"],
        &["-e", "verbose=none", "-e", "trace=%%stat,execve,write"],
        &["-e", "verbose=!newfstatat", "-e", "trace=newfstatat,rt_sigaction"],
        &["-e", "abbrev=!newfstatat", "-e", "trace=newfstatat,uname"],
    ];
    for options in cases {
        let options = [&["-f"][..], options].concat();
        let (theirs, ours) = strace_both(&folder, &options, &[letters]);
        // What the dynamic linker does before is told by other tests, and so is what is left of a file's times.
        let (theirs, ours) = (calls(&theirs), calls(&ours));
        assert!(theirs.concat().len() > 3, "{options:?}: {theirs:#?}");
        assert_same(&without_numbers(&theirs), &without_numbers(&ours), &options.join(" "));
    }
}

#[test]
fn b1_each_thread_has_the_file_that_strace_writes() {
    let Some((_alone, folder)) = beside("strace", "-ff beside strace's") else { return };
    let Some(letters) = program("letters") else { return skip("-ff beside strace's", "gcc") };
    let letters = letters.to_str().unwrap();
    let _both = strace_both(&folder, &["-ff", "-e", "trace=kill,execve,exit_group,exit"], &[letters]);
    let of = |name: &str| {
        let begin = format!("{name}.");
        let entries = fs::read_dir(folder.path()).expect("the folder").map(|entry| entry.expect("an entry"));
        let own = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&begin));
        let mut texts: Vec<(u32, String)> = own
            .map(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                let pid = name.rsplit('.').next().and_then(|pid| pid.parse().ok()).expect("a process id");
                (pid, read(entry.path().to_str().unwrap()))
            })
            .collect();
        texts.sort();
        let first: Vec<String> = texts.iter().map(|(pid, _)| pid.to_string()).collect();
        let plain = |text: &String| text.lines().map(|line| without_run(&without_times(line), &first)).collect();
        texts.iter().map(|(_, text)| plain(text)).collect::<Vec<Vec<String>>>()
    };
    let (theirs, ours) = (of("theirs"), of("ours"));
    assert_eq!(theirs.len(), 3, "{theirs:#?}");
    assert_same(&theirs, &ours, "-ff");
}

#[test]
fn b1_variables_and_appending_are_as_with_strace() {
    let Some((_alone, folder)) = beside("strace", "-E and -A beside strace's") else { return };
    let script = "echo \"$LETTERS ${HOME-none}\"";
    let options = ["-A", "-E", "LETTERS=a b", "-E", "HOME", "-e", "trace=none"];
    let (theirs, ours) = strace_both(&folder, &options, &["/bin/sh", "-c", script]);
    assert_eq!((theirs.lines().count(), ours.lines().count()), (1, 1), "{theirs}{ours}");
    let both = path(&folder, "ours");
    stdout_of(words(&["strace", "-A", "-o", &both, "-e", "trace=none", "--"], &["/bin/true"]));
    assert_eq!(read(&both).lines().count(), 2);
}

#[test]
fn b1_columns_of_the_table_are_straces() {
    let Some((_alone, folder)) = beside("strace", "-U beside strace's") else { return };
    let [a, b, missing] = files(&folder);
    let options = ["-c", "-U", "name,calls,errors", "-S", "name"];
    let (theirs, ours) = strace_both(&folder, &options, &["/usr/bin/cat", a, b, missing]);
    // Ours says first which time it is, though no column tells one.
    let lines = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    let of_ours: Vec<String> = lines(&ours).into_iter().filter(|line| !line.starts_with("Time:")).collect();
    assert_eq!(lines(&theirs), of_ours);
}

/// Lines of `-k`: calls without what is of one run, and of each frame the file and the place in it.
fn frames(text: &str) -> Vec<String> {
    let line = |line: &str| match (line.strip_prefix(" > "), line.rsplit_once('[')) {
        (Some(frame), Some((_, place))) => format!("{} {place}", frame.split('(').next().unwrap_or_default()),
        _ => without_run(&without_times(line), &[]),
    };
    text.lines().map(line).collect()
}

/// The program and its thread have ended before anybody looks for the names of their functions.
#[test]
fn b1_stacks_of_calls_are_straces() {
    let Some((_alone, folder)) = beside("strace", "-k beside strace's") else { return };
    let Some(letters) = program("letters") else { return skip("-k beside strace's", "gcc") };
    files(&folder);
    // Not of the first and the last call: of them strace tells the stacks of before and after.
    let options = ["-k", "-e", "trace=openat,listen,write,read", "-qq"];
    let (theirs, ours) = strace_both(&folder, &options, &[letters.to_str().unwrap()]);
    let (of_theirs, of_ours) = (frames(&theirs), frames(&ours));
    let calls = |lines: &[String]| lines.iter().position(|line| line.starts_with("write("));
    let skip_to = |lines: &[String]| lines.get(calls(lines).expect("a write")..).unwrap_or_default().to_vec();
    let is_call = |line: &String| !line.starts_with("---");
    let (of_theirs, of_ours): (Vec<_>, Vec<_>) = (
        skip_to(&of_theirs).into_iter().take_while(is_call).collect(),
        skip_to(&of_ours).into_iter().take_while(is_call).collect(),
    );
    assert!(of_theirs.len() > 10, "{theirs}");
    assert_eq!(of_theirs, of_ours, "{theirs}{ours}");
    for name in ["(connect_to_self+0x", "(main+0x", "libc.so.6(", "+0x"] {
        assert!(ours.contains(name), "{name}: {ours}");
    }
    let json = stdout_of(words(&["strace", "--json", "-k", "-e", "trace=listen", "--"], &[letters.to_str().unwrap()]));
    let rows = json.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let listen = rows.into_iter().find(|row| row["call"] == "listen").expect("a call");
    let names: Vec<&str> =
        listen["stack"].as_array().unwrap().iter().filter_map(|it| it["function"].as_str()).collect();
    assert!(names.windows(2).any(|pair| pair == ["connect_to_self", "main"]), "{listen}");
}

/// Reads a byte at a time, all the time.
fn busy() -> std::process::Child {
    prepared(["dd", "if=/dev/zero", "of=/dev/null", "bs=1"]).spawn().expect("dd")
}

/// `dd` makes some hundred thousand calls a second, which are passed over for the budget of the machine, and cost the
/// capture of another process nothing of its own.
#[test]
fn p24_a_process_is_traced_beside_others_that_are_busy() {
    let Some((_alone, folder)) = beside("strace", "a busy process beside") else { return };
    if in_lab() {
        // A call that is passed over takes 20 times as long there, which is more than the budget for it.
        return skip("a busy process beside", "a machine that is not emulated");
    }
    let others = busy();
    let script = "while :; do sleep 0.05; done";
    let child = prepared(["/bin/sh", "-c", script]).spawn().expect("sh");
    let (pid, ours) = (child.id().to_string(), path(&folder, "ours"));
    for of in [&["-p", &pid][..], &["-f", "-p", &pid], &["--comm", "nobody-has-it"]] {
        let options = [&["strace", "-o", &ours, "--duration", "3s"][..], of].concat();
        let output = run(options.iter().copied());
        let said = String::from_utf8_lossy(&output.stderr);
        println!("{of:?}: {said}");
        assert!(output.status.success() && said.contains("nothing lost") && !said.contains("DETACHED"), "{said}");
    }
    stdout_of(["strace", "-f", "-o", &ours, "-p", &pid, "--duration", "1s"]);
    assert!(read(&ours).contains("execve(\"/"), "{}", read(&ours));
    // What was asked for has the budget of one CPU all the same.
    let output = run(["strace", "-o", "/dev/null", "--comm", "dd", "--duration", "30s", "--budget", "1"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.lines().last().is_some_and(|line| line.contains("DETACHED by the guard: the probes used")), "{said}");
    for mut process in [others, child] {
        process.kill().and_then(|()| process.wait()).expect("its end");
    }
}

/// Existing children are recorded too, and no process that the one that is named has not made.
#[test]
fn b6_conditions_of_sysdig_on_parents_and_files_mean_what_they_say() {
    let Some((_alone, folder)) = beside("strace", "sysdig's conditions") else { return };
    // A shell in a shell that runs before the capture begins.
    let inner = "while :; do cat /etc/hostname >/dev/null; sleep 0.1; done";
    let outer = format!("/bin/sh -c '{inner}' & echo $!; wait");
    let mut shell = prepared(["/bin/sh", "-c", &outer]).stdout(std::process::Stdio::piped()).spawn().expect("sh");
    let mut told = String::new();
    let mut lines = std::io::BufReader::new(shell.stdout.take().expect("its output"));
    std::io::BufRead::read_line(&mut lines, &mut told).expect("a line");
    let (parent, child) = (shell.id().to_string(), told.trim().to_owned());
    let rows = |line: &str| {
        let output = run(["strace", "--json", "--duration", "1500ms", "--budget", "100", "--filter", line]);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")).collect::<Vec<_>>()
    };
    let pids =
        |rows: &[Value]| rows.iter().map(|row| row["pid"].to_string()).collect::<std::collections::BTreeSet<_>>();
    let direct = pids(&rows(&format!("proc.ppid={parent}")));
    assert_eq!(direct, std::collections::BTreeSet::from([child.clone()]), "{parent}");
    let below = pids(&rows(&format!("proc.apid={parent}")));
    assert!(below.len() > 2 && below.contains(&child) && !below.contains(&parent), "{below:?}");
    let named = rows(&format!("proc.apid={parent} and proc.aname=sh and fd.name=/etc/hostname"));
    assert!(
        named.iter().any(|row| row["call"] == "openat") && named.iter().any(|row| row["call"] == "read"),
        "{named:?}"
    );
    assert!(named.iter().all(|row| row["comm"] == "cat"), "{named:?}");
    assert_eq!(rows(&format!("proc.apid={parent} and fd.name=/etc/host")).len(), 0);
    assert_eq!(
        rows(&format!("proc.apid={parent} and fd.directory=/")).iter().filter(|row| row["comm"] == "cat").count(),
        0
    );
    let either =
        rows(&format!("proc.apid={parent} and (evt.type=openat and fd.name endswith hostname or evt.type=kill)"));
    assert!(!either.is_empty() && either.iter().all(|row| row["call"] == "openat"), "{either:?}");
    // The shell's own arguments contain these words too, and a child has them until it becomes the program.
    let words = rows(&format!("proc.ppid={child} and proc.cmdline startswith 'cat /etc'"));
    // What a process did before it became that program is known under its arguments of now.
    let cats: std::collections::BTreeSet<_> =
        words.iter().filter(|row| row["comm"] == "cat").map(|row| row["pid"].to_string()).collect();
    assert!(!cats.is_empty() && words.iter().all(|row| cats.contains(&row["pid"].to_string())), "{words:?}");
    shell.kill().and_then(|()| shell.wait()).expect("its end");
    let _gone = Command::new("kill").arg(&child).status();
    drop(folder);
}
