//! Shapes as declarations of TypeScript.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::{
    Answers,
    routes::Body,
    shape::{Field, Shape},
    source::{Sources, TypeId},
};

const HEAD: &str = "\
// What the server answers, route by route. Made from the Rust types that handlers return, by the test
// `the_pages_know_every_route_and_what_it_answers` (server/console/tests/http/answers), which also compares every answer
// that a test gets with it. Not to be edited: BLESS=1 cargo test --workspace --test http the_pages_know
";

/// The whole file.
pub fn written(answers: &Answers) -> String {
    let names = names(&Sources::read(), answers.shapes.by_id.keys().copied());
    let mut out = HEAD.to_owned();
    let sorted: BTreeMap<&String, TypeId> = names.iter().map(|(id, name)| (name, *id)).collect();
    for (name, id) in sorted {
        match answers.shapes.by_id[&id].as_ref().unwrap() {
            Shape::Object(fields) => {
                write!(out, "\nexport interface {name} {}\n", object(fields, &names, "")).unwrap();
            }
            shape => write!(out, "\nexport type {name} = {};\n", text(shape, &names, "")).unwrap(),
        }
    }
    out.push_str("\n/** What is answered instead where a request failed. */\n");
    writeln!(out, "export type Failure = {};", text(&answers.failure, &names, "")).unwrap();
    out.push_str("\n/** The head of the binary timeline. */\n");
    writeln!(out, "export type TimelineHead = {};", text(&answers.timeline, &names, "")).unwrap();
    out.push_str("\n/** The head of a window of tracks. */\n");
    writeln!(out, "export type TrackWindowHead = {};", text(&answers.window, &names, "")).unwrap();
    out.push_str(
        "\n/** JSON by method and route; null where there is nothing in the answer. */\nexport interface Answers {\n",
    );
    let methods: BTreeSet<&str> = answers.routes.iter().map(|route| route.method.as_str()).collect();
    for method in methods {
        writeln!(out, "  {method}: {{").unwrap();
        for route in answers.routes.iter().filter(|route| route.method == method) {
            match &route.body {
                Body::Json(shape) => writeln!(out, "    \"{}\": {};", route.path, text(shape, &names, "    ")).unwrap(),
                Body::Nothing => writeln!(out, "    \"{}\": null;", route.path).unwrap(),
                Body::Events(_) | Body::Bytes => {}
            }
        }
        out.push_str("  };\n");
    }
    out.push_str("}\n\n/** Routes that answer bytes or text. */\n");
    let bytes = answers.routes.iter().filter(|route| matches!(route.body, Body::Bytes));
    let bytes: Vec<String> = bytes.map(|route| format!("\"{}\"", route.path)).collect();
    writeln!(out, "export type ByteRoute = {};", bytes.join(" | ")).unwrap();
    out.push_str("\n/** Streams: what comes with each event. */\nexport interface Streams {\n");
    for route in &answers.routes {
        if let Body::Events(events) = &route.body {
            let fields: Vec<Field> = events.iter().map(|(name, shape)| Field::new(name, shape.clone())).collect();
            writeln!(out, "  \"{}\": {};", route.path, object(&fields, &names, "  ")).unwrap();
        }
    }
    out.push_str("}\n");
    out
}

/// Names of types that are unique: with as many words of their module before them as tell those of one name apart.
pub fn names(sources: &Sources, ids: impl Iterator<Item = TypeId>) -> BTreeMap<TypeId, String> {
    let mut by_name: BTreeMap<String, Vec<TypeId>> = BTreeMap::new();
    for id in ids {
        by_name.entry(sources.name(id)).or_default().push(id);
    }
    let mut names = BTreeMap::new();
    for (name, ids) in &by_name {
        let with = |words: usize| {
            let named = |id: &TypeId| (*id, format!("{}{name}", place(sources, *id, words)));
            ids.iter().map(named).collect::<BTreeMap<TypeId, String>>()
        };
        let tells_apart = |named: &BTreeMap<TypeId, String>| {
            let all: BTreeSet<&String> = named.values().collect();
            all.len() == named.len() && all.iter().all(|one| *one == name || !by_name.contains_key(*one))
        };
        names.extend((0..9).map(with).find(tells_apart).unwrap());
    }
    assert_eq!(names.values().collect::<BTreeSet<_>>().len(), names.len(), "two types have one name");
    names
}

/// The last words of where a type is, as the beginning of a name.
fn place(sources: &Sources, id: TypeId, words: usize) -> String {
    let file = &sources.files[id.file];
    let all: Vec<&String> = std::iter::once(&file.crate_name).chain(&file.module).collect();
    all[all.len().saturating_sub(words)..].iter().map(|word| capitalised(word)).collect()
}

fn capitalised(words: &str) -> String {
    let part = |word: &str| word[..1].to_uppercase() + &word[1..];
    words.split('_').map(part).collect()
}

fn text(shape: &Shape, names: &BTreeMap<TypeId, String>, indent: &str) -> String {
    let inner = |shape: &Shape| text(shape, names, indent);
    match shape {
        Shape::Absent => "undefined".to_owned(),
        Shape::Null => "null".to_owned(),
        Shape::Bool => "boolean".to_owned(),
        Shape::Integer | Shape::Number => "number".to_owned(),
        Shape::Text => "string".to_owned(),
        Shape::Word(word) => format!("{word:?}"),
        Shape::Array(of) if matches!(**of, Shape::Union(_)) => format!("({})[]", inner(of)),
        Shape::Array(of) => format!("{}[]", inner(of)),
        Shape::Tuple(parts) => format!("[{}]", parts.iter().map(inner).collect::<Vec<_>>().join(", ")),
        Shape::Map(of) => format!("{{ [key: string]: {} }}", inner(of)),
        Shape::Object(fields) => object(fields, names, indent),
        Shape::Union(parts) => exclusive(parts).iter().map(inner).collect::<Vec<_>>().join(" | "),
        Shape::Named(id) => names[id].clone(),
    }
}

/// Variants of one field each, with the fields of the others as what they do not have: so that a page can ask for one.
fn exclusive(parts: &[Shape]) -> Vec<Shape> {
    let of_one = |part: &Shape| match part {
        Shape::Object(fields) if fields.len() == 1 => Some(fields[0].clone()),
        _ => None,
    };
    let all: Vec<Field> = parts.iter().filter_map(of_one).collect();
    let with_others = |part: &Shape| match of_one(part) {
        Some(own) => {
            let others = all.iter().filter(|field| field.name != own.name);
            let without = |field: &Field| Field { optional: true, ..Field::new(&field.name, Shape::Absent) };
            Shape::Object(std::iter::once(own.clone()).chain(others.map(without)).collect())
        }
        None => part.clone(),
    };
    parts.iter().map(with_others).collect()
}

fn object(fields: &[Field], names: &BTreeMap<TypeId, String>, indent: &str) -> String {
    if fields.is_empty() {
        return "{ [key: string]: never }".to_owned();
    }
    let deeper = format!("{indent}  ");
    let field = |field: &Field| {
        let plain = field.name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        let name = if plain { field.name.clone() } else { format!("{:?}", field.name) };
        format!("{deeper}{name}{}: {};\n", if field.optional { "?" } else { "" }, text(&field.shape, names, &deeper))
    };
    format!("{{\n{}{indent}}}", fields.iter().map(field).collect::<String>())
}
