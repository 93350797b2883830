//! Which route answers what, and is asked with what: the table of routes as it is written, and what its handlers take and return.

use syn::{
    Expr, ExprCall, FnArg, GenericArgument, Item, Lit, PathArguments, ReturnType, Stmt, Token, Type,
    parse::Parser as _, punctuated::Punctuated,
};

use super::{
    shape::{Field, Shape, Shapes},
    source::{Sources, doc_of},
};

/// What a response has in its body.
pub enum Body {
    Json(Shape),
    /// Events of these names, each with JSON.
    Events(Vec<(String, Shape)>),
    /// Nothing.
    Nothing,
    /// Bytes or text.
    Bytes,
}

/// What a request has.
#[derive(Default)]
pub struct Asked {
    /// Parameters of the query.
    pub query: Vec<Field>,
    /// The JSON of its body.
    pub json: Option<Shape>,
    /// Whether its body is the bytes of a file.
    pub is_file: bool,
}

/// A route of the API.
pub struct RouteAnswer {
    pub method: String,
    pub path: String,
    /// The module of its handler, below `api`.
    pub room: String,
    /// What is said of it: a line, and what the module says.
    pub summary: String,
    pub description: String,
    pub asked: Asked,
    pub body: Body,
}

impl RouteAnswer {
    /// The shapes of what is in its body.
    pub fn shapes(&self) -> Vec<&Shape> {
        match &self.body {
            Body::Json(shape) => vec![shape],
            Body::Events(events) => events.iter().map(|(_, shape)| shape).collect(),
            Body::Nothing | Body::Bytes => Vec::new(),
        }
    }

    /// The shapes of what it is asked with.
    pub fn asked_shapes(&self) -> Vec<&Shape> {
        self.asked.query.iter().map(|field| &field.shape).chain(&self.asked.json).collect()
    }

    /// Whether `path` is one of this route's.
    pub fn is_of(&self, path: &str) -> bool {
        let (wanted, given) = (self.path.split('/'), path.split('/'));
        let fits = |(wanted, given): (&str, &str)| wanted.starts_with('{') || wanted == given;
        wanted.clone().count() == given.clone().count() && wanted.zip(given).all(fits)
    }
}

/// The answers of handlers that write their response themselves: types of the handler's file or, with `::`, of another crate.
const WRITTEN: [(&str, &str, &[&str]); 7] = [
    ("POST", "/api/people", &["MadeInvitation"]),
    ("POST", "/api/own/tokens", &["MadeApiToken"]),
    ("POST", "/api/shares", &["MadeShare"]),
    ("POST", "/api/captures/{id}/fire", &["super::CaptureAddress"]),
    ("POST", "/api/fire/{id}", &["super::CaptureAddress"]),
    ("POST", "/api/captures", &["super::CaptureAddress"]),
    (
        "GET",
        "/api/captures/{id}/maps/{n}",
        &[
            "bathyscope_views::HistogramView",
            "bathyscope_views::HeatView",
            "bathyscope_views::SeriesView",
            "bathyscope_views::MapTable",
            "bathyscope_views::FlameGraph",
        ],
    ),
];
/// Handlers that write no JSON.
const BYTES: [&str; 9] = [
    "/api/openapi.json",
    "/api/captures/{id}/timeline",
    "/api/captures/{id}/tracks/window",
    "/api/captures/{id}/calls/text",
    "/api/captures/{id}/export",
    "/api/captures/{id}/file",
    "/api/library/{id}/file",
    "/api/investigations/{id}/blocks/{block}/picture",
    "/api/investigations/{id}/file",
];
/// Streams of events: their one event, or none where each variant of the type is an event.
const STREAMS: [(&str, &str, Option<&str>); 3] = [
    ("/api/captures/{id}/live", "bathyscope_recorder::LiveMessage", None),
    ("/api/live", "Heard", None),
    ("/api/busy", "bathyscope_link::activity::ActivityMessage", None),
];

