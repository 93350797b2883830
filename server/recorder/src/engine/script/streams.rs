//! Which streams the capture of a script has: one for each place that prints, one for each map.

use std::collections::HashSet;

use bathyscope_capture::{ScriptProbe, StreamKind, StreamSchema};
use bathyscope_decode::script::{MapRows, SiteRows};
use bathyscope_plan::{Action, Aggregation, MapPlan, Plan, Shown, Site, Type};
use bathyscope_views::MapKind;

use super::places::{header_at, is_constant, is_of_no_thread, tool_name};

/// The most streams of a capture.
const MAX_STREAMS: usize = 256;
/// Columns that the name of a stream tells.
const COLUMNS_IN_NAME: usize = 3;
/// Names of attach points that are told of one program.
const NAMES_OF_PROBES: usize = 3;

/// How the records of a site become rows.
#[derive(Debug)]
pub(crate) enum SiteStream {
    /// Its fields.
    Fields(SiteRows),
    /// Only when and by whom: `time`, `cat`, `system`.
    Moments,
    /// One element of a map, read from the map.
    Element,
}

/// The streams of a script.
#[derive(Debug, Default)]
pub(crate) struct ScriptStreams {
    pub(crate) schemas: Vec<StreamSchema>,
    /// By site.
    pub(crate) sites: Vec<Option<(u16, SiteStream)>>,
    /// By map.
    pub(crate) maps: Vec<(u16, MapRows)>,
    /// By site: whether its rows belong to no thread, whichever ran when its probe fired.
    pub(crate) of_no_thread: Vec<bool>,
}

impl ScriptStreams {
    /// The streams of a plan; `text` is the script's.
    pub(crate) fn new(plan: &Plan, text: &str) -> Result<Self, String> {
        let mut streams = Self::default();
        let mut names = StreamNames::new(plan, text);
        for site in &plan.sites {
            streams.of_no_thread.push(is_of_no_thread(&header_at(text, site.start as usize)));
            let made = site_stream(plan, site, &mut || names.name(site));
            let entry = match made {
                Some((stream, schema)) => Some((streams.add(schema)?, stream)),
                None => None,
            };
            streams.sites.push(entry);
        }
        for map in &plan.maps {
            let rows = MapRows::new(map);
            let schema = StreamSchema { kind: StreamKind::Map, ..rows.schema().clone() };
            let index = streams.add(schema)?;
            streams.maps.push((index, rows));
        }
        Ok(streams)
    }

    fn add(&mut self, schema: StreamSchema) -> Result<u16, String> {
        if self.schemas.len() >= MAX_STREAMS {
            return Err(format!("the script prints in more places and has more maps than {MAX_STREAMS} together"));
        }
        self.schemas.push(schema);
        u16::try_from(self.schemas.len() - 1).map_err(|error| error.to_string())
    }
}

fn site_stream(plan: &Plan, site: &Site, name: &mut dyn FnMut() -> String) -> Option<(SiteStream, StreamSchema)> {
    match &site.action {
        Action::PrintElement { map, .. } => {
            let map: &MapPlan = plan.maps.get(*map as usize)?;
            if site.fields.len() <= map.key.len() {
                let schema = MapRows::new(map).schema().clone();
                return Some((SiteStream::Element, StreamSchema { name: name(), kind: StreamKind::Map, ..schema }));
            }
        }
        Action::Time { .. } | Action::Cat { .. } | Action::System { .. } | Action::HelperFailed { .. } => {
            return Some((SiteStream::Moments, StreamSchema::new(name(), StreamKind::Events, [])));
        }
        Action::Print { .. } | Action::PrintValue | Action::Join { .. } => {}
        Action::PrintMap { .. } | Action::Clear { .. } | Action::Zero { .. } | Action::Exit => return None,
    }
    let rows = SiteRows::new(&name(), site)?;
    let schema = rows.schema().clone();
    Some((SiteStream::Fields(rows), schema))
}

/// Gives streams of places that print their names: a tool's only table that of the tool, others those of their first columns,
/// and the rest their line, such as `printf:12`. Headings are `heading:12`, so that views can leave them out. All differ.
struct StreamNames<'a> {
    text: &'a str,
    /// The tool's name, where only one place prints rows.
    tool: Option<&'a str>,
    given: HashSet<String>,
}

impl<'a> StreamNames<'a> {
    fn new(plan: &Plan, text: &'a str) -> Self {
        let mut names = Self { text, tool: None, given: HashSet::new() };
        let is_table = |site: &&Site| matches!(site.action, Action::Print { .. }) && !names.is_heading(site);
        let tables = plan.sites.iter().filter(is_table).count();
        names.tool = tool_name(text).filter(|_| tables == 1);
        names.given.extend(plan.maps.iter().map(|map| map.name.clone()));
        names
    }

