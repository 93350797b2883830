//! Everything of this host that can be traced.
//!
//! * `GET /api/catalog?q=&kind=&in=&offset=&limit=` (operator) → `{total, kinds:[{kind, count}], items:[{kind, name, shown,
//!   raw, in, note, works}]}`: best first. `kind` may be several with commas; `in` is a module, or a file for functions and
//!   markers of user space, which is read then. `shown` and `raw` are only there where they differ from `name`.
//! * `GET /api/catalog/kinds` (operator) → `{kinds:[{kind, title, count, state, age_ms, error, hidden:[{what, remedy}]}]}`.
//! * `GET /api/catalog/entry?kind=&name=&in=` (operator) → one in full.
//! * `GET /api/catalog/count?kind=&pattern=&in=` (operator) → `{total, usable}`.
//! * `POST /api/catalog/refresh` (operator): reads everything again when it is next asked for.

use axum::{Json, extract::State};
use bathyscope_capture::{TracepointName, visible};
use bathyscope_link::{
    inventory::{Action, Code, Entry, EntryKind, Hidden, InventoryError, Item, Means, ProbeSearch},
    words,
};
use serde::{Deserialize, Serialize};

use super::{
    super::{
        access::Operator,
        error::{ApiError, ErrorKind},
        extract::Query,
        state::AppState,
    },
    tracepoints::DescribedField,
};

/// The most entries of one answer.
const MOST_LISTED: usize = 1000;
/// The longest name, pattern or path that is looked for.
const MOST_BYTES: usize = 16 << 10;

impl From<InventoryError> for ApiError {
    fn from(error: InventoryError) -> Self {
        match error {
            InventoryError::Link(error) => error.into(),
            InventoryError::Missing { .. } => Self::new(ErrorKind::NotFound, "looking it up", words(&error))
                .remedy("A module or a program may have gone; search again."),
            InventoryError::File { doing, why } => Self::new(ErrorKind::Unsupported, doing, why),
            error => Self::internal("reading the inventory", error),
        }
    }
}

/// What to look for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct CatalogQuery {
    #[serde(default)]
    q: String,
    #[serde(default)]
    kind: String,
    #[serde(rename = "in")]
    within: Option<String>,
    #[serde(default)]
    offset: usize,
    limit: Option<usize>,
}

#[derive(Serialize)]
pub(in crate::http) struct FoundProbes {
    total: usize,
    kinds: Vec<KindCount>,
    items: Vec<WireItem>,
}

#[derive(Serialize)]
struct KindCount {
    kind: &'static str,
    count: usize,
}

/// What an entry is called.
#[derive(Serialize)]
struct WireName {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    shown: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    within: Option<String>,
}

impl WireName {
    fn new(name: String, raw: String, within: Option<String>) -> Self {
        Self { shown: shown(&name), raw: Some(raw).filter(|raw| *raw != name), within, name }
    }
}

#[derive(Serialize)]
struct WireItem {
    kind: &'static str,
    #[serde(flatten)]
    named: WireName,
    note: String,
    works: bool,
}

/// What is shown of a text that anyone may have made up, where it is not the text itself.
fn shown(text: &str) -> Option<String> {
    Some(visible(text.as_bytes())).filter(|shown| shown != text)
}

impl From<Item> for WireItem {
    fn from(item: Item) -> Self {
        Self {
            kind: item.kind.word(),
            named: WireName::new(item.name, item.raw, item.within),
            note: visible(item.note.as_bytes()),
            works: item.works,
        }
    }
}

fn kind_of(word: &str) -> Result<EntryKind, ApiError> {
    EntryKind::of_word(word).ok_or_else(|| {
        let all: Vec<&str> = EntryKind::ALL.iter().map(|kind| kind.word()).collect();
        ApiError::invalid(
            "reading the query",
            format!("`{}` is no kind; there are {}", visible(word.as_bytes()), all.join(", ")),
        )
    })
}

fn check_length(text: &str) -> Result<(), ApiError> {
    let too_long = || ApiError::invalid("reading the query", format!("a text has more than {MOST_BYTES} bytes"));
    if text.len() <= MOST_BYTES { Ok(()) } else { Err(too_long()) }
}

/// Lists the entries of the catalogue that match, best first.
pub(in crate::http) async fn search(
    _: Operator,
    State(state): State<AppState>,
    Query(query): Query<CatalogQuery>,
) -> Result<Json<FoundProbes>, ApiError> {
    check_length(query.within.as_deref().unwrap_or(""))?;
    let kinds = query.kind.split(',').filter(|word| !word.is_empty()).map(kind_of).collect::<Result<_, _>>()?;
    let within = query.within.filter(|within| !within.is_empty());
    let limit = query.limit.unwrap_or(100).min(MOST_LISTED);
    let wanted = ProbeSearch { query: query.q, kinds, within, offset: query.offset, limit };
    let answer = state.inventory().search(wanted).await?;
    let kinds = answer.by_kind.into_iter().map(|(kind, count)| KindCount { kind: kind.word(), count });
    let items = answer.items.into_iter().map(WireItem::from);
    Ok(Json(FoundProbes { total: answer.total, kinds: kinds.collect(), items: items.collect() }))
}

