//! States that are computed, beside `perf sched timehist` of a recording that was made at the same time on the same clock.

use std::{collections::BTreeMap, process::Child};

use serde_json::Value;

use super::*;

/// Moments of the same switch differ by the time between the two tools' handlers, and perf's have whole microseconds.
const APART_NS: i64 = 30_000;
/// Of so many rows one may be further apart: whatever interrupted the machine between the two handlers.
const ROWS_PER_OUTLIER: usize = 100;

/// A thread on a CPU, nanoseconds of the monotonic clock: how it is told by either.
#[derive(Clone, Copy, Debug)]
struct Run {
    end_ns: i64,
    run_ns: i64,
    /// Since it had left a CPU before; none if it had not.
    wait_ns: Option<i64>,
    /// Of that, since it was woken; 0 if it was not.
    delay_ns: i64,
}

/// Runs by thread.
type Runs = BTreeMap<i64, Vec<Run>>;
/// What perf calls a thread that has ended but for its last switch.
const ENDED: i64 = -1;

/// A line such as `   38539.688449 [0001]  perf[20513/20510]       0.152      0.000      0.037`.
fn theirs_of(text: &str) -> Runs {
    let mut runs = Runs::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [time, _cpu, .., wait, delay, run] = words[..] else { continue };
        let Some((_, ids)) = line.rsplit_once('[').filter(|(head, _)| head.contains(']')) else { continue };
        let ids = ids.split(']').next().unwrap();
        let Ok(tid) = ids.split('/').next().unwrap().parse::<i64>() else { continue };
        let ms = |word: &str| (word.parse::<f64>().unwrap() * 1e6).round() as i64;
        let Ok(seconds) = time.parse::<f64>() else { continue };
        let (wait_ns, delay_ns, run_ns) = (ms(wait), ms(delay), ms(run));
        let run =
            Run { end_ns: (seconds * 1e9).round() as i64, run_ns, wait_ns: (wait_ns > 0).then_some(wait_ns), delay_ns };
        runs.entry(tid).or_default().push(run);
    }
    runs
}

fn ours_of(rows: &Value, start_ns: i64) -> Runs {
    let mut runs = Runs::new();
    let mut ready: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for row in rows["rows"].as_array().unwrap() {
        let [time, tid, state, duration, unknown] = &row.as_array().unwrap()[..] else { panic!("{row}") };
        let (time, tid, duration) = (time.as_i64().unwrap(), tid.as_i64().unwrap(), duration.as_i64().unwrap());
        let is_known = unknown.as_str().is_none_or(str::is_empty);
        let all = runs.entry(tid).or_default();
        match state.as_str().unwrap() {
            "running" => {
                let before = all.last().map(|run: &Run| run.end_ns);
                let wait_ns = before.map(|end| start_ns + time - end);
                let delay_ns = ready.remove(&tid).filter(|(end, _)| *end == time).map_or(0, |(_, delay)| delay);
                // What is not known of it is not compared, but the next wait begins there.
                let run_ns = if is_known { duration } else { -1 };
                all.push(Run { end_ns: start_ns + time + duration, run_ns, wait_ns, delay_ns });
            }
            "runnable" => {
                ready.insert(tid, (time + duration, duration));
            }
            _ => {}
        }
    }
    runs
}

/// A tool that records until it is told to end.
fn begun(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the tool starts")
}

