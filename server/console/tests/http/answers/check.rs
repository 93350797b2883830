//! Whether a JSON value has a shape.

use serde_json::Value;

use super::shape::{Field, Shape, Shapes};

/// Says where a value is otherwise than its shape.
pub fn conforms(value: &Value, shape: &Shape, shapes: &Shapes) -> Result<(), String> {
    at("", value, shape, shapes)
}

fn at(place: &str, value: &Value, shape: &Shape, shapes: &Shapes) -> Result<(), String> {
    let fits = match (shape, value) {
        (Shape::Null, Value::Null)
        | (Shape::Bool, Value::Bool(_))
        | (Shape::Integer | Shape::Number, Value::Number(_))
        | (Shape::Text, Value::String(_)) => true,
        (Shape::Word(word), Value::String(text)) => word == text,
        (Shape::Array(of), Value::Array(items)) => {
            return items.iter().enumerate().try_for_each(|(i, item)| at(&format!("{place}[{i}]"), item, of, shapes));
        }
        (Shape::Tuple(parts), Value::Array(items)) if parts.len() == items.len() => {
            let mut pairs = parts.iter().zip(items).enumerate();
            return pairs.try_for_each(|(i, (part, item))| at(&format!("{place}[{i}]"), item, part, shapes));
        }
        (Shape::Map(of), Value::Object(items)) => {
            return items.iter().try_for_each(|(key, item)| at(&format!("{place}.{key}"), item, of, shapes));
        }
        (Shape::Object(fields), Value::Object(items)) => return object(place, fields, items, shapes),
        (Shape::Named(id), value) => return at(place, value, shapes.by_id[id].as_ref().unwrap(), shapes),
        (Shape::Union(parts), value) => return union(place, value, parts, shapes),
        _ => false,
    };
    if fits { Ok(()) } else { Err(format!("{place} is {value}, and should be {shape:?}")) }
}

/// What is said of a value that has none of the shapes is said of the shape that it fits best: the one that is wrong deepest.
fn union(place: &str, value: &Value, parts: &[Shape], shapes: &Shapes) -> Result<(), String> {
    let mut best: Option<String> = None;
    for part in parts {
        match at(place, value, part, shapes) {
            Ok(()) => return Ok(()),
            Err(why) => {
                let depth = |why: &str| why.split(' ').next().unwrap_or_default().len();
                if best.as_ref().is_none_or(|best| depth(&why) > depth(best)) {
                    best = Some(why);
                }
            }
        }
    }
    Err(best.unwrap_or_else(|| format!("{place} can have no value")))
}

fn object(
    place: &str,
    fields: &[Field],
    items: &serde_json::Map<String, Value>,
    shapes: &Shapes,
) -> Result<(), String> {
    if let Some(unknown) = items.keys().find(|key| !fields.iter().any(|field| field.name == **key)) {
        return Err(format!("{place}.{unknown} is not known"));
    }
    fields.iter().try_for_each(|field| match items.get(&field.name) {
        Some(item) => at(&format!("{place}.{}", field.name), item, &field.shape, shapes),
        None if field.optional => Ok(()),
        None => Err(format!("{place}.{} is missing", field.name)),
    })
}