#[derive(Serialize)]
pub(in crate::http) struct Kinds {
    kinds: Vec<WireKind>,
}

#[derive(Serialize)]
struct WireKind {
    kind: &'static str,
    title: &'static str,
    count: Option<usize>,
    state: &'static str,
    age_ms: Option<u64>,
    error: Option<String>,
    hidden: Vec<Hidden>,
}

/// Tells how it stands with each kind of the catalogue.
pub(in crate::http) async fn kinds(_: Operator, State(state): State<AppState>) -> Json<Kinds> {
    Json(standing(&state))
}

fn standing(state: &AppState) -> Kinds {
    let kind = |it: bathyscope_link::inventory::Standing| WireKind {
        kind: it.kind.word(),
        title: it.kind.title(),
        count: it.count,
        state: match (it.reading, &it.trouble, it.count) {
            (true, ..) => "reading",
            (false, Some(_), _) => "failed",
            (false, None, Some(_)) => "ready",
            (false, None, None) => "unread",
        },
        age_ms: it.age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
        error: it.trouble.map(|error| words(&error)),
        hidden: it.hidden,
    };
    Kinds { kinds: state.inventory().standing().into_iter().map(kind).collect() }
}

/// Forgets what was read of the catalogue, so that it is read again.
pub(in crate::http) async fn refresh(_: Operator, State(state): State<AppState>) -> Json<Kinds> {
    state.inventory().forget();
    Json(standing(&state))
}

/// Which entry.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct EntryQuery {
    kind: String,
    name: String,
    #[serde(rename = "in")]
    within: Option<String>,
}

/// One entry in full.
#[derive(Serialize)]
pub(in crate::http) struct WireEntry {
    kind: &'static str,
    title: &'static str,
    #[serde(flatten)]
    named: WireName,
    facts: Vec<WireFact>,
    means: Vec<WireMeans>,
    code: Vec<WireCode>,
    actions: Vec<WireAction>,
    fields: Vec<DescribedField>,
}

#[derive(Serialize)]
struct WireFact {
    label: &'static str,
    value: String,
}

#[derive(Serialize)]
struct WireMeans {
    id: &'static str,
    purpose: &'static str,
    works: bool,
    why_not: Option<String>,
}

#[derive(Serialize)]
struct WireCode {
    title: &'static str,
    language: &'static str,
    text: String,
}

#[derive(Serialize)]
struct WireAction {
    label: &'static str,
    path: &'static str,
    params: Vec<(&'static str, String)>,
}

impl From<Entry> for WireEntry {
    fn from(entry: Entry) -> Self {
        let fact = |(label, value): (&'static str, String)| WireFact { label, value: visible(value.as_bytes()) };
        let means = |Means { id, purpose, why_not }| WireMeans { id, purpose, works: why_not.is_none(), why_not };
        let code = |Code { title, language, text }| WireCode { title, language, text };
        let action = |Action { label, path, params }| WireAction { label, path, params };
        Self {
            kind: entry.kind.word(),
            title: entry.kind.title(),
            named: WireName::new(entry.name, entry.raw, entry.within),
            facts: entry.facts.into_iter().map(fact).collect(),
            means: entry.means.into_iter().map(means).collect(),
            code: entry.code.into_iter().map(code).collect(),
            actions: entry.actions.into_iter().map(action).collect(),
            fields: Vec::new(),
        }
    }
}

/// Describes one entry of the catalogue in full; a tracepoint with its fields.
pub(in crate::http) async fn entry(
    _: Operator,
    State(state): State<AppState>,
    Query(query): Query<EntryQuery>,
) -> Result<Json<WireEntry>, ApiError> {
    check_length(&query.name)?;
    check_length(query.within.as_deref().unwrap_or(""))?;
    let kind = kind_of(&query.kind)?;
    let within = query.within.as_deref().filter(|within| !within.is_empty());
    let mut entry: WireEntry = state.inventory().entry(kind, &query.name, within).await?.into();
    if let (EntryKind::Tracepoint | EntryKind::Probe, Ok(name)) = (kind, query.name.parse::<TracepointName>()) {
        match state.host().event_format(&name).await {
            Ok(format) => entry.fields = format.fields.iter().map(DescribedField::from).collect(),
            Err(error) => {
                let why = words(&error);
                entry.facts.push(WireFact { label: "fields", value: format!("cannot be read: {why}") });
            }
        }
    }
    Ok(Json(entry))
}

/// What to count.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct CountQuery {
    kind: String,
    pattern: String,
    #[serde(rename = "in")]
    within: Option<String>,
}

#[derive(Serialize)]
pub(in crate::http) struct WireCount {
    total: usize,
    usable: usize,
}

/// Counts the names that a pattern stands for.
pub(in crate::http) async fn count(
    _: Operator,
    State(state): State<AppState>,
    Query(query): Query<CountQuery>,
) -> Result<Json<WireCount>, ApiError> {
    check_length(query.within.as_deref().unwrap_or(""))?;
    let kind = kind_of(&query.kind)?;
    let within = query.within.filter(|within| !within.is_empty());
    let counted = state.inventory().count(kind, &query.pattern, within).await?;
    Ok(Json(WireCount { total: counted.total, usable: counted.usable }))
}
