//! Recipes of one's own: what they may be called and hold, and the text that is saved of one.
//!
//! The text is that of a file of the project's, so that one can become the other. It holds no target and gives no right: what it
//! records is asked for as if it were written out.

use bathyscope_capture::SpecError;

use super::{Recipe, recipe};

/// The longest name of a recipe of one's own.
pub const MAX_RECIPE_NAME_BYTES: usize = 64;
/// The longest text of a recipe of one's own.
pub const MAX_RECIPE_BYTES: usize = 64 << 10;

/// Why a recipe of one's own cannot be saved or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OwnRecipeError {
    /// It cannot be called so.
    #[error(
        "`{name}` cannot be the name of a recipe; use 1 to {MAX_RECIPE_NAME_BYTES} lower-case letters, digits, `-` and `_`, of \
         which a letter or a digit is the first"
    )]
    Name {
        /// What was given, cut to 80 characters, with what is not plain replaced.
        name: String,
    },
    /// One that comes with the program is called so.
    #[error("the recipe `{name}` comes with the program, and stays as it is; one of your own needs another name")]
    OfTheProgram {
        /// The name.
        name: String,
    },
    /// The question is more than a line.
    #[error("the question must not contain a line break or another control character")]
    Question,
    /// It could not be recorded.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// It is too large.
    #[error(
        "the recipe has {bytes} bytes; at most {MAX_RECIPE_BYTES} are saved; shorten its script, or record fewer events"
    )]
    TooLarge {
        /// How many it has.
        bytes: usize,
    },
    /// The text is no recipe.
    #[error("the text of the recipe cannot be read")]
    Text(#[from] serde_json::Error),
}

/// Checks that a recipe of one's own may be called so.
///
/// # Errors
/// [`OwnRecipeError::Name`] or [`OwnRecipeError::OfTheProgram`].
pub fn check_own_name(name: &str) -> Result<(), OwnRecipeError> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let fits = (1..=MAX_RECIPE_NAME_BYTES).contains(&name.len())
        && name.bytes().all(|b| plain(b) || matches!(b, b'-' | b'_'))
        && name.bytes().next().is_some_and(plain);
    if !fits {
        let told = |c: char| if c.is_ascii_graphic() || c.is_alphanumeric() { c } else { '?' };
        return Err(OwnRecipeError::Name { name: name.chars().take(80).map(told).collect() });
    }
    match recipe(name) {
        Some(_) => Err(OwnRecipeError::OfTheProgram { name: name.to_owned() }),
        None => Ok(()),
    }
}

impl Recipe {
    /// The text to save of a recipe of one's own, if it is one that can be asked for.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn to_own_text(&self) -> Result<String, OwnRecipeError> {
        check_own_name(&self.name)?;
        if self.question.chars().any(char::is_control) {
            return Err(OwnRecipeError::Question);
        }
        self.spec(self.of.example()).validate()?;
        let text = serde_json::to_string(self)?;
        if text.len() > MAX_RECIPE_BYTES {
            return Err(OwnRecipeError::TooLarge { bytes: text.len() });
        }
        Ok(text)
    }

    /// Reads what was saved of a recipe of one's own.
    ///
    /// # Errors
    /// [`OwnRecipeError::Text`].
    pub fn of_own_text(name: &str, text: &str) -> Result<Self, OwnRecipeError> {
        Ok(Self { name: name.to_owned(), ..serde_json::from_str(text)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mine(parts: serde_json::Value) -> Recipe {
        let mut recipe = serde_json::json!({
            "name": "mine", "question": "Why?", "of": "system", "limits": {},
            "sources": [{ "id": "count", "method": { "count": {} } }],
        });
        let object = recipe.as_object_mut().unwrap();
        object.extend(parts.as_object().unwrap().clone());
        serde_json::from_value(recipe).unwrap()
    }

    #[test]
    fn names_are_plain_words_that_no_recipe_of_the_program_has() {
        for name in ["a", "7", "slow-checkout_2", &"n".repeat(64)] {
            assert!(check_own_name(name).is_ok(), "{name}");
        }
        for name in
            ["", "-a", "_a", "Slow", "a b", "a/b", "..", "ä", "a\n", "<b>", "a\u{202e}b", "\u{1b}[2J", &"n".repeat(65)]
        {
            let error = check_own_name(name).unwrap_err();
            assert!(matches!(error, OwnRecipeError::Name { .. }), "{name}: {error}");
            assert!(!error.to_string().contains(['\n', '\u{1b}', '\u{202e}']), "{error:?}");
        }
        let error = check_own_name("disk").unwrap_err();
        assert!(error.to_string().contains("comes with the program"), "{error}");
    }

    #[test]
    fn what_is_saved_is_read_again_and_what_cannot_be_recorded_is_not_saved() {
        let script = format!("BEGIN {{ printf(\"{}\") }}", "\"".repeat(40_000));
        for (parts, wrong) in [
            (serde_json::json!({}), ""),
            (serde_json::json!({ "question": "", "opens": "flame" }), ""),
            (serde_json::json!({ "name": "disk" }), "comes with the program"),
            (serde_json::json!({ "question": "Why\nnot?" }), "line break"),
            (serde_json::json!({ "question": "?".repeat(257) }), "name in bytes is 257"),
            (serde_json::json!({ "sources": [] }), "number of sources"),
            (
                serde_json::json!({ "sources": [{ "id": "s", "method": { "script": { "text": script } } }] }),
                "shorten its script",
            ),
            (serde_json::json!({ "limits": { "duration_ms": 0 } }), "must be from"),
        ] {
            let recipe = mine(parts.clone());
            match recipe.to_own_text() {
                Ok(text) => assert_eq!((Recipe::of_own_text("mine", &text).unwrap(), wrong), (recipe, ""), "{parts}"),
                Err(error) => assert!(!wrong.is_empty() && error.to_string().contains(wrong), "{parts}: {error}"),
            }
        }
        for text in ["", "{}", r#"{"question":"?","of":"system","limits":{},"sources":[],"shell":"rm"}"#] {
            assert!(Recipe::of_own_text("mine", text).is_err(), "{text}");
        }
        // It is called as it was saved, whatever its text says.
        assert_eq!(
            Recipe::of_own_text("other", &mine(serde_json::json!({})).to_own_text().unwrap()).unwrap().name,
            "other"
        );
    }
}
