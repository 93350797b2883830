//! What strace says of descriptors, of data and of which lines it shows, beside ours: each table grows by a row.

use std::{
    fs,
    io::ErrorKind,
    path::PathBuf,
    process::{Child, Command},
};

use bathyscope_tests::{programs::program, skip};
use serde_json::Value;

use super::{
    beside, prepared, run,
    strace::{assert_same, calls, files, strace_both},
    strace_options::without_numbers,
};

/// Calls but for those of libraries and of the C library's locales: these lie behind links, and ours shows the path that was
/// opened.
fn own_calls(text: &str) -> Vec<Vec<String>> {
    let own = |lines: Vec<String>| {
        lines.into_iter().filter(|line| !line.contains("/lib") && !line.contains("/locale")).collect()
    };
    calls(text).into_iter().map(own).collect()
}

/// Sockets have other numbers each time, also the netlink port that is the process's id.
#[test]
fn b1_descriptors_are_what_strace_says_also_of_calls_that_are_not_shown() {
    let Some((_alone, folder)) = beside("strace", "descriptors beside strace's") else { return };
    let Some(descriptors) = program("descriptors") else { return skip("descriptors beside strace's", "gcc") };
    let descriptors = descriptors.to_str().unwrap();
    files(&folder);
    let cases: [&[&str]; 9] = [
        &["-y"],
        &["-y", "-e", "trace=read,write"],
        &["-y", "-e", "trace=close"],
        &["-y", "-e", "status=failed"],
        &["-y", "-e", "trace=!openat,close"],
        &["-yy", "-e", "trace=read,write,writev"],
        &["-yy", "-e", "trace=%network"],
        &["-yy", "-e", "trace=%desc"],
        &["-e", "decode-fds=dev", "-e", "trace=read,write,close"],
    ];
    let mut tells_peers = true;
    for options in cases {
        let options = [&["-f"][..], options].concat();
        if !tells_peers && options.contains(&"-yy") {
            continue;
        }
        let (theirs, ours) = strace_both(&folder, &options, &[descriptors]);
        let (theirs, ours) = (own_calls(&theirs), own_calls(&ours));
        assert!(theirs.concat().len() > 1, "{options:?}: {theirs:#?}");
        if theirs.concat().iter().any(|line| has_no_peer(line)) {
            skip("peers of Unix sockets beside strace's", "a kernel with the module unix_diag, which strace asks");
            tells_peers = false;
            continue;
        }
        assert_same(&without_numbers(&theirs), &without_numbers(&ours), &options.join(" "));
    }
    // A shell's own: a child that has ended before it is asked has none of its parent's where that made it by vfork.
    let script = "exec 5<a; /usr/bin/cat <&5; exec 6>/dev/null; /usr/bin/cat b >&6";
    let options = ["-f", "-yy", "-e", "trace=dup2,fcntl"];
    let (theirs, ours) = strace_both(&folder, &options, &["/bin/sh", "-c", script]);
    assert_same(&without_numbers(&own_calls(&theirs)), &without_numbers(&own_calls(&ours)), &options.join(" "));
}

/// Whether strace tells a Unix socket that is written to, so one that is connected, without its peer.
fn has_no_peer(line: &str) -> bool {
    let written = Some(line).filter(|line| line.starts_with("write("));
    let socket = written.and_then(|line| line.split_once("UNIX-STREAM:[")).and_then(|(_, it)| it.split_once(']'));
    socket.is_some_and(|(ends, _)| !ends.contains("->"))
}

#[test]
fn b1_data_are_dumped_as_strace_does() {
    let Some((_alone, folder)) = beside("strace", "dumps beside strace's") else { return };
    let Some(descriptors) = program("descriptors") else { return skip("dumps beside strace's", "gcc") };
    files(&folder);
    let large: Vec<u8> = (0..300_000_u32).map(|at| (at * 7 % 251) as u8).collect();
    fs::write(folder.path().join("large"), large).expect("a file");
    let both = ["-f", "-e", "trace=read,write,writev,sendmsg,recvfrom", "-e", "read=all", "-e", "write=all"];
    let (theirs, ours) = strace_both(&folder, &both, &[descriptors.to_str().unwrap()]);
    assert!(theirs.contains(" * 4 bytes in buffer 1"), "{theirs}");
    assert_same(&calls(&theirs), &calls(&ours), "descriptors");
    let copy = ["/usr/bin/dd", "if=large", "of=copied", "bs=300000", "status=none"];
    for options in [["-e", "read=0", "-e", "trace=read"], ["-e", "write=1", "-e", "trace=write"]] {
        let options = [&["-f", "-s", "4"][..], &options].concat();
        let (theirs, ours) = strace_both(&folder, &options, &copy);
        // As they are: a place in the data may look like the id of the process.
        let data =
            |text: &str| text.lines().filter(|line| line.starts_with(" |")).map(str::to_owned).collect::<Vec<_>>();
        let (theirs, ours) = (data(&theirs), data(&ours));
        assert!(theirs.len() >= 18_750, "{}", theirs.len());
        assert_eq!(theirs.len(), ours.len(), "{options:?}: {:?}", ours.last());
        assert!(theirs == ours, "{options:?}");
    }
}

