//! What the kernel counted of a script's programs.

use bathyscope_capture::{LossStage, ScriptProbe};
use bathyscope_protocol::SourceReadings;

use crate::counters::{Costs, Counted, KernelCounters};

/// The programs of a script and what they cost.
#[derive(Debug, Default)]
pub(super) struct ScriptCounters {
    programs: Vec<ScriptProbe>,
    cpu_permille: Option<f64>,
}

impl ScriptCounters {
    pub(super) fn new(programs: Vec<ScriptProbe>) -> Self {
        Self { programs, cpu_permille: None }
    }
}

impl KernelCounters for ScriptCounters {
    fn programs(&self) -> &[ScriptProbe] {
        &self.programs
    }

    /// All programs together; one feeds several streams.
    fn cpu_permille(&self) -> Option<f64> {
        self.cpu_permille
    }

    fn read(&mut self, readings: &SourceReadings, seconds: f64) -> Counted {
        let mut losses = Vec::new();
        let mut cpu_permille = None;
        for (program, reading) in self.programs.iter_mut().zip(&readings.probes) {
            let hits = reading.hits.saturating_sub(program.hits);
            let mut stage = |stage, kept: &mut u64, now: u64| {
                losses.push((None, stage, now.saturating_sub(*kept)));
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
        losses.retain(|(_, _, count)| *count > 0);
        Counted { losses, costs: Costs::Elsewhere }
    }
}

#[cfg(test)]
mod tests {
    use bathyscope_protocol::ProbeReading;

    use super::*;

    #[test]
    fn what_is_lost_is_told_once_by_stage() {
        let mut counters = ScriptCounters::new(vec![ScriptProbe::default(); 2]);
        let reading = |hits, ring_full, map_full, helper_failed| {
            let probe =
                ProbeReading { hits, filtered: 3, ring_full, map_full, helper_failed, ..ProbeReading::default() };
            SourceReadings { probes: vec![ProbeReading::default(), probe], ..SourceReadings::default() }
        };
        let first = counters.read(&reading(10, 2, 0, 1), 1.0).losses;
        assert_eq!(first, [(None, LossStage::RingFull, 2), (None, LossStage::HelperFailed, 1)]);
        let second = counters.read(&reading(20, 2, 5, 0), 1.0).losses;
        assert_eq!(second, [(None, LossStage::MapFull, 5)]);
        let program = &counters.programs()[1];
        assert_eq!((program.hits, program.filtered, program.ring_full, program.helper_failed), (20, 3, 2, 1));
    }

    #[test]
    fn the_cost_is_that_of_all_programs() {
        let mut counters = ScriptCounters::new(vec![ScriptProbe::default(); 2]);
        let probe = |hits| ProbeReading { hits, ns_per_hit: Some(200.0), ..ProbeReading::default() };
        let readings = SourceReadings { probes: vec![probe(500_000), probe(250_000)], ..SourceReadings::default() };
        counters.read(&readings, 1.0);
        assert!((counters.cpu_permille().unwrap() - 150.0).abs() < 0.1);
    }
}
