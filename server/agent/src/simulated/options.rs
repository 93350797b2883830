//! How the simulation behaves.

use std::{fmt, str::FromStr};

/// The fastest simulated stream.
const MAX_RATE_PER_S: u64 = 10_000_000;

/// How the simulation behaves, as text `rate=RATE,lose_every=N,seed=SEED,kprobes=0`, each part optional.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulation {
    /// Hits per second of each tracepoint.
    pub rate_per_s: u64,
    /// Every how many-th record is dropped as if the ring were full; none are dropped on purpose without it.
    pub lose_every: Option<u64>,
    /// Decides what the events are.
    pub seed: u64,
    /// Whether functions of the kernel can be probed.
    pub kprobes: bool,
}

impl Default for Simulation {
    fn default() -> Self {
        Self { rate_per_s: 1000, lose_every: None, seed: 1, kprobes: true }
    }
}

/// Options of the simulation that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{part}` is not an option of the simulation; write rate=1..{MAX_RATE_PER_S}, lose_every=1.., seed=NUMBER or kprobes=0"
)]
pub struct ParseSimulationError {
    part: String,
}

impl fmt::Display for Simulation {
    /// As it is read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rate={},seed={}", self.rate_per_s, self.seed)?;
        self.lose_every.map_or(Ok(()), |every| write!(f, ",lose_every={every}"))?;
        if self.kprobes { Ok(()) } else { f.write_str(",kprobes=0") }
    }
}

impl FromStr for Simulation {
    type Err = ParseSimulationError;

    /// Reads the options. Nothing, `1` and `true` mean the defaults, so that a switch in the environment works too.
    fn from_str(text: &str) -> Result<Self, ParseSimulationError> {
        let mut simulation = Self::default();
        if matches!(text, "" | "1" | "true") {
            return Ok(simulation);
        }
        for part in text.split(',') {
            let wrong = || ParseSimulationError { part: part.chars().take(80).collect() };
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let number: u64 = value.parse().map_err(|_number| wrong())?;
            match name {
                "rate" if (1..=MAX_RATE_PER_S).contains(&number) => simulation.rate_per_s = number,
                "lose_every" if number > 0 => simulation.lose_every = Some(number),
                "seed" => simulation.seed = number,
                "kprobes" if number < 2 => simulation.kprobes = number == 1,
                _ => return Err(wrong()),
            }
        }
        Ok(simulation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_or_refused() {
        let with =
            |rate_per_s, lose_every, seed| Ok(Simulation { rate_per_s, lose_every, seed, ..Simulation::default() });
        let cases = [
            ("", with(1000, None, 1)),
            ("true", with(1000, None, 1)),
            ("rate=5", with(5, None, 1)),
            ("rate=200000,lose_every=10,seed=7", with(200_000, Some(10), 7)),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<Simulation>(), expected, "{text}");
            assert_eq!(expected.clone().unwrap().to_string().parse(), expected, "{text}");
        }
        for bad in ["rate=0", "rate", "rate=x", "lose_every=0", "speed=1", "rate=1;seed=2", "rate=99999999999"] {
            assert!(bad.parse::<Simulation>().is_err(), "{bad}");
        }
    }
}
