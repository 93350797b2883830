//! `perf-PID.map`: what a run-time compiler says about the code that it made.

use crate::process_maps::hex;

/// The most functions that are kept of one process.
const MAX_FUNCTIONS: usize = 1 << 20;
/// The longest name that is kept.
const MAX_NAME_BYTES: usize = 1024;
/// The most bytes of names that are kept of one process.
const MAX_NAMES_BYTES: usize = 64 << 20;

#[derive(Clone, Debug)]
struct Function {
    start: u64,
    end: u64,
    name_start: usize,
    name_end: usize,
}

/// Functions by address, as a `perf-PID.map` lists them: `START SIZE NAME`, numbers in base sixteen.
///
/// The process wrote the file, so nothing in it is trusted: lines that make no sense are skipped and counted, and there
/// are limits of number and size. A run-time compiler reuses addresses; of overlapping functions the one that was written
/// last is the one that is there.
#[derive(Clone, Debug, Default)]
pub struct PerfMap {
    functions: Vec<Function>,
    names: Vec<u8>,
    /// How many lines made no sense or were too many.
    pub skipped: usize,
}

impl PerfMap {
    /// Reads the text.
    pub fn parse(text: &[u8]) -> Self {
        let mut map = Self::default();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let fits = map.functions.len() < MAX_FUNCTIONS && map.names.len() < MAX_NAMES_BYTES;
            match parse_line(line).filter(|_line| fits) {
                Some((start, end, name)) => {
                    let name_start = map.names.len();
                    map.names.extend_from_slice(name);
                    map.functions.push(Function { start, end, name_start, name_end: map.names.len() });
                }
                None => map.skipped += 1,
            }
        }
        map.functions = without_overlaps(std::mem::take(&mut map.functions));
        map
    }

    /// The name of the function that contains `address`, as bytes that a process chose, and how far into it that is.
    pub fn lookup(&self, address: u64) -> Option<(&[u8], u64)> {
        let after = self.functions.partition_point(|function| function.start <= address);
        let function = self.functions.get(after.checked_sub(1)?)?;
        let name = self.names.get(function.name_start..function.name_end)?;
        (address < function.end).then(|| (name, address - function.start))
    }

    /// How many functions there are.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }
}

fn parse_line(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let start = hex(digits(words.next()?))?;
    let size = hex(digits(words.next()?))?;
    let name = words.next()?.trim_ascii();
    let name = name.get(..name.len().min(MAX_NAME_BYTES))?;
    let end = start.checked_add(size)?;
    (size > 0 && !name.is_empty()).then_some((start, end, name))
}

fn digits(word: &[u8]) -> &[u8] {
    word.strip_prefix(b"0x").unwrap_or(word)
}

/// Sorted by address, each cut where a later one begins. Of those at one address the last written stays.
fn without_overlaps(functions: Vec<Function>) -> Vec<Function> {
    let mut indexed: Vec<(usize, Function)> = functions.into_iter().enumerate().collect();
    indexed.sort_by(|(a_index, a), (b_index, b)| (a.start, b_index).cmp(&(b.start, a_index)));
    indexed.dedup_by(|(_, next), (_, kept)| next.start == kept.start);
    let starts: Vec<u64> = indexed.iter().skip(1).map(|(_, function)| function.start).chain([u64::MAX]).collect();
    indexed.into_iter().zip(starts).map(|((_, f), next)| Function { end: f.end.min(next), ..f }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn functions_are_found_by_address() {
        let map = PerfMap::parse(b"2000 10 LazyCompile:~f file.js:1\n1000 20 interp\n0x3000 0x8 <b>&\x1b[2K\n");
        let name =
            |address| map.lookup(address).map(|(name, offset)| (String::from_utf8_lossy(name).into_owned(), offset));
        assert_eq!(name(0x1000), Some(("interp".to_owned(), 0)));
        assert_eq!(name(0x101f), Some(("interp".to_owned(), 0x1f)));
        assert_eq!(name(0x1020), None);
        assert_eq!(name(0x2004), Some(("LazyCompile:~f file.js:1".to_owned(), 4)));
        assert_eq!(name(0x3007), Some(("<b>&\u{1b}[2K".to_owned(), 7)));
        assert_eq!(name(0xfff), None);
        assert_eq!(map.skipped, 0);
    }

    #[test]
    fn the_last_of_two_at_one_place_stands() {
        let map = PerfMap::parse(b"1000 100 old\n1000 80 new\n1040 10 newest\n");
        assert_eq!(map.lookup(0x1000).map(|(name, _)| name), Some(b"new".as_slice()));
        assert_eq!(map.lookup(0x1044).map(|(name, _)| name), Some(b"newest".as_slice()));
        assert_eq!(map.len(), 2);
    }

    #[test]
    fn lines_without_sense_are_counted() {
        let lines =
            ["", "zz 10 a", "1000", "1000 10", "1000 0 none", "ffffffffffffffff 2 past", "1000 10 ", "1000 10 good"];
        let map = PerfMap::parse(lines.join("\n").as_bytes());
        assert_eq!((map.len(), map.skipped), (1, 6));
    }

    proptest! {
        #[test]
        fn garbage_does_no_harm(text in proptest::collection::vec(any::<u8>(), 0..4096), address in any::<u64>()) {
            let map = PerfMap::parse(&text);
            let _found = map.lookup(address);
        }

        #[test]
        fn a_lookup_is_inside_its_function(lines in proptest::collection::vec((0_u64..500, 0_u64..50), 0..40), at in 0_u64..600) {
            let text: String = lines.iter().map(|(start, size)| format!("{start:x} {size:x} f{start}\n")).collect();
            let map = PerfMap::parse(text.as_bytes());
            if let Some((name, offset)) = map.lookup(at) {
                let expected = format!("f{}", at - offset);
                prop_assert_eq!(name, expected.as_bytes());
            }
        }
    }
}
