//! Records of a BPF ring → columns, as the agent's layout says.

use std::convert::Infallible;

use bathyscope_capture::{
    Batch, CUT_MARK, Cell, Column, ColumnData, ColumnEncoding, ColumnLayout, ColumnType, Display, Row, ShownCell,
    StreamKind, StreamSchema, StringDictionary, StringId, visible,
};

/// The largest record that is accepted; the agent's are far smaller.
const MAX_RECORD_BYTES: u32 = 64 << 10;
/// Slots of the cache of short texts.
const CACHE_SLOTS: usize = 256;

/// A layout that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordLayoutError {
    /// A column lies outside the record or has an impossible width.
    #[error("the column `{0}` does not fit into its record")]
    Column(String),
    /// The first columns are not those that every stream has.
    #[error("the first columns are not time, cpu, pid, tid and comm")]
    Common,
    /// The record is empty or too large.
    #[error("records of {0} bytes cannot be")]
    Record(u32),
}

/// Decodes the records of one stream.
#[derive(Debug)]
pub struct RecordDecoder {
    record_bytes: usize,
    columns: Vec<(usize, ColumnEncoding)>,
    short_texts: Vec<(u128, StringId)>,
}

/// A field of a record. There are no stacks in records.
type FieldCell<'a> = Cell<FieldText<'a>, Infallible>;

/// A text in a record, perhaps only its beginning.
struct FieldText<'a> {
    bytes: &'a [u8],
    is_cut: bool,
}

impl RecordDecoder {
    /// Checks a layout, and makes the decoder and the schema of the stream called `name`.
    ///
    /// # Errors
    /// If there can be no such records.
    pub fn new(
        name: &str,
        record_bytes: u32,
        layout: &[ColumnLayout],
    ) -> Result<(Self, StreamSchema), RecordLayoutError> {
        if !(1..=MAX_RECORD_BYTES).contains(&record_bytes) {
            return Err(RecordLayoutError::Record(record_bytes));
        }
        let common = StreamSchema::COMMON.len();
        let is_common = |(column, (name, ty, _)): (&ColumnLayout, &(&str, ColumnType, Display))| {
            column.name == *name && type_of(column.encoding) == *ty
        };
        if layout.len() < common || !layout.iter().zip(&StreamSchema::COMMON).all(is_common) {
            return Err(RecordLayoutError::Common);
        }
        for column in layout {
            let end = u64::from(column.offset) + width(column.encoding).unwrap_or(u64::MAX / 2);
            if end > u64::from(record_bytes) {
                return Err(RecordLayoutError::Column(column.name.chars().take(80).collect()));
            }
        }
        let own = layout.iter().skip(common).map(|column| {
            let (ty, display) = (type_of(column.encoding), display_of(column.encoding));
            Column { name: column.name.clone(), ty, display }
        });
        let schema = StreamSchema::new(name, StreamKind::Events, own);
        let columns = layout.iter().map(|column| (column.offset as usize, column.encoding)).collect();
        let short_texts = vec![(0, 0); CACHE_SLOTS];
        Ok((Self { record_bytes: record_bytes as usize, columns, short_texts }, schema))
    }

    /// The moment of a record; none if it has another size.
    pub fn time_ns(&self, record: &[u8]) -> Option<u64> {
        let (offset, encoding) = self.columns.first().filter(|_| record.len() == self.record_bytes)?;
        match field(record, *offset, *encoding) {
            Cell::U64(time) => Some(time),
            Cell::I64(_) | Cell::Text(_) | Cell::Null => None,
        }
    }

    /// Appends a record as a row; `false` if it has another size, and then nothing is appended.
    pub fn decode(&mut self, record: &[u8], batch: &mut Batch, strings: &mut StringDictionary) -> bool {
        if record.len() != self.record_bytes || batch.columns.len() != self.columns.len() {
            return false;
        }
        for ((offset, encoding), column) in self.columns.iter().zip(&mut batch.columns) {
            match (field(record, *offset, *encoding), column) {
                (Cell::U64(value), ColumnData::U64(values)) => values.push(value),
                (Cell::I64(value), ColumnData::I64(values)) => values.push(value),
                (Cell::Text(text), ColumnData::Id(ids)) => ids.push(text_id(&mut self.short_texts, strings, &text)),
                (Cell::Null, ColumnData::Id(ids)) => ids.push(0),
                // The batch was made from the same layout.
                _ => return false,
            }
        }
        true
    }

