//! Fields of a PMU's events: `config:0-7,32-35` says which bits of which word a field is.

use super::{PerfEventError, Term, parse_event};

/// The most ranges of bits in one field.
const MAX_RANGES: usize = 64;
/// How deep events of a PMU may be made of other events of it.
const MAX_DEPTH: u32 = 4;

/// The words of an event that a PMU reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PmuConfig {
    /// `config`, `config1`, `config2`, `config3`.
    pub words: [u64; 4],
}

/// Where a field's bits are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PmuFormat {
    /// Which word of [`PmuConfig`].
    word: usize,
    /// First and last bit of each range, the field's lowest bits first.
    ranges: Vec<(u32, u32)>,
}

impl PmuFormat {
    /// Reads a file of the PMU's `format` folder; none if it is not understood.
    pub fn parse(text: &str) -> Option<Self> {
        let (word, bits) = text.trim().split_once(':')?;
        let word = match word {
            "config" => 0,
            "config1" => 1,
            "config2" => 2,
            "config3" => 3,
            _ => return None,
        };
        let range = |text: &str| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
            (first <= last && last < 64).then_some((first, last))
        };
        let ranges: Vec<(u32, u32)> = bits.split(',').take(MAX_RANGES).map(range).collect::<Option<_>>()?;
        let format = Self { word, ranges };
        (format.bits() <= 64).then_some(format)
    }

    /// How many bits the field has.
    pub fn bits(&self) -> u32 {
        self.ranges.iter().map(|(first, last)| last - first + 1).sum()
    }

    /// Writes a value; `false` if it has more bits than the field.
    fn put(&self, mut value: u64, config: &mut PmuConfig) -> bool {
        let Some(word) = config.words.get_mut(self.word) else { return false };
        for (first, last) in &self.ranges {
            let width = last - first + 1;
            let mask = u64::MAX >> (64 - width);
            *word = *word & !(mask << first) | (value & mask) << first;
            value = value.checked_shr(width).unwrap_or(0);
        }
        value == 0
    }
}

/// The words that terms make. `format` gives the text of a file in the PMU's `format` folder, `event` of one in its
/// `events` folder.
///
/// # Errors
/// If a term names neither a field nor an event, or a value does not fit.
pub fn encode_terms(
    terms: &[Term],
    format: &dyn Fn(&str) -> Option<String>,
    event: &dyn Fn(&str) -> Option<String>,
) -> Result<PmuConfig, PerfEventError> {
    let mut config = PmuConfig::default();
    encode(terms, (format, event), &mut config, 0)?;
    Ok(config)
}

type Files<'a> = (&'a dyn Fn(&str) -> Option<String>, &'a dyn Fn(&str) -> Option<String>);

fn encode(terms: &[Term], files: Files<'_>, config: &mut PmuConfig, depth: u32) -> Result<(), PerfEventError> {
    let word_of = |name: &str| ["config", "config1", "config2", "config3"].iter().position(|word| *word == name);
    for Term { name, value } in terms {
        if let (Some(word), Some(value)) = (word_of(name), value) {
            if let Some(word) = config.words.get_mut(word) {
                *word = *value;
            }
            continue;
        }
        // A name alone can be an event of the PMU, which is written as terms itself.
        if value.is_none()
            && depth < MAX_DEPTH
            && let Some(text) = (files.1)(name)
        {
            encode(&terms_of(&text, name)?, files, config, depth + 1)?;
            continue;
        }
        let text = (files.0)(name).ok_or_else(|| PerfEventError::Term { name: name.clone() })?;
        let format = PmuFormat::parse(&text).ok_or_else(|| PerfEventError::Format { name: name.clone() })?;
        let value = value.unwrap_or(1);
        if !format.put(value, config) {
            return Err(PerfEventError::TermValue { name: name.clone(), value, bits: format.bits() });
        }
    }
    Ok(())
}

/// The terms of a file in a PMU's `events` folder. A term that is left to the person, `ldlat=?`, is zero.
fn terms_of(text: &str, name: &str) -> Result<Vec<Term>, PerfEventError> {
    let wrong = || PerfEventError::Format { name: name.to_owned() };
    let text = text.trim().replace("=?", "=0");
    let parsed = parse_event(&format!("pmu/{text}/")).map_err(|_error| wrong())?;
    match parsed.source {
        super::EventSource::Pmu { terms, .. } => Ok(terms),
        _ => Err(wrong()),
    }
}
