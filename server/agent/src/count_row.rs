//! The rows of a capture of counts: how many of an event there were in an interval, as records of a ring that the agent
//! writes itself. The kernel's counters have no ring of their own.

use bathyscope_capture::{ColumnEncoding, ColumnLayout};
use bathyscope_protocol::StreamLayout;

/// Bytes of an event's name.
const EVENT_BYTES: u16 = 256;
/// Bytes of what has the row of its own.
const SCOPE_BYTES: u16 = 32;
/// Bytes of why an event is not counted.
const STATE_BYTES: u16 = 160;
const COMM_BYTES: u16 = 16;
/// Bytes of what a value is measured in.
const UNIT_BYTES: u16 = 8;

/// A row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CountRow {
    /// End of the interval, monotonic nanoseconds.
    pub(crate) time_ns: u64,
    /// The CPU, if it is of one.
    pub(crate) cpu: u32,
    /// The process, if it is of one.
    pub(crate) pid: u32,
    /// The thread, if it is of one.
    pub(crate) tid: u32,
    /// Its name.
    pub(crate) comm: String,
    /// The event as it is written.
    pub(crate) event: String,
    /// `all`, `CPU3`, or a thread's name and id.
    pub(crate) scope: String,
    /// How many in the interval; where the event was on a counter for a part of the time only, what that comes to for
    /// all of it. Of a gauge the value at the end of the interval.
    pub(crate) value: u64,
    /// Nanoseconds of the interval in which it was to be counted, over all counters.
    pub(crate) enabled_ns: u64,
    /// Those in which it was.
    pub(crate) running_ns: u64,
    /// Length of the interval.
    pub(crate) span_ns: u64,
    /// Index of its group: events of one are counted together.
    pub(crate) group: u32,
    /// Why it is not counted; empty if it is.
    pub(crate) state: String,
    /// The value is that of the moment, and not how many there were in the interval.
    pub(crate) is_gauge: bool,
    /// What the value is measured in: `ns`, `bytes`; empty for numbers.
    pub(crate) unit: &'static str,
}

/// The columns with what is in each.
fn columns() -> [(&'static str, ColumnEncoding); 15] {
    let number = |bytes| ColumnEncoding::Unsigned { bytes, hex: false };
    let text = |bytes| ColumnEncoding::FixedText { bytes };
    [
        ("time", number(8)),
        ("cpu", number(4)),
        ("pid", number(4)),
        ("tid", number(4)),
        ("comm", text(COMM_BYTES)),
        ("event", text(EVENT_BYTES)),
        ("scope", text(SCOPE_BYTES)),
        ("value", number(8)),
        ("enabled_ns", number(8)),
        ("running_ns", number(8)),
        ("span_ns", number(8)),
        ("group", number(4)),
        ("state", text(STATE_BYTES)),
        ("gauge", number(4)),
        ("unit", text(UNIT_BYTES)),
    ]
}

/// How the rows look.
pub(crate) fn layout() -> StreamLayout {
    let mut offset = 0;
    let column = |(name, encoding): (&str, ColumnEncoding)| {
        let bytes = match encoding {
            ColumnEncoding::Unsigned { bytes, .. } | ColumnEncoding::Signed { bytes } => u32::from(bytes),
            ColumnEncoding::FixedText { bytes } => u32::from(bytes),
            ColumnEncoding::LengthText { room } => 4 + u32::from(room),
        };
        let column = ColumnLayout { name: name.to_owned(), offset, encoding };
        offset += bytes;
        column
    };
    let columns = columns().into_iter().map(column).collect();
    StreamLayout::Records { record_bytes: offset, columns }
}

impl CountRow {
    /// The record of [`layout`].
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut record = Vec::new();
        record.extend(self.time_ns.to_le_bytes());
        for number in [self.cpu, self.pid, self.tid] {
            record.extend(number.to_le_bytes());
        }
        put_text(&mut record, &self.comm, COMM_BYTES);
        put_text(&mut record, &self.event, EVENT_BYTES);
        put_text(&mut record, &self.scope, SCOPE_BYTES);
        for number in [self.value, self.enabled_ns, self.running_ns, self.span_ns] {
            record.extend(number.to_le_bytes());
        }
        record.extend(self.group.to_le_bytes());
        put_text(&mut record, &self.state, STATE_BYTES);
        record.extend(u32::from(self.is_gauge).to_le_bytes());
        put_text(&mut record, self.unit, UNIT_BYTES);
        record
    }
}

/// A text cut at the end of a character, and zeros up to its room.
fn put_text(record: &mut Vec<u8>, text: &str, room: u16) {
    let end = record.len() + usize::from(room);
    let cut = text.floor_char_boundary(usize::from(room));
    record.extend(text.get(..cut).unwrap_or_default().as_bytes());
    record.resize(end, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_as_long_as_their_layout_says() {
        let StreamLayout::Records { record_bytes, columns } = layout() else { panic!() };
        let row = CountRow { event: "ä".repeat(200), state: "x".repeat(1000), value: 7, ..CountRow::default() };
        let record = row.encode();
        assert_eq!(record.len(), record_bytes as usize);
        let value = columns.iter().find(|column| column.name == "value").unwrap();
        assert_eq!(record[value.offset as usize], 7);
        assert!(CountRow::default().encode().iter().all(|byte| *byte == 0));
    }
}