    /// A record as cells, its time relative to `origin_ns`.
    pub fn cells(&self, record: &[u8], origin_ns: u64) -> Vec<ShownCell> {
        let row =
            Row { cells: self.columns.iter().map(|(offset, encoding)| field(record, *offset, *encoding)).collect() };
        let text = |text: &FieldText<'_>| format!("{}{}", visible(text.bytes), if text.is_cut { "…" } else { "" });
        row.shown(origin_ns, |field| Some(text(field)), |never| match *never {})
    }
}

fn type_of(encoding: ColumnEncoding) -> ColumnType {
    match encoding {
        ColumnEncoding::Unsigned { .. } => ColumnType::U64,
        ColumnEncoding::Signed { .. } => ColumnType::I64,
        ColumnEncoding::FixedText { .. } | ColumnEncoding::LengthText { .. } => ColumnType::Text,
    }
}

fn display_of(encoding: ColumnEncoding) -> Display {
    match encoding {
        ColumnEncoding::Unsigned { hex: true, .. } => Display::Hex,
        ColumnEncoding::Unsigned { .. } | ColumnEncoding::Signed { .. } => Display::Decimal,
        ColumnEncoding::FixedText { .. } | ColumnEncoding::LengthText { .. } => Display::Text,
    }
}

/// Bytes that a field takes; none for a width that no number has.
fn width(encoding: ColumnEncoding) -> Option<u64> {
    match encoding {
        ColumnEncoding::Unsigned { bytes, .. } | ColumnEncoding::Signed { bytes } => {
            matches!(bytes, 1 | 2 | 4 | 8).then_some(u64::from(bytes))
        }
        ColumnEncoding::FixedText { bytes } => Some(u64::from(bytes)),
        ColumnEncoding::LengthText { room } => Some(4 + u64::from(room)),
    }
}

fn unsigned(record: &[u8], offset: usize, bytes: u8) -> u64 {
    let bytes = record.get(offset..offset + usize::from(bytes)).unwrap_or_default();
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn field(record: &[u8], offset: usize, encoding: ColumnEncoding) -> FieldCell<'_> {
    match encoding {
        ColumnEncoding::Unsigned { bytes, .. } => Cell::U64(unsigned(record, offset, bytes)),
        ColumnEncoding::Signed { bytes } => {
            let unused = 64_u32.saturating_sub(8 * u32::from(bytes));
            Cell::I64((unsigned(record, offset, bytes) << unused).cast_signed() >> unused)
        }
        ColumnEncoding::FixedText { bytes } => {
            let text = record.get(offset..offset + usize::from(bytes)).unwrap_or_default();
            Cell::Text(FieldText { bytes: until_nul(text), is_cut: false })
        }
        ColumnEncoding::LengthText { room } => {
            let told = unsigned(record, offset, 4) as u32;
            let room = usize::from(room);
            // The kernel's helper gives the length with the final NUL, or a negative error.
            let length = usize::try_from(told.cast_signed()).ok().filter(|length| *length > 0);
            length.map_or(Cell::Null, |length| {
                let text = record.get(offset + 4..offset + 4 + length.min(room)).unwrap_or_default();
                Cell::Text(FieldText { bytes: until_nul(text), is_cut: length >= room })
            })
        }
    }
}

