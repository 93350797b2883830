//! Which columns the fields of an event become, and what the names in a predicate stand for.

use bathyscope_capture::{
    Column, ColumnType, ColumnUnit, CompareOp, Display, Literal, Predicate, PredicateError, column_name_of_field,
};

use crate::{
    format::{EventField, EventFormat, FieldKind},
    suggest::closest,
};

/// The most columns that one array becomes.
pub const MAX_ARRAY_COLUMNS: u32 = 64;

/// A column and where its values come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldColumn {
    /// The column, as the stream's schema has it.
    pub column: Column,
    /// Where its value is.
    pub source: ColumnSource,
}

/// Where in an event's record a value is. Offsets are in bytes from the record's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnSource {
    /// A number.
    Number {
        /// Of its first byte.
        offset: u32,
        /// 1, 2, 4 or 8.
        bytes: u32,
        /// Whether it is signed.
        signed: bool,
    },
    /// Text that ends at the first NUL or after `bytes`.
    FixedText {
        /// Of its first byte.
        offset: u32,
        /// Room for it.
        bytes: u32,
    },
    /// Text at the place that a `u32` in the record tells.
    DynamicText {
        /// Of the `u32`, of which the low half is the text's offset.
        offset: u32,
        /// Whether that is counted from the end of the `u32` instead of from the record's start.
        relative: bool,
    },
    /// Text at an address in the current process's memory.
    UserText {
        /// Of the address.
        offset: u32,
    },
}

impl ColumnSource {
    /// Whether it is text.
    pub fn is_text(self) -> bool {
        !matches!(self, Self::Number { .. })
    }
}

/// A name that does not stand for anything that can be recorded or compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// The event has no such field.
    #[error("{tracepoint} has no field `{field}`{}", hint(.suggestion.as_deref()))]
    Unknown {
        /// What was asked for.
        field: String,
        /// The event.
        tracepoint: String,
        /// What was probably meant.
        suggestion: Option<String>,
    },
    /// The field cannot be recorded.
    #[error("the field `{field}` of {tracepoint} cannot be recorded: {why}")]
    NotRecordable {
        /// The field.
        field: String,
        /// The event.
        tracepoint: String,
        /// Why, in words.
        why: &'static str,
    },
    /// An array where one number is needed, or a number where an array is needed.
    #[error("`{field}` of {tracepoint} {what}")]
    Element {
        /// What was asked for.
        field: String,
        /// The event.
        tracepoint: String,
        /// What is wrong, in words.
        what: String,
    },
    /// A column would exist twice.
    #[error("the column `{column}` of {tracepoint} is asked for twice; ask for it once")]
    Repeated {
        /// The column.
        column: String,
        /// The event.
        tracepoint: String,
    },
    /// Text compared as a number or the reverse.
    #[error("`{field}` of {tracepoint} is {is}: {remedy}")]
    Mismatch {
        /// The field.
        field: String,
        /// The event.
        tracepoint: String,
        /// `text` or `a number`.
        is: &'static str,
        /// How to compare it.
        remedy: &'static str,
    },
    /// A number has a unit that does not fit the field.
    #[error("{tracepoint}: {error}")]
    Unit {
        /// The event.
        tracepoint: String,
        /// What does not fit, where, and what would.
        error: PredicateError,
    },
    /// What no program in the kernel can ask.
    #[error("`{what}` cannot be asked where {tracepoint} is recorded: {why}")]
    RowsOnly {
        /// What, as it is written.
        what: &'static str,
        /// The event.
        tracepoint: String,
        /// Why, and what to do instead.
        why: &'static str,
    },
}

fn hint(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// What a name in a predicate stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The current process (tgid), 4 bytes unsigned.
    Pid,
    /// The current thread, 4 bytes unsigned.
    Tid,
    /// The CPU, 4 bytes unsigned.
    Cpu,
    /// The current thread's name.
    Comm,
    /// A field of the event.
    Field(ColumnSource),
}

impl Operand {
    /// Whether it is text.
    pub fn is_text(self) -> bool {
        match self {
            Self::Pid | Self::Tid | Self::Cpu => false,
            Self::Comm => true,
            Self::Field(source) => source.is_text(),
        }
    }

