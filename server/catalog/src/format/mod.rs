//! The reader of tracefs `events/SYSTEM/EVENT/format` files.

mod hex;

use hex::hex_fields;

/// The largest format file that is read; the kernel's largest are some 20 KiB, most of it the print format.
pub const MAX_FORMAT_BYTES: usize = 1 << 20;
/// The most fields of one event.
const MAX_EVENT_FIELDS: usize = 512;
/// The longest name or type of a field.
const MAX_TEXT_BYTES: usize = 256;
/// The kernel's records are smaller than a page of 64 KiB; an offset into one fits 16 bits.
const MAX_RECORD_END: u32 = 1 << 16;

/// What a tracepoint records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFormat {
    /// The kernel's number of the event, new at each boot.
    pub id: u32,
    /// The event's name without its subsystem.
    pub name: String,
    /// The event's own fields, without the `common_` ones (which a BPF program cannot read), in the file's order.
    pub fields: Vec<EventField>,
    /// Names of fields that the kernel prints as hexadecimal numbers.
    pub hex: Vec<String>,
}

impl EventFormat {
    /// The event's own field called `name`.
    pub fn field(&self, name: &str) -> Option<&EventField> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// One field of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventField {
    /// Its name.
    pub name: String,
    /// Its C type as the kernel writes it, with `__data_loc` or `__rel_loc` and without the name.
    pub type_name: String,
    /// Offset of its first byte in the record.
    pub offset: u32,
    /// Its bytes that mean something. A system call's `int` argument stands in 8 bytes of which 4 are its own: 4.
    pub size: u32,
    /// Whether it is a signed number.
    pub signed: bool,
    /// What is there.
    pub kind: FieldKind,
}

/// Reads all `field:` lines of a description, those of every event (`common_…`) and of `events/header_page` among them.
///
/// # Errors
/// If the bytes are not such a description, with the line.
pub fn parse_fields(bytes: &[u8]) -> Result<Vec<EventField>, FormatError> {
    let text = description(bytes)?;
    let mut fields = Vec::new();
    for (i, line) in text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("field:")) {
        if fields.len() == MAX_EVENT_FIELDS {
            return Err(FormatError { line: i + 1, kind: FormatErrorKind::TooLarge });
        }
        fields.push(field(line.trim()).map_err(|kind| FormatError { line: i + 1, kind })?);
    }
    Ok(fields)
}

fn description(bytes: &[u8]) -> Result<&str, FormatError> {
    if bytes.len() > MAX_FORMAT_BYTES {
        return Err(FormatError { line: 1, kind: FormatErrorKind::TooLarge });
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes.iter().take(error.valid_up_to()).filter(|byte| **byte == b'\n').count() + 1;
        FormatError { line, kind: FormatErrorKind::NotText }
    })
}

/// What is at the place of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A number of 1, 2, 4 or 8 bytes.
    Integer,
    /// An address.
    Pointer,
    /// A `char` array: text that ends at the first NUL or at the array's end.
    FixedText,
    /// An array of numbers.
    ArrayOf {
        /// Bytes of each: 1, 2, 4 or 8.
        element_bytes: u32,
        /// How many.
        count: u32,
    },
    /// `__data_loc char[]`: a `u32` of which the low half is where text begins, counted from the record's start.
    DynamicText,
    /// `__rel_loc char[]`: a `u32` of which the low half is where text begins, counted from the end of this `u32`.
    RelativeDynamicText,
    /// The address of text in the memory of the process that made a system call.
    UserText,
    /// Anything else: structures, dynamic arrays of numbers, arrays without a length.
    Other,
}

impl FieldKind {
    /// A stable word for the kind, as the API shows it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Pointer => "pointer",
            Self::FixedText => "text",
            Self::ArrayOf { .. } => "array",
            Self::DynamicText | Self::RelativeDynamicText => "dynamic_text",
            Self::UserText => "user_text",
            Self::Other => "other",
        }
    }
}

/// A format file that cannot be used. It never quotes the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the event's format: {kind}")]
pub struct FormatError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub kind: FormatErrorKind,
}

/// What is wrong with a format file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatErrorKind {
    /// Longer than [`MAX_FORMAT_BYTES`], or with too many fields or too long a name.
    #[error("something is larger than its limit")]
    TooLarge,
    /// Not UTF-8.
    #[error("it is not text")]
    NotText,
    /// `name:` is missing or not a name.
    #[error("there is no usable `name:`")]
    Name,
    /// `ID:` is missing or not a number.
    #[error("there is no usable `ID:`")]
    Id,
    /// A `field:` line lacks a type, a name, `offset:`, `size:` or `signed:`, or one does not make sense.
    #[error("a field is not described as the kernel does it")]
    Field,
    /// Two fields of one name.
    #[error("a field's name is there twice")]
    RepeatedField,
}

