//! Which streams a trace has: one for each event, `function`, and `function_graph` for calls.

use std::collections::HashMap;

use bathyscope_capture::{Column, ColumnType, Display, StreamKind, StreamSchema, TraceSpec, column_name_of_field};
use bathyscope_catalog::{ColumnSource, EventField, EventFormat, FieldKind, columns_of};
use bathyscope_decode::pages::{Events, Layout, Role};
use bathyscope_protocol::{KernelFile, StartedSource, TraceFacts, TraceFormat};

use crate::{
    AgentLink,
    kernel_formats::{StreamFormat, read_whole},
    link::words,
};

/// The most streams of a capture.
const MAX_STREAMS: usize = 512;
/// The tracer's own events that need no stream by themselves: calls, and what is made of them.
const GRAPH_EVENTS: [&str; 3] = ["funcgraph_entry", "funcgraph_exit", "fgraph_retaddr_entry"];

/// Where the value of a column is.
#[derive(Clone, Debug)]
pub(crate) enum FieldSource {
    /// A number.
    Number(EventField),
    /// Text, or something that is shown as text.
    Text(EventField),
}

/// What becomes of the records of an event.
#[derive(Clone, Debug)]
pub(crate) enum RecordUse {
    /// A call of a function, in this stream.
    Function(u16, Role),
    /// One end of a call.
    Graph(Role),
    /// A row of this stream.
    Fields(u16, Vec<FieldSource>),
    /// A row of the stream for everything else, as the event's name and text.
    Other(u16, EventFormat),
}

/// The streams of a trace, and how its pages are read.
#[derive(Debug)]
pub(crate) struct TraceStreams {
    pub(crate) layout: Layout,
    pub(crate) events: Events,
    pub(crate) schemas: Vec<StreamSchema>,
    /// By the event's number.
    pub(crate) uses: HashMap<u32, RecordUse>,
    /// The stream of calls.
    pub(crate) graph: Option<u16>,
    /// The stream of each dynamic event.
    pub(crate) dynamic: Vec<Option<u16>>,
    /// The buffer's clock minus the monotonic clock, nanoseconds.
    pub(crate) ahead_ns: i64,
    /// How the kernel prints the events with a stream of their own.
    pub(super) formats: Vec<StreamFormat>,
}

/// Reads through the agent what the kernel says about the pages of a trace.
pub(super) async fn trace_streams(
    link: &AgentLink,
    spec: &TraceSpec,
    started: &StartedSource,
) -> Result<TraceStreams, String> {
    let facts = started.trace.as_deref().ok_or("the agent did not tell what its pages mean")?;
    let page = read_whole(link, KernelFile::TraceHeaderPage).await?;
    let event = read_whole(link, KernelFile::TraceHeaderEvent).await?;
    let layout = Layout::parse(&page, &event).map_err(|error| words(&error))?;
    let mut formats = Vec::new();
    for format in &facts.events {
        let TraceFormat { group, name, .. } = format;
        let tracepoint = format!("{group}:{name}").parse();
        let tracepoint = tracepoint.map_err(|_name| format!("the event {group:?}:{name:?} cannot be"))?;
        formats.push((format, read_whole(link, KernelFile::EventFormat { tracepoint }).await?));
    }
    streams_of(layout, spec, facts, &formats)
}

fn streams_of(
    layout: Layout,
    spec: &TraceSpec,
    facts: &TraceFacts,
    formats: &[(&TraceFormat, Vec<u8>)],
) -> Result<TraceStreams, String> {
    let mut streams = TraceStreams {
        layout,
        events: Events::default(),
        schemas: Vec::new(),
        uses: HashMap::new(),
        graph: None,
        dynamic: vec![None; spec.dynamic.len()],
        ahead_ns: facts.clock_ahead_ns,
        formats: Vec::new(),
    };
    // The streams of what was asked for come first, in its order, then the tracer's.
    let (own, asked): (Vec<_>, Vec<_>) = formats.iter().partition(|(format, _)| format.group == "ftrace");
    for (told, text) in asked {
        let id = streams.learn(told, text)?;
        let format = streams.format(id)?;
        let (sources, columns) = field_columns(&format);
        let stream = streams.add(StreamSchema::new(told.label.as_str(), StreamKind::Events, columns))?;
        streams.uses.insert(id, RecordUse::Fields(stream, sources));
        streams.formats.push(StreamFormat { stream, group: told.group.clone(), text: text.clone() });
        if let Some(slot) = told.dynamic.and_then(|index| streams.dynamic.get_mut(usize::from(index))) {
            *slot = Some(stream);
        }
    }
    streams.add_own(spec, own)?;
    Ok(streams)
}

impl TraceStreams {
    fn learn(&mut self, told: &TraceFormat, text: &[u8]) -> Result<u32, String> {
        let id = self.events.add(&told.label, text).map_err(|error| words(&error))?;
        if id == u32::from(told.id) {
            return Ok(id);
        }
        Err(format!("{} has become another event since the trace was made; start it again", told.label))
    }

