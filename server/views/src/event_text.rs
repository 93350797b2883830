//! A row of the kernel's event as the kernel prints it: by the format that was stored with its stream.

use std::{borrow::Cow, collections::HashMap};

use bathyscope_capture::{Cell, Column, KernelFormat, StreamSchema, Symbol, column_name_of_field};
use bathyscope_catalog::{
    EventField, FieldKind, parse_event_format,
    print::{AddressName, EventValues, FieldValue, PrintError, PrintErrorKind, PrintFormat},
};

use crate::{Dictionaries, RecordedCell};

/// Where the value of a field is in a row.
#[derive(Clone, Debug)]
enum FieldPlace {
    /// In one column.
    One { column: usize, bytes: u8, signed: bool },
    /// Each element in a column.
    Elements { columns: Vec<usize>, width: u8, signed: bool },
    /// An array that is written as text, `{1,2}`.
    Listed { column: usize, width: u8, signed: bool },
    /// Bytes that are written in hexadecimal.
    Bytes { column: usize },
}

/// How the rows of a stream are printed.
#[derive(Clone, Debug)]
pub struct EventText<'a> {
    print: PrintFormat,
    places: Vec<FieldPlace>,
    names: HashMap<u64, &'a Symbol>,
}

impl<'a> EventText<'a> {
    /// How rows of this stream are printed; none where its format is not stored or not all that it prints was recorded.
    ///
    /// # Errors
    /// Why the format is not understood.
    pub fn of(schema: &StreamSchema, dictionaries: &'a Dictionaries) -> Result<Option<Self>, PrintError> {
        let Some(format) = schema.format.as_deref() else { return Ok(None) };
        let unusable = PrintError { offset: 0, kind: PrintErrorKind::Missing };
        let event = parse_event_format(format.text.as_bytes()).map_err(|_format| unusable)?;
        let mut constant = |name: &str| format.constants.get(name).copied();
        let print = PrintFormat::parse(&event, &format.text, &mut constant)?;
        let place = |name: &String| place(schema, event.field(name)?, event.name.starts_with("sys_enter_"));
        let Some(places) = print.fields().iter().map(place).collect() else { return Ok(None) };
        let start = format.constants.get(KernelFormat::CODE_START).filter(|_| print.names_addresses());
        let names = start.map_or_else(HashMap::new, |start| {
            let named = dictionaries.kernel_names();
            named.map(|(offset, symbol)| (start.cast_unsigned().wrapping_add(offset), symbol)).collect()
        });
        Ok(Some(Self { print, places, names }))
    }

    /// The columns with addresses of the kernel that are shown as its functions.
    pub fn address_columns(&self) -> Vec<usize> {
        let place = |index: usize| match self.places.get(index) {
            Some(FieldPlace::One { column, .. }) => Some(*column),
            _ => None,
        };
        self.print.named_addresses().into_iter().filter_map(place).collect()
    }

    /// The columns that the text is made of.
    pub fn columns(&self) -> Vec<usize> {
        let of = |place: &FieldPlace| match place {
            FieldPlace::One { column, .. } | FieldPlace::Listed { column, .. } | FieldPlace::Bytes { column } => {
                vec![*column]
            }
            FieldPlace::Elements { columns, .. } => columns.clone(),
        };
        self.places.iter().flat_map(of).collect()
    }

    /// Appends the text of a row, whose values `value` gives by column; says whether there is one.
    pub fn write<'b>(&self, value: impl Fn(usize) -> RecordedCell<'b>, out: &mut String) -> bool {
        let row = TextRow { text: self, value };
        self.print.write(&row, out).is_ok()
    }
}