/// Reads the description of an event.
///
/// # Errors
/// If the bytes are not such a description, with the line.
pub fn parse_event_format(bytes: &[u8]) -> Result<EventFormat, FormatError> {
    let at = |line: usize| move |kind: FormatErrorKind| FormatError { line, kind };
    let text = description(bytes)?;
    let (mut name, mut id, mut fields) = (None, None, Vec::<EventField>::new());
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("name:") {
            name = Some(event_name(rest).map_err(at(i + 1))?);
        } else if let Some(rest) = line.strip_prefix("ID:") {
            id = Some(rest.trim().parse::<u32>().map_err(|_number| at(i + 1)(FormatErrorKind::Id))?);
        } else if line.starts_with("field:") {
            let field = field(line).map_err(at(i + 1))?;
            if field.name.starts_with("common_") && field.offset < 8 {
                continue;
            }
            if fields.len() == MAX_EVENT_FIELDS {
                return Err(at(i + 1)(FormatErrorKind::TooLarge));
            }
            if fields.iter().any(|earlier| earlier.name == field.name) {
                return Err(at(i + 1)(FormatErrorKind::RepeatedField));
            }
            fields.push(field);
        } else if line.starts_with("print fmt:") {
            break;
        }
    }
    let last = text.lines().count().max(1);
    let name = name.ok_or_else(|| at(last)(FormatErrorKind::Name))?;
    let id = id.ok_or_else(|| at(last)(FormatErrorKind::Id))?;
    if name.starts_with("sys_enter_") {
        fields.iter_mut().for_each(adjust_argument);
    }
    let hex = print_text(text).map(hex_fields).unwrap_or_default();
    Ok(EventFormat { id, name, fields, hex })
}

/// The text behind `print fmt:` in a format file.
pub(crate) fn print_text(format: &str) -> Option<&str> {
    let mut at = 0;
    for line in format.split_inclusive('\n') {
        if let Some(rest) = line.trim_start().strip_prefix("print fmt:") {
            // It goes on to the file's end: some formats have line ends in their texts.
            return format.get(at + line.len() - rest.len()..).map(str::trim);
        }
        at += line.len();
    }
    None
}

fn event_name(text: &str) -> Result<String, FormatErrorKind> {
    let name = text.trim();
    if name.is_empty() || name.len() > MAX_TEXT_BYTES {
        return Err(FormatErrorKind::Name);
    }
    Ok(name.to_owned())
}

/// `field:TYPE NAME;  offset:N;  size:N;  signed:N;`
fn field(line: &str) -> Result<EventField, FormatErrorKind> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next().and_then(|part| part.strip_prefix("field:")).ok_or(FormatErrorKind::Field)?;
    let (mut offset, mut size, mut signed) = (None, None, None);
    for part in parts {
        let Some((key, value)) = part.split_once(':') else { continue };
        let value = value.trim().parse::<u32>().ok();
        match key.trim() {
            "offset" => offset = value,
            "size" => size = value,
            "signed" => signed = value,
            _ => {}
        }
    }
    let (Some(offset), Some(size), Some(signed)) = (offset, size, signed) else {
        return Err(FormatErrorKind::Field);
    };
    if offset.checked_add(size).is_none_or(|end| end > MAX_RECORD_END) {
        return Err(FormatErrorKind::TooLarge);
    }
    let (type_name, name, dimension) = split_declaration(declaration)?;
    let kind = kind_of(type_name, dimension, size);
    Ok(EventField {
        name: name.to_owned(),
        type_name: whole_type(type_name, dimension),
        offset,
        size,
        signed: signed != 0,
        kind,
    })
}

fn whole_type(type_name: &str, dimension: Option<&str>) -> String {
    match dimension {
        Some(dimension) => format!("{type_name}[{dimension}]"),
        None => type_name.to_owned(),
    }
}

/// The type, the name, and what stands in the brackets after the name.
fn split_declaration(declaration: &str) -> Result<(&str, &str, Option<&str>), FormatErrorKind> {
    let declaration = declaration.trim();
    if declaration.len() > MAX_TEXT_BYTES {
        return Err(FormatErrorKind::TooLarge);
    }
    let (mut before, mut dimension) = (declaration, None);
    while let Some((rest, inside)) = before.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        // Of several dimensions none is a number, and the field is neither number nor text.
        dimension = Some(if dimension.is_none() { inside.trim() } else { "" });
        before = rest.trim_end();
    }
    let start = before.rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).map_or(0, |at| at + 1);
    let (type_name, name) = before.split_at_checked(start).ok_or(FormatErrorKind::Field)?;
    let type_name = type_name.trim();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || type_name.is_empty() {
        return Err(FormatErrorKind::Field);
    }
    Ok((type_name, name, dimension))
}

