//! Inputs made of others, without knowing what they mean.

/// Makes inputs of seeds, the same ones for the same number.
#[derive(Debug)]
pub struct Mutator {
    state: u64,
    seeds: Vec<Vec<u8>>,
}

/// The longest input that grows out of a shorter one.
const MOST: usize = 1 << 20;

impl Mutator {
    /// Of these seeds; an empty input is always one.
    pub fn new(number: u64, mut seeds: Vec<Vec<u8>>) -> Self {
        seeds.push(Vec::new());
        Self { state: number | 1, seeds }
    }

    fn roll(&mut self, below: usize) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.state >> 33).unwrap_or(0) % below.max(1)
    }

    fn any(&mut self) -> Vec<u8> {
        let at = self.roll(self.seeds.len());
        self.seeds.get(at).cloned().unwrap_or_default()
    }

    /// The next input.
    pub fn input(&mut self) -> Vec<u8> {
        let mut input = self.any();
        for _ in 0..=self.roll(8) {
            self.change(&mut input);
        }
        input.truncate(MOST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.roll(input.len() + 1);
        let length = self.roll((input.len() - at).min(64) + 1);
        match self.roll(7) {
            0 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << self.roll(8);
                }
            }
            1 => {
                let byte = self.roll(256);
                input.insert(at, u8::try_from(byte).unwrap_or(0));
            }
            2 => drop(input.drain(at..at + length)),
            3 => {
                let copy: Vec<u8> = input.get(at..at + length).unwrap_or_default().to_vec();
                let to = self.roll(input.len() + 1);
                input.splice(to..to, copy);
            }
            4 => {
                let other = self.any();
                let from = self.roll(other.len() + 1);
                input.truncate(at);
                input.extend(other.get(from..).unwrap_or_default());
            }
            5 => {
                let copy: Vec<u8> = input.get(at..at + length).unwrap_or_default().repeat(self.roll(40));
                input.splice(at..at, copy);
            }
            _ => {
                let extreme = [0, 1, 0x7f, 0x80, 0xff][self.roll(5)];
                input.iter_mut().skip(at).take(length.min(8)).for_each(|byte| *byte = extreme);
            }
        }
    }
}