#[test]
fn b1_which_lines_are_shown_is_what_strace_shows() {
    let Some((_alone, folder)) = beside("strace", "lines beside strace's") else { return };
    files(&folder);
    // One process, and a signal that it takes: one that ends it has no line here, and when a child's comes is up to chance.
    let script = "trap : USR1; kill -USR1 $$; exec /usr/bin/cat a missing";
    let cases: [&[&str]; 28] = [
        &["-e", "trace=openat", "-e", "trace=close"],
        &["-e", "trace=openat,close", "-e", "status=failed", "-e", "status=successful"],
        &["-e", "trace=openat,exit_group", "-e", "status=successful,unfinished"],
        &["-e", "trace=openat,exit_group", "-e", "status=!successful", "-P", "missing"],
        &["-e", "trace=openat,exit_group", "-e", "status=failed"],
        &["-s", "0", "-e", "trace=execve,write"],
        &["-e", "trace=openat", "-z", "-Z"],
        &["-e", "trace=openat", "-Z", "--status=successful"],
        &["-e", "trace=kill", "-e", "signal=USR1", "-e", "signal=USR2"],
        &["-e", "trace=kill", "-e", "signal=none"],
        &["-e", "trace=kill", "-e", "signal=!CHLD"],
        &["-e", "trace=none"],
        &["-e", "trace=!all"],
        &["-e", "trace=?nosuch"],
        &["-e", "trace=?nosuch,kill"],
        &["-e", "trace=/^(kill|close)$"],
        &["-e", "trace=%signal,kill", "-e", "quiet=exit"],
        &["-e", "trace=kill", "-e", "quiet=exit", "-e", "quiet=attach"],
        &["-P", "a"],
        &["-P", "a", "-P", "missing", "-e", "trace=openat"],
        &["-P", "a", "-e", "trace=%file,read", "-e", "status=successful"],
        &["-P", "a", "-e", "signal=none"],
        &["-e", "trace=read,write,openat", "-e", "raw=read"],
        &["-e", "trace=openat,close", "-e", "raw=openat", "-e", "raw=close"],
        &["-n", "-e", "trace=none"],
        &["-n", "-e", "trace=close,kill"],
        &["-n", "-i", "-e", "trace=none"],
        &["-v", "-e", "abbrev=all", "-e", "trace=newfstatat"],
    ];
    for options in cases {
        let options = [&["-f"][..], options].concat();
        let (theirs, ours) = strace_both(&folder, &options, &["/bin/sh", "-c", script]);
        let plain = |text: &str| {
            calls(text).into_iter().map(|lines| lines.iter().map(|it| without_places(it)).collect()).collect()
        };
        let (theirs, ours): (Vec<Vec<String>>, Vec<Vec<String>>) = (plain(&theirs), plain(&ours));
        assert_same(&theirs, &ours, &options.join(" "));
    }
}

/// Where code lies is another place each time.
fn without_places(line: &str) -> String {
    let is_place = |part: &str| part.len() == 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    line.split(['[', ']']).map(|part| if is_place(part) { "PLACE" } else { part }).collect::<Vec<_>>().join("|")
}

/// A group for a process that looks as a container's, removed in the end.
struct MadeGroup(PathBuf);

impl Drop for MadeGroup {
    fn drop(&mut self) {
        let _busy = fs::remove_dir(&self.0);
    }
}

/// A process of a test, ended in the end.
struct Shell(Child);