fn until_nul(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Most texts are names of at most 15 bytes that come again and again: they are found without hashing.
fn text_id(cache: &mut [(u128, StringId)], strings: &mut StringDictionary, text: &FieldText<'_>) -> StringId {
    let text = match text {
        FieldText { bytes, is_cut: true } => return strings.id(&[bytes, CUT_MARK].concat()),
        FieldText { bytes, is_cut: false } => *bytes,
    };
    if text.len() > 15 {
        return strings.id(text);
    }
    let mut bytes = [0_u8; 16];
    bytes.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
    // The length in the last byte tells `a` and the empty text apart from those with NULs, and any key from zero.
    if let Some(last) = bytes.last_mut() {
        *last = text.len() as u8 + 1;
    }
    let key = u128::from_le_bytes(bytes);
    let folded = (key as u64) ^ ((key >> 64) as u64).rotate_left(29);
    let slot = (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize % CACHE_SLOTS;
    match cache.get_mut(slot) {
        Some((known, id)) if *known == key => *id,
        Some(entry) => {
            *entry = (key, strings.id(text));
            entry.1
        }
        None => strings.id(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn common_layout() -> Vec<ColumnLayout> {
        let number = |name: &str, offset, bytes| ColumnLayout {
            name: name.to_owned(),
            offset,
            encoding: ColumnEncoding::Unsigned { bytes, hex: false },
        };
        let comm = ColumnEncoding::FixedText { bytes: 16 };
        vec![
            number("time", 0, 8),
            number("cpu", 8, 4),
            number("pid", 12, 4),
            number("tid", 16, 4),
            ColumnLayout { name: "comm".to_owned(), offset: 20, encoding: comm },
        ]
    }

    fn layout() -> Vec<ColumnLayout> {
        let own = [
            ("flags", 36, ColumnEncoding::Unsigned { bytes: 2, hex: true }),
            ("ret", 38, ColumnEncoding::Signed { bytes: 2 }),
            ("path", 40, ColumnEncoding::LengthText { room: 8 }),
        ];
        let own = own.map(|(name, offset, encoding)| ColumnLayout { name: name.to_owned(), offset, encoding });
        common_layout().into_iter().chain(own).collect()
    }

    fn record(ret: i16, length: i32, path: &[u8; 8]) -> Vec<u8> {
        let mut record = Vec::new();
        record.extend_from_slice(&77_u64.to_le_bytes());
        [3_u32, 100, 101].iter().for_each(|number| record.extend_from_slice(&number.to_le_bytes()));
        record.extend_from_slice(b"dd\0garbage after");
        record.extend_from_slice(&0xbeef_u16.to_le_bytes());
        record.extend_from_slice(&ret.to_le_bytes());
        record.extend_from_slice(&length.to_le_bytes());
        record.extend_from_slice(path);
        record
    }

    #[test]
    fn fields_become_columns() {
        let (mut decoder, schema) = RecordDecoder::new("a:b", 52, &layout()).unwrap();
        assert_eq!(schema.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>()[5..], ["flags", "ret", "path"]);
        assert_eq!(schema.columns[5].display, Display::Hex);
        let (mut batch, mut strings) = (Batch::empty(&schema), StringDictionary::default());
        let cases: [(i16, i32, &[u8; 8], Option<&str>); 6] = [
            (-1, 4, b"abc\0zzzz", Some("abc")),
            (1, 8, b"abcdefg\0", Some("abcdefg…")),
            (0, 1, b"\0bcdefg\0", Some("")),
            (0, 0, b"\0bcdefg\0", None),
            (0, -14, b"abcdefg\0", None),
            (i16::MIN, i32::MAX, b"abcdefgh", Some("abcdefgh…")),
        ];
        for (ret, length, path, _) in cases {
            assert!(decoder.decode(&record(ret, length, path), &mut batch, &mut strings));
        }
        assert_eq!(batch.columns[0].as_u64(), [77; 6]);
        assert_eq!(batch.columns[3].as_u64(), [101; 6]);
        assert_eq!(batch.columns[6].as_i64(), [-1, 1, 0, 0, 0, -32768]);
        let texts = strings.take_new();
        let text = |id: u32| texts.iter().find(|(known, _)| *known == id).map(|(_, text)| text.as_slice());
        assert_eq!(text(batch.columns[4].as_id()[0]), Some(b"dd".as_slice()));
        for (id, (_, _, _, expected)) in batch.columns[7].as_id().iter().zip(cases) {
            assert_eq!(text(*id), expected.map(str::as_bytes));
        }
        let cells = decoder.cells(&record(-1, 8, b"a\x1bcdefg\0"), 70);
        assert_eq!(cells[0], ShownCell::Number(7));
        assert_eq!(cells[7], ShownCell::Text("a\\x1bcdefg…".to_owned()));
    }

    #[test]
    fn a_record_of_another_size_is_refused() {
        let (mut decoder, schema) = RecordDecoder::new("a:b", 52, &layout()).unwrap();
        let (mut batch, mut strings) = (Batch::empty(&schema), StringDictionary::default());
        for size in [0, 51, 53] {
            assert!(!decoder.decode(&vec![0; size], &mut batch, &mut strings));
        }
        assert_eq!(batch.rows(), 0);
    }

    #[test]
    fn impossible_layouts_are_refused() {
        let refused = |record_bytes, change: &dyn Fn(&mut Vec<ColumnLayout>)| {
            let mut layout = layout();
            change(&mut layout);
            RecordDecoder::new("a:b", record_bytes, &layout).unwrap_err()
        };
        assert_eq!(refused(51, &|_| ()), RecordLayoutError::Column("path".to_owned()));
        assert_eq!(refused(0, &|_| ()), RecordLayoutError::Record(0));
        assert_eq!(refused(52, &|l| l.truncate(4)), RecordLayoutError::Common);
        assert_eq!(refused(52, &|l| l.swap(0, 1)), RecordLayoutError::Common);
        assert_eq!(refused(52, &|l| l[5].offset = u32::MAX), RecordLayoutError::Column("flags".to_owned()));
        let odd = ColumnEncoding::Signed { bytes: 3 };
        assert_eq!(refused(52, &|l| l[6].encoding = odd), RecordLayoutError::Column("ret".to_owned()));
    }
}
