//! The probe builder: forms and the scripts that say the same, places to probe with what can be recorded there, and trials.
//!
//! * `POST /api/builder/write` (operator) `{forms}` → `{script, why, form}`: the script of a form or of several; none, why,
//!   and the number of the form that is the reason, if there is none.
//! * `POST /api/builder/read` (operator) `{text}` → `{forms, messages:[message]}`: the forms of a script, one for each probe
//!   or pair; none where no form holds it. Forms that are read may leave out comments, which the messages tell.
//! * `GET /api/builder/find?q=&in=&limit=` (operator) → `{total, items:[{site, kind, title, name, in, note, prototype, works,
//!   file}]}`: places by words of their names. An item with a `file` is a program, whose functions are found with `in=FILE`, and
//!   its source lines with `q=SOURCE:LINE`; without a file these are lines of the kernel.
//! * `GET /api/builder/site?site=` (operator) → what is to be known of one: `{partners, count, left_out, why_not, nearest, prototype}`.
//! * `GET /api/builder/arguments?site=&path=` (operator) → `{nodes, left_out, note}`: what can be recorded there; `path` has
//!   the names of the nodes that are unfolded, one behind the other with `/` between them.
//! * `POST /api/builder/try` (operator) `{text, target?, duration_ms?}` → `{output, tables, bytes, probes, duration_ns, lost,
//!   reason}`: runs the script for a moment and keeps nothing. See `trial`.

use axum::{Json, extract::State};
use bathyscope_bpf::lang::{attach_text, denied_function};
use bathyscope_builder::{
    ArgumentError, ArgumentList, Partner, PassedValue, ProbeForm, TIMERS, UserPlace, arguments, nearest, partners,
    perf_site, read, site_part, tracepoint_of, write,
};
use bathyscope_capture::{TracepointName, visible};
use bathyscope_catalog::elf::MarkerArgument;
use bathyscope_link::{
    inventory::{EntryKind, FoundProbes, Item, KernelTypes, ProbeSearch},
    words,
};
use bathyscope_plan::Diagnostic;
use serde::{Deserialize, Serialize};

use super::super::{
    access::Operator,
    error::{ApiError, ErrorKind},
    extract::{self, Query},
    state::AppState,
};
use super::found_site::{FoundSite, kernel_line_site, line_site, source_line};
use crate::wire::ScriptMessage;

/// The longest script, site or query.
const MOST_BYTES: usize = 64 << 10;
/// The most places of one answer.
const MOST_FOUND: usize = 200;
/// The most places that a pattern names one by one.
const MOST_MATCHES: usize = 20_000;
/// The most names of places that a pattern leaves out.
const MOST_LEFT_OUT: usize = 20;
/// The most places that a script attaches to, unless it says more.
const MOST_ATTACHED: usize = 1024;
/// Places that are told where another cannot be probed.
const MOST_NEAR: usize = 5;

/// Forms to write.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct FormBody {
    forms: Vec<ProbeForm>,
}

#[derive(Serialize)]
pub(in crate::http) struct WrittenScript {
    script: Option<String>,
    /// Why there is none; empty if there is one.
    why: String,
    /// The number of the form of which that is said, from 0.
    form: Option<usize>,
}

/// Writes the script of forms of the probe builder.
pub(in crate::http) async fn written(
    _: Operator,
    extract::Json(FormBody { forms }): extract::Json<FormBody>,
) -> Json<WrittenScript> {
    Json(match write(&forms) {
        Ok(script) => WrittenScript { script: Some(script), why: String::new(), form: None },
        Err(error) => {
            let why = visible(error.to_string().as_bytes());
            WrittenScript { script: None, why, form: Some(error.form) }
        }
    })
}

/// A script to read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ReadBody {
    text: String,
}

#[derive(Serialize)]
pub(in crate::http) struct ReadForms {
    forms: Vec<ProbeForm>,
    messages: Vec<ScriptMessage>,
}

/// Reads a script into the forms of the probe builder.
pub(in crate::http) async fn read_forms(
    _: Operator,
    extract::Json(ReadBody { text }): extract::Json<ReadBody>,
) -> Result<Json<ReadForms>, ApiError> {
    check_length(&text)?;
    let reading = tokio::task::spawn_blocking(move || {
        let (forms, said) = match read(&text) {
            Ok(reading) => (reading.forms, reading.left_out),
            Err(said) => (Vec::new(), said),
        };
        let message = |it: &Diagnostic| ScriptMessage::new(&text, it);
        ReadForms { forms, messages: said.iter().map(message).collect() }
    });
    reading.await.map(Json).map_err(|error| ApiError::internal("reading the script", error))
}

