//! Predicates in JSON: text, as people write them. Captures of before hold trees, which are read for ever.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::Predicate;

#[derive(Deserialize)]
#[serde(untagged)]
enum PredicateForm {
    Text(String),
    Tree(Predicate),
}

/// Writes a predicate as text.
///
/// # Errors
/// The serializer's.
#[allow(clippy::ref_option, reason = "serde asks so")]
pub fn serialize<S: Serializer>(predicate: &Option<Predicate>, serializer: S) -> Result<S::Ok, S::Error> {
    predicate.as_ref().map(ToString::to_string).serialize(serializer)
}

/// Reads a predicate as text or as a tree; text of nothing is none.
///
/// # Errors
/// If it is neither, or cannot be read.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Predicate>, D::Error> {
    match Option::<PredicateForm>::deserialize(deserializer)? {
        None => Ok(None),
        Some(PredicateForm::Tree(tree)) => Ok(Some(tree)),
        Some(PredicateForm::Text(text)) if text.trim().is_empty() => Ok(None),
        Some(PredicateForm::Text(text)) => {
            let told = |error| D::Error::custom(format_args!("the predicate cannot be read: {error}"));
            let mut predicate = Predicate::parse(text.trim()).map_err(told)?;
            // Specs are sent on in their normal form, in which a place is not what somebody has typed.
            predicate.forget_places();
            Ok(Some(predicate))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what it expects by panicking")]

    use crate::EventProbe;

    #[test]
    fn text_is_written_and_trees_are_still_read() {
        let tree = r#"{"tracepoint":"a:b","fields":[],"predicate":{"compare":{"field":"pid","op":"eq","value":{"number":1}}}}"#;
        let text = r#"{"tracepoint":"a:b","fields":[],"predicate":"pid == 1"}"#;
        let [of_tree, of_text]: [EventProbe; 2] = [tree, text].map(|json| serde_json::from_str(json).unwrap());
        assert_eq!(of_tree, of_text);
        assert_eq!(serde_json::to_string(&of_tree).unwrap(), text);
        let empty: EventProbe = serde_json::from_str(r#"{"tracepoint":"a:b","predicate":" "}"#).unwrap();
        assert_eq!((empty.predicate, empty.fields.len()), (None, 0));
        let unit: EventProbe = serde_json::from_str(r#"{"tracepoint":"a:b","predicate":"x>1 ms"}"#).unwrap();
        let error = unit.predicate.as_ref().unwrap().in_units(&mut |_| None).unwrap_err().to_string();
        assert!(error.starts_with("1ms is a time") && !error.contains("at character"), "{error}");
        assert!(serde_json::to_string(&unit).unwrap().contains(r#""x > 1ms""#));
        let wrong = serde_json::from_str::<EventProbe>(r#"{"tracepoint":"a:b","predicate":"pid =="}"#).unwrap_err();
        assert!(wrong.to_string().contains("the predicate cannot be read"), "{wrong}");
    }
}
