//! One page of a CPU's buffer: its time, what was lost before it, and its events.
//!
//! An event begins with a word: 5 bits of type or length, 27 bits of time since the event before. Types 1 to 28 are
//! records of that many words; 0 is a longer record with its length in the next word; 29 is room that is not used, 30
//! a longer time, 31 a time that counts from zero instead of from the event before.

use super::Layout;

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
const WORD: usize = 4;
const DELTA_BITS: u32 = 27;
/// An absolute time has 59 bits; the others are those of the time before.
const STAMP_BITS: u32 = 59;
/// The bits of `commit` that are the number of bytes.
const COMMIT_LENGTH: u64 = (1 << 27) - 1;
/// Set in `commit`: events were lost before this page.
const MISSED_EVENTS: u64 = 1 << 31;
/// Set in `commit`: how many stands after the data.
const MISSED_STORED: u64 = 1 << 30;
/// Far more than a buffer can count while it is read.
const MAX_MISSED: u64 = 1 << 48;

/// What was lost between the page before and this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// Nothing.
    Nothing,
    /// So many events.
    Counted(u64),
    /// Some events; the kernel had no room to say how many.
    Uncounted,
}

/// One page of a CPU's buffer.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    time: u64,
    missed: Missed,
    data: &'a [u8],
}

/// A page that is not as the kernel writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// It has not even a head.
    #[error("a page of {bytes} bytes is shorter than its own head")]
    Short {
        /// Its bytes.
        bytes: usize,
    },
    /// It says that it has more than it has.
    #[error("a page of {bytes} bytes claims {claimed} bytes of events")]
    Commit {
        /// Its bytes.
        bytes: usize,
        /// What it claims.
        claimed: u64,
    },
    /// An event does not end within the page. What came before it is good.
    #[error("the event at byte {at} of a page's {length} does not end within it")]
    Event {
        /// Where it begins, from the first event.
        at: usize,
        /// Bytes of all events of the page.
        length: usize,
    },
}

/// A record and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// By the clock of the buffer: nanoseconds for all but `counter` and `x86-tsc`.
    pub time: u64,
    /// The record, from `common_type` on. It may be followed by up to 3 bytes that mean nothing.
    pub record: &'a [u8],
}

impl<'a> Page<'a> {
    /// Reads a page's head.
    ///
    /// # Errors
    /// If there is less than the head says.
    pub fn parse(layout: &Layout, bytes: &'a [u8]) -> Result<Self, PageError> {
        let short = PageError::Short { bytes: bytes.len() };
        let time = number(bytes, layout.time_at, 8).ok_or(short)?;
        let commit = number(bytes, layout.commit_at, layout.commit_bytes).ok_or(short)?;
        let rest = bytes.get(layout.data_at..).ok_or(short)?;
        let claimed = commit & COMMIT_LENGTH;
        let length = usize::try_from(claimed).ok().filter(|length| *length <= rest.len());
        let length = length.ok_or(PageError::Commit { bytes: bytes.len(), claimed })?;
        let (data, after) = rest.split_at_checked(length).unwrap_or_default();
        let missed = match (commit & MISSED_EVENTS != 0, commit & MISSED_STORED != 0) {
            (false, _) => Missed::Nothing,
            (true, false) => Missed::Uncounted,
            // The count is as long as `commit`, a `long` of the kernel.
            (true, true) => match number(after, 0, layout.commit_bytes).filter(|count| (1..MAX_MISSED).contains(count))
            {
                Some(count) => Missed::Counted(count),
                None => Missed::Uncounted,
            },
        };
        Ok(Self { time, missed, data })
    }

    /// The time that its first event counts from.
    pub fn time(&self) -> u64 {
        self.time
    }

    /// What was lost before it.
    pub fn missed(&self) -> Missed {
        self.missed
    }

    /// Its events in order. After an error there is nothing more.
    pub fn events(&self) -> PageEvents<'a> {
        PageEvents { data: self.data, at: 0, time: self.time }
    }
}

/// The events of a page, see [`Page::events`].
#[derive(Clone, Debug)]
pub struct PageEvents<'a> {
    data: &'a [u8],
    at: usize,
    time: u64,
}

/// What one step over the data gave.
enum Step<'a> {
    Record(&'a [u8]),
    Nothing,
    End,
}

impl<'a> Iterator for PageEvents<'a> {
    type Item = Result<Event<'a>, PageError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.data.len() {
            let began = self.at;
            match self.step() {
                Some(Step::Record(record)) => return Some(Ok(Event { time: self.time, record })),
                Some(Step::Nothing) => {}
                Some(Step::End) => self.at = self.data.len(),
                None => {
                    self.at = self.data.len();
                    return Some(Err(PageError::Event { at: began, length: self.data.len() }));
                }
            }
        }
        None
    }
}

impl<'a> PageEvents<'a> {
    /// Goes over one event; none if it does not end within the data. Each step goes on by at least a word.
    fn step(&mut self) -> Option<Step<'a>> {
        let head = self.word(self.at)?;
        let (kind, delta) = (head & 31, u64::from(head >> 5));
        let body = self.at + WORD;
        match kind {
            PADDING if delta == 0 => Some(Step::End),
            PADDING => {
                let length = self.word(body)? as usize;
                self.data.get(body..body.checked_add(length)?)?;
                self.at = body + round_up(length);
                // A discarded event that came together with the one before is given a delta of 1.
                self.time = self.time.wrapping_add(if delta == 1 { 0 } else { delta });
                Some(Step::Nothing)
            }
            TIME_EXTEND => {
                let high = u64::from(self.word(body)?) << DELTA_BITS;
                self.time = self.time.wrapping_add(high | delta);
                self.at = body + WORD;
                Some(Step::Nothing)
            }
            TIME_STAMP => {
                let low = (u64::from(self.word(body)?) << DELTA_BITS) | delta;
                self.time = absolute(self.time, low);
                self.at = body + WORD;
                Some(Step::Nothing)
            }
            0 => {
                // The length counts its own word.
                let length = (self.word(body)? as usize).checked_sub(WORD)?;
                self.record(body + WORD, length, delta)
            }
            words => self.record(body, words as usize * WORD, delta),
        }
    }

    fn record(&mut self, start: usize, length: usize, delta: u64) -> Option<Step<'a>> {
        let record = self.data.get(start..start.checked_add(length)?)?;
        self.at = start + round_up(length);
        self.time = self.time.wrapping_add(delta);
        Some(Step::Record(record))
    }

    fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.data.get(at..at.checked_add(WORD)?)?;
        bytes.try_into().ok().map(u32::from_le_bytes)
    }
}

/// The length of a record is a whole number of words; one that is not takes the rest of its last word.
fn round_up(length: usize) -> usize {
    length.next_multiple_of(WORD)
}

/// The 59 bits of an absolute time, with the upper bits of the time before; it does not go back over their border.
fn absolute(before: u64, low: u64) -> u64 {
    let low = low & ((1 << STAMP_BITS) - 1);
    let high = before >> STAMP_BITS << STAMP_BITS;
    let time = high | low;
    if high != 0 && time < before { time.wrapping_add(1 << STAMP_BITS) } else { time }
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}