fn check_length(text: &str) -> Result<(), ApiError> {
    if text.len() <= MOST_BYTES {
        return Ok(());
    }
    let why = format!("a text has {} bytes, and at most {MOST_BYTES} are read", text.len());
    Err(ApiError::invalid("reading the query", why))
}

/// What to look for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct FindQuery {
    #[serde(default)]
    q: String,
    #[serde(rename = "in")]
    within: Option<String>,
    limit: Option<usize>,
}

#[derive(Serialize)]
pub(in crate::http) struct FoundSites {
    total: usize,
    items: Vec<FoundSite>,
}

/// The kinds that have places.
const KINDS: [EntryKind; 6] =
    [EntryKind::Tracepoint, EntryKind::Function, EntryKind::Perf, EntryKind::File, EntryKind::User, EntryKind::Marker];

/// Finds places for probes by words of their names, best first.
pub(in crate::http) async fn find(
    _: Operator,
    State(state): State<AppState>,
    Query(FindQuery { q, within, limit }): Query<FindQuery>,
) -> Result<Json<FoundSites>, ApiError> {
    check_length(&q)?;
    let within = within.filter(|within| !within.is_empty());
    check_length(within.as_deref().unwrap_or_default())?;
    let limit = limit.unwrap_or(40).min(MOST_FOUND);
    if within.is_none() {
        // Whoever types on finds functions of programs that nobody has opened.
        state.inventory().open_running();
    }
    if let Some((source, line)) = source_line(&q) {
        let items: Vec<FoundSite> = match &within {
            Some(path) => {
                let found = state.inventory().source_lines(path, source, line, limit).await?;
                found.into_iter().take(limit).map(line_site).collect()
            }
            None => {
                let found = state.inventory().kernel_lines(source, line, limit).await?;
                found.into_iter().take(limit).map(kernel_line_site).collect()
            }
        };
        return Ok(Json(FoundSites { total: items.len(), items }));
    }
    let kinds = match within {
        Some(_) => vec![EntryKind::User, EntryKind::Marker],
        None => KINDS.to_vec(),
    };
    let clocks: Vec<FoundSite> = if within.is_none() { clocks(&q).collect() } else { Vec::new() };
    let wanted = ProbeSearch { query: q, kinds, within, offset: 0, limit };
    let FoundProbes { total, items, .. } = state.inventory().search(wanted.clone()).await?;
    if total == 0 && wanted.within.is_none() {
        // Where programs were opened, an inventory that cannot be read looks like one without a match.
        let kinds = KINDS.into_iter().filter(|kind| !matches!(kind, EntryKind::User | EntryKind::Marker)).collect();
        state.inventory().search(ProbeSearch { kinds, ..wanted }).await?;
    }
    // Without types there are no prototypes.
    let types = match items.iter().any(|item| item.kind == EntryKind::Function) {
        true => state.inventory().kernel_types().await.ok(),
        false => None,
    };
    let total = total + clocks.len();
    let mut found: Vec<FoundSite> = items.into_iter().filter_map(|item| found_site(item, types.as_ref())).collect();
    found.extend(clocks);
    found.truncate(limit);
    Ok(Json(FoundSites { total, items: found }))
}

/// The clocks that hold all words of a query.
fn clocks(query: &str) -> impl Iterator<Item = FoundSite> {
    let words: Vec<String> = query.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let fits = move |text: &str| !words.is_empty() && words.iter().all(|word| text.contains(word.as_str()));
    let found = TIMERS.into_iter().filter(move |it| fits(&format!("{} {}", it.site, it.about)));
    found.map(|it| FoundSite {
        site: it.site.to_owned(),
        kind: "timer",
        title: "Timers",
        name: it.site.to_owned(),
        within: None,
        note: it.about.to_owned(),
        prototype: String::new(),
        works: true,
        file: String::new(),
    })
}

/// A place of the inventory; none if scripts have no such place.
fn found_site(item: Item, types: Option<&KernelTypes>) -> Option<FoundSite> {
    let Item { kind, name, raw, within, note, works, .. } = item;
    let site = match kind {
        EntryKind::Tracepoint => format!("tracepoint:{name}"),
        EntryKind::Function => function_site(&note, within.as_deref(), &name),
        EntryKind::Perf => perf_site(&name)?,
        EntryKind::User => format!("uprobe:{}:{}", site_part(within.as_deref()?), site_part(&raw)),
        EntryKind::Marker => format!("usdt:{}:{name}", site_part(within.as_deref()?)),
        EntryKind::File => String::new(),
        _ => return None,
    };
    let prototype = match (kind, types) {
        (EntryKind::Function, Some(types)) => types.prototype(within.as_deref(), &name).unwrap_or_default(),
        _ => String::new(),
    };
    Some(FoundSite {
        site,
        kind: kind.word(),
        title: kind.title(),
        file: if kind == EntryKind::File { name.clone() } else { String::new() },
        name: visible(name.as_bytes()),
        within: within.map(|within| visible(within.as_bytes())),
        note: visible(note.as_bytes()),
        prototype,
        works,
    })
}

