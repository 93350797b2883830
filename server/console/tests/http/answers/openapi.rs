//! The routes as a document of OpenAPI, for other programs: what each is asked with, answers, and who may ask.

use std::collections::{BTreeMap, BTreeSet};

use bathyscope_console::http::Route;
use utoipa::openapi::{
    Components, ComponentsBuilder, ContentBuilder, HttpMethod, InfoBuilder, LicenseBuilder, OpenApiBuilder, PathItem,
    PathsBuilder, RefOr, Required, ResponseBuilder,
    path::{Operation, OperationBuilder, ParameterBuilder, ParameterIn},
    request_body::RequestBodyBuilder,
    schema::{
        AdditionalProperties, AnyOfBuilder, ArrayBuilder, ObjectBuilder, Ref, Schema, SchemaType, Type as SchemaKind,
    },
    security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme},
};

use super::{
    Answers, examples,
    links::Constants,
    routes::{Body, RouteAnswer},
    shape::{Field, Shape},
    source::{Side, Sources, TypeId},
    typescript,
};

/// What is said of the whole.
const ABOUT: &str = "Everything that the pages of Bathyscope ask, for other programs. Times of captures are nanoseconds of the monotonic \
    clock from the capture's start, if nothing else is said; wall times end with `_unix_ns` and are labels. Without the right role a route \
    answers as if it did not exist. Made from the types of the code.";
/// The names of the schemes: sessions of people, and tokens of their programs.
const SESSION: &str = "session";
const TOKEN: &str = "token";

/// Names of types, on both sides.
struct Names {
    of: BTreeMap<TypeId, String>,
    /// Types that are read otherwise than they are written.
    differ: BTreeSet<TypeId>,
    docs: BTreeMap<TypeId, String>,
}

impl Names {
    fn new(answers: &Answers) -> Self {
        let sources = Sources::read();
        let (written, read) = (&answers.shapes.by_id, &answers.asked.by_id);
        let ids: BTreeSet<TypeId> = written.keys().chain(read.keys()).copied().collect();
        let differs =
            |id: &&TypeId| matches!((written.get(id), read.get(id)), (Some(one), Some(other)) if one != other);
        let mut differ: BTreeSet<TypeId> = ids.iter().filter(differs).copied().collect();
        // So do those that have one of them in them.
        loop {
            let has_one = |id: &&TypeId| {
                !differ.contains(id)
                    && written.contains_key(id)
                    && read.get(id).is_some_and(|shape| names_any(shape, &differ))
            };
            let more: Vec<TypeId> = ids.iter().filter(has_one).copied().collect();
            if more.is_empty() {
                break;
            }
            differ.extend(more);
        }
        let docs = ids.iter().map(|id| (*id, sources.doc(*id))).collect();
        Self { of: typescript::names(&sources, ids.into_iter()), differ, docs }
    }

    fn name(&self, id: TypeId, side: Side) -> String {
        let end = if side == Side::Read && self.differ.contains(&id) { "Input" } else { "" };
        format!("{}{end}", self.of[&id])
    }
}

/// Whether a shape names one of these types.
fn names_any(shape: &Option<Shape>, types: &BTreeSet<TypeId>) -> bool {
    fn any(shape: &Shape, types: &BTreeSet<TypeId>) -> bool {
        match shape {
            Shape::Named(id) => types.contains(id),
            Shape::Array(of) | Shape::Map(of) => any(of, types),
            Shape::Tuple(parts) | Shape::Union(parts) => parts.iter().any(|part| any(part, types)),
            Shape::Object(fields) => fields.iter().any(|field| any(&field.shape, types)),
            _ => false,
        }
    }
    shape.as_ref().is_some_and(|shape| any(shape, types))
}

/// The whole document.
pub fn written(answers: &Answers, table: &[Route]) -> String {
    let names = Names::new(answers);
    let mut paths = PathsBuilder::new();
    for route in &answers.routes {
        let line = table.iter().find(|one| one.path == route.path && one.method.as_str() == route.method).unwrap();
        let method = match route.method.as_str() {
            "GET" => HttpMethod::Get,
            "POST" => HttpMethod::Post,
            "PATCH" => HttpMethod::Patch,
            "PUT" => HttpMethod::Put,
            "DELETE" => HttpMethod::Delete,
            other => panic!("{other} is not known here"),
        };
        paths = paths.path(&route.path, PathItem::new(method, operation(route, line, &names)));
    }
    let licence = LicenseBuilder::new().name("MIT OR Apache-2.0").identifier(Some("MIT OR Apache-2.0")).build();
    let info = InfoBuilder::new()
        .title("Bathyscope")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(ABOUT))
        .license(Some(licence))
        .build();
    let document =
        OpenApiBuilder::new().info(info).paths(paths.build()).components(Some(components(answers, &names))).build();
    Constants::read().without_links(&document.to_pretty_json().unwrap()) + "\n"
}

