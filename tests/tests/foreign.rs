//! Probes that somebody else has made by a text: recorded as rows, and who has one that is in use. On the running kernel.
//! Needs root.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use bathyscope_tests::{alone, command_line::run, programs::program, server::Server, skip, wait::until};
use serde_json::json;

const TRACEFS: &str = "/sys/kernel/tracing";
const GROUP: &str = "bathyscope_foreign";

/// A probe at the function `spin_inner` of the program `spin`, removed in the end.
struct Foreign {
    spin: PathBuf,
}

impl Foreign {
    fn make() -> Option<Self> {
        // An agent mounts tracefs where nobody has.
        let _listed = run(["probe", "--list"]);
        let spin = program("spin")?;
        let symbols = Command::new("nm").arg(&spin).output().ok()?;
        let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
        let line = symbols.lines().find(|line| line.ends_with(" spin_inner"))?;
        let address = u64::from_str_radix(line.split(' ').next()?, 16).ok()?;
        let own = Self { spin };
        own.write(&format!("p:{GROUP}/inner {}:{address:#x} pid_again=%di:u64\n", own.spin.display()));
        Some(own)
    }

    fn write(&self, line: &str) {
        self.try_write(line).expect("the kernel takes it");
    }

    fn try_write(&self, line: &str) -> std::io::Result<()> {
        fs::OpenOptions::new().append(true).open(Path::new(TRACEFS).join("uprobe_events"))?.write_all(line.as_bytes())
    }

    fn enable(on: bool) {
        let file = Path::new(TRACEFS).join(format!("events/{GROUP}/inner/enable"));
        fs::write(file, if on { "1" } else { "0" }).expect("it is switched");
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        Self::enable(false);
        // The kernel lets go of what a killed process counted only after that process has ended.
        let line = format!("-:{GROUP}/inner\n");
        until("the kernel to remove the probe", || match self.try_write(&line) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => None,
            done => {
                done.expect("the kernel takes it");
                Some(())
            }
        });
    }
}

#[test]
fn probes_that_others_made_are_recorded_as_rows() {
    let what = "rows of probes that others made";
    let Some(_alone) = alone(what) else { return };
    let Some(foreign) = Foreign::make() else { return skip(what, "gcc and nm") };
    let event = format!("{GROUP}:inner");
    let spin = foreign.spin.to_str().unwrap();
    let output = run(["trace", "-e", &event, "--filter", "comm == 'spin'", "--", spin, "20"]);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{err}");
    assert!(out.lines().any(|line| line.contains(" spin ") && line.contains(&event)), "{out}{err}");

    // A program at it is one for uprobes: it knows who came, and not the event's fields.
    let script = format!("tracepoint:{event} /comm == \"spin\"/ {{ @[comm] = count(); }}");
    let counted = run(["trace", "-e", &script, "-c", &format!("{spin} 20")]);
    let (out, err) = (String::from_utf8_lossy(&counted.stdout), String::from_utf8_lossy(&counted.stderr));
    let count = out.lines().find_map(|line| line.strip_prefix("@[spin]: ")?.parse::<u64>().ok());
    assert!(counted.status.success() && count.is_some_and(|count| count > 0), "{out}{err}");
    let script = format!("tracepoint:{event} {{ @ = args.pid_again; }}");
    let refused = run(["trace", "-e", &script, "-c", &format!("{spin} 20")]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && said.contains("dynamic event") && !said.contains("invalid argument"),
        "{said}"
    );

    // What the Events form sends.
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--commands", "as-root"]);
    let probe = json!({"tracepoint": event, "fields": []});
    let spec = |probe| {
        json!({
            "method": {"events": {"probes": [probe]}},
            "target": {"command": {"argv": [spin, "20"], "children": true}},
            "limits": {"duration_ms": 60_000}
        })
    };
    let id = server.capture(&spec(probe));
    let capture = server.ended(&id);
    assert!(capture["ledger"]["streams"][0]["stored"].as_u64().unwrap() > 0, "{capture:#}");
    let pid = json!({"tracepoint": event, "fields": [], "predicate": "pid == 7"});
    let answer = server.send("POST", "/api/captures", Some(&spec(pid)));
    assert!(answer.status == 400 && answer.text().contains("write tid"), "{}", answer.text());
}

#[test]
fn whoever_has_a_probe_is_named() {
    let what = "who has a probe";
    let Some(_alone) = alone(what) else { return };
    let Some(foreign) = Foreign::make() else { return skip(what, "gcc and nm") };
    let event = format!("{GROUP}:inner");
    Foreign::enable(true);
    let output = run(["stat", "-e", &event, "--", "true"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("in use by ftrace, in the machine's own instance"), "{said}");
    assert!(!said.contains("interrupted") && !said.contains("as root"), "{said}");
    Foreign::enable(false);

    let spin = foreign.spin.to_str().unwrap();
    let count = || {
        Command::new(bathyscope_tests::workspace::binary())
            .args(["stat", "-a", "-e", &event, "--", spin, "15000"])
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("it counts")
    };
    let mut counting = count();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let refused = until("perf to have the probe", || {
        // Whoever comes first has it: the one that counts may have been refused, too.
        if counting.try_wait().expect("it is asked").is_some() {
            counting = count();
        }
        let output = run(["record", "--duration", "200ms", "-e", &event, "--data", data]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (!output.status.success()).then_some(said)
    });
    let _gone = counting.kill();
    let _status = counting.wait();
    assert!(refused.contains("in use by perf"), "{refused}");
    assert!(!refused.contains("interrupted") && !refused.contains("as root"), "{refused}");
}
