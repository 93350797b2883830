//! What a script lost, probe by probe, and what helps.

use std::fmt::Write as _;

use bathyscope_capture::visible;
use bathyscope_plan::Plan;
use bathyscope_protocol::ProbeReading;

/// A line for each kind of loss of each program; empty if nothing was lost.
pub(super) fn text(plan: &Plan, readings: &[ProbeReading]) -> String {
    let mut out = String::new();
    for (index, reading) in readings.iter().enumerate() {
        let name = name(plan, index);
        let kinds = [
            (
                reading.ring_full,
                "records of",
                "the ring was full; print less, or raise perf_rb_pages in the script's config",
            ),
            (reading.map_full, "updates of", "a map was full; raise max_map_keys in the script's config"),
            (reading.missed, "hits of", "the kernel did not run the probe"),
            (
                reading.nested,
                "hits of",
                "too many runs had been preempted on the CPU; keep less in variables and records, or trace fewer threads",
            ),
            (reading.stacks_failed, "stacks of", "they could not be kept"),
            (reading.helper_failed, "reads of", "the memory could not be read; values are zero or empty"),
        ];
        for (count, what, why) in kinds.into_iter().filter(|(count, ..)| *count > 0) {
            // Writing to a String cannot fail.
            let _infallible = writeln!(out, "LOST {count} {what} {name}: {why}");
        }
    }
    out
}

/// Records that did not fit into the ring, of all programs.
pub(super) fn events(readings: &[ProbeReading]) -> u64 {
    readings.iter().map(|reading| reading.ring_full).sum()
}

/// What a program is attached to: its first attach point, and how many more there are.
fn name(plan: &Plan, program: usize) -> String {
    let mut points = plan.probes.iter().filter(|probe| probe.program as usize == program);
    let Some(first) = points.next() else { return format!("program {program}") };
    let name = visible(first.name.as_bytes());
    match points.count() {
        0 => name,
        more => format!("{name} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use bathyscope_plan::{AttachPoint, ProbePlan};

    use super::*;

    #[test]
    fn every_loss_has_its_probe_and_a_remedy() {
        let probe =
            |name: &str, program| ProbePlan { name: name.to_owned(), point: AttachPoint::Begin, program, line: 1 };
        let plan = Plan {
            probes: vec![probe("kprobe:a", 0), probe("kprobe:b", 0), probe("kprobe:c", 0), probe("BEGIN", 1)],
            ..Plan::default()
        };
        let lossy = ProbeReading { ring_full: 3, map_full: 1, ..ProbeReading::default() };
        let text = text(&plan, &[lossy.clone(), ProbeReading::default()]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].starts_with("LOST 3 records of kprobe:a and 2 more: the ring was full"), "{text}");
        assert!(lines[1].starts_with("LOST 1 updates of kprobe:a and 2 more: a map was full"), "{text}");
        assert_eq!(events(&[lossy.clone(), lossy]), 6);
    }
}
