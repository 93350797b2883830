//! Columns that another column nearly tells: the process and the name of a thread are those of its row before, and a state lasts until
//! the next one of its thread. Stored is the difference from that, which is zero nearly everywhere.

use crate::{ColumnType, IdMap, StreamSchema};

/// A column is stored so if at most one of so many rows is not as the other column tells.
const MOST_WRONG: usize = 10;
/// It is stored so without a look at how long it would be otherwise if at most one of so many is not.
const FEW_WRONG: usize = 50;
const SAME: u8 = 4;
const UNTIL_NEXT: u8 = 8;

/// What is told of a row by the others with the same key, which is the word of another column. All numbers are modulo 2⁶⁴.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The value of the row before it; 0 of the first.
    SameAsBefore,
    /// How long it is until the time of the next row; 0 of the last.
    UntilNext,
}

/// How a column is told by another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) rule: Rule,
    /// The column with the keys.
    pub(super) key: u8,
}

impl Told {
    /// Bits of the byte that says how a column is coded; those of [`crate::codec::Coding`] are others.
    pub(super) const fn flags(self) -> u8 {
        match self.rule {
            Rule::SameAsBefore => SAME,
            Rule::UntilNext => UNTIL_NEXT,
        }
    }

    /// What the bits say, and those that are of the coding; none if they make no sense together with the number of a column.
    pub(super) const fn read(flags: u8, key: u8) -> Option<(Option<Self>, u8)> {
        let rest = flags & !(SAME | UNTIL_NEXT);
        match (flags & (SAME | UNTIL_NEXT), key) {
            (0, 0) => Some((None, rest)),
            (SAME, 1..) => Some((Some(Self { rule: Rule::SameAsBefore, key }), rest)),
            (UNTIL_NEXT, 1..) => Some((Some(Self { rule: Rule::UntilNext, key }), rest)),
            _ => None,
        }
    }
}

/// For each row the number of its key, in the order of their first rows.
pub(super) struct Keys {
    of_row: Vec<u32>,
    count: usize,
}

impl Keys {
    pub(super) fn of(words: &[u64]) -> Self {
        let mut numbers: IdMap<u64, u32> = IdMap::default();
        let mut number = |word: &u64| {
            let next = numbers.len() as u32;
            *numbers.entry(*word).or_insert(next)
        };
        let of_row = words.iter().map(&mut number).collect();
        Self { of_row, count: numbers.len() }
    }
}

impl Rule {
    /// The differences from what is told, and of how many rows there are some; none if there are more than `most`.
    fn differences(self, words: &[u64], keys: &Keys, times: &[u64], most: usize) -> Option<(Vec<u64>, usize)> {
        let mut rest = words.to_vec();
        let mut wrong = 0;
        let told = |word: &mut u64, told: u64| {
            *word = word.wrapping_sub(told);
            wrong += usize::from(*word != 0);
            wrong <= most
        };
        self.each(&mut rest, keys, times, told, |before, _after| before).then_some((rest, wrong))
    }

    /// Puts what is told to the differences from it.
    pub(super) fn restore(self, rest: &mut [u64], keys: &Keys, times: &[u64]) {
        let told = |word: &mut u64, told: u64| {
            *word = word.wrapping_add(told);
            true
        };
        self.each(rest, keys, times, told, |_before, after| after);
    }

    /// Calls `each` with what is stored of a row and what is told of it, in the order in which it is told, until it says that this
    /// is enough; says whether it was called for all. `value` is that of the column, before and after the call.
    fn each(
        self,
        words: &mut [u64],
        keys: &Keys,
        times: &[u64],
        mut each: impl FnMut(&mut u64, u64) -> bool,
        value: impl Fn(u64, u64) -> u64,
    ) -> bool {
        match self {
            Self::SameAsBefore => {
                let mut last = vec![0; keys.count];
                words.iter_mut().zip(&keys.of_row).all(|(word, key)| {
                    let Some(last) = last.get_mut(*key as usize) else { return false };
                    let before = *word;
                    let goes_on = each(word, *last);
                    *last = value(before, *word);
                    goes_on
                })
            }
            Self::UntilNext => {
                let mut next: Vec<Option<u64>> = vec![None; keys.count];
                words.iter_mut().zip(&keys.of_row).zip(times).rev().all(|((word, key), time)| {
                    let Some(next) = next.get_mut(*key as usize) else { return false };
                    let goes_on = each(word, next.map_or(0, |next| next.wrapping_sub(*time)));
                    *next = Some(*time);
                    goes_on
                })
            }
        }
    }
}

/// The columns that may tell a column, by the names that columns of threads, processes and CPUs have, and by which rule.
pub(super) fn candidates(schema: &StreamSchema, column: usize) -> Vec<Told> {
    let Some(of) = schema.columns.get(column) else { return Vec::new() };
    let name = of.name.as_str();
    // What tells others is not told, and the time is that of rows.
    if column == 0 || of.ty == ColumnType::Stack || name == "cpu" || name.ends_with("tid") {
        return Vec::new();
    }
    let prefix = name.rfind('_').map_or("", |at| name.get(..=at).unwrap_or_default());
    let is_duration = name == "duration_ns";
    let rule = if is_duration { Rule::UntilNext } else { Rule::SameAsBefore };
    let key = |key: &str| {
        let at = schema.columns.iter().position(|one| one.name == key && is_number(one.ty))?;
        let key = u8::try_from(at).ok()?;
        (at != 0 && at != column).then_some(Told { rule, key })
    };
    let names = if is_duration {
        vec!["tid".to_owned(), "cpu".to_owned()]
    } else {
        vec![format!("{prefix}tid"), format!("{prefix}pid")]
    };
    names.iter().filter_map(|name| key(name)).collect()
}

const fn is_number(ty: ColumnType) -> bool {
    matches!(ty, ColumnType::U64 | ColumnType::I64)
}

/// What is stored of a column that another one tells, and whether it is certain to be short.
pub(super) struct Differences {
    pub(super) told: Told,
    pub(super) words: Vec<u64>,
    pub(super) is_short: bool,
}

/// The first of the candidates that tells nearly all rows.
pub(super) fn differences(
    told: impl IntoIterator<Item = Told>,
    words: &[u64],
    times: &[u64],
    mut keys_of: impl FnMut(u8) -> Option<std::rc::Rc<Keys>>,
) -> Option<Differences> {
    // What is the same everywhere takes no bytes as it is.
    if words.iter().all(|word| Some(word) == words.first()) {
        return None;
    }
    told.into_iter().find_map(|told| {
        let keys = keys_of(told.key)?;
        let most = (words.len() / MOST_WRONG).max(keys.count.min(words.len() / 2));
        let (rest, wrong) = told.rule.differences(words, &keys, times, most)?;
        Some(Differences { told, words: rest, is_short: wrong <= words.len() / FEW_WRONG })
    })
}
