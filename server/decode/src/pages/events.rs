//! The formats of a kernel's events by their number, and what the records of ftrace's own events mean.

use std::collections::HashMap;

use bathyscope_catalog::{EventField, EventFormat, FieldKind, FormatError, parse_event_format, parse_fields};

use super::{CallEntry, CallExit, FieldValue, Number, value};

/// The most events that one trace can have; a number of an event has 16 bits.
pub const MAX_EVENTS: usize = 1 << 16;

/// A set of formats that records cannot be read with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// A format cannot be read.
    #[error("the format of {name} cannot be read")]
    Format {
        /// The event, as it was asked for.
        name: String,
        /// Why.
        source: FormatError,
    },
    /// A format does not say where a record's number and thread are.
    #[error("the format of {name} has no usable field `{field}`")]
    Head {
        /// The event.
        name: String,
        /// What is missing.
        field: &'static str,
    },
    /// Two events have the same number.
    #[error("{name} has the number {id}, which another event has; take the formats again, all at once")]
    Repeated {
        /// The later one.
        name: String,
        /// The number.
        id: u32,
    },
    /// More than [`MAX_EVENTS`], or a number that does not fit.
    #[error("the number {id} of {name} is larger than an event's can be")]
    TooMany {
        /// The event.
        name: String,
        /// Its number.
        id: u32,
    },
}

/// What a record of ftrace's own means; others have only fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// A function was called (`function`): the fields of its address and its caller's.
    Function {
        /// `ip`.
        function: EventField,
        /// `parent_ip`.
        caller: EventField,
    },
    /// A function was entered (`funcgraph_entry`, `fgraph_retaddr_entry`).
    GraphEntry(GraphEntryFields),
    /// A function returned (`funcgraph_exit`).
    GraphExit(Box<GraphExitFields>),
    /// An event with fields.
    Fields,
}

/// The fields of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphEntryFields {
    function: EventField,
    depth: EventField,
    return_address: Option<EventField>,
}

/// The fields of an exit. Kernels differ in which there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphExitFields {
    function: EventField,
    depth: EventField,
    called: Option<EventField>,
    returned: Option<EventField>,
    overrun: Option<EventField>,
    value: Option<EventField>,
}

#[derive(Clone, Debug)]
struct Known {
    format: EventFormat,
    role: Role,
}

/// The events that a trace may have.
#[derive(Clone, Debug, Default)]
pub struct Events {
    head: Option<(EventField, EventField)>,
    known: HashMap<u32, Known>,
}

impl Events {
    /// Adds an event by its format file; `name` is only for errors. Gives its number.
    ///
    /// # Errors
    /// If the format cannot be used, or its number is taken.
    pub fn add(&mut self, name: &str, format: &[u8]) -> Result<u32, EventError> {
        let unreadable = |source| EventError::Format { name: name.to_owned(), source };
        let fields = parse_fields(format).map_err(unreadable)?;
        let parsed = parse_event_format(format).map_err(unreadable)?;
        let common = |wanted: &'static str| {
            let field = fields.iter().find(|field| field.name == wanted && field.kind == FieldKind::Integer);
            field.cloned().ok_or_else(|| EventError::Head { name: name.to_owned(), field: wanted })
        };
        let head = (common("common_type")?, common("common_pid")?);
        if self.head.get_or_insert_with(|| head.clone()) != &head {
            return Err(EventError::Head { name: name.to_owned(), field: "common_type" });
        }
        let id = parsed.id;
        if id as usize >= MAX_EVENTS {
            return Err(EventError::TooMany { name: name.to_owned(), id });
        }
        let role = role(&parsed);
        if self.known.contains_key(&id) {
            return Err(EventError::Repeated { name: name.to_owned(), id });
        }
        self.known.insert(id, Known { format: parsed, role });
        Ok(id)
    }

    /// The number of the event that wrote a record, and the thread it was written in (0: idle). None if the record is
    /// too short to tell.
    pub fn head(&self, record: &[u8]) -> Option<(u32, u32)> {
        let (id, tid) = self.head.as_ref()?;
        let number = |field| value(field, record)?.unsigned();
        Some((u32::try_from(number(id)?).ok()?, number(tid)? as u32))
    }

    /// The format of the event with this number.
    pub fn format(&self, id: u32) -> Option<&EventFormat> {
        self.known.get(&id).map(|known| &known.format)
    }

    /// What records with this number mean.
    pub fn role(&self, id: u32) -> Option<&Role> {
        self.known.get(&id).map(|known| &known.role)
    }
}

fn role(format: &EventFormat) -> Role {
    let number = |name: &str| {
        let usable = |field: &&EventField| matches!(field.kind, FieldKind::Integer | FieldKind::Pointer);
        format.field(name).filter(usable).cloned()
    };
    let found = match format.name.as_str() {
        "function" => {
            number("ip").zip(number("parent_ip")).map(|(function, caller)| Role::Function { function, caller })
        }
        "funcgraph_entry" | "fgraph_retaddr_entry" => number("func").zip(number("depth")).map(|(function, depth)| {
            Role::GraphEntry(GraphEntryFields { function, depth, return_address: number("retaddr") })
        }),
        "funcgraph_exit" => number("func").zip(number("depth")).map(|(function, depth)| {
            Role::GraphExit(Box::new(GraphExitFields {
                function,
                depth,
                called: number("calltime"),
                returned: number("rettime"),
                overrun: number("overrun"),
                value: number("retval"),
            }))
        }),
        _ => None,
    };
    // An event of a program's own may have one of these names, but not these fields.
    found.unwrap_or(Role::Fields)
}

fn unsigned(field: &EventField, record: &[u8]) -> Option<u64> {
    value(field, record)?.unsigned()
}

/// A depth is a small number; on some kernels it has a sign.
fn depth(field: &EventField, record: &[u8]) -> Option<u32> {
    match value(field, record)? {
        FieldValue::Number(Number::Unsigned(depth)) => Some(u32::try_from(depth).unwrap_or(u32::MAX)),
        FieldValue::Number(Number::Signed(depth)) => Some(u32::try_from(depth).unwrap_or(0)),
        _ => None,
    }
}

impl GraphEntryFields {
    /// The entry that a record tells of; none if the record is too short.
    pub fn read(&self, record: &[u8]) -> Option<CallEntry> {
        Some(CallEntry {
            function: unsigned(&self.function, record)?,
            depth: depth(&self.depth, record)?,
            caller: self.return_address.as_ref().and_then(|field| unsigned(field, record)),
        })
    }
}

impl GraphExitFields {
    /// The exit that a record tells of; none if the record is too short.
    pub fn read(&self, record: &[u8]) -> Option<CallExit> {
        let read = |field: &Option<EventField>| field.as_ref().and_then(|field| unsigned(field, record));
        let duration_ns = read(&self.called).zip(read(&self.returned)).map(|(from, to)| to.saturating_sub(from));
        Some(CallExit {
            function: unsigned(&self.function, record)?,
            depth: depth(&self.depth, record)?,
            duration_ns,
            overrun: read(&self.overrun).unwrap_or(0),
            value: read(&self.value),
        })
    }
}
