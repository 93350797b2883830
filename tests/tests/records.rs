//! Memory and branch records of samples on a real kernel. No machine of the tests has hardware for them: what can be seen
//! here is the address of a page fault, beside what `perf` says of it, and how the rest is refused. That records of
//! hardware are read as perf reads them is tested with made ones (`server/decode/src/perf/tests/beside_perf.rs`).
//! Needs root.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::process::Command;

use bathyscope_tests::{
    alone,
    command_line::{json_of, run, stdout_of},
    programs::program,
    skip,
};

/// Where the program `pages` has its pages.
const START: u64 = 0x1000_0000_0000;
const PAGES: u64 = 200;

/// The addresses that it writes to.
fn expected() -> Vec<u64> {
    (0..PAGES).map(|page| START + page * 4096 + page * 16).collect()
}

fn in_pages(address: &u64) -> bool {
    (START..START + PAGES * 4096).contains(address)
}

/// Addresses with data source and weight that perf tells of the program's faults.
fn of_perf(program: &str, folder: &std::path::Path) -> Vec<(u64, String)> {
    let file = folder.join("perf.data");
    let file = file.to_str().unwrap();
    let record = ["record", "-q", "-N", "-e", "page-faults", "-c", "1", "-d", "-W", "-o", file, "--", program];
    let output = Command::new("perf").args(record).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new("perf").args(["script", "-i", file, "-F", "addr,weight"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let address = u64::from_str_radix(words.next()?.trim_end_matches(':'), 16).ok()?;
        Some((address, words.next()?.to_owned()))
    };
    text.lines().filter_map(line).filter(|(address, _)| in_pages(address)).collect()
}

#[test]
fn addresses_of_page_faults_are_those_of_perf() {
    let what = "addresses of page faults beside perf's";
    let Some(_alone) = alone(what) else { return };
    let Some(program) = program("pages") else { return skip(what, "gcc") };
    let program = program.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let output =
        run(["profile", "-e", "page-faults", "-c", "1", "-d", "-W", "--save", "faults", "--data", data, "--", program]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("nothing was lost"), "{said}");
    // The kernel knows an address of a fault, and nothing else: that is said once.
    assert_eq!(said.matches("no sample told its data source").count(), 1, "{said}");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains(" accesses, weight 0\n") && printed.contains("[anon]"), "{printed}");
    let sql = "select addr, weight, access || level || snoop || tlb || locked || blocked, mapping from \"page-faults\" \
               order by time";
    let answer = json_of(["query", "newest", sql, "--json", "--data", data]);
    let rows = answer["rows"].as_array().unwrap();
    let rows: Vec<_> = rows.iter().filter(|row| in_pages(&row[0].as_u64().unwrap_or(0))).collect();
    let ours: Vec<u64> = rows.iter().map(|row| row[0].as_u64().unwrap()).collect();
    assert_eq!(ours, expected());
    for row in rows {
        assert_eq!((&row[1], &row[2], &row[3]), (&0.into(), &"N/AN/AN/AN/AN/AN/A".into(), &"[anon]".into()));
    }
    if Command::new("perf").arg("--version").output().is_err() {
        return skip(what, "perf");
    }
    let theirs = of_perf(program, folder.path());
    assert_eq!(theirs.iter().map(|(address, _)| *address).collect::<Vec<_>>(), ours);
    assert!(theirs.iter().all(|(_, weight)| weight == "0"), "{theirs:?}");
}

#[test]
fn branches_that_this_machine_does_not_record_are_refused_in_words() {
    let Some(_alone) = alone("refusals of branch records") else { return };
    let refused = |options: &[&str]| {
        let output = run([&["profile"], options, &["--", "true"]].concat());
        assert!(!output.status.success(), "{options:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    // The kernel's own events never have branches, whatever the machine has.
    let software = refused(&["-e", "page-faults", "-j", "any,u"]);
    assert!(software.contains("sampling page-faults at 99 Hz with its branches"), "{software}");
    assert!(software.contains("the CPU keeps no record of branches for this event"), "{software}");
    assert!(software.contains("Sample a hardware event such as cycles"), "{software}");
    let found = json_of(["doctor", "--json"]);
    let state = |id: &str| {
        let capabilities = found["capabilities"].as_array().unwrap();
        capabilities.iter().find(|one| one["id"] == id).unwrap()["state"].as_str().unwrap().to_owned()
    };
    if state("pmu") == "available" {
        return skip("refusals of branch records without counters", "a machine without counters");
    }
    assert_eq!(
        (state("branch_records"), state("memory_events")),
        ("missing_hardware".into(), "missing_hardware".into())
    );
    for options in [&["-b"][..], &["-e", "cycles:u", "-b"], &["-j", "any_call,k"]] {
        let said = refused(options);
        assert!(said.contains("this machine has none for this event"), "{said}");
        assert!(said.contains("leave branches out"), "{said}");
    }
}

#[test]
fn tables_are_printed_of_what_samples_tell() {
    let words = ["profile", "--simulate", "-d", "-j", "any_call,save_type", "--duration", "500ms"];
    let text = stdout_of(words);
    for part in
        [" accesses, weight ", "L1 or L2 hit", "Remote RAM (1 hop) hit", "[heap]", " branches\n", " -> ", "ind_call"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    let json = stdout_of(words.into_iter().chain(["--json"]));
    let rows: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sum = |key: &str, number: &str| -> u64 {
        rows.iter().filter(|row| row.get(key).is_some()).map(|row| row[number].as_u64().unwrap()).sum()
    };
    let samples = sum("stack", "samples");
    assert!(samples > 0);
    // Each sample is one access, and has eight branches.
    assert_eq!((sum("access", "samples"), sum("from", "branches")), (samples, 8 * samples));
}