fn components(answers: &Answers, names: &Names) -> Components {
    let mut components = ComponentsBuilder::new();
    for (shapes, side) in [(&answers.shapes, Side::Written), (&answers.asked, Side::Read)] {
        for (id, shape) in &shapes.by_id {
            let shape = shape.as_ref().unwrap();
            components = components.schema(names.name(*id, side), schema(shape, (names, side), &names.docs[id]));
        }
    }
    let failure = schema(&answers.failure, (names, Side::Written), "");
    let description = "A session of somebody who logged in. What changes something comes from a page of the console.";
    let cookie = ApiKey::Cookie(ApiKeyValue::with_description("bathyscope_session", description));
    let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("A token of somebody's account."));
    let components = components.schema("Failure", failure);
    let components = components.security_scheme(SESSION, SecurityScheme::ApiKey(cookie));
    components.security_scheme(TOKEN, SecurityScheme::Http(token.build())).build()
}

fn operation(route: &RouteAnswer, line: &Route, names: &Names) -> Operation {
    let who = match line.least {
        Some(role) if line.in_person => format!("Least role: {}, in person: no token does.", role.as_str()),
        Some(role) => format!("Least role: {}.", role.as_str()),
        None => "Needs no login.".to_owned(),
    };
    let parts = [route.description.as_str(), &who];
    let description: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let mut operation = OperationBuilder::new()
        .tag(&route.room)
        .summary(Some(&route.summary))
        .description(Some(description.join("\n\n")))
        .operation_id(Some(operation_id(route)));
    for name in route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        let text = ObjectBuilder::new().schema_type(SchemaType::Type(SchemaKind::String));
        let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Path).required(Required::True);
        operation = operation.parameter(parameter.schema(Some(text)).build());
    }
    for field in &route.asked.query {
        let required = if field.optional { Required::False } else { Required::True };
        let parameter = ParameterBuilder::new().name(&field.name).parameter_in(ParameterIn::Query).required(required);
        let parameter = parameter.description(said(&field.doc)).schema(Some(schema(
            &without_null(&field.shape),
            (names, Side::Read),
            "",
        )));
        operation = operation.parameter(parameter.build());
    }
    if let Some(shape) = &route.asked.json {
        let content = ContentBuilder::new().schema(Some(schema(shape, (names, Side::Read), "")));
        let content = content.example(examples::of(&route.method, &route.path)).build();
        let body = RequestBodyBuilder::new().content("application/json", content).required(Some(Required::True));
        operation = operation.request_body(Some(body.build()));
    } else if route.asked.is_file {
        let content = ContentBuilder::new().build();
        let body = RequestBodyBuilder::new().content("application/octet-stream", content);
        operation = operation.request_body(Some(body.required(Some(Required::True)).build()));
    }
    let ways = [(SESSION, line.least.is_some()), (TOKEN, line.least.is_some() && !line.in_person)];
    for (way, _) in ways.into_iter().filter(|(_, leads_here)| *leads_here) {
        operation = operation.security(SecurityRequirement::new(way, Vec::<String>::new()));
    }
    answered(operation, route, names).build()
}

/// The shape of a parameter: an address has no null.
fn without_null(shape: &Shape) -> Shape {
    let Shape::Union(parts) = shape else { return shape.clone() };
    let mut parts: Vec<Shape> = parts.iter().filter(|part| **part != Shape::Null).cloned().collect();
    if parts.len() == 1 { parts.remove(0) } else { Shape::Union(parts) }
}

