//! What the kernel counted of a script's programs.

use bathyscope_capture::{LossStage, ScriptProbe};
use bathyscope_protocol::Readings;

/// The programs of a script and what they cost.
#[derive(Debug, Default)]
pub(super) struct ScriptAccounting {
    programs: Vec<ScriptProbe>,
    cpu_permille: Option<f64>,
}

impl ScriptAccounting {
    pub(super) fn new(programs: Vec<ScriptProbe>) -> Self {
        Self { programs, cpu_permille: None }
    }

    pub(super) fn programs(&self) -> &[ScriptProbe] {
        &self.programs
    }

    /// Share of one CPU that all programs use together, in thousandths, where it is known of any.
    pub(super) fn cpu_permille(&self) -> Option<f64> {
        self.cpu_permille
    }

    /// Enters a reading; gives what was lost since the last. Counters never go back, whatever a reading says.
    pub(super) fn read(&mut self, readings: &Readings, since_ns: u64, now_ns: u64) -> Vec<(LossStage, u64)> {
        let seconds = now_ns.saturating_sub(since_ns) as f64 / 1e9;
        let mut losses = Vec::new();
        let mut cpu_permille = None;
        for (program, reading) in self.programs.iter_mut().zip(&readings.probes) {
            let hits = reading.hits.saturating_sub(program.hits);
            let mut stage = |stage, kept: &mut u64, now: u64| {
                losses.push((stage, now.saturating_sub(*kept)));
                *kept = now.max(*kept);
            };
            stage(LossStage::RingFull, &mut program.ring_full, reading.ring_full);
            stage(LossStage::MapFull, &mut program.map_full, reading.map_full);
            stage(LossStage::StackLost, &mut program.stack_lost, reading.stacks_failed);
            stage(LossStage::HelperFailed, &mut program.helper_failed, reading.helper_failed);
            stage(LossStage::KernelMissed, &mut program.missed, reading.missed);
            stage(LossStage::KernelMissed, &mut program.nested, reading.nested);
            program.hits = program.hits.max(reading.hits);
            program.filtered = program.filtered.max(reading.filtered).min(program.hits);
            if let Some(ns) = reading.ns_per_hit.filter(|ns| ns.is_finite() && *ns >= 0.0) {
                program.ns_per_hit = Some(ns);
                if seconds > 0.0 {
                    // ns per second and CPU are parts of 10^9; thousandths are 10^6 of them.
                    *cpu_permille.get_or_insert(0.0) += ns * hits as f64 / seconds / 1e6;
                }
            }
        }
        if seconds > 0.0 {
            self.cpu_permille = cpu_permille;
        }
        losses.retain(|(_, count)| *count > 0);
        losses
    }
}

#[cfg(test)]
mod tests {
    use bathyscope_protocol::ProbeReading;

    use super::*;

    #[test]
    fn what_is_lost_is_told_once_by_stage() {
        let mut accounting = ScriptAccounting::new(vec![ScriptProbe::default(); 2]);
        let reading = |hits, ring_full, map_full, helper_failed| {
            let probe =
                ProbeReading { hits, filtered: 3, ring_full, map_full, helper_failed, ..ProbeReading::default() };
            Readings { probes: vec![ProbeReading::default(), probe], ..Readings::default() }
        };
        let first = accounting.read(&reading(10, 2, 0, 1), 0, 1_000_000_000);
        assert_eq!(first, [(LossStage::RingFull, 2), (LossStage::HelperFailed, 1)]);
        let second = accounting.read(&reading(20, 2, 5, 0), 1_000_000_000, 2_000_000_000);
        assert_eq!(second, [(LossStage::MapFull, 5)]);
        let program = &accounting.programs()[1];
        assert_eq!((program.hits, program.filtered, program.ring_full, program.helper_failed), (20, 3, 2, 1));
    }

    #[test]
    fn the_cost_is_that_of_all_programs() {
        let mut accounting = ScriptAccounting::new(vec![ScriptProbe::default(); 2]);
        let probe = |hits| ProbeReading { hits, ns_per_hit: Some(200.0), ..ProbeReading::default() };
        let readings = Readings { probes: vec![probe(500_000), probe(250_000)], ..Readings::default() };
        accounting.read(&readings, 0, 1_000_000_000);
        assert!((accounting.cpu_permille().unwrap() - 150.0).abs() < 0.1);
    }
}