#[test]
fn computed_states_are_those_of_perf_sched() {
    let Some((_alone, folder)) = beside("perf", "states beside perf sched's") else { return };
    let (theirs, ours, data) = (path(&folder, "perf.data"), path(&folder, "ours.bathy"), path(&folder, "data"));
    fs::create_dir(&data).unwrap();
    // perf is there before ours begins and after it has ended. Build ids of files that others run make perf 6.1 fall over itself.
    let mut perf = prepared([
        "perf",
        "sched",
        "record",
        "-B",
        "-m",
        "4096",
        "-k",
        "CLOCK_MONOTONIC",
        "-o",
        &theirs,
        "--",
        "sleep",
        "6",
    ]);
    let mut perf = begun(&mut perf);
    // The file is there when perf records.
    bathyscope_tests::wait::until("perf records", || fs::metadata(&theirs).is_ok_and(|it| it.len() > 0).then_some(()));
    // Threads that wake each other, one that computes, and one that sleeps.
    let busy =
        "for i in $(seq 300); do echo $i | cat >/dev/null; done & (while :; do :; done) & sleep 1; kill $!; wait";
    stdout_of(["record", "--states", "-a", "-o", &ours, "--", "sh", "-c", busy]);
    assert!(perf.wait().unwrap().success());
    let said = said_by(["perf", "sched", "timehist", "-i", &theirs]);
    stdout_of(["captures", "import", &ours, "--data", &data]);
    stdout_of(["captures", "compute", "newest", "--data", &data]);
    let sql = "select time, tid, state, duration_ns, unknown from thread_states where tid > 0 order by time";
    let rows: Value = serde_json::from_str(&stdout_of(["query", "newest", sql, "--json", "--data", &data])).unwrap();
    let shown: Value =
        serde_json::from_str(&stdout_of(["captures", "show", "newest", "--json", "--data", &data])).unwrap();
    assert_eq!(shown["lost"], 0, "nothing was lost");
    let start_ns = shown["start_ns"].as_i64().unwrap();
    compare(&theirs_of(&said), &ours_of(&rows, start_ns));
}

/// The run of a thread that ends when this one does.
fn nearest<'a>(runs: &'a Runs, tid: i64, our: &Run) -> Option<&'a Run> {
    let known = runs.get(&tid)?;
    let at = known.partition_point(|their| their.end_ns < our.end_ns - APART_NS);
    let near = known[at..].iter().take_while(|their| their.end_ns <= our.end_ns + APART_NS);
    near.min_by_key(|their| their.end_ns.abs_diff(our.end_ns))
}

/// Each run of ours is one of perf's, and lasted and waited as long; and so in the sum of each thread.
fn compare(theirs: &Runs, ours: &Runs) {
    let (mut compared, mut outliers) = (0, Vec::new());
    let mut sums: BTreeMap<i64, [(i64, i64); 3]> = BTreeMap::new();
    for (tid, runs) in ours {
        for our in runs.iter().filter(|run| run.run_ns >= 0) {
            let found = nearest(theirs, *tid, our);
            let Some(their) = found.or_else(|| nearest(theirs, ENDED, our)) else {
                outliers.push(format!("{tid} {our:?}: perf has no such run"));
                continue;
            };
            compared += 1;
            let waits = found.and_then(|their| their.wait_ns).zip(our.wait_ns);
            let pairs = [Some((their.run_ns, our.run_ns)), waits, waits.map(|_| (their.delay_ns, our.delay_ns))];
            let sum = sums.entry(*tid).or_default();
            for (sum, (their, our)) in sum.iter_mut().zip(pairs).filter_map(|(sum, pair)| Some((sum, pair?))) {
                *sum = (sum.0 + their, sum.1 + our);
            }
            if pairs.iter().flatten().any(|(their, our)| their.abs_diff(*our) > 2 * APART_NS as u64) {
                outliers.push(format!("{tid} {our:?} is {their:?}"));
            }
        }
    }
    assert!(compared > 1000, "{compared} runs were compared");
    let few = outliers.len() * ROWS_PER_OUTLIER <= compared;
    assert!(
        few,
        "{} of {compared} differ:\n{}",
        outliers.len(),
        outliers.iter().take(20).cloned().collect::<Vec<_>>().join("\n")
    );
    for (tid, sum) in &sums {
        let runs = ours[tid].len() as i64;
        for ((their, our), what) in sum.iter().zip(["run", "wait", "delay"]) {
            let most = their / 200 + runs * APART_NS;
            assert!((their - our).abs() <= most, "{tid} {what}: {their} ns by perf, {our} by ours, in {runs} runs");
        }
    }
    println!("{compared} runs of {} threads, {} outliers", sums.len(), outliers.len());
}