    /// What the name stands for: the current task's `pid`, `tid`, `cpu`, `comm`, else the event's own field;
    /// `args.NAME` is always the event's own.
    ///
    /// # Errors
    /// If it stands for nothing, or for an array as a whole, or for something that is neither number nor text.
    pub fn resolve(format: &EventFormat, name: &str) -> Result<Self, FieldError> {
        match name {
            "pid" => return Ok(Self::Pid),
            "tid" => return Ok(Self::Tid),
            "cpu" => return Ok(Self::Cpu),
            "comm" => return Ok(Self::Comm),
            _ => {}
        }
        match own_columns(format, name)?.as_slice() {
            [one] => Ok(Self::Field(one.source)),
            all => Err(FieldError::Element {
                field: name.to_owned(),
                tracepoint: format.name.clone(),
                what: format!("is an array of {}; name one element, such as {name}[0]", all.len()),
            }),
        }
    }
}

/// The columns of the given fields of an event, in the order asked for; an array becomes one column for each element.
///
/// A name may be written as `NAME`, `args.NAME` or, for one element of an array, `NAME[INDEX]`.
///
/// # Errors
/// If a field does not exist, cannot be recorded, or is asked for twice.
pub fn columns_of<S: AsRef<str>>(format: &EventFormat, fields: &[S]) -> Result<Vec<FieldColumn>, FieldError> {
    let mut columns = Vec::<FieldColumn>::new();
    for field in fields {
        for column in own_columns(format, field.as_ref())? {
            if columns.iter().any(|earlier| earlier.column.name == column.column.name) {
                return Err(FieldError::Repeated { column: column.column.name, tracepoint: format.name.clone() });
            }
            columns.push(column);
        }
    }
    Ok(columns)
}

/// Checks that every name of a predicate stands for something, and that text is compared with text.
///
/// # Errors
/// The first name that does not fit.
pub fn check_predicate(format: &EventFormat, predicate: &Predicate) -> Result<(), FieldError> {
    let rows_only = |what, why| Err(FieldError::RowsOnly { what, tracepoint: format.name.clone(), why });
    let (field, wants_text) = match predicate {
        Predicate::Not(inner) => return check_predicate(format, inner),
        Predicate::All(parts) | Predicate::Any(parts) => {
            return parts.iter().try_for_each(|part| check_predicate(format, part));
        }
        Predicate::HasFrame { .. } => {
            let why =
                "functions have their names only when the capture is read; record stacks and filter the rows by it";
            return rows_only("has stack frame", why);
        }
        Predicate::Compare { op: CompareOp::Regex, .. } => {
            let why = "programs in the kernel know no regular expressions; use ~ with a * at an end, contains or in, or filter \
                       the rows by it";
            return rows_only("matches", why);
        }
        Predicate::Compare { field, op, value } => (field, value.is_text() || op.is_of_text()),
        Predicate::In { field, values } => (field, values.iter().any(Literal::is_text)),
        Predicate::Between { field, .. } => (field, false),
    };
    let text = Operand::resolve(format, field)?.is_text();
    let (is, remedy) = match (text, wants_text) {
        (true, false) => ("text", "compare it with text in quotes by ==, !=, ~, contains or in"),
        (false, true) => ("a number", "compare it with a number"),
        _ => return in_units(format, predicate).map(drop),
    };
    Err(FieldError::Mismatch { field: field.clone(), tracepoint: format.name.clone(), is, remedy })
}

/// A predicate with plain numbers in place of those with units, for an event's fields.
///
/// # Errors
/// The first number with a unit that does not fit its field.
pub fn in_units(format: &EventFormat, predicate: &Predicate) -> Result<Predicate, FieldError> {
    // As the column of that name says it when the rows are read.
    predicate
        .in_units(&mut |field| ColumnUnit::of_name(field))
        .map_err(|error| FieldError::Unit { tracepoint: format.name.clone(), error })
}

impl EventField {
    /// Why the field cannot be recorded; `None` if it can.
    pub fn obstacle(&self) -> Option<&'static str> {
        match self.kind {
            FieldKind::ArrayOf { count, .. } if count > MAX_ARRAY_COLUMNS => Some("it is an array of too many numbers"),
            FieldKind::Other if self.type_name.starts_with("__data_loc") || self.type_name.starts_with("__rel_loc") => {
                Some("it is an array of varying length that is not text")
            }
            FieldKind::Other if self.size == 0 => Some("the kernel does not say how long it is"),
            FieldKind::Other => Some("it is neither a number nor text"),
            _ => None,
        }
    }

    fn recordable(&self, tracepoint: &str) -> Result<(), FieldError> {
        match self.obstacle() {
            None => Ok(()),
            Some(why) => {
                Err(FieldError::NotRecordable { field: self.name.clone(), tracepoint: tracepoint.to_owned(), why })
            }
        }
    }
}