/// The best means that a function can be probed by, which its note names.
fn function_site(note: &str, module: Option<&str>, name: &str) -> String {
    let provider = if note.split(", ").any(|means| means == "fentry") { "fentry" } else { "kprobe" };
    match module {
        Some(module) => format!("{provider}:{module}:{name}"),
        None => format!("{provider}:{name}"),
    }
}

/// Which place.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct SiteQuery {
    site: String,
}

/// What is to be known of a place before it is probed.
#[derive(Default, Serialize)]
pub(in crate::http) struct SiteFacts {
    /// The places that may end what begins there.
    partners: Vec<Partner>,
    /// How many places a pattern stands for; none if it is no pattern.
    count: Option<usize>,
    /// Those of a pattern that are left out.
    left_out: Vec<LeftOutSite>,
    /// How many are left out.
    left_out_count: usize,
    /// Why it cannot be probed here; empty if it can.
    why_not: String,
    /// Places nearby, where it cannot.
    nearest: Vec<String>,
    prototype: String,
}

/// A place that a pattern matches and that is not probed.
#[derive(Serialize)]
struct LeftOutSite {
    name: String,
    why: String,
}

/// Describes a place of the probe builder.
pub(in crate::http) async fn site(
    _: Operator,
    State(state): State<AppState>,
    Query(SiteQuery { site }): Query<SiteQuery>,
) -> Result<Json<SiteFacts>, ApiError> {
    check_length(&site)?;
    let tracepoints = state.host().tracepoints().await.unwrap_or_default();
    let exists = |name: &str| name.parse::<TracepointName>().is_ok_and(|name| tracepoints.contains(&name));
    let mut facts = SiteFacts { partners: partners(&site, &exists), ..SiteFacts::default() };
    let parts: Vec<&str> = site.split(':').collect();
    match parts.as_slice() {
        ["tracepoint", rest @ ..] => {
            let name = rest.join(":");
            if is_pattern(&name) {
                pattern(&state, EntryKind::Tracepoint, &name, None, &mut facts).await?;
            } else if !exists(&name) {
                "this kernel has no tracepoint of that name".clone_into(&mut facts.why_not);
            }
        }
        ["kprobe" | "kretprobe" | "fentry" | "fexit", rest @ ..] => {
            let (module, name) = match rest {
                [module, name] => (Some(*module), *name),
                _ => (None, rest.first().copied().unwrap_or_default()),
            };
            if is_pattern(name) {
                pattern(&state, EntryKind::Function, name, module, &mut facts).await?;
            } else {
                let provider = parts.first().copied().unwrap_or_default();
                function(&state, provider, module, name.split('+').next().unwrap_or(name), &mut facts).await?;
            }
            if !facts.why_not.is_empty() {
                let names: Vec<String> = tracepoints.iter().map(ToString::to_string).collect();
                let near = nearest(name, names.iter().map(String::as_str), MOST_NEAR);
                facts.nearest = near.into_iter().map(|name| format!("tracepoint:{name}")).collect();
            }
        }
        _ => {}
    }
    Ok(Json(facts))
}

fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// Counts the places of a pattern, and names those that are left out.
async fn pattern(
    state: &AppState,
    kind: EntryKind,
    pattern: &str,
    within: Option<&str>,
    facts: &mut SiteFacts,
) -> Result<(), ApiError> {
    let within = within.filter(|module| *module != "vmlinux").map(str::to_owned);
    let wanted = ProbeSearch { query: pattern.to_owned(), kinds: vec![kind], within, offset: 0, limit: MOST_MATCHES };
    let found = state.inventory().search(wanted).await?;
    let is_function = kind == EntryKind::Function;
    let why = |item: &Item| match denied_function(&item.name) {
        Some(why) if is_function => Some(why.to_owned()),
        _ if !item.works => Some("it cannot be probed on this kernel".to_owned()),
        _ => None,
    };
    for item in &found.items {
        let Some(why) = why(item) else { continue };
        facts.left_out_count += 1;
        if facts.left_out.len() < MOST_LEFT_OUT {
            facts.left_out.push(LeftOutSite { name: visible(item.name.as_bytes()), why });
        }
    }
    let count = found.total.saturating_sub(facts.left_out_count);
    facts.count = Some(count);
    if found.total == 0 {
        "no probe site on this host matches the pattern".clone_into(&mut facts.why_not);
    } else if count == 0 {
        "no probe site that matches the pattern can be probed on this kernel".clone_into(&mut facts.why_not);
    } else if count > MOST_ATTACHED {
        facts.why_not =
            format!("the pattern matches {count} probe sites, and at most {MOST_ATTACHED} can be attached; narrow it");
    }
    Ok(())
}