fn kind_of(type_name: &str, dimension: Option<&str>, size: u32) -> FieldKind {
    let plain = without_qualifiers(type_name);
    for (prefix, kind) in [("__data_loc", FieldKind::DynamicText), ("__rel_loc", FieldKind::RelativeDynamicText)] {
        if let Some(element) = plain.strip_prefix(prefix) {
            let text = element.replace(' ', "") == "char[]" && size == 4 && dimension.is_none();
            return if text { kind } else { FieldKind::Other };
        }
    }
    if let Some(dimension) = dimension {
        return array_kind(&plain, dimension, size);
    }
    let number = matches!(size, 1 | 2 | 4 | 8);
    if plain.ends_with('*') {
        return if size == 8 { FieldKind::Pointer } else { FieldKind::Other };
    }
    // A structure of such a size would read as a number that means nothing.
    let structure = plain.starts_with("struct ") || plain.starts_with("union ") || plain.contains('[');
    if number && !structure { FieldKind::Integer } else { FieldKind::Other }
}

fn array_kind(plain: &str, dimension: &str, size: u32) -> FieldKind {
    if size == 0 || dimension.is_empty() || plain.contains('[') {
        return FieldKind::Other;
    }
    if plain == "char" {
        return FieldKind::FixedText;
    }
    let element = match dimension.parse::<u32>() {
        Ok(count) if count > 0 && size.is_multiple_of(count) => Some(size / count),
        Ok(_) => None,
        // A name such as ETH_ALEN, as older kernels wrote it.
        Err(_name) => scalar(plain).map(|(bytes, _signed)| bytes).filter(|bytes| size.is_multiple_of(*bytes)),
    };
    let structure = plain.starts_with("struct ") || plain.starts_with("union ");
    match element {
        Some(element_bytes @ (1 | 2 | 4 | 8)) if !structure => {
            FieldKind::ArrayOf { element_bytes, count: size / element_bytes }
        }
        _ => FieldKind::Other,
    }
}

fn without_qualifiers(type_name: &str) -> String {
    let words = type_name.split_whitespace().filter(|word| !matches!(*word, "const" | "volatile" | "static"));
    words.collect::<Vec<_>>().join(" ")
}

/// Bytes and signedness of the C types that system calls take and arrays hold, on 64-bit machines.
pub(crate) fn scalar(plain: &str) -> Option<(u32, bool)> {
    Some(match plain {
        "char" | "signed char" | "s8" | "__s8" | "int8_t" => (1, true),
        "unsigned char" | "u8" | "__u8" | "uint8_t" | "bool" => (1, false),
        "short" | "s16" | "__s16" | "int16_t" => (2, true),
        "unsigned short" | "u16" | "__u16" | "uint16_t" | "umode_t" | "__be16" | "__le16" | "old_uid_t"
        | "old_gid_t" => (2, false),
        "int" | "s32" | "__s32" | "int32_t" | "pid_t" | "key_t" | "clockid_t" | "mqd_t" | "timer_t"
        | "key_serial_t" | "__kernel_pid_t" | "rwf_t" => (4, true),
        "unsigned" | "unsigned int" | "uint" | "u32" | "__u32" | "uint32_t" | "uid_t" | "gid_t" | "qid_t" | "gfp_t"
        | "__be32" | "__le32" | "dev_t" => (4, false),
        "long" | "long long" | "s64" | "__s64" | "int64_t" | "loff_t" | "off_t" | "ssize_t" | "time64_t" => (8, true),
        "unsigned long" | "unsigned long long" | "u64" | "__u64" | "uint64_t" | "size_t" | "aio_context_t" => {
            (8, false)
        }
        _ => return None,
    })
}

/// The kernel describes each argument of a system call as 8 unsigned bytes, whatever its type: the register. What the
/// system call sees are the bytes of its type; the others hold whatever the program left there.
fn adjust_argument(field: &mut EventField) {
    if field.size != 8 {
        return;
    }
    let plain = without_qualifiers(&field.type_name);
    match field.kind {
        FieldKind::Integer => {
            if let Some((bytes, signed)) = scalar(&plain) {
                field.size = bytes;
                // A set of bits has no sign, whatever its C type.
                field.signed = signed && !field.name.ends_with("flags");
            }
        }
        // `write` and its kin take a buffer as `const char *buf`: not text that ends in a NUL.
        FieldKind::Pointer if is_text_argument(&field.type_name) && field.name != "buf" => {
            field.kind = FieldKind::UserText;
        }
        _ => {}
    }
}

fn is_text_argument(type_name: &str) -> bool {
    let words = type_name.replace('*', " * ");
    words.split_whitespace().filter(|word| *word != "__user").eq(["const", "char", "*"])
}

impl EventField {
    /// Bytes and signedness of the numbers in an array without a fixed length: one that `__data_loc` or `__rel_loc` tells
    /// the place of, or one at the record's end. None for fields of other kinds and for arrays of something else.
    pub fn varying_element(&self) -> Option<(u32, bool)> {
        if self.kind != FieldKind::Other {
            return None;
        }
        let plain = without_qualifiers(&self.type_name);
        let place = ["__data_loc", "__rel_loc"].iter().find_map(|prefix| plain.strip_prefix(prefix));
        let element = place.unwrap_or(&plain).trim().strip_suffix("[]")?.trim();
        if element.ends_with('*') { Some((8, false)) } else { scalar(element) }
    }
}