/// The functions whose lines are the table together.
const TABLES: [&str; 14] = [
    "page_routes",
    "console_routes",
    "stack_routes",
    "track_routes",
    "distribution_routes",
    "library_routes",
    "builder_routes",
    "share_routes",
    "note_routes",
    "investigation_routes",
    "people_routes",
    "rights_routes",
    "webhook_routes",
    "comparison_routes",
];

fn lines_of(sources: &Sources, file: usize, name: &str) -> Vec<ExprCall> {
    let table = sources.function(file, name);
    let Some(Stmt::Expr(Expr::Macro(lines), _)) = table.block.stmts.last() else {
        panic!("{name} ends with vec![…]")
    };
    let lines = Punctuated::<ExprCall, Token![,]>::parse_terminated.parse2(lines.mac.tokens.clone()).unwrap();
    lines.into_iter().collect()
}

/// The routes of the API with what each is asked with and answers.
pub fn answers(sources: &Sources, shapes: &mut Shapes, asked: &mut Shapes) -> Vec<RouteAnswer> {
    let routes = sources.file("bathyscope_console", &["http", "routes"]);
    let lines: Vec<ExprCall> = TABLES.iter().flat_map(|name| lines_of(sources, routes, name)).collect();
    let made = lines.iter().map(|line| {
        let [_, method, path, handler] = &line.args.iter().collect::<Vec<_>>()[..] else {
            panic!("a line has four parts")
        };
        let (method, path, handler) = (last_name(method), path_of(sources, path), names_of(handler));
        (path.starts_with("/api/")).then(|| {
            let body = body_of(sources, shapes, &method, &path, &handler);
            let (file, function) = handler_of(sources, &handler);
            let item = sources.function(file, function);
            let summary = doc_of(&item.attrs).replace('\n', " ");
            let description = said_of(&sources.files[file].doc, &method, &path);
            let asked = asked_of(sources, asked, file, item);
            let room = sources.files[file].module.last().cloned().unwrap_or_default();
            RouteAnswer { method, path, room, summary, description, asked, body }
        })
    });
    made.flatten().collect()
}

/// The file of a handler, and its name there.
fn handler_of<'a>(sources: &Sources, handler: &'a [String]) -> (usize, &'a str) {
    let (function, module) = handler.split_last().unwrap();
    let module: Vec<&str> = std::iter::once("http").chain(module.iter().map(String::as_str)).collect();
    (sources.file("bathyscope_console", &module), function)
}

/// What the comment of a module says of a route: the item of its list that begins with the route.
fn said_of(doc: &str, method: &str, path: &str) -> String {
    let named = format!("`{method} {path}");
    // An item may name several routes of one path's end.
    let items = doc.split("\n* ").skip(1).map(|item| item.split("\n\n").next().unwrap_or_default());
    let begins = |item: &&str| {
        let rest = item.match_indices(&named).map(|(at, _)| &item[at + named.len()..]).next();
        rest.is_some_and(|rest| rest.starts_with(['`', '?']))
    };
    items.clone().find(begins).map(|item| item.replace("\n  ", " ").replace('\n', " ")).unwrap_or_default()
}

/// What a handler takes of a request.
fn asked_of(sources: &Sources, shapes: &mut Shapes, file: usize, function: &syn::ItemFn) -> Asked {
    let mut asked = Asked::default();
    for input in &function.sig.inputs {
        let FnArg::Typed(argument) = input else { continue };
        let ty = unwrapped(&argument.ty);
        let inner = arguments(ty).first().copied();
        match (last_type_name(ty).as_str(), inner) {
            ("Query", Some(inner)) => {
                let shape = shapes.of_type(sources, file, inner);
                asked.query.extend(fields_of(sources, shapes, shape));
            }
            ("Json", Some(inner)) => asked.json = Some(shapes.of_type(sources, file, inner)),
            ("Request", _) => asked.is_file = true,
            _ => {}
        }
    }
    asked
}

/// The fields of a struct.
fn fields_of(sources: &Sources, shapes: &mut Shapes, shape: Shape) -> Vec<Field> {
    let Shape::Named(id) = shape else { panic!("a query has a type of its own") };
    match shapes.of_item(sources, id) {
        Shape::Object(fields) => fields,
        _ => panic!("a query has parameters with names"),
    }
}