/// Whether a function can be probed in a way, and why not.
async fn function(
    state: &AppState,
    provider: &str,
    module: Option<&str>,
    name: &str,
    facts: &mut SiteFacts,
) -> Result<(), ApiError> {
    let module = module.filter(|module| *module != "vmlinux");
    let way = if matches!(provider, "fentry" | "fexit") { "fentry" } else { "kprobe" };
    match state.inventory().entry(EntryKind::Function, name, module).await {
        Ok(entry) => {
            let means = entry.means.iter().find(|means| means.id == way);
            facts.why_not = means.and_then(|means| means.why_not.clone()).unwrap_or_default();
            let prototype = entry.code.iter().find(|code| code.language == "c");
            facts.prototype = prototype.map(|code| code.text.clone()).unwrap_or_default();
        }
        Err(error) => facts.why_not = words(&error),
    }
    Ok(())
}

/// What is unfolded.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ArgumentsQuery {
    site: String,
    #[serde(default)]
    path: String,
}

/// What the file of a place in user space tells of it, or the kernel's debug information of one of its functions; nothing of
/// others, and where the file cannot be read.
async fn user_place(state: &AppState, site: &str, types: &KernelTypes) -> UserPlace {
    let Ok(read) = attach_text(site) else { return UserPlace::default() };
    let parts: Vec<&str> = read.parts.iter().map(|part| part.text.as_str()).collect();
    if let ["kprobe", rest @ .., name] = parts.as_slice() {
        // What type information tells is not asked for again.
        if !types.types().functions(name).is_empty() {
            return UserPlace::default();
        }
        let rest = rest.iter().chain([name]);
        let place = rest.map(|part| (*part).to_owned()).collect();
        let (data, data_missing) = state.inventory().kernel_place_variables(place).await.unwrap_or_default();
        return UserPlace { data, data_missing, ..UserPlace::default() };
    }
    let [provider @ ("uprobe" | "uretprobe" | "usdt"), path, name @ ..] = parts.as_slice() else {
        return UserPlace::default();
    };
    let Ok(symbols) = state.inventory().symbols_of(path).await else { return UserPlace::default() };
    let value = |it: &MarkerArgument| PassedValue { bytes: it.bytes, signed: it.signed, float: it.float };
    let passed = symbols.passed.get(&name.join(":")).filter(|_| *provider == "usdt");
    let function = match (*provider, name) {
        ("uprobe" | "uretprobe", [name]) => state.inventory().function_parameters(path, name).await.ok().flatten(),
        _ => None,
    };
    let (data, data_missing) = match (*provider, name) {
        ("uprobe", [name]) => state.inventory().place_variables(path, name).await.unwrap_or_default(),
        _ => Default::default(),
    };
    let passes = passed.map(|all| all.iter().map(value).collect());
    UserPlace { passes, go: symbols.go, function, data, data_missing }
}

/// Lists what can be recorded at a place of the probe builder.
pub(in crate::http) async fn argument_list(
    _: Operator,
    State(state): State<AppState>,
    Query(ArgumentsQuery { site, path }): Query<ArgumentsQuery>,
) -> Result<Json<ArgumentList>, ApiError> {
    check_length(&site)?;
    check_length(&path)?;
    let format = match tracepoint_of(&site).map(|name| name.parse::<TracepointName>()) {
        Some(Ok(name)) => Some(state.host().event_format(&name).await?),
        _ => None,
    };
    let types = state.inventory().kernel_types().await?;
    let user = user_place(&state, &site, &types).await;
    let path: Vec<String> = path.split('/').filter(|step| !step.is_empty()).map(str::to_owned).collect();
    let list = tokio::task::spawn_blocking(move || arguments(&site, &path, types.types(), format.as_ref(), &user));
    let list = list.await.map_err(|error| ApiError::internal("reading the arguments", error))?;
    list.map(Json).map_err(|error| {
        let kind = if matches!(error, ArgumentError::Step { .. }) { ErrorKind::NotFound } else { ErrorKind::Invalid };
        ApiError::new(kind, "reading the arguments", visible(error.to_string().as_bytes()))
    })
}
