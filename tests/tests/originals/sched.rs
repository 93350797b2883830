//! States that are computed, beside `perf sched timehist` of a recording that was made at the same time on the same clock.

use std::{collections::BTreeMap, process::Child};

use serde_json::Value;

use super::*;

/// Moments of the same switch differ by the time between the two tools' handlers, and perf's have whole microseconds.
/// On an emulated machine each handler takes as long as ten do here.
fn apart_ns() -> i64 {
    if in_lab() { 300_000 } else { 30_000 }
}
/// Of so many rows one may be further apart: whatever interrupted the machine between the two handlers. The CPUs of an
/// emulated machine stand still for milliseconds when its host has other things to do.
fn rows_per_outlier() -> usize {
    if in_lab() { 20 } else { 100 }
}

/// A thread on a CPU, nanoseconds of the monotonic clock: how it is told by either.
#[derive(Clone, Copy, Debug)]
struct Run {
    end_ns: i64,
    run_ns: i64,
    /// Since it had left a CPU before; none if it had not.
    wait_ns: Option<i64>,
    /// Of that, since it was woken; 0 if it was not.
    delay_ns: i64,
    /// Whether the switch to it was seen. Some machines hide switches away from threads of theirs.
    seen: bool,
}

/// Runs by thread.
type Runs = BTreeMap<i64, Vec<Run>>;
/// What perf calls a thread that has ended but for its last switch.
const ENDED: i64 = -1;
/// What runs on a CPU that is idle. Some machines hide its switches from perf.
const IDLE: i64 = 0;

/// A line such as `   38539.688449 [0001]  perf[20513/20510]       0.152      0.000      0.037  next: sh[20514]`.
fn theirs_of(text: &str) -> Runs {
    let tid_of = |task: &str| task.rsplit_once('[')?.1.split([']', '/']).next()?.parse::<i64>().ok();
    let (mut runs, mut nexts) = (Runs::new(), BTreeMap::<String, Option<i64>>::new());
    for line in text.lines() {
        let Some((head, next)) = line.split_once(" next: ") else { continue };
        let words: Vec<&str> = head.split_whitespace().collect();
        let [time, cpu, .., wait, delay, run] = words[..] else { continue };
        let tid =
            if head.contains(" <idle> ") { Some(IDLE) } else { head.split_once("] ").and_then(|it| tid_of(it.1)) };
        let Some(tid) = tid else { continue };
        let ns = |word: &str, unit: f64| (word.parse::<f64>().unwrap() * unit).round() as i64;
        let (wait_ns, delay_ns, run_ns) = (ns(wait, 1e6), ns(delay, 1e6), ns(run, 1e6));
        let expected = nexts.insert(cpu.to_owned(), tid_of(next)).flatten();
        let seen = expected.is_none_or(|expected| expected == tid || tid == ENDED);
        let wait_ns = (wait_ns > 0).then_some(wait_ns);
        runs.entry(tid).or_default().push(Run { end_ns: ns(time, 1e9), run_ns, wait_ns, delay_ns, seen });
    }
    runs
}