fn body_of(sources: &Sources, shapes: &mut Shapes, method: &str, path: &str, handler: &[String]) -> Body {
    let (file, function) = handler_of(sources, handler);
    let mut of_words = |words: &str| {
        let names: Vec<String> = words.split("::").map(str::to_owned).collect();
        shapes.of_path(sources, file, &names)
    };
    if let Some((_, _, types)) = WRITTEN.iter().find(|(of, at, _)| (*of, *at) == (method, path)) {
        let mut types: Vec<Shape> = types.iter().map(|words| of_words(words)).collect();
        return Body::Json(if types.len() == 1 { types.remove(0) } else { Shape::Union(types) });
    }
    if BYTES.contains(&path) {
        return Body::Bytes;
    }
    if let Some((_, words, event)) = STREAMS.iter().find(|(of, ..)| *of == path) {
        let shape = of_words(words);
        return Body::Events(events(sources, shapes, shape, *event));
    }
    let ReturnType::Type(_, ty) = &sources.function(file, function).sig.output else {
        panic!("{path} returns nothing")
    };
    json_in(ty).map_or_else(
        || match last_type_name(unwrapped(ty)).as_str() {
            "StatusCode" => Body::Nothing,
            other => panic!("{method} {path} returns a {other}: say in answers/routes.rs what is in it"),
        },
        |ty| Body::Json(shapes.of_type(sources, file, ty)),
    )
}

/// Events by name.
fn events(sources: &Sources, shapes: &mut Shapes, shape: Shape, name: Option<&str>) -> Vec<(String, Shape)> {
    if let Some(name) = name {
        return vec![(name.to_owned(), shape)];
    }
    let Shape::Named(id) = shape else { panic!("messages have a name") };
    let Shape::Union(variants) = shapes.of_item(sources, id) else { panic!("messages are an enum") };
    let event = |variant| match variant {
        Shape::Object(mut fields) if fields.len() == 1 => {
            let field = fields.remove(0);
            (field.name, field.shape)
        }
        _ => panic!("every message has something in it"),
    };
    variants.into_iter().map(event).collect()
}

/// What is in a `Result`, or the type itself.
fn unwrapped(ty: &Type) -> &Type {
    if last_type_name(ty) == "Result" { arguments(ty)[0] } else { ty }
}

/// The `T` of `Json<T>`, of a result or a tuple with it.
fn json_in(ty: &Type) -> Option<&Type> {
    match unwrapped(ty) {
        Type::Tuple(tuple) => tuple.elems.iter().find_map(json_in),
        ty if last_type_name(ty) == "Json" => Some(arguments(ty)[0]),
        _ => None,
    }
}

fn last_type_name(ty: &Type) -> String {
    let Type::Path(path) = ty else { return String::new() };
    path.path.segments.last().unwrap().ident.to_string()
}

fn arguments(ty: &Type) -> Vec<&Type> {
    let Type::Path(path) = ty else { return Vec::new() };
    let PathArguments::AngleBracketed(arguments) = &path.path.segments.last().unwrap().arguments else {
        return Vec::new();
    };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.collect()
}

fn names_of(expression: &Expr) -> Vec<String> {
    match expression {
        Expr::Path(path) => path.path.segments.iter().map(|part| part.ident.to_string()).collect(),
        Expr::Reference(reference) => names_of(&reference.expr),
        _ => panic!("a line of the table has another form than is known here"),
    }
}

fn last_name(expression: &Expr) -> String {
    names_of(expression).pop().unwrap()
}

/// A route's path: written in the table, or a constant of a neighbour.
fn path_of(sources: &Sources, expression: &Expr) -> String {
    let text = |expression: &Expr| match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    };
    if let Some(text) = text(expression) {
        return text;
    }
    let [module, name] = &names_of(expression)[..] else { panic!("a path is a text or a constant of a module") };
    let file = sources.file("bathyscope_console", &["http", module]);
    let found = sources.files[file].items.iter().find_map(|item| match item {
        Item::Const(constant) if constant.ident == name => text(&constant.expr),
        _ => None,
    });
    found.unwrap()
}