    fn format(&self, id: u32) -> Result<EventFormat, String> {
        self.events.format(id).cloned().ok_or_else(|| "an event's format is lost".to_owned())
    }

    fn add(&mut self, schema: StreamSchema) -> Result<u16, String> {
        if self.schemas.len() >= MAX_STREAMS {
            return Err(format!("the trace has more than {MAX_STREAMS} kinds of events"));
        }
        self.schemas.push(schema);
        u16::try_from(self.schemas.len() - 1).map_err(|error| error.to_string())
    }

    /// The streams of the tracer's own events, as far as this trace can have such.
    fn add_own(&mut self, spec: &TraceSpec, own: Vec<&(&TraceFormat, Vec<u8>)>) -> Result<(), String> {
        let tracer = spec.tracer.as_deref().unwrap_or("");
        let on = |option: &str| spec.options.iter().any(|(name, on)| *on && name == option);
        let latency = ["wakeup", "irqsoff", "preempt"].iter().any(|prefix| tracer.starts_with(prefix));
        let function = tracer == "function" || latency;
        let graph = tracer == "function_graph" || (latency && on("display-graph"));
        let stacks = ["stacktrace", "userstacktrace", "func_stack_trace"].into_iter().any(on);
        let plain = matches!(tracer, "" | "function" | "function_graph");
        let function = if function { Some(self.add(function_schema())?) } else { None };
        self.graph = if graph { Some(self.add(graph_schema())?) } else { None };
        let other = if stacks || !plain { Some(self.add(other_schema())?) } else { None };
        for (told, text) in own {
            let id = self.learn(told, text)?;
            let role = self.events.role(id).cloned();
            let used = match (role, function, self.graph, other) {
                (Some(role @ Role::Function { .. }), Some(stream), _, _) => Some(RecordUse::Function(stream, role)),
                (Some(role @ (Role::GraphEntry(_) | Role::GraphExit(_))), _, Some(_), _) => {
                    Some(RecordUse::Graph(role))
                }
                (Some(_), _, _, Some(stream)) if !GRAPH_EVENTS.contains(&told.name.as_str()) => {
                    Some(RecordUse::Other(stream, self.format(id)?))
                }
                _ => None,
            };
            if let Some(used) = used {
                self.uses.insert(id, used);
            }
        }
        Ok(())
    }
}

fn text_column(name: &str) -> Column {
    Column { name: name.to_owned(), ty: ColumnType::Text, display: Display::Text }
}

fn number_column(name: &str) -> Column {
    Column { name: name.to_owned(), ty: ColumnType::U64, display: Display::Decimal }
}

fn function_schema() -> StreamSchema {
    StreamSchema::new("function", StreamKind::Events, [text_column("func"), text_column("caller")])
}

/// A row's time is when the call ended, as far as is known.
fn graph_schema() -> StreamSchema {
    let columns = [
        text_column("func"),
        number_column("depth"),
        number_column("duration_ns"),
        text_column("caller"),
        text_column("state"),
    ];
    StreamSchema::new("function_graph", StreamKind::Events, columns)
}

fn other_schema() -> StreamSchema {
    StreamSchema::new("ftrace", StreamKind::Events, [text_column("event"), text_column("text")])
}

/// The columns of all fields of an event, and where their values are.
fn field_columns(format: &EventFormat) -> (Vec<FieldSource>, Vec<Column>) {
    let (mut sources, mut columns) = (Vec::new(), Vec::<Column>::new());
    for field in &format.fields {
        for (source, column) in columns_of_field(format, field) {
            if columns.iter().all(|earlier| earlier.name != column.name) {
                sources.push(source);
                columns.push(column);
            }
        }
    }
    (sources, columns)
}

fn columns_of_field(format: &EventFormat, field: &EventField) -> Vec<(FieldSource, Column)> {
    let address = matches!(field.kind, FieldKind::UserText) || field.name.starts_with("__probe_");
    let found = if field.obstacle().is_some() { None } else { columns_of(format, &[&field.name]).ok() };
    let Some(found) = found else {
        return vec![(FieldSource::Text(field.clone()), text_column(&column_name_of_field(&field.name)))];
    };
    let one = |found: bathyscope_catalog::FieldColumn| match found.source {
        ColumnSource::Number { offset, bytes, signed } => {
            let display = if address { Display::Hex } else { found.column.display };
            let kind = FieldKind::Integer;
            let part = EventField { offset, size: bytes, signed, kind, ..field.clone() };
            (FieldSource::Number(part), Column { display, ..found.column })
        }
        // The page has only where the text was; what was there may have changed since.
        ColumnSource::UserText { .. } => {
            let part = EventField { kind: FieldKind::Pointer, signed: false, ..field.clone() };
            let column = Column { ty: ColumnType::U64, display: Display::Hex, ..found.column };
            (FieldSource::Number(part), column)
        }
        ColumnSource::FixedText { .. } | ColumnSource::DynamicText { .. } => {
            (FieldSource::Text(field.clone()), found.column)
        }
    };
    found.into_iter().map(one).collect()
}