fn place(schema: &StreamSchema, field: &EventField, is_call: bool) -> Option<FieldPlace> {
    let column = |name: &str| {
        let found = schema.columns.iter().enumerate().skip(StreamSchema::COMMON.len());
        found.into_iter().find(|(_, column): &(usize, &Column)| column.name == name).map(|(index, _)| index)
    };
    let name = column_name_of_field(&field.name);
    let bytes = u8::try_from(field.size).unwrap_or(8);
    Some(match field.kind {
        // A call's arguments are printed as the registers that they came in, whose upper half is clear.
        FieldKind::Integer => FieldPlace::One { column: column(&name)?, bytes, signed: field.signed && !is_call },
        FieldKind::Pointer | FieldKind::UserText => FieldPlace::One { column: column(&name)?, bytes: 8, signed: false },
        FieldKind::FixedText | FieldKind::DynamicText | FieldKind::RelativeDynamicText => {
            FieldPlace::One { column: column(&name)?, bytes: 8, signed: false }
        }
        FieldKind::ArrayOf { element_bytes, count } => {
            let (width, signed) = (u8::try_from(element_bytes).ok()?, field.signed);
            match column(&name) {
                Some(column) => FieldPlace::Listed { column, width, signed },
                None => {
                    let columns = (0..count).map(|index| column(&format!("{name}[{index}]")));
                    FieldPlace::Elements { columns: columns.collect::<Option<_>>()?, width, signed }
                }
            }
        }
        FieldKind::Other => match field.varying_element() {
            // It is kept as text.
            Some((1, true)) => FieldPlace::One { column: column(&name)?, bytes: 8, signed: false },
            Some((width, signed)) => {
                FieldPlace::Listed { column: column(&name)?, width: u8::try_from(width).ok()?, signed }
            }
            None => FieldPlace::Bytes { column: column(&name)? },
        },
    })
}

struct TextRow<'a, 'b, F: Fn(usize) -> RecordedCell<'b>> {
    text: &'a EventText<'a>,
    value: F,
}

impl<'b, F: Fn(usize) -> RecordedCell<'b>> EventValues for TextRow<'_, 'b, F> {
    fn field(&self, index: usize) -> Option<FieldValue<'_>> {
        let array = |bytes: Vec<u8>, width, signed| FieldValue::Array { bytes: bytes.into(), width, signed };
        match self.text.places.get(index)? {
            FieldPlace::One { column, bytes, signed } => match (self.value)(*column) {
                Cell::U64(bits) => Some(FieldValue::Number { bits, bytes: *bytes, signed: *signed }),
                Cell::I64(number) => {
                    Some(FieldValue::Number { bits: number.cast_unsigned(), bytes: *bytes, signed: *signed })
                }
                Cell::Text(text) => Some(FieldValue::Text(Cow::Borrowed(text))),
                Cell::Null | Cell::Stack(_) => None,
            },
            FieldPlace::Elements { columns, width, signed } => {
                let mut all = Vec::new();
                for column in columns {
                    let number = match (self.value)(*column) {
                        Cell::U64(bits) => bits,
                        Cell::I64(number) => number.cast_unsigned(),
                        Cell::Null | Cell::Text(_) | Cell::Stack(_) => return None,
                    };
                    all.extend(number.to_le_bytes().into_iter().take(usize::from(*width)));
                }
                Some(array(all, *width, *signed))
            }
            FieldPlace::Listed { column, width, signed } => {
                let Cell::Text(text) = (self.value)(*column) else { return None };
                Some(array(listed(text, *width)?, *width, *signed))
            }
            FieldPlace::Bytes { column } => {
                let Cell::Text(text) = (self.value)(*column) else { return None };
                Some(array(bytes_of_hex(text)?, 1, false))
            }
        }
    }

    fn name_of(&self, address: u64) -> Option<AddressName> {
        let symbol = self.text.names.get(&address)?;
        (!symbol.function.is_empty()).then(|| AddressName { name: symbol.function.clone(), offset: symbol.offset })
    }
}

/// The numbers in `{1,-2}` as they were in memory.
fn listed(text: &[u8], width: u8) -> Option<Vec<u8>> {
    let inner = std::str::from_utf8(text).ok()?.strip_prefix('{')?.strip_suffix('}')?;
    let mut all = Vec::new();
    for number in inner.split(',').filter(|_| !inner.is_empty()) {
        let number: i128 = number.parse().ok()?;
        all.extend((number as u64).to_le_bytes().into_iter().take(usize::from(width)));
    }
    Some(all)
}