    fn call(&self, site: &Site) -> &'a str {
        self.text.get(site.start as usize..site.end as usize).unwrap_or("")
    }

    /// Whether a place says the same each time, and not because something happened.
    fn is_heading(&self, site: &Site) -> bool {
        matches!(site.action, Action::Print { .. })
            && is_constant(self.call(site))
            && is_of_no_thread(&header_at(self.text, site.start as usize))
    }

    fn name(&mut self, site: &Site) -> String {
        let is_print = matches!(site.action, Action::Print { .. });
        let columns: Vec<&str> =
            site.fields.iter().map(|field| field.name.as_str()).filter(|name| !is_number(name)).collect();
        let name = match self.tool {
            _ if self.is_heading(site) => self.by_line("heading", site),
            Some(tool) if is_print => tool.to_owned(),
            _ if is_print && !columns.is_empty() => {
                let more = if columns.len() > COLUMNS_IN_NAME { " …" } else { "" };
                format!("{}{more}", columns.get(..COLUMNS_IN_NAME).unwrap_or(&columns).join(" "))
            }
            _ => self.by_line(word_of(&site.action), site),
        };
        let numbered = (2_u32..).map(|number| format!("{name}.{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !self.given.contains(name));
        let name = free.unwrap_or(name);
        self.given.insert(name.clone());
        name
    }

    fn by_line(&self, word: &str, site: &Site) -> String {
        let before = self.text.as_bytes().get(..site.start as usize).unwrap_or(self.text.as_bytes());
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("{word}:{line}")
    }
}

/// Whether a column has no name but a number: `arg2`.
fn is_number(column: &str) -> bool {
    column.strip_prefix("arg").is_some_and(|rest| rest.chars().all(|letter| letter.is_ascii_digit()))
}

fn word_of(action: &Action) -> &'static str {
    match action {
        Action::Print { to, .. } => match to {
            bathyscope_plan::Output::Out => "printf",
            bathyscope_plan::Output::Error => "errorf",
            bathyscope_plan::Output::Warning => "warnf",
        },
        Action::Time { .. } => "time",
        Action::Join { .. } => "join",
        Action::Cat { .. } => "cat",
        Action::System { .. } => "system",
        Action::HelperFailed { .. } => "helper",
        _ => "print",
    }
}

/// Whether the script shows something of a type, in a record or a map.
pub(crate) fn shows(plan: &Plan, wanted: &dyn Fn(&Type) -> bool) -> bool {
    let fields = plan.sites.iter().flat_map(|site| site.fields.iter().map(|field| &field.ty));
    let maps = plan.maps.iter().flat_map(|map| map.key.iter().chain([&map.value]));
    fields.chain(maps).any(|ty| contains(ty, wanted))
}

fn contains(ty: &Type, wanted: &dyn Fn(&Type) -> bool) -> bool {
    wanted(ty)
        || match ty {
            Type::Array { of, .. } => contains(of, wanted),
            Type::Tuple(parts) => parts.iter().any(|part| contains(part, wanted)),
            Type::Record(parts) => parts.iter().any(|(_, part)| contains(part, wanted)),
            Type::Struct(it) => it.fields.iter().any(|field| contains(&field.ty, wanted)),
            _ => false,
        }
}

/// Whether names of the kernel's addresses are needed.
pub(crate) fn shows_kernel_addresses(plan: &Plan) -> bool {
    plan.kernel_stacks || shows(plan, &|ty| matches!(ty, Type::Shown(Shown::KernelSymbol | Shown::Function)))
}

/// Whether names of addresses in processes are needed.
pub fn shows_user_addresses(plan: &Plan) -> bool {
    plan.user_stacks || shows(plan, &|ty| matches!(ty, Type::Shown(Shown::UserSymbol | Shown::Function)))
}

/// The programs of a plan before anything has run.
pub fn probes_of(plan: &Plan) -> Vec<ScriptProbe> {
    let probe = |(index, program): (usize, &bathyscope_plan::ProgramPlan)| {
        let own = || plan.probes.iter().filter(move |probe| probe.program as usize == index);
        let attached = own().count();
        let names: Vec<&str> = own().take(NAMES_OF_PROBES).map(|probe| probe.name.as_str()).collect();
        let mut name = names.join(", ");
        if attached > NAMES_OF_PROBES {
            name.push_str(&format!(" and {} more", attached - NAMES_OF_PROBES));
        }
        let attached = u32::try_from(attached).unwrap_or(u32::MAX);
        ScriptProbe { name, line: program.line, attached, ..ScriptProbe::default() }
    };
    plan.programs.iter().enumerate().map(probe).collect()
}

/// What a map's values are.
pub fn map_kind(map: &MapPlan) -> MapKind {
    match map.aggregation() {
        Some(Aggregation::Hist { .. } | Aggregation::LinearHist { .. }) => MapKind::Histogram,
        Some(Aggregation::TimeSeries { .. }) => MapKind::TimeSeries,
        Some(Aggregation::Stats { .. }) => MapKind::Stats,
        Some(Aggregation::Count) => MapKind::Count,
        Some(Aggregation::Sum { .. }) => MapKind::Sum,
        Some(Aggregation::Min { .. }) => MapKind::Min,
        Some(Aggregation::Max { .. }) => MapKind::Max,
        Some(Aggregation::Average { .. }) => MapKind::Average,
        None => MapKind::Value,
    }
}