fn ours_of(rows: &Value, start_ns: i64) -> Runs {
    let mut runs = Runs::new();
    let mut ready: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    // Until when all is known of a thread, and when it left a CPU before.
    let mut known: BTreeMap<i64, (i64, Option<i64>)> = BTreeMap::new();
    for row in rows["rows"].as_array().unwrap() {
        let [time, tid, state, duration, unknown] = &row.as_array().unwrap()[..] else { panic!("{row}") };
        let (time, tid, duration) = (time.as_i64().unwrap(), tid.as_i64().unwrap(), duration.as_i64().unwrap());
        let seen = unknown.as_str().is_none_or(str::is_empty);
        let (until, left) = known.get(&tid).copied().unwrap_or((time, None));
        let left = left.filter(|_| until == time);
        let end = time + duration;
        known.insert(tid, (end, left));
        match state.as_str().unwrap() {
            "running" => {
                known.insert(tid, (end, Some(end)));
                let wait_ns = left.map(|left| time - left);
                let delay_ns = ready.remove(&tid).filter(|(end, _)| *end == time).map_or(0, |(_, delay)| delay);
                let run = Run { end_ns: start_ns + end, run_ns: duration, wait_ns, delay_ns, seen };
                runs.entry(tid).or_default().push(run);
            }
            "runnable" => {
                ready.insert(tid, (end, duration));
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
    let (theirs, data) = (path(&folder, "perf.data"), path(&folder, "data"));
    fs::create_dir(&data).unwrap();
    // perf is there before ours begins and after it has ended. Build ids of files that others run make perf 6.1 fall over itself.
    let mut perf =
        prepared(["perf", "sched", "record", "-B", "-m", "4096", "-k", "CLOCK_MONOTONIC", "-o", &theirs, "--", "cat"]);
    // It records until its command's input ends.
    let mut perf = begun(perf.stdin(Stdio::piped()));
    // The file is there when perf records.
    bathyscope_tests::wait::until("perf records", || fs::metadata(&theirs).is_ok_and(|it| it.len() > 0).then_some(()));
    // Threads that wake each other, one that computes, and one that sleeps.
    let busy =
        "for i in $(seq 300); do echo $i | cat >/dev/null; done & (while :; do :; done) & sleep 1; kill $!; wait";
    stdout_of(["record", "--data", &data, "--states", "-a", "--", "sh", "-c", busy]);
    // Waiting closes its input.
    assert!(perf.wait().unwrap().success());
    let said = said_by(["perf", "sched", "timehist", "-n", "-i", &theirs]);
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
    let at = known.partition_point(|their| their.end_ns < our.end_ns - apart_ns());
    let near = known[at..].iter().take_while(|their| their.end_ns <= our.end_ns + apart_ns());
    near.min_by_key(|their| their.end_ns.abs_diff(our.end_ns))
}

/// Each run of ours is one of perf's, and lasted and waited as long; and so in the sum of each thread.
fn compare(theirs: &Runs, ours: &Runs) {
    let (mut compared, mut hidden, mut outliers) = (0, 0, Vec::new());
    let mut sums: BTreeMap<i64, [(i64, i64); 3]> = BTreeMap::new();
    for (tid, runs) in ours {
        for our in runs.iter().filter(|run| run.seen) {
            let found = nearest(theirs, *tid, our);
            let Some(their) = found.or_else(|| nearest(theirs, ENDED, our)) else {
                outliers.push(format!("{tid} {our:?}: perf has no such run"));
                continue;
            };
            if !their.seen {
                hidden += 1;
                continue;
            }
            compared += 1;
            let waits = found.and_then(|their| their.wait_ns).zip(our.wait_ns);
            let pairs = [Some((their.run_ns, our.run_ns)), waits, waits.map(|_| (their.delay_ns, our.delay_ns))];
            if pairs.iter().flatten().any(|(their, our)| their.abs_diff(*our) > 2 * apart_ns() as u64) {
                outliers.push(format!("{tid} {our:?} is {their:?}"));
                continue;
            }
            let sum = sums.entry(*tid).or_default();
            for (sum, (their, our)) in sum.iter_mut().zip(pairs).filter_map(|(sum, pair)| Some((sum, pair?))) {
                *sum = (sum.0 + their, sum.1 + our);
            }
        }
    }
    assert!(compared > 1000, "{compared} runs were compared");
    let few = outliers.len() * rows_per_outlier() <= compared;
    assert!(
        few,
        "{} of {compared} differ:\n{}",
        outliers.len(),
        outliers.iter().take(20).cloned().collect::<Vec<_>>().join("\n")
    );
    for (tid, sum) in &sums {
        let runs = ours[tid].len() as i64;
        for ((their, our), what) in sum.iter().zip(["run", "wait", "delay"]) {
            let most = their / 200 + (runs + 1) * apart_ns();
            assert!((their - our).abs() <= most, "{tid} {what}: {their} ns by perf, {our} by ours, in {runs} runs");
        }
    }
    println!("{compared} runs of {} threads, {} outliers; {hidden} not compared", sums.len(), outliers.len());
}