/// What a route answers.
fn answered(operation: OperationBuilder, route: &RouteAnswer, names: &Names) -> OperationBuilder {
    let json = |shape: &Shape| ContentBuilder::new().schema(Some(schema(shape, (names, Side::Written), ""))).build();
    let (status, response) = match &route.body {
        Body::Json(shape) => {
            ("2XX", ResponseBuilder::new().description("The answer.").content("application/json", json(shape)))
        }
        Body::Nothing => ("204", ResponseBuilder::new().description("It is done.")),
        Body::Bytes => {
            let content = ContentBuilder::new().build();
            ("2XX", ResponseBuilder::new().description("Bytes or text.").content("application/octet-stream", content))
        }
        Body::Events(events) => {
            let fields = events.iter().map(|(name, shape)| Field::new(name, shape.clone())).collect();
            let description = "A stream of events: by their names, what is in `data`.";
            let content = json(&Shape::Object(fields));
            ("200", ResponseBuilder::new().description(description).content("text/event-stream", content))
        }
    };
    let failure = ContentBuilder::new().schema(Some(Ref::from_schema_name("Failure"))).build();
    let failure =
        ResponseBuilder::new().description("What failed, why, and what to do.").content("application/json", failure);
    operation.response(status, response.build()).response("default", failure.build())
}

/// The method and the words of the path, in one name.
fn operation_id(route: &RouteAnswer) -> String {
    let words = route.path.trim_start_matches("/api/").split(['/', '-', '_']);
    let words = words.map(|word| match word.strip_prefix('{') {
        Some(name) => format!("by_{}", name.trim_end_matches('}')),
        None => word.to_owned(),
    });
    std::iter::once(route.method.to_lowercase()).chain(words).collect::<Vec<_>>().join("_")
}

fn said(doc: &str) -> Option<String> {
    (!doc.is_empty()).then(|| doc.replace('\n', " "))
}

/// The schema of a shape, as it is read or written.
fn schema(shape: &Shape, (names, side): (&Names, Side), doc: &str) -> RefOr<Schema> {
    let inner = |shape: &Shape| schema(shape, (names, side), "");
    let plain = |kind| {
        RefOr::T(Schema::Object(
            ObjectBuilder::new().schema_type(SchemaType::Type(kind)).description(said(doc)).build(),
        ))
    };
    match shape {
        Shape::Absent | Shape::Null => plain(SchemaKind::Null),
        Shape::Bool => plain(SchemaKind::Boolean),
        Shape::Integer => plain(SchemaKind::Integer),
        Shape::Number => plain(SchemaKind::Number),
        Shape::Text => plain(SchemaKind::String),
        Shape::Word(word) => words(&[word], doc),
        Shape::Array(of) => {
            RefOr::T(Schema::Array(ArrayBuilder::new().items(inner(of)).description(said(doc)).build()))
        }
        Shape::Tuple(parts) => {
            let items = parts.iter().fold(AnyOfBuilder::new(), |any, part| any.item(inner(part))).build();
            let array = ArrayBuilder::new().items(RefOr::T(Schema::AnyOf(items))).description(said(doc));
            RefOr::T(Schema::Array(array.min_items(Some(parts.len())).max_items(Some(parts.len())).build()))
        }
        Shape::Map(of) => {
            let object = ObjectBuilder::new().additional_properties(Some(AdditionalProperties::RefOr(inner(of))));
            RefOr::T(Schema::Object(object.description(said(doc)).build()))
        }
        Shape::Object(fields) => RefOr::T(Schema::Object(object(fields, (names, side), doc))),
        Shape::Union(parts) => union(parts, (names, side), doc),
        Shape::Named(id) => RefOr::Ref(
            Ref::builder().ref_location_from_schema_name(names.name(*id, side)).description(said(doc)).build(),
        ),
    }
}

fn object(fields: &[Field], (names, side): (&Names, Side), doc: &str) -> utoipa::openapi::schema::Object {
    let mut object = ObjectBuilder::new().description(said(doc));
    for field in fields {
        object = object.property(&field.name, schema(&field.shape, (names, side), &field.doc));
        if !field.optional {
            object = object.required(&field.name);
        }
    }
    object.build()
}

/// One of several: words of one text, or whatever fits.
fn union(parts: &[Shape], (names, side): (&Names, Side), doc: &str) -> RefOr<Schema> {
    let word = |part: &Shape| if let Shape::Word(word) = part { Some(word.clone()) } else { None };
    let all: Option<Vec<String>> = parts.iter().map(word).collect();
    if let Some(all) = all {
        return words(&all.iter().collect::<Vec<_>>(), doc);
    }
    let any = parts.iter().fold(AnyOfBuilder::new(), |any, part| any.item(schema(part, (names, side), "")));
    RefOr::T(Schema::AnyOf(any.description(said(doc)).build()))
}

fn words(all: &[&String], doc: &str) -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(SchemaType::Type(SchemaKind::String)).description(said(doc));
    RefOr::T(Schema::Object(text.enum_values(Some(all.iter().map(|word| word.as_str()))).build()))
}