fn bytes_of_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some((digit(*high)? << 4 | digit(*low)?) as u8),
        _ => None,
    };
    text.chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bathyscope_capture::{ColumnType, Display, Frame, Mapping, MappingKind, StreamKind};

    use super::*;

    const FORMAT: &str = "name: made
ID: 7
format:
\tfield:unsigned long site;\toffset:8;\tsize:8;\tsigned:0;
\tfield:int state;\toffset:16;\tsize:4;\tsigned:1;
\tfield:char comm[16];\toffset:20;\tsize:16;\tsigned:0;
\tfield:u8 few[2];\toffset:36;\tsize:2;\tsigned:0;
\tfield:__data_loc u16[] many;\toffset:40;\tsize:4;\tsigned:0;
\tfield:struct odd odd;\toffset:44;\tsize:3;\tsigned:0;

print fmt: \"%s state=%s %pS few=%u many=%s odd=%s\", REC->comm, __print_symbolic(REC->state, { OPEN, \"open\" }), \
(void *)REC->site, REC->few[1], __print_array(__get_dynamic_array(many), 9, 2), __print_hex_str(REC->odd, 3)
";

    fn schema() -> StreamSchema {
        let names = ["site", "state", "args.comm", "few[0]", "few[1]", "many", "odd"];
        let column = |name: &str| Column { name: name.to_owned(), ty: ColumnType::Text, display: Display::Text };
        let constants = BTreeMap::from([("OPEN".to_owned(), -2), (KernelFormat::CODE_START.to_owned(), 0x1000)]);
        let format = KernelFormat { text: FORMAT.to_owned(), constants };
        StreamSchema {
            format: Some(Box::new(format)),
            ..StreamSchema::new("a:made", StreamKind::Events, names.map(column))
        }
    }

    fn value(column: usize) -> RecordedCell<'static> {
        match column {
            5 => Cell::U64(0x1234),
            6 => Cell::I64(-2),
            7 => Cell::Text(b"ls\x1b"),
            8 | 9 => Cell::U64(column as u64),
            10 => Cell::Text(b"{1,65535}"),
            11 => Cell::Text(b"0aff01"),
            _ => Cell::Null,
        }
    }

    #[test]
    fn a_row_is_printed_by_its_streams_format() {
        let mut dictionaries = Dictionaries::default();
        let kernel = Mapping { kind: MappingKind::Kernel, build_id: Vec::new(), name: Vec::new(), pid: 0 };
        dictionaries.insert_mapping(1, kernel);
        dictionaries.insert_frame(1, Frame { mapping: 1, offset: 0x234 });
        let symbol = Symbol { function: "kfree [mod]".to_owned(), offset: 4, lines: Vec::new() };
        dictionaries.insert_symbol(1, symbol);
        let text = EventText::of(&schema(), &dictionaries).unwrap().unwrap();
        assert_eq!(text.address_columns(), [5]);
        let mut out = String::new();
        assert!(text.write(value, &mut out));
        assert_eq!(out, r"ls\x1b state=open kfree+0x4 [mod] few=9 many={0x1,0xffff} odd=0aff01");
    }

    #[test]
    fn without_all_that_it_prints_there_is_no_text() {
        let none = Dictionaries::default();
        let mut fewer = schema();
        fewer.columns.pop();
        assert!(EventText::of(&fewer, &none).unwrap().is_none());
        assert!(EventText::of(&StreamSchema { format: None, ..schema() }, &none).unwrap().is_none());
        let mut unknown = schema();
        unknown.format.as_mut().unwrap().constants.clear();
        assert_eq!(EventText::of(&unknown, &none).unwrap_err().kind, PrintErrorKind::Name);
        let text = EventText::of(&schema(), &none);
        let (text, mut out) = (text.unwrap().unwrap(), "before".to_owned());
        assert!(!text.write(|column| if column == 10 { Cell::Text(b"{x}") } else { value(column) }, &mut out));
        assert_eq!(out, "before");
    }
}