fn own_columns(format: &EventFormat, asked: &str) -> Result<Vec<FieldColumn>, FieldError> {
    let name = asked.strip_prefix("args.").unwrap_or(asked);
    let (name, index) = match name.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
        Some((name, index)) => (name, index.parse::<u32>().ok()),
        None => (name, None),
    };
    let unknown = || FieldError::Unknown {
        field: asked.to_owned(),
        tracepoint: format.name.clone(),
        suggestion: suggestion(format, name),
    };
    let element = |what: String| FieldError::Element { field: asked.to_owned(), tracepoint: format.name.clone(), what };
    let field = format.field(name).ok_or_else(unknown)?;
    if asked.ends_with(']') && index.is_none() {
        return Err(unknown());
    }
    match (field.kind, index) {
        (FieldKind::ArrayOf { element_bytes, count }, Some(index)) => {
            if index >= count {
                return Err(element(format!(
                    "does not exist; the last element is {name}[{}]",
                    count.saturating_sub(1)
                )));
            }
            Ok(vec![as_printed(format, field, element_column(field, element_bytes, index))])
        }
        (_, Some(_)) => Err(element("is not an array of numbers".to_owned())),
        (FieldKind::ArrayOf { element_bytes, count }, None) => {
            field.recordable(&format.name)?;
            let element = |index| as_printed(format, field, element_column(field, element_bytes, index));
            Ok((0..count).map(element).collect())
        }
        (_, None) => {
            field.recordable(&format.name)?;
            let column = column(column_name_of_field(&field.name), field, source_of(field));
            Ok(vec![as_printed(format, field, column)])
        }
    }
}

fn suggestion(format: &EventFormat, name: &str) -> Option<String> {
    // The one common field that people ask for by ftrace's name.
    if name == "common_pid" {
        return Some("tid".to_owned());
    }
    closest(name, format.fields.iter().map(|field| field.name.as_str())).map(str::to_owned)
}

/// Shown in hexadecimal if the kernel prints it so.
fn as_printed(format: &EventFormat, field: &EventField, mut found: FieldColumn) -> FieldColumn {
    let is_hex = || format.hex.contains(&field.name);
    if found.column.ty == ColumnType::U64 && found.column.display == Display::Decimal && is_hex() {
        found.column.display = Display::Hex;
    }
    found
}

fn element_column(field: &EventField, bytes: u32, index: u32) -> FieldColumn {
    let name = format!("{}[{index}]", column_name_of_field(&field.name));
    let source = ColumnSource::Number { offset: field.offset + index * bytes, bytes, signed: field.signed };
    column(name, field, source)
}

fn source_of(field: &EventField) -> ColumnSource {
    let offset = field.offset;
    match field.kind {
        FieldKind::FixedText => ColumnSource::FixedText { offset, bytes: field.size },
        FieldKind::DynamicText => ColumnSource::DynamicText { offset, relative: false },
        FieldKind::RelativeDynamicText => ColumnSource::DynamicText { offset, relative: true },
        FieldKind::UserText => ColumnSource::UserText { offset },
        FieldKind::Integer | FieldKind::ArrayOf { .. } | FieldKind::Other => {
            ColumnSource::Number { offset, bytes: field.size, signed: field.signed }
        }
        FieldKind::Pointer => ColumnSource::Number { offset, bytes: field.size, signed: false },
    }
}

fn column(name: String, field: &EventField, source: ColumnSource) -> FieldColumn {
    let (ty, display) = match source {
        ColumnSource::Number { signed: true, .. } => (ColumnType::I64, Display::Decimal),
        ColumnSource::Number { signed: false, .. } if reads_as_hex(field) => (ColumnType::U64, Display::Hex),
        ColumnSource::Number { signed: false, .. } => (ColumnType::U64, Display::Decimal),
        _ => (ColumnType::Text, Display::Text),
    };
    FieldColumn { column: Column { name, ty, display }, source }
}

/// Addresses and sets of flags, which the kernel's types do not tell from counts.
fn reads_as_hex(field: &EventField) -> bool {
    let name = field.name.as_str();
    let address = field.size == 8 && (name.ends_with("addr") || name.ends_with("address"));
    let code = field.size == 8 && matches!(name, "ip" | "call_site" | "caller" | "parent_ip" | "function");
    field.kind == FieldKind::Pointer || name.ends_with("flags") || address || code
}