impl Drop for Shell {
    fn drop(&mut self) {
        let _gone = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// What was made for a test, removed in the end.
struct MadeState(PathBuf);

impl Drop for MadeState {
    fn drop(&mut self) {
        let _gone = if self.0.is_dir() { fs::remove_dir_all(&self.0) } else { fs::remove_file(&self.0) };
    }
}

/// Groups and files as docker, podman and containerd make them; there is no runtime, whose files would be touched.
#[test]
fn b6_containers_are_known_by_their_groups_and_their_runtimes_files() {
    let what = "containers in filters";
    let Some((_alone, _folder)) = beside("strace", what) else { return };
    let states = ["/var/lib/docker", "/var/lib/containers"].map(PathBuf::from);
    if states.iter().any(|state| state.exists()) {
        return skip(what, "a host without docker and podman");
    }
    let ids = ["d0", "b1", "c2"].map(|two| two.repeat(32));
    let [docker, podman, containerd] = &ids;
    let _states = states.map(MadeState);
    let of_docker = PathBuf::from(format!("/var/lib/docker/containers/{docker}"));
    if fs::create_dir_all(&of_docker).is_err_and(|error| error.kind() == ErrorKind::ReadOnlyFilesystem) {
        return skip(what, "a host whose /var/lib can be written");
    }
    let state = r#"{"Name":"/web","Config":{"Image":"nginx:1.27","Env":["A=secret"]}}"#;
    fs::write(of_docker.join("config.v2.json"), state).expect("a file");
    let of_podman = PathBuf::from("/var/lib/containers/storage/overlay-containers");
    fs::create_dir_all(&of_podman).expect("a folder");
    let metadata = r#""metadata":"{\"image-name\":\"docker.io/library/postgres:16\"}""#;
    let state = format!(r#"[{{"id":"{podman}","names":["db"],{metadata}}}]"#);
    fs::write(of_podman.join("containers.json"), state).expect("a file");
    let names = [
        format!("docker-{docker}.scope"),
        format!("libpod-{podman}.scope"),
        format!("cri-containerd-{containerd}.scope"),
    ];
    let mounts = fs::read_to_string("/proc/self/mounts").expect("the mounts");
    let mut hierarchies = mounts.lines().filter(|line| line.split(' ').nth(2) == Some("cgroup2"));
    let Some(hierarchy) = hierarchies.find_map(|line| line.split(' ').nth(1)) else {
        return skip(what, "control groups of version 2");
    };
    let mut groups = Vec::new();
    let mut children = Vec::new();
    for name in names {
        let path = PathBuf::from(hierarchy).join(name);
        if let Err(error) = fs::create_dir(&path) {
            return skip(what, &format!("control groups that can be made ({error})"));
        }
        groups.push(MadeGroup(path.clone()));
        let child = prepared(["/bin/sh", "-c", "while :; do sleep 0.1; done"]).spawn().expect("sh");
        fs::write(path.join("cgroup.procs"), child.id().to_string()).expect("the process in its group");
        children.push(Shell(child));
    }
    let shells: Vec<String> = children.iter().map(|child| child.0.id().to_string()).collect();
    let cases = [
        ("container.image=nginx:1.27".to_owned(), Some(0)),
        ("container.image.repository=nginx".to_owned(), Some(0)),
        ("container.image contains postgres".to_owned(), Some(1)),
        ("container.name=web".to_owned(), Some(0)),
        ("container.name=db and evt.type!=futex".to_owned(), Some(1)),
        (format!("container.id={}", &docker[..12]), Some(0)),
        (format!("container.id={}", &containerd[..12]), Some(2)),
        (format!("container.id startswith {} and container.name!=host", &podman[..6]), Some(1)),
        ("container.image=nothing".to_owned(), None),
    ];
    let mut failures = Vec::new();
    for (line, expected) in cases {
        let output = run(["strace", "--json", "--duration", "700ms", "--budget", "100", "--filter", &line]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let found: std::collections::BTreeSet<String> =
            rows.map(|row| row["pid"].to_string()).filter(|pid| shells.contains(pid)).collect();
        let expected: std::collections::BTreeSet<String> = expected.map(|at| shells[at].clone()).into_iter().collect();
        if found != expected {
            failures.push(format!("{line}: {found:?}, not {expected:?}: {}", String::from_utf8_lossy(&output.stderr)));
        }
    }
    drop(children);
    // The last sleeps leave the groups.
    let empty = |group: &MadeGroup| fs::read_to_string(group.0.join("cgroup.procs")).is_ok_and(|text| text.is_empty());
    while !groups.iter().all(empty) {
        let _waited = Command::new("sleep").arg("0.05").status();
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
